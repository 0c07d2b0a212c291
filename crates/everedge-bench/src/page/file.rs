//! Where the page of a measurement is written.

use std::path::Path;

use anyhow::{Context, Result, ensure};

/// Looks now whether the report can be written: not after an hour of measurements.
///
/// # Errors
/// If it cannot.
pub(crate) fn check_place(path: &Path) -> Result<()> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    ensure!(
        directory.is_dir() && !path.is_dir(),
        "`{}` is not the name of a file in a directory; choose another one with --report",
        path.display()
    );
    Ok(())
}

/// Writes the page.
///
/// # Errors
/// If the file cannot be written.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    #[expect(clippy::disallowed_methods, reason = "an output file that the user named")]
    let written = std::fs::write(path, text);
    written.with_context(|| {
        format!("cannot write `{}`; choose another file with --report", path.display())
    })
}
