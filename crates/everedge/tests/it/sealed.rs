//! Sealed graphs answer as the graphs that were sealed do, within the least memory, and say what they cannot.
#![expect(clippy::disallowed_methods, reason = "tests damage the files of a graph")]

use std::fs;
use std::path::Path;

use everedge::{
    Choices, Chosen, Chunks, Error, Graph, GraphOptions, IdKind, IngestOptions, Kernel, MediumKind,
    Parameters, RunOptions, SealFiles, SealOptions, SealReport, Timeline, Verify, VersionChoice,
    View, Watch,
};

/// A small graph with hubs, loops, parallel edges and vertices without edges.
fn graph(options: GraphOptions) -> Graph {
    let options = GraphOptions { medium: MediumKind::Dram, ..options };
    let graph = Graph::create("sealed".as_ref(), &options, false).unwrap();
    let mut state = 1_u32;
    let mut random = |below: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) % below
    };
    let edges: Vec<(u32, u32)> = (0..900)
        .map(|_| {
            let below = 1 << (1 + random(6));
            (random(60), random(below))
        })
        .filter(|edge| edge.0 != 50 && edge.1 != 50)
        .collect();
    let edges: Vec<_> = edges.into_iter().filter(|(u, v)| !options.simple || u != v).collect();
    let weights: Vec<f32> = edges.iter().map(|&(u, v)| 0.25 + ((u * v) % 6) as f32 / 8.0).collect();
    graph.insert(&edges, options.weighted.then_some(&weights[..])).unwrap();
    graph
}

fn seal(view: &View, path: &Path) {
    Chunks::seal(view, path, &SealOptions::default(), &Watch::new()).unwrap();
}

fn parameters(kernel: Kernel) -> Parameters {
    let mut parameters = Parameters::default();
    if kernel == Kernel::Radii {
        // All vertices: a sample would be another one, as vertices have other numbers.
        parameters.set("samples", "64").unwrap();
    }
    if matches!(kernel, Kernel::PageRank | Kernel::PersonalizedPageRank) {
        parameters.set("tolerance", "1e-12").unwrap();
        parameters.set("iterations", "1000").unwrap();
    }
    if matches!(kernel, Kernel::Hits | Kernel::Eigenvector | Kernel::Katz) {
        // So many, whether they have converged or not.
        parameters.set("tolerance", "0").unwrap();
        parameters.set("iterations", "30").unwrap();
    }
    parameters
}

/// Returns the answer of a kernel for each vertex, and what it says in short.
pub(crate) fn answer(view: &View, kernel: Kernel) -> (Vec<(String, String)>, serde_json::Value) {
    let options = RunOptions { verify: Verify::Full, ..parameters(kernel).into() };
    let report = view.run(kernel, &options).unwrap();
    let mut text = Vec::new();
    report.values.write(view, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let rows = text.lines().map(|line| {
        let (id, value) = line.split_once(' ').unwrap_or((line, ""));
        (id.to_owned(), value.to_owned())
    });
    (rows.collect(), report.result)
}

pub(crate) fn check_alike(
    kernel: Kernel,
    found: &[(String, String)],
    expected: &[(String, String)],
) {
    assert_eq!(found.len(), expected.len(), "{kernel}");
    for (found, expected) in found.iter().zip(expected) {
        let are_near =
            |(found, expected): (&str, &str)| match (found.parse::<f64>(), expected.parse::<f64>())
            {
                (Ok(a), Ok(b)) => a == b || (a - b).abs() <= 1e-6 * b.abs().max(1e-3),
                _ => found == expected,
            };
        let is_alike = found.1.split(' ').zip(expected.1.split(' ')).all(are_near);
        assert!(found.0 == expected.0 && is_alike, "{kernel}: {found:?}, not {expected:?}");
    }
}

/// Compares answers of which one is of vertices with other numbers, and what both say in short.
pub(crate) fn check_same(
    kernel: Kernel,
    (found, in_short): (&[(String, String)], &serde_json::Value),
    (expected, expected_in_short): (&[(String, String)], &serde_json::Value),
) {
    const SAME: [&str; 10] = [
        "components",
        "largest",
        "count",
        "max",
        "reached",
        "communities",
        "depth",
        "total",
        "acyclic",
        "bipartite",
    ];
    let ids = |rows: &[(String, String)]| {
        let mut ids: Vec<String> = rows.iter().map(|(id, _)| id.clone()).collect();
        ids.sort();
        ids
    };
    // Communities are found by chance; what ties are broken by is the numbers of vertices.
    let is_found_by_chance =
        matches!(kernel, Kernel::Louvain | Kernel::Leiden | Kernel::LabelPropagation);
    match kernel {
        Kernel::OneHop | Kernel::TwoHop => assert_eq!(ids(found), ids(expected), "{kernel}"),
        Kernel::Bridges | Kernel::SpanningForest => assert_eq!(found.len(), expected.len()),
        _ if kernel.depends_on_numbers() => assert_eq!(ids(found), ids(expected), "{kernel}"),
        _ => check_alike(kernel, found, expected),
    }
    for key in SAME.iter().filter(|_| !is_found_by_chance) {
        assert_eq!(in_short.get(key), expected_in_short.get(key), "{kernel}: {key}");
    }
}

#[test]
fn every_kernel_answers_as_on_the_graph_that_was_sealed() {
    let home = tempfile::tempdir().unwrap();
    for (directed, weighted, simple) in [
        (true, false, false),
        (false, false, false),
        (true, true, false),
        (false, true, false),
        (true, false, true),
        (false, false, true),
    ] {
        let graph = graph(GraphOptions { directed, weighted, simple, ..GraphOptions::default() });
        let view = graph.snapshot().unwrap();
        let path = home.path().join(format!("{directed}{weighted}{simple}"));
        seal(&view, &path);
        let found = Chunks::verify(&path).unwrap();
        assert!(found.ok && found.checks > 100, "{found:?}");
        let chunks = Chunks::open(&path, Some(64 << 20)).unwrap();
        let stats = chunks.stats().unwrap();
        assert_eq!((stats.kind, stats.edges), ("chunks", view.edge_count()));
        for &kernel in Kernel::ALL {
            let sealed = chunks.view_for(kernel).unwrap();
            let (found, in_short) = answer(&sealed, kernel);
            let (expected, expected_in_short) = answer(&view, kernel);
            check_same(kernel, (&found, &in_short), (&expected, &expected_in_short));
        }
        for k in ["2", "5", "9"] {
            let mut parameters = Parameters::default();
            parameters.set("k", k).unwrap();
            let options = RunOptions { verify: Verify::Full, ..parameters.into() };
            let [found, expected] = [&chunks.view_for(Kernel::KCore).unwrap(), &view]
                .map(|view| view.run(Kernel::KCore, &options).unwrap().result);
            assert_eq!(found, expected, "the core of {k}");
        }
    }
}

#[test]
fn names_and_versions_are_sealed() {
    let home = tempfile::tempdir().unwrap();
    let options = GraphOptions { ids: IdKind::Text, ..GraphOptions::default() };
    let path = home.path().join("live");
    let graph = Graph::create(&path, &options, false).unwrap();
    let ids = graph.intern_texts(["a", "b", "c", "d"].into_iter()).unwrap();
    graph.insert(&[(ids[0], ids[1]), (ids[2], ids[1])], None).unwrap();
    graph.commit("before").unwrap();
    graph.insert(&[(ids[3], ids[1])], None).unwrap();
    let sealed = home.path().join("now");
    seal(&graph.snapshot().unwrap(), &sealed);
    drop(graph);
    let chunks = Chunks::open(&sealed, None).unwrap();
    let (components, _) = answer(&chunks.view_for(Kernel::Wcc).unwrap(), Kernel::Wcc);
    let expected = ["a", "b", "c", "d"].map(|id| (id.to_owned(), "a".to_owned()));
    assert_eq!(components, expected);
    let timeline = Timeline::open_read_only(&path).unwrap();
    let sealed = home.path().join("before");
    seal(&timeline.at(&VersionChoice::Number(1)).unwrap(), &sealed);
    let view = Chunks::open(&sealed, None).unwrap().view(0).unwrap();
    assert_eq!((view.vertex_count(), view.edge_count()), (3, 2));
    assert!(view.find("d").is_none() && view.find("b").is_some());
}

#[test]
fn ids_that_lie_far_apart_cost_nothing() {
    let home = tempfile::tempdir().unwrap();
    let options = GraphOptions { medium: MediumKind::Dram, ..GraphOptions::default() };
    let graph = Graph::create("far".as_ref(), &options, false).unwrap();
    graph.insert(&[(0, 2_000_000_000), (2_000_000_000, 7), (7, 0)], None).unwrap();
    let path = home.path().join("far");
    seal(&graph.snapshot().unwrap(), &path);
    let chunks = Chunks::open(&path, Some(32 << 20)).unwrap();
    assert!(chunks.stats().unwrap().disk_bytes < 1 << 20);
    let (found, _) = answer(&chunks.view_for(Kernel::Bfs).unwrap(), Kernel::Bfs);
    let ids: Vec<_> = found.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(ids, ["0", "7", "2000000000"]);
}

#[test]
fn a_budget_that_is_too_small_is_refused_with_what_would_do() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("g");
    seal(&graph(GraphOptions::default()).snapshot().unwrap(), &path);
    let error = Chunks::open(&path, Some(1 << 20)).unwrap().view_for(Kernel::PageRank);
    let what = error.err().unwrap().to_string();
    let least: u64 =
        what.split(' ').find_map(|word| word.parse().ok().filter(|&n| n > 1 << 20)).unwrap();
    assert!(Chunks::open(&path, Some(least)).unwrap().view_for(Kernel::PageRank).is_ok(), "{what}");
    assert!(Chunks::open(&path, Some(least - 1)).unwrap().view_for(Kernel::PageRank).is_err());
}

#[test]
fn damage_ends_a_run_with_its_place() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("g");
    seal(&graph(GraphOptions::default()).snapshot().unwrap(), &path);
    for name in ["out.4k", "out.index", "in.4k", "in.index"] {
        let file = path.join(name);
        let bytes = fs::read(&file).unwrap();
        for at in [0, 77, 4095, bytes.len() - 1] {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            fs::write(&file, damaged).unwrap();
            let view = Chunks::open(&path, None).unwrap().view_for(Kernel::PageRank).unwrap();
            let kernel = if name.starts_with("in") { Kernel::PageRank } else { Kernel::Bfs };
            let error = view.run(kernel, &RunOptions::default());
            let what = match error {
                Err(error) => error.to_string(),
                // A search may not come by.
                Ok(_) if kernel == Kernel::Bfs => continue,
                Ok(_) => panic!("{name} at {at}"),
            };
            assert!(what.contains(name) && what.contains("damaged at offset"), "{what}");
            let found = Chunks::verify(&path).unwrap();
            assert!(!found.ok && found.problems[0].contains(name), "{found:?}");
        }
        fs::write(&file, &bytes[..bytes.len() - 1]).unwrap();
        assert!(!Chunks::verify(&path).unwrap().ok);
        assert!(Chunks::open(&path, None).unwrap().view(0).is_err());
        fs::write(&file, bytes).unwrap();
    }
    assert!(Chunks::verify(&path).unwrap().ok);
}

/// The search from the target meets edges that the damaged lists of their sources lack.
#[test]
fn a_path_over_a_damaged_list_is_an_error() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("g");
    let options = GraphOptions {
        medium: MediumKind::Dram,
        directed: true,
        weighted: true,
        ..GraphOptions::default()
    };
    let graph = Graph::create("path".as_ref(), &options, false).unwrap();
    let edges = [(0, 1), (1, 2), (1, 4), (1, 5), (1, 6), (2, 3)];
    graph.insert(&edges, Some(&[100.0, 1.0, 500.0, 500.0, 500.0, 1.0])).unwrap();
    seal(&graph.snapshot().unwrap(), &path);
    let file = path.join("out.4k");
    let mut bytes = fs::read(&file).unwrap();
    bytes[100] ^= 1;
    fs::write(&file, bytes).unwrap();
    let view = Chunks::open(&path, None).unwrap().view(0).unwrap();
    let ends = view.find_all(["0", "3"]).unwrap();
    let found = view.shortest_path(ends[0], ends[1], false, &Watch::new());
    let what = found.unwrap_err().to_string();
    assert!(what.contains("out.4k") && what.contains("damaged at offset"), "{what}");
}

#[test]
fn verify_names_every_damaged_piece() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("g");
    seal(&graph(GraphOptions::default()).snapshot().unwrap(), &path);
    let files = ["ids", "out.index", "out.4k", "in.4k"];
    for name in files {
        let mut bytes = fs::read(path.join(name)).unwrap();
        bytes[9] ^= 0x10;
        fs::write(path.join(name), bytes).unwrap();
    }
    // One that is too short is named beside the damaged pieces.
    let short = fs::read(path.join("in.index")).unwrap();
    fs::write(path.join("in.index"), &short[..short.len() - 1]).unwrap();
    let found = Chunks::verify(&path).unwrap();
    assert_eq!((found.ok, found.problem_count), (false, files.len() as u64 + 1), "{found:?}");
    assert!(found.problems.iter().any(|problem| problem.contains("the file's length")));
    for name in files {
        let names = |problem: &&String| {
            problem.contains(&format!("/{name}`")) && problem.contains("damaged at offset 0")
        };
        assert_eq!(found.problems.iter().filter(names).count(), 1, "{name}: {found:?}");
    }
}

#[test]
fn verify_names_every_file_that_is_too_short_or_not_there() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("g");
    seal(&graph(GraphOptions::default()).snapshot().unwrap(), &path);
    let short = ["ids", "in.index", "in.4k"];
    for name in short {
        let bytes = fs::read(path.join(name)).unwrap();
        fs::write(path.join(name), &bytes[..bytes.len() - 4096]).unwrap();
    }
    // What is met first cannot be read, and does not keep the others from being named.
    fs::remove_file(path.join("out.index")).unwrap();
    let found = Chunks::verify(&path).unwrap();
    let names = |file: &str, what: &str| {
        let has =
            |problem: &String| problem.contains(&format!("/{file}`")) && problem.contains(what);
        assert_eq!(found.problems.iter().filter(|problem| has(problem)).count(), 1, "{found:?}");
    };
    short.iter().for_each(|name| names(name, "the file's length"));
    names("out.index", "No such file");
    assert_eq!((found.ok, found.problem_count), (false, 4));
}

/// Seals a file of edges beside it, within so many bytes of memory.
fn seal_within(file: &Path, memory: u64) -> Result<SealReport, Error> {
    let what = SealFiles {
        files: &[file.to_owned().into()],
        ingest: &IngestOptions::default(),
        chosen: &Chosen::default(),
        choices: Choices::default(),
        options: SealOptions::default(),
        watch: &Watch::new(),
        memory: Some(memory),
    };
    Chunks::seal_files(&file.with_file_name("g"), &what, &mut |_| true)
}

#[test]
fn a_vertex_that_has_no_room_is_called_by_its_name() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("e.txt");
    fs::write(&file, (0..120_000).map(|i| format!("hub x{i}\n")).collect::<String>()).unwrap();
    let what = seal_within(&file, 116 << 20).unwrap_err().to_string();
    assert!(what.contains("vertex `hub` has 120000 neighbors"), "{what}");
    assert_eq!(seal_within(&file, 200 << 20).unwrap().edges, 120_000);
}

#[test]
fn names_are_part_of_the_memory_that_sealing_files_takes() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("e.txt");
    // Names of 70 MB beside the buffers.
    let name = |number: u32| format!("{number:x<60000}");
    let lines = (0..600).map(|line| format!("{} {}\n", name(2 * line), name(2 * line + 1)));
    fs::write(&file, lines.collect::<String>()).unwrap();
    let mut memory = 113 << 20;
    let mut refused = 0;
    let report = loop {
        match seal_within(&file, memory) {
            Ok(report) => break report,
            Err(error) => {
                let what = error.to_string();
                assert!(what.contains("for the names of vertices"), "{what}");
                let would_do = what.split(" would do").next().unwrap().rsplit(' ').next().unwrap();
                let would_do: u64 = would_do.parse().unwrap();
                assert!(would_do > memory, "{what}");
                (memory, refused) = (would_do, refused + 1);
            }
        }
    };
    assert!(refused > 0 && report.vertices == 1200 && report.edges == 600, "{refused}");
}

#[test]
fn a_graph_that_cannot_say_what_vertices_were_called_is_not_asked() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("g");
    let options =
        GraphOptions { ids: IdKind::Text, medium: MediumKind::Dram, ..GraphOptions::default() };
    let live = Graph::create("named".as_ref(), &options, false).unwrap();
    let numbers = live.intern_texts(["ada", "bo", "cy", "di"].into_iter()).unwrap();
    live.insert(&[(numbers[0], numbers[1]), (numbers[2], numbers[3])], None).unwrap();
    seal(&live.snapshot().unwrap(), &path);
    for (name, at) in [("names", 40), ("ids", 5)] {
        let file = path.join(name);
        let bytes = fs::read(&file).unwrap();
        let mut damaged = bytes.clone();
        damaged[at] ^= 1;
        fs::write(&file, damaged).unwrap();
        let asked = Chunks::open(&path, None).unwrap().view_for(Kernel::Wcc).map(drop);
        let changed = Chunks::change(&path, false).map(drop);
        for what in [asked, changed].map(|result| result.unwrap_err().to_string()) {
            assert!(what.contains(name) && what.contains("damaged at offset"), "{what}");
        }
        fs::write(&file, bytes).unwrap();
    }
    assert!(Chunks::open(&path, None).unwrap().view_for(Kernel::Wcc).is_ok());
}

#[test]
fn no_graph_is_sealed_into_the_directory_of_another() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("g");
    let view = graph(GraphOptions::default()).snapshot().unwrap();
    seal(&view, &path);
    let inside = path.join("changes");
    let error = Chunks::seal(&view, &inside, &SealOptions::default(), &Watch::new()).unwrap_err();
    assert!(error.to_string().contains("in the directory of the graph"), "{error}");
    assert!(!inside.exists() && Chunks::verify(&path).unwrap().ok);
}

#[test]
fn a_sealing_that_fails_leaves_nothing() {
    let home = tempfile::tempdir().unwrap();
    let view = graph(GraphOptions::default()).snapshot().unwrap();
    let path = home.path().join("cancelled");
    let watch = Watch::new();
    watch.cancel();
    let error = Chunks::seal(&view, &path, &SealOptions::default(), &watch).unwrap_err();
    assert!(matches!(error, Error::Interrupted) && !path.exists());
    fs::create_dir(&path).unwrap();
    assert!(Chunks::seal(&view, &path, &SealOptions::default(), &watch).is_err());
    assert_eq!(path.read_dir().unwrap().count(), 0);
    fs::write(path.join("mine"), "x").unwrap();
    assert!(Chunks::seal(&view, &path, &SealOptions::default(), &Watch::new()).is_err());
    assert_eq!(fs::read_to_string(path.join("mine")).unwrap(), "x");
}

#[test]
fn a_seed_draws_the_sources_of_the_graph_that_was_sealed() {
    let home = tempfile::tempdir().unwrap();
    for ids in [IdKind::Dense, IdKind::Text] {
        let path = home.path().join(ids.to_string());
        let live = graph(GraphOptions { ids: IdKind::Dense, ..GraphOptions::default() });
        let live = match ids {
            IdKind::Dense => live.snapshot().unwrap(),
            _ => named(&live.snapshot().unwrap()).snapshot().unwrap(),
        };
        seal(&live, &path);
        let sealed = Chunks::open(&path, None).unwrap().view_for(Kernel::Betweenness).unwrap();
        let names = |view: &View| {
            let drawn = view.sample_sources(20, 7).into_iter();
            drawn.map(|v| view.name_of(v).to_string()).collect::<Vec<_>>()
        };
        assert_eq!(names(&sealed), names(&live));
        let mut parameters = Parameters::default();
        parameters.set("samples", "9").unwrap();
        parameters.set("seed", "3").unwrap();
        let scores = |view: &View, csr: bool| {
            let options =
                RunOptions { verify: Verify::Full, csr, ..RunOptions::from(parameters.clone()) };
            let report = view.run(Kernel::Betweenness, &options).unwrap();
            let mut text = Vec::new();
            report.values.write(view, &mut text).unwrap();
            let text = String::from_utf8(text).unwrap();
            let row = |line: &str| {
                let (id, value) = line.split_once(' ').unwrap();
                (id.to_owned(), value.to_owned())
            };
            text.lines().map(row).collect::<Vec<_>>()
        };
        let expected = scores(&live, false);
        for csr in [false, true] {
            check_alike(Kernel::Betweenness, &scores(&sealed, csr), &expected);
        }
    }
}

/// Returns a graph in memory of the same edges, whose vertices have strings for names.
fn named(view: &View) -> Graph {
    let options =
        GraphOptions { ids: IdKind::Text, medium: MediumKind::Dram, ..GraphOptions::default() };
    let graph = Graph::create("named".as_ref(), &options, false).unwrap();
    let (src, dst, _) = view.edges();
    let names: Vec<String> =
        src.iter().zip(&dst).flat_map(|(u, v)| [u, v]).map(|v| format!("v{v}")).collect();
    let ends = graph.intern_texts(names.iter().map(String::as_str)).unwrap();
    let edges: Vec<_> = ends.chunks(2).map(|ends| (ends[0], ends[1])).collect();
    graph.insert(&edges, None).unwrap();
    graph
}

#[test]
fn an_empty_graph_keeps_what_its_names_are() {
    let home = tempfile::tempdir().unwrap();
    for ids in [IdKind::Dense, IdKind::Integer, IdKind::Text] {
        let options = GraphOptions { ids, medium: MediumKind::Dram, ..GraphOptions::default() };
        let graph = Graph::create("empty".as_ref(), &options, false).unwrap();
        let view = graph.snapshot().unwrap();
        assert_eq!(view.id_kind(), ids);
        let paths = ["once", "twice"].map(|times| home.path().join(format!("{ids}-{times}")));
        seal(&view, &paths[0]);
        seal(&Chunks::open(&paths[0], None).unwrap().view(0).unwrap(), &paths[1]);
        for path in paths {
            let chunks = Chunks::open(&path, None).unwrap();
            assert_eq!(chunks.options().ids, ids);
            // Numbers for names are integers.
            let expected = if ids == IdKind::Text { IdKind::Text } else { IdKind::Integer };
            assert_eq!(chunks.view(0).unwrap().id_kind(), expected);
        }
    }
}

#[test]
fn without_in_neighbors_the_few_kernels_run_that_are_said_to() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("g");
    let options = GraphOptions { in_neighbors: false, ..GraphOptions::default() };
    seal(&graph(options).snapshot().unwrap(), &path);
    let chunks = Chunks::open(&path, Some(64 << 20)).unwrap();
    for &kernel in Kernel::ALL {
        let runs = chunks.view_for(kernel).unwrap().run(kernel, &RunOptions::default()).is_ok();
        assert_eq!(chunks.check_kernel(kernel).is_ok(), runs, "{kernel}");
        assert_eq!(runs, matches!(kernel, Kernel::OneHop | Kernel::TwoHop), "{kernel}");
        // It is not asked for a budget that would not help.
        let early = Chunks::open_for(&path, Some(1), kernel).map(drop);
        assert_eq!(early.is_ok(), runs, "{kernel}");
    }
    // Those of undirected edges are the out-neighbors.
    let path = home.path().join("undirected");
    let options = GraphOptions { in_neighbors: false, directed: false, ..GraphOptions::default() };
    seal(&graph(options).snapshot().unwrap(), &path);
    let chunks = Chunks::open_for(&path, Some(64 << 20), Kernel::PageRank).unwrap();
    let view = chunks.view_for(Kernel::PageRank).unwrap();
    assert!(view.run(Kernel::PageRank, &RunOptions::default()).is_ok());
}
