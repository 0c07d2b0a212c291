//! Apache Parquet tables of edges: a column of sources, one of destinations, perhaps one of weights.
//!
//! Source: the Apache Parquet format, version 2. Ids may be integers of any width or strings; weights
//! any numbers; nulls are refused. Written tables have the columns `src`, `dst` and `weight`, the
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
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::array::{Float32Array, Int32Array, StringArray, UInt64Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, Float32Type, Int64Type, Schema, UInt64Type};
use everedge_core::{VertexId, par};
use parquet::arrow::ArrowWriter;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use crate::csv::find_pair;
use crate::error::Fault;
use crate::ids::{IdColumn, TextIds};
use crate::probe::{GuessedColumn, Sample};
use crate::read::{Declared, Edges, check_counts};
use crate::write::Id;
use crate::{
    Chunk, Column, Error, Format, Guess, IdKind, Place, ReadOptions, ReadSummary, Result,
    WriteOptions,
};

/// How many rows are read, or written, at once.
const BATCH_ROWS: usize = 1 << 16;

/// Guesses how to read a Parquet file, from its schema and first rows.
///
/// # Errors
/// [`Error::Syntax`] if it is not a Parquet file or has fewer than two columns.
pub fn probe_parquet(file: File) -> Result<Guess> {
    let builder = open(file)?;
    let fields = builder.schema().fields();
    let names: Vec<String> = fields.iter().map(|field| field.name().clone()).collect();
    let columns = fields.iter().map(|field| GuessedColumn {
        name: Some(field.name().clone()),
        is_numeric: field.data_type().is_numeric(),
    });
    let columns: Vec<GuessedColumn> = columns.collect();
    if columns.len() < 2 {
        return Err(syntax(Place::Whole, "there is no second column for destinations"));
    }
    let (src, dst) = find_pair(&names).unwrap_or((0, 1));
    let mut sample = Sample::default();
    if let Some(batch) = next_batch(&mut project(builder, &[src, dst])?)? {
        for ids in batch.columns() {
            let ids: TextIds = take_ids(ids).map_err(|fault| row_error(fault, 0))?;
            ids.iter().for_each(|id| sample.add_id(id));
        }
    }
    let guess = Guess::of(Format::Parquet);
    Ok(Guess { ids: sample.ids(), columns, has_header: true, src, dst, ..guess })
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
    match options.ids {
        IdKind::Dense => read_as::<Vec<VertexId>, E>(file, options, &mut sink),
        IdKind::Sparse => read_as::<Vec<u64>, E>(file, options, &mut sink),
        IdKind::Text => read_as::<TextIds, E>(file, options, &mut sink),
    }
}

fn read_as<C: IdColumn, E: From<Error> + Send>(
    file: File,
    options: &ReadOptions,
    sink: &mut (dyn FnMut(Chunk) -> Result<(), E> + Send),
) -> Result<ReadSummary, E> {
    let file_bytes = file.metadata().map_err(Error::Io)?.len();
    let builder = open(file)?;
    let row_count = u64::try_from(builder.metadata().file_metadata().num_rows()).unwrap_or(0);
    let wanted = find_columns(builder.schema(), options)?;
    let mut batches = project(builder, &wanted)?;
    let mut rows = 0;
    let mut chunk = None;
    loop {
        let hand_on = || chunk.take().map_or(Ok(()), &mut *sink);
        let (handed_on, next) = par::beside(hand_on, || next_batch(&mut batches));
        handed_on?;
        let Some(batch) = next? else { break };
        let edges = take_edges::<C>(&batch, &wanted).map_err(|fault| row_error(fault, rows))?;
        let place = Place::Row(1 + rows);
        rows += batch.num_rows() as u64;
        let share = rows as f64 / row_count.max(rows).max(1) as f64;
        chunk = Some(edges.into_chunk(place, (file_bytes as f64 * share) as u64));
    }
    let summary = ReadSummary { edges: rows, bytes: file_bytes, vertices: None };
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

/// Runs the decoder of the `parquet` crate, which answers some damaged files with a panic.
fn decode<T>(decoder: impl FnOnce() -> Result<T, ParquetError>) -> Result<T> {
    let result = panic::catch_unwind(AssertUnwindSafe(decoder));
    result
        .unwrap_or_else(|_| Err(ParquetError::General("its pages contradict it".to_owned())))
        .map_err(damaged)
}

/// Returns where sources, destinations and, if they are asked for, weights stand.
fn find_columns(schema: &Schema, options: &ReadOptions) -> Result<Vec<usize>> {
    let columns = &options.columns;
    let weight = options.weighted.then_some(&columns.weight);
    let wanted = [&columns.src, &columns.dst].into_iter().chain(weight);
    let find = |column: &Column| {
        let found = match column {
            Column::Index(idx) => Some(*idx).filter(|idx| *idx < schema.fields().len()),
            Column::Name(name) => schema.index_of(name).ok(),
        };
        found.ok_or_else(|| {
            let names: Vec<&str> = schema.fields().iter().map(|f| f.name().as_str()).collect();
            syntax(Place::Whole, format!("there is no {column:?} among {names:?}"))
        })
    };
    wanted.map(find).collect()
}

fn take_edges<C: IdColumn>(batch: &RecordBatch, wanted: &[usize]) -> Result<Edges<C>, Fault> {
    let mut in_file_order = wanted.to_vec();
    in_file_order.sort_unstable();
    in_file_order.dedup();
    let column = |idx: usize| {
        let place = in_file_order.binary_search(&idx).ok().filter(|at| *at < batch.num_columns());
        place.map(|at| batch.column(at)).ok_or_else(|| Fault::new(0, "a column is missing"))
    };
    let (src, dst) = (take_ids(column(wanted[0])?)?, take_ids(column(wanted[1])?)?);
    let weights = wanted.get(2).map(|&idx| take_weights(column(idx)?)).transpose()?;
    Ok(Edges { src, dst, weights })
}

/// Reads a column of ids; a fault's position is a row.
fn take_ids<C: IdColumn>(array: &ArrayRef) -> Result<C, Fault> {
    check_no_null(array)?;
    let mut ids = C::default();
    let kind = array.data_type();
    let wrong_kind = || Fault::new(0, format!("a column of {kind} is neither integers nor text"));
    let at_row = |row: usize| move |fault: Fault| Fault { at: row, ..fault };
    if let Some(numbers) = array.as_primitive_opt::<UInt64Type>() {
        for (row, &id) in numbers.values().iter().enumerate() {
            ids.push_number(id).map_err(at_row(row))?;
        }
    } else if kind.is_integer() {
        let numbers = cast(array, &DataType::Int64).map_err(|_| wrong_kind())?;
        for (row, &id) in numbers.as_primitive::<Int64Type>().values().iter().enumerate() {
            let id = u64::try_from(id)
                .map_err(|_| Fault::new(row, format!("the id {id} is negative")))?;
            ids.push_number(id).map_err(at_row(row))?;
        }
    } else if matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) {
        let texts = cast(array, &DataType::LargeUtf8).map_err(|_| wrong_kind())?;
        for (row, id) in texts.as_string::<i64>().iter().enumerate() {
            ids.push_field(id.unwrap_or_default().as_bytes()).map_err(at_row(row))?;
        }
    } else {
        return Err(wrong_kind());
    }
    Ok(ids)
}

fn take_weights(array: &ArrayRef) -> Result<Vec<f32>, Fault> {
    check_no_null(array)?;
    let wrong_kind =
        || Fault::new(0, format!("a column of {} holds no weights", array.data_type()));
    if !array.data_type().is_numeric() {
        return Err(wrong_kind());
    }
    let weights = cast(array, &DataType::Float32).map_err(|_| wrong_kind())?;
    let weights = weights.as_primitive::<Float32Type>().values().to_vec();
    match weights.iter().position(|weight| !weight.is_finite()) {
        Some(row) => Err(Fault::new(row, "the weight is not a finite 32-bit number")),
        None => Ok(weights),
    }
}

fn check_no_null(array: &ArrayRef) -> Result<(), Fault> {
    match (0..array.len()).find(|&row| array.null_count() > 0 && array.is_null(row)) {
        Some(row) => Err(Fault::new(row, "an id or a weight is null")),
        None => Ok(()),
    }
}

fn row_error(fault: Fault, rows_before: u64) -> Error {
    let place = Place::Row(1 + rows_before + fault.at as u64);
    fault.into_error(place)
}

fn syntax(place: Place, what: impl Into<String>) -> Error {
    Error::Syntax { place, what: what.into(), hint: None }
}

fn damaged(reason: impl Display) -> Error {
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
        Ok(Self { schema, writer, src, dst, weights: options.weighted.then(Vec::new) })
    }

    pub(crate) fn write(&mut self, src: Id<'_>, dst: Id<'_>, weight: f32) -> Result<()> {
        self.src.push(src);
        self.dst.push(dst);
        self.weights.iter_mut().for_each(|weights| weights.push(weight));
        if self.src.len() == BATCH_ROWS { self.write_batch() } else { Ok(()) }
    }

    pub(crate) fn finish(mut self) -> Result<W> {
        self.write_batch()?;
        self.writer.into_inner().map_err(write_error)
    }

    fn write_batch(&mut self) -> Result<()> {
        let mut columns = vec![self.src.take(), self.dst.take()];
        if let Some(weights) = &mut self.weights {
            columns.push(Arc::new(Float32Array::from(std::mem::take(weights))));
        }
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns)
            .map_err(|error| write_error(error.into()))?;
        self.writer.write(&batch).map_err(write_error)
    }
}

fn write_error(error: ParquetError) -> Error {
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
