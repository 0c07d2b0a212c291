//! Batches of one update: a line each, which its writer stores past the cache and fences beside
//! other writers.
//!
//! Lines are taken from a window of the ring (`window.rs`), so that writers share neither the log's
//! lock nor a fence. An edge is acknowledged when its own line is durable, whatever lines of other
//! writers before it are: those are not acknowledged then, or durable, too. A line that nobody has
//! written when its window is closed becomes *void*: an update that changes nothing.
//!
//! Edges without weights commute, so a writer claims several lines at a time. A weight must be that of
//! the edge that was inserted last: where there are weights a line is claimed when it is written.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::record::{
    Aligned, BODY_WORDS, COMMIT_MAGIC, COMMIT_WORDS, HEADER_WORDS, Header, LINE_BYTES, LINE_WORDS,
    Record, VOID_BODY, WINDOW_LINES_MAX, record_bytes,
};
use super::window::{Closed, Frame, Line, Slot, Window};
use super::{Appended, EdgeLog, State, kept_for_deletions, ring_ranges, split};
use crate::{Error, Result};
use everedge_medium::Site;

/// Lines of a window at least: enough that opening it costs little.
const WINDOW_LINES_MIN: u64 = 256;
/// A window has at most this share of the lines that the ring has had.
const WINDOW_SHARE: u64 = 4;
/// A writer claims at most so many lines at a time,
const CLAIMED_MAX: u64 = 16;
/// and at most this share of a window.
const CLAIMED_SHARE: u64 = 8;

/// What writers of single lines share.
pub(super) struct Lines {
    window: Window,
    /// Which of all logs of this process it is of.
    log: u64,
}

thread_local! {
    /// What this thread has of the windows of some logs.
    static SLOTS: RefCell<Vec<(u64, Arc<Slot>)>> = const { RefCell::new(Vec::new()) };
}

impl Lines {
    pub(super) fn new() -> Self {
        static LOGS: AtomicU64 = AtomicU64::new(0);
        Self { window: Window::new(), log: LOGS.fetch_add(1, Ordering::Relaxed) }
    }
}

impl Line {
    /// Returns its place in the file.
    fn offset(&self) -> u64 {
        self.frame.offset + LINE_BYTES * self.index
    }
}

/// A line that was begun. If it is dropped before it is finished, it will be void.
struct Unfinished<'a> {
    slot: &'a Slot,
    line: &'a Line,
}

impl Unfinished<'_> {
    fn finish(self) {
        self.slot.finish(self.line, true);
        std::mem::forget(self);
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        self.slot.finish(self.line, false);
    }
}

impl EdgeLog {
    /// Returns whether single updates are best written by [`append_line`](Self::append_line).
    pub fn takes_lines(&self) -> bool {
        self.region.streams()
    }

    /// Appends the insertion of one edge as a batch and makes it durable. It may find the log full where a batch
    /// still has room.
    ///
    /// # Errors
    /// As [`append`](Self::append), and if the fence fails.
    pub fn append_line(&self, edge: (u32, u32), weight: Option<u32>) -> Result<Appended> {
        debug_assert_eq!(record_bytes(1, weight.is_some()), LINE_BYTES);
        let is_of_log = |(log, _): &&(u64, _)| *log == self.lines.log;
        let append = |slots: &RefCell<Vec<(u64, Arc<Slot>)>>| {
            if let Some((_, slot)) = slots.borrow().iter().find(is_of_log) {
                return self.append_to(slot, edge, weight);
            }
            let slot = self.new_slot();
            let mut slots = slots.borrow_mut();
            // Those that no log has any more are of no use.
            slots.retain(|(_, slot)| Arc::strong_count(slot) > 1);
            slots.push((self.lines.log, slot.clone()));
            drop(slots);
            self.append_to(&slot, edge, weight)
        };
        // A thread that ends has no slots any more.
        SLOTS.try_with(append).unwrap_or(Ok(Appended::Full))
    }

    /// Returns a slot for the calling thread.
    fn new_slot(&self) -> Arc<Slot> {
        let slot = Arc::new(Slot::new());
        self.state.lock().slots.push(slot.clone());
        slot
    }

    #[inline]
    fn append_to(
        &self,
        slot: &Slot,
        (src, dst): (u32, u32),
        weight: Option<u32>,
    ) -> Result<Appended> {
        let line = loop {
            match self.lines.window.begin(slot) {
                Some(line) => break line,
                None if self.open_window()? => {}
                None => return Ok(Appended::Full),
            }
        };
        let unfinished = Unfinished { slot, line: &line };
        let note = line.distance as u32 + 1;
        let words = self.encode_line([src, dst, weight.unwrap_or(0), note], &line);
        self.region.stream_line(Site::LogRecord, line.offset(), &words);
        self.region.fence(Site::LogRecord)?;
        unfinished.finish();
        let position = LINE_BYTES * (line.number() + 1);
        Ok(Appended::At { position, untaken: line.sequence() + 1 - line.frame.first_untaken })
    }

    fn encode_line(&self, body: [u32; BODY_WORDS], line: &Line) -> [u32; LINE_WORDS] {
        let header = Header {
            generation: line.frame.generation as u32,
            count: 1,
            has_vertex_updates: false,
            sequence: line.sequence(),
            durable_sequence: line.frame.sequence,
        };
        encode_line(self.salt, LINE_BYTES * line.number(), &header, body)
    }

    /// Opens a window of the next lines, if no other has lines left. Returns false if the ring has
    /// no room for one.
    fn open_window(&self) -> Result<bool> {
        loop {
            let mut state = self.open_state(false);
            if state.is_window_open && self.lines.window.has_lines() {
                return Ok(true);
            }
            self.close_window(&mut state);
            // Writers of lines fence nothing but their own.
            self.wait_for_all_stores(&mut state)?;
            self.fence_up_to(&state.anchor, state.head, state.next_sequence)?;
            let kept = kept_for_deletions(&state.anchor, false);
            let Some(place) = window_place(&state, kept) else { return Ok(false) };
            let missing = self.missing_room(&state, place.end - place.start, kept);
            let Some(missing) = missing else {
                self.open_window_at(&mut state, place);
                return Ok(true);
            };
            drop(state);
            match self.make_room(missing) {
                Err(Error::NoSpace { .. }) => return Ok(false),
                outcome => outcome?,
            }
        }
    }

    fn open_window_at(&self, state: &mut State, place: Range<u64>) {
        let frame = Frame {
            number: state.head / LINE_BYTES,
            sequence: state.next_sequence,
            first_untaken: state.first_untaken,
            offset: place.start,
            generation: state.anchor.generation.into(),
        };
        let lines = (place.end - place.start) / LINE_BYTES;
        let claimed = if self.weighted { 1 } else { (lines / CLAIMED_SHARE).clamp(1, CLAIMED_MAX) };
        self.lines.window.open(frame, lines, claimed);
        state.is_window_open = true;
    }

    /// Closes the window if it is open, and notes the lines that were written.
    pub(super) fn close_window(&self, state: &mut State) {
        if !std::mem::take(&mut state.is_window_open) {
            return;
        }
        let Closed { frame, count, holes } =
            self.lines.window.close(state.slots.iter().map(|slot| &**slot));
        // Those of threads that have ended are of no use any more.
        state.slots.retain(|slot| Arc::strong_count(slot) > 1);
        if count == 0 {
            return;
        }
        for number in holes.iter().cloned().flatten() {
            let line = Line { frame, index: number - frame.number, distance: 0 };
            let words = self.encode_line(VOID_BODY, &line);
            self.region.stream_line(Site::LogRecord, line.offset(), &words);
        }
        if !holes.is_empty() {
            // After a fence that fails nothing is written any more; whoever opens the log finds the holes.
            let _failed = self.region.fence(Site::LogRecord);
        }
        let (start, generation) = (state.head, frame.generation as u32);
        state.note(Record::of_lines(start, state.next_sequence, count as u32, generation));
        state.head += LINE_BYTES * count;
        state.next_sequence += count;
        self.durable.raise(state.head, state.next_sequence);
    }
}

/// Returns the words of the line at `position`.
pub(super) fn encode_line(
    salt: u32,
    position: u64,
    header: &Header,
    body: [u32; BODY_WORDS],
) -> [u32; LINE_WORDS] {
    let [e0, e1] = split(header.sequence + 1);
    let header = header.encode(salt, position);
    let mut words = [0; LINE_WORDS];
    words[..HEADER_WORDS].copy_from_slice(&header);
    words[HEADER_WORDS..HEADER_WORDS + BODY_WORDS].copy_from_slice(&body);
    // As `encode_commit`, in one go.
    let mut covered = Aligned([e0; LINE_WORDS - 2]);
    covered.0[..BODY_WORDS].copy_from_slice(&body);
    covered.0[BODY_WORDS..BODY_WORDS + HEADER_WORDS].copy_from_slice(&header);
    covered.0[LINE_WORDS - 3] = e1;
    let crc = crc32c::crc32c_append(salt, bytemuck::cast_slice(&covered.0));
    words[LINE_WORDS - COMMIT_WORDS..].copy_from_slice(&[COMMIT_MAGIC, crc, e0, e1]);
    words
}

/// Returns the place in the file of a window at the head, if the ring has room for one.
fn window_place(state: &State, kept: u64) -> Option<Range<u64>> {
    let State { anchor, head, .. } = state;
    let lines = (head - anchor.base) / LINE_BYTES / WINDOW_SHARE;
    let lines = lines.clamp(WINDOW_LINES_MIN, WINDOW_LINES_MAX);
    let place = ring_ranges(anchor, *head, head + lines * LINE_BYTES).next()?;
    let free = (anchor.capacity - (head - anchor.tail)).saturating_sub(kept);
    let bytes = (place.end - place.start).min(free / LINE_BYTES * LINE_BYTES);
    (bytes > 0).then(|| place.start..place.start + bytes)
}
