//! Building and reading a CSR.

use everedge_core::{
    Csr, CsrOptions, Edge, GraphView, ListsError, MAX_VERTEX_ID, Numbering, VertexId, WeightedView,
    par,
};
use proptest::prelude::*;

use crate::model::Model;

/// Asserts that two views show the same graph, neighbors in the same order.
fn assert_same<A: WeightedView, B: WeightedView>(a: &A, b: &B) {
    assert_eq!(a.vertex_bound(), b.vertex_bound());
    assert_eq!(a.vertex_count(), b.vertex_count());
    assert_eq!(a.edge_count(), b.edge_count());
    assert_eq!(a.is_directed(), b.is_directed());
    for v in 0..a.vertex_bound() {
        assert_eq!(a.is_vertex(v), b.is_vertex(v), "{v}");
        assert_eq!(a.out_degree(v), b.out_degree(v), "{v}");
        assert_eq!(a.in_degree(v), b.in_degree(v), "{v}");
        assert!(a.out_neighbors(v).eq(b.out_neighbors(v)), "{v}");
        assert!(a.in_neighbors(v).eq(b.in_neighbors(v)), "{v}");
        assert!(a.out_edges(v).eq(b.out_edges(v)), "{v}");
        assert!(a.in_edges(v).eq(b.in_edges(v)), "{v}");
    }
}

/// Asserts that all ways to build a graph give the same as the model.
fn check_builders(directed: bool, declared: &[VertexId], edges: &[Edge]) {
    let options = CsrOptions { directed, declared };
    let weights: Vec<_> = (0..edges.len()).map(|i| i as f32 / 3.0).collect();
    let ones = vec![1.0; edges.len()];
    let weighted = Model::new(directed, declared, edges, &weights);
    let unweighted = Model::new(directed, declared, edges, &ones);
    assert_same(&Csr::from_edges(edges, Some(&weights), options), &weighted);
    assert_same(&Csr::from_weighted_view(&weighted), &weighted);
    assert_same(&Csr::from_edges(edges, None, options), &unweighted);
    assert_same(&Csr::from_view(&weighted), &unweighted);
    let (copy, numbering) = (Csr::from_weighted_view(&weighted), Numbering::of(&weighted));
    assert_eq!(Csr::out_arrays_of(&weighted, None, true), copy.into_out_arrays());
    let copy = Csr::compact(&weighted, &numbering);
    assert_eq!(Csr::out_arrays_of(&weighted, Some(&numbering), false), copy.into_out_arrays());
    check_lists(directed, edges, &weights);
}

/// Asserts that lists that are given are those of the same graph, in which every id is a vertex.
fn check_lists(directed: bool, edges: &[Edge], weights: &[f32]) {
    let bound = edges.iter().map(|&(u, v)| u.max(v) + 1).max().unwrap_or(0);
    let declared: Vec<_> = (0..bound).collect();
    let options = CsrOptions { directed, declared: &declared };
    // A group has in-neighbors in the order of its edges, lists have them in ascending order.
    let mut order: Vec<_> = (0..edges.len()).collect();
    order.sort_by_key(|&i| edges[i].0);
    let sorted: Vec<_> = order.iter().map(|&i| edges[i]).collect();
    let weights: Vec<_> = order.iter().map(|&i| weights[i]).collect();
    let built = Csr::from_edges(&sorted, Some(&weights), options);
    let (offsets, neighbors, weights) = built.clone().into_out_arrays();
    let given = Csr::from_lists(offsets, neighbors, weights, directed).unwrap();
    assert_same(&given, &built);
}

#[test]
fn lists_that_are_none_of_a_graph_are_refused() {
    let given = |offsets: &[u64], neighbors: &[VertexId], weights: Option<&[f32]>, directed| {
        let weights = weights.map(<[f32]>::to_vec);
        Csr::from_lists(offsets.to_vec(), neighbors.to_vec(), weights, directed).map(drop)
    };
    let offset =
        |place, offset, neighbor_count| Err(ListsError::Offset { place, offset, neighbor_count });
    assert_eq!(given(&[0], &[], None, true), Ok(()));
    assert_eq!(given(&[], &[], None, true), Err(ListsError::Length { offset_count: 0 }));
    assert_eq!(given(&[1, 1], &[0], None, true), offset(0, 1, 1));
    assert_eq!(given(&[0, 2, 1, 2], &[0, 1], None, true), offset(2, 1, 2));
    assert_eq!(given(&[0, 1], &[0, 0], None, true), offset(1, 1, 2));
    assert_eq!(
        given(&[0, 1, 2], &[0, 2], None, true),
        Err(ListsError::Neighbor { place: 1, neighbor: 2, vertex_count: 2 })
    );
    assert_eq!(
        given(&[0, 1], &[0], Some(&[]), true),
        Err(ListsError::WeightCount { weight_count: 0, neighbor_count: 1 })
    );
    assert_eq!(
        given(&[0, 1], &[0], Some(&[f32::INFINITY]), true),
        Err(ListsError::Weight { place: 0, weight: f32::INFINITY })
    );
    assert_eq!(given(&[0, 1, 2], &[1, 0], Some(&[2.0, 2.0]), false), Ok(()));
    assert_eq!(given(&[0, 1, 2], &[1, 0], Some(&[2.0, 3.0]), false), Err(ListsError::OneSided));
    assert_eq!(given(&[0, 1, 1], &[1], None, false), Err(ListsError::OneSided));
    assert_eq!(given(&[0, 1, 1], &[1], None, true), Ok(()));
}

proptest! {
    #[test]
    fn equals_the_model(
        directed: bool,
        declared in prop::collection::vec(0_u32..200, 0..4),
        edges in prop::collection::vec((0_u32..150, 0_u32..150), 0..300),
    ) {
        check_builders(directed, &declared, &edges);
    }
}

#[test]
fn equals_the_model_when_many_threads_build_it() {
    let edges: Vec<Edge> = (0..140_000).map(|i| (i * 7919 % 1021, i % 40_009)).collect();
    for threads in [1, 3, 8] {
        par::with_threads(threads, || {
            check_builders(true, &[50_000], &edges);
            check_builders(false, &[], &edges);
        })
        .unwrap();
    }
}

#[test]
fn sorted_keeps_parallel_edges_in_order() {
    let edges = [(0, 3), (0, 1), (0, 3), (0, 2), (0, 1)];
    let weights = [1.0, 2.0, 3.0, 4.0, 5.0];
    let options = CsrOptions { directed: true, ..CsrOptions::default() };
    let g = Csr::from_edges(&edges, Some(&weights), options).sorted();
    assert_eq!(g.out_slice(0), [1, 1, 2, 3, 3]);
    assert_eq!(g.out_weights(0), Some(&[2.0, 5.0, 4.0, 1.0, 3.0][..]));
    assert!(g.in_edges(3).eq([(0, 1.0), (0, 3.0)]));
    let g = Csr::from_edges(&edges, None, options).sorted();
    assert_eq!(g.out_slice(0), [1, 1, 2, 3, 3]);
    assert_eq!((g.out_weights(0), g.is_weighted()), (None, false));
}

#[test]
fn empty_graph_has_nothing() {
    let g = Csr::from_edges(&[], None, CsrOptions::default()).sorted();
    assert_eq!((g.vertex_bound(), g.vertex_count(), g.edge_count()), (0, 0, 0));
    assert!(!g.is_vertex(0));
    assert_same(&Csr::from_weighted_view(&g), &g);
}

#[test]
#[should_panic(expected = "vertex id 2147483648 is above 2147483647")]
fn refuses_an_id_that_is_too_large() {
    Csr::from_edges(&[(0, MAX_VERTEX_ID + 1)], None, CsrOptions::default());
}

#[test]
#[should_panic(expected = "one weight for each edge")]
fn refuses_fewer_weights_than_edges() {
    Csr::from_edges(&[(0, 1)], Some(&[]), CsrOptions::default());
}

/// A few vertices, one of them with the largest id there is: nothing is as long as that.
#[test]
fn a_compact_copy_has_every_vertex_at_its_place() {
    let edges = [(0, 7), (7, MAX_VERTEX_ID), (MAX_VERTEX_ID, 0), (7, 7), (0, 7)];
    let weights = [1.0, 2.0, 3.0, 4.0, 5.0];
    for directed in [true, false] {
        let far = Model::new(directed, &[1_000_000], &edges, &weights);
        assert!(Numbering::pays(&far));
        let numbering = Numbering::of(&far);
        assert_eq!(numbering.ids(), [0, 7, 1_000_000, MAX_VERTEX_ID]);
        let place = |v| numbering.place(v).unwrap();
        let near: Vec<_> = edges.iter().map(|&(u, v)| (place(u), place(v))).collect();
        let expected = Model::new(directed, &[2], &near, &weights);
        let copies = [Csr::compact(&far, &numbering), Csr::compact_weighted(&far, &numbering)];
        for copy in &copies {
            assert_eq!((copy.vertex_bound(), copy.vertex_count(), copy.edge_count()), (4, 4, 5));
            for v in 0..4 {
                assert!(copy.out_neighbors(v).eq(expected.out_neighbors(v)));
                assert!(copy.in_neighbors(v).eq(expected.in_neighbors(v)));
            }
        }
        let [plain, weighted] = &copies;
        assert!(!plain.is_weighted());
        assert!((0..4).all(|v| weighted.out_edges(v).eq(expected.out_edges(v))));
        assert!((0..4).all(|v| weighted.in_edges(v).eq(expected.in_edges(v))));
    }
}

#[test]
fn ranges_of_ids_hold_every_vertex() {
    let g = Csr::from_edges(&[(3, 70), (1000, 1001)], None, CsrOptions::default());
    let ids: Vec<_> = g.vertex_ranges().into_iter().flatten().collect();
    assert!(ids.is_sorted() && ids.len() < 200);
    assert!((0..g.vertex_bound()).all(|v| !g.is_vertex(v) || ids.contains(&v)));
}
