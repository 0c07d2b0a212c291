//! One file's bytes at a fixed address: stores, flushes and fences.

use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use super::file::{BackingFile, memory_error};
use super::map::{Map, Source, store_fence};
use super::meter::Meter;
use super::volume::Shared;
use super::{Access, MediumKind, Site, lock};
use crate::{Error, Result};

/// The address space that each region reserves to grow into.
const RESERVE_BYTES: u64 = 1 << 40;

/// One file's bytes: its address is fixed for life, and it grows at its end. A clone is another
/// handle to the same bytes.
#[derive(Clone)]
pub struct Region {
    shared: Arc<Shared>,
    backing: Arc<Backing>,
}

/// The mapped bytes of a region.
pub(super) struct Backing {
    pub(super) map: Map,
    /// Names the region among those of its volume.
    number: u32,
    path: PathBuf,
    /// None for bytes that live in memory only.
    file: Option<BackingFile>,
    /// Held while the length changes.
    resize: Mutex<()>,
}

impl Backing {
    /// Makes `len` zero bytes of memory.
    pub(super) fn anonymous(path: PathBuf, number: u32, len: u64) -> Result<Backing> {
        let map = Map::new(&Source::Anonymous, RESERVE_BYTES, len)
            .map_err(|e| memory_error(&path, e, len))?;
        Ok(Backing { map, number, path, file: None, resize: Mutex::new(()) })
    }

    /// Maps all whole double words of a file.
    pub(super) fn file(
        path: PathBuf,
        number: u32,
        file: BackingFile,
        shared: &Shared,
    ) -> Result<Backing> {
        let len = file.len()? / 8 * 8;
        let reserve_bytes = RESERVE_BYTES.max(len.saturating_mul(2));
        let source = source(file.fd(), shared);
        let map = Map::new(&source, reserve_bytes, len).map_err(|e| match (&source, e.kind()) {
            (Source::Dax { .. }, std::io::ErrorKind::Unsupported) => not_persistent(&path),
            _ => memory_error(&path, e, len),
        })?;
        Ok(Backing { map, number, path, file: Some(file), resize: Mutex::new(()) })
    }

    /// Returns a copy of all bytes.
    pub(super) fn to_vec(&self) -> Vec<u8> {
        let words = self.map.double_words(0, (self.map.len() / 8) as usize);
        words.iter().flat_map(|w| w.load(Ordering::Relaxed).to_le_bytes()).collect()
    }
}

fn source<'a>(fd: BorrowedFd<'a>, shared: &Shared) -> Source<'a> {
    match (shared.access, shared.options.kind) {
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
    pub(super) fn new(shared: Arc<Shared>, backing: Arc<Backing>) -> Region {
        Region { shared, backing }
    }

    /// Returns how many bytes are allocated.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "a region is a file, not a collection")]
    pub fn len(&self) -> u64 {
        self.backing.map.len()
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.backing.path
    }

    /// Allocates bytes at the end up to `len`, which read zero; a region that is long enough
    /// stays as it is. Readers and writers of the old bytes go on meanwhile.
    ///
    /// Cost: one call of the file system, for a durable medium one sync, for memory the page
    /// faults of the new bytes: grow in large steps.
    ///
    /// # Errors
    /// [`Error::NoSpace`] if the medium has no room; the region is then as before. A failed sync
    /// poisons the volume.
    ///
    /// # Panics
    /// If `len` is not a multiple of 8.
    pub fn grow(&self, len: u64) -> Result<()> {
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
            return Err(Error::NoSpace { path, needed_bytes, available_bytes });
        }
        if self.shared.access == Access::Read {
            let extended = self.backing.map.extend_privately(len);
            return extended.map_err(|e| memory_error(self.path(), e, len - old_len));
        }
        if let Some(file) = &self.backing.file {
            file.allocate(old_len..len)?;
            self.sync_all(file)?;
        }
        self.populate(old_len..len)?;
        self.backing.map.set_len(len);
        Ok(())
    }

    /// Cuts the region to `len` bytes; a region that is short enough stays as it is.
    ///
    /// No one may hold `words` beyond `len`: on a file, touching them ends the process (SIGBUS).
    ///
    /// # Errors
    /// [`Error::Io`], and the region is as before. A failed sync poisons the volume.
    ///
    /// # Panics
    /// If `len` is not a multiple of 8.
    pub fn shrink(&self, len: u64) -> Result<()> {
        assert!(len.is_multiple_of(8), "region length {len} is not a multiple of 8");
        self.shared.check_writable()?;
        let _resizing = lock(&self.backing.resize);
        let old_len = self.len();
        if len >= old_len {
            return Ok(());
        }
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
                self.sync_all(file)?;
            }
        }
        Ok(())
    }

    /// Takes the page faults of new bytes now if they are memory.
    pub(super) fn populate(&self, range: Range<u64>) -> Result<()> {
        if self.shared.options.kind == MediumKind::File {
            return Ok(());
        }
        let needed_bytes = range.end - range.start;
        let populated = self.backing.map.populate(range);
        populated.map_err(|e| memory_error(self.path(), e, needed_bytes))
    }

    fn sync_all(&self, file: &BackingFile) -> Result<()> {
        if self.shared.is_durable() {
            file.sync_all().map_err(|e| self.shared.poison(e))?;
        }
        Ok(())
    }

    /// Views `count` words from the byte `offset` on.
    ///
    /// # Panics
    /// If `offset` is not a multiple of 4 or the words end beyond the region.
    #[inline]
    pub fn words(&self, offset: u64, count: usize) -> &[AtomicU32] {
        self.count(|meter| meter.load(self.backing.number, offset..offset + 4 * count as u64));
        self.backing.map.words(offset, count)
    }

    /// Loads the double word at the byte `offset`; acquires what its last store released.
    ///
    /// # Panics
    /// If `offset` is not a multiple of 8 or the double word ends beyond the region.
    #[inline]
    pub fn load_u64(&self, offset: u64) -> u64 {
        self.count(|meter| meter.load(self.backing.number, offset..offset + 8));
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
        self.check_store(offset, bytes.len());
        let (words, rest) = bytes.as_chunks::<4>();
        assert!(rest.is_empty(), "{} bytes are not whole words", bytes.len());
        self.store_units(
            offset,
            words,
            |word| u32::from_le_bytes(*word),
            |pair| {
                let [low, high] = *pair;
                u64::from(u32::from_le_bytes(low)) | u64::from(u32::from_le_bytes(high)) << 32
            },
        );
    }

    /// Stores `words` from the byte `offset` on, like [`store`](Self::store).
    ///
    /// # Panics
    /// If `offset` is not a multiple of 4 or the words end beyond the region.
    #[inline]
    pub fn store_words(&self, offset: u64, words: &[u32]) {
        self.check_store(offset, size_of_val(words));
        self.store_units(
            offset,
            words,
            |word| *word,
            |pair| u64::from(pair[0]) | u64::from(pair[1]) << 32,
        );
    }

    #[inline]
    fn check_store(&self, offset: u64, len: usize) {
        self.count(|meter| meter.store(self.backing.number, offset..offset + len as u64));
    }

    /// Tells the meter, if there is one.
    #[inline]
    fn count(&self, event: impl FnOnce(&mut Meter)) {
        if let Some(meter) = &self.shared.meter {
            event(&mut lock(meter));
        }
    }

    /// Stores a first word up to an 8-byte boundary, then pairs of words, then a last word.
    #[inline]
    fn store_units<T>(
        &self,
        offset: u64,
        words: &[T],
        one: impl Fn(&T) -> u32,
        two: impl Fn(&[T; 2]) -> u64,
    ) {
        let map = &self.backing.map;
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

    /// Starts making what `range` holds persist; the next [`fence`](Self::fence) of this thread
    /// waits for it.
    ///
    /// Cost: one instruction a cache line on persistent memory, a counter on a file.
    ///
    /// # Panics
    /// If the range ends beyond the region.
    #[inline]
    pub fn flush(&self, _site: Site, range: Range<u64>) {
        self.count(Meter::flush);
        match self.shared.options.kind {
            MediumKind::Dram => {}
            MediumKind::Pmem { .. } => {
                if !self.shared.options.eadr {
                    self.backing.map.write_back(range, self.shared.write_back);
                }
            }
            MediumKind::File => {
                if let Some(file) = &self.backing.file {
                    file.mark_flushed();
                }
            }
        }
    }

    /// Waits until everything that this thread flushed in this region has persisted.
    ///
    /// # Errors
    /// A failed sync poisons the volume; it is never retried, since the next one could succeed
    /// without the lost pages. On a poisoned volume every fence fails.
    #[inline]
    pub fn fence(&self, _site: Site) -> Result<()> {
        self.shared.check_health()?;
        if self.shared.access == Access::Read {
            return Ok(());
        }
        self.count(|meter| meter.fence(self.backing.number));
        match (self.shared.options.kind, &self.backing.file) {
            (MediumKind::Pmem { .. }, _) => store_fence(),
            (MediumKind::File, Some(file)) => {
                file.sync_flushed().map_err(|e| self.shared.poison(e))?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Takes care that what this thread flushed needs no later fence of its own: on memory a
    /// fence, on a file nothing, since there one thread's fence covers the flushes of all.
    ///
    /// # Errors
    /// As [`fence`](Self::fence).
    #[inline]
    pub fn drain(&self, site: Site) -> Result<()> {
        match self.shared.options.kind {
            MediumKind::File => self.shared.check_health(),
            _ => self.fence(site),
        }
    }

    /// Returns whether a checksum is as expected.
    #[inline]
    pub fn checksum_matches(&self, _site: Site, expected: u32, found: u32) -> bool {
        expected == found
    }
}
