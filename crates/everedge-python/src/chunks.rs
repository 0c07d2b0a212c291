//! A sealed graph as a class of Python.

use std::path::PathBuf;

use everedge::{Kernel, SealFiles, Watch};
use pyo3::prelude::*;

use crate::arrow::{Source, given};
use crate::error::{exception, raised};
use crate::handle::Handle;
use crate::options::{Chosen, Ingest, Seal, bytes_of};
use crate::report::{ingested, report};
use crate::signals::{Tell, Then, checked, ingest_until_signal, unless_signal, wait_for_left};
use crate::view::View;

/// What is called with how far the reading of files is, and with the steps of what follows it.
type Listeners = (Option<Py<PyAny>>, Option<Py<PyAny>>);

/// A sealed graph.
#[pyclass(frozen, module = "everedge._native")]
pub(crate) struct Chunks {
    path: PathBuf,
    handle: Handle<everedge::Chunks>,
}

#[pymethods]
impl Chunks {
    /// Opens a sealed graph within as much memory as a text says.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf, memory: Option<&str>) -> PyResult<Self> {
        let memory = memory.map(bytes_of).transpose().map_err(exception)?;
        if !py.detach(|| everedge::Chunks::is_at(&path)).map_err(exception)? {
            let message = format!(
                "`{}` is a graph that is not sealed: open it with `everedge.Graph`, or with \
                 `everedge.Timeline` if it holds versions alone, or seal it with `Snapshot.seal`",
                path.display()
            );
            return Err(raised("InvalidInputError", &message));
        }
        // Changes, perhaps.
        wait_for_left(py)?;
        let open = {
            let path = path.clone();
            move || everedge::Chunks::open(&path, memory)
        };
        let chunks = unless_signal(py, None, open)?;
        Ok(Self { path, handle: Handle::new("sealed graph", chunks) })
    }

    /// Seals files and tables of edges into a new directory; calls the first of `listeners` as an ingest of a graph does, and
    /// the second with the steps done and of how many.
    ///
    /// Returns the report. An exception of a listener or of a signal handler ends it.
    #[staticmethod]
    fn seal_files<'py>(
        py: Python<'py>,
        path: PathBuf,
        chosen: &Chosen,
        files: Vec<Source<'py>>,
        edges: Ingest,
        seal: Seal,
        listeners: Listeners,
    ) -> PyResult<Bound<'py, PyAny>> {
        let edges = edges.options().map_err(exception)?;
        let (progress, tell) = listeners;
        let watch = Watch::default();
        let what = SealFiles {
            files: &given(files),
            ingest: &edges,
            chosen: &chosen.words,
            choices: chosen.choices(false),
            options: seal.options().map_err(exception)?,
            watch: &watch,
            memory: seal.memory().map_err(exception)?,
        };
        let then = Then { watch: &watch, tell: tell.as_ref() };
        let seal = |tell: Tell<'_>| everedge::Chunks::seal_files(&path, &what, tell);
        let ended = ingest_until_signal(py, (&edges.stop, Some(&then)), progress.as_ref(), seal)?;
        ingested(py, ended, |_| 0)
    }

    /// Returns the view that a kernel is to run on, on so many threads: its arrays are part of the memory. What cannot run is
    /// refused first.
    fn view_for(&self, py: Python<'_>, kernel: &str, threads: usize) -> PyResult<View> {
        let kernel: Kernel = kernel.parse().map_err(exception)?;
        let open = move |chunks: &everedge::Chunks| {
            chunks.check_kernel(kernel)?;
            Ok((chunks.view_on_threads(kernel, threads)?, chunks.options().simple))
        };
        self.handle.call(py, open).map(|(view, is_simple)| View::new(view, is_simple))
    }

    /// Returns the view beside which an answer of so many bytes is part of the memory.
    fn view_beside(&self, py: Python<'_>, kept_bytes: u64) -> PyResult<View> {
        self.handle
            .call(py, move |chunks| Ok((chunks.view(kept_bytes)?, chunks.options().simple)))
            .map(|(view, is_simple)| View::new(view, is_simple))
    }

    /// Returns the number of vertices.
    fn vertex_count(&self) -> PyResult<u32> {
        Ok(self.handle.get()?.vertex_count())
    }

    /// Returns the number of edges; an undirected one counts once.
    fn edge_count(&self) -> PyResult<u64> {
        Ok(self.handle.get()?.edge_count())
    }

    /// Returns whether edges have a direction.
    fn is_directed(&self) -> PyResult<bool> {
        Ok(self.handle.get()?.options().form.directed)
    }

    /// Returns whether edges carry a weight.
    fn is_weighted(&self) -> PyResult<bool> {
        Ok(self.handle.get()?.options().form.weighted)
    }

    /// Returns what the graph is and how large.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        report(py, &self.handle.call(py, everedge::Chunks::stats)?)
    }

    /// Returns the outcome of all checks.
    fn verify<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.handle.get()?;
        let path = self.path.clone();
        report(py, &checked(py, move || everedge::Chunks::verify(&path))?)
    }

    /// Gives the graph up; a second time does nothing.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.handle.close());
    }
}
