//! The graph view calls: each place of a list apart, and moving it on.

use everedge::{GraphOptions, Layout};
use everedge_adjacency::{AdjacencyGraph, AdjacencyOptions, Direction, ListPart};
use everedge_core::{Edge, GraphView};
use everedge_live::{Batch, Compaction, Phases};
use everedge_medium::{MediumKind, Volume, VolumeOptions};

use crate::battery::small;

fn graph(directed: bool) -> AdjacencyGraph {
    let medium = MediumKind::Dram;
    graph_with(GraphOptions { medium, directed, log_bytes: 1 << 20, ..small(Layout::Adjacency) })
}

fn graph_with(options: GraphOptions) -> AdjacencyGraph {
    let medium = options.medium;
    let volume = Volume::create("parts".as_ref(), VolumeOptions::new(medium)).expect("a volume");
    AdjacencyGraph::create(volume, crate::live::adjacency(&options)).expect("a graph")
}

fn part(inserted: &[u32], deleted: &[u32]) -> ListPart {
    ListPart { inserted: inserted.to_vec(), deleted: deleted.to_vec() }
}

#[test]
fn an_edge_goes_from_the_log_to_the_buffers_to_the_blocks() {
    let graph = graph(true);
    let parts = |v, direction| {
        [
            graph.logged_neighbors(v, direction),
            graph.buffered_neighbors(v, direction).unwrap(),
            graph.flushed_neighbors(v, direction).unwrap(),
        ]
    };
    let none = part(&[], &[]);
    graph.insert(&[(1, 2), (3, 2)], None).unwrap();
    assert_eq!(graph.logged_edge_count(), 2);
    assert_eq!(parts(1, Direction::Out), [part(&[2], &[]), none.clone(), none.clone()]);
    assert_eq!(parts(2, Direction::In), [part(&[1, 3], &[]), none.clone(), none.clone()]);

    graph.archive_all().unwrap();
    assert_eq!(graph.logged_edge_count(), 0);
    assert_eq!(parts(2, Direction::In), [none.clone(), part(&[1, 3], &[]), none.clone()]);

    graph.flush_buffers().unwrap();
    graph.delete([(3, 2)].into_iter()).unwrap();
    assert_eq!(parts(2, Direction::In), [none.clone(), part(&[], &[3]), part(&[1, 3], &[])]);

    let done = graph.compact_vertex(2).unwrap();
    assert!(done.runs == 2 && done.written_bytes > 0, "{done:?}");
    assert_eq!(parts(2, Direction::In), [none.clone(), none.clone(), part(&[1], &[])]);
    assert_eq!(graph.compact().unwrap(), Compaction::default());
    assert_eq!(graph.snapshot().unwrap().edge_count(), 1);
    assert_eq!(parts(99_999, Direction::Out), [none.clone(), none.clone(), none]);
}

#[test]
fn an_undirected_edge_is_at_both_ends_and_a_self_loop_at_one() {
    let graph = graph(false);
    graph.insert(&[(1, 2), (2, 2)], None).unwrap();
    for direction in [Direction::Out, Direction::In] {
        assert_eq!(graph.logged_neighbors(2, direction), part(&[1, 2], &[]));
    }
    graph.archive_all().unwrap();
    assert_eq!(graph.buffered_neighbors(2, Direction::In).unwrap(), part(&[1, 2], &[]));
}

#[test]
fn lists_of_which_much_is_deleted_are_compacted_by_themselves() {
    for (percent, is_compacted) in [(25, true), (0, false)] {
        let graph = graph_with(GraphOptions {
            adjacency: AdjacencyOptions {
                archive_threshold: 1000,
                phases: Phases::InTurn,
                compact_percent: percent,
                ..AdjacencyOptions::default()
            },
            medium: MediumKind::Dram,
            ..GraphOptions::default()
        });
        let edges: Vec<Edge> = (0..9000).map(|i| (i % 90, 100 + i / 90)).collect();
        graph.insert(&edges, None).unwrap();
        graph.apply(&Batch::deletions(edges[..3000].iter().copied(), false).unwrap()).unwrap();
        let part = graph.flushed_neighbors(0, Direction::Out).unwrap();
        let buffered = graph.buffered_neighbors(0, Direction::Out).unwrap();
        assert_eq!(part.deleted.is_empty() && buffered.deleted.is_empty(), is_compacted);
        assert_eq!(graph.snapshot().unwrap().edge_count(), 6000);
        assert!(graph.verify().unwrap().problems.is_empty());
    }
}
