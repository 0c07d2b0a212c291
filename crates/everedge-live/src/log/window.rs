//! Lines of the log that writers take without its lock.
//!
//! Whoever holds the lock opens a window: the next lines of the ring, with what writers must know
//! of them. A writer claims some of them at a time, and makes one after the other durable beside the
//! others: it shares with them one addition a claim. Whoever closes the window waits for lines that
//! are being written; what was claimed and not written is a hole, which nobody writes any more.
//!
//! # Invariants
//! - W1: a line is claimed once; lines are claimed in order.
//! - W2: the frame does not change while a line is being written: whoever closes the window waits
//!   for all of them, and only a closed window is opened.
//! - W3: no line of a closed window begins to be written. A writer says that it begins one and then
//!   looks whether the window is open; whoever closes it says so and then looks who writes. Between
//!   the two each has a fence, so that one of them sees the other.
//!
//! # Cost
//! A line: three stores to what only its writer changes, no exchange and no wait. A window: a fence that all
//! processors of this process take part in, 1 to 9 µs.
//!
//! `window_model.rs` compiles this file once more, with atomics that try every order of events.

use std::ops::Range;

use super::sync::{
    AtomicI64, AtomicU64, Ordering, fence_of_all, fence_of_writer, spin_loop, yield_now,
};

/// How often whoever closes a window looks whether a line is written, before it lets others run.
const SPINS: u32 = 200;
/// What is left in a closed window: so little that no number of claims makes it open again.
const CLOSED: i64 = i64::MIN / 2;
/// The state of a writer is four times the number of its next line, with these marks.
const IS_WRITING: u64 = 1;
const HAS_FAILED: u64 = 2;

/// What writers must know of the first line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Frame {
    /// Its number: its position in lines.
    pub(super) number: u64,
    /// The sequence number of its update.
    pub(super) sequence: u64,
    /// The first update that the layout has not taken.
    pub(super) first_untaken: u64,
    /// Its place in the file.
    pub(super) offset: u64,
    pub(super) generation: u64,
}

/// What became of a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Closed {
    pub(super) frame: Frame,
    /// How many lines there are, up to the last that was written.
    pub(super) count: u64,
    /// Those of them that were not written, by their numbers.
    pub(super) holes: Vec<Range<u64>>,
}

/// What one writer has of a window; only it changes it. In cache lines of its own, so that nobody waits
/// for it.
#[repr(align(128))]
pub(super) struct Slot {
    state: AtomicU64,
    /// The number after the last line that is claimed.
    end: AtomicU64,
    /// The window that they are of.
    epoch: AtomicU64,
    /// The number after the last line that was written of that window.
    written: AtomicU64,
}

/// In cache lines of its own, so that who changes it takes nothing else from other processors.
#[repr(align(128))]
struct OwnLines<T>(T);

/// A window of lines, open or closed.
pub(super) struct Window {
    /// The lines that are left to claim; none or fewer in a closed window.
    left: OwnLines<AtomicI64>,
    /// The number of the window that is open, or zero.
    open: OwnLines<AtomicU64>,
    /// The number of the last window that was opened; the first has 1.
    epoch: AtomicU64,
    lines: AtomicU64,
    /// How many lines are claimed at a time.
    claim_lines: AtomicU64,
    frame: [AtomicU64; 5],
}

impl Frame {
    /// Returns the sequence number of the update in line `number`.
    #[inline]
    pub(super) fn sequence_of(&self, number: u64) -> u64 {
        self.sequence + (number - self.number)
    }
}

impl Slot {
    pub(super) fn new() -> Self {
        let [state, end, epoch, written] = [0; 4].map(AtomicU64::new);
        Self { state, end, epoch, written }
    }

    /// Returns the distance in lines from the line that this writer wrote last to the line `number`, which
    /// it has begun, or zero if it wrote none in this window.
    #[inline]
    pub(super) fn distance(&self, number: u64) -> u64 {
        match self.written.load(Ordering::Relaxed) {
            0 => 0,
            written => number + 1 - written,
        }
    }

    /// Says that a line that was begun is durable, or that it may not be.
    #[inline]
    pub(super) fn finish(&self, number: u64, is_durable: bool) {
        if is_durable {
            self.written.store(number + 1, Ordering::Relaxed);
            self.state.store(4 * (number + 1), Ordering::Release);
        } else {
            self.state.store((4 * number) | HAS_FAILED, Ordering::Release);
        }
    }

    /// Waits until no line is being written. Returns the next one's number, and whether something of it
    /// may have been written.
    fn wait(&self) -> (u64, bool) {
        let mut spins = 0;
        loop {
            let state = self.state.load(Ordering::Acquire);
            if state & IS_WRITING == 0 {
                return (state / 4, state & HAS_FAILED != 0);
            }
            spins += 1;
            match spins < SPINS {
                true => spin_loop(),
                false => yield_now(),
            }
        }
    }
}

impl Window {
    /// Creates a closed window.
    pub(super) fn new() -> Self {
        Self {
            left: OwnLines(AtomicI64::new(CLOSED)),
            open: OwnLines(AtomicU64::new(0)),
            epoch: AtomicU64::new(0),
            lines: AtomicU64::new(0),
            claim_lines: AtomicU64::new(1),
            frame: [0; 5].map(AtomicU64::new),
        }
    }

    /// Opens a closed window of so many lines, of which writers claim `claim_lines` at a time. The caller
    /// holds the log's lock.
    pub(super) fn open(&self, frame: Frame, lines: u64, claim_lines: u64) {
        let Frame { number, sequence, first_untaken, offset, generation } = frame;
        let values = [number, sequence, first_untaken, offset, generation];
        for (word, value) in self.frame.iter().zip(values) {
            word.store(value, Ordering::Relaxed);
        }
        self.lines.store(lines, Ordering::Relaxed);
        self.claim_lines.store(claim_lines, Ordering::Relaxed);
        let epoch = self.epoch.load(Ordering::Relaxed) + 1;
        self.epoch.store(epoch, Ordering::Relaxed);
        self.open.0.store(epoch, Ordering::Release);
        // Not a store, so that it follows claims in one order of exchanges.
        self.left.0.swap(lines as i64, Ordering::AcqRel);
    }

    /// Returns whether lines are left to claim.
    pub(super) fn has_lines(&self) -> bool {
        self.left.0.load(Ordering::Acquire) > 0
    }

    /// Returns how many lines of the open window are claimed. The caller holds the log's lock.
    pub(super) fn claimed(&self) -> u64 {
        self.lines.load(Ordering::Relaxed) - self.left.0.load(Ordering::Acquire).max(0) as u64
    }

    /// Begins the next line of `slot`, and claims some if it has none. Returns its number, or nothing if
    /// none is left. The caller finishes the line without taking any lock.
    #[inline]
    pub(super) fn begin(&self, slot: &Slot) -> Option<u64> {
        let state = slot.state.load(Ordering::Relaxed);
        slot.state.store(state | IS_WRITING, Ordering::Relaxed);
        fence_of_writer();
        let (number, epoch) = (state / 4, slot.epoch.load(Ordering::Relaxed));
        // By W3 the window that is open now stays so until the line is finished.
        let is_open = self.open.0.load(Ordering::Acquire) == epoch;
        if is_open && number < slot.end.load(Ordering::Relaxed) {
            return Some(number);
        }
        self.claim(slot, state)
    }

    #[inline(never)]
    fn claim(&self, slot: &Slot, state: u64) -> Option<u64> {
        // That of a window that has just closed serves as well.
        let count = self.claim_lines.load(Ordering::Relaxed);
        let left = self.left.0.fetch_sub(count as i64, Ordering::AcqRel);
        if left <= 0 {
            slot.state.store(state, Ordering::Release);
            return None;
        }
        // By W2 this is the window that the lines were claimed in.
        let epoch = self.epoch.load(Ordering::Relaxed);
        let number = self.frame().number + self.lines.load(Ordering::Relaxed) - left as u64;
        if slot.epoch.load(Ordering::Relaxed) != epoch {
            slot.epoch.store(epoch, Ordering::Relaxed);
            slot.written.store(0, Ordering::Relaxed);
        }
        slot.end.store(number + count.min(left as u64), Ordering::Relaxed);
        slot.state.store((4 * number) | IS_WRITING, Ordering::Release);
        Some(number)
    }

    /// Closes an open window, when no line is being written any more; `slots` are those of all writers.
    /// The caller holds the log's lock.
    pub(super) fn close<'a>(&self, slots: impl Iterator<Item = &'a Slot>) -> Closed {
        // In this order: who finds that its lines are no more to be written finds none to claim.
        let left = self.left.0.swap(CLOSED, Ordering::AcqRel);
        self.open.0.store(0, Ordering::Release);
        fence_of_all();
        let (frame, epoch) = (self.frame(), self.epoch.load(Ordering::Relaxed));
        let claimed = self.lines.load(Ordering::Relaxed) - left.max(0) as u64;
        let mut end = frame.number + claimed;
        let mut holes = Vec::new();
        for slot in slots {
            let (next, has_failed) = slot.wait();
            let slot_end = slot.end.load(Ordering::Relaxed);
            if slot.epoch.load(Ordering::Relaxed) == epoch && next < slot_end {
                holes.push((next..slot_end, has_failed));
            }
        }
        holes.sort_unstable_by_key(|(lines, _)| lines.start);
        // Nothing lies in the last lines, unless one of them failed.
        while let Some((lines, has_failed)) = holes.last_mut().filter(|(last, _)| last.end == end) {
            if *has_failed {
                lines.end = lines.start + 1;
                end = lines.end;
                break;
            }
            end = lines.start;
            holes.pop();
        }
        let holes = holes.into_iter().map(|(lines, _)| lines).collect();
        Closed { frame, count: end - frame.number, holes }
    }

    /// Returns the frame of the window that is open, or was last: by W2, that of a line which was begun.
    #[inline]
    pub(super) fn frame(&self) -> Frame {
        let word = |index: usize| self.frame[index].load(Ordering::Relaxed);
        Frame {
            number: word(0),
            sequence: word(1),
            first_untaken: word(2),
            offset: word(3),
            generation: word(4),
        }
    }
}
