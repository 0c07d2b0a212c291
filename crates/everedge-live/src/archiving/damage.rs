//! Shards whose bytes on the medium are damaged: what is damaged takes nothing in, and keeps nobody from
//! the rest.
//!
//! # Invariants
//! - G1: before an update is logged, the shards that it names were looked at since opening, all of what
//!   they have on the medium. One that is damaged refuses it.
//! - G2: what the log holds for a shard that opening found damaged stays there: nothing more is written,
//!   and no view has the shard. Nor is anything written where the log is damaged itself.
//!
//! # Cost
//! A shard is looked at once: before it is first written to or viewed. From then on, or once all were
//! looked at, a write asks one byte.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use parking_lot::Mutex;

use super::shard::SHARD_SPAN;
use crate::batch::{DELETION, VERTEX};
use crate::{Error, Result};

/// All was looked at.
const SEEN: u8 = 0;
/// Some shards were not looked at.
const UNSEEN: u8 = 1;
/// Opening has left the archive to be read by its first use.
const UNREAD: u8 = 2;

/// What nobody has looked at since opening.
#[derive(Default)]
pub(super) struct Unseen {
    state: AtomicU8,
    /// A bit for each shard that opening found.
    shards: OnceLock<Box<[AtomicU64]>>,
}

impl Unseen {
    /// Returns that of a graph whose archive is still to be read.
    pub(super) fn unread() -> Self {
        Self { state: UNREAD.into(), shards: OnceLock::new() }
    }

    pub(super) fn is_unread(&self) -> bool {
        self.state.load(Ordering::Acquire) == UNREAD
    }

    /// Whether there is nothing left to be looked at.
    #[inline]
    pub(super) fn is_nothing(&self) -> bool {
        self.state.load(Ordering::Acquire) == SEEN
    }

    /// Notes that the archive was read, and which of its shards are still to be looked at.
    pub(super) fn note_read(&self, shards: impl Iterator<Item = bool>) {
        let shards: Vec<bool> = shards.collect();
        let word = |shards: &[bool]| {
            (0..).zip(shards).fold(0, |word, (bit, is_unseen)| word | u64::from(*is_unseen) << bit)
        };
        let words = shards.chunks(64).map(|shards| AtomicU64::new(word(shards)));
        self.shards.get_or_init(|| words.collect());
        let state = if shards.contains(&true) { UNSEEN } else { SEEN };
        self.state.store(state, Ordering::Release);
    }

    /// Notes that all shards were looked at, and are whole.
    pub(super) fn note_all_seen(&self) {
        self.state.store(SEEN, Ordering::Release);
    }

    /// Notes that a shard was looked at, and is whole.
    pub(super) fn note_seen(&self, shard: usize) {
        let words = self.words();
        words[shard / 64].fetch_and(!(1 << (shard % 64)), Ordering::Release);
        if words.iter().all(|word| word.load(Ordering::Acquire) == 0) {
            self.note_all_seen();
        }
    }

    /// Returns the numbers of those shards, in their order, that updates of two words each name and that
    /// are still to be looked at.
    pub(super) fn named_by(&self, updates: &[u32]) -> Vec<usize> {
        let words = self.words();
        let is_unseen = |shard: usize| {
            let word = words.get(shard / 64).map_or(0, |word| word.load(Ordering::Acquire));
            word >> (shard % 64) & 1 == 1
        };
        let mut named: Vec<usize> = Vec::new();
        for update in updates.chunks_exact(2) {
            let src = (update[0] & !DELETION) as usize / SHARD_SPAN;
            // The second word of an update of a vertex names none.
            let dst = match update[1] & VERTEX {
                0 => update[1] as usize / SHARD_SPAN,
                _ => src,
            };
            named.extend([src, dst].into_iter().filter(|&shard| is_unseen(shard)));
            if named.len() >= 2 * 64 * words.len() {
                named.sort_unstable();
                named.dedup();
            }
        }
        named.sort_unstable();
        named.dedup();
        named
    }

    fn words(&self) -> &[AtomicU64] {
        self.shards.get().map_or(&[], |words| words)
    }
}

/// The shards that lack what the log has for them, and why (G2).
#[derive(Default)]
pub(super) struct Lacking(Mutex<Vec<(usize, Error)>>);

impl Lacking {
    pub(super) fn note(&self, shard: usize, why: Error) {
        self.0.lock().push((shard, why));
    }

    pub(super) fn has(&self, shard: usize) -> bool {
        self.0.lock().iter().any(|(number, _)| *number == shard)
    }

    /// Returns the shards, and for each the error again.
    pub(super) fn all(&self) -> Vec<(usize, Error)> {
        self.0.lock().iter().map(|(number, why)| (*number, why.again())).collect()
    }

    /// # Errors
    /// That of a shard, if there is one.
    pub(super) fn refuse(&self) -> Result<()> {
        match self.0.lock().first() {
            Some((_, why)) => Err(why.again()),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_updates_name_is_looked_at_once() {
        assert!(Unseen::default().is_nothing());
        let unseen = Unseen::unread();
        assert!(unseen.is_unread());
        unseen.note_read((0..70).map(|shard| shard % 2 == 1));
        assert!(!unseen.is_unread() && !unseen.is_nothing());
        let vertex = |shard: usize| (shard * SHARD_SPAN) as u32;
        let updates = [vertex(69) | DELETION, vertex(3), vertex(5), VERTEX, vertex(3), vertex(70)];
        assert_eq!(unseen.named_by(&updates), [3, 5, 69]);
        unseen.note_seen(5);
        assert_eq!(unseen.named_by(&updates), [3, 69]);
        (0..70).for_each(|shard| unseen.note_seen(shard));
        assert!(unseen.is_nothing() && unseen.named_by(&updates).is_empty());
    }
}
