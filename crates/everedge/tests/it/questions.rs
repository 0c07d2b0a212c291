//! Questions about single vertices, and graphs of some of them.

use std::collections::BTreeSet;
use std::path::Path;

use everedge::{
    Along, ExternalId, Graph, GraphOptions, IdKind, Kernel, Layout, MediumKind, Parameters, Values,
    VertexId, View, Watch,
};
use everedge_core::SplitMix64;

/// Edges at random, with parallel edges and self-loops.
fn edges(seed: u64, vertices: u64, count: usize) -> (Vec<(VertexId, VertexId)>, Vec<f32>) {
    let mut random = SplitMix64::new(seed);
    let mut draw = |bound: u64| random.below(bound) as u32;
    let edges = (0..count).map(|_| (draw(vertices), draw(vertices))).collect();
    (edges, (0..count).map(|place| (place % 7) as f32 + 0.5).collect())
}

fn for_each_graph(check: impl Fn(&View, &[(VertexId, VertexId)], &[f32])) {
    for layout in Layout::ALL {
        for bits in 0..8 {
            let (directed, weighted, in_neighbors) = (bits & 1 != 0, bits & 2 != 0, bits & 4 == 0);
            let options = GraphOptions {
                layout,
                directed,
                weighted,
                in_neighbors,
                medium: MediumKind::Dram,
                ..GraphOptions::default()
            };
            let (edges, weights) = edges(bits, 60, 120);
            let graph = Graph::create(Path::new("questions"), &options, false).unwrap();
            graph.insert(&edges, weighted.then_some(&weights[..])).unwrap();
            let ones = vec![1.0; edges.len()];
            check(&graph.snapshot().unwrap(), &edges, if weighted { &weights } else { &ones });
        }
    }
}

#[test]
fn edges_and_degrees_are_those_of_the_vertices() {
    for_each_graph(|view, edges, weights| {
        let vertices = view.vertices();
        let asked = [vertices[3], vertices[0], vertices[7]];
        for along in [Along::Out, Along::In, Along::Both] {
            let (src, dst, found) = view.edges_of(&asked, along).unwrap();
            let mut found: Vec<_> = src
                .into_iter()
                .zip(dst)
                .zip(found)
                .map(|((u, v), w)| (u, v, w.to_bits()))
                .collect();
            let mut expected = Vec::new();
            for &v in &asked {
                for (&(src, dst), &weight) in edges.iter().zip(weights) {
                    let weight = weight.to_bits();
                    if view.is_directed() {
                        if src == v && along != Along::In {
                            expected.push((src, dst, weight));
                        }
                        if dst == v && along != Along::Out {
                            expected.push((src, dst, weight));
                        }
                    } else if src == v {
                        expected.push((v, dst, weight));
                    } else if dst == v {
                        expected.push((v, src, weight));
                    }
                }
            }
            found.sort_unstable();
            expected.sort_unstable();
            assert_eq!(found, expected, "{along:?}");
        }
        for (&v, (leaving, entering)) in asked.iter().zip(view.degrees_of(&asked).unwrap()) {
            assert_eq!(leaving as usize, view.out_neighbors(v).len());
            assert_eq!(entering as usize, view.in_neighbors(v).len());
        }
        assert!(view.edges_of(&[60], Along::Out).is_err() && view.degrees_of(&[60]).is_err());
    });
}

#[test]
fn who_is_near_and_how_far_is_what_bfs_says() {
    for_each_graph(|view, _, _| {
        let source = view.vertices()[1];
        let told = Parameters { source: Some(source.to_string()), ..Parameters::default() };
        let Values::Depth(depth) = view.run(Kernel::Bfs, &told.into()).unwrap().values else {
            panic!("depths");
        };
        for hops in [0, 1, 2, 100] {
            let found = view.within(&[source], hops, Along::Out, &Watch::new()).unwrap();
            let mut expected: Vec<_> =
                view.vertices().into_iter().map(|v| (v, depth[v as usize])).collect();
            expected.retain(|&(_, depth)| depth <= hops);
            expected.sort_by_key(|&(v, depth)| (depth, v));
            assert_eq!(found, expected);
        }
        for target in view.vertices() {
            let path = view.shortest_path(source, target, true, &Watch::new()).unwrap();
            let length = path.as_ref().map_or(u32::MAX, |path| path.length as u32);
            assert_eq!(length, depth[target as usize]);
            let lightest = view.shortest_path(source, target, false, &Watch::new()).unwrap();
            assert_eq!(lightest.is_some(), path.is_some());
        }
        // Against the direction of edges, whoever reaches it.
        let near = |v, along| view.within(&[v], 100, along, &Watch::new()).unwrap();
        for (v, _) in near(source, Along::In) {
            assert!(near(v, Along::Out).iter().any(|&(reached, _)| reached == source));
        }
        assert!(near(source, Along::Both).len() >= near(source, Along::In).len());
    });
}

#[test]
fn a_subgraph_has_the_edges_between_its_vertices() {
    for_each_graph(|view, edges, weights| {
        let chosen: Vec<_> = view.vertices().into_iter().filter(|v| v % 3 != 1).collect();
        let twice: Vec<_> = chosen.iter().chain(&chosen).copied().collect();
        let part = view.subgraph(&twice, &Watch::new()).unwrap();
        assert_eq!(part.vertex_count() as usize, chosen.len());
        let number = |v| match part.name_of(v) {
            ExternalId::Integer(id) => id as u32,
            ExternalId::Text(text) => panic!("{text}"),
        };
        let in_order =
            |u: u32, v: u32| if part.is_directed() { (u, v) } else { (u.min(v), u.max(v)) };
        let (src, dst, found) = part.edges();
        let mut found: Vec<_> = (src.iter().zip(&dst).zip(found))
            .map(|((&u, &v), weight)| (in_order(number(u), number(v)), weight.to_bits()))
            .collect();
        let all: BTreeSet<_> = chosen.iter().copied().collect();
        let mut expected: Vec<_> = (edges.iter().zip(weights))
            .filter(|((u, v), _)| all.contains(u) && all.contains(v))
            .map(|(&(u, v), weight)| (in_order(u, v), weight.to_bits()))
            .collect();
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected);
        assert_eq!(part.is_weighted(), view.is_weighted());
        let count = part.run(Kernel::Wcc, &Parameters::default().into()).unwrap();
        assert_eq!(count.kernel, "wcc");
    });
}

#[test]
fn names_stay_in_a_subgraph() {
    let home = tempfile::tempdir().unwrap();
    let options = GraphOptions { ids: IdKind::Text, ..GraphOptions::default() };
    let graph = Graph::create(&home.path().join("g"), &options, false).unwrap();
    let names = graph.intern_texts(["ann", "bob", "eve"].into_iter()).unwrap();
    graph.insert(&[(names[0], names[1]), (names[1], names[2])], None).unwrap();
    let view = graph.snapshot().unwrap();
    let found = view.find_all(["eve", "bob"]).unwrap();
    let part = view.subgraph(&found, &Watch::new()).unwrap();
    assert_eq!((part.vertex_count(), part.edge_count()), (2, 1));
    let eve = part.find("eve").unwrap();
    assert_eq!(part.name_of(part.in_neighbors(eve)[0]).to_string(), "bob");
    assert!(part.find("ann").is_none());
    let missing = view.find_all(["bob", "zoe"]).unwrap_err().to_string();
    assert_eq!(missing, "vertex `zoe` is not in the graph");
}
