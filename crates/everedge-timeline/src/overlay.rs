//! What versions after the first one have added, merged, in memory.
//!
//! Source: PIE §3.2 combines the common graph and deltas while it reads; here each list has what all
//! deltas add to it in one place, so that reading takes two looks, however many versions there are.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_core::VertexId;

use super::bits::Bits;
use super::rows::Rows;
use super::segment::Segment;

/// The added lists of one direction.
#[derive(Default)]
pub(crate) struct Overlay {
    pub rows: Rows,
    pub neighbors: Vec<VertexId>,
    /// The bits of weights, if the graph is weighted.
    pub weights: Vec<u32>,
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
            lists.for_each(words, |v, range| overlay.rows.count(v, alive.count(range)));
        }
        let len = overlay.rows.begin();
        overlay.neighbors = vec![0; len];
        if lists().any(|(lists, _)| !lists.weights(words).is_empty()) {
            overlay.weights = vec![0; len];
        }
        for (lists, alive) in lists() {
            let (neighbors, weights) = (lists.neighbors(words), lists.weights(words));
            lists.for_each(words, |v, range| {
                for at in alive.ones(range) {
                    let to = overlay.rows.next(v);
                    overlay.neighbors[to] = neighbors[at].load(Relaxed);
                    if let Some(weight) = weights.get(at) {
                        overlay.weights[to] = weight.load(Relaxed);
                    }
                }
            });
        }
        overlay
    }
}
