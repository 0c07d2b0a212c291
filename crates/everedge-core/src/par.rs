//! Parallel loops: the only place that starts them.
//!
//! Work is cut into pieces of a fixed size, the *grain*, and idle threads steal pieces, so one
//! vertex of huge degree delays no more than its own piece. The cut depends on the grain alone
//! and results come back in order: a sum over them is the same for any number of threads.
//! A loop of one piece runs on the calling thread, and so does every loop where the system gives no
//! threads.
//!
//! Loops *at home* run each piece on a thread that is bound to the NUMA node where the lists of the
//! piece lie: the threads of a node take its pieces, and none else. Without [`Homes`], or started
//! by a thread of a pool, they are the loops of the same name. With homes every thread of the pool
//! takes part, so none may wait for such a loop.
//!
//! Source of the loops at home: Wang et al., "XPGraph", ToS 2025, §4.2. Difference: the paper's
//! classes of queries are divided among threads beforehand, here a node's threads take pieces when
//! they are idle.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use rayon::BroadcastContext;
use rayon::prelude::*;

use crate::threads::Workers;
use crate::watch::{carried, watched};
use crate::{Homes, memory};

pub use crate::threads::{Threads, thread_count, with_threads};

/// Items in a piece of work that makes an array.
const COLLECTED_GRAIN: usize = 1 << 14;

/// Runs `f`, which starts many short loops, on one of the threads that loops run on: a loop that is
/// started there begins at once. With `homes` it runs here, for only then loops go home.
pub fn among_threads<R: Send>(homes: Option<&Homes>, f: impl FnOnce() -> R + Send) -> R {
    if homes.is_some() {
        return f();
    }
    Workers::run(carried(f), |f| rayon::scope(|_| f()), |f| f())
}

/// Runs `a` and `b`, possibly at the same time.
pub fn join<A: Send, B: Send>(
    a: impl FnOnce() -> A + Send,
    b: impl FnOnce() -> B + Send,
) -> (A, B) {
    Workers::run((carried(a), carried(b)), |(a, b)| rayon::join(a, b), |(a, b)| (a(), b()))
}

/// Runs `here` on this thread, and `beside` meanwhile on one of those that loops run on. So `here`
/// may wait for something without taking a thread away from loops. If loops run on one thread,
/// first `beside` is run and then `here`.
pub fn beside<A, B: Send>(here: impl FnOnce() -> A, beside: impl FnOnce() -> B + Send) -> (A, B) {
    if thread_count() == 1 {
        let b = beside();
        return (here(), b);
    }
    let beside = carried(beside);
    let mut result = None;
    let a = match Workers::current() {
        Workers::Pool(pool) => pool.in_place_scope(|scope| {
            scope.spawn(|_| result = Some(beside()));
            here()
        }),
        Workers::Around => rayon::in_place_scope(|scope| {
            scope.spawn(|_| result = Some(beside()));
            here()
        }),
        Workers::Caller => unreachable!("it is one thread, which was asked for before"),
    };
    (a, result.expect("a scope ends after what it spawned"))
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
    let f = watched(f);
    let range_of = |i: u32| i * grain..(i * grain).saturating_add(grain).min(bound);
    match bound.div_ceil(grain) {
        1 => vec![f(0..bound)],
        range_count => Workers::run(
            0..range_count,
            |all| all.into_par_iter().with_max_len(1).map(|i| f(range_of(i))).collect(),
            |all| all.map(|i| f(range_of(i))).collect(),
        ),
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
    let f = watched(f);
    if (1..=grain).contains(&items.len()) {
        return vec![f(items)];
    }
    Workers::run(
        items,
        |items| items.par_chunks(grain).with_max_len(1).map(&f).collect(),
        |items| items.chunks(grain).map(&f).collect(),
    )
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
    let f = watched(|(first, chunk): (usize, &mut [T])| f(first, chunk));
    if (1..=grain).contains(&items.len()) {
        return vec![f((0, items))];
    }
    let of = |(i, chunk): (usize, _)| f((i * grain, chunk));
    Workers::run(
        items,
        |items| items.par_chunks_mut(grain).with_max_len(1).enumerate().map(of).collect(),
        |items| items.chunks_mut(grain).enumerate().map(of).collect(),
    )
}

/// Returns `f` of each index below `len`, in huge pages where they fit.
pub fn collect<T: Send>(len: usize, f: impl Fn(usize) -> T + Sync + Send) -> Vec<T> {
    let mut items = memory::with_room(len);
    Workers::run(
        &mut items,
        |items| {
            let all = (0..len).into_par_iter().with_min_len(COLLECTED_GRAIN);
            all.map(&f).collect_into_vec(items);
        },
        |items| items.extend((0..len).map(&f)),
    );
    items
}

/// Calls `f` on every task, for work that the caller has cut itself.
pub fn for_each_task<T: Send>(tasks: Vec<T>, f: impl Fn(T) + Sync + Send) {
    let f = watched(f);
    Workers::run(
        tasks,
        |tasks| tasks.into_par_iter().with_max_len(1).for_each(&f),
        |tasks| tasks.into_iter().for_each(&f),
    );
}

/// Like [`map_ranges`]; each range runs at the home of its first index.
///
/// # Panics
/// If `grain` is 0 or a home is not below the node count.
pub fn map_ranges_at_home<R: Send>(
    homes: Option<&Homes>,
    bound: u32,
    grain: u32,
    home_of: impl Fn(u32) -> usize,
    f: impl Fn(Range<u32>) -> R + Sync + Send,
) -> Vec<R> {
    let Some(homes) = homes.filter(|_| is_outside()) else {
        return map_ranges(bound, grain, f);
    };
    let starts = (0..bound).step_by(grain as usize);
    let tasks = starts.map(|start| (home_of(start), start..start.saturating_add(grain).min(bound)));
    at_home(homes, tasks, watched(f))
}

/// Like [`map_chunks_mut`]; each piece runs at the home of its first item, which `home_of` is asked
/// for by index.
///
/// # Panics
/// If `grain` is 0 or a home is not below the node count.
pub fn map_chunks_mut_at_home<T: Send, R: Send>(
    homes: Option<&Homes>,
    items: &mut [T],
    grain: usize,
    home_of: impl Fn(usize) -> usize,
    f: impl Fn(usize, &mut [T]) -> R + Sync + Send,
) -> Vec<R> {
    let Some(homes) = homes.filter(|_| is_outside()) else {
        return map_chunks_mut(items, grain, f);
    };
    let chunks = items.chunks_mut(grain).enumerate().map(|(i, chunk)| (i * grain, chunk));
    let tasks = chunks.map(|(first, chunk)| (home_of(first), (first, chunk)));
    at_home(homes, tasks, watched(|(first, chunk): (usize, &mut [T])| f(first, chunk)))
}

/// Calls `f` on every task at the home of the task, for work that the caller has cut itself;
/// returns the results in the order of the tasks.
///
/// # Panics
/// If a home is not below the node count.
pub fn map_tasks_at_home<T: Send, R: Send>(
    homes: Option<&Homes>,
    tasks: Vec<T>,
    home_of: impl Fn(&T) -> usize,
    f: impl Fn(T) -> R + Sync + Send,
) -> Vec<R> {
    let f = watched(f);
    let Some(homes) = homes.filter(|_| is_outside()) else {
        if tasks.len() == 1 {
            return tasks.into_iter().map(f).collect();
        }
        return Workers::run(
            tasks,
            |tasks| tasks.into_par_iter().with_max_len(1).map(&f).collect(),
            |tasks| tasks.into_iter().map(&f).collect(),
        );
    };
    at_home(homes, tasks.into_iter().map(|task| (home_of(&task), task)), f)
}

/// Whether this is no thread of a pool. One that is cannot wait for the others: they may do so too.
fn is_outside() -> bool {
    rayon::current_thread_index().is_none()
}

/// Calls `f` on every task on a thread that is bound to the home beside it; returns the results in
/// the order of the tasks.
fn at_home<T: Send, R: Send>(
    homes: &Homes,
    tasks: impl Iterator<Item = (usize, T)>,
    f: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let Workers::Pool(pool) = Workers::current() else {
        return tasks.map(|(_, task)| f(task)).collect();
    };
    let mut queues: Vec<_> = (0..homes.node_count()).map(|_| Vec::new()).collect();
    for (place, (home, task)) in tasks.enumerate() {
        queues[home].push((place, task));
    }
    if queues.iter().all(Vec::is_empty) {
        return Vec::new();
    }
    let queues: Vec<_> = queues.into_iter().map(|queue| Mutex::new(queue.into_iter())).collect();
    // A panic of `f` is not under the lock.
    let take = |node: usize| queues[node].lock().unwrap_or_else(PoisonError::into_inner).next();
    let serve = |thread: BroadcastContext<'_>| {
        let mut done = Vec::new();
        for node in homes.served_by(thread.index(), thread.num_threads()) {
            while let Some((place, task)) = take(node) {
                homes.bind(node);
                done.push((place, f(task)));
            }
        }
        done
    };
    let mut done: Vec<_> = pool.broadcast(serve).into_iter().flatten().collect();
    done.sort_by_key(|&(place, _)| place);
    done.into_iter().map(|(_, result)| result).collect()
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
    fn another_thread_uses_the_same_threads_and_what_runs_here_may_wait() {
        with_threads(3, || {
            let threads = Threads::current();
            let count = std::thread::spawn(move || threads.enter(thread_count)).join();
            assert_eq!(count.unwrap(), 3);
            let (send, receive) = std::sync::mpsc::channel();
            let (sum, ()) = beside(
                || receive.iter().sum::<u32>(),
                move || for_each_range(10, 1, |range| send.send(range.start).unwrap()),
            );
            assert_eq!(sum, 45);
            assert_eq!(join(|| 1, || 2), (1, 2));
        })
        .unwrap();
        let inside = || rayon::current_num_threads();
        assert_eq!(thread_count(), among_threads(None, inside));
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
