//! Options as dictionaries of Python, with the keys that `_native.pyi` lists.

use everedge::{Choices, Column, Error, Format, IdChoice, InputChoices, Result};
use everedge::{GraphOptions, IngestOptions, MediumKind};
use pyo3::prelude::*;

/// What is fixed when a graph is created, in words.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct NewGraph {
    layout: String,
    medium: String,
    emulate_pmem: bool,
    eadr: bool,
    /// Chosen, or left to the first file.
    directed: Option<bool>,
    weighted: bool,
    simple: bool,
    in_neighbors: bool,
    /// `dense`, `integer` or `text`; read only when no file is there to look at.
    ids: String,
    /// Whether ids go through the id map, if that was chosen.
    map_ids: Option<bool>,
    durability: String,
    log_bytes: u64,
    pub(crate) meter: bool,
}

impl NewGraph {
    pub(crate) fn options(&self) -> Result<GraphOptions> {
        let medium = match self.medium.parse()? {
            MediumKind::Pmem { .. } => MediumKind::Pmem { emulated: self.emulate_pmem },
            medium => medium,
        };
        Ok(GraphOptions {
            layout: self.layout.parse()?,
            medium,
            eadr: self.eadr,
            directed: self.directed.unwrap_or(true),
            weighted: self.weighted,
            simple: self.simple,
            in_neighbors: self.in_neighbors,
            ids: self.ids.parse()?,
            durability: self.durability.parse()?,
            log_bytes: self.log_bytes,
            ..GraphOptions::default()
        })
    }

    /// Returns what the first file's ids must be.
    pub(crate) fn ids(&self) -> IdChoice {
        match self.map_ids {
            None => IdChoice::Auto,
            Some(false) => IdChoice::Dense,
            Some(true) => IdChoice::Mapped,
        }
    }

    pub(crate) fn choices(&self) -> Choices {
        Choices { directed_fixed: self.directed.is_some(), weighted_fixed: true, meter: self.meter }
    }
}

/// How files are taken in, in words.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Ingest {
    format: Option<String>,
    delete: bool,
    batch: usize,
    drop_self_loops: bool,
    src: Option<TableColumn>,
    dst: Option<TableColumn>,
    weight: Option<TableColumn>,
}

/// A column of a table, by its number from 0 or by its name.
#[derive(Clone, FromPyObject)]
enum TableColumn {
    Index(usize),
    Name(String),
}

impl Ingest {
    pub(crate) fn options(&self) -> Result<IngestOptions> {
        let column = |given: &Option<TableColumn>| match given.clone()? {
            TableColumn::Index(index) => Some(Column::Index(index)),
            TableColumn::Name(name) => Some(Column::Name(name)),
        };
        Ok(IngestOptions {
            input: InputChoices {
                format: self.format.as_deref().map(format_of).transpose()?,
                src: column(&self.src),
                dst: column(&self.dst),
                weight: column(&self.weight),
                ..InputChoices::default()
            },
            delete: self.delete,
            batch: self.batch,
            drop_self_loops: self.drop_self_loops,
            ..IngestOptions::default()
        })
    }
}

fn format_of(word: &str) -> Result<Format> {
    Format::from_name(word).ok_or_else(|| {
        let names = Format::ALL.map(Format::name).join(", ");
        Error::InvalidInput { what: format!("no format is called `{word}`; there are {names}") }
    })
}
