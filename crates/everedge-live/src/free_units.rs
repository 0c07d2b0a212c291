//! Free units of a file: ranges that join, and are found by place and by length.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Free units, found by place and by number.
#[derive(Default)]
pub(crate) struct FreeUnits {
    /// The end of each range by its start; ranges do not touch.
    pub(crate) by_start: BTreeMap<u64, u64>,
    /// Length and start of each range.
    pub(crate) by_len: BTreeSet<(u64, u64)>,
    /// How many they are.
    pub(crate) count: u64,
}

impl FreeUnits {
    pub(crate) fn insert(&mut self, range: Range<u64>) {
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

    /// Returns what of a range is in this.
    pub(crate) fn parts_in(&self, range: &Range<u64>) -> Vec<Range<u64>> {
        let first = self.by_start.range(..=range.start).next_back().map_or(range.start, |r| *r.0);
        let overlapping = self.by_start.range(first..range.end.max(first));
        let parts = overlapping.map(|(&start, &end)| start.max(range.start)..end.min(range.end));
        parts.filter(|part| part.start < part.end).collect()
    }

    /// Takes a part of one range.
    pub(crate) fn cut(&mut self, part: &Range<u64>) {
        let found = self.by_start.range(..=part.start).next_back();
        let (&start, &end) = found.expect("a range that the part is of");
        self.remove(start..end);
        self.insert(start..part.start);
        self.insert(part.end..end);
    }

    /// Returns the start of the range that ends at `end`, if there is one.
    pub(crate) fn before(&self, end: u64) -> Option<u64> {
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
    pub(crate) fn take(&mut self, least: u64, wanted: u64) -> Option<Range<u64>> {
        let fitting = self.by_len.range((wanted, 0)..).next();
        let longest = || self.by_len.last().filter(|(len, _)| *len >= least);
        let &(len, start) = fitting.or_else(longest)?;
        self.remove(start..start + len);
        let end = start + len.min(wanted);
        self.insert(end..start + len);
        Some(start..end)
    }

    /// Takes all of the shortest range.
    pub(crate) fn take_shortest(&mut self) -> Option<Range<u64>> {
        let &(len, start) = self.by_len.first()?;
        self.remove(start..start + len);
        Some(start..start + len)
    }

    /// Returns the units of the longest range.
    pub(crate) fn longest(&self) -> u64 {
        self.by_len.last().map_or(0, |&(len, _)| len)
    }

    /// Takes the range that ends at `end`, if there is one. Returns its start.
    pub(crate) fn take_last(&mut self, end: u64) -> Option<u64> {
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

    #[test]
    fn parts_are_cut_out_of_ranges() {
        let mut free = FreeUnits::default();
        for range in [0..10, 20..30] {
            free.insert(range);
        }
        let parts = free.parts_in(&(5..25));
        assert_eq!(parts, [5..10, 20..25]);
        parts.iter().for_each(|part| free.cut(part));
        assert_eq!((free.count, free.longest()), (10, 5));
        assert_eq!(free.parts_in(&(0..40)), [0..5, 25..30]);
        assert_eq!(free.parts_in(&(6..20)), []);
    }
}
