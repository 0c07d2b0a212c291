//! A frozen view as a class of Python.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;

use everedge::{
    Discovery, ExternalId, IdKind, Kernel, Parameters, RunOptions, Values, VertexId, Watch,
    WeightedDiscovery,
};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;

use crate::arrow::edges;
use crate::error::exception;
use crate::handle::Handle;
use crate::options::{format_of, seal_options};
use crate::report::report;
use crate::signals::{FEW, SIGNALS_EVERY, checked, with_many};
use crate::timeline::{VersionFields, fields};

/// Returns an answer as an array, or none.
pub(crate) fn array(py: Python<'_>, values: Values) -> Bound<'_, PyAny> {
    match values {
        Values::Depth(values)
        | Values::Component(values)
        | Values::Count(values)
        | Values::Vertices(values)
        | Values::Order(values) => values.into_pyarray(py).into_any(),
        Values::Label(values) => values.into_pyarray(py).into_any(),
        Values::None => py.None().into_bound(py),
        Values::Scores(scores) => {
            let [first, second] = scores.map(|scores| scores.into_pyarray(py));
            (first, second).into_bound_py_any(py).expect("a tuple of two")
        }
        Values::Edges(edges, weights) => {
            let (src, dst): (Vec<_>, Vec<_>) = edges.into_iter().unzip();
            let weights = weights.map(|weights| weights.into_pyarray(py));
            let columns = (src.into_pyarray(py), dst.into_pyarray(py), weights);
            columns.into_bound_py_any(py).expect("a tuple of three")
        }
        Values::Score(values) | Values::Distance(values) => values.into_pyarray(py).into_any(),
    }
}

pub(crate) type Column<'py, T> = Bound<'py, PyArray1<T>>;

/// A frozen view of a graph.
#[pyclass(frozen, module = "everedge._native")]
pub(crate) struct View {
    handle: Handle<everedge::View>,
    is_simple: bool,
}

impl View {
    /// Returns a view of a graph that keeps one edge for a pair if it `is_simple`.
    pub(crate) fn new(view: everedge::View, is_simple: bool) -> Self {
        Self { handle: Handle::new("snapshot", view), is_simple }
    }

    /// Returns what the handle holds.
    ///
    /// # Errors
    /// If the view is closed.
    pub(crate) fn held(&self) -> PyResult<Arc<everedge::View>> {
        self.handle.get()
    }

    /// Returns what `read` finds in the view, without the GIL.
    ///
    /// # Errors
    /// If the view is closed; if a sealed graph could not be read: what was found may be wrong then.
    fn read<R: Send>(
        &self,
        py: Python<'_>,
        read: impl FnOnce(&everedge::View) -> R + Send,
    ) -> PyResult<R> {
        let view = self.handle.get()?;
        let found = py.detach(|| read(&view));
        view.check_reads().map_err(exception)?;
        Ok(found)
    }

    /// Returns what `scan` finds in as many lists as are given, or in all; a signal ends it.
    ///
    /// # Errors
    /// As [`Self::read`], and what the handler of a signal raises.
    fn scan<R: Send + 'static>(
        &self,
        py: Python<'_>,
        lists: Option<usize>,
        scan: impl FnOnce(&everedge::View) -> R + Send + 'static,
    ) -> PyResult<R> {
        let view = self.handle.get()?;
        if view.is_small() || lists.is_some_and(|lists| lists <= FEW) {
            return self.read(py, scan);
        }
        checked(py, move || {
            let found = scan(&view);
            view.check_reads().map(|()| found)
        })
    }
}

#[pymethods]
impl View {
    /// Returns a view of lists of neighbors: where those of each vertex begin, one more than vertices, and the neighbors.
    #[staticmethod]
    fn from_csr(
        py: Python<'_>,
        offsets: PyReadonlyArray1<'_, u64>,
        neighbors: PyReadonlyArray1<'_, u32>,
        weights: Option<PyReadonlyArray1<'_, f32>>,
        directed: bool,
    ) -> PyResult<Self> {
        let (offsets, neighbors) = (offsets.as_slice()?.to_vec(), neighbors.as_slice()?.to_vec());
        let weights = weights.map(|weights| weights.as_slice().map(<[f32]>::to_vec)).transpose()?;
        let made = py.detach(|| everedge::View::from_csr(offsets, neighbors, weights, directed));
        Ok(Self::new(made.map_err(exception)?, false))
    }

    /// Runs a kernel by name with `parameters`, all as texts; calls `tell` with the steps
    /// done, and of how many (0 if that is unknown), now and then. Returns the report and the answer:
    /// by vertex up to `vertex_bound`, a list of vertices, or none.
    fn run<'py>(
        &self,
        py: Python<'py>,
        kernel: &str,
        parameters: Vec<(String, String)>,
        threads: usize,
        tell: Option<Py<PyAny>>,
    ) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let view = self.handle.get()?;
        let kernel: Kernel = kernel.parse().map_err(exception)?;
        let mut given = Parameters::default();
        for (name, text) in &parameters {
            given.set(name, text).map_err(exception)?;
        }
        // Values rank themselves when they are asked.
        let options = RunOptions { threads, top: Some(0), ..given.into() };
        let run = || view.run(kernel, &options).map_err(exception);
        let done = py.detach(|| match view.is_brief(kernel) {
            true => run(),
            false => until_signal(&options.watch, tell.as_ref(), run),
        })?;
        let reported = report(py, &done)?;
        Ok((reported, array(py, done.values)))
    }

    /// Writes the graph as a sealed one into a new directory; calls `tell` as `run` does. Returns the report.
    fn seal<'py>(
        &self,
        py: Python<'py>,
        path: PathBuf,
        order: &str,
        compressed: bool,
        tell: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let view = self.handle.get()?;
        let options = seal_options(order, compressed).map_err(exception)?;
        let watch = Watch::default();
        let seal = || everedge::Chunks::seal(&view, &path, &options, &watch).map_err(exception);
        report(py, &py.detach(|| until_signal(&watch, tell.as_ref(), seal))?)
    }

    /// Writes the graph to a file or a directory; calls `tell` as `run` does. Returns the report.
    fn export<'py>(
        &self,
        py: Python<'py>,
        path: PathBuf,
        format: Option<&str>,
        tell: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let view = self.handle.get()?;
        let format = format.map(format_of).transpose().map_err(exception)?;
        let watch = Watch::default();
        let export = || view.export(&path, format, &watch).map_err(exception);
        report(py, &py.detach(|| until_signal(&watch, tell.as_ref(), export))?)
    }

    /// Returns which version it is of, if it is of one.
    fn version(&self) -> PyResult<Option<VersionFields>> {
        Ok(self.handle.get()?.version().cloned().map(fields))
    }

    /// Returns a number above every vertex id.
    fn vertex_bound(&self) -> PyResult<u32> {
        Ok(self.handle.get()?.vertex_bound())
    }

    /// Returns how many rows answers have.
    fn row_count(&self) -> PyResult<usize> {
        Ok(self.handle.get()?.row_count())
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
        Ok(self.handle.get()?.is_directed())
    }

    /// Returns whether edges carry a weight.
    fn is_weighted(&self) -> PyResult<bool> {
        Ok(self.handle.get()?.is_weighted())
    }

    /// Returns whether a pair keeps one edge only.
    fn is_simple(&self) -> PyResult<bool> {
        self.handle.get().map(|_| self.is_simple)
    }

    /// Returns what names are: `dense`, `integer` or `text`.
    fn id_kind(&self) -> PyResult<&'static str> {
        Ok(kind_word(self.handle.get()?.id_kind()))
    }

    /// Returns the vertices in ascending order.
    fn vertices<'py>(&self, py: Python<'py>) -> PyResult<Column<'py, u32>> {
        Ok(self.scan(py, None, |view| view.vertices())?.into_pyarray(py))
    }

    /// Returns the out-degree of every id below `vertex_bound`.
    fn out_degrees<'py>(&self, py: Python<'py>) -> PyResult<Column<'py, u32>> {
        Ok(self.scan(py, None, |view| view.out_degrees())?.into_pyarray(py))
    }

    /// Returns the in-degree of every id below `vertex_bound`.
    fn in_degrees<'py>(&self, py: Python<'py>) -> PyResult<Column<'py, u32>> {
        Ok(self.scan(py, None, |view| view.in_degrees())?.into_pyarray(py))
    }

    /// Returns whether an edge leads from `u` to `v`.
    fn has_edge(&self, py: Python<'_>, u: VertexId, v: VertexId) -> PyResult<bool> {
        self.read(py, |view| view.has_edge(u, v))
    }

    /// Returns of each pair whether an edge leads from the first to the second.
    fn have_edges<'py>(
        &self,
        py: Python<'py>,
        src: PyReadonlyArray1<'py, i64>,
        dst: PyReadonlyArray1<'py, i64>,
    ) -> PyResult<Column<'py, bool>> {
        let pairs: Vec<_> =
            src.as_slice()?.iter().copied().zip(dst.as_slice()?.iter().copied()).collect();
        let has_edge = |view: &everedge::View, (u, v): (i64, i64)| {
            let ends = u.try_into().ok().zip(v.try_into().ok());
            ends.is_some_and(|(u, v)| view.has_edge(u, v))
        };
        let scan = move |view: &everedge::View| -> Vec<bool> {
            pairs.into_iter().map(|pair| has_edge(view, pair)).collect()
        };
        let found = self.scan(py, Some(src.len()?), scan)?;
        Ok(found.into_pyarray(py))
    }

    /// Returns the weight of the newest edge from `u` to `v`.
    fn weight(&self, py: Python<'_>, u: VertexId, v: VertexId) -> PyResult<Option<f32>> {
        self.read(py, |view| view.weight(u, v))
    }

    /// Returns the sources, destinations and weights (1 if there are none) of the edges of some vertices.
    fn edges_of<'py>(
        &self,
        py: Python<'py>,
        vertices: PyReadonlyArray1<'py, u32>,
        direction: &str,
    ) -> PyResult<(Column<'py, u32>, Column<'py, u32>, Column<'py, f32>)> {
        let vertices = vertices.as_slice()?.to_vec();
        let along = direction.parse().map_err(exception)?;
        let edges =
            self.scan(py, Some(vertices.len()), move |view| view.edges_of(&vertices, along))?;
        let (src, dst, weight) = edges.map_err(exception)?;
        Ok((src.into_pyarray(py), dst.into_pyarray(py), weight.into_pyarray(py)))
    }

    /// Returns how many edges leave each of some vertices, and how many enter it.
    fn degrees_of<'py>(
        &self,
        py: Python<'py>,
        vertices: PyReadonlyArray1<'py, u32>,
    ) -> PyResult<(Column<'py, u32>, Column<'py, u32>)> {
        let vertices = vertices.as_slice()?.to_vec();
        let degrees = self
            .scan(py, Some(vertices.len()), move |view| view.degrees_of(&vertices))?
            .map_err(exception)?;
        let (leaving, entering): (Vec<u32>, Vec<u32>) = degrees.into_iter().unzip();
        Ok((leaving.into_pyarray(py), entering.into_pyarray(py)))
    }

    /// Returns the vertices up to so many `hops` away from some, and how far each is.
    fn within<'py>(
        &self,
        py: Python<'py>,
        vertices: PyReadonlyArray1<'py, u32>,
        hops: u32,
        direction: &str,
    ) -> PyResult<(Column<'py, u32>, Column<'py, u32>)> {
        let vertices = vertices.as_slice()?.to_vec();
        let along = direction.parse().map_err(exception)?;
        let (view, watch) = (self.handle.get()?, Watch::default());
        let search = || view.within(&vertices, hops, along, &watch).map_err(exception);
        let found = py.detach(|| until_signal(&watch, None, search))?;
        let (found, hops): (Vec<u32>, Vec<u32>) = found.into_iter().unzip();
        Ok((found.into_pyarray(py), hops.into_pyarray(py)))
    }

    /// Returns the vertices that one reaches in the order of their discovery, the vertex in whose list each was found, and how far
    /// away each is.
    fn discovery<'py>(
        &self,
        py: Python<'py>,
        source: VertexId,
        reverse: bool,
        depth_max: u32,
    ) -> PyResult<(Column<'py, u32>, Column<'py, u32>, Column<'py, u32>)> {
        let (view, watch) = (self.handle.get()?, Watch::default());
        let search = || view.discovery(source, reverse, depth_max, &watch).map_err(exception);
        let found = py.detach(|| if_small(&view, &watch, search))?;
        let Discovery { order, parent, depth } = found;
        Ok((order.into_pyarray(py), parent.into_pyarray(py), depth.into_pyarray(py)))
    }

    /// Returns the same by the sums of weights, from the nearest of some vertices, and how long a shortest path to each is.
    fn weighted_discovery<'py>(
        &self,
        py: Python<'py>,
        sources: PyReadonlyArray1<'py, u32>,
    ) -> PyResult<(Column<'py, u32>, Column<'py, u32>, Column<'py, f64>)> {
        let sources = sources.as_slice()?.to_vec();
        let (view, watch) = (self.handle.get()?, Watch::default());
        let search = || view.weighted_discovery(&sources, &watch).map_err(exception);
        let found = py.detach(|| if_small(&view, &watch, search))?;
        let WeightedDiscovery { order, parent, distance } = found;
        Ok((order.into_pyarray(py), parent.into_pyarray(py), distance.into_pyarray(py)))
    }

    /// Returns a shortest path and its length, if there is one.
    fn path<'py>(
        &self,
        py: Python<'py>,
        source: VertexId,
        target: VertexId,
        hops: bool,
    ) -> PyResult<Option<(Column<'py, u32>, f64)>> {
        let (view, watch) = (self.handle.get()?, Watch::default());
        let search = || view.shortest_path(source, target, hops, &watch).map_err(exception);
        let found = py.detach(|| if_small(&view, &watch, search))?;
        Ok(found.map(|path| (path.vertices.into_pyarray(py), path.length)))
    }

    /// Returns of each pair how similar its vertices are.
    fn similarity<'py>(
        &self,
        py: Python<'py>,
        src: PyReadonlyArray1<'py, u32>,
        dst: PyReadonlyArray1<'py, u32>,
        measure: &str,
    ) -> PyResult<Column<'py, f64>> {
        let ends = src.as_slice()?.iter().copied().zip(dst.as_slice()?.iter().copied());
        let pairs: Vec<_> = ends.collect();
        let measure = everedge::measure(measure).map_err(exception)?;
        let (view, watch) = (self.handle.get()?, Watch::default());
        let ask = || view.similarity(&pairs, measure, &watch).map_err(exception);
        Ok(py.detach(|| until_signal(&watch, None, ask))?.into_pyarray(py))
    }

    /// Returns the vertices most similar to one, and how similar each is.
    fn most_similar<'py>(
        &self,
        py: Python<'py>,
        v: VertexId,
        count: usize,
        measure: &str,
    ) -> PyResult<(Column<'py, u32>, Column<'py, f64>)> {
        let measure = everedge::measure(measure).map_err(exception)?;
        let (view, watch) = (self.handle.get()?, Watch::default());
        let ask = || view.most_similar(v, count, measure, &watch).map_err(exception);
        let found = py.detach(|| until_signal(&watch, None, ask))?;
        let (vertices, scores): (Vec<u32>, Vec<f64>) = found.into_iter().unzip();
        Ok((vertices.into_pyarray(py), scores.into_pyarray(py)))
    }

    /// Returns the modularity of groups, one for each row.
    fn modularity(
        &self,
        py: Python<'_>,
        groups: PyReadonlyArray1<'_, u32>,
        resolution: f64,
        weighted: bool,
    ) -> PyResult<f64> {
        let groups = groups.as_slice()?.to_vec();
        let (view, watch) = (self.handle.get()?, Watch::default());
        let ask = || view.modularity(&groups, resolution, weighted, &watch).map_err(exception);
        py.detach(|| until_signal(&watch, None, ask))
    }

    /// Returns the graph of some vertices and the edges between them.
    fn subgraph(&self, py: Python<'_>, vertices: PyReadonlyArray1<'_, u32>) -> PyResult<Self> {
        let vertices = vertices.as_slice()?.to_vec();
        let (view, watch) = (self.handle.get()?, Watch::default());
        let copy = || view.subgraph(&vertices, &watch).map_err(exception);
        py.detach(|| until_signal(&watch, None, copy)).map(|part| Self::new(part, self.is_simple))
    }

    /// Returns the vertices of strings, -1 for a name that none has.
    fn find_texts<'py>(&self, py: Python<'py>, names: Vec<String>) -> PyResult<Column<'py, i64>> {
        let count = names.len();
        let find = move |view: &everedge::View| {
            names.iter().map(|name| view.find(name).map_or(-1, i64::from)).collect::<Vec<_>>()
        };
        Ok(self.scan(py, Some(count), find)?.into_pyarray(py))
    }

    /// Returns the vertices of integers, -1 for one that is none's name.
    fn find_integers<'py>(
        &self,
        py: Python<'py>,
        names: PyReadonlyArray1<'py, u64>,
    ) -> PyResult<Column<'py, i64>> {
        let names = names.as_slice()?.iter().map(u64::to_string).collect();
        self.find_texts(py, names)
    }

    /// Returns the out-neighbors of a vertex, parallel edges one by one.
    fn out_neighbors<'py>(&self, py: Python<'py>, v: VertexId) -> PyResult<Column<'py, u32>> {
        Ok(self.read(py, |view| view.out_neighbors(v))?.into_pyarray(py))
    }

    /// Returns the sources of the edges that enter a vertex, parallel edges one by one.
    fn in_neighbors<'py>(&self, py: Python<'py>, v: VertexId) -> PyResult<Column<'py, u32>> {
        Ok(self.read(py, |view| view.in_neighbors(v))?.into_pyarray(py))
    }

    /// Returns the sources, destinations and weights (1 if there are none) of all edges.
    fn edges<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Column<'py, u32>, Column<'py, u32>, Column<'py, f32>)> {
        let (src, dst, weight) = self.scan(py, None, |view| view.edges())?;
        Ok((src.into_pyarray(py), dst.into_pyarray(py), weight.into_pyarray(py)))
    }

    /// Returns a capsule with a stream of all edges: columns `src`, `dst` and, if edges have one, `weight`; `by_age`, the oldest of
    /// parallel ones first.
    #[pyo3(signature = (*, by_age = false))]
    fn stream<'py>(&self, py: Python<'py>, by_age: bool) -> PyResult<Bound<'py, PyAny>> {
        edges(py, self.handle.get()?, by_age)
    }

    /// Returns the out-edges as a CSR by row; where edges carry no weights, 1 for each if `ones`.
    #[pyo3(signature = (*, ones = false))]
    #[expect(clippy::type_complexity, reason = "three arrays, of which one may be missing")]
    fn csr<'py>(
        &self,
        py: Python<'py>,
        ones: bool,
    ) -> PyResult<(Column<'py, u64>, Column<'py, u32>, Option<Column<'py, f32>>)> {
        let (starts, rows, weights) = self.scan(py, None, move |view| view.csr_arrays(ones))?;
        let weights = weights.map(|weights| weights.into_pyarray(py));
        Ok((starts.into_pyarray(py), rows.into_pyarray(py), weights))
    }

    /// Returns the vertex with this name, if the view has it.
    fn find(&self, py: Python<'_>, name: &str) -> PyResult<Option<VertexId>> {
        self.read(py, |view| view.find(name))
    }

    /// Returns the names of vertices that have strings.
    fn texts(&self, py: Python<'_>, vertices: PyReadonlyArray1<'_, u32>) -> PyResult<Vec<String>> {
        let view = self.handle.get()?;
        let named = Arc::clone(&view);
        let texts = texts(py, &vertices, move |v| named.name_of(v))?;
        view.check_reads().map_err(exception)?;
        Ok(texts)
    }

    /// Returns the names of vertices that have integers.
    fn integers<'py>(
        &self,
        py: Python<'py>,
        vertices: PyReadonlyArray1<'py, u32>,
    ) -> PyResult<Column<'py, u64>> {
        let view = self.handle.get()?;
        let named = Arc::clone(&view);
        let integers = integers(py, &vertices, move |v| named.name_of(v))?;
        view.check_reads().map_err(exception)?;
        Ok(integers)
    }

    /// Gives the view up; a second time does nothing.
    fn close(&self, py: Python<'_>) {
        py.detach(|| self.handle.close());
    }
}

/// Returns the names of vertices that have strings.
pub(crate) fn texts(
    py: Python<'_>,
    vertices: &PyReadonlyArray1<'_, u32>,
    name_of: impl Fn(VertexId) -> ExternalId + Send + 'static,
) -> PyResult<Vec<String>> {
    let vertices = vertices.as_slice()?.to_vec();
    let text = move |v| match name_of(v) {
        ExternalId::Text(name) => name,
        ExternalId::Integer(id) => id.to_string(),
    };
    with_many(py, vertices.len(), || Ok(vertices.into_iter().map(text).collect()))
}

/// Returns the names of vertices that have integers.
pub(crate) fn integers<'py>(
    py: Python<'py>,
    vertices: &PyReadonlyArray1<'py, u32>,
    name_of: impl Fn(VertexId) -> ExternalId + Send + 'static,
) -> PyResult<Column<'py, u64>> {
    let vertices = vertices.as_slice()?.to_vec();
    let integer = move |v| match name_of(v) {
        ExternalId::Integer(id) => id,
        ExternalId::Text(_) => unreachable!("an id map keeps names of one kind"),
    };
    let count = vertices.len();
    let names: Vec<u64> = with_many(py, count, || Ok(vertices.into_iter().map(integer).collect()))?;
    Ok(names.into_pyarray(py))
}

/// Runs `work` on a thread of its own while this one runs the handlers of signals and tells how far
/// it is; cancels it and returns the exception if one of them raises it.
///
/// # Errors
/// That exception; the error of `work`; `OSError` if the system refuses the thread.
pub(crate) fn until_signal<R: Send>(
    watch: &Watch,
    tell: Option<&Py<PyAny>>,
    work: impl FnOnce() -> PyResult<R> + Send,
) -> PyResult<R> {
    thread::scope(|scope| {
        let (done, ended) = mpsc::channel::<()>();
        let worker = thread::Builder::new().spawn_scoped(scope, move || {
            let _ended_when_dropped = done;
            work()
        })?;
        let mut raised = Ok(());
        while raised.is_ok() && ended.recv_timeout(SIGNALS_EVERY) == Err(RecvTimeoutError::Timeout)
        {
            raised = Python::attach(|py| {
                py.check_signals()?;
                tell.map_or(Ok(()), |tell| tell.call1(py, watch.progress()).map(drop))
            });
        }
        if raised.is_err() {
            watch.cancel();
        }
        let result = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        raised.and(result)
    })
}

/// Runs a search of a graph: here if it is so small that nobody waits, else as [`until_signal`].
fn if_small<R: Send>(
    view: &everedge::View,
    watch: &Watch,
    search: impl FnOnce() -> PyResult<R> + Send,
) -> PyResult<R> {
    if view.is_small() { search() } else { until_signal(watch, None, search) }
}

/// Returns the name of each kernel with those of its parameters.
#[pyfunction]
pub(crate) fn kernels() -> Vec<(&'static str, Vec<&'static str>)> {
    Kernel::ALL.iter().map(|kernel| (kernel.name(), kernel.parameters().to_vec())).collect()
}

/// Returns the name of each parameter of kernels with what it says.
#[pyfunction]
pub(crate) fn parameters() -> Vec<(&'static str, &'static str)> {
    Parameters::ALL.iter().map(|parameter| (parameter.name, parameter.about)).collect()
}

/// Returns the word for a kind of ids.
pub(crate) fn kind_word(kind: IdKind) -> &'static str {
    match kind {
        IdKind::Dense => "dense",
        IdKind::Integer => "integer",
        IdKind::Text => "text",
    }
}
