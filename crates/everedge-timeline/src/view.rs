//! The graph of one version, frozen: what is stored, filtered by bits in memory.
//!
//! Source: PIE Table 1: a snapshot is the base filtered through its bits, and the deltas up to it.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use everedge_core::memory::prefetch;
use everedge_core::par::Alone;
use everedge_core::{Direction, GraphView, ListVisitor, VertexId, WeightedView};
use everedge_medium::HeldWords;

use super::bits::{Bits, Ones};
use super::lists::{Lists, ROW_SPAN};
use super::overlay::Overlay;
use super::segment::{Segment, Totals};
use super::tip::Tip;
use super::vertex_set::VertexSet;
use super::{TimelineOptions, Version};

/// How many lists after one that is read the next one is loaded into the cache.
pub(crate) const READ_AHEAD: usize = 8;

/// The graph of one version. It never changes, whatever versions come or go.
pub struct VersionView {
    words: HeldWords,
    /// The versions up to this one.
    segments: Vec<Arc<Segment>>,
    /// By direction, by segment: which of its edges there are.
    alive: [Vec<Bits>; 2],
    /// By direction: what versions after the first one have added, merged when it is first asked for.
    overlays: [OnceLock<Overlay>; 2],
    vertices: VertexSet,
    totals: Totals,
    options: TimelineOptions,
}

impl VersionView {
    /// Returns the graph of the version number `index` of those that `tip` has.
    pub(crate) fn new(tip: &Tip, index: usize, options: &TimelineOptions) -> Self {
        let past = tip.before(index + 1);
        let past = past.as_ref().unwrap_or(tip);
        let (vertices, totals) = (past.vertices().clone(), past.totals());
        Self::of(past, (index, past.alive().clone()), (vertices, totals), options)
    }

    /// Returns the graph that all versions from the number `first` to the last of `tip` have in common, with
    /// the vertices of any of them, of which `vertices` are those of the first; its version is this one.
    pub(crate) fn common(
        tip: &Tip,
        first: usize,
        mut vertices: VertexSet,
        options: &TimelineOptions,
    ) -> Self {
        let alive = tip.alive().each_ref().map(|alive| alive[..=first].to_vec());
        let Totals { vertex_bound, .. } = tip.totals();
        for segment in &tip.segments()[first + 1..] {
            for v in segment.new_vertices(tip.words()) {
                vertices.insert(v.load(Relaxed));
            }
        }
        let bits = alive[0].iter().map(|bits| bits.len() as u64);
        let totals = Totals {
            vertex_bound,
            vertex_count: vertices.len() as u32,
            // Of an undirected graph there are both ends.
            edges: bits.sum::<u64>() / if options.directed { 1 } else { 2 },
            loops: 0,
        };
        Self::of(tip, (first, alive), (vertices, totals), options)
    }

    fn of(
        tip: &Tip,
        (last, alive): (usize, [Vec<Bits>; 2]),
        (vertices, totals): (VertexSet, Totals),
        options: &TimelineOptions,
    ) -> Self {
        let (words, segments) = (tip.words().clone(), tip.segments()[..=last].to_vec());
        let overlays = [OnceLock::new(), OnceLock::new()];
        Self { words, segments, alive, overlays, vertices, totals, options: options.clone() }
    }

    /// Returns where the out-neighbors of `v` that the first version of the timeline has are stored, and all of
    /// its neighbors and weights.
    #[inline]
    pub(crate) fn stored(&self, v: VertexId) -> (Ones<'_>, &[AtomicU32], &[AtomicU32]) {
        let base = self.base(0);
        let stored = self.alive[0][0].ones(base.range(&self.words, v));
        (stored, base.neighbors(&self.words), base.weights(&self.words))
    }

    /// Starts loading where the list of `row` lies, and the beginning of that of `list`, into the cache: of those
    /// that the first version of the timeline has.
    #[inline]
    pub(crate) fn load_stored_ahead(
        &self,
        direction: usize,
        row: Option<VertexId>,
        list: Option<VertexId>,
    ) {
        let base = self.base(direction);
        if let Some(v) = row {
            base.prefetch_range(&self.words, v);
        }
        if let Some(v) = list {
            let first = base.range(&self.words, v).start;
            self.alive[direction][0].prefetch(first);
            prefetch(&base.neighbors(&self.words)[first..]);
            prefetch(base.weights(&self.words).get(first..).unwrap_or_default());
        }
    }

    /// Returns which version it is of.
    pub fn version(&self) -> &Version {
        &self.segments[self.segments.len() - 1].version
    }

    #[inline]
    fn base(&self, direction: usize) -> &Lists {
        &self.segments[0].lists[direction]
    }

    #[inline]
    fn overlay(&self, direction: usize) -> &Overlay {
        self.overlays[direction].get_or_init(|| {
            let _alone = Alone::new();
            let added = &self.alive[direction][1..];
            Overlay::new(&self.words, &self.segments[1..], added, direction)
        })
    }

    pub(crate) fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Returns whether edges have weights.
    pub fn is_weighted(&self) -> bool {
        self.options.weighted
    }

    /// Returns how many directions have lists.
    pub(crate) fn list_count(&self) -> usize {
        if self.options.directed && self.options.in_neighbors { 2 } else { 1 }
    }

    #[inline]
    fn degree(&self, v: VertexId, direction: usize) -> u32 {
        let base = self.base(direction).range(&self.words, v);
        let count =
            self.alive[direction][0].count(base) + self.overlay(direction).rows.range(v).len();
        count as u32
    }

    #[inline]
    fn neighbors(&self, v: VertexId, direction: usize) -> Neighbors<'_> {
        let base = self.base(direction);
        let stored = self.alive[direction][0].ones(base.range(&self.words, v));
        let overlay = self.overlay(direction);
        let added = &overlay.neighbors[overlay.rows.range(v)];
        Neighbors { stored, neighbors: base.neighbors(&self.words), added: added.iter() }
    }

    #[inline]
    fn edges(&self, v: VertexId, direction: usize) -> impl Iterator<Item = (VertexId, f32)> + '_ {
        let (base, overlay) = (self.base(direction), self.overlay(direction));
        let weights = (base.weights(&self.words), &overlay.weights);
        let weight = |bits: Option<u32>| bits.map_or(1.0, f32::from_bits);
        let neighbors = base.neighbors(&self.words);
        let stored = self.alive[direction][0].ones(base.range(&self.words, v));
        let stored = stored.map(move |at| {
            let bits = weights.0.get(at).map(|weight| weight.load(Relaxed));
            (neighbors[at].load(Relaxed), weight(bits))
        });
        let added = overlay
            .rows
            .range(v)
            .map(move |at| (overlay.neighbors[at], weight(weights.1.get(at).copied())));
        stored.chain(added)
    }

    /// The direction in which the in-neighbors are kept.
    #[inline]
    fn inward(&self) -> usize {
        usize::from(self.options.directed)
    }
}

/// The neighbors of a vertex in a version.
pub(crate) struct Neighbors<'a> {
    stored: Ones<'a>,
    neighbors: &'a [AtomicU32],
    added: std::slice::Iter<'a, VertexId>,
}

impl Iterator for Neighbors<'_> {
    type Item = VertexId;

    #[inline]
    fn next(&mut self) -> Option<VertexId> {
        match self.stored.next() {
            Some(at) => Some(self.neighbors[at].load(Relaxed)),
            None => self.added.next().copied(),
        }
    }

    #[inline(always)]
    fn fold<B, F: FnMut(B, VertexId) -> B>(self, init: B, mut f: F) -> B {
        let Self { stored, neighbors, added } = self;
        let mut all = Some(init);
        let mut take = |v| all = all.take().map(|sum| f(sum, v));
        stored.for_each_range(|range| {
            neighbors[range].iter().for_each(|neighbor| take(neighbor.load(Relaxed)));
        });
        added.for_each(|&neighbor| take(neighbor));
        all.expect("it is put back each time")
    }
}

impl GraphView for VersionView {
    fn vertex_bound(&self) -> u32 {
        self.totals.vertex_bound
    }

    fn vertex_count(&self) -> u32 {
        self.totals.vertex_count
    }

    fn vertex_ranges(&self) -> Vec<Range<VertexId>> {
        self.vertices.ranges().collect()
    }

    #[inline]
    fn is_vertex(&self, v: VertexId) -> bool {
        self.vertices.contains(v)
    }

    fn edge_count(&self) -> u64 {
        self.totals.edges
    }

    fn is_directed(&self) -> bool {
        self.options.directed
    }

    fn has_in_neighbors(&self) -> bool {
        !self.options.directed || self.options.in_neighbors
    }

    #[inline]
    fn out_degree(&self, v: VertexId) -> u32 {
        self.degree(v, 0)
    }

    #[inline]
    fn in_degree(&self, v: VertexId) -> u32 {
        self.degree(v, self.inward())
    }

    #[inline]
    fn out_neighbors(&self, v: VertexId) -> impl Iterator<Item = VertexId> + '_ {
        self.neighbors(v, 0)
    }

    #[inline]
    fn in_neighbors(&self, v: VertexId) -> impl Iterator<Item = VertexId> + '_ {
        self.neighbors(v, self.inward())
    }

    #[inline(always)]
    fn load_ahead(&self, direction: Direction, vertices: &[VertexId]) {
        let direction = match direction {
            Direction::Out => 0,
            Direction::In => self.inward(),
        };
        let [row, list] = [2 * READ_AHEAD, READ_AHEAD].map(|at| vertices.get(at).copied());
        self.load_stored_ahead(direction, row, list);
        let overlay = self.overlay(direction);
        if let Some(v) = row {
            overlay.rows.prefetch(v);
        }
        if let Some(v) = list {
            prefetch(&overlay.neighbors[overlay.rows.range(v)]);
        }
    }

    fn visit_neighbors(
        &self,
        direction: Direction,
        range: Range<VertexId>,
        visitor: &mut impl ListVisitor,
    ) {
        let direction = match direction {
            Direction::Out => 0,
            Direction::In => self.inward(),
        };
        let (base, overlay) = (self.base(direction), self.overlay(direction));
        let (neighbors, alive) = (base.neighbors(&self.words), &self.alive[direction][0]);
        for part in groups(range) {
            let group = part.start as usize / ROW_SPAN;
            let (mut stored_start, stored_ends) = base.group(&self.words, group).unzip();
            let (mut added_start, added_ends) = overlay.rows.group(group).unzip();
            let first = part.start as usize % ROW_SPAN;
            if first > 0 {
                let before = |ends: &[AtomicU32]| ends[first - 1].load(Relaxed) as usize;
                stored_start = stored_ends.map(before);
                added_start = added_ends.map(|ends| ends[first - 1] as usize);
            }
            let (mut stored_start, mut added_start) =
                (stored_start.unwrap_or(0), added_start.unwrap_or(0));
            for v in part {
                let local = v as usize % ROW_SPAN;
                let stored_end = stored_ends.map_or(0, |ends| ends[local].load(Relaxed) as usize);
                let added_end = added_ends.map_or(0, |ends| ends[local] as usize);
                if visitor.wants(v) {
                    let stored = alive.ones(stored_start..stored_end);
                    let added = overlay.neighbors[added_start..added_end].iter();
                    visitor.visit(v, Neighbors { stored, neighbors, added });
                }
                (stored_start, added_start) = (stored_end, added_end);
            }
        }
    }
}

/// Cuts a range where an id is a multiple of 4,096.
fn groups(range: Range<VertexId>) -> impl Iterator<Item = Range<VertexId>> {
    let span = ROW_SPAN as u32;
    let mut start = range.start;
    std::iter::from_fn(move || {
        let end = range.end.min((start / span + 1).saturating_mul(span));
        let part = start..end;
        start = end;
        (!part.is_empty()).then_some(part)
    })
}

impl WeightedView for VersionView {
    #[inline]
    fn out_edges(&self, v: VertexId) -> impl Iterator<Item = (VertexId, f32)> + '_ {
        self.edges(v, 0)
    }

    #[inline]
    fn in_edges(&self, v: VertexId) -> impl Iterator<Item = (VertexId, f32)> + '_ {
        self.edges(v, self.inward())
    }
}
