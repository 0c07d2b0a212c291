//! Personalized and weighted PageRank.

use everedge_core::{GraphView, VertexId, par};
use everedge_kernels::{
    Error, PageRank, PageRankConfig, PersonalizedPageRankConfig, naive, pagerank,
    personalized_pagerank, verify_personalized_pagerank,
};

use crate::graphs::{Case, for_each_case, graph, reweighted};

const WIDE: PageRankConfig =
    PageRankConfig { damping: 0.85, iterations_max: 1000, tolerance: 1e-12 };

/// Returns some starts of different weights, one of them named twice and one of weight 0.
fn starts(case: &Case) -> Vec<(VertexId, f64)> {
    let starts: Vec<_> = case.sources().zip([2.0, 0.5, 0.0, 3.0]).collect();
    starts.iter().copied().chain(starts.first().copied()).collect()
}

#[test]
fn equals_the_naive_iteration() {
    let narrow = PageRankConfig::default();
    let all_moves = PageRankConfig { iterations_max: 30, tolerance: 0.0, damping: 1.0 };
    let none = PageRankConfig { iterations_max: 0, ..WIDE };
    for_each_case(|case| {
        let g = &reweighted(&case.graph, |weight| weight.min(1e30));
        for pagerank in [narrow, WIDE, all_moves, none] {
            for (weighted, starts) in
                [(false, starts(case)), (true, starts(case)), (false, vec![]), (true, vec![])]
            {
                let config = PersonalizedPageRankConfig { pagerank, weighted, starts };
                let result = personalized_pagerank(g, &config).unwrap();
                let expected = naive::personalized_pagerank(g, &config);
                assert_eq!(result.rank.len(), expected.len());
                let is_wide = weighted || pagerank == WIDE;
                let rounding = |rank: f64| if is_wide { 1e-12 } else { 2e-6 * rank + 1e-30 };
                for (v, (rank, expected)) in result.rank.iter().zip(&expected).enumerate() {
                    let is_close = (rank - expected).abs() <= rounding(*expected);
                    assert!(is_close, "{v}: {rank}, {expected}, {config:?}");
                }
                verify_personalized_pagerank(g, &config, &result).unwrap();
            }
        }
    });
}

#[test]
fn is_pagerank_without_starts_and_weights() {
    for_each_case(|case| {
        let config = PersonalizedPageRankConfig { pagerank: WIDE, ..Default::default() };
        let result = personalized_pagerank(&case.graph, &config).unwrap();
        let expected = pagerank(&case.graph, &WIDE).unwrap();
        assert_eq!(result.iterations, expected.iterations);
        for (rank, expected) in result.rank.iter().zip(&expected.rank) {
            assert!((rank - expected).abs() <= 1e-15, "{rank}, {expected}");
        }
    });
}

#[test]
fn walks_by_weight_and_back_to_the_starts() {
    // A walk from 0 that is at 1 or 2 has no way on but to start anew.
    let g = graph(true, &[4], &[(0, 1, 1.0), (0, 2, 2.0), (0, 2, 1.0), (1, 0, 0.0), (3, 0, 1.0)]);
    let config = |weighted, starts: &[(VertexId, f64)]| PersonalizedPageRankConfig {
        pagerank: WIDE,
        weighted,
        starts: starts.to_vec(),
    };
    let rank = personalized_pagerank(&g, &config(true, &[(0, 7.0)])).unwrap().rank;
    let at_start = 1.0 / 1.85;
    let expected = [at_start, 0.85 * at_start / 4.0, 0.85 * at_start * 0.75, 0.0, 0.0];
    for (rank, expected) in rank.iter().zip(expected) {
        assert!((rank - expected).abs() < 1e-11, "{rank}, {expected}");
    }
    let rank = personalized_pagerank(&g, &config(false, &[(4, 1.0), (3, 0.0)])).unwrap().rank;
    assert_eq!(rank, [0.0, 0.0, 0.0, 0.0, 1.0]);
}

#[test]
fn is_the_same_for_any_number_of_threads() {
    let edges: Vec<_> =
        (0..40_000).map(|i| (i * 7 % 9973, i * i % 9967, (i % 11) as f32)).collect();
    let g = graph(true, &[], &edges);
    for weighted in [true, false] {
        let starts = (0..9000).step_by(7).map(|v| (v, f64::from(v % 5))).collect();
        let config = PersonalizedPageRankConfig { weighted, starts, ..Default::default() };
        let run = || personalized_pagerank(&g, &config).unwrap();
        assert_eq!(par::with_threads(1, run).unwrap(), par::with_threads(5, run).unwrap());
    }
}

#[test]
fn refuses_parameters_and_weights_out_of_range() {
    let g = graph(true, &[], &[(0, 1, 1.0), (1, 3, -1.0)]);
    let of = |starts: &[(VertexId, f64)]| PersonalizedPageRankConfig {
        starts: starts.to_vec(),
        ..Default::default()
    };
    let mut bad_damping = of(&[]);
    bad_damping.pagerank.damping = 1.5;
    let bad = [of(&[(0, -1.0)]), of(&[(0, f64::NAN)]), of(&[(0, 0.0)]), of(&[(0, f64::MAX); 2])];
    for config in bad.into_iter().chain([bad_damping]) {
        let refused = personalized_pagerank(&g, &config);
        assert!(matches!(refused, Err(Error::BadParameter { .. })), "{config:?}");
    }
    let refused = personalized_pagerank(&g, &of(&[(0, 1.0), (2, 1.0)]));
    assert_eq!(refused, Err(Error::NotAVertex { vertex: 2 }));
    assert!(!g.is_vertex(2) && personalized_pagerank(&g, &of(&[(0, 1.0)])).is_ok());
    let weighted = PersonalizedPageRankConfig { weighted: true, ..of(&[]) };
    for weight in [-1.0, f32::NAN, f32::INFINITY] {
        let g = reweighted(&g, |old| if old == -1.0 { weight } else { old });
        let refused = personalized_pagerank(&g, &weighted);
        assert!(matches!(refused, Err(Error::BadWeight { src: 1, dst: 3, .. })), "{refused:?}");
    }
}

#[test]
fn verifier_finds_every_kind_of_error() {
    let g = graph(true, &[], &[(0, 1, 1.0), (1, 2, 1.0), (2, 0, 2.0), (2, 1, 1.0), (4, 0, 1.0)]);
    for weighted in [true, false] {
        let starts = vec![(0, 1.0), (4, 2.0)];
        let config = PersonalizedPageRankConfig { pagerank: WIDE, weighted, starts };
        let right = personalized_pagerank(&g, &config).unwrap();
        verify_personalized_pagerank(&g, &config, &right).unwrap();
        let breaks: [fn(&mut PageRank); 5] = [
            |r| r.rank[3] = 0.1,
            |r| r.rank[0] += 1e-6,
            |r| r.rank.swap(0, 1),
            |r| r.rank.swap(0, 4),
            |r| _ = r.rank.pop(),
        ];
        for (i, make_wrong) in breaks.iter().enumerate() {
            let mut wrong = right.clone();
            make_wrong(&mut wrong);
            assert!(verify_personalized_pagerank(&g, &config, &wrong).is_err(), "break {i}");
        }
        let elsewhere = PersonalizedPageRankConfig { starts: vec![], ..config };
        assert!(verify_personalized_pagerank(&g, &elsewhere, &right).is_err());
    }
}
