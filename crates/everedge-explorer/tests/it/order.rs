//! Lists of `pma` keep the order in which their edges came, whatever moves them.

use everedge_medium::{Access, MediumKind, Volume};

use crate::battery::{ablated, aside, bare, shapes};
use crate::live::LiveGraph;
use crate::model::{Model, Random, batch_of};
use everedge::{GraphOptions, Layout};

const VERTEX_BOUND: u64 = 24;
const ROUNDS: u64 = 60;

/// Neighbors come as they were inserted; of equal ones a deletion takes the newest.
fn check(graph: &LiveGraph, model: &Model, when: &str) {
    let options = graph.options();
    let view = graph.snapshot().expect("a snapshot");
    for (v, expected) in model.lists_in_order() {
        let [outgoing, incoming] = expected;
        assert_eq!(view.out_edges(v), outgoing, "out-list of {v}, {when}, {options:?}");
        if !options.directed || options.in_neighbors {
            assert_eq!(view.in_edges(v), incoming, "in-list of {v}, {when}, {options:?}");
        }
    }
}

fn run(options: &GraphOptions, seed: u64) {
    let home = tempfile::tempdir().expect("a directory");
    let path = home.path().join("g");
    let volume = Volume::create(&path, options.volume(false)).expect("a volume");
    let mut graph = LiveGraph::create(volume, options).expect("a graph");
    let (mut model, mut random) = (Model::new(options), Random(seed));
    for round in 0..ROUNDS {
        let count = 1 + random.below(40);
        let updates = random.updates(count, VERTEX_BOUND, 4);
        model.apply(&updates);
        graph.apply(&batch_of(&updates, options.weighted)).expect("room");
        match round % 10 {
            3 => graph.flush_all().expect("flushed"),
            6 => graph.compact().expect("compacted"),
            8 => {
                drop(graph);
                let volume = Volume::open(&path, options.volume(false), Access::Write);
                graph =
                    LiveGraph::open(volume.expect("a volume"), options.layout).expect("a graph");
            }
            _ => {}
        }
        check(&graph, &model, &format!("round {round}"));
    }
}

#[test]
fn lists_of_pma_keep_the_order_of_insertion() {
    for (seed, shape) in shapes(Layout::Pma).into_iter().enumerate() {
        // Where a pair keeps one edge, its weight changes where it stands or at the end.
        if shape.simple {
            continue;
        }
        let shape = GraphOptions { medium: MediumKind::Pmem { emulated: true }, ..shape };
        for options in [shape.clone(), aside(shape.clone()), bare(shape.clone()), ablated(shape)] {
            run(&options, seed as u64);
        }
    }
}
