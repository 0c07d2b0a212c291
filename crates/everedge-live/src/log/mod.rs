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
//!   when nothing else does. An insertion is logged only while the medium has room for all that the
//!   lists may need for what the ring holds.
//!
//! # Cost
//! 48 bytes a batch and 8 (weighted: 12) an update, in whole lines of 64 bytes, one fence a batch;
//! writers that wait for the same fence share it. A batch of one update is one line, which its
//! writer stores and fences by itself, without the lock (`line.rs`).
//!
//! # Concurrency
//! `state` orders appends, and opens windows of lines that are appended without it (`window.rs`);
//! whoever needs the head closes the window first. A line of a window is durable when its writer has
//! fenced it, any other record when all before it are. A fence is waited for under `state` only where
//! a window opens, or is closed with holes, or the ring begins anew.
//!
//! # Recovery
//! Read from the tail to the first record that is not whole. Lines of a window are durable in any order:
//! of what is not whole before a whole one, nothing was acknowledged, and it becomes void. A record found
//! whole further on that says it was appended after that place was durable proves damage (`damage.rs`).
//! Nothing can tell the damaged last record of a writer from a torn one: it is dropped. What is found is
//! fenced before anyone sees it: a process that was killed may have left it in caches only.

mod anchor;
mod beside;
mod damage;
mod line;
mod reading;
mod record;
mod recovery;
mod room;
mod stores;
#[cfg(test)]
mod stores_model;
mod sync;
mod watermark;
mod window;
#[cfg(test)]
mod window_model;

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use parking_lot::{Condvar, Mutex, MutexGuard};

use self::anchor::{Anchor, CAPACITY_BYTES, ring_ranges};
pub use self::anchor::{Checkpoint, RING_OFFSET};
use self::line::Lines;
use self::record::{Header, encode_commit, encode_weights, record_bytes};
pub use self::record::{LINE_BYTES, Record};
use self::recovery::Found;
pub use self::room::Lists;
use self::room::kept_for_deletions;
use self::stores::Stores;
use self::watermark::Watermark;
use self::window::{Closed, Slot};
use crate::batch::Batch;
use crate::{Error, Result};
use everedge_medium::{Region, Site, Volume};

/// Sequence numbers stay below this: blocks keep 48 bits of them.
const SEQUENCE_MAX: u64 = 1 << 48;

/// The file that the log lies in.
pub const LOG: &str = "log";

/// The outcome of an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Appended {
    /// The batch is in the log, up to `position`; so many updates the layout has not taken.
    At {
        /// Where its record ends.
        position: u64,
        /// How many updates the layout has not taken.
        untaken: u64,
    },
    /// The ring has no room until the tail moves.
    Full,
}

/// A place between two records.
#[derive(Clone, Copy, Debug)]
struct Boundary {
    position: u64,
    /// The sequence number of the first update after it.
    sequence: u64,
    /// The lowest generation that a record after it can have.
    generation: u32,
}

struct State {
    head: u64,
    next_sequence: u64,
    /// Up to where the file's page faults were taken.
    populated: u64,
    /// So many bytes of insertions the lists had room for when that was last looked at.
    granted: u64,
    /// The last record that the layout has not taken; it may still be joined.
    last: Option<Record>,
    /// Whether one writer keeps the others out.
    is_kept: bool,
    /// Whether single lines are written without this state; their window begins at the head.
    is_window_open: bool,
    /// What the threads have that write single lines.
    slots: Vec<Arc<Slot>>,
    /// What a window was when it was closed, until its lines are noted.
    closed: Option<Closed>,
    /// Records before the last that the layout has not taken.
    logged: VecDeque<Record>,
    /// The first update that the layout has not taken.
    first_untaken: u64,
    /// Batches, and updates in them, that opening has found.
    found: (u64, u64),
    anchor: Anchor,
    /// Nothing from here on is overwritten: the tail, or what another process copies before it.
    kept_from: u64,
    /// The records after the tail that are not stored yet.
    stores: Stores,
}

impl State {
    /// Returns how many updates the layout has not taken.
    fn untaken(&self) -> u64 {
        self.next_sequence - self.first_untaken
    }

    /// Adds a record that the layout has not taken.
    fn note(&mut self, record: Record) {
        if !self.last.as_mut().is_some_and(|last| last.join(&record)) {
            self.logged.extend(self.last.replace(record));
        }
    }

    /// Returns where the records end that the layout has taken.
    fn taken_end(&self) -> Boundary {
        match self.untaken_records().next() {
            Some(first) => Boundary {
                position: first.start(),
                sequence: first.sequence,
                generation: first.generation,
            },
            None => Boundary {
                position: self.head,
                sequence: self.next_sequence,
                generation: self.anchor.generation,
            },
        }
    }

    /// Returns the records that the layout has not taken.
    fn untaken_records(&self) -> impl Iterator<Item = &Record> {
        self.logged.iter().chain(&self.last)
    }
}

/// The circular edge log of one graph.
pub struct EdgeLog {
    region: Region,
    weighted: bool,
    salt: u32,
    /// Whether this open has made its generation durable.
    is_writing: AtomicBool,
    state: Mutex<State>,
    lines: Lines,
    /// Up to where all records are known to be durable.
    durable: Watermark,
    /// Held by whoever fences what others have stored.
    fencing: Mutex<()>,
    /// Notified when others may write again.
    released: Condvar,
    /// Notified when records were stored.
    stored: Condvar,
    /// Held by whoever changes the anchor or the ring's room; before `state`.
    anchoring: Mutex<()>,
    /// What the ring leaves on the medium when it grows.
    lists: OnceLock<Lists>,
    /// What was durable and cannot be read.
    damage: Mutex<Vec<Error>>,
}

/// A record that has a place in the ring and is to be stored there.
struct Reserved {
    record: Record,
    header: Header,
    anchor: Anchor,
    /// Where the record ends.
    head: u64,
    /// How many updates the layout has not taken.
    untaken: u64,
}

/// Says that a record is stored; if it is dropped before, that it never will be.
struct Storing<'a> {
    log: &'a EdgeLog,
    position: u64,
    is_stored: bool,
}

impl Drop for Storing<'_> {
    fn drop(&mut self) {
        let mut state = self.log.state.lock();
        let is_news = match self.is_stored {
            true => state.stores.finish(self.position),
            false => {
                state.stores.break_off();
                true
            }
        };
        drop(state);
        if is_news {
            self.log.stored.notify_all();
        }
    }
}

/// While it is held, only its holder appends.
pub struct Alone<'a>(&'a EdgeLog);

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        self.0.lock().is_kept = false;
        self.0.released.notify_all();
    }
}

impl EdgeLog {
    /// Creates the log of a graph, which other processes may read from now on. `capacity_bytes` bounds its ring.
    ///
    /// # Errors
    /// As [`Self::create`], and if the file cannot be made.
    pub fn create_on(
        volume: &Volume,
        capacity_bytes: u64,
        weighted: bool,
        salt: u32,
    ) -> Result<Self> {
        volume.admit_readers()?;
        let region = volume.create_region(LOG, RING_OFFSET)?;
        Self::create(region, capacity_bytes, weighted, salt)
    }

    /// Creates an empty log in `region`, which has room for the anchors; `capacity_bytes` bounds its ring.
    ///
    /// # Errors
    /// `InvalidInput` if the capacity is out of range.
    pub fn create(region: Region, capacity_bytes: u64, weighted: bool, salt: u32) -> Result<Self> {
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
        log.is_writing.store(true, Relaxed);
        Ok(log)
    }

    /// Opens the log of a graph. If it is damaged, everything else is opened for reading (D1). Beside a writer, what is
    /// opened is a copy of the log, and of the files `overwritten`, which it overwrites, as they were at one moment.
    ///
    /// # Errors
    /// As [`Self::open`], and if the file cannot be opened.
    pub fn open_on(
        volume: &Volume,
        weighted: bool,
        salt: u32,
        overwritten: &[&str],
    ) -> Result<Self> {
        volume.admit_readers()?;
        if let Some(pin) = volume.pin() {
            beside::copy(volume, pin, (weighted, salt), overwritten)?;
        }
        let log = Self::open(volume.open_region(LOG)?, weighted, salt)?;
        if let Err(damage) = log.refuse_damage() {
            volume.restrict_to_reading(damage);
        }
        Ok(log)
    }

    /// Opens a log and finds every whole record after its tail. Lines that nobody finished become void.
    /// What was durable and is damaged is passed over ([`damage`](Self::damage)); nothing is written then.
    ///
    /// # Errors
    /// `Corruption` if neither anchor is valid, or what follows them is no log.
    pub fn open(region: Region, weighted: bool, salt: u32) -> Result<Self> {
        let anchor = Anchor::read_newest(&region, salt)?;
        let log = Self::with_anchor(region, weighted, salt, anchor);
        if log.allocated() < anchor.allocated {
            log.note_damage(log.damaged(
                log.region.len(),
                "the log's ring".into(),
                format!("{} bytes", RING_OFFSET + anchor.allocated),
                format!("{} bytes", log.region.len()),
            ));
        }
        let found = log.find_records()?;
        // What cannot be read now may be whole another time.
        if !log.is_damaged() {
            log.fence_found(&found)?;
        }
        Ok(log)
    }

    /// Makes durable what was found and is believed: the anchor, and the records that no record after
    /// them proves durable. They may be in caches only. Where lines are void, says so.
    fn fence_found(&self, found: &Found) -> Result<()> {
        let state = self.lock();
        let anchor = &state.anchor;
        found.gaps.iter().for_each(|gap| self.make_void(anchor, gap));
        self.region.rewrite(Site::LogFound, anchor.range())?;
        anchor.wipe_torn(&self.region, self.salt);
        for range in ring_ranges(anchor, found.unproven, state.head) {
            self.region.rewrite(Site::LogFound, range)?;
        }
        self.region.fence(Site::LogFound)
    }

    fn with_anchor(region: Region, weighted: bool, salt: u32, anchor: Anchor) -> Self {
        let state = State {
            head: anchor.tail,
            next_sequence: anchor.tail_sequence,
            populated: region.len(),
            granted: 0,
            last: None,
            is_kept: false,
            is_window_open: false,
            slots: Vec::new(),
            closed: None,
            logged: VecDeque::new(),
            first_untaken: anchor.tail_sequence,
            found: (0, 0),
            anchor,
            kept_from: anchor.tail,
            stores: Stores::default(),
        };
        region.pins().into_iter().for_each(|pins| pins.note_newest(anchor.counter));
        Self {
            region,
            weighted,
            salt,
            is_writing: AtomicBool::new(false),
            state: Mutex::new(state),
            lines: Lines::new(),
            durable: Watermark::new(anchor.tail, anchor.tail_sequence),
            fencing: Mutex::new(()),
            released: Condvar::new(),
            stored: Condvar::new(),
            anchoring: Mutex::new(()),
            lists: OnceLock::new(),
            damage: Mutex::default(),
        }
    }

    /// Returns what the layout left at the last checkpoint, and the sequence number of then.
    pub fn checkpoint(&self) -> (Checkpoint, u64) {
        let state = self.lock();
        (state.anchor.checkpoint, state.anchor.tail_sequence)
    }

    /// Returns how many batches, and updates in them, the layout has not taken yet.
    pub fn untaken(&self) -> (u64, u64) {
        let state = self.lock();
        let updates = state.untaken();
        let batches = state.untaken_records().map(Record::batch_count).sum();
        (batches, updates)
    }

    /// Returns how many batches, and updates in them, opening has found.
    pub fn found(&self) -> (u64, u64) {
        self.state.lock().found
    }

    /// Returns how many updates the layout has not taken yet, those too that are being written and lines
    /// that were only claimed. Writers of single lines go on with their window.
    pub fn untaken_updates(&self) -> u64 {
        let state = self.state.lock();
        state.untaken() + if state.is_window_open { self.lines.claimed() } else { 0 }
    }

    /// Returns how many updates the largest batch of some records has.
    pub fn largest_batch(records: &[Record]) -> u64 {
        let updates = |record: &Record| if record.is_of_lines() { 1 } else { record.count.into() };
        records.iter().map(updates).max().unwrap_or(0)
    }

    /// Returns the sequence number of the next update.
    pub fn next_sequence(&self) -> u64 {
        self.lock().next_sequence
    }

    /// Returns whether nothing was written since the log was opened, and it is empty.
    pub fn is_untouched(&self) -> bool {
        let state = self.lock();
        !self.is_writing.load(Relaxed) && state.head == state.anchor.tail
    }

    /// Returns the bytes of the ring that hold records.
    pub fn used_bytes(&self) -> u64 {
        let state = self.lock();
        state.head - state.anchor.tail
    }

    /// Returns whether the ring will soon have no room: when three quarters hold records.
    pub fn is_nearly_full(&self) -> bool {
        let state = self.lock();
        state.head - state.anchor.tail > state.anchor.capacity / 4 * 3
    }

    /// Makes this open's generation durable; the caller has durably undone by then what the
    /// open dropped. Called before each write; the first one of an open changes the anchor.
    ///
    /// # Errors
    /// Those of a fence, and of every change since a failed sync or in a forked child.
    pub fn begin_writing(&self) -> Result<()> {
        self.region.check_health()?;
        self.begin_generation()
    }

    /// As [`begin_writing`](Self::begin_writing), for a caller that knows that no sync has failed.
    ///
    /// # Errors
    /// Those of a fence.
    #[inline]
    pub fn begin_generation(&self) -> Result<()> {
        if self.is_writing.load(Ordering::Acquire) {
            return Ok(());
        }
        let anchoring = self.anchoring.lock();
        if !self.is_writing.load(Relaxed) {
            self.change_anchor(&anchoring, |_, anchor| anchor.generation += 1)?;
            self.is_writing.store(true, Ordering::Release);
        }
        Ok(())
    }

    /// Keeps all other writers out.
    pub fn keep_others_out(&self) -> Alone<'_> {
        let mut state = self.open_state(false);
        self.close_window(&mut state);
        state.is_kept = true;
        Alone(self)
    }

    /// Waits until nobody keeps others out.
    pub fn wait_for_release(&self) {
        drop(self.open_state(false));
    }

    /// Returns whether somebody keeps others out.
    pub fn is_kept(&self) -> bool {
        self.state.lock().is_kept
    }

    /// Returns the state, with all records in it.
    fn lock(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock();
        self.close_window(&mut state);
        state
    }

    fn anchor(&self) -> Anchor {
        self.state.lock().anchor
    }

    /// Returns the state as soon as nobody else keeps others out; single lines may still be written.
    fn open_state(&self, is_alone: bool) -> MutexGuard<'_, State> {
        let mut state = self.state.lock();
        while state.is_kept && !is_alone {
            self.released.wait(&mut state);
        }
        state
    }

    /// Stores `batch` at the head without fencing it; `is_alone` says that the caller keeps others
    /// out.
    ///
    /// # Errors
    /// `NoSpace` if the ring could still grow but the medium is full; nothing has changed then.
    pub fn append(&self, batch: &Batch, is_alone: bool) -> Result<Appended> {
        debug_assert_eq!(batch.is_weighted(), self.weighted);
        let body = [batch.updates(), &encode_weights(batch)];
        let crc_of = |crc, words: &&[u32]| crc32c::crc32c_append(crc, bytemuck::cast_slice(words));
        let body_crc = body.iter().fold(self.salt, crc_of);
        let Some(reserved) = self.reserve(batch, is_alone)? else { return Ok(Appended::Full) };
        let Reserved { record, header, anchor, head, untaken } = reserved;
        let position = record.start();
        let mut storing = Storing { log: self, position, is_stored: false };
        let header = header.encode(self.salt, position);
        let commit = encode_commit(body_crc, &header, record.end_sequence());
        self.store(&anchor, position, &header);
        let mut end = record.position;
        for words in body {
            self.store(&anchor, end, words);
            end += 4 * words.len() as u64;
        }
        self.store(&anchor, end, &commit);
        storing.is_stored = true;
        Ok(Appended::At { position: head, untaken })
    }

    /// Takes the next bytes of the ring for a record of `batch`, and leaves some free for deletions.
    /// Returns nothing if the ring has no room.
    fn reserve(&self, batch: &Batch, is_alone: bool) -> Result<Option<Reserved>> {
        let bytes = record_bytes(batch.len() as u64, self.weighted);
        loop {
            let mut state = self.open_state(is_alone);
            self.close_window(&mut state);
            self.refuse_if_broken(&state)?;
            let kept = kept_for_deletions(&state.anchor, batch.only_takes_away());
            let (end, capacity) = (state.head + bytes + kept, state.anchor.capacity);
            if end - state.anchor.tail > capacity {
                return Ok(None);
            }
            if end - self.kept_from(&mut state) > capacity {
                drop(state);
                self.wait_for_copies();
                continue;
            }
            let Some(missing) = self.missing_room(&state, bytes, kept) else {
                return Ok(Some(self.reserve_at_head(&mut state, batch, bytes)));
            };
            drop(state);
            self.make_room(missing)?;
        }
    }

    fn reserve_at_head(&self, state: &mut State, batch: &Batch, bytes: u64) -> Reserved {
        let header = Header {
            generation: state.anchor.generation,
            count: batch.len() as u32,
            has_vertex_updates: batch.vertex_update_count() > 0,
            sequence: state.next_sequence,
            durable_sequence: self.durable.sequence(),
        };
        let record = Record::of_batch(state.head, &header);
        state.stores.begin((state.head, state.next_sequence));
        state.head += bytes;
        state.next_sequence = record.end_sequence();
        state.note(record);
        let (anchor, head, untaken) = (state.anchor, state.head, state.untaken());
        Reserved { record, header, anchor, head, untaken }
    }

    /// Fences the log at least up to `position`; a fence covers all that was stored by then.
    pub fn make_durable(&self, position: u64) -> Result<()> {
        if self.durable.position() >= position {
            return Ok(());
        }
        let _alone = self.fencing.lock();
        if self.durable.position() >= position {
            return Ok(());
        }
        let mut state = self.lock();
        self.wait_for_stores(&mut state, position)?;
        let anchor = state.anchor;
        let (end, sequence) = state.stores.end((state.head, state.next_sequence));
        drop(state);
        self.fence_up_to(&anchor, end, sequence)
    }

    /// Waits until all records before `position` are stored.
    fn wait_for_stores(&self, state: &mut MutexGuard<'_, State>, position: u64) -> Result<()> {
        while state.stores.end((state.head, 0)).0 < position {
            self.refuse_if_broken(state)?;
            self.stored.wait(state);
        }
        Ok(())
    }

    /// Refuses to go on after something that has a place and will not be stored: nothing after it counts.
    fn refuse_if_broken(&self, state: &State) -> Result<()> {
        if !state.stores.is_broken() {
            return Ok(());
        }
        self.region.check_health()?;
        Err(Error::Poisoned { first: "a thread ended while it wrote to the log".into() })
    }

    /// Waits until all records are stored. Nobody appends meanwhile: the head stays where it is.
    fn wait_for_all_stores(&self, state: &mut MutexGuard<'_, State>) -> Result<()> {
        let head = state.head;
        state.is_kept = true;
        let outcome = self.wait_for_stores(state, head);
        state.is_kept = false;
        self.released.notify_all();
        outcome
    }

    /// Fences what is not known to be durable up to `position`, where all before `sequence` is.
    fn fence_up_to(&self, anchor: &Anchor, position: u64, sequence: u64) -> Result<()> {
        let from = self.durable.position();
        if from < position {
            for range in ring_ranges(anchor, from, position) {
                self.region.flush(Site::LogRecord, range);
            }
            self.region.fence(Site::LogRecord)?;
            self.durable.raise(position, sequence);
        }
        Ok(())
    }

    /// Fences all that was appended.
    ///
    /// # Errors
    /// Those of a fence, and in a forked child.
    pub fn make_all_durable(&self) -> Result<()> {
        self.region.check_health()?;
        let head = self.lock().head;
        self.make_durable(head)
    }

    /// Returns the stored records that have not been taken, fenced or not: up to the first that is
    /// still being stored.
    pub fn untaken_records(&self) -> Vec<Record> {
        let state = self.lock();
        let (end, _) = state.stores.end((state.head, state.next_sequence));
        let stored = |record: &Record| match record.end(self.weighted) <= end {
            true => Some(*record),
            false => { *record }.split_before(end),
        };
        state.untaken_records().map_while(stored).collect()
    }

    /// Takes the fenced records that have not been taken.
    pub fn take_records(&self) -> Vec<Record> {
        let mut state = self.lock();
        // Not before: the end of a window is what makes its lines count.
        let durable = self.durable.position();
        self.take_before(&mut state, durable)
    }

    /// Takes the stored records that have not been taken, fenced or not.
    pub fn take_stored_records(&self) -> Vec<Record> {
        let mut state = self.lock();
        let (end, _) = state.stores.end((state.head, state.next_sequence));
        self.take_before(&mut state, end)
    }

    fn take_before(&self, state: &mut State, end: u64) -> Vec<Record> {
        let last = state.last.take();
        state.logged.extend(last);
        let whole = |record: &&Record| record.end(self.weighted) <= end;
        let count = state.logged.iter().take_while(whole).count();
        let mut taken: Vec<Record> = state.logged.drain(..count).collect();
        if let Some(next) = state.logged.front_mut().filter(|next| next.position < end) {
            taken.extend(next.split_before(end));
        }
        state.last = state.logged.pop_back();
        if let Some(last) = taken.last() {
            state.first_untaken = last.end_sequence();
        }
        taken
    }

    /// Frees the taken records that end at or before `sequence`; the caller has made durable
    /// elsewhere what they say. The tail is then where the first other record begins, and that
    /// record and all after it are found by the next opening, whether they were taken or not.
    ///
    /// Cost: one fence, and one header read for each record that is freed, unless all taken ones are.
    ///
    /// # Errors
    /// `Corruption` if a header is no longer what was written; then the tail stays.
    pub fn free_before(&self, sequence: u64, checkpoint: Checkpoint) -> Result<()> {
        let anchoring = self.anchoring.lock();
        let state = self.lock();
        let (anchor, taken_end) = (state.anchor, state.taken_end());
        drop(state);
        let tail = match sequence >= taken_end.sequence {
            true => taken_end,
            false => self.boundary_before(&anchor, sequence, taken_end)?,
        };
        self.change_anchor(&anchoring, |_, anchor| {
            anchor.tail = tail.position;
            anchor.tail_generation = tail.generation;
            anchor.tail_sequence = tail.sequence;
            anchor.checkpoint = checkpoint;
        })?;
        // The lists have taken some of what they had.
        self.state.lock().granted = 0;
        Ok(())
    }

    /// Returns the bytes that the ring must have for `batch` to fit while it is empty.
    pub fn bytes_for(&self, batch: &Batch) -> u64 {
        let anchor = self.anchor();
        record_bytes(batch.len() as u64, batch.is_weighted())
            + kept_for_deletions(&anchor, batch.only_takes_away())
    }

    /// Returns the bytes that the ring may take at most.
    pub fn capacity(&self) -> u64 {
        self.anchor().capacity
    }

    /// Returns the bytes that the ring takes on the medium now.
    pub fn allocated(&self) -> u64 {
        self.region.len().saturating_sub(RING_OFFSET)
    }

    fn store(&self, anchor: &Anchor, position: u64, words: &[u32]) {
        let mut rest = words;
        for range in ring_ranges(anchor, position, position + 4 * words.len() as u64) {
            let (part, after) = rest.split_at(((range.end - range.start) / 4) as usize);
            self.region.store_words(range.start, part);
            rest = after;
        }
    }
}

fn split(number: u64) -> [u32; 2] {
    [number as u32, (number >> 32) as u32]
}

fn join(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}
