//! Record batches of Arrow that are in memory already, such as the columns of a data frame.
//!
//! They are read as a file of Arrow is, column by column as `columnar.rs` says, but the batches are
//! those of the program that made them: nothing is copied until ids become vertices. That program may
//! be wrong about its own columns, so lengths, offsets and UTF-8 of a column are checked before it is
//! read. A batch is read in parts of 65,536 rows, several at the same time.

use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, GenericStringArray, OffsetSizeTrait, RecordBatch};
use arrow_schema::{DataType, Schema, SchemaRef};
use everedge_core::{VertexId, par};

use crate::columnar::{self, Wanted};
use crate::ids::{IdColumn, TextIds};
use crate::read::{Declared, Sink, check_counts};
use crate::updates::counted;
use crate::{
    Chunk, Error, Format, Guess, IdKind, InputChoices, Place, ReadOptions, ReadSummary, Result,
    UpdateChoices, UpdateChunk, UpdateGuess, UpdateOptions, UpdateSummary,
};

/// Rows that are read at once by one thread, and that a guess looks at.
const PART_ROWS: usize = 1 << 16;

/// Record batches of one schema; a clone shares them.
#[derive(Clone)]
pub struct RecordBatches {
    schema: SchemaRef,
    batches: Arc<[RecordBatch]>,
}

impl RecordBatches {
    /// Holds batches, whose columns are those of `schema`.
    ///
    /// # Panics
    /// If a batch has another number of columns.
    pub fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        let width = schema.fields().len();
        assert!(batches.iter().all(|batch| batch.num_columns() == width), "one schema for all");
        Self { schema, batches: batches.into() }
    }

    /// Returns the number of rows.
    pub fn row_count(&self) -> u64 {
        self.batches.iter().map(|batch| batch.num_rows() as u64).sum()
    }

    /// Returns the bytes of the buffers that the rows lie in.
    pub fn byte_count(&self) -> u64 {
        self.batches.iter().map(|batch| batch.get_array_memory_size() as u64).sum()
    }

    /// Guesses how to read the edges, from the schema, the first rows, and how large integers are in all rows.
    ///
    /// # Errors
    /// [`Error::Syntax`] if there are not the columns that were chosen, or they are damaged.
    pub fn probe(&self, choices: &InputChoices) -> Result<Guess> {
        let first = |columns: &[usize]| self.first(columns);
        let guess = columnar::guess(Format::Arrow, &self.schema, first, choices)?;
        let ids = self.widened_ids([guess.src, guess.dst], guess.ids, choices)?;
        Ok(Guess { ids, ..guess })
    }

    /// Guesses how to read updates, as [`Self::probe`] does for edges.
    ///
    /// # Errors
    /// As of [`Self::probe`], and if no column holds times.
    pub fn probe_updates(&self, choices: &UpdateChoices) -> Result<UpdateGuess> {
        let first = |columns: &[usize]| self.first(columns);
        let guess = columnar::guess_updates(Format::Arrow, &self.schema, first, choices)?;
        let ends = [guess.edges.src, guess.edges.dst];
        let ids = self.widened_ids(ends, guess.edges.ids, &choices.edges)?;
        Ok(UpdateGuess { edges: Guess { ids, ..guess.edges }, ..guess })
    }

    /// Reads the edges and calls `sink` with them, chunk by chunk in their order.
    ///
    /// Positions are rows; a chunk's `bytes_read` is its share of the rows times [`Self::byte_count`].
    ///
    /// # Errors
    /// As of [`read_edges`](crate::read_edges).
    pub fn read_edges<E: From<Error> + Send>(
        &self,
        options: &ReadOptions,
        mut sink: impl FnMut(Chunk) -> Result<(), E> + Send,
    ) -> Result<ReadSummary, E> {
        self.read(Wanted::find(&self.schema, options)?, options.ids, &mut sink)
    }

    /// Reads updates, as [`Self::read_edges`] does edges.
    ///
    /// # Errors
    /// As of [`read_updates`](crate::read_updates).
    pub fn read_updates<E: From<Error> + Send>(
        &self,
        options: &UpdateOptions,
        mut sink: impl FnMut(UpdateChunk) -> Result<(), E> + Send,
    ) -> Result<UpdateSummary, E> {
        let wanted = Wanted::find_updates(&self.schema, options)?;
        counted(&mut sink, |sink| self.read(wanted, options.edges.ids, sink))
    }

    /// Returns some columns of the first rows.
    fn first(&self, columns: &[usize]) -> Result<Option<RecordBatch>> {
        let Some(batch) = self.batches.iter().find(|batch| batch.num_rows() > 0) else {
            return Ok(Some(RecordBatch::new_empty(Arc::new(Schema::empty()))));
        };
        let batch = checked(batch, columns, 0)?;
        Ok(Some(batch.slice(0, batch.num_rows().min(PART_ROWS))))
    }

    /// Returns what ids are by all rows where the first ones say that they are dense.
    fn widened_ids(
        &self,
        ends: [usize; 2],
        guessed: IdKind,
        choices: &InputChoices,
    ) -> Result<IdKind> {
        if guessed != IdKind::Dense {
            return Ok(guessed);
        }
        let (mut arrays, mut before): (Vec<ArrayRef>, u64) = (Vec::new(), 0);
        for batch in self.batches.iter() {
            arrays.extend_from_slice(checked(batch, &ends, before)?.columns());
            before += batch.num_rows() as u64;
        }
        Ok(columnar::ids_of_all(&arrays, choices))
    }

    fn read<E: From<Error> + Send>(
        &self,
        wanted: Wanted,
        ids: IdKind,
        sink: &mut Sink<'_, E>,
    ) -> Result<ReadSummary, E> {
        match ids {
            IdKind::Dense => self.read_as::<Vec<VertexId>, E>(wanted, sink),
            IdKind::Sparse => self.read_as::<Vec<u64>, E>(wanted, sink),
            IdKind::Text => self.read_as::<TextIds, E>(wanted, sink),
        }
    }

    /// Hands parts on while the next ones are read.
    fn read_as<C: IdColumn, E: From<Error> + Send>(
        &self,
        wanted: Wanted,
        sink: &mut Sink<'_, E>,
    ) -> Result<ReadSummary, E> {
        let (bytes, row_count) = (self.byte_count(), self.row_count());
        let parts = self.parts(&wanted)?;
        let wanted = wanted.projected();
        let read_part = |part: &Part| {
            let edges = columnar::take_edges::<C>(&part.rows, &wanted, part.rows_before)?;
            let share = part.rows_before + part.rows.num_rows() as u64;
            let bytes_read = (bytes as f64 * (share as f64 / row_count as f64)) as u64;
            Ok(edges.into_chunk(Place::Row(1 + part.rows_before), bytes_read))
        };
        let mut summary = ReadSummary::default();
        let mut read: Vec<Result<Chunk>> = Vec::new();
        let mut groups = parts.chunks(par::thread_count());
        loop {
            let hand_on = || {
                read.into_iter().try_for_each(|chunk| {
                    let chunk = chunk?;
                    summary.take(&chunk);
                    sink(chunk)
                })
            };
            let next = groups.next().unwrap_or_default();
            let read_next = || par::map_chunks(next, 1, |part| read_part(&part[0]));
            let (handed_on, chunks) = par::beside(hand_on, read_next);
            handed_on?;
            if chunks.is_empty() {
                break;
            }
            read = chunks;
        }
        let summary = ReadSummary { bytes, ..summary };
        Ok(check_counts(summary, Declared::default())?)
    }

    /// Returns the columns that are wanted, checked, some rows at a time.
    fn parts(&self, wanted: &Wanted) -> Result<Vec<Part>> {
        let (columns, mut parts, mut before) = (wanted.columns(), Vec::new(), 0);
        for batch in self.batches.iter() {
            let batch = checked(batch, &columns, before)?;
            for first in (0..batch.num_rows()).step_by(PART_ROWS) {
                let rows = batch.slice(first, PART_ROWS.min(batch.num_rows() - first));
                parts.push(Part { rows, rows_before: before + first as u64 });
            }
            before += batch.num_rows() as u64;
        }
        Ok(parts)
    }
}

impl Debug for RecordBatches {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.schema.fields().iter().map(|f| f.name().as_str()).collect();
        f.debug_struct("RecordBatches")
            .field("columns", &names)
            .field("rows", &self.row_count())
            .finish()
    }
}

/// Some rows of the columns that are wanted.
struct Part {
    rows: RecordBatch,
    /// Rows of the table before them.
    rows_before: u64,
}

/// Returns some columns of a batch in ascending order, after `rows_before` rows, whose values are what their types say.
fn checked(batch: &RecordBatch, columns: &[usize], rows_before: u64) -> Result<RecordBatch> {
    let mut columns = columns.to_vec();
    columns.sort_unstable();
    columns.dedup();
    let rows = [rows_before + 1, rows_before + batch.num_rows() as u64];
    let damaged = |name: &str, reason: String| {
        let [first, last] = rows;
        let what = format!("the column {name:?} is damaged in rows {first} to {last}: {reason}");
        columnar::syntax(Place::Whole, what)
    };
    for &idx in &columns {
        let name = batch.schema_ref().field(idx).name();
        columnar::catch(|| check(batch.column(idx)), |reason| damaged(name, reason))?;
    }
    batch.project(&columns).map_err(|error| columnar::syntax(Place::Whole, error.to_string()))
}

/// Checks that values are what the type of a column says.
fn check(column: &ArrayRef) -> Result<(), String> {
    match column.data_type() {
        DataType::Utf8 => check_text(column.as_string::<i32>()),
        DataType::LargeUtf8 => check_text(column.as_string::<i64>()),
        _ => column.to_data().validate_full().map_err(|error| error.to_string()),
    }
}

/// The same for text whose buffer other batches may share: Arrow's own check looks at all of it each time.
fn check_text<O: OffsetSizeTrait>(column: &GenericStringArray<O>) -> Result<(), String> {
    let (ends, bytes) = (column.value_offsets(), column.value_data());
    let ends: Vec<usize> = ends.iter().map(|end| end.as_usize()).collect();
    let is_ascending = ends.windows(2).all(|pair| pair[0] <= pair[1]);
    let (first, last) = (ends.first().copied(), ends.last().copied());
    let text = bytes.get(first.unwrap_or(0)..last.unwrap_or(0));
    let text = text.filter(|_| is_ascending).ok_or("a text lies outside of its buffer")?;
    let text = std::str::from_utf8(text).map_err(|error| error.to_string())?;
    let is_whole = |end: &usize| text.is_char_boundary(end - first.unwrap_or(0));
    match text.is_ascii() || ends.iter().all(is_whole) {
        true => Ok(()),
        false => Err("a text ends within a character".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::types::Int8Type;
    use arrow_array::{
        DictionaryArray, Float64Array, Int64Array, LargeStringArray, StringArray, StringViewArray,
    };
    use arrow_schema::Field;

    use super::*;
    use crate::{IdChoice, Ids};

    /// Returns a table of two columns, `src` and `dst`, in these batches.
    fn table(batches: Vec<[ArrayRef; 2]>) -> RecordBatches {
        let kinds = batches[0].each_ref().map(|array| array.data_type().clone());
        let [src, dst] = kinds;
        let fields = vec![Field::new("src", src, true), Field::new("dst", dst, true)];
        let schema = Arc::new(Schema::new(fields));
        let batch = |columns: [ArrayRef; 2]| {
            RecordBatch::try_new(Arc::clone(&schema), columns.to_vec()).unwrap()
        };
        RecordBatches::new(Arc::clone(&schema), batches.into_iter().map(batch).collect())
    }

    fn integers(values: impl IntoIterator<Item = i64>) -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(values))
    }

    /// Reads a table as it is guessed.
    fn read(table: &RecordBatches) -> Result<Vec<(String, String)>> {
        let guess = table.probe(&InputChoices::default())?;
        let mut edges = Vec::new();
        let texts = |ids: Ids| -> Vec<String> {
            match ids {
                Ids::Dense(ids) => ids.iter().map(ToString::to_string).collect(),
                Ids::Sparse(ids) => ids.iter().map(ToString::to_string).collect(),
                Ids::Text(ids) => ids.iter().map(str::to_owned).collect(),
            }
        };
        table.read_edges(&guess.options(), |chunk| {
            edges.extend(texts(chunk.src).into_iter().zip(texts(chunk.dst)));
            Ok::<(), Error>(())
        })?;
        Ok(edges)
    }

    #[test]
    fn text_of_every_kind_is_read_in_order() {
        let texts = ["ann", "a name that is longer than twelve bytes", "eve"];
        let kinds: [ArrayRef; 4] = [
            Arc::new(StringArray::from_iter_values(texts)),
            Arc::new(LargeStringArray::from_iter_values(texts)),
            Arc::new(StringViewArray::from_iter_values(texts)),
            Arc::new(texts.into_iter().collect::<DictionaryArray<Int8Type>>()),
        ];
        for array in kinds {
            let empty = array.slice(1, 0);
            let last = [array.slice(1, 2), array.slice(0, 2)];
            let found =
                read(&table(vec![[empty.clone(), empty], [array.clone(), array.clone()], last]));
            let pairs = [(0, 0), (1, 1), (2, 2), (1, 0), (2, 1)];
            let expected = pairs.map(|(u, v)| (texts[u].to_owned(), texts[v].to_owned()));
            assert_eq!(found.unwrap(), expected, "{}", array.data_type());
        }
    }

    #[test]
    fn rows_of_later_parts_and_batches_are_named() {
        let count = 3 * PART_ROWS as i64;
        let good = integers(0..count);
        let mut wrong: Vec<i64> = (0..count).collect();
        wrong[2 * PART_ROWS + 7] = -1;
        let later = [good.clone(), integers(wrong)];
        let error = read(&table(vec![[good.clone(), good], later])).unwrap_err();
        let row = count + 2 * PART_ROWS as i64 + 8;
        assert!(error.to_string().starts_with(&format!("row {row}: the id -1")), "{error}");
    }

    #[test]
    fn large_integers_far_down_are_no_dense_ids() {
        let small = integers(0..10);
        let guess = |last: i64, ids: IdChoice| {
            let last = integers((0..9).chain([last]));
            let table = table(vec![[small.clone(), small.clone()], [small.clone(), last]]);
            table.probe(&InputChoices { ids, ..InputChoices::default() }).unwrap().ids
        };
        assert_eq!(guess(1 << 20, IdChoice::Auto), IdKind::Dense);
        assert_eq!(guess(1 << 40, IdChoice::Auto), IdKind::Sparse);
        assert_eq!(guess(1 << 30, IdChoice::Auto), IdKind::Sparse);
        assert_eq!(guess(1 << 40, IdChoice::Dense), IdKind::Dense);
    }

    #[test]
    fn text_that_is_no_utf_8_is_refused() {
        let data = StringArray::from(vec!["ann", "bob"]).into_data();
        let offsets = data.buffers()[0].clone();
        let bytes = arrow_buffer::Buffer::from(b"an\xffbob".as_slice());
        let builder = data.into_builder().buffers(vec![offsets, bytes]);
        // What a program hands out through Arrow's interface is not checked on its way.
        #[expect(unsafe_code, reason = "as another program may make it")]
        // SAFETY: none; nothing reads the text before it is checked.
        let array: ArrayRef = Arc::new(StringArray::from(unsafe { builder.build_unchecked() }));
        let good: ArrayRef = Arc::new(StringArray::from(vec!["x", "y"]));
        let error = read(&table(vec![[good, array]])).unwrap_err().to_string();
        assert!(error.contains("column \"dst\" is damaged in rows 1 to 2"), "{error}");
    }

    #[test]
    fn times_are_read_as_from_a_file() {
        let fields = vec![
            Field::new("src", DataType::Int64, false),
            Field::new("dst", DataType::Int64, false),
            Field::new("time", DataType::Float64, false),
        ];
        let schema = Arc::new(Schema::new(fields));
        let times: ArrayRef = Arc::new(Float64Array::from(vec![1_717_156_800.0, 1_717_156_801.5]));
        let columns = vec![integers([1, 2]), integers([2, 3]), times];
        let batch = RecordBatch::try_new(Arc::clone(&schema), columns).unwrap();
        let table = RecordBatches::new(schema, vec![batch]);
        let guess = table.probe_updates(&UpdateChoices::default()).unwrap();
        let mut times = Vec::new();
        let summary = table.read_updates(&guess.options(), |chunk| {
            times.extend(chunk.times);
            Ok::<(), Error>(())
        });
        assert_eq!(summary.unwrap().insertions, 2);
        assert_eq!(times, [1_717_156_800_000_000, 1_717_156_801_500_000]);
    }

    #[test]
    fn a_table_without_rows_has_no_edges() {
        let none = integers([]);
        let table = table(vec![[none.clone(), none]]);
        assert!(matches!(read(&table), Err(Error::NoEdges)), "{table:?}");
    }
}
