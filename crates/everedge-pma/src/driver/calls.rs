//! How writers and the archiving thread meet: calls one way, announcements the other.
//!
//! # Invariants
//! - T1: whoever finds enough to archive calls after it was logged, and a call that comes while
//!   the thread archives makes it look once more: none is lost.
//! - T2: a writer that waits checks what it waits for under the lock under which the thread, when
//!   it has archived, announces that: no wake-up is lost.

use parking_lot::{Condvar, Mutex};

/// The calls of one graph.
#[derive(Default)]
pub(super) struct Calls {
    pub(super) state: Mutex<State>,
    pub(super) called: Condvar,
    pub(super) archived: Condvar,
}

/// What was called for.
#[derive(Default)]
pub(super) struct State {
    pub(super) is_called: bool,
    pub(super) is_ending: bool,
}

impl Calls {
    /// Calls the thread, for what was logged before (T1), and waits while it is far behind.
    pub(super) fn call(&self, is_far_behind: impl Fn() -> bool) {
        let mut state = self.state.lock();
        state.is_called = true;
        self.called.notify_one();
        while is_far_behind() {
            self.archived.wait(&mut state);
        }
    }

    /// Archives whenever it is called, until it is to end.
    pub(super) fn answer(&self, archive: impl Fn()) {
        loop {
            let mut state = self.state.lock();
            while !state.is_called && !state.is_ending {
                self.called.wait(&mut state);
            }
            if state.is_ending {
                return;
            }
            state.is_called = false;
            drop(state);
            archive();
            self.announce();
        }
    }

    /// Has all writers that wait look again (T2).
    pub(super) fn announce(&self) {
        let _announced = self.state.lock();
        self.archived.notify_all();
    }

    /// Has the thread end, after what it is at.
    pub(super) fn end(&self) {
        self.state.lock().is_ending = true;
        self.called.notify_one();
    }
}
