//! Where `--output` of `run` and `window` writes a kernel's answer for each vertex, and how.

use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::str::FromStr;

use anyhow::{Context, Result};
use everedge::{OutputFile, TableFormat, ending_of};

use super::destination::Destination;
use crate::output::{Output, standard_output};

/// Endings of files that `--output` does not write.
const OTHER_FORMATS: [&str; 6] = ["json", "jsonl", "ndjson", "xlsx", "npy", "npz"];

/// Where values go: as lines of text, or as the table that a file's ending says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ValueFile {
    to: Destination,
    format: Option<TableFormat>,
}

/// How values are written to where they go.
pub(crate) enum Form<'a> {
    /// As lines of text.
    Lines(&'a mut dyn Write),
    /// As a table.
    Table(&'a mut (dyn Write + Send), TableFormat),
}

impl FromStr for ValueFile {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let to = Destination::from(OsString::from(word));
        if to == Destination::StandardOutput {
            return Ok(Self { to, format: None });
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
            false => Ok(Self { to, format }),
            true => Err(format!(
                "values are not written as .{ending}: name a file that ends in .csv, .tsv, .parquet or .arrow, or in .txt for \
                 lines of text, or `-` for standard output"
            )),
        }
    }
}

impl ValueFile {
    /// Looks before the work whether the values leave room for what else is printed; returns whether standard output has them.
    ///
    /// # Errors
    /// As [`Destination::check`].
    pub(crate) fn check(values: Option<&Self>, output: Output) -> Result<bool> {
        let Some(Self { to, .. }) = values else { return Ok(false) };
        to.check("the values", output)?;
        Ok(to.is_standard_output())
    }

    /// Writes what `values` writes. A file is there whole or as it was before.
    ///
    /// # Errors
    /// If the destination takes no more.
    pub(crate) fn write(&self, values: impl FnOnce(Form<'_>) -> io::Result<()>) -> Result<()> {
        let cannot = || format!("cannot write to {}", self.to);
        match &self.to {
            Destination::StandardOutput => {
                let mut out = BufWriter::new(standard_output().with_context(cannot)?.lock());
                values(Form::Lines(&mut out)).and_then(|()| out.flush()).with_context(cannot)
            }
            Destination::File(path) => {
                let mut out = OutputFile::create(path)?;
                let form = match self.format {
                    None => Form::Lines(&mut out),
                    Some(format) => Form::Table(&mut out, format),
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
        for word in ["-", "/dev/stdout"] {
            let to = Destination::StandardOutput;
            assert_eq!(word.parse(), Ok(ValueFile { to, format: None }), "{word}");
        }
        for (word, format) in [
            ("ranks", None),
            ("ranks.txt.gz", None),
            ("a.csv/ranks", None),
            ("ranks.CSV", Some(TableFormat::Csv)),
            ("ranks.tsv.zst", Some(TableFormat::Tsv)),
            ("ranks.feather", Some(TableFormat::Arrow)),
            ("ranks.parquet", Some(TableFormat::Parquet)),
        ] {
            let to = Destination::File(word.into());
            assert_eq!(word.parse(), Ok(ValueFile { to, format }), "{word}");
        }
        for word in ["ranks.JSON", "ranks.npy"] {
            assert!(word.parse::<ValueFile>().unwrap_err().contains(".txt for"), "{word}");
        }
        assert!("ranks.parquet.gz".parse::<ValueFile>().unwrap_err().contains("by itself"));
    }
}
