//! Versions: which blocks that lists have given up somebody may still read.
//!
//! Source: SMDG §III-D. There each block has a chain of stamped copies, which a query walks and a background
//! thread shortens. Here a query reads a frozen shard, whose tables name its own blocks, so that it walks
//! nothing: stamps are of the whole shard. Whoever holds a [`Version`] keeps the blocks that were given up
//! since. They are free the moment nobody holds an earlier one.
//!
//! # Invariants
//! - V1: a block is among those given up at a stamp if a state of that stamp or an earlier one may name it, and
//!   the shard's newest state does not.
//! - V2: what was given up at a stamp is kept while somebody holds a version of that stamp or an earlier one,
//!   other than the shard itself.
//!
//! `versions_model.rs` compiles this file once more, with locks that try every order of events.

use std::collections::VecDeque;
use std::sync::Arc;

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
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The oldest stamp that somebody may hold.
    first: u64,
    /// From the oldest to the newest.
    stamps: VecDeque<Stamp>,
    /// How many versions there are.
    held: usize,
}

#[derive(Default)]
struct Stamp {
    /// How many versions have it.
    held: usize,
    given_up: Vec<u32>,
}

impl Version {
    /// Returns the first version of a shard.
    pub(crate) fn new(pool: &Arc<Pool>) -> Self {
        let chain = Chain { pool: pool.clone(), state: Mutex::default() };
        chain.hold(0);
        Self { chain: Arc::new(chain), stamp: 0 }
    }

    /// Returns the version after this one, which is the newest: what is given up from now on goes there.
    pub(crate) fn next(&self) -> Self {
        self.chain.hold(self.stamp + 1);
        Self { chain: self.chain.clone(), stamp: self.stamp + 1 }
    }

    /// Gives up blocks of the shard whose version this is. Nobody else changes it.
    pub(crate) fn give_up(&self, places: &[u32]) {
        let Chain { pool, state } = &*self.chain;
        let mut state = state.lock();
        match state.held {
            1 => pool.give_back(places.iter().copied()),
            _ => {
                pool.note_retired(places.len() as i64);
                state.stamp(self.stamp).given_up.extend_from_slice(places);
            }
        }
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
        let mut state = self.state.lock();
        state.held += 1;
        state.stamp(stamp).held += 1;
    }

    /// Ends a version, and frees what only it kept.
    fn release(&self, stamp: u64) {
        let mut state = self.state.lock();
        state.held -= 1;
        state.stamp(stamp).held -= 1;
        let mut free = Vec::new();
        while let Some(oldest) = state.stamps.pop_front_if(|oldest| oldest.held == 0) {
            state.first += 1;
            free.extend(oldest.given_up);
        }
        // Only the shard is left, which reads nothing of what it gave up.
        if state.held == 1 && state.stamps.len() == 1 {
            free.append(&mut state.stamps[0].given_up);
        }
        drop(state);
        self.pool.note_retired(-(free.len() as i64));
        self.pool.give_back(free);
    }
}

impl State {
    fn stamp(&mut self, stamp: u64) -> &mut Stamp {
        let index = (stamp - self.first) as usize;
        if self.stamps.len() <= index {
            self.stamps.resize_with(index + 1, Stamp::default);
        }
        &mut self.stamps[index]
    }
}
