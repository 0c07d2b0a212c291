//! Single-source shortest paths.

use everedge_core::par;
use everedge_kernels::{Error, Sssp, SsspConfig, naive, sssp, verify_sssp};

use crate::graphs::{for_each_case, graph};

#[test]
fn equals_the_naive_distances_for_any_delta() {
    for_each_case(|case| {
        let g = &case.graph;
        for source in case.sources() {
            let expected = naive::sssp(g, source);
            for delta in [None, Some(1.0), Some(1e-3), Some(f64::MIN_POSITIVE), Some(1e30)] {
                let result = sssp(g, source, &SsspConfig { delta }).unwrap();
                assert_eq!(result.distance, expected, "delta {delta:?}");
                verify_sssp(g, source, &result).unwrap();
            }
        }
    });
}

/// Threads make vertices of a bucket better while others relax them: no vertex is left out, or the check of the buckets in
/// builds for tests fails.
#[test]
fn nobody_is_forgotten_who_gets_better_while_it_is_relaxed() {
    const SIDE: u32 = 60;
    let mut random = 1_u64;
    let mut weight = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (1 + (random >> 33) % 1000) as f32
    };
    let cells = (0..SIDE * SIDE).filter(|v| v % SIDE + 1 < SIDE && v / SIDE + 1 < SIDE);
    let edges: Vec<_> =
        cells.flat_map(|v| [(v, v + 1), (v, v + SIDE)]).map(|(u, v)| (u, v, weight())).collect();
    let g = graph(false, &[], &edges);
    let expected = naive::sssp(&g, 0);
    for threads in [2, 3, 4] {
        let run = || sssp(&g, 0, &SsspConfig { delta: Some(2000.0) }).unwrap();
        for _ in 0..1000 {
            let result = par::with_threads(threads, run).unwrap();
            assert_eq!(result.distance, expected);
        }
    }
}

#[test]
fn reaches_over_a_path_longer_than_the_near_buckets() {
    let edges: Vec<_> = (0..3000).map(|v| (v, v + 1, 10.0)).collect();
    let g = graph(true, &[], &edges);
    let result = sssp(&g, 0, &SsspConfig { delta: Some(1.0) }).unwrap();
    assert_eq!((result.reached_count(), result.distance_max()), (3001, 30_000.0));
}

#[test]
fn goes_on_with_the_first_bucket_behind_the_near_ones() {
    for weight in [4094.0, 4095.0, 4096.0, 4097.0] {
        let g = graph(true, &[], &[(0, 1, 4095.0), (0, 2, weight), (2, 3, 1.0)]);
        let result = sssp(&g, 0, &SsspConfig { delta: Some(1.0) }).unwrap();
        assert_eq!(result.distance[3], f64::from(weight) + 1.0);
    }
}

#[test]
fn refuses_weights_below_zero_that_it_meets() {
    let edges = [(0, 1, 1.0), (1, 2, -0.5), (1, 3, f32::NAN), (4, 0, -1.0), (0, 5, -0.0)];
    let g = graph(true, &[], &edges);
    let expected = Error::BadWeight { src: 1, dst: 2, weight: -0.5, expected: "0 or more" };
    assert_eq!(sssp(&g, 0, &SsspConfig::default()), Err(expected));
    assert_eq!(sssp(&g, 5, &SsspConfig::default()).unwrap().reached_count(), 1);
}

#[test]
fn refuses_a_wrong_source_or_delta() {
    let g = graph(true, &[], &[(0, 2, 1.0)]);
    let config = SsspConfig::default();
    assert_eq!(sssp(&g, 1, &config), Err(Error::NotAVertex { vertex: 1 }));
    for delta in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let config = SsspConfig { delta: Some(delta) };
        assert!(matches!(sssp(&g, 0, &config), Err(Error::BadParameter { .. })), "{delta}");
    }
}

#[test]
fn verifier_finds_every_kind_of_error() {
    let edges = [(0, 1, 2.0), (1, 2, 0.0), (2, 1, 0.0), (0, 3, 1.0), (4, 0, 1.0)];
    let g = graph(true, &[], &edges);
    let right = sssp(&g, 0, &SsspConfig::default()).unwrap();
    let breaks: [fn(&mut Sssp); 6] = [
        |r| r.distance[0] = 0.5,
        |r| (r.distance[1], r.distance[2]) = (1.0, 1.0),
        |r| r.distance[3] = 1.5,
        |r| r.distance[3] = f64::INFINITY,
        |r| r.distance[4] = 1.0,
        |r| _ = r.distance.pop(),
    ];
    for (i, make_wrong) in breaks.iter().enumerate() {
        let mut wrong = right.clone();
        make_wrong(&mut wrong);
        assert!(verify_sssp(&g, 0, &wrong).is_err(), "break {i}");
    }
}
