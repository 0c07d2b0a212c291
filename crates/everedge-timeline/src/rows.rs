//! Where the lists of vertices lie in arrays that are made in memory, one after the other.
//!
//! There are rows for each 4,096 ids one of which has a list, as in whole lists on the medium (`lists.rs`).

use std::ops::Range;

use everedge_core::VertexId;
use everedge_core::memory::prefetch;

use super::lists::{NO_ROWS, ROW_SPAN};

/// First counts what each list has, then hands its places out, and then says which they are.
#[derive(Default)]
pub(crate) struct Rows {
    /// By id over 4,096: the first row, or none.
    firsts: Vec<u32>,
    /// By row: how long its list is; then which of its places is the next; then where it ends.
    ends: Vec<u32>,
}

impl Rows {
    /// Counts more of the list of `v`.
    #[inline]
    pub(crate) fn count(&mut self, v: VertexId, count: usize) {
        let group = v as usize / ROW_SPAN;
        if count == 0 {
            return;
        }
        if self.firsts.len() <= group {
            self.firsts.resize(group + 1, NO_ROWS);
        }
        if self.firsts[group] == NO_ROWS {
            self.firsts[group] = self.ends.len() as u32;
            self.ends.resize(self.ends.len() + ROW_SPAN, 0);
        }
        self.ends[self.firsts[group] as usize + v as usize % ROW_SPAN] += count as u32;
    }

    /// Ends the counting. Returns how many there are in all lists.
    pub(crate) fn begin(&mut self) -> usize {
        counts_to_starts(&mut self.ends)
    }

    /// Takes over lists of later ids, whose places come after its own; all of both were handed out.
    pub(crate) fn append(&mut self, other: Self) {
        let (row, place) = (self.ends.len() as u32, self.ends.last().copied().unwrap_or(0));
        let firsts = other.firsts.iter().skip(self.firsts.len());
        let moved = firsts.map(|&first| if first == NO_ROWS { NO_ROWS } else { first + row });
        self.firsts.extend(moved);
        self.ends.extend(other.ends.iter().map(|end| end + place));
    }

    /// Returns the next place of the list of `v`, which was counted.
    #[inline]
    pub(crate) fn next(&mut self, v: VertexId) -> usize {
        let first = self.firsts[v as usize / ROW_SPAN] as usize;
        let next = &mut self.ends[first + v as usize % ROW_SPAN];
        *next += 1;
        *next as usize - 1
    }

    /// Returns the places of the list of `v`, all of which were handed out.
    #[inline]
    pub(crate) fn range(&self, v: VertexId) -> Range<usize> {
        match self.group(v as usize / ROW_SPAN) {
            None => 0..0,
            Some((first, ends)) => {
                let local = v as usize % ROW_SPAN;
                let start = if local == 0 { first } else { ends[local - 1] as usize };
                start..ends[local] as usize
            }
        }
    }

    /// Starts loading what says where the list of `v` lies into the cache.
    #[inline]
    pub(crate) fn prefetch(&self, v: VertexId) {
        if let Some((_, ends)) = self.group(v as usize / ROW_SPAN) {
            prefetch(&ends[v as usize % ROW_SPAN..]);
        }
    }

    /// Returns where the lists of the ids from `group` times 4,096 on begin, and where each of them ends; none if
    /// none of them has one.
    #[inline]
    pub(crate) fn group(&self, group: usize) -> Option<(usize, &[u32])> {
        let first = self.firsts.get(group).copied().filter(|&first| first != NO_ROWS)? as usize;
        let start = if first == 0 { 0 } else { self.ends[first - 1] as usize };
        Some((start, &self.ends[first..first + ROW_SPAN]))
    }
}

/// Puts where each part begins in the place of how many it has. Returns how many there are in all.
pub(crate) fn counts_to_starts(counts: &mut [u32]) -> usize {
    let mut sum = 0;
    for count in counts {
        (sum, *count) = (sum + *count, sum);
    }
    sum as usize
}
