//! *Pulling the plug*: a process ingests and is killed; what it acknowledged must be there.
//!
//! The process is this program's own `ingest --acknowledge`, which writes a line after each batch
//! that the graph has taken. SIGKILL ends it at a pseudo-random number of lines or at a
//! pseudo-random time, whatever comes first. What stood in the pipe by then counts as acknowledged. The
//! graph is then opened as after any crash, and its edges are compared, one by one, with the batches as
//! they stand in the file.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use everedge::{Edge, Graph, View};
use indicatif::ProgressBar;
use rand::RngExt;
use rand::rngs::Xoshiro256PlusPlus;

use super::questions::edges_where;
use super::report::CrashRound;

/// Edges of a batch.
const BATCH: usize = 256;
/// Bytes of the log: few, so that it wraps and buffers are flushed while the process lives.
const LOG_SIZE: &str = "64K";
/// The longest that a process writes, in microseconds, where batches take long.
const WRITING_US_MAX: u64 = 2_000_000;
/// The longest pause between the last line that is waited for and the kill, in microseconds.
const PAUSE_US_MAX: u64 = 2_000;
/// The number of SIGKILL.
const SIGKILL: i32 = 9;

/// What is ingested, and where.
pub(super) struct Plug<'a> {
    /// The directory of the graph, removed after each round.
    pub(super) graph: PathBuf,
    /// The file that the process ingests.
    pub(super) file: PathBuf,
    /// Its edges in order, without duplicates.
    pub(super) edges: Vec<(&'a str, &'a str)>,
}

impl Plug<'_> {
    /// Plays one round. Returns nothing if the process was done before the kill.
    ///
    /// # Errors
    /// If the process cannot start or fails, or the graph that it leaves does not open, is
    /// damaged, or holds anything but whole batches in their order. Batches that were lost are no
    /// error here.
    pub(super) fn pull(
        &self,
        random: &mut Xoshiro256PlusPlus,
        bar: &ProgressBar,
    ) -> Result<Option<CrashRound>> {
        let batch_count = self.edges.len().div_ceil(BATCH) as u64;
        let moment = Moment {
            batches: random.random_range(1..=batch_count * 9 / 10) as usize,
            writing: Duration::from_micros(random.random_range(0..WRITING_US_MAX)),
            pause: Duration::from_micros(random.random_range(0..PAUSE_US_MAX)),
        };
        let Some((acknowledged, kill_ms)) = self.write_and_kill(&moment, bar)? else {
            Graph::remove(&self.graph)?;
            return Ok(None);
        };
        let graph = Graph::open(&self.graph, false).context("after the kill")?;
        let recovery_ms = graph.open_time().as_secs_f64() * 1e3;
        let (batches_recovered, batches_lost) =
            self.compare(&graph.snapshot()?, acknowledged.batches)?;
        let found = graph.verify()?;
        ensure!(found.ok, "damaged after the kill: {}", found.problems.join("; "));
        drop(graph);
        Graph::remove(&self.graph)?;
        Ok(Some(CrashRound {
            batches_acknowledged: acknowledged.batches as u64,
            edges_acknowledged: acknowledged.edges,
            kill_ms,
            recovery_ms,
            batches_recovered,
            batches_lost,
        }))
    }

    /// Returns the acknowledgements and when the kill was sent, unless it came too late.
    fn write_and_kill(
        &self,
        moment: &Moment,
        bar: &ProgressBar,
    ) -> Result<Option<(Acknowledged, f64)>> {
        let start = Instant::now();
        let mut child = self.start()?;
        let output = child.stdout.take().context("the writer has no output")?;
        let mut lines =
            Lines { start, output: BufReader::new(output), acknowledged: Acknowledged::default() };
        while !lines.have_reached(moment) && lines.next()? {
            bar.set_position(lines.acknowledged.edges);
        }
        sleep(moment.pause);
        let kill_ms = lines.elapsed_ms();
        child.kill().context("cannot kill the writer")?;
        while lines.next()? {}
        let status = child.wait().context("cannot wait for the writer")?;
        if status.signal() == Some(SIGKILL) {
            return Ok(Some((lines.acknowledged, kill_ms)));
        }
        ensure!(status.success(), "the writer failed by itself: {status}");
        Ok(None)
    }

    fn start(&self) -> Result<Child> {
        let program = std::env::current_exe().context("cannot find this program")?;
        Command::new(program)
            .args(["ingest", "--acknowledge", "--quiet", "--format", "edge-list"])
            .args(["--batch", &BATCH.to_string(), "--log-size", LOG_SIZE])
            .args([&self.graph, &self.file])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the writer")
    }

    /// Returns how many batches are there, counted from the first, and how many of the
    /// acknowledged ones are not.
    fn compare(&self, view: &View, acknowledged: usize) -> Result<(u64, u64)> {
        let present: HashSet<Edge> = edges_where(view, |_, _| true).into_iter().collect();
        let is_present = |&(from, to): &(&str, &str)| {
            let edge = view.find(from).zip(view.find(to));
            edge.is_some_and(|edge| present.contains(&edge))
        };
        let is_whole = |batch: &[(&str, &str)]| batch.iter().all(is_present);
        let batches = || self.edges.chunks(BATCH);
        let recovered = batches().take_while(|batch| is_whole(batch)).count();
        let lost = batches().take(acknowledged).filter(|batch| !is_whole(batch)).count();
        let edge_count = (recovered * BATCH).min(self.edges.len()) as u64;
        if lost == 0 && (view.edge_count(), present.len() as u64) != (edge_count, edge_count) {
            bail!(
                "after the kill the graph has {} edges, but its first {recovered} batches have \
                 {edge_count}",
                view.edge_count()
            );
        }
        Ok((recovered as u64, lost as u64))
    }
}

/// When a process is killed.
struct Moment {
    /// After so many acknowledgements at the latest.
    batches: usize,
    /// So long after the first of them at the latest.
    writing: Duration,
    /// So long after the one or the other.
    pause: Duration,
}

/// What a writing process has acknowledged.
#[derive(Default)]
struct Acknowledged {
    batches: usize,
    edges: u64,
    /// When the first batch was, in ms since the process began.
    first_ms: Option<f64>,
}

/// What the writing process says.
struct Lines {
    start: Instant,
    output: BufReader<ChildStdout>,
    acknowledged: Acknowledged,
}

impl Lines {
    /// Waits for the next line. Returns whether there is one; half a line is none.
    fn next(&mut self) -> Result<bool> {
        let mut line = String::new();
        let read = self.output.by_ref().read_line(&mut line).context("cannot read the writer")?;
        let Some(number) = line.strip_suffix('\n') else { return Ok(read > 0) };
        let edges = number.parse().with_context(|| format!("the writer said `{number}`"))?;
        let now = self.elapsed_ms();
        let acknowledged = &mut self.acknowledged;
        acknowledged.batches += 1;
        acknowledged.edges = edges;
        acknowledged.first_ms.get_or_insert(now);
        Ok(true)
    }

    fn have_reached(&self, moment: &Moment) -> bool {
        let Some(first_ms) = self.acknowledged.first_ms else { return false };
        let writing_ms = self.elapsed_ms() - first_ms;
        self.acknowledged.batches >= moment.batches
            || writing_ms >= moment.writing.as_secs_f64() * 1e3
    }

    fn elapsed_ms(&self) -> f64 {
        self.start.elapsed().as_secs_f64() * 1e3
    }
}
