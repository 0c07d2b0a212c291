//! A handle that Python can close: what it holds goes away before Python collects the object.

use std::mem;
use std::process;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::PyResult;

use crate::error::raised;

/// Something open, until it is closed, for the process that opened it.
///
/// A child that is forked inherits the handle, but neither the threads that work behind it nor the
/// right to write: there every call is refused, before it takes a lock that a thread of the parent
/// may have held at the fork, and what the handle holds is never dropped.
///
/// The lock is held for a moment only, never while the GIL is waited for.
pub(crate) struct Handle<T> {
    what: &'static str,
    process: u32,
    open: Mutex<Option<Arc<T>>>,
    /// Edges and names that were changed, roughly, since all changes were waited for last.
    changed: AtomicUsize,
}

/// More changes than anybody counts: what was done before the handle, and by an ingest.
pub(crate) const MANY: usize = 1 << 40;

impl<T> Handle<T> {
    /// Returns a handle on `value`; `what` is the word for it in messages.
    pub(crate) fn new(what: &'static str, value: T) -> Self {
        let open = Mutex::new(Some(Arc::new(value)));
        Self { what, process: process::id(), open, changed: AtomicUsize::new(MANY) }
    }

    /// Returns what is open.
    ///
    /// # Errors
    /// `ForkedError` in a child of the process that opened it, `ClosedError` after [`Self::close`].
    pub(crate) fn get(&self) -> PyResult<Arc<T>> {
        if self.is_inherited() {
            return Err(self.forked());
        }
        let open = self.lock().clone();
        open.ok_or_else(|| raised("ClosedError", &format!("the {} is closed", self.what)))
    }

    /// Notes that so much is about to change.
    pub(crate) fn note_changes(&self, count: usize) {
        self.changed.fetch_add(count, Relaxed);
    }

    /// Notes that all changes so far have been waited for.
    pub(crate) fn note_settled(&self) {
        self.changed.store(0, Relaxed);
    }

    /// Returns how much has changed since.
    pub(crate) fn changes(&self) -> usize {
        self.changed.load(Relaxed)
    }

    /// Closes the handle; calls that are running keep what they work on. Does nothing in a forked
    /// child: there is nothing of its own to close.
    pub(crate) fn close(&self) {
        if !self.is_inherited() {
            let held = self.lock().take();
            // Giving it up may take long, and does not hold others up.
            drop(held);
        }
    }

    /// Closes the handle and returns what it held; `None` if it is closed already, and in a forked
    /// child.
    ///
    /// # Errors
    /// `InUseError` if another call is running: the handle stays open.
    pub(crate) fn take(&self) -> PyResult<Option<T>> {
        if self.is_inherited() {
            return Ok(None);
        }
        let mut open = self.lock();
        let Some(value) = open.take() else { return Ok(None) };
        match Arc::try_unwrap(value) {
            Ok(value) => Ok(Some(value)),
            Err(shared) => {
                *open = Some(shared);
                drop(open);
                Err(self.in_use())
            }
        }
    }

    /// Closes the handle and returns what it held, also if another call is running, as [`Self::take`] does otherwise. Who gets it
    /// puts it back if that call does not end.
    pub(crate) fn take_shared(&self) -> Option<Arc<T>> {
        if self.is_inherited() { None } else { self.lock().take() }
    }

    /// Opens the handle again, and returns the error that says why.
    pub(crate) fn put_back(&self, shared: Arc<T>) -> pyo3::PyErr {
        *self.lock() = Some(shared);
        self.in_use()
    }

    fn in_use(&self) -> pyo3::PyErr {
        let what = self.what;
        let message = match what {
            "graph" => {
                "the graph is in use: wait for calls in other threads, and end its transactions"
                    .to_owned()
            }
            _ => format!("the {what} is in use by another call; wait for its end"),
        };
        raised("InUseError", &message)
    }

    /// Returns whether this process is a forked child of the one that opened the handle.
    fn is_inherited(&self) -> bool {
        process::id() != self.process
    }

    fn forked(&self) -> pyo3::PyErr {
        let (what, process) = (self.what, self.process);
        let message = format!(
            "process {process} opened the {what}, and this one was forked from it: call it there, \
             or close the graph before the fork and open it afterwards"
        );
        raised("ForkedError", &message)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<T>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Drop for Handle<T> {
    fn drop(&mut self) {
        if self.is_inherited() {
            // Dropping it would wait for threads that only the parent has, and give up its locks.
            mem::forget(self.open.get_mut().unwrap_or_else(PoisonError::into_inner).take());
        }
    }
}
