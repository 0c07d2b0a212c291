//! Whoever reads old versions, or asks windows of them, reads what they were, while writers write, versions are
//! committed and old ones let go.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use everedge::{
    Commit, Edge, Graph, GraphOptions, Keep, Kernel, Layout, MediumKind, Parameters, RunOptions,
    Schedule, Timeline, Values, VersionChoice, View, WindowOptions,
};
use everedge_core::SplitMix64;

/// Vertices of which everything is known; those of the other writer follow.
const KNOWN: u32 = 200;
const COMMITS: u32 = 100;
/// Versions that stay.
const KEPT: u64 = 12;
/// The most versions of a window.
const WINDOW: usize = 6;

/// What a version is among the known vertices: its edges in order, and how far each vertex is from vertex 0.
#[derive(PartialEq)]
struct Expected {
    edges: Vec<Edge>,
    depths: Vec<u32>,
}

impl Expected {
    fn of(mut edges: Vec<Edge>) -> Self {
        edges.sort_unstable();
        let mut depths = vec![u32::MAX; KNOWN as usize];
        depths[0] = 0;
        let mut queue = VecDeque::from([0]);
        while let Some(u) = queue.pop_front() {
            let start = edges.partition_point(|&(src, _)| src < u);
            for &(_, v) in edges[start..].iter().take_while(|&&(src, _)| src == u) {
                if depths[v as usize] == u32::MAX {
                    depths[v as usize] = depths[u as usize] + 1;
                    queue.push_back(v);
                }
            }
        }
        Self { edges, depths }
    }

    fn check(&self, view: &View, number: u64) {
        assert!(known_edges(view) == self.edges, "the edges of version {number}");
        let options = RunOptions::from(from_zero());
        let report = view.run(Kernel::Bfs, &options).unwrap();
        self.check_depths(&report.values, number);
    }

    fn check_depths(&self, values: &Values, number: u64) {
        let Values::Depth(depths) = values else { panic!("no depths") };
        assert!(depths[..KNOWN as usize] == self.depths, "the depths of version {number}");
    }
}

fn known_edges(view: &View) -> Vec<Edge> {
    let (src, dst, _) = view.edges();
    let mut edges: Vec<Edge> = src.into_iter().zip(dst).filter(|&(u, _)| u < KNOWN).collect();
    edges.sort_unstable();
    edges
}

fn from_zero() -> Parameters {
    Parameters { source: Some("0".to_owned()), ..Parameters::default() }
}

#[derive(Default)]
struct Shared {
    expected: Mutex<BTreeMap<u64, Expected>>,
    is_over: AtomicBool,
    views: AtomicU64,
    windows: AtomicU64,
    let_go: AtomicU64,
}

/// Ends the others also where one panics.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

impl Shared {
    /// Changes the graph, and commits what it is.
    fn write_versions(&self, graph: &Graph, seed: u64) {
        let _end = End(&self.is_over);
        let mut random = SplitMix64::new(seed);
        // All ids are vertices from the beginning.
        let mut edges: Vec<Edge> = (0..KNOWN).map(|v| (v, (v * 7 + 1) % KNOWN)).collect();
        graph.insert(&edges, None).unwrap();
        for number in 1..=COMMITS {
            for _ in 0..random.below(8) {
                let is_insertion = edges.len() < 200 || random.below(2) == 0;
                if is_insertion {
                    let id = |random: &mut SplitMix64| random.below(KNOWN.into()) as u32;
                    let new: Vec<Edge> = (0..1 + random.below(12))
                        .map(|_| (id(&mut random), id(&mut random)))
                        .collect();
                    graph.insert(&new, None).unwrap();
                    edges.extend(new);
                } else {
                    let gone = edges.swap_remove(random.below(edges.len() as u64) as usize);
                    graph.delete(&[gone]).unwrap();
                }
            }
            // Readers may see it before the commit has returned.
            let expected = Expected::of(edges.clone());
            self.expected.lock().unwrap().insert(number.into(), expected);
            let version = graph.commit(Commit::default()).unwrap();
            assert_eq!(version.number, u64::from(number));
        }
    }

    /// Adds edges among vertices of its own, and deletes some again.
    fn write_beside(&self, graph: &Graph) {
        let mut from = KNOWN;
        while !self.is_over.load(Relaxed) {
            let new: Vec<Edge> = (from..from + 64).map(|v| (v, v + 1)).collect();
            graph.insert(&new, None).unwrap();
            graph.delete(&new[..32]).unwrap();
            from = KNOWN + (from - KNOWN + 64) % 100_000;
        }
    }

    /// Lets old versions go, again and again.
    fn let_go(&self, timeline: &Timeline) {
        while !self.is_over.load(Relaxed) {
            self.let_go.fetch_add(timeline.keep(Keep::Versions(KEPT)).unwrap(), Relaxed);
            std::thread::yield_now();
        }
    }

    fn read(&self, timeline: &Timeline, seed: u64) {
        let mut random = SplitMix64::new(seed);
        let mut held: VecDeque<(u64, View)> = VecDeque::new();
        while !self.is_over.load(Relaxed) {
            let versions = timeline.versions();
            if versions.is_empty() {
                std::thread::yield_now();
                continue;
            }
            let first = random.below(versions.len() as u64) as usize;
            let last = (first + random.below(WINDOW as u64) as usize).min(versions.len() - 1);
            let [first, last] = [first, last].map(|idx| versions[idx].number);
            match random.below(2) {
                0 => {
                    let schedule = (random.below(2) == 0).then(Schedule::default);
                    self.ask_window(timeline, (first, last), schedule);
                }
                _ => {
                    if let Some(view) = self.view(timeline, first) {
                        self.expected.lock().unwrap()[&first].check(&view, first);
                        held.push_back((first, view));
                    }
                }
            }
            // What was read stays what it was, though its version may be gone by now.
            if held.len() > 3 {
                let (number, view) = held.pop_front().unwrap();
                self.expected.lock().unwrap()[&number].check(&view, number);
            }
        }
    }

    fn view(&self, timeline: &Timeline, number: u64) -> Option<View> {
        match timeline.at(&VersionChoice::Number(number)) {
            Ok(view) => {
                self.views.fetch_add(1, Relaxed);
                Some(view)
            }
            Err(error) => {
                assert_is_gone(timeline, number, &error);
                None
            }
        }
    }

    fn ask_window(
        &self,
        timeline: &Timeline,
        (first, last): (u64, u64),
        schedule: Option<Schedule>,
    ) {
        let options = WindowOptions { keeps_values: true, schedule, ..from_zero().into() };
        let ends = [first, last].map(VersionChoice::Number);
        match timeline.window(Kernel::Bfs, (&ends[0], &ends[1]), &options) {
            Ok(report) => {
                let numbers: Vec<u64> = report.versions.iter().map(|v| v.version).collect();
                assert_eq!(numbers, (first..=last).collect::<Vec<_>>());
                let expected = self.expected.lock().unwrap();
                for answer in &report.versions {
                    expected[&answer.version].check_depths(&answer.values, answer.version);
                }
                self.windows.fetch_add(1, Relaxed);
            }
            Err(error) => assert_is_gone(timeline, first, &error),
        }
    }
}

/// A version that there was may only be missing because it was let go.
fn assert_is_gone(timeline: &Timeline, number: u64, error: &everedge::Error) {
    let oldest = timeline.versions()[0].number;
    assert!(number < oldest, "version {number}, the oldest is {oldest}: {error}");
}

#[test]
fn what_was_is_read_while_writers_commit_and_let_go() {
    for (seed, layout) in [(1, Layout::Adjacency), (2, Layout::Pma)] {
        let home = tempfile::tempdir().unwrap();
        let medium = MediumKind::Pmem { emulated: true };
        let options =
            GraphOptions { layout, medium, log_bytes: 1 << 20, ..GraphOptions::default() };
        let graph = Graph::create(&home.path().join("graph"), &options, false).unwrap();
        let shared = Shared::default();
        std::thread::scope(|scope| {
            let (graph, shared) = (&graph, &shared);
            scope.spawn(move || shared.write_versions(graph, seed));
            scope.spawn(move || shared.write_beside(graph));
            let timeline = loop {
                match graph.timeline().unwrap() {
                    Some(timeline) => break timeline,
                    None => std::thread::yield_now(),
                }
            };
            for reader in 0..2 {
                let timeline = timeline.clone();
                scope.spawn(move || shared.read(&timeline, 10 * seed + reader));
            }
            scope.spawn(move || shared.let_go(&timeline));
        });
        let [views, windows, let_go] =
            [&shared.views, &shared.windows, &shared.let_go].map(|count| count.load(Relaxed));
        println!("{layout:?}: {views} views and {windows} windows, {let_go} versions let go");
        assert!(views.min(windows).min(let_go) > 10, "{layout:?}");
        let expected = shared.expected.into_inner().unwrap();
        let timeline = graph.timeline().unwrap().expect("it has versions");
        timeline.keep(Keep::Versions(KEPT)).unwrap();
        let versions = timeline.versions();
        assert_eq!(versions.last().map(|version| version.number), Some(COMMITS.into()));
        assert_eq!(versions.len() as u64, KEPT);
        for version in versions {
            let view = timeline.at(&VersionChoice::Number(version.number)).unwrap();
            expected[&version.number].check(&view, version.number);
        }
        drop(timeline);
        assert_eq!(graph.verify().unwrap().problems, [""; 0]);
    }
}
