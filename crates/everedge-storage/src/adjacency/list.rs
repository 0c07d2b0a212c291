//! The neighbor lists of one shard: an entry a vertex, vertex buffers, chains of blocks.
//!
//! Source: XPGraph §3.1 (vertex-centric buffering), §3.2 (hierarchical buffers).
//!
//! # Invariants
//! - L1: a list is its chain of blocks, oldest first, then its buffer; a tombstone takes away the
//!   newest equal neighbor before it, and is there only if one was.
//! - L2: `degree` counts the neighbors that no tombstone took away.

use std::slice;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_core::VertexId;
use rustc_hash::FxHashMap;

use super::block::{self, ENTRY_WORDS_MAX, NO_BLOCK};
use crate::batch::DELETION;
use crate::medium::Region;

/// Words of the buffers of each class: 16 to 256 bytes. The largest is flushed when it has the
/// entries of one full block.
const CLASS_WORDS: [usize; 5] = [4, 8, 16, 32, 64];
const CLASS_MAX: u8 = CLASS_WORDS.len() as u8 - 1;
const NO_CLASS: u8 = u8::MAX;

/// One vertex in a list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// The place of the newest block.
    pub head: u32,
    /// Neighbors (L2).
    pub degree: u32,
    /// Where the buffer begins in the pool, in steps of four words.
    buffer: u32,
    /// Words in the buffer.
    buffered: u8,
    class: u8,
    /// Whether the list holds a tombstone.
    pub has_tombstones: bool,
}

impl Default for Entry {
    fn default() -> Self {
        Self {
            head: NO_BLOCK,
            degree: 0,
            buffer: 0,
            buffered: 0,
            class: NO_CLASS,
            has_tombstones: false,
        }
    }
}

/// Vertex buffers of five sizes in one array; freed ones are used again by size.
///
/// The pool is the place where a buddy allocator would stand.
#[derive(Clone, Debug, Default)]
struct Buffers {
    words: Vec<u32>,
    free: [Vec<u32>; CLASS_WORDS.len()],
}

impl Buffers {
    fn take(&mut self, class: u8) -> u32 {
        self.free[class as usize].pop().unwrap_or_else(|| {
            let start = self.words.len();
            self.words.resize(start + CLASS_WORDS[class as usize], 0);
            (start / CLASS_WORDS[0]) as u32
        })
    }

    fn clear(&mut self) {
        self.words.clear();
        self.words.shrink_to(self.words.capacity() / 2);
        self.free.iter_mut().for_each(Vec::clear);
    }
}

/// Neighbors of one direction for the vertices of one shard.
#[derive(Clone, Debug, Default)]
pub(crate) struct List {
    pub entries: Vec<Entry>,
    /// The low half of the sequence number of each newest block.
    pub head_sequences: Vec<u32>,
    buffers: Buffers,
    /// Lines that a flush of all buffers would take.
    pub buffered_lines: u64,
}

impl List {
    /// Makes room for `count` vertices.
    pub(crate) fn grow(&mut self, count: usize) {
        if self.entries.len() < count {
            self.entries.resize(count, Entry::default());
            self.head_sequences.resize(count, 0);
        }
    }

    /// Loads the entries of some vertices, and then the ends of their buffers: loads that do not
    /// depend on one another wait for memory together, those of one append after another do not.
    pub(crate) fn warm(&self, locals: impl Iterator<Item = usize> + Clone) {
        let entries = locals.clone().fold(0, |sum, local| sum ^ self.entries[local].buffer);
        let words = locals.fold(0, |sum, local| {
            let entry = &self.entries[local];
            let end = entry.buffer as usize * CLASS_WORDS[0] + entry.buffered as usize;
            sum ^ self.buffers.words.get(end).copied().unwrap_or_default()
        });
        std::hint::black_box((entries, words));
    }

    /// Returns the words that the buffer of `local` can still take before it must be flushed,
    /// after growing it for `wanted` more as far as its hierarchy goes.
    pub(crate) fn room(&mut self, local: usize, wanted: usize, entry_words: usize) -> usize {
        let entry = self.entries[local];
        let needed = (entry.buffered as usize + wanted).min(ENTRY_WORDS_MAX);
        let class = CLASS_WORDS.iter().position(|&words| words >= needed).unwrap_or(0) as u8;
        if entry.class == NO_CLASS || entry.class < class {
            self.change_class(local, class);
        }
        let entry = self.entries[local];
        let words = CLASS_WORDS[entry.class as usize].min(ENTRY_WORDS_MAX);
        (words - entry.buffered as usize) / entry_words * entry_words
    }

    fn change_class(&mut self, local: usize, class: u8) {
        let old = self.entries[local];
        let buffer = self.buffers.take(class);
        if old.class != NO_CLASS {
            let from = old.buffer as usize * CLASS_WORDS[0];
            let to = buffer as usize * CLASS_WORDS[0];
            self.buffers.words.copy_within(from..from + old.buffered as usize, to);
            self.buffers.free[old.class as usize].push(old.buffer);
            self.buffered_lines -= class_lines(old.class);
        }
        self.buffered_lines += class_lines(class);
        let entry = &mut self.entries[local];
        entry.buffer = buffer;
        entry.class = class;
    }

    /// Returns the free words of the buffer of `local`; [`Self::fill`] counts them as used.
    pub(crate) fn free_words(&mut self, local: usize) -> &mut [u32] {
        let entry = self.entries[local];
        let start = entry.buffer as usize * CLASS_WORDS[0];
        &mut self.buffers.words
            [start + entry.buffered as usize..start + CLASS_WORDS[entry.class as usize]]
    }

    /// Counts `words` more as buffered.
    pub(crate) fn fill(&mut self, local: usize, words: usize) {
        self.entries[local].buffered += words as u8;
    }

    /// Returns the buffered words of `local`, oldest first.
    pub(crate) fn buffered(&self, local: usize) -> &[u32] {
        let entry = &self.entries[local];
        let start = entry.buffer as usize * CLASS_WORDS[0];
        &self.buffers.words[start..start + entry.buffered as usize]
    }

    /// Records that the buffer of `local` now is the block at `place`.
    pub(crate) fn flushed(&mut self, local: usize, place: u32, sequence: u64) {
        let entry = &mut self.entries[local];
        entry.head = place;
        entry.buffered = 0;
        self.head_sequences[local] = sequence as u32;
    }

    /// Gives back every buffer; all must have been flushed.
    pub(crate) fn drop_buffers(&mut self) {
        for entry in &mut self.entries {
            debug_assert_eq!(entry.buffered, 0);
            entry.class = NO_CLASS;
            entry.buffer = 0;
        }
        self.buffers.clear();
        self.buffered_lines = 0;
    }

    /// Returns the bytes of all buffers.
    pub(crate) fn buffer_bytes(&self) -> u64 {
        4 * self.buffers.words.len() as u64
    }

    /// Counts, for each neighbor that `counts` has as a key, how many live edges the list holds.
    pub(crate) fn count_live(
        &self,
        region: &Region,
        local: usize,
        entry_words: usize,
        counts: &mut FxHashMap<VertexId, i64>,
    ) {
        let mut count = |word: u32| {
            if let Some(count) = counts.get_mut(&(word & !DELETION)) {
                *count += if word & DELETION == 0 { 1 } else { -1 };
            }
        };
        self.buffered(local).iter().step_by(entry_words).for_each(|&word| count(word));
        let mut place = self.entries[local].head;
        while place != NO_BLOCK {
            let (entries, previous) = block::entries(region, place);
            entries.iter().step_by(entry_words).for_each(|word| count(word.load(Relaxed)));
            place = previous;
        }
    }

    /// Returns the raw words of the list of `local`.
    pub(crate) fn chain<'a>(&'a self, region: &'a Region, local: usize) -> Chain<'a> {
        match self.entries.get(local) {
            Some(entry) => {
                Chain { region, words: [].iter(), buffer: self.buffered(local), next: entry.head }
            }
            None => Chain { region, words: [].iter(), buffer: &[], next: NO_BLOCK },
        }
    }

    /// Returns the live entries of `local`, newest first, for a list that holds tombstones; the
    /// weight is 1 if there are none.
    pub(crate) fn live(
        &self,
        region: &Region,
        local: usize,
        entry_words: usize,
    ) -> Vec<(u32, f32)> {
        let mut taken_away: FxHashMap<VertexId, u32> = FxHashMap::default();
        let mut live = Vec::with_capacity(self.entries[local].degree as usize);
        let mut keep = |word: u32, weight: Option<u32>| {
            if word & DELETION != 0 {
                *taken_away.entry(word & !DELETION).or_default() += 1;
                return;
            }
            match taken_away.get_mut(&word).filter(|count| **count > 0) {
                Some(count) => *count -= 1,
                None => live.push((word, weight.map_or(1.0, f32::from_bits))),
            }
        };
        for entry in self.buffered(local).chunks_exact(entry_words).rev() {
            keep(entry[0], entry.get(1).copied());
        }
        let mut place = self.entries[local].head;
        while place != NO_BLOCK {
            let (entries, previous) = block::entries(region, place);
            for entry in entries.chunks_exact(entry_words).rev() {
                keep(entry[0].load(Relaxed), entry.get(1).map(|weight| weight.load(Relaxed)));
            }
            place = previous;
        }
        live
    }
}

fn class_lines(class: u8) -> u64 {
    let words = CLASS_WORDS[class.min(CLASS_MAX) as usize].min(ENTRY_WORDS_MAX);
    block::lines_for(words).into()
}

/// The words of a list: the blocks from the newest, then the buffer; within each in order.
pub struct Chain<'a> {
    region: &'a Region,
    words: slice::Iter<'a, AtomicU32>,
    buffer: &'a [u32],
    next: u32,
}

impl Iterator for Chain<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        loop {
            if let Some(word) = self.words.next() {
                return Some(word.load(Relaxed));
            }
            if self.next == NO_BLOCK {
                let (&word, rest) = self.buffer.split_first()?;
                self.buffer = rest;
                return Some(word);
            }
            let (entries, previous) = block::entries(self.region, self.next);
            self.words = entries.iter();
            self.next = previous;
        }
    }
}
