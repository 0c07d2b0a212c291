//! Records of the log: one batch each, in whole cache lines.

use std::ops::Range;

use super::{Boundary, join, split};
use crate::batch::Batch;
use everedge_medium::crc32c_of_few;

/// The second word of a header, but for its lowest bit: no update has it in any word that can lie
/// there. As an id it is too large, with a mark it is not the one of a vertex, and as a weight it is
/// no number.
const HEADER_MARK: u32 = 0xffb7_c4e2;
const HAS_VERTEX_UPDATES: u32 = 1;
pub(super) const COMMIT_MAGIC: u32 = u32::from_le_bytes(*b"CMIT");
pub(super) const HEADER_WORDS: usize = 8;
pub(super) const COMMIT_WORDS: usize = 4;
/// No two records share a line, so that none is written back twice.
pub const LINE_BYTES: u64 = 64;
pub(super) const LINE_WORDS: usize = LINE_BYTES as usize / 4;
/// Words of a line between header and commit: an update, its weight, and a note.
pub(super) const BODY_WORDS: usize = LINE_WORDS - HEADER_WORDS - COMMIT_WORDS;
/// Where the note of a line is: see [`Note`].
pub(super) const NOTE: usize = HEADER_WORDS + BODY_WORDS - 1;
/// The note of a void line.
const VOID: u32 = u32::MAX;
/// The body of a line that changes nothing.
pub(super) const VOID_BODY: [u32; BODY_WORDS] = [0, 0, 0, VOID];
/// Lines that are written beside each other are so many at most.
pub(super) const WINDOW_LINES_MAX: u64 = 1 << 14;

/// Batches in the log: one, or some of one update each that follow each other, a line each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Where the first update lies.
    pub(super) position: u64,
    /// The sequence number of the first update.
    pub sequence: u64,
    /// How many updates there are.
    pub count: u32,
    pub(super) shape: Shape,
    /// The number of the open that wrote it.
    pub(super) generation: u32,
    /// Whether some of them are of vertices, not of edges.
    pub has_vertex_updates: bool,
}

/// What a record is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// One batch.
    Batch,
    /// Lines, each of them a batch.
    Lines,
    /// Nothing that can be read, up to where it ends: its updates change nothing.
    Unreadable { end: u64 },
}

impl Record {
    /// Returns the record of the batch that begins at `start`.
    pub(super) fn of_batch(start: u64, header: &Header) -> Self {
        let Header { generation, count, has_vertex_updates, sequence, .. } = *header;
        let position = start + 4 * HEADER_WORDS as u64;
        let shape = if count == 1 && !has_vertex_updates { Shape::Lines } else { Shape::Batch };
        Self { position, sequence, count, shape, generation, has_vertex_updates }
    }

    /// Returns the record of batches of one update of an edge each, the first of which begins at
    /// `start`.
    pub(super) fn of_lines(start: u64, sequence: u64, count: u32, generation: u32) -> Self {
        let position = start + 4 * HEADER_WORDS as u64;
        let (shape, has_vertex_updates) = (Shape::Lines, false);
        Self { position, sequence, count, shape, generation, has_vertex_updates }
    }

    /// Returns the record of updates, from `sequence` on, of which nothing can be read.
    pub(super) fn unreadable(
        range: Range<u64>,
        sequence: u64,
        count: u32,
        generation: u32,
    ) -> Self {
        let (position, shape) =
            (range.start + 4 * HEADER_WORDS as u64, Shape::Unreadable { end: range.end });
        Self { position, sequence, count, shape, generation, has_vertex_updates: false }
    }

    pub(super) fn is_of_lines(&self) -> bool {
        self.shape == Shape::Lines
    }

    /// Returns how many batches of it can be read.
    pub(super) fn batch_count(&self) -> u64 {
        match self.shape {
            Shape::Batch => 1,
            Shape::Lines => self.count.into(),
            Shape::Unreadable { .. } => 0,
        }
    }

    /// Returns the sequence number after its last update.
    pub(super) fn end_sequence(&self) -> u64 {
        self.sequence + u64::from(self.count)
    }

    /// Returns where its first batch begins.
    pub(super) fn start(&self) -> u64 {
        self.position - 4 * HEADER_WORDS as u64
    }

    /// Returns where its last batch ends.
    pub(super) fn end(&self, weighted: bool) -> u64 {
        match self.shape {
            Shape::Batch => self.start() + record_bytes(self.count.into(), weighted),
            Shape::Lines => self.start() + LINE_BYTES * u64::from(self.count),
            Shape::Unreadable { end } => end,
        }
    }

    /// Joins `next`, which follows, if both are of single lines. Returns whether it did.
    pub(super) fn join(&mut self, next: &Record) -> bool {
        let Record { position, generation, count, .. } = *next;
        let follows = position == self.position + LINE_BYTES * u64::from(self.count);
        let joins = self.is_of_lines()
            && next.is_of_lines()
            && follows
            && self.generation == generation
            && self.count < u32::MAX - count;
        self.count += if joins { count } else { 0 };
        joins
    }

    /// Cuts it before the batch that begins at `position` or after it. Returns what was before.
    pub(super) fn split_before(&mut self, position: u64) -> Option<Record> {
        if !self.is_of_lines() {
            return None;
        }
        let count = position.saturating_sub(self.start()).div_ceil(LINE_BYTES);
        let count = count.min(self.count.into()) as u32;
        let before = Record { count, ..*self };
        self.position += LINE_BYTES * u64::from(count);
        self.sequence += u64::from(count);
        self.count -= count;
        (count > 0).then_some(before)
    }
}

/// Returns what lies between the updates of a batch and the end of its record: weights, then zeros.
pub(super) fn encode_weights(batch: &Batch) -> Vec<u32> {
    let bytes = record_bytes(batch.len() as u64, batch.is_weighted());
    let len = (bytes / 4) as usize - HEADER_WORDS - batch.updates().len() - COMMIT_WORDS;
    let mut words = Vec::with_capacity(len);
    words.extend(batch.weights().iter().map(|weight| weight.to_bits()));
    words.resize(len, 0);
    words
}

/// What stands before the updates of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) generation: u32,
    pub(super) count: u32,
    pub(super) has_vertex_updates: bool,
    pub(super) sequence: u64,
    /// All updates before this one were durable when the batch was appended.
    pub(super) durable_sequence: u64,
}

impl Header {
    /// Returns the words of the header of the record that begins at `position`.
    #[inline]
    pub(super) fn encode(&self, salt: u32, position: u64) -> [u32; HEADER_WORDS] {
        bytemuck::cast(self.encode_pairs(salt, position))
    }

    /// As [`encode`](Self::encode), two words each: a checksum goes over them eight bytes at a time where
    /// they begin at such a place, and fewer stores wait for a fence before them.
    #[inline]
    pub(super) fn encode_pairs(&self, salt: u32, position: u64) -> [u64; HEADER_WORDS / 2] {
        let Self { generation, count, has_vertex_updates, sequence, durable_sequence } = *self;
        let mark = HEADER_MARK | if has_vertex_updates { HAS_VERTEX_UPDATES } else { 0 };
        let ([s0, s1], [d0, d1]) = (split(sequence), split(durable_sequence));
        // The check stands for magic and position: of a batch that says what is a header elsewhere,
        // nothing is one here.
        let covered = [position, join(mark, generation), join(count, s0), join(s1, d0), d1.into()];
        let covered: &[u8] = bytemuck::cast_slice(&covered);
        let check = crc32c_of_few(salt, &covered[..4 * (HEADER_WORDS + 1)]);
        [join(check, mark), join(generation, count), sequence, durable_sequence]
    }

    /// Whether the record that it is of may be the first after `boundary`.
    pub(super) fn follows(&self, boundary: &Boundary) -> bool {
        self.sequence == boundary.sequence && self.generation >= boundary.generation
    }

    /// Reads words that may be the header of a record that begins at `position`, if `matches` them
    /// and what they were to be then.
    pub(super) fn decode_if(
        words: &[u32; HEADER_WORDS],
        (salt, position): (u32, u64),
        matches: impl Fn(&[u32; HEADER_WORDS], &[u32; HEADER_WORDS]) -> bool,
    ) -> Option<Header> {
        let [_, mark, generation, count, s0, s1, d0, d1] = *words;
        let (sequence, durable_sequence) = (join(s0, s1), join(d0, d1));
        let has_vertex_updates = mark & HAS_VERTEX_UPDATES != 0;
        let header = Header { generation, count, has_vertex_updates, sequence, durable_sequence };
        matches(&header.encode(salt, position), words).then_some(header)
    }

    /// The same by a comparison.
    #[cfg(test)]
    pub(super) fn decode(words: &[u32; HEADER_WORDS], salt: u32, position: u64) -> Option<Header> {
        Self::decode_if(words, (salt, position), |expected, found| expected == found)
    }
}

/// What the record of one update is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Note {
    /// A batch, which was appended after all that lies before it. Its note is zero.
    Batch,
    /// A line of a window, which was written beside others.
    Line {
        /// The distance in lines from its writer's last line, which was durable then; zero if it has none in
        /// this window. The note is one more.
        distance: u64,
    },
    /// A line that changes nothing.
    Void,
}

impl Note {
    pub(super) fn of(word: u32) -> Self {
        match word {
            0 => Self::Batch,
            VOID => Self::Void,
            word => Self::Line { distance: u64::from(word) - 1 },
        }
    }
}

/// Returns whether a line may begin with a header, at one look.
pub(super) fn may_be_header(second_word: u32) -> bool {
    second_word & !HAS_VERTEX_UPDATES == HEADER_MARK
}

/// The commit's checksum covers body, header and end, in this order, so that the body's part can
/// be computed before the record has a sequence number.
pub(super) fn encode_commit(
    body_crc: u32,
    header: &[u32],
    end_sequence: u64,
) -> [u32; COMMIT_WORDS] {
    let [e0, e1] = split(end_sequence);
    let crc = crc32c::crc32c_append(body_crc, bytemuck::cast_slice(header));
    let crc = crc32c::crc32c_append(crc, bytemuck::cast_slice(&[e0, e1]));
    [COMMIT_MAGIC, crc, e0, e1]
}

/// Returns the bytes of the record of one batch.
pub(super) fn record_bytes(update_count: u64, weighted: bool) -> u64 {
    let body_words = update_count * if weighted { 3 } else { 2 };
    let bytes = 4 * (HEADER_WORDS + COMMIT_WORDS) as u64 + 4 * body_words;
    bytes.next_multiple_of(LINE_BYTES)
}

// A batch of one update takes one line, with a weight or without.
const _: () = assert!(4 * (HEADER_WORDS + COMMIT_WORDS + 3) as u64 <= LINE_BYTES);
