//! Work that signals end: Python runs their handlers in its main thread, which must not wait for long.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use everedge::Progress;
use pyo3::prelude::*;

/// How often the handlers of signals are run.
pub(crate) const SIGNALS_EVERY: Duration = Duration::from_millis(50);

/// What an ingest tells after each batch; it goes on if that returns true.
pub(crate) type Tell<'a> = &'a mut (dyn FnMut(Progress) -> bool + Send);

/// Runs an ingest on a thread of its own while this one runs the handlers of signals, and calls
/// `progress` with what the ingest tells. The first exception of one of them sets `stop` and ends it.
///
/// Returns the outcome and that exception.
///
/// # Errors
/// `OSError` if the system refuses the thread.
pub(crate) fn ingest_until_signal<R: Send>(
    py: Python<'_>,
    stop: &AtomicBool,
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
                    Err(RecvTimeoutError::Timeout) => Python::attach(|py| py.check_signals()),
                    Err(RecvTimeoutError::Disconnected) => break,
                };
                if let Err(exception) = called {
                    stop.store(true, Relaxed);
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
