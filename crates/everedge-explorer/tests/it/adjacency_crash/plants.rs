//! Graphs that go on after a crash and crash again, and fences of one sub-graph only.

use everedge_medium::{Image, ImageRule, MediumKind, Plant, Site, Volume};
use std::collections::HashSet;
use std::ops::ControlFlow;

use super::subject::{Live, shapes};
use super::{PMEM, exploration};
use crate::explorer::{Checked, History, Start, Subject, found, is_at_length};

/// The images of each shape until a defect is found.
const IMAGES_MAX: u64 = 1500;

/// The fences of one file of blocks are not those of the other.
#[test]
fn dropped_fences_of_one_sub_graph_are_found() {
    const FILES: [u32; 2] = [1, 2];
    for (site, kind) in [(Site::Block, PMEM), (Site::Block, MediumKind::File)] {
        for file in FILES {
            let plant = Plant::DropFenceOf(site, file);
            let mut split = shapes(kind, false).into_iter().map(Live::split);
            let outcome = split.try_for_each(|live| {
                exploration(&live, Some(plant), IMAGES_MAX).explore().map(drop)
            });
            println!("{plant:?} on {kind}: {:.90}", found(outcome, plant));
        }
    }
}

/// Returns what power losses leave.
fn lost_images(live: &Live, images_max: usize) -> Vec<Image> {
    let options = live.options();
    let (mut images, mut seen) = (Vec::new(), HashSet::new());
    for seed in 0..4 {
        let (volume, recorder) = Volume::recorded(options.medium, options.eadr);
        let mut history = History::new(recorder.clone());
        live.run(seed, &volume, &mut history).expect("a history");
        recorder.images(ImageRule { point_images_max: 8, seed }, |image| {
            let is_new = image.acknowledged() > 2 && seen.insert(image.digest());
            if is_new && image.digest() % 16 == 0 {
                images.push(image.clone());
            }
            match images.len() < images_max {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        });
    }
    images
}

/// Crashes histories, goes on from there and crashes again.
fn crash_twice(kind: MediumKind, plant: Option<Plant>, starts_max: usize) -> Checked<u64> {
    let images_max = if plant.is_some() || is_at_length() { 200 } else { 60 };
    let mut images = 0;
    for live in shapes(kind, false) {
        for start in lost_images(&live, starts_max) {
            let twice = live.after(Start::PowerLoss(start));
            images += exploration(&twice, plant, images_max).explore()?.images;
        }
    }
    Ok(images)
}

#[test]
fn a_second_crash_after_a_power_loss() {
    let starts_max = if is_at_length() { 8 } else { 3 };
    for kind in [PMEM, MediumKind::File] {
        let images =
            crash_twice(kind, None, starts_max).unwrap_or_else(|failure| panic!("{failure}"));
        println!("adjacency twice {kind}: images={images} violations=0");
    }
}

/// Returns what processes that are killed before a fence leave.
fn killed_images(live: &Live, step: usize) -> Vec<Image> {
    let options = live.options();
    let (volume, recorder) = Volume::recorded(options.medium, options.eadr);
    let mut history = History::new(recorder.clone());
    live.run(0, &volume, &mut history).expect("a history");
    let (mut images, mut count) = (Vec::new(), 0);
    recorder.images(ImageRule { point_images_max: 2, seed: 0 }, |image| {
        // The second choice of a point is that all stores persist, as caches hold them.
        if image.acknowledged() > 0 && image.choice() == 1 {
            count += 1;
            if count % step == 0 {
                images.push(image.clone());
            }
        }
        ControlFlow::Continue(())
    });
    images
}

/// Kills processes, goes on with what their caches held, and cuts the power.
fn kill(kind: MediumKind, plant: Option<Plant>, step: usize) -> Checked<u64> {
    kill_all(shapes(kind, false), plant, step)
}

/// The same with some graphs.
pub(crate) fn kill_all(shapes: Vec<Live>, plant: Option<Plant>, step: usize) -> Checked<u64> {
    let mut images = 0;
    for live in shapes {
        for start in killed_images(&live, step) {
            images += exploration(&live.after(Start::Kill(start)), plant, 60).explore()?.images;
        }
    }
    Ok(images)
}

#[test]
fn a_power_loss_after_a_kill() {
    for kind in [PMEM, MediumKind::File] {
        let images = kill(kind, None, 20).unwrap_or_else(|failure| panic!("{failure}"));
        println!("adjacency killed {kind}: images={images} violations=0");
    }
}

/// Opening makes durable what it finds: without that, another crash takes it away.
#[test]
fn what_a_killed_process_left_unfenced_is_found() {
    for site in [Site::LogFound, Site::NamesFound] {
        for plant in [Plant::DropFlush(site), Plant::DropFence(site)] {
            println!("{plant:?}: {:.150}", found(kill(PMEM, Some(plant), 4), plant));
        }
    }
}
