//! Where `everedge run --output` writes a kernel's answer for each vertex.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Result};
use clap::error::ErrorKind;
use everedge::{RunReport, View};

use crate::output::Output;

/// Endings of files whose format is not lines of text.
const OTHER_FORMATS: [&str; 12] = [
    "parquet", "arrow", "feather", "json", "jsonl", "ndjson", "csv", "tsv", "gz", "zst", "bz2",
    "xz",
];

/// A file, or standard output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    StandardOutput,
    File(PathBuf),
}

impl FromStr for Destination {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        if word == "-" {
            return Ok(Self::StandardOutput);
        }
        let path = PathBuf::from(word);
        let ending = path.extension().and_then(|ending| ending.to_str()).map(str::to_lowercase);
        match ending.filter(|ending| OTHER_FORMATS.contains(&ending.as_str())) {
            None => Ok(Self::File(path)),
            Some(ending) => Err(format!(
                "values are written as text, `id value` a line, which is not what .{ending} \
                 promises; name a .txt file, or `-` for standard output"
            )),
        }
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StandardOutput => f.write_str("standard output"),
            Self::File(path) => write!(f, "`{}`", path.display()),
        }
    }
}

impl Destination {
    /// Looks before the work whether the values leave room for what else is printed.
    ///
    /// # Errors
    /// A wrong usage if both the values and one JSON object are to be all of standard output.
    pub(crate) fn check(&self, output: Output) -> Result<()> {
        if *self == Self::StandardOutput && output.json {
            let words = "`--output -` and `--json` both want standard output for themselves; write \
                         the values to a file\n";
            return Err(clap::Error::raw(ErrorKind::ArgumentConflict, words).into());
        }
        Ok(())
    }

    /// Writes the values, `id value` a line. A file is there whole or as it was before.
    ///
    /// # Errors
    /// If the destination takes no more.
    pub(crate) fn write(&self, view: &View, report: &RunReport) -> Result<()> {
        let write = |out: &mut dyn Write| {
            let mut out = BufWriter::new(out);
            report.values.write(view, &mut out)?;
            out.flush()
        };
        let written = match self {
            Self::StandardOutput => write(&mut io::stdout().lock()),
            Self::File(path) => write_aside(path, write),
        };
        written.with_context(|| format!("cannot write to {self}"))
    }
}

/// Writes a file beside `path` and renames it when it is whole. What is there and no file, such as
/// a pipe, is written to directly.
fn write_aside(path: &Path, write: impl Fn(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return write(&mut fs::OpenOptions::new().write(true).open(path)?);
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.partial", std::process::id()));
    let partial = path.with_file_name(name);
    #[expect(clippy::disallowed_methods, reason = "an output file that the user named")]
    let written = File::create(&partial)
        .and_then(|mut file| write(&mut file))
        .and_then(|()| fs::rename(&partial, path));
    if written.is_err() {
        // The error that is returned says more than one about a file that may never have been.
        #[expect(clippy::disallowed_methods, reason = "made above")]
        fs::remove_file(&partial).ok();
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_that_promise_another_format_are_refused() {
        assert_eq!("-".parse(), Ok(Destination::StandardOutput));
        for word in ["ranks", "ranks.txt", "a.b/ranks"] {
            assert_eq!(word.parse(), Ok(Destination::File(word.into())));
        }
        for word in ["ranks.parquet", "ranks.txt.gz", "ranks.JSON"] {
            assert!(word.parse::<Destination>().unwrap_err().contains(".txt file"), "{word}");
        }
    }

    #[test]
    fn a_failed_write_leaves_the_file_as_it_was() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("values.txt");
        write_aside(&path, |out| out.write_all(b"old")).unwrap();
        let fail = |out: &mut dyn Write| out.write_all(b"new").and(Err(io::Error::other("full")));
        assert!(write_aside(&path, fail).is_err());
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(place.path().read_dir().unwrap().count(), 1);
    }
}
