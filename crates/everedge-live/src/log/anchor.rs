//! The log's anchors: its durable pointers, in two slots that are written in turn.

use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

use super::record::LINE_BYTES;
use super::{SEQUENCE_MAX, join, split};
use crate::{Error, Result};
use everedge_medium::{Region, Site};

/// Where the ring begins: after the two anchor slots.
pub const RING_OFFSET: u64 = 2 * ANCHOR_STRIDE;
/// The ring has at least this much room, at most that much.
pub(super) const CAPACITY_BYTES: Range<u64> = 64..1 << 48;

const ANCHOR_STRIDE: u64 = 4096;
const ANCHOR_WORDS: usize = 24;
const ANCHOR_MAGIC: u32 = u32::from_le_bytes(*b"ELOG");
const ANCHOR_VERSION: u32 = 3;
/// Positions, and the counter of anchors, stay below this.
const POSITION_MAX: u64 = 1 << 62;

/// What a layout leaves with the log's tail: the state that is durable without the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Checkpoint {
    /// The layout's own numbers, to be found again at recovery.
    pub layout: [u64; 3],
}

impl Checkpoint {
    /// Returns its number, which every layout has as the last of its own.
    fn number(&self) -> u64 {
        self.layout[2]
    }
}

/// The durable pointers of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Anchor {
    /// Counts anchors written; the newer valid slot wins.
    pub(super) counter: u64,
    /// The number of the open that writes.
    pub(super) generation: u32,
    /// The lowest generation that a record after the tail can have.
    pub(super) tail_generation: u32,
    pub(super) base: u64,
    pub(super) tail: u64,
    pub(super) tail_sequence: u64,
    pub(super) capacity: u64,
    /// Bytes of the ring that the file has at least.
    pub(super) allocated: u64,
    pub(super) checkpoint: Checkpoint,
}

/// The places in the file of the ring's positions `from..to`: one range, or two at the seam.
pub(super) fn ring_ranges(anchor: &Anchor, from: u64, to: u64) -> impl Iterator<Item = Range<u64>> {
    let first_len = (to - from).min(anchor.capacity - (from - anchor.base) % anchor.capacity);
    let start = RING_OFFSET + (from - anchor.base) % anchor.capacity;
    let first = start..start + first_len;
    let second = RING_OFFSET..RING_OFFSET + (to - from - first_len);
    [first, second].into_iter().filter(|range| !range.is_empty())
}

impl Anchor {
    /// The place of the anchor in the file.
    pub(super) fn range(&self) -> Range<u64> {
        let offset = self.counter % 2 * ANCHOR_STRIDE;
        offset..offset + 4 * ANCHOR_WORDS as u64
    }

    pub(super) fn encode(&self, salt: u32) -> [u32; ANCHOR_WORDS] {
        let mut words = [0; ANCHOR_WORDS];
        let generations = [self.generation, self.tail_generation];
        words[..2].copy_from_slice(&[ANCHOR_MAGIC, ANCHOR_VERSION]);
        words[2..4].copy_from_slice(&generations);
        let [l0, l1, l2] = self.checkpoint.layout;
        let Anchor { counter, base, tail, tail_sequence, capacity, allocated, .. } = *self;
        let numbers = [counter, base, tail, tail_sequence, capacity, l0, l1, l2, allocated];
        for (pair, number) in words[4..].chunks_exact_mut(2).zip(numbers) {
            pair.copy_from_slice(&split(number));
        }
        words[ANCHOR_WORDS - 1] =
            crc32c::crc32c_append(salt, bytemuck::cast_slice(&words[..ANCHOR_WORDS - 1]));
        words
    }

    /// Returns the newest valid anchor.
    pub(super) fn read_newest(region: &Region, salt: u32) -> Result<Anchor> {
        if region.len() < RING_OFFSET {
            return Err(Error::Corruption {
                path: region.path().to_owned(),
                offset: region.len(),
                what: "the log's anchors".into(),
                expected: format!("{RING_OFFSET} bytes"),
                found: format!("{} bytes", region.len()),
            });
        }
        let slots = [0, 1].map(|slot| Self::decode(region, slot, salt));
        let newest = slots.into_iter().flatten().max_by_key(|anchor| anchor.counter);
        if let (None, Some(found)) = (newest, Self::other_version(region)) {
            let (path, supported) = (region.path().to_owned(), ANCHOR_VERSION);
            return Err(Error::Version { path, found, supported });
        }
        newest.ok_or_else(|| Error::Corruption {
            path: region.path().to_owned(),
            offset: 0,
            what: "the log's anchors".into(),
            expected: "one of two with a matching checksum".into(),
            found: "none".into(),
        })
    }

    /// Takes what a crash has left of an anchor out of the other slot: a part of the next one could make
    /// it whole, and it would tell of what was never there.
    pub(super) fn wipe_torn(&self, region: &Region, salt: u32) {
        let other = (self.counter + 1) % 2;
        if Self::decode(region, other, salt).is_none() {
            let start = other * ANCHOR_STRIDE;
            region.wipe(Site::LogFound, start..start + 4 * ANCHOR_WORDS as u64);
        }
    }

    /// Returns the version of an anchor that this build does not read.
    fn other_version(region: &Region) -> Option<u32> {
        let versions = [0, 1].map(|slot| {
            let words = region.words(slot * ANCHOR_STRIDE, 2);
            let [magic, version] = [0, 1].map(|word: usize| words[word].load(Relaxed));
            (magic == ANCHOR_MAGIC && version != ANCHOR_VERSION).then_some(version)
        });
        versions.into_iter().flatten().max()
    }

    fn decode(region: &Region, slot: u64, salt: u32) -> Option<Anchor> {
        let mut words = [0; ANCHOR_WORDS];
        for (word, shared) in words.iter_mut().zip(region.words(slot * ANCHOR_STRIDE, ANCHOR_WORDS))
        {
            *word = shared.load(Relaxed);
        }
        let number = |index: usize| join(words[4 + 2 * index], words[5 + 2 * index]);
        let anchor = Anchor {
            counter: number(0),
            generation: words[2],
            tail_generation: words[3],
            base: number(1),
            tail: number(2),
            tail_sequence: number(3),
            capacity: number(4),
            checkpoint: Checkpoint { layout: [number(5), number(6), number(7)] },
            allocated: number(8),
        };
        let crc = crc32c::crc32c_append(salt, bytemuck::cast_slice(&words[..ANCHOR_WORDS - 1]));
        let valid = words[0] == ANCHOR_MAGIC
            && words[1] == ANCHOR_VERSION
            && region.matches(Site::LogAnchor, words[ANCHOR_WORDS - 1], crc);
        let plausible = CAPACITY_BYTES.contains(&anchor.capacity)
            && anchor.capacity.is_multiple_of(64)
            && slot == anchor.counter % 2
            && anchor.counter < POSITION_MAX
            && anchor.generation < u32::MAX
            && anchor.base <= anchor.tail
            && anchor.tail < POSITION_MAX
            && [anchor.base, anchor.tail].iter().all(|at| at.is_multiple_of(LINE_BYTES))
            && anchor.tail_sequence < SEQUENCE_MAX
            && anchor.checkpoint.number() < u32::MAX.into()
            && anchor.allocated <= anchor.capacity;
        (valid && plausible).then_some(anchor)
    }
}
