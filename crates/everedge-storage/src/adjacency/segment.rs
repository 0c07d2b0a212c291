//! The segment: the memory of tables and buffers, which outlives a process that is killed.
//!
//! Source: the aim of XPGraph §3.1, a recovery that does not rebuild. Difference: the paper keeps
//! nothing of a killed process's memory and replays the log. Here lists live in shared memory,
//! one directory of files for each graph, removed when the graph is closed. After a kill the next
//! opening takes them over as they are, and only shards that were changing at that moment are
//! rebuilt from blocks and log. A power loss takes the segment with it: then all of them are.
//!
//! ```text
//! index: header | a record a shard     tables: rows (table.rs)     buffers: chunks (buffers.rs)
//! ```
//!
//! # Invariants
//! - G1: a shard whose record says whole is in its record, tables and buffers all that the updates
//!   before the record's sequence number made of it. Whoever changes one marks it before.
//! - G2: all shards together hold all updates before the header's progress; some may hold more.
//! - G3: the header's anchor counter is that of the log's anchor, or the segment does not count:
//!   someone else has written meanwhile.
//! - G4: stores of a process that is killed are kept in their order; nothing here is flushed.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};

use parking_lot::Mutex;

use super::buffers::CHUNK_BYTES;
use super::list::{List, Span};
use super::run::SPAN;
use super::shard::{BITMAP_WORDS, SHARD_SPAN, Shard, Tally};
use super::space::ShardSpace;
use super::table::TABLE_BYTES;
use crate::log::Progress;
use crate::medium::{Access, MediumKind, Region, Volume};
use crate::{Error, Result};

/// Where systems keep shared memory.
const SHARED_MEMORY: &str = "/dev/shm";
const INDEX: &str = "index";
const TABLES: &str = "tables";
const BUFFERS: &str = "buffers";
const MAGIC: u64 = u64::from_le_bytes(*b"EVSEGM01");
const RECORDS_START: u64 = 4096;
const RECORD_BYTES: u64 = 2048;
/// Records are made room for so many at a time.
const GROWTH_RECORDS: u64 = 8;
const LISTS_MAX: usize = 2;
const SPANS: usize = SHARD_SPAN / SPAN;

/// Where the header's fields lie.
mod at {
    pub(super) const MAGIC: u64 = 0;
    pub(super) const GRAPH: u64 = 8;
    pub(super) const STATE: u64 = 16;
    pub(super) const ANCHOR: u64 = 24;
    pub(super) const NEXT_UNIT: u64 = 32;
    /// Which of the two progresses counts.
    pub(super) const SELECTOR: u64 = 40;
    pub(super) const PROGRESS: [u64; 2] = [64, 128];
}

/// Where a record's fields lie, in words.
mod word {
    use std::ops::Range;

    pub(super) const STATE: usize = 0;
    /// What was counted when the shard was whole.
    pub(super) const COUNTS: usize = 2;
    /// The checksum of counts, spans and bitmaps.
    pub(super) const CHECKSUM: usize = 22;
    pub(super) const DURABLE: usize = 24;
    pub(super) const SPANS: usize = 32;
    pub(super) const VERTICES: usize = 96;
    pub(super) const UNFLUSHED: Range<usize> = 224..352;
}

/// Nothing can be taken over.
const VOID: u64 = 0;
/// The records say the truth.
const WHOLE: u64 = u32::from_le_bytes(*b"WHOL") as u64;
/// Of the graph: several records and the log's anchor are being changed together.
const CHANGING: u64 = u32::from_le_bytes(*b"CHNG") as u64;

/// Where a process's memory of one graph is.
enum Home {
    /// In memory that is gone with the process.
    Process,
    /// In files of a volume in memory, which keeps them for a test.
    Within(Volume),
    /// In a directory of shared memory.
    Shared(Volume),
}

/// What a segment that can be taken over says of the graph.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    pub progress: Progress,
    pub next_unit: u64,
    pub shard_count: usize,
}

/// What a record says of a shard.
pub(crate) struct Record {
    /// Whether the rest of it says the truth, but for `durable`, which always does.
    pub is_whole: bool,
    pub durable: Tally,
    words: Vec<u32>,
}

/// The memory of one graph's lists.
pub(crate) struct Segment {
    home: Home,
    access: Access,
    index: Region,
    pub tables: Region,
    pub buffers: Region,
    /// The anchor's counter in the header.
    anchor: Mutex<u64>,
    has_begun: AtomicBool,
    is_removed: AtomicBool,
}

impl Segment {
    /// Makes an empty segment that is gone with the process.
    ///
    /// # Errors
    /// `NoSpace` if the system refuses the address space.
    pub(crate) fn process() -> Result<Arc<Self>> {
        let [index, tables, buffers] = ["index of lists", "tables of lists", "vertex buffers"];
        let regions = [Region::memory(index)?, Region::memory(tables)?, Region::memory(buffers)?];
        Ok(Arc::new(Self::of(Home::Process, Access::Write, regions)))
    }

    /// Makes an empty segment for the graph on `volume` that outlives the process, in place of any
    /// other. Where there is no shared memory it does not outlive it.
    ///
    /// # Errors
    /// As [`Self::process`].
    pub(crate) fn create(volume: &Volume, log: &Path, salt: u32) -> Result<Arc<Self>> {
        let created = match place_of(volume, log, salt) {
            Some(Place::Within) => {
                remove_from(volume);
                Self::create_in(volume, Home::Within(volume.clone()))
            }
            Some(Place::Directory(path)) => Self::create_directory(&path),
            None => return Self::process(),
        };
        match created {
            Ok(segment) => {
                segment.index.store_words(at::GRAPH, &[salt, 0]);
                segment.store(at::MAGIC, MAGIC);
                Ok(Arc::new(segment))
            }
            // Opening after a kill takes longer then; nothing else is different.
            Err(_) => Self::process(),
        }
    }

    /// Finds the segment that a killed process left of the graph on `volume`.
    pub(crate) fn find(volume: &Volume, log: &Path, salt: u32) -> Option<Arc<Self>> {
        let (home, files) = match place_of(volume, log, salt)? {
            Place::Within => (Home::Within(volume.clone()), volume.clone()),
            Place::Directory(path) => {
                let files = is_ours(&path).then(|| Volume::open_shared(&path, volume.access()))?;
                let files = files.ok()?;
                (Home::Shared(files.clone()), files)
            }
        };
        let region = |name| match files.contains(name) {
            Ok(true) => files.open_region(name).ok(),
            _ => None,
        };
        let (index, tables, buffers) = (region(INDEX)?, region(TABLES)?, region(BUFFERS)?);
        let segment = Self::of(home, volume.access(), [index, tables, buffers]);
        let is_of_graph = segment.has_whole_parts()
            && segment.load(at::MAGIC) == MAGIC
            && segment.load(at::GRAPH) as u32 == salt;
        is_of_graph.then(|| Arc::new(segment))
    }

    fn create_in(volume: &Volume, home: Home) -> Result<Self> {
        let index = volume.create_volatile_region(INDEX, RECORDS_START)?;
        let tables = volume.create_volatile_region(TABLES, 0)?;
        let buffers = volume.create_volatile_region(BUFFERS, 0)?;
        Ok(Self::of(home, Access::Write, [index, tables, buffers]))
    }

    fn of(home: Home, access: Access, [index, tables, buffers]: [Region; 3]) -> Self {
        let (has_begun, is_removed) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { home, access, index, tables, buffers, anchor: Mutex::new(0), has_begun, is_removed }
    }

    fn create_directory(path: &Path) -> Result<Self> {
        if is_ours(path) {
            // The lock of the graph is held, so that nobody writes into it.
            std::fs::remove_dir_all(path).map_err(|source| {
                let (path, operation) = (path.to_owned(), "remove directory");
                Error::Io { path, operation, source }
            })?;
        }
        let volume = Volume::create_shared(path)?;
        Self::create_in(&volume, Home::Shared(volume.clone())).inspect_err(|_| {
            // What stays is found by the next opening.
            let _removed = volume.remove_all(&[INDEX, TABLES, BUFFERS]);
        })
    }

    /// Whether its files are as long as they can be made, and those of the index can be read.
    fn has_whole_parts(&self) -> bool {
        let records_bytes = self.index.len().checked_sub(RECORDS_START);
        records_bytes.is_some_and(|bytes| bytes.is_multiple_of(GROWTH_RECORDS * RECORD_BYTES))
            && self.tables.len().is_multiple_of(TABLE_BYTES)
            && self.buffers.len().is_multiple_of(CHUNK_BYTES)
            // A process that was killed may not have taken all of its pages.
            && self.index.populate(0..self.index.len()).is_ok()
    }

    /// Whether the process that comes after a kill can find it.
    fn is_shared(&self) -> bool {
        !matches!(self.home, Home::Process)
    }

    /// Grows one of its regions; what is new must be taken before it is touched. If that cannot be
    /// done in shared memory, the rest is memory of the process, and nobody takes the segment over.
    ///
    /// # Errors
    /// `NoSpace` if there is no memory at all.
    pub(crate) fn grow(&self, region: &Region, len: u64) -> Result<()> {
        match region.grow(len) {
            Err(_) if self.is_shared() => {
                self.give_up();
                region.replace_in_memory(region.len()..len)
            }
            outcome => outcome,
        }
    }

    /// Takes the pages of a range of one of its regions, whose content may be lost.
    ///
    /// # Errors
    /// As [`Self::grow`].
    pub(crate) fn take(&self, region: &Region, range: Range<u64>) -> Result<()> {
        match region.populate(range.clone()) {
            Err(_) if self.is_shared() => {
                self.give_up();
                region.replace_in_memory(range)
            }
            outcome => outcome,
        }
    }

    /// Makes room for the records of so many shards.
    ///
    /// # Errors
    /// As [`Self::grow`].
    pub(crate) fn reserve(&self, shard_count: usize) -> Result<()> {
        let needed = RECORDS_START + shard_count as u64 * RECORD_BYTES;
        if needed <= self.index.len() || !self.is_shared() {
            return Ok(());
        }
        let (old_len, step) = (self.index.len(), GROWTH_RECORDS * RECORD_BYTES);
        let len = RECORDS_START + (needed - RECORDS_START).next_multiple_of(step);
        self.grow(&self.index, len)?;
        self.take(&self.index, old_len..len)
    }

    /// From now on nobody takes the segment over.
    pub(crate) fn give_up(&self) {
        if self.is_shared() && self.index.len() >= RECORDS_START {
            self.store(at::MAGIC, 0);
        }
    }

    /// From now on whoever finds the segment after a kill takes it over.
    pub(crate) fn begin(&self) {
        self.has_begun.store(true, Ordering::Relaxed);
        self.store_after(at::STATE, WHOLE);
    }

    /// Runs `change`, which changes records and the log's anchor together: after a kill in
    /// between, and after an error until the next change, nobody takes the segment over.
    pub(crate) fn change_together<R>(&self, change: impl FnOnce() -> Result<R>) -> Result<R> {
        if !self.has_begun.load(Ordering::Relaxed) {
            return change();
        }
        self.store(at::STATE, CHANGING);
        fence(Ordering::Release);
        let changed = change()?;
        self.store_after(at::STATE, WHOLE);
        Ok(changed)
    }

    /// Keeps the counter of the log's anchor, if it is a later one.
    pub(crate) fn note_anchor(&self, counter: u64) {
        let mut anchor = self.anchor.lock();
        if *anchor < counter && self.is_shared() {
            *anchor = counter;
            self.store_after(at::ANCHOR, counter);
        }
    }

    /// Keeps the first unit of the block file that was never used.
    pub(crate) fn note_next_unit(&self, unit: u64) {
        if self.is_shared() {
            self.store(at::NEXT_UNIT, doubled(unit));
        }
    }

    /// Keeps how far all shards are (G2).
    pub(crate) fn note_progress(&self, progress: Progress) {
        if !self.is_shared() {
            return;
        }
        let other = 1 - self.load(at::SELECTOR) % 2;
        let generation_and_commit =
            u64::from(progress.generation) | u64::from(progress.commit) << 32;
        let mut words = words_of(&[
            progress.position,
            progress.sequence,
            generation_and_commit,
            progress.next_sequence,
        ]);
        words.push(checksum_of(0, &words, &[]));
        self.index.store_words(at::PROGRESS[other as usize], &words);
        self.store_after(at::SELECTOR, other);
    }

    /// Marks the record of a shard that is about to change (G1).
    pub(crate) fn mark_changing(&self, shard: usize) {
        if self.is_shared() {
            self.index.store_words(offset_of(shard), &words_of(&[CHANGING]));
            fence(Ordering::Release);
        }
    }

    /// Makes the record of a shard that has changed say what it is.
    pub(crate) fn mark_whole(&self, number: usize, shard: &Shard) {
        if !self.is_shared() || shard.lists.iter().any(List::has_spills) {
            return;
        }
        let (extent, unit_count) = shard.space.parts();
        let mut words = words_of(&[
            shard.sequence,
            shard.degree_sum,
            shard.loop_count,
            shard.tally.block_count,
            shard.tally.checksum_sum,
            extent.start,
            extent.end,
            unit_count,
            shard.vertex_count.into(),
        ]);
        words.extend(shard.lists.iter().map(|list| list.table.number()));
        words.resize(word::CHECKSUM - word::COUNTS, 0);
        let mut lists = Vec::with_capacity(word::UNFLUSHED.end - word::SPANS);
        for list in &shard.lists {
            lists.extend(list.spans.iter().flat_map(|span| [span.run, span.is_pure.into()]));
        }
        lists.resize(2 * SPANS * LISTS_MAX, 0);
        lists.extend(words_of(&shard.vertices));
        lists.extend(words_of(&shard.unflushed));
        words.push(checksum_of(number, &words, &lists));
        self.index.store_words(offset_of(number) + 4 * word::COUNTS as u64, &words);
        self.index.store_words(offset_of(number) + 4 * word::SPANS as u64, &lists);
        fence(Ordering::Release);
        self.index.store_words(offset_of(number), &words_of(&[WHOLE]));
    }

    /// Keeps what the log's anchor counts on of a shard.
    pub(crate) fn note_durable(&self, number: usize, durable: Tally) {
        if self.is_shared() {
            let words = words_of(&[durable.block_count, durable.checksum_sum]);
            self.index.store_words(offset_of(number) + 4 * word::DURABLE as u64, &words);
        }
    }

    /// Returns what it says of the graph, if it can be taken over by who finds that anchor.
    pub(crate) fn header(&self, anchor: u64) -> Option<Header> {
        let progress = at::PROGRESS[self.load(at::SELECTOR) as usize % 2];
        let numbers: [u64; 5] = std::array::from_fn(|index| self.load(progress + 8 * index as u64));
        let [position, sequence, generation_and_commit, next_sequence, checksum] = numbers;
        let next_unit = self.load(at::NEXT_UNIT);
        let is_whole = self.load(at::STATE) == WHOLE
            && self.load(at::ANCHOR) == anchor
            && checksum as u32 == checksum_of(0, &words_of(&numbers[..4]), &[])
            && next_unit == doubled(next_unit & u64::from(u32::MAX));
        let header = Header {
            progress: Progress {
                position,
                sequence,
                generation: generation_and_commit as u32,
                commit: (generation_and_commit >> 32) as u32,
                next_sequence,
            },
            next_unit: next_unit & u64::from(u32::MAX),
            shard_count: ((self.index.len() - RECORDS_START) / RECORD_BYTES) as usize,
        };
        *self.anchor.lock() = anchor;
        is_whole.then_some(header)
    }

    /// Returns the record of a shard, if there is such a shard; nothing if it is damaged.
    pub(crate) fn record(&self, shard: usize) -> Option<Option<Record>> {
        let words: Vec<u32> = self
            .index
            .words(offset_of(shard), RECORD_BYTES as usize / 4)
            .iter()
            .map(|word| word.load(Ordering::Relaxed))
            .collect();
        let number = |index: usize| u64::from(words[index]) | u64::from(words[index + 1]) << 32;
        let durable =
            Tally { block_count: number(word::DURABLE), checksum_sum: number(word::DURABLE + 2) };
        match number(word::STATE) {
            VOID => words.iter().all(|&word| word == 0).then_some(None),
            CHANGING => Some(Some(Record { is_whole: false, durable, words })),
            WHOLE => {
                let counts = &words[word::COUNTS..word::CHECKSUM];
                let lists = &words[word::SPANS..word::UNFLUSHED.end];
                let is_as_written = checksum_of(shard, counts, lists) == words[word::CHECKSUM];
                is_as_written.then_some(Some(Record { is_whole: true, durable, words }))
            }
            _ => None,
        }
    }

    /// Removes its files, for nobody will need them.
    pub(crate) fn remove(&self) {
        if self.access == Access::Read || self.is_removed.swap(true, Ordering::Relaxed) {
            return;
        }
        match &self.home {
            Home::Process => {}
            Home::Within(volume) => remove_from(volume),
            // What stays is found by the next opening, or gone with the system's next start.
            Home::Shared(volume) => {
                let _removed = volume.clone().remove_all(&[INDEX, TABLES, BUFFERS]);
            }
        }
    }

    fn load(&self, offset: u64) -> u64 {
        self.index.load_u64(offset)
    }

    fn store(&self, offset: u64, number: u64) {
        if self.is_shared() {
            self.index.store_words(offset, &words_of(&[number]));
        }
    }

    /// Stores a number after everything that was stored before.
    fn store_after(&self, offset: u64, number: u64) {
        fence(Ordering::Release);
        self.store(offset, number);
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        self.remove();
    }
}

impl Record {
    fn number(&self, index: usize) -> u64 {
        let low = word::COUNTS + 2 * index;
        u64::from(self.words[low]) | u64::from(self.words[low + 1]) << 32
    }

    /// Returns the numbers of the tables of so many lists.
    pub(crate) fn tables(&self, list_count: usize) -> &[u32] {
        let first = word::COUNTS + 2 * 9;
        &self.words[first..first + list_count]
    }

    /// Returns the place of the run of a span of a list, or `NO_BLOCK`.
    pub(crate) fn run(&self, list: usize, span: usize) -> u32 {
        self.words[word::SPANS + 2 * (list * SPANS + span)]
    }

    /// Returns the sum of degrees in the first list.
    pub(crate) fn degree_sum(&self) -> u64 {
        self.number(1)
    }

    /// Returns the units that are taken and not yet used.
    pub(crate) fn extent(&self) -> Range<u64> {
        self.number(5)..self.number(6)
    }

    /// Returns the shard, with these lists, which say nothing of spans yet.
    pub(crate) fn shard(&self, number: usize, mut lists: Vec<List>) -> Shard {
        for (list, spans) in lists.iter_mut().zip(self.words[word::SPANS..].chunks(2 * SPANS)) {
            let span = |words: &[u32]| Span { run: words[0], is_pure: words[1] == 1 };
            list.spans = spans.chunks(2).map(span).collect();
        }
        let bitmap = |words: &[u32]| -> Vec<u64> {
            let word = |pair: &[u32]| u64::from(pair[0]) | u64::from(pair[1]) << 32;
            words.chunks(2).take(BITMAP_WORDS).map(word).collect()
        };
        Shard {
            first_vertex: (number * SHARD_SPAN) as u32,
            lists,
            vertices: bitmap(&self.words[word::VERTICES..]),
            unflushed: bitmap(&self.words[word::UNFLUSHED]),
            sequence: self.number(0),
            degree_sum: self.number(1),
            loop_count: self.number(2),
            tally: Tally { block_count: self.number(3), checksum_sum: self.number(4) },
            space: ShardSpace::restore(self.extent(), self.number(7)),
            vertex_count: self.number(8) as u32,
            outcome: Default::default(),
        }
    }
}

/// Where a segment that outlives the process can lie.
enum Place {
    Within,
    Directory(PathBuf),
}

/// A graph is told by its log's file: a copy of a graph is another one.
fn place_of(volume: &Volume, log: &Path, salt: u32) -> Option<Place> {
    use std::os::unix::fs::MetadataExt;
    if volume.options().kind == MediumKind::Dram {
        return None;
    }
    if volume.is_in_memory() {
        return Some(Place::Within);
    }
    let log = std::fs::metadata(log).ok()?;
    let name = format!("everedge-{:x}-{:x}-{salt:08x}", log.dev(), log.ino());
    Some(Place::Directory(Path::new(SHARED_MEMORY).join(name)))
}

/// Whether there is a directory that this user has made: others may make some of any name.
fn is_ours(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::symlink_metadata(path)
        .is_ok_and(|found| found.is_dir() && found.uid() == rustix::process::geteuid().as_raw())
}

fn remove_from(volume: &Volume) {
    for name in [INDEX, TABLES, BUFFERS] {
        if volume.contains(name).unwrap_or(false) {
            let _removed = volume.remove(name);
        }
    }
}

fn offset_of(shard: usize) -> u64 {
    RECORDS_START + shard as u64 * RECORD_BYTES
}

/// Returns the checksum of the record of a shard.
fn checksum_of(shard: usize, counts: &[u32], lists: &[u32]) -> u32 {
    let crc = crc32c::crc32c_append(shard as u32, bytemuck::cast_slice(counts));
    crc32c::crc32c_append(crc, bytemuck::cast_slice(lists))
}

/// Returns a unit's number, and its complement.
fn doubled(unit: u64) -> u64 {
    unit | u64::from(!(unit as u32)) << 32
}

fn words_of(numbers: &[u64]) -> Vec<u32> {
    numbers.iter().flat_map(|number| [*number as u32, (*number >> 32) as u32]).collect()
}
