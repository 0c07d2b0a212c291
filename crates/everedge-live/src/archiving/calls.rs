//! How writers and the archiving thread meet: calls one way, announcements the other. Beside calls a
//! writer gives notice, at most once in a while, that there will be lists to put in order.
//!
//! # Invariants
//! - T1: whoever finds enough to archive calls after it was logged, and a call that comes while
//!   the thread archives makes it look once more: none is lost.
//! - T2: a writer that waits checks what it waits for under the lock under which whoever has taken
//!   what is logged, or archived it, announces that: no wake-up is lost.
//!
//! `calls_model.rs` compiles this file once more, with locks that try every order of events.

use std::time::Duration;

use super::sync::{Condvar, Mutex};

/// Writers have paused when nobody has called for so long.
const QUIET: Duration = Duration::from_millis(100);

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
    /// Whether somebody wrote since lists were last put in order.
    is_noticed: bool,
}

impl State {
    fn is_wanted(&self) -> bool {
        self.is_called || self.is_ending
    }
}

impl Calls {
    /// Calls the thread, for what was logged before (T1), and waits while it is as far behind as the
    /// layout says.
    pub(super) fn call(&self, is_far_behind: impl Fn() -> bool) {
        let mut state = self.state.lock();
        state.is_called = true;
        self.called.notify_one();
        while is_far_behind() {
            self.archived.wait(&mut state);
        }
    }

    /// Gives notice that lists will have to be put in order when writers pause.
    pub(super) fn notice(&self) {
        self.state.lock().is_noticed = true;
        self.called.notify_one();
    }

    /// Archives whenever it is called, until it is to end. A while after somebody has called or given
    /// notice, and nobody calls, `order` puts lists in order until somebody does; it returns whether
    /// any are left.
    pub(super) fn answer(&self, archive: impl Fn(), mut order: impl FnMut(&Self) -> bool) {
        loop {
            let mut state = self.state.lock();
            while !state.is_wanted() {
                if !state.is_noticed {
                    self.called.wait(&mut state);
                } else if self.called.wait_for(&mut state, QUIET).timed_out() {
                    state.is_noticed = false;
                    drop(state);
                    let is_left = order(self);
                    state = self.state.lock();
                    state.is_noticed |= is_left;
                }
            }
            if state.is_ending {
                return;
            }
            state.is_called = false;
            state.is_noticed = true;
            drop(state);
            archive();
            self.announce();
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
