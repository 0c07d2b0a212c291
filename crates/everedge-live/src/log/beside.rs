//! Reading a log beside its writer: a copy that is the log at one moment.
//!
//! Whoever opens a graph in this way pins all states, reads the newest anchor, pins that one, and copies what the
//! writer overwrites: the files that say what the state is, and the log from the anchor's tail on. From then on
//! the opening reads nothing that may change (M2 of `images.rs`), and goes as after a crash at that moment.
//!
//! # Invariants
//! - B1: a copy of the log is made from its end to its beginning. So of what one writer has stored after the
//!   other, it has nothing without all that was there before: a record that is whole in the copy has those
//!   before it, as in a log after a crash.
//! - B2: a copy counts if the anchor is still of the same ring and of the same generation, and that of the
//!   files that say what the state is if it is still the same anchor.
//! - B3: the writer overwrites nothing of the ring that is pinned. A reader that does not go on loses its pin,
//!   and begins anew when it does.

use std::ops::Range;
use std::thread::{sleep, yield_now};
use std::time::{Duration, Instant};

use super::anchor::{Anchor, RING_OFFSET, ring_ranges};
use super::{Boundary, EdgeLog, LOG, State};
use crate::{Error, Result};
use everedge_medium::{Pin, Region, Volume};

/// An anchor that is being written is read again so often.
const ANCHOR_READS: u32 = 1000;
/// How long a writer without room in the ring waits for those who copy it, and how often it looks.
const COPY_TIME_MAX: Duration = Duration::from_secs(1);
const COPY_PAUSE: Duration = Duration::from_micros(200);
/// After so many attempts in vain and so long a time, a reader gives up.
const ATTEMPTS_MIN: u32 = 20;
const ATTEMPTS_TIME_MAX: Duration = Duration::from_secs(60);
/// So long a reader waits for the end of one change in place.
const CHANGE_TIME_MAX: Duration = Duration::from_secs(20);

/// Copies the log and the files `overwritten` as they are at one moment, so that the volume opens the copies.
///
/// Cost: these files, and the log from its tail on, are read twice; again where they are changed meanwhile.
///
/// # Errors
/// `Corruption` if there is no valid anchor; `NoSpace` if memory is lacking; `InUse` if what is copied changes time and again.
pub(super) fn copy(
    volume: &Volume,
    pin: &Pin,
    (weighted, salt): (bool, u32),
    overwritten: &[&str],
) -> Result<()> {
    let start = Instant::now();
    let mut attempts = 0;
    loop {
        if attempts >= ATTEMPTS_MIN && start.elapsed() > ATTEMPTS_TIME_MAX {
            let holder = format!("a writer, which changed it {attempts} times while it was copied");
            return Err(Error::InUse { path: volume.path().to_owned(), holder });
        }
        attempts += 1;
        volume.forget_copies();
        pin.pin_log();
        let changes = changes_at_rest(volume, pin)?;
        let anchor = newest(&volume.open_region(LOG)?, salt)?;
        pin.pin(anchor.counter, anchor.tail);
        // The file that was mapped before may have been shorter than the anchor says.
        let region = volume.open_region(LOG)?;
        for name in overwritten {
            let len = volume.open_region(name)?.len();
            volume.copy_in_memory(name, len, std::iter::once(0..len))?;
        }
        if newest(&region, salt)?.counter != anchor.counter || pin.changes() != changes {
            continue;
        }
        let log = EdgeLog::with_anchor(region, weighted, salt, anchor);
        if !log.copy_from_its_end(volume)? {
            continue;
        }
        let after = newest(&log.region, salt)?;
        let is_same = (after.base, after.generation) == (anchor.base, anchor.generation);
        if pin.release_log() && is_same {
            return Ok(());
        }
    }
}

/// Returns the number of changes in place while none goes on: it is even, or whoever began the last one has ended.
///
/// # Errors
/// `InUse` if one goes on for long: who began it may have been stopped.
fn changes_at_rest(volume: &Volume, pin: &Pin) -> Result<u64> {
    let start = Instant::now();
    loop {
        let changes = pin.changes();
        if changes.is_multiple_of(2) || volume.is_without_writer() {
            return Ok(changes);
        }
        if start.elapsed() > CHANGE_TIME_MAX {
            let holder = "a writer that has not finished a change; it may have been stopped";
            return Err(Error::InUse { path: volume.path().to_owned(), holder: holder.into() });
        }
        sleep(COPY_PAUSE);
    }
}

/// Returns the newest anchor, which may just be written.
fn newest(region: &Region, salt: u32) -> Result<Anchor> {
    for _ in 0..ANCHOR_READS {
        match Anchor::read_newest(region, salt) {
            Err(Error::Corruption { .. }) => yield_now(),
            found => return found,
        }
    }
    Anchor::read_newest(region, salt)
}

impl EdgeLog {
    /// Copies the log from the tail to the last record that may have been acknowledged (B1). Returns false if some
    /// lie in what the file has grown by since it was mapped.
    fn copy_from_its_end(&self, volume: &Volume) -> Result<bool> {
        let anchor = self.anchor();
        let file_len = self.region.len() / 8 * 8;
        let end = match self.end_to_copy(&anchor) {
            Some(end) => end,
            None if volume.open_region(LOG)?.len() > self.region.len() => return Ok(false),
            None => anchor.tail + anchor.capacity,
        };
        let mut ranges: Vec<Range<u64>> = ring_ranges(&anchor, anchor.tail, end).collect();
        // Where the file ends before the ring does, nothing comes after that.
        ranges.truncate(if ranges[..].first().is_some_and(|r| r.end > file_len) { 1 } else { 2 });
        for range in &mut ranges {
            *range = range.start.min(file_len)..range.end.min(file_len);
        }
        ranges.reverse();
        let len = ranges.iter().map(|range| range.end).max().unwrap_or(0).max(RING_OFFSET);
        let copy = volume.copy_in_memory(LOG, len, ranges)?;
        // A file that was cut has less than its anchor says, and its copy, too.
        let is_cut = self.allocated() < anchor.allocated;
        let allocated = if is_cut { anchor.allocated } else { len - RING_OFFSET };
        let anchor = Anchor { allocated, ..anchor };
        copy.store_words(anchor.range().start, &anchor.encode(self.salt));
        Ok(true)
    }

    /// Returns where the records end that may have been acknowledged, if all of them can be read. A record that is being stored is
    /// none of them, nor is one after it.
    fn end_to_copy(&self, anchor: &Anchor) -> Option<u64> {
        let end = anchor.tail + anchor.capacity;
        let mut next = Boundary {
            position: anchor.tail,
            sequence: anchor.tail_sequence,
            generation: anchor.tail_generation,
        };
        while let Some(last) = self.next_whole(anchor, next, end) {
            next = last;
        }
        // A later record may say that this one was durable. Was it stored since, then it is no damage.
        let is_lost = match self.proof_after(anchor, next.position) {
            Ok(proof) => proof.of(next.sequence).is_some(),
            Err(_) => true,
        };
        let is_lost = is_lost && self.next_whole(anchor, next, end).is_none();
        (!is_lost).then_some(next.position)
    }

    /// Returns from where on nothing of the ring is overwritten.
    pub(super) fn kept_from(&self, state: &mut State) -> u64 {
        if state.kept_from < state.anchor.tail {
            let copied_from = self.region.pins().map_or(u64::MAX, |pins| pins.oldest_position());
            state.kept_from = state.kept_from.max(copied_from.min(state.anchor.tail));
        }
        state.kept_from
    }

    /// Waits until nobody copies what is before the tail (B3).
    pub(super) fn wait_for_copies(&self) {
        let start = Instant::now();
        let Some(pins) = self.region.pins() else { return };
        let mut pauses = 0u32;
        while pins.oldest_position() < self.anchor().tail {
            if start.elapsed() > COPY_TIME_MAX {
                return pins.take_positions_back();
            }
            pauses += 1;
            if pauses.is_multiple_of(64) {
                pins.forget_ended();
            }
            sleep(COPY_PAUSE);
        }
    }
}
