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

use crate::attributes;
use crate::blocks::cut_at_line;
use crate::csv::repeated_header;
use crate::error::{Fault, quote};
use crate::ids::{IdColumn, first_field, is_separator, parse_integer, take_integer};
use crate::operations::Timed;
use crate::read::{Edges, Grammar};
use crate::rules::{Rules, check_number};

/// What a text file may start with, to say that it is UTF-8.
pub(crate) const BYTE_ORDER_MARK: &str = "\u{feff}";
const MARK_START: u8 = BYTE_ORDER_MARK.as_bytes()[0];

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
    /// Whether the column of weights is kept.
    pub(crate) weighted: bool,
    /// Where ids and weights stand, if not in the first columns; the others may then hold anything.
    pub(crate) picked: Option<Picked>,
    /// Whether attributes as NetworkX writes them may stand after the ids.
    pub(crate) has_attributes: bool,
    /// The header as it is written, if there is one: what repeats it is no edge.
    pub(crate) header: Option<Vec<u8>>,
    pub(crate) rules: Rules,
}

/// Columns that were chosen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Picked {
    pub(crate) src: usize,
    pub(crate) dst: usize,
    pub(crate) weight: Option<usize>,
    /// What else is read of updates, if records are.
    pub(crate) timed: Option<Timed>,
}

impl Picked {
    /// Returns the last of the columns.
    pub(crate) fn last(&self) -> usize {
        let timed = self.timed.iter().flat_map(Timed::columns);
        let others = self.weight.into_iter().chain(timed);
        others.fold(self.src.max(self.dst), usize::max)
    }
}

impl Grammar for Lines {
    const IS_TEXT: bool = true;

    fn cut(&self, bytes: &[u8]) -> Option<usize> {
        cut_at_line(bytes)
    }

    /// `block` ends with a line end, so a scan that stops there never leaves it.
    fn parse<C: IdColumn>(&self, block: &[u8]) -> Result<Edges<C>, Fault> {
        let timed = self.picked.as_ref().and_then(|picked| picked.timed.as_ref());
        let mut edges = Edges::new(self.weighted).with_updates(timed);
        let mut at = 0;
        while at < block.len() {
            at = skip_blanks(block, at);
            at = match block[at] {
                b'\n' => at + 1,
                first if self.comments.contains(&first) => skip_comment(block, at)?,
                b'/' => self.parse_slash(block, at, &mut edges)?,
                MARK_START => self.parse_mark(block, at, &mut edges)?,
                _ => self.parse_or_skip(block, at, &mut edges)?,
            };
        }
        Ok(edges)
    }
}

impl Lines {
    /// Reads the record at `at`, or leaves it out; returns where the next line starts.
    #[inline]
    fn parse_or_skip<C: IdColumn>(
        &self,
        block: &[u8],
        at: usize,
        edges: &mut Edges<C>,
    ) -> Result<usize, Fault> {
        let before = edges.src.len();
        if let Some(header) = &self.header
            && block[at..].starts_with(header)
            && block[at..line_end(block, at)].trim_ascii_end() == header.as_slice()
        {
            return Err(repeated_header(header).after(at));
        }
        let parsed = match self.picked {
            None => self.parse_record(block, at, edges),
            Some(picked) => self.parse_picked(block, at, picked, edges),
        };
        parsed.or_else(|fault| {
            edges.skip_null(self.rules, before, fault)?;
            Ok(line_end(block, at))
        })
    }

    /// Refuses a comment of another kind, which would be taken for an edge.
    #[cold]
    fn parse_slash<C: IdColumn>(
        &self,
        block: &[u8],
        at: usize,
        edges: &mut Edges<C>,
    ) -> Result<usize, Fault> {
        check_slashes(&block[at..], self.rules).map_err(|fault| fault.after(at))?;
        self.parse_or_skip(block, at, edges)
    }

    /// Refuses an integer behind a byte order mark, which would make text of all ids.
    #[cold]
    fn parse_mark<C: IdColumn>(
        &self,
        block: &[u8],
        at: usize,
        edges: &mut Edges<C>,
    ) -> Result<usize, Fault> {
        let marked = block[at..].strip_prefix(BYTE_ORDER_MARK.as_bytes());
        if marked.is_some_and(|rest| rest.first().is_some_and(u8::is_ascii_digit)) {
            check_mark(&block[at..], self.rules).map_err(|fault| fault.after(at))?;
        }
        self.parse_or_skip(block, at, edges)
    }

    /// Reads the chosen columns of the record at `at`; returns where the next line starts.
    fn parse_picked<C: IdColumn>(
        &self,
        block: &[u8],
        mut at: usize,
        picked: Picked,
        edges: &mut Edges<C>,
    ) -> Result<usize, Fault> {
        let (mut columns, mut weight) = (0, None);
        while block[at] != b'\n' {
            let field = first_field(&block[at..]);
            if columns == picked.src {
                self.take_id(block, at, &mut edges.src)?;
            } else if columns == picked.dst {
                self.take_id(block, at, &mut edges.dst)?;
            } else if picked.weight == Some(columns) {
                weight = Some((at, field));
            } else if let (Some(updates), Some(timed)) = (&mut edges.updates, &picked.timed) {
                timed.take(columns, field, updates).map_err(|f| f.after(at))?;
            }
            columns += 1;
            at = skip_blanks(block, at + field.len());
        }
        if !self.columns.contains(&columns) {
            return Err(self.wrong_columns(block, at, columns));
        }
        if let Some((place, field)) = weight {
            edges.push_weight(|| self.rules.parse_weight(field).map_err(|f| f.after(place)))?;
        }
        Ok(at + 1)
    }

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
            None if C::IS_TEXT => self.take_text(text, ids),
            None => self.rules.check_integer_id(text).and_then(|()| {
                let taken = ids.take(text);
                taken.map_err(|fault| self.rules.explain_integer(first_field(text), fault))
            }),
            Some(vertex_count) => take_integer(text).and_then(|(id, len)| {
                check_declared(id, vertex_count)?;
                ids.push_number(id).map(|()| len)
            }),
        };
        Ok(at + len.map_err(|fault| fault.after(at))?)
    }

    fn take_text<C: IdColumn>(&self, text: &[u8], ids: &mut C) -> Result<usize, Fault> {
        let field = first_field(text);
        self.rules.check_text_id(field)?;
        ids.push_field(field).map(|()| field.len())
    }

    /// Reads the third and further columns, which start at `at`; keeps the third if asked.
    fn parse_numbers(
        &self,
        block: &[u8],
        mut at: usize,
        mut weights: Option<&mut Vec<f32>>,
    ) -> Result<usize, Fault> {
        if block[at] == b'{' && self.has_attributes {
            return self.parse_attributes(block, at, weights);
        }
        let mut columns = 2;
        while block[at] != b'\n' {
            let field = first_field(&block[at..]);
            match weights.take() {
                Some(weights) => {
                    weights.push(self.rules.parse_weight(field).map_err(|f| f.after(at))?);
                }
                None => check_number(field).map_err(|f| f.after(at))?,
            }
            columns += 1;
            at = skip_blanks(block, at + field.len());
        }
        if !self.columns.contains(&columns) {
            return Err(self.wrong_columns(block, at, columns));
        }
        Ok(at + 1)
    }

    /// Reads the attributes of an edge, which start at `at`; keeps the weight if asked.
    fn parse_attributes(
        &self,
        block: &[u8],
        at: usize,
        weights: Option<&mut Vec<f32>>,
    ) -> Result<usize, Fault> {
        let end = line_end(block, at);
        let found = attributes::parse(&block[at..end]).map_err(|fault| fault.after(at))?;
        if let Some(weights) = weights {
            let weight = attributes::weight_of(&found, self.rules);
            weights.push(weight.map_err(|fault| fault.after(at))?);
        }
        Ok(end)
    }

    /// Says what is wrong with the columns of the line that ends at `at`.
    #[cold]
    fn wrong_columns(&self, block: &[u8], at: usize, columns: usize) -> Fault {
        let (least, most) = (*self.columns.start(), *self.columns.end());
        let start = memchr::memrchr(b'\n', &block[..at]).map_or(0, |end| end + 1);
        if let Err(fault) = check_returns(&block[start..at]) {
            fault.after(start)
        } else if columns > most {
            Fault::new(at, format!("expected {most} columns, found {columns}"))
        } else if self.picked.is_some_and(|picked| picked.timed.is_some()) {
            let what = format!("expected {least} columns, found {columns}");
            Fault::new(at, what).hint("every update needs as many columns as the first has")
        } else if self.weighted {
            Fault::new(at, "there is no weight").hint("the graph keeps one for each edge")
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

/// Refuses a line of text that starts with `//`: few formats of graphs know such comments.
pub(crate) fn check_slashes(line: &[u8], rules: Rules) -> Result<(), Fault> {
    if rules.literal_ids || !line.starts_with(b"//") {
        return Ok(());
    }
    let what =
        format!("the line starts with // as a comment does: {}", quote(line.trim_ascii_end()));
    Err(Fault::new(0, what).hint("start comments with #, or take it for ids with --ids text"))
}

/// Refuses a line of text inside of a file that starts with a byte order mark, which only the file's first
/// one may.
pub(crate) fn check_mark(line: &[u8], rules: Rules) -> Result<(), Fault> {
    if rules.literal_ids || !line.starts_with(BYTE_ORDER_MARK.as_bytes()) {
        return Ok(());
    }
    let what =
        "a byte order mark stands inside of the file, as where another file was put behind it";
    let hint = "give several files as several arguments, or take it for text with --ids text";
    Err(Fault::new(0, what).hint(hint))
}

/// Refuses a line with a carriage return that does not end it: as a blank it would join two lines.
pub(crate) fn check_returns(line: &[u8]) -> Result<(), Fault> {
    memchr::memchr(b'\r', line.trim_ascii_end()).map_or(Ok(()), |at| {
        let what = "a carriage return stands alone: it does not end a line here";
        let hint = "make the line ends line feeds: tr '\\r' '\\n'";
        Err(Fault::new(at, what).hint(hint))
    })
}

/// Skips a comment, which must be one line; returns where the next one starts.
fn skip_comment(block: &[u8], at: usize) -> Result<usize, Fault> {
    let end = line_end(block, at);
    check_returns(&block[at..end]).map_err(|fault| fault.after(at))?;
    Ok(end)
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
