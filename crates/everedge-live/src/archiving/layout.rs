//! What a layout is to the driver: how a shard takes updates, is kept and is read.

use std::sync::atomic::AtomicU32;

use everedge_core::{Edge, Homes};
use everedge_medium::Access;

use super::archive::Archive;
use super::core::Core;
use super::deal::Division;
use super::divide::{Part, SIDES, Scattered, Sorter};
use super::frozen::ShardTotals;
use super::phases::Phases;
use super::shard::Outcome;
use super::shared::{EmptyShard, Shared};
use crate::log::{Checkpoint, EdgeLog, Lists};
use crate::options::{GraphOptions, LayoutOptions};
use crate::{Error, Result};

/// When and how updates are archived.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Updates in the log from which they are.
    pub archive_threshold: u64,
    /// What a writer waits for that is ahead of archiving.
    pub wait: Wait,
    /// Whether logging goes on meanwhile.
    pub phases: Phases,
    /// How a round is divided among threads.
    pub division: Division,
    /// A round has a range of vertices for 2^b of its updates: b.
    pub division_bias: u32,
}

/// What a writer waits for when much is logged that no round has taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// From one threshold on: for a round to take it.
    ForRound,
    /// From one and a half on, with those that rounds have taken: for some to come into lists.
    ForLists,
}

/// What a shard needs to know of a round.
#[derive(Clone, Copy)]
pub struct RoundContext<'a> {
    /// The sequence number of the first update.
    pub first_sequence: u64,
    /// The one after the last.
    pub end_sequence: u64,
    /// Whether some updates may be in the shard already: at opening.
    pub is_replaying: bool,
    /// The weight, as bits, of each update of the round.
    pub weights: &'a [AtomicU32],
}

/// What was archived at a time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Taken {
    /// How many updates.
    pub updates: u64,
    /// Updates of the largest batch.
    pub largest_batch: u64,
    /// Bytes of the log that hold what some shard was not saved with.
    pub logged_bytes: u64,
}

/// A shard's updates of a round, by source and by destination; each side is sorted when it is asked
/// for.
pub struct Parts<'a, 'b> {
    pub(super) scattered: &'a Scattered<'b>,
    pub(super) number: usize,
    pub(super) sides: std::ops::Range<usize>,
    pub(super) sorters: &'a mut [Sorter; SIDES],
}

impl Parts<'_, '_> {
    /// Returns the sides that are to be taken now.
    pub fn sides(&self) -> std::ops::Range<usize> {
        self.sides.clone()
    }

    /// Returns the updates of one side.
    pub fn side(&mut self, side: usize) -> Part<'_> {
        self.sorters[side].sort(self.scattered, self.number, side)
    }

    /// Returns the updates of the first sides.
    pub fn all(&mut self, count: usize) -> Vec<Part<'_>> {
        let sorters = self.sorters.iter_mut().take(count).enumerate();
        sorters.map(|(side, sorter)| sorter.sort(self.scattered, self.number, side)).collect()
    }
}

/// One way of keeping neighbors, as the driver sees it: it owns rounds, replay, checkpoints and the
/// log's tail; the layout takes, keeps and reads one shard at a time.
pub trait Layout: Send + Sync + Sized + 'static {
    /// How the layout works.
    type Options: LayoutOptions;
    /// The lists of 4,096 consecutive vertices; as `default` it has none.
    type Shard: EmptyShard;
    /// A frozen view of all shards.
    type Snapshot;
    /// Whether what a saved state names is changed in place: whoever reads the graph beside its writer then copies
    /// all of it.
    const CHANGES_IN_PLACE: bool = false;

    /// Returns what was fixed when the graph was created.
    fn options(&self) -> &GraphOptions<Self::Options>;

    /// Returns when and how updates are archived.
    fn pace(&self) -> Pace;

    /// Returns the NUMA nodes that threads are bound to, if they are.
    fn homes(&self) -> Option<&Homes> {
        None
    }

    /// Returns the node of one side of a shard.
    fn home(&self, _number: usize, _side: usize) -> usize {
        0
    }

    /// Whether the sides of a shard are changed by threads of different nodes.
    fn divides_sides(&self) -> bool {
        false
    }

    /// Stores an edge where it stays, durably, without the log. Returns whether it did: else the edge is
    /// to be logged.
    ///
    /// # Errors
    /// If the medium fails: the edge is then wholly there, or wholly absent, at the next opening.
    fn store_edge(_core: &Core<Self>, _edge: Edge, _weight: Option<f32>) -> Result<bool> {
        Ok(false)
    }

    /// Returns how many edges were stored so since opening.
    fn stored_edges(&self) -> u64 {
        0
    }

    /// Returns where lists lie, and what they may need there for what is logged.
    fn lists(&self) -> Lists;

    /// Before updates are logged, two words each, with ids below `vertex_bound`: makes room for what a
    /// shard takes on the medium by being there, if some of those that they name are not yet.
    ///
    /// # Errors
    /// `NoSpace` if the medium is full.
    fn expect(&self, updates: &[u32], vertex_bound: u32) -> Result<()>;

    /// Before something is logged that is inserted: makes room on the medium, if some is missing.
    ///
    /// # Errors
    /// `NoSpace` if the medium is full.
    fn make_room(&self) -> Result<()>;

    /// After updates were not logged that room was made for, and all that was logged is archived: what only
    /// they need is not needed.
    fn forget_room(&self, _updates: &[u32]) {}

    /// Returns a copy of a shard that changes by itself.
    ///
    /// # Errors
    /// `NoSpace` if there is no memory for it.
    fn copy(&self, shard: &Self::Shard) -> Result<Self::Shard>;

    /// Before a shard changes: gives it room, and looks at what it has not looked at since opening.
    ///
    /// # Errors
    /// `Corruption` if its bytes on the medium are damaged; `NoSpace` if there is no memory.
    fn prepare(&self, number: usize, shard: &mut Self::Shard) -> Result<()>;

    /// Whether there is something of a shard that was not looked at since opening.
    fn is_unseen(shard: &Self::Shard) -> bool;

    /// Looks at all of a shard that was not looked at since opening.
    ///
    /// # Errors
    /// `Corruption` if its bytes on the medium are damaged: it is looked at again then when somebody asks.
    /// `NoSpace` if there is no memory.
    fn see(&self, shard: &mut Shared<Self::Shard>) -> Result<()>;

    /// Returns the shard number `number` without lists: its vertices only.
    ///
    /// # Errors
    /// `NoSpace` if there is no memory for it.
    fn emptied(&self, number: usize, shard: &Self::Shard) -> Result<Self::Shard>;

    /// Applies a round's updates to a shard.
    ///
    /// # Errors
    /// If there is no memory or the medium fails; a full medium is no error.
    fn take(&self, round: &RoundContext, shard: &mut Self::Shard, parts: Parts) -> Result<()>;

    /// Makes an id a vertex, or ends it.
    ///
    /// # Errors
    /// As [`Self::take`].
    fn take_vertex(
        &self,
        round: &RoundContext,
        shard: &mut Self::Shard,
        local: usize,
        is_vertex: bool,
    ) -> Result<()>;

    /// Returns why the medium did not take something that now waits in memory, unless it was only
    /// full: the lists are whole, but nothing more is to be written.
    fn failure(&self) -> Option<Error> {
        None
    }

    /// Hands this thread's flushes over to whoever fences next.
    ///
    /// # Errors
    /// `Poisoned` after a failed fence.
    fn drain(&self) -> Result<()>;

    /// Into how many groups of shards a round of so many updates is divided; after each comes
    /// [`Self::end_group`].
    fn group_count(&self, _updates: u32) -> usize {
        1
    }

    /// After a group of shards has taken its updates.
    fn end_group(&self) {}

    /// After the rounds of an archiving, but not at opening.
    fn after_rounds(&self, _archive: &mut Archive<Self>, _taken: Taken) {}

    /// Reads what opening has left for the first use, and replays the log.
    ///
    /// # Errors
    /// `Corruption` if something that was durable is damaged; it is read again by the next use.
    fn read_archive(
        &self,
        _archive: &mut Archive<Self>,
        _log: &EdgeLog,
        _access: Access,
    ) -> Result<()> {
        Ok(())
    }

    /// All updates before this one are in the shard since it was opened: none of them is replayed.
    fn opened_sequence(shard: &Self::Shard) -> u64;

    /// Returns what the updates since opening have changed.
    fn outcome(shard: &Self::Shard) -> Outcome;

    /// Starts counting that anew.
    fn forget_outcome(shard: &mut Self::Shard);

    /// Returns what a shard adds to the totals of a view.
    fn totals(shard: &Self::Shard) -> ShardTotals;

    /// Returns the id after the largest that lists name, as they were when they were looked at after
    /// opening. What came later names vertices.
    fn neighbor_bound(shard: &Self::Shard) -> u32;

    /// Returns the same of the lists as they are.
    fn find_neighbor_bound(&self, shard: &Self::Shard) -> u32;

    /// Before some shards are saved: brings onto the medium what has to be there.
    ///
    /// # Errors
    /// `NoSpace` if the medium has no room for it; then nothing is saved.
    fn before_saving(&self, _archive: &mut Archive<Self>) -> Result<()> {
        Ok(())
    }

    /// Makes some shards whole without the log, durably: they hold all updates before `sequence`.
    /// That counts with the next anchor, that of the checkpoint number `epoch`. Where bytes are lost with the
    /// process nothing is to be done.
    ///
    /// # Errors
    /// `NoSpace` if the medium has no room for it; then nothing of it will count.
    fn save(
        &self,
        shards: &mut [(usize, &mut Shared<Self::Shard>)],
        sequence: u64,
        epoch: u32,
    ) -> Result<()>;

    /// Saves a shard, by [`Core::save`], for which there was no room: with all that was left free for
    /// that, and written anew if it is shorter then.
    ///
    /// # Errors
    /// As [`Self::save`].
    fn save_with_least_room(
        core: &Core<Self>,
        archive: &mut Archive<Self>,
        number: usize,
    ) -> Result<()> {
        core.save(archive, &[number])
    }

    /// Returns what the anchor of the checkpoint number `epoch` is to say of what was saved.
    fn checkpoint(&self, archive: &Archive<Self>, epoch: u32) -> Checkpoint;

    /// After that anchor was written, with which the log still holds so many bytes.
    fn saved(&self, epoch: u32, logged_bytes: u64);

    /// Whether so much memory waits to be moved to the medium that it is time to.
    fn is_flush_due(&self, _archive: &Archive<Self>) -> bool {
        false
    }

    /// Moves what waits in memory to where it stays on the medium.
    ///
    /// # Errors
    /// `NoSpace` if the medium is full; what is not moved stays in memory.
    fn flush(&self, _archive: &mut Archive<Self>) -> Result<()> {
        Ok(())
    }

    /// Does a part of the work that comes after archiving. Returns whether there was any.
    fn clean_up(core: &Core<Self>) -> bool;

    /// Puts some lists in order, as far as that pays: more does when writers have `paused`. A bounded
    /// step, for which others wait. Returns whether it did any.
    fn put_in_order(core: &Core<Self>, paused: bool) -> bool;

    /// Returns a frozen view of what is archived.
    ///
    /// # Errors
    /// `Corruption` if what it would read is damaged.
    fn snapshot(&self, archive: &mut Archive<Self>) -> Result<Self::Snapshot>;

    /// When everything is saved: gives the medium back what is not used.
    ///
    /// # Errors
    /// If the medium fails.
    fn shrink(&self) -> Result<()>;
}
