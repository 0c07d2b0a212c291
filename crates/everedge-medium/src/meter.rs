//! Counts what a device would read and write, without having it.
//!
//! Source: the 256-byte access unit and write-combining buffer of Optane memory as XPGraph (ToS
//! 2025, §2) describes them. Differences: there is no model of the processor's caches, so a
//! store counts when it is made and not when it is flushed.
//!
//! # Model
//! Memory: lines of 256 bytes pass through a buffer of 16 KiB in which the least recently used
//! makes room. A line that was stored to is written when it leaves; if it was stored to in part,
//! it has to be read before. A line that is read and not in the buffer, or there in part, is read.
//!
//! File: pages of 4 KiB. A page is written at the fence after a store to it, and read when
//! it is first touched by a read; the page cache is taken to hold all.
//!
//! # Cost
//! A lock and a search of 64 lines for each line touched: it is off unless asked for.

use std::collections::HashSet;
use std::ops::Range;

const LINE_BYTES: u64 = 256;
const WORD_BYTES: u64 = 4;
const BUFFER_LINE_COUNT: usize = 64;
const PAGE_BYTES: u64 = 4096;

/// What the regions of a volume have done since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MeterReading {
    /// Bytes that the layouts stored.
    pub stored_bytes: u64,
    /// Ranges that were flushed.
    pub flushes: u64,
    /// Fences and drains that were asked for.
    pub fences: u64,
    /// Bytes that the device would have read.
    pub media_read_bytes: u64,
    /// Bytes that the device would have written, the buffer's content included; of a file, those
    /// that were fenced.
    pub media_written_bytes: u64,
}

/// A position in some region: its number and a line or page in it.
type Place = (u32, u64);

/// The counters and the model behind them.
pub(super) struct Meter {
    reading: MeterReading,
    model: Model,
}

enum Model {
    Memory(LineBuffer),
    File(PageCache),
}

impl Meter {
    /// Models persistent memory.
    pub(super) fn memory() -> Meter {
        let lines = Vec::with_capacity(BUFFER_LINE_COUNT);
        Meter { reading: MeterReading::default(), model: Model::Memory(LineBuffer { lines }) }
    }

    /// Models a file behind a page cache.
    pub(super) fn file() -> Meter {
        Meter { reading: MeterReading::default(), model: Model::File(PageCache::default()) }
    }

    /// Counts a store to a range of region number `region`.
    pub(super) fn store(&mut self, region: u32, range: Range<u64>) {
        self.reading.stored_bytes += range.end - range.start;
        match &mut self.model {
            Model::Memory(buffer) => buffer.store(region, range, &mut self.reading),
            Model::File(cache) => cache.store(region, range),
        }
    }

    /// Counts a read.
    pub(super) fn load(&mut self, region: u32, range: Range<u64>) {
        match &mut self.model {
            Model::Memory(buffer) => buffer.load(region, range, &mut self.reading),
            Model::File(cache) => cache.load(region, range, &mut self.reading),
        }
    }

    /// Counts a flush.
    pub(super) fn flush(&mut self) {
        self.reading.flushes += 1;
    }

    /// Counts a drain, which is the fence of a thread that leaves the sync to another.
    pub(super) fn drain(&mut self) {
        self.reading.fences += 1;
    }

    /// Counts a fence.
    pub(super) fn fence(&mut self, region: u32) {
        self.reading.fences += 1;
        if let Model::File(cache) = &mut self.model {
            cache.fence(region, &mut self.reading);
        }
    }

    /// Returns the counters as if the buffer's lines left it now.
    pub(super) fn reading(&self) -> MeterReading {
        let mut reading = self.reading;
        if let Model::Memory(buffer) = &self.model {
            buffer.lines.iter().for_each(|line| line.leave(&mut reading));
        }
        reading
    }
}

/// The device's buffer, most recently used line last.
struct LineBuffer {
    lines: Vec<Line>,
}

/// A line in the buffer.
struct Line {
    place: Place,
    /// Bit i: word i was stored to and not yet written.
    stored: u64,
    /// Whether the buffer has all of the line's bytes.
    whole: bool,
}

impl LineBuffer {
    fn store(&mut self, region: u32, range: Range<u64>, reading: &mut MeterReading) {
        for number in units(&range, LINE_BYTES) {
            let start = range.start.max(number * LINE_BYTES) - number * LINE_BYTES;
            let end = range.end.min((number + 1) * LINE_BYTES) - number * LINE_BYTES;
            let words = start / WORD_BYTES..end.div_ceil(WORD_BYTES);
            let line = self.touch((region, number), reading);
            line.stored |= words.fold(0, |mask, word| mask | 1 << word);
            line.whole |= line.stored == u64::MAX;
        }
    }

    fn load(&mut self, region: u32, range: Range<u64>, reading: &mut MeterReading) {
        for number in units(&range, LINE_BYTES) {
            let line = self.touch((region, number), reading);
            if !line.whole {
                line.whole = true;
                reading.media_read_bytes += LINE_BYTES;
            }
        }
    }

    /// Makes the line the most recently used.
    fn touch(&mut self, place: Place, reading: &mut MeterReading) -> &mut Line {
        let line = match self.lines.iter().rposition(|line| line.place == place) {
            Some(idx) => self.lines.remove(idx),
            None => {
                if self.lines.len() == BUFFER_LINE_COUNT {
                    self.lines.remove(0).leave(reading);
                }
                Line { place, stored: 0, whole: false }
            }
        };
        self.lines.push_mut(line)
    }
}

impl Line {
    /// Counts what it costs when the line leaves the buffer.
    fn leave(&self, reading: &mut MeterReading) {
        if self.stored != 0 {
            reading.media_written_bytes += LINE_BYTES;
            if !self.whole {
                reading.media_read_bytes += LINE_BYTES;
            }
        }
    }
}

/// A page cache without limit.
#[derive(Default)]
struct PageCache {
    dirty: HashSet<Place>,
    resident: HashSet<Place>,
}

impl PageCache {
    fn store(&mut self, region: u32, range: Range<u64>) {
        for page in units(&range, PAGE_BYTES) {
            self.dirty.insert((region, page));
            self.resident.insert((region, page));
        }
    }

    fn load(&mut self, region: u32, range: Range<u64>, reading: &mut MeterReading) {
        for page in units(&range, PAGE_BYTES) {
            if self.resident.insert((region, page)) {
                reading.media_read_bytes += PAGE_BYTES;
            }
        }
    }

    fn fence(&mut self, region: u32, reading: &mut MeterReading) {
        self.dirty.retain(|page| {
            let is_written = page.0 == region;
            reading.media_written_bytes += if is_written { PAGE_BYTES } else { 0 };
            !is_written
        });
    }
}

/// Returns the numbers of the units that a range touches.
fn units(range: &Range<u64>, unit_bytes: u64) -> Range<u64> {
    match range.is_empty() {
        true => 0..0,
        false => range.start / unit_bytes..range.end.div_ceil(unit_bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_lines_are_written_and_never_read() {
        let mut meter = Meter::memory();
        meter.store(0, 0..64 << 10);
        let reading = meter.reading();
        assert_eq!((reading.media_read_bytes, reading.media_written_bytes), (0, 64 << 10));
    }

    #[test]
    fn scattered_words_cost_a_read_and_a_write_of_a_line_each() {
        let mut meter = Meter::memory();
        (0..1000).for_each(|i| meter.store(0, i * 4096..i * 4096 + 8));
        let reading = meter.reading();
        assert_eq!(reading.stored_bytes, 8000);
        assert_eq!((reading.media_read_bytes, reading.media_written_bytes), (256_000, 256_000));
    }

    #[test]
    fn appended_words_combine() {
        let mut meter = Meter::memory();
        (0..64).for_each(|i| meter.store(0, i * 4..i * 4 + 4));
        (0..64).for_each(|_| meter.store(1, 0..4));
        let reading = meter.reading();
        assert_eq!((reading.media_read_bytes, reading.media_written_bytes), (256, 512));
    }

    #[test]
    fn the_least_recently_used_line_leaves() {
        let mut meter = Meter::memory();
        meter.load(0, 0..4);
        for line in 1..=64 {
            meter.load(0, 0..4);
            meter.load(0, line * 256..line * 256 + 4);
        }
        assert_eq!(meter.reading().media_read_bytes, 65 * 256, "line 0 stayed");
        meter.load(0, 256..260);
        assert_eq!(meter.reading().media_read_bytes, 66 * 256, "line 1 had left");
    }

    #[test]
    fn a_line_read_after_a_partial_store_is_read_once() {
        let mut meter = Meter::memory();
        meter.store(0, 0..8);
        meter.load(0, 0..8);
        let reading = meter.reading();
        assert_eq!((reading.media_read_bytes, reading.media_written_bytes), (256, 256));
    }

    #[test]
    fn a_file_writes_distinct_pages_at_its_own_fence() {
        let mut meter = Meter::file();
        (0..100).for_each(|i| meter.store(0, i * 64..i * 64 + 64));
        meter.store(1, 0..4);
        meter.fence(0);
        assert_eq!(meter.reading().media_written_bytes, 2 * 4096);
        meter.fence(0);
        assert_eq!(meter.reading().media_written_bytes, 2 * 4096);
        (0..2).for_each(|_| meter.load(1, 4096..8192));
        assert_eq!(meter.reading().media_read_bytes, 4096);
    }
}
