//! A transaction as a class of Python.

use std::sync::{Arc, Mutex, PoisonError};

use everedge::{ExternalId, VertexId};
use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::changing::{ChangeCounts, counts};
use crate::error::exception;
use crate::handle::Handle;
use crate::signals::unless_signal;
use crate::view::{Column, kind_word};

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

impl Transaction {
    fn names(
        &self,
        py: Python<'_>,
        vertices: &PyReadonlyArray1<'_, u32>,
    ) -> PyResult<Vec<ExternalId>> {
        let vertices = vertices.as_slice()?.to_vec();
        self.with(py, |transaction| {
            Ok(vertices.into_iter().map(|v| transaction.view().name_of(v)).collect())
        })
    }
}

#[pymethods]
impl Transaction {
    /// Returns whether an edge of dense ids is there.
    fn has_edge(&self, py: Python<'_>, src: VertexId, dst: VertexId) -> PyResult<bool> {
        self.with(py, |transaction| Ok(transaction.has_edge(src, dst)))
    }

    /// Returns the weight of the newest edge of dense ids.
    fn weight(&self, py: Python<'_>, src: VertexId, dst: VertexId) -> PyResult<Option<f32>> {
        self.with(py, |transaction| Ok(transaction.weight(src, dst)))
    }

    /// Returns the out-neighbors of a dense id.
    fn neighbors<'py>(&self, py: Python<'py>, v: VertexId) -> PyResult<Column<'py, u32>> {
        let neighbors = self.with(py, |transaction| Ok(transaction.neighbors(v)))?;
        Ok(neighbors.into_pyarray(py))
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

    /// Returns what names are: `dense`, `integer` or `text`.
    fn id_kind(&self, py: Python<'_>) -> PyResult<&'static str> {
        self.with(py, |transaction| Ok(kind_word(transaction.view().id_kind())))
    }

    /// Returns the names of vertices that have strings.
    fn texts(&self, py: Python<'_>, vertices: PyReadonlyArray1<'_, u32>) -> PyResult<Vec<String>> {
        Ok(self.names(py, &vertices)?.iter().map(ExternalId::to_string).collect())
    }

    /// Returns the names of vertices that have integers.
    fn integers<'py>(
        &self,
        py: Python<'py>,
        vertices: PyReadonlyArray1<'py, u32>,
    ) -> PyResult<Column<'py, u64>> {
        let integer = |name| match name {
            ExternalId::Integer(id) => id,
            ExternalId::Text(_) => unreachable!("an id map keeps names of one kind"),
        };
        let names = self.names(py, &vertices)?;
        Ok(names.into_iter().map(integer).collect::<Vec<_>>().into_pyarray(py))
    }

    /// Commits it. Returns what it changed.
    fn commit(&self, py: Python<'_>) -> PyResult<ChangeCounts> {
        // After its end, as any call on it.
        self.handle.get()?;
        let Some(transaction) = self.handle.take()? else { return Ok((0, 0, 0)) };
        let transaction = transaction.into_inner().unwrap_or_else(PoisonError::into_inner);
        unless_signal(py, None, move || transaction.commit()).map(counts)
    }

    /// Gives it up; a second time does nothing.
    fn close(&self) {
        self.handle.close();
    }
}
