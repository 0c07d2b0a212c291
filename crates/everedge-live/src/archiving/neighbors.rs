//! What the words of a list must be like, which a file may say otherwise.

use rustc_hash::FxHashMap;

use crate::batch::DELETION;

/// Returns the id after the largest neighbor that no tombstone takes away, of a list whose words come
/// newest first; none if a tombstone has nothing to take away.
///
/// Only neighbors whose tombstones still look for an edge are remembered: a hub with one tombstone costs
/// one map entry.
pub fn live_bound(neighbors: impl Iterator<Item = u32>) -> Option<u32> {
    let (mut bound, mut unmatched) = (0, FxHashMap::<u32, u64>::default());
    for word in neighbors {
        let neighbor = word & !DELETION;
        if word & DELETION != 0 {
            *unmatched.entry(neighbor).or_default() += 1;
            continue;
        }
        match unmatched.get_mut(&neighbor) {
            None => bound = bound.max(neighbor + 1),
            Some(1) => drop(unmatched.remove(&neighbor)),
            Some(count) => *count -= 1,
        }
    }
    unmatched.is_empty().then_some(bound)
}

/// Whether all of some words are weights.
pub fn are_weights(mut words: impl Iterator<Item = u32>) -> bool {
    words.all(|word| f32::from_bits(word).is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tombstones_take_away_what_is_there() {
        let gone = |v| v | DELETION;
        let bound = |words: &[u32]| live_bound(words.iter().rev().copied());
        assert_eq!(bound(&[]), Some(0));
        assert_eq!(bound(&[3, 9, gone(9), 4]), Some(5));
        assert_eq!(bound(&[3, 3, gone(3)]), Some(4));
        assert_eq!(bound(&[9, gone(9), 9, 9, gone(9), gone(9), 2]), Some(3));
        assert_eq!(bound(&[3, gone(3), gone(3)]), None);
        assert_eq!(bound(&[gone(3), 3]), None);
        assert_eq!(bound(&[3, 4, gone(3), gone(3), 3]), None);
    }
}
