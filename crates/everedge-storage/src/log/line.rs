//! Batches of one update: a line each, which its writer stores and fences beside other writers.
//!
//! A writer takes the next line under the log's lock, stores it past the cache, waits for its own
//! fence, and then for those before it: what is acknowledged is a prefix. So the waits of several
//! writers overlap, where a shared fence would have them take turns.

use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::MutexGuard;

use super::record::{
    COMMIT_MAGIC, COMMIT_WORDS, HEADER_WORDS, LINE_BYTES, LINE_WORDS, encode_header, record_bytes,
};
use super::{Appended, EdgeLog, State, kept_for_deletions, ring_ranges, split};
use crate::Result;
use crate::batch::DELETION;
use crate::medium::Site;

/// Words of a line between header and commit.
const BODY_WORDS: usize = LINE_WORDS - HEADER_WORDS - COMMIT_WORDS;
/// How often a writer looks whether those before it are through, before it lets others run.
const SPINS: u32 = 200;

/// How far all records have come: a place in the log and the number of the update there.
#[derive(Debug)]
pub(super) struct Watermark {
    position: AtomicU64,
    /// Raised after the place: whoever reads it first reads none that is too high.
    sequence: AtomicU64,
}

/// Both, side by side: a writer raises one after the other.
#[derive(Debug)]
pub(super) struct Watermarks {
    /// Up to where all records are stored.
    pub(super) stored: Watermark,
    /// Up to where they are fenced.
    pub(super) durable: Watermark,
}

impl Watermarks {
    pub(super) fn new(position: u64, sequence: u64) -> Self {
        let [stored, durable] = [0, 1].map(|_| Watermark::new(position, sequence));
        Self { stored, durable }
    }
}

impl Watermark {
    fn new(position: u64, sequence: u64) -> Self {
        Self { position: position.into(), sequence: sequence.into() }
    }

    #[inline]
    pub(super) fn position(&self) -> u64 {
        self.position.load(Ordering::Acquire)
    }

    #[inline]
    pub(super) fn sequence(&self) -> u64 {
        self.sequence.load(Ordering::Acquire)
    }

    /// Returns a place, and the number of an update there or before it.
    pub(super) fn both(&self) -> (u64, u64) {
        let sequence = self.sequence();
        (self.position(), sequence)
    }

    /// Raises it, unless it is higher.
    pub(super) fn raise(&self, position: u64, sequence: u64) {
        self.position.fetch_max(position, Ordering::AcqRel);
        self.sequence.fetch_max(sequence, Ordering::AcqRel);
    }

    /// Raises it, by the only one who can raise it so far.
    #[inline]
    fn set(&self, position: u64, sequence: u64) {
        self.position.store(position, Ordering::Release);
        self.sequence.store(sequence, Ordering::Release);
    }

    /// Waits until all before `start` have come so far, then raises it.
    pub(super) fn advance_in_turn(&self, start: u64, position: u64, sequence: u64) {
        self.wait_for(start);
        self.set(position, sequence);
    }

    /// Waits until it is at `position` or past it.
    #[inline]
    pub(super) fn wait_for(&self, position: u64) {
        let mut spins = 0;
        while self.position() < position {
            spins += 1;
            match spins < SPINS {
                true => std::hint::spin_loop(),
                false => std::thread::yield_now(),
            }
        }
    }
}

impl EdgeLog {
    /// Returns whether single updates are best written by [`append_line`](Self::append_line).
    pub(crate) fn takes_lines(&self) -> bool {
        self.region.streams()
    }

    /// Like `open_state`: the lock is held for so short that waiting asleep takes longer.
    fn open_state_soon(&self) -> MutexGuard<'_, State> {
        for _ in 0..SPINS {
            match self.state.try_lock() {
                Some(state) if !state.is_kept => return state,
                Some(_) => break,
                None => std::hint::spin_loop(),
            }
        }
        self.open_state(false)
    }

    /// Appends a batch of one update, of which `src` carries the mark of a deletion, and makes it
    /// durable.
    ///
    /// # Errors
    /// As [`append`](Self::append), and if the fence fails.
    pub(crate) fn append_line(
        &self,
        (src, dst): (u32, u32),
        weight: Option<u32>,
    ) -> Result<Appended> {
        let mut line = [0; LINE_WORDS];
        line[HEADER_WORDS..HEADER_WORDS + 3].copy_from_slice(&[src, dst, weight.unwrap_or(0)]);
        let mut state = self.open_state_soon();
        let kept = kept_for_deletions(&state.anchor, src & DELETION != 0);
        debug_assert_eq!(record_bytes(1, weight.is_some()), LINE_BYTES);
        let Some(record) = self.reserve(&mut state, (LINE_BYTES, kept), 1, false)? else {
            return Ok(Appended::Full);
        };
        let (anchor, untaken) = (state.anchor, state.untaken());
        drop(state);
        let header = encode_header(&anchor, 1, 0, [record.sequence, self.marks.durable.sequence()]);
        line[..HEADER_WORDS].copy_from_slice(&header);
        // As `encode_commit`, in one go.
        let [e0, e1] = split(record.end_sequence());
        let mut covered = [e0; LINE_WORDS - 2];
        covered[..BODY_WORDS].copy_from_slice(&line[HEADER_WORDS..LINE_WORDS - COMMIT_WORDS]);
        covered[BODY_WORDS..BODY_WORDS + HEADER_WORDS].copy_from_slice(&header);
        covered[LINE_WORDS - 3] = e1;
        let crc = crc32c::crc32c_append(self.salt, bytemuck::cast_slice(&covered));
        line[LINE_WORDS - COMMIT_WORDS..].copy_from_slice(&[COMMIT_MAGIC, crc, e0, e1]);
        let (start, position) = (record.start(), record.start() + LINE_BYTES);
        for range in ring_ranges(&anchor, start, position) {
            self.region.stream_line(Site::LogRecord, range.start, &line);
        }
        let fenced = self.region.fence(Site::LogRecord);
        self.marks.stored.wait_for(start);
        // In its turn nobody else can make more durable than what is stored.
        let is_next = self.marks.durable.position() == start;
        if is_next && fenced.is_ok() {
            self.marks.durable.set(position, record.end_sequence());
        }
        self.marks.stored.set(position, record.end_sequence());
        fenced?;
        if !is_next {
            self.make_durable(position)?;
        }
        Ok(Appended::At { position, untaken })
    }
}
