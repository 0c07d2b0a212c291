//! Vertex-buffered adjacency lists behind a circular edge log: the `adjacency` layout.
//!
//! Source: Wang et al., "Scalable and High-Performance Large-Scale Dynamic Graph Storage and
//! Processing System" (XPGraph), ToS 2025, §3.1, §3.2, §3.4. Differences: see `docs/papers.md`.
//!
//! # Layout
//! ```text
//! batch ──► edge log (medium) ──buffering──► vertex buffers (DRAM) ──flushing──► blocks (medium)
//!           one fence a batch    per shard    16 … 256 bytes       one XPLine    chain a vertex
//! ```
//! Files: `log` (docs/format.md §3) and `blocks` (§4). A shard keeps the lists of 4,096 vertices.
//!
//! # Invariants
//! - A1: an update is in the log, or every list that it concerns says in a block that it is
//!   complete beyond it.
//! - A2: a block is never changed; a list's blocks form a chain from the newest to the oldest.
//! - A3: shards change only under `archive`; a snapshot shares them, and a shared shard is copied
//!   before it changes.
//!
//! # Cost
//! A batch: one log record, one fence. Archiving: two counting sorts, and one DRAM access for each
//! list that a round changes; 58 neighbors (29 weighted) are flushed with one write of 256 bytes.
//! A snapshot: the log's tail is archived, then one counter a shard; after it, each shard that
//! changes is copied once. Memory: 20 bytes a vertex and list, and the buffers.
//!
//! # Concurrency
//! Any number of writers and readers. `writers` lets one caller keep the others out; the log
//! orders batches; `archive` is held by whoever archives or flushes. Lock order: `writers`,
//! `archive`, then those inside the log and the space.
//!
//! # Recovery
//! On the medium: blocks and log. Rebuilt: everything else ([`recovery`]), unless a killed process
//! left it in shared memory ([`segment`], [`takeover`]). Until the log's tail moves, blocks may be
//! lost or torn in any order: the log still holds what they say.

mod archive;
mod block;
mod buffers;
mod calls;
#[cfg(test)]
mod calls_model;
mod compact;
mod core;
mod deal;
mod divide;
mod list;
mod merging;
mod naive;
mod options;
mod parts;
mod phases;
mod recovery;
mod round;
mod run;
mod segment;
mod shard;
mod snapshot;
mod space;
mod subgraphs;
mod sync;
mod table;
mod takeover;
mod verify;

use std::sync::Arc;

use everedge_core::{Edge, VertexId};
use parking_lot::RwLock;

pub use self::compact::Compaction;
pub use self::deal::Division;
pub use self::options::{AdjacencyOptions, Compacting, Deleting, Merging, Phases};
pub use self::parts::{Direction, ListPart};
pub use self::snapshot::{Neighbors, Snapshot, WeightedNeighbors};
pub use self::subgraphs::Split;
pub use self::verify::Verification;

use self::archive::{Archive, Machinery};
use self::core::Core;
use self::phases::Archiver;
use self::segment::Segment;
use self::subgraphs::{BLOCKS, Partition, SUB_GRAPHS_MAX};
use crate::Result;
use crate::batch::Batch;
use crate::log::{EdgeLog, RING_OFFSET};
use crate::manifest::{MANIFEST, Manifest};
use crate::medium::{Access, Region, Volume};
use crate::names::NAMES;

const LOG: &str = "log";

/// What updates have changed since a graph was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Edges that were inserted and not there already (a simple graph keeps one for a pair).
    pub inserted: u64,
    /// Edges that were deleted.
    pub deleted: u64,
    /// Deletions that found no edge.
    pub ignored_deletions: u64,
}

impl std::ops::Sub for Changes {
    type Output = Self;

    fn sub(self, earlier: Self) -> Self {
        Self {
            inserted: self.inserted - earlier.inserted,
            deleted: self.deleted - earlier.deleted,
            ignored_deletions: self.ignored_deletions - earlier.ignored_deletions,
        }
    }
}

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
}

/// A live graph in the `adjacency` layout.
pub struct AdjacencyGraph {
    core: Arc<Core>,
    archiver: Archiver,
    writers: RwLock<()>,
    recovery: Recovery,
}

impl AdjacencyGraph {
    /// Every file that a graph in this layout can have.
    pub const FILES: [&str; 6 + SUB_GRAPHS_MAX] = {
        let [b0, b1, b2, b3, b4, b5, b6, b7] = BLOCKS;
        let [index, tables, buffers] = [segment::INDEX, segment::TABLES, segment::BUFFERS];
        [MANIFEST, NAMES, LOG, b0, b1, b2, b3, b4, b5, b6, b7, index, tables, buffers]
    };

    /// Creates an empty graph on an empty volume. Options that are left open are taken from medium
    /// and device.
    ///
    /// # Errors
    /// `NoSpace` or `Io` if the medium fails; the directory is then no graph. `InvalidInput` if
    /// options contradict each other.
    pub fn create(volume: Volume, manifest: Manifest) -> Result<Self> {
        let core = Self::create_core(volume, manifest)?;
        core.begin_segment()?;
        Ok(Self::assemble(core, Recovery::default()))
    }

    fn create_core(volume: Volume, mut manifest: Manifest) -> Result<Core> {
        manifest.options.adjacency.plan(&manifest.options)?;
        let partition = Partition::new(&manifest.options)?;
        manifest.options.adjacency.suit(&volume);
        let options = &manifest.options;
        let log_region = volume.create_region(LOG, RING_OFFSET)?;
        let log =
            EdgeLog::create(log_region, options.log_bytes, options.weighted, manifest.salt())?;
        let blocks = subgraphs::create_files(&volume, &manifest, partition)?;
        if options.preallocate_bytes > 0 {
            log.preallocate()?;
        }
        let segment = new_segment(&volume, &manifest)?;
        manifest.publish(&volume)?;
        let machinery = Machinery::new(&manifest, log, blocks, segment)?;
        let archive = Archive::new(Vec::new(), Vec::new(), 0, 0);
        Ok(Core::new(volume, manifest, machinery, archive))
    }

    /// Opens a graph: takes over what a killed process left of it in shared memory, or else reads
    /// its blocks and replays its log. Reading only, nothing is written.
    ///
    /// # Errors
    /// `Corruption` if something that was durable is damaged; `NotAGraph` or `Version` if the
    /// directory holds something else.
    pub fn open(volume: Volume) -> Result<Self> {
        let manifest = Manifest::read(&volume)?;
        let log = volume.open_region(LOG)?;
        let partition = Partition::new(&manifest.options)?;
        let blocks = subgraphs::open_files(&volume, &manifest, partition)?;
        let (core, recovery) = match Self::take_over(&volume, &manifest, (&log, &blocks))? {
            Some(taken_over) => taken_over,
            None => Self::recover(volume, manifest, (log, blocks))?,
        };
        core.begin_segment()?;
        Ok(Self::assemble(core, recovery))
    }

    /// Opens what a killed process left in its segment, if it left one that can be taken over.
    fn take_over(
        volume: &Volume,
        manifest: &Manifest,
        (log, blocks): (&Region, &Arc<[Region]>),
    ) -> Result<Option<(Core, Recovery)>> {
        let (salt, weighted) = (manifest.salt(), manifest.options.weighted);
        let Some(segment) = Segment::find(volume, LOG, manifest) else { return Ok(None) };
        let mut header = None;
        let log = EdgeLog::open_after(log.clone(), weighted, salt, |anchor| {
            header = segment.header(anchor);
            header.as_ref().map(|header| header.progress)
        })?;
        let (Some(log), Some(header)) = (log, header) else { return Ok(None) };
        let mut machinery = Machinery::new(manifest, log, blocks.clone(), segment)?;
        let taken_over = takeover::take_over(&mut machinery, &header, volume.access())?;
        Ok(taken_over.map(|(archive, rebuilt_shards)| {
            let taken_over_shards = (archive.shards.len() - rebuilt_shards) as u64;
            let rebuilt_shards = rebuilt_shards as u64;
            let recovery = Recovery { taken_over_shards, rebuilt_shards, ..Recovery::default() };
            (Core::new(volume.clone(), manifest.clone(), machinery, archive), recovery)
        }))
    }

    /// Opens what blocks and log say.
    fn recover(
        volume: Volume,
        manifest: Manifest,
        (log, blocks): (Region, Arc<[Region]>),
    ) -> Result<(Core, Recovery)> {
        let log = EdgeLog::open(log, manifest.options.weighted, manifest.salt())?;
        recovery::refuse_passed(&log, &blocks[0])?;
        let segment = new_segment(&volume, &manifest)?;
        let mut machinery = Machinery::new(&manifest, log, blocks, segment)?;
        let recovered = recovery::recover(&machinery)?;
        if volume.access() == Access::Write {
            recovered.settle(&machinery.places.blocks)?;
            if machinery.log.untaken().0 > 0 {
                // Replay writes blocks of which a segment that is out of sight knows nothing (G3).
                machinery.log.begin_writing()?;
            }
        }
        let used = recovered.used_units();
        let (blocks, segment) = (&machinery.places.blocks, &machinery.segment);
        machinery.sub_graphs.adopt(blocks, segment, used);
        let (replayed_batches, replayed_updates) = machinery.log.untaken();
        let orphaned_blocks = recovered.orphan_count() as u64;
        let (checkpoint, next_sequence) = machinery.log.checkpoint();
        let epoch = recovery::epoch_of(checkpoint);
        let archive = Archive::new(recovered.shards, recovered.durable, next_sequence, epoch);
        let core = Core::new(volume, manifest, machinery, archive);
        core.replay()?;
        let recovery =
            Recovery { replayed_batches, replayed_updates, orphaned_blocks, ..Recovery::default() };
        Ok((core, recovery))
    }

    fn assemble(core: Core, recovery: Recovery) -> Self {
        let core = Arc::new(core);
        let archiver = Archiver::new(core.clone());
        Self { core, archiver, writers: RwLock::new(()), recovery }
    }

    /// Applies a batch. It is durable on return unless the graph's durability is `None`.
    ///
    /// # Errors
    /// `NoSpace` if the medium is full and `InvalidInput` if the batch does not fit the graph: the
    /// batch is then wholly absent. `Poisoned` after a failed fence.
    pub fn apply(&self, batch: &Batch) -> Result<()> {
        let _among_writers = self.writers.read();
        self.commit(batch)
    }

    /// Inserts edges as one batch.
    ///
    /// # Errors
    /// As [`Self::apply`].
    pub fn insert(&self, edges: &[Edge], weights: Option<&[f32]>) -> Result<()> {
        self.apply(&Batch::insertions(edges.iter().copied(), weights)?)
    }

    /// Deletes the newest occurrence of each edge, as one batch. Returns what it changed.
    ///
    /// Cost: other writers wait; the lists of all sources (and destinations) are read once.
    ///
    /// # Errors
    /// As [`Self::apply`].
    pub fn delete(&self, edges: impl Iterator<Item = Edge>) -> Result<Changes> {
        let batch = Batch::deletions(edges, self.manifest().options.weighted)?;
        let _alone = self.writers.write();
        let before = self.changes()?;
        self.commit(&batch)?;
        Ok(self.changes()? - before)
    }

    /// Deletes a vertex and its edges, both ways, as one batch. Returns what it changed.
    ///
    /// Cost: its lists; without in-neighbors the lists of all vertices.
    ///
    /// # Errors
    /// As [`Self::apply`].
    pub fn delete_vertex(&self, v: VertexId) -> Result<Changes> {
        let _alone = self.writers.write();
        let before = self.changes()?;
        let snapshot = self.snapshot()?;
        if !snapshot.has_vertex(v) {
            return Ok(Changes::default());
        }
        let mut batch = Batch::new(self.manifest().options.weighted);
        for (src, dst) in snapshot.edges_of(v) {
            batch.delete(src, dst)?;
        }
        batch.end_vertex(v)?;
        drop(snapshot);
        self.commit(&batch)?;
        Ok(self.changes()? - before)
    }

    /// Returns a frozen view of all batches acknowledged so far. It never changes.
    ///
    /// # Errors
    /// If the log's tail cannot be archived.
    pub fn snapshot(&self) -> Result<Snapshot> {
        let archive = self.core.settled()?;
        let machinery = &self.core.machinery;
        Ok(Snapshot::new(&archive, machinery))
    }

    /// Makes all that was applied durable, whatever the graph's durability.
    ///
    /// # Errors
    /// `Poisoned` or `Io` if the fence fails; it is not tried again.
    pub fn sync(&self) -> Result<()> {
        self.core.refuse_if_failed()?;
        self.core.machinery.log.make_all_durable()
    }

    /// Returns what the updates since opening have changed.
    ///
    /// # Errors
    /// As [`Self::snapshot`].
    pub fn changes(&self) -> Result<Changes> {
        let outcome = self.core.settled()?.outcome(self.manifest().options.directed);
        Ok(Changes {
            inserted: outcome.inserted,
            deleted: outcome.deleted,
            ignored_deletions: outcome.ignored,
        })
    }

    /// Closes the graph: flushes all buffers, empties the log and gives unused space back.
    ///
    /// # Errors
    /// If the medium fails; nothing acknowledged is lost then, and the next opening recovers.
    pub fn close(mut self) -> Result<()> {
        self.archiver.end();
        self.core.close()
    }

    /// Archives and flushes everything, so that the log is empty.
    ///
    /// # Errors
    /// `NoSpace` if the medium is full; the log then keeps what it has. `Poisoned` as
    /// [`Self::apply`].
    pub fn flush_all(&self) -> Result<()> {
        self.core.flush_all()
    }

    /// Writes every list anew without what was deleted: in the order of vertices, sorted by
    /// neighbor, in long contiguous runs, which are read as fast as a CSR. Space that becomes
    /// free is used again, at the latest when the snapshots from before are gone. Writers and
    /// readers go on meanwhile.
    ///
    /// Cost: what changed since the last compaction is read and written once.
    ///
    /// # Errors
    /// `NoSpace` if the medium has no room for a part of the graph; that part and the rest are
    /// then as before. `Poisoned` as [`Self::apply`].
    pub fn compact(&self) -> Result<Compaction> {
        self.core.compact(0..usize::MAX)
    }

    /// Compacts the lists of `v` and of those vertices that are kept with it: 4,096 at most.
    ///
    /// # Errors
    /// As [`Self::compact`].
    pub fn compact_vertex(&self, v: VertexId) -> Result<Compaction> {
        let shard = v as usize / shard::SHARD_SPAN;
        self.core.compact(shard..shard + 1)
    }

    /// Returns how many updates each thread has archived, both ends of an edge counted: how even
    /// the work was divided.
    pub fn thread_shares(&self) -> Vec<u64> {
        self.core.archive().shares.clone()
    }

    /// Returns what was fixed at creation.
    pub fn manifest(&self) -> &Manifest {
        &self.core.manifest
    }

    /// Returns what opening found.
    pub fn recovery(&self) -> Recovery {
        self.recovery
    }

    /// Returns the volume that the graph lies on.
    pub fn volume(&self) -> &Volume {
        &self.core.volume
    }

    fn commit(&self, batch: &Batch) -> Result<()> {
        if self.core.commit(batch)? {
            self.archiver.call();
        }
        Ok(())
    }
}

/// Returns an empty segment for a graph that is open for writing, one of this process otherwise.
fn new_segment(volume: &Volume, manifest: &Manifest) -> Result<Arc<Segment>> {
    match volume.access() {
        Access::Write => Segment::create(volume, LOG, manifest),
        Access::Read => Segment::process(),
    }
}
