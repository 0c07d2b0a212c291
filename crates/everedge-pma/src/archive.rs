//! Moves logged updates into the arrays, round by round, and makes them count without the log.
//!
//! # Checkpoints
//! Between two checkpoints the words that rounds store in gaps and edge logs need not persist: the
//! log still holds what they say. A checkpoint fences them, writes and fences the headers of all
//! sections that have changed, and moves the log's tail. It leaves the sum of the checksums of all
//! headers in the log's anchor; each header that is written later carries along what its section
//! added to that sum. So recovery knows whether the headers that it finds are those of the
//! checkpoint, or newer ones.
//!
//! Arrays that were written elsewhere become current together, those of a small round or of a
//! sixteenth of a large one, by the table. A compaction takes a sixteenth of all bytes at a time, too,
//! and lets others go on in between.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use everedge_core::par::{self, PerThread};

use super::array::Array;
use super::mechanisms::{Counters, Why};
use super::options::PmaOptions;
use super::room::Room;
use super::rows::Rows;
use super::shard::{Context, Shard};
use super::snapshot::Snapshot;
use super::table::Table;
use super::undo::UndoLogs;
use crate::driver::{Core, Layout, Pace};
use crate::options::GraphOptions;
use everedge_live::DELETION;
use everedge_live::Durability;
use everedge_live::{Checkpoint, EdgeLog, Record};
use everedge_live::{
    Compaction, Outcome, Part, Room as Free, Round, Rules, SHARD_SPAN, SIDES, Scattered, Scratch,
    Sorter, Step, UNIT_BYTES, for_each_step, pairs,
};
use everedge_live::{Error, Result};
use everedge_medium::{Region, Site};

/// A checkpoint is due after so many updates at least,
const CHECKPOINT_UPDATES_MIN: u64 = 1 << 22;
/// and after this share of all edges.
const CHECKPOINT_SHARE: u64 = 8;
/// An array is written anew when its tombstones are this share of its words.
const WORN_SHARE: u64 = 8;
/// Fewer tombstones are not worth it.
const TOMBSTONES_MIN: u64 = 1024;

/// Where logging goes on meanwhile, updates wait for no more than so many,
pub(super) const ROUND_UPDATES: u64 = 1 << 22;
/// or than this share of all edges: two rounds may be left for replay by a crash.
const ROUND_SHARE: u64 = 16;

/// A round of so many updates is applied in groups of shards, so that the arrays of one can lie
/// where those of an earlier one lay.
const GROUPED_UPDATES: u32 = 1 << 20;
const ROUND_GROUPS: usize = 16;
/// A compaction writes this share of all arrays before it lets others go on.
const COMPACTION_SHARE: u64 = 16;

/// What archiving needs beside the archive.
pub(super) struct Machinery {
    pub options: GraphOptions,
    pub log: EdgeLog,
    pub room: Room,
    pub table: Table,
    pub undo: Arc<UndoLogs>,
    pub rows: Option<Rows>,
    pub counters: Counters,
    /// Where logging goes on meanwhile, updates wait for no more than so many.
    pub round_max: AtomicU64,
}

/// Arrays that are written anew, a group of shards at a time.
pub(super) struct Rewriting {
    why: Why,
    /// Where the next group begins.
    pub next_shard: usize,
    pub done: Compaction,
}

impl Rewriting {
    pub(super) fn new(why: Why) -> Self {
        Self { why, next_shard: 0, done: Compaction::default() }
    }
}

/// The archived state of a graph.
pub(super) struct Archive {
    pub shards: Vec<Arc<Shard>>,
    empty: Arc<Shard>,
    /// The first update not yet archived.
    pub next_sequence: u64,
    is_dirty: bool,
    is_torn: bool,
    is_replaying: bool,
    /// The number of the last checkpoint.
    pub epoch: u32,
    /// Whether all lists were looked at since opening.
    is_checked: bool,
    scratch: Scratch,
}

impl Machinery {
    fn pma(&self) -> &PmaOptions {
        &self.options.tuning
    }

    pub(super) fn context<'a>(
        &'a self,
        archive: &Archive,
        sequences: Range<u64>,
        kept: Free,
    ) -> Context<'a> {
        Context {
            options: self.pma(),
            rules: Rules { simple: self.options.simple, weighted: self.options.weighted },
            directed: self.options.directed,
            entry_words: self.options.entry_words(),
            room: &self.room,
            table: &self.table,
            undo: &self.undo,
            rows: self.rows.as_ref(),
            counters: &self.counters,
            epoch: archive.epoch,
            replaying: archive.is_replaying,
            is_bulk: !archive.is_replaying && self.options.durability != Durability::Edge,
            start_sequence: sequences.start,
            end_sequence: sequences.end,
            weights: &[],
            kept,
            spills: true,
        }
    }

    /// Returns the start value of all checksums.
    pub(super) fn salt(&self) -> u32 {
        self.room.salt()
    }

    /// Returns the file of arrays.
    pub(super) fn arrays(&self) -> &Region {
        self.room.space().region()
    }

    /// Makes arrays current that were written elsewhere. What fails here is tried again by the next
    /// checkpoint: until then nothing of what they replace is used for anything else.
    fn publish_if_possible(&self) {
        let _later = self.table.publish(self.arrays());
    }
}

impl Layout for Machinery {
    type Options = PmaOptions;
    type Archive = Archive;
    type Snapshot = Snapshot;

    fn log(&self) -> &EdgeLog {
        &self.log
    }

    fn options(&self) -> &GraphOptions {
        &self.options
    }

    fn pace(&self) -> Pace {
        let PmaOptions { archive_threshold, phases, .. } = *self.pma();
        let most = self.round_max.load(Relaxed).min(self.room.updates_max());
        Pace { archive_threshold: archive_threshold.min(most), phases }
    }

    fn make_room(&self) -> Result<()> {
        self.room.make_room()?;
        self.rows.as_ref().map_or(Ok(()), Rows::make_room)
    }

    fn take_all(&self, archive: &mut Archive) -> Result<()> {
        archive.take_all(self)
    }

    fn torn(archive: &mut Archive) -> &mut bool {
        &mut archive.is_torn
    }

    fn flush(&self, archive: &mut Archive) -> Result<()> {
        match archive.is_dirty {
            true => archive.checkpoint(self),
            false => Ok(()),
        }
    }

    fn is_flush_due(&self, archive: &Archive) -> bool {
        let due = CHECKPOINT_UPDATES_MIN.max(archive.edge_count() / CHECKPOINT_SHARE);
        archive.next_sequence - self.log.checkpoint().1 >= due
    }

    /// Writes an array anew of which much is deleted.
    fn mend(core: &Core<Self>) -> bool {
        let is_worn = |array: &Array| {
            let tombstones = array.tombstone_count();
            tombstones >= TOMBSTONES_MIN && tombstones * WORN_SHARE >= array.used()
        };
        let mut archive = core.archive();
        if core.refuse_if_failed().is_err() {
            return false;
        }
        let mut rewriting = Rewriting::new(Why::Compaction);
        let rewritten = archive.rewrite(&core.machinery, &mut rewriting, &is_worn);
        rewritten.inspect_err(|error| core.fail_unless_full(error)).is_ok()
            && rewriting.done.runs > 0
    }

    fn tidy(_: &Core<Self>) -> bool {
        false
    }

    fn snapshot(&self, archive: &Archive) -> Snapshot {
        Snapshot::new(archive, &self.options)
    }

    fn outcome(&self, archive: &Archive) -> Outcome {
        let mut total = Outcome::default();
        for shard in &archive.shards {
            total.inserted += shard.outcome.inserted;
            total.deleted += shard.outcome.deleted;
            total.ignored += shard.outcome.ignored;
        }
        total
    }

    fn shrink(&self) -> Result<()> {
        match self.room.is_full() {
            // What is kept for deletions and compaction may be somebody else's when it is needed.
            true => Ok(()),
            false => self.arrays().shrink(self.room.space().used_bytes().next_multiple_of(4096)),
        }
    }
}

impl Archive {
    /// Returns the archive in which `shards` hold the updates before `next_sequence`.
    pub(super) fn new(shards: Vec<Arc<Shard>>, next_sequence: u64, epoch: u32) -> Self {
        Self {
            shards,
            empty: Arc::default(),
            next_sequence,
            is_dirty: false,
            is_torn: false,
            is_replaying: false,
            epoch,
            is_checked: false,
            scratch: Scratch::default(),
        }
    }

    fn edge_count(&self) -> u64 {
        self.shards.iter().map(|shard| shard.degree_sum).sum()
    }

    /// Archives what opening found in the log.
    pub(super) fn replay(&mut self, machinery: &Machinery) -> Result<()> {
        self.is_replaying = true;
        self.take_all(machinery)?;
        self.is_replaying = false;
        for shard in &mut self.shards {
            if let Some(shard) = Arc::get_mut(shard) {
                shard.outcome = Outcome::default();
            }
        }
        Ok(())
    }

    fn take_all(&mut self, machinery: &Machinery) -> Result<()> {
        if !self.is_checked && !self.is_replaying {
            self.check_lists()?;
        }
        let records = machinery.log.take_records();
        if records.is_empty() {
            return Ok(());
        }
        let first = self.next_sequence;
        let taken = for_each_step(&machinery.log, &records, first..u64::MAX, |step| match step {
            Step::Edges(round) => self.take_round(machinery, &round),
            Step::Vertices { record, start, end } => {
                self.take_vertex_updates(machinery, record, start..end)
            }
        });
        taken?;
        let batch = records.iter().map(|record| u64::from(record.count)).max().unwrap_or(0);
        self.make_room(machinery, batch, self.next_sequence - first)
    }

    /// Checks all lists that were not looked at since opening.
    fn check_lists(&mut self) -> Result<()> {
        let is_unchecked =
            |shard: &Arc<Shard>| shard.arrays.iter().flatten().any(|array| !array.is_checked);
        let outcomes =
            par::map_chunks_mut(&mut self.shards, 1, |_, shard| match is_unchecked(&shard[0]) {
                true => Arc::make_mut(&mut shard[0]).check_lists(),
                false => Ok(()),
            });
        outcomes.into_iter().collect::<Result<()>>()?;
        self.is_checked = true;
        Ok(())
    }

    /// After a round of so many updates: brings arrays back from memory, and makes room for the next.
    fn make_room(&mut self, machinery: &Machinery, batch: u64, round: u64) -> Result<()> {
        self.survey(machinery, batch);
        if self.is_replaying {
            return Ok(());
        }
        let _place = self.provide_place(machinery);
        if self.has_spilled() {
            // Those that find no room stay there, and all do after a failed fence.
            let _later = self.bring_back(machinery);
            self.survey(machinery, batch);
        }
        machinery.room.provide(2 * round.min(machinery.pma().archive_threshold));
        Ok(())
    }

    /// Finds out what room the next batch needs, if none has more updates than `batch`.
    pub(super) fn survey(&self, machinery: &Machinery, batch: u64) {
        machinery.room.survey(arrays(&self.shards), batch);
    }

    /// Makes sure that there is a place for one array, if that is possible.
    fn provide_place(&mut self, machinery: &Machinery) -> Result<()> {
        machinery.room.provide(0);
        match machinery.room.is_full() {
            true => self.join_free(machinery, machinery.room.kept(0).longest),
            false => Ok(()),
        }
    }

    fn has_spilled(&self) -> bool {
        arrays(&self.shards).any(Array::is_in_memory)
    }

    fn take_round(&mut self, machinery: &Machinery, round: &Round) -> Result<()> {
        if round.is_empty() {
            return Ok(());
        }
        let options = &machinery.options;
        let mut scratch = std::mem::take(&mut self.scratch);
        let scattered = Scattered::new(options, round, &mut scratch, &|_| true);
        self.grow(scattered.shard_count());
        let first = round.first_sequence();
        let end = first + u64::from(round.len());
        let weights = scattered.weights();
        let kept = machinery.room.kept(round.len().into());
        let context = Context { weights, ..machinery.context(self, first..end, kept) };
        let list_count = options.list_count();
        let sides = if options.directed { SIDES } else { 1 };
        let sorters = PerThread::new(<[Sorter; SIDES]>::default);
        let has_updates =
            |number: usize| number < scattered.shard_count() && scattered.update_count(number) > 0;
        let shards = self.shards.iter_mut().enumerate();
        let mut changes: Vec<_> = shards.filter(|(number, _)| has_updates(*number)).collect();
        let change = |number: usize, shard: &mut Arc<Shard>| {
            let shard = Arc::make_mut(shard);
            shard.materialize((number * SHARD_SPAN) as u32);
            sorters.with(|sorters| {
                let mut parts: Vec<Part<'_>> = Vec::with_capacity(sides);
                for (side, sorter) in sorters.iter_mut().enumerate().take(sides) {
                    parts.push(sorter.sort(&scattered, number, side));
                }
                shard.take(&context, list_count, &parts)
            })?;
            drain(machinery)
        };
        let group_len = match round.len() < GROUPED_UPDATES {
            true => changes.len(),
            false => changes.len().div_ceil(ROUND_GROUPS),
        };
        let mut outcome = Ok(());
        for group in changes.chunks_mut(group_len.max(1)) {
            let outcomes = par::map_chunks_mut(group, 1, |_, one| change(one[0].0, &mut *one[0].1));
            outcome = outcomes.into_iter().collect::<Result<()>>();
            if outcome.is_err() {
                break;
            }
            machinery.publish_if_possible();
        }
        self.scratch = scratch;
        outcome?;
        // Who archives alone leaves nothing behind meanwhile.
        let round_max = match par::thread_count() {
            1 => u64::MAX,
            _ => ROUND_UPDATES.max(self.edge_count() / ROUND_SHARE),
        };
        machinery.round_max.store(round_max, Relaxed);
        self.next_sequence = end;
        self.is_dirty = true;
        Ok(())
    }

    fn take_vertex_updates(
        &mut self,
        machinery: &Machinery,
        record: &Record,
        range: Range<u32>,
    ) -> Result<()> {
        let kept = machinery.room.kept(range.len() as u64);
        let updates = pairs(machinery.log.updates(record, range.start, range.end));
        for (index, (src, _)) in (range.start..).zip(updates) {
            let sequence = record.sequence + u64::from(index);
            let context = machinery.context(self, sequence..sequence + 1, kept);
            let vertex = (src & !DELETION) as usize;
            let number = vertex / SHARD_SPAN;
            self.grow(number + 1);
            let shard = Arc::make_mut(&mut self.shards[number]);
            shard.materialize((number * SHARD_SPAN) as u32);
            shard.take_vertex_update(&context, vertex % SHARD_SPAN, src & DELETION == 0)?;
        }
        drain(machinery)?;
        self.next_sequence = record.sequence + u64::from(range.end);
        self.is_dirty = true;
        machinery.publish_if_possible();
        Ok(())
    }

    /// Makes all that is archived count without the log, and frees the log of it.
    ///
    /// # Errors
    /// `NoSpace` if an array has no room on the medium.
    fn checkpoint(&mut self, machinery: &Machinery) -> Result<()> {
        if self.has_spilled() {
            // The medium may have room again.
            let _tried = machinery.room.space().make_room();
            self.bring_back(machinery)?;
        }
        machinery.table.publish(machinery.arrays())?;
        machinery.arrays().fence(Site::Word)?;
        if let Some(rows) = &machinery.rows {
            rows.region().fence(Site::VertexRow)?;
        }
        let (epoch, sequence) = (self.epoch, self.next_sequence);
        let has_dirty = |array: &Array| array.sections.iter().any(|section| section.is_dirty);
        let outcomes = par::map_chunks_mut(&mut self.shards, 1, |_, shard| {
            if shard[0].arrays.iter().flatten().any(has_dirty) {
                let Shard { arrays, vertices, .. } = Arc::make_mut(&mut shard[0]);
                for (side, array) in arrays.iter_mut().enumerate() {
                    let vertices: &[u64] = if side == 0 { vertices } else { &[] };
                    array.iter_mut().for_each(|a| a.write_headers(epoch, sequence, vertices));
                }
            }
            drain(machinery)
        });
        outcomes.into_iter().collect::<Result<()>>()?;
        machinery.arrays().fence(Site::SectionHeader)?;
        self.move_tail(machinery)
    }

    fn move_tail(&mut self, machinery: &Machinery) -> Result<()> {
        let (mut sum, mut count) = (0, 0);
        for section in sections(&self.shards) {
            sum += u64::from(section.crc);
            count += 1;
        }
        let epoch = self.epoch + 1;
        let checkpoint = Checkpoint { layout: [count, sum, epoch.into()] };
        machinery.log.advance_tail(self.next_sequence, checkpoint)?;
        self.epoch = epoch;
        for shard in &mut self.shards {
            let is_new = |array: &Array| array.sections.iter().any(|s| s.anchored != s.crc);
            if shard.arrays.iter().flatten().any(is_new) {
                for array in Arc::make_mut(shard).arrays.iter_mut().flatten() {
                    array.sections.iter_mut().for_each(|section| section.anchored = section.crc);
                }
            }
        }
        self.is_dirty = false;
        Ok(())
    }

    /// Writes arrays onto the medium that are in memory.
    fn bring_back(&mut self, machinery: &Machinery) -> Result<()> {
        let is_spilled = |array: &Option<Array>| array.as_ref().is_some_and(Array::is_in_memory);
        for number in 0..self.shards.len() {
            for side in 0..SIDES {
                if is_spilled(&self.shards[number].arrays[side]) {
                    self.provide_place(machinery)?;
                    self.move_array(machinery, (number, side), Why::Room)?;
                }
            }
        }
        drain(machinery)
    }

    /// Writes the next group of those arrays anew that are due.
    ///
    /// # Errors
    /// `NoSpace` if the medium has no room for some: those are as before, the others are done.
    pub(super) fn rewrite(
        &mut self,
        machinery: &Machinery,
        rewriting: &mut Rewriting,
        is_due: &(impl Fn(&Array) -> bool + Sync),
    ) -> Result<()> {
        let sequence = self.next_sequence;
        self.provide_place(machinery)?;
        let kept = machinery.room.kept(0);
        let context =
            Context { spills: false, ..machinery.context(self, sequence..sequence, kept) };
        let group = self.group(rewriting.next_shard, is_due);
        rewriting.next_shard = group.end;
        let numbers: Vec<usize> = group.clone().collect();
        let mut due: Vec<&mut Arc<Shard>> = self.shards[group].iter_mut().collect();
        due.retain(|shard| shard.arrays.iter().flatten().any(is_due));
        let outcomes = par::map_chunks_mut(&mut due, 1, |_, shard| {
            let mut done = Compaction::default();
            let shard = Arc::make_mut(shard[0]);
            let rewritten = shard.rewrite(&context, rewriting.why, is_due, &mut done);
            (done, rewritten.and_then(|()| drain(machinery)))
        });
        self.is_dirty |= !outcomes.is_empty();
        machinery.publish_if_possible();
        for (of_shard, _) in &outcomes {
            rewriting.done.runs += of_shard.runs;
            rewriting.done.freed_bytes += of_shard.freed_bytes;
            rewriting.done.written_bytes += of_shard.written_bytes;
        }
        let outcome = outcomes.into_iter().try_for_each(|outcome| outcome.1);
        match outcome {
            Err(Error::NoSpace { .. }) => {
                self.rewrite_in_turn(machinery, &numbers, rewriting, is_due)
            }
            outcome => outcome,
        }
    }

    /// Writes arrays of some shards anew, one after the other: where there is a place for one only.
    fn rewrite_in_turn(
        &mut self,
        machinery: &Machinery,
        numbers: &[usize],
        rewriting: &mut Rewriting,
        is_due: &impl Fn(&Array) -> bool,
    ) -> Result<()> {
        for (&number, side) in
            numbers.iter().flat_map(|number| (0..SIDES).map(move |s| (number, s)))
        {
            let units = |archive: &Self| {
                archive.shards[number].arrays[side].as_ref().map_or(0, |array| array.shape.units())
            };
            if self.shards[number].arrays[side].as_ref().is_some_and(is_due) {
                self.provide_place(machinery)?;
                let before = units(self);
                self.move_array(machinery, (number, side), rewriting.why)?;
                rewriting.done.runs += 1;
                rewriting.done.freed_bytes += UNIT_BYTES * before;
                rewriting.done.written_bytes += UNIT_BYTES * units(self);
            }
        }
        drain(machinery)
    }

    /// Returns shards from the number `first` on, of which arrays of a share of all bytes are due.
    fn group(&self, first: usize, is_due: &impl Fn(&Array) -> bool) -> Range<usize> {
        let units = |array: &Array| array.shape.units();
        let most = arrays(&self.shards).map(units).sum::<u64>() / COMPACTION_SHARE;
        let mut sum = 0;
        let of_shard = |shard: &Arc<Shard>| -> u64 {
            shard.arrays.iter().flatten().filter(|array| is_due(array)).map(units).sum()
        };
        let rest = self.shards.get(first..).unwrap_or(&[]);
        let count = rest.iter().take_while(|shard| {
            let is_in = sum <= most;
            sum += of_shard(shard);
            is_in
        });
        first..first + count.count()
    }

    /// Notes that arrays are not what the last checkpoint says.
    pub(super) fn note_change(&mut self) {
        self.is_dirty = true;
    }

    fn grow(&mut self, shard_count: usize) {
        if self.shards.len() < shard_count {
            self.shards.resize(shard_count, Arc::clone(&self.empty));
        }
    }
}

fn arrays(shards: &[Arc<Shard>]) -> impl Iterator<Item = &Array> {
    shards.iter().flat_map(|shard| shard.arrays.iter().flatten())
}

/// Returns all sections of all arrays.
pub(super) fn sections(shards: &[Arc<Shard>]) -> impl Iterator<Item = &super::array::Section> {
    arrays(shards).flat_map(|array| &array.sections)
}

/// Hands over what this thread has flushed.
fn drain(machinery: &Machinery) -> Result<()> {
    let of_rows = || match &machinery.rows {
        Some(rows) => rows.region().drain(Site::VertexRow),
        None => Ok(()),
    };
    match machinery.arrays().drain(Site::Word).and_then(|()| of_rows()) {
        // Nothing is fenced any more; in memory the lists are whole all the same.
        Err(Error::Poisoned { .. }) => Ok(()),
        outcome => outcome,
    }
}
