//! A shard: the neighbor lists of 4,096 consecutive vertices, updated by one thread at a time.
//!
//! Source: XPGraph §3.3 (tombstones), §3.4 (ranged edge lists that are archived in parallel).
//! Difference: whether a deletion finds its edge is decided by one scan of the list for all the updates of a
//! vertex in a round.
//!
//! # Invariants
//! - H1: `vertex_count` is the number of bits in `vertices`; `degree_sum` the sum of degrees in
//!   the first list, `loop_count` the self-loops in it.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, LazyLock};

use everedge_core::VertexId;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::block::{self, BlockHeader};
use super::buffers::{Plan, Pool};
use super::image::Unread;
use super::list::{List, Places, Span, Spill};
use super::options::{Compacting, Deleting};
use super::run::SPAN;
use super::space::ShardSpace;
use super::subgraphs::{Partition, SHARD_SPACES, SubGraphs};
use super::table::{Entry, Tables};
use everedge_live::DELETION;
use everedge_live::{
    BITMAP_WORDS, Effect, Outcome, Part, Rules, SHARD_SPAN, ShardTotals, UNIT_BYTES, Update,
    loops_in,
};
use everedge_live::{EmptyShard, Error, Result};
use everedge_medium::Site;

/// Lists are loaded into the cache so many vertices before they change.
const WARM_AHEAD: usize = 24;
/// Fewer tombstones in a shard are not worth a compaction.
const TOMBSTONES_MIN: u64 = 1024;
/// What a shard needs to know to take updates.
pub(crate) struct Context<'a> {
    pub sub_graphs: &'a SubGraphs,
    pub places: &'a Places,
    pub plan: &'a Plan,
    pub salt: u32,
    /// Words of an entry: a neighbor, and its weight if there are weights.
    pub entry_words: usize,
    pub simple: bool,
    pub directed: bool,
    pub compaction: Compacting,
    pub deletion: Deleting,
    /// The sequence number of the round's first update.
    pub first_sequence: u64,
    /// The weight, as bits, of each update of the round.
    pub weights: &'a [AtomicU32],
    /// Why the medium did not take a block, unless it was only full.
    pub failure: &'a Mutex<Option<Error>>,
}

/// The lists of one range of vertices; as `default` it has no room for any yet.
#[derive(Default)]
pub(crate) struct Shard {
    pub first_vertex: VertexId,
    /// All updates before this one were in it when the graph was opened.
    pub opened_sequence: u64,
    /// Since the graph was opened nobody has asked for its lists: they are still to be read.
    pub unread: Option<Unread>,
    /// Whether what its lists point to was looked at since the graph was opened.
    pub is_checked: AtomicBool,
    /// The id after the largest that its lists named then.
    pub neighbor_bound: AtomicU32,
    /// The id after the largest that has ended since the graph was opened: no view's bound is below it.
    pub ended_bound: VertexId,
    pub lists: Vec<List>,
    pub vertices: Vec<u64>,
    pub vertex_count: u32,
    pub degree_sum: u64,
    pub loop_count: u64,
    /// Tombstones in all lists.
    pub tombstone_count: u64,
    /// One for each sub-graph that it is in.
    pub spaces: [ShardSpace; SHARD_SPACES],
    /// Blocks of all lists.
    pub block_count: u64,
    /// Units of all runs.
    pub run_units: u64,
    pub outcome: Outcome,
}

impl EmptyShard for Shard {
    fn empty() -> &'static Self {
        static EMPTY: LazyLock<Shard> = LazyLock::new(Shard::default);
        &EMPTY
    }
}

impl Shard {
    /// Makes room for the vertices of the shard number `index`, if there is none yet.
    ///
    /// # Errors
    /// `NoSpace` if there is no memory.
    pub(crate) fn materialize(
        &mut self,
        index: usize,
        list_count: usize,
        (partition, tables, pool): (Partition, &Arc<Tables>, &Arc<Pool>),
    ) -> Result<()> {
        if self.vertices.is_empty() {
            let spans = || vec![Span::default(); SHARD_SPAN / SPAN];
            let list = |list| List::new(partition.sub_graph(index, list), spans(), tables, pool);
            self.lists = (0..list_count).map(list).collect::<Result<_>>()?;
            self.first_vertex = (index * SHARD_SPAN) as u32;
            self.vertices = vec![0; BITMAP_WORDS];
            self.is_checked = AtomicBool::new(true);
        }
        Ok(())
    }

    /// Whether there are lists that nobody has read since the graph was opened.
    pub(crate) fn is_unseen(&self) -> bool {
        !self.vertices.is_empty() && !self.is_checked.load(Relaxed)
    }

    /// Whether some list was spilled.
    pub(crate) fn has_spills(&self) -> bool {
        self.lists.iter().any(List::has_spills)
    }

    /// Returns a copy that changes by itself.
    ///
    /// # Errors
    /// `NoSpace` if there is no memory for it.
    pub(crate) fn copy(&self) -> Result<Self> {
        Ok(Self {
            lists: self.lists.iter().map(List::copy).collect::<Result<_>>()?,
            vertices: self.vertices.clone(),
            spaces: self.spaces.clone(),
            unread: self.unread.clone(),
            is_checked: AtomicBool::new(self.is_checked.load(Relaxed)),
            neighbor_bound: AtomicU32::new(self.neighbor_bound.load(Relaxed)),
            ..*self
        })
    }

    /// Returns how many units the lists take at most when they are written anew.
    pub(crate) fn unit_count(&self) -> u64 {
        self.run_units + self.loose_units()
    }

    /// Returns how many of them are not of runs: those of blocks, and of what is in memory.
    pub(crate) fn loose_units(&self) -> u64 {
        let of_list = |list: &List| list.buffer_bytes() + 4 * list.spilled_word_count();
        let in_memory: u64 = self.lists.iter().map(of_list).sum();
        self.block_units() + in_memory.div_ceil(UNIT_BYTES)
    }

    /// Returns how many units its runs and blocks take.
    pub(crate) fn placed_units(&self) -> u64 {
        self.run_units + self.block_units()
    }

    /// Returns how many units its blocks take.
    pub(super) fn block_units(&self) -> u64 {
        self.spaces.iter().map(|space| space.unit_count).sum()
    }

    /// Whether what was deleted is so many percent of what the lists hold: a tombstone stands for
    /// two entries, itself and the one that it takes away.
    pub(crate) fn has_many_tombstones(&self, percent: u32) -> bool {
        if percent == 0 || self.tombstone_count < TOMBSTONES_MIN || self.unread.is_some() {
            return false;
        }
        let degrees = |list: &List| list.table.entries().map(|entry| u64::from(entry.degree)).sum();
        let live: u64 = self.lists.iter().map(|list| -> u64 { degrees(list) }).sum();
        let deleted = 2 * self.tombstone_count;
        100 * deleted >= u64::from(percent) * (live + deleted)
    }

    #[inline]
    pub(crate) fn is_vertex(&self, local: usize) -> bool {
        self.vertices.get(local / 64).is_some_and(|word| word >> (local % 64) & 1 == 1)
    }

    /// Returns what it adds to the totals of a view.
    pub(crate) fn totals(&self) -> ShardTotals {
        ShardTotals {
            vertex_bound: self.vertex_bound(),
            vertex_count: self.vertex_count,
            degree_sum: self.degree_sum,
            loop_count: self.loop_count,
        }
    }

    /// Returns the id after the shard's last vertex, or 0 if it has none. What has ended counts until the
    /// graph is opened anew.
    fn vertex_bound(&self) -> u32 {
        let last = self.vertices.iter().rposition(|&word| word != 0);
        self.ended_bound.max(match last {
            Some(index) => {
                self.first_vertex + index as u32 * 64 + 64 - self.vertices[index].leading_zeros()
            }
            None => 0,
        })
    }

    /// Applies a part of a round to one list. A list past the last keeps no neighbors, only that
    /// its vertices are vertices.
    pub(crate) fn take(&mut self, context: &Context, list: usize, part: &Part) -> Result<()> {
        if part.has_deletions || context.simple {
            return part
                .runs()
                .try_for_each(|(local, updates)| self.apply(context, list, local, updates));
        }
        self.note_insertions(part.touched);
        if list >= self.lists.len() {
            return Ok(());
        }
        let mut loops = 0;
        for (run, (local, updates)) in part.runs().enumerate() {
            let lists = &mut self.lists[list];
            lists.warm(context, part.local(run + WARM_AHEAD));
            loops += loops_in(updates, self.first_vertex + local as u32);
            if let Some(entry) = lists.append(context, local, updates) {
                self.append(context, list, (local, entry), updates)?;
            }
        }
        if list == 0 {
            self.count_insertions(context, part.updates().len() as u64, loops);
        }
        Ok(())
    }

    /// Applies the updates of one vertex in one list, in their order.
    fn apply(
        &mut self,
        context: &Context,
        list: usize,
        local: usize,
        updates: &[Update],
    ) -> Result<()> {
        if updates.iter().any(|update| !update.is_deletion()) {
            self.note_vertex(local, true);
        }
        if list >= self.lists.len() {
            return Ok(());
        }
        if !context.simple && !updates.iter().any(Update::is_deletion) {
            return self.append_insertions(context, list, local, updates);
        }
        if context.deletion == Deleting::Naive {
            return self.apply_each(context, list, local, updates);
        }
        let mut live: FxHashMap<VertexId, i64> =
            updates.iter().map(|update| (update.neighbor() & !DELETION, 0)).collect();
        self.lists[list].count_live(context.places, local, context.entry_words, &mut live);
        let resolved = self.resolve(context, list, local, updates, live);
        self.append(context, list, (local, self.lists[list].entry(local)), &resolved)
    }

    /// Appends insertions that need no look at the list.
    pub(super) fn append_insertions(
        &mut self,
        context: &Context,
        list: usize,
        local: usize,
        updates: &[Update],
    ) -> Result<()> {
        if list == 0 {
            let loops = loops_in(updates, self.first_vertex + local as u32);
            self.count_insertions(context, updates.len() as u64, loops);
        }
        match self.lists[list].append(context, local, updates) {
            Some(entry) => self.append(context, list, (local, entry), updates),
            None => Ok(()),
        }
    }

    /// Writes every buffer as a block that completes its list up to `sequence`.
    ///
    /// # Errors
    /// `NoSpace` if the medium is full; what is not written stays in memory.
    pub(crate) fn flush_all(&mut self, context: &Context, sequence: u64) -> Result<()> {
        let flushed = (0..self.lists.len()).try_for_each(|list| {
            let wanted = |entry: Entry| entry.has_spills || entry.buffered > 0;
            self.flush_those(context, list, sequence, wanted)?;
            self.lists[list].drop_buffers();
            Ok(())
        });
        // Also what was written before there was no room: it is linked.
        context.sub_graphs.drain(Site::Block)?;
        flushed
    }

    /// Flushes those vertices of a list of which a row says so.
    fn flush_those(
        &mut self,
        context: &Context,
        list: usize,
        sequence: u64,
        wanted: impl Fn(Entry) -> bool,
    ) -> Result<()> {
        for local in 0..SHARD_SPAN {
            if wanted(self.lists[list].entry(local)) {
                self.flush(context, list, local, sequence)?;
            }
        }
        Ok(())
    }

    /// Writes what was spilled, and what is buffered behind it, as blocks.
    ///
    /// # Errors
    /// `NoSpace` if the medium is still full.
    pub(crate) fn flush_spills(&mut self, context: &Context, sequence: u64) -> Result<()> {
        let flushed = (0..self.lists.len()).try_for_each(|list| {
            self.flush_those(context, list, sequence, |entry| entry.has_spills)
        });
        context.sub_graphs.drain(Site::Block)?;
        flushed
    }

    /// Returns whether [`Self::flush_all`] has something to do.
    pub(crate) fn has_unflushed(&self) -> bool {
        self.lists.iter().any(|list| list.buffer_bytes() > 0 || list.has_spills())
    }

    /// Makes an id a vertex, or ends it.
    pub(crate) fn note_vertex(&mut self, local: usize, is_vertex: bool) {
        if self.is_vertex(local) != is_vertex {
            self.set_vertex(local, is_vertex);
        }
    }

    fn set_vertex(&mut self, local: usize, is_vertex: bool) {
        let (word, bit) = (&mut self.vertices[local / 64], 1 << (local % 64));
        match (*word & bit != 0, is_vertex) {
            (false, true) => self.vertex_count += 1,
            (true, false) => {
                self.vertex_count -= 1;
                self.ended_bound = self.ended_bound.max(self.first_vertex + local as u32 + 1);
            }
            _ => return,
        }
        *word ^= bit;
    }

    /// Makes vertices of all that `touched` has a bit for.
    fn note_insertions(&mut self, touched: &[u64; BITMAP_WORDS]) {
        for (is_vertex, touched) in self.vertices.iter_mut().zip(touched) {
            self.vertex_count += (touched & !*is_vertex).count_ones();
            *is_vertex |= touched;
        }
    }

    /// Counts insertions into the first list.
    fn count_insertions(&mut self, context: &Context, count: u64, loops: u64) {
        self.degree_sum += count;
        self.loop_count += loops;
        self.outcome.inserted += count + if context.directed { 0 } else { loops };
    }

    /// Turns updates into entries ([`resolve`](archiving::resolve)) and counts what they change.
    pub(super) fn resolve(
        &mut self,
        context: &Context,
        list: usize,
        local: usize,
        updates: &[Update],
        live: FxHashMap<VertexId, i64>,
    ) -> Vec<Update> {
        let vertex = self.first_vertex + local as u32;
        let rules = Rules { simple: context.simple, weighted: context.entry_words > 1 };
        everedge_live::resolve(rules, updates, live, |effect| {
            let ends = |neighbor| if neighbor == vertex && !context.directed { 2 } else { 1 };
            let counted = |neighbor| if list == 0 { ends(neighbor) } else { 0 };
            match effect {
                Effect::Ignored(neighbor) => self.outcome.ignored += counted(neighbor),
                Effect::Deleted(neighbor) => {
                    self.outcome.deleted += counted(neighbor);
                    self.change_degree(list, local, neighbor == vertex, -1);
                }
                Effect::Inserted(neighbor) => {
                    self.outcome.inserted += counted(neighbor);
                    self.change_degree(list, local, neighbor == vertex, 1);
                }
                Effect::Replaced => {
                    self.lists[list].change(local, |entry| entry.has_tombstones = true);
                    self.tombstone_count += 1;
                }
            }
        })
    }

    fn change_degree(&mut self, list: usize, local: usize, is_loop: bool, change: i32) {
        self.lists[list].change(local, |entry| {
            entry.degree = entry.degree.wrapping_add_signed(change);
            entry.has_tombstones |= change < 0;
        });
        self.tombstone_count += u64::from(change < 0);
        if list == 0 {
            self.degree_sum = self.degree_sum.wrapping_add_signed(change.into());
            if is_loop {
                self.loop_count = self.loop_count.wrapping_add_signed(change.into());
            }
        }
    }

    /// Appends entries to the buffer of a vertex, whose row is given, and which becomes a block
    /// whenever it is full. A new weight is two entries of one update: a block that ends between
    /// them is not yet complete up to it.
    pub(super) fn append(
        &mut self,
        context: &Context,
        list: usize,
        (local, mut entry): (usize, Entry),
        entries: &[Update],
    ) -> Result<()> {
        let Context { entry_words, plan, .. } = *context;
        let mut rest = entries;
        while !rest.is_empty() {
            let lists = &mut self.lists[list];
            let room = lists.room(context, &mut entry, rest.len() * entry_words)?;
            let (now, later) = rest.split_at(rest.len().min(room / entry_words));
            entry = lists.fill(context, local, entry, now);
            if let Some(last) = now.last()
                && plan.is_full(entry.class, entry.buffered.into(), entry_words)
            {
                let is_cut = later.first().is_some_and(|next| next.index() == last.index());
                let sequence = context.sequence(*last) - u64::from(is_cut);
                // What fails is spilled: in memory the list is whole all the same.
                if let Err(error) = self.flush(context, list, local, sequence) {
                    context.note_failure(error);
                }
                let lists = &mut self.lists[list];
                entry = lists.entry(local);
                lists.widen(context, &mut entry)?;
                lists.table.set(local, entry);
            }
            rest = later;
        }
        Ok(())
    }

    /// Writes what was spilled and the buffer of one vertex as blocks, and empties the buffer.
    ///
    /// # Errors
    /// `NoSpace` if the medium is full. What is not written is spilled, whatever the error.
    fn flush(&mut self, context: &Context, list: usize, local: usize, sequence: u64) -> Result<()> {
        let lists = &mut self.lists[list];
        let words = lists.take_buffered(&context.places.buffers, local);
        if !lists.entry(local).has_spills {
            let written = self.write_block(context, list, local, sequence, words);
            if written.is_err() && !words.is_empty() {
                self.lists[list].spill(local, [Spill::new(sequence, words)]);
            }
            return written;
        }
        let mut spills = lists.take_spills(local);
        if !words.is_empty() {
            spills.push(Spill::new(sequence, words));
        }
        for index in 0..spills.len() {
            let Spill { sequence, words } = &spills[index];
            if let Err(error) = self.write_block(context, list, local, *sequence, words) {
                self.lists[list].spill(local, spills.drain(index..));
                return Err(error);
            }
        }
        Ok(())
    }

    fn write_block(
        &mut self,
        context: &Context,
        list: usize,
        local: usize,
        sequence: u64,
        words: &[AtomicU32],
    ) -> Result<()> {
        let lists = &mut self.lists[list];
        let blocks = lists.blocks(context.places);
        let header = BlockHeader {
            vertex: self.first_vertex + local as u32,
            list,
            previous: lists.entry(local).head,
            sequence,
            entry_words: words.len(),
        };
        let space = context.sub_graphs.space(lists.sub_graph);
        let own = &mut self.spaces[context.sub_graphs.partition.slot(list)];
        let place = own.take(space, header.lines())?;
        block::write(blocks, context.salt, place, &header, words);
        self.block_count += 1;
        lists.link(local, place);
        Ok(())
    }
}

impl Context<'_> {
    fn note_failure(&self, error: Error) {
        if !matches!(error, Error::NoSpace { .. }) {
            self.failure.lock().get_or_insert(error);
        }
    }

    fn sequence(&self, update: Update) -> u64 {
        self.first_sequence + u64::from(update.index())
    }

    #[inline]
    pub(crate) fn weight(&self, update: Update) -> u32 {
        self.weights[update.index() as usize].load(Relaxed)
    }
}
