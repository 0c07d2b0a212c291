//! Graphs whose memory outlives the power: lists lie with the graph, the log passes buffers.

use everedge::GraphOptions;
use everedge_adjacency::{AdjacencyGraph, AdjacencyOptions};
use everedge_core::{Edge, GraphView};
use everedge_live::{Error, Phases};
use everedge_medium::{Access, MediumKind, Volume};

const FILES: [&str; 3] = ["index", "tables", "buffers"];

fn options() -> GraphOptions {
    GraphOptions {
        medium: MediumKind::Pmem { emulated: true },
        eadr: true,
        log_bytes: 1 << 16,
        adjacency: AdjacencyOptions {
            archive_threshold: 1000,
            phases: Phases::InTurn,
            battery: true,
            ..AdjacencyOptions::default()
        },
        ..GraphOptions::default()
    }
}

fn edges(count: u32) -> Vec<Edge> {
    (0..count).map(|i| (i % 5000, i / 7 % 5000)).collect()
}

fn create(path: &std::path::Path) -> AdjacencyGraph {
    let volume = Volume::create(path, options().volume(false)).unwrap();
    let graph = AdjacencyGraph::create(volume, crate::live::adjacency(&options())).unwrap();
    for batch in edges(50_000).chunks(500) {
        graph.insert(batch, None).unwrap();
    }
    graph
}

fn open(path: &std::path::Path, access: Access) -> everedge_live::Result<AdjacencyGraph> {
    AdjacencyGraph::open(Volume::open(path, options().volume(false), access)?)
}

#[test]
fn what_the_log_has_passed_is_there_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("g");
    drop(create(&path));
    for access in [Access::Read, Access::Write] {
        let graph = open(&path, access).unwrap();
        assert!(graph.recovery().taken_over_shards > 0);
        assert_eq!(graph.snapshot().unwrap().edge_count(), 50_000);
        assert!(graph.verify().unwrap().problems.is_empty());
    }
    let graph = open(&path, Access::Write).unwrap();
    graph.insert(&edges(3000), None).unwrap();
    graph.compact().unwrap();
    graph.close().unwrap();
    assert!(FILES.iter().all(|name| !path.join(name).exists()));
    let graph = open(&path, Access::Write).unwrap();
    assert_eq!(graph.snapshot().unwrap().edge_count(), 53_000);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "what someone does to the files of a graph")]
fn without_its_files_the_graph_is_refused_and_they_stay() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("g");
    drop(create(&path));
    let away = directory.path().join("tables");
    std::fs::rename(path.join("tables"), &away).unwrap();
    for access in [Access::Read, Access::Write] {
        let error = open(&path, access).err().expect("an error");
        assert!(matches!(error, Error::Corruption { .. }), "{error}");
    }
    std::fs::rename(&away, path.join("tables")).unwrap();
    let graph = open(&path, Access::Write).unwrap();
    assert_eq!(graph.snapshot().unwrap().edge_count(), 50_000);
}

#[test]
fn other_media_have_no_battery() {
    let directory = tempfile::tempdir().unwrap();
    let options = GraphOptions { medium: MediumKind::File, ..options() };
    let volume = Volume::create(&directory.path().join("g"), options.volume(false)).unwrap();
    let error =
        AdjacencyGraph::create(volume, crate::live::adjacency(&options)).err().expect("an error");
    assert!(error.to_string().contains("battery"), "{error}");
}
