//! A handle that Python can close: what it holds goes away before Python collects the object.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::PyResult;

use crate::error::raised;

/// Something open, until it is closed.
///
/// The lock is held for a moment only, never while the GIL is waited for.
pub(crate) struct Handle<T> {
    what: &'static str,
    open: Mutex<Option<Arc<T>>>,
}

impl<T> Handle<T> {
    /// Returns a handle on `value`; `what` is the word for it in messages.
    pub(crate) fn new(what: &'static str, value: T) -> Self {
        Self { what, open: Mutex::new(Some(Arc::new(value))) }
    }

    /// Returns what is open.
    ///
    /// # Errors
    /// `ClosedError` after [`Self::close`].
    pub(crate) fn get(&self) -> PyResult<Arc<T>> {
        let open = self.lock().clone();
        open.ok_or_else(|| raised("ClosedError", &format!("the {} is closed", self.what)))
    }

    /// Closes the handle; calls that are running keep what they work on.
    pub(crate) fn close(&self) {
        self.lock().take();
    }

    /// Closes the handle and returns what it held; `None` if it is closed already.
    ///
    /// # Errors
    /// `InUseError` if another call is running: the handle stays open.
    pub(crate) fn take(&self) -> PyResult<Option<T>> {
        let mut open = self.lock();
        let Some(value) = open.take() else { return Ok(None) };
        match Arc::try_unwrap(value) {
            Ok(value) => Ok(Some(value)),
            Err(shared) => {
                *open = Some(shared);
                drop(open);
                let what = self.what;
                let message = format!("the {what} is in use by another call; wait for its end");
                Err(raised("InUseError", &message))
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<T>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
