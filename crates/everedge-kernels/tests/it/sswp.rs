//! Single-source widest paths.

use everedge_kernels::{Error, Sswp, naive, ssnp, sswp, verify_sswp};

use crate::graphs::{for_each_case, graph, reweighted};

#[test]
fn equals_the_naive_values_with_weights_of_either_sign() {
    for_each_case(|case| {
        for g in [case.graph.clone(), reweighted(&case.graph, |weight| 50.0 - weight)] {
            for source in case.sources() {
                let result = sswp(&g, source).unwrap();
                assert_eq!(result.width, naive::sswp(&g, source));
                verify_sswp(&g, source, &result).unwrap();
            }
        }
    });
}

#[test]
fn is_the_opposite_of_ssnp_with_opposite_weights() {
    for_each_case(|case| {
        let opposite = reweighted(&case.graph, |weight| -weight);
        for source in case.sources() {
            let expected = ssnp(&opposite, source).unwrap().largest_weight;
            let expected: Vec<_> = expected.into_iter().map(|value| -value).collect();
            assert_eq!(sswp(&case.graph, source).unwrap().width, expected);
        }
    });
}

#[test]
fn equal_zeros_are_positive() {
    let g = graph(true, &[], &[(0, 1, -0.0), (0, 2, 0.0), (2, 1, 0.0)]);
    let result = sswp(&g, 0).unwrap().width;
    assert!(result[1..].iter().all(|value| value.to_bits() == 0), "{result:?}");
}

#[test]
fn an_edge_of_negative_infinite_weight_is_no_way() {
    let g = graph(true, &[], &[(0, 1, f32::NEG_INFINITY), (1, 2, 1.0), (0, 3, 1.0)]);
    let result = sswp(&g, 0).unwrap();
    assert_eq!(result.width, [f64::INFINITY, f64::NEG_INFINITY, f64::NEG_INFINITY, 1.0]);
    assert_eq!(result.reached_count(), 2);
}

#[test]
fn refuses_weights_that_are_not_numbers_where_it_meets_them() {
    let g = graph(true, &[], &[(0, 1, 1.0), (1, 2, f32::NAN), (3, 0, -1.0)]);
    let error = sswp(&g, 0).unwrap_err();
    let message = "the edge 1 -> 2 has weight NaN: weights must be a number";
    assert!(matches!(error, Error::BadWeight { src: 1, dst: 2, .. }));
    assert_eq!(error.to_string(), message);
    assert!(sswp(&g, 2).is_ok());
}

#[test]
fn refuses_a_source_that_is_not_a_vertex() {
    let g = graph(true, &[], &[(0, 2, 1.0)]);
    assert_eq!(sswp(&g, 1), Err(Error::NotAVertex { vertex: 1 }));
}

#[test]
fn verifier_finds_every_kind_of_error() {
    let edges = [(0, 1, 2.0), (1, 2, 5.0), (2, 1, 5.0), (0, 3, 1.0), (3, 1, 0.5), (4, 0, 1.0)];
    let g = graph(true, &[], &edges);
    let right = sswp(&g, 0).unwrap();
    verify_sswp(&g, 0, &right).unwrap();
    let breaks: [fn(&mut Sswp); 7] = [
        |r| r.width[0] = 0.0,
        // A cycle whose vertices justify each other.
        |r| (r.width[1], r.width[2]) = (5.0, 5.0),
        |r| r.width[2] = 1.5,
        |r| r.width[3] = f64::NEG_INFINITY,
        |r| r.width[3] = f64::NAN,
        |r| r.width[4] = 1.0,
        |r| _ = r.width.pop(),
    ];
    for (i, make_wrong) in breaks.iter().enumerate() {
        let mut wrong = right.clone();
        make_wrong(&mut wrong);
        assert!(verify_sswp(&g, 0, &wrong).is_err(), "break {i}");
    }
}
