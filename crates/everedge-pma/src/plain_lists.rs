//! Lists without logged entries and tombstones, which are read as those of a CSR.

use std::sync::atomic::AtomicU32;

use everedge_core::memory::prefetch;

use super::header::Place;

/// Lists that are their words only: what a loop over many of them finds in registers.
#[derive(Clone, Copy)]
pub(super) struct PlainLists<'a> {
    rows: &'a [Place],
    words: &'a [AtomicU32],
}

impl<'a> PlainLists<'a> {
    /// Returns the lists of `rows`, which have neither logged entries nor tombstones, in `words`.
    #[inline]
    pub(super) fn new(rows: &'a [Place], words: &'a [AtomicU32]) -> Self {
        Self { rows, words }
    }

    #[inline]
    pub(super) fn list(self, local: usize) -> &'a [AtomicU32] {
        self.at(self.rows[local])
    }

    /// Returns all from `local` on.
    #[inline]
    pub(super) fn from(self, local: usize) -> impl Iterator<Item = &'a [AtomicU32]> {
        self.rows[local..].iter().map(move |row| self.at(*row))
    }

    #[inline]
    fn at(self, row: Place) -> &'a [AtomicU32] {
        &self.words[row.start as usize..][..row.len as usize]
    }

    /// Starts loading a list into the cache.
    #[inline]
    pub(super) fn prefetch(self, local: usize) {
        prefetch(&self.words[self.rows[local].start as usize..]);
    }

    /// Returns how many words lie from the first of so many lists to the last.
    #[inline]
    pub(super) fn words_between(self, local: usize, count: usize) -> usize {
        let rows = &self.rows[local..local + count];
        let words =
            |(first, last): (&Place, &Place)| (last.start + last.len).saturating_sub(first.start);
        rows.first().zip(rows.last()).map_or(0, words) as usize
    }
}
