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
//! Any number of writers and readers. The log orders batches, and lets one writer keep the others
//! out; `archive` is held by whoever archives or flushes. Lock order: `archive`, then those inside
//! the log and the space.
//!
//! # Recovery
//! On the medium: blocks and log. Rebuilt: everything else ([`recovery`]), unless a killed process
//! left it in shared memory ([`segment`], [`takeover`]). Until the log's tail moves, blocks may be
//! lost or torn in any order: the log still holds what they say.

mod archive;
mod block;
mod buffers;
mod compact;
mod layout;
mod list;
mod merging;
mod naive;
mod options;
mod parts;
mod recovery;
mod run;
mod segment;
mod shard;
mod snapshot;
mod space;
mod subgraphs;
mod table;
mod takeover;
mod verify;

use std::sync::Arc;

use everedge_core::VertexId;

pub use self::options::{AdjacencyOptions, Compacting, Deleting, Merging};
pub use self::parts::{Direction, ListPart};
pub use self::snapshot::{Neighbors, Snapshot, WeightedNeighbors};
pub use self::subgraphs::Split;

use self::archive::{Archive, Machinery};
use self::segment::Segment;
use self::subgraphs::{BLOCKS, Partition, SUB_GRAPHS_MAX};
use crate::options::Manifest;
use everedge_live::NAMES;
use everedge_live::Recovery;
use everedge_live::Result;
use everedge_live::{Compaction, Core, Live, SHARD_SPAN, live_graph};
use everedge_live::{EdgeLog, RING_OFFSET};
use everedge_medium::MANIFEST;
use everedge_medium::{Access, Region, Volume};

const LOG: &str = "log";

/// A live graph in the `adjacency` layout.
pub struct AdjacencyGraph {
    live: Live<Machinery>,
    recovery: Recovery,
}

live_graph!(AdjacencyGraph, Snapshot, AdjacencyOptions);

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
        layout::begin_segment(&core)?;
        Ok(Self::assemble(core, Recovery::default()))
    }

    fn create_core(volume: Volume, mut manifest: Manifest) -> Result<Core<Machinery>> {
        manifest.options.tuning.plan(&manifest.options)?;
        let partition = Partition::new(&manifest.options)?;
        manifest.options.tuning.suit(&volume);
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
        layout::begin_segment(&core)?;
        Ok(Self::assemble(core, recovery))
    }

    /// Opens what a killed process left in its segment, if it left one that can be taken over.
    fn take_over(
        volume: &Volume,
        manifest: &Manifest,
        (log, blocks): (&Region, &Arc<[Region]>),
    ) -> Result<Option<(Core<Machinery>, Recovery)>> {
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
    ) -> Result<(Core<Machinery>, Recovery)> {
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
        layout::replay(&core)?;
        let recovery =
            Recovery { replayed_batches, replayed_updates, orphaned_blocks, ..Recovery::default() };
        Ok((core, recovery))
    }

    fn assemble(core: Core<Machinery>, recovery: Recovery) -> Self {
        Self { live: Live::new(core), recovery }
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
        layout::compact(&self.live.core, 0..usize::MAX)
    }

    /// Compacts the lists of `v` and of those vertices that are kept with it: 4,096 at most.
    ///
    /// # Errors
    /// As [`Self::compact`].
    pub fn compact_vertex(&self, v: VertexId) -> Result<Compaction> {
        let shard = v as usize / SHARD_SPAN;
        layout::compact(&self.live.core, shard..shard + 1)
    }

    /// Returns how many updates each thread has archived, both ends of an edge counted: how even
    /// the work was divided.
    pub fn thread_shares(&self) -> Vec<u64> {
        self.live.core.archive().shares.clone()
    }
}

/// Returns an empty segment for a graph that is open for writing, one of this process otherwise.
fn new_segment(volume: &Volume, manifest: &Manifest) -> Result<Arc<Segment>> {
    match volume.access() {
        Access::Write => Segment::create(volume, LOG, manifest),
        Access::Read => Segment::process(),
    }
}
