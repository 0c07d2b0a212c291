//! How a reader pins a state, and how the writer finds out which states are pinned.
//!
//! A reader [pins all](pin_all) states, then looks for the newest, then [pins](pin) that one. The writer makes a new
//! state visible, then asks for the [oldest](oldest) that is pinned, and then overwrites what only states before it
//! name. Between its two steps each has a fence: if the writer does not see the pin, the reader sees the new state.
//!
//! `pinning_model.rs` compiles this file once more, with atomics that try every order of events.

use super::atomics::{AtomicU64, Ordering::SeqCst, fence};

/// In a place that nobody has.
pub(super) const NONE: u64 = 0;
/// Pins all states.
const ALL: u64 = 1;
/// What is pinned is larger than [`ALL`] by so much.
pub(super) const FIRST: u64 = 2;

/// Pins all states, until one is pinned that was found after this.
pub(super) fn pin_all(place: &AtomicU64) {
    place.store(ALL, SeqCst);
    fence(SeqCst);
}

/// Pins the states from `number` on.
pub(super) fn pin(place: &AtomicU64, number: u64) {
    place.store(number + FIRST, SeqCst);
}

/// Pins nothing any more.
pub(super) fn unpin(place: &AtomicU64) {
    place.store(NONE, SeqCst);
}

/// Returns the number of the oldest state that is pinned, or one beyond all numbers.
pub(super) fn oldest<'a>(places: impl Iterator<Item = &'a AtomicU64>) -> u64 {
    fence(SeqCst);
    let pinned = places.map(|place| place.load(SeqCst)).filter(|&pinned| pinned != NONE);
    pinned.min().unwrap_or(u64::MAX).saturating_sub(FIRST)
}
