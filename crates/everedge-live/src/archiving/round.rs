//! Rounds: the logged updates that are archived together.
//!
//! Source: XPGraph §3.4 (a phase takes what was logged since the last one). A larger round touches
//! each list once for more of its updates, and the lists of a shard while they are warm.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::Result;
use crate::batch::VERTEX;
use crate::log::{EdgeLog, Record};

/// Updates of a round at most.
const ROUND_UPDATES: u32 = 1 << 24;

/// A stretch of one record that belongs to a round.
#[derive(Clone, Copy)]
struct Segment<'a> {
    record: &'a Record,
    start: u32,
    end: u32,
    /// Where it begins in the round.
    offset: u32,
}

/// Consecutive updates of edges, 2^24 at most.
pub(super) struct Round<'a> {
    log: &'a EdgeLog,
    segments: Vec<Segment<'a>>,
}

/// What is archived at a time.
pub(super) enum Step<'a> {
    /// Updates of edges.
    Edges(Round<'a>),
    /// Updates of vertices themselves.
    Vertices {
        /// The record that they are in.
        record: &'a Record,
        /// The place of the first in it.
        start: u32,
        /// The place after the last.
        end: u32,
    },
}

/// Cuts the updates of `sequences` in `records` into steps and calls `take` on each in order.
pub(super) fn for_each_step(
    log: &EdgeLog,
    records: &[Record],
    sequences: Range<u64>,
    mut take: impl FnMut(Step) -> Result<()>,
) -> Result<()> {
    let mut round = Round { log, segments: Vec::new() };
    for record in records {
        let place = |sequence: u64| {
            sequence.saturating_sub(record.sequence).min(record.count.into()) as u32
        };
        let wanted = place(sequences.start)..place(sequences.end);
        for (start, end, is_of_vertices) in stretches(log, record) {
            let (start, end) = (start.max(wanted.start), end.min(wanted.end));
            if start >= end {
                continue;
            }
            if is_of_vertices {
                take(Step::Edges(round.replace()))?;
                take(Step::Vertices { record, start, end })?;
                continue;
            }
            let mut from = start;
            while from < end {
                from = round.add(record, from, end);
                if round.len() == ROUND_UPDATES {
                    take(Step::Edges(round.replace()))?;
                }
            }
        }
    }
    take(Step::Edges(round))
}

impl<'a> Round<'a> {
    /// Returns whether there are no updates.
    pub(super) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Returns the number of updates.
    pub(super) fn len(&self) -> u32 {
        self.segments.last().map_or(0, |last| last.offset + (last.end - last.start))
    }

    /// Returns the sequence number of the first update, of which there is one.
    pub(super) fn first_sequence(&self) -> u64 {
        self.segments.first().map_or(0, |first| first.record.sequence + u64::from(first.start))
    }

    /// Adds updates of `record` from `start` on, up to `end` if they fit. Returns how far it came.
    fn add(&mut self, record: &'a Record, start: u32, end: u32) -> u32 {
        let offset = self.len();
        let end = end.min(start + (ROUND_UPDATES - offset));
        self.segments.push(Segment { record, start, end, offset });
        end
    }

    fn replace(&mut self) -> Self {
        Self { log: self.log, segments: std::mem::take(&mut self.segments) }
    }

    /// Calls `f(place in the round, src, dst)` for what changes something in a range of the round; `src`
    /// carries the mark of a deletion.
    #[inline]
    pub(super) fn for_each_update(&self, range: Range<u32>, mut f: impl FnMut(u32, u32, u32)) {
        for (record, start, end, offset) in self.overlaps(range) {
            self.log.for_each_update(record, start..end, |place, src, dst| {
                f(offset + (place - start), src, dst);
            });
        }
    }

    /// Calls `f(place in the round, weight)`, the weight as bits, for a range of the round.
    pub(super) fn for_each_weight(&self, range: Range<u32>, mut f: impl FnMut(u32, u32)) {
        for (record, start, end, mut index) in self.overlaps(range) {
            self.log.for_each_weight(record, start..end, |weight| {
                f(index, weight);
                index += 1;
            });
        }
    }

    /// Returns the stretches of records that make up `range`, each with its place in the round.
    fn overlaps(
        &self,
        range: Range<u32>,
    ) -> impl Iterator<Item = (&'a Record, u32, u32, u32)> + '_ {
        self.segments.iter().filter_map(move |segment| {
            let from = range.start.max(segment.offset);
            let to = range.end.min(segment.offset + (segment.end - segment.start));
            let shift = |place: u32| segment.start + (place - segment.offset);
            (from < to).then(|| (segment.record, shift(from), shift(to), from))
        })
    }
}

/// Cuts a record into stretches of edge updates and of vertex updates: `(start, end, which)`.
fn stretches(log: &EdgeLog, record: &Record) -> Vec<(u32, u32, bool)> {
    if !record.has_vertex_updates {
        return vec![(0, record.count, false)];
    }
    let mut stretches: Vec<(u32, u32, bool)> = Vec::new();
    for (index, (_, dst)) in (0..).zip(pairs(log.updates(record, 0, record.count))) {
        let is_of_vertices = dst & VERTEX != 0;
        match stretches.last_mut() {
            Some(last) if last.2 == is_of_vertices => last.1 = index + 1,
            _ => stretches.push((index, index + 1, is_of_vertices)),
        }
    }
    stretches
}

/// Returns the two words of each update.
pub(super) fn pairs<'a>(parts: [&'a [AtomicU32]; 2]) -> impl Iterator<Item = (u32, u32)> + 'a {
    parts.into_iter().flat_map(|part| {
        part.chunks_exact(2).map(|pair| (pair[0].load(Relaxed), pair[1].load(Relaxed)))
    })
}
