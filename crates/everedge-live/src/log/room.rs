//! The room of the ring, and the anchors: what is changed without the lock that appends take.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::anchor::Anchor;
use super::{EdgeLog, RING_OFFSET, State};
use crate::space::{Space, UNIT_BYTES};
use crate::{Error, Result};
use everedge_medium::{Lack, Site};
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
    /// Bytes of it that hold insertions then.
    held: u64,
}

/// Where the lists lie, and what they may need there for what the log holds.
pub struct Lists {
    /// Their files, on the medium of the log.
    pub spaces: Vec<Arc<Space>>,
    /// Bytes of them that a byte of the log may need.
    pub bytes_per_logged: u64,
    /// Bytes of them that are kept beside what the log needs.
    pub kept_bytes: Arc<AtomicU64>,
}

impl Lists {
    /// Returns how many bytes of the medium they may need if the log holds so many: with all that is logged
    /// in that file which then lacks most, since what is free in one is no room for the others.
    fn needed_bytes(&self, held: u64) -> u64 {
        let of_log = held * self.bytes_per_logged + self.kept_bytes.load(Relaxed);
        let lacks = |space: &Arc<Space>| {
            let free_bytes = space.room().units * UNIT_BYTES;
            let reserve_bytes = space.reserve_bytes();
            [0, of_log].map(|bytes| (reserve_bytes + bytes).saturating_sub(free_bytes))
        };
        let lacks: Vec<_> = self.spaces.iter().map(lacks).collect();
        let reserves: u64 = lacks.iter().map(|[reserve, _]| reserve).sum();
        reserves + lacks.iter().map(|[reserve, all]| all - reserve).max().unwrap_or(0)
    }
}

impl EdgeLog {
    /// Takes all the ring's bytes from the medium, and their page faults, at once.
    ///
    /// # Errors
    /// `NoSpace` if the medium has no room for them.
    pub fn preallocate(&self) -> Result<()> {
        let capacity = self.capacity();
        self.make_room(Needed { allocated: capacity, populated: capacity, held: 0 })
    }

    /// From now on the ring grows for insertions only while the medium has room for all that the lists
    /// may need for what it holds. Says so once.
    pub fn leave_room_for(&self, lists: Lists) {
        let _said_before = self.lists.set(lists);
    }

    /// Lets the ring hold so many bytes of insertions, or more, if the lists have room for them.
    fn grant(&self, held: u64) -> Result<()> {
        let ahead = (held / 2).clamp(RING_GROWTH_BYTES_MIN, RING_GROWTH_BYTES_MAX);
        let granted = match self.check_room_of_lists(0, held + ahead) {
            Ok(()) => held + ahead,
            Err(_) => self.check_room_of_lists(0, held).map(|()| held)?,
        };
        self.state.lock().granted = granted;
        Ok(())
    }

    /// Refuses to let the ring grow by `growth` bytes if the lists would lack room for what it holds of
    /// insertions then.
    fn check_room_of_lists(&self, growth: u64, held: u64) -> Result<()> {
        let Some(lists) = self.lists.get().filter(|_| held > 0) else { return Ok(()) };
        let available_bytes = self.region.free_bytes();
        let needed_bytes = growth + lists.needed_bytes(held);
        match needed_bytes <= available_bytes {
            true => Ok(()),
            false => {
                let (path, lack) = (self.region.path().to_owned(), Lack::Disk);
                Err(Error::NoSpace { path, needed_bytes, available_bytes, lack })
            }
        }
    }

    /// Returns what must be done before `bytes` are stored after the head and `kept` more are left
    /// free, which only insertions leave.
    pub(super) fn missing_room(&self, state: &State, bytes: u64, kept: u64) -> Option<Needed> {
        let (anchor, end) = (&state.anchor, state.head + bytes - state.anchor.base);
        let allocated = (end + kept).min(anchor.capacity);
        let populated = end.min(anchor.capacity);
        let held = if kept > 0 { state.head + bytes - anchor.tail } else { 0 };
        let is_there = allocated <= anchor.allocated.min(self.allocated())
            && RING_OFFSET + populated <= state.populated
            && held <= state.granted;
        (!is_there).then_some(Needed { allocated, populated, held })
    }

    /// Lets the ring reach as far as needed, and takes page faults ahead. Appends into the room that
    /// there is go on meanwhile.
    pub(super) fn make_room(&self, needed: Needed) -> Result<()> {
        let anchoring = self.anchoring.lock();
        self.grow_ring(&anchoring, &needed)?;
        self.grant(needed.held)?;
        let (end, populated) = (RING_OFFSET + needed.populated, self.state.lock().populated);
        if end > populated {
            let end = (end + POPULATE_BYTES).min(self.region.len());
            self.region.populate(populated..end)?;
            self.state.lock().populated = end;
        }
        Ok(())
    }

    /// Lets the file have the needed bytes of the ring, or more in one step if they fit.
    fn grow_ring(&self, anchoring: &MutexGuard<'_, ()>, needed: &Needed) -> Result<()> {
        let (anchor, allocated) = (self.anchor(), self.allocated());
        let &Needed { allocated: needed, held, .. } = needed;
        if needed > allocated {
            let step = (allocated / 2).clamp(RING_GROWTH_BYTES_MIN, RING_GROWTH_BYTES_MAX);
            let wanted = (allocated + step).max(needed).next_multiple_of(4096).min(anchor.capacity);
            let grow = |bytes: u64| {
                self.check_room_of_lists(bytes - allocated, held)?;
                self.region.grow(RING_OFFSET + bytes)
            };
            match grow(wanted) {
                Err(Error::NoSpace { .. }) if wanted > needed => grow(needed)?,
                outcome => outcome?,
            }
        }
        if needed > anchor.allocated {
            let allocated = self.allocated().min(anchor.capacity);
            self.change_anchor(anchoring, |_, anchor| anchor.allocated = allocated)?;
        }
        Ok(())
    }

    /// Starts the ring anew at the beginning of the file, with `capacity` bytes, and gives back
    /// the rest of the file but for what deletions need, and as much for insertions: a medium that is
    /// full of lists may have room in them only. Returns false, and does nothing, if the log is
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
        anchor.allocated = (2 * kept_for_deletions(&anchor, false)).min(self.allocated());
        self.write_anchor(&anchor)?;
        // Whoever copies the ring as it was finds that it has begun anew.
        (state.anchor, state.kept_from, state.granted) = (anchor, anchor.tail, 0);
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
        self.region.fence(Site::LogAnchor)?;
        self.region.pins().into_iter().for_each(|pins| pins.note_newest(anchor.counter));
        Ok(())
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
