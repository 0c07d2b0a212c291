//! Crashes while several threads write, with the options of a new graph: a thread of its own
//! archives, single edges are lines of the log, and a thread takes snapshots and compacts.
//!
//! Each writer has its own vertices and inserts and deletes edges from them, to its own vertices
//! and to those that nobody owns. So the edges of one writer do not depend on the others, and what
//! a crash leaves must hold, for each writer, the edges after some prefix of its operations that
//! has all acknowledged ones. The threads meet in another order in every run: a failure names its
//! seed and image, but only the operations are the same when the seed runs again.

use everedge_adjacency::AdjacencyOptions;
use everedge_core::VertexId;
use everedge_core::par::{Threads, thread_count, with_threads};
use everedge_live::{Durability, Result};
use everedge_medium::{Image, ImageRule, Mark, MediumKind, Plant, Recorder, Site, Volume};
use everedge_pma::PmaOptions;
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::adjacency_crash::PMEM;
use crate::explorer::{images_max, text};
use crate::live::LiveGraph;
use crate::model::{Model, Picture, Random, Update, batch_of};
use crate::options::{GraphOptions, Layout};

const WRITERS_MAX: usize = 3;
/// Operations of a writer in a history.
const OPERATION_COUNT: usize = 30;
/// Vertices of a writer; the last so many of a graph are nobody's.
const OWN_VERTICES: u64 = 4;
const VERTEX_COUNT: u64 = OWN_VERTICES * (WRITERS_MAX as u64 + 1);
/// Vertices lie in so many shards.
const SHARDS: VertexId = 3;
const SHARD_VERTICES: VertexId = 4096;
/// Bits of a mark in which a writer counts its operations.
const COUNT_BITS: usize = 16;
/// The bit of a mark that says that the graph exists.
const CREATED: u64 = 1 << (COUNT_BITS * WRITERS_MAX);
/// Between two steps of maintenance come so many operations.
const MAINTENANCE_STEP: usize = 5;
/// The most images of one crash point.
const POINT_IMAGES_MAX: u64 = 16;
/// The images of one history that are checked, spread over all of it.
const HISTORY_IMAGES: u64 = 150;

/// What a writer does in one call.
#[derive(Clone, Debug)]
enum Operation {
    InsertEdge(VertexId, VertexId, f32),
    Apply(Vec<Update>),
    Delete(Vec<(VertexId, VertexId)>),
}

impl Operation {
    fn updates(&self) -> Vec<Update> {
        match self {
            Self::InsertEdge(u, v, weight) => vec![Update::Insert(*u, *v, *weight)],
            Self::Apply(updates) => updates.clone(),
            Self::Delete(edges) => edges.iter().map(|&(u, v)| Update::Delete(u, v)).collect(),
        }
    }

    fn run(&self, graph: &LiveGraph, weighted: bool) -> Result<()> {
        match self {
            Self::InsertEdge(u, v, weight) => {
                graph.insert_edge((*u, *v), weighted.then_some(*weight))
            }
            Self::Apply(updates) => graph.apply(&batch_of(updates, weighted)),
            Self::Delete(edges) => graph.delete(edges.iter().copied()).map(drop),
        }
    }
}

fn place(number: u64) -> VertexId {
    let number = number as VertexId;
    number / SHARDS + SHARD_VERTICES * (number % SHARDS)
}

/// Makes up the operations of one writer.
struct Script {
    random: Random,
    writer: u64,
    /// Edges that were inserted and, as far as this knows, not deleted.
    edges: Vec<(VertexId, VertexId)>,
}

impl Script {
    fn operations(seed: u64, writer: usize) -> Vec<Operation> {
        let random = Random(seed << 8 | writer as u64);
        let mut script = Script { random, writer: writer as u64, edges: Vec::new() };
        (0..OPERATION_COUNT).map(|_| script.operation()).collect()
    }

    fn operation(&mut self) -> Operation {
        match self.random.below(10) {
            0 => {
                let count = 1 + self.random.below(3);
                Operation::Delete((0..count).filter_map(|_| self.old_edge()).collect())
            }
            1..=2 => {
                let count = 2 + self.random.below(10);
                Operation::Apply((0..count).map(|_| self.update()).collect())
            }
            _ => {
                let (u, v, weight) = self.new_edge();
                Operation::InsertEdge(u, v, weight)
            }
        }
    }

    fn update(&mut self) -> Update {
        if self.random.below(3) == 0
            && let Some((u, v)) = self.old_edge()
        {
            return Update::Delete(u, v);
        }
        let (u, v, weight) = self.new_edge();
        Update::Insert(u, v, weight)
    }

    fn new_edge(&mut self) -> (VertexId, VertexId, f32) {
        let own = OWN_VERTICES * self.writer;
        let u = own + self.random.below(OWN_VERTICES);
        let other = self.random.below(OWN_VERTICES);
        let nobodys = OWN_VERTICES * WRITERS_MAX as u64;
        let v = other + if self.random.below(2) == 0 { own } else { nobodys };
        self.edges.push((place(u), place(v)));
        (place(u), place(v), self.random.below(1000) as f32 / 8.0)
    }

    fn old_edge(&mut self) -> Option<(VertexId, VertexId)> {
        let count = self.edges.len() as u64;
        (count > 0).then(|| self.edges.swap_remove(self.random.below(count) as usize))
    }
}

/// How many operations each writer has begun, and how many were acknowledged.
struct Progress<'a> {
    recorder: &'a Recorder,
    /// Both, as marks.
    counts: Mutex<[u64; 2]>,
    acknowledged: AtomicUsize,
}

impl<'a> Progress<'a> {
    /// Starts where the graph exists and holds all vertices.
    fn new(recorder: &'a Recorder) -> Progress<'a> {
        recorder.mark(Mark::Begin(CREATED));
        recorder.mark(Mark::Acknowledged(CREATED));
        let (counts, acknowledged) = (Mutex::new([CREATED; 2]), AtomicUsize::new(0));
        Progress { recorder, counts, acknowledged }
    }

    fn begin(&self, writer: usize) {
        let mut counts = self.counts.lock();
        counts[0] += 1 << (COUNT_BITS * writer);
        self.recorder.mark(Mark::Begin(counts[0]));
    }

    fn acknowledge(&self, writer: usize) {
        let mut counts = self.counts.lock();
        counts[1] += 1 << (COUNT_BITS * writer);
        self.recorder.mark(Mark::Acknowledged(counts[1]));
        self.acknowledged.fetch_add(1, Ordering::Relaxed);
    }
}

/// Returns how many operations of each writer a mark counts.
fn counts_of(mark: u64) -> [usize; WRITERS_MAX] {
    std::array::from_fn(|writer| (mark >> (COUNT_BITS * writer)) as usize % (1 << COUNT_BITS))
}

/// A history: what each writer does, and the order in which the medium saw it.
struct Recorded {
    recorder: Recorder,
    scripts: Vec<Vec<Operation>>,
    /// What the graph shows after so many operations of each writer.
    pictures: HashMap<[usize; WRITERS_MAX], Picture>,
}

impl Recorded {
    fn picture(&mut self, options: &GraphOptions, counts: [usize; WRITERS_MAX]) -> &Picture {
        let scripts = &self.scripts;
        self.pictures.entry(counts).or_insert_with(|| {
            let mut model = Model::new(options);
            model.apply(&all_vertices());
            for (script, count) in scripts.iter().zip(counts) {
                script[..count].iter().for_each(|operation| model.apply(&operation.updates()));
            }
            model.picture()
        })
    }

    /// Returns how many operations of each writer the picture may hold after a crash.
    fn allowed(&self, image: &Image) -> Vec<[usize; WRITERS_MAX]> {
        let (acknowledged, begun) = (counts_of(image.acknowledged()), counts_of(image.begun()));
        let mut allowed = vec![[0; WRITERS_MAX]];
        for writer in 0..self.scripts.len() {
            allowed = (acknowledged[writer]..=begun[writer])
                .flat_map(|count| {
                    allowed.iter().map(move |&counts| {
                        let mut counts = counts;
                        counts[writer] = count;
                        counts
                    })
                })
                .collect();
        }
        allowed
    }
}

fn all_vertices() -> Vec<Update> {
    (0..VERTEX_COUNT).map(|number| Update::AddVertex(place(number))).collect()
}

/// A graph that several threads write.
struct Shape {
    options: GraphOptions,
    number: u64,
    /// Whether writers insert single edges and nothing else.
    has_only_edges: bool,
}

/// Every layout, durability and direction on a medium; half of them have weights.
fn shapes(medium: MediumKind, eadr: bool) -> Vec<Shape> {
    let mut shapes = Vec::new();
    for layout in [Layout::Adjacency, Layout::Pma] {
        for durability in [Durability::Batch, Durability::Edge] {
            for directed in [true, false] {
                let number = shapes.len() as u64;
                let options = GraphOptions {
                    layout,
                    medium,
                    eadr,
                    directed,
                    durability,
                    weighted: directed == (durability == Durability::Batch),
                    in_neighbors: number != 4,
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
                    ..GraphOptions::default()
                };
                shapes.push(Shape { options, number, has_only_edges: false });
            }
        }
    }
    shapes
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
fn maintain(seed: u64, graph: &LiveGraph, progress: &Progress<'_>, count: usize) -> Result<()> {
    let (mut random, mut seen, mut views) = (Random(!seed), 0, Vec::new());
    while seen < count {
        let acknowledged = progress.acknowledged.load(Ordering::Relaxed);
        if acknowledged < (seen + MAINTENANCE_STEP).min(count) {
            thread::yield_now();
            continue;
        }
        seen = acknowledged;
        match random.below(8) {
            0 => graph.compact()?,
            1 => graph.compact_vertex(place(random.below(VERTEX_COUNT)))?,
            2 => graph.flush_all()?,
            3 => graph.sync()?,
            4 => views.clear(),
            _ => {
                let view = graph.snapshot()?;
                // It asserts that all ways to read a view show the same.
                view.picture(&graph.options());
                views.push(view);
            }
        }
    }
    Ok(())
}

impl Shape {
    fn name(&self) -> String {
        let GraphOptions { layout, medium, eadr, durability, .. } = &self.options;
        let eadr = if *eadr { "-eadr" } else { "" };
        format!("writers-{layout}-{medium}{eadr}-{durability}-{}", self.number)
    }

    /// Runs a history, with two threads for loops whatever the machine has.
    fn record(&self, seed: u64, plant: Option<Plant>) -> Recorded {
        let (volume, recorder) = Volume::recorded(self.options.medium, self.options.eadr);
        let writers = 2 + (seed % 2) as usize;
        let mut scripts: Vec<_> = (0..writers).map(|w| Script::operations(seed, w)).collect();
        if self.has_only_edges {
            let is_edge = |operation: &Operation| matches!(operation, Operation::InsertEdge(..));
            scripts.iter_mut().for_each(|script| script.retain(is_edge));
        }
        with_threads(2, || {
            assert_eq!(thread_count(), 2, "threads for loops");
            let others = archiving_threads();
            let graph = self.create(volume);
            // What creates the graph is for other tests to break.
            plant.into_iter().for_each(|plant| recorder.plant(plant));
            self.write(seed, &graph, &recorder, &scripts);
            let started = archiving_threads().difference(&others).count();
            assert!(started > 0, "{}: the archiving thread was not started", self.name());
        })
        .expect("two threads");
        Recorded { recorder, scripts, pictures: HashMap::new() }
    }

    fn create(&self, volume: Volume) -> LiveGraph {
        let graph = LiveGraph::create(volume, &self.options).expect("a graph");
        graph.apply(&batch_of(&all_vertices(), self.options.weighted)).expect("vertices");
        graph
    }

    fn write(&self, seed: u64, graph: &LiveGraph, recorder: &Recorder, scripts: &[Vec<Operation>]) {
        let weighted = self.options.weighted;
        let (progress, threads) = (&Progress::new(recorder), Threads::current());
        thread::scope(|scope| {
            for (writer, script) in scripts.iter().enumerate() {
                let threads = threads.clone();
                scope.spawn(move || {
                    threads.enter(|| {
                        for operation in script {
                            progress.begin(writer);
                            operation.run(graph, weighted).expect("an operation");
                            progress.acknowledge(writer);
                        }
                    });
                });
            }
            let count = scripts.iter().map(Vec::len).sum();
            maintain(seed, graph, progress, count).expect("maintenance");
        });
    }

    /// Checks so many images of histories of ascending seeds. Returns how many were distinct.
    fn explore(&self, plant: Option<Plant>, images_max: u64) -> std::result::Result<u64, String> {
        let mut images = 0;
        for seed in 0.. {
            if images >= images_max {
                break;
            }
            let wanted = HISTORY_IMAGES.min(images_max - images);
            let found = self.explore_seed(seed, plant, wanted)?;
            if found == 0 {
                return Err(format!("{}: a history gave no image", self.name()));
            }
            images += found;
        }
        Ok(images)
    }

    fn explore_seed(
        &self,
        seed: u64,
        plant: Option<Plant>,
        images_max: u64,
    ) -> std::result::Result<u64, String> {
        let mut history = self.record(seed, plant);
        let recorder = history.recorder.clone();
        let rule = ImageRule { point_images_max: POINT_IMAGES_MAX, seed };
        let mut seen = HashSet::new();
        recorder.images(rule, |image| {
            if image.acknowledged() & CREATED != 0 {
                seen.insert(image.digest());
            }
            ControlFlow::Continue(())
        });
        let (step, mut number, mut images) = ((seen.len() as u64).div_ceil(images_max), 0, 0);
        let mut failure = None;
        recorder.images(rule, |image| {
            if !seen.remove(&image.digest()) {
                return ControlFlow::Continue(());
            }
            number += 1;
            if number % step != seed % step {
                return ControlFlow::Continue(());
            }
            images += 1;
            match self.check_image(image, plant, &mut history) {
                Ok(()) => ControlFlow::Continue(()),
                Err(what) => {
                    failure = Some(self.describe(seed, plant, image, &what));
                    ControlFlow::Break(())
                }
            }
        });
        failure.map_or(Ok(images), Err)
    }

    fn describe(&self, seed: u64, plant: Option<Plant>, image: &Image, what: &str) -> String {
        let [acknowledged, begun] = [image.acknowledged(), image.begun()].map(counts_of);
        format!(
            "{} seed {seed} point {} choice {} (plant {plant:?}, operations {acknowledged:?} \
             acknowledged, {begun:?} begun): {what}",
            self.name(),
            image.point(),
            image.choice()
        )
    }

    fn check_image(
        &self,
        image: &Image,
        plant: Option<Plant>,
        history: &mut Recorded,
    ) -> std::result::Result<(), String> {
        let checked = AssertUnwindSafe(|| {
            let (volume, recorder) = Volume::from_image(image).map_err(|e| e.to_string())?;
            plant.into_iter().for_each(|plant| recorder.plant(plant));
            let graph = self.open(&volume, "recovery")?;
            let found = self.picture(&graph)?;
            let allowed = history.allowed(image);
            if !allowed.iter().any(|&counts| *history.picture(&self.options, counts) == found) {
                let nearest = history.picture(&self.options, allowed[0]);
                let difference = found.difference(nearest).unwrap_or_default();
                return Err(format!("recovered none of {allowed:?}; of the first: {difference}"));
            }
            drop(graph);
            self.check_usable(&volume, image.digest(), &found)
        });
        catch_unwind(checked).unwrap_or_else(|panic| Err(format!("panic: {}", text(&*panic))))
    }

    fn open(&self, volume: &Volume, what: &str) -> std::result::Result<LiveGraph, String> {
        LiveGraph::open(volume.clone(), self.options.layout)
            .map_err(|e| format!("{what} fails: {e}"))
    }

    /// Returns what a graph shows in which nothing is found to be wrong.
    fn picture(&self, graph: &LiveGraph) -> std::result::Result<Picture, String> {
        let problems = graph.verify().map_err(|e| format!("verify fails: {e}"))?.problems;
        if !problems.is_empty() {
            return Err(format!("verify finds {problems:?}"));
        }
        let snapshot = graph.snapshot().map_err(|e| format!("a snapshot fails: {e}"))?;
        Ok(snapshot.picture(&self.options))
    }

    /// Applies more operations to what was recovered and expects them when it is opened again.
    fn check_usable(
        &self,
        volume: &Volume,
        seed: u64,
        found: &Picture,
    ) -> std::result::Result<(), String> {
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
                .map_err(|e| format!("an operation after recovery fails: {e}"))?;
        }
        drop(graph);
        let kept = self.picture(&self.open(volume, "opening after more operations")?)?;
        match kept.difference(&model.picture()) {
            None => Ok(()),
            Some(difference) => Err(format!("after more operations {difference}")),
        }
    }
}

/// Histories of one test at a time: its threads are to meet, not to wait for those of others.
static ALONE: Mutex<()> = Mutex::new(());

fn explore(medium: MediumKind, eadr: bool) {
    let _alone = ALONE.lock();
    let mut images = 0;
    for shape in shapes(medium, eadr) {
        let explored = shape.explore(None, (images_max() / 100).max(1));
        images += explored.unwrap_or_else(|failure| panic!("{failure}"));
    }
    println!("writers {medium} eadr={eadr}: images={images} violations=0");
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
    let found =
        shapes.iter().filter_map(|shape| shape.explore(Some(plant), PLANTED_IMAGES).err()).next();
    let found = found.unwrap_or_else(|| panic!("{plant:?} in {layout} is not found"));
    println!("{plant:?}: {found:.220}");
}

/// Lines of single edges and records of batches, and where the log begins.
#[test]
fn what_several_writers_do_not_make_durable_is_found() {
    for layout in [Layout::Adjacency, Layout::Pma] {
        for site in [Site::LogRecord, Site::LogAnchor] {
            for medium in [PMEM, MediumKind::File] {
                assert_found(layout, medium, Plant::DropFlush(site));
                assert_found(layout, medium, Plant::DropFence(site));
            }
        }
    }
}

/// Each writer stores and fences a line of its own, and waits for those before it.
#[test]
fn single_edges_that_writers_do_not_make_durable_are_found() {
    for layout in [Layout::Adjacency, Layout::Pma] {
        for plant in [Plant::DropFlush(Site::LogRecord), Plant::DropFence(Site::LogRecord)] {
            let mut shapes = shapes(PMEM, false);
            shapes.iter_mut().for_each(|shape| shape.has_only_edges = true);
            assert_found_in(shapes, layout, plant);
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
