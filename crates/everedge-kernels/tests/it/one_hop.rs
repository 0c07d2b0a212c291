//! One-hop queries.

use everedge_core::GraphView;
use everedge_kernels::{Error, one_hop, one_hop_sample, one_hop_sum, verify_one_hop};

use crate::graphs::{for_each_case, graph};

#[test]
fn returns_the_neighbors_of_every_vertex() {
    for_each_case(|case| {
        let g = &case.graph;
        for v in (0..g.vertex_bound()).filter(|&v| g.is_vertex(v)) {
            let neighbors = one_hop(g, v).unwrap();
            assert_eq!(neighbors, g.out_slice(v));
            verify_one_hop(g, v, &neighbors).unwrap();
        }
    });
}

#[test]
fn sample_has_neighbors_and_sums_them() {
    for_each_case(|case| {
        let g = &case.graph;
        let sample = one_hop_sample(g, 1000, 7);
        assert_eq!(sample.len(), if g.edge_count() == 0 { 0 } else { 1000 });
        assert!(sample.iter().all(|&v| g.out_degree(v) > 0));
        assert_eq!(sample, one_hop_sample(g, 1000, 7));
        let sum: u64 = sample.iter().flat_map(|&v| g.out_neighbors(v)).map(u64::from).sum();
        assert_eq!(one_hop_sum(g, &sample), sum);
    });
}

#[test]
fn sample_draws_every_candidate() {
    let g = graph(true, &[], &[(0, 1, 1.0), (3, 0, 1.0), (7, 0, 1.0)]);
    let mut sample = one_hop_sample(&g, 200, 1);
    sample.sort_unstable();
    sample.dedup();
    assert_eq!(sample, [0, 3, 7]);
}

#[test]
fn refuses_a_source_that_is_not_a_vertex() {
    let g = graph(false, &[], &[(0, 2, 1.0)]);
    assert_eq!(one_hop(&g, 1), Err(Error::NotAVertex { vertex: 1 }));
}

#[test]
fn verifier_finds_every_kind_of_error() {
    let g = graph(true, &[9], &[(0, 1, 1.0), (0, 1, 1.0), (0, 2, 1.0), (4, 3, 1.0)]);
    verify_one_hop(&g, 0, &[2, 1, 1]).unwrap();
    for wrong in [&[1, 1][..], &[1, 2, 2], &[1, 1, 3], &[1, 1, 8]] {
        assert!(verify_one_hop(&g, 0, wrong).is_err(), "{wrong:?}");
    }
}
