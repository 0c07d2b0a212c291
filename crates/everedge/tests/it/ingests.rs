//! What files, pipes and archives do to a graph.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use everedge::{
    Choices, Chosen, Column, Durability, Error, Graph, GraphOptions, IdChoice, IdKind,
    IngestOptions, IngestReport, InputChoices, Layout, LogFirst, MediumKind, Target,
};
use tempfile::TempDir;

#[expect(clippy::disallowed_methods, reason = "a test makes its files")]
fn file(home: &TempDir, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = home.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

fn in_memory(options: GraphOptions) -> Graph {
    let options = GraphOptions { medium: MediumKind::Dram, ..options };
    Graph::create("ingests".as_ref(), &options, false).unwrap()
}

fn take(graph: &Graph, path: &Path, ingest: &IngestOptions) -> everedge::Result<IngestReport> {
    graph.ingest(&[path.to_owned()], ingest, &mut |_| true)
}

/// The vertex that another thread makes meanwhile has the number that the next one has.
#[test]
fn a_deletion_of_what_is_unknown_deletes_nothing_else() {
    let home = tempfile::tempdir().unwrap();
    let edges = file(&home, "edges.txt", "a b\na z\nz z\n");
    let graph = in_memory(GraphOptions { ids: IdKind::Text, ..GraphOptions::default() });
    let insert = |src: &str, dst: &str| {
        let ends = graph.intern_texts([src, dst].into_iter()).unwrap();
        graph.insert(&[(ends[0], ends[1])], None).unwrap();
    };
    insert("a", "b");
    let ingest = IngestOptions { delete: true, batch: 1, ..IngestOptions::default() };
    let mut others = vec![("a", "new")];
    let report = graph.ingest(&[edges], &ingest, &mut |_| {
        others.drain(..).for_each(|(src, dst)| insert(src, dst));
        true
    });
    let report = report.unwrap();
    assert_eq!((report.edges_deleted, report.deletes_ignored), (1, 2));
    assert_eq!((report.edges_read, report.edges), (3, 1));
}

#[test]
fn a_mistake_in_a_file_of_vertices_leaves_the_graph_as_it_was() {
    let home = tempfile::tempdir().unwrap();
    let lines: String = (0..400_000).map(|id| format!("{id}\n")).collect();
    let vertices = file(&home, "q.v", lines.clone() + "7 8\n");
    let graph = in_memory(GraphOptions::default());
    let error = take(&graph, &vertices, &IngestOptions::default()).unwrap_err();
    assert!(error.to_string().contains("line 400001"), "{error}");
    assert_eq!(graph.stats().unwrap().vertices, 0);
    let vertices = file(&home, "q.v", lines);
    let deleting = IngestOptions { delete: true, ..IngestOptions::default() };
    assert_eq!(take(&graph, &vertices, &deleting).unwrap().vertices, 0);
    assert_eq!(take(&graph, &vertices, &IngestOptions::default()).unwrap().vertices, 400_000);
}

#[test]
fn declared_vertices_are_all_made() {
    let home = tempfile::tempdir().unwrap();
    for count in [1, 65_536, 65_537, 200_000] {
        let matrix =
            format!("%%MatrixMarket matrix coordinate pattern general\n{count} {count} 1\n1 1\n");
        let graph = in_memory(GraphOptions::default());
        let matrix = file(&home, "a.mtx", matrix);
        assert_eq!(take(&graph, &matrix, &IngestOptions::default()).unwrap().vertices, count);
    }
}

#[test]
fn single_edges_are_stored_as_single_edges() {
    let home = tempfile::tempdir().unwrap();
    let lines: String = (0..500).map(|id| format!("{} {}\n", id % 7, id % 11)).collect();
    let edges = file(&home, "edges.txt", lines);
    let mut options = GraphOptions {
        layout: Layout::Pma,
        durability: Durability::Edge,
        medium: MediumKind::Pmem { emulated: true },
        ..GraphOptions::default()
    };
    options.pma.log_first = LogFirst::No;
    let graph = Graph::create(&home.path().join("graph"), &options, false).unwrap();
    assert_eq!(take(&graph, &edges, &IngestOptions::default()).unwrap().edges, 500);
    let mechanisms = graph.mechanisms().unwrap();
    assert!(mechanisms.stored_directly > 0, "{mechanisms:?}");
}

/// A pipe cannot be read twice: what was read of it to guess is there for the next call, which
/// guesses anew.
#[test]
fn what_a_failed_call_has_read_of_a_pipe_is_not_lost() {
    let home = tempfile::tempdir().unwrap();
    let pipe = home.path().join("edges.csv");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let writer = {
        let pipe = pipe.clone();
        std::thread::spawn(move || {
            let mut out = std::fs::OpenOptions::new().write(true).open(pipe).unwrap();
            std::io::Write::write_all(&mut out, b"from,to\n1,2\n3,4\n").unwrap();
        })
    };
    let occupied = file(&home, "occupied", "");
    let choices = Choices::default();
    let target = |path| Target { path, chosen: Box::leak(Box::new(Chosen::default())), choices };
    let wrong = InputChoices { src: Some(Column::Name("who".into())), ..InputChoices::default() };
    let wrong = IngestOptions { input: wrong, ..IngestOptions::default() };
    let path = home.path().join("graph");
    let error =
        Graph::ingest_into(&target(&path), std::slice::from_ref(&pipe), &wrong, &mut |_| true);
    assert!(matches!(error, Err(Error::File { .. })), "{error:?}");
    // The graph cannot be made where a file is.
    let below = occupied.join("graph");
    let right = IngestOptions::default();
    assert!(
        Graph::ingest_into(&target(&below), std::slice::from_ref(&pipe), &right, &mut |_| true)
            .is_err()
    );
    // A graph that keeps weights takes no columns without.
    let keeps_weights = in_memory(GraphOptions { weighted: true, ..GraphOptions::default() });
    let error = take(&keeps_weights, &pipe, &right);
    assert!(matches!(error, Err(Error::InvalidInput { .. })), "{error:?}");
    let text = InputChoices { ids: IdChoice::Text, ..InputChoices::default() };
    let text = IngestOptions { input: text, ..IngestOptions::default() };
    let report = Graph::ingest_into(&target(&path), &[pipe], &text, &mut |_| true).unwrap();
    writer.join().unwrap();
    assert_eq!(report.edges, 2);
    let graph = Graph::open_read_only(&path).unwrap();
    assert_eq!(graph.options().ids, IdKind::Text);
}

/// Whoever opens the graph to read comes before the first pause of a writer.
#[test]
fn lists_are_in_order_when_files_are_taken_in() {
    let home = tempfile::tempdir().unwrap();
    let edge = |i: u64| format!("{} {}\n", i * 7919 % 1009, i * 104_729 % 997);
    let edges = file(&home, "edges.txt", (0..100_000).map(edge).collect::<String>());
    let path = home.path().join("graph");
    let target = Target { path: &path, chosen: &Chosen::default(), choices: Choices::default() };
    let ingest = IngestOptions { batch: 5000, ..IngestOptions::default() };
    Graph::ingest_into(&target, &[edges], &ingest, &mut |_| true).unwrap();
    let graph = Graph::open(&path, false).unwrap();
    assert_eq!(graph.compact().unwrap().runs, 0);
    graph.close().unwrap();
}

/// Pairs of integers may start as a compressed file does.
#[test]
fn a_file_of_pairs_is_never_compressed() {
    let home = tempfile::tempdir().unwrap();
    for first in
        [35_615_u32, 0x0008_8b1f, u32::from_le_bytes(*b"BZh1"), u32::from_le_bytes(*b"PK\x03\x04")]
    {
        let pairs: Vec<u8> = [first, 7].iter().flat_map(|id| id.to_le_bytes()).collect();
        let graph = in_memory(GraphOptions::default());
        let pairs = file(&home, "pairs.bin", pairs);
        assert_eq!(take(&graph, &pairs, &IngestOptions::default()).unwrap().edges, 1, "{first}");
        assert_eq!(graph.snapshot().unwrap().edges().0, [first]);
    }
}

/// The vertices beside the edges have a format of their own.
#[test]
fn vertices_beside_edges_are_vertices_whatever_was_chosen_of_the_edges() {
    let home = tempfile::tempdir().unwrap();
    file(&home, "q.v", "1\n2\n30\n");
    let edges = file(&home, "q.e", "1 2\n");
    let input =
        InputChoices { format: Some(everedge::Format::Graphalytics), ..InputChoices::default() };
    let ingest = IngestOptions { input, ..IngestOptions::default() };
    let graph = in_memory(GraphOptions::default());
    let report = take(&graph, &edges, &ingest).unwrap();
    assert_eq!((report.edges, report.vertices), (1, 3));
    let target = Target {
        path: &home.path().join("graph"),
        chosen: &Chosen::default(),
        choices: Choices::default(),
    };
    let report = Graph::ingest_into(&target, &[edges], &ingest, &mut |_| true).unwrap();
    assert_eq!((report.edges, report.vertices), (1, 3));
}

/// A graph in memory has no directory: its path is a name.
#[test]
fn a_graph_in_memory_that_stays_empty_leaves_what_its_path_names() {
    let home = tempfile::tempdir().unwrap();
    let bad = file(&home, "bad.txt", "1 2\n3\n");
    let path = home.path().join("graph");
    std::fs::create_dir(&path).unwrap();
    let mut chosen = Chosen::default();
    chosen.choose("medium", "dram").unwrap();
    let target = Target { path: &path, chosen: &chosen, choices: Choices::default() };
    let error = Graph::ingest_into(&target, &[bad], &IngestOptions::default(), &mut |_| true);
    assert!(matches!(error, Err(Error::File { .. })), "{error:?}");
    assert!(path.is_dir());
}

/// What a file says is not looked for once the ingest is to end.
#[test]
fn a_signal_ends_the_guesses_about_files() {
    let home = tempfile::tempdir().unwrap();
    let edges = file(&home, "edges.csv", "from,to\n1,2\n");
    let input = InputChoices { src: Some(Column::Name("who".into())), ..InputChoices::default() };
    let ingest = IngestOptions { input, ..IngestOptions::default() };
    ingest.stop.store(true, Relaxed);
    let path = home.path().join("graph");
    let target = Target { path: &path, chosen: &Chosen::default(), choices: Choices::default() };
    let outcome = Graph::ingest_into(&target, &[edges], &ingest, &mut |_| true);
    assert!(outcome.is_err_and(|error| error.is_interruption()) && !path.exists());
}

#[test]
fn a_signal_ends_the_making_of_vertices_that_a_head_declares() {
    let home = tempfile::tempdir().unwrap();
    let head = "%%MatrixMarket matrix coordinate pattern general\n20000000 20000000 1\n";
    let matrix = file(&home, "matrix.mtx", head.to_owned() + "1 2\n");
    let graph = in_memory(GraphOptions::default());
    let ingest = IngestOptions::default();
    let error = graph.ingest(&[matrix], &ingest, &mut |_| {
        // The edge is in; now come the vertices.
        let stop = Arc::clone(&ingest.stop);
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            stop.store(true, Relaxed);
        });
        true
    });
    let error = error.unwrap_err();
    assert!(error.is_interruption(), "{error}");
    assert!(graph.stats().unwrap().vertices < 20_000_000);
}
