//! Blocks that are handed out again as soon as they come back, the last one first.

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use everedge_live::Result;

use super::sync::Mutex;

/// As the pool of a graph, of few blocks.
pub(super) struct Pool {
    free: Mutex<Vec<u32>>,
    retired_count: AtomicI64,
}

impl Pool {
    pub(super) fn new(blocks: u32) -> Self {
        let pool = Self { free: Mutex::default(), retired_count: AtomicI64::new(0) };
        pool.give_back(0, 0..blocks);
        pool
    }

    pub(super) fn take(&self, _hint: usize, count: usize, places: &mut Vec<u32>) -> Result<()> {
        let mut free = self.free.lock();
        let rest = free.len().checked_sub(count).expect("few are in use");
        places.extend(free.drain(rest..));
        Ok(())
    }

    pub(super) fn take_in_order(
        &self,
        hint: usize,
        count: usize,
        places: &mut Vec<u32>,
    ) -> Result<()> {
        self.take(hint, count, places)
    }

    pub(super) fn give_back(&self, _hint: usize, places: impl IntoIterator<Item = u32>) {
        self.free.lock().extend(places);
    }

    pub(super) fn note_retired(&self, count: i64) {
        self.retired_count.fetch_add(count, Relaxed);
    }

    pub(super) fn retired(&self) -> i64 {
        self.retired_count.load(Relaxed)
    }
}
