//! The circular edge log: where a batch becomes durable.
//!
//! Source: Wang et al., "XPGraph", ToS 2025, §3.1 and Figure 7 (circular edge log), §3.4 (logging
//! phase). Differences: each batch is a record with a sequence number and a checksum that commits
//! it as a whole; the log's own pointers are durable; a record is fenced before it counts.
//!
//! # Layout
//! Two anchor slots of 4 KiB, then the ring. Positions are logical and only grow; position `p`
//! lies `(p - base) mod capacity` bytes into the ring. `docs/format.md` draws record and anchor.
//!
//! ```text
//! anchors | ring: … free …  tail ──► records ──► head  … free …
//! ```
//! The tail moves when a layout has made durable elsewhere all that lies behind it.
//!
//! # Invariants
//! - I1: `tail ≤ durable ≤ head ≤ tail + capacity`.
//! - I2: sequence numbers count updates; a record's first follows the previous record's last.
//! - I3: generations do not decrease along the log, from the one in the anchor on. Each writing
//!   open has a new one, so that a record that an earlier recovery dropped can never be taken for
//!   a successor of a later one.
//! - I4: until the ring is full for the first time it grows with the file; then it wraps. The
//!   anchor says how far it has grown, so that a file that was cut is found.
//! - I5: insertions leave a 64th of the ring, at most 1 MiB, free and allocated: deletions fit
//!   when nothing else does.
//!
//! # Cost
//! 48 bytes a batch and 8 (weighted: 12) an update, one fence a batch; writers that wait for the
//! same fence share it.
//!
//! # Concurrency
//! `state` orders appends, `durable` orders fences; a record's fence is never waited for under
//! `state`, an anchor's is.
//!
//! # Recovery
//! Read from the tail to the first record that is not whole. A record found whole further on that
//! says it was appended after that place was durable proves damage, which is reported. Nothing
//! can tell a damaged last record from a torn one: it is dropped. What is found is fenced before
//! anyone sees it: a process that was killed may have left it in caches only.

mod anchor;
mod recovery;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use parking_lot::Mutex;

use self::anchor::{Anchor, CAPACITY_BYTES, ring_ranges};
pub(crate) use self::anchor::{Checkpoint, RING_OFFSET};
use crate::batch::Batch;
use crate::medium::{Region, Site};
use crate::{Error, Result};

const RECORD_MAGIC: u32 = u32::from_le_bytes(*b"BTCH");
const COMMIT_MAGIC: u32 = u32::from_le_bytes(*b"CMIT");
const HEADER_WORDS: usize = 8;
const COMMIT_WORDS: usize = 4;
/// The ring grows by at least this much, so that small graphs stay small.
const RING_GROWTH_BYTES_MIN: u64 = 64 << 10;
const RING_GROWTH_BYTES_MAX: u64 = 64 << 20;
/// Insertions leave free at most so much.
const KEPT_BYTES_MAX: u64 = 1 << 20;
/// Page faults of the ring are taken so far ahead: little enough that its stores find it cached.
const POPULATE_BYTES: u64 = 512 << 10;

/// One batch in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// Where its first update lies.
    position: u64,
    /// The sequence number of its first update.
    pub sequence: u64,
    /// How many updates it holds.
    pub count: u32,
    /// The number of the open that wrote it.
    generation: u32,
    /// Whether some of them are of vertices, not of edges.
    pub has_vertex_updates: bool,
}

impl Record {
    /// Returns the sequence number after its last update.
    fn end_sequence(&self) -> u64 {
        self.sequence + u64::from(self.count)
    }
}

/// How far a layout has come with the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Where the first record lies that is not wholly taken, or will lie.
    pub position: u64,
    /// The sequence number of its first update.
    pub sequence: u64,
    /// The generation of a record before it, or of it.
    pub generation: u32,
    /// The checksum of the record before it, or 0 if there is none.
    pub commit: u32,
    /// The first update that is not taken.
    pub next_sequence: u64,
}

/// The outcome of an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Appended {
    /// The batch is in the log, up to `position`, not yet fenced.
    At { position: u64 },
    /// The ring has no room until the tail moves.
    Full,
}

struct State {
    anchor: Anchor,
    head: u64,
    next_sequence: u64,
    /// Records that the layout has not yet taken.
    logged: VecDeque<Record>,
    /// Whether this open has made its generation durable.
    writing: bool,
    /// Up to where the file's page faults were taken.
    populated: u64,
}

/// Up to where the log is fenced.
#[derive(Clone, Copy)]
struct Durable {
    position: u64,
    sequence: u64,
}

/// The circular edge log of one graph.
pub(crate) struct EdgeLog {
    region: Region,
    weighted: bool,
    salt: u32,
    state: Mutex<State>,
    durable: Mutex<Durable>,
}

impl EdgeLog {
    /// Creates an empty log in `region`, which has room for the anchors; `capacity_bytes` bounds its ring.
    ///
    /// # Errors
    /// `InvalidInput` if the capacity is out of range.
    pub(crate) fn create(
        region: Region,
        capacity_bytes: u64,
        weighted: bool,
        salt: u32,
    ) -> Result<Self> {
        if !CAPACITY_BYTES.contains(&capacity_bytes) {
            let Range { start, end } = CAPACITY_BYTES;
            let what = format!("the edge log takes {start} to {end} bytes, not {capacity_bytes}");
            return Err(Error::invalid(what));
        }
        let anchor = Anchor {
            counter: 1,
            generation: 1,
            tail_generation: 1,
            base: 0,
            tail: 0,
            tail_sequence: 0,
            capacity: capacity_bytes.next_multiple_of(64),
            allocated: 0,
            checkpoint: Checkpoint::default(),
        };
        let log = Self::with_anchor(region, weighted, salt, anchor);
        log.write_anchor(&anchor)?;
        log.state.lock().writing = true;
        Ok(log)
    }

    /// Takes all the ring's bytes from the medium, and their page faults, at once.
    ///
    /// # Errors
    /// `NoSpace` if the medium has no room for them.
    pub(crate) fn preallocate(&self) -> Result<()> {
        let mut state = self.state.lock();
        let end = RING_OFFSET + state.anchor.capacity;
        self.region.grow(end)?;
        self.region.populate(state.populated..end)?;
        state.populated = end;
        let allocated = self.allocated();
        self.change_anchor(&mut state, |anchor| anchor.allocated = allocated)
    }

    /// Opens a log and finds every whole record after its tail.
    ///
    /// # Errors
    /// `Corruption` if neither anchor is valid, if a durable record is damaged, or if the file
    /// was cut.
    pub(crate) fn open(region: Region, weighted: bool, salt: u32) -> Result<Self> {
        let log = Self::open_anchor(region, weighted, salt)?;
        let first = log.progress(&[], 0);
        log.find_records(first)?;
        log.fence_found(first.position)?;
        Ok(log)
    }

    /// Opens a log of which a killed process has left word how far it had come: `progress` returns
    /// that for the anchor's counter. Only records after it are read. Returns nothing if it does
    /// not fit the log.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub(crate) fn open_after(
        region: Region,
        weighted: bool,
        salt: u32,
        progress: impl FnOnce(u64) -> Option<Progress>,
    ) -> Result<Option<Self>> {
        let log = Self::open_anchor(region, weighted, salt)?;
        let anchor = log.state.lock().anchor;
        let fits = |progress: &Progress| log.leads_to(&anchor, progress);
        let Some(first) = progress(anchor.counter).filter(fits) else { return Ok(None) };
        log.find_records(first)?;
        log.fence_found(first.position)?;
        Ok(Some(log))
    }

    fn open_anchor(region: Region, weighted: bool, salt: u32) -> Result<Self> {
        let anchor = Anchor::read_newest(&region, salt)?;
        let log = Self::with_anchor(region, weighted, salt, anchor);
        if log.allocated() < anchor.allocated {
            return Err(log.damage(
                log.region.len(),
                "the log's ring".into(),
                format!("{} bytes", RING_OFFSET + anchor.allocated),
                format!("{} bytes", log.region.len()),
            ));
        }
        Ok(log)
    }

    /// Fences what was found from `position` on.
    fn fence_found(&self, position: u64) -> Result<()> {
        let state = self.state.lock();
        let anchor = &state.anchor;
        self.region.flush(Site::LogFound, anchor.range());
        for range in ring_ranges(anchor, position, state.head) {
            self.region.flush(Site::LogFound, range);
        }
        self.region.fence(Site::LogFound)
    }

    fn with_anchor(region: Region, weighted: bool, salt: u32, anchor: Anchor) -> Self {
        let state = State {
            anchor,
            head: anchor.tail,
            next_sequence: anchor.tail_sequence,
            logged: VecDeque::new(),
            writing: false,
            populated: region.len(),
        };
        let durable = Durable { position: anchor.tail, sequence: anchor.tail_sequence };
        Self { region, weighted, salt, state: Mutex::new(state), durable: Mutex::new(durable) }
    }

    /// Returns how often the anchor was changed.
    pub(crate) fn anchor_counter(&self) -> u64 {
        self.state.lock().anchor.counter
    }

    /// Returns how far the layout is that has taken `records` up to `next_sequence`; without
    /// records, that has taken none.
    pub(crate) fn progress(&self, records: &[Record], next_sequence: u64) -> Progress {
        if records.is_empty() {
            let Anchor { tail, tail_sequence, tail_generation, .. } = self.state.lock().anchor;
            let (position, generation) = (tail, tail_generation);
            let (sequence, commit) = (tail_sequence, 0);
            return Progress { position, sequence, generation, commit, next_sequence };
        }
        let taken = records.partition_point(|record| record.end_sequence() <= next_sequence);
        let header_bytes = 4 * HEADER_WORDS as u64;
        let generation = records[taken.saturating_sub(1)].generation;
        let (position, sequence) = match records.get(taken) {
            Some(first) => (first.position - header_bytes, first.sequence),
            None => {
                let last = &records[taken - 1];
                let bytes = record_bytes(last.count.into(), self.weighted);
                (last.position - header_bytes + bytes, last.end_sequence())
            }
        };
        let anchor = self.state.lock().anchor;
        let commit = self.commit_before(&anchor, position).map_or(0, |[_, crc, ..]| crc);
        Progress { position, sequence, generation, commit, next_sequence }
    }

    /// Returns what the layout left at the last checkpoint, and the sequence number of then.
    pub(crate) fn checkpoint(&self) -> (Checkpoint, u64) {
        let state = self.state.lock();
        (state.anchor.checkpoint, state.anchor.tail_sequence)
    }

    /// Returns how many batches, and updates in them, the layout has not taken yet.
    pub(crate) fn untaken(&self) -> (u64, u64) {
        let state = self.state.lock();
        let updates = state.logged.front().map_or(0, |first| state.next_sequence - first.sequence);
        (state.logged.len() as u64, updates)
    }

    /// Returns the sequence number of the next update.
    pub(crate) fn next_sequence(&self) -> u64 {
        self.state.lock().next_sequence
    }

    /// Returns whether nothing was written since the log was opened, and it is empty.
    pub(crate) fn is_untouched(&self) -> bool {
        let state = self.state.lock();
        !state.writing && state.head == state.anchor.tail
    }

    /// Returns the bytes of the ring that hold records.
    pub(crate) fn used_bytes(&self) -> u64 {
        let state = self.state.lock();
        state.head - state.anchor.tail
    }

    /// Returns whether the ring will soon have no room: when three quarters hold records.
    pub(crate) fn is_nearly_full(&self) -> bool {
        let state = self.state.lock();
        state.head - state.anchor.tail > state.anchor.capacity / 4 * 3
    }

    /// Makes this open's generation durable; the caller has durably undone by then what the
    /// open dropped. Called before the first write of an open.
    pub(crate) fn begin_writing(&self) -> Result<()> {
        let mut state = self.state.lock();
        if !state.writing {
            self.change_anchor(&mut state, |anchor| anchor.generation += 1)?;
            state.writing = true;
        }
        Ok(())
    }

    /// Stores `batch` at the head without fencing it.
    ///
    /// # Errors
    /// `NoSpace` if the ring could still grow but the medium is full; nothing has changed then.
    pub(crate) fn append(&self, batch: &Batch) -> Result<Appended> {
        debug_assert_eq!(batch.is_weighted(), self.weighted);
        let body = encode_body(batch);
        let body_crc = crc32c::crc32c_append(self.salt, bytemuck::cast_slice(&body));
        let durable_sequence = self.durable.lock().sequence;

        let mut state = self.state.lock();
        let bytes = record_bytes(batch.len() as u64, self.weighted);
        let kept = kept_for_deletions(&state.anchor, batch);
        if state.head + bytes + kept - state.anchor.tail > state.anchor.capacity {
            return Ok(Appended::Full);
        }
        self.grow_ring(&mut state, bytes + kept)?;
        self.populate_ring(&mut state, bytes)?;
        let anchor = state.anchor;
        let count = batch.len() as u32;
        let flags = u32::from(batch.vertex_update_count() > 0);
        let sequences = [state.next_sequence, durable_sequence];
        let header = encode_header(&anchor, count, flags, sequences);
        let commit = encode_commit(body_crc, &header, state.next_sequence + u64::from(count));
        let body_position = state.head + 4 * HEADER_WORDS as u64;
        self.store(&anchor, state.head, &header);
        self.store(&anchor, body_position, &body);
        self.store(&anchor, body_position + 4 * body.len() as u64, &commit);
        let sequence = state.next_sequence;
        state.logged.push_back(Record {
            position: body_position,
            sequence,
            count,
            generation: anchor.generation,
            has_vertex_updates: flags != 0,
        });
        state.head += bytes;
        state.next_sequence += u64::from(count);
        Ok(Appended::At { position: state.head })
    }

    /// Fences the log at least up to `position`; a fence covers all that was appended by then.
    pub(crate) fn make_durable(&self, position: u64) -> Result<()> {
        let mut durable = self.durable.lock();
        if durable.position >= position {
            return Ok(());
        }
        let (anchor, head, next_sequence) = {
            let state = self.state.lock();
            (state.anchor, state.head, state.next_sequence)
        };
        for range in ring_ranges(&anchor, durable.position, head) {
            self.region.flush(Site::LogRecord, range);
        }
        self.region.fence(Site::LogRecord)?;
        *durable = Durable { position: head, sequence: next_sequence };
        Ok(())
    }

    /// Fences all that was appended.
    pub(crate) fn make_all_durable(&self) -> Result<()> {
        let head = self.state.lock().head;
        self.make_durable(head)
    }

    /// Returns the records that have not been taken, fenced or not.
    pub(crate) fn untaken_records(&self) -> Vec<Record> {
        self.state.lock().logged.iter().copied().collect()
    }

    /// Takes the fenced records that have not been taken.
    pub(crate) fn take_records(&self) -> Vec<Record> {
        let durable = self.durable.lock().position;
        let mut state = self.state.lock();
        let count = state.logged.iter().take_while(|record| record.position < durable).count();
        state.logged.drain(..count).collect()
    }

    /// Returns the updates `start..end` of `record`, two words each, in one or two parts.
    pub(crate) fn updates(&self, record: &Record, start: u32, end: u32) -> [&[AtomicU32]; 2] {
        let from = record.position + 8 * u64::from(start);
        self.words(from, record.position + 8 * u64::from(end))
    }

    /// Returns the weights of the updates `start..end` of `record`, in one or two parts.
    pub(crate) fn weights(&self, record: &Record, start: u32, end: u32) -> [&[AtomicU32]; 2] {
        if !self.weighted {
            return [&[], &[]];
        }
        let weights = record.position + 8 * u64::from(record.count);
        self.words(weights + 4 * u64::from(start), weights + 4 * u64::from(end))
    }

    /// Frees all records before `sequence`, the first not taken; the caller has made durable
    /// elsewhere what they say.
    pub(crate) fn advance_tail(&self, sequence: u64, checkpoint: Checkpoint) -> Result<()> {
        let mut state = self.state.lock();
        let tail = match state.logged.front() {
            Some(first) => first.position - 4 * HEADER_WORDS as u64,
            None => state.head,
        };
        self.change_anchor(&mut state, |anchor| {
            anchor.tail = tail;
            anchor.tail_generation = anchor.generation;
            anchor.tail_sequence = sequence;
            anchor.checkpoint = checkpoint;
        })
    }

    /// Durably changes what the layout leaves with the tail; the tail stays where it is.
    pub(crate) fn change_checkpoint(&self, checkpoint: Checkpoint) -> Result<()> {
        let mut state = self.state.lock();
        self.change_anchor(&mut state, |anchor| anchor.checkpoint = checkpoint)
    }

    /// Starts the ring anew at the beginning of the file, with `capacity` bytes, and gives back
    /// the rest of the file; does nothing if the log is not empty.
    pub(crate) fn restart_ring(&self, capacity: u64) -> Result<()> {
        let mut state = self.state.lock();
        if state.head != state.anchor.tail {
            return Ok(());
        }
        let head = state.head;
        self.change_anchor(&mut state, |anchor| {
            anchor.base = head;
            anchor.tail_generation = anchor.generation;
            anchor.capacity = capacity.next_multiple_of(64);
            anchor.allocated = 0;
        })?;
        state.populated = RING_OFFSET;
        self.region.shrink(RING_OFFSET)
    }

    /// Returns the bytes that the ring must have for `batch` to fit while it is empty.
    pub(crate) fn bytes_for(&self, batch: &Batch) -> u64 {
        let anchor = self.state.lock().anchor;
        record_bytes(batch.len() as u64, batch.is_weighted()) + kept_for_deletions(&anchor, batch)
    }

    /// Returns the bytes that the ring may take at most.
    pub(crate) fn capacity(&self) -> u64 {
        self.state.lock().anchor.capacity
    }

    /// Returns the bytes that the ring takes on the medium now.
    pub(crate) fn allocated(&self) -> u64 {
        self.region.len().saturating_sub(RING_OFFSET)
    }

    /// Makes room for `bytes` more after the head.
    fn grow_ring(&self, state: &mut State, bytes: u64) -> Result<()> {
        let anchor = state.anchor;
        let needed = (state.head + bytes - anchor.base).min(anchor.capacity);
        let allocated = self.allocated();
        if needed <= allocated {
            return Ok(());
        }
        let step = (allocated / 2).clamp(RING_GROWTH_BYTES_MIN, RING_GROWTH_BYTES_MAX);
        let wanted = (allocated + step).max(needed).next_multiple_of(4096).min(anchor.capacity);
        match self.region.grow(RING_OFFSET + wanted) {
            Err(Error::NoSpace { .. }) if wanted > needed => self.region.grow(RING_OFFSET + needed),
            outcome => outcome,
        }?;
        let allocated = self.allocated();
        self.change_anchor(state, |anchor| anchor.allocated = allocated)
    }

    /// Takes the page faults of the next `bytes` and some more, while the ring is first written.
    fn populate_ring(&self, state: &mut State, bytes: u64) -> Result<()> {
        let needed = RING_OFFSET + state.head + bytes - state.anchor.base;
        if needed > state.populated && state.populated < self.region.len() {
            let end = (needed + POPULATE_BYTES).min(self.region.len());
            self.region.populate(state.populated..end)?;
            state.populated = end;
        }
        Ok(())
    }

    fn store(&self, anchor: &Anchor, position: u64, words: &[u32]) {
        let mut rest = words;
        for range in ring_ranges(anchor, position, position + 4 * words.len() as u64) {
            let (part, after) = rest.split_at(((range.end - range.start) / 4) as usize);
            self.region.store_words(range.start, part);
            rest = after;
        }
    }

    fn words(&self, from: u64, to: u64) -> [&[AtomicU32]; 2] {
        let anchor = self.state.lock().anchor;
        let mut parts: [&[AtomicU32]; 2] = [&[], &[]];
        for (part, range) in parts.iter_mut().zip(ring_ranges(&anchor, from, to)) {
            *part = self.region.words(range.start, ((range.end - range.start) / 4) as usize);
        }
        parts
    }

    /// Makes a changed anchor durable, in place of the older one.
    fn change_anchor(&self, state: &mut State, change: impl FnOnce(&mut Anchor)) -> Result<()> {
        let mut anchor = state.anchor;
        change(&mut anchor);
        anchor.counter += 1;
        self.write_anchor(&anchor)?;
        state.anchor = anchor;
        Ok(())
    }

    fn write_anchor(&self, anchor: &Anchor) -> Result<()> {
        let range = anchor.range();
        self.region.store_words(range.start, &anchor.encode(self.salt));
        self.region.flush(Site::LogAnchor, range);
        self.region.fence(Site::LogAnchor)
    }
}

/// Bytes of the ring that `batch` must leave free, so that a full graph can be deleted from.
fn kept_for_deletions(anchor: &Anchor, batch: &Batch) -> u64 {
    if batch.only_takes_away() {
        0
    } else {
        (anchor.capacity / 64).next_multiple_of(64).min(KEPT_BYTES_MAX)
    }
}

/// Updates and weights as they lie in a record, of an even number of words.
fn encode_body(batch: &Batch) -> Cow<'_, [u32]> {
    if batch.weights().is_empty() {
        return Cow::Borrowed(batch.updates());
    }
    let mut body = batch.updates().to_vec();
    body.extend(batch.weights().iter().map(|weight| weight.to_bits()));
    body.resize(body.len().next_multiple_of(2), 0);
    Cow::Owned(body)
}

fn encode_header(
    anchor: &Anchor,
    count: u32,
    flags: u32,
    [sequence, durable]: [u64; 2],
) -> [u32; HEADER_WORDS] {
    let [s0, s1] = split(sequence);
    let [d0, d1] = split(durable);
    [RECORD_MAGIC, anchor.generation, count, flags, s0, s1, d0, d1]
}

/// The commit's checksum covers body, header and end, in this order, so that the body's part can
/// be computed before the record has a sequence number.
fn encode_commit(body_crc: u32, header: &[u32], end_sequence: u64) -> [u32; COMMIT_WORDS] {
    let [e0, e1] = split(end_sequence);
    let crc = crc32c::crc32c_append(body_crc, bytemuck::cast_slice(header));
    let crc = crc32c::crc32c_append(crc, bytemuck::cast_slice(&[e0, e1]));
    [COMMIT_MAGIC, crc, e0, e1]
}

fn record_bytes(update_count: u64, weighted: bool) -> u64 {
    let body_words = update_count * if weighted { 3 } else { 2 };
    4 * (HEADER_WORDS + COMMIT_WORDS) as u64 + 4 * body_words.next_multiple_of(2)
}

/// Checksums shared words through a small copy.
pub(crate) fn crc_of_shared(mut crc: u32, words: &[AtomicU32]) -> u32 {
    let mut copy = [0u32; 512];
    for part in words.chunks(copy.len()) {
        for (word, shared) in copy.iter_mut().zip(part) {
            *word = shared.load(Relaxed);
        }
        crc = crc32c::crc32c_append(crc, bytemuck::cast_slice(&copy[..part.len()]));
    }
    crc
}

fn split(number: u64) -> [u32; 2] {
    [number as u32, (number >> 32) as u32]
}

fn join(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}
