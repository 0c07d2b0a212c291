//! A graph as a class of Python.

use std::path::PathBuf;
use std::sync::Arc;

use everedge::{Batch, Commit, Given, GraphOptions, Keep, StorageError, VertexId, date_of};
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::PyList;

use crate::arrow::{Source, given};
use crate::changing::{ChangeCounts, copied, counts, pairs};
use crate::error::{exception, raised};
use crate::handle::{Handle, MANY};
use crate::options::{Chosen, Ingest};
use crate::report::{ingested, report};
use crate::signals::{Tell, checked, ingest_until_signal, unless_signal, wait_for_left, with_many};
use crate::timeline::{Timeline, VersionFields, fields};
use crate::transaction::Transaction;
use crate::view::{View, kind_word};

/// A time as Python gives it.
#[derive(FromPyObject)]
enum Moment {
    Microseconds(i64),
    Date(String),
}

impl Moment {
    /// Returns it in microseconds since 1970.
    fn microseconds(self) -> PyResult<i64> {
        match self {
            Self::Microseconds(time) => Ok(time),
            Self::Date(word) => date_of(&word).ok_or_else(|| {
                let what =
                    format!("the time {word:?}: a date such as 2024-05-31 or 2024-05-31T10:30:00Z");
                raised("InvalidInputError", &what)
            }),
        }
    }
}

/// A live graph.
#[pyclass(frozen, module = "everedge._native")]
pub(crate) struct Graph {
    handle: Handle<everedge::Graph>,
}

impl From<everedge::Graph> for Graph {
    fn from(graph: everedge::Graph) -> Self {
        Self { handle: Handle::new("graph", graph) }
    }
}

impl Graph {
    /// Puts a graph that was created into a list of Python.
    fn put_into<'py>(
        created: &Bound<'py, PyList>,
        graph: everedge::Graph,
    ) -> PyResult<Bound<'py, Self>> {
        let graph = Bound::new(created.py(), Self::from(graph))?;
        created.append(&graph)?;
        Ok(graph)
    }
}

#[pymethods]
impl Graph {
    /// Creates a graph as was chosen, whose ids are `dense`, `integer` or `text`. It is put into `created` before a
    /// signal can raise.
    #[staticmethod]
    fn create<'py>(
        py: Python<'py>,
        path: PathBuf,
        chosen: &Chosen,
        ids: &str,
        meter: bool,
        created: &Bound<'py, PyList>,
    ) -> PyResult<Bound<'py, Self>> {
        let ids = ids.parse().map_err(|error: StorageError| exception(error.into()))?;
        let options = GraphOptions { ids, ..chosen.options()? };
        let graph = py.detach(|| everedge::Graph::create(&path, &options, meter));
        Self::put_into(created, graph.map_err(exception)?)
    }

    /// Creates a graph as was chosen and its first file suggests; puts it into `created` as [`Self::create`] does.
    #[staticmethod]
    fn create_for<'py>(
        py: Python<'py>,
        path: PathBuf,
        chosen: &Chosen,
        meter: bool,
        first_file: Source<'py>,
        ingest: Ingest,
        created: &Bound<'py, PyList>,
    ) -> PyResult<Bound<'py, Self>> {
        let ingest = ingest.options().map_err(exception)?;
        let (options, choices, files) =
            (chosen.options()?, chosen.choices(meter), [Given::from(first_file)]);
        let create =
            |_: Tell<'_>| everedge::Graph::create_for(&path, &options, choices, &files, &ingest);
        let had_directory = path.exists();
        let (graph, raised) = ingest_until_signal(py, (&ingest.stop, None), None, create)?;
        match (graph, raised) {
            (graph, None) => Self::put_into(created, graph.map_err(exception)?),
            (graph, Some(raised)) => {
                // What raised counts more than what is wrong with a graph that nobody gets.
                let _ = py.detach(|| graph.and_then(|graph| graph.close_new(&path, had_directory)));
                Err(raised)
            }
        }
    }

    /// Refuses what was chosen if the graph was made otherwise.
    fn check_chosen(&self, chosen: &Chosen) -> PyResult<()> {
        self.handle.get()?.check_chosen(&chosen.words, chosen.ids).map_err(exception)
    }

    /// Opens a graph for writing, alone.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf, meter: bool) -> PyResult<Self> {
        wait_for_left(py)?;
        let open = move || everedge::Graph::open(&path, meter);
        unless_signal(py, None, open).map(Self::from)
    }

    /// Returns whether there is a graph, or something else that would be opened as one.
    #[staticmethod]
    fn is_there(path: PathBuf) -> PyResult<bool> {
        everedge::Graph::is_there(&path).map_err(exception)
    }

    /// Opens a graph for reading, beside other readers and a writer.
    #[staticmethod]
    fn open_read_only(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let open = move || everedge::Graph::open_read_only(&path);
        unless_signal(py, None, open).map(Self::from)
    }

    /// Returns what is at a path: `graph`, `timeline` or `chunks`.
    #[staticmethod]
    fn kind_of(path: PathBuf) -> PyResult<&'static str> {
        if everedge::Chunks::is_at(&path).map_err(exception)? {
            return Ok("chunks");
        }
        let is_timeline = everedge::Timeline::is_at(&path).map_err(exception)?;
        Ok(if is_timeline { "timeline" } else { "graph" })
    }

    /// Returns which graph it is, how many updates it has taken, the number of its newest version, 0 without one, and how
    /// many versions it has.
    fn state(&self, py: Python<'_>) -> PyResult<(u32, u64, u64, u64)> {
        self.handle.settled(py, |graph| {
            // Versions that are damaged say so when they are asked.
            let timeline = graph.timeline().ok().flatten();
            let versions = timeline.map_or_else(Vec::new, |timeline| timeline.versions());
            let newest = versions.last().map_or(0, |version| version.number);
            Ok((graph.identity(), graph.sequence()?, newest, versions.len() as u64))
        })
    }

    /// Takes files and tables in; calls `progress(path, bytes_read, bytes_total, edges)` after each batch, with the
    /// number of the path that gave the file.
    ///
    /// Returns the report. An exception of `progress` or of a signal handler ends it.
    fn ingest<'py>(
        &self,
        py: Python<'py>,
        files: Vec<Source<'py>>,
        options: Ingest,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (graph, files) = (self.handle.get()?, given(files));
        let options = options.options().map_err(exception)?;
        graph.check_chosen(&everedge::Chosen::default(), options.input.ids).map_err(exception)?;
        self.handle.note_changes(MANY);
        let ingest = |tell: Tell<'_>| graph.ingest(&files, &options, tell);
        let ended = ingest_until_signal(py, (&options.stop, None), progress.as_ref(), ingest)?;
        ingested(py, ended, |done| done.edges_read)
    }

    /// Inserts edges of dense ids as one batch; nobody else can reach the arrays.
    fn add_edges(
        &self,
        py: Python<'_>,
        src: PyReadonlyArray1<'_, u32>,
        dst: PyReadonlyArray1<'_, u32>,
        weight: Option<PyReadonlyArray1<'_, f32>>,
    ) -> PyResult<()> {
        let graph = self.handle.get()?;
        let weights = weight.as_ref().map(|weight| weight.as_slice()).transpose()?;
        if let (&[src], &[dst]) = (src.as_slice()?, dst.as_slice()?) {
            self.handle.note_changes(1);
            return py.detach(|| graph.insert(&[(src, dst)], weights)).map_err(exception);
        }
        let count = src.len()?;
        self.handle.note_changes(count);
        let columns = (Bound::clone(&src).unbind(), Bound::clone(&dst).unbind());
        let weight = weight.map(|weight| Bound::clone(&weight).unbind());
        with_many(py, count, move || {
            // Copied on the thread, for copies of many take long as well. Python does not end so soon.
            let batch = Python::attach(|py| {
                let (src, dst) = (columns.0.bind(py).readonly(), columns.1.bind(py).readonly());
                let weight = weight.as_ref().map(|weight| weight.bind(py).readonly());
                let [src, dst] =
                    [&src, &dst].map(|ends| ends.as_slice().expect("in one piece, as seen above"));
                let weight =
                    weight.as_ref().map(|w| w.as_slice().expect("in one piece, as seen above"));
                py.detach(|| Batch::insertions(pairs(src, dst), weight))
            })?;
            graph.apply(&batch)
        })
    }

    /// Deletes edges of dense ids as one batch; nobody else can reach the arrays.
    fn delete_edges(
        &self,
        py: Python<'_>,
        src: PyReadonlyArray1<'_, u32>,
        dst: PyReadonlyArray1<'_, u32>,
    ) -> PyResult<ChangeCounts> {
        self.handle.delete(py, (src, dst), everedge::Graph::delete)
    }

    /// Deletes a vertex and its edges both ways.
    fn delete_vertex(&self, py: Python<'_>, v: VertexId) -> PyResult<ChangeCounts> {
        self.handle.call(py, move |graph| graph.delete_vertex(v)).map(counts)
    }

    /// Makes vertices of dense ids, as one batch.
    fn add_vertices(&self, py: Python<'_>, ids: PyReadonlyArray1<'_, u32>) -> PyResult<()> {
        let ids = copied(&ids)?;
        self.handle.change(py, ids.len(), move |graph| {
            let mut batch = Batch::new(graph.options().weighted);
            ids.into_iter().try_for_each(|v| batch.add_vertex(v))?;
            graph.apply(&batch)
        })
    }

    /// Returns the vertices of strings, making ids for new ones, durably.
    fn intern_texts<'py>(
        &self,
        py: Python<'py>,
        names: Vec<PyBackedStr>,
    ) -> PyResult<Bound<'py, PyArray1<u32>>> {
        self.handle
            .intern(py, names, |graph, names| graph.intern_texts(names.iter().map(|name| &**name)))
    }

    /// Returns the vertices of integers, making ids for new ones, durably.
    fn intern_integers<'py>(
        &self,
        py: Python<'py>,
        names: PyReadonlyArray1<'py, u64>,
    ) -> PyResult<Bound<'py, PyArray1<u32>>> {
        self.handle.intern(py, copied(&names)?, everedge::Graph::intern_integers)
    }

    /// Returns the vertices of strings, -1 for an unknown one.
    fn find_texts<'py>(
        &self,
        py: Python<'py>,
        names: Vec<PyBackedStr>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        self.handle.find(py, |graph| graph.find_texts(names.iter().map(|name| &**name)))
    }

    /// Returns the vertices of integers, -1 for an unknown one.
    fn find_integers<'py>(
        &self,
        py: Python<'py>,
        names: PyReadonlyArray1<'py, u64>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let names = copied(&names)?;
        self.handle.find(py, |graph| graph.find_integers(&names))
    }

    /// Returns a frozen view.
    fn snapshot(&self, py: Python<'_>) -> PyResult<View> {
        self.handle
            .settled(py, |graph| Ok((graph.snapshot()?, graph.options().simple)))
            .map(|(view, is_simple)| View::new(view, is_simple))
    }

    /// Begins a transaction, which keeps the graph open.
    fn transaction(&self, py: Python<'_>) -> PyResult<Transaction> {
        Transaction::begin(py, self.handle.get()?)
    }

    /// Makes what the graph is now a version, of the moment `time`, and lets older versions go than `keep` says.
    /// Returns it.
    fn commit(
        &self,
        py: Python<'_>,
        name: Option<String>,
        time: Option<Moment>,
        keep: Option<&str>,
    ) -> PyResult<VersionFields> {
        let time = time.map(Moment::microseconds).transpose()?;
        let keep = keep.map(str::parse::<Keep>).transpose().map_err(exception)?;
        self.handle.call(py, move |graph| graph.commit(Commit { name, time, keep })).map(fields)
    }

    /// Returns the versions, if there are some.
    fn timeline(&self, py: Python<'_>) -> PyResult<Option<Timeline>> {
        let timeline = self.handle.settled(py, |graph| graph.timeline())?;
        Ok(timeline.map(Timeline::from))
    }

    /// Makes all that was applied durable.
    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        self.handle.settled(py, everedge::Graph::sync)
    }

    /// Returns what the graph is and how large.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        report(py, &self.handle.settled(py, everedge::Graph::stats)?)
    }

    /// Rewrites what has changed; returns what was done.
    fn compact<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        report(py, &self.handle.call(py, everedge::Graph::compact)?)
    }

    /// Returns the outcome of all checks.
    fn verify<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let graph = self.handle.get()?;
        report(py, &checked(py, move || graph.verify())?)
    }

    /// Returns whether edges carry a weight.
    fn is_weighted(&self) -> PyResult<bool> {
        Ok(self.handle.get()?.options().weighted)
    }

    /// Returns what ids are: `dense`, `integer` or `text`.
    fn id_kind(&self) -> PyResult<&'static str> {
        Ok(kind_word(self.handle.get()?.options().ids))
    }

    /// Returns the batches and updates that opening replayed, and how long it took in seconds.
    fn recovery(&self) -> PyResult<(u64, u64, f64)> {
        let graph = self.handle.get()?;
        let found = graph.recovery();
        let seconds = graph.open_time().as_secs_f64();
        Ok((found.replayed_batches, found.replayed_updates, seconds))
    }

    /// Returns whether a call works on the graph, perhaps one that a signal has left behind.
    fn is_in_use(&self) -> bool {
        // The handle has one, and this call.
        self.handle.get().is_ok_and(|graph| Arc::strong_count(&graph) > 2)
    }

    /// Closes a graph that was created at `path`, and removes it if it holds nothing; puts an empty
    /// directory in its place if there was one.
    fn close_new(&self, py: Python<'_>, path: PathBuf, had_directory: bool) -> PyResult<()> {
        self.handle.end(py, move |graph| graph.close_new(&path, had_directory))
    }

    /// Closes the graph; a second time does nothing.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.handle.end(py, everedge::Graph::close)
    }
}
