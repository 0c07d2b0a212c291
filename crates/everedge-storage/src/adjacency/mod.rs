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
//! changes is copied once. DRAM: 20 bytes a vertex and list, and the buffers.
//!
//! # Concurrency
//! Any number of writers and readers. `writers` lets one caller keep the others out; the log
//! orders batches; `archive` is held by whoever archives or flushes. Lock order: `writers`,
//! `archive`, then those inside the log and the space.
//!
//! # Recovery
//! On the medium: blocks and log. Rebuilt: everything else ([`recovery`]). Until the log's tail
//! moves, blocks may be lost or torn in any order: the log still holds what they say.

mod archive;
mod block;
mod divide;
mod list;
mod recovery;
mod round;
mod shard;
mod snapshot;
mod space;
mod verify;

use std::sync::atomic::Ordering::Relaxed;

use everedge_core::{Edge, VertexId};
use parking_lot::{Mutex, RwLock};

pub use self::snapshot::{Neighbors, Snapshot, WeightedNeighbors};
pub use self::verify::Verification;

use self::archive::{Archive, Machinery};
use self::space::Space;
use crate::batch::Batch;
use crate::log::{Appended, EdgeLog, RING_OFFSET};
use crate::manifest::{Durability, MANIFEST, Manifest};
use crate::medium::{Access, Region, Site, Volume};
use crate::names::NAMES;
use crate::{Error, Result};

const LOG: &str = "log";
const BLOCKS: &str = "blocks";
const BLOCKS_MAGIC: u32 = u32::from_le_bytes(*b"BLKS");
const BLOCKS_VERSION: u32 = 1;
const BLOCKS_HEADER_WORDS: usize = 4;

/// A writer waits for archiving when so many thresholds are behind.
const BACKLOG_MAX: u64 = 4;

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
}

/// A live graph in the `adjacency` layout.
pub struct AdjacencyGraph {
    volume: Volume,
    manifest: Manifest,
    log: EdgeLog,
    space: Space,
    archive: Mutex<Archive>,
    writers: RwLock<()>,
    /// Why archiving failed; from then on there are no writes.
    failure: Mutex<Option<String>>,
    recovery: Recovery,
}

impl AdjacencyGraph {
    /// Every file that a graph in this layout can have.
    pub const FILES: [&str; 4] = [MANIFEST, NAMES, LOG, BLOCKS];

    /// Creates an empty graph on an empty volume.
    ///
    /// # Errors
    /// `NoSpace` or `Io` if the medium fails; the directory is then no graph.
    pub fn create(volume: Volume, manifest: Manifest) -> Result<Self> {
        let options = &manifest.options;
        let log_region = volume.create_region(LOG, RING_OFFSET)?;
        let log =
            EdgeLog::create(log_region, options.log_bytes, options.weighted, manifest.salt())?;
        let blocks = volume.create_region(BLOCKS, space::UNIT_BYTES)?;
        blocks.store_words(0, &blocks_header(manifest.salt()));
        blocks.flush(Site::BlocksHeader, 0..4 * BLOCKS_HEADER_WORDS as u64);
        blocks.fence(Site::BlocksHeader)?;
        manifest.publish(&volume)?;
        let space = Space::new(blocks, recovery::FIRST_UNIT.into(), Vec::new());
        let archive = Archive::new(Vec::new(), 0);
        Ok(Self::assemble(volume, manifest, log, space, archive))
    }

    /// Opens a graph: reads its blocks and replays its log. Reading only, nothing is written.
    ///
    /// # Errors
    /// `Corruption` if something that was durable is damaged; `NotAGraph` or `Version` if the
    /// directory holds something else.
    pub fn open(volume: Volume) -> Result<Self> {
        let manifest = Manifest::read(&volume)?;
        let salt = manifest.salt();
        let log = EdgeLog::open(volume.open_region(LOG)?, manifest.options.weighted, salt)?;
        let blocks = volume.open_region(BLOCKS)?;
        check_blocks_header(&blocks, salt)?;
        let checkpoint = log.checkpoint();
        let options = &manifest.options;
        let mut recovered =
            recovery::recover(&blocks, salt, options, checkpoint, log.next_sequence())?;
        if volume.access() == Access::Write {
            recovered.settle(&blocks)?;
        }
        let free_units = std::mem::take(&mut recovered.free_units);
        let space = Space::new(blocks, recovered.next_unit, free_units);
        let archive = Archive::new(recovered.shards, checkpoint.1);
        let mut graph = Self::assemble(volume, manifest, log, space, archive);
        graph.replay(recovered.orphans.len() as u64)?;
        Ok(graph)
    }

    fn assemble(
        volume: Volume,
        manifest: Manifest,
        log: EdgeLog,
        space: Space,
        archive: Archive,
    ) -> Self {
        Self {
            volume,
            manifest,
            log,
            space,
            archive: Mutex::new(archive),
            writers: RwLock::new(()),
            failure: Mutex::new(None),
            recovery: Recovery::default(),
        }
    }

    fn replay(&mut self, orphaned_blocks: u64) -> Result<()> {
        let (records, updates) = self.log.untaken();
        self.recovery =
            Recovery { replayed_batches: records, replayed_updates: updates, orphaned_blocks };
        let machinery = Machinery { replaying: true, ..self.machinery() };
        let mut archive = self.archive.lock();
        archive.take_all(&machinery)?;
        archive.forget_outcome();
        Ok(())
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
        let batch = Batch::deletions(edges, self.manifest.options.weighted)?;
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
        let mut batch = Batch::new(self.manifest.options.weighted);
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
        let mut archive = self.archive.lock();
        self.settle(&mut archive)?;
        let options = &self.manifest.options;
        Ok(Snapshot::new(&archive, self.space.region().clone(), options))
    }

    /// Makes all that was applied durable, whatever the graph's durability.
    ///
    /// # Errors
    /// `Poisoned` or `Io` if the fence fails; it is not tried again.
    pub fn sync(&self) -> Result<()> {
        self.refuse_if_failed()?;
        self.log.make_all_durable()
    }

    /// Returns what the updates since opening have changed.
    ///
    /// # Errors
    /// As [`Self::snapshot`].
    pub fn changes(&self) -> Result<Changes> {
        let mut archive = self.archive.lock();
        self.settle(&mut archive)?;
        let outcome = archive.outcome(self.manifest.options.directed);
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
    pub fn close(self) -> Result<()> {
        if self.volume.access() == Access::Read || self.log.is_untouched() {
            return Ok(());
        }
        self.refuse_if_failed()?;
        match self.flush_all() {
            // The log still holds what has no block; the next opening replays it.
            Err(Error::NoSpace { .. }) => return self.log.make_all_durable(),
            outcome => outcome?,
        }
        self.log.restart_ring(self.manifest.options.log_bytes)?;
        let used = self.space.used_bytes().next_multiple_of(4096);
        if used < self.space.region().len() {
            self.space.region().shrink(used)?;
        }
        Ok(())
    }

    /// Archives and flushes everything, so that the log is empty.
    ///
    /// # Errors
    /// `NoSpace` if the medium is full; the log then keeps what it has. `Poisoned` as
    /// [`Self::apply`].
    pub fn flush_all(&self) -> Result<()> {
        let mut archive = self.archive.lock();
        self.settle(&mut archive)?;
        self.flush_archive(&mut archive)
    }

    /// Returns what was fixed at creation.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Returns what opening found.
    pub fn recovery(&self) -> Recovery {
        self.recovery
    }

    /// Returns the volume that the graph lies on.
    pub fn volume(&self) -> &Volume {
        &self.volume
    }

    fn machinery(&self) -> Machinery<'_> {
        Machinery {
            options: &self.manifest.options,
            log: &self.log,
            space: &self.space,
            salt: self.manifest.salt(),
            replaying: false,
        }
    }

    fn commit(&self, batch: &Batch) -> Result<()> {
        if batch.is_empty() {
            return Ok(());
        }
        self.refuse_if_failed()?;
        self.check_batch(batch)?;
        self.log.begin_writing()?;
        if !batch.only_takes_away() {
            self.space.make_room()?;
        }
        let position = self.append(batch)?;
        if self.manifest.options.durability != Durability::None {
            self.log.make_durable(position)?;
        }
        self.archive_if_due();
        Ok(())
    }

    fn check_batch(&self, batch: &Batch) -> Result<()> {
        let options = &self.manifest.options;
        if self.volume.access() == Access::Read {
            return Err(Error::ReadOnly { path: self.volume.path().to_owned() });
        }
        if batch.is_weighted() != options.weighted {
            let (graph, batch) = if options.weighted { ("has", "lacks") } else { ("lacks", "has") };
            let what = format!("the graph {graph} weights, the batch {batch} them");
            return Err(Error::InvalidInput { what });
        }
        if u32::try_from(batch.len()).is_err() {
            let what = format!("a batch takes at most {} updates, not {}", u32::MAX, batch.len());
            return Err(Error::InvalidInput { what });
        }
        Ok(())
    }

    fn append(&self, batch: &Batch) -> Result<u64> {
        let needed = self.log.bytes_for(batch);
        let mut is_ring_fresh = false;
        loop {
            let full = match self.log.append(batch) {
                Ok(Appended::At { position }) => return Ok(position),
                Ok(Appended::Full) => None,
                Err(error @ Error::NoSpace { .. }) => Some(error),
                Err(error) => return Err(error),
            };
            let was_empty = self.log.used_bytes() == 0;
            self.flush_all()?;
            match full {
                None if needed > self.log.capacity() => self.log.restart_ring(2 * needed)?,
                None => {}
                Some(error) if was_empty && is_ring_fresh => return Err(error),
                Some(_) => {
                    // The part of the file that the head has passed is room enough.
                    self.log.restart_ring(self.log.allocated().max(needed))?;
                    is_ring_fresh = true;
                }
            }
        }
    }

    /// Archives what was logged if that is much. What fails here fails no batch: those are in the
    /// log. Later writes are refused.
    fn archive_if_due(&self) {
        let threshold = self.manifest.options.archive_threshold;
        let untaken = self.log.untaken().1;
        if untaken < threshold {
            return;
        }
        let mut archive = match self.archive.try_lock() {
            Some(archive) => archive,
            None if untaken < BACKLOG_MAX * threshold => return,
            None => self.archive.lock(),
        };
        let taken = self.take_all(&mut archive);
        if taken.is_ok() && archive.buffer_bytes() > self.manifest.options.buffer_pool_bytes {
            // On a full medium the buffers stay where they are.
            let _flushed = self.flush_archive(&mut archive);
        }
    }

    /// Archives all acknowledged batches; without a fence if fences fail.
    fn settle(&self, archive: &mut Archive) -> Result<()> {
        match self.refuse_if_failed() {
            Ok(()) => self.log.make_all_durable()?,
            Err(error) if archive.is_torn => return Err(error),
            Err(_) => {}
        }
        self.take_all(archive)
    }

    fn take_all(&self, archive: &mut Archive) -> Result<()> {
        archive.take_all(&self.machinery()).inspect_err(|error| self.fail(error))
    }

    fn flush_archive(&self, archive: &mut Archive) -> Result<()> {
        if archive.is_dirty {
            self.refuse_if_failed()?;
            self.space.make_room()?;
            archive.flush_all(&self.machinery()).inspect_err(|error| match error {
                Error::NoSpace { .. } => {}
                error => self.fail(error),
            })?;
        }
        Ok(())
    }

    fn fail(&self, error: &Error) {
        self.failure.lock().get_or_insert_with(|| error.to_string());
    }

    fn refuse_if_failed(&self) -> Result<()> {
        if let Some(error) = self.volume.poisoned() {
            return Err(error);
        }
        match &*self.failure.lock() {
            Some(first) => Err(Error::Poisoned { first: first.clone() }),
            None => Ok(()),
        }
    }
}

fn blocks_header(salt: u32) -> [u32; BLOCKS_HEADER_WORDS] {
    let words = [BLOCKS_MAGIC, BLOCKS_VERSION, salt];
    let checksum = crc32c::crc32c_append(salt, bytemuck::cast_slice(&words));
    [words[0], words[1], words[2], checksum]
}

fn check_blocks_header(region: &Region, salt: u32) -> Result<()> {
    let damaged = |found: String| Error::Corruption {
        path: region.path().to_owned(),
        offset: 0,
        what: "the header of the block file".into(),
        expected: format!("version {BLOCKS_VERSION} of graph {salt:08x}"),
        found,
    };
    if region.len() < space::UNIT_BYTES {
        return Err(damaged(format!("{} bytes", region.len())));
    }
    let words: Vec<u32> =
        region.words(0, BLOCKS_HEADER_WORDS).iter().map(|word| word.load(Relaxed)).collect();
    let expected = blocks_header(salt);
    // Every word is known, the checksum too, so that there is nothing to compute.
    if words == expected { Ok(()) } else { Err(damaged(format!("{words:08x?}"))) }
}
