//! Snapshots: shared shards and the arrays that they point to.
//!
//! Source: DGAP §3 ② and §3.1.3 (a snapshot knows the degrees that lists had). Difference: there
//! each task copies the degrees of all vertices; here the rows of 4,096 vertices at a time are
//! shared with the graph until it changes them, and an array that a snapshot may read is not
//! rebalanced where it lies but written elsewhere. So readers wait for nobody, and nobody for them.

use std::iter;
use std::ops::Range;
use std::slice;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::vec;

use everedge_core::memory::prefetch;
use everedge_core::{
    Direction, GraphView, ListVisitor, VertexId, Wanted, WeightedView, visit_ahead,
};

use super::array::Array;
use super::layout::Pma;
use super::lists::{ListRef, Lists};
use super::shard::Shard;
use super::with_tombstones::LiveReader;
use crate::options::GraphOptions;
use everedge_live::{Archive, SHARD_SPAN, Shared, Totals, frozen_view, present};

/// How many lists after one that is read the next one is loaded into the cache.
const READ_AHEAD: usize = 8;

/// Lists are kept by shard if at least one of so many shards has some.
const SHARDS_PER_HELD: usize = 8;

/// Lists that have so many words on average lie in a cache line with the next.
const SHORT_WORDS: usize = 8;

/// A frozen view of a live graph in the `pma` layout.
pub struct PmaSnapshot {
    shards: Vec<Shared<Shard>>,
    /// By side, by shard: what is asked for most is so found with one look. Empty where few of the shards have
    /// lists.
    lists: [Vec<Option<Lists>>; 2],
    totals: Totals,
}

pub(super) use PmaSnapshot as Snapshot;

frozen_view!(PmaSnapshot);

impl Snapshot {
    /// Returns the view of an archive that has so many edges beside those of the log.
    pub(super) fn new(archive: &Archive<Pma>, options: &GraphOptions, direct: u64) -> Self {
        let mut totals = archive.totals(options);
        totals.sequence += direct;
        let shards = archive.shards.clone();
        let lists = [0, 1].map(|side| held_lists(&shards, side));
        Self { shards, lists, totals }
    }

    #[inline]
    fn array(&self, v: VertexId, side: usize) -> Option<&Array> {
        let array = self.shards.get(v as usize / SHARD_SPAN)?.arrays[side].as_ref();
        array.filter(|array| local(v) < array.vertex_count())
    }

    #[inline(always)]
    fn lists(&self, v: VertexId, side: usize) -> Option<&Lists> {
        match self.lists[side].get(v as usize / SHARD_SPAN) {
            Some(lists) => lists.as_ref(),
            None => self.lists_of_array(v, side),
        }
    }

    // Not within its callers, which are short where many shards have lists.
    #[cold]
    fn lists_of_array(&self, v: VertexId, side: usize) -> Option<&Lists> {
        self.array(v, side).map(|array| &array.lists)
    }

    /// Starts loading what says where a list lies into the cache.
    #[inline(always)]
    fn load_row_ahead(&self, v: VertexId, side: usize) {
        if let Some(lists) = self.lists(v, side) {
            lists.prefetch_row(local(v));
        }
    }

    /// Returns the words of a list, if it is nothing else, and starts loading it into the cache.
    // Always: a call for each vertex costs more than what it does.
    #[inline(always)]
    fn find_ahead(&self, v: VertexId, side: usize) -> Option<&[AtomicU32]> {
        let Some(lists) = self.lists(v, side) else { return Some(&[]) };
        let list = lists.plain_list(local(v));
        match list {
            Some(words) => prefetch(words),
            None => lists.prefetch(local(v)),
        }
        list
    }

    #[inline]
    fn degree(&self, v: VertexId, side: usize) -> u32 {
        let list = self.lists(v, side).map_or(Some(&[][..]), |lists| lists.plain_list(local(v)));
        match list {
            Some(words) => words.len() as u32 >> u32::from(self.totals.weighted),
            None => self.array(v, side).map_or(0, |array| array.degree(local(v))),
        }
    }

    #[inline(always)]
    fn neighbors(&self, v: VertexId, side: usize) -> PmaNeighbors<'_> {
        let list = self.lists(v, side).map_or(Some(&[][..]), |lists| lists.plain_list(local(v)));
        let weighted = self.totals.weighted;
        match list {
            Some(words) => PmaNeighbors { words: words.iter(), weighted, parts: None },
            None => self.neighbors_in_parts(v, side),
        }
    }

    /// Returns the neighbors in a list that is not its words only.
    /// Cost: a vector. Visitors of many lists use one buffer for all instead.
    #[cold]
    fn neighbors_in_parts(&self, v: VertexId, side: usize) -> PmaNeighbors<'_> {
        let (mut words, mut parts) = ([].iter(), Vec::new());
        if let Some(array) = self.array(v, side) {
            let list = array.list(local(v));
            match list.has_tombstones {
                true => parts = array.live_entries(local(v)),
                false => {
                    words = list.words.iter();
                    array.read_logged(local(v), &mut parts);
                }
            }
        }
        let weighted = self.totals.weighted;
        PmaNeighbors { words, weighted, parts: Some(Box::new(parts.into_iter())) }
    }
}

impl GraphView for Snapshot {
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
        self.shards.get(v as usize / SHARD_SPAN).is_some_and(|shard| shard.is_vertex(local(v)))
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
        self.neighbors(v, 0)
    }

    #[inline(always)]
    fn in_neighbors(&self, v: VertexId) -> impl Iterator<Item = VertexId> + '_ {
        self.neighbors(v, self.totals.list_of(Direction::In))
    }

    fn for_each_degree(
        &self,
        direction: Direction,
        range: Range<VertexId>,
        mut f: impl FnMut(VertexId, u32),
    ) {
        let side = self.totals.list_of(direction);
        for part in Wanted::parts(range) {
            // A part is of one shard.
            match self.shards.get(part.start as usize / SHARD_SPAN).map(|s| &s.arrays[side]) {
                Some(Some(array)) => part.for_each(|v| f(v, array.degree(local(v)))),
                _ => part.for_each(|v| f(v, 0)),
            }
        }
    }

    // Always, as the layouts' other one: a call for each vertex costs more than what it does.
    #[inline(always)]
    fn load_ahead(&self, direction: Direction, vertices: &[VertexId]) {
        let side = self.totals.list_of(direction);
        // Where a list lies is known only once its row is there.
        if let Some(&v) = vertices.get(2 * READ_AHEAD) {
            self.load_row_ahead(v, side);
        }
        if let Some(&v) = vertices.get(READ_AHEAD)
            && let Some(lists) = self.lists(v, side)
        {
            lists.prefetch(local(v));
        }
    }

    #[inline(always)]
    fn visit_listed(
        &self,
        direction: Direction,
        vertices: &[VertexId],
        visitor: &mut impl ListVisitor,
    ) {
        let side = self.totals.list_of(direction);
        let load = |v| self.load_row_ahead(v, side);
        let find = |v| self.find_ahead(v, side);
        let neighbor = |word: &AtomicU32| word.load(Relaxed);
        // Two loops: each has more of what it needs in registers.
        match self.totals.weighted {
            false => visit_ahead(vertices, None, (load, find), |v, list| match list {
                Some(words) => visitor.visit(v, words.iter().map(neighbor)),
                None => visitor.visit(v, self.neighbors_in_parts(v, side)),
            }),
            true => visit_ahead(vertices, None, (load, find), |v, list| match list {
                Some(words) => visitor.visit(v, words.iter().step_by(2).map(neighbor)),
                None => visitor.visit(v, self.neighbors_in_parts(v, side)),
            }),
        }
    }

    fn visit_neighbors(
        &self,
        direction: Direction,
        range: Range<VertexId>,
        visitor: &mut impl ListVisitor,
    ) {
        let side = self.totals.list_of(direction);
        for part in Wanted::parts(range) {
            let Some(shard) = self.shards.get(part.start as usize / SHARD_SPAN) else { continue };
            let array = shard.arrays[side].as_ref();
            // Vertices after the last that has neighbors on this side have no row.
            let rows_end = shard.first_vertex + array.map_or(0, |a| a.vertex_count() as u32);
            let cut = rows_end.clamp(part.start, part.end);
            if let Some(array) = array.filter(|_| cut > part.start) {
                self.visit_array(array, part.start..cut, visitor);
            }
            for (v, _) in Wanted::of(cut..part.end, visitor).iter(0) {
                visitor.visit(v, std::iter::empty());
            }
        }
    }
}

impl Snapshot {
    #[inline]
    fn visit_array<V: ListVisitor>(&self, array: &Array, range: Range<VertexId>, visitor: &mut V) {
        let neighbor = |word: &AtomicU32| word.load(Relaxed);
        let first = local(range.start);
        let is_plain = !self.totals.weighted && array.is_plain(first..first + range.len());
        if is_plain {
            let lists = array.lists.plain();
            // The loops that most visitors are in: nothing else is to stand in them. Of short lists
            // the processor loads the next itself.
            if V::STOPS_EARLY && lists.words_between(first, range.len()) > SHORT_WORDS * range.len()
            {
                for (v, ahead) in Wanted::of(range, visitor).iter(READ_AHEAD) {
                    ahead.into_iter().for_each(|ahead| lists.prefetch(local(ahead)));
                    visitor.visit(v, lists.list(local(v)).iter().map(neighbor));
                }
                return;
            }
            for (v, row) in range.zip(lists.rows_from(first)) {
                if visitor.wants(v) {
                    visitor.visit(v, lists.at(*row).iter().map(neighbor));
                }
            }
            return;
        }
        let mut parts = Parts::default();
        if V::STOPS_EARLY {
            let wanted = Wanted::of(range, visitor);
            for (v, ahead) in wanted.iter(READ_AHEAD) {
                ahead.into_iter().for_each(|ahead| array.lists.prefetch(local(ahead)));
                self.visit_list((array, v), array.list(local(v)), &mut parts, visitor);
            }
            return;
        }
        for (v, list) in range.zip(array.lists.from(first)) {
            if visitor.wants(v) {
                self.visit_list((array, v), list, &mut parts, visitor);
            }
        }
    }

    #[inline(always)]
    fn visit_list<V: ListVisitor>(
        &self,
        (array, v): (&Array, VertexId),
        ListRef { words, is_logged, has_tombstones }: ListRef<'_>,
        parts: &mut Parts,
        visitor: &mut V,
    ) {
        let neighbor = |word: &AtomicU32| word.load(Relaxed);
        match (is_logged | has_tombstones, self.totals.weighted) {
            (false, false) => visitor.visit(v, words.iter().map(neighbor)),
            (false, true) => visitor.visit(v, words.iter().step_by(2).map(neighbor)),
            (true, weighted) if !has_tombstones => {
                let step = if weighted { 2 } else { 1 };
                // Most searches end before.
                let logged = &mut parts.logged;
                let logged = iter::once_with(|| array.read_logged(local(v), logged)).flatten();
                let in_list = words.iter().step_by(step).map(neighbor);
                visitor.visit(v, in_list.chain(logged.map(|edge| edge.0)));
            }
            _ => {
                let live = array.read_live(local(v), &mut parts.live);
                visitor.visit(v, live.iter().map(|edge| edge.0));
            }
        }
    }
}

/// Returns the lists of one side of all shards; none where few have some.
fn held_lists(shards: &[Shared<Shard>], side: usize) -> Vec<Option<Lists>> {
    let lists_of =
        |shard: &Shared<Shard>| shard.get()?.arrays[side].as_ref().map(|array| array.lists.clone());
    match present(shards).filter(|(_, shard)| shard.arrays[side].is_some()).count() {
        held if held * SHARDS_PER_HELD < shards.len() => Vec::new(),
        _ => shards.iter().map(lists_of).collect(),
    }
}

/// Where lists are put together that are not in one piece.
#[derive(Default)]
struct Parts {
    logged: Vec<(VertexId, u32)>,
    live: LiveReader,
}

impl WeightedView for Snapshot {
    #[inline(always)]
    fn out_edges(&self, v: VertexId) -> impl Iterator<Item = (VertexId, f32)> + '_ {
        PmaWeightedNeighbors(self.neighbors(v, 0))
    }

    #[inline(always)]
    fn in_edges(&self, v: VertexId) -> impl Iterator<Item = (VertexId, f32)> + '_ {
        PmaWeightedNeighbors(self.neighbors(v, self.totals.list_of(Direction::In)))
    }
}

/// The neighbors of a vertex.
pub struct PmaNeighbors<'a> {
    words: slice::Iter<'a, AtomicU32>,
    weighted: bool,
    /// What comes after the words; all, and no words, of a list with tombstones.
    parts: Option<Box<vec::IntoIter<(u32, u32)>>>,
}

impl PmaNeighbors<'_> {
    #[inline]
    fn next_edge(&mut self) -> Option<(VertexId, f32)> {
        match (self.words.next(), self.weighted) {
            (Some(word), false) => Some((word.load(Relaxed), 1.0)),
            (Some(word), true) => {
                let weight = self.words.next()?.load(Relaxed);
                Some((word.load(Relaxed), f32::from_bits(weight)))
            }
            (None, _) if self.parts.is_none() => None,
            (None, _) => self.next_part(),
        }
    }

    #[cold]
    fn next_part(&mut self) -> Option<(VertexId, f32)> {
        let (neighbor, weight) = self.parts.as_mut()?.next()?;
        Some((neighbor, f32::from_bits(weight)))
    }

    #[inline]
    fn fold_edges<B>(self, init: B, mut f: impl FnMut(B, (VertexId, f32)) -> B) -> B {
        let folded = match self.weighted {
            false => self.words.fold(init, |folded, word| f(folded, (word.load(Relaxed), 1.0))),
            true => self.words.as_slice().as_chunks::<2>().0.iter().fold(
                init,
                |folded, [to, weight]| {
                    f(folded, (to.load(Relaxed), f32::from_bits(weight.load(Relaxed))))
                },
            ),
        };
        match self.parts {
            None => folded,
            Some(parts) => {
                parts.fold(folded, |folded, (to, weight)| f(folded, (to, f32::from_bits(weight))))
            }
        }
    }
}

impl Iterator for PmaNeighbors<'_> {
    type Item = VertexId;

    #[inline]
    fn next(&mut self) -> Option<VertexId> {
        self.next_edge().map(|(neighbor, _)| neighbor)
    }

    #[inline]
    fn fold<B, F: FnMut(B, VertexId) -> B>(self, init: B, mut f: F) -> B {
        self.fold_edges(init, |folded, (neighbor, _)| f(folded, neighbor))
    }
}

/// The neighbors of a vertex with the weights of the edges.
pub struct PmaWeightedNeighbors<'a>(PmaNeighbors<'a>);

impl Iterator for PmaWeightedNeighbors<'_> {
    type Item = (VertexId, f32);

    #[inline]
    fn next(&mut self) -> Option<(VertexId, f32)> {
        self.0.next_edge()
    }

    #[inline]
    fn fold<B, F: FnMut(B, (VertexId, f32)) -> B>(self, init: B, f: F) -> B {
        self.0.fold_edges(init, f)
    }
}

#[inline]
fn local(v: VertexId) -> usize {
    v as usize % SHARD_SPAN
}
