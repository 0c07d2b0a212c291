//! What has changed since somebody asked before is told update by update, until it is too much.

use everedge_live::FollowedUpdate::{Add, Delete, End, Insert};
use everedge_live::{Batch, Durability};
use everedge_medium::{MediumKind, Volume, VolumeOptions};
use everedge_pma::{LogFirst, PmaOptions};

use crate::live::LiveGraph;
use everedge::{GraphOptions, Layout};

const MEDIUM: MediumKind = MediumKind::Pmem { emulated: true };

/// Calls `test` with a new graph.
fn with_graph(options: &GraphOptions, test: impl FnOnce(&LiveGraph)) {
    let home = tempfile::tempdir().expect("a directory");
    let volume = Volume::create(&home.path().join("g"), VolumeOptions::new(MEDIUM));
    test(&LiveGraph::create(volume.expect("a volume"), options).expect("a graph"));
}

fn all_options() -> impl Iterator<Item = GraphOptions> {
    (0..12).map(|number| GraphOptions {
        medium: MEDIUM,
        layout: Layout::ALL[number % 3],
        weighted: (number / 3) & 1 != 0,
        durability: if (number / 3) & 2 == 0 { Durability::Batch } else { Durability::Edge },
        ..GraphOptions::default()
    })
}

#[test]
fn updates_are_told_in_their_order() {
    for options in all_options() {
        with_graph(&options, |graph| {
            let weight = |weight: f32| options.weighted.then_some(weight);
            let insert = |u, v, w: f32| graph.insert_edge((u, v), weight(w)).expect("room");
            insert(0, 1, 1.0);
            assert_eq!(graph.follow().expect("it reads"), None, "nobody asked before");
            assert_eq!(graph.follow().expect("it reads"), Some(vec![]));
            insert(1, 2, 2.0);
            let mut batch = Batch::new(options.weighted);
            batch.insert(2, 3, 3.0).expect("a valid edge");
            batch.delete(0, 1).expect("a valid edge");
            batch.add_vertex(9).expect("a valid id");
            batch.insert(3, 4, 4.0).expect("a valid edge");
            graph.apply(&batch).expect("room");
            graph.snapshot().expect("it reads");
            graph.delete_vertex(9).expect("room");
            insert(5, 6, 5.0);
            let expected = vec![
                Insert((1, 2), weight(2.0)),
                Insert((2, 3), weight(3.0)),
                Delete((0, 1)),
                Add(9),
                Insert((3, 4), weight(4.0)),
                End(9),
                Insert((5, 6), weight(5.0)),
            ];
            assert_eq!(graph.follow().expect("it reads"), Some(expected), "{options:?}");
            assert_eq!(graph.follow().expect("it reads"), Some(vec![]));
        });
    }
}

#[test]
fn what_is_too_much_is_not_told() {
    const BATCH: u32 = 1 << 18;
    for options in all_options().filter(|options| !options.weighted) {
        with_graph(&options, |graph| {
            let insert = |number: u32| {
                let edges: Vec<_> = (0..BATCH).map(|v| (v, (v + number) % BATCH)).collect();
                graph.insert(&edges, None).expect("room");
            };
            graph.follow().expect("it reads");
            (0..4).for_each(insert);
            let told = graph.follow().expect("it reads").expect("2^20 updates");
            assert_eq!(told.len(), 1 << 20);
            (0..4).for_each(insert);
            graph.insert(&[(0, 1), (0, 2)], None).expect("room");
            assert_eq!(graph.follow().expect("it reads"), None);
            graph.insert(&[(0, 1), (0, 2)], None).expect("room");
            assert_eq!(graph.follow().expect("it reads").map(|told| told.len()), Some(2));
        });
    }
}

/// Edges that were stored without the log are in no order with others.
#[test]
fn what_was_not_logged_is_not_told() {
    let options = GraphOptions {
        medium: MEDIUM,
        layout: Layout::Pma,
        durability: Durability::Edge,
        pma: PmaOptions { log_first: LogFirst::No, ..PmaOptions::default() },
        ..GraphOptions::default()
    };
    with_graph(&options, |graph| {
        graph.insert(&[(0, 1), (1, 2)], None).expect("room");
        graph.follow().expect("it reads");
        graph.delete([(0, 1)].into_iter()).expect("room");
        assert_eq!(graph.follow().expect("it reads"), Some(vec![Delete((0, 1))]));
        let before = graph.stored_directly();
        graph.insert_edge((1, 2), None).expect("room");
        assert!(graph.stored_directly() > before, "it went another way");
        assert_eq!(graph.follow().expect("it reads"), None);
        assert_eq!(graph.follow().expect("it reads"), Some(vec![]));
    });
}
