//! Bipartition.

use everedge_core::{GraphView, VertexId, par};
use everedge_kernels::{Bipartition, NO_COLOR, bipartition, naive, verify_bipartition};

use crate::graphs::{Random, for_each_case, graph};

#[test]
fn equals_the_naive_colors() {
    for_each_case(|case| {
        let result = bipartition(&case.graph);
        assert_eq!(result.color, naive::bipartition(&case.graph));
        verify_bipartition(&case.graph, &result).unwrap();
        // The same without odd cycles: edges lead between even and odd ids.
        let mut edges = Vec::new();
        case.graph.for_each_edge(|u, v| {
            if (u + v) % 2 == 1 {
                edges.push((u, v, 1.0));
            }
        });
        let vertices: Vec<_> =
            (0..case.graph.vertex_bound()).filter(|&v| case.graph.is_vertex(v)).collect();
        let g = graph(case.graph.is_directed(), &vertices, &edges);
        let result = bipartition(&g);
        assert_eq!(result.color, naive::bipartition(&g));
        assert!(result.is_bipartite());
        verify_bipartition(&g, &result).unwrap();
    });
}

#[test]
fn colors_components_and_names_an_odd_cycle() {
    let of = |edges: &[(VertexId, VertexId)]| {
        let edges: Vec<_> = edges.iter().map(|&(u, v)| (u, v, 1.0)).collect();
        let [a, b] = [true, false].map(|directed| bipartition(&graph(directed, &[], &edges)));
        assert_eq!(a, b);
        a
    };
    let result = of(&[(2, 1), (5, 4), (5, 6), (6, 7), (7, 4)]);
    assert_eq!(result.color, [NO_COLOR, 0, 1, NO_COLOR, 0, 1, 0, 1]);
    // A cycle of five, on a path from 1, and a component of two colors.
    let result = of(&[(1, 2), (2, 3), (3, 4), (4, 5), (6, 5), (2, 6), (8, 0)]);
    assert_eq!(result.color[..3], [0, NO_COLOR, NO_COLOR]);
    assert_eq!((result.odd_cycle, result.color[8]), (vec![4, 3, 2, 6, 5], 1));
    assert_eq!(of(&[(0, 1), (1, 1)]).odd_cycle, [1]);
    assert!(of(&[(0, 1), (0, 1), (1, 0)]).is_bipartite());
    assert!(of(&[]).is_bipartite());
}

#[test]
fn is_the_same_for_any_number_of_threads() {
    let mut random = Random::new(4);
    for odd in [0, 40] {
        let mut end = || 2 * random.below(15_000);
        let mut edges: Vec<_> = (0..40_000).map(|_| (end(), end() + 1, 1.0)).collect();
        edges.extend((0..odd).map(|_| (end(), end(), 1.0)));
        let g = graph(true, &[], &edges);
        let run = || bipartition(&g);
        let one = par::with_threads(1, run).unwrap();
        assert_eq!(one, par::with_threads(5, run).unwrap());
        assert_eq!(one.is_bipartite(), odd == 0);
        verify_bipartition(&g, &one).unwrap();
    }
}

#[test]
fn verifier_finds_every_kind_of_error() {
    let even = graph(true, &[5], &[(0, 1, 1.0), (2, 1, 1.0), (2, 3, 1.0)]);
    let right = bipartition(&even);
    let breaks: [fn(&mut Bipartition); 7] = [
        |r| r.color[3] = 0,
        |r| r.color[4] = 0,
        |r| r.color[5] = 1,
        |r| r.color[5] = 2,
        |r| r.color[..4].iter_mut().for_each(|color| *color = 1 - *color),
        |r| r.odd_cycle = vec![0, 1, 2],
        |r| _ = r.color.pop(),
    ];
    for (i, make_wrong) in breaks.iter().enumerate() {
        let mut wrong = right.clone();
        make_wrong(&mut wrong);
        assert!(verify_bipartition(&even, &wrong).is_err(), "break {i}");
    }
    let edges = [(0, 1, 1.0), (1, 2, 1.0), (2, 0, 1.0), (2, 3, 1.0), (4, 5, 1.0)];
    let odd = graph(true, &[], &edges);
    let right = bipartition(&odd);
    let breaks: [fn(&mut Bipartition); 7] = [
        |r| r.odd_cycle.clear(),
        |r| _ = r.odd_cycle.pop(),
        |r| r.odd_cycle = vec![0, 1, 3],
        |r| r.odd_cycle = vec![0, 1, 0],
        |r| r.odd_cycle = vec![0, 1, 9],
        |r| r.color[..4].copy_from_slice(&[0, 1, 0, 1]),
        |r| r.color[4..].fill(NO_COLOR),
    ];
    for (i, make_wrong) in breaks.iter().enumerate() {
        let mut wrong = right.clone();
        make_wrong(&mut wrong);
        assert!(verify_bipartition(&odd, &wrong).is_err(), "break {i}");
    }
}
