//! Both layouts on a full medium: insertions are refused at once, deletions and compaction go on, also
//! after re-opening, and insertions as soon as there is room.

#![expect(clippy::disallowed_methods, reason = "another program's file takes the room")]

use everedge::{GraphOptions, Layout};
use everedge_adjacency::AdjacencyOptions;
use everedge_blocks::BlocksOptions;
use everedge_core::{Edge, VertexId};
use everedge_live::{Batch, Durability, Error, Phases, Result};
use everedge_medium::{Access, MediumKind, Volume};
use everedge_pma::{PmaOptions, Rebalancing};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::explorer::is_at_length;
use crate::live::LiveGraph;
use crate::model::Random;
use crate::small_disk::{SmallFileSystem, give_back, leave};

const MEDIUM_MIB: u32 = 24;
/// What another program takes of it for a while.
const FILLER_BYTES: usize = 4 << 20;
const VERTEX_BOUND: u64 = 40_000;
/// A vertex whose list is one run with those of its neighbors by number.
const HUB: VertexId = 77;
const BATCH_EDGES: usize = 10_000;
/// So many are deleted in a batch.
const DELETED_EDGES: usize = 1000;
const LOG_BYTES: u64 = 1 << 20;
/// Deletions of a whole batch take so many bytes of the log.
const DELETION_BYTES: u64 = 8 * BATCH_EDGES as u64;
/// How often the graph is filled and deleted from.
const ROUNDS: usize = 2;
const PATIENCE: Duration = Duration::from_secs(1);
/// A full graph refuses so many insertions, one after the other.
const REFUSALS: usize = 5;

fn options(layout: Layout, medium: MediumKind) -> GraphOptions {
    GraphOptions {
        layout,
        medium,
        log_bytes: LOG_BYTES,
        durability: Durability::Batch,
        adjacency: AdjacencyOptions {
            archive_threshold: 1 << 15,
            phases: Phases::InTurn,
            ..AdjacencyOptions::default()
        },
        pma: PmaOptions {
            archive_threshold: 1 << 15,
            phases: Phases::InTurn,
            rebalancing: Some(match medium {
                MediumKind::File => Rebalancing::Aside,
                _ => Rebalancing::InPlace,
            }),
            ..PmaOptions::default()
        },
        blocks: BlocksOptions {
            archive_threshold: 1 << 15,
            phases: Phases::InTurn,
            ..BlocksOptions::default()
        },
        ..GraphOptions::default()
    }
}

/// A batch; with a hub every third edge is its own.
fn edges(random: &mut Random, has_hub: bool) -> Vec<Edge> {
    let mut end = || random.below(VERTEX_BOUND) as VertexId;
    let src =
        |number: usize, end: VertexId| if has_hub && number.is_multiple_of(3) { HUB } else { end };
    (0..BATCH_EDGES).map(|number| (src(number, end()), end())).collect()
}

fn create(path: &Path, options: &GraphOptions) -> LiveGraph {
    let volume = Volume::create(path, options.volume(false)).expect("a volume");
    LiveGraph::create(volume, options).expect("a graph")
}

fn open(path: &Path, options: &GraphOptions) -> LiveGraph {
    let volume = Volume::open(path, options.volume(false), Access::Write).expect("a volume");
    LiveGraph::open(volume, options.layout).expect("a graph")
}

/// What was inserted and not deleted, oldest first.
struct Filled {
    random: Random,
    has_hub: bool,
    edges: Vec<Edge>,
    deleted: usize,
}

impl Filled {
    /// Inserts until that is refused again and again, most times in less than a second.
    fn fill(&mut self, graph: &LiveGraph, when: &str) {
        let mut refused = Vec::new();
        while refused.len() < REFUSALS {
            let edges = edges(&mut self.random, self.has_hub);
            let start = Instant::now();
            match graph.insert(&edges, None) {
                Ok(()) => {
                    self.edges.extend(edges);
                    refused.clear();
                }
                Err(Error::NoSpace { needed_bytes: 1.., .. }) => refused.push(start.elapsed()),
                Err(error) => panic!("{when}: {error}"),
            }
        }
        // Others' work may stop one of them.
        assert!(refused[0] < 4 * PATIENCE, "{when}: {refused:?}");
        refused.sort_unstable();
        assert!(refused[REFUSALS / 2] < PATIENCE, "{when}: {refused:?}");
    }

    /// Deletes the oldest batch, in pieces: the log keeps room for a few.
    fn delete(&mut self, graph: &LiveGraph) -> Result<()> {
        for _ in 0..BATCH_EDGES / DELETED_EDGES {
            let oldest = &self.edges[self.deleted..self.deleted + DELETED_EDGES];
            graph.apply(&Batch::deletions(oldest.iter().copied(), false)?)?;
            self.deleted += DELETED_EDGES;
        }
        Ok(())
    }

    /// Deletes twice what the log holds.
    fn delete_much(&mut self, graph: &LiveGraph, when: &str) {
        for number in 0..2 * LOG_BYTES / DELETION_BYTES {
            self.delete(graph).unwrap_or_else(|error| panic!("{when}, batch {number}: {error}"));
        }
    }

    fn count(&self) -> u64 {
        (self.edges.len() - self.deleted) as u64
    }

    /// The graph must be what was not deleted: the sum over its edges tells which they are.
    fn check(&self, graph: &LiveGraph, when: &str) {
        let mix = |(u, v): Edge| {
            (u64::from(u) << 32 | u64::from(v)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24
        };
        let view = graph.snapshot().expect("a snapshot");
        assert_eq!(view.edge_count(), self.count(), "{when}");
        let (mut outgoing, mut incoming) = (0u64, 0u64);
        for v in 0..view.vertex_bound() {
            outgoing += view.out_neighbors(v).into_iter().map(|to| mix((v, to))).sum::<u64>();
            incoming += view.in_neighbors(v).into_iter().map(|from| mix((from, v))).sum::<u64>();
        }
        let expected = self.edges[self.deleted..].iter().map(|&edge| mix(edge)).sum::<u64>();
        assert_eq!((outgoing, incoming), (expected, expected), "{when}");
    }
}

fn fill_and_delete(path: &Path, options: &GraphOptions, kills: bool, has_hub: bool) {
    let filler = path.with_extension("filler");
    std::fs::write(&filler, vec![1; FILLER_BYTES]).expect("room for something else");
    let mut graph = create(path, options);
    let mut filled = Filled { random: Random(7), has_hub, edges: Vec::new(), deleted: 0 };
    filled.fill(&graph, "new");
    let full_count = filled.count();
    println!("{} {}: {full_count} edges", options.layout, options.medium);
    // 8 bytes each, both ways: at least three tenths of what the filler leaves.
    let room = (u64::from(MEDIUM_MIB) << 20) - FILLER_BYTES as u64;
    assert!(27 * full_count > room, "{full_count} edges in {}", options.layout);
    for round in 0..ROUNDS {
        let when = format!("round {round}, {options:?}");
        filled.fill(&graph, &when);
        filled.check(&graph, &when);
        filled.delete_much(&graph, &when);
        filled.check(&graph, &when);
        graph.compact().unwrap_or_else(|error| panic!("{when}: {error}"));
        filled.check(&graph, &when);
        if kills {
            drop(graph);
        } else {
            graph.close().expect("closed");
        }
        graph = open(path, options);
        filled.check(&graph, &when);
    }
    give_back(&filler);
    let before = filled.count();
    filled.fill(&graph, "with room again");
    assert!(filled.count() > before, "{} edges then", filled.count());
    filled.delete(&graph).expect("a deletion");
    filled.check(&graph, "after there was room again");
    assert!(graph.verify().expect("a verification").problems.is_empty());
    graph.close().expect("closed");
    filled.check(&open(path, options), "opened again");
}

fn check_layout(layout: Layout) {
    let home = tempfile::tempdir().expect("a directory");
    let Some(_mounted) = SmallFileSystem::mount(home.path(), MEDIUM_MIB) else {
        println!("not run: mounting a small tmpfs needs more rights");
        return;
    };
    let path = home.path().join("g");
    for medium in [MediumKind::Pmem { emulated: true }, MediumKind::File] {
        let ways: &[(bool, bool)] = match (is_at_length(), medium) {
            (true, _) => &[(false, false), (true, false), (true, true)],
            // A short run tries each on one medium.
            (false, MediumKind::File) => &[(true, false)],
            (false, _) => &[(false, false), (true, true)],
        };
        for &(kills, has_hub) in ways {
            fill_and_delete(&path, &options(layout, medium), kills, has_hub);
            give_back(&path);
        }
    }
    // Their log may take 40 times what there is, and nothing is archived before it has to be.
    let default = GraphOptions { layout, ..GraphOptions::default() };
    fill_and_delete(&path, &default, true, false);
}

#[test]
fn a_full_adjacency_takes_deletions_and_compaction() {
    check_layout(Layout::Adjacency);
}

#[test]
fn a_full_pma_takes_deletions_and_compaction() {
    check_layout(Layout::Pma);
}

#[test]
fn a_full_blocks_takes_deletions_and_compaction() {
    check_layout(Layout::Blocks);
}

/// Fills a medium of so many MiB with edges between few vertices, which are all in one shard, deletes
/// some, and compacts, each after the graph was opened again.
fn fill_one_shard(home: &Path, options: &GraphOptions, medium_mib: u32, deleted: usize) {
    let Some(_mounted) = SmallFileSystem::mount(home, medium_mib) else {
        println!("not run: mounting a small tmpfs needs more rights");
        return;
    };
    let path = home.join("g");
    let when =
        format!("{} {} on {medium_mib} MiB, {deleted} deleted", options.layout, options.medium);
    let (mut random, mut edges) = (Random(medium_mib.into()), Vec::new());
    let graph = create(&path, options);
    loop {
        let mut end = || random.below(300) as VertexId;
        let batch: Vec<Edge> = (0..1 << 16).map(|_| (end(), end())).collect();
        match graph.insert(&batch, None) {
            Ok(()) => edges.extend(batch),
            Err(Error::NoSpace { .. }) => break,
            Err(error) => panic!("{when}: {error}"),
        }
    }
    graph.close().expect("closed");
    // Each edge lies at both of its ends.
    let bytes = 8 * edges.len() as u64;
    println!("{when}: {} edges", edges.len());
    assert!(8 * bytes > u64::from(medium_mib) << 20, "{when}: {} edges", edges.len());
    let graph = open(&path, options);
    for batch in edges[..deleted].chunks(1 << 16) {
        let batch = Batch::deletions(batch.iter().copied(), false).expect("a batch");
        graph.apply(&batch).unwrap_or_else(|error| panic!("{when}: {error}"));
    }
    graph.close().expect("closed");
    let graph = open(&path, options);
    graph.compact().unwrap_or_else(|error| panic!("{when}: {error}"));
    let count = graph.snapshot().expect("a view").edge_count();
    assert_eq!(count, (edges.len() - deleted) as u64, "{when}");
    assert!(graph.verify().expect("a verification").problems.is_empty(), "{when}");
}

/// Where all lists are of one shard, what must be free to write it anew is as much as the graph.
#[test]
fn a_medium_that_one_shard_fills_takes_deletions_and_compaction() {
    let home = tempfile::tempdir().expect("a directory");
    for layout in Layout::ALL {
        for medium in [MediumKind::Pmem { emulated: true }, MediumKind::File] {
            let options =
                GraphOptions { layout, medium, directed: false, ..GraphOptions::default() };
            for medium_mib in [14, 17, 20, 27] {
                for deleted in [30_000, 300_000] {
                    fill_one_shard(home.path(), &options, medium_mib, deleted);
                }
            }
        }
    }
}

/// Fills a graph, compacts it, deletes some edges and compacts again.
fn fill_and_compact(path: &Path, options: &GraphOptions, batch_len: usize) {
    let GraphOptions { layout, weighted, .. } = *options;
    let sub_graphs = options.adjacency.sub_graphs;
    let when =
        format!("{layout}, {sub_graphs} sub-graphs, weights: {weighted}, batches of {batch_len}");
    let graph = create(path, options);
    let weights = weighted.then(|| vec![1.0; batch_len]);
    let (mut random, mut edges) = (Random(sub_graphs.into()), Vec::new());
    loop {
        // Of few vertices in two shards: each shard is half of the graph.
        let mut end = || random.below(90).pow(2) as VertexId;
        let batch: Vec<Edge> = (0..batch_len).map(|_| (end(), end())).collect();
        match graph.insert(&batch, weights.as_deref()) {
            Ok(()) => edges.extend(batch),
            Err(Error::NoSpace { .. }) => break,
            Err(error) => panic!("{when}: {error}"),
        }
    }
    println!("{when}: {} edges", edges.len());
    graph.compact().unwrap_or_else(|error| panic!("{when}: {error}"));
    let (deleted, kept) = edges.split_at(edges.len().min(2000));
    for batch in deleted.chunks(500) {
        graph.delete(batch.iter().copied()).unwrap_or_else(|error| panic!("{when}: {error}"));
    }
    graph.compact().unwrap_or_else(|error| panic!("{when}: {error}"));
    assert_eq!(graph.snapshot().expect("a view").edge_count(), kept.len() as u64, "{when}");
    graph.close().expect("closed");
    give_back(path);
}

/// A list with weights takes more, and what is free in the file of one sub-graph is no room for another.
#[test]
fn a_small_medium_that_is_full_takes_compaction_and_deletions() {
    let home = tempfile::tempdir().expect("a directory");
    let Some(_mounted) = SmallFileSystem::mount(home.path(), 2) else {
        println!("not run: mounting a small tmpfs needs more rights");
        return;
    };
    let path = home.path().join("g");
    let of_layouts = [1, 2, 3, 8].map(|count| (Layout::Adjacency, count));
    for (layout, sub_graphs) in
        of_layouts.into_iter().chain([(Layout::Pma, 1), (Layout::Blocks, 1)])
    {
        for (weighted, batch_len) in
            [16, 64, 500].into_iter().flat_map(|len| [(true, len), (false, len)])
        {
            let mut options = GraphOptions { layout, weighted, ..GraphOptions::default() };
            options.adjacency.sub_graphs = sub_graphs;
            fill_and_compact(&path, &options, batch_len);
        }
    }
}

/// The file of rows has one for each of 63 shards, and no room for another; nor has the table of arrays
/// room for those of shards that lie farther.
#[test]
fn a_new_shard_on_a_full_disk_does_not_end_deletions() {
    const SHARD: u32 = 4096;
    let home = tempfile::tempdir().expect("a directory");
    let Some(_mounted) = SmallFileSystem::mount(home.path(), MEDIUM_MIB) else {
        println!("not run: mounting a small tmpfs needs more rights");
        return;
    };
    let (path, filler) = (home.path().join("g"), home.path().join("filler"));
    for (layout, medium) in Layout::ALL.into_iter().flat_map(|layout| {
        [MediumKind::Pmem { emulated: true }, MediumKind::File].map(|m| (layout, m))
    }) {
        for (names_by_deletion, new_shard) in [(false, 63), (true, 63), (false, 256), (true, 256)] {
            let when = format!("{layout} {medium}, {new_shard} by a deletion: {names_by_deletion}");
            let graph = create(&path, &options(layout, medium));
            let edges: Vec<Edge> =
                (0..63 * 2000).map(|i| (i % 63 * SHARD + i / 63 % 50, i % 4001)).collect();
            let (deleted, kept) = edges.split_at(edges.len() / 2);
            graph.insert(&edges, None).expect("room");
            graph.delete(deleted.iter().copied()).expect("room");
            // Places of what was deleted are free inside of the file.
            graph.compact().expect("room");
            leave(&filler, 0);
            let new = [(new_shard * SHARD, new_shard * SHARD + 1)];
            let named = match names_by_deletion {
                false => graph.insert(&new, None),
                true => graph.delete(new.into_iter()).map(drop),
            };
            let is_clear = matches!(named, Ok(()) | Err(Error::NoSpace { needed_bytes: 1.., .. }));
            assert!(is_clear, "{when}: {named:?}");
            let mut inserted = u64::from(named.is_ok() && !names_by_deletion);
            // More than the log holds.
            for (number, batch) in kept.chunks(50).enumerate() {
                let batch = Batch::deletions(batch.iter().copied(), false).expect("a batch");
                graph.apply(&batch).unwrap_or_else(|e| panic!("{when}: batch {number}: {e}"));
                if number % 100 == 0 {
                    graph.save_all().unwrap_or_else(|e| panic!("{when}: saved {number}: {e}"));
                }
            }
            give_back(&filler);
            graph.insert(&new, None).unwrap_or_else(|e| panic!("{when}: room again: {e}"));
            inserted += 1;
            graph.close().expect("closed");
            let graph = open(&path, &options(layout, medium));
            assert_eq!(graph.snapshot().expect("a view").edge_count(), inserted, "{when}");
            drop(graph);
            give_back(&path);
        }
    }
}

/// Tries something with a graph of each layout, alone on a small medium.
fn for_each_layout(attempt: impl Fn(Layout, &LiveGraph)) {
    let home = tempfile::tempdir().expect("a directory");
    let Some(_mounted) = SmallFileSystem::mount(home.path(), MEDIUM_MIB) else {
        println!("not run: mounting a small tmpfs needs more rights");
        return;
    };
    for layout in Layout::ALL {
        let path = home.path().join("g");
        let graph = create(&path, &options(layout, MediumKind::File));
        attempt(layout, &graph);
        graph.close().expect("closed");
        give_back(&path);
    }
}

/// Who is refused may not wait until nobody else writes.
#[test]
fn insertions_are_refused_beside_deletions_that_go_on() {
    for_each_layout(|layout, graph| {
        let mut filled =
            Filled { random: Random(3), has_hub: false, edges: Vec::new(), deleted: 0 };
        filled.fill(graph, "new");
        let is_refused = AtomicBool::new(false);
        let refuse = |random: &mut Random| {
            for _ in 0..20 {
                let start = Instant::now();
                let inserted = graph.insert(&edges(random, false), None);
                let is_clear = matches!(inserted, Ok(()) | Err(Error::NoSpace { .. }));
                assert!(is_clear, "{layout}: {inserted:?}");
                assert!(start.elapsed() < 10 * PATIENCE, "{layout}: {:?}", start.elapsed());
            }
        };
        std::thread::scope(|scope| {
            let refusing = scope.spawn(|| {
                refuse(&mut Random(4));
                is_refused.store(true, Relaxed);
            });
            for batch in filled.edges.chunks(10) {
                if is_refused.load(Relaxed) || refusing.is_finished() {
                    break;
                }
                let batch = Batch::deletions(batch.iter().copied(), false).expect("a batch");
                graph.apply(&batch).unwrap_or_else(|error| panic!("{layout}: {error}"));
            }
        });
        assert!(is_refused.into_inner(), "{layout}");
    });
}

/// Nothing is kept for vertices that only deletions have named.
#[test]
fn deletions_that_find_nothing_take_no_room() {
    const SHARD: u32 = 4096;
    for_each_layout(|layout, graph| {
        for shard in 0..100 {
            let absent = [(shard * SHARD, shard * SHARD + 1)];
            graph.delete(absent.into_iter()).expect("nothing is deleted");
        }
        let mut random = Random(5);
        for number in 0..60 {
            let batch = edges(&mut random, false);
            graph.insert(&batch, None).unwrap_or_else(|e| panic!("{layout}, batch {number}: {e}"));
        }
    });
}

/// What a hub needed to be written anew is not kept free when the hub is gone.
#[test]
fn the_room_of_a_hub_that_is_gone_is_given_to_others() {
    let home = tempfile::tempdir().expect("a directory");
    let Some(_mounted) = SmallFileSystem::mount(home.path(), MEDIUM_MIB) else {
        println!("not run: mounting a small tmpfs needs more rights");
        return;
    };
    let path = home.path().join("g");
    let options = options(Layout::Adjacency, MediumKind::File);
    let graph = create(&path, &options);
    let mut hub = Vec::new();
    loop {
        let batch: Vec<Edge> = (0..5000).map(|i| (HUB, (hub.len() as u32 + i) % 4096)).collect();
        match graph.insert(&batch, None) {
            Ok(()) => hub.extend(batch),
            Err(Error::NoSpace { .. }) => break,
            Err(error) => panic!("{error}"),
        }
    }
    for batch in hub.chunks(DELETED_EDGES) {
        graph
            .apply(&Batch::deletions(batch.iter().copied(), false).expect("a batch"))
            .expect("room");
    }
    graph.compact().expect("room");
    // Far from the hub, so that no shard is as large as it was.
    let fill = |graph: &LiveGraph, first: u32| {
        (first..)
            .take_while(|round| {
                let u = |i: u32| 4096 * (1 + (i * 37 + round) % 40) + (i + round) % 4096;
                let batch: Vec<Edge> = (0..1000).map(|i| (u(i), u(i + 7))).collect();
                graph.insert(&batch, None).is_ok()
            })
            .count()
    };
    let fitted = fill(&graph, 0);
    graph.close().expect("closed");
    let graph = open(&path, &options);
    let more = fill(&graph, fitted as u32);
    println!("{fitted} batches fitted, and {more} after the graph was opened again");
    assert!(fitted > 4 * more, "{fitted} batches, and {more} after the graph was opened again");
}

/// Flips a bit wherever `words` stand in a file.
fn damage(file: &Path, words: [VertexId; 2]) {
    let wanted: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let bytes = std::fs::read(file).expect("read");
    let file = std::fs::OpenOptions::new().write(true).open(file).expect("writable");
    let mut count = 0;
    for (at, found) in bytes.windows(wanted.len()).enumerate() {
        if found == wanted {
            file.write_all_at(&[found[0] ^ 4], at as u64).expect("written");
            count += 1;
        }
    }
    assert!(count > 0, "no list has {words:?}");
}

/// Fills a medium, damages arrays, and deletes from the others. Returns whether it was done: a log
/// that keeps what found no room has something for the damaged lists, too, and nothing is taken then.
fn make_room_beside_damage(path: &Path, seed: u64) -> bool {
    const SHARD: u32 = 4096;
    const MARK: [VertexId; 2] = [4_190_001, 4_190_003];
    let mut options = options(Layout::Pma, MediumKind::File);
    options.in_neighbors = false;
    let is_whole = |shard: u32| shard.is_multiple_of(3);
    let damaged = (0..VERTEX_BOUND as u32 / SHARD).filter(|&shard| !is_whole(shard));
    let marks = damaged.flat_map(|shard| MARK.map(|mark| (shard * SHARD + 7, mark + shard * 8)));
    let graph = create(path, &options);
    graph.insert(&marks.clone().collect::<Vec<Edge>>(), None).expect("room");
    let mut filled = Filled { random: Random(seed), has_hub: false, edges: Vec::new(), deleted: 0 };
    filled.fill(&graph, "new");
    if graph.flush_all().is_err() {
        return false;
    }
    graph.close().expect("closed");
    for (mark, other) in marks.clone().zip(marks.skip(1)).step_by(2) {
        damage(&path.join("arrays"), [mark.1, other.1]);
    }
    let graph = open(path, &options);
    let are_whole = |edge: &Edge| is_whole(edge.0 / SHARD) && is_whole(edge.1 / SHARD);
    let deleted: Vec<Edge> = filled.edges.into_iter().filter(are_whole).collect();
    let (ended, end) = std::sync::mpsc::channel();
    let cleaning = std::thread::spawn(move || {
        for batch in deleted[..deleted.len() / 2].chunks(DELETED_EDGES) {
            let batch = Batch::deletions(batch.iter().copied(), false).expect("a batch");
            graph.apply(&batch).expect("a deletion");
        }
        let compacted = graph.compact();
        ended.send(()).expect("who waits");
        compacted
    });
    end.recv_timeout(30 * PATIENCE).expect("deletions and compaction come to an end");
    let compacted = cleaning.join().expect("no panic");
    // A damaged array may have nothing to be written anew for.
    assert!(matches!(compacted, Ok(()) | Err(Error::Corruption { .. })), "{compacted:?}");
    true
}

/// Where free ranges are to be joined, the array that would leave the longest one may be damaged.
#[test]
fn who_makes_room_passes_over_damaged_arrays() {
    let home = tempfile::tempdir().expect("a directory");
    let Some(_mounted) = SmallFileSystem::mount(home.path(), MEDIUM_MIB) else {
        println!("not run: mounting a small tmpfs needs more rights");
        return;
    };
    let path = home.path().join("g");
    let done = (7..14).filter(|&seed| {
        let is_done = make_room_beside_damage(&path, seed);
        give_back(&path);
        is_done
    });
    assert!(done.count() >= 4, "most media are full with an empty log");
}
