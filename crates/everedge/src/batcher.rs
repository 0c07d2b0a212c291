//! Chunks of edges become batches.

use everedge_core::{Edge, VertexId};
use everedge_io::Chunk;
use everedge_live::{Batch, Durability};

use crate::input::Input;
use crate::{Graph, IngestOptions, Result};

/// Edges of one file that are held back before the first batch is acknowledged.
const HELD_EDGES: usize = 1 << 22;

/// Takes how many edges were acknowledged; its error ends the ingest.
type Acknowledge<'a> = &'a mut (dyn FnMut(u64) -> Result<()> + Send);

/// Collects the edges of one file into batches.
pub(crate) struct Batcher<'a> {
    graph: &'a Graph,
    options: &'a IngestOptions,
    batch: usize,
    /// Whether an edge of the file is one each way in the graph.
    is_both_ways: bool,
    /// The ends of self-loops that were left out.
    loop_ends: Vec<VertexId>,
    edges: Vec<Edge>,
    weights: Option<Vec<f32>>,
    is_held: bool,
    is_stream: bool,
    acknowledge: Acknowledge<'a>,
}

impl<'a> Batcher<'a> {
    pub(crate) fn new(
        graph: &'a Graph,
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
            loop_ends: Vec::new(),
            edges: Vec::new(),
            weights: graph.options().weighted.then(Vec::new),
            is_held: !input.is_stream,
            is_stream: input.is_stream,
            acknowledge,
        }
    }

    pub(crate) fn graph(&self) -> &'a Graph {
        self.graph
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
        let is_stopped = self.options.check_stop();
        if is_pause || (is_stopped.is_err() && self.is_stream) {
            self.apply_first(self.edges.len())?;
        } else if !self.is_held {
            let whole = self.edges.len() / self.batch * self.batch;
            self.apply_first(whole)?;
        }
        is_stopped
    }

    /// Acknowledges what is left.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.apply_first(self.edges.len())
    }

    fn take_insertions(&mut self, chunk: Chunk) -> Result<()> {
        let src = self.graph.vertices_of(chunk.src)?;
        let dst = self.graph.vertices_of(chunk.dst)?;
        let mut weights = chunk.weights.into_iter().flatten();
        for edge in src.into_iter().zip(dst) {
            let weight = weights.next();
            if self.options.drop_self_loops && edge.0 == edge.1 {
                self.loop_ends.push(edge.0);
                continue;
            }
            self.push(edge, weight);
        }
        Ok(())
    }

    fn take_deletions(&mut self, chunk: &Chunk) -> Result<()> {
        let src = self.graph.known_vertices_of(&chunk.src);
        let dst = self.graph.known_vertices_of(&chunk.dst);
        // An edge with an unknown end is not there: a deletion of no vertex finds nothing.
        let nowhere = self.graph.snapshot()?.vertex_bound();
        for (u, v) in src.into_iter().zip(dst) {
            self.push((u.unwrap_or(nowhere), v.unwrap_or(nowhere)), None);
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
        if !self.loop_ends.is_empty() {
            let mut named = Batch::new(self.weights.is_some());
            for v in self.loop_ends.drain(..) {
                named.add_vertex(v)?;
            }
            self.graph.apply(&named)?;
        }
        for start in (0..count).step_by(self.batch) {
            let range = start..count.min(start + self.batch);
            let edges = self.edges[range.clone()].iter().copied();
            let batch = match (&self.weights, self.options.delete) {
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
