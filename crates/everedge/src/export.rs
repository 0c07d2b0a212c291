//! Writing a view, or a generated graph, to a file that other programs read.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use everedge_core::watch::{self, Watch};
use everedge_core::{Bitmap, MAX_VERTEX_ID, VertexId};
use everedge_io::Compression;
use everedge_io::{EdgeWriter, Format, Generator, Id, IdKind, WriteOptions, write_vertices};
use everedge_live::{ExternalId, NameRef};

use crate::naming::HeldNaming;
use crate::output_file::{OutputFile, compression_of};
use crate::{Error, Result, View};

/// Edges that are generated at a time.
const PIECE_EDGES: u64 = 1 << 20;

/// Edges of a file that are written between two looks at whether that was cancelled.
const EDGES_UNWATCHED: u64 = 1 << 16;

/// What an export wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ExportReport {
    /// Vertices of the view; a format of edges alone holds those that have one.
    pub vertices: u64,
    /// Vertices that are not in the file, as they have no edge and the format holds only edges.
    pub vertices_left_out: u64,
    /// Vertices that the file has beside them: all numbers up to the largest, where a format counts its
    /// vertices from 1.
    pub vertices_added: u64,
    /// By how much ids are higher in the file, where a format counts from 1 and the graph from 0.
    pub id_shift: u32,
    /// Edges written; an undirected one counts once.
    pub edges: u64,
    /// Bytes of the file of edges, or of all files of a directory but its manifest.
    pub bytes: u64,
}

/// What the ids of a view are called.
enum Called<'a> {
    /// By number.
    Number,
    /// By names that a live graph had.
    Copied(Vec<ExternalId>),
    /// As the vertices of a sealed graph are.
    Held(HeldNaming<'a>),
}

/// What a file holds.
struct Written {
    /// Vertices that have an edge.
    vertices: u64,
    edges: u64,
}

impl View {
    /// Writes all edges to `path`, with weights if there are some, in `format` or the one that the
    /// name's ending says, compressed if it ends in `.gz`, `.zst`, `.bz2` or `.xz`. Graphalytics'
    /// `.e` gets its `.v` beside it. Icebug, GraphAr, and Parquet unless the name ends in `.parquet` or `.pq` or is that
    /// of a device, are directories, which hold all vertices and are read back as the same graph.
    ///
    /// A file or a directory is written aside and gets its name when it is whole, so that an error leaves what was
    /// there; a directory takes the place of an export only. Ids from 0 are written from 1 in formats that count from 1.
    /// `watch` may cancel it.
    ///
    /// # Errors
    /// `File` if the format cannot hold the graph; `InvalidInput` if the path is taken by something else; `Io` if it cannot
    /// be written; `Interrupted`.
    pub fn export(
        &self,
        path: &Path,
        format: Option<Format>,
        watch: &Watch,
    ) -> Result<ExportReport> {
        let export = || match directory_format(path, format) {
            Some(format) => self.export_directory(path, format),
            None => self.export_file(path, format),
        };
        watch.run(export).map_err(|_cancelled| Error::Interrupted)?
    }

    fn export_file(&self, path: &Path, format: Option<Format>) -> Result<ExportReport> {
        let format = format_for(path, format, ", or give --format")?;
        let (edges, written) = self.write_edges(OutputFile::create(path)?, format, path)?;
        let vertices = match format {
            Format::Graphalytics => {
                let path = vertices_beside(path);
                Some(self.write_vertices(OutputFile::create(&path)?, &path)?)
            }
            _ => None,
        };
        let bytes = edges.put_in_place()?;
        let has_vertices = vertices.is_some();
        vertices.map(OutputFile::put_in_place).transpose()?;
        Ok(self.export_report(format, written, bytes, has_vertices))
    }

    /// Reports what was written; `has_vertices` says that a file of all vertices was, too.
    fn export_report(
        &self,
        format: Format,
        written: Written,
        bytes: u64,
        has_vertices: bool,
    ) -> ExportReport {
        let vertices = self.vertex_count().into();
        let are_declared = matches!(format, Format::Metis | Format::MatrixMarket);
        let vertices_left_out = match has_vertices || are_declared {
            true => 0,
            false => u64::saturating_sub(vertices, written.vertices),
        };
        let WriteOptions { vertex_bound, id_shift, .. } = self.write_options(format);
        let last = (u64::from(vertex_bound) + u64::from(id_shift)).saturating_sub(1);
        let vertices_added = if are_declared { last.saturating_sub(vertices) } else { 0 };
        let edges = written.edges;
        ExportReport { vertices, vertices_left_out, vertices_added, id_shift, edges, bytes }
    }

    /// Writes all edges to `out`, as [`Self::export`] writes a file of edges.
    ///
    /// # Errors
    /// As [`Self::export`].
    pub fn export_to(&self, out: impl Write + Send, format: Format) -> Result<ExportReport> {
        let name = Path::new("-");
        let (mut out, written) = self.write_edges(Counted { out, bytes: 0 }, format, name)?;
        // Standard output keeps what no line end follows, and drops the error of writing it.
        out.flush().map_err(|error| Error::io(name, "write", error))?;
        Ok(self.export_report(format, written, out.bytes, false))
    }

    /// Writes all edges; returns what they were written to, and what that was.
    fn write_edges<W: Write + Send>(
        &self,
        out: W,
        format: Format,
        path: &Path,
    ) -> Result<(W, Written)> {
        let at = |error| output_error(path, error);
        let mut with_edges = Bitmap::new(self.row_count() as u32);
        let names = self.names();
        let row = |v| self.row_of(v).map(|row| row as u32);
        let mut writer = EdgeWriter::new(out, self.write_options(format)).map_err(at)?;
        let (directed, mut edges) = (self.is_directed(), 0);
        let write = |u, v, weight| {
            if edges % EDGES_UNWATCHED == 0 {
                watch::check();
            }
            [u, v].into_iter().filter_map(row).for_each(|row| with_edges.insert(row));
            let (src, dst) = (names.id(u), names.id(v));
            // As the writer, which takes an undirected edge from its smaller end.
            edges += u64::from(directed || src <= dst);
            writer.write(src, dst, weight)
        };
        // METIS has a line for each vertex, in the order of what vertices are called.
        let written = match format == Format::Metis && !matches!(names, Called::Number) {
            true => self.for_each_arc_by_name(write),
            false => self.for_each_arc(write),
        };
        // What could not be read is the reason of what the writer misses.
        self.check_reads()?;
        written.map_err(at)?;
        let vertices = with_edges.count().into();
        Ok((writer.finish().map_err(at)?, Written { vertices, edges }))
    }

    fn write_vertices<W: Write>(&self, out: W, path: &Path) -> Result<W> {
        let names = self.names();
        write_ids(out, path, self.vertices().into_iter().map(|v| names.id(v)))
    }

    /// Returns what ids are called.
    fn names(&self) -> Called<'_> {
        if let Some(held) = self.naming.held() {
            return Called::Held(held);
        }
        match self.id_kind() {
            crate::IdKind::Dense => Called::Number,
            // Whoever writes to the graph meanwhile makes names.
            _ => Called::Copied((0..self.name_bound()).map(|v| self.name_of(v)).collect()),
        }
    }

    fn write_options(&self, format: Format) -> WriteOptions {
        let are_dense = self.naming.numbers_before().is_some();
        let (has_0, vertex_bound) = self.numbers();
        WriteOptions {
            format,
            ids: match self.id_kind() {
                crate::IdKind::Dense => IdKind::Dense,
                crate::IdKind::Integer if are_dense => IdKind::Dense,
                crate::IdKind::Integer => IdKind::Sparse,
                crate::IdKind::Text => IdKind::Text,
            },
            directed: self.is_directed(),
            weighted: self.is_weighted(),
            vertex_bound,
            edge_count: self.edge_count(),
            id_shift: u32::from(counts_from_1(format) && has_0),
        }
    }

    /// Returns whether a vertex is called 0, and a bound above what all are called, if those are numbers that
    /// vertices can have.
    fn numbers(&self) -> (bool, VertexId) {
        let of = |ids: &mut dyn Iterator<Item = u64>| {
            ids.fold((false, 0), |(has_0, bound), id| (has_0 || id == 0, bound.max(id + 1)))
        };
        let (has_0, bound) = match (self.id_kind(), self.naming.numbers_before()) {
            (_, Some(numbers)) => of(&mut numbers.iter().map(|&id| id.into())),
            (crate::IdKind::Integer, None) => {
                let name = |v| match self.name_of(v) {
                    ExternalId::Integer(id) => id.min(MAX_VERTEX_ID.into()),
                    ExternalId::Text(_) => 0,
                };
                of(&mut self.vertices().into_iter().map(name))
            }
            _ => return (self.vertices().first() == Some(&0), self.vertex_bound()),
        };
        (has_0, bound as VertexId)
    }
}

impl Called<'_> {
    fn id(&self, v: VertexId) -> Id<'_> {
        let name = match self {
            Self::Number => None,
            Self::Copied(names) => names.get(v as usize).map(NameRef::from),
            Self::Held(names) => Some(names.name_of(v)),
        };
        match name {
            Some(NameRef::Text(text)) => Id::Text(text),
            Some(NameRef::Integer(id)) => Id::Number(id),
            None => Id::Number(v.into()),
        }
    }
}

/// Writes a file of vertices; returns what it was written to.
fn write_ids<'a, W: Write>(
    out: W,
    path: &Path,
    vertices: impl Iterator<Item = Id<'a>>,
) -> Result<W> {
    let mut out = BufWriter::new(out);
    write_vertices(&mut out, vertices).map_err(|e| output_error(path, e))?;
    out.into_inner().map_err(|e| Error::io(path, "write", e.into_error()))
}

fn output_error(path: &Path, error: everedge_io::Error) -> Error {
    match error {
        everedge_io::Error::Io(source) => Error::io(path, "write", source),
        source => Error::file(path, source),
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

/// The file of vertices that belongs to Graphalytics' file of edges.
pub(crate) fn vertices_beside(path: &Path) -> PathBuf {
    match compression_of(path) {
        (Compression::None, path) => path.with_extension("v"),
        (_, stem) => {
            let ending = path.extension().unwrap_or_default().to_string_lossy();
            stem.with_extension(format!("v.{ending}"))
        }
    }
}

/// Returns the format of the directory that an export to `path` is, if it is not one file.
fn directory_format(path: &Path, format: Option<Format>) -> Option<Format> {
    let is_file = || {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let is_named = Format::from_ending(ending) == Some(Format::Parquet);
        // A device or a pipe is what it is; an ordinary file is not written over unless its name says that it is one.
        path.metadata().map_or(is_named, |found| match found.is_file() {
            true => is_named,
            false => !found.is_dir(),
        })
    };
    let is_one = |&format: &Format| match format {
        Format::Parquet => !is_file() && compression_of(path).0 == Compression::None,
        format => format.is_directory(),
    };
    format.filter(is_one)
}

/// Returns the format in which to write a file: `format`, or the one that the name's ending says;
/// `other_way` is what else the caller can do if it says none.
fn format_for(path: &Path, format: Option<Format>, other_way: &str) -> Result<Format> {
    let (compression, stem) = compression_of(path);
    let ending = stem.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    let shown = path.display();
    let format = format.or_else(|| Format::from_ending(ending)).ok_or_else(|| {
        let what = "its ending names no format: name it .txt, .csv or .parquet";
        let directory = "; --format parquet, icebug or graphar writes a directory";
        let directory = if other_way.is_empty() { "" } else { directory };
        Error::invalid(format!("`{shown}`: {what}{other_way}{directory}"))
    })?;
    if format == Format::Parquet && compression != Compression::None {
        let what = "Parquet compresses what it holds itself; leave the ending out";
        return Err(Error::invalid(format!("`{shown}`: {what}")));
    }
    Ok(format)
}

/// Writes a generated graph to `path`, in the format and compressed as its name says; `progress` is
/// called with the number of edges written so far. Graphalytics' `.e` gets its `.v` beside it. Returns the
/// bytes of the file of edges.
///
/// The file is written aside and gets its name when it is whole. Ids are written from 1 in formats that
/// count from 1.
///
/// # Errors
/// `InvalidInput` if the name says no format; `File` if the format cannot hold the graph; `Io` if the
/// file cannot be written.
pub fn write_generated(
    path: &Path,
    generator: &Generator,
    weighted: bool,
    mut progress: impl FnMut(u64),
) -> Result<u64> {
    let format = format_for(path, None, "")?;
    let at = |error| output_error(path, error);
    let edge_count = generator.edge_count();
    let options = WriteOptions {
        format,
        ids: IdKind::Dense,
        directed: true,
        weighted,
        vertex_bound: generator.vertex_bound(),
        edge_count,
        id_shift: u32::from(counts_from_1(format)),
    };
    let mut writer = EdgeWriter::new(OutputFile::create(path)?, options).map_err(at)?;
    for start in (0..edge_count).step_by(PIECE_EDGES as usize) {
        let range = start..edge_count.min(start + PIECE_EDGES);
        let weights = weighted.then(|| generator.weights(range.clone()));
        for (idx, (src, dst)) in generator.edges(range.clone()).into_iter().enumerate() {
            let weight = weights.as_ref().map_or(1.0, |weights| weights[idx]);
            writer.write(Id::Number(src.into()), Id::Number(dst.into()), weight).map_err(at)?;
        }
        progress(range.end);
    }
    let edges = writer.finish().map_err(at)?;
    let vertices = (format == Format::Graphalytics).then(|| {
        let path = vertices_beside(path);
        let ids = (0..u64::from(generator.vertex_bound())).map(Id::Number);
        write_ids(OutputFile::create(&path)?, &path, ids)
    });
    let vertices = vertices.transpose()?;
    let bytes = edges.put_in_place()?;
    vertices.map(OutputFile::put_in_place).transpose()?;
    Ok(bytes)
}

fn counts_from_1(format: Format) -> bool {
    matches!(format, Format::MatrixMarket | Format::Metis | Format::Dimacs)
}
