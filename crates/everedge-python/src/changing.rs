//! What a live graph and a sealed one that is changed have in common as classes of Python.

use everedge::{Changes, Edge, Result, VertexId};
use numpy::{Element, IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::error::exception;
use crate::handle::Handle;

/// Edges inserted, edges deleted, deletions ignored.
pub(crate) type ChangeCounts = (u64, u64, u64);

impl<T: Send + Sync> Handle<T> {
    /// Returns the numbers of names, made where they are new.
    pub(crate) fn intern<'py>(
        &self,
        py: Python<'py>,
        intern: impl FnOnce(&T) -> Result<Vec<VertexId>> + Send,
    ) -> PyResult<Bound<'py, PyArray1<u32>>> {
        let graph = self.get()?;
        Ok(py.detach(|| intern(&graph)).map_err(exception)?.into_pyarray(py))
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
        delete: impl FnOnce(&T, &[Edge]) -> Result<Changes> + Send,
    ) -> PyResult<ChangeCounts> {
        let graph = self.get()?;
        let (src, dst) = (src.as_slice()?, dst.as_slice()?);
        py.detach(|| delete(&graph, &pairs(src, dst).collect::<Vec<Edge>>()))
            .map(counts)
            .map_err(exception)
    }

    /// Ends it; a second time does nothing.
    pub(crate) fn end(
        &self,
        py: Python<'_>,
        end: impl FnOnce(T) -> Result<()> + Send,
    ) -> PyResult<()> {
        let Some(graph) = self.take()? else { return Ok(()) };
        py.detach(|| end(graph)).map_err(exception)
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
