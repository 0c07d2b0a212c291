//! A set of shards, by number.

/// Numbers of shards.
#[derive(Default)]
pub struct ShardSet {
    /// A bit for each.
    bits: Vec<u64>,
    count: usize,
}

impl ShardSet {
    /// Adds a shard. Returns whether it was not there.
    pub fn add(&mut self, shard: usize) -> bool {
        if self.bits.len() <= shard / 64 {
            self.bits.resize(shard / 64 + 1, 0);
        }
        let (word, bit) = (&mut self.bits[shard / 64], 1 << (shard % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        self.count += usize::from(is_new);
        is_new
    }

    /// Takes a shard out that is there.
    pub fn remove(&mut self, shard: usize) {
        self.bits[shard / 64] &= !(1 << (shard % 64));
        self.count -= 1;
    }

    /// Returns how many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns how many there are from number 0 on without a gap.
    pub fn count_from_first(&self) -> usize {
        let full = self.bits.iter().take_while(|word| **word == u64::MAX).count();
        64 * full + self.bits.get(full).map_or(0, |word| word.trailing_ones() as usize)
    }

    /// Returns how many there are whose number is `first` or more.
    pub fn count_after(&self, first: usize) -> usize {
        let ones = |word: &u64| word.count_ones() as usize;
        let part = self.bits.get(first / 64).map_or(0, |word| ones(&(word >> (first % 64))));
        part + self.bits.iter().skip(first / 64 + 1).map(ones).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_counted() {
        let mut set = ShardSet::default();
        (0..70).chain([200, 300]).for_each(|shard| assert!(set.add(shard)));
        assert!(!set.add(200));
        assert_eq!((set.count(), set.count_from_first()), (72, 70));
        assert_eq!(
            [0, 69, 70, 200, 201, 301, 999].map(|n| set.count_after(n)),
            [72, 3, 2, 2, 1, 0, 0]
        );
        set.remove(3);
        assert_eq!((set.count(), set.count_from_first(), set.count_after(3)), (71, 3, 68));
        assert!(set.add(3));
    }
}
