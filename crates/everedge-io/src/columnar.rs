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
use arrow_schema::{ArrowError, DataType, Schema};
use arrow_select::filter::filter_record_batch;
use arrow_select::take::take;

use crate::columns::{GuessedColumn, resolve};
use crate::error::Fault;
use crate::ids::{IdColumn, ODD_IDS_HINT};
use crate::read::Edges;
use crate::rules::{Rules, null_weight, wrong_weight};
use crate::survey::{Sample, is_null};
use crate::{Column, Error, Format, Guess, InputChoices, Place, ReadOptions, Result};

/// Where a table keeps sources, destinations and, if they are asked for, weights.
#[derive(Clone, Debug)]
pub(crate) struct Wanted(pub(crate) Vec<usize>);

impl Wanted {
    /// Finds the columns in a schema.
    pub(crate) fn find(schema: &Schema, options: &ReadOptions) -> Result<Self> {
        let columns = &options.columns;
        let weight = options.weighted.then_some(&columns.weight);
        let names: Vec<Option<&str>> =
            schema.fields().iter().map(|field| Some(field.name().as_str())).collect();
        let find = |column: &Column| {
            column.find(&names).ok_or_else(|| {
                let names: Vec<&str> = names.iter().copied().flatten().collect();
                syntax(Place::Whole, format!("there is no column {column} among {names:?}"))
            })
        };
        let wanted = [&columns.src, &columns.dst].into_iter().chain(weight);
        Ok(Self(wanted.map(find).collect::<Result<_>>()?))
    }

    /// The same columns in a batch that holds no others.
    pub(crate) fn projected(&self) -> Self {
        let mut in_order = self.0.clone();
        in_order.sort_unstable();
        in_order.dedup();
        let place = |idx: &usize| in_order.binary_search(idx).unwrap_or(usize::MAX);
        Self(self.0.iter().map(place).collect())
    }
}

/// Guesses which columns hold what, from the types and some rows.
pub(crate) fn guess(
    format: Format,
    schema: &Schema,
    first: impl FnOnce(&[usize]) -> Result<Option<RecordBatch>>,
    choices: &InputChoices,
) -> Result<Guess> {
    let columns = schema.fields().iter().map(|field| GuessedColumn {
        name: Some(field.name().clone()),
        is_numeric: field.data_type().is_numeric(),
        may_hold_ids: value_type(field.data_type()).is_integer()
            || is_text(value_type(field.data_type())),
    });
    let columns: Vec<GuessedColumn> = columns.collect();
    let resolved = resolve(&columns, choices).map_err(|fault| fault.into_error(Place::Whole))?;
    let ends = [resolved.src, resolved.dst];
    let mut sample = Sample::default();
    if ends.iter().any(|&idx| is_text(value_type(schema.field(idx).data_type()))) {
        sample.add_text();
    } else if let Some(batch) = first(&ends)? {
        batch.columns().iter().for_each(|column| add_integers(column, &mut sample));
    } else {
        // Nothing says how large the integers are: an id map takes any.
        sample.add_number(u64::MAX);
    }
    let guess = Guess { columns, ..Guess::of(format) };
    Ok(guess.with_columns(resolved, sample.ids(choices.ids)))
}

/// Adds a column's integers to a sample; reading them says what is wrong with the others.
fn add_integers(column: &ArrayRef, sample: &mut Sample) {
    let Ok(column) = without_dictionary(column) else { return };
    let column = &column;
    downcast_integer_array! {
        column => {
            let numbers = column.iter().flatten().map(i128::from);
            numbers.filter_map(|id| u64::try_from(id).ok()).for_each(|id| sample.add_number(id));
        }
        _ => {}
    }
}

/// Returns the values of a column row by row, also of one by dictionary.
fn without_dictionary(column: &ArrayRef) -> Result<ArrayRef, ArrowError> {
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
    rules: Rules,
    rows_before: u64,
) -> Result<Edges<C>> {
    let row_error =
        |row: usize, fault: Fault| fault.into_error(Place::Row(1 + rows_before + row as u64));
    if wanted.0.iter().any(|&idx| idx >= batch.num_columns()) {
        return Err(row_error(0, Fault::new(0, "a column is missing")));
    }
    // A column without values, as of nulls, may declare any number of rows: ids have values.
    for &idx in wanted.0.iter().take(2) {
        let kind = value_type(batch.column(idx).data_type());
        if !kind.is_integer() && !is_text(kind) {
            return Err(row_error(0, wrong_kind(kind)));
        }
    }
    let is_whole = whole_rows(batch, wanted);
    let null = is_whole.iter().position(|is_whole| !is_whole);
    if let Some(row) = null.filter(|_| !rules.skip_nulls) {
        return Err(row_error(row, null_in(batch, wanted, row)));
    }
    let skipped = is_whole.iter().filter(|is_whole| !**is_whole).count();
    let kept = match null {
        None => batch.clone(),
        Some(_) => filter_record_batch(batch, &BooleanArray::from(is_whole.clone()))
            .map_err(|error| syntax(Place::Whole, error.to_string()))?,
    };
    // A fault's position counts the rows that are kept.
    let row_of = |kept: usize| {
        let whole = is_whole.iter().enumerate().filter(|(_, is_whole)| **is_whole);
        whole.map(|(row, _)| row).nth(kept).unwrap_or(0)
    };
    let edges = take_columns(&kept, wanted, rules);
    let edges = edges.map_err(|fault| row_error(row_of(fault.at), fault))?;
    Ok(Edges { skipped: skipped as u64, ..edges })
}

/// Returns the fault of a row with a null: of its weight, if both ids are there.
fn null_in(batch: &RecordBatch, wanted: &Wanted, row: usize) -> Fault {
    let is_null =
        |&idx: &usize| batch.column(idx).logical_nulls().is_some_and(|nulls| nulls.is_null(row));
    match wanted.0.iter().take(2).any(is_null) {
        true => Fault::null("an id is null"),
        false => null_weight(),
    }
}

/// Returns for each row whether it has no null where an id or a weight must be.
fn whole_rows(batch: &RecordBatch, wanted: &Wanted) -> Vec<bool> {
    let mut is_whole = vec![true; batch.num_rows()];
    for (place, &idx) in wanted.0.iter().enumerate() {
        let column = batch.column(idx);
        if let Some(nulls) = column.logical_nulls() {
            is_whole.iter_mut().zip(nulls.iter()).for_each(|(whole, valid)| *whole &= valid);
        }
        // Data frames write a missing number as NaN.
        if place == 2
            && column.data_type().is_floating()
            && let Some(weights) = floats(column)
        {
            is_whole.iter_mut().zip(weights).for_each(|(whole, weight)| *whole &= !weight.is_nan());
        }
        if place == 2
            && let Some(weights) = texts_of(column)
        {
            let is_number = |text: &Option<String>| text.as_deref().is_some_and(|t| !is_null(t));
            is_whole.iter_mut().zip(&weights).for_each(|(whole, text)| *whole &= is_number(text));
        }
    }
    is_whole
}

fn take_columns<C: IdColumn>(
    batch: &RecordBatch,
    wanted: &Wanted,
    rules: Rules,
) -> Result<Edges<C>, Fault> {
    let column = |place: usize| batch.column(wanted.0[place]);
    let (src, dst) = (take_ids(column(0), rules)?, take_ids(column(1), rules)?);
    let weights = wanted.0.get(2).map(|_| take_weights(column(2), rules)).transpose()?;
    Ok(Edges { src, dst, weights, skipped: 0 })
}

/// Reads a column of ids without nulls; a fault's position is a row.
fn take_ids<C: IdColumn>(array: &ArrayRef, rules: Rules) -> Result<C, Fault> {
    let mut ids = C::default();
    let kind = value_type(array.data_type());
    let array = &without_dictionary(array).map_err(|_| wrong_kind(kind))?;
    downcast_integer_array! {
        array => {
            for (row, &id) in array.values().iter().enumerate() {
                push_integer(id.into(), &mut ids).map_err(|fault| Fault { at: row, ..fault })?;
            }
        }
        DataType::Utf8 => push_texts(array.as_string::<i32>().iter(), &mut ids, rules)?,
        DataType::LargeUtf8 => push_texts(array.as_string::<i64>().iter(), &mut ids, rules)?,
        DataType::Utf8View => push_texts(array.as_string_view().iter(), &mut ids, rules)?,
        _ => return Err(wrong_kind(kind)),
    }
    Ok(ids)
}

fn wrong_kind(kind: &DataType) -> Fault {
    Fault::new(0, format!("a column of {kind} is neither integers nor text"))
}

fn push_integer<C: IdColumn>(id: i128, ids: &mut C) -> Result<(), Fault> {
    match u64::try_from(id) {
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
    ids.push_field(id.as_bytes())
}

/// Reads a column of weights without nulls.
fn take_weights(array: &ArrayRef, rules: Rules) -> Result<Vec<f32>, Fault> {
    let at_row = |row: usize| move |fault: Fault| Fault { at: row, ..fault };
    downcast_integer_array! {
        array => {
            let numbers = array.values().iter().enumerate();
            numbers.map(|(row, &n)| rules.take_integer(n.into()).map_err(at_row(row))).collect()
        }
        _ => {
            if let Some(texts) = texts_of(array) {
                return take_weight_texts(&texts, rules);
            }
            let wrong_kind = || wrong_weight(&first_of(array));
            let numbers = floats(array).ok_or_else(wrong_kind)?.into_iter().enumerate();
            numbers.map(|(row, number)| rules.take_float(number).map_err(at_row(row))).collect()
        }
    }
}

/// Reads weights that are written as text.
fn take_weight_texts(texts: &[Option<String>], rules: Rules) -> Result<Vec<f32>, Fault> {
    let weight = |(row, text): (usize, &Option<String>)| {
        let weight = rules.parse_weight(text.as_deref().unwrap_or_default().as_bytes());
        weight.map_err(|fault| Fault { at: row, ..fault })
    };
    texts.iter().enumerate().map(weight).collect()
}

/// Returns the values of a column of text, also of one by dictionary; `None` for another type.
fn texts_of(array: &ArrayRef) -> Option<Vec<Option<String>>> {
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
fn first_of(array: &ArrayRef) -> String {
    let kind = array.data_type();
    match array.as_boolean_opt().filter(|values| !values.is_empty()) {
        Some(values) => format!("{} in a column of {kind}", values.value(0)),
        None => format!("a column of {kind}"),
    }
}

/// Returns numbers that need not be whole; `None` for a column of another type.
fn floats(array: &ArrayRef) -> Option<Vec<f64>> {
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
