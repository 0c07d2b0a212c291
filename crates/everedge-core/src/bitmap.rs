//! Sets of vertices as one bit for each id, in words of 64.

use std::sync::atomic::{
    AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed},
};

use crate::{VertexId, par};

/// Bits in a word.
const WORD_BITS: u32 = u64::BITS;
/// Words in a piece of work.
const GRAIN: usize = 1 << 8;

/// A set of ids below a bound; one bit an id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bitmap {
    words: Vec<u64>,
    bound: u32,
}

impl Bitmap {
    /// Returns the empty set of ids below `bound`.
    pub fn new(bound: u32) -> Self {
        Self { words: vec![0; bound.div_ceil(WORD_BITS) as usize], bound }
    }

    /// Returns the set of the ids below `bound` for which `holds`, which is asked in parallel.
    pub fn from_fn(bound: u32, holds: impl Fn(VertexId) -> bool + Sync + Send) -> Self {
        let mut bitmap = Self::new(bound);
        par::map_chunks_mut(&mut bitmap.words, GRAIN, |first, words| {
            for (i, word) in (first as u32..).zip(words) {
                let first = i * WORD_BITS;
                let ids = first..first.saturating_add(WORD_BITS).min(bound);
                *word = ids.fold(0, |word, v| word | u64::from(holds(v)) << (v % WORD_BITS));
            }
        });
        bitmap
    }

    /// Returns the set of the ids below the bound that are not in this one.
    pub fn complement(&self) -> Self {
        let mut words: Vec<u64> = self.words.iter().map(|word| !word).collect();
        if let (Some(last), used @ 1..) = (words.last_mut(), self.bound % WORD_BITS) {
            *last &= (1 << used) - 1;
        }
        Self { words, bound: self.bound }
    }

    /// Returns the bound: every id is below it.
    pub fn bound(&self) -> u32 {
        self.bound
    }

    /// Returns whether `v` is in the set; an id at or above the bound is not.
    #[inline]
    pub fn contains(&self, v: VertexId) -> bool {
        self.words.get((v / WORD_BITS) as usize).is_some_and(|word| word & bit(v) != 0)
    }

    /// Adds `v`.
    ///
    /// # Panics
    /// If `v` is not below the bound.
    #[inline]
    pub fn insert(&mut self, v: VertexId) {
        assert!(v < self.bound, "id {v} in a bitmap of {}", self.bound);
        self.words[(v / WORD_BITS) as usize] |= bit(v);
    }

    /// Makes the bound `bound`, unless it is larger.
    pub fn grow(&mut self, bound: u32) {
        self.bound = self.bound.max(bound);
        self.words.resize(self.bound.div_ceil(WORD_BITS) as usize, 0);
    }

    /// Returns how many ids are in the set. Cost: one pass over the words.
    pub fn count(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }

    /// Returns the ids in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = VertexId> + '_ {
        (0..).zip(&self.words).flat_map(|(i, &word)| ones(word, i * WORD_BITS))
    }

    /// Returns the words: bit `i` of word `w` stands for id `64 * w + i`.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// Returns the words, to fill pieces of the set in parallel.
    ///
    /// Bits at or above the bound must stay 0.
    pub fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }
}

/// A [`Bitmap`] that many threads fill at once.
#[derive(Debug)]
pub struct AtomicBitmap {
    words: Vec<AtomicU64>,
    bound: u32,
}

impl AtomicBitmap {
    /// Returns the empty set of ids below `bound`.
    pub fn new(bound: u32) -> Self {
        Bitmap::new(bound).into()
    }

    /// Returns whether `v` is in the set; an id at or above the bound is not.
    #[inline]
    pub fn contains(&self, v: VertexId) -> bool {
        let word = self.words.get((v / WORD_BITS) as usize);
        word.is_some_and(|word| word.load(Relaxed) & bit(v) != 0)
    }

    /// Adds `v`; returns whether this call added it, which of several at once only one does.
    ///
    /// # Panics
    /// If `v` is not below the bound.
    #[inline]
    pub fn insert(&self, v: VertexId) -> bool {
        assert!(v < self.bound, "id {v} in a bitmap of {}", self.bound);
        let word = &self.words[(v / WORD_BITS) as usize];
        word.load(Relaxed) & bit(v) == 0 && word.fetch_or(bit(v), Relaxed) & bit(v) == 0
    }

    /// Adds `v`; returns whether it was there. Whoever [takes](Self::take) it sees what this thread wrote before, and what
    /// this thread reads then is no older.
    ///
    /// # Panics
    /// If `v` is not below the bound.
    #[inline]
    pub fn give(&self, v: VertexId) -> bool {
        assert!(v < self.bound, "id {v} in a bitmap of {}", self.bound);
        // Also if it is there: else who takes it might not see what was written since.
        self.words[(v / WORD_BITS) as usize].fetch_or(bit(v), AcqRel) & bit(v) != 0
    }

    /// Takes `v` out; returns whether it was there. This thread then sees what those wrote who
    /// [gave](Self::give) it before.
    ///
    /// # Panics
    /// If `v` is not below the bound.
    #[inline]
    pub fn take(&self, v: VertexId) -> bool {
        assert!(v < self.bound, "id {v} in a bitmap of {}", self.bound);
        self.words[(v / WORD_BITS) as usize].fetch_and(!bit(v), Acquire) & bit(v) != 0
    }
}

impl From<Bitmap> for AtomicBitmap {
    fn from(bitmap: Bitmap) -> Self {
        let words = bitmap.words.into_iter().map(AtomicU64::new).collect();
        Self { words, bound: bitmap.bound }
    }
}

impl From<AtomicBitmap> for Bitmap {
    fn from(bitmap: AtomicBitmap) -> Self {
        let words = bitmap.words.into_iter().map(AtomicU64::into_inner).collect();
        Self { words, bound: bitmap.bound }
    }
}

/// The bit of `v` in its word.
fn bit(v: VertexId) -> u64 {
    1 << (v % WORD_BITS)
}

/// The ids of the bits set in `word`, whose first bit stands for `first`.
fn ones(mut word: u64, first: VertexId) -> impl Iterator<Item = VertexId> {
    std::iter::from_fn(move || {
        let v = (word != 0).then(|| first + word.trailing_zeros());
        word &= word.wrapping_sub(1);
        v
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holds_what_was_inserted() {
        let ids = [0, 1, 63, 64, 127, 128, 199];
        let mut plain = Bitmap::new(200);
        let atomic = AtomicBitmap::new(200);
        for v in ids {
            plain.insert(v);
            assert!(atomic.insert(v));
            assert!(!atomic.insert(v));
        }
        assert_eq!(plain.iter().collect::<Vec<_>>(), ids);
        assert_eq!(plain.count(), 7);
        assert_eq!((0..1000).filter(|&v| plain.contains(v)).collect::<Vec<_>>(), ids);
        assert_eq!((0..1000).filter(|&v| atomic.contains(v)).collect::<Vec<_>>(), ids);
        assert_eq!(Bitmap::from(atomic), plain);
    }

    #[test]
    fn a_complement_has_the_other_ids_below_the_bound() {
        for bound in [0, 1, 63, 64, 65, 200] {
            let thirds = Bitmap::from_fn(bound, |v| v % 3 == 0);
            assert_eq!(thirds.complement(), Bitmap::from_fn(bound, |v| v % 3 != 0));
        }
    }

    #[test]
    fn empty_has_no_words() {
        let empty = Bitmap::new(0);
        assert!(empty.words().is_empty());
        assert!(!empty.contains(0));
        assert_eq!(empty.iter().next(), None);
    }

    #[test]
    #[should_panic(expected = "id 65 in a bitmap of 65")]
    fn insert_refuses_ids_beyond_the_bound() {
        Bitmap::new(65).insert(65);
    }
}
