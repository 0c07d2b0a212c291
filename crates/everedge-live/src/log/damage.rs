//! A log of which some was durable and cannot be read: what proves that, and what is read all the same.
//!
//! Each record says which updates were durable when it was appended. So a whole record proves that those
//! before it were whole once. Between the last record that can be read and the next there is a [`Gap`].
//!
//! # Invariants
//! - D1: a handle that found damage writes nothing to the graph: bytes that cannot be read now may be
//!   whole another time, and what counts on them would be wrong then.

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use everedge_core::{MAX_VERTEX_ID, par};

use super::anchor::{Anchor, RING_OFFSET, ring_ranges};
use super::record::{Header, LINE_BYTES, LINE_WORDS, may_be_header};
use super::recovery::FoundRecord;
use super::stores::Place;
use super::{Boundary, EdgeLog, Record, SEQUENCE_MAX, State};
use crate::{Error, Result};
use everedge_medium::Access;

/// So much of the rest of the ring is looked through by one thread at a time.
const LOOKED_AT_WORDS: usize = 1 << 20;
/// So much damage is named at most.
const DAMAGE_MAX: usize = 1000;
/// An update takes so many bytes at least.
const UPDATE_BYTES: u64 = 8;

/// What whole records prove.
#[derive(Clone, Copy, Default)]
pub(super) struct Proof {
    /// All updates before this one were durable,
    durable_sequence: u64,
    /// as the record at this position says,
    position: u64,
    /// whose first update this is.
    sequence: u64,
    /// The latest generation of a record.
    generation: u32,
}

impl Proof {
    #[inline]
    pub(super) fn add(&mut self, header: &Header, position: u64) {
        let Header { durable_sequence, sequence, generation, .. } = *header;
        self.join(&Self { durable_sequence, position, sequence, generation });
    }

    #[inline]
    pub(super) fn join(&mut self, other: &Self) {
        let generation = self.generation.max(other.generation);
        if (self.durable_sequence, self.position) <= (other.durable_sequence, other.position) {
            *self = *other;
        }
        self.generation = generation;
    }

    /// Returns itself if it says that the update `sequence` was durable.
    pub(super) fn of(&self, sequence: u64) -> Option<&Self> {
        (self.durable_sequence > sequence).then_some(self)
    }
}

/// Where nothing can be read before a record that counts.
pub(super) struct Gap {
    pub(super) positions: Range<u64>,
    sequences: Range<u64>,
    /// Whether the record after it is a line of a window: then a gap of lines, each of which may be one
    /// that nobody has finished.
    pub(super) is_of_lines: bool,
    /// The header of the record after it.
    pub(super) next: Header,
    /// Lines that their writers' next ones prove.
    proven: Vec<u64>,
}

impl Gap {
    pub(super) fn before(found: &FoundRecord, boundary: &Boundary, is_of_lines: bool) -> Self {
        Self {
            positions: boundary.position..found.position,
            sequences: boundary.sequence..found.header.sequence,
            is_of_lines,
            next: found.header,
            proven: Vec::new(),
        }
    }

    pub(super) fn update_count(&self) -> u64 {
        self.sequences.end - self.sequences.start
    }

    /// Returns the sequence number of a line.
    pub(super) fn sequence_at(&self, position: u64) -> u64 {
        self.sequences.start + (position - self.positions.start) / LINE_BYTES
    }

    /// Returns what stands for it among the records.
    pub(super) fn records(&self) -> impl Iterator<Item = Record> {
        let starts = self.sequences.clone().step_by(u32::MAX as usize);
        starts.map(|start| {
            let count = (self.sequences.end - start).min(u32::MAX.into()) as u32;
            Record::unreadable(self.positions.clone(), start, count, self.next.generation)
        })
    }

    /// Returns the updates in it that were durable: of each stretch the place of the first and the number of
    /// the last.
    fn lost(&self, proof: &Proof) -> Vec<(Place, u64)> {
        let Range { start, end } = self.sequences;
        let durable_end = proof.of(start).map_or(start, |by| by.durable_sequence).min(end);
        if !self.is_of_lines {
            return vec![((self.positions.start, start), durable_end - 1)];
        }
        let mut lost: Vec<u64> = self.proven.iter().copied().chain(start..durable_end).collect();
        lost.sort_unstable();
        lost.dedup();
        let stretches = lost.chunk_by(|number, next| number + 1 == *next);
        let stretch = |stretch: &[u64]| {
            let (first, count) = (stretch[0], stretch.len() as u64);
            let position = self.positions.start + (first - start) * LINE_BYTES;
            ((position, first), first + count - 1)
        };
        stretches.map(stretch).collect()
    }
}

impl EdgeLog {
    /// Returns what was durable and cannot be read.
    pub fn damage(&self) -> Vec<Error> {
        self.damage.lock().iter().map(Error::again).collect()
    }

    /// Returns whether something was durable and cannot be read: nothing is written to the graph then.
    pub fn is_damaged(&self) -> bool {
        !self.damage.lock().is_empty()
    }

    /// Refuses to answer as if all that was durable could be read.
    ///
    /// # Errors
    /// The first damage.
    pub fn refuse_damage(&self) -> Result<()> {
        self.damage.lock().first().map_or(Ok(()), |first| Err(first.again()))
    }

    /// Checks that the log does not end too early: the file at `path` holds all updates before `sequence`.
    /// A handle for reading notes it as damage.
    ///
    /// # Errors
    /// `Corruption` if it does, for a handle that would write.
    pub fn check_end(&self, sequence: u64, path: &Path, access: Access) -> Result<()> {
        let state = self.lock();
        if sequence <= state.next_sequence {
            return Ok(());
        }
        let place = (state.head, state.next_sequence);
        let by = format!("the end, though `{}` holds update {}", path.display(), sequence - 1);
        let lost = self.lost(&state.anchor, place, sequence - 1, by);
        match access {
            Access::Write => Err(lost),
            Access::Read => {
                self.note_damage(lost);
                Ok(())
            }
        }
    }

    pub(super) fn note_damage(&self, error: Error) {
        let mut damage = self.damage.lock();
        if damage.len() < DAMAGE_MAX {
            damage.push(error);
        }
    }

    /// Notes what `proof` says that cannot be read.
    pub(super) fn note_lost(&self, state: &State, gaps: &[Gap], proof: &Proof) {
        let anchor = &state.anchor;
        if proof.generation > anchor.generation {
            let expected = format!("generation {} or a later one", proof.generation);
            let found = format!("generation {}", anchor.generation);
            self.note_damage(self.damaged(0, "the log's newest anchor".into(), expected, found));
        }
        let before = |update: u64| format!("damage before the whole record of update {update}");
        for gap in gaps {
            for (first, last) in gap.lost(proof) {
                self.note_damage(self.lost(anchor, first, last, before(gap.next.sequence)));
            }
        }
        if let Some(by) = proof.of(state.next_sequence) {
            let head = (state.head, state.next_sequence);
            self.note_damage(self.lost(anchor, head, by.durable_sequence - 1, before(by.sequence)));
        }
    }

    /// Notes which line a later one of its writer says to have been durable.
    pub(super) fn note_proven_line(&self, line: &FoundRecord, distance: u64, gaps: &mut [Gap]) {
        let position = line.position.saturating_sub(LINE_BYTES * distance);
        let after = gaps.partition_point(|gap| gap.positions.start <= position);
        if let Some(gap) = gaps[..after].last_mut().filter(|gap| position < gap.positions.end)
            && gap.is_of_lines
        {
            gap.proven.push(gap.sequence_at(position));
        }
    }

    /// Returns what whole records in the rest of the ring prove.
    ///
    /// # Errors
    /// `Corruption` if they overlap: nobody would come to the end of them.
    pub(super) fn proof_after(&self, anchor: &Anchor, head: u64) -> Result<Proof> {
        let ring_bytes = self.allocated().min(anchor.capacity) / 8 * 8;
        // Records do not overlap, but for one that the head has reached: more is not a log.
        let readable_bytes = AtomicI64::new(4 * ring_bytes as i64);
        let (mut proof, mut position) = (Proof::default(), head);
        for range in ring_ranges(anchor, head, anchor.tail + anchor.capacity) {
            // An anchor may lie about what the ring has.
            let end = range.end.min(RING_OFFSET + ring_bytes);
            if end <= range.start {
                position += range.end - range.start;
                continue;
            }
            let words = self.region.words(range.start, ((end - range.start) / 4) as usize);
            let parts = words.len().div_ceil(LOOKED_AT_WORDS);
            let proofs = par::map_ranges(parts as u32, 1, |part| {
                let first = part.start as usize * LOOKED_AT_WORDS;
                let part = &words[first..words.len().min(first + LOOKED_AT_WORDS)];
                let (start, lines) = (position + 4 * first as u64, part.chunks(LINE_WORDS));
                let mut proof = Proof::default();
                for (position, line) in (start..).step_by(LINE_BYTES as usize).zip(lines) {
                    if line.get(1).is_some_and(|second| may_be_header(second.load(Relaxed)))
                        && let Some(found) =
                            self.record_within(anchor, position, &readable_bytes)?
                    {
                        proof.add(&found.header, position);
                    }
                }
                Ok(proof)
            });
            for found in proofs {
                proof.join(&found?);
            }
            position += range.end - range.start;
        }
        Ok(proof)
    }

    /// Returns the record at `position` if it is whole; records together have `readable_bytes` at most.
    fn record_within(
        &self,
        anchor: &Anchor,
        position: u64,
        readable_bytes: &AtomicI64,
    ) -> Result<Option<FoundRecord>> {
        let Some(bytes) = self.framed_bytes(anchor, position) else { return Ok(None) };
        if readable_bytes.fetch_sub(bytes as i64, Relaxed) < bytes as i64 {
            return Err(self.damaged(
                self.offset(anchor, position),
                "log records".into(),
                "records that do not overlap".into(),
                "overlapping ones".into(),
            ));
        }
        Ok(self.record_at(anchor, position, anchor.capacity))
    }

    /// Returns the next record that counts if the one at `next`, which was durable, cannot be read.
    pub(super) fn record_after_damage(
        &self,
        anchor: &Anchor,
        next: &Boundary,
        proof: &Proof,
    ) -> Option<FoundRecord> {
        let last = proof.of(next.sequence)?.position;
        let positions = (next.position + LINE_BYTES..=last).step_by(LINE_BYTES as usize);
        let is_next = |found: &FoundRecord| {
            let gap_updates = found.header.sequence.checked_sub(next.sequence);
            let updates_max = (found.position - next.position) / UPDATE_BYTES;
            let is_possible =
                gap_updates.is_some_and(|updates| (1..=updates_max).contains(&updates));
            is_possible && found.header.generation >= next.generation
        };
        let end = anchor.tail + anchor.capacity;
        // Whatever is framed was looked at before, and is not too much.
        let framed = positions.filter(|&position| self.framed_bytes(anchor, position).is_some());
        let record = |position| self.record_at(anchor, position, end - position);
        framed.filter_map(record).find(is_next)
    }

    /// Returns what is wrong with a whole record that no writer leaves.
    pub(super) fn impossible(&self, anchor: &Anchor, record: &FoundRecord) -> Error {
        let (expected, found) = match record.is_possible {
            true => {
                let found = format!("updates up to number {}", record.end_sequence() - 1);
                (format!("numbers of updates below {SEQUENCE_MAX}"), found)
            }
            false => {
                let expected = format!("ids up to {MAX_VERTEX_ID} and finite weights");
                (expected, "another id or weight".into())
            }
        };
        let what = format!("log record of update {}", record.header.sequence);
        self.damaged(self.offset(anchor, record.position), what, expected, found)
    }

    /// Returns that updates from that of a place up to `last` were durable and cannot be read.
    fn lost(&self, anchor: &Anchor, (position, first): Place, last: u64, found: String) -> Error {
        let (what, expected) = match first == last {
            true => (format!("log record of update {first}, which was durable"), "a whole record"),
            false => {
                let what = format!("log records of updates {first} to {last}, which were durable");
                (what, "whole records")
            }
        };
        self.damaged(self.offset(anchor, position), what, expected.into(), found)
    }

    /// Returns where a position lies in the file.
    pub(super) fn offset(&self, anchor: &Anchor, position: u64) -> u64 {
        RING_OFFSET + (position - anchor.base) % anchor.capacity
    }

    pub(super) fn damaged(
        &self,
        offset: u64,
        what: String,
        expected: String,
        found: String,
    ) -> Error {
        Error::Corruption { path: self.region.path().to_owned(), offset, what, expected, found }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Appended;
    use super::super::record::HEADER_WORDS;
    use super::*;
    use crate::batch::Batch;
    use everedge_medium::{MediumKind, Region, Volume, VolumeOptions};

    const SALT: u32 = 7;
    /// Updates of each batch: records of one line and of several.
    const COUNTS: [u32; 5] = [3, 20, 1, 9, 2];

    fn edge(batch: usize, number: u32) -> (u32, u32) {
        (batch as u32, number)
    }

    fn append(log: &EdgeLog, batch: usize) -> u64 {
        log.begin_writing().unwrap();
        let edges = (0..COUNTS[batch]).map(|number| edge(batch, number));
        let weights: Vec<f32> = (0..COUNTS[batch]).map(|number| number as f32).collect();
        let batch = Batch::insertions(edges, Some(&weights)).unwrap();
        let Appended::At { position, .. } = log.append(&batch, false).unwrap() else {
            panic!("full")
        };
        log.make_durable(position).unwrap();
        position
    }

    /// Returns a log of all batches, and where their records end.
    fn log_of_batches() -> (Volume, Region, Vec<u64>) {
        let options = VolumeOptions::new(MediumKind::Dram);
        let volume = Volume::create("log".as_ref(), options).unwrap();
        let region = volume.create_region("log", RING_OFFSET).unwrap();
        let log = EdgeLog::create(region.clone(), 1 << 20, true, SALT).unwrap();
        let ends = (0..COUNTS.len()).map(|batch| append(&log, batch)).collect();
        (volume, region, ends)
    }

    fn flip(region: &Region, position: u64) {
        let offset = RING_OFFSET + position;
        let word = region.words(offset, 1)[0].load(Relaxed);
        region.store_words(offset, &[word ^ 4]);
    }

    /// Returns the edges that are read, and their weights.
    fn read(log: &EdgeLog) -> (Vec<(u32, u32)>, Vec<f32>) {
        let (mut edges, mut weights) = (Vec::new(), Vec::new());
        for record in log.take_records() {
            log.for_each_update(&record, 0..record.count, |_, u, v| edges.push((u, v)));
            log.for_each_weight(&record, 0..record.count, |bits| {
                weights.push(f32::from_bits(bits))
            });
        }
        (edges, weights)
    }

    fn expected(lost: &[usize]) -> (Vec<(u32, u32)>, Vec<f32>) {
        let batches = (0..COUNTS.len()).filter(|batch| !lost.contains(batch));
        let edges = batches.flat_map(|batch| (0..COUNTS[batch]).map(move |n| edge(batch, n)));
        edges.map(|(batch, number)| ((batch, number), number as f32)).unzip()
    }

    #[test]
    fn records_after_damaged_ones_are_read() {
        // The last one cannot be told from a torn one, and nothing says that the one before is whole.
        for lost in [&[0][..], &[1], &[2], &[0, 1], &[0, 2], &[1, 2], &[0, 1, 2], &[3], &[0, 3]] {
            // In the header, which says how long the record is, and in the last update.
            for is_in_header in [true, false] {
                let (_volume, region, ends) = log_of_batches();
                let place = |batch: usize| match batch {
                    0 => 0,
                    batch => ends[batch - 1],
                };
                let within = if is_in_header { 12 } else { 4 * HEADER_WORDS as u64 + 4 };
                lost.iter().for_each(|&batch| flip(&region, place(batch) + within));
                let before: Vec<u32> = copy(&region);
                let log = EdgeLog::open(region.clone(), true, SALT).unwrap();
                let damage = log.damage();
                let follow = lost.windows(2).filter(|pair| pair[0] + 1 == pair[1]).count();
                assert_eq!(damage.len(), lost.len() - follow, "{lost:?}: {damage:?}");
                let first: u32 = COUNTS[..lost[0]].iter().sum();
                let together = lost.windows(2).take_while(|pair| pair[0] + 1 == pair[1]).count();
                let last = COUNTS[..=lost[together]].iter().sum::<u32>() - 1;
                let update = match first == last {
                    true => format!("of update {first}, which"),
                    false => format!("of updates {first} to {last}, which"),
                };
                assert!(damage[0].to_string().contains(&update), "{lost:?}: {}", damage[0]);
                let (_, updates) = log.found();
                let read = read(&log);
                assert_eq!((read.0.len() as u64, &read), (updates, &expected(lost)), "{lost:?}");
                assert_eq!(log.next_sequence(), u64::from(COUNTS.iter().sum::<u32>()));
                assert!(copy(&region) == before, "{lost:?}: nothing is written");
                // Once it is whole again nothing is lost.
                drop(log);
                lost.iter().for_each(|&batch| flip(&region, place(batch) + within));
                let log = EdgeLog::open(region, true, SALT).unwrap();
                assert!(!log.is_damaged());
                assert_eq!(self::read(&log), expected(&[]));
            }
        }
    }

    #[test]
    fn a_log_that_ends_too_early_is_damaged() {
        let (_volume, region, ends) = log_of_batches();
        flip(&region, ends[3]);
        let log = EdgeLog::open(region, true, SALT).unwrap();
        let sequence = log.next_sequence();
        assert!(!log.is_damaged());
        let check = |end: u64, access| log.check_end(end, "arrays".as_ref(), access);
        check(sequence, Access::Read).unwrap();
        assert!(check(sequence + 2, Access::Write).is_err() && !log.is_damaged());
        check(sequence + 2, Access::Read).unwrap();
        let damage = log.damage()[0].to_string();
        let what = format!("updates {sequence} to {}", sequence + 1);
        assert!(damage.contains(&what) && damage.contains("arrays"), "{damage}");
    }

    fn copy(region: &Region) -> Vec<u32> {
        let words = region.words(0, (region.len() / 4) as usize);
        words.iter().map(|word| word.load(Relaxed)).collect()
    }
}
