//! The one thing a kernel sees: a frozen picture of a graph.

use std::ops::Range;

/// Names a vertex and indexes arrays by vertex; at most [`MAX_VERTEX_ID`].
pub type VertexId = u32;

/// The largest vertex id. The bit above it marks tombstones, as in XPGraph and DGAP.
pub const MAX_VERTEX_ID: VertexId = (1 << 31) - 1;

/// An edge from its source to its destination.
pub type Edge = (VertexId, VertexId);

/// A frozen picture of a graph: the same answers until it is dropped.
///
/// Ids run from 0 to [`vertex_bound`](Self::vertex_bound); those that no edge or call has named
/// are not vertices. They have no neighbors, and a kernel neither counts nor reports them.
/// A view never fails: what could fail was checked before it was handed out.
pub trait GraphView: Sync {
    /// Returns the length of an array indexed by vertex: every vertex id is below it.
    fn vertex_bound(&self) -> u32;

    /// Returns how many ids are vertices.
    fn vertex_count(&self) -> u32;

    /// Returns whether `v` is a vertex.
    fn is_vertex(&self, v: VertexId) -> bool;

    /// Returns the number of edges; an edge of an undirected graph counts once.
    fn edge_count(&self) -> u64;

    /// Returns whether edges have a direction. If not, in- and out-neighbors are the same.
    fn is_directed(&self) -> bool;

    /// Returns how many times `out_neighbors` yields.
    fn out_degree(&self, v: VertexId) -> u32;

    /// Returns how many times `in_neighbors` yields.
    fn in_degree(&self, v: VertexId) -> u32;

    /// Returns the destinations of the edges that leave `v`, parallel edges one by one, in an
    /// order that the layout chooses.
    fn out_neighbors(&self, v: VertexId) -> impl Iterator<Item = VertexId> + '_;

    /// Returns the sources of the edges that enter `v`, parallel edges one by one.
    fn in_neighbors(&self, v: VertexId) -> impl Iterator<Item = VertexId> + '_;

    /// Shows `visitor` the in-neighbors of those ids of `range` that it wants, in ascending order.
    ///
    /// As [`in_neighbors`](Self::in_neighbors) of each; ids that are no vertices may be left out. A layout whose lists lie one after the other
    /// does with less work for each of them.
    fn visit_in_neighbors(&self, range: Range<VertexId>, visitor: &mut impl ListVisitor)
    where
        Self: Sized,
    {
        for v in range {
            if visitor.wants(v) {
                visitor.visit(v, self.in_neighbors(v));
            }
        }
    }

    /// Calls `f(v, out_degree(v))` for each id of `range`, in ascending order.
    fn for_each_out_degree(&self, range: Range<VertexId>, mut f: impl FnMut(VertexId, u32))
    where
        Self: Sized,
    {
        for v in range {
            f(v, self.out_degree(v));
        }
    }

    /// Calls `f(src, dst)` for every edge in ascending order of `src`; an edge of an undirected
    /// graph comes once from each end, a self-loop once.
    fn for_each_edge(&self, mut f: impl FnMut(VertexId, VertexId))
    where
        Self: Sized,
    {
        for u in 0..self.vertex_bound() {
            for v in self.out_neighbors(u) {
                f(u, v);
            }
        }
    }
}

/// Is shown lists of neighbors, one after the other.
pub trait ListVisitor {
    /// Returns whether to be shown the list of `v`; asked just before.
    fn wants(&self, v: VertexId) -> bool;

    /// Sees the neighbors of `v`.
    fn visit(&mut self, v: VertexId, neighbors: impl Iterator<Item = VertexId>);
}

/// A view whose edges carry a weight.
pub trait WeightedView: GraphView {
    /// Returns the destination and weight of each edge that leaves `v`.
    fn out_edges(&self, v: VertexId) -> impl Iterator<Item = (VertexId, f32)> + '_;

    /// Returns the source and weight of each edge that enters `v`.
    fn in_edges(&self, v: VertexId) -> impl Iterator<Item = (VertexId, f32)> + '_;
}
