//! Versions: which blocks that lists have given up somebody may still read.
//!
//! Source: SMDG §III-D. There each block has a chain of stamped copies, which a query walks and a background
//! thread shortens. Here a query reads a frozen shard, whose tables name its own blocks, so that it walks
//! nothing: stamps are of the whole shard. Whoever holds a [`Version`] may read the blocks of its stamp. A block
//! that lists have given up waits with the newest version that may read it; when that one ends it goes on to the next
//! older one, if it was there then already, and else is free.
//!
//! # Invariants
//! - V1: a block may be named by states of the stamps from the one in which it was taken to the one in which it was
//!   given up, and by no other.
//! - V2: what was given up is kept while somebody but the shard itself holds a version of such a stamp, and is free the
//!   moment nobody does.
//!
//! `versions_model.rs` compiles this file once more, with the locks of loom.

use std::collections::BTreeMap;
use std::sync::Arc;

use everedge_live::Result;
use rustc_hash::FxHashMap;

use super::pool::Pool;
use super::sync::Mutex;

/// A state of a shard that somebody reads; the newest one is the shard's own.
pub(crate) struct Version {
    chain: Arc<Chain>,
    stamp: u64,
}

/// The versions of one shard.
struct Chain {
    pool: Arc<Pool>,
    /// Of whom the shard takes its blocks.
    hint: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The stamps that somebody holds.
    held: BTreeMap<u64, Held>,
    /// When blocks were taken, of those that are newer than the oldest stamp that is read.
    births: FxHashMap<u32, u64>,
}

#[derive(Default)]
struct Held {
    /// How many versions have the stamp.
    count: usize,
    /// What no newer version may read.
    given_up: Vec<GivenUp>,
}

/// A block that lists have given up.
struct GivenUp {
    place: u32,
    /// The stamp in which it was taken; 0 if that is not after the oldest one that was read then.
    birth: u64,
}

impl Version {
    /// Returns the first version of a shard, which takes its blocks as `hint` says.
    pub(crate) fn new(pool: &Arc<Pool>, hint: usize) -> Self {
        let chain = Chain { pool: pool.clone(), hint, state: Mutex::default() };
        chain.hold(0);
        Self { chain: Arc::new(chain), stamp: 0 }
    }

    /// Returns the version after this one, which is the newest: what is given up from now on goes there.
    pub(crate) fn next(&self) -> Self {
        self.chain.hold(self.stamp + 1);
        Self { chain: self.chain.clone(), stamp: self.stamp + 1 }
    }

    /// Takes blocks for the shard whose version this is, as [`Pool::take`].
    ///
    /// # Errors
    /// As that.
    pub(crate) fn take(&self, count: usize, places: &mut Vec<u32>) -> Result<()> {
        let from = places.len();
        self.chain.pool.take(self.chain.hint, count, places)?;
        self.note_taken(&places[from..]);
        Ok(())
    }

    /// As [`Self::take`], blocks that lie one after the other as far as there is room for that.
    ///
    /// # Errors
    /// As that.
    pub(crate) fn take_in_order(&self, count: usize, places: &mut Vec<u32>) -> Result<()> {
        let from = places.len();
        self.chain.pool.take_in_order(self.chain.hint, count, places)?;
        self.note_taken(&places[from..]);
        Ok(())
    }

    fn note_taken(&self, places: &[u32]) {
        let mut state = self.chain.state.lock();
        if state.held.first_key_value().is_some_and(|(&oldest, _)| oldest < self.stamp) {
            state.births.extend(places.iter().map(|&place| (place, self.stamp)));
        }
    }

    /// Gives back blocks that nobody but the shard has seen.
    pub(crate) fn give_back(&self, places: impl IntoIterator<Item = u32>) {
        self.chain.pool.give_back(self.chain.hint, places);
    }

    /// Gives up blocks of the shard that others may read. Nobody else changes it.
    pub(crate) fn give_up(&self, places: &[u32]) {
        let Chain { pool, hint, state } = &*self.chain;
        let mut state = state.lock();
        let State { held, births } = &mut *state;
        let newest = held.range_mut(..=self.stamp).rev();
        let mut reader = newest.map(|(&stamp, held)| (stamp, held)).find(|(stamp, held)| {
            // The shard itself reads nothing of what it gives up.
            *stamp < self.stamp || held.count > 1
        });
        let mut free = Vec::new();
        for &place in places {
            let birth = births.remove(&place).unwrap_or_default();
            match &mut reader {
                Some((stamp, reader)) if birth <= *stamp => {
                    reader.given_up.push(GivenUp { place, birth });
                }
                _ => free.push(place),
            }
        }
        pool.note_retired((places.len() - free.len()) as i64);
        pool.give_back(*hint, free);
    }
}

impl Clone for Version {
    fn clone(&self) -> Self {
        self.chain.hold(self.stamp);
        Self { chain: self.chain.clone(), stamp: self.stamp }
    }
}

impl Drop for Version {
    fn drop(&mut self) {
        self.chain.release(self.stamp);
    }
}

impl Chain {
    fn hold(&self, stamp: u64) {
        self.state.lock().held.entry(stamp).or_default().count += 1;
    }

    /// Ends a version, and frees what only it kept.
    fn release(&self, stamp: u64) {
        let mut state = self.state.lock();
        let State { held, births } = &mut *state;
        let is_newest = held.last_key_value().is_some_and(|(&newest, _)| newest == stamp);
        let ended = held.get_mut(&stamp).expect("a version that is held");
        ended.count -= 1;
        let given_up = match ended.count {
            0 => held.remove(&stamp).expect("it was there").given_up,
            // Only the shard is left.
            1 if is_newest => std::mem::take(&mut ended.given_up),
            _ => return,
        };
        let mut free = Vec::new();
        let mut older = held.range_mut(..stamp).next_back();
        for block in given_up {
            match &mut older {
                Some((older, held)) if block.birth <= **older => held.given_up.push(block),
                _ => free.push(block.place),
            }
        }
        if older.is_none()
            && let Some((&oldest, _)) = held.first_key_value()
        {
            births.retain(|_, birth| *birth > oldest);
            births.shrink_to(2 * births.len());
        }
        drop(state);
        self.pool.note_retired(-(free.len() as i64));
        self.pool.give_back(self.hint, free);
    }
}
