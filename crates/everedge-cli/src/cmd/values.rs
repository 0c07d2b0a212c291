//! Where `--output` of `run` and `window` writes a kernel's answer for each vertex, and how.

use std::fmt;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context, Result};
use clap::error::ErrorKind;
use everedge::{OutputFile, TableFormat, ending_of};

use crate::output::Output;

/// Endings of files that `--output` does not write.
const OTHER_FORMATS: [&str; 6] = ["json", "jsonl", "ndjson", "xlsx", "npy", "npz"];

/// A file, or standard output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    StandardOutput,
    /// A file of lines, or of the table that its ending says.
    File(PathBuf, Option<TableFormat>),
}

/// How values are written to where they go.
pub(crate) enum Form<'a> {
    /// As lines of text.
    Lines(&'a mut dyn Write),
    /// As a table.
    Table(&'a mut (dyn Write + Send), TableFormat),
}

impl FromStr for Destination {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        if word == "-" {
            return Ok(Self::StandardOutput);
        }
        let ending = ending_of(word);
        let format = TableFormat::from_ending(&ending);
        let is_binary = matches!(format, Some(TableFormat::Parquet | TableFormat::Arrow));
        if is_binary && !word.to_ascii_lowercase().ends_with(&ending) {
            return Err(format!(
                ".{ending} is compressed by itself: leave the ending after it out"
            ));
        }
        match OTHER_FORMATS.contains(&ending.as_str()) {
            false => Ok(Self::File(PathBuf::from(word), format)),
            true => Err(format!(
                "values are not written as .{ending}: name a file that ends in .csv, .tsv, .parquet or .arrow, or in .txt for \
                 lines of text, or `-` for standard output"
            )),
        }
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StandardOutput => f.write_str("standard output"),
            Self::File(path, _) => write!(f, "`{}`", path.display()),
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
    pub(crate) fn write(&self, values: impl FnOnce(Form<'_>) -> io::Result<()>) -> Result<()> {
        let cannot = || format!("cannot write to {self}");
        match self {
            Self::StandardOutput => {
                let mut out = BufWriter::new(io::stdout().lock());
                values(Form::Lines(&mut out)).and_then(|()| out.flush()).with_context(cannot)
            }
            Self::File(path, format) => {
                let mut out = OutputFile::create(path)?;
                let form = match format {
                    None => Form::Lines(&mut out),
                    Some(format) => Form::Table(&mut out, *format),
                };
                values(form).with_context(cannot)?;
                out.put_in_place().map(drop).map_err(Into::into)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_what_its_ending_says() {
        assert_eq!("-".parse(), Ok(Destination::StandardOutput));
        for (word, format) in [
            ("ranks", None),
            ("ranks.txt.gz", None),
            ("a.csv/ranks", None),
            ("ranks.CSV", Some(TableFormat::Csv)),
            ("ranks.tsv.zst", Some(TableFormat::Tsv)),
            ("ranks.feather", Some(TableFormat::Arrow)),
            ("ranks.parquet", Some(TableFormat::Parquet)),
        ] {
            assert_eq!(word.parse(), Ok(Destination::File(word.into(), format)), "{word}");
        }
        for word in ["ranks.JSON", "ranks.npy"] {
            assert!(word.parse::<Destination>().unwrap_err().contains(".txt for"), "{word}");
        }
        assert!("ranks.parquet.gz".parse::<Destination>().unwrap_err().contains("by itself"));
    }
}
