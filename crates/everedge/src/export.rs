//! Writing a view to a file that other programs read.

use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use everedge_io::{Compress, Compression, compress};
use everedge_io::{EdgeWriter, Format, Id, IdKind, WriteOptions, write_vertices};
use everedge_live::ExternalId;
use tempfile::TempPath;

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
    /// name's ending says, compressed if it ends in `.gz`, `.zst`, `.bz2` or `.xz`. Graphalytics'
    /// `.e` gets its `.v` beside it.
    ///
    /// The file is written aside and gets its name when it is whole, so that an error leaves what was
    /// there. Ids from 0 are written from 1 in formats that count from 1.
    ///
    /// # Errors
    /// `File` if the format cannot hold the graph; `Io` if the file cannot be written.
    pub fn export(&self, path: &Path, format: Option<Format>) -> Result<ExportReport> {
        let format = match format {
            Some(format) => format,
            None => format_of(path)?,
        };
        if matches!(format, Format::Parquet) && compression_of(path).0 != Compression::None {
            let path = path.display();
            let what =
                format!("`{path}`: Parquet compresses what it holds itself; leave the ending out");
            return Err(Error::invalid(what));
        }
        let edges = self.write_aside(path, |out| self.write_edges(out, format, path))?;
        let vertices = match format {
            Format::Graphalytics => {
                let path = vertices_beside(path);
                Some(self.write_aside(&path, |out| self.write_vertices(out, &path))?)
            }
            _ => None,
        };
        let bytes = edges.put_in_place()?;
        vertices.map(OutputFile::put_in_place).transpose()?;
        let vertices = self.vertex_count().into();
        Ok(ExportReport { vertices, edges: self.edge_count(), bytes })
    }

    /// Writes all edges to `out`, as [`Self::export`] writes a file.
    ///
    /// # Errors
    /// As [`Self::export`].
    pub fn export_to(&self, out: impl Write + Send, format: Format) -> Result<ExportReport> {
        let name = Path::new("-");
        let out = self.write_edges(Counted { out, bytes: 0 }, format, name)?;
        let vertices = self.vertex_count().into();
        Ok(ExportReport { vertices, edges: self.edge_count(), bytes: out.bytes })
    }

    /// Writes a file under a name of its own with `write`.
    fn write_aside(
        &self,
        path: &Path,
        write: impl FnOnce(Compress<File>) -> Result<Compress<File>>,
    ) -> Result<OutputFile> {
        let aside = OutputFile::create(path)?;
        let file = aside.file.try_clone().map_err(|e| Error::io(path, "create", e))?;
        let out = compress(file, compression_of(path).0);
        let out = write(out.map_err(|e| Error::io(path, "compress", e))?)?;
        out.finish().map_err(|e| Error::io(path, "write", e))?;
        Ok(aside)
    }

    fn write_edges<W: Write + Send>(&self, out: W, format: Format, path: &Path) -> Result<W> {
        let at = |error| output_error(path, error);
        let names = self.names();
        let mut writer = EdgeWriter::new(out, self.write_options(format)).map_err(at)?;
        self.for_each_arc(|u, v, weight| writer.write(id(&names, u), id(&names, v), weight))
            .map_err(at)?;
        writer.finish().map_err(at)
    }

    fn write_vertices<W: Write>(&self, out: W, path: &Path) -> Result<W> {
        let names = self.names();
        let mut out = BufWriter::new(out);
        let vertices = self.vertices().into_iter().map(|v| id(&names, v));
        write_vertices(&mut out, vertices).map_err(|e| output_error(path, e))?;
        out.into_inner().map_err(|e| Error::io(path, "write", e.into_error()))
    }

    /// Returns the names of all ids, if the ids have names.
    fn names(&self) -> Option<Vec<ExternalId>> {
        (self.id_kind() != crate::IdKind::Dense)
            .then(|| (0..self.vertex_bound()).map(|v| self.name_of(v)).collect())
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

fn id(names: &Option<Vec<ExternalId>>, v: u32) -> Id<'_> {
    match names.as_deref().map(|names| &names[v as usize]) {
        Some(ExternalId::Text(text)) => Id::Text(text),
        Some(ExternalId::Integer(id)) => Id::Number(*id),
        None => Id::Number(v.into()),
    }
}

fn output_error(path: &Path, error: everedge_io::Error) -> Error {
    match error {
        everedge_io::Error::Io(source) => Error::io(path, "write", source),
        source => Error::file(path, source),
    }
}

/// A file that is being written. A regular one gets its name when it is whole; what else has the
/// name, such as a pipe or a device, is written to as it is.
struct OutputFile {
    path: PathBuf,
    file: File,
    aside: Option<TempPath>,
}

impl OutputFile {
    fn create(path: &Path) -> Result<Self> {
        let at = |error| Error::io(path, "create", error);
        // A link goes on pointing to the file.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            let file = File::options().write(true).open(&path).map_err(at)?;
            return Ok(Self { path, file, aside: None });
        }
        let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let permissions = Permissions::from_mode(0o666);
        let aside = tempfile::Builder::new()
            .prefix(".everedge-export-")
            .permissions(permissions)
            .tempfile_in(directory.unwrap_or(Path::new(".")))
            .map_err(at)?;
        let (file, aside) = aside.into_parts();
        Ok(Self { path, file, aside: Some(aside) })
    }

    /// Gives the file its name; returns its length.
    fn put_in_place(self) -> Result<u64> {
        let Self { path, file, aside } = self;
        let Some(aside) = aside else { return Ok(0) };
        file.sync_all().map_err(|e| Error::io(&path, "write", e))?;
        let bytes = file.metadata().map_err(|e| Error::io(&path, "examine", e))?.len();
        aside.persist(&path).map_err(|e| Error::io(&path, "create", e.error))?;
        Ok(bytes)
    }
}

/// Counts what is written.
struct Counted<W> {
    out: W,
    bytes: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
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
    Format::from_ending(ending).ok_or_else(|| {
        Error::invalid(format!(
            "`{}`: its ending names no format; give one with --format",
            path.display()
        ))
    })
}
