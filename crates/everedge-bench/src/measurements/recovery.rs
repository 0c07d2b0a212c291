//! `everedge bench recovery`: how long a graph takes to open after its writer has ended.
//!
//! The writer is a process of its own. It prints a line when its edges are made, and one after
//! each acknowledged batch: how many edges are acknowledged, and the seconds until then. The
//! measuring process ends it with SIGKILL, opens the graph, and compares the degrees of its
//! vertices with those of the edges that must be there. What stood in the pipe at the kill counts
//! as acknowledged.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdout, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use everedge::{Batch, Edge, Graph, View};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use serde::Serialize;

use crate::arguments::Medium;
use crate::harness::figures::{self, Row};
use crate::harness::table::{self, Column, Form};
use crate::harness::{Case, Common, End, Lists, Task, Work, process};
use crate::output::{Output, print_line};

/// The media that survive a process.
pub(crate) const MEDIA: [Medium; 2] = [Medium::Pmem, Medium::File];
/// The longest pause between a line and an early kill, in microseconds.
const PAUSE_US_MAX: u64 = 2_000;
/// The number of SIGKILL.
const SIGKILL: i32 = 9;

/// Measure opening a graph after its writer was killed.
///
/// A process ingests the graph and is killed with SIGKILL when all is acknowledged. Then the graph
/// is opened, and a snapshot taken. An acknowledged edge that is not there is an error.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  everedge bench recovery --scale 20 --on 2
  everedge bench recovery --scale 18 --medium pmem --closed --early --trials 10")]
pub(crate) struct Args {
    #[command(flatten)]
    common: Common,

    /// Measure also opening after a clean close.
    #[arg(long)]
    closed: bool,

    /// Measure also opening after a kill at a pseudo-random moment in the middle.
    #[arg(long)]
    early: bool,

    #[command(flatten)]
    lists: Lists,
}

const COLUMNS: [Column; 7] = [
    Column { key: "ingest_seconds", title: "ingest", form: Form::Seconds },
    Column { key: "open_seconds", title: "open", form: Form::Seconds },
    Column { key: "open_ratio", title: "open/ingest", form: Form::Ratio },
    Column { key: "snapshot_seconds", title: "snapshot", form: Form::Seconds },
    Column { key: "edges_acknowledged", title: "acknowledged", form: Form::Count },
    Column { key: "replayed_updates", title: "replayed", form: Form::Count },
    Column { key: "edges_lost", title: "lost", form: Form::Count },
];

/// The figures of one opening.
#[derive(Debug, Serialize)]
struct Figures {
    end: End,
    /// Seconds from the first batch until the last acknowledgement.
    ingest_seconds: f64,
    /// Seconds of opening.
    open_seconds: f64,
    /// Seconds of opening for one of ingest.
    open_ratio: f64,
    /// Seconds of the first snapshot after it, which archives what was logged and not archived.
    snapshot_seconds: f64,
    /// Updates in the log that opening replayed.
    replayed_updates: u64,
    edges_acknowledged: u64,
    edges_found: u64,
    edges_lost: u64,
}

pub(crate) fn run(args: &Args, output: Output) -> Result<()> {
    let configurations = args.lists.configurations(&MEDIA)?;
    ensure!(
        configurations.iter().all(|one| one.medium != Medium::Dram),
        "nothing on dram survives its process; give --medium pmem, file or both"
    );
    let mut ends = vec![End::Killed];
    ends.extend(args.closed.then_some(End::Closed));
    ends.extend(args.early.then_some(End::Early));
    let case = |end, configuration| Case { work: Work::Recover { end }, configuration };
    let cases: Vec<Case> = configurations
        .into_iter()
        .flat_map(|one| ends.iter().map(move |&end| case(end, one.clone())))
        .collect();
    let rows = process::measure(&args.common, &cases, output)?;
    table::print(output, &args.common, &rows, (&["end"], &COLUMNS), None)
}

/// Ingests in this process and prints a line after each batch. Then waits for the end.
///
/// # Errors
/// If the medium fails.
pub(crate) fn write(task: &Task, end: End) -> Result<()> {
    let graph = task.create(false)?;
    let edges = task.edges()?;
    print_line(&"0 0")?;
    let start = Instant::now();
    let mut acknowledged = 0;
    for batch in edges.chunks(task.configuration.batch) {
        graph.apply(&Batch::insertions(batch.iter().copied(), None)?)?;
        acknowledged += batch.len();
        print_line(&format_args!("{acknowledged} {}", start.elapsed().as_secs_f64()))?;
    }
    if end == End::Closed {
        return Ok(graph.close()?);
    }
    // The kill comes now. Should the other process be gone, this ends with its standard input.
    std::io::stdin().read_to_end(&mut Vec::new())?;
    bail!("the writer was not killed")
}

/// Lets a process write, opens what it leaves and returns the figures.
///
/// # Errors
/// If a process fails, the graph is damaged, or an acknowledged edge is not there.
pub(crate) fn measure(task: &Task, end: End) -> Result<Row> {
    let edges = task.edges()?;
    let total = edges.len() as u64;
    let mut writer = Writer::start(task, end)?;
    match end {
        End::Killed => writer.kill_at(total, Duration::ZERO)?,
        End::Closed => writer.wait(total)?,
        End::Early => {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(task.seed);
            let moment = random.random_range(1..=total);
            let pause = Duration::from_micros(random.random_range(0..PAUSE_US_MAX));
            writer.kill_at(moment, pause)?;
        }
    }
    let start = Instant::now();
    let graph = Graph::open(&task.graph, false).context("cannot open what the writer left")?;
    let open_seconds = start.elapsed().as_secs_f64();
    let view = graph.snapshot()?;
    let snapshot_seconds = start.elapsed().as_secs_f64() - open_seconds;
    let edges_found = view.edge_count();
    let edges_lost = writer.acknowledged.saturating_sub(edges_found);
    ensure!(
        edges_lost == 0,
        "{edges_lost} acknowledged edges were lost: a bug; please report it with this command"
    );
    ensure!(edges_found <= total, "{edges_found} edges are there, but only {total} were written");
    compare(&view, &edges[..edges_found as usize])?;
    let found = graph.verify()?;
    ensure!(found.ok, "the graph is damaged: {}", found.problems.join("; "));
    figures::row(&Figures {
        end,
        ingest_seconds: writer.seconds,
        open_seconds,
        open_ratio: open_seconds / writer.seconds.max(f64::MIN_POSITIVE),
        snapshot_seconds,
        replayed_updates: graph.recovery().replayed_updates,
        edges_acknowledged: writer.acknowledged,
        edges_found,
        edges_lost,
    })
}

/// Compares the degrees of a view with those that `edges` make.
fn compare(view: &View, edges: &[Edge]) -> Result<()> {
    let bound = view.vertex_bound() as usize;
    let (mut out, mut incoming) = (vec![0; bound], vec![0; bound]);
    for &(u, v) in edges {
        let is_there = (u as usize) < bound && (v as usize) < bound;
        ensure!(is_there, "the edge {u} → {v} is not there: the graph has {bound} vertices");
        out[u as usize] += 1;
        incoming[v as usize] += 1;
    }
    let is_equal = view.out_degrees() == out && view.in_degrees() == incoming;
    ensure!(is_equal, "other edges are there than the first {} that were written", edges.len());
    Ok(())
}

/// The process that writes.
struct Writer {
    child: Child,
    output: BufReader<ChildStdout>,
    acknowledged: u64,
    /// From its first batch until the last acknowledgement.
    seconds: f64,
}

impl Writer {
    /// Starts it and waits for the moment before its first batch.
    fn start(task: &Task, end: End) -> Result<Self> {
        let task = Task { work: Work::Write { end }, ..task.clone() };
        let mut child = task
            .command()?
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the writer")?;
        let output = child.stdout.take().context("the writer has no output")?;
        let output = BufReader::new(output);
        let mut writer = Self { child, output, acknowledged: 0, seconds: 0.0 };
        if !writer.next()? {
            let status = writer.child.wait()?;
            bail!("the writer failed before its first batch: {status}");
        }
        Ok(writer)
    }

    /// Waits for the next line. Returns whether there is one; half a line is none.
    fn next(&mut self) -> Result<bool> {
        let mut line = String::new();
        self.output.read_line(&mut line).context("cannot read the writer")?;
        let Some(line) = line.strip_suffix('\n') else { return Ok(false) };
        let parsed = || {
            let (edges, seconds) = line.split_once(' ')?;
            Some((edges.parse().ok()?, seconds.parse().ok()?))
        };
        (self.acknowledged, self.seconds) =
            parsed().with_context(|| format!("the writer said `{line}`"))?;
        Ok(true)
    }

    /// Kills it when so many edges are acknowledged, after a pause.
    fn kill_at(&mut self, edges: u64, pause: Duration) -> Result<()> {
        while self.acknowledged < edges && self.next()? {}
        sleep(pause);
        self.child.kill().context("cannot kill the writer")?;
        while self.next()? {}
        let status = self.child.wait().context("cannot wait for the writer")?;
        ensure!(status.signal() == Some(SIGKILL), "the writer ended before the kill: {status}");
        Ok(())
    }

    /// Waits until it has ended by itself with so many edges.
    fn wait(&mut self, edges: u64) -> Result<()> {
        while self.next()? {}
        let status = self.child.wait().context("cannot wait for the writer")?;
        let acknowledged = self.acknowledged;
        ensure!(
            status.success() && acknowledged == edges,
            "the writer ended with {acknowledged} of {edges} edges acknowledged: {status}"
        );
        Ok(())
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // Nothing to do if it has ended, which it has unless an error came before.
        self.child.kill().and_then(|()| self.child.wait()).ok();
    }
}
