//! A mutable CSR: lists of neighbors in packed memory arrays with gaps, behind the edge log: the
//! `pma` layout.
//!
//! Source: Islam and Dai, "DGAP: Efficient Dynamic Graph Analysis on Persistent Memory", SC 2023;
//! VCSR, CCGrid 2022, for the sharing of gaps. Differences: see `docs/papers.md`.
//!
//! # Layout
//! ```text
//! batch ──► edge log (medium) ──round──► array of 4,096 vertices, one for each direction (medium)
//!           one fence a batch
//! array:    head │ headers of sections, two each │ edge logs of sections │ lists with gaps
//! memory:   a row of 8 bytes for each list; for each section what its header says
//! ```
//! Files: `log`, `arrays`, `table`, `undo`; `rows` with `VertexArray::Medium` (docs/format.md).
//!
//! # Invariants
//! - P1: an update is in the log, or the headers of all sections that it concerns say that they
//!   hold all updates before a later one. A single edge may be in neither (`LogFirst::No`): then
//!   entries that count by themselves say it (`direct.rs`).
//! - P2: what a header counts is durable, and is overwritten only under an undo log.
//! - P3: shards change only under the archive's lock; a snapshot shares them, and a shared shard is
//!   copied before it changes; an array that a snapshot may read is never rebalanced in place.
//!
//! # Cost
//! A batch: one log record, one fence. A round: two counting sorts; an entry is stored in a gap or
//! in an edge log, or its array is written anew, once for all that a large round adds. A snapshot:
//! the log's tail is archived, then one counter a shard; after it, each shard that changes is copied
//! once. Memory: 8 bytes a vertex and list, 4 more while its section's edge log has entries.
//!
//! # Recovery
//! See `recovery.rs`, `rebalance.rs`, `layout.rs` and `direct.rs`.

mod array;
mod build;
mod direct;
mod extent;
mod header;
mod joining;
mod layout;
mod lists;
mod mechanisms;
mod options;
mod rebalance;
mod recovery;
mod restore;
mod rewriting;
mod room;
mod rows;
mod sections;
mod shape;
mod shard;
mod snapshot;
mod table;
mod undo;
mod verify;
mod with_tombstones;

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

pub use self::mechanisms::Mechanisms;
pub use self::options::{LogFirst, PmaOptions, Rebalancing, VertexArray};
pub use self::snapshot::{PmaNeighbors, PmaSnapshot, PmaWeightedNeighbors};

use self::layout::Pma;
use crate::options::Manifest;
use everedge_live::{
    Archive, Compaction, Core, EdgeLog, Error, LOG, Live, NAMES, Recovery, Result, Space,
    UNIT_BYTES, live_graph,
};
use everedge_medium::{MANIFEST, Pin, Region, Site, Volume};

const ARRAYS: &str = "arrays";
const TABLE: &str = "table";
const UNDO: &str = "undo";
const ROWS: &str = "rows";
const FILE_MAGIC: u32 = u32::from_le_bytes(*b"ARRS");
const FILE_VERSION: u32 = 2;

/// A live graph in the `pma` layout.
pub struct PmaGraph {
    live: Live<Pma>,
    recovery: Recovery,
}

live_graph!(PmaGraph, PmaSnapshot, PmaOptions);

impl PmaGraph {
    /// Every file that a graph in this layout can have.
    pub const FILES: [&str; 7] = [MANIFEST, NAMES, LOG, ARRAYS, TABLE, UNDO, ROWS];

    /// Creates an empty graph on an empty volume. Options that are left open are taken from the
    /// medium.
    ///
    /// # Errors
    /// `NoSpace` or `Io` if the medium fails; the directory is then no graph. `InvalidInput` if an
    /// option is out of range.
    pub fn create(volume: Volume, mut manifest: Manifest) -> Result<Self> {
        let mut pma = manifest.options.tuning.clone();
        pma.suit(&manifest.options)?;
        manifest.options.tuning = pma;
        let options = &manifest.options;
        let log =
            EdgeLog::create_on(&volume, options.log_bytes, options.weighted, manifest.salt())?;
        let arrays = volume.create_region(ARRAYS, UNIT_BYTES)?;
        write_file_head(&arrays, manifest.salt())?;
        let table = volume.create_region(TABLE, 0)?;
        let undo = volume.create_region(UNDO, 0)?;
        let has_rows = options.tuning.vertex_array == VertexArray::Medium;
        let rows = has_rows.then(|| volume.create_region(ROWS, 0)).transpose()?;
        if options.preallocate_bytes > 0 {
            log.preallocate()?;
            arrays.grow(options.preallocate_bytes.next_multiple_of(UNIT_BYTES))?;
            arrays.populate(0..arrays.len())?;
        }
        let space = Arc::new(Space::new(arrays, 1, Vec::new()));
        let layout = Pma::new(&manifest, space, (table, undo, rows), 0);
        if manifest.options.tuning.is_in_place() {
            layout.undo.provide()?;
        }
        manifest.publish(&volume)?;
        let core = Core::new(volume, manifest, layout, log, Archive::new(Vec::new(), 0, 0));
        Ok(Self { live: Live::new(core), recovery: Recovery::default() })
    }

    /// Opens a graph: reads its log, and if that has something to replay, its arrays, which otherwise
    /// the first write or view reads. Reading only, nothing is written.
    ///
    /// What is damaged of the log or of lists keeps nobody from the rest: see [`salvage`](Self::salvage).
    ///
    /// # Errors
    /// `Corruption` if what says where they lie is damaged; `NotAGraph` or `Version` if the directory
    /// holds something else.
    pub fn open(volume: Volume) -> Result<Self> {
        let manifest = Manifest::read(&volume)?;
        manifest.options.tuning.check()?;
        let (salt, weighted) = (manifest.salt(), manifest.options.weighted);
        let has_rows = manifest.options.tuning.vertex_array == VertexArray::Medium;
        let mut overwritten = vec![ARRAYS, TABLE, UNDO];
        overwritten.extend(has_rows.then_some(ROWS));
        refuse_beside_direct_writer(&volume, manifest.options.tuning.log_first)?;
        let log = EdgeLog::open_on(&volume, weighted, salt, &overwritten)?;
        // All was copied.
        volume.pin().into_iter().for_each(Pin::release);
        let arrays = volume.open_region(ARRAYS)?;
        check_file_head(&arrays, salt)?;
        let rows = has_rows.then(|| volume.open_region(ROWS)).transpose()?;
        let files = (volume.open_region(TABLE)?, volume.open_region(UNDO)?, rows);
        let epoch = log.checkpoint().0.layout[2] as u32;
        let space = Arc::new(Space::new(arrays, 1, Vec::new()));
        let layout = Pma::new(&manifest, space, files, epoch);
        let (replayed_batches, replayed_updates) = log.found();
        let core = Core::unread(volume, manifest, layout, log);
        if replayed_updates > 0 || core.layout.undo.has_interrupted() {
            drop(core.up_to_date()?);
        }
        let completed_rebalances = core.layout.completed.load(Relaxed);
        let recovery = Recovery { replayed_batches, replayed_updates, completed_rebalances };
        Ok(Self { live: Live::new(core), recovery })
    }

    /// Writes every array anew that has deletions or entries in edge logs, a share of them at a time.
    /// Readers and writers go on meanwhile.
    ///
    /// # Errors
    /// `NoSpace` if the medium has no room for one; the others are done. `Poisoned` as
    /// [`Self::apply`].
    pub fn compact(&self) -> Result<Compaction> {
        rewriting::compact(&self.live.core)
    }

    /// Returns how often each mechanism ran since the graph was opened.
    pub fn mechanisms(&self) -> Mechanisms {
        self.live.core.layout.counters.get()
    }
}

/// Edges that a writer stores without the log come to lists at any time: a copy would have some and not those
/// before them.
fn refuse_beside_direct_writer(volume: &Volume, log_first: LogFirst) -> Result<()> {
    if volume.pin().is_none() || log_first == LogFirst::Yes || volume.is_without_writer() {
        return Ok(());
    }
    let holder = "a process that stores edges without the log (`--log-first no`)".into();
    Err(Error::InUse { path: volume.path().to_owned(), holder })
}

fn file_head(salt: u32) -> [u32; 4] {
    let words = [FILE_MAGIC, FILE_VERSION, salt];
    [FILE_MAGIC, FILE_VERSION, salt, crc32c::crc32c_append(salt, bytemuck::cast_slice(&words))]
}

fn write_file_head(arrays: &Region, salt: u32) -> Result<()> {
    arrays.store_words(0, &file_head(salt));
    arrays.flush(Site::ArraysHeader, 0..16);
    arrays.fence(Site::ArraysHeader)
}

fn check_file_head(arrays: &Region, salt: u32) -> Result<()> {
    let head = || header::copy(arrays.words(0, 4));
    let is_whole = arrays.len() >= UNIT_BYTES
        && arrays.matches(Site::ArraysHeader, &file_head(salt)[..], &head());
    match is_whole {
        true => Ok(()),
        false => Err(Error::Corruption {
            path: arrays.path().to_owned(),
            offset: 0,
            what: "the head of the file of arrays".into(),
            expected: format!("version {FILE_VERSION} with this graph's mark"),
            found: "another".into(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use everedge_core::GraphView;
    use everedge_live::Phases;
    use everedge_medium::{Access, Kind, MediumKind, VolumeOptions};

    const PMEM: MediumKind = MediumKind::Pmem { emulated: true };

    fn options() -> options::GraphOptions {
        let tuning =
            PmaOptions { archive_threshold: 1, phases: Phases::InTurn, ..PmaOptions::default() };
        options::GraphOptions { medium: MediumKind::File, tuning, ..Default::default() }
    }

    /// Returns a graph whose single edges are not logged, with edges among 16 vertices.
    fn direct(path: &std::path::Path) -> PmaGraph {
        direct_by(path, Phases::InTurn, (0..160).map(|i| (i % 16, i * 7 % 16)))
    }

    fn direct_by(
        path: &std::path::Path,
        phases: Phases,
        edges: impl Iterator<Item = everedge_core::Edge>,
    ) -> PmaGraph {
        let log_first = LogFirst::No;
        let tuning = PmaOptions { log_first, section_vertices: 4, phases, ..options().tuning };
        let durability = everedge_live::Durability::Edge;
        let options = options::GraphOptions { medium: PMEM, durability, tuning, ..options() };
        let volume = Volume::create(path, VolumeOptions::new(PMEM)).unwrap();
        let graph = PmaGraph::create(volume, Manifest::new(Kind::Graph, options)).unwrap();
        graph.insert(&edges.collect::<Vec<_>>(), None).unwrap();
        graph.flush_all().unwrap();
        graph
    }

    /// Returns how many entries are in edge logs.
    fn logged(graph: &PmaGraph) -> u64 {
        let archive = graph.live.core.up_to_date().unwrap();
        let arrays = archive.shards.iter().flat_map(|shard| shard.arrays.iter().flatten());
        arrays.map(|array| array.logged_count()).sum()
    }

    #[test]
    fn shards_that_no_update_names_are_not_made() {
        let home = tempfile::tempdir().unwrap();
        let volume = Volume::create(home.path(), VolumeOptions::new(MediumKind::File)).unwrap();
        let graph = PmaGraph::create(volume, Manifest::new(Kind::Graph, options())).unwrap();
        graph.insert(&[(0, 1), (2, 1 << 24)], None).unwrap();
        let made = || {
            let archive = graph.live.core.up_to_date().unwrap();
            archive.shards.iter().filter(|shard| shard.get().is_some()).count()
        };
        assert_eq!(made(), 2);
        let view = graph.snapshot().unwrap();
        assert!(graph.salvage().unwrap().1.is_empty());
        assert!(graph.verify().unwrap().problems.is_empty());
        graph.compact().unwrap();
        graph.put_in_order(|| false);
        assert_eq!((view.edge_count(), made()), (2, 2));
    }

    #[test]
    fn a_pause_writes_arrays_anew_that_are_in_edge_logs() {
        let home = tempfile::tempdir().unwrap();
        let graph = direct(&home.path().join("g"));
        for number in 0..200 {
            graph.insert_edge((number % 16, number * 5 % 16), None).unwrap();
        }
        assert!(logged(&graph) > 0);
        let edges = |view: PmaSnapshot| {
            let mut edges = Vec::new();
            view.for_each_edge(|src, dst| edges.push((src, dst)));
            edges.sort_unstable();
            edges
        };
        let before = edges(graph.snapshot().unwrap());
        graph.put_in_order(|| false);
        assert_eq!(logged(&graph), 0);
        assert_eq!(edges(graph.snapshot().unwrap()), before);
    }

    /// Edges of some shards, in each.
    fn in_shards(per_shard: u32) -> impl Iterator<Item = everedge_core::Edge> {
        let first = |number: u32| number % 4 * everedge_live::SHARD_SPAN as u32;
        (0..4 * per_shard).map(move |i| (first(i) + i % 16, first(i) + i * 7 % 16))
    }

    #[test]
    fn a_pause_gives_up_when_an_edge_comes_that_is_not_logged() {
        let home = tempfile::tempdir().unwrap();
        let graph = direct_by(&home.path().join("g"), Phases::InTurn, in_shards(160));
        let edges: Vec<_> = in_shards(100).collect();
        edges.iter().for_each(|&edge| graph.insert_edge(edge, None).unwrap());
        let before = logged(&graph);
        graph.put_in_order(|| {
            graph.insert_edge(edges[0], None).unwrap();
            false
        });
        assert!(logged(&graph) > before / 4);
    }

    #[test]
    fn a_pause_comes_after_edges_that_are_not_logged() {
        let home = tempfile::tempdir().unwrap();
        let two_threads = || {
            let graph = direct_by(&home.path().join("g"), Phases::Overlapped, in_shards(160));
            // The pause after what was logged is over by then.
            std::thread::sleep(std::time::Duration::from_millis(500));
            pause_after_stored_edges(&graph);
        };
        everedge_core::par::with_threads(2, two_threads).unwrap();
    }

    fn pause_after_stored_edges(graph: &PmaGraph) {
        let before = graph.live.core.log.next_sequence();
        let edges = in_shards(10);
        edges.for_each(|edge| graph.insert_edge(edge, None).unwrap());
        assert_eq!(graph.live.core.log.next_sequence(), before);
        assert!(logged(graph) > 0);
        let start = std::time::Instant::now();
        while logged(graph) > 0 {
            assert!(start.elapsed().as_secs() < 20, "lists are still in edge logs");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }

    #[test]
    fn edges_that_are_not_logged_leave_the_log_empty() {
        let home = tempfile::tempdir().unwrap();
        let graph = direct(&home.path().join("g"));
        let before = graph.live.core.log.next_sequence();
        for v in 0..16 {
            graph.insert_edge((v, v / 2), None).unwrap();
        }
        assert_eq!(graph.live.core.log.next_sequence(), before);
        assert_eq!(graph.mechanisms().stored_directly, 2 * 16);
        assert_eq!(graph.snapshot().unwrap().edge_count(), 160 + 16);
        // New vertices are logged.
        graph.insert_edge((3, 16), None).unwrap();
        assert_eq!(graph.live.core.log.next_sequence(), before + 1);
        assert!(graph.verify().unwrap().problems.is_empty());
    }

    /// A deletion that found nothing stays before the edge that came after it.
    #[test]
    fn edges_that_are_not_logged_come_after_what_changed_nothing() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("g");
        let graph = direct(&path);
        assert_eq!(graph.delete([(0, 9)].into_iter()).unwrap().deleted, 0);
        graph.insert_edge((0, 9), None).unwrap();
        assert_eq!(graph.mechanisms().stored_directly, 2);
        drop(graph);
        let volume = Volume::open(&path, VolumeOptions::new(PMEM), Access::Write).unwrap();
        let graph = PmaGraph::open(volume).unwrap();
        assert_eq!(graph.snapshot().unwrap().edge_count(), 161);
    }

    /// Nor does it come after the edge where its round rebalanced the section.
    #[test]
    fn edges_that_are_not_logged_come_after_what_changed_nothing_in_a_rebalance() {
        let mut rebalanced = 0;
        for count in (10..400).step_by(10) {
            let home = tempfile::tempdir().unwrap();
            let path = home.path().join("g");
            let graph = direct(&path);
            let edges: Vec<_> = (0..3200).map(|i| (i % 16, i * 7 % 16)).collect();
            graph.insert(&edges, None).unwrap();
            graph.flush_all().unwrap();
            let windows_before = graph.mechanisms().rebalanced_windows;
            let mut batch = everedge_live::Batch::new(false);
            batch.delete(0, 9).unwrap();
            (0..count).for_each(|i| batch.insert(4 + i % 4, 5 * i % 16, 1.0).unwrap());
            graph.apply(&batch).unwrap();
            drop(graph.snapshot().unwrap());
            rebalanced += graph.mechanisms().rebalanced_windows - windows_before;
            graph.insert_edge((0, 9), None).unwrap();
            drop(graph);
            let volume = Volume::open(&path, VolumeOptions::new(PMEM), Access::Write).unwrap();
            let graph = PmaGraph::open(volume).unwrap();
            let found = graph.snapshot().unwrap().edge_count();
            assert_eq!(found, 3361 + u64::from(count), "{count} insertions");
        }
        assert!(rebalanced > 0);
    }

    /// Who keeps others out sees no edge between one look and the next.
    #[test]
    fn edges_that_are_not_logged_wait_while_others_are_kept_out() {
        let home = tempfile::tempdir().unwrap();
        let graph = direct(&home.path().join("g"));
        std::thread::scope(|scope| {
            let alone = graph.live.core.log.keep_others_out();
            let writer = scope.spawn(|| graph.insert_edge((0, 9), None));
            std::thread::sleep(std::time::Duration::from_millis(50));
            assert_eq!(graph.snapshot().unwrap().edge_count(), 160);
            drop(alone);
            writer.join().unwrap().unwrap();
        });
        assert_eq!(graph.snapshot().unwrap().edge_count(), 161);
    }

    /// An entry that is not whole between others, or at one end of an edge only, is no torn one.
    #[test]
    fn damaged_entries_that_count_by_themselves_are_found() {
        for damaged in 0..3 {
            let home = tempfile::tempdir().unwrap();
            let path = home.path().join("g");
            let kind = VolumeOptions::new(PMEM);
            let graph = direct(&path);
            for v in [9, 10, 11] {
                graph.insert_edge((0, v), None).unwrap();
            }
            let archive = graph.live.core.archive();
            let array = archive.shards[0].arrays[0].as_ref().unwrap();
            let place = usize::from(array.sections[0].log_count) - 3 + damaged;
            let start = array.extent.offset() + array.shape.log_range(0, place..place).start;
            array.extent.region.store_words(start + 4, &[12]);
            drop(archive);
            drop(graph);
            let graph = PmaGraph::open(Volume::open(&path, kind, Access::Read).unwrap()).unwrap();
            match graph.snapshot() {
                Err(Error::Corruption { .. }) => assert!(damaged < 2),
                Err(error) => panic!("{error}"),
                // As torn as the last record of a log would be.
                Ok(snapshot) => {
                    assert_eq!((snapshot.edge_count(), damaged), (162, 2));
                    assert!(graph.verify().unwrap().problems.is_empty());
                }
            }
        }
    }

    /// Two views that differ have different numbers, also of graphs that were opened anew.
    #[test]
    fn edges_that_are_not_logged_are_counted() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("g");
        let graph = direct(&path);
        let sequence = |graph: &PmaGraph| graph.snapshot().unwrap().sequence();
        let before = sequence(&graph);
        for v in 1..4 {
            graph.insert_edge((v, v), None).unwrap();
            assert_eq!(sequence(&graph), before + u64::from(v));
        }
        assert_eq!(graph.mechanisms().stored_directly, 2 * 3);
        graph.flush_all().unwrap();
        assert_eq!(sequence(&graph), before + 3);
        drop(graph);
        let volume = Volume::open(&path, VolumeOptions::new(PMEM), Access::Write).unwrap();
        assert_eq!(sequence(&PmaGraph::open(volume).unwrap()), before + 3);
    }

    /// Counts that no longer fit the lists are found, each by itself.
    #[test]
    fn verification_compares_all_counts() {
        let changes: [fn(&mut shard::Shard); 5] = [
            |shard| shard.vertex_count += 1,
            |shard| shard.degree_sum += 1,
            |shard| shard.loop_count += 1,
            |shard| shard.vertices[0] &= !2,
            |shard| shard.arrays[0].as_mut().unwrap().sections[0].loops += 1,
        ];
        for (number, change) in changes.into_iter().enumerate() {
            let home = tempfile::tempdir().unwrap();
            let graph = direct(&home.path().join("g"));
            assert_eq!(graph.verify().unwrap().problems, [""; 0]);
            change(graph.live.core.archive().shards[0].make_mut());
            assert!(!graph.verify().unwrap().problems.is_empty(), "change {number}");
        }
    }

    /// A batch that one array could not take is refused before it is logged.
    #[test]
    fn a_batch_that_is_too_long_is_refused_before_it_is_logged() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("g");
        let kind = VolumeOptions::new(MediumKind::File);
        let volume = Volume::create(&path, kind).unwrap();
        let graph = PmaGraph::create(volume, Manifest::new(Kind::Graph, options())).unwrap();
        graph.live.core.layout.room.limit_words(4000);
        let edges: Vec<_> = (0..4000).map(|v| (v % 7, v)).collect();
        let error = graph.insert(&edges, None).unwrap_err();
        assert!(matches!(error, Error::InvalidInput { .. }), "{error}");
        assert_eq!(graph.live.core.log.next_sequence(), 0);
        // As many go to arrays of several shards.
        let spread: Vec<_> = (0..4000).map(|v| (v * 4, v * 4)).collect();
        graph.insert(&spread, None).unwrap();
        assert_eq!(graph.snapshot().unwrap().edge_count(), 4000);
    }

    #[test]
    fn lists_that_are_too_long_are_refused_before_they_are_logged() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("g");
        let kind = VolumeOptions::new(MediumKind::File);
        let volume = Volume::create(&path, kind).unwrap();
        let graph = PmaGraph::create(volume, Manifest::new(Kind::Graph, options())).unwrap();
        graph.live.core.layout.room.limit_words(5000);
        let edges: Vec<_> = (0..500).map(|v| (7, v)).collect();
        let mut count = 0;
        let error = loop {
            match graph.insert(&edges, None) {
                Ok(()) => count += edges.len() as u64,
                Err(error) => break error,
            }
        };
        assert!(matches!(error, Error::InvalidInput { .. }), "{error}");
        assert!((2500..10_000).contains(&count), "{count} edges");
        assert_eq!(graph.snapshot().unwrap().edge_count(), count);
        let deleted = graph.delete(edges.iter().copied()).unwrap().deleted;
        assert_eq!(deleted, 500);
        drop(graph);
        let graph = PmaGraph::open(Volume::open(&path, kind, Access::Write).unwrap()).unwrap();
        assert_eq!(graph.snapshot().unwrap().edge_count(), count - deleted);
    }
}
