//! Two-hop queries.

use everedge_core::GraphView;
use everedge_kernels::{
    Error, naive, one_hop_sample, two_hop, two_hop_count, two_hop_sum, verify_two_hop,
};

use crate::graphs::{for_each_case, graph};

#[test]
fn equals_the_naive_queries() {
    for_each_case(|case| {
        let g = &case.graph;
        let some = (0..g.vertex_bound()).step_by(1 + g.vertex_bound() as usize / 50);
        for v in some.filter(|&v| g.is_vertex(v)) {
            let reached = two_hop(g, v).unwrap();
            assert_eq!(reached, naive::two_hop(g, v));
            assert_eq!(two_hop_count(g, v).unwrap() as usize, reached.len());
            verify_two_hop(g, v, &reached).unwrap();
        }
    });
}

#[test]
fn sum_is_that_of_the_queries_of_the_sample() {
    for_each_case(|case| {
        let g = &case.graph;
        let sample = one_hop_sample(g, 50, 7);
        let sum: u64 = sample.iter().flat_map(|&v| naive::two_hop(g, v)).map(u64::from).sum();
        assert_eq!(two_hop_sum(g, &sample), sum);
    });
}

#[test]
fn refuses_a_source_that_is_not_a_vertex() {
    let g = graph(false, &[], &[(0, 2, 1.0)]);
    assert_eq!(two_hop(&g, 1), Err(Error::NotAVertex { vertex: 1 }));
    assert_eq!(two_hop_count(&g, 1), Err(Error::NotAVertex { vertex: 1 }));
}

#[test]
fn verifier_finds_every_kind_of_error() {
    let edges = [(0, 1, 1.0), (1, 0, 1.0), (1, 2, 1.0), (0, 3, 1.0), (2, 4, 1.0), (5, 0, 1.0)];
    let g = graph(true, &[], &edges);
    verify_two_hop(&g, 0, &[1, 2, 3]).unwrap();
    let wrongs = [
        &[1, 3, 2][..],
        &[1, 2, 2, 3],
        &[1, 3],
        &[1, 2],
        &[0, 1, 2, 3],
        &[1, 2, 3, 4],
        &[1, 2, 3, 5],
        &[1, 2, 3, 6],
    ];
    for wrong in wrongs {
        assert!(verify_two_hop(&g, 0, wrong).is_err(), "{wrong:?}");
    }
}
