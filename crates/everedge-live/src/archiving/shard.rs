//! What the shards of all layouts have in common: updates on their way into lists, and what they
//! change.

use everedge_core::VertexId;
use rustc_hash::FxHashMap;

use crate::batch::DELETION;

/// Vertices of a shard, as a power of two.
pub(super) const SHARD_BITS: u32 = 12;
/// Vertices of a shard.
pub const SHARD_SPAN: usize = 1 << SHARD_BITS;
/// Words of a bit for each vertex of a shard.
pub const BITMAP_WORDS: usize = SHARD_SPAN / 64;

/// An update on its way into the list of a vertex: neighbor and place in the round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Update(u64);

impl Update {
    /// Returns the update of this neighbor at this place in the round.
    #[inline]
    pub fn new(neighbor: u32, index: u32) -> Self {
        Self(u64::from(neighbor) << 32 | u64::from(index))
    }

    /// Neighbor, with the tombstone mark if it is a deletion.
    #[inline]
    pub fn neighbor(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Returns its place in the round.
    #[inline]
    pub fn index(self) -> u32 {
        self.0 as u32
    }

    /// Whether it is a deletion.
    pub fn is_deletion(&self) -> bool {
        self.neighbor() & DELETION != 0
    }
}

/// Returns how many of the updates of `vertex` are of a self-loop.
#[inline]
pub fn loops_in(updates: &[Update], vertex: VertexId) -> u64 {
    updates.iter().filter(|update| update.neighbor() == vertex).count() as u64
}

/// What turns updates into entries needs to know of the graph.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Whether a pair keeps one edge only.
    pub simple: bool,
    /// Whether edges carry a weight.
    pub weighted: bool,
}

/// What an update comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// An edge to this neighbor more.
    Inserted(VertexId),
    /// One less: a tombstone takes it away.
    Deleted(VertexId),
    /// There was none to delete.
    Ignored(VertexId),
    /// A tombstone and the same edge with another weight.
    Replaced,
}

/// Turns the updates of one list, in their order, into entries: drops deletions that find no edge
/// and, in a simple graph, insertions of an edge that is there (if it has a weight, the new one
/// takes its place). `live` says how many edges the list holds to each neighbor that is named.
pub fn resolve(
    rules: Rules,
    updates: &[Update],
    mut live: FxHashMap<VertexId, i64>,
    mut note: impl FnMut(Effect),
) -> Vec<Update> {
    let mut entries = Vec::with_capacity(updates.len());
    for &update in updates {
        let neighbor = update.neighbor() & !DELETION;
        let count = live.entry(neighbor).or_default();
        match (update.is_deletion(), *count > 0) {
            (true, false) => note(Effect::Ignored(neighbor)),
            (true, true) => {
                *count -= 1;
                entries.push(update);
                note(Effect::Deleted(neighbor));
            }
            (false, true) if rules.simple => {
                if rules.weighted {
                    entries.push(Update::new(neighbor | DELETION, update.index()));
                    entries.push(update);
                    note(Effect::Replaced);
                }
            }
            (false, _) => {
                *count += 1;
                entries.push(update);
                note(Effect::Inserted(neighbor));
            }
        }
    }
    entries
}

/// How many updates changed something, counted at both ends of undirected edges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Edges that were inserted.
    pub inserted: u64,
    /// Edges that were deleted.
    pub deleted: u64,
    /// Deletions that found no edge.
    pub ignored: u64,
}
