//! How far the log is durable.

use std::sync::atomic::{AtomicU64, Ordering};

/// A place in the log and the number of the update there.
#[derive(Debug)]
pub(super) struct Watermark {
    position: AtomicU64,
    /// Raised after the place: whoever reads it first reads none that is too high.
    sequence: AtomicU64,
}

impl Watermark {
    pub(super) fn new(position: u64, sequence: u64) -> Self {
        Self { position: position.into(), sequence: sequence.into() }
    }

    #[inline]
    pub(super) fn position(&self) -> u64 {
        self.position.load(Ordering::Acquire)
    }

    #[inline]
    pub(super) fn sequence(&self) -> u64 {
        self.sequence.load(Ordering::Acquire)
    }

    /// Raises it, unless it is higher.
    pub(super) fn raise(&self, position: u64, sequence: u64) {
        self.position.fetch_max(position, Ordering::AcqRel);
        self.sequence.fetch_max(sequence, Ordering::AcqRel);
    }
}
