//! The view that kernels read: lists come out of the caches, and what is needed next is read ahead.
//!
//! Source: ChunkGraph §3.3 ("differentiated chunk access optimization"). Vertices are numbered in the
//! order of their lists, so a pass over ascending numbers reads each file from front to back.
//!
//! # Reading ahead
//! A pass asks for the chunks that come next (`pass.rs`), and so does a step from vertices here and there (`ahead.rs`).
//! Once all pieces are in frames that stay, nothing is asked for.

use std::ops::Range;
use std::sync::Arc;

use everedge_core::{Direction, GraphView, ListVisitor, VertexId, Wanted, WeightedView};

use crate::ahead;
use crate::cache::Purpose;
use crate::cursor::{Cursor, Decoded};
use crate::entry::ENTRIES;
use crate::list::{Edges, Neighbors};
use crate::pass::Pass;
use crate::store::Store;

/// Pages of the index that are asked for before degrees are read.
const PAGES_AHEAD: u32 = 128;

/// A sealed graph as kernels see it. Vertices are numbered from 0 on, without gaps; see
/// [`Store::id_of`] for the ids that they had.
#[derive(Clone)]
pub struct ChunksView {
    store: Arc<Store>,
}

impl ChunksView {
    /// Returns the view of an open graph.
    pub fn new(store: Arc<Store>) -> Self {
        Self { store }
    }

    /// Returns the open graph.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// Returns whether edges carry weights.
    pub fn is_weighted(&self) -> bool {
        self.store.form().weighted
    }

    /// Calls `f(v, neighbor, weight)` for each edge of some ascending vertices, parallel edges in their order; the weight is 1 if
    /// there are none. From the first error of a read on there are no edges ([`Store::check`]).
    ///
    /// Cost: the list of each vertex is read once; those that lie near each other are one read.
    pub fn for_each_edge_of(
        &self,
        direction: Direction,
        vertices: &[VertexId],
        mut f: impl FnMut(VertexId, VertexId, f32),
    ) {
        let side = self.store.side(direction);
        let mut cursor = Cursor::new(&self.store, side, Purpose::Lookup);
        let reads_ahead = self.store.reads_ahead(side);
        for (i, &v) in vertices.iter().enumerate() {
            if reads_ahead {
                ahead::ask(&self.store, side, &vertices[i..]);
            }
            cursor.for_each_edge(v, |u, weight| f(v, u, weight));
        }
    }

    pub(crate) fn neighbors(&self, direction: Direction, v: VertexId) -> Neighbors<'_> {
        Neighbors::of(&self.store, self.store.side(direction), v)
    }
}

impl GraphView for ChunksView {
    fn vertex_bound(&self) -> u32 {
        self.store.form().vertices
    }

    fn vertex_count(&self) -> u32 {
        self.store.form().vertices
    }

    #[inline]
    fn is_vertex(&self, v: VertexId) -> bool {
        v < self.store.form().vertices
    }

    fn edge_count(&self) -> u64 {
        self.store.form().edges
    }

    fn is_directed(&self) -> bool {
        self.store.form().directed
    }

    fn has_in_neighbors(&self) -> bool {
        let form = self.store.form();
        !form.directed || form.sides.len() > 1
    }

    #[inline]
    fn out_degree(&self, v: VertexId) -> u32 {
        self.store.entry(self.store.side(Direction::Out), v).degree
    }

    #[inline]
    fn in_degree(&self, v: VertexId) -> u32 {
        self.store.entry(self.store.side(Direction::In), v).degree
    }

    fn out_neighbors(&self, v: VertexId) -> impl Iterator<Item = VertexId> + '_ {
        self.neighbors(Direction::Out, v)
    }

    fn in_neighbors(&self, v: VertexId) -> impl Iterator<Item = VertexId> + '_ {
        self.neighbors(Direction::In, v)
    }

    fn visit_neighbors(
        &self,
        direction: Direction,
        range: Range<VertexId>,
        visitor: &mut impl ListVisitor,
    ) {
        let side = self.store.side(direction);
        let mut pass = Pass::new(&self.store, side, range.clone());
        let mut cursor = Cursor::new(&self.store, side, Purpose::Pass);
        let mut decoded = Decoded::default();
        for part in Wanted::parts(range) {
            for (v, _) in Wanted::of(part, visitor).iter(0) {
                if let Some(pass) = &mut pass {
                    pass.advance(v, visitor);
                }
                decoded.add(v, &mut cursor, visitor);
            }
            decoded.show(visitor);
        }
    }

    fn visit_listed(
        &self,
        direction: Direction,
        vertices: &[VertexId],
        visitor: &mut impl ListVisitor,
    ) {
        let mut decoded = Decoded::default();
        let side = self.store.side(direction);
        let mut cursor = Cursor::new(&self.store, side, Purpose::Lookup);
        let reads_ahead = self.store.reads_ahead(side);
        for (i, &v) in vertices.iter().enumerate() {
            if reads_ahead {
                ahead::ask(&self.store, side, &vertices[i..]);
            }
            decoded.add(v, &mut cursor, visitor);
        }
        decoded.show(visitor);
    }

    fn lists_are_distinct(&self) -> bool {
        self.store.form().distinct
    }

    fn reads_in_order(&self) -> bool {
        (0..self.store.form().sides.len()).any(|side| self.store.reads_ahead(side))
    }

    fn load_ahead(&self, direction: Direction, vertices: &[VertexId]) {
        let side = self.store.side(direction);
        if self.store.reads_ahead(side) {
            ahead::ask(&self.store, side, vertices);
        }
    }

    fn for_each_degree(
        &self,
        direction: Direction,
        range: Range<VertexId>,
        mut f: impl FnMut(VertexId, u32),
    ) {
        let side = self.store.side(direction);
        if self.store.reads_ahead(side) {
            let page = range.start / ENTRIES;
            self.store.read_pages_ahead(side, page..page + PAGES_AHEAD);
        }
        let mut cursor = Cursor::new(&self.store, side, Purpose::Pass);
        range.for_each(|v| f(v, cursor.entry(v).degree));
    }
}

impl WeightedView for ChunksView {
    fn out_edges(&self, v: VertexId) -> impl Iterator<Item = (VertexId, f32)> + '_ {
        Edges::of(&self.store, self.store.side(Direction::Out), v)
    }

    fn in_edges(&self, v: VertexId) -> impl Iterator<Item = (VertexId, f32)> + '_ {
        Edges::of(&self.store, self.store.side(Direction::In), v)
    }
}
