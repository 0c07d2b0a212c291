//! Timed updates: insertions and deletions of edges in file order, each with its time.
//!
//! A record of updates is one of edges with a column of times, and perhaps one of operations and one
//! of steps. They are read as edges are (`read.rs`), in every format whose columns can be chosen.
//! Times need not ascend: the caller decides what an earlier time after a later one means.
//!
//! # Example
//! ```text
//! 0 1112911993 + 0 1
//! 0 1112911993 + 0 2
//! 1 1112912100 - 0 1
//! ```
//! inserts two edges in step 0 and deletes one of them in step 1, 107 seconds later.

use std::fs::File;
use std::io::Read;

use everedge_core::VertexId;

use crate::blocks::{BLOCK_BYTES, Blocks};
use crate::columnar::Wanted;
use crate::error::Fault;
use crate::ids::{IdColumn, TextIds};
use crate::operations::{Timed, Updates};
use crate::read::{Sink, read_opened};
use crate::{
    Chunk, Column, Error, Format, IdKind, Ids, Place, ReadOptions, ReadSummary, Result, TimeUnit,
    arrow, csv, edge_list, json_lines, parquet,
};

/// What a format is refused with that has no column for times.
const NO_TIMES: &str =
    "it has no times: write updates as an edge list, CSV, TSV, JSON Lines, Parquet or Arrow";

/// What to read of updates, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateOptions {
    /// How the edges are to be read.
    pub edges: ReadOptions,
    /// The column of times.
    pub time: Column,
    /// The column of operations; without one, every update is an insertion.
    pub operation: Option<Column>,
    /// The column of steps, if they are asked for.
    pub step: Option<Column>,
    /// What times count that are numbers; dates do not depend on it.
    pub unit: TimeUnit,
}

impl UpdateOptions {
    /// Returns options for unweighted insertions between dense ids: a source, a destination and a time
    /// in seconds in the first three columns.
    pub fn new(format: Format) -> Self {
        Self {
            edges: ReadOptions::new(format),
            time: Column::Index(2),
            operation: None,
            step: None,
            unit: TimeUnit::Seconds,
        }
    }

    /// Returns where the columns stand; `place` returns that for each.
    pub(crate) fn timed(
        &self,
        mut place: impl FnMut(&Column) -> Result<usize, Fault>,
    ) -> Result<Timed, Fault> {
        Ok(Timed {
            time: place(&self.time)?,
            operation: self.operation.as_ref().map(&mut place).transpose()?,
            step: self.step.as_ref().map(&mut place).transpose()?,
            unit: self.unit,
        })
    }
}

/// Some of a file's updates, in file order.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateChunk {
    /// The sources.
    pub src: Ids,
    /// The destinations, as many as there are sources.
    pub dst: Ids,
    /// The times in microseconds since 1970-01-01 00:00 UTC, as many as there are sources.
    pub times: Vec<i64>,
    /// Whether each update is a deletion, as many as there are sources.
    pub is_deletion: Vec<bool>,
    /// The weights, as many as there are sources, if they were asked for.
    pub weights: Option<Vec<f32>>,
    /// The steps, as many as there are sources, if they were asked for.
    pub steps: Option<Vec<u64>>,
    /// Where in the input the chunk starts, for messages about its updates.
    pub place: Place,
    /// How many bytes of the decompressed input end with this chunk.
    pub bytes_read: u64,
    /// Rows that were left out because they hold a null.
    pub skipped: u64,
    /// Whether the input has nothing more for now: what came should be dealt with.
    pub is_pause: bool,
}

impl From<Chunk> for UpdateChunk {
    fn from(chunk: Chunk) -> Self {
        let Chunk { src, dst, weights, place, bytes_read, skipped, is_pause, updates } = chunk;
        let Updates { times, deletions: mut is_deletion, steps } = updates.unwrap_or_default();
        is_deletion.resize(times.len(), false);
        Self { src, dst, times, is_deletion, weights, steps, place, bytes_read, skipped, is_pause }
    }
}

/// What a file of updates held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UpdateSummary {
    /// How many insertions were handed to the sink.
    pub insertions: u64,
    /// How many deletions were handed to the sink.
    pub deletions: u64,
    /// The length of the decompressed input in bytes.
    pub bytes: u64,
    /// How many rows were left out because they hold a null.
    pub skipped: u64,
}

/// Reads the updates of `input` and calls `sink` with them, chunk by chunk in file order.
///
/// Pauses, threads and ids are as for [`read_edges`](crate::read_edges).
///
/// Returns how much was read.
///
/// # Cost
/// Linear in the input. Holds three blocks of 1 MiB and their updates for each thread.
///
/// # Errors
/// - [`Error::Syntax`] with the exact line or row; the sink has then seen all chunks before the one
///   that is wrong.
/// - [`Error::Unsupported`] for a format without columns to choose, and for Parquet, which
///   [`read_parquet_updates`] reads.
/// - [`Error::NoEdges`], [`Error::Truncated`], [`Error::Damaged`], [`Error::Io`].
/// - Whatever `sink` returns; it is not called again.
///
/// # Example
/// ```
/// use everedge_io::{Column, Error, Format, UpdateOptions, read_updates};
/// let options = UpdateOptions {
///     operation: Some(Column::Index(3)),
///     ..UpdateOptions::new(Format::Csv)
/// };
/// let mut updates = Vec::new();
/// let summary = read_updates(&b"1,2,2024-05-31,+\n1,2,1717156800.5,-\n"[..], &options, |chunk| {
///     updates.extend(chunk.times.into_iter().zip(chunk.is_deletion));
///     Ok::<(), Error>(())
/// })?;
/// assert_eq!((summary.insertions, summary.deletions), (1, 1));
/// assert_eq!(updates, [(1_717_113_600_000_000, false), (1_717_156_800_500_000, true)]);
/// # Ok::<(), Error>(())
/// ```
pub fn read_updates<E: From<Error> + Send>(
    input: impl Read + Send,
    options: &UpdateOptions,
    mut sink: impl FnMut(UpdateChunk) -> Result<(), E> + Send,
) -> Result<UpdateSummary, E> {
    read_in_blocks(input, options, BLOCK_BYTES, &mut sink)
}

/// Reads the updates of a Parquet file, as [`read_updates`] does for other formats.
///
/// Positions are rows; a chunk's `bytes_read` is its share of the rows times the file's length.
///
/// # Errors
/// As for `read_updates`.
pub fn read_parquet_updates<E: From<Error> + Send>(
    file: File,
    options: &UpdateOptions,
    mut sink: impl FnMut(UpdateChunk) -> Result<(), E> + Send,
) -> Result<UpdateSummary, E> {
    counted(&mut sink, |sink| {
        let ids = options.edges.ids;
        parquet::read(file, ids, |schema| Wanted::find_updates(schema, options), sink)
    })
}

/// Like [`read_updates`], with blocks of a given size.
fn read_in_blocks<E: From<Error> + Send>(
    input: impl Read + Send,
    options: &UpdateOptions,
    block_bytes: usize,
    sink: &mut UpdateSink<'_, E>,
) -> Result<UpdateSummary, E> {
    let blocks = Blocks::new(input, block_bytes);
    counted(sink, |sink| match options.edges.ids {
        IdKind::Dense => read_as::<Vec<VertexId>, E>(blocks, options, sink),
        IdKind::Sparse => read_as::<Vec<u64>, E>(blocks, options, sink),
        IdKind::Text => read_as::<TextIds, E>(blocks, options, sink),
    })
}

/// What takes the updates.
pub(crate) type UpdateSink<'a, E> = dyn FnMut(UpdateChunk) -> Result<(), E> + Send + 'a;

/// Runs a reader whose chunks become updates, and counts these.
pub(crate) fn counted<E: Send>(
    sink: &mut UpdateSink<'_, E>,
    read: impl FnOnce(&mut Sink<'_, E>) -> Result<ReadSummary, E>,
) -> Result<UpdateSummary, E> {
    let mut deletions = 0;
    let summary = read(&mut |chunk: Chunk| {
        let chunk = UpdateChunk::from(chunk);
        deletions += chunk.is_deletion.iter().filter(|is_deletion| **is_deletion).count() as u64;
        sink(chunk)
    })?;
    let ReadSummary { edges, bytes, skipped, .. } = summary;
    Ok(UpdateSummary { insertions: edges - deletions, deletions, bytes, skipped })
}

fn read_as<C: IdColumn, E: From<Error> + Send>(
    blocks: Blocks<impl Read + Send>,
    options: &UpdateOptions,
    sink: &mut Sink<'_, E>,
) -> Result<ReadSummary, E> {
    let edges = &options.edges;
    match edges.format {
        Format::EdgeList => {
            let open = |head: &[u8], _: &ReadOptions| edge_list::open_updates(head, options);
            read_opened::<C, _, E>(blocks, edges, open, sink)
        }
        Format::Csv | Format::Tsv => {
            let open = |head: &[u8], _: &ReadOptions| csv::open_updates(head, options);
            read_opened::<C, _, E>(blocks, edges, open, sink)
        }
        Format::JsonLines => {
            let open = |head: &[u8], _: &ReadOptions| json_lines::open_updates(head, options);
            read_opened::<C, _, E>(blocks, edges, open, sink)
        }
        Format::Arrow => {
            let find = |schema: &_| Wanted::find_updates(schema, options);
            arrow::read::<C, E>(blocks.into_input(), find, sink)
        }
        format => Err(refuse(format))?,
    }
}

/// Refuses a format that this reader does not take.
pub(crate) fn refuse(format: Format) -> Error {
    let what = match format {
        Format::Parquet => "read_parquet_updates reads it, as it needs to seek",
        _ => NO_TIMES,
    };
    Error::Unsupported { format, what }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Row = (u32, u32, i64, bool, u64);

    fn evolution() -> UpdateOptions {
        let mut options = UpdateOptions {
            time: Column::Index(1),
            operation: Some(Column::Index(2)),
            step: Some(Column::Index(0)),
            ..UpdateOptions::new(Format::EdgeList)
        };
        (options.edges.columns.src, options.edges.columns.dst) =
            (Column::Index(3), Column::Index(4));
        options
    }

    /// Reads with small blocks; returns the updates, or the line of the error.
    fn read(text: &str, options: &UpdateOptions, block_bytes: usize) -> Result<Vec<Row>, u64> {
        let mut rows = Vec::new();
        let mut sink = |chunk: UpdateChunk| {
            let (Ids::Dense(src), Ids::Dense(dst)) = (chunk.src, chunk.dst) else {
                panic!("the ids are not dense");
            };
            let steps = chunk.steps.expect("steps were asked for");
            let updates = chunk.times.into_iter().zip(chunk.is_deletion).zip(steps);
            let ends = src.into_iter().zip(dst);
            rows.extend(ends.zip(updates).map(|((u, v), ((t, is), step))| (u, v, t, is, step)));
            Ok::<(), Error>(())
        };
        match read_in_blocks(text.as_bytes(), options, block_bytes, &mut sink) {
            Ok(_) | Err(Error::NoEdges) => Ok(rows),
            Err(Error::Syntax { place: Place::Line(line), .. }) => Err(line),
            Err(error) => panic!("{error}"),
        }
    }

    /// Reads updates line by line, with nothing but the standard library.
    fn read_naively(text: &str) -> Result<Vec<Row>, u64> {
        let mut rows = Vec::new();
        for (idx, line) in text.lines().enumerate() {
            let fields: Vec<&str> = line.split_ascii_whitespace().collect();
            if fields.is_empty() || fields[0].starts_with('#') {
                continue;
            }
            let row = || {
                let [step, time, operation, src, dst] = fields[..].try_into().ok()?;
                let time = time.parse::<i64>().ok()?.checked_mul(1_000_000)?;
                let is_deletion = match operation {
                    "+" => false,
                    "-" => true,
                    _ => return None,
                };
                let step = step.parse().ok()?;
                Some((src.parse().ok()?, dst.parse().ok()?, time, is_deletion, step))
            };
            rows.push(row().ok_or(1 + idx as u64)?);
        }
        Ok(rows)
    }

    /// Mostly updates, some comments and blank lines, rarely a line that is wrong.
    fn lines() -> impl Strategy<Value = String> {
        let line = prop_oneof![
            40 => "[ \t]?[0-9]{1,9}[ \t]{1,2}-?[0-9]{1,10} [+-] [0-9]{1,9} [0-9]{1,9}[ ]?\r?\n",
            5 => "#[ -~]{0,20}\n",
            5 => "[ \t]{0,3}\n",
            1 => "[0-9]{1,2} [0-9]{1,2} [+-] [0-9]\n",
            1 => "[0-9]{1,2} [0-9]{1,2} [x+-] [0-9] x?[0-9]\n",
        ];
        prop::collection::vec(line, 0..40).prop_map(|lines| lines.concat())
    }

    proptest! {
        #[test]
        fn any_cut_reads_as_line_by_line(body in lines(), block_bytes in 1..300_usize) {
            // The first record fixes the number of columns.
            let text = format!("7 7 + 7 7\n{body}");
            let mut options = evolution();
            options.edges.literal_ids = true;
            prop_assert_eq!(read(&text, &options, block_bytes), read_naively(&text));
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes: Vec<u8>, block_bytes in 1..64_usize) {
            for format in Format::ALL {
                for ids in [IdKind::Dense, IdKind::Sparse, IdKind::Text] {
                    let mut options = UpdateOptions::new(format);
                    options.edges.ids = ids;
                    let mut sink = |_: UpdateChunk| Ok::<(), Error>(());
                    let _ = read_in_blocks(&bytes[..], &options, block_bytes, &mut sink);
                }
            }
        }
    }
}
