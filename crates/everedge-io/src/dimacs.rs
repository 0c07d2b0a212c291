//! DIMACS shortest-path files, and the form that PACE made of them.
//!
//! Source: the 9th DIMACS Implementation Challenge, "Shortest Paths", 2006, file format `.gr`;
//! the PACE challenge, "Treewidth", 2016, input format. Lines that start with `c` are comments.
//! ```text
//! p sp n m     then m lines  a u v w     directed, weighted
//! p tw n m     then m lines  u v         undirected, not weighted
//!              lines         a u v w     a file whose header was stripped: n and m are not known
//! ```
//! With a header the vertices are 1 to n.
//!
//! # Example
//! ```text
//! c converted
//! p sp 3 2
//! a 1 2 803
//! a 2 1 803
//! ```
//! declares the vertices 1, 2 and 3 and has the edges 1→2 and 2→1 of weight 803.

use everedge_core::VertexId;

use crate::error::{Fault, quote};
use crate::ids::{is_separator, parse_integer};
use crate::lines::{Lines, fields_of, lines_of, parse_vertex_count};
use crate::read::{Declared, Opened};
use crate::rules::Rules;
use crate::{ReadOptions, Result};

const COMMENTS: &[u8] = b"c";

/// What the lines before the first edge say.
#[derive(Debug)]
pub(crate) struct Header {
    /// Whether it is a shortest-path file and not one of PACE.
    pub(crate) is_shortest_path: bool,
    declared: Declared,
    bytes: usize,
}

pub(crate) fn open(head: &[u8], options: &ReadOptions) -> Result<Opened<Lines>, Fault> {
    let header = parse_header(head)?;
    if options.weighted && !header.is_shortest_path {
        let fault = Fault::new(0, "a PACE file has no weights");
        return Err(fault.hint("the graph keeps one for each edge"));
    }
    let (prefix, columns) =
        if header.is_shortest_path { (Some(b'a'), 3..=3) } else { (None, 2..=2) };
    let grammar = Lines {
        comments: COMMENTS,
        prefix,
        columns,
        vertex_count: header.declared.vertices,
        weighted: options.weighted,
        picked: None,
        has_attributes: false,
        header: None,
        rules: Rules::of(options),
    };
    Ok(Opened { grammar, header_bytes: header.bytes, declared: header.declared })
}

pub(crate) fn parse_header(head: &[u8]) -> Result<Header, Fault> {
    for (place, line) in lines_of(head) {
        let line = line.trim_ascii_start();
        match line.first() {
            None | Some(b'c') => continue,
            Some(b'p') => {
                let problem = parse_problem(line).map_err(|fault| fault.after(place.start))?;
                let (is_shortest_path, vertices, edges) = problem;
                let declared = Declared { vertices: Some(vertices), edges: Some(edges) };
                return Ok(Header { is_shortest_path, declared, bytes: place.end });
            }
            Some(b'a') if line.get(1).is_some_and(|&byte| is_separator(byte)) => {
                let declared = Declared::default();
                return Ok(Header { is_shortest_path: true, declared, bytes: place.start });
            }
            Some(_) => {
                let what = format!("expected a DIMACS line of p, a or c, found {}", quote(line));
                return Err(Fault::new(place.start, what));
            }
        }
    }
    Ok(Header { is_shortest_path: true, declared: Declared::default(), bytes: 0 })
}

/// Reads a problem line: whether it is of shortest paths, and its counts.
fn parse_problem(line: &[u8]) -> Result<(bool, VertexId, u64), Fault> {
    let fields: Vec<&[u8]> = fields_of(line).collect();
    match fields[..] {
        [b"p", problem @ (b"sp" | b"tw"), vertices, edges] => {
            Ok((problem == b"sp", parse_vertex_count(vertices)?, parse_integer(edges)?))
        }
        _ => Err(Fault::new(0, format!("expected p sp N M or p tw N M, found {}", quote(line)))),
    }
}
