//! Snapshots: shared shards and the blocks that they point to.
//!
//! Shards are shared with the graph until it changes them, and blocks never change, so a snapshot
//! stays as it is while writers go on. Neighbors come from the buffer, then
//! from the newest block to the oldest.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::vec;

use everedge_core::memory::prefetch;
use everedge_core::{
    Direction, GraphView, HOME_SPAN, Homes, ListVisitor, VertexId, Wanted, WeightedView,
    visit_ahead,
};

use super::block::NO_BLOCK;
use super::buffers::STEP_WORDS;
use super::chain::{Chain, prefetch_block};
use super::layout::Adjacency;
use super::list::{LINE_WORDS, LINES_AHEAD, List, Places, READ_AHEAD, Span};
use super::run::{Run, SPAN, first_word};
use super::shard::Shard;
use super::subgraphs::{Nodes, Partition};
use super::table::{Entry, HeldRows};
use everedge_live::{
    Archive, Extents, SHARD_SPAN, Shared, Totals, UNIT_BYTES, fold_edges, frozen_view, present,
};
use everedge_medium::{HeldParts, HeldWords, Region};

/// How many lists after one that is seen the next one in a run is loaded into the cache.
const RUN_READ_AHEAD: usize = 16;
/// Runs are kept by span if at least one of so many shards is there.
const SHARDS_PER_HELD: usize = 8;

// What `Wanted` is cut into are parts of spans.
const _: () = assert!(SPAN == Wanted::IDS_MAX);
// Lists of a range of ids with one home are those of a shard.
const _: () = assert!(SHARD_SPAN == HOME_SPAN as usize);

/// Where a list of a shard lies whose vertices may have more than their parts of runs.
#[derive(Clone, Copy)]
struct Loose {
    /// The number of its table, or [`NO_TABLE`] where there is no shard.
    table: u32,
    sub_graph: u16,
    has_runs: bool,
}

const NO_TABLE: u32 = u32::MAX;

/// A frozen view of a live graph.
pub struct Snapshot {
    shards: Vec<Shared<Shard>>,
    places: Places,
    /// The words of each file of blocks, of all vertex buffers and of the rows of all tables.
    files: Vec<HeldWords>,
    buffers: HeldWords,
    rows: HeldRows,
    nodes: Nodes,
    /// By list, by shard.
    loose: [Vec<Loose>; 2],
    /// By list, by id over [`SPAN`], up to the last run: the run that is all of a span's lists. What
    /// is asked for most is so found with one look.
    pure_runs: [HeldParts; 2],
    /// The runs of the other spans. Where few of the ids have a shard there are none of either, and shards say
    /// where their runs lie.
    other_runs: [Option<HeldParts>; 2],
    totals: Totals,
}

frozen_view!(Snapshot);

impl Snapshot {
    pub(super) fn new(archive: &Archive<Adjacency>, layout: &Adjacency) -> Self {
        let options = &layout.options;
        let shards = archive.shards.clone();
        let files = held_files(&shards, &layout.places, layout.sub_graphs.partition);
        let with_runs = [0, 1].map(|list| shards_with_runs(&shards, list));
        let parts = |shards: &[Shared<Shard>], list: usize, is_wanted: fn(&Span) -> bool| {
            HeldParts::new(files.clone(), runs(shards, list, is_wanted))
        };
        let is_other = |span: &Span| !span.is_pure && span.run != NO_BLOCK;
        Self {
            totals: archive.totals(options),
            pure_runs: [0, 1]
                .map(|list| parts(with_runs[list].unwrap_or_default(), list, |span| span.is_pure)),
            other_runs: [0, 1].map(|list| Some(parts(with_runs[list]?, list, is_other))),
            loose: [0, 1].map(|list| match list < options.list_count() {
                true => loose(&shards, list),
                false => Vec::new(),
            }),
            files,
            buffers: layout.places.buffers.hold(0, (layout.places.buffers.len() / 4) as usize),
            rows: layout.tables.hold(),
            shards,
            places: layout.places.clone(),
            nodes: layout.sub_graphs.nodes.clone(),
        }
    }

    #[inline]
    fn loose(&self, v: VertexId, list: usize) -> Option<Loose> {
        let loose = self.loose[list].get(v as usize / SHARD_SPAN).copied();
        loose.filter(|loose| loose.table != NO_TABLE)
    }

    #[inline]
    fn entry(&self, loose: Loose, v: VertexId) -> Entry {
        Entry::load(&self.rows.table(loose.table)[local(v)])
    }

    #[inline]
    fn degree(&self, v: VertexId, list: usize) -> u32 {
        match self.pure_run(v, list) {
            // Close to the entries, which are likely to be asked for next.
            Some(run) => run.len(v) >> u32::from(self.totals.weighted),
            None => self.loose(v, list).map_or(0, |loose| self.entry(loose, v).degree),
        }
    }

    #[inline(always)]
    fn pure_run(&self, v: VertexId, list: usize) -> Option<Run<'_>> {
        Run::of(self.pure_runs[list].get(v as usize / SPAN))
    }

    // Always: what it returns is taken apart at once, if it need not pass through memory.
    #[inline(always)]
    fn neighbors(&self, v: VertexId, list: usize) -> Neighbors<'_> {
        if let Some(run) = self.pure_run(v, list) {
            let words = Chain::of_words(run.entries(v));
            return Neighbors { words, weighted: self.totals.weighted, live: None };
        }
        match self.loose(v, list) {
            Some(loose) => self.loose_neighbors(loose, v, list),
            None => Neighbors { words: Chain::of_words(&[]), weighted: false, live: None },
        }
    }

    /// Returns the neighbors of `v` in a list that may have more than a part of a run.
    #[inline(always)]
    fn loose_neighbors(&self, loose: Loose, v: VertexId, list: usize) -> Neighbors<'_> {
        let entry = self.entry(loose, v);
        let (words, live) = match entry.is_plain() {
            true => {
                let file = &self.files[usize::from(loose.sub_graph)];
                let base = if loose.has_runs { self.base(v, list) } else { &[] };
                (Chain::new(self.buffered(&entry), (file, entry.head), base), None)
            }
            false => (Chain::of_words(&[]), Some(self.live_neighbors(v, list))),
        };
        Neighbors { words, weighted: self.totals.weighted, live }
    }

    /// Returns the part of a run that `v` has, in a list that may have more.
    #[inline]
    fn base(&self, v: VertexId, list: usize) -> &[AtomicU32] {
        match &self.other_runs[list] {
            Some(runs) => Run::of(runs.get(v as usize / SPAN)).map_or(&[], |run| run.entries(v)),
            None => self.base_of_shard(v, list),
        }
    }

    #[cold]
    fn base_of_shard(&self, v: VertexId, list: usize) -> &[AtomicU32] {
        let list = &self.shards[v as usize / SHARD_SPAN].lists[list];
        match list.spans[local(v) / SPAN].run {
            NO_BLOCK => &[],
            place => Run::at(&self.files[list.sub_graph], place).map_or(&[], |run| run.entries(v)),
        }
    }

    #[cold]
    fn live_neighbors(&self, v: VertexId, list: usize) -> Box<Live> {
        let list = &self.shards[v as usize / SHARD_SPAN].lists[list];
        Box::new(list.live(&self.places, local(v), self.entry_words()).into_iter())
    }

    /// Shows the lists of a part of a run.
    #[inline]
    fn visit_run<V: ListVisitor>(&self, run: Run<'_>, range: Range<VertexId>, visitor: &mut V) {
        let (ends, entries) = run.lists();
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
    fn visit_loose<V: ListVisitor>(
        &self,
        (loose, list): (Loose, usize),
        range: Range<VertexId>,
        visitor: &mut V,
    ) {
        let is_bare = !loose.has_runs && !self.totals.weighted;
        let rows = self.rows.table(loose.table);
        let visit = |v: VertexId, visitor: &mut V| {
            let entry = Entry::load(&rows[local(v)]);
            // Most lists of a graph that was never put in order: the short ones.
            if is_bare && entry.is_plain() && entry.head == NO_BLOCK {
                visitor.visit(v, self.buffered(&entry).iter().map(|word| word.load(Relaxed)));
            } else {
                visitor.visit(v, self.loose_neighbors(loose, v, list));
            }
        };
        if V::STOPS_EARLY {
            let wanted = Wanted::of(range, visitor);
            for (v, ahead) in wanted.iter(READ_AHEAD) {
                if let Some(ahead) = ahead {
                    self.warm(loose, &Entry::load(&rows[local(ahead)]), 1);
                }
                visit(v, visitor);
            }
            return;
        }
        for v in range {
            if let Some(ahead) = rows.get(local(v) + READ_AHEAD) {
                self.warm(loose, &Entry::load(ahead), LINES_AHEAD);
            }
            if visitor.wants(v) {
                visit(v, visitor);
            }
        }
    }

    /// Starts loading what says where a list lies into the cache.
    #[inline(always)]
    fn load_place_ahead(&self, v: VertexId, list: usize) {
        match self.pure_run(v, list) {
            Some(run) => run.prefetch_bounds(v),
            None => self.load_row_ahead(v, list),
        }
    }

    // Not within its caller, which is short where lists are in order.
    #[inline(never)]
    fn load_row_ahead(&self, v: VertexId, list: usize) {
        if let Some(loose) = self.loose(v, list) {
            self.rows.prefetch(loose.table, local(v));
        }
    }

    /// Starts loading the beginning of a list that is not all in a run.
    /// Returns its words if they are all in a buffer.
    // As above.
    #[inline(never)]
    fn find_loose_ahead(&self, v: VertexId, list: usize) -> Option<&[AtomicU32]> {
        let Some(loose) = self.loose(v, list) else { return Some(&[]) };
        let entry = self.entry(loose, v);
        self.warm(loose, &entry, 1);
        let is_buffered = !loose.has_runs && entry.is_plain() && entry.head == NO_BLOCK;
        is_buffered.then(|| self.buffered(&entry))
    }

    /// Starts loading the beginning of a list into the cache: its newest block and so many lines of
    /// its buffer.
    #[inline(always)]
    fn warm(&self, loose: Loose, entry: &Entry, lines: usize) {
        if entry.head != NO_BLOCK {
            prefetch_block(&self.files[usize::from(loose.sub_graph)], entry.head);
        }
        let words = self.buffered(entry);
        prefetch(words);
        if words.len() > LINE_WORDS {
            words.chunks(LINE_WORDS).take(lines).skip(1).for_each(prefetch);
        }
    }

    /// Returns the buffered words of a row.
    #[inline(always)]
    fn buffered(&self, entry: &Entry) -> &[AtomicU32] {
        &self.buffers[entry.buffer as usize * STEP_WORDS..][..entry.buffered.into()]
    }

    #[inline(always)]
    fn edges(&self, v: VertexId, list: usize) -> WeightedNeighbors<'_> {
        WeightedNeighbors(self.neighbors(v, list))
    }

    /// Returns the edges of a list, those of a pair in the order in which they came: so they lie in a run, and in each
    /// other piece, of which the newest is the first.
    #[inline]
    fn edges_by_age(&self, v: VertexId, list: usize) -> WeightedNeighbors<'_> {
        match self.pure_run(v, list).is_some() || self.loose(v, list).is_none() {
            true => self.edges(v, list),
            false => {
                let by_age = self.live_neighbors(v, list).rev().collect::<Vec<_>>();
                let live = Some(Box::new(by_age.into_iter()));
                let (words, weighted) = (Chain::of_words(&[]), self.totals.weighted);
                WeightedNeighbors(Neighbors { words, weighted, live })
            }
        }
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
            match (self.pure_run(part.start, list), self.loose(part.start, list)) {
                (Some(run), _) => {
                    let (ends, _) = run.lists();
                    let mut start = if first == 0 { 0 } else { ends[first - 1].load(Relaxed) };
                    for (v, end) in part.zip(&ends[first..]) {
                        let end = end.load(Relaxed);
                        f(v, (end - start) >> u32::from(self.totals.weighted));
                        start = end;
                    }
                }
                (None, Some(loose)) => {
                    part.for_each(|v| f(v, self.entry(loose, v).degree));
                }
                (None, None) => part.for_each(|v| f(v, 0)),
            }
        }
    }

    // Always: a call for each vertex of a frontier is a tenth of a search of roads.
    #[inline(always)]
    fn load_ahead(&self, direction: Direction, vertices: &[VertexId]) {
        let list = self.totals.list_of(direction);
        // Where a list lies is known only once its entry, or the end of the one before, is there.
        if let Some(&v) = vertices.get(2 * READ_AHEAD) {
            self.load_place_ahead(v, list);
        }
        if let Some(&v) = vertices.get(READ_AHEAD) {
            if let Some(run) = self.pure_run(v, list) {
                run.prefetch_entries(v);
            } else {
                self.find_loose_ahead(v, list);
            }
        }
    }

    #[inline(always)]
    fn visit_listed(
        &self,
        direction: Direction,
        vertices: &[VertexId],
        visitor: &mut impl ListVisitor,
    ) {
        let list = self.totals.list_of(direction);
        let load = |v| self.load_place_ahead(v, list);
        let find = |v: VertexId| {
            let Some(run) = self.pure_run(v, list) else {
                return self.find_loose_ahead(v, list);
            };
            let words = run.entries(v);
            prefetch(words);
            Some(words)
        };
        let neighbor = |word: &AtomicU32| word.load(Relaxed);
        // Two loops: each has more of what it needs in registers.
        match self.totals.weighted {
            false => visit_ahead(vertices, None, (load, find), |v, words| match words {
                Some(words) => visitor.visit(v, words.iter().map(neighbor)),
                None => visitor.visit(v, self.neighbors(v, list)),
            }),
            true => visit_ahead(vertices, None, (load, find), |v, words| match words {
                Some(words) => visitor.visit(v, words.iter().step_by(2).map(neighbor)),
                None => visitor.visit(v, self.neighbors(v, list)),
            }),
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
            match (self.pure_run(part.start, list), self.loose(part.start, list)) {
                (Some(run), _) => {
                    if let Some(next) = self.pure_run(part.end, list) {
                        next.prefetch_ends();
                    }
                    self.visit_run(run, part, visitor);
                }
                (None, Some(loose)) => self.visit_loose((loose, list), part, visitor),
                (None, None) => {}
            }
        }
    }
}

impl WeightedView for Snapshot {
    #[inline(always)]
    fn out_edges(&self, v: VertexId) -> impl Iterator<Item = (VertexId, f32)> + '_ {
        self.edges(v, 0)
    }

    #[inline(always)]
    fn in_edges(&self, v: VertexId) -> impl Iterator<Item = (VertexId, f32)> + '_ {
        self.edges(v, self.totals.list_of(Direction::In))
    }

    #[inline]
    fn out_edges_by_age(&self, v: VertexId) -> impl Iterator<Item = (VertexId, f32)> + '_ {
        self.edges_by_age(v, 0)
    }

    #[inline]
    fn in_edges_by_age(&self, v: VertexId) -> impl Iterator<Item = (VertexId, f32)> + '_ {
        self.edges_by_age(v, self.totals.list_of(Direction::In))
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
    fn fold<B, F: FnMut(B, VertexId) -> B>(self, init: B, f: F) -> B {
        match self.words.as_one_piece() {
            // Most lists: nothing else is to stand in the loop.
            Some(words) if !self.weighted && self.live.is_none() => {
                words.iter().map(|word| word.load(Relaxed)).fold(init, f)
            }
            _ => self.fold_pieces(init, f),
        }
    }
}

impl Neighbors<'_> {
    #[inline(never)]
    fn fold_pieces<B>(self, init: B, mut f: impl FnMut(B, VertexId) -> B) -> B {
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
    fn fold<B, F: FnMut(B, (VertexId, f32)) -> B>(self, init: B, f: F) -> B {
        match self.0.words.as_one_piece() {
            // As in `Neighbors`.
            Some(words) if self.0.weighted && self.0.live.is_none() => fold_edges(words, init, f),
            _ => self.fold_pieces(init, f),
        }
    }
}

impl WeightedNeighbors<'_> {
    #[inline(never)]
    fn fold_pieces<B>(self, init: B, mut f: impl FnMut(B, (VertexId, f32)) -> B) -> B {
        let Neighbors { words, weighted, live } = self.0;
        match (weighted, live) {
            (_, Some(live)) => live.fold(init, f),
            (false, None) => words.fold(init, |folded, neighbor| f(folded, (neighbor, 1.0))),
            (true, None) => words.fold_pairs(init, |folded, (neighbor, weight)| {
                f(folded, (neighbor, f32::from_bits(weight)))
            }),
        }
    }
}

/// Holds the words of each file up to the end of what lists have there: it stays where it is while a
/// view has it.
fn held_files(shards: &[Shared<Shard>], places: &Places, partition: Partition) -> Vec<HeldWords> {
    let mut ends = vec![0; places.blocks.len()];
    for (_, shard) in present(shards) {
        for (number, list) in shard.lists.iter().enumerate() {
            let last_run = list.spans.iter().max_by_key(|span| span.run);
            let of_runs = last_run.and_then(|span| span.extents.as_deref());
            let of_blocks = shard.spaces[partition.slot(number)].extents.as_deref();
            let ends_of_list = of_runs.into_iter().chain(of_blocks).map(Extents::end);
            let end = ends_of_list.max().unwrap_or(0);
            ends[list.sub_graph] = end.max(ends[list.sub_graph]);
        }
    }
    let held = |(file, end): (&Region, u64)| file.hold(0, (end * UNIT_BYTES / 4) as usize);
    places.blocks.iter().zip(ends).map(held).collect()
}

/// Returns a list of a shard, if that is there.
fn held(shard: &Shared<Shard>, list: usize) -> Option<&List> {
    shard.get()?.lists.get(list)
}

/// Returns where a list of each shard lies.
fn loose(shards: &[Shared<Shard>], list: usize) -> Vec<Loose> {
    let of_list = |list: &List| Loose {
        table: list.table.number(),
        sub_graph: list.sub_graph as u16,
        has_runs: list.spans.iter().any(|span| span.run != NO_BLOCK),
    };
    let none = Loose { table: NO_TABLE, sub_graph: 0, has_runs: false };
    shards.iter().map(|shard| held(shard, list).map_or(none, of_list)).collect()
}

/// Returns the shards up to the last one with a run in a list, unless few of them are there.
fn shards_with_runs(shards: &[Shared<Shard>], list: usize) -> Option<&[Shared<Shard>]> {
    let has_run = |lists: &List| lists.spans.iter().any(|span| span.run != NO_BLOCK);
    let last = shards.iter().rposition(|shard| held(shard, list).is_some_and(has_run));
    let shards = &shards[..last.map_or(0, |last| last + 1)];
    let held_count = shards.iter().filter(|shard| held(shard, list).is_some()).count();
    (held_count * SHARDS_PER_HELD >= shards.len()).then_some(shards)
}

/// Returns the run of each span that is wanted: the file that it lies in, and its first word there.
fn runs(
    shards: &[Shared<Shard>],
    list: usize,
    is_wanted: impl Fn(&Span) -> bool,
) -> Vec<Option<(usize, usize)>> {
    let mut runs = Vec::with_capacity(shards.len() * SHARD_SPAN / SPAN);
    for shard in shards {
        match held(shard, list) {
            Some(lists) => {
                let place = |span: &Span| (lists.sub_graph, first_word(span.run));
                let wanted = |span: &Span| is_wanted(span).then(|| place(span));
                runs.extend(lists.spans.iter().map(wanted));
            }
            None => runs.resize(runs.len() + SHARD_SPAN / SPAN, None),
        }
    }
    runs
}

#[inline]
fn local(v: VertexId) -> usize {
    v as usize % SHARD_SPAN
}

#[cfg(test)]
mod tests {
    use everedge_core::WeightedView;
    use everedge_live::Batch;
    use everedge_medium::{Kind, MediumKind, Volume, VolumeOptions};

    use crate::AdjacencyGraph;
    use crate::options::Manifest;

    /// In the buffer, in blocks and in a run, with tombstones and without.
    #[test]
    fn edges_by_age_are_in_the_order_in_which_they_came() {
        let home = tempfile::tempdir().unwrap();
        for directed in [true, false] {
            let path = home.path().join(directed.to_string());
            let volume = Volume::create(&path, VolumeOptions::new(MediumKind::File)).unwrap();
            let options =
                crate::options::GraphOptions { weighted: true, directed, ..Default::default() };
            let graph =
                AdjacencyGraph::create(volume, Manifest::new(Kind::Graph, options)).unwrap();
            let mut expected = Vec::new();
            for number in 0..2000 {
                let weight = number as f32;
                let mut batch = Batch::new(true);
                batch.insert(1, 2, weight).unwrap();
                batch.insert(1, number % 7 + 10, weight).unwrap();
                expected.push(weight);
                if number > 700 && number % 100 == 0 {
                    batch.delete(1, 2).unwrap();
                    expected.pop();
                }
                graph.apply(&batch).unwrap();
                if number == 500 || number == 1500 {
                    graph.compact().unwrap();
                }
                if number % 41 == 0 {
                    let view = graph.snapshot().unwrap();
                    let (out, incoming) = (view.out_edges_by_age(1), view.in_edges_by_age(2));
                    let lists = [(out.collect::<Vec<_>>(), 2), (incoming.collect(), 1)];
                    for (edges, other) in lists {
                        let found = edges.iter().filter(|edge| edge.0 == other).map(|edge| edge.1);
                        assert!(found.eq(expected.iter().copied()), "{number}, list to {other}");
                    }
                }
            }
        }
    }
}
