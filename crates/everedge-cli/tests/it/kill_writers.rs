//! Real processes, really killed, while two writers insert and delete beside maintenance: what was
//! acknowledged is there afterwards, and nothing is there in part.
//!
//! The process that is killed is this test binary, run again as [`child`]: each of its two writers
//! runs operations of a script and notes in a file when one has returned, while its main
//! thread takes snapshots, compacts, commits versions and lets old ones go. Writers have vertices of their own, so that the edges of one
//! do not depend on the other. A writer waits for each operation: after the kill there are all that
//! it spoke of, and at most the next one. A version is called after what the writers had done when its commit
//! began; it has that, or more, and nothing that the graph has not.
//!
//! Four graphs live through the whole run, one of each layout on files and on emulated persistent
//! memory; half of them have weights, half are directed. `EVEREDGE_KILLS` is the number of kills.

use std::fs::File;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use everedge::{
    Batch, Durability, Edge, Graph, GraphOptions, Keep, Layout, MediumKind, VersionChoice,
    VertexId, View,
};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use crate::kill::{KILLS, SIGKILL, kills};

/// What tells the child where its graph is and how many operations each writer has done.
const CHILD: &str = "EVEREDGE_KILL_CHILD";
const SEED: u64 = 0x5eed_2027;
const WRITERS: usize = 2;
/// Vertices of a writer; as many come after them that only have edges from writers' vertices.
const OWN_VERTICES: u32 = 150;
/// A writer deletes more than it inserts from so many edges on.
const EDGES_MAX: usize = 900;
/// Operations of a writer in the life of a process.
const OPERATIONS: usize = 150;
const LOG_BYTES: u64 = 32 << 10;
/// One round in so many opens the graph for writing and closes it.
const ROUNDS_PER_WRITING_OPEN: u64 = 6;

/// An edge with its weight.
type Weighted = (VertexId, VertexId, f32);

/// What a writer does in one call.
#[derive(Clone, Debug)]
enum Operation {
    Insert(Vec<Weighted>),
    Delete(Vec<Edge>),
    /// Insertions and deletions in one batch.
    Apply(Vec<Weighted>, Vec<Edge>),
    DeleteVertex(VertexId),
}

impl Operation {
    fn run(&self, graph: &Graph) -> everedge::Result<()> {
        let is_weighted = graph.options().weighted;
        let edges = |list: &[Weighted]| list.iter().map(|&(u, v, _)| (u, v)).collect::<Vec<_>>();
        match self {
            Self::Insert(list) => {
                let weights: Vec<f32> = list.iter().map(|edge| edge.2).collect();
                graph.insert(&edges(list), is_weighted.then_some(&weights[..]))
            }
            Self::Delete(list) => graph.delete(list).map(drop),
            Self::Apply(inserted, deleted) => {
                let mut batch = Batch::new(is_weighted);
                for &(u, v, weight) in inserted {
                    batch.insert(u, v, weight)?;
                }
                for &(u, v) in deleted {
                    batch.delete(u, v)?;
                }
                graph.apply(&batch)
            }
            Self::DeleteVertex(v) => graph.delete_vertex(*v).map(drop),
        }
    }
}

/// Makes up the operations of a writer, each from what those before have left.
#[derive(Clone)]
struct Script {
    writer: u32,
    random: Xoshiro256PlusPlus,
    is_directed: bool,
    /// The edges that there are, oldest first.
    edges: Vec<Weighted>,
}

impl Script {
    fn new(writer: usize, is_directed: bool) -> Self {
        let random = Xoshiro256PlusPlus::seed_from_u64(SEED + writer as u64);
        Self { writer: writer as u32, random, is_directed, edges: Vec::new() }
    }

    /// Returns the next operation, which is done then.
    fn next(&mut self) -> Operation {
        let is_full = self.edges.len() > EDGES_MAX;
        match self.random.random_range(0..20) {
            0..=9 if !is_full => Operation::Insert(self.insert(1)),
            10..=13 if !is_full => {
                let count = self.random.random_range(2..40);
                Operation::Insert(self.insert(count))
            }
            14..=15 => {
                let (count, lost) =
                    (self.random.random_range(1..20), self.random.random_range(1..9));
                let inserted = self.insert(count);
                Operation::Apply(inserted, self.delete(lost))
            }
            16 => {
                let v = self.own_vertex();
                self.edges.retain(|&(from, to, _)| from != v && to != v);
                Operation::DeleteVertex(v)
            }
            _ => {
                let count = self.random.random_range(1..30);
                Operation::Delete(self.delete(count))
            }
        }
    }

    fn own_vertex(&mut self) -> VertexId {
        OWN_VERTICES * self.writer + self.random.random_range(0..OWN_VERTICES)
    }

    fn insert(&mut self, count: usize) -> Vec<Weighted> {
        let inserted: Vec<Weighted> = (0..count).map(|_| self.new_edge()).collect();
        self.edges.extend(&inserted);
        inserted
    }

    fn new_edge(&mut self) -> Weighted {
        let u = self.own_vertex();
        let v = match self.random.random_range(0..2) {
            0 => self.own_vertex(),
            _ => OWN_VERTICES * WRITERS as u32 + self.random.random_range(0..OWN_VERTICES),
        };
        (u, v, self.random.random_range(0..1000) as f32 / 8.0)
    }

    /// Deletes edges, of parallel ones the newest.
    fn delete(&mut self, count: usize) -> Vec<Edge> {
        let mut deleted = Vec::new();
        while deleted.len() < count && !self.edges.is_empty() {
            let (u, v, _) = self.edges[self.random.random_range(0..self.edges.len())];
            let connects = |&(from, to, _): &Weighted| {
                (from, to) == (u, v) || !self.is_directed && (to, from) == (u, v)
            };
            let newest = self.edges.iter().rposition(connects).expect("an edge");
            self.edges.remove(newest);
            deleted.push((u, v));
        }
        deleted
    }

    /// Returns the arcs from the writer's vertices, sorted, weights as bits.
    fn arcs(&self, is_weighted: bool) -> Vec<(VertexId, VertexId, u32)> {
        let own = OWN_VERTICES * self.writer..OWN_VERTICES * (self.writer + 1);
        let mut arcs = Vec::new();
        for &(u, v, weight) in &self.edges {
            let bits = if is_weighted { weight } else { 1.0 }.to_bits();
            arcs.push((u, v, bits));
            if !self.is_directed && u != v && own.contains(&v) {
                arcs.push((v, u, bits));
            }
        }
        arcs.sort_unstable();
        arcs
    }
}

/// Returns where a writer notes what has returned, a byte for each operation.
fn notes(directory: &Path, writer: usize) -> PathBuf {
    directory.with_extension(format!("writer-{writer}"))
}

/// Returns where the numbers of versions are noted that were acknowledged.
fn version_notes(directory: &Path) -> PathBuf {
    directory.with_extension("versions")
}

/// Not a test: what the process that is killed runs.
#[test]
fn child() {
    let Ok(task) = std::env::var(CHILD) else { return };
    let mut words = task.split(' ');
    let done: Vec<usize> = words.by_ref().take(WRITERS).map(|n| n.parse().unwrap()).collect();
    let path = Path::new(words.next().unwrap());
    let graph = Graph::open(path, false).unwrap();
    let ended = AtomicUsize::new(0);
    let operations: Vec<AtomicUsize> = done.iter().map(|&done| AtomicUsize::new(done)).collect();
    let mut committed = File::options().append(true).open(version_notes(path)).unwrap();
    std::thread::scope(|scope| {
        for (writer, &done) in done.iter().enumerate() {
            let (graph, ended, operations) = (&graph, &ended, &operations[writer]);
            let mut acknowledged = File::options().append(true).open(notes(path, writer)).unwrap();
            scope.spawn(move || {
                let mut script = Script::new(writer, graph.options().directed);
                (0..done).for_each(|_| drop(script.next()));
                for _ in 0..OPERATIONS {
                    script.next().run(graph).unwrap();
                    acknowledged.write_all(b".").unwrap();
                    operations.fetch_add(1, Ordering::Relaxed);
                }
                ended.fetch_add(1, Ordering::Relaxed);
            });
        }
        for round in 0.. {
            if ended.load(Ordering::Relaxed) == WRITERS {
                break;
            }
            graph.snapshot().unwrap();
            if round % 4 == 3 {
                graph.compact().unwrap();
            }
            if round % 4 == 1 {
                let before = operations.iter().map(|count| count.load(Ordering::Relaxed));
                let name = before.map(|count| count.to_string()).collect::<Vec<_>>().join(" ");
                let version = graph.commit(&*name).unwrap();
                committed.write_all(format!("{}\n", version.number).as_bytes()).unwrap();
            }
            if round % 16 == 1 {
                let timeline = graph.timeline().unwrap().expect("it was committed");
                timeline.keep(Keep::Versions(3)).unwrap();
            }
            sleep(Duration::from_millis(1));
        }
    });
    graph.close().unwrap();
}

/// A graph that lives through the run, and what it must hold.
struct Victim {
    directory: PathBuf,
    scripts: Vec<Script>,
    done: [usize; WRITERS],
    kills: u64,
    /// The newest version that was seen.
    version: u64,
    /// How long a process lives that is not killed.
    life: Duration,
}

impl Victim {
    fn new(place: &Path, number: usize) -> Self {
        let layout = Layout::ALL[number % Layout::ALL.len()];
        let medium = [MediumKind::File, MediumKind::Pmem { emulated: true }][number / 2];
        let directory = place.join(format!("{layout}-{medium}"));
        let options = GraphOptions {
            layout,
            medium,
            log_bytes: LOG_BYTES,
            directed: number != 1 && number != 2,
            weighted: number.is_multiple_of(3),
            durability: [Durability::Batch, Durability::Edge][number / 2],
            ..GraphOptions::default()
        };
        Graph::create(&directory, &options, false).unwrap().close().unwrap();
        let scripts = (0..WRITERS).map(|writer| Script::new(writer, options.directed)).collect();
        let life = Duration::from_secs(60);
        let mut victim =
            Self { directory, scripts, done: [0; WRITERS], kills: 0, version: 0, life };
        victim.play(life, 1);
        victim
    }

    /// Lets a process write, kills it after `delay`, and checks the graph.
    fn play(&mut self, delay: Duration, round: u64) {
        let (scripts, done) = (self.scripts.clone(), self.done);
        let acknowledged = self.write(delay);
        let is_writing = round.is_multiple_of(ROUNDS_PER_WRITING_OPEN);
        let graph = match is_writing {
            true => Graph::open(&self.directory, false).unwrap(),
            false => Graph::open_read_only(&self.directory).unwrap(),
        };
        let found = graph.verify().unwrap();
        assert!(found.ok, "{}, round {round}: {:?}", self.directory.display(), found.problems);
        self.check(&graph.snapshot().unwrap(), acknowledged, round);
        self.check_versions(&graph, (&scripts, done), round);
        if is_writing {
            graph.close().unwrap();
        }
    }

    /// Returns how many operations of each writer the process has acknowledged.
    fn write(&mut self, delay: Duration) -> [usize; WRITERS] {
        let done = self.done.map(|count| count.to_string()).join(" ");
        (0..WRITERS).for_each(|writer| drop(File::create(notes(&self.directory, writer)).unwrap()));
        drop(File::create(version_notes(&self.directory)).unwrap());
        let start = Instant::now();
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "kill_writers::child", "--nocapture", "--quiet"])
            .env(CHILD, format!("{done} {}", self.directory.display()))
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        while start.elapsed() < delay && process.try_wait().unwrap().is_none() {
            sleep(Duration::from_micros(100).min(delay.saturating_sub(start.elapsed())));
        }
        let lived = start.elapsed();
        process.kill().unwrap();
        let status = process.wait().unwrap();
        let count =
            |writer| std::fs::metadata(notes(&self.directory, writer)).unwrap().len() as usize;
        let acknowledged = std::array::from_fn(count);
        if status.signal() == Some(SIGKILL) {
            self.kills += 1;
        } else {
            assert!(status.success(), "{status}");
            assert_eq!(acknowledged, [OPERATIONS; WRITERS]);
            self.life = lived;
        }
        acknowledged
    }

    /// Compares the versions that came since `scripts` had done so many operations with what those leave.
    fn check_versions(
        &mut self,
        graph: &Graph,
        (scripts, done): (&[Script], [usize; WRITERS]),
        round: u64,
    ) {
        let place = format!("{}, round {round}", self.directory.display());
        let noted = std::fs::read_to_string(version_notes(&self.directory)).unwrap();
        let acknowledged = noted.lines().last().map_or(self.version, |last| last.parse().unwrap());
        let Some(timeline) = graph.timeline().unwrap() else {
            return assert_eq!(acknowledged, 0, "{place}");
        };
        let versions = timeline.versions();
        let newest = versions.last().map_or(0, |version| version.number);
        assert!((acknowledged..=acknowledged + 1).contains(&newest), "{place}: version {newest}");
        for version in versions.into_iter().filter(|version| version.number > self.version) {
            let view = timeline.at(&VersionChoice::Number(version.number)).unwrap();
            let name = version.name.expect("a name");
            let before: Vec<usize> = name.split(' ').map(|count| count.parse().unwrap()).collect();
            let mut found = arcs_by_writer(&view);
            for (writer, found) in found.iter_mut().enumerate() {
                found.sort_unstable();
                let (mut script, mut count) = (scripts[writer].clone(), done[writer]);
                while count < before[writer]
                    || count < self.done[writer] && *found != script.arcs(view.is_weighted())
                {
                    drop(script.next());
                    count += 1;
                }
                assert!(
                    *found == script.arcs(view.is_weighted()),
                    "{place}: version {} has no state of writer {writer} between {} and {} operations",
                    version.number,
                    before[writer],
                    self.done[writer]
                );
            }
        }
        self.version = newest;
    }

    /// Compares the arcs of each writer with those that its operations leave.
    fn check(&mut self, view: &View, acknowledged: [usize; WRITERS], round: u64) {
        let found = arcs_by_writer(view);
        let mut in_degrees = vec![0; view.vertex_bound() as usize];
        let all = view.for_each_arc(|_, v, _| {
            in_degrees[v as usize] += 1;
            Ok::<(), std::convert::Infallible>(())
        });
        assert_eq!(all, Ok(()));
        let place = format!("{}, round {round}", self.directory.display());
        assert_eq!(view.in_degrees(), in_degrees, "{place}");
        for (writer, mut found) in found.into_iter().enumerate() {
            found.sort_unstable();
            let script = &mut self.scripts[writer];
            (0..acknowledged[writer]).for_each(|_| drop(script.next()));
            self.done[writer] += acknowledged[writer];
            let before = script.arcs(view.is_weighted());
            if found == before {
                continue;
            }
            let last = script.next();
            self.done[writer] += 1;
            assert!(
                found == script.arcs(view.is_weighted()),
                "{place}: writer {writer} has neither {} operations nor one more, {last:?}",
                self.done[writer] - 1
            );
        }
    }
}

/// Returns the arcs from the vertices of each writer, weights as bits.
fn arcs_by_writer(view: &View) -> Vec<Vec<(VertexId, VertexId, u32)>> {
    let mut found = vec![Vec::new(); WRITERS];
    let all = view.for_each_arc(|u, v, weight| {
        if let Some(arcs) = found.get_mut((u / OWN_VERTICES) as usize) {
            arcs.push((u, v, weight.to_bits()));
        }
        Ok::<(), std::convert::Infallible>(())
    });
    assert_eq!(all, Ok(()));
    found
}

#[test]
fn killed_writers_lose_nothing_that_they_acknowledged() {
    let place = tempfile::tempdir().unwrap();
    let mut victims: Vec<Victim> = (0..4).map(|number| Victim::new(place.path(), number)).collect();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
    let wanted = kills(KILLS);
    let mut round = 1;
    while victims.iter().map(|victim| victim.kills).sum::<u64>() < wanted {
        let victim = &mut victims[round as usize % 4];
        let share = random.random_range(0.0..1.25);
        victim.play(victim.life.mul_f64(share), round / 4 + 1);
        round += 1;
    }
    let done: usize = victims.iter().flat_map(|victim| victim.done).sum();
    let versions: u64 = victims.iter().map(|victim| victim.version).sum();
    println!("kills of writers={wanted} operations={done} versions={versions} lost=0");
}
