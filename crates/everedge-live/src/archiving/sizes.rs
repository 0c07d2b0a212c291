//! How much each shard takes to be written anew: as much as the largest one is left free.

use parking_lot::Mutex;

/// Units that each shard takes, as it was last saved.
#[derive(Default)]
pub struct ShardSizes(Mutex<Vec<u64>>);

impl ShardSizes {
    /// Notes what all shards take, by number.
    pub fn adopt(&self, units: impl Iterator<Item = u64>) {
        *self.0.lock() = units.collect();
    }

    /// Notes what one takes now.
    pub fn note(&self, number: usize, units: u64) {
        let mut sizes = self.0.lock();
        if sizes.len() <= number {
            sizes.resize(number + 1, 0);
        }
        sizes[number] = units;
    }

    /// Returns what the largest takes.
    pub fn largest(&self) -> u64 {
        self.0.lock().iter().copied().max().unwrap_or(0)
    }
}
