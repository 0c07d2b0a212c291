//! Comma- and tab-separated values, also separated by `;`, `|` or any other byte.
//!
//! Source: RFC 4180. A field may stand in double quotes, inside of which a doubled quote is a quote
//! and separators, blanks and line ends are text; blanks around a field do not belong to it. Blank
//! lines are skipped. All records have as many columns as the first: which of them hold ids and weights is
//! an option; the others may hold anything.
//!
//! A first line `sep=;`, which is for Excel, names the separator and is no record.
//! Lines before the first record that start with `#` or `%` are comments if they have no separator
//! or a blank after the mark; the last one may give the names of the columns. The first record is a
//! header if the options say so or if it looks like one (`survey.rs`).
//!
//! # Example
//! ```text
//! source,target,weight
//! "Paris, TX",Dallas,105.5
//! ```
//! is one edge between ids that are text, from `Paris, TX` to `Dallas`, of weight 105.5.

use csv_core::{
    QuoteStyle, ReadFieldResult, ReadRecordResult, Reader, ReaderBuilder, WriterBuilder,
};

use crate::blocks::cut_at_line;
use crate::edge_list::{COMMENTS, SURVEYED_ROWS};
use crate::error::{Fault, quote};
use crate::ids::IdColumn;
use crate::lines::{BYTE_ORDER_MARK, check_mark, check_slashes, lines_of};
use crate::names::{find_pair, is_id_word};
use crate::operations::Timed;
use crate::read::{Declared, Edges, Grammar, Opened};
use crate::rules::{Rules, is_null_word};
use crate::survey::{Cell, Header, Row};
use crate::update_columns::{check_distinct_updates, find_header};
use crate::write::COLUMN_NAMES;
use crate::{InputChoices, ReadOptions, Result, UpdateChoices, UpdateOptions};

const QUOTES_HINT: &str = "a field that holds the separator needs quotes";
const WIDTH_HINT: &str = "every record needs as many columns as the first has";

/// Returns `text` as a field, in quotes if it needs them to be read back as it is.
pub(crate) fn quoted(text: &str, delimiter: u8) -> Vec<u8> {
    let needs_quotes = text.trim() != text
        || text.starts_with(BYTE_ORDER_MARK)
        || is_null_word(text.as_bytes())
        // The names of the columns, which stand above without quotes.
        || COLUMN_NAMES.contains(&text)
        || text.starts_with(COMMENTS.map(char::from))
        || text.starts_with("//");
    let style = if needs_quotes { QuoteStyle::Always } else { QuoteStyle::Necessary };
    let mut writer = WriterBuilder::new().delimiter(delimiter).quote_style(style).build();
    // Every byte may become two, and there are two quotes around them.
    let mut field = vec![0; 2 * text.len() + 2];
    let (_, _, written) = writer.field(text.as_bytes(), &mut field);
    let (_, closed) = writer.finish(&mut field[written..]);
    field.truncate(written + closed);
    field
}

/// The first records of a table.
pub(crate) struct Start {
    /// The fields of the last comment before the first record.
    pub(crate) comment: Vec<String>,
    pub(crate) rows: Vec<Row>,
    /// Where the first record starts.
    pub(crate) first: usize,
    /// Where it ends.
    pub(crate) first_end: usize,
}

/// Reads the first records of a text; the last may be cut off.
pub(crate) fn start_of(head: &[u8], delimiter: u8, row_count: usize) -> Result<Start, Fault> {
    let (comment, first) = skip_comments(head, delimiter);
    let mut start = Start { comment, rows: Vec::new(), first, first_end: first };
    let mut records = Records::new(&head[first..], delimiter);
    while start.rows.len() < row_count {
        match records.advance() {
            Ok(true) => start.rows.push(records.texts()),
            Ok(false) => break,
            // The last record may be cut off inside of a quoted field.
            Err(_) if !start.rows.is_empty() => break,
            Err(fault) => return Err(fault.after(first)),
        }
        if start.rows.len() == 1 {
            start.first_end = first + records.at;
        }
    }
    Ok(start)
}

/// Returns the separator that the first line of a text names, if it does.
pub(crate) fn named_separator(text: &[u8]) -> Option<u8> {
    lines_of(text).next().and_then(|(_, line)| separator_in(line))
}

/// Returns the separator that a line such as `sep=;` names.
pub(crate) fn separator_in(line: &[u8]) -> Option<u8> {
    match line.strip_suffix(b"\r").unwrap_or(line).strip_prefix(b"sep=") {
        Some([byte]) => Some(*byte),
        _ => None,
    }
}

/// Returns whether a text starts with a comment that is no record.
pub(crate) fn starts_with_comment(head: &[u8], delimiter: u8) -> bool {
    head.starts_with(b"#") && skip_comments(head, delimiter).1 > 0
}

/// Returns the fields of the last comment before the first record, and where that starts.
fn skip_comments(head: &[u8], delimiter: u8) -> (Vec<String>, usize) {
    let (mut comment, mut first) = (Vec::new(), 0);
    for (place, line) in lines_of(head) {
        if place.start == 0 && separator_in(line).is_some() {
            first = place.end;
            continue;
        }
        let trimmed = line.trim_ascii();
        let Some((mark, text)) = trimmed.split_first() else { continue };
        if !COMMENTS.contains(mark) {
            break;
        }
        let mut records = Records::new(text.trim_ascii(), delimiter);
        let fields = records.advance().is_ok_and(|is| is).then(|| records.texts());
        let fields: Row = fields.unwrap_or_default();
        let are_names = find_pair(fields.iter().map(|field| Some(field.text.as_str()))).is_some()
            || (fields.len() > 1 && fields.iter().all(|field| is_id_word(field)));
        let is_comment = are_names || fields.len() < 2 || text.starts_with(b" ");
        if !is_comment {
            break;
        }
        let names = fields.into_iter().map(|field| field.text).collect();
        (comment, first) = (names, place.end);
    }
    (comment, first)
}

/// Where a record keeps what.
#[derive(Debug)]
pub(crate) struct Table {
    delimiter: u8,
    src: usize,
    dst: usize,
    weight: Option<usize>,
    /// What else is read of updates, if records are.
    timed: Option<Timed>,
    /// How many columns the first record has, if it was seen: all others have as many.
    width: Option<usize>,
    /// The header as it is written, if there is one: what repeats it is no edge.
    header: Option<Vec<u8>>,
    rules: Rules,
}

pub(crate) fn open(head: &[u8], options: &ReadOptions) -> Result<Opened<Table>, Fault> {
    let mut start = start_of(head, options.delimiter(), SURVEYED_ROWS)?;
    let choices = InputChoices::exactly(options);
    let comment = std::mem::take(&mut start.comment);
    let header = Header::find(&start.rows, comment, &choices, &choices.chosen());
    open_at(head, &start, &header, None, options)
}

/// Like [`open`], for updates.
pub(crate) fn open_updates(head: &[u8], options: &UpdateOptions) -> Result<Opened<Table>, Fault> {
    let mut start = start_of(head, options.edges.delimiter(), SURVEYED_ROWS)?;
    let comment = std::mem::take(&mut start.comment);
    let header = find_header(&start.rows, comment, &UpdateChoices::exactly(options));
    let timed = options.timed(|column| header.place(column))?;
    let opened = open_at(head, &start, &header, Some(timed), &options.edges)?;
    let Table { src, dst, weight, .. } = opened.grammar;
    check_distinct_updates(src, dst, weight, &timed)?;
    Ok(opened)
}

fn open_at(
    head: &[u8],
    start: &Start,
    header: &Header,
    timed: Option<Timed>,
    options: &ReadOptions,
) -> Result<Opened<Table>, Fault> {
    let columns = &options.columns;
    let table = Table {
        delimiter: options.delimiter(),
        src: header.place(&columns.src)?,
        dst: header.place(&columns.dst)?,
        weight: options.weighted.then(|| header.place(&columns.weight)).transpose()?,
        timed,
        width: start.rows.first().map(Vec::len),
        header: header.is_there.then(|| head[start.first..start.first_end].trim_ascii().to_owned()),
        rules: Rules::of(options),
    };
    let header_bytes = if header.is_there { start.first_end } else { start.first };
    Ok(Opened { grammar: table, header_bytes, declared: Declared::default() })
}

impl Grammar for Table {
    const IS_TEXT: bool = true;

    /// Without quotes every line end ends a record; with them only the reader can tell.
    fn cut(&self, bytes: &[u8]) -> Option<usize> {
        if memchr::memchr(b'"', bytes).is_none() {
            return cut_at_line(bytes);
        }
        let mut reader = new_reader(self.delimiter);
        let (mut fields, mut ends) = ([0; 1024], [0; 64]);
        let (mut at, mut cut) = (0, None);
        while at < bytes.len() {
            let (result, read, ..) = reader.read_record(&bytes[at..], &mut fields, &mut ends);
            at += read;
            if matches!(result, ReadRecordResult::Record) {
                cut = Some(at);
            }
        }
        cut
    }

    fn parse<C: IdColumn>(&self, block: &[u8]) -> Result<Edges<C>, Fault> {
        let mut edges = Edges::<C>::new(self.weight.is_some()).with_updates(self.timed.as_ref());
        let mut records = Records::new(block, self.delimiter);
        while records.advance()? {
            let before = edges.src.len();
            let parsed = self.parse_record(&records, &mut edges);
            parsed
                .or_else(|fault| edges.skip_null(self.rules, before, fault))
                .map_err(|fault| fault.after(records.start))?;
        }
        Ok(edges)
    }
}

impl Table {
    fn parse_record<C: IdColumn>(
        &self,
        record: &Records,
        edges: &mut Edges<C>,
    ) -> Result<(), Fault> {
        let text = &record.text[record.start..];
        check_slashes(text, self.rules)?;
        check_mark(text, self.rules)?;
        self.check_record(record)?;
        self.push_id(record, self.src, &mut edges.src)?;
        self.push_id(record, self.dst, &mut edges.dst)?;
        if let (Some(updates), Some(timed)) = (&mut edges.updates, &self.timed) {
            for column in timed.columns() {
                timed.take(column, record.field(column)?, updates)?;
            }
        }
        match self.weight {
            None => Ok(()),
            Some(weight) => edges.push_weight(|| self.rules.parse_weight(record.field(weight)?)),
        }
    }

    /// Refuses a record with more or fewer columns than the first, and one that repeats the header.
    fn check_record(&self, record: &Records) -> Result<(), Fault> {
        let found = record.fields.len();
        if let Some(width) = self.width.filter(|width| *width != found) {
            let hint = if found > width { QUOTES_HINT } else { WIDTH_HINT };
            return Err(
                Fault::new(0, format!("expected {width} columns, found {found}")).hint(hint)
            );
        }
        let text = &record.text[record.start..record.at];
        match self.header.as_deref() {
            Some(header) if text.starts_with(header) && text.trim_ascii_end() == header => {
                Err(repeated_header(header))
            }
            _ => Ok(()),
        }
    }

    fn push_id<C: IdColumn>(
        &self,
        record: &Records,
        column: usize,
        ids: &mut C,
    ) -> Result<(), Fault> {
        let field = record.field(column)?;
        if C::IS_TEXT {
            // What is in quotes is text, whatever it says.
            let literal_ids = self.rules.literal_ids || record.is_quoted(column);
            Rules { literal_ids, ..self.rules }.check_text_id(field)?;
            return ids.push_field(field);
        }
        self.rules.check_integer_id(field)?;
        ids.push_field(field).map_err(|fault| self.rules.explain_integer(field, fault))
    }
}

/// Returns the fault of a record that repeats the header.
#[cold]
pub(crate) fn repeated_header(header: &[u8]) -> Fault {
    let what = format!("the header is repeated: {}", quote(header));
    Fault::new(0, what).hint(
        "give several files as several arguments, or take both rows as edges with --header no",
    )
}

/// Returns a reader that is past the start of a file: there it would leave out a byte order mark, and a
/// block starts anywhere.
fn new_reader(delimiter: u8) -> Reader {
    let mut reader = ReaderBuilder::new().delimiter(delimiter).build();
    let _blank_line = reader.read_field(b"\n", &mut []);
    reader
}

/// Reads records one by one.
pub(crate) struct Records<'a> {
    reader: Reader,
    text: &'a [u8],
    delimiter: u8,
    /// Where the current record starts.
    start: usize,
    /// Where the next record starts.
    at: usize,
    /// The fields of the current record without quotes, one after the other.
    bytes: Vec<u8>,
    fields: Vec<Field>,
}

/// A field of the current record.
#[derive(Clone, Copy)]
struct Field {
    start: usize,
    end: usize,
    is_quoted: bool,
}

impl<'a> Records<'a> {
    pub(crate) fn new(text: &'a [u8], delimiter: u8) -> Self {
        let reader = new_reader(delimiter);
        Self { reader, text, delimiter, start: 0, at: 0, bytes: vec![0; 256], fields: Vec::new() }
    }

    /// Reads the next record; returns whether there is one.
    pub(crate) fn advance(&mut self) -> Result<bool, Fault> {
        let is_blank = |byte: u8| byte.is_ascii_whitespace() && byte != self.delimiter;
        let Some(skipped) = self.text[self.at..].iter().position(|&byte| !is_blank(byte)) else {
            return Ok(false);
        };
        self.at += skipped;
        self.start = self.at;
        self.fields.clear();
        while !self.read_field()? {}
        Ok(true)
    }

    /// Reads a field; returns whether the record ends with it.
    fn read_field(&mut self) -> Result<bool, Fault> {
        let is_blank = |byte: &&u8| matches!(byte, b' ' | b'\t') && **byte != self.delimiter;
        self.at += self.text[self.at..].iter().take_while(is_blank).count();
        let raw_start = self.at;
        let start = self.fields.last().map_or(0, |field| field.end);
        let mut end = start;
        let is_last = loop {
            let (result, read, written) =
                self.reader.read_field(&self.text[self.at..], &mut self.bytes[end..]);
            self.at += read;
            end += written;
            match result {
                ReadFieldResult::Field { record_end } => break record_end,
                ReadFieldResult::OutputFull => self.bytes.resize(2 * self.bytes.len(), 0),
                // A text without a last line end may still end a record, when asked again.
                ReadFieldResult::InputEmpty if !self.text.ends_with(b"\n") => {}
                ReadFieldResult::InputEmpty | ReadFieldResult::End => {
                    return Err(Fault::new(self.start, "a quoted field is not closed"));
                }
            }
        };
        let is_quoted = self.text.get(raw_start) == Some(&b'"');
        let trailing = match is_quoted {
            false => &self.bytes[start..end],
            true => &self.text[raw_start..self.at.max(raw_start + 1) - usize::from(!is_last)],
        };
        let is_blank = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
        let blanks = trailing.iter().rev().take_while(is_blank);
        let blanks = blanks.filter(|byte| matches!(byte, b' ' | b'\t')).count();
        end -= blanks.min(end - start);
        self.fields.push(Field { start, end, is_quoted });
        Ok(is_last)
    }

    fn field(&self, idx: usize) -> Result<&[u8], Fault> {
        let Some(field) = self.fields.get(idx) else {
            let (column, found) = (idx as u128 + 1, self.fields.len());
            let what = format!("there is no column {column}: the record has {found}");
            return Err(Fault::new(0, what));
        };
        Ok(&self.bytes[field.start..field.end])
    }

    fn is_quoted(&self, idx: usize) -> bool {
        self.fields.get(idx).is_some_and(|field| field.is_quoted)
    }

    /// Returns the fields of the current record as text.
    pub(crate) fn texts(&self) -> Row {
        let cell = |field: &Field| {
            let text = String::from_utf8_lossy(&self.bytes[field.start..field.end]);
            Cell { text: text.trim().to_owned(), is_quoted: field.is_quoted }
        };
        self.fields.iter().map(cell).collect()
    }
}
