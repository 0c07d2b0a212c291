//! Graphs that go to directories for other engines, and come back.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use everedge::{
    Batch, Choices, Chunks, EdgeReader, Error, ExternalId, Format, Graph, GraphOptions, IdChoice,
    IdKind, IngestOptions, Layout, MediumKind, SealOptions, View, Watch,
};

const FORMATS: [Format; 3] = [Format::Parquet, Format::Icebug, Format::GraphAr];

/// What a graph is, in the names of its vertices: directed, weighted, ids, vertices, edges with the bits of their weights,
/// and those of the newest of each pair.
type Whole = (bool, bool, IdKind, Vec<ExternalId>, Vec<(ExternalId, ExternalId, u32, u32)>);

/// A view's contents; an undirected edge once, from its smaller name.
fn whole(view: &View) -> Whole {
    let (src, dst, weights) = view.edges();
    let edge = |((&u, &v), weight): ((&u32, &u32), f32)| {
        let newest = view.weight(u, v).unwrap().to_bits();
        let [u, v] = [u, v].map(|end| view.name_of(end));
        let is_turned = !view.is_directed() && u > v;
        let (u, v) = if is_turned { (v, u) } else { (u, v) };
        (u, v, weight.to_bits(), newest)
    };
    let mut edges: Vec<_> = src.iter().zip(&dst).zip(weights).map(edge).collect();
    edges.sort_unstable();
    let mut vertices: Vec<_> = view.vertices().into_iter().map(|v| view.name_of(v)).collect();
    vertices.sort_unstable();
    (view.is_directed(), view.is_weighted(), view.id_kind(), vertices, edges)
}

fn options(directed: bool, weighted: bool, ids: IdKind) -> GraphOptions {
    GraphOptions { medium: MediumKind::Dram, directed, weighted, ids, ..GraphOptions::default() }
}

/// A graph with parallel edges, self-loops, vertices without edges and hubs.
fn graph_of(options: &GraphOptions) -> Graph {
    let graph = Graph::create("given".as_ref(), options, false).unwrap();
    let ends = (0..3000_u64).map(|i| (i * i % 257, i * 7 % 101)).chain([(5, 5), (5, 5), (0, 256)]);
    let vertices = |ids: Vec<u64>| match options.ids {
        IdKind::Dense => ids.into_iter().map(|id| 3 * id as u32).collect(),
        IdKind::Integer => {
            let ids: Vec<u64> = ids.into_iter().map(|id| (id * id) << 34).collect();
            graph.intern_integers(&ids).unwrap()
        }
        IdKind::Text => {
            let ids: Vec<String> = ids.iter().map(|id| format!("é {}", id * 37 % 1000)).collect();
            graph.intern_texts(ids.iter().map(String::as_str)).unwrap()
        }
    };
    let (src, dst): (Vec<u64>, Vec<u64>) = ends.unzip();
    let edges: Vec<_> = vertices(src).into_iter().zip(vertices(dst)).collect();
    let weights: Vec<f32> = (0..edges.len()).map(|i| i as f32 / 8.0 - 3.0).collect();
    graph.insert(&edges, options.weighted.then_some(&weights[..])).unwrap();
    let mut alone = Batch::new(options.weighted);
    vertices(vec![700, 300, 999]).into_iter().for_each(|v| alone.add_vertex(v).unwrap());
    graph.apply(&alone).unwrap();
    graph
}

fn export(view: &View, path: &Path, format: Format) -> everedge::Result<everedge::ExportReport> {
    view.export(path, Some(format), &Watch::default())
}

/// The graph that a directory makes.
fn read_back(path: &Path) -> everedge::Result<Graph> {
    read_back_as(path, &IngestOptions::default())
}

fn read_back_as(path: &Path, ingest: &IngestOptions) -> everedge::Result<Graph> {
    let files = [path.to_owned()];
    let options = GraphOptions { medium: MediumKind::Dram, ..GraphOptions::default() };
    let graph = Graph::create_for("back".as_ref(), &options, Choices::default(), &files, ingest)?;
    graph.ingest(&files, ingest, &mut |_| true)?;
    Ok(graph)
}

/// All files in and below a directory.
fn files_in(directory: &Path) -> Vec<PathBuf> {
    let (mut files, mut directories) = (Vec::new(), vec![directory.to_owned()]);
    while let Some(directory) = directories.pop() {
        for entry in directory.read_dir().unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { directories.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files
}

#[test]
fn every_kind_of_graph_comes_back() {
    let home = tempfile::tempdir().unwrap();
    for ids in [IdKind::Dense, IdKind::Integer, IdKind::Text] {
        for (directed, weighted) in [(true, false), (true, true), (false, false), (false, true)] {
            let graph = graph_of(&options(directed, weighted, ids));
            let view = graph.snapshot().unwrap();
            for format in FORMATS {
                let case = format!("{}-{ids}-{directed}-{weighted}", format.name());
                let path = home.path().join(&case);
                let report = export(&view, &path, format).unwrap();
                assert_eq!(report.edges, view.edge_count(), "{case}");
                assert_eq!(report.vertices, u64::from(view.vertex_count()), "{case}");
                let back = read_back(&path).unwrap().snapshot().unwrap();
                assert!(whole(&back) == whole(&view), "{case}");
            }
        }
    }
}

#[test]
fn sealed_graphs_and_versions_are_written_too() {
    let home = tempfile::tempdir().unwrap();
    for ids in [IdKind::Dense, IdKind::Integer, IdKind::Text] {
        let graph = graph_of(&options(false, true, ids));
        let view = graph.snapshot().unwrap();
        let sealed = home.path().join(format!("sealed-{ids}"));
        Chunks::seal(&view, &sealed, &SealOptions::default(), &Watch::default()).unwrap();
        let chunks = Chunks::open(&sealed, None).unwrap().view(0).unwrap();
        for format in FORMATS {
            let path = home.path().join(format!("{}-{ids}", format.name()));
            export(&chunks, &path, format).unwrap();
            let back = read_back(&path).unwrap().snapshot().unwrap();
            assert!(whole(&back) == whole(&view), "{} {ids}", format.name());
        }
    }
}

#[test]
fn a_graph_without_edges_keeps_its_vertices() {
    let home = tempfile::tempdir().unwrap();
    for format in FORMATS {
        let graph = Graph::create("none".as_ref(), &options(false, true, IdKind::Dense), false);
        let graph = graph.unwrap();
        let path = home.path().join(format.name());
        export(&graph.snapshot().unwrap(), &path, format).unwrap();
        let back = read_back(&path).unwrap().snapshot().unwrap();
        assert!(whole(&back) == whole(&graph.snapshot().unwrap()), "{}", format.name());
        let mut alone = Batch::new(true);
        alone.add_vertex(7).unwrap();
        graph.apply(&alone).unwrap();
        let view = graph.snapshot().unwrap();
        export(&view, &path, format).unwrap();
        let back = read_back(&path).unwrap().snapshot().unwrap();
        assert!(whole(&back) == whole(&view), "{}", format.name());
    }
}

#[test]
fn an_empty_id_is_refused_as_in_every_format() {
    let home = tempfile::tempdir().unwrap();
    let options = options(true, false, IdKind::Text);
    let graph = Graph::create("given".as_ref(), &options, false).unwrap();
    let ids = graph.intern_texts(["a", ""].into_iter()).unwrap();
    graph.insert(&[(ids[0], ids[1])], None).unwrap();
    let view = graph.snapshot().unwrap();
    for format in FORMATS {
        let error = export(&view, &home.path().join("out"), format).unwrap_err().to_string();
        assert!(error.contains("an id is empty"), "{error}");
    }
}

#[test]
fn parallel_edges_are_read_in_the_order_of_their_age() {
    for layout in [Layout::Adjacency, Layout::Pma, Layout::Blocks] {
        for directed in [true, false] {
            let options = GraphOptions { layout, ..options(directed, true, IdKind::Dense) };
            let graph = Graph::create("given".as_ref(), &options, false).unwrap();
            for weight in 1..200 {
                graph.insert(&[(0, 1), (0, 2)], Some(&[weight as f32, 0.5])).unwrap();
                if weight % 3 == 0 {
                    graph.delete(&[(0, 1)]).unwrap();
                }
            }
            let view = Arc::new(graph.snapshot().unwrap());
            let columns = EdgeReader::by_age(view).next(1000).unwrap();
            let to_one = columns.dst.iter().zip(&columns.weights).filter(|&(&dst, _)| dst == 1);
            let weights: Vec<f32> = to_one.map(|(_, &weight)| weight).collect();
            let expected: Vec<f32> =
                (1..200).filter(|weight| weight % 3 != 0).map(|w| w as f32).collect();
            assert_eq!(weights, expected, "{layout:?}");
        }
    }
}

#[test]
fn ids_that_lie_far_apart_take_no_room() {
    let home = tempfile::tempdir().unwrap();
    let graph = Graph::create("far".as_ref(), &options(true, false, IdKind::Dense), false).unwrap();
    graph.insert(&[(2_000_000_000, 3), (3, 2_000_000_000), (1_000_000_000, 3)], None).unwrap();
    let view = graph.snapshot().unwrap();
    for format in FORMATS {
        let path = home.path().join(format.name());
        export(&view, &path, format).unwrap();
        let back = read_back(&path).unwrap().snapshot().unwrap();
        assert!(whole(&back) == whole(&view), "{}", format.name());
    }
}

/// One byte at a time, in each file; and files that are missing, cut off, or too many.
#[test]
#[expect(clippy::disallowed_methods, reason = "a test damages its files")]
fn what_is_damaged_is_refused_before_anything_is_taken_in() {
    let home = tempfile::tempdir().unwrap();
    let view = graph_of(&options(true, true, IdKind::Text)).snapshot().unwrap();
    for format in FORMATS {
        let path = home.path().join(format.name());
        export(&view, &path, format).unwrap();
        let refused = |what: &str, file: &Path, words: &[&str]| {
            let error = read_back(&path).err().unwrap_or_else(|| panic!("{what} {file:?}"));
            assert!(matches!(error, Error::InvalidInput { .. }), "{what}: {error:?}");
            let error = error.to_string();
            let name = file.file_name().unwrap().to_str().unwrap();
            assert!(error.contains(name), "{what}: {error}");
            assert!(words.iter().any(|words| error.contains(words)), "{what}: {error}");
        };
        for file in files_in(&path) {
            let bytes = std::fs::read(&file).unwrap();
            for at in (0..bytes.len()).step_by(bytes.len().div_ceil(20)) {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1;
                std::fs::write(&file, damaged).unwrap();
                refused("a bit", &file, &["damaged", "manifest.json"]);
            }
            std::fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
            refused("cut off", &file, &["bytes, and had", "damaged"]);
            std::fs::remove_file(&file).unwrap();
            refused("missing", &file, &["is missing", "without its `manifest.json`"]);
            std::fs::write(&file, &bytes).unwrap();
        }
        let extra = path.join("part-00009.parquet");
        std::fs::write(&extra, "more").unwrap();
        refused("extra", &extra, &["is not of the export"]);
        std::fs::remove_file(&extra).unwrap();
        std::fs::write(path.join("_SUCCESS"), "").unwrap();
        read_back(&path).unwrap();
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test makes its files")]
fn an_export_takes_the_place_of_an_export_only() {
    let home = tempfile::tempdir().unwrap();
    let view = graph_of(&options(true, false, IdKind::Dense)).snapshot().unwrap();
    let path = home.path().join("out");
    std::fs::create_dir(&path).unwrap();
    export(&view, &path, Format::Parquet).unwrap();
    // Another format, in the place of the first.
    export(&view, &path, Format::Icebug).unwrap();
    assert!(path.join("schema.cypher").exists() && !path.join("edges").exists());
    let kept = path.join("notes.txt");
    std::fs::write(&kept, "mine").unwrap();
    let error = export(&view, &path, Format::GraphAr).unwrap_err().to_string();
    assert!(error.contains("notes.txt") && error.contains("move it away"), "{error}");
    for name in ["file", "other"] {
        let taken = home.path().join(name);
        match name {
            "file" => std::fs::write(&taken, "1 2\n").unwrap(),
            _ => std::fs::create_dir_all(taken.join("photos")).unwrap(),
        }
        let error = export(&view, &taken, Format::Icebug).unwrap_err().to_string();
        assert!(error.contains("is there and holds no export"), "{error}");
    }
    assert_eq!(std::fs::read(&kept).unwrap(), b"mine");
    let names: BTreeSet<_> =
        home.path().read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["file", "other", "out"].map(Into::into).into());
}

#[test]
fn a_cancelled_export_leaves_what_was_there() {
    let home = tempfile::tempdir().unwrap();
    let view = graph_of(&options(true, false, IdKind::Dense)).snapshot().unwrap();
    for format in FORMATS {
        let path = home.path().join("out");
        let watch = Watch::on(Arc::new(AtomicBool::new(true)));
        let error = view.export(&path, Some(format), &watch).unwrap_err();
        assert!(error.is_interruption(), "{error}");
        assert_eq!(home.path().read_dir().unwrap().count(), 0, "{}", format.name());
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test makes its files")]
fn names_say_what_is_a_file() {
    let home = tempfile::tempdir().unwrap();
    let view = graph_of(&options(true, false, IdKind::Dense)).snapshot().unwrap();
    let at = |name: &str| home.path().join(name);
    for name in ["a.parquet", "b.pq"] {
        export(&view, &at(name), Format::Parquet).unwrap();
        assert!(at(name).is_file());
    }
    export(&view, &at("c"), Format::Parquet).unwrap();
    assert!(at("c").is_dir());
    std::fs::write(at("d"), "mine").unwrap();
    let error = export(&view, &at("d"), Format::Parquet).unwrap_err().to_string();
    assert!(error.contains("is there and holds no export"), "{error}");
    assert_eq!(std::fs::read(at("d")).unwrap(), b"mine");
    std::fs::create_dir(at("e.parquet")).unwrap();
    export(&view, &at("e.parquet"), Format::Parquet).unwrap();
    assert!(at("e.parquet/manifest.json").is_file());
    let error = view.export(&at("f"), None, &Watch::default()).unwrap_err().to_string();
    assert!(error.contains("--format parquet, icebug or graphar"), "{error}");
}

#[test]
fn what_is_said_of_a_directory_must_be_true() {
    let home = tempfile::tempdir().unwrap();
    let view = graph_of(&options(true, true, IdKind::Integer)).snapshot().unwrap();
    let path = home.path().join("out");
    export(&view, &path, Format::GraphAr).unwrap();
    let with = |change: fn(&mut IngestOptions)| {
        let mut ingest = IngestOptions::default();
        change(&mut ingest);
        read_back_as(&path, &ingest)
    };
    with(|ingest| ingest.input.format = Some(Format::GraphAr)).unwrap();
    let error = with(|ingest| ingest.input.format = Some(Format::Icebug)).err().unwrap();
    assert!(error.to_string().contains("as graphar, not icebug"), "{error}");
    let error = with(|ingest| ingest.input.header = Some(true)).err().unwrap();
    assert!(error.to_string().contains("which columns hold what"), "{error}");
    let text = with(|ingest| ingest.input.ids = IdChoice::Text).unwrap();
    assert_eq!(text.snapshot().unwrap().id_kind(), IdKind::Text);
    // Edges are taken away by a directory as by a file.
    let graph = read_back(&path).unwrap();
    let ingest = IngestOptions { delete: true, ..IngestOptions::default() };
    let report = graph.ingest(std::slice::from_ref(&path), &ingest, &mut |_| true).unwrap();
    assert_eq!((report.edges_deleted, report.edges), (view.edge_count(), 0));
    let empty = home.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let mut ingest = IngestOptions::default();
    ingest.input.format = Some(Format::Icebug);
    let error = read_back_as(&empty, &ingest).err().unwrap().to_string();
    assert!(error.contains("holds no export as icebug"), "{error}");
}
