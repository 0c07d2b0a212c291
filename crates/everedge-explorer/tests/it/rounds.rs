//! Rounds of more updates than are counted together: order, weights and replay of a long log.

use crate::live::LiveGraph;
use everedge::{GraphOptions, Layout};
use everedge_adjacency::{AdjacencyGraph, AdjacencyOptions, Merging, Snapshot};
use everedge_core::{GraphView, VertexId, WeightedView};
use everedge_medium::{Access, MediumKind, Volume};

use crate::model::Random;

const VERTEX_COUNT: u64 = 5_000;
/// Together more than 2^20 updates, so that places in the round take more than one group.
const BATCHES: usize = 3;
const BATCH_EDGES: usize = 400_000;

type Lists = Vec<Vec<(VertexId, u32)>>;

fn sorted(mut lists: Lists) -> Lists {
    lists.iter_mut().for_each(|list| list.sort_unstable());
    lists
}

fn assert_holds(view: &Snapshot, [out, into]: &[Lists; 2]) {
    let bound = VERTEX_COUNT as u32;
    let bits = |(neighbor, weight): (VertexId, f32)| (neighbor, weight.to_bits());
    let found = (0..bound).map(|v| view.out_edges(v).map(bits).collect()).collect();
    assert!(sorted(found) == *out, "out-edges");
    let found = (0..bound).map(|v| view.in_edges(v).map(bits).collect()).collect();
    assert!(sorted(found) == *into, "in-edges");
    assert_eq!(view.edge_count(), (BATCHES * BATCH_EDGES) as u64);
}

#[test]
fn a_long_round_keeps_every_edge_with_its_weight() {
    let home = tempfile::tempdir().expect("a directory");
    let path = home.path().join("g");
    let options = GraphOptions {
        medium: MediumKind::Pmem { emulated: true },
        weighted: true,
        // A pause would save what the log is to keep.
        adjacency: AdjacencyOptions {
            merging: Some(Merging::Never),
            ..AdjacencyOptions::default()
        },
        ..GraphOptions::default()
    };
    let volume = Volume::create(&path, options.volume(false)).expect("a volume");
    let graph = AdjacencyGraph::create(volume, crate::live::adjacency(&options)).expect("a graph");
    let mut random = Random(7);
    let mut lists = [(); 2].map(|()| vec![Vec::new(); VERTEX_COUNT as usize]);
    for batch in 0..BATCHES {
        let mut vertex = || random.below(VERTEX_COUNT) as VertexId;
        let edges: Vec<_> = (0..BATCH_EDGES).map(|_| (vertex(), vertex())).collect();
        let weights: Vec<f32> =
            (0..BATCH_EDGES).map(|index| (batch * BATCH_EDGES + index) as f32).collect();
        graph.insert(&edges, Some(&weights)).expect("inserted");
        for (&(src, dst), weight) in edges.iter().zip(&weights) {
            lists[0][src as usize].push((dst, weight.to_bits()));
            lists[1][dst as usize].push((src, weight.to_bits()));
        }
    }
    let lists = lists.map(sorted);
    assert_holds(&graph.snapshot().expect("a snapshot"), &lists);
    // Not closed: the log is replayed past what blocks already say.
    drop(graph);
    let volume = Volume::open(&path, options.volume(false), Access::Write).expect("a volume");
    let graph = AdjacencyGraph::open(volume).expect("a graph");
    assert_eq!(graph.recovery().replayed_batches, BATCHES as u64);
    assert_holds(&graph.snapshot().expect("a snapshot"), &lists);
    graph.close().expect("closed");
    let volume = Volume::open(&path, options.volume(false), Access::Read).expect("a volume");
    let graph = AdjacencyGraph::open(volume).expect("a graph");
    assert_holds(&graph.snapshot().expect("a snapshot"), &lists);
}

/// However much is written, an opening replays a quarter of what the log can hold, and what a round or
/// two had not taken yet.
#[test]
fn a_replay_is_bounded_by_the_log() {
    const LOG_BYTES: u64 = 1 << 16;
    const BATCH: u32 = 64;
    for layout in Layout::ALL {
        let (volume, mut recorder) = Volume::recorded(MediumKind::Pmem { emulated: true }, false);
        let mut options = GraphOptions { layout, log_bytes: LOG_BYTES, ..GraphOptions::default() };
        (options.adjacency.archive_threshold, options.pma.archive_threshold) = (256, 256);
        options.blocks.archive_threshold = 256;
        let mut graph = LiveGraph::create(volume, &options).expect("a graph");
        let (mut largest, mut random) = (0, Random(3));
        for round in 1..=20 {
            for _ in 0..100 {
                let mut vertex = || random.below(1 << 16) as VertexId;
                let edges: Vec<_> = (0..BATCH).map(|_| (vertex(), vertex())).collect();
                graph.insert(&edges, None).expect("inserted");
            }
            // A kill: whoever archives does not come to its end.
            let killed = recorder.image_of_kill();
            let (again, again_recorder) = Volume::from_killed(&killed).expect("a volume");
            recorder = again_recorder;
            drop(std::mem::replace(&mut graph, LiveGraph::open(again, layout).expect("a graph")));
            largest = largest.max(graph.recovery().replayed_updates);
            let view = graph.snapshot().expect("a view");
            assert_eq!(view.edge_count(), round * 100 * u64::from(BATCH));
        }
        println!("{layout}: {largest} updates are replayed at most");
        let in_log = LOG_BYTES / 8;
        assert!(largest > 0 && largest <= in_log / 4 + 2 * 256 + u64::from(BATCH), "{largest}");
    }
}
