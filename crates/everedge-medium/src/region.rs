//! One file's bytes at a fixed address: stores, flushes and fences.

use std::ops::{Range, RangeInclusive};
use std::os::fd::BorrowedFd;
use std::panic::Location;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use super::file::{BackingFile, memory_error};
use super::map::{CACHE_LINE_BYTES, HeldWords, Map, PAGE_BYTES, Source, store_fence};
use super::observer::Observer;
use super::pins::Pins;
use super::plant::{Call, CallKind};
use super::record::Event;
use super::sync::SyncGate;
use super::volume::{Shared, VolumeOptions};
use super::{Access, MediumKind, Site, lock};
use crate::{Error, Lack, Result};

/// The address space that each region reserves to grow into: twice what its file system has, within these
/// bounds. A process has 128 TiB.
const RESERVE_BYTES: RangeInclusive<u64> = 1 << 36..=1 << 40;
/// No device takes less of a file at once, so that one store dirties as much.
const SECTOR_BYTES: u64 = 512;
/// So many words, 4 KiB, are written by a call rather than stored where a file is mapped.
const WRITTEN_WORDS_MIN: usize = 1 << 10;

/// One file's bytes: its address is fixed for life, and it grows at its end. A clone is another
/// handle to the same bytes.
#[derive(Clone)]
pub struct Region {
    // Dropped first: what is mapped is gone when the volume's lock is free.
    backing: Arc<Backing>,
    shared: Arc<Shared>,
}

/// The mapped bytes of a region.
pub(super) struct Backing {
    pub(super) map: Map,
    /// Names the region among those of its volume.
    number: u32,
    path: PathBuf,
    /// None for bytes that live in memory only.
    file: Option<BackingFile>,
    /// Lets its syncs through.
    gate: SyncGate,
    /// Held while the length changes.
    resize: Mutex<()>,
}

impl Backing {
    /// Makes `len` zero bytes of memory.
    pub(super) fn anonymous(path: PathBuf, number: u32, len: u64) -> Result<Backing> {
        let map = Map::new(&Source::Anonymous, *RESERVE_BYTES.end(), len)
            .map_err(|e| memory_error(&path, e, len))?;
        let (gate, resize) = (SyncGate::default(), Mutex::new(()));
        Ok(Backing { map, number, path, file: None, gate, resize })
    }

    /// Maps all whole double words of a file.
    pub(super) fn file(
        path: PathBuf,
        number: u32,
        file: BackingFile,
        shared: &Shared,
    ) -> Result<Backing> {
        let len = file.len()? / 8 * 8;
        let most = file.total_bytes().saturating_mul(2);
        let reserve_bytes = most.clamp(*RESERVE_BYTES.start(), *RESERVE_BYTES.end());
        let reserve_bytes = reserve_bytes.max(len.saturating_mul(2));
        let source = source(file.fd(), shared);
        let map = Map::new(&source, reserve_bytes, len).map_err(|e| match (&source, e.kind()) {
            (Source::Dax { .. }, std::io::ErrorKind::Unsupported) => not_persistent(&path),
            _ => memory_error(&path, e, len),
        })?;
        let (gate, resize) = (SyncGate::default(), Mutex::new(()));
        Ok(Backing { map, number, path, file: Some(file), gate, resize })
    }

    /// Stores bytes, of which there are whole words, from the word at `offset` on.
    #[inline]
    pub(super) fn fill(&self, offset: u64, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<4>();
        assert!(rest.is_empty(), "{} bytes are not whole words", bytes.len());
        let one = |word: &[u8; 4]| u32::from_le_bytes(*word);
        let two = |pair: &[[u8; 4]; 2]| u64::from(one(&pair[0])) | u64::from(one(&pair[1])) << 32;
        self.fill_units(offset, words, one, two);
    }

    /// Stores a first word up to an 8-byte boundary, then pairs of words, then a last word.
    #[inline]
    fn fill_units<T>(
        &self,
        offset: u64,
        words: &[T],
        one: impl Fn(&T) -> u32,
        two: impl Fn(&[T; 2]) -> u64,
    ) {
        let map = &self.map;
        let (first, rest) = match offset.is_multiple_of(8) {
            true => words.split_at(0),
            false => words.split_at(words.len().min(1)),
        };
        for (to, from) in map.words(offset, first.len()).iter().zip(first) {
            to.store(one(from), Ordering::Relaxed);
        }
        let (pairs, last) = rest.as_chunks::<2>();
        let pairs_offset = offset + 4 * first.len() as u64;
        if !pairs.is_empty() {
            for (to, from) in map.double_words(pairs_offset, pairs.len()).iter().zip(pairs) {
                to.store(two(from), Ordering::Relaxed);
            }
        }
        let last_offset = pairs_offset + 8 * pairs.len() as u64;
        for (to, from) in map.words(last_offset, last.len()).iter().zip(last) {
            to.store(one(from), Ordering::Relaxed);
        }
    }

    /// Copies what a map has of a range of whole double words to the same place here, from the end on: of what
    /// somebody stores meanwhile, one thing after the other, nothing is copied without all that was there before it.
    pub(super) fn fill_backwards(&self, from: &Map, range: Range<u64>) {
        let count = ((range.end - range.start) / 8) as usize;
        let (from, to) =
            (from.double_words(range.start, count), self.map.double_words(range.start, count));
        for (from, to) in from.iter().zip(to).rev() {
            to.store(from.load(Ordering::Acquire), Ordering::Relaxed);
        }
    }

    /// Copies bytes that are all there.
    pub(super) fn copy_to(&self, offset: u64, buffer: &mut [u8]) {
        for (byte, place) in buffer.iter_mut().zip(offset..) {
            let word = self.map.double_words(place / 8 * 8, 1)[0].load(Ordering::Relaxed);
            *byte = word.to_le_bytes()[(place % 8) as usize];
        }
    }

    /// Returns a copy of all bytes.
    pub(super) fn to_vec(&self) -> Vec<u8> {
        let words = self.map.double_words(0, (self.map.len() / 8) as usize);
        words.iter().flat_map(|w| w.load(Ordering::Relaxed).to_le_bytes()).collect()
    }
}

fn source<'a>(fd: BorrowedFd<'a>, shared: &Shared) -> Source<'a> {
    match (shared.access(), shared.options.kind) {
        (Access::Read, _) => Source::Private { fd },
        (Access::Write, MediumKind::Pmem { emulated: false }) => Source::Dax { fd },
        (Access::Write, _) => Source::File { fd },
    }
}

fn not_persistent(path: &Path) -> Error {
    Error::invalid(format!(
        "`{}` is not on persistent memory: its file system has no DAX; put the graph on one that \
         has, or say --emulate-pmem",
        path.display()
    ))
}

impl Region {
    /// Makes an empty region of plain memory: no file, nothing of it is counted or recorded.
    ///
    /// # Errors
    /// [`Error::NoSpace`] if the system refuses the address space.
    pub fn memory(name: &str) -> Result<Region> {
        let path = PathBuf::from(name);
        let shared = Arc::new(Shared::memory(&path));
        Ok(Region { shared, backing: Arc::new(Backing::anonymous(path, 0, 0)?) })
    }

    pub(super) fn new(shared: Arc<Shared>, backing: Arc<Backing>) -> Region {
        Region { shared, backing }
    }

    /// Returns how many bytes are allocated.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "a region is a file, not a collection")]
    pub fn len(&self) -> u64 {
        self.backing.map.len()
    }

    pub(super) fn map(&self) -> &Map {
        &self.backing.map
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.backing.path
    }

    /// Allocates bytes at the end up to `len`, which read zero; a region that is long enough
    /// stays as it is. Readers and writers of the old bytes go on meanwhile. A volume opened for
    /// reading grows in memory only.
    ///
    /// Cost: one call of the file system, for a durable medium one sync: grow in large steps.
    ///
    /// # Errors
    /// [`Error::NoSpace`] if the medium has no room; the region is then as before. A failed sync
    /// poisons the volume.
    ///
    /// # Panics
    /// If `len` is not a multiple of 8.
    #[track_caller]
    pub fn grow(&self, len: u64) -> Result<()> {
        let call = Call::new(CallKind::Resize, None, Location::caller());
        assert!(len.is_multiple_of(8), "region length {len} is not a multiple of 8");
        self.shared.check_health()?;
        let _resizing = lock(&self.backing.resize);
        let old_len = self.len();
        if len <= old_len {
            return Ok(());
        }
        let reserved_bytes = self.backing.map.reserved_bytes();
        if len > reserved_bytes {
            let path = self.path().to_path_buf();
            let (needed_bytes, available_bytes) = (len - old_len, reserved_bytes - old_len);
            let lack = Lack::Memory;
            return Err(Error::NoSpace { path, needed_bytes, available_bytes, lack });
        }
        if self.shared.access() == Access::Read {
            let extended = self.backing.map.replace(old_len.next_multiple_of(PAGE_BYTES)..len);
            return extended.map_err(|e| memory_error(self.path(), e, len - old_len));
        }
        self.shared.next_call(self.path(), "allocate")?;
        if let Some(file) = &self.backing.file {
            match self.shared.options.kind {
                MediumKind::Dram => file.truncate(len)?,
                _ => file.allocate(old_len..len)?,
            }
        }
        self.shared.record(&call, || Event::Resize { region: self.backing.number, len });
        self.sync_all()?;
        self.backing.map.set_len(len);
        Ok(())
    }

    /// Returns how many bytes more the medium has for anyone now, as far as that can be told.
    pub fn free_bytes(&self) -> u64 {
        self.backing.file.as_ref().map_or(u64::MAX, BackingFile::free_bytes)
    }

    /// Puts memory of this process in the place of a range of pages, whatever the region is
    /// otherwise; what was there is gone. The region is as long as that if it was shorter.
    ///
    /// # Errors
    /// [`Error::NoSpace`] if there is no memory or address space.
    pub fn replace_in_memory(&self, range: Range<u64>) -> Result<()> {
        let _resizing = lock(&self.backing.resize);
        let reserved_bytes = self.backing.map.reserved_bytes();
        let needed_bytes = range.end - range.start;
        if range.end > reserved_bytes {
            let available_bytes = reserved_bytes.saturating_sub(range.start);
            let path = self.path().to_path_buf();
            let lack = Lack::Memory;
            return Err(Error::NoSpace { path, needed_bytes, available_bytes, lack });
        }
        let replaced = self.backing.map.replace(range);
        replaced.map_err(|e| memory_error(self.path(), e, needed_bytes))
    }

    /// Returns what other processes read beside this writer, if they are let in.
    pub fn pins(&self) -> Option<&Pins> {
        self.shared.pins.get()
    }

    /// Cuts the region to `len` bytes; a region that is short enough stays as it is, and so does one of a graph
    /// that other processes read, who map its end.
    ///
    /// No one may hold `words` beyond `len`: on a file, touching them ends the process (SIGBUS).
    ///
    /// # Errors
    /// [`Error::Io`], and the region is as before. A failed sync poisons the volume.
    ///
    /// # Panics
    /// If `len` is not a multiple of 8.
    #[track_caller]
    pub fn shrink(&self, len: u64) -> Result<()> {
        let call = Call::new(CallKind::Resize, None, Location::caller());
        assert!(len.is_multiple_of(8), "region length {len} is not a multiple of 8");
        self.shared.check_writable()?;
        let _resizing = lock(&self.backing.resize);
        if len >= self.len() {
            return Ok(());
        }
        match self.pins() {
            Some(pins) => pins.alone(|| self.cut(&call, len)).unwrap_or(Ok(())),
            None => self.cut(&call, len),
        }
    }

    fn cut(&self, call: &Call, len: u64) -> Result<()> {
        let old_len = self.len();
        self.shared.next_call(self.path(), "truncate")?;
        self.shared.record(call, || Event::Resize { region: self.backing.number, len });
        match &self.backing.file {
            None => {
                let discarded = self.backing.map.discard(len..old_len);
                discarded.map_err(|e| memory_error(self.path(), e, 0))?;
                self.backing.map.set_len(len);
            }
            Some(file) => {
                self.backing.map.set_len(len);
                if let Err(e) = file.truncate(len) {
                    self.backing.map.set_len(old_len);
                    return Err(e);
                }
            }
        }
        self.sync_all()
    }

    /// Gives the medium back what a range takes inside of the region, as far as it has whole pages: they read zero afterwards, and are not
    /// stored to before they are [taken back](Self::take_back). Returns what was given back, if anything was.
    ///
    /// # Errors
    /// [`Error::Io`] if the medium fails; then nobody knows what the range holds.
    #[track_caller]
    pub fn give_back(&self, range: Range<u64>) -> Result<Option<Range<u64>>> {
        self.shared.check_writable()?;
        let pages = range.start.next_multiple_of(PAGE_BYTES)..range.end / PAGE_BYTES * PAGE_BYTES;
        if pages.is_empty() || self.shared.options.kind == MediumKind::Dram {
            return Ok(None);
        }
        self.shared.next_call(self.path(), "give back a part of")?;
        let given = match self.file() {
            Some(file) => file.punch(&pages)?,
            // What is recorded loses the bytes as well.
            None => {
                self.wipe(Site::GivenBack, pages.clone());
                true
            }
        };
        Ok(given.then_some(pages))
    }

    /// Has the medium set room aside again for a range that was [given back](Self::give_back).
    ///
    /// # Errors
    /// [`Error::NoSpace`] if it has none.
    #[track_caller]
    pub fn take_back(&self, range: Range<u64>) -> Result<()> {
        self.shared.check_writable()?;
        self.shared.next_call(self.path(), "allocate")?;
        self.file().map_or(Ok(()), |file| file.allocate_inside(range))
    }

    /// Returns the ranges for which the medium may have no room set aside, as far as it says.
    ///
    /// # Errors
    /// [`Error::Io`] if the medium fails.
    pub fn holes(&self) -> Result<Vec<Range<u64>>> {
        match (self.file(), self.shared.options.kind) {
            (Some(file), MediumKind::File | MediumKind::Pmem { .. }) => file.holes(),
            _ => Ok(Vec::new()),
        }
    }

    /// Returns whether what is stored stays in memory of this process.
    pub fn is_private(&self) -> bool {
        self.shared.access() == Access::Read
    }

    /// Takes the page faults of allocated bytes that will be stored to soon, all at once: growing
    /// leaves them to the first store. Does nothing on a file, whose pages would become dirty.
    ///
    /// # Errors
    /// [`Error::NoSpace`] if memory has none.
    pub fn populate(&self, range: Range<u64>) -> Result<()> {
        let is_wanted = match self.shared.options.kind {
            MediumKind::File => false,
            MediumKind::Pmem { .. } => self.shared.access() == Access::Write,
            // Who reads shared memory has pages of its own in the place of those it stores to.
            MediumKind::Dram => true,
        };
        if !is_wanted || range.is_empty() {
            return Ok(());
        }
        let needed_bytes = range.end - range.start;
        let populated = self.backing.map.populate(range.clone());
        match (populated.map_err(|e| memory_error(self.path(), e, needed_bytes))?, self.file()) {
            // An old kernel: without its page, a store to shared memory could end the process.
            (false, Some(file)) if self.shared.options.kind == MediumKind::Dram => {
                file.allocate_inside(range)
            }
            _ => Ok(()),
        }
    }

    /// Says that nobody will read a range for long: through a handle for reading, its pages leave this process's memory.
    /// Who reads them again has them from the file, without what was stored to them.
    pub fn forget(&self, range: Range<u64>) {
        if self.shared.access() == Access::Read && self.file().is_some() {
            // Advice: what is not taken costs memory only.
            let _ = self.backing.map.forget(range);
        }
    }

    /// Refuses changes after a failed sync and in a forked child; for calls that store before they
    /// fence.
    ///
    /// # Errors
    /// [`Error::Poisoned`] or [`Error::Forked`].
    #[inline]
    pub fn check_health(&self) -> Result<()> {
        self.shared.check_health()
    }

    fn file(&self) -> Option<&BackingFile> {
        self.backing.file.as_ref()
    }

    /// Syncs what was changed of the file's length, and all its bytes.
    fn sync_all(&self) -> Result<()> {
        if !self.shared.is_durable() {
            return Ok(());
        }
        self.backing.gate.sync(&self.shared.health, || {
            self.next_sync()?;
            self.file().map_or(Ok(()), BackingFile::sync_all)
        })
    }

    /// Fails where a recorder was told to, as a sync that loses what it was to write.
    #[inline]
    fn next_sync(&self) -> Result<()> {
        self.shared.next_sync(self.path()).inspect_err(|_| {
            if self.shared.options.kind == MediumKind::File {
                self.observe(Observer::lose);
            }
        })
    }

    /// Views `count` words from the byte `offset` on.
    ///
    /// # Panics
    /// If `offset` is not a multiple of 4 or the words end beyond the region.
    #[inline]
    pub fn words(&self, offset: u64, count: usize) -> &[AtomicU32] {
        self.observe(|o, region| o.load(region, offset..offset + 4 * count as u64));
        self.backing.map.words(offset, count)
    }

    /// Holds `count` words from the byte `offset` on, to be viewed often; nobody counts that.
    ///
    /// # Panics
    /// As [`words`](Self::words).
    pub fn hold(&self, offset: u64, count: usize) -> HeldWords {
        HeldWords::new(self.clone(), offset, count)
    }

    /// Starts loading `WORDS` words from the byte `offset` on into the cache, if they are inside;
    /// nothing is read yet.
    #[inline]
    pub fn prefetch<const WORDS: usize>(&self, offset: u64) {
        self.backing.map.prefetch::<WORDS>(offset);
    }

    /// Loads the double word at the byte `offset`; acquires what its last store released.
    ///
    /// # Panics
    /// If `offset` is not a multiple of 8 or the double word ends beyond the region.
    #[inline]
    pub fn load_u64(&self, offset: u64) -> u64 {
        self.observe(|o, region| o.load(region, offset..offset + 8));
        self.backing.map.double_words(offset, 1)[0].load(Ordering::Acquire)
    }

    /// Stores `bytes` from the byte `offset` on, in aligned units of 8 bytes and of 4 at the ends,
    /// each at once.
    ///
    /// # Panics
    /// If `offset` or the length of `bytes` is not a multiple of 4, or the bytes end beyond the
    /// region.
    #[inline]
    pub fn store(&self, offset: u64, bytes: &[u8]) {
        self.observe(|o, region| o.store(region, offset, bytes));
        self.backing.fill(offset, bytes);
    }

    /// Stores `words` from the byte `offset` on, like [`store`](Self::store).
    ///
    /// Cost: a copy. 4 KiB and more on a file are written by a call: stored where it is mapped, each new page would have a
    /// fault of its own.
    ///
    /// # Panics
    /// If `offset` is not a multiple of 4 or the words end beyond the region.
    #[inline]
    pub fn store_words(&self, offset: u64, words: &[u32]) {
        self.observe(|o, region| {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
            o.store(region, offset, &bytes);
        });
        if words.len() >= WRITTEN_WORDS_MIN && self.writes(offset, words) {
            return;
        }
        self.backing.fill_units(
            offset,
            words,
            |word| *word,
            |pair| u64::from(pair[0]) | u64::from(pair[1]) << 32,
        );
    }

    /// Writes words to the file, in whose pages the map shows them. Returns whether it did: a store says what is wrong with
    /// the file otherwise.
    #[cold]
    fn writes(&self, offset: u64, words: &[u32]) -> bool {
        let VolumeOptions { kind, .. } = self.shared.options;
        let is_shared = kind == MediumKind::File && self.shared.access() == Access::Write;
        let Some(file) = self.file().filter(|_| is_shared && cfg!(target_endian = "little")) else {
            return false;
        };
        let within = self.backing.map.words(offset, words.len()).len();
        file.write_at(offset, bytemuck::cast_slice(&words[..within])).is_ok()
    }

    /// Stores two double words from the byte `offset` on, each at once.
    ///
    /// # Panics
    /// If `offset` is not a multiple of 8 or they end beyond the region.
    #[inline(always)]
    pub fn store_pair(&self, offset: u64, pair: [u64; 2]) {
        self.observe(|o, region| {
            let bytes: Vec<u8> = pair.iter().flat_map(|word| word.to_le_bytes()).collect();
            o.store(region, offset, &bytes);
        });
        let words = self.backing.map.double_words(offset, 2);
        words[0].store(pair[0], Ordering::Relaxed);
        words[1].store(pair[1], Ordering::Relaxed);
    }

    /// Stores `count` words from the byte `offset` on, one by one.
    ///
    /// # Panics
    /// As [`store_words`](Self::store_words).
    #[inline]
    pub fn store_each(&self, offset: u64, count: usize, words: impl Iterator<Item = u32>) {
        if self.shared.observer.is_some() {
            return self.store_words(offset, &words.take(count).collect::<Vec<u32>>());
        }
        for (to, word) in self.backing.map.words(offset, count).iter().zip(words) {
            to.store(word, Ordering::Relaxed);
        }
    }

    /// Whether a line is best stored by [`persist_line`](Self::persist_line): where it would have to
    /// be written back at once.
    #[inline]
    pub fn streams(&self) -> bool {
        let VolumeOptions { kind, eadr, .. } = self.shared.options;
        matches!(kind, MediumKind::Pmem { .. }) && !eadr && self.shared.access() == Access::Write
    }

    /// Stores a line, two words each, on its way to persist, past the cache where that is faster: as
    /// a store and a flush. The next [`fence`](Self::fence) of this thread waits for it, and nobody
    /// reads it before.
    ///
    /// # Panics
    /// If `offset` is not a multiple of 64 or the line ends beyond the region.
    #[inline]
    #[track_caller]
    pub fn persist_line(&self, site: Site, offset: u64, line: [u64; 8]) {
        if self.shared.observer.is_some() {
            let word = |word: usize| (line[word / 2] >> (32 * (word % 2))) as u32;
            self.store_words(offset, &std::array::from_fn::<u32, 16, _>(word));
            return self.flush(site, offset..offset + CACHE_LINE_BYTES);
        }
        self.backing.map.persist_line(offset, line, self.shared.write_back);
    }

    /// Stores words and starts making them persist, whole lines past the cache where the medium takes
    /// them so: for words that nobody reads before the next [`fence`](Self::fence) of this thread.
    ///
    /// # Panics
    /// If `offset` is not a multiple of 4 or the words end beyond the region.
    #[track_caller]
    pub fn stream_words(&self, site: Site, offset: u64, words: &[u32]) {
        let at = Location::caller();
        let store = |offset: u64, words: &[u32]| {
            self.store_words(offset, words);
            self.flush_at(site, offset..offset + 4 * words.len() as u64, at);
        };
        if self.shared.observer.is_some() || !self.streams() {
            return store(offset, words);
        }
        let before = offset.next_multiple_of(CACHE_LINE_BYTES) - offset;
        let (first, rest) = words.split_at(words.len().min(before as usize / 4));
        let (lines, last) = rest.as_chunks::<16>();
        store(offset, first);
        let mut offset = offset + 4 * first.len() as u64;
        for line in lines {
            let pair =
                |pair: usize| u64::from(line[2 * pair]) | u64::from(line[2 * pair + 1]) << 32;
            self.backing.map.stream_line(offset, std::array::from_fn(pair));
            offset += CACHE_LINE_BYTES;
        }
        store(offset, last);
    }

    /// Stores what `range` holds once more and flushes it: for bytes that opening a file has found
    /// and believes. They may be in the kernel's cache only, and clean, since a sync of an earlier
    /// handle failed: no sync writes such bytes before they are stored again. The next
    /// [`fence`](Self::fence) of this thread makes them durable.
    ///
    /// Nobody else may store to the blocks of 4 KiB that the range touches. Through a handle for
    /// reading, nothing is done.
    ///
    /// Cost: the range is written, past the cache where the file system takes that; elsewhere than on
    /// a file it is flushed.
    ///
    /// # Errors
    /// [`Error::Io`] if the device does not take it; the volume is poisoned.
    ///
    /// # Panics
    /// If the range ends beyond the region.
    #[track_caller]
    pub fn rewrite(&self, site: Site, range: Range<u64>) -> Result<()> {
        if self.shared.access() == Access::Read {
            return Ok(());
        }
        let is_dropped = self.drops_store(&Call::new(CallKind::Rewrite, site, Location::caller()));
        if self.shared.options.kind == MediumKind::File && !is_dropped {
            let written = self.write_past_cache(&range).map_err(|e| self.shared.poison(e))?;
            let (before, after) = (range.start..written.start, written.end..range.end);
            for part in [before, after] {
                let first = part.start / SECTOR_BYTES * SECTOR_BYTES;
                for sector in (first..part.end).step_by(SECTOR_BYTES as usize) {
                    self.store_again(sector.max(part.start) / 8 * 8);
                }
            }
        }
        self.flush(site, range);
        Ok(())
    }

    /// Stores zeros into `range` and flushes them: what lies there must not be believed any more. Through
    /// a handle for reading, nothing is done.
    ///
    /// # Panics
    /// If `range` does not begin and end at words, or ends beyond the region.
    #[track_caller]
    pub fn wipe(&self, site: Site, range: Range<u64>) {
        if self.shared.access() == Access::Read {
            return;
        }
        if !self.drops_store(&Call::new(CallKind::Wipe, site, Location::caller())) {
            let bytes = &[0; CACHE_LINE_BYTES as usize];
            for offset in range.clone().step_by(bytes.len()) {
                let len = (range.end - offset).min(CACHE_LINE_BYTES);
                self.store(offset, &bytes[..len as usize]);
            }
        }
        self.flush(site, range);
    }

    /// Returns whether a plant has the call store nothing.
    fn drops_store(&self, call: &Call) -> bool {
        let observer = self.shared.observer.as_ref();
        observer.is_some_and(|o| o.drops_store(call, self.backing.number))
    }

    /// Writes the blocks that `range` touches past the cache, as far as there are whole ones. Returns
    /// which part of the range is written by that, or an empty part at its start.
    ///
    /// A store alone would not do on ext4: where write-back to a block failed that was allocated and
    /// never written, the kernel's cache takes the block for written, so that no later write-back
    /// through the cache marks it so on the device, and it reads zero after the next mount.
    fn write_past_cache(&self, range: &Range<u64>) -> Result<Range<u64>> {
        let nothing = range.start..range.start;
        let Some(file) = self.file() else { return Ok(nothing) };
        let first = range.start / PAGE_BYTES * PAGE_BYTES;
        let end = range.end.next_multiple_of(PAGE_BYTES).min(self.len() / PAGE_BYTES * PAGE_BYTES);
        if first >= end || range.is_empty() {
            return Ok(nothing);
        }
        let _resizing = lock(&self.backing.resize);
        let copy = |offset: u64, buffer: &mut [u8]| {
            let words = self.backing.map.double_words(offset, buffer.len() / 8);
            for (bytes, word) in buffer.chunks_exact_mut(8).zip(words) {
                bytes.copy_from_slice(&word.load(Ordering::Relaxed).to_le_bytes());
            }
        };
        match file.write_past_cache(first..end, copy)? {
            true => Ok(range.start..range.end.min(end)),
            false => Ok(nothing),
        }
    }

    /// Stores the double word at `offset` as it is, unless another thread stores there.
    fn store_again(&self, offset: u64) {
        let word = &self.backing.map.double_words(offset, 1)[0];
        let value = word.load(Ordering::Relaxed);
        self.observe(|o, region| o.store(region, offset, &value.to_le_bytes()));
        // Not a plain store, which could undo another one. Whether it succeeds does not matter: if
        // not, another thread has stored.
        let _stored = word.compare_exchange(value, value, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Tells the observer, if there is one.
    #[inline]
    fn observe(&self, see: impl FnOnce(&Observer, u32)) {
        if let Some(observer) = &self.shared.observer {
            see(observer, self.backing.number);
        }
    }

    /// Starts making what `range` holds persist; the next [`fence`](Self::fence) of this thread
    /// waits for it.
    ///
    /// Cost: one instruction a cache line on persistent memory, a counter on a file.
    ///
    /// # Panics
    /// If the range ends beyond the region.
    #[inline]
    #[track_caller]
    pub fn flush(&self, site: Site, range: Range<u64>) {
        self.flush_at(site, range, Location::caller());
    }

    #[inline]
    fn flush_at(&self, site: Site, range: Range<u64>, at: &'static Location<'static>) {
        assert!(range.end <= self.len(), "range {range:?} ends beyond the region");
        self.observe(|o, region| {
            o.flush(&Call::new(CallKind::Flush, site, at), region, range.clone());
        });
        if self.shared.access() == Access::Read || self.backing.file.is_none() {
            return;
        }
        match self.shared.options.kind {
            MediumKind::File => self.backing.gate.mark_flushed(),
            MediumKind::Pmem { .. } if !self.shared.options.eadr => {
                self.backing.map.write_back(range, self.shared.write_back);
            }
            _ => {}
        }
    }

    /// Hands what this thread flushed in this region over: a later [`fence`](Self::fence) by any
    /// thread waits for it. For threads that share one fence.
    ///
    /// # Errors
    /// On a poisoned volume every drain fails.
    #[inline]
    #[track_caller]
    pub fn drain(&self, site: Site) -> Result<()> {
        let at = Location::caller();
        self.shared.check_health()?;
        self.observe(|o, region| o.drain(&Call::new(CallKind::Drain, site, at), region));
        if let MediumKind::Pmem { .. } = self.shared.options.kind {
            store_fence();
        }
        Ok(())
    }

    /// Waits until everything that this thread flushed in this region has persisted.
    ///
    /// # Errors
    /// A failed sync poisons the volume; it is never retried, since the next one could succeed
    /// without the lost pages. On a poisoned volume every fence fails.
    #[inline]
    #[track_caller]
    pub fn fence(&self, site: Site) -> Result<()> {
        let at = Location::caller();
        self.shared.check_health()?;
        let see = || {
            self.next_sync()?;
            self.observe(|o, region| o.fence(&Call::new(CallKind::Fence, site, at), region));
            Ok(())
        };
        match self.shared.options.kind {
            MediumKind::File => {
                let sync = || self.file().map_or(Ok(()), BackingFile::sync_data);
                self.backing.gate.sync_flushed(&self.shared.health, see, sync)
            }
            MediumKind::Pmem { .. } => {
                see()?;
                store_fence();
                Ok(())
            }
            MediumKind::Dram => see(),
        }
    }

    /// Returns whether a checksum, or what else tells that bytes are whole, is as expected.
    #[inline]
    #[track_caller]
    pub fn matches<T: PartialEq>(&self, site: Site, expected: T, found: T) -> bool {
        let is_equal = expected == found;
        match &self.shared.observer {
            None => is_equal,
            Some(observer) => {
                let check = Call::new(CallKind::Check, site, Location::caller());
                observer.planted_outcome(&check).unwrap_or(is_equal)
            }
        }
    }
}
