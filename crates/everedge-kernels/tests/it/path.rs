//! Shortest paths between two vertices.

use everedge_core::{Csr, GraphView, VertexId};
use everedge_kernels::{
    Error, Path, SsspConfig, UNREACHED, bfs, shortest_path, shortest_weighted_path, sssp,
    verify_path, verify_weighted_path,
};

use crate::graphs::{Case, Random, for_each_case, graph};

fn pairs(case: &Case) -> Vec<(VertexId, VertexId)> {
    case.sources().flat_map(|u| case.sources().map(move |v| (u, v))).collect()
}

#[test]
fn is_as_long_as_the_depth_and_the_distance() {
    for_each_case(|case| {
        for (source, target) in pairs(case) {
            let path = shortest_path(&case.graph, source, target).unwrap();
            let depth = bfs(&case.graph, source).unwrap().depth[target as usize];
            let length = path.as_ref().map_or(UNREACHED, |path| path.length as u32);
            assert_eq!(length, depth, "{source} {target}");
            verify_path(&case.graph, source, target, path.as_ref()).unwrap();

            let path = shortest_weighted_path(&case.graph, source, target).unwrap();
            verify_weighted_path(&case.graph, source, target, path.as_ref()).unwrap();
        }
    });
}

/// Grids have many shortest paths, and sums that nearly are.
#[test]
fn crosses_a_grid_with_and_without_directions() {
    const SIDE: u32 = 40;
    let mut random = Random::new(5);
    for directed in [false, true] {
        let mut edges = Vec::new();
        for v in 0..SIDE * SIDE {
            let mut add = |u: u32, v: u32| edges.push((u, v, 0.25 * random.below(9) as f32));
            if v % SIDE + 1 < SIDE {
                add(v, v + 1);
            }
            if v + SIDE < SIDE * SIDE {
                add(v, v + SIDE);
            }
        }
        let g = graph(directed, &[], &edges);
        for target in [SIDE * SIDE - 1, SIDE - 1, 7 * SIDE + 3] {
            let path = shortest_path(&g, 0, target).unwrap().unwrap();
            assert_eq!(path.length, f64::from(target / SIDE + target % SIDE));
            verify_path(&g, 0, target, Some(&path)).unwrap();
            let path = shortest_weighted_path(&g, 0, target).unwrap().unwrap();
            let distance = sssp(&g, 0, &SsspConfig::default()).unwrap().distance;
            assert_eq!(path.length, distance[target as usize], "sums of quarters are exact");
            verify_weighted_path(&g, 0, target, Some(&path)).unwrap();
        }
        assert_eq!(shortest_path(&g, 5, 0).unwrap().is_some(), !directed);
    }
}

#[test]
fn takes_the_lightest_of_parallel_edges_and_refuses_weights_below_0() {
    let g = graph(true, &[7], &[(0, 1, 5.0), (0, 1, 1.0), (1, 2, 2.0), (0, 2, 4.0), (2, 3, -1.0)]);
    let path = shortest_weighted_path(&g, 0, 2).unwrap().unwrap();
    assert_eq!((path.vertices, path.length), (vec![0, 1, 2], 3.0));
    assert_eq!(shortest_weighted_path(&g, 0, 7).unwrap(), None);
    let refused = shortest_weighted_path(&g, 0, 3);
    assert!(matches!(refused, Err(Error::BadWeight { src: 2, dst: 3, .. })), "{refused:?}");
    assert_eq!(shortest_path(&g, 0, 5), Err(Error::NotAVertex { vertex: 5 }));
    let alone = Path { vertices: vec![7], length: 0.0 };
    assert_eq!(shortest_path(&g, 7, 7).unwrap(), Some(alone.clone()));
    assert_eq!(shortest_weighted_path(&g, 7, 7).unwrap(), Some(alone));
}

#[test]
fn verifier_finds_every_kind_of_error() {
    let edges = [(0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.0), (0, 4, 1.0), (4, 3, 3.0)];
    let g: Csr = graph(true, &[], &edges);
    let wrong = |vertices: &[VertexId], length: f64| Path { vertices: vertices.to_vec(), length };
    for (path, what) in [
        (None, "the least"),
        (Some(wrong(&[0, 1, 2, 3], 3.0)), "the least"),
        (Some(wrong(&[0, 3], 1.0)), "no edge"),
        (Some(wrong(&[0, 4, 3], 3.0)), "its edges'"),
        (Some(wrong(&[0, 4], 1.0)), "the ends"),
        (Some(wrong(&[], 0.0)), "the ends"),
        (Some(wrong(&[0, 9, 3], 2.0)), "no vertex"),
    ] {
        let found = verify_path(&g, 0, 3, path.as_ref()).unwrap_err().to_string();
        assert!(found.contains(what), "{path:?}: {found}");
    }
    verify_path(&g, 0, 3, Some(&wrong(&[0, 4, 3], 2.0))).unwrap();
    assert!(verify_weighted_path(&g, 0, 3, Some(&wrong(&[0, 4, 3], 4.0))).is_err());
    verify_weighted_path(&g, 0, 3, Some(&wrong(&[0, 1, 2, 3], 3.0))).unwrap();
    assert!(verify_path(&g, 3, 0, None).is_ok() && g.is_vertex(4));
}
