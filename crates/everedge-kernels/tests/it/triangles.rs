//! Triangles.

use everedge_kernels::{Triangles, naive, triangles, verify_triangles};

use crate::graphs::{Random, for_each_case, graph};

#[test]
fn equals_the_naive_count() {
    for_each_case(|case| {
        let result = triangles(&case.graph);
        assert_eq!(result.count, naive::triangles(&case.graph));
        verify_triangles(&case.graph, &result).unwrap();
    });
}

/// Hubs that all know each other, and many vertices that know few of them: lists with rows and
/// without, of which each is the shorter one at times.
#[test]
fn counts_among_hubs_and_from_vertices_that_know_few_of_them() {
    let mut random = Random::new(3);
    let mut edges = Vec::new();
    for u in 0..300 {
        edges.extend((0..u).filter(|_| random.below(10) > 0).map(|v| (u, v, 1.0)));
    }
    for u in 300..6000 {
        let degree_max = 1 + random.below(80);
        for _ in 0..=random.below(degree_max) {
            let bound = 1 + random.below(u);
            edges.push((u, random.below(bound), 1.0));
        }
    }
    for directed in [true, false] {
        let g = graph(directed, &[], &edges);
        let result = triangles(&g);
        assert_eq!(result.count, naive::triangles(&g));
        verify_triangles(&g, &result).unwrap();
    }
}

#[test]
fn complete_graphs_have_all_triples() {
    for n in [1_u32, 2, 3, 64, 65, 130] {
        let edges: Vec<_> = (0..n).flat_map(|u| (0..n).map(move |v| (u, v, 1.0))).collect();
        let n = u64::from(n);
        let expected = n * (n - 1) * n.saturating_sub(2) / 6;
        assert_eq!(triangles(&graph(true, &[], &edges)).count, expected);
    }
}

#[test]
fn verifier_finds_every_kind_of_error() {
    let g = graph(true, &[], &[(0, 1, 1.0), (1, 2, 1.0), (2, 0, 1.0), (0, 2, 1.0), (3, 0, 1.0)]);
    let right = triangles(&g);
    assert_eq!(right, Triangles { count: 1, smallest_corner: vec![0, 1, 0, 0] });
    verify_triangles(&g, &right).unwrap();
    for count in [0, 2, 3] {
        assert!(verify_triangles(&g, &Triangles { count, ..right.clone() }).is_err(), "{count}");
        let corners = vec![0, count, 0, 0];
        assert!(verify_triangles(&g, &Triangles { count, smallest_corner: corners }).is_err());
    }
}
