//! The neighbor lists of one shard: an entry a vertex, vertex buffers, chains of blocks.
//!
//! Source: XPGraph §3.1 (vertex-centric buffering), §3.2 (hierarchical buffers).
//!
//! # Invariants
//! - L1: a list is its chain of blocks, oldest first, then what was spilled, then its buffer; a
//!   tombstone takes away the newest equal neighbor before it, and is there only if one was.
//! - L2: `degree` counts the neighbors that no tombstone took away.

use std::ops::Range;
use std::slice;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_core::VertexId;
use rustc_hash::FxHashMap;

use super::block::{self, ENTRY_WORDS_MAX, NO_BLOCK};
use super::shard::{Context, Update};
use crate::batch::DELETION;
use crate::medium::{Region, prefetch};

/// Words of the buffers of each class: none, then 16 to 256 bytes. The largest is flushed when it
/// has the entries of one full block.
const CLASS_WORDS: [usize; 6] = [0, 4, 8, 16, 32, 64];
const CLASS_MAX: u8 = CLASS_WORDS.len() as u8 - 1;
/// Buffers are aligned to, and found in steps of, so many words.
const STEP_WORDS: usize = CLASS_WORDS[1];
/// How many vertices after one that is read the next list is loaded into the cache.
const READ_AHEAD: usize = 8;
/// Words of the chunks that buffers are cut from.
const CHUNK_WORDS: usize = 4096;

/// One vertex in a list.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Entry {
    /// The place of the newest block, or [`NO_BLOCK`].
    pub head: u32,
    /// Neighbors (L2).
    pub degree: u32,
    /// Where the buffer begins, in steps.
    buffer: u32,
    /// Words in the buffer.
    buffered: u8,
    class: u8,
    /// Whether the list holds a tombstone.
    pub has_tombstones: bool,
    /// Whether some of the list was spilled.
    pub has_spills: bool,
}

impl Entry {
    /// Whether the list is just what its buffer and its blocks hold.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        !(self.has_tombstones | self.has_spills)
    }
}

/// Vertex buffers of five sizes. A freed buffer, or what is left of one that was cut, is used
/// again by its size.
///
/// The pool is the place where a buddy allocator would stand.
///
/// Words are atomic only to be read as those of blocks are; one thread at a time changes them.
#[derive(Debug, Default)]
struct Buffers {
    chunks: Vec<Box<[AtomicU32]>>,
    free: [Vec<u32>; CLASS_WORDS.len()],
}

impl Buffers {
    fn take(&mut self, class: u8) -> u32 {
        if let Some(buffer) = self.free[class as usize].pop() {
            return buffer;
        }
        if class < CLASS_MAX {
            let whole = self.take(class + 1);
            self.free[class as usize]
                .push(whole + (CLASS_WORDS[class as usize] / STEP_WORDS) as u32);
            return whole;
        }
        const STEPS: u32 = (CHUNK_WORDS / STEP_WORDS) as u32;
        let first = self.chunks.len() as u32 * STEPS;
        self.chunks.push(bytemuck::zeroed_slice_box(CHUNK_WORDS));
        let whole = CLASS_WORDS[class as usize] / STEP_WORDS;
        self.free[class as usize].extend((first..first + STEPS).step_by(whole).skip(1).rev());
        first
    }

    /// Returns the words `range` of a buffer.
    #[inline]
    fn words(&self, buffer: u32, range: Range<usize>) -> &[AtomicU32] {
        let start = buffer as usize * STEP_WORDS;
        match self.chunks.get(start / CHUNK_WORDS) {
            Some(chunk) => &chunk[start % CHUNK_WORDS..][range],
            None => &[],
        }
    }

    #[inline]
    fn words_mut(&mut self, buffer: u32, range: Range<usize>) -> &mut [AtomicU32] {
        let start = buffer as usize * STEP_WORDS;
        &mut self.chunks[start / CHUNK_WORDS][start % CHUNK_WORDS..][range]
    }

    fn clear(&mut self) {
        self.chunks.clear();
        self.free.iter_mut().for_each(Vec::clear);
    }
}

impl Clone for Buffers {
    fn clone(&self) -> Self {
        let copy = |word: &AtomicU32| AtomicU32::new(word.load(Relaxed));
        let chunks = self.chunks.iter().map(|chunk| chunk.iter().map(copy).collect()).collect();
        Self { chunks, free: self.free.clone() }
    }
}

/// A buffer that would have become a block, but there was no room on the medium.
#[derive(Clone, Debug)]
pub(crate) struct Spill {
    /// The list is complete up to and including the update of this number.
    pub sequence: u64,
    pub words: Vec<u32>,
}

/// Neighbors of one direction for the vertices of one shard.
#[derive(Clone, Debug, Default)]
pub(crate) struct List {
    pub entries: Vec<Entry>,
    /// The low half of the sequence number of each newest block.
    pub head_sequences: Vec<u32>,
    buffers: Buffers,
    /// By local vertex, the oldest first.
    spills: FxHashMap<u32, Vec<Spill>>,
}

impl List {
    /// Makes room for `count` vertices.
    pub(crate) fn grow(&mut self, count: usize) {
        if self.entries.len() < count {
            self.entries.resize(count, Entry::default());
            self.head_sequences.resize(count, 0);
        }
    }

    /// Starts loading the end of the buffer of `local`, if there is one, into the cache.
    #[inline]
    pub(crate) fn warm(&self, local: Option<usize>) {
        let Some(entry) = local.map(|local| &self.entries[local]) else { return };
        let start = entry.buffer as usize * STEP_WORDS;
        if let Some(chunk) = self.buffers.chunks.get(start / CHUNK_WORDS) {
            prefetch(&chunk[start % CHUNK_WORDS + entry.buffered as usize..]);
        }
    }

    /// Appends insertions to the buffer of `local` if that makes it neither grow nor full.
    #[inline]
    pub(crate) fn append(&mut self, context: &Context, local: usize, updates: &[Update]) -> bool {
        let entry = &self.entries[local];
        let end = entry.buffered as usize + updates.len() * context.entry_words;
        let limit = ENTRY_WORDS_MAX - context.entry_words;
        let fits = end <= CLASS_WORDS[entry.class as usize].min(limit);
        if fits {
            self.fill(context, local, updates);
        }
        fits
    }

    /// Returns the words that the buffer of `local` can still take before it must be flushed,
    /// after growing it for `wanted` more as far as its hierarchy goes.
    pub(crate) fn room(&mut self, local: usize, wanted: usize, entry_words: usize) -> usize {
        let entry = self.entries[local];
        let needed = (entry.buffered as usize + wanted).min(ENTRY_WORDS_MAX);
        if CLASS_WORDS[entry.class as usize] < needed {
            let class = CLASS_WORDS.iter().position(|&words| words >= needed);
            self.change_class(local, class.map_or(CLASS_MAX, |class| class as u8));
        }
        let entry = self.entries[local];
        let words = CLASS_WORDS[entry.class as usize].min(ENTRY_WORDS_MAX);
        (words - entry.buffered as usize) / entry_words * entry_words
    }

    fn change_class(&mut self, local: usize, class: u8) {
        let old = self.entries[local];
        let buffer = self.buffers.take(class);
        if old.class != 0 {
            let mut copy = [0; CLASS_WORDS[CLASS_MAX as usize]];
            let words = copy_words(self.buffered(local), &mut copy);
            let to = self.buffers.words_mut(buffer, 0..words.len());
            to.iter_mut().zip(words).for_each(|(to, &word)| *to.get_mut() = word);
            self.buffers.free[old.class as usize].push(old.buffer);
        }
        let entry = &mut self.entries[local];
        entry.buffer = buffer;
        entry.class = class;
    }

    /// Appends entries to the buffer of `local`, which has [`Self::room`] for them.
    #[inline]
    pub(crate) fn fill(&mut self, context: &Context, local: usize, updates: &[Update]) {
        let entry = &mut self.entries[local];
        let used = entry.buffered as usize;
        let end = used + updates.len() * context.entry_words;
        entry.buffered = end as u8;
        write_entries(context, updates, self.buffers.words_mut(entry.buffer, used..end));
    }

    /// Returns the buffered words of `local`, oldest first.
    #[inline]
    pub(crate) fn buffered(&self, local: usize) -> &[AtomicU32] {
        let entry = &self.entries[local];
        self.buffers.words(entry.buffer, 0..entry.buffered as usize)
    }

    /// Makes the block at `place` the newest of `local`.
    pub(crate) fn link(&mut self, local: usize, place: u32, sequence: u64) {
        self.entries[local].head = place;
        self.head_sequences[local] = sequence as u32;
    }

    /// Empties the buffer of `local`, whose words are elsewhere now.
    pub(crate) fn empty_buffer(&mut self, local: usize) {
        self.entries[local].buffered = 0;
    }

    /// Keeps what would have become blocks in memory, after what is kept already.
    pub(crate) fn spill(&mut self, local: usize, spills: impl IntoIterator<Item = Spill>) {
        self.entries[local].has_spills = true;
        self.spills.entry(local as u32).or_default().extend(spills);
    }

    /// Takes all that was spilled of `local`, the oldest first.
    pub(crate) fn take_spills(&mut self, local: usize) -> Vec<Spill> {
        self.entries[local].has_spills = false;
        self.spills.remove(&(local as u32)).unwrap_or_default()
    }

    /// Gives back every buffer; all must have been flushed.
    pub(crate) fn drop_buffers(&mut self) {
        for entry in &mut self.entries {
            debug_assert_eq!(entry.buffered, 0);
            entry.class = 0;
            entry.buffer = 0;
        }
        self.buffers.clear();
    }

    /// Returns the bytes of all buffers.
    pub(crate) fn buffer_bytes(&self) -> u64 {
        (4 * CHUNK_WORDS * self.buffers.chunks.len()) as u64
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
        let buffered = self.buffered(local).iter().step_by(entry_words);
        buffered.for_each(|word| count(word.load(Relaxed)));
        let spilled = self.spilled(local).flat_map(|spill| spill.words.iter().step_by(entry_words));
        spilled.for_each(|&word| count(word));
        let mut place = self.entries[local].head;
        while place != NO_BLOCK {
            let (entries, previous) = block::entries(region, place);
            entries.iter().step_by(entry_words).for_each(|word| count(word.load(Relaxed)));
            place = previous;
        }
    }

    /// Returns the raw words of the list of `local`. Whoever asks for one list is likely to ask
    /// for one soon after it: the beginning of that one is loaded into the cache.
    #[inline(always)]
    pub(crate) fn chain<'a>(&'a self, region: &'a Region, local: usize) -> Chain<'a> {
        let entry = &self.entries[local];
        if let Some(ahead) = self.entries.get(local + READ_AHEAD) {
            block::prefetch(region, ahead.head);
            prefetch(self.buffered(local + READ_AHEAD));
        }
        Chain { words: self.buffered(local).iter(), next: entry.head, region }
    }

    fn spilled(&self, local: usize) -> impl DoubleEndedIterator<Item = &Spill> {
        self.spills.get(&(local as u32)).into_iter().flatten()
    }

    /// Returns the live entries of `local`, newest first, for a list that is not plain; the weight
    /// is 1 if there are none.
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
        let mut chain = self.chain(region, local);
        let mut keep_all = |words: &[AtomicU32]| {
            for entry in words.chunks_exact(entry_words).rev() {
                keep(entry[0].load(Relaxed), entry.get(1).map(|weight| weight.load(Relaxed)));
            }
        };
        keep_all(chain.words.as_slice());
        for spill in self.spilled(local).rev() {
            keep_all(&spill.words.iter().map(|&word| AtomicU32::new(word)).collect::<Vec<_>>());
        }
        while let Some(entries) = chain.next_block() {
            keep_all(entries);
        }
        live
    }
}

/// Writes updates as entries: a neighbor, and its weight if there are weights.
#[inline]
fn write_entries(context: &Context, updates: &[Update], words: &mut [AtomicU32]) {
    if context.entry_words == 1 {
        for (word, update) in words.iter_mut().zip(updates) {
            *word.get_mut() = update.neighbor();
        }
        return;
    }
    for (entry, update) in words.chunks_exact_mut(2).zip(updates) {
        *entry[0].get_mut() = update.neighbor();
        *entry[1].get_mut() = context.weight(*update);
    }
}

/// Copies shared words into `copy`. Returns those copied.
pub(crate) fn copy_words<'a>(words: &[AtomicU32], copy: &'a mut [u32]) -> &'a [u32] {
    for (to, word) in copy.iter_mut().zip(words) {
        *to = word.load(Relaxed);
    }
    &copy[..words.len()]
}

/// The words of a list in pieces: the buffer, then the blocks from the newest to the oldest; each
/// piece in order.
#[derive(Clone)]
pub(crate) struct Chain<'a> {
    words: slice::Iter<'a, AtomicU32>,
    next: u32,
    region: &'a Region,
}

impl<'a> Chain<'a> {
    /// Returns a list without words.
    #[inline]
    pub(crate) fn empty(region: &'a Region) -> Self {
        Self { words: [].iter(), next: NO_BLOCK, region }
    }

    /// Returns the entries of the next block, if there is one.
    #[inline]
    fn next_block(&mut self) -> Option<&'a [AtomicU32]> {
        if self.next == NO_BLOCK {
            return None;
        }
        let (entries, previous) = block::entries(self.region, self.next);
        block::prefetch(self.region, previous);
        self.next = previous;
        Some(entries)
    }

    /// Goes to the next block and returns its first word.
    #[inline(never)]
    fn first_of_next_block(&mut self) -> Option<u32> {
        loop {
            self.words = self.next_block()?.iter();
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
            None => self.first_of_next_block(),
        }
    }

    #[inline]
    fn fold<B, F: FnMut(B, u32) -> B>(mut self, init: B, mut f: F) -> B {
        let mut folded = fold_words(self.words.as_slice(), init, &mut f);
        while let Some(entries) = self.next_block() {
            folded = fold_words(entries, folded, &mut f);
        }
        folded
    }
}

/// Folds one piece of a list, not inlined: there the compiler would keep what is folded in memory,
/// for the sake of the calls between pieces.
#[inline(never)]
fn fold_words<B>(words: &[AtomicU32], init: B, f: &mut impl FnMut(B, u32) -> B) -> B {
    let mut folded = init;
    for word in words {
        folded = f(folded, word.load(Relaxed));
    }
    folded
}
