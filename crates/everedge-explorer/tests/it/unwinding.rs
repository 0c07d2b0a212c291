//! Work that is cancelled, or panics, in a call on a live graph takes nothing of the graph along.

use std::panic::{AssertUnwindSafe, catch_unwind};

use everedge_core::watch::Watch;
use everedge_live::{Phases, Result};
use everedge_medium::{Access, MediumKind, Recorder, Volume};

use crate::adjacency_crash::PMEM;
use crate::live::LiveGraph;
use crate::options::{GraphOptions, Layout};

const EDGES: u32 = 50_000;

fn options(layout: Layout, phases: Phases) -> GraphOptions {
    let mut options = GraphOptions { layout, ..GraphOptions::default() };
    (options.adjacency.phases, options.pma.phases) = (phases, phases);
    options
}

/// Inserts, cancels a snapshot, inserts and looks; then opens again and looks.
fn check(layout: Layout, phases: Phases) {
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
    for layout in [Layout::Adjacency, Layout::Pma] {
        for phases in [Phases::Overlapped, Phases::InTurn] {
            check(layout, phases);
        }
    }
}

/// Edges of a batch; the threshold is below, so that each batch is archived by its writer.
const BATCH: u32 = 40;

/// A graph of batches of the edges `n -> n / 7`: no two have the same `n`.
struct Counted {
    graph: LiveGraph,
    /// Whether each batch was acknowledged.
    batches: Vec<bool>,
}

impl Counted {
    fn insert(&mut self) -> Result<()> {
        let first = self.batches.len() as u32 * BATCH;
        self.batches.push(false);
        let edges: Vec<_> = (first..first + BATCH).map(|n| (n, n / 7)).collect();
        self.graph.insert(&edges, None)?;
        *self.batches.last_mut().expect("a batch") = true;
        Ok(())
    }

    /// Panics unless a view has each batch whole or not at all, and all that were acknowledged.
    fn check(&self, graph: &LiveGraph) -> Result<()> {
        let view = graph.snapshot()?;
        let has = |n: u32| n < view.vertex_bound() && view.out_neighbors(n) == [n / 7];
        for (batch, acknowledged) in (0..).zip(&self.batches) {
            let found = (batch * BATCH..(batch + 1) * BATCH).filter(|&n| has(n)).count() as u32;
            assert!(
                found == BATCH || found == 0 && !acknowledged,
                "batch {batch} has {found} edges; acknowledged: {acknowledged}"
            );
        }
        Ok(())
    }

    /// Does everything in which lists are written. Returns the first error; a panic passes.
    fn work(&mut self) -> Result<()> {
        for _ in 0..3 {
            self.insert()?;
        }
        self.check(&self.graph)?;
        self.graph.flush_all()?;
        self.insert()?;
        self.graph.compact()?;
        self.insert()?;
        self.check(&self.graph)
    }
}

/// Lets one call of a history panic. Returns whether it came to that.
fn panic_in_call(options: &GraphOptions, n: u64) -> bool {
    let (volume, recorder) = Volume::recorded(options.medium, false);
    let graph = LiveGraph::create(volume.clone(), options).expect("a graph");
    let mut counted = Counted { graph, batches: Vec::new() };
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
    let _refused = counted.check(&counted.graph);
    let _refused = counted.insert();
    let _refused = counted.check(&counted.graph);
    let Counted { graph, .. } = &counted;
    let _refused = graph.flush_all();
    let again = recorder.open_again(volume).expect("a volume");
    let reopened = LiveGraph::open(again, options.layout).expect("a graph");
    counted.check(&reopened).expect("a view");
    let verified = reopened.verify().expect("a verification");
    assert!(verified.problems.is_empty(), "{:?}", verified.problems);
}

/// Returns graphs of both layouts on both media, whose writers archive each batch.
fn small_graphs() -> Vec<GraphOptions> {
    let mut all = Vec::new();
    for layout in [Layout::Adjacency, Layout::Pma] {
        for medium in [PMEM, MediumKind::File] {
            let options = options(layout, Phases::InTurn);
            let mut options = GraphOptions { medium, log_bytes: 4096, ..options };
            options.adjacency.archive_threshold = u64::from(BATCH) - 1;
            options.pma.archive_threshold = u64::from(BATCH) - 1;
            all.push(options);
        }
    }
    all
}

#[test]
fn a_panic_in_any_call_loses_nothing() {
    for options in small_graphs() {
        let calls = (0..).take_while(|&n| panic_in_call(&options, n)).count();
        println!("{} {}: panics={calls} violations=0", options.layout, options.medium);
        assert!(calls > 0, "no call panics");
    }
}

#[test]
fn calls_that_are_cancelled_lose_nothing() {
    for options in small_graphs() {
        let (volume, recorder) = Volume::recorded(options.medium, false);
        let graph = LiveGraph::create(volume.clone(), &options).expect("a graph");
        let mut counted = Counted { graph, batches: Vec::new() };
        let watch = Watch::new();
        watch.cancel();
        for _ in 0..3 {
            let _cancelled = watch.run(|| counted.insert());
            counted.check(&counted.graph).expect("a view");
            let _cancelled = watch.run(|| counted.graph.flush_all());
            counted.insert().expect("room");
            let _cancelled = watch.run(|| counted.graph.compact());
            counted.insert().expect("room");
            let _cancelled = watch.run(|| counted.graph.snapshot().map(drop));
            counted.check(&counted.graph).expect("a view");
        }
        // A view of a graph that was just opened looks at its lists.
        let again = recorder.open_again(&volume).expect("a volume");
        let reopened = LiveGraph::open(again, options.layout).expect("a graph");
        let _cancelled = watch.run(|| reopened.snapshot().map(drop));
        counted.check(&reopened).expect("a view");
        let _cancelled = watch.run(|| reopened.close());
        let again = recorder.open_again(&volume).expect("a volume");
        let reopened = LiveGraph::open(again, options.layout).expect("a graph");
        counted.check(&reopened).expect("a view");
        let verified = reopened.verify().expect("a verification");
        assert!(verified.problems.is_empty(), "{:?}", verified.problems);
    }
}
