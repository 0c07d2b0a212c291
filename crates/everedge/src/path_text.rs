//! Paths in reports: as text, whatever bytes they are of.

use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};

/// Serializes a path; what is not UTF-8 in it becomes U+FFFD.
pub(crate) fn path<S: Serializer>(path: &Path, out: S) -> Result<S::Ok, S::Error> {
    path.to_string_lossy().serialize(out)
}

/// Serializes paths as [`path`] does.
pub(crate) fn paths<S: Serializer>(paths: &[PathBuf], out: S) -> Result<S::Ok, S::Error> {
    out.collect_seq(paths.iter().map(|path| path.to_string_lossy()))
}

/// Serializes pairs of a path, as [`path`] does, and what belongs to it.
pub(crate) fn pairs<T: Serialize, S: Serializer>(
    pairs: &[(PathBuf, T)],
    out: S,
) -> Result<S::Ok, S::Error> {
    out.collect_seq(pairs.iter().map(|(path, of_it)| (path.to_string_lossy(), of_it)))
}
