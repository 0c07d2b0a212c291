//! The kernels once more, as plainly as possible: what the fast ones must be equal to.
//!
//! For tests, here and in crates that bring views of their own. One thread, no cleverness; they
//! read out-neighbors only, so that a view whose in-neighbors differ is found out.

mod centralities;
mod communities;
mod cores;
mod orders;
mod paths;
mod triangles;

pub use centralities::{closeness, eigenvector, harmonic, hits, katz, personalized_pagerank};
pub use communities::{has_most_frequent_labels, modularity, spanning_forest};
pub use cores::{biconnected, coreness, radii, scc};
pub use orders::{bipartition, levels};
pub use paths::{betweenness, ssnp, sswp, two_hop, viterbi};
pub use triangles::{cdlp, lcc, similarity, triangles};

use std::collections::VecDeque;

use everedge_core::{GraphView, VertexId, WeightedView};

use crate::{NO_COMPONENT, PageRankConfig, UNREACHED};

/// Returns the depths of [`bfs`](crate::bfs()), by a queue.
///
/// # Panics
/// If `source` is not below the bound.
pub fn bfs(view: &impl GraphView, source: VertexId) -> Vec<u32> {
    let mut depth = vec![UNREACHED; view.vertex_bound() as usize];
    depth[source as usize] = 0;
    let mut queue = VecDeque::from([source]);
    while let Some(u) = queue.pop_front() {
        for v in view.out_neighbors(u) {
            if depth[v as usize] == UNREACHED {
                depth[v as usize] = depth[u as usize] + 1;
                queue.push_back(v);
            }
        }
    }
    depth
}

/// Returns the ranks of [`pagerank`](crate::pagerank()), pushed from each vertex to its
/// neighbors. They may differ in the last digits, since sums have another order.
pub fn pagerank(view: &impl GraphView, config: &PageRankConfig) -> Vec<f64> {
    let vertices: Vec<_> = (0..view.vertex_bound()).filter(|&v| view.is_vertex(v)).collect();
    let vertex_count = vertices.len() as f64;
    let mut rank = vec![0.0; view.vertex_bound() as usize];
    vertices.iter().for_each(|&v| rank[v as usize] = 1.0 / vertex_count);
    for _ in 0..config.iterations_max {
        let is_dangling = |&&v: &&VertexId| view.out_neighbors(v).next().is_none();
        let dangling: f64 = vertices.iter().filter(is_dangling).map(|&v| rank[v as usize]).sum();
        let spread =
            (1.0 - config.damping) / vertex_count + config.damping * dangling / vertex_count;
        let mut new = vec![0.0; rank.len()];
        vertices.iter().for_each(|&v| new[v as usize] = spread);
        view.for_each_edge(|u, v| {
            new[v as usize] += config.damping * rank[u as usize] / f64::from(view.out_degree(u));
        });
        let change: f64 = rank.iter().zip(&new).map(|(old, new)| (new - old).abs()).sum();
        rank = new;
        if change < config.tolerance {
            break;
        }
    }
    rank
}

/// Returns the components of [`wcc`](crate::wcc()), by passing the smaller label over every edge
/// until nothing changes.
pub fn wcc(view: &impl GraphView) -> Vec<VertexId> {
    let label_of = |v| if view.is_vertex(v) { v } else { NO_COMPONENT };
    let mut component: Vec<_> = (0..view.vertex_bound()).map(label_of).collect();
    let mut changed = true;
    while changed {
        changed = false;
        view.for_each_edge(|u, v| {
            let smaller = component[u as usize].min(component[v as usize]);
            for w in [u, v] {
                changed |= component[w as usize] != smaller;
                component[w as usize] = smaller;
            }
        });
    }
    component
}

/// Returns the distances of [`sssp`](crate::sssp()), by relaxing every edge until nothing
/// changes (Bellman and Ford). Weights must be 0 or more.
///
/// # Panics
/// If `source` is not below the bound.
pub fn sssp(view: &impl WeightedView, source: VertexId) -> Vec<f64> {
    let mut distance = vec![f64::INFINITY; view.vertex_bound() as usize];
    distance[source as usize] = 0.0;
    let mut changed = true;
    while changed {
        changed = false;
        for u in 0..view.vertex_bound() {
            for (v, weight) in view.out_edges(u) {
                let new = distance[u as usize] + f64::from(weight);
                if new < distance[v as usize] {
                    distance[v as usize] = new;
                    changed = true;
                }
            }
        }
    }
    distance
}
