//! Community detection by label propagation.

use everedge_core::GraphView;
use everedge_kernels::{Cdlp, CdlpConfig, Error, NO_LABEL, cdlp, naive, verify_cdlp};

use crate::graphs::{for_each_case, graph};

/// Returns the label of each vertex, which the result names by a vertex that had it.
fn named(result: &Cdlp, labels: Option<&[u64]>) -> Vec<u64> {
    let label = |owner: u32| labels.map_or(owner.into(), |labels| labels[owner as usize]);
    let of = |&owner: &u32| if owner == NO_LABEL { u64::MAX } else { label(owner) };
    result.label.iter().map(of).collect()
}

#[test]
fn equals_the_naive_labels() {
    for_each_case(|case| {
        let g = &case.graph;
        let bound = u64::from(g.vertex_bound());
        let descending: Vec<_> = (0..bound).map(|v| u64::MAX - 7 * v).collect();
        let few: Vec<_> = (0..bound).map(|v| v * v % 5).collect();
        for labels in [None, Some(&descending[..]), Some(&few)] {
            for iterations_max in [0, 1, 2, 10] {
                let config = CdlpConfig { iterations_max };
                let result = cdlp(g, labels, &config).unwrap();
                assert_eq!(named(&result, labels), naive::cdlp(g, labels, &config));
                verify_cdlp(g, labels, &config, &result).unwrap();
            }
        }
    });
}

#[test]
fn stops_when_nothing_changes() {
    // Groups of ten that all know each other, in a chain.
    let pairs = (0..300).flat_map(|u| (u / 10 * 10..u).map(move |v| (u, v, 1.0)));
    let edges: Vec<_> = pairs.chain((0..29).map(|i| (10 * i, 10 * i + 11, 1.0))).collect();
    let config = CdlpConfig { iterations_max: 1000 };
    let g = graph(true, &[], &edges);
    let result = cdlp(&g, None, &config).unwrap();
    assert!(result.iterations < 1000, "{}", result.iterations);
    assert_eq!(named(&result, None), naive::cdlp(&g, None, &config));
    verify_cdlp(&g, None, &config, &result).unwrap();
}

#[test]
fn edges_both_ways_and_parallel_ones_count_each() {
    let edges = [(0, 1, 1.0), (1, 0, 1.0), (0, 2, 1.0), (0, 3, 1.0), (3, 4, 1.0), (3, 4, 1.0)];
    let labels = [9, 8, 1, 2, 7];
    let config = CdlpConfig { iterations_max: 1 };
    let result = cdlp(&graph(true, &[], &edges), Some(&labels), &config).unwrap();
    assert_eq!(result.label, [1, 0, 0, 4, 3]);
}

#[test]
fn refuses_too_few_or_too_many_labels() {
    let g = graph(true, &[], &[(0, 1, 1.0)]);
    for labels in [&[1][..], &[1, 2, 3]] {
        let result = cdlp(&g, Some(labels), &CdlpConfig::default());
        assert!(matches!(result, Err(Error::BadParameter { .. })), "{labels:?}");
    }
}

#[test]
fn verifier_finds_every_kind_of_error() {
    let g = graph(false, &[], &[(0, 1, 1.0), (1, 2, 1.0), (2, 0, 1.0), (4, 5, 1.0)]);
    let config = CdlpConfig { iterations_max: 5 };
    let right = cdlp(&g, None, &config).unwrap();
    let breaks: [fn(&mut Cdlp); 7] = [
        |r| r.label[0] = 1,
        |r| r.label[3] = 3,
        |r| r.label[5] = NO_LABEL,
        |r| r.label.swap(4, 5),
        |r| r.iterations -= 1,
        |r| r.iterations += 1,
        |r| _ = r.label.pop(),
    ];
    for (i, make_wrong) in breaks.iter().enumerate() {
        let mut wrong = right.clone();
        make_wrong(&mut wrong);
        assert!(verify_cdlp(&g, None, &config, &wrong).is_err(), "break {i}");
    }
    let stable = graph(true, &[], &[(0, 0, 1.0)]);
    let result = cdlp(&stable, None, &config).unwrap();
    assert_eq!(result.iterations, 1);
    let mut longer = result;
    longer.iterations = 2;
    assert!(verify_cdlp(&stable, None, &config, &longer).is_err());
}
