//! The model of records that are stored without the log's lock: every order of events, tried by loom.
//!
//! Two writers take a place, store and say so, while a third thread fences the log, up to a place or,
//! to open a window, up to the head. What must hold: what it counts as durable is stored (S2), and
//! the wait ends. That a violation shows is shown by planted defects.

use std::sync::Arc;

use loom::sync::atomic::{AtomicBool, Ordering::Relaxed};
use loom::sync::{Condvar, Mutex, MutexGuard};
use loom::thread;

use super::stores::Stores;

const RECORDS: u64 = 2;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Defect {
    /// The writer says that its record is stored before it is.
    FinishesEarly,
    /// Whoever fences takes the head for the end.
    DoesNotWait,
    /// Whoever fences up to the head lets others append while it waits.
    LetsOthersIn,
}

#[derive(Default)]
struct State {
    head: u64,
    stores: Stores,
    is_kept: bool,
}

struct Log {
    state: Mutex<State>,
    stored: Condvar,
    released: Condvar,
    medium: [AtomicBool; RECORDS as usize],
}

impl Log {
    fn write(&self, defect: Option<Defect>) {
        let mut state = self.state.lock().expect("no thread has panicked");
        while state.is_kept {
            state = self.released.wait(state).expect("no thread has panicked");
        }
        let position = state.head;
        state.head += 1;
        state.stores.begin((position, position));
        drop(state);
        if defect == Some(Defect::FinishesEarly) {
            self.finish(position);
        }
        self.medium[position as usize].store(true, Relaxed);
        if defect != Some(Defect::FinishesEarly) {
            self.finish(position);
        }
    }

    fn finish(&self, position: u64) {
        let mut state = self.state.lock().expect("no thread has panicked");
        if state.stores.finish(position) {
            self.stored.notify_all();
        }
    }

    /// Fences all that has a place now.
    fn fence(&self, defect: Option<Defect>) {
        let state = self.state.lock().expect("no thread has panicked");
        let head = state.head;
        if defect != Some(Defect::DoesNotWait) {
            drop(self.wait(state, head));
        }
        self.expect_stored(head);
    }

    /// Fences all, and so where a window opens.
    fn fence_all(&self, defect: Option<Defect>) {
        let mut state = self.state.lock().expect("no thread has panicked");
        let head = state.head;
        state.is_kept = defect != Some(Defect::LetsOthersIn);
        let mut state = self.wait(state, head);
        state.is_kept = false;
        self.released.notify_all();
        self.expect_stored(state.head);
    }

    fn wait<'a>(&'a self, mut state: MutexGuard<'a, State>, head: u64) -> MutexGuard<'a, State> {
        while state.stores.end((state.head, 0)).0 < head {
            state = self.stored.wait(state).expect("no thread has panicked");
        }
        state
    }

    fn expect_stored(&self, head: u64) {
        for record in &self.medium[..head as usize] {
            assert!(record.load(Relaxed), "a record that counts is not stored");
        }
    }
}

fn run(defect: Option<Defect>, fence: fn(&Log, Option<Defect>)) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(4);
    model.check(move || {
        let log = Arc::new(Log {
            state: Mutex::new(State::default()),
            stored: Condvar::new(),
            released: Condvar::new(),
            medium: [(); RECORDS as usize].map(|()| AtomicBool::new(false)),
        });
        let writer = thread::spawn({
            let log = log.clone();
            move || log.write(defect)
        });
        let fencer = thread::spawn({
            let log = log.clone();
            move || fence(&log, defect)
        });
        log.write(None);
        writer.join().expect("the writer ends");
        fencer.join().expect("the fence ends");
        log.fence(None);
    });
}

#[test]
fn what_is_fenced_is_stored() {
    run(None, Log::fence);
    run(None, Log::fence_all);
}

#[test]
#[should_panic(expected = "is not stored")]
fn a_record_that_is_finished_early_is_found() {
    run(Some(Defect::FinishesEarly), Log::fence);
}

#[test]
#[should_panic(expected = "is not stored")]
fn a_fence_that_does_not_wait_is_found() {
    run(Some(Defect::DoesNotWait), Log::fence);
}

#[test]
#[should_panic(expected = "is not stored")]
fn a_head_that_moves_during_the_wait_is_found() {
    run(Some(Defect::LetsOthersIn), Log::fence_all);
}
