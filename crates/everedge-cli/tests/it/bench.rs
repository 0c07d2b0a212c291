//! `everedge bench`: every measurement on a small graph, what it prints, and that nothing stays.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// A place for graphs of all media, and for reports.
struct Bench {
    place: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        Self { place: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> String {
        self.place.path().join(name).to_str().unwrap().to_owned()
    }

    /// Runs a measurement at scale 8, one trial.
    fn run(&self, words: &[&str]) -> Output {
        let output = Command::new(env!("CARGO_BIN_EXE_everedge"))
            .arg("bench")
            .args(words)
            .args(["--scale", "8", "--trials", "1"])
            .args(["--directory", &self.path("file"), "--pmem-directory", &self.path("pmem")])
            .output()
            .expect("the program starts");
        for home in ["file", "pmem"] {
            assert!(!self.place.path().join(home).exists(), "{words:?} left something in {home}");
        }
        output
    }

    fn json(&self, words: &[&str]) -> Value {
        let output = self.run(&[words, &["--json"]].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("one JSON object")
    }

    /// Returns the one line that a measurement fails with.
    fn complaint(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert_eq!(output.status.code(), Some(1));
        let line = String::from_utf8(output.stderr).unwrap();
        assert_eq!(line.lines().count(), 1, "{line}");
        line
    }
}

fn rows(found: &Value) -> &[Value] {
    found["rows"].as_array().expect("a list of rows")
}

fn assert_positive(row: &Value, keys: &[&str]) {
    for key in keys {
        assert!(row[key].as_f64().is_some_and(|value| value > 0.0), "{key}: {row}");
    }
}

#[test]
fn every_combination_of_options_is_ingested() {
    let bench = Bench::new();
    let words = ["ingest", "--on", "1,2", "--batch", "512,1024", "--phases", "overlapped,in-turn"];
    let found = bench.json(&[&words[..], &["--meter"]].concat());
    let mut seen: Vec<String> = rows(&found)
        .iter()
        .map(|row| {
            format!("{} {} {} {}", row["medium"], row["threads"], row["batch"], row["phases"])
        })
        .collect();
    assert_eq!(seen.len(), 24);
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 24);
    for row in rows(&found) {
        assert_positive(row, &["acknowledged_per_second", "archived_per_second"]);
        assert_positive(row, &["peak_rss_bytes", "disk_bytes", "process_bytes"]);
        assert_eq!(row["edges"], 4096);
        assert!(row["media_written_bytes"].is_u64() && row["media_read_bytes"].is_u64());
    }
}

#[test]
fn mechanisms_of_arrays_with_gaps_are_in_rows_and_in_the_table() {
    let bench = Bench::new();
    let words = ["ingest", "--layout", "adjacency,pma", "--medium", "pmem", "--on", "1"];
    let words = [&words[..], &["--batch", "16", "--archive-threshold", "64"]].concat();
    let words = [&words[..], &["--phases", "in-turn", "--durability", "edge", "--meter"]].concat();
    let found = bench.json(&words);
    let [adjacency, pma] = rows(&found) else { panic!("two layouts: {found}") };
    assert!(adjacency["stored_in_gaps"].is_null(), "{adjacency}");
    let number = |key: &str| pma[key].as_u64().unwrap_or_else(|| panic!("{key}: {pma}"));
    let [gaps, edge_logs] = ["stored_in_gaps", "stored_in_edge_logs"].map(number);
    assert!(gaps > 0 && edge_logs > 0 && number("rebalanced_windows") > 0, "{pma}");
    let reasons = ["rounds", "vertices", "gaps", "compaction", "room"];
    let rewritten: u64 = reasons.iter().map(|why| number(&format!("rewritten_for_{why}"))).sum();
    assert!(rewritten > 0 && number("created_arrays") == 2, "{pma}");
    let words_per_edge = pma["rewritten_words_per_edge"].as_f64().expect("a ratio");
    assert_eq!(words_per_edge, number("rewritten_words") as f64 / 4096.0);
    // Each edge is stored in both directions, in an array that is written or after that.
    assert!(gaps + edge_logs + number("rewritten_words") >= 2 * 4096, "{pma}");
    let written = [number("acknowledged_media_written_bytes"), number("media_written_bytes")];
    assert!(0 < written[0] && written[0] <= written[1], "{written:?}");

    let table = String::from_utf8(bench.run(&words).stdout).unwrap();
    for title in ["in edge logs", "rebalanced", "words copied/edge", "at the last batch"] {
        assert!(table.contains(title), "{title} is not in\n{table}");
    }
}

#[test]
fn single_edges_are_stored_with_the_log_first_and_without() {
    let words = ["ingest", "--layout", "pma", "--medium", "pmem,file", "--on", "1"];
    let words = [&words[..], &["--log-first", "yes,no", "--batch", "1", "--meter"]].concat();
    let found = Bench::new().json(&words);
    assert_eq!(rows(&found).len(), 4);
    for row in rows(&found) {
        let stored = row["stored_directly"].as_u64().expect("a count");
        let is_direct = row["log_first"] == "no";
        // Of both ends; some edges are of new vertices, or find edge logs full.
        assert_eq!(stored > 4096, is_direct, "{row}");
        assert_eq!(stored > 0, is_direct, "{row}");
    }
}

#[test]
fn options_reach_the_graph_and_the_table() {
    let bench = Bench::new();
    let output = bench.run(&[
        "ingest",
        "--medium",
        "pmem",
        "--on",
        "1",
        "--buffer-min",
        "16,64",
        "--buffer-max",
        "64,256",
        "--wide-buffer",
        "256",
        "--buffer-pool",
        "1M,2M",
        "--preallocate",
        "0,1M",
        "--merging",
        "never,adaptive",
        "--io-threshold",
        "2",
        "--archive-threshold",
        "1024",
    ]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let table = String::from_utf8(output.stdout).unwrap();
    for word in ["buffer min", "buffer max", "buffer pool", "preallocate", "1.00 MiB", "adaptive"] {
        assert!(table.contains(word), "{word} is not in\n{table}");
    }
    for word in ["wide buffer", "io threshold", "archive threshold", "threads  ", "media written"] {
        assert!(!table.contains(word), "{word} is in\n{table}");
    }
    assert_eq!(table.lines().count(), 2 + 1 + 32);
}

#[test]
fn deletions_leave_exactly_the_other_edges() {
    let found = Bench::new().json(&["delete", "--share", "0.25", "--batch", "100", "--on", "2"]);
    assert_eq!(rows(&found).len(), 3);
    for row in rows(&found) {
        assert_eq!((&row["edges"], &row["deleted"]), (&4096.into(), &1024.into()));
        assert_positive(row, &["acknowledged_per_second", "archived_per_second"]);
        assert_positive(row, &["disk_bytes_before", "disk_bytes_after"]);
        assert_positive(row, &["compact_seconds", "disk_bytes_compacted"]);
        assert!(row["total_ratio"].is_null(), "there is one way only");
    }
}

#[test]
fn naive_ways_delete_the_same_edges_and_are_compared() {
    let ways = ["--deletion", "by-round,naive", "--compaction", "in-runs,naive"];
    let words =
        [&["delete", "--medium", "pmem", "--on", "1", "--batch", "100"][..], &ways].concat();
    let found = Bench::new().json(&words);
    let way = |row: &Value| format!("{} {}", row["deletion"], row["compaction"]).replace('"', "");
    let seen: Vec<String> = rows(&found).iter().map(way).collect();
    assert_eq!(seen, ["by-round in-runs", "by-round naive", "naive in-runs", "naive naive"]);
    rows(&found).iter().for_each(|row| {
        assert_positive(row, &["total_seconds", "total_ratio", "disk_ratio"]);
    });
}

#[test]
fn nothing_is_lost_however_the_writer_ends() {
    let found =
        Bench::new().json(&["recovery", "--closed", "--early", "--on", "2", "--batch", "64"]);
    let ends: Vec<&Value> = rows(&found).iter().map(|row| &row["end"]).collect();
    assert_eq!(ends, ["killed", "closed", "early", "killed", "closed", "early"]);
    for row in rows(&found) {
        assert_eq!(row["edges_lost"], 0);
        assert_positive(row, &["ingest_seconds", "open_seconds", "open_ratio"]);
        assert!(row["edges_found"].as_u64() >= row["edges_acknowledged"].as_u64());
        assert!(row["replayed_updates"].is_u64());
    }
}

#[test]
fn kernels_are_measured_beside_a_csr() {
    let bench = Bench::new();
    let path = bench.path("kernels.html");
    let words = ["kernels", "--medium", "dram,pmem", "--on", "1,2", "--runs", "2"];
    let found = bench.json(&[&words[..], &["--report", &path]].concat());
    let kernels: Vec<&str> =
        everedge::Kernel::ALL[..17].iter().map(|kernel| kernel.name()).collect();
    assert_eq!(kernels[16], "cdlp");
    assert_eq!(rows(&found).len(), 4 * kernels.len());
    for (row, name) in rows(&found).iter().zip(kernels.iter().cycle()) {
        assert_eq!(row["kernel"], **name);
        assert_eq!(row["runs"], 2);
        assert_positive(row, &["csr_seconds", "seconds", "ratio"]);
        assert_positive(
            row,
            &["paused_seconds", "paused_ratio", "compact_seconds", "compact_ratio"],
        );
    }
    let page = std::fs::read_to_string(Path::new(&path)).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"));
    // One for each configuration, and one for the second number of threads.
    assert_eq!(page.matches("<figure>").count(), 5);
    assert!(!page.contains("nothing to show") && !page.contains("http"));
}

#[test]
fn kernels_and_graphs_can_be_chosen() {
    let words = ["kernels", "--kernel", "wcc,sssp,bfs", "--graph", "kron,uniform", "--undirected"];
    let words = [&words[..], &["--medium", "dram", "--on", "1", "--runs", "1"]].concat();
    let found = Bench::new().json(&words);
    let seen = rows(&found).iter().map(|row| format!("{} {}", row["graph"], row["kernel"]));
    let seen: Vec<String> = seen.map(|words| words.replace('"', "")).collect();
    let expected =
        ["kron bfs", "kron wcc", "kron sssp", "uniform bfs", "uniform wcc", "uniform sssp"];
    assert_eq!(seen, expected);
}

#[test]
fn several_writers_insert_every_edge_once() {
    let bench = Bench::new();
    let words = ["ingest", "--layout", "adjacency,pma", "--writers", "1,3", "--on", "2"];
    let found = bench.json(&[&words[..], &["--batch", "1,100", "--durability", "edge"]].concat());
    assert_eq!(rows(&found).len(), 24);
    assert!(rows(&found).iter().all(|row| row["edges"] == 4096));
}

#[test]
fn answers_beside_insertions_are_those_of_the_edges_before() {
    let bench = Bench::new();
    let found = bench.json(&["mixed", "--layout", "adjacency,pma", "--batch", "16", "--on", "2"]);
    assert_eq!(rows(&found).len(), 6);
    for row in rows(&found) {
        assert_eq!(row["wrong"], 0, "{row}");
        assert_positive(row, &["alone_per_second", "beside_per_second", "queries"]);
        assert_positive(row, &["pagerank_alone_seconds", "pagerank_beside_seconds"]);
    }
    assert!(bench.complaint(&["mixed", "--writers", "2"]).contains("--writers 1"));
}

#[test]
fn versions_are_asked_by_every_way() {
    let bench = Bench::new();
    let words =
        ["window", "--versions", "3", "--percent", "2", "--kernel", "bfs,sssp,wcc,pagerank"];
    let found =
        bench.json(&[&words[..], &["--runs", "1", "--on", "2", "--medium", "pmem"]].concat());
    assert_eq!(rows(&found).len(), 2 * 9 + 2 * 2);
    for row in rows(&found) {
        assert_positive(row, &["seconds", "build_seconds", "delta_seconds", "whole_seconds"]);
        assert_positive(row, &["slowest", "bytes_per_change", "base_edges"]);
    }
    assert!(bench.complaint(&["window", "--percent", "60"]).contains("too many"));
    assert!(bench.complaint(&["window", "--percent", "0"]).contains("--percent"));
    assert!(bench.complaint(&["window", "--layout", "pma"]).contains("live graph"));
}

#[test]
fn sealed_graphs_are_measured_in_all_parts() {
    let bench = Bench::new();
    let path = bench.path("outofcore.html");
    let words = ["outofcore", "--runs", "2", "--on", "1,2", "--fixed-budget", "400000"];
    let words = [&words[..], &["--budget", "400000,100", "--report", &path]].concat();
    let found = bench.json(&words);
    let graph = &found["graph"];
    assert_eq!((&graph["edges"], &graph["scale"]), (&4096.into(), &8.into()));
    assert_positive(graph, &["vertices", "csr_bytes", "disk_bytes"]);
    let parts = found["parts"].as_array().expect("a list of parts");
    let names: Vec<&str> = parts.iter().map(|part| part["part"].as_str().unwrap()).collect();
    let expected = [
        ("device", 1),
        ("kernels", 14),
        ("ablation", 20),
        ("fragments", 48),
        ("threads", 4),
        ("sealing", 4),
        ("levels", 10),
        ("order", 8),
    ];
    assert_eq!(names, expected.map(|(name, _)| name));
    assert_eq!(
        parts.iter().map(|part| rows(part).len()).collect::<Vec<_>>(),
        expected.map(|p| p.1)
    );
    let of = |place: usize| rows(&parts[place]);
    assert_positive(&of(0)[0], &["random_reads_per_second", "sequential_bytes_per_second"]);
    for (row, is_enough) in of(1).iter().zip([true, false].into_iter().cycle()) {
        assert_positive(row, &["memory_bytes", "least_memory_bytes", "csr_seconds"]);
        let [memory, least] = ["memory_bytes", "least_memory_bytes"].map(|key| row[key].as_u64());
        assert_eq!(memory >= least, is_enough, "{row}");
        assert_eq!(row["answer"] == "as on a CSR", is_enough, "{row}");
        assert_eq!(row["refused"].is_null(), is_enough, "{row}");
    }
    let asked = [1, 2, 4, 6, 7].into_iter().flat_map(of).filter(|row| row["refused"].is_null());
    for row in asked {
        assert_eq!(row["answer"], "as on a CSR");
        assert_positive(row, &["seconds", "read_bytes", "reads", "pieces", "peak_rss_bytes"]);
        let number = |key: &str| row[key].as_f64().unwrap_or_else(|| panic!("{key}: {row}"));
        // Nothing is read twice: all has room.
        assert_eq!(number("pieces"), number("index_pages") + number("chunks"), "{row}");
        assert!(number("reads") <= number("pieces"), "{row}");
        assert!(number("read_bytes") >= 4096.0 * number("pieces"), "{row}");
    }
    for row in of(3).iter().filter(|row| row["level"] == "all") {
        assert_positive(row, &["chunks", "bytes", "list_bytes", "csr_ratio"]);
        let sum = row["white_bytes"].as_u64().unwrap() + row["list_bytes"].as_u64().unwrap();
        assert_eq!(sum + 4 * row["chunks"].as_u64().unwrap(), row["bytes"].as_u64().unwrap());
    }
    let ways: Vec<&str> = of(5).iter().map(|row| row["way"].as_str().unwrap()).collect();
    assert_eq!(ways, ["CSR in memory", "enough memory", "400000 %", "100 %"]);
    assert!(of(5)[3]["refused"].as_str().unwrap().contains("bytes of memory"));
    of(5)[1..3].iter().for_each(|row| {
        assert_positive(row, &["seconds", "written_bytes", "disk_bytes", "peak_rss_bytes"]);
    });
    let page = std::fs::read_to_string(Path::new(&path)).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"));
    // One for each kernel, and of some parts for two of them.
    assert_eq!(page.matches("<figure>").count(), 1 + 7 + 2 + 1 + 2 + 1 + 2 + 2);
    assert!(!page.contains("nothing to show") && !page.contains("http"));
}

#[test]
fn parts_and_kernels_of_sealed_graphs_can_be_chosen() {
    let bench = Bench::new();
    let words =
        ["outofcore", "--part", "kernels", "--kernel", "wcc,sssp", "--undirected", "--plain"];
    let words = [&words[..], &["--budget", "400000", "--runs", "1", "--on", "1"]].concat();
    let output = bench.run(&words);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let table = String::from_utf8(output.stdout).unwrap();
    for word in ["kernels: Kernels by budget", "wcc", "sssp", "of bandwidth", "--report"] {
        assert!(table.contains(word), "{word} is not in\n{table}");
    }
    assert!(!table.contains("device") && !table.contains("bfs"), "{table}");
    assert!(bench.complaint(&["outofcore", "--on", "0"]).contains("--on 1"));
    let nowhere = bench.path("missing/report.html");
    assert!(bench.complaint(&["outofcore", "--report", &nowhere]).contains("--report"));
    let output = bench.run(&["outofcore", "--part", "kernel"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("'kernels'"));
}

#[test]
fn the_report_of_each_paper_has_a_plot_for_each_figure() {
    let bench = Bench::new();
    let figures = figures_on_page(&bench, "xpgraph");
    let names =
        ["12", "13", "15", "17", "19", "20", "21", "22", "24", "25", "26", "27", "28", "table-3"];
    assert_eq!(names_of(&figures), names);
    assert!(rows(&figures[3]).iter().all(|row| row["edges_lost"] == 0));
    let figures = figures_on_page(&bench, "dgap");
    let names = ["1a", "1b", "5", "6", "table-3", "7", "8", "table-4", "table-5", "9"];
    assert_eq!(names_of(&figures), names);
    for (figure, key) in [(0, "media_written_ratio"), (5, "wcc_ratio"), (6, "bc_ratio")] {
        rows(&figures[figure]).iter().for_each(|row| assert_positive(row, &[key]));
    }
    rows(&figures[7]).iter().for_each(|row| assert_positive(row, &["bc_seconds"]));
    rows(&figures[9]).iter().for_each(|row| assert_positive(row, &["list_bytes"]));
    let figures = figures_on_page(&bench, "pie");
    let names = ["4", "12", "13", "14", "table-4", "15", "16", "17", "table-5", "table-6"];
    assert_eq!(names_of(&figures), names);
    for (figure, keys) in [
        (0, &["delta_seconds", "sssp_seconds"][..]),
        (4, &["bfs_seconds", "sssp_seconds", "sswp_seconds", "ssnp_seconds", "viterbi_seconds"]),
        (8, &["open_seconds"]),
        (9, &["peak_rss_bytes"]),
    ] {
        rows(&figures[figure]).iter().for_each(|row| assert_positive(row, keys));
    }
    let figures = figures_on_page(&bench, "smdg");
    let names = ["7", "8", "9", "10", "11", "12", "13", "14", "15", "16", "17", "18"];
    assert_eq!(names_of(&figures), names);
    for (figure, keys) in [
        (2, &["updates_per_second"][..]),
        (3, &["serial_seconds", "total_seconds"]),
        (5, &["queries_per_second", "query_seconds"]),
        (7, &["version_bytes_none_ended"]),
        (11, &["list_bytes"]),
    ] {
        rows(&figures[figure]).iter().for_each(|row| assert_positive(row, keys));
    }
    let ended = |row: &Value| row["version_bytes_all_ended"] == 0;
    assert!(rows(&figures[7]).iter().all(ended));
}

fn names_of(figures: &[Value]) -> Vec<&str> {
    figures.iter().map(|one| one["figure"].as_str().unwrap()).collect()
}

/// Measures all figures of a paper, and looks that the page has a plot for each.
fn figures_on_page(bench: &Bench, paper: &str) -> Vec<Value> {
    let path = bench.path("report.html");
    let found = bench.json(&[paper, "--report", &path]);
    let figures = found["figures"].as_array().unwrap();
    assert!(figures.iter().all(|one| !rows(one).is_empty()));
    let page = std::fs::read_to_string(Path::new(&path)).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"));
    assert_eq!(page.matches("<figure>").count(), figures.len());
    assert!(!page.contains("nothing to show") && !page.contains("http"));
    figures.clone()
}

#[test]
fn one_figure_can_be_chosen_and_others_are_refused() {
    let bench = Bench::new();
    let found = bench.json(&["xpgraph", "--figure", "27,13"]);
    let figures = found["figures"].as_array().unwrap();
    assert_eq!((&figures[0]["figure"], &figures[1]["figure"]), (&"13".into(), &"27".into()));
    assert_eq!(figures.len(), 2);
    assert!(bench.complaint(&["xpgraph", "--figure", "23"]).contains("27, 28, table-3"));
}

#[test]
fn failures_say_what_to_do_and_leave_nothing() {
    let bench = Bench::new();
    assert!(bench.complaint(&["recovery", "--medium", "dram"]).contains("--medium pmem"));
    assert!(bench.complaint(&["ingest", "--buffer-min", "512"]).contains("--buffer-max"));
    // The graph's own complaint comes out of the measuring process.
    let line = bench.complaint(&["ingest", "--medium", "file", "--buffer-min", "17"]);
    assert!(line.contains("buffer-min 17") && line.contains("16, 32"), "{line}");
    let nowhere = bench.path("missing/report.html");
    assert!(bench.complaint(&["xpgraph", "--report", &nowhere]).contains("--report"));
}
