//! Opening a log: which records are whole, and whether damage hides others.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_core::{MAX_VERTEX_ID, par};

use super::anchor::{Anchor, ring_ranges};
use super::damage::{Gap, Proof};
use super::line::encode_line;
use super::record::{
    COMMIT_WORDS, HEADER_WORDS, Header, LINE_BYTES, LINE_WORDS, NOTE, Note, VOID_BODY,
    WINDOW_LINES_MAX, encode_commit, may_be_header, record_bytes,
};
use super::{Boundary, EdgeLog, Record, SEQUENCE_MAX};
use crate::Result;
use crate::batch::VERTEX;
use everedge_medium::{Site, crc_of_shared};

/// So much of the log is checked at a time, by threads that take so many records each.
const CHECKED_BYTES: u64 = 64 << 20;
const CHECKED_RECORDS: usize = 8;

impl EdgeLog {
    /// Reads records from the tail on, up to the first that is not whole, after which no line of a window
    /// is, and which no later record says to have been durable. What was durable and cannot be read is
    /// noted, and passed over.
    pub(super) fn find_records(&self) -> Result<Found> {
        let mut state = self.lock();
        let anchor = state.anchor;
        let mut generation = anchor.tail_generation;
        let end = anchor.tail + anchor.capacity;
        let (mut unproven, mut gaps) = (VecDeque::new(), Vec::new());
        let (mut proof, mut rest) = (Proof::default(), None);
        let (mut void_count, mut unreadable_count) = (0, 0);
        loop {
            let next = Boundary { position: state.head, sequence: state.next_sequence, generation };
            // After damage, what is read ahead may be in vain.
            let checked_bytes = if gaps.is_empty() { CHECKED_BYTES } else { LINE_BYTES };
            let mut records = self.whole_records(&anchor, next, end, checked_bytes);
            if records.is_empty() {
                records.extend(self.line_after_hole(&anchor, next));
            }
            let is_of_lines = !records.is_empty();
            if records.is_empty() {
                let rest = match rest {
                    Some(ref rest) => rest,
                    None => rest.insert(self.proof_after(&anchor, state.head)?),
                };
                records.extend(self.record_after_damage(&anchor, &next, rest));
            }
            if records.is_empty() {
                break;
            }
            for found in records {
                let header = found.header;
                if found.end_sequence() > SEQUENCE_MAX {
                    return Err(self.impossible(&anchor, &found));
                }
                proof.add(&header, found.position);
                unproven.push_back((found.end_sequence(), state.head));
                if found.position > state.head {
                    let gap = Gap::before(&found, &next, is_of_lines);
                    unreadable_count += gap.update_count();
                    gap.records().for_each(|record| state.note(record));
                    gaps.push(gap);
                }
                let note = self.note_of(&anchor, &found);
                if let Note::Line { distance: distance @ 1.. } = note {
                    self.note_proven_line(&found, distance, &mut gaps);
                }
                let is_proven = |end: &mut (u64, u64)| end.0 <= header.durable_sequence;
                while unproven.pop_front_if(is_proven).is_some() {}
                generation = header.generation;
                if !found.is_possible {
                    unreadable_count += u64::from(header.count);
                    self.note_damage(self.impossible(&anchor, &found));
                } else if note == Note::Void {
                    void_count += 1;
                }
                state.note(found.record());
                state.head = found.end;
                state.next_sequence = found.end_sequence();
            }
        }
        proof.join(&rest.unwrap_or_default());
        self.note_lost(&state, &gaps, &proof);
        let batches: u64 = state.untaken_records().map(Record::batch_count).sum();
        let updates = state.untaken() - unreadable_count;
        state.found = (batches - void_count, updates - void_count);
        self.durable.raise(state.head, state.next_sequence);
        let unproven = unproven.front().map_or(state.head, |&(_, position)| position);
        Ok(Found { unproven, gaps })
    }

    /// Returns where some whole records end that follow each other, if the first follows on `next` or is a line of the
    /// same window.
    pub(super) fn next_whole(&self, anchor: &Anchor, next: Boundary, end: u64) -> Option<Boundary> {
        let mut records = self.whole_records(anchor, next, end, CHECKED_BYTES);
        if records.is_empty() {
            records.extend(self.line_after_hole(anchor, next));
        }
        records.last().map(|last| Boundary {
            position: last.end,
            sequence: last.end_sequence(),
            generation: last.header.generation,
        })
    }

    /// Returns the next whole line of a window after `next`, where no record counts, if one belongs to the
    /// same log.
    fn line_after_hole(&self, anchor: &Anchor, next: Boundary) -> Option<FoundRecord> {
        let end = anchor.tail + anchor.capacity;
        let last = (next.position + LINE_BYTES * WINDOW_LINES_MAX).min(end);
        // Where the file is too short for a piece, no place in the next one is that of a line there.
        let words = |range: Range<u64>| {
            let [start, end] = [range.start, range.end].map(|offset| offset.min(self.region.len()));
            self.region.words(start, ((end - start) / 4) as usize)
        };
        let pieces = ring_ranges(anchor, next.position, last);
        let lines = pieces.flat_map(|range| words(range).chunks_exact(LINE_WORDS));
        let positions = (next.position..).step_by(LINE_BYTES as usize).zip(next.sequence..);
        let mut places = positions.zip(lines).skip(1);
        places.find_map(|((position, sequence), words)| {
            if !may_be_header(words[1].load(Relaxed)) {
                return None;
            }
            let line = self.record_at(anchor, position, LINE_BYTES)?;
            let follows = line.header.follows(&Boundary { sequence, ..next });
            (follows && self.note_of(anchor, &line) != Note::Batch).then_some(line)
        })
    }

    /// Returns what a whole record is beside others.
    fn note_of(&self, anchor: &Anchor, record: &FoundRecord) -> Note {
        let Header { count, has_vertex_updates, .. } = record.header;
        let note = match count == 1 && !has_vertex_updates {
            true => self.read_array(anchor, record.position + 4 * NOTE as u64, LINE_BYTES),
            false => None,
        };
        note.map_or(Note::Batch, |[word]| Note::of(word))
    }

    /// Stores void lines where nothing is whole before a line, so that every later opening finds the same.
    pub(super) fn make_void(&self, anchor: &Anchor, gap: &Gap) {
        for position in gap.positions.clone().step_by(LINE_BYTES as usize) {
            let header = Header { sequence: gap.sequence_at(position), ..gap.next };
            let line = encode_line(self.salt, position, &header, VOID_BODY);
            self.store(anchor, position, bytemuck::cast_slice(&line));
        }
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
            let found = header.and_then(|header| self.decode(&header, position));
            let found =
                found.filter(|found| found.header.sequence == next && found.end <= end.position);
            let Some(found) = found else {
                let offset = self.offset(anchor, position);
                let what = format!("log record of update {next}");
                let found = "one that has changed since it was read".into();
                return Err(self.damaged(offset, what, "its header".into(), found));
            };
            if found.end_sequence() > sequence {
                let generation = found.header.generation;
                return Ok(Boundary { position, sequence: next, generation });
            }
            (position, next) = (found.end, found.end_sequence());
        }
        Ok(end)
    }

    /// Returns how long the record at `position` is, if its header and its end belong together.
    pub(super) fn framed_bytes(&self, anchor: &Anchor, position: u64) -> Option<u64> {
        let (header, commit) = self.frame_at(anchor, position, anchor.capacity)?;
        let found = self.decode(&header, position)?;
        let [c0, _, c2, c3] = encode_commit(0, &header, found.end_sequence());
        ((commit[0], commit[2], commit[3]) == (c0, c2, c3)).then_some(found.end - position)
    }

    /// Reads what may be the header of the record at `position`.
    fn decode(&self, words: &[u32; HEADER_WORDS], position: u64) -> Option<FoundRecord> {
        let matches =
            |expected: &_, found: &_| self.region.matches(Site::LogHeader, expected, found);
        let header = Header::decode_if(words, (self.salt, position), matches)?;
        header.sequence.checked_add(header.count.into())?;
        let end = position + record_bytes(u64::from(header.count), self.weighted);
        Some(FoundRecord { position, header, end, is_possible: true })
    }

    /// Returns the first words and the last words of what may be a record.
    fn frame_at(
        &self,
        anchor: &Anchor,
        position: u64,
        available: u64,
    ) -> Option<([u32; HEADER_WORDS], [u32; COMMIT_WORDS])> {
        let header = self.read_array(anchor, position, available)?;
        let found = self.decode(&header, position)?;
        if found.end - position > available {
            return None;
        }
        let commit = self.read_array(anchor, found.end - 4 * COMMIT_WORDS as u64, available)?;
        Some((header, commit))
    }

    /// Returns some records from `next` on that follow each other, up to the first that is not whole;
    /// their checksums are computed on all threads.
    fn whole_records(
        &self,
        anchor: &Anchor,
        mut next: Boundary,
        end: u64,
        checked_bytes: u64,
    ) -> Vec<FoundRecord> {
        let (mut positions, start) = (Vec::new(), next.position);
        while next.position - start < checked_bytes
            && let Some((header, _)) = self.frame_at(anchor, next.position, end - next.position)
            && let Some(found) = self.decode(&header, next.position)
            && found.header.follows(&next)
        {
            positions.push(next.position);
            let (sequence, generation) = (found.end_sequence(), found.header.generation);
            next = Boundary { position: found.end, sequence, generation };
        }
        let read = |position: &u64| self.record_at(anchor, *position, end - position);
        let read_all = |positions: &[u64]| positions.iter().map(read).collect::<Vec<_>>();
        let found = par::map_chunks(&positions, CHECKED_RECORDS, read_all);
        found.into_iter().flatten().map_while(|found| found).collect()
    }

    /// Reads the record at `position`, if a whole one of at most `available` bytes is there.
    pub(super) fn record_at(
        &self,
        anchor: &Anchor,
        position: u64,
        available: u64,
    ) -> Option<FoundRecord> {
        let (header, commit) = self.frame_at(anchor, position, available)?;
        let found = self.decode(&header, position)?;
        let commit_position = found.end - 4 * COMMIT_WORDS as u64;
        let body_position = position + 4 * HEADER_WORDS as u64;
        if !self.is_readable(anchor, body_position, commit_position) {
            return None;
        }
        let mut crc = self.salt;
        for part in self.words_in(anchor, body_position, commit_position) {
            crc = crc_of_shared(crc, part);
        }
        let expected = encode_commit(crc, &header, found.end_sequence());
        let same_frame =
            (commit[0], commit[2], commit[3]) == (expected[0], expected[2], expected[3]);
        (same_frame && self.region.matches(Site::LogRecord, commit[1], expected[1]))
            .then(|| FoundRecord { is_possible: self.is_possible(anchor, &found), ..found })
    }

    /// Whether a whole record, which somebody may have made up, has only ids and weights that batches
    /// have.
    fn is_possible(&self, anchor: &Anchor, record: &FoundRecord) -> bool {
        let Header { count, has_vertex_updates, .. } = record.header;
        let updates = record.position + 4 * HEADER_WORDS as u64;
        let weights = updates + 8 * u64::from(count);
        let end = weights + if self.weighted { 4 * u64::from(count) } else { 0 };
        let is_update = |update: &[AtomicU32]| {
            let dst = update[1].load(Relaxed);
            dst <= MAX_VERTEX_ID || has_vertex_updates && dst == VERTEX
        };
        let is_weight = |word: &AtomicU32| f32::from_bits(word.load(Relaxed)).is_finite();
        // Lines are whole double words, so that no update lies on the seam.
        let mut updates = self.words_in(anchor, updates, weights);
        let mut weights = self.words_in(anchor, weights, end);
        updates.all(|words| words.chunks_exact(2).all(is_update))
            && weights.all(|words| words.iter().all(is_weight))
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
        for (word, shared) in words.iter_mut().zip(parts.flatten()) {
            *word = shared.load(Relaxed);
        }
        Some(words)
    }

    /// Whether the ring's file already reaches over all of `from..to`.
    fn is_readable(&self, anchor: &Anchor, from: u64, to: u64) -> bool {
        ring_ranges(anchor, from, to).all(|range| range.end <= self.region.len())
    }

    /// Returns the words of `from..to`, in two pieces if the ring's end lies between. Any line of the
    /// ring may look like a record: nothing is allocated.
    fn words_in(&self, anchor: &Anchor, from: u64, to: u64) -> impl Iterator<Item = &[AtomicU32]> {
        ring_ranges(anchor, from, to)
            .map(|range| self.region.words(range.start, ((range.end - range.start) / 4) as usize))
    }
}

/// What opening has found between tail and head.
pub(super) struct Found {
    /// Where the records begin that no later one proves durable.
    pub(super) unproven: u64,
    /// In the order of the log.
    pub(super) gaps: Vec<Gap>,
}

/// A record whose header is whole.
pub(super) struct FoundRecord {
    pub(super) position: u64,
    pub(super) header: Header,
    pub(super) end: u64,
    /// Whether its updates are such as batches have.
    pub(super) is_possible: bool,
}

impl FoundRecord {
    /// The sequence number after its last update.
    pub(super) fn end_sequence(&self) -> u64 {
        self.header.sequence + u64::from(self.header.count)
    }

    fn record(&self) -> Record {
        match self.is_possible {
            true => Record::of_batch(self.position, &self.header),
            false => {
                let Header { sequence, count, generation, .. } = self.header;
                Record::unreadable(self.position..self.end, sequence, count, generation)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Appended, Checkpoint, RING_OFFSET};
    use super::*;
    use crate::Error;
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
    fn a_record_that_is_being_stored_is_not_read() {
        let (_volume, region) = new_region();
        let log = EdgeLog::create(region, 4096, false, SALT).unwrap();
        append(&log, &[(1, 1)]);
        let batch = Batch::insertions([(2, 2), (3, 3)].into_iter(), None).unwrap();
        let counts = || log.untaken_records().iter().map(|r| r.count).collect::<Vec<_>>();
        let reserved = log.reserve(&batch, false).unwrap().expect("room");
        log.append(&batch, false).unwrap();
        assert_eq!(counts(), [1], "what comes after it is not read either");
        log.lock().stores.finish(reserved.record.start());
        assert_eq!(counts(), [1, 2, 2]);
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
        let position = second - RING_OFFSET;
        let header: Vec<u32> = region.words(second, 8).iter().map(|w| w.load(Relaxed)).collect();
        let header = Header::decode(&header.try_into().unwrap(), SALT, position).unwrap();
        assert_eq!((header.sequence, header.durable_sequence), (1, 1));
        let header = Header { durable_sequence: 0, ..header }.encode(SALT, position);
        region.store_words(second, &header);
        let whole = log.record_at(&log.state.lock().anchor, second - RING_OFFSET, 64);
        assert!(whole.is_none(), "the checksum covers what was known to be durable");
        let body_crc = crc32c::crc32c_append(SALT, bytemuck::cast_slice(&[2u32, 2]));
        region.store_words(second + 40, &encode_commit(body_crc, &header, 2));

        let log = EdgeLog::open(region.clone(), false, SALT).unwrap();
        assert_eq!(sequences(&log), []);
        append(&log, &[(3, 3)]);
        assert_eq!(sequences(&log), [0]);
        log.free_before(1, Checkpoint::default()).unwrap();
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

    /// Eight dense edges that lie as a line of a batch and spell header and end of a record of the
    /// log's first version, or a mark and a header as far as ids can.
    fn line_of_edges(first_word: u32) -> [(u32, u32); 8] {
        let end = u32::from_le_bytes(*b"CMIT");
        [(first_word, 1), (64, 0), (9, 0), (9, 0), (9, 0), (9, 0), (end, 1), (73, 0)]
    }

    #[test]
    fn dense_ids_that_spell_records_are_no_records() {
        let (_volume, region) = new_region();
        let log = EdgeLog::create(region.clone(), 1 << 20, false, SALT).unwrap();
        // Header and first words up to a line of its own.
        let mut edges = vec![(0, 0); 4];
        for word in [u32::from_le_bytes(*b"BTCH"), 0x7fff_fffe] {
            edges.extend((0..512).flat_map(|_| line_of_edges(word)));
        }
        append(&log, &edges);
        assert_eq!(sequences(&log), [0]);
        log.free_before(edges.len() as u64, Checkpoint::default()).unwrap();
        append(&log, &[(1, 1)]);
        let log = EdgeLog::open(region, false, SALT).unwrap();
        assert_eq!(sequences(&log), [edges.len() as u64]);
    }

    #[test]
    fn a_header_counts_only_where_it_was_written() {
        let header = Header {
            generation: 3,
            count: 5,
            has_vertex_updates: true,
            sequence: 1 << 40,
            durable_sequence: 7,
        };
        let words = header.encode(SALT, 128);
        assert_eq!(Header::decode(&words, SALT, 128), Some(header));
        assert_eq!(Header::decode(&words, SALT, 192), None);
        assert_eq!(Header::decode(&words, SALT + 1, 128), None);
        for bit in 0..8 * 32 {
            let mut changed = words;
            changed[bit / 32] ^= 1 << (bit % 32);
            assert_eq!(Header::decode(&changed, SALT, 128), None, "bit {bit}");
        }
    }

    #[test]
    fn a_log_of_another_version_is_named_so() {
        let (_volume, region) = new_region();
        drop(EdgeLog::create(region.clone(), 4096, false, SALT).unwrap());
        region.store_words(4096 + 4, &[1]);
        let error = EdgeLog::open(region, false, SALT).err().expect("an error");
        assert!(matches!(error, Error::Version { found: 1, supported: 3, .. }), "{error}");
    }

    /// A single edge is durable when its call returns, though the window that it lies in is open.
    #[test]
    fn acknowledged_lines_are_taken_while_their_window_is_open() {
        let (volume, _recorder) = Volume::recorded(MediumKind::Pmem { emulated: true }, false);
        let region = volume.create_region("log", RING_OFFSET).unwrap();
        let log = EdgeLog::create(region, 1 << 20, false, SALT).unwrap();
        log.begin_writing().unwrap();
        for edge in 0..3 {
            log.append_line((edge, edge), None).unwrap();
        }
        let taken: u32 = log.take_records().iter().map(|record| record.count).sum();
        assert_eq!(taken, 3);
    }

    #[test]
    fn room_for_deletions_stays_when_the_ring_is_cut_back() {
        let (_volume, region) = new_region();
        let log = EdgeLog::create(region.clone(), 4 << 20, false, SALT).unwrap();
        append(&log, &vec![(1, 1); 100_000]);
        assert_eq!(sequences(&log).len(), 1);
        log.free_before(100_000, Checkpoint::default()).unwrap();
        log.restart_ring(4 << 20).unwrap();
        let kept = 2 * ((4 << 20) / 64);
        assert_eq!(log.allocated(), kept);
        let log = EdgeLog::open(region, false, SALT).unwrap();
        assert_eq!(log.anchor().allocated, kept, "a file that is cut further is found");
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
        let log = EdgeLog::open(region, false, SALT).unwrap();
        assert_eq!(sequences(&log), [0, 1]);
        let damage = log.damage();
        assert!(damage[0].to_string().contains("newest anchor"), "{damage:?}");
        assert_eq!(damage.len(), 1);
    }

    /// The first line of two anchors is the same, if they differ in their checkpoints only.
    #[test]
    fn a_torn_anchor_is_not_made_whole_by_the_next() {
        let (_volume, region) = new_region();
        let log = EdgeLog::create(region.clone(), 4096, false, SALT).unwrap();
        append(&log, &[(1, 1)]);
        assert_eq!(sequences(&log).len(), 1);
        log.free_before(1, Checkpoint { layout: [1, 77, 1] }).unwrap();
        let range = log.anchor().range();
        let line: Vec<u32> = log.anchor().encode(SALT)[..16].to_vec();
        region.store_words(range.start, &[0; 16]);
        let log = EdgeLog::open(region.clone(), false, SALT).unwrap();
        assert_eq!(log.checkpoint().0, Checkpoint::default());
        region.store_words(range.start, &line);
        let log = EdgeLog::open(region, false, SALT).unwrap();
        assert_eq!(log.checkpoint().0, Checkpoint::default());
    }

    #[test]
    fn a_cut_file_is_found() {
        let (_volume, region) = new_region();
        let log = EdgeLog::create(region.clone(), 4096, false, SALT).unwrap();
        append(&log, &[(1, 1)]);
        region.shrink(RING_OFFSET + 48).unwrap();
        let log = EdgeLog::open(region, false, SALT).unwrap();
        let damage = log.damage();
        assert!(matches!(damage[..], [Error::Corruption { offset: 8240, .. }]), "{damage:?}");
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
