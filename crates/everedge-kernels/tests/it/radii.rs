//! Radii.

use everedge_core::GraphView;
use everedge_kernels::{Error, Radii, RadiiConfig, UNREACHED, naive, radii, verify_radii};

use crate::graphs::{Random, for_each_case, graph};

#[test]
fn equals_the_searches_from_every_source() {
    for_each_case(|case| {
        let g = &case.graph;
        for (source_count, seed) in [(1, 5), (7, 0), (64, 1), (65, 2), (150, 3)] {
            let config = RadiiConfig { source_count, seed };
            let result = radii(g, &config).unwrap();
            assert_eq!(result.radius, naive::radii(g, &result.sources), "{config:?}");
        }
        let config = RadiiConfig { source_count: 65, seed: 4 };
        verify_radii(g, &config, &radii(g, &config).unwrap()).unwrap();
    });
}

#[test]
fn is_exact_if_every_vertex_is_a_source() {
    // A random tree, and the farthest of every vertex.
    let mut random = Random::new(1);
    let edges: Vec<_> = (1..300).map(|v| (random.below(v), v, 1.0)).collect();
    let g = graph(false, &[], &edges);
    let config = RadiiConfig { source_count: 300, seed: 0 };
    let result = radii(&g, &config).unwrap();
    assert!(result.sources.iter().copied().eq(0..300));
    let eccentricity = |v| naive::bfs(&g, v).into_iter().max().unwrap();
    assert_eq!(result.radius, (0..300).map(eccentricity).collect::<Vec<_>>());
    assert_eq!(result.diameter_min(), (0..300).map(eccentricity).max().unwrap());
}

#[test]
fn sources_are_drawn_by_the_seed() {
    let edges: Vec<_> = (0..500).map(|v| (2 * v, 2 * v + 2, 1.0)).collect();
    let g = graph(true, &[], &edges);
    let sources = |seed| radii(&g, &RadiiConfig { source_count: 40, seed }).unwrap().sources;
    assert_eq!(sources(1), sources(1));
    assert_ne!(sources(1), sources(2));
    assert!(sources(3).iter().all(|&v| g.is_vertex(v)));
    assert!((0..200).any(|seed| sources(seed).contains(&1000)));
}

#[test]
fn a_long_path_takes_linear_time() {
    let edges: Vec<_> = (0..100_000).map(|v| (v, v + 1, 1.0)).collect();
    let result = radii(&graph(false, &[], &edges), &RadiiConfig::default()).unwrap();
    let (first, last) = (result.sources[0], result.sources[63]);
    assert_eq!(result.diameter_min(), (100_000 - first).max(last));
}

#[test]
fn refuses_to_search_from_nowhere() {
    let g = graph(true, &[], &[(0, 1, 1.0)]);
    let result = radii(&g, &RadiiConfig { source_count: 0, seed: 0 });
    assert!(matches!(result, Err(Error::BadParameter { .. })));
}

#[test]
fn verifier_finds_every_kind_of_error() {
    let g = graph(true, &[9], &[(1, 2, 1.0), (2, 3, 1.0), (3, 4, 1.0), (1, 4, 1.0), (5, 3, 1.0)]);
    let config = RadiiConfig { source_count: 100, seed: 0 };
    let right = radii(&g, &config).unwrap();
    assert_eq!(right.radius[..6], [UNREACHED, 0, 1, 2, 2, 0]);
    verify_radii(&g, &config, &right).unwrap();
    let breaks: [fn(&mut Radii); 8] = [
        |r| r.radius[0] = 0,
        |r| r.radius[3] = 1,
        |r| r.radius[3] = 3,
        |r| r.radius[3] = UNREACHED,
        |r| _ = r.sources.pop(),
        |r| r.sources[1] = 1,
        |r| r.sources[5] = 8,
        |r| _ = r.radius.pop(),
    ];
    for (i, make_wrong) in breaks.iter().enumerate() {
        let mut wrong = right.clone();
        make_wrong(&mut wrong);
        assert!(verify_radii(&g, &config, &wrong).is_err(), "break {i}");
    }
}
