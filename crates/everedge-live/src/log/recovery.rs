//! Opening a log: which records are whole, and whether damage hides others.

use std::sync::atomic::{AtomicI64, AtomicU32, Ordering::Relaxed};

use everedge_core::par;

use super::anchor::{Anchor, RING_OFFSET, ring_ranges};
use super::record::{
    COMMIT_MAGIC, COMMIT_WORDS, HEADER_WORDS, LINE_BYTES, LINE_WORDS, RECORD_MAGIC, encode_commit,
    record_bytes,
};
use super::{Boundary, EdgeLog, Progress, Record, State, crc_of_shared, join};
use crate::{Error, Result};
use everedge_medium::Site;

/// So much of the log is checked at a time, by threads that take so many records each.
const CHECKED_BYTES: u64 = 64 << 20;
const CHECKED_RECORDS: usize = 8;
/// So much of the rest of the ring is looked through by one thread at a time.
const LOOKED_AT_WORDS: usize = 1 << 20;

impl EdgeLog {
    /// Reads records from `first` on to the first that is not whole.
    pub(super) fn find_records(&self, first: Progress) -> Result<()> {
        let mut state = self.lock();
        let anchor = state.anchor;
        let mut generation = first.generation;
        state.head = first.position;
        state.next_sequence = first.sequence;
        state.first_untaken = first.sequence;
        let end = anchor.tail + anchor.capacity;
        let mut records = self.whole_records(&anchor, state.head, end);
        'records: while !records.is_empty() {
            for found in records {
                self.refuse_later(&anchor, &state, &found)?;
                if found.sequence != state.next_sequence || found.generation < generation {
                    break 'records;
                }
                generation = found.generation;
                state.note(found.record());
                state.head = found.end;
                state.next_sequence += u64::from(found.count);
            }
            records = self.whole_records(&anchor, state.head, end);
        }
        self.refuse_lost_records(&anchor, &state)?;
        self.durable.raise(state.head, state.next_sequence);
        Ok(())
    }

    /// Whether the record before `progress` is there, so that this is not an older or another log.
    pub(super) fn leads_to(&self, anchor: &Anchor, progress: &Progress) -> bool {
        let Progress { position, sequence, .. } = *progress;
        let is_inside = (anchor.tail..=anchor.tail + anchor.capacity).contains(&position)
            && progress.generation <= anchor.generation
            && progress.next_sequence >= sequence;
        is_inside
            && match self.commit_before(anchor, position) {
                None => position == anchor.tail && sequence == anchor.tail_sequence,
                Some([magic, crc, e0, e1]) => {
                    magic == COMMIT_MAGIC && crc == progress.commit && join(e0, e1) == sequence
                }
            }
    }

    /// Returns the end of the record that ends at `position`, if that is after the tail.
    pub(super) fn commit_before(
        &self,
        anchor: &Anchor,
        position: u64,
    ) -> Option<[u32; COMMIT_WORDS]> {
        let bytes = 4 * COMMIT_WORDS as u64;
        let start = position.checked_sub(bytes).filter(|&start| start >= anchor.tail)?;
        self.read_array(anchor, start, bytes)
    }

    /// Returns the records from the tail to `end`, whose frames are looked at only, if they reach
    /// it.
    pub fn records_before(&self, end: u64) -> Option<Vec<Record>> {
        let state = self.lock();
        let anchor = state.anchor;
        let (mut position, mut sequence) = (anchor.tail, anchor.tail_sequence);
        let mut records: Vec<Record> = Vec::new();
        while position < end {
            let (header, _) = self.frame_at(&anchor, position, end - position)?;
            let found = FoundRecord::decode(&header, position, self.weighted)?;
            if found.sequence != sequence {
                return None;
            }
            let record = found.record();
            if !records.last_mut().is_some_and(|last| last.join(&record)) {
                records.push(record);
            }
            (position, sequence) = (found.end, found.end_sequence());
        }
        Some(records)
    }

    /// Returns the last boundary of records, from the tail on, at which no update is `sequence` or
    /// later; `end` is one with a later update.
    pub(super) fn boundary_before(
        &self,
        anchor: &Anchor,
        sequence: u64,
        end: Boundary,
    ) -> Result<Boundary> {
        let (mut position, mut next) = (anchor.tail, anchor.tail_sequence);
        while position < end.position {
            let header = self.read_array(anchor, position, end.position - position);
            let found = header.and_then(|h| FoundRecord::decode(&h, position, self.weighted));
            let found = found.filter(|found| found.sequence == next && found.end <= end.position);
            let Some(found) = found else {
                let offset = RING_OFFSET + (position - anchor.base) % anchor.capacity;
                let what = format!("log record of update {next}");
                let found = "one that has changed since it was read".into();
                return Err(self.damage(offset, what, "its header".into(), found));
            };
            if found.end_sequence() > sequence {
                return Ok(Boundary { position, sequence: next, generation: found.generation });
            }
            (position, next) = (found.end, found.end_sequence());
        }
        Ok(end)
    }

    /// Looks in the rest of the ring for a whole record that was appended after the end was
    /// durable.
    fn refuse_lost_records(&self, anchor: &Anchor, state: &State) -> Result<()> {
        let ring_bytes = self.allocated().min(anchor.capacity) / 8 * 8;
        // Records do not overlap, but for one that the head has reached: more is not a log.
        let readable_bytes = AtomicI64::new(4 * ring_bytes as i64);
        let mut position = state.head;
        for range in ring_ranges(anchor, state.head, anchor.tail + anchor.capacity) {
            let end = range.end.min(RING_OFFSET + ring_bytes).max(range.start);
            let words = self.region.words(range.start, ((end - range.start) / 4) as usize);
            let parts = words.len().div_ceil(LOOKED_AT_WORDS);
            let outcomes = par::map_ranges(parts as u32, 1, |part| {
                let first = part.start as usize * LOOKED_AT_WORDS;
                let part = &words[first..words.len().min(first + LOOKED_AT_WORDS)];
                let (start, lines) = (position + 4 * first as u64, part.chunks(LINE_WORDS));
                (start..).step_by(LINE_BYTES as usize).zip(lines).try_for_each(
                    |(position, line)| match line[0].load(Relaxed) {
                        RECORD_MAGIC => self.refuse_lost(anchor, state, position, &readable_bytes),
                        _ => Ok(()),
                    },
                )
            });
            outcomes.into_iter().collect::<Result<()>>()?;
            position += range.end - range.start;
        }
        Ok(())
    }

    /// Looks at what begins like a record, of which there can be `readable_bytes`.
    fn refuse_lost(
        &self,
        anchor: &Anchor,
        state: &State,
        position: u64,
        readable_bytes: &AtomicI64,
    ) -> Result<()> {
        let Some(bytes) = self.framed_bytes(anchor, position) else { return Ok(()) };
        if readable_bytes.fetch_sub(bytes as i64, Relaxed) < bytes as i64 {
            return Err(self.damage(
                RING_OFFSET + (position - anchor.base) % anchor.capacity,
                "log records".into(),
                "records that do not overlap".into(),
                "overlapping ones".into(),
            ));
        }
        match self.record_at(anchor, position, anchor.capacity) {
            Some(later) => self.refuse_later(anchor, state, &later),
            None => Ok(()),
        }
    }

    /// Refuses a whole record that proves that there was more than was found.
    fn refuse_later(&self, anchor: &Anchor, state: &State, later: &FoundRecord) -> Result<()> {
        let next = state.next_sequence;
        if later.generation > anchor.generation {
            let expected = format!("generation {} or a later one", later.generation);
            let found = format!("generation {}", anchor.generation);
            return Err(self.damage(0, "the log's newest anchor".into(), expected, found));
        }
        if later.durable_sequence > next {
            let offset = RING_OFFSET + (state.head - anchor.base) % anchor.capacity;
            let what = format!("log record of update {next}, which was durable");
            let found = format!("damage before the whole record of update {}", later.sequence);
            return Err(self.damage(offset, what, "a whole record".into(), found));
        }
        Ok(())
    }

    pub(super) fn damage(
        &self,
        offset: u64,
        what: String,
        expected: String,
        found: String,
    ) -> Error {
        Error::Corruption { path: self.region.path().to_owned(), offset, what, expected, found }
    }

    /// Returns how long the record at `position` is, if its header and its end belong together.
    fn framed_bytes(&self, anchor: &Anchor, position: u64) -> Option<u64> {
        let (header, commit) = self.frame_at(anchor, position, anchor.capacity)?;
        let found = FoundRecord::decode(&header, position, self.weighted)?;
        let [c0, _, c2, c3] = encode_commit(0, &header, found.end_sequence());
        ((commit[0], commit[2], commit[3]) == (c0, c2, c3)).then_some(found.end - position)
    }

    /// Returns the first words and the last words of what may be a record.
    fn frame_at(
        &self,
        anchor: &Anchor,
        position: u64,
        available: u64,
    ) -> Option<([u32; HEADER_WORDS], [u32; COMMIT_WORDS])> {
        let header = self.read_array(anchor, position, available)?;
        let found = FoundRecord::decode(&header, position, self.weighted)?;
        if found.end - position > available {
            return None;
        }
        let commit = self.read_array(anchor, found.end - 4 * COMMIT_WORDS as u64, available)?;
        Some((header, commit))
    }

    /// Returns some records from `position` on, one after the other, up to the first that is not
    /// whole; their checksums are computed on all threads.
    fn whole_records(&self, anchor: &Anchor, position: u64, end: u64) -> Vec<FoundRecord> {
        let (mut positions, mut next) = (Vec::new(), position);
        while next - position < CHECKED_BYTES
            && let Some((header, _)) = self.frame_at(anchor, next, end - next)
            && let Some(found) = FoundRecord::decode(&header, next, self.weighted)
        {
            positions.push(next);
            next = found.end;
        }
        let read = |position: &u64| self.record_at(anchor, *position, end - position);
        let read_all = |positions: &[u64]| positions.iter().map(read).collect::<Vec<_>>();
        let found = par::map_chunks(&positions, CHECKED_RECORDS, read_all);
        found.into_iter().flatten().map_while(|found| found).collect()
    }

    /// Reads the record at `position`, if a whole one of at most `available` bytes is there.
    fn record_at(&self, anchor: &Anchor, position: u64, available: u64) -> Option<FoundRecord> {
        let (header, commit) = self.frame_at(anchor, position, available)?;
        let found = FoundRecord::decode(&header, position, self.weighted)?;
        let commit_position = found.end - 4 * COMMIT_WORDS as u64;
        if !self.is_readable(anchor, found.body_position, commit_position) {
            return None;
        }
        let mut crc = self.salt;
        for part in self.words_in(anchor, found.body_position, commit_position) {
            crc = crc_of_shared(crc, part);
        }
        let expected = encode_commit(crc, &header, found.end_sequence());
        let same_frame =
            (commit[0], commit[2], commit[3]) == (expected[0], expected[2], expected[3]);
        (same_frame && self.region.checksum_matches(Site::LogRecord, commit[1], expected[1]))
            .then_some(found)
    }

    fn read_array<const N: usize>(
        &self,
        anchor: &Anchor,
        position: u64,
        available: u64,
    ) -> Option<[u32; N]> {
        let end = position + 4 * N as u64;
        if 4 * N as u64 > available || !self.is_readable(anchor, position, end) {
            return None;
        }
        let mut words = [0; N];
        let parts = self.words_in(anchor, position, end);
        for (word, shared) in words.iter_mut().zip(parts.into_iter().flatten()) {
            *word = shared.load(Relaxed);
        }
        Some(words)
    }

    /// Whether the ring's file already reaches over all of `from..to`.
    fn is_readable(&self, anchor: &Anchor, from: u64, to: u64) -> bool {
        ring_ranges(anchor, from, to).all(|range| range.end <= self.region.len())
    }

    fn words_in(&self, anchor: &Anchor, from: u64, to: u64) -> Vec<&[AtomicU32]> {
        ring_ranges(anchor, from, to)
            .map(|range| self.region.words(range.start, ((range.end - range.start) / 4) as usize))
            .collect()
    }
}

/// A record whose header looks right.
struct FoundRecord {
    generation: u32,
    count: u32,
    has_vertex_updates: bool,
    sequence: u64,
    durable_sequence: u64,
    body_position: u64,
    end: u64,
}

impl FoundRecord {
    fn decode(header: &[u32; HEADER_WORDS], position: u64, weighted: bool) -> Option<Self> {
        let [magic, generation, count, flags, s0, s1, d0, d1] = *header;
        let found = Self {
            generation,
            count,
            has_vertex_updates: flags != 0,
            sequence: join(s0, s1),
            durable_sequence: join(d0, d1),
            body_position: position + 4 * HEADER_WORDS as u64,
            end: position + record_bytes(u64::from(count), weighted),
        };
        (magic == RECORD_MAGIC && found.sequence.checked_add(count.into()).is_some())
            .then_some(found)
    }

    /// The sequence number after its last update.
    fn end_sequence(&self) -> u64 {
        self.sequence + u64::from(self.count)
    }

    fn record(&self) -> Record {
        let Self { body_position, sequence, count, generation, has_vertex_updates, .. } = *self;
        Record::new(body_position, sequence, count, generation, has_vertex_updates)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Appended, Checkpoint};
    use super::*;
    use crate::batch::Batch;
    use everedge_medium::{MediumKind, Region, Volume, VolumeOptions};

    const SALT: u32 = 7;

    fn new_region() -> (Volume, Region) {
        let options = VolumeOptions::new(MediumKind::Dram);
        let volume = Volume::create("log".as_ref(), options).unwrap();
        let region = volume.create_region("log", RING_OFFSET).unwrap();
        (volume, region)
    }

    fn append(log: &EdgeLog, edges: &[(u32, u32)]) {
        log.begin_writing().unwrap();
        let batch = Batch::insertions(edges.iter().copied(), None).unwrap();
        let Appended::At { position, .. } = log.append(&batch, false).unwrap() else {
            panic!("full")
        };
        log.make_durable(position).unwrap();
    }

    fn damage(region: &Region, offset: u64) {
        let word = region.words(offset, 1)[0].load(Relaxed);
        region.store_words(offset, &[word ^ 1]);
    }

    fn sequences(log: &EdgeLog) -> Vec<u64> {
        log.take_records().iter().map(|record| record.sequence).collect()
    }

    #[test]
    fn a_dropped_record_stays_dropped_when_its_place_comes_after_the_tail() {
        let (_volume, region) = new_region();
        let log = EdgeLog::create(region.clone(), 4096, false, SALT).unwrap();
        append(&log, &[(1, 1)]);
        append(&log, &[(2, 2)]);
        let first = Batch::insertions([(1, 1)].into_iter(), None).unwrap();
        // As if neither had been fenced: the first record is torn, the second is whole.
        damage(&region, RING_OFFSET + 32);
        let second = RING_OFFSET + record_bytes(first.len() as u64, first.is_weighted());
        region.store_words(second + 24, &[0, 0]);
        let whole = log.record_at(&log.state.lock().anchor, second - RING_OFFSET, 64);
        assert!(whole.is_none(), "the checksum covers what was known to be durable");
        let header: Vec<u32> = region.words(second, 8).iter().map(|w| w.load(Relaxed)).collect();
        let body_crc = crc32c::crc32c_append(SALT, bytemuck::cast_slice(&[2u32, 2]));
        region.store_words(second + 40, &encode_commit(body_crc, &header, 2));

        let log = EdgeLog::open(region.clone(), false, SALT).unwrap();
        assert_eq!(sequences(&log), []);
        append(&log, &[(3, 3)]);
        assert_eq!(sequences(&log), [0]);
        log.advance_tail(1, Checkpoint::default()).unwrap();
        let log = EdgeLog::open(region, false, SALT).unwrap();
        assert_eq!(sequences(&log), []);
    }

    #[test]
    fn the_tail_moves_to_a_boundary_and_what_was_taken_after_it_is_found_again() {
        let (_volume, region) = new_region();
        let log = EdgeLog::create(region.clone(), 4096, false, SALT).unwrap();
        for edges in [&[(1, 1)][..], &[(2, 2), (3, 3)], &[(4, 4)]] {
            append(&log, edges);
        }
        let log = EdgeLog::open(region.clone(), false, SALT).unwrap();
        append(&log, &[(5, 5), (6, 6)]);
        assert_eq!(sequences(&log), [0, 1, 3, 4]);
        // Updates 1 and 2 are one batch: it stays as long as one of them is wanted.
        for (freed, tail, found) in [(0, 0, &[0, 1, 3, 4][..]), (2, 1, &[1, 3, 4]), (4, 4, &[4])] {
            log.free_before(freed, Checkpoint { layout: [freed; 3] }).unwrap();
            assert_eq!(log.checkpoint(), (Checkpoint { layout: [freed; 3] }, tail));
            let again = EdgeLog::open(region.clone(), false, SALT).unwrap();
            assert_eq!((sequences(&again), again.next_sequence()), (found.to_vec(), 6));
            assert_eq!(again.checkpoint().1, tail);
        }
        append(&log, &[(7, 7)]);
        log.free_before(7, Checkpoint::default()).unwrap();
        let again = EdgeLog::open(region, false, SALT).unwrap();
        assert_eq!((sequences(&again), again.checkpoint().1), (vec![6], 6), "nobody had taken it");
    }

    #[test]
    fn a_damaged_anchor_hides_no_record() {
        let (_volume, region) = new_region();
        let log = EdgeLog::create(region.clone(), 1024, false, SALT).unwrap();
        append(&log, &[(1, 1)]);
        let log = EdgeLog::open(region.clone(), false, SALT).unwrap();
        append(&log, &[(2, 2)]);
        let newest = log.state.lock().anchor.range();
        damage(&region, newest.start + 16);
        let error = EdgeLog::open(region, false, SALT).err().expect("an error");
        assert!(error.to_string().contains("newest anchor"), "{error}");
    }

    #[test]
    fn a_cut_file_is_found() {
        let (_volume, region) = new_region();
        let log = EdgeLog::create(region.clone(), 4096, false, SALT).unwrap();
        append(&log, &[(1, 1)]);
        region.shrink(RING_OFFSET + 48).unwrap();
        let error = EdgeLog::open(region, false, SALT).err().expect("an error");
        assert!(matches!(error, Error::Corruption { offset: 8240, .. }), "{error}");
    }

    #[test]
    fn the_ring_grows_after_a_batch_of_any_size() {
        let (_volume, region) = new_region();
        let log = EdgeLog::create(region, 1 << 20, false, SALT).unwrap();
        // Half of these bytes are no multiple of 8.
        append(&log, &vec![(1, 1); (131_080 - 48) / 8]);
        append(&log, &[(2, 2)]);
        assert_eq!(log.untaken().0, 2);
    }

    #[test]
    fn a_log_without_room_is_refused() {
        let (_volume, region) = new_region();
        let error = EdgeLog::create(region, 0, false, SALT).err().expect("an error");
        assert!(matches!(error, Error::InvalidInput { .. }), "{error}");
    }
}
