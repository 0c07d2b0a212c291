//! Real graphs with reference answers that nobody here wrote.
//!
//! The graphs lie in a folder `shared/data` beside the repository and are not part of it: where
//! the folder is absent the tests say so and pass. Each graph goes through the command line, and
//! through the library before it is closed and after it was opened as a crash would leave it.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use everedge::{
    AdjacencyOptions, BlocksOptions, Choices, Graph, GraphOptions, IngestOptions, Kernel, Layout,
    Parameters, Phases, PmaOptions,
};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

/// How far apart PageRanks may be.
const RANK_TOLERANCE: f64 = 1e-9;

/// A graph, its file and how it is taken in.
struct Dataset {
    name: &'static str,
    file: &'static str,
    flags: &'static [&'static str],
}

const fn dataset(
    name: &'static str,
    file: &'static str,
    flags: &'static [&'static str],
) -> Dataset {
    Dataset { name, file, flags }
}

const DIRECTED: &[&str] = &["--simple", "--drop-self-loops"];
const UNDIRECTED: &[&str] = &["--simple", "--drop-self-loops", "--undirected"];

const DATASETS: &[Dataset] = &[
    dataset("facebook_combined", "facebook_combined.txt.gz", UNDIRECTED),
    dataset("ca-GrQc", "ca-GrQc.txt.gz", UNDIRECTED),
    dataset("wiki-Vote", "wiki-Vote.txt.gz", DIRECTED),
    dataset("email-Enron", "email-Enron.txt.gz", UNDIRECTED),
    dataset("soc-Epinions1", "soc-Epinions1.txt.gz", DIRECTED),
    dataset("soc-Slashdot0902", "soc-Slashdot0902.txt.gz", DIRECTED),
    dataset("web-NotreDame", "web-NotreDame.txt.gz", DIRECTED),
    dataset("musae-github", "musae_git_edges.csv.gz", UNDIRECTED),
    dataset("deezer-RO", "deezer_RO_edges.csv.gz", UNDIRECTED),
    dataset("cnr-2000", "cnr-2000.el.gz", DIRECTED),
    dataset("road-NY", "NY.gr.gz", &["--simple"]),
    dataset("road-FLA", "FLA.gr.gz", &["--simple"]),
    dataset("CollegeMsg", "CollegeMsg.txt.gz", DIRECTED),
    dataset("email-Eu-core-temporal", "email-Eu-core-temporal.txt.gz", DIRECTED),
    dataset("sx-mathoverflow", "sx-mathoverflow.txt.gz", DIRECTED),
    dataset("soc-sign-bitcoinotc", "soc-sign-bitcoinotc.csv.gz", DIRECTED),
    dataset("jodie-wikipedia", "jodie_wikipedia_TEConv.csv.gz", DIRECTED),
    dataset("rome99", "rome99.gr.gz", DIRECTED),
];

const LAYOUTS: [Layout; 3] = Layout::ALL;

fn data_folder() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    if folder.is_dir() {
        return Some(folder);
    }
    println!("not run: there is no folder of reference graphs at {}", folder.display());
    None
}

fn everedge() -> Command {
    Command::new(env!("CARGO_BIN_EXE_everedge"))
}

/// A graph taken in by the command line.
struct Home {
    directory: TempDir,
}

impl Home {
    fn ingest(layout: Layout, files: &[PathBuf], flags: &[&str]) -> Self {
        let home = Self { directory: tempfile::tempdir().unwrap() };
        let layout = format!("--layout={layout}");
        everedge()
            .arg("ingest")
            .arg(home.graph())
            .args(files)
            .args(flags)
            .arg(layout)
            .assert()
            .success();
        home
    }

    fn graph(&self) -> PathBuf {
        self.directory.path().join("graph")
    }

    /// Runs a kernel by the command line. Returns what it writes for each vertex.
    fn run(&self, kernel: &str, flags: &[&str]) -> String {
        let output = self.directory.path().join("values");
        everedge()
            .args(["run", kernel])
            .arg(self.graph())
            .args(flags)
            .arg("--output")
            .arg(&output)
            .assert()
            .success();
        std::fs::read_to_string(output).unwrap()
    }

    /// Runs a kernel by the command line. Returns its answer in short.
    fn result(&self, kernel: &str) -> Value {
        let output = everedge().args(["run", "--json", kernel]).arg(self.graph()).output().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        report["result"].clone()
    }
}

#[test]
fn published_graphs_have_the_reference_answers_in_adjacency() {
    check_published_graphs(Layout::Adjacency);
}

#[test]
fn published_graphs_have_the_reference_answers_in_pma() {
    check_published_graphs(Layout::Pma);
}

#[test]
fn published_graphs_have_the_reference_answers_in_blocks() {
    check_published_graphs(Layout::Blocks);
}

fn check_published_graphs(layout: Layout) {
    let Some(folder) = data_folder() else { return };
    for dataset in DATASETS {
        let directory = folder.join(dataset.name);
        let reference = json(&directory.join(format!("{}.json", dataset.name)));
        let file = directory.join(dataset.file);
        let home = Home::ingest(layout, std::slice::from_ref(&file), dataset.flags);
        let source = reference["bfs_out"]["source"].to_string();
        let library = Library::ingest(layout, &file, dataset.flags);
        let bfs = home.run("bfs", &["--source", &source]);
        library.check(Kernel::Bfs, Some(&source), &bfs);
        check_bfs(dataset.name, &bfs, &reference["bfs_out"]);
        let wcc = home.run("wcc", &[]);
        library.check(Kernel::Wcc, None, &wcc);
        let expected = &reference["wcc"]["sha256_id_minid_lines"];
        assert_eq!(sha256(&wcc), *expected, "{}: wcc", dataset.name);
        let ranks = values(&home.run("pagerank", &["--tolerance", "1e-13"]));
        check_ranks(dataset.name, &ranks, &reference, &directory);
        for (kernel, expected) in [
            ("scc", &reference["scc"]["sha256_id_minid_lines"]),
            ("kcore", &reference["kcore"]["sha256_id_core_lines"]),
            ("cdlp", &reference["cdlp"]["sha256_id_label_lines"]),
        ] {
            if !expected.is_null() {
                assert_eq!(sha256(&home.run(kernel, &[])), *expected, "{}: {kernel}", dataset.name);
            }
        }
        let triangles = &home.result("triangles")["count"];
        assert_eq!(*triangles, reference["triangles"]["count"], "{}: triangles", dataset.name);
        let lcc = reference["lcc_avg_undirected"].as_f64();
        if let Some(expected) = lcc.filter(|_| dataset.flags == UNDIRECTED) {
            let found = home.result("lcc")["mean"].as_f64().unwrap();
            assert!((found - expected).abs() < 1e-9, "{}: lcc {found}, {expected}", dataset.name);
        }
        println!("{layout} {}: {} vertices as the reference", dataset.name, ranks.len());
    }
}

/// The same graph taken in by the library: once as it is before it is closed, once opened again
/// without a close.
struct Library {
    before: Graph,
    after: Graph,
    _directories: [TempDir; 2],
}

impl Library {
    fn ingest(layout: Layout, file: &Path, flags: &[&str]) -> Self {
        let has = |flag: &str| flags.contains(&flag);
        // Without a thread that archives, a graph that is dropped leaves its log to be replayed.
        let phases = Phases::InTurn;
        let options = GraphOptions {
            layout,
            adjacency: AdjacencyOptions { phases, ..AdjacencyOptions::default() },
            pma: PmaOptions { phases, ..PmaOptions::default() },
            blocks: BlocksOptions { phases, ..BlocksOptions::default() },
            directed: !has("--undirected"),
            simple: has("--simple"),
            ..GraphOptions::default()
        };
        let ingest =
            IngestOptions { drop_self_loops: has("--drop-self-loops"), ..Default::default() };
        let directories = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let [before, dropped] = directories.each_ref().map(|directory| {
            let path = directory.path().join("graph");
            let (choices, files) = (Choices::default(), [file.to_owned()]);
            let graph = Graph::create_for(&path, &options, choices, &files, &ingest).unwrap();
            graph.ingest(&files, &ingest, &mut |_| true).unwrap();
            graph
        });
        drop(dropped);
        let after = Graph::open_read_only(&directories[1].path().join("graph")).unwrap();
        assert!(after.recovery().replayed_batches > 0, "nothing was left to replay");
        Self { before, after, _directories: directories }
    }

    fn check(&self, kernel: Kernel, source: Option<&String>, expected: &str) {
        let parameters = Parameters { source: source.cloned(), ..Parameters::default() };
        for (when, graph) in [("before", &self.before), ("after", &self.after)] {
            let view = graph.snapshot().unwrap();
            let mut text = Vec::new();
            view.run(kernel, &parameters.clone().into())
                .unwrap()
                .values
                .write(&view, &mut text)
                .unwrap();
            assert!(text == expected.as_bytes(), "{kernel} {when} opening again");
        }
    }
}

fn check_bfs(name: &str, text: &str, reference: &Value) {
    let reached: String = text
        .lines()
        .filter(|line| !line.ends_with(" 9223372036854775807"))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(sha256(&reached), reference["sha256_id_level_lines"], "{name}: bfs");
}

fn check_ranks(name: &str, ranks: &BTreeMap<u64, f64>, reference: &Value, directory: &Path) {
    assert_eq!(ranks.len() as u64, reference["simple"]["V"], "{name}: vertices");
    let sum: f64 = ranks.values().sum();
    assert!((sum - 1.0).abs() < RANK_TOLERANCE, "{name}: the ranks sum to {sum}");
    for pair in reference["pagerank"]["top20"].as_array().unwrap() {
        let (id, expected) = (pair[0].as_u64().unwrap(), pair[1].as_f64().unwrap());
        let found = ranks[&id];
        assert!((found - expected).abs() < RANK_TOLERANCE, "{name}: {id}: {found}, {expected}");
    }
    for row in vertex_table(name, directory) {
        let (found, expected) = (ranks[&row.id], row.number("pagerank"));
        assert!((found - expected).abs() < RANK_TOLERANCE, "{name}: {}: {found}", row.id);
    }
}

#[test]
fn weighted_graphs_have_the_reference_distances() {
    let Some(folder) = data_folder() else { return };
    let rome = folder.join("rome99");
    check_distances("rome99", &rome, &rome.join("rome99.gr.gz"));
    let trust = folder.join("soc-sign-bitcoinotc");
    let lengths = tempfile::tempdir().unwrap();
    let file = lengths.path().join("lengths.csv");
    let ratings = gunzip(&trust.join("soc-sign-bitcoinotc.csv.gz"));
    let rows = ratings.lines().map(|line| {
        let fields: Vec<&str> = line.split(',').collect();
        let length = 11 - fields[2].parse::<i32>().unwrap();
        format!("{},{},{length}\n", fields[0], fields[1])
    });
    std::fs::write(&file, rows.collect::<String>()).unwrap();
    check_distances("soc-sign-bitcoinotc", &trust, &file);
}

fn check_distances(name: &str, directory: &Path, file: &Path) {
    let reference = json(&directory.join(format!("{name}.json")));
    let source = reference["sssp"]["source"].to_string();
    for layout in LAYOUTS {
        let home = Home::ingest(layout, &[file.to_owned()], &["--weighted"]);
        let found = values(&home.run("sssp", &["--source", &source]));
        let mut compared = 0;
        for row in vertex_table(name, directory) {
            assert_eq!(found[&row.id], row.number("sssp"), "{name}: distance of {}", row.id);
            compared += 1;
        }
        assert_eq!(compared, reference["simple"]["V"].as_u64().unwrap());
        println!("{layout} {name}: {compared} distances as the reference");
    }
}

#[test]
fn snapshots_of_the_internet_have_the_reference_answers() {
    let Some(folder) = data_folder() else { return };
    let folder = folder.join("as-snapshots-1997-1998");
    let reference = json(&folder.join("as-snapshots-1997-1998.json"));
    for snapshot in reference["snapshots"].as_array().unwrap() {
        let name = snapshot["file"].as_str().unwrap();
        let file = folder.join(format!("{name}.gz"));
        let home = Home::ingest(Layout::Pma, &[file], UNDIRECTED);
        let stats = everedge().args(["stats", "--json"]).arg(home.graph()).output().unwrap();
        let stats: Value = serde_json::from_slice(&stats.stdout).unwrap();
        assert_eq!(stats["edges"], snapshot["undirected_edges"], "{name}");
        let source = snapshot["bfs"]["source"].to_string();
        let depths = values(&home.run("bfs", &["--source", &source]));
        let deepest = depths.values().copied().filter(|&d| d < 1e18).fold(0.0, f64::max);
        assert_eq!(deepest, snapshot["bfs"]["max_level"].as_f64().unwrap(), "{name}");
        let ranks = values(&home.run("pagerank", &["--tolerance", "1e-13"]));
        for pair in snapshot["pagerank_top10"].as_array().unwrap() {
            let (id, expected) = (pair[0].as_u64().unwrap(), pair[1].as_f64().unwrap());
            assert!((ranks[&id] - expected).abs() < RANK_TOLERANCE, "{name}: {id}");
        }
    }
}

#[test]
fn graphalytics_examples_have_the_expected_outputs() {
    let Some(folder) = data_folder() else { return };
    let folder = folder.join("ldbc-graphalytics/example-data-sets/graphs");
    let mut compared = 0;
    for kind in ["directed", "undirected"] {
        for kernel in ["bfs", "cdlp", "lcc", "pr", "sssp", "wcc"] {
            for name in [format!("example-{kind}"), format!("test-{kernel}-{kind}")] {
                for layout in LAYOUTS {
                    compared += usize::from(check_graphalytics(layout, &folder, &name, kernel));
                }
            }
        }
    }
    assert_eq!(compared, LAYOUTS.len() * 24, "expected outputs compared");
}

/// Compares one kernel's output on one example by the benchmark's rules. Returns whether the
/// example has an expected output.
fn check_graphalytics(layout: Layout, folder: &Path, name: &str, kernel: &str) -> bool {
    let expected = folder.join(format!("{name}-{}", kernel.to_uppercase()));
    if !expected.is_file() {
        return false;
    }
    let properties = std::fs::read_to_string(folder.join(format!("{name}.properties"))).unwrap();
    let property = |key: &str| {
        let key = format!("graph.{name}.{key} = ");
        properties.lines().find_map(|line| line.strip_prefix(&key)).map(str::trim)
    };
    let files = ["v", "e"].map(|ending| folder.join(format!("{name}.{ending}")));
    let mut flags = vec![if name.ends_with("undirected") { "--undirected" } else { "--directed" }];
    if kernel == "sssp" {
        flags.push("--weighted");
    }
    let home = Home::ingest(layout, &files, &flags);
    let found = match kernel {
        "bfs" => home.run("bfs", &["--source", property("bfs.source-vertex").unwrap()]),
        "sssp" => home.run("sssp", &["--source", property("sssp.source-vertex").unwrap()]),
        "cdlp" => home.run("cdlp", &["--iterations", property("cdlp.max-iterations").unwrap()]),
        "lcc" | "wcc" => home.run(kernel, &[]),
        // The file of this one example holds converged ranks, not those after its 14 iterations.
        _ if name == "test-pr-directed" => home.run("pagerank", &["--tolerance", "1e-14"]),
        _ => home.run("pagerank", &["--iterations", property("pr.num-iterations").unwrap()]),
    };
    let (found, expected) = (values(&found), values(&std::fs::read_to_string(expected).unwrap()));
    assert_eq!(found.len(), expected.len(), "{name}: vertices");
    for (id, expected) in expected {
        let found = found[&id];
        let tolerance = match kernel {
            "sssp" | "lcc" => 1e-4 * expected.abs(),
            // Ranks after so many iterations are rounded to 4 bytes in each.
            "pr" => 1e-6 * expected.abs(),
            _ => 0.0,
        };
        let is_same = found == expected || (found - expected).abs() <= tolerance;
        assert!(is_same, "{name}: {kernel} of {id}: {found}, expected {expected}");
    }
    true
}

#[test]
fn one_graph_in_six_formats_is_the_same_graph() {
    let Some(folder) = data_folder() else { return };
    let folder = folder.join("gapbs/test/graphs");
    for name in ["4.el", "4.gr", "4.mtx", "4.wel"] {
        let flags: &[&str] = if name == "4.el" { &["--format", "edge-list"] } else { &[] };
        let mut flags = flags.to_vec();
        if name == "4.wel" {
            flags.extend(["--format", "edge-list"]);
        }
        let home = Home::ingest(Layout::Adjacency, &[folder.join(name)], &flags);
        let stats = everedge().args(["stats", "--json"]).arg(home.graph()).output().unwrap();
        let stats: Value = serde_json::from_slice(&stats.stdout).unwrap();
        println!("{name}: {} vertices, {} edges", stats["vertices"], stats["edges"]);
    }
}

#[test]
fn matrices_have_the_published_counts() {
    let Some(folder) = data_folder() else { return };
    let golden = json(&folder.join("lagraph/lagraph-golden.json"));
    for (name, count) in golden["connected_components"].as_object().unwrap() {
        let file = folder.join("lagraph/data").join(name);
        let home = Home::ingest(Layout::Pma, &[file], &["--unweighted"]);
        let found: std::collections::BTreeSet<u64> =
            values(&home.run("wcc", &[])).values().map(|&label| label as u64).collect();
        assert_eq!(found.len() as u64, *count, "{name}: components");
        let triangles = &home.result("triangles")["count"];
        assert_eq!(*triangles, golden["triangle_count"][name], "{name}: triangles");
    }
}

/// A row of a table of reference answers by vertex.
struct Row {
    id: u64,
    fields: Vec<String>,
    columns: std::rc::Rc<Vec<String>>,
}

impl Row {
    fn number(&self, column: &str) -> f64 {
        let index = self.columns.iter().position(|name| name == column).unwrap();
        self.fields[index].parse().unwrap()
    }
}

fn vertex_table(name: &str, directory: &Path) -> Vec<Row> {
    let path = directory.join(format!("{name}.vertices.tsv.gz"));
    if !path.is_file() {
        return Vec::new();
    }
    let text = gunzip(&path);
    let mut lines = text.lines().map(|line| line.split('\t').map(str::to_owned).collect());
    let columns = std::rc::Rc::new(lines.next().unwrap());
    let rows = lines.map(|fields: Vec<String>| {
        let id = fields[0].parse().unwrap();
        Row { id, fields, columns: std::rc::Rc::clone(&columns) }
    });
    rows.collect()
}

fn values(text: &str) -> BTreeMap<u64, f64> {
    let pairs = text.lines().map(|line| {
        let (id, value) = line.split_once(' ').unwrap();
        let value = if value == "infinity" { f64::INFINITY } else { value.parse().unwrap() };
        (id.parse().unwrap(), value)
    });
    pairs.collect()
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn gunzip(path: &Path) -> String {
    let mut text = String::new();
    let file = std::fs::File::open(path).unwrap();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
    text
}

fn sha256(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}
