//! `everedge bench mixed`: insertions and PageRank at once.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use everedge::{Edge, Graph, GraphOptions, Kernel, MediumKind, RunOptions, Values, View, median};
use serde::Serialize;

use super::ingest;
use crate::harness::figures::{self, Row};
use crate::harness::table::{self, Column, Form};
use crate::harness::{Case, Common, Lists, Task, Work, process};
use crate::output::Output;

/// Of all edges so many hundredths are there before anything is measured, as in DGAP's paper,
const LOADED: usize = 10;
/// and so many are there before PageRank runs beside the insertion of the rest.
const ALONE: usize = 40;
/// How often PageRank runs alone.
const RUNS_ALONE: usize = 3;

/// Measure insertions and PageRank at once.
///
/// A tenth of the edges is loaded, the next three tenths are inserted alone, and PageRank runs alone.
/// Then one thread inserts the rest while another takes a snapshot and runs PageRank on it, again and
/// again. Each of its answers is compared, bit by bit, with PageRank on a CSR of just those edges that
/// were inserted before the snapshot.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  everedge bench mixed --scale 20 --layout adjacency,pma,blocks --on 2
  everedge bench mixed --layout pma --durability edge --batch 1 --log-size 256M --preallocate 256M")]
pub(crate) struct Args {
    #[command(flatten)]
    common: Common,

    #[command(flatten)]
    lists: Lists,
}

const COLUMNS: [Column; 8] = [
    Column { key: "alone_per_second", title: "inserted/s alone", form: Form::PerSecond },
    Column { key: "beside_per_second", title: "beside", form: Form::PerSecond },
    Column { key: "pagerank_alone_seconds", title: "PageRank alone", form: Form::Seconds },
    Column { key: "pagerank_beside_seconds", title: "beside", form: Form::Seconds },
    Column { key: "snapshot_beside_seconds", title: "snapshot", form: Form::Seconds },
    Column { key: "snapshot_beside_seconds_max", title: "longest", form: Form::Seconds },
    Column { key: "queries", title: "queries", form: Form::Count },
    Column { key: "wrong", title: "wrong", form: Form::Count },
];

/// What is measured of one configuration.
#[derive(Debug, Serialize)]
struct Figures {
    /// Edges acknowledged each second while nothing else is done.
    alone_per_second: f64,
    /// The same while PageRank runs.
    beside_per_second: f64,
    /// Seconds of PageRank on the graph as it is when the other insertions begin.
    pagerank_alone_seconds: f64,
    /// The median of those on the graph as it grows.
    pagerank_beside_seconds: f64,
    /// The median of the seconds that a snapshot takes, which archives what was acknowledged.
    snapshot_beside_seconds: f64,
    snapshot_beside_seconds_max: f64,
    /// How many times PageRank ran beside insertions.
    queries: usize,
    /// How many of their answers were not those of the edges that they were about.
    wrong: usize,
}

/// A query beside insertions.
struct Query {
    snapshot_seconds: f64,
    seconds: f64,
    /// The edges that the snapshot had: those inserted first.
    edge_count: u64,
    values: Values,
}

pub(crate) fn run(args: &Args, output: Output) -> Result<()> {
    let configurations = args.lists.configurations(&ingest::MEDIA)?;
    let case = |configuration| Case { work: Work::Mixed, configuration };
    let cases: Vec<Case> = configurations.into_iter().map(case).collect();
    let rows = process::measure(&args.common, &cases, output)?;
    table::print(output, &args.common, &rows, (&[], &COLUMNS), None)
}

/// Measures in this process.
///
/// # Errors
/// If the medium or a kernel fails, or there is more than one writer.
pub(crate) fn measure(task: &Task) -> Result<Row> {
    let configuration = &task.configuration;
    ensure!(
        configuration.writers == 1,
        "which edges a snapshot has is known for one writer; give --writers 1"
    );
    let graph = task.create(false)?;
    let edges = task.edges()?;
    let share = |hundredths: usize| edges.len() / 100 * hundredths;
    let (loaded, before) = (share(LOADED), share(ALONE));
    insert(&graph, &edges[..loaded], configuration.batch)?;
    graph.snapshot()?;

    let start = Instant::now();
    insert(&graph, &edges[loaded..before], configuration.batch)?;
    let alone = start.elapsed().as_secs_f64();
    let view = graph.snapshot()?;
    let threads = configuration.threads;
    let runs: Vec<f64> =
        (0..RUNS_ALONE).map(|_| Ok(pagerank(&view, threads)?.0)).collect::<Result<_>>()?;
    drop(view);

    let is_over = AtomicBool::new(false);
    let (beside, queries) = std::thread::scope(|scope| -> Result<_> {
        let writer = std::thread::Builder::new().spawn_scoped(scope, || {
            let start = Instant::now();
            let inserted = insert(&graph, &edges[before..], configuration.batch);
            is_over.store(true, Relaxed);
            inserted.map(|()| start.elapsed().as_secs_f64())
        });
        let writer = writer.context("cannot start the writer")?;
        let queries = ask(&graph, threads, &is_over);
        Ok((writer.join().expect("the writer does not panic"), queries))
    })?;
    let (beside, queries) = (beside?, queries?);
    let of = |figure: fn(&Query) -> f64| queries.iter().map(figure).collect::<Vec<f64>>();
    let snapshots = of(|query| query.snapshot_seconds);
    figures::row(&Figures {
        alone_per_second: (before - loaded) as f64 / alone,
        beside_per_second: (edges.len() - before) as f64 / beside,
        pagerank_alone_seconds: median(&runs),
        pagerank_beside_seconds: median(&of(|query| query.seconds)),
        snapshot_beside_seconds: median(&snapshots),
        snapshot_beside_seconds_max: snapshots.iter().copied().fold(0.0, f64::max),
        queries: queries.len(),
        wrong: count_wrong(task, &edges, &queries)?,
    })
}

fn insert(graph: &Graph, edges: &[Edge], batch: usize) -> Result<()> {
    edges.chunks(batch).try_for_each(|edges| Ok(graph.insert(edges, None)?))
}

/// Takes snapshots and asks each of them, until all is inserted.
fn ask(graph: &Graph, threads: usize, is_over: &AtomicBool) -> Result<Vec<Query>> {
    let mut queries = Vec::new();
    while !is_over.load(Relaxed) || queries.is_empty() {
        let start = Instant::now();
        let view = graph.snapshot()?;
        let snapshot_seconds = start.elapsed().as_secs_f64();
        let (seconds, values) = pagerank(&view, threads)?;
        queries.push(Query { snapshot_seconds, seconds, edge_count: view.edge_count(), values });
    }
    Ok(queries)
}

fn pagerank(view: &View, threads: usize) -> Result<(f64, Values)> {
    let options = RunOptions { threads, ..RunOptions::default() };
    let report = view.run_unverified(Kernel::PageRank, &options)?;
    Ok((report.seconds, report.values))
}

/// Returns how many answers are not those of the edges that were inserted first: they are put into
/// another graph, in memory, whose CSR is asked.
fn count_wrong(task: &Task, edges: &[Edge], queries: &[Query]) -> Result<usize> {
    let options = GraphOptions { medium: MediumKind::Dram, ..GraphOptions::default() };
    let model = Graph::create(&task.graph.with_extension("model"), &options, false)?;
    let (mut inserted, mut wrong) = (0, 0);
    for query in queries {
        let count = query.edge_count as usize;
        if count > inserted {
            model.insert(&edges[inserted..count], None)?;
            inserted = count;
        }
        let csr = model.snapshot()?.to_csr()?;
        let (_, values) = pagerank(&csr, task.configuration.threads)?;
        wrong += usize::from(csr.edge_count() != query.edge_count || values != query.values);
    }
    Ok(wrong)
}
