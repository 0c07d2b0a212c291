//! Work that signals end: Python runs their handlers in its main thread, which must not wait for long.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use everedge::{Progress, Watch};
use pyo3::prelude::*;

/// How often the handlers of signals are run.
pub(crate) const SIGNALS_EVERY: Duration = Duration::from_millis(50);

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
