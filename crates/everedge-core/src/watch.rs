//! Watching work that takes long: how far it is, and ending it early.
//!
//! Who starts the work holds a [`Watch`] and runs the work under it; any thread may ask how far it
//! is or cancel it. The work need not know: every parallel loop of [`par`](crate::par) that is
//! started under a watch looks at it before each piece, and unwinds if it was cancelled, up to
//! [`Watch::run`]. What it held is dropped on the way; nothing that outlives it may be left half
//! changed, so only what reads a view and builds a new answer is run so. A serial loop that takes
//! long calls [`check`] now and then.
//!
//! Source: unwinding as a way to cancel queries is salsa's, the incremental engine of
//! rust-analyzer (`salsa::Cancelled`).
//!
//! # Cost
//! A relaxed load for each piece of a loop.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

thread_local! {
    /// The watch that this thread works under.
    static CURRENT: RefCell<Option<Watch>> = const { RefCell::new(None) };
}

/// Sees how far some work is, and may cancel it. Clones watch the same work.
#[derive(Clone, Debug, Default)]
pub struct Watch(Arc<State>);

#[derive(Debug, Default)]
struct State {
    is_cancelled: Arc<AtomicBool>,
    done: AtomicU64,
    total: AtomicU64,
}

/// Work was cancelled before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled;

impl Watch {
    /// Makes a watch of work that has not begun.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a watch whose work ends when somebody sets `is_cancelled`, as a handler of signals does.
    pub fn on(is_cancelled: Arc<AtomicBool>) -> Self {
        Self(Arc::new(State { is_cancelled, ..State::default() }))
    }

    /// Asks the work to end. It ends at the next piece of a loop: within milliseconds mostly.
    pub fn cancel(&self) {
        self.0.is_cancelled.store(true, Relaxed);
    }

    /// Returns how many steps are done, and of how many as far as that is known (else 0). What a
    /// step is, the work chooses: an iteration, a source.
    pub fn progress(&self) -> (u64, u64) {
        (self.0.done.load(Relaxed), self.0.total.load(Relaxed))
    }

    /// Runs `work` on this thread.
    ///
    /// # Errors
    /// [`Cancelled`] if it was cancelled before its end.
    pub fn run<R>(&self, work: impl FnOnce() -> R) -> Result<R, Cancelled> {
        let _restore = Restore(CURRENT.replace(Some(self.clone())));
        panic::catch_unwind(AssertUnwindSafe(work)).map_err(|payload| {
            match payload.downcast::<Cancelled>() {
                Ok(cancelled) => *cancelled,
                Err(payload) => panic::resume_unwind(payload),
            }
        })
    }

    fn check(&self) {
        if self.0.is_cancelled.load(Relaxed) {
            unwind();
        }
    }
}

/// Restores what was watched before, even if the work panics.
struct Restore(Option<Watch>);

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.replace(self.0.take());
    }
}

/// Ends the work of this thread if it was cancelled.
pub fn check() {
    CURRENT.with_borrow(|watch| watch.as_ref().map_or((), Watch::check));
}

/// Runs `work` so that nothing cancels it: for what must not be left half done.
pub fn undisturbed<R>(work: impl FnOnce() -> R) -> R {
    let _restore = Restore(CURRENT.take());
    work()
}

/// Says that `done` of `total` steps are done; a total of 0 is one that is not known.
pub fn note(done: u64, total: u64) {
    CURRENT.with_borrow(|watch| {
        if let Some(Watch(state)) = watch {
            state.done.store(done, Relaxed);
            state.total.store(total, Relaxed);
        }
    });
    check();
}

/// What watches the thread that starts a loop. Its pieces look at that, wherever they run, and at nothing else: a
/// thread that waits for the pieces of its own work may take one of another's meanwhile.
pub(crate) struct Watched(Option<Watch>);

impl Watched {
    /// Returns what watches this thread now.
    pub(crate) fn now() -> Self {
        Self(CURRENT.with_borrow(Clone::clone))
    }

    /// Runs a piece.
    pub(crate) fn run<R>(&self, piece: impl FnOnce() -> R) -> R {
        if let Some(watch) = &self.0 {
            watch.check();
        }
        let is_others = CURRENT.with_borrow(|current| match (current, &self.0) {
            (Some(current), Some(watch)) => !Arc::ptr_eq(&current.0, &watch.0),
            (current, _) => current.is_some(),
        });
        let _restore = is_others.then(|| Restore(CURRENT.take()));
        piece()
    }
}

/// Makes `f` work under what watches the calling thread, wherever it runs.
pub(crate) fn carried<R>(f: impl FnOnce() -> R + Send) -> impl FnOnce() -> R + Send {
    let watch = CURRENT.with_borrow(Clone::clone);
    move || {
        let _restore = Restore(CURRENT.replace(watch));
        f()
    }
}

/// Goes up to [`Watch::run`] without the message of a panic.
#[cold]
fn unwind() -> ! {
    panic::resume_unwind(Box::new(Cancelled))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::par;

    #[test]
    fn a_cancelled_loop_ends_and_the_next_work_does_not() {
        for threads in [1, 3] {
            let watch = Watch::new();
            let seen = AtomicU64::new(0);
            let work = || {
                par::for_each_range(1 << 20, 1, |_| {
                    if seen.fetch_add(1, Relaxed) == 100 {
                        watch.cancel();
                    }
                });
            };
            let outcome = par::with_threads(threads, || watch.run(work)).unwrap();
            assert_eq!(outcome, Err(Cancelled));
            assert!(seen.load(Relaxed) < 1000);
            assert_eq!(watch.run(|| 5), Ok(5), "work without a loop");
            assert_eq!(watch.run(check), Err(Cancelled));
            assert_eq!(
                Watch::new().run(|| par::map_ranges(10, 1, |range| range.start)).unwrap().len(),
                10
            );
        }
        check();
    }

    #[test]
    fn a_piece_of_other_work_does_not_end_with_what_its_thread_waits_for() {
        let (loop_of_nobody, job) = (Watched::now(), carried(check));
        let watch = Watch::new();
        let outcome = watch.run(|| {
            watch.cancel();
            loop_of_nobody.run(check);
            job();
        });
        assert_eq!(outcome, Ok(()));
        let outcome = watch.run(|| Watched::now().run(check));
        assert_eq!(outcome, Err(Cancelled), "its own does");
    }

    #[test]
    fn progress_is_seen_and_watches_are_nested() {
        let (outer, inner) = (Watch::new(), Watch::new());
        let outcome = outer.run(|| {
            inner.run(|| note(3, 7)).unwrap();
            note(1, 0);
        });
        assert_eq!(outcome, Ok(()));
        assert_eq!((outer.progress(), inner.progress()), ((1, 0), (3, 7)));
    }

    #[test]
    fn other_panics_go_on() {
        let panicked =
            panic::catch_unwind(|| Watch::new().run(|| panic::resume_unwind(Box::new(7))));
        assert_eq!(*panicked.unwrap_err().downcast::<i32>().unwrap(), 7);
    }
}
