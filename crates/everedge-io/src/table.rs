//! Tables of results: columns with names, written in the formats that data frames are read from.

use std::io::{BufWriter, Write};
use std::sync::Arc;

use arrow_array::{ArrayRef, Float32Array, Float64Array, RecordBatch, StringArray, UInt64Array};
use arrow_ipc::writer::FileWriter;
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use crate::{Result, csv};

/// A format of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableFormat {
    /// Text with commas, and names in the first row; what is missing is empty.
    Csv,
    /// The same with tabs.
    Tsv,
    /// Parquet, compressed with Zstandard.
    Parquet,
    /// A file of Arrow record batches, also called Feather.
    Arrow,
}

impl TableFormat {
    /// Every format.
    pub const ALL: [Self; 4] = [Self::Csv, Self::Tsv, Self::Parquet, Self::Arrow];

    /// Returns the endings of its files; the first is the common one.
    pub const fn endings(self) -> &'static [&'static str] {
        match self {
            Self::Csv => &["csv"],
            Self::Tsv => &["tsv"],
            Self::Parquet => &["parquet"],
            Self::Arrow => &["arrow", "feather"],
        }
    }

    /// Returns the format whose files end so.
    pub fn from_ending(ending: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.endings().contains(&ending))
    }
}

/// Some rows of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Cells {
    /// Whole numbers.
    Numbers(Vec<Option<u64>>),
    /// Numbers of single precision.
    Singles(Vec<f32>),
    /// Numbers of double precision.
    Reals(Vec<f64>),
    /// Texts.
    Texts(Vec<Option<String>>),
}

impl Cells {
    fn data_type(&self) -> DataType {
        match self {
            Self::Numbers(_) => DataType::UInt64,
            Self::Singles(_) => DataType::Float32,
            Self::Reals(_) => DataType::Float64,
            Self::Texts(_) => DataType::Utf8,
        }
    }

    fn into_array(self) -> ArrayRef {
        match self {
            Self::Numbers(cells) => Arc::new(UInt64Array::from(cells)),
            Self::Singles(cells) => Arc::new(Float32Array::from(cells)),
            Self::Reals(cells) => Arc::new(Float64Array::from(cells)),
            Self::Texts(cells) => Arc::new(StringArray::from(cells)),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Numbers(cells) => cells.len(),
            Self::Singles(cells) => cells.len(),
            Self::Reals(cells) => cells.len(),
            Self::Texts(cells) => cells.len(),
        }
    }

    fn write(&self, row: usize, delimiter: u8, out: &mut impl Write) -> Result<()> {
        match self {
            Self::Numbers(cells) => cells[row].map_or(Ok(()), |cell| write!(out, "{cell}"))?,
            Self::Singles(cells) => write!(out, "{}", cells[row])?,
            Self::Reals(cells) => write!(out, "{}", Real(cells[row]))?,
            Self::Texts(cells) => {
                if let Some(cell) = &cells[row] {
                    out.write_all(&csv::quoted(cell, delimiter))?;
                }
            }
        }
        Ok(())
    }
}

/// A number as people and programs read it: with an exponent only where it would have many zeros.
#[derive(Clone, Copy, Debug)]
pub struct Real(pub f64);

impl std::fmt::Display for Real {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let size = self.0.abs();
        match size == 0.0 || !size.is_finite() || (1e-5..1e16).contains(&size) {
            true => write!(f, "{}", self.0),
            false => write!(f, "{:e}", self.0),
        }
    }
}

/// Writes a table, some rows at a time.
///
/// # Example
/// ```
/// use everedge_io::{Cells, TableFormat, TableWriter};
/// let mut table = TableWriter::new(Vec::new(), TableFormat::Csv, &["id", "value"]);
/// table.write(vec![Cells::Numbers(vec![Some(7), None]), Cells::Reals(vec![118.0, 1e-9])])?;
/// assert_eq!(table.finish()?, b"id,value\n7,118\n,1e-9\n");
/// # Ok::<(), everedge_io::Error>(())
/// ```
pub struct TableWriter<W: Write + Send> {
    names: &'static [&'static str],
    output: Output<W>,
}

enum Output<W: Write + Send> {
    Rows(BufWriter<W>, u8, bool),
    /// What is written to is not begun before the first rows: they say what the columns hold.
    Waiting(W, TableFormat),
    Parquet(Box<ArrowWriter<W>>),
    Arrow(Box<FileWriter<W>>),
    /// After an error.
    Broken,
}

impl<W: Write + Send> TableWriter<W> {
    /// Starts a table with columns of these names.
    pub fn new(out: W, format: TableFormat, names: &'static [&'static str]) -> Self {
        let output = match format {
            TableFormat::Csv => Output::Rows(BufWriter::new(out), b',', true),
            TableFormat::Tsv => Output::Rows(BufWriter::new(out), b'\t', true),
            _ => Output::Waiting(out, format),
        };
        Self { names, output }
    }

    /// Writes rows: of each column as many cells, of the same kind each time.
    ///
    /// # Errors
    /// If what is written to fails.
    pub fn write(&mut self, columns: Vec<Cells>) -> Result<()> {
        if let Output::Rows(out, delimiter, is_first) = &mut self.output {
            if std::mem::take(is_first) {
                write_names(out, self.names, *delimiter)?;
            }
            for row in 0..columns.first().map_or(0, Cells::len) {
                for (number, column) in columns.iter().enumerate() {
                    if number > 0 {
                        out.write_all(&[*delimiter])?;
                    }
                    column.write(row, *delimiter, out)?;
                }
                out.write_all(b"\n")?;
            }
            return Ok(());
        }
        let field = |(name, cells): (&&str, &Cells)| Field::new(*name, cells.data_type(), true);
        let schema = Schema::new(self.names.iter().zip(&columns).map(field).collect::<Vec<_>>());
        let schema = Arc::new(schema);
        self.begin(&schema)?;
        let arrays = columns.into_iter().map(Cells::into_array).collect();
        let batch = RecordBatch::try_new(schema, arrays).map_err(failed)?;
        match &mut self.output {
            Output::Parquet(writer) => writer.write(&batch).map_err(failed),
            Output::Arrow(writer) => writer.write(&batch).map_err(failed),
            _ => unreachable!("it was begun"),
        }
    }

    fn begin(&mut self, schema: &Arc<Schema>) -> Result<()> {
        if !matches!(self.output, Output::Waiting(..)) {
            return Ok(());
        }
        let Output::Waiting(out, format) = std::mem::replace(&mut self.output, Output::Broken)
        else {
            return Ok(());
        };
        self.output = match format {
            TableFormat::Parquet => {
                let compression = Compression::ZSTD(ZstdLevel::default());
                let properties = WriterProperties::builder().set_compression(compression).build();
                let writer = ArrowWriter::try_new(out, Arc::clone(schema), Some(properties));
                Output::Parquet(Box::new(writer.map_err(failed)?))
            }
            _ => Output::Arrow(Box::new(FileWriter::try_new(out, schema).map_err(failed)?)),
        };
        Ok(())
    }

    /// Writes the end of the table and returns what it was written to.
    ///
    /// # Errors
    /// If that fails.
    pub fn finish(mut self) -> Result<W> {
        if matches!(self.output, Output::Waiting(..)) {
            let kinds = self.names.iter().map(|_| Cells::Numbers(Vec::new())).collect();
            self.write(kinds)?;
        }
        match self.output {
            Output::Rows(mut out, delimiter, is_first) => {
                if is_first {
                    write_names(&mut out, self.names, delimiter)?;
                }
                Ok(out.into_inner().map_err(|error| error.into_error())?)
            }
            Output::Parquet(writer) => writer.into_inner().map_err(failed),
            Output::Arrow(mut writer) => {
                writer.finish().map_err(failed)?;
                writer.into_inner().map_err(failed)
            }
            Output::Waiting(..) | Output::Broken => Err(failed("a table that failed before")),
        }
    }
}

fn write_names(out: &mut impl Write, names: &[&str], delimiter: u8) -> Result<()> {
    let line = names.join(&char::from(delimiter).to_string());
    Ok(writeln!(out, "{line}")?)
}

/// Returns the error of what is written to, or what else was wrong.
fn failed(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> crate::Error {
    std::io::Error::other(error).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::Array;
    use arrow_ipc::reader::FileReader;
    use std::io::Cursor;

    fn columns() -> Vec<Cells> {
        let name = |name: &str| Some(name.to_owned());
        vec![
            Cells::Texts(vec![name("a,b"), name("c"), None]),
            Cells::Numbers(vec![Some(1), None, Some(u64::MAX)]),
            Cells::Reals(vec![0.5, f64::INFINITY, 1e300]),
        ]
    }

    const NAMES: &[&str] = &["id", "depth", "value"];

    fn written(format: TableFormat) -> Vec<u8> {
        let mut table = TableWriter::new(Vec::new(), format, NAMES);
        table.write(columns()).unwrap();
        table.write(columns()).unwrap();
        table.finish().unwrap()
    }

    #[test]
    fn rows_of_text_have_names_and_quotes() {
        let text = String::from_utf8(written(TableFormat::Csv)).unwrap();
        let rows = "\"a,b\",1,0.5\nc,,inf\n,18446744073709551615,1e300\n";
        assert_eq!(text, format!("id,depth,value\n{rows}{rows}"));
        let text = String::from_utf8(written(TableFormat::Tsv)).unwrap();
        assert!(text.starts_with("id\tdepth\tvalue\na,b\t1\t0.5\n"), "{text}");
    }

    #[test]
    fn batches_are_read_back() {
        let check = |batch: RecordBatch| {
            let names: Vec<_> = batch.schema().fields().iter().map(|f| f.name().clone()).collect();
            assert_eq!((names, batch.num_rows()), (NAMES.iter().map(|&n| n.into()).collect(), 3));
            assert!(batch.column(0).is_null(2) && batch.column(1).is_null(1));
        };
        let arrow = FileReader::try_new(Cursor::new(written(TableFormat::Arrow)), None).unwrap();
        assert_eq!(arrow.map(|batch| check(batch.unwrap())).count(), 2);
    }

    #[test]
    fn a_table_without_rows_has_columns() {
        for format in TableFormat::ALL {
            let bytes = TableWriter::new(Vec::new(), format, NAMES).finish().unwrap();
            let holds = |name: &str| bytes.windows(name.len()).any(|at| at == name.as_bytes());
            assert!(NAMES.iter().all(|name| holds(name)), "{format:?}");
        }
    }

    #[test]
    fn numbers_have_an_exponent_where_they_are_very_large_or_small() {
        let shown =
            [0.0, 118.0, 1e-5, 1.5e-6, 1e15, 1e16, f64::INFINITY].map(|v| Real(v).to_string());
        let expected = ["0", "118", "0.00001", "1.5e-6", "1000000000000000", "1e16", "inf"];
        assert_eq!(shown, expected);
    }
}
