//! Real processes, really killed: what `everedge ingest --acknowledge` said is there afterwards.
//!
//! Four graphs, one of each layout on files and on emulated persistent memory, live through the whole
//! run. In each round a process takes in the next batches and is killed at a random time: while it opens
//! the graph and recovers from the kill before, while it ingests, or while it closes. The log is
//! small, so that it wraps and shards are saved on the way. Mostly the graph is then opened for
//! reading, which leaves the recovery to the next process; now and then for writing.
//!
//! `EVEREDGE_KILLS` is the number of kills, 100 unless given.

use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use everedge::{Edge, Graph, GraphOptions, Layout, MediumKind, View};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

const SEED: u64 = 0x5eed_2026;
pub(crate) const KILLS: u64 = 100;
/// Edges of a batch.
const BATCH: u64 = 32;
/// Batches that a process is given.
const BATCHES_PER_ROUND: u64 = 96;
/// Edges join vertices below this number; the lower, the longer the lists.
const VERTICES: u32 = 600;
/// Bytes of the log: a few rounds fill it.
const LOG_BYTES: u64 = 64 << 10;
/// One round in so many opens the graph for writing and closes it.
const ROUNDS_PER_WRITING_OPEN: u64 = 8;
pub(crate) const SIGKILL: i32 = 9;

/// The edge that comes `number`-th in the life of a graph. Equal edges come again.
fn edge(number: u64) -> Edge {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED ^ number);
    let mut vertex = || random.random_range(0..VERTICES);
    (vertex(), vertex())
}

/// A graph that lives through the run, and what it must hold.
struct Victim {
    directory: PathBuf,
    /// Batches that are in the graph.
    batches: u64,
    /// Lines that all processes wrote.
    acknowledged: u64,
    kills: u64,
    /// How long a process lives that is not killed.
    life: Duration,
}

impl Victim {
    fn new(place: &Path, layout: Layout, medium: MediumKind) -> Self {
        let directory = place.join(format!("{layout}-{medium}"));
        let options =
            GraphOptions { layout, medium, log_bytes: LOG_BYTES, ..GraphOptions::default() };
        Graph::create(&directory, &options, false).unwrap().close().unwrap();
        let mut victim = Self {
            directory,
            batches: 0,
            acknowledged: 0,
            kills: 0,
            life: Duration::from_secs(60),
        };
        victim.play(Duration::from_secs(60), 1);
        victim
    }

    /// Lets a process ingest, kills it after `delay`, and checks the graph.
    fn play(&mut self, delay: Duration, round: u64) {
        let said = self.ingest(delay);
        let acknowledged = said.lines().count() as u64;
        self.acknowledged += acknowledged;
        if round.is_multiple_of(ROUNDS_PER_WRITING_OPEN) {
            let graph = Graph::open(&self.directory, false).unwrap();
            self.check(&graph.snapshot().unwrap(), acknowledged, round);
            let found = graph.verify().unwrap();
            assert!(found.ok, "round {round}: {:?}", found.problems);
            graph.close().unwrap();
        } else {
            let graph = Graph::open_read_only(&self.directory).unwrap();
            let other = Graph::open_read_only(&self.directory).unwrap();
            assert_eq!(graph.recovery(), other.recovery(), "two readers find the same");
            self.check(&graph.snapshot().unwrap(), acknowledged, round);
            self.check(&other.snapshot().unwrap(), 0, round);
        }
    }

    /// Returns the whole lines that the process wrote: one for each batch.
    fn ingest(&mut self, delay: Duration) -> String {
        let file = self.directory.with_extension("bin");
        let first = self.batches * BATCH;
        let edges = (first..first + BATCHES_PER_ROUND * BATCH).map(edge);
        let bytes = edges.flat_map(|(u, v)| [u.to_le_bytes(), v.to_le_bytes()]).flatten();
        let mut out = std::fs::File::options();
        let out = out.write(true).create(true).truncate(true).open(&file);
        out.unwrap().write_all(&bytes.collect::<Vec<u8>>()).unwrap();
        let start = Instant::now();
        let mut child = Command::new(env!("CARGO_BIN_EXE_everedge"))
            .args(["ingest", "--acknowledge", "--quiet", "--threads", "2"])
            .args(["--batch", &BATCH.to_string()])
            .args([&self.directory, &file])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        while start.elapsed() < delay && child.try_wait().unwrap().is_none() {
            sleep(Duration::from_micros(100).min(delay.saturating_sub(start.elapsed())));
        }
        let lived = start.elapsed();
        child.kill().unwrap();
        let mut said = String::new();
        child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
        let status = child.wait().unwrap();
        if status.signal() == Some(SIGKILL) {
            self.kills += 1;
        } else {
            assert!(status.success(), "{status}");
            assert_eq!(said.lines().count() as u64, BATCHES_PER_ROUND);
            self.life = lived;
        }
        said.truncate(said.rfind('\n').map_or(0, |end| end + 1));
        said
    }

    /// Compares the graph with the first batches: at least what was acknowledged, at most what was
    /// given, and nothing but whole batches.
    fn check(&mut self, view: &View, acknowledged: u64, round: u64) {
        let place = format!("{}, round {round}", self.directory.display());
        let edge_count = view.edge_count();
        assert_eq!(edge_count % BATCH, 0, "{place}: part of a batch");
        let batches = edge_count / BATCH;
        let least = self.batches + acknowledged;
        assert!(batches >= least, "{place}: {batches} batches, {least} acknowledged");
        assert!(batches <= self.batches + BATCHES_PER_ROUND, "{place}: {batches} batches");
        let mut expected: Vec<Edge> = (0..edge_count).map(edge).collect();
        let mut in_degrees = vec![0; view.vertex_bound() as usize];
        expected.iter().for_each(|&(_, v)| in_degrees[v as usize] += 1);
        expected.sort_unstable();
        let mut found = Vec::with_capacity(expected.len());
        let all = view.for_each_arc(|u, v, _| {
            found.push((u, v));
            Ok::<(), std::convert::Infallible>(())
        });
        assert_eq!(all, Ok(()));
        found.sort_unstable();
        assert!(found == expected, "{place}: other edges than the first {batches} batches");
        assert_eq!(view.in_degrees(), in_degrees, "{place}");
        self.batches = batches;
    }
}

/// Returns how many kills there are to be.
pub(crate) fn kills(default: u64) -> u64 {
    match std::env::var("EVEREDGE_KILLS") {
        Ok(number) => number.parse().expect("EVEREDGE_KILLS is a number"),
        Err(_) => default,
    }
}

#[test]
fn killed_processes_lose_nothing_that_they_acknowledged() {
    let kills = kills(KILLS);
    let place = tempfile::tempdir().unwrap();
    let media = [MediumKind::File, MediumKind::Pmem { emulated: true }];
    let all = Layout::ALL.map(|layout| media.map(|medium| (layout, medium)));
    let mut victims: Vec<Victim> =
        all.into_iter().flatten().map(|(l, medium)| Victim::new(place.path(), l, medium)).collect();
    let victim_count = victims.len();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
    let mut round = 1;
    while victims.iter().map(|victim| victim.kills).sum::<u64>() < kills {
        let victim = &mut victims[round as usize % victim_count];
        // A process that outlives its time says how long a life is now.
        let share = random.random_range(0.0..1.25);
        victim.play(victim.life.mul_f64(share), round / victim_count as u64 + 1);
        round += 1;
    }
    for victim in &victims {
        let graph = Graph::open(&victim.directory, false).unwrap();
        let found = graph.verify().unwrap();
        assert!(found.ok, "{:?}", found.problems);
        graph.close().unwrap();
    }
    let kills: u64 = victims.iter().map(|victim| victim.kills).sum();
    let acknowledged: u64 = victims.iter().map(|victim| victim.acknowledged).sum();
    println!("kills={kills} acknowledged_batches={acknowledged} lost=0");
}
