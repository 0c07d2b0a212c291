//! A full medium: what was acknowledged can be read and deleted, also after a crash, and goes on
//! when there is room again.

#![expect(clippy::disallowed_methods, reason = "another program's file takes the room")]

use everedge::{GraphOptions, Layout};
use everedge_adjacency::{AdjacencyOptions, Merging};
use everedge_live::{Error, Result, Space};
use everedge_medium::{Access, MediumKind, Volume};
use everedge_pma::PmaOptions;
use std::path::Path;

use everedge_core::VertexId;

use crate::battery::{ablated, shapes};
use crate::explorer::is_at_length;
use crate::live::LiveGraph;
use crate::model::{Model, Random, Update, batch_of};
use crate::small_disk::{SmallFileSystem, give_back, leave};

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

/// Inserts until that is refused. Returns how many batches fit, and why the next one does not.
fn fill(graph: &LiveGraph, model: &mut Model, random: &mut Random) -> (u64, Error) {
    for fitted in 0.. {
        let updates = updates(random);
        match graph.apply(&batch_of(&updates, graph.options().weighted)) {
            Ok(()) => model.apply(&updates),
            Err(error) => return (fitted, error),
        }
    }
    unreachable!("a medium is full at some time")
}

/// Deletes more than the log holds.
fn delete(graph: &LiveGraph, model: &mut Model, random: &mut Random) -> Result<()> {
    for _ in 0..40 {
        let any = |random: &mut Random| random.below(5) as VertexId;
        let updates: Vec<Update> =
            (0..100).map(|_| Update::Delete(any(random), any(random))).collect();
        graph.apply(&batch_of(&updates, graph.options().weighted))?;
        model.apply(&updates);
    }
    Ok(())
}

/// Deletes a vertex: all at once or, where the log has no room for so many edges, those first, a few at a
/// time.
fn delete_vertex(graph: &LiveGraph, model: &mut Model, v: VertexId) {
    match graph.delete_vertex(v) {
        Err(Error::NoSpace { needed_bytes, available_bytes, .. }) => {
            assert!(needed_bytes > available_bytes, "{needed_bytes} of {available_bytes}");
            let [leaving, entering] = model.lists_in_order().remove(&v).unwrap_or_default();
            let leaving = leaving.iter().map(|&(to, _)| Update::Delete(v, to));
            let entering = entering.iter().map(|&(from, _)| Update::Delete(from, v));
            for updates in leaving.chain(entering).collect::<Vec<_>>().chunks(100) {
                let batch = batch_of(updates, graph.options().weighted);
                graph.apply(&batch).expect("a few deletions fit");
                model.apply(updates);
            }
            graph.delete_vertex(v).expect("nothing but a vertex is deleted");
        }
        deleted => drop(deleted.expect("deleted")),
    }
    model.delete_vertex(v);
}

fn fill_and_empty(path: &Path, options: &GraphOptions, seed: u64, kills: bool) {
    let mut random = Random(seed);
    let mut model = Model::new(options);
    let filler = path.with_extension("filler");
    std::fs::write(&filler, vec![1; FILLER_BYTES]).expect("room for something else");
    let volume = Volume::create(path, options.volume(false)).expect("a volume");
    let mut graph = LiveGraph::create(volume, options).expect("a graph");
    let (fitted, error) = fill(&graph, &mut model, &mut random);
    assert!(fitted > 2, "{fitted} batches fitted: {error}; {options:?}");
    assert!(matches!(error, Error::NoSpace { needed_bytes: 1.., .. }), "{error}");
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
    give_back(&filler);
    let updates = updates(&mut random);
    graph.apply(&batch_of(&updates, options.weighted)).expect("insertions fit again");
    model.apply(&updates);
    graph.save_all().expect("what was spilled can be written now");
    for v in 0..5 {
        delete_vertex(&graph, &mut model, v);
    }
    check(&graph, &model, "after there was room again");
    graph.close().expect("closed");
    check(&open(path, options), &model, "opened again");
}

#[test]
fn a_full_medium_keeps_what_adjacency_acknowledged() {
    fill_each(shapes(Layout::Adjacency).into_iter(), MEDIUM_MIB, |options| options);
}

#[test]
fn a_full_medium_keeps_what_pma_acknowledged() {
    fill_each(shapes(Layout::Pma).into_iter(), MEDIUM_MIB, |options| options);
}

#[test]
fn a_full_medium_keeps_what_blocks_acknowledged() {
    fill_each(shapes(Layout::Blocks).into_iter(), MEDIUM_MIB, |options| options);
}

/// A batch that the log has no room for leaves none of what was reserved for the shards that it names.
#[test]
fn refused_batches_leave_the_room_of_new_shards() {
    const SHARDS: u32 = 15;
    let home = tempfile::tempdir().expect("a directory");
    let Some(_mounted) = SmallFileSystem::mount(home.path(), 16) else {
        println!("not run: mounting a small tmpfs needs more rights");
        return;
    };
    let options = GraphOptions {
        layout: Layout::Pma,
        medium: MediumKind::File,
        log_bytes: 1 << 20,
        ..GraphOptions::default()
    };
    let path = home.path().join("g");
    let volume = Volume::create(&path, options.volume(false)).expect("a volume");
    let graph = LiveGraph::create(volume, &options).expect("a graph");
    graph.insert(&[(0, 1)], None).expect("room for an edge");
    for call in 0..8 {
        let new = |i: u32| (1 + call * SHARDS + i % SHARDS) * 4096;
        let edges: Vec<_> = (0..1 << 20).map(|i| (0, new(i))).collect();
        let outcome = graph.insert(&edges, None);
        assert!(matches!(outcome, Err(Error::NoSpace { .. })), "{outcome:?}");
        let few: Vec<_> = (0..100).map(|i| (0, i)).collect();
        graph.insert(&few, None).unwrap_or_else(|error| panic!("after {call} calls: {error}"));
    }
    assert_eq!(graph.snapshot().expect("a snapshot").edge_count(), 801);
}

/// A file that grows by what each block needs, when a step ahead does not fit, tries as many steps.
#[test]
fn a_nearly_full_medium_is_used_up_in_few_steps() {
    let home = tempfile::tempdir().expect("a directory");
    let Some(_mounted) = SmallFileSystem::mount(home.path(), 8 * MEDIUM_MIB) else {
        println!("not run: mounting a small tmpfs needs more rights");
        return;
    };
    let options = GraphOptions::default().volume(false);
    let volume = Volume::create(&home.path().join("g"), options).expect("a volume");
    let region = volume.create_region("units", 0).expect("a region");
    let space = Space::new(region, 0, Vec::new());
    let mut lengths = Vec::new();
    let error = loop {
        match space.take_units(1, 1) {
            Ok(_) => lengths.push(space.region().len()),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::NoSpace { .. }), "{error}");
    assert!(space.used_bytes() > u64::from(8 * MEDIUM_MIB - 1) << 20, "{}", space.used_bytes());
    lengths.dedup();
    assert!(lengths.len() < 80, "{} steps", lengths.len());
}

/// Flushing that fails leaves buffers as they are, which are all that there is of some edges.
#[test]
fn a_full_medium_keeps_what_is_in_buffers_only() {
    let home = tempfile::tempdir().expect("a directory");
    let Some(_mounted) = SmallFileSystem::mount(home.path(), 8 * MEDIUM_MIB) else {
        println!("not run: mounting a small tmpfs needs more rights");
        return;
    };
    let (path, filler) = (home.path().join("g"), home.path().join("filler"));
    for (number, shape) in shapes(Layout::Adjacency).into_iter().enumerate() {
        let options = GraphOptions {
            medium: MediumKind::Pmem { emulated: true },
            eadr: true,
            log_bytes: 30_000,
            adjacency: AdjacencyOptions {
                battery: true,
                archive_threshold: 1000,
                merging: Some(Merging::Never),
                ..AdjacencyOptions::default()
            },
            ..shape
        };
        let (mut random, mut model) = (Random(number as u64), Model::new(&options));
        let volume = Volume::create(&path, options.volume(false)).expect("a volume");
        let mut graph = LiveGraph::create(volume, &options).expect("a graph");
        for round in 0..4 {
            for _ in 0..10 {
                let updates = updates(&mut random);
                graph.apply(&batch_of(&updates, options.weighted)).expect("there is room");
                model.apply(&updates);
            }
            leave(&filler, 0);
            let mut errors: Vec<Error> = (0..3).filter_map(|_| graph.flush_all().err()).collect();
            if round % 2 == 0 {
                errors.push(fill(&graph, &mut model, &mut random).1);
                errors.extend(delete(&graph, &mut model, &mut random).err());
            }
            for error in errors {
                // The first that finds no place for lists in memory ends all writing.
                let is_clear = matches!(error, Error::NoSpace { .. } | Error::Poisoned { .. });
                assert!(is_clear && error.to_string().contains("no space"), "{error}");
            }
            give_back(&filler);
            let is_flushed = graph.flush_all().is_ok();
            drop(graph);
            if is_flushed {
                // Blocks alone say it all now.
                for name in ["index", "tables", "buffers"] {
                    let _removed = std::fs::remove_file(path.join(name));
                }
            }
            graph = open(&path, &options);
            assert!(graph.verify().expect("a verification").problems.is_empty());
            let picture = graph.snapshot().expect("a snapshot").picture(&options);
            picture.assert_equals(&model.picture(), format!("{options:?}"));
        }
        graph.close().expect("closed");
        give_back(&path);
    }
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
        // A short run ends each shape in one of the two ways.
        let is_tried = |kills: &bool| is_at_length() || *kills == (number % 4 > 1);
        for kills in [false, true].into_iter().filter(is_tried) {
            fill_and_empty(&path, &options, number as u64, kills);
            give_back(&path);
        }
    }
}
