//! The atomics of the protocol of pins, which its model replaces.

pub(super) use std::sync::atomic::{AtomicU64, Ordering, fence};
