//! Arrow IPC: record batches of edges, as a stream or as a file (Feather version 2).
//!
//! Source: the Apache Arrow columnar format, version 1.5, "Serialization and Interprocess
//! Communication". A file is a stream between a mark, with zeros after it, and a footer, and is read as the
//! stream that it holds, so that it may come through a pipe or compressed. Columns are read as
//! `columnar.rs` says.
//!
//! Memory is bounded by the batches, as their writer chose them; the bytes of a batch are held as
//! they come, whatever length it declares.
//!
//! # Example
//! ```text
//! "ARROW1\0\0"  schema {src: Int64, dst: Int64}  batch of 2 rows  end  footer  "ARROW1"
//! ```

use std::collections::VecDeque;
use std::io::Read;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_schema::{ArrowError, Schema, SchemaRef};

use everedge_core::par;

use crate::arrow_lengths::Lengths;
use crate::columnar::{self, Wanted, catch};
use crate::ids::IdColumn;
use crate::read::{Declared, Sink, check_counts};
use crate::{
    Chunk, Error, Format, Guess, InputChoices, Place, ReadSummary, Result, UpdateChoices,
    UpdateGuess,
};

/// How a file starts.
pub(crate) const FILE_MAGIC: &[u8] = b"ARROW1\0\0";
/// How a message of a stream starts.
pub(crate) const CONTINUATION: [u8; 4] = [0xff; 4];
/// No message of a schema with two columns is shorter.
const SCHEMA_BYTES_MIN: u32 = 64;
/// Bytes that are read at once.
const PIECE_BYTES: usize = 1 << 18;
/// Bytes that are read before a pause counts: a file's mark and the zeros after it.
const START_BYTES: usize = 64;
/// What the decoder says of bytes that follow the end mark: in a file they are its footer.
const PAST_THE_END: &str = "Unexpected EOS";

/// Guesses how to read Arrow data, from its schema and first rows.
///
/// `input` may end early: the schema must be there, rows help to tell dense from sparse integers.
///
/// # Errors
/// [`Error::Syntax`] if it is no Arrow data, or has not the columns that were chosen.
pub fn probe_arrow(input: impl Read, choices: &InputChoices) -> Result<Guess> {
    let mut batches = Batches::new(input);
    let schema = batches.schema()?;
    columnar::guess(Format::Arrow, &schema, |columns| batches.first(columns), choices)
}

/// Guesses how to read updates from Arrow data, from its schema and first rows.
///
/// `input` may end early: the schema must be there, rows help to tell dense from sparse integers and
/// seconds from shorter units.
///
/// # Errors
/// [`Error::Syntax`] if it is no Arrow data, has not the columns that were chosen, or no column that
/// holds times.
pub fn probe_arrow_updates(input: impl Read, choices: &UpdateChoices) -> Result<UpdateGuess> {
    let mut batches = Batches::new(input);
    let schema = batches.schema()?;
    columnar::guess_updates(Format::Arrow, &schema, |columns| batches.first(columns), choices)
}

/// Reads the edges of an Arrow stream or file from the columns that `find` returns.
pub(crate) fn read<C: IdColumn, E: From<Error> + Send>(
    input: impl Read + Send,
    find: impl FnOnce(&Schema) -> Result<Wanted>,
    sink: &mut Sink<'_, E>,
) -> Result<ReadSummary, E> {
    let mut batches = Batches::new(input);
    let wanted = find(&*batches.schema()?)?;
    let (mut rows, mut summary) = (0, ReadSummary::default());
    let mut chunk: Option<Chunk> = None;
    loop {
        let hand_on = || {
            chunk.take().map_or(Ok(()), |chunk| {
                summary.take(&chunk);
                sink(chunk)
            })
        };
        let (handed_on, next) = par::beside(hand_on, || batches.next());
        handed_on?;
        let place = Place::Row(1 + rows);
        chunk = Some(match next? {
            Step::End => break,
            Step::Pause => {
                let nothing = wanted.edges::<C>();
                Chunk { is_pause: true, ..nothing.into_chunk(place, batches.bytes) }
            }
            Step::Batch(batch) => {
                let edges = columnar::take_edges::<C>(&batch, &wanted, rows)?;
                rows += batch.num_rows() as u64;
                edges.into_chunk(place, batches.bytes)
            }
        });
    }
    let summary = ReadSummary { bytes: batches.bytes, ..summary };
    Ok(check_counts(summary, Declared::default())?)
}

/// Returns whether Arrow data start with a whole batch, which says how to read the rest.
pub(crate) fn has_batch(head: &[u8]) -> bool {
    let mut batches = Batches::new(head);
    batches.schema().is_ok() && matches!(batches.next(), Ok(Step::Batch(_)))
}

/// What comes next.
enum Step {
    Batch(RecordBatch),
    /// Nothing for now.
    Pause,
    End,
}

impl Step {
    fn batch(self) -> Option<RecordBatch> {
        match self {
            Step::Batch(batch) => Some(batch),
            Step::Pause | Step::End => None,
        }
    }
}

/// Reads batches one by one.
struct Batches<R> {
    input: R,
    decoder: StreamDecoder,
    /// What checks the lengths that compressed buffers declare before they are decoded.
    lengths: Lengths,
    /// Bytes read.
    bytes: u64,
    /// What was read and not yet decoded.
    piece: Buffer,
    decoded: VecDeque<RecordBatch>,
    is_file: bool,
    /// Whether the input paused after what was read.
    pauses: bool,
    at_end: bool,
}

impl<R: Read> Batches<R> {
    fn new(input: R) -> Self {
        Self {
            input,
            decoder: StreamDecoder::new(),
            lengths: Lengths::new(),
            bytes: 0,
            piece: Buffer::from(&[0_u8; 0]),
            decoded: VecDeque::new(),
            is_file: false,
            pauses: false,
            at_end: false,
        }
    }

    fn schema(&mut self) -> Result<SchemaRef> {
        while self.decoder.schema().is_none() && self.decoded.is_empty() {
            if !self.advance()? {
                return Err(damaged("it ends before its schema".to_owned()));
            }
        }
        let schema = self.decoder.schema();
        schema.ok_or_else(|| damaged("it has no schema".to_owned()))
    }

    /// Returns some columns of the first rows, if these are there.
    fn first(&mut self, columns: &[usize]) -> Result<Option<RecordBatch>> {
        let batch = self.next().ok().and_then(Step::batch);
        let batch = batch.map(|batch| batch.project(columns)).transpose();
        batch.map_err(|error| damaged(error.to_string()))
    }

    /// Returns the next batch, or that there is none for now or at all.
    fn next(&mut self) -> Result<Step> {
        loop {
            if let Some(batch) = self.decoded.pop_front() {
                return Ok(Step::Batch(batch));
            }
            if self.piece.is_empty() && std::mem::take(&mut self.pauses) {
                return Ok(Step::Pause);
            }
            if !self.advance()? {
                // What was decoded last is still to be handed out.
                return Ok(self.decoded.pop_front().map_or(Step::End, Step::Batch));
            }
        }
    }

    /// Decodes a piece; returns whether there may be more.
    fn advance(&mut self) -> Result<bool> {
        if self.at_end {
            return Ok(false);
        }
        if self.piece.is_empty() && !self.read_piece()? {
            self.at_end = true;
            catch(|| self.decoder.finish(), damaged)?;
            return if self.is_file {
                Err(damaged("its footer is missing".to_owned()))
            } else {
                Ok(false)
            };
        }
        let (decoder, piece) = (&mut self.decoder, &mut self.piece);
        let decoded = catch(
            || match decoder.decode(piece) {
                Err(ArrowError::IpcError(what)) if what == PAST_THE_END => Ok(None),
                other => other.map(Some),
            },
            damaged,
        );
        let Some(decoded) = decoded? else {
            self.at_end = true;
            return self.check_footer().map(|()| false);
        };
        self.decoded.extend(decoded);
        Ok(true)
    }

    fn read_piece(&mut self) -> Result<bool> {
        let mut bytes = Vec::with_capacity(PIECE_BYTES);
        let is_first = self.bytes == 0;
        self.pauses = false;
        loop {
            let missing = (PIECE_BYTES - bytes.len()) as u64;
            match self.input.by_ref().take(missing).read_to_end(&mut bytes) {
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                    self.pauses = true;
                    if !is_first || bytes.len() > START_BYTES {
                        break;
                    }
                }
                Err(error) => return Err(error.into()),
                Ok(_) => break,
            }
        }
        self.bytes += bytes.len() as u64;
        let is_there = !bytes.is_empty() || self.pauses;
        self.is_file |= is_first && bytes.starts_with(FILE_MAGIC);
        self.piece = Buffer::from_vec(bytes);
        if is_first && self.is_file {
            // Zeros fill up the mark to the alignment that its writer chose.
            let words = self.piece[FILE_MAGIC.len()..].chunks_exact(FILE_MAGIC.len());
            let padding = words.take_while(|word| word.iter().all(|byte| *byte == 0)).count();
            self.piece.advance((1 + padding) * FILE_MAGIC.len());
            // Where a message's length should be, there is then where its first table lies.
            let word = self.piece.first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
            if word.is_some_and(|word| word < SCHEMA_BYTES_MIN) {
                return Err(Error::Syntax {
                    place: Place::Whole,
                    what: "the schema of this Arrow file stands at its end only".to_owned(),
                    hint: Some("write it as a stream, in Polars with `write_ipc_stream`"),
                });
            }
        }
        if !self.lengths.look(&self.piece) {
            let what = "a compressed buffer says that it is longer than it can be";
            return Err(damaged(what.to_owned()));
        }
        Ok(is_there)
    }

    /// Reads on to the end of a file, which must be the mark that it starts with.
    fn check_footer(&mut self) -> Result<()> {
        let mark = &FILE_MAGIC[..6];
        if !self.is_file {
            return Err(damaged("it goes on after its end".to_owned()));
        }
        let mut tail = self.piece.to_vec();
        while self.read_piece()? {
            let kept = tail.len().saturating_sub(mark.len());
            tail.drain(..kept);
            tail.extend_from_slice(&self.piece);
        }
        if tail.ends_with(mark) {
            return Ok(());
        }
        Err(damaged("its footer is missing".to_owned()))
    }
}

fn damaged(reason: String) -> Error {
    let what = format!("this is no whole Arrow data: {reason}");
    Error::Syntax { place: Place::Whole, what, hint: Some("is the file complete?") }
}
