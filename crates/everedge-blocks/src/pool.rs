//! Block-based memory management: blocks are handed out from memory and come back to it.
//!
//! Source: SMDG §III-B1. The pool takes units of 256 bytes from the medium's [`Space`], some at a time, and
//! cuts them into blocks, or joins them. What comes back is handed out again; what is too much goes back
//! to the space.
//!
//! A block's place is where it begins, in lines of 64 bytes.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use everedge_live::{Error, Result, Space, UNIT_BYTES, Waiting};
use everedge_medium::{Pins, Region};
use parking_lot::Mutex;

/// Bytes of a line: the unit of places.
pub(crate) const LINE_BYTES: u64 = 64;
const LINES_PER_UNIT: u32 = (UNIT_BYTES / LINE_BYTES) as u32;
/// Threads that work on different shards seldom ask the same shelf.
const SHELVES: usize = 8;
/// Units are taken at most so many at a time. A shelf gives back what it has beyond twice as many,
const TAKEN_UNITS_MAX: u64 = 1024;
/// or beyond this share of the file.
const SHELF_SHARE: u64 = 4096;

/// The blocks of one graph that no list has.
pub(crate) struct Pool {
    space: Arc<Space>,
    /// Lines of a block.
    block_lines: u32,
    shelves: [Mutex<Shelf>; SHELVES],
    /// Blocks that only other processes may still read, with the shelves that they go to.
    waiting: Mutex<Waiting<(usize, Vec<u32>)>>,
    /// Blocks that lists have given up and somebody may still read.
    retired_count: AtomicU64,
    /// Bytes in memory of lists and tables that have changed since somebody froze them, and that are still read.
    kept_bytes: AtomicU64,
    /// Units that images may need for what is logged.
    pub logged_units: AtomicU64,
}

/// Blocks that are handed out next, the last one first.
#[derive(Default)]
struct Shelf {
    blocks: Vec<u32>,
    /// How many of them were left when it was last looked which make up whole units.
    left: usize,
}

impl Pool {
    /// Returns an empty pool over `space`.
    pub(crate) fn new(space: Arc<Space>, block_bytes: u32) -> Self {
        Self {
            space,
            block_lines: block_bytes / LINE_BYTES as u32,
            shelves: Default::default(),
            waiting: Mutex::default(),
            retired_count: AtomicU64::new(0),
            kept_bytes: AtomicU64::new(0),
            logged_units: AtomicU64::new(0),
        }
    }

    /// Returns the space that blocks are cut from.
    pub(crate) fn space(&self) -> &Arc<Space> {
        &self.space
    }

    /// Returns the file that blocks lie in.
    pub(crate) fn region(&self) -> &Region {
        self.space.region()
    }

    /// Returns the bytes of a block.
    pub(crate) fn block_bytes(&self) -> u64 {
        u64::from(self.block_lines) * LINE_BYTES
    }

    /// Returns where a block lies.
    pub(crate) fn offset(&self, place: u32) -> u64 {
        u64::from(place) * LINE_BYTES
    }

    /// Puts `count` blocks into `places`, those of the shelf that `hint` chooses first.
    ///
    /// # Errors
    /// `NoSpace` if the medium is full: nothing is taken then.
    pub(crate) fn take(&self, hint: usize, count: usize, places: &mut Vec<u32>) -> Result<()> {
        self.release_waiting();
        let shelf = &mut self.shelves[hint % SHELVES].lock().blocks;
        while shelf.len() < count {
            let missing = ((count - shelf.len()) as u64 * self.block_bytes()).div_ceil(UNIT_BYTES);
            let rest = self.space.left_for(self.logged_units.load(Relaxed));
            let taken = match self.space.try_take(missing.max(self.taken_units()), rest)? {
                Some(units) => units,
                None => {
                    let least = self.block_bytes().div_ceil(UNIT_BYTES);
                    match self.space.take_leaving(least, rest) {
                        Ok(units) => units,
                        Err(Error::NoSpace { .. }) if self.take_from_others(hint, count, shelf) => {
                            break;
                        }
                        Err(error) => return Err(error),
                    }
                }
            };
            self.cut(taken, shelf);
        }
        let rest = shelf.len() - count;
        places.extend(shelf.drain(rest..).rev());
        Ok(())
    }

    /// Puts `count` blocks into `places` that lie one after the other, as far as there is room for that.
    ///
    /// # Errors
    /// As [`Self::take`].
    pub(crate) fn take_in_order(
        &self,
        hint: usize,
        count: usize,
        places: &mut Vec<u32>,
    ) -> Result<()> {
        let units = (count as u64 * self.block_bytes()).div_ceil(UNIT_BYTES);
        let rest = self.space.left_for(self.logged_units.load(Relaxed));
        let Some(taken) = self.space.try_take(units, rest)? else {
            return self.take(hint, count, places);
        };
        let mut all = Vec::with_capacity(count);
        self.cut(taken, &mut all);
        all.reverse();
        self.give_back(hint, all.drain(count..));
        places.extend(all);
        Ok(())
    }

    /// Returns how many units a shelf takes at a time.
    fn taken_units(&self) -> u64 {
        (self.region().len() / UNIT_BYTES / SHELF_SHARE).clamp(4, TAKEN_UNITS_MAX)
    }

    /// Cuts units into blocks, the first one last.
    fn cut(&self, units: Range<u64>, shelf: &mut Vec<u32>) {
        let lines = units.start as u32 * LINES_PER_UNIT..units.end as u32 * LINES_PER_UNIT;
        let whole = (lines.end - lines.start) / self.block_lines;
        let end = lines.start + whole * self.block_lines;
        shelf.extend((0..whole).rev().map(|index| lines.start + index * self.block_lines));
        // Where a block is several units some may be left over.
        if end < lines.end {
            self.space.give_back(std::iter::once((end / LINES_PER_UNIT).into()..units.end));
        }
    }

    fn take_from_others(&self, hint: usize, count: usize, shelf: &mut Vec<u32>) -> bool {
        for other in (1..SHELVES).map(|step| &self.shelves[(hint + step) % SHELVES]) {
            // Who waits for two shelves must not wait for who holds the other one.
            let Some(mut other) = other.try_lock() else { continue };
            let from = other.blocks.len().saturating_sub(count - shelf.len());
            shelf.extend(other.blocks.drain(from..));
            if shelf.len() >= count {
                return true;
            }
        }
        false
    }

    /// Takes blocks back that nobody reads any more, to the shelf that `hint` chooses: their neighbors come there
    /// too, if it is that of who took them.
    ///
    /// Cost: constant for a block, amortized; what is too much is sorted.
    pub(crate) fn give_back(&self, hint: usize, places: impl IntoIterator<Item = u32>) {
        let mut places = places.into_iter().peekable();
        if places.peek().is_none() {
            return;
        }
        let pins = self.region().pins();
        // Nothing is collected where nobody reads.
        if !pins.is_some_and(Pins::are_older_read) {
            return self.put_on_shelf(hint, places);
        }
        let held = self.waiting.lock().hold(pins, (hint, places.collect()));
        held.into_iter().for_each(|(hint, places)| self.put_on_shelf(hint, places));
    }

    /// Takes blocks back that only other processes have read, and none does any more.
    fn release_waiting(&self) {
        let mut waiting = self.waiting.lock();
        if waiting.is_empty() {
            return;
        }
        let released = waiting.release(self.region().pins());
        drop(waiting);
        released.into_iter().for_each(|(hint, places)| self.put_on_shelf(hint, places));
    }

    fn put_on_shelf(&self, hint: usize, places: impl IntoIterator<Item = u32>) {
        let mut shelf = self.shelves[hint % SHELVES].lock();
        let Shelf { blocks, left } = &mut *shelf;
        blocks.extend(places);
        let kept = (2 * self.taken_units() * UNIT_BYTES / self.block_bytes()) as usize;
        // What makes up no whole units is not looked at again before as much has come.
        if blocks.len() > 2 * kept.max(*left) {
            let surplus = blocks.split_off(kept);
            blocks.extend(self.give_to_space(surplus));
            *left = blocks.len();
        }
    }

    /// Gives the space what are whole units of some blocks. Returns the other blocks.
    fn give_to_space(&self, mut places: Vec<u32>) -> Vec<u32> {
        places.sort_unstable();
        let mut kept = Vec::new();
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for run in places.chunk_by(|before, next| next - before == self.block_lines) {
            let (start, end) = (run[0], run[run.len() - 1] + self.block_lines);
            let units = u64::from(start.div_ceil(LINES_PER_UNIT))..u64::from(end / LINES_PER_UNIT);
            let is_given = |place: u32| {
                u64::from(place / LINES_PER_UNIT) >= units.start
                    && u64::from((place + self.block_lines).div_ceil(LINES_PER_UNIT)) <= units.end
            };
            kept.extend(run.iter().copied().filter(|&place| !is_given(place)));
            if !units.is_empty() {
                ranges.push(units);
            }
        }
        self.space.give_back(ranges);
        kept
    }

    /// Gives the space all that no list has.
    pub(crate) fn give_all_to_space(&self) {
        self.release_waiting();
        let shelves = self.shelves.iter();
        let all = shelves.flat_map(|shelf| std::mem::take(&mut *shelf.lock()).blocks).collect();
        let kept = self.give_to_space(all);
        self.shelves[0].lock().blocks.extend(kept);
    }

    /// After opening: the blocks in units that are in use, but for those that lists have.
    pub(crate) fn adopt_rest_of_units(&self, used: &mut [u32]) {
        if self.block_lines >= LINES_PER_UNIT {
            return;
        }
        used.sort_unstable();
        let mut rest = Vec::new();
        for unit in used.chunk_by(|a, b| a / LINES_PER_UNIT == b / LINES_PER_UNIT) {
            let start = unit[0] / LINES_PER_UNIT * LINES_PER_UNIT;
            let blocks = (start..start + LINES_PER_UNIT).step_by(self.block_lines as usize);
            rest.extend(blocks.filter(|place| !unit.contains(place)));
        }
        self.give_back(0, rest);
    }

    /// Returns the units that some blocks lie in.
    pub(crate) fn units_of(&self, places: &[u32]) -> Vec<Range<u64>> {
        let mut places = places.to_vec();
        places.sort_unstable();
        let unit = |place: u32| u64::from(place / LINES_PER_UNIT);
        let end = |place: u32| u64::from((place + self.block_lines).div_ceil(LINES_PER_UNIT));
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for &place in &places {
            match ranges.last_mut() {
                // Blocks of one unit may be several.
                Some(last)
                    if unit(place) <= last.end
                        && (unit(place) == last.end || self.block_lines < LINES_PER_UNIT) =>
                {
                    last.end = last.end.max(end(place));
                }
                _ => ranges.push(unit(place)..end(place)),
            }
        }
        ranges
    }

    pub(super) fn note_retired(&self, count: i64) {
        self.retired_count.fetch_add(count as u64, Relaxed);
    }

    pub(crate) fn note_kept(&self, bytes: i64) {
        self.kept_bytes.fetch_add(bytes as u64, Relaxed);
    }

    /// Returns the bytes of blocks that lists have given up and a view or an image may still read, and those of lists
    /// and tables in memory that only a view still reads.
    pub(crate) fn kept_bytes(&self) -> u64 {
        let waiting: usize = self.waiting.lock().iter().map(|(_, places)| places.len()).sum();
        let blocks = self.retired_count.load(Relaxed) + waiting as u64;
        blocks * self.block_bytes() + self.kept_bytes.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(block_bytes: u32) -> Pool {
        let region = Region::memory("blocks").expect("memory");
        Pool::new(Arc::new(Space::new(region, 1, Vec::new())), block_bytes)
    }

    #[test]
    fn blocks_of_every_size_are_apart_and_come_back() {
        for block_bytes in [64, 128, 256, 512, 1024] {
            let pool = pool(block_bytes);
            let (mut one, mut other) = (Vec::new(), Vec::new());
            pool.take(3, 1000, &mut one).expect("room");
            pool.take(4, 1000, &mut other).expect("room");
            let mut all: Vec<u32> = one.iter().chain(&other).copied().collect();
            all.sort_unstable();
            let apart = all.windows(2).all(|pair| pair[1] - pair[0] >= block_bytes / 64);
            assert!(apart && all[0] >= LINES_PER_UNIT, "{block_bytes}");
            let end = pool.space().used_bytes();
            pool.give_back(3, one);
            pool.give_back(4, other);
            pool.give_all_to_space();
            assert!(end >= 2000 * u64::from(block_bytes), "{block_bytes}");
            assert_eq!(pool.space().used_bytes(), UNIT_BYTES, "{block_bytes}: all is free");
        }
    }

    #[test]
    fn a_medium_that_fails_is_not_taken_for_a_full_one() {
        let kind = everedge_medium::MediumKind::Pmem { emulated: true };
        let (volume, recorder) = everedge_medium::Volume::recorded(kind, false);
        let region = volume.create_region("blocks", 0).expect("room");
        let pool = Pool::new(Arc::new(Space::new(region, 0, Vec::new())), 256);
        let mut places = Vec::new();
        for in_order in [false, true] {
            recorder.fail_nth(0, 5, false);
            let taken = match in_order {
                true => pool.take_in_order(0, 1 << 16, &mut places),
                false => pool.take(0, 1 << 16, &mut places),
            };
            assert!(matches!(taken, Err(Error::Io { .. })), "{taken:?}");
        }
    }

    /// Blocks of which no unit is whole are not looked through each time.
    #[test]
    fn what_makes_up_no_unit_is_seldom_sorted() {
        let pool = pool(64);
        let mut all = Vec::new();
        pool.take(0, 1 << 20, &mut all).expect("room");
        let start = std::time::Instant::now();
        let (single, rest): (Vec<u32>, Vec<u32>) = all.iter().partition(|&&place| place % 4 == 0);
        single.iter().for_each(|&place| pool.give_back(0, [place]));
        println!("{:?}", start.elapsed());
        assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
        pool.give_back(0, rest);
        pool.give_all_to_space();
        assert_eq!(pool.space().used_bytes(), UNIT_BYTES);
    }

    #[test]
    fn what_lists_leave_of_a_unit_is_handed_out_after_an_opening() {
        let pool = pool(64);
        pool.space().take_units(2, 2).expect("room");
        pool.adopt_rest_of_units(&mut [9, 4, 5]);
        let mut rest = Vec::new();
        pool.take(9 / 4096, 5, &mut rest).expect("room");
        rest.sort_unstable();
        assert_eq!(rest, [6, 7, 8, 10, 11]);
        assert!(pool.units_of(&[9, 4, 5]).into_iter().eq(std::iter::once(1..3)));
    }
}
