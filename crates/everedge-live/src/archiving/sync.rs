//! The locks of the archiving thread's protocol, which its model replaces.

pub(super) use parking_lot::{Condvar, Mutex};
