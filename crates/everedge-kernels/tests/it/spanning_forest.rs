//! Minimum spanning forests.

use everedge_core::par;
use everedge_kernels::{
    Error, SpanningForest, naive, spanning_forest, spot_check_spanning_forest,
    verify_spanning_forest,
};

use crate::graphs::{for_each_case, graph, reweighted};

#[test]
fn equals_the_naive_forest() {
    for_each_case(|case| {
        let (few, negative) = (
            reweighted(&case.graph, |w| w.min(100.0).round() % 3.0),
            reweighted(&case.graph, |w| -w),
        );
        for g in [&case.graph, &few, &negative] {
            let found = spanning_forest(g).unwrap();
            let (edges, weights): (Vec<_>, Vec<_>) = naive::spanning_forest(g)
                .into_iter()
                .map(|(u, v, weight)| ((u, v), weight))
                .unzip();
            assert_eq!((&found.edges, &found.weights), (&edges, &weights));
            verify_spanning_forest(g, &found).unwrap();
            spot_check_spanning_forest(g, &found).unwrap();
        }
    });
}

#[test]
fn ties_and_parallel_edges_have_one_answer() {
    let edges = [
        (3, 0, 1.0),
        (0, 1, 1.0),
        (1, 2, 1.0),
        (2, 3, 1.0),
        (2, 0, 1.0),
        (1, 1, -5.0),
        (4, 3, 9.0),
        (3, 4, 2.0),
        (7, 6, f32::INFINITY),
        (6, 8, -0.0),
        (8, 7, 0.0),
    ];
    for directed in [true, false] {
        let found = spanning_forest(&graph(directed, &[], &edges)).unwrap();
        assert_eq!(found.edges, [(0, 1), (0, 2), (0, 3), (3, 4), (6, 8), (7, 8)]);
        assert_eq!((found.weights[3], found.total), (2.0, 5.0));
    }
}

/// A way whose weights ascend is one tree after a round: all of it points one way.
#[test]
fn long_ways_of_trees_are_joined() {
    let edges: Vec<_> = (0..100_000).map(|v| (v, v + 1, v as f32)).collect();
    for directed in [true, false] {
        let g = graph(directed, &[], &edges);
        let found = spanning_forest(&g).unwrap();
        assert_eq!((found.edges.len(), found.total), (100_000, 4_999_950_000.0));
        verify_spanning_forest(&g, &found).unwrap();
    }
}

#[test]
fn is_the_same_for_any_number_of_threads() {
    let edges: Vec<_> =
        (0..40_000_u32).map(|i| (i * 7 % 9973, i * i % 9967, (i % 100) as f32)).collect();
    let g = graph(true, &[], &edges);
    let run = || spanning_forest(&g).unwrap();
    assert_eq!(par::with_threads(1, run).unwrap(), par::with_threads(5, run).unwrap());
}

#[test]
fn refuses_weights_that_are_no_numbers() {
    let refused = spanning_forest(&graph(true, &[], &[(2, 0, 1.0), (2, 1, f32::NAN)]));
    assert!(matches!(refused, Err(Error::BadWeight { src: 2, dst: 1, .. })), "{refused:?}");
}

#[test]
fn verifier_finds_every_kind_of_error() {
    let edges = [(0, 1, 1.0), (1, 2, 2.0), (2, 0, 3.0), (3, 4, 1.0), (3, 4, 2.0)];
    let g = graph(false, &[], &edges);
    let right = spanning_forest(&g).unwrap();
    let breaks: [fn(&mut SpanningForest); 7] = [
        |r| r.total += 1.0,
        |r| (r.edges[1], r.weights[1], r.total) = ((0, 2), 3.0, 5.0),
        |r| (r.weights[2], r.total) = (2.0, 5.0),
        |r| (r.edges, r.weights, r.total) = (vec![(0, 1), (1, 2)], vec![1.0, 2.0], 3.0),
        |r| _ = r.weights.pop(),
        |r| r.edges.swap(0, 1),
        |r| {
            (r.edges, r.weights, r.total) = (vec![(0, 1), (0, 2), (1, 2)], vec![1.0, 3.0, 2.0], 6.0)
        },
    ];
    for (i, make_wrong) in breaks.iter().enumerate() {
        let mut wrong = right.clone();
        make_wrong(&mut wrong);
        assert!(verify_spanning_forest(&g, &wrong).is_err(), "break {i}");
    }
}
