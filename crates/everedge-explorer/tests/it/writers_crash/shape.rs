//! Graphs that several threads write, and what is checked of them.

use everedge_adjacency::AdjacencyOptions;
use everedge_blocks::BlocksOptions;
use everedge_core::par::{thread_count, with_threads};
use everedge_live::{Durability, Error, Result};
use everedge_medium::{Image, ImageRule, MediumKind, Plant, Recorder, Volume};
use everedge_pma::{LogFirst, PmaOptions};
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;
use std::time::Duration;

use super::history::{
    CREATED, Operation, Progress, Recorded, Script, VERTEX_COUNT, all_vertices, counts_of, place,
};
use crate::explorer::{Checked, Failure, Violation, refused, text};
use crate::live::LiveGraph;
use crate::model::{Model, Picture, Random, batch_of};
use everedge::{GraphOptions, Layout};

/// Between two steps of maintenance come so many operations.
const MAINTENANCE_STEP: usize = 5;
/// The most images of one crash point.
const POINT_IMAGES_MAX: u64 = 16;
/// The images of one history that are checked, spread over all of it.
const HISTORY_IMAGES: u64 = 150;
/// Recovery is crashed for one image of so many, and so many images of it are checked.
const RECOVERY_SHARE: u64 = 16;
const RECOVERY_IMAGES: u64 = 40;

/// A thread that was started has its name within so many milliseconds, also on a busy machine.
const NAMED_WITHIN_MS: u32 = 10_000;

/// A graph that several threads write.
#[derive(Clone)]
pub(super) struct Shape {
    pub(super) options: GraphOptions,
    number: u64,
    /// Whether writers insert single edges and nothing else.
    pub(super) has_only_edges: bool,
    /// Whether processes are killed, and not the power lost.
    pub(super) kills: bool,
    /// The error of a call on the way, and whether it stays.
    pub(super) failure: Option<(i32, bool)>,
}

/// Every layout, durability and direction on a medium, and arrays into which single edges go without
/// the log; half of them have weights, a third keeps one edge of a pair.
pub(super) fn shapes(medium: MediumKind, eadr: bool) -> Vec<Shape> {
    let mut shapes = Vec::new();
    for layout in Layout::ALL {
        for durability in [Durability::Batch, Durability::Edge, Durability::None] {
            for directed in [true, false] {
                let number = shapes.len() as u64;
                let options = GraphOptions {
                    layout,
                    medium,
                    eadr,
                    directed,
                    durability,
                    weighted: directed == (durability == Durability::Batch),
                    simple: !directed && durability != Durability::Batch,
                    in_neighbors: number != 6,
                    log_bytes: 2048,
                    adjacency: AdjacencyOptions {
                        archive_threshold: 10,
                        buffer_pool_bytes: [1200, 1 << 20][number as usize % 2],
                        ..AdjacencyOptions::default()
                    },
                    pma: PmaOptions {
                        archive_threshold: 10,
                        section_vertices: 2,
                        edge_log_bytes: 64,
                        undo_log_bytes: 64,
                        ..PmaOptions::default()
                    },
                    blocks: BlocksOptions {
                        archive_threshold: 10,
                        block_bytes: 64,
                        shared_max: 2,
                        ..BlocksOptions::default()
                    },
                    ..GraphOptions::default()
                };
                let (has_only_edges, kills, failure) = (false, false, None);
                shapes.push(Shape { options, number, has_only_edges, kills, failure });
            }
        }
    }
    let is_base = |shape: &&Shape| {
        shape.options.layout == Layout::Pma && shape.options.durability != Durability::None
    };
    let base: Vec<Shape> = shapes.iter().filter(is_base).cloned().collect();
    shapes.extend((shapes.len() as u64..).zip(base).map(|(number, shape)| shape.direct(number)));
    shapes
}

/// The same, with a call that fails, once or from then on.
pub(super) fn failing_shapes(medium: MediumKind) -> Vec<Shape> {
    const EIO: i32 = 5;
    const ENOSPC: i32 = 28;
    let failures = [(EIO, false), (ENOSPC, false), (EIO, true), (ENOSPC, true)];
    let mut failing = shapes(medium, false);
    for (shape, failure) in failing.iter_mut().zip(failures.into_iter().cycle()) {
        shape.failure = Some(failure);
    }
    failing
}

/// Returns the threads of this process that archive; other tests have such threads too.
fn archiving_threads() -> HashSet<u64> {
    let tasks = std::fs::read_dir("/proc/self/task").expect("threads").flatten();
    let archiving = tasks.filter(|task| {
        // A thread that has ended meanwhile has no name.
        let name = std::fs::read_to_string(task.path().join("comm")).unwrap_or_default();
        name.starts_with("everedge archiv")
    });
    archiving.filter_map(|task| task.file_name().to_str()?.parse().ok()).collect()
}

/// Takes snapshots, compacts and empties the log until the writers have ended.
fn maintain(seed: u64, graph: &LiveGraph, progress: &Progress<'_>, writers: usize) -> Result<()> {
    let (mut random, mut seen, mut views) = (Random(!seed), 0, Vec::new());
    loop {
        let (returned, ended) = progress.so_far();
        if ended == writers {
            return Ok(());
        }
        if returned < seen + MAINTENANCE_STEP {
            thread::yield_now();
            continue;
        }
        seen = returned;
        match random.below(9) {
            0 => graph.compact()?,
            1 => graph.compact_vertex(place(random.below(VERTEX_COUNT)))?,
            2 => graph.flush_all()?,
            3 => progress.sync(graph)?,
            4 => views.clear(),
            5 => graph.put_in_order(),
            _ => {
                let view = graph.snapshot()?;
                // It asserts that all ways to read a view show the same.
                view.picture(&graph.options());
                views.push(view);
            }
        }
    }
}

impl Shape {
    pub(super) fn name(&self) -> String {
        let GraphOptions { layout, medium, eadr, durability, .. } = &self.options;
        let eadr = if *eadr { "-eadr" } else { "" };
        let kills = if self.kills { "-kills" } else { "" };
        let failure = self.failure.map_or(String::new(), |failure| format!("-failing{failure:?}"));
        format!("writers-{layout}-{medium}{eadr}-{durability}{kills}{failure}-{}", self.number)
    }

    /// Returns one of the same kind in which single edges go into the arrays without the log.
    fn direct(mut self, number: u64) -> Shape {
        self.number = number;
        // Room in edge logs for some of them.
        self.options.pma = PmaOptions {
            log_first: LogFirst::No,
            section_vertices: 4,
            edge_log_bytes: 200,
            ..self.options.pma
        };
        self
    }

    /// Runs a history, with two threads for loops whatever the machine has.
    pub(super) fn record(&self, seed: u64, plant: Option<Plant>) -> Recorded {
        let (volume, recorder) = Volume::recorded(self.options.medium, self.options.eadr);
        let writers = 2 + (seed % 2) as usize;
        let mut scripts: Vec<_> = (0..writers).map(|w| Script::operations(seed, w)).collect();
        if self.has_only_edges {
            let is_edge = |operation: &Operation| matches!(operation, Operation::InsertEdge(..));
            scripts.iter_mut().for_each(|script| script.retain(is_edge));
        }
        let stored_directly = with_threads(2, || {
            assert_eq!(thread_count(), 2, "threads for loops");
            let others = archiving_threads();
            let graph = self.create(volume);
            // What creates the graph is for other tests to break.
            plant.into_iter().for_each(|plant| recorder.plant(plant));
            recorder.count_calls();
            if let Some((errno, forever)) = self.failure {
                recorder.fail_nth(Random(seed).below(120), errno, forever);
            }
            self.write(seed, &graph, &recorder, &scripts);
            // Writers of edges that are not logged archive by themselves what waits in the log.
            let is_needed = self.options.pma.log_first == LogFirst::Yes;
            let has_started = || {
                thread::sleep(Duration::from_millis(1));
                archiving_threads().difference(&others).next().is_some()
            };
            // A thread gives itself its name when it first runs, which may be later.
            assert!(
                !is_needed || (0..NAMED_WITHIN_MS).any(|_| has_started()),
                "{}: the archiving thread was not started",
                self.name()
            );
            graph.stored_directly()
        })
        .expect("two threads");
        Recorded { recorder, scripts, stored_directly, pictures: HashMap::new() }
    }

    fn create(&self, volume: Volume) -> LiveGraph {
        let graph = LiveGraph::create(volume, &self.options).expect("a graph");
        graph.apply(&batch_of(&all_vertices(), self.options.weighted)).expect("vertices");
        graph.sync().expect("vertices are durable");
        graph
    }

    fn write(&self, seed: u64, graph: &LiveGraph, recorder: &Recorder, scripts: &[Vec<Operation>]) {
        let weighted = self.options.weighted;
        let progress = Progress::new(recorder, self.options.durability);
        let run = |operation: &Operation| {
            let outcome = operation.run(graph, weighted);
            outcome.inspect_err(|error| self.expect_failure(error, recorder))
        };
        progress.of_all(scripts, run, || {
            if let Err(error) = maintain(seed, graph, &progress, scripts.len()) {
                self.expect_failure(&error, recorder);
            }
        });
    }

    /// Panics unless the error is the one that was to come.
    fn expect_failure(&self, error: &Error, recorder: &Recorder) {
        let is_expected =
            matches!(error, Error::Io { .. } | Error::NoSpace { .. } | Error::Poisoned { .. });
        assert!(recorder.has_failed() && is_expected, "{}: {error}", self.name());
    }

    /// Checks so many images of histories of ascending seeds. Returns how many were distinct.
    pub(super) fn explore(&self, plant: Option<Plant>, images_max: u64) -> Checked<u64> {
        let mut images = 0;
        for seed in 0.. {
            if images >= images_max {
                break;
            }
            let wanted = HISTORY_IMAGES.min(images_max - images);
            let found = self.explore_seed(seed, plant, wanted)?;
            if found == 0 && plant.is_none() {
                return Err(format!("{}: a history gave no image", self.name()).into());
            }
            // A plant may change nothing in a history.
            images += found.max(1);
        }
        Ok(images)
    }

    fn explore_seed(&self, seed: u64, plant: Option<Plant>, images_max: u64) -> Checked<u64> {
        let mut history = self.record(seed, plant);
        let recorder = history.recorder.clone();
        self.check_images(&recorder, (seed, plant), images_max, &mut |image, number| {
            let crash_recovery = plant.is_none() && number % RECOVERY_SHARE == 0;
            self.check_image(image, (plant, crash_recovery), &mut history)
        })
    }

    /// Calls `check` with so many distinct images, spread over all of a history, and their numbers from 1 on.
    /// Returns how many there were.
    pub(super) fn check_images(
        &self,
        recorder: &Recorder,
        (seed, plant): (u64, Option<Plant>),
        images_max: u64,
        check: &mut dyn FnMut(&Image, u64) -> Checked<()>,
    ) -> Checked<u64> {
        let rule = ImageRule { point_images_max: POINT_IMAGES_MAX, seed };
        let mut seen = HashSet::new();
        self.images(recorder, rule, &mut |image| {
            if image.acknowledged() & CREATED != 0 {
                seen.insert(image.digest());
            }
            ControlFlow::Continue(())
        });
        let (step, mut number, mut images) =
            ((seen.len() as u64).div_ceil(images_max).max(1), 0, 0);
        let mut failure = None;
        self.images(recorder, rule, &mut |image| {
            if !seen.remove(&image.digest()) {
                return ControlFlow::Continue(());
            }
            number += 1;
            if number % step != seed % step {
                return ControlFlow::Continue(());
            }
            images += 1;
            match check(image, images) {
                Ok(()) => ControlFlow::Continue(()),
                Err(found) => {
                    failure = Some(found.map(|what| self.describe(seed, plant, image, what)));
                    ControlFlow::Break(())
                }
            }
        });
        failure.map_or(Ok(images), Err)
    }

    /// Calls `visit` with what crashes leave.
    fn images(
        &self,
        recorder: &Recorder,
        rule: ImageRule,
        visit: &mut dyn FnMut(&Image) -> ControlFlow<()>,
    ) {
        match self.kills {
            true => recorder.images_of_kills(visit),
            false => recorder.images(rule, visit),
        }
    }

    pub(super) fn volume_of(&self, image: &Image) -> (Volume, Recorder) {
        match self.kills {
            true => Volume::from_killed(image).expect("memory"),
            false => Volume::from_image(image).expect("memory"),
        }
    }

    fn describe(&self, seed: u64, plant: Option<Plant>, image: &Image, what: &str) -> String {
        let [safe, begun] = [image.acknowledged(), image.begun()].map(counts_of);
        format!(
            "{} seed {seed} point {} choice {} (plant {plant:?}, operations {safe:?} safe, \
             {begun:?} begun): {what}",
            self.name(),
            image.point(),
            image.choice()
        )
    }

    fn check_image(
        &self,
        image: &Image,
        (plant, crash_recovery): (Option<Plant>, bool),
        history: &mut Recorded,
    ) -> Checked<()> {
        let checked = AssertUnwindSafe(|| {
            let (volume, recorder) = self.volume_of(image);
            plant.into_iter().for_each(|plant| recorder.plant(plant));
            let graph = self.open(&volume, "recovery")?;
            let found = self.picture(&graph)?;
            drop(graph);
            let allowed = history.allows(&self.options, image, &found);
            allowed.map_err(|what| Failure::new(Violation::Wrong, what))?;
            if crash_recovery {
                self.crash_recovery(&recorder, image.digest(), &found)?;
            }
            self.check_usable(&volume, image.digest(), &found)
        });
        catch_unwind(checked).unwrap_or_else(|panic| {
            Err(Failure::new(Violation::Unsound, format!("panic: {}", text(&*panic))))
        })
    }

    /// Crashes the recovery that `recorder` saw: another one must find the same.
    fn crash_recovery(&self, recorder: &Recorder, seed: u64, found: &Picture) -> Checked<()> {
        let rule = ImageRule { point_images_max: POINT_IMAGES_MAX, seed };
        let (mut count, mut outcome) = (0, Ok(()));
        self.images(recorder, rule, &mut |_| {
            count += 1;
            ControlFlow::Continue(())
        });
        let (step, mut number) = (u64::div_ceil(count, RECOVERY_IMAGES).max(1), seed % 7);
        self.images(recorder, rule, &mut |image| {
            number += 1;
            if number % step == 0 {
                let (volume, _recorder) = self.volume_of(image);
                let again = self.open(&volume, "a crashed recovery");
                outcome = again.and_then(|graph| match self.picture(&graph)?.difference(found) {
                    None => Ok(()),
                    Some(difference) => Err(Failure::new(Violation::Unstable, difference)),
                });
            }
            match outcome {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        });
        outcome
    }

    pub(super) fn open(&self, volume: &Volume, what: &str) -> Checked<LiveGraph> {
        LiveGraph::open(volume.clone(), self.options.layout).map_err(|e| refused(what, &e))
    }

    /// Returns what a graph shows in which nothing is found to be wrong.
    pub(super) fn picture(&self, graph: &LiveGraph) -> Checked<Picture> {
        let problems = graph.verify().map_err(|e| refused("verify", &e))?.problems;
        if !problems.is_empty() {
            return Err(Failure::new(Violation::Unsound, format!("verify finds {problems:?}")));
        }
        let snapshot = graph.snapshot().map_err(|e| refused("a snapshot", &e))?;
        Ok(snapshot.picture(&self.options))
    }

    /// Applies more operations to what was recovered and expects them when it is opened again.
    fn check_usable(&self, volume: &Volume, seed: u64, found: &Picture) -> Checked<()> {
        let graph = self.open(volume, "opening again")?;
        let mut model = Model::of_picture(&self.options, found);
        for operation in Script::operations(seed, (seed % 3) as usize).into_iter().take(6) {
            let operation = match operation {
                Operation::InsertEdge(..) => operation,
                other => Operation::Apply(model.clone().apply_determined(other.updates())),
            };
            model.apply(&operation.updates());
            operation
                .run(&graph, self.options.weighted)
                .map_err(|e| refused("an operation after recovery", &e))?;
        }
        // Without it, what is not durable may stay in memory.
        graph.sync().map_err(|e| refused("a sync after recovery", &e))?;
        drop(graph);
        let kept = self.picture(&self.open(volume, "opening after more operations")?)?;
        match kept.difference(&model.picture()) {
            None => Ok(()),
            Some(difference) => {
                let what = format!("after more operations {difference}");
                Err(Failure::new(Violation::Unusable, what))
            }
        }
    }
}
