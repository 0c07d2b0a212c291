//! Work that is cancelled, or panics, in a call on a live graph takes nothing of the graph along.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use everedge_core::watch::Watch;
use everedge_core::{Edge, par};
use everedge_live::{Durability, Phases, Result};
use everedge_medium::{Access, MediumKind, Recorder, Volume};
use everedge_pma::LogFirst;

use crate::adjacency_crash::PMEM;
use crate::live::LiveGraph;
use everedge::{GraphOptions, Layout};

const EDGES: u32 = 50_000;
/// So many calls panic at least, one after the other.
const PANICS_MIN: usize = 50;

fn options(layout: Layout, phases: Phases) -> GraphOptions {
    let mut options = GraphOptions { layout, ..GraphOptions::default() };
    (options.adjacency.phases, options.pma.phases) = (phases, phases);
    options.blocks.phases = phases;
    options
}

/// Inserts, cancels a snapshot, inserts and looks; then opens again and looks.
fn cancel_a_snapshot(layout: Layout, phases: Phases) {
    let home = tempfile::tempdir().expect("a directory");
    let path = home.path().join("g");
    let options = options(layout, phases);
    let volume = Volume::create(&path, options.volume(false)).expect("a volume");
    let graph = LiveGraph::create(volume, &options).expect("a graph");
    let edges = |first: u32| -> Vec<(u32, u32)> {
        (first..first + EDGES).map(|i| (i % 997, i % 10_007)).collect()
    };
    graph.insert(&edges(0), None).expect("room");
    let watch = Watch::new();
    watch.cancel();
    let _cancelled = watch.run(|| graph.snapshot().map(drop));
    graph.insert(&edges(EDGES), None).expect("room");
    let all = u64::from(2 * EDGES);
    assert_eq!(graph.snapshot().expect("a view").edge_count(), all, "{layout} {phases}");
    graph.close().expect("closed");
    let volume = Volume::open(&path, options.volume(false), Access::Read).expect("a volume");
    let graph = LiveGraph::open(volume, layout).expect("a graph");
    assert_eq!(graph.snapshot().expect("a view").edge_count(), all, "{layout} {phases}, opened");
}

#[test]
fn a_cancelled_snapshot_loses_nothing() {
    for layout in Layout::ALL {
        for phases in [Phases::Overlapped, Phases::InTurn] {
            cancel_a_snapshot(layout, phases);
        }
    }
}

/// Edges of a batch; the threshold is below, so that each batch is archived at once.
const BATCH: u32 = 40;

/// A batch of the edges `n -> n / 7`: no two batches have the same `n`.
struct Inserted {
    ids: Range<u32>,
    /// Whether a view may lack it, and whether it may have it.
    may_be: [bool; 2],
}

/// A graph of such batches.
struct Counted {
    graph: LiveGraph,
    batches: Vec<Inserted>,
}

impl Counted {
    fn new(volume: Volume, options: &GraphOptions) -> Self {
        let graph = LiveGraph::create(volume, options).expect("a graph");
        Self { graph, batches: Vec::new() }
    }

    fn begin(&mut self, len: u32) -> (usize, Vec<Edge>) {
        let first = self.batches.last().map_or(0, |batch| batch.ids.end);
        self.batches.push(Inserted { ids: first..first + len, may_be: [true, true] });
        (self.batches.len() - 1, (first..first + len).map(|n| (n, n / 7)).collect())
    }

    fn insert(&mut self) -> Result<()> {
        let (batch, edges) = self.begin(BATCH);
        self.graph.insert(&edges, None)?;
        self.batches[batch].may_be = [false, true];
        Ok(())
    }

    fn insert_edges(&mut self) -> Result<()> {
        for _ in 0..BATCH {
            let (batch, edges) = self.begin(1);
            self.graph.insert_edge(edges[0], None)?;
            self.batches[batch].may_be = [false, true];
        }
        Ok(())
    }

    fn delete(&mut self, batch: usize) -> Result<()> {
        self.batches[batch].may_be = [true, true];
        let ids = self.batches[batch].ids.clone();
        let changes = self.graph.delete(ids.map(|n| (n, n / 7)))?;
        self.batches[batch].may_be = [true, false];
        assert_eq!(changes.deleted, u64::from(BATCH));
        Ok(())
    }

    /// Does everything in which lists are written. Returns the first error; a panic passes.
    fn work(&mut self) -> Result<()> {
        for _ in 0..3 {
            self.insert()?;
        }
        check(&self.batches, &self.graph)?;
        self.delete(1)?;
        self.graph.flush_all()?;
        self.insert_edges()?;
        self.insert()?;
        self.graph.compact()?;
        self.insert()?;
        self.delete(0)?;
        check(&self.batches, &self.graph)
    }
}

/// Panics unless a view has each batch whole or not at all, as it may be.
fn check(batches: &[Inserted], graph: &LiveGraph) -> Result<()> {
    let view = graph.snapshot()?;
    let has = |n: &u32| *n < view.vertex_bound() && view.out_neighbors(*n) == [n / 7];
    for Inserted { ids, may_be } in batches {
        let found = ids.clone().filter(has).count();
        let is_as_it_may_be = found == 0 && may_be[0] || found == ids.len() && may_be[1];
        assert!(is_as_it_may_be, "{found} edges of {ids:?}, which may be there: {may_be:?}");
    }
    Ok(())
}

/// Returns how many calls of a history may panic.
fn call_count(options: &GraphOptions) -> u64 {
    let (volume, recorder) = Volume::recorded(options.medium, false);
    let mut counted = Counted::new(volume, options);
    recorder.count_calls();
    counted.work().expect("room");
    recorder.calls().values().sum()
}

/// Lets one call of a history panic. Returns whether it came to that.
fn panic_in_call(options: &GraphOptions, n: u64) -> bool {
    let (volume, recorder) = Volume::recorded(options.medium, false);
    let mut counted = Counted::new(volume.clone(), options);
    recorder.panic_at_nth(n);
    let outcome = catch_unwind(AssertUnwindSafe(|| counted.work()));
    if !recorder.has_panicked() {
        outcome.expect("no panic").expect("room");
        return false;
    }
    check_after_panic(options, &volume, &recorder, counted);
    true
}

/// The handle shows what is there, or nothing any more, and a new one shows all that is acknowledged.
fn check_after_panic(
    options: &GraphOptions,
    volume: &Volume,
    recorder: &Recorder,
    mut counted: Counted,
) {
    // Each may be refused, but none may lie: what goes on is acknowledged, and then counts.
    let _refused = check(&counted.batches, &counted.graph);
    let _refused = counted.insert();
    let _refused = counted.insert_edges();
    let _refused = check(&counted.batches, &counted.graph);
    let Counted { graph, batches } = counted;
    let _refused = graph.flush_all();
    // A panic of the archiving thread goes on here.
    let _panicked = catch_unwind(AssertUnwindSafe(|| drop(graph)));
    let again = recorder.open_again(volume).expect("a volume");
    let reopened = LiveGraph::open(again, options.layout).expect("a graph");
    check(&batches, &reopened).expect("a view");
    let verified = reopened.verify().expect("a verification");
    assert!(verified.problems.is_empty(), "{:?}", verified.problems);
}

/// Returns graphs of all layouts on both media that archive each batch.
fn small_graphs(phases: Phases) -> Vec<GraphOptions> {
    let mut all = Vec::new();
    for layout in Layout::ALL {
        for medium in [PMEM, MediumKind::File] {
            let options = options(layout, phases);
            let mut options = GraphOptions { medium, log_bytes: 4096, ..options };
            options.adjacency.archive_threshold = u64::from(BATCH) - 1;
            options.pma.archive_threshold = u64::from(BATCH) - 1;
            options.blocks.archive_threshold = u64::from(BATCH) - 1;
            all.push(options);
        }
    }
    let mut others = all.clone();
    for options in &mut others {
        match options.layout {
            Layout::Pma => options.pma.log_first = LogFirst::No,
            Layout::Adjacency | Layout::Blocks => options.durability = Durability::None,
        }
    }
    all.extend(others);
    all
}

fn let_every_call_panic(phases: Phases) {
    for options in small_graphs(phases) {
        // How many there are differs from run to run where archiving has a thread of its own.
        let panics = (0..call_count(&options)).filter(|&n| panic_in_call(&options, n)).count();
        let GraphOptions { layout, medium, durability, .. } = options;
        let log_first = options.pma.log_first;
        println!(
            "{layout} {medium} {phases}, durability {durability}, log first {log_first}: \
             panics={panics} violations=0"
        );
        assert!(panics >= PANICS_MIN, "{panics} calls of {layout} on {medium} panic");
    }
}

#[test]
fn a_panic_in_any_call_loses_nothing() {
    let_every_call_panic(Phases::InTurn);
}

/// Nor does anybody wait for ever for a thread that has panicked.
#[test]
fn a_panic_of_the_archiving_thread_loses_nothing() {
    let (sender, ended) = mpsc::channel();
    let work = move || {
        par::with_threads(2, || let_every_call_panic(Phases::Overlapped)).expect("two threads");
        sender.send(()).expect("somebody waits");
    };
    thread::spawn(work);
    ended.recv_timeout(Duration::from_secs(600)).expect("no panic here, and no writer that waits");
}

#[test]
fn calls_that_are_cancelled_lose_nothing() {
    for options in small_graphs(Phases::InTurn) {
        let (volume, recorder) = Volume::recorded(options.medium, false);
        let mut counted = Counted::new(volume.clone(), &options);
        let watch = Watch::new();
        watch.cancel();
        for _ in 0..3 {
            let _cancelled = watch.run(|| counted.insert());
            check(&counted.batches, &counted.graph).expect("a view");
            let _cancelled = watch.run(|| counted.graph.flush_all());
            counted.insert().expect("room");
            let _cancelled = watch.run(|| counted.graph.compact());
            let last = counted.batches.len() - 1;
            let _cancelled = watch.run(|| counted.delete(last));
            counted.insert_edges().expect("room");
            let _cancelled = watch.run(|| counted.graph.snapshot().map(drop));
            check(&counted.batches, &counted.graph).expect("a view");
        }
        let Counted { graph, batches } = counted;
        drop(graph);
        // A view of a graph that was just opened looks at its lists.
        let again = recorder.open_again(&volume).expect("a volume");
        let reopened = LiveGraph::open(again, options.layout).expect("a graph");
        let _cancelled = watch.run(|| reopened.snapshot().map(drop));
        check(&batches, &reopened).expect("a view");
        let _cancelled = watch.run(|| reopened.close());
        let again = recorder.open_again(&volume).expect("a volume");
        let reopened = LiveGraph::open(again, options.layout).expect("a graph");
        check(&batches, &reopened).expect("a view");
        let verified = reopened.verify().expect("a verification");
        assert!(verified.problems.is_empty(), "{:?}", verified.problems);
    }
}
