//! A sealed graph on a full medium: what was acknowledged stays, the graph is whole, and deletions go on once there is room.

use std::path::Path;

use everedge::{Chunks, Edge, Error, Graph, GraphOptions, MediumKind, SealOptions, Watch};

use super::full::assert_is_full;
use crate::small_disk::{SmallFileSystem, give_back, leave};

const MEDIUM_MIB: u32 = 4;
const VERTICES: u32 = 4000;
const EDGES_EACH: u32 = 20;
/// Edges of a batch.
const BATCH: usize = 1000;

/// All edges, each once.
fn edges() -> Vec<Edge> {
    let of = |u: u32| (1..=EDGES_EACH).map(move |step| (u, (u + step * step) % VERTICES));
    (0..VERTICES).flat_map(of).collect()
}

fn seal(path: &Path) {
    let options = GraphOptions { medium: MediumKind::Dram, ..GraphOptions::default() };
    let graph = Graph::create("full".as_ref(), &options, false).expect("a graph");
    graph.insert(&edges(), None).expect("inserted");
    let view = graph.snapshot().expect("a view");
    Chunks::seal(&view, path, &SealOptions::default(), &Watch::new()).expect("sealed");
}

/// Deletes edges from the `first`-th on until it is refused. Returns how many are deleted, and why no more are.
fn delete(path: &Path, first: usize) -> (usize, Option<Error>) {
    let (edges, mut deleted) = (edges(), first);
    let changer = match Chunks::change(path, false) {
        Ok(changer) => changer,
        Err(error) => return (deleted, Some(error)),
    };
    for batch in edges[first..].chunks(BATCH) {
        let ends: Vec<u64> = batch.iter().flat_map(|&(u, v)| [u.into(), v.into()]).collect();
        let ends = changer.intern_integers(&ends).expect("vertices that are there");
        let batch: Vec<Edge> = ends.chunks(2).map(|ends| (ends[0], ends[1])).collect();
        match changer.delete(&batch) {
            Ok(changes) => deleted += changes.deleted as usize,
            Err(error) => {
                // Who asks a handle again is refused again, and does not lose anything by it.
                assert!(changer.delete(&batch).is_err());
                return (deleted, Some(error));
            }
        }
    }
    changer.close().expect("closed");
    (deleted, None)
}

/// The graph must be what was not deleted.
fn check(path: &Path, deleted: usize, when: &str) {
    let view = Chunks::open(path, None).and_then(|chunks| chunks.view(0)).expect(when);
    let name = |v| view.name_of(v).to_string().parse::<u32>().expect("a number");
    let mut found = Vec::new();
    let all = view.for_each_arc(|u, v, _| {
        found.push((name(u), name(v)));
        Ok::<(), std::convert::Infallible>(())
    });
    assert_eq!(all, Ok(()));
    let mut expected = edges()[deleted..].to_vec();
    found.sort_unstable();
    expected.sort_unstable();
    assert!(found == expected, "{when}: {} edges, not {}", found.len(), expected.len());
    let verified = Chunks::verify(path).expect(when);
    assert!(verified.ok, "{when}: {:?}", verified.problems);
}

#[test]
fn deletions_of_a_sealed_graph_go_on_once_there_is_room() {
    let home = tempfile::tempdir().expect("a directory");
    let Some(_mounted) = SmallFileSystem::mount(home.path(), MEDIUM_MIB) else {
        println!("not run: mounting a small tmpfs needs more rights");
        return;
    };
    let (path, filler) = (home.path().join("sealed"), home.path().join("filler"));
    seal(&path);
    // The first time, there is no room for any change; then for some; then for all.
    leave(&filler, 0);
    let (deleted, why) = delete(&path, 0);
    assert_eq!(deleted, 0);
    assert!(why.is_some(), "there is no room");
    check(&path, 0, "without room");
    leave(&filler, 16 << 10);
    let (deleted, why) = delete(&path, 0);
    assert_is_full(&why.expect("there is no room"), &path.join("changes"));
    assert_eq!(deleted, 0);
    check(&path, 0, "with little room");
    leave(&filler, 1800 << 10);
    let (deleted, why) = delete(&path, 0);
    assert_is_full(&why.expect("there is not enough room"), &path.join("changes"));
    assert!((1..edges().len()).contains(&deleted), "{deleted}");
    check(&path, deleted, "with some room");
    give_back(&filler);
    let (deleted, why) = delete(&path, deleted);
    assert!(why.is_none(), "{why:?}");
    assert_eq!(deleted, edges().len());
    check(&path, deleted, "with room");
}
