//! Plain CSR: the neighbors of all vertices in one array, in memory and never changed.
//!
//! The view that the other layouts are measured against, and what a file becomes when it is only
//! read once.
//!
//! # Layout
//! ```text
//! offsets   0 | 2 | 2 | 5 | ...          vertex_bound + 1 numbers of 8 bytes
//! targets   a   b | c   d   e | ...      the neighbors of v: targets[offsets[v]..offsets[v + 1]]
//! weights   x   y | z   s   t | ...      alike, if the graph is weighted
//! ```
//! Out-neighbors are kept so, and in-neighbors of a directed graph once more. The neighbors of a
//! vertex are in the order of the source: of the edge list, or of the view that was copied.
//!
//! # Invariants
//! - I1 `offsets` begins with 0, never falls, and ends with the length of `targets`.
//! - I2 Every target is a vertex, and every vertex is below `vertex_bound`.
//! - I3 A directed graph has each edge once in `outgoing` and once in `incoming`; an undirected
//!   one has each edge at both ends of `outgoing`, a self-loop once.
//!
//! # Cost
//! 8 bytes a vertex and 4 (8 with weights) an edge, for each direction or end that is kept.
//! Building needs 12 bytes a vertex more, and time linear in vertices and edges.

use std::ops::Range;

use crate::{Bitmap, Edge, GraphView, MAX_VERTEX_ID, VertexId, WeightedView, par};

/// Vertices in a piece of work that costs little a vertex.
const VERTEX_GRAIN: usize = 1 << 14;
/// Edges in a piece of work that costs little an edge.
const EDGE_GRAIN: usize = 1 << 16;

/// How [`Csr::from_edges`] reads its edges.
#[derive(Clone, Copy, Debug, Default)]
pub struct CsrOptions<'a> {
    /// Whether an edge leads only from its source to its destination.
    pub directed: bool,
    /// Vertices besides those that an edge names, in any order.
    pub declared: &'a [VertexId],
}

/// A graph as a plain CSR.
#[derive(Clone, Debug)]
pub struct Csr {
    /// The out-neighbors; of an undirected graph, all neighbors.
    outgoing: Adjacency,
    /// The in-neighbors of a directed graph.
    incoming: Option<Adjacency>,
    vertices: Bitmap,
    vertex_count: u32,
    edge_count: u64,
}

/// The neighbors of every vertex in one direction.
#[derive(Clone, Debug)]
struct Adjacency {
    offsets: Vec<u64>,
    targets: Vec<VertexId>,
    weights: Option<Vec<f32>>,
}

/// A run of vertices and the part of the arrays that is theirs.
struct Part<'a> {
    vertices: Range<u32>,
    targets: &'a mut [VertexId],
    /// Empty if the graph has no weights.
    weights: &'a mut [f32],
}

/// At which of its ends an edge is kept.
#[derive(Clone, Copy)]
enum Ends {
    Source,
    Destination,
    Both,
}

impl Csr {
    /// Builds the graph of `edges`, whose weights are `weights[i]` or, without, 1.
    ///
    /// # Panics
    /// If an id is above [`MAX_VERTEX_ID`] or there are not as many weights as edges.
    ///
    /// # Example
    /// ```
    /// use everedge_core::{Csr, CsrOptions, GraphView};
    ///
    /// let options = CsrOptions { directed: true, declared: &[7] };
    /// let g = Csr::from_edges(&[(0, 2), (0, 1), (2, 0)], None, options);
    /// assert_eq!(g.out_slice(0), [2, 1]);
    /// assert_eq!(g.in_slice(0), [2]);
    /// assert_eq!((g.vertex_count(), g.vertex_bound()), (4, 8));
    /// ```
    pub fn from_edges(edges: &[Edge], weights: Option<&[f32]>, options: CsrOptions<'_>) -> Self {
        if let Some(weights) = weights {
            assert_eq!(weights.len(), edges.len(), "one weight for each edge");
        }
        let bound = vertex_bound(edges, options.declared);
        let group = |ends| Adjacency::group(edges, weights, bound, ends);
        let (outgoing, incoming) = match options.directed {
            true => (group(Ends::Source), Some(group(Ends::Destination))),
            false => (group(Ends::Both), None),
        };
        let has_edge = |v| {
            outgoing.degree(v) > 0 || incoming.as_ref().is_some_and(|lists| lists.degree(v) > 0)
        };
        let mut vertices = bitmap_where(bound, has_edge);
        options.declared.iter().for_each(|&v| vertices.insert(v));
        let vertex_count = vertices.count();
        Self { outgoing, incoming, vertices, vertex_count, edge_count: edges.len() as u64 }
    }

    /// Copies `view` without weights.
    ///
    /// # Panics
    /// If a degree of the view differs from the number of its neighbors.
    pub fn from_view<V: GraphView>(view: &V) -> Self {
        let outgoing = Adjacency::copy(
            view,
            false,
            |v| view.out_degree(v),
            |v| view.out_neighbors(v).map(|u| (u, 1.0)),
        );
        let incoming = view.is_directed().then(|| {
            Adjacency::copy(
                view,
                false,
                |v| view.in_degree(v),
                |v| view.in_neighbors(v).map(|u| (u, 1.0)),
            )
        });
        Self::with_vertices_of(view, outgoing, incoming)
    }

    /// Copies `view` with its weights.
    ///
    /// # Panics
    /// If a degree of the view differs from the number of its edges.
    pub fn from_weighted_view<V: WeightedView>(view: &V) -> Self {
        let outgoing = Adjacency::copy(view, true, |v| view.out_degree(v), |v| view.out_edges(v));
        let incoming = view
            .is_directed()
            .then(|| Adjacency::copy(view, true, |v| view.in_degree(v), |v| view.in_edges(v)));
        Self::with_vertices_of(view, outgoing, incoming)
    }

    /// Returns the same graph with each vertex's neighbors in ascending order; parallel edges
    /// stay in the order they had.
    pub fn sorted(mut self) -> Self {
        self.outgoing.sort();
        if let Some(incoming) = &mut self.incoming {
            incoming.sort();
        }
        self
    }

    /// Returns the out-neighbors of `v` in the order of the source.
    #[inline]
    pub fn out_slice(&self, v: VertexId) -> &[VertexId] {
        self.outgoing.neighbors(v)
    }

    /// Returns the in-neighbors of `v` in the order of the source.
    #[inline]
    pub fn in_slice(&self, v: VertexId) -> &[VertexId] {
        self.incoming().neighbors(v)
    }

    /// Returns the weights of the edges that leave `v`, beside [`Self::out_slice`]; `None` if the
    /// graph has no weights.
    #[inline]
    pub fn out_weights(&self, v: VertexId) -> Option<&[f32]> {
        self.outgoing.weights(v)
    }

    /// Returns whether the edges were given weights. If not, [`WeightedView`] shows them as 1.
    pub fn is_weighted(&self) -> bool {
        self.outgoing.weights.is_some()
    }

    fn incoming(&self) -> &Adjacency {
        self.incoming.as_ref().unwrap_or(&self.outgoing)
    }

    /// Joins what was copied of `view` with its vertices and counts.
    fn with_vertices_of<V: GraphView>(
        view: &V,
        outgoing: Adjacency,
        incoming: Option<Adjacency>,
    ) -> Self {
        let vertices = bitmap_where(view.vertex_bound(), |v| view.is_vertex(v));
        let vertex_count = vertices.count();
        Self { outgoing, incoming, vertices, vertex_count, edge_count: view.edge_count() }
    }
}

impl GraphView for Csr {
    fn vertex_bound(&self) -> u32 {
        self.vertices.bound()
    }

    fn vertex_count(&self) -> u32 {
        self.vertex_count
    }

    #[inline]
    fn is_vertex(&self, v: VertexId) -> bool {
        self.vertices.contains(v)
    }

    fn edge_count(&self) -> u64 {
        self.edge_count
    }

    fn is_directed(&self) -> bool {
        self.incoming.is_some()
    }

    #[inline]
    fn out_degree(&self, v: VertexId) -> u32 {
        self.outgoing.degree(v)
    }

    #[inline]
    fn in_degree(&self, v: VertexId) -> u32 {
        self.incoming().degree(v)
    }

    #[inline]
    fn out_neighbors(&self, v: VertexId) -> impl Iterator<Item = VertexId> + '_ {
        self.outgoing.neighbors(v).iter().copied()
    }

    #[inline]
    fn in_neighbors(&self, v: VertexId) -> impl Iterator<Item = VertexId> + '_ {
        self.incoming().neighbors(v).iter().copied()
    }
}

impl WeightedView for Csr {
    #[inline]
    fn out_edges(&self, v: VertexId) -> impl Iterator<Item = (VertexId, f32)> + '_ {
        self.outgoing.edges(v)
    }

    #[inline]
    fn in_edges(&self, v: VertexId) -> impl Iterator<Item = (VertexId, f32)> + '_ {
        self.incoming().edges(v)
    }
}

impl Adjacency {
    /// Groups `edges` by the ends at which they are kept, in their order.
    ///
    /// Every thread owns a run of vertices and reads all the edges for those that are theirs:
    /// that needs no memory but the counters and gives one order, whatever the threads.
    fn group(edges: &[Edge], weights: Option<&[f32]>, bound: u32, ends: Ends) -> Self {
        let thread_count = par::thread_count().min(edges.len() / EDGE_GRAIN + 1);
        let mut offsets = vec![0_u64; bound as usize + 1];
        let run = (bound as usize).div_ceil(thread_count).max(1);
        par::map_chunks_mut(&mut offsets[1..], run, |first, counts| {
            for &edge in edges {
                ends.for_each(edge, |v, _| {
                    if let Some(count) = counts.get_mut((v as usize).wrapping_sub(first)) {
                        *count += 1;
                    }
                });
            }
        });
        let mut lists = Self::with_counts(offsets, weights.is_some());
        let (offsets, parts) = lists.split(thread_count);
        par::for_each_task(parts, |part| part.fill_from_edges(offsets, edges, weights, ends));
        lists
    }

    /// Copies the neighbors that a view shows.
    fn copy<V: GraphView, I: Iterator<Item = (VertexId, f32)>>(
        view: &V,
        weighted: bool,
        degree: impl Fn(VertexId) -> u32 + Sync + Send,
        edges: impl Fn(VertexId) -> I + Sync + Send,
    ) -> Self {
        let mut offsets = vec![0_u64; view.vertex_bound() as usize + 1];
        par::map_chunks_mut(&mut offsets[1..], VERTEX_GRAIN, |first, counts| {
            for (v, count) in (first as u32..).zip(counts) {
                *count = u64::from(degree(v));
            }
        });
        let mut lists = Self::with_counts(offsets, weighted);
        let (_, parts) = lists.split(lists.targets.len() / EDGE_GRAIN + 1);
        par::for_each_task(parts, |part| part.fill_from_lists(&edges));
        lists
    }

    /// Makes room for as many targets as `offsets[v + 1]` says for each `v`, and the sums of
    /// these counts into the offsets.
    fn with_counts(mut offsets: Vec<u64>, weighted: bool) -> Self {
        let mut sum = 0;
        for offset in &mut offsets {
            sum += *offset;
            *offset = sum;
        }
        let weights = weighted.then(|| vec![0.0; sum as usize]);
        Self { offsets, targets: vec![0; sum as usize], weights }
    }

    /// Returns the offsets, and the arrays cut by vertex into about `part_count` parts of alike
    /// numbers of edges.
    fn split(&mut self, part_count: usize) -> (&[u64], Vec<Part<'_>>) {
        let bound = self.offsets.len() - 1;
        let mut targets = self.targets.as_mut_slice();
        let mut weights = self.weights.as_deref_mut().unwrap_or_default();
        let edges_per_part = (targets.len() / part_count).max(1) as u64;
        let mut parts = Vec::with_capacity(part_count + 1);
        let mut first = 0;
        while first < bound {
            let begin = self.offsets[first];
            let room = self.offsets[first + 1..].partition_point(|&o| o <= begin + edges_per_part);
            let end = (first + room.max(1)).min(bound);
            let len = (self.offsets[end] - begin) as usize;
            let (part_targets, rest) = targets.split_at_mut(len);
            targets = rest;
            let (part_weights, rest) = weights.split_at_mut(len.min(weights.len()));
            weights = rest;
            parts.push(Part {
                vertices: first as u32..end as u32,
                targets: part_targets,
                weights: part_weights,
            });
            first = end;
        }
        (&self.offsets, parts)
    }

    fn sort(&mut self) {
        let (offsets, parts) = self.split(self.targets.len() / EDGE_GRAIN + 1);
        par::for_each_task(parts, |part| part.sort(offsets));
    }

    #[inline]
    fn range(&self, v: VertexId) -> Range<usize> {
        self.offsets[v as usize] as usize..self.offsets[v as usize + 1] as usize
    }

    #[inline]
    fn degree(&self, v: VertexId) -> u32 {
        self.range(v).len() as u32
    }

    #[inline]
    fn neighbors(&self, v: VertexId) -> &[VertexId] {
        &self.targets[self.range(v)]
    }

    #[inline]
    fn weights(&self, v: VertexId) -> Option<&[f32]> {
        self.weights.as_ref().map(|weights| &weights[self.range(v)])
    }

    #[inline]
    fn edges(&self, v: VertexId) -> impl Iterator<Item = (VertexId, f32)> + '_ {
        let weights = self.weights(v).unwrap_or_default();
        let targets = self.neighbors(v).iter().enumerate();
        targets.map(move |(i, &u)| (u, weights.get(i).copied().unwrap_or(1.0)))
    }
}

impl Part<'_> {
    /// Puts every edge with an end in this part where it belongs.
    fn fill_from_edges(self, offsets: &[u64], edges: &[Edge], weights: Option<&[f32]>, ends: Ends) {
        let vertices = self.vertices.start as usize..self.vertices.end as usize;
        let begin = offsets[vertices.start];
        let mut next: Vec<u64> = offsets[vertices.clone()].iter().map(|o| o - begin).collect();
        for (i, &edge) in edges.iter().enumerate() {
            ends.for_each(edge, |v, target| {
                let Some(slot) = next.get_mut((v as usize).wrapping_sub(vertices.start)) else {
                    return;
                };
                self.targets[*slot as usize] = target;
                if let Some(weights) = weights {
                    self.weights[*slot as usize] = weights[i];
                }
                *slot += 1;
            });
        }
    }

    /// Puts the edges of every vertex of this part one after the other.
    fn fill_from_lists<I: Iterator<Item = (VertexId, f32)>>(self, edges: &impl Fn(VertexId) -> I) {
        let mut slot = 0;
        for (target, weight) in self.vertices.clone().flat_map(edges) {
            self.targets[slot] = target;
            if let Some(place) = self.weights.get_mut(slot) {
                *place = weight;
            }
            slot += 1;
        }
        assert_eq!(slot, self.targets.len(), "neighbors of {:?}, by degree", self.vertices);
    }

    /// Sorts the neighbors of every vertex of this part.
    fn sort(self, offsets: &[u64]) {
        let begin = offsets[self.vertices.start as usize] as usize;
        let mut pairs = Vec::new();
        for v in self.vertices {
            let range =
                offsets[v as usize] as usize - begin..offsets[v as usize + 1] as usize - begin;
            if self.weights.is_empty() {
                self.targets[range].sort_unstable();
                continue;
            }
            let (targets, weights) = (&mut self.targets[range.clone()], &mut self.weights[range]);
            pairs.clear();
            pairs.extend(targets.iter().copied().zip(weights.iter().copied()));
            pairs.sort_by_key(|&(target, _)| target);
            for (slot, &(target, weight)) in pairs.iter().enumerate() {
                (targets[slot], weights[slot]) = (target, weight);
            }
        }
    }
}

impl Ends {
    /// Calls `f(end, neighbor)` for each end at which the edge is kept.
    #[inline]
    fn for_each(self, (src, dst): Edge, mut f: impl FnMut(VertexId, VertexId)) {
        match self {
            Self::Source => f(src, dst),
            Self::Destination => f(dst, src),
            Self::Both => {
                f(src, dst);
                if src != dst {
                    f(dst, src);
                }
            }
        }
    }
}

/// The id after the largest one named; 0 if there is none.
fn vertex_bound(edges: &[Edge], declared: &[VertexId]) -> u32 {
    let of_edges =
        par::map_chunks(edges, EDGE_GRAIN, |edges| edges.iter().map(|&(u, v)| u.max(v)).max());
    let largest = of_edges.into_iter().flatten().chain(declared.iter().copied()).max();
    largest.map_or(0, |id| {
        assert!(id <= MAX_VERTEX_ID, "vertex id {id} is above {MAX_VERTEX_ID}");
        id + 1
    })
}

/// The ids below `bound` for which `holds`.
fn bitmap_where(bound: u32, holds: impl Fn(VertexId) -> bool + Sync + Send) -> Bitmap {
    let mut bitmap = Bitmap::new(bound);
    par::map_chunks_mut(bitmap.words_mut(), VERTEX_GRAIN / 64, |first, words| {
        for (i, word) in (first as u32..).zip(words) {
            let ids = i * 64..(i * 64).saturating_add(64).min(bound);
            *word = ids.fold(0, |word, v| word | u64::from(holds(v)) << (v % 64));
        }
    });
    bitmap
}
