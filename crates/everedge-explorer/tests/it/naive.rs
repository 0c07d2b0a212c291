//! The naive ways give the graph that the usual ways give, and take more space on their way.

use everedge::{GraphOptions, Layout};
use everedge_adjacency::AdjacencyGraph;
use everedge_live::Compaction;
use everedge_medium::{Access, Volume};
use std::path::Path;

use everedge_core::VertexId;

use crate::battery::{naive, shapes};
use crate::model::{Model, Picture, Random, Update, batch_of};

/// Longer than the largest block, weighted or not.
const HUB_DEGREE: u64 = 2_500;

fn create(path: &Path, options: &GraphOptions) -> AdjacencyGraph {
    let volume = Volume::create(path, options.volume(false)).expect("a volume");
    AdjacencyGraph::create(volume, crate::live::adjacency(options)).expect("a graph")
}

fn open(path: &Path, options: &GraphOptions) -> AdjacencyGraph {
    let volume = Volume::open(path, options.volume(false), Access::Write).expect("a volume");
    AdjacencyGraph::open(volume).expect("a graph")
}

fn compacted(graph: &AdjacencyGraph) -> Compaction {
    let done = graph.compact().expect("room");
    assert_eq!(graph.verify().expect("a view").problems, Vec::<String>::new());
    done
}

/// Lists of every length, in two shards, of which a twentieth is deleted again.
fn updates() -> Vec<Update> {
    let mut random = Random(11);
    let mut updates: Vec<Update> = (0..HUB_DEGREE)
        .map(|v| Update::Insert(3, 4_000 + (v % 2_400) as VertexId, random.below(9) as f32))
        .collect();
    updates.extend(random.updates(3_000, 200, 0));
    for _ in 0..updates.len() / 20 {
        let index = random.below(updates.len() as u64) as usize;
        if let Update::Insert(u, v, _) = updates[index] {
            updates.push(Update::Delete(u, v));
        }
    }
    updates
}

#[test]
fn every_list_is_the_same_after_naive_compaction() {
    let home = tempfile::tempdir().expect("a directory");
    for (number, shape) in shapes(Layout::Adjacency).into_iter().step_by(2).enumerate() {
        let options = naive(shape);
        let path = home.path().join(number.to_string());
        let mut graph = create(&path, &options);
        let mut model = Model::new(&options);
        let updates = updates();
        for updates in updates.chunks(100) {
            graph.apply(&batch_of(updates, options.weighted)).expect("room");
        }
        model.apply(&updates);
        let check = |graph: &AdjacencyGraph, model: &Model, when: &str| {
            let picture = Picture::of(&graph.snapshot().expect("a snapshot"), &options);
            picture.assert_equals(&model.picture(), format!("{when}, {options:?}"));
        };
        let before = graph.snapshot().expect("a snapshot");
        let first = compacted(&graph);
        check(&graph, &model, "compact");
        Picture::of(&before, &options).assert_equals(&model.picture(), "a snapshot from before");
        drop(before);
        let second = compacted(&graph);
        assert_eq!((first.runs, first.written_bytes), (second.runs, second.written_bytes));
        graph.close().expect("closed");
        graph = open(&path, &options);
        check(&graph, &model, "opened again");
        let hub = Update::Delete(3, 4_000);
        graph.apply(&batch_of(&[hub], options.weighted)).expect("room");
        model.apply(&[hub]);
        compacted(&graph);
        drop(graph);
        graph = open(&path, &options);
        check(&graph, &model, "opened after a kill");
        graph.delete_vertex(3).expect("deleted");
        model.delete_vertex(3);
        compacted(&graph);
        graph.close().expect("closed");
        check(&open(&path, &options), &model, "opened after the vertex ended");
    }
}

/// The file grows by the graph once, and not at the next compaction.
#[test]
fn what_is_replaced_is_used_again_after_the_end_only() {
    let home = tempfile::tempdir().expect("a directory");
    let size = |path: &Path| std::fs::metadata(path.join("blocks")).expect("a file").len();
    let [usual, naive] = [false, true].map(|is_naive| {
        let shape = shapes(Layout::Adjacency).remove(0);
        let options = if is_naive { naive(shape) } else { shape };
        let path = home.path().join(if is_naive { "naive" } else { "usual" });
        let graph = create(&path, &options);
        // A vertex and a list for each of 40 shards, so that there are groups.
        for u in 0..40 * 64 {
            let updates: Vec<Update> =
                (0..40).map(|v| Update::Insert(u * 64, v + u, 1.0)).collect();
            graph.apply(&batch_of(&updates, options.weighted)).expect("room");
        }
        graph.flush_buffers().expect("room");
        let before = size(&path);
        let sizes = [(); 4].map(|()| {
            compacted(&graph);
            size(&path)
        });
        (before, sizes)
    });
    println!("usual {usual:?}, naive {naive:?}");
    let grown = |(before, sizes): (u64, [u64; 4])| sizes[0] as f64 / before as f64;
    // The file has images and a reserve, too, which take as much either way.
    assert!(grown(naive) > 1.2 && grown(naive) > grown(usual) + 0.2);
    assert_eq!(naive.1[1], naive.1[3]);
}
