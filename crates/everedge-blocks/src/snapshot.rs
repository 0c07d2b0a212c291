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
    Direction, GraphView, ListVisitor, VertexId, Wanted, WeightedView, visit_ahead,
};
use everedge_live::{Archive, SHARD_SPAN, Shared, Totals, frozen_view, present};
use everedge_medium::HeldWords;

use super::layout::Blocks;
use super::lpmb::{BlockRef, LINE_WORDS, REF_WORDS};
use super::shard::{Shard, Spans};
use super::span::{Row, SPAN, Span};

/// How many lists after one that is seen the next one is loaded into the cache.
const READ_AHEAD: usize = 8;
/// How many blocks of a list after one that is read the next one is.
const BLOCKS_AHEAD: usize = 3;

/// A frozen view of a live graph.
pub struct BlocksSnapshot {
    shards: Vec<Shared<Shard>>,
    /// By list, by shard.
    lists: [Vec<Option<Arc<Spans>>>; 2],
    file: HeldWords,
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
            None => Entries { here: [].iter(), table: &[], file: &self.file, weighted: false },
        }
    }

    #[inline(always)]
    fn entries_of<'a>(&'a self, span: &'a Span, row: Row) -> Entries<'a> {
        let (here, table) = match row.is_in_blocks() {
            false => (span.entries(row, self.entry_words()), &[][..]),
            true => (&[][..], span.table(row)),
        };
        Entries { here: here.iter(), table, file: &self.file, weighted: self.totals.weighted }
    }

    /// Starts loading the beginning of a list into the cache.
    #[inline]
    fn warm(&self, v: VertexId, list: usize) {
        if let Some(span) = self.span(v, list) {
            self.warm_list(span, span.row(v as usize % SPAN));
        }
    }

    #[inline]
    fn warm_list(&self, span: &Span, row: Row) {
        match row.is_in_blocks() {
            false => prefetch(span.entries(row, self.entry_words())),
            true => {
                let first = BlockRef::load(span.table(row));
                prefetch(first.entries(&self.file, self.entry_words()));
            }
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
        let end = range.end;
        for v in range {
            if v + (READ_AHEAD as u32) < end {
                warm(v + READ_AHEAD as u32);
            }
            if visitor.wants(v) {
                visitor.visit(v, Neighbors(self.entries_of(span, row(v))));
            }
        }
    }

    /// Returns whether an edge leads from `u` to `v`.
    ///
    /// Cost: two binary searches, of the list's blocks and in one of them.
    pub fn has_edge(&self, u: VertexId, v: VertexId) -> bool {
        let Some(span) = self.span(u, 0) else { return false };
        let row = span.row(u as usize % SPAN);
        let entry_words = self.entry_words();
        let entries = match row.is_in_blocks() {
            false => span.entries(row, entry_words),
            true => {
                let table = span.table(row);
                let (blocks, _) = table.as_chunks::<REF_WORDS>();
                let after = blocks.partition_point(|block| block[0].load(Relaxed) <= v);
                let Some(block) = after.checked_sub(1) else { return false };
                BlockRef::load(&blocks[block]).entries(&self.file, entry_words)
            }
        };
        has(entries, v, entry_words)
    }
}

/// Whether sorted entries have a neighbor.
fn has(entries: &[AtomicU32], v: VertexId, entry_words: usize) -> bool {
    let (mut low, mut high) = (0, entries.len() / entry_words);
    while low < high {
        let middle = usize::midpoint(low, high);
        match entries[middle * entry_words].load(Relaxed).cmp(&v) {
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Equal => return true,
            std::cmp::Ordering::Greater => high = middle,
        }
    }
    false
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
                prefetch(slice::from_ref(span));
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
        let mut start = range.start;
        while start < range.end {
            let end = range.end.min((start | (SPAN as u32 - 1)).saturating_add(1));
            match self.span(start, list) {
                Some(span) => self.visit_span(span, start..end, visitor),
                // Vertices without neighbors.
                None => (start..end).for_each(|v| {
                    if visitor.wants(v) {
                        visitor.visit(v, std::iter::empty());
                    }
                }),
            }
            start = end;
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
}

/// The entries of a list: those of its span, or block by block.
struct Entries<'a> {
    here: slice::Iter<'a, AtomicU32>,
    table: &'a [AtomicU32],
    file: &'a [AtomicU32],
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

    #[inline]
    fn next_block(&mut self) -> Option<&'a [AtomicU32]> {
        let (block, rest) = self.table.split_at_checked(REF_WORDS)?;
        self.table = rest;
        Some(BlockRef::load(block).entries(self.file, if self.weighted { 2 } else { 1 }))
    }

    /// Folds what are neighbors, or pairs of them and weights, by pieces.
    #[inline(always)]
    fn fold_pieces<B>(self, init: B, mut f: impl FnMut(B, &'a [AtomicU32]) -> B) -> B {
        let mut folded = f(init, self.here.as_slice());
        let entry_words = if self.weighted { 2 } else { 1 };
        let (blocks, _) = self.table.as_chunks::<REF_WORDS>();
        for (index, block) in blocks.iter().enumerate() {
            // Blocks lie anywhere: the processor does not foresee the next one.
            if let Some(ahead) = blocks.get(index + BLOCKS_AHEAD) {
                let ahead = BlockRef::load(ahead).entries(self.file, entry_words);
                ahead.chunks(LINE_WORDS).for_each(prefetch);
            }
            folded = f(folded, BlockRef::load(block).entries(self.file, entry_words));
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
    fn fold<B, F: FnMut(B, VertexId) -> B>(self, init: B, mut f: F) -> B {
        let step = if self.0.weighted { 2 } else { 1 };
        self.0.fold_pieces(init, |folded, words| match step {
            1 => words.iter().map(|word| word.load(Relaxed)).fold(folded, &mut f),
            _ => words.iter().step_by(2).map(|word| word.load(Relaxed)).fold(folded, &mut f),
        })
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
    fn fold<B, F: FnMut(B, (VertexId, f32)) -> B>(self, init: B, mut f: F) -> B {
        let weighted = self.0.weighted;
        self.0.fold_pieces(init, |folded, words| match weighted {
            false => words.iter().fold(folded, |folded, word| f(folded, (word.load(Relaxed), 1.0))),
            true => words.as_chunks::<2>().0.iter().fold(folded, |folded, [neighbor, weight]| {
                f(folded, (neighbor.load(Relaxed), f32::from_bits(weight.load(Relaxed))))
            }),
        })
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
        let edges: Vec<_> = long.chain((0..300).map(|i| (200 + i % 150, i))).collect();
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
