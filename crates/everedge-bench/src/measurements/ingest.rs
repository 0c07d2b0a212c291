//! `everedge bench ingest`: batches of edges into an empty graph, every batch acknowledged.

use std::fs::DirEntry;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use everedge::{Edge, Generator, Graph, GraphOptions, Mechanisms, MeterReading, median};
use serde::Serialize;

use crate::arguments::Medium;
use crate::harness::figures::{self, Row};
use crate::harness::table::{self, Column, Form};
use crate::harness::{BATCH, Case, Common, Configuration, Lists, Task, Work, process};
use crate::output::Output;

/// The media on which graphs are ingested.
pub(crate) const MEDIA: [Medium; 3] = [Medium::Dram, Medium::Pmem, Medium::File];
/// Bytes of an edge that the generator made: two ids.
const EDGE_BYTES: u64 = 8;

/// Measure taking edges into an empty graph.
///
/// Time runs from the first batch until all are acknowledged, and on until all are archived,
/// that is, in the lists of their vertices. Peak memory leaves out the generated edges, which
/// are all there before the first batch. For the layout pma, JSON rows say how often each mechanism
/// ran: gaps, edge logs, rebalanced windows, and arrays that were written, by the reason.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  everedge bench ingest --scale 20 --on 2
  everedge bench ingest --scale 20 --medium pmem --phases overlapped,in-turn
  everedge bench ingest --scale 18 --medium pmem --buffer-max 64,128,256 --meter
  everedge bench ingest --scale 18 --medium pmem --layout pma --edge-log 0,2048 --batch 1 --meter")]
pub(crate) struct Args {
    #[command(flatten)]
    common: Common,

    /// Count what the device would read and write by the meter's model; slower.
    #[arg(long)]
    meter: bool,

    #[command(flatten)]
    lists: Lists,
}

/// What is shown of it.
const COLUMNS: [Column; 14] = [
    Column { key: "acknowledged_per_second", title: "acknowledged/s", form: Form::PerSecond },
    Column { key: "archived_per_second", title: "archived/s", form: Form::PerSecond },
    Column { key: "longest_batch_seconds", title: "longest batch", form: Form::Seconds },
    Column { key: "round_seconds", title: "median round", form: Form::Seconds },
    Column { key: "peak_rss_bytes", title: "peak memory", form: Form::Bytes },
    Column { key: "disk_bytes", title: "disk", form: Form::Bytes },
    Column { key: "stored_in_edge_logs", title: "in edge logs", form: Form::Count },
    Column { key: "stored_directly", title: "without the log", form: Form::Count },
    Column { key: "rebalanced_windows", title: "rebalanced", form: Form::Count },
    Column { key: "rewritten_words_per_edge", title: "words copied/edge", form: Form::Ratio },
    Column { key: "media_written_bytes", title: "media written", form: Form::Bytes },
    Column {
        key: "acknowledged_media_written_bytes",
        title: "at the last batch",
        form: Form::Bytes,
    },
    Column { key: "media_read_bytes", title: "media read", form: Form::Bytes },
    Column { key: "fences", title: "fences", form: Form::Count },
];

/// The figures of one ingest.
#[derive(Debug, Serialize)]
pub(crate) struct Figures {
    edges: u64,
    /// Seconds until all batches are acknowledged.
    acknowledged_seconds: f64,
    /// Seconds until all edges are in the lists too.
    archived_seconds: f64,
    acknowledged_per_second: f64,
    archived_per_second: f64,
    /// The most seconds that a writer took for a batch, or for as many of fewer edges as have 65,536
    /// together: how long archiving may keep it waiting.
    longest_batch_seconds: f64,
    /// The median time of a round of archiving, without those that took less than a quarter of the longest.
    round_seconds: f64,
    /// The most memory that the process had, mapped files included, generated edges left out.
    peak_rss_bytes: u64,
    /// Bytes of the graph on its medium.
    disk_bytes: u64,
    /// What the busiest thread has archived for one of the mean.
    busiest_thread_ratio: f64,
    #[serde(flatten)]
    memory: Memory,
    #[serde(flatten)]
    mechanisms: Option<Counted>,
    #[serde(flatten)]
    media: Option<Media>,
}

/// How often the mechanisms of the layout `pma` ran, until all was archived.
#[derive(Debug, Serialize)]
struct Counted {
    #[serde(flatten)]
    mechanisms: Mechanisms,
    /// Words of lists that arrays took when they were written, for each edge. Without weights an edge
    /// has one in each direction, which an array that is written for a round takes for the first time.
    rewritten_words_per_edge: f64,
}

/// Which part of a graph takes how much, after all is archived.
#[derive(Debug, Serialize)]
struct Memory {
    /// The log's bytes on the medium.
    log_bytes: Option<u64>,
    /// The bytes of blocks, or of arrays, on the medium.
    list_bytes: Option<u64>,
    /// Memory of vertex buffers.
    buffer_bytes: Option<u64>,
    /// All other memory of the process that is not mapped from the medium.
    rest_bytes: u64,
    /// Both of them together.
    process_bytes: u64,
}

/// What the device does, by the meter's model.
#[derive(Debug, Serialize)]
struct Media {
    media_written_bytes: u64,
    /// Of them, those until the last batch was acknowledged: what batches cost by themselves as far as
    /// nothing was archived meanwhile.
    acknowledged_media_written_bytes: u64,
    media_read_bytes: u64,
    /// Bytes written for each byte of edges: 4 an edge and direction.
    media_written_ratio: f64,
    media_read_ratio: f64,
    fences: u64,
}

pub(crate) fn run(args: &Args, output: Output) -> Result<()> {
    let work = Work::Ingest { meter: args.meter };
    let case = |configuration: Configuration| Case { work, configuration };
    let cases: Vec<Case> = args.lists.configurations(&MEDIA)?.into_iter().map(case).collect();
    let rows = process::measure(&args.common, &cases, output)?;
    table::print(output, &args.common, &rows, (&[], &COLUMNS), None)
}

/// Ingests the graph and returns the figures.
///
/// # Errors
/// If the medium fails or an edge is missing.
pub(crate) fn measure(task: &Task, meter: bool) -> Result<Row> {
    figures::row(&figures(task, &task.create(meter)?)?)
}

/// Ingests into an empty graph.
///
/// # Errors
/// As [`measure`].
pub(crate) fn figures(task: &Task, graph: &Graph) -> Result<Figures> {
    // All of them first: archiving goes on between batches, and all of it is to be timed.
    let edges = task.edges()?;
    let total = edges.len() as u64;
    let weights = graph.options().weighted.then(|| weights(total)).transpose()?;
    let Configuration { batch, writers, ref options, .. } = task.configuration;
    let times = take(graph, &edges, weights.as_deref(), [batch, writers])?;
    let directions = if options.in_neighbors { 2 } else { 1 };
    let edge_bytes = (total * 4 * directions) as f64;
    let mechanisms = graph.mechanisms().map(|mechanisms| Counted {
        mechanisms,
        rewritten_words_per_edge: mechanisms.rewritten_words as f64 / total as f64,
    });
    let at_acknowledged = times.acknowledged_meter.unwrap_or_default();
    let media = graph.meter().map(|meter| Media {
        media_written_bytes: meter.media_written_bytes,
        acknowledged_media_written_bytes: at_acknowledged.media_written_bytes,
        media_read_bytes: meter.media_read_bytes,
        media_written_ratio: meter.media_written_bytes as f64 / edge_bytes,
        media_read_ratio: meter.media_read_bytes as f64 / edge_bytes,
        fences: meter.fences,
    });
    Ok(Figures {
        edges: total,
        acknowledged_seconds: times.acknowledged,
        archived_seconds: times.archived,
        acknowledged_per_second: total as f64 / times.acknowledged,
        archived_per_second: total as f64 / times.archived,
        longest_batch_seconds: times.longest,
        round_seconds: round_seconds(&graph.round_times()),
        peak_rss_bytes: everedge::peak_rss_bytes().saturating_sub(total * EDGE_BYTES),
        disk_bytes: graph.stats()?.disk_bytes,
        busiest_thread_ratio: busiest(&graph.thread_shares()),
        memory: memory(task, graph, &edges),
        mechanisms,
        media,
    })
}

/// Returns the median of the rounds that took at least a quarter of the longest: a last one may be small.
fn round_seconds(times: &[Duration]) -> f64 {
    let longest = times.iter().max().copied().unwrap_or_default();
    let long: Vec<f64> =
        times.iter().filter(|&&time| time >= longest / 4).map(Duration::as_secs_f64).collect();
    if long.is_empty() { 0.0 } else { median(&long) }
}

/// Returns the weights of so many edges: above 0 and below 1, and sums of them are exact. They depend
/// on an edge's number only, and not on its graph.
fn weights(total: u64) -> Result<Vec<f32>> {
    const SCALE: u32 = 10;
    let generator = Generator::uniform(SCALE, total.div_ceil(1 << SCALE).try_into()?, 1)?;
    let mut weights = generator.weights(0..total);
    weights.iter_mut().for_each(|weight| *weight /= 256.0);
    Ok(weights)
}

/// Returns the largest of the shares for one of their mean.
fn busiest(shares: &[u64]) -> f64 {
    let mean = shares.iter().sum::<u64>() as f64 / shares.len().max(1) as f64;
    shares.iter().max().map_or(1.0, |&largest| largest as f64 / mean.max(1.0))
}

/// How long an ingest took, in seconds from the first batch on.
pub(crate) struct Times {
    /// Until all was acknowledged.
    pub(crate) acknowledged: f64,
    /// Until all was archived.
    pub(crate) archived: f64,
    /// The most that a writer took for a batch, or for several that have so many edges together.
    longest: f64,
    /// What the medium had done when all was acknowledged, if that is counted.
    acknowledged_meter: Option<MeterReading>,
}

/// Inserts edges in batches, which so many writers take in turn, and waits until they are archived.
///
/// # Errors
/// If the medium fails, the system refuses a thread, or the graph has another number of edges then.
pub(crate) fn take(
    graph: &Graph,
    edges: &[Edge],
    weights: Option<&[f32]>,
    [batch, writers]: [usize; 2],
) -> Result<Times> {
    // Writers meet so seldom that it does not matter.
    let stretch = batch * BATCH.div_ceil(batch);
    let next = AtomicUsize::new(0);
    let write = || -> Result<f64> {
        let mut longest = 0.0_f64;
        loop {
            let from = next.fetch_add(stretch, Relaxed);
            let Some(rest) = edges.get(from..).filter(|rest| !rest.is_empty()) else {
                return Ok(longest);
            };
            let start = Instant::now();
            for (i, edges) in rest[..rest.len().min(stretch)].chunks(batch).enumerate() {
                let from = from + i * batch;
                let weights = weights.map(|weights| &weights[from..from + edges.len()]);
                graph.insert(edges, weights)?;
            }
            longest = longest.max(start.elapsed().as_secs_f64());
        }
    };
    let start = Instant::now();
    let longest = std::thread::scope(|scope| {
        let start = |_| std::thread::Builder::new().spawn_scoped(scope, write);
        let others = (1..writers).map(start).collect::<std::io::Result<Vec<_>>>();
        let others = others.with_context(|| {
            // Those that have started find nothing left.
            next.fetch_max(edges.len(), Relaxed);
            format!("cannot start {writers} writers")
        })?;
        let own = write();
        let join = |other: ScopedJoinHandle<'_, _>| other.join().expect("writers do not panic");
        others.into_iter().map(join).fold(own, |longest, other| Ok(longest?.max(other?)))
    })?;
    let acknowledged = start.elapsed().as_secs_f64();
    let acknowledged_meter = graph.meter();
    let found = graph.snapshot()?.edge_count();
    let archived = start.elapsed().as_secs_f64();
    let GraphOptions { simple, directed, .. } = *graph.options();
    let total = if simple { distinct(edges.to_vec(), directed).len() } else { edges.len() };
    ensure!(found == total as u64, "the graph has {found} edges after an ingest of {total}");
    Ok(Times { acknowledged, archived, longest, acknowledged_meter })
}

/// Returns a seed that makes other edges than those of the graph, which has the seed 1.
pub(super) fn other_seed(task: &Task) -> u64 {
    task.seed + 2
}

/// Returns an edge by which its other direction is known, too, where that is the same.
pub(super) fn named((u, v): Edge, directed: bool) -> Edge {
    if directed { (u, v) } else { (u.min(v), u.max(v)) }
}

/// Returns the edges without those that come again.
pub(super) fn distinct(mut edges: Vec<Edge>, directed: bool) -> Vec<Edge> {
    edges.iter_mut().for_each(|edge| *edge = named(*edge, directed));
    edges.sort_unstable();
    edges.dedup();
    edges
}

/// Returns the bytes of the files in a directory whose names begin so, if there are some.
fn used_bytes(directory: &Path, prefix: &str) -> Option<u64> {
    // A file has no more blocks of 512 bytes than it uses.
    let used = |file: DirEntry| file.metadata().map_or(0, |found| found.blocks() * 512);
    let files = std::fs::read_dir(directory).ok()?.flatten();
    let wanted = files.filter(|file| file.file_name().as_bytes().starts_with(prefix.as_bytes()));
    wanted.map(used).reduce(|sum, bytes| sum + bytes)
}

/// Looks which part takes how much while `edges` are still in memory.
fn memory(task: &Task, graph: &Graph, edges: &[Edge]) -> Memory {
    let on_medium = |prefix: &str| used_bytes(&task.graph, prefix);
    let process_bytes = status_bytes("RssAnon:").saturating_sub(size_of_val(edges) as u64);
    let buffer_bytes = buffer_bytes(graph);
    Memory {
        log_bytes: on_medium("log"),
        list_bytes: on_medium("blocks").or_else(|| on_medium("arrays")),
        buffer_bytes,
        rest_bytes: process_bytes.saturating_sub(buffer_bytes.unwrap_or(0)),
        process_bytes,
    }
}

/// The one place that asks what vertex buffers take. The facade does not say it yet: until then
/// they are part of the rest.
fn buffer_bytes(_graph: &Graph) -> Option<u64> {
    None
}

/// Returns a size that the system knows of this process, or 0 where it does not say.
fn status_bytes(key: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let value = status.lines().find_map(|line| line.strip_prefix(key));
    let kib = value.and_then(|value| value.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
