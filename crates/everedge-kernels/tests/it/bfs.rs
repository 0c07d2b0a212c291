//! Breadth-first search.

use everedge_kernels::{Bfs, Error, NO_PARENT, UNREACHED, bfs, naive, verify_bfs};

use crate::graphs::{for_each_case, graph};

#[test]
fn equals_the_naive_search() {
    for_each_case(|case| {
        let g = &case.graph;
        for source in case.sources() {
            let result = bfs(g, source).unwrap();
            assert_eq!(result.depth, naive::bfs(g, source));
            verify_bfs(g, source, &result).unwrap();
        }
    });
}

#[test]
fn refuses_a_source_that_is_not_a_vertex() {
    let g = graph(true, &[], &[(1, 3, 1.0)]);
    for v in [0, 2, 4, u32::MAX] {
        assert_eq!(bfs(&g, v), Err(Error::NotAVertex { vertex: v }));
    }
}

#[test]
fn counts_what_it_reached() {
    let g = graph(true, &[], &[(1, 3, 1.0), (3, 4, 1.0), (5, 1, 1.0)]);
    let result = bfs(&g, 1).unwrap();
    assert_eq!((result.reached_count(), result.depth_max()), (3, 2));
}

#[test]
fn verifier_finds_every_kind_of_error() {
    let g = graph(true, &[], &[(0, 1, 1.0), (0, 2, 1.0), (1, 3, 1.0), (2, 3, 1.0), (5, 0, 1.0)]);
    let right = bfs(&g, 0).unwrap();
    let breaks: [fn(&mut Bfs); 7] = [
        |r| r.depth[3] = 1,
        |r| r.depth[3] = 3,
        |r| r.parent[3] = 0,
        |r| r.parent[0] = 1,
        |r| (r.depth[3], r.parent[3]) = (UNREACHED, NO_PARENT),
        |r| (r.depth[5], r.parent[5]) = (1, 0),
        |r| r.depth.truncate(3),
    ];
    for (i, make_wrong) in breaks.iter().enumerate() {
        let mut wrong = right.clone();
        make_wrong(&mut wrong);
        assert!(verify_bfs(&g, 0, &wrong).is_err(), "break {i}");
    }
}
