//! Reading edges: blocks are read, parsed and handed on at the same time, in file order.
//!
//! ```text
//! input ──► Blocks ──► batch i+2 of raw blocks
//!                      batch i+1, parsed in parallel
//!                      batch i ──► sink
//! ```
//! A batch has a block for each thread. Each step of the pipeline is one fork and join, so nothing
//! ever waits inside the thread pool, also when the caller is one of its threads or the only one.
//! Results, errors and line numbers do not depend on the number of threads.

use std::io::Read;

use everedge_core::{VertexId, par};

use crate::blocks::{BLOCK_BYTES, Block, Blocks, count_lines};
use crate::error::Fault;
use crate::ids::{IdColumn, TextIds};
use crate::lines::Lines;
use crate::{Error, Format, IdKind, Ids, Place, ReadOptions, Result, edge_list};

/// Some of a file's edges, in file order.
#[derive(Clone, Debug, PartialEq)]
pub struct Chunk {
    /// The sources.
    pub src: Ids,
    /// The destinations, as many as there are sources.
    pub dst: Ids,
    /// The weights, as many as there are sources, if they were asked for.
    pub weights: Option<Vec<f32>>,
    /// Where in the input the chunk starts, for messages about its edges.
    pub place: Place,
    /// How many bytes of the decompressed input end with this chunk.
    pub bytes_read: u64,
}

/// What a file held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadSummary {
    /// How many edges were handed to the sink.
    pub edges: u64,
    /// The length of the decompressed input in bytes.
    pub bytes: u64,
    /// If the format declares its vertices, their count `n`: they are 1 to `n`, whether an edge
    /// names them or not.
    pub vertices: Option<VertexId>,
}

/// Reads the edges of `input` and calls `sink` with them, chunk by chunk in file order.
///
/// Reading, parsing and the sink run at the same time; `sink` is never called twice at once.
/// Ids are those of the file: a format that counts from 1 gives ids from 1. The edges of an
/// undirected format come once each, as the file has them.
///
/// Returns how much was read.
///
/// # Cost
/// Linear in the input. Holds three blocks of 1 MiB and their edges for each thread.
///
/// # Errors
/// - [`Error::Syntax`] with the exact line, byte or row; the sink has then seen all chunks before
///   the one that is wrong. A count that does not match its header is found at the end.
/// - [`Error::NoEdges`], [`Error::Unsupported`], [`Error::Truncated`], [`Error::Damaged`],
///   [`Error::Io`].
/// - Whatever `sink` returns; it is not called again.
///
/// # Example
/// ```
/// use everedge_io::{Error, Format, Ids, ReadOptions, read_edges};
/// let mut edges = Vec::new();
/// let summary = read_edges(&b"# a triangle\n0 1\n1 2\n2 0\n"[..],
///     &ReadOptions::new(Format::EdgeList), |chunk| {
///         if let (Ids::Dense(src), Ids::Dense(dst)) = (chunk.src, chunk.dst) {
///             edges.extend(src.into_iter().zip(dst));
///         }
///         Ok::<(), Error>(())
///     })?;
/// assert_eq!(summary.edges, 3);
/// assert_eq!(edges, [(0, 1), (1, 2), (2, 0)]);
/// # Ok::<(), Error>(())
/// ```
pub fn read_edges<E: From<Error> + Send>(
    input: impl Read + Send,
    options: &ReadOptions,
    mut sink: impl FnMut(Chunk) -> Result<(), E> + Send,
) -> Result<ReadSummary, E> {
    read_in_blocks(input, options, BLOCK_BYTES, &mut sink)
}

/// Like [`read_edges`], with blocks of a given size.
pub(crate) fn read_in_blocks<E: From<Error> + Send>(
    input: impl Read + Send,
    options: &ReadOptions,
    block_bytes: usize,
    sink: &mut (impl FnMut(Chunk) -> Result<(), E> + Send),
) -> Result<ReadSummary, E> {
    let blocks = Blocks::new(input, block_bytes);
    match options.ids {
        IdKind::Dense => read_as::<Vec<VertexId>, E>(blocks, options, sink),
        IdKind::Sparse => read_as::<Vec<u64>, E>(blocks, options, sink),
        IdKind::Text => read_as::<TextIds, E>(blocks, options, sink),
    }
}

fn read_as<C: IdColumn, E: From<Error> + Send>(
    mut blocks: Blocks<impl Read + Send>,
    options: &ReadOptions,
    sink: &mut (impl FnMut(Chunk) -> Result<(), E> + Send),
) -> Result<ReadSummary, E> {
    let open = match options.format {
        Format::EdgeList => edge_list::open,
        format => {
            return Err(Error::Unsupported { format, what: "not an edge format" }.into());
        }
    };
    let opened = open_lines(&mut blocks, options, open)?;
    let summary = read_blocks::<C, E>(blocks, &opened.grammar, sink)?;
    Ok(check_counts(summary, &opened)?)
}

/// A text format after its header was read.
#[derive(Debug)]
pub(crate) struct Opened {
    /// How to read the records.
    pub(crate) grammar: Lines,
    /// How long the header is.
    pub(crate) header_bytes: usize,
    /// How many records the header declares.
    pub(crate) edge_count: Option<u64>,
}

/// Reads the header of a format of lines.
fn open_lines(
    blocks: &mut Blocks<impl Read>,
    options: &ReadOptions,
    open: impl Fn(&[u8], &ReadOptions) -> Result<Opened, Fault>,
) -> Result<Opened> {
    const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
    if blocks.peek()?.starts_with(BYTE_ORDER_MARK) {
        blocks.skip(BYTE_ORDER_MARK.len());
    }
    let opened = open(blocks.peek()?, options).map_err(|fault| blocks.header_error(fault))?;
    blocks.skip(opened.header_bytes);
    Ok(opened)
}

/// Compares what was read with what the header declares.
fn check_counts(summary: ReadSummary, opened: &Opened) -> Result<ReadSummary> {
    let vertices = opened.grammar.vertex_count;
    match opened.edge_count {
        Some(declared) if declared != summary.edges => {
            let what =
                format!("the header declares {declared} edges, but there are {}", summary.edges);
            Err(Error::Syntax { place: Place::Whole, what, hint: Some("is the file complete?") })
        }
        _ if summary.edges == 0 && vertices.is_none() => Err(Error::NoEdges),
        _ => Ok(ReadSummary { vertices, ..summary }),
    }
}

/// How a format's records are found and read.
pub(crate) trait Grammar: Sync {
    /// Whether blocks are text: they then end with a line end and hold no zero byte.
    const IS_TEXT: bool;

    /// Returns how long the whole records at the start of `bytes` are, if there is one.
    fn cut(&self, bytes: &[u8]) -> Option<usize>;

    /// Reads the records of a block.
    fn parse<C: IdColumn>(&self, block: &[u8]) -> Result<Edges<C>, Fault>;
}

/// The edges of a block.
#[derive(Debug)]
pub(crate) struct Edges<C> {
    pub(crate) src: C,
    pub(crate) dst: C,
    pub(crate) weights: Option<Vec<f32>>,
}

impl<C: IdColumn> Edges<C> {
    pub(crate) fn new(weighted: bool) -> Self {
        Self { src: C::default(), dst: C::default(), weights: weighted.then(Vec::new) }
    }
}

/// A block after parsing.
struct Parsed<C> {
    edges: Result<Edges<C>, Fault>,
    start_offset: u64,
    end_offset: u64,
    line_count: u64,
    /// How many lines end before the fault, if there is one.
    fault_line: u64,
}

/// Runs the pipeline over all blocks.
pub(crate) fn read_blocks<C: IdColumn, E: From<Error> + Send>(
    mut blocks: Blocks<impl Read + Send>,
    grammar: &impl Grammar,
    sink: &mut (impl FnMut(Chunk) -> Result<(), E> + Send),
) -> Result<ReadSummary, E> {
    let batch_len = par::thread_count();
    let mut lines = blocks.skipped_lines();
    let mut summary = ReadSummary { bytes: blocks.offset(), ..ReadSummary::default() };
    let mut raw = blocks.next_batch(batch_len, |bytes| grammar.cut(bytes));
    let mut parsed: Vec<Parsed<C>> = Vec::new();
    while !(raw.is_empty() && parsed.is_empty()) {
        let hand_on = || {
            parsed.into_iter().try_for_each(|block| {
                let chunk = into_chunk(grammar, block, &mut lines)?;
                summary.edges += chunk.src.len() as u64;
                summary.bytes = chunk.bytes_read;
                sink(chunk)
            })
        };
        let parse =
            || par::map_chunks_mut(&mut raw, 1, |_, block| parse_block(grammar, &mut block[0]));
        let read = || blocks.next_batch(batch_len, |bytes| grammar.cut(bytes));
        let (handed_on, (next_parsed, next_raw)) =
            rayon::join(hand_on, || rayon::join(parse, read));
        handed_on?;
        (parsed, raw) = (next_parsed, next_raw);
    }
    blocks.finish()?;
    Ok(summary)
}

fn parse_block<C: IdColumn, G: Grammar>(grammar: &G, block: &mut Block) -> Parsed<C> {
    let start_offset = block.end_offset - block.bytes.len() as u64;
    let bytes = &mut block.bytes;
    let line_count = count_lines(bytes);
    if G::IS_TEXT && !bytes.ends_with(b"\n") {
        bytes.push(b'\n');
    }
    let edges = match memchr::memchr(0, bytes) {
        Some(at) if G::IS_TEXT => Err(not_text(at)),
        _ => grammar.parse(bytes),
    };
    let fault_line = edges.as_ref().map_or_else(|fault| count_lines(&bytes[..fault.at]), |_| 0);
    Parsed { edges, start_offset, end_offset: block.end_offset, line_count, fault_line }
}

#[cold]
fn not_text(at: usize) -> Fault {
    Fault::new(at, "there is a zero byte, so this is binary data and not text of that format")
        .hint("UTF-16 text must be converted to UTF-8")
}

/// Finds the place of a block or of its fault; `lines` counts the lines before the block.
fn into_chunk<C: IdColumn, G: Grammar>(_: &G, block: Parsed<C>, lines: &mut u64) -> Result<Chunk> {
    let place = |lines_further: u64, bytes_further: usize| match G::IS_TEXT {
        true => Place::Line(1 + *lines + lines_further),
        false => Place::Offset(block.start_offset + bytes_further as u64),
    };
    let Edges { src, dst, weights } = block.edges.map_err(|fault| {
        let place = place(block.fault_line, fault.at);
        fault.into_error(place)
    })?;
    let place = place(0, 0);
    *lines += block.line_count;
    let (src, dst) = (src.into_ids(), dst.into_ids());
    Ok(Chunk { src, dst, weights, place, bytes_read: block.end_offset })
}
