//! Snapshots: shared shards and the blocks that they point to.
//!
//! Spans are shared with the graph until it changes them, and blocks that a span points to are not changed
//! while somebody shares it, so a snapshot stays as it is while writers go on. Neighbors ascend.

use std::ops::Range;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_core::memory::prefetch;
use everedge_core::{
    Direction, GraphView, ListVisitor, VertexId, Wanted, WeightedView, aligned_parts, visit_ahead,
};
use everedge_live::{
    Archive, SHARD_SPAN, Shared, Totals, fold_edges, fold_pairs, fold_words, frozen_view, present,
};
use everedge_medium::HeldWords;

use super::layout::Blocks;
use super::lpmb::{BlockRef, LINE_WORDS, REF_WORDS};
use super::merging::first_from;
use super::pool::LINE_BYTES;
use super::shard::{Shard, Spans};
use super::span::{Row, SPAN, Span};

/// How many lists after one that is seen the next one is loaded into the cache.
const READ_AHEAD: usize = 8;
/// How many blocks of a list after one that is read the next one is: they lie anywhere.
const BLOCKS_AHEAD: usize = 3;

/// A frozen view of a live graph.
pub struct BlocksSnapshot {
    shards: Vec<Shared<Shard>>,
    /// By list, by shard.
    lists: [Vec<Option<Arc<Spans>>>; 2],
    file: HeldWords,
    block_lines: u32,
    totals: Totals,
}

frozen_view!(BlocksSnapshot);

impl BlocksSnapshot {
    pub(super) fn new(archive: &Archive<Blocks>, layout: &Blocks) -> Self {
        let region = layout.pool.region();
        let of_shard = |shard: &Shared<Shard>, list: usize| shard.get()?.lists.get(list).cloned();
        let lists = [0, 1].map(|list| match list < layout.options.list_count() {
            true => archive.shards.iter().map(|shard| of_shard(shard, list)).collect(),
            false => Vec::new(),
        });
        Self {
            shards: archive.shards.clone(),
            lists,
            file: region.hold(0, (region.len() / 4) as usize),
            block_lines: (layout.pool.block_bytes() / LINE_BYTES) as u32,
            totals: archive.totals(&layout.options),
        }
    }

    #[inline]
    fn span(&self, v: VertexId, list: usize) -> Option<&Span> {
        let spans = self.lists[list].get(v as usize / SHARD_SPAN)?.as_ref()?;
        spans[v as usize % SHARD_SPAN / SPAN].as_deref()
    }

    fn entry_words(&self) -> usize {
        if self.totals.weighted { 2 } else { 1 }
    }

    #[inline]
    fn degree(&self, v: VertexId, list: usize) -> u32 {
        self.span(v, list).map_or(0, |span| span.row(v as usize % SPAN).degree)
    }

    #[inline(always)]
    fn entries(&self, v: VertexId, list: usize) -> Entries<'_> {
        match self.span(v, list) {
            Some(span) => self.entries_of(span, span.row(v as usize % SPAN)),
            None => self.entries_in(&[], &[]),
        }
    }

    #[inline(always)]
    fn entries_of<'a>(&'a self, span: &'a Span, row: Row) -> Entries<'a> {
        let (here, table) = match row.is_in_blocks() {
            false => (span.entries(row, self.entry_words()), &[][..]),
            true => (&[][..], span.table(row)),
        };
        self.entries_in(here, table)
    }

    #[inline(always)]
    fn entries_in<'a>(&'a self, here: &'a [AtomicU32], table: &'a [AtomicU32]) -> Entries<'a> {
        let (file, block_lines, weighted) = (&self.file, self.block_lines, self.totals.weighted);
        Entries { here: here.iter(), table, file, block_lines, weighted }
    }

    /// Starts loading the beginning of a list into the cache.
    #[inline]
    fn warm(&self, v: VertexId, list: usize) {
        if let Some(span) = self.span(v, list) {
            self.warm_list(span, span.row(v as usize % SPAN));
        }
    }

    #[inline(always)]
    fn warm_list(&self, span: &Span, row: Row) {
        match row.is_in_blocks() {
            false => prefetch(span.entries(row, self.entry_words())),
            true => load_block(span.table(row), &self.file, self.entry_words()),
        }
    }

    /// Shows lists of one span.
    #[inline]
    fn visit_span<V: ListVisitor>(&self, span: &Span, range: Range<VertexId>, visitor: &mut V) {
        let row = |v: VertexId| span.row(v as usize % SPAN);
        let warm = |v: VertexId| self.warm_list(span, row(v));
        if V::STOPS_EARLY {
            let wanted = Wanted::of(range, visitor);
            for (v, ahead) in wanted.iter(READ_AHEAD) {
                if let Some(ahead) = ahead {
                    warm(ahead);
                }
                visitor.visit(v, Neighbors(self.entries_of(span, row(v))));
            }
            return;
        }
        let (end, ahead) = (range.end, READ_AHEAD as u32);
        for v in range {
            // Where a block lies is known when its table is there.
            if v + 2 * ahead < end {
                span.warm((v + 2 * ahead) as usize % SPAN);
            }
            if v + ahead < end && row(v + ahead).is_in_blocks() {
                warm(v + ahead);
            }
            if !visitor.wants(v) {
                continue;
            }
            let row = row(v);
            match row.is_in_blocks() || self.totals.weighted {
                // Most lists: nothing else is to stand in the loop.
                false => {
                    let neighbors = span.entries(row, 1).iter();
                    visitor.visit(v, neighbors.map(|word| word.load(Relaxed)));
                }
                true => visitor.visit(v, Neighbors(self.entries_of(span, row))),
            }
        }
    }

    /// Returns the entries of a list from the first on that is not before `neighbor`.
    ///
    /// Cost: two binary searches, of the list's blocks and in one of them.
    fn entries_from(&self, v: VertexId, list: usize, neighbor: VertexId) -> Entries<'_> {
        let entries = self.entries(v, list);
        let entry_words = self.entry_words();
        let (blocks, _) = entries.table.as_chunks::<REF_WORDS>();
        // Parallel edges may begin in the block before the one that begins with them.
        let before = blocks.partition_point(|block| block[0].load(Relaxed) < neighbor);
        let (here, table) = match blocks.get(before.saturating_sub(1)) {
            Some(block) => {
                let block = BlockRef::load(block).entries(&self.file, entry_words);
                (block, &entries.table[before.max(1) * REF_WORDS..])
            }
            None => (entries.here.as_slice(), entries.table),
        };
        let from = first_from(here, entry_words, |word| word.load(Relaxed) < neighbor);
        Entries { here: here[from..].iter(), table, ..entries }
    }

    /// Returns the edges from `u` to `v`.
    fn between(&self, u: VertexId, v: VertexId) -> impl Iterator<Item = (VertexId, f32)> + '_ {
        Edges(self.entries_from(u, 0, v)).take_while(move |&(neighbor, _)| neighbor == v)
    }
}

impl GraphView for BlocksSnapshot {
    fn vertex_bound(&self) -> u32 {
        self.totals.vertex_bound
    }

    fn vertex_ranges(&self) -> Vec<Range<VertexId>> {
        let held = present(&self.shards).filter(|(_, shard)| shard.vertex_count > 0);
        held.map(|(_, shard)| shard.first_vertex..shard.first_vertex + SHARD_SPAN as u32).collect()
    }

    fn vertex_count(&self) -> u32 {
        self.totals.vertex_count
    }

    #[inline]
    fn is_vertex(&self, v: VertexId) -> bool {
        let shard = self.shards.get(v as usize / SHARD_SPAN);
        shard.is_some_and(|shard| shard.is_vertex(v as usize % SHARD_SPAN))
    }

    fn edge_count(&self) -> u64 {
        self.totals.edge_count
    }

    fn is_directed(&self) -> bool {
        self.totals.directed
    }

    fn has_in_neighbors(&self) -> bool {
        self.totals.has_in_neighbors()
    }

    #[inline]
    fn out_degree(&self, v: VertexId) -> u32 {
        self.degree(v, 0)
    }

    #[inline]
    fn in_degree(&self, v: VertexId) -> u32 {
        self.degree(v, self.totals.list_of(Direction::In))
    }

    #[inline(always)]
    fn out_neighbors(&self, v: VertexId) -> impl Iterator<Item = VertexId> + '_ {
        Neighbors(self.entries(v, 0))
    }

    #[inline(always)]
    fn in_neighbors(&self, v: VertexId) -> impl Iterator<Item = VertexId> + '_ {
        Neighbors(self.entries(v, self.totals.list_of(Direction::In)))
    }

    fn edges_between(&self, u: VertexId, v: VertexId) -> u32 {
        self.between(u, v).count() as u32
    }

    fn has_edge(&self, u: VertexId, v: VertexId) -> bool {
        self.between(u, v).next().is_some()
    }

    fn for_each_degree(
        &self,
        direction: Direction,
        range: Range<VertexId>,
        mut f: impl FnMut(VertexId, u32),
    ) {
        let list = self.totals.list_of(direction);
        for part in aligned_parts::<SPAN>(range) {
            match self.span(part.start, list) {
                Some(span) => part.for_each(|v| f(v, span.row(v as usize % SPAN).degree)),
                None => part.for_each(|v| f(v, 0)),
            }
        }
    }

    fn load_ahead(&self, direction: Direction, vertices: &[VertexId]) {
        if let Some(&v) = vertices.get(READ_AHEAD) {
            self.warm(v, self.totals.list_of(direction));
        }
    }

    fn visit_listed(
        &self,
        direction: Direction,
        vertices: &[VertexId],
        visitor: &mut impl ListVisitor,
    ) {
        let list = self.totals.list_of(direction);
        let load = |v: VertexId| {
            if let Some(span) = self.span(v, list) {
                span.warm_row(v as usize % SPAN);
            }
        };
        let find = |v| self.warm(v, list);
        visit_ahead(vertices, (), (load, find), |v, ()| {
            visitor.visit(v, Neighbors(self.entries(v, list)));
        });
    }

    fn visit_neighbors(
        &self,
        direction: Direction,
        range: Range<VertexId>,
        visitor: &mut impl ListVisitor,
    ) {
        let list = self.totals.list_of(direction);
        for part in aligned_parts::<SPAN>(range) {
            let (span, next) = (self.span(part.start, list), self.span(part.end, list));
            next.inspect(|next| next.warm_rows());
            match span {
                Some(span) => self.visit_span(span, part, visitor),
                // Vertices without neighbors.
                None => part.for_each(|v| {
                    if visitor.wants(v) {
                        visitor.visit(v, std::iter::empty());
                    }
                }),
            }
            next.inspect(|next| (0..2 * READ_AHEAD).for_each(|local| next.warm(local)));
        }
    }
}

impl WeightedView for BlocksSnapshot {
    #[inline(always)]
    fn out_edges(&self, v: VertexId) -> impl Iterator<Item = (VertexId, f32)> + '_ {
        Edges(self.entries(v, 0))
    }

    #[inline(always)]
    fn in_edges(&self, v: VertexId) -> impl Iterator<Item = (VertexId, f32)> + '_ {
        Edges(self.entries(v, self.totals.list_of(Direction::In)))
    }

    fn weights_between(&self, u: VertexId, v: VertexId) -> Vec<f32> {
        self.between(u, v).map(|(_, weight)| weight).collect()
    }
}

/// Starts loading the first block of a table, if it has one, into the cache.
#[inline(always)]
fn load_block(table: &[AtomicU32], file: &[AtomicU32], entry_words: usize) {
    if table.len() >= REF_WORDS {
        let entries = BlockRef::load(table).entries(file, entry_words);
        entries.chunks(LINE_WORDS).for_each(prefetch);
    }
}

/// The entries of a list: those of its span, or block by block.
struct Entries<'a> {
    here: slice::Iter<'a, AtomicU32>,
    table: &'a [AtomicU32],
    file: &'a [AtomicU32],
    block_lines: u32,
    weighted: bool,
}

impl<'a> Entries<'a> {
    #[inline]
    fn next(&mut self) -> Option<(VertexId, f32)> {
        loop {
            match (self.here.next(), self.weighted) {
                (Some(neighbor), false) => return Some((neighbor.load(Relaxed), 1.0)),
                (Some(neighbor), true) => {
                    let weight = self.here.next()?;
                    return Some((neighbor.load(Relaxed), f32::from_bits(weight.load(Relaxed))));
                }
                (None, _) => self.here = self.next_block()?.iter(),
            }
        }
    }

    /// Returns the next block, with those that lie behind it as if they were one: of a list that was put in order
    /// these are all.
    #[inline]
    fn next_block(&mut self) -> Option<&'a [AtomicU32]> {
        let (block, mut rest) = self.table.split_at_checked(REF_WORDS)?;
        let (first, entry_words) = (BlockRef::load(block), if self.weighted { 2 } else { 1 });
        let block_words = self.block_lines as usize * LINE_WORDS;
        let (mut last, mut words) = (first, first.count as usize * entry_words);
        while words.is_multiple_of(block_words)
            && let Some((next, after)) = rest.split_at_checked(REF_WORDS)
        {
            let next = BlockRef::load(next);
            if next.place != last.place + self.block_lines {
                break;
            }
            (last, rest) = (next, after);
            words += next.count as usize * entry_words;
        }
        self.table = rest;
        if let Some(ahead) = rest.get((BLOCKS_AHEAD - 1) * REF_WORDS..) {
            load_block(ahead, self.file, entry_words);
        }
        Some(&self.file[first.place as usize * LINE_WORDS..][..words])
    }

    /// Starts loading the first blocks of the list into the cache.
    #[inline]
    fn load_first(&self) {
        let entry_words = if self.weighted { 2 } else { 1 };
        let blocks = self.table.chunks(REF_WORDS).take(BLOCKS_AHEAD);
        blocks.for_each(|block| load_block(block, self.file, entry_words));
    }

    /// Returns the words if they are all in one piece.
    #[inline]
    fn as_one_piece(&self) -> Option<&'a [AtomicU32]> {
        self.table.is_empty().then_some(self.here.as_slice())
    }

    #[inline]
    fn fold_words<B>(mut self, init: B, mut f: impl FnMut(B, u32) -> B) -> B {
        self.load_first();
        let mut folded = fold_words(self.here.as_slice(), init, &mut f);
        while let Some(block) = self.next_block() {
            folded = fold_words(block, folded, &mut f);
        }
        folded
    }

    /// Folds the words by two.
    #[inline]
    fn fold_pairs<B>(mut self, init: B, mut f: impl FnMut(B, (u32, u32)) -> B) -> B {
        self.load_first();
        let mut folded = fold_pairs(self.here.as_slice(), init, &mut f);
        while let Some(block) = self.next_block() {
            folded = fold_pairs(block, folded, &mut f);
        }
        folded
    }
}

/// The neighbors of a vertex.
struct Neighbors<'a>(Entries<'a>);

impl Iterator for Neighbors<'_> {
    type Item = VertexId;

    #[inline]
    fn next(&mut self) -> Option<VertexId> {
        self.0.next().map(|(neighbor, _)| neighbor)
    }

    #[inline]
    fn fold<B, F: FnMut(B, VertexId) -> B>(self, init: B, f: F) -> B {
        match self.0.as_one_piece() {
            // Most lists: nothing else is to stand in the loop.
            Some(words) if !self.0.weighted => {
                words.iter().map(|word| word.load(Relaxed)).fold(init, f)
            }
            _ => self.fold_pieces(init, f),
        }
    }
}

impl Neighbors<'_> {
    #[inline(never)]
    fn fold_pieces<B>(self, init: B, mut f: impl FnMut(B, VertexId) -> B) -> B {
        match self.0.weighted {
            false => self.0.fold_words(init, f),
            true => self.0.fold_pairs(init, |folded, (neighbor, _)| f(folded, neighbor)),
        }
    }
}

/// The neighbors of a vertex with the weights of the edges.
struct Edges<'a>(Entries<'a>);

impl Iterator for Edges<'_> {
    type Item = (VertexId, f32);

    #[inline]
    fn next(&mut self) -> Option<(VertexId, f32)> {
        self.0.next()
    }

    #[inline]
    fn fold<B, F: FnMut(B, (VertexId, f32)) -> B>(self, init: B, f: F) -> B {
        match self.0.as_one_piece() {
            // As in `Neighbors`.
            Some(words) if self.0.weighted => fold_edges(words, init, f),
            _ => self.fold_pieces(init, f),
        }
    }
}

impl Edges<'_> {
    #[inline(never)]
    fn fold_pieces<B>(self, init: B, mut f: impl FnMut(B, (VertexId, f32)) -> B) -> B {
        match self.0.weighted {
            false => self.0.fold_words(init, |folded, neighbor| f(folded, (neighbor, 1.0))),
            true => self.0.fold_pairs(init, |folded, (neighbor, weight)| {
                f(folded, (neighbor, f32::from_bits(weight)))
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BlocksGraph, BlocksOptions};
    use everedge_live::{GraphOptions, Manifest};
    use everedge_medium::{Kind, MediumKind, Volume, VolumeOptions};

    /// Returns a graph in which some lists have blocks and some have none.
    fn graph(weighted: bool) -> BlocksGraph {
        let tuning = BlocksOptions { block_bytes: 64, shared_max: 4, ..BlocksOptions::default() };
        let medium = MediumKind::Dram;
        let options = GraphOptions { medium, weighted, tuning, ..GraphOptions::default() };
        let volume = Volume::create("graph".as_ref(), VolumeOptions::new(medium)).unwrap();
        let graph = BlocksGraph::create(volume, Manifest::new(Kind::Graph, options)).unwrap();
        let long = (0..4000).map(|i| (i % 90, i * 31 % 500));
        let parallel = (0..100).map(|i| (3, 250 + i / 40));
        let edges: Vec<_> =
            long.chain((0..300).map(|i| (200 + i % 150, i))).chain(parallel).collect();
        let weights = weighted.then(|| vec![1.0; edges.len()]);
        graph.insert(&edges, weights.as_deref()).unwrap();
        graph
    }

    #[test]
    fn edges_are_found_that_are_there_and_no_others() {
        for weighted in [false, true] {
            let view = graph(weighted).snapshot().unwrap();
            let (mut short, mut long) = (0, 0);
            for u in 0..600 {
                let neighbors: Vec<_> = view.out_neighbors(u).collect();
                assert!(neighbors.is_sorted());
                let found = (0..600).filter(|&v| view.has_edge(u, v));
                assert!(found.eq((0..600).filter(|v| neighbors.contains(v))), "{u}");
                let counted = (0..600).map(|v| view.edges_between(u, v) as usize);
                let count = |v| neighbors.iter().filter(|&&neighbor| neighbor == v).count();
                assert!(counted.eq((0..600).map(count)), "{u}");
                short += u32::from((1..=4).contains(&neighbors.len()));
                long += u32::from(neighbors.len() > 16);
            }
            assert!(short > 0 && long > 0, "{short} short lists and {long} long ones");
        }
    }

    /// What a query reads stays while updates go on, and takes no memory when it has ended.
    #[test]
    fn versions_last_as_long_as_somebody_reads_them() {
        let graph = graph(false);
        let view = graph.snapshot().unwrap();
        let picture = |view: &BlocksSnapshot| -> Vec<Vec<u32>> {
            (0..600).map(|u| view.out_neighbors(u).collect()).collect()
        };
        let before = picture(&view);
        for round in 0..20 {
            let edges: Vec<_> = (0..200).map(|i| (i % 60, (i * 13 + round) % 500)).collect();
            graph.insert(&edges, None).unwrap();
            graph.delete(edges.iter().copied().step_by(3)).unwrap();
        }
        assert_ne!(picture(&graph.snapshot().unwrap()), before);
        assert_eq!(picture(&view), before);
        assert_ne!(graph.version_bytes(), 0);
        drop(view);
        assert_eq!(graph.version_bytes(), 0);
    }
}
