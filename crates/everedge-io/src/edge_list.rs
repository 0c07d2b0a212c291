//! Edge lists as SNAP publishes them.
//!
//! Source: the files of the Stanford Network Analysis Project; KONECT writes `%` for comments.
//! A record is a source, a destination and any number of numbers, the first of which is the
//! weight of a weighted read; blanks separate them ([`crate::lines`]). Lines that start with `#`
//! or `%` are comments. All records have as many columns as the first, so that adjacency lists,
//! which look alike, are not taken for edges. The first record may be a header; if not, the last
//! comment before it may give the names. Where columns are chosen, the others may hold anything.
//!
//! # Example
//! ```text
//! # FromNodeId  ToNodeId
//! 30      1412
//! 30      3352
//! ```
//! is two edges, 30→1412 and 30→3352. A file in which `1 2 1082040961` gives the time of an edge
//! reads alike unweighted.

use crate::error::Fault;
use crate::lines::{Lines, Picked, check_slashes, fields_of, lines_of};
use crate::read::{Declared, Opened};
use crate::rules::Rules;
use crate::survey::{Header, Row};
use crate::{Columns, InputChoices, ReadOptions};

/// Bytes that start a comment.
pub(crate) const COMMENTS: [u8; 2] = *b"#%";
/// Records that show what the columns are.
pub(crate) const SURVEYED_ROWS: usize = 1000;

/// The first lines of an edge list.
pub(crate) struct Start {
    /// The fields of the last comment before the first record.
    pub(crate) comment: Row,
    pub(crate) rows: Vec<Row>,
    /// Where the line after the first record starts.
    pub(crate) first_end: usize,
}

/// Reads the first lines of a text.
pub(crate) fn start_of(head: &[u8], row_count: usize) -> Start {
    let mut start = Start { comment: Row::new(), rows: Vec::new(), first_end: 0 };
    for (place, line) in lines_of(head) {
        let fields = || fields_of(line).map(|field| String::from_utf8_lossy(field).into_owned());
        match line.trim_ascii_start().first() {
            None => {}
            Some(first) if COMMENTS.contains(first) && !start.rows.is_empty() => {}
            Some(first) if COMMENTS.contains(first) => start.comment = comment_fields(line),
            Some(_) => {
                if start.rows.is_empty() {
                    start.first_end = place.end;
                }
                start.rows.push(fields().collect());
            }
        }
        if start.rows.len() >= row_count {
            break;
        }
    }
    start
}

/// Returns the fields of a comment without its mark.
fn comment_fields(line: &[u8]) -> Row {
    let text = String::from_utf8_lossy(line);
    let text = text.trim().trim_start_matches(COMMENTS.map(char::from));
    text.split_whitespace().map(str::to_owned).collect()
}

/// Finds the header and how many columns there are.
pub(crate) fn open(head: &[u8], options: &ReadOptions) -> Result<Opened<Lines>, Fault> {
    let rules = Rules::of(options);
    let start = start_of(head, SURVEYED_ROWS);
    if let Some(line) = lines_of(head).map(|(_, line)| line).find(|line| !line.is_empty()) {
        check_slashes(line.trim_ascii_start(), rules)?;
    }
    let least = if options.weighted { 3 } else { 2 };
    let header = Header::find(&start.rows, start.comment, &InputChoices::exactly(options));
    let picked = (options.columns != Columns::default()).then(|| {
        let Columns { src, dst, weight } = &options.columns;
        let weight = options.weighted.then(|| header.place(weight)).transpose()?;
        Ok::<_, Fault>(Picked { src: header.place(src)?, dst: header.place(dst)?, weight })
    });
    let picked = picked.transpose()?;
    let header_bytes = if header.is_there { start.first_end } else { 0 };
    let width = start.rows.first().map_or(least, Vec::len);
    let columns = match picked {
        None => width.max(least),
        Some(Picked { src, dst, weight }) => width.max(1 + src.max(dst).max(weight.unwrap_or(0))),
    };
    let grammar = Lines {
        comments: &COMMENTS,
        prefix: None,
        columns: columns..=columns,
        vertex_count: None,
        weighted: options.weighted,
        picked,
        rules,
    };
    Ok(Opened { grammar, header_bytes, declared: Declared::default() })
}
