//! The room of the ring, and the anchors: what is changed without the lock that appends take.

use super::anchor::Anchor;
use super::{EdgeLog, RING_OFFSET, State};
use crate::{Error, Result};
use everedge_medium::Site;
use parking_lot::MutexGuard;

/// The ring grows by at least this much, so that small graphs stay small.
const RING_GROWTH_BYTES_MIN: u64 = 64 << 10;
const RING_GROWTH_BYTES_MAX: u64 = 64 << 20;
/// Insertions leave free at most so much.
const KEPT_BYTES_MAX: u64 = 1 << 20;
/// Page faults of the ring are taken so far ahead: little enough that its stores find it cached.
const POPULATE_BYTES: u64 = 512 << 10;

/// How far the ring must reach, in bytes from its beginning.
#[derive(Clone, Copy, Debug)]
pub(super) struct Needed {
    /// Bytes that the file must have.
    allocated: u64,
    /// Bytes whose page faults must have been taken.
    populated: u64,
}

impl EdgeLog {
    /// Takes all the ring's bytes from the medium, and their page faults, at once.
    ///
    /// # Errors
    /// `NoSpace` if the medium has no room for them.
    pub fn preallocate(&self) -> Result<()> {
        let capacity = self.capacity();
        self.make_room(Needed { allocated: capacity, populated: capacity })
    }

    /// Returns what must be done before `bytes` are stored after the head and `kept` more are left
    /// free.
    pub(super) fn missing_room(&self, state: &State, bytes: u64, kept: u64) -> Option<Needed> {
        let (anchor, end) = (&state.anchor, state.head + bytes - state.anchor.base);
        let allocated = (end + kept).min(anchor.capacity);
        let populated = end.min(anchor.capacity);
        let is_there = allocated <= anchor.allocated.min(self.allocated())
            && RING_OFFSET + populated <= state.populated;
        (!is_there).then_some(Needed { allocated, populated })
    }

    /// Lets the ring reach as far as needed, and takes page faults ahead. Appends into the room that
    /// there is go on meanwhile.
    pub(super) fn make_room(&self, needed: Needed) -> Result<()> {
        let anchoring = self.anchoring.lock();
        self.grow_ring(&anchoring, needed.allocated)?;
        let (end, populated) = (RING_OFFSET + needed.populated, self.state.lock().populated);
        if end > populated {
            let end = (end + POPULATE_BYTES).min(self.region.len());
            self.region.populate(populated..end)?;
            self.state.lock().populated = end;
        }
        Ok(())
    }

    /// Lets the file have `needed` bytes of the ring, or more in one step if they fit.
    fn grow_ring(&self, anchoring: &MutexGuard<'_, ()>, needed: u64) -> Result<()> {
        let (anchor, allocated) = (self.anchor(), self.allocated());
        if needed > allocated {
            let step = (allocated / 2).clamp(RING_GROWTH_BYTES_MIN, RING_GROWTH_BYTES_MAX);
            let wanted = (allocated + step).max(needed).next_multiple_of(4096).min(anchor.capacity);
            match self.region.grow(RING_OFFSET + wanted) {
                Err(Error::NoSpace { .. }) if wanted > needed => {
                    self.region.grow(RING_OFFSET + needed)
                }
                outcome => outcome,
            }?;
        }
        if needed > anchor.allocated {
            let allocated = self.allocated().min(anchor.capacity);
            self.change_anchor(anchoring, |_, anchor| anchor.allocated = allocated)?;
        }
        Ok(())
    }

    /// Starts the ring anew at the beginning of the file, with `capacity` bytes, and gives back
    /// the rest of the file but for what deletions need. Returns false, and does nothing, if the log is
    /// not empty.
    pub fn restart_ring(&self, capacity: u64) -> Result<bool> {
        // Nobody flushes meanwhile what may be given back.
        let _fencing = self.fencing.lock();
        let _anchoring = self.anchoring.lock();
        // Nobody appends meanwhile: positions lie elsewhere from now on.
        let mut state = self.lock();
        if state.head != state.anchor.tail {
            return Ok(false);
        }
        let mut anchor = state.anchor;
        anchor.counter += 1;
        anchor.base = state.head;
        anchor.tail_generation = anchor.generation;
        anchor.capacity = capacity.next_multiple_of(64);
        anchor.allocated = kept_for_deletions(&anchor, false).min(self.allocated());
        self.write_anchor(&anchor)?;
        state.anchor = anchor;
        let end = RING_OFFSET + anchor.allocated;
        state.populated = state.populated.min(end);
        self.region.shrink(end.next_multiple_of(8))?;
        Ok(true)
    }

    /// Makes a changed anchor durable, in place of the older one. The caller holds `anchoring`.
    #[track_caller]
    pub(super) fn change_anchor(
        &self,
        _anchoring: &MutexGuard<'_, ()>,
        change: impl FnOnce(&State, &mut Anchor),
    ) -> Result<()> {
        let state = self.lock();
        let mut anchor = state.anchor;
        change(&state, &mut anchor);
        drop(state);
        anchor.counter += 1;
        self.write_anchor(&anchor)?;
        self.state.lock().anchor = anchor;
        Ok(())
    }

    #[track_caller]
    pub(super) fn write_anchor(&self, anchor: &Anchor) -> Result<()> {
        let range = anchor.range();
        self.region.store_words(range.start, &anchor.encode(self.salt));
        self.region.flush(Site::LogAnchor, range);
        self.region.fence(Site::LogAnchor)
    }
}

/// Bytes of the ring that a batch must leave free, so that a full graph can be deleted from.
pub(super) fn kept_for_deletions(anchor: &Anchor, only_takes_away: bool) -> u64 {
    if only_takes_away {
        0
    } else {
        (anchor.capacity / 64).next_multiple_of(64).min(KEPT_BYTES_MAX)
    }
}
