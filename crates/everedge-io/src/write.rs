//! Writing edges, one by one, into any format that can be exported.
//!
//! The bytes are those that the readers of this crate, and other programs, read back as the same
//! graph. An undirected graph is written from a view, which shows each edge from both ends: the
//! writer keeps one of the two, or both where the format wants both.

use std::io::{BufWriter, Write};

use everedge_core::VertexId;

use crate::lines::BYTE_ORDER_MARK;
use crate::metis::AdjacencyWriter;
use crate::parquet::TableWriter;
use crate::rules::is_null_word;
use crate::{Error, Format, IdKind, Result, csv, edge_list};

/// An external id to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Id<'a> {
    /// An integer.
    Number(u64),
    /// Text.
    Text(&'a str),
}

/// The names of the columns that a table has in its first row.
pub(crate) const COLUMN_NAMES: [&str; 3] = ["src", "dst", "weight"];

/// What to write and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteOptions {
    /// The format to write.
    pub format: Format,
    /// The kind of the ids: [`Id::Text`] for text, [`Id::Number`] for the others.
    pub ids: IdKind,
    /// Whether edges have a direction.
    pub directed: bool,
    /// Whether to write weights.
    pub weighted: bool,
    /// Every numeric id is below it.
    pub vertex_bound: VertexId,
    /// How many edges will be written, an undirected one counted once; Matrix Market and METIS
    /// declare it.
    pub edge_count: u64,
    /// What to add to each numeric id: 1 lets vertex 0 into formats that count from 1.
    pub id_shift: u32,
}

/// Writes the edges of one graph.
///
/// # Example
/// ```
/// use everedge_io::{EdgeWriter, Format, Id, IdKind, WriteOptions};
/// let options = WriteOptions {
///     format: Format::EdgeList, ids: IdKind::Dense, directed: true, weighted: true,
///     vertex_bound: 8, edge_count: 1, id_shift: 0,
/// };
/// let mut writer = EdgeWriter::new(Vec::new(), options)?;
/// writer.write(Id::Number(3), Id::Number(7), 0.5)?;
/// assert_eq!(writer.finish()?, b"# src dst weight\n3 7 0.5\n");
/// # Ok::<(), everedge_io::Error>(())
/// ```
pub struct EdgeWriter<W: Write + Send> {
    options: WriteOptions,
    output: Output<W>,
    written: u64,
}

enum Output<W: Write + Send> {
    Rows(BufWriter<W>),
    Adjacency(AdjacencyWriter<BufWriter<W>>),
    Table(Box<TableWriter<W>>),
}

impl<W: Write + Send> EdgeWriter<W> {
    /// Starts a file and writes its header.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the format cannot hold such a graph or is not written at all;
    /// [`Error::Io`].
    pub fn new(out: W, options: WriteOptions) -> Result<Self> {
        check_options(&options)?;
        let output = match options.format {
            Format::Parquet => Output::Table(Box::new(TableWriter::new(out, &options)?)),
            Format::Metis => {
                let (last, edges) = (last_id(&options), options.edge_count);
                let out = BufWriter::new(out);
                Output::Adjacency(AdjacencyWriter::new(out, last, edges, options.weighted)?)
            }
            _ => {
                let mut out = BufWriter::new(out);
                write_header(&mut out, &options)?;
                Output::Rows(out)
            }
        };
        Ok(Self { options, output, written: 0 })
    }

    /// Writes an edge; `weight` is ignored unless weights are written.
    ///
    /// The edges of an undirected graph must come from each end, a self-loop once, as
    /// [`GraphView::for_each_edge`](everedge_core::GraphView::for_each_edge) shows them; METIS needs
    /// its ascending order of sources too.
    ///
    /// # Errors
    /// [`Error::Unwritable`] if the format cannot hold the edge; [`Error::Io`].
    pub fn write(&mut self, src: Id<'_>, dst: Id<'_>, weight: f32) -> Result<()> {
        let options = &self.options;
        let is_second_end = !options.directed && src > dst;
        if is_second_end && options.format != Format::Metis {
            return Ok(());
        }
        if options.weighted && !weight.is_finite() {
            return Err(unwritable(options.format, format!("the weight {weight} is not finite")));
        }
        let (src, dst) = (shift(src, options)?, shift(dst, options)?);
        let is_first = self.written == 0;
        self.written += u64::from(!is_second_end);
        match &mut self.output {
            Output::Rows(out) => {
                if is_first {
                    write_mark(out, options.format, src)?;
                }
                write_row(out, options, src, dst, weight)
            }
            Output::Adjacency(out) => out.write(src, dst, weight),
            Output::Table(out) => out.write(src, dst, weight),
        }
    }

    /// Writes the end of the file and returns what it was written to.
    ///
    /// # Errors
    /// [`Error::Unwritable`] if the header declares another number of edges; [`Error::Io`].
    pub fn finish(self) -> Result<W> {
        let WriteOptions { format, edge_count, .. } = self.options;
        let is_declared = matches!(format, Format::MatrixMarket | Format::Metis);
        if is_declared && self.written != edge_count {
            let what = format!("{edge_count} edges were declared and {} written", self.written);
            return Err(unwritable(format, what));
        }
        let out = match self.output {
            Output::Rows(out) => out,
            Output::Adjacency(out) => out.finish()?,
            Output::Table(out) => return out.finish(),
        };
        Ok(out.into_inner().map_err(|error| error.into_error())?)
    }
}

/// Refuses what a format cannot hold at all.
fn check_options(options: &WriteOptions) -> Result<()> {
    let format = options.format;
    let unsupported = |what| Err(Error::Unsupported { format, what });
    match format {
        Format::Dimacs => unsupported("it is not written; write matrix-market instead"),
        Format::Arrow => unsupported("it is not written; write parquet instead"),
        Format::Icebug | Format::GraphAr => unsupported("it is a directory, and no file"),
        Format::GraphalyticsVertices => unsupported("it holds no edges; write_vertices writes it"),
        Format::Metis if options.directed => {
            unsupported("it only holds undirected graphs; write matrix-market or csv instead")
        }
        Format::Binary if options.weighted => {
            unsupported("it holds no weights; write csv or parquet instead")
        }
        Format::MatrixMarket | Format::Metis | Format::Binary if options.ids == IdKind::Text => {
            unsupported("its ids are integers; write edge-list, csv or parquet instead")
        }
        _ => Ok(()),
    }
}

/// Returns the largest id that can be written, which is the number of vertices to declare.
fn last_id(options: &WriteOptions) -> u64 {
    (u64::from(options.vertex_bound) + u64::from(options.id_shift)).saturating_sub(1)
}

fn write_header(out: &mut impl Write, options: &WriteOptions) -> Result<()> {
    match options.format {
        Format::Csv | Format::Tsv => {
            let names = &COLUMN_NAMES[..if options.weighted { 3 } else { 2 }];
            let delimiter = char::from(delimiter(options.format)).to_string();
            writeln!(out, "{}", names.join(&delimiter))?;
        }
        // Without it a third column is no weight, and what looks like a number no text.
        Format::EdgeList if options.weighted || options.ids == IdKind::Text => {
            writeln!(out, "{}", edge_list::naming_comment(options.weighted))?;
        }
        Format::MatrixMarket => {
            let values = if options.weighted { "real" } else { "pattern" };
            let symmetry = if options.directed { "general" } else { "symmetric" };
            let (n, m) = (last_id(options), options.edge_count);
            writeln!(out, "%%MatrixMarket matrix coordinate {values} {symmetry}")?;
            writeln!(out, "{n} {n} {m}")?;
        }
        _ => {}
    }
    Ok(())
}

/// Returns what stands between two fields of a row.
fn delimiter(format: Format) -> u8 {
    match format {
        Format::Csv => b',',
        Format::Tsv => b'\t',
        _ => b' ',
    }
}

/// Moves a numeric id by the shift, and checks that it is one that the format can hold.
fn shift<'a>(id: Id<'a>, options: &WriteOptions) -> Result<Id<'a>> {
    let format = options.format;
    match id {
        Id::Text(text) if options.ids == IdKind::Text => Ok(Id::Text(text)),
        Id::Number(number) if options.ids != IdKind::Text => {
            let counts_from_one = matches!(format, Format::MatrixMarket | Format::Metis);
            let first = u64::from(counts_from_one);
            let last = match (options.ids, counts_from_one || format == Format::Binary) {
                (IdKind::Dense, _) | (_, true) => last_id(options),
                _ => u64::MAX,
            };
            let shifted = number.checked_add(u64::from(options.id_shift));
            shifted.filter(|id| (first..=last).contains(id)).map(Id::Number).ok_or_else(|| {
                let instead = "write edge-list, csv or parquet instead";
                let what = format!("the id {number} is not in {first} to {last}; {instead}");
                unwritable(format, what)
            })
        }
        other => Err(unwritable(format, format!("{other:?} is not of the declared kind"))),
    }
}

fn write_row(
    out: &mut impl Write,
    options: &WriteOptions,
    src: Id<'_>,
    dst: Id<'_>,
    weight: f32,
) -> Result<()> {
    let format = options.format;
    if let (Format::Binary, Id::Number(src), Id::Number(dst)) = (format, src, dst) {
        out.write_all(&(src as u32).to_le_bytes())?;
        out.write_all(&(dst as u32).to_le_bytes())?;
        return Ok(());
    }
    if format == Format::JsonLines {
        return write_object(out, options, [src, dst], weight);
    }
    // The lower triangle of a symmetric matrix is the one that is stored.
    let is_lower = format == Format::MatrixMarket && !options.directed;
    let (first, second) = if is_lower { (dst, src) } else { (src, dst) };
    let delimiter = delimiter(format);
    write_id(out, format, first)?;
    out.write_all(&[delimiter])?;
    write_id(out, format, second)?;
    if options.weighted {
        write!(out, "{}{weight}", char::from(delimiter))?;
    }
    out.write_all(b"\n")?;
    Ok(())
}

fn write_object(
    out: &mut impl Write,
    options: &WriteOptions,
    ends: [Id<'_>; 2],
    weight: f32,
) -> Result<()> {
    for (key, id) in ["{\"src\":", ",\"dst\":"].into_iter().zip(ends) {
        out.write_all(key.as_bytes())?;
        match id {
            Id::Number(number) => write!(out, "{number}")?,
            Id::Text(text) => {
                serde_json::to_writer(&mut *out, text).map_err(std::io::Error::from)?
            }
        }
    }
    if options.weighted {
        write!(out, ",\"weight\":{weight}")?;
    }
    out.write_all(b"}\n")?;
    Ok(())
}

/// Writes a byte order mark before the first id of a file without a header if that starts with one: a
/// reader takes the first one away.
pub(crate) fn write_mark(out: &mut impl Write, format: Format, first: Id<'_>) -> Result<()> {
    let has_no_header = matches!(format, Format::Graphalytics | Format::GraphalyticsVertices);
    if has_no_header && matches!(first, Id::Text(text) if text.starts_with(BYTE_ORDER_MARK)) {
        out.write_all(BYTE_ORDER_MARK.as_bytes())?;
    }
    Ok(())
}

/// Writes an id so that it is read back as it is.
pub(crate) fn write_id(out: &mut impl Write, format: Format, id: Id<'_>) -> Result<()> {
    match id {
        Id::Number(number) => write!(out, "{number}")?,
        Id::Text(text) if matches!(format, Format::Csv | Format::Tsv) => {
            out.write_all(&csv::quoted(text, delimiter(format)))?;
        }
        Id::Text(text) => {
            if text.is_empty() {
                return Err(unwritable(
                    format,
                    "an id is empty, which no format that is read may have",
                ));
            }
            if let Some(reason) = not_plain(text) {
                let what = format!("the id {text:?} {reason}; write csv, json-lines or parquet");
                return Err(unwritable(format, what));
            }
            out.write_all(text.as_bytes())?;
        }
    }
    Ok(())
}

/// Says why text is not read back from between blanks as it is, if it is not.
fn not_plain(text: &str) -> Option<&'static str> {
    if text.bytes().any(|byte| byte.is_ascii_whitespace() || byte == 0) {
        Some("has a blank")
    } else if text.starts_with(edge_list::COMMENTS.map(char::from)) || text.starts_with("//") {
        Some("starts as a comment does")
    } else if is_null_word(text.as_bytes()) {
        Some("looks like a null")
    } else {
        None
    }
}

pub(crate) fn unwritable(format: Format, what: impl Into<String>) -> Error {
    Error::Unwritable { format, what: what.into() }
}
