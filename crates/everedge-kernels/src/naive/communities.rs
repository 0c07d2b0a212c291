//! Twins of the kernels that find or judge communities.

use std::collections::BTreeMap;

use everedge_core::{VertexId, WeightedView};

use crate::ModularityConfig;

/// Returns the value of [`modularity`](crate::modularity()), by the definition for each pair of
/// vertices. It may differ in the last digits, since sums have another order.
///
/// # Panics
/// If there are fewer numbers than ids.
pub fn modularity(
    view: &impl WeightedView,
    community: &[VertexId],
    config: &ModularityConfig,
) -> f64 {
    let bound = view.vertex_bound() as usize;
    let mut matrix = BTreeMap::new();
    for u in 0..view.vertex_bound() {
        for (v, weight) in view.out_edges(u) {
            let weight = if config.weighted { f64::from(weight) } else { 1.0 };
            // A self-loop of an undirected graph has two ends.
            let ends = if u == v && !view.is_directed() { 2.0 } else { 1.0 };
            *matrix.entry((u as usize, v as usize)).or_insert(0.0) += ends * weight;
        }
    }
    let total: f64 = matrix.values().sum();
    let (mut leaving, mut entering) = (vec![0.0; bound], vec![0.0; bound]);
    for (&(u, v), weight) in &matrix {
        leaving[u] += weight;
        entering[v] += weight;
    }
    let mut value = 0.0;
    for (&(u, v), weight) in matrix.iter().filter(|_| total > 0.0) {
        value += if community[u] == community[v] { weight / total } else { 0.0 };
    }
    for (u, leaving) in leaving.iter().enumerate().filter(|(_, leaving)| **leaving > 0.0) {
        for (v, entering) in entering.iter().enumerate() {
            if community[u] == community[v] {
                value -= config.resolution * leaving * entering / (total * total);
            }
        }
    }
    value
}

/// Returns whether no label has more weight among the neighbors of a vertex than its own one, as
/// [`label_propagation`](crate::label_propagation()) ends. Sums of weights must be exact.
///
/// # Panics
/// If there are fewer labels than ids.
pub fn has_most_frequent_labels(view: &impl WeightedView, labels: &[VertexId]) -> bool {
    let mut sums = vec![BTreeMap::new(); labels.len()];
    for u in 0..view.vertex_bound() {
        for (v, weight) in view.out_edges(u).filter(|&(v, _)| v != u) {
            *sums[u as usize].entry(labels[v as usize]).or_insert(0.0) += f64::from(weight);
            if view.is_directed() {
                *sums[v as usize].entry(labels[u as usize]).or_insert(0.0) += f64::from(weight);
            }
        }
    }
    labels.iter().zip(&sums).all(|(own, sums)| {
        let of_own = sums.get(own).copied().unwrap_or(0.0);
        sums.values().all(|&sum| sum <= of_own)
    })
}

/// Returns the edges of [`spanning_forest`](crate::spanning_forest()) with their weights, ascending, by
/// joining components over edges from the lightest on (Kruskal). Weights must be numbers.
pub fn spanning_forest(view: &impl WeightedView) -> Vec<(VertexId, VertexId, f32)> {
    let mut edges = Vec::new();
    for u in 0..view.vertex_bound() {
        edges.extend(view.out_edges(u).map(|(v, weight)| (weight + 0.0, u.min(v), u.max(v))));
    }
    edges.sort_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
    let mut component: Vec<_> = (0..view.vertex_bound()).collect();
    let mut forest = Vec::new();
    for (weight, u, v) in edges {
        let [a, b] = [u, v].map(|v| component[v as usize]);
        if a != b {
            component.iter_mut().filter(|name| **name == b).for_each(|name| *name = a);
            forest.push((u, v, weight));
        }
    }
    forest.sort_by_key(|&(u, v, _)| (u, v));
    forest
}
