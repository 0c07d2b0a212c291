//! The header of a section: what its lists are, as far as a crash may not change it.
//!
//! A section has two slots on the medium, which are written in turn; the whole one with the larger
//! stamp holds. What lies beyond the lengths in it, in gaps and in the edge log, does not count yet.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use arrayvec::ArrayVec;

use super::shape::{HEADER_WORDS, SECTION_VERTICES_MAX};

/// Words of the longest header.
const HEADER_WORDS_MAX: usize = HEADER_WORDS + 2 * SECTION_VERTICES_MAX;

/// Stamps stay below this.
const STAMP_MAX: u32 = u32::MAX - 1;

/// Where a list lies in the words of its array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Place {
    /// Its first word.
    pub start: u32,
    /// Words of it.
    pub len: u32,
}

/// When a header is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    /// The number of the last checkpoint.
    pub epoch: u32,
    /// The number of the last edge that was stored without the log.
    pub direct: u64,
}

/// What a header says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    /// Grows with every header of the section.
    pub stamp: u32,
    /// All updates before this one are in the lists.
    pub sequence: u64,
    /// The number of the checkpoint that was the last when this was written.
    pub epoch: u32,
    /// The checksum of the header that held at that checkpoint, or 0.
    pub anchored: u32,
    /// A bit for each vertex of the section that is one; only in the first array of a shard.
    pub vertices: u64,
    /// Sum over all entries ([`mix`]).
    pub sum: u64,
    /// Entries of the edge log.
    pub log_count: u32,
    /// Tombstones in the lists.
    pub tombstones: u32,
    /// Self-loops that no tombstone took away.
    pub loops: u32,
    /// All edges that were stored without the log are in the lists up to the one of this number, of 48
    /// bits.
    pub direct: u64,
    pub places: ArrayVec<Place, SECTION_VERTICES_MAX>,
}

impl Header {
    /// Returns the words on the medium; the first is the checksum of the rest.
    pub(super) fn encode(&self, salt: u32) -> ArrayVec<u32, HEADER_WORDS_MAX> {
        let mut words = ArrayVec::from([0; HEADER_WORDS_MAX]);
        words.truncate(HEADER_WORDS + 2 * self.places.len());
        let [sequence, vertices, sum] = [self.sequence, self.vertices, self.sum].map(split);
        words[1] = self.stamp;
        words[2..4].copy_from_slice(&sequence);
        words[4..6].copy_from_slice(&[self.epoch, self.anchored]);
        words[6..8].copy_from_slice(&vertices);
        words[8..10].copy_from_slice(&sum);
        let [direct_low, direct_high] = split(self.direct);
        let log_count = self.log_count | direct_high << 16;
        words[10..14].copy_from_slice(&[log_count, self.tombstones, self.loops, direct_low]);
        for (pair, place) in words[HEADER_WORDS..].chunks_exact_mut(2).zip(&self.places) {
            pair.copy_from_slice(&[place.start, place.len]);
        }
        words[0] = checksum(salt, &words[1..]);
        words
    }

    /// Returns what the words of a slot say, if `matches` the checksum in them and the computed one.
    pub(super) fn decode(
        words: &[u32],
        salt: u32,
        matches: impl Fn(u32, u32) -> bool,
    ) -> Option<Self> {
        let join = |index: usize| u64::from(words[index]) | u64::from(words[index + 1]) << 32;
        // Of the largest stamp nobody would come after.
        let is_stamp = words[1] > 0 && words[1] < STAMP_MAX;
        let is_whole = is_stamp && matches(words[0], checksum(salt, &words[1..]));
        let place = |pair: &[u32]| Place { start: pair[0], len: pair[1] };
        is_whole.then(|| Self {
            stamp: words[1],
            sequence: join(2),
            epoch: words[4],
            anchored: words[5],
            vertices: join(6),
            sum: join(8),
            log_count: words[10] & 0xffff,
            tombstones: words[11],
            loops: words[12],
            direct: u64::from(words[10] >> 16) << 32 | u64::from(words[13]),
            places: words[HEADER_WORDS..].chunks_exact(2).map(place).collect(),
        })
    }
}

/// Returns what a word adds to its section's sum, by its list and its place in it.
///
/// Source: multilinear hashing, Lemire and Kaser, The Computer Journal 2014. It is a sum, so that
/// an entry that is appended costs one addition, and lists that are moved keep theirs. Keys are odd:
/// a word that differs always changes the sum.
#[inline]
pub(super) fn mix(local: usize, index: u32, word: u32) -> u64 {
    let list = (local as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let key = list.wrapping_add(u64::from(index).wrapping_mul(0xbf58_476d_1ce4_e5b9));
    (key << 1 | 1).wrapping_mul(u64::from(word) + 0xd1b5_4a32_d192_ed03)
}

/// Copies shared words.
pub(super) fn copy(words: &[AtomicU32]) -> Vec<u32> {
    words.iter().map(|word| word.load(Relaxed)).collect()
}

fn checksum(salt: u32, words: &[u32]) -> u32 {
    // Never 0, which says that there was no header.
    crc32c::crc32c_append(salt, bytemuck::cast_slice(words)).max(1)
}

fn split(number: u64) -> [u32; 2] {
    [number as u32, (number >> 32) as u32]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_back_and_no_bit_of_it_can_flip() {
        let places = [Place { start: 3, len: 9 }, Place { start: 14, len: 0 }];
        let places = places.into_iter().collect();
        let (epoch, anchored, log_count, tombstones, loops) = (4, 5, 6, 7, 8);
        let direct = 0xabcd_1234_5678;
        let (sequence, vertices, sum) = (1 << 40, 3 << 33, u64::MAX);
        let header = Header {
            stamp: 7,
            sequence,
            epoch,
            anchored,
            vertices,
            sum,
            log_count,
            tombstones,
            loops,
            direct,
            places,
        };
        let mut words = header.encode(99);
        let is_equal = |a, b| a == b;
        assert_eq!(Header::decode(&words, 99, is_equal), Some(header));
        assert_eq!(Header::decode(&words, 98, is_equal), None);
        for bit in 0..32 * words.len() {
            words[bit / 32] ^= 1 << (bit % 32);
            assert_eq!(Header::decode(&words, 99, is_equal), None, "bit {bit}");
            words[bit / 32] ^= 1 << (bit % 32);
        }
        assert_eq!(Header::decode(&[0; HEADER_WORDS], 99, is_equal), None);
    }

    #[test]
    fn sums_tell_entries_their_places_and_their_lists_apart() {
        let sums: Vec<u64> = (0..8)
            .flat_map(|local| (0..8).flat_map(move |i| (0..8).map(move |w| mix(local, i, w))))
            .collect();
        let distinct: std::collections::HashSet<_> = sums.iter().collect();
        assert_eq!(distinct.len(), sums.len());
        assert_ne!(
            mix(1, 0, 5).wrapping_add(mix(1, 1, 6)),
            mix(1, 0, 6).wrapping_add(mix(1, 1, 5))
        );
    }
}
