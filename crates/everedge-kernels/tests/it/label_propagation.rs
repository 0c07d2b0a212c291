//! Communities by label propagation.

use everedge_core::{Csr, par};
use everedge_kernels::{
    Error, LabelPropagation, LabelPropagationConfig, NO_COMMUNITY, label_propagation, naive,
    verify_label_propagation,
};

use crate::graphs::{for_each_case, graph, reweighted};

#[test]
fn every_vertex_has_a_most_frequent_label() {
    for_each_case(|case| {
        // Whole numbers are added up exactly.
        let g = &reweighted(&case.graph, |weight| weight.min(1e6).round());
        let ones = &reweighted(&case.graph, |_| 1.0);
        for seed in 0..3 {
            for (weighted, like) in [(true, g), (false, ones)] {
                let config = LabelPropagationConfig { weighted, seed };
                let found = label_propagation(g, &config).unwrap();
                verify_label_propagation(g, &config, &found).unwrap();
                assert!(naive::has_most_frequent_labels(like, &found.community), "{config:?}");
            }
        }
    });
}

#[test]
fn cliques_are_communities() {
    let mut edges = Vec::new();
    for first in [0, 6, 12, 18] {
        let pairs = (0..6).flat_map(|i| (0..i).map(move |j| (i, j)));
        edges.extend(pairs.map(|(i, j)| (first + i, first + j, 1.0)));
        edges.push((first, (first + 7) % 24, 1.0));
    }
    for directed in [true, false] {
        let g = graph(directed, &[26], &edges);
        let found = label_propagation(&g, &LabelPropagationConfig::default()).unwrap();
        let expected: Vec<_> = (0..24).map(|v| v / 6 * 6).chain([NO_COMMUNITY; 2]).collect();
        assert_eq!((&found.community[..26], found.community[26]), (&expected[..], 26));
        assert_eq!((found.community_count(), found.largest()), (5, 6));
    }
}

#[test]
fn weights_count_or_not() {
    let g = graph(false, &[], &[(0, 1, 1.0), (0, 2, 1.0), (1, 2, 1.0), (2, 3, 9.0)]);
    for seed in 0..20 {
        let found = |weighted| {
            let config = LabelPropagationConfig { weighted, seed };
            label_propagation(&g, &config).unwrap().community
        };
        assert_eq!(found(true)[2], found(true)[3]);
        let ends = found(false);
        assert!(ends[0] == ends[1] || ends[1] == ends[2] || ends[0] == ends[2], "{ends:?}");
    }
}

#[test]
fn a_seed_has_one_answer_on_any_number_of_threads_and_in_any_order_of_lists() {
    let mut edges: Vec<_> = (0..40_000_u32).map(|i| (i * 7 % 9973, i * i % 9967, 1.5)).collect();
    let run = |g: &Csr, seed| {
        let config = LabelPropagationConfig { seed, ..LabelPropagationConfig::default() };
        label_propagation(g, &config).unwrap()
    };
    let g = graph(true, &[], &edges);
    let found = par::with_threads(1, || run(&g, 1)).unwrap();
    assert_eq!(found, par::with_threads(5, || run(&g, 1)).unwrap());
    assert_ne!(found, run(&g, 2));
    edges.reverse();
    assert_eq!(found, run(&graph(true, &[], &edges), 1));
}

#[test]
fn refuses_bad_weights() {
    let g = graph(true, &[], &[(0, 1, -1.0)]);
    let config = LabelPropagationConfig::default();
    assert!(matches!(label_propagation(&g, &config), Err(Error::BadWeight { weight: -1.0, .. })));
    label_propagation(&g, &LabelPropagationConfig { weighted: false, ..config }).unwrap();
}

#[test]
fn verifier_finds_every_kind_of_error() {
    let edges = [(0, 1, 1.0), (1, 2, 1.0), (2, 0, 1.0), (4, 5, 1.0)];
    let g = graph(false, &[7], &edges);
    let config = LabelPropagationConfig::default();
    let right = label_propagation(&g, &config).unwrap();
    let breaks: [fn(&mut LabelPropagation); 6] = [
        |r| r.community[1] = 1,
        |r| r.community[5] = 0,
        |r| r.community[7] = 0,
        |r| r.community[3] = 3,
        |r| r.community[0] = 1,
        |r| _ = r.community.pop(),
    ];
    for (i, make_wrong) in breaks.iter().enumerate() {
        let mut wrong = right.clone();
        make_wrong(&mut wrong);
        assert!(verify_label_propagation(&g, &config, &wrong).is_err(), "break {i}");
    }
}
