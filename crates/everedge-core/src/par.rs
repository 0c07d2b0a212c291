//! Parallel loops: the only place that starts them.
//!
//! Work is cut into pieces of a fixed size, the *grain*, and idle threads steal pieces, so one
//! vertex of huge degree delays no more than its own piece. The cut depends on the grain alone
//! and results come back in order: a sum over them is the same for any number of threads.
//! A loop of one piece runs on the calling thread.

use std::io;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

/// Runs `f` with its parallel loops on `threads` threads; 0 means one for each core.
///
/// # Errors
/// If the operating system refuses the threads.
pub fn with_threads<R: Send>(threads: usize, f: impl FnOnce() -> R + Send) -> io::Result<R> {
    if threads == 0 {
        return Ok(f());
    }
    let pool =
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(io::Error::other)?;
    Ok(pool.install(f))
}

/// Returns how many threads a parallel loop started here would use.
pub fn thread_count() -> usize {
    rayon::current_num_threads()
}

/// Calls `f` on consecutive ranges of `grain` indices (the last may be shorter) that cover
/// `0..bound`.
///
/// # Panics
/// If `grain` is 0.
pub fn for_each_range(bound: u32, grain: u32, f: impl Fn(Range<u32>) + Sync + Send) {
    map_ranges(bound, grain, f);
}

/// Like [`for_each_range`]; returns the results in the order of the ranges.
///
/// # Panics
/// If `grain` is 0.
pub fn map_ranges<R: Send>(
    bound: u32,
    grain: u32,
    f: impl Fn(Range<u32>) -> R + Sync + Send,
) -> Vec<R> {
    let range_of = |i: u32| i * grain..(i * grain).saturating_add(grain).min(bound);
    match bound.div_ceil(grain) {
        1 => vec![f(0..bound)],
        range_count => {
            (0..range_count).into_par_iter().with_max_len(1).map(|i| f(range_of(i))).collect()
        }
    }
}

/// Calls `f` on consecutive pieces of `grain` items; returns the results in order.
///
/// # Panics
/// If `grain` is 0.
pub fn map_chunks<T: Sync, R: Send>(
    items: &[T],
    grain: usize,
    f: impl Fn(&[T]) -> R + Sync + Send,
) -> Vec<R> {
    if (1..=grain).contains(&items.len()) {
        return vec![f(items)];
    }
    items.par_chunks(grain).with_max_len(1).map(f).collect()
}

/// Calls `f(first, piece)` on consecutive pieces of `grain` items, where `first` is the index of
/// the first item of the piece; returns the results in order.
///
/// # Panics
/// If `grain` is 0.
pub fn map_chunks_mut<T: Send, R: Send>(
    items: &mut [T],
    grain: usize,
    f: impl Fn(usize, &mut [T]) -> R + Sync + Send,
) -> Vec<R> {
    if (1..=grain).contains(&items.len()) {
        return vec![f(0, items)];
    }
    let chunks = items.par_chunks_mut(grain).with_max_len(1).enumerate();
    chunks.map(|(i, chunk)| f(i * grain, chunk)).collect()
}

/// Calls `f` on every task, for work that the caller has cut itself.
pub fn for_each_task<T: Send>(tasks: Vec<T>, f: impl Fn(T) + Sync + Send) {
    tasks.into_par_iter().with_max_len(1).for_each(f);
}

/// One value for each thread, kept between loops.
///
/// Which thread runs which piece is chance, so what the values hold together must not depend on
/// how they are divided.
#[derive(Debug)]
pub struct PerThread<T> {
    slots: Vec<Slot<T>>,
}

/// Fills two cache lines, which processors fetch in pairs, so that no thread's writes slow another.
#[derive(Debug)]
#[repr(align(128))]
struct Slot<T>(Mutex<T>);

impl<T: Send> PerThread<T> {
    /// Makes a value for each thread that loops started here would use.
    pub fn new(make: impl Fn() -> T) -> Self {
        Self { slots: (0..thread_count()).map(|_| Slot(Mutex::new(make()))).collect() }
    }

    /// Calls `f` on the value of the calling thread.
    ///
    /// `f` must neither call `with` nor start a parallel loop: either may wait for itself.
    pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        let slot_idx = rayon::current_thread_index().unwrap_or(0) % self.slots.len();
        // After a panic the loop is unwinding, so nobody reads a value that was left half changed.
        let mut value = self.slots[slot_idx].0.lock().unwrap_or_else(PoisonError::into_inner);
        f(&mut value)
    }

    /// Returns the values, in no particular order.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.slots.iter_mut().map(|slot| slot.0.get_mut().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_cover_the_bound_in_order() {
        for (bound, grain) in [(0, 4), (1, 4), (4, 4), (5, 4), (1000, 7), (u32::MAX, 1 << 30)] {
            let ranges = map_ranges(bound, grain, |range| range);
            let mut next = 0;
            for range in &ranges {
                assert_eq!(range.start, next, "bound {bound}, grain {grain}");
                assert!(!range.is_empty());
                next = range.end;
            }
            assert_eq!(next, bound);
        }
    }

    #[test]
    fn chunks_cover_the_items_in_order() {
        let mut items: Vec<usize> = vec![0; 1001];
        let firsts = map_chunks_mut(&mut items, 10, |first, chunk| {
            for (i, item) in chunk.iter_mut().enumerate() {
                *item = first + i;
            }
            first
        });
        assert_eq!(firsts, (0..1001).step_by(10).collect::<Vec<_>>());
        assert_eq!(items, (0..1001).collect::<Vec<_>>());
        let sums = map_chunks(&items, 500, |chunk| chunk.iter().sum::<usize>());
        assert_eq!(sums, [124_750, 374_750, 1000]);
        assert!(map_chunks(&[0; 0], 5, |_| ()).is_empty());
    }

    #[test]
    fn threads_are_as_many_as_asked() {
        assert_eq!(with_threads(3, thread_count).unwrap(), 3);
        assert_eq!(with_threads(0, thread_count).unwrap(), thread_count());
    }

    #[test]
    fn per_thread_values_add_up() {
        let total = with_threads(4, || {
            let mut counts = PerThread::new(|| 0_u64);
            for_each_range(10_000, 10, |range| counts.with(|count| *count += range.len() as u64));
            counts.iter_mut().map(|count| *count).sum::<u64>()
        });
        assert_eq!(total.unwrap(), 10_000);
    }
}
