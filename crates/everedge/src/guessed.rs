//! What was not said about files and a new graph, and how it was decided.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::GraphOptions;
use everedge_io::{Column, Format, Guess, first_of};
use serde::Serialize;

use crate::{Choices, IngestOptions, path_text};

/// What was not said and how it was decided; what was said is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Guessed {
    /// What was guessed of the first file.
    #[serde(flatten)]
    pub first: GuessedFile,
    /// What the ids of a new graph are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ids: Option<String>,
    /// Whether a new graph is directed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directed: Option<bool>,
    /// Whether a new graph keeps weights.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weighted: Option<bool>,
    /// For each archive of which some files were not taken in, as they are not called as graphs are,
    /// their names.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "path_text::pairs")]
    pub not_taken: Vec<(PathBuf, Vec<String>)>,
    /// Files of vertices that were not named, but stand beside edges and were taken in with them.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "path_text::paths")]
    pub vertices_beside: Vec<PathBuf>,
    /// Files of which something else was guessed than of the first.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "path_text::pairs")]
    pub other_files: Vec<(PathBuf, GuessedFile)>,
}

/// What was guessed of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GuessedFile {
    /// The format, by its name on the command line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub format: Option<&'static str>,
    /// Which columns hold what, if the format leaves it open.
    #[serde(skip_serializing_if = "GuessedColumns::is_empty")]
    pub columns: GuessedColumns,
    /// Whether the first row holds names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<bool>,
    /// What separates the columns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delimiter: Option<char>,
    /// Attributes of edges that were left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attributes_left_out: Vec<String>,
    /// Where weights may be that were left out, because the graph keeps none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weights_left_out: Option<ColumnName>,
    /// Where weights may be that were not looked at, because a deletion takes the newest edge of a
    /// pair, whatever its weight.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weights_of_deletions_ignored: Option<ColumnName>,
}

/// Which columns were guessed to hold what.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct GuessedColumns {
    /// The column of sources.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub src: Option<ColumnName>,
    /// The column of destinations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dst: Option<ColumnName>,
    /// The column of weights.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<ColumnName>,
}

impl GuessedColumns {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A column by its name, or by its number from 0 where it has none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum ColumnName {
    /// Counted from 0.
    Number(usize),
    /// As the header, the schema or the key calls it.
    Name(String),
}

impl ColumnName {
    /// Returns what a column of a guess is called.
    pub(crate) fn of(guess: &Guess, idx: usize) -> Self {
        match guess.columns.get(idx).and_then(|column| column.name.clone()) {
            Some(name) => Self::Name(name),
            None => Self::Number(idx),
        }
    }
}

impl std::fmt::Display for ColumnName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ColumnName::Number(number) => number.fmt(f),
            ColumnName::Name(name) => f.write_str(name),
        }
    }
}

impl Guessed {
    /// Returns what was decided about a new graph.
    pub(crate) fn of_graph(
        options: &GraphOptions,
        choices: Choices,
        ingest: &IngestOptions,
    ) -> Self {
        let says_weights = choices.weighted_fixed || ingest.input.weight.is_some();
        Self {
            ids: (!ingest.input.ids.is_exact()).then(|| options.ids.to_string()),
            directed: (!choices.directed_fixed).then_some(options.directed),
            weighted: (!says_weights).then_some(options.weighted),
            ..Self::default()
        }
    }

    /// Adds what was guessed of a file.
    pub(crate) fn add_file(
        &mut self,
        path: &Path,
        guess: &Guess,
        ingest: &IngestOptions,
        graph: &GraphOptions,
    ) {
        let file = GuessedFile::new(guess, ingest, graph);
        if self.first == GuessedFile::default() {
            self.first = file;
        } else if self.first != file {
            self.other_files.push((path.to_owned(), file));
        }
    }

    /// Says it in one line; nothing if nothing was guessed.
    pub fn in_words(&self) -> Option<String> {
        let mut parts = self.first.parts();
        parts.extend(self.ids.as_ref().map(|ids| format!("{ids} ids")));
        let either = |is: bool, yes: &str, no: &str| if is { yes } else { no }.to_owned();
        parts.extend(self.directed.map(|is| either(is, "directed", "undirected")));
        parts.extend(self.weighted.map(|is| either(is, "weighted", "unweighted")));
        let mut words = parts.join(", ");
        words.push_str(&self.first.about_left_out());
        for (path, file) in &self.other_files {
            let parts = file.parts().join(", ");
            let _ = write!(words, "; `{}`: {parts}{}", path.display(), file.about_left_out());
        }
        for path in &self.vertices_beside {
            let _ = write!(words, "; vertices from `{}`, beside the edges", path.display());
        }
        for (path, names) in &self.not_taken {
            let _ = write!(words, "; not taken from `{}`: {}", path.display(), first_of(names));
        }
        (!words.is_empty()).then_some(words)
    }
}

impl GuessedFile {
    fn new(guess: &Guess, ingest: &IngestOptions, graph: &GraphOptions) -> Self {
        let choices = &ingest.input;
        let has_columns = guess.format.has_columns();
        let name = |idx: usize| ColumnName::of(guess, idx);
        let column = |chosen: &Option<Column>, idx: Option<usize>| {
            idx.filter(|_| has_columns && chosen.is_none()).map(name)
        };
        let keeps_weights = graph.weighted && !ingest.delete;
        let is_text_table = matches!(guess.format, Format::Csv | Format::Tsv | Format::EdgeList);
        let may_have_weights = guess.weighted.unwrap_or(guess.weight.is_some());
        Self {
            format: choices.format.is_none().then(|| guess.format.name()),
            columns: GuessedColumns {
                src: column(&choices.src, Some(guess.src)),
                dst: column(&choices.dst, Some(guess.dst)),
                weight: column(&choices.weight, guess.weight.filter(|_| keeps_weights)),
            },
            header: (choices.header.is_none() && is_text_table).then_some(guess.has_header),
            delimiter: guess
                .delimiter
                .filter(|_| choices.delimiter.is_none() && guess.format == Format::Csv)
                .map(char::from),
            attributes_left_out: guess.attributes_left_out.clone(),
            weights_left_out: (may_have_weights && !graph.weighted && !ingest.delete)
                .then(|| name(guess.weight.unwrap_or(2))),
            weights_of_deletions_ignored: (may_have_weights && graph.weighted && ingest.delete)
                .then(|| name(guess.weight.unwrap_or(2))),
        }
    }

    /// Says what does not count, as the end of a sentence.
    fn about_left_out(&self) -> String {
        let mut words = match self.attributes_left_out.as_slice() {
            [] => String::new(),
            names => format!("; attributes left out: {}", first_of(names)),
        };
        words.push_str(&self.about_weights());
        words
    }

    fn about_weights(&self) -> String {
        match (&self.weights_left_out, &self.weights_of_deletions_ignored) {
            (Some(column), _) => {
                format!("; column {column} left out, --weighted keeps it as weights of a new graph")
            }
            (_, Some(column)) => format!(
                "; column {column} not looked at: a deletion takes the newest edge of a pair, \
                 whatever its weight"
            ),
            _ => String::new(),
        }
    }

    fn parts(&self) -> Vec<String> {
        let GuessedColumns { src, dst, weight } = &self.columns;
        let header = match self.header {
            Some(true) => " with a header",
            Some(false) => " without a header",
            None => "",
        };
        let mut parts = Vec::new();
        match self.format {
            Some(format) => parts.push(format!("{format}{header}")),
            None if !header.is_empty() => parts.push(header.trim_start().to_owned()),
            None => {}
        }
        parts.extend(self.delimiter.filter(|d| *d != ',').map(|d| format!("separated by {d}")));
        for (what, column) in [("src", src), ("dst", dst), ("weight", weight)] {
            parts.extend(column.as_ref().map(|column| format!("{what}={column}")));
        }
        parts
    }
}
