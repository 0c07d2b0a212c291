//! Input cut into blocks that can be parsed on their own, in bounded memory.
//!
//! A block is about [`BLOCK_BYTES`] long and ends where the format says that a record ends.
//! An input may pause, which [`io::ErrorKind::WouldBlock`] says: what is whole of the block is then
//! handed out at once, marked as the last before the pause.
//! A record that does not end within [`RECORD_BYTES_MAX`] is an error: nothing larger is held.

use std::io::{self, Read};

use crate::error::Fault;
use crate::{Error, Place, Result};

/// The size of a block: long enough that starting a parallel task costs nothing beside it, short
/// enough for the block and its edges to stay in a core's second-level cache or close to it.
pub(crate) const BLOCK_BYTES: usize = 1 << 20;

/// The length that no line, record or header may exceed.
pub(crate) const RECORD_BYTES_MAX: usize = 1 << 20;

/// A run of whole records.
#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) bytes: Vec<u8>,
    /// Where in the input the block starts.
    pub(crate) offset: u64,
    /// The number of its first line, counted from 1.
    pub(crate) line: u64,
    /// Whether the input paused after it. Such a block may be empty.
    pub(crate) is_pause: bool,
}

impl Block {
    /// Returns where in the input the block ends.
    pub(crate) fn end_offset(&self) -> u64 {
        self.offset + self.bytes.len() as u64
    }

    /// Turns a fault in this text into an error with its line.
    pub(crate) fn error(&self, fault: Fault) -> Error {
        let line = self.line + count_lines(&self.bytes[..fault.at]);
        fault.into_error(Place::Line(line))
    }
}

/// Cuts an input into blocks.
pub(crate) struct Blocks<R> {
    input: R,
    /// What was read and not yet handed out.
    held: Vec<u8>,
    /// Where `held` starts in the input.
    offset: u64,
    /// The number of the line that `held` starts with or in, counted from 1.
    line: u64,
    block_bytes: usize,
    at_end: bool,
    /// Whether the start was read, and whether a pause came after it.
    is_peeked: bool,
    pauses: bool,
    /// The error that ended the input, until [`finish`](Self::finish) reports it.
    error: Option<Error>,
}

impl<R: Read> Blocks<R> {
    pub(crate) fn new(input: R, block_bytes: usize) -> Self {
        Self {
            input,
            held: Vec::new(),
            offset: 0,
            line: 1,
            block_bytes,
            at_end: false,
            is_peeked: false,
            pauses: false,
            error: None,
        }
    }

    /// Returns the first bytes that were not yet handed out: a record's longest length of them,
    /// or all if there are fewer, or at least a line before a pause.
    pub(crate) fn peek(&mut self) -> Result<&[u8]> {
        while !self.is_peeked {
            self.pauses = self.fill(RECORD_BYTES_MAX)?;
            self.is_peeked = !self.pauses || memchr::memchr(b'\n', &self.held).is_some();
        }
        Ok(&self.held)
    }

    /// Takes a header of `bytes` bytes out of what [`peek`](Self::peek) showed.
    pub(crate) fn skip(&mut self, bytes: usize) {
        self.line += count_lines(&self.held[..bytes]);
        self.offset += bytes as u64;
        self.held.drain(..bytes);
    }

    /// Returns the input itself, if nothing was read of it.
    pub(crate) fn into_input(self) -> R {
        debug_assert!(self.held.is_empty() && self.offset == 0, "blocks were read already");
        self.input
    }

    /// Returns whether nothing will follow.
    pub(crate) fn is_done(&self) -> bool {
        self.error.is_some() || (self.at_end && self.held.is_empty())
    }

    /// Returns how many bytes were handed out or skipped.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Turns a fault in what [`peek`](Self::peek) showed into an error with its line.
    pub(crate) fn header_error(&self, fault: Fault) -> Error {
        let line = self.line + count_lines(&self.held[..fault.at.min(self.held.len())]);
        fault.into_error(Place::Line(line))
    }

    /// Returns the next blocks, at most `count`; none at the end or after an error.
    ///
    /// `cut` returns how long the whole records at the start of some bytes are, if there is one.
    pub(crate) fn next_batch(
        &mut self,
        count: usize,
        cut: impl Fn(&[u8]) -> Option<usize>,
    ) -> Vec<Block> {
        let mut batch = Vec::with_capacity(count);
        while batch.len() < count && self.error.is_none() {
            match self.next_block(&cut) {
                Ok(Some(block)) => {
                    let is_pause = block.is_pause;
                    batch.push(block);
                    if is_pause {
                        break;
                    }
                }
                Ok(None) => break,
                Err(error) => self.error = Some(error),
            }
        }
        batch
    }

    /// Reports the error that ended the input early, if there was one.
    pub(crate) fn finish(self) -> Result<()> {
        self.error.map_or(Ok(()), Err)
    }

    fn next_block(&mut self, cut: impl Fn(&[u8]) -> Option<usize>) -> Result<Option<Block>> {
        let mut window = self.block_bytes;
        loop {
            let pauses = std::mem::take(&mut self.pauses) || self.fill(window)?;
            if self.held.len() <= window && self.at_end {
                let rest = self.held.len();
                return Ok((rest > 0).then(|| self.hand_out(rest)));
            }
            if pauses && self.held.len() < window {
                let whole = cut(&self.held).unwrap_or(0);
                return Ok(Some(Block { is_pause: true, ..self.hand_out(whole) }));
            }
            if let Some(bytes) = cut(&self.held[..window]) {
                return Ok(Some(self.hand_out(bytes)));
            }
            if window >= RECORD_BYTES_MAX {
                return Err(self.too_long());
            }
            window = (window * 2).min(RECORD_BYTES_MAX);
        }
    }

    fn hand_out(&mut self, bytes: usize) -> Block {
        let rest = self.held.split_off(bytes);
        let bytes = std::mem::replace(&mut self.held, rest);
        let block = Block { bytes, offset: self.offset, line: self.line, is_pause: false };
        self.offset = block.end_offset();
        self.line += count_lines(&block.bytes);
        block
    }

    fn too_long(&self) -> Error {
        let what = format!("a line or quoted field is longer than {RECORD_BYTES_MAX} bytes");
        let hint = Some("is the file in the format that was given?");
        Error::Syntax { place: Place::Line(self.line), what, hint }
    }

    /// Reads until `bytes` bytes are held, the input ends, or it pauses; returns whether it does.
    fn fill(&mut self, bytes: usize) -> io::Result<bool> {
        let missing = bytes.saturating_sub(self.held.len());
        if missing == 0 || self.at_end {
            return Ok(false);
        }
        self.held.reserve_exact(missing);
        match self.input.by_ref().take(missing as u64).read_to_end(&mut self.held) {
            Ok(got) => self.at_end = got < missing,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
            Err(error) => return Err(error),
        }
        Ok(false)
    }
}

/// Counts the line ends in `bytes`.
pub(crate) fn count_lines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// Cuts after the last line end.
pub(crate) fn cut_at_line(bytes: &[u8]) -> Option<usize> {
    memchr::memrchr(b'\n', bytes).map(|at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(text: &[u8], block_bytes: usize) -> Vec<Vec<u8>> {
        let mut blocks = Blocks::new(text, block_bytes);
        let mut all = Vec::new();
        loop {
            let batch = blocks.next_batch(3, cut_at_line);
            if batch.is_empty() {
                blocks.finish().unwrap();
                return all;
            }
            all.extend(batch.into_iter().map(|block| block.bytes));
        }
    }

    #[test]
    fn blocks_end_at_line_ends_and_add_up() {
        let text = b"a\nbb\n\nccccccccccccccccc\nd";
        for block_bytes in 1..=text.len() + 1 {
            let blocks = lines_of(text, block_bytes);
            assert_eq!(blocks.concat(), text, "blocks of {block_bytes}");
            for block in &blocks[..blocks.len() - 1] {
                assert!(block.ends_with(b"\n"), "blocks of {block_bytes}");
            }
        }
    }

    #[test]
    fn an_endless_line_is_refused_in_bounded_memory() {
        let mut blocks = Blocks::new(io::repeat(b'7'), BLOCK_BYTES);
        assert!(blocks.next_batch(4, cut_at_line).is_empty());
        assert!(blocks.held.capacity() <= 2 * RECORD_BYTES_MAX);
        let error = blocks.finish().unwrap_err();
        assert!(matches!(error, Error::Syntax { place: Place::Line(1), .. }), "{error}");
    }
}
