//! A stream of updates and queries, each query of the graph after all updates before it.
//!
//! Source: SMDG (Weng et al., TKDE 2026), §IV-E: edges are deleted and put back, and queries come in between. One
//! after the other, or at once through the queue of tasks.

use std::time::Instant;

use anyhow::{Result, ensure};
use everedge::{Batch, Edge, Graph, RunOptions, View, median};
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::index;
use serde::Serialize;

use super::ingest;
use crate::harness::figures::{self, Row};
use crate::harness::{Configuration, Stream, Task};

/// What is measured of a stream.
#[derive(Debug, Serialize)]
struct Figures {
    updates: usize,
    queries: u32,
    /// Seconds from the first task until the last is done.
    total_seconds: f64,
    /// The same if updates and queries wait for each other.
    serial_seconds: Option<f64>,
    /// Updates each second until the last is durable.
    updates_per_second: f64,
    /// Queries each second.
    queries_per_second: f64,
    /// The median of what a query computes.
    query_seconds: f64,
    /// Until the median query is answered, from when it was given.
    answer_seconds: f64,
    peak_rss_bytes: u64,
    /// What lists have given up and somebody may read, when the last query has ended.
    version_bytes_after: u64,
}

/// Gives updates of one edge each, and queries after as many of them each.
///
/// # Errors
/// If the medium or a kernel fails, or the graph has another number of edges at the end.
pub(crate) fn measure(task: &Task, stream: Stream) -> Result<Row> {
    let graph = task.create(false)?;
    let edges = task.edges()?;
    let updates = updates(task, &edges, stream)?;
    ingest::take(&graph, &edges, None, [task.configuration.batch, 1])?;
    drop(edges);
    let before = graph.snapshot()?.edge_count();
    let per_query = (updates.len() / stream.queries.max(1) as usize).max(1);
    let serial_seconds = match stream.with_serial {
        true => Some(one_after_the_other(&graph, &updates, per_query, stream)?),
        false => None,
    };
    let figures = at_once(&graph, &updates, per_query, stream)?;
    let after = graph.snapshot()?.edge_count();
    let expected = if stream.only_inserts { before + updates.len() as u64 } else { before };
    ensure!(after == expected, "{after} edges after the tasks, not {expected}");
    figures::row(&Figures { serial_seconds, ..figures })
}

/// Returns the updates, as many as there are edges for: deletions of edges, and then their insertions; or only
/// insertions.
fn updates(task: &Task, edges: &[Edge], stream: Stream) -> Result<Vec<Batch>> {
    let Configuration { graph: kind, scale, .. } = task.configuration;
    let count = stream.updates as usize;
    if stream.only_inserts {
        let more = kind.generator(scale, task.degree, ingest::other_seed(task))?;
        return more.edges(0..count as u64).iter().map(|&edge| insertion(edge)).collect();
    }
    let mut random = Xoshiro256PlusPlus::seed_from_u64(task.seed);
    let chosen = index::sample(&mut random, edges.len(), (count / 2).min(edges.len()));
    let chosen: Vec<Edge> = chosen.iter().map(|place| edges[place]).collect();
    let deletion = |edge: Edge| Ok(Batch::deletions([edge].into_iter(), false)?);
    let deletions = chosen.iter().map(|&edge| deletion(edge));
    deletions.chain(chosen.iter().map(|&edge| insertion(edge))).collect()
}

fn insertion(edge: Edge) -> Result<Batch> {
    Ok(Batch::insertions([edge].into_iter(), None)?)
}

fn ask(view: &View, stream: Stream) -> everedge::Result<f64> {
    let options = RunOptions { threads: 1, ..RunOptions::default() };
    Ok(view.run_unverified(stream.kernel(), &options)?.seconds)
}

/// Returns the seconds that all take.
fn one_after_the_other(
    graph: &Graph,
    updates: &[Batch],
    per_query: usize,
    stream: Stream,
) -> Result<f64> {
    let start = Instant::now();
    for updates in updates.chunks(per_query) {
        updates.iter().try_for_each(|batch| graph.apply(batch))?;
        ask(&graph.snapshot()?, stream)?;
    }
    Ok(start.elapsed().as_secs_f64())
}

fn at_once(graph: &Graph, updates: &[Batch], per_query: usize, stream: Stream) -> Result<Figures> {
    let start = Instant::now();
    let (updating, queries, answers) = graph.with_tasks(stream.workers as usize, |tasks| {
        let (mut given, mut asked) = (Vec::new(), Vec::new());
        for updates in updates.chunks(per_query) {
            given.extend(updates.iter().map(|batch| tasks.update(batch.clone())));
            let now = Instant::now();
            asked.push(tasks.query(move |view| (ask(view, stream), now.elapsed().as_secs_f64())));
        }
        given.into_iter().try_for_each(|update| update.wait())?;
        let updating = start.elapsed().as_secs_f64();
        let (mut queries, mut answers) = (Vec::new(), Vec::new());
        for query in asked {
            let (computed, answered) = query.wait()?;
            queries.push(computed?);
            answers.push(answered);
        }
        anyhow::Ok((updating, queries, answers))
    })?;
    let total_seconds = start.elapsed().as_secs_f64();
    Ok(Figures {
        updates: updates.len(),
        queries: stream.queries,
        total_seconds,
        serial_seconds: None,
        updates_per_second: updates.len() as f64 / updating,
        queries_per_second: queries.len() as f64 / total_seconds,
        query_seconds: median(&queries),
        answer_seconds: median(&answers),
        peak_rss_bytes: everedge::peak_rss_bytes(),
        version_bytes_after: graph.stats()?.version_bytes.unwrap_or(0),
    })
}

/// What the versions that queries read take, as one after the other ends.
#[derive(Debug, Serialize)]
struct Versions {
    version_bytes_none_ended: u64,
    version_bytes_quarter_ended: u64,
    version_bytes_half_ended: u64,
    version_bytes_three_quarters_ended: u64,
    version_bytes_all_ended: u64,
}

/// Takes views between updates, and ends them from the oldest on.
///
/// # Errors
/// As [`measure`].
pub(crate) fn measure_versions(task: &Task, stream: Stream) -> Result<Row> {
    let graph = task.create(false)?;
    let edges = task.edges()?;
    let updates = updates(task, &edges, stream)?;
    ingest::take(&graph, &edges, None, [task.configuration.batch, 1])?;
    let per_view = (updates.len() / stream.queries.max(1) as usize).max(1);
    let mut views = Vec::new();
    for updates in updates.chunks(per_view) {
        views.push(graph.snapshot()?);
        updates.iter().try_for_each(|batch| graph.apply(batch))?;
    }
    // What was logged reaches the lists.
    drop(graph.snapshot()?);
    let quarter = views.len().div_ceil(4).max(1);
    let mut bytes = vec![graph.stats()?.version_bytes.unwrap_or(0)];
    for _ in 0..4 {
        views.drain(..quarter.min(views.len()));
        bytes.push(graph.stats()?.version_bytes.unwrap_or(0));
    }
    figures::row(&Versions {
        version_bytes_none_ended: bytes[0],
        version_bytes_quarter_ended: bytes[1],
        version_bytes_half_ended: bytes[2],
        version_bytes_three_quarters_ended: bytes[3],
        version_bytes_all_ended: bytes[4],
    })
}
