//! The view that kernels read: lists come out of the caches, and what is needed next is read ahead.
//!
//! Source: ChunkGraph §3.3 ("differentiated chunk access optimization"). Vertices are numbered in the
//! order of their lists, so a pass over ascending numbers reads each file from front to back.
//!
//! # Reading ahead
//! A pass asks for the chunks of some hundred KiB beyond the range that it is shown, but for those whose
//! vertices it does not want. A step from vertices here and there first asks for the pages of the index that
//! have their entries, then for the chunks with their lists, in the order of the file; neighboring
//! pieces are one read. Once all pieces are in frames that stay, nothing is asked for.

use std::ops::Range;
use std::sync::Arc;

use everedge_core::{Direction, GraphView, ListVisitor, VertexId, Wanted, WeightedView};

use crate::cache::{Held, Purpose};
use crate::codec::Decoder;
use crate::entry::{ENTRIES, Entry, LEVELS, Place};
use crate::list::{Edges, Neighbors, decoder};
use crate::store::Store;

/// Bytes of lists that a pass reads ahead.
const AHEAD_BYTES: u64 = 1 << 20;
/// Vertices that a pass reads ahead, at least and at most.
const AHEAD: [u64; 2] = [1 << 10, 1 << 16];
/// Vertices here and there whose lists are asked for at once.
const LISTED: usize = 1 << 10;

/// A sealed graph as kernels see it. Vertices are numbered from 0 on, without gaps; see
/// [`Store::id_of`] for the ids that they had.
#[derive(Clone)]
pub struct ChunksView {
    store: Arc<Store>,
    /// How many vertices a pass reads ahead.
    ahead: u32,
}

impl ChunksView {
    /// Returns the view of an open graph.
    pub fn new(store: Arc<Store>) -> Self {
        let form = store.form();
        let vertices = u64::from(form.vertices).max(1);
        let bytes_each =
            (form.list_file_bytes() / form.sides.len().max(1) as u64 / vertices).max(1);
        let ahead = (AHEAD_BYTES / bytes_each).clamp(AHEAD[0], AHEAD[1]) as u32;
        Self { store, ahead }
    }

    /// Returns the open graph.
    pub fn store(&self) -> &Arc<Store> {
        &self.store
    }

    /// Returns whether edges carry weights.
    pub fn is_weighted(&self) -> bool {
        self.store.form().weighted
    }

    fn neighbors(&self, direction: Direction, v: VertexId) -> Neighbors<'_> {
        Neighbors::of(&self.store, self.store.side(direction), v)
    }

    /// Asks for what a pass reads next that is shown `range` now.
    fn read_ahead(&self, side: usize, range: &Range<VertexId>, visitor: &impl ListVisitor) {
        if range.is_empty() || self.store.is_all_there() {
            return;
        }
        let bound = self.vertex_bound();
        let end = |ahead: u32| range.end.saturating_add(ahead).min(bound);
        // The index is read twice as far ahead, as its entries say what to read.
        let pages = range.start..end(self.ahead.saturating_mul(2));
        self.read_pages(side, pages.step_by(ENTRIES as usize), Purpose::Pass);
        let mut cursor = Cursor::new(&self.store, side, Purpose::Pass);
        let has_begun = match cursor.piece_of(range.start) {
            None => true,
            Some((level, piece)) => !self.store.cache(level).is_nowhere(piece),
        };
        let first = match has_begun {
            true => end(self.ahead.saturating_sub(range.len() as u32)).max(range.start),
            false => range.start,
        };
        let wanted = (first..end(self.ahead)).filter(|&v| visitor.wants(v));
        cursor.read(wanted);
    }

    /// Asks for the pages of the index that have the entries of ascending vertices.
    fn read_pages(&self, side: usize, vertices: impl Iterator<Item = VertexId>, purpose: Purpose) {
        let mut last = None;
        let pages = vertices.map(|v| self.store.index_piece(side, v));
        let pages = pages.filter(move |&page| last.replace(page) != Some(page));
        self.store.cache(0).read_ahead(pages, purpose);
    }
}

/// Reads entries and lists one after the other, and keeps the pieces that it read last.
struct Cursor<'a> {
    store: &'a Store,
    side: usize,
    purpose: Purpose,
    page: Option<(u32, Held<'a>)>,
    chunks: [Option<(u32, Held<'a>)>; LEVELS],
}

impl<'a> Cursor<'a> {
    fn new(store: &'a Store, side: usize, purpose: Purpose) -> Self {
        Self { store, side, purpose, page: None, chunks: [const { None }; LEVELS] }
    }

    #[inline]
    fn entry(&mut self, v: VertexId) -> Entry {
        let piece = self.store.index_piece(self.side, v);
        if self.page.as_ref().is_none_or(|&(held, _)| held != piece) {
            self.page = None;
            if self.store.has_failed() {
                return Entry::NONE;
            }
            self.page = self.store.get(0, piece, self.purpose).map(|page| (piece, page));
        }
        self.page.as_ref().map_or(Entry::NONE, |(_, page)| Entry::read(page, v % ENTRIES))
    }

    /// Returns the first piece with the list of `v`, unless it stands in the index.
    fn piece_of(&mut self, v: VertexId) -> Option<(usize, u32)> {
        match self.entry(v).place(self.store.form().mini_max()) {
            Place::Mini(_) => None,
            Place::Chunk { level, chunk, .. } => {
                Some((level, self.store.chunk_piece(self.side, level, chunk)?))
            }
            Place::Super(first) => Some((LEVELS - 1, self.store.long_piece(self.side, first)?)),
        }
    }

    /// Asks for the pieces with the lists of some vertices.
    fn read(&mut self, vertices: impl Iterator<Item = VertexId>) {
        let mut pieces: [Vec<u32>; LEVELS] = [const { Vec::new() }; LEVELS];
        for v in vertices {
            if let Some((level, piece)) = self.piece_of(v)
                && pieces[level].last() != Some(&piece)
                && self.store.cache(level).is_nowhere(piece)
            {
                pieces[level].push(piece);
            }
        }
        for (level, mut pieces) in pieces.into_iter().enumerate() {
            pieces.sort_unstable();
            pieces.dedup();
            self.store.cache(level).read_ahead(pieces.into_iter(), self.purpose);
        }
    }

    /// Shows the list of `v`.
    #[inline]
    fn visit(&mut self, v: VertexId, visitor: &mut impl ListVisitor) {
        let entry = self.entry(v);
        let form = self.store.form();
        if let Place::Chunk { level, chunk, offset } = entry.place(form.mini_max())
            && let Some(piece) = self.store.chunk_piece(self.side, level, chunk)
        {
            let kept = &mut self.chunks[level];
            if kept.as_ref().is_none_or(|&(held, _)| held != piece) {
                *kept = None;
                let held = self.store.get(level, piece, self.purpose);
                *kept = held.map(|held| (piece, held));
            }
            if let Some((_, held)) = kept
                && let Some(decoder) = decoder(self.store, held, offset, entry.degree)
            {
                return visitor.visit(v, InChunk { bytes: held, decoder });
            }
        }
        visitor.visit(v, Neighbors::at(self.store, self.side, (v, entry), self.purpose));
    }
}

/// The neighbors of a vertex in a chunk that somebody else holds.
struct InChunk<'a> {
    bytes: &'a [u8],
    decoder: Decoder,
}

impl Iterator for InChunk<'_> {
    type Item = VertexId;

    #[inline]
    fn next(&mut self) -> Option<VertexId> {
        self.decoder.next(self.bytes)
    }

    #[inline]
    fn fold<B, F: FnMut(B, VertexId) -> B>(self, init: B, mut f: F) -> B {
        let mut sum = Some(init);
        self.decoder.for_each(self.bytes, |id| sum = sum.take().map(|sum| f(sum, id)));
        sum.expect("it is put back")
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
        self.read_ahead(side, &range, visitor);
        let mut cursor = Cursor::new(&self.store, side, Purpose::Pass);
        for part in Wanted::parts(range) {
            for (v, _) in Wanted::of(part, visitor).iter(0) {
                cursor.visit(v, visitor);
            }
        }
    }

    fn visit_listed(
        &self,
        direction: Direction,
        vertices: &[VertexId],
        visitor: &mut impl ListVisitor,
    ) {
        let side = self.store.side(direction);
        let mut cursor = Cursor::new(&self.store, side, Purpose::Lookup);
        for vertices in vertices.chunks(LISTED) {
            if !self.store.is_all_there() {
                let mut sorted = vertices.to_vec();
                sorted.sort_unstable();
                self.read_pages(side, sorted.iter().copied(), Purpose::Lookup);
                cursor.read(sorted.into_iter());
            }
            vertices.iter().for_each(|&v| cursor.visit(v, visitor));
        }
    }

    fn for_each_degree(
        &self,
        direction: Direction,
        range: Range<VertexId>,
        mut f: impl FnMut(VertexId, u32),
    ) {
        let side = self.store.side(direction);
        if !self.store.is_all_there() {
            let end = range.end.saturating_add(self.ahead).min(self.vertex_bound());
            self.read_pages(side, (range.start..end).step_by(ENTRIES as usize), Purpose::Pass);
        }
        let mut cursor = Cursor::new(&self.store, side, Purpose::Pass);
        range.for_each(|v| f(v, cursor.entry(v).degree));
    }
}

impl WeightedView for ChunksView {
    fn out_edges(&self, v: VertexId) -> impl Iterator<Item = (VertexId, f32)> + '_ {
        Edges(self.neighbors(Direction::Out, v))
    }

    fn in_edges(&self, v: VertexId) -> impl Iterator<Item = (VertexId, f32)> + '_ {
        Edges(self.neighbors(Direction::In, v))
    }
}
