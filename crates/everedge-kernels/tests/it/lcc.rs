//! Local clustering coefficient.

use everedge_core::par;
use everedge_kernels::{Lcc, lcc, naive, verify_lcc};

use crate::graphs::{Random, for_each_case, graph};

#[test]
fn equals_the_naive_coefficients() {
    for_each_case(|case| {
        let result = lcc(&case.graph);
        verify_lcc(&case.graph, &result).unwrap();
        // All pairs of the neighbors of a star's center are too many.
        if !case.name.starts_with("star") {
            assert_eq!(result.coefficient, naive::lcc(&case.graph));
        }
    });
}

/// Hubs that nearly all know each other, some of them mutually, and vertices that know few of them:
/// what two vertices share is found in lists and in rows.
#[test]
fn counts_among_hubs() {
    let mut random = Random::new(5);
    let mut edges = Vec::new();
    for u in 0..150 {
        edges.extend((0..150).filter(|_| random.below(3) > 0).map(|v| (u, v, 1.0)));
    }
    for u in 150..3000 {
        for _ in 0..random.below(30) {
            let bound = 1 + random.below(u);
            let v = random.below(bound);
            edges.push(if random.below(2) == 0 { (u, v, 1.0) } else { (v, u, 1.0) });
        }
    }
    for directed in [true, false] {
        let g = graph(directed, &[], &edges);
        let run = || lcc(&g);
        let result = run();
        verify_lcc(&g, &result).unwrap();
        assert_eq!(result, par::with_threads(1, run).unwrap());
        assert_eq!(result, par::with_threads(5, run).unwrap());
    }
}

#[test]
fn edges_both_ways_count_twice() {
    let g = graph(true, &[], &[(0, 1, 1.0), (0, 2, 1.0), (1, 2, 1.0), (2, 1, 1.0), (3, 0, 1.0)]);
    assert_eq!(lcc(&g).coefficient, [2.0 / 6.0, 0.5, 0.5, 0.0]);
}

#[test]
fn verifier_finds_every_kind_of_error() {
    let g = graph(false, &[], &[(0, 1, 1.0), (1, 2, 1.0), (2, 0, 1.0), (5, 0, 1.0)]);
    let right = lcc(&g);
    let breaks: [fn(&mut Lcc); 6] = [
        |r| r.coefficient[0] = 0.5,
        |r| r.coefficient[1] = 0.0,
        |r| r.coefficient[4] = 0.1,
        |r| r.coefficient[5] = 1.0,
        |r| r.coefficient[2] = f64::NAN,
        |r| _ = r.coefficient.pop(),
    ];
    for (i, make_wrong) in breaks.iter().enumerate() {
        let mut wrong = right.clone();
        make_wrong(&mut wrong);
        assert!(verify_lcc(&g, &wrong).is_err(), "break {i}");
    }
}
