//! Delta PageRank.

use everedge_kernels::{
    DeltaPageRank, DeltaPageRankConfig, Error, PageRankConfig, delta_pagerank, naive,
    verify_delta_pagerank,
};

use crate::graphs::{for_each_case, graph};

#[test]
fn is_within_the_tolerance_of_the_limit() {
    let limit = PageRankConfig { iterations_max: 1000, tolerance: 1e-14, damping: 0.85 };
    for_each_case(|case| {
        let expected = naive::pagerank(&case.graph, &limit);
        for tolerance in [1e-2, 1e-4, 1e-9] {
            let config = DeltaPageRankConfig { tolerance, ..DeltaPageRankConfig::default() };
            let result = delta_pagerank(&case.graph, &config).unwrap();
            let differences = result.rank.iter().zip(&expected).map(|(a, b)| (a - b).abs());
            let far = differences.sum::<f64>();
            assert!(far <= tolerance + 1e-12, "{far} for {tolerance}");
            verify_delta_pagerank(&case.graph, &config, &result).unwrap();
        }
    });
}

#[test]
fn pushes_what_few_vertices_have_changed() {
    // A long path settles from its beginning, and a star beside it at once.
    let path = (0..2000).map(|v| (v, v + 1, 1.0));
    let star = (3000..6000).map(|v| (2999, v, 1.0));
    let g = graph(true, &[], &path.chain(star).collect::<Vec<_>>());
    let config = DeltaPageRankConfig { tolerance: 1e-10, ..DeltaPageRankConfig::default() };
    let result = delta_pagerank(&g, &config).unwrap();
    verify_delta_pagerank(&g, &config, &result).unwrap();
    assert!(result.iterations > 20);
}

#[test]
fn refuses_parameters_out_of_range() {
    let g = graph(true, &[], &[(0, 1, 1.0)]);
    let right = DeltaPageRankConfig::default();
    for config in [
        DeltaPageRankConfig { damping: 1.0, ..right },
        DeltaPageRankConfig { damping: f64::NAN, ..right },
        DeltaPageRankConfig { tolerance: 0.0, ..right },
        DeltaPageRankConfig { tolerance: f64::NAN, ..right },
        // What rounding leaves would never become smaller.
        DeltaPageRankConfig { tolerance: 1e-323, ..right },
        DeltaPageRankConfig { tolerance: 1e-15, ..right },
        DeltaPageRankConfig { tolerance: 1e-13, damping: 0.999 },
    ] {
        let refused = delta_pagerank(&g, &config);
        assert!(matches!(refused, Err(Error::BadParameter { .. })), "{config:?}");
    }
    let least = DeltaPageRankConfig { tolerance: 7e-15, ..right };
    assert!(delta_pagerank(&g, &least).is_ok());
    let cycle = [(0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.0), (3, 4, 1.0), (4, 0, 1.0), (5, 0, 1.0)];
    assert!(delta_pagerank(&graph(true, &[], &cycle), &least).is_ok());
}

#[test]
fn verifier_finds_every_kind_of_error() {
    let g = graph(true, &[], &[(0, 1, 1.0), (1, 2, 1.0), (2, 0, 1.0), (4, 0, 1.0)]);
    let config = DeltaPageRankConfig { tolerance: 1e-9, ..DeltaPageRankConfig::default() };
    let right = delta_pagerank(&g, &config).unwrap();
    let breaks: [fn(&mut DeltaPageRank); 4] =
        [|r| r.rank[3] = 0.1, |r| r.rank[0] += 1e-6, |r| r.rank.swap(0, 1), |r| _ = r.rank.pop()];
    for (i, make_wrong) in breaks.iter().enumerate() {
        let mut wrong = right.clone();
        make_wrong(&mut wrong);
        assert!(verify_delta_pagerank(&g, &config, &wrong).is_err(), "break {i}");
    }
}
