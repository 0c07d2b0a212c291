//! Which files a call takes.

use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use everedge::{
    Batch, Format, Generator, Graph, GraphOptions, IngestOptions, MediumKind, OutputFile,
    write_generated,
};

#[test]
#[expect(clippy::disallowed_methods, reason = "a test makes its files")]
fn directories_and_patterns_give_their_files() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    std::fs::create_dir_all(at("day=2/_tmp")).unwrap();
    for (id, name) in
        ["a.csv", "b.csv", "day=2/d.tsv", "_SUCCESS", ".c.csv", "readme", "README.txt"]
            .into_iter()
            .enumerate()
    {
        let blank = if name.ends_with("csv") { ',' } else { '\t' };
        std::fs::write(at(name), format!("{id}{blank}100\n")).unwrap();
    }
    let taken = |paths: &[PathBuf]| {
        let options = GraphOptions { medium: MediumKind::Dram, ..GraphOptions::default() };
        let graph = Graph::create("files".as_ref(), &options, false).unwrap();
        graph.ingest(paths, &IngestOptions::default(), &mut |_| true).map(|_| {
            let mut sources = graph.snapshot().unwrap().edges().0;
            sources.sort_unstable();
            sources
        })
    };
    assert_eq!(taken(&[home.path().to_owned()]).unwrap(), [0, 1, 2]);
    assert_eq!(taken(&[at("*.csv"), at("d*"), at("readme")]).unwrap(), [0, 1, 2, 5]);
    assert!(taken(&[at("absent")]).unwrap_err().to_string().contains("absent"));
    for path in [at("*.tsv"), at("day=2/_tmp")] {
        assert!(taken(&[path]).is_err());
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test makes its files")]
fn a_link_back_up_is_not_followed() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    std::fs::create_dir_all(at("a/b")).unwrap();
    std::fs::create_dir_all(at("c")).unwrap();
    std::fs::write(at("a/b/edges.csv"), "1,2\n").unwrap();
    std::os::unix::fs::symlink("../..", at("a/b/up")).unwrap();
    std::os::unix::fs::symlink(".", at("a/self")).unwrap();
    // A link to another directory is followed, as before.
    std::os::unix::fs::symlink("../a/b", at("c/other")).unwrap();
    let options = GraphOptions { medium: MediumKind::Dram, ..GraphOptions::default() };
    let graph = Graph::create("links".as_ref(), &options, false).unwrap();
    let paths = [home.path().to_owned()];
    let report = graph.ingest(&paths, &IngestOptions::default(), &mut |_| true).unwrap();
    let skipped: Vec<PathBuf> = report.skipped_files.into_iter().map(|s| s.file).collect();
    assert_eq!(skipped, ["a/b/up", "a/self", "c/other/up"].map(at));
    assert_eq!(report.edges_read, 2);
}

/// A file's name may be any bytes; the report of what was taken in must not fail for it.
#[test]
#[expect(clippy::disallowed_methods, reason = "a test makes its files")]
fn names_that_are_no_text_are_reported_all_the_same() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &[u8]| home.path().join(std::ffi::OsStr::from_bytes(name));
    for (name, text) in [
        (&b"a.csv"[..], "1,2\n"),
        (b"b\xe9.tsv", "1\t2\n"),
        (b"caf\xe9.md", "none\n"),
        (b"g\xe9.e", "1 2\n"),
        (b"g\xe9.v", "1\n2\n"),
    ] {
        std::fs::write(at(name), text).unwrap();
    }
    let options = GraphOptions { medium: MediumKind::Dram, ..GraphOptions::default() };
    let graph = Graph::create("names".as_ref(), &options, false).unwrap();
    let taken = |path: PathBuf| {
        let report = graph.ingest(&[path], &IngestOptions::default(), &mut |_| true).unwrap();
        serde_json::to_string(&report).unwrap()
    };
    let report = taken(home.path().to_owned());
    assert!(report.contains("caf\u{fffd}.md") && report.contains("b\u{fffd}.tsv"), "{report}");
    assert!(taken(at(b"g\xe9.e")).contains("g\u{fffd}.v"));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test makes its files")]
fn a_failed_write_leaves_the_file_as_it_was() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("values.txt");
    std::fs::write(&path, "old").unwrap();
    let mut out = OutputFile::create(&path).unwrap();
    out.write_all(b"new").unwrap();
    drop(out);
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
    assert_eq!(place.path().read_dir().unwrap().count(), 1);
    let mut out = OutputFile::create(&path).unwrap();
    out.write_all(b"new").unwrap();
    assert_eq!(out.put_in_place().unwrap(), 3);
    assert_eq!(std::fs::read(&path).unwrap(), b"new");
}

#[test]
fn a_generated_file_is_what_its_name_says() {
    let place = tempfile::tempdir().unwrap();
    let generator = Generator::kron(6, 4, 1).unwrap();
    for name in ["a.txt", "a.csv", "a.mtx", "a.bin", "a.bin.gz", "a.jsonl.zst", "a.parquet"] {
        let path = place.path().join(name);
        write_generated(&path, &generator, false, |_| ()).unwrap();
        let options = GraphOptions { medium: MediumKind::Dram, ..GraphOptions::default() };
        let graph = Graph::create("generated".as_ref(), &options, false).unwrap();
        let report = graph.ingest(&[path], &IngestOptions::default(), &mut |_| true).unwrap();
        assert_eq!(report.edges, generator.edge_count(), "{name}");
    }
    for name in ["a.bin.zip", "kron", "a.gr", "a.graph", "a.parquet.gz", "a.v"] {
        let path = place.path().join(name);
        assert!(write_generated(&path, &generator, false, |_| ()).is_err(), "{name}");
        assert!(!path.exists(), "{name}");
    }
    assert!(write_generated(&place.path().join("w.bin"), &generator, true, |_| ()).is_err());
}

/// Vertices of another graph beside the edges would be taken for those of this one.
#[test]
#[expect(clippy::disallowed_methods, reason = "a test makes its files")]
fn generated_edges_of_graphalytics_bring_their_vertices() {
    let place = tempfile::tempdir().unwrap();
    let generator = Generator::kron(6, 4, 1).unwrap();
    for (edges, vertices) in [("a.e", "a.v"), ("b.e.gz", "b.v.gz")] {
        std::fs::write(place.path().join(vertices), "1\n").unwrap();
        let path = place.path().join(edges);
        write_generated(&path, &generator, false, |_| ()).unwrap();
        let options = GraphOptions { medium: MediumKind::Dram, ..GraphOptions::default() };
        let graph = Graph::create("generated".as_ref(), &options, false).unwrap();
        let report = graph.ingest(&[path], &IngestOptions::default(), &mut |_| true).unwrap();
        assert_eq!((report.edges, report.vertices), (generator.edge_count(), 64), "{edges}");
    }
}

/// Without a file of vertices beside it, Graphalytics' edges hold those that have one.
#[test]
fn a_stream_of_edges_says_which_vertices_it_leaves_out() {
    let options = GraphOptions { medium: MediumKind::Dram, ..GraphOptions::default() };
    let graph = Graph::create("streamed".as_ref(), &options, false).unwrap();
    let mut batch = Batch::insertions([(1, 2)].into_iter(), None).unwrap();
    batch.add_vertex(7).unwrap();
    graph.apply(&batch).unwrap();
    let view = graph.snapshot().unwrap();
    for (format, left_out) in
        [(Format::EdgeList, 1), (Format::Graphalytics, 1), (Format::MatrixMarket, 0)]
    {
        let report = view.export_to(std::io::sink(), format).unwrap();
        assert_eq!((report.vertices, report.vertices_left_out), (3, left_out), "{format}");
    }
}
