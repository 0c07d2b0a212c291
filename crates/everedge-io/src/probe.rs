//! Guesses from a file's name and its first bytes how it is to be read.
//!
//! A name that ends in `.bin` counts first: pairs of integers may look like anything. Then counts what
//! the first bytes prove (a Matrix Market banner, Parquet's mark), then the extension, then what the first lines look like: objects of JSON, columns between commas, tabs or
//! the like, or blanks. The kind of ids is that of the ids in the first bytes; ids further on that do
//! not fit it are errors of reading.

use crate::archive::is_tar;
use crate::arrow::{CONTINUATION, FILE_MAGIC};
use crate::attributes;
use crate::binary;
use crate::columns::{GuessedColumn, Resolved};
use crate::csv::{self, Records};
use crate::edge_list;
use crate::error::{Fault, quote};
use crate::lines::{BYTE_ORDER_MARK, check_slashes, fields_of, lines_of};
use crate::names::is_weight;
use crate::read::IS_DIRECTORY;
use crate::rules::Rules;
use crate::survey::{Row, Sample, Survey};
use crate::write::COLUMN_NAMES;
use crate::{
    Column, Columns, Compression, Error, Format, IdChoice, IdKind, InputChoices, Place,
    ReadOptions, Result, arrow, dimacs, json_lines, matrix_market, metis,
};

/// How many decompressed bytes make a good guess; fewer will do at the end of the input.
pub const HEAD_BYTES: usize = 1 << 16;

/// Lines that are compared to find what separates their columns.
const COMPARED_LINES: usize = 20;
/// What may separate the columns of a table, the more usual first.
const DELIMITERS: [u8; 4] = *b",\t;|";

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
    /// What separates the columns of CSV or TSV.
    pub delimiter: Option<u8>,
    /// Whether the first row of a table holds names.
    pub has_header: bool,
    /// Which column holds sources.
    pub src: usize,
    /// Which column holds destinations.
    pub dst: usize,
    /// Which column holds weights, if one may.
    pub weight: Option<usize>,
    /// Whether the graph is directed, if the format or its header says so.
    pub directed: Option<bool>,
    /// Whether there are weights, if the format, its header or the name of a column says so.
    pub weighted: Option<bool>,
    /// Attributes of edges that are not read.
    pub attributes_left_out: Vec<String>,
}

impl Guess {
    /// Returns options to read the file without weights as guessed.
    pub fn options(&self) -> ReadOptions {
        ReadOptions {
            ids: self.ids,
            columns: Columns {
                src: self.column(self.src),
                dst: self.column(self.dst),
                weight: self.column(self.weight.unwrap_or(2)),
            },
            header: Some(self.has_header),
            delimiter: self.delimiter,
            ..ReadOptions::new(self.format)
        }
    }

    /// Returns how a column is to be found.
    pub(crate) fn column(&self, idx: usize) -> Column {
        match (self.format, self.columns.get(idx)) {
            // The keys of an object may come in any order.
            (Format::JsonLines, Some(GuessedColumn { name: Some(name), .. })) => {
                Column::Name(name.clone())
            }
            _ => Column::Index(idx),
        }
    }

    /// Returns what is known of the tables of an export, without a look at them.
    ///
    /// # Example
    /// ```
    /// use everedge_io::{Format, Guess, IdKind};
    /// let guess = Guess::of_export(Format::GraphAr, IdKind::Text, false, true);
    /// assert_eq!((guess.directed, guess.weighted), (Some(false), Some(true)));
    /// ```
    pub fn of_export(format: Format, ids: IdKind, directed: bool, weighted: bool) -> Self {
        let named =
            |name: &str| GuessedColumn { name: Some(name.to_owned()), ..Default::default() };
        let columns = if weighted { &COLUMN_NAMES[..] } else { &COLUMN_NAMES[..2] };
        Self {
            ids,
            columns: columns.iter().copied().map(named).collect(),
            weight: weighted.then_some(2),
            directed: Some(directed),
            weighted: Some(weighted),
            ..Self::of(format)
        }
    }

    pub(crate) fn of(format: Format) -> Self {
        Self {
            format,
            ids: IdKind::Dense,
            columns: Vec::new(),
            delimiter: None,
            has_header: false,
            src: 0,
            dst: 1,
            weight: None,
            directed: None,
            weighted: None,
            attributes_left_out: Vec::new(),
        }
    }

    /// Returns the guess with columns, one of which may be called `weight`.
    pub(crate) fn with_columns(self, resolved: Resolved, ids: IdKind) -> Self {
        let Resolved { src, dst, weight } = resolved;
        let name = weight.and_then(|idx| self.columns.get(idx)?.name.as_deref());
        let weighted = name.is_some_and(is_weight).then_some(true);
        Self { src, dst, weight, ids, weighted, ..self }
    }

    fn with_survey(self, survey: Survey) -> Self {
        let Survey { has_header, columns, resolved, ids } = survey;
        Self { has_header, columns, ..self }.with_columns(resolved, ids)
    }
}

/// Guesses how to read a file called `name` whose decompressed bytes start with `head`; what
/// `choices` fixes is not guessed.
///
/// `head` is the first [`HEAD_BYTES`] or so, from [`decompress`](crate::decompress); endings such
/// as `.gz` in `name` are ignored. Parquet keeps its schema at the end of the file and Arrow's may be
/// long, so their columns are not guessed here but by [`probe_parquet`](crate::probe_parquet) and
/// [`probe_arrow`](crate::probe_arrow).
///
/// # Errors
/// [`Error::Syntax`] if it is an archive, binary data of no known format or, as it seems, of 64-bit
/// integers, does not have the header that its format needs or the columns that were chosen.
///
/// # Example
/// ```
/// use everedge_io::{Format, IdKind, InputChoices, probe};
/// let guess = probe("deps.csv.gz", b"source,target\nbash,libc6\n", &InputChoices::default())?;
/// assert_eq!((guess.format, guess.ids, guess.has_header), (Format::Csv, IdKind::Text, true));
/// # Ok::<(), everedge_io::Error>(())
/// ```
pub fn probe(name: &str, head: &[u8], choices: &InputChoices) -> Result<Guess> {
    let format = checked_format(name, head, choices)?;
    if format == Format::Binary && choices.format.is_none() {
        binary::refuse_wide(head).map_err(|fault| fault.into_error(Place::Whole))?;
    }
    let text = match format {
        Format::Binary => {
            let ids = binary::ids(head, choices.ids);
            return Ok(Guess { weighted: Some(false), ids, ..Guess::of(format) });
        }
        Format::Parquet | Format::Arrow => return Ok(Guess::of(format)),
        Format::Icebug | Format::GraphAr => {
            return Err(Error::Unsupported { format, what: IS_DIRECTORY });
        }
        _ => text_of(head),
    };
    let choices = &InputChoices { format: Some(format), ..choices.clone() };
    let guess = check_binary(text).and_then(|()| match format {
        Format::Csv | Format::Tsv => table_guess(format, text, choices),
        Format::JsonLines => json_lines::guess(text, choices),
        _ => lines_guess(format, text, choices),
    });
    guess.map_err(|fault| line_error(text, fault))
}

/// Returns the format, after a check that the choices leave room for it.
pub(crate) fn checked_format(name: &str, head: &[u8], choices: &InputChoices) -> Result<Format> {
    let format = match choices.format {
        Some(format) => format,
        None => format_of(&ending_of(name), head, choices)?,
    };
    if format != Format::Binary {
        refuse_archives(head)?;
    }
    check_choices(format, choices)?;
    Ok(format)
}

/// Returns the text that guesses look at: whole lines without a byte order mark.
pub(crate) fn text_of(head: &[u8]) -> &[u8] {
    whole_lines(head.strip_prefix(BYTE_ORDER_MARK.as_bytes()).unwrap_or(head))
}

/// Turns a fault in `text` into an error with its line.
pub(crate) fn line_error(text: &[u8], fault: Fault) -> Error {
    let lines = lines_of(text).take_while(|(place, _)| place.end <= fault.at).count();
    fault.into_error(Place::Line(1 + lines as u64))
}

/// Returns how much of `head`, the start of a stream called `name`, says how the stream is to be read,
/// if it holds that much: two records, or of what is binary what its format needs.
///
/// A guess from so much does not depend on how much of a stream has come by when.
///
/// # Example
/// ```
/// use everedge_io::{InputChoices, decisive_len};
/// let len = |head: &str| decisive_len("-", head.as_bytes(), &InputChoices::default());
/// assert_eq!(len("# by hand\nfrom,to\n"), None);
/// assert_eq!(len("# by hand\nfrom,to\n1,2\n3,4\n"), Some(22));
/// ```
pub fn decisive_len(name: &str, head: &[u8], choices: &InputChoices) -> Option<usize> {
    const PAIR_BYTES: usize = 8;
    let format = choices.format.or_else(|| Format::from_ending(&ending_of(name)));
    let looks_like_arrow = head.starts_with(FILE_MAGIC) || head.starts_with(&CONTINUATION);
    let is_enough = match format {
        Some(Format::Binary) => head.len() >= PAIR_BYTES,
        _ if is_tar(head) => true,
        Some(Format::Arrow) => arrow::has_batch(head),
        _ if looks_like_arrow => arrow::has_batch(head),
        _ if head.contains(&0) => false,
        format => return two_records(head, format == Some(Format::Dimacs)),
    };
    is_enough.then_some(head.len())
}

/// Returns the length of the first two records of a text, and of what stands between them.
fn two_records(head: &[u8], is_dimacs: bool) -> Option<usize> {
    let (mut count, mut is_open, mut has_letter_comments) = (0, false, is_dimacs);
    for (place, line) in lines_of(head) {
        if head[place.end - 1] != b'\n' {
            break;
        }
        let line = line.strip_prefix(BYTE_ORDER_MARK.as_bytes()).unwrap_or(line);
        let text = line.trim_ascii();
        has_letter_comments |= count == 0 && text == b"c";
        let is_comment = text.first().is_none_or(|first| matches!(first, b'#' | b'%'))
            || (has_letter_comments && fields_of(text).next() == Some(b"c"))
            || (place.start == 0 && csv::separator_in(line).is_some());
        if is_comment && !is_open {
            continue;
        }
        is_open = ends_in_quotes(text, is_open);
        count += u32::from(!is_open);
        if count == 2 {
            return Some(place.end);
        }
    }
    None
}

/// Returns whether a line of a table ends within a field in quotes; `is_open` says whether it starts
/// within one. A quote starts such a field only where a field starts.
fn ends_in_quotes(line: &[u8], mut is_open: bool) -> bool {
    if line.starts_with(b"{") && !is_open {
        return false;
    }
    // A doubled quote inside closes the field and opens it again.
    let mut closed_at = None;
    for at in memchr::memchr_iter(b'"', line) {
        let starts_field = at == 0 || DELIMITERS.contains(&line[at - 1]);
        if is_open {
            closed_at = Some(at);
            is_open = false;
        } else {
            is_open = starts_field || (at > 0 && closed_at == Some(at - 1));
        }
    }
    is_open
}

/// Refuses what is compressed in a way that `decompress` does not know, or twice.
fn refuse_archives(head: &[u8]) -> Result<()> {
    const ARCHIVES: [(&[u8], &str); 5] = [
        (b"PK\x03\x04", "this is a zip archive"),
        (b"7z\xbc\xaf\x27\x1c", "this is a 7z archive"),
        (b"Rar!", "this is a RAR archive"),
        (b"\x04\x22\x4d\x18", "this is LZ4 data"),
        (b"FEA1", "this is a Feather file of version 1"),
    ];
    let archive = ARCHIVES.iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, what)| *what);
    let twice = (Compression::of(head) != Compression::None).then_some("this is compressed twice");
    archive.or(twice).map_or(Ok(()), |what| {
        let hint = Some("extract the graph, or compress it with gzip, bzip2, xz or zstd");
        Err(Error::Syntax { place: Place::Whole, what: what.to_owned(), hint })
    })
}

/// Refuses choices that the format leaves no room for.
fn check_choices(format: Format, choices: &InputChoices) -> Result<()> {
    let is_text_table = matches!(format, Format::Csv | Format::Tsv | Format::EdgeList);
    let what = if choices.has_columns() && !format.has_columns() {
        "the format says where ids and weights stand: leave the columns out"
    } else if choices.header.is_some() && !is_text_table {
        "only CSV, TSV and edge lists may start with names: leave the header out"
    } else if choices.delimiter.is_some() && !matches!(format, Format::Csv | Format::Tsv) {
        "only CSV and TSV have a separator to choose: leave it out"
    } else {
        return Ok(());
    };
    Err(Error::Unsupported { format, what })
}

/// Returns the ending of a name in lower case, that of a compression taken off.
pub fn ending_of(name: &str) -> String {
    let name = name.to_ascii_lowercase();
    let (_, stem) = Compression::of_name(&name);
    stem.rsplit_once('.').map_or("", |(_, extension)| extension).to_owned()
}

fn format_of(extension: &str, head: &[u8], choices: &InputChoices) -> Result<Format> {
    let starts_as = |magic: &[u8]| {
        head.get(..magic.len()).is_some_and(|start| start.eq_ignore_ascii_case(magic))
    };
    // Pairs of integers may spell any mark.
    if Format::from_ending(extension) == Some(Format::Binary) {
        return Ok(Format::Binary);
    }
    if head.starts_with(b"PAR1") {
        return Ok(Format::Parquet);
    }
    if head.starts_with(FILE_MAGIC) {
        return Ok(Format::Arrow);
    }
    if starts_as(matrix_market::MAGIC) {
        return Ok(Format::MatrixMarket);
    }
    match Format::from_ending(extension) {
        None | Some(Format::EdgeList | Format::Csv | Format::Tsv | Format::JsonLines) => {}
        Some(format) => return Ok(format),
    }
    if head.starts_with(&CONTINUATION) {
        return Ok(Format::Arrow);
    }
    format_of_line(extension, head, choices)
}

/// Chooses among the formats of lines by the first ones that hold an edge.
fn format_of_line(extension: &str, head: &[u8], choices: &InputChoices) -> Result<Format> {
    let is_edge = |line: &&[u8]| {
        let line = line.trim_ascii();
        !line.is_empty() && !line.starts_with(b"#") && !line.starts_with(b"%")
    };
    let text = head.strip_prefix(BYTE_ORDER_MARK.as_bytes()).unwrap_or(head);
    if let Some(separator) = csv::named_separator(text) {
        let is_tab = choices.delimiter.unwrap_or(separator) == b'\t';
        return Ok(if is_tab { Format::Tsv } else { Format::Csv });
    }
    let lines: Vec<&[u8]> =
        lines_of(text).map(|(_, line)| line).filter(is_edge).take(COMPARED_LINES).collect();
    let line = lines.first().copied().unwrap_or_default();
    let fields: Vec<&[u8]> = fields_of(line).collect();
    let is_table = is_table_ending(extension);
    let may_be_edge_list = !is_table && choices.delimiter.is_none();
    let have_attributes = || lines.iter().all(|line| attributes::start_in(line).is_some());
    if may_be_edge_list && !lines.is_empty() && have_attributes() {
        return Ok(Format::EdgeList);
    }
    if may_be_edge_list && edge_list::is_named_by_comment(head) {
        return Ok(Format::EdgeList);
    }
    refuse_other_text(line)?;
    if line.trim_ascii_start().starts_with(b"{") {
        return Ok(Format::JsonLines);
    }
    if let [b"p", b"sp" | b"tw", ..] | [b"a", _, _, _] | [b"c"] = fields[..] {
        return Ok(Format::Dimacs);
    }
    let is_spaced =
        |line: &&[u8]| line.split(|b| *b == b'\t').any(|f| f.trim_ascii().contains(&b' '));
    if may_be_edge_list && have_ids_between_blanks(&lines) {
        return Ok(Format::EdgeList);
    }
    if is_table && choices.delimiter.is_none() && fields.len() < 2 && delimiter_of(&lines).is_none()
    {
        return Ok(if extension == "tsv" { Format::Tsv } else { Format::Csv });
    }
    // Tables have no comments but before their first row; a commented one is an edge list.
    let is_tsv = is_table && !csv::starts_with_comment(head, b'\t');
    Ok(match choices.delimiter.or_else(|| delimiter_of(&lines)) {
        Some(b'\t') if choices.delimiter.is_some() => Format::Tsv,
        Some(b'\t') if is_tsv || lines.iter().all(is_spaced) => Format::Tsv,
        Some(b'\t') | None => Format::EdgeList,
        Some(_) => Format::Csv,
    })
}

/// Returns whether all lines start with two integers between blanks. They are ids, whatever stands after
/// them: a comma may be a decimal one.
fn have_ids_between_blanks(lines: &[&[u8]]) -> bool {
    let has_ids = |line: &&[u8]| {
        let is_id = |field: &[u8]| field.iter().all(u8::is_ascii_digit);
        let mut fields = fields_of(line);
        let are_ids = fields.next().is_some_and(is_id) && fields.next().is_some_and(is_id);
        are_ids && !line.contains(&b'\t')
    };
    !lines.is_empty() && lines.iter().all(has_ids)
}

fn is_table_ending(extension: &str) -> bool {
    matches!(extension, "tsv" | "csv")
}

/// Refuses well-known text that holds no edges as lines do.
fn refuse_other_text(line: &[u8]) -> Result<()> {
    let line = line.trim_ascii_start();
    let (what, hint) = if line.starts_with(b"[") {
        ("this is an array of JSON", "make it JSON Lines: jq -c '.[]'")
    } else if line.starts_with(b"<") {
        ("this is XML or HTML", "write the edges as CSV")
    } else if line.starts_with(b"graph [") || line.starts_with(b"Creator ") {
        ("this is GML", "write the edges as CSV")
    } else if line.starts_with(b"digraph ") || line.starts_with(b"strict ") {
        ("this is a graph for Graphviz", "write the edges as CSV")
    } else {
        return Ok(());
    };
    Err(Error::Syntax { place: Place::Whole, what: what.to_owned(), hint: Some(hint) })
}

/// Returns the separator that splits all lines into as many columns, more than any other does.
fn delimiter_of(lines: &[&[u8]]) -> Option<u8> {
    let width = |line: &[u8], delimiter: u8| {
        let mut records = Records::new(line, delimiter);
        records.advance().map_or(1, |_| records.texts().len())
    };
    let score = |delimiter: u8| {
        let widths: Vec<usize> = lines.iter().map(|line| width(line, delimiter)).collect();
        let first = *widths.first()?;
        // Lines of unequal lengths may be wrong ones of a table, which reading will say.
        (first > 1).then(|| (widths.iter().all(|width| *width == first), first))
    };
    // A tab seldom stands for anything else.
    if matches!(score(b'\t'), Some((true, _))) {
        return Some(b'\t');
    }
    // The last of equals counts.
    let found = DELIMITERS.iter().rev().filter_map(|&d| Some((score(d)?, d)));
    found.max_by_key(|(score, _)| *score).map(|(_, delimiter)| delimiter)
}

/// Returns `head` up to its last line end, or all if it has none.
fn whole_lines(head: &[u8]) -> &[u8] {
    let end = memchr::memrchr(b'\n', head).filter(|_| head.len() >= HEAD_BYTES);
    end.map_or(head, |end| &head[..=end])
}

pub(crate) fn check_binary(text: &[u8]) -> Result<(), Fault> {
    memchr::memchr(0, text).map_or(Ok(()), |at| {
        let fault = Fault::new(at, "this is binary data of no known format");
        Err(fault.hint("pairs of 32-bit integers are read from files that end in .bin"))
    })
}

fn lines_guess(format: Format, text: &[u8], choices: &InputChoices) -> Result<Guess, Fault> {
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
        Format::EdgeList => {
            check_start(text, choices)?;
            let start = edge_list::start_of(text, usize::MAX);
            let guess = guess.with_survey(Survey::new(&start.rows, start.comment, choices)?);
            edge_list::refuse_sides(text, guess.ids, choices)?;
            let directed = edge_list::are_undirected(text).then_some(false);
            let guess = Guess { directed, ..guess };
            if choices.has_columns() { guess } else { with_attributes(guess, text) }
        }
        _ => {
            let rows = edge_list::start_of(text, usize::MAX).rows;
            let weighted = rows.first().map(|row| row.len() > 2);
            let [src, dst] = [0, 1].map(|idx| Some(Column::Index(idx)));
            let choices = InputChoices { header: Some(false), src, dst, ..choices.clone() };
            let ids = match format {
                Format::Graphalytics => Survey::new(&rows, Vec::new(), &choices)?.ids,
                _ => vertex_ids(&rows, choices.ids),
            };
            Guess { ids, weighted, ..guess }
        }
    })
}

/// Adds what attributes after the ids say: weights, if any edge has one.
fn with_attributes(mut guess: Guess, text: &[u8]) -> Guess {
    let attributes = |line| {
        let start = attributes::start_in(line)?;
        attributes::parse(&line[start..]).ok()
    };
    let mut lines = lines_of(text).filter_map(|(_, line)| attributes(line)).peekable();
    if lines.peek().is_none() {
        return guess;
    }
    let mut names: Vec<String> = lines.flatten().map(|(name, _)| name).collect();
    names.sort_unstable();
    names.dedup();
    let has_weights = names.iter().any(|name| name == attributes::WEIGHT);
    names.retain(|name| name != attributes::WEIGHT);
    guess.weighted = Some(has_weights);
    guess.attributes_left_out = names;
    guess.columns.truncate(2);
    guess.weight = has_weights.then_some(2);
    if has_weights {
        let name = Some(attributes::WEIGHT.to_owned());
        let column = GuessedColumn { name, is_numeric: true, ..GuessedColumn::default() };
        guess.columns.push(column);
    }
    guess
}

/// Returns the kind of ids of which one stands on each line.
fn vertex_ids(rows: &[Row], choice: IdChoice) -> IdKind {
    let mut sample = Sample::default();
    rows.iter().flatten().for_each(|id| sample.add_id(id));
    sample.ids(choice)
}

/// Refuses a text whose first line is a comment of another kind.
pub(crate) fn check_start(text: &[u8], choices: &InputChoices) -> Result<(), Fault> {
    let rules = Rules { literal_ids: choices.ids == IdChoice::Text, ..Rules::default() };
    let mut lines = lines_of(text).filter(|(_, line)| !line.trim_ascii().is_empty());
    let Some((place, line)) = lines.next() else { return Ok(()) };
    check_slashes(line.trim_ascii_start(), rules).map_err(|fault| fault.after(place.start))
}

fn table_guess(format: Format, text: &[u8], choices: &InputChoices) -> Result<Guess, Fault> {
    let (delimiter, start) = table_start(format, text, choices)?;
    let survey = Survey::new(&start.rows, start.comment, choices)?;
    Ok(Guess { delimiter: Some(delimiter), ..Guess::of(format) }.with_survey(survey))
}

/// Returns what separates the columns of a table, and its first records.
pub(crate) fn table_start(
    format: Format,
    text: &[u8],
    choices: &InputChoices,
) -> Result<(u8, csv::Start), Fault> {
    check_start(text, choices)?;
    let lines = || lines_of(text).map(|(_, line)| line).filter(|line| !line.is_empty());
    let named = choices.delimiter.or_else(|| csv::named_separator(text));
    let delimiter = named.unwrap_or_else(|| match format {
        Format::Tsv => b'\t',
        _ => delimiter_of(&lines().take(COMPARED_LINES).collect::<Vec<_>>()).unwrap_or(b','),
    });
    let start = csv::start_of(text, delimiter, usize::MAX)?;
    if let Some([first]) = start.rows.first().map(Vec::as_slice) {
        let what = format!("a record has one column only: {}", quote(first.as_bytes()));
        let fault = Fault::new(start.first, what);
        return Err(fault.hint("--delimiter says what separates the columns"));
    }
    Ok((delimiter, start))
}
