//! Which files a call means: files, directories and patterns.

use std::path::{Path, PathBuf};

use everedge_io::{Compression, Format};

use crate::input::STDIN;
use crate::{Error, Result};

/// Returns the files that `paths` name, in their order: a directory stands for the files in and below
/// it that have the ending of a format, a pattern such as `part-*.csv` for what it matches, both
/// sorted by name.
///
/// # Errors
/// If a directory or a pattern gives no file, or cannot be read.
pub(crate) fn expand(paths: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        if path.as_os_str() == STDIN {
            files.push(path.clone());
        } else if path.is_dir() {
            add_directory(path, &mut files)?;
        } else if path.exists() {
            files.push(path.clone());
        } else {
            add_matches(path, &mut files)?;
        }
    }
    Ok(files)
}

fn add_directory(path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let count = files.len();
    walk(path, files)?;
    if files.len() == count {
        let path = path.display();
        return Err(Error::invalid(format!(
            "the directory `{path}` holds no file with the ending of a format; name the files in it"
        )));
    }
    Ok(())
}

fn walk(path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let entries = path.read_dir().map_err(|e| Error::io(path, "read", e))?;
    let mut paths = Vec::new();
    for entry in entries {
        paths.push(entry.map_err(|e| Error::io(path, "read", e))?.path());
    }
    paths.sort_unstable();
    for path in paths {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        // Hidden files, and the marks that other programs leave beside their parts.
        if name.starts_with(['.', '_']) {
            continue;
        }
        if path.is_dir() {
            walk(&path, files)?;
        } else if has_format(&name) {
            files.push(path);
        }
    }
    Ok(())
}

/// Returns whether a name ends as files of a format or archives of them do.
fn has_format(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let (_, stem) = Compression::of_name(&name);
    let ending = stem.rsplit_once('.').map_or("", |(_, ending)| ending);
    Format::from_ending(ending).is_some() || matches!(ending, "tar" | "tgz")
}

fn add_matches(path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let pattern = path.to_str().filter(|text| text.contains(['*', '?', '[']));
    let Some(pattern) = pattern else {
        // Opening it says what is wrong.
        files.push(path.to_owned());
        return Ok(());
    };
    // As in a shell, a star finds no hidden file.
    let options = glob::MatchOptions { require_literal_leading_dot: true, ..Default::default() };
    let matches = glob::glob_with(pattern, options)
        .map_err(|error| Error::invalid(format!("the pattern `{pattern}`: {error}")))?;
    let count = files.len();
    for found in matches {
        let found = found.map_err(|error| {
            let path = error.path().to_owned();
            Error::io(&path, "read", error.into())
        })?;
        match found.is_dir() {
            true => add_directory(&found, files)?,
            false => files.push(found),
        }
    }
    if files.len() == count {
        return Err(Error::invalid(format!("no file matches `{pattern}`")));
    }
    Ok(())
}
