//! Which records that have a place in the log are not stored yet.
//!
//! A writer takes its place under the log's lock and stores the record without it. Whoever fences the
//! log waits for all records before the place that it fences up to, so that what counts as durable is
//! a prefix.
//!
//! # Invariants
//! - S1: places are in the order of the log.
//! - S2: a record before [`Stores::end`] is stored.
//!
//! `stores_model.rs` has loom try every order of events.

use std::collections::VecDeque;

/// A place in the log, and the number of the update there.
pub(super) type Place = (u64, u64);

/// The records that are being stored, or never will be, in the order of the log.
#[derive(Default)]
pub(super) struct Stores {
    /// Where each begins, and whether it is stored; the first is not.
    records: VecDeque<(Place, bool)>,
    /// Whether a writer ended before its record was stored.
    is_broken: bool,
}

impl Stores {
    /// A record begins to be stored; it comes after all others.
    pub(super) fn begin(&mut self, place: Place) {
        self.records.push_back((place, false));
    }

    /// The record that begins at `position` is stored. Returns whether the end has moved.
    pub(super) fn finish(&mut self, position: u64) -> bool {
        let index = self.records.partition_point(|((start, _), _)| *start < position);
        if let Some((_, is_stored)) = self.records.get_mut(index) {
            *is_stored = true;
        }
        while let Some((_, true)) = self.records.front() {
            self.records.pop_front();
        }
        index == 0
    }

    /// A writer ended before its record was stored: nothing after it can ever count.
    pub(super) fn break_off(&mut self) {
        self.is_broken = true;
    }

    pub(super) fn is_broken(&self) -> bool {
        self.is_broken
    }

    /// Returns up to where all records are stored; `head` is where the log ends.
    pub(super) fn end(&self, head: Place) -> Place {
        self.records.front().map_or(head, |&(place, _)| place)
    }
}
