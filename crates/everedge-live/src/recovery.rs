//! What opening a live graph found.

/// What opening a graph found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// Batches in the log that were replayed.
    pub replayed_batches: u64,
    /// Updates in them.
    pub replayed_updates: u64,
    /// Blocks that a crash left without a whole chain; the log held what they said.
    pub orphaned_blocks: u64,
    /// Shards, of 4,096 vertices each, that were taken over as a killed process left them.
    pub taken_over_shards: u64,
    /// Shards that were changing when the process was killed, and were built again.
    pub rebuilt_shards: u64,
    /// Rebalances of arrays that a crash had interrupted and that were completed.
    pub completed_rebalances: u64,
}
