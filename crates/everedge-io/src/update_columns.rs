//! Which columns of a table of updates hold what.
//!
//! Columns that the caller chose are fixed. Then names say where times, operations and steps are;
//! of the columns that are left, `columns.rs` says which are the ends and the weight. Without names the
//! look of a record does:
//!
//! ```text
//! step time op src dst     five columns, the third of which is + and -
//! src dst time             three columns
//! src dst weight time      four columns
//! ```
//! Of three or four columns, one of dates holds the times wherever it stands; `columns.rs` says whether
//! what is left is a weight. A first column that looks more like times than the last one, and one of 1 and -1, may be two
//! things and are refused.

use std::ops::RangeInclusive;

use crate::columns::{GuessedColumn, Resolved, locate, resolve};
use crate::error::{Fault, quote};
use crate::names::{is_operation, is_perhaps_operation, is_step, is_time};
use crate::operations::{Timed, is_operation_word, parse_step};
use crate::survey::{Header, Row};
use crate::times::{is_clock, is_date, parse_time};
use crate::{Column, InputChoices, OperationChoice, TimeUnit, UpdateChoices};

const NAME_HINT: &str = "choose it with --time, by its name or its number from 0";
const OPERATION_HINT: &str = "choose it with --operation, or say --insertions-only";
const NUMBERS_HINT: &str = "choose them by number, counted from 0: --src 0 --dst 1 --time 2, and \
                            --operation if there is one";
const WORDS_HINT: &str = "write + and - there, or another pair of words for operations; --insertions-only takes every row \
                          for an insertion";
const SIGNS_HINT: &str = "say which with --weight or --operation and its number; --insertions-only takes every row for an \
                          insertion";
const TIMES_HINT: &str = "choose the columns by number, counted from 0: --src 1 --dst 2 --time 0";
/// Seconds since 1970 from 1973 to 2096: seldom are all sources so large. Milliseconds are larger by a factor.
const LIKELY_SECONDS: RangeInclusive<f64> = 1e8..=4e9;
const MILLISECONDS: f64 = 1e3;
/// So many words of a column are shown.
const WORDS_SHOWN: usize = 4;
const CLOCK_HINT: &str = "write both as 2024-05-31T10:30:00, or choose one with --time";

/// The fields of a column that are not null, as text.
pub(crate) type Fields<'a> = dyn Fn(usize) -> Vec<String> + 'a;

/// Finds the columns of a table; `fields` returns those of its first records.
///
/// # Errors
/// If no column holds times, several may, or `columns.rs` finds no ends.
pub(crate) fn resolve_updates(
    columns: &[GuessedColumn],
    fields: &Fields<'_>,
    choices: &UpdateChoices,
) -> Result<(Resolved, Found), Fault> {
    let chosen = Roles::chosen(columns, choices)?;
    let has_names = columns.iter().any(|column| column.name.is_some());
    let mut roles = match has_names {
        true => chosen.or_named(columns, fields, choices)?,
        false => chosen.or_looked(columns, fields),
    };
    if !has_names && choices.time.is_none() {
        refuse_times_elsewhere(columns.len(), &roles, fields)?;
    }
    let Some(time) = roles.time else { return Err(no_times(columns)) };
    if choices.time.is_none() {
        let mut others = (0..columns.len()).filter(|idx| *idx != time);
        refuse_clocks(&fields(time), || others.any(|idx| most_are(&fields(idx), is_clock)))?;
    }
    if roles.operation.is_none() {
        let is_free = |idx: &usize| !roles.holds(*idx);
        let mut free = (0..columns.len()).filter(is_free);
        roles.operation = free.find(|&idx| are_operations(&fields(idx)));
    }
    let edges = resolve_others(columns, &roles, choices)?;
    if roles.operation.is_none() && choices.operation == OperationChoice::Auto {
        // What is only guessed to be a weight may be this.
        let held = Roles { src: Some(edges.src), dst: Some(edges.dst), ..roles };
        let free: Vec<usize> = (0..columns.len()).filter(|idx| !held.holds(*idx)).collect();
        refuse_unknown_operations(columns, free.iter().copied(), fields)?;
        if !has_names {
            refuse_signs(free.iter().copied(), fields)?;
        }
    }
    // A column of operations holds no ends, also where it is not read.
    let is_read = choices.operation != OperationChoice::InsertionsOnly;
    let operation = roles.operation.filter(|_| is_read);
    Ok((edges, Found { time, operation, step: roles.step }))
}

/// Refuses a column that nothing reads and that may say which updates are deletions, in words that are not known: all
/// of them would be insertions.
fn refuse_unknown_operations(
    columns: &[GuessedColumn],
    mut free: impl Iterator<Item = usize>,
    fields: &Fields<'_>,
) -> Result<(), Fault> {
    let may_be = |&idx: &usize| {
        let GuessedColumn { name, is_numeric, is_date, .. } = &columns[idx];
        let is_flag = |field: &String| matches!(field.trim(), "0" | "1");
        match name {
            Some(name) => {
                is_perhaps_operation(name) && (!is_numeric || fields(idx).iter().all(is_flag))
            }
            None => !is_numeric && !is_date && all_are_words(&fields(idx)),
        }
    };
    let Some(idx) = free.find(may_be) else { return Ok(()) };
    let mut words = fields(idx);
    words.sort_unstable();
    words.dedup();
    words.truncate(WORDS_SHOWN);
    let words: Vec<String> = words.iter().map(|word| quote(word.as_bytes())).collect();
    let what = match &columns[idx].name {
        Some(name) => format!("the column {}", quote(name.as_bytes())),
        None => format!("column {idx}, counted from 0,"),
    };
    let words = words.join(", ");
    let what = format!(
        "{what} may say what is inserted and deleted, in words that are not known: {words}"
    );
    Err(Fault::new(0, what).hint(WORDS_HINT))
}

/// Refuses a column without a name of 1 and -1, which may be weights or operations.
fn refuse_signs(mut free: impl Iterator<Item = usize>, fields: &Fields<'_>) -> Result<(), Fault> {
    let are_signs = |idx: &usize| {
        let fields = fields(*idx);
        let are = |sign: &str| fields.iter().filter(|field| field.trim() == sign).count();
        let (down, up) = (are("-1"), are("1") + are("+1"));
        down > 0 && up > 0 && down + up == fields.len()
    };
    let Some(idx) = free.find(are_signs) else { return Ok(()) };
    let what = format!(
        "column {idx}, counted from 0, holds 1 and -1: weights, or insertions and deletions"
    );
    Err(Fault::new(0, what).hint(SIGNS_HINT))
}

/// Refuses records whose first column looks like times more than the one that is taken for them.
fn refuse_times_elsewhere(width: usize, roles: &Roles, fields: &Fields<'_>) -> Result<(), Fault> {
    let are_times = |idx: usize| {
        let fields = fields(idx);
        let are_seconds = |number: f64| LIKELY_SECONDS.contains(&number);
        let is_time = |number: f64| are_seconds(number) || are_seconds(number / MILLISECONDS);
        !fields.is_empty() && fields.iter().all(|field| field.trim().parse().is_ok_and(is_time))
    };
    let Some(time) = roles.time.filter(|&time| time > 0 && width > 2) else { return Ok(()) };
    let is_clear = roles.src != Some(0) || !are_times(0) || (1..width).any(are_times);
    if is_clear || most_are(&fields(time), is_date) {
        return Ok(());
    }
    let what = format!(
        "the times may stand in column 0, whose numbers may be seconds since 1970, or in column {time}"
    );
    Err(Fault::new(0, what).hint(TIMES_HINT))
}

fn all_are_words(fields: &[String]) -> bool {
    let is_word = |field: &String| field.chars().all(|c| c.is_alphabetic() || "_- ".contains(c));
    !fields.is_empty() && fields.iter().all(is_word)
}

/// Refuses dates beside which another column has times of day: alone they would all be midnight.
fn refuse_clocks(times: &[String], has_clocks: impl FnOnce() -> bool) -> Result<(), Fault> {
    if most_are(times, is_date) && has_clocks() {
        let what = "dates and times of day stand in two columns";
        return Err(Fault::new(0, what).hint(CLOCK_HINT));
    }
    Ok(())
}

/// Returns whether most fields are something; reading says what is wrong with the others.
pub(crate) fn most_are(fields: &[String], is: impl Fn(&[u8]) -> bool) -> bool {
    2 * fields.iter().filter(|field| is(field.as_bytes())).count() > fields.len()
}

/// Where a table of updates keeps what other tables have not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) time: usize,
    pub(crate) operation: Option<usize>,
    pub(crate) step: Option<usize>,
}

/// Returns whether a column that nothing names holds operations: most fields can be nothing else, and
/// one at least is not `-`, which stands for nothing as well.
pub(crate) fn are_operations(fields: &[String]) -> bool {
    let is_clear = |field: &String| field.trim() != "-" && is_operation_word(field.as_bytes());
    most_are(fields, is_operation_word) && fields.iter().any(is_clear)
}

/// Returns whether a column holds operations by its fields, or by its name and numbers that can be operations: 1 and -1. Where
/// the first rows are insertions, a later one may be a deletion.
pub(crate) fn hold_operations(name: Option<&str>, fields: &[String]) -> bool {
    let is_named = name.is_some_and(is_operation);
    let are_numbers = fields.iter().all(|field| matches!(field.trim(), "1" | "+1" | "-1"));
    are_operations(fields) || is_named && are_numbers && !fields.is_empty()
}

/// Finds the header of a table of updates: names of columns, one of which may stand above times.
pub(crate) fn find_header(rows: &[Row], comment: Vec<String>, choices: &UpdateChoices) -> Header {
    let has_named_times = || names_times(rows).then_some(true);
    let header = choices.edges.header.or_else(has_named_times);
    let edges = InputChoices { header, ..choices.edges.clone() };
    Header::find(rows, comment, &edges, &choices.chosen())
}

/// Returns whether the first record names a column below which most fields are times.
fn names_times(rows: &[Row]) -> bool {
    let Some((first, rest)) = rows.split_first() else { return false };
    let below = |idx: usize| -> Vec<String> {
        rest.iter().filter_map(|row| row.get(idx)).map(|field| field.text.clone()).collect()
    };
    // In the shortest unit most numbers are times.
    let is_value = |field: &[u8]| parse_time(field, TimeUnit::Nanoseconds).is_ok();
    let names = first.iter().enumerate().filter(|(_, name)| is_time(name));
    names.into_iter().any(|(idx, _)| most_are(&below(idx), is_value))
}

/// Refuses a column that was chosen for two things.
pub(crate) fn check_distinct_updates(
    src: usize,
    dst: usize,
    weight: Option<usize>,
    timed: &Timed,
) -> Result<(), Fault> {
    let ends = [src, dst].into_iter().chain(weight);
    check_distinct(ends.chain(timed.columns()).collect())
}

fn check_distinct(mut columns: Vec<usize>) -> Result<(), Fault> {
    columns.sort_unstable();
    if columns.windows(2).any(|pair| pair[0] == pair[1]) {
        let what = "a column was chosen twice among sources, destinations, weights, times, \
                    operations and steps";
        return Err(Fault::new(0, what));
    }
    Ok(())
}

/// Which column holds what, as far as that is known.
#[derive(Clone, Copy, Debug, Default)]
struct Roles {
    src: Option<usize>,
    dst: Option<usize>,
    weight: Option<usize>,
    time: Option<usize>,
    operation: Option<usize>,
    step: Option<usize>,
}

impl Roles {
    /// Returns the columns that the caller chose.
    fn chosen(columns: &[GuessedColumn], choices: &UpdateChoices) -> Result<Self, Fault> {
        let find = |column: Option<&Column>| column.map(|c| locate(c, columns)).transpose();
        let edges = &choices.edges;
        let roles = Self {
            src: find(edges.src.as_ref())?,
            dst: find(edges.dst.as_ref())?,
            weight: find(edges.weight.as_ref())?,
            time: find(choices.time.as_ref())?,
            operation: find(choices.operation.column())?,
            step: find(choices.step.as_ref())?,
        };
        check_distinct(roles.columns().collect())?;
        Ok(roles)
    }

    fn columns(&self) -> impl Iterator<Item = usize> {
        let Self { src, dst, weight, time, operation, step } = *self;
        [src, dst, weight, time, operation, step].into_iter().flatten()
    }

    fn holds(&self, column: usize) -> bool {
        self.columns().any(|held| held == column)
    }

    /// Adds times, operations and steps by the names of columns.
    fn or_named(
        self,
        columns: &[GuessedColumn],
        fields: &Fields<'_>,
        choices: &UpdateChoices,
    ) -> Result<Self, Fault> {
        let is_called = |idx: usize, is: fn(&str) -> bool| {
            columns[idx].name.as_deref().is_some_and(is) && !self.holds(idx)
        };
        let called =
            |is: fn(&str) -> bool| (0..columns.len()).filter(move |&idx| is_called(idx, is));
        let are_steps = |idx: &usize| {
            let is_step = |field: &String| parse_step(field.as_bytes()).is_ok();
            let GuessedColumn { is_numeric, may_hold_ids, .. } = columns[*idx];
            is_numeric && may_hold_ids && fields(*idx).iter().all(is_step)
        };
        let time = match self.time {
            None => only_one(columns, called(is_time), "times", NAME_HINT)?,
            chosen => chosen,
        };
        let operation = match choices.operation {
            OperationChoice::Auto => {
                only_one(columns, called(is_operation), "operations", OPERATION_HINT)?
            }
            OperationChoice::Column(_) => self.operation,
            OperationChoice::InsertionsOnly => called(is_operation).next(),
        };
        let step = self.step.or_else(|| called(is_step).find(are_steps));
        Ok(Self { time, operation, step, ..self })
    }

    /// Adds what the look of the records says, if it leaves the chosen columns where they are.
    fn or_looked(self, columns: &[GuessedColumn], fields: &Fields<'_>) -> Self {
        let Some(look) = Self::looked(columns.len(), fields) else { return self };
        let all = Self {
            src: self.src.or(look.src),
            dst: self.dst.or(look.dst),
            weight: self.weight,
            time: self.time.or(look.time),
            operation: self.operation.or(look.operation),
            step: self.step.or(look.step),
        };
        if check_distinct(all.columns().collect()).is_ok() { all } else { self }
    }

    /// Returns what records without names hold by their look.
    fn looked(width: usize, fields: &Fields<'_>) -> Option<Self> {
        let [step, time, operation, src, dst] = [0, 1, 2, 3, 4].map(Some);
        if width == 5 && most_are(&fields(2), is_operation_word) {
            return Some(Self { src, dst, time, operation, step, ..Self::default() });
        }
        if !(3..=4).contains(&width)
            || (0..width).any(|idx| most_are(&fields(idx), is_operation_word))
        {
            return None;
        }
        let are_dates = |idx: &usize| most_are(&fields(*idx), is_date);
        let time = (0..width).find(are_dates).unwrap_or(width - 1);
        let mut others = (0..width).filter(|idx| *idx != time);
        let (src, dst) = (others.next(), others.next());
        Some(Self { src, dst, time: Some(time), ..Self::default() })
    }
}

/// Returns the only column of some, if there is one.
fn only_one(
    columns: &[GuessedColumn],
    mut candidates: impl Iterator<Item = usize>,
    what: &str,
    hint: &'static str,
) -> Result<Option<usize>, Fault> {
    let (first, second) = (candidates.next(), candidates.next());
    let (Some(first), Some(second)) = (first, second) else { return Ok(first) };
    let name = |idx: usize| columns[idx].name.as_deref().unwrap_or_default().escape_debug();
    let what = format!("two columns may hold the {what}: {}, {}", name(first), name(second));
    Err(Fault::new(0, what).hint(hint))
}

#[cold]
fn no_times(columns: &[GuessedColumn]) -> Fault {
    let names: Vec<&str> = columns.iter().filter_map(|column| column.name.as_deref()).collect();
    if names.is_empty() {
        let count = columns.len();
        let what = format!("no names say which of the {count} columns hold the ends and the times");
        return Fault::new(0, what).hint(NUMBERS_HINT);
    }
    let what = format!("no column is called as times are: {}", names.join(", ").escape_debug());
    Fault::new(0, what).hint(NAME_HINT)
}

/// Finds the ends and the weight among the columns that hold nothing else.
fn resolve_others(
    columns: &[GuessedColumn],
    roles: &Roles,
    choices: &UpdateChoices,
) -> Result<Resolved, Fault> {
    let taken = [roles.time, roles.operation, roles.step];
    let kept: Vec<usize> = (0..columns.len()).filter(|idx| !taken.contains(&Some(*idx))).collect();
    let others: Vec<GuessedColumn> = kept.iter().map(|&idx| columns[idx].clone()).collect();
    let among_others = |choice: &Option<Column>, found: Option<usize>| match choice {
        Some(Column::Name(name)) => Some(Column::Name(name.clone())),
        _ => kept.iter().position(|idx| Some(*idx) == found).map(Column::Index),
    };
    let edges = &choices.edges;
    let edges = InputChoices {
        src: among_others(&edges.src, roles.src),
        dst: among_others(&edges.dst, roles.dst),
        weight: among_others(&edges.weight, roles.weight),
        ..edges.clone()
    };
    let Resolved { src, dst, weight } = resolve(&others, &edges)?;
    Ok(Resolved { src: kept[src], dst: kept[dst], weight: weight.map(|idx| kept[idx]) })
}
