//! The grammar that most text formats share: an edge a line, its fields separated by blanks.
//!
//! ```text
//! line    = blanks? (comment / record)? "\n"
//! comment = one of the format's comment marks, then anything
//! record  = (prefix blanks)? id blanks id (blanks number)*
//! blanks  = one or more of space, tab, carriage return
//! ```
//! Each format says which marks, prefix, counts of columns and ids it takes.

use std::ops::{Range, RangeInclusive};

use everedge_core::{MAX_VERTEX_ID, VertexId};

use crate::blocks::cut_at_line;
use crate::error::{Fault, quote};
use crate::ids::{IdColumn, first_field, is_separator, parse_integer, scan_integer, take_integer};
use crate::read::{Edges, Grammar};

/// The variable parts of the grammar.
#[derive(Debug)]
pub(crate) struct Lines {
    /// Bytes that make a line a comment when they stand first.
    pub(crate) comments: &'static [u8],
    /// A byte that must stand first in a record, as a field of its own.
    pub(crate) prefix: Option<u8>,
    /// How many columns a record has, the prefix not counted.
    pub(crate) columns: RangeInclusive<usize>,
    /// If the format declares its vertices, their count: ids are integers from 1 to it.
    pub(crate) vertex_count: Option<VertexId>,
    /// Whether the third column is kept.
    pub(crate) weighted: bool,
}

impl Grammar for Lines {
    const IS_TEXT: bool = true;

    fn cut(&self, bytes: &[u8]) -> Option<usize> {
        cut_at_line(bytes)
    }

    /// `block` ends with a line end, so a scan that stops there never leaves it.
    fn parse<C: IdColumn>(&self, block: &[u8]) -> Result<Edges<C>, Fault> {
        let mut edges = Edges::new(self.weighted);
        let mut at = 0;
        while at < block.len() {
            at = skip_blanks(block, at);
            at = match block[at] {
                b'\n' => at + 1,
                first if self.comments.contains(&first) => line_end(block, at),
                _ => self.parse_record(block, at, &mut edges)?,
            };
        }
        Ok(edges)
    }
}

impl Lines {
    /// Reads the record at `at`; returns where the next line starts.
    #[inline]
    fn parse_record<C: IdColumn>(
        &self,
        block: &[u8],
        mut at: usize,
        edges: &mut Edges<C>,
    ) -> Result<usize, Fault> {
        if let Some(prefix) = self.prefix {
            at = skip_prefix(block, at, prefix)?;
        }
        at = self.take_id(block, at, &mut edges.src)?;
        at = self.take_id(block, skip_blanks(block, at), &mut edges.dst)?;
        at = skip_blanks(block, at);
        if block[at] == b'\n' && *self.columns.start() <= 2 {
            return Ok(at + 1);
        }
        self.parse_numbers(block, at, edges.weights.as_mut())
    }

    #[inline]
    fn take_id<C: IdColumn>(&self, block: &[u8], at: usize, ids: &mut C) -> Result<usize, Fault> {
        let text = &block[at..];
        let len = match self.vertex_count {
            None => ids.take(text),
            Some(vertex_count) => take_integer(text).and_then(|(id, len)| {
                check_declared(id, vertex_count)?;
                ids.push_number(id).map(|()| len)
            }),
        };
        Ok(at + len.map_err(|fault| fault.after(at))?)
    }

    /// Reads the third and further columns, which start at `at`; keeps the third if asked.
    fn parse_numbers(
        &self,
        block: &[u8],
        mut at: usize,
        mut weights: Option<&mut Vec<f32>>,
    ) -> Result<usize, Fault> {
        let mut columns = 2;
        while block[at] != b'\n' {
            let field = first_field(&block[at..]);
            match weights.take() {
                Some(weights) => weights.push(parse_weight(field).map_err(|f| f.after(at))?),
                None => check_number(field).map_err(|f| f.after(at))?,
            }
            columns += 1;
            at = skip_blanks(block, at + field.len());
        }
        if !self.columns.contains(&columns) {
            return Err(self.wrong_columns(at, columns));
        }
        Ok(at + 1)
    }

    #[cold]
    fn wrong_columns(&self, at: usize, columns: usize) -> Fault {
        let (least, most) = (*self.columns.start(), *self.columns.end());
        if columns > most {
            Fault::new(at, format!("expected {most} columns, found {columns}"))
        } else if self.weighted {
            Fault::new(at, "there is no weight").hint("read it without --weighted")
        } else {
            Fault::new(at, format!("expected {least} columns, found {columns}"))
        }
    }
}

/// Checks an id against the vertices that a header declares.
pub(crate) fn check_declared(id: u64, vertex_count: VertexId) -> Result<(), Fault> {
    if id.wrapping_sub(1) < u64::from(vertex_count) {
        return Ok(());
    }
    let what = format!("the id {id} is outside of the declared 1 to {vertex_count}");
    Err(Fault::new(0, what))
}

/// Reads a weight: a finite decimal number that an `f32` can hold.
pub(crate) fn parse_weight(field: &[u8]) -> Result<f32, Fault> {
    /// Whole numbers of so few digits are exact in an `f32`.
    const EXACT_DIGITS: usize = 7;
    match scan_integer(field) {
        Some((weight, len)) if len == field.len() && len <= EXACT_DIGITS => {
            return Ok(weight as f32);
        }
        _ => {}
    }
    let weight = std::str::from_utf8(field).ok().and_then(|text| text.trim().parse::<f32>().ok());
    match weight {
        Some(weight) if weight.is_finite() => Ok(weight),
        Some(_) => {
            Err(Fault::new(0, format!("the weight {} is not a finite 32-bit number", quote(field))))
        }
        None => Err(Fault::new(0, format!("expected a number, found {}", quote(field)))),
    }
}

/// Checks that a column that is not kept holds a number.
pub(crate) fn check_number(field: &[u8]) -> Result<(), Fault> {
    let is_integer = field.iter().all(u8::is_ascii_digit);
    if is_integer || std::str::from_utf8(field).is_ok_and(|text| text.parse::<f64>().is_ok()) {
        return Ok(());
    }
    Err(Fault::new(0, format!("expected a number, found {}", quote(field))))
}

/// Skips the first field, which must be `prefix`, and the blanks after it.
fn skip_prefix(block: &[u8], at: usize, prefix: u8) -> Result<usize, Fault> {
    let field = first_field(&block[at..]);
    if field != [prefix] {
        let what = format!("expected a line of \"{}\", found {}", char::from(prefix), quote(field));
        return Err(Fault::new(at, what));
    }
    Ok(skip_blanks(block, at + 1))
}

/// Returns the first position from `at` that holds no blank.
#[inline]
pub(crate) fn skip_blanks(block: &[u8], mut at: usize) -> usize {
    while block[at] != b'\n' && is_separator(block[at]) {
        at += 1;
    }
    at
}

/// Returns where the line after the one at `at` starts.
pub(crate) fn line_end(block: &[u8], at: usize) -> usize {
    memchr::memchr(b'\n', &block[at..]).map_or(block.len(), |len| at + len + 1)
}

/// Returns the lines of `text` without their ends, each with where it starts and where the next
/// line does.
pub(crate) fn lines_of(text: &[u8]) -> impl Iterator<Item = (Range<usize>, &[u8])> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at;
        at = line_end(text, start);
        let line = text[start..at].strip_suffix(b"\n").unwrap_or(&text[start..at]);
        (start < at).then_some((start..at, line))
    })
}

/// Returns the fields of a line.
pub(crate) fn fields_of(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|&byte| is_separator(byte)).filter(|field| !field.is_empty())
}

/// Reads a count of vertices that a header declares.
pub(crate) fn parse_vertex_count(field: &[u8]) -> Result<VertexId, Fault> {
    let count = parse_integer(field)?;
    if count > u64::from(MAX_VERTEX_ID) {
        let what = format!("the header declares {count} vertices; ids must be below 2^31");
        return Err(Fault::new(0, what));
    }
    Ok(count as VertexId)
}
