//! Crashes of commits beside several writers, with retention: a version shows the graph at one moment of its
//! commit, for good once the commit has returned, and no crash takes an edge from the graph that a version has.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use everedge::{Commit, Graph, GraphOptions, Keep};
use everedge_core::par::with_threads;
use everedge_live::{Durability, GraphHead};
use everedge_medium::{Image, Manifest, MediumKind, Plant, Recorder, Site, Volume};
use everedge_timeline::{Timeline, TimelineOptions};
use parking_lot::Mutex;

use super::ALONE;
use super::history::{
    Counts, Operation, Progress, Recorded, Script, WRITERS_MAX, all_vertices, counts_of,
};
use super::shape::{Shape, failing_shapes, shapes};
use crate::adjacency_crash::PMEM;
use crate::explorer::{
    Checked, Failure, Violation, found, images_max, is_at_length, refused, text,
};
use crate::model::{Picture, Random, batch_of};

const WRITERS: usize = WRITERS_MAX - 1;
/// In a mark, commits are counted as the operations of the last writer are elsewhere.
const COMMITTER: usize = WRITERS;
/// Between two steps of the thread that commits come so many operations.
const STEP: usize = 4;
/// A kind of graph has one of so many images.
const SHARE: u64 = 100;
/// A short run takes one of so many kinds of graph.
const SHORT_STEP: usize = 5;

/// What is known of a commit that was begun.
#[derive(Clone, Copy)]
struct Begun {
    /// The operations that had returned before.
    returned: Counts,
    /// Those that had begun when it returned; none if it did not.
    begun: Option<Counts>,
    /// The first version that it keeps.
    first: u64,
}

/// A graph that several threads write, and of which one makes versions.
struct Committed<'a>(&'a Shape);

impl Committed<'_> {
    fn options(&self) -> &GraphOptions {
        &self.0.options
    }

    /// Runs a history, with two threads for loops whatever the machine has.
    fn record(&self, seed: u64, plant: Option<Plant>) -> (Recorded, Vec<Begun>) {
        let (volume, recorder) = Volume::recorded(self.options().medium, self.options().eadr);
        let scripts: Vec<_> = (0..WRITERS).map(|w| Script::operations(seed, w)).collect();
        let commits = with_threads(2, || {
            let graph = Graph::create_in(volume, self.options()).expect("a graph");
            let vertices = batch_of(&all_vertices(), self.options().weighted);
            graph.apply(&vertices).and_then(|()| graph.sync()).expect("vertices");
            // What creates the graph is for other tests to break.
            plant.into_iter().for_each(|plant| recorder.plant(plant));
            recorder.count_calls();
            if let Some((errno, forever)) = self.0.failure {
                recorder.fail_nth(Random(seed).below(160), errno, forever);
            }
            self.write(seed, &graph, &recorder, &scripts)
        });
        let commits = commits.expect("two threads");
        (Recorded { recorder, scripts, stored_directly: 0, pictures: HashMap::new() }, commits)
    }

    fn write(
        &self,
        seed: u64,
        graph: &Graph,
        recorder: &Recorder,
        scripts: &[Vec<Operation>],
    ) -> Vec<Begun> {
        let progress = Progress::new(recorder, self.options().durability);
        let commits = Mutex::new(Vec::new());
        let run = |operation: &Operation| {
            let outcome = self.run(operation, graph);
            outcome.inspect_err(|error| self.expect_failure(error, recorder))
        };
        progress.of_all(scripts, run, || {
            if let Err(error) = self.commit(seed, (graph, &progress), &commits) {
                self.expect_failure(&error, recorder);
            }
        });
        commits.into_inner()
    }

    fn run(&self, operation: &Operation, graph: &Graph) -> everedge::Result<()> {
        match operation {
            Operation::InsertEdge(u, v, weight) => {
                let weights = &[*weight][..];
                graph.insert(&[(*u, *v)], self.options().weighted.then_some(weights))
            }
            Operation::Apply(updates) => graph.apply(&batch_of(updates, self.options().weighted)),
            Operation::Delete(edges) => graph.delete(edges).map(drop),
        }
    }

    /// Commits, lets versions go and compacts until the writers have ended.
    fn commit(
        &self,
        seed: u64,
        (graph, progress): (&Graph, &Progress<'_>),
        commits: &Mutex<Vec<Begun>>,
    ) -> everedge::Result<()> {
        let (mut random, mut seen, mut first) = (Random(!seed), 0, 1);
        loop {
            let (returned, ended) = progress.so_far();
            if ended < WRITERS && returned < seen + STEP {
                thread::yield_now();
                continue;
            }
            seen = returned;
            if random.below(5) == 0 {
                graph.compact()?;
            }
            let number = commits.lock().len() as u64 + 1;
            let keep = (random.below(3) == 0).then(|| 1 + random.below(3));
            first = keep.map_or(first, |count| first.max((number + 1).saturating_sub(count)));
            let before = progress.marks()[1];
            commits.lock().push(Begun { returned: counts_of(before), begun: None, first });
            progress.begin(COMMITTER);
            graph.commit(Commit { keep: keep.map(Keep::Versions), ..Commit::default() })?;
            let begun = counts_of(progress.marks()[0]);
            commits.lock().last_mut().expect("it was pushed").begun = Some(begun);
            // What a version has is safe.
            progress.is_safe(before);
            progress.end_safely(COMMITTER);
            if ended == WRITERS {
                return Ok(());
            }
        }
    }

    /// Panics unless the error is the one that was to come.
    fn expect_failure(&self, error: &everedge::Error, recorder: &Recorder) {
        assert!(recorder.has_failed(), "{}: {error}", self.0.name());
    }

    /// Checks so many images of histories of ascending seeds. Returns how many were distinct.
    fn explore(&self, plant: Option<Plant>, images_max: u64) -> Checked<u64> {
        let mut images = 0;
        for seed in 0.. {
            if images >= images_max {
                break;
            }
            let (mut history, commits) = self.record(seed, plant);
            let recorder = history.recorder.clone();
            let wanted = (images_max - images).min(150);
            let mut check =
                |image: &Image, _| self.check_image(image, plant, (&mut history, &commits));
            let found = self.0.check_images(&recorder, (seed, plant), wanted, &mut check)?;
            images += found.max(1);
        }
        Ok(images)
    }

    fn check_image(
        &self,
        image: &Image,
        plant: Option<Plant>,
        (history, commits): (&mut Recorded, &[Begun]),
    ) -> Checked<()> {
        let checked = AssertUnwindSafe(|| {
            let (volume, recorder) = self.0.volume_of(image);
            plant.into_iter().for_each(|plant| recorder.plant(plant));
            let graph = self.0.open(&volume, "recovery")?;
            let picture = self.0.picture(&graph)?;
            drop(graph);
            let between = [image.acknowledged(), image.begun()].map(counts_of);
            let wrong = |what| Failure::new(Violation::Wrong, what);
            let [_, most] = history.fitting(self.options(), between, &picture).map_err(wrong)?;
            let versions = self.versions(&volume)?;
            Self::check_numbers(&versions, commits, between).map_err(wrong)?;
            for (number, version) in &versions {
                let Begun { returned, begun, .. } = commits[*number as usize - 1];
                let between = [returned, begun.unwrap_or(between[1])];
                let fitting = history.fitting(self.options(), between, version);
                let [fewest, _] =
                    fitting.map_err(|what| wrong(format!("version {number}: {what}")))?;
                if (0..WRITERS).any(|writer| fewest[writer] > most[writer]) {
                    let what = format!("version {number} has {fewest:?}, the graph {most:?}");
                    return Err(wrong(what));
                }
            }
            self.check_usable(&volume, &picture, versions.last().map_or(0, |last| last.0))
        });
        catch_unwind(checked).unwrap_or_else(|panic| {
            Err(Failure::new(Violation::Unsound, format!("panic: {}", text(&*panic))))
        })
    }

    /// Returns whether a crash may leave versions of these numbers.
    fn check_numbers(
        versions: &[(u64, Picture)],
        commits: &[Begun],
        [safe, begun]: [Counts; 2],
    ) -> Result<(), String> {
        let first_after = |count: usize| commits[..count].last().map_or(1, |commit| commit.first);
        let [safe, begun] = [safe[COMMITTER], begun[COMMITTER]];
        let count = versions.last().map_or(0, |last| last.0 as usize);
        let first = versions.first().map_or(1, |first| first.0);
        let is_kept = first == first_after(count) && (safe..=begun).contains(&count)
            // A commit adds its version before it lets others go.
            || count > safe && first == first_after(count - 1) && count <= begun;
        let is_whole = versions.iter().map(|version| version.0).eq(first..=count as u64);
        match is_kept && is_whole {
            true => Ok(()),
            false => {
                let numbers: Vec<u64> = versions.iter().map(|version| version.0).collect();
                Err(format!("versions {numbers:?} after {safe} of {begun} commits"))
            }
        }
    }

    /// Returns what each version shows.
    fn versions(&self, volume: &Volume) -> Checked<Vec<(u64, Picture)>> {
        let open = || {
            if !volume.contains(everedge_timeline::VERSIONS)? {
                return Ok(Vec::new());
            }
            let salt = Manifest::<GraphHead>::read(volume)?.salt();
            let GraphOptions { directed, weighted, in_neighbors, simple, .. } = *self.options();
            let options = TimelineOptions { directed, weighted, in_neighbors, simple };
            let timeline = Timeline::open(volume, salt, options)?;
            let numbers = timeline.versions().into_iter().map(|version| version.number);
            let of = |number| Ok((number, Picture::of(&timeline.at(number)?, self.options())));
            numbers.map(of).collect::<everedge_medium::Result<_>>()
        };
        open().map_err(|error| refused("versions", &error))
    }

    /// Commits what was recovered, and expects it when it is opened again.
    fn check_usable(&self, volume: &Volume, found: &Picture, count: u64) -> Checked<()> {
        let commit = || {
            let graph = Graph::open_in(volume.clone())?;
            graph.commit("once more")?;
            let problems = graph.verify()?.problems;
            assert!(problems.is_empty(), "verify finds {problems:?}");
            Ok(())
        };
        commit().map_err(|error: everedge::Error| {
            Failure::new(Violation::Unusable, format!("a commit after recovery: {error}"))
        })?;
        let versions = self.versions(volume)?;
        let last = versions.last().expect("it was committed");
        assert_eq!(last.0, count + 1);
        match last.1.difference(found) {
            None => Ok(()),
            Some(difference) => Err(Failure::new(Violation::Wrong, difference)),
        }
    }
}

/// Explores every kind of graph, in a short run some of them: others in each test.
fn explore_all(name: &str, shapes: Vec<Shape>) {
    let _alone = ALONE.lock();
    let (first, step) = if is_at_length() { (0, 1) } else { (name.len() % SHORT_STEP, SHORT_STEP) };
    let mut images = 0;
    for shape in shapes.into_iter().skip(first).step_by(step) {
        let explored = Committed(&shape).explore(None, (images_max() / SHARE).max(1));
        images += explored.unwrap_or_else(|failure| panic!("{}: {failure}", shape.name()));
    }
    println!("commits {name}: images={images} violations=0");
}

#[test]
fn every_image_of_commits_beside_writers_recovers() {
    for (medium, eadr) in [(PMEM, false), (PMEM, true), (MediumKind::File, false)] {
        explore_all(&format!("{medium} eadr={eadr}"), shapes(medium, eadr));
    }
}

#[test]
fn every_kill_of_commits_beside_writers_recovers() {
    for medium in [PMEM, MediumKind::File] {
        let mut killed = shapes(medium, false);
        killed.iter_mut().for_each(|shape| shape.kills = true);
        explore_all(&format!("{medium} killed"), killed);
    }
}

/// A call fails while several threads write and one commits: what was acknowledged stays so.
#[test]
fn commits_keep_their_word_when_a_call_fails() {
    for medium in [PMEM, MediumKind::File] {
        explore_all(&format!("{medium} failing"), failing_shapes(medium));
    }
}

/// A version that counts before its bytes are there, and one with edges that the graph may lose.
#[test]
fn planted_defects_of_commits_are_found() {
    let _alone = ALONE.lock();
    let mut shapes = shapes(PMEM, false);
    shapes.retain(|shape| shape.options.durability == Durability::None);
    for site in [Site::Version, Site::VersionsEnd, Site::LogRecord] {
        let plant = Plant::DropFence(site);
        let outcome = shapes
            .iter()
            .try_for_each(|shape| Committed(shape).explore(Some(plant), 300).map(drop));
        println!("{:.200}", found(outcome, plant));
    }
}
