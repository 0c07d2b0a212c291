//! PageRank.

use everedge_core::par;
use everedge_kernels::{
    Error, PageRank, PageRankConfig, PersonalizedPageRankConfig, naive, pagerank, pagerank_from,
    personalized_pagerank, verify_pagerank,
};

use crate::graphs::{for_each_case, graph};

#[test]
fn equals_the_naive_iteration() {
    let configs = [
        PageRankConfig::default(),
        PageRankConfig { iterations_max: 0, ..PageRankConfig::default() },
        PageRankConfig { iterations_max: 3, tolerance: 0.0, damping: 0.5 },
        PageRankConfig { iterations_max: 1000, tolerance: 1e-12, damping: 0.85 },
        PageRankConfig { iterations_max: 30, tolerance: 0.0, damping: 1.0 },
    ];
    for_each_case(|case| {
        for config in &configs {
            let result = pagerank(&case.graph, config).unwrap();
            let expected = naive::pagerank(&case.graph, config);
            assert_eq!(result.rank.len(), expected.len());
            // Quotients of 4 bytes are rounded by 2^-24 of themselves in each iteration.
            let is_wide = config.tolerance == 1e-12;
            let rounding = |rank: f64| if is_wide { 1e-12 } else { 2e-6 * rank + 1e-30 };
            for (v, (rank, expected)) in result.rank.iter().zip(&expected).enumerate() {
                let is_close = (rank - expected).abs() <= rounding(*expected);
                assert!(is_close, "{v}: {rank}, {expected}, {config:?}");
            }
            verify_pagerank(&case.graph, config, &result).unwrap();
        }
    });
}

#[test]
fn may_begin_with_the_ranks_of_another_graph() {
    let config = PageRankConfig { iterations_max: 1000, tolerance: 1e-12, damping: 0.85 };
    // Of more ids, of fewer, and with a rank for what is no vertex here.
    let others = [Vec::new(), vec![0.25; 3], vec![1.0; 5_000], (0..700).map(f64::from).collect()];
    for_each_case(|case| {
        let expected = pagerank(&case.graph, &config).unwrap();
        for ranks in &others {
            let result = pagerank_from(&case.graph, &config, ranks).unwrap();
            let far = result.rank.iter().zip(&expected.rank).map(|(a, b)| (a - b).abs());
            assert!(far.sum::<f64>() < 1e-10);
            verify_pagerank(&case.graph, &config, &result).unwrap();
        }
        let again = pagerank_from(&case.graph, &config, &expected.rank).unwrap();
        assert!(again.iterations <= 2, "{} iterations", again.iterations);
    });
}

#[test]
fn stops_at_the_tolerance_or_after_all_iterations() {
    let g = graph(true, &[], &[(0, 1, 1.0), (1, 2, 1.0), (2, 0, 1.0), (3, 0, 1.0)]);
    let config = PageRankConfig { iterations_max: 1000, tolerance: 1e-12, damping: 0.85 };
    let result = pagerank(&g, &config).unwrap();
    assert!(result.change < 1e-12 && result.iterations < 1000);
    let config = PageRankConfig { iterations_max: 7, tolerance: 0.0, ..config };
    assert_eq!(pagerank(&g, &config).unwrap().iterations, 7);
}

/// Ranks that go to and fro, or that rounding keeps moving, do not come to a tolerance.
#[test]
fn iterations_that_only_a_tolerance_ends_are_ended_if_they_do_not_come_to_it() {
    let star = graph(false, &[], &[(0, 1, 1.0), (0, 2, 1.0), (0, 3, 1.0)]);
    let endless = PageRankConfig { iterations_max: u32::MAX, ..PageRankConfig::default() };
    for config in [
        PageRankConfig { damping: 1.0, ..endless },
        PageRankConfig { tolerance: 1e-19, ..endless },
        PageRankConfig { tolerance: 0.0, ..endless },
    ] {
        let ended = pagerank(&star, &config);
        assert!(matches!(ended, Err(Error::NotConverged { .. })), "{config:?}: {ended:?}");
        let personal = PersonalizedPageRankConfig {
            starts: vec![(1, 1.0)],
            pagerank: config,
            ..PersonalizedPageRankConfig::default()
        };
        let ended = personalized_pagerank(&star, &personal);
        assert!(matches!(ended, Err(Error::NotConverged { .. })), "{config:?}: {ended:?}");
        let counted = PageRankConfig { iterations_max: 300, ..config };
        assert_eq!(pagerank(&star, &counted).unwrap().iterations, 300);
    }
    let slow = PageRankConfig { damping: 0.9999, tolerance: 1e-10, ..endless };
    assert!(pagerank(&star, &slow).unwrap().iterations > 10_000);
}

#[test]
fn narrow_ranks_are_close_to_wide_ones() {
    let edges: Vec<_> = (0..40_000).map(|i| (i * 7 % 9973, i * i % 9967, 1.0)).collect();
    let g = graph(true, &[], &edges);
    let config = |tolerance| PageRankConfig { tolerance, ..PageRankConfig::default() };
    let (narrow, wide) =
        (pagerank(&g, &config(0.0)).unwrap(), pagerank(&g, &config(1e-30)).unwrap());
    assert_eq!(narrow.iterations, wide.iterations);
    assert_ne!(narrow.rank, wide.rank);
    for (narrow, wide) in narrow.rank.iter().zip(&wide.rank) {
        assert!((narrow - wide).abs() <= 1e-6 * wide, "{narrow}, {wide}");
    }
}

#[test]
fn is_the_same_for_any_number_of_threads() {
    let edges: Vec<_> = (0..40_000).map(|i| (i * 7 % 9973, i * i % 9967, 1.0)).collect();
    let g = graph(true, &[], &edges);
    let run = || pagerank(&g, &PageRankConfig::default()).unwrap();
    assert_eq!(par::with_threads(1, run).unwrap(), par::with_threads(5, run).unwrap());
}

#[test]
fn refuses_parameters_out_of_range() {
    let g = graph(true, &[], &[(0, 1, 1.0)]);
    let right = PageRankConfig::default();
    for config in [
        PageRankConfig { damping: 1.1, ..right },
        PageRankConfig { damping: f64::NAN, ..right },
        PageRankConfig { tolerance: -1e-9, ..right },
        PageRankConfig { tolerance: f64::NAN, ..right },
    ] {
        assert!(matches!(pagerank(&g, &config), Err(Error::BadParameter { .. })), "{config:?}");
    }
}

#[test]
fn verifier_finds_every_kind_of_error() {
    let g = graph(true, &[], &[(0, 1, 1.0), (1, 2, 1.0), (2, 0, 1.0), (4, 0, 1.0)]);
    let config = PageRankConfig { iterations_max: 1000, tolerance: 1e-12, damping: 0.85 };
    let right = pagerank(&g, &config).unwrap();
    let breaks: [fn(&mut PageRank); 4] =
        [|r| r.rank[3] = 0.1, |r| r.rank[0] += 1e-6, |r| r.rank.swap(0, 1), |r| _ = r.rank.pop()];
    for (i, make_wrong) in breaks.iter().enumerate() {
        let mut wrong = right.clone();
        make_wrong(&mut wrong);
        assert!(verify_pagerank(&g, &config, &wrong).is_err(), "break {i}");
    }
}
