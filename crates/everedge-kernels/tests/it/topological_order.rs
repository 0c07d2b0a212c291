//! Topological order.

use everedge_core::{GraphView, VertexId, par};
use everedge_kernels::{
    NO_LEVEL, TopologicalOrder, naive, topological_order, verify_topological_order,
};

use crate::graphs::{Random, for_each_case, graph};

#[test]
fn equals_the_naive_levels() {
    for_each_case(|case| {
        let result = topological_order(&case.graph);
        assert_eq!(result.level, naive::levels(&case.graph));
        verify_topological_order(&case.graph, &result).unwrap();
        // The same without cycles: edges lead from larger to smaller ids.
        let mut edges = Vec::new();
        case.graph.for_each_edge(|u, v| {
            if u > v {
                edges.push((u, v, 1.0));
            }
        });
        let vertices: Vec<_> =
            (0..case.graph.vertex_bound()).filter(|&v| case.graph.is_vertex(v)).collect();
        let g = graph(true, &vertices, &edges);
        let result = topological_order(&g);
        assert_eq!(result.level, naive::levels(&g));
        assert!(result.is_acyclic() && result.order.len() == vertices.len());
        verify_topological_order(&g, &result).unwrap();
    });
}

#[test]
fn orders_by_level_and_id_and_names_a_cycle() {
    let edges = [(9, 4, 1.0), (4, 2, 1.0), (4, 2, 1.0), (9, 2, 1.0), (2, 6, 1.0)];
    let result = topological_order(&graph(true, &[1], &edges));
    assert_eq!((result.order.as_slice(), result.level_count()), (&[1, 9, 4, 2, 6][..], 4));
    assert_eq!(result.level[0], NO_LEVEL);
    let behind = [(7, 8, 1.0), (5, 3, 1.0), (3, 7, 1.0), (7, 5, 1.0), (0, 5, 1.0), (8, 1, 1.0)];
    let result = topological_order(&graph(true, &[], &behind));
    assert_eq!((result.order.as_slice(), result.cycle.as_slice()), (&[0][..], &[3, 7, 5][..]));
    let cycle_of = |directed, edges: &[(VertexId, VertexId, f32)]| {
        topological_order(&graph(directed, &[], edges)).cycle
    };
    assert_eq!(cycle_of(true, &[(0, 2, 1.0), (2, 2, 1.0)]), [2]);
    assert_eq!(cycle_of(false, &[(3, 2, 1.0)]), [2, 3]);
    assert!(cycle_of(false, &[]).is_empty());
}

#[test]
fn is_the_same_for_any_number_of_threads() {
    let mut random = Random::new(9);
    let edges: Vec<_> =
        (0..60_000).map(|_| (random.below(20_000), random.below(20_000), 1.0)).collect();
    let forward: Vec<_> = edges.iter().map(|&(u, v, w)| (u.min(v), u.max(v) + 1, w)).collect();
    for edges in [&edges, &forward] {
        let g = graph(true, &[], edges);
        let run = || topological_order(&g);
        let one = par::with_threads(1, run).unwrap();
        assert_eq!(one, par::with_threads(5, run).unwrap());
        verify_topological_order(&g, &one).unwrap();
    }
}

#[test]
fn verifier_finds_every_kind_of_error() {
    let acyclic = graph(true, &[4], &[(0, 1, 1.0), (1, 2, 1.0), (5, 2, 1.0)]);
    let right = topological_order(&acyclic);
    let breaks: [fn(&mut TopologicalOrder); 7] = [
        |r| r.order.swap(0, 1),
        |r| r.order[0] = 4,
        |r| _ = r.order.pop(),
        |r| r.level[2] = 3,
        |r| r.level[3] = 0,
        |r| _ = r.level.pop(),
        |r| r.cycle = vec![0, 1],
    ];
    for (i, make_wrong) in breaks.iter().enumerate() {
        let mut wrong = right.clone();
        make_wrong(&mut wrong);
        assert!(verify_topological_order(&acyclic, &wrong).is_err(), "break {i}");
    }
    let cyclic = graph(true, &[], &[(0, 1, 1.0), (1, 2, 1.0), (2, 0, 1.0), (2, 1, 1.0)]);
    let right = topological_order(&cyclic);
    let breaks: [fn(&mut TopologicalOrder); 6] = [
        |r| r.cycle.clear(),
        |r| r.cycle.reverse(),
        |r| r.cycle.push(r.cycle[0]),
        |r| r.cycle = vec![0],
        |r| r.cycle = vec![9],
        |r| (r.order, r.level[0]) = (vec![0], 0),
    ];
    for (i, make_wrong) in breaks.iter().enumerate() {
        let mut wrong = right.clone();
        make_wrong(&mut wrong);
        assert!(verify_topological_order(&cyclic, &wrong).is_err(), "break {i}");
    }
}
