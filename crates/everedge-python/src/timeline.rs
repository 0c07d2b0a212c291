//! Versions of a graph as a class of Python.

use std::path::PathBuf;
use std::sync::Arc;

use everedge::{
    Error, Keep, Kernel, Parameters, Version, VersionChoice, VertexId, Watch, WindowOptions, par,
};
use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::arrow::{Source, given};
use crate::error::exception;
use crate::handle::Handle;
use crate::options::{Chosen, Ingest, Updates};
use crate::report::{ingested, report};
use crate::signals::{Tell, ingest_until_signal, unless_signal, wait_for_left};
use crate::view::{Column, View, array, integers, kind_word, texts, until_signal};

/// Number, microseconds since 1970, name, vertices, edges, additions and deletions of a version.
pub(crate) type VersionFields = (u64, i64, Option<String>, u32, u64, u64, u64);

/// The report, the vertices of all versions, and the answer of each version by vertex number.
type WindowAnswer<'py> = (Bound<'py, PyAny>, Column<'py, u32>, Vec<Bound<'py, PyAny>>);

/// Sources, destinations and weights (1 if there are none).
type Edges<'py> = (Column<'py, u32>, Column<'py, u32>, Column<'py, f32>);

pub(crate) fn fields(version: Version) -> VersionFields {
    let Version { number, time, name, vertices, edges, additions, deletions } = version;
    (number, time, name, vertices, edges, additions, deletions)
}

/// Returns the microseconds since 1970 that a date means, if the word is one.
#[pyfunction]
pub(crate) fn date_of(word: &str) -> Option<i64> {
    everedge::date_of(word)
}

/// A history of versions.
#[pyclass(frozen, module = "everedge._native")]
pub(crate) struct Timeline {
    handle: Handle<Arc<everedge::Timeline>>,
}

impl From<Arc<everedge::Timeline>> for Timeline {
    fn from(timeline: Arc<everedge::Timeline>) -> Self {
        Self { handle: Handle::new("timeline", timeline) }
    }
}

#[pymethods]
impl Timeline {
    /// Opens the versions of a directory, alone, or for reading beside other readers.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf, read_only: bool) -> PyResult<Self> {
        if !read_only {
            wait_for_left(py)?;
        }
        let open = move || match read_only {
            true => everedge::Timeline::open_read_only(&path),
            false => everedge::Timeline::open(&path, false),
        };
        let opened = unless_signal(py, None, open)?;
        Ok(Self::from(Arc::new(opened)))
    }

    /// Takes files and tables of updates into the versions of a directory, which it makes if there are none; calls
    /// `progress` as an ingest of a graph does.
    ///
    /// Returns the report. An exception of `progress` or of a signal handler ends it.
    #[staticmethod]
    fn ingest<'py>(
        py: Python<'py>,
        path: PathBuf,
        chosen: &Chosen,
        files: Vec<Source<'py>>,
        edges: Ingest,
        updates: Updates,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let edges = edges.options().map_err(exception)?;
        let options = updates.options(edges).map_err(exception)?;
        let files = given(files);
        let ingest = |tell: Tell<'_>| {
            everedge::Timeline::ingest_into(&path, &chosen.words, &files, &options, tell)
        };
        let stop = (&*options.edges.stop, None);
        let ended = ingest_until_signal(py, stop, progress.as_ref(), ingest)?;
        ingested(py, ended, |done| done.insertions + done.deletions)
    }

    /// Returns the versions, ascending.
    fn versions(&self) -> PyResult<Vec<VersionFields>> {
        Ok(self.handle.get()?.versions().into_iter().map(fields).collect())
    }

    /// Returns the number of the version that a word names: a date, a name, or a number.
    fn find_word(&self, word: &str) -> PyResult<u64> {
        let timeline = self.handle.get()?;
        word.parse().and_then(|choice| timeline.find(&choice)).map_err(exception)
    }

    /// Returns the number of the last version that is not later than a time in microseconds since 1970.
    fn find_time(&self, time: i64) -> PyResult<u64> {
        self.handle.get()?.find(&VersionChoice::Time(time)).map_err(exception)
    }

    /// Returns the graph of a version.
    fn at(&self, py: Python<'_>, number: u64) -> PyResult<View> {
        let choice = VersionChoice::Number(number);
        self.handle
            .call(py, move |timeline| Ok((timeline.at(&choice)?, timeline.options().simple)))
            .map(|(view, is_simple)| View::new(view, is_simple))
    }

    /// Answers a kernel with `parameters`, all as texts, for each of the versions from `first` to `last`.
    fn window<'py>(
        &self,
        py: Python<'py>,
        kernel: &str,
        versions: (u64, u64),
        parameters: Vec<(String, String)>,
        threads: usize,
    ) -> PyResult<WindowAnswer<'py>> {
        let timeline = self.handle.get()?;
        let kernel: Kernel = kernel.parse().map_err(exception)?;
        let [first, last] = [versions.0, versions.1].map(VersionChoice::Number);
        let mut given = Parameters::default();
        for (name, text) in &parameters {
            given.set(name, text).map_err(exception)?;
        }
        let options = WindowOptions { keeps_values: true, ..given.into() };
        let answer = || timeline.window(kernel, (&first, &last), &options);
        let watch = Watch::default();
        let run = || match par::with_threads(threads, || watch.run(answer))? {
            Ok(answered) => answered.map_err(exception),
            Err(_cancelled) => Err(exception(Error::Interrupted)),
        };
        let mut done = py.detach(|| until_signal(&watch, None, run))?;
        let reported = report(py, &done)?;
        let vertices = std::mem::take(&mut done.vertices).into_pyarray(py);
        let values = done.versions.into_iter().map(|version| array(py, version.values)).collect();
        Ok((reported, vertices, values))
    }

    /// Returns the edges that only the later version has, and those that only the earlier one has.
    fn difference<'py>(
        &self,
        py: Python<'py>,
        earlier: u64,
        later: u64,
    ) -> PyResult<[Edges<'py>; 2]> {
        let [earlier, later] = [earlier, later].map(VersionChoice::Number);
        let found = self.handle.call(py, move |timeline| timeline.difference(&earlier, &later))?;
        Ok(found.map(|edges| {
            let src: Vec<VertexId> = edges.iter().map(|edge| edge.0).collect();
            let dst: Vec<VertexId> = edges.iter().map(|edge| edge.1).collect();
            let weight: Vec<f32> = edges.iter().map(|edge| edge.2).collect();
            (src.into_pyarray(py), dst.into_pyarray(py), weight.into_pyarray(py))
        }))
    }

    /// Lets older versions go than these. Returns how many went.
    fn keep(&self, py: Python<'_>, keep: &str) -> PyResult<u64> {
        let keep: Keep = keep.parse().map_err(exception)?;
        self.handle.call(py, move |timeline| timeline.keep(keep))
    }

    /// Returns whether edges carry a weight.
    fn is_weighted(&self) -> PyResult<bool> {
        Ok(self.handle.get()?.options().weighted)
    }

    /// Returns what names are: `dense`, `integer` or `text`.
    fn id_kind(&self) -> PyResult<&'static str> {
        Ok(kind_word(self.handle.get()?.options().ids))
    }

    /// Returns the names of vertices that have strings.
    fn texts(&self, py: Python<'_>, vertices: PyReadonlyArray1<'_, u32>) -> PyResult<Vec<String>> {
        let timeline = self.handle.get()?;
        texts(py, &vertices, move |v| timeline.name_of(v))
    }

    /// Returns the names of vertices that have integers.
    fn integers<'py>(
        &self,
        py: Python<'py>,
        vertices: PyReadonlyArray1<'py, u32>,
    ) -> PyResult<Column<'py, u64>> {
        let timeline = self.handle.get()?;
        integers(py, &vertices, move |v| timeline.name_of(v))
    }

    /// Gives the versions up; a second time does nothing.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.handle.close());
    }
}
