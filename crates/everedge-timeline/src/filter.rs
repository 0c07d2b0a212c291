//! Which versions may have added an edge, so that not each of them is searched for it.
//!
//! A table has slots of 64 bits. An edge has two slots by its hash (Bloom, "Space/Time Trade-offs in Hash Coding with
//! Allowable Errors", CACM 1970). A version that has added it has a bit in each: which ones, says which of 4,096 versions
//! it is. PIE §3.2 searches a delta by an index of its large lists; here most deltas are not searched at
//! all.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};

use everedge_core::memory::{self, prefetch};
use everedge_core::{Edge, scramble};

use super::segment::Segment;

/// Bits of a slot.
const BITS: usize = u64::BITS as usize;
/// Versions that pairs of bits tell from each other.
const PAIRS: usize = BITS * BITS;
/// So many pairs are made one by one.
const PAIRS_LISTED: usize = 16;
/// A table has at least so many slots;
const SLOTS_MIN: usize = 1 << 12;
/// at most so many for each id,
const SLOTS_PER_ID: usize = 2;
/// unless there are few ids: 8 MiB;
const SLOTS_OF_FEW: usize = 1 << 20;
/// and while it can grow, at most so many edges for each slot.
const EDGES_PER_SLOT: usize = 2;

/// How many edges before one is taken in its slots are loaded into the cache.
const AHEAD: usize = 16;

/// The versions after the first one, by what they added.
pub(crate) struct Filter {
    slots: Vec<AtomicU64>,
    edges: AtomicUsize,
    /// How many versions were taken in, with the first one.
    versions: AtomicUsize,
}

impl Filter {
    /// Takes in the versions after the first one.
    ///
    /// Cost: their edges. Memory: 16 to 32 bytes for each of them, but at most 16 for each id or 8 MiB, and 32 KiB at least.
    pub(crate) fn new(words: &[AtomicU32], segments: &[Arc<Segment>], vertex_bound: u32) -> Self {
        let added = segments[1..].iter().map(|segment| segment.lists[0].edge_count());
        // Room for as many again.
        let wanted = (2 * added.sum::<usize>()).next_power_of_two();
        let most = slots_max(vertex_bound).ilog2();
        let slots = wanted.clamp(SLOTS_MIN, 1 << most);
        let filter = Self {
            slots: memory::zeros(slots),
            edges: AtomicUsize::new(0),
            versions: AtomicUsize::new(1),
        };
        for (index, segment) in segments.iter().enumerate().skip(1) {
            let lists = &segment.lists[0];
            let (neighbors, mut edges) = (lists.neighbors(words), Vec::new());
            lists.for_each(words, |src, range| {
                edges.extend(neighbors[range].iter().map(|neighbor| (src, neighbor.load(Relaxed))));
            });
            filter.take_in(index, &edges, |&edge| edge);
        }
        filter
    }

    /// Takes in what the version number `index` adds, by one thread at a time. Nothing is lost if the version then does not come
    /// to be.
    pub(crate) fn take_in<T>(&self, index: usize, added: &[T], edge: impl Fn(&T) -> Edge) {
        let bits = bits_of(index).map(|bit| 1 << bit);
        for (at, one) in added.iter().enumerate() {
            added.get(at + AHEAD).into_iter().for_each(|ahead| self.prefetch(edge(ahead)));
            for (slot, bit) in self.slots_of(edge(one)).into_iter().zip(bits) {
                let slot = &self.slots[slot];
                slot.store(slot.load(Relaxed) | bit, Relaxed);
            }
        }
        self.edges.fetch_add(added.len(), Relaxed);
        self.versions.store(index + 1, Relaxed);
    }

    /// Whether all of so many versions were taken in.
    pub(crate) fn has_all(&self, count: usize) -> bool {
        self.versions.load(Relaxed) >= count
    }

    /// Whether a larger one, made anew, would tell more.
    pub(crate) fn is_crowded(&self, vertex_bound: u32) -> bool {
        self.edges.load(Relaxed) > EDGES_PER_SLOT * self.slots.len()
            && 2 * self.slots.len() <= slots_max(vertex_bound)
    }

    /// Returns what is said of an edge.
    #[inline]
    pub(crate) fn marks(&self, edge: Edge) -> Marks {
        let [ones, others] = self.slots_of(edge).map(|slot| self.slots[slot].load(Relaxed));
        Marks { ones, others }
    }

    /// Starts loading what is said of an edge into the cache.
    #[inline]
    pub(crate) fn prefetch(&self, edge: Edge) {
        for slot in self.slots_of(edge) {
            prefetch(&self.slots[slot..]);
        }
    }

    #[inline]
    fn slots_of(&self, (src, dst): Edge) -> [usize; 2] {
        let hash = scramble(u64::from(src) << 32 | u64::from(dst));
        let unused = BITS as u32 - self.slots.len().trailing_zeros();
        [hash, hash.rotate_left(32)].map(|hash| (hash >> unused) as usize)
    }
}

/// What the slots of an edge say: which versions after the first one may have added it.
pub(crate) struct Marks {
    ones: u64,
    others: u64,
}

impl Marks {
    /// Calls `f` with the numbers of those versions, of `count` in all, descending, as long as it returns true.
    #[inline]
    pub(crate) fn look_through(
        &self,
        count: usize,
        listed: &mut Vec<usize>,
        mut f: impl FnMut(usize) -> bool,
    ) {
        listed.clear();
        let Self { ones, others } = *self;
        let pairs = ones.count_ones() as usize * others.count_ones() as usize;
        if count <= 1 + BITS {
            // Both bits are the same.
            let both = bits_in(ones & others).map(|bit| 1 + bit);
            listed.extend(both.filter(|&index| index < count));
        } else if pairs <= PAIRS_LISTED {
            for one in bits_in(ones) {
                for other in bits_in(others) {
                    let first = 1 + one + (other + BITS - one) % BITS * BITS;
                    listed.extend((first..count).step_by(PAIRS));
                }
            }
            listed.sort_unstable();
        } else {
            // An edge that comes and goes in many versions: likely one of the last has it.
            let has = |index: &usize| {
                let [one, other] = bits_of(*index);
                ones >> one & others >> other & 1 == 1
            };
            let _all = (1..count).rev().filter(has).all(f);
            return;
        }
        let _all = listed.iter().rev().copied().all(&mut f);
    }
}

/// Returns how many slots a table may have.
fn slots_max(vertex_bound: u32) -> usize {
    (SLOTS_PER_ID * vertex_bound as usize).max(SLOTS_OF_FEW)
}

/// Returns the bits of a version: the number after the first one in digits, the second of which is added to the first.
fn bits_of(index: usize) -> [usize; 2] {
    let number = index - 1;
    [number % BITS, (number + number / BITS) % BITS]
}

/// Returns the bits that are set, ascending.
fn bits_in(word: u64) -> impl Iterator<Item = usize> {
    let mut left = word;
    std::iter::from_fn(move || {
        let bit = (left != 0).then(|| left.trailing_zeros())?;
        left &= left - 1;
        Some(bit as usize)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_versions_that_are_marked_are_looked_at() {
        for (count, versions) in [
            (65, vec![1, 5, 64]),
            (66, vec![1, 5, 65]),
            (5000, vec![1, 64, 65, 4096, 4097, 4999]),
            (9000, (1..9000).step_by(7).collect()),
        ] {
            let mut marks = Marks { ones: 0, others: 0 };
            for &version in &versions {
                let [one, other] = bits_of(version);
                (marks.ones, marks.others) = (marks.ones | 1 << one, marks.others | 1 << other);
            }
            let mut seen = Vec::new();
            marks.look_through(count, &mut Vec::new(), |version| {
                seen.push(version);
                true
            });
            assert!(seen.is_sorted_by(|one, other| one > other) && seen.iter().all(|&v| v < count));
            assert!(versions.iter().all(|version| seen.contains(version)), "{versions:?}");
        }
        let mut seen = 0;
        Marks { ones: u64::MAX, others: u64::MAX }.look_through(9000, &mut Vec::new(), |_| {
            seen += 1;
            seen < 3
        });
        assert_eq!(seen, 3);
    }
}
