//! Crashes of the `blocks` layout, by the explorer.

use everedge_medium::{MediumKind, Plant, Site};

use crate::adjacency_crash::plants::kill_all;
use crate::adjacency_crash::subject::{Live, shapes};
use crate::adjacency_crash::{PMEM, exploration, explore_all};
use crate::explorer::{found, images_max};

const IMAGES_MAX: u64 = 1500;

fn blocks_shapes(kind: MediumKind, eadr: bool) -> Vec<Live> {
    shapes(kind, eadr).into_iter().map(Live::blocks).collect()
}

fn explore(kind: MediumKind, eadr: bool) {
    let name = format!("blocks {kind} eadr={eadr}");
    explore_all(&name, blocks_shapes(kind, eadr), images_max() * 4 / 10);
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
    let mut spread = blocks_shapes(PMEM, false);
    spread.iter_mut().for_each(|live| live.is_spread = true);
    explore_all("blocks with threads", spread.into_iter().step_by(3), images_max() / 10);
}

#[test]
fn a_power_loss_after_a_kill() {
    for kind in [PMEM, MediumKind::File] {
        let images = kill_all(blocks_shapes(kind, false), None, 80);
        let images = images.unwrap_or_else(|failure| panic!("{failure}"));
        println!("blocks killed {kind}: images={images} violations=0");
    }
}

/// A block that does not persist before the image that names it; a block that is believed unseen.
#[test]
fn what_blocks_rely_on_is_found_missing() {
    for plant in [
        Plant::DropFlush(Site::Block),
        Plant::DropFence(Site::Block),
        Plant::FailChecksum(Site::Block),
        Plant::DropFlush(Site::Shard),
    ] {
        let outcome = blocks_shapes(PMEM, false)
            .iter()
            .try_for_each(|live| exploration(live, Some(plant), IMAGES_MAX).explore().map(drop));
        println!("{plant:?}: {:.160}", found(outcome, plant));
    }
}
