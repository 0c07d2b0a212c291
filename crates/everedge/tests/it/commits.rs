//! A version is what the graph was when it was committed, whatever has changed it since the one before.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use everedge::{
    Batch, Commit, Durability, Edge, Graph, GraphOptions, Keep, Layout, LogFirst, MediumKind,
    PmaOptions, Timeline, TimelineOptions, VersionChanges, VersionChoice, View,
};
use everedge_core::SplitMix64;

/// The vertices and edges of a view, in order.
type Content = (Vec<u32>, Vec<(u32, u32, u32)>);

fn content(view: &View) -> Content {
    let (src, dst, weights) = view.edges();
    let edges = src.into_iter().zip(dst).zip(weights);
    let mut edges: Vec<_> = edges.map(|((u, v), weight)| (u, v, weight.to_bits())).collect();
    edges.sort_unstable();
    (view.vertices(), edges)
}

/// Draws an edge. With few ids there are many edges of a pair, whose weights differ.
fn edge(random: &mut SplitMix64, ids: u64) -> Edge {
    (random.below(ids) as u32, random.below(ids) as u32)
}

/// Changes a graph in one of the ways that there are.
fn change(graph: &Graph, random: &mut SplitMix64, ids: u64) {
    let weighted = graph.options().weighted;
    let weights: Vec<f32> = (0..8).map(|_| 1.0 + random.below(3) as f32).collect();
    match random.below(6) {
        0 => graph.insert(&[edge(random, ids)], weighted.then_some(&weights[..1])).unwrap(),
        1 => {
            let edges: Vec<Edge> = (0..8).map(|_| edge(random, ids)).collect();
            graph.insert(&edges, weighted.then_some(&weights[..])).unwrap();
        }
        2 => {
            graph.delete(&[edge(random, ids), edge(random, ids), edge(random, ids)]).unwrap();
        }
        3 => {
            graph.delete_vertex(random.below(ids) as u32).unwrap();
        }
        4 => {
            let mut batch = Batch::new(weighted);
            for &weight in &weights {
                let (u, v) = edge(random, ids);
                batch.insert(u, v, weight).unwrap();
                let (u, v) = edge(random, ids);
                batch.delete(u, v).unwrap();
            }
            batch.add_vertex(random.below(ids) as u32).unwrap();
            graph.apply(&batch).unwrap();
        }
        _ => {
            graph.compact().unwrap();
        }
    }
}

fn all_options() -> impl Iterator<Item = GraphOptions> {
    (0..24u32).map(|number| GraphOptions {
        layout: if number < 8 { Layout::Adjacency } else { Layout::Pma },
        medium: MediumKind::Pmem { emulated: true },
        directed: number & 1 == 0,
        weighted: number & 2 != 0,
        simple: number & 4 != 0 && number < 16,
        durability: if number & 4 == 0 { Durability::Edge } else { Durability::Batch },
        log_bytes: 1 << 20,
        pma: PmaOptions {
            log_first: if number < 16 { LogFirst::Yes } else { LogFirst::No },
            ..PmaOptions::default()
        },
        ..GraphOptions::default()
    })
}

#[test]
fn versions_are_what_the_graph_was() {
    let cases = all_options().flat_map(|options| [(options.clone(), 4), (options, 40)]);
    for (seed, (options, ids)) in (1..).zip(cases) {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("graph");
        let mut random = SplitMix64::new(seed);
        let mut graph = Graph::create(&path, &options, false).unwrap();
        let mut expected = Vec::new();
        for round in 0..20 {
            if round == 12 {
                graph.close().unwrap();
                graph = Graph::open(&path, false).unwrap();
            }
            // In some rounds nothing changes.
            for _ in 0..random.below(6) {
                change(&graph, &mut random, ids);
            }
            if round % 5 == 3 {
                // Somebody reads, and a version is committed right after the one before.
                drop(graph.snapshot().unwrap());
                graph.commit(Commit::default()).unwrap();
                expected.push(content(&graph.snapshot().unwrap()));
            }
            let version = graph.commit("a name").unwrap();
            expected.push(content(&graph.snapshot().unwrap()));
            assert_eq!(version.number as usize, expected.len());
        }
        let timeline = graph.timeline().unwrap().expect("it has versions");
        for (number, expected) in (1..).zip(&expected) {
            let view = timeline.at(&VersionChoice::Number(number)).unwrap();
            assert!(content(&view) == *expected, "{options:?}, {ids} ids: version {number}");
        }
        assert!(timeline.commit(Default::default(), i64::MAX, None).is_err());
        drop(timeline);
        let found = graph.verify().unwrap();
        assert!(found.ok, "{options:?}, {ids} ids: {:?}", found.problems);
        // What is opened for reading takes no version, and shows none that is not there.
        graph.close().unwrap();
        let graph = Graph::open_read_only(&path).unwrap();
        assert!(graph.commit(Commit::default()).is_err());
        let timeline = graph.timeline().unwrap().expect("it has versions");
        assert_eq!(timeline.versions().len(), expected.len());
        assert!(timeline.keep(Keep::Versions(1)).is_err());
    }
}

/// Equal edges stand in another order in the list of each end, and come again in another order: the version has
/// the same weights at both ends, and nothing has changed.
#[test]
fn edges_of_one_pair_keep_their_weights_at_both_ends() {
    for options in all_options().filter(|options| options.weighted && !options.simple) {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("graph");
        let graph = Graph::create(&path, &options, false).unwrap();
        graph.insert(&[(0, 1), (0, 1), (1, 5), (5, 0)], Some(&[1.0, 2.0, 1.0, 3.0])).unwrap();
        graph.delete(&[(1, 5)]).unwrap();
        graph.commit(Commit::default()).unwrap();
        graph.delete(&[(0, 1)]).unwrap();
        graph.commit(Commit::default()).unwrap();
        graph.insert(&[(0, 1), (0, 7)], Some(&[4.0, 5.0])).unwrap();
        graph.delete(&[(0, 7)]).unwrap();
        graph.commit(Commit::default()).unwrap();
        graph.insert(&[(0, 7)], Some(&[5.0])).unwrap();
        graph.delete(&[(0, 7)]).unwrap();
        graph.close().unwrap();
        let graph = Graph::open(&path, false).unwrap();
        let version = graph.commit(Commit::default()).unwrap();
        assert_eq!((version.additions, version.deletions), (0, 0), "{options:?}");
        let found = graph.verify().unwrap();
        assert!(found.ok, "{options:?}: {:?}", found.problems);
    }
}

/// What was acknowledged before a commit is in its version, and each batch is wholly in a version or not at all.
#[test]
fn versions_beside_writers_have_whole_batches() {
    const WRITERS: u32 = 2;
    for layout in Layout::ALL {
        let home = tempfile::tempdir().unwrap();
        let medium = MediumKind::Pmem { emulated: true };
        let options =
            GraphOptions { layout, medium, log_bytes: 1 << 20, ..GraphOptions::default() };
        let graph = Graph::create(&home.path().join("graph"), &options, false).unwrap();
        let acknowledged: [Mutex<u32>; 2] = Default::default();
        let is_over = AtomicBool::new(false);
        let graph = &graph;
        let found = std::thread::scope(|scope| {
            for writer in 0..WRITERS {
                let (acknowledged, is_over) = (&acknowledged[writer as usize], &is_over);
                scope.spawn(move || {
                    let mut batch = 0;
                    while !is_over.load(Relaxed) {
                        // Batch number b of a writer leads to b, three times.
                        graph.insert(&[(writer, batch); 3], None).unwrap();
                        batch += 1;
                        *acknowledged.lock().unwrap() = batch;
                    }
                });
            }
            let mut found = Vec::new();
            for _ in 0..60 {
                let before = acknowledged.each_ref().map(|count| *count.lock().unwrap());
                found.push((before, graph.commit(Commit::default()).unwrap().number));
            }
            is_over.store(true, Relaxed);
            found
        });
        let timeline = graph.timeline().unwrap().expect("it has versions");
        for (before, number) in found {
            let view = timeline.at(&VersionChoice::Number(number)).unwrap();
            for writer in 0..WRITERS {
                // No id has a vertex before its batch.
                let list = match writer < view.vertex_bound() {
                    true => view.out_neighbors(writer),
                    false => Vec::new(),
                };
                let batches = list.len() as u32 / 3;
                assert!(batches >= before[writer as usize], "{layout:?} version {number}");
                let whole = (0..batches).flat_map(|batch| [batch; 3]);
                assert!(list.into_iter().eq(whole), "{layout:?} version {number}");
            }
        }
    }
}

/// All the same edge: what a commit compares of a pair costs no more for each than of many pairs.
#[test]
fn a_pair_may_have_very_many_edges() {
    const COUNT: usize = 300_000;
    for options in all_options().filter(|options| !options.simple && options.directed) {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("graph");
        let graph = Graph::create(&path, &options, false).unwrap();
        let weights: Vec<f32> = (0..COUNT).map(|number| (number % 1000) as f32).collect();
        let weights = options.weighted.then_some(&weights[..]);
        graph.insert(&vec![(0, 1); COUNT], weights).unwrap();
        graph.commit(Commit::default()).unwrap();
        graph.delete(&[(0, 1); 3]).unwrap();
        let version = graph.commit(Commit::default()).unwrap();
        assert_eq!((version.additions, version.deletions), (0, 3), "{options:?}");
        // Now by comparing all.
        graph.delete(&[(0, 1); 3]).unwrap();
        graph.close().unwrap();
        let graph = Graph::open(&path, false).unwrap();
        let version = graph.commit(Commit::default()).unwrap();
        assert_eq!((version.additions, version.deletions), (0, 3), "{options:?}");
        let timeline = graph.timeline().unwrap().expect("it has versions");
        let view = timeline.at(&VersionChoice::Newest).unwrap();
        assert!(content(&view) == content(&graph.snapshot().unwrap()), "{options:?}");
    }
}

#[test]
fn what_stays_shows_all_of_the_time_that_was_asked_for() {
    const SECOND: i64 = 1_000_000;
    let times = [0, 10, 20, 20, 30];
    for (keep, first) in [
        ("1", 5),
        ("2", 4),
        ("5", 1),
        ("99", 1),
        ("5s", 4),
        // Ten seconds before the newest version the fourth was the newest.
        ("10s", 4),
        ("15s", 2),
        ("30s", 1),
        ("1h", 1),
    ] {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("versions");
        let timeline = Timeline::create(&path, &TimelineOptions::default(), false).unwrap();
        assert_eq!(timeline.keep(keep.parse().unwrap()).unwrap(), 0);
        for (v, time) in (0..).zip(times) {
            let mut changes = VersionChanges::new();
            changes.insert(v, v + 1, None).unwrap();
            timeline.commit(changes, time * SECOND, None).unwrap();
        }
        let old = timeline.at(&VersionChoice::Number(1)).unwrap();
        assert_eq!(timeline.keep(keep.parse().unwrap()).unwrap(), first - 1, "{keep}");
        // Whoever reads a version that went goes on.
        assert_eq!(old.edge_count(), 1);
        drop((old, timeline));
        let timeline = Timeline::open(&path, false).unwrap();
        let numbers: Vec<u64> = timeline.versions().iter().map(|v| v.number).collect();
        assert_eq!(numbers, (first..=5).collect::<Vec<_>>(), "{keep}");
        assert_eq!(timeline.at(&VersionChoice::Newest).unwrap().edge_count(), 5);
    }
    for word in ["0", "-1", "", "3x", "0d"] {
        assert!(word.parse::<Keep>().is_err(), "{word}");
    }
}

#[test]
fn of_a_damaged_graph_there_is_no_version() {
    let home = tempfile::tempdir().unwrap();
    let [path, copy] = ["graph", "copy"].map(|name| home.path().join(name));
    let graph = Graph::create(&path, &GraphOptions::default(), false).unwrap();
    for has_versions in [false, true] {
        if has_versions {
            graph.commit("first").unwrap();
            graph.commit("still the first").unwrap();
        }
        for v in 0..100 {
            graph.insert(&[(v, v + 1), (v, v + 2)], None).unwrap();
        }
        // As a kill would leave it, and then some.
        std::fs::create_dir(&copy).unwrap();
        for entry in path.read_dir().unwrap() {
            let entry = entry.unwrap();
            std::fs::copy(entry.path(), copy.join(entry.file_name())).unwrap();
        }
        let mut log = std::fs::read(copy.join("log")).unwrap();
        let end = log.iter().rposition(|&byte| byte != 0).unwrap();
        log[end - 2048] ^= 0xff;
        #[expect(clippy::disallowed_methods, reason = "damage")]
        std::fs::write(copy.join("log"), log).unwrap();
        let damaged = Graph::open(&copy, false).unwrap();
        let refused = |error: everedge::Error| {
            assert!(error.is_damage(), "{error}");
        };
        refused(damaged.commit("second").unwrap_err());
        refused(damaged.insert(&[(1, 2), (2, 3)], None).unwrap_err());
        if let Some(timeline) = damaged.timeline().unwrap() {
            refused(timeline.keep(Keep::Versions(1)).unwrap_err());
        }
        drop(damaged);
        std::fs::remove_dir_all(&copy).unwrap();
    }
}

#[test]
fn a_version_has_a_name_by_which_it_is_found() {
    let home = tempfile::tempdir().unwrap();
    let graph = Graph::create(&home.path().join("graph"), &GraphOptions::default(), false).unwrap();
    for (name, what) in [("", "empty"), ("7", "number"), ("2024-05-31", "not later")] {
        let error = graph.commit(name).unwrap_err();
        assert!(error.to_string().contains(what), "{name}: {error}");
    }
    assert!(graph.timeline().unwrap().is_none_or(|timeline| timeline.versions().is_empty()));
}
