//! Which stored edges of a direction of a segment a graph has: a bit for each, in memory.
//!
//! Source: PIE §3.2, the bitmaps of Table 1: a view is what is stored, filtered, so that no view writes to
//! the medium.

use std::ops::Range;

use everedge_core::memory::prefetch;

/// Bits of a word.
const WORD_BITS: usize = u64::BITS as usize;

/// A bit for each of some numbers, which says whether it is there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bits {
    words: Vec<u64>,
}

impl Bits {
    /// Returns bits of so many numbers that are all there.
    pub(crate) fn all(count: usize) -> Self {
        let mut words = vec![u64::MAX; count.div_ceil(WORD_BITS)];
        if let (Some(last), rest @ 1..) = (words.last_mut(), count % WORD_BITS) {
            *last = (1 << rest) - 1;
        }
        Self { words }
    }

    /// Returns room for so many numbers, none of which is there.
    pub(crate) fn none(count: usize) -> Self {
        Self { words: vec![0; count.div_ceil(WORD_BITS)] }
    }

    /// Whether `index` is there.
    #[inline]
    pub(crate) fn contains(&self, index: usize) -> bool {
        self.words.get(index / WORD_BITS).is_some_and(|word| word >> (index % WORD_BITS) & 1 == 1)
    }

    /// Starts loading the word of `index` into the cache.
    #[inline]
    pub(crate) fn prefetch(&self, index: usize) {
        prefetch(self.words.get(index / WORD_BITS..).unwrap_or_default());
    }

    /// Takes `index` away. Returns whether it was there.
    #[inline]
    pub(crate) fn remove(&mut self, index: usize) -> bool {
        let (word, bit) = (&mut self.words[index / WORD_BITS], 1 << (index % WORD_BITS));
        let was_there = *word & bit != 0;
        *word &= !bit;
        was_there
    }

    /// Puts `index` there. Returns whether it was not.
    #[inline]
    pub(crate) fn insert(&mut self, index: usize) -> bool {
        let (word, bit) = (&mut self.words[index / WORD_BITS], 1 << (index % WORD_BITS));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    /// Returns how many numbers are there.
    pub(crate) fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Counts the numbers of a range that are there.
    #[inline]
    pub(crate) fn count(&self, range: Range<usize>) -> usize {
        let mut count = 0;
        self.for_each_word(range, |_, word| count += word.count_ones() as usize);
        count
    }

    /// Returns the numbers of a range that are there, ascending.
    #[inline]
    pub(crate) fn ones(&self, range: Range<usize>) -> Ones<'_> {
        let Range { start, end } = range;
        let at = start / WORD_BITS;
        let word = self.words.get(at).map_or(0, |word| word & u64::MAX << (start % WORD_BITS));
        Ones { words: &self.words, at, word: if start < end { word } else { 0 }, end }
    }

    /// Calls `f(first, word)` for each word of bits that the range has a part of, where `first` is the
    /// number of its first bit; bits outside of the range are 0.
    #[inline]
    fn for_each_word(&self, range: Range<usize>, mut f: impl FnMut(usize, u64)) {
        let Range { start, end } = range;
        if start >= end {
            return;
        }
        let (first, last) = (start / WORD_BITS, (end - 1) / WORD_BITS);
        for (at, &word) in (first..).zip(&self.words[first..=last]) {
            let mut word = word;
            if at == first {
                word &= u64::MAX << (start % WORD_BITS);
            }
            if at == last {
                word &= u64::MAX >> (WORD_BITS - 1 - (end - 1) % WORD_BITS);
            }
            f(at * WORD_BITS, word);
        }
    }
}

/// The numbers of a range that are there.
#[derive(Clone, Debug)]
pub(crate) struct Ones<'a> {
    words: &'a [u64],
    /// The number of the word at hand, and those of its bits that are left.
    at: usize,
    word: u64,
    /// The number after the last of the range.
    end: usize,
}

impl Ones<'_> {
    /// Calls `f` with ranges of numbers that are there, ascending: few, where few are missing.
    #[inline]
    pub(crate) fn for_each_range(mut self, mut f: impl FnMut(Range<usize>)) {
        loop {
            let first = self.at * WORD_BITS;
            if first + WORD_BITS > self.end {
                self.word &= !(u64::MAX << (self.end.saturating_sub(first)));
            }
            while self.word != 0 {
                let start = self.word.trailing_zeros();
                let count = (!(self.word >> start)).trailing_zeros();
                let next = start + count;
                f(first + start as usize..first + next as usize);
                self.word = if next < u64::BITS { self.word & u64::MAX << next } else { 0 };
            }
            self.at += 1;
            if self.at * WORD_BITS >= self.end {
                return;
            }
            self.word = self.words[self.at];
        }
    }
}

impl Iterator for Ones<'_> {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.word == 0 {
            self.at += 1;
            if self.at * WORD_BITS >= self.end {
                return None;
            }
            self.word = self.words[self.at];
        }
        let index = self.at * WORD_BITS + self.word.trailing_zeros() as usize;
        self.word &= self.word - 1;
        if index < self.end {
            return Some(index);
        }
        // The rest of the words is beyond the range.
        (self.word, self.at) = (0, self.words.len());
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_counted_and_walked_as_sets_are() {
        let mut bits = Bits::all(200);
        let gone = [0, 5, 63, 64, 127, 128, 199];
        assert!(gone.iter().all(|&index| bits.remove(index)));
        assert!(!bits.remove(5));
        for start in 0..=200 {
            for end in start..=200 {
                let expected: Vec<usize> =
                    (start..end).filter(|index| !gone.contains(index)).collect();
                assert_eq!(bits.count(start..end), expected.len(), "{start}..{end}");
                assert_eq!(bits.ones(start..end).collect::<Vec<_>>(), expected, "{start}..{end}");
                let mut found = Vec::new();
                bits.ones(start..end).for_each_range(|range| found.extend(range));
                assert_eq!(found, expected, "{start}..{end}");
            }
        }
        bits.insert(64);
        assert!(bits.contains(64) && !bits.contains(63));
    }

    #[test]
    fn no_bit_stands_for_a_number_that_was_not_asked_for() {
        for count in [0, 1, 63, 64, 65] {
            assert_eq!(Bits::all(count).ones(0..count).count(), count);
            assert_eq!(Bits::all(count).len(), count);
        }
    }
}
