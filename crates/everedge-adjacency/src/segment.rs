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
//! A record has two slots, one of which counts: a shard that has changed is written to the other.
//!
//! With a battery (XPGraph-B, §4.3) memory and caches outlive a power loss too. Then the segment
//! lies with the graph, and the log's tail may pass what is in buffers only. From then on a shard
//! is copied before it changes, so that the slot that counts stays true until the other one does.
//!
//! # Invariants
//! - G1: a shard whose record says whole is in its record, tables and buffers all that the updates
//!   before the record's sequence number made of it. Whoever changes one marks it before.
//! - G2: all shards together hold all updates before the header's progress; some may hold more.
//! - G3: the header's anchor counter is that of the log's anchor, or the segment does not count:
//!   someone else has written meanwhile.
//! - G4: once the log has passed what is in buffers only, every shard is in its record's slot what
//!   G1 says, also one that is marked as changing; until all buffers are flushed.
//! - G5: stores of a process that is killed are kept in their order; nothing here is flushed.

use std::ffi::OsStr;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};

use parking_lot::Mutex;

use super::buffers::CHUNK_BYTES;
use super::list::{List, Span};
use super::options::AdjacencyOptions;
use super::run::SPAN;
use super::shard::{Shard, Tally};
use super::space::ShardSpace;
use super::subgraphs::{SHARD_SPACES, SUB_GRAPHS_MAX};
use super::table::TABLE_BYTES;
use crate::options::Manifest;
use everedge_live::Progress;
use everedge_live::Result;
use everedge_live::{BITMAP_WORDS, SHARD_SPAN};
use everedge_medium::{Access, MediumKind, Region, Volume, identity_of};

/// Where systems keep shared memory.
const SHARED_MEMORY: &str = "/dev/shm";
/// With what names there begin.
const PREFIX: &str = "everedge-";
const PATH_BYTES_MAX: usize = 3072;
pub(super) const INDEX: &str = "index";
pub(super) const TABLES: &str = "tables";
pub(super) const BUFFERS: &str = "buffers";
const MAGIC: u64 = u64::from_le_bytes(*b"EVSEGM03");
const RECORDS_START: u64 = 4096;
const RECORD_BYTES: u64 = 4096;
/// Records are made room for so many at a time.
const GROWTH_RECORDS: u64 = 8;
const SPANS: usize = SHARD_SPAN / SPAN;
/// The first number of a record that is of its spaces, three of each.
const SPACES_START: usize = 7;

/// Where the header's fields lie.
mod at {
    pub(super) const MAGIC: u64 = 0;
    pub(super) const GRAPH: u64 = 8;
    pub(super) const STATE: u64 = 16;
    pub(super) const ANCHOR: u64 = 24;
    /// Which of the two progresses counts.
    pub(super) const SELECTOR: u64 = 40;
    pub(super) const PROGRESS: [u64; 2] = [64, 128];
    /// By sub-graph.
    pub(super) const NEXT_UNITS: u64 = 192;
    /// The bytes of the path of the graph's log, after their number.
    pub(super) const PATH: u64 = 256;
}

/// Where a record's fields lie, in words.
mod word {
    use std::ops::Range;

    /// The state, then which slot counts.
    pub(super) const STATE: usize = 0;
    pub(super) const DURABLE: usize = 4;
    pub(super) const SLOTS: [usize; 2] = [16, 464];

    // In a slot, which begins with what was counted when the shard was whole:
    pub(super) const TABLES: usize = 26;
    /// The checksum of all the rest.
    pub(super) const CHECKSUM: usize = 28;
    pub(super) const SPANS: usize = 32;
    pub(super) const VERTICES: usize = 96;
    pub(super) const UNFLUSHED: Range<usize> = 224..352;
}

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
    /// With the graph, on memory that outlives a power loss.
    Kept(Volume),
}

/// What a segment that can be taken over says of the graph.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Header {
    pub progress: Progress,
    /// By sub-graph: the first unit of its file that was never used.
    pub next_units: [u64; SUB_GRAPHS_MAX],
    pub shard_count: usize,
}

/// What a record says of a shard.
pub(crate) struct Record {
    /// Whether the rest of it says the truth, but for `durable`, which always does.
    pub is_whole: bool,
    pub durable: Tally,
    /// The slot that counts.
    slot: Vec<u32>,
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
    is_passed: AtomicBool,
    is_given_up: AtomicBool,
    is_removed: AtomicBool,
    /// The process whose files they are: not one that it forked.
    owner: u32,
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
    /// As [`Self::process`]; with a battery, whatever the medium says.
    pub(crate) fn create(volume: &Volume, log: &str, manifest: &Manifest) -> Result<Arc<Self>> {
        let Some(place) = place_of(volume, log, manifest) else { return Self::process() };
        let created = match &place {
            Place::Within => {
                remove_from(volume);
                Self::create_in(volume, Home::Within(volume.clone()))
            }
            Place::Directory(path) => {
                sweep();
                Self::create_directory(path)
            }
            Place::WithGraph => {
                remove_from(volume);
                Self::create_in(volume, Home::Kept(volume.clone()))
            }
        };
        match (created, place) {
            (Ok(segment), _) => {
                segment.index.store_words(at::GRAPH, &[manifest.salt(), 0]);
                segment.note_path(volume.absolute_path(log));
                segment.store(at::MAGIC, MAGIC);
                Ok(Arc::new(segment))
            }
            (Err(error), Place::WithGraph) => Err(error),
            // Opening after a kill takes longer then; nothing else is different.
            (Err(_), _) => Self::process(),
        }
    }

    /// Finds the segment that a killed process left of the graph on `volume`.
    pub(crate) fn find(volume: &Volume, log: &str, manifest: &Manifest) -> Option<Arc<Self>> {
        let (home, files) = match place_of(volume, log, manifest)? {
            Place::Within => (Home::Within(volume.clone()), volume.clone()),
            Place::WithGraph => (Home::Kept(volume.clone()), volume.clone()),
            Place::Directory(path) => {
                let files = Volume::open_shared(&path, volume.access()).ok()??;
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
            && segment.load(at::GRAPH) as u32 == manifest.salt();
        is_of_graph.then(|| Arc::new(segment))
    }

    fn create_in(volume: &Volume, home: Home) -> Result<Self> {
        let region = |name, len| match &home {
            Home::Kept(_) => volume.create_region(name, len),
            _ => volume.create_volatile_region(name, len),
        };
        let regions = [region(INDEX, RECORDS_START)?, region(TABLES, 0)?, region(BUFFERS, 0)?];
        Ok(Self::of(home, Access::Write, regions))
    }

    fn of(home: Home, access: Access, [index, tables, buffers]: [Region; 3]) -> Self {
        Self {
            home,
            access,
            index,
            tables,
            buffers,
            anchor: Mutex::new(0),
            has_begun: AtomicBool::new(false),
            is_passed: AtomicBool::new(false),
            is_given_up: AtomicBool::new(false),
            is_removed: AtomicBool::new(false),
            owner: std::process::id(),
        }
    }

    fn create_directory(path: &Path) -> Result<Self> {
        let volume = Volume::create_shared(path)?;
        Self::create_in(&volume, Home::Shared(volume.clone())).inspect_err(|_| {
            // What stays is found by the next opening.
            let _removed = volume.remove_all(&[INDEX, TABLES, BUFFERS]);
        })
    }

    /// Keeps where the graph's log is, so that it is seen when the graph was removed.
    fn note_path(&self, log: Option<PathBuf>) {
        let path = log.map(PathBuf::into_os_string).unwrap_or_default();
        let bytes = path.as_bytes();
        if bytes.len() <= PATH_BYTES_MAX {
            let mut padded = bytes.to_vec();
            padded.resize(bytes.len().next_multiple_of(4), 0);
            self.index.store_words(at::PATH, &[bytes.len() as u32]);
            self.index.store(at::PATH + 4, &padded);
        }
    }

    /// Whether its files are as long as they can be made, and those of the index can be read. A
    /// file that lies with the graph may have been growing when the power went.
    fn has_whole_parts(&self) -> bool {
        let parts = [
            (self.index.len().wrapping_sub(RECORDS_START), GROWTH_RECORDS * RECORD_BYTES),
            (self.tables.len(), TABLE_BYTES),
            (self.buffers.len(), CHUNK_BYTES),
        ];
        let are_whole = parts.iter().all(|(len, part)| len.is_multiple_of(*part));
        self.index.len() >= RECORDS_START
            && (are_whole || matches!(self.home, Home::Kept(_)))
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
    /// `NoSpace` if there is no memory at all, or the log has passed what is in buffers only.
    pub(crate) fn grow(&self, region: &Region, len: u64) -> Result<()> {
        match region.grow(len) {
            Err(_) if self.is_shared() && !self.is_passed() => {
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
            Err(_) if self.is_shared() && !self.is_passed() => {
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

    /// From now on nobody takes the segment over, unless the log has passed it.
    pub(crate) fn give_up(&self) {
        if !self.is_passed() {
            self.is_given_up.store(true, Ordering::Relaxed);
            self.store(at::MAGIC, 0);
        }
    }

    /// Whether the log's tail may pass what is in buffers of so many shards only (G4).
    pub(crate) fn can_be_passed(&self, shard_count: usize) -> bool {
        let is_changing = |shard| self.load(offset_of(shard)) as u32 == CHANGING as u32;
        matches!(self.home, Home::Kept(_))
            && !self.is_given_up.load(Ordering::Relaxed)
            && !(0..shard_count).any(is_changing)
    }

    /// Whether it may have (G4).
    pub(crate) fn is_passed(&self) -> bool {
        self.is_passed.load(Ordering::Relaxed)
    }

    /// Says whether it may have: before it does, and after all buffers were flushed.
    pub(crate) fn set_passed(&self, is_passed: bool) {
        self.is_passed.store(is_passed, Ordering::Relaxed);
    }

    /// From now on whoever finds the segment after a kill takes it over.
    pub(crate) fn begin(&self) {
        self.has_begun.store(true, Ordering::Relaxed);
        self.store_after(at::STATE, WHOLE);
    }

    /// Runs `change`, which changes records and the log's anchor together: after a kill in
    /// between, and after an error until the next change, nobody takes the segment over. If the log
    /// has passed it, it can be taken over all the same: records come after the anchor.
    pub(crate) fn change_together<R>(&self, change: impl FnOnce() -> Result<R>) -> Result<R> {
        if !self.has_begun.load(Ordering::Relaxed) || self.is_passed() {
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

    /// Keeps the first unit of a sub-graph's file that was never used.
    pub(crate) fn note_next_unit(&self, sub_graph: usize, unit: u64) {
        if self.is_shared() {
            self.store(at::NEXT_UNITS + 8 * sub_graph as u64, doubled(unit));
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
        words.push(crc32c::crc32c(bytemuck::cast_slice(&words)));
        self.index.store_words(at::PROGRESS[other as usize], &words);
        self.store_after(at::SELECTOR, other);
    }

    /// Marks the record of a shard that is about to change (G1).
    pub(crate) fn mark_changing(&self, shard: usize) {
        if self.is_shared() {
            let slot = self.slot_of(shard) as u32;
            self.index.store_words(offset_of(shard), &[CHANGING as u32, slot]);
            fence(Ordering::Release);
        }
    }

    /// Makes the record of a shard that has changed say what it is.
    pub(crate) fn mark_whole(&self, number: usize, shard: &Shard) {
        if !self.is_shared() || shard.has_spills() || shard.vertices.is_empty() {
            return;
        }
        let mut words = words_of(&[
            shard.sequence,
            shard.degree_sum,
            shard.loop_count,
            shard.tally.block_count,
            shard.tally.checksum_sum,
            shard.vertex_count.into(),
            shard.tombstone_count,
        ]);
        for (extent, unit_count) in shard.spaces.iter().map(ShardSpace::parts) {
            words.extend(words_of(&[extent.start, extent.end, unit_count]));
        }
        debug_assert_eq!(words.len(), word::TABLES);
        words.extend(shard.lists.iter().map(|list| list.table.number()));
        words.resize(word::SPANS, 0);
        for list in &shard.lists {
            words.extend(list.spans.iter().flat_map(|span| [span.run, span.is_pure.into()]));
        }
        words.resize(word::VERTICES, 0);
        words.extend(words_of(&shard.vertices));
        words.extend(words_of(&shard.unflushed));
        words[word::CHECKSUM] = checksum_of(number, &words);
        let other = 1 - self.slot_of(number);
        self.index.store_words(offset_of(number) + 4 * word::SLOTS[other] as u64, &words);
        fence(Ordering::Release);
        self.index.store_words(offset_of(number), &[WHOLE as u32, other as u32]);
    }

    fn slot_of(&self, shard: usize) -> usize {
        (self.load(offset_of(shard)) >> 32) as usize % 2
    }

    /// Keeps what the log's anchor counts on of a shard.
    pub(crate) fn note_durable(&self, number: usize, durable: Tally) {
        if self.is_shared() {
            let words = words_of(&[durable.block_count, durable.checksum_sum]);
            self.index.store_words(offset_of(number) + 4 * word::DURABLE as u64, &words);
        }
    }

    /// Returns what it says of the graph, if it can be taken over by who finds that anchor. What
    /// lies with the graph is found by everyone who writes.
    pub(crate) fn header(&self, anchor: u64) -> Option<Header> {
        let is_known = self.load(at::ANCHOR) == anchor || matches!(self.home, Home::Kept(_));
        let progress = at::PROGRESS[self.load(at::SELECTOR) as usize % 2];
        let numbers: [u64; 5] = std::array::from_fn(|index| self.load(progress + 8 * index as u64));
        let [position, sequence, generation_and_commit, next_sequence, checksum] = numbers;
        let next_units: [u64; SUB_GRAPHS_MAX] =
            std::array::from_fn(|number| self.load(at::NEXT_UNITS + 8 * number as u64));
        let unit_of = |doubled: u64| doubled & u64::from(u32::MAX);
        let is_whole = self.load(at::STATE) == WHOLE
            && is_known
            && checksum as u32 == crc32c::crc32c(bytemuck::cast_slice(&numbers[..4]))
            && next_units.iter().all(|&unit| unit == 0 || unit == doubled(unit_of(unit)));
        let header = Header {
            progress: Progress {
                position,
                sequence,
                generation: generation_and_commit as u32,
                commit: (generation_and_commit >> 32) as u32,
                next_sequence,
            },
            next_units: next_units.map(unit_of),
            shard_count: ((self.index.len() - RECORDS_START) / RECORD_BYTES) as usize,
        };
        *self.anchor.lock() = anchor;
        is_whole.then_some(header)
    }

    /// Returns the record of a shard, if there is such a shard; nothing if it is damaged.
    pub(crate) fn record(&self, shard: usize) -> Option<Option<Record>> {
        let words = |from: usize, count: usize| -> Vec<u32> {
            let words = self.index.words(offset_of(shard) + 4 * from as u64, count);
            words.iter().map(|word| word.load(Ordering::Relaxed)).collect()
        };
        let is_empty = |words: &[u32]| words.iter().all(|&word| word == 0);
        let state = u64::from(words(word::STATE, 1)[0]);
        let durable = words(word::DURABLE, 4);
        let slot = words(word::SLOTS[self.slot_of(shard)], word::UNFLUSHED.end);
        let is_as_written = checksum_of(shard, &slot) == slot[word::CHECKSUM];
        let record = || Record {
            is_whole: state == WHOLE,
            durable: Tally { block_count: number(&durable, 0), checksum_sum: number(&durable, 1) },
            slot: slot.clone(),
        };
        match state {
            0 => (is_empty(&durable) && is_empty(&slot)).then_some(None),
            WHOLE => is_as_written.then(|| Some(record())),
            CHANGING => (is_as_written || is_empty(&slot)).then(|| Some(record())),
            _ => None,
        }
    }

    /// Removes its files unless they lie with the graph: who lives to say so leaves nothing of its
    /// memory.
    pub(crate) fn abandon(&self) {
        if !matches!(self.home, Home::Kept(_)) {
            self.remove();
        }
    }

    /// Removes its files, for nobody will need them.
    pub(crate) fn remove(&self) {
        let is_ours = self.access == Access::Write && self.owner == std::process::id();
        if !is_ours || self.is_removed.swap(true, Ordering::Relaxed) {
            return;
        }
        match &self.home {
            Home::Process => {}
            Home::Within(volume) => remove_from(volume),
            Home::Kept(volume) if !self.is_passed() => remove_from(volume),
            Home::Kept(_) => {}
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
        self.abandon();
    }
}

impl Record {
    fn number(&self, index: usize) -> u64 {
        number(&self.slot, index)
    }

    /// Whether it ever said what the shard is.
    pub(crate) fn has_slot(&self) -> bool {
        self.number(0) > 0
    }

    /// Returns blocks and checksums of all its lists.
    pub(crate) fn tally(&self) -> Tally {
        Tally { block_count: self.number(3), checksum_sum: self.number(4) }
    }

    /// Returns the numbers of the tables of so many lists.
    pub(crate) fn tables(&self, list_count: usize) -> &[u32] {
        &self.slot[word::TABLES..word::TABLES + list_count]
    }

    /// Returns the place of the run of a span of a list, or `NO_BLOCK`.
    pub(crate) fn run(&self, list: usize, span: usize) -> u32 {
        self.slot[word::SPANS + 2 * (list * SPANS + span)]
    }

    /// Returns the sum of degrees in the first list.
    pub(crate) fn degree_sum(&self) -> u64 {
        self.number(1)
    }

    /// Returns the units of each space that are taken and not yet used.
    pub(crate) fn extents(&self) -> [Range<u64>; SHARD_SPACES] {
        std::array::from_fn(|space| {
            let first = SPACES_START + 3 * space;
            self.number(first)..self.number(first + 1)
        })
    }

    fn spaces(&self) -> [ShardSpace; SHARD_SPACES] {
        let mut unit_counts = (SPACES_START + 2..).step_by(3).map(|index| self.number(index));
        self.extents().map(|extent| {
            ShardSpace::restore(extent, unit_counts.next().expect("one for each extent"))
        })
    }

    /// Returns the shard, with these lists, which say nothing of spans yet.
    pub(crate) fn shard(&self, number: usize, mut lists: Vec<List>) -> Shard {
        for (list, spans) in lists.iter_mut().zip(self.slot[word::SPANS..].chunks(2 * SPANS)) {
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
            vertices: bitmap(&self.slot[word::VERTICES..]),
            unflushed: bitmap(&self.slot[word::UNFLUSHED]),
            sequence: self.number(0),
            degree_sum: self.number(1),
            loop_count: self.number(2),
            tally: self.tally(),
            spaces: self.spaces(),
            vertex_count: self.number(5) as u32,
            tombstone_count: self.number(6),
            outcome: Default::default(),
        }
    }
}

/// Where a segment that outlives the process can lie.
enum Place {
    Within,
    WithGraph,
    Directory(PathBuf),
}

/// A graph is told by the file `log`: a copy of a graph is another one.
fn place_of(volume: &Volume, log: &str, manifest: &Manifest) -> Option<Place> {
    let AdjacencyOptions { shared_memory, battery, .. } = manifest.options.tuning;
    if battery {
        return Some(Place::WithGraph);
    }
    if volume.options().kind == MediumKind::Dram || !shared_memory {
        return None;
    }
    match volume.identity(log).ok()? {
        None => Some(Place::Within),
        Some(log) => {
            let name = name_of(log, manifest.salt());
            Some(Place::Directory(Path::new(SHARED_MEMORY).join(name)))
        }
    }
}

/// Returns the name of what belongs to a graph, told by the file of its log.
fn name_of((device, file): (u64, u64), salt: u32) -> String {
    format!("{PREFIX}{device:x}-{file:x}-{salt:08x}")
}

/// Removes what killed processes left of graphs that were removed since.
fn sweep() {
    let files = [INDEX, TABLES, BUFFERS];
    Volume::sweep_shared(Path::new(SHARED_MEMORY), PREFIX, &files, |files| {
        is_left_over(files).unwrap_or(false)
    });
}

/// Returns whether the graph of a segment is gone, if that can be said.
fn is_left_over(files: &Volume) -> Option<bool> {
    let index = files.open_region(INDEX).ok()?;
    let word = |offset: u64| index.words(offset, 1)[0].load(Ordering::Relaxed);
    let is_one = index.len() >= RECORDS_START
        && index.populate(0..RECORDS_START).is_ok()
        && index.load_u64(at::MAGIC) == MAGIC;
    let len = if is_one { word(at::PATH) as usize } else { 0 };
    if !(1..=PATH_BYTES_MAX).contains(&len) {
        return None;
    }
    let words = index.words(at::PATH + 4, len.div_ceil(4));
    let mut bytes: Vec<u8> =
        words.iter().flat_map(|word| word.load(Ordering::Relaxed).to_le_bytes()).collect();
    bytes.truncate(len);
    let log = identity_of(Path::new(OsStr::from_bytes(&bytes))).ok()?;
    let name = log.map(|log| name_of(log, word(at::GRAPH)));
    Some(name.is_none_or(|name| !files.path().ends_with(name)))
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

fn number(words: &[u32], index: usize) -> u64 {
    u64::from(words[2 * index]) | u64::from(words[2 * index + 1]) << 32
}

/// Returns the checksum of the slot of a shard's record.
fn checksum_of(shard: usize, slot: &[u32]) -> u32 {
    let crc = crc32c::crc32c_append(shard as u32, bytemuck::cast_slice(&slot[..word::CHECKSUM]));
    crc32c::crc32c_append(crc, bytemuck::cast_slice(&slot[word::CHECKSUM + 1..]))
}

/// Returns a unit's number, and its complement.
fn doubled(unit: u64) -> u64 {
    unit | u64::from(!(unit as u32)) << 32
}

fn words_of(numbers: &[u64]) -> Vec<u32> {
    numbers.iter().flat_map(|number| [*number as u32, (*number >> 32) as u32]).collect()
}
