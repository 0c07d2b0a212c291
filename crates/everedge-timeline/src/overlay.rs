//! What versions after the first one have added, merged, in memory.
//!
//! Source: PIE §3.2 combines the common graph and deltas while it reads; here each list has what all
//! deltas add to it in one place, so that reading takes two looks, however many versions there are.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_core::VertexId;

use super::bits::Bits;
use super::lists::{NO_ROWS, ROW_SPAN};
use super::segment::Segment;

/// The added lists of one direction.
#[derive(Default)]
pub(crate) struct Overlay {
    /// By id over 4,096: the first row, or none.
    rows: Vec<u32>,
    /// By row, where its list ends.
    ends: Vec<u32>,
    neighbors: Vec<VertexId>,
    /// The bits of weights, if the graph is weighted.
    weights: Vec<u32>,
}

impl Overlay {
    /// Merges what is alive of the lists that `segments` have added.
    pub(crate) fn new(
        words: &[AtomicU32],
        segments: &[Arc<Segment>],
        alive: &[Bits],
        direction: usize,
    ) -> Self {
        let mut overlay = Self::default();
        let lists = || segments.iter().map(|segment| &segment.lists[direction]).zip(alive);
        for (lists, alive) in lists() {
            lists.for_each(words, |v, range| overlay.count(v, alive.count(range)));
        }
        // From counts to where each list begins, and while they are filled, to where it ends.
        let mut sum = 0;
        for end in &mut overlay.ends {
            (sum, *end) = (sum + *end, sum);
        }
        overlay.neighbors = vec![0; sum as usize];
        if lists().any(|(lists, _)| !lists.weights(words).is_empty()) {
            overlay.weights = vec![0; sum as usize];
        }
        for (lists, alive) in lists() {
            let (neighbors, weights) = (lists.neighbors(words), lists.weights(words));
            lists.for_each(words, |v, range| {
                let Some(row) = overlay.row(v) else { return };
                for at in alive.ones(range) {
                    let to = overlay.ends[row] as usize;
                    overlay.neighbors[to] = neighbors[at].load(Relaxed);
                    if let Some(weight) = weights.get(at) {
                        overlay.weights[to] = weight.load(Relaxed);
                    }
                    overlay.ends[row] += 1;
                }
            });
        }
        overlay
    }

    fn count(&mut self, v: VertexId, count: usize) {
        let number = v as usize / ROW_SPAN;
        if count == 0 {
            return;
        }
        if self.rows.len() <= number {
            self.rows.resize(number + 1, NO_ROWS);
        }
        if self.rows[number] == NO_ROWS {
            self.rows[number] = self.ends.len() as u32;
            self.ends.resize(self.ends.len() + ROW_SPAN, 0);
        }
        self.ends[self.rows[number] as usize + v as usize % ROW_SPAN] += count as u32;
    }

    #[inline]
    fn row(&self, v: VertexId) -> Option<usize> {
        let first =
            self.rows.get(v as usize / ROW_SPAN).copied().filter(|&first| first != NO_ROWS)?;
        Some(first as usize + v as usize % ROW_SPAN)
    }

    /// Returns which of all added neighbors are those of `v`.
    #[inline]
    pub(crate) fn range(&self, v: VertexId) -> Range<usize> {
        self.row(v).map_or(0..0, |row| {
            let start = if row == 0 { 0 } else { self.ends[row - 1] };
            start as usize..self.ends[row] as usize
        })
    }

    /// Returns where the lists of the ids from `group` times 4,096 on begin, and where each of them ends; none if
    /// none of them has neighbors.
    #[inline]
    pub(crate) fn group(&self, group: usize) -> Option<(usize, &[u32])> {
        let first = self.rows.get(group).copied().filter(|&first| first != NO_ROWS)? as usize;
        let start = if first == 0 { 0 } else { self.ends[first - 1] as usize };
        Some((start, &self.ends[first..first + ROW_SPAN]))
    }

    #[inline]
    pub(crate) fn neighbors(&self) -> &[VertexId] {
        &self.neighbors
    }

    #[inline]
    pub(crate) fn weights(&self) -> &[u32] {
        &self.weights
    }
}
