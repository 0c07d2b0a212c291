//! Batches of one update: a line each, which its writer stores and fences beside other writers.
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
use std::sync::atomic::{AtomicU64, Ordering, fence};

use super::record::{
    BODY_WORDS, COMMIT_MAGIC, Header, LINE_BYTES, LINE_WORDS, Record, VOID_BODY, WINDOW_LINES_MAX,
    record_bytes,
};
use super::window::{Closed, Frame, Slot, Window};
use super::{Appended, EdgeLog, State, join, kept_for_deletions, ring_ranges};
use crate::{Error, Result};
use everedge_medium::{Site, crc32c_of_few};

/// Lines of a window at least: enough that opening it costs little.
const WINDOW_LINES_MIN: u64 = 256;
/// A window has at most this share of the lines that the ring has had.
const WINDOW_SHARE: u64 = 4;
/// A writer claims at most so many lines at a time,
const CLAIM_LINES_MAX: u64 = 16;
/// so that every writer can claim so often in one window,
const CLAIMS: u64 = 2;
/// and as many as if there were so many writers.
const WRITERS_MIN: u64 = 4;

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

    /// Returns how many lines of the open window are claimed. The caller holds the log's lock.
    pub(super) fn claimed(&self) -> u64 {
        self.window.claimed()
    }
}

/// A line that was begun. If it is dropped before it is finished, it will be void.
struct Unfinished<'a> {
    slot: &'a Slot,
    number: u64,
}

impl Unfinished<'_> {
    fn finish(self) {
        self.slot.finish(self.number, true);
        std::mem::forget(self);
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        // What the writer has stored of the line does not come after what makes it void.
        fence(Ordering::SeqCst);
        self.slot.finish(self.number, false);
    }
}

impl EdgeLog {
    /// Returns whether single updates are best written by [`append_line`](Self::append_line).
    pub fn takes_lines(&self) -> bool {
        self.region.streams()
    }

    /// Appends the insertion of one edge as a batch and makes it durable. It may find the log full where
    /// a batch still has room.
    ///
    /// # Errors
    /// As [`append`](Self::append), and if the fence fails.
    #[inline]
    pub fn append_line(&self, edge: (u32, u32), weight: Option<u32>) -> Result<Appended> {
        debug_assert_eq!(record_bytes(1, weight.is_some()), LINE_BYTES);
        let is_of_log = |(log, _): &&(u64, _)| *log == self.lines.log;
        let append = |slots: &RefCell<Vec<(u64, Arc<Slot>)>>| {
            if let Some((_, slot)) = slots.borrow().iter().find(is_of_log) {
                return self.append_to(slot, edge, weight);
            }
            self.add_slot(&mut slots.borrow_mut());
            self.append_line(edge, weight)
        };
        // A thread that ends has no slots any more.
        SLOTS.try_with(append).unwrap_or(Ok(Appended::Full))
    }

    /// Adds a slot of the calling thread to those that it has.
    #[cold]
    fn add_slot(&self, slots: &mut Vec<(u64, Arc<Slot>)>) {
        let slot = Arc::new(Slot::new());
        self.state.lock().slots.push(slot.clone());
        // Those that no log has any more are of no use.
        slots.retain(|(_, slot)| Arc::strong_count(slot) > 1);
        slots.push((self.lines.log, slot));
    }

    #[inline]
    fn append_to(
        &self,
        slot: &Slot,
        (src, dst): (u32, u32),
        weight: Option<u32>,
    ) -> Result<Appended> {
        let number = loop {
            match self.lines.window.begin(slot) {
                Some(number) => break number,
                None if self.open_window()? => {}
                None => return Ok(Appended::Full),
            }
        };
        let unfinished = Unfinished { slot, number };
        let frame = self.lines.window.frame();
        let note = slot.distance(number) as u32 + 1;
        self.store_line(&frame, number, [src, dst, weight.unwrap_or(0), note]);
        self.region.fence(Site::LogRecord)?;
        unfinished.finish();
        let untaken = frame.sequence_of(number) + 1 - frame.first_untaken;
        Ok(Appended::At { position: LINE_BYTES * (number + 1), untaken })
    }

    /// Stores a line on its way to persist.
    #[inline]
    fn store_line(&self, frame: &Frame, number: u64, body: [u32; BODY_WORDS]) {
        let header = Header {
            generation: frame.generation as u32,
            count: 1,
            has_vertex_updates: false,
            sequence: frame.sequence_of(number),
            durable_sequence: frame.sequence,
        };
        let line = encode_line(self.salt, LINE_BYTES * number, &header, body);
        let offset = frame.offset + LINE_BYTES * (number - frame.number);
        self.region.persist_line(Site::LogRecord, offset, line);
    }

    /// Opens a window of the next lines, if no other has lines left. Returns false if the ring has
    /// no room for one.
    #[cold]
    fn open_window(&self) -> Result<bool> {
        let mut lines_max = WINDOW_LINES_MAX;
        loop {
            let mut state = self.open_state(false);
            if state.is_window_open && self.lines.window.has_lines() {
                return Ok(true);
            }
            self.close_window(&mut state);
            self.refuse_if_broken(&state)?;
            // Writers of lines fence nothing but their own.
            self.wait_for_all_stores(&mut state)?;
            self.fence_up_to(&state.anchor, state.head, state.next_sequence)?;
            let kept = kept_for_deletions(&state.anchor, false);
            let kept_from = self.kept_from(&mut state);
            let place = window_place(&state, kept_from, kept, lines_max);
            let Some(place) = place else { return Ok(false) };
            let missing = self.missing_room(&state, place.end - place.start, kept);
            let Some(missing) = missing else {
                self.open_window_at(&mut state, place);
                return Ok(true);
            };
            drop(state);
            match self.make_room(missing) {
                Err(Error::NoSpace { .. }) if lines_max > WINDOW_LINES_MIN => {
                    lines_max = WINDOW_LINES_MIN;
                }
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
        let claims = CLAIMS * WRITERS_MIN.max(state.slots.len() as u64);
        let claim_lines =
            if self.weighted { 1 } else { (lines / claims).clamp(1, CLAIM_LINES_MAX) };
        self.lines.window.open(frame, lines, claim_lines);
        state.is_window_open = true;
    }

    /// Closes the window if it is open, and notes the lines that were written; those that were only claimed
    /// become void.
    pub(super) fn close_window(&self, state: &mut State) {
        // What a forked child sees of the window belongs to its parent.
        if matches!(self.region.check_health(), Err(Error::Forked)) {
            return;
        }
        if std::mem::take(&mut state.is_window_open) {
            let slots = state.slots.iter().map(|slot| &**slot);
            state.closed = Some(self.lines.window.close(slots));
            // Those of threads that have ended are of no use any more.
            state.slots.retain(|slot| Arc::strong_count(slot) > 1);
        }
        // If a call of the medium panics, whoever locks the log next goes on from here.
        let Some(Closed { frame, count, holes }) = &state.closed else { return };
        for number in holes.iter().cloned().flatten() {
            self.store_line(frame, number, VOID_BODY);
        }
        if !holes.is_empty() && self.region.fence(Site::LogRecord).is_err() {
            // A later record would say that they are durable.
            state.stores.break_off();
        }
        let (count, generation) = (*count, frame.generation as u32);
        state.closed = None;
        if count == 0 {
            return;
        }
        let start = state.head;
        state.note(Record::of_lines(start, state.next_sequence, count as u32, generation));
        state.head += LINE_BYTES * count;
        state.next_sequence += count;
        self.durable.raise(state.head, state.next_sequence);
    }
}

/// Returns the line at `position`, two words each.
#[inline]
pub(super) fn encode_line(
    salt: u32,
    position: u64,
    header: &Header,
    body: [u32; BODY_WORDS],
) -> [u64; LINE_WORDS / 2] {
    let [h0, h1, h2, h3] = header.encode_pairs(salt, position);
    let [b0, b1] = [join(body[0], body[1]), join(body[2], body[3])];
    let end = header.sequence + 1;
    // As `encode_commit`, in one go.
    let crc = crc32c_of_few(salt, bytemuck::cast_slice(&[b0, b1, h0, h1, h2, h3, end]));
    [h0, h1, h2, h3, b0, b1, join(COMMIT_MAGIC, crc), end]
}

/// Returns the place in the file of a window of `lines_max` lines at the head, or fewer, if the ring has
/// room for one.
fn window_place(state: &State, kept_from: u64, kept: u64, lines_max: u64) -> Option<Range<u64>> {
    let State { anchor, head, .. } = state;
    let lines = (head - anchor.base) / LINE_BYTES / WINDOW_SHARE;
    let lines = lines.clamp(WINDOW_LINES_MIN, lines_max);
    let place = ring_ranges(anchor, *head, head + lines * LINE_BYTES).next()?;
    let free = (anchor.capacity - (head - kept_from)).saturating_sub(kept);
    let bytes = (place.end - place.start).min(free / LINE_BYTES * LINE_BYTES);
    (bytes > 0).then(|| place.start..place.start + bytes)
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::mpsc;

    use super::super::{Checkpoint, RING_OFFSET};
    use super::*;
    use crate::batch::Batch;
    use everedge_medium::{MediumKind, Recorder, Region, Volume};

    const SALT: u32 = 7;

    /// A log to which two writers append single edges: in turn so many each, of the edges (0, 0), (0, 1)
    /// and so on the first, and the other (1, 0) and so on.
    fn log_of_writers(counts: &[[u32; 2]]) -> (Recorder, Region, EdgeLog) {
        let (volume, recorder) = Volume::recorded(MediumKind::Pmem { emulated: true }, false);
        let region = volume.create_region("log", RING_OFFSET).unwrap();
        let log = EdgeLog::create(region.clone(), 1 << 20, false, SALT).unwrap();
        write_in_turn(&log, counts);
        (recorder, region, log)
    }

    fn write_in_turn(log: &EdgeLog, counts: &[[u32; 2]]) {
        log.begin_writing().unwrap();
        assert!(log.takes_lines());
        let mut next = [0; 2];
        std::thread::scope(|scope| {
            let writers = [0, 1].map(|writer| {
                let (send, numbers) = mpsc::channel();
                let (done, is_done) = mpsc::channel();
                scope.spawn(move || {
                    for number in numbers {
                        log.append_line((writer, number), None).unwrap();
                        done.send(()).unwrap();
                    }
                });
                (send, is_done)
            });
            for (writer, &count) in counts.iter().flat_map(|counts| counts.iter().enumerate()) {
                let (send, is_done) = &writers[writer];
                for _ in 0..count {
                    send.send(next[writer]).unwrap();
                    is_done.recv().unwrap();
                    next[writer] += 1;
                }
            }
        });
    }

    fn append(log: &EdgeLog, edges: &[(u32, u32)]) {
        log.begin_writing().unwrap();
        let batch = Batch::insertions(edges.iter().copied(), None).unwrap();
        assert!(matches!(log.append(&batch, false).unwrap(), Appended::At { .. }));
        log.make_all_durable().unwrap();
    }

    fn damage(region: &Region, line: u64) {
        let offset = RING_OFFSET + LINE_BYTES * line + 32;
        let word = region.words(offset, 1)[0].load(Ordering::Relaxed);
        region.store_words(offset, &[word ^ 1]);
    }

    /// Takes all edges.
    fn edges(log: &EdgeLog) -> Vec<(u32, u32)> {
        let mut edges = Vec::new();
        for record in log.take_records() {
            log.for_each_update(&record, 0..record.count, |_, u, v| edges.push((u, v)));
        }
        edges
    }

    /// Writers claim 16 lines each: of the first's, 14 are neither written nor void yet.
    const HOLE: [[u32; 2]; 1] = [[2, 3]];
    const HOLE_EDGES: [(u32, u32); 5] = [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2)];

    #[test]
    fn lines_that_were_claimed_and_not_written_are_void() {
        let (_recorder, region, log) = log_of_writers(&HOLE);
        assert_eq!(edges(&log), HOLE_EDGES);
        assert_eq!(log.next_sequence(), 16 + 3, "nothing lies after the last line");
        append(&log, &[(7, 7), (8, 8)]);
        let again = EdgeLog::open(region, false, SALT).unwrap();
        assert_eq!((again.found(), again.next_sequence()), ((6, 7), 21));
        assert_eq!(edges(&again), [&HOLE_EDGES[..], &[(7, 7), (8, 8)]].concat());
    }

    #[test]
    fn acknowledged_lines_after_a_hole_are_found() {
        let (_recorder, region, _log) = log_of_writers(&HOLE);
        for opening in 0..2 {
            let again = EdgeLog::open(region.clone(), false, SALT).unwrap();
            assert_eq!((again.found(), again.next_sequence()), ((5, 5), 19), "opening {opening}");
            assert_eq!(edges(&again), HOLE_EDGES);
        }
        let again = EdgeLog::open(region.clone(), false, SALT).unwrap();
        append(&again, &[(7, 7)]);
        assert_eq!(edges(&again).len(), 6);
        again.free_before(3, Checkpoint::default()).unwrap();
        let again = EdgeLog::open(region, false, SALT).unwrap();
        assert_eq!(edges(&again), [(1, 0), (1, 1), (1, 2), (7, 7)]);
    }

    /// What each line says of its writer's last one.
    #[test]
    fn a_damaged_line_before_another_of_its_writer_is_found() {
        let counts = [[16, 1], [1, 0]];
        let (_recorder, region, log) = log_of_writers(&counts);
        drop(log);
        // Of the first writer's lines, numbers 0 to 15 and 32, only the last may be torn.
        for number in (0..16).chain([32]) {
            damage(&region, number);
            let log = EdgeLog::open(region.clone(), false, SALT).unwrap();
            match &log.damage()[..] {
                [] => assert_eq!((number, log.found()), (32, (17, 17))),
                [Error::Corruption { offset, what, .. }] => {
                    assert_eq!(*offset, RING_OFFSET + LINE_BYTES * number);
                    assert!(what.contains("was durable"), "{what}");
                    assert_eq!(log.found(), (17, 17), "the others");
                }
                damage => panic!("{damage:?}"),
            }
            damage(&region, number);
        }
    }

    /// It proves all lines before it.
    #[test]
    fn a_damaged_line_before_a_later_batch_is_found() {
        for number in [1, 5, 18] {
            let (_recorder, region, log) = log_of_writers(&HOLE);
            append(&log, &[(7, 7)]);
            append(&log, &[(8, 8)]);
            damage(&region, number);
            let log = EdgeLog::open(region, false, SALT).unwrap();
            let damage: Vec<String> = log.damage().iter().map(Error::to_string).collect();
            assert_eq!(damage.len(), 1, "{damage:?}");
            let what = format!("update {number}, which was durable");
            assert!(damage[0].contains(&what), "{damage:?}");
            // Number 5 is void.
            let lost = usize::from(number != 5);
            assert_eq!(edges(&log).len(), 7 - lost, "the others");
        }
    }

    /// A batch is never passed over: what comes after it may count on it.
    #[test]
    fn a_torn_batch_of_one_edge_hides_those_after_it() {
        let (_recorder, region, log) = log_of_writers(&[]);
        for number in 0..3 {
            let batch = Batch::insertions([(number, number)].into_iter(), None).unwrap();
            log.append(&batch, false).unwrap();
        }
        damage(&region, 1);
        let log = EdgeLog::open(region, false, SALT).unwrap();
        assert_eq!(edges(&log), [(0, 0)]);
    }

    /// What an earlier opening has dropped is whole, and belongs to nothing.
    #[test]
    fn lines_after_a_hole_with_a_dropped_record_in_it_are_found() {
        let (_recorder, region, log) = log_of_writers(&[]);
        for number in 0..2 {
            let batch = Batch::insertions([(number, number)].into_iter(), None).unwrap();
            log.append(&batch, false).unwrap();
        }
        damage(&region, 0);
        let log = EdgeLog::open(region.clone(), false, SALT).unwrap();
        assert_eq!(edges(&log), []);
        write_in_turn(&log, &[[1, 1]]);
        let again = EdgeLog::open(region, false, SALT).unwrap();
        assert_eq!(edges(&again), [(0, 0), (1, 0)]);
    }

    /// Whoever looks next goes on where the window was being closed.
    #[test]
    fn a_panic_while_lines_become_void_loses_nothing() {
        for n in 0.. {
            let (recorder, region, log) = log_of_writers(&HOLE);
            recorder.panic_at_nth(n);
            let _panicked = catch_unwind(AssertUnwindSafe(|| log.next_sequence()));
            if !recorder.has_panicked() {
                assert!(n > 14, "{n} calls");
                break;
            }
            append(&log, &[(7, 7)]);
            let expected = [&HOLE_EDGES[..], &[(7, 7)]].concat();
            assert_eq!(edges(&log), expected, "call {n}");
            assert_eq!(edges(&EdgeLog::open(region, false, SALT).unwrap()), expected, "call {n}");
        }
    }

    /// What was acknowledged is read; nothing is logged that would count on what is void.
    #[test]
    fn a_failed_fence_of_void_lines_ends_the_writing() {
        const EIO: i32 = 5;
        let (recorder, region, log) = log_of_writers(&HOLE);
        recorder.fail_nth(0, EIO, true);
        assert_eq!(edges(&log), HOLE_EDGES);
        assert!(recorder.has_failed());
        let stored = |region: &Region| -> Vec<u32> {
            let words = region.words(RING_OFFSET, 1 << 12);
            words.iter().map(|word| word.load(Ordering::Relaxed)).collect()
        };
        let before = stored(&region);
        let batch = Batch::insertions([(7, 7)].into_iter(), None).unwrap();
        assert!(matches!(log.append(&batch, false), Err(Error::Poisoned { .. })));
        assert!(matches!(log.append_line((7, 7), None), Err(Error::Poisoned { .. })));
        assert_eq!(stored(&region), before);
    }

    /// The line may hold what its caller was told has failed.
    #[test]
    fn a_line_whose_writer_panicked_is_void() {
        let (_recorder, region, log) = log_of_writers(&HOLE);
        let slot = Arc::new(Slot::new());
        log.state.lock().slots.push(slot.clone());
        let number = log.lines.window.begin(&slot).expect("lines are left");
        log.store_line(&log.lines.window.frame(), number, [9, 9, 0, 1]);
        drop(Unfinished { slot: &slot, number });
        assert_eq!(edges(&log), HOLE_EDGES);
        let again = EdgeLog::open(region, false, SALT).unwrap();
        assert_eq!(edges(&again), HOLE_EDGES);
    }
}
