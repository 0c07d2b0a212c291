//! Plain CSR: the neighbors of all vertices in one array, in memory and never changed.
//!
//! The view that the other layouts are measured against, and what a file becomes when it is only
//! read once.
//!
//! # Layout
//! ```text
//! offsets   0 | 2 | 2 | 5 | ...          vertex_bound + 1 numbers of 8 bytes
//! targets   a   b | c   d   e | ...      the neighbors of v: targets[offsets[v]..offsets[v + 1]]
//! weights   x   y | z   s   t | ...      alike, if the graph is weighted
//! ```
//! Out-neighbors are kept so, and in-neighbors of a directed graph once more. The neighbors of a
//! vertex are in the order of the source: of the edge list, or of the view that was copied, where the edges of a pair with
//! weights are in the order in which they came.
//!
//! # Invariants
//! - I1 `offsets` begins with 0, never falls, and ends with the length of `targets`.
//! - I2 Every target is a vertex, and every vertex is below `vertex_bound`.
//! - I3 A directed graph has each edge once in `outgoing` and once in `incoming`; an undirected
//!   one has each edge at both ends of `outgoing`, a self-loop once.
//!
//! # Cost
//! 8 bytes a vertex and 4 (8 with weights) an edge, for each direction or end that is kept.
//! Building takes time linear in vertices and edges: from edges every thread reads all of them
//! twice for each direction, and needs 8 bytes for each of its vertices while it builds.

mod adjacency;
mod given;

use std::ops::Range;

use crate::{
    Bitmap, Direction, Edge, GraphView, ListVisitor, MAX_VERTEX_ID, Numbering, VertexId,
    WeightedView, par,
};
use adjacency::{Adjacency, Ends, Listed};
pub use given::ListsError;

/// Vertices in a piece of work that costs little a vertex.
const VERTEX_GRAIN: usize = 1 << 14;
/// Edges in a piece of work that costs little an edge.
const EDGE_GRAIN: usize = 1 << 16;

/// How [`Csr::from_edges`] reads its edges.
#[derive(Clone, Copy, Debug, Default)]
pub struct CsrOptions<'a> {
    /// Whether an edge leads only from its source to its destination.
    pub directed: bool,
    /// Vertices besides those that an edge names, in any order.
    pub declared: &'a [VertexId],
}

/// The out-neighbors of a CSR: where those of each id begin, of `vertex_bound + 1`, the neighbors, and their weights if
/// there are some.
pub type OutArrays = (Vec<u64>, Vec<VertexId>, Option<Vec<f32>>);

/// A graph as a plain CSR.
#[derive(Clone, Debug)]
pub struct Csr {
    /// The out-neighbors; of an undirected graph, all neighbors.
    outgoing: Adjacency,
    /// The in-neighbors of a directed graph.
    incoming: Option<Adjacency>,
    vertices: Bitmap,
    vertex_count: u32,
    edge_count: u64,
}

impl Csr {
    /// Builds the graph of `edges`, whose weights are `weights[i]` or, without, 1.
    ///
    /// # Panics
    /// If an id is above [`MAX_VERTEX_ID`] or there are not as many weights as edges.
    ///
    /// # Example
    /// ```
    /// use everedge_core::{Csr, CsrOptions, GraphView};
    ///
    /// let options = CsrOptions { directed: true, declared: &[7] };
    /// let g = Csr::from_edges(&[(0, 2), (0, 1), (2, 0)], None, options);
    /// assert_eq!(g.out_slice(0), [2, 1]);
    /// assert_eq!(g.in_slice(0), [2]);
    /// assert_eq!((g.vertex_count(), g.vertex_bound()), (4, 8));
    /// ```
    pub fn from_edges(edges: &[Edge], weights: Option<&[f32]>, options: CsrOptions<'_>) -> Self {
        if let Some(weights) = weights {
            assert_eq!(weights.len(), edges.len(), "one weight for each edge");
        }
        let bound = vertex_bound(edges, options.declared);
        let group =
            |ends| Adjacency::group(&Listed { edges, weights, ends }, weights.is_some(), bound);
        let (outgoing, incoming) = if options.directed {
            (group(Ends::Source), Some(group(Ends::Destination)))
        } else {
            (group(Ends::Both), None)
        };
        let has_edge = |v| {
            outgoing.degree(v) > 0 || incoming.as_ref().is_some_and(|lists| lists.degree(v) > 0)
        };
        let mut vertices = Bitmap::from_fn(bound, has_edge);
        options.declared.iter().for_each(|&v| vertices.insert(v));
        let vertex_count = vertices.count();
        Self { outgoing, incoming, vertices, vertex_count, edge_count: edges.len() as u64 }
    }

    /// Copies `view` without weights. Of in-neighbors that the view does not keep, each vertex has
    /// them in ascending order.
    ///
    /// Where the view shows fewer neighbors than a degree says, because reading them failed, the
    /// copy has vertex 0 instead: it is worth nothing then, and the view knows why.
    pub fn from_view<V: GraphView>(view: &V) -> Self {
        let outgoing = Adjacency::of_view(view, Direction::Out);
        let incoming = view.is_directed().then(|| match view.has_in_neighbors() {
            true => Adjacency::of_view(view, Direction::In),
            false => outgoing.reversed(),
        });
        let vertices = Bitmap::from_fn(view.vertex_bound(), |v| view.is_vertex(v));
        let vertex_count = vertices.count();
        Self { outgoing, incoming, vertices, vertex_count, edge_count: view.edge_count() }
    }

    /// Copies `view` with its weights, the edges of a pair in the order in which they came; like [`Self::from_view`] if reading
    /// fails.
    pub fn from_weighted_view<V: WeightedView>(view: &V) -> Self {
        let (outgoing, incoming) = (|v| view.out_edges_by_age(v), |v| view.in_edges_by_age(v));
        Self::copy(view, Renaming::none(view), true, outgoing, incoming)
    }

    /// Copies `view` without weights, each vertex at its place of `numbering`, which is the view's;
    /// like [`Self::from_view`] if reading fails.
    pub fn compact<V: GraphView>(view: &V, numbering: &Numbering) -> Self {
        let placed = |v| (numbering.place(v).unwrap_or(0), 1.0);
        let outgoing = |v| view.out_neighbors(v).map(placed);
        let incoming = |v| view.in_neighbors(v).map(placed);
        Self::copy(view, Renaming::places(numbering), false, outgoing, incoming)
    }

    /// Copies `view` with its weights, each vertex at its place of `numbering`; like
    /// [`Self::compact`].
    pub fn compact_weighted<V: WeightedView>(view: &V, numbering: &Numbering) -> Self {
        let placed = |(v, weight)| (numbering.place(v).unwrap_or(0), weight);
        let outgoing = |v| view.out_edges_by_age(v).map(placed);
        let incoming = |v| view.in_edges_by_age(v).map(placed);
        Self::copy(view, Renaming::places(numbering), true, outgoing, incoming)
    }

    /// Copies what `outgoing` and `incoming` show of the vertices of `view`, by their old ids.
    fn copy<V: GraphView, O, I>(
        view: &V,
        renaming: Renaming<'_>,
        weighted: bool,
        outgoing: impl Fn(VertexId) -> O + Sync + Send,
        incoming: impl Fn(VertexId) -> I + Sync + Send,
    ) -> Self
    where
        O: Iterator<Item = (VertexId, f32)>,
        I: Iterator<Item = (VertexId, f32)>,
    {
        let Renaming { bound, ids } = renaming;
        let old = |v: VertexId| ids.map_or(v, |ids| ids[v as usize]);
        let outgoing =
            Adjacency::copy(bound, weighted, |v| view.out_degree(old(v)), |v| outgoing(old(v)));
        let incoming = view.is_directed().then(|| match view.has_in_neighbors() {
            true => {
                Adjacency::copy(bound, weighted, |v| view.in_degree(old(v)), |v| incoming(old(v)))
            }
            false => outgoing.reversed(),
        });
        let vertices = Bitmap::from_fn(bound, |v| view.is_vertex(old(v)));
        let vertex_count = vertices.count();
        Self { outgoing, incoming, vertices, vertex_count, edge_count: view.edge_count() }
    }

    /// Returns the same graph with each vertex's neighbors in ascending order; parallel edges
    /// stay in the order they had.
    pub fn sorted(mut self) -> Self {
        self.outgoing.sort();
        if let Some(incoming) = &mut self.incoming {
            incoming.sort();
        }
        self
    }

    /// Copies the out-neighbors of `view` alone, with their weights if `weighted`, each vertex at its place of a numbering
    /// if there is one; like [`Self::from_view`] if reading fails.
    pub fn out_arrays_of<V: WeightedView>(
        view: &V,
        numbering: Option<&Numbering>,
        weighted: bool,
    ) -> OutArrays {
        if numbering.is_none() && !weighted {
            return Adjacency::of_view(view, Direction::Out).into_arrays();
        }
        let Renaming { bound, ids } = numbering.map_or(Renaming::none(view), Renaming::places);
        let old = |v: VertexId| ids.map_or(v, |ids| ids[v as usize]);
        let new = |v| numbering.map_or(v, |numbering| numbering.place(v).unwrap_or(0));
        let degree = |v| view.out_degree(old(v));
        let lists = match weighted {
            true => Adjacency::copy(bound, true, degree, |v| {
                view.out_edges_by_age(old(v)).map(|(u, weight)| (new(u), weight))
            }),
            false => Adjacency::copy(bound, false, degree, |v| {
                view.out_neighbors(old(v)).map(|u| (new(u), 1.0))
            }),
        };
        lists.into_arrays()
    }

    /// Returns the arrays of out-neighbors.
    pub fn into_out_arrays(self) -> OutArrays {
        self.outgoing.into_arrays()
    }

    /// Returns the out-neighbors of `v` in the order of the source.
    #[inline]
    pub fn out_slice(&self, v: VertexId) -> &[VertexId] {
        self.outgoing.neighbors(v)
    }

    /// Returns the in-neighbors of `v` in the order of the source.
    #[inline]
    pub fn in_slice(&self, v: VertexId) -> &[VertexId] {
        self.incoming().neighbors(v)
    }

    /// Returns the weights of the edges that leave `v`, beside [`Self::out_slice`]; `None` if the
    /// graph has no weights.
    #[inline]
    pub fn out_weights(&self, v: VertexId) -> Option<&[f32]> {
        self.outgoing.weights(v)
    }

    /// Returns whether the edges were given weights. If not, [`WeightedView`] shows them as 1.
    pub fn is_weighted(&self) -> bool {
        self.outgoing.weights.is_some()
    }

    fn incoming(&self) -> &Adjacency {
        self.incoming.as_ref().unwrap_or(&self.outgoing)
    }

    #[inline]
    fn lists(&self, direction: Direction) -> &Adjacency {
        match direction {
            Direction::Out => &self.outgoing,
            Direction::In => self.incoming(),
        }
    }
}

/// Which ids the vertices of a copy have.
struct Renaming<'a> {
    bound: u32,
    /// The old id of each new one; the same if `None`.
    ids: Option<&'a [VertexId]>,
}

impl<'a> Renaming<'a> {
    fn none(view: &impl GraphView) -> Self {
        Self { bound: view.vertex_bound(), ids: None }
    }

    fn places(numbering: &'a Numbering) -> Self {
        let ids = numbering.ids();
        Self { bound: ids.len() as u32, ids: Some(ids) }
    }
}

impl GraphView for Csr {
    fn vertex_bound(&self) -> u32 {
        self.vertices.bound()
    }

    fn vertex_ranges(&self) -> Vec<Range<VertexId>> {
        let bound = self.vertices.bound();
        let held = (0_u32..).zip(self.vertices.words()).filter(|(_, word)| **word != 0);
        held.map(|(i, _)| i * 64..(i * 64).saturating_add(64).min(bound)).collect()
    }

    fn vertex_count(&self) -> u32 {
        self.vertex_count
    }

    #[inline]
    fn is_vertex(&self, v: VertexId) -> bool {
        self.vertices.contains(v)
    }

    fn edge_count(&self) -> u64 {
        self.edge_count
    }

    fn is_directed(&self) -> bool {
        self.incoming.is_some()
    }

    #[inline]
    fn out_degree(&self, v: VertexId) -> u32 {
        self.outgoing.degree(v)
    }

    #[inline]
    fn in_degree(&self, v: VertexId) -> u32 {
        self.incoming().degree(v)
    }

    #[inline]
    fn out_neighbors(&self, v: VertexId) -> impl Iterator<Item = VertexId> + '_ {
        self.outgoing.neighbors(v).iter().copied()
    }

    #[inline]
    fn in_neighbors(&self, v: VertexId) -> impl Iterator<Item = VertexId> + '_ {
        self.incoming().neighbors(v).iter().copied()
    }

    #[inline]
    fn for_each_degree(
        &self,
        direction: Direction,
        range: Range<VertexId>,
        mut f: impl FnMut(VertexId, u32),
    ) {
        self.lists(direction).ranges(range).for_each(|(v, list)| f(v, list.len() as u32));
    }

    #[inline(always)]
    fn load_ahead(&self, direction: Direction, vertices: &[VertexId]) {
        self.lists(direction).load_ahead(vertices);
    }

    #[inline(always)]
    fn visit_listed(
        &self,
        direction: Direction,
        vertices: &[VertexId],
        visitor: &mut impl ListVisitor,
    ) {
        self.lists(direction).visit_listed(vertices, visitor);
    }

    #[inline]
    fn visit_neighbors(
        &self,
        direction: Direction,
        range: Range<VertexId>,
        visitor: &mut impl ListVisitor,
    ) {
        self.lists(direction).visit(range, visitor);
    }
}

impl WeightedView for Csr {
    #[inline]
    fn out_edges(&self, v: VertexId) -> impl Iterator<Item = (VertexId, f32)> + '_ {
        self.outgoing.edges(v)
    }

    #[inline]
    fn in_edges(&self, v: VertexId) -> impl Iterator<Item = (VertexId, f32)> + '_ {
        self.incoming().edges(v)
    }
}

/// The id after the largest one named; 0 if there is none.
fn vertex_bound(edges: &[Edge], declared: &[VertexId]) -> u32 {
    let of_edges =
        par::map_chunks(edges, EDGE_GRAIN, |edges| edges.iter().map(|&(u, v)| u.max(v)).max());
    let largest = of_edges.into_iter().flatten().chain(declared.iter().copied()).max();
    largest.map_or(0, |id| {
        assert!(id <= MAX_VERTEX_ID, "vertex id {id} is above {MAX_VERTEX_ID}");
        id + 1
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the invariants that the header numbers.
    fn check(g: &Csr) {
        for lists in [Some(&g.outgoing), g.incoming.as_ref()].into_iter().flatten() {
            assert_eq!(lists.offsets.len(), g.vertex_bound() as usize + 1, "I1");
            assert_eq!(
                (lists.offsets[0], *lists.offsets.last().unwrap()),
                (0, lists.targets.len() as u64),
                "I1"
            );
            assert!(lists.offsets.is_sorted(), "I1");
            assert!(lists.targets.iter().all(|&v| g.is_vertex(v)), "I2");
            assert!(lists.weights.as_ref().is_none_or(|w| w.len() == lists.targets.len()), "I1");
        }
        let loop_count = |v| g.out_neighbors(v).filter(|&u| u == v).count() as u64;
        let loops: u64 = (0..g.vertex_bound()).map(loop_count).sum();
        let kept = if g.is_directed() { g.edge_count() } else { 2 * g.edge_count() - loops };
        assert_eq!(g.outgoing.targets.len() as u64, kept, "I3");
        assert!(g.incoming.as_ref().is_none_or(|lists| lists.targets.len() as u64 == kept), "I3");
    }

    /// Edges over `bound` ids with self-loops and parallel edges, most of them at small ids.
    fn edges(bound: u32, edge_count: u32) -> Vec<Edge> {
        let spread = |i: u32| i.wrapping_mul(0x9e37_79b9) >> 8;
        (0..edge_count).map(|i| (spread(i) % bound, spread(i ^ 0x5555) % (i % bound + 1))).collect()
    }

    #[test]
    fn invariants_hold_however_it_is_built() {
        for (bound, edge_count) in [(1, 0), (1, 3), (10, 40), (1000, 300), (3000, 140_000)] {
            let edges = edges(bound, edge_count);
            let weights: Vec<_> = (0..edge_count).map(|i| i as f32).collect();
            for directed in [true, false] {
                let options = CsrOptions { directed, declared: &[bound + 7, 3] };
                let plain = Csr::from_edges(&edges, None, options);
                let weighted = Csr::from_edges(&edges, Some(&weights), options);
                check(&plain);
                check(&weighted);
                check(&Csr::from_view(&plain));
                check(&Csr::from_weighted_view(&weighted));
                let lists = weighted.clone().into_out_arrays();
                let given = Csr::from_lists(lists.0, lists.1, lists.2, directed).unwrap();
                check(&given);
                assert_eq!(given.edge_count(), weighted.edge_count());
                check(&weighted.sorted());
            }
        }
    }
}
