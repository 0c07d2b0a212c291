//! A snapshot answers the same while writers and compaction run at full speed as alone.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use everedge::{
    AdjacencyOptions, Batch, Edge, Generator, Graph, GraphOptions, Kernel, Layout, MediumKind,
    Merging, Parameters, PmaOptions, RunOptions, Values, View,
};

/// Those whose answer does not depend on threads, down to the last bit.
const KERNELS: [Kernel; 6] =
    [Kernel::Bfs, Kernel::PageRank, Kernel::Wcc, Kernel::Sssp, Kernel::Triangles, Kernel::KCore];
const WRITERS: usize = 2;
const SCALE: u32 = 14;
/// A writer keeps so many edges: it deletes as many of its oldest as it inserts.
const KEPT: u64 = 100_000;
const BATCH: u64 = 1_000;
/// Batches of each writer before the snapshot, so that it has deleted edges too.
const BATCHES_BEFORE: usize = 20;
/// How often a kernel runs at least.
const RUNS_MIN: u32 = 3;
/// It runs until each writer has written so many batches meanwhile. After all kernels none of the
/// snapshot's edges is left in the graph.
const BATCHES_BESIDE: u64 = 17;
/// For how long it does so at most.
const PATIENCE: Duration = Duration::from_secs(60);
const _: () = assert!(KERNELS.len() as u64 * BATCHES_BESIDE * BATCH >= KEPT);
const COMPACTION_PAUSE: Duration = Duration::from_millis(50);

/// Inserts and deletes edges that are its own: those whose source is its number modulo the number
/// of writers. So what the graph must hold does not depend on who is faster.
struct Writer {
    number: usize,
    generator: Generator,
    drawn: u64,
    /// Its edges that the graph has, the oldest first.
    edges: VecDeque<Edge>,
}

impl Writer {
    fn new(number: usize) -> Self {
        let generator = Generator::kron(SCALE, 1 << 12, number as u64).unwrap();
        Self { number, generator, drawn: 0, edges: VecDeque::new() }
    }

    fn insert(&mut self, graph: &Graph, count: u64) {
        let last = self.generator.edge_count() - count;
        let mut edges = self.generator.edges(self.drawn % last..self.drawn % last + count);
        let writers = WRITERS as u32;
        edges.iter_mut().for_each(|(u, _)| *u = *u / writers * writers + self.number as u32);
        let weights: Vec<f32> = edges.iter().map(weight).collect();
        graph.insert(&edges, Some(&weights)).unwrap();
        self.drawn += count;
        self.edges.extend(edges);
    }

    fn delete_oldest(&mut self, graph: &Graph, count: u64) {
        let oldest = self.edges.drain(..count as usize);
        graph.apply(&Batch::deletions(oldest, true).unwrap()).unwrap();
    }

    fn replace(&mut self, graph: &Graph) {
        self.insert(graph, BATCH);
        self.delete_oldest(graph, BATCH);
    }
}

/// Parallel edges weigh the same, so it does not matter which of them is deleted.
fn weight(&(u, v): &Edge) -> f32 {
    ((31 * u + 17 * v) % 255 + 1) as f32 / 8.0
}

/// What a kernel says: in short, and of each vertex.
struct Answer {
    summary: String,
    values: Values,
}

fn answer(view: &View, kernel: Kernel, threads: usize) -> Answer {
    let options = RunOptions { threads, ..RunOptions::from(Parameters::default()) };
    let report = view.run_unverified(kernel, &options).unwrap();
    Answer { summary: report.result.to_string(), values: report.values }
}

fn edges_with_weights(view: &View) -> Vec<(Edge, f32)> {
    let (src, dst, weights) = view.edges();
    src.into_iter().zip(dst).zip(weights).collect()
}

/// What the writers' threads say of themselves.
#[derive(Default)]
struct Progress {
    batches: [AtomicU64; WRITERS],
    compactions: AtomicU64,
    is_over: AtomicBool,
}

impl Progress {
    fn counts(&self) -> [u64; WRITERS] {
        self.batches.each_ref().map(|batches| batches.load(Relaxed))
    }

    fn write(&self, graph: &Graph, writer: &mut Writer) {
        while !self.is_over.load(Relaxed) {
            writer.replace(graph);
            self.batches[writer.number].fetch_add(1, Relaxed);
        }
    }

    fn compact(&self, graph: &Graph) {
        while !self.is_over.load(Relaxed) {
            graph.compact().unwrap();
            self.compactions.fetch_add(1, Relaxed);
            std::thread::sleep(COMPACTION_PAUSE);
        }
    }
}

/// Ends the other threads, also if a check fails.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Runs `kernel` on `view` until every writer has written enough during its runs; each answer must
/// be `expected`.
fn check_beside(view: &View, kernel: Kernel, expected: &Answer, progress: &Progress) {
    let start = Instant::now();
    let (mut runs, mut written) = (0, [0; WRITERS]);
    while runs < RUNS_MIN || written.iter().any(|&batches| batches < BATCHES_BESIDE) {
        let before = progress.counts();
        let found = answer(view, kernel, 2);
        let after = progress.counts();
        runs += 1;
        assert_eq!(found.summary, expected.summary, "{kernel}, run {runs}");
        assert!(found.values == expected.values, "{kernel}, run {runs}: the values differ");
        (0..WRITERS).for_each(|writer| written[writer] += after[writer] - before[writer]);
        assert!(start.elapsed() < PATIENCE, "beside {runs} runs of {kernel} {written:?} batches");
    }
    println!("{kernel}: {runs} runs, beside them {written:?} times {BATCH} edges replaced");
}

fn answers_beside_writers_are_those_alone(medium: MediumKind) {
    for layout in Layout::ALL {
        answers_beside_writers(layout, medium);
    }
}

fn answers_beside_writers(layout: Layout, medium: MediumKind) {
    let home = tempfile::tempdir().unwrap();
    let options = GraphOptions {
        layout,
        medium,
        weighted: true,
        log_bytes: 4 << 20,
        adjacency: AdjacencyOptions {
            archive_threshold: 1 << 12,
            buffer_pool_bytes: 4 << 20,
            merging: Some(Merging::Always),
            ..AdjacencyOptions::default()
        },
        pma: PmaOptions { archive_threshold: 1 << 12, ..PmaOptions::default() },
        ..GraphOptions::default()
    };
    let graph = Graph::create(&home.path().join("g"), &options, false).unwrap();
    let mut writers: [Writer; WRITERS] = std::array::from_fn(Writer::new);
    for writer in &mut writers {
        writer.insert(&graph, KEPT);
        (0..BATCHES_BEFORE).for_each(|_| writer.replace(&graph));
    }
    let view = graph.snapshot().unwrap();
    let edges = edges_with_weights(&view);
    assert_eq!(edges.len() as u64, WRITERS as u64 * KEPT);
    let alone = view.to_csr().unwrap();
    let expected = KERNELS.map(|kernel| answer(&alone, kernel, 1));

    let progress = Progress::default();
    std::thread::scope(|scope| {
        let _end = End(&progress.is_over);
        let (graph, progress) = (&graph, &progress);
        for writer in &mut writers {
            scope.spawn(move || progress.write(graph, writer));
        }
        scope.spawn(move || progress.compact(graph));
        for (kernel, expected) in KERNELS.into_iter().zip(&expected) {
            check_beside(&view, kernel, expected, progress);
        }
    });
    println!("{:?} batches, {:?} compactions", progress.counts(), progress.compactions);
    assert!(progress.compactions.into_inner() > 0);
    assert!(edges_with_weights(&view) == edges, "the snapshot has changed");

    let mut model: Vec<Edge> = writers.into_iter().flat_map(|writer| writer.edges).collect();
    model.sort_unstable();
    let model: Vec<_> = model.into_iter().map(|edge| (edge, weight(&edge))).collect();
    let mut written = edges_with_weights(&graph.snapshot().unwrap());
    written.sort_unstable_by_key(|&(edge, _)| edge);
    assert!(written == model, "{} edges instead of {}", written.len(), model.len());
    assert_eq!(graph.verify().unwrap().problems, [""; 0]);
}

#[test]
fn on_persistent_memory() {
    answers_beside_writers_are_those_alone(MediumKind::Pmem { emulated: true });
}

#[test]
fn on_a_file() {
    answers_beside_writers_are_those_alone(MediumKind::File);
}

#[test]
fn in_memory() {
    answers_beside_writers_are_those_alone(MediumKind::Dram);
}
