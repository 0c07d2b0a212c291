//! What the first records of a text table say: whether they start with a header, what its columns
//! are, and what its ids look like.

use std::ops::Deref;

use everedge_core::MAX_VERTEX_ID;

use crate::columns::{
    GuessedColumn, Resolved, check_distinct, locate, refuse_nameless, resolve, resolve_freely,
};
use crate::error::{Fault, quote};
use crate::names::{are_pair, find_pair, is_id_word, is_weight};
use crate::rules::{is_null_word, is_number, is_written_number};
use crate::times::is_date;
use crate::update_columns::hold_operations;
use crate::{Column, Format, IdChoice, IdKind, InputChoices};

/// Ids below this bound are dense, however few there are: arrays of that length cost little.
const DENSE_BOUND: u64 = 1 << 26;
/// How many times larger than the number of ids seen the largest dense id may be.
const DENSE_SPREAD: u64 = 64;

/// Returns whether integers are used as ids as they are, and not through an id map: if the largest of
/// `count` of them is not far above that number, or small.
///
/// # Example
/// ```
/// use everedge_io::is_dense;
/// assert!(is_dense(1 << 20, 1) && !is_dense(1 << 30, 1) && is_dense(1 << 30, 1 << 24));
/// ```
pub fn is_dense(largest: u64, count: u64) -> bool {
    largest <= u64::from(MAX_VERTEX_ID)
        && (largest <= DENSE_BOUND || largest / DENSE_SPREAD <= count)
}

/// Marks between the ends of an edge.
const MARKS: [&str; 4] = ["->", "-->", "-", ","];

/// A record as text.
pub(crate) type Row = Vec<Cell>;

/// A field of a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) text: String,
    /// Whether it stood in quotes, which its text has no longer.
    pub(crate) is_quoted: bool,
}

impl Deref for Cell {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

/// What the first records say.
#[derive(Debug)]
pub(crate) struct Survey {
    pub(crate) has_header: bool,
    pub(crate) columns: Vec<GuessedColumn>,
    pub(crate) resolved: Resolved,
    pub(crate) ids: IdKind,
}

impl Survey {
    /// Looks at the first records; `comment` is the last line of a comment before them, as fields.
    ///
    /// # Errors
    /// If a column that was chosen is not there.
    pub(crate) fn new(
        rows: &[Row],
        comment: Vec<String>,
        choices: &InputChoices,
    ) -> Result<Self, Fault> {
        let Some(first) = rows.first() else { return Self::of_nothing(choices) };
        let header = Header::find(rows, comment, choices, &choices.chosen());
        let records = header.records(rows);
        let columns = survey_columns(&header.names, &records, first.len());
        let resolved = resolve(&columns, choices)?;
        refuse_marks(&records, &columns, [resolved.src, resolved.dst], choices)?;
        refuse_nameless(&columns, choices)?;
        let mut sample = Sample::default();
        for row in records {
            for idx in [resolved.src, resolved.dst] {
                row.get(idx).into_iter().for_each(|id| sample.add_id(id));
            }
        }
        let ids = sample.ids(choices.ids);
        Ok(Self { has_header: header.is_there, columns, resolved, ids })
    }

    /// A table without a record: only columns by number can be there. What was not chosen is in the
    /// first columns that are left.
    fn of_nothing(choices: &InputChoices) -> Result<Self, Fault> {
        let index = |column: &Option<Column>| match column {
            None => Ok(None),
            Some(Column::Index(idx)) => Ok(Some(*idx)),
            Some(column) => locate(column, &[]).map(Some),
        };
        let (src, dst) = (index(&choices.src)?, index(&choices.dst)?);
        let weight = index(&choices.weight)?;
        let chosen = [src, dst, weight];
        let mut next = 0;
        let mut first_free = || {
            while chosen.contains(&Some(next)) {
                next += 1;
            }
            next += 1;
            next - 1
        };
        let src = src.unwrap_or_else(&mut first_free);
        let dst = dst.unwrap_or_else(&mut first_free);
        check_distinct(src, dst, weight)?;
        let weight = weight.unwrap_or_else(&mut first_free);
        let resolved = Resolved { src, dst, weight: Some(weight) };
        let ids = Sample::default().ids(choices.ids);
        Ok(Self { has_header: false, columns: Vec::new(), resolved, ids })
    }
}

/// The names of the columns, and whether they stand in the first record.
#[derive(Debug, Default)]
pub(crate) struct Header {
    pub(crate) is_there: bool,
    pub(crate) names: Vec<String>,
}

impl Header {
    /// Looks for names in the first record and in the comment before it; `chosen` are all columns that
    /// the caller chose.
    pub(crate) fn find(
        rows: &[Row],
        comment: Vec<String>,
        choices: &InputChoices,
        chosen: &[&Column],
    ) -> Self {
        let Some((first, rest)) = rows.split_first() else { return Self::default() };
        let chosen = names_of(chosen);
        let looked = || is_header(first, rest, &comment, choices, &chosen);
        let is_there = choices.header.unwrap_or_else(looked);
        let names = match is_there {
            true => first.iter().map(|cell| cell.text.clone()).collect(),
            false if are_names(&comment, first.len(), &chosen) => comment,
            false => Vec::new(),
        };
        Self { is_there, names }
    }

    /// Returns the records below the header, without those that repeat it: reading refuses them.
    pub(crate) fn records<'a>(&self, rows: &'a [Row]) -> Vec<&'a Row> {
        match rows.split_first() {
            Some((first, rest)) if self.is_there => below(first, rest),
            _ => rows.iter().collect(),
        }
    }

    /// Returns where a column stands; one by number stands there.
    pub(crate) fn place(&self, column: &Column) -> Result<usize, Fault> {
        let wanted = match column {
            Column::Index(idx) => return Ok(*idx),
            Column::Name(name) => name,
        };
        self.names.iter().position(|name| name == wanted).ok_or_else(|| {
            let names = quote(self.names.join(",").as_bytes());
            match self.names.is_empty() {
                true => Fault::new(0, "columns have names only where there is a header"),
                false => Fault::new(0, format!("there is no column {column} in {names}")),
            }
        })
    }
}

/// Returns the records after a header, without those that repeat it: reading refuses them.
fn below<'a>(header: &Row, records: &'a [Row]) -> Vec<&'a Row> {
    records.iter().filter(|row| *row != header).collect()
}

/// Refuses an end that a guess puts where a mark stands between the ends of each edge, as in `1 -> 2`,
/// though no names say that it is one.
pub(crate) fn refuse_marks(
    records: &[&Row],
    columns: &[GuessedColumn],
    ends: [usize; 2],
    choices: &InputChoices,
) -> Result<(), Fault> {
    let [src, dst] = ends.map(|idx| columns.get(idx).and_then(|column| column.name.as_deref()));
    if are_pair(src.unwrap_or_default(), dst.unwrap_or_default()) {
        return Ok(());
    }
    let mark_in = |row: &Row| match &row[..] {
        [_, mark, _, ..] => MARKS.into_iter().find(|known| mark.text == *known),
        _ => None,
    };
    let mut guessed = ends.into_iter().zip([&choices.src, &choices.dst]);
    let is_guessed = guessed.any(|(end, choice)| end == 1 && choice.is_none());
    match records.first().and_then(|row| mark_in(row)) {
        Some(mark) if is_guessed && records.iter().all(|row| mark_in(row) == Some(mark)) => {
            let what =
                format!("the second column holds no ids: all are {}", quote(mark.as_bytes()));
            Err(Fault::new(0, what).hint("name the ends: --src 0 --dst 2"))
        }
        _ => Ok(()),
    }
}

/// Returns the fields of a column that are not null.
pub(crate) fn fields_of(records: &[&Row], idx: usize) -> Vec<String> {
    let fields = records.iter().filter_map(|row| row.get(idx));
    fields.filter(|field| !is_null(field)).map(|field| field.text.clone()).collect()
}

pub(crate) fn survey_columns(
    names: &[String],
    records: &[&Row],
    width: usize,
) -> Vec<GuessedColumn> {
    let all_are = |idx: usize, is: fn(&[u8]) -> bool| {
        let fields = records.iter().filter_map(|row| row.get(idx));
        let mut fields = fields.filter(|field| !is_null(field)).peekable();
        fields.peek().is_some() && fields.all(|field| is(field.as_bytes()))
    };
    let column = |idx: usize| GuessedColumn {
        name: names.get(idx).cloned(),
        is_numeric: all_are(idx, is_number),
        // What data frames write before each row is no id.
        may_hold_ids: names.get(idx).is_none_or(|name| !name.is_empty()),
        is_date: all_are(idx, is_date),
        holds_operations: hold_operations(
            names.get(idx).map(String::as_str),
            &fields_of(records, idx),
        ),
    };
    (0..width).map(column).collect()
}

/// Returns the names of the columns that were chosen by name.
fn names_of<'a>(chosen: &[&'a Column]) -> Vec<&'a String> {
    let name_of = |column: &&'a Column| match column {
        Column::Name(name) => Some(name),
        Column::Index(_) => None,
    };
    chosen.iter().filter_map(name_of).collect()
}

/// Returns whether a comment above the columns gives their names.
fn are_names(comment: &[String], width: usize, chosen: &[&String]) -> bool {
    let has_pair = find_pair(comment.iter().map(|name| Some(name.as_str()))).is_some();
    let has_chosen = !chosen.is_empty() && chosen.iter().all(|name| comment.contains(name));
    comment.len() == width && (has_pair || has_chosen)
}

/// Returns whether a first record differs from those after it as names do from values; a record that
/// repeats it as a whole says nothing.
fn is_header(
    first: &Row,
    rest: &[Row],
    comment: &[String],
    choices: &InputChoices,
    chosen: &[&String],
) -> bool {
    let names: Vec<String> = first.iter().map(|cell| cell.text.clone()).collect();
    if !chosen.is_empty() {
        // A name is that of a header, or of the comment that stands above the columns.
        let are_all_in = |names: &[String]| chosen.iter().all(|name| names.contains(name));
        return !(comment.len() == first.len() && are_all_in(comment)) || are_all_in(&names);
    }
    let rest = below(first, rest);
    if is_above_an_index(first, &rest) {
        return true;
    }
    // Names that a comment gives stand nowhere else.
    if are_names(comment, first.len(), chosen) && comment != names {
        return false;
    }
    let columns = survey_columns(&names, &rest, first.len());
    let Ok((Resolved { src, dst, .. }, _)) = resolve_freely(&columns, choices) else {
        return declares_weights(&columns);
    };
    let ends = [src, dst];
    let ids = || rest.iter().flat_map(|row| ends.map(|idx| row.get(idx))).flatten();
    let recurs = || ids().any(|id| ends.iter().any(|&idx| is_like(&first[idx], id)));
    if find_pair(names.iter().map(|name| Some(name.as_str()))).is_some() {
        return !recurs();
    }
    // Edge lists are seldom tables: their ids may be words beside numbers.
    let is_table = matches!(choices.format, Some(Format::Csv | Format::Tsv));
    let are_above_values = || is_table && are_names_of_values(first, &rest, &columns);
    // A wrong id below does not make an edge of the names above it.
    let must_be_numbers = matches!(choices.ids, IdChoice::Dense | IdChoice::Integer);
    // Ids are no header, whatever stands beside them.
    let are_both = |is: fn(&str) -> bool| ends.iter().all(|&idx| is(&first[idx]));
    are_both(is_name)
        && ((must_be_numbers && !rest.is_empty()) || {
            let ids_are_numbers = ends.iter().all(|&idx| columns[idx].is_numeric);
            let mut others = (0..columns.len()).filter(|idx| !ends.contains(idx));
            let mut is_above_numbers =
                || others.any(|idx| columns[idx].is_numeric && is_name(&first[idx]));
            ids_are_numbers
                || (!rest.is_empty()
                    && (are_both(is_id_word) || is_above_numbers() || are_above_values())
                    && !recurs())
        })
}

/// Returns whether a first record is all names, one of which stands above numbers in digits or dates.
fn are_names_of_values(first: &Row, rest: &[&Row], columns: &[GuessedColumn]) -> bool {
    let has_digits = |idx: usize| {
        let mut fields = rest.iter().filter_map(|row| row.get(idx));
        fields.any(|field| is_written_number(field.as_bytes()))
    };
    let is_value = |(idx, column): (usize, &GuessedColumn)| {
        column.is_date || (column.is_numeric && has_digits(idx))
    };
    first.iter().all(|name| is_name(name)) && columns.iter().enumerate().any(is_value)
}

/// Returns whether a name that declares weights stands above numbers, or beside usual names of ids.
fn declares_weights(columns: &[GuessedColumn]) -> bool {
    let names = || columns.iter().filter_map(|column| Some((column.name.as_deref()?, column)));
    names().any(|(name, column)| is_weight(name) && column.is_numeric)
        || names().all(|(name, _)| is_weight(name) || is_id_word(name))
}

/// Returns whether a first record is that of a data frame with an index: it names all columns but the
/// first, in which every row has a value.
fn is_above_an_index(first: &Row, rest: &[&Row]) -> bool {
    let is_empty = |row: &Row| row.first().is_none_or(|cell| cell.is_empty() && !cell.is_quoted);
    let others = first.get(1..).unwrap_or_default();
    is_empty(first)
        && others.len() > 1
        && others.iter().all(|cell| !cell.is_empty())
        && !rest.is_empty()
        && !rest.iter().any(|row| is_empty(row))
}

/// Returns whether an id is a name itself, or one of a series with it, as `node1` and `node3` are.
///
/// What is quoted is told apart by that from a name that is not.
fn is_like(name: &Cell, id: &Cell) -> bool {
    let stem = |text: &str| text.trim_end_matches(|letter: char| letter.is_ascii_digit()).len();
    let is_series = stem(name) < name.len() && stem(id) < id.len();
    let is_same = id.text == name.text && (name.is_quoted || !id.is_quoted);
    is_same || (is_series && stem(id) > 0 && name[..stem(name)] == id[..stem(id)])
}

/// Returns whether a field is empty or a word for a null.
pub(crate) fn is_null(field: &str) -> bool {
    field.is_empty() || is_null_word(field.as_bytes())
}

/// Returns whether a field can be the name of a column: it has a letter, does not start with a
/// digit, and is neither a number nor a null.
fn is_name(field: &str) -> bool {
    let starts_with_digit = field.starts_with(|letter: char| letter.is_ascii_digit());
    !starts_with_digit && field.contains(char::is_alphabetic) && is_text(field)
}

/// Returns whether a field is neither a number nor a null.
fn is_text(field: &str) -> bool {
    !is_null(field) && field != "-" && !is_written_number(field.as_bytes())
}

/// What the ids seen so far look like.
#[derive(Default)]
pub(crate) struct Sample {
    /// As they came: few tables ask how many distinct ones there are.
    ids_seen: Vec<u64>,
    id_max: u64,
    has_text: bool,
    /// A number that only text keeps as it is written: below 0, too large, or not whole.
    has_odd_integers: bool,
}

impl Sample {
    pub(crate) fn add_id(&mut self, id: &str) {
        let has_zeros = id.len() > 1 && id.starts_with('0');
        match id.parse() {
            Ok(number) => {
                self.add_number(number);
                self.has_text |= has_zeros;
            }
            Err(_) if is_null(id) => {}
            Err(_) => {
                self.has_text |= is_text(id);
                self.has_odd_integers = true;
            }
        }
    }

    pub(crate) fn add_number(&mut self, id: u64) {
        self.ids_seen.push(id);
        self.id_max = self.id_max.max(id);
    }

    /// Notes that the type of the column says text.
    pub(crate) fn add_text(&mut self) {
        self.has_text = true;
    }

    fn count_distinct(&self) -> u64 {
        let mut ids = self.ids_seen.clone();
        ids.sort_unstable();
        ids.dedup();
        ids.len() as u64
    }

    pub(crate) fn ids(&self, choice: IdChoice) -> IdKind {
        let is_sparse = !is_dense(self.id_max, 0) && !is_dense(self.id_max, self.count_distinct());
        match choice {
            IdChoice::Dense => IdKind::Dense,
            IdChoice::Integer => IdKind::Sparse,
            IdChoice::Text => IdKind::Text,
            IdChoice::Mapped if self.has_text || self.has_odd_integers => IdKind::Text,
            IdChoice::Mapped => IdKind::Sparse,
            IdChoice::Auto if self.has_text => IdKind::Text,
            IdChoice::Auto if is_sparse => IdKind::Sparse,
            IdChoice::Auto => IdKind::Dense,
        }
    }
}
