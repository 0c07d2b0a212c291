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
//! sixteenth of a large one: one fence for all of their bytes, one store in the table for each, one
//! fence for these.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use everedge_core::par::{self, PerThread};
use parking_lot::Mutex;

use super::array::Array;
use super::options::PmaOptions;
use super::rows::Rows;
use super::shard::{Additions, Context, Replaced, Shard};
use super::snapshot::Snapshot;
use super::table::Table;
use super::undo::{Counters, UndoLogs};
use crate::driver::{Core, Layout, Pace};
use crate::options::GraphOptions;
use everedge_live::DELETION;
use everedge_live::Durability;
use everedge_live::{Checkpoint, EdgeLog, Record};
use everedge_live::{
    Compaction, Outcome, Part, Round, Rules, SHARD_SPAN, SIDES, Scattered, Scratch, Sorter, Space,
    Step, UNIT_BYTES, for_each_step, pairs,
};
use everedge_live::{Error, Result};
use everedge_medium::Site;

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

/// What archiving needs beside the archive.
pub(super) struct Machinery {
    pub options: GraphOptions,
    pub log: EdgeLog,
    pub space: Arc<Space>,
    pub table: Table,
    pub undo: Arc<UndoLogs>,
    pub rows: Option<Rows>,
    pub counters: Counters,
    pub salt: u32,
    /// Where logging goes on meanwhile, updates wait for no more than so many.
    pub round_max: AtomicU64,
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
    scratch: Scratch,
    /// Arrays that lie elsewhere now, which does not count yet.
    pending: Vec<Replaced>,
}

impl Machinery {
    fn pma(&self) -> &PmaOptions {
        &self.options.tuning
    }

    fn context<'a>(
        &'a self,
        archive: &Archive,
        sequences: Range<u64>,
        replaced: &'a Mutex<Vec<Replaced>>,
    ) -> Context<'a> {
        Context {
            options: self.pma(),
            rules: Rules { simple: self.options.simple, weighted: self.options.weighted },
            directed: self.options.directed,
            entry_words: self.options.entry_words(),
            salt: self.salt,
            space: &self.space,
            undo: &self.undo,
            rows: self.rows.as_ref(),
            counters: &self.counters,
            epoch: archive.epoch,
            replaying: archive.is_replaying,
            is_bulk: !archive.is_replaying && self.options.durability != Durability::Edge,
            start_sequence: sequences.start,
            end_sequence: sequences.end,
            weights: &[],
            replaced,
        }
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
        Pace { archive_threshold: archive_threshold.min(self.round_max.load(Relaxed)), phases }
    }

    fn make_room(&self) -> Result<()> {
        self.space.make_room()?;
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
            array.tombstone_count >= TOMBSTONES_MIN
                && array.tombstone_count * WORN_SHARE >= array.used()
        };
        let mut archive = core.archive();
        if core.refuse_if_failed().is_err() {
            return false;
        }
        let rewritten = archive.rewrite(&core.machinery, &is_worn);
        rewritten.inspect_err(|error| core.fail_unless_full(error)).is_ok_and(|done| done.runs > 0)
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
        self.space.region().shrink(self.space.used_bytes().next_multiple_of(4096))
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
            scratch: Scratch::default(),
            pending: Vec::new(),
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
        let records = machinery.log.take_records();
        if records.is_empty() {
            return Ok(());
        }
        let sequences = self.next_sequence..u64::MAX;
        for_each_step(&machinery.log, &records, sequences, |step| match step {
            Step::Edges(round) => self.take_round(machinery, &round),
            Step::Vertices { record, start, end } => {
                self.take_vertex_updates(machinery, record, start..end)
            }
        })
    }

    fn take_round(&mut self, machinery: &Machinery, round: &Round) -> Result<()> {
        if round.len() == 0 {
            return Ok(());
        }
        let options = &machinery.options;
        let mut scratch = std::mem::take(&mut self.scratch);
        let scattered = Scattered::new(options, round, &mut scratch, &|_| true);
        self.grow(scattered.shard_count());
        let first = round.first_sequence();
        let end = first + u64::from(round.len());
        let replaced = Mutex::default();
        let weights = scattered.weights();
        let context = Context { weights, ..machinery.context(self, first..end, &replaced) };
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
            self.pending.append(&mut replaced.lock());
            if outcome.is_err() {
                break;
            }
            let _later = settle(machinery, &mut self.pending);
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
        let replaced = Mutex::default();
        let updates = pairs(machinery.log.updates(record, range.start, range.end));
        for (index, (src, _)) in (range.start..).zip(updates) {
            let sequence = record.sequence + u64::from(index);
            let context = machinery.context(self, sequence..sequence + 1, &replaced);
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
        self.make_current(machinery, replaced.into_inner());
        Ok(())
    }

    /// Makes arrays current that were written elsewhere. What fails here fails at the next
    /// checkpoint: until then nothing of what they replace is used for anything else.
    fn make_current(&mut self, machinery: &Machinery, replaced: Vec<Replaced>) {
        self.pending.extend(replaced);
        let _later = settle(machinery, &mut self.pending);
    }

    /// Makes all that is archived count without the log, and frees the log of it.
    ///
    /// # Errors
    /// `NoSpace` if an array has no room on the medium.
    fn checkpoint(&mut self, machinery: &Machinery) -> Result<()> {
        self.rewrite(machinery, &|array| array.is_in_memory())?;
        settle(machinery, &mut self.pending)?;
        let is_in_memory =
            |shard: &Arc<Shard>| shard.arrays.iter().flatten().any(Array::is_in_memory);
        if self.shards.iter().any(is_in_memory) {
            let path = machinery.space.region().path().to_owned();
            let (available_bytes, lack) = (0, everedge_medium::Lack::Disk);
            return Err(Error::NoSpace { path, needed_bytes: 1, available_bytes, lack });
        }
        machinery.space.region().fence(Site::Word)?;
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
        machinery.space.region().fence(Site::SectionHeader)?;
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

    /// Writes some arrays anew. Returns what that did.
    ///
    /// # Errors
    /// `NoSpace` if the medium has no room; those that found none are as before.
    pub(super) fn rewrite(
        &mut self,
        machinery: &Machinery,
        is_due: &(impl Fn(&Array) -> bool + Sync),
    ) -> Result<Compaction> {
        let replaced = Mutex::default();
        let sequence = self.next_sequence;
        let context = machinery.context(self, sequence..sequence, &replaced);
        let mut due: Vec<&mut Arc<Shard>> = self.shards.iter_mut().collect();
        due.retain(|shard| shard.arrays.iter().flatten().any(is_due));
        if due.is_empty() {
            return Ok(Compaction::default());
        }
        machinery.space.make_room()?;
        let outcomes = par::map_chunks_mut(&mut due, 1, |_, shard| {
            let mut done = Compaction::default();
            let Shard { arrays, vertices, .. } = Arc::make_mut(shard[0]);
            for (side, array) in arrays.iter_mut().enumerate() {
                if let Some(array) = array.as_mut().filter(|array| is_due(array)) {
                    let vertices: &[u64] = if side == 0 { vertices } else { &[] };
                    done.runs += 1;
                    done.freed_bytes += UNIT_BYTES * array.shape.units();
                    array.rebuild(&context, &Additions::none(), vertices, 0)?;
                    done.written_bytes += UNIT_BYTES * array.shape.units();
                }
            }
            drain(machinery).map(|()| done)
        });
        let mut done = Compaction::default();
        for outcome in outcomes {
            let of_shard = outcome?;
            done.runs += of_shard.runs;
            done.freed_bytes += of_shard.freed_bytes;
            done.written_bytes += of_shard.written_bytes;
        }
        self.is_dirty = true;
        self.make_current(machinery, replaced.into_inner());
        Ok(done)
    }

    fn grow(&mut self, shard_count: usize) {
        if self.shards.len() < shard_count {
            self.shards.resize(shard_count, Arc::clone(&self.empty));
        }
    }
}

/// Makes arrays current that lie elsewhere now; what they replace is free then.
fn settle(machinery: &Machinery, pending: &mut Vec<Replaced>) -> Result<()> {
    let Some(last) = pending.iter().map(|array| array.index).max() else { return Ok(()) };
    machinery.space.region().fence(Site::Array)?;
    machinery.table.reserve(last as usize + 1)?;
    machinery.table.switch(pending.iter().map(|array| (array.index as usize, array.unit)))?;
    pending.clear();
    Ok(())
}

/// Returns all sections of all arrays.
pub(super) fn sections(shards: &[Arc<Shard>]) -> impl Iterator<Item = &super::array::Section> {
    let arrays = shards.iter().flat_map(|shard| shard.arrays.iter().flatten());
    arrays.flat_map(|array| &array.sections)
}

/// Hands over what this thread has flushed.
fn drain(machinery: &Machinery) -> Result<()> {
    let of_rows = || match &machinery.rows {
        Some(rows) => rows.region().drain(Site::VertexRow),
        None => Ok(()),
    };
    match machinery.space.region().drain(Site::Word).and_then(|()| of_rows()) {
        // Nothing is fenced any more; in memory the lists are whole all the same.
        Err(Error::Poisoned { .. }) => Ok(()),
        outcome => outcome,
    }
}
