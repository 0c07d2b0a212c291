//! A full medium: what was acknowledged can be read and deleted, also after a crash, and goes on
//! when there is room again.

#![expect(clippy::disallowed_methods, reason = "another program's file takes the room")]

use std::path::Path;

use everedge_core::VertexId;
use everedge_storage::medium::{Access, MediumKind, Volume};
use everedge_storage::{
    AdjacencyOptions, Error, GraphOptions, Layout, Manifest, Merging, PmaOptions,
};

use crate::battery::{ablated, shapes};
use crate::live::LiveGraph;
use crate::medium::SmallFileSystem;
use crate::model::{Model, Random, Update, batch_of};

const MEDIUM_MIB: u32 = 4;
/// What another program takes of it for a while.
const FILLER_BYTES: usize = 2 << 20;
/// Some shards' worth of vertices.
const VERTEX_BOUND: u64 = 30_000;

/// Some updates: over all vertices, or of a few with long lists.
fn updates(random: &mut Random) -> Vec<Update> {
    let bound = [VERTEX_BOUND, 5][random.below(2) as usize];
    let count = 1 + random.below(300);
    (0..count)
        .map(|_| {
            let (u, v) = (random.below(bound) as VertexId, random.below(VERTEX_BOUND) as VertexId);
            Update::Insert(u, v, random.below(9) as f32)
        })
        .collect()
}

fn open(path: &Path, options: &GraphOptions) -> LiveGraph {
    let volume = Volume::open(path, options.volume(false), Access::Write).expect("a volume");
    LiveGraph::open(volume, options.layout).expect("a graph")
}

/// Inserts until the medium is full. Returns how many batches fit.
fn fill(graph: &LiveGraph, model: &mut Model, random: &mut Random) -> u64 {
    for fitted in 0.. {
        let updates = updates(random);
        match graph.apply(&batch_of(&updates, graph.manifest().options.weighted)) {
            Ok(()) => model.apply(&updates),
            Err(Error::NoSpace { needed_bytes, .. }) => {
                assert!(needed_bytes > 0);
                return fitted;
            }
            Err(error) => panic!("{error}"),
        }
    }
    unreachable!("a medium is full at some time")
}

fn fill_and_empty(path: &Path, options: &GraphOptions, seed: u64, kills: bool) {
    let mut random = Random(seed);
    let mut model = Model::new(options);
    let filler = path.with_extension("filler");
    std::fs::write(&filler, vec![1; FILLER_BYTES]).expect("room for something else");
    let volume = Volume::create(path, options.volume(false)).expect("a volume");
    let mut graph = LiveGraph::create(volume, Manifest::new(options.clone())).expect("a graph");
    assert!(fill(&graph, &mut model, &mut random) > 10);
    let check = |graph: &LiveGraph, model: &Model, when: &str| {
        let picture = graph.snapshot().expect("a snapshot").picture(options);
        picture.assert_equals(&model.picture(), format!("{when}, {options:?}"));
    };
    check(&graph, &model, "full");
    if kills {
        drop(graph);
        graph = open(path, options);
        check(&graph, &model, "opened on a full medium");
    }
    for _ in 0..10 {
        let ends = [random.below(5) as VertexId, random.below(VERTEX_BOUND) as VertexId];
        let updates = [Update::Delete(ends[0], ends[1]), Update::Delete(ends[1], ends[0])];
        graph.apply(&batch_of(&updates, options.weighted)).expect("deletions fit");
        model.apply(&updates);
    }
    check(&graph, &model, "after deletions");
    graph.close().expect("closed with a full log");
    graph = open(path, options);
    check(&graph, &model, "opened after a close");
    std::fs::remove_file(&filler).expect("removed");
    let updates = updates(&mut random);
    graph.apply(&batch_of(&updates, options.weighted)).expect("insertions fit again");
    model.apply(&updates);
    graph.flush_all().expect("what was spilled can be written now");
    for v in 0..5 {
        graph.delete_vertex(v).expect("deleted");
        model.delete_vertex(v);
    }
    check(&graph, &model, "after there was room again");
    graph.close().expect("closed");
    check(&open(path, options), &model, "opened again");
}

#[test]
fn a_full_medium_keeps_what_was_acknowledged() {
    fill_each([Layout::Adjacency, Layout::Pma].into_iter().flat_map(shapes), MEDIUM_MIB, |o| o);
}

/// Rows of all ids take another megabyte.
#[test]
fn a_full_medium_keeps_what_was_acknowledged_with_rows_there_too() {
    fill_each(shapes(Layout::Pma).into_iter(), MEDIUM_MIB + 1, ablated);
}

fn fill_each(
    shapes: impl Iterator<Item = GraphOptions>,
    medium_mib: u32,
    change: impl Fn(GraphOptions) -> GraphOptions,
) {
    let home = tempfile::tempdir().expect("a directory");
    let Some(_mounted) = SmallFileSystem::mount(home.path(), medium_mib) else {
        println!("not run: mounting a small tmpfs needs more rights");
        return;
    };
    let path = home.path().join("g");
    for (number, shape) in shapes.enumerate() {
        let medium = [MediumKind::File, MediumKind::Pmem { emulated: true }][number % 2];
        let options = change(GraphOptions {
            medium,
            log_bytes: 100_000,
            adjacency: AdjacencyOptions {
                archive_threshold: 1000,
                buffer_pool_bytes: 1 << 19,
                merging: Some(Merging::Always),
                ..AdjacencyOptions::default()
            },
            pma: PmaOptions { archive_threshold: 1000, ..PmaOptions::default() },
            ..shape
        });
        for kills in [false, true] {
            fill_and_empty(&path, &options, number as u64, kills);
            std::fs::remove_dir_all(&path).expect("removed");
        }
    }
}
