//! A graph as a map from vertex to neighbors: what every view of it must show.

use std::collections::BTreeMap;
use std::ops::Range;

use everedge_core::{Edge, GraphView, VertexId, WeightedView};

/// The edges of a vertex in one direction.
type List = Vec<(VertexId, f32)>;

/// Out- and in-edges of every vertex, in the order they were inserted.
#[derive(Debug, Default)]
pub(crate) struct Model {
    directed: bool,
    edge_count: u64,
    lists: BTreeMap<VertexId, (List, List)>,
}

impl Model {
    pub(crate) fn new(
        directed: bool,
        declared: &[VertexId],
        edges: &[Edge],
        weights: &[f32],
    ) -> Self {
        let mut model = Self { directed, edge_count: edges.len() as u64, ..Self::default() };
        for &v in declared {
            model.lists.entry(v).or_default();
        }
        for (&(u, v), &weight) in edges.iter().zip(weights) {
            model.lists.entry(u).or_default().0.push((v, weight));
            if directed {
                model.lists.entry(v).or_default().1.push((u, weight));
            } else if u != v {
                model.lists.entry(v).or_default().0.push((u, weight));
            }
        }
        model
    }

    fn out_list(&self, v: VertexId) -> &[(VertexId, f32)] {
        self.lists.get(&v).map_or(&[], |(out, _)| out)
    }

    fn in_list(&self, v: VertexId) -> &[(VertexId, f32)] {
        if self.directed {
            self.lists.get(&v).map_or(&[], |(_, incoming)| incoming)
        } else {
            self.out_list(v)
        }
    }
}

impl GraphView for Model {
    fn vertex_bound(&self) -> u32 {
        self.lists.keys().next_back().map_or(0, |&v| v + 1)
    }

    fn vertex_count(&self) -> u32 {
        self.lists.len() as u32
    }

    fn vertex_ranges(&self) -> Vec<Range<VertexId>> {
        self.lists.keys().map(|&v| v..v + 1).collect()
    }

    fn is_vertex(&self, v: VertexId) -> bool {
        self.lists.contains_key(&v)
    }

    fn edge_count(&self) -> u64 {
        self.edge_count
    }

    fn is_directed(&self) -> bool {
        self.directed
    }

    fn out_degree(&self, v: VertexId) -> u32 {
        self.out_list(v).len() as u32
    }

    fn in_degree(&self, v: VertexId) -> u32 {
        self.in_list(v).len() as u32
    }

    fn out_neighbors(&self, v: VertexId) -> impl Iterator<Item = VertexId> + '_ {
        self.out_list(v).iter().map(|edge| edge.0)
    }

    fn in_neighbors(&self, v: VertexId) -> impl Iterator<Item = VertexId> + '_ {
        self.in_list(v).iter().map(|edge| edge.0)
    }
}

impl WeightedView for Model {
    fn out_edges(&self, v: VertexId) -> impl Iterator<Item = (VertexId, f32)> + '_ {
        self.out_list(v).iter().copied()
    }

    fn in_edges(&self, v: VertexId) -> impl Iterator<Item = (VertexId, f32)> + '_ {
        self.in_list(v).iter().copied()
    }
}
