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
