//! Most likely paths.

use everedge_kernels::{Error, Viterbi, naive, verify_viterbi, viterbi};

use crate::graphs::{for_each_case, graph, reweighted};

#[test]
fn equals_the_naive_probabilities() {
    for_each_case(|case| {
        let g = reweighted(&case.graph, |weight| (weight / 143.0).min(1.0));
        for source in case.sources() {
            let result = viterbi(&g, source).unwrap();
            assert_eq!(result.probability, naive::viterbi(&g, source));
            verify_viterbi(&g, source, &result).unwrap();
        }
    });
}

#[test]
fn what_is_too_unlikely_for_a_number_is_not_reached() {
    let edges: Vec<_> = (0..20).map(|v| (v, v + 1, 1e-20)).collect();
    let g = graph(true, &[], &edges);
    let result = viterbi(&g, 0).unwrap();
    assert_eq!(result.probability, naive::viterbi(&g, 0));
    assert_eq!(result.reached_count(), 17);
    verify_viterbi(&g, 0, &result).unwrap();
}

#[test]
fn refuses_weights_that_are_no_probabilities_where_it_meets_them() {
    let nan_and_more = [-0.5, 1.5, f32::INFINITY, f32::NAN];
    for weight in nan_and_more {
        let g = graph(true, &[], &[(0, 1, 1.0), (1, 2, weight), (3, 0, -1.0), (2, 2, -0.0)]);
        let error = viterbi(&g, 0).unwrap_err();
        assert!(matches!(error, Error::BadWeight { src: 1, dst: 2, .. }), "{error}");
        assert!(error.to_string().ends_with("weights must be from 0 to 1"), "{error}");
        assert_eq!(viterbi(&g, 2).unwrap().reached_count(), 1);
    }
}

#[test]
fn refuses_a_source_that_is_not_a_vertex() {
    let g = graph(true, &[], &[(0, 2, 1.0)]);
    assert_eq!(viterbi(&g, 1), Err(Error::NotAVertex { vertex: 1 }));
}

#[test]
fn verifier_finds_every_kind_of_error() {
    let edges = [(0, 1, 0.5), (1, 2, 1.0), (2, 1, 1.0), (0, 3, 0.25), (4, 0, 1.0)];
    let g = graph(true, &[], &edges);
    let right = viterbi(&g, 0).unwrap();
    verify_viterbi(&g, 0, &right).unwrap();
    let breaks: [fn(&mut Viterbi); 7] = [
        |r| r.probability[0] = 0.5,
        // A cycle whose vertices justify each other.
        |r| (r.probability[1], r.probability[2]) = (0.75, 0.75),
        |r| r.probability[3] = 0.125,
        |r| r.probability[3] = 0.0,
        |r| r.probability[3] = f64::NAN,
        |r| r.probability[4] = 1.0,
        |r| _ = r.probability.pop(),
    ];
    for (i, make_wrong) in breaks.iter().enumerate() {
        let mut wrong = right.clone();
        make_wrong(&mut wrong);
        assert!(verify_viterbi(&g, 0, &wrong).is_err(), "break {i}");
    }
}
