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
//! Files: `log` (docs/format.md §3), `blocks` (§4), `shards` (§5). A shard keeps the lists of 4,096 vertices.
//!
//! # Invariants
//! - A1: an update is in the log, or in the image that counts of every shard that it concerns.
//! - A2: a block is never changed; a list's blocks form a chain from the newest to the oldest.
//! - A3: shards change only under `archive`; a snapshot shares them, and a shared shard is copied
//!   before it changes.
//!
//! # Cost
//! A batch: one log record, one fence. Archiving: two counting sorts, and one DRAM access for each
//! list that a round changes; 58 neighbors (29 weighted) are flushed with one write of 256 bytes.
//! A snapshot: the log's tail is archived, then one counter a shard; after it, each shard that
//! changes is copied once. Memory: 16 bytes a vertex and list, and the buffers.
//!
//! # Concurrency
//! Any number of writers and readers. The log orders batches, and lets one writer keep the others
//! out; `archive` is held by whoever archives or flushes. Lock order: `archive`, then those inside
//! the log and the space.
//!
//! # Recovery
//! On the medium: blocks, runs, images and log. An opening reads the heads of images and replays the
//! log past them, after a close, a kill and a power loss alike; what no image names is free. The rest
//! of an image, and what it points to, is read and checked when its shard is first asked for.

mod block;
mod buffers;
mod chain;
mod check;
mod compact;
mod due;
mod image;
mod layout;
mod list;
mod merging;
mod naive;
mod options;
mod parts;
mod run;
mod shard;
mod snapshot;
mod space;
mod subgraphs;
mod table;
mod verify;

use everedge_core::VertexId;

pub use self::options::{AdjacencyOptions, Compacting, Deleting, Merging};
pub use self::parts::{Direction, ListPart};
pub use self::snapshot::{Neighbors, Snapshot, WeightedNeighbors};
pub use self::subgraphs::Split;

use self::image::Head;
use self::layout::Adjacency;
use self::shard::Shard;
use self::subgraphs::{BLOCKS, Partition, SUB_GRAPHS_MAX};
use crate::options::Manifest;
use everedge_live::{
    Archive, Compaction, Core, EdgeLog, FoundImage, Images, LOG, Live, NAMES, Recovery, Result,
    SHARDS, Shared, Space, Unreadable, live_graph,
};
use everedge_medium::{Access, MANIFEST, MediumKind, Volume};

/// Units from the first one on hold blocks.
const FIRST_UNIT: u64 = 1;

/// A live graph in the `adjacency` layout.
pub struct AdjacencyGraph {
    live: Live<Adjacency>,
    recovery: Recovery,
}

live_graph!(AdjacencyGraph, Snapshot, AdjacencyOptions);

impl AdjacencyGraph {
    /// Every file that a graph in this layout can have.
    pub const FILES: [&str; 4 + SUB_GRAPHS_MAX] = {
        let [b0, b1, b2, b3, b4, b5, b6, b7] = BLOCKS;
        [MANIFEST, NAMES, LOG, SHARDS, b0, b1, b2, b3, b4, b5, b6, b7]
    };

    /// Creates an empty graph on an empty volume. Options that are left open are taken from medium
    /// and device.
    ///
    /// # Errors
    /// `NoSpace` or `Io` if the medium fails; the directory is then no graph. `InvalidInput` if
    /// options contradict each other.
    pub fn create(volume: Volume, manifest: Manifest) -> Result<Self> {
        Ok(Self::assemble(Self::create_core(volume, manifest)?, Recovery::default()))
    }

    fn create_core(volume: Volume, mut manifest: Manifest) -> Result<Core<Adjacency>> {
        manifest.options.tuning.plan(&manifest.options)?;
        let partition = Partition::new(&manifest.options)?;
        manifest.options.tuning.suit(&volume);
        let options = &manifest.options;
        let log =
            EdgeLog::create_on(&volume, options.log_bytes, options.weighted, manifest.salt())?;
        let blocks = subgraphs::create_files(&volume, &manifest, partition)?;
        if options.preallocate_bytes > 0 {
            log.preallocate()?;
        }
        let mut layout = Adjacency::new(&manifest, blocks)?;
        if options.medium != MediumKind::Dram {
            let space = layout.sub_graphs.space(0);
            layout.images = Some(Images::create(&volume, manifest.salt(), space)?);
        }
        manifest.publish(&volume)?;
        Ok(Core::new(volume, manifest, layout, log, Archive::new(Vec::new(), 0, 0)))
    }

    /// Opens a graph: reads the images of its shards and replays the log past them. Reading only,
    /// nothing is written.
    ///
    /// What is damaged of the log or of lists keeps nobody from the rest: see [`salvage`](Self::salvage). So it is with what
    /// says where the lists of a shard lie, as long as nobody may write.
    ///
    /// # Errors
    /// `Corruption` if what says where they lie is damaged, and the graph may be written; `NotAGraph` or `Version` if the directory
    /// holds something else.
    pub fn open(volume: Volume) -> Result<Self> {
        let manifest = Manifest::read(&volume)?;
        let (salt, weighted) = (manifest.salt(), manifest.options.weighted);
        let partition = Partition::new(&manifest.options)?;
        let log = EdgeLog::open_on(&volume, weighted, salt, &[SHARDS])?;
        let blocks = subgraphs::open_files(&volume, &manifest, partition)?;
        let [count, sum, epoch] = log.checkpoint().0.layout;
        let place = (&volume, &blocks[0]);
        let (mut images, found) =
            Images::open(place, salt, (epoch as u32, log.next_sequence()), [count, sum])?;
        log.check_end(images.sequence(), images.path(), volume.access())?;
        let mut layout = Adjacency::new(&manifest, blocks)?;
        let (shards, damaged) = read_shards(&mut layout, &mut images, found, volume.access())?;
        layout.images = Some(images);
        layout.adopt_reserve(&shards);
        let (replayed_batches, replayed_updates) = log.found();
        let mut archive = Archive::new(shards, log.checkpoint().1, epoch as u32);
        archive.note_unreadable(damaged);
        archive.replay(&layout, &log)?;
        let unsaved = (0..archive.shards.len()).filter(|&number| archive.is_unsaved(number));
        layout.images.iter().for_each(|images| images.note_named(unsaved.clone()));
        let recovery = Recovery { replayed_batches, replayed_updates, ..Recovery::default() };
        Ok(Self::assemble(Core::new(volume, manifest, layout, log, archive), recovery))
    }

    fn assemble(core: Core<Adjacency>, recovery: Recovery) -> Self {
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
        let shard = layout::shard_of(v);
        layout::compact(&self.live.core, shard..shard + 1)
    }

    /// Writes all vertex buffers as blocks, and empties the log.
    ///
    /// # Errors
    /// `NoSpace` if the medium is full; what is not written stays in memory and in the log.
    pub fn flush_buffers(&self) -> Result<()> {
        let core = &self.live.core;
        core.flush(&mut *core.up_to_date()?)?;
        core.flush_all()
    }

    /// Returns how many updates each thread has archived, both ends of an edge counted: how even
    /// the work was divided.
    pub fn thread_shares(&self) -> Vec<u64> {
        self.live.core.archive().shares.clone()
    }
}

/// Reads what the heads of images say of their shards; units that none of them names are free. Returns with the shards
/// which of them could not be read, and why.
fn read_shards(
    layout: &mut Adjacency,
    images: &mut Images,
    found: Vec<FoundImage>,
    access: Access,
) -> Result<(Vec<Shared<Shard>>, Unreadable)> {
    let heads = Images::read_heads(found, access, |image| Head::read(layout, images, image))?;
    let mut used = vec![Vec::new(); layout.places.blocks.len()];
    for (image, head) in &heads.whole {
        used[0].extend(image.units());
        for (sub_graph, units) in head.units(layout, image.shard) {
            used[sub_graph].push(units);
        }
    }
    let spaces = layout.places.blocks.iter().zip(&mut used);
    let spaces = spaces.map(|(region, used)| Space::of_used(region.clone(), FIRST_UNIT, used));
    layout.sub_graphs.adopt(spaces.collect::<Result<_>>()?);
    images.adopt_space(layout.sub_graphs.space(0));
    let mut shards: Vec<Shared<Shard>> = vec![Shared::default(); heads.shard_count];
    for (image, head) in heads.whole {
        shards[image.shard] = Shared::new(head.finish(layout, images, &image));
    }
    Ok((shards, heads.damaged))
}
