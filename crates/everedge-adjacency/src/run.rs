//! Runs: the neighbor lists of consecutive vertices, one after the other, as compaction writes
//! them.
//!
//! A run holds one list of [`SPAN`] vertices like a piece of a CSR: a header of 16 words with a
//! bit for each id that is a vertex, where each list ends, then the entries. It begins with a
//! unit and takes whole ones. It is written once, and stands for everything that its vertices'
//! list held up to its sequence number: blocks that follow say so. `docs/format.md` §4 draws it.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_core::VertexId;
use everedge_core::memory::prefetch;

use super::block::{LINE_BYTES, UNIT_LINES, place_salt};
use everedge_medium::{Region, Site, crc_of_shared};

/// Vertices of a run.
pub(crate) const SPAN: usize = 256;
/// Words of a bit for each vertex.
pub(crate) const VERTEX_WORDS: usize = SPAN / 32;

const FIELD_WORDS: usize = 8;
/// Marks a run, which is no block.
const IS_RUN: u32 = 1 << 31;
const ENDS_START: usize = FIELD_WORDS + VERTEX_WORDS;
const ENTRIES_START: usize = ENDS_START + SPAN;
const LINE_WORDS: usize = LINE_BYTES as usize / 4;
const UNIT_WORDS: usize = UNIT_LINES as usize * LINE_WORDS;

/// What a run says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RunHeader {
    /// The first of its vertices, a multiple of [`SPAN`].
    pub first_vertex: VertexId,
    /// 0 for out-neighbors, 1 for in-neighbors.
    pub list: usize,
    /// The lists are complete up to and including the update of this number.
    pub sequence: u64,
    /// Words of entries.
    pub entry_words: u32,
    /// A bit for each id that was a vertex after that update.
    pub vertices: [u32; VERTEX_WORDS],
}

impl RunHeader {
    /// Returns how many units the run takes.
    pub(crate) fn units(&self) -> u64 {
        units_for(self.entry_words as usize)
    }

    fn encode(&self) -> [u32; ENDS_START] {
        let mut words = [0; ENDS_START];
        words[1] = self.first_vertex | (self.list as u32) << 31;
        words[2] = self.entry_words;
        words[4] = self.sequence as u32;
        words[5] = (self.sequence >> 32) as u32 | IS_RUN;
        words[FIELD_WORDS..].copy_from_slice(&self.vertices);
        words
    }

    fn decode(words: &[AtomicU32]) -> Option<Self> {
        let word = |index: usize| words[index].load(Relaxed);
        let header = Self {
            first_vertex: word(1) & !(1 << 31),
            list: (word(1) >> 31) as usize,
            entry_words: word(2),
            sequence: u64::from(word(4)) | u64::from(word(5) & 0xffff) << 32,
            vertices: std::array::from_fn(|index| word(FIELD_WORDS + index)),
        };
        let is_run = word(5) >> 16 == IS_RUN >> 16 && word(6) == 0 && word(7) == 0;
        (is_run && header.first_vertex.is_multiple_of(SPAN as u32)).then_some(header)
    }
}

/// Returns the units of a run with so many words of entries.
pub(crate) fn units_for(entry_words: usize) -> u64 {
    (ENTRIES_START + entry_words).div_ceil(UNIT_WORDS) as u64
}

/// Writes a run from the line `place` on; the list of the vertex number `i` of the run ends before
/// the word `ends[i]` of `entries`. Returns its checksum.
pub(crate) fn write(
    region: &Region,
    salt: u32,
    place: u32,
    header: &RunHeader,
    (ends, entries): (&[u32; SPAN], &[u32]),
) -> u32 {
    let mut words = Vec::with_capacity(ENTRIES_START + entries.len());
    words.extend(header.encode());
    words.extend(ends);
    words.extend_from_slice(entries);
    let crc = crc32c::crc32c_append(place_salt(salt, place), bytemuck::cast_slice(&words[1..]));
    words[0] = crc;
    let offset = u64::from(place) * LINE_BYTES;
    region.store_words(offset, &words);
    region.flush(Site::Run, offset..offset + 4 * (ENTRIES_START + entries.len()) as u64);
    crc
}

/// Reads and checks the run at the line `place`, the first of a unit, if a whole one is there.
pub(crate) fn read(region: &Region, salt: u32, place: u32) -> Option<(RunHeader, u32)> {
    let offset = u64::from(place) * LINE_BYTES;
    let available = ((region.len() - offset) / 4) as usize;
    if available < ENTRIES_START {
        return None;
    }
    let header = RunHeader::decode(region.words(offset, ENDS_START))?;
    let used = ENTRIES_START + header.entry_words as usize;
    if used > available {
        return None;
    }
    let words = region.words(offset, used);
    let (expected, found) =
        (words[0].load(Relaxed), crc_of_shared(place_salt(salt, place), &words[1..]));
    let ends = &words[ENDS_START..ENTRIES_START];
    let ascends = ends.windows(2).all(|pair| pair[0].load(Relaxed) <= pair[1].load(Relaxed));
    let fits = ends[SPAN - 1].load(Relaxed) == header.entry_words;
    (ascends && fits && region.matches(Site::Run, expected, found)).then_some((header, expected))
}

/// Returns the entries of the vertex number `index` of the run at `place`, which was checked
/// before.
#[inline]
pub(crate) fn entries(region: &Region, place: u32, index: usize) -> &[AtomicU32] {
    let (start, end) = bounds(region, place, index);
    let offset = u64::from(place) * LINE_BYTES + 4 * ENTRIES_START as u64;
    region.words(offset + 4 * u64::from(start), (end - start) as usize)
}

/// Returns where each list of the run at `place` ends, and all entries; it was checked before.
pub(crate) fn lists(region: &Region, place: u32) -> (&[AtomicU32], &[AtomicU32]) {
    let offset = u64::from(place) * LINE_BYTES + 4 * ENDS_START as u64;
    let ends = region.words(offset, SPAN);
    let len = ends[SPAN - 1].load(Relaxed) as usize;
    (ends, region.words(offset + 4 * SPAN as u64, len))
}

/// Returns the number of the first word of the run at the line `place` of a file.
pub(crate) fn first_word(place: u32) -> usize {
    place as usize * LINE_WORDS
}

/// A run as views read it, in a file that is held.
#[derive(Clone, Copy)]
pub(crate) struct Run<'a> {
    head: &'a [AtomicU32; ENTRIES_START],
    /// The entries, and what follows them in the file.
    words: &'a [AtomicU32],
}

impl<'a> Run<'a> {
    /// Returns the run at the line `place` of a file, unless that ends before.
    #[inline(always)]
    pub(crate) fn at(file: &'a [AtomicU32], place: u32) -> Option<Self> {
        Self::of(file.get(first_word(place)..)?)
    }

    /// Returns the run that these words begin with, unless there are too few.
    #[inline(always)]
    pub(crate) fn of(words: &'a [AtomicU32]) -> Option<Self> {
        let (head, words) = words.split_first_chunk()?;
        Some(Self { head, words })
    }

    /// Returns where the list of each vertex ends, and all entries.
    #[inline]
    pub(crate) fn lists(self) -> (&'a [AtomicU32], &'a [AtomicU32]) {
        let ends = &self.head[ENDS_START..];
        (ends, &self.words[..ends[SPAN - 1].load(Relaxed) as usize])
    }

    /// Returns the entries of a vertex of the run.
    #[inline(always)]
    pub(crate) fn entries(self, v: VertexId) -> &'a [AtomicU32] {
        &self.words[self.bounds(v)]
    }

    /// Returns how many words these are.
    #[inline]
    pub(crate) fn len(self, v: VertexId) -> u32 {
        self.bounds(v).len() as u32
    }

    /// Starts loading where lists end into the cache, and the first of them.
    #[inline]
    pub(crate) fn prefetch_ends(self) {
        self.head.chunks(LINE_WORDS).for_each(prefetch);
        self.words.chunks(LINE_WORDS).take(4).for_each(prefetch);
    }

    /// Starts loading where the list of a vertex lies into the cache.
    #[inline(always)]
    pub(crate) fn prefetch_bounds(self, v: VertexId) {
        prefetch(&self.head[Self::before_end(v)..]);
    }

    /// Starts loading the first entries of a vertex into the cache.
    #[inline(always)]
    pub(crate) fn prefetch_entries(self, v: VertexId) {
        // Of the first vertex it is a word of bits, and then may be nowhere.
        let start = self.head[Self::before_end(v)].load(Relaxed);
        prefetch(self.words.get(start as usize..).unwrap_or_default());
    }

    #[inline(always)]
    fn bounds(self, v: VertexId) -> Range<usize> {
        let before = Self::before_end(v);
        let [start, end] = [before, before + 1].map(|i| self.head[i].load(Relaxed) as usize);
        (if before < ENDS_START { 0 } else { start })..end
    }

    /// Returns which word stands before the end of a list: that of the one before or, of the first
    /// vertex, one of bits.
    #[inline(always)]
    fn before_end(v: VertexId) -> usize {
        ENDS_START - 1 + v as usize % SPAN
    }
}

#[inline]
fn bounds(region: &Region, place: u32, index: usize) -> (u32, u32) {
    let words = region.words(bounds_offset(place, index), 2);
    let start = if index == 0 { 0 } else { words[0].load(Relaxed) };
    (start, words[1].load(Relaxed))
}

/// Where the end of the list before that of the vertex number `index` stands; its own follows.
#[inline]
fn bounds_offset(place: u32, index: usize) -> u64 {
    // The word before the first end is one of bits.
    u64::from(place) * LINE_BYTES + 4 * (ENDS_START + index - 1) as u64
}
