//! Katz centrality.

use everedge_core::par;
use everedge_kernels::{Error, Katz, KatzConfig, katz, naive, verify_katz};

use crate::graphs::{for_each_case, graph, reweighted};

#[test]
fn equals_the_naive_iteration() {
    for_each_case(|case| {
        let g = &reweighted(&case.graph, |weight| weight.min(1e3));
        for (iterations_max, weighted, normalized) in
            [(0, false, true), (1, true, false), (8, false, false), (60, true, true)]
        {
            let alpha = if weighted { 1e-5 } else { 0.01 };
            let stop = KatzConfig { iterations_max, tolerance: 0.0, ..KatzConfig::default() };
            let config = KatzConfig { alpha, beta: 2.5, weighted, normalized, ..stop };
            let result = katz(g, &config).unwrap();
            let expected = naive::katz(g, &config);
            assert_eq!(result.score.len(), expected.len());
            let is_close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-12 * b;
            assert!(result.score.iter().zip(&expected).all(is_close), "{config:?}");
            verify_katz(g, &config, &result).unwrap();
        }
    });
}

#[test]
fn scores_of_cycles_and_walks() {
    // On a cycle every vertex has the same: beta / (1 - alpha * weight).
    let g = graph(true, &[4], &[(0, 1, 0.5), (1, 2, 0.5), (2, 0, 0.5)]);
    let config = KatzConfig { alpha: 0.5, normalized: false, weighted: true, ..Default::default() };
    let result = katz(&g, &config).unwrap();
    for (score, expected) in result.score.iter().zip([4.0 / 3.0, 4.0 / 3.0, 4.0 / 3.0, 0.0, 1.0]) {
        assert!((score - expected).abs() < 1e-5, "{score}, {expected}");
    }
    // Two walks of one edge, four of two.
    let g = graph(true, &[], &[(0, 1, 1.0), (0, 1, 1.0), (1, 2, 1.0), (1, 2, 1.0)]);
    let config = KatzConfig { alpha: 0.1, beta: 2.0, normalized: false, ..KatzConfig::default() };
    let result = katz(&g, &config).unwrap();
    for (score, expected) in result.score.iter().zip([2.0, 2.4, 2.48]) {
        assert!((score - expected).abs() < 1e-12, "{score}, {expected}");
    }
    let normalized = katz(&g, &KatzConfig { normalized: true, ..config }).unwrap();
    for (a, b) in normalized.score.iter().zip(&result.score) {
        assert!((a * normalized.divisor - b).abs() < 1e-12);
    }
}

#[test]
fn is_the_same_for_any_number_of_threads() {
    let edges: Vec<_> = (0..40_000).map(|i| (i * 7 % 9973, i * i % 9967, 0.5)).collect();
    let g = graph(true, &[], &edges);
    for weighted in [true, false] {
        let config = KatzConfig { alpha: 0.01, weighted, ..KatzConfig::default() };
        let run = || katz(&g, &config).unwrap();
        assert_eq!(par::with_threads(1, run).unwrap(), par::with_threads(5, run).unwrap());
    }
}

#[test]
fn refuses_what_does_not_converge_and_parameters_out_of_range() {
    let g = graph(false, &[], &[(0, 1, 1.0), (1, 2, 1.0), (2, 0, -1.0)]);
    let right = KatzConfig::default();
    for config in [
        KatzConfig { alpha: -0.1, ..right },
        KatzConfig { alpha: f64::INFINITY, ..right },
        KatzConfig { beta: 0.0, ..right },
        KatzConfig { beta: f64::NAN, ..right },
        KatzConfig { tolerance: -1.0, ..right },
    ] {
        assert!(matches!(katz(&g, &config), Err(Error::BadParameter { .. })), "{config:?}");
    }
    // The largest eigenvalue is 2: scores grow for ever, and with a large alpha to infinity.
    for (alpha, tolerance, most) in [(0.6, 1e-6, 1000), (1e6, 0.0, 60)] {
        let refused = katz(&g, &KatzConfig { alpha, tolerance, ..right });
        let Err(Error::NotConverged { iterations, .. }) = refused else { panic!("{refused:?}") };
        assert!(iterations <= most, "{iterations}");
    }
    assert!(katz(&g, &KatzConfig { alpha: 0.4, ..right }).is_ok());
    let refused = katz(&g, &KatzConfig { weighted: true, ..right });
    assert!(matches!(refused, Err(Error::BadWeight { src: 0, dst: 2, .. })), "{refused:?}");
}

#[test]
fn verifier_finds_every_kind_of_error() {
    let g = graph(true, &[], &[(0, 1, 1.0), (1, 2, 1.0), (2, 0, 1.0), (4, 0, 1.0), (2, 1, 1.0)]);
    for normalized in [true, false] {
        let config = KatzConfig { normalized, ..KatzConfig::default() };
        let right = katz(&g, &config).unwrap();
        let breaks: [fn(&mut Katz); 6] = [
            |r| r.score[3] = 0.1,
            |r| r.score[0] += 1e-4,
            |r| r.score.swap(0, 1),
            |r| r.divisor *= 2.0,
            |r| r.change = 1.0,
            |r| _ = r.score.pop(),
        ];
        for (i, make_wrong) in breaks.iter().enumerate() {
            let mut wrong = right.clone();
            make_wrong(&mut wrong);
            assert!(verify_katz(&g, &config, &wrong).is_err(), "break {i}");
        }
    }
}
