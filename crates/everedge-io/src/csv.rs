//! Comma- and tab-separated values.
//!
//! Source: RFC 4180, with tabs for TSV. A field may stand in double quotes, inside of which a
//! doubled quote is a quote and separators and line ends are text; blank lines are skipped. Which
//! columns hold ids and weights is an option; the others may hold anything.
//!
//! The first record is a header if the options say so, or if none of its ids could be one: where
//! ids are integers, neither is; where they are text, the two are a usual pair of names such as
//! `source,target`, or the column of weights holds no number.
//!
//! # Example
//! ```text
//! source,target,weight
//! "Paris, TX",Dallas,105.5
//! ```
//! is one edge between ids that are text, from `Paris, TX` to `Dallas`, of weight 105.5.

use csv_core::{ReadRecordResult, Reader, ReaderBuilder, WriterBuilder};

use crate::blocks::cut_at_line;
use crate::error::{Fault, quote};
use crate::ids::IdColumn;
use crate::lines::parse_weight;
use crate::read::{Declared, Edges, Grammar, Opened};
use crate::{Column, IdKind, ReadOptions, Result};

/// Names that the columns of sources and destinations usually have.
const NAME_PAIRS: [(&str, &str); 10] = [
    ("src", "dst"),
    ("source", "target"),
    ("source", "destination"),
    ("from", "to"),
    ("u", "v"),
    ("fromnode", "tonode"),
    ("node_1", "node_2"),
    ("node1", "node2"),
    ("id_1", "id_2"),
    ("start", "end"),
];

/// Returns where a header names sources and destinations in a usual way.
pub(crate) fn find_pair(names: &[String]) -> Option<(usize, usize)> {
    let find = |wanted: &str| names.iter().position(|name| name.eq_ignore_ascii_case(wanted));
    NAME_PAIRS.iter().find_map(|(src, dst)| find(src).zip(find(dst)))
}

/// Returns `text` as a field, in quotes if it needs them.
pub(crate) fn quoted(text: &str, delimiter: u8) -> Vec<u8> {
    let mut writer = WriterBuilder::new().delimiter(delimiter).build();
    // Every byte may become two, and there are two quotes around them.
    let mut field = vec![0; 2 * text.len() + 2];
    let (_, _, written) = writer.field(text.as_bytes(), &mut field);
    let (_, closed) = writer.finish(&mut field[written..]);
    field.truncate(written + closed);
    field
}

/// Where a record keeps what.
#[derive(Debug)]
pub(crate) struct Table {
    delimiter: u8,
    src: usize,
    dst: usize,
    weight: Option<usize>,
}

pub(crate) fn open_csv(head: &[u8], options: &ReadOptions) -> Result<Opened<Table>, Fault> {
    open(head, options, b',')
}

pub(crate) fn open_tsv(head: &[u8], options: &ReadOptions) -> Result<Opened<Table>, Fault> {
    open(head, options, b'\t')
}

fn open(head: &[u8], options: &ReadOptions, delimiter: u8) -> Result<Opened<Table>, Fault> {
    let mut records = Records::new(head, delimiter);
    let first = if records.advance()? { records.names() } else { Vec::new() };
    let columns = &options.columns;
    let (src, dst) = (find_column(&columns.src, &first)?, find_column(&columns.dst, &first)?);
    let weight = options.weighted.then(|| find_column(&columns.weight, &first)).transpose()?;
    let table = Table { delimiter, src, dst, weight };
    let is_named = |column: &Column| matches!(column, Column::Name(_));
    let has_names = is_named(&columns.src)
        || is_named(&columns.dst)
        || (options.weighted && is_named(&columns.weight));
    let has_header =
        options.header.unwrap_or_else(|| has_names || table.is_header(&first, options.ids));
    if has_names && !has_header {
        return Err(Fault::new(0, "columns have names only where there is a header"));
    }
    let header_bytes = if has_header { records.at } else { 0 };
    Ok(Opened { grammar: table, header_bytes, declared: Declared::default() })
}

/// Returns where a column stands, given the header.
fn find_column(column: &Column, names: &[String]) -> Result<usize, Fault> {
    match column {
        Column::Index(idx) => Ok(*idx),
        Column::Name(name) => names.iter().position(|found| found == name).ok_or_else(|| {
            let header = quote(names.join(",").as_bytes());
            Fault::new(0, format!("there is no column \"{name}\" in {header}"))
        }),
    }
}

impl Table {
    /// Returns whether a first record looks like names.
    fn is_header(&self, record: &[String], ids: IdKind) -> bool {
        let (Some(src), Some(dst)) = (record.get(self.src), record.get(self.dst)) else {
            return false;
        };
        if ids != IdKind::Text {
            return is_name(src) && is_name(dst);
        }
        let weight = self.weight.and_then(|weight| record.get(weight));
        find_pair(&[src.clone(), dst.clone()]) == Some((0, 1))
            || weight.is_some_and(|weight| parse_weight(weight.as_bytes()).is_err())
    }

    fn reader(&self) -> Reader {
        ReaderBuilder::new().delimiter(self.delimiter).build()
    }
}

/// Returns whether a field is meant as a name and not as an integer.
pub(crate) fn is_name(field: &str) -> bool {
    let digits = field.strip_prefix('-').unwrap_or(field);
    !digits.is_empty() && digits.bytes().any(|byte| !byte.is_ascii_digit())
}

impl Grammar for Table {
    const IS_TEXT: bool = true;

    /// Without quotes every line end ends a record; with them only the reader can tell.
    fn cut(&self, bytes: &[u8]) -> Option<usize> {
        if memchr::memchr(b'"', bytes).is_none() {
            return cut_at_line(bytes);
        }
        let (mut reader, mut fields, mut ends) = (self.reader(), [0; 1024], [0; 64]);
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
        let mut edges = Edges::<C>::new(self.weight.is_some());
        let mut records = Records::new(block, self.delimiter);
        while records.advance()? {
            self.parse_record(&records, &mut edges).map_err(|fault| fault.after(records.start))?;
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
        edges.src.push_field(record.field(self.src)?)?;
        edges.dst.push_field(record.field(self.dst)?)?;
        if let (Some(weights), Some(weight)) = (&mut edges.weights, self.weight) {
            weights.push(parse_weight(record.field(weight)?)?);
        }
        Ok(())
    }
}

/// Reads records one by one.
pub(crate) struct Records<'a> {
    reader: Reader,
    text: &'a [u8],
    /// Where the current record starts.
    start: usize,
    /// Where the next record starts.
    at: usize,
    /// The fields of the current record without quotes, one after the other.
    fields: Vec<u8>,
    /// Where each of them ends.
    ends: Vec<usize>,
    field_count: usize,
}

impl<'a> Records<'a> {
    pub(crate) fn new(text: &'a [u8], delimiter: u8) -> Self {
        let reader = ReaderBuilder::new().delimiter(delimiter).build();
        let (fields, ends) = (vec![0; 256], vec![0; 16]);
        Self { reader, text, start: 0, at: 0, fields, ends, field_count: 0 }
    }

    /// Reads the next record; returns whether there is one.
    pub(crate) fn advance(&mut self) -> Result<bool, Fault> {
        let is_line_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
        let Some(skipped) = self.text[self.at..].iter().position(|byte| !is_line_end(byte)) else {
            return Ok(false);
        };
        self.at += skipped;
        self.start = self.at;
        let (mut field_bytes, mut field_count) = (0, 0);
        loop {
            let (result, read, bytes, count) = self.reader.read_record(
                &self.text[self.at..],
                &mut self.fields[field_bytes..],
                &mut self.ends[field_count..],
            );
            self.at += read;
            field_bytes += bytes;
            field_count += count;
            match result {
                ReadRecordResult::Record => break,
                ReadRecordResult::OutputFull => self.fields.resize(2 * self.fields.len(), 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(2 * self.ends.len(), 0),
                // A text without a last line end may still end a record, when asked again.
                ReadRecordResult::InputEmpty if !self.text.ends_with(b"\n") => {}
                ReadRecordResult::InputEmpty | ReadRecordResult::End => {
                    return Err(Fault::new(self.start, "a quoted field is not closed"));
                }
            }
        }
        self.field_count = field_count;
        Ok(true)
    }

    fn field(&self, idx: usize) -> Result<&[u8], Fault> {
        if idx >= self.field_count {
            let what =
                format!("there is no column {}: the record has {}", idx + 1, self.field_count);
            return Err(Fault::new(0, what));
        }
        let start = if idx == 0 { 0 } else { self.ends[idx - 1] };
        Ok(&self.fields[start..self.ends[idx]])
    }

    /// Returns the fields of the current record as names.
    pub(crate) fn names(&self) -> Vec<String> {
        let fields = (0..self.field_count).filter_map(|idx| self.field(idx).ok());
        fields.map(|field| String::from_utf8_lossy(field).trim().to_owned()).collect()
    }
}
