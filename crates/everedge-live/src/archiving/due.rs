//! Writing lists anew that nobody asked for: of shards that are due, a group at a time.
//!
//! # Invariants
//! - D1: a shard that cannot be written, since it is damaged or finds no room, keeps no other from it:
//!   the next group begins behind it, and is of one shard until a pass goes well.
//! - D2: a pass over all shards tries each that fails once. After some have failed the rest of it waits
//!   for the next call: on a full medium most fail.

use std::ops::Range;

use parking_lot::Mutex;

use super::archive::Archive;
use super::core::Core;
use super::layout::Layout;
use super::shared::Shared;
use crate::space::UNIT_BYTES;
use crate::{Error, Result};

/// A group has no more than so many units, if that is not less than one shard: others wait meanwhile.
const STEP_UNITS_MAX: u64 = (32 << 20) / UNIT_BYTES;
/// So many shards may fail, one after the other, before others go on.
const FAILURES_MAX: u32 = 4;

/// A pass over all shards that are due.
#[derive(Debug, Default)]
pub struct Pass {
    /// As many shards as a group has at most.
    shards_max: usize,
    /// Where the next group begins.
    next: usize,
    /// Whether groups are of one shard.
    is_single: bool,
    /// Whether a shard of this pass failed.
    has_failed: bool,
    /// How many did since others went on.
    failures: u32,
}

impl Pass {
    /// Returns a pass of groups of so many shards at most.
    pub fn new(shards_max: usize) -> Self {
        Self { shards_max, ..Self::default() }
    }

    /// Returns the next shards that are due, or none at the end of the pass.
    fn group(
        &mut self,
        shard_count: usize,
        is_due: impl Fn(usize) -> bool,
        units: impl Fn(usize) -> u64,
    ) -> Option<Range<usize>> {
        let mut found = (self.next..shard_count).find(|&number| is_due(number));
        // What became due behind its back; what has failed waits for the next pass.
        if found.is_none() && !self.has_failed {
            found = (0..self.next.min(shard_count)).find(|&number| is_due(number));
        }
        let Some(first) = found else {
            let (shards_max, is_single) = (self.shards_max, self.has_failed);
            *self = Self { is_single, ..Self::new(shards_max) };
            return None;
        };
        let most = if self.is_single { 1 } else { self.shards_max };
        let mut unit_count = 0;
        let is_next = |&number: &usize| {
            unit_count += units(number);
            is_due(number) && unit_count <= STEP_UNITS_MAX
        };
        let count = (first..shard_count).take(most).take_while(is_next).count().max(1);
        Some(first..first + count)
    }

    /// Notes whether a group was compacted. Returns whether the pass is to go on at once.
    fn note(&mut self, group: &Range<usize>, is_compacted: bool) -> bool {
        match (is_compacted, group.len()) {
            (true, _) => (self.next, self.failures) = (group.end, 0),
            (false, 1) => {
                (self.next, self.has_failed) = (group.end, true);
                self.failures += 1;
            }
            (false, _) => (self.next, self.is_single) = (group.start, true),
        }
        let goes_on = self.failures < FAILURES_MAX;
        self.failures = if goes_on { self.failures } else { 0 };
        goes_on
    }
}

impl<L: Layout> Core<L> {
    /// Writes the next shards of a pass that are due; `units` says how much a shard takes. Returns whether there may
    /// be more.
    pub fn write_due(
        &self,
        pass: &Mutex<Pass>,
        is_due: impl Fn(&L::Shard) -> bool,
        units: impl Fn(&Shared<L::Shard>) -> u64,
        write: impl FnOnce(&mut Archive<L>, Range<usize>) -> Result<()>,
    ) -> bool {
        let (mut archive, mut pass) = (self.archive(), pass.lock());
        if self.refuse_if_failed().is_err() {
            return false;
        }
        let shards: &[Shared<L::Shard>] = &archive.shards;
        let is_due = |number: usize| shards[number].get().is_some_and(&is_due);
        let Some(group) = pass.group(shards.len(), is_due, |number| units(&shards[number])) else {
            return false;
        };
        let written = self.undisturbed(&mut archive, |archive| write(archive, group.clone()));
        match &written {
            Ok(()) => {}
            // Without room it can wait.
            Err(Error::NoSpace { .. }) => {
                self.layout.lists().spaces.iter().for_each(|space| space.forget_missing());
            }
            // Whoever asks for what is damaged is told.
            Err(Error::Corruption { .. }) => {}
            Err(error) => {
                self.fail_unless_full(error);
                return false;
            }
        }
        pass.note(&group, written.is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Goes on until the pass says that it is enough. Returns how many groups were tried.
    fn compact(pass: &mut Pass, due: &mut [bool], fails: impl Fn(usize) -> bool) -> u32 {
        for tried in 0.. {
            let found = pass.group(due.len(), |number| due[number], |_| 1);
            let Some(group) = found else { return tried };
            let is_compacted = !group.clone().any(&fails);
            due[group.clone()].iter_mut().for_each(|due| *due &= !is_compacted);
            if !pass.note(&group, is_compacted) {
                return tried + 1;
            }
        }
        unreachable!()
    }

    fn left(due: &[bool]) -> Vec<usize> {
        (0..due.len()).filter(|&number| due[number]).collect()
    }

    #[test]
    fn shards_that_cannot_be_compacted_keep_no_other_from_it() {
        let mut pass = Pass::new(8);
        let mut due = vec![true; 40];
        let is_bad = |number: usize| [0, 11, 39].contains(&number);
        compact(&mut pass, &mut due, is_bad);
        assert_eq!(left(&due), [0, 11, 39]);
        // They are tried again by each pass, and nothing is written with them and thrown away.
        due[5..8].fill(true);
        assert_eq!(compact(&mut pass, &mut due, is_bad), 3 + 3);
        assert_eq!(left(&due), [0, 11, 39]);
        compact(&mut pass, &mut due, |_| false);
        assert_eq!(left(&due), [0; 0]);
        // In groups again.
        due.fill(true);
        assert_eq!(compact(&mut pass, &mut due, |_| false), 5);
    }

    #[test]
    fn where_most_fail_each_call_tries_a_few() {
        let mut pass = Pass::new(8);
        let mut due = vec![true; 20];
        let is_bad = |number: usize| number != 17;
        let tried: Vec<u32> = (0..5).map(|_| compact(&mut pass, &mut due, is_bad)).collect();
        assert!(tried.iter().all(|&tried| tried <= FAILURES_MAX + 2), "{tried:?}");
        assert!(!due[17]);
    }
}
