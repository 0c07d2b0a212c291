//! Memory whose address never changes: a large reserved mapping, seen as atomics only.
//!
//! The mapping is reserved once, far larger than the file, so that a file that grows keeps its
//! address. Pages beyond the end of the file must not be touched (SIGBUS), so every access is
//! checked against the length, which only the medium changes.
//!
//! # Invariants
//! M1. `base` is the start of `reserved_bytes` mapped bytes, page aligned, until the map is
//!     dropped; `len` is at most `reserved_bytes`.
//! M2. The bytes are only ever seen as atomics, so that threads, and other mappings of the file,
//!     may change them at any time.
#![expect(unsafe_code, reason = "mapping files, viewing them as atomics, cache line write-back")]

use std::ffi::c_void;
use std::io;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::ptr::{self, NonNull};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use everedge_core::memory::prefetch;
use rustix::mm::{Advice, MapFlags, ProtFlags};
use rustix::process::{Resource, getrlimit};

use super::region::Region;

/// The unit in which a cache writes back.
pub(super) const CACHE_LINE_BYTES: u64 = 64;
pub(super) const PAGE_BYTES: u64 = 4096;
const HUGE_PAGE_BYTES: u64 = 2 << 20;
/// Of the addresses that a limit leaves the process, a map reserves one of so many parts.
const LIMITED_PARTS: u64 = 8;

/// What a mapping shows.
pub(super) enum Source<'a> {
    /// Memory that reads zero until stored to.
    Anonymous,
    /// A file.
    File { fd: BorrowedFd<'a> },
    /// A file on a DAX file system whose metadata persists with the stores (`MAP_SYNC`).
    Dax { fd: BorrowedFd<'a> },
    /// A file as it is now; stores stay in memory.
    Private { fd: BorrowedFd<'a> },
}

/// A mapping of fixed address.
pub(super) struct Map {
    base: NonNull<u8>,
    reserved_bytes: u64,
    /// How many bytes from `base` on may be touched.
    len: AtomicU64,
}

// SAFETY: the memory belongs to the map and is only accessed as atomics (M2).
unsafe impl Send for Map {}
// SAFETY: as above; nothing in the map is thread-bound.
unsafe impl Sync for Map {}

impl Map {
    /// Reserves `reserve_bytes` of address space, or less when it is limited, but at least `len`,
    /// the bytes that may be touched from the start. Of what a limit of the process leaves
    /// (`ulimit -v`), that is a small part: other maps and the heap need the rest.
    pub(super) fn new(source: &Source<'_>, reserve_bytes: u64, len: u64) -> io::Result<Map> {
        let least_bytes = len.max(1).next_multiple_of(PAGE_BYTES);
        let ahead_bytes = spare_addresses().saturating_sub(least_bytes) / LIMITED_PARTS;
        let most_bytes = reserve_bytes.min(least_bytes.saturating_add(ahead_bytes));
        let mut reserved_bytes = most_bytes.next_multiple_of(PAGE_BYTES).max(least_bytes);
        loop {
            match map_once(source, reserved_bytes) {
                Ok(base) => return Ok(Map { base, reserved_bytes, len: AtomicU64::new(len) }),
                Err(e) if !is_too_much(&e) || reserved_bytes == least_bytes => return Err(e),
                Err(_) => reserved_bytes = halve(reserved_bytes).max(least_bytes),
            }
        }
    }

    /// Maps a page that reads zero in a forked child.
    pub(super) fn wiped_on_fork() -> io::Result<Map> {
        let map = Map::new(&Source::Anonymous, PAGE_BYTES, PAGE_BYTES)?;
        map.advise(&(0..PAGE_BYTES), Advice::LinuxWipeOnFork)?;
        Ok(map)
    }

    /// Returns how many bytes may be touched.
    #[inline]
    pub(super) fn len(&self) -> u64 {
        self.len.load(Ordering::Acquire)
    }

    /// Returns how many bytes are reserved: the limit of `set_len`.
    pub(super) fn reserved_bytes(&self) -> u64 {
        self.reserved_bytes
    }

    /// Lets the first `len` bytes be touched; the file has them.
    pub(super) fn set_len(&self, len: u64) {
        assert!(len <= self.reserved_bytes, "{len} bytes are more than are reserved");
        self.len.store(len, Ordering::Release);
    }

    /// Puts memory in the place of what is mapped of a range of whole pages. More bytes may be
    /// touched then, if it ends beyond those that might.
    pub(super) fn replace(&self, range: Range<u64>) -> io::Result<()> {
        let Range { start, end } = range;
        let page_end = end.next_multiple_of(PAGE_BYTES);
        assert!(start.is_multiple_of(PAGE_BYTES), "{start} is inside of a page");
        assert!(page_end <= self.reserved_bytes, "{end} bytes are more than are reserved");
        if start < page_end {
            // SAFETY: in bounds of the mapping by the assertion (M1).
            let address = unsafe { self.base.add(start as usize) };
            let flags = MapFlags::PRIVATE | MapFlags::FIXED;
            map_anonymous(address.as_ptr().cast(), page_end - start, flags)?;
        }
        self.set_len(end.max(self.len()));
        Ok(())
    }

    /// Views `count` words from `offset` on. Panics if they are unaligned or beyond the length.
    #[inline]
    pub(super) fn words(&self, offset: u64, count: usize) -> &[AtomicU32] {
        self.check(offset, count, 4);
        // SAFETY: in bounds of the mapping by the check (M1).
        let start = unsafe { self.base.add(offset as usize) }.cast::<AtomicU32>();
        // SAFETY: aligned and in bounds by the check, mapped as long as `self` (M1), atomics (M2).
        unsafe { std::slice::from_raw_parts(start.as_ptr(), count) }
    }

    /// Views `count` double words from `offset` on. Panics if they are unaligned or beyond the length.
    #[inline]
    pub(super) fn double_words(&self, offset: u64, count: usize) -> &[AtomicU64] {
        self.check(offset, count, 8);
        // SAFETY: in bounds of the mapping by the check (M1).
        let start = unsafe { self.base.add(offset as usize) }.cast::<AtomicU64>();
        // SAFETY: aligned and in bounds by the check, mapped as long as `self` (M1), atomics (M2).
        unsafe { std::slice::from_raw_parts(start.as_ptr(), count) }
    }

    /// Stores a line past the cache. Panics if it is unaligned or beyond the length.
    #[inline]
    pub(super) fn stream_line(&self, offset: u64, line: [u64; 8]) {
        self.line(offset).iter().zip(line).for_each(|(to, word)| stream(to, word));
    }

    /// Stores a line, so that it is in memory soon. Panics as [`Self::stream_line`].
    #[inline]
    pub(super) fn persist_line(&self, offset: u64, line: [u64; 8], write_back: WriteBack) {
        if write_back.is_line_streamed {
            return self.stream_line(offset, line);
        }
        let to = self.line(offset);
        to.iter().zip(line).for_each(|(to, word)| to.store(word, Ordering::Relaxed));
        // SAFETY: these words are mapped, and `detect` asked the processor.
        unsafe { write_back_line(to.as_ptr().cast(), write_back.instruction) };
    }

    #[inline]
    fn line(&self, offset: u64) -> &[AtomicU64] {
        assert!(offset.is_multiple_of(CACHE_LINE_BYTES), "offset {offset} is inside of a line");
        self.double_words(offset, CACHE_LINE_BYTES as usize / 8)
    }

    #[inline]
    fn check(&self, offset: u64, count: usize, unit_bytes: u64) {
        let end = (count as u64).checked_mul(unit_bytes).and_then(|n| n.checked_add(offset));
        assert!(offset.is_multiple_of(unit_bytes), "offset {offset} is unaligned");
        assert!(
            end.is_some_and(|end| end <= self.len()),
            "{count} units of {unit_bytes} bytes from offset {offset} on end beyond the region"
        );
    }

    /// Starts loading `WORDS` words from `offset` on into the cache, if they are inside.
    #[inline]
    pub(super) fn prefetch<const WORDS: usize>(&self, offset: u64) {
        if offset + 4 * WORDS as u64 <= self.len() {
            let words = self.words(offset, WORDS);
            (0..WORDS)
                .step_by(CACHE_LINE_BYTES as usize / 4)
                .for_each(|line| prefetch(&words[line..]));
        }
    }

    /// Takes the page faults of a range now, in huge pages where it is long enough.
    ///
    /// The pages become dirty, so this is for memory only, never for a file on a disk. A kernel
    /// older than 5.14 takes the faults one by one instead; then this returns false.
    pub(super) fn populate(&self, range: Range<u64>) -> io::Result<bool> {
        if range.end - range.start >= HUGE_PAGE_BYTES {
            // Advice that a file system may not take; small pages serve as well.
            let _ = self.advise(&range, Advice::LinuxHugepage);
        }
        match self.advise(&range, Advice::LinuxPopulateWrite) {
            Err(e) if e.kind() == io::ErrorKind::InvalidInput => Ok(false),
            result => result.map(|()| true),
        }
    }

    /// Gives the whole pages of a range of anonymous memory back; the range reads zero afterwards.
    pub(super) fn discard(&self, range: Range<u64>) -> io::Result<()> {
        let first_page = range.start.next_multiple_of(PAGE_BYTES);
        let part_bytes = first_page.min(range.end) - range.start;
        for word in self.words(range.start, (part_bytes / 4) as usize) {
            word.store(0, Ordering::Relaxed);
        }
        match first_page < range.end {
            true => self.advise(&(first_page..range.end), Advice::LinuxDontNeed),
            false => Ok(()),
        }
    }

    /// Gives the whole pages of a range of a private copy of a file back; the range reads as the file afterwards.
    pub(super) fn forget(&self, range: Range<u64>) -> io::Result<()> {
        let whole = range.start.next_multiple_of(PAGE_BYTES)..range.end / PAGE_BYTES * PAGE_BYTES;
        match whole.is_empty() {
            true => Ok(()),
            false => self.advise(&whole, Advice::LinuxDontNeed),
        }
    }

    fn advise(&self, range: &Range<u64>, advice: Advice) -> io::Result<()> {
        let start = range.start / PAGE_BYTES * PAGE_BYTES;
        let end = range.end.next_multiple_of(PAGE_BYTES);
        assert!(start <= end && end <= self.reserved_bytes, "{range:?} is outside of the map");
        // SAFETY: in bounds of the mapping by the assertion (M1).
        let address = unsafe { self.base.add(start as usize) };
        // SAFETY: the range is ours (M1) and no one relies on its bytes but through atomics (M2).
        unsafe { rustix::mm::madvise(address.as_ptr().cast(), (end - start) as usize, advice) }?;
        Ok(())
    }

    /// Starts writing the cache lines of a range back; [`store_fence`] waits for them.
    #[inline]
    pub(super) fn write_back(&self, range: Range<u64>, write_back: WriteBack) {
        let mut offset = range.start / CACHE_LINE_BYTES * CACHE_LINE_BYTES;
        assert!(range.end <= self.len(), "range {range:?} ends beyond the region");
        while offset < range.end {
            // SAFETY: in bounds of the mapping by the assertion (M1).
            let line = unsafe { self.base.add(offset as usize) };
            // SAFETY: the line is mapped (M1); the processor has the instruction by `detect`.
            unsafe { write_back_line(line.as_ptr(), write_back.instruction) };
            offset += CACHE_LINE_BYTES;
        }
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: the whole mapping, which no reference outlives (M1).
        let unmapped =
            unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), self.reserved_bytes as usize) };
        debug_assert!(unmapped.is_ok(), "munmap failed");
    }
}

/// Returns how many bytes of addresses the process may still take; more than any map asks for where it has no limit.
fn spare_addresses() -> u64 {
    let Some(limit) = getrlimit(Resource::As).current else { return u64::MAX };
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmSize:"));
    let kib: Option<u64> = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse().ok());
    limit.saturating_sub(kib.unwrap_or(0) << 10)
}

/// Whether less might be mapped: a tool that runs programs in an address space of its own may call a
/// length invalid that its space does not have.
fn is_too_much(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::OutOfMemory | io::ErrorKind::InvalidInput)
}

fn halve(bytes: u64) -> u64 {
    (bytes / 2).next_multiple_of(PAGE_BYTES)
}

fn map_once(source: &Source<'_>, len: u64) -> io::Result<NonNull<u8>> {
    let base = match *source {
        Source::Anonymous => map_anonymous(ptr::null_mut(), len, MapFlags::PRIVATE)?,
        Source::File { fd } => map_fd(fd, len, MapFlags::SHARED)?,
        Source::Dax { fd } => map_fd(fd, len, MapFlags::SHARED_VALIDATE | MapFlags::SYNC)?,
        Source::Private { fd } => map_fd(fd, len, MapFlags::PRIVATE)?,
    };
    NonNull::new(base.cast()).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}

fn map_anonymous(address: *mut c_void, len: u64, flags: MapFlags) -> io::Result<*mut c_void> {
    let rights = ProtFlags::READ | ProtFlags::WRITE;
    let flags = flags | MapFlags::NORESERVE;
    // SAFETY: either the address is of the kernel's choice and overlaps nothing, or the caller
    // owns the range that the mapping replaces.
    Ok(unsafe { rustix::mm::mmap_anonymous(address, len as usize, rights, flags) }?)
}

fn map_fd(fd: BorrowedFd<'_>, len: u64, flags: MapFlags) -> io::Result<*mut c_void> {
    let rights = ProtFlags::READ | ProtFlags::WRITE;
    let flags = flags | MapFlags::NORESERVE;
    // SAFETY: a fresh mapping at an address of the kernel's choice overlaps nothing. Others may
    // change the file: its bytes are seen as atomics only (M2).
    Ok(unsafe { rustix::mm::mmap(ptr::null_mut(), len as usize, rights, flags, fd, 0) }?)
}

/// Words of a region that are found without asking it each time. No one may cut the region below
/// their end.
#[derive(Clone)]
pub struct HeldWords {
    start: NonNull<AtomicU32>,
    count: usize,
    /// Keeps the volume's lock, too.
    _owner: Region,
}

// SAFETY: the words belong to the owner's map, which is `Send` and `Sync`; atomics (M2).
unsafe impl Send for HeldWords {}
// SAFETY: as above.
unsafe impl Sync for HeldWords {}

impl HeldWords {
    /// Holds `count` words from `offset` on. Panics as [`Map::words`].
    pub(super) fn new(owner: Region, offset: u64, count: usize) -> Self {
        let start = NonNull::from(owner.map().words(offset, count)).cast();
        Self { start, count, _owner: owner }
    }

    /// Copies the words from number `first` on until `to` is full, two at a time. Panics if they end
    /// beyond the last.
    #[inline]
    pub fn copy(&self, first: usize, to: &mut [u32]) {
        copy_words(&self[first..first + to.len()], to);
    }
}

/// Copies shared words to as many of one's own, two at a time.
#[inline]
pub(super) fn copy_words(words: &[AtomicU32], to: &mut [u32]) {
    assert_eq!(words.len(), to.len());
    // SAFETY: two aligned words are a double word: of either, all bits are values (M2).
    let (start, pairs, _) = unsafe { words.align_to::<AtomicU64>() };
    let (to_start, to_rest) = to.split_at_mut(start.len());
    let (to_pairs, to_end) = to_rest.as_chunks_mut::<2>();
    for (to, word) in to_start.iter_mut().zip(start) {
        *to = word.load(Ordering::Relaxed);
    }
    for (to, pair) in to_pairs.iter_mut().zip(pairs) {
        let bytes = pair.load(Ordering::Relaxed).to_ne_bytes();
        let (words, _) = bytes.as_chunks();
        *to = [u32::from_ne_bytes(words[0]), u32::from_ne_bytes(words[1])];
    }
    if let (Some(to), Some(word)) = (to_end.first_mut(), words.last()) {
        *to = word.load(Ordering::Relaxed);
    }
}

impl std::ops::Deref for HeldWords {
    type Target = [AtomicU32];

    #[inline]
    fn deref(&self) -> &[AtomicU32] {
        // SAFETY: in bounds of the owner's map when this was made, and since it only moves its
        // length below what nobody holds; mapped as long as the owner (M1), atomics (M2).
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.count) }
    }
}

/// Parts of held words, each found with one look. Those that are not there are empty.
pub struct HeldParts {
    parts: Vec<Part>,
    /// What they are parts of.
    _held: Vec<HeldWords>,
}

#[derive(Clone, Copy)]
struct Part {
    start: NonNull<AtomicU32>,
    count: usize,
}

// SAFETY: as that of `HeldWords`.
unsafe impl Send for HeldParts {}
// SAFETY: as above.
unsafe impl Sync for HeldParts {}

impl HeldParts {
    /// Returns parts of `held`: each from a word, given by the place in `held` and its number there, to the
    /// last one there.
    pub fn new(
        held: Vec<HeldWords>,
        parts: impl IntoIterator<Item = Option<(usize, usize)>>,
    ) -> Self {
        let part = |part: Option<(usize, usize)>| {
            let words = part.and_then(|(place, first)| held.get(place)?.get(first..));
            let words = words.unwrap_or_default();
            Part { start: NonNull::from(words).cast(), count: words.len() }
        };
        Self { parts: parts.into_iter().map(part).collect(), _held: held }
    }

    /// Returns a part by its number.
    #[inline(always)]
    pub fn get(&self, number: usize) -> &[AtomicU32] {
        match self.parts.get(number) {
            // SAFETY: `new` took the part from words that `_held` keeps, or it is empty.
            Some(part) => unsafe { std::slice::from_raw_parts(part.start.as_ptr(), part.count) },
            None => &[],
        }
    }
}

/// How this processor brings cache lines to memory best.
#[derive(Clone, Copy, Debug)]
pub(super) struct WriteBack {
    instruction: Instruction,
    /// Whether a line that is fenced at once is there sooner past the cache than if it is stored and
    /// written back.
    is_line_streamed: bool,
}

/// Writes a cache line back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Instruction {
    /// `clwb`: the line stays in the cache.
    Clwb,
    /// `clflushopt`: the line leaves the cache.
    ClFlushOpt,
    /// `clflush`: the same, one line after the other.
    ClFlush,
    /// The architecture has none of them: persistent memory is emulated only.
    #[cfg(not(target_arch = "x86_64"))]
    Missing,
}

impl WriteBack {
    /// Asks the processor, once: in a virtual machine each question is tens of microseconds.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn detect() -> WriteBack {
        static DETECTED: OnceLock<WriteBack> = OnceLock::new();
        *DETECTED.get_or_init(|| {
            // Intel SDM vol. 2, CPUID leaf 7: EBX bit 24 is CLWB, bit 23 CLFLUSHOPT.
            let first = std::arch::x86_64::__cpuid(0);
            let features =
                if first.eax >= 7 { std::arch::x86_64::__cpuid_count(7, 0).ebx } else { 0 };
            let vendor = [first.ebx, first.edx, first.ecx].map(u32::to_le_bytes);
            let instruction = match features {
                f if f & (1 << 24) != 0 => Instruction::Clwb,
                f if f & (1 << 23) != 0 => Instruction::ClFlushOpt,
                _ => Instruction::ClFlush,
            };
            let is_line_streamed =
                instruction == Instruction::ClFlush || vendor.as_flattened() != b"GenuineIntel";
            WriteBack { instruction, is_line_streamed }
        })
    }

    /// Asks the processor.
    #[cfg(not(target_arch = "x86_64"))]
    pub(super) fn detect() -> WriteBack {
        WriteBack { instruction: Instruction::Missing, is_line_streamed: false }
    }
}

/// Starts writing one cache line back.
///
/// # Safety
/// `line` is mapped, and the processor has the instruction.
#[cfg(target_arch = "x86_64")]
#[inline]
unsafe fn write_back_line(line: *const u8, instruction: Instruction) {
    use std::arch::asm;
    match instruction {
        // SAFETY: changes no byte and no register; the caller vouches for line and processor.
        Instruction::Clwb => unsafe {
            asm!("clwb [{}]", in(reg) line, options(nostack, preserves_flags));
        },
        // SAFETY: as above.
        Instruction::ClFlushOpt => unsafe {
            asm!("clflushopt [{}]", in(reg) line, options(nostack, preserves_flags));
        },
        // SAFETY: as above.
        Instruction::ClFlush => unsafe {
            asm!("clflush [{}]", in(reg) line, options(nostack, preserves_flags));
        },
    }
}

/// Does nothing where no instruction is known.
///
/// # Safety
/// None is needed; the signature is that of the other architectures.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
unsafe fn write_back_line(_line: *const u8, _instruction: Instruction) {}

/// Stores past the cache; other threads may see it only after a fence of this one.
#[inline]
fn stream(to: &AtomicU64, word: u64) {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: every x86-64 processor has `movnti`; the address is that of an atomic, aligned.
        unsafe { std::arch::x86_64::_mm_stream_si64(to.as_ptr().cast(), word as i64) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    to.store(word, Ordering::Relaxed);
}

/// Waits until every line that this thread wrote back has reached the persistent domain.
#[inline]
pub(super) fn store_fence() {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: every x86-64 processor has `sfence`, which touches no memory.
        unsafe { std::arch::x86_64::_mm_sfence() };
    }
    #[cfg(not(target_arch = "x86_64"))]
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
}

#[cfg(test)]
mod tests {
    use super::super::{MediumKind, VolumeOptions};
    use super::*;
    use crate::Volume;

    #[test]
    fn a_line_is_there_once_it_is_fenced_whichever_way_it_is_stored() {
        let dram = VolumeOptions::new(MediumKind::Dram);
        let volume = Volume::create("m".as_ref(), dram).unwrap();
        let region = volume.create_region("lines", 192).unwrap();
        for (number, is_line_streamed) in [(1, false), (2, true)] {
            let line = std::array::from_fn(|word| number << 32 | word as u64);
            let write_back = WriteBack { is_line_streamed, ..WriteBack::detect() };
            region.map().persist_line(64, line, write_back);
            store_fence();
            let words = |offset| {
                let words = region.map().double_words(offset, 8);
                std::array::from_fn(|word| words[word].load(Ordering::Relaxed))
            };
            assert_eq!([words(0), words(64), words(128)], [[0; 8], line, [0; 8]]);
        }
    }

    #[test]
    fn words_are_copied_from_any_to_any() {
        let dram = VolumeOptions::new(MediumKind::Dram);
        let volume = Volume::create("m".as_ref(), dram).unwrap();
        let region = volume.create_region("words", 64).unwrap();
        let words: Vec<u32> = (1..=16).collect();
        region.store_words(0, &words);
        for (offset, first, len) in
            (0..2).flat_map(|o| (0..7).flat_map(move |f| (0..8).map(move |l| (o, f, l))))
        {
            let held = region.hold(4 * offset as u64, 15);
            let mut copy = vec![0; len];
            held.copy(first, &mut copy);
            assert_eq!(copy, words[offset + first..][..len], "{len} words from {offset} + {first}");
        }
    }
}
