//! Kernels about paths.

use everedge_core::{GraphView, VertexId};

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
