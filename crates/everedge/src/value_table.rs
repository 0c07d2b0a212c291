//! The answer of a kernel as a table, for data frames and databases.

use std::io::{self, Write};
use std::ops::Range;

use everedge_core::{Edge, VertexId};
use everedge_io::{Cells, TableFormat, TableWriter};
use everedge_kernels::{NO_COMPONENT, UNREACHED};

use crate::{ExternalId, IdKind, Values, VersionAnswer, View};

/// Rows that are written at a time.
const BATCH_ROWS: usize = 1 << 16;

/// A table of the values of vertices, which is written answer by answer.
pub struct ValueTable<W: Write + Send> {
    writer: TableWriter<W>,
}

impl<W: Write + Send> ValueTable<W> {
    /// Starts a table of such values: `id` and `value`, of two values a vertex `id`, `hub` and `authority`, of edges `src`,
    /// `dst` and, if they have some, `weight`. With versions each row begins with its `version`.
    pub fn new(out: W, format: TableFormat, values: &Values, has_versions: bool) -> Self {
        Self { writer: TableWriter::new(out, format, names(values, has_versions)) }
    }

    /// Writes a row for each vertex, in ascending order of ids; those of a list are ids alone. A depth that is not reached
    /// is missing, a distance infinite; what a component or a community is called is an id.
    ///
    /// # Errors
    /// As [`Values::write`].
    pub fn write(&mut self, values: &Values, view: &View) -> io::Result<()> {
        let row_of = |v| view.row_of(v).unwrap_or_default();
        self.write_rows(values, view, None, row_of)
    }

    /// Writes a row for each vertex that a version has, of which `view` is the graph; none if values were not kept.
    ///
    /// # Errors
    /// As [`Values::write`].
    pub fn write_version(&mut self, answer: &VersionAnswer, view: &View) -> io::Result<()> {
        self.write_rows(&answer.values, view, Some(answer.version), |v| v as usize)
    }

    fn write_rows(
        &mut self,
        values: &Values,
        view: &View,
        version: Option<u64>,
        row_of: impl Fn(VertexId) -> usize,
    ) -> io::Result<()> {
        let names = Names { view, are_texts: view.id_kind() == IdKind::Text };
        let versions = |len| version.map(|version| Cells::Numbers(vec![Some(version); len]));
        let mut write = |len, of_rows: Vec<Cells>| {
            let columns = versions(len).into_iter().chain(of_rows).collect();
            self.writer.write(columns).map_err(io::Error::other)
        };
        if let Values::Edges(edges, weights) = values {
            for rows in pieces(edges.len()) {
                let weights = weights.as_ref().map(|all| &all[rows.clone()]);
                write(rows.len(), names.edges(&edges[rows], weights))?;
            }
        } else if !matches!(values, Values::None) {
            let ids = values.ids(view)?;
            for rows in pieces(ids.len()) {
                let ids = &ids[rows];
                let mut columns = vec![names.cells(ids.iter().map(|&v| Some(v)))];
                columns.extend(names.values(values, ids, &row_of));
                write(ids.len(), columns)?;
            }
        }
        view.check_reads().map_err(io::Error::other)
    }

    /// Writes the end of the table and returns what it was written to.
    ///
    /// # Errors
    /// If that fails.
    pub fn finish(self) -> io::Result<W> {
        self.writer.finish().map_err(io::Error::other)
    }
}

/// Returns the rows that are written together; an empty range, which says what columns hold, if there are none.
fn pieces(rows: usize) -> impl Iterator<Item = Range<usize>> {
    let piece = move |start: usize| start..(start + BATCH_ROWS).min(rows);
    (0..rows.max(1)).step_by(BATCH_ROWS).map(piece)
}

/// Returns what the columns are called.
fn names(values: &Values, has_versions: bool) -> &'static [&'static str] {
    let with_version: &[&str] = match values {
        Values::Vertices(_) | Values::Order(_) | Values::None => &["version", "id"],
        Values::Edges(_, None) => &["version", "src", "dst"],
        Values::Edges(_, Some(_)) => &["version", "src", "dst", "weight"],
        Values::Scores(_) => &["version", "id", "hub", "authority"],
        _ => &["version", "id", "value"],
    };
    &with_version[usize::from(!has_versions)..]
}

/// What the vertices of a view are called.
struct Names<'a> {
    view: &'a View,
    are_texts: bool,
}

impl Names<'_> {
    fn cells(&self, vertices: impl Iterator<Item = Option<VertexId>>) -> Cells {
        if self.are_texts {
            let name = |v| self.view.name_of(v).to_string();
            return Cells::Texts(vertices.map(|v| v.map(name)).collect());
        }
        let number = |v| match self.view.name_of(v) {
            ExternalId::Integer(id) => id,
            ExternalId::Text(_) => v.into(),
        };
        Cells::Numbers(vertices.map(|v| v.map(number)).collect())
    }

    fn edges(&self, edges: &[Edge], weights: Option<&[f32]>) -> Vec<Cells> {
        let ends = [|edge: &Edge| Some(edge.0), |edge: &Edge| Some(edge.1)];
        let mut columns = ends.map(|end| self.cells(edges.iter().map(end))).to_vec();
        columns.extend(weights.map(|weights| Cells::Singles(weights.to_vec())));
        columns
    }

    /// Returns the values of some vertices, by column.
    fn values(
        &self,
        values: &Values,
        ids: &[VertexId],
        row_of: impl Fn(VertexId) -> usize,
    ) -> Vec<Cells> {
        let rows = || ids.iter().map(|&v| row_of(v));
        let reals = |all: &[f64]| Cells::Reals(rows().map(|row| all[row]).collect());
        let numbers =
            |cell: &dyn Fn(usize) -> Option<u64>| Cells::Numbers(rows().map(cell).collect());
        match values {
            Values::Depth(all) => vec![numbers(&|row| {
                Some(all[row]).filter(|&depth| depth != UNREACHED).map(u64::from)
            })],
            Values::Score(all) | Values::Distance(all) => vec![reals(all)],
            Values::Scores([first, second]) => vec![reals(first), reals(second)],
            Values::Count(all) => vec![numbers(&|row| Some(all[row].into()))],
            Values::Component(all) => {
                let component = |row: usize| Some(all[row]).filter(|&v| v != NO_COMPONENT);
                vec![self.cells(rows().map(component))]
            }
            Values::Label(all) if self.are_texts => {
                vec![self.cells(rows().map(|row| Some(all[row] as VertexId)))]
            }
            Values::Label(all) => vec![numbers(&|row| Some(all[row]))],
            Values::Vertices(_) | Values::Order(_) | Values::Edges(..) | Values::None => Vec::new(),
        }
    }
}
