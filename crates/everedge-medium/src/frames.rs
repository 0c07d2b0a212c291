//! Memory cut into frames of equal size, each of which holds a piece of a file.
//!
//! Source: the page states of vmcache (Leis et al., "Virtual-Memory Assisted Buffer Management",
//! SIGMOD 2023, §3), without its versions. Differences: a frame has a place of its own, and which
//! piece it holds is part of its word. So whoever finds a frame in a table that has just become
//! outdated pins it, sees another piece in the word, and lets go of it.
//!
//! # Layout
//! A frame has a word of 64 bits. A million frames of 4 KiB have words of 8 MiB.
//! ```text
//!  63              32 31  30 29              0
//! +------------------+------+-----------------+
//! | owner: its piece | state| how many pins   |
//! +------------------+------+-----------------+
//! ```
//!
//! # Invariants
//! F1. `base` is the start of `count` times `frame_bytes` mapped bytes, aligned to `frame_bytes` or
//!     to 2 MiB, until the frames are dropped.
//! F2. A frame that is loading has exactly one [`Claimed`], which alone touches its bytes. Nobody but
//!     the claimed frame changes owner and state of its word.
//! F3. A frame with a [`Pinned`] is whole, and its word counts the pin. Nobody writes its bytes, and
//!     its owner and state stay.
//! F4. A pin that has failed is counted for a moment, whatever the state is. So owner and state only
//!     change by adding a difference, or by an exchange of a word without pins: the count stays right.
//! F5. At most `PINS_MAX` pins and one failed pin of each thread are counted: they never reach the
//!     bits of the state.
//!
//! # Cost
//! A pin is one addition to the word, an unpin one subtraction. A claim is one exchange.
#![expect(unsafe_code, reason = "frames whose bytes a word guards, not the borrow checker")]

use std::io;
use std::marker::PhantomData;
use std::ops::Deref;
use std::path::Path;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::mm::{Advice, MapFlags, ProtFlags};

use super::file::memory_error;
use crate::{Error, Result};

const PAGE_BYTES: usize = 4096;
const HUGE_PAGE_BYTES: usize = 2 << 20;

const PIN: u64 = 1;
const PINS: u64 = (1 << 30) - 1;
/// A frame with so many pins takes no more: only a caller that forgets them has as many.
const PINS_MAX: u64 = 1 << 29;
const STATE: u64 = 3 << 30;
const EMPTY: u64 = 0;
const LOADING: u64 = 1 << 30;
const WHOLE: u64 = 2 << 30;

/// Memory cut into frames of equal size, each of which holds a piece of a file.
pub struct Frames {
    base: NonNull<u8>,
    frame_bytes: usize,
    /// What is mapped, for the end.
    mapped: NonNull<u8>,
    mapped_bytes: usize,
    /// The word of each frame.
    words: Box<[AtomicU64]>,
}

// SAFETY: the mapping belongs to the frames, and nothing in it is bound to a thread.
unsafe impl Send for Frames {}
// SAFETY: bytes are only reached through `Pinned` and `Claimed`, which the words guard (F2, F3).
unsafe impl Sync for Frames {}

impl Frames {
    /// Reserves `count` frames of `frame_bytes`, in huge pages where frames are 2 MiB or more. A page
    /// is taken when it is first used.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if `frame_bytes` is not a positive multiple of 4,096, or if there are
    /// more frames than their numbers can name; [`Error::NoSpace`] if there is no address space.
    pub fn new(frame_bytes: usize, count: usize) -> Result<Arc<Frames>> {
        if frame_bytes == 0 || !frame_bytes.is_multiple_of(PAGE_BYTES) {
            let what = format!("a frame of {frame_bytes} bytes is not of whole pages of 4096");
            return Err(Error::invalid(what));
        }
        let is_huge = frame_bytes >= HUGE_PAGE_BYTES;
        let slack_bytes = if is_huge { HUGE_PAGE_BYTES } else { 0 };
        let bytes = frame_bytes.checked_mul(count).filter(|_| u32::try_from(count).is_ok());
        // A mapping has at least one page.
        let mapped_bytes = bytes.and_then(|bytes| bytes.max(PAGE_BYTES).checked_add(slack_bytes));
        let mapped_bytes = mapped_bytes.filter(|&bytes| isize::try_from(bytes).is_ok());
        let Some(mapped_bytes) = mapped_bytes else {
            return Err(Error::invalid(format!(
                "{count} frames of {frame_bytes} bytes are too many"
            )));
        };
        let refused = |e| memory_error(Path::new("frames"), e, mapped_bytes as u64);
        let mapped = map(mapped_bytes).map_err(refused)?;
        let skipped_bytes = if is_huge { mapped.align_offset(HUGE_PAGE_BYTES) } else { 0 };
        // SAFETY: the mapping has so many bytes more than the frames.
        let base = unsafe { mapped.add(skipped_bytes) };
        let words = (0..count).map(|_| AtomicU64::new(EMPTY)).collect();
        let frames = Frames { base, frame_bytes, mapped, mapped_bytes, words };
        if is_huge {
            frames.prefer_huge_pages();
        }
        Ok(Arc::new(frames))
    }

    fn prefer_huge_pages(&self) {
        let start = self.base.as_ptr().cast();
        // SAFETY: the frames are mapped (F1), and the advice changes none of their bytes.
        let advised = unsafe {
            rustix::mm::madvise(start, self.count() * self.frame_bytes, Advice::LinuxHugepage)
        };
        // A kernel without huge pages does not take the advice; small pages serve as well.
        let _ = advised;
    }

    /// Returns the bytes of a frame.
    #[inline]
    pub fn frame_bytes(&self) -> usize {
        self.frame_bytes
    }

    /// Returns how many frames there are.
    #[inline]
    pub fn count(&self) -> usize {
        self.words.len()
    }

    /// Pins a frame for reading if it holds the piece `owner` whole. It is never waited for.
    ///
    /// # Panics
    /// If there is no such frame.
    #[inline]
    pub fn pin(&self, frame: u32, owner: u32) -> Option<Pinned<'_>> {
        let word = &self.words[frame as usize];
        // The bytes of the piece are seen by whoever sees it published.
        let before = word.fetch_add(PIN, Ordering::Acquire);
        // A word with too many pins has the bit of `PINS_MAX`, and no word of a whole frame has it.
        if before & !(PINS_MAX - 1) != word_of(owner) {
            word.fetch_sub(PIN, Ordering::Relaxed);
            return None;
        }
        Some(Pinned { word, start: self.start(frame), len: self.frame_bytes, _frames: PhantomData })
    }

    /// Takes a frame that nobody pins and nobody loads for a new content. What it held is no longer
    /// found. Returns nothing if the frame is pinned or being loaded; a pin counts that is about to fail, too.
    ///
    /// # Panics
    /// If there is no such frame.
    pub fn claim(self: &Arc<Self>, frame: u32) -> Option<Claimed> {
        let word = &self.words[frame as usize];
        let mut before = word.load(Ordering::Relaxed);
        loop {
            let after = match before & STATE {
                // All pins of an empty frame are about to fail.
                EMPTY => before + LOADING,
                WHOLE if before & PINS == 0 => LOADING,
                _ => return None,
            };
            // Whoever has read the bytes has read them before they change.
            match word.compare_exchange_weak(before, after, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => before = now,
            }
        }
        Some(Claimed { frames: self.clone(), frame, content: EMPTY })
    }

    /// Returns whether somebody is filling a frame now.
    pub fn is_loading(&self, frame: u32) -> bool {
        self.words[frame as usize].load(Ordering::Acquire) & STATE == LOADING
    }

    /// Returns which piece a frame holds whole now: a hint, which may be outdated at once.
    #[inline]
    pub fn owner(&self, frame: u32) -> Option<u32> {
        let word = self.words[frame as usize].load(Ordering::Relaxed);
        (word & STATE == WHOLE).then_some((word >> 32) as u32)
    }

    /// Returns whether a frame is pinned now: a hint, which may be outdated at once.
    #[inline]
    pub fn is_pinned(&self, frame: u32) -> bool {
        self.words[frame as usize].load(Ordering::Relaxed) & PINS != 0
    }

    #[inline]
    fn start(&self, frame: u32) -> NonNull<u8> {
        // SAFETY: the frame has a word, so it is inside of the mapping (F1).
        unsafe { self.base.add(frame as usize * self.frame_bytes) }
    }
}

impl Drop for Frames {
    fn drop(&mut self) {
        // SAFETY: the whole mapping; whatever refers to it borrows or shares the frames (F1).
        let unmapped =
            unsafe { rustix::mm::munmap(self.mapped.as_ptr().cast(), self.mapped_bytes) };
        debug_assert!(unmapped.is_ok(), "munmap failed");
    }
}

/// Returns the word of a frame that holds a piece whole, without pins.
#[inline]
fn word_of(owner: u32) -> u64 {
    u64::from(owner) << 32 | WHOLE
}

fn map(bytes: usize) -> io::Result<NonNull<u8>> {
    let (rights, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
    let flags = flags | MapFlags::NORESERVE;
    // SAFETY: a fresh mapping at an address of the kernel's choice overlaps nothing.
    let base = unsafe { rustix::mm::mmap_anonymous(ptr::null_mut(), bytes, rights, flags) }?;
    NonNull::new(base.cast()).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}

/// Bytes of a frame that stay while this is held. A clone pins the frame once more.
#[must_use]
pub struct Pinned<'a> {
    word: &'a AtomicU64,
    /// Not a reference: the bytes may change as soon as the frame is unpinned.
    start: NonNull<u8>,
    len: usize,
    _frames: PhantomData<&'a Frames>,
}

// SAFETY: shows bytes that nobody writes (F3); any thread may unpin them.
unsafe impl Send for Pinned<'_> {}
// SAFETY: as above.
unsafe impl Sync for Pinned<'_> {}

impl Deref for Pinned<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: mapped, as the frames are borrowed (F1), and not written while it is pinned (F3).
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl Clone for Pinned<'_> {
    /// # Panics
    /// If the frame has half a billion pins.
    #[inline]
    fn clone(&self) -> Self {
        let before = self.word.fetch_add(PIN, Ordering::Relaxed);
        if before & PINS >= PINS_MAX {
            self.word.fetch_sub(PIN, Ordering::Relaxed);
            panic!("a frame has too many pins");
        }
        Self { _frames: PhantomData, ..*self }
    }
}

impl Drop for Pinned<'_> {
    #[inline]
    fn drop(&mut self) {
        // What was read was read before the frame is claimed.
        self.word.fetch_sub(PIN, Ordering::Release);
    }
}

/// A frame that is being filled, by its holder alone. If it is dropped before it is published, the
/// frame is empty.
#[must_use]
pub struct Claimed {
    frames: Arc<Frames>,
    frame: u32,
    /// Owner and state that the word gets at the end.
    content: u64,
}

impl Claimed {
    /// Returns the number of the frame.
    pub fn frame(&self) -> u32 {
        self.frame
    }

    pub(super) fn frame_bytes(&self) -> usize {
        self.frames.frame_bytes
    }

    /// Returns the bytes of the frame, with whatever was there before.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let start = self.frames.start(self.frame).as_ptr();
        // SAFETY: mapped, as the frames are shared (F1), and nobody else's while it is claimed (F2).
        unsafe { std::slice::from_raw_parts_mut(start, self.frames.frame_bytes) }
    }

    /// Lets the frame be found as the piece `owner` from now on.
    pub fn publish(mut self, owner: u32) {
        self.content = word_of(owner);
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        // Whoever pins the frame sees its bytes. The word is `LOADING` but for failed pins (F2, F4).
        let difference = self.content.wrapping_sub(LOADING);
        self.frames.words[self.frame as usize].fetch_add(difference, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Frames {
        /// Checks what holds of every word while nobody pins, claims or publishes.
        fn check(&self, pinned: &[u32]) {
            for frame in 0..self.count() as u32 {
                let word = self.words[frame as usize].load(Ordering::Relaxed);
                let pins = pinned.iter().filter(|&&pinned| pinned == frame).count() as u64;
                assert_eq!(word & PINS, pins, "pins of frame {frame}");
                assert!([EMPTY, WHOLE].contains(&(word & STATE)), "state of frame {frame}");
                assert!(word & STATE != EMPTY || word >> 32 == 0, "owner of empty frame {frame}");
            }
        }
    }

    #[test]
    fn a_failed_pin_disturbs_neither_a_claim_nor_a_publication() {
        let frames = Frames::new(PAGE_BYTES, 2).unwrap();
        let word = &frames.words[1];
        // What another thread does between the two steps of a pin that fails.
        for step in 0..4 {
            let pin = || word.fetch_add(PIN, Ordering::Acquire);
            let unpin = || word.fetch_sub(PIN, Ordering::Relaxed);
            (step == 0).then(pin);
            let mut claimed = frames.claim(1).expect("an empty frame");
            (step == 1).then(pin);
            claimed.bytes_mut().fill(7);
            (step == 1).then(unpin);
            (step == 2).then(pin);
            claimed.publish(u32::MAX);
            (step == 0 || step == 2).then(unpin);
            assert_eq!(frames.owner(1), Some(u32::MAX));
            assert_eq!(*frames.pin(1, u32::MAX).expect("whole"), [7; PAGE_BYTES]);
            (step == 3).then(pin);
            drop(frames.claim(1));
            (step == 3).then(unpin);
            drop(frames.claim(1));
            frames.check(&[]);
            assert_eq!(frames.owner(1), None, "step {step}");
        }
    }

    #[test]
    fn a_frame_has_no_more_pins_than_its_word_can_count() {
        let frames = Frames::new(PAGE_BYTES, 1).unwrap();
        frames.claim(0).expect("empty").publish(3);
        let first = frames.pin(0, 3).expect("whole");
        frames.words[0].fetch_add(PINS_MAX - 2, Ordering::Relaxed);
        let last = frames.pin(0, 3).expect("one more");
        assert!(frames.pin(0, 3).is_none(), "one too many");
        let cloned = std::panic::catch_unwind(|| first.clone());
        assert!(cloned.is_err(), "one too many");
        frames.words[0].fetch_sub(PINS_MAX - 2, Ordering::Relaxed);
        frames.check(&[0, 0]);
        drop((first, last));
        frames.check(&[]);
    }
}
