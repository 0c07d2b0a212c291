//! Weakly connected components.

use everedge_kernels::{NO_COMPONENT, Wcc, naive, verify_wcc, wcc};

use crate::graphs::{for_each_case, graph};

#[test]
fn equals_the_naive_labels() {
    for_each_case(|case| {
        let result = wcc(&case.graph);
        assert_eq!(result.component, naive::wcc(&case.graph));
        verify_wcc(&case.graph, &result).unwrap();
    });
}

#[test]
fn counts_components_and_the_largest() {
    let g = graph(true, &[11], &[(3, 1, 1.0), (3, 5, 1.0), (8, 9, 1.0)]);
    let result = wcc(&g);
    assert_eq!((result.component_count(), result.largest()), (3, 3));
    let empty = wcc(&graph(true, &[], &[]));
    assert_eq!((empty.component_count(), empty.largest()), (0, 0));
}

#[test]
fn verifier_finds_every_kind_of_error() {
    let g = graph(true, &[], &[(1, 2, 1.0), (3, 2, 1.0), (5, 6, 1.0)]);
    let right = wcc(&g);
    let breaks: [fn(&mut Wcc); 6] = [
        |r| r.component[0] = 0,
        |r| r.component[3] = 3,
        |r| r.component[4] = 1,
        |r| (r.component[5], r.component[6]) = (1, 1),
        |r| (r.component[5], r.component[6]) = (6, 6),
        |r| r.component[6] = NO_COMPONENT,
    ];
    for (i, make_wrong) in breaks.iter().enumerate() {
        let mut wrong = right.clone();
        make_wrong(&mut wrong);
        assert!(verify_wcc(&g, &wrong).is_err(), "break {i}");
    }
}
