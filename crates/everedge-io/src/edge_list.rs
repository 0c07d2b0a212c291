//! Edge lists as SNAP publishes them.
//!
//! Source: the files of the Stanford Network Analysis Project; KONECT writes `%` for comments.
//! A record is a source, a destination and any number of numbers, the first of which is the
//! weight of a weighted read; blanks separate them ([`crate::lines`]). Lines that start with `#`
//! or `%` are comments. All records have as many columns as the first, so that adjacency lists,
//! which look alike, are not taken for edges.
//!
//! # Example
//! ```text
//! # FromNodeId  ToNodeId
//! 30      1412
//! 30      3352
//! ```
//! is two edges, 30→1412 and 30→3352. A file in which `1 2 1082040961` gives the time of an edge
//! reads alike unweighted.

use crate::ReadOptions;
use crate::error::Fault;
use crate::lines::{Lines, fields_of, lines_of};
use crate::read::{Declared, Opened};

/// Bytes that start a comment.
pub(crate) const COMMENTS: [u8; 2] = *b"#%";

/// Finds how many columns there are.
pub(crate) fn open(head: &[u8], options: &ReadOptions) -> Result<Opened<Lines>, Fault> {
    let least = if options.weighted { 3 } else { 2 };
    let found = lines_of(head).find_map(|(_, line)| column_count(line)).unwrap_or(least);
    let columns = found.max(least);
    let grammar = Lines {
        comments: &COMMENTS,
        prefix: None,
        columns: columns..=columns,
        vertex_count: None,
        weighted: options.weighted,
    };
    Ok(Opened { grammar, header_bytes: 0, declared: Declared::default() })
}

/// Returns how many columns a line has, if it is a record.
fn column_count(line: &[u8]) -> Option<usize> {
    let first = fields_of(line).next()?;
    (!COMMENTS.contains(&first[0])).then(|| fields_of(line).count())
}
