//! Writing a view to a file that other programs read.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use everedge_io::{Compress, Compression, compress};
use everedge_io::{EdgeWriter, Format, Id, IdKind, WriteOptions, write_vertices};
use everedge_live::ExternalId;

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
    /// name's ending says, compressed if it ends in `.gz` or `.zst`. Graphalytics' `.e` gets its
    /// `.v` beside it.
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
        if format == Format::Parquet && compression_of(path).0 != Compression::None {
            let path = path.display();
            let what =
                format!("`{path}`: Parquet compresses what it holds itself; leave the ending out");
            return Err(Error::invalid(what));
        }
        let mut writer = EdgeWriter::new(create(path)?, options).map_err(at)?;
        self.for_each_arc(|u, v, weight| writer.write(id(u), id(v), weight)).map_err(at)?;
        let file = close(path, writer.finish().map_err(at)?)?;
        let bytes = file.metadata().map_err(|e| Error::io(path, "examine", e))?.len();
        if format == Format::Graphalytics {
            let path = vertices_beside(path);
            let mut out = BufWriter::new(create(&path)?);
            let vertices = self.vertices().into_iter().map(id);
            write_vertices(&mut out, vertices).map_err(|e| Error::file(&path, e))?;
            let out = out.into_inner().map_err(|e| Error::io(&path, "write", e.into_error()))?;
            close(&path, out)?;
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

fn create(path: &Path) -> Result<Compress<File>> {
    #[expect(clippy::disallowed_methods, reason = "an output file that the user named")]
    let file = File::create(path).map_err(|e| Error::io(path, "create", e))?;
    compress(file, compression_of(path).0).map_err(|e| Error::io(path, "compress", e))
}

fn close(path: &Path, out: Compress<File>) -> Result<File> {
    out.finish().map_err(|e| Error::io(path, "write", e))
}

/// Returns how a file is compressed, by its name, and its path without that ending.
fn compression_of(path: &Path) -> (Compression, PathBuf) {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let (compression, stem) = Compression::of_name(name);
    (compression, path.with_file_name(stem))
}

/// The file of vertices that belongs to Graphalytics' file of edges.
fn vertices_beside(path: &Path) -> PathBuf {
    match compression_of(path) {
        (Compression::None, path) => path.with_extension("v"),
        (_, stem) => {
            let ending = path.extension().unwrap_or_default().to_string_lossy();
            stem.with_extension(format!("v.{ending}"))
        }
    }
}

fn format_of(path: &Path) -> Result<Format> {
    let (_, stem) = compression_of(path);
    let ending = stem.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
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
