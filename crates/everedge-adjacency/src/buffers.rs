//! Memory of vertex buffers: a pool of bulks, and buddy allocation inside their chunks.
//!
//! Source: XPGraph §3.2, Figures 8 and 9. A thread takes bulks of up to 16 MiB from the pool, one at a
//! time, and cuts them into chunks of 16 KiB; a list of a shard takes chunks and cuts them into
//! buffers of 16 bytes to 4 KiB.
//! Differences: chunks stand between bulk and buffer, so that the buffers of a shard lie together
//! and a shard is copied for a snapshot, or emptied, chunk by chunk; free buddies are joined not
//! when they are freed but when there would be need for another chunk.
//!
//! # Invariants
//! - P1: a chunk belongs to one list, or is free, or was never used (past `next` of a bulk).
//! - P2: each step of a list's chunks is in one buffer that is taken or in one that is free.

use std::ops::{Range, RangeInclusive};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_core::par::PerThread;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use super::block::HEADER_WORDS;
use everedge_live::{Error, Result};
use everedge_medium::Region;

/// Words of a step, the unit in which buffers are found: the smallest buffer.
pub(crate) const STEP_WORDS: usize = 4;
/// Classes of buffers: none, then 16 bytes to 4 KiB. The order of a class is one less.
const CLASS_COUNT: usize = 10;
const ORDER_MAX: u8 = CLASS_MAX - 1;
/// The class of the largest buffers.
pub(crate) const CLASS_MAX: u8 = CLASS_COUNT as u8 - 1;
/// The order of a whole chunk.
const ORDER_TOP: u8 = 10;
const CHUNK_STEPS: u32 = 1 << ORDER_TOP;
/// Buddies are joined if so many steps are free.
const JOIN_STEPS_MIN: usize = CHUNK_STEPS as usize / 2;
const CHUNK_WORDS: usize = CHUNK_STEPS as usize * STEP_WORDS;
/// Bytes of a chunk.
const CHUNK_BYTES: u64 = 4 * CHUNK_WORDS as u64;
/// A bulk is a quarter of the pool, but at least so much and at most 16 MiB.
const BULK_CHUNKS: RangeInclusive<u32> = 16..=(16 << 20) / CHUNK_BYTES as u32;
/// Steps are counted in 32 bits.
const CHUNKS_MAX: u32 = u32::MAX / CHUNK_STEPS;
/// Page faults are taken for at most so many chunks at a time.
const POPULATE_CHUNKS_MAX: u32 = 32;

/// Which buffers a graph uses, by class.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    first: u8,
    /// Buffers of this class and of larger ones are flushed when they are full.
    flush: u8,
    wide: u8,
    /// Words of entries that a buffer takes.
    capacity: [u16; CLASS_COUNT],
    /// Words of entries up to which a buffer can be filled without growing or being flushed.
    easy: [u16; CLASS_COUNT],
}

impl Plan {
    /// Plans for buffers of `bytes`, and of up to `wide_bytes` for vertices of large degree.
    ///
    /// # Errors
    /// `InvalidInput` if a size is no power of two, or they are not in order.
    pub(crate) fn new(bytes: Range<u32>, wide_bytes: u32, entry_words: usize) -> Result<Self> {
        let class = |bytes: u32| {
            let is_one = bytes.is_power_of_two() && (16..=16 << ORDER_MAX).contains(&bytes);
            is_one.then(|| bytes.trailing_zeros() as u8 - 3).ok_or_else(|| {
                Error::invalid(format!(
                    "a vertex buffer has 16, 32, … or {} bytes, not {bytes}",
                    16 << ORDER_MAX
                ))
            })
        };
        let (first, flush, wide) = (class(bytes.start)?, class(bytes.end)?, class(wide_bytes)?);
        if first > flush || flush > wide {
            return Err(Error::invalid(format!(
                "the smallest vertex buffer ({}), the largest ({}) and the wide one \
                 ({wide_bytes}) are not in this order",
                bytes.start, bytes.end
            )));
        }
        let mut plan = Self { first, flush, wide, capacity: [0; 10], easy: [0; 10] };
        for class in first..=wide {
            let words = words_of(class);
            // A block of what is flushed fills whole lines.
            let is_flushed = class >= flush;
            let header = if is_flushed && words > 2 * HEADER_WORDS { HEADER_WORDS } else { 0 };
            let capacity = (words - header) / entry_words * entry_words;
            plan.capacity[class as usize] = capacity as u16;
            plan.easy[class as usize] =
                (capacity - if is_flushed { entry_words } else { 0 }) as u16;
        }
        Ok(plan)
    }

    /// Returns the class that a buffer of `class` grows to in order to take `words`.
    pub(crate) fn grown(&self, class: u8, words: usize) -> u8 {
        let mut class = class.max(self.first);
        while class < self.flush && usize::from(self.capacity[class as usize]) < words {
            class += 1;
        }
        class
    }

    /// Returns the class that a buffer of `class`, just flushed, has from now on: a list of large
    /// degree has wider ones, but at most a quarter of the list.
    pub(crate) fn widened(&self, class: u8, degree: u32) -> u8 {
        let is_large = class < self.wide && degree as usize >= 4 * words_of(class + 1);
        if is_large { class + 1 } else { class }
    }

    /// Returns the words of entries that a buffer of `class` takes.
    #[inline]
    pub(crate) fn capacity(&self, class: u8) -> usize {
        self.capacity[class as usize].into()
    }

    /// Whether a buffer of `class` can be filled up to `words` with nothing else to be done.
    #[inline]
    pub(crate) fn is_easy(&self, class: u8, words: usize) -> bool {
        words <= self.easy[class as usize].into()
    }

    /// Whether a buffer of `class` with so many words has no room for an entry of `entry_words`
    /// more and does not grow.
    pub(crate) fn is_full(&self, class: u8, words: usize, entry_words: usize) -> bool {
        class >= self.flush && words + entry_words > self.capacity(class)
    }
}

/// Returns the words of a buffer.
pub(crate) fn words_of(class: u8) -> usize {
    STEP_WORDS << (class - 1)
}

/// The memory of all vertex buffers of a graph.
pub(crate) struct Pool {
    region: Region,
    bulks: PerThread<Bulk>,
    shared: Mutex<Shared>,
}

/// The part of the pool that one thread cuts chunks from, by number of the chunk.
#[derive(Debug, Default)]
struct Bulk {
    first: u32,
    next: u32,
    end: u32,
    populated: u32,
}

#[derive(Debug, Default)]
struct Shared {
    /// The first chunk that belongs to no bulk.
    next: u32,
    /// Chunks that were given back.
    free: Vec<u32>,
}

impl Pool {
    /// Returns an empty pool.
    ///
    /// # Errors
    /// `NoSpace` if the system refuses the address space.
    pub(crate) fn new() -> Result<Arc<Self>> {
        let region = Region::memory("vertex buffers")?;
        Ok(Arc::new(Self {
            region,
            bulks: PerThread::new(Bulk::default),
            shared: Mutex::default(),
        }))
    }

    /// Returns the memory that buffers lie in.
    pub(crate) fn region(&self) -> &Region {
        &self.region
    }

    /// Takes a chunk.
    fn take(&self) -> Result<u32> {
        let free = self.shared.lock().free.pop();
        free.map_or_else(|| self.bulks.with(|bulk| self.cut(bulk)), Ok)
    }

    fn take_pages(&self, chunks: Range<u32>) -> Result<()> {
        let Range { start, end } = chunks;
        let range = u64::from(start) * CHUNK_BYTES..u64::from(end) * CHUNK_BYTES;
        self.region.populate(range)
    }

    fn cut(&self, bulk: &mut Bulk) -> Result<u32> {
        if bulk.next == bulk.end {
            let mut shared = self.shared.lock();
            let chunks = (shared.next / 4).clamp(*BULK_CHUNKS.start(), *BULK_CHUNKS.end());
            let (first, end) = (shared.next, shared.next + chunks);
            if end > CHUNKS_MAX {
                let path = self.region().path().to_owned();
                let needed_bytes = u64::from(chunks) * CHUNK_BYTES;
                let (available_bytes, lack) = (0, everedge_medium::Lack::Memory);
                return Err(Error::NoSpace { path, needed_bytes, available_bytes, lack });
            }
            self.region.grow(u64::from(end) * CHUNK_BYTES)?;
            shared.next = end;
            *bulk = Bulk { first, next: first, end, populated: first };
        }
        let chunk = bulk.next;
        if chunk >= bulk.populated {
            let used = chunk - bulk.first;
            let end = bulk.end.min(chunk + used.clamp(1, POPULATE_CHUNKS_MAX));
            self.take_pages(chunk..end)?;
            bulk.populated = end;
        }
        bulk.next += 1;
        Ok(chunk)
    }

    fn give_back(&self, chunks: &mut Vec<u32>) {
        if !chunks.is_empty() {
            self.shared.lock().free.append(chunks);
        }
    }

    fn chunk(&self, chunk: u32) -> &[AtomicU32] {
        self.region().words(u64::from(chunk) * CHUNK_BYTES, CHUNK_WORDS)
    }
}

/// Returns the words `range` of the buffer at `step`.
#[inline]
pub(crate) fn words(region: &Region, step: u32, range: Range<usize>) -> &[AtomicU32] {
    let offset = (step as usize * STEP_WORDS + range.start) as u64 * 4;
    region.words(offset, range.len())
}

/// Stores words into the buffer at `step`, into those of `range`.
#[inline]
pub(crate) fn store(
    region: &Region,
    step: u32,
    range: Range<usize>,
    words: impl Iterator<Item = u32>,
) {
    let offset = (step as usize * STEP_WORDS + range.start) as u64 * 4;
    region.store_each(offset, range.len(), words);
}

/// Starts loading the line of the word `index` of the buffer at `step` into the cache.
#[inline]
pub(crate) fn prefetch(region: &Region, step: u32, index: usize) {
    region.prefetch::<1>((step as usize * STEP_WORDS + index) as u64 * 4);
}

/// The buffers of one list of a shard.
pub(crate) struct Buffers {
    pool: Arc<Pool>,
    chunks: Vec<u32>,
    /// Where free buffers of each order are.
    free: [Vec<u32>; ORDER_TOP as usize + 1],
}

impl Buffers {
    /// Returns no buffers yet.
    pub(crate) fn new(pool: Arc<Pool>) -> Self {
        Self { pool, chunks: Vec::new(), free: Default::default() }
    }

    /// Takes a buffer of `class`.
    ///
    /// # Errors
    /// `NoSpace` if the pool is as large as it can get.
    pub(crate) fn take(&mut self, class: u8) -> Result<u32> {
        self.take_order(class - 1)
    }

    fn take_order(&mut self, order: u8) -> Result<u32> {
        if let Some(step) = self.free[order as usize].pop() {
            return Ok(step);
        }
        let mut from = (order..=ORDER_TOP).find(|&larger| !self.free[larger as usize].is_empty());
        if from.is_none() && self.free_steps(order) >= JOIN_STEPS_MIN {
            self.join_buddies();
            from = (order..=ORDER_TOP).find(|&larger| !self.free[larger as usize].is_empty());
        }
        let (mut larger, step) = match from {
            Some(larger) => (larger, self.free[larger as usize].pop()),
            None => {
                let chunk = self.pool.take()?;
                self.chunks.push(chunk);
                (ORDER_TOP, Some(chunk * CHUNK_STEPS))
            }
        };
        let step = step.expect("a free buffer was found");
        while larger > order {
            larger -= 1;
            self.free[larger as usize].push(step + (1 << larger));
        }
        Ok(step)
    }

    /// Returns how many steps are free in buffers of smaller orders.
    fn free_steps(&self, order: u8) -> usize {
        let steps = |smaller: u8| self.free[smaller as usize].len() << smaller;
        (0..order).map(steps).sum()
    }

    /// Makes one free buffer of any two that are buddies.
    fn join_buddies(&mut self) {
        for order in 0..ORDER_TOP {
            let mut single = std::mem::take(&mut self.free[order as usize]);
            single.sort_unstable_by(|a, b| b.cmp(a));
            let joined = &mut self.free[order as usize + 1];
            let mut kept: usize = 0;
            for index in 0..single.len() {
                let step = single[index];
                if kept > 0 && single[kept - 1] == step | 1 << order && step >> order & 1 == 0 {
                    kept -= 1;
                    joined.push(step);
                } else {
                    single[kept] = step;
                    kept += 1;
                }
            }
            single.truncate(kept);
            self.free[order as usize] = single;
        }
    }

    /// Gives a buffer back.
    pub(crate) fn give_back(&mut self, step: u32, class: u8) {
        self.free[class as usize - 1].push(step);
    }

    /// Returns the memory that they lie in.
    pub(crate) fn region(&self) -> &Region {
        self.pool.region()
    }

    /// Gives all chunks back.
    pub(crate) fn clear(&mut self) {
        self.free.iter_mut().for_each(Vec::clear);
        self.pool.give_back(&mut self.chunks);
    }

    /// Returns the bytes of all chunks.
    pub(crate) fn bytes(&self) -> u64 {
        self.chunks.len() as u64 * CHUNK_BYTES
    }

    /// Returns a copy of all buffers, and for each chunk the one that it was copied to.
    pub(crate) fn copy(&self) -> Result<(Self, Moved)> {
        let mut copy = Self::new(self.pool.clone());
        let mut moved = Moved::default();
        for &chunk in &self.chunks {
            let to = self.pool.take()?;
            copy.chunks.push(to);
            moved.0.insert(chunk, to);
            let words = self.pool.chunk(chunk).iter().map(|word| word.load(Relaxed));
            store(self.pool.region(), to * CHUNK_STEPS, 0..CHUNK_WORDS, words);
        }
        for (to, from) in copy.free.iter_mut().zip(&self.free) {
            to.extend(from.iter().map(|&step| moved.step(step)));
        }
        Ok((copy, moved))
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Where the chunks of a copied list are.
#[derive(Default)]
pub(crate) struct Moved(FxHashMap<u32, u32>);

impl Moved {
    /// Returns where the buffer at `step` is now.
    pub(crate) fn step(&self, step: u32) -> u32 {
        self.0[&(step / CHUNK_STEPS)] * CHUNK_STEPS + step % CHUNK_STEPS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffers() -> Buffers {
        Buffers::new(Pool::new().unwrap())
    }

    #[test]
    fn buffers_of_all_classes_are_disjoint_and_join_again() {
        let mut buffers = buffers();
        let mut taken = Vec::new();
        let mut random = 1u32;
        for _ in 0..20_000 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let class = 1 + (random >> 16) as u8 % (CLASS_COUNT as u8 - 1);
            if random >> 30 == 0 && !taken.is_empty() {
                let (step, class) = taken.swap_remove((random >> 8) as usize % taken.len());
                buffers.give_back(step, class);
            } else if taken.len() < 3000 {
                taken.push((buffers.take(class).unwrap(), class));
            }
        }
        let mut steps = std::collections::HashSet::new();
        for &(first, class) in &taken {
            let size = (words_of(class) / STEP_WORDS) as u32;
            assert!(first.is_multiple_of(size));
            assert!((first..first + size).all(|step| steps.insert(step)), "{first} overlaps");
        }
        let chunk_count = buffers.chunks.len();
        taken.drain(..).for_each(|(step, class)| buffers.give_back(step, class));
        // All join again to whole chunks.
        let whole = (0..chunk_count).map(|_| buffers.take_order(ORDER_TOP).unwrap());
        assert_eq!(whole.collect::<std::collections::HashSet<_>>().len(), chunk_count);
        assert_eq!(buffers.chunks.len(), chunk_count);
    }

    #[test]
    fn freed_chunks_are_used_again_and_copies_are_their_own() {
        let mut first = buffers();
        let step = first.take(3).unwrap();
        let region = first.pool.region().clone();
        words(&region, step, 0..1)[0].store(7, Relaxed);
        let (second, moved) = first.copy().unwrap();
        words(&region, step, 0..1)[0].store(8, Relaxed);
        assert_eq!(words(&region, moved.step(step), 0..1)[0].load(Relaxed), 7);
        let chunk = first.chunks[0];
        drop(first);
        assert_eq!(second.pool.take().unwrap(), chunk);
        assert_eq!(second.bytes(), CHUNK_BYTES);
    }

    #[test]
    fn plans_grow_flush_and_widen() {
        let plan = Plan::new(16..256, 1024, 1).unwrap();
        assert_eq!((plan.grown(0, 1), plan.grown(1, 5), plan.grown(0, 1000)), (1, 2, 5));
        assert_eq!((plan.capacity(4), plan.capacity(5), plan.capacity(7)), (32, 59, 251));
        assert!(plan.is_easy(5, 58) && !plan.is_easy(5, 59) && !plan.is_easy(0, 1));
        assert_eq!((plan.widened(5, 511), plan.widened(5, 512), plan.widened(7, 9999)), (5, 6, 7));
        assert_eq!(Plan::new(16..16, 16, 1).unwrap().capacity(1), 4);
        assert!(Plan::new(16..100, 256, 1).is_err() && Plan::new(64..128, 64, 1).is_err());
    }
}
