//! How writers and the archiving thread meet: calls one way, announcements the other.
//!
//! # Invariants
//! - T1: whoever finds enough to archive calls after it was logged, and a call that comes while
//!   the thread archives makes it look once more: none is lost.
//! - T2: a writer that waits checks what it waits for under the lock under which the thread, when
//!   it has archived, announces that: no wake-up is lost.
//!
//! `calls_model.rs` compiles this file once more, with locks that try every order of events.

use std::time::Duration;

use super::sync::{Condvar, Mutex};

/// Writers have paused when nobody has called for so long.
const QUIET: Duration = Duration::from_millis(50);

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

impl State {
    fn is_wanted(&self) -> bool {
        self.is_called || self.is_ending
    }
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

    /// Archives whenever it is called, until it is to end. When nobody has called for a while after
    /// that, `order` puts lists in order until somebody does; it returns whether any are left.
    pub(super) fn answer(&self, archive: impl Fn(), mut order: impl FnMut(&Self) -> bool) {
        let mut is_in_order = true;
        loop {
            let mut state = self.state.lock();
            while !state.is_wanted() {
                if is_in_order {
                    self.called.wait(&mut state);
                } else if self.called.wait_for(&mut state, QUIET).timed_out() {
                    drop(state);
                    is_in_order = !order(self);
                    state = self.state.lock();
                }
            }
            if state.is_ending {
                return;
            }
            state.is_called = false;
            drop(state);
            archive();
            self.announce();
            is_in_order = false;
        }
    }

    /// Whether the thread is to do something else than putting lists in order.
    pub(super) fn is_wanted(&self) -> bool {
        self.state.lock().is_wanted()
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
