//! Snapshots: shared shards and the blocks that they point to.
//!
//! Shards are shared with the graph until it changes them, and blocks never change, so a snapshot
//! stays as it is while writers go on. Neighbors come from the buffer, then
//! from the newest block to the oldest.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::vec;

use everedge_core::memory::prefetch;
use everedge_core::{
    Direction, GraphView, HOME_SPAN, Homes, ListVisitor, VertexId, Wanted, WeightedView,
};

use super::block::NO_BLOCK;
use super::layout::Adjacency;
use super::list::{Chain, LINES_AHEAD, List, Piece, Places, READ_AHEAD, Span};
use super::run::{Run, SPAN};
use super::shard::Shard;
use super::subgraphs::Nodes;
use everedge_live::{Archive, SHARD_SPAN, Totals, UNIT_BYTES, frozen_view};
use everedge_medium::{HeldWords, Region};

/// How many lists after one that is seen the next one in a run is loaded into the cache.
const RUN_READ_AHEAD: usize = 16;
/// Runs are kept by span if at least one of so many shards is there.
const SHARDS_PER_HELD: usize = 8;

// What `Wanted` is cut into are parts of spans.
const _: () = assert!(SPAN == Wanted::IDS_MAX);
// Lists of a range of ids with one home are those of a shard.
const _: () = assert!(SHARD_SPAN == HOME_SPAN as usize);

/// A run that is all of the lists of its vertices.
#[derive(Clone, Copy)]
struct PureRun {
    /// Where it lies in the file of its sub-graph, or [`NO_BLOCK`].
    place: u32,
    sub_graph: u32,
}

/// A frozen view of a live graph.
pub struct Snapshot {
    shards: Vec<Arc<Shard>>,
    places: Places,
    /// The words of each file of blocks.
    files: Vec<HeldWords>,
    nodes: Nodes,
    /// By list, by id over [`SPAN`], up to the last one: the run that is all of a span's lists. What
    /// is asked for most is so found with one look.
    pure_runs: Vec<Vec<PureRun>>,
    totals: Totals,
}

frozen_view!(Snapshot);

impl Snapshot {
    pub(super) fn new(archive: &Archive<Adjacency>, layout: &Adjacency) -> Self {
        let options = &layout.options;
        let shards = archive.shards.clone();
        Self {
            totals: Totals::of(options, archive.next_sequence, shards.iter().map(|s| s.totals())),
            pure_runs: (0..options.list_count()).map(|list| pure_runs(&shards, list)).collect(),
            files: held_files(&shards, &layout.places),
            shards,
            places: layout.places.clone(),
            nodes: layout.sub_graphs.nodes.clone(),
        }
    }

    #[inline]
    fn list(&self, v: VertexId, list: usize) -> Option<&List> {
        self.shards.get(v as usize / SHARD_SPAN)?.lists.get(list)
    }

    #[inline]
    fn degree(&self, v: VertexId, list: usize) -> u32 {
        match self.pure_run(v, list) {
            // Close to the entries, which are likely to be asked for next.
            Some(run) => self.run(run).len(v as usize % SPAN) >> u32::from(self.totals.weighted),
            None => self.list(v, list).map_or(0, |list| list.entry(local(v)).degree),
        }
    }

    #[inline]
    fn pure_run(&self, v: VertexId, list: usize) -> Option<PureRun> {
        self.pure_runs[list].get(v as usize / SPAN).copied().filter(|run| run.place != NO_BLOCK)
    }

    #[inline]
    fn run(&self, run: PureRun) -> Run<'_> {
        Run::at(&self.files[run.sub_graph as usize], run.place)
    }

    // Always: what it returns is taken apart at once, if it need not pass through memory.
    #[inline(always)]
    fn neighbors(&self, v: VertexId, list: usize) -> Neighbors<'_> {
        let words = match (self.pure_run(v, list), self.list(v, list)) {
            (Some(run), _) => {
                Chain::of_words(&self.places.blocks[0], self.run(run).entries(v as usize % SPAN))
            }
            (None, Some(list)) => {
                list.warm_chain(&self.places, local(v) + READ_AHEAD, LINES_AHEAD);
                return self.neighbors_in(list, v);
            }
            (None, None) => Chain::empty(&self.places.blocks[0]),
        };
        Neighbors { words, weighted: self.totals.weighted, live: None }
    }

    /// Returns the neighbors of `v` in the list that has them.
    #[inline(always)]
    fn neighbors_in<'a>(&'a self, list: &'a List, v: VertexId) -> Neighbors<'a> {
        let (words, live) = match list.entry(local(v)).is_plain() {
            true => (list.bare_chain(&self.places, local(v)), None),
            false => (Chain::empty(list.blocks(&self.places)), Some(self.live_neighbors(v, list))),
        };
        Neighbors { words, weighted: self.totals.weighted, live }
    }

    #[cold]
    fn live_neighbors(&self, v: VertexId, list: &List) -> Box<Live> {
        Box::new(list.live(&self.places, local(v), self.entry_words()).into_iter())
    }

    /// Shows the lists of a part of a run.
    #[inline]
    fn visit_run<V: ListVisitor>(&self, run: PureRun, range: Range<VertexId>, visitor: &mut V) {
        let (ends, entries) = self.run(run).lists();
        let start_of = |index: usize| match index {
            0 => 0,
            _ => ends[index - 1].load(Relaxed) as usize,
        };
        let neighbor = |word: &AtomicU32| word.load(Relaxed);
        if V::STOPS_EARLY || self.totals.weighted {
            let wanted = Wanted::of(range, visitor);
            for (v, ahead) in wanted.iter(RUN_READ_AHEAD) {
                if let Some(ahead) = ahead.filter(|_| V::STOPS_EARLY) {
                    prefetch(&entries[start_of(ahead as usize % SPAN)..]);
                }
                let index = v as usize % SPAN;
                let words = &entries[start_of(index)..ends[index].load(Relaxed) as usize];
                match self.totals.weighted {
                    false => visitor.visit(v, words.iter().map(neighbor)),
                    true => visitor.visit(v, words.iter().step_by(2).map(neighbor)),
                }
            }
            return;
        }
        // The loop that most visitors are in: nothing else is to stand in it.
        let first = range.start as usize % SPAN;
        let mut start = start_of(first);
        for (v, end) in range.zip(&ends[first..]) {
            let end = end.load(Relaxed) as usize;
            if visitor.wants(v) {
                visitor.visit(v, entries[start..end].iter().map(neighbor));
            }
            start = end;
        }
    }

    /// Shows lists of one shard, some of which are more than their part of a run.
    #[inline]
    fn visit_list<V: ListVisitor>(&self, list: &List, range: Range<VertexId>, visitor: &mut V) {
        let places = &self.places;
        let has_run = list.spans[local(range.start) / SPAN].run != NO_BLOCK;
        let is_bare = !has_run && !self.totals.weighted;
        if V::STOPS_EARLY {
            let wanted = Wanted::of(range, visitor);
            for (v, ahead) in wanted.iter(READ_AHEAD) {
                ahead.into_iter().for_each(|ahead| list.warm_chain(places, local(ahead), 1));
                self.visit_one(list, v, is_bare, visitor);
            }
            return;
        }
        for v in range {
            list.warm_chain(places, local(v) + READ_AHEAD, LINES_AHEAD);
            if visitor.wants(v) {
                self.visit_one(list, v, is_bare, visitor);
            }
        }
    }

    #[inline(always)]
    fn visit_one<V: ListVisitor>(&self, list: &List, v: VertexId, is_bare: bool, visitor: &mut V) {
        let entry = list.entry(local(v));
        // Most lists of a graph that was never compacted: the short ones.
        if is_bare && entry.is_plain() && entry.head == NO_BLOCK {
            visitor.visit(v, Piece(list.buffered(&self.places.buffers, local(v)).iter()));
        } else {
            visitor.visit(v, self.neighbors_in(list, v));
        }
    }

    #[inline]
    fn edges(&self, v: VertexId, list: usize) -> WeightedNeighbors<'_> {
        WeightedNeighbors(self.neighbors(v, list))
    }

    fn entry_words(&self) -> usize {
        if self.totals.weighted { 2 } else { 1 }
    }
}

impl GraphView for Snapshot {
    fn vertex_bound(&self) -> u32 {
        self.totals.vertex_bound
    }

    fn vertex_ranges(&self) -> Vec<Range<VertexId>> {
        let held = self.shards.iter().filter(|shard| shard.vertex_count > 0);
        held.map(|shard| shard.first_vertex..shard.first_vertex + SHARD_SPAN as u32).collect()
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

    #[inline]
    fn homes(&self) -> Option<&Homes> {
        self.nodes.homes()
    }

    #[inline]
    fn home(&self, v: VertexId, direction: Direction) -> usize {
        self.nodes.home(v as usize / SHARD_SPAN, self.totals.list_of(direction))
    }

    fn for_each_degree(
        &self,
        direction: Direction,
        range: Range<VertexId>,
        mut f: impl FnMut(VertexId, u32),
    ) {
        let list = self.totals.list_of(direction);
        for part in Wanted::parts(range) {
            let first = part.start as usize % SPAN;
            match (self.pure_run(part.start, list), self.list(part.start, list)) {
                (Some(run), _) => {
                    let (ends, _) = self.run(run).lists();
                    let mut start = if first == 0 { 0 } else { ends[first - 1].load(Relaxed) };
                    for (v, end) in part.zip(&ends[first..]) {
                        let end = end.load(Relaxed);
                        f(v, (end - start) >> u32::from(self.totals.weighted));
                        start = end;
                    }
                }
                (None, Some(list)) => {
                    let entries = list.table.entries().skip(local(part.start));
                    part.zip(entries).for_each(|(v, entry)| f(v, entry.degree));
                }
                (None, None) => part.for_each(|v| f(v, 0)),
            }
        }
    }

    #[inline]
    fn load_ahead(&self, direction: Direction, vertices: &[VertexId]) {
        let list = self.totals.list_of(direction);
        // Where a list lies is known only once its entry, or the end of the one before, is there.
        if let Some(&v) = vertices.get(2 * READ_AHEAD) {
            match (self.pure_run(v, list), self.list(v, list)) {
                (Some(run), _) => {
                    self.run(run).prefetch_bounds(v as usize % SPAN);
                }
                (None, Some(list)) => list.table.prefetch(local(v)),
                (None, None) => {}
            }
        }
        if let Some(&v) = vertices.get(READ_AHEAD) {
            match (self.pure_run(v, list), self.list(v, list)) {
                (Some(run), _) => {
                    prefetch(self.run(run).entries(v as usize % SPAN));
                }
                (None, Some(list)) => list.warm_chain(&self.places, local(v), 1),
                (None, None) => {}
            }
        }
    }

    fn visit_neighbors(
        &self,
        direction: Direction,
        range: Range<VertexId>,
        visitor: &mut impl ListVisitor,
    ) {
        let list = self.totals.list_of(direction);
        for part in Wanted::parts(range) {
            match (self.pure_run(part.start, list), self.list(part.start, list)) {
                (Some(run), _) => {
                    if let Some(next) = self.pure_run(part.end, list) {
                        self.run(next).prefetch_ends();
                    }
                    self.visit_run(run, part, visitor);
                }
                (None, Some(list)) => self.visit_list(list, part, visitor),
                (None, None) => {}
            }
        }
    }
}

impl WeightedView for Snapshot {
    fn out_edges(&self, v: VertexId) -> impl Iterator<Item = (VertexId, f32)> + '_ {
        self.edges(v, 0)
    }

    fn in_edges(&self, v: VertexId) -> impl Iterator<Item = (VertexId, f32)> + '_ {
        self.edges(v, self.totals.list_of(Direction::In))
    }
}

/// The neighbors that no tombstone took away, with the weights of the edges.
type Live = vec::IntoIter<(VertexId, f32)>;

/// The neighbors of a vertex.
pub struct Neighbors<'a> {
    words: Chain<'a>,
    weighted: bool,
    /// In place of `words`, which then are none, for a list that is not plain.
    live: Option<Box<Live>>,
}

impl Neighbors<'_> {
    #[inline]
    fn next_weighted(&mut self) -> Option<(VertexId, f32)> {
        match (self.words.next(), self.weighted) {
            (Some(neighbor), false) => Some((neighbor, 1.0)),
            (Some(neighbor), true) => Some((neighbor, f32::from_bits(self.words.next()?))),
            (None, _) if self.live.is_none() => None,
            (None, _) => self.next_live(),
        }
    }

    #[cold]
    fn next_live(&mut self) -> Option<(VertexId, f32)> {
        self.live.as_mut()?.next()
    }
}

impl Iterator for Neighbors<'_> {
    type Item = VertexId;

    #[inline]
    fn next(&mut self) -> Option<VertexId> {
        self.next_weighted().map(|(neighbor, _)| neighbor)
    }

    #[inline]
    fn fold<B, F: FnMut(B, VertexId) -> B>(self, init: B, mut f: F) -> B {
        match (self.weighted, self.live) {
            (_, Some(live)) => live.fold(init, |folded, (neighbor, _)| f(folded, neighbor)),
            (false, None) => self.words.fold(init, f),
            (true, None) => {
                self.words.fold_pairs(init, |folded, (neighbor, _)| f(folded, neighbor))
            }
        }
    }
}

/// The neighbors of a vertex with the weights of the edges.
pub struct WeightedNeighbors<'a>(Neighbors<'a>);

impl Iterator for WeightedNeighbors<'_> {
    type Item = (VertexId, f32);

    #[inline]
    fn next(&mut self) -> Option<(VertexId, f32)> {
        self.0.next_weighted()
    }

    #[inline]
    fn fold<B, F: FnMut(B, (VertexId, f32)) -> B>(self, init: B, mut f: F) -> B {
        let Neighbors { words, weighted, live } = self.0;
        match (weighted, live) {
            (_, Some(live)) => live.fold(init, f),
            (false, None) => words.fold(init, |folded, neighbor| f(folded, (neighbor, 1.0))),
            (true, None) => {
                let edge = |(neighbor, weight)| (neighbor, f32::from_bits(weight));
                words.fold_pairs(init, |folded, pair| f(folded, edge(pair)))
            }
        }
    }
}

/// Holds the words of each file up to the end of the last run there: it stays where it is while a
/// view has it.
fn held_files(shards: &[Arc<Shard>], places: &Places) -> Vec<HeldWords> {
    let end_in = |sub_graph: usize| {
        let lists = shards.iter().flat_map(|shard| &shard.lists);
        let spans = lists.filter(|list| list.sub_graph == sub_graph).flat_map(|list| &list.spans);
        let last = spans.filter(|span| span.is_pure).max_by_key(|span| span.run);
        let units = last.and_then(|span| span.extents.as_ref()?.units().pop());
        units.map_or(0, |units| units.end * UNIT_BYTES)
    };
    let held = |(number, file): (usize, &Region)| file.hold(0, (end_in(number) / 4) as usize);
    places.blocks.iter().enumerate().map(held).collect()
}

/// Returns the pure run of each span, up to the last one that is; of none where few of the ids up to
/// there have a shard.
fn pure_runs(shards: &[Arc<Shard>], list: usize) -> Vec<PureRun> {
    let none = PureRun { place: NO_BLOCK, sub_graph: 0 };
    let has_pure = |lists: &List| lists.spans.iter().any(|span| span.is_pure);
    let last = shards.iter().rposition(|shard| shard.lists.get(list).is_some_and(has_pure));
    let shards = &shards[..last.map_or(0, |last| last + 1)];
    let held_count = shards.iter().filter(|shard| shard.lists.get(list).is_some()).count();
    if held_count * SHARDS_PER_HELD < shards.len() {
        return Vec::new();
    }
    let mut runs = Vec::with_capacity(shards.len() * SHARD_SPAN / SPAN);
    for shard in shards {
        match shard.lists.get(list) {
            Some(lists) => {
                let sub_graph = lists.sub_graph as u32;
                let pure = |span: &Span| match span.is_pure {
                    true => PureRun { place: span.run, sub_graph },
                    false => none,
                };
                runs.extend(lists.spans.iter().map(pure));
            }
            None => runs.resize(runs.len() + SHARD_SPAN / SPAN, none),
        }
    }
    runs
}

fn local(v: VertexId) -> usize {
    v as usize % SHARD_SPAN
}
