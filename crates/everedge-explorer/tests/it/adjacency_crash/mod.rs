//! Crashes of the adjacency layout and of the id map, by the explorer.

mod failing;
pub(crate) mod plants;
pub(crate) mod subject;

use self::subject::{Live, shapes};
use crate::explorer::{Exploration, Report, images_max};
use everedge_medium::{MediumKind, Plant};

pub(crate) const PMEM: MediumKind = MediumKind::Pmem { emulated: true };

pub(crate) fn exploration(
    live: &Live,
    plant: Option<Plant>,
    images_max: u64,
) -> Exploration<'_, Live> {
    let options = live.options();
    Exploration {
        name: live.name(),
        subject: live,
        kind: options.medium,
        eadr: options.eadr,
        plant,
        images_max,
        start: live.start.clone(),
        kills: live.is_killed,
    }
}

fn explore(kind: MediumKind, eadr: bool) {
    explore_all(
        &format!("adjacency {kind} eadr={eadr}"),
        shapes(kind, eadr),
        images_max() * 4 / 10,
    );
}

/// Explores so many images of each shape.
pub(crate) fn explore_all(name: &str, shapes: impl IntoIterator<Item = Live>, images_max: u64) {
    let mut total = Report::default();
    for live in shapes {
        let report = exploration(&live, None, images_max).check();
        total.histories += report.histories;
        total.images += report.images;
        total.recovery_images += report.recovery_images;
    }
    let Report { histories, images, recovery_images } = total;
    println!(
        "{name}: images={images} recovery_images={recovery_images} \
         histories={histories} violations=0"
    );
}

/// Two shards, which other threads flush: histories are not the same in every run.
#[test]
fn every_image_recovers_with_threads() {
    let naive = shapes(PMEM, false).into_iter().map(Live::naive);
    for mut live in shapes(PMEM, false).into_iter().chain(naive).step_by(5) {
        live.is_spread = true;
        let report = exploration(&live, None, images_max() / 20).check();
        println!("{}: {report:?} violations=0", live.name());
    }
}

/// What a process leaves that is killed at any store.
#[test]
fn every_kill_recovers() {
    for kind in [PMEM, MediumKind::File] {
        let mut killed = shapes(kind, false);
        killed.extend(shapes(kind, false).into_iter().map(Live::merging).step_by(3));
        killed.iter_mut().for_each(|live| live.is_killed = true);
        killed.iter_mut().step_by(2).for_each(|live| live.is_spread = true);
        explore_all(&format!("adjacency {kind} killed"), killed, images_max() / 20);
    }
}

#[test]
fn every_image_recovers_with_a_battery() {
    let mut kept: Vec<Live> = shapes(PMEM, true).into_iter().map(Live::with_battery).collect();
    kept.iter_mut().step_by(2).for_each(|live| live.is_spread = true);
    explore_all(&format!("adjacency {PMEM} battery"), kept, images_max() / 20);
}

/// Blocks in two files and more, each with its own fences; half of the graphs are killed.
#[test]
fn every_image_recovers_with_sub_graphs() {
    for kind in [PMEM, MediumKind::File] {
        let mut split: Vec<Live> = shapes(kind, false).into_iter().map(Live::split).collect();
        split.iter_mut().step_by(2).for_each(|live| live.is_killed = true);
        explore_all(&format!("adjacency {kind} sub-graphs"), split, images_max() / 40);
    }
}

#[test]
fn every_image_recovers_on_pmem() {
    explore(PMEM, false);
}

#[test]
fn every_image_recovers_the_naive_way() {
    for kind in [PMEM, MediumKind::File] {
        let naive = shapes(kind, false).into_iter().map(Live::naive);
        explore_all(&format!("adjacency {kind} naive"), naive, images_max() / 20);
    }
}

#[test]
fn every_image_recovers_while_lists_are_merged() {
    for kind in [PMEM, MediumKind::File] {
        let mut merging: Vec<Live> = shapes(kind, false).into_iter().map(Live::merging).collect();
        merging.iter_mut().step_by(3).for_each(|live| live.is_spread = true);
        explore_all(&format!("adjacency {kind} merging"), merging, images_max() / 20);
    }
}

#[test]
fn every_image_recovers_with_eadr() {
    explore(PMEM, true);
}

#[test]
fn every_image_recovers_on_a_file() {
    explore(MediumKind::File, false);
}
