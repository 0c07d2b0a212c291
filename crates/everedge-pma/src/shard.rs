//! A shard: the arrays of 4,096 consecutive vertices, changed by one thread at a time.
//!
//! # Invariants
//! - H1: `vertex_count` is the number of bits in `vertices`; `degree_sum` the sum of degrees in the
//!   first array, `loop_count` the self-loops in it.
//! - H2: if there is a vertex, there is a first array, and it has a section for it.

use std::ops::Range;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_core::VertexId;
use rustc_hash::FxHashMap;

use super::array::Array;
use super::build::Fill;
use super::header::Moment;
use super::mechanisms::{Counters, Why};
use super::options::{LogFirst, PmaOptions};
use super::room::Room;
use super::rows::Rows;
use super::table::Table;
use super::undo::UndoLogs;
use everedge_live::DELETION;
use everedge_live::Result;
use everedge_live::{
    BITMAP_WORDS, Compaction, Effect, EmptyShard, Outcome, Part, Room as Free, Rules, SHARD_SPAN,
    ShardTotals, UNIT_BYTES, Update, loops_in, resolve,
};

/// What a shard needs to know to take updates.
pub(super) struct Context<'a> {
    pub options: &'a PmaOptions,
    pub rules: Rules,
    pub directed: bool,
    /// Words of an entry: a neighbor, and its weight if there are weights.
    pub entry_words: usize,
    pub room: &'a Room,
    pub table: &'a Table,
    pub undo: &'a UndoLogs,
    /// The rows on the medium, if they are there too.
    pub rows: Option<&'a Rows>,
    pub counters: &'a Counters,
    /// What headers that are written now say of that.
    pub moment: Moment,
    /// Whether updates may be older than the arrays: after a crash.
    pub replaying: bool,
    /// Whether updates come in batches, in rounds of which each is as large as the one before, and
    /// not one by one.
    pub is_bulk: bool,
    /// The first update of the round: all before it are in all lists.
    pub start_sequence: u64,
    /// The first update after it.
    pub end_sequence: u64,
    /// The weight, as bits, of each update of the round.
    pub weights: &'a [AtomicU32],
    /// What an array with gaps leaves free for those that are still to be written.
    pub kept: Free,
    /// Whether an array that finds no room goes on in memory; else it stays as it was.
    pub spills: bool,
}

impl Context<'_> {
    /// Stores rows that have changed on the medium, if they are to lie there.
    #[inline]
    pub(super) fn store_rows(&self, array: &Array, locals: Range<usize>) {
        if let Some(rows) = self.rows {
            rows.store(array, locals);
        }
    }

    /// Stores what updates put into lists.
    #[inline]
    pub(super) fn write_entries(&self, updates: &[Update], to: &mut [u32]) {
        match self.entry_words {
            1 => updates.iter().zip(to).for_each(|(update, to)| [*to] = self.entry(update)),
            _ => {
                let entries = to.as_chunks_mut().0;
                updates.iter().zip(entries).for_each(|(update, to)| *to = self.entry::<2>(update));
            }
        }
    }

    /// Returns the words of an entry.
    #[inline]
    pub(super) fn entry<const WORDS: usize>(&self, update: &Update) -> [u32; WORDS] {
        std::array::from_fn(|word| match word {
            0 => update.neighbor(),
            _ => self.weights[update.index() as usize].load(Relaxed),
        })
    }
}

/// Entries for the lists of one array, by local vertex, those of a list in their order.
pub(super) struct Additions<'a> {
    updates: &'a [Update],
    /// The local vertex of each run and its end in `updates`.
    runs: Vec<(u32, u32)>,
    first: usize,
    pub has_deletions: bool,
}

impl<'a> Additions<'a> {
    fn new(updates: &'a [Update], runs: Vec<(u32, u32)>, has_deletions: bool) -> Self {
        Self { updates, runs, first: 0, has_deletions }
    }

    /// Returns nothing to add.
    pub(super) fn none() -> Additions<'static> {
        Additions::new(&[], Vec::new(), false)
    }

    /// Returns those of the run number `run` and after it.
    pub(super) fn from(&self, run: usize) -> Self {
        Self { runs: self.runs.clone(), first: self.first + run, ..*self }
    }

    /// Returns how many entries there are.
    pub(super) fn len(&self) -> usize {
        self.updates.len() - self.start(self.first) as usize
    }

    fn start(&self, run: usize) -> u32 {
        run.checked_sub(1).map_or(0, |before| self.runs[before].1)
    }

    /// Returns the local vertex of a run, if there is such a run.
    pub(super) fn local(&self, run: usize) -> Option<usize> {
        self.runs.get(self.first + run).map(|run| run.0 as usize)
    }

    /// Returns the lists, each with its entries.
    pub(super) fn runs(&self) -> impl Iterator<Item = (usize, &'a [Update])> + '_ {
        self.runs_from(0)
    }

    /// Returns the lists from the run number `run` on.
    pub(super) fn runs_from(&self, run: usize) -> impl Iterator<Item = (usize, &'a [Update])> + '_ {
        let (updates, first) = (self.updates, self.first + run);
        let mut start = self.start(first);
        self.runs[first..].iter().map(move |&(local, end)| {
            let range = start as usize..end as usize;
            start = end;
            (local as usize, &updates[range])
        })
    }
}

/// The arrays of a range of vertices; as `default` it has none yet.
#[derive(Clone, Default)]
pub(super) struct Shard {
    pub first_vertex: VertexId,
    /// Out- and in-neighbors, or one of both.
    pub arrays: [Option<Array>; 2],
    pub vertices: Vec<u64>,
    pub vertex_count: u32,
    pub degree_sum: u64,
    pub loop_count: u64,
    pub outcome: Outcome,
    /// All updates before this one are in its lists since it was opened.
    pub opened_sequence: u64,
    /// The id after the largest that has ended since the graph was opened: no view's bound is below it.
    pub ended_bound: VertexId,
}

impl EmptyShard for Shard {
    fn empty() -> &'static Self {
        static EMPTY: LazyLock<Shard> = LazyLock::new(Shard::default);
        &EMPTY
    }
}

impl Shard {
    /// Makes room for the vertices of the shard number `number`.
    pub(super) fn materialize(&mut self, number: usize) {
        if self.vertices.is_empty() {
            self.first_vertex = (number * SHARD_SPAN) as VertexId;
            self.vertices = vec![0; BITMAP_WORDS];
        }
    }

    #[inline]
    pub(super) fn is_vertex(&self, local: usize) -> bool {
        self.vertices.get(local / 64).is_some_and(|word| word >> (local % 64) & 1 == 1)
    }

    /// Returns how many local ids there are up to the last vertex.
    pub(super) fn bound(&self) -> usize {
        let last = self.vertices.iter().rposition(|&word| word != 0);
        last.map_or(0, |index| 64 * index + 64 - self.vertices[index].leading_zeros() as usize)
    }

    /// Returns what it adds to the totals of a view.
    pub(super) fn totals(&self) -> ShardTotals {
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
        self.ended_bound.max(match self.bound() {
            0 => 0,
            bound => self.first_vertex + bound as u32,
        })
    }

    /// Returns the id after the largest that lists named when they were looked at after opening.
    pub(super) fn neighbor_bound(&self) -> u32 {
        self.arrays.iter().flatten().map(|array| array.neighbor_bound.get()).max().unwrap_or(0)
    }

    /// Looks once more for the id after the largest that lists name, and keeps it for the next view.
    pub(super) fn find_neighbor_bound(&self) -> u32 {
        let live = |array: &Array, local| {
            let live = array.live_entries(local).into_iter();
            live.map(|(neighbor, _)| neighbor.saturating_add(1)).max().unwrap_or(0)
        };
        for array in self.arrays.iter().flatten() {
            let of_lists = (0..array.vertex_count()).map(|local| live(array, local));
            array.neighbor_bound.set(of_lists.max().unwrap_or(0));
        }
        self.neighbor_bound()
    }

    /// Takes the vertices that the arrays' headers name, as found at recovery.
    pub(super) fn restore_vertices(&mut self, sections: &[u64], section_vertices: u32) {
        for (index, bits) in sections.iter().enumerate() {
            let first = index * section_vertices as usize;
            self.vertices[first / 64] |= bits << (first % 64);
        }
        self.vertex_count = self.vertices.iter().map(|word| word.count_ones()).sum();
    }

    /// Counts degrees and self-loops, as headers say them, and finds out what the lists hold.
    pub(super) fn restore_sums(&mut self, list_count: usize) {
        let Some(array) = &self.arrays[0] else { return };
        (self.degree_sum, self.loop_count) = (array.degree_sum(), array.loop_count());
        // An array that is not there yet may lack what the other one holds.
        let sequences = |array: &Option<Array>| {
            let of_sections = |array: &Array| array.sections.iter().map(|s| s.sequence).min();
            array.as_ref().and_then(of_sections).unwrap_or(0)
        };
        self.opened_sequence = self.arrays[..list_count].iter().map(sequences).min().unwrap_or(0);
    }

    /// Whether all its lists were looked at since opening.
    pub(super) fn is_checked(&self) -> bool {
        self.arrays.iter().flatten().all(|array| array.is_checked)
    }

    /// Writes the headers of all sections that have changed; they hold all updates before `sequence`.
    pub(super) fn write_headers(&mut self, moment: Moment, sequence: u64) {
        for (side, array) in self.arrays.iter_mut().enumerate() {
            let vertices: &[u64] = if side == 0 { &self.vertices } else { &[] };
            array.iter_mut().for_each(|array| array.write_headers(moment, sequence, vertices));
        }
    }

    /// Checks lists that were not looked at since opening, before the first change or view.
    ///
    /// # Errors
    /// `Corruption` if they are not what their headers say.
    pub(super) fn check_lists(&mut self) -> Result<()> {
        self.arrays.iter_mut().flatten().try_for_each(Array::check_lists)
    }

    /// Applies the parts of a round, of updates by their source and by their destination; where
    /// there are no in-neighbors, the second only makes vertices.
    pub(super) fn take(
        &mut self,
        context: &Context,
        list_count: usize,
        parts: &[Part<'_>],
    ) -> Result<()> {
        let before = self.vertices.clone();
        for part in parts {
            self.note_vertices(context, part);
        }
        for (side, part) in parts.iter().enumerate().take(list_count) {
            self.take_part(context, side, part)?;
        }
        // Last: an array that is written anew says that it holds all updates of the round.
        self.match_vertices(context, &before)
    }

    /// Writes those of its arrays anew that are due, and adds up what that did.
    ///
    /// # Errors
    /// `NoSpace` if there is no room for one: it is as before.
    pub(super) fn rewrite(
        &mut self,
        context: &Context,
        how: (Why, Fill),
        is_due: &impl Fn(&Array) -> bool,
        done: &mut Compaction,
    ) -> Result<()> {
        self.check_lists()?;
        for (side, array) in self.arrays.iter_mut().enumerate() {
            if let Some(array) = array.as_mut().filter(|array| is_due(array)) {
                let vertices: &[u64] = if side == 0 { &self.vertices } else { &[] };
                let freed_bytes = UNIT_BYTES * array.shape.units();
                array.rebuild(context, &Additions::none(), (vertices, 0), how)?;
                done.runs += 1;
                done.freed_bytes += freed_bytes;
                done.written_bytes += UNIT_BYTES * array.shape.units();
            }
        }
        Ok(())
    }

    /// Makes an id a vertex, or ends it, by the update number `sequence`, of the vertex itself.
    pub(super) fn take_vertex_update(
        &mut self,
        context: &Context,
        local: usize,
        is_vertex: bool,
    ) -> Result<()> {
        if self.is_known(context, local, context.start_sequence) {
            return Ok(());
        }
        let before = self.vertices.clone();
        let bit = 1 << (local % 64);
        match is_vertex {
            true => self.vertices[local / 64] |= bit,
            false => {
                self.vertices[local / 64] &= !bit;
                self.ended_bound = self.ended_bound.max(self.first_vertex + local as u32 + 1);
            }
        }
        self.match_vertices(context, &before)
    }

    /// Whether an update of a vertex itself is in the first array already.
    fn is_known(&self, context: &Context, local: usize, sequence: u64) -> bool {
        let of = |array: &Array| {
            let section = array.sections.get(array.shape.section_of(local));
            section.is_some_and(|section| sequence < section.sequence)
        };
        context.replaying && self.arrays[0].as_ref().is_some_and(of)
    }

    fn note_vertices(&mut self, context: &Context, part: &Part<'_>) {
        if !part.has_deletions && !context.replaying {
            for (word, touched) in self.vertices.iter_mut().zip(part.touched) {
                *word |= touched;
            }
            return;
        }
        for (local, updates) in part.runs() {
            let inserts = |update: &&Update| {
                let sequence = context.start_sequence + u64::from(update.index());
                !update.is_deletion() && !self.is_known(context, local, sequence)
            };
            if updates.iter().any(|update| inserts(&update)) {
                self.vertices[local / 64] |= 1 << (local % 64);
            }
        }
    }

    /// Brings count and first array to where the vertices are (H1, H2).
    fn match_vertices(&mut self, context: &Context, before: &[u64]) -> Result<()> {
        if before == self.vertices {
            return Ok(());
        }
        self.vertex_count = self.vertices.iter().map(|word| word.count_ones()).sum();
        let bound = self.bound();
        match &mut self.arrays[0] {
            Some(array) if array.vertex_count() >= bound => {
                array.mark_vertices(before, &self.vertices);
                Ok(())
            }
            _ => self.put(context, 0, &Additions::none()),
        }
    }

    /// Adds entries to an array, which is made if there is none.
    fn put(&mut self, context: &Context, side: usize, additions: &Additions) -> Result<()> {
        let index = (2 * (self.first_vertex as usize / SHARD_SPAN) + side) as u32;
        let vertices: &[u64] = if side == 0 { &self.vertices } else { &[] };
        let bound = match additions.runs.last() {
            Some(&(local, _)) => local as usize + 1,
            None => 0,
        };
        let bound = if side == 0 { bound.max(self.bound()) } else { bound };
        match &mut self.arrays[side] {
            Some(array) => array.take(context, additions, vertices, bound)?,
            none => *none = Some(Array::create(context, index, additions, (vertices, bound))?),
        }
        #[cfg(debug_assertions)]
        self.arrays.iter().flatten().for_each(Array::check);
        Ok(())
    }

    fn take_part(&mut self, context: &Context, side: usize, part: &Part<'_>) -> Result<()> {
        if part.updates().is_empty() {
            return Ok(());
        }
        if part.has_deletions || context.rules.simple {
            return self.take_resolved(context, side, part);
        }
        if context.replaying {
            return self.take_unknown(context, side, part);
        }
        if side == 0 {
            self.count_insertions(context, part.runs());
        }
        let mut end = 0;
        let runs = part.runs().map(|(local, updates)| {
            end += updates.len() as u32;
            (local as u32, end)
        });
        let additions = Additions::new(part.updates(), runs.collect(), false);
        self.put(context, side, &additions)
    }

    /// Applies insertions some of which may be in the lists already.
    fn take_unknown(&mut self, context: &Context, side: usize, part: &Part<'_>) -> Result<()> {
        let unknown = |(local, updates): (usize, _)| {
            let known = self.known(context, side, local, updates);
            (local, &updates[known..])
        };
        let unknown: Vec<_> = part.runs().map(unknown).filter(|run| !run.1.is_empty()).collect();
        if side == 0 {
            self.count_insertions(context, unknown.iter().copied());
        }
        let (mut entries, mut runs) = (Vec::with_capacity(part.updates().len()), Vec::new());
        for (local, updates) in unknown {
            entries.extend_from_slice(updates);
            runs.push((local as u32, entries.len() as u32));
        }
        match entries.is_empty() {
            true => Ok(()),
            false => self.put(context, side, &Additions::new(&entries, runs, false)),
        }
    }

    /// Applies updates some of which may not count, or delete.
    fn take_resolved(&mut self, context: &Context, side: usize, part: &Part<'_>) -> Result<()> {
        let (mut entries, mut runs, mut seen) = (Vec::new(), Vec::new(), Vec::new());
        for (local, updates) in part.runs() {
            let known = self.known(context, side, local, updates);
            if context.options.log_first == LogFirst::No && known < updates.len() {
                seen.push(local);
            }
            entries.extend(self.resolve(context, side, local, &updates[known..]));
            if runs.last().map_or(0, |run: &(u32, u32)| run.1) < entries.len() as u32 {
                runs.push((local as u32, entries.len() as u32));
            }
        }
        let has_deletions = entries.iter().any(Update::is_deletion);
        let put = match entries.is_empty() {
            true => Ok(()),
            false => self.put(context, side, &Additions::new(&entries, runs, has_deletions)),
        };
        // After headers that were written meanwhile, which say that they hold none of this round.
        if let Some(array) = &mut self.arrays[side] {
            seen.into_iter().for_each(|local| array.note_seen(local));
        }
        put
    }

    /// Returns how many of the updates of a list are in it already.
    fn known(&self, context: &Context, side: usize, local: usize, updates: &[Update]) -> usize {
        let sequence = self.arrays[side].as_ref().filter(|_| context.replaying).and_then(|array| {
            array.sections.get(array.shape.section_of(local)).map(|section| section.sequence)
        });
        sequence.map_or(0, |sequence| {
            updates.partition_point(|update| {
                context.start_sequence + u64::from(update.index()) < sequence
            })
        })
    }

    /// Turns updates into entries and counts what they change.
    fn resolve(
        &mut self,
        context: &Context,
        side: usize,
        local: usize,
        updates: &[Update],
    ) -> Vec<Update> {
        let mut live: FxHashMap<VertexId, i64> =
            updates.iter().map(|update| (update.neighbor() & !DELETION, 0)).collect();
        if let Some(array) = &self.arrays[side] {
            array.count_live(local, &mut live);
        }
        let vertex = self.first_vertex + local as u32;
        let mut has_tombstones = false;
        let entries = resolve(context.rules, updates, live, |effect| {
            let ends = |neighbor| if neighbor == vertex && !context.directed { 2 } else { 1 };
            let counted = |neighbor| if side == 0 { ends(neighbor) } else { 0 };
            let change: (VertexId, i64) = match effect {
                Effect::Ignored(neighbor) => {
                    self.outcome.ignored += counted(neighbor);
                    return;
                }
                Effect::Replaced => {
                    has_tombstones = true;
                    return;
                }
                Effect::Deleted(neighbor) => {
                    self.outcome.deleted += counted(neighbor);
                    has_tombstones = true;
                    (neighbor, -1)
                }
                Effect::Inserted(neighbor) => {
                    self.outcome.inserted += counted(neighbor);
                    (neighbor, 1)
                }
            };
            if side == 0 {
                self.degree_sum = self.degree_sum.wrapping_add_signed(change.1);
                if change.0 == vertex {
                    self.loop_count = self.loop_count.wrapping_add_signed(change.1);
                }
            }
        });
        if let Some(array) = self.arrays[side].as_mut().filter(|_| has_tombstones) {
            array.note_tombstones(local);
        }
        entries
    }

    /// Counts insertions into the first array.
    pub(super) fn count_insertions<'a>(
        &mut self,
        context: &Context,
        runs: impl Iterator<Item = (usize, &'a [Update])>,
    ) {
        for (local, updates) in runs {
            let loops = loops_in(updates, self.first_vertex + local as u32);
            let count = updates.len() as u64;
            self.degree_sum += count;
            self.loop_count += loops;
            self.outcome.inserted += count + if context.directed { 0 } else { loops };
        }
    }
}
