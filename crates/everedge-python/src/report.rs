//! Reports of the facade as dictionaries of Python, with the keys of the command line's `--json`.

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use serde::Serialize;
use serde_json::Value;

use crate::error::raised;

/// Returns a report as dictionaries, lists, numbers, texts, `bool` and `None`.
///
/// # Errors
/// `EveredgeError` if the report holds what JSON cannot.
pub(crate) fn report<'py>(py: Python<'py>, report: &impl Serialize) -> PyResult<Bound<'py, PyAny>> {
    let value = serde_json::to_value(report)
        .map_err(|error| raised("EveredgeError", &format!("the report is no JSON: {error}")))?;
    object(py, &value)
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
