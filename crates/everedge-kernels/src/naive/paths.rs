//! Kernels about paths.

use std::collections::BTreeSet;

use everedge_core::{GraphView, VertexId, WeightedView};

use super::bfs;
use crate::UNREACHED;

/// Returns the scores of [`betweenness`](crate::betweenness()) for `sources`, by the
/// dependencies of Brandes. They may differ in
/// the last digits, since sums have another order.
///
/// # Panics
/// If a source is not below the bound.
pub fn betweenness(view: &impl GraphView, sources: &[VertexId]) -> Vec<f64> {
    let bound = view.vertex_bound() as usize;
    let mut score = vec![0.0; bound];
    for &source in sources {
        let depth = bfs(view, source);
        let mut order: Vec<_> = (0..bound).filter(|&v| depth[v] != UNREACHED).collect();
        order.sort_by_key(|&v| depth[v]);
        let successors = |u: usize| {
            let neighbors = view.out_neighbors(u as VertexId).map(|v| v as usize);
            neighbors.filter(|&v| depth[v] == depth[u] + 1).collect::<Vec<_>>()
        };
        let mut paths = vec![0.0; bound];
        paths[source as usize] = 1.0;
        for &u in &order {
            successors(u).into_iter().for_each(|v| paths[v] += paths[u]);
        }
        let mut dependency = vec![0.0; bound];
        for &u in order.iter().rev() {
            let parts =
                successors(u).into_iter().map(|v| paths[u] / paths[v] * (1.0 + dependency[v]));
            dependency[u] = parts.sum();
            if u != source as usize {
                score[u] += dependency[u];
            }
        }
    }
    score
}

/// Returns the widths of [`sswp`](crate::sswp()), by relaxing every edge until nothing
/// changes. Weights must be numbers.
///
/// # Panics
/// If `source` is not below the bound.
pub fn sswp(view: &impl WeightedView, source: VertexId) -> Vec<f64> {
    relaxed(view, source, [f64::INFINITY, f64::NEG_INFINITY], f64::min, |new, old| new > old)
}

/// Returns the largest weights of [`ssnp`](crate::ssnp()), like [`sswp`].
///
/// # Panics
/// If `source` is not below the bound.
pub fn ssnp(view: &impl WeightedView, source: VertexId) -> Vec<f64> {
    relaxed(view, source, [f64::NEG_INFINITY, f64::INFINITY], f64::max, |new, old| new < old)
}

/// Returns the probabilities of [`viterbi`](crate::viterbi()), like [`sswp`]. Weights must be from
/// 0 to 1.
///
/// # Panics
/// If `source` is not below the bound.
pub fn viterbi(view: &impl WeightedView, source: VertexId) -> Vec<f64> {
    relaxed(view, source, [1.0, 0.0], |value, weight| value * weight, |new, old| new > old)
}

/// Relaxes every edge until nothing changes (Bellman and Ford), beginning with the values of the
/// source and of all others.
fn relaxed(
    view: &impl WeightedView,
    source: VertexId,
    [identity, unreached]: [f64; 2],
    extend: fn(f64, f64) -> f64,
    is_better: fn(f64, f64) -> bool,
) -> Vec<f64> {
    let mut value = vec![unreached; view.vertex_bound() as usize];
    value[source as usize] = identity;
    let mut changed = true;
    while changed {
        changed = false;
        for u in 0..view.vertex_bound() {
            for (v, weight) in view.out_edges(u) {
                let new = extend(value[u as usize], f64::from(weight));
                if is_better(new, value[v as usize]) {
                    value[v as usize] = new;
                    changed = true;
                }
            }
        }
    }
    value
}

/// Returns the vertices of [`two_hop`](crate::two_hop()).
pub fn two_hop(view: &impl GraphView, source: VertexId) -> Vec<VertexId> {
    let mut reached = BTreeSet::new();
    for v in view.out_neighbors(source) {
        reached.insert(v);
        reached.extend(view.out_neighbors(v));
    }
    reached.remove(&source);
    reached.into_iter().collect()
}
