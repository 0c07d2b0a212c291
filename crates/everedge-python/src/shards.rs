//! A shard of a larger graph as a class of Python.

use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard};

use everedge::{
    Kernel, Parameters, PartValues, Said, Saved, Watch, Whole, divided_by_owner, edges_fingerprint,
};
use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::error::exception;
use crate::view::{Column, View};

/// A message to each shard, and what is added up over all shards.
type SaidColumns<'py> = (Vec<Column<'py, u8>>, Vec<f64>);

/// Sources, destinations and, if they have some, weights of edges.
type EdgeColumns<'py> = (Column<'py, u32>, Column<'py, u32>, Option<Column<'py, f32>>);

/// A frozen view of a graph that is a shard. The locks are held for the GIL to be free meanwhile.
#[pyclass(frozen, module = "everedge._native")]
pub(crate) struct Shard(RwLock<everedge::Shard>);

/// What a shard works on, from one superstep to the next.
#[pyclass(frozen, module = "everedge._native")]
pub(crate) struct ShardRun {
    run: Mutex<everedge::ShardRun>,
    watch: Watch,
}

/// Values of own vertices, as a run gives them.
#[derive(FromPyObject)]
enum Values<'py> {
    Whole(PyReadonlyArray1<'py, u32>),
    Real(PyReadonlyArray1<'py, f64>),
}

impl Values<'_> {
    fn copied(&self) -> PyResult<PartValues> {
        Ok(match self {
            Self::Whole(values) => PartValues::Whole(values.as_slice()?.to_vec()),
            Self::Real(values) => PartValues::Real(values.as_slice()?.to_vec()),
        })
    }
}

impl Shard {
    fn read(&self) -> RwLockReadGuard<'_, everedge::Shard> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Shard {
    /// Finds which vertices of a view shard number `shard` owns.
    #[new]
    fn new(py: Python<'_>, view: &View, shard: u32, shards: u32) -> PyResult<Self> {
        let view = view.held()?;
        let found = py.detach(|| everedge::Shard::new(view, shard, shards));
        Ok(Self(RwLock::new(found.map_err(exception)?)))
    }

    /// Returns the vertices that it owns, ascending.
    fn owned<'py>(&self, py: Python<'py>) -> Column<'py, u32> {
        py.detach(|| self.read().owned().to_vec()).into_pyarray(py)
    }

    /// Returns the vertices of another shard that edges lead to or from here, ascending.
    fn ghosts<'py>(&self, py: Python<'py>, shard: u32) -> Column<'py, u32> {
        py.detach(|| self.read().ghosts(shard).to_vec()).into_pyarray(py)
    }

    /// Takes in which own vertices are ghosts on another shard.
    fn set_mirrored(
        &self,
        py: Python<'_>,
        shard: u32,
        vertices: PyReadonlyArray1<'_, u32>,
    ) -> PyResult<()> {
        let vertices = vertices.as_slice()?.to_vec();
        let set = || {
            let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
            known.set_mirrored(shard, vertices)
        };
        py.detach(set).map_err(exception)
    }

    /// Returns the out-degrees of the own vertices, and their in-degrees.
    fn degrees<'py>(&self, py: Python<'py>) -> (Column<'py, u32>, Column<'py, u32>) {
        let (leaving, entering) = py.detach(|| self.read().degrees());
        (leaving.into_pyarray(py), entering.into_pyarray(py))
    }

    /// Begins to answer a kernel of a graph with so many vertices below a bound, or goes on with what was known after so many
    /// supersteps. Returns the run, a message to each shard, and what is added up over all.
    fn begin<'py>(
        &self,
        py: Python<'py>,
        question: (String, Vec<(String, String)>),
        whole: (u32, u32),
        saved: Option<(u32, Values<'py>)>,
        threads: usize,
    ) -> PyResult<(ShardRun, SaidColumns<'py>)> {
        let (kernel, parameters) = question;
        let kernel: Kernel = kernel.parse().map_err(exception)?;
        let mut given = Parameters::default();
        for (name, text) in &parameters {
            given.set(name, text).map_err(exception)?;
        }
        let whole = Whole { vertex_count: whole.0, vertex_bound: whole.1 };
        let saved = saved.map(|(steps, values)| values.copied().map(|values| (steps, values)));
        let saved = saved.transpose()?;
        let watch = Watch::default();
        let begin = || {
            let saved = saved.as_ref().map(|&(steps, ref values)| Saved { steps, values });
            self.read().begin((kernel, &given), whole, saved, threads, watch.clone())
        };
        let (run, said) = py.detach(begin).map_err(exception)?;
        Ok((ShardRun { run: Mutex::new(run), watch }, columns(py, said)))
    }

    /// Does a superstep of a run; `totals` are the sums over all shards, `messages` what each of them said to this one.
    fn step<'py>(
        &self,
        py: Python<'py>,
        run: &ShardRun,
        totals: Vec<f64>,
        messages: Vec<PyReadonlyArray1<'py, u8>>,
    ) -> PyResult<SaidColumns<'py>> {
        let messages: Vec<&[u8]> =
            messages.iter().map(PyReadonlyArray1::as_slice).collect::<Result<_, _>>()?;
        let step = || {
            let mut run = run.run.lock().unwrap_or_else(PoisonError::into_inner);
            self.read().step(&mut run, &totals, &messages)
        };
        py.detach(step).map(|said| columns(py, said)).map_err(exception)
    }

    /// Returns what a run knows of the own vertices.
    fn values<'py>(&self, py: Python<'py>, run: &ShardRun) -> Bound<'py, PyAny> {
        let values = py
            .detach(|| self.read().values(&run.run.lock().unwrap_or_else(PoisonError::into_inner)));
        match values {
            PartValues::Whole(values) => values.into_pyarray(py).into_any(),
            PartValues::Real(values) => values.into_pyarray(py).into_any(),
        }
    }
}

#[pymethods]
impl ShardRun {
    /// Ends the superstep that is being done, and those after it.
    fn cancel(&self) {
        self.watch.cancel();
    }
}

fn columns(py: Python<'_>, said: Said) -> SaidColumns<'_> {
    let messages = said.messages.into_iter().map(|message| message.into_pyarray(py)).collect();
    (messages, said.sums)
}

/// Returns what tells edges from others, in any order.
#[pyfunction]
pub(crate) fn fingerprint(
    py: Python<'_>,
    src: PyReadonlyArray1<'_, u32>,
    dst: PyReadonlyArray1<'_, u32>,
    weights: Option<PyReadonlyArray1<'_, f32>>,
) -> PyResult<u64> {
    let (src, dst) = (src.as_slice()?, dst.as_slice()?);
    let weights = weights.as_ref().map(PyReadonlyArray1::as_slice).transpose()?;
    Ok(py.detach(|| edges_fingerprint(src, dst, weights)))
}

/// Divides edges among so many shards: to the owners of both ends.
#[pyfunction]
pub(crate) fn divided<'py>(
    py: Python<'py>,
    src: PyReadonlyArray1<'py, u32>,
    dst: PyReadonlyArray1<'py, u32>,
    weights: Option<PyReadonlyArray1<'py, f32>>,
    shards: u32,
) -> PyResult<Vec<EdgeColumns<'py>>> {
    let (src, dst) = (src.as_slice()?, dst.as_slice()?);
    let weights = weights.as_ref().map(PyReadonlyArray1::as_slice).transpose()?;
    let parts = py.detach(|| divided_by_owner(src, dst, weights, shards));
    let columns = parts.into_iter().map(|(src, dst, weights)| {
        let weights = weights.map(|weights| weights.into_pyarray(py));
        (src.into_pyarray(py), dst.into_pyarray(py), weights)
    });
    Ok(columns.collect())
}
