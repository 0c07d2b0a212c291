//! Arrow's C stream interface, both ways: tables and columns of other programs come in, and what
//! everedge answers goes out, without pyarrow.
//!
//! A program hands a capsule out that holds functions; they give the columns' type and then one
//! piece of them after the other, in the memory where they are. What comes in is held as it is:
//! a stream is read once, and an ingest looks at a table before it reads it. The functions are
//! called without the GIL, as they may take it themselves, and signals are handled between them.
//!
//! Source: "The Arrow C stream interface" and "The Arrow PyCapsule Interface" of the Apache Arrow
//! documentation.

use std::ffi::CStr;
use std::fmt::Display;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi_and_data_type};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{
    ArrowPrimitiveType, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    Array as _, ArrayRef, Float32Array, Float64Array, Int32Array, Int64Array, LargeStringArray,
    RecordBatch, RecordBatchOptions, RecordBatchReader, TimestampMicrosecondArray, UInt32Array,
    UInt64Array, make_array,
};
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use arrow_select::take::take;
use everedge::{EdgeReader, Given, IdKind, Ids, RecordBatches, TextIds, View};
use numpy::{Element, IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedStr;
use pyo3::types::{PyCapsule, PyList};

use crate::error::raised;

const STREAM: &CStr = c"arrow_array_stream";
const ARRAY: &CStr = c"arrow_array";
const SCHEMA: &CStr = c"arrow_schema";

/// Edges of one piece of a stream of edges.
const EDGES_AT_ONCE: usize = 1 << 16;

/// A table whose pieces are held.
#[pyclass(frozen, module = "everedge._native")]
pub(crate) struct Table {
    /// What messages call it.
    #[pyo3(get)]
    name: String,
    rows: RecordBatches,
}

#[pymethods]
impl Table {
    /// Reads the stream of a table, which messages call `name`, to its end.
    #[new]
    fn new(source: &Bound<'_, PyAny>, name: String) -> PyResult<Self> {
        let Imported { kind, pieces } = Imported::read(source, &name)?;
        let DataType::Struct(fields) = kind else {
            let what = format!("{name}: this is one column of {kind}, not a table of columns");
            return Err(invalid(&what));
        };
        let schema = Arc::new(Schema::new(fields));
        let batch = |piece: ArrayRef| {
            let (len, columns) = (piece.len(), piece.as_struct().columns().to_vec());
            let len = RecordBatchOptions::new().with_row_count(Some(len));
            RecordBatch::try_new_with_options(Arc::clone(&schema), columns, &len)
        };
        let mut rows = 0;
        for piece in &pieces {
            if let Some(nulls) = piece.nulls().filter(|nulls| nulls.null_count() > 0) {
                let row = rows + nulls.iter().take_while(|is_valid| *is_valid).count() as u64;
                let what = format!("{name}: row {}: the row as a whole is null", row + 1);
                return Err(invalid(&what));
            }
            rows += piece.len() as u64;
        }
        let batches: Result<Vec<_>, _> = pieces.into_iter().map(batch).collect();
        let batches = batches.map_err(|error| failed(&name, error))?;
        Ok(Self { name, rows: RecordBatches::new(schema, batches) })
    }

    /// Returns the number of rows.
    fn row_count(&self) -> u64 {
        self.rows.row_count()
    }
}

/// What Python gives to be taken in: a path, or a table.
#[derive(FromPyObject)]
pub(crate) enum Source<'py> {
    Table(PyRef<'py, Table>),
    Path(std::path::PathBuf),
}

impl From<Source<'_>> for Given {
    fn from(source: Source<'_>) -> Self {
        match source {
            Source::Table(table) => Self::Table(table.name.clone(), table.rows.clone()),
            Source::Path(path) => Self::Path(path),
        }
    }
}

/// Returns what Python gives as the facade takes it.
pub(crate) fn given(sources: Vec<Source<'_>>) -> Vec<Given> {
    sources.into_iter().map(Given::from).collect()
}

/// What a stream held.
struct Imported {
    kind: DataType,
    pieces: Vec<ArrayRef>,
}

impl Imported {
    /// Reads the stream, or the only array, of a table or a column to its end.
    ///
    /// # Errors
    /// `InvalidInputError` with what the stream says; what a signal handler raises.
    fn read(source: &Bound<'_, PyAny>, name: &str) -> PyResult<Self> {
        if !source.hasattr("__arrow_c_stream__")? {
            return Self::read_array(source, name);
        }
        let py = source.py();
        let capsule = source.call_method0("__arrow_c_stream__")?;
        let mut stream = taken(&capsule, (STREAM, FFI_ArrowArrayStream::from_raw), name)?;
        if stream.release.is_none() {
            return Err(failed(name, "it was read before, and can be read once: make it anew"));
        }
        let read = py.detach(|| {
            let read = Self::read_pieces(&mut stream);
            // Giving it up may take the GIL, too.
            drop(stream);
            read
        });
        read.map_err(|ended| ended.exception(name))
    }

    fn read_pieces(stream: &mut FFI_ArrowArrayStream) -> Result<Self, Ended> {
        let (kind, mut pieces) = (kind_of(stream)?, Vec::new());
        loop {
            Python::attach(|py| py.check_signals()).map_err(Ended::Raised)?;
            match next_of(stream, &kind)? {
                Some(piece) => pieces.push(piece),
                None => return Ok(Self { kind, pieces }),
            }
        }
    }

    /// Takes the only array of a table or a column.
    fn read_array(source: &Bound<'_, PyAny>, name: &str) -> PyResult<Self> {
        let capsules = source.call_method0("__arrow_c_array__")?;
        let (schema, array): (Bound<'_, PyAny>, Bound<'_, PyAny>) = capsules.extract()?;
        let schema = taken(&schema, (SCHEMA, FFI_ArrowSchema::from_raw), name)?;
        let array = taken(&array, (ARRAY, FFI_ArrowArray::from_raw), name)?;
        if array.is_released() {
            return Err(failed(name, "it was read before, and can be read once: make it anew"));
        }
        let kind = caught(|| DataType::try_from(&schema)).map_err(|what| failed(name, what))?;
        let piece = imported(array, &kind).map_err(|what| failed(name, what))?;
        Ok(Self { kind, pieces: vec![piece] })
    }
}

/// Why a stream was not read to its end.
enum Ended {
    Raised(PyErr),
    Failed(String),
}

impl From<String> for Ended {
    fn from(what: String) -> Self {
        Self::Failed(what)
    }
}

impl Ended {
    fn exception(self, name: &str) -> PyErr {
        match self {
            Self::Raised(exception) => exception,
            Self::Failed(what) => failed(name, what),
        }
    }
}

fn failed(name: &str, what: impl Display) -> PyErr {
    invalid(&format!("{name}: its Arrow stream: {what}"))
}

fn invalid(what: &str) -> PyErr {
    raised("InvalidInputError", what)
}

/// Takes what a capsule holds.
///
/// # Errors
/// `InvalidInputError` if it is no capsule of this name.
#[expect(unsafe_code, reason = "a capsule holds a pointer, and its name says to what")]
fn taken<T>(
    capsule: &Bound<'_, PyAny>,
    (is_called, take): (&CStr, unsafe fn(*mut T) -> T),
    name: &str,
) -> PyResult<T> {
    let pointer = match capsule.cast::<PyCapsule>() {
        Ok(capsule) => capsule.pointer_checked(Some(is_called)).ok(),
        Err(_) => None,
    };
    let Some(pointer) = pointer else {
        let what = format!("it gives no capsule called {}", is_called.to_string_lossy());
        return Err(failed(name, what));
    };
    // SAFETY: a capsule of this name holds such a struct, and with the GIL nobody else takes it.
    Ok(unsafe { take(pointer.cast().as_ptr()) })
}

/// Asks a stream for the type of its pieces.
#[expect(unsafe_code, reason = "the function is of another program")]
fn kind_of(stream: &mut FFI_ArrowArrayStream) -> Result<DataType, String> {
    let get_schema = stream.get_schema.ok_or("it has no function for its schema")?;
    let mut schema = FFI_ArrowSchema::empty();
    // SAFETY: the stream was not given up, and is ours alone.
    match unsafe { get_schema(stream, &mut schema) } {
        0 => caught(|| DataType::try_from(&schema)),
        code => Err(last_error(stream, code)),
    }
}

/// Asks a stream for its next piece.
#[expect(unsafe_code, reason = "the function is of another program")]
fn next_of(stream: &mut FFI_ArrowArrayStream, kind: &DataType) -> Result<Option<ArrayRef>, String> {
    let get_next = stream.get_next.ok_or("it has no function for what comes next")?;
    let mut array = FFI_ArrowArray::empty();
    // SAFETY: the stream was not given up, and is ours alone.
    match unsafe { get_next(stream, &mut array) } {
        0 if array.is_released() => Ok(None),
        0 => imported(array, kind).map(Some),
        code => Err(last_error(stream, code)),
    }
}

/// Returns an array of another program, in the memory where it is. What its values are is not checked.
#[expect(unsafe_code, reason = "the pointers are those of another program")]
fn imported(array: FFI_ArrowArray, kind: &DataType) -> Result<ArrayRef, String> {
    // SAFETY: the interface says that the array is of the type that its stream declares, and that its buffers stay until it is
    // released.
    caught(|| unsafe { from_ffi_and_data_type(array, kind.clone()) }.map(make_array))
}

/// Returns what a stream says of the call that failed.
#[expect(unsafe_code, reason = "the text is another program's")]
fn last_error(stream: &mut FFI_ArrowArrayStream, code: i32) -> String {
    let Some(get_last_error) = stream.get_last_error else { return format!("error {code}") };
    // SAFETY: the stream was not given up, and its last call has failed.
    let text = unsafe { get_last_error(stream) };
    if text.is_null() {
        return std::io::Error::from_raw_os_error(code).to_string();
    }
    // SAFETY: the text stays until the next call of the stream.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().trim().to_owned()
}

/// Runs what reads structs of another program, and answers some that contradict themselves with a panic.
fn caught<T>(read: impl FnOnce() -> Result<T, ArrowError>) -> Result<T, String> {
    match panic::catch_unwind(AssertUnwindSafe(read)) {
        Ok(result) => result.map_err(|error| error.to_string()),
        Err(_) => Err("its parts contradict each other".to_owned()),
    }
}

/// Returns a column of numbers as an array, and one of text as a list of strings; `what` it is called in messages.
#[pyfunction]
pub(crate) fn column<'py>(source: &Bound<'py, PyAny>, what: &str) -> PyResult<Bound<'py, PyAny>> {
    let py = source.py();
    let Imported { kind, pieces } = Imported::read(source, what)?;
    let (mut columns, mut rows) = (Vec::with_capacity(pieces.len()), 0);
    for piece in pieces {
        piece.to_data().validate_full().map_err(|error| failed(what, error))?;
        let nulls = piece.logical_nulls().filter(|nulls| nulls.null_count() > 0);
        if let Some(nulls) = nulls {
            let row = rows + nulls.iter().take_while(|is_valid| *is_valid).count();
            let hint = "ingest(table, skip_nulls=True) leaves such rows out";
            return Err(invalid(&format!("{what}, row {row}: a missing value (None); {hint}")));
        }
        rows += piece.len();
        columns.push(match piece.as_any_dictionary_opt() {
            Some(column) => {
                take(column.values(), column.keys(), None).map_err(|error| failed(what, error))?
            }
            None => piece,
        });
    }
    let kind = match kind {
        DataType::Dictionary(_, values) => *values,
        kind => kind,
    };
    Ok(match kind {
        DataType::Int8 => numbers::<Int8Type>(py, &columns),
        DataType::Int16 => numbers::<Int16Type>(py, &columns),
        DataType::Int32 => numbers::<Int32Type>(py, &columns),
        DataType::Int64 => numbers::<Int64Type>(py, &columns),
        DataType::UInt8 => numbers::<UInt8Type>(py, &columns),
        DataType::UInt16 => numbers::<UInt16Type>(py, &columns),
        DataType::UInt32 => numbers::<UInt32Type>(py, &columns),
        DataType::UInt64 => numbers::<UInt64Type>(py, &columns),
        DataType::Float32 => numbers::<Float32Type>(py, &columns),
        DataType::Float64 => numbers::<Float64Type>(py, &columns),
        DataType::Float16 => {
            let widened = columns.iter().flat_map(|c| c.as_primitive::<Float16Type>().values());
            let widened: Vec<f32> = widened.map(|number| number.to_f32()).collect();
            widened.into_pyarray(py).into_any()
        }
        DataType::Utf8 => strings(py, columns.iter().flat_map(|c| c.as_string::<i32>()))?,
        DataType::LargeUtf8 => strings(py, columns.iter().flat_map(|c| c.as_string::<i64>()))?,
        DataType::Utf8View => strings(py, columns.iter().flat_map(|c| c.as_string_view()))?,
        kind => {
            let message = format!("{what}: a column of {kind} holds neither numbers nor text");
            return Err(invalid(&message));
        }
    })
}

fn numbers<'py, T: ArrowPrimitiveType<Native: Element>>(
    py: Python<'py>,
    columns: &[ArrayRef],
) -> Bound<'py, PyAny> {
    let values: Vec<&[T::Native]> =
        columns.iter().map(|column| &column.as_primitive::<T>().values()[..]).collect();
    values.concat().into_pyarray(py).into_any()
}

fn strings<'py, 'a>(
    py: Python<'py>,
    texts: impl Iterator<Item = Option<&'a str>>,
) -> PyResult<Bound<'py, PyAny>> {
    let texts: Vec<&str> = texts.map(Option::unwrap_or_default).collect();
    Ok(PyList::new(py, texts)?.into_any())
}

/// A column that goes out, as it is in Arrow's memory; streams share it.
#[pyclass(frozen, module = "everedge._native")]
pub(crate) struct Array(ArrayRef);

/// Numbers of an answer.
#[derive(FromPyObject)]
enum Numbers<'py> {
    U32(PyReadonlyArray1<'py, u32>),
    F64(PyReadonlyArray1<'py, f64>),
    F32(PyReadonlyArray1<'py, f32>),
    I32(PyReadonlyArray1<'py, i32>),
    U64(PyReadonlyArray1<'py, u64>),
    I64(PyReadonlyArray1<'py, i64>),
}

#[pymethods]
impl Array {
    /// Copies numbers.
    #[staticmethod]
    fn of_numbers(numbers: Numbers<'_>) -> PyResult<Self> {
        Ok(Self(match numbers {
            Numbers::U32(column) => Arc::new(UInt32Array::from(column.as_slice()?.to_vec())),
            Numbers::F64(column) => Arc::new(Float64Array::from(column.as_slice()?.to_vec())),
            Numbers::F32(column) => Arc::new(Float32Array::from(column.as_slice()?.to_vec())),
            Numbers::I32(column) => Arc::new(Int32Array::from(column.as_slice()?.to_vec())),
            Numbers::U64(column) => Arc::new(UInt64Array::from(column.as_slice()?.to_vec())),
            Numbers::I64(column) => Arc::new(Int64Array::from(column.as_slice()?.to_vec())),
        }))
    }

    /// Copies strings.
    #[staticmethod]
    fn of_texts(texts: Vec<PyBackedStr>) -> Self {
        Self(Arc::new(LargeStringArray::from_iter_values(texts)))
    }

    /// Copies times in microseconds since 1970 UTC.
    #[staticmethod]
    fn of_times(times: PyReadonlyArray1<'_, i64>) -> PyResult<Self> {
        let times = TimestampMicrosecondArray::from(times.as_slice()?.to_vec());
        Ok(Self(Arc::new(times.with_timezone("UTC"))))
    }

    /// Returns the number of rows.
    fn __len__(&self) -> usize {
        self.0.len()
    }
}

/// Returns a capsule with a stream of columns of these names: of each batch as many, of the same types.
#[pyfunction]
pub(crate) fn stream<'py>(
    py: Python<'py>,
    names: Vec<String>,
    batches: Vec<Vec<PyRef<'py, Array>>>,
) -> PyResult<Bound<'py, PyAny>> {
    let field = |(name, column): (String, &PyRef<'_, Array>)| {
        Field::new(name, column.0.data_type().clone(), false)
    };
    let fields = batches.first().map(|columns| names.into_iter().zip(columns).map(field));
    let schema = Arc::new(Schema::new(fields.into_iter().flatten().collect::<Vec<_>>()));
    let batch = |columns: Vec<PyRef<'_, Array>>| {
        let columns = columns.iter().map(|column| Arc::clone(&column.0)).collect();
        RecordBatch::try_new(Arc::clone(&schema), columns)
    };
    let batches: Result<Vec<_>, _> = batches.into_iter().map(batch).collect();
    let batches = batches.map_err(|error| failed("columns", error))?;
    let batches = batches.into_iter().map(Ok);
    let reader = arrow_array::RecordBatchIterator::new(batches, Arc::clone(&schema));
    capsule(py, FFI_ArrowArrayStream::new(Box::new(reader)))
}

fn capsule(py: Python<'_>, stream: FFI_ArrowArrayStream) -> PyResult<Bound<'_, PyAny>> {
    Ok(PyCapsule::new_with_value(py, stream, STREAM)?.into_any())
}

/// Returns a capsule with a stream of all edges of a view, read as they are asked for; `by_age`, the oldest of parallel ones first.
pub(crate) fn edges(py: Python<'_>, view: Arc<View>, by_age: bool) -> PyResult<Bound<'_, PyAny>> {
    let ends = match view.id_kind() {
        IdKind::Dense => DataType::UInt32,
        IdKind::Integer => DataType::UInt64,
        IdKind::Text => DataType::LargeUtf8,
    };
    let mut fields = vec![Field::new("src", ends.clone(), false), Field::new("dst", ends, false)];
    if view.is_weighted() {
        fields.push(Field::new("weight", DataType::Float32, false));
    }
    let schema = Arc::new(Schema::new(fields));
    let begin = if by_age { EdgeReader::by_age } else { EdgeReader::new };
    let reader = begin(Arc::clone(&view));
    capsule(py, FFI_ArrowArrayStream::new(Box::new(Edges { view, reader, schema })))
}

/// The edges of a view, piece by piece. Whoever reads them may hold the GIL or not: nothing here takes it.
struct Edges {
    view: Arc<View>,
    reader: EdgeReader,
    schema: SchemaRef,
}

impl Edges {
    fn next_piece(&mut self) -> Result<Option<RecordBatch>, String> {
        let edges = self.reader.next(EDGES_AT_ONCE).map_err(|error| error.to_string())?;
        if edges.src.is_empty() {
            return Ok(None);
        }
        let mut columns =
            vec![array_of(self.view.ids_of(&edges.src)), array_of(self.view.ids_of(&edges.dst))];
        self.view.check_reads().map_err(|error| error.to_string())?;
        if self.view.is_weighted() {
            columns.push(Arc::new(Float32Array::from(edges.weights)));
        }
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns);
        batch.map(Some).map_err(|error| error.to_string())
    }
}

impl Iterator for Edges {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        // A panic must not leave Rust, nor a text with a zero byte.
        let next = panic::catch_unwind(AssertUnwindSafe(|| self.next_piece()));
        let next = next.unwrap_or_else(|_| Err("the edges could not be read".to_owned()));
        let text = |what: String| ArrowError::ExternalError(what.replace('\0', "\u{fffd}").into());
        next.map_err(text).transpose()
    }
}

impl RecordBatchReader for Edges {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

/// Returns names as a column.
fn array_of(ids: Ids) -> ArrayRef {
    match ids {
        Ids::Dense(ids) => Arc::new(UInt32Array::from(ids)),
        Ids::Sparse(ids) => Arc::new(UInt64Array::from(ids)),
        Ids::Text(texts) => Arc::new(text_array(texts)),
    }
}

/// Returns texts as a column, in the memory where they are.
fn text_array(texts: TextIds) -> LargeStringArray {
    let (text, ends) = texts.into_parts();
    let offsets: ScalarBuffer<i64> =
        std::iter::once(0).chain(ends.into_iter().map(|end| end as i64)).collect();
    LargeStringArray::new(OffsetBuffer::new(offsets), Buffer::from_vec(text.into_bytes()), None)
}
