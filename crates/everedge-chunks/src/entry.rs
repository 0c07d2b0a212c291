//! The index: twelve bytes a vertex, which say how many neighbors it has and where they are.
//!
//! Source: ChunkGraph §3.2 ("in-index mini vertex storing", "chunk based medium vertex storing").
//! Differences: the level of a chunk stands in the entry, for a list's length in bytes, and not its
//! degree, decides the level; the index lies in pages that the cache holds as it holds chunks.
//!
//! # Layout
//! ```text
//! degree   u32     place   u64
//!
//! place, by degree and level
//!   mini     neighbor │ neighbor, or neighbor │ weight     at most two, or one with its weight
//!   chunk    chunk │ level << 29 | offset in the chunk
//!   super    first piece │ 4 << 29
//! ```

use everedge_core::VertexId;

use crate::codec::SPARE_BYTES;

/// Bytes of an entry.
const ENTRY_BYTES: usize = 12;
/// Bytes of a page of the index.
pub(crate) const PAGE_BYTES: usize = 4096;
/// Entries in a page, before its checksum.
pub(crate) const ENTRIES: u32 = ((PAGE_BYTES - SPARE_BYTES) / ENTRY_BYTES) as u32;
const LEVEL_SHIFT: u32 = 29;
/// The level of a list that is longer than a chunk.
const SUPER: u32 = 4;
/// Levels of chunks.
pub(crate) const LEVELS: usize = 4;

/// How many neighbors a vertex has, and where they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) degree: u32,
    words: [u32; 2],
}

/// Where neighbors are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In the entry.
    Mini([u32; 2]),
    /// In a chunk of this level.
    Chunk { level: usize, chunk: u32, offset: usize },
    /// In pieces of their own, from this one on.
    Super(u32),
}

impl Entry {
    /// The entry of a vertex without neighbors.
    pub(crate) const NONE: Self = Self { degree: 0, words: [0; 2] };

    /// Returns how many neighbors an entry itself may hold.
    pub(crate) fn mini_max(weighted: bool) -> u32 {
        if weighted { 1 } else { 2 }
    }

    /// Returns the entry of a few neighbors.
    pub(crate) fn mini(ids: &[VertexId], weights: &[f32]) -> Self {
        let first = ids.first().copied().unwrap_or(0);
        let second = weights.first().map(|weight| weight.to_bits()).or(ids.get(1).copied());
        Self { degree: ids.len() as u32, words: [first, second.unwrap_or(0)] }
    }

    /// Returns the entry of a list in a chunk.
    pub(crate) fn in_chunk(degree: u32, level: usize, chunk: u32, offset: usize) -> Self {
        Self { degree, words: [chunk, (level as u32) << LEVEL_SHIFT | offset as u32] }
    }

    /// Returns the entry of a list in pieces of its own.
    pub(crate) fn in_pieces(degree: u32, first: u32) -> Self {
        Self { degree, words: [first, SUPER << LEVEL_SHIFT] }
    }

    /// Moves a list in its chunk.
    pub(crate) fn shift(&mut self, bytes: u32) {
        self.words[1] += bytes;
    }

    /// Returns where the neighbors are.
    #[inline]
    pub(crate) fn place(self, mini_max: u32) -> Place {
        let [first, second] = self.words;
        if self.degree <= mini_max {
            return Place::Mini(self.words);
        }
        match second >> LEVEL_SHIFT {
            level if level < LEVELS as u32 => Place::Chunk {
                level: level as usize,
                chunk: first,
                offset: (second & ((1 << LEVEL_SHIFT) - 1)) as usize,
            },
            _ => Place::Super(first),
        }
    }

    /// Returns the entry at a place of a page.
    #[inline]
    pub(crate) fn read(page: &[u8], at: u32) -> Self {
        let start = at as usize * ENTRY_BYTES;
        let entry = page.get(start..).and_then(|rest| rest.first_chunk::<ENTRY_BYTES>());
        let Some(entry) = entry else { return Self::NONE };
        let (words, _) = entry.as_chunks::<4>();
        let [degree, first, second] = [words[0], words[1], words[2]].map(u32::from_le_bytes);
        Self { degree, words: [first, second] }
    }

    /// Appends the entry to a page.
    pub(crate) fn write(self, page: &mut Vec<u8>) {
        for word in [self.degree, self.words[0], self.words[1]] {
            page.extend(word.to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_says_what_it_was_made_of() {
        let entries = [
            (Entry::mini(&[], &[]), false, Place::Mini([0, 0])),
            (Entry::mini(&[5, 9], &[]), false, Place::Mini([5, 9])),
            (Entry::mini(&[5], &[1.5]), true, Place::Mini([5, 1.5_f32.to_bits()])),
            (
                Entry::in_chunk(3, 2, 77, 262_143),
                false,
                Place::Chunk { level: 2, chunk: 77, offset: 262_143 },
            ),
            (Entry::in_pieces(500_000, u32::MAX), true, Place::Super(u32::MAX)),
        ];
        let mut page = Vec::new();
        entries.iter().for_each(|(entry, ..)| entry.write(&mut page));
        for (at, (entry, weighted, place)) in (0..).zip(entries) {
            assert_eq!(Entry::read(&page, at), entry);
            assert_eq!(entry.place(Entry::mini_max(weighted)), place);
        }
        assert_eq!(Entry::read(&page, 100), Entry::NONE);
    }
}
