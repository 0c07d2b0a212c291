//! Edge lists as SNAP publishes them.
//!
//! Source: the files of the Stanford Network Analysis Project; KONECT writes `%` for comments.
//! A record is a source, a destination and any number of numbers, the first of which is the
//! weight of a weighted read; blanks separate them ([`crate::lines`]). Lines that start with `#`
//! or `%` are comments.
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
use crate::lines::Lines;
use crate::read::{Declared, Opened};

/// Bytes that start a comment.
pub(crate) const COMMENTS: &[u8] = b"#%";

/// An edge list has no header.
pub(crate) fn open(_: &[u8], options: &ReadOptions) -> Result<Opened<Lines>, Fault> {
    let least = if options.weighted { 3 } else { 2 };
    let grammar = Lines {
        comments: COMMENTS,
        prefix: None,
        columns: least..=usize::MAX,
        vertex_count: None,
        weighted: options.weighted,
    };
    Ok(Opened { grammar, header_bytes: 0, declared: Declared::default() })
}
