//! A shard: the neighbor lists of 4,096 consecutive vertices, updated by one thread at a time.
//!
//! Source: XPGraph §3.3 (tombstones), §3.4 (ranged edge lists that are archived in parallel).
//! Differences: an update is replayed only past the sequence number of the vertex's newest block;
//! whether a deletion finds its edge is decided by one scan of the list for all the updates of a
//! vertex in a round.
//!
//! # Invariants
//! - H1: a set bit in `unflushed` means that no block says yet whether that id is a vertex.
//! - H2: `vertex_count` is the number of bits in `vertices`; `degree_sum` the sum of degrees in
//!   the first list, `loop_count` the self-loops in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_core::VertexId;
use rustc_hash::FxHashMap;

use super::block::{self, BlockHeader, NO_BLOCK};
use super::buffers::{Plan, Pool};
use super::list::{List, Places, Spill};
use super::options::{Compacting, Deleting};
use super::run;
use super::segment::Segment;
use super::space::ShardSpace;
use super::subgraphs::{Partition, SHARD_SPACES, SubGraphs};
use super::table::{Entry, Tables};
use everedge_live::DELETION;
use everedge_live::{
    BITMAP_WORDS, Effect, Outcome, Part, Rules, SHARD_SPAN, ShardTotals, UNIT_BYTES, Update,
    loops_in,
};
use everedge_live::{Error, Result};
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
    /// Whether updates may be older than the blocks: after a crash.
    pub replaying: bool,
    /// The sequence number of the round's first update.
    pub first_sequence: u64,
    /// The weight, as bits, of each update of the round.
    pub weights: &'a [AtomicU32],
}

/// Blocks written and the sum of their checksums: what must be found again after a crash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub block_count: u64,
    pub checksum_sum: u64,
}

impl Tally {
    pub(crate) fn add(&mut self, checksum: u32) {
        self.block_count += 1;
        self.checksum_sum = self.checksum_sum.wrapping_add(u64::from(checksum));
    }

    pub(crate) fn remove(&mut self, checksum: u32) {
        self.block_count -= 1;
        self.checksum_sum = self.checksum_sum.wrapping_sub(u64::from(checksum));
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.block_count += other.block_count;
        self.checksum_sum = self.checksum_sum.wrapping_add(other.checksum_sum);
    }
}

/// The lists of one range of vertices; as `default` it has no room for any yet.
#[derive(Default)]
pub(crate) struct Shard {
    pub first_vertex: VertexId,
    /// All updates before this one are in it.
    pub sequence: u64,
    pub lists: Vec<List>,
    pub vertices: Vec<u64>,
    pub unflushed: Vec<u64>,
    pub vertex_count: u32,
    pub degree_sum: u64,
    pub loop_count: u64,
    /// Tombstones in all lists.
    pub tombstone_count: u64,
    /// One for each sub-graph that it is in.
    pub spaces: [ShardSpace; SHARD_SPACES],
    pub tally: Tally,
    pub outcome: Outcome,
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
            let list = |list| List::new(partition.sub_graph(index, list), tables, pool);
            self.lists = (0..list_count).map(list).collect::<Result<_>>()?;
            self.first_vertex = (index * SHARD_SPAN) as u32;
            self.vertices = vec![0; BITMAP_WORDS];
            self.unflushed = vec![0; BITMAP_WORDS];
        }
        Ok(())
    }

    /// Changes the shard number `index`, after which it holds all updates before `sequence`; one
    /// that is shared is copied first.
    ///
    /// # Errors
    /// `NoSpace` if there is no memory for the copy, and those of `change`.
    pub(crate) fn change<R>(
        shared: &mut Arc<Self>,
        (told, index): (Option<Told>, usize),
        sequence: u64,
        change: impl FnOnce(&mut Self) -> Result<R>,
    ) -> Result<R> {
        let mut steps = Change::new(shared, told, index);
        let changed = change(steps.begin()?)?;
        steps.end(sequence)?;
        Ok(changed)
    }

    /// Whether some list was spilled.
    pub(crate) fn has_spills(&self) -> bool {
        self.lists.iter().any(List::has_spills)
    }

    /// Returns the shard for changing; one that is shared is copied first.
    ///
    /// # Errors
    /// `NoSpace` if there is no memory for the copy.
    pub(crate) fn own(shared: &mut Arc<Self>) -> Result<&mut Self> {
        if Arc::get_mut(shared).is_none() {
            *shared = Arc::new(shared.copy()?);
        }
        Ok(Arc::get_mut(shared).expect("a new copy is not shared"))
    }

    fn copy(&self) -> Result<Self> {
        Ok(Self {
            lists: self.lists.iter().map(List::copy).collect::<Result<_>>()?,
            vertices: self.vertices.clone(),
            unflushed: self.unflushed.clone(),
            spaces: self.spaces.clone(),
            ..*self
        })
    }

    /// Whether what was deleted is so many percent of what the lists hold: a tombstone stands for
    /// two entries, itself and the one that it takes away.
    pub(crate) fn is_worn(&self, percent: u32) -> bool {
        if percent == 0 || self.tombstone_count < TOMBSTONES_MIN {
            return false;
        }
        let degrees = |list: &List| list.table.entries().map(|entry| u64::from(entry.degree)).sum();
        let live: u64 = self.lists.iter().map(|list| -> u64 { degrees(list) }).sum();
        let deleted = 2 * self.tombstone_count;
        100 * deleted >= u64::from(percent) * (live + deleted)
    }

    /// Returns its number.
    pub(crate) fn number(&self) -> usize {
        self.first_vertex as usize / SHARD_SPAN
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

    /// Returns the id after the shard's last vertex, or 0 if it has none.
    fn vertex_bound(&self) -> u32 {
        match self.vertices.iter().rposition(|&word| word != 0) {
            Some(index) => {
                self.first_vertex + index as u32 * 64 + 64 - self.vertices[index].leading_zeros()
            }
            None => 0,
        }
    }

    /// Applies a part of a round to one list. A list past the last keeps no neighbors, only that
    /// its vertices are vertices.
    pub(crate) fn take(&mut self, context: &Context, list: usize, part: &Part) -> Result<()> {
        let replaying = context.replaying || self.sequence > context.first_sequence;
        if part.has_deletions || context.simple || replaying {
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
        let mut known = 0;
        if self.sequence > context.first_sequence {
            known = updates.partition_point(|update| context.sequence(*update) < self.sequence);
        }
        if context.replaying
            && let Some(sequence) = self.complete_through(context, list, local)
        {
            known =
                known.max(updates.partition_point(|update| context.sequence(*update) <= sequence));
        }
        let updates = &updates[known..];
        if let Some(insertion) = updates.iter().rev().find(|update| !update.is_deletion()) {
            self.note_vertex(context, local, context.sequence(*insertion), true);
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

    /// Makes an id a vertex, or ends it, by an update of the vertex itself.
    pub(crate) fn apply_to_vertex(&mut self, context: &Context, local: usize, update: Update) {
        self.note_vertex(context, local, context.sequence(update), !update.is_deletion());
    }

    /// Writes every buffer as a block that completes its list up to `sequence`.
    ///
    /// # Errors
    /// `NoSpace` if the medium is full; what is not written stays in memory.
    pub(crate) fn flush_all(&mut self, context: &Context, sequence: u64) -> Result<()> {
        for list in 0..self.lists.len() {
            for local in 0..SHARD_SPAN {
                let entry = self.lists[list].entry(local);
                if entry.has_spills || entry.buffered > 0 {
                    self.flush(context, list, local, sequence)?;
                }
            }
            self.lists[list].drop_buffers();
        }
        for local in 0..self.unflushed.len() * 64 {
            if self.unflushed[local / 64] >> (local % 64) & 1 == 1 {
                self.flush(context, 0, local, sequence)?;
            }
        }
        context.sub_graphs.drain(Site::Block)
    }

    /// Wipes the blocks that it has written since it was `older`.
    fn wipe_blocks_after(&self, older: &Self, places: &Places) {
        for (number, list) in self.lists.iter().enumerate() {
            let blocks = list.blocks(places);
            for (local, entry) in list.table.entries().enumerate() {
                let end = older.lists.get(number).map_or(NO_BLOCK, |list| list.entry(local).head);
                let mut place = entry.head;
                while place != end && place != NO_BLOCK {
                    let previous = block::entries(blocks, place).1;
                    block::wipe(blocks, place);
                    place = previous;
                }
            }
        }
    }

    /// Returns whether [`Self::flush_all`] has something to do.
    pub(crate) fn has_unflushed(&self) -> bool {
        let has_words = |list: &List| list.buffer_bytes() > 0;
        self.unflushed.iter().any(|&word| word != 0) || self.lists.iter().any(has_words)
    }

    /// Sets whether `local` is a vertex, as found at recovery.
    pub(crate) fn restore_vertex(&mut self, local: usize, is_vertex: bool) {
        self.set_vertex(local, is_vertex);
        self.unflushed[local / 64] &= !(1 << (local % 64));
    }

    /// The sequence number up to which a list is complete in its blocks.
    fn complete_through(&self, context: &Context, list: usize, local: usize) -> Option<u64> {
        let list = self.lists.get(list)?;
        let blocks = list.blocks(context.places);
        match (list.entry(local).head, list.spans[local / run::SPAN].run) {
            (NO_BLOCK, NO_BLOCK) => None,
            (NO_BLOCK, place) => Some(run::sequence_of(blocks, place)),
            (head, _) => Some(block::sequence_of(blocks, head)),
        }
    }

    fn note_vertex(&mut self, context: &Context, local: usize, sequence: u64, is_vertex: bool) {
        let is_known = sequence < self.sequence
            || context.replaying
                && (0..self.lists.len())
                    .filter_map(|list| self.complete_through(context, list, local))
                    .any(|complete| sequence <= complete);
        if !is_known && self.is_vertex(local) != is_vertex {
            self.set_vertex(local, is_vertex);
            self.unflushed[local / 64] |= 1 << (local % 64);
        }
    }

    fn set_vertex(&mut self, local: usize, is_vertex: bool) {
        let (word, bit) = (&mut self.vertices[local / 64], 1 << (local % 64));
        match (*word & bit != 0, is_vertex) {
            (false, true) => self.vertex_count += 1,
            (true, false) => self.vertex_count -= 1,
            _ => return,
        }
        *word ^= bit;
    }

    /// Makes vertices of all that `touched` has a bit for.
    fn note_insertions(&mut self, touched: &[u64; BITMAP_WORDS]) {
        for ((is_vertex, unflushed), touched) in
            self.vertices.iter_mut().zip(&mut self.unflushed).zip(touched)
        {
            let new = touched & !*is_vertex;
            self.vertex_count += new.count_ones();
            *is_vertex |= new;
            *unflushed |= new;
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
                match self.flush(context, list, local, sequence) {
                    // In memory the list is whole all the same.
                    Err(Error::NoSpace { .. }) => {}
                    outcome => outcome?,
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
        let (previous, base) = (lists.entry(local).head, lists.spans[local / run::SPAN].run);
        let after_run = previous == NO_BLOCK && base != NO_BLOCK;
        let header = BlockHeader {
            vertex: self.first_vertex + local as u32,
            list,
            previous,
            previous_sequence: match after_run {
                true => run::sequence_of(blocks, base) as u32,
                false => lists.table.head_sequence(local),
            },
            after_run,
            sequence,
            entry_words: words.len(),
            is_vertex: self.vertices[local / 64] >> (local % 64) & 1 == 1,
        };
        let space = context.sub_graphs.space(lists.sub_graph);
        let own = &mut self.spaces[context.sub_graphs.partition.slot(list)];
        let place = own.take(space, header.lines())?;
        let checksum = block::write(blocks, context.salt, place, &header, words);
        self.tally.add(checksum);
        lists.link(local, place, sequence);
        self.unflushed[local / 64] &= !(1 << (local % 64));
        Ok(())
    }
}

/// Who is told of changes of shards, and where their blocks lie.
#[derive(Clone, Copy)]
pub(crate) struct Told<'a> {
    pub segment: &'a Segment,
    pub places: &'a Places,
}

/// A change of a shard, in steps.
pub(crate) struct Change<'a> {
    shared: &'a mut Arc<Shard>,
    told: Option<Told<'a>>,
    index: usize,
    /// The shard as it was, with its tables and buffers, if what its record says of them is to stay
    /// true until it says more.
    kept: Option<Arc<Shard>>,
}

impl<'a> Change<'a> {
    /// Returns a change of the shard number `index` that has not begun.
    pub(crate) fn new(shared: &'a mut Arc<Shard>, told: Option<Told<'a>>, index: usize) -> Self {
        Self { shared, told, index, kept: None }
    }

    /// Returns the number of the shard.
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    /// Begins it: a shard that is shared is copied first. Returns the shard.
    ///
    /// # Errors
    /// `NoSpace` if there is no memory for the copy.
    pub(crate) fn begin(&mut self) -> Result<&mut Shard> {
        if let Some(Told { segment, .. }) = self.told {
            self.kept = segment.is_passed().then(|| Arc::clone(self.shared));
            segment.mark_changing(self.index);
        }
        Shard::own(self.shared)
    }

    /// Returns the shard that is being changed.
    pub(crate) fn shard(&mut self) -> &mut Shard {
        Arc::get_mut(self.shared).expect("what is being changed is not shared")
    }

    /// Ends it: the shard holds all updates before `sequence`.
    ///
    /// # Errors
    /// `NoSpace` if something of the shard found no room, but must not be in memory only.
    pub(crate) fn end(&mut self, sequence: u64) -> Result<()> {
        self.shard().sequence = sequence;
        let Some(Told { segment, .. }) = self.told else { return Ok(()) };
        if self.kept.is_some() && self.shard().has_spills() {
            return Err(Error::NoSpace {
                path: segment.buffers.path().to_owned(),
                needed_bytes: UNIT_BYTES,
                available_bytes: 0,
                lack: everedge_medium::Lack::Disk,
            });
        }
        segment.mark_whole(self.index, self.shard());
        // Not before: others would write into its buffers.
        self.kept = None;
        Ok(())
    }
}

impl Drop for Change<'_> {
    /// If it did not end, makes the shard what its record still says that it is.
    fn drop(&mut self) {
        if let (Some(kept), Some(Told { segment, places })) = (self.kept.take(), self.told) {
            self.shared.wipe_blocks_after(&kept, places);
            segment.mark_whole(self.index, &kept);
            *self.shared = kept;
        }
    }
}

impl Context<'_> {
    fn sequence(&self, update: Update) -> u64 {
        self.first_sequence + u64::from(update.index())
    }

    #[inline]
    pub(crate) fn weight(&self, update: Update) -> u32 {
        self.weights[update.index() as usize].load(Relaxed)
    }
}
