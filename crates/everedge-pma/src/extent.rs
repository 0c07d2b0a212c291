//! The bytes of one array: units of the graph's file or, while that is full, memory.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::header::{self, Header};
use super::shape::{HEAD_BYTES, Shape};
use everedge_live::{Result, Space, UNIT_BYTES};
use everedge_medium::{HeldWords, Region, Site};

const HEAD_MAGIC: u32 = u32::from_le_bytes(*b"PMAR");
const HEAD_WORDS: usize = 8;
/// Whether entries of edge logs can count by themselves: with the words of an entry.
const IS_DIRECT: u32 = 1 << 31;

/// Where an array lies. Its units are free again when the last who reads it is gone.
pub(super) struct Extent {
    pub region: Region,
    /// Its first byte in the region.
    offset: u64,
    /// Start value of its checksums, which holds for this place only.
    salt: u32,
    units: Range<u64>,
    /// Whose units they are; None if somebody else gives them back.
    space: Option<Arc<Space>>,
    is_in_memory: bool,
}

impl Drop for Extent {
    fn drop(&mut self) {
        if let Some(space) = &self.space {
            space.give_back([self.units.clone()]);
        }
    }
}

impl Extent {
    /// Returns the extent that lies in some units of the graph's file.
    pub(super) fn at(
        region: Region,
        salt: u32,
        units: Range<u64>,
        space: Option<Arc<Space>>,
    ) -> Self {
        let salt = crc32c::crc32c_append(salt, &units.start.to_le_bytes());
        let offset = units.start * UNIT_BYTES;
        Self { region, offset, salt, units, space, is_in_memory: false }
    }

    /// Returns the extent that lies in some units of memory.
    pub(super) fn in_memory(space: Arc<Space>, salt: u32, units: Range<u64>) -> Self {
        let mut extent = Self::at(space.region().clone(), salt, units, Some(space));
        extent.is_in_memory = true;
        extent
    }

    /// Returns the first unit on the medium, unless it is in memory.
    pub(super) fn unit(&self) -> Option<u64> {
        (!self.is_in_memory).then_some(self.units.start)
    }

    /// Returns its units.
    pub(super) fn units(&self) -> Range<u64> {
        self.units.clone()
    }

    /// Returns its place in the file, in bytes.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the words of a range of bytes that [`Shape`] gave.
    #[inline]
    pub(super) fn words(&self, range: Range<u64>) -> &[AtomicU32] {
        self.region.words(self.offset + range.start, ((range.end - range.start) / 4) as usize)
    }

    /// Holds the words of lists.
    pub(super) fn hold_lists(&self, shape: &Shape) -> HeldWords {
        let range = shape.words_range(0..shape.capacity);
        self.region.hold(self.offset + range.start, shape.capacity as usize)
    }

    /// Stores words and starts making them persist.
    #[inline]
    #[track_caller]
    pub(super) fn store(&self, site: Site, start: u64, words: &[u32]) {
        let start = self.offset + start;
        self.region.store_words(start, words);
        self.region.flush(site, start..start + 4 * words.len() as u64);
    }

    /// As [`store`](Self::store), past the cache: for words that are not read soon.
    #[track_caller]
    pub(super) fn stream(&self, site: Site, start: u64, words: &[u32]) {
        self.region.stream_words(site, self.offset + start, words);
    }

    /// Waits until all that this thread stored has persisted.
    #[track_caller]
    pub(super) fn fence(&self, site: Site) -> Result<()> {
        self.region.fence(site)
    }

    /// Says in the array's head what it is.
    pub(super) fn write_head(&self, index: u32, shape: &Shape) {
        let Shape { section_count, section_vertices, log_entries, entry_words, capacity, .. } =
            *shape;
        let entry_words = entry_words | if shape.is_direct { IS_DIRECT } else { 0 };
        let words = [HEAD_MAGIC, index, section_count, section_vertices, log_entries, entry_words];
        let mut words = [words.as_slice(), &[capacity, 0]].concat();
        words[HEAD_WORDS - 1] = self.checksum(&words[..HEAD_WORDS - 1]);
        self.store(Site::Array, 0, &words);
    }

    /// Reads the head of an array that lies at `unit`. Returns its number and shape.
    pub(super) fn read_head(region: &Region, salt: u32, unit: u64) -> Option<(u32, Shape)> {
        let start = unit.checked_mul(UNIT_BYTES)?;
        if start.checked_add(HEAD_BYTES)? > region.len() {
            return None;
        }
        let extent = Self::at(region.clone(), salt, unit..unit, None);
        let words = header::copy(extent.words(0..4 * HEAD_WORDS as u64));
        let crc = extent.checksum(&words[..HEAD_WORDS - 1]);
        let is_valid =
            words[0] == HEAD_MAGIC && region.matches(Site::Array, words[HEAD_WORDS - 1], crc);
        let shape = Shape {
            section_count: words[2],
            section_vertices: words[3],
            log_entries: words[4],
            entry_words: words[5] & !IS_DIRECT,
            is_direct: words[5] & IS_DIRECT != 0,
            capacity: words[6],
        };
        let is_inside = || (unit + shape.units()).saturating_mul(UNIT_BYTES) <= region.len();
        (is_valid && shape.is_plausible() && is_inside()).then_some((words[1], shape))
    }

    /// Stores a header of a section into a slot.
    #[track_caller]
    pub(super) fn write_header(
        &self,
        shape: &Shape,
        (section, slot): (usize, usize),
        header: &Header,
    ) -> u32 {
        let offset = shape.header_offset(section, slot);
        let words = header.encode(self.salt_at(offset));
        self.store(Site::SectionHeader, offset, &words);
        words[0]
    }

    /// Makes durable what the headers of some sections say, which were found: all at once, since a file's
    /// pages are read again after they were written past the cache.
    ///
    /// # Errors
    /// If the device does not take it.
    pub(super) fn store_headers_again(&self, shape: &Shape, sections: Range<usize>) -> Result<()> {
        let at = |section: usize| self.offset + shape.header_offset(section, 0);
        self.region.rewrite(Site::ArraysFound, at(sections.start)..at(sections.end))
    }

    /// Takes away what an earlier array may have left in a slot.
    pub(super) fn clear_header(&self, shape: &Shape, section: usize, slot: usize) {
        let start = self.offset + shape.header_offset(section, slot);
        self.region.wipe(Site::SectionHeader, start..start + 16);
    }

    /// Returns the stamp of the header in a slot, whole or not.
    pub(super) fn stamp(&self, shape: &Shape, section: usize, slot: usize) -> u32 {
        let offset = shape.header_offset(section, slot);
        self.words(offset + 4..offset + 8)[0].load(Relaxed)
    }

    /// Reads the header in a slot, if it is whole, and its checksum.
    pub(super) fn read_header(
        &self,
        shape: &Shape,
        section: usize,
        slot: usize,
    ) -> Option<(Header, u32)> {
        let offset = shape.header_offset(section, slot);
        let words = header::copy(self.words(offset..offset + 4 * shape.header_words() as u64));
        Header::decode(&words, self.salt_at(offset), |expected, found| {
            self.region.matches(Site::SectionHeader, expected, found)
        })
        .map(|header| (header, words[0]))
    }

    /// Returns the entries of an edge log, each of [`Shape::log_entry_words`] words.
    #[inline]
    pub(super) fn log<'a>(
        &'a self,
        shape: &Shape,
        section: usize,
        count: usize,
    ) -> impl DoubleEndedIterator<Item = LogEntry<'a>> + ExactSizeIterator {
        let words = self.words(shape.log_range(section, 0..count));
        let len = 1 + shape.entry_words as usize;
        words.chunks_exact(shape.log_entry_words()).map(move |words| LogEntry(&words[..len]))
    }

    /// Returns one entry of an edge log.
    #[inline]
    pub(super) fn log_entry(&self, shape: &Shape, section: usize, place: usize) -> LogEntry<'_> {
        let start = shape.log_range(section, place..place).start;
        LogEntry(self.words(start..start + 4 * (1 + u64::from(shape.entry_words))))
    }

    /// Returns the start value of the checksums of what begins at an offset.
    pub(super) fn salt_at(&self, offset: u64) -> u32 {
        crc32c::crc32c_append(self.salt, &offset.to_le_bytes())
    }

    fn checksum(&self, words: &[u32]) -> u32 {
        crc32c::crc32c_append(self.salt, bytemuck::cast_slice(words))
    }
}

/// An entry of an edge log: whose list it belongs to and which entry was before it there, and the
/// words of an entry of the list.
#[derive(Clone, Copy)]
pub(super) struct LogEntry<'a>(&'a [AtomicU32]);

impl<'a> LogEntry<'a> {
    /// Returns the first word of such an entry; `previous` is the place of the one before it in the
    /// list plus one, or 0.
    pub(super) fn link(local: usize, previous: u16) -> u32 {
        local as u32 | u32::from(previous) << 16
    }

    /// Returns the local vertex whose list it belongs to.
    #[inline]
    pub(super) fn local(&self) -> usize {
        (self.0[0].load(Relaxed) & 0xffff) as usize
    }

    /// Returns the place of the entry before it in the list plus one, or 0.
    #[inline]
    pub(super) fn previous(&self) -> u16 {
        (self.0[0].load(Relaxed) >> 16) as u16
    }

    /// Returns the words for the list.
    #[inline]
    pub(super) fn words(&self) -> &'a [AtomicU32] {
        &self.0[1..]
    }
}
