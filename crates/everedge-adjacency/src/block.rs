//! Adjacency blocks: the units in which a vertex's neighbors reach the medium.
//!
//! A block is one to three lines of 64 bytes inside one unit of 256 bytes (an XPLine), or up to 16
//! whole units, written once and never changed: a header of five words, then the entries. Blocks of
//! a vertex are linked from the newest to the oldest. `docs/format.md` §4 draws it.
//!
//! The checksum covers the block's own place, so that a copy elsewhere is not taken for a block.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_core::VertexId;

use everedge_medium::{Region, Site, crc_of_shared};

/// Bytes of a line: the unit of places and of flushing.
pub(crate) const LINE_BYTES: u64 = 64;
/// Lines of an XPLine, which no block crosses.
pub(crate) const UNIT_LINES: u32 = 4;
/// Words of a block's header.
pub(crate) const HEADER_WORDS: usize = 5;
/// The place of no block.
pub(crate) const NO_BLOCK: u32 = 0;

const LINE_WORDS: usize = 16;
const UNIT_WORDS: usize = UNIT_LINES as usize * LINE_WORDS;
/// Lines of the largest block.
pub(crate) const LINES_MAX: u32 = 64;
const WORDS_MAX: usize = LINES_MAX as usize * LINE_WORDS;
/// Words of entries of the largest block.
pub(crate) const ENTRY_WORDS_MAX: usize = WORDS_MAX - HEADER_WORDS;
const IN_LIST: u32 = 1 << 31;
const ENTRY_WORDS_BITS: u32 = 11;
const COUNTS_END: u32 = 1 << (16 + ENTRY_WORDS_BITS);
const SEQUENCE_BITS: u32 = 48;

/// What a block says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockHeader {
    /// Whose neighbors these are.
    pub vertex: VertexId,
    /// 0 for out-neighbors, 1 for in-neighbors.
    pub list: usize,
    /// The place of the block before this one, or [`NO_BLOCK`].
    pub previous: u32,
    /// The list is complete up to and including the update of this number.
    pub sequence: u64,
    /// Words of entries.
    pub entry_words: usize,
}

impl BlockHeader {
    /// Returns how many lines the block takes.
    pub(crate) fn lines(&self) -> u32 {
        lines_for(self.entry_words)
    }

    fn encode(&self) -> [u32; HEADER_WORDS] {
        debug_assert!(self.sequence >> SEQUENCE_BITS == 0);
        let counts = (self.sequence >> 32) as u32 | (self.entry_words as u32) << 16;
        let vertex = self.vertex | if self.list == 1 { IN_LIST } else { 0 };
        [0, vertex, self.previous, self.sequence as u32, counts]
    }

    fn decode(words: &[AtomicU32]) -> Option<Self> {
        let word = |index: usize| words[index].load(Relaxed);
        let counts = word(4);
        let header = Self {
            vertex: word(1) & !IN_LIST,
            list: (word(1) >> 31) as usize,
            previous: word(2),
            sequence: u64::from(word(3)) | u64::from(counts & 0xffff) << 32,
            entry_words: entry_words(counts),
        };
        (counts < COUNTS_END && header.entry_words <= ENTRY_WORDS_MAX).then_some(header)
    }
}

fn entry_words(counts: u32) -> usize {
    (counts >> 16) as usize % (1 << ENTRY_WORDS_BITS)
}

/// Returns the lines of a block with so many words of entries.
pub(crate) fn lines_for(entry_words: usize) -> u32 {
    (HEADER_WORDS + entry_words).div_ceil(LINE_WORDS) as u32
}

/// Writes a block of `entries` at the line `place`. Returns its checksum.
pub(crate) fn write(
    region: &Region,
    salt: u32,
    place: u32,
    header: &BlockHeader,
    entries: &[AtomicU32],
) -> u32 {
    // Most blocks are one unit: a copy of the largest size would cost more than all else.
    match header.lines() <= UNIT_LINES {
        true => write_through::<{ UNIT_WORDS }>(region, salt, place, header, entries),
        false => write_through::<{ WORDS_MAX }>(region, salt, place, header, entries),
    }
}

fn write_through<const WORDS: usize>(
    region: &Region,
    salt: u32,
    place: u32,
    header: &BlockHeader,
    entries: &[AtomicU32],
) -> u32 {
    let mut words = [0; WORDS];
    words[..HEADER_WORDS].copy_from_slice(&header.encode());
    let used = HEADER_WORDS + entries.len();
    for (word, entry) in words[HEADER_WORDS..used].iter_mut().zip(entries) {
        *word = entry.load(Relaxed);
    }
    let crc = crc32c::crc32c_append(place_salt(salt, place), bytemuck::cast_slice(&words[1..used]));
    words[0] = crc;
    let offset = u64::from(place) * LINE_BYTES;
    let stored = used.next_multiple_of(LINE_WORDS);
    region.store_words(offset, &words[..stored]);
    region.flush(Site::Block, offset..offset + 4 * stored as u64);
    crc
}

/// Reads and checks the block at the line `place`, if a whole one is there.
pub(crate) fn read(region: &Region, salt: u32, place: u32) -> Option<(BlockHeader, u32)> {
    let offset = u64::from(place) * LINE_BYTES;
    let room = match place % UNIT_LINES {
        0 => LINES_MAX.min(((region.len() - offset) / LINE_BYTES) as u32),
        line => UNIT_LINES - line,
    } as usize
        * LINE_WORDS;
    let words = region.words(offset, room);
    let expected = words[0].load(Relaxed);
    let header = BlockHeader::decode(words)?;
    let used = HEADER_WORDS + header.entry_words;
    if used > room || (expected == 0 && header.vertex == 0 && header.sequence == 0) {
        return None;
    }
    let found = crc_of_shared(place_salt(salt, place), &words[1..used]);
    region.matches(Site::Block, expected, found).then_some((header, expected))
}

/// Starts loading the unit that the block at `place` lies in into the cache. For no block that is
/// the file's header: a test for it would cost more than the load.
#[inline]
pub(crate) fn prefetch(region: &Region, place: u32) {
    region.prefetch::<UNIT_WORDS>(u64::from(place / UNIT_LINES * UNIT_LINES) * LINE_BYTES);
}

/// Returns the entries of the block at `place`, which was checked before, and the place of the
/// one before it.
#[inline]
pub(crate) fn entries(region: &Region, place: u32) -> (&[AtomicU32], u32) {
    let offset = u64::from(place) * LINE_BYTES;
    let header = region.words(offset, HEADER_WORDS);
    let count = entry_words(header[4].load(Relaxed));
    let entries = region.words(offset + 4 * HEADER_WORDS as u64, count);
    (entries, header[2].load(Relaxed))
}

/// As [`entries`], of a file that is held.
#[inline]
pub(crate) fn held_entries(file: &[AtomicU32], place: u32) -> (&[AtomicU32], u32) {
    let (header, rest) = file[place as usize * LINE_WORDS..].split_at(HEADER_WORDS);
    (&rest[..entry_words(header[4].load(Relaxed))], header[2].load(Relaxed))
}

pub(crate) fn place_salt(salt: u32, place: u32) -> u32 {
    salt ^ place.wrapping_mul(0x9e37_79b1)
}
