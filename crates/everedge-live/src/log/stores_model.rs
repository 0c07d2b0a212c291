//! The model of records that are stored without the log's lock: every order of events, tried by loom.
//!
//! Two writers take a place, store and say so, while a third thread fences the log. What must hold:
//! what it counts as durable is stored (S2), and the wait ends. That a violation shows is shown by
//! planted defects.

use std::sync::Arc;

use loom::sync::atomic::{AtomicBool, Ordering::Relaxed};
use loom::sync::{Condvar, Mutex};
use loom::thread;

use super::stores::Stores;

const RECORDS: u64 = 2;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Defect {
    /// The writer says that its record is stored before it is.
    FinishesEarly,
    /// Whoever fences takes the head for the end.
    DoesNotWait,
}

struct Log {
    /// The head, and what is being stored.
    state: Mutex<(u64, Stores)>,
    stored: Condvar,
    medium: [AtomicBool; RECORDS as usize],
}

impl Log {
    fn write(&self, defect: Option<Defect>) {
        let mut state = self.state.lock().expect("no thread has panicked");
        let position = state.0;
        state.0 += 1;
        state.1.begin((position, position));
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
        if state.1.finish(position) {
            self.stored.notify_all();
        }
    }

    /// Fences all that has a place now.
    fn fence(&self, defect: Option<Defect>) {
        let mut state = self.state.lock().expect("no thread has panicked");
        let head = state.0;
        if defect != Some(Defect::DoesNotWait) {
            while state.1.end((state.0, 0)).0 < head {
                state = self.stored.wait(state).expect("no thread has panicked");
            }
        }
        drop(state);
        for record in &self.medium[..head as usize] {
            assert!(record.load(Relaxed), "a record that counts is not stored");
        }
    }
}

fn run(defect: Option<Defect>) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(4);
    model.check(move || {
        let log = Arc::new(Log {
            state: Mutex::new((0, Stores::default())),
            stored: Condvar::new(),
            medium: [(); RECORDS as usize].map(|()| AtomicBool::new(false)),
        });
        let writer = thread::spawn({
            let log = log.clone();
            move || log.write(defect)
        });
        let fencer = thread::spawn({
            let log = log.clone();
            move || log.fence(defect)
        });
        log.write(None);
        writer.join().expect("the writer ends");
        fencer.join().expect("the fence ends");
        log.fence(None);
    });
}

#[test]
fn what_is_fenced_is_stored() {
    run(None);
}

#[test]
#[should_panic(expected = "is not stored")]
fn a_record_that_is_finished_early_is_found() {
    run(Some(Defect::FinishesEarly));
}

#[test]
#[should_panic(expected = "is not stored")]
fn a_fence_that_does_not_wait_is_found() {
    run(Some(Defect::DoesNotWait));
}
