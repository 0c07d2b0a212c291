//! The threads that parallel loops run on.
//!
//! Each process has a pool of its own, made by its first loop. A fork copies the memory of a pool
//! but none of its threads: the child finds that the pool belongs to another process and makes a
//! new one. Where the system gives no thread at all, loops run on the thread that starts them.
//!
//! # Concurrency
//! Any thread may ask for the pool. Two that ask first at once both make one, and one of the two
//! pools ends: nobody holds a lock for long, so that no fork leaves the child a locked one.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::{io, process, thread};

use rayon::{ThreadPool, ThreadPoolBuilder};
use rustix::process::{Resource, getrlimit};

thread_local! {
    /// Where the loops of this thread run.
    static THREADS: RefCell<Threads> = const { RefCell::new(Threads(Choice::All)) };
    /// How many [`Alone`] this thread has.
    static ALONE: Cell<u32> = const { Cell::new(0) };
}

/// A pool has at most so many threads: more than any machine has cores, and fewer than are felt where
/// the system would give them.
const THREADS_MAX: usize = 4096;
/// The addresses of a thread's stack, as the standard library takes them.
const STACK_BYTES: u64 = 2 << 20;

/// The pool of the process that ran the first loop; those of its children follow.
static FIRST: OnceLock<Box<Process>> = OnceLock::new();

/// The pool of one process.
struct Process {
    id: u32,
    /// `None` if the system refused every thread.
    pool: Option<Arc<ThreadPool>>,
    /// That of a child, in the child's memory.
    child: OnceLock<Box<Process>>,
}

impl Process {
    /// Makes a pool of one thread for each core, or of fewer if the system refuses some.
    fn start(id: u32) -> Self {
        let mut thread_count = thread::available_parallelism().map_or(1, usize::from);
        // As many as `RAYON_NUM_THREADS` says or, without, as there are cores.
        let mut pool = ThreadPoolBuilder::new().build();
        while pool.is_err() && thread_count > 1 {
            thread_count /= 2;
            pool = ThreadPoolBuilder::new().num_threads(thread_count).build();
        }
        Self { id, pool: pool.ok().map(Arc::new), child: OnceLock::new() }
    }

    /// Returns the pool of this process, if it could be made.
    fn pool() -> Option<&'static Arc<ThreadPool>> {
        let id = process::id();
        let mut place = &FIRST;
        loop {
            let Some(process) = place.get() else {
                // Refused if another thread was faster: then its pool is taken next.
                _ = place.set(Box::new(Self::start(id)));
                continue;
            };
            if process.id == id {
                return process.pool.as_ref();
            }
            place = &process.child;
        }
    }
}

/// The threads that parallel loops run on: as many as there are cores, or those of
/// [`with_threads`]. They do the loops' work only; whoever starts a loop waits for it.
#[derive(Clone, Debug, Default)]
pub struct Threads(Choice);

/// Which threads loops run on.
#[derive(Clone, Debug, Default)]
enum Choice {
    /// One for each core.
    #[default]
    All,
    /// The one that starts them: it waits for nobody.
    Caller,
    /// Those of a pool of their own.
    Pool(Arc<ThreadPool>),
}

impl Threads {
    /// Returns the threads of the loops that are started here, to be used by another thread.
    pub fn current() -> Self {
        THREADS.with_borrow(Self::clone)
    }

    /// Runs `f` with its parallel loops on these threads.
    pub fn enter<R>(&self, f: impl FnOnce() -> R) -> R {
        /// Restores what was there before, even if `f` panics.
        struct Restore(Threads);
        impl Drop for Restore {
            fn drop(&mut self) {
                THREADS.replace(std::mem::take(&mut self.0));
            }
        }
        let _restore = Restore(THREADS.replace(self.clone()));
        f()
    }
}

/// While it lives, a loop that its thread starts takes no other work of the thread's pool.
///
/// A thread of a pool that waits for pieces of a loop does other work of the pool meanwhile. Were
/// that work to lock what the thread has locked, it would wait for itself. Who holds a lock around
/// loops, and may be called from a thread of a pool that is not ours, has one of these with the lock.
pub struct Alone(PhantomData<*const ()>);

impl Alone {
    /// Begins it.
    #[expect(clippy::new_without_default, reason = "it is made to be dropped later")]
    pub fn new() -> Self {
        ALONE.set(ALONE.get() + 1);
        Self(PhantomData)
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        ALONE.set(ALONE.get() - 1);
    }
}

/// While it lives somebody waits for an answer, and work that nobody waits for is put off.
pub struct Foreground(());

/// How many were begun, and how many ended, in the process of this number: a forked child has none of its
/// parent's.
static FOREGROUND: [AtomicU64; 2] = [const { AtomicU64::new(0) }; 2];
static FOREGROUND_OF: AtomicU32 = AtomicU32::new(0);

impl Foreground {
    /// Begins it.
    #[expect(clippy::new_without_default, reason = "it is made to be dropped later")]
    pub fn new() -> Self {
        let id = process::id();
        if FOREGROUND_OF.swap(id, Relaxed) != id {
            FOREGROUND.iter().for_each(|count| count.store(0, Relaxed));
        }
        FOREGROUND[0].fetch_add(1, Relaxed);
        Self(())
    }

    /// Returns how many were begun in this process, and whether one of them has not ended.
    pub fn begun() -> (u64, bool) {
        if FOREGROUND_OF.load(Relaxed) != process::id() {
            return (0, false);
        }
        let [begun, ended] = [&FOREGROUND[0], &FOREGROUND[1]].map(|count| count.load(Relaxed));
        (begun, begun != ended)
    }
}

impl Drop for Foreground {
    fn drop(&mut self) {
        FOREGROUND[1].fetch_add(1, Relaxed);
    }
}

/// Runs `f` with its parallel loops on `threads` threads; 0 means one for each core.
///
/// # Errors
/// If there are more than 4,096, or the operating system refuses them.
pub fn with_threads<R>(threads: usize, f: impl FnOnce() -> R) -> io::Result<R> {
    if threads == 0 {
        return Ok(f());
    }
    if threads > THREADS_MAX {
        let what = format!("a pool has at most {THREADS_MAX} threads");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    refuse_beyond_addresses(threads)?;
    let pool = ThreadPoolBuilder::new().num_threads(threads).build().map_err(io::Error::other)?;
    Ok(Threads(Choice::Pool(Arc::new(pool))).enter(f))
}

/// Runs `f` with its parallel loops on the calling thread, which waits for no other. They do not go home then.
pub fn on_this_thread<R>(f: impl FnOnce() -> R) -> R {
    Threads(Choice::Caller).enter(f)
}

/// Refuses threads whose stacks alone are beyond the limit of addresses: whoever takes the last ones is
/// aborted when it needs memory, and does not come to say so.
fn refuse_beyond_addresses(threads: usize) -> io::Result<()> {
    let needed = threads as u64 * STACK_BYTES;
    match getrlimit(Resource::As).current.filter(|&limit| needed > limit) {
        Some(limit) => {
            let what = format!("their stacks take {needed} bytes of addresses, of {limit}");
            Err(io::Error::new(io::ErrorKind::OutOfMemory, what))
        }
        None => Ok(()),
    }
}

/// Returns how many threads a parallel loop started here would use.
///
/// Cost: two words of the thread, and outside of [`with_threads`] a system call.
pub fn thread_count() -> usize {
    if rayon::current_thread_index().is_some() {
        return if ALONE.get() > 0 { 1 } else { rayon::current_num_threads() };
    }
    // Asked from outside: to go into the pool for it would wait for a thread that is free.
    let count = |pool: &Arc<ThreadPool>| pool.current_num_threads();
    THREADS.with_borrow(|Threads(choice)| match choice {
        Choice::All => Process::pool().map_or(1, count),
        Choice::Caller => 1,
        Choice::Pool(pool) => count(pool),
    })
}

/// Who does the work of a loop that is started here.
pub(crate) enum Workers {
    /// The calling thread: the system gives no others, it is [`Alone`], or in [`on_this_thread`].
    Caller,
    /// The pool that the calling thread is one of. It stays there.
    Around,
    /// A pool that the calling thread is none of.
    Pool(Arc<ThreadPool>),
}

impl Workers {
    /// Returns who it is.
    pub(crate) fn current() -> Self {
        if rayon::current_thread_index().is_some() {
            return if ALONE.get() > 0 { Self::Caller } else { Self::Around };
        }
        match Threads::current().0 {
            Choice::All => Process::pool().cloned().map_or(Self::Caller, Self::Pool),
            Choice::Caller => Self::Caller,
            Choice::Pool(pool) => Self::Pool(pool),
        }
    }
}
