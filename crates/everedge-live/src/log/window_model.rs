//! The model of the window of lines: every order of its events, tried by loom.
//!
//! One writer writes two lines, opening windows where none is left, while another thread writes a
//! third, gives one up, or closes the window. What must hold: no line is written twice (W1), each is
//! written to the frame that it was claimed in (W2), and who has closed a window finds every line of it
//! written, or among the holes, which nobody writes any more (W3). That a violation shows is shown by
//! planted defects.

mod sync;

#[path = "window.rs"]
#[expect(clippy::duplicate_mod, reason = "the same source, with the atomics of the model")]
mod window;

// Not loom's, which panics again while a model that failed unwinds.
use std::sync::Arc;

use loom::sync::atomic::{AtomicU64, Ordering::Relaxed};
use loom::sync::{Mutex, MutexGuard};
use loom::thread;

use window::{Frame, Slot, Window};

/// Lines that all threads write at most, and those that are claimed and not written.
const LINES: usize = 12;
/// What lies in a line that is void.
const VOID: u64 = u64::MAX;

/// What is wrong with a writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Defect {
    /// It says that its line is finished before it is.
    FinishesEarly,
    /// It does not say that it writes before it looks whether the window is open.
    DoesNotSay,
}

/// What the log's lock guards.
#[derive(Default)]
struct State {
    head: u64,
    is_window_open: bool,
}

/// The log.
struct Log {
    state: Mutex<State>,
    window: Window,
    /// Lines of a window, and how many writers claim at a time.
    lines: [u64; 2],
    slots: [Slot; 2],
    /// What the medium holds: for each line the frame's sequence number, and one.
    medium: [AtomicU64; LINES],
}

impl Log {
    /// Sequence numbers are those of lines and so much.
    const AHEAD: u64 = 7;

    fn new(lines: [u64; 2]) -> Self {
        Self {
            state: Mutex::default(),
            window: Window::new(),
            lines,
            slots: [Slot::new(), Slot::new()],
            medium: [0; LINES].map(AtomicU64::new),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no thread has panicked")
    }

    /// Opens a window if none has lines left.
    fn open(&self) {
        let mut state = self.lock();
        if state.is_window_open && self.window.has_lines() {
            return;
        }
        self.close(&mut state);
        let (number, sequence) = (state.head, state.head + Self::AHEAD);
        let frame = Frame { number, sequence, ..Frame::default() };
        self.window.open(frame, self.lines[0], self.lines[1]);
        state.is_window_open = true;
    }

    fn close(&self, state: &mut State) {
        if std::mem::take(&mut state.is_window_open) {
            assert!(self.window.claimed() <= self.lines[0]);
            let closed = self.window.close(self.slots.iter());
            assert_eq!(closed.frame.number, state.head);
            for number in closed.holes.into_iter().flatten() {
                self.medium[number as usize].store(VOID, Relaxed);
            }
            state.head += closed.count;
            self.assert_whole(state.head);
        }
    }

    fn assert_whole(&self, lines: u64) {
        for line in &self.medium[..lines as usize] {
            assert_ne!(line.load(Relaxed), 0, "a line that counts is not durable");
        }
    }

    /// Begins a line. Returns its number.
    fn begin(&self, slot: &Slot) -> u64 {
        loop {
            match self.window.begin(slot) {
                Some(number) => return number,
                None => self.open(),
            }
        }
    }

    fn write(&self, writer: usize, defect: Option<Defect>) {
        let slot = &self.slots[writer];
        let number = self.begin(slot);
        let (frame, distance) = (self.window.frame(), slot.distance(number));
        match defect {
            Some(Defect::FinishesEarly) => slot.finish(number, true),
            // As if the window had been looked at first.
            Some(Defect::DoesNotSay) => slot.finish(number, false),
            None => {}
        }
        if distance > 0 {
            assert!(number - distance >= frame.number, "of another window");
            let last = self.medium[(number - distance) as usize].load(Relaxed);
            assert_ne!(last, 0, "the writer's last line is not durable");
        }
        let before = self.medium[number as usize].swap(frame.sequence_of(number), Relaxed);
        assert_eq!(before, 0, "a line was lost or written twice");
        assert_eq!(frame.sequence_of(number), number + Self::AHEAD, "of another frame");
        if defect != Some(Defect::FinishesEarly) {
            slot.finish(number, true);
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

/// Tries every order in which the threads meet, in windows of so many lines of which writers claim so many
/// at a time.
fn run(other: Other, lines: [u64; 2]) {
    let mut model = loom::model::Builder::new();
    // Every defect that was tried shows with so few threads interrupted; it bounds the time.
    model.preemption_bound = Some(3);
    model.check(move || {
        let log = Arc::new(Log::new(lines));
        let thread = thread::spawn({
            let log = log.clone();
            move || match other {
                Other::Writes(defect) => log.write(1, defect),
                Other::GivesUp => log.slots[1].finish(log.begin(&log.slots[1]), false),
                Other::Closes => log.close(&mut log.lock()),
            }
        });
        log.write(0, None);
        log.write(0, None);
        thread.join().expect("the other thread ends");
        let mut state = log.lock();
        log.close(&mut state);
        let written = log.medium.iter().map(|line| line.load(Relaxed));
        let written = written.filter(|&line| line != 0 && line != VOID).count();
        let lines = if let Other::Writes(_) = other { 3 } else { 2 };
        assert_eq!(written, lines, "a line was lost or written twice");
    });
}

fn run_all(other: Other) {
    [[2, 1], [2, 2], [4, 2]].into_iter().for_each(|lines| run(other, lines));
}

#[test]
fn no_line_is_lost_or_written_twice() {
    run_all(Other::Writes(None));
}

#[test]
fn a_line_that_was_given_up_becomes_void() {
    run_all(Other::GivesUp);
}

#[test]
fn a_window_is_closed_beside_a_writer() {
    run_all(Other::Closes);
}

#[test]
#[should_panic(expected = "is not durable")]
fn a_line_that_is_finished_early_is_found() {
    run_all(Other::Writes(Some(Defect::FinishesEarly)));
}

#[test]
#[should_panic(expected = "a line was lost or written twice")]
fn a_writer_that_does_not_say_that_it_writes_is_found() {
    run_all(Other::Writes(Some(Defect::DoesNotSay)));
}

#[test]
#[should_panic(expected = "a line was lost or written twice")]
fn writers_without_their_fence_are_found() {
    sync::HAVE_FENCES.set([false, true]);
    run_all(Other::Writes(None));
}

#[test]
#[should_panic(expected = "a line was lost or written twice")]
fn a_close_without_its_fence_is_found() {
    sync::HAVE_FENCES.set([true, false]);
    run_all(Other::Writes(None));
}
