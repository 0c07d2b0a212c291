//! Options as Python gives them: words by name for a graph, a dictionary with the keys that
//! `_native.pyi` lists for an ingest.

use everedge::{Choices, Column, Error, Format, GraphOption, IdChoice, InputChoices, Result};
use everedge::{GraphOptions, IngestOptions, OperationChoice, OptionKind, Order, SealOptions};
use everedge::{UpdateIngest, delimiter, size};
use pyo3::prelude::*;

use crate::error::exception;

/// What was chosen of a graph's options.
#[pyclass(frozen, module = "everedge._native")]
pub(crate) struct Chosen {
    pub(crate) words: everedge::Chosen,
    pub(crate) ids: IdChoice,
}

#[pymethods]
impl Chosen {
    /// Checks words by the names of their options, and what ids are.
    #[new]
    fn new(words: Vec<(String, String)>, ids: &str) -> PyResult<Self> {
        let mut chosen = everedge::Chosen::default();
        for (name, word) in words {
            chosen.choose(&name, word).map_err(exception)?;
        }
        Ok(Self { words: chosen, ids: ids_of(ids).map_err(exception)? })
    }
}

impl Chosen {
    /// Returns the options of a new graph.
    pub(crate) fn options(&self) -> PyResult<GraphOptions> {
        self.words.options().map_err(exception)
    }

    /// Returns what is left to the first file.
    pub(crate) fn choices(&self, meter: bool) -> Choices {
        let (directed_fixed, weighted_fixed) =
            (self.words.has("directed"), self.words.has("weighted"));
        Choices { directed_fixed, weighted_fixed, meter }
    }
}

/// Returns each option of a graph: its name, its words (none if it is no word) and what it says.
#[pyfunction]
pub(crate) fn graph_options() -> Vec<(&'static str, Vec<&'static str>, &'static str)> {
    let words = |option: &GraphOption| match option.kind {
        OptionKind::Word(words) => words.to_vec(),
        _ => Vec::new(),
    };
    GraphOption::ALL.iter().map(|option| (option.name, words(option), option.about)).collect()
}

/// How files are taken in, in words.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Ingest {
    format: Option<String>,
    ids: String,
    header: Option<bool>,
    delimiter: Option<String>,
    delete: bool,
    batch: usize,
    drop_self_loops: bool,
    skip_nulls: bool,
    round_weights: bool,
    unweighted: bool,
    src: Option<TableColumn>,
    dst: Option<TableColumn>,
    weight: Option<TableColumn>,
}

/// How files of updates are taken in, beside what there is to say of their edges.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Updates {
    commit_every: String,
    time: Option<TableColumn>,
    operation: Option<TableColumn>,
    insertions_only: bool,
    step: Option<TableColumn>,
    time_unit: Option<String>,
    sort: bool,
    allow_late: bool,
    keep: Option<String>,
}

/// A column of a table, by its number from 0 or by its name.
#[derive(Clone, FromPyObject)]
enum TableColumn {
    Index(usize),
    Name(String),
}

impl From<TableColumn> for Column {
    fn from(column: TableColumn) -> Self {
        match column {
            TableColumn::Index(index) => Self::Index(index),
            TableColumn::Name(name) => Self::Name(name),
        }
    }
}

/// How files are sealed, beside what there is to say of their edges.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Seal {
    order: String,
    compressed: bool,
    memory: Option<String>,
}

impl Seal {
    pub(crate) fn options(&self) -> Result<SealOptions> {
        seal_options(&self.order, self.compressed)
    }

    pub(crate) fn memory(&self) -> Result<Option<u64>> {
        self.memory.as_deref().map(bytes_of).transpose()
    }
}

/// Returns how lists are written, with vertices numbered in the order that a word says.
pub(crate) fn seal_options(order: &str, compressed: bool) -> Result<SealOptions> {
    let order: Order = order.parse()?;
    Ok(SealOptions { order, compressed, ..SealOptions::default() })
}

/// Returns the bytes of memory that a word says.
pub(crate) fn bytes_of(word: &str) -> Result<u64> {
    size(word).map_err(|what| invalid(format!("memory={word}: {what}")))
}

impl Updates {
    pub(crate) fn options(self, edges: IngestOptions) -> Result<UpdateIngest> {
        let unit = |word: &str| {
            word.parse().map_err(|what| invalid(format!("time_unit={word:?}: {what}")))
        };
        let operation = match self.operation {
            Some(column) => OperationChoice::Column(column.into()),
            None if self.insertions_only => OperationChoice::InsertionsOnly,
            None => OperationChoice::Auto,
        };
        Ok(UpdateIngest {
            every: self.commit_every.parse()?,
            edges,
            time: self.time.map(Column::from),
            operation,
            step: self.step.map(Column::from),
            unit: self.time_unit.as_deref().map(unit).transpose()?,
            sort: self.sort,
            allow_late: self.allow_late,
            keep: self.keep.map(|keep| keep.parse()).transpose()?,
        })
    }
}

impl Ingest {
    pub(crate) fn options(&self) -> Result<IngestOptions> {
        let column = |given: &Option<TableColumn>| given.clone().map(Column::from);
        let separator = |word: &str| {
            delimiter(word).map_err(|what| invalid(format!("delimiter={word:?}: {what}")))
        };
        Ok(IngestOptions {
            input: InputChoices {
                format: self.format.as_deref().map(format_of).transpose()?,
                ids: ids_of(&self.ids)?,
                header: self.header,
                delimiter: self.delimiter.as_deref().map(separator).transpose()?,
                src: column(&self.src),
                dst: column(&self.dst),
                weight: column(&self.weight),
            },
            delete: self.delete,
            batch: self.batch,
            drop_self_loops: self.drop_self_loops,
            skip_nulls: self.skip_nulls,
            round_weights: self.round_weights,
            unweighted: self.unweighted,
            ..IngestOptions::default()
        })
    }
}

fn ids_of(word: &str) -> Result<IdChoice> {
    word.parse().map_err(|what| invalid(format!("ids={word:?}: {what}")))
}

pub(crate) fn format_of(word: &str) -> Result<Format> {
    Format::from_name(word).ok_or_else(|| {
        let names = Format::ALL.map(Format::name).join(", ");
        invalid(format!("no format is called `{word}`; there are {names}"))
    })
}

fn invalid(what: String) -> Error {
    Error::InvalidInput { what }
}
