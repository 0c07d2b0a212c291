//! Chunks of edges become batches.

use std::path::PathBuf;
use std::time::Instant;

use everedge_core::{Bitmap, Edge, VertexId};
use everedge_io::{Chunk, Ids};
use everedge_live::Durability;

use crate::input::Input;
use crate::taker::Taker;
use crate::{Error, IngestOptions, Result};

/// Edges of one file that are held back before the first batch is acknowledged.
const HELD_EDGES: usize = 1 << 22;

/// Takes how many edges were acknowledged; its error ends the ingest.
type Acknowledge<'a> = &'a mut (dyn FnMut(u64) -> Result<()> + Send);

/// Collects the edges of one file into batches.
pub(crate) struct Batcher<'a> {
    graph: &'a dyn Taker,
    options: &'a IngestOptions,
    batch: usize,
    /// Whether an edge of the file is one each way in the graph.
    is_both_ways: bool,
    /// Vertices to be made: those that a file lists, and the ends of self-loops that were left out.
    vertices: Vec<VertexId>,
    /// The vertices of a file that lists them, for the edges that follow.
    declared: Vec<VertexId>,
    /// The only vertices that edges may name, and the file that lists them.
    allowed: Option<(PathBuf, Bitmap)>,
    /// Deletions that were left out, since an end is no vertex.
    deletes_ignored: u64,
    edges: Vec<Edge>,
    weights: Option<Vec<f32>>,
    is_held: bool,
    /// Since when edges of a stream wait for their batch to fill.
    since: Option<Instant>,
    acknowledge: Acknowledge<'a>,
}

impl<'a> Batcher<'a> {
    pub(crate) fn new(
        graph: &'a dyn Taker,
        input: &Input,
        options: &'a IngestOptions,
        acknowledge: Acknowledge<'a>,
    ) -> Self {
        let batch = match graph.options().durability {
            Durability::Edge => 1,
            _ => options.batch.max(1),
        };
        Self {
            graph,
            options,
            batch,
            is_both_ways: graph.options().directed && input.guess.directed == Some(false),
            vertices: Vec::new(),
            declared: Vec::new(),
            allowed: None,
            deletes_ignored: 0,
            edges: Vec::new(),
            weights: graph.options().weighted.then(Vec::new),
            is_held: !input.is_stream && graph.waits(),
            since: None,
            acknowledge,
        }
    }

    /// Takes vertices that a file lists, and makes those of a stream.
    pub(crate) fn take_vertices(&mut self, ids: Ids) -> Result<()> {
        if !self.options.delete {
            let vertices = self.graph.vertices_of(ids)?;
            self.declared.extend(&vertices);
            self.vertices.extend(vertices);
        }
        self.is_held &= self.vertices.len() < HELD_EDGES;
        if !self.is_held {
            self.apply_first(0)?;
        }
        self.options.check_stop()
    }

    /// Refuses edges that name other vertices than those taken so far, which the file at `path` lists.
    pub(crate) fn allow_only_declared(&mut self, path: PathBuf) {
        let declared = std::mem::take(&mut self.declared);
        let mut allowed = Bitmap::new(declared.iter().max().map_or(0, |largest| largest + 1));
        declared.into_iter().for_each(|v| allowed.insert(v));
        self.allowed = Some((path, allowed));
    }

    fn check_allowed(&self, (u, v): Edge) -> Result<()> {
        let Some((path, allowed)) = &self.allowed else { return Ok(()) };
        let Some(other) = [u, v].into_iter().find(|&end| !allowed.contains(end)) else {
            return Ok(());
        };
        let [u, v, other] = [u, v, other].map(|end| self.graph.name_of(end));
        let path = path.display();
        Err(Error::invalid(format!("the edge {u} {v}: `{path}` does not list the vertex {other}")))
    }

    /// Takes the next edges, and acknowledges batches that are full or have waited long enough.
    pub(crate) fn take(&mut self, chunk: Chunk) -> Result<()> {
        let is_pause = chunk.is_pause;
        if self.options.delete {
            self.take_deletions(&chunk)?;
        } else {
            self.take_insertions(chunk)?;
        }
        self.is_held &= self.edges.len() < HELD_EDGES;
        if is_pause || !self.is_held {
            let whole = self.edges.len() / self.batch * self.batch;
            self.apply_first(whole)?;
        }
        if is_pause {
            self.apply_what_has_waited()?;
        }
        self.options.check_stop()
    }

    /// In a pause of a stream.
    fn apply_what_has_waited(&mut self) -> Result<()> {
        if self.edges.is_empty() {
            return Ok(());
        }
        let since = self.since.get_or_insert_with(Instant::now);
        // What a pipe has given before it is interrupted counts.
        let is_interrupted = self.options.check_stop().is_err();
        if is_interrupted || since.elapsed() >= self.options.wait_max() {
            self.apply_first(self.edges.len())?;
        }
        Ok(())
    }

    /// Acknowledges what is left. Returns how many deletions were left out.
    pub(crate) fn finish(mut self) -> Result<u64> {
        self.apply_first(self.edges.len())?;
        Ok(self.deletes_ignored)
    }

    fn take_insertions(&mut self, chunk: Chunk) -> Result<()> {
        let src = self.graph.vertices_of(chunk.src)?;
        let dst = self.graph.vertices_of(chunk.dst)?;
        if !self.is_both_ways && !self.options.drop_self_loops && self.allowed.is_none() {
            self.edges.extend(src.into_iter().zip(dst));
            if let (Some(weights), Some(more)) = (&mut self.weights, chunk.weights) {
                weights.extend(more);
            }
            return Ok(());
        }
        let mut weights = chunk.weights.into_iter().flatten();
        for edge in src.into_iter().zip(dst) {
            let weight = weights.next();
            self.check_allowed(edge)?;
            if self.options.drop_self_loops && edge.0 == edge.1 {
                self.vertices.push(edge.0);
                continue;
            }
            self.push(edge, weight);
        }
        Ok(())
    }

    fn take_deletions(&mut self, chunk: &Chunk) -> Result<()> {
        let src = self.graph.known_vertices_of(&chunk.src);
        let dst = self.graph.known_vertices_of(&chunk.dst);
        for ends in src.into_iter().zip(dst) {
            match ends {
                (Some(u), Some(v)) => self.push((u, v), None),
                // An edge with an unknown end is not there, and no number stands for what will never be
                // an end: another thread may make the next vertex meanwhile.
                _ => self.deletes_ignored += if self.is_both_ways { 2 } else { 1 },
            }
        }
        Ok(())
    }

    #[inline]
    fn push(&mut self, (u, v): Edge, weight: Option<f32>) {
        let ends = [(u, v), (v, u)];
        let count = if self.is_both_ways && u != v { 2 } else { 1 };
        self.edges.extend_from_slice(&ends[..count]);
        if let (Some(weights), Some(weight)) = (&mut self.weights, weight) {
            weights.extend(std::iter::repeat_n(weight, count));
        }
    }

    fn apply_first(&mut self, count: usize) -> Result<()> {
        for vertices in self.vertices.chunks(self.options.batch.max(1)) {
            self.graph.add_vertices(vertices)?;
            self.options.check_stop()?;
        }
        self.vertices.clear();
        for start in (0..count).step_by(self.batch) {
            let range = start..count.min(start + self.batch);
            let edges = &self.edges[range.clone()];
            if self.options.delete {
                self.graph.delete(edges)?;
            } else {
                // It knows how a single edge is best inserted.
                let weights = self.weights.as_ref().map(|weights| &weights[range.clone()]);
                self.graph.insert(edges, weights)?;
            }
            (self.acknowledge)(range.len() as u64)?;
        }
        if count > 0 {
            self.since = None;
        }
        self.edges.drain(..count);
        if let Some(weights) = self.weights.as_mut().filter(|weights| !weights.is_empty()) {
            weights.drain(..count);
        }
        Ok(())
    }
}
