//! Batches of one update: a line each, which its writer stores past the cache and fences beside
//! other writers.
//!
//! Lines are taken from a window of the ring (`window.rs`), so that writers share neither the log's
//! lock nor a fence.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::record::{
    Aligned, COMMIT_MAGIC, COMMIT_WORDS, HEADER_WORDS, Header, LINE_BYTES, LINE_WORDS, Record,
    record_bytes,
};
use super::window::{Frame, Line, OwnLine, Window};
use super::{Appended, EdgeLog, State, kept_for_deletions, ring_ranges, split};
use crate::{Error, Result};
use everedge_medium::Site;

/// Words of a line between header and commit.
const BODY_WORDS: usize = LINE_WORDS - HEADER_WORDS - COMMIT_WORDS;
/// Lines of a window: enough that opening it costs little.
const WINDOW_LINES: u64 = 256;
/// Groups of writers that remember together how far lines are durable.
const GROUPS: usize = 16;

/// What writers of single lines share.
pub(super) struct Lines {
    window: Window,
    /// For each group of writers a line up to which all are known to be durable; each is true of
    /// all lines, so that it does not matter whose it is.
    durable: [OwnLine<AtomicU64>; GROUPS],
}

impl Lines {
    pub(super) fn new() -> Self {
        let durable = [0; GROUPS].map(|line| OwnLine(AtomicU64::new(line)));
        Self { window: Window::new(WINDOW_LINES as usize), durable }
    }

    /// Returns what the calling thread's group remembers.
    fn durable(&self) -> &AtomicU64 {
        static THREADS: AtomicUsize = AtomicUsize::new(0);
        thread_local! {
            static NUMBER: usize = THREADS.fetch_add(1, Ordering::Relaxed);
        }
        &self.durable[NUMBER.with(|number| number % GROUPS)].0
    }
}

/// A line that was claimed. If it is dropped before it is finished, neither it nor what comes after it is
/// acknowledged.
struct Unfinished<'a> {
    window: &'a Window,
    number: u64,
}

impl Unfinished<'_> {
    fn finish(self) {
        self.window.finish(self.number, true);
        std::mem::forget(self);
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        self.window.finish(self.number, false);
    }
}

impl EdgeLog {
    /// Returns whether single updates are best written by [`append_line`](Self::append_line).
    pub fn takes_lines(&self) -> bool {
        self.region.streams()
    }

    /// Appends a batch of one update, of which `src` carries the mark of a deletion, and makes it
    /// durable. It may find the log full where a batch still has room.
    ///
    /// # Errors
    /// As [`append`](Self::append), and if the fence fails.
    pub fn append_line(&self, (src, dst): (u32, u32), weight: Option<u32>) -> Result<Appended> {
        debug_assert_eq!(record_bytes(1, weight.is_some()), LINE_BYTES);
        let line = loop {
            match self.lines.window.claim() {
                Some(line) => break line,
                None if self.open_window()? => {}
                None => return Ok(Appended::Full),
            }
        };
        let (number, sequence) = (line.number(), line.frame.sequence + line.index);
        let unfinished = Unfinished { window: &self.lines.window, number };
        let group = self.lines.durable();
        let durable = group.load(Ordering::Relaxed).clamp(line.frame.number, number);
        let sequences = [sequence, line.frame.sequence + durable - line.frame.number];
        let words = self.encode_line([src, dst, weight.unwrap_or(0)], &line, sequences);
        let offset = line.frame.offset + LINE_BYTES * line.index;
        self.region.stream_line(Site::LogRecord, offset, &words);
        self.region.fence(Site::LogRecord)?;
        unfinished.finish();
        let position = LINE_BYTES * (number + 1);
        match self.lines.window.wait_for(durable, number) {
            true => group.store(number + 1, Ordering::Relaxed),
            false => self.make_durable(position)?,
        }
        Ok(Appended::At { position, untaken: sequence + 1 - line.frame.first_untaken })
    }

    fn encode_line(
        &self,
        update: [u32; 3],
        line: &Line,
        [sequence, durable]: [u64; 2],
    ) -> [u32; LINE_WORDS] {
        let header = Header {
            generation: line.frame.generation as u32,
            count: 1,
            has_vertex_updates: false,
            sequence,
            durable_sequence: durable,
        };
        let header = header.encode(self.salt, LINE_BYTES * line.number());
        let mut words = [0; LINE_WORDS];
        words[..HEADER_WORDS].copy_from_slice(&header);
        words[HEADER_WORDS..HEADER_WORDS + 3].copy_from_slice(&update);
        // As `encode_commit`, in one go.
        let [e0, e1] = split(sequence + 1);
        let mut covered = Aligned([e0; LINE_WORDS - 2]);
        covered.0[..BODY_WORDS].copy_from_slice(&words[HEADER_WORDS..LINE_WORDS - COMMIT_WORDS]);
        covered.0[BODY_WORDS..BODY_WORDS + HEADER_WORDS].copy_from_slice(&header);
        covered.0[LINE_WORDS - 3] = e1;
        let crc = crc32c::crc32c_append(self.salt, bytemuck::cast_slice(&covered.0));
        words[LINE_WORDS - COMMIT_WORDS..].copy_from_slice(&[COMMIT_MAGIC, crc, e0, e1]);
        words
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
        self.lines.window.open(frame, (place.end - place.start) / LINE_BYTES);
        state.is_window_open = true;
    }

    /// Closes the window if it is open, and notes the lines that were written.
    pub(super) fn close_window(&self, state: &mut State) {
        if !state.is_window_open {
            return;
        }
        let closed = self.lines.window.close();
        state.is_window_open = false;
        if closed.count == 0 {
            return;
        }
        let (start, generation) = (state.head, closed.frame.generation as u32);
        state.note(Record::of_lines(start, state.next_sequence, closed.count as u32, generation));
        let durable = start + LINE_BYTES * closed.durable;
        self.durable.raise(durable, state.next_sequence + closed.durable);
        if closed.durable < closed.count {
            self.give_up(state, (durable, state.next_sequence + closed.durable));
        }
        state.head += LINE_BYTES * closed.count;
        state.next_sequence += closed.count;
    }
}

/// Returns the place in the file of a window at the head, if the ring has room for one.
fn window_place(state: &State, kept: u64) -> Option<Range<u64>> {
    let State { anchor, head, .. } = state;
    let place = ring_ranges(anchor, *head, head + WINDOW_LINES * LINE_BYTES).next()?;
    let free = (anchor.capacity - (head - anchor.tail)).saturating_sub(kept);
    let bytes = (place.end - place.start).min(free / LINE_BYTES * LINE_BYTES);
    (bytes > 0).then(|| place.start..place.start + bytes)
}
