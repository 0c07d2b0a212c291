//! Triangles and what is counted among neighbors.

use std::collections::BTreeSet;

use everedge_core::{GraphView, VertexId};

/// Returns the count of [`triangles`](crate::triangles()), by looking at all pairs of neighbors.
pub fn triangles(view: &impl GraphView) -> u64 {
    let neighbors = neighbor_sets(view);
    let mut count = 0;
    for (u, set) in (0..).zip(&neighbors) {
        for &v in set.range(u..) {
            count += set.range(v..).filter(|w| neighbors[v as usize].contains(w)).count() as u64;
        }
    }
    count
}

/// Returns the neighbors of each vertex over edges either way, without itself.
fn neighbor_sets(view: &impl GraphView) -> Vec<BTreeSet<VertexId>> {
    let mut sets = vec![BTreeSet::new(); view.vertex_bound() as usize];
    view.for_each_edge(|u, v| {
        if u != v {
            sets[u as usize].insert(v);
            sets[v as usize].insert(u);
        }
    });
    sets
}
