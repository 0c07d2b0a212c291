//! Open graphs in a forked child: a handle refuses there, and what ends it there leaves the parent's
//! graph alone.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use everedge_live::{Error, Result};
use everedge_medium::{Access, MediumKind, Volume, VolumeOptions};

use crate::limits::{child, in_child};
use crate::live::LiveGraph;
use everedge::{GraphOptions, Layout};

/// What a child does with the handle that it has inherited; whether that was right.
type Deed = fn(LiveGraph) -> bool;

#[test]
fn a_handle_in_a_forked_child_refuses_and_leaves_the_parents_graph_alone() {
    let name = "forked::a_handle_in_a_forked_child_refuses_and_leaves_the_parents_graph_alone";
    // In a process of its own, so that no other test has threads at work.
    let Some(path) = in_child("-c 0", name) else { return };
    let deeds: [(&str, Deed); 4] = [
        ("insert", |graph| is_refused(graph.insert(&[(1, 2), (2, 3)], None))),
        ("snapshot", |graph| is_refused(graph.snapshot().map(drop))),
        ("close", |graph| is_refused(graph.close())),
        ("drop", |graph| {
            drop(graph);
            true
        }),
    ];
    for layout in [Layout::Adjacency, Layout::Pma] {
        for kind in [MediumKind::File, MediumKind::Pmem { emulated: true }] {
            let path = path.join(format!("{layout}-{kind}"));
            let mut graph = Some(busy_graph(&path, layout, kind));
            for (what, deed) in deeds {
                let before = files(&path);
                let is_right = child::says(|| deed(graph.take().expect("inherited")));
                assert!(is_right, "{what} in a child, {layout} on {kind}");
                assert!(files(&path) == before, "{what} in a child writes, {layout} on {kind}");
                let other = Volume::open(&path, VolumeOptions::new(kind), Access::Write).err();
                assert!(matches!(other, Some(Error::InUse { .. })), "{what}: {other:?}");
                let parents = graph.as_ref().expect("the child took its own copy");
                parents.insert(&[(7, 8), (8, 9)], None).expect("the parent goes on");
            }
            graph.take().expect("the parent's").close().expect("closed by the parent");
            let volume = Volume::open(&path, VolumeOptions::new(kind), Access::Write);
            let graph = LiveGraph::open(volume.expect("not in use"), layout).expect("a graph");
            assert_eq!(graph.snapshot().expect("a view").edge_count(), 1000 + 2 * 4);
        }
    }
}

/// What a child has inherited is the parent's to give up, and a child gives up nothing of it.
#[test]
fn a_graph_that_its_parent_closes_is_free_though_a_child_lives() {
    let name = "forked::a_graph_that_its_parent_closes_is_free_though_a_child_lives";
    let Some(path) = in_child("-c 0", name) else { return };
    for layout in [Layout::Adjacency, Layout::Pma] {
        for access in [Access::Write, Access::Read] {
            let path = path.join(format!("{layout}-{access:?}"));
            let options = VolumeOptions::new(MediumKind::File);
            let mut graph = busy_graph(&path, layout, MediumKind::File);
            if access == Access::Read {
                graph.close().expect("closed");
                let volume = Volume::open(&path, options, access).expect("a volume");
                graph = LiveGraph::open(volume, layout).expect("a graph");
            }
            let living = child::idle();
            graph.close().expect("closed");
            let volume = Volume::open(&path, options, Access::Write).expect("not in use");
            LiveGraph::open(volume, layout).expect("a graph").close().expect("closed");
            drop(living);
        }
    }
}

#[test]
fn a_volume_that_a_child_drops_stays_its_parents() {
    let name = "forked::a_volume_that_a_child_drops_stays_its_parents";
    let Some(path) = in_child("-c 0", name) else { return };
    let options = VolumeOptions::new(MediumKind::File);
    let mut volume = Some(Volume::create(&path.join("g"), options).expect("a volume"));
    let before = files(&path.join("g"));
    assert!(child::says(|| {
        drop(volume.take());
        true
    }));
    assert!(files(&path.join("g")) == before, "the child has written into `lock`");
    let other = Volume::open(&path.join("g"), options, Access::Write).err();
    assert!(matches!(other, Some(Error::InUse { .. })), "{other:?}");
    drop(volume.take());
}

/// A view reads what a later handle would take for free, so it keeps the graph.
#[test]
fn a_view_keeps_its_graph_until_it_is_gone() {
    let home = tempfile::tempdir().expect("a directory");
    for layout in [Layout::Adjacency, Layout::Pma] {
        let path = home.path().join(layout.to_string());
        let graph = busy_graph(&path, layout, MediumKind::File);
        let view = graph.snapshot().expect("a view");
        graph.close().expect("closed");
        let options = VolumeOptions::new(MediumKind::File);
        let other = Volume::open(&path, options, Access::Write).err();
        assert!(matches!(other, Some(Error::InUse { .. })), "{other:?}");
        assert_eq!(view.edge_count(), 1000);
        drop(view);
        Volume::open(&path, options, Access::Write).expect("not in use");
    }
}

fn is_refused(outcome: Result<()>) -> bool {
    matches!(outcome, Err(Error::Forked))
}

/// Creates a graph whose archiving thread has started.
fn busy_graph(path: &Path, layout: Layout, medium: MediumKind) -> LiveGraph {
    let mut options = GraphOptions { layout, medium, ..GraphOptions::default() };
    options.adjacency.archive_threshold = 100;
    options.pma.archive_threshold = 100;
    let volume = Volume::create(path, VolumeOptions::new(medium)).expect("a volume");
    let graph = LiveGraph::create(volume, &options).expect("a graph");
    for first in (0..1000).step_by(10) {
        let edges: Vec<_> = (first..first + 10).map(|u| (u, u + 1)).collect();
        graph.insert(&edges, None).expect("room");
    }
    graph.snapshot().expect("a view");
    graph
}

/// Returns the bytes of all files.
fn files(path: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = path.read_dir().expect("a directory").map(|entry| entry.expect("a file").path());
    entries.map(|path| (path.clone(), std::fs::read(path).expect("bytes"))).collect()
}
