//! Parquet files of plain columns, row group by row group: any thread encodes one, and they are written in order.
//!
//! Numbers that ascend, as sorted ids do, are kept as the differences between them, and text once for each page
//! where it comes again; both are compressed with Zstandard. [`NumberEncoding::Plain`] is for readers that know no differences.

use std::io::Write;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float32Array, Int32Array, Int64Array, StringArray, UInt64Array};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowSchemaConverter;
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::{WriterProperties, WriterPropertiesPtr};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{ColumnPath, SchemaDescriptor};

use crate::parquet::write_error;
use crate::{Result, TextIds};

/// What a column of a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// Signed numbers of 32 bits.
    Int32,
    /// Signed numbers of 64 bits.
    Int64,
    /// Numbers of 64 bits that are not negative.
    UInt64,
    /// Numbers of single precision.
    Float32,
    /// Text.
    Text,
}

/// Some rows of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnValues {
    /// For [`ColumnKind::Int32`].
    Int32(Vec<i32>),
    /// For [`ColumnKind::Int64`].
    Int64(Vec<i64>),
    /// For [`ColumnKind::UInt64`].
    UInt64(Vec<u64>),
    /// For [`ColumnKind::Float32`].
    Float32(Vec<f32>),
    /// For [`ColumnKind::Text`]; less than 2 GiB of it.
    Text(TextIds),
}

/// How whole numbers are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberEncoding {
    /// As the differences between them.
    Differences,
    /// As they are.
    Plain,
}

/// Encodes row groups of one table, whose columns have no nulls.
///
/// # Example
/// ```
/// use everedge_io::{ColumnKind, ColumnValues, GroupEncoder, NumberEncoding};
/// let columns = [("src", ColumnKind::Int32), ("dst", ColumnKind::Int32)];
/// let encoder = GroupEncoder::new(&columns, NumberEncoding::Differences, &[])?;
/// let mut file = encoder.start(Vec::new())?;
/// file.append(encoder.encode(vec![ColumnValues::Int32(vec![0, 0]), ColumnValues::Int32(vec![1, 2])])?)?;
/// assert!(file.finish()?.starts_with(b"PAR1"));
/// # Ok::<(), everedge_io::Error>(())
/// ```
pub struct GroupEncoder {
    schema: Arc<Schema>,
    parquet_schema: SchemaDescriptor,
    properties: WriterPropertiesPtr,
    factory: ArrowRowGroupWriterFactory,
}

/// A row group that waits to be written.
pub struct EncodedGroup(Vec<ArrowColumnChunk>);

/// A file to which row groups are written.
pub struct GroupFile<W: Write + Send>(SerializedFileWriter<W>);

impl GroupEncoder {
    /// Prepares for a table with these columns, sorted by the first two, and with `notes` in each file.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) if there can be no such columns.
    pub fn new(
        columns: &[(&str, ColumnKind)],
        numbers: NumberEncoding,
        notes: &[(&str, &str)],
    ) -> Result<Self> {
        let field = |&(name, kind): &(&str, ColumnKind)| Field::new(name, kind.data_type(), false);
        let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
        let parquet_schema = ArrowSchemaConverter::new().convert(&schema).map_err(write_error)?;
        let ascending =
            |column_idx| SortingColumn { column_idx, descending: false, nulls_first: false };
        let sorted = (0..columns.len().min(2) as i32).map(ascending).collect();
        let notes =
            notes.iter().map(|(key, value)| KeyValue::new((*key).into(), value.to_string()));
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_sorting_columns(Some(sorted))
            .set_key_value_metadata(Some(notes.collect()))
            .set_dictionary_enabled(false);
        for (name, kind) in columns {
            let path = ColumnPath::from(*name);
            properties = match (kind, numbers) {
                (ColumnKind::Text, _) => properties.set_column_dictionary_enabled(path, true),
                (ColumnKind::Float32, _) | (_, NumberEncoding::Plain) => {
                    properties.set_column_encoding(path, Encoding::PLAIN)
                }
                _ => properties.set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
            };
        }
        let properties = Arc::new(properties.build());
        let empty = start(std::io::sink(), &parquet_schema, &properties)?;
        let factory = ArrowRowGroupWriterFactory::new(&empty, Arc::clone(&schema));
        Ok(Self { schema, parquet_schema, properties, factory })
    }

    /// Encodes rows, of each column as many.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io) if a column holds something else than it was declared to.
    pub fn encode(&self, columns: Vec<ColumnValues>) -> Result<EncodedGroup> {
        let encode = || -> Result<_, ParquetError> {
            // The number of the group only counts where it is encrypted.
            let writers = self.factory.create_column_writers(0)?;
            let fields = self.schema.fields().iter();
            let mut chunks = Vec::with_capacity(columns.len());
            for ((values, field), mut writer) in columns.into_iter().zip(fields).zip(writers) {
                for leaf in compute_leaves(field, &values.into_array()?)? {
                    writer.write(&leaf)?;
                }
                chunks.push(writer.close()?);
            }
            Ok(EncodedGroup(chunks))
        };
        encode().map_err(write_error)
    }

    /// Starts a file.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io).
    pub fn start<W: Write + Send>(&self, out: W) -> Result<GroupFile<W>> {
        start(out, &self.parquet_schema, &self.properties).map(GroupFile)
    }
}

impl<W: Write + Send> GroupFile<W> {
    /// Writes the next row group.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io).
    pub fn append(&mut self, group: EncodedGroup) -> Result<()> {
        let append = || {
            let mut writer = self.0.next_row_group()?;
            for chunk in group.0 {
                chunk.append_to_row_group(&mut writer)?;
            }
            writer.close()
        };
        append().map(|_| ()).map_err(write_error)
    }

    /// Writes the end of the file and returns what it was written to.
    ///
    /// # Errors
    /// [`Error::Io`](crate::Error::Io).
    pub fn finish(self) -> Result<W> {
        self.0.into_inner().map_err(write_error)
    }
}

impl ColumnKind {
    fn data_type(self) -> DataType {
        match self {
            Self::Int32 => DataType::Int32,
            Self::Int64 => DataType::Int64,
            Self::UInt64 => DataType::UInt64,
            Self::Float32 => DataType::Float32,
            Self::Text => DataType::Utf8,
        }
    }
}

impl ColumnValues {
    fn into_array(self) -> Result<ArrayRef, ParquetError> {
        Ok(match self {
            Self::Int32(values) => Arc::new(Int32Array::from(values)),
            Self::Int64(values) => Arc::new(Int64Array::from(values)),
            Self::UInt64(values) => Arc::new(UInt64Array::from(values)),
            Self::Float32(values) => Arc::new(Float32Array::from(values)),
            Self::Text(texts) => Arc::new(text_array(texts)?),
        })
    }
}

/// Returns texts as Arrow has them.
fn text_array(texts: TextIds) -> Result<StringArray, ParquetError> {
    let (text, ends) = texts.into_parts();
    let lengths = ends.iter().scan(0, |start, &end| Some(end - std::mem::replace(start, end)));
    let too_long = || ParquetError::General("a row group holds 2 GiB of text or more".to_owned());
    i32::try_from(text.len()).map_err(|_| too_long())?;
    let offsets = OffsetBuffer::from_lengths(lengths);
    Ok(StringArray::try_new(offsets, text.into_bytes().into(), None)?)
}

fn start<W: Write + Send>(
    out: W,
    schema: &SchemaDescriptor,
    properties: &WriterPropertiesPtr,
) -> Result<SerializedFileWriter<W>> {
    SerializedFileWriter::new(out, schema.root_schema_ptr(), Arc::clone(properties))
        .map_err(write_error)
}
