//! Compactions that nobody asked for.

use everedge_live::{Compaction, Core, Pass};
use parking_lot::Mutex;

use super::layout::{Adjacency, COMPACT_SHARDS_MAX};
use super::shard::Shard;

/// The most shards that are compacted in a pause before it is looked whether it lasts.
const ORDER_SHARDS_MAX: usize = 32;

/// Where compactions are, each kind by itself.
#[derive(Debug)]
pub(super) struct Passes {
    /// Of shards of which much is deleted.
    pub tombstones: Mutex<Pass>,
    /// Of those in many pieces.
    pub pieces: Mutex<Pass>,
    /// Of those in some, in a pause of the writers.
    pub paused: Mutex<Pass>,
}

impl Default for Passes {
    fn default() -> Self {
        let pass = |shards_max| Mutex::new(Pass::new(shards_max));
        Self {
            tombstones: pass(COMPACT_SHARDS_MAX),
            pieces: pass(COMPACT_SHARDS_MAX),
            paused: pass(ORDER_SHARDS_MAX),
        }
    }
}

/// Compacts the next shards of a pass. Returns whether there may be more.
pub(super) fn compact_due(
    core: &Core<Adjacency>,
    pass: &Mutex<Pass>,
    is_due: impl Fn(&Shard) -> bool,
) -> bool {
    core.write_due(
        pass,
        is_due,
        |shard| shard.unit_count(),
        |archive, group| core.layout.compact(core, archive, group, &mut Compaction::default()),
    )
}
