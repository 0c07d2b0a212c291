//! Modularity of communities that are given.

use everedge_core::{GraphView, par};
use everedge_kernels::{
    Error, Modularity, ModularityConfig, modularity, naive, verify_modularity, wcc,
};

use crate::graphs::{Case, finite, for_each_case, graph};

const CONFIGS: [ModularityConfig; 3] = [
    ModularityConfig { resolution: 1.0, weighted: true },
    ModularityConfig { resolution: 0.3, weighted: false },
    ModularityConfig { resolution: 0.0, weighted: true },
];

/// Returns communities of several kinds.
fn partitions(case: &Case) -> [Vec<u32>; 4] {
    let ids = || 0..case.graph.vertex_bound();
    [
        ids().collect(),
        ids().map(|_| u32::MAX).collect(),
        ids().map(|v| v.wrapping_mul(2_654_435_761) % 7 * 100_000).collect(),
        wcc(&case.graph).component,
    ]
}

#[test]
fn equals_the_naive_sum_over_pairs() {
    for_each_case(|case| {
        let g = &finite(&case.graph);
        for community in &partitions(case) {
            for config in &CONFIGS {
                let found = modularity(g, community, config).unwrap();
                let expected = naive::modularity(g, community, config);
                assert!((found.value - expected).abs() < 1e-9, "{found:?}, {expected}, {config:?}");
                verify_modularity(g, community, config, &found).unwrap();
            }
        }
    });
}

/// What NetworkX 3.6 says.
#[test]
fn counts_loops_parallel_edges_and_directions_as_networkx_does() {
    let edges =
        [(0, 1, 1.0), (0, 1, 2.0), (1, 2, 1.0), (2, 2, 3.0), (2, 3, 1.0), (3, 0, 4.0), (3, 4, 0.5)];
    let community = [0, 0, 1, 1, 1];
    for (directed, weighted, expected) in EXPECTED {
        let config = ModularityConfig { resolution: 1.0, weighted };
        let found = modularity(&graph(directed, &[], &edges), &community, &config).unwrap();
        assert!((found.value - expected).abs() < 1e-12, "{directed}, {weighted}: {found:?}");
    }
}

const EXPECTED: [(bool, bool, f64); 4] = [
    (false, true, 0.09279999999999997),
    (false, false, 0.20408163265306123),
    (true, true, 0.12159999999999996),
    (true, false, 0.20408163265306123),
];

#[test]
fn is_zero_without_weight() {
    for g in [graph(true, &[], &[]), graph(false, &[3], &[]), graph(true, &[], &[(0, 1, 0.0)])] {
        let community = vec![5; g.vertex_bound() as usize];
        let found = modularity(&g, &community, &ModularityConfig::default()).unwrap();
        assert_eq!(found, Modularity { value: 0.0, inside: 0.0, expected: 0.0 });
    }
}

#[test]
fn is_the_same_for_any_number_of_threads() {
    let edges: Vec<_> = (0..40_000_u32).map(|i| (i * 7 % 9973, i * i % 9967, i as f32)).collect();
    for directed in [true, false] {
        let g = graph(directed, &[], &edges);
        let community: Vec<_> = (0..g.vertex_bound()).map(|v| v % 37).collect();
        let run = || modularity(&g, &community, &ModularityConfig::default()).unwrap();
        assert_eq!(par::with_threads(1, run).unwrap(), par::with_threads(5, run).unwrap());
    }
}

#[test]
fn refuses_what_has_no_modularity() {
    let g = graph(true, &[], &[(0, 1, 1.0), (1, 2, -2.0)]);
    let config = ModularityConfig::default();
    let refused = modularity(&g, &[0, 0, 0], &config);
    assert!(matches!(refused, Err(Error::BadWeight { src: 1, dst: 2, weight: -2.0, .. })));
    modularity(&g, &[0, 0, 0], &ModularityConfig { weighted: false, ..config }).unwrap();
    let refused = modularity(&g, &[0, 0], &config);
    assert!(matches!(refused, Err(Error::BadParameter { value: 2.0, .. })));
    for resolution in [-1.0, f64::NAN, f64::INFINITY] {
        let config = ModularityConfig { resolution, ..config };
        let refused = modularity(&g, &[0, 0, 0], &config);
        assert!(matches!(refused, Err(Error::BadParameter { .. })), "{resolution}");
    }
}

#[test]
fn verifier_finds_every_kind_of_error() {
    let g = graph(false, &[], &[(0, 1, 1.0), (1, 2, 3.0), (2, 0, 1.0), (3, 3, 1.0)]);
    let (community, config) = ([0, 0, 1, 1], ModularityConfig::default());
    let right = modularity(&g, &community, &config).unwrap();
    let breaks: [fn(&mut Modularity); 4] = [
        |r| r.value += 1e-6,
        |r| r.inside += 1e-6,
        |r| (r.value, r.inside) = (r.value + 1e-6, r.inside + 1e-6),
        |r| (r.value, r.expected) = (r.value - 1e-6, r.expected + 1e-6),
    ];
    for (i, make_wrong) in breaks.iter().enumerate() {
        let mut wrong = right;
        make_wrong(&mut wrong);
        assert!(verify_modularity(&g, &community, &config, &wrong).is_err(), "break {i}");
    }
}
