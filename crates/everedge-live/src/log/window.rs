//! Lines of the log that writers take without its lock.
//!
//! Whoever holds the lock opens a window: the next lines of the ring, with what writers must know
//! of them. Each writer claims a line, makes it durable beside the others, says so, and waits for
//! those before it: what is acknowledged is a prefix.
//!
//! # Invariants
//! - W1: a line is claimed once; lines are claimed in order.
//! - W2: the frame does not change while a claimed line is unfinished: whoever closes the window
//!   waits for all of them, and only a closed window is opened.
//! - W3: a line counts as durable when it and all before it are.
//!
//! # Cost
//! One atomic addition and one store a line, on two cache lines that writers take from one another.
//!
//! `window_model.rs` compiles this file once more, with atomics that try every order of events.

use super::sync::{AtomicI64, AtomicU64, Ordering, spin_loop, yield_now};

/// How often a writer looks whether those before it are through, before it lets others run.
const SPINS: u32 = 200;
/// What is left in a closed window: so little that no number of claims makes it open again.
const CLOSED: i64 = i64::MIN / 2;

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

/// A line that one writer has claimed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub(super) frame: Frame,
    /// How many lines of the window are before it.
    pub(super) index: u64,
}

impl Line {
    /// Returns its position in lines.
    pub(super) fn number(&self) -> u64 {
        self.frame.number + self.index
    }
}

/// What became of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Closed {
    pub(super) frame: Frame,
    /// The lines that were claimed.
    pub(super) count: u64,
    /// Those before the first that could not be made durable.
    pub(super) durable: u64,
}

/// In cache lines of its own, so that who changes it takes nothing else from other processors.
#[repr(align(128))]
pub(super) struct OwnLine<T>(pub(super) T);

/// A window of lines, open or closed.
pub(super) struct Window {
    /// The lines that are left to claim; none or fewer in a closed window.
    left: OwnLine<AtomicI64>,
    frame: OwnLine<[AtomicU64; 5]>,
    lines: AtomicU64,
    /// For line `n`, at `n` modulo their count: `2 (n + 1)` when it is durable, one more if it
    /// could not be made so.
    finished: Box<[AtomicU64]>,
}

impl Window {
    /// Creates a closed window, which can have at most so many lines.
    pub(super) fn new(lines_max: usize) -> Self {
        Self {
            left: OwnLine(AtomicI64::new(CLOSED)),
            frame: OwnLine([0; 5].map(AtomicU64::new)),
            lines: AtomicU64::new(0),
            finished: (0..lines_max).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// Returns how many lines it can have.
    pub(super) fn lines_max(&self) -> u64 {
        self.finished.len() as u64
    }

    /// Opens a closed window. The caller holds the log's lock.
    pub(super) fn open(&self, frame: Frame, lines: u64) {
        debug_assert!(lines <= self.lines_max());
        let Frame { number, sequence, first_untaken, offset, generation } = frame;
        let values = [number, sequence, first_untaken, offset, generation];
        for (word, value) in self.frame.0.iter().zip(values) {
            word.store(value, Ordering::Relaxed);
        }
        self.lines.store(lines, Ordering::Relaxed);
        // Not a store, so that it follows claims in one order of exchanges.
        self.left.0.swap(lines as i64, Ordering::AcqRel);
    }

    /// Returns whether lines are left.
    pub(super) fn has_lines(&self) -> bool {
        self.left.0.load(Ordering::Acquire) > 0
    }

    /// Claims the next line, if one is left. The caller finishes it without taking any lock.
    #[inline]
    pub(super) fn claim(&self) -> Option<Line> {
        let left = self.left.0.fetch_sub(1, Ordering::AcqRel);
        if left <= 0 {
            return None;
        }
        // By W2 this is the window that the line was claimed in.
        Some(Line { frame: self.frame(), index: self.lines.load(Ordering::Relaxed) - left as u64 })
    }

    /// Says that a line is durable, or that it could not be made so.
    #[inline]
    pub(super) fn finish(&self, number: u64, is_durable: bool) {
        let value = 2 * (number + 1) + u64::from(!is_durable);
        self.finished[(number % self.lines_max()) as usize].store(value, Ordering::Release);
    }

    /// Waits until lines from `from` to before `to`, of one window, are finished. Returns whether
    /// all are known to be durable: if not, the log's lock tells.
    #[inline]
    pub(super) fn wait_for(&self, from: u64, to: u64) -> bool {
        (from..to).all(|number| self.is_durable(number))
    }

    /// Closes an open window, when all lines that were claimed are finished. The caller holds the
    /// log's lock.
    pub(super) fn close(&self) -> Closed {
        let left = self.left.0.swap(CLOSED, Ordering::AcqRel).max(0);
        let frame = self.frame();
        let count = self.lines.load(Ordering::Relaxed) - left as u64;
        let (mut durable, mut are_durable) = (0, true);
        for number in frame.number..frame.number + count {
            are_durable &= self.is_durable(number);
            durable += u64::from(are_durable);
        }
        Closed { frame, count, durable }
    }

    /// Waits until a line is finished. Returns whether it is durable, or false if a line of a later
    /// window is where it was.
    #[inline]
    fn is_durable(&self, number: u64) -> bool {
        let finished = &self.finished[(number % self.lines_max()) as usize];
        let mut spins = 0;
        loop {
            let value = finished.load(Ordering::Acquire);
            if value / 2 > number {
                return value == 2 * (number + 1);
            }
            spins += 1;
            match spins < SPINS {
                true => spin_loop(),
                false => yield_now(),
            }
        }
    }

    fn frame(&self) -> Frame {
        let word = |index: usize| self.frame.0[index].load(Ordering::Relaxed);
        Frame {
            number: word(0),
            sequence: word(1),
            first_untaken: word(2),
            offset: word(3),
            generation: word(4),
        }
    }
}
