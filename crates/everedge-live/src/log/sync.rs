//! The atomics of the window of lines, which its model replaces.

pub(super) use std::hint::spin_loop;
pub(super) use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
pub(super) use std::thread::yield_now;
