//! What writers, readers and the archiving thread of a graph share.

use std::ops::Range;

use everedge_core::par;
use parking_lot::{Mutex, MutexGuard};

use super::archive::{Archive, Machinery};
use super::compact::Compaction;
use super::options::{AdjacencyOptions, Compacting};
use super::shard::Shard;
use crate::batch::Batch;
use crate::log::Appended;
use crate::manifest::{Durability, Manifest};
use crate::medium::{Access, Volume};
use crate::{Error, Result};

/// A writer waits for archiving when so many thresholds are behind.
const BACKLOG_MAX: u64 = 2;
/// Of so many shards one is compacted at a time: the share of the space that compaction needs.
const COMPACT_SHARE: usize = 16;
/// The most shards that are compacted with one fence.
const COMPACT_SHARDS_MAX: usize = 64;

/// A graph without its threads.
pub(super) struct Core {
    pub(super) volume: Volume,
    pub(super) manifest: Manifest,
    pub(super) machinery: Machinery,
    archive: Mutex<Archive>,
    /// Why archiving failed; from then on there are no writes.
    failure: Mutex<Option<String>>,
}

/// Snapshots may still read the segment's memory, but nobody will look for it.
impl Drop for Core {
    fn drop(&mut self) {
        self.machinery.segment.abandon();
    }
}

impl Core {
    pub(super) fn new(
        volume: Volume,
        manifest: Manifest,
        machinery: Machinery,
        archive: Archive,
    ) -> Self {
        let (archive, failure) = (Mutex::new(archive), Mutex::new(None));
        Self { volume, manifest, machinery, archive, failure }
    }

    /// Archives what opening found in the log.
    pub(super) fn replay(&self) -> Result<()> {
        self.archive.lock().replay(&self.machinery)
    }

    /// From now on a killed process leaves its segment to the next one.
    pub(super) fn begin_segment(&self) -> Result<()> {
        let mut archive = self.archive.lock();
        let Machinery { log, segment, .. } = &self.machinery;
        if archive.next_sequence == log.checkpoint().1 {
            segment.note_progress(log.progress(&[], archive.next_sequence));
        }
        self.machinery.sub_graphs.publish();
        archive.publish(&self.machinery)?;
        segment.begin();
        Ok(())
    }

    /// Makes a batch durable, as far as the graph's durability asks for it. Returns whether there
    /// is enough to be archived.
    pub(super) fn commit(&self, batch: &Batch) -> Result<bool> {
        if batch.is_empty() {
            return Ok(false);
        }
        self.refuse_if_failed()?;
        self.check_batch(batch)?;
        self.machinery.log.begin_writing()?;
        if !batch.only_takes_away() {
            self.machinery.sub_graphs.make_room()?;
        }
        let position = self.append(batch)?;
        self.machinery.segment.note_anchor(self.machinery.log.anchor_counter());
        if self.machinery.options.durability != Durability::None {
            self.machinery.log.make_durable(position)?;
        }
        Ok(self.is_due(1))
    }

    fn check_writable(&self) -> Result<()> {
        match self.volume.access() {
            Access::Read => Err(Error::ReadOnly { path: self.volume.path().to_owned() }),
            Access::Write => Ok(()),
        }
    }

    fn check_batch(&self, batch: &Batch) -> Result<()> {
        let options = &self.machinery.options;
        self.check_writable()?;
        if batch.is_weighted() != options.weighted {
            let (graph, batch) = if options.weighted { ("has", "lacks") } else { ("lacks", "has") };
            let what = format!("the graph {graph} weights, the batch {batch} them");
            return Err(Error::InvalidInput { what });
        }
        if u32::try_from(batch.len()).is_err() {
            let what = format!("a batch takes at most {} updates, not {}", u32::MAX, batch.len());
            return Err(Error::InvalidInput { what });
        }
        Ok(())
    }

    fn append(&self, batch: &Batch) -> Result<u64> {
        let log = &self.machinery.log;
        let needed = log.bytes_for(batch);
        let mut is_ring_fresh = false;
        loop {
            let full = match log.append(batch) {
                Ok(Appended::At { position }) => return Ok(position),
                Ok(Appended::Full) => None,
                Err(error @ Error::NoSpace { .. }) => Some(error),
                Err(error) => return Err(error),
            };
            let was_empty = log.used_bytes() == 0;
            self.refuse_if_failed()?;
            self.free_log(&mut *self.settled()?)?;
            match full {
                None if needed > log.capacity() => log.restart_ring(2 * needed)?,
                None => {}
                Some(error) if was_empty && is_ring_fresh => return Err(error),
                Some(_) => {
                    // The part of the file that the head has passed is room enough.
                    log.restart_ring(log.allocated().max(needed))?;
                    is_ring_fresh = true;
                }
            }
        }
    }

    /// Whether there are at least so many thresholds of updates to be archived.
    fn is_due(&self, thresholds: u64) -> bool {
        let threshold = self.machinery.options.adjacency.archive_threshold.max(1);
        self.machinery.log.untaken().1 >= threshold.saturating_mul(thresholds)
    }

    /// Whether writers have to wait for archiving.
    pub(super) fn is_far_behind(&self) -> bool {
        self.is_due(BACKLOG_MAX) && self.refuse_if_failed().is_ok()
    }

    /// Archives what was logged if that is much. What fails here fails no batch: those are in the
    /// log. Later writes are refused.
    pub(super) fn archive_if_due(&self) {
        while self.is_due(1) && self.archive_once() {}
        while self.compact_worn() {}
        // Writers may wait for archiving, nobody for merging.
        while !self.is_due(1) && self.merge() {}
    }

    /// Compacts some shards of which much is deleted. Returns whether there were any.
    fn compact_worn(&self) -> bool {
        let AdjacencyOptions { compact_percent, compaction, .. } = self.machinery.options.adjacency;
        compaction != Compacting::Naive && self.compact_due(|shard| shard.is_worn(compact_percent))
    }

    /// Merges the lists of some shards that are in many pieces. Returns whether there were any.
    fn merge(&self) -> bool {
        let options = &self.machinery.options;
        let entry_words = options.entry_words();
        options.adjacency.merges(par::thread_count())
            && self.compact_due(|shard| shard.is_fragmented(entry_words))
    }

    /// Compacts the first shards that are due. Returns whether there were any.
    fn compact_due(&self, is_due: impl Fn(&Shard) -> bool) -> bool {
        let mut archive = self.archive.lock();
        let Some(due) = archive.first_due(COMPACT_SHARDS_MAX, is_due) else { return false };
        if self.refuse_if_failed().is_err() {
            return false;
        }
        let compacted = archive.compact(&self.machinery, due, &mut Compaction::default());
        // Without room for it, it can wait.
        compacted.inspect_err(|error| self.fail_unless_full(error)).is_ok()
    }

    /// Returns whether it went well.
    fn archive_once(&self) -> bool {
        let mut archive = self.archive.lock();
        // Where batches are not durable on return, this makes them: only then are they archived.
        if self.refuse_if_failed().is_err() || self.settle(&mut archive).is_err() {
            return false;
        }
        let is_large = archive.buffer_bytes() > self.machinery.options.adjacency.buffer_pool_bytes;
        // On a full medium the buffers stay where they are.
        if is_large {
            let _flushed = self.flush_archive(&mut archive);
        } else if self.machinery.log.is_nearly_full() {
            let _freed = self.free_log(&mut archive);
        }
        true
    }

    /// Returns what is archived now, until others go on.
    pub(super) fn archive(&self) -> MutexGuard<'_, Archive> {
        self.archive.lock()
    }

    /// Archives all acknowledged batches. Returns what is archived, until others go on.
    pub(super) fn settled(&self) -> Result<MutexGuard<'_, Archive>> {
        let mut archive = self.archive.lock();
        self.settle(&mut archive)?;
        Ok(archive)
    }

    /// Archives all acknowledged batches; without a fence if fences fail.
    fn settle(&self, archive: &mut Archive) -> Result<()> {
        match self.refuse_if_failed() {
            Ok(()) => self.machinery.log.make_all_durable()?,
            Err(error) if archive.is_torn => return Err(error),
            Err(_) => {}
        }
        self.take_all(archive)
    }

    /// Archives and flushes everything, so that the log is empty.
    pub(super) fn flush_all(&self) -> Result<()> {
        self.refuse_if_failed()?;
        let mut archive = self.settled()?;
        self.flush_archive(&mut archive)
    }

    /// Compacts the shards of a range, a group at a time; others go on in between.
    pub(super) fn compact(&self, shards: Range<usize>) -> Result<Compaction> {
        self.check_writable()?;
        self.refuse_if_failed()?;
        self.machinery.log.begin_writing()?;
        match self.machinery.sub_graphs.make_room() {
            // What is free already may do.
            Ok(()) | Err(Error::NoSpace { .. }) => {}
            Err(error) => return Err(error),
        }
        let shard_count = self.settled()?.shards.len();
        let end = shards.end.min(shard_count);
        let group_len = (shard_count / COMPACT_SHARE).clamp(1, COMPACT_SHARDS_MAX);
        let mut done = Compaction::default();
        let is_naive = self.machinery.options.adjacency.compaction == Compacting::Naive;
        // Like a snapshot: nothing that is replaced is used again before the end.
        let lease = is_naive.then(|| self.archive().lease());
        for first in (shards.start..end).step_by(group_len) {
            let mut archive = self.archive.lock();
            self.refuse_if_failed()?;
            if is_naive {
                self.flush_archive(&mut archive)?;
            }
            let group = first..end.min(first + group_len);
            archive
                .compact(&self.machinery, group, &mut done)
                .inspect_err(|error| self.fail_unless_full(error))?;
        }
        drop(lease);
        self.archive().release(&self.machinery);
        self.flush_all()?;
        Ok(done)
    }

    /// Flushes all buffers, empties the log and gives unused space back.
    pub(super) fn close(&self) -> Result<()> {
        let Machinery { log, sub_graphs, options, segment, .. } = &self.machinery;
        if self.volume.access() == Access::Read || log.is_untouched() {
            return Ok(());
        }
        self.refuse_if_failed()?;
        match self.flush_all() {
            // The log still holds what has no block; the next opening replays it.
            Err(Error::NoSpace { .. }) => return log.make_all_durable(),
            outcome => outcome?,
        }
        segment.remove();
        log.restart_ring(options.log_bytes)?;
        sub_graphs.shrink()
    }

    fn take_all(&self, archive: &mut Archive) -> Result<()> {
        archive.take_all(&self.machinery).inspect_err(|error| self.fail(error))
    }

    fn flush_archive(&self, archive: &mut Archive) -> Result<()> {
        if archive.is_dirty {
            self.refuse_if_failed()?;
            self.machinery.sub_graphs.make_room()?;
            archive.flush_all(&self.machinery).inspect_err(|error| self.fail_unless_full(error))?;
        }
        Ok(())
    }

    /// Frees the log of all that is archived: flushes all buffers, unless they outlive any crash.
    fn free_log(&self, archive: &mut Archive) -> Result<()> {
        match self.machinery.segment.can_be_passed() {
            true => {
                self.refuse_if_failed()?;
                archive.pass_buffers(&self.machinery).inspect_err(|error| self.fail(error))
            }
            false => self.flush_archive(archive),
        }
    }

    fn fail_unless_full(&self, error: &Error) {
        if !matches!(error, Error::NoSpace { .. }) {
            self.fail(error);
        }
    }

    fn fail(&self, error: &Error) {
        self.machinery.segment.give_up();
        self.failure.lock().get_or_insert_with(|| error.to_string());
    }

    /// After a panic of whoever archived: refuses all from now on, since lists may be half done.
    pub(super) fn give_up(&self, why: &str) {
        self.machinery.segment.give_up();
        self.failure.lock().get_or_insert_with(|| why.to_owned());
        self.archive.lock().is_torn = true;
    }

    /// Refuses a write after one failed for good.
    pub(super) fn refuse_if_failed(&self) -> Result<()> {
        if let Some(error) = self.volume.poisoned() {
            return Err(error);
        }
        match &*self.failure.lock() {
            Some(first) => Err(Error::Poisoned { first: first.clone() }),
            None => Ok(()),
        }
    }
}
