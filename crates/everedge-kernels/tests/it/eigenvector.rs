//! Eigenvector centrality.

use everedge_core::par;
use everedge_kernels::{
    Eigenvector, EigenvectorConfig, Error, eigenvector, naive, verify_eigenvector,
};

use crate::graphs::{for_each_case, graph, reweighted};

#[test]
fn equals_the_naive_iteration() {
    for_each_case(|case| {
        let g = &reweighted(&case.graph, |weight| weight.min(1e30));
        for (iterations_max, weighted) in [(0, false), (1, true), (8, false), (60, true)] {
            let config = EigenvectorConfig { iterations_max, tolerance: 0.0, weighted };
            let result = eigenvector(g, &config).unwrap();
            let expected = naive::eigenvector(g, &config);
            assert_eq!(result.score.len(), expected.len());
            let is_close = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-12;
            assert!(result.score.iter().zip(&expected).all(is_close), "{config:?}");
            verify_eigenvector(g, &config, &result).unwrap();
        }
    });
}

#[test]
fn scores_of_graphs_whose_eigenvectors_are_known() {
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-5, "{a}, {b}");
    let wheel: Vec<_> = (1..=6).flat_map(|v| [(0, v, 2.0), (v, v % 6 + 1, 2.0)]).collect();
    // The hub gets six times what a vertex of the rim has; that gets the hub's and two of the
    // rim's.
    let eigenvalue = 1.0 + 7.0_f64.sqrt();
    for (weighted, times) in [(false, 1.0), (true, 2.0)] {
        let config = EigenvectorConfig { weighted, ..EigenvectorConfig::default() };
        let result = eigenvector(&graph(false, &[], &wheel), &config).unwrap();
        close(result.eigenvalue, times * eigenvalue);
        close(result.score[0] / result.score[3], 6.0 / eigenvalue);
    }
    // A star swings between its center and its leaves; of a large one, hardly slower.
    let star: Vec<_> = (1..10_001).map(|v| (0, v, 1.0)).collect();
    let result = eigenvector(&graph(false, &[], &star), &EigenvectorConfig::default()).unwrap();
    close(result.eigenvalue, 100.0);
    close(result.score[0], 0.5_f64.sqrt());
    assert!(result.iterations < 50, "{} iterations", result.iterations);
    // Parallel edges and a self-loop, seen over in-edges: 0 reaches the cycle, and is not reached.
    let edges = [(0, 1, 1.0), (1, 2, 1.0), (1, 2, 1.0), (2, 1, 1.0), (2, 2, 1.0)];
    let result = eigenvector(&graph(true, &[], &edges), &EigenvectorConfig::default()).unwrap();
    close(result.eigenvalue, 2.0);
    [0.0, 0.2_f64.sqrt(), 0.8_f64.sqrt()]
        .iter()
        .zip(&result.score)
        .for_each(|(a, b)| close(*a, *b));
    // Without edges nothing changes.
    let result = eigenvector(&graph(true, &[0, 3], &[]), &EigenvectorConfig::default()).unwrap();
    [0.5_f64.sqrt(), 0.0, 0.0, 0.5_f64.sqrt()]
        .iter()
        .zip(&result.score)
        .for_each(|(a, b)| close(*a, *b));
}

#[test]
fn is_the_same_for_any_number_of_threads() {
    let edges: Vec<_> = (0..40_000).map(|i| (i * 7 % 9973, i * i % 9967, (i % 5) as f32)).collect();
    let g = graph(true, &[], &edges);
    for weighted in [true, false] {
        let config = EigenvectorConfig { weighted, ..EigenvectorConfig::default() };
        let run = || eigenvector(&g, &config).unwrap();
        assert_eq!(par::with_threads(1, run).unwrap(), par::with_threads(5, run).unwrap());
    }
}

#[test]
fn refuses_what_does_not_converge_and_parameters_out_of_range() {
    let g = graph(false, &[], &[(0, 1, 1.0), (1, 2, 1.0), (2, 3, -1.0)]);
    let right = EigenvectorConfig::default();
    for tolerance in [-1e-9, f64::NAN] {
        let refused = eigenvector(&g, &EigenvectorConfig { tolerance, ..right });
        assert!(matches!(refused, Err(Error::BadParameter { .. })));
    }
    let refused = eigenvector(&g, &EigenvectorConfig { iterations_max: 3, ..right });
    assert!(matches!(refused, Err(Error::NotConverged { iterations: 3, .. })), "{refused:?}");
    let refused = eigenvector(&g, &EigenvectorConfig { weighted: true, ..right });
    assert!(matches!(refused, Err(Error::BadWeight { src: 2, dst: 3, .. })), "{refused:?}");
}

#[test]
fn verifier_finds_every_kind_of_error() {
    let g = graph(true, &[], &[(0, 1, 1.0), (1, 2, 1.0), (2, 0, 1.0), (4, 0, 1.0), (2, 1, 1.0)]);
    let config = EigenvectorConfig::default();
    let right = eigenvector(&g, &config).unwrap();
    let breaks: [fn(&mut Eigenvector); 6] = [
        |r| r.score[3] = 0.1,
        |r| r.score[0] += 1e-5,
        |r| r.score.swap(0, 1),
        |r| r.eigenvalue += 0.1,
        |r| r.change = 1.0,
        |r| _ = r.score.pop(),
    ];
    for (i, make_wrong) in breaks.iter().enumerate() {
        let mut wrong = right.clone();
        make_wrong(&mut wrong);
        assert!(verify_eigenvector(&g, &config, &wrong).is_err(), "break {i}");
    }
}
