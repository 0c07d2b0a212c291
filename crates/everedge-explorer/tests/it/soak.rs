//! Long runs of each layout: writers, readers, deletions and compaction at once; memory and file
//! stay level.
//!
//! Run with `make soak`, or `EVEREDGE_SOAK_SECONDS=60 cargo test … -- --ignored soak`.

use everedge::{GraphOptions, Layout};
use everedge_adjacency::AdjacencyOptions;
use everedge_blocks::BlocksOptions;
use everedge_live::Batch;
use everedge_medium::{Access, MediumKind, Volume};
use everedge_pma::PmaOptions;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::live::{LiveGraph, View};

const WRITERS: u32 = 2;
const READERS: u32 = 2;
/// Each writer's edges begin at so many vertices of its own.
const SOURCES: u64 = 1024;
/// Edge number k leads to the vertex `TARGETS_FIRST + k % TARGETS`.
const TARGETS_FIRST: u32 = 1 << 14;
const TARGETS: u64 = 200_000;
const BATCH: u64 = 100;
/// A writer keeps so many edges: it deletes the oldest batch when it has one more.
const KEPT: u64 = 100_000;

fn edge(writer: u32, number: u64) -> (u32, u32) {
    let source = writer * SOURCES as u32 + (number % SOURCES) as u32;
    (source, TARGETS_FIRST + (number % TARGETS) as u32)
}

fn write(graph: &LiveGraph, writer: u32, is_over: &AtomicBool, batches: &AtomicU64) {
    let mut next = 0;
    while !is_over.load(Relaxed) {
        let edges = |first: u64| (0..BATCH as u32).map(move |n| edge(writer, first + u64::from(n)));
        graph.apply(&Batch::insertions(edges(next), None).unwrap()).unwrap();
        next += BATCH;
        if next > KEPT {
            let oldest = next - KEPT - BATCH;
            graph.apply(&Batch::deletions(edges(oldest), false).unwrap()).unwrap();
        }
        batches.fetch_add(1, Relaxed);
    }
}

/// Each writer's edges must be those of whole batches that follow each other.
fn check(snapshot: &View) {
    for writer in 0..WRITERS {
        let first = writer * SOURCES as u32;
        let mut numbers: Vec<u64> = (first..first + SOURCES as u32)
            .flat_map(|source| snapshot.out_neighbors(source))
            .map(|target| u64::from(target - TARGETS_FIRST))
            .collect();
        numbers.sort_unstable();
        let count = numbers.len() as u64;
        assert!(count.is_multiple_of(BATCH) && count <= KEPT + BATCH, "{count} edges of {writer}");
        let gaps: Vec<u64> =
            numbers.windows(2).filter(|pair| pair[1] != pair[0] + 1).map(|pair| pair[1]).collect();
        assert!(gaps.len() <= 1, "the edges of {writer} do not follow each other: {gaps:?}");
        assert!(gaps.iter().chain(numbers.first()).all(|start| start.is_multiple_of(BATCH)));
    }
}

/// Bytes of memory that the process holds, and of the files of the graph.
fn sizes(path: &Path) -> [u64; 2] {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let resident = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    let kib: u64 = resident.trim().trim_end_matches(" kB").parse().unwrap();
    let files = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len());
    [kib << 10, files.sum()]
}

#[test]
#[ignore = "takes minutes: make soak"]
fn memory_and_file_stay_level_and_snapshots_exact() {
    let seconds = std::env::var("EVEREDGE_SOAK_SECONDS").map_or(600, |text| text.parse().unwrap());
    for layout in Layout::ALL {
        run(layout, Duration::from_secs(seconds / 2));
    }
}

fn run(layout: Layout, duration: Duration) {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("g");
    let options = GraphOptions {
        layout,
        medium: MediumKind::Pmem { emulated: true },
        log_bytes: 16 << 20,
        adjacency: AdjacencyOptions {
            archive_threshold: 1 << 14,
            buffer_pool_bytes: 64 << 20,
            ..AdjacencyOptions::default()
        },
        pma: PmaOptions { archive_threshold: 1 << 14, ..PmaOptions::default() },
        blocks: BlocksOptions { archive_threshold: 1 << 14, ..BlocksOptions::default() },
        ..GraphOptions::default()
    };
    let volume = Volume::create(&path, options.volume(false)).unwrap();
    let graph = LiveGraph::create(volume, &options).unwrap();
    let (is_over, batches) = (AtomicBool::new(false), AtomicU64::new(0));
    let (snapshots, compactions) = (AtomicU64::new(0), AtomicU64::new(0));
    let mut levels: Vec<[u64; 2]> = Vec::new();
    std::thread::scope(|scope| {
        let (graph, is_over, batches) = (&graph, &is_over, &batches);
        let (snapshots, compactions) = (&snapshots, &compactions);
        for writer in 0..WRITERS {
            scope.spawn(move || write(graph, writer, is_over, batches));
        }
        for _ in 0..READERS {
            scope.spawn(move || {
                while !is_over.load(Relaxed) {
                    check(&graph.snapshot().unwrap());
                    snapshots.fetch_add(1, Relaxed);
                }
            });
        }
        scope.spawn(move || {
            while !is_over.load(Relaxed) {
                std::thread::sleep(Duration::from_millis(500));
                graph.compact().unwrap();
                compactions.fetch_add(1, Relaxed);
            }
        });
        let start = Instant::now();
        while start.elapsed() < duration {
            std::thread::sleep(Duration::from_millis(500));
            levels.push(sizes(&path));
        }
        is_over.store(true, Relaxed);
    });
    let third = levels.len() / 3;
    let largest = |levels: &[[u64; 2]], which: usize| levels.iter().map(|l| l[which]).max();
    for (which, what) in ["memory", "file"].into_iter().enumerate() {
        let first = largest(&levels[third..2 * third], which).unwrap();
        let last = largest(&levels[2 * third..], which).unwrap();
        println!("{layout} {what}: {first} bytes at most in the second third, {last} in the last");
        assert!(last <= first + first / 10, "{layout}: {what} grows from {first} to {last} bytes");
    }
    println!(
        "{layout}: batches={batches:?} snapshots={snapshots:?} compactions={compactions:?} wrong=0"
    );
    let verification = graph.verify().unwrap();
    assert!(verification.problems.is_empty(), "{:?}", verification.problems);
    drop(graph);
    let volume = Volume::open(&path, options.volume(false), Access::Write).unwrap();
    check(&LiveGraph::open(volume, layout).unwrap().snapshot().unwrap());
}
