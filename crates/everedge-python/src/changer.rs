//! A sealed graph that is open to be changed, as a class of Python.

use std::path::PathBuf;

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;

use everedge::{Edge, IdKind};

use crate::changing::{ChangeCounts, copied, pairs};
use crate::handle::Handle;
use crate::signals::{unless_signal, wait_for_left};

/// A sealed graph, open to be changed.
#[pyclass(frozen, module = "everedge._native")]
pub(crate) struct Changer {
    handle: Handle<everedge::Changer>,
}

#[pymethods]
impl Changer {
    /// Opens a sealed graph to be changed, alone.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        wait_for_left(py)?;
        let open = move || everedge::Chunks::change(&path, false);
        let changer = unless_signal(py, None, open)?;
        Ok(Self { handle: Handle::new("sealed graph", changer) })
    }

    /// Adds edges of numbers as one batch; nobody else can reach the arrays.
    fn add_edges(
        &self,
        py: Python<'_>,
        src: PyReadonlyArray1<'_, u32>,
        dst: PyReadonlyArray1<'_, u32>,
        weight: Option<PyReadonlyArray1<'_, f32>>,
    ) -> PyResult<()> {
        let edges: Vec<Edge> = pairs(src.as_slice()?, dst.as_slice()?).collect();
        let weight = weight.as_ref().map(copied).transpose()?;
        let insert =
            move |changer: &everedge::Changer| changer.insert(&edges, weight.as_deref()).map(drop);
        self.handle.change(py, src.len()?, insert)
    }

    /// Takes edges of numbers away as one batch.
    fn delete_edges(
        &self,
        py: Python<'_>,
        src: PyReadonlyArray1<'_, u32>,
        dst: PyReadonlyArray1<'_, u32>,
    ) -> PyResult<ChangeCounts> {
        self.handle.delete(py, (src, dst), everedge::Changer::delete)
    }

    /// Returns the numbers of strings, making some for new names, durably.
    fn intern_texts<'py>(
        &self,
        py: Python<'py>,
        names: Vec<PyBackedStr>,
    ) -> PyResult<Bound<'py, PyArray1<u32>>> {
        self.handle.intern(py, names, |changer, names| {
            changer.intern_texts(names.iter().map(|name| &**name))
        })
    }

    /// Returns the numbers of integers, making some for new names, durably.
    fn intern_integers<'py>(
        &self,
        py: Python<'py>,
        names: PyReadonlyArray1<'py, u64>,
    ) -> PyResult<Bound<'py, PyArray1<u32>>> {
        self.handle.intern(py, copied(&names)?, everedge::Changer::intern_integers)
    }

    /// Returns the numbers of strings, -1 for an unknown one.
    fn find_texts<'py>(
        &self,
        py: Python<'py>,
        names: Vec<PyBackedStr>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        self.handle.find(py, |changer| changer.find_texts(names.iter().map(|name| &**name)))
    }

    /// Returns the numbers of integers, -1 for an unknown one.
    fn find_integers<'py>(
        &self,
        py: Python<'py>,
        names: PyReadonlyArray1<'py, u64>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let names = copied(&names)?;
        self.handle.find(py, |changer| changer.find_integers(&names))
    }

    /// Returns whether edges carry a weight.
    fn is_weighted(&self) -> PyResult<bool> {
        Ok(self.handle.get()?.options().weighted)
    }

    /// Returns what ids are: `integer`, also where vertices are called by numbers as they were, or `text`.
    fn id_kind(&self) -> PyResult<&'static str> {
        Ok(if self.handle.get()?.options().ids == IdKind::Text { "text" } else { "integer" })
    }

    /// Gives the graph up without a wait for calls that are running.
    fn give_up(&self, py: Python<'_>) {
        py.detach(|| self.handle.close());
    }

    /// Gives the graph up; a second time does nothing.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.handle.end(py, everedge::Changer::close)
    }
}
