//! Sub-graphs: lists in several files, and files that are not where they belong.

use everedge::{GraphOptions, Layout};
use everedge_adjacency::{AdjacencyGraph, AdjacencyOptions, Split};
use everedge_live::Error;
use everedge_medium::{Access, MediumKind, Volume};
use std::path::Path;

use everedge_core::GraphView;

use crate::battery::{naive, shapes, small};
use crate::model::{Model, Picture, Random, Update, batch_of};

/// Ids of five shards, so that each of two or three sub-graphs has some.
fn spread(update: Update) -> Update {
    let place = |v: u32| v / 5 + 4096 * (v % 5);
    match update {
        Update::Insert(u, v, weight) => Update::Insert(place(u), place(v), weight),
        Update::Delete(u, v) => Update::Delete(place(u), place(v)),
        Update::AddVertex(v) => Update::AddVertex(place(v)),
    }
}

fn in_sub_graphs(options: GraphOptions, sub_graphs: u32, split: Split) -> GraphOptions {
    GraphOptions {
        adjacency: AdjacencyOptions { sub_graphs, split, ..options.adjacency },
        ..options
    }
}

fn create(path: &Path, options: &GraphOptions) -> everedge_live::Result<AdjacencyGraph> {
    let volume = Volume::create(path, options.volume(false))?;
    AdjacencyGraph::create(volume, crate::live::adjacency(options))
}

fn open(path: &Path, options: &GraphOptions) -> everedge_live::Result<AdjacencyGraph> {
    AdjacencyGraph::open(Volume::open(path, options.volume(false), Access::Write)?)
}

fn size_of(path: &Path, file: &str) -> u64 {
    std::fs::metadata(path.join(file)).expect("a file").len()
}

#[test]
fn answers_are_those_of_one_graph() {
    let ways = [(2, Split::Vertices), (3, Split::Vertices), (2, Split::Directions)];
    let all = shapes(Layout::Adjacency).into_iter().flat_map(|one| [one.clone(), naive(one)]);
    for (number, shape) in all.enumerate() {
        let (sub_graphs, split) = ways[number % ways.len()];
        if split == Split::Directions && !(shape.directed && shape.in_neighbors) {
            continue;
        }
        let options = in_sub_graphs(shape, sub_graphs, split);
        run_beside_model(&options, number as u64);
    }
}

fn run_beside_model(options: &GraphOptions, seed: u64) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("g");
    let mut graph = create(&path, options).expect("a graph");
    let (mut random, mut model) = (Random(seed), Model::new(options));
    for round in 0..30 {
        let updates = random.updates(80, 60, 3).into_iter().map(spread).collect::<Vec<_>>();
        graph.apply(&batch_of(&updates, options.weighted)).expect("applied");
        model.apply(&updates);
        match round % 10 {
            3 => drop(graph.compact().expect("compact")),
            5 => graph.flush_buffers().expect("flushed"),
            7 => {
                drop(graph);
                graph = open(&path, options).expect("a graph that was left");
            }
            9 => {
                graph.close().expect("closed");
                graph = open(&path, options).expect("a graph that was closed");
            }
            _ => {}
        }
        let context = format!("round {round}, {options:?}");
        let verification = graph.verify().expect("a verification");
        assert!(verification.problems.is_empty(), "{:?}, {context}", verification.problems);
        let picture = Picture::of(&graph.snapshot().expect("a snapshot"), options);
        picture.assert_equals(&model.picture(), context);
    }
    graph.close().expect("closed");
    for file in ["blocks", "blocks.1"] {
        assert!(size_of(&path, file) >= 4096, "{file} has blocks, {options:?}");
    }
}

#[test]
fn lists_lie_where_the_split_says() {
    for (split, edges) in [
        // Sources of the first shard only, destinations too: the second sub-graph stays empty.
        (Split::Vertices, (0..4000).map(|i| (i, i + 1)).collect::<Vec<_>>()),
        // Half of the lists of each vertex.
        (Split::Directions, (0..4000).map(|i| (i, i + 1)).collect()),
    ] {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("g");
        let options = in_sub_graphs(small(Layout::Adjacency), 2, split);
        let graph = create(&path, &options).expect("a graph");
        graph.insert(&edges, None).expect("inserted");
        graph.close().expect("closed");
        let (first, second) = (size_of(&path, "blocks"), size_of(&path, "blocks.1"));
        match split {
            Split::Vertices => assert!(first > 100 * 1024 && second <= 4096, "{first} {second}"),
            // Images lie in the first.
            Split::Directions => {
                assert!(first > 200 * 1024 && second > 200 * 1024, "{first} {second}");
            }
        }
    }
}

#[test]
fn there_are_one_to_eight_and_two_for_directions() {
    let wrong = |options: GraphOptions| {
        let directory = tempfile::tempdir().expect("a directory");
        let error = create(&directory.path().join("g"), &options).err().expect("refused");
        assert!(matches!(error, Error::InvalidInput { .. }), "{error}");
        assert!(error.to_string().contains("sub-graphs"), "{error}");
    };
    let base = || small(Layout::Adjacency);
    wrong(in_sub_graphs(base(), 0, Split::Vertices));
    wrong(in_sub_graphs(base(), 9, Split::Vertices));
    wrong(in_sub_graphs(base(), 1, Split::Directions));
    wrong(in_sub_graphs(GraphOptions { directed: false, ..base() }, 2, Split::Directions));
    wrong(in_sub_graphs(GraphOptions { in_neighbors: false, ..base() }, 2, Split::Directions));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "what someone does to the files of a graph")]
fn files_that_were_swapped_or_lost_are_named() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("g");
    let options = GraphOptions {
        medium: MediumKind::File,
        ..in_sub_graphs(small(Layout::Adjacency), 2, Split::Directions)
    };
    let graph = create(&path, &options).expect("a graph");
    graph.insert(&[(0, 1), (1, 2)], None).expect("inserted");
    graph.close().expect("closed");
    let [first, second, aside] = ["blocks", "blocks.1", "aside"].map(|name| path.join(name));
    let rename = |from: &Path, to: &Path| std::fs::rename(from, to).expect("renamed");
    rename(&first, &aside);
    rename(&second, &first);
    rename(&aside, &second);
    let error = open(&path, &options).err().expect("swapped files are refused");
    assert!(error.to_string().contains("sub-graph 0"), "{error}");
    rename(&second, &aside);
    rename(&first, &second);
    let error = open(&path, &options).err().expect("a lost file is refused");
    assert!(error.to_string().contains("blocks"), "{error}");
    rename(&aside, &first);
    assert_eq!(open(&path, &options).unwrap().snapshot().unwrap().edge_count(), 2);
}
