//! Weakly connected components of versions: edges that come join them.
//!
//! Source: the forests of Tarjan, "Efficiency of a Good But Not Linear Set Union Algorithm", J. ACM 1975, with halved
//! paths; a root is the smallest of its tree, so that components are named after their smallest vertex.
//!
//! # Cost
//! The components of the common graph; two short paths for each edge that comes; each version's ids once. Memory: 4
//! bytes for each id.

use everedge_core::{GraphView, VertexId, par};
use everedge_kernels::{NO_COMPONENT, wcc};

use super::lifetimes::Mortal;
use super::schedule::Growth;
use super::vertex_set::VertexSet;

/// Ids in a piece of work.
const GRAIN: usize = 1 << 14;

/// By id, a smaller vertex of its component, or itself.
pub(crate) struct Components;

impl Growth for Components {
    type Value = VertexId;

    fn grow<'e>(
        &self,
        _: (u16, u16),
        edges: impl Iterator<Item = &'e Mortal>,
        parents: &mut [VertexId],
    ) {
        edges.for_each(|edge| join(parents, edge.src, edge.dst));
    }
}

/// Makes the components of `u` and `v` one.
fn join(parents: &mut [VertexId], u: VertexId, v: VertexId) {
    let [u, v] = [u, v].map(|v| root(parents, v));
    parents[u.max(v) as usize] = u.min(v);
}

/// Returns the smallest vertex of the component of `v`, and shortens the path to it.
fn root(parents: &mut [VertexId], mut v: VertexId) -> VertexId {
    while parents[v as usize] != v {
        let next = parents[parents[v as usize] as usize];
        parents[v as usize] = next;
        v = next;
    }
    v
}

/// Returns the forest of what all versions have in common.
pub(crate) fn of_common(common: &impl GraphView) -> Vec<VertexId> {
    if !common.has_in_neighbors() {
        let mut parents: Vec<VertexId> = (0..common.vertex_bound()).collect();
        common.for_each_edge(|u, v| join(&mut parents, u, v));
        return parents;
    }
    let mut parents = wcc(common).component;
    for (v, parent) in (0..).zip(&mut parents).filter(|(_, parent)| **parent == NO_COMPONENT) {
        *parent = v;
    }
    parents
}

/// Makes a forest the names of the components of a version that has these vertices.
pub(crate) fn name(parents: &mut [VertexId], vertices: &VertexSet) {
    // A parent is smaller: it has its name already.
    for v in 0..parents.len() {
        parents[v] = parents[parents[v] as usize];
    }
    par::map_chunks_mut(parents, GRAIN, |first, names| {
        let others = (first..).zip(names).filter(|(v, _)| !vertices.contains(*v as VertexId));
        others.for_each(|(_, name)| *name = NO_COMPONENT);
    });
}
