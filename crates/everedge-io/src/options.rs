//! What to read from a file, and in which format.

use std::fmt;

use crate::IdKind;

/// A file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Lines of two ids and perhaps numbers, as SNAP publishes them.
    EdgeList,
    /// Comma-separated values.
    Csv,
    /// Tab-separated values.
    Tsv,
    /// Matrix Market coordinate files.
    MatrixMarket,
    /// DIMACS shortest-path files, their PACE form, and either without its header.
    Dimacs,
    /// METIS graph files.
    Metis,
    /// The edges of an LDBC Graphalytics graph, `.e`.
    Graphalytics,
    /// The vertices of an LDBC Graphalytics graph, `.v`.
    GraphalyticsVertices,
    /// Pairs of little-endian 32-bit integers.
    Binary,
    /// Apache Parquet.
    Parquet,
}

impl Format {
    /// Every format, in the order in which it is to be listed.
    pub const ALL: [Format; 10] = [
        Format::EdgeList,
        Format::Csv,
        Format::Tsv,
        Format::MatrixMarket,
        Format::Dimacs,
        Format::Metis,
        Format::Graphalytics,
        Format::GraphalyticsVertices,
        Format::Binary,
        Format::Parquet,
    ];

    /// Returns the word for this format on a command line.
    pub fn name(self) -> &'static str {
        match self {
            Format::EdgeList => "edge-list",
            Format::Csv => "csv",
            Format::Tsv => "tsv",
            Format::MatrixMarket => "matrix-market",
            Format::Dimacs => "dimacs",
            Format::Metis => "metis",
            Format::Graphalytics => "graphalytics",
            Format::GraphalyticsVertices => "graphalytics-vertices",
            Format::Binary => "binary",
            Format::Parquet => "parquet",
        }
    }

    /// Returns the format that [`name`](Self::name) gives this word.
    pub fn from_name(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.name() == name)
    }
}

impl fmt::Display for Format {
    /// Writes the format's name in prose.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::EdgeList => "edge list",
            Format::Csv => "CSV",
            Format::Tsv => "TSV",
            Format::MatrixMarket => "Matrix Market",
            Format::Dimacs => "DIMACS",
            Format::Metis => "METIS",
            Format::Graphalytics => "Graphalytics",
            Format::GraphalyticsVertices => "Graphalytics vertex",
            Format::Binary => "binary",
            Format::Parquet => "Parquet",
        })
    }
}

/// What to read and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// The format of the input.
    pub format: Format,
    /// How ids are to be read.
    pub ids: IdKind,
    /// Whether to read weights; without, they are dropped.
    pub weighted: bool,
    /// Where ids and weights stand in CSV, TSV and Parquet; other formats fix it.
    pub columns: Columns,
    /// Whether the first row of CSV or TSV holds names; `None` looks.
    pub header: Option<bool>,
}

impl ReadOptions {
    /// Returns options for unweighted dense edges in the first two columns.
    pub fn new(format: Format) -> Self {
        let columns = Columns::default();
        Self { format, ids: IdKind::Dense, weighted: false, columns, header: None }
    }
}

/// Where a table keeps ids and weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns {
    /// The column of sources.
    pub src: Column,
    /// The column of destinations.
    pub dst: Column,
    /// The column of weights.
    pub weight: Column,
}

impl Default for Columns {
    /// The first three columns.
    fn default() -> Self {
        Self { src: Column::Index(0), dst: Column::Index(1), weight: Column::Index(2) }
    }
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Column {
    /// Counted from 0.
    Index(usize),
    /// As the header or the schema calls it.
    Name(String),
}
