//! Room for arrays: an insertion is acknowledged only while there is room for what it will need.
//!
//! # What an insertion needs
//! An entry in each list that it goes to, and two places for the largest array: one that has no gaps
//! left is written elsewhere before its old place is free, which is too short for the next. [`Room::provide`] reserves both after each
//! round, for the largest batch that was seen; where the medium gives less, updates are archived
//! sooner, and where it does not give that, insertions are refused. So deletions and compaction find
//! a place on a full medium, and take turns in it. A shard that is named for the first time needs arrays,
//! however few edges it has: they are reserved before that is logged ([`Room::expect`]).
//!
//! # What finds no room all the same
//! A snapshot may read old arrays, and free units may lie scattered. Then an array stays in memory
//! and the log keeps what it says, until there is room. All of them share one region of memory.
//!
//! # Invariants
//! - O1: after something found no room, or before anything was looked at since opening, no insertion
//!   is logged until [`Room::make_room`] was successful.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};

use everedge_core::MAX_VERTEX_ID;
use parking_lot::{Mutex, MutexGuard};
use rustc_hash::FxHashSet;

use super::array::Array;
use super::extent::Extent;
use super::options::{GraphOptions, LogFirst};
use super::shape::{CAPACITY_MAX, Shape};
use everedge_live::{
    DELETION, Error, Lists, Result, Room as Free, SHARD_SPAN, ShardSet, Space, UNIT_BYTES, VERTEX,
};
use everedge_medium::Region;

/// Lists of an array may have so many words before insertions are refused: the rest is for what is
/// logged by then.
const WORDS_MAX: u64 = CAPACITY_MAX as u64 / 2;
/// A batch may add this share of that to one array: others may be logged beside it.
const BATCH_SHARE: (u64, u64) = (3, 4);
/// An array that grows leaves a place that is too short for the next. Another one beside that place is
/// moved then, so that both make a longer one (`joining.rs`): that takes a place too.
const PLACES: u64 = 2;
/// An array that is written anew without gaps may take this share more,
const GROWTH_SHARE: u64 = 8;
/// or so many times its share of a batch.
const GROWTH_TIMES: u64 = 2;
/// The share of an array that is the only one.
const SHARE_MAX: u64 = 256;
/// The largest batch, until one was seen.
const BATCH_UPDATES: u64 = 1 << 10;
/// Edge logs take up to a quarter of what they belong to,
const LOG_PERCENT: u64 = 125;
/// or as much as that, where single edges are stored there first.
const DIRECT_LOG_PERCENT: u64 = 200;

/// A medium is nearly full that has less than so many times what insertions need.
const PLENTY: u64 = 4;

/// Entries of two lists, with as many gaps, and the new place of an array beside the old one take so
/// much of the medium for each byte of the log.
const BYTES_PER_LOGGED: u64 = 4;

/// What insertions need has been looked after.
const DONE: u8 = 0;
/// It is to be, before an insertion is logged.
const DUE: u8 = 1;
/// Somebody does.
const UNDER_WAY: u8 = 2;

/// The room for the arrays of one graph.
pub(super) struct Room {
    space: Arc<Space>,
    salt: u32,
    /// Bytes that an update adds to all its lists.
    update_bytes: u64,
    /// What an array of all vertices of a shard and of no edge takes.
    empty_units: u64,
    /// Words of an entry.
    entry_words: u64,
    directed: bool,
    /// Held while an array is written into the place that is kept for one.
    turn: Mutex<()>,
    /// Memory for arrays that find no room, while there are some.
    memory: Mutex<Weak<Space>>,
    needs: Mutex<Needs>,
    /// Whether `needs` have to be looked after before an insertion is logged.
    look: AtomicU8,
    /// Held by whoever looks.
    looking: Mutex<()>,
    /// Whether the medium did not have what is needed.
    is_full: AtomicBool,
    /// Whether the lists of an array are as long as they may be.
    is_long: AtomicBool,
    /// As many words as the lists of an array may have when an insertion is logged.
    words_max: AtomicU64,
    /// Updates that there is room for until they are archived.
    updates_max: AtomicU64,
    /// Arrays of a shard.
    list_count: u64,
    named: Mutex<Named>,
    /// All shards of vertices below this one were named.
    named_bound: AtomicU32,
    /// Units that are kept for the arrays of those that have none yet.
    expected_units: AtomicU64,
    /// Bytes that the log leaves to arrays: those that are needed when it is empty.
    kept_bytes: Arc<AtomicU64>,
}

/// The shards that updates have named.
#[derive(Default)]
struct Named {
    shards: ShardSet,
    /// Those of them that have no array yet.
    expected: FxHashSet<usize>,
}

/// What has to be free before an insertion is logged.
#[derive(Clone, Copy, Debug)]
struct Needs {
    units: u64,
    /// In one range.
    longest: u64,
    /// What the largest array takes of what all take, in 256ths.
    largest_share: u64,
    /// The largest batch that was seen of late.
    batch_updates: u64,
    /// Units more, where some array has too few gaps for a batch: those that a round writes anew.
    without_gaps: u64,
}

impl Room {
    /// Returns the room in `space` for the arrays of a graph with these options.
    pub(super) fn new(options: &GraphOptions, space: Arc<Space>, salt: u32) -> Self {
        let entries = if options.directed { options.list_count() } else { 2 };
        let list_bytes = 4 * (options.entry_words() * entries) as u64;
        let percent = match options.tuning.log_first {
            LogFirst::Yes => LOG_PERCENT,
            LogFirst::No => DIRECT_LOG_PERCENT,
        };
        let update_bytes = (list_bytes * percent).div_ceil(100);
        let (tuning, entry_words) = (&options.tuning, options.entry_words());
        let section_count = SHARD_SPAN / tuning.section_vertices as usize;
        let empty_units = Shape::new(tuning, entry_words, section_count, (0, 100)).units();
        let units = empty_units + (BATCH_UPDATES * update_bytes).div_ceil(UNIT_BYTES);
        let needs = Needs {
            units,
            longest: empty_units,
            largest_share: SHARE_MAX,
            batch_updates: BATCH_UPDATES,
            without_gaps: 0,
        };
        Self {
            space,
            salt,
            update_bytes,
            empty_units,
            entry_words: entry_words as u64,
            directed: options.directed,
            turn: Mutex::default(),
            memory: Mutex::default(),
            needs: Mutex::new(needs),
            look: AtomicU8::new(DUE),
            looking: Mutex::default(),
            is_full: AtomicBool::new(false),
            is_long: AtomicBool::new(false),
            words_max: AtomicU64::new(WORDS_MAX),
            updates_max: AtomicU64::new(u64::MAX),
            list_count: options.list_count() as u64,
            named: Mutex::default(),
            named_bound: AtomicU32::new(0),
            expected_units: AtomicU64::new(0),
            kept_bytes: Arc::default(),
        }
    }

    /// Returns the units of the file.
    pub(super) fn space(&self) -> &Arc<Space> {
        &self.space
    }

    /// Returns the start value of all checksums.
    pub(super) fn salt(&self) -> u32 {
        self.salt
    }

    /// Returns what lists may need for what is logged.
    pub(super) fn lists(&self) -> Lists {
        Lists {
            spaces: vec![self.space.clone()],
            bytes_per_logged: BYTES_PER_LOGGED,
            kept_bytes: self.kept_bytes.clone(),
        }
    }

    /// Returns how many updates may wait for archiving.
    pub(super) fn updates_max(&self) -> u64 {
        self.updates_max.load(Relaxed)
    }

    /// Returns what arrays with gaps leave free in a round of so many updates: for the arrays that are
    /// still to take theirs, and the place for one.
    pub(super) fn kept(&self, updates: u64) -> Free {
        let longest = self.needs.lock().longest;
        Free { units: longest + self.units_of(updates), longest }
    }

    /// Returns what the next insertions need.
    pub(super) fn needed(&self) -> Free {
        let needs = *self.needs.lock();
        let units = needs.units + needs.without_gaps + self.expected_units();
        Free { units, longest: needs.longest }
    }

    /// Returns the place for one array, which is left when another has taken one.
    pub(super) fn place(&self) -> Free {
        let longest = self.needs.lock().longest / PLACES;
        Free { units: longest, longest }
    }

    /// Takes units for an array if `kept` is free then.
    ///
    /// # Errors
    /// `NoSpace` if the medium has no more.
    pub(super) fn take(&self, units: u64, kept: Option<Free>) -> Result<Extent> {
        let taken = match kept {
            Some(kept) => self.space.take_leaving(units, kept),
            None => self.space.take_units(units, units),
        };
        // What it is written as next takes less, or another file may have given room back.
        let taken = taken.inspect_err(|_| self.space.forget_missing())?;
        let region = self.space.region().clone();
        Ok(Extent::at(region, self.salt, taken, Some(self.space.clone())))
    }

    /// Waits until no other thread writes into the place that is kept for an array.
    pub(super) fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock()
    }

    /// Takes memory for an array: the medium has no room. Insertions wait for some.
    ///
    /// # Errors
    /// `NoSpace` if there is no memory.
    pub(super) fn take_memory(&self, units: u64) -> Result<Extent> {
        self.is_full.store(true, Relaxed);
        self.look.store(DUE, Relaxed);
        let mut memory = self.memory.lock();
        let space = match memory.upgrade() {
            Some(space) => space,
            None => {
                let region = Region::memory("arrays without room")?;
                let space = Arc::new(Space::new(region, 0, Vec::new()));
                *memory = Arc::downgrade(&space);
                space
            }
        };
        let taken = space.take_units(units, units)?;
        Ok(Extent::in_memory(space, self.salt, taken))
    }

    /// Finds out what the next insertion needs, of which a batch has `batch` updates, where so many shards
    /// have one array of two.
    pub(super) fn survey<'a>(
        &self,
        arrays: impl Iterator<Item = &'a Array>,
        half_count: u64,
        batch: u64,
    ) {
        let (mut largest, mut spilled, mut words) = (0, 0, 0);
        let (mut total, mut gaps) = (0, Vec::new());
        for array in arrays {
            let units = array.shape.units();
            largest = largest.max(units);
            words = words.max(u64::from(array.shape.capacity));
            total += units;
            gaps.push((units, u64::from(array.shape.capacity).saturating_sub(array.used())));
            spilled += if array.is_in_memory() { units } else { 0 };
        }
        let mut needs = self.needs.lock();
        // The longer ago a large one was, the less likely the next is as large.
        let before = needs.batch_updates - if batch > 0 { needs.batch_updates / 8 } else { 0 };
        needs.batch_updates = batch.max(before).max(BATCH_UPDATES);
        needs.largest_share = (SHARE_MAX * largest).checked_div(total).unwrap_or(SHARE_MAX);
        let growth = self.growth(&needs, needs.batch_updates).max(largest / GROWTH_SHARE);
        needs.longest = PLACES * (largest + growth + self.empty_units);
        // An update makes one array more at most.
        let others = half_count.min(needs.batch_updates) * self.empty_units;
        needs.units = needs.longest + spilled + others + self.units_of(needs.batch_updates);
        // An array that lacks gaps for its share of a batch is written anew by the next round.
        let batch_words = GROWTH_TIMES * needs.batch_updates * self.update_bytes / 4;
        let lacks_gaps = |&(units, gaps): &(u64, u64)| {
            u128::from(gaps) * u128::from(total) < u128::from(batch_words) * u128::from(units)
        };
        let without: u64 = gaps.into_iter().filter(lacks_gaps).map(|(units, _)| units).sum();
        needs.without_gaps = without.min(total / 4);
        drop(needs);
        self.note_kept();
        self.is_long.store(words > self.words_max.load(Relaxed), Relaxed);
    }

    /// Notes what the log leaves to arrays.
    fn note_kept(&self) {
        let units = self.needs.lock().units + self.expected_units();
        self.kept_bytes.store(units * UNIT_BYTES, Relaxed);
    }

    /// Gives the medium back what no array lies in, but for what is needed where the medium is nearly full.
    ///
    /// # Errors
    /// If the medium fails.
    pub(super) fn shrink(&self) -> Result<()> {
        if self.is_full() {
            // What is kept for deletions and compaction may be somebody else's when it is needed.
            return Ok(());
        }
        let (region, kept_bytes) = (self.space.region(), self.kept_bytes.load(Relaxed));
        let unused_bytes = region.len() - self.space.used_bytes();
        let is_short = region.free_bytes().saturating_add(unused_bytes) < PLENTY * kept_bytes;
        let longest = self.needs.lock().longest;
        self.look.store(DUE, Relaxed);
        self.space.shrink_leaving(match is_short {
            true => Free { units: kept_bytes / UNIT_BYTES, longest },
            false => Free::default(),
        })
    }

    fn units_of(&self, updates: u64) -> u64 {
        (updates * self.update_bytes).div_ceil(UNIT_BYTES)
    }

    /// Returns the units that updates add to the largest array, if they go where earlier ones went.
    fn growth(&self, needs: &Needs, updates: u64) -> u64 {
        let share = (GROWTH_TIMES * needs.largest_share).min(SHARE_MAX);
        self.units_of(updates) * share / SHARE_MAX
    }

    /// After a round: reserves what batches need until `backlog` updates more are archived, or says
    /// that so many may not wait.
    pub(super) fn provide(&self, backlog: u64) {
        let Free { units, longest } = self.needed();
        let batch_updates = self.needs.lock().batch_updates;
        let reserved = self.space.reserve(units + self.units_of(backlog), longest);
        // Who takes less may find it.
        let is_there = reserved.inspect_err(|_| self.space.forget_missing()).is_ok();
        let room = self.space.room();
        self.is_full.store(room.units < units || room.longest < longest, Relaxed);
        self.look.store(if self.is_full() { DUE } else { DONE }, Relaxed);
        // What waits may be for the largest array, which then needs a larger place, and another.
        let growable = room.longest.max(self.space.region().free_bytes() / UNIT_BYTES);
        let of_units = |units: u64| units.saturating_mul(UNIT_BYTES) / self.update_bytes / 2;
        let of_largest = of_units(growable.saturating_sub(longest) / PLACES);
        let updates_max = match is_there {
            true => of_largest,
            false => of_largest.min(of_units(room.units.saturating_sub(units))),
        };
        // There is room for a batch, or insertions are refused.
        let updates_max = updates_max.max(batch_updates);
        self.updates_max.store(updates_max, Relaxed);
    }

    /// Whether the medium did not have what is needed when that was last looked at.
    pub(super) fn is_full(&self) -> bool {
        self.is_full.load(Relaxed)
    }

    /// Before an insertion is logged: makes sure that there is room for what it needs.
    ///
    /// # Errors
    /// `NoSpace` if the medium has none; `InvalidInput` if the lists of an array are too long.
    #[inline]
    pub(super) fn make_room(&self) -> Result<()> {
        if self.is_long.load(Relaxed) {
            let what = format!(
                "the lists of 4096 vertices whose ids follow each other have more than {} words, \
                 as many as the layout `pma` takes: use the layout `adjacency`",
                self.words_max.load(Relaxed)
            );
            return Err(Error::invalid(what));
        }
        match self.look.load(Relaxed) {
            DONE => Ok(()),
            _ => self.make_room_now(),
        }
    }

    #[cold]
    fn make_room_now(&self) -> Result<()> {
        // Who comes meanwhile waits for what is found.
        let _looking = self.looking.lock();
        while self.look.load(Relaxed) != DONE {
            self.look.store(UNDER_WAY, Relaxed);
            if let Err(error) = self.reserve(self.expected_units()) {
                self.is_full.store(true, Relaxed);
                self.look.store(DUE, Relaxed);
                return Err(error);
            }
            // A round may have said meanwhile that it is due again.
            let done = self.look.compare_exchange(UNDER_WAY, DONE, Relaxed, Relaxed);
            self.is_full.fetch_and(done.is_err(), Relaxed);
        }
        Ok(())
    }

    /// Before updates are logged: refuses those that are too many for one array, as which they could not
    /// be archived.
    ///
    /// Cost: none, but for a batch of more than a hundred million updates.
    ///
    /// # Errors
    /// `InvalidInput` if they are.
    #[inline]
    pub(super) fn check_length(&self, updates: &[u32]) -> Result<()> {
        let most = self.words_max.load(Relaxed) / BATCH_SHARE.1 * BATCH_SHARE.0;
        // Of undirected edges both ends may be in one array.
        let words_max = self.entry_words * if self.directed { 1 } else { 2 };
        match updates.len() as u64 / 2 * words_max <= most {
            true => Ok(()),
            false => self.check_longest_part(updates, most),
        }
    }

    #[cold]
    fn check_longest_part(&self, updates: &[u32], most: u64) -> Result<()> {
        let words = self.entry_words * longest_part(updates, self.directed);
        if words <= most {
            return Ok(());
        }
        Err(Error::invalid(format!(
            "the batch has {words} words for the lists of 4096 vertices whose ids follow each other; the \
             layout `pma` takes {most} at a time: divide the batch"
        )))
    }

    /// Reserves what insertions need, and some units more.
    fn reserve(&self, more: u64) -> Result<()> {
        let Needs { units, longest, without_gaps, .. } = *self.needs.lock();
        self.space.reserve(units + without_gaps + more, longest)
    }

    fn expected_units(&self) -> u64 {
        self.expected_units.load(Relaxed)
    }

    /// Before updates are logged, whose ids are below `vertex_bound`: reserves arrays for the shards that
    /// are named for the first time, and has `make_words` make their words in the table.
    ///
    /// Cost: all ids are looked at if some shard below the bound was not named yet.
    ///
    /// # Errors
    /// `NoSpace` if the medium has no room for them; those of `make_words`.
    #[inline]
    pub(super) fn expect(
        &self,
        updates: &[u32],
        vertex_bound: u32,
        make_words: impl Fn(usize) -> Result<()>,
    ) -> Result<()> {
        match vertex_bound <= self.named_bound.load(Relaxed) {
            true => Ok(()),
            false => self.expect_new(updates, make_words),
        }
    }

    #[cold]
    fn expect_new(&self, updates: &[u32], make_words: impl Fn(usize) -> Result<()>) -> Result<()> {
        let mut named = self.named.lock();
        let new: Vec<usize> = made_by(updates).filter(|&shard| named.shards.add(shard)).collect();
        if new.is_empty() {
            return Ok(());
        }
        let count = (named.expected.len() + new.len()) as u64;
        let reserved = self.reserve(count * self.list_count * self.empty_units);
        let made = reserved.and_then(|()| new.iter().try_for_each(|&shard| make_words(shard)));
        if let Err(error) = made {
            new.into_iter().for_each(|shard| named.shards.remove(shard));
            self.space.forget_missing();
            return Err(error);
        }
        named.expected.extend(new);
        self.note_named(&named);
        Ok(())
    }

    /// After updates were not logged, and all that was logged is archived: takes back what was reserved for
    /// arrays that are not made.
    pub(super) fn forget(&self, updates: &[u32]) {
        let mut named = self.named.lock();
        if named.expected.is_empty() {
            return;
        }
        for shard in made_by(updates) {
            if named.expected.remove(&shard) {
                named.shards.remove(shard);
            }
        }
        self.note_named(&named);
    }

    /// Notes which shards have arrays.
    pub(super) fn note_made(&self, shards: impl Iterator<Item = usize>) {
        let mut named = self.named.lock();
        for shard in shards {
            named.shards.add(shard);
            named.expected.remove(&shard);
        }
        self.note_named(&named);
    }

    fn note_named(&self, named: &Named) {
        let units = named.expected.len() as u64 * self.list_count * self.empty_units;
        self.expected_units.store(units, Relaxed);
        self.note_kept();
        let bound = (named.shards.count_from_first() * SHARD_SPAN).min(u32::MAX as usize);
        self.named_bound.store(bound as u32, Relaxed);
    }

    /// Sets how many words the lists of an array may have.
    #[cfg(test)]
    pub(super) fn limit_words(&self, words_max: u64) {
        self.words_max.store(words_max, Relaxed);
    }
}

/// Returns the shards that updates may make arrays for, some of them often. Deletions make none: they
/// count only in lists that are there, or that an insertion before them makes.
fn made_by(updates: &[u32]) -> impl Iterator<Item = usize> {
    let pairs = updates.as_chunks::<2>().0.iter();
    let insertions = pairs.filter(|[src, _]| src & DELETION == 0);
    // The second word of an update of a vertex is a mark.
    let ends = insertions.flat_map(|&[src, dst]| if dst == VERTEX { [src; 2] } else { [src, dst] });
    ends.map(|id| id as usize / SHARD_SPAN)
}

/// Returns the shards that updates name, some of them often.
fn shards_of(updates: &[u32]) -> impl Iterator<Item = usize> {
    updates.iter().map(|word| (word & MAX_VERTEX_ID) as usize / SHARD_SPAN)
}

/// Returns how many entries updates, of two words each, add to one array at most: in directed graphs each
/// direction has its own.
fn longest_part(updates: &[u32], directed: bool) -> u64 {
    let mut counts: [Vec<u64>; 2] = Default::default();
    for (index, shard) in shards_of(updates).enumerate() {
        let counts = &mut counts[if directed { index % 2 } else { 0 }];
        if counts.len() <= shard {
            counts.resize(shard + 1, 0);
        }
        counts[shard] += 1;
    }
    counts.into_iter().flatten().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use everedge_medium::{MediumKind, Recorder, Volume};

    const ENOSPC: i32 = 28;

    fn empty_room() -> (Room, Recorder) {
        let (volume, recorder) = Volume::recorded(MediumKind::File, false);
        let region = volume.create_region("arrays", 0).unwrap();
        let space = Arc::new(Space::new(region, 0, Vec::new()));
        (Room::new(&GraphOptions::default(), space, 1), recorder)
    }

    #[test]
    fn only_what_makes_arrays_reserves_them() {
        let (room, _recorder) = empty_room();
        let made = AtomicU32::new(0);
        let expect = |updates: &[u32]| {
            let make_words = |_| {
                made.fetch_add(1, Relaxed);
                Ok(())
            };
            room.expect(updates, MAX_VERTEX_ID, make_words).unwrap();
            (made.load(Relaxed), room.expected_units() / room.empty_units / room.list_count)
        };
        let far = 5 * SHARD_SPAN as u32;
        assert_eq!(expect(&[far | DELETION, far + 1]), (0, 0));
        assert_eq!(expect(&[far | DELETION, VERTEX]), (0, 0));
        assert_eq!(expect(&[far, VERTEX]), (1, 1));
        assert_eq!(expect(&[far, 0]), (2, 2));
    }

    #[test]
    fn words_that_cannot_be_made_leave_nothing_reserved() {
        let (room, _recorder) = empty_room();
        let error = || Error::invalid("no word");
        assert!(room.expect(&[0, 1], 2, |_| Err(error())).is_err());
        assert_eq!(room.expected_units(), 0);
        room.expect(&[0, 1], 2, |_| Ok(())).unwrap();
        assert!(room.expected_units() > 0);
    }

    #[test]
    fn a_large_batch_is_prepared_for_only_a_while() {
        let (room, _recorder) = empty_room();
        let updates = |batch| {
            room.survey(std::iter::empty(), 0, batch);
            room.needs.lock().batch_updates
        };
        assert_eq!(updates(1 << 20), 1 << 20);
        assert_eq!(updates(0), 1 << 20, "nothing was logged");
        assert!((1 << 19..1 << 20).contains(&updates(1)));
        (0..100).for_each(|_| assert!(updates(1) >= BATCH_UPDATES));
        assert_eq!(updates(1), BATCH_UPDATES);
    }

    #[test]
    fn a_batch_may_wait_where_there_is_room_for_one_only() {
        let (room, recorder) = empty_room();
        room.survey(std::iter::empty(), 0, 0);
        room.provide(0);
        let free_units = || room.space.room().units;
        let _taken = room.take(free_units() - room.needs.lock().units, None).unwrap();
        recorder.fail_nth(0, ENOSPC, true);
        room.provide(1 << 30);
        assert!(!room.is_full());
        assert!(room.updates_max() >= BATCH_UPDATES);
        let _rest = room.take(free_units(), None).unwrap();
        room.provide(0);
        assert!(room.is_full());
        assert!(matches!(room.make_room(), Err(Error::NoSpace { .. })));
        recorder.fail_nth(u64::MAX, ENOSPC, false);
        room.make_room().unwrap();
        assert!(!room.is_full());
    }

    #[test]
    fn shards_with_one_array_of_two_may_get_the_other() {
        let (room, _recorder) = empty_room();
        let units = |half_count| {
            room.survey(std::iter::empty(), half_count, 1);
            room.needs.lock().units
        };
        assert_eq!(units(10) - units(0), 10 * room.empty_units);
        assert_eq!(units(1 << 40) - units(0), BATCH_UPDATES * room.empty_units);
    }

    #[test]
    fn the_longest_part_of_a_batch_is_counted_by_array() {
        let next = SHARD_SPAN as u32;
        let updates = [0, next, 1, next + 1, 2, 3, next, next];
        assert_eq!(longest_part(&updates, true), 3);
        assert_eq!(longest_part(&updates, false), 4);
        assert_eq!(longest_part(&[], true), 0);
    }
}
