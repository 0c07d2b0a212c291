//! The graphs of LDBC Graphalytics: a file of vertices beside a file of edges.
//!
//! Source: A. Iosup et al., "The LDBC Graphalytics Benchmark", version 1.0.2, §2.2.2. `.v` has an id
//! a line and declares the vertices; `.e` has a source, a destination and perhaps a weight a line.
//! An undirected edge stands once. There are no comments.
//!
//! # Example
//! ```text
//! graph.v     graph.e
//! 1           1 3 0.5
//! 2           3 1 0.25
//! 3
//! ```
//! has three vertices and the edges 1→3 and 3→1; vertex 2 is isolated.

use std::io::{Read, Write};

use everedge_core::VertexId;

use crate::blocks::{BLOCK_BYTES, Blocks, cut_at_line};
use crate::error::Fault;
use crate::ids::{IdColumn, TextIds};
use crate::lines::{Lines, skip_blanks};
use crate::read::{Declared, Edges, Grammar, Opened, read_opened};
use crate::rules::Rules;
use crate::write::{write_id, write_mark};
use crate::{Chunk, Error, Format, Id, IdKind, Ids, ReadOptions, Result};

/// An edge file has no header.
pub(crate) fn open(_: &[u8], options: &ReadOptions) -> Result<Opened<Lines>, Fault> {
    let least = if options.weighted { 3 } else { 2 };
    let grammar = Lines {
        comments: b"",
        prefix: None,
        columns: least..=3,
        vertex_count: None,
        weighted: options.weighted,
        picked: None,
        has_attributes: false,
        header: None,
        rules: Rules::of(options),
    };
    Ok(Opened { grammar, header_bytes: 0, declared: Declared::default() })
}

/// Reads a vertex file and calls `sink` with the ids, piece by piece in file order.
///
/// Returns how many there are.
///
/// # Errors
/// As for [`read_edges`](crate::read_edges), but an empty file is no error.
///
/// # Example
/// ```
/// use everedge_io::{Error, IdKind, Ids, read_vertices};
/// let mut all = Vec::new();
/// let count = read_vertices(&b"2\n7\n"[..], IdKind::Dense, |ids| Ok::<(), Error>(all.push(ids)))?;
/// assert_eq!((count, &all[..]), (2, &[Ids::Dense(vec![2, 7])][..]));
/// # Ok::<(), Error>(())
/// ```
pub fn read_vertices<E: From<Error> + Send>(
    input: impl Read + Send,
    ids: IdKind,
    mut sink: impl FnMut(Ids) -> Result<(), E> + Send,
) -> Result<u64, E> {
    let blocks = Blocks::new(input, BLOCK_BYTES);
    let options = ReadOptions { ids, ..ReadOptions::new(Format::GraphalyticsVertices) };
    let mut sink = |chunk: Chunk| sink(chunk.src);
    let summary = match ids {
        IdKind::Dense => {
            read_opened::<Vec<VertexId>, _, E>(blocks, &options, open_vertices, &mut sink)
        }
        IdKind::Sparse => read_opened::<Vec<u64>, _, E>(blocks, &options, open_vertices, &mut sink),
        IdKind::Text => read_opened::<TextIds, _, E>(blocks, &options, open_vertices, &mut sink),
    }?;
    Ok(summary.edges)
}

fn open_vertices(_: &[u8], _: &ReadOptions) -> Result<Opened<VertexLines>, Fault> {
    let declared = Declared { vertices: Some(0), edges: None };
    Ok(Opened { grammar: VertexLines, header_bytes: 0, declared })
}

/// The grammar of a vertex file; it fills the sources only.
struct VertexLines;

impl Grammar for VertexLines {
    const IS_TEXT: bool = true;

    fn cut(&self, bytes: &[u8]) -> Option<usize> {
        cut_at_line(bytes)
    }

    fn parse<C: IdColumn>(&self, block: &[u8]) -> Result<Edges<C>, Fault> {
        let mut vertices = Edges::<C>::new(false);
        let mut at = if block.is_empty() { 0 } else { skip_blanks(block, 0) };
        while at < block.len() {
            if block[at] != b'\n' {
                at += vertices.src.take(&block[at..]).map_err(|fault| fault.after(at))?;
                at = skip_blanks(block, at);
            }
            if block[at] != b'\n' {
                return Err(Fault::new(at, "expected one id a line"));
            }
            at += 1;
            at = if at < block.len() { skip_blanks(block, at) } else { at };
        }
        Ok(vertices)
    }
}

/// Writes a vertex file.
///
/// # Errors
/// [`Error::Unwritable`] for text that is empty or has a blank; [`Error::Io`].
pub fn write_vertices<'a>(
    mut out: impl Write,
    vertices: impl IntoIterator<Item = Id<'a>>,
) -> Result<()> {
    for (place, vertex) in vertices.into_iter().enumerate() {
        if place == 0 {
            write_mark(&mut out, Format::GraphalyticsVertices, vertex)?;
        }
        write_id(&mut out, Format::GraphalyticsVertices, vertex)?;
        out.write_all(b"\n")?;
    }
    Ok(out.flush()?)
}
