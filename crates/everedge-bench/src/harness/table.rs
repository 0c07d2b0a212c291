//! Tables for people: a line for each configuration.

use std::path::PathBuf;

use anyhow::Result;
use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;
use serde_json::Value;

use super::figures::{Row, number};
use super::{Common, Configuration};
use crate::output::{self, Output};

/// A figure that is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    /// Its name in a row.
    pub(crate) key: &'static str,
    /// What stands above it.
    pub(crate) title: &'static str,
    pub(crate) form: Form,
}

/// How a figure is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Things a second, in millions.
    PerSecond,
    Seconds,
    Bytes,
    Count,
    Ratio,
    /// A part of a whole, in percent.
    Share,
}

impl Form {
    /// Returns the figure in words, with its unit.
    pub(crate) fn show(self, value: f64) -> String {
        match self {
            Form::PerSecond => format!("{:.2} M", value / 1e6),
            Form::Seconds => output::seconds(value),
            Form::Bytes => output::bytes(value.max(0.0) as u64),
            Form::Count => output::count(value.max(0.0) as u64),
            Form::Ratio => format!("{value:.2}"),
            Form::Share => format!("{:.1} %", 100.0 * value),
        }
    }
}

/// What a row says in the place of an answer if its budget of memory was too small.
pub(crate) const REFUSED: &str = "refused";

/// What a program learns of a measurement.
#[derive(Debug, Serialize)]
struct Found<'a> {
    rows: &'a [Row],
    /// The page about them.
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<&'a PathBuf>,
}

/// Prints rows: as JSON, or as a table with a line above it. `extra` names what a measurement
/// varies beside the options, `report` where there is a page about them.
///
/// # Errors
/// If standard output takes no more.
pub(crate) fn print(
    output: Output,
    common: &Common,
    rows: &[Row],
    (extra, columns): (&[&'static str], &[Column]),
    report: Option<&PathBuf>,
) -> Result<()> {
    output.print(&Found { rows, report }, |found| {
        let text = format!("{}\n\n{}", heading(common, rows), table(rows, extra, columns));
        match found.report {
            Some(path) => format!("{text}\n\nreport: {}", path.display()),
            None => text,
        }
    })
}

/// Returns rows as a table: the options that differ, then the figures that there are. `extra`
/// names what a measurement varies beside the options; what was refused is said of all rows.
pub(crate) fn table(rows: &[Row], extra: &[&'static str], columns: &[Column]) -> String {
    let options = varied(rows).into_iter().map(|key| option_column(rows, &key));
    let is_refused = |key: &str| rows.iter().any(|row| row.get(key) == Some(&REFUSED.into()));
    let extra = extra.iter().filter(|key| differs(rows, key) || is_refused(key));
    let extra = extra.map(|key| option_column(rows, key));
    let is_there = |column: &&Column| rows.iter().any(|row| number(row, column.key).is_some());
    let figures = columns.iter().filter(is_there).map(|column| {
        let show = |row| number(row, column.key).map(|value| column.form.show(value));
        let cells = rows.iter().map(|row| show(row).unwrap_or_else(|| "-".to_owned()));
        std::iter::once(column.title.to_owned()).chain(cells).collect()
    });
    aligned(&options.chain(extra).chain(figures).collect::<Vec<Vec<String>>>())
}

/// Returns the line above a table: the graph, and the options that do not differ.
fn heading(common: &Common, rows: &[Row]) -> String {
    let first = |key: &str| rows.first().and_then(|row| row.get(key));
    let scale = match first("scale") {
        Some(scale) if !differs(rows, "scale") => format!("graph of scale {scale}"),
        _ => "graphs".to_owned(),
    };
    let kind = match first("graph").and_then(Value::as_str) {
        _ if differs(rows, "graph") => "Synthetic",
        Some("uniform") => "Uniform",
        _ => "Kronecker",
    };
    let mut words = vec![match first("input").and_then(Value::as_str) {
        Some(file) => format!("The edges of {file}"),
        None => format!("{kind} {scale}, degree {}", common.degree),
    }];
    words.push(match common.trials {
        1 => "one trial".to_owned(),
        trials => format!("medians of {trials} trials"),
    });
    if !differs(rows, "medium") {
        words.extend(first("medium").map(|medium| word(medium, "medium")));
    }
    if !differs(rows, "threads") {
        let threads = first("threads").and_then(Value::as_u64).unwrap_or_default();
        words.push(format!("{threads} thread{}", if threads == 1 { "" } else { "s" }));
    }
    words.join(", ")
}

/// Returns the names of the options that have more than one value in these rows.
pub(crate) fn varied(rows: &[Row]) -> Vec<String> {
    let all = Configuration::default().row().unwrap_or_default();
    all.into_iter().map(|(key, _)| key).filter(|key| differs(rows, key)).collect()
}

fn differs(rows: &[Row], key: &str) -> bool {
    rows.windows(2).any(|pair| pair[0].get(key) != pair[1].get(key))
}

fn option_column(rows: &[Row], key: &str) -> Vec<String> {
    let cells = rows.iter().map(|row| row.get(key).map_or("-".to_owned(), |v| word(v, key)));
    std::iter::once(key.replace('_', " ")).chain(cells).collect()
}

/// An option's value in words.
pub(crate) fn word(value: &Value, key: &str) -> String {
    match (value, value.as_u64()) {
        (_, Some(bytes)) if ["buffer_pool", "preallocate"].contains(&key) => output::bytes(bytes),
        (_, Some(number)) => output::count(number),
        (Value::String(word), _) => word.clone(),
        (Value::Null, _) => "suits".to_owned(),
        (other, _) => other.to_string(),
    }
}

/// Returns columns side by side; their cells end in one line below the other.
fn aligned(columns: &[Vec<String>]) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    for line in 0..columns.first().map_or(0, Vec::len) {
        table.add_row(columns.iter().map(|column| &column[line]));
    }
    let last = columns.len().saturating_sub(1);
    for (place, column) in table.column_iter_mut().enumerate() {
        column.set_cell_alignment(CellAlignment::Right);
        column.set_padding((0, if place == last { 0 } else { 3 }));
    }
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_options_that_differ_and_figures_that_are_there_are_columns() {
        let row = |threads: u64, seconds: f64| {
            let value = serde_json::json!({
                "medium": "pmem", "threads": threads, "seconds": seconds, "fences": null
            });
            crate::harness::figures::row(&value).unwrap()
        };
        let columns = [
            Column { key: "seconds", title: "time", form: Form::Seconds },
            Column { key: "fences", title: "fences", form: Form::Count },
        ];
        let shown = table(&[row(1, 2.0), row(2, 0.5)], &[], &columns);
        assert_eq!(shown, "threads       time\n      1     2.00 s\n      2   500.0 ms");
    }

    #[test]
    fn what_was_refused_is_said_also_where_all_was() {
        let row = |answer: &str| Row::from_iter([("answer".to_owned(), answer.into())]);
        assert_eq!(
            table(&[row(REFUSED), row(REFUSED)], &["answer"], &[]),
            " answer\nrefused\nrefused"
        );
        assert_eq!(table(&[row("right"), row("right")], &["answer"], &[]), "");
    }
}
