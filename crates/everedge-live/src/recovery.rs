//! What opening a live graph found.

/// What opening a graph found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Batches in the log that were replayed.
    pub replayed_batches: u64,
    /// Updates in them.
    pub replayed_updates: u64,
    /// Rebalances of arrays that a crash had interrupted and that were completed.
    pub completed_rebalances: u64,
}
