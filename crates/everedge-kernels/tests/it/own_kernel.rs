//! The kernel that shows how to write one's own, and the frontier's public face.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use everedge_core::VertexId;
use everedge_kernels::{EdgeMap, EdgeStep, Frontier, UNREACHED, naive};

use crate::example::{self, NONE, nearest};
use crate::graphs::{for_each_case, graph};

#[test]
fn the_example_runs() {
    example::main();
}

#[test]
fn equals_a_naive_search_from_each_source() {
    for_each_case(|case| {
        let sources: Vec<_> = case.sources().collect();
        let (source, distance) = nearest(&case.graph, &sources);
        let mut expected = vec![(NONE, NONE); source.len()];
        for &u in &sources {
            for (best, depth) in expected.iter_mut().zip(naive::bfs(&case.graph, u)) {
                if depth != UNREACHED {
                    *best = (*best).min((depth, u));
                }
            }
        }
        let found: Vec<_> = distance.into_iter().zip(source).collect();
        assert_eq!(found, expected);
    });
}

/// Reaches everything.
struct Everything;

impl EdgeStep for Everything {
    const STOPS_EARLY: bool = false;

    fn wants(&self, _: VertexId) -> bool {
        true
    }

    fn push(&self, _: VertexId, _: VertexId) -> bool {
        true
    }

    fn pull(&self, _: VertexId, _: VertexId) -> bool {
        true
    }
}

#[test]
fn a_frontier_says_the_same_as_a_list_and_as_a_bitmap() {
    let star: Vec<_> = (1..300).map(|v| (0, v, 1.0)).collect();
    let g = graph(true, &[], &star);
    let members: Vec<_> = (1..300).collect();
    let list = Frontier::from_list(members.clone());
    // The centre's edges are all that there are, so they are pulled.
    let bitmap = EdgeMap::reaching_again(&g).step(&mut Frontier::single(0), &Everything);
    for mut frontier in [list, bitmap] {
        let sum = AtomicU64::new(0);
        frontier.for_each(|v| _ = sum.fetch_add(v.into(), Relaxed));
        assert_eq!(sum.into_inner(), 299 * 300 / 2);
        assert_eq!((frontier.len(), frontier.is_empty()), (299, false));
        assert_eq!(frontier.list(), members);
        let next = EdgeMap::new(&g).step(&mut frontier, &Everything);
        assert_eq!((next.len(), next.is_empty()), (0, true), "no edge leaves them");
    }
}
