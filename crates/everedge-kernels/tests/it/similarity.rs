//! Similarity of vertices.

use everedge_core::{GraphView, VertexId, par};
use everedge_kernels::{
    Error, Similarity, most_similar, naive, similarity, spot_check_most_similar,
    spot_check_similarity, verify_most_similar, verify_similarity,
};

use crate::graphs::{Case, Random, for_each_case, graph};

use Similarity::{
    AdamicAdar, CommonNeighbors, Jaccard, PreferentialAttachment, ResourceAllocation,
};

const MEASURES: [Similarity; 5] =
    [CommonNeighbors, Jaccard, AdamicAdar, ResourceAllocation, PreferentialAttachment];

fn vertices(case: &Case) -> Vec<VertexId> {
    (0..case.graph.vertex_bound()).filter(|&v| case.graph.is_vertex(v)).collect()
}

/// Returns pairs of vertices: all of small graphs, some of large ones.
fn pairs(case: &Case) -> Vec<(VertexId, VertexId)> {
    let vertices = vertices(case);
    if vertices.len() < 30 {
        return vertices.iter().flat_map(|&u| vertices.iter().map(move |&v| (u, v))).collect();
    }
    let mut random = Random::new(3);
    let mut draw = || vertices[random.below(vertices.len() as u32) as usize];
    let drawn = (0..300).map(|_| (draw(), draw()));
    let hub = vertices.iter().max_by_key(|&&v| case.graph.out_degree(v));
    let of_hub = hub.into_iter().flat_map(|&hub| vertices.iter().take(200).map(move |&v| (v, hub)));
    of_hub.chain(drawn.collect::<Vec<_>>()).collect()
}

#[test]
fn equals_the_naive_scores_of_pairs() {
    for_each_case(|case| {
        let pairs = pairs(case);
        for measure in MEASURES {
            let found = similarity(&case.graph, &pairs, measure).unwrap();
            let expected = naive::similarity(&case.graph, &pairs, measure);
            assert_eq!(found.len(), expected.len());
            for (found, expected) in found.iter().zip(&expected) {
                assert!((found - expected).abs() <= 1e-12 * expected, "{measure:?}");
            }
            verify_similarity(&case.graph, &pairs, measure, &found).unwrap();
            spot_check_similarity(&case.graph, &pairs, measure, &found).unwrap();
        }
    });
}

#[test]
fn the_most_similar_are_the_best_of_all() {
    for_each_case(|case| {
        let g = &case.graph;
        for source in case.sources() {
            let others = vertices(case).into_iter().filter(|&v| v != source);
            let pairs: Vec<_> = others.map(|v| (source, v)).collect();
            let shared = naive::similarity(g, &pairs, CommonNeighbors);
            for measure in MEASURES {
                let scores = naive::similarity(g, &pairs, measure).into_iter();
                let of_pairs = pairs.iter().map(|&(_, v)| v).zip(scores).zip(&shared);
                let of_pairs = of_pairs.filter(|(_, shared)| **shared > 0.0);
                let mut expected: Vec<_> = of_pairs.map(|(scored, _)| scored).collect();
                expected.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
                for count in [0, 1, 5, 10_000] {
                    let found = most_similar(g, source, count, measure).unwrap();
                    let len = count.min(expected.len());
                    assert_eq!(found, expected[..len], "{source}, {measure:?}");
                    spot_check_most_similar(g, source, count, measure, &found).unwrap();
                }
                let found = most_similar(g, source, 5, measure).unwrap();
                if g.vertex_bound() < 600 {
                    verify_most_similar(g, source, 5, measure, &found).unwrap();
                }
            }
        }
    });
}

/// What NetworkX says.
#[test]
fn an_example_has_the_scores_of_networkx() {
    let edges =
        [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (3, 4), (4, 5), (2, 5), (5, 0), (4, 4), (1, 0)];
    let pairs = [(0, 4), (1, 5), (2, 3), (0, 1)];
    for directed in [true, false] {
        let g = graph(directed, &[], &edges.map(|(u, v)| (u, v, 1.0)));
        for (measure, expected) in EXPECTED {
            let found = similarity(&g, &pairs, measure).unwrap();
            for (found, expected) in found.iter().zip(expected) {
                assert!((found - expected).abs() < 1e-12, "{measure:?}: {found}, {expected}");
            }
        }
    }
}

const EXPECTED: [(Similarity, [f64; 4]); 5] = [
    (CommonNeighbors, [2.0, 2.0, 2.0, 2.0]),
    (Jaccard, [0.5, 0.5, 0.5, 0.4]),
    (AdamicAdar, [1.8204784532536746, 1.631586747071319, 1.631586747071319, 1.8204784532536746]),
    (
        ResourceAllocation,
        [0.6666666666666666, 0.5833333333333333, 0.5833333333333333, 0.6666666666666666],
    ),
    (PreferentialAttachment, [8.0, 9.0, 9.0, 12.0]),
];

#[test]
fn is_the_same_for_any_number_of_threads() {
    let edges: Vec<_> = (0..40_000_u32).map(|i| (i * 7 % 997, i * i % 991, 1.0)).collect();
    let g = graph(true, &[], &edges);
    let pairs: Vec<_> = (0..5000).map(|i| (i % 990, i * 31 % 983)).collect();
    for measure in MEASURES {
        let run = || {
            let of_pairs = similarity(&g, &pairs, measure).unwrap();
            (of_pairs, most_similar(&g, 7, 50, measure).unwrap())
        };
        assert_eq!(par::with_threads(1, run).unwrap(), par::with_threads(5, run).unwrap());
    }
}

#[test]
fn refuses_what_is_no_vertex() {
    let g = graph(true, &[], &[(0, 2, 1.0)]);
    for pair in [(0, 1), (1, 0), (0, 99)] {
        let refused = similarity(&g, &[(0, 2), pair], Jaccard);
        assert!(matches!(refused, Err(Error::NotAVertex { .. })), "{pair:?}");
    }
    assert_eq!(most_similar(&g, 1, 5, Jaccard), Err(Error::NotAVertex { vertex: 1 }));
    assert_eq!(similarity(&g, &[], Jaccard), Ok(Vec::new()));
}

#[test]
fn verifiers_find_every_kind_of_error() {
    let edges = [(0, 2), (0, 3), (1, 2), (1, 3), (3, 4), (2, 5), (6, 7)];
    let g = graph(false, &[], &edges.map(|(u, v)| (u, v, 1.0)));
    let pairs = [(0, 1), (0, 4), (2, 3)];
    for measure in MEASURES {
        let right = similarity(&g, &pairs, measure).unwrap();
        for place in 0..3 {
            let mut wrong = right.clone();
            wrong[place] += 1e-3;
            assert!(verify_similarity(&g, &pairs, measure, &wrong).is_err());
            assert!(spot_check_similarity(&g, &pairs, measure, &wrong).is_err());
        }
        assert!(verify_similarity(&g, &pairs, measure, &right[1..]).is_err());
        let right = most_similar(&g, 0, 2, measure).unwrap();
        let verify = |list: &[(VertexId, f64)]| verify_most_similar(&g, 0, 2, measure, list);
        verify(&right).unwrap();
        let last = most_similar(&g, 0, 3, measure).unwrap()[2];
        let wrong = [
            vec![right[1], right[0]],
            vec![right[0]],
            vec![right[0], last],
            vec![right[0], right[1], last],
            vec![right[0], (right[1].0, right[1].1 * 0.9)],
            vec![right[0], (6, 0.0)],
            vec![(0, 9.0), right[0]],
        ];
        for list in wrong {
            assert!(verify(&list).is_err(), "{list:?}, {measure:?}");
        }
    }
}
