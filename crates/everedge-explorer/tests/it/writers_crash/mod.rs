//! Crashes while several threads write, with the options of a new graph: a thread of its own
//! archives, single edges are lines of the log, and a thread takes snapshots and compacts.
//!
//! Each writer has its own vertices and inserts and deletes edges from them, to its own vertices
//! and to those that nobody owns. So the edges of one writer do not depend on the others, and what
//! a crash leaves must hold, for each writer, the edges after some prefix of its operations that
//! has all acknowledged ones. The threads meet in another order in every run: a failure names its
//! seed and image, but only the operations are the same when the seed runs again.

mod commits;
mod history;
mod shape;

use everedge_medium::{Call, MediumKind, Plant, Site};
use everedge_pma::LogFirst;
use parking_lot::Mutex;
use std::collections::BTreeSet;

use self::shape::{Shape, failing_shapes, shapes};
use crate::adjacency_crash::PMEM;
use crate::explorer::{Failure, found, images_max};
use everedge::Layout;

/// Histories of one test at a time: its threads are to meet, not to wait for those of others.
static ALONE: Mutex<()> = Mutex::new(());

fn explore(medium: MediumKind, eadr: bool) {
    explore_all(&format!("writers {medium} eadr={eadr}"), shapes(medium, eadr));
}

fn explore_all(name: &str, shapes: Vec<Shape>) {
    let _alone = ALONE.lock();
    let mut images = 0;
    for shape in shapes {
        let explored = shape.explore(None, (images_max() / 150).max(1));
        images += explored.unwrap_or_else(|failure| panic!("{failure}"));
    }
    println!("{name}: images={images} violations=0");
}

#[test]
fn every_image_of_several_writers_recovers_on_pmem() {
    explore(PMEM, false);
}

#[test]
fn every_image_of_several_writers_recovers_with_eadr() {
    explore(PMEM, true);
}

#[test]
fn every_image_of_several_writers_recovers_on_a_file() {
    explore(MediumKind::File, false);
}

/// What processes leave that are killed at any store.
#[test]
fn every_kill_of_several_writers_recovers() {
    for medium in [PMEM, MediumKind::File] {
        let mut killed: Vec<Shape> = shapes(medium, false);
        killed.iter_mut().for_each(|shape| shape.kills = true);
        explore_all(&format!("writers {medium} killed"), killed);
    }
}

/// A call fails while several threads write: who was acknowledged stays so.
#[test]
fn several_writers_keep_their_word_when_a_call_fails() {
    for medium in [PMEM, MediumKind::File] {
        let mut failing = failing_shapes(medium);
        failing.iter_mut().for_each(|shape| shape.kills = shape.name().len() % 2 == 0);
        explore_all(&format!("writers {medium} failing"), failing);
    }
}

/// Returns the shapes in which single edges go into the arrays without the log.
fn direct_shapes(medium: MediumKind) -> Vec<Shape> {
    let mut direct = shapes(medium, false);
    direct.retain(|shape| shape.options.pma.log_first == LogFirst::No);
    direct
}

/// Else the others would not see what such edges do.
#[test]
fn single_edges_go_into_the_arrays_without_the_log() {
    for medium in [PMEM, MediumKind::File] {
        for shape in direct_shapes(medium) {
            let count: u64 = (0..4).map(|seed| shape.record(seed, None).stored_directly).sum();
            println!("{}: {count} entries", shape.name());
            assert!(count > 40, "{}: {count} entries", shape.name());
        }
    }
}

/// Single edges that go into the arrays, of several writers, without batches and with them.
#[test]
fn every_image_of_edges_without_the_log_recovers() {
    for kills in [false, true] {
        for medium in [PMEM, MediumKind::File] {
            let mut direct = direct_shapes(medium);
            for (number, shape) in direct.iter_mut().enumerate() {
                shape.kills = kills;
                shape.has_only_edges = number % 2 == 0;
            }
            explore_all(&format!("direct {medium} kills={kills}"), direct);
        }
    }
}

/// Returns the calls of histories of several writers.
pub(crate) fn calls(layout: Layout) -> BTreeSet<Call> {
    let _alone = ALONE.lock();
    let of_layout = |medium| {
        shapes(medium, false).into_iter().filter(move |shape| shape.options.layout == layout)
    };
    let shapes = of_layout(PMEM).chain(of_layout(MediumKind::File));
    shapes.flat_map(|shape| shape.record(0, None).recorder.calls().into_keys()).collect()
}

/// Looks for what a plant does to several writers.
pub(crate) fn hunt(layout: Layout, plant: Plant, images: u64) -> Option<Failure> {
    let _alone = ALONE.lock();
    let mut all = shapes(PMEM, false);
    all.extend(shapes(MediumKind::File, false));
    all.retain(|shape| shape.options.layout == layout);
    let mut failures = all.iter().filter_map(|shape| shape.explore(Some(plant), images).err());
    failures.find(Failure::is_violation)
}

/// So often a plant that was not found is looked for.
const PLANTED_RUNS: usize = 3;
/// The images of each shape until a defect is found.
const PLANTED_IMAGES: u64 = 1500;

#[track_caller]
fn assert_found(layout: Layout, medium: MediumKind, plant: Plant) {
    assert_found_in(shapes(medium, false), layout, plant);
}

#[track_caller]
fn assert_found_in(mut shapes: Vec<Shape>, layout: Layout, plant: Plant) {
    let _alone = ALONE.lock();
    shapes.retain(|shape| shape.options.layout == layout);
    let explore =
        || shapes.iter().try_for_each(|shape| shape.explore(Some(plant), PLANTED_IMAGES).map(drop));
    // Threads decide what comes between what: on a busy machine one run may show nothing.
    let outcome = (1..PLANTED_RUNS).fold(explore(), |outcome, _| outcome.and_then(|()| explore()));
    println!("{plant:?}: {:.220}", found(outcome, plant));
}

/// Each writer stores and fences a line of its own.
#[test]
fn single_edges_that_writers_do_not_make_durable_are_found() {
    for layout in Layout::ALL {
        for plant in [Plant::DropFlush(Site::LogRecord), Plant::DropFence(Site::LogRecord)] {
            let mut shapes = shapes(PMEM, false);
            shapes.iter_mut().for_each(|shape| shape.has_only_edges = true);
            assert_found_in(shapes, layout, plant);
        }
    }
}

/// An edge that is not logged is stored and fenced at both of its ends; headers count what rounds left
/// before it.
#[test]
fn edges_without_the_log_that_writers_do_not_make_durable_are_found() {
    for plant in [
        Plant::DropFlush(Site::DirectEdge),
        Plant::DropFence(Site::DirectEdge),
        Plant::DropFlush(Site::SectionHeader),
        Plant::DropFence(Site::SectionHeader),
        Plant::DropFence(Site::Word),
    ] {
        for medium in [PMEM, MediumKind::File] {
            assert_found_in(direct_shapes(medium), Layout::Pma, plant);
        }
    }
}

/// What the archiving thread flushes beside the writers.
#[test]
fn what_the_archiving_thread_does_not_make_durable_is_found() {
    for (layout, site) in [
        (Layout::Adjacency, Site::Block),
        (Layout::Adjacency, Site::Shard),
        (Layout::Pma, Site::Array),
        (Layout::Pma, Site::SectionHeader),
    ] {
        assert_found(layout, PMEM, Plant::DropFlush(site));
        assert_found(layout, PMEM, Plant::DropFence(site));
    }
}
