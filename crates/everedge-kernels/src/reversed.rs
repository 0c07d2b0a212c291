//! A view whose edges lead the other way, for searches against their direction.

use std::ops::Range;

use everedge_core::{Direction, GraphView, Homes, ListVisitor, VertexId};

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

    #[inline]
    fn out_degree(&self, v: VertexId) -> u32 {
        self.0.in_degree(v)
    }

    #[inline]
    fn in_degree(&self, v: VertexId) -> u32 {
        self.0.out_degree(v)
    }

    // Always: as that of the view, which its caller takes apart at once.
    #[inline(always)]
    fn out_neighbors(&self, v: VertexId) -> impl Iterator<Item = VertexId> + '_ {
        self.0.in_neighbors(v)
    }

    #[inline(always)]
    fn in_neighbors(&self, v: VertexId) -> impl Iterator<Item = VertexId> + '_ {
        self.0.out_neighbors(v)
    }

    fn homes(&self) -> Option<&Homes> {
        self.0.homes()
    }

    fn home(&self, v: VertexId, direction: Direction) -> usize {
        self.0.home(v, direction.reversed())
    }

    fn for_each_degree(
        &self,
        direction: Direction,
        range: Range<VertexId>,
        f: impl FnMut(VertexId, u32),
    ) {
        self.0.for_each_degree(direction.reversed(), range, f);
    }

    fn lists_are_distinct(&self) -> bool {
        self.0.lists_are_distinct()
    }

    fn reads_in_order(&self) -> bool {
        self.0.reads_in_order()
    }

    fn load_ahead(&self, direction: Direction, vertices: &[VertexId]) {
        self.0.load_ahead(direction.reversed(), vertices);
    }

    #[inline(always)]
    fn visit_listed(
        &self,
        direction: Direction,
        vertices: &[VertexId],
        visitor: &mut impl ListVisitor,
    ) {
        self.0.visit_listed(direction.reversed(), vertices, visitor);
    }

    fn visit_neighbors(
        &self,
        direction: Direction,
        range: Range<VertexId>,
        visitor: &mut impl ListVisitor,
    ) {
        self.0.visit_neighbors(direction.reversed(), range, visitor);
    }
}
