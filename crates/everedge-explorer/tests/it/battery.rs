//! The battery: every layout keeps the same promises (DESIGN: semantics), beside the model.
//!
//! A layout joins with `battery!(name, Layout::Name)`.

use everedge::{GraphOptions, Layout};
use everedge_adjacency::{AdjacencyOptions, Compacting, Deleting, Merging, Split};
use everedge_blocks::BlocksOptions;
use everedge_core::MAX_VERTEX_ID;
use everedge_live::{Batch, Division, Durability, Error, Phases};
use everedge_medium::{MediumKind, Volume, VolumeOptions};
use everedge_pma::{PmaOptions, Rebalancing, VertexArray};
use tempfile::TempDir;

use crate::live::{LiveGraph, View};
use crate::model::{Model, Picture, Random, batch_of};

/// Options that make every wrap, split and flush happen within a hundred updates.
pub(crate) fn small(layout: Layout) -> GraphOptions {
    GraphOptions {
        layout,
        log_bytes: 4096,
        adjacency: AdjacencyOptions {
            archive_threshold: 24,
            buffer_pool_bytes: 1 << 16,
            merging: Some(Merging::Always),
            ..AdjacencyOptions::default()
        },
        pma: PmaOptions {
            archive_threshold: 24,
            section_vertices: 4,
            edge_log_bytes: 128,
            undo_log_bytes: 64,
            rebalancing: Some(Rebalancing::InPlace),
            ..PmaOptions::default()
        },
        blocks: BlocksOptions {
            archive_threshold: 24,
            block_bytes: 64,
            shared_max: 4,
            ..BlocksOptions::default()
        },
        ..GraphOptions::default()
    }
}

/// Every combination of what changes the semantics.
pub(crate) fn shapes(layout: Layout) -> Vec<GraphOptions> {
    let mut shapes = Vec::new();
    for bits in 0..16 {
        let [undirected, weighted, simple, no_in] = [1, 2, 4, 8].map(|bit| bits & bit != 0);
        if undirected && no_in {
            continue;
        }
        shapes.push(GraphOptions {
            directed: !undirected,
            weighted,
            simple,
            in_neighbors: !no_in,
            adjacency: AdjacencyOptions {
                division: [Division::Stealing, Division::Dealt, Division::Fixed][bits % 3],
                ..small(layout).adjacency
            },
            ..small(layout)
        });
    }
    shapes
}

/// The same, with deletion and compaction the naive way.
pub(crate) fn naive(options: GraphOptions) -> GraphOptions {
    let adjacency = AdjacencyOptions {
        compaction: Compacting::Naive,
        deletion: Deleting::Naive,
        ..options.adjacency
    };
    GraphOptions { adjacency, ..options }
}

/// The same in sub-graphs: out-lists in one and in-lists in another, where there are both, or every
/// third shard in one.
pub(crate) fn split(options: GraphOptions) -> GraphOptions {
    let (sub_graphs, split) = match options.directed && options.in_neighbors {
        true => (2, Split::Directions),
        false => (3, Split::Vertices),
    };
    GraphOptions {
        adjacency: AdjacencyOptions { sub_graphs, split, ..options.adjacency },
        ..options
    }
}

/// Without edge logs, and every array that is rebalanced is written aside.
pub(crate) fn aside(options: GraphOptions) -> GraphOptions {
    let pma = PmaOptions { rebalancing: Some(Rebalancing::Aside), ..options.pma };
    GraphOptions { pma, ..options }
}

/// Without edge logs, an update at a time.
pub(crate) fn bare(options: GraphOptions) -> GraphOptions {
    let phases = Phases::InTurn;
    let pma = PmaOptions { edge_log_bytes: 0, archive_threshold: 1, phases, ..options.pma };
    GraphOptions { pma, ..options }
}

/// Without edge logs, what is rebalanced as transactions do it, and rows on the medium too.
pub(crate) fn ablated(options: GraphOptions) -> GraphOptions {
    let pma = PmaOptions {
        edge_log_bytes: 0,
        rebalancing: Some(Rebalancing::Transaction),
        vertex_array: VertexArray::Medium,
        ..options.pma
    };
    GraphOptions { pma, ..options }
}

/// The same in every way of the layout.
fn ways(options: GraphOptions) -> Vec<GraphOptions> {
    match options.layout {
        Layout::Adjacency => vec![options.clone(), naive(options.clone()), split(options)],
        Layout::Pma => {
            vec![options.clone(), aside(options.clone()), bare(options.clone()), ablated(options)]
        }
        Layout::Blocks => vec![options],
    }
}

/// Every combination of what changes the semantics, each in every way of the layout.
fn all_shapes(layout: Layout) -> impl Iterator<Item = GraphOptions> {
    shapes(layout).into_iter().flat_map(ways)
}

/// A graph in a directory of its own, closed or dropped and opened again at will.
struct Home {
    directory: TempDir,
    options: GraphOptions,
    graph: Option<LiveGraph>,
}

impl Home {
    fn new(options: &GraphOptions) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let volume = Volume::create(&directory.path().join("g"), options.volume(false)).unwrap();
        let graph = LiveGraph::create(volume, options).unwrap();
        Self { directory, options: options.clone(), graph: Some(graph) }
    }

    fn graph(&self) -> &LiveGraph {
        self.graph.as_ref().expect("the graph is open")
    }

    fn picture(&self) -> Picture {
        self.graph().snapshot().unwrap().picture(&self.options)
    }

    /// Opens the graph again, after a clean close or as the process left it.
    fn reopen(&mut self, close: bool) {
        let graph = self.graph.take().expect("the graph is open");
        if close {
            graph.close().unwrap();
        } else {
            drop(graph);
        }
        self.open(everedge_medium::Access::Write);
    }

    fn open(&mut self, access: everedge_medium::Access) {
        let path = self.directory.path().join("g");
        let volume = Volume::open(&path, self.options.volume(false), access).unwrap();
        self.graph = Some(LiveGraph::open(volume, self.options.layout).unwrap());
    }
}

pub(crate) fn random_updates_equal_the_model(layout: Layout) {
    for (number, options) in all_shapes(layout).enumerate() {
        for delete_every in [0, 3] {
            run_beside_model(&options, 1000 + number as u64, delete_every);
        }
    }
}

fn run_beside_model(options: &GraphOptions, seed: u64, delete_every: u64) {
    let mut random = Random(seed);
    let mut home = Home::new(options);
    let mut model = Model::new(options);
    let mut kept: Vec<(View, Picture)> = Vec::new();
    for round in 0..40 {
        let count = random.below(60) + 1;
        let updates = random.updates(count, 40, delete_every);
        home.graph().apply(&batch_of(&updates, options.weighted)).unwrap();
        model.apply(&updates);
        match random.below(10) {
            0 => {
                let v = random.below(40) as u32;
                home.graph().delete_vertex(v).unwrap();
                model.delete_vertex(v);
            }
            1 => kept.push((home.graph().snapshot().unwrap(), model.picture())),
            2 => home
                .picture()
                .assert_equals(&model.picture(), format!("round {round}, {options:?}")),
            3 => home.graph().flush_all().unwrap(),
            5 => home.graph().compact().unwrap(),
            6 => home.graph().compact_vertex(random.below(40) as u32).unwrap(),
            4 if kept.is_empty() => home.reopen(round % 3 == 0),
            _ => {}
        }
        let verification = home.graph().verify().unwrap();
        assert!(verification.problems.is_empty(), "{:?} of {options:?}", verification.problems);
    }
    for (snapshot, picture) in kept {
        let context = format!("a kept snapshot, {options:?}");
        snapshot.picture(options).assert_equals(&picture, context);
    }
    for close in [false, true] {
        home.reopen(close);
        let context = format!("opened again, close {close}, {options:?}");
        home.picture().assert_equals(&model.picture(), context);
    }
}

pub(crate) fn deletions_are_counted(layout: Layout) {
    for options in all_shapes(layout) {
        let home = Home::new(&options);
        let mut batch = Batch::new(options.weighted);
        for (u, v) in [(1, 2), (1, 2), (3, 3), (2, 5)] {
            batch.insert(u, v, 1.0).unwrap();
        }
        home.graph().apply(&batch).unwrap();
        let inserted = if options.simple { 3 } else { 4 };
        assert_eq!(home.graph().changes().unwrap().inserted, inserted, "{options:?}");
        let changes =
            home.graph().delete([(1, 2), (3, 3), (3, 3), (5, 6), (1, 2)].into_iter()).unwrap();
        let deleted = if options.simple { 2 } else { 3 };
        assert_eq!((changes.deleted, changes.ignored_deletions), (deleted, 5 - deleted));
        let snapshot = home.graph().snapshot().unwrap();
        assert_eq!(snapshot.edge_count(), 1);
        assert_eq!(snapshot.vertex_count(), 4, "an ignored deletion makes no vertex");
    }
}

pub(crate) fn bad_input_changes_nothing(layout: Layout) {
    let home = Home::new(&small(layout));
    home.graph().insert(&[(0, 1)], None).unwrap();
    let before = home.picture();
    assert!(home.graph().insert(&[(5, MAX_VERTEX_ID + 1)], None).is_err());
    assert!(home.graph().insert(&[(5, 6)], Some(&[1.0])).is_err());
    assert!(home.graph().delete([(u32::MAX, 0)].into_iter()).is_err());
    home.picture().assert_equals(&before, "after refused batches");
}

pub(crate) fn a_reader_writes_nothing(layout: Layout) {
    ways(small(layout)).iter().for_each(read_only);
}

fn read_only(options: &GraphOptions) {
    let mut home = Home::new(options);
    let mut random = Random(7);
    let mut model = Model::new(&home.options);
    for _ in 0..30 {
        let updates = random.updates(50, 30, 4);
        home.graph().apply(&batch_of(&updates, false)).unwrap();
        model.apply(&updates);
    }
    home.graph = None;
    let before = files_of(&home);
    home.open(everedge_medium::Access::Read);
    home.picture().assert_equals(&model.picture(), "opened for reading");
    let error = home.graph().insert(&[(1, 2)], None).unwrap_err();
    assert!(matches!(error, Error::ReadOnly { .. }), "{error}");
    home.graph = None;
    assert!(before == files_of(&home), "reading changed a file");
}

fn files_of(home: &Home) -> Vec<(std::ffi::OsString, Vec<u8>)> {
    let mut files: Vec<_> = std::fs::read_dir(home.directory.path().join("g"))
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name(), std::fs::read(entry.path()).unwrap()))
        .collect();
    files.sort();
    files
}

pub(crate) fn a_batch_larger_than_the_log_fits(layout: Layout) {
    let home = Home::new(&small(layout));
    let edges: Vec<_> = (0..5000).map(|i| (i % 97, i % 89)).collect();
    home.graph().insert(&edges, None).unwrap();
    assert_eq!(home.graph().snapshot().unwrap().edge_count(), 5000);
}

pub(crate) fn writers_and_readers_at_once(layout: Layout) {
    write_and_read_at_once(&small(layout));
    match layout {
        Layout::Adjacency => write_and_read_at_once(&naive(small(layout))),
        Layout::Pma => {
            write_and_read_at_once(&aside(small(layout)));
            write_and_read_at_once(&ablated(small(layout)));
        }
        Layout::Blocks => {}
    }
}

fn write_and_read_at_once(options: &GraphOptions) {
    let home = Home::new(options);
    let graph = home.graph();
    std::thread::scope(|scope| {
        for writer in 0..3u32 {
            scope.spawn(move || {
                for batch in 0..60u32 {
                    let edges: Vec<_> = (0..20).map(|i| (writer, 100 + batch * 20 + i)).collect();
                    graph.insert(&edges, None).unwrap();
                }
            });
        }
        scope.spawn(move || {
            for _ in 0..40 {
                graph.compact().unwrap();
            }
        });
        scope.spawn(move || {
            for _ in 0..60 {
                let snapshot = graph.snapshot().unwrap();
                for writer in 0..3 {
                    let mut seen: Vec<u32> = snapshot.out_neighbors(writer);
                    seen.sort_unstable();
                    let expected: Vec<u32> = (100..100 + seen.len() as u32).collect();
                    assert_eq!(seen, expected, "a prefix of the writer's batches");
                    assert_eq!(seen.len() % 20, 0, "whole batches only");
                }
            }
        });
    });
    assert_eq!(graph.snapshot().unwrap().edge_count(), 3 * 60 * 20);
}

pub(crate) fn every_medium_and_durability(layout: Layout) {
    for medium in [MediumKind::File, MediumKind::Pmem { emulated: true }, MediumKind::Dram] {
        for durability in [Durability::Edge, Durability::Batch, Durability::None] {
            let options = GraphOptions { medium, durability, ..small(layout) };
            let home = Home::new(&options);
            let mut model = Model::new(&options);
            let updates = Random(3).updates(400, 50, 5);
            for updates in updates.chunks(7) {
                home.graph().apply(&batch_of(updates, false)).unwrap();
            }
            model.apply(&updates);
            home.graph().sync().unwrap();
            home.picture().assert_equals(&model.picture(), format!("{medium} {durability}"));
        }
    }
    let volume = Volume::create("nowhere".as_ref(), VolumeOptions::new(MediumKind::Dram)).unwrap();
    assert!(!volume.path().exists(), "a dram graph makes no directory");
}

macro_rules! battery {
    ($name:ident, $layout:expr, [$($test:ident),+]) => {
        mod $name {
            use super::*;
            $(#[test] fn $test() { super::$test($layout); })+
        }
    };
}

macro_rules! batteries {
    ($tests:tt) => {
        battery!(adjacency, Layout::Adjacency, $tests);
        battery!(pma, Layout::Pma, $tests);
        battery!(blocks, Layout::Blocks, $tests);
    };
}

batteries!([
    random_updates_equal_the_model,
    deletions_are_counted,
    bad_input_changes_nothing,
    a_reader_writes_nothing,
    a_batch_larger_than_the_log_fits,
    writers_and_readers_at_once,
    every_medium_and_durability
]);
