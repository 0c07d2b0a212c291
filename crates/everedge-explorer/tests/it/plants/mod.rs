//! Every call of the medium is planted on its own: the code that runs without this one flush, fence,
//! drain, wipe, check or sync, or with a fence that comes too late, must be caught.
//!
//! Histories are run first and tell which calls there are ([`grounds`]); so nobody writes the list
//! by hand, and a call that somebody adds is planted in the next run. A defect counts as found by a
//! violation that it leads to, never by a call that fails in another way. Checks are also tried on
//! damaged files ([`damage`]). Calls whose loss nothing can show are listed in [`harmless`], each
//! with its reason; a call of that list that is found, or is gone, fails the test too.
//!
//! `EVEREDGE_EXPLORE_IMAGES` scales the images of each plant, `EVEREDGE_EXPLORE_PLANT` names a part
//! of what a plant is called, to try these alone.

mod damage;
mod grounds;
mod harmless;

use everedge_medium::{Call, CallKind, Plant};
use std::collections::BTreeMap;
use std::time::Instant;

use self::damage::Damages;
use self::grounds::{Ground, Grounds};
use self::harmless::{HARMLESS, Harmless};
use crate::adjacency_crash::exploration;
use crate::explorer::{Failure, Violation, images_max};
use crate::writers_crash;
use everedge::Layout;

/// The efforts that are made one after the other until a plant is found: histories, and images of
/// each.
const EFFORTS: [(usize, u64); 3] = [(6, 16), (24, 24), (60, 24)];
/// For each time that the environment asks for so many images, the efforts are made once.
const EFFORT_IMAGES: u64 = 10_000;
/// What recovery calls is looked for in so many times as many images.
const RECOVERY_SHARE: u64 = 2;
/// The most images of one crash point.
const POINT_IMAGES_MAX: u64 = 32;

/// Returns what may be wrong with a call.
fn plants_of(call: Call) -> Vec<Plant> {
    match call.kind() {
        CallKind::Fence | CallKind::Publish => vec![Plant::Drop(call), Plant::Delay(call)],
        _ => vec![Plant::Drop(call)],
    }
}

/// What was planted, and what was found.
#[derive(Default)]
struct Tally {
    planted: usize,
    found: BTreeMap<String, usize>,
    harmless: usize,
    /// What is not as it is listed.
    wrong: Vec<String>,
}

impl Tally {
    fn note(&mut self, plant: Plant, found: Option<&str>, listed: Option<&Harmless>) {
        self.planted += 1;
        match (found, listed) {
            (Some(how), None) => *self.found.entry(how.into()).or_default() += 1,
            (Some(how), Some(entry)) if entry.is_rare() => {
                *self.found.entry(how.into()).or_default() += 1;
            }
            (None, Some(_)) => self.harmless += 1,
            (Some(how), Some(entry)) => {
                let reason = entry.text();
                self.wrong.push(format!("found, though listed: {plant}: {how}, not {reason}"));
            }
            (None, None) => self.wrong.push(format!("not found: {plant}: {}", source_line(plant))),
        }
    }
}

/// Returns the call that a plant is of.
fn call_of(plant: Plant) -> Call {
    match plant {
        Plant::Drop(call) | Plant::Delay(call) => call,
        _ => unreachable!("only calls are planted here"),
    }
}

/// Returns the function and the line of the source in which a plant's call stands.
fn source_line(plant: Plant) -> String {
    let call = call_of(plant);
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join(call.file())).expect("a source file");
    let lines: Vec<&str> = text.lines().take(call.line() as usize).collect();
    let name_of = |line: &&str| {
        let (_, after) = line.split_once("fn ")?;
        after.split(['(', '<']).next().map(str::to_owned)
    };
    let name = lines.iter().rev().find_map(name_of).unwrap_or_default();
    format!("{name}: {}", lines.last().expect("a line").trim())
}

/// Returns how many times the images of an effort are looked at: once, or as the environment says.
fn effort() -> u64 {
    (images_max() / EFFORT_IMAGES).max(1)
}

/// Tries a plant with growing effort.
fn hunt(grounds: &Grounds, plant: Plant, efforts: &[(usize, u64)]) -> Option<Failure> {
    let call = call_of(plant);
    let candidates = grounds.with(call);
    let mut tried = 0;
    for &(histories, images) in efforts {
        // Nothing tells where in a history the loss of a check, or of a recovery's call, matters.
        let share = if grounds::is_of_recovery(&call) { RECOVERY_SHARE } else { 1 };
        let mut images = share * images * effort();
        let last = histories.min(candidates.len());
        if tried == last {
            // Where there are few histories, more is looked at in each.
            (tried, images) = (0, 8 * images);
        }
        for &(ground, seed) in &candidates[tried..last] {
            let Ground { live } = &grounds.all[ground];
            let found = exploration(live, Some(plant), images).hunt(seed, POINT_IMAGES_MAX);
            if found.is_some() {
                return found;
            }
        }
        tried = last;
    }
    None
}

/// Returns how a plant is found.
fn find(
    grounds: &Grounds,
    damages: &Damages,
    plant: Plant,
    listed: Option<&Harmless>,
) -> Option<(Violation, String)> {
    let is_check = call_of(plant).kind() == CallKind::Check;
    let damaged = is_check.then(|| damages.find(plant)).flatten();
    let found = damaged.or_else(|| {
        // What is listed is looked for with less effort: that it is not found is no news.
        let efforts = if listed.is_some() { &EFFORTS[..1] } else { &EFFORTS[..] };
        hunt(grounds, plant, efforts).or_else(|| {
            let images = if listed.is_some() { 20 } else { 150 } * effort();
            let call = call_of(plant);
            let is_met = grounds.of_writers.contains(&call)
                && matches!(call.kind(), CallKind::Flush | CallKind::Fence | CallKind::Drain);
            is_met.then(|| writers_crash::hunt(grounds.layout, plant, images.max(1))).flatten()
        })
    });
    let found = found?;
    Some((found.violation.expect("a violation"), found.to_string()))
}

fn plant_every_call(layout: Layout) {
    let start = Instant::now();
    let (grounds, damages) = (Grounds::new(layout), Damages::new(layout));
    println!("{layout}: grounds={} made in {:.1?}", grounds.all.len(), start.elapsed());
    let mut tally = Tally::default();
    let wanted = std::env::var("EVEREDGE_EXPLORE_PLANT").unwrap_or_default();
    let of_writers = grounds.of_writers.iter().copied();
    let calls = grounds.calls.keys().copied().chain(of_writers).chain(damages.calls());
    let mut plants: Vec<Plant> = calls.flat_map(plants_of).collect();
    plants.sort_unstable();
    plants.dedup();
    plants.retain(|plant| plant.to_string().contains(&wanted));
    let mut used = vec![false; HARMLESS.len()];
    for &plant in &plants {
        let line = source_line(plant);
        let listed = HARMLESS.iter().position(|entry| entry.is_of(layout, plant, &line));
        listed.into_iter().for_each(|entry| used[entry] = true);
        let start = Instant::now();
        let found = find(&grounds, &damages, plant, listed.map(|entry| &HARMLESS[entry]));
        let took = start.elapsed();
        let how = found.as_ref().map(|(violation, _)| format!("{violation:?}"));
        let what = found.as_ref().map_or("not found", |(_, what)| what);
        println!("{layout} {plant}, {took:.1?}: {what:.140}");
        tally.note(plant, how.as_deref(), listed.map(|entry| &HARMLESS[entry]));
    }
    if wanted.is_empty() {
        let unused = HARMLESS
            .iter()
            .zip(used)
            .filter(|(entry, is_used)| entry.is_of_layout(layout) && !is_used && !entry.is_rare());
        let gone = unused.map(|(entry, _)| format!("listed as harmless, and gone: {entry:?}"));
        tally.wrong.extend(gone);
    }
    let Tally { planted, found, harmless, wrong } = tally;
    println!("{layout}: calls planted={planted} found={found:?} harmless={harmless}");
    assert!(wrong.is_empty(), "{layout}:\n{}", wrong.join("\n"));
}

#[test]
fn every_call_of_adjacency_is_needed() {
    plant_every_call(Layout::Adjacency);
}

#[test]
fn every_call_of_pma_is_needed() {
    plant_every_call(Layout::Pma);
}

#[test]
fn every_call_of_blocks_is_needed() {
    plant_every_call(Layout::Blocks);
}
