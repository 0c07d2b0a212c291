//! How a list of neighbors is written: ascending ids as gaps of one to four bytes.
//!
//! Source: Lemire, Kurz and Rupp, "Stream VByte: Faster Byte-Oriented Integer Compression", IPL 2018
//! (the lengths of four numbers in a byte of their own, so that no branch depends on a length).
//!
//! # Layout
//! ```text
//! gaps   weights │ lengths, 2 bits each │ gaps, 1 to 4 bytes each
//! plain  weights │ ids, 4 bytes each
//!
//! weights   width, 1 byte │ weights, as many bytes each as the width says
//! ```
//! The first gap is the first id. A parallel edge is a gap of 0. A graph without weights stores none. Weights that are
//! all whole numbers below 2^8, 2^16 or 2^24 are written as such in 1, 2 or 3 bytes, others as `f32` in 4.
//!
//! # Invariants
//! - C1: at least [`SPARE_BYTES`] bytes follow a list in its chunk, so that a gap may be read as four
//!   bytes.
//! - C2: a decoder returns ids below the bound that it is given, whatever the bytes are.

use everedge_core::VertexId;

use crate::fours;

/// Bytes after a list that a decoder may read.
pub(crate) const SPARE_BYTES: usize = 4;

/// How lists are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// Four bytes an id.
    Plain,
    /// Gaps of one to four bytes.
    Gaps,
}

/// Fours of gaps that are decoded at once.
const FOURS_AT_ONCE: usize = 8;
/// Bytes of a large gap.
const GAP_BYTES_MAX: usize = 4;
/// Bytes of a weight that is no whole number, or a large one.
const WIDTH_MAX: usize = 4;
/// What of four bytes is a number of so many bytes, less one.
const MASKS: [u32; 4] = [0xff, 0xffff, 0xff_ffff, 0xffff_ffff];

impl Code {
    /// Appends the list of `ids`, which ascend, and their `weights`, of which there are as many or none.
    pub(crate) fn encode(self, ids: &[VertexId], weights: &[f32], to: &mut Vec<u8>) {
        if !weights.is_empty() {
            encode_weights(weights, to);
        }
        match self {
            Self::Plain => ids.iter().for_each(|id| to.extend(id.to_le_bytes())),
            Self::Gaps => encode_gaps(ids, to),
        }
    }

    /// Returns how many of `ids`, which ascend, fit into so many bytes with their `weights`, if there are some.
    pub(crate) fn fitting(self, ids: &[VertexId], weights: &[f32], room: usize) -> usize {
        // Each takes a byte at least.
        let weights = &weights[..weights.len().min(room)];
        let (head, weight) = if weights.is_empty() { (0, 0) } else { (1, width_of(weights)) };
        let (mut last, mut bytes) = (0, head);
        for (i, &id) in ids.iter().enumerate() {
            bytes += weight
                + match self {
                    Self::Plain => 4,
                    // Four lengths are in a byte.
                    Self::Gaps => length_of(id - last) + 1 + usize::from(i % 4 == 0),
                };
            last = id;
            if bytes > room {
                return i;
            }
        }
        ids.len()
    }
}

/// Returns how many bytes a gap takes, less one.
fn length_of(gap: u32) -> usize {
    (3 - (gap | 1).leading_zeros() / 8) as usize
}

/// Returns in how many bytes each of some weights can be written.
fn width_of(weights: &[f32]) -> usize {
    let width = |&weight: &f32| {
        let number = weight as u32;
        // By bits: -0 is no whole number here.
        match (number as f32).to_bits() == weight.to_bits() && number < 1 << 24 {
            true => length_of(number) + 1,
            false => WIDTH_MAX,
        }
    };
    weights.iter().map(width).max().unwrap_or(1)
}

fn encode_weights(weights: &[f32], to: &mut Vec<u8>) {
    let width = width_of(weights);
    to.push(width as u8);
    for weight in weights {
        let word = if width < WIDTH_MAX { *weight as u32 } else { weight.to_bits() };
        to.extend(&word.to_le_bytes()[..width]);
    }
}

fn encode_gaps(ids: &[VertexId], to: &mut Vec<u8>) {
    let start = to.len();
    let mut end = start + ids.len().div_ceil(4);
    // As if each gap took all bytes: what a shorter one does not need is written over by the next.
    to.resize(end + GAP_BYTES_MAX * ids.len(), 0);
    let (lengths, gaps) = to[start..].split_at_mut(end - start);
    let (mut last, mut place) = (0, 0);
    for (ids, lengths) in ids.chunks(4).zip(lengths) {
        for (i, &id) in ids.iter().enumerate() {
            let gap = id - last;
            last = id;
            let length = length_of(gap);
            *lengths |= (length as u8) << (2 * i);
            gaps[place..place + GAP_BYTES_MAX].copy_from_slice(&gap.to_le_bytes());
            place += length + 1;
        }
    }
    end += place;
    to.truncate(end);
}

/// Where in the bytes of a chunk the next id of a list stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Decoder {
    code: Code,
    /// Where the weights begin.
    weights: usize,
    /// The bytes of each; 0 if there are none.
    width: usize,
    /// Where the lengths begin; of a plain list, the ids.
    lengths: usize,
    /// Where the next gap is.
    gap: usize,
    /// Which id comes next.
    next: u32,
    count: u32,
    last: VertexId,
    /// The largest id that there may be.
    id_max: VertexId,
}

impl Decoder {
    /// Returns the decoder of a list of `count` ids below `bound` that begins at `offset`, or none if
    /// `bytes` cannot hold it.
    #[inline]
    pub(crate) fn new(
        code: Code,
        weighted: bool,
        (offset, count): (usize, u32),
        (bytes, bound): (&[u8], u32),
    ) -> Option<Self> {
        let (weights, width) = match weighted && count > 0 {
            true => (offset + 1, usize::from(*bytes.get(offset)?)),
            false => (offset, 0),
        };
        if weights > offset && !(1..=WIDTH_MAX).contains(&width) {
            return None;
        }
        let lengths = weights + width * count as usize;
        let gap = match code {
            Code::Plain => lengths + 4 * count as usize,
            Code::Gaps => lengths + (count as usize).div_ceil(4),
        };
        let id_max = bound.checked_sub(1)?;
        (gap <= bytes.len()).then_some(Self {
            code,
            weights,
            width,
            lengths,
            gap,
            next: 0,
            count,
            last: 0,
            id_max,
        })
    }

    /// Returns the next id; `bytes` are those that it was made for.
    #[inline]
    pub(crate) fn next(&mut self, bytes: &[u8]) -> Option<VertexId> {
        if self.next == self.count {
            return None;
        }
        let i = self.next as usize;
        self.next += 1;
        let id = match self.code {
            Code::Plain => word_at(bytes, self.lengths + 4 * i),
            Code::Gaps => {
                let lengths = bytes.get(self.lengths + i / 4).copied().unwrap_or(0);
                let length = usize::from(lengths >> (2 * (i % 4)) & 3);
                let gap = word_at(bytes, self.gap) & MASKS[length];
                self.gap += length + 1;
                self.last.wrapping_add(gap)
            }
        };
        self.last = id;
        Some(id.min(self.id_max))
    }

    /// Returns the next id as it stands there, though it may be no vertex.
    fn next_raw(&mut self, bytes: &[u8]) -> Option<VertexId> {
        self.next(bytes)?;
        Some(self.last)
    }

    /// Calls `f` with each id that is left, as it stands there, and its weight, 1 if the list has none.
    pub(crate) fn for_each_raw(
        mut self,
        bytes: &[u8],
        weighted: bool,
        mut f: impl FnMut(VertexId, f32),
    ) {
        while self.next < self.count {
            let weight = if weighted { self.weight(bytes, self.next as usize) } else { 1.0 };
            if let Some(id) = self.next_raw(bytes) {
                f(id, weight);
            }
        }
    }

    /// Returns the next id with its weight; the list has weights.
    #[inline]
    pub(crate) fn next_edge(&mut self, bytes: &[u8]) -> Option<(VertexId, f32)> {
        let i = self.next as usize;
        let id = self.next(bytes)?;
        Some((id, self.weight(bytes, i)))
    }

    /// Returns the weight at a place of the list, which has weights.
    #[inline]
    fn weight(&self, bytes: &[u8], i: usize) -> f32 {
        let word = word_at(bytes, self.weights + self.width * i);
        match self.width {
            WIDTH_MAX => f32::from_bits(word),
            width => (word & MASKS[(width - 1) & 3]) as f32,
        }
    }

    /// Folds the ids that are left, as [`Self::next`] returns them.
    #[inline]
    pub(crate) fn fold<B>(self, bytes: &[u8], init: B, mut f: impl FnMut(B, VertexId) -> B) -> B {
        self.fold_at(bytes, init, |sum, _, id| f(sum, id))
    }

    /// Appends the ids of a list, of which none was read.
    pub(crate) fn append(mut self, bytes: &[u8], to: &mut Vec<VertexId>) {
        let start = to.len();
        if self.code == Code::Gaps {
            let fours = self.count as usize / 4;
            let lengths = bytes.get(self.lengths..self.lengths + fours).unwrap_or_default();
            to.resize(start + 4 * lengths.len(), 0);
            let (ids, _) = to[start..].as_chunks_mut();
            let ends = (&mut self.last, self.id_max);
            self.next = 4 * fours::decode(lengths, bytes, &mut self.gap, ends, ids) as u32;
            to.truncate(start + self.next as usize);
        }
        self.fold(bytes, (), |(), id| to.push(id));
    }

    /// Folds the ids that are left with their weights; the list has weights.
    #[inline]
    pub(crate) fn fold_edges<B>(
        self,
        bytes: &[u8],
        init: B,
        mut f: impl FnMut(B, (VertexId, f32)) -> B,
    ) -> B {
        self.fold_at(bytes, init, |sum, i, id| f(sum, (id, self.weight(bytes, i))))
    }

    /// Folds the ids that are left, each with its place in the list.
    #[inline]
    fn fold_at<B>(
        mut self,
        bytes: &[u8],
        init: B,
        mut f: impl FnMut(B, usize, VertexId) -> B,
    ) -> B {
        let (mut sum, mut ids) = (init, [[0; 4]; FOURS_AT_ONCE]);
        loop {
            let first = self.next as usize;
            let count = self.decode_some(bytes, &mut ids);
            if count == 0 {
                return sum;
            }
            for (i, &id) in (first..).zip(&ids.as_flattened()[..count]) {
                sum = f(sum, i, id);
            }
        }
    }

    /// Decodes some of the ids that are left, and returns how many: none if none is left. It is no part of
    /// [`fold_at`](Self::fold_at), which is compiled for each loop over neighbors.
    fn decode_some(&mut self, bytes: &[u8], ids: &mut [[VertexId; 4]; FOURS_AT_ONCE]) -> usize {
        let (next, left) = (self.next as usize, (self.count - self.next) as usize);
        let count = if self.code == Code::Plain {
            let words = bytes.get(self.lengths + 4 * next..self.gap).unwrap_or_default();
            let words = words.as_chunks::<4>().0.iter().zip(ids.as_flattened_mut());
            words.map(|(&word, id)| *id = u32::from_le_bytes(word).min(self.id_max)).count()
        } else if next.is_multiple_of(4) && left >= 4 {
            let start = self.lengths + next / 4;
            let end = start + (left / 4).min(FOURS_AT_ONCE);
            let lengths = bytes.get(start..end).unwrap_or_default();
            let ends = (&mut self.last, self.id_max);
            4 * fours::decode(lengths, bytes, &mut self.gap, ends, ids)
        } else {
            0
        };
        self.next += count as u32;
        if count > 0 {
            return count;
        }
        // One by one up to where a byte of lengths begins.
        let count = left.min(4 - next % 4);
        for id in &mut ids.as_flattened_mut()[..count] {
            *id = self.next(bytes).unwrap_or_default();
        }
        count
    }
}

/// Returns the word at a place, or 0 beyond the end: then the bytes are not those of a list.
#[inline]
fn word_at(bytes: &[u8], place: usize) -> u32 {
    let word = bytes.get(place..).and_then(|rest| rest.first_chunk());
    word.map_or(0, |&word| u32::from_le_bytes(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decoded(code: Code, bytes: &[u8], weighted: bool, offset: usize, count: u32) -> Vec<u32> {
        let new = || Decoder::new(code, weighted, (offset, count), (bytes, 1 << 31)).unwrap();
        let mut one_by_one = Vec::new();
        let mut decoder = new();
        while let Some(id) = decoder.next(bytes) {
            one_by_one.push(id);
        }
        assert_eq!(decoder.gap + SPARE_BYTES, bytes.len());
        for taken in 0..6.min(one_by_one.len()) {
            let (mut decoder, mut all) = (new(), one_by_one[..taken].to_vec());
            (0..taken).for_each(|_| _ = decoder.next(bytes));
            decoder.fold(bytes, (), |(), id| all.push(id));
            assert_eq!(all, one_by_one);
        }
        let mut all = vec![7];
        new().append(bytes, &mut all);
        assert_eq!(all[1..], one_by_one);
        one_by_one
    }

    proptest! {
        #[test]
        fn decodes_what_it_encodes(
            mut ids in prop::collection::vec(
                prop_oneof![0..300_u32, 0..70_000_u32, 0..1_u32 << 25, 0..1_u32 << 31], 0..70),
            weighted: bool,
            factor in prop_oneof![Just(1.0_f32), Just(0.5), Just(-1.0), 0.0..1e-6_f32],
            offset in 0..9_usize,
        ) {
            ids.sort_unstable();
            let weights: Vec<f32> = ids.iter().map(|&id| id as f32 * factor).collect();
            for code in [Code::Plain, Code::Gaps] {
                let mut bytes = vec![7; offset];
                code.encode(&ids, if weighted { &weights } else { &[] }, &mut bytes);
                bytes.extend([0xff; SPARE_BYTES]);
                let found = decoded(code, &bytes, weighted, offset, ids.len() as u32);
                prop_assert_eq!(&found, &ids);
                if weighted {
                    let whole = (&bytes[..], 1 << 31);
                    let start = (offset, ids.len() as u32);
                    let mut decoder = Decoder::new(code, true, start, whole).unwrap();
                    for (&id, &weight) in ids.iter().zip(&weights) {
                        prop_assert_eq!(decoder.next_edge(&bytes), Some((id, weight)));
                    }
                    prop_assert_eq!(decoder.next_edge(&bytes), None);
                    for taken in 0..6.min(ids.len()) {
                        let mut decoder = Decoder::new(code, true, start, whole).unwrap();
                        let mut all: Vec<_> = ids.iter().copied().zip(weights.iter().copied()).collect();
                        (0..taken).for_each(|_| _ = decoder.next(&bytes));
                        let mut left = Vec::new();
                        decoder.fold_edges(&bytes, (), |(), edge| left.push(edge));
                        prop_assert_eq!(&left, &all.split_off(taken));
                    }
                }
            }
        }

        #[test]
        fn no_bytes_lead_beyond_the_bound(
            bytes in prop::collection::vec(any::<u8>(), 0..80), count in 0..90_u32, bound in 1..100_u32, weighted: bool
        ) {
            for code in [Code::Plain, Code::Gaps] {
                let decoder = Decoder::new(code, weighted, (0, count), (&bytes, bound));
                if let Some(decoder) = decoder {
                    let mut seen = 0;
                    let mut see = |id| { seen += 1; assert!(id < bound) };
                    match weighted {
                        true => decoder.fold_edges(&bytes, (), |(), (id, _)| see(id)),
                        false => decoder.fold(&bytes, (), |(), id| see(id)),
                    }
                    prop_assert_eq!(seen, count);
                }
            }
        }
    }
}
