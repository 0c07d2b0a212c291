//! What writers, readers and the archiving thread of a graph share.

use std::sync::OnceLock;

use everedge_core::{Edge, watch};
use parking_lot::{Mutex, MutexGuard};

use everedge_live::{
    Appended, Batch, DELETION, Durability, EdgeLog, Error, GraphOptions, LINE_BYTES, LayoutOptions,
    Manifest, Outcome, Phases, Result,
};
use everedge_medium::{Access, Volume};

/// A writer waits for archiving when so many thresholds are behind.
const BACKLOG_MAX: u64 = 2;

/// Where each edge is a batch, which takes a line of the log, at most so many are archived at a
/// time: more would cost less each, but who asks for a view waits for as many.
const EDGE_THRESHOLD_MAX: u64 = 1 << 21;
/// And at most this share of the log, so that writers find room until they have to wait;
const EDGE_THRESHOLD_SHARE: u64 = 4;
/// but for fewer than so many it is not worth while to call another thread.
const EDGE_THRESHOLD_MIN: u64 = 1 << 10;

/// When updates are archived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Updates in the log from which they are.
    pub(crate) archive_threshold: u64,
    /// Whether logging goes on meanwhile.
    pub(crate) phases: Phases,
}

/// What a layout makes of logged updates: all that archiving needs beside the archived state.
pub(crate) trait Layout: Send + Sync + Sized + 'static {
    /// How the layout works.
    type Options: LayoutOptions;
    /// The archived state.
    type Archive: Send;
    /// A frozen view of it.
    type Snapshot;

    /// Returns the log that batches are committed in.
    fn log(&self) -> &EdgeLog;

    /// Returns what was fixed when the graph was created.
    fn options(&self) -> &GraphOptions<Self::Options>;

    /// Returns when updates are archived.
    fn pace(&self) -> Pace;

    /// Before an insertion is logged: makes room on the medium, if some was missing.
    fn make_room(&self) -> Result<()>;

    /// After a batch was logged.
    fn note_logged(&self) {}

    /// Archives every durable record of the log.
    fn take_all(&self, archive: &mut Self::Archive) -> Result<()>;

    /// Returns whether archiving failed halfway: some lists hold a batch and others do not.
    fn torn(archive: &mut Self::Archive) -> &mut bool;

    /// Makes durable all that is archived and frees the log of it, if there is something.
    ///
    /// # Errors
    /// `NoSpace` if the medium is full; the log keeps then what it has.
    fn flush(&self, archive: &mut Self::Archive) -> Result<()>;

    /// Returns whether so much is archived and not flushed that it is time to.
    fn is_flush_due(&self, archive: &Self::Archive) -> bool;

    /// Frees the log of all that is archived, in the way that costs least.
    fn free_log(&self, archive: &mut Self::Archive) -> Result<()> {
        self.flush(archive)
    }

    /// Does a part of the work that comes after archiving. Returns whether there was any.
    fn mend(core: &Core<Self>) -> bool;

    /// Does a part of the work that can wait. Returns whether there was any.
    fn tidy(core: &Core<Self>) -> bool;

    /// Returns a frozen view of what is archived.
    fn snapshot(&self, archive: &Self::Archive) -> Self::Snapshot;

    /// Returns what the updates since opening have changed.
    fn outcome(&self, archive: &Self::Archive) -> Outcome;

    /// After the last flush of a close, while the log is empty.
    fn end(&self) {}

    /// At the end of a close: gives unused space back.
    fn shrink(&self) -> Result<()>;

    /// From now on nobody writes any more, since archiving failed.
    fn give_up(&self) {}

    /// From now on only snapshots read it.
    fn abandon(&self) {}
}

/// A graph without its threads.
pub(crate) struct Core<L: Layout> {
    pub(crate) volume: Volume,
    pub(crate) manifest: Manifest<L::Options>,
    pub(crate) machinery: L,
    archive: Mutex<L::Archive>,
    /// Why archiving failed; from then on there are no writes.
    failure: OnceLock<String>,
}

impl<L: Layout> Drop for Core<L> {
    fn drop(&mut self) {
        self.machinery.abandon();
    }
}

impl<L: Layout> Core<L> {
    pub(crate) fn new(
        volume: Volume,
        manifest: Manifest<L::Options>,
        machinery: L,
        archive: L::Archive,
    ) -> Self {
        let (archive, failure) = (Mutex::new(archive), OnceLock::new());
        Self { volume, manifest, machinery, archive, failure }
    }

    /// Makes a batch durable, as far as the graph's durability asks for it; `is_alone` says that the
    /// caller keeps other writers out. Returns whether there is enough to be archived.
    pub(super) fn commit(&self, batch: &Batch, is_alone: bool) -> Result<bool> {
        if batch.is_empty() {
            return Ok(false);
        }
        self.refuse_if_failed()?;
        self.check_batch(batch)?;
        let log = self.machinery.log();
        log.begin_writing()?;
        if !batch.only_takes_away() {
            self.machinery.make_room()?;
        }
        let (position, untaken) = self.append(batch, is_alone)?;
        self.machinery.note_logged();
        if self.machinery.options().durability != Durability::None {
            log.make_durable(position)?;
        }
        Ok(untaken >= self.threshold(1))
    }

    /// Commits one update of an edge, of which `src` carries the mark of a deletion. Returns nothing
    /// if it is to be committed as a batch.
    pub(super) fn commit_edge(
        &self,
        (src, dst): Edge,
        weight: Option<f32>,
    ) -> Result<Option<bool>> {
        let (log, options) = (self.machinery.log(), self.machinery.options());
        if !log.takes_lines()
            || options.durability == Durability::None
            || weight.is_some() != options.weighted
        {
            return Ok(None);
        }
        self.refuse_if_failed()?;
        log.begin_writing()?;
        if src & DELETION == 0 {
            self.machinery.make_room()?;
        }
        match log.append_line((src, dst), weight.map(f32::to_bits))? {
            Appended::Full => Ok(None),
            Appended::At { untaken, .. } => {
                self.machinery.note_logged();
                Ok(Some(untaken >= self.threshold(1)))
            }
        }
    }

    pub(crate) fn check_writable(&self) -> Result<()> {
        match self.volume.access() {
            Access::Read => Err(Error::ReadOnly { path: self.volume.path().to_owned() }),
            Access::Write => Ok(()),
        }
    }

    fn check_batch(&self, batch: &Batch) -> Result<()> {
        let options = self.machinery.options();
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

    fn append(&self, batch: &Batch, is_alone: bool) -> Result<(u64, u64)> {
        let log = self.machinery.log();
        let needed = log.bytes_for(batch);
        let mut is_ring_fresh = false;
        loop {
            let full = match log.append(batch, is_alone) {
                Ok(Appended::At { position, untaken }) => return Ok((position, untaken)),
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
    pub(crate) fn is_due(&self, thresholds: u64) -> bool {
        self.machinery.log().untaken().1 >= self.threshold(thresholds)
    }

    /// Returns how many updates so many thresholds are.
    fn threshold(&self, thresholds: u64) -> u64 {
        let threshold = self.machinery.pace().archive_threshold;
        let GraphOptions { durability, log_bytes, .. } = *self.machinery.options();
        let most = match durability {
            Durability::Edge => (log_bytes / LINE_BYTES / EDGE_THRESHOLD_SHARE)
                .clamp(EDGE_THRESHOLD_MIN, EDGE_THRESHOLD_MAX),
            _ => u64::MAX,
        };
        threshold.min(most).max(1).saturating_mul(thresholds)
    }

    /// Whether writers have to wait for archiving.
    pub(super) fn is_far_behind(&self) -> bool {
        self.is_due(BACKLOG_MAX) && self.refuse_if_failed().is_ok()
    }

    /// Archives what was logged if that is much. What fails here fails no batch: those are in the
    /// log. Later writes are refused.
    pub(super) fn archive_if_due(&self) {
        while self.is_due(1) && self.archive_once() {}
        while L::mend(self) {}
        // Writers may wait for archiving, nobody for this.
        while !self.is_due(1) && L::tidy(self) {}
    }

    /// Returns whether it went well.
    fn archive_once(&self) -> bool {
        let mut archive = self.archive.lock();
        // Where batches are not durable on return, this makes them: only then are they archived.
        if self.refuse_if_failed().is_err() || self.settle(&mut archive).is_err() {
            return false;
        }
        // On a full medium what is not flushed stays where it is.
        if self.machinery.is_flush_due(&archive) {
            let _flushed = self.flush_archive(&mut archive);
        } else if self.machinery.log().is_nearly_full() {
            let _freed = self.free_log(&mut archive);
        }
        true
    }

    /// Returns what is archived now, until others go on.
    pub(crate) fn archive(&self) -> MutexGuard<'_, L::Archive> {
        self.archive.lock()
    }

    /// Archives all acknowledged batches. Returns what is archived, until others go on.
    pub(crate) fn settled(&self) -> Result<MutexGuard<'_, L::Archive>> {
        let mut archive = self.archive.lock();
        self.settle(&mut archive)?;
        Ok(archive)
    }

    /// Archives all acknowledged batches; without a fence if fences fail.
    fn settle(&self, archive: &mut L::Archive) -> Result<()> {
        match self.refuse_if_failed() {
            Ok(()) => self.machinery.log().make_all_durable()?,
            // What a forked child stores, its parent sees.
            Err(error @ Error::Forked) => return Err(error),
            Err(error) if *L::torn(archive) => return Err(error),
            Err(_) => {}
        }
        // Nothing cancels it: what it takes from the log is nowhere else. A panic leaves the archive
        // torn, and nobody reads it then.
        let was_torn = std::mem::replace(L::torn(archive), true);
        let unwinding = Unwinding(self);
        let taken = watch::undisturbed(|| self.machinery.take_all(archive));
        std::mem::forget(unwinding);
        *L::torn(archive) = was_torn || taken.is_err();
        taken.inspect_err(|error| self.fail(error))
    }

    /// Archives and flushes everything, so that the log is empty.
    pub(crate) fn flush_all(&self) -> Result<()> {
        self.refuse_if_failed()?;
        let mut archive = self.settled()?;
        self.flush_archive(&mut archive)
    }

    /// Flushes everything, empties the log and gives unused space back.
    pub(super) fn close(&self) -> Result<()> {
        let log = self.machinery.log();
        if self.volume.access() == Access::Read || log.is_untouched() {
            return Ok(());
        }
        self.refuse_if_failed()?;
        match self.flush_all() {
            // The log still holds what has no place; the next opening replays it.
            Err(Error::NoSpace { .. }) => return log.make_all_durable(),
            outcome => outcome?,
        }
        self.machinery.end();
        log.restart_ring(self.machinery.options().log_bytes)?;
        self.machinery.shrink()
    }

    pub(crate) fn flush_archive(&self, archive: &mut L::Archive) -> Result<()> {
        self.refuse_if_failed()?;
        watch::undisturbed(|| self.machinery.flush(archive))
            .inspect_err(|error| self.fail_unless_full(error))
    }

    fn free_log(&self, archive: &mut L::Archive) -> Result<()> {
        self.refuse_if_failed()?;
        watch::undisturbed(|| self.machinery.free_log(archive))
            .inspect_err(|error| self.fail_unless_full(error))
    }

    pub(crate) fn fail_unless_full(&self, error: &Error) {
        if !matches!(error, Error::NoSpace { .. }) {
            self.fail(error);
        }
    }

    fn fail(&self, error: &Error) {
        self.machinery.give_up();
        self.failure.get_or_init(|| error.to_string());
    }

    /// After a panic of whoever archived: refuses all from now on, since lists may be half done.
    pub(super) fn panicked(&self, why: &str) {
        self.machinery.give_up();
        self.failure.get_or_init(|| why.to_owned());
        *L::torn(&mut self.archive.lock()) = true;
    }

    /// Refuses a write after one failed for good.
    pub(crate) fn refuse_if_failed(&self) -> Result<()> {
        if let Some(error) = self.volume.poisoned() {
            return Err(error);
        }
        match self.failure.get() {
            Some(first) => Err(Error::Poisoned { first: first.clone() }),
            None => Ok(()),
        }
    }
}

/// Refuses all later writes if archiving unwinds: some lists may hold a batch and others not.
struct Unwinding<'a, L: Layout>(&'a Core<L>);

impl<L: Layout> Drop for Unwinding<'_, L> {
    fn drop(&mut self) {
        self.0.failure.get_or_init(|| "archiving ended halfway by a panic".to_owned());
    }
}
