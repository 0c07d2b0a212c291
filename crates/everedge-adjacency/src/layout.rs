//! How the archive of the layout hangs together with the log: what [`Core`] asks of it.

use std::ops::Range;

use everedge_core::par;

use super::archive::{Archive, Machinery};
use super::options::{AdjacencyOptions, Compacting};
use super::shard::Shard;
use super::snapshot::Snapshot;
use crate::options::GraphOptions;
use everedge_live::EdgeLog;
use everedge_live::{Compaction, Core, Layout, Outcome, Pace};
use everedge_live::{Error, Result};

/// Of so many shards one is compacted at a time: the share of the space that compaction needs.
const COMPACT_SHARE: usize = 16;
/// The most shards that are compacted with one fence.
const COMPACT_SHARDS_MAX: usize = 64;

impl Layout for Machinery {
    type Options = AdjacencyOptions;
    type Archive = Archive;
    type Snapshot = Snapshot;

    fn log(&self) -> &EdgeLog {
        &self.log
    }

    fn options(&self) -> &GraphOptions {
        &self.options
    }

    fn pace(&self) -> Pace {
        let AdjacencyOptions { archive_threshold, phases, .. } = self.options.tuning;
        Pace { archive_threshold, phases }
    }

    fn make_room(&self) -> Result<()> {
        self.sub_graphs.make_room()
    }

    fn note_logged(&self) {
        self.segment.note_anchor(self.log.anchor_counter());
    }

    fn take_all(&self, archive: &mut Archive) -> Result<()> {
        archive.take_all(self)
    }

    fn torn(archive: &mut Archive) -> &mut bool {
        &mut archive.is_torn
    }

    fn flush(&self, archive: &mut Archive) -> Result<()> {
        if archive.is_dirty {
            self.sub_graphs.make_room()?;
            archive.flush_all(self)?;
        }
        Ok(())
    }

    fn is_flush_due(&self, archive: &Archive) -> bool {
        archive.buffer_bytes() > self.options.tuning.buffer_pool_bytes
    }

    /// Flushes all buffers, unless they outlive any crash.
    fn free_log(&self, archive: &mut Archive) -> Result<()> {
        match self.segment.can_be_passed(archive.shards.len()) {
            true => archive.pass_buffers(self),
            false => self.flush(archive),
        }
    }

    /// Compacts some shards of which much is deleted.
    fn mend(core: &Core<Self>) -> bool {
        let AdjacencyOptions { compact_percent, compaction, .. } = core.machinery.options.tuning;
        compaction != Compacting::Naive && compact_due(core, |shard| shard.is_worn(compact_percent))
    }

    /// Merges the lists of some shards that are in many pieces.
    fn tidy(core: &Core<Self>) -> bool {
        let options = &core.machinery.options;
        let entry_words = options.entry_words();
        options.tuning.merges(par::thread_count())
            && compact_due(core, |shard| shard.is_fragmented(entry_words))
    }

    fn snapshot(&self, archive: &Archive) -> Snapshot {
        Snapshot::new(archive, self)
    }

    fn outcome(&self, archive: &Archive) -> Outcome {
        archive.outcome()
    }

    fn end(&self) {
        self.segment.remove();
    }

    fn shrink(&self) -> Result<()> {
        self.sub_graphs.shrink()
    }

    fn give_up(&self) {
        self.segment.give_up();
    }

    /// Snapshots may still read the segment's memory, but nobody will look for it.
    fn abandon(&self) {
        self.segment.abandon();
    }
}

/// Compacts the first shards that are due. Returns whether there were any.
fn compact_due(core: &Core<Machinery>, is_due: impl Fn(&Shard) -> bool) -> bool {
    let mut archive = core.archive();
    let Some(due) = archive.first_due(COMPACT_SHARDS_MAX, is_due) else { return false };
    if core.refuse_if_failed().is_err() {
        return false;
    }
    let compacted = archive.compact(&core.machinery, due, &mut Compaction::default());
    // Without room for it, it can wait.
    compacted.inspect_err(|error| core.fail_unless_full(error)).is_ok()
}

/// Archives what opening found in the log.
pub(super) fn replay(core: &Core<Machinery>) -> Result<()> {
    core.archive().replay(&core.machinery)
}

/// From now on a killed process leaves its segment to the next one.
pub(super) fn begin_segment(core: &Core<Machinery>) -> Result<()> {
    let mut archive = core.archive();
    let Machinery { log, segment, .. } = &core.machinery;
    if archive.next_sequence == log.checkpoint().1 {
        segment.note_progress(log.progress(&[], archive.next_sequence));
    }
    core.machinery.sub_graphs.publish();
    archive.publish(&core.machinery)?;
    segment.begin();
    Ok(())
}

/// Compacts the shards of a range, a group at a time; others go on in between.
pub(super) fn compact(core: &Core<Machinery>, shards: Range<usize>) -> Result<Compaction> {
    core.check_writable()?;
    core.refuse_if_failed()?;
    core.machinery.log.begin_writing()?;
    match core.machinery.sub_graphs.make_room() {
        // What is free already may do.
        Ok(()) | Err(Error::NoSpace { .. }) => {}
        Err(error) => return Err(error),
    }
    let shard_count = core.settled()?.shards.len();
    let end = shards.end.min(shard_count);
    let group_len = (shard_count / COMPACT_SHARE).clamp(1, COMPACT_SHARDS_MAX);
    let mut done = Compaction::default();
    let is_naive = core.machinery.options.tuning.compaction == Compacting::Naive;
    // Like a snapshot: nothing that is replaced is used again before the end.
    let lease = is_naive.then(|| core.archive().lease());
    for first in (shards.start..end).step_by(group_len) {
        let mut archive = core.archive();
        core.refuse_if_failed()?;
        if is_naive {
            core.flush_archive(&mut archive)?;
        }
        let group = first..end.min(first + group_len);
        archive
            .compact(&core.machinery, group, &mut done)
            .inspect_err(|error| core.fail_unless_full(error))?;
    }
    drop(lease);
    core.archive().release(&core.machinery);
    core.flush_all()?;
    Ok(done)
}
