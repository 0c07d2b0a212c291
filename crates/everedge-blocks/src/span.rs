//! A span: the lists of 64 consecutive vertices in one direction, and what says where the long ones lie.
//!
//! Vertices of small degree share it: most lists of most graphs are shorter than a block. A short list is
//! here, sorted, with some room behind it. Of a long one the table of its blocks is here
//! ([`lpmb`](super::lpmb)).
//!
//! # Invariants
//! - S1: a list takes [`capacity`] of what it holds, at most; `dead` words are of no list.
//! - S2: a span that somebody shares does not change. A copy of it has frozen blocks only.

use std::slice;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use everedge_core::memory::prefetch;

use super::lpmb::{BlockRef, REF_WORDS};
use super::pool::Pool;

/// Rows of a cache line.
const ROWS_PER_LINE: usize = 8;
/// Vertices of a span.
pub(crate) const SPAN: usize = 64;

/// The list is a table of blocks.
const IN_BLOCKS: u32 = 1 << 31;
/// Fewer dead words are not worth moving the lists together.
const DEAD_MIN: usize = 256;
/// Lists are moved together where a span lacks room and this share of it is dead; else it grows
const DEAD_SHARE: usize = 8;
/// by this share of what it has.
const GROWTH_SHARE: usize = 4;

/// Where a list lies in its span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Row {
    /// How many neighbors the list has.
    pub degree: u32,
    start: u32,
}

impl Row {
    /// Whether the list has blocks.
    #[inline]
    pub(crate) fn is_in_blocks(self) -> bool {
        self.start & IN_BLOCKS != 0
    }

    #[inline]
    fn start(self) -> usize {
        (self.start & !IN_BLOCKS) as usize
    }
}

/// The lists of 64 vertices.
pub(crate) struct Span {
    rows: [Row; SPAN],
    words: Vec<AtomicU32>,
    dead: usize,
    /// Whether some blocks are nobody else's.
    pub has_own_blocks: bool,
    kept: Kept,
}

/// Counts the memory of a span that only views still read.
#[derive(Default)]
struct Kept(OnceLock<(Arc<Pool>, u64)>);

impl Drop for Kept {
    fn drop(&mut self) {
        if let Some((pool, bytes)) = self.0.get() {
            pool.note_kept(-(*bytes as i64));
        }
    }
}

impl Default for Span {
    fn default() -> Self {
        let (rows, words) = ([Row::default(); SPAN], Vec::new());
        Self { rows, words, dead: 0, has_own_blocks: false, kept: Kept::default() }
    }
}

/// Returns how many items there is room for where `count` are stored.
fn capacity(count: usize) -> usize {
    count.next_multiple_of((count.next_power_of_two() / 8).max(2))
}

impl Span {
    /// Returns a copy that changes by itself; its blocks are yet to be frozen.
    pub(crate) fn copy(&self, entry_words: usize) -> Self {
        let mut copy = Self { has_own_blocks: self.has_own_blocks, ..Self::default() };
        let rows = self.rows.iter().enumerate().filter(|(_, row)| row.degree > 0);
        let needed = rows.clone().map(|(local, _)| self.taken(local, entry_words)).sum();
        copy.words.reserve_exact(needed);
        rows.for_each(|(local, row)| {
            copy.rows[local] = *row;
            copy.move_from(self, local, entry_words);
        });
        copy
    }

    /// Notes that a copy has taken its place: whoever reads it keeps its memory.
    pub(crate) fn note_replaced(&self, pool: &Arc<Pool>) {
        let bytes = (size_of::<Self>() + 4 * self.words.capacity()) as u64;
        if self.kept.0.set((pool.clone(), bytes)).is_ok() {
            pool.note_kept(bytes as i64);
        }
    }

    /// Appends a list as it lies in another span.
    fn move_from(&mut self, from: &Self, local: usize, entry_words: usize) {
        let (row, start) = (from.rows[local], self.words.len());
        let words = &from.words[row.start()..][..from.taken(local, entry_words)];
        self.words.extend(words.iter().map(|word| AtomicU32::new(word.load(Relaxed))));
        self.rows[local].start = start as u32 | (row.start & IN_BLOCKS);
    }

    /// Returns the row of a list.
    #[inline]
    pub(crate) fn row(&self, local: usize) -> Row {
        self.rows[local]
    }

    /// Returns the entries of a list that has no blocks.
    #[inline]
    pub(crate) fn entries(&self, row: Row, entry_words: usize) -> &[AtomicU32] {
        &self.words[row.start()..][..row.degree as usize * entry_words]
    }

    /// Returns the table of a list that has blocks.
    #[inline]
    pub(crate) fn table(&self, row: Row) -> &[AtomicU32] {
        let start = row.start();
        let count = self.words[start].load(Relaxed) as usize;
        &self.words[start + 1..][..count * REF_WORDS]
    }

    /// Returns how many words a list takes.
    fn taken(&self, local: usize, entry_words: usize) -> usize {
        let row = self.rows[local];
        match row.is_in_blocks() {
            true => 1 + REF_WORDS * capacity(self.table(row).len() / REF_WORDS),
            false => entry_words * capacity(row.degree as usize),
        }
    }

    /// Makes the words all of a list, which has no blocks.
    pub(crate) fn set_entries(&mut self, local: usize, words: &[u32], entry_words: usize) {
        let degree = words.len() / entry_words;
        let taken = entry_words * capacity(degree);
        let start = self.place(local, taken, entry_words);
        self.rows[local] = Row { degree: degree as u32, start: start as u32 };
        for (word, &new) in self.words[start..].iter_mut().zip(words) {
            *word.get_mut() = new;
        }
        self.pack_if_due(entry_words);
    }

    /// Returns the entries of a list that has no blocks, for changing.
    pub(crate) fn entries_mut(&mut self, local: usize, entry_words: usize) -> &mut [AtomicU32] {
        let row = self.rows[local];
        &mut self.words[row.start()..][..row.degree as usize * entry_words]
    }

    /// Inserts entries into a list that has no blocks: each after those with its neighbor.
    pub(crate) fn insert_entries(&mut self, local: usize, new: &[u32], entry_words: usize) {
        if new.is_empty() {
            return;
        }
        let row = self.rows[local];
        let (old, degree) = (row.degree as usize, row.degree as usize + new.len() / entry_words);
        let start = self.place(local, entry_words * capacity(degree), entry_words);
        let from = self.rows[local].start();
        self.rows[local] = Row { degree: degree as u32, start: start as u32 };
        if start != from {
            let (before, to) = self.words.split_at_mut(start);
            let words = before[from..].iter_mut().take(old * entry_words);
            to.iter_mut().zip(words).for_each(|(to, from)| *to.get_mut() = *from.get_mut());
        }
        // From the last one on, so that nothing is overwritten that is still to be moved.
        let words = &mut self.words[start..][..degree * entry_words];
        let (mut old, mut end) = (old * entry_words, words.len());
        for entry in new.rchunks_exact(entry_words) {
            while old > 0 && *words[old - entry_words].get_mut() > entry[0] {
                for word in (0..entry_words).rev() {
                    let moved = *words[old - entry_words + word].get_mut();
                    *words[end - entry_words + word].get_mut() = moved;
                }
                (old, end) = (old - entry_words, end - entry_words);
            }
            for (word, &new) in words[end - entry_words..end].iter_mut().zip(entry) {
                *word.get_mut() = new;
            }
            end -= entry_words;
        }
        self.pack_if_due(entry_words);
    }

    /// Starts loading what says where a list lies into the cache.
    #[inline]
    pub(crate) fn warm_row(&self, local: usize) {
        prefetch(&self.rows[local..=local]);
        prefetch(slice::from_ref(&self.words));
    }

    /// Starts loading what says where all lists lie into the cache.
    #[inline]
    pub(crate) fn warm_rows(&self) {
        self.rows.chunks(ROWS_PER_LINE).for_each(prefetch);
        prefetch(slice::from_ref(&self.words));
    }

    /// Starts loading a list, or the table of its blocks, into the cache.
    #[inline]
    pub(crate) fn warm(&self, local: usize) {
        prefetch(&self.words[self.rows[local].start().min(self.words.len())..]);
    }

    /// Makes the blocks those of a list of so many neighbors.
    pub(crate) fn set_table(
        &mut self,
        (local, degree): (usize, u32),
        table: impl ExactSizeIterator<Item = BlockRef>,
        entry_words: usize,
    ) {
        let count = table.len();
        let start = self.place(local, 1 + REF_WORDS * capacity(count), entry_words);
        self.rows[local] = Row { degree, start: start as u32 | IN_BLOCKS };
        *self.words[start].get_mut() = count as u32;
        let places = self.words[start + 1..].chunks_exact_mut(REF_WORDS);
        for (place, block) in places.zip(table) {
            block.store(place);
        }
        self.has_own_blocks = true;
        self.pack_if_due(entry_words);
    }

    /// Returns the table of a list for changing, whose degree becomes another.
    pub(crate) fn table_mut(&mut self, local: usize, degree: u32) -> &mut [AtomicU32] {
        self.rows[local].degree = degree;
        let start = self.rows[local].start();
        let count = *self.words[start].get_mut() as usize;
        self.has_own_blocks = true;
        &mut self.words[start + 1..][..count * REF_WORDS]
    }

    /// Returns where a list of so many words goes: where it lies, if it has as many there, or at the end.
    fn place(&mut self, local: usize, needed: usize, entry_words: usize) -> usize {
        let taken = self.taken(local, entry_words);
        if needed <= taken && taken > 0 {
            self.dead += taken - needed;
            return self.rows[local].start();
        }
        if self.words.capacity() < self.words.len() + needed {
            match self.dead >= needed + self.words.len() / DEAD_SHARE {
                true => self.pack(entry_words),
                false => self.words.reserve_exact(needed + self.words.len() / GROWTH_SHARE),
            }
        }
        self.dead += taken;
        let start = self.words.len();
        self.words.resize_with(start + needed, AtomicU32::default);
        start
    }

    /// Moves lists together where much lies dead between them.
    fn pack_if_due(&mut self, entry_words: usize) {
        if self.dead > DEAD_MIN.max(self.words.len() / 2) {
            self.pack(entry_words);
            self.words.shrink_to(self.words.len() + self.words.len() / GROWTH_SHARE);
        }
    }

    /// Moves all lists together, in the order in which they lie: memory that is had is used again.
    fn pack(&mut self, entry_words: usize) {
        let mut order: [u8; SPAN] = std::array::from_fn(|local| local as u8);
        order.sort_unstable_by_key(|&local| self.rows[usize::from(local)].start());
        let mut end = 0;
        for local in order.map(usize::from) {
            let row = self.rows[local];
            if row.degree == 0 {
                self.rows[local] = Row::default();
                continue;
            }
            let (start, taken) = (row.start(), self.taken(local, entry_words));
            for word in 0..taken {
                let moved = *self.words[start + word].get_mut();
                *self.words[end + word].get_mut() = moved;
            }
            self.rows[local].start = end as u32 | (row.start & IN_BLOCKS);
            end += taken;
        }
        self.words.truncate(end);
        self.dead = 0;
    }

    /// Returns the blocks of all lists, for changing.
    pub(crate) fn tables_mut(&mut self) -> impl Iterator<Item = &mut [AtomicU32]> {
        let mut starts: Vec<usize> =
            self.rows.iter().filter(|row| row.is_in_blocks()).map(|row| row.start()).collect();
        starts.sort_unstable();
        let (mut rest, mut before) = (&mut self.words[..], 0);
        starts.into_iter().map(move |start| {
            let (_, after) = std::mem::take(&mut rest).split_at_mut(start - before);
            let (count, after) = after.split_first_mut().expect("the length of a table");
            let (table, after) = after.split_at_mut(*count.get_mut() as usize * REF_WORDS);
            (rest, before) = (after, start + 1 + table.len());
            table
        })
    }
}
