//! Work that signals end, or leave behind: Python runs their handlers in its main thread, which must not wait for long.

use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::process;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, TryRecvError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use everedge::{Error, Progress, Watch};
use pyo3::prelude::*;

use crate::error::exception;

/// How often the handlers of signals are run.
pub(crate) const SIGNALS_EVERY: Duration = Duration::from_millis(50);

/// Nobody waits for work with so many edges or names.
pub(crate) const FEW: usize = 1 << 12;

/// Is disconnected when some work has ended.
type End = Receiver<()>;

/// The ends of what signals have left behind in a process. It is locked under the GIL only: a child that is forked never finds
/// it locked.
static LEFT: Mutex<(u32, Vec<End>)> = Mutex::new((0, Vec::new()));

/// Runs `work` on a thread of its own while this one runs the handlers of signals. If one raises, nobody waits for the work any
/// more: it goes on to its end, or is cancelled if it has a watch. Then it may not take the GIL: Python may end
/// before it does.
///
/// # Errors
/// That exception; the error of `work`; `OSError` if the system refuses the thread.
pub(crate) fn unless_signal<R: Send + 'static>(
    py: Python<'_>,
    watch: Option<&Watch>,
    work: impl FnOnce() -> everedge::Result<R> + Send + 'static,
) -> PyResult<R> {
    let (give, given) = mpsc::channel();
    let (ends, end) = mpsc::channel::<()>();
    thread::Builder::new().spawn(move || {
        // Nobody takes what was left behind.
        let _ = give.send(panic::catch_unwind(AssertUnwindSafe(work)));
        drop(ends);
    })?;
    let mut end = Some(end);
    let wait = move || {
        loop {
            match given.recv_timeout(SIGNALS_EVERY) {
                Ok(Ok(done)) => return done.map_err(exception),
                Ok(Err(panic)) => panic::resume_unwind(panic),
                Err(RecvTimeoutError::Disconnected) => unreachable!("it gives what it has done"),
                Err(RecvTimeoutError::Timeout) => Python::attach(|py| {
                    py.check_signals().inspect_err(|_| {
                        watch.inspect(|watch| watch.cancel());
                        with_left(py, |left| left.extend(end.take()));
                    })
                })?,
            }
        }
    };
    py.detach(wait)
}

/// Runs what works with so many edges or names: few take less time than the thread.
///
/// # Errors
/// As [`unless_signal`].
pub(crate) fn with_many<R: Send + 'static>(
    py: Python<'_>,
    count: usize,
    work: impl FnOnce() -> everedge::Result<R> + Send + 'static,
) -> PyResult<R> {
    if count > FEW {
        return unless_signal(py, None, work);
    }
    py.detach(work).map_err(exception)
}

/// Runs a check of all data, which a signal cancels.
///
/// # Errors
/// As [`unless_signal`].
pub(crate) fn checked<R: Send + 'static>(
    py: Python<'_>,
    check: impl FnOnce() -> everedge::Result<R> + Send + 'static,
) -> PyResult<R> {
    let watch = Watch::default();
    let watched = watch.clone();
    unless_signal(py, Some(&watch), move || {
        watched.run(check).map_err(|_cancelled| Error::Interrupted)?
    })
}

/// Waits for the end of what signals have left behind, which may hold a graph; a signal ends the waiting.
///
/// # Errors
/// What the handler of a signal raises; `OSError` if the system refuses a thread.
pub(crate) fn wait_for_left(py: Python<'_>) -> PyResult<()> {
    let left = Left::take(py);
    if left.is_none() {
        return Ok(());
    }
    unless_signal(py, None, || {
        left.wait();
        Ok(())
    })
}

/// Returns whether something that signals have left behind goes on.
pub(crate) fn is_some_left(py: Python<'_>) -> bool {
    with_left(py, |left| {
        left.retain(|end| end.try_recv() == Err(TryRecvError::Empty));
        !left.is_empty()
    })
}

/// What signals have left behind.
pub(crate) struct Left(Vec<End>);

impl Left {
    /// Returns it. Who takes it waits, and hands it on with that if a signal leaves the waiting behind.
    pub(crate) fn take(py: Python<'_>) -> Self {
        Self(with_left(py, mem::take))
    }

    pub(crate) fn is_none(&self) -> bool {
        self.0.is_empty()
    }

    /// Waits for its end.
    pub(crate) fn wait(self) {
        for end in self.0 {
            let _disconnected = end.recv();
        }
    }
}

/// Does something with the ends of what this process has left behind.
fn with_left<R>(_under_the_gil: Python<'_>, change: impl FnOnce(&mut Vec<End>) -> R) -> R {
    let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
    if left.0 != process::id() {
        // A child that is forked inherits no threads, but perhaps their locks.
        mem::forget(mem::replace(&mut *left, (process::id(), Vec::new())));
    }
    change(&mut left.1)
}

/// What an ingest tells after each batch; it goes on if that returns true.
pub(crate) type Tell<'a> = &'a mut (dyn FnMut(Progress) -> bool + Send);

/// Work that follows an ingest and ends with it.
pub(crate) struct Then<'a> {
    /// Sees how far it is, and cancels it.
    pub watch: &'a Watch,
    /// Is called with the steps done, and of how many, now and then.
    pub tell: Option<&'a Py<PyAny>>,
}

impl Then<'_> {
    /// Tells how far it is, once it has begun.
    fn notify(&self, py: Python<'_>) -> PyResult<()> {
        match (self.tell, self.watch.progress()) {
            (None, _) | (_, (_, 0)) => Ok(()),
            (Some(tell), steps) => tell.call1(py, steps).map(drop),
        }
    }
}

/// Runs an ingest on a thread of its own while this one runs the handlers of signals, and calls
/// `progress` with what the ingest tells. The first exception of one of them sets the flag, and ends the
/// ingest and what follows it.
///
/// Returns the outcome and that exception.
///
/// # Errors
/// `OSError` if the system refuses the thread.
pub(crate) fn ingest_until_signal<R: Send>(
    py: Python<'_>,
    (stop, then): (&AtomicBool, Option<&Then<'_>>),
    progress: Option<&Py<PyAny>>,
    ingest: impl FnOnce(Tell<'_>) -> R + Send,
) -> PyResult<(R, Option<PyErr>)> {
    let watch = || -> PyResult<_> {
        thread::scope(|scope| {
            let (call, calls) = mpsc::channel();
            let (answer, answers) = mpsc::channel();
            let worker = thread::Builder::new().spawn_scoped(scope, move || {
                ingest(&mut move |now| call.send(now).is_ok() && answers.recv() == Ok(true))
            })?;
            let mut raised = None;
            loop {
                let called = match calls.recv_timeout(SIGNALS_EVERY) {
                    Ok(now) => {
                        // After an exception nobody wants to hear of more.
                        let called = match raised {
                            None => Python::attach(|py| notify(py, progress, now)),
                            Some(_) => Ok(()),
                        };
                        // Nobody waits for it when the ingest has ended.
                        let _ = answer.send(called.is_ok() && raised.is_none());
                        called
                    }
                    Err(RecvTimeoutError::Timeout) => Python::attach(|py| {
                        py.check_signals()?;
                        then.filter(|_| raised.is_none()).map_or(Ok(()), |then| then.notify(py))
                    }),
                    Err(RecvTimeoutError::Disconnected) => break,
                };
                if let Err(exception) = called {
                    stop.store(true, Relaxed);
                    if let Some(then) = then {
                        then.watch.cancel();
                    }
                    raised.get_or_insert(exception);
                }
            }
            let outcome = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Ok((outcome, raised))
        })
    };
    py.detach(watch)
}

/// Runs the handlers of signals and the callback.
fn notify(py: Python<'_>, progress: Option<&Py<PyAny>>, now: Progress) -> PyResult<()> {
    py.check_signals()?;
    if let Some(progress) = progress {
        progress.call1(py, (now.given, now.bytes_read, now.bytes_total, now.edges))?;
    }
    Ok(())
}
