//! What an update adds to an edge: its time, whether it is a deletion, and the step that it belongs to.
//!
//! An operation is `+` or `-`, `add` or `delete`, `insert` or `remove`, `added`, `inserted`, `deleted` or
//! `removed`, or `1` or `-1`; small and capital letters are the same. Without a column of operations every
//! update is an insertion.

use crate::error::{Fault, quote};
use crate::ids::scan_integer;
use crate::rules::is_null_word;
use crate::times::{TimeUnit, parse_time};

/// Words of insertions.
const INSERTIONS: [&str; 7] = ["+", "add", "insert", "1", "+1", "added", "inserted"];
/// Words of deletions.
const DELETIONS: [&str; 6] = ["-", "delete", "remove", "-1", "deleted", "removed"];

const OPERATION_HINT: &str = "operations are + and -, add and delete, insert and remove, or 1 and -1; \
                              --insertions-only takes every row for an insertion";
const STEP_HINT: &str = "steps are whole numbers from 0 on; --step names another column";

/// Where a record keeps what only updates have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timed {
    pub(crate) time: usize,
    pub(crate) operation: Option<usize>,
    pub(crate) step: Option<usize>,
    /// What numbers count that are times.
    pub(crate) unit: TimeUnit,
}

impl Timed {
    /// Returns the columns.
    pub(crate) fn columns(&self) -> impl Iterator<Item = usize> {
        [Some(self.time), self.operation, self.step].into_iter().flatten()
    }

    /// Returns the same with other numbers for the columns.
    pub(crate) fn map(self, place: impl Fn(usize) -> usize) -> Self {
        let Self { time, operation, step, unit } = self;
        let (operation, step) = (operation.map(&place), step.map(&place));
        Self { time: place(time), operation, step, unit }
    }

    /// Appends a field of a record, if it stands in one of the columns.
    #[inline]
    pub(crate) fn take(
        &self,
        column: usize,
        field: &[u8],
        updates: &mut Updates,
    ) -> Result<(), Fault> {
        if column == self.time {
            updates.times.push(parse_time(field, self.unit)?);
        } else if Some(column) == self.operation {
            updates.deletions.push(parse_operation(field)?);
        } else if Some(column) == self.step {
            updates.push_step(parse_step(field)?);
        }
        Ok(())
    }
}

/// What only updates have, column by column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Updates {
    /// Microseconds since 1970.
    pub(crate) times: Vec<i64>,
    /// Whether each is a deletion; empty where there are no operations.
    pub(crate) deletions: Vec<bool>,
    pub(crate) steps: Option<Vec<u64>>,
}

impl Updates {
    pub(crate) fn new(timed: &Timed) -> Self {
        Self { steps: timed.step.map(|_| Vec::new()), ..Self::default() }
    }

    /// Whether the last one is a deletion.
    pub(crate) fn deletes(&self) -> bool {
        self.deletions.last().is_some_and(|is_deletion| *is_deletion)
    }

    pub(crate) fn push_step(&mut self, step: u64) {
        self.steps.iter_mut().for_each(|steps| steps.push(step));
    }

    /// Keeps the first `len` updates.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.times.truncate(len);
        self.deletions.truncate(len);
        self.steps.iter_mut().for_each(|steps| steps.truncate(len));
    }
}

/// Reads an operation; returns whether it is a deletion.
pub(crate) fn parse_operation(field: &[u8]) -> Result<bool, Fault> {
    let is_one_of =
        |words: &[&str]| words.iter().any(|word| field.eq_ignore_ascii_case(word.as_bytes()));
    if is_one_of(&INSERTIONS) {
        return Ok(false);
    }
    if is_one_of(&DELETIONS) {
        return Ok(true);
    }
    match field.trim_ascii() {
        trimmed if trimmed.len() < field.len() => parse_operation(trimmed),
        b"" => Err(null_operation()),
        trimmed if is_null_word(trimmed) => Err(null_operation()),
        trimmed => Err(no_operation(&quote(trimmed))),
    }
}

/// Takes an operation that is a number; returns whether it is a deletion.
pub(crate) fn take_operation(number: i128) -> Result<bool, Fault> {
    match number {
        1 => Ok(false),
        -1 => Ok(true),
        other => Err(no_operation(&other.to_string())),
    }
}

/// Returns whether a field can be nothing but an operation: a word or a mark of one, and no number.
pub(crate) fn is_operation_word(field: &[u8]) -> bool {
    !field.ends_with(b"1") && parse_operation(field).is_ok()
}

/// Reads a step.
pub(crate) fn parse_step(field: &[u8]) -> Result<u64, Fault> {
    let field = field.trim_ascii();
    match scan_integer(field) {
        Some((step, len)) if len == field.len() => Ok(step),
        _ if field.is_empty() || is_null_word(field) => Err(null_step()),
        _ => Err(no_step(&quote(field))),
    }
}

/// Takes a step that is a number.
pub(crate) fn take_step(number: i128) -> Result<u64, Fault> {
    u64::try_from(number).map_err(|_| no_step(&number.to_string()))
}

/// Returns the fault of an operation that is null.
pub(crate) fn null_operation() -> Fault {
    Fault::null("the operation is null")
}

/// Returns the fault of a step that is null.
pub(crate) fn null_step() -> Fault {
    Fault::null("the step is null")
}

/// Returns the fault of what is no operation; `found` shows it.
#[cold]
pub(crate) fn no_operation(found: &str) -> Fault {
    Fault::new(0, format!("expected an operation, found {found}")).hint(OPERATION_HINT)
}

/// Returns the fault of what is no step; `found` shows it.
#[cold]
pub(crate) fn no_step(found: &str) -> Fault {
    Fault::new(0, format!("expected a step, found {found}")).hint(STEP_HINT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_known_in_any_case() {
        for word in ["+", "add", "Add", "INSERT", "1", "+1", " + ", "insert\r", "Added"] {
            assert_eq!(parse_operation(word.as_bytes()).ok(), Some(false), "{word}");
        }
        for word in ["-", "delete", "REMOVE", "-1", "\t-", "deleted", "removed"] {
            assert_eq!(parse_operation(word.as_bytes()).ok(), Some(true), "{word}");
        }
        for word in ["0", "2", "--", "update", "a d d", "−"] {
            let fault = parse_operation(word.as_bytes()).unwrap_err();
            assert!(!fault.is_null && fault.hint == Some(OPERATION_HINT), "{word}");
        }
        for word in ["", " ", "NULL", " NaN "] {
            assert!(parse_operation(word.as_bytes()).unwrap_err().is_null, "{word}");
        }
        assert_eq!([1, -1, 0].map(|n| take_operation(n).ok()), [Some(false), Some(true), None]);
    }

    #[test]
    fn numbers_may_be_anything_but_words_are_operations() {
        for (field, expected) in [
            ("+", true),
            ("Delete", true),
            ("1", false),
            ("-1", false),
            ("+1", false),
            ("x", false),
        ] {
            assert_eq!(is_operation_word(field.as_bytes()), expected, "{field}");
        }
    }

    #[test]
    fn steps_are_whole() {
        assert_eq!(parse_step(b" 18446744073709551615 ").ok(), Some(u64::MAX));
        for field in ["-1", "1.5", "x", "18446744073709551616"] {
            assert!(!parse_step(field.as_bytes()).unwrap_err().is_null, "{field}");
        }
        assert!(parse_step(b"").unwrap_err().is_null);
        assert!(take_step(7).is_ok() && take_step(-1).is_err() && take_step(1 << 64).is_err());
    }
}
