//! Errors as the exceptions that `everedge._errors` defines.

use std::io;
use std::path::Path;

use everedge::{Error, StorageError};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// Options of the command line in advice, and other advice for it, and what they are here. What begins another one comes after it.
const OPTIONS: [(&str, &str); 33] = [
    ("seal one with `--ids integer`", "seal one with ids=\"integer\""),
    (", or run on a copy in memory with --csr", ""),
    (
        "(--no-in); one-hop and two-hop need none",
        "(in_neighbors=False); `one_hop` and `two_hop` need none",
    ),
    ("again without --no-in", "again with in-neighbors"),
    (
        "itself, to ask it or to ingest into it",
        "itself: `everedge.Chunks` opens it, and changes it",
    ),
    (
        "not a live one: `everedge ingest` changes it, `everedge seal` makes new files of it",
        "not a live one: `everedge.Chunks` opens it, and changes it",
    ),
    (
        "a sealed graph, which has no versions",
        "a sealed graph, which has no versions: open it with `everedge.Chunks`",
    ),
    ("--src 0 --dst 1 --time 2", "src=0, dst=1, time=2"),
    ("--src 0 --dst 2", "src=0, dst=2"),
    ("--src 0", "src=0"),
    ("the versions keep none: --unweighted", "the versions keep none: weighted=False"),
    ("--time-unit seconds", "time_unit=\"seconds\""),
    ("--time-unit", "time_unit="),
    ("--time", "time="),
    ("--step", "step="),
    ("--operation", "operation="),
    ("--insertions-only", "insertions_only=True"),
    ("--sort", "sort=True"),
    ("--allow-late", "allow_late=True"),
    ("--skip-nulls", "skip_nulls=True"),
    ("--round-weights", "round_weights=True"),
    ("--unweighted", "Graph(weighted=False)"),
    ("--weighted", "Graph(weighted=True)"),
    ("--weight", "weight="),
    ("--ids text", "ids=\"text\""),
    ("--ids integer", "ids=\"integer\""),
    ("--ids map", "ids=\"map\""),
    ("--header no", "header=False"),
    ("--header yes", "header=True"),
    ("--format", "format="),
    ("--delimiter", "delimiter="),
    ("--src", "src="),
    ("--dst", "dst="),
];

/// Returns a message with the names that options have in Python.
fn in_python(message: String) -> String {
    let replace = |text: String, (option, here): (&str, &str)| text.replace(option, here);
    OPTIONS.into_iter().fold(message, replace)
}

/// Returns the exception for an error of the facade.
pub(crate) fn exception(error: Error) -> PyErr {
    let (cause, edges) = match &error {
        Error::Partly { edges, source, .. } | Error::Unclosed { edges, source, .. } => {
            (&**source, *edges)
        }
        Error::Committed { source, .. }
        | Error::PerhapsCommitted { source }
        | Error::PerhapsSealed { source, .. } => (&**source, 0),
        _ => (&error, 0),
    };
    let message = in_python(error.to_string());
    if error.is_interruption() {
        return with_edges(PyKeyboardInterrupt::new_err(message), edges);
    }
    Python::attach(|py| {
        let build = || {
            let exception = instance(py, class_of(cause), &message)?;
            exception.setattr("edges_acknowledged", edges)?;
            if let Some((path, source)) = system_error(cause) {
                exception.setattr("errno", source.raw_os_error())?;
                exception.setattr("filename", path.as_os_str())?;
            }
            PyResult::Ok(PyErr::from_value(exception))
        };
        build().unwrap_or_else(|error| error)
    })
}

/// Returns how many edges were acknowledged before an ingest ended early.
pub(crate) fn edges_acknowledged(error: &Error) -> u64 {
    match error {
        Error::Partly { edges, .. } | Error::Unclosed { edges, .. } => *edges,
        _ => 0,
    }
}

/// Says in an exception how many edges were acknowledged, if it takes attributes.
pub(crate) fn with_edges(exception: PyErr, edges: u64) -> PyErr {
    Python::attach(|py| {
        // One with slots only says nothing more.
        let _ = exception.value(py).setattr("edges_acknowledged", edges);
    });
    exception
}

/// Returns the exception `class` of `everedge` with this message.
pub(crate) fn raised(class: &str, message: &str) -> PyErr {
    Python::attach(|py| instance(py, class, message).map_or_else(|error| error, PyErr::from_value))
}

fn instance<'py>(py: Python<'py>, class: &str, message: &str) -> PyResult<Bound<'py, PyAny>> {
    let message = PyString::new(py, message);
    py.import("everedge._errors")?.getattr(class)?.call1((message,))
}

fn class_of(error: &Error) -> &'static str {
    match error {
        Error::Storage(error) => match error {
            StorageError::Io { .. } => "IoError",
            StorageError::NoSpace { .. } => "NoSpaceError",
            StorageError::Corruption { .. } => "CorruptionError",
            StorageError::Version { .. } => "VersionError",
            StorageError::InUse { .. } => "InUseError",
            StorageError::NotAGraph { .. } => "NotAGraphError",
            StorageError::InvalidInput { .. } => "InvalidInputError",
            StorageError::Poisoned { .. } => "PoisonedError",
            StorageError::ReadOnly { .. } => "ReadOnlyError",
            _ => "EveredgeError",
        },
        Error::File { .. } => "FileError",
        Error::Kernel(_) => "KernelError",
        Error::Conflict { .. } => "ConflictError",
        Error::Io { .. } => "IoError",
        Error::InvalidInput { .. } => "InvalidInputError",
        _ => "EveredgeError",
    }
}

fn system_error(error: &Error) -> Option<(&Path, &io::Error)> {
    match error {
        Error::Io { path, source, .. } | Error::Storage(StorageError::Io { path, source, .. }) => {
            Some((path, source))
        }
        _ => None,
    }
}
