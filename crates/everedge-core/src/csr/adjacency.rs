//! The arrays of a CSR for one direction: how they are filled in parallel, and read.

use std::mem;
use std::ops::Range;
use std::slice;

use super::{EDGE_GRAIN, OutArrays, VERTEX_GRAIN};
use crate::{Direction, Edge, GraphView, ListVisitor, VertexId, Wanted, memory, par, visit_ahead};

/// How many lists of a range ahead the beginning of one is loaded.
const RANGE_READ_AHEAD: usize = 16;
/// The same for lists of vertices here and there, which are often few.
const READ_AHEAD: usize = 8;

/// The neighbors of every vertex in one direction.
#[derive(Clone, Debug)]
pub(super) struct Adjacency {
    pub(super) offsets: Vec<u64>,
    pub(super) targets: Vec<VertexId>,
    pub(super) weights: Option<Vec<f32>>,
}

/// A run of vertices and the part of the arrays that is theirs.
struct Part<'a> {
    vertices: Range<u32>,
    targets: &'a mut [VertexId],
    /// Empty if the graph has no weights.
    weights: &'a mut [f32],
}

/// Puts the neighbors of a run of vertices where they belong.
struct Filler<'a> {
    offsets: &'a [u64],
    /// Where the first list begins.
    begin: usize,
    targets: &'a mut [VertexId],
}

/// At which of its ends an edge is kept.
#[derive(Clone, Copy)]
pub(super) enum Ends {
    Source,
    Destination,
    Both,
}

/// Edges that several threads read at the same time.
pub(super) trait Edges: Sync {
    /// Returns about how many there are.
    fn count(&self) -> usize;

    /// Calls `f(end, neighbor, weight)` for each end at which an edge is to be kept; the weight is 1
    /// if there are none.
    fn for_each(&self, f: impl FnMut(VertexId, VertexId, f32));
}

/// The edges of a list.
pub(super) struct Listed<'a> {
    pub(super) edges: &'a [Edge],
    pub(super) weights: Option<&'a [f32]>,
    pub(super) ends: Ends,
}

/// The edges of lists by vertex, each kept at its other end.
struct Reversed<'a>(&'a Adjacency);

impl Adjacency {
    /// Groups `edges` by the ends at which they are kept, in their order.
    ///
    /// Every thread owns a run of vertices and reads all the edges for those that are theirs:
    /// that needs no memory but the counters and gives one order, whatever the threads.
    pub(super) fn group(edges: &impl Edges, weighted: bool, bound: u32) -> Self {
        let thread_count = par::thread_count().min(edges.count() / EDGE_GRAIN + 1);
        let mut offsets = par::collect(bound as usize + 1, |_| 0_u64);
        let run = (bound as usize).div_ceil(thread_count).max(1);
        par::map_chunks_mut(&mut offsets[1..], run, |first, counts| {
            edges.for_each(|v, _, _| {
                if let Some(count) = counts.get_mut((v as usize).wrapping_sub(first)) {
                    *count += 1;
                }
            });
        });
        let mut lists = Self::with_counts(offsets, weighted);
        let (offsets, parts) = lists.split(thread_count);
        par::for_each_task(parts, |part| part.fill_from_edges(offsets, edges));
        lists
    }

    /// Groups the same edges by their other ends, in ascending order of these.
    pub(super) fn reversed(&self) -> Self {
        let bound = self.offsets.len() as u32 - 1;
        Self::group(&Reversed(self), self.weights.is_some(), bound)
    }

    /// Copies the neighbors of the ids below `bound` that `degree` and `edges` show.
    pub(super) fn copy<I: Iterator<Item = (VertexId, f32)>>(
        bound: u32,
        weighted: bool,
        degree: impl Fn(VertexId) -> u32 + Sync + Send,
        edges: impl Fn(VertexId) -> I + Sync + Send,
    ) -> Self {
        let mut offsets = par::collect(bound as usize + 1, |_| 0_u64);
        par::map_chunks_mut(&mut offsets[1..], VERTEX_GRAIN, |first, counts| {
            for (v, count) in (first as u32..).zip(counts) {
                *count = u64::from(degree(v));
            }
        });
        let mut lists = Self::with_counts(offsets, weighted);
        let (offsets, parts) = lists.split(lists.targets.len() / EDGE_GRAIN + 1);
        par::for_each_task(parts, |part| part.fill_from_lists(offsets, &edges));
        lists
    }

    /// Copies the neighbors that `view` shows, without weights.
    pub(super) fn of_view(view: &impl GraphView, direction: Direction) -> Self {
        let mut offsets = par::collect(view.vertex_bound() as usize + 1, |_| 0_u64);
        par::map_chunks_mut(&mut offsets[1..], VERTEX_GRAIN, |first, counts| {
            let range = first as u32..(first + counts.len()) as u32;
            view.for_each_degree(direction, range, |v, degree| {
                counts[v as usize - first] = u64::from(degree);
            });
        });
        let mut lists = Self::with_counts(offsets, false);
        let (offsets, parts) = lists.split(lists.targets.len() / EDGE_GRAIN + 1);
        par::for_each_task(parts, |Part { vertices, targets, .. }| {
            let begin = offsets[vertices.start as usize] as usize;
            view.visit_neighbors(direction, vertices, &mut Filler { offsets, begin, targets });
        });
        lists
    }

    pub(super) fn into_arrays(self) -> OutArrays {
        (self.offsets, self.targets, self.weights)
    }

    /// Makes room for as many targets as `offsets[v + 1]` says for each `v`, and the sums of
    /// these counts into the offsets.
    fn with_counts(mut offsets: Vec<u64>, weighted: bool) -> Self {
        let mut sum = 0;
        for offset in &mut offsets {
            sum += *offset;
            *offset = sum;
        }
        let weights = weighted.then(|| par::collect(sum as usize, |_| 0.0));
        Self { offsets, targets: par::collect(sum as usize, |_| 0), weights }
    }

    /// Returns the offsets, and the arrays cut by vertex into parts of alike numbers of edges: at
    /// most `part_count` of them, and perhaps one without any edge.
    fn split(&mut self, part_count: usize) -> (&[u64], Vec<Part<'_>>) {
        let bound = self.offsets.len() - 1;
        let mut targets = self.targets.as_mut_slice();
        let mut weights = self.weights.as_deref_mut().unwrap_or_default();
        let edges_per_part = targets.len().div_ceil(part_count).max(1) as u64;
        let mut parts = Vec::with_capacity(part_count + 1);
        let mut first = 0;
        while first < bound {
            let begin = self.offsets[first];
            let ends = &self.offsets[first + 1..];
            let end = first + 1 + ends.partition_point(|&end| end < begin + edges_per_part);
            let end = end.min(bound);
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

    pub(super) fn sort(&mut self) {
        let (offsets, parts) = self.split(self.targets.len() / EDGE_GRAIN + 1);
        par::for_each_task(parts, |part| part.sort(offsets));
    }

    #[inline]
    fn range(&self, v: VertexId) -> Range<usize> {
        range_of(&self.offsets, v)
    }

    /// Returns each id of `vertices` and where its list is: of one after the other, only the end is
    /// read.
    #[inline]
    pub(super) fn ranges(
        &self,
        vertices: Range<VertexId>,
    ) -> impl Iterator<Item = (VertexId, Range<usize>)> {
        let ends = &self.offsets[vertices.start as usize + 1..][..vertices.len()];
        let mut start = self.offsets[vertices.start as usize] as usize;
        vertices
            .zip(ends)
            .map(move |(v, &end)| (v, mem::replace(&mut start, end as usize)..end as usize))
    }

    #[inline]
    pub(super) fn degree(&self, v: VertexId) -> u32 {
        self.range(v).len() as u32
    }

    #[inline]
    pub(super) fn neighbors(&self, v: VertexId) -> &[VertexId] {
        &self.targets[self.range(v)]
    }

    /// Shows the lists of those ids of `range` that `visitor` wants.
    #[inline]
    pub(super) fn visit<V: ListVisitor>(&self, range: Range<VertexId>, visitor: &mut V) {
        if !V::STOPS_EARLY {
            for (v, list) in self.ranges(range) {
                if visitor.wants(v) {
                    visitor.visit(v, self.targets[list].iter().copied());
                }
            }
            return;
        }
        for part in Wanted::parts(range) {
            for (v, ahead) in Wanted::of(part, visitor).iter(RANGE_READ_AHEAD) {
                if let Some(ahead) = ahead {
                    memory::prefetch(self.neighbors(ahead));
                }
                visitor.visit(v, self.neighbors(v).iter().copied());
            }
        }
    }

    /// Shows the lists of `vertices`.
    #[inline(always)]
    pub(super) fn visit_listed(&self, vertices: &[VertexId], visitor: &mut impl ListVisitor) {
        let load = |v: VertexId| memory::prefetch(&self.offsets[v as usize..]);
        let find = |v: VertexId| {
            let list = self.neighbors(v);
            memory::prefetch(list);
            list
        };
        visit_ahead(vertices, &[][..], (load, find), |v, list| {
            visitor.visit(v, list.iter().copied());
        });
    }

    /// Starts loading the beginning of a list some places after that of the first of `vertices`,
    /// and further on where one lies.
    #[inline(always)]
    pub(super) fn load_ahead(&self, vertices: &[VertexId]) {
        if let Some(&v) = vertices.get(2 * READ_AHEAD) {
            memory::prefetch(&self.offsets[v as usize..]);
        }
        if let Some(&v) = vertices.get(READ_AHEAD) {
            memory::prefetch(self.neighbors(v));
            memory::prefetch(self.weights(v).unwrap_or_default());
        }
    }

    #[inline]
    pub(super) fn weights(&self, v: VertexId) -> Option<&[f32]> {
        self.weights.as_ref().map(|weights| &weights[self.range(v)])
    }

    #[inline]
    pub(super) fn edges(&self, v: VertexId) -> impl Iterator<Item = (VertexId, f32)> + '_ {
        let weights = self.weights(v).unwrap_or_default();
        WeightedNeighbors { targets: self.neighbors(v).iter(), weights: weights.iter() }
    }
}

/// The neighbors of a vertex with the weights of the edges.
struct WeightedNeighbors<'a> {
    targets: slice::Iter<'a, VertexId>,
    /// Empty if the graph has no weights: all are 1.
    weights: slice::Iter<'a, f32>,
}

impl Iterator for WeightedNeighbors<'_> {
    type Item = (VertexId, f32);

    #[inline]
    fn next(&mut self) -> Option<(VertexId, f32)> {
        let target = *self.targets.next()?;
        Some((target, self.weights.next().copied().unwrap_or(1.0)))
    }

    // Always: a call would cost more than the few edges that most vertices have.
    #[inline(always)]
    fn fold<B, F: FnMut(B, (VertexId, f32)) -> B>(self, init: B, mut f: F) -> B {
        let mut folded = init;
        for edge in self {
            folded = f(folded, edge);
        }
        folded
    }
}

impl ListVisitor for Filler<'_> {
    const STOPS_EARLY: bool = false;

    fn wants(&self, _: VertexId) -> bool {
        true
    }

    #[inline(always)]
    fn visit(&mut self, v: VertexId, neighbors: impl Iterator<Item = VertexId>) {
        let Range { start, end } = range_of(self.offsets, v);
        let mut places = self.targets[start - self.begin..end - self.begin].iter_mut();
        neighbors.for_each(|neighbor| {
            if let Some(place) = places.next() {
                *place = neighbor;
            }
        });
    }
}

impl Part<'_> {
    /// Puts every edge with an end in this part where it belongs.
    fn fill_from_edges(self, offsets: &[u64], edges: &impl Edges) {
        if self.targets.is_empty() {
            return;
        }
        let vertices = self.vertices.start as usize..self.vertices.end as usize;
        let begin = offsets[vertices.start];
        let mut next: Vec<u64> = offsets[vertices.clone()].iter().map(|o| o - begin).collect();
        edges.for_each(|v, target, weight| {
            let Some(slot) = next.get_mut((v as usize).wrapping_sub(vertices.start)) else {
                return;
            };
            self.targets[*slot as usize] = target;
            if let Some(place) = self.weights.get_mut(*slot as usize) {
                *place = weight;
            }
            *slot += 1;
        });
    }

    /// Puts the edges of every vertex of this part where they belong.
    fn fill_from_lists<I: Iterator<Item = (VertexId, f32)>>(
        self,
        offsets: &[u64],
        edges: &impl Fn(VertexId) -> I,
    ) {
        let begin = offsets[self.vertices.start as usize] as usize;
        for v in self.vertices {
            let range = range_of(offsets, v);
            let range = range.start - begin..range.end - begin;
            let mut places = self.targets[range.clone()].iter_mut();
            let mut weights = self.weights.get_mut(range).unwrap_or_default().iter_mut();
            edges(v).for_each(|(target, weight)| {
                if let Some(place) = places.next() {
                    *place = target;
                }
                if let Some(place) = weights.next() {
                    *place = weight;
                }
            });
        }
    }

    /// Sorts the neighbors of every vertex of this part.
    fn sort(self, offsets: &[u64]) {
        let begin = offsets[self.vertices.start as usize] as usize;
        let mut pairs = Vec::new();
        for v in self.vertices {
            let range = range_of(offsets, v);
            let range = range.start - begin..range.end - begin;
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

impl Edges for Listed<'_> {
    fn count(&self) -> usize {
        self.edges.len()
    }

    #[inline]
    fn for_each(&self, mut f: impl FnMut(VertexId, VertexId, f32)) {
        for (i, &edge) in self.edges.iter().enumerate() {
            let weight = self.weights.map_or(1.0, |weights| weights[i]);
            self.ends.for_each(edge, |end, neighbor| f(end, neighbor, weight));
        }
    }
}

impl Edges for Reversed<'_> {
    fn count(&self) -> usize {
        self.0.targets.len()
    }

    #[inline]
    fn for_each(&self, mut f: impl FnMut(VertexId, VertexId, f32)) {
        for u in 0..self.0.offsets.len() as VertexId - 1 {
            self.0.edges(u).for_each(|(v, weight)| f(v, u, weight));
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

/// Where the neighbors of `v` are.
#[inline]
fn range_of(offsets: &[u64], v: VertexId) -> Range<usize> {
    offsets[v as usize] as usize..offsets[v as usize + 1] as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_alike_numbers_of_edges_and_leave_none_out() {
        let edges: Vec<Edge> = (0..10_000).map(|i| (i * 7919 % (i % 500 + 1), i % 500)).collect();
        let edges = Listed { edges: &edges, weights: None, ends: Ends::Both };
        let mut lists = Adjacency::group(&edges, false, 500);
        let total = lists.targets.len();
        let degree_max = (0..500).map(|v| lists.degree(v)).max().unwrap() as usize;
        let (_, parts) = lists.split(8);
        assert_eq!(parts.iter().map(|part| part.targets.len()).sum::<usize>(), total);
        assert!(parts.iter().filter(|part| !part.targets.is_empty()).count() <= 8);
        assert!(parts.iter().all(|part| part.targets.len() <= total / 8 + degree_max));
        assert!(parts.windows(2).all(|pair| pair[0].vertices.end == pair[1].vertices.start));
    }
}
