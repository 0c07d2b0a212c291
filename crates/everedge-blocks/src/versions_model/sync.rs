//! The lock of loom, with the calls of the one that it stands for.

use loom::sync::{self, MutexGuard};

#[derive(Default)]
pub(super) struct Mutex<T>(sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(super) fn new(value: T) -> Self {
        Self(sync::Mutex::new(value))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().expect("no holder panicked")
    }
}
