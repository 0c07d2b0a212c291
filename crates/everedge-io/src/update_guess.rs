//! Guesses how a file of updates is to be read, from its name and its first bytes.
//!
//! Formats, separators, headers and kinds of ids are guessed as those of edges are (`probe.rs`),
//! columns as `update_columns.rs` says. Numbers count seconds, unless that puts most of them past the
//! year 9999: then the longest shorter unit that does not is guessed. A guess is there to be shown to
//! the user.

use crate::blocks::RECORD_BYTES_MAX;
use crate::columns::{GuessedColumn, Resolved};
use crate::edge_list;
use crate::error::Fault;
use crate::probe::{check_binary, check_start, checked_format, line_error, table_start, text_of};
use crate::survey::{Row, Sample, fields_of, refuse_marks, survey_columns};
use crate::times::{guess_unit, is_date, refuse_compact_dates};
use crate::update_columns::{Fields, Found, find_header, resolve_updates};
use crate::updates::refuse;
use crate::{Column, Format, Guess, InputChoices, Result, TimeUnit, UpdateOptions, json_lines};

/// What the caller has chosen about an input of updates; what is left open is guessed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UpdateChoices {
    /// What was chosen as for edges.
    pub edges: InputChoices,
    /// The column of times.
    pub time: Option<Column>,
    /// The column of operations.
    pub operation: OperationChoice,
    /// The column of steps.
    pub step: Option<Column>,
    /// What times count that are numbers.
    pub unit: Option<TimeUnit>,
}

impl UpdateChoices {
    /// Returns the choices that these options are.
    pub(crate) fn exactly(options: &UpdateOptions) -> Self {
        let UpdateOptions { edges, time, operation, step, unit } = options;
        Self {
            edges: InputChoices::exactly(edges),
            time: Some(time.clone()),
            operation: match operation {
                Some(column) => OperationChoice::Column(column.clone()),
                None => OperationChoice::InsertionsOnly,
            },
            step: step.clone(),
            unit: Some(*unit),
        }
    }

    /// Returns the columns that were chosen.
    pub(crate) fn chosen(&self) -> Vec<&Column> {
        let others = [self.time.as_ref(), self.operation.column(), self.step.as_ref()];
        self.edges.chosen().into_iter().chain(others.into_iter().flatten()).collect()
    }
}

/// What the caller says of operations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum OperationChoice {
    /// Looked for: without a column of operations every update is an insertion.
    #[default]
    Auto,
    /// They stand in this column.
    Column(Column),
    /// Every update is an insertion, whatever a column says.
    InsertionsOnly,
}

impl OperationChoice {
    pub(crate) fn column(&self) -> Option<&Column> {
        match self {
            OperationChoice::Column(column) => Some(column),
            OperationChoice::Auto | OperationChoice::InsertionsOnly => None,
        }
    }
}

/// How a file of updates is probably to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateGuess {
    /// How its edges are.
    pub edges: Guess,
    /// Which column holds times.
    pub time: usize,
    /// Which column holds operations; without one, every update is an insertion.
    pub operation: Option<usize>,
    /// Which column holds steps, if one does.
    pub step: Option<usize>,
    /// What times count, if any of those seen is a number; dates need no unit.
    pub unit: Option<TimeUnit>,
}

impl UpdateGuess {
    /// Returns options to read the file without weights as guessed.
    pub fn options(&self) -> UpdateOptions {
        let column = |idx: usize| self.edges.column(idx);
        UpdateOptions {
            edges: self.edges.options(),
            time: column(self.time),
            operation: self.operation.map(column),
            step: self.step.map(column),
            unit: self.unit.unwrap_or_default(),
        }
    }

    /// A guess of nothing but the format: updates as [`UpdateOptions::new`] has them.
    fn of(format: Format) -> Self {
        Self { edges: Guess::of(format), time: 2, operation: None, step: None, unit: None }
    }

    /// Adds the columns that were found to a guess of edges; `fields` returns those of the first
    /// records.
    pub(crate) fn new(
        edges: Guess,
        found: Found,
        fields: &Fields<'_>,
        choices: &UpdateChoices,
    ) -> Result<Self, Fault> {
        let times = fields(found.time);
        let are_dates = !times.is_empty() && times.iter().all(|time| is_date(time.as_bytes()));
        let unit = match choices.unit {
            None => {
                refuse_compact_dates(&times)?;
                guess_unit(&times)
            }
            Some(unit) => unit,
        };
        let Found { time, operation, step } = found;
        Ok(Self { edges, time, operation, step, unit: (!are_dates).then_some(unit) })
    }
}

/// Guesses how to read updates from a file called `name` whose decompressed bytes start with `head`;
/// what `choices` fixes is not guessed.
///
/// `head` is as for [`probe`](crate::probe()). Columns of Parquet and Arrow are not guessed here but by
/// [`probe_parquet_updates`](crate::probe_parquet_updates) and
/// [`probe_arrow_updates`](crate::probe_arrow_updates).
///
/// # Errors
/// - [`Error::Syntax`](crate::Error::Syntax) as for [`probe`](crate::probe()), and if no column, or
///   more than one, may hold the times.
/// - [`Error::Unsupported`](crate::Error::Unsupported) for a format that has no times.
///
/// # Example
/// ```
/// use everedge_io::{TimeUnit, UpdateChoices, probe_updates};
/// let head = b"0 1112911993 + 0 1\n0 1112911993 + 0 2\n";
/// let guess = probe_updates("git.stream.gz", head, &UpdateChoices::default())?;
/// assert_eq!((guess.step, guess.time, guess.operation), (Some(0), 1, Some(2)));
/// assert_eq!((guess.edges.src, guess.edges.dst, guess.unit), (3, 4, Some(TimeUnit::Seconds)));
/// # Ok::<(), everedge_io::Error>(())
/// ```
pub fn probe_updates(name: &str, head: &[u8], choices: &UpdateChoices) -> Result<UpdateGuess> {
    let format = checked_format(name, head, &choices.edges)?;
    match format {
        Format::Parquet | Format::Arrow => return Ok(UpdateGuess::of(format)),
        format if !format.has_columns() => return Err(refuse(format)),
        _ => {}
    }
    let text = text_of(head);
    let edges = InputChoices { format: Some(format), ..choices.edges.clone() };
    let choices = &UpdateChoices { edges, ..choices.clone() };
    let guess = check_binary(text).and_then(|()| match format {
        Format::JsonLines => json_lines::guess_updates(text, choices),
        Format::EdgeList => {
            check_start(text, &choices.edges)?;
            let start = edge_list::start_of(text, usize::MAX);
            let guess = guess_table(Guess::of(format), &start.rows, start.comment, choices)?;
            edge_list::refuse_sides(text, guess.edges.ids, &choices.edges)?;
            Ok(guess)
        }
        _ => {
            let (delimiter, start) = table_start(format, text, &choices.edges)?;
            let guess = Guess { delimiter: Some(delimiter), ..Guess::of(format) };
            guess_table(guess, &start.rows, start.comment, choices)
        }
    });
    guess.map_err(|fault| line_error(text, fault))
}

/// Guesses from the first records of a text table; `comment` is the last line of a comment before them,
/// as fields.
fn guess_table(
    guess: Guess,
    rows: &[Row],
    comment: Vec<String>,
    choices: &UpdateChoices,
) -> Result<UpdateGuess, Fault> {
    let header = find_header(rows, comment, choices);
    let records = header.records(rows);
    let columns = match rows.first() {
        Some(first) => survey_columns(&header.names, &records, first.len()),
        // Without a record nothing says otherwise.
        None => vec![GuessedColumn::default(); least_width(choices)],
    };
    let fields = |idx: usize| fields_of(&records, idx);
    let (resolved, found) = resolve_updates(&columns, &fields, choices)?;
    let Resolved { src, dst, .. } = resolved;
    refuse_marks(&records, &columns, [src, dst], &choices.edges)?;
    let mut sample = Sample::default();
    [src, dst].iter().flat_map(|&idx| fields(idx)).for_each(|id| sample.add_id(&id));
    let ids = sample.ids(choices.edges.ids);
    let guess = Guess { has_header: header.is_there, columns, ..guess };
    UpdateGuess::new(guess.with_columns(resolved, ids), found, &fields, choices)
}

/// Returns how many columns a table has that was not seen: three, or as many as the choices need and
/// a line can have.
fn least_width(choices: &UpdateChoices) -> usize {
    let count = |column: &&Column| match column {
        Column::Index(idx) => idx.saturating_add(1),
        Column::Name(_) => 0,
    };
    choices.chosen().iter().map(count).fold(3, usize::max).min(RECORD_BYTES_MAX)
}
