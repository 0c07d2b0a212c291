//! Lists are merged by themselves or are not, and are the same either way.

use everedge::GraphOptions;
use everedge_adjacency::{AdjacencyGraph, AdjacencyOptions, Direction, Merging};
use everedge_core::par::with_threads;
use everedge_live::Phases;
use everedge_medium::{Access, MediumKind, Volume, VolumeOptions};

use crate::model::{Model, Picture, Random, Update, batch_of};

/// Vertices of two shards whose neighbors come in descending order, until a run sorts them.
const HUBS: [u32; 2] = [7, 4100];
/// Their neighbors in a batch.
const STEP: u32 = 200;

fn options(merging: Option<Merging>, io_threshold: Option<u32>) -> GraphOptions {
    GraphOptions {
        medium: MediumKind::File,
        in_neighbors: false,
        log_bytes: 1 << 20,
        adjacency: AdjacencyOptions {
            archive_threshold: 100,
            phases: Phases::InTurn,
            merging,
            io_threshold,
            ..AdjacencyOptions::default()
        },
        ..GraphOptions::default()
    }
}

/// Makes a graph in which most edges are those of the hubs, and its model.
fn fill(volume: &Volume, options: &GraphOptions) -> (AdjacencyGraph, Model) {
    let manifest = crate::live::adjacency(options);
    let graph = AdjacencyGraph::create(volume.clone(), manifest).expect("a graph");
    let (mut model, mut random) = (Model::new(options), Random(5));
    for turn in 0..40 {
        let first = STEP * (40 - turn);
        let neighbors = (first..first + STEP).rev();
        let mut updates: Vec<Update> =
            neighbors.flat_map(|v| HUBS.map(|hub| Update::Insert(hub, v, 1.0))).collect();
        updates.extend(random.updates(20, 5000, 2));
        model.apply(&updates);
        graph.apply(&batch_of(&updates, false)).expect("room");
    }
    (graph, model)
}

/// Whether runs hold the first neighbors of the hubs.
fn is_merged(graph: &AdjacencyGraph) -> bool {
    let neighbors = |hub| graph.flushed_neighbors(hub, Direction::Out).unwrap().inserted;
    HUBS.iter().all(|&hub| neighbors(hub)[..STEP as usize].is_sorted())
}

#[track_caller]
fn check(graph: &AdjacencyGraph, model: &Model, when: &str) {
    let snapshot = graph.snapshot().expect("a snapshot");
    let picture = Picture::of(&snapshot, &GraphOptions::of_adjacency(&graph.manifest().options));
    picture.assert_equals(&model.picture(), when);
    assert_eq!(graph.verify().expect("a view").problems, Vec::<String>::new(), "{when}");
}

#[test]
fn lists_are_merged_by_themselves_below_the_threshold_only() {
    let cases = [
        (Merging::Never, None, 1, false),
        (Merging::InPauses, None, 1, false),
        (Merging::Always, None, 2, true),
        (Merging::Adaptive, Some(2), 1, true),
        (Merging::Adaptive, Some(2), 2, false),
        (Merging::Adaptive, Some(3), 2, true),
        // As on a device that could not be measured, which a volume in memory has.
        (Merging::Adaptive, None, 7, true),
        (Merging::Adaptive, None, 8, false),
    ];
    for (merging, io_threshold, thread_count, expected) in cases {
        let case = format!("{merging}, {io_threshold:?}, {thread_count}");
        let options = options(Some(merging), io_threshold);
        let (volume, _recorder) = Volume::recorded(MediumKind::File, false);
        let (graph, model) =
            with_threads(thread_count, || fill(&volume, &options)).expect("threads");
        assert_eq!(is_merged(&graph), expected, "{case}");
        check(&graph, &model, &case);
        drop(graph);
        let graph = AdjacencyGraph::open(volume.clone()).expect("a graph");
        assert_eq!(is_merged(&graph), expected, "{case}, opened after a kill");
        check(&graph, &model, &format!("{case}, opened after a kill"));
        graph.close().expect("closed");
        let graph = AdjacencyGraph::open(volume).expect("a graph");
        assert_eq!(is_merged(&graph), expected, "{case}, closed");
        check(&graph, &model, &format!("{case}, closed"));
    }
}

#[test]
fn snapshots_keep_what_merging_replaces() {
    let (volume, _recorder) = Volume::recorded(MediumKind::File, false);
    let (graph, mut model) = fill(&volume, &options(Some(Merging::Always), None));
    let (before, snapshot) = (model.picture(), graph.snapshot().expect("a snapshot"));
    let updates: Vec<Update> =
        (0..20_000).map(|v| Update::Insert(HUBS[0], v % 5000, 1.0)).collect();
    for updates in updates.chunks(500) {
        model.apply(updates);
        graph.apply(&batch_of(updates, false)).expect("room");
    }
    let options = GraphOptions::of_adjacency(&graph.manifest().options);
    Picture::of(&snapshot, &options).assert_equals(&before, "a snapshot from before");
    check(&graph, &model, "after it");
}

/// Inserts edges of the hubs and deletes them, again and again, so that lists are merged as often.
/// Returns the most pages that the graph has taken.
fn replace_often(volume: &Volume, graph: &AdjacencyGraph) -> u64 {
    let mut most = 0;
    for turn in 0..120 {
        let first = STEP * (1 + turn % 10);
        let edges = (first..first + STEP).flat_map(|v| HUBS.map(|u| (u, v)));
        let insertions: Vec<Update> =
            edges.clone().map(|(u, v)| Update::Insert(u, v, 1.0)).collect();
        let deletions: Vec<Update> = edges.map(|(u, v)| Update::Delete(u, v)).collect();
        for updates in [insertions, deletions] {
            graph.apply(&batch_of(&updates, false)).expect("room");
        }
        most = most.max(volume.disk_bytes().expect("a size"));
    }
    most.div_ceil(4096)
}

/// What merging replaces is free again although a snapshot is held that is older than it.
#[test]
fn a_held_snapshot_beside_merging_lets_the_file_grow_by_its_own_size_only() {
    let sizes = [false, true].map(|holds| {
        let (volume, _recorder) = Volume::recorded(MediumKind::File, false);
        let (graph, model) = fill(&volume, &options(Some(Merging::Always), None));
        let held = holds.then(|| (graph.snapshot().expect("a snapshot"), model.picture()));
        let most = replace_often(&volume, &graph);
        check(&graph, &model, "after it");
        if let Some((snapshot, before)) = held {
            let options = GraphOptions::of_adjacency(&graph.manifest().options);
            Picture::of(&snapshot, &options).assert_equals(&before, "the held snapshot");
        }
        most
    });
    let [alone, beside] = sizes;
    println!("pages without a snapshot {alone}, beside one {beside}");
    // The snapshot keeps at most what there was; each merge replaces as much.
    assert!(beside <= 2 * alone, "{beside} pages beside a snapshot, {alone} without");
}

#[test]
fn what_is_left_open_is_chosen_at_creation_and_kept() {
    let home = tempfile::tempdir().expect("a directory");
    let create = |name: &str, options: GraphOptions| {
        let volume = Volume::create(&home.path().join(name), options.volume(false)).unwrap();
        AdjacencyGraph::create(volume, crate::live::adjacency(&options)).expect("a graph")
    };
    let graph = create("file", options(None, None));
    let found = graph.manifest().options.tuning.clone();
    assert_eq!(found.merging, Some(Merging::Adaptive));
    assert!(found.io_threshold.is_some_and(|threshold| (1..=17).contains(&threshold)));
    assert!(found.wide_buffer_bytes.is_some_and(|bytes| (256..=4096).contains(&bytes)));
    graph.close().expect("closed");
    let volume =
        Volume::open(&home.path().join("file"), VolumeOptions::new(MediumKind::File), Access::Read);
    let graph = AdjacencyGraph::open(volume.unwrap()).expect("a graph");
    assert_eq!(graph.manifest().options.tuning, found);

    let medium = MediumKind::Pmem { emulated: true };
    let graph = create("pmem", GraphOptions { medium, ..options(None, None) });
    let found = &graph.manifest().options.tuning;
    assert_eq!((found.merging, found.io_threshold), (Some(Merging::InPauses), None));
    assert_eq!(found.wide_buffer_bytes, Some(256));

    let given = GraphOptions {
        adjacency: AdjacencyOptions {
            wide_buffer_bytes: Some(512),
            ..options(Some(Merging::Adaptive), Some(3)).adjacency
        },
        ..options(None, None)
    };
    let graph = create("given", given.clone());
    assert_eq!(GraphOptions::of_adjacency(&graph.manifest().options), given);
}
