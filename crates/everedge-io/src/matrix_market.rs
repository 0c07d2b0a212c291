//! Matrix Market coordinate files: a square sparse matrix as a graph.
//!
//! Source: R. Boisvert, R. Pozo, K. Remington, "The Matrix Market Exchange Formats: Initial Design",
//! NISTIR 5935, 1996, §2.2. An entry (i, j) is the edge i→j; in a symmetric matrix an entry is an
//! undirected edge and stands once. Rows are vertices 1 to n, all of which the size declares.
//! Differences: comments may stand anywhere; complex values and dense arrays are refused.
//!
//! # Example
//! ```text
//! %%MatrixMarket matrix coordinate integer general
//! % a comment
//! 3 3 2
//! 1 2 10
//! 3 1 20
//! ```
//! declares the vertices 1, 2 and 3 and has the edges 1→2 of weight 10 and 3→1 of weight 20.

use crate::error::{Fault, quote};
use crate::ids::parse_integer;
use crate::lines::{Lines, fields_of, lines_of, parse_vertex_count};
use crate::read::{Declared, Opened};
use crate::rules::Rules;
use crate::{ReadOptions, Result};

/// How the first line starts.
pub(crate) const MAGIC: &[u8] = b"%%MatrixMarket";
const COMMENTS: &[u8] = b"%";

/// What the first line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Banner {
    /// Whether entries have values.
    pub(crate) has_values: bool,
    /// Whether an entry stands for both directions.
    pub(crate) is_symmetric: bool,
}

pub(crate) fn open(head: &[u8], options: &ReadOptions) -> Result<Opened<Lines>, Fault> {
    let banner = parse_banner(head)?;
    if options.weighted && !banner.has_values {
        let fault = Fault::new(0, "a pattern matrix has no weights");
        return Err(fault.hint("the graph keeps one for each edge"));
    }
    let mut lines = lines_of(head).skip(1);
    let size = lines.find(|(_, line)| !line.starts_with(COMMENTS) && !line.trim_ascii().is_empty());
    let Some((place, line)) = size else {
        return Err(Fault::new(head.len(), "there is no line with the size of the matrix"));
    };
    let (vertices, edges) = parse_size(line).map_err(|fault| fault.after(place.start))?;
    let columns = if banner.has_values { 3..=3 } else { 2..=2 };
    let grammar = Lines {
        comments: COMMENTS,
        prefix: None,
        columns,
        vertex_count: Some(vertices),
        weighted: options.weighted,
        picked: None,
        has_attributes: false,
        header: None,
        rules: Rules::of(options),
    };
    let declared = Declared { vertices: Some(vertices), edges: Some(edges) };
    Ok(Opened { grammar, header_bytes: place.end, declared })
}

/// Reads the first line.
pub(crate) fn parse_banner(head: &[u8]) -> Result<Banner, Fault> {
    let line = lines_of(head).next().map_or(head, |(_, line)| line).to_ascii_lowercase();
    let words: Vec<&[u8]> = fields_of(&line).collect();
    let [magic, object, layout, values, symmetry] = words[..] else {
        return Err(Fault::new(
            0,
            format!("expected a Matrix Market banner, found {}", quote(&line)),
        ));
    };
    if !magic.eq_ignore_ascii_case(MAGIC) || object != b"matrix" || layout != b"coordinate" {
        let what = format!("expected a coordinate matrix, found {}", quote(&line));
        return Err(Fault::new(0, what));
    }
    let has_values = match values {
        b"pattern" => false,
        b"real" | b"integer" | b"double" => true,
        other => return Err(Fault::new(0, format!("{} entries are not weights", quote(other)))),
    };
    let is_symmetric = match symmetry {
        b"general" => false,
        b"symmetric" => true,
        other => return Err(Fault::new(0, format!("a {} matrix is not a graph", quote(other)))),
    };
    Ok(Banner { has_values, is_symmetric })
}

/// Reads the counts of rows and of entries.
fn parse_size(line: &[u8]) -> Result<(u32, u64), Fault> {
    let fields: Vec<&[u8]> = fields_of(line).collect();
    let [rows, columns, entries] = fields[..] else {
        let what = format!("expected counts of rows, columns and entries, found {}", quote(line));
        return Err(Fault::new(0, what));
    };
    let (rows, columns) = (parse_vertex_count(rows)?, parse_vertex_count(columns)?);
    if rows != columns {
        let what = format!("a matrix of {rows} rows and {columns} columns is not a graph");
        return Err(Fault::new(0, what).hint("only a square matrix is"));
    }
    Ok((rows, parse_integer(entries)?))
}
