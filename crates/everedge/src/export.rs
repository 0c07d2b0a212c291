//! Writing a view to a file that other programs read.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use everedge_io::{EdgeWriter, Format, Id, IdKind, WriteOptions, write_vertices};
use everedge_storage::ExternalId;

use crate::{Error, Result, View};

/// What an export wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ExportReport {
    /// Vertices of the view; a format of edges alone holds those that have one.
    pub vertices: u64,
    /// Edges written; an undirected one counts once.
    pub edges: u64,
    /// Bytes of the file of edges.
    pub bytes: u64,
}

impl View {
    /// Writes all edges to `path`, with weights if there are some, in `format` or the one that the
    /// name's ending says. Graphalytics' `.e` gets its `.v` beside it.
    ///
    /// Ids from 0 are written from 1 in formats that count from 1.
    ///
    /// # Errors
    /// `File` if the format cannot hold the graph; `Io` if the file cannot be written.
    pub fn export(&self, path: &Path, format: Option<Format>) -> Result<ExportReport> {
        let format = match format {
            Some(format) => format,
            None => format_of(path)?,
        };
        let at = |error| Error::file(path, error);
        let names: Option<Vec<ExternalId>> = (self.id_kind() != crate::IdKind::Dense)
            .then(|| (0..self.vertex_bound()).map(|v| self.name_of(v)).collect());
        let id = |v: u32| match names.as_deref().map(|names| &names[v as usize]) {
            Some(ExternalId::Text(text)) => Id::Text(text),
            Some(ExternalId::Integer(id)) => Id::Number(*id),
            None => Id::Number(v.into()),
        };
        let options = self.write_options(format);
        let mut writer = EdgeWriter::new(create(path)?, options).map_err(at)?;
        self.for_each_arc(|u, v, weight| writer.write(id(u), id(v), weight)).map_err(at)?;
        let file = writer.finish().map_err(at)?;
        let bytes = file.metadata().map_err(|e| Error::io(path, "examine", e))?.len();
        if format == Format::Graphalytics {
            let path = path.with_extension("v");
            let vertices = self.vertices();
            let out = BufWriter::new(create(&path)?);
            write_vertices(out, vertices.into_iter().map(id)).map_err(|e| Error::file(&path, e))?;
        }
        let vertices = self.vertex_count().into();
        Ok(ExportReport { vertices, edges: self.edge_count(), bytes })
    }

    fn write_options(&self, format: Format) -> WriteOptions {
        let counts_from_1 = matches!(format, Format::MatrixMarket | Format::Metis | Format::Dimacs);
        let has_0 = self.vertices().first() == Some(&0);
        WriteOptions {
            format,
            ids: match self.id_kind() {
                crate::IdKind::Dense => IdKind::Dense,
                crate::IdKind::Integer => IdKind::Sparse,
                crate::IdKind::Text => IdKind::Text,
            },
            directed: self.is_directed(),
            weighted: self.is_weighted(),
            vertex_bound: self.vertex_bound(),
            edge_count: self.edge_count(),
            id_shift: u32::from(counts_from_1 && has_0),
        }
    }
}

fn create(path: &Path) -> Result<File> {
    #[expect(clippy::disallowed_methods, reason = "an output file that the user named")]
    File::create(path).map_err(|e| Error::io(path, "create", e))
}

fn format_of(path: &Path) -> Result<Format> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    match ending {
        "txt" | "el" | "wel" | "edges" => Ok(Format::EdgeList),
        "csv" => Ok(Format::Csv),
        "tsv" => Ok(Format::Tsv),
        "mtx" => Ok(Format::MatrixMarket),
        "graph" => Ok(Format::Metis),
        "e" => Ok(Format::Graphalytics),
        "bin" => Ok(Format::Binary),
        "parquet" => Ok(Format::Parquet),
        _ => Err(Error::invalid(format!(
            "`{}`: its ending names no format; give one with --format",
            path.display()
        ))),
    }
}
