//! Times, operations and steps in Arrow's columns, which Parquet and Arrow IPC share.
//!
//! Times may be timestamps of any unit, dates, numbers, or text. The type of a timestamp or date says
//! what it counts, from 1970 UTC on, with a zone or without. Operations may be text or integers, steps
//! integers or text. A fault's position is a row.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use arrow_array::{Array, ArrayRef, RecordBatch, downcast_integer_array};
use arrow_schema::DataType;

use crate::TimeUnit;
use crate::columnar::{first_of, floats, texts_of, without_dictionary};
use crate::error::Fault;
use crate::operations::{
    Timed, Updates, no_operation, no_step, parse_operation, parse_step, take_operation, take_step,
};
use crate::survey::is_null;
use crate::times::{no_time, parse_time, take_days};

/// Values that show what unit times have.
const SHOWN_ROWS: usize = 1000;

/// Reads what only updates have from a batch without nulls.
pub(crate) fn take_updates(batch: &RecordBatch, timed: &Timed) -> Result<Updates, Fault> {
    let times = take_times(batch.column(timed.time), timed.unit)?;
    let operations = timed
        .operation
        .map(|idx| take_words(batch.column(idx), parse_operation, take_operation, no_operation));
    let steps = timed.step.map(|idx| take_words(batch.column(idx), parse_step, take_step, no_step));
    let deletions = operations.transpose()?.unwrap_or_default();
    Ok(Updates { times, deletions, steps: steps.transpose()? })
}

/// Returns for each row whether it is a deletion, as far as it says one thing or the other; nothing without a column of
/// operations.
pub(crate) fn deletions_in(batch: &RecordBatch, timed: &Timed) -> Vec<bool> {
    let Some(column) = timed.operation.map(|idx| batch.column(idx)) else { return Vec::new() };
    let parse = |text: &[u8]| Ok(parse_operation(text).unwrap_or(false));
    let take = |number| Ok(take_operation(number).unwrap_or(false));
    take_words(column, parse, take, no_operation).unwrap_or_default()
}

/// What the values of a column of timestamps or dates count.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TimestampUnit {
    /// Days since 1970.
    Days,
    /// A unit that numbers may have too.
    Of(TimeUnit),
}

/// Returns what a column counts whose type says that it holds times; `None` for another type.
pub(crate) fn timestamp_unit(kind: &DataType) -> Option<TimestampUnit> {
    use arrow_schema::TimeUnit as Unit;
    let kind = match kind {
        DataType::Dictionary(_, values) => values,
        kind => kind,
    };
    Some(match kind {
        DataType::Date32 => TimestampUnit::Days,
        DataType::Date64 => TimestampUnit::Of(TimeUnit::Milliseconds),
        DataType::Timestamp(Unit::Second, _) => TimestampUnit::Of(TimeUnit::Seconds),
        DataType::Timestamp(Unit::Millisecond, _) => TimestampUnit::Of(TimeUnit::Milliseconds),
        DataType::Timestamp(Unit::Microsecond, _) => TimestampUnit::Of(TimeUnit::Microseconds),
        DataType::Timestamp(Unit::Nanosecond, _) => TimestampUnit::Of(TimeUnit::Nanoseconds),
        _ => return None,
    })
}

/// Returns the first values of a column of numbers or text that are not null, as they would stand in a
/// table; none of other types.
pub(crate) fn written(array: &ArrayRef) -> Vec<String> {
    let array = &array.slice(0, array.len().min(SHOWN_ROWS));
    let Ok(array) = without_dictionary(array) else { return Vec::new() };
    let array = &array;
    downcast_integer_array! {
        array => array.iter().flatten().map(|number| number.to_string()).collect(),
        _ => match (texts_of(array), floats(array)) {
            (Some(texts), _) => texts.into_iter().flatten().filter(|text| !is_null(text)).collect(),
            (None, Some(numbers)) => {
                let numbers = numbers.into_iter().enumerate();
                let numbers = numbers.filter(|(row, _)| array.is_valid(*row));
                numbers.map(|(_, number)| number.to_string()).collect()
            }
            (None, None) => Vec::new(),
        }
    }
}

/// Reads a column of times; numbers and text count `unit`.
fn take_times(array: &ArrayRef, unit: TimeUnit) -> Result<Vec<i64>, Fault> {
    let wrong_kind = || no_time(&first_of(array));
    let array = &without_dictionary(array).map_err(|_| wrong_kind())?;
    match timestamp_unit(array.data_type()) {
        Some(TimestampUnit::Days) => {
            let days = array.as_primitive::<Date32Type>().values().iter();
            return each(days, |days| take_days(i64::from(*days)));
        }
        Some(TimestampUnit::Of(unit)) => {
            let counts = counts_of(array).ok_or_else(wrong_kind)?;
            return each(counts.iter(), |count| unit.take_integer((*count).into()));
        }
        None => {}
    }
    if let Some(texts) = texts_of(array) {
        let bytes = |text: &Option<String>| {
            parse_time(text.as_deref().unwrap_or_default().as_bytes(), unit)
        };
        return each(texts.iter(), bytes);
    }
    downcast_integer_array! {
        array => each(array.values().iter(), |number| unit.take_integer((*number).into())),
        _ => {
            let numbers = floats(array).ok_or_else(wrong_kind)?;
            each(numbers.iter(), |number| unit.take_float(*number))
        }
    }
}

/// Returns the values of a column of timestamps.
fn counts_of(array: &ArrayRef) -> Option<&[i64]> {
    use arrow_schema::TimeUnit as Unit;
    Some(match array.data_type() {
        DataType::Date64 => array.as_primitive::<Date64Type>().values(),
        DataType::Timestamp(Unit::Second, _) => {
            array.as_primitive::<TimestampSecondType>().values()
        }
        DataType::Timestamp(Unit::Millisecond, _) => {
            array.as_primitive::<TimestampMillisecondType>().values()
        }
        DataType::Timestamp(Unit::Microsecond, _) => {
            array.as_primitive::<TimestampMicrosecondType>().values()
        }
        DataType::Timestamp(Unit::Nanosecond, _) => {
            array.as_primitive::<TimestampNanosecondType>().values()
        }
        _ => return None,
    })
}

/// Reads a column of text or integers.
fn take_words<T>(
    array: &ArrayRef,
    parse: impl Fn(&[u8]) -> Result<T, Fault>,
    take: impl Fn(i128) -> Result<T, Fault>,
    refuse: impl Fn(&str) -> Fault,
) -> Result<Vec<T>, Fault> {
    let wrong_kind = || refuse(&first_of(array));
    let array = &without_dictionary(array).map_err(|_| wrong_kind())?;
    if let Some(texts) = texts_of(array) {
        return each(texts.iter(), |text| parse(text.as_deref().unwrap_or_default().as_bytes()));
    }
    downcast_integer_array! {
        array => each(array.values().iter(), |number| take((*number).into())),
        _ => Err(wrong_kind()),
    }
}

/// Reads the values of a column one by one.
fn each<I: Iterator, T>(
    values: I,
    read: impl Fn(I::Item) -> Result<T, Fault>,
) -> Result<Vec<T>, Fault> {
    let read = |(row, value)| read(value).map_err(|fault| Fault { at: row, ..fault });
    values.enumerate().map(read).collect()
}
