//! Which versions may have added an edge, so that not each of them is searched for it.
//!
//! A table has slots with a bit for each of 64 versions, or for each 64th of them. An edge has two slots by its hash
//! (Bloom, "Space/Time Trade-offs in Hash Coding with Allowable Errors", CACM 1970): a version that has added it is
//! in both. PIE §3.2 searches a delta by an index of its large lists; here most deltas are not searched at
//! all.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_core::memory::prefetch;
use everedge_core::{VertexId, scramble};

use super::segment::Segment;

/// Versions after the first one that have a bit of their own.
const BITS: usize = u64::BITS as usize;
/// A table has at least so many slots;
const SLOTS_MIN: usize = 1 << 12;
/// at most so many for each id;
const SLOTS_PER_ID: usize = 2;
/// and while it can grow, at most so many edges for each slot.
const EDGES_PER_SLOT: usize = 2;

/// The versions after the first one, by what they added.
pub(crate) struct Filter {
    slots: Vec<u64>,
    edges: usize,
}

impl Filter {
    /// Takes in the versions after the first one.
    ///
    /// Cost: their edges. Memory: 16 to 32 bytes for each of them, but at most 16 for each id, and 32 KiB at least.
    pub(crate) fn new(words: &[AtomicU32], segments: &[Arc<Segment>], vertex_bound: u32) -> Self {
        let added = segments[1..].iter().map(|segment| segment.lists[0].edge_count());
        // Room for as many again.
        let wanted = (2 * added.sum::<usize>()).next_power_of_two();
        let most = (SLOTS_PER_ID * vertex_bound as usize).max(SLOTS_MIN).ilog2();
        let slots = wanted.clamp(SLOTS_MIN, 1 << most);
        let mut filter = Self { slots: vec![0; slots], edges: 0 };
        for (index, segment) in segments.iter().enumerate().skip(1) {
            filter.add(words, index, segment);
        }
        filter
    }

    /// Takes in the version number `index`.
    pub(crate) fn add(&mut self, words: &[AtomicU32], index: usize, segment: &Segment) {
        let lists = &segment.lists[0];
        let (neighbors, bit) = (lists.neighbors(words), 1 << ((index - 1) % BITS));
        self.edges += neighbors.len();
        lists.for_each(words, |src, range| {
            for neighbor in &neighbors[range] {
                for slot in self.slots_of((src, neighbor.load(Relaxed))) {
                    self.slots[slot] |= bit;
                }
            }
        });
    }

    /// Whether a larger one, made anew, would tell more.
    pub(crate) fn is_crowded(&self, vertex_bound: u32) -> bool {
        self.edges > EDGES_PER_SLOT * self.slots.len()
            && 2 * self.slots.len() <= SLOTS_PER_ID * vertex_bound as usize
    }

    /// Returns the numbers of the versions after the first one, of `count` in all, that may have added an edge,
    /// ascending.
    #[inline]
    pub(crate) fn versions(
        &self,
        edge: (VertexId, VertexId),
        count: usize,
    ) -> impl Iterator<Item = usize> + use<> {
        let [one, other] = self.slots_of(edge).map(|slot| self.slots[slot]);
        (1..count).step_by(BITS).flat_map(move |first| {
            let mut left = one & other & u64::MAX >> (BITS - (count - first).min(BITS));
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros())?;
                left &= left - 1;
                Some(first + bit as usize)
            })
        })
    }

    /// Starts loading what is said of an edge into the cache.
    #[inline]
    pub(crate) fn prefetch(&self, edge: (VertexId, VertexId)) {
        for slot in self.slots_of(edge) {
            prefetch(&self.slots[slot..]);
        }
    }

    #[inline]
    fn slots_of(&self, (src, dst): (VertexId, VertexId)) -> [usize; 2] {
        let hash = scramble(u64::from(src) << 32 | u64::from(dst));
        let unused = BITS as u32 - self.slots.len().trailing_zeros();
        [hash, hash.rotate_left(32)].map(|hash| (hash >> unused) as usize)
    }
}
