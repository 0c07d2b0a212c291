//! Room on a medium: units of 256 bytes of a growing file, taken and given back in ranges.
//!
//! The file grows when room is needed and not before: what a batch needs in order to be safe is
//! room in the log. What finds none stays in memory, and the log keeps what it says; insertions are
//! refused from then on until there is room again (S2).
//!
//! # Invariants
//! - S1: a unit belongs to whoever took it, or to nobody (free), or was never used (past `next`).
//! - S2: once something found no room, no insertion is acknowledged until [`Space::make_room`] was
//!   successful: there is a range then as long as the longest that was not found.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use parking_lot::{Mutex, MutexGuard};

use crate::{Error, Result};
use everedge_medium::Region;

/// Bytes of a unit.
pub const UNIT_BYTES: u64 = 256;
/// The file grows by at least and at most so many units.
const GROWTH_UNITS: Range<u64> = 256..(64 << 20) / UNIT_BYTES;
/// As far as places that count lines of 64 bytes in 32 bits reach.
pub const FILE_BYTES_MAX: u64 = 64 << 32;
/// Page faults are taken for so many units at a time.
const POPULATE_UNITS: u64 = (512 << 10) / UNIT_BYTES;

/// The units of one block file.
pub struct Space {
    region: Region,
    state: Mutex<State>,
    /// Whether a block found no room.
    is_full: AtomicBool,
}

struct State {
    /// The first unit that is not used, nor any after it.
    next: u64,
    /// Free units before it.
    free: FreeUnits,
    /// The first unit whose page faults were not yet taken.
    populated: u64,
    /// The longest range that was asked for and not found since there was room.
    missing: u64,
}

/// Units that are free, those at the end of the file that were never used among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// All of them.
    pub units: u64,
    /// Those of the longest range.
    pub longest: u64,
}

impl Space {
    /// Returns the space in which the units `used..` are unused and those of `free` are free.
    pub fn new(region: Region, next: u64, free: Vec<Range<u64>>) -> Self {
        // What is there already was populated when it was made, or lies in a file's pages.
        let populated = region.len() / UNIT_BYTES;
        let mut units = FreeUnits::default();
        free.into_iter().for_each(|range| units.insert(range));
        let state = Mutex::new(State { next, free: units, populated, missing: 0 });
        Self { region, state, is_full: AtomicBool::new(false) }
    }

    /// Returns the space in which the units `used` are in use and those from `first` on that lie
    /// between them are free; sorts them.
    ///
    /// # Errors
    /// `Corruption` if some of them overlap or lie outside of the file.
    pub fn of_used(region: Region, first: u64, used: &mut [Range<u64>]) -> Result<Self> {
        used.sort_unstable_by_key(|range| range.start);
        let (mut next, mut free) = (first, Vec::new());
        for range in used.iter() {
            if range.start < next || range.end * UNIT_BYTES > region.len() {
                return Err(Error::Corruption {
                    path: region.path().to_owned(),
                    offset: range.start * UNIT_BYTES,
                    what: "units that are in use".into(),
                    expected: format!("units {next} to {}", region.len() / UNIT_BYTES),
                    found: format!("units {} to {}", range.start, range.end),
                });
            }
            if next < range.start {
                free.push(next..range.start);
            }
            next = range.end;
        }
        Ok(Self::new(region, next, free))
    }

    /// After a block found no room: makes some, if there is some now.
    ///
    /// # Errors
    /// `NoSpace` if the medium is still full.
    pub fn make_room(&self) -> Result<()> {
        if self.is_full.load(Relaxed) {
            let mut state = self.state.lock();
            let longest = state.missing.max(GROWTH_UNITS.start);
            // A compaction may have freed some without a byte more of the medium.
            self.reserve_in(&mut state, 0, longest)?;
        }
        Ok(())
    }

    /// Makes sure that at least `units` are free, `longest` of them in one range: the file grows if
    /// there are fewer.
    ///
    /// # Errors
    /// `NoSpace` if the medium is full.
    pub fn reserve(&self, units: u64, longest: u64) -> Result<()> {
        self.reserve_in(&mut self.state.lock(), units, longest)
    }

    fn reserve_in(&self, state: &mut State, units: u64, longest: u64) -> Result<()> {
        let room = self.room_in(state);
        let tail = self.total().saturating_sub(state.next);
        let missing_range = if room.longest < longest { longest - tail } else { 0 };
        let missing = missing_range.max(units.saturating_sub(room.units));
        if missing > 0 {
            let grown = self.grow(self.total().max(state.next) + missing);
            self.is_full.store(matches!(grown, Err(Error::NoSpace { .. })), Relaxed);
            grown?;
        }
        state.missing = 0;
        self.is_full.store(false, Relaxed);
        Ok(())
    }

    /// Returns which units are free without growing the file.
    pub fn room(&self) -> Room {
        self.room_in(&self.state.lock())
    }

    fn room_in(&self, state: &State) -> Room {
        let tail = self.total().saturating_sub(state.next);
        Room { units: state.free.count + tail, longest: state.free.longest().max(tail) }
    }

    /// Returns how many units the file has.
    fn total(&self) -> u64 {
        self.region.len() / UNIT_BYTES
    }

    /// Grows the file to at least `needed` units, or to more in one step if that fits.
    fn grow(&self, needed: u64) -> Result<()> {
        let needed_bytes = needed * UNIT_BYTES;
        if needed_bytes > FILE_BYTES_MAX {
            let path = self.region.path().to_owned();
            let available_bytes = FILE_BYTES_MAX - self.region.len();
            let lack = everedge_medium::Lack::Disk;
            return Err(Error::NoSpace { path, needed_bytes, available_bytes, lack });
        }
        let ahead = (self.total() / 4).clamp(GROWTH_UNITS.start, GROWTH_UNITS.end);
        let wanted_bytes = (needed_bytes + ahead * UNIT_BYTES).min(FILE_BYTES_MAX);
        match self.region.grow(wanted_bytes) {
            Err(Error::NoSpace { .. }) => self.region.grow(needed_bytes),
            outcome => outcome,
        }
    }

    /// Takes `units` consecutive units if `rest` is free then.
    ///
    /// # Errors
    /// As [`Self::take_units`].
    pub fn take_leaving(&self, units: u64, rest: Room) -> Result<Range<u64>> {
        let mut state = self.state.lock();
        if let Some(taken) = self.take_free(&mut state, units, rest) {
            self.populate(state)?;
            return Ok(taken);
        }
        let lacking = (units + rest.units).saturating_sub(self.room_in(&state).units);
        let needed = (state.next + units + rest.longest).max(self.total() + lacking);
        self.grow_for(&mut state, units, needed)?;
        drop(state);
        self.take_units(units, units)
    }

    /// Takes free units if `rest` is free then, be it at the end of the file.
    fn take_free(&self, state: &mut State, units: u64, rest: Room) -> Option<Range<u64>> {
        if self.room_in(state).units < units + rest.units {
            return None;
        }
        let taken = state.free.take(units, units).or_else(|| {
            let taken = state.next..state.next + units;
            (taken.end <= self.total()).then(|| {
                state.next = taken.end;
                taken
            })
        })?;
        if self.room_in(state).longest >= rest.longest {
            return Some(taken);
        }
        self.put_back(state, taken);
        None
    }

    /// Takes `wanted` consecutive units, or at least `least`.
    ///
    /// # Errors
    /// `NoSpace` if the medium is full, or was and has not been tried again.
    pub fn take_units(&self, least: u64, wanted: u64) -> Result<Range<u64>> {
        let mut state = self.state.lock();
        if let Some(taken) = state.free.take(least, wanted) {
            return Ok(taken);
        }
        if state.next + least > self.total() {
            let needed = state.next + least;
            self.grow_for(&mut state, least, needed)?;
        }
        let total = self.total();
        let taken = state.next..total.min(state.next + wanted);
        state.next = taken.end;
        self.populate(state)?;
        Ok(taken)
    }

    /// Takes the page faults of units that are used for the first time.
    fn populate(&self, mut state: MutexGuard<'_, State>) -> Result<()> {
        if state.next <= state.populated {
            return Ok(());
        }
        let end = self.total().min(state.next + POPULATE_UNITS);
        let untouched = std::mem::replace(&mut state.populated, end)..end;
        drop(state);
        self.region.populate(untouched.start * UNIT_BYTES..untouched.end * UNIT_BYTES)
    }

    /// Grows the file for who needs a range of `least` units.
    fn grow_for(&self, state: &mut State, least: u64, needed: u64) -> Result<()> {
        let grown = match self.is_full.load(Relaxed) {
            true => {
                let path = self.region.path().to_owned();
                let (needed_bytes, available_bytes) = (least * UNIT_BYTES, 0);
                let lack = everedge_medium::Lack::Disk;
                Err(Error::NoSpace { path, needed_bytes, available_bytes, lack })
            }
            false => self.grow(needed),
        };
        if let Err(Error::NoSpace { .. }) = grown {
            self.is_full.store(true, Relaxed);
            state.missing = state.missing.max(least);
        }
        grown
    }

    /// Takes units back that nobody reads any more.
    pub fn give_back(&self, ranges: impl IntoIterator<Item = Range<u64>>) {
        let mut state = self.state.lock();
        for range in ranges {
            self.put_back(&mut state, range);
        }
    }

    fn put_back(&self, state: &mut State, range: Range<u64>) {
        state.free.insert(range);
        if let Some(start) = state.free.take_last(state.next) {
            state.next = start;
        }
    }

    /// Returns how long the free range would be that some units that are taken are in, if they were
    /// given back.
    pub fn joined(&self, units: Range<u64>) -> u64 {
        let state = self.state.lock();
        let start = state.free.before(units.start).unwrap_or(units.start);
        let end = match state.free.by_start.get(&units.end) {
            Some(&end) => end,
            None if units.end == state.next => self.total(),
            None => units.end,
        };
        end - start
    }

    /// Returns the bytes of the file up to the last unit that was ever used.
    pub fn used_bytes(&self) -> u64 {
        self.state.lock().next * UNIT_BYTES
    }

    /// Gives the medium back what is past the last unit that was ever used.
    ///
    /// # Errors
    /// If the medium fails.
    pub fn shrink(&self) -> Result<()> {
        let used_bytes = self.used_bytes().max(UNIT_BYTES).next_multiple_of(4096);
        match used_bytes < self.region.len() {
            true => self.region.shrink(used_bytes),
            false => Ok(()),
        }
    }

    /// Returns the region that the units lie in.
    pub fn region(&self) -> &Region {
        &self.region
    }
}

/// Units that belong to somebody: when the last one who refers to them is gone, they are free.
///
/// A shard refers to the units that its lists lie in, and so does each snapshot that shares the
/// shard and the image on the medium that names them. So units are used again only when no view
/// reads them and no opening would look for them.
pub struct Extents {
    space: Arc<Space>,
    units: Mutex<Vec<Range<u64>>>,
}

impl Extents {
    /// Returns units of `space` that were taken.
    pub fn new(space: &Arc<Space>, units: Vec<Range<u64>>) -> Arc<Self> {
        Arc::new(Self { space: space.clone(), units: Mutex::new(units) })
    }

    /// Takes more units, `wanted` or at least `least`.
    ///
    /// # Errors
    /// As [`Space::take_units`].
    pub fn take(&self, least: u64, wanted: u64) -> Result<Range<u64>> {
        let taken = self.space.take_units(least, wanted)?;
        let mut units = self.units.lock();
        match units.last_mut() {
            Some(last) if last.end == taken.start => last.end = taken.end,
            _ => units.push(taken.clone()),
        }
        Ok(taken)
    }

    /// Returns all units, in the order in which they were taken.
    pub fn units(&self) -> Vec<Range<u64>> {
        self.units.lock().clone()
    }

    /// Returns how many units there are.
    pub fn count(&self) -> u64 {
        self.units.lock().iter().map(|range| range.end - range.start).sum()
    }
}

impl Drop for Extents {
    fn drop(&mut self) {
        self.space.give_back(self.units.get_mut().drain(..));
    }
}

/// Free units, found by place and by number.
#[derive(Default)]
struct FreeUnits {
    /// The end of each range by its start; ranges do not touch.
    by_start: BTreeMap<u64, u64>,
    /// Length and start of each range.
    by_len: BTreeSet<(u64, u64)>,
    /// How many they are.
    count: u64,
}

impl FreeUnits {
    fn insert(&mut self, range: Range<u64>) {
        let Range { mut start, mut end } = range;
        if start == end {
            return;
        }
        if let Some(before) = self.before(start) {
            self.remove(before..start);
            start = before;
        }
        if let Some(&after_end) = self.by_start.get(&end) {
            self.remove(end..after_end);
            end = after_end;
        }
        self.by_start.insert(start, end);
        self.by_len.insert((end - start, start));
        self.count += end - start;
    }

    /// Returns the start of the range that ends at `end`, if there is one.
    fn before(&self, end: u64) -> Option<u64> {
        let (&start, _) =
            self.by_start.range(..end).next_back().filter(|(_, last)| **last == end)?;
        Some(start)
    }

    fn remove(&mut self, range: Range<u64>) {
        self.by_start.remove(&range.start);
        self.by_len.remove(&(range.end - range.start, range.start));
        self.count -= range.end - range.start;
    }

    /// Takes `wanted` units from the shortest range that has so many, or all of the longest range
    /// if that has `least`.
    fn take(&mut self, least: u64, wanted: u64) -> Option<Range<u64>> {
        let fitting = self.by_len.range((wanted, 0)..).next();
        let longest = || self.by_len.last().filter(|(len, _)| *len >= least);
        let &(len, start) = fitting.or_else(longest)?;
        self.remove(start..start + len);
        let end = start + len.min(wanted);
        self.insert(end..start + len);
        Some(start..end)
    }

    /// Returns the units of the longest range.
    fn longest(&self) -> u64 {
        self.by_len.last().map_or(0, |&(len, _)| len)
    }

    /// Takes the range that ends at `end`, if there is one. Returns its start.
    fn take_last(&mut self, end: u64) -> Option<u64> {
        let (&start, _) = self.by_start.last_key_value().filter(|(_, last)| **last == end)?;
        self.remove(start..end);
        Some(start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_units_join_and_the_best_fit_is_taken() {
        let mut free = FreeUnits::default();
        for range in [0..2, 10..30, 4..6, 2..4, 40..45] {
            free.insert(range);
        }
        assert_eq!(free.by_start.len(), 3);
        assert_eq!(free.longest(), 20);
        assert_eq!(free.take(1, 5), Some(40..45));
        assert_eq!(free.take(1, 5), Some(0..5));
        assert_eq!(free.take(1, 100), Some(10..30));
        assert_eq!(free.take(2, 100), None);
        free.insert(6..9);
        assert_eq!((free.take_last(8), free.take_last(9)), (None, Some(5)));
        assert!(free.by_start.is_empty() && free.by_len.is_empty() && free.count == 0);
    }

    const ENOSPC: i32 = 28;

    /// A space of which some units are taken, on a medium that is full from then on.
    fn full_space(units: u64) -> (Space, everedge_medium::Recorder, Range<u64>) {
        let kind = everedge_medium::MediumKind::Pmem { emulated: true };
        let (volume, recorder) = everedge_medium::Volume::recorded(kind, false);
        let region = volume.create_region("units", 0).unwrap();
        let space = Space::new(region, 0, Vec::new());
        let taken = space.take_units(units, units).unwrap();
        let rest = space.room().units;
        space.take_units(rest, rest).unwrap();
        recorder.fail_nth(0, ENOSPC, true);
        (space, recorder, taken)
    }

    #[test]
    fn room_is_a_range_as_long_as_the_one_that_was_missing() {
        let (space, recorder, taken) = full_space(1000);
        assert!(matches!(space.take_units(900, 900), Err(Error::NoSpace { .. })));
        assert!(matches!(space.make_room(), Err(Error::NoSpace { .. })));
        space.give_back(Some(taken.start..taken.start + GROWTH_UNITS.start));
        assert!(
            matches!(space.make_room(), Err(Error::NoSpace { .. })),
            "a hole that is too short"
        );
        space.give_back(Some(taken.start + GROWTH_UNITS.start..taken.end));
        space.make_room().unwrap();
        assert_eq!(space.take_units(900, 900).unwrap(), taken.start..taken.start + 900);
        recorder.fail_nth(u64::MAX, ENOSPC, false);
    }

    #[test]
    fn what_is_to_be_left_is_left() {
        let (space, recorder, taken) = full_space(1000);
        space.give_back([taken.clone()]);
        let rest = |units, longest| Room { units, longest };
        assert!(matches!(space.take_leaving(600, rest(401, 0)), Err(Error::NoSpace { .. })));
        assert!(matches!(space.take_leaving(600, rest(0, 401)), Err(Error::NoSpace { .. })));
        assert_eq!(space.take_leaving(600, rest(400, 400)).unwrap().start, taken.start);
        assert_eq!(space.room(), Room { units: 400, longest: 400 });
        assert!(matches!(space.reserve(401, 0), Err(Error::NoSpace { .. })));
        assert!(matches!(space.reserve(0, 401), Err(Error::NoSpace { .. })));
        space.reserve(400, 400).unwrap();
        recorder.fail_nth(u64::MAX, ENOSPC, false);
        space.reserve(2000, 1500).unwrap();
        let room = space.room();
        assert!(room.units >= 2000 && room.longest >= 1500, "{room:?}");
    }
}
