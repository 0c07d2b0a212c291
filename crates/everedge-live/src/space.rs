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
//! - S3: what is taken leaves the reserve free, but for whoever has opened it: on a full medium it
//!   makes room by writing something anew that is shorter then.
//! - S4: units that a state on the medium named wait until no other process reads it (`waiting.rs`).
//! - S5: units of ranges that were given back to the medium are not taken before it has set room aside for them
//!   again; until then they count as none.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use parking_lot::{Mutex, MutexGuard};

use crate::free_units::FreeUnits;
use crate::waiting::Waiting;
use crate::{Error, Result};
use everedge_medium::Region;

/// Bytes of a unit.
pub const UNIT_BYTES: u64 = 256;
/// The file grows by at least and at most so many units.
const GROWTH_UNITS: Range<u64> = 256..(64 << 20) / UNIT_BYTES;
/// As far as places that count lines of 64 bytes in 32 bits reach.
pub const FILE_BYTES_MAX: u64 = 64 << 32;
/// A medium has plenty of room for what may be needed if it is so many times that.
const PLENTY: u64 = 4;
/// A medium that was full has room again when this share of the file is free, beside the reserve.
const FULL_SHARE: u64 = 32;
/// Free ranges of fewer units are not given back to the medium: the file would fall into pieces.
const GIVEN_BACK_UNITS_MIN: u64 = (64 << 10) / UNIT_BYTES;
/// What the medium sets room aside for is whole pages.
const PAGE_UNITS: u64 = PAGE_BYTES / UNIT_BYTES;
const PAGE_BYTES: u64 = 4096;
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
    /// Units before `next` that were given back to the medium (S5): whole pages.
    given_back: FreeUnits,
    /// Units that nobody here reads any more, and other processes may (S4).
    waiting: Waiting<Range<u64>>,
    /// The first unit whose page faults were not yet taken.
    populated: u64,
    /// What was asked for and not found since there was room.
    missing: Room,
    /// What is to be left free.
    reserve: Room,
    /// Units beside it that what is logged may need; who takes units for that leaves none.
    logged: u64,
    /// Units beside these that a medium must have free that was full, before it has room again.
    margin: u64,
    /// Whether it may be taken now.
    is_reserve_open: bool,
    /// The most units that the file grows by beyond what is needed: fewer after a step that the medium
    /// had no room for.
    ahead_max: u64,
}

impl State {
    /// Returns what must be free before an insertion is logged.
    fn needed(&self) -> Room {
        Room { units: self.reserve.units + self.logged, ..self.reserve }
    }

    /// Returns what is to be left free by whoever takes units now.
    fn rest(&self) -> Room {
        if self.is_reserve_open { Room::default() } else { self.reserve }
    }
}

/// Units that are free, those at the end of the file that were never used among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Room {
    /// All of them.
    pub units: u64,
    /// Those of the longest range.
    pub longest: u64,
}

impl Room {
    /// Whether it is at least `other`.
    fn has(self, other: Room) -> bool {
        self.units >= other.units && self.longest >= other.longest
    }

    fn or_more(self, other: Room) -> Room {
        Room { units: self.units.max(other.units), longest: self.longest.max(other.longest) }
    }
}

/// While it is held, what is taken may be of the reserve.
pub struct OpenReserve<'a>(&'a Space);

impl Drop for OpenReserve<'_> {
    fn drop(&mut self) {
        self.0.state.lock().is_reserve_open = false;
    }
}

impl Space {
    /// Returns the space in which the units `used..` are unused and those of `free` are free.
    pub fn new(region: Region, next: u64, free: Vec<Range<u64>>) -> Self {
        // What is there already was populated when it was made, or lies in a file's pages.
        let populated = region.len() / UNIT_BYTES;
        let mut units = FreeUnits::default();
        free.into_iter().for_each(|range| units.insert(range));
        let state = State {
            next,
            free: units,
            given_back: FreeUnits::default(),
            waiting: Waiting::default(),
            populated,
            missing: Room::default(),
            reserve: Room::default(),
            logged: 0,
            margin: 0,
            is_reserve_open: false,
            ahead_max: GROWTH_UNITS.end,
        };
        Self { region, state: Mutex::new(state), is_full: AtomicBool::new(false) }
    }

    /// Returns the space in which the units `used` are in use and those from `first` on that lie
    /// between them are free; sorts them.
    ///
    /// # Errors
    /// `Corruption` if some of them overlap or lie outside of the file.
    pub fn of_used(region: Region, first: u64, used: &mut [Range<u64>]) -> Result<Self> {
        let space = Self::new(region, first, Vec::new());
        space.adopt_used(first, used)?;
        Ok(space)
    }

    /// Takes over which units are in use, as [`of_used`](Self::of_used) finds them; nobody has taken
    /// any yet.
    ///
    /// # Errors
    /// As that.
    pub fn adopt_used(&self, first: u64, used: &mut [Range<u64>]) -> Result<()> {
        used.sort_unstable_by_key(|range| range.start);
        let (region, mut next, mut free) = (&self.region, first, FreeUnits::default());
        for range in used.iter() {
            let is_inside = range.start <= range.end && range.end <= region.len() / UNIT_BYTES;
            if range.start < next || !is_inside {
                return Err(Error::Corruption {
                    path: region.path().to_owned(),
                    offset: range.start * UNIT_BYTES,
                    what: "units that are in use".into(),
                    expected: format!("units {next} to {}", region.len() / UNIT_BYTES),
                    found: format!("units {} to {}", range.start, range.end),
                });
            }
            free.insert(next..range.start);
            next = range.end;
        }
        self.adopt_free(next, free)
    }

    /// After opening: takes over which units are free before `next`, but for what was given back to the medium (S5), and
    /// what other processes may read.
    fn adopt_free(&self, mut next: u64, mut free: FreeUnits) -> Result<()> {
        let pins = self.region.pins().filter(|pins| pins.are_older_read());
        let unused = next..self.total().max(next);
        let pages = |hole: Range<u64>| {
            let end = hole.end.div_ceil(PAGE_BYTES) * PAGE_UNITS;
            hole.start / PAGE_BYTES * PAGE_UNITS..end.min(unused.end)
        };
        let holes: Vec<Range<u64>> = self.region.holes()?.into_iter().map(pages).collect();
        // What was never used is there, unless the medium has no room for it any more.
        let is_lacking = holes.last().is_some_and(|hole| hole.end > next)
            && (self.region.is_private() || self.set_aside(&unused).is_err());
        // Nobody knows what older states name that are still read: the rest of the file waits for their readers.
        if is_lacking || pins.is_some() {
            free.insert(unused.clone());
            next = unused.end;
        }
        let mut given_back = FreeUnits::default();
        for part in holes.iter().flat_map(|hole| free.parts_in(hole)).collect::<Vec<_>>() {
            free.cut(&part);
            given_back.insert(part);
        }
        let mut state = self.lock();
        (state.next, state.given_back) = (next, given_back);
        match pins {
            None => state.free = free,
            Some(_) => {
                drop(state);
                self.give_back(free.by_start.into_iter().map(|(start, end)| start..end));
            }
        }
        Ok(())
    }

    /// Has the medium set room aside for some units that it may have none for.
    fn set_aside(&self, units: &Range<u64>) -> Result<()> {
        self.region.take_back(units.start * UNIT_BYTES..units.end * UNIT_BYTES)
    }

    /// Has the medium set room aside again for what was given back, until `room` is free or no more can be had (S5).
    fn take_back(&self, state: &mut State, room: Room) {
        while !self.region.is_private() && state.given_back.count > 0 {
            let found = self.room_in(state);
            if found.has(room) {
                return;
            }
            let least = if found.longest < room.longest { room.longest } else { 1 };
            let missing = room.units.saturating_sub(found.units).max(least);
            let wanted = missing.max(GROWTH_UNITS.start).next_multiple_of(PAGE_UNITS);
            let least = least.next_multiple_of(PAGE_UNITS);
            let Some(units) = state.given_back.take(least, wanted.max(least)) else { return };
            if self.set_aside(&units).is_err() {
                return state.given_back.insert(units);
            }
            self.put_back(state, units);
        }
    }

    /// After a block found no room: makes some, if there is some now.
    ///
    /// # Errors
    /// `NoSpace` if the medium is still full.
    pub fn make_room(&self) -> Result<()> {
        if self.is_full.load(Relaxed) {
            let mut state = self.lock();
            // A compaction may have freed some without a byte more of the medium.
            let Room { units, longest } = state.needed();
            let room = state.missing.or_more(Room { units: units + state.margin, longest });
            let room = room.or_more(Room { units: 0, longest: GROWTH_UNITS.start });
            self.reserve_in(&mut state, room)?;
        }
        Ok(())
    }

    /// Leaves `reserve` free from now on, for whoever [opens](Self::open_reserve) it: the file grows
    /// if there is less, and by `logged` units that what is logged may need, unless the medium has plenty
    /// of room.
    ///
    /// # Errors
    /// `NoSpace` if the medium is full; what is there is left free all the same.
    pub fn keep_reserve(&self, reserve: Room, logged: u64) -> Result<()> {
        let mut state = self.lock();
        let missing = self.total_for(&state, 0, reserve).saturating_sub(self.total());
        let is_plenty = self.region.free_bytes() > (missing + PLENTY * logged) * UNIT_BYTES;
        (state.reserve, state.logged) = (reserve, if is_plenty { 0 } else { logged });
        let needed = state.needed();
        match self.room_in(&state).has(needed) || self.is_full.load(Relaxed) {
            true => Ok(()),
            false => self.reserve_in(&mut state, needed),
        }
    }

    /// After something found no room that need not be done: nobody waits for what it missed.
    pub fn forget_missing(&self) {
        let mut state = self.lock();
        (state.missing, state.margin) = (Room::default(), 0);
        self.is_full.store(!self.room_in(&state).has(state.reserve), Relaxed);
    }

    /// After something was written in the least room that it can do with: no insertion is logged until
    /// some more than the reserve is free, so that not each of them costs as much again.
    pub fn note_full(&self) {
        let mut state = self.lock();
        state.margin = self.total() / FULL_SHARE;
        self.is_full.store(true, Relaxed);
    }

    /// Returns how many bytes are left free for whoever opens the reserve.
    pub fn reserve_bytes(&self) -> u64 {
        self.lock().reserve.units * UNIT_BYTES
    }

    /// Returns what whoever takes units now leaves free.
    pub fn reserve_left(&self) -> Room {
        self.lock().rest()
    }

    /// Returns the same with `logged` units that what is logged may need, unless the medium has plenty of room:
    /// what someone leaves free who may take more than that.
    pub fn left_for(&self, logged: u64) -> Room {
        let rest = self.reserve_left();
        match rest == Room::default() || self.region.free_bytes() > PLENTY * logged * UNIT_BYTES {
            true => rest,
            false => Room { units: rest.units + logged, ..rest },
        }
    }

    /// Leaves so much free from now on; less, if less is free now.
    pub fn adopt_reserve(&self, reserve: Room) {
        self.lock().reserve = reserve;
    }

    /// Leaves no more free from now on than `reserve`, nor than `logged` units for what is logged.
    pub fn lower_reserve(&self, reserve: Room, logged: u64) {
        let mut state = self.lock();
        state.logged = state.logged.min(logged);
        state.reserve.units = state.reserve.units.min(reserve.units);
        state.reserve.longest = state.reserve.longest.min(reserve.longest);
    }

    /// Whether the reserve may be taken now.
    pub fn is_reserve_open(&self) -> bool {
        self.lock().is_reserve_open
    }

    /// Lets the reserve be taken until what is returned is dropped.
    pub fn open_reserve(&self) -> OpenReserve<'_> {
        self.lock().is_reserve_open = true;
        OpenReserve(self)
    }

    /// Makes sure that at least `units` are free, `longest` of them in one range: the file grows if
    /// there are fewer.
    ///
    /// # Errors
    /// `NoSpace` if the medium is full.
    pub fn reserve(&self, units: u64, longest: u64) -> Result<()> {
        self.reserve_in(&mut self.lock(), Room { units, longest })
    }

    fn reserve_in(&self, state: &mut State, room: Room) -> Result<()> {
        if self.total_for(state, 0, room) > self.total() {
            self.take_back(state, room);
        }
        let needed = self.total_for(state, 0, room);
        if needed > self.total() {
            let grown = self.grow(state, needed);
            self.is_full.store(matches!(grown, Err(Error::NoSpace { .. })), Relaxed);
            grown?;
        }
        (state.missing, state.margin) = (Room::default(), 0);
        self.is_full.store(false, Relaxed);
        Ok(())
    }

    /// Returns how many units the file must have for `taken` of them to be taken at its end and
    /// `rest` to be free then.
    fn total_for(&self, state: &State, taken: u64, rest: Room) -> u64 {
        let longest = if state.free.longest() < rest.longest { rest.longest } else { 0 };
        state.next + taken + longest.max(rest.units.saturating_sub(state.free.count))
    }

    /// Returns which units are free without growing the file.
    pub fn room(&self) -> Room {
        self.room_in(&self.lock())
    }

    fn room_in(&self, state: &State) -> Room {
        let tail = self.total().saturating_sub(state.next);
        Room { units: state.free.count + tail, longest: state.free.longest().max(tail) }
    }

    /// Returns how many units the file has.
    fn total(&self) -> u64 {
        self.region.len() / UNIT_BYTES
    }

    /// Grows the file to at least `needed` units, and ahead of them by as many as fit; half of what is left
    /// stays for other files, the log among them.
    ///
    /// Where a medium is nearly full a step that does not fit is halved, and the next one is no larger:
    /// so each takes half of what is left, where tries of the same length would fill the medium, fail
    /// and empty it again for each block.
    fn grow(&self, state: &mut State, needed: u64) -> Result<()> {
        let needed_bytes = needed * UNIT_BYTES;
        if needed_bytes > FILE_BYTES_MAX {
            let path = self.region.path().to_owned();
            let available_bytes = FILE_BYTES_MAX - self.region.len();
            let lack = everedge_medium::Lack::Disk;
            return Err(Error::NoSpace { path, needed_bytes, available_bytes, lack });
        }
        let ahead = (self.total() / 4).clamp(GROWTH_UNITS.start, GROWTH_UNITS.end);
        let rest = (self.region.free_bytes() / UNIT_BYTES)
            .saturating_sub(needed.saturating_sub(self.total()));
        let mut ahead = ahead.min(state.ahead_max).min(rest / 2);
        loop {
            let wanted_bytes = (needed_bytes + ahead * UNIT_BYTES).min(FILE_BYTES_MAX);
            match self.region.grow(wanted_bytes) {
                Err(Error::NoSpace { .. }) if ahead > 0 => ahead /= 2,
                outcome => {
                    // Room that comes back is found by steps that double.
                    state.ahead_max = (2 * ahead).clamp(1, GROWTH_UNITS.end);
                    return outcome;
                }
            }
        }
    }

    /// Takes `units` consecutive units if `rest` is free then.
    ///
    /// # Errors
    /// As [`Self::take_units`].
    pub fn take_leaving(&self, units: u64, rest: Room) -> Result<Range<u64>> {
        let missing = Room { units: 0, longest: units };
        self.take(self.lock(), [units; 2], rest, Some(missing))
    }

    /// As [`Self::take_leaving`], for who can do without: that there are none is not noted to be missing.
    ///
    /// # Errors
    /// If the medium fails.
    pub fn try_take(&self, units: u64, rest: Room) -> Result<Option<Range<u64>>> {
        match self.take(self.lock(), [units; 2], rest, None) {
            Ok(taken) => Ok(Some(taken)),
            Err(Error::NoSpace { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Takes `wanted` consecutive units, or at least `least`.
    ///
    /// # Errors
    /// `NoSpace` if the medium is full, or was and has not been tried again.
    pub fn take_units(&self, least: u64, wanted: u64) -> Result<Range<u64>> {
        let state = self.lock();
        let rest = state.rest();
        self.take(state, [least, wanted], rest, Some(Room { units: 0, longest: least }))
    }

    /// Takes `wanted` consecutive units, or where the medium is full those of the shortest free range:
    /// who takes parts leaves the long ones to others.
    ///
    /// # Errors
    /// As [`Self::take_units`].
    pub fn take_some(&self, wanted: u64) -> Result<Range<u64>> {
        let state = self.lock();
        let rest = state.rest();
        match self.take(state, [wanted; 2], rest, Some(Room { units: wanted, longest: 0 })) {
            Err(error @ Error::NoSpace { .. }) => {
                let mut state = self.lock();
                let Some(taken) = state.free.take_shortest() else {
                    return self.take_free(&mut state, [1, wanted], rest).ok_or(error);
                };
                if self.room_in(&state).has(rest) {
                    return Ok(taken);
                }
                self.put_back(&mut state, taken);
                Err(error)
            }
            outcome => outcome,
        }
    }

    /// Takes units if `rest` is free then; if there are none, `missing` are noted to be, unless the caller can do
    /// without.
    fn take(
        &self,
        mut state: MutexGuard<'_, State>,
        units: [u64; 2],
        rest: Room,
        missing: Option<Room>,
    ) -> Result<Range<u64>> {
        let mut free = self.take_free(&mut state, units, rest);
        if free.is_none() && state.given_back.count > 0 {
            let longest = units[0].max(rest.longest);
            self.take_back(&mut state, Room { units: units[0] + rest.units, longest });
            free = self.take_free(&mut state, units, rest);
        }
        let taken = match free {
            Some(taken) => taken,
            None => {
                let needed = self.total_for(&state, units[0], rest);
                self.grow_for(&mut state, missing, needed)?;
                let taken = self.take_free(&mut state, units, rest);
                taken.expect("the file has grown for it")
            }
        };
        self.populate(state).inspect_err(|_| self.give_back([taken.clone()]))?;
        Ok(taken)
    }

    /// Takes free units, be it at the end of the file, if `rest` is free then.
    fn take_free(
        &self,
        state: &mut State,
        [least, wanted]: [u64; 2],
        rest: Room,
    ) -> Option<Range<u64>> {
        if let Some(taken) = state.free.take(least, wanted) {
            if self.room_in(state).has(rest) {
                return Some(taken);
            }
            self.put_back(state, taken);
        }
        let last = state.next..self.total().min(state.next + wanted);
        if last.start + least <= last.end {
            state.next = last.end;
            if self.room_in(state).has(rest) {
                return Some(last);
            }
            self.put_back(state, last);
        }
        if least < wanted { self.take_free(state, [least; 2], rest) } else { None }
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

    /// Grows the file to `needed` units for somebody who misses some; notes what is `missing` if it cannot.
    fn grow_for(&self, state: &mut State, missing: Option<Room>, needed: u64) -> Result<()> {
        // Who has opened the reserve needs what there is: another file may have given some back.
        let grown = match self.is_full.load(Relaxed) && !state.is_reserve_open {
            true => {
                let path = self.region.path().to_owned();
                let missing = missing.unwrap_or_default();
                let needed_bytes = missing.units.max(missing.longest) * UNIT_BYTES;
                let available_bytes = 0;
                let lack = everedge_medium::Lack::Disk;
                Err(Error::NoSpace { path, needed_bytes, available_bytes, lack })
            }
            false => self.grow(state, needed),
        };
        if let (Err(Error::NoSpace { .. }), Some(missing)) = (&grown, missing) {
            self.is_full.store(true, Relaxed);
            state.missing = state.missing.or_more(missing);
        }
        grown
    }

    /// Takes units back that nobody reads any more.
    pub fn give_back(&self, ranges: impl IntoIterator<Item = Range<u64>>) {
        let mut state = self.lock();
        for range in ranges {
            if let Some(range) = state.waiting.hold(self.region.pins(), range) {
                self.put_back(&mut state, range);
            }
        }
    }

    /// Returns the state, in which what nobody reads any more is free.
    fn lock(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock();
        if !state.waiting.is_empty() {
            for range in state.waiting.release(self.region.pins()) {
                self.put_back(&mut state, range);
            }
        }
        state
    }

    fn put_back(&self, state: &mut State, range: Range<u64>) {
        state.free.insert(range);
        // What was given back lies before the end until the file is cut there: it is not room.
        if let Some(start) = state.free.take_last(state.next) {
            state.next = start;
        }
    }

    /// Returns how long the free range would be that some units that are taken are in, if they were
    /// given back.
    pub fn joined(&self, units: Range<u64>) -> u64 {
        let state = self.lock();
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
        self.lock().next * UNIT_BYTES
    }

    /// Gives the medium back what is past the last unit that was ever used, but for the reserve.
    ///
    /// # Errors
    /// If the medium fails.
    pub fn shrink(&self) -> Result<()> {
        let reserve = self.lock().reserve;
        self.shrink_leaving(reserve)
    }

    /// Gives the medium back what is past the last unit that was ever used, so far that `rest` stays free.
    ///
    /// # Errors
    /// As [`Self::shrink`].
    pub fn shrink_leaving(&self, rest: Room) -> Result<()> {
        let mut state = self.lock();
        let state = &mut *state;
        // What was given back at the end is cut off.
        let first_next = state.next;
        while let Some(start) = state.given_back.take_last(state.next) {
            state.next = start;
            state.next = state.free.take_last(start).unwrap_or(start);
        }
        let kept_bytes = self.total_for(state, 0, rest).max(1) * UNIT_BYTES;
        let kept_bytes = kept_bytes.next_multiple_of(PAGE_BYTES).min(self.region.len());
        let is_hole = first_next > state.next;
        if kept_bytes < self.region.len() {
            state.populated = state.populated.min(kept_bytes / UNIT_BYTES);
            self.region.shrink(kept_bytes)?;
        }
        let unused = state.next..self.total();
        if is_hole && self.set_aside(&unused).is_err() {
            state.next = unused.end;
            state.given_back.insert(unused);
        }
        Ok(())
    }

    /// Gives the medium back the long free ranges inside of the file, but for the reserve; on one that is nearly full none: they
    /// might be somebody else's when they are needed.
    ///
    /// # Errors
    /// If the medium fails.
    pub fn give_ranges_back(&self) -> Result<()> {
        let mut state = self.lock();
        if self.region.free_bytes() < self.region.len() {
            return Ok(());
        }
        let rest = state.reserve;
        let state = &mut *state;
        let long = state.free.by_len.range((GIVEN_BACK_UNITS_MIN, 0)..).rev();
        for range in long.map(|&(len, start)| start..start + len).collect::<Vec<_>>() {
            state.free.cut(&range);
            if !self.room_in(state).has(rest) {
                state.free.insert(range);
                continue;
            }
            let bytes = range.start * UNIT_BYTES..range.end * UNIT_BYTES;
            let given = self.region.give_back(bytes)?;
            let Some(given) = given.map(|b| b.start / UNIT_BYTES..b.end / UNIT_BYTES) else {
                state.free.insert(range);
                return Ok(());
            };
            state.free.insert(range.start..given.start);
            state.free.insert(given.end..range.end);
            state.given_back.insert(given);
        }
        Ok(())
    }

    /// Returns the region that the units lie in.
    pub fn region(&self) -> &Region {
        &self.region
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn the_reserve_is_for_whoever_opens_it() {
        let (space, recorder, taken) = full_space(1000);
        let reserve = Room { units: 300, longest: 100 };
        assert!(matches!(space.keep_reserve(reserve, 0), Err(Error::NoSpace { .. })));
        // Two holes: the short one would leave too little, the long one too short a range.
        space.give_back([taken.start..taken.start + 250, taken.start + 900..taken.end]);
        assert!(matches!(space.take_units(60, 60), Err(Error::NoSpace { .. })));
        assert_eq!(space.take_units(50, 200).unwrap().start, taken.start + 900);
        assert!(matches!(space.take_some(1), Err(Error::NoSpace { .. })));
        let open = space.open_reserve();
        let last = space.take_some(280).unwrap();
        assert_eq!(last, taken.start + 950..taken.end, "the shortest");
        let first = space.take_some(230).unwrap();
        assert_eq!(first, taken.start..taken.start + 230, "one that is long enough");
        drop(open);
        assert!(matches!(space.take_some(1), Err(Error::NoSpace { .. })));
        assert!(matches!(space.make_room(), Err(Error::NoSpace { .. })));
        space.give_back([first, last]);
        assert!(matches!(space.make_room(), Err(Error::NoSpace { .. })), "a range is missing");
        recorder.fail_nth(u64::MAX, ENOSPC, false);
        space.make_room().unwrap();
        let room = space.room();
        assert!(room.units >= 300 && room.longest >= 256, "{room:?}");
        space.shrink().unwrap();
        assert!(space.room().units >= 300, "the reserve stays");
    }

    /// Who takes parts where there is no long range keeps nobody from inserting.
    #[test]
    fn what_somebody_can_do_without_is_not_missing() {
        let (space, recorder, taken) = full_space(1000);
        space.give_back([taken.start..taken.start + 10, taken.start + 20..taken.start + 30]);
        assert_eq!(space.try_take(15, Room::default()).unwrap(), None);
        space.make_room().unwrap();
        assert_eq!(space.try_take(10, Room { units: 11, longest: 0 }).unwrap(), None);
        assert_eq!(
            space.try_take(10, Room { units: 10, longest: 0 }).unwrap(),
            Some(taken.start..taken.start + 10)
        );
        recorder.fail_nth(0, 5, false);
        assert!(matches!(space.try_take(15, Room::default()), Err(Error::Io { .. })));
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
