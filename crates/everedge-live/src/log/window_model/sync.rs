//! Atomics and fences that try every order of events; the fences can be left out.

pub(super) use loom::hint::spin_loop;
pub(super) use loom::sync::atomic::{AtomicI64, AtomicU64, Ordering};
pub(super) use loom::thread::yield_now;

use std::cell::Cell;

use loom::sync::atomic::fence;

std::thread_local! {
    /// Whether writers, and those who close windows, have their fences; loom runs all threads of a model
    /// in one.
    pub(super) static HAVE_FENCES: Cell<[bool; 2]> = const { Cell::new([true; 2]) };
}

pub(super) fn fence_of_writer() {
    if HAVE_FENCES.get()[0] {
        fence(Ordering::SeqCst);
    }
}

pub(super) fn fence_of_all() {
    if HAVE_FENCES.get()[1] {
        fence(Ordering::SeqCst);
    }
}
