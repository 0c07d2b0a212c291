//! Graphs of which some lists are damaged: who asks for them is told, each time, what is damaged takes
//! nothing in, and everything else goes on, in every layout alike.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use everedge_core::{Edge, VertexId};
use everedge_live::{Error, Phases, SHARD_SPAN};
use everedge_medium::{Access, MediumKind, Volume};
use tempfile::TempDir;

use crate::battery::small;
use crate::live::LiveGraph;
use everedge::{GraphOptions, Layout};

const SHARDS: u32 = 4;
/// So many of the first edges of a shard are deleted: few enough to leave tombstones.
const DELETED: usize = 3;
/// Edges that a shard has then.
const EDGES: u64 = 40 + 2 - DELETED as u64;
const LAYOUTS: [Layout; 3] = Layout::ALL;

/// A graph of four shards that edges do not leave.
struct Victim {
    home: TempDir,
    options: GraphOptions,
}

/// The file of lists that was damaged, and where.
struct Damage {
    file: PathBuf,
    at: usize,
}

/// The first vertex of a shard.
fn first(shard: u32) -> VertexId {
    shard * SHARD_SPAN as u32
}

/// The list of this vertex is to be damaged; those of earlier vertices have tombstones.
fn marked(shard: u32) -> VertexId {
    first(shard) + 41
}

/// Edges of a shard that no other call inserts.
fn edges_of(shard: u32, round: u32) -> Vec<Edge> {
    (0..40).map(|i| (first(shard) + i, first(shard) + (i * 7 + round) % 40)).collect()
}

fn options(layout: Layout) -> GraphOptions {
    let mut options = small(layout);
    options.medium = MediumKind::File;
    options.log_bytes = 1 << 20;
    options.adjacency.phases = Phases::InTurn;
    options.pma.phases = Phases::InTurn;
    options.blocks.phases = Phases::InTurn;
    options
}

impl Victim {
    /// Creates a graph; `is_flushed` says whether the lists of the `adjacency` layout are blocks, and
    /// not buffers in images.
    fn new(options: GraphOptions, is_flushed: bool) -> Self {
        let home = tempfile::tempdir().expect("a directory");
        let volume = Volume::create(&home.path().join("g"), options.volume(false)).unwrap();
        let graph = LiveGraph::create(volume, &options).unwrap();
        for shard in 0..SHARDS {
            graph.insert(&edges_of(shard, 0), None).unwrap();
            let to = [1001, 1002].map(|id| (marked(shard), first(shard) + id));
            graph.insert(&to, None).unwrap();
            graph.delete(edges_of(shard, 0).into_iter().take(DELETED)).unwrap();
        }
        if is_flushed {
            graph.flush_all().unwrap();
        }
        graph.close().unwrap();
        Self { home, options }
    }

    fn open(&self, access: Access) -> Result<LiveGraph, Error> {
        let path = self.home.path().join("g");
        LiveGraph::open(
            Volume::open(&path, self.options.volume(false), access)?,
            self.options.layout,
        )
    }

    /// Flips a bit of the marked list of a shard.
    fn damage(&self, shard: u32) -> Damage {
        let words = [1001, 1002].map(|id| first(shard) + id);
        let wanted: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        for name in ["arrays", "shards", "blocks"] {
            let file = self.home.path().join("g").join(name);
            let Ok(bytes) = fs::read(&file) else { continue };
            let places = bytes.windows(wanted.len());
            // Older images lie there too.
            if let Some(at) = places.clone().rposition(|bytes| bytes == wanted) {
                let damage = Damage { file, at };
                places.enumerate().filter(|(_, found)| *found == wanted).for_each(|(at, _)| {
                    Damage { file: damage.file.clone(), at }.flip();
                });
                return damage;
            }
        }
        panic!("no list of vertex {}", marked(shard));
    }
}

impl Damage {
    /// Damages the byte, or makes it whole again.
    #[expect(clippy::disallowed_methods, reason = "damage comes from outside")]
    fn flip(&self) {
        let mut bytes = fs::read(&self.file).unwrap();
        bytes[self.at] ^= 4;
        fs::write(&self.file, bytes).unwrap();
    }
}

fn is_damage<T>(outcome: &Result<T, Error>) -> bool {
    matches!(outcome, Err(Error::Corruption { .. }))
}

/// Each victim: layout and whether lists are blocks.
fn victims() -> impl Iterator<Item = Victim> {
    let kinds = LAYOUTS.into_iter().flat_map(|layout| [(layout, false), (layout, true)]);
    kinds.map(|(layout, is_flushed)| Victim::new(options(layout), is_flushed))
}

#[test]
fn damaged_lists_are_reported_each_time() {
    for victim in victims() {
        victim.damage(1);
        let graph = victim.open(Access::Read).unwrap();
        for _ in 0..3 {
            assert!(is_damage(&graph.snapshot()), "{}", victim.options.layout);
            assert!(!graph.verify().unwrap().problems.is_empty());
        }
    }
}

/// A write that names a shard that is damaged is refused before it is logged; others go on.
#[test]
fn damaged_lists_take_nothing_in() {
    for victim in victims() {
        let what = victim.options.layout;
        let damage = victim.damage(1);
        let graph = victim.open(Access::Write).unwrap();
        for _ in 0..2 {
            assert!(is_damage(&graph.insert(&edges_of(1, 1), None)), "{what}");
            assert!(is_damage(&graph.insert_edge((first(1), first(1) + 9), None)), "{what}");
            assert!(is_damage(&graph.insert(&[(first(2), first(1))], None)), "{what}");
            assert!(is_damage(&graph.delete(edges_of(1, 0).into_iter().skip(DELETED))), "{what}");
            graph.insert(&edges_of(2, 1), None).unwrap();
            graph.insert_edge((first(3), first(3) + 9), None).unwrap();
            assert_eq!(graph.delete(edges_of(2, 1).into_iter()).unwrap().deleted, 40);
            assert!(is_damage(&graph.snapshot()), "{what}");
        }
        let _refused = graph.compact();
        graph.insert(&edges_of(0, 1), None).unwrap();
        drop(graph);
        victim.open(Access::Write).unwrap().close().unwrap();
        damage.flip();
        let graph = victim.open(Access::Write).unwrap();
        assert_eq!(graph.verify().unwrap().problems, [""; 0]);
        let view = graph.snapshot().unwrap();
        assert_eq!(view.edge_count(), u64::from(SHARDS) * EDGES + 2 + 40, "{what}");
    }
}

/// What was acknowledged before lists were damaged stays in the log: the graph opens, refuses writes,
/// and has all of it once the lists are whole.
#[test]
fn a_log_that_damaged_lists_wait_for_stays() {
    for is_deleting in [false, true] {
        for victim in victims() {
            let what = victim.options.layout;
            let graph = victim.open(Access::Write).unwrap();
            let edge = (marked(1), first(1) + 1001);
            match is_deleting {
                true => assert_eq!(graph.delete([edge].into_iter()).unwrap().deleted, 1),
                false => graph.insert(&[edge], None).unwrap(),
            }
            graph.insert(&[(marked(2), first(2) + 3)], None).unwrap();
            drop(graph);
            let damage = victim.damage(1);
            let mut changed = if is_deleting { 0 } else { 2 };
            for access in [Access::Read, Access::Write, Access::Write] {
                let graph = victim.open(access).unwrap();
                assert!(graph.insert(&edges_of(1, 1), None).is_err(), "{what}");
                changed += if graph.insert(&edges_of(2, 1), None).is_ok() { 40 } else { 0 };
                assert!(is_damage(&graph.snapshot()), "{what}");
                assert!(!graph.verify().unwrap().problems.is_empty(), "{what}");
                let _refused = graph.close();
            }
            damage.flip();
            let graph = victim.open(Access::Write).unwrap();
            assert_eq!(graph.verify().unwrap().problems, [""; 0]);
            let edge_count = graph.snapshot().unwrap().edge_count();
            assert_eq!(edge_count, u64::from(SHARDS) * EDGES + changed, "{what}");
            graph.close().unwrap();
        }
    }
}

/// All lists that are damaged are named, and not only the first.
#[test]
fn verification_names_all_damage() {
    for victim in victims() {
        let damaged = [0, 1, 3];
        damaged.iter().for_each(|&shard| drop(victim.damage(shard)));
        let graph = victim.open(Access::Read).unwrap();
        let problems = graph.verify().unwrap().problems;
        let distinct: BTreeSet<&String> = problems.iter().collect();
        assert!(distinct.len() >= damaged.len(), "{}: {problems:?}", victim.options.layout);
        let names = |shard: &u32| {
            let is_it = |word: &str| {
                let number = word.trim_matches(|c: char| !c.is_ascii_digit()).parse::<u32>();
                number.is_ok_and(|n| n == *shard || n / SHARD_SPAN as u32 == *shard)
            };
            problems.iter().any(|problem| problem.split(' ').any(is_it))
        };
        assert!(damaged.iter().all(names), "{}: {problems:?}", victim.options.layout);
    }
}

/// What is whole can be read all the same; what is not is named, with what the log has for it.
#[test]
fn what_is_whole_is_salvaged() {
    for is_logged in [false, true] {
        for victim in victims() {
            let what = victim.options.layout;
            let damaged = [1, SHARDS - 1];
            if is_logged {
                let graph = victim.open(Access::Write).unwrap();
                let edges = damaged.map(|shard| (marked(shard), first(shard) + 1001));
                assert_eq!(graph.delete(edges.into_iter()).unwrap().deleted, 2);
            }
            let whole = victim.open(Access::Read).unwrap().snapshot().unwrap();
            damaged.iter().for_each(|&shard| drop(victim.damage(shard)));
            let graph = victim.open(Access::Read).unwrap();
            for _ in 0..2 {
                let (view, problems) = graph.salvage().unwrap();
                assert_eq!(problems.len(), damaged.len(), "{what}: {problems:?}");
                for (shard, problem) in damaged.iter().zip(&problems) {
                    assert!(problem.contains(&first(*shard).to_string()), "{problem}");
                }
                assert_eq!(view.vertex_bound(), whole.vertex_bound(), "{what}");
                assert_eq!(view.vertex_count(), whole.vertex_count(), "{what}");
                assert_eq!(view.edge_count(), u64::from(SHARDS - 2) * EDGES, "{what}");
                for v in 0..view.vertex_bound() {
                    let is_damaged = damaged.contains(&(v / SHARD_SPAN as u32));
                    let (out, into) = (view.out_neighbors(v), view.in_neighbors(v));
                    assert!(!is_damaged || out.is_empty() && into.is_empty(), "{what}: {v}");
                    let expected = (whole.out_neighbors(v), whole.in_neighbors(v));
                    assert!(is_damaged || (out, into) == expected, "{what}: {v}");
                }
                assert!(is_damage(&graph.snapshot()), "{what}");
            }
        }
    }
}

/// Where nobody can tell any more where the lists of a shard lie, the other shards are salvaged, and nobody writes.
#[test]
fn a_damaged_head_takes_no_other_shard_with_it() {
    for victim in victims() {
        let magic = match victim.options.layout {
            Layout::Adjacency => b"SHRD",
            Layout::Blocks => b"BSHD",
            Layout::Pma => continue,
        };
        let file = victim.home.path().join("g/blocks");
        let bytes = fs::read(&file).unwrap();
        let whole = victim.open(Access::Read).unwrap().snapshot().unwrap();
        let mut lost = BTreeSet::new();
        for (at, _) in bytes.windows(4).enumerate().filter(|(_, found)| found == magic) {
            // A bit of the vertices' bits, which follow the magic number and the counts.
            let damage = Damage { file: file.clone(), at: at + 80 };
            damage.flip();
            let graph = victim.open(Access::Read).unwrap();
            let (view, problems) = graph.salvage().unwrap();
            assert_eq!(victim.open(Access::Write).is_err(), !problems.is_empty());
            damage.flip();
            // Older images lie there too.
            let [problem] = &problems[..] else {
                assert_eq!((problems.len(), view.edge_count()), (0, whole.edge_count()));
                continue;
            };
            assert!(
                is_damage(&graph.snapshot()) && !graph.verify().unwrap().problems.is_empty(),
                "{problem}"
            );
            assert_eq!(view.edge_count(), u64::from(SHARDS - 1) * EDGES, "{problem}");
            let lists_of = |v: VertexId| match v < view.vertex_bound() {
                true => (view.out_neighbors(v), view.in_neighbors(v)),
                false => (Vec::new(), Vec::new()),
            };
            for shard in (0..SHARDS).map(first) {
                let lists = shard..shard + 41;
                if lists.clone().all(|v| lists_of(v) == (Vec::new(), Vec::new())) {
                    lost.insert(shard);
                    continue;
                }
                for v in lists {
                    assert_eq!(lists_of(v), (whole.out_neighbors(v), whole.in_neighbors(v)));
                }
            }
        }
        assert_eq!(lost.len() as u32, SHARDS, "{}", victim.options.layout);
    }
}

/// The vertex is in the log, for a shard that is damaged; the other end of its edge is not.
#[test]
fn a_list_that_names_what_a_damaged_shard_lacks_is_salvaged() {
    for victim in victims() {
        let what = victim.options.layout;
        let (known, new) = (marked(0), first(SHARDS) - 1);
        let graph = victim.open(Access::Write).unwrap();
        assert!(graph.snapshot().unwrap().vertex_bound() <= new);
        graph.insert(&[(known, new)], victim.options.weighted.then_some(&[1.0][..])).unwrap();
        drop(graph);
        let whole = victim.open(Access::Read).unwrap().snapshot().unwrap().out_neighbors(known);
        drop(victim.damage(SHARDS - 1));
        let graph = victim.open(Access::Read).unwrap();
        let (view, problems) = graph.salvage().unwrap();
        assert_eq!(problems.len(), 1, "{what}: {problems:?}");
        assert!(whole.contains(&new), "{what}");
        assert_eq!(view.out_neighbors(known), whole, "{what}");
    }
}
