//! Guesses from a file's name and its first bytes how it is to be read.
//!
//! What the first bytes prove counts first (a Matrix Market banner, Parquet's mark), then the
//! extension, then what a line looks like: commas, or blanks. The kind of ids is that of the ids in
//! the first bytes; ids further on that do not fit it are errors of reading.

use std::collections::HashSet;

use everedge_core::MAX_VERTEX_ID;

use crate::csv::{Records, find_pair, is_name};
use crate::error::{Fault, quote};
use crate::lines::{fields_of, lines_of, parse_weight};
use crate::{
    Column, Columns, Compression, Error, Format, IdKind, Place, ReadOptions, Result, dimacs,
    matrix_market, metis,
};

/// How many decompressed bytes make a good guess; fewer will do at the end of the input.
pub const HEAD_BYTES: usize = 1 << 16;

/// Ids below this bound are dense, however few there are: arrays of that length cost little.
const DENSE_BOUND: u64 = 1 << 26;
/// How many times larger than the number of ids seen the largest dense id may be.
const DENSE_SPREAD: u64 = 64;

/// How a file is probably to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guess {
    /// The format.
    pub format: Format,
    /// The kind of ids.
    pub ids: IdKind,
    /// The columns of a table or the fields of a line, those of ids included; empty where the
    /// format fixes them.
    pub columns: Vec<GuessedColumn>,
    /// Whether the first row of a table holds names.
    pub has_header: bool,
    /// Which column holds sources.
    pub src: usize,
    /// Which column holds destinations.
    pub dst: usize,
    /// Whether the graph is directed, if the format or its header says so.
    pub directed: Option<bool>,
    /// Whether there are weights, if the format or its header says so.
    pub weighted: Option<bool>,
}

/// A column that a guess found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GuessedColumn {
    /// Its name, if there is a header.
    pub name: Option<String>,
    /// Whether all its fields seen are finite numbers.
    pub is_numeric: bool,
}

impl Guess {
    /// Returns options to read the file without weights as guessed.
    pub fn options(&self) -> ReadOptions {
        let weight = Column::Index(self.weight().unwrap_or(2));
        let columns =
            Columns { src: Column::Index(self.src), dst: Column::Index(self.dst), weight };
        let header = Some(self.has_header);
        let ids = self.ids;
        ReadOptions { format: self.format, ids, weighted: false, columns, header }
    }

    /// Returns the column that is likely to hold weights: one with a usual name, or else the first
    /// numeric column that holds no ids.
    pub fn weight(&self) -> Option<usize> {
        const NAMES: [&str; 5] = ["weight", "w", "length", "distance", "cost"];
        let is_weight = |(_, column): &(usize, &GuessedColumn)| {
            let name = column.name.as_deref().unwrap_or_default();
            NAMES.iter().any(|weight| name.eq_ignore_ascii_case(weight))
        };
        let others = || {
            let numeric = self.columns.iter().enumerate().filter(|(_, column)| column.is_numeric);
            numeric.filter(|(idx, _)| *idx != self.src && *idx != self.dst)
        };
        others().find(is_weight).or_else(|| others().next()).map(|(idx, _)| idx)
    }

    pub(crate) fn of(format: Format) -> Self {
        Self {
            format,
            ids: IdKind::Dense,
            columns: Vec::new(),
            has_header: false,
            src: 0,
            dst: 1,
            directed: None,
            weighted: None,
        }
    }
}

/// Guesses how to read a file called `name` whose decompressed bytes start with `head`.
///
/// `head` is the first [`HEAD_BYTES`] or so, from [`decompress`](crate::decompress); endings such
/// as `.gz` in `name` are ignored. Parquet keeps its schema at the end of the file, so its columns
/// are not guessed here but by [`probe_parquet`](crate::probe_parquet).
///
/// # Errors
/// [`Error::Syntax`] if it is an archive, binary data of no known format, or does not have the
/// header that its format needs.
///
/// # Example
/// ```
/// use everedge_io::{Format, IdKind, probe};
/// let guess = probe("deps.csv.gz", b"source,target\nbash,libc6\n")?;
/// assert_eq!((guess.format, guess.ids, guess.has_header), (Format::Csv, IdKind::Text, true));
/// # Ok::<(), everedge_io::Error>(())
/// ```
pub fn probe(name: &str, head: &[u8]) -> Result<Guess> {
    refuse_archives(head)?;
    let format = format_of(&extension(name), head);
    let text = match format {
        Format::Binary | Format::Parquet => return Ok(binary_guess(format)),
        _ => whole_lines(head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head)),
    };
    let guess = match format {
        Format::Csv => table_guess(format, text, b','),
        Format::Tsv => table_guess(format, text, b'\t'),
        _ => check_binary(text).and_then(|()| lines_guess(format, text)),
    };
    guess.map_err(|fault| {
        let lines = lines_of(text).take_while(|(place, _)| place.end <= fault.at).count();
        fault.into_error(Place::Line(1 + lines as u64))
    })
}

/// Refuses what is compressed in a way that `decompress` does not know, or twice.
fn refuse_archives(head: &[u8]) -> Result<()> {
    const ARCHIVES: [(&[u8], &str); 4] = [
        (b"PK\x03\x04", "this is a zip archive"),
        (b"\xfd7zXZ\0", "this is xz data"),
        (b"BZh", "this is bzip2 data"),
        (b"7z\xbc\xaf\x27\x1c", "this is a 7z archive"),
    ];
    let archive = ARCHIVES.iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, what)| *what);
    let twice = (Compression::of(head) != Compression::None).then_some("this is compressed twice");
    archive.or(twice).map_or(Ok(()), |what| {
        let hint = Some("extract the graph, or compress it with gzip or zstd");
        Err(Error::Syntax { place: Place::Whole, what: what.to_owned(), hint })
    })
}

/// Returns the extension of a name in lower case, that of a compression taken off.
fn extension(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    let stem = [".gz", ".zst"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    stem.rsplit_once('.').map_or("", |(_, extension)| extension).to_owned()
}

fn format_of(extension: &str, head: &[u8]) -> Format {
    if head.starts_with(b"PAR1") {
        return Format::Parquet;
    }
    let starts_as = |magic: &[u8]| {
        head.get(..magic.len()).is_some_and(|start| start.eq_ignore_ascii_case(magic))
    };
    if starts_as(matrix_market::MAGIC) {
        return Format::MatrixMarket;
    }
    match extension {
        "mtx" => Format::MatrixMarket,
        "gr" => Format::Dimacs,
        "graph" | "metis" => Format::Metis,
        "e" => Format::Graphalytics,
        "v" => Format::GraphalyticsVertices,
        "bin" => Format::Binary,
        "parquet" => Format::Parquet,
        _ => format_of_line(extension, head),
    }
}

/// Chooses among the formats of lines by the first one that holds an edge.
fn format_of_line(extension: &str, head: &[u8]) -> Format {
    let is_edge = |line: &&[u8]| {
        let line = line.trim_ascii();
        !line.is_empty() && !line.starts_with(b"#") && !line.starts_with(b"%")
    };
    let line = lines_of(head).map(|(_, line)| line).find(is_edge).unwrap_or_default();
    let fields: Vec<&[u8]> = fields_of(line).collect();
    match (extension, &fields[..]) {
        // Tables have no comments; a commented one is an edge list.
        ("tsv", _) if line.contains(&b'\t') && !head.starts_with(b"#") => Format::Tsv,
        (_, [b"p", b"sp" | b"tw", ..] | [b"a", _, _, _] | [b"c"]) => Format::Dimacs,
        _ if line.contains(&b',') => Format::Csv,
        ("csv", _) if line.contains(&b'\t') => Format::Tsv,
        ("csv", [] | [_]) => Format::Csv,
        ("tsv", [] | [_]) => Format::Tsv,
        _ => Format::EdgeList,
    }
}

fn binary_guess(format: Format) -> Guess {
    let weighted = (format == Format::Binary).then_some(false);
    Guess { weighted, ..Guess::of(format) }
}

/// Returns `head` up to its last line end, or all if it has none.
fn whole_lines(head: &[u8]) -> &[u8] {
    let end = memchr::memrchr(b'\n', head).filter(|_| head.len() >= HEAD_BYTES);
    end.map_or(head, |end| &head[..=end])
}

fn check_binary(text: &[u8]) -> Result<(), Fault> {
    memchr::memchr(0, text).map_or(Ok(()), |at| {
        let fault = Fault::new(at, "this is binary data of no known format");
        Err(fault.hint("pairs of 32-bit integers are read from files that end in .bin"))
    })
}

fn lines_guess(format: Format, text: &[u8]) -> Result<Guess, Fault> {
    let guess = Guess::of(format);
    Ok(match format {
        Format::MatrixMarket => {
            let banner = matrix_market::parse_banner(text)?;
            let (directed, weighted) = (Some(!banner.is_symmetric), Some(banner.has_values));
            Guess { directed, weighted, ..guess }
        }
        Format::Dimacs => {
            let is_shortest_path = Some(dimacs::parse_header(text)?.is_shortest_path);
            Guess { directed: is_shortest_path, weighted: is_shortest_path, ..guess }
        }
        Format::Metis => {
            let weighted = Some(metis::parse_header(text, false)?.has_weights);
            Guess { directed: Some(false), weighted, ..guess }
        }
        _ => {
            let mut sample = Sample::default();
            let lines = lines_of(text).filter(|(_, line)| !line.starts_with(b"#"));
            for (_, line) in lines.filter(|(_, line)| !line.starts_with(b"%")) {
                sample.add(fields_of(line), 0, 1);
            }
            Guess { ids: sample.ids(), columns: sample.columns(&[]), ..guess }
        }
    })
}

fn table_guess(format: Format, text: &[u8], delimiter: u8) -> Result<Guess, Fault> {
    check_binary(text)?;
    let mut records = Records::new(text, delimiter);
    let first = if records.advance()? { records.names() } else { Vec::new() };
    let (src, dst) = find_pair(&first).unwrap_or((0, 1));
    let mut sample = Sample::default();
    // The last record may be cut off inside of a quoted field.
    while records.advance().unwrap_or(false) {
        let fields = records.names();
        sample.add(fields.iter().map(String::as_bytes), src, dst);
    }
    let has_header = find_pair(&first).is_some() || sample.is_header(&first, src, dst);
    if !has_header {
        sample.add(first.iter().map(String::as_bytes), src, dst);
    }
    let columns = sample.columns(if has_header { &first } else { &[] });
    if columns.len() == 1 || (columns.is_empty() && first.len() == 1) {
        let what = format!("a record has one column only: {}", quote(first.concat().as_bytes()));
        return Err(Fault::new(0, what).hint("columns must be separated by commas or tabs"));
    }
    Ok(Guess { ids: sample.ids(), columns, has_header, src, dst, ..Guess::of(format) })
}

/// What the ids and the other fields seen so far look like.
#[derive(Default)]
pub(crate) struct Sample {
    ids_seen: HashSet<u64>,
    id_max: u64,
    has_text_ids: bool,
    /// For each column, whether all its fields were numbers.
    is_numeric: Vec<bool>,
}

impl Sample {
    fn add<'a>(&mut self, fields: impl Iterator<Item = &'a [u8]>, src: usize, dst: usize) {
        for (idx, field) in fields.enumerate() {
            if idx == self.is_numeric.len() {
                self.is_numeric.push(true);
            }
            self.is_numeric[idx] &= parse_weight(field).is_ok();
            if idx == src || idx == dst {
                self.add_id(&String::from_utf8_lossy(field));
            }
        }
    }

    pub(crate) fn add_id(&mut self, id: &str) {
        match id.parse() {
            Ok(id) => {
                self.ids_seen.insert(id);
                self.id_max = self.id_max.max(id);
            }
            Err(_) => self.has_text_ids |= is_name(id),
        }
    }

    pub(crate) fn ids(&self) -> IdKind {
        let spread = self.id_max / DENSE_SPREAD;
        let is_sparse = self.id_max > u64::from(MAX_VERTEX_ID)
            || (self.id_max > DENSE_BOUND && spread > self.ids_seen.len() as u64);
        match (self.has_text_ids, is_sparse) {
            (true, _) => IdKind::Text,
            (false, true) => IdKind::Sparse,
            (false, false) => IdKind::Dense,
        }
    }

    /// Returns whether a first record differs from those after it as names do from values.
    fn is_header(&self, record: &[String], src: usize, dst: usize) -> bool {
        let is_name_at = |idx: usize| record.get(idx).is_some_and(|field| is_name(field));
        let ids_are_named = !self.has_text_ids && is_name_at(src) && is_name_at(dst);
        let is_text_over_numbers = |(idx, &is_numeric): (usize, &bool)| {
            let is_other = idx != src && idx != dst && idx < record.len();
            is_numeric && is_other && parse_weight(record[idx].as_bytes()).is_err()
        };
        !self.is_numeric.is_empty()
            && (ids_are_named || self.is_numeric.iter().enumerate().any(is_text_over_numbers))
    }

    fn columns(&self, names: &[String]) -> Vec<GuessedColumn> {
        let column = |(idx, &is_numeric): (usize, &bool)| GuessedColumn {
            name: names.get(idx).cloned(),
            is_numeric,
        };
        self.is_numeric.iter().enumerate().map(column).collect()
    }
}
