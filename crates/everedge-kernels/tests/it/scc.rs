//! Strongly connected components.

use everedge_core::{Csr, CsrOptions, Edge, par};
use everedge_kernels::{NO_COMPONENT, Scc, SccConfig, naive, scc, verify_scc, wcc};

use crate::graphs::{Random, for_each_case, graph};

/// Coloring to the end, for a part or not at all.
const CONFIGS: [SccConfig; 4] = [
    SccConfig { serial_max: None },
    SccConfig { serial_max: Some(0) },
    SccConfig { serial_max: Some(20) },
    SccConfig { serial_max: Some(u32::MAX) },
];

fn directed(edges: &[Edge]) -> Csr {
    Csr::from_edges(edges, None, CsrOptions { directed: true, declared: &[] })
}

#[test]
fn equals_the_naive_components_however_they_are_found() {
    for_each_case(|case| {
        let expected = naive::scc(&case.graph);
        for config in &CONFIGS {
            let result = scc(&case.graph, config);
            assert_eq!(result.component, expected, "{config:?}");
            verify_scc(&case.graph, &result).unwrap();
        }
    });
}

/// Components of up to 30 vertices, all about as large: trim and the pivot leave nearly all.
#[test]
fn finds_many_components_of_which_none_is_a_giant() {
    let mut random = Random::new(3);
    for seed in 0..20 {
        let size = 1 + random.below(30);
        let bound = 3000;
        let mut edges: Vec<_> = (0..bound)
            .map(|v| if v % size == size - 1 { (v, v + 1 - size) } else { (v, v + 1) })
            .filter(|&(_, v)| v < bound)
            .collect();
        let spread: Vec<_> = (0..bound).map(|v| v * 1009 % bound).collect();
        // Between components edges mostly lead ahead.
        for _ in 0..random.below(2 * bound) {
            let (u, v) = (random.below(bound), random.below(bound));
            edges.push(if random.below(500) == 0 { (u, v) } else { (u.min(v), u.max(v)) });
        }
        for edge in &mut edges {
            *edge = (spread[edge.0 as usize], spread[edge.1 as usize]);
        }
        let g = directed(&edges);
        let expected = naive::scc(&g);
        for threads in [1, 4] {
            for config in &CONFIGS {
                let result = par::with_threads(threads, || scc(&g, config)).unwrap();
                assert_eq!(result.component, expected, "{seed}, {config:?}, {threads} threads");
                verify_scc(&g, &result).unwrap();
            }
        }
    }
}

#[test]
fn long_paths_cycles_and_chains_take_linear_time() {
    let count = 200_000;
    let forward: Vec<_> = (0..count - 1).map(|v| (v, v + 1)).collect();
    let backward: Vec<_> = (0..count - 1).map(|v| (v + 1, v)).collect();
    let cycle: Vec<_> = (0..count).map(|v| (v, (v + 1) % count)).collect();
    // Pairs that reach each other, each one edge ahead of the next: nothing to trim.
    let pairs = (0..count).map(|v| (v, v ^ 1));
    let chain: Vec<_> = pairs.chain((0..count - 1).map(|v| (v + 1, v))).collect();
    for (edges, component_count) in
        [(forward, count), (backward, count), (cycle, 1), (chain, count / 2)]
    {
        let g = directed(&edges);
        for config in &CONFIGS {
            let result = scc(&g, config);
            assert_eq!(result.component_count(), component_count);
            verify_scc(&g, &result).unwrap();
        }
    }
}

#[test]
fn an_undirected_graph_has_those_of_wcc() {
    let g = graph(false, &[11], &[(3, 1, 1.0), (3, 5, 1.0), (8, 9, 1.0)]);
    let result = scc(&g, &SccConfig::default());
    assert_eq!(result.component, wcc(&g).component);
    assert_eq!((result.component_count(), result.largest()), (3, 3));
}

#[test]
fn verifier_finds_every_kind_of_error() {
    // 1 and 2 reach each other, so do 4, 5 and 6; 3 is between them, 0 and 7 are no vertices.
    let edges = [(1, 2), (2, 1), (2, 3), (3, 4), (4, 5), (5, 6), (6, 4), (8, 8)];
    let g = directed(&edges);
    let right = scc(&g, &SccConfig::default());
    verify_scc(&g, &right).unwrap();
    let breaks: [fn(&mut Scc); 9] = [
        |r| r.component[0] = 0,
        |r| r.component[3] = 2,
        |r| r.component[3] = 1,
        |r| r.component[2..5].fill(2),
        |r| (4..7).for_each(|v| r.component[v] = v as u32),
        |r| r.component[4..7].fill(5),
        |r| r.component[6] = 6,
        |r| r.component[8] = NO_COMPONENT,
        |r| _ = r.component.pop(),
    ];
    for (i, make_wrong) in breaks.iter().enumerate() {
        let mut wrong = right.clone();
        make_wrong(&mut wrong);
        assert!(verify_scc(&g, &wrong).is_err(), "break {i}");
    }
}
