//! What a live graph and a sealed one that is changed have in common as classes of Python.

use std::sync::Arc;

use everedge::{Changes, Edge, Result, VertexId};
use numpy::{Element, IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::error::exception;
use crate::handle::Handle;
use crate::signals::{FEW, Left, is_some_left, unless_signal, with_many};

/// Edges inserted, edges deleted, deletions ignored.
pub(crate) type ChangeCounts = (u64, u64, u64);

impl<T: Send + Sync + 'static> Handle<T> {
    /// Runs what may take long; a signal leaves it behind.
    pub(crate) fn call<R: Send + 'static>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&T) -> Result<R> + Send + 'static,
    ) -> PyResult<R> {
        let open = self.get()?;
        unless_signal(py, None, move || call(&open))
    }

    /// Runs what takes long only if much has changed, or if a change was left behind: then a signal leaves it behind, too.
    pub(crate) fn settled<R: Send + 'static>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&T) -> Result<R> + Send + 'static,
    ) -> PyResult<R> {
        if self.changes() <= FEW && !is_some_left(py) {
            let open = self.get()?;
            return py.detach(|| call(&open)).map_err(exception);
        }
        let done = self.call(py, call)?;
        self.note_settled();
        Ok(done)
    }

    /// Changes so many edges or names; a signal leaves many behind.
    pub(crate) fn change<R: Send + 'static>(
        &self,
        py: Python<'_>,
        count: usize,
        change: impl FnOnce(&T) -> Result<R> + Send + 'static,
    ) -> PyResult<R> {
        let open = self.get()?;
        self.note_changes(count);
        with_many(py, count, move || change(&open))
    }

    /// Returns the numbers of names, made where they are new.
    pub(crate) fn intern<'py, N: Send + 'static>(
        &self,
        py: Python<'py>,
        names: Vec<N>,
        intern: impl FnOnce(&T, &[N]) -> Result<Vec<VertexId>> + Send + 'static,
    ) -> PyResult<Bound<'py, PyArray1<u32>>> {
        // They come back, for objects of Python are best given up here.
        let count = names.len();
        let interned = move |open: &T| Ok((intern(open, &names)?, names));
        let (vertices, _names) = self.change(py, count, interned)?;
        Ok(vertices.into_pyarray(py))
    }

    /// Returns the numbers of names, -1 for an unknown one.
    pub(crate) fn find<'py>(
        &self,
        py: Python<'py>,
        find: impl FnOnce(&T) -> Vec<Option<VertexId>> + Send,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let graph = self.get()?;
        let found: Vec<i64> =
            py.detach(|| find(&graph).into_iter().map(|v| v.map_or(-1, i64::from)).collect());
        Ok(found.into_pyarray(py))
    }

    /// Deletes the edges of two arrays that nobody else can reach.
    pub(crate) fn delete(
        &self,
        py: Python<'_>,
        (src, dst): (PyReadonlyArray1<'_, u32>, PyReadonlyArray1<'_, u32>),
        delete: impl FnOnce(&T, &[Edge]) -> Result<Changes> + Send + 'static,
    ) -> PyResult<ChangeCounts> {
        let edges: Vec<Edge> = pairs(src.as_slice()?, dst.as_slice()?).collect();
        self.change(py, edges.len(), move |graph| delete(graph, &edges)).map(counts)
    }

    /// Ends it, after what signals have left behind; a second time does nothing.
    pub(crate) fn end(
        &self,
        py: Python<'_>,
        end: impl FnOnce(T) -> Result<()> + Send + 'static,
    ) -> PyResult<()> {
        let left = Left::take(py);
        if left.is_none() {
            let Some(graph) = self.take()? else { return Ok(()) };
            return unless_signal(py, None, move || end(graph));
        }
        let held = self.take_shared();
        let wait_and_end = move || {
            left.wait();
            match held.map(Arc::try_unwrap) {
                None => Ok(None),
                Some(Ok(graph)) => end(graph).map(|()| None),
                Some(Err(shared)) => Ok(Some(shared)),
            }
        };
        match unless_signal(py, None, wait_and_end)? {
            None => Ok(()),
            // By a call in another thread.
            Some(shared) => Err(self.put_back(shared)),
        }
    }
}

/// Returns what an array holds now: whatever changes it later does not change the copy.
pub(crate) fn copied<T: Element + Copy>(array: &PyReadonlyArray1<'_, T>) -> PyResult<Vec<T>> {
    Ok(array.as_slice()?.to_vec())
}

pub(crate) fn pairs<'a>(
    src: &'a [u32],
    dst: &'a [u32],
) -> impl ExactSizeIterator<Item = Edge> + 'a {
    assert_eq!(src.len(), dst.len(), "Python checks that columns are of one length");
    src.iter().copied().zip(dst.iter().copied())
}

pub(crate) fn counts(changes: Changes) -> ChangeCounts {
    (changes.inserted, changes.deleted, changes.ignored_deletions)
}
