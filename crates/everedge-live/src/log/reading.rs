//! What records say: their updates and weights.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::anchor::ring_ranges;
use super::record::{HEADER_WORDS, LINE_BYTES, LINE_WORDS, NOTE, Note, Shape};
use super::{EdgeLog, Record};

impl EdgeLog {
    /// Returns the updates `start..end` of a record of one batch, two words each, in one or two
    /// parts.
    pub fn updates(&self, record: &Record, start: u32, end: u32) -> [&[AtomicU32]; 2] {
        debug_assert!(!record.is_of_lines() || record.count == 1);
        let from = record.position + 8 * u64::from(start);
        self.words(from, record.position + 8 * u64::from(end))
    }

    /// Calls `f(place in the record, src, dst)` for the updates of a range of a record that change
    /// something; `src` carries the mark of a deletion.
    #[inline]
    pub fn for_each_update(
        &self,
        record: &Record,
        range: Range<u32>,
        mut f: impl FnMut(u32, u32, u32),
    ) {
        let Range { start, end } = range;
        // One loop for both, so that the compiler puts `f` into it.
        let (parts, stride, at) = match record.shape {
            Shape::Lines => (self.lines(record, range), LINE_WORDS, HEADER_WORDS),
            Shape::Batch => (self.updates(record, start, end), 2, 0),
            Shape::Unreadable { .. } => ([&[], &[]] as [&[AtomicU32]; 2], 2, 0),
        };
        let is_of_lines = record.is_of_lines();
        let is_void = |update: &[AtomicU32]| {
            is_of_lines && Note::of(update[NOTE].load(Relaxed)) == Note::Void
        };
        let mut place = start;
        for words in parts {
            for update in words.chunks_exact(stride) {
                if !is_void(update) {
                    f(place, update[at].load(Relaxed), update[at + 1].load(Relaxed));
                }
                place += 1;
            }
        }
    }

    /// Calls `f` with the weight, as bits, of each update of a range of a record.
    pub fn for_each_weight(&self, record: &Record, range: Range<u32>, mut f: impl FnMut(u32)) {
        match record.shape {
            Shape::Lines => {
                let lines = self.lines(record, range).into_iter();
                let lines = lines.flat_map(|words| words.chunks_exact(LINE_WORDS));
                lines.for_each(|line| f(line[HEADER_WORDS + 2].load(Relaxed)));
            }
            Shape::Batch => {
                let parts = self.weights(record, range.start, range.end);
                parts.into_iter().flatten().for_each(|word| f(word.load(Relaxed)));
            }
            Shape::Unreadable { .. } => {}
        }
    }

    /// Returns the lines of a record of lines, in one or two parts.
    fn lines(&self, record: &Record, range: Range<u32>) -> [&[AtomicU32]; 2] {
        let at = |line: u32| record.start() + LINE_BYTES * u64::from(line);
        self.words(at(range.start), at(range.end))
    }

    /// Returns the weights of the updates `start..end` of `record`, in one or two parts.
    fn weights(&self, record: &Record, start: u32, end: u32) -> [&[AtomicU32]; 2] {
        if !self.weighted {
            return [&[], &[]];
        }
        let weights = record.position + 8 * u64::from(record.count);
        self.words(weights + 4 * u64::from(start), weights + 4 * u64::from(end))
    }

    fn words(&self, from: u64, to: u64) -> [&[AtomicU32]; 2] {
        let anchor = self.anchor();
        let mut parts: [&[AtomicU32]; 2] = [&[], &[]];
        for (part, range) in parts.iter_mut().zip(ring_ranges(&anchor, from, to)) {
            *part = self.region.words(range.start, ((range.end - range.start) / 4) as usize);
        }
        parts
    }
}
