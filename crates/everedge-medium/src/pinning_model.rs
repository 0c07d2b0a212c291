//! The model of pins: every order of events, tried by loom.
//!
//! A writer makes two new states visible and overwrites, after each, what the states before it have named, unless
//! somebody has pinned one of them. A reader pins, looks for the newest state, and reads what it names. What must hold:
//! nothing is overwritten while it is read. That a violation shows is shown by planted defects.

use std::sync::Arc;

use loom::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use loom::thread;

mod atomics {
    pub(super) use loom::sync::atomic::{AtomicU64, Ordering, fence};
}
#[expect(clippy::duplicate_mod, reason = "the same source, with the atomics of the model")]
#[path = "pinning.rs"]
mod pinning;

use self::atomics::AtomicU64;

const STATES: u64 = 3;
/// What a unit holds that was used again.
const OVERWRITTEN: u64 = u64::MAX;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Defect {
    /// The reader looks for a state before it has pinned any.
    LooksFirst,
    /// The writer asks who reads before the new state is visible.
    AsksFirst,
    /// The writer overwrites without asking.
    DoesNotAsk,
}

struct Graph {
    place: AtomicU64,
    newest: AtomicU64,
    /// What each state names.
    units: Vec<AtomicU64>,
}

impl Graph {
    fn new() -> Self {
        let units = (0..STATES).map(AtomicU64::new).collect();
        Self { place: AtomicU64::new(pinning::NONE), newest: AtomicU64::new(0), units }
    }

    fn write(&self, defect: Option<Defect>) {
        for state in 1..STATES {
            let oldest = || pinning::oldest(std::iter::once(&self.place));
            let asked_first = oldest();
            self.newest.store(state, Release);
            let oldest = match defect {
                Some(Defect::AsksFirst) => asked_first,
                Some(Defect::DoesNotAsk) => u64::MAX,
                _ => oldest(),
            };
            if oldest >= state {
                self.units[state as usize - 1].store(OVERWRITTEN, Relaxed);
            }
        }
    }

    fn read(&self, defect: Option<Defect>) {
        let early = self.newest.load(Acquire);
        pinning::pin_all(&self.place);
        let found = match defect {
            Some(Defect::LooksFirst) => early,
            _ => self.newest.load(Acquire),
        };
        pinning::pin(&self.place, found);
        assert_eq!(self.units[found as usize].load(Relaxed), found, "what is read is as it was");
        pinning::unpin(&self.place);
    }
}

fn run(defect: Option<Defect>) {
    loom::model(move || {
        let graph = Arc::new(Graph::new());
        let reader = {
            let graph = graph.clone();
            thread::spawn(move || graph.read(defect))
        };
        graph.write(defect);
        reader.join().expect("the reader");
        assert_eq!(graph.newest.load(Relaxed), STATES - 1);
    });
}

#[test]
fn nothing_that_is_read_is_overwritten() {
    run(None);
}

#[test]
fn planted_defects_are_found() {
    for defect in [Defect::LooksFirst, Defect::AsksFirst, Defect::DoesNotAsk] {
        let found = std::panic::catch_unwind(|| run(Some(defect)));
        assert!(found.is_err(), "a defect that was planted is not found");
    }
}
