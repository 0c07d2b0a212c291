//! Where `--output` of `run` and `window` writes a kernel's answer for each vertex.

use std::fmt;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context, Result};
use clap::error::ErrorKind;
use everedge::OutputFile;

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
                "values are written as text, one a line, which is not what .{ending} \
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

    /// Writes what `values` writes. A file is there whole or as it was before.
    ///
    /// # Errors
    /// If the destination takes no more.
    pub(crate) fn write(
        &self,
        values: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<()> {
        let cannot = || format!("cannot write to {self}");
        match self {
            Self::StandardOutput => {
                let mut out = BufWriter::new(io::stdout().lock());
                values(&mut out).and_then(|()| out.flush()).with_context(cannot)
            }
            Self::File(path) => {
                let mut out = OutputFile::create(path)?;
                values(&mut out).with_context(cannot)?;
                out.put_in_place().map(drop).map_err(Into::into)
            }
        }
    }
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
}
