//! One query over all versions of a window, each answered from what it shares with others.
//!
//! Source: PIE §3.3 and §4.1, after CommonGraph (Afarin et al., ASPLOS 2023): the query is solved on the graph
//! that all versions have in common. From there every version is reached by adding edges only, by which no value
//! gets worse.
//!
//! Difference: the window is halved. What versions `i..j` have in common leads to what each half has in common, by
//! adding the edges that only this half has:
//!
//! ```text
//!                    common 0..7
//!           common 0..3       common 4..7
//!      common 0..1  2..3     4..5   common 6..7
//!       0    1      2  3     4  5      6    7
//! ```
//! An edge that disappears in the middle is added once for each level, not once for each version; halves run
//! at the same time.
//!
//! # Cost
//! The query on the common graph; then for `n` versions `n/2 · log n` deltas and what they make better. Memory:
//! the values of a version for each level that is being worked on, and 24 bytes for each edge that some versions
//! have and others have not.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_core::{GraphView, VertexId, par};
use everedge_kernels as kernels;

use super::bits::Bits;
use super::lifetimes::{Lifetimes, Mortal};
use super::query::MonotoneQuery;
use super::tip::Tip;
use super::view::VersionView;
use super::{TimelineOptions, Version};

/// Consecutive versions, made ready for queries.
pub struct Window {
    versions: Vec<Version>,
    common: VersionView,
    lifetimes: Lifetimes,
    /// By version, the ids that became vertices with it and that ended with it; none of the first one.
    vertex_changes: Vec<[Vec<VertexId>; 2]>,
    /// The vertices of the first version.
    vertices: Bits,
}

impl Window {
    /// Makes the versions from the number `first` of `tip` on to its last one ready.
    pub(crate) fn new(tip: &Tip, first: usize, options: &TimelineOptions) -> Self {
        let (words, segments) = (tip.words(), tip.segments());
        let (lifetimes, common) = par::join(
            || Lifetimes::new(words, segments, first),
            || VersionView::common(tip, first, options),
        );
        let ids = |ids: &[AtomicU32]| ids.iter().map(|id| id.load(Relaxed)).collect();
        let later = segments[first + 1..]
            .iter()
            .map(|segment| [segment.new_vertices(words), segment.ended_vertices(words)].map(ids));
        let vertex_changes = std::iter::once([Vec::new(), Vec::new()]).chain(later).collect();
        let past = tip.before(first + 1);
        let vertices = past.as_ref().unwrap_or(tip).vertices().clone();
        let versions = segments[first..].iter().map(|segment| segment.version.clone()).collect();
        Self { versions, common, lifetimes, vertex_changes, vertices }
    }

    /// Returns the versions.
    pub fn versions(&self) -> &[Version] {
        &self.versions
    }

    /// Returns how many edges some versions have and others have not; of an undirected graph, both ends.
    pub fn changed_edges(&self) -> usize {
        self.lifetimes.len()
    }

    /// Calls `answer(version, values)` for each version of the window, in no order and possibly at the same
    /// time; `values` has as many ids as the last version, and
    /// [`UNREACHED`](MonotoneQuery::UNREACHED) for those that are no vertices of the version.
    ///
    /// # Errors
    /// [`NotAVertex`](kernels::Error::NotAVertex) if `source` is no vertex in any version;
    /// [`BadWeight`](kernels::Error::BadWeight) if the query does not allow the weight of an edge.
    pub fn run<Q: MonotoneQuery>(
        &self,
        source: VertexId,
        answer: impl Fn(&Version, &[Q::Value]) + Sync + Send,
    ) -> kernels::Result<()> {
        let values = self.solve_common::<Q>(source)?;
        let has_source = self.versions_with(source);
        let answer = |version: u16, values: &[Q::Value]| {
            let version = usize::from(version);
            match has_source[version] {
                true => answer(&self.versions[version], values),
                false => answer(&self.versions[version], &vec![Q::UNREACHED; values.len()]),
            }
        };
        self.halve::<Q>(0..self.versions.len() as u16, values, &answer);
        Ok(())
    }

    /// Solves the query on what all versions have in common.
    fn solve_common<Q: MonotoneQuery>(&self, source: VertexId) -> kernels::Result<Vec<Q::Value>> {
        let bound = self.common.vertex_bound();
        if source >= bound || !self.common.is_vertex(source) {
            return Err(kernels::Error::NotAVertex { vertex: source });
        }
        if let Some(edge) = self.lifetimes.find(|edge| !Q::accepts(edge.weight)) {
            let (src, dst, weight) = (edge.src, edge.dst, edge.weight);
            return Err(kernels::Error::BadWeight { src, dst, weight, expected: Q::WEIGHTS });
        }
        if let Some(solved) = Q::solve(&self.common, source) {
            return solved;
        }
        let mut values = vec![Q::UNREACHED; bound as usize];
        values[source as usize] = Q::SOURCE;
        let mut queue = Queue::new(bound);
        queue.insert(source);
        self.propagate::<Q>((0, self.versions.len() as u16 - 1), &mut values, queue);
        Ok(values)
    }

    /// Returns for each version whether `v` is a vertex.
    fn versions_with(&self, v: VertexId) -> Vec<bool> {
        let mut is_vertex = self.vertices.contains(v as usize);
        let of = |[new, ended]: &[Vec<VertexId>; 2]| {
            is_vertex = match is_vertex {
                true => ended.binary_search(&v).is_err(),
                false => new.binary_search(&v).is_ok(),
            };
            is_vertex
        };
        self.vertex_changes.iter().map(of).collect()
    }

    /// Answers for `versions`, from the values of what they have in common.
    fn halve<Q: MonotoneQuery>(
        &self,
        versions: Range<u16>,
        values: Vec<Q::Value>,
        answer: &(impl Fn(u16, &[Q::Value]) + Sync + Send),
    ) {
        let (i, j) = (versions.start, versions.end - 1);
        if i == j {
            return answer(i, &values);
        }
        let middle = i + (j - i) / 2;
        let mut later = values.clone();
        par::join(
            || {
                let mut values = values;
                let edges = self.lifetimes.disappearing(middle + 1..j + 1);
                let queue = self.relax::<Q>((i, middle), &mut values, edges);
                self.propagate::<Q>((i, middle), &mut values, queue);
                self.halve::<Q>(i..middle + 1, values, answer);
            },
            || {
                let edges = self.lifetimes.appearing(i + 1..middle + 2);
                let queue = self.relax::<Q>((middle + 1, j), &mut later, edges);
                self.propagate::<Q>((middle + 1, j), &mut later, queue);
                self.halve::<Q>(middle + 1..j + 1, later, answer);
            },
        );
    }

    /// Goes along those of `edges` that all versions from `i` to `j` have. Returns the vertices that are better
    /// for it.
    fn relax<'a, Q: MonotoneQuery>(
        &'a self,
        (i, j): (u16, u16),
        values: &mut [Q::Value],
        edges: impl Iterator<Item = &'a Mortal>,
    ) -> Queue {
        let mut queue = Queue::new(values.len() as u32);
        for edge in edges.filter(|edge| edge.is_common(i, j)) {
            let value = values[edge.src as usize];
            if value != Q::UNREACHED {
                improve::<Q>(values, edge.dst, Q::along(value, edge.weight), &mut queue);
            }
        }
        queue
    }

    /// Goes on from vertices that are better, over what all versions from `i` to `j` have in common, until none
    /// gets better any more.
    fn propagate<Q: MonotoneQuery>(
        &self,
        (i, j): (u16, u16),
        values: &mut [Q::Value],
        mut queue: Queue,
    ) {
        while let Some(v) = queue.pop() {
            let value = values[v as usize];
            let (stored, neighbors, weights) = self.common.stored(v);
            for at in stored {
                let weight = weights.get(at).map_or(1.0, |bits| f32::from_bits(bits.load(Relaxed)));
                let neighbor = neighbors[at].load(Relaxed);
                improve::<Q>(values, neighbor, Q::along(value, weight), &mut queue);
            }
            for edge in self.lifetimes.of(v).iter().filter(|edge| edge.is_common(i, j)) {
                improve::<Q>(values, edge.dst, Q::along(value, edge.weight), &mut queue);
            }
        }
    }
}

/// Gives `v` a value if it is better.
#[inline]
fn improve<Q: MonotoneQuery>(
    values: &mut [Q::Value],
    v: VertexId,
    value: Q::Value,
    queue: &mut Queue,
) {
    let old = &mut values[v as usize];
    if Q::is_better(value, *old) {
        *old = value;
        queue.insert(v);
    }
}

/// Vertices to go on from, each once, in the order in which they came.
struct Queue {
    waiting: VecDeque<VertexId>,
    is_waiting: Bits,
}

impl Queue {
    fn new(bound: u32) -> Self {
        let mut is_waiting = Bits::default();
        is_waiting.grow(bound as usize);
        Self { waiting: VecDeque::new(), is_waiting }
    }

    #[inline]
    fn insert(&mut self, v: VertexId) {
        if !self.is_waiting.contains(v as usize) {
            self.is_waiting.insert(v as usize);
            self.waiting.push_back(v);
        }
    }

    #[inline]
    fn pop(&mut self) -> Option<VertexId> {
        let v = self.waiting.pop_front()?;
        self.is_waiting.remove(v as usize);
        Some(v)
    }
}
