//! Work that is cancelled around a call on a live graph takes nothing of the graph along.

use everedge_core::watch::Watch;
use everedge_live::Phases;
use everedge_medium::{Access, Volume};

use crate::live::LiveGraph;
use crate::options::{GraphOptions, Layout};

const EDGES: u32 = 50_000;

fn options(layout: Layout, phases: Phases) -> GraphOptions {
    let mut options = GraphOptions { layout, ..GraphOptions::default() };
    (options.adjacency.phases, options.pma.phases) = (phases, phases);
    options
}

/// Inserts, cancels a snapshot, inserts and looks; then opens again and looks.
fn check(layout: Layout, phases: Phases) {
    let home = tempfile::tempdir().expect("a directory");
    let path = home.path().join("g");
    let options = options(layout, phases);
    let volume = Volume::create(&path, options.volume(false)).expect("a volume");
    let graph = LiveGraph::create(volume, &options).expect("a graph");
    let edges = |first: u32| -> Vec<(u32, u32)> {
        (first..first + EDGES).map(|i| (i % 997, i % 10_007)).collect()
    };
    graph.insert(&edges(0), None).expect("room");
    let watch = Watch::new();
    watch.cancel();
    let _cancelled = watch.run(|| graph.snapshot().map(drop));
    graph.insert(&edges(EDGES), None).expect("room");
    let all = u64::from(2 * EDGES);
    assert_eq!(graph.snapshot().expect("a view").edge_count(), all, "{layout} {phases}");
    graph.close().expect("closed");
    let volume = Volume::open(&path, options.volume(false), Access::Read).expect("a volume");
    let graph = LiveGraph::open(volume, layout).expect("a graph");
    assert_eq!(graph.snapshot().expect("a view").edge_count(), all, "{layout} {phases}, opened");
}

#[test]
fn a_cancelled_snapshot_loses_nothing() {
    for layout in [Layout::Adjacency, Layout::Pma] {
        for phases in [Phases::Overlapped, Phases::InTurn] {
            check(layout, phases);
        }
    }
}
