//! The answer of a kernel as a table, for data frames and databases.

use std::io::{self, Write};

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
        if let Values::Edges(edges, weights) = values {
            for (number, edges) in edges.chunks(BATCH_ROWS).enumerate() {
                let start = number * BATCH_ROWS;
                let weights = weights.as_ref().map(|all| &all[start..start + edges.len()]);
                self.writer.write(names.edges(edges, weights)).map_err(io::Error::other)?;
            }
            return view.check_reads().map_err(io::Error::other);
        }
        let ids = values.ids(view)?;
        for ids in ids.chunks(BATCH_ROWS) {
            let mut columns: Vec<Cells> = Vec::new();
            columns.extend(version.map(|version| Cells::Numbers(vec![Some(version); ids.len()])));
            columns.push(names.cells(ids.iter().map(|&v| Some(v))));
            columns.extend(names.values(values, ids, &row_of));
            self.writer.write(columns).map_err(io::Error::other)?;
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

/// Returns what the columns are called.
fn names(values: &Values, has_versions: bool) -> &'static [&'static str] {
    match (values, has_versions) {
        (Values::Vertices(_) | Values::Order(_) | Values::None, _) => &["id"],
        (Values::Edges(_, None), _) => &["src", "dst"],
        (Values::Edges(_, Some(_)), _) => &["src", "dst", "weight"],
        (Values::Scores(_), false) => &["id", "hub", "authority"],
        (Values::Scores(_), true) => &["version", "id", "hub", "authority"],
        (_, false) => &["id", "value"],
        (_, true) => &["version", "id", "value"],
    }
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
