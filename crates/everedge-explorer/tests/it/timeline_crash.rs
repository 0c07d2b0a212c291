//! Crashes of a timeline: versions that are added and let go, the file that grows, and calls that fail.

use std::collections::BTreeSet;

use everedge_core::{Edge, GraphView, SplitMix64, VertexId};
use everedge_medium::{MediumKind, Plant, Result, Site, Volume};
use everedge_timeline::{Changes, Timeline, TimelineOptions};

use crate::explorer::{Exploration, History, Start, Subject, found, images_max};

const PMEM: MediumKind = MediumKind::Pmem { emulated: true };
const SALT: u32 = 11;
const VERSION_COUNT: u64 = 10;
const ID_COUNT: u64 = 6;
const MADE: &str = "made";
const EIO: i32 = 5;
const ENOSPC: i32 = 28;

/// A timeline whose versions are the state.
struct TimelineSubject {
    directed: bool,
}

/// The number, the edges and the vertices of each version, in order.
type State = Vec<(u64, Vec<Edge>, BTreeSet<VertexId>)>;

/// What a version changes: edges, and whether they are deleted.
type Drawn = Vec<(Edge, bool)>;

impl TimelineSubject {
    fn options(&self) -> TimelineOptions {
        let directed = self.directed;
        TimelineOptions { directed, weighted: false, in_neighbors: true, simple: true }
    }

    fn open(&self, volume: &Volume) -> Result<Option<Timeline>> {
        if !volume.contains(MADE)? {
            return Ok(None);
        }
        Timeline::open(volume, SALT, self.options()).map(Some)
    }

    /// Draws what a version changes; now and then so much that the file grows.
    fn draw(seed: u64, number: u64) -> Drawn {
        let mut random = SplitMix64::new(seed << 32 | number);
        let count = [3, 0, 8, 400][random.below(4) as usize];
        let mut edge = || (random.below(ID_COUNT) as u32, random.below(ID_COUNT) as u32);
        let edges: Vec<Edge> = (0..count).map(|_| edge()).collect();
        edges
            .into_iter()
            .map(|edge| (edge, (edge.0 + edge.1 + number as u32).is_multiple_of(3)))
            .collect()
    }

    fn after(&self, mut state: State, drawn: &Drawn) -> State {
        let (number, mut edges, mut vertices) = state.last().cloned().unwrap_or_default();
        for &((src, dst), is_deletion) in drawn {
            let edge = if self.directed { (src, dst) } else { (src.min(dst), src.max(dst)) };
            edges.retain(|&other| other != edge);
            if !is_deletion {
                edges.push(edge);
                vertices.extend([src, dst]);
            }
        }
        edges.sort_unstable();
        state.push((number + 1, edges, vertices));
        state
    }

    fn commit(timeline: &Timeline, drawn: &Drawn) -> Result<()> {
        let mut changes = Changes::new();
        for &((src, dst), is_deletion) in drawn {
            match is_deletion {
                true => changes.delete(src, dst)?,
                false => changes.insert(src, dst, None)?,
            }
        }
        let time = timeline.versions().last().map_or(0, |last| last.time + 1);
        timeline.commit(changes, time, Some("a version")).map(drop)
    }
}

impl Subject for TimelineSubject {
    type State = State;
    type Store = Timeline;

    fn run(&self, seed: u64, volume: &Volume, history: &mut History<State>) -> Result<()> {
        let mut state = State::new();
        history.begin(state.clone());
        let mut timeline = Timeline::create(volume, SALT, self.options())?;
        volume.publish(MADE, b"made")?;
        history.acknowledge();
        for number in 0..VERSION_COUNT {
            if (seed + number) % 4 == 3 {
                timeline = self.open(volume)?.expect("it was made");
            }
            if (seed + number) % 3 == 2 && !state.is_empty() {
                state.drain(..state.len() / 2);
                history.begin(state.clone());
                timeline.rebase(state[0].0)?;
                history.acknowledge();
            }
            let drawn = Self::draw(seed, number);
            state = self.after(state, &drawn);
            history.begin(state.clone());
            Self::commit(&timeline, &drawn)?;
            history.acknowledge();
        }
        Ok(())
    }

    fn recover(&self, volume: &Volume) -> Result<Option<Timeline>> {
        self.open(volume)
    }

    fn state(&self, timeline: &Timeline) -> State {
        let of = |number| {
            let view = timeline.at(number).expect("it is whole");
            let mut edges = Vec::new();
            view.for_each_edge(|src, dst| edges.push((src, dst)));
            edges.retain(|&(src, dst)| self.directed || src <= dst);
            edges.sort_unstable();
            let vertices = (0..view.vertex_bound()).filter(|&v| view.is_vertex(v)).collect();
            assert_eq!(edges.len() as u64, view.edge_count());
            (number, edges, vertices)
        };
        timeline.versions().iter().map(|version| of(version.number)).collect()
    }

    fn apply(&self, seed: u64, timeline: &mut Timeline, mut state: State) -> Result<State> {
        for number in 100..102 {
            let drawn = Self::draw(seed, number);
            Self::commit(timeline, &drawn)?;
            state = self.after(state, &drawn);
            let last = state.len() - 1;
            timeline.rebase(state[last].0)?;
            state.drain(..last);
        }
        Ok(state)
    }
}

const SUBJECTS: [TimelineSubject; 2] =
    [TimelineSubject { directed: true }, TimelineSubject { directed: false }];

fn exploration(
    subject: &TimelineSubject,
    (kind, eadr): (MediumKind, bool),
    plant: Option<Plant>,
) -> Exploration<'_, TimelineSubject> {
    Exploration {
        name: format!("timeline-{kind}-eadr-{eadr}-directed-{}", subject.directed),
        subject,
        kind,
        eadr,
        plant,
        images_max: images_max(),
        start: Start::New,
        kills: false,
    }
}

#[test]
fn every_image_recovers() {
    for subject in &SUBJECTS {
        for medium in [(PMEM, false), (PMEM, true), (MediumKind::File, false)] {
            for kills in [false, true] {
                let exploration = Exploration { kills, ..exploration(subject, medium, None) };
                println!("timeline {medium:?} kills={kills}: {:?}", exploration.check());
            }
        }
    }
}

#[test]
fn every_planted_defect_is_found() {
    for kind in [PMEM, MediumKind::File] {
        for site in [Site::VersionsHead, Site::Version, Site::VersionsEnd] {
            for plant in [Plant::DropFlush(site), Plant::DropFence(site)] {
                let exploration = exploration(&SUBJECTS[0], (kind, false), Some(plant));
                println!("{:.160}", found(exploration.explore(), (plant, kind)));
            }
        }
    }
}

/// A call fails, the timeline is opened again and goes on, then the power goes.
#[test]
fn histories_go_on_after_every_failing_call() {
    for kind in [PMEM, MediumKind::File] {
        for errno in [EIO, ENOSPC] {
            for seed in 0..3 {
                let exploration = exploration(&SUBJECTS[0], (kind, false), None);
                let report = exploration.go_on_after_failing_calls(seed, errno);
                let report = report.unwrap_or_else(|failure| panic!("{failure}"));
                println!("timeline {kind}, error {errno}: {report:?}");
            }
        }
    }
}

/// What a failed sync lost is read from the cache, and flushing does not write it.
#[test]
fn opening_that_only_flushes_what_it_believes_is_found() {
    let plants = [Plant::DropRewrite(Site::VersionsFound), Plant::DropFence(Site::VersionsFound)];
    for plant in plants {
        let outcome = (0..3).try_for_each(|seed| {
            let exploration = exploration(&SUBJECTS[0], (MediumKind::File, false), Some(plant));
            exploration.go_on_after_failing_calls(seed, EIO).map(drop)
        });
        println!("{:.200}", found(outcome, plant));
    }
}

/// A timeline of three versions on a recorded medium.
fn three_versions() -> (Volume, everedge_medium::Recorder, Timeline) {
    let (volume, recorder) = Volume::recorded(MediumKind::File, false);
    let options = TimelineSubject { directed: true }.options();
    let timeline = Timeline::create(&volume, SALT, options).expect("room");
    for version in 0..3 {
        let mut changes = Changes::new();
        changes.insert(version, version + 1, None).expect("ids");
        timeline.commit(changes, version.into(), None).expect("room");
    }
    (volume, recorder, timeline)
}

#[test]
fn a_call_that_fails_once_leaves_no_file_of_versions_behind() {
    for errno in [ENOSPC, EIO] {
        for call in 0.. {
            let (volume, recorder, timeline) = three_versions();
            recorder.fail_nth(call, errno, false);
            let moved = timeline.rebase(2);
            let has_failed = recorder.has_failed();
            recorder.fail_nth(u64::MAX, errno, false);
            let first = timeline.versions()[0].number;
            assert_eq!(first == 2, moved.is_ok(), "call {call}: {moved:?}, from {first} on");
            if !has_failed {
                break;
            }
            if volume.check_health().is_err() {
                continue;
            }
            if moved.is_err() {
                assert!(!volume.contains("versions.1").expect("a directory"), "call {call}");
            }
            timeline.rebase(3).expect("room");
            timeline.rebase(3).expect("nothing to do");
            assert_eq!(timeline.versions()[0].number, 3);
            for number in 0..2 {
                let name = format!("versions.{number}");
                let is_there = volume.contains(&name).expect("a directory");
                let counts = moved.is_err() && number == 1;
                assert_eq!(is_there, counts, "call {call} with {errno}: {name}");
            }
        }
    }
}
