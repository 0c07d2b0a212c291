//! Room for adjacency blocks: units of 256 bytes from one file, handed to shards in extents.
//!
//! # Invariants
//! - S1: a unit belongs to one shard, or to nobody (free), or was never used (past `next`).
//! - S2: before a batch is acknowledged, so many units are free that every buffered and logged
//!   update can be flushed in the worst case: a flush never meets a full medium.

use std::ops::Range;

use parking_lot::Mutex;

use super::block::{LINE_BYTES, UNIT_LINES};
use crate::medium::Region;
use crate::{Error, Result};

/// Bytes of a unit.
pub(crate) const UNIT_BYTES: u64 = LINE_BYTES * UNIT_LINES as u64;
/// The file grows by at least and at most so many units beyond what is needed.
const GROWTH_UNITS: Range<u64> = 256..(64 << 20) / UNIT_BYTES;
/// A shard takes a quarter of what it has, but not more units than this, at a time.
const EXTENT_UNITS_MAX: u64 = 256;
/// Places count lines in 32 bits.
pub(crate) const FILE_BYTES_MAX: u64 = LINE_BYTES << 32;

/// Page faults are taken for so many units at a time: what is only reserved costs none.
const POPULATE_UNITS: u64 = (512 << 10) / UNIT_BYTES;

/// The units of the block file.
pub(crate) struct Space {
    region: Region,
    state: Mutex<State>,
}

struct State {
    /// The first unit never used.
    next: u64,
    /// Free units before it.
    free: Vec<Range<u64>>,
    free_count: u64,
    /// Units that the last reservation asked for; extents do not hoard from them.
    promised: u64,
    /// The first unit whose page faults were not yet taken.
    populated: u64,
}

impl Space {
    /// Returns the space in which the units `used..` are unused and those of `free` are free.
    pub(crate) fn new(region: Region, next: u64, free: Vec<Range<u64>>) -> Self {
        let free_count = free.iter().map(|range| range.end - range.start).sum();
        Self {
            region,
            state: Mutex::new(State { next, free, free_count, promised: 0, populated: next }),
        }
    }

    /// Sees to it that at least `units` are free, growing the file if need be (S2). They are
    /// counted under the lock, so that of two writers the later one counts what both need.
    ///
    /// # Errors
    /// `NoSpace` if the medium is full; nothing has changed then.
    pub(crate) fn reserve(&self, units: impl FnOnce() -> u64) -> Result<()> {
        let mut state = self.state.lock();
        let units = units();
        let total = self.region.len() / UNIT_BYTES;
        let free = state.free_count + total.saturating_sub(state.next);
        if free >= units {
            state.promised = units;
            return Ok(());
        }
        self.grow(total, units - free)?;
        state.promised = units;
        Ok(())
    }

    /// Makes `missing` more units than the `total` that there are, or more.
    fn grow(&self, total: u64, missing: u64) -> Result<()> {
        let needed_bytes = (total + missing) * UNIT_BYTES;
        if needed_bytes > FILE_BYTES_MAX {
            let path = self.region.path().to_owned();
            let available_bytes = FILE_BYTES_MAX - self.region.len();
            return Err(Error::NoSpace { path, needed_bytes, available_bytes });
        }
        let ahead = (total / 4).clamp(GROWTH_UNITS.start, GROWTH_UNITS.end);
        let wanted_bytes = (needed_bytes + ahead * UNIT_BYTES).min(FILE_BYTES_MAX);
        match self.region.grow(wanted_bytes) {
            Err(Error::NoSpace { .. }) => self.region.grow(needed_bytes),
            outcome => outcome,
        }
    }

    /// Gives a shard that has `used` units its next ones.
    fn take_extent(&self, used: u64) -> Result<Range<u64>> {
        let mut state = self.state.lock();
        let mut total = self.region.len() / UNIT_BYTES;
        let free = state.free_count + total.saturating_sub(state.next);
        let spare = free.saturating_sub(state.promised);
        let wanted = (used / 4).min(spare).clamp(1, EXTENT_UNITS_MAX);
        if let Some(range) = state.free.last_mut() {
            let end = range.end.min(range.start + wanted);
            let taken = range.start..end;
            range.start = end;
            if range.is_empty() {
                state.free.pop();
            }
            state.free_count -= end - taken.start;
            return Ok(taken);
        }
        if state.next >= total {
            // Only a replay that touches more shards than had blocks comes here.
            self.grow(total, state.next + 1 - total)?;
            total = self.region.len() / UNIT_BYTES;
        }
        let taken = state.next..total.min(state.next + wanted);
        state.next = taken.end;
        if state.next > state.populated {
            let end = total.min(state.next + POPULATE_UNITS);
            let untouched = std::mem::replace(&mut state.populated, end)..end;
            drop(state);
            self.region.populate(untouched.start * UNIT_BYTES..untouched.end * UNIT_BYTES)?;
        }
        Ok(taken)
    }

    /// Returns the bytes of the file up to the last unit that was ever used.
    pub(crate) fn used_bytes(&self) -> u64 {
        self.state.lock().next * UNIT_BYTES
    }

    /// Returns the region that the units lie in.
    pub(crate) fn region(&self) -> &Region {
        &self.region
    }
}

/// The part of the space that one shard holds.
#[derive(Clone, Debug, Default)]
pub(crate) struct ShardSpace {
    extent: Range<u64>,
    unit_count: u64,
    /// Places of one, two and three free lines, left over in units.
    leftovers: [Vec<u32>; UNIT_LINES as usize - 1],
}

impl ShardSpace {
    /// Returns the place of `lines` free lines inside one unit.
    pub(crate) fn take(&mut self, space: &Space, lines: u32) -> Result<u32> {
        for have in lines..UNIT_LINES {
            if let Some(place) = self.leftovers[have as usize - 1].pop() {
                self.give_back(place + lines, have - lines);
                return Ok(place);
            }
        }
        if self.extent.is_empty() {
            self.extent = space.take_extent(self.unit_count)?;
        }
        let place = self.extent.start as u32 * UNIT_LINES;
        self.extent.start += 1;
        self.unit_count += 1;
        self.give_back(place + lines, UNIT_LINES - lines);
        Ok(place)
    }

    /// Takes back the rest of a unit.
    pub(crate) fn give_back(&mut self, place: u32, lines: u32) {
        if lines > 0 {
            self.leftovers[lines as usize - 1].push(place);
        }
    }

    /// Counts a unit found in use at recovery.
    pub(crate) fn adopt_unit(&mut self) {
        self.unit_count += 1;
    }
}

/// Returns how many units so many lines can take at worst: blocks of three lines leave a line.
pub(crate) fn units_for(lines: u64) -> u64 {
    (lines * 4 / 3).div_ceil(UNIT_LINES.into()) + 1
}
