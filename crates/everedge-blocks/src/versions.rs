//! Versions: which blocks that lists have given up somebody may still read.
//!
//! Source: SMDG §III-D. There each block has a chain of stamped copies, which a query walks and a background
//! thread shortens. Here a query reads a frozen shard, whose tables name its own blocks, so that it walks
//! nothing; a block that lists give up goes into the newest [`Retired`] of its shard. These form a chain
//! from the oldest to the newest: whoever reads a state of the shard holds the link that was newest then,
//! and so all that was given up since. When the last reader of the oldest state ends, its link goes, and
//! the blocks in it are free at once.

use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use super::pool::Pool;

/// Blocks that were given up since a state of a shard was frozen.
pub(crate) struct Retired {
    pool: Arc<Pool>,
    places: Mutex<Vec<u32>>,
    /// Those that were given up after the next state was.
    next: OnceLock<Arc<Retired>>,
}

impl Retired {
    /// Returns the first link of a chain.
    pub(crate) fn new(pool: &Arc<Pool>) -> Arc<Self> {
        let (pool, places, next) = (pool.clone(), Mutex::default(), OnceLock::new());
        Arc::new(Self { pool, places, next })
    }

    /// Returns the link after this one, which is the newest: what is given up from now on goes there. Whoever
    /// reads the state of now holds that.
    pub(crate) fn freeze(&self) -> Arc<Self> {
        self.next.get_or_init(|| Self::new(&self.pool)).clone()
    }

    /// Gives up some blocks, for the shard that alone holds the newest link unless somebody reads an earlier
    /// state.
    pub(crate) fn give_up(self: &Arc<Self>, places: &[u32]) {
        match Arc::strong_count(self) {
            1 => {
                self.free();
                self.pool.give_back(places.iter().copied());
            }
            _ => {
                self.pool.note_retired(places.len() as i64);
                self.places.lock().extend_from_slice(places);
            }
        }
    }

    fn free(&self) {
        let places = std::mem::take(&mut *self.places.lock());
        self.pool.note_retired(-(places.len() as i64));
        self.pool.give_back(places);
    }
}

impl Drop for Retired {
    fn drop(&mut self) {
        self.free();
        // One after the other: a chain may be long.
        let mut next = self.next.take();
        while let Some(link) = next {
            match Arc::try_unwrap(link) {
                Ok(mut link) => {
                    link.free();
                    next = link.next.take();
                }
                Err(link) => {
                    // Only the shard is left, which reads nothing of it.
                    if Arc::strong_count(&link) == 2 && link.next.get().is_none() {
                        link.free();
                    }
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use everedge_live::Space;
    use everedge_medium::Region;

    const BLOCK_BYTES: u32 = 256;

    fn pool() -> Arc<Pool> {
        let region = Region::memory("blocks").expect("memory");
        Arc::new(Pool::new(Arc::new(Space::new(region, 0, Vec::new())), BLOCK_BYTES))
    }

    /// Gives up so many blocks that were taken.
    fn give_up(pool: &Pool, newest: &Arc<Retired>, count: usize) {
        let mut places = Vec::new();
        pool.take(0, count, &mut places).expect("room");
        newest.give_up(&places);
    }

    #[test]
    fn what_is_given_up_stays_while_somebody_reads_a_state_from_before() {
        let pool = pool();
        let kept = |count: u64| count * u64::from(BLOCK_BYTES);
        let mut newest = Retired::new(&pool);
        give_up(&pool, &newest, 3);
        assert_eq!(pool.retired_bytes(), 0, "nobody reads");
        // Each reader holds the link that was newest when its state was frozen.
        let mut readers = Vec::new();
        for count in [3, 5, 7] {
            newest = newest.freeze();
            readers.push(newest.clone());
            give_up(&pool, &newest, count);
        }
        assert_eq!(pool.retired_bytes(), kept(15));
        // The second one's end frees nothing: the first still reads what came after.
        drop(readers.remove(1));
        assert_eq!(pool.retired_bytes(), kept(15));
        drop(readers.remove(0));
        assert_eq!(pool.retired_bytes(), kept(7), "the third reads what was given up since");
        drop(readers);
        give_up(&pool, &newest, 1);
        assert_eq!(pool.retired_bytes(), 0);
    }

    #[test]
    fn the_last_reader_frees_what_the_shard_has_given_up() {
        let pool = pool();
        let first = Retired::new(&pool);
        let newest = first.freeze();
        give_up(&pool, &newest, 4);
        assert_ne!(pool.retired_bytes(), 0);
        drop(first);
        assert_eq!(pool.retired_bytes(), 0, "the shard itself reads none of it");
    }

    /// Else the end of a long query would run out of stack.
    #[test]
    fn a_long_chain_ends_link_by_link() {
        let pool = pool();
        let first = Retired::new(&pool);
        let mut newest = first.clone();
        for _ in 0..200_000 {
            newest = newest.freeze();
        }
        drop(first);
        assert_eq!(Arc::strong_count(&newest), 1);
    }
}
