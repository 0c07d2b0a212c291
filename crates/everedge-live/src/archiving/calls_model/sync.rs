//! The locks of loom, with the calls of those that they stand for.

use std::ops::{Deref, DerefMut};
use std::time::Duration;

use loom::sync;

#[derive(Default)]
pub(super) struct Mutex<T>(sync::Mutex<T>);

#[derive(Default)]
pub(super) struct Condvar(sync::Condvar);

/// Empty only while its holder waits.
pub(super) struct MutexGuard<'a, T>(Option<sync::MutexGuard<'a, T>>, &'a Mutex<T>);

pub(super) struct TimedOut;

impl TimedOut {
    pub(super) fn timed_out(&self) -> bool {
        true
    }
}

impl<T> Mutex<T> {
    pub(super) fn lock(&self) -> MutexGuard<'_, T> {
        MutexGuard(Some(self.0.lock().expect("no holder panicked")), self)
    }
}

impl Condvar {
    pub(super) fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        let held = guard.0.take().expect("a guard that is held");
        guard.0 = Some(self.0.wait(held).expect("no holder panicked"));
    }

    /// Time passes at once.
    pub(super) fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, _time: Duration) -> TimedOut {
        let held = guard.0.take().expect("a guard that is held");
        let mutex = guard.1;
        drop(held);
        *guard = mutex.lock();
        TimedOut
    }

    pub(super) fn notify_one(&self) {
        self.0.notify_one();
    }

    pub(super) fn notify_all(&self) {
        self.0.notify_all();
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_ref().expect("a guard that is held")
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_mut().expect("a guard that is held")
    }
}
