//! Atomics and fences that try every order of events.

pub(super) use loom::hint::spin_loop;
pub(super) use loom::sync::atomic::{AtomicI64, AtomicU64, Ordering};
pub(super) use loom::thread::yield_now;

use loom::sync::atomic::fence;

pub(super) fn fence_of_writer() {
    fence(Ordering::SeqCst);
}

pub(super) fn fence_of_all() {
    fence(Ordering::SeqCst);
}
