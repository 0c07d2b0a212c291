//! Communities by modularity: what Louvain and Leiden find.

use everedge_core::{Csr, GraphView, par};
use everedge_kernels::{
    Communities, Error, LeidenConfig, LouvainConfig, ModularityConfig, NO_COMMUNITY, leiden,
    louvain, modularity, naive, verify_leiden, verify_louvain,
};

use crate::graphs::{finite, for_each_case, graph, undirected};

/// Cliques of five in a ring, each joined to the next by an edge.
fn ring_of_cliques(clique_count: u32) -> Vec<(u32, u32, f32)> {
    let mut edges = Vec::new();
    for first in (0..clique_count).map(|clique| 5 * clique) {
        let pairs = (0..5).flat_map(|i| (0..i).map(move |j| (i, j)));
        edges.extend(pairs.map(|(i, j)| (first + i, first + j, 1.0)));
        edges.push((first, (first + 9) % (5 * clique_count), 1.0));
    }
    edges
}

#[test]
fn found_communities_verify_and_have_their_modularity() {
    for_each_case(|case| {
        let (g, alike) = (&finite(&case.graph), &undirected(&finite(&case.graph)));
        for (resolution, weighted) in [(1.0, true), (1.0, false), (0.2, true), (3.0, false)] {
            let of_louvain = LouvainConfig { resolution, weighted, ..LouvainConfig::default() };
            let of_leiden = LeidenConfig { resolution, weighted, ..LeidenConfig::default() };
            let found = louvain(g, &of_louvain).unwrap();
            verify_louvain(g, &of_louvain, &found).unwrap();
            assert!(found.is_stable);
            let connected = leiden(g, &of_leiden).unwrap();
            verify_leiden(g, &of_leiden, &connected).unwrap();
            for found in [found, connected] {
                let config = ModularityConfig { resolution, weighted };
                let expected = naive::modularity(alike, &found.community, &config);
                assert!((found.modularity - expected).abs() < 1e-9, "{expected}, {resolution}");
            }
        }
    });
}

#[test]
fn modularity_is_never_below_that_of_vertices_alone() {
    for_each_case(|case| {
        let g = &finite(&case.graph);
        let config = LeidenConfig { iterations_max: 100, ..LeidenConfig::default() };
        let found = [
            louvain(g, &LouvainConfig::default()).unwrap(),
            leiden(g, &LeidenConfig::default()).unwrap(),
            leiden(g, &config).unwrap(),
        ];
        let alike = undirected(g);
        let ids: Vec<_> = (0..g.vertex_bound()).collect();
        let of_ids = modularity(&alike, &ids, &ModularityConfig::default()).unwrap().value;
        assert!(found.iter().all(|found| found.modularity >= of_ids - 1e-9));
        assert!(found[2].modularity >= found[1].modularity - 1e-9);
    });
}

#[test]
fn cliques_of_a_ring_are_found_or_pairs_of_them() {
    let cliques = |g: &Csr| {
        let config = LouvainConfig::default();
        (louvain(g, &config).unwrap(), leiden(g, &LeidenConfig::default()).unwrap())
    };
    for directed in [true, false] {
        let g = graph(directed, &[37], &ring_of_cliques(7));
        let expected = (0..35).map(|v| v / 5 * 5).chain([NO_COMMUNITY; 2]).chain([37]);
        let expected: Vec<_> = expected.collect();
        let (a, b) = cliques(&g);
        assert_eq!((&a.community, &b.community), (&expected, &expected));
        assert_eq!((a.community_count(), a.largest()), (8, 5));
        // The resolution limit of Fortunato and Barthélemy: thirty cliques have more modularity in pairs.
        let (a, b) = cliques(&graph(directed, &[], &ring_of_cliques(30)));
        assert!(a.largest() > 5 && b.largest() > 5 && a.modularity > 0.85);
        let config = LeidenConfig { resolution: 4.0, ..LeidenConfig::default() };
        let g = graph(directed, &[], &ring_of_cliques(30));
        assert_eq!(leiden(&g, &config).unwrap().largest(), 5);
    }
}

/// Two triangles that an edge joins, and weights that say otherwise.
#[test]
fn weights_count_or_not() {
    let mut edges: Vec<_> = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)]
        .map(|(u, v)| (u, v, 1.0))
        .into_iter()
        .collect();
    edges.push((2, 3, 50.0));
    let g = graph(false, &[], &edges);
    let found = |weighted| {
        let config = LouvainConfig { weighted, ..LouvainConfig::default() };
        let same = leiden(&g, &LeidenConfig { weighted, ..LeidenConfig::default() }).unwrap();
        let found = louvain(&g, &config).unwrap().community;
        assert_eq!(found, same.community);
        found
    };
    assert_eq!(found(false), [0, 0, 0, 3, 3, 3]);
    assert_eq!(found(true), [0, 0, 2, 2, 4, 4]);
}

#[test]
fn a_seed_has_one_answer_on_any_number_of_threads_and_in_any_order_of_lists() {
    let mut edges: Vec<_> = (0..40_000_u32).map(|i| (i * 7 % 9973, i * i % 9967, 1.5)).collect();
    let run = |g: &Csr, seed| {
        let config = LouvainConfig { seed, ..LouvainConfig::default() };
        let of_leiden = LeidenConfig { seed, ..LeidenConfig::default() };
        (louvain(g, &config).unwrap(), leiden(g, &of_leiden).unwrap())
    };
    let g = graph(true, &[], &edges);
    let on = |threads| par::with_threads(threads, || run(&g, 1)).unwrap();
    assert_eq!(on(1), on(5));
    assert_ne!(on(1), run(&g, 2));
    edges.reverse();
    assert_eq!(on(1), run(&graph(true, &[], &edges), 1));
}

#[test]
fn stops_when_asked() {
    let g = graph(false, &[], &ring_of_cliques(30));
    let run = |levels_max, tolerance| {
        let config = LouvainConfig { levels_max, tolerance, ..LouvainConfig::default() };
        let found = louvain(&g, &config).unwrap();
        verify_louvain(&g, &config, &found).unwrap();
        found
    };
    assert_eq!(run(0, 0.0).community, (0..150).collect::<Vec<_>>());
    assert_eq!((run(1, 0.0).rounds, run(1, 0.0).is_stable), (1, false));
    assert_eq!(run(100, 1.0).rounds, 1);
    assert!(run(100, 0.0).is_stable && run(100, 0.0).rounds > 1);
    let run = |iterations_max, tolerance| {
        let config = LeidenConfig { iterations_max, tolerance, ..LeidenConfig::default() };
        let found = leiden(&g, &config).unwrap();
        verify_leiden(&g, &config, &found).unwrap();
        found
    };
    assert_eq!(run(0, 0.0).community, (0..150).collect::<Vec<_>>());
    assert_eq!(run(1, 0.0).rounds, 1);
    assert_eq!(run(100, 1.0).rounds, 1);
    assert!(run(100, 0.0).is_stable);
}

/// Their sums have no place in 32 bits, where margins are kept.
#[test]
fn weights_may_be_as_large_as_there_are() {
    let edges: Vec<_> = ring_of_cliques(30).into_iter().map(|(u, v, _)| (u, v, f32::MAX)).collect();
    let g = graph(false, &[], &edges);
    let (of_louvain, of_leiden) = (LouvainConfig::default(), LeidenConfig::default());
    let found = louvain(&g, &of_louvain).unwrap();
    verify_louvain(&g, &of_louvain, &found).unwrap();
    assert!(found.modularity > 0.85);
    let found = leiden(&g, &of_leiden).unwrap();
    verify_leiden(&g, &of_leiden, &found).unwrap();
    assert!(found.modularity > 0.85);
}

/// Without a resolution, what is connected is one community.
#[test]
fn resolution_zero_finds_components() {
    let g = graph(true, &[9], &[(0, 1, 1.0), (2, 1, 3.0), (4, 5, 1.0), (6, 6, 1.0)]);
    let expected = [0, 0, 0, NO_COMMUNITY, 4, 4, 6, NO_COMMUNITY, NO_COMMUNITY, 9];
    let config = LouvainConfig { resolution: 0.0, ..LouvainConfig::default() };
    assert_eq!(louvain(&g, &config).unwrap().community, expected);
    let config = LeidenConfig { resolution: 0.0, ..LeidenConfig::default() };
    assert_eq!(leiden(&g, &config).unwrap().community, expected);
}

#[test]
fn refuses_bad_parameters_and_weights() {
    let g = graph(true, &[], &[(0, 1, f32::NAN)]);
    let config = LouvainConfig::default();
    assert!(matches!(louvain(&g, &config), Err(Error::BadWeight { src: 0, dst: 1, .. })));
    louvain(&g, &LouvainConfig { weighted: false, ..config }).unwrap();
    let leiden = |config: LeidenConfig| leiden(&g, &config);
    assert!(matches!(leiden(LeidenConfig::default()), Err(Error::BadWeight { .. })));
    for (resolution, tolerance) in [(-1.0, 0.0), (f64::NAN, 0.0), (1.0, -1.0), (1.0, f64::NAN)] {
        let refused = louvain(&g, &LouvainConfig { resolution, tolerance, ..config });
        assert!(matches!(refused, Err(Error::BadParameter { .. })));
        let refused = leiden(LeidenConfig { resolution, tolerance, ..LeidenConfig::default() });
        assert!(matches!(refused, Err(Error::BadParameter { .. })));
    }
}

#[test]
fn verifiers_find_every_kind_of_error() {
    let mut edges = ring_of_cliques(4);
    edges.push((22, 23, 1.0));
    let g = graph(false, &[21], &edges);
    let (of_louvain, of_leiden) = (LouvainConfig::default(), LeidenConfig::default());
    let right = [louvain(&g, &of_louvain).unwrap(), leiden(&g, &of_leiden).unwrap()];
    let breaks: [fn(&mut Communities); 7] = [
        |r| r.modularity += 1e-6,
        |r| r.community[21] = 0,
        |r| r.community[20] = 20,
        |r| r.community[3] = 5,
        |r| r.community[4] = 3,
        |r| _ = r.community.pop(),
        |r| r.community[23] = 23,
    ];
    let verify = |found: &[Communities; 2]| {
        [verify_louvain(&g, &of_louvain, &found[0]), verify_leiden(&g, &of_leiden, &found[1])]
    };
    assert_eq!(verify(&right), [Ok(()), Ok(())]);
    for (i, make_wrong) in breaks.iter().enumerate() {
        let mut wrong = right.clone();
        wrong.iter_mut().for_each(make_wrong);
        assert!(verify(&wrong).iter().all(|verified| verified.is_err()), "break {i}");
    }
    // With the modularity that they have, too.
    let breaks: [fn(&mut Communities); 2] = [
        |r| (22..24).for_each(|v| r.community[v] = v as u32),
        |r| {
            (0..20).for_each(|v| r.community[v] = v as u32);
        },
    ];
    for (i, make_wrong) in breaks.iter().enumerate() {
        let mut wrong = right.clone();
        for found in &mut wrong {
            make_wrong(found);
            let config = ModularityConfig::default();
            found.modularity = modularity(&g, &found.community, &config).unwrap().value;
        }
        assert!(verify(&wrong).iter().all(|verified| verified.is_err()), "break {i}");
    }
    // Two parts of a community that no edge joins.
    let mut wrong = right;
    for found in &mut wrong {
        (22..24).for_each(|v| found.community[v] = 0);
        let config = ModularityConfig::default();
        found.modularity = modularity(&g, &found.community, &config).unwrap().value;
    }
    assert!(verify(&wrong)[1].is_err());
}
