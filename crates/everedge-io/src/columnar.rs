//! Edges in Arrow's columns, which Parquet and Arrow IPC share.
//!
//! Ids may be integers of any width or strings, also by dictionary; weights any numbers. What a
//! column's type says is kept: strings are text ids unless the graph's are integers.

use std::fmt::Display;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType,
    Float16Type, Float32Type, Float64Type,
};
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, downcast_integer_array};
use arrow_buffer::ArrowNativeType;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use arrow_select::filter::filter_record_batch;
use arrow_select::take::take;

use crate::columnar_updates::{deletions_in, take_updates, timestamp_unit, written};
use crate::columns::{GuessedColumn, resolve};
use crate::error::Fault;
use crate::ids::{IdColumn, ODD_IDS_HINT};
use crate::names::is_operation;
use crate::operations::{Timed, null_operation, null_step};
use crate::read::{Edges, UNREAD_WEIGHT};
use crate::rules::{Rules, null_weight, wrong_weight};
use crate::survey::{Sample, is_dense, is_null};
use crate::times::null_time;
use crate::update_columns::{check_distinct_updates, hold_operations, resolve_updates};
use crate::{
    Column, Error, Format, Guess, IdKind, InputChoices, Place, ReadOptions, Result, UpdateChoices,
    UpdateGuess, UpdateOptions,
};

/// The most columns of text that are looked at because they may hold operations.
const SHOWN_TEXTS_MAX: usize = 16;
/// The most columns that are all looked at because one may hold operations and be in the way.
const SHOWN_COLUMNS_MAX: usize = 16;

/// What to read of a table: sources, destinations and, if they are asked for, weights and what only
/// updates have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    ends: [usize; 2],
    weight: Option<usize>,
    timed: Option<Timed>,
    rules: Rules,
}

impl Wanted {
    /// Finds the columns in a schema.
    pub(crate) fn find(schema: &Schema, options: &ReadOptions) -> Result<Self> {
        Self::find_edges(schema, options).map_err(|fault| fault.into_error(Place::Whole))
    }

    /// Finds the columns of updates in a schema.
    pub(crate) fn find_updates(schema: &Schema, options: &UpdateOptions) -> Result<Self> {
        let find = || {
            let edges = Self::find_edges(schema, &options.edges)?;
            let timed = options.timed(|column| find_column(schema, column))?;
            let [src, dst] = edges.ends;
            check_distinct_updates(src, dst, edges.weight, &timed)?;
            Ok(Self { timed: Some(timed), ..edges })
        };
        find().map_err(|fault: Fault| fault.into_error(Place::Whole))
    }

    fn find_edges(schema: &Schema, options: &ReadOptions) -> Result<Self, Fault> {
        let find = |column: &Column| find_column(schema, column);
        let columns = &options.columns;
        Ok(Self {
            ends: [find(&columns.src)?, find(&columns.dst)?],
            weight: options.weighted.then(|| find(&columns.weight)).transpose()?,
            timed: None,
            rules: Rules::of(options),
        })
    }

    /// Returns all columns.
    pub(crate) fn columns(&self) -> Vec<usize> {
        let timed = self.timed.iter().flat_map(Timed::columns);
        self.ends.into_iter().chain(self.weight).chain(timed).collect()
    }

    /// The same columns in a batch that holds no others.
    pub(crate) fn projected(&self) -> Self {
        let mut in_order = self.columns();
        in_order.sort_unstable();
        in_order.dedup();
        let place = |idx: usize| in_order.binary_search(&idx).unwrap_or(usize::MAX);
        Self {
            ends: self.ends.map(place),
            weight: self.weight.map(place),
            timed: self.timed.map(|timed| timed.map(place)),
            rules: self.rules,
        }
    }

    /// Returns a place for what is read.
    pub(crate) fn edges<C: IdColumn>(&self) -> Edges<C> {
        Edges::new(self.weight.is_some()).with_updates(self.timed.as_ref())
    }
}

fn find_column(schema: &Schema, column: &Column) -> Result<usize, Fault> {
    let names: Vec<&str> = schema.fields().iter().map(|field| field.name().as_str()).collect();
    let found = column.find(&names.iter().copied().map(Some).collect::<Vec<_>>());
    found.ok_or_else(|| Fault::new(0, format!("there is no column {column} among {names:?}")))
}

/// Guesses which columns hold what, from the types and some rows.
pub(crate) fn guess(
    format: Format,
    schema: &Schema,
    first: impl FnOnce(&[usize]) -> Result<Option<RecordBatch>>,
    choices: &InputChoices,
) -> Result<Guess> {
    let mut columns = columns_of(schema);
    let resolved = resolve(&columns, choices).map_err(|fault| fault.into_error(Place::Whole))?;
    let ends = [resolved.src, resolved.dst];
    let shown = shown_columns(schema, &ends);
    let batch = first(&shown)?;
    for (&idx, fields) in shown.iter().zip(batch.iter().flat_map(RecordBatch::columns)) {
        let name = columns[idx].name.as_deref();
        columns[idx].holds_operations = hold_operations(name, &written(fields));
    }
    let column = |idx: usize| batch.as_ref()?.columns().get(shown.binary_search(&idx).ok()?);
    let of_ends = batch.as_ref().map(|_| ends.into_iter().filter_map(column).cloned().collect());
    let ids = guess_ids(schema, ends, of_ends, choices);
    Ok(Guess { columns, ..Guess::of(format) }.with_columns(resolved, ids))
}

/// Like [`guess`], for updates. `first` returns the columns that it is given in ascending order.
pub(crate) fn guess_updates(
    format: Format,
    schema: &Schema,
    first: impl FnOnce(&[usize]) -> Result<Option<RecordBatch>>,
    choices: &UpdateChoices,
) -> Result<UpdateGuess> {
    let whole = |fault: Fault| fault.into_error(Place::Whole);
    let columns = columns_of(schema);
    // Without fields a column of operations that nothing names may be taken for an end.
    let shown = match resolve_updates(&columns, &|_| Vec::new(), choices) {
        Ok((edges, found)) => shown_columns(schema, &[edges.src, edges.dst, found.time]),
        Err(_) if columns.len() <= SHOWN_COLUMNS_MAX => (0..columns.len()).collect(),
        Err(fault) => return Err(whole(fault)),
    };
    let batch = first(&shown)?;
    let column = |idx: usize| batch.as_ref()?.columns().get(shown.binary_search(&idx).ok()?);
    let fields = |idx: usize| column(idx).map(written).unwrap_or_default();
    let (resolved, found) = resolve_updates(&columns, &fields, choices).map_err(whole)?;
    let ends = [resolved.src, resolved.dst];
    let of_ends = batch.as_ref().map(|_| ends.into_iter().filter_map(column).cloned().collect());
    let ids = guess_ids(schema, ends, of_ends, &choices.edges);
    let edges = Guess { columns, ..Guess::of(format) }.with_columns(resolved, ids);
    let guess = UpdateGuess::new(edges, found, &fields, choices).map_err(whole)?;
    let is_timestamp = timestamp_unit(schema.field(found.time).data_type()).is_some();
    Ok(UpdateGuess { unit: guess.unit.filter(|_| !is_timestamp), ..guess })
}

/// Returns in ascending order these columns, and some of text or with a name of operations, one of which may hold operations.
fn shown_columns(schema: &Schema, wanted: &[usize]) -> Vec<usize> {
    let fields = schema.fields().iter().enumerate();
    let may_tell =
        |field: &Field| is_text(value_type(field.data_type())) || is_operation(field.name());
    let texts = fields.filter(|(_, field)| may_tell(field));
    let texts = texts.map(|(idx, _)| idx).take(SHOWN_TEXTS_MAX);
    let mut shown: Vec<usize> = wanted.iter().copied().chain(texts).collect();
    shown.sort_unstable();
    shown.dedup();
    shown
}

/// Returns what the schema says of its columns.
fn columns_of(schema: &Schema) -> Vec<GuessedColumn> {
    let column = |field: &Arc<Field>| GuessedColumn {
        name: Some(field.name().clone()),
        is_numeric: field.data_type().is_numeric(),
        may_hold_ids: value_type(field.data_type()).is_integer()
            || is_text(value_type(field.data_type())),
        is_date: false,
        // Unless the first rows, where they can be seen, say otherwise.
        holds_operations: is_operation(field.name()) && is_text(value_type(field.data_type())),
    };
    schema.fields().iter().map(column).collect()
}

fn have_text(schema: &Schema, ends: [usize; 2]) -> bool {
    ends.iter().any(|&idx| is_text(value_type(schema.field(idx).data_type())))
}

/// Guesses the kind of ids from their types, and from the first rows of both ends if these are there.
fn guess_ids(
    schema: &Schema,
    ends: [usize; 2],
    first: Option<Vec<ArrayRef>>,
    choices: &InputChoices,
) -> IdKind {
    let mut sample = Sample::default();
    match first {
        _ if have_text(schema, ends) => sample.add_text(),
        Some(ends) => ends.iter().for_each(|ids| add_integers(ids, &mut sample)),
        // Nothing says how large the integers are: an id map takes any.
        None => sample.add_number(u64::MAX),
    }
    sample.ids(choices.ids)
}

/// Adds a column's integers to a sample; reading them says what is wrong with the others.
fn add_integers(column: &ArrayRef, sample: &mut Sample) {
    for_each_integer(column, |id| sample.add_number(id));
}

/// Calls `f` with each integer of a column that can be an id.
fn for_each_integer(column: &ArrayRef, mut f: impl FnMut(u64)) {
    let Ok(column) = without_dictionary(column) else { return };
    let column = &column;
    downcast_integer_array! {
        column => match column.null_count() {
            0 => column.values().iter().filter_map(|&id| u64::try_from(i128::from(id)).ok()).for_each(f),
            _ => column.iter().flatten().filter_map(|id| u64::try_from(i128::from(id)).ok()).for_each(f),
        },
        _ => {
            let numbers = floats(column).into_iter().flatten().filter_map(whole_number);
            numbers.filter_map(|id| u64::try_from(id).ok()).for_each(&mut f);
        }
    }
}

/// Returns the largest integer of a column that is not negative, or 0.
fn largest_integer(column: &ArrayRef) -> u64 {
    // A negative number has its highest bit set; what stands under a null may be any.
    let by_bits = downcast_integer_array! {
        column => column.values().iter().fold(0, |largest, id| u64::max(largest, id.as_usize() as u64)),
        _ => u64::MAX,
    };
    if by_bits <= i64::MAX as u64 && column.null_count() == 0 {
        return by_bits;
    }
    let mut largest = 0;
    for_each_integer(column, |id| largest = largest.max(id));
    largest
}

/// Returns a number that no id of a column is above, less than twice the largest unless one is negative or missing.
fn bound_of_integers(column: &ArrayRef) -> u64 {
    downcast_integer_array! {
        // No number has a bit that is in none of them.
        column => column.values().iter().fold(0, |bits, id| bits | id.as_usize() as u64),
        _ => u64::MAX,
    }
}

/// Returns the kind of integer ids that these columns hold, by all of their rows.
pub(crate) fn ids_of_all(columns: &[ArrayRef], choices: &InputChoices) -> IdKind {
    let mut sample = Sample::default();
    let largest_of = |of: fn(&ArrayRef) -> u64| columns.iter().map(of).max().unwrap_or(0);
    let mut largest = largest_of(bound_of_integers);
    if !is_dense(largest, 0) {
        largest = largest_of(largest_integer);
    }
    let count: usize = columns.iter().map(|column| column.len()).sum();
    if is_dense(largest, 0) || !is_dense(largest, count as u64) {
        sample.add_number(largest);
    } else {
        // It depends on how many different ones there are.
        columns.iter().for_each(|ids| add_integers(ids, &mut sample));
    }
    sample.ids(choices.ids)
}

/// Returns the values of a column row by row, also of one by dictionary.
pub(crate) fn without_dictionary(column: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    match column.as_any_dictionary_opt() {
        Some(column) => take(column.values(), column.keys(), None),
        None => Ok(Arc::clone(column)),
    }
}

/// Returns the type of the values of a column, also of one by dictionary.
fn value_type(kind: &DataType) -> &DataType {
    match kind {
        DataType::Dictionary(_, values) => values,
        kind => kind,
    }
}

fn is_text(kind: &DataType) -> bool {
    matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

/// Reads the edges of a batch, whose first row is the `rows_before`-th of the table.
pub(crate) fn take_edges<C: IdColumn>(
    batch: &RecordBatch,
    wanted: &Wanted,
    rows_before: u64,
) -> Result<Edges<C>> {
    let row_error =
        |row: usize, fault: Fault| fault.into_error(Place::Row(1 + rows_before + row as u64));
    if wanted.columns().iter().any(|&idx| idx >= batch.num_columns()) {
        return Err(row_error(0, Fault::new(0, "a column is missing")));
    }
    // A column without values, as of nulls, may declare any number of rows: ids have values.
    for idx in wanted.ends {
        let kind = value_type(batch.column(idx).data_type());
        if !kind.is_integer() && !kind.is_floating() && !is_text(kind) {
            return Err(row_error(0, wrong_kind(kind)));
        }
    }
    let Some(is_whole) = whole_rows(batch, wanted) else {
        return take_columns(batch, wanted).map_err(|fault| row_error(fault.at, fault));
    };
    let null = is_whole.iter().position(|is_whole| !is_whole);
    if let Some(row) = null.filter(|_| !wanted.rules.skip_nulls) {
        return Err(row_error(row, null_in(batch, wanted, row)));
    }
    let skipped = is_whole.iter().filter(|is_whole| !**is_whole).count();
    let kept = filter_record_batch(batch, &BooleanArray::from(is_whole.clone()))
        .map_err(|error| syntax(Place::Whole, error.to_string()))?;
    // A fault's position counts the rows that are kept.
    let row_of = |kept: usize| {
        let whole = is_whole.iter().enumerate().filter(|(_, is_whole)| **is_whole);
        whole.map(|(row, _)| row).nth(kept).unwrap_or(0)
    };
    let edges = take_columns(&kept, wanted);
    let edges = edges.map_err(|fault| row_error(row_of(fault.at), fault))?;
    Ok(Edges { skipped: skipped as u64, ..edges })
}

/// Returns the fault of a row with a null: of its ids, or else of the first other column that has it.
fn null_in(batch: &RecordBatch, wanted: &Wanted, row: usize) -> Fault {
    let is_null = |idx: usize| {
        let is_whole = whole_in(batch.column(idx), !wanted.ends.contains(&idx));
        is_whole.is_some_and(|is_whole| !is_whole[row])
    };
    if wanted.ends.into_iter().any(is_null) {
        return Fault::null("an id is null");
    }
    match &wanted.timed {
        Some(timed) if is_null(timed.time) => null_time(),
        Some(timed) if timed.operation.is_some_and(is_null) => null_operation(),
        Some(timed) if timed.step.is_some_and(is_null) => null_step(),
        _ => null_weight(),
    }
}

/// Returns for each row whether it has no null where a value must be; nothing if none has.
fn whole_rows(batch: &RecordBatch, wanted: &Wanted) -> Option<Vec<bool>> {
    let mut is_whole: Option<Vec<bool>> = None;
    for idx in wanted.columns() {
        let whole = whole_in(batch.column(idx), !wanted.ends.contains(&idx));
        let Some(mut whole) = whole else { continue };
        if let Some(timed) = &wanted.timed
            && Some(idx) == wanted.weight
            && whole.contains(&false)
        {
            // The weight of a deletion is not read.
            let deletions = deletions_in(batch, timed);
            whole.iter_mut().zip(&deletions).for_each(|(whole, deletes)| *whole |= deletes);
        }
        let is_whole = is_whole.get_or_insert_with(|| vec![true; batch.num_rows()]);
        is_whole.iter_mut().zip(whole).for_each(|(is_whole, whole)| *is_whole &= whole);
    }
    is_whole.filter(|is_whole| is_whole.contains(&false))
}

/// Returns for each row of a column whether it has a value; nothing if none can lack one. NaN is none, and words that
/// data frames and databases write for a null are none, but for ids.
fn whole_in(column: &ArrayRef, has_words_for_null: bool) -> Option<Vec<bool>> {
    let nulls = column.logical_nulls().filter(|nulls| nulls.null_count() > 0);
    let is_text = is_text(value_type(column.data_type()));
    if nulls.is_none() && !column.data_type().is_floating() && !(is_text && has_words_for_null) {
        return None;
    }
    let mut is_whole = match nulls {
        Some(nulls) => nulls.iter().collect(),
        None => vec![true; column.len()],
    };
    // Data frames write a missing number as NaN.
    if column.data_type().is_floating()
        && let Some(numbers) = floats(column)
    {
        is_whole.iter_mut().zip(numbers).for_each(|(whole, number)| *whole &= !number.is_nan());
    }
    if has_words_for_null && let Some(texts) = texts_of(column) {
        let is_value = |text: &Option<String>| text.as_deref().is_some_and(|t| !is_null(t));
        is_whole.iter_mut().zip(&texts).for_each(|(whole, text)| *whole &= is_value(text));
    }
    Some(is_whole)
}

fn take_columns<C: IdColumn>(batch: &RecordBatch, wanted: &Wanted) -> Result<Edges<C>, Fault> {
    let (rules, [src, dst]) = (wanted.rules, wanted.ends.map(|idx| batch.column(idx)));
    let (src, dst) = (take_ids(src, rules)?, take_ids(dst, rules)?);
    let updates = wanted.timed.map(|timed| take_updates(batch, &timed)).transpose()?;
    let deletions = updates.as_ref().map(|updates| &updates.deletions[..]).unwrap_or_default();
    let weights = wanted.weight.map(|idx| take_weights(batch.column(idx), rules, deletions));
    let weights = weights.transpose()?;
    Ok(Edges { src, dst, weights, updates, skipped: 0 })
}

/// Reads a column of ids without nulls; a fault's position is a row.
fn take_ids<C: IdColumn>(array: &ArrayRef, rules: Rules) -> Result<C, Fault> {
    let mut ids = C::default();
    let kind = value_type(array.data_type());
    let array = &without_dictionary(array).map_err(|_| wrong_kind(kind))?;
    ids.reserve(array.len(), text_bytes(array));
    downcast_integer_array! {
        array => {
            // A negative number has its highest bit set.
            let numbers = array.values().iter().map(|id| id.as_usize() as u64);
            if !ids.push_numbers(numbers) {
                for (row, &id) in array.values().iter().enumerate() {
                    push_integer(id, &mut ids).map_err(|fault| Fault { at: row, ..fault })?;
                }
            }
        }
        DataType::Utf8 => push_texts(array.as_string::<i32>().iter(), &mut ids, rules)?,
        DataType::LargeUtf8 => push_texts(array.as_string::<i64>().iter(), &mut ids, rules)?,
        DataType::Utf8View => push_texts(array.as_string_view().iter(), &mut ids, rules)?,
        _ => {
            let numbers = floats(array).ok_or_else(|| wrong_kind(kind))?;
            for (row, number) in numbers.into_iter().enumerate() {
                let id = whole_number(number).ok_or_else(|| no_whole_number(number));
                id.and_then(|id| push_integer(id, &mut ids)).map_err(|fault| Fault { at: row, ..fault })?;
            }
        }
    }
    Ok(ids)
}

/// Returns how many bytes of text a column has, as far as it says at once.
fn text_bytes(array: &ArrayRef) -> usize {
    let between = |ends: Option<(i64, i64)>| ends.map_or(0, |(first, end)| end - first) as usize;
    match array.data_type() {
        DataType::Utf8 => {
            let ends = array.as_string::<i32>().value_offsets();
            between(ends.first().zip(ends.last()).map(|(&first, &end)| (first.into(), end.into())))
        }
        DataType::LargeUtf8 => {
            let ends = array.as_string::<i64>().value_offsets();
            between(ends.first().zip(ends.last()).map(|(&first, &end)| (first, end)))
        }
        _ => 0,
    }
}

/// Returns the integer that a number is. Data frames keep integers so where some are missing.
fn whole_number(number: f64) -> Option<i128> {
    // From here on not every integer is one of them.
    const END: f64 = (1_u64 << 53) as f64;
    (number.fract() == 0.0 && number.abs() < END).then_some(number as i128)
}

fn no_whole_number(number: f64) -> Fault {
    Fault::new(0, format!("the id {number} is no whole number below 2^53"))
}

fn wrong_kind(kind: &DataType) -> Fault {
    Fault::new(0, format!("a column of {kind} is neither integers nor text"))
}

fn push_integer<C: IdColumn, N>(id: N, ids: &mut C) -> Result<(), Fault>
where
    N: Copy + Display + TryInto<u64>,
{
    match id.try_into() {
        Ok(id) => ids.push_number(id),
        Err(_) if C::IS_TEXT => ids.push_field(id.to_string().as_bytes()),
        Err(_) => Err(Fault::new(0, format!("the id {id} is negative")).hint(ODD_IDS_HINT)),
    }
}

fn push_texts<'a, C: IdColumn>(
    texts: impl Iterator<Item = Option<&'a str>>,
    ids: &mut C,
    rules: Rules,
) -> Result<(), Fault> {
    for (row, text) in texts.enumerate() {
        push_text(text.unwrap_or_default(), ids, rules)
            .map_err(|fault| Fault { at: row, ..fault })?;
    }
    Ok(())
}

fn push_text<C: IdColumn>(id: &str, ids: &mut C, rules: Rules) -> Result<(), Fault> {
    if !C::IS_TEXT {
        rules.check_integer_id(id.as_bytes())?;
    }
    ids.push_text(id)
}

/// Reads a column of weights of which the first row is the `rows_before`-th of the table.
pub(crate) fn weights_in(
    column: &ArrayRef,
    options: &ReadOptions,
    rows_before: u64,
) -> Result<Vec<f32>> {
    let row_error =
        |row: usize, fault: Fault| fault.into_error(Place::Row(1 + rows_before + row as u64));
    if let Some(row) = (0..column.len()).find(|&row| column.is_null(row)) {
        return Err(row_error(row, null_weight()));
    }
    take_weights(column, Rules::of(options), &[]).map_err(|fault| row_error(fault.at, fault))
}

/// Reads a column of weights without nulls but in `deletions`, where they are not read.
fn take_weights(array: &ArrayRef, rules: Rules, deletions: &[bool]) -> Result<Vec<f32>, Fault> {
    downcast_integer_array! {
        array => weights_of(array.values(), |number| rules.take_integer((*number).into()), deletions),
        _ => {
            if let Some(texts) = texts_of(array) {
                let parse = |text: &Option<String>| {
                    rules.parse_weight(text.as_deref().unwrap_or_default().as_bytes())
                };
                return weights_of(&texts, parse, deletions);
            }
            let numbers = floats(array).ok_or_else(|| wrong_weight(&first_of(array)))?;
            weights_of(&numbers, |number| rules.take_float(*number), deletions)
        }
    }
}

fn weights_of<T>(
    values: &[T],
    read: impl Fn(&T) -> Result<f32, Fault>,
    deletions: &[bool],
) -> Result<Vec<f32>, Fault> {
    let weight = |(row, value)| match deletions.get(row) {
        Some(true) => Ok(UNREAD_WEIGHT),
        _ => read(value).map_err(|fault| Fault { at: row, ..fault }),
    };
    values.iter().enumerate().map(weight).collect()
}

/// Returns the values of a column of text, also of one by dictionary; `None` for another type.
pub(crate) fn texts_of(array: &ArrayRef) -> Option<Vec<Option<String>>> {
    let array = without_dictionary(array).ok()?;
    let owned = |text: Option<&str>| text.map(str::to_owned);
    Some(match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().iter().map(owned).collect(),
        DataType::LargeUtf8 => array.as_string::<i64>().iter().map(owned).collect(),
        DataType::Utf8View => array.as_string_view().iter().map(owned).collect(),
        _ => return None,
    })
}

/// Shows the first value of a column that holds no numbers, and its type.
pub(crate) fn first_of(array: &ArrayRef) -> String {
    let kind = array.data_type();
    match array.as_boolean_opt().filter(|values| !values.is_empty()) {
        Some(values) => format!("{} in a column of {kind}", values.value(0)),
        None => format!("a column of {kind}"),
    }
}

/// Returns numbers that need not be whole; `None` for a column of another type.
pub(crate) fn floats(array: &ArrayRef) -> Option<Vec<f64>> {
    Some(match array.data_type() {
        DataType::Float16 => widened::<Float16Type>(array),
        DataType::Float32 => widened::<Float32Type>(array),
        DataType::Float64 => widened::<Float64Type>(array),
        DataType::Decimal32(..) => in_binary::<Decimal32Type>(array),
        DataType::Decimal64(..) => in_binary::<Decimal64Type>(array),
        DataType::Decimal128(..) => in_binary::<Decimal128Type>(array),
        DataType::Decimal256(..) => in_binary::<Decimal256Type>(array),
        _ => return None,
    })
}

fn widened<T: ArrowPrimitiveType<Native: Into<f64>>>(array: &ArrayRef) -> Vec<f64> {
    array.as_primitive::<T>().values().iter().map(|&number| number.into()).collect()
}

/// Reads decimals from all of their digits, which rounds once. A damaged file may hold more digits
/// than the type says, which Arrow's own text of them leaves out.
fn in_binary<T: DecimalType<Native: Display>>(array: &ArrayRef) -> Vec<f64> {
    let decimals = array.as_primitive::<T>();
    let exponent = -i32::from(decimals.scale());
    let number = |digits: &T::Native| format!("{digits}e{exponent}").parse().unwrap_or(f64::NAN);
    decimals.values().iter().map(number).collect()
}

pub(crate) fn syntax(place: Place, what: impl Into<String>) -> Error {
    Error::Syntax { place, what: what.into(), hint: None }
}

/// Runs a decoder, since those of Arrow and Parquet answer some damaged files with a panic.
pub(crate) fn catch<T, E>(
    decoder: impl FnOnce() -> Result<T, E>,
    damaged: impl Fn(String) -> Error,
) -> Result<T>
where
    E: Display,
{
    match panic::catch_unwind(AssertUnwindSafe(decoder)) {
        Ok(result) => result.map_err(|error| damaged(error.to_string())),
        Err(_) => Err(damaged("its parts contradict each other".to_owned())),
    }
}
