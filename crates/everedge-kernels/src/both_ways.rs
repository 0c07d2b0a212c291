//! A view whose edges lead both ways, for searches that no direction stops.

use std::ops::Range;

use everedge_core::{Direction, GraphView, Homes, VertexId};

/// The graph of a view with directions left out: each vertex has its out-neighbors, and in a directed
/// graph its in-neighbors after them.
#[derive(Debug)]
pub(crate) struct BothWays<'v, V>(pub(crate) &'v V);

impl<V: GraphView> BothWays<'_, V> {
    /// Returns which in-neighbors are added: in an undirected graph they are the out-neighbors.
    #[inline]
    fn added(&self) -> Option<&V> {
        self.0.is_directed().then_some(self.0)
    }
}

impl<V: GraphView> GraphView for BothWays<'_, V> {
    fn vertex_bound(&self) -> u32 {
        self.0.vertex_bound()
    }

    fn vertex_count(&self) -> u32 {
        self.0.vertex_count()
    }

    fn is_vertex(&self, v: VertexId) -> bool {
        self.0.is_vertex(v)
    }

    fn vertex_ranges(&self) -> Vec<Range<VertexId>> {
        self.0.vertex_ranges()
    }

    fn edge_count(&self) -> u64 {
        self.0.edge_count()
    }

    fn is_directed(&self) -> bool {
        false
    }

    #[inline]
    fn out_degree(&self, v: VertexId) -> u32 {
        self.0.out_degree(v).saturating_add(self.added().map_or(0, |view| view.in_degree(v)))
    }

    #[inline]
    fn in_degree(&self, v: VertexId) -> u32 {
        self.out_degree(v)
    }

    #[inline(always)]
    fn out_neighbors(&self, v: VertexId) -> impl Iterator<Item = VertexId> + '_ {
        let incoming = self.added().into_iter().flat_map(move |view| view.in_neighbors(v));
        self.0.out_neighbors(v).chain(incoming)
    }

    #[inline(always)]
    fn in_neighbors(&self, v: VertexId) -> impl Iterator<Item = VertexId> + '_ {
        self.out_neighbors(v)
    }

    fn homes(&self) -> Option<&Homes> {
        self.0.homes()
    }

    fn home(&self, v: VertexId, _: Direction) -> usize {
        self.0.home(v, Direction::Out)
    }

    fn reads_in_order(&self) -> bool {
        self.0.reads_in_order()
    }

    fn load_ahead(&self, _: Direction, vertices: &[VertexId]) {
        self.0.load_ahead(Direction::Out, vertices);
        if let Some(view) = self.added() {
            view.load_ahead(Direction::In, vertices);
        }
    }
}
