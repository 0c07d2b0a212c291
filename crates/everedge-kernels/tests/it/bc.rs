//! Betweenness centrality.

use everedge_core::{Csr, GraphView, par};
use everedge_kernels::{
    Betweenness, BetweennessConfig, Error, Sources, betweenness, naive, verify_betweenness,
};

use crate::graphs::{Random, for_each_case, graph};

/// Searches from all vertices of a case with at most this many.
const EXACT_VERTICES_MAX: u32 = 100;

fn given(sources: &[u32]) -> BetweennessConfig {
    BetweennessConfig { sources: Sources::Given(sources.to_vec()) }
}

fn assert_near(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (v, (a, b)) in found.iter().zip(expected).enumerate() {
        assert!((a - b).abs() <= 1e-12 * b.max(1.0), "{v}: {a}, expected {b}");
    }
}

#[test]
fn equals_the_naive_scores() {
    for_each_case(|case| {
        let g = &case.graph;
        let sources = match g.vertex_count() {
            0..=EXACT_VERTICES_MAX => Sources::All,
            _ => Sources::Sample { count: 5, seed: 3 },
        };
        let config = BetweennessConfig { sources };
        let result = betweenness(g, &config).unwrap();
        assert_near(&result.score, &naive::betweenness(g, &result.sources));
        verify_betweenness(g, &config, &result).unwrap();
    });
}

/// Some graphs have more paths than are counted exactly: 30 layers, each wide enough for several
/// threads, with random edges to the next one.
#[test]
fn scores_do_not_depend_on_the_number_of_threads() {
    const LAYER: u32 = 5000;
    let mut random = Random::new(5);
    let mut edges: Vec<_> = (0..LAYER).map(|v| (30 * LAYER, v, 1.0)).collect();
    for start in (0..29).map(|layer| layer * LAYER) {
        let edge = |_| (start + random.below(LAYER), start + LAYER + random.below(LAYER), 1.0);
        edges.extend((0..5 * LAYER).map(edge));
    }
    let g = graph(true, &[], &edges);
    let scores = |threads| {
        par::with_threads(threads, || betweenness(&g, &given(&[30 * LAYER])).unwrap()).unwrap()
    };
    let expected = scores(1);
    assert_near(&expected.score, &naive::betweenness(&g, &expected.sources));
    for threads in [2, 4, 4, 4, 4] {
        assert_eq!(scores(threads), expected);
    }
}

/// A row of diamonds, each with `width` ways: the number of paths grows by that factor.
fn diamonds(count: u32, width: u32) -> Csr {
    let mut edges = Vec::new();
    for start in (0..count).map(|i| i * (width + 1)) {
        for middle in start + 1..=start + width {
            edges.extend([(start, middle, 1.0), (middle, start + width + 1, 1.0)]);
        }
    }
    graph(true, &[], &edges)
}

#[test]
fn paths_beyond_exact_counts_are_added_up_in_order() {
    let g = diamonds(50, 3);
    let result = betweenness(&g, &given(&[0])).unwrap();
    assert_near(&result.score, &naive::betweenness(&g, &[0]));
    verify_betweenness(&g, &given(&[0]), &result).unwrap();
}

#[test]
fn refuses_more_paths_than_can_be_counted() {
    let g = diamonds(400, 8);
    assert_eq!(betweenness(&g, &given(&[0])), Err(Error::TooManyPaths { from: 0 }));
    assert!(betweenness(&g, &given(&[2000])).is_ok());
}

#[test]
fn parallel_edges_are_several_paths() {
    let g = graph(true, &[], &[(0, 1, 1.0), (0, 1, 1.0), (0, 2, 1.0), (1, 3, 1.0), (2, 3, 1.0)]);
    assert_near(&betweenness(&g, &given(&[0])).unwrap().score, &[0.0, 2.0 / 3.0, 1.0 / 3.0, 0.0]);
}

#[test]
fn a_source_that_occurs_twice_counts_twice() {
    let g = graph(false, &[], &[(0, 1, 1.0), (1, 2, 1.0)]);
    assert_eq!(betweenness(&g, &given(&[0, 0])).unwrap().score, [0.0, 2.0, 0.0]);
}

#[test]
fn refuses_a_source_that_is_not_a_vertex() {
    let g = graph(true, &[], &[(1, 3, 1.0)]);
    for v in [0, 2, 4] {
        assert_eq!(betweenness(&g, &given(&[1, v])), Err(Error::NotAVertex { vertex: v }));
    }
}

#[test]
fn verifier_finds_every_kind_of_error() {
    let edges = [(0, 1, 1.0), (0, 2, 1.0), (1, 3, 1.0), (2, 3, 1.0), (3, 4, 1.0), (4, 0, 1.0)];
    let g = graph(true, &[6], &edges);
    let config = BetweennessConfig::default();
    let right = betweenness(&g, &config).unwrap();
    verify_betweenness(&g, &config, &right).unwrap();
    let breaks: [fn(&mut Betweenness); 7] = [
        |r| r.score[1] += 1e-6,
        |r| r.score.swap(1, 3),
        |r| (r.score[1], r.score[2]) = (r.score[1] + 0.5, r.score[2] - 0.5),
        |r| r.score[6] = 1e-9,
        |r| r.score[5] = f64::NAN,
        |r| _ = r.score.pop(),
        |r| _ = r.sources.pop(),
    ];
    for (i, make_wrong) in breaks.iter().enumerate() {
        let mut wrong = right.clone();
        make_wrong(&mut wrong);
        assert!(verify_betweenness(&g, &config, &wrong).is_err(), "break {i}");
    }
}
