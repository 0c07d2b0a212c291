//! The model of the window of lines: every order of its events, tried by loom.
//!
//! One writer writes two lines, opening windows where none is left, while another thread writes a
//! third, gives one up, or closes the window: two that wait for a third at once, loom has wait forever.
//! What must hold: no line is written twice (W1), each is written to the frame that it
//! was claimed in (W2), and who knows its line durable finds all before it durable (W3). That a
//! violation shows is shown by planted defects.

mod sync;

#[path = "window.rs"]
#[expect(clippy::duplicate_mod, reason = "the same source, with the atomics of the model")]
mod window;

// Not loom's, which panics again while a model that failed unwinds.
use std::sync::Arc;

use loom::sync::atomic::{AtomicU64, Ordering::Relaxed};
use loom::sync::{Mutex, MutexGuard};
use loom::thread;

use window::{Frame, Line, Window};

/// Lines that all threads write.
const LINES: usize = 3;

/// What is wrong with a writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Defect {
    /// It does not wait for those before it.
    DoesNotWait,
    /// It says that its line is finished before it is.
    FinishesEarly,
}

/// What the log's lock guards.
#[derive(Default)]
struct State {
    head: u64,
    is_window_open: bool,
    /// Whether a line was given up, so that nothing after it counts.
    is_broken: bool,
}

/// The log.
struct Log {
    state: Mutex<State>,
    window: Window,
    /// What the medium holds: for each line the frame's sequence number, and one.
    medium: [AtomicU64; LINES],
}

impl Log {
    /// Sequence numbers are those of lines and so much.
    const AHEAD: u64 = 7;

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no thread has panicked")
    }

    /// Opens a window if none has lines left. Returns whether one has.
    fn open(&self) -> bool {
        let mut state = self.lock();
        if state.is_window_open && self.window.has_lines() {
            return true;
        }
        self.close(&mut state);
        if state.is_broken {
            return false;
        }
        let (number, sequence) = (state.head, state.head + Self::AHEAD);
        self.window.open(Frame { number, sequence, ..Frame::default() }, 2);
        state.is_window_open = true;
        true
    }

    fn close(&self, state: &mut State) {
        if std::mem::take(&mut state.is_window_open) {
            let closed = self.window.close();
            assert_eq!(closed.frame.number, state.head);
            self.assert_durable(state.head + closed.durable);
            state.is_broken = closed.durable < closed.count;
            state.head += closed.count;
        }
    }

    fn assert_durable(&self, lines: u64) {
        for line in &self.medium[..lines as usize] {
            assert_ne!(line.load(Relaxed), 0, "a line before one that counts is not durable");
        }
    }

    /// Claims a line, unless the log is broken.
    fn claim(&self) -> Option<Line> {
        loop {
            match self.window.claim() {
                Some(line) => return Some(line),
                None if self.open() => {}
                None => return None,
            }
        }
    }

    /// Ends before a line is stored.
    fn give_up(&self) {
        if let Some(line) = self.claim() {
            self.window.finish(line.number(), false);
        }
    }

    fn write(&self, defect: Option<Defect>) {
        let Some(line) = self.claim() else { return };
        let number = line.number();
        if defect == Some(Defect::FinishesEarly) {
            self.window.finish(number, true);
        }
        let before = self.medium[number as usize].swap(line.frame.sequence + line.index, Relaxed);
        assert_eq!(before, 0, "a line was written twice");
        assert_eq!(line.frame.sequence + line.index, number + Self::AHEAD, "of another frame");
        if defect != Some(Defect::FinishesEarly) {
            self.window.finish(number, true);
        }
        let waits = defect != Some(Defect::DoesNotWait);
        if !waits || self.window.wait_for(line.frame.number, number) {
            self.assert_durable(number);
        } else {
            self.close(&mut self.lock());
        }
    }
}

/// What the other thread does.
#[derive(Clone, Copy)]
enum Other {
    Writes(Option<Defect>),
    GivesUp,
    Closes,
}

fn run(other: Other) {
    let mut model = loom::model::Builder::new();
    // Every defect that was tried shows with so few threads interrupted; it bounds the time.
    model.preemption_bound = Some(5);
    model.check(move || {
        let log = Arc::new(Log {
            state: Mutex::default(),
            window: Window::new(2),
            medium: [0; LINES].map(AtomicU64::new),
        });
        let thread = thread::spawn({
            let log = log.clone();
            move || match other {
                Other::Writes(defect) => log.write(defect),
                Other::GivesUp => log.give_up(),
                Other::Closes => log.close(&mut log.lock()),
            }
        });
        log.write(None);
        log.write(None);
        thread.join().expect("the other thread ends");
        let mut state = log.lock();
        log.close(&mut state);
        assert_eq!(state.is_broken, matches!(other, Other::GivesUp));
        let lines = if let Other::Writes(_) = other { 3 } else { 2 };
        assert!(state.head == lines || state.is_broken, "{} lines", state.head);
    });
}

#[test]
fn no_line_is_lost_or_written_twice() {
    run(Other::Writes(None));
}

#[test]
fn nothing_counts_after_a_line_that_was_given_up() {
    run(Other::GivesUp);
}

#[test]
fn a_window_is_closed_beside_a_writer() {
    run(Other::Closes);
}

#[test]
#[should_panic(expected = "is not durable")]
fn a_writer_that_does_not_wait_is_found() {
    run(Other::Writes(Some(Defect::DoesNotWait)));
}

#[test]
#[should_panic(expected = "is not durable")]
fn a_line_that_is_finished_early_is_found() {
    run(Other::Writes(Some(Defect::FinishesEarly)));
}
