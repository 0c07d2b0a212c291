//! Open graphs in a forked child: a handle refuses there, and what ends it there leaves the parent's
//! graph alone. A sealed graph reads nothing there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use everedge_chunks::{ChunksView, SealOptions, Store, least_memory, seal};
use everedge_core::{Csr, CsrOptions, GraphView};
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
    for layout in Layout::ALL {
        for kind in [MediumKind::File, MediumKind::Pmem { emulated: true }] {
            let path = path.join(format!("{layout}-{kind}"));
            let mut graph = Some(busy_graph(&path, layout, kind));
            for (what, deed) in deeds {
                let before = files_at_rest(&path);
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
    for layout in Layout::ALL {
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
    for layout in Layout::ALL {
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

/// Whatever threads of the parent were reading, a child waits neither for them nor for a lock that they had.
#[test]
fn a_sealed_graph_in_a_forked_child_refuses_to_read() {
    const VERTICES: u32 = 30_000;
    let name = "forked::a_sealed_graph_in_a_forked_child_refuses_to_read";
    let Some(path) = in_child("-c 0", name) else { return };
    let volume = Volume::create(&path.join("g"), VolumeOptions::new(MediumKind::File));
    let volume = volume.expect("a volume");
    let edges: Vec<_> = (0..10 * VERTICES).map(|i| (i % VERTICES, i * 7 % VERTICES)).collect();
    let csr = Csr::from_edges(&edges, None, CsrOptions::default());
    let form = seal(&volume, 1, &csr, false, &SealOptions::default(), |v| v).expect("sealed");
    let memory = least_memory(&form);
    let store = Store::open(&volume, 1, form, memory).expect("open");
    let view = ChunksView::new(store.clone());
    // More than there is memory for.
    let read = |start| (start..VERTICES).step_by(97).map(|v| view.out_neighbors(v).count()).sum();
    let expected: usize = read(0);
    let is_over = AtomicBool::new(false);
    let (mut refused, children) = (0, 50);
    thread::scope(|scope| {
        for start in 1..3 {
            let (read, is_over) = (&read, &is_over);
            scope.spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    let _: usize = read(start);
                }
            });
        }
        for _ in 0..children {
            refused += u32::from(child::says(|| {
                let _: usize = read(0);
                matches!(store.check(), Err(Error::Forked))
            }));
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert_eq!(refused, children);
    assert_eq!(read(0), expected);
    store.check().expect("the parent goes on");
}

fn is_refused(outcome: Result<()>) -> bool {
    matches!(outcome, Err(Error::Forked))
}

/// Creates a graph whose archiving thread has started.
fn busy_graph(path: &Path, layout: Layout, medium: MediumKind) -> LiveGraph {
    let mut options = GraphOptions { layout, medium, ..GraphOptions::default() };
    options.adjacency.archive_threshold = 100;
    options.pma.archive_threshold = 100;
    options.blocks.archive_threshold = 100;
    let volume = Volume::create(path, VolumeOptions::new(medium)).expect("a volume");
    let graph = LiveGraph::create(volume, &options).expect("a graph");
    for first in (0..1000).step_by(10) {
        let edges: Vec<_> = (first..first + 10).map(|u| (u, u + 1)).collect();
        graph.insert(&edges, None).expect("room");
    }
    graph.snapshot().expect("a view");
    graph
}

/// Returns the files once the parent's own threads, which begin after a tenth of a second without a call, have nothing left to
/// put in order.
fn files_at_rest(path: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut before = files(path);
    loop {
        thread::sleep(Duration::from_millis(150));
        let after = files(path);
        if after == before {
            return after;
        }
        before = after;
    }
}

/// Returns the bytes of all files.
fn files(path: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = path.read_dir().expect("a directory").map(|entry| entry.expect("a file").path());
    // The parent counts there whenever it looks for something to put in order.
    let entries = entries.filter(|path| !path.ends_with("readers"));
    entries.map(|path| (path.clone(), std::fs::read(path).expect("bytes"))).collect()
}
