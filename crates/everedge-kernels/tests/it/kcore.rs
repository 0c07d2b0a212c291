//! Cores.

use everedge_core::{GraphView, par};
use everedge_kernels::{Coreness, coreness, kcore, naive, verify_coreness, verify_kcore};

use crate::graphs::{for_each_case, for_each_case_on, graph};

#[test]
fn equals_the_naive_coreness() {
    for_each_case(|case| {
        let result = coreness(&case.graph);
        assert_eq!(result.coreness, naive::coreness(&case.graph));
        verify_coreness(&case.graph, &result).unwrap();
    });
}

#[test]
fn cores_have_the_vertices_of_their_coreness() {
    for_each_case_on(&[1, 3], |case| {
        let g = &case.graph;
        let all = coreness(g);
        for k in [0, 1, 2, 3, all.degeneracy(), all.degeneracy() + 1, u32::MAX] {
            let has = |v: &u32| g.is_vertex(*v) && all.coreness[*v as usize] >= k;
            let expected: Vec<_> = (0..g.vertex_bound()).filter(has).collect();
            assert_eq!(kcore(g, k), expected, "k is {k}");
            verify_kcore(g, k, &expected).unwrap();
        }
    });
}

/// Every vertex of a complete graph loses neighbors to all threads at once.
#[test]
fn equal_vertices_go_at_once() {
    let pairs = (0..400).flat_map(|u| (0..u).map(move |v| (u, v, 1.0)));
    let g = graph(false, &[], &pairs.collect::<Vec<_>>());
    let result = par::with_threads(4, || coreness(&g)).unwrap();
    assert_eq!((result.degeneracy(), result.coreness), (399, vec![399; 400]));
}

#[test]
fn a_long_path_is_peeled_at_one_level() {
    let edges: Vec<_> = (0..200_000).map(|v| (v, v + 1, 1.0)).collect();
    let g = graph(true, &[], &edges);
    assert!(coreness(&g).coreness.iter().all(|&k| k == 1));
}

#[test]
fn verifier_finds_every_kind_of_error() {
    // A clique of 1 to 4, a triangle of 4 to 6, a tail 7; directions, loops and copies count not.
    let edges = [(1, 2), (3, 1), (1, 4), (2, 3), (4, 2), (3, 4), (4, 5), (5, 6), (6, 4), (6, 7)];
    let mut edges: Vec<_> = edges.iter().map(|&(u, v)| (u, v, 1.0)).collect();
    edges.extend([(7, 7, 1.0), (7, 6, 1.0), (6, 7, 1.0)]);
    let g = graph(true, &[9], &edges);
    let right = coreness(&g);
    assert_eq!(right.coreness, [0, 3, 3, 3, 3, 2, 2, 1, 0, 0]);
    let breaks: [fn(&mut Coreness); 7] = [
        |r| r.coreness[0] = 1,
        |r| r.coreness[7] = 2,
        |r| r.coreness[5] = 1,
        |r| r.coreness[1..5].fill(2),
        |r| r.coreness.fill(0),
        |r| r.coreness[9] = 1,
        |r| _ = r.coreness.pop(),
    ];
    for (i, make_wrong) in breaks.iter().enumerate() {
        let mut wrong = right.clone();
        make_wrong(&mut wrong);
        assert!(verify_coreness(&g, &wrong).is_err(), "break {i}");
    }
    verify_kcore(&g, 3, &[1, 2, 3, 4]).unwrap();
    for wrong in [&[][..], &[1, 2, 3], &[1, 2, 3, 4, 5], &[2, 1, 3, 4], &[1, 2, 3, 4, 8]] {
        assert!(verify_kcore(&g, 3, wrong).is_err(), "{wrong:?}");
    }
    assert!(verify_kcore(&g, 0, &[1, 2, 3, 4, 5, 6, 7]).is_err());
}
