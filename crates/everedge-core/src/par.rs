//! Parallel loops: the only place that starts them.
//!
//! Work is cut into pieces of a fixed size, the *grain*, and idle threads steal pieces, so one
//! vertex of huge degree delays no more than its own piece. The cut depends on the grain alone
//! and results come back in order: a sum over them is the same for any number of threads.
//! A loop of one piece runs on the calling thread, and so does every loop where the system gives no
//! threads.
//!
//! The same threads archive what is written to a graph. So a piece reads snapshots that it was given,
//! and calls no graph: it could wait for an archiving loop that waits for its thread.
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
use std::sync::{Arc, Mutex, PoisonError};

use rayon::prelude::*;
use rayon::{BroadcastContext, ThreadPool};

use crate::threads::Workers;
use crate::watch::{Watched, carried};
use crate::{Homes, VertexId, memory};

pub use crate::threads::{Alone, Foreground, Threads, on_this_thread, thread_count, with_threads};

/// Items in a piece of work that makes an array.
const COLLECTED_GRAIN: usize = 1 << 14;
/// Fewer items are sorted by one thread.
const SORTED_GRAIN: usize = 1 << 16;

/// Runs `f`, which starts many short loops, on one of the threads that loops run on: a loop that is
/// started there begins at once. With `homes` it runs here, for only then loops go home.
pub fn among_threads<R: Send>(homes: Option<&Homes>, f: impl FnOnce() -> R + Send) -> R {
    if homes.is_some() {
        return f();
    }
    let mut f = Once::new(carried(f));
    run_inside(&mut || f.run());
    f.result()
}

/// Runs `a` and `b`, possibly at the same time.
pub fn join<A: Send, B: Send>(
    a: impl FnOnce() -> A + Send,
    b: impl FnOnce() -> B + Send,
) -> (A, B) {
    let (mut a, mut b) = (Once::new(carried(a)), Once::new(carried(b)));
    run_both(&mut || a.run(), &mut || b.run());
    (a.result(), b.result())
}

/// As [`join`] if it is `worth` waking a thread, else one after the other.
pub fn join_if<A: Send, B: Send>(
    worth: bool,
    a: impl FnOnce() -> A + Send,
    b: impl FnOnce() -> B + Send,
) -> (A, B) {
    if worth { join(a, b) } else { (a(), b()) }
}

/// Runs `here` on this thread, and `beside` meanwhile on one of those that loops run on. So `here`
/// may wait for something without taking a thread away from loops. If loops run on one thread,
/// first `beside` is run and then `here`.
pub fn beside<A, B: Send>(here: impl FnOnce() -> A, beside: impl FnOnce() -> B + Send) -> (A, B) {
    if thread_count() == 1 {
        let b = beside();
        return (here(), b);
    }
    let (mut here, mut beside) = (Once::new(here), Once::new(carried(beside)));
    run_beside(&mut || here.run(), &mut || beside.run());
    (here.result(), beside.result())
}

/// Calls `f` on consecutive ranges of `grain` indices (the last may be shorter) that cover
/// `0..bound`.
///
/// # Panics
/// If `grain` is 0.
pub fn for_each_range(bound: u32, grain: u32, f: impl Fn(Range<u32>) + Sync + Send) {
    let count = bound.div_ceil(grain) as usize;
    run_pieces(&Ways::Anywhere, count, &|i| f(range_at(i, grain, bound)));
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
    map_ranges_at_home(None, bound, grain, |_| 0, f)
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
    let chunk_of = |i: usize| &items[i * grain..items.len().min((i + 1).saturating_mul(grain))];
    map_pieces(&Ways::Anywhere, items.len().div_ceil(grain), |i| f(chunk_of(i)))
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
    map_chunks_mut_at_home(None, items, grain, |_| 0, f)
}

/// Returns `f` of each index below `len`, in huge pages where they fit.
pub fn collect<T: Send>(len: usize, f: impl Fn(usize) -> T + Sync + Send) -> Vec<T> {
    memory::collect(len, COLLECTED_GRAIN, f)
}

/// Sorts by a key of numbers; items of equal keys stay in their order.
pub fn sort_by_key<T: Send, K: radsort::Key + Ord>(
    items: &mut [T],
    key: impl Fn(&T) -> K + Sync + Send,
) {
    sort_by_key_among(thread_count(), items, key);
}

/// As [`sort_by_key`], among fewer threads than there are: the others have something else to do.
pub fn sort_by_key_among<T: Send, K: radsort::Key + Ord>(
    threads: usize,
    items: &mut [T],
    key: impl Fn(&T) -> K + Sync + Send,
) {
    if threads <= 1 || items.len() < SORTED_GRAIN {
        return radsort::sort_by_key(items, key);
    }
    let piece = items.len().div_ceil(threads);
    map_chunks_mut(items, piece, |_, piece| radsort::sort_by_key(piece, &key));
    // It finds what is sorted already, and merges it.
    items.sort_by_key(key);
}

/// Sorts ids.
pub fn sort(ids: &mut [VertexId]) {
    sort_by_key(ids, |&v| v);
}

/// Calls `f` on every task, for work that the caller has cut itself.
pub fn for_each_task<T: Send>(tasks: Vec<T>, f: impl Fn(T) + Sync + Send) {
    map_tasks_at_home(None, tasks, |_| 0, f);
}

/// Calls `f` on every task; returns the results in the order of the tasks.
pub fn map_tasks<T: Send, R: Send>(tasks: Vec<T>, f: impl Fn(T) -> R + Sync + Send) -> Vec<R> {
    map_tasks_at_home(None, tasks, |_| 0, f)
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
    let count = bound.div_ceil(grain) as usize;
    let ways = Ways::of(homes, count, &|i| home_of(range_at(i, grain, bound).start));
    map_pieces(&ways, count, |i| f(range_at(i, grain, bound)))
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
    let chunks = Tasks::of_chunks(items, grain);
    let ways = Ways::of(homes, chunks.count(), &|i| home_of(i * grain));
    map_pieces(&ways, chunks.count(), |i| f(i * grain, chunks.take(i)))
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
    let ways = Ways::of(homes, tasks.len(), &|i| home_of(&tasks[i]));
    let tasks = Tasks::new(tasks);
    map_pieces(&ways, tasks.count(), |i| f(tasks.take(i)))
}

/// Where pieces of work are done.
enum Ways<'a> {
    /// By whichever thread takes them.
    Anywhere,
    /// At homes: that of each piece.
    AtHome(&'a Homes, Arc<ThreadPool>, Vec<usize>),
}

impl<'a> Ways<'a> {
    /// Returns the homes of pieces, if they are to be done there. A thread of a pool cannot wait for
    /// the others: they may do so too.
    fn of(homes: Option<&'a Homes>, count: usize, home_of: &dyn Fn(usize) -> usize) -> Self {
        match (homes, homes.map(|_| Workers::current())) {
            (Some(homes), Some(Workers::Pool(pool))) => {
                Self::AtHome(homes, pool, (0..count).map(home_of).collect())
            }
            _ => Self::Anywhere,
        }
    }
}

/// Returns the `i`-th of the ranges of `grain` indices that cover `0..bound`.
fn range_at(i: usize, grain: u32, bound: u32) -> Range<u32> {
    let start = i as u32 * grain;
    start..start.saturating_add(grain).min(bound)
}

/// Returns `f` of each index below `count`, which is the number of a piece of work.
fn map_pieces<R: Send>(ways: &Ways<'_>, count: usize, f: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let results = Results::new(count);
    run_pieces(ways, count, &|i| results.put(i, f(i)));
    results.into_vec()
}

// A program holds thousands of loops, and what is compiled for each of them adds up: so all but the loop's own closure
// is compiled once, or once for a type, with work behind a pointer. No piece of work is so small that it would feel that.

/// Calls `f` with each index below `count`, under what watches this thread.
fn run_pieces(ways: &Ways<'_>, count: usize, f: &(dyn Fn(usize) + Sync)) {
    let watched = Watched::now();
    let f = &|i| watched.run(|| f(i));
    match ways {
        Ways::Anywhere => run_anywhere(count, f),
        Ways::AtHome(homes, pool, of_pieces) => run_at_home(homes, pool, of_pieces, f),
    }
}

/// Calls `f` with each index below `count`.
fn run_anywhere(count: usize, f: &(dyn Fn(usize) + Sync)) {
    if count <= 1 {
        return (0..count).for_each(f);
    }
    let parallel = || (0..count).into_par_iter().with_max_len(1).for_each(f);
    match Workers::current() {
        Workers::Caller => (0..count).for_each(f),
        Workers::Around => parallel(),
        Workers::Pool(pool) => pool.install(parallel),
    }
}

/// Calls `f` on one of the threads that loops run on.
fn run_inside(f: &mut (dyn FnMut() + Send)) {
    match Workers::current() {
        Workers::Caller | Workers::Around => f(),
        Workers::Pool(pool) => pool.install(f),
    }
}

fn run_both(a: &mut (dyn FnMut() + Send), b: &mut (dyn FnMut() + Send)) {
    match Workers::current() {
        Workers::Caller => {
            a();
            b();
        }
        Workers::Around => drop(rayon::join(a, b)),
        Workers::Pool(pool) => drop(pool.join(a, b)),
    }
}

fn run_beside(here: &mut dyn FnMut(), beside: &mut (dyn FnMut() + Send)) {
    match Workers::current() {
        Workers::Pool(pool) => pool.in_place_scope(|scope| {
            scope.spawn(|_| beside());
            here();
        }),
        Workers::Around => rayon::in_place_scope(|scope| {
            scope.spawn(|_| beside());
            here();
        }),
        Workers::Caller => unreachable!("it is one thread, which was asked for before"),
    }
}

/// Calls `f` with the number of each piece on a thread that is bound to the home of the piece.
fn run_at_home(homes: &Homes, pool: &ThreadPool, of_pieces: &[usize], f: &(dyn Fn(usize) + Sync)) {
    if of_pieces.is_empty() {
        return;
    }
    let mut queues: Vec<_> = (0..homes.node_count()).map(|_| Vec::new()).collect();
    of_pieces.iter().enumerate().for_each(|(piece, &home)| queues[home].push(piece));
    let queues: Vec<_> = queues.into_iter().map(|queue| Mutex::new(queue.into_iter())).collect();
    // The lock is not held while a piece is at work.
    let next_at = |node: usize| lock(&queues[node]).next();
    pool.broadcast(|thread: BroadcastContext<'_>| {
        for node in homes.served_by(thread.index(), thread.num_threads()) {
            while let Some(piece) = next_at(node) {
                homes.bind(node);
                f(piece);
            }
        }
    });
}

/// What pieces of work are done on, by number, each to be taken once.
struct Tasks<T>(Vec<Mutex<Option<T>>>);

impl<T> Tasks<T> {
    fn new(tasks: Vec<T>) -> Self {
        Self(tasks.into_iter().map(|task| Mutex::new(Some(task))).collect())
    }

    fn count(&self) -> usize {
        self.0.len()
    }

    fn take(&self, place: usize) -> T {
        lock(&self.0[place]).take().expect("a task is taken once")
    }
}

impl<'a, T> Tasks<&'a mut [T]> {
    fn of_chunks(items: &'a mut [T], grain: usize) -> Self {
        Self::new(items.chunks_mut(grain).collect())
    }
}

/// The results of pieces of work, by number, each put there by the thread that has it.
struct Results<R>(Vec<Mutex<Option<R>>>);

impl<R> Results<R> {
    fn new(count: usize) -> Self {
        Self((0..count).map(|_| Mutex::default()).collect())
    }

    fn put(&self, place: usize, result: R) {
        *lock(&self.0[place]) = Some(result);
    }

    fn into_vec(self) -> Vec<R> {
        let result = |slot: Mutex<_>| slot.into_inner().unwrap_or_else(PoisonError::into_inner);
        let results = self.0.into_iter().map(|slot| result(slot).expect("every piece was done"));
        results.collect()
    }
}

/// Work that is done once, and its result.
struct Once<F, R> {
    work: Option<F>,
    result: Option<R>,
}

impl<R, F: FnOnce() -> R> Once<F, R> {
    fn new(work: F) -> Self {
        Self { work: Some(work), result: None }
    }

    fn run(&mut self) {
        self.result = self.work.take().map(|work| work());
    }

    fn result(self) -> R {
        self.result.expect("what was started has ended")
    }
}

/// Locks what no panic leaves half changed: none happens under these locks.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
        let here = std::thread::current().id();
        let where_pieces_run = || map_ranges(100, 1, |_| std::thread::current().id());
        assert!(on_this_thread(where_pieces_run).iter().all(|&thread| thread == here));
        assert_eq!(on_this_thread(thread_count), 1);
        assert!(with_threads(100_000, thread_count).is_err());
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
