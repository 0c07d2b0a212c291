//! Closeness and harmonic centrality.

use everedge_core::{GraphView, par};
use everedge_kernels::{
    Closeness, ClosenessConfig, Error, Harmonic, closeness, harmonic, naive, spot_check_closeness,
    spot_check_harmonic, verify_closeness, verify_harmonic,
};

use crate::graphs::{Random, for_each_case, graph};

const ALL: ClosenessConfig = ClosenessConfig { source_count: None, seed: 0 };

fn assert_close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (v, (a, b)) in found.iter().zip(expected).enumerate() {
        assert!((a - b).abs() <= 1e-12 * b, "{v}: {a}, {b}");
    }
}

#[test]
fn equals_the_naive_sums() {
    let sample = |source_count, seed| ClosenessConfig { source_count: Some(source_count), seed };
    for_each_case(|case| {
        let g = &case.graph;
        let whole = if g.vertex_count() > 600 { sample(700, 1) } else { ALL };
        for config in [sample(1, 0), sample(20, 1), sample(64, 2), sample(65, 3), whole] {
            let result = closeness(g, &config).unwrap();
            assert_close(&result.score, &naive::closeness(g, &result.sources));
            verify_closeness(g, &config, &result).unwrap();
            let result = harmonic(g, &config).unwrap();
            assert_close(&result.score, &naive::harmonic(g, &result.sources));
            verify_harmonic(g, &config, &result).unwrap();
        }
    });
}

#[test]
fn looks_at_what_reaches_a_vertex() {
    let edges = [(0, 1, 1.0), (0, 1, 1.0), (1, 2, 1.0), (2, 2, 1.0), (4, 5, 1.0)];
    let result = closeness(&graph(true, &[], &edges), &ALL).unwrap();
    // One of four others at distance 1; two at distances of 3 in sum.
    assert_close(&result.score, &[0.0, 0.25, 2.0 / 3.0 * 0.5, 0.0, 0.0, 0.25]);
    assert_eq!(result.pairs, [5, 3, 1]);
    let result = harmonic(&graph(true, &[], &edges), &ALL).unwrap();
    assert_close(&result.score, &[0.0, 1.0, 1.5, 0.0, 0.0, 1.0]);
    let result = closeness(&graph(false, &[], &edges), &ALL).unwrap();
    assert_close(&result.score, &[1.0 / 3.0, 0.5, 1.0 / 3.0, 0.0, 0.25, 0.25]);
    assert_eq!(result.pairs, [5, 6, 2]);
}

#[test]
fn estimates_are_near_the_exact_scores_and_exact_with_all_vertices() {
    let mut random = Random::new(3);
    let edges: Vec<_> =
        (0..20_000).map(|_| (random.below(3000), random.below(3000), 1.0)).collect();
    for directed in [true, false] {
        let g = graph(directed, &[], &edges);
        let config = ClosenessConfig { source_count: Some(400), seed: 5 };
        let exact = closeness(&g, &ALL).unwrap();
        let estimate = closeness(&g, &config).unwrap();
        for (a, b) in estimate.score.iter().zip(&exact.score) {
            assert!((a - b).abs() < 0.02 + 0.1 * b, "{a}, {b}");
        }
        let exact = harmonic(&g, &ALL).unwrap();
        let estimate = harmonic(&g, &config).unwrap();
        for (a, b) in estimate.score.iter().zip(&exact.score) {
            assert!((a - b).abs() < 10.0 + 0.1 * b, "{a}, {b}");
        }
        let every = ClosenessConfig { source_count: Some(1 << 20), seed: 5 };
        assert_eq!(harmonic(&g, &every).unwrap(), exact);
    }
}

#[test]
fn is_the_same_for_any_number_of_threads() {
    let edges: Vec<_> = (0..20_000).map(|i| (i * 7 % 4973, i * i % 4967, 1.0)).collect();
    let g = graph(true, &[], &edges);
    for source_count in [Some(50), Some(600)] {
        let config = ClosenessConfig { source_count, seed: 1 };
        let run = || (closeness(&g, &config).unwrap(), harmonic(&g, &config).unwrap());
        assert_eq!(par::with_threads(1, run).unwrap(), par::with_threads(5, run).unwrap());
    }
}

/// On a long path sources near each other search together, and those of a small sample do not.
#[test]
fn sources_may_be_far_from_each_other() {
    let path: Vec<_> = (0..2000).map(|v| (v, v + 1, 1.0)).collect();
    for directed in [true, false] {
        let g = graph(directed, &[2500], &path);
        for source_count in [Some(40), Some(600), None] {
            let config = ClosenessConfig { source_count, seed: 7 };
            let result = closeness(&g, &config).unwrap();
            spot_check_closeness(&g, &config, &result).unwrap();
            assert_close(&result.score, &naive::closeness(&g, &result.sources));
            let result = harmonic(&g, &config).unwrap();
            spot_check_harmonic(&g, &config, &result).unwrap();
            let expected = naive::harmonic(&g, &result.sources);
            for (a, b) in result.score.iter().zip(&expected) {
                assert!((a - b).abs() <= 1e-9 * b, "{a}, {b}");
            }
        }
    }
}

#[test]
fn refuses_no_sources() {
    let g = graph(true, &[], &[(0, 1, 1.0)]);
    let config = ClosenessConfig { source_count: Some(0), seed: 0 };
    assert!(matches!(closeness(&g, &config), Err(Error::BadParameter { .. })));
    assert!(matches!(harmonic(&g, &config), Err(Error::BadParameter { .. })));
}

#[test]
fn verifiers_find_every_kind_of_error() {
    let g = graph(true, &[], &[(0, 1, 1.0), (1, 2, 1.0), (2, 0, 1.0), (4, 0, 1.0)]);
    let right = closeness(&g, &ALL).unwrap();
    let breaks: [fn(&mut Closeness); 9] = [
        |r| r.score[3] = 0.1,
        |r| r.score[0] *= 1.01,
        |r| r.score.swap(0, 1),
        |r| (r.score[3], r.reached_by[3], r.distance_sum[3]) = (0.25, 1, 1),
        |r| {
            r.score.swap(0, 2);
            r.reached_by.swap(0, 2);
            r.distance_sum.swap(0, 2);
        },
        |r| r.pairs[1] += 1,
        |r| r.sources[0] = 1,
        |r| _ = r.sources.pop(),
        |r| _ = r.score.pop(),
    ];
    for (i, make_wrong) in breaks.iter().enumerate() {
        let mut wrong = right.clone();
        make_wrong(&mut wrong);
        assert!(verify_closeness(&g, &ALL, &wrong).is_err(), "break {i}");
    }
    let right = harmonic(&g, &ALL).unwrap();
    let breaks: [fn(&mut Harmonic); 6] = [
        |r| r.score[3] = 0.1,
        |r| r.score[0] *= 1.01,
        |r| r.score.swap(0, 2),
        |r| r.pairs[1] += 1,
        |r| r.sources.swap(0, 1),
        |r| _ = r.score.pop(),
    ];
    for (i, make_wrong) in breaks.iter().enumerate() {
        let mut wrong = right.clone();
        make_wrong(&mut wrong);
        assert!(verify_harmonic(&g, &ALL, &wrong).is_err(), "break {i}");
    }
}
