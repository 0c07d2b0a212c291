//! Apache Parquet tables of edges: a column of sources, one of destinations, perhaps one of weights.
//!
//! Source: the Apache Parquet format, version 2. Columns are read as
//! `columnar.rs` says. Written tables have the columns `src`, `dst` and `weight`, the
//! ids being INT32 (dense), UINT64 (sparse) or strings, compressed with Zstandard.
//!
//! Parquet keeps its schema at the end, so it is read from an open file and not from a stream.
//! Memory is bounded by the pages of one row group, as the file's writer chose them.
//!
//! # Example
//! ```text
//! src: INT32   dst: INT32   weight: FLOAT
//! 1            2            0.5
//! 2            1            0.25
//! ```
//! is the edges 1→2 of weight 0.5 and 2→1 of weight 0.25.

use std::fmt::Display;
use std::fs::File;
use std::io::Write;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float32Array, Int32Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema};
use everedge_core::{VertexId, par};
use parquet::arrow::ArrowWriter;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use crate::columnar::{self, Wanted};
use crate::ids::{IdColumn, TextIds};
use crate::read::{Declared, Sink, check_counts};
use crate::write::Id;
use crate::{
    Chunk, Column, Columns, Error, Format, Guess, IdKind, Ids, InputChoices, Place, ReadOptions,
    ReadSummary, Result, UpdateChoices, UpdateGuess, WriteOptions,
};

/// How many rows are read, or written, at once.
const BATCH_ROWS: usize = 1 << 16;
/// Bytes of text after which rows are written: a column of it holds less than 2 GiB.
const BATCH_BYTES: usize = 1 << 26;

/// Guesses how to read a Parquet file, from its schema and first rows.
///
/// # Errors
/// [`Error::Syntax`] if it is not a Parquet file, has fewer than two columns, or not those that were
/// chosen.
pub fn probe_parquet(file: File, choices: &InputChoices) -> Result<Guess> {
    let builder = open(file)?;
    let schema = builder.schema().clone();
    columnar::guess(Format::Parquet, &schema, |columns| first(builder, columns), choices)
}

/// Guesses how to read updates from a Parquet file, from its schema and first rows.
///
/// # Errors
/// [`Error::Syntax`] if it is not a Parquet file, has not the columns that were chosen, or no column
/// that holds times.
pub fn probe_parquet_updates(file: File, choices: &UpdateChoices) -> Result<UpdateGuess> {
    let builder = open(file)?;
    let schema = builder.schema().clone();
    columnar::guess_updates(Format::Parquet, &schema, |columns| first(builder, columns), choices)
}

/// Returns some columns of the first rows, in the order of the file.
fn first(
    builder: ParquetRecordBatchReaderBuilder<File>,
    columns: &[usize],
) -> Result<Option<RecordBatch>> {
    match next_batch(&mut project(builder, columns)?)? {
        Some(batch) => Ok(Some(batch)),
        None => Ok(Some(RecordBatch::new_empty(Arc::new(Schema::empty())))),
    }
}

/// Reads the edges of a Parquet file, as [`read_edges`](crate::read_edges) does for other formats.
///
/// Positions are rows; a chunk's `bytes_read` is its share of the rows times the file's length.
///
/// # Errors
/// As for `read_edges`.
pub fn read_parquet<E: From<Error> + Send>(
    file: File,
    options: &ReadOptions,
    mut sink: impl FnMut(Chunk) -> Result<(), E> + Send,
) -> Result<ReadSummary, E> {
    read(file, options.ids, |schema| Wanted::find(schema, options), &mut sink)
}

/// Reads one column of a Parquet file as ids, some at a time; positions are as in [`read_parquet`].
///
/// # Errors
/// As of `read_parquet`; [`Error::NoEdges`] if there are no rows.
pub fn read_parquet_ids<E: From<Error> + Send>(
    file: File,
    column: &str,
    ids: IdKind,
    mut sink: impl FnMut(Ids) -> Result<(), E> + Send,
) -> Result<ReadSummary, E> {
    // As an edge from each id to itself.
    let [src, dst] = [(); 2].map(|()| Column::Name(column.to_owned()));
    let columns = Columns { src, dst, ..Columns::default() };
    let options =
        ReadOptions { ids, literal_ids: true, columns, ..ReadOptions::new(Format::Parquet) };
    read_parquet(file, &options, |chunk| sink(chunk.src))
}

/// Reads one column of a Parquet file as weights, all of it.
///
/// # Errors
/// As of [`read_parquet`].
pub fn read_parquet_weights(file: File, column: &str, options: &ReadOptions) -> Result<Vec<f32>> {
    let builder = open(file)?;
    let names = builder.schema().fields().iter();
    let Some(idx) = names.into_iter().position(|field| field.name() == column) else {
        return Err(damaged(format!("it has no column {column:?}")));
    };
    let (mut batches, mut weights) = (project(builder, &[idx])?, Vec::new());
    while let Some(batch) = next_batch(&mut batches)? {
        weights.extend(columnar::weights_in(batch.column(0), options, weights.len() as u64)?);
    }
    Ok(weights)
}

/// Reads the edges of a Parquet file from the columns that `find` returns.
pub(crate) fn read<E: From<Error> + Send>(
    file: File,
    ids: IdKind,
    find: impl FnOnce(&Schema) -> Result<Wanted>,
    sink: &mut Sink<'_, E>,
) -> Result<ReadSummary, E> {
    match ids {
        IdKind::Dense => read_as::<Vec<VertexId>, E>(file, find, sink),
        IdKind::Sparse => read_as::<Vec<u64>, E>(file, find, sink),
        IdKind::Text => read_as::<TextIds, E>(file, find, sink),
    }
}

fn read_as<C: IdColumn, E: From<Error> + Send>(
    file: File,
    find: impl FnOnce(&Schema) -> Result<Wanted>,
    sink: &mut Sink<'_, E>,
) -> Result<ReadSummary, E> {
    let file_bytes = file.metadata().map_err(Error::Io)?.len();
    let builder = open(file)?;
    let row_count = u64::try_from(builder.metadata().file_metadata().num_rows()).unwrap_or(0);
    let wanted = find(builder.schema())?;
    let mut batches = project(builder, &wanted.columns())?;
    let wanted = wanted.projected();
    let (mut rows, mut summary) = (0, ReadSummary::default());
    let mut chunk: Option<Chunk> = None;
    loop {
        let hand_on = || {
            chunk.take().map_or(Ok(()), |chunk| {
                summary.take(&chunk);
                sink(chunk)
            })
        };
        let (handed_on, next) = par::beside(hand_on, || next_batch(&mut batches));
        handed_on?;
        let Some(batch) = next? else { break };
        let edges = columnar::take_edges::<C>(&batch, &wanted, rows)?;
        let place = Place::Row(1 + rows);
        rows += batch.num_rows() as u64;
        let share = rows as f64 / row_count.max(rows).max(1) as f64;
        chunk = Some(edges.into_chunk(place, (file_bytes as f64 * share) as u64));
    }
    let summary = ReadSummary { bytes: file_bytes, ..summary };
    Ok(check_counts(summary, Declared::default())?)
}

/// Reads the schema and checks that all columns lie inside of the file.
fn open(file: File) -> Result<ParquetRecordBatchReaderBuilder<File>> {
    let file_bytes = file.metadata()?.len();
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let builder = decode(|| ParquetRecordBatchReaderBuilder::try_new_with_options(file, options))?;
    let groups = builder.metadata().row_groups().iter();
    for column in groups.flat_map(|group| group.columns()) {
        let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
        let end = start.checked_add(column.compressed_size());
        let is_inside =
            start >= 0 && end.is_some_and(|end| (start..=file_bytes as i64).contains(&end));
        if !is_inside {
            return Err(damaged("a column lies outside of the file"));
        }
    }
    Ok(builder)
}

/// Reads some of the columns, in the order of the file.
fn project(
    builder: ParquetRecordBatchReaderBuilder<File>,
    columns: &[usize],
) -> Result<ParquetRecordBatchReader> {
    let mask = ProjectionMask::roots(builder.parquet_schema(), columns.iter().copied());
    decode(|| builder.with_projection(mask).with_batch_size(BATCH_ROWS).build())
}

/// Reads the next rows, if there are any.
fn next_batch(batches: &mut ParquetRecordBatchReader) -> Result<Option<RecordBatch>> {
    decode(|| Ok(batches.next().transpose()?))
}

fn decode<T>(decoder: impl FnOnce() -> Result<T, ParquetError>) -> Result<T> {
    columnar::catch(decoder, damaged)
}

fn damaged(reason: impl Display) -> Error {
    let reason = reason.to_string();
    let reason = reason.strip_prefix("External: ").unwrap_or(&reason);
    if reason.starts_with("NYI") || reason.contains("Disabled feature") {
        let what = format!("this Parquet file needs what is not read here: {reason}");
        let hint = Some("write it again with Zstandard, Snappy or no compression");
        return Error::Syntax { place: Place::Whole, what, hint };
    }
    let what = format!("this is no whole Parquet file: {reason}");
    Error::Syntax { place: Place::Whole, what, hint: Some("is the file complete?") }
}

/// Writes edges as a table, a batch of rows at a time.
pub(crate) struct TableWriter<W: Write + Send> {
    schema: Arc<Schema>,
    writer: ArrowWriter<W>,
    src: IdBuffer,
    dst: IdBuffer,
    weights: Option<Vec<f32>>,
    /// Bytes of the text that waits in `src` and `dst`.
    text_bytes: usize,
}

impl<W: Write + Send> TableWriter<W> {
    pub(crate) fn new(out: W, options: &WriteOptions) -> Result<Self> {
        let (src, dst) = (IdBuffer::new(options.ids), IdBuffer::new(options.ids));
        let mut fields = vec![
            Field::new("src", src.data_type(), false),
            Field::new("dst", dst.data_type(), false),
        ];
        if options.weighted {
            fields.push(Field::new("weight", DataType::Float32, false));
        }
        let compression = Compression::ZSTD(ZstdLevel::default());
        let properties = WriterProperties::builder().set_compression(compression).build();
        let schema = Arc::new(Schema::new(fields));
        let writer = ArrowWriter::try_new(out, Arc::clone(&schema), Some(properties));
        let writer = writer.map_err(write_error)?;
        let weights = options.weighted.then(Vec::new);
        Ok(Self { schema, writer, src, dst, weights, text_bytes: 0 })
    }

    pub(crate) fn write(&mut self, src: Id<'_>, dst: Id<'_>, weight: f32) -> Result<()> {
        self.text_bytes += text_bytes(src) + text_bytes(dst);
        self.src.push(src);
        self.dst.push(dst);
        self.weights.iter_mut().for_each(|weights| weights.push(weight));
        let is_full = self.src.len() == BATCH_ROWS || self.text_bytes >= BATCH_BYTES;
        if is_full { self.write_batch() } else { Ok(()) }
    }

    pub(crate) fn finish(mut self) -> Result<W> {
        self.write_batch()?;
        self.writer.into_inner().map_err(write_error)
    }

    fn write_batch(&mut self) -> Result<()> {
        self.text_bytes = 0;
        let mut columns = vec![self.src.take(), self.dst.take()];
        if let Some(weights) = &mut self.weights {
            columns.push(Arc::new(Float32Array::from(std::mem::take(weights))));
        }
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns)
            .map_err(|error| write_error(error.into()))?;
        self.writer.write(&batch).map_err(write_error)
    }
}

fn text_bytes(id: Id<'_>) -> usize {
    match id {
        Id::Number(_) => 0,
        Id::Text(text) => text.len(),
    }
}

pub(crate) fn write_error(error: ParquetError) -> Error {
    match error {
        ParquetError::External(source) => match source.downcast::<std::io::Error>() {
            Ok(source) => Error::Io(*source),
            Err(source) => Error::Io(std::io::Error::other(source)),
        },
        other => Error::Io(std::io::Error::other(other)),
    }
}

/// A column of ids that is being filled.
enum IdBuffer {
    Dense(Vec<i32>),
    Sparse(Vec<u64>),
    Text(Vec<String>),
}

impl IdBuffer {
    fn new(kind: IdKind) -> Self {
        match kind {
            IdKind::Dense => IdBuffer::Dense(Vec::new()),
            IdKind::Sparse => IdBuffer::Sparse(Vec::new()),
            IdKind::Text => IdBuffer::Text(Vec::new()),
        }
    }

    fn data_type(&self) -> DataType {
        match self {
            IdBuffer::Dense(_) => DataType::Int32,
            IdBuffer::Sparse(_) => DataType::UInt64,
            IdBuffer::Text(_) => DataType::Utf8,
        }
    }

    /// Appends an id, which [`EdgeWriter`](crate::EdgeWriter) has checked to be of this kind.
    fn push(&mut self, id: Id<'_>) {
        match (self, id) {
            (IdBuffer::Dense(ids), Id::Number(id)) => ids.push(id as i32),
            (IdBuffer::Sparse(ids), Id::Number(id)) => ids.push(id),
            (IdBuffer::Text(ids), Id::Text(id)) => ids.push(id.to_owned()),
            _ => unreachable!("an id was checked to be of the kind of its column"),
        }
    }

    fn len(&self) -> usize {
        match self {
            IdBuffer::Dense(ids) => ids.len(),
            IdBuffer::Sparse(ids) => ids.len(),
            IdBuffer::Text(ids) => ids.len(),
        }
    }

    fn take(&mut self) -> ArrayRef {
        match self {
            IdBuffer::Dense(ids) => Arc::new(Int32Array::from(std::mem::take(ids))),
            IdBuffer::Sparse(ids) => Arc::new(UInt64Array::from(std::mem::take(ids))),
            IdBuffer::Text(ids) => Arc::new(StringArray::from(std::mem::take(ids))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_do_not_wait_for_many_rows() {
        let options = WriteOptions {
            format: Format::Parquet,
            ids: IdKind::Text,
            directed: true,
            weighted: false,
            vertex_bound: 1,
            edge_count: 1500,
            id_shift: 0,
        };
        let mut writer = TableWriter::new(std::io::sink(), &options).unwrap();
        let name = "n".repeat(1 << 16);
        for _ in 0..1500 {
            writer.write(Id::Text(&name), Id::Text("m"), 1.0).unwrap();
            assert!(writer.src.len() < BATCH_BYTES / name.len());
        }
        writer.finish().unwrap();
    }
}
