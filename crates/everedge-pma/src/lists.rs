//! The lists of an array as readers find them.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use everedge_core::memory::prefetch;
use everedge_medium::HeldWords;

use super::header::Place;

/// Whether a list has entries in the edge log: in the start of its row.
pub(super) const IS_LOGGED: u32 = 1 << 31;
/// Whether a list has tombstones: in the length of its row.
pub(super) const HAS_TOMBSTONES: u32 = 1 << 31;

/// Where lists are, and their words. A clone costs little and keeps its rows, whatever becomes of
/// others.
#[derive(Clone)]
pub(super) struct Lists {
    /// A row for each vertex, and the end of the words.
    pub rows: Arc<[Place]>,
    /// The words of all lists.
    pub words: HeldWords,
}

/// A list as readers see it.
#[derive(Clone, Copy)]
pub(super) struct ListRef<'a> {
    pub words: &'a [AtomicU32],
    /// Whether there are more in the edge log.
    pub is_logged: bool,
    /// Whether there are tombstones.
    pub has_tombstones: bool,
}

impl Lists {
    /// Returns the rows to change them. Cost: a copy of all, if there is a clone.
    #[inline]
    pub(super) fn rows_mut(&mut self) -> &mut [Place] {
        Arc::make_mut(&mut self.rows)
    }

    /// Returns how many vertices have a row.
    #[inline]
    pub(super) fn vertex_count(&self) -> usize {
        self.rows.len() - 1
    }

    /// Returns a list of which there is a row.
    #[inline]
    pub(super) fn list(&self, local: usize) -> ListRef<'_> {
        self.at(self.rows[local])
    }

    /// Returns a list, if it is its words only: without entries in the edge log and tombstones. One
    /// without a row is empty.
    #[inline(always)]
    pub(super) fn plain_list(&self, local: usize) -> Option<&[AtomicU32]> {
        let Some(row) = self.rows.get(local) else { return Some(&[]) };
        let is_plain = (row.start & IS_LOGGED) | (row.len & HAS_TOMBSTONES) == 0;
        is_plain.then(|| &self.words[row.start as usize..][..row.len as usize])
    }

    /// Returns all lists from `local` on.
    #[inline]
    pub(super) fn from(&self, local: usize) -> impl Iterator<Item = ListRef<'_>> {
        self.rows[local..].iter().map(|row| self.at(*row))
    }

    /// Returns the lists, of which the caller reads those only that are their words.
    #[inline]
    pub(super) fn plain(&self) -> PlainLists<'_> {
        PlainLists { rows: &self.rows, words: &self.words }
    }

    #[inline(always)]
    fn at(&self, row: Place) -> ListRef<'_> {
        let start = (row.start & !IS_LOGGED) as usize;
        let words = &self.words[start..start + (row.len & !HAS_TOMBSTONES) as usize];
        ListRef {
            words,
            is_logged: row.start & IS_LOGGED != 0,
            has_tombstones: row.len & HAS_TOMBSTONES != 0,
        }
    }

    /// Starts loading a list into the cache, if there is one.
    #[inline]
    pub(super) fn prefetch(&self, local: usize) {
        if let Some(row) = self.rows.get(local) {
            prefetch(self.words.get((row.start & !IS_LOGGED) as usize..).unwrap_or_default());
        }
    }

    /// Starts loading the row of a list into the cache, if there is one.
    #[inline]
    pub(super) fn prefetch_row(&self, local: usize) {
        prefetch(self.rows.get(local..).unwrap_or_default());
    }
}

/// Lists that are their words only: what a loop over many of them finds in registers.
#[derive(Clone, Copy)]
pub(super) struct PlainLists<'a> {
    rows: &'a [Place],
    words: &'a [AtomicU32],
}

impl<'a> PlainLists<'a> {
    #[inline]
    pub(super) fn list(self, local: usize) -> &'a [AtomicU32] {
        self.at(self.rows[local])
    }

    /// Returns the rows of all from `local` on.
    #[inline]
    pub(super) fn rows_from(self, local: usize) -> &'a [Place] {
        &self.rows[local..]
    }

    /// Returns the list of a row.
    #[inline]
    pub(super) fn at(self, row: Place) -> &'a [AtomicU32] {
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
