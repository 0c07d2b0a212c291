//! Columns of numbers as weights, by the rules that hold for files.

use everedge::{exact_integer_weights, exact_weights};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::changing::copied;
use crate::error::raised;

/// Numbers of 64 bits.
#[derive(FromPyObject)]
pub(crate) enum Numbers<'py> {
    Floats(PyReadonlyArray1<'py, f64>),
    Integers(PyReadonlyArray1<'py, i64>),
    Unsigned(PyReadonlyArray1<'py, u64>),
}

/// Returns numbers as weights; one that 32 bits do not keep is refused with its row. They are copied first: what is checked
/// is what is taken, though another thread may change the array.
#[pyfunction]
pub(crate) fn weights<'py>(
    py: Python<'py>,
    numbers: Numbers<'py>,
) -> PyResult<Bound<'py, PyArray1<f32>>> {
    let weights = match numbers {
        Numbers::Floats(numbers) => exact_weights(&copied(&numbers)?),
        Numbers::Integers(numbers) => exact_integer_weights(&copied(&numbers)?),
        Numbers::Unsigned(numbers) => exact_integer_weights(&copied(&numbers)?),
    };
    let weights = weights.map_err(|(row, what)| {
        let hint =
            if what.ends_with("a 32-bit number") { "; round_weights=True rounds it" } else { "" };
        let message = format!("weight, row {row}: {what}{hint}");
        raised("InvalidInputError", &message)
    })?;
    Ok(weights.into_pyarray(py))
}

/// Returns whether integers are used as ids as they are: if the largest of so many is not far above
/// their number.
#[pyfunction]
pub(crate) fn is_dense(largest: u64, count: u64) -> bool {
    everedge::is_dense(largest, count)
}
