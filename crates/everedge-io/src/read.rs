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
use crate::{
    Error, Format, IdKind, Ids, Place, ReadOptions, Result, binary, csv, dimacs, edge_list,
    graphalytics, matrix_market, metis,
};

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
    sink: &mut Sink<'_, E>,
) -> Result<ReadSummary, E> {
    let blocks = Blocks::new(input, block_bytes);
    match options.ids {
        IdKind::Dense => read_as::<Vec<VertexId>, E>(blocks, options, sink),
        IdKind::Sparse => read_as::<Vec<u64>, E>(blocks, options, sink),
        IdKind::Text => read_as::<TextIds, E>(blocks, options, sink),
    }
}

fn read_as<C: IdColumn, E: From<Error> + Send>(
    blocks: Blocks<impl Read + Send>,
    options: &ReadOptions,
    sink: &mut Sink<'_, E>,
) -> Result<ReadSummary, E> {
    match options.format {
        Format::EdgeList => read_opened::<C, _, E>(blocks, options, edge_list::open, sink),
        Format::Csv => read_opened::<C, _, E>(blocks, options, csv::open_csv, sink),
        Format::Tsv => read_opened::<C, _, E>(blocks, options, csv::open_tsv, sink),
        Format::MatrixMarket => read_opened::<C, _, E>(blocks, options, matrix_market::open, sink),
        Format::Dimacs => read_opened::<C, _, E>(blocks, options, dimacs::open, sink),
        Format::Graphalytics => read_opened::<C, _, E>(blocks, options, graphalytics::open, sink),
        Format::Metis => metis::read::<C, E>(blocks, options, sink),
        Format::Binary => read_opened::<C, _, E>(blocks, options, binary::open, sink),
        format @ Format::GraphalyticsVertices => {
            Err(Error::Unsupported { format, what: "it holds no edges; read_vertices reads it" })?
        }
        format @ Format::Parquet => {
            Err(Error::Unsupported { format, what: "read_parquet reads it, as it needs to seek" })?
        }
    }
}

/// What takes the chunks.
pub(crate) type Sink<'a, E> = dyn FnMut(Chunk) -> Result<(), E> + Send + 'a;

/// A file after its header was read.
#[derive(Debug)]
pub(crate) struct Opened<G> {
    /// How to read what follows the header.
    pub(crate) grammar: G,
    /// How long the header is.
    pub(crate) header_bytes: usize,
    pub(crate) declared: Declared,
}

/// What a header says will follow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Declared {
    pub(crate) vertices: Option<VertexId>,
    pub(crate) edges: Option<u64>,
}

/// Reads a header with `open`, then all blocks.
pub(crate) fn read_opened<C: IdColumn, G: Grammar, E: From<Error> + Send>(
    mut blocks: Blocks<impl Read + Send>,
    options: &ReadOptions,
    open: impl Fn(&[u8], &ReadOptions) -> Result<Opened<G>, Fault>,
    sink: &mut Sink<'_, E>,
) -> Result<ReadSummary, E> {
    let opened = open_header::<G>(&mut blocks, |head| open(head, options))?;
    let summary = read_blocks::<C, G, E>(blocks, &opened.grammar, sink)?;
    Ok(check_counts(summary, opened.declared)?)
}

fn open_header<G: Grammar>(
    blocks: &mut Blocks<impl Read>,
    open: impl Fn(&[u8]) -> Result<Opened<G>, Fault>,
) -> Result<Opened<G>> {
    const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
    if G::IS_TEXT && blocks.peek()?.starts_with(BYTE_ORDER_MARK) {
        blocks.skip(BYTE_ORDER_MARK.len());
    }
    let opened = open(blocks.peek()?).map_err(|fault| blocks.header_error(fault))?;
    blocks.skip(opened.header_bytes);
    Ok(opened)
}

/// Compares what was read with what the header declares.
pub(crate) fn check_counts(summary: ReadSummary, declared: Declared) -> Result<ReadSummary> {
    let Declared { vertices, edges } = declared;
    match edges {
        Some(edges) if edges != summary.edges => {
            let what = format!("the header declares {edges} edges, but {} follow", summary.edges);
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
fn read_blocks<C: IdColumn, G: Grammar, E: From<Error> + Send>(
    mut blocks: Blocks<impl Read + Send>,
    grammar: &G,
    sink: &mut Sink<'_, E>,
) -> Result<ReadSummary, E> {
    let batch_len = par::thread_count();
    let mut lines = blocks.skipped_lines();
    let mut summary = ReadSummary { bytes: blocks.offset(), ..ReadSummary::default() };
    let mut raw = blocks.next_batch(batch_len, |bytes| grammar.cut(bytes));
    let mut parsed: Vec<Parsed<C>> = Vec::new();
    while !(raw.is_empty() && parsed.is_empty()) {
        let hand_on = || {
            parsed.into_iter().try_for_each(|block| {
                let chunk = into_chunk::<C, G>(block, &mut lines)?;
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
    let text = if G::IS_TEXT { check_text(bytes) } else { Ok(()) };
    let edges = text.and_then(|()| grammar.parse(bytes));
    let fault_line = edges.as_ref().map_or_else(|fault| count_lines(&bytes[..fault.at]), |_| 0);
    Parsed { edges, start_offset, end_offset: block.end_offset, line_count, fault_line }
}

/// Checks that there is no zero byte in a text.
pub(crate) fn check_text(bytes: &[u8]) -> Result<(), Fault> {
    memchr::memchr(0, bytes).map_or(Ok(()), |at| {
        Err(Fault::new(at, "there is a zero byte, so this is binary data and not of that format")
            .hint("UTF-16 text must be converted to UTF-8"))
    })
}

/// Finds the place of a block or of its fault; `lines` counts the lines before the block.
fn into_chunk<C: IdColumn, G: Grammar>(block: Parsed<C>, lines: &mut u64) -> Result<Chunk> {
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
