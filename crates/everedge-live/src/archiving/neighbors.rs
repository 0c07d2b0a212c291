//! What the words of a list must be like, which a file may say otherwise.

use rustc_hash::FxHashMap;

use crate::batch::DELETION;

/// Returns the id after the largest neighbor that no tombstone takes away, of a list whose words come
/// oldest first; none if a tombstone takes away what is not there.
pub fn live_bound(neighbors: impl Iterator<Item = u32>) -> Option<u32> {
    let mut live: FxHashMap<u32, u64> = FxHashMap::default();
    for word in neighbors {
        match word & DELETION {
            0 => *live.entry(word).or_default() += 1,
            _ => {
                let count = live.get_mut(&(word & !DELETION)).filter(|count| **count > 0)?;
                *count -= 1;
            }
        }
    }
    let bounds = live.into_iter().filter(|(_, count)| *count > 0).map(|(v, _)| v + 1);
    Some(bounds.max().unwrap_or(0))
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
        let bound = |words: &[u32]| live_bound(words.iter().copied());
        assert_eq!(bound(&[]), Some(0));
        assert_eq!(bound(&[3, 9, gone(9), 4]), Some(5));
        assert_eq!(bound(&[3, 3, gone(3)]), Some(4));
        assert_eq!(bound(&[3, gone(3), gone(3)]), None);
        assert_eq!(bound(&[gone(3), 3]), None);
    }
}
