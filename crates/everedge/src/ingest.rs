//! Taking files in: chunks of edges become batches, acknowledged one after the other.
//!
//! The first edges of a file are held back until it is read to its end or [`HELD_EDGES`] are
//! there, so that a mistake in a file of usual size leaves the graph as it was. In a larger file
//! batches are acknowledged as they come, and an error says how many edges are in.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use crate::GraphOptions;
use everedge_core::{Edge, VertexId};
use everedge_io::{Chunk, Columns, Format, Ids, ReadOptions, ReadSummary};
use everedge_io::{read_edges, read_parquet, read_vertices};
use everedge_live::{Batch, Changes, Durability, IdKind};
use serde::Serialize;

use crate::input::{Content, Input};
use crate::run::peak_rss_bytes;
use crate::{Error, Graph, Result};

/// Edges of one file that are held back before the first batch is acknowledged.
const HELD_EDGES: usize = 1 << 22;

/// How files are taken in.
#[derive(Clone, Debug)]
pub struct IngestOptions {
    /// The format of every file; guessed if `None`.
    pub format: Option<Format>,
    /// Deletes the edges instead of inserting them.
    pub delete: bool,
    /// Edges of a batch.
    pub batch: usize,
    /// Leaves self-loops out; their ends are vertices all the same.
    pub drop_self_loops: bool,
    /// Where a table keeps ids and weights; guessed if `None`.
    pub columns: Option<Columns>,
}

impl Default for IngestOptions {
    fn default() -> Self {
        Self { format: None, delete: false, batch: 1 << 16, drop_self_loops: false, columns: None }
    }
}

/// How far an ingest is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Which file, from 0.
    pub file: usize,
    /// Bytes of it read.
    pub bytes_read: u64,
    /// Bytes that it has, if known.
    pub bytes_total: Option<u64>,
    /// Edges acknowledged, of all files.
    pub edges: u64,
}

/// What an ingest did. Serializes to the keys of `everedge ingest --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct IngestReport {
    /// Edges in the files.
    pub edges_read: u64,
    /// Edges that were inserted and not there already.
    pub edges_inserted: u64,
    /// Edges that were deleted.
    pub edges_deleted: u64,
    /// Deletions that found no edge.
    pub deletes_ignored: u64,
    /// Vertices of the graph afterwards.
    pub vertices: u64,
    /// Edges of the graph afterwards.
    pub edges: u64,
    /// From the first edge read to the last batch acknowledged.
    pub seconds: f64,
    /// Edges read in a second.
    pub edges_per_second: f64,
    /// The most memory that this process has taken.
    pub peak_rss_bytes: u64,
    /// What the medium did, if that is counted.
    pub medium: Option<MediumReport>,
}

/// What a medium did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MediumReport {
    /// Bytes stored by the program.
    pub stored_bytes: u64,
    /// Bytes that the device reads, by the model of its buffer.
    pub media_read_bytes: u64,
    /// Bytes that the device writes, by the model of its buffer.
    pub media_written_bytes: u64,
    /// Fences.
    pub fences: u64,
}

impl Graph {
    /// Opens the graph at `path`; if nothing or an empty directory is there, creates it as
    /// `options` say and the first file suggests: a format that is undirected makes an undirected
    /// graph unless `directed` is fixed, ids that are strings or sparse go through the id map
    /// unless `ids` is chosen.
    ///
    /// # Errors
    /// If the graph or the file cannot be opened; nothing is created then.
    pub fn open_or_create(
        path: &Path,
        options: &GraphOptions,
        choices: Choices,
        first_file: Option<&Path>,
        ingest: &IngestOptions,
    ) -> Result<Self> {
        let is_empty = || path.read_dir().is_ok_and(|mut entries| entries.next().is_none());
        if path.exists() && !is_empty() {
            if Self::is_unborn(path) {
                let path = path.display();
                return Err(Error::invalid(format!(
                    "the creation of the graph `{path}` was interrupted before it held anything; \
                     remove the directory and try again"
                )));
            }
            return Self::open(path, choices.meter);
        }
        let mut options = options.clone();
        if choices.ids == Some(true) {
            // Without a file to look at: as text any id can be kept.
            options.ids = IdKind::Text;
        }
        if let Some(file) = first_file {
            let guess = Input::guess(file, ingest.format)?;
            options.directed &= choices.directed_fixed || guess.directed != Some(false);
            options.ids = match (choices.ids, guess.ids) {
                (Some(false), _) | (None, everedge_io::IdKind::Dense) => IdKind::Dense,
                (_, everedge_io::IdKind::Text) => IdKind::Text,
                _ => IdKind::Integer,
            };
        }
        Self::create(path, &options, choices.meter)
    }

    /// Takes files in, one after the other; `-` is standard input. `progress` is called after
    /// each batch and ends the ingest when it returns false.
    ///
    /// # Errors
    /// `File` with the place in the file; `Partly` if batches of this call were acknowledged
    /// before it.
    pub fn ingest(
        &self,
        files: &[PathBuf],
        options: &IngestOptions,
        progress: &mut (dyn FnMut(Progress) -> bool + Send),
    ) -> Result<IngestReport> {
        let before = self.changes()?;
        let start = Instant::now();
        let mut taken = Taken { progress, edges_read: 0, edges_acknowledged: 0 };
        for (number, path) in files.iter().enumerate() {
            self.ingest_file(number, path, options, &mut taken).map_err(|error| {
                match taken.edges_acknowledged {
                    0 => error,
                    edges => Error::Partly { edges, source: Box::new(error) },
                }
            })?;
        }
        let seconds = start.elapsed().as_secs_f64();
        self.report(before, taken.edges_read, seconds)
    }

    fn report(&self, before: Changes, edges_read: u64, seconds: f64) -> Result<IngestReport> {
        let changes = self.changes()? - before;
        let stats = self.stats()?;
        let medium = self.meter().map(|reading| MediumReport {
            stored_bytes: reading.stored_bytes,
            media_read_bytes: reading.media_read_bytes,
            media_written_bytes: reading.media_written_bytes,
            fences: reading.fences,
        });
        Ok(IngestReport {
            edges_read,
            edges_inserted: changes.inserted,
            edges_deleted: changes.deleted,
            deletes_ignored: changes.ignored_deletions,
            vertices: stats.vertices,
            edges: stats.edges,
            seconds,
            edges_per_second: edges_read as f64 / seconds.max(1e-9),
            peak_rss_bytes: peak_rss_bytes(),
            medium,
        })
    }

    fn ingest_file(
        &self,
        number: usize,
        path: &Path,
        options: &IngestOptions,
        taken: &mut Taken,
    ) -> Result<()> {
        let input = Input::open(path, options.format)?;
        let (len, bytes_read) = (input.len, input.bytes_read.clone());
        let batch = match self.options().durability {
            Durability::Edge => 1,
            _ => options.batch.max(1),
        };
        let mut batcher = Batcher {
            graph: self,
            delete: options.delete,
            drop_self_loops: options.drop_self_loops,
            batch,
            loop_ends: Vec::new(),
            edges: Vec::new(),
            weights: self.options().weighted.then(Vec::new),
            is_held: true,
            acknowledge: |edges| {
                taken.edges_acknowledged += edges;
                let edges = taken.edges_acknowledged;
                let bytes_read = bytes_read.load(Relaxed);
                let go_on = (taken.progress)(Progress {
                    file: number,
                    bytes_read,
                    bytes_total: len,
                    edges,
                });
                if go_on { Ok(()) } else { Err(Error::Interrupted) }
            },
        };
        let summary = read_into(&mut batcher, input, options)?;
        batcher.finish()?;
        if let Some(count) = summary.vertices.filter(|_| !options.delete) {
            self.add_declared_vertices(count)?;
        }
        taken.edges_read += summary.edges;
        Ok(())
    }

    /// Adds the vertices 1 to `count` that a format declares.
    fn add_declared_vertices(&self, count: VertexId) -> Result<()> {
        let names: Vec<u32> = (1..=count).collect();
        for part in names.chunks(1 << 16) {
            self.add_vertices(Ids::Dense(part.to_vec()))?;
        }
        Ok(())
    }

    fn add_vertices(&self, names: Ids) -> Result<()> {
        let mut batch = Batch::new(self.options().weighted);
        for v in self.vertices_of(names)? {
            batch.add_vertex(v)?;
        }
        self.apply(&batch)
    }

    /// Turns a file's ids into vertices, making ids for new names.
    fn vertices_of(&self, names: Ids) -> Result<Vec<VertexId>> {
        match (names, self.options().ids) {
            (Ids::Dense(ids), IdKind::Dense) => Ok(ids),
            (Ids::Dense(ids), _) => {
                let ids: Vec<u64> = ids.into_iter().map(u64::from).collect();
                self.intern_integers(&ids)
            }
            (Ids::Sparse(ids), _) => self.intern_integers(&ids),
            (Ids::Text(texts), _) => self.intern_texts(texts.iter()),
        }
    }

    /// Turns a file's ids into vertices; those of unknown names are `None`.
    fn known_vertices_of(&self, names: &Ids) -> Vec<Option<VertexId>> {
        use everedge_live::ExternalId;
        let names: Vec<ExternalId> = match names {
            Ids::Dense(ids) => ids.iter().map(|&id| ExternalId::Integer(id.into())).collect(),
            Ids::Sparse(ids) => ids.iter().map(|&id| ExternalId::Integer(id)).collect(),
            Ids::Text(texts) => texts.iter().map(|id| ExternalId::Text(id.into())).collect(),
        };
        self.find(&names)
    }
}

/// What the caller of [`Graph::open_or_create`] leaves to the first file, and what not.
#[derive(Clone, Copy, Debug, Default)]
pub struct Choices {
    /// The direction of edges was chosen.
    pub directed_fixed: bool,
    /// Whether ids go through the id map, if that was chosen.
    pub ids: Option<bool>,
    /// Counts what the medium does.
    pub meter: bool,
}

/// Counts over all files of an ingest.
struct Taken<'a> {
    progress: &'a mut (dyn FnMut(Progress) -> bool + Send),
    edges_read: u64,
    edges_acknowledged: u64,
}

/// Collects edges into batches.
struct Batcher<'a, F> {
    graph: &'a Graph,
    delete: bool,
    drop_self_loops: bool,
    batch: usize,
    /// The ends of self-loops that were left out.
    loop_ends: Vec<VertexId>,
    edges: Vec<Edge>,
    weights: Option<Vec<f32>>,
    is_held: bool,
    acknowledge: F,
}

impl<F: FnMut(u64) -> Result<()>> Batcher<'_, F> {
    fn take(&mut self, chunk: Chunk) -> Result<()> {
        if self.delete {
            return self.take_deletions(&chunk);
        }
        let src = self.graph.vertices_of(chunk.src)?;
        let dst = self.graph.vertices_of(chunk.dst)?;
        let (drop_self_loops, loop_ends) = (self.drop_self_loops, &mut self.loop_ends);
        let mut keep = |edge: &Edge| {
            let drops = drop_self_loops && edge.0 == edge.1;
            if drops {
                loop_ends.push(edge.0);
            }
            !drops
        };
        let edges = src.into_iter().zip(dst);
        match (&mut self.weights, chunk.weights) {
            (Some(weights), Some(new)) => {
                for (edge, weight) in edges.zip(new).filter(|(edge, _)| keep(edge)) {
                    self.edges.push(edge);
                    weights.push(weight);
                }
            }
            _ => self.edges.extend(edges.filter(keep)),
        }
        self.is_held &= self.edges.len() < HELD_EDGES;
        if self.is_held { Ok(()) } else { self.apply_whole_batches() }
    }

    fn take_deletions(&mut self, chunk: &Chunk) -> Result<()> {
        let src = self.graph.known_vertices_of(&chunk.src);
        let dst = self.graph.known_vertices_of(&chunk.dst);
        // An edge with an unknown end is not there: a deletion of no vertex finds nothing.
        let nowhere = self.graph.snapshot()?.vertex_bound();
        let ends = src.into_iter().zip(dst);
        self.edges.extend(ends.map(|(u, v)| (u.unwrap_or(nowhere), v.unwrap_or(nowhere))));
        self.is_held &= self.edges.len() < HELD_EDGES;
        if self.is_held { Ok(()) } else { self.apply_whole_batches() }
    }

    fn apply_whole_batches(&mut self) -> Result<()> {
        let whole = self.edges.len() / self.batch * self.batch;
        self.apply_first(whole)
    }

    fn finish(mut self) -> Result<()> {
        self.apply_first(self.edges.len())
    }

    fn apply_first(&mut self, count: usize) -> Result<()> {
        let mut named = Batch::new(self.weights.is_some());
        for v in self.loop_ends.drain(..) {
            named.add_vertex(v)?;
        }
        self.graph.apply(&named)?;
        for start in (0..count).step_by(self.batch) {
            let range = start..count.min(start + self.batch);
            let edges = self.edges[range.clone()].iter().copied();
            let batch = match (&self.weights, self.delete) {
                (weights, true) => Batch::deletions(edges, weights.is_some())?,
                (None, false) => Batch::insertions(edges, None)?,
                (Some(weights), false) => Batch::insertions(edges, Some(&weights[range.clone()]))?,
            };
            self.graph.apply(&batch)?;
            (self.acknowledge)(range.len() as u64)?;
        }
        self.edges.drain(..count);
        if let Some(weights) = self.weights.as_mut().filter(|weights| !weights.is_empty()) {
            weights.drain(..count);
        }
        Ok(())
    }
}

fn read_into<F: FnMut(u64) -> Result<()> + Send>(
    batcher: &mut Batcher<F>,
    input: Input,
    options: &IngestOptions,
) -> Result<ReadSummary> {
    let graph = batcher.graph;
    let read_options = read_options(graph, &input, options);
    let at = |error: Sink| match error {
        Sink::Read(error) => Error::file(&input.path, error),
        Sink::Graph(error) => error,
    };
    let mut take = |chunk: Chunk| batcher.take(chunk).map_err(Sink::Graph);
    let summary = match input.content {
        Content::Parquet(file) => read_parquet(file, &read_options, take),
        Content::Stream(bytes) if read_options.format == Format::GraphalyticsVertices => {
            let add = |ids: Ids| graph.add_vertices(ids).map_err(Sink::Graph);
            read_vertices(bytes, read_options.ids, add).map(|_| ReadSummary::default())
        }
        Content::Stream(bytes) => read_edges(bytes, &read_options, &mut take),
    };
    summary.map_err(at)
}

fn read_options(graph: &Graph, input: &Input, options: &IngestOptions) -> ReadOptions {
    let mut read = input.guess.options();
    read.weighted = graph.options().weighted && !options.delete;
    read.ids = match graph.options().ids {
        IdKind::Dense => everedge_io::IdKind::Dense,
        IdKind::Integer => everedge_io::IdKind::Sparse,
        IdKind::Text => everedge_io::IdKind::Text,
    };
    if let Some(columns) = &options.columns {
        read.columns = columns.clone();
    }
    read
}

/// An error of reading, whose file is yet to be named, or of the graph.
enum Sink {
    Read(everedge_io::Error),
    Graph(Error),
}

impl From<everedge_io::Error> for Sink {
    fn from(error: everedge_io::Error) -> Self {
        Self::Read(error)
    }
}
