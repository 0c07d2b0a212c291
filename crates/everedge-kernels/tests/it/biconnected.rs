//! Bridges and articulation points.

use everedge_core::{Csr, GraphView};
use everedge_kernels::{Biconnected, NO_COMPONENT, biconnected, naive, verify_biconnected, wcc};

use crate::graphs::{for_each_case, graph};

/// Ids of a graph that the naive twin takes: it searches for each edge.
const NAIVE_MAX: u32 = 600;

#[test]
fn equals_what_is_lost_without_each_edge_and_vertex() {
    for_each_case(|case| {
        let found = biconnected(&case.graph);
        verify_biconnected(&case.graph, &found).unwrap();
        if case.graph.vertex_bound() <= NAIVE_MAX {
            let (bridges, points) = naive::biconnected(&case.graph);
            assert_eq!((&found.bridges, &found.articulation_points), (&bridges, &points));
        }
        let components = wcc(&case.graph).component_count();
        assert_eq!(found.component_count(), components + found.bridges.len() as u32);
    });
}

/// A triangle and a cycle of four that share a vertex, a tail, a doubled edge and a pair by itself.
fn example(directed: bool) -> Csr {
    let edges = [
        (0, 1),
        (1, 2),
        (2, 0),
        (2, 3),
        (3, 4),
        (4, 5),
        (5, 2),
        (5, 6),
        (6, 7),
        (7, 8),
        (7, 8),
        (8, 8),
        (10, 11),
        (12, 12),
    ];
    graph(directed, &[], &edges.map(|(u, v)| (u, v, 1.0)))
}

#[test]
fn parts_of_an_example_are_found() {
    for directed in [true, false] {
        let found = biconnected(&example(directed));
        assert_eq!(found.bridges, [(5, 6), (6, 7), (10, 11)]);
        assert_eq!(found.articulation_points, [2, 5, 6, 7]);
        assert_eq!(found.component, [0, 0, 0, 0, 0, 0, 6, 7, 7, NO_COMPONENT, 10, 11, 12]);
        assert_eq!((found.block_count, found.component_count(), found.largest()), (6, 6, 6));
    }
}

#[test]
fn edges_of_both_directions_are_parallel() {
    let edges = [(0, 1, 1.0), (1, 0, 1.0), (1, 2, 1.0)];
    for directed in [true, false] {
        assert_eq!(biconnected(&graph(directed, &[], &edges)).bridges, [(1, 2)]);
    }
}

#[test]
fn a_long_way_overflows_nothing() {
    let edges: Vec<_> = (0..300_000).map(|v| (v, v + 1, 1.0)).collect();
    let g = graph(false, &[], &edges);
    let found = biconnected(&g);
    assert_eq!((found.bridges.len(), found.articulation_points.len()), (300_000, 299_999));
    verify_biconnected(&g, &found).unwrap();
}

#[test]
fn verifier_finds_every_kind_of_error() {
    let g = example(true);
    let right = biconnected(&g);
    let breaks: [fn(&mut Biconnected); 9] = [
        |r| r.component[3] = 3,
        |r| r.component[8] = 8,
        |r| r.component[6] = 0,
        |r| r.component[9] = 9,
        |r| _ = r.bridges.remove(1),
        |r| r.bridges.insert(0, (2, 3)),
        |r| _ = r.articulation_points.pop(),
        |r| r.articulation_points.push(8),
        |r| r.block_count += 1,
    ];
    for (i, make_wrong) in breaks.iter().enumerate() {
        let mut wrong = right.clone();
        make_wrong(&mut wrong);
        assert!(verify_biconnected(&g, &wrong).is_err(), "break {i}");
    }
}
