//! A view whose edges lead the other way, for searches against their direction.

use everedge_core::{Direction, GraphView, Homes, VertexId};

/// The graph of a view with every edge turned round.
#[derive(Debug)]
pub(crate) struct Reversed<'v, V>(pub(crate) &'v V);

impl<V: GraphView> GraphView for Reversed<'_, V> {
    fn vertex_bound(&self) -> u32 {
        self.0.vertex_bound()
    }

    fn vertex_count(&self) -> u32 {
        self.0.vertex_count()
    }

    fn is_vertex(&self, v: VertexId) -> bool {
        self.0.is_vertex(v)
    }

    fn edge_count(&self) -> u64 {
        self.0.edge_count()
    }

    fn is_directed(&self) -> bool {
        self.0.is_directed()
    }

    fn out_degree(&self, v: VertexId) -> u32 {
        self.0.in_degree(v)
    }

    fn in_degree(&self, v: VertexId) -> u32 {
        self.0.out_degree(v)
    }

    fn out_neighbors(&self, v: VertexId) -> impl Iterator<Item = VertexId> + '_ {
        self.0.in_neighbors(v)
    }

    fn in_neighbors(&self, v: VertexId) -> impl Iterator<Item = VertexId> + '_ {
        self.0.out_neighbors(v)
    }

    fn homes(&self) -> Option<&Homes> {
        self.0.homes()
    }

    fn home(&self, v: VertexId, direction: Direction) -> usize {
        let reversed = match direction {
            Direction::Out => Direction::In,
            Direction::In => Direction::Out,
        };
        self.0.home(v, reversed)
    }
}
