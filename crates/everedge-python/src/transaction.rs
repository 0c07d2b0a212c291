//! A transaction as a class of Python.

use std::sync::{Arc, Mutex, PoisonError};

use everedge::VertexId;
use pyo3::prelude::*;

use crate::changing::{ChangeCounts, counts};
use crate::error::exception;
use crate::handle::Handle;

type Inner = everedge::Transaction<Arc<everedge::Graph>>;

/// Questions and changes that count as one, until it is committed or closed.
#[pyclass(frozen, module = "everedge._native")]
pub(crate) struct Transaction {
    /// Each call changes it.
    handle: Handle<Mutex<Inner>>,
}

impl Transaction {
    pub(crate) fn begin(py: Python<'_>, graph: Arc<everedge::Graph>) -> PyResult<Self> {
        let begun = py.detach(|| everedge::Transaction::begin(graph)).map_err(exception)?;
        Ok(Self { handle: Handle::new("transaction", Mutex::new(begun)) })
    }

    fn with<T: Send>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&mut Inner) -> everedge::Result<T> + Send,
    ) -> PyResult<T> {
        let inner = self.handle.get()?;
        py.detach(|| call(&mut inner.lock().unwrap_or_else(PoisonError::into_inner)))
            .map_err(exception)
    }
}

#[pymethods]
impl Transaction {
    /// Returns whether an edge of dense ids is there.
    fn has_edge(&self, py: Python<'_>, src: VertexId, dst: VertexId) -> PyResult<bool> {
        self.with(py, |transaction| Ok(transaction.has_edge(src, dst)))
    }

    /// Inserts edges of dense ids, all of them or none.
    fn add_edges(
        &self,
        py: Python<'_>,
        src: Vec<VertexId>,
        dst: Vec<VertexId>,
        weight: Option<Vec<f32>>,
    ) -> PyResult<()> {
        let edges: Vec<_> = src.into_iter().zip(dst).collect();
        self.with(py, |transaction| transaction.insert_all(&edges, weight.as_deref()))
    }

    /// Deletes the newest of each of these edges of dense ids.
    fn delete_edges(&self, py: Python<'_>, src: Vec<VertexId>, dst: Vec<VertexId>) -> PyResult<()> {
        self.with(py, |transaction| {
            src.iter().zip(&dst).try_for_each(|(&src, &dst)| transaction.delete(src, dst).map(drop))
        })
    }

    /// Commits it. Returns what it changed.
    fn commit(&self, py: Python<'_>) -> PyResult<ChangeCounts> {
        // After its end, as any call on it.
        self.handle.get()?;
        let Some(transaction) = self.handle.take()? else { return Ok((0, 0, 0)) };
        let transaction = transaction.into_inner().unwrap_or_else(PoisonError::into_inner);
        py.detach(|| transaction.commit()).map(counts).map_err(exception)
    }

    /// Gives it up; a second time does nothing.
    fn close(&self) {
        self.handle.close();
    }
}
