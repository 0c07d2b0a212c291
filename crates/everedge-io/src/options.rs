//! What to read from a file, and in which format.

use std::fmt;
use std::str::FromStr;

use crate::IdKind;

/// A file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Lines of two ids and perhaps numbers, as SNAP publishes them.
    EdgeList,
    /// Values separated by commas, or by `;` or `|`.
    Csv,
    /// Tab-separated values.
    Tsv,
    /// An object of JSON a line.
    JsonLines,
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
    /// Apache Arrow IPC, as a stream or a file.
    Arrow,
    /// A directory of Parquet files with the lists of all vertices one after the other, as Ladybug mounts it.
    Icebug,
    /// A directory of Apache GraphAr, version 1.
    GraphAr,
}

/// What is known of a format without reading a file: a row of [`FORMATS`].
struct Entry {
    format: Format,
    /// The word for it on a command line.
    name: &'static str,
    /// Its name in prose.
    prose: &'static str,
    /// The endings of its files, the usual one first.
    endings: &'static [&'static str],
}

const fn entry(
    format: Format,
    name: &'static str,
    prose: &'static str,
    endings: &'static [&'static str],
) -> Entry {
    Entry { format, name, prose, endings }
}

/// Every format, in the order in which it is to be listed.
const FORMATS: [Entry; 14] = [
    entry(Format::EdgeList, "edge-list", "edge list", &["txt", "el", "wel", "edges", "edgelist"]),
    entry(Format::Csv, "csv", "CSV", &["csv"]),
    entry(Format::Tsv, "tsv", "TSV", &["tsv"]),
    entry(Format::JsonLines, "json-lines", "JSON Lines", &["jsonl", "ndjson"]),
    entry(Format::MatrixMarket, "matrix-market", "Matrix Market", &["mtx"]),
    entry(Format::Dimacs, "dimacs", "DIMACS", &["gr"]),
    entry(Format::Metis, "metis", "METIS", &["graph", "metis"]),
    entry(Format::Graphalytics, "graphalytics", "Graphalytics", &["e"]),
    entry(Format::GraphalyticsVertices, "graphalytics-vertices", "Graphalytics vertex", &["v"]),
    entry(Format::Binary, "binary", "binary", &["bin"]),
    entry(Format::Parquet, "parquet", "Parquet", &["parquet", "pq"]),
    entry(Format::Arrow, "arrow", "Arrow", &["arrow", "arrows", "feather", "ipc"]),
    entry(Format::Icebug, "icebug", "Icebug", &[]),
    entry(Format::GraphAr, "graphar", "GraphAr", &[]),
];

impl Format {
    /// Every format, in the order in which it is to be listed.
    pub const ALL: [Format; FORMATS.len()] = {
        let mut all = [Format::EdgeList; FORMATS.len()];
        let mut idx = 0;
        while idx < all.len() {
            all[idx] = FORMATS[idx].format;
            idx += 1;
        }
        all
    };

    fn entry(self) -> &'static Entry {
        let found = FORMATS.iter().find(|entry| entry.format == self);
        found.expect("every format has its row in the table")
    }

    /// Returns the word for this format on a command line.
    pub fn name(self) -> &'static str {
        self.entry().name
    }

    /// Returns the format that [`name`](Self::name) gives this word.
    pub fn from_name(name: &str) -> Option<Format> {
        FORMATS.iter().find(|entry| entry.name == name).map(|entry| entry.format)
    }

    /// Returns the format of files whose names end in this after the last dot.
    ///
    /// # Example
    /// ```
    /// use everedge_io::Format;
    /// assert_eq!(Format::from_ending("NDJSON"), Some(Format::JsonLines));
    /// ```
    pub fn from_ending(ending: &str) -> Option<Format> {
        let is_it = |entry: &&Entry| entry.endings.iter().any(|e| e.eq_ignore_ascii_case(ending));
        FORMATS.iter().find(is_it).map(|entry| entry.format)
    }

    /// Returns whether it is a directory of files, and never one file.
    pub fn is_directory(self) -> bool {
        matches!(self, Format::Icebug | Format::GraphAr)
    }

    /// Returns whether its columns have places or names that can be chosen.
    pub fn has_columns(self) -> bool {
        use Format::{Arrow, Csv, EdgeList, JsonLines, Parquet, Tsv};
        matches!(self, EdgeList | Csv | Tsv | JsonLines | Parquet | Arrow)
    }
}

impl fmt::Display for Format {
    /// Writes the format's name in prose.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.entry().prose)
    }
}

/// What the caller has chosen about an input; what is left open is guessed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InputChoices {
    /// The format.
    pub format: Option<Format>,
    /// What ids are.
    pub ids: IdChoice,
    /// Whether the first row of CSV, TSV or an edge list holds names.
    pub header: Option<bool>,
    /// What separates the columns of CSV or TSV.
    pub delimiter: Option<u8>,
    /// The column of sources.
    pub src: Option<Column>,
    /// The column of destinations.
    pub dst: Option<Column>,
    /// The column of weights.
    pub weight: Option<Column>,
}

impl InputChoices {
    /// Returns the choices that these options are.
    pub(crate) fn exactly(options: &ReadOptions) -> Self {
        let Columns { src, dst, weight } = options.columns.clone();
        Self {
            format: Some(options.format),
            ids: match options.ids {
                IdKind::Dense => IdChoice::Dense,
                IdKind::Sparse => IdChoice::Integer,
                IdKind::Text => IdChoice::Text,
            },
            header: options.header,
            delimiter: options.delimiter,
            src: Some(src),
            dst: Some(dst),
            weight: options.weighted.then_some(weight),
        }
    }

    /// Returns whether any column was chosen.
    pub fn has_columns(&self) -> bool {
        self.src.is_some() || self.dst.is_some() || self.weight.is_some()
    }

    /// Returns the columns that were chosen.
    pub(crate) fn chosen(&self) -> Vec<&Column> {
        [&self.src, &self.dst, &self.weight].into_iter().flatten().collect()
    }
}

/// What the caller says that ids are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IdChoice {
    /// Looked for.
    #[default]
    Auto,
    /// Integers below 2^31 that are used as they are.
    Dense,
    /// Any unsigned 64-bit integers, through an id map.
    Integer,
    /// Any text, through an id map.
    Text,
    /// Integers or text through an id map, as the column has them.
    Mapped,
}

impl FromStr for IdChoice {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Ok(match word {
            "auto" => IdChoice::Auto,
            "dense" => IdChoice::Dense,
            "integer" => IdChoice::Integer,
            "text" => IdChoice::Text,
            "map" => IdChoice::Mapped,
            _ => return Err("ids are auto, dense, integer, text or map".to_owned()),
        })
    }
}

/// Reads the word for a character that separates columns.
///
/// # Errors
/// If it is none: what is.
pub fn delimiter(word: &str) -> Result<u8, String> {
    match (word, word.as_bytes()) {
        ("tab" | "\\t", _) => Ok(b'\t'),
        (_, [byte]) if byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r' | b' ') => Ok(*byte),
        _ => Err("give one ASCII character, or tab".to_owned()),
    }
}

impl IdChoice {
    /// Returns whether nothing is left to look for.
    pub fn is_exact(self) -> bool {
        matches!(self, IdChoice::Dense | IdChoice::Integer | IdChoice::Text)
    }
}

/// What to read and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// The format of the input.
    pub format: Format,
    /// How ids are to be read.
    pub ids: IdKind,
    /// Takes ids of that kind without a doubt: integers lose their leading zeros, and text may be
    /// `NULL` or start with `//`. Without, these are refused.
    pub literal_ids: bool,
    /// Whether to read weights; without, they are dropped.
    pub weighted: bool,
    /// Takes the nearest 32-bit number for a weight; without, a weight that it changes is refused.
    pub round_weights: bool,
    /// Leaves out rows whose ids or weights are null; without, they are refused.
    pub skip_nulls: bool,
    /// Where ids and weights stand in formats that leave it open.
    pub columns: Columns,
    /// Whether the first row of CSV, TSV or an edge list holds names; `None` looks.
    pub header: Option<bool>,
    /// What separates the columns of CSV or TSV; `None` is a comma or a tab.
    pub delimiter: Option<u8>,
}

impl ReadOptions {
    /// Returns options for unweighted dense edges in the first two columns.
    pub fn new(format: Format) -> Self {
        Self {
            format,
            ids: IdKind::Dense,
            literal_ids: false,
            weighted: false,
            round_weights: false,
            skip_nulls: false,
            columns: Columns::default(),
            header: None,
            delimiter: None,
        }
    }

    /// Returns the separator of CSV or TSV.
    pub(crate) fn delimiter(&self) -> u8 {
        let usual = if self.format == Format::Tsv { b'\t' } else { b',' };
        self.delimiter.unwrap_or(usual)
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
    /// As the header, the schema or the key calls it.
    Name(String),
}

impl Column {
    /// Returns where this column stands among columns with these names, if it does.
    pub(crate) fn find(&self, names: &[Option<&str>]) -> Option<usize> {
        match self {
            Column::Index(idx) => (*idx < names.len()).then_some(*idx),
            Column::Name(name) => names.iter().position(|found| *found == Some(name)),
        }
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Column::Index(idx) => write!(f, "{idx} (counted from 0)"),
            Column::Name(name) => write!(f, "\"{}\"", name.escape_debug()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delimiter_is_one_character_that_can_separate() {
        assert_eq!([";", "tab", "\\t", "\t"].map(delimiter), [b';', b'\t', b'\t', b'\t'].map(Ok));
        for word in ["", " ", "\"", "\n", "ab", "é"] {
            assert!(delimiter(word).is_err(), "{word:?}");
        }
    }

    #[test]
    fn names_and_endings_belong_to_one_format() {
        for format in Format::ALL {
            assert_eq!(Format::from_name(format.name()), Some(format));
            for ending in format.entry().endings {
                assert_eq!(Format::from_ending(ending), Some(format), "{ending}");
            }
        }
    }
}
