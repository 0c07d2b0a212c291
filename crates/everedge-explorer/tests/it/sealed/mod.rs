//! Sealed graphs and their changes: what a power loss, a kill, a failing call, a full disk and a damaged byte leave of them.
//!
//! [`changes`]: crash images and failing calls of changes. [`sealing`]: the same of a sealing, also of one that merges changes.
//! [`full`]: disks without room; [`deletions`]: there edges are taken away. [`damage`]: flipped bytes, cut files and reads that fail.

#![expect(
    clippy::disallowed_methods,
    reason = "tests make, damage and remove the files of a graph"
)]

mod changes;
mod damage;
mod deletions;
mod full;
mod sealing;

use std::fs;
use std::path::Path;

use everedge::{
    Changer, Chunks, Edge, Error, Graph, GraphOptions, IdKind, MediumKind, Result, SealOptions,
    VertexId, View, Watch,
};
use everedge_adjacency::{AdjacencyOptions, Merging};
use everedge_live::Phases;
use everedge_medium::{MANIFEST, Recorder, Volume};

use crate::model::{Model, Picture, Random, Update};

const EIO: i32 = 5;
const ENOSPC: i32 = 28;
/// Vertices that edges have before the graph is sealed, and in all.
const VERTICES_SEALED: u64 = 10;
const VERTICES: u64 = 16;
/// Memory to read a small graph with.
const MEMORY: u64 = 64 << 20;

/// A sealed graph, and what it holds.
struct Sealed {
    volume: Volume,
    options: GraphOptions,
    model: Model,
}

/// The shapes of sealed graphs that are changed differently.
fn shapes() -> Vec<GraphOptions> {
    let shape = |(bits, ids): (u8, IdKind)| {
        let [directed, simple, weighted, in_neighbors] = [1, 2, 4, 8].map(|bit| bits & bit != 0);
        GraphOptions { directed, simple, weighted, in_neighbors, ids, ..GraphOptions::default() }
    };
    let (dense, integer, text) = (IdKind::Dense, IdKind::Integer, IdKind::Text);
    [(13, text), (10, integer), (11, dense), (5, text)].into_iter().map(shape).collect()
}

/// How the changes are stored: a small log wraps, and shards are saved on the way.
fn stored(medium: MediumKind) -> GraphOptions {
    GraphOptions {
        medium,
        log_bytes: 2048,
        adjacency: AdjacencyOptions {
            archive_threshold: 10,
            phases: Phases::InTurn,
            buffer_pool_bytes: 1200,
            merging: Some(Merging::Never),
            ..AdjacencyOptions::default()
        },
        ..GraphOptions::default()
    }
}

/// What vertex `number` of the model is called, in each kind of ids.
fn name(number: VertexId) -> u64 {
    u64::from(number) * 3 + 1
}

impl Sealed {
    /// Seals a few edges.
    fn new(options: &GraphOptions) -> Self {
        let (graph, model) = live(options, 40);
        let view = graph.snapshot().expect("a view");
        // In memory, as images are opened thousands of times.
        let (volume, _): (Volume, Recorder) = Volume::recorded(MediumKind::File, false);
        Chunks::seal_in(&volume, &view, &SealOptions::default(), &Watch::new()).expect("sealed");
        Self { volume, options: options.clone(), model }
    }

    /// Returns what the sealed files and the changes in a volume hold.
    fn picture(&self, changes: &Volume) -> Result<Picture> {
        let chunks = Chunks::open_in(self.volume.clone(), Some(changes.clone()), Some(MEMORY))?;
        picture_of(&chunks.view(0)?, &self.options)
    }
}

/// Returns a live graph of random edges in memory.
fn live(options: &GraphOptions, edge_count: u64) -> (Graph, Model) {
    live_of(options, &insertions(&mut Random(edge_count), edge_count, VERTICES_SEALED))
}

/// Returns a live graph in memory.
fn live_of(options: &GraphOptions, inserted: &[Update]) -> (Graph, Model) {
    let options = GraphOptions { medium: MediumKind::Dram, ..options.clone() };
    let graph = Graph::create("live".as_ref(), &options, false).expect("a graph");
    let mut model = Model::new(&options);
    model.apply(inserted);
    let names: Vec<u64> = ends(inserted).map(name).collect();
    let texts: Vec<String> = names.iter().map(u64::to_string).collect();
    let ids = match options.ids {
        IdKind::Dense => names.iter().map(|&id| id as VertexId).collect(),
        IdKind::Integer => graph.intern_integers(&names).expect("names"),
        IdKind::Text => graph.intern_texts(texts.iter().map(String::as_str)).expect("names"),
    };
    let weights = weights(inserted, options.weighted);
    graph.insert(&pairs(&ids), weights.as_deref()).expect("inserted");
    (graph, model)
}

fn insertions(random: &mut Random, count: u64, bound: u64) -> Vec<Update> {
    let weights = [0.25, 0.5, 1.0];
    let mut update = || {
        let (u, v) = (random.below(bound), random.below(bound));
        Update::Insert(u as VertexId, v as VertexId, weights[random.below(3) as usize])
    };
    (0..count).map(|_| update()).collect()
}

/// Draws the updates of a batch, which are all of one kind.
fn draw(random: &mut Random) -> Vec<Update> {
    let count = 1 + random.below(6);
    let as_deletion = |update: Update| match update {
        Update::Insert(u, v, _) => Update::Delete(u, v),
        update => update,
    };
    let as_vertex = |update: Update| match update {
        Update::Insert(u, ..) => Update::AddVertex(u),
        update => update,
    };
    let drawn = insertions(random, count, VERTICES);
    match random.below(8) {
        0..4 => drawn,
        4..7 => {
            insertions(random, 2 * count, VERTICES_SEALED).into_iter().map(as_deletion).collect()
        }
        _ => drawn.into_iter().map(as_vertex).collect(),
    }
}

/// Returns both ends of each edge, one after the other, and the vertices of other updates.
fn ends(updates: &[Update]) -> impl Iterator<Item = VertexId> {
    updates.iter().flat_map(|&update| match update {
        Update::Insert(u, v, _) | Update::Delete(u, v) => vec![u, v],
        Update::AddVertex(v) => vec![v],
    })
}

fn pairs(ends: &[VertexId]) -> Vec<Edge> {
    ends.chunks_exact(2).map(|ends| (ends[0], ends[1])).collect()
}

fn weights(updates: &[Update], is_weighted: bool) -> Option<Vec<f32>> {
    let weight = |update: &Update| match *update {
        Update::Insert(.., weight) => weight,
        _ => 1.0,
    };
    is_weighted.then(|| updates.iter().map(weight).collect())
}

/// Applies updates of one kind as one batch.
fn play(changer: &Changer, updates: &[Update]) -> Result<()> {
    let names: Vec<u64> = ends(updates).map(name).collect();
    let texts: Vec<String> = names.iter().map(u64::to_string).collect();
    let texts = texts.iter().map(String::as_str);
    let is_text = changer.options().ids == IdKind::Text;
    if let Some(Update::Delete(..)) = updates.first() {
        let found = if is_text { changer.find_texts(texts) } else { changer.find_integers(&names) };
        let known = found.chunks_exact(2).filter_map(|ends| ends[0].zip(ends[1]));
        return changer.delete(&known.collect::<Vec<_>>()).map(drop);
    }
    let ids = match is_text {
        true => changer.intern_texts(texts)?,
        false => changer.intern_integers(&names)?,
    };
    match updates.first() {
        Some(Update::AddVertex(_)) => changer.add_vertices(&ids),
        _ => {
            let weights = weights(updates, changer.options().weighted);
            changer.insert(&pairs(&ids), weights.as_deref()).map(drop)
        }
    }
}

/// Returns what a view holds, in the numbers of the model.
fn picture_of(view: &View, options: &GraphOptions) -> Result<Picture> {
    let number = |v: VertexId| {
        let name: u64 = view.name_of(v).to_string().parse().expect("a name is a number");
        ((name - 1) / 3) as VertexId
    };
    let mut picture = Picture { edge_count: view.edge_count(), ..Picture::default() };
    let vertices = view.vertices();
    picture.vertices.extend(vertices.iter().map(|&v| (number(v), Default::default())));
    assert_eq!(picture.vertices.len(), vertices.len(), "a name stands for two vertices");
    let has_in = !options.directed || options.in_neighbors;
    let all = view.for_each_arc(|u, v, weight| {
        let mut join = |a: VertexId, b: VertexId, is_out: bool| {
            let lists = picture.vertices.get_mut(&a).expect("an end is a vertex");
            let list = if is_out { &mut lists.0 } else { &mut lists.1 };
            list.push((b, weight.to_bits()));
        };
        join(number(u), number(v), true);
        if options.directed && has_in {
            join(number(v), number(u), false);
        } else if !options.directed {
            join(number(u), number(v), false);
        }
        Ok::<(), std::convert::Infallible>(())
    });
    assert_eq!(all, Ok(()));
    for (out, into) in picture.vertices.values_mut() {
        out.sort_unstable();
        into.sort_unstable();
    }
    let degrees = view.out_degrees().into_iter().zip(view.in_degrees());
    let degrees: Vec<_> = degrees.collect();
    view.check_reads()?;
    for v in vertices {
        let (out, into) = &picture.vertices[&number(v)];
        let (of_out, of_in) = degrees[v as usize];
        assert_eq!(of_out as usize, out.len(), "the out-degree of {v}");
        assert!(!has_in || of_in as usize == into.len(), "the in-degree of {v}");
    }
    Ok(picture)
}

/// Writes the files of a volume in memory into a directory, with what a creation leaves beside them that has not ended.
fn write_out(volume: &Volume, path: &Path) {
    fs::create_dir(path).expect("a directory");
    let mut names = volume.names().expect("names");
    for name in &names {
        fs::write(path.join(name), volume.read(name, u64::MAX).expect("a file")).expect("written");
    }
    names.retain(|name| name == MANIFEST);
    let marks = if names.is_empty() { &["lock", "unfinished.tmp"][..] } else { &["lock"] };
    marks.iter().for_each(|name| fs::write(path.join(name), "").expect("written"));
}

/// Whether an error is one that a failing medium leads to, in words that say what failed and where.
fn is_clear(error: &Error) -> bool {
    use everedge::StorageError::{Io, NoSpace, Poisoned};
    let is_kind = matches!(error, Error::Storage(Io { .. } | NoSpace { .. } | Poisoned { .. }));
    is_kind && error.to_string().contains("recorded")
}
