//! Sorted neighbors in linked packed memory blocks, with versions by block: the `blocks` layout.
//!
//! Source: Weng et al., "SMDG: Enhancing In-Memory Dynamic Graph Processing With Storage-Class Memory",
//! TKDE 2026. Differences: see `docs/papers.md`.
//!
//! # Layout
//! ```text
//! batch ──► edge log (medium) ──round──► spans (DRAM): short lists, and tables of blocks ──► blocks (medium)
//!           one fence a batch    per shard   64 vertices                              64 … 1,024 bytes each
//! ```
//! Files: `log` (docs/format.md §3), `blocks`, `shards` (§5). A shard keeps the lists of 4,096 vertices, span by
//! span.
//!
//! # Invariants
//! - B1: an update is in the log, or in the image that counts of every shard that it concerns.
//! - B2: a block that a view or an image may read does not change, and is not used again (`versions.rs`).
//! - B3: shards change only under the archive's lock; a snapshot shares them, and of a shared shard the spans
//!   that change are copied first, and the blocks that change.
//! - B4: lists ascend by neighbor; those of equal neighbors are in the order in which they came.
//!
//! # Cost
//! A batch: one log record, one fence. A round: two counting sorts, then for each list that it changes a copy of
//! that list if it is short, and of the blocks that change if it is long. A snapshot: the log's tail is archived,
//! then one counter a shard; after it each span and each block that changes is copied once. Memory: 8 bytes a
//! vertex and list, the short lists, and 16 bytes a block.
//!
//! # Recovery
//! On the medium: blocks, images and log. An opening reads the heads of images and replays the log past them, the
//! shards on all threads, after a close, a kill and a power loss alike; a block that no image names is free. The
//! rest of an image, and the blocks that it names, are read and checked when their shard is first asked for.

mod image;
mod layout;
mod lpmb;
mod merging;
mod options;
mod pool;
mod shard;
mod snapshot;
mod span;
mod sync;
mod verify;
mod versions;
#[cfg(test)]
mod versions_model;

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use everedge_live::{
    Archive, Compaction, Core, EdgeLog, FoundImage, Images, LOG, Live, NAMES, Recovery, Result,
    SHARDS, Shared, Space, UNIT_BYTES, live_graph, present,
};
use everedge_medium::{Error, MANIFEST, MediumKind, Region, Site, Volume};

pub use self::options::BlocksOptions;
pub use self::snapshot::BlocksSnapshot;

use self::layout::Blocks;
use self::options::Manifest;
use self::pool::Pool;
use self::shard::Shard;

const BLOCKS: &str = "blocks";
const FILE_MAGIC: u32 = u32::from_le_bytes(*b"LPMB");
const FILE_VERSION: u32 = 1;
/// Units from the first one on hold blocks and images.
const FIRST_UNIT: u64 = 1;

/// A live graph in the `blocks` layout.
pub struct BlocksGraph {
    live: Live<Blocks>,
    recovery: Recovery,
}

live_graph!(BlocksGraph, BlocksSnapshot, BlocksOptions);

impl BlocksGraph {
    /// Every file that a graph in this layout can have.
    pub const FILES: [&str; 5] = [MANIFEST, NAMES, LOG, SHARDS, BLOCKS];

    /// Creates an empty graph on an empty volume.
    ///
    /// # Errors
    /// `NoSpace` or `Io` if the medium fails; the directory is then no graph. `InvalidInput` if an option is out
    /// of range.
    pub fn create(volume: Volume, manifest: Manifest) -> Result<Self> {
        let options = &manifest.options;
        options.tuning.check()?;
        let log =
            EdgeLog::create_on(&volume, options.log_bytes, options.weighted, manifest.salt())?;
        let region = volume.create_region(BLOCKS, UNIT_BYTES)?;
        write_file_head(&region, manifest.salt())?;
        if options.preallocate_bytes > 0 {
            log.preallocate()?;
            region.grow(options.preallocate_bytes.next_multiple_of(UNIT_BYTES))?;
            region.populate(0..region.len())?;
        }
        let space = Arc::new(Space::new(region, FIRST_UNIT, Vec::new()));
        let images = match options.medium {
            MediumKind::Dram => None,
            _ => Some(Images::create(&volume, manifest.salt(), &space)?),
        };
        let layout = Blocks::new(&manifest, space, images);
        manifest.publish(&volume)?;
        let core = Core::new(volume, manifest, layout, log, Archive::new(Vec::new(), 0, 0));
        Ok(Self { live: Live::new(core), recovery: Recovery::default() })
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
        manifest.options.tuning.check()?;
        let (salt, weighted) = (manifest.salt(), manifest.options.weighted);
        let log = EdgeLog::open_on(&volume, weighted, salt, &[SHARDS])?;
        let region = volume.open_region(BLOCKS)?;
        check_file_head(&region, salt)?;
        let [count, sum, epoch] = log.checkpoint().0.layout;
        let at = (epoch as u32, log.next_sequence());
        let (images, found) = Images::open((&volume, &region), salt, at, [count, sum])?;
        log.check_end(images.sequence(), images.path(), volume.access())?;
        let space = Arc::new(Space::new(region, FIRST_UNIT, Vec::new()));
        let mut layout = Blocks::new(&manifest, space, None);
        let read = |image: &FoundImage| Shard::read_head(&layout, &images, image);
        let heads = Images::read_heads(found, volume.access(), read)?;
        let mut shards: Vec<Shared<Shard>> = vec![Shared::default(); heads.shard_count];
        let mut found = Vec::with_capacity(heads.whole.len());
        for (image, head) in heads.whole {
            shards[image.shard] = Shared::new(head);
            found.push(image);
        }
        layout.images = Some(adopt(&layout.pool, images, &found, &shards)?);
        layout.adopt_reserve(&shards);
        let (replayed_batches, replayed_updates) = log.found();
        let mut archive = Archive::new(shards, log.checkpoint().1, epoch as u32);
        archive.note_unreadable(heads.damaged);
        archive.replay(&layout, &log)?;
        let unsaved = (0..archive.shards.len()).filter(|&number| archive.is_unsaved(number));
        layout.images.iter().for_each(|images| images.note_named(unsaved.clone()));
        let recovery = Recovery { replayed_batches, replayed_updates, ..Recovery::default() };
        Ok(Self { live: Live::new(Core::new(volume, manifest, layout, log, archive)), recovery })
    }

    /// Writes every list anew, in the order of vertices: its blocks are full and lie one after the other. Space
    /// that becomes free is used again, at the latest when the snapshots from before are gone. Writers and
    /// readers go on meanwhile.
    ///
    /// Cost: all lists are read and written once.
    ///
    /// # Errors
    /// `NoSpace` if the medium has no room for some lists; those are then as before. `Poisoned` as
    /// [`Self::apply`].
    pub fn compact(&self) -> Result<Compaction> {
        layout::compact(&self.live.core)
    }

    /// Returns what older states keep beside the newest one, in bytes: blocks that lists have given up and that a
    /// snapshot or what was last saved still reads; and in memory the short lists and tables, 64 vertices at a time, that
    /// have changed since a snapshot that still reads them.
    pub fn version_bytes(&self) -> u64 {
        layout::version_bytes(&self.live.core)
    }
}

/// Takes over which units are in use: those that images name, and their own.
fn adopt(
    pool: &Pool,
    mut images: Images,
    found: &[FoundImage],
    shards: &[Shared<Shard>],
) -> Result<Images> {
    let mut places = layout::used_places(shards);
    places.sort_unstable();
    if let Some(pair) = places.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(Error::Corruption {
            path: pool.region().path().to_owned(),
            offset: pool.offset(pair[0]),
            what: "a block".into(),
            expected: "one list that has it".into(),
            found: "two".into(),
        });
    }
    let mut used = pool.units_of(&places);
    used.extend(found.iter().flat_map(FoundImage::units));
    pool.space().adopt_used(FIRST_UNIT, &mut used)?;
    pool.adopt_rest_of_units(&mut places);
    images.adopt_space(pool.space());
    for image in found {
        images.keep(image, shards[image.shard].hold());
    }
    debug_assert!(present(shards).count() == found.len());
    Ok(images)
}

fn file_head(salt: u32) -> [u32; 4] {
    let words = [FILE_MAGIC, FILE_VERSION, salt];
    [FILE_MAGIC, FILE_VERSION, salt, crc32c::crc32c_append(salt, bytemuck::cast_slice(&words))]
}

fn write_file_head(region: &Region, salt: u32) -> Result<()> {
    let head = file_head(salt);
    region.store_words(0, &head);
    region.flush(Site::BlocksHeader, 0..4 * head.len() as u64);
    region.fence(Site::BlocksHeader)
}

fn check_file_head(region: &Region, salt: u32) -> Result<()> {
    let head = file_head(salt);
    let is_head = region.len() >= UNIT_BYTES && {
        let words = region.words(0, head.len());
        let found = std::array::from_fn(|index| words[index].load(Relaxed));
        region.matches(Site::BlocksHeader, head, found)
    };
    match is_head {
        true => Ok(()),
        false => Err(Error::Corruption {
            path: region.path().to_owned(),
            offset: 0,
            what: "the head of the file".into(),
            expected: format!("version {FILE_VERSION} with this graph's mark"),
            found: "another".into(),
        }),
    }
}
