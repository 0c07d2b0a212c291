//! Where the parts of one array lie: head, section headers, edge logs, words.

use std::ops::Range;

use super::options::{LogFirst, PmaOptions};
use everedge_live::{SHARD_SPAN, UNIT_BYTES};

/// Bytes of a cache line, at which parts begin.
const LINE_BYTES: u64 = 64;
/// Bytes of an array's head.
pub(super) const HEAD_BYTES: u64 = LINE_BYTES;
/// Words of a section's header before the places of its lists.
pub(super) const HEADER_WORDS: usize = 14;
/// Vertices of a section at most.
pub(super) const SECTION_VERTICES_MAX: usize = 64;
/// An edge log takes at most this share of the bytes of its section's words,
const LOG_SHARE: u32 = 4;
/// or as many as they have, where single edges are stored there first.
const DIRECT_LOG_SHARE: u32 = 1;
/// Words of an entry of an edge log by which it counts by itself: its number in two, and a check.
pub(super) const DIRECT_WORDS: usize = 3;
/// Places of words leave two bits for marks.
pub(super) const CAPACITY_MAX: u32 = 1 << 30;
/// Entries of an edge log are counted in 16 bits.
const LOG_ENTRIES_MAX: u32 = u16::MAX as u32 - 1;

/// The sizes of an array, from which all places in it follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Sections, of [`Shape::section_vertices`] each.
    pub section_count: u32,
    /// Vertices of a section.
    pub section_vertices: u32,
    /// Entries of a section's edge log.
    pub log_entries: u32,
    /// Words of an entry of a list: a neighbor, and its weight if there are weights.
    pub entry_words: u32,
    /// Whether entries of edge logs can count by themselves.
    pub is_direct: bool,
    /// Words for lists and gaps.
    pub capacity: u32,
}

impl Shape {
    /// Returns the shape of an array of so many sections with room for `words` of lists, filled to so
    /// many percent.
    pub(super) fn new(
        options: &PmaOptions,
        entry_words: usize,
        section_count: usize,
        (words, percent): (u64, u32),
    ) -> Self {
        let (section_count, entry_words) = (section_count as u32, entry_words as u32);
        let filled = words * 100 / u64::from(percent);
        // A gap for every other vertex, or for each of a small array.
        let gaps = (filled - words).max(u64::from(section_count * options.section_vertices / 2));
        let capacity = (words + gaps).next_multiple_of(16 * u64::from(entry_words));
        // What is too long for an array is not plausible.
        let capacity = capacity.min(u64::from(CAPACITY_MAX) + 1) as u32;
        let section_bytes = 4 * u64::from(capacity) / u64::from(section_count);
        let is_direct = options.log_first == LogFirst::No;
        let log_share = if is_direct { DIRECT_LOG_SHARE } else { LOG_SHARE };
        let log_bytes = (section_bytes / u64::from(log_share)).min(options.edge_log_bytes.into());
        let section_vertices = options.section_vertices;
        let shape = Self {
            section_count,
            section_vertices,
            log_entries: 0,
            entry_words,
            is_direct,
            capacity,
        };
        let log_entries = log_bytes as u32 / (4 * shape.log_entry_words() as u32);
        Self { log_entries: log_entries.min(LOG_ENTRIES_MAX), ..shape }
    }

    /// Returns the vertices that there is room for.
    pub(super) fn vertex_count(&self) -> usize {
        (self.section_count * self.section_vertices) as usize
    }

    /// Returns the words of a section's header.
    pub(super) fn header_words(&self) -> usize {
        HEADER_WORDS + 2 * self.section_vertices as usize
    }

    /// Returns the words of an entry of an edge log.
    pub(super) fn log_entry_words(&self) -> usize {
        1 + self.entry_words as usize + if self.is_direct { DIRECT_WORDS } else { 0 }
    }

    fn slot_bytes(&self) -> u64 {
        (4 * self.header_words() as u64).next_multiple_of(LINE_BYTES)
    }

    fn log_bytes(&self) -> u64 {
        (4 * self.log_entry_words() as u64 * u64::from(self.log_entries))
            .next_multiple_of(LINE_BYTES)
    }

    /// Returns where one of the two headers of a section lies, in bytes from the array's start.
    pub(super) fn header_offset(&self, section: usize, slot: usize) -> u64 {
        HEAD_BYTES + (2 * section + slot) as u64 * self.slot_bytes()
    }

    /// Returns where entries of the edge log of a section lie.
    pub(super) fn log_range(&self, section: usize, entries: Range<usize>) -> Range<u64> {
        let start =
            self.header_offset(self.section_count as usize, 0) + section as u64 * self.log_bytes();
        let at = |entry: usize| start + (4 * self.log_entry_words() * entry) as u64;
        at(entries.start)..at(entries.end)
    }

    /// Returns where words of lists lie.
    pub(super) fn words_range(&self, words: Range<u32>) -> Range<u64> {
        let start = self.log_range(self.section_count as usize, 0..0).start;
        start + 4 * u64::from(words.start)..start + 4 * u64::from(words.end)
    }

    /// Returns the units that the array takes.
    pub(super) fn units(&self) -> u64 {
        self.words_range(0..self.capacity).end.div_ceil(UNIT_BYTES)
    }

    /// Returns the units of an array that lies at `unit`.
    pub(super) fn units_at(&self, unit: u64) -> Range<u64> {
        unit..unit + self.units()
    }

    /// Returns the section of a local vertex.
    #[inline]
    pub(super) fn section_of(&self, local: usize) -> usize {
        local / self.section_vertices as usize
    }

    /// Returns the local vertices of some sections.
    pub(super) fn locals(&self, sections: Range<usize>) -> Range<usize> {
        let span = self.section_vertices as usize;
        sections.start * span..sections.end * span
    }

    /// Returns whether the sizes are such as arrays have.
    pub(super) fn is_plausible(&self) -> bool {
        let Self { section_count, section_vertices, log_entries, entry_words, capacity, .. } =
            *self;
        section_vertices.is_power_of_two()
            && section_vertices as usize <= SECTION_VERTICES_MAX
            && section_count.is_power_of_two()
            && section_count <= SHARD_SPAN as u32 / section_vertices
            && log_entries <= LOG_ENTRIES_MAX
            && (1..=2).contains(&entry_words)
            && capacity.is_multiple_of(entry_words)
            && capacity <= CAPACITY_MAX
    }
}

/// Shares gaps out: returns where each of some lists of `lens` words begins, the first at the start of
/// `words`, so that all end before its end.
///
/// Source: VCSR, CCGrid 2022: a list has gaps in proportion to its length, and each has a chance.
pub(super) fn spread(
    lens: &[u32],
    words: Range<u32>,
    entry_words: u32,
) -> impl Iterator<Item = u32> {
    let weight = move |len: u32| u64::from(len >> (entry_words - 1)) + 1;
    let used: u64 = lens.iter().map(|&len| u64::from(len)).sum();
    let total = (used >> (entry_words - 1)) + lens.len() as u64;
    let gaps = (u64::from(words.end - words.start) - used) >> (entry_words - 1);
    // A product in the place of a division, which it may miss by one. Gaps have at most 31 bits, and no
    // weight before a list is more than the total: 63 bits hold it.
    let ratio = (gaps << 32) / total.max(1);
    let (mut before, mut weight_before) = (0, 0);
    lens.iter().map(move |&len| {
        let mut gap = (weight_before * ratio) >> 32;
        gap += u64::from(gaps * weight_before - gap * total >= total);
        let start = words.start + before + ((gap as u32) << (entry_words - 1));
        before += len;
        weight_before += weight(len);
        start
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_follow_the_lengths_and_nothing_overlaps() {
        for entry_words in [1, 2] {
            let lens = [0, 8, 2, 0, 40, 0].map(|len| len * entry_words);
            let starts: Vec<u32> = spread(&lens, 10..10 + 100 * entry_words, entry_words).collect();
            let mut ends = starts[1..].iter().copied().chain([10 + 100 * entry_words]);
            let gaps: Vec<u32> = starts
                .iter()
                .zip(lens)
                .map(|(start, len)| ends.next().unwrap().checked_sub(start + len).unwrap())
                .collect();
            assert_eq!(starts[0], 10);
            assert_eq!(gaps.iter().sum::<u32>(), 50 * entry_words);
            assert!(gaps[4] > 3 * gaps[1] && gaps[1] > gaps[2], "{gaps:?}");
            assert!(gaps.iter().all(|gap| gap.is_multiple_of(entry_words)));
        }
    }

    #[test]
    fn gaps_are_those_of_a_division() {
        let mut state = 1u64;
        let mut random = |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % bound
        };
        for round in 0..2000 {
            let lens: Vec<u32> = (0..20).map(|_| random(1 << (round % 24)) as u32).collect();
            let used: u64 = lens.iter().map(|&len| u64::from(len)).sum();
            let gaps = random(1 << (round % 29)) + round % 3;
            let total = used + lens.len() as u64;
            let (mut before, mut weight_before) = (0, 0);
            let starts = spread(&lens, 0..(used + gaps) as u32, 1);
            for (&len, start) in lens.iter().zip(starts) {
                let gap = u128::from(gaps) * weight_before / u128::from(total);
                assert_eq!(u128::from(start), before + gap);
                before += u128::from(len);
                weight_before += u128::from(len) + 1;
            }
        }
    }

    #[test]
    fn the_longest_arrays_have_whole_edge_logs() {
        let options = PmaOptions::default();
        for words in [1 << 20, 1 << 29, u64::from(CAPACITY_MAX)] {
            let shape = Shape::new(&options, 1, 64, (words, 100));
            assert_eq!(shape.log_entries, 256, "{words} words");
        }
        assert!(!Shape::new(&options, 1, 64, (1 << 31, 100)).is_plausible());
    }

    #[test]
    fn a_full_window_has_no_gaps() {
        assert!(spread(&[3, 0, 4], 5..12, 1).eq([5, 8, 8]));
    }
}
