//! A graph that the pieces of a caller's own parallel loop use.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use everedge_core::GraphView;
use everedge_live::Phases;
use everedge_medium::{MediumKind, Volume, VolumeOptions};
use everedge_timeline::{Changes, Timeline, TimelineOptions};
use rayon::prelude::*;

use crate::live::LiveGraph;
use everedge::{GraphOptions, Layout};

/// How long a loop may take that has not stopped for good.
const PATIENCE: Duration = Duration::from_secs(40);
/// Threads of the pool: one waits for a piece that another does, and takes a piece from a third.
const THREADS: usize = 8;
/// Pieces of the loop.
const PIECES: u32 = 200;
/// Edges of a piece.
const EDGES: u32 = 16_384;
/// Vertices between those of one piece and those of the next: they are in other shards.
const STEP: u32 = 5000;

/// What each piece of a loop does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    InsertsAndLooks,
    /// Inserts as much as the archiving thread is called for, while all threads of the pool may wait for it.
    InsertsAndWaits,
}

fn check(piece_does: Piece, layout: Layout, phases: Phases) {
    let medium = MediumKind::Dram;
    let mut options = GraphOptions { layout, medium, ..GraphOptions::default() };
    (options.adjacency.phases, options.pma.phases) = (phases, phases);
    options.blocks.phases = phases;
    if piece_does == Piece::InsertsAndWaits {
        let threshold = u64::from(EDGES) / 2;
        (options.adjacency.archive_threshold, options.pma.archive_threshold) =
            (threshold, threshold);
        options.blocks.archive_threshold = threshold;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let volume = Volume::create(&directory.path().join("g"), options.volume(false));
    let graph = LiveGraph::create(volume.expect("a volume"), &options).expect("a graph");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(THREADS).build().expect("threads");
    pool.install(|| {
        (0..PIECES).into_par_iter().with_max_len(1).for_each(|piece| {
            let edges: Vec<_> = (0..EDGES).map(|i| (i % 64 * STEP, piece)).collect();
            graph.insert(&edges, None).expect("room");
            if piece_does == Piece::InsertsAndLooks {
                let found = graph.snapshot().expect("a view").edge_count();
                assert!(found >= u64::from(EDGES), "{layout} {phases}: {found} edges");
            }
        });
    });
    let all = u64::from(PIECES * EDGES);
    assert_eq!(graph.snapshot().expect("a view").edge_count(), all, "{layout} {phases}");
}

/// Each piece commits a version and reads others.
fn check_timeline() {
    let directory = tempfile::tempdir().expect("a directory");
    let options = VolumeOptions::new(MediumKind::File);
    let volume = Volume::create(&directory.path().join("t"), options).expect("a volume");
    let options =
        TimelineOptions { directed: true, weighted: false, in_neighbors: true, simple: false };
    let timeline = Timeline::create(&volume, 1, options).expect("a timeline");
    let pool = rayon::ThreadPoolBuilder::new().num_threads(THREADS).build().expect("threads");
    pool.install(|| {
        (0..PIECES).into_par_iter().with_max_len(1).for_each(|piece| {
            if piece % 4 == 0 {
                let mut changes = Changes::new();
                (0..EDGES).for_each(|i| changes.insert(i, piece, None).expect("ids"));
                timeline.commit(changes, 0, None).expect("room");
            }
            let Some(newest) = timeline.newest() else { return };
            let view = timeline.at(newest.number).expect("a version");
            assert_eq!(view.out_degree(0), newest.number as u32);
            let window = timeline.window(newest.number..=newest.number).expect("a version");
            assert_eq!(window.versions().len(), 1);
        });
    });
}

/// Panics unless each loop ends.
fn check_all(piece_does: Piece) {
    let checks = Layout::ALL.into_iter().flat_map(|layout| {
        [Phases::Overlapped, Phases::InTurn].map(|phases| move || check(piece_does, layout, phases))
    });
    check_in_time(checks.collect());
}

fn check_in_time(checks: Vec<impl Fn() + Send + 'static>) {
    let (sender, ended) = mpsc::channel();
    let count = checks.len();
    let work = thread::spawn(move || {
        for check in checks {
            check();
            sender.send(()).expect("the test waits");
        }
    });
    for done in 0..count {
        match ended.recv_timeout(PATIENCE) {
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("stopped for good after {done}"),
            // A panic of the work is told below.
            Err(mpsc::RecvTimeoutError::Disconnected) | Ok(()) => {}
        }
    }
    work.join().expect("the loops end");
}

#[test]
fn pieces_of_a_callers_loop_insert_and_look() {
    check_all(Piece::InsertsAndLooks);
}

#[test]
fn pieces_of_a_callers_loop_insert_and_wait() {
    check_all(Piece::InsertsAndWaits);
}

#[test]
fn pieces_of_a_callers_loop_commit_and_look_at_versions() {
    check_in_time(vec![check_timeline]);
}
