//! Reports of the facade as dictionaries of Python, with the keys of the command line's `--json`.

use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde::Serialize;
use serde_json::Value;

use crate::error::{edges_acknowledged, exception, raised, with_edges};

/// Returns a report as dictionaries, lists, numbers, texts, `bool` and `None`.
///
/// # Errors
/// `EveredgeError` if the report holds what JSON cannot.
pub(crate) fn report<'py>(py: Python<'py>, report: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let value = serde_json::to_value(report)
        .map_err(|error| raised("EveredgeError", &format!("the report is no JSON: {error}")))?;
    object(py, &value)
}

/// Returns the report of an ingest, or raises why it ended, with how many edges are in; `edges` says how many a
/// report has.
///
/// # Errors
/// The exception of a signal handler or of a callback, or else the ingest's own.
pub(crate) fn ingested<'py, R: Serialize>(
    py: Python<'py>,
    (outcome, raised): (everedge::Result<R>, Option<PyErr>),
    edges: impl FnOnce(&R) -> u64,
) -> PyResult<Bound<'py, PyAny>> {
    match (outcome, raised) {
        (Ok(done), None) => report(py, &done),
        // The facade's message says how much is in; Python's own would be empty.
        (Err(error), Some(raised)) if raised.is_instance_of::<PyKeyboardInterrupt>(py) => {
            Err(exception(error))
        }
        (Err(error), Some(raised)) => Err(with_edges(raised, edges_acknowledged(&error))),
        (Ok(done), Some(raised)) => Err(with_edges(raised, edges(&done))),
        (Err(error), None) => Err(exception(error)),
    }
}

fn object<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Null => Ok(py.None().into_bound(py)),
        Value::Bool(flag) => flag.into_bound_py_any(py),
        Value::Number(number) => match number.as_u64() {
            Some(count) => count.into_bound_py_any(py),
            None => match number.as_i64() {
                Some(difference) => difference.into_bound_py_any(py),
                None => number.as_f64().into_bound_py_any(py),
            },
        },
        Value::String(text) => text.into_bound_py_any(py),
        Value::Array(values) => {
            let values: Vec<_> =
                values.iter().map(|value| object(py, value)).collect::<PyResult<_>>()?;
            Ok(PyList::new(py, values)?.into_any())
        }
        Value::Object(fields) => {
            let dict = PyDict::new(py);
            for (key, value) in fields {
                dict.set_item(key, object(py, value)?)?;
            }
            Ok(dict.into_any())
        }
    }
}
