//! A log with a damaged line: what else is acknowledged can be read, what is lost is named, and nothing is
//! written, in every layout alike.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use everedge_adjacency::AdjacencyOptions;
use everedge_core::Edge;
use everedge_live::{Error, Phases};
use everedge_medium::{Access, MediumKind, Volume};
use everedge_pma::PmaOptions;

use crate::battery::small;
use crate::live::{LiveGraph, View};
use everedge::{GraphOptions, Layout};

const BATCHES: u32 = 40;
const LINE: usize = 64;
/// Where the ring begins.
const RING: usize = 8192;

/// The edges of a batch, which leave a vertex of its own.
fn edges_of(batch: u32) -> Vec<Edge> {
    (0..1 + batch % 9).map(|number| (batch, 100 + number)).collect()
}

/// Where batches are archived at once, or all of them by the opening.
fn options(layout: Layout, medium: MediumKind, is_archived: bool) -> GraphOptions {
    let mut options = GraphOptions { medium, log_bytes: 1 << 20, ..small(layout) };
    let archive_threshold = if is_archived { 24 } else { 1 << 20 };
    let phases = Phases::InTurn;
    options.adjacency = AdjacencyOptions { archive_threshold, phases, ..options.adjacency };
    options.pma = PmaOptions { archive_threshold, phases, ..options.pma };
    options
}

fn all_options() -> impl Iterator<Item = GraphOptions> {
    let kinds = [MediumKind::File, MediumKind::Pmem { emulated: true }];
    let layouts = Layout::ALL.into_iter();
    let placed = layouts.flat_map(move |layout| kinds.map(|medium| (layout, medium)));
    placed.flat_map(|(layout, medium)| [true, false].map(|all| options(layout, medium, all)))
}

fn open(path: &Path, options: &GraphOptions, access: Access) -> Result<LiveGraph, Error> {
    LiveGraph::open(Volume::open(path, options.volume(false), access)?, options.layout)
}

fn files(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let named =
        entries.map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), path));
    let files = named.filter(|(name, _)| !["lock", "readers"].contains(&name.as_str()));
    files.map(|(name, path)| (name, fs::read(path).unwrap())).collect()
}

/// Returns the batches that a view lacks; each is whole or absent.
fn lacks(view: &View) -> Vec<u32> {
    let lacks = |batch: &u32| {
        let neighbors: Vec<Edge> =
            view.out_neighbors(*batch).into_iter().map(|to| (*batch, to)).collect();
        assert!(neighbors.is_empty() || neighbors == edges_of(*batch), "half of batch {batch}");
        neighbors.is_empty()
    };
    (0..BATCHES).filter(lacks).collect()
}

fn is_damage<T>(outcome: &Result<T, Error>) -> bool {
    matches!(outcome, Err(Error::Corruption { path, .. }) if path.ends_with("log"))
}

/// Looks at a graph with a damaged log through both kinds of handles. Returns whether that is seen.
fn look(path: &Path, options: &GraphOptions) -> bool {
    let before = files(path);
    for access in [Access::Read, Access::Write] {
        let graph = match open(path, options, access) {
            // What lists prove, for a handle that would write.
            Err(error) if access == Access::Write => {
                assert!(is_damage(&Err::<(), _>(error)));
                continue;
            }
            graph => graph.unwrap(),
        };
        let Err(error) = graph.snapshot() else {
            // Nothing tells a damaged last record from a torn one; what is saved is not read again.
            let lost = lacks(&graph.snapshot().unwrap());
            assert!(lost.is_empty() || lost == [BATCHES - 1], "{lost:?} in silence");
            return false;
        };
        assert!(is_damage(&Err::<(), _>(error)));
        let (view, problems) = match graph.salvage() {
            Err(error) if access == Access::Write => {
                assert!(is_damage(&Err::<(), _>(error)));
                assert!(is_damage(&graph.insert(&[(1, 2)], None)));
                assert!(is_damage(&graph.compact()));
                drop(graph);
                assert!(files(path) == before, "nothing is written");
                continue;
            }
            salvaged => salvaged.unwrap(),
        };
        // Lists may hold what the log has lost.
        let lost = lacks(&view);
        assert!(lost.len() <= 1, "{lost:?}");
        assert!(problems.len() == 1 && problems[0].contains("log"), "{problems:?}");
        assert_eq!(graph.verify().unwrap().problems.len(), 1);
        if access == Access::Write {
            assert!(is_damage(&graph.insert(&[(1, 2)], None)));
            assert!(is_damage(&graph.insert_edge((1, 2), None)));
            assert!(is_damage(&graph.delete([(1, 100)].into_iter())));
            assert!(is_damage(&graph.flush_all()));
            assert!(is_damage(&graph.compact()));
        }
        let _refused = graph.close();
        assert!(files(path) == before, "nothing is written");
    }
    true
}

#[expect(clippy::disallowed_methods, reason = "damage comes from outside")]
fn flip(log: &Path, place: usize) {
    let mut bytes = fs::read(log).unwrap();
    bytes[place] ^= 4;
    fs::write(log, bytes).unwrap();
}

#[test]
fn a_damaged_line_keeps_nobody_from_the_rest() {
    for options in all_options() {
        let home = tempfile::tempdir().expect("a directory");
        let path = home.path().join("g");
        let volume = Volume::create(&path, options.volume(false)).unwrap();
        let graph = LiveGraph::create(volume, &options).unwrap();
        for batch in 0..BATCHES {
            graph.insert(&edges_of(batch), None).unwrap();
        }
        drop(graph);
        let log = path.join("log");
        let bytes = fs::read(&log).unwrap();
        let whole = files(&path);
        let lines = (RING..bytes.len()).step_by(LINE);
        let used = lines.filter(|&at| bytes[at..at + LINE].iter().any(|&byte| byte != 0));
        let (mut seen, mut count) = (0, 0);
        for at in used {
            flip(&log, at + 20);
            seen += u32::from(look(&path, &options));
            count += 1;
            // It may have been written to where nothing was found.
            for (name, bytes) in &whole {
                write(&path.join(name), bytes);
            }
        }
        let graph = open(&path, &options, Access::Write).unwrap();
        assert_eq!(lacks(&graph.snapshot().unwrap()), [0; 0]);
        // All but the last record's.
        assert!(count > 60 && seen >= count - 2, "{options:?}: {seen} of {count}");
    }
}

#[expect(clippy::disallowed_methods, reason = "as it was before the damage")]
fn write(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).unwrap();
}
