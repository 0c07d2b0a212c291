//! Processes that read a graph while another one writes to it, is killed, and goes on.
//!
//! Two threads of the writer insert and delete batches that follow from their numbers alone, so that each process
//! knows the digest of a graph after any batch. A reader compares what it opens with the digests from the last batch
//! that was acknowledged before it began to open up to the last that was begun when it had opened.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use everedge::{
    BlocksOptions, Commit, Edge, Graph, GraphOptions, IdKind, Layout, MediumKind, Timeline,
    VertexId, View,
};
use everedge_core::scramble;

/// Set in the processes that this test starts: what they are, and what to do.
const ROLE: &str = "EVEREDGE_READERS_ROLE";
/// So often all readers together open each graph.
const OPENINGS: &str = "EVEREDGE_OPENINGS";
const OPENINGS_DEFAULT: u64 = 300;
const READERS: u64 = 4;
const WRITERS: usize = 2;
/// Ids of edges: those of several shards.
const VERTICES: u64 = 20_000;
const BATCH_EDGES_MAX: u64 = 300;
/// A batch deletes what one that came so much earlier has inserted.
const AGE: u64 = 41;
/// Every so many batches the graph is compacted, or becomes a version.
const COMPACTION_EVERY: u64 = 97;
const COMMIT_EVERY: u64 = 61;
const LIFE_MS: std::ops::Range<u64> = 50..900;

/// What the writer and its readers know of a graph.
#[derive(Clone, Copy)]
struct Case {
    layout: Layout,
    medium: MediumKind,
    ids: IdKind,
}

const PMEM: MediumKind = MediumKind::Pmem { emulated: true };
const CASES: [Case; 6] = [
    Case { layout: Layout::Adjacency, medium: MediumKind::File, ids: IdKind::Dense },
    Case { layout: Layout::Adjacency, medium: PMEM, ids: IdKind::Text },
    Case { layout: Layout::Blocks, medium: PMEM, ids: IdKind::Dense },
    Case { layout: Layout::Blocks, medium: MediumKind::File, ids: IdKind::Text },
    Case { layout: Layout::Pma, medium: PMEM, ids: IdKind::Dense },
    Case { layout: Layout::Pma, medium: MediumKind::File, ids: IdKind::Dense },
];

/// The edges that a batch of a writer inserts, or deletes. Its sources are the writer's own.
fn batch(writer: usize, number: u64) -> (bool, Vec<Edge>) {
    let deletes = number >= AGE && number % 2 == 1;
    let seed = if deletes { number - AGE } else { number };
    let mut state = scramble(seed * WRITERS as u64 + writer as u64 + 1);
    let mut draw = |bound: u64| {
        state = scramble(state.wrapping_add(0x9e37_79b9_7f4a_7c15));
        state % bound
    };
    // Some are single edges, which take another way into the log.
    let count = if draw(3) == 0 { 1 } else { 1 + draw(BATCH_EDGES_MAX) };
    let edge = |_| {
        let source = draw(VERTICES / WRITERS as u64) * WRITERS as u64 + writer as u64;
        (source as u32, draw(VERTICES) as u32)
    };
    (deletes, (0..count).map(edge).collect())
}

fn digest_of((src, dst): Edge) -> u64 {
    scramble(u64::from(src) << 32 | u64::from(dst))
}

/// For each batch of a writer, what the digest of its edges is before it.
struct Digests {
    writer: usize,
    before: Vec<u64>,
}

impl Digests {
    fn new(writer: usize) -> Self {
        Self { writer, before: vec![0] }
    }

    fn before(&mut self, number: u64) -> u64 {
        while self.before.len() as u64 <= number {
            let (deletes, edges) = batch(self.writer, self.before.len() as u64 - 1);
            let sum = edges.into_iter().map(digest_of).fold(0u64, u64::wrapping_add);
            let last = *self.before.last().expect("the first one");
            self.before.push(if deletes { last.wrapping_sub(sum) } else { last.wrapping_add(sum) });
        }
        self.before[number as usize]
    }

    /// Returns how many batches a digest is of.
    fn find(&mut self, digest: u64, batches: std::ops::RangeInclusive<u64>) -> Option<u64> {
        batches.into_iter().find(|&number| self.before(number) == digest)
    }
}

/// Returns the digests of each writer's edges in a view, from out-lists; those from in-lists are the same.
fn digests(view: &View) -> [u64; WRITERS] {
    let number = |v: VertexId| match view.id_kind() {
        IdKind::Text => view.name_of(v).to_string()[1..].parse().expect("a name that was given"),
        _ => v,
    };
    let numbers: Vec<u32> = (0..view.vertex_bound()).map(number).collect();
    let (mut out, mut within) = ([0u64; WRITERS], [0u64; WRITERS]);
    let add = |sums: &mut [u64; WRITERS], src: VertexId, dst: VertexId| {
        let edge = (numbers[src as usize], numbers[dst as usize]);
        let sum = &mut sums[edge.0 as usize % WRITERS];
        *sum = sum.wrapping_add(digest_of(edge));
    };
    for v in 0..view.vertex_bound() {
        view.out_neighbors(v).into_iter().for_each(|to| add(&mut out, v, to));
        view.in_neighbors(v).into_iter().for_each(|from| add(&mut within, from, v));
    }
    assert_eq!(out, within, "both directions");
    out
}

/// Of each writer: how many batches were begun, and how many were acknowledged.
struct Progress(File);

impl Progress {
    fn open(home: &Path) -> Self {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        Self(options.open(home.join("progress")).expect("a file"))
    }

    fn place(writer: usize, is_acknowledged: bool) -> u64 {
        16 * writer as u64 + if is_acknowledged { 8 } else { 0 }
    }

    fn note(&self, writer: usize, is_acknowledged: bool, number: u64) {
        let place = Self::place(writer, is_acknowledged);
        self.0.write_all_at(&number.to_le_bytes(), place).expect("room");
    }

    fn read(&self, writer: usize, is_acknowledged: bool) -> u64 {
        let mut bytes = [0; 8];
        let _short = self.0.read_at(&mut bytes, Self::place(writer, is_acknowledged));
        u64::from_le_bytes(bytes)
    }
}

fn graph_path(home: &Path) -> PathBuf {
    home.join("graph")
}

fn apply(graph: &Graph, (deletes, edges): &(bool, Vec<Edge>), ids: IdKind) {
    let mut edges = edges.clone();
    if ids == IdKind::Text {
        let names: Vec<String> =
            edges.iter().flat_map(|(u, v)| [*u, *v]).map(|v| format!("v{v}")).collect();
        let ids = graph.intern_texts(names.iter().map(String::as_str)).expect("room");
        edges = ids.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
    }
    match deletes {
        true => drop(graph.delete(&edges).expect("deletions")),
        false => graph.insert(&edges, None).expect("room"),
    }
}

/// Writes until it is killed, from where the graph is.
fn write(home: &Path, case: Case) {
    let (path, progress) = (graph_path(home), Progress::open(home));
    let graph = Graph::open(&path, false).expect("the graph, whoever reads it");
    let view = graph.snapshot().expect("a view");
    let found = digests(&view);
    drop(view);
    let starts: [u64; WRITERS] = std::array::from_fn(|writer| {
        let mut known = Digests::new(writer);
        let [begun, acknowledged] = [false, true].map(|is| progress.read(writer, is));
        let start = known.find(found[writer], acknowledged..=begun);
        start.expect("the graph is what it was when the writer was killed")
    });
    std::thread::scope(|scope| {
        for (writer, start) in starts.into_iter().enumerate() {
            let (graph, progress) = (&graph, &progress);
            scope.spawn(move || {
                for number in start.. {
                    progress.note(writer, false, number + 1);
                    apply(graph, &batch(writer, number), case.ids);
                    progress.note(writer, true, number + 1);
                    if writer == 0 && number % COMPACTION_EVERY == 0 {
                        graph.compact().expect("room");
                    }
                    if writer == 1 && number % COMMIT_EVERY == 0 {
                        graph.commit(Commit::default()).expect("room");
                    }
                }
            });
        }
    });
}

/// Opens the graph again and again, and compares it with what it may be.
fn read(home: &Path, openings: u64) {
    let (path, progress) = (graph_path(home), Progress::open(home));
    let mut known: [Digests; WRITERS] = std::array::from_fn(Digests::new);
    let (mut slowest, start) = (Duration::ZERO, Instant::now());
    for opening in 0..openings {
        let acknowledged: [u64; WRITERS] = std::array::from_fn(|w| progress.read(w, true));
        let before = Instant::now();
        let graph = Graph::open_read_only(&path).expect("a graph that another process writes");
        let view = graph.snapshot().expect("a view");
        slowest = slowest.max(before.elapsed());
        let begun: [u64; WRITERS] = std::array::from_fn(|w| progress.read(w, false));
        // What is read stays as it is, whatever the writer does meanwhile.
        for _ in 0..if opening % 16 == 0 { 4 } else { 1 } {
            let found = digests(&view);
            for writer in 0..WRITERS {
                let batches = acknowledged[writer]..=begun[writer];
                let is_one = known[writer].find(found[writer], batches.clone()).is_some();
                assert!(is_one, "opening {opening}: writer {writer} after none of {batches:?}");
            }
        }
        if opening % 8 == 0 {
            let newest = |timeline: &Timeline| timeline.versions().last().map(|last| last.number);
            if let Some(number) = Timeline::open_read_only(&path).ok().as_ref().and_then(newest) {
                let timeline = graph.timeline().expect("versions").expect("a version");
                assert!(newest(&timeline) >= Some(number));
            }
        }
    }
    println!("{openings} openings in {:.1?}, the slowest took {slowest:.1?}", start.elapsed());
}

fn spawn(home: &Path, role: &str, case: usize) -> Child {
    Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "readers::process", "--nocapture", "--quiet"])
        .env(ROLE, format!("{role} {case} {}", home.display()))
        .stdout(Stdio::null())
        .spawn()
        .expect("a process")
}

/// What the processes do that the test below starts; nothing in a run of all tests.
#[test]
fn process() {
    let Ok(role) = std::env::var(ROLE) else { return };
    let mut words = role.splitn(3, ' ');
    let mut next = || words.next().expect("a word");
    let (role, case, home) = (next(), next().parse::<usize>().expect("a case"), next());
    match role.strip_prefix("read:") {
        Some(openings) => read(Path::new(home), openings.parse().expect("a number")),
        None => write(Path::new(home), CASES[case]),
    }
}

fn openings() -> u64 {
    let text = std::env::var(OPENINGS).ok();
    text.map_or(OPENINGS_DEFAULT, |text| text.parse().expect("a number of openings"))
}

fn read_beside_a_writer_that_is_killed(number: usize) {
    let home = match CASES[number].medium {
        MediumKind::Pmem { .. } => tempfile::tempdir_in("/dev/shm"),
        _ => tempfile::tempdir(),
    };
    let home = home.expect("a directory");
    let Case { layout, medium, ids } = CASES[number];
    let small = GraphOptions { layout, medium, ids, log_bytes: 1 << 20, ..Default::default() };
    let blocks = BlocksOptions { block_bytes: 64, ..Default::default() };
    let options = GraphOptions { blocks, ..small };
    Graph::create(&graph_path(home.path()), &options, false).expect("a graph").close().unwrap();
    Progress::open(home.path()).note(0, false, 0);

    let role = format!("read:{}", openings() / READERS);
    let mut readers: Vec<Child> = (0..READERS).map(|_| spawn(home.path(), &role, number)).collect();
    let (mut kills, mut state) = (0, scramble(number as u64 + 1));
    while readers.iter_mut().any(|reader| reader.try_wait().expect("a child").is_none()) {
        let mut writer = spawn(home.path(), "write", number);
        state = scramble(state);
        let life = LIFE_MS.start + state % (LIFE_MS.end - LIFE_MS.start);
        std::thread::sleep(Duration::from_millis(life));
        assert!(writer.try_wait().expect("a child").is_none(), "the writer goes on beside readers");
        writer.kill().expect("a child");
        writer.wait().expect("a child");
        kills += 1;
    }
    for mut reader in readers {
        assert!(reader.wait().expect("a child").success(), "a reader of {layout:?} on {medium}");
    }
    let graph = Graph::open(&graph_path(home.path()), false).expect("the graph");
    let found = graph.verify().expect("a report");
    assert!(found.ok, "{:?}", found.problems);
    let progress = Progress::open(home.path());
    let batches: [u64; WRITERS] = std::array::from_fn(|writer| progress.read(writer, true));
    println!("{layout:?} on {medium}: {kills} kills, {batches:?} batches");
}

/// A timeline reads versions only, so the live graph beside them keeps nothing for it.
#[test]
fn who_reads_versions_pins_no_state_of_the_graph() {
    let home = tempfile::tempdir().expect("a directory");
    let path = graph_path(home.path());
    let graph = Graph::create(&path, &GraphOptions::default(), false).expect("a graph");
    graph.insert(&[(1, 2)], None).expect("room");
    graph.commit(Commit::default()).expect("room");
    let pin = || {
        let table = std::fs::read(path.join("readers")).expect("the table");
        u64::from_le_bytes(table[64..72].try_into().expect("8 bytes"))
    };
    let reader = Graph::open_read_only(&path).expect("a reader");
    assert!(pin() > 1, "the state that it reads");
    drop(reader);
    let timeline = Timeline::open_read_only(&path).expect("versions");
    assert_eq!((pin(), timeline.versions().len()), (0, 1));
}

#[test]
fn of_adjacency_on_a_file() {
    read_beside_a_writer_that_is_killed(0);
}

#[test]
fn of_adjacency_on_persistent_memory() {
    read_beside_a_writer_that_is_killed(1);
}

#[test]
fn of_blocks_on_persistent_memory() {
    read_beside_a_writer_that_is_killed(2);
}

#[test]
fn of_blocks_on_a_file() {
    read_beside_a_writer_that_is_killed(3);
}

#[test]
fn of_pma_on_persistent_memory() {
    read_beside_a_writer_that_is_killed(4);
}

#[test]
fn of_pma_on_a_file() {
    read_beside_a_writer_that_is_killed(5);
}
