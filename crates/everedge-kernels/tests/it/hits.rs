//! Hubs and authorities.

use everedge_core::par;
use everedge_kernels::{Error, Hits, HitsConfig, hits, naive, verify_hits};

use crate::graphs::{for_each_case, graph, reweighted};

#[test]
fn equals_the_naive_iteration() {
    for_each_case(|case| {
        let g = &reweighted(&case.graph, |weight| weight.min(1e30));
        for (iterations_max, weighted) in [(0, false), (1, true), (8, false), (60, true)] {
            let config = HitsConfig { iterations_max, tolerance: 0.0, weighted };
            let result = hits(g, &config).unwrap();
            let (hub, authority) = naive::hits(g, &config);
            for (found, expected) in [(&result.hub, hub), (&result.authority, authority)] {
                assert_eq!(found.len(), expected.len());
                let is_close = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-12;
                assert!(found.iter().zip(&expected).all(is_close), "{config:?}");
            }
            verify_hits(g, &config, &result).unwrap();
        }
    });
}

#[test]
fn scores_of_stars_and_of_no_edges() {
    let close = |found: &[f64], expected: &[f64]| {
        assert_eq!(found.len(), expected.len());
        let is_close = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-7;
        assert!(found.iter().zip(expected).all(is_close), "{found:?}, {expected:?}");
    };
    // The heavier one of two stars takes all.
    let g = graph(true, &[6], &[(0, 1, 1.0), (0, 2, 1.0), (0, 2, 1.0), (3, 4, 1.5), (5, 4, 1.0)]);
    let result = hits(&g, &HitsConfig::default()).unwrap();
    close(&result.hub, &[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    close(&result.authority, &[0.0, 1.0 / 3.0, 2.0 / 3.0, 0.0, 0.0, 0.0, 0.0]);
    let g = reweighted(&g, |weight| if weight == 1.5 { 9.0 } else { weight });
    let config = HitsConfig { weighted: true, ..HitsConfig::default() };
    let result = hits(&g, &config).unwrap();
    close(&result.hub, &[0.0, 0.0, 0.0, 0.9, 0.0, 0.1, 0.0]);
    close(&result.authority, &[0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
    for (g, weighted) in [
        (graph(true, &[0, 2], &[]), false),
        (graph(true, &[], &[(0, 2, 0.0)]), true),
        (graph(true, &[], &[]), false),
    ] {
        let config = HitsConfig { weighted, ..HitsConfig::default() };
        let result = hits(&g, &config).unwrap();
        assert!(result.hub.iter().chain(&result.authority).all(|&score| score == 0.0));
        verify_hits(&g, &config, &result).unwrap();
    }
}

#[test]
fn is_the_same_for_any_number_of_threads_and_ways_round() {
    let edges: Vec<_> = (0..40_000).map(|i| (i * 7 % 9973, i * i % 9967, (i % 5) as f32)).collect();
    let g = graph(true, &[], &edges);
    for weighted in [true, false] {
        let config = HitsConfig { iterations_max: 20, tolerance: 0.0, weighted };
        let run = || hits(&g, &config).unwrap();
        assert_eq!(par::with_threads(1, run).unwrap(), par::with_threads(5, run).unwrap());
    }
    let wheel: Vec<_> = (1..=9).flat_map(|v| [(0, v, 1.0), (v, v % 9 + 1, 1.0)]).collect();
    let result = hits(&graph(false, &[], &wheel), &HitsConfig::default()).unwrap();
    let far = result.hub.iter().zip(&result.authority).map(|(a, b)| (a - b).abs());
    assert!(far.sum::<f64>() < 1e-7);
}

#[test]
fn refuses_what_does_not_converge_and_parameters_out_of_range() {
    let g = graph(false, &[], &[(0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.0)]);
    let right = HitsConfig::default();
    for tolerance in [-1e-9, f64::NAN] {
        let refused = hits(&g, &HitsConfig { tolerance, ..right });
        assert!(matches!(refused, Err(Error::BadParameter { .. })));
    }
    let refused = hits(&g, &HitsConfig { iterations_max: 3, ..right });
    let Err(error @ Error::NotConverged { iterations: 3, .. }) = refused else {
        panic!("{refused:?}");
    };
    let text = error.to_string();
    assert!(text.starts_with("hits has not converged: after 3 iterations one more changes"));
    assert_eq!(error.in_names(|_| unreachable!()), text);
    let weighted = HitsConfig { weighted: true, ..right };
    let refused = hits(&graph(false, &[], &[(2, 1, -1.0)]), &weighted);
    assert!(matches!(refused, Err(Error::BadWeight { src: 1, dst: 2, .. })), "{refused:?}");
}

#[test]
fn verifier_finds_every_kind_of_error() {
    let g = graph(true, &[], &[(0, 1, 1.0), (1, 2, 1.0), (2, 0, 1.0), (4, 0, 1.0), (2, 1, 1.0)]);
    let config = HitsConfig::default();
    let right = hits(&g, &config).unwrap();
    let breaks: [fn(&mut Hits); 7] = [
        |r| (r.hub[3], r.authority[3]) = (0.1, 0.1),
        |r| r.hub[0] += 1e-6,
        |r| r.hub.swap(0, 1),
        |r| r.authority.swap(0, 2),
        |r| (r.hub, r.authority) = (vec![0.0; 5], vec![0.0; 5]),
        |r| r.change = 1.0,
        |r| _ = r.authority.pop(),
    ];
    for (i, make_wrong) in breaks.iter().enumerate() {
        let mut wrong = right.clone();
        make_wrong(&mut wrong);
        assert!(verify_hits(&g, &config, &wrong).is_err(), "break {i}");
    }
}

#[test]
fn who_has_no_edges_scores_0_and_not_less() {
    for weighted in [false, true] {
        let g = graph(true, &[], &[(0, 1, 1.0)]);
        let result = hits(&g, &HitsConfig { weighted, ..HitsConfig::default() }).unwrap();
        assert!(result.hub[1].is_sign_positive() && result.authority[0].is_sign_positive());
    }
}
