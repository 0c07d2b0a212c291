//! Snapshots: shared shards and the blocks that they point to.
//!
//! Shards are shared with the graph until it changes them, and blocks never change, so a snapshot
//! stays as it is while writers go on. Neighbors come from the newest block to the oldest, then
//! from the buffer.

use std::sync::Arc;
use std::vec;

use everedge_core::{Edge, GraphView, VertexId, WeightedView};

use super::archive::Archive;
use super::list::{Chain, List};
use super::shard::{SHARD_SPAN, Shard};
use crate::manifest::GraphOptions;
use crate::medium::Region;

/// A frozen view of a live graph.
pub struct Snapshot {
    shards: Vec<Arc<Shard>>,
    region: Region,
    vertex_bound: u32,
    vertex_count: u32,
    edge_count: u64,
    sequence: u64,
    directed: bool,
    weighted: bool,
    in_list: Option<usize>,
}

impl Snapshot {
    pub(super) fn new(archive: &Archive, region: Region, options: &GraphOptions) -> Self {
        let shards = archive.shards.clone();
        let degree_sum: u64 = shards.iter().map(|shard| shard.degree_sum).sum();
        let loop_count: u64 = shards.iter().map(|shard| shard.loop_count).sum();
        Self {
            vertex_bound: shards.iter().map(|shard| shard.vertex_bound()).max().unwrap_or(0),
            vertex_count: shards.iter().map(|shard| shard.vertex_count).sum(),
            edge_count: if options.directed { degree_sum } else { (degree_sum + loop_count) / 2 },
            sequence: archive.next_sequence,
            directed: options.directed,
            weighted: options.weighted,
            in_list: (!options.directed || options.in_neighbors).then(|| options.list_count() - 1),
            shards,
            region,
        }
    }

    /// Returns how many updates were applied before this view was taken.
    pub fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Returns whether edges carry a weight; without, [`WeightedView`] gives the weight 1.
    pub fn is_weighted(&self) -> bool {
        self.weighted
    }

    /// Returns whether in-neighbors are kept. If not, asking for them is a caller's bug.
    pub fn has_in_neighbors(&self) -> bool {
        self.in_list.is_some()
    }

    pub(super) fn has_vertex(&self, v: VertexId) -> bool {
        self.shards.get(v as usize / SHARD_SPAN).is_some_and(|shard| shard.is_vertex(local(v)))
    }

    /// Returns every edge that leaves or enters `v`, a self-loop once.
    pub(super) fn edges_of(&self, v: VertexId) -> Vec<Edge> {
        let mut edges: Vec<Edge> = self.out_neighbors(v).map(|to| (v, to)).collect();
        if !self.directed {
            return edges;
        }
        if self.has_in_neighbors() {
            edges.extend(self.in_neighbors(v).filter(|&from| from != v).map(|from| (from, v)));
        } else {
            self.for_each_edge(|from, to| {
                if to == v && from != v {
                    edges.push((from, v));
                }
            });
        }
        edges
    }

    pub(super) fn shards(&self) -> &[Arc<Shard>] {
        &self.shards
    }

    fn list(&self, v: VertexId, list: usize) -> Option<&List> {
        self.shards.get(v as usize / SHARD_SPAN)?.lists.get(list)
    }

    fn in_list(&self) -> usize {
        self.in_list.expect("the graph was created without in-neighbors")
    }

    #[inline]
    fn degree(&self, v: VertexId, list: usize) -> u32 {
        self.list(v, list).map_or(0, |list| list.entries[local(v)].degree)
    }

    #[inline]
    fn neighbors(&self, v: VertexId, list: usize) -> Neighbors<'_> {
        match self.list(v, list) {
            Some(list) if list.entries[local(v)].has_tombstones => {
                Neighbors::Live(list.live(&self.region, local(v), self.entry_words()).into_iter())
            }
            Some(list) => {
                let words = list.chain(&self.region, local(v));
                Neighbors::Chain { words, weighted: self.weighted }
            }
            None => Neighbors::Live(Vec::new().into_iter()),
        }
    }

    fn edges(&self, v: VertexId, list: usize) -> WeightedNeighbors<'_> {
        WeightedNeighbors(self.neighbors(v, list))
    }

    fn entry_words(&self) -> usize {
        if self.weighted { 2 } else { 1 }
    }
}

impl GraphView for Snapshot {
    fn vertex_bound(&self) -> u32 {
        self.vertex_bound
    }

    fn vertex_count(&self) -> u32 {
        self.vertex_count
    }

    fn is_vertex(&self, v: VertexId) -> bool {
        self.has_vertex(v)
    }

    fn edge_count(&self) -> u64 {
        self.edge_count
    }

    fn is_directed(&self) -> bool {
        self.directed
    }

    fn out_degree(&self, v: VertexId) -> u32 {
        self.degree(v, 0)
    }

    fn in_degree(&self, v: VertexId) -> u32 {
        self.degree(v, self.in_list())
    }

    fn out_neighbors(&self, v: VertexId) -> impl Iterator<Item = VertexId> + '_ {
        self.neighbors(v, 0)
    }

    fn in_neighbors(&self, v: VertexId) -> impl Iterator<Item = VertexId> + '_ {
        self.neighbors(v, self.in_list())
    }
}

impl WeightedView for Snapshot {
    fn out_edges(&self, v: VertexId) -> impl Iterator<Item = (VertexId, f32)> + '_ {
        self.edges(v, 0)
    }

    fn in_edges(&self, v: VertexId) -> impl Iterator<Item = (VertexId, f32)> + '_ {
        self.edges(v, self.in_list())
    }
}

/// The neighbors of a vertex.
pub enum Neighbors<'a> {
    #[doc(hidden)]
    Chain { words: Chain<'a>, weighted: bool },
    #[doc(hidden)]
    Live(vec::IntoIter<(VertexId, f32)>),
}

impl Iterator for Neighbors<'_> {
    type Item = VertexId;

    #[inline]
    fn next(&mut self) -> Option<VertexId> {
        match self {
            Self::Chain { words, weighted } => {
                let neighbor = words.next();
                if *weighted {
                    words.next();
                }
                neighbor
            }
            Self::Live(entries) => entries.next().map(|(neighbor, _)| neighbor),
        }
    }
}

/// The neighbors of a vertex with the weights of the edges.
pub struct WeightedNeighbors<'a>(Neighbors<'a>);

impl Iterator for WeightedNeighbors<'_> {
    type Item = (VertexId, f32);

    #[inline]
    fn next(&mut self) -> Option<(VertexId, f32)> {
        match &mut self.0 {
            Neighbors::Chain { words, weighted: true } => {
                let neighbor = words.next()?;
                words.next().map(|weight| (neighbor, f32::from_bits(weight)))
            }
            Neighbors::Chain { words, weighted: false } => words.next().map(|id| (id, 1.0)),
            Neighbors::Live(entries) => entries.next(),
        }
    }
}

fn local(v: VertexId) -> usize {
    v as usize % SHARD_SPAN
}
