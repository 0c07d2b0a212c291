//! Where calls are planted: histories that run them.

use everedge_medium::{Call, CallKind, ImageRule, MediumKind, Recorder, Site, Volume};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::ControlFlow;

use crate::adjacency_crash::PMEM;
use crate::adjacency_crash::subject::{Live, Store, shapes};
use crate::explorer::{History, Start, Subject};
use crate::writers_crash;
use everedge::Layout;

const EIO: i32 = 5;
/// Histories of each ground.
const SEEDS: u64 = 2;
/// The calls that fail to see what a failed sync leaves: every so many.
const FAILING_STEP: u64 = 7;
const FAILING_FIRST: u64 = 30;
const FAILING_COUNT: u64 = 40;
/// The most crashes of a graph that histories go on from.
const STARTS_MAX: usize = 20;
/// The most images that these are chosen from.
const IMAGES_MAX: u64 = 1200;

/// A graph that has histories.
pub(super) struct Ground {
    pub(super) live: Live,
}

/// All of one layout.
pub(super) struct Grounds {
    pub(super) all: Vec<Ground>,
    /// The histories that a call comes in: number of the ground and seed.
    pub(super) calls: BTreeMap<Call, Vec<(usize, u64)>>,
    /// The calls of several writers.
    pub(super) of_writers: BTreeSet<Call>,
    pub(super) layout: Layout,
}

impl Grounds {
    pub(super) fn new(layout: Layout) -> Self {
        let lives = [PMEM, MediumKind::File].into_iter().flat_map(|kind| lives(layout, kind));
        let all: Vec<Ground> = lives.map(|live| Ground { live }).collect();
        let mut calls: BTreeMap<Call, Vec<(usize, u64)>> = BTreeMap::new();
        for seed in 0..SEEDS {
            for (number, ground) in all.iter().enumerate() {
                for call in ground.calls(seed) {
                    calls.entry(call).or_default().push((number, seed));
                }
            }
        }
        Self { all, calls, of_writers: writers_crash::calls(layout), layout }
    }

    /// Returns histories with the call, those that cost least first.
    pub(super) fn with(&self, call: Call) -> Vec<(usize, u64)> {
        let Some(histories) = self.calls.get(&call) else { return Vec::new() };
        let mut histories = histories.clone();
        let scattered = |number: usize| (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let is_wide = |number: usize| self.all[number].live.is_wide();
        // What recoveries do is seen best right after one.
        let is_of_recovery = is_of_recovery(&call) && call.kind() != CallKind::Check;
        let is_later =
            |number: usize| is_of_recovery && matches!(self.all[number].live.start, Start::New);
        histories.sort_by_key(|&(number, seed)| {
            (is_later(number), is_wide(number), seed, scattered(number))
        });
        histories
    }
}

/// Whether only recoveries make the call.
pub(super) fn is_of_recovery(call: &Call) -> bool {
    matches!(call.kind(), CallKind::Rewrite | CallKind::Check)
        || matches!(
            call.site(),
            Some(Site::LogFound | Site::NamesFound | Site::ArraysFound | Site::ShardWipe)
        )
}

impl Ground {
    /// Returns the calls of a history.
    fn calls(&self, seed: u64) -> Vec<Call> {
        let (_volume, recorder) = run(&self.live, seed, &Recorder::count_calls);
        recorder.calls().into_keys().collect()
    }
}

fn lives(layout: Layout, kind: MediumKind) -> Vec<Live> {
    let own = |live: Live| match layout {
        Layout::Adjacency => live,
        Layout::Pma => live.pma(),
        Layout::Blocks => live.blocks(),
    };
    let base = |step: usize| shapes(kind, false).into_iter().step_by(step);
    let mut lives: Vec<Live> = base(1).map(own).collect();
    lives.extend(base(2).map(own).map(|mut live| {
        live.is_spread = true;
        live
    }));
    lives.extend(base(6).map(own).map(Live::wide));
    match layout {
        Layout::Adjacency => {
            lives.extend(base(3).map(Live::naive));
            lives.extend(base(3).map(Live::merging));
            lives.extend(base(3).map(Live::split));
        }
        Layout::Pma => {
            lives.extend(base(2).map(Live::ablated));
            lives.extend(base(1).map(Live::direct));
        }
        Layout::Blocks => {}
    }
    let crashed = lives.iter().filter(|live| !live.is_wide()).step_by(5).flat_map(crashed);
    let crashed: Vec<Live> = crashed.collect();
    lives.extend(crashed);
    lives
}

/// Returns graphs that go on with what crashes of this one leave.
fn crashed(live: &Live) -> Vec<Live> {
    let (_volume, history) = run(live, 0, &|_| {});
    let rule = ImageRule { point_images_max: 3, seed: 0 };
    // Crashes are told apart by the calls of their recovery and by what they leave unfenced.
    let (mut seen, mut number, mut starts) = (HashSet::new(), 0_u64, Vec::new());
    history.images(rule, |image| {
        number += 1;
        if image.acknowledged() > 1 {
            // The second choice of a point is that all stores persist, as caches hold them.
            let start = match image.choice() {
                1 => Start::Kill(image.clone()),
                _ => Start::PowerLoss(image.clone()),
            };
            let is_kill = matches!(start, Start::Kill(_));
            let pages = if is_kill { image.unfenced_pages() } else { BTreeSet::new() };
            let is_new = |calls: Calls| seen.insert((calls, pages));
            if (is_kill || number.is_multiple_of(4))
                && calls_of_opening(live, &start).is_some_and(is_new)
            {
                starts.push(start);
            }
        }
        match number < IMAGES_MAX {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    });
    let step = starts.len().div_ceil(STARTS_MAX).max(1);
    let starts = starts.into_iter().step_by(step).chain(failed(live));
    starts.map(|start| live.after(start)).collect()
}

/// What an opening calls: once, or more often.
type Calls = Vec<(Call, bool)>;

fn volume_of(live: &Live, start: &Start) -> (Volume, Recorder) {
    let options = live.options();
    match start {
        Start::New => Volume::recorded(options.medium, options.eadr),
        Start::PowerLoss(image) => Volume::from_image(image).expect("memory"),
        Start::Kill(image) => Volume::from_killed(image).expect("memory"),
    }
}

/// Runs a history, also one that fails, and returns what was recorded.
fn run(live: &Live, seed: u64, prepare: &dyn Fn(&Recorder)) -> (Volume, Recorder) {
    let (volume, recorder) = volume_of(live, &live.start);
    prepare(&recorder);
    let mut history = History::new(recorder.clone());
    let _ended = live.run(seed, &volume, &mut history);
    (volume, recorder)
}

fn calls_of_opening(live: &Live, start: &Start) -> Option<Calls> {
    let (volume, recorder) = volume_of(live, start);
    recorder.count_calls();
    Store::open(&volume, live.options().layout).ok()?;
    // Once, or more often: what is done in a loop may go wrong in the second round only.
    Some(recorder.calls().into_iter().map(|(call, count)| (call, count > 1)).collect())
}

/// Returns what processes leave that are killed after a sync has failed: what it lost is in the
/// kernel's cache, and clean. For each combination of files that it lost something of.
fn failed(live: &Live) -> Vec<Start> {
    let (mut starts, mut seen) = (Vec::new(), HashSet::new());
    if live.options().medium != MediumKind::File {
        return starts;
    }
    for n in (0..FAILING_COUNT).map(|number| FAILING_FIRST + FAILING_STEP * number) {
        let (_volume, recorder) = run(live, 0, &|recorder| recorder.fail_nth(n, EIO, false));
        if !recorder.has_failed() {
            break;
        }
        let image = recorder.image_of_kill();
        if image.acknowledged() > 1 && seen.insert(image.lost_files()) {
            starts.push(Start::Kill(image));
        }
    }
    starts
}
