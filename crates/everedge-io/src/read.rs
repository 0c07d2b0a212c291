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

use crate::blocks::{BLOCK_BYTES, Block, Blocks};
use crate::columnar::Wanted;
use crate::error::Fault;
use crate::ids::{IdColumn, TextIds};
use crate::lines::BYTE_ORDER_MARK;
use crate::operations::{Timed, Updates};
use crate::rules::Rules;
use crate::{
    Error, Format, IdKind, Ids, Place, ReadOptions, Result, arrow, binary, csv, dimacs, edge_list,
    graphalytics, json_lines, matrix_market, metis,
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
    /// Rows that were left out because they hold a null.
    pub skipped: u64,
    /// Whether the input has nothing more for now: what came should be dealt with.
    pub is_pause: bool,
    /// What else is there of updates, if the edges are.
    pub(crate) updates: Option<Updates>,
}

/// What a file held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadSummary {
    /// How many edges were handed to the sink.
    pub edges: u64,
    /// The length of the decompressed input in bytes.
    pub bytes: u64,
    /// How many rows were left out because they hold a null.
    pub skipped: u64,
    /// If the format declares its vertices, their count `n`: they are 1 to `n`, whether an edge
    /// names them or not.
    pub vertices: Option<VertexId>,
}

impl ReadSummary {
    pub(crate) fn take(&mut self, chunk: &Chunk) {
        self.edges += chunk.src.len() as u64;
        self.bytes = chunk.bytes_read;
        self.skipped += chunk.skipped;
    }
}

/// Reads the edges of `input` and calls `sink` with them, chunk by chunk in file order.
///
/// An input that returns [`std::io::ErrorKind::WouldBlock`] pauses: all whole records that came
/// before are handed to the sink, the last with [`Chunk::is_pause`], which may be empty; then it is
/// read again.
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
        Format::Csv | Format::Tsv => read_opened::<C, _, E>(blocks, options, csv::open, sink),
        Format::JsonLines => read_opened::<C, _, E>(blocks, options, json_lines::open, sink),
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
        format @ (Format::Icebug | Format::GraphAr) => {
            Err(Error::Unsupported { format, what: IS_DIRECTORY })?
        }
        Format::Arrow => {
            arrow::read::<C, E>(blocks.into_input(), |schema| Wanted::find(schema, options), sink)
        }
    }
}

/// What to do about a file in place of a directory.
pub(crate) const IS_DIRECTORY: &str = "it is a directory: name that, and not a file of it";

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
    if G::IS_TEXT {
        skip_mark(blocks)?;
    }
    let opened = open(blocks.peek()?).map_err(|fault| match G::IS_TEXT {
        true => blocks.header_error(fault),
        false => fault.into_error(Place::Offset(0)),
    })?;
    blocks.skip(opened.header_bytes);
    Ok(opened)
}

/// Skips a byte order mark at the start of a text.
pub(crate) fn skip_mark(blocks: &mut Blocks<impl Read>) -> Result<()> {
    if blocks.peek()?.starts_with(BYTE_ORDER_MARK.as_bytes()) {
        blocks.skip(BYTE_ORDER_MARK.len());
    }
    Ok(())
}

/// Compares what was read with what the header declares.
pub(crate) fn check_counts(summary: ReadSummary, declared: Declared) -> Result<ReadSummary> {
    let Declared { vertices, edges } = declared;
    match edges {
        Some(edges) if edges != summary.edges => {
            let what = format!("the header declares {edges} edges, but {} follow", summary.edges);
            Err(Error::Syntax { place: Place::Whole, what, hint: Some("is the file complete?") })
        }
        _ if summary.edges == 0 && summary.skipped == 0 && vertices.is_none() => {
            Err(Error::NoEdges)
        }
        _ => Ok(ReadSummary { vertices, ..summary }),
    }
}

/// Stands for the weight of a deletion.
pub(crate) const UNREAD_WEIGHT: f32 = 1.0;

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
    /// What else is there of updates, if the edges are.
    pub(crate) updates: Option<Updates>,
    /// Rows that were left out because they hold a null.
    pub(crate) skipped: u64,
}

impl<C: IdColumn> Edges<C> {
    pub(crate) fn new(weighted: bool) -> Self {
        let (src, dst) = (C::default(), C::default());
        Self { src, dst, weights: weighted.then(Vec::new), updates: None, skipped: 0 }
    }

    /// Returns a place for updates, if a record has what makes an edge one.
    pub(crate) fn with_updates(self, timed: Option<&Timed>) -> Self {
        Self { updates: timed.map(Updates::new), ..self }
    }

    /// Takes the weight of the last record, whose other values were taken: that of a deletion is not read.
    pub(crate) fn push_weight(
        &mut self,
        read: impl FnOnce() -> Result<f32, Fault>,
    ) -> Result<(), Fault> {
        let Some(weights) = &mut self.weights else { return Ok(()) };
        let deletes = self.updates.as_ref().is_some_and(Updates::deletes);
        weights.push(if deletes { UNREAD_WEIGHT } else { read()? });
        Ok(())
    }

    /// Takes back what a record has added since there were `before`, if it may be left out.
    #[cold]
    pub(crate) fn skip_null(
        &mut self,
        rules: Rules,
        before: usize,
        fault: Fault,
    ) -> Result<(), Fault> {
        if !fault.is_null || !rules.skip_nulls {
            return Err(fault);
        }
        self.src.truncate(before);
        self.dst.truncate(before);
        self.weights.iter_mut().for_each(|weights| weights.truncate(before));
        self.updates.iter_mut().for_each(|updates| updates.truncate(before));
        self.skipped += 1;
        Ok(())
    }

    pub(crate) fn into_chunk(self, place: Place, bytes_read: u64) -> Chunk {
        let Self { src, dst, weights, updates, skipped } = self;
        let (src, dst) = (src.into_ids(), dst.into_ids());
        Chunk { src, dst, weights, place, bytes_read, skipped, is_pause: false, updates }
    }
}

/// Runs the pipeline over all blocks.
fn read_blocks<C: IdColumn, G: Grammar, E: From<Error> + Send>(
    mut blocks: Blocks<impl Read + Send>,
    grammar: &G,
    sink: &mut Sink<'_, E>,
) -> Result<ReadSummary, E> {
    let batch_len = par::thread_count();
    let mut summary = ReadSummary { bytes: blocks.offset(), ..ReadSummary::default() };
    let mut raw = blocks.next_batch(batch_len, |bytes| grammar.cut(bytes));
    let mut parsed: Vec<Result<Chunk>> = Vec::new();
    while !(raw.is_empty() && parsed.is_empty() && blocks.is_done()) {
        let hand_on = || {
            parsed.into_iter().try_for_each(|chunk| {
                let chunk = chunk?;
                summary.take(&chunk);
                sink(chunk)
            })
        };
        let parse = || {
            par::map_chunks_mut(&mut raw, 1, |_, block| parse_block::<C, G>(grammar, &mut block[0]))
        };
        let read = || blocks.next_batch(batch_len, |bytes| grammar.cut(bytes));
        let (handed_on, (next_parsed, next_raw)) = par::beside(hand_on, || par::join(parse, read));
        handed_on?;
        (parsed, raw) = (next_parsed, next_raw);
    }
    blocks.finish()?;
    Ok(summary)
}

fn parse_block<C: IdColumn, G: Grammar>(grammar: &G, block: &mut Block) -> Result<Chunk> {
    let bytes_read = block.end_offset();
    let (place, edges) = if G::IS_TEXT {
        if !block.bytes.is_empty() && !block.bytes.ends_with(b"\n") {
            block.bytes.push(b'\n');
        }
        let edges = check_text(&block.bytes).and_then(|()| grammar.parse::<C>(&block.bytes));
        (Place::Line(block.line), edges.map_err(|fault| block.error(fault)))
    } else {
        let edges = grammar.parse::<C>(&block.bytes).map_err(|fault| {
            let place = Place::Offset(block.offset + fault.at as u64);
            fault.into_error(place)
        });
        (Place::Offset(block.offset), edges)
    };
    edges.map(|edges| Chunk { is_pause: block.is_pause, ..edges.into_chunk(place, bytes_read) })
}

/// Checks that there is no zero byte in a text.
pub(crate) fn check_text(bytes: &[u8]) -> Result<(), Fault> {
    memchr::memchr(0, bytes).map_or(Ok(()), |at| {
        Err(Fault::new(at, "there is a zero byte, so this is binary data and not of that format")
            .hint("UTF-16 text must be converted to UTF-8"))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Column, Columns};

    type Rows = Vec<(u32, u32, Option<f32>)>;

    /// Reads with small blocks; returns the edges, or the line of the error.
    fn read(text: &str, options: &ReadOptions, block_bytes: usize) -> Result<Rows, u64> {
        let mut rows = Vec::new();
        let result = read_in_blocks(text.as_bytes(), options, block_bytes, &mut |chunk: Chunk| {
            let (Ids::Dense(src), Ids::Dense(dst)) = (chunk.src, chunk.dst) else {
                panic!("the ids are not dense");
            };
            let weights = chunk.weights.unwrap_or_default();
            let weights = weights.into_iter().map(Some).chain(std::iter::repeat(None));
            rows.extend(src.into_iter().zip(dst).zip(weights).map(|((u, v), w)| (u, v, w)));
            Ok::<(), Error>(())
        });
        match result {
            Ok(_) | Err(Error::NoEdges) => Ok(rows),
            Err(Error::Syntax { place: Place::Line(line), .. }) => Err(line),
            Err(error) => panic!("{error}"),
        }
    }

    /// Reads an edge list line by line, with nothing but the standard library.
    fn read_naively(text: &str, weighted: bool) -> Result<Rows, u64> {
        let mut rows = Vec::new();
        for (idx, line) in text.lines().enumerate() {
            let fields: Vec<&str> = line.split_ascii_whitespace().collect();
            if fields.is_empty() || fields[0].starts_with(['#', '%']) {
                continue;
            }
            let row = || {
                let [src, dst, weight] = fields[..].try_into().ok()?;
                let (_, weight) = (weight.parse::<f64>().ok()?, weight.parse().ok());
                Some((src.parse().ok()?, dst.parse().ok()?, weight.filter(|_| weighted)))
            };
            rows.push(row().ok_or(1 + idx as u64)?);
        }
        Ok(rows)
    }

    /// Mostly edges, some comments and blank lines, rarely a line that is wrong.
    fn lines() -> impl Strategy<Value = String> {
        let line = prop_oneof![
            40 => "[ \t]?[0-9]{1,9}[ \t]{1,2}[0-9]{1,9} -?[0-9]{1,3}(\\.[0-9]{1,9})?[ ]?\r?\n",
            5 => "[#%][ -~]{0,20}\n",
            5 => "[ \t]{0,3}\n",
            1 => "[0-9]{1,2} [0-9]{1,2}\n",
            1 => "[0-9]{1,2} x[0-9]{1,2} 1\n",
        ];
        prop::collection::vec(line, 0..40).prop_map(|lines| lines.concat())
    }

    proptest! {
        #[test]
        fn any_cut_reads_as_line_by_line(body in lines(), block_bytes in 1..300_usize) {
            // The first record fixes the number of columns.
            let text = format!("7 7 7\n{body}");
            for weighted in [false, true] {
                let options = ReadOptions {
                    weighted,
                    literal_ids: true,
                    round_weights: true,
                    ..ReadOptions::new(Format::EdgeList)
                };
                let expected = read_naively(&text, weighted);
                prop_assert_eq!(read(&text, &options, block_bytes), expected);
            }
        }

        #[test]
        fn any_cut_of_quoted_records_reads_alike(
            rows in prop::collection::vec(("[a\",\n]{0,9}", 0..99_u32, 0..99_u32), 1..30),
            block_bytes in 1..300_usize,
        ) {
            let quoted = |text: &str| text.replace('"', "\"\"");
            let text: String = rows.iter()
                .map(|(text, src, dst)| format!("{src},\"{}\",\"{dst}\"\n", quoted(text)))
                .collect();
            let columns = Columns { dst: Column::Index(2), ..Columns::default() };
            let options = ReadOptions { columns, ..ReadOptions::new(Format::Csv) };
            let expected = rows.into_iter().map(|(_, src, dst)| (src, dst, None)).collect();
            prop_assert_eq!(read(&text, &options, block_bytes), Ok(expected));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>, block_bytes in 1..64_usize) {
            let formats = Format::ALL.into_iter().filter(|format| *format != Format::Parquet);
            for (format, ids) in formats.flat_map(|format| {
                [IdKind::Dense, IdKind::Sparse, IdKind::Text].map(|ids| (format, ids))
            }) {
                let options = ReadOptions { ids, ..ReadOptions::new(format) };
                let _ = read_in_blocks(&bytes[..], &options, block_bytes, &mut |_: Chunk| {
                    Ok::<(), Error>(())
                });
            }
        }
    }
}
