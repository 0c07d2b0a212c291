//! The lock of versions, which their model replaces.

pub(super) use parking_lot::Mutex;
