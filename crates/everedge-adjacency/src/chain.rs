//! The words of a list as views read them: from files and memory that are held.

use std::slice;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_core::memory::prefetch;
use everedge_live::{fold_pairs, fold_words};

use super::block::{self, NO_BLOCK};
use super::list::LINE_WORDS;

/// Lines of a block that are loaded into the cache ahead: an XPLine.
const BLOCK_LINES_AHEAD: usize = 4;

/// The words of a list in pieces: the buffer, the blocks from the newest to the oldest, then what
/// a run holds; each piece in order.
pub(crate) struct Chain<'a> {
    words: slice::Iter<'a, AtomicU32>,
    /// The place of the next block in `file`, or [`NO_BLOCK`].
    next: u32,
    base: &'a [AtomicU32],
    file: &'a [AtomicU32],
}

impl<'a> Chain<'a> {
    /// Returns a list that is these words and nothing else.
    #[inline]
    pub(crate) fn of_words(words: &'a [AtomicU32]) -> Self {
        Self { words: words.iter(), next: NO_BLOCK, base: &[], file: &[] }
    }

    /// Returns a list of these words, the blocks of a file from `head` on, and `base`.
    #[inline]
    pub(crate) fn new(
        words: &'a [AtomicU32],
        (file, head): (&'a [AtomicU32], u32),
        base: &'a [AtomicU32],
    ) -> Self {
        Self { words: words.iter(), next: head, base, file }
    }

    /// Returns the words if they are all in one piece.
    #[inline]
    pub(crate) fn as_one_piece(&self) -> Option<&'a [AtomicU32]> {
        (self.next == NO_BLOCK && self.base.is_empty()).then_some(self.words.as_slice())
    }

    /// Returns the entries of the next block, or of the run after the last, if there is one.
    #[inline]
    fn next_piece(&mut self) -> Option<&'a [AtomicU32]> {
        if self.next == NO_BLOCK {
            let base = std::mem::take(&mut self.base);
            return (!base.is_empty()).then_some(base);
        }
        let (entries, previous) = block::held_entries(self.file, self.next);
        if previous != NO_BLOCK {
            prefetch_block(self.file, previous);
        }
        self.next = previous;
        Some(entries)
    }

    /// Folds the words by two: a piece has whole entries.
    #[inline]
    pub(crate) fn fold_pairs<B>(mut self, init: B, mut f: impl FnMut(B, (u32, u32)) -> B) -> B {
        let mut folded = fold_pairs(self.words.as_slice(), init, &mut f);
        while let Some(entries) = self.next_piece() {
            folded = fold_pairs(entries, folded, &mut f);
        }
        folded
    }

    /// Goes to the next piece and returns its first word.
    #[inline(never)]
    fn first_of_next_piece(&mut self) -> Option<u32> {
        loop {
            self.words = self.next_piece()?.iter();
            if let Some(word) = self.words.next() {
                return Some(word.load(Relaxed));
            }
        }
    }
}

impl Iterator for Chain<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        match self.words.next() {
            Some(word) => Some(word.load(Relaxed)),
            // Most lists are one piece: no call tells that they end.
            None if self.next == NO_BLOCK && self.base.is_empty() => None,
            None => self.first_of_next_piece(),
        }
    }

    #[inline]
    fn fold<B, F: FnMut(B, u32) -> B>(mut self, init: B, mut f: F) -> B {
        let mut folded = fold_words(self.words.as_slice(), init, &mut f);
        while let Some(entries) = self.next_piece() {
            folded = fold_words(entries, folded, &mut f);
        }
        folded
    }
}

/// Starts loading the first lines of the block at `place` into the cache.
#[inline]
pub(crate) fn prefetch_block(file: &[AtomicU32], place: u32) {
    let words = file.get(place as usize * LINE_WORDS..).unwrap_or_default();
    words.chunks(LINE_WORDS).take(BLOCK_LINES_AHEAD).for_each(prefetch);
}
