//! Crashes of the `pma` layout, by the explorer.

use everedge_medium::{ImageRule, Mark, MediumKind, Plant, Site, Volume};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

use crate::adjacency_crash::plants::kill_all;
use crate::adjacency_crash::subject::{Live, Store, shapes};
use crate::adjacency_crash::{PMEM, exploration, explore_all};
use crate::explorer::{History, Subject, found, images_max};
use crate::live::LiveGraph;
use everedge::Layout;

/// The images of each shape until a defect is found.
const IMAGES_MAX: u64 = 1500;

fn pma_shapes(kind: MediumKind, eadr: bool) -> Vec<Live> {
    shapes(kind, eadr).into_iter().map(Live::pma).collect()
}

fn ablated_shapes(kind: MediumKind, eadr: bool) -> Vec<Live> {
    shapes(kind, eadr).into_iter().map(Live::ablated).collect()
}

fn direct_shapes(kind: MediumKind, eadr: bool) -> Vec<Live> {
    shapes(kind, eadr).into_iter().map(Live::direct).collect()
}

fn explore(kind: MediumKind, eadr: bool) {
    let name = format!("pma {kind} eadr={eadr}");
    explore_all(&name, pma_shapes(kind, eadr), images_max() * 4 / 10);
}

#[test]
fn every_image_recovers_on_pmem() {
    explore(PMEM, false);
}

#[test]
fn every_image_recovers_with_eadr() {
    explore(PMEM, true);
}

#[test]
fn every_image_recovers_on_a_file() {
    explore(MediumKind::File, false);
}

/// Two shards, which other threads change: histories are not the same in every run.
#[test]
fn every_image_recovers_with_threads() {
    let mut spread = pma_shapes(PMEM, false);
    spread.iter_mut().for_each(|live| live.is_spread = true);
    explore_all("pma with threads", spread.into_iter().step_by(3), images_max() / 10);
}

/// Each list that moves is a step by itself, and rows are overwritten on the medium.
#[test]
fn every_image_recovers_with_transactions_and_rows_on_the_medium() {
    for (kind, eadr) in [(PMEM, false), (PMEM, true), (MediumKind::File, false)] {
        let name = format!("pma {kind} eadr={eadr} ablated");
        explore_all(&name, ablated_shapes(kind, eadr), images_max() / 10);
    }
}

/// Single edges go into the arrays without the log.
#[test]
fn every_image_of_edges_without_the_log_recovers() {
    for (kind, eadr) in [(PMEM, false), (PMEM, true), (MediumKind::File, false)] {
        let name = format!("pma {kind} eadr={eadr} direct");
        explore_all(&name, direct_shapes(kind, eadr), images_max() / 10);
    }
    let mut spread = direct_shapes(PMEM, false);
    spread.iter_mut().for_each(|live| live.is_spread = true);
    explore_all("pma direct with threads", spread, images_max() / 20);
}

/// A crash between the two stores of an edge, or that leaves one of them: the next edge has another
/// number, after which nobody could tell such an end from damage.
#[test]
fn the_only_end_of_an_edge_is_taken_away() {
    let direct = direct_shapes(PMEM, false);
    // Directed with both lists; undirected, with both ends in one section, and in two.
    for (live, edge) in [(&direct[0], (0, 9)), (&direct[8], (0, 1)), (&direct[8], (0, 9))] {
        let options = live.options();
        let (volume, recorder) = Volume::recorded(options.medium, options.eadr);
        let graph = LiveGraph::create(volume, options).expect("a graph");
        let edges: Vec<_> = (0..96).map(|i| (i % 16, i * 7 % 16)).collect();
        graph.insert(&edges, None).expect("a batch");
        graph.flush_all().expect("headers that count all of it");
        recorder.mark(Mark::Begin(1));
        graph.insert_edge(edge, None).expect("an edge");
        assert_eq!(graph.stored_directly(), 2);
        recorder.mark(Mark::Acknowledged(1));
        let mut counts = BTreeSet::new();
        recorder.images(ImageRule { point_images_max: 64, seed: 0 }, |image| {
            if image.begun() == 1 {
                counts.insert(edges_after_another(&Volume::from_image(image).expect("memory").0));
            }
            ControlFlow::Continue(())
        });
        assert_eq!(counts, BTreeSet::from([97, 98]), "with the edge and without it");
    }
}

/// Opens what a crash has left, inserts an edge between other sections and opens it again. Returns how
/// many edges there are.
fn edges_after_another(volume: &Volume) -> u64 {
    let open = || LiveGraph::open(volume.clone(), Layout::Pma).expect("a graph");
    let graph = open();
    graph.insert_edge((4, 13), None).expect("another edge");
    assert_eq!(graph.stored_directly(), 2);
    drop(graph);
    let graph = open();
    let problems = graph.verify().expect("a verification").problems;
    assert!(problems.is_empty(), "{problems:?}");
    graph.snapshot().expect("a view").edge_count()
}

/// Else the explorer would not see that recovery cuts a job into the steps that it was begun with.
#[test]
fn transactions_are_interrupted_and_completed() {
    let mut completed = 0;
    for live in ablated_shapes(PMEM, false) {
        let options = live.options();
        let (volume, recorder) = Volume::recorded(options.medium, options.eadr);
        let mut history = History::new(recorder.clone());
        live.run(0, &volume, &mut history).expect("a history");
        recorder.images(ImageRule { point_images_max: 2, seed: 0 }, |image| {
            if image.acknowledged() > 0 {
                let (volume, _recorder) = Volume::from_image(image).expect("memory");
                let store = Store::open(&volume, options.layout).expect("a graph");
                completed += store.graph.recovery().completed_rebalances;
            }
            ControlFlow::Continue(())
        });
    }
    println!("completed={completed}");
    assert!(completed > 100, "{completed} transactions were completed");
}

#[test]
fn a_power_loss_after_a_kill() {
    for kind in [PMEM, MediumKind::File] {
        let all = pma_shapes(kind, false).into_iter();
        let ablated = ablated_shapes(kind, false).into_iter().step_by(4);
        let direct = direct_shapes(kind, false).into_iter().step_by(2);
        let images = kill_all(all.chain(ablated).chain(direct).collect(), None, 80);
        let images = images.unwrap_or_else(|failure| panic!("{failure}"));
        println!("pma killed {kind}: images={images} violations=0");
    }
}

#[test]
fn what_a_killed_process_left_unfenced_is_found() {
    for plant in [Plant::DropFlush(Site::ArraysFound), Plant::DropFence(Site::ArraysFound)] {
        let outcome = kill_all(pma_shapes(PMEM, false), Some(plant), 1);
        println!("{plant:?}: {:.150}", found(outcome, plant));
    }
}

#[track_caller]
fn assert_found(kind: MediumKind, plant: Plant) {
    let outcome = pma_shapes(kind, false)
        .iter()
        .try_for_each(|live| exploration(live, Some(plant), IMAGES_MAX).explore().map(drop));
    println!("{plant:?} on {kind}: {:.160}", found(outcome, plant));
}

/// What DGAP's released code does wrong, as far as it can be done wrong here.
#[test]
fn the_defects_of_the_released_code_are_found() {
    let defects = [
        // Pointers to the undo logs are flushed, not the logs.
        Plant::DropFlush(Site::Undo),
        // Undo logs are not read back.
        Plant::FailChecksum(Site::Undo),
        // What a rebalance leaves where lists were still counts: nothing is cleared here, headers
        // say what counts.
        Plant::DropFlush(Site::SectionHeader),
        // The flag of a backup stays although the rebalance is over.
        Plant::DropFlush(Site::UndoEnd),
    ];
    for plant in defects {
        assert_found(PMEM, plant);
    }
}
