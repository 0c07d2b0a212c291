//! The lengths that compressed buffers of Arrow declare, checked before its decoder takes their memory.
//!
//! Source: the Apache Arrow columnar format, version 1.5, "Encapsulated message format" and
//! "Compression". Before a compressed buffer stands how long it is when decompressed, and the decoder
//! allocates that much: a few bytes could ask for 2^60.
//!
//! # Layout
//! ```text
//! message = FF FF FF FF | size 4 | metadata | body             size 0 ends the stream
//! body    = buffer ...   at the offsets that the metadata says
//! buffer  = length 8, -1 for what is not compressed | compressed bytes
//! ```
//! What does not fit this picture is left to the decoder, which says what is wrong.

use std::collections::VecDeque;

use arrow_ipc::{CompressionType, MessageHeader, root_as_message};

use crate::arrow::CONTINUATION;
use crate::parts::Parts;

/// Bytes of a length.
const LENGTH_BYTES: usize = 8;
/// How many bytes a byte of LZ4 becomes at most.
const LZ4_RATIO_MAX: u64 = 255;
/// The same of Zstandard: four bytes may stand for a block of 128 KiB.
const ZSTD_RATIO_MAX: u64 = 1 << 15;

/// Follows the messages of a stream.
#[derive(Debug)]
pub(crate) struct Lengths {
    part: Part,
    parts: Parts,
    body: Body,
}

/// What comes next.
#[derive(Clone, Copy, Debug)]
enum Part {
    /// The mark of a message, or, in older streams, how long its metadata are.
    Mark,
    /// How long the metadata are.
    Size,
    Metadata,
    /// The length of a buffer, which can become so many bytes.
    Length {
        bytes_max: u64,
    },
    /// The end, or what the decoder will refuse.
    Lost,
}

/// What of a body is still to come.
#[derive(Debug, Default)]
struct Body {
    /// Where in it the next buffer is looked for.
    at: u64,
    len: u64,
    /// Where compressed buffers start, and how many bytes each can become.
    buffers: VecDeque<(u64, u64)>,
}

impl Lengths {
    /// Starts before the first message.
    pub(crate) fn new() -> Self {
        let parts = Parts::new(CONTINUATION.len());
        Self { part: Part::Mark, parts, body: Body::default() }
    }

    /// Looks at the next bytes of the stream; returns whether the buffers in them can become as long
    /// as they say.
    pub(crate) fn look(&mut self, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() && !matches!(self.part, Part::Lost) {
            if let (_, Some(part)) = self.parts.take(&mut bytes)
                && !self.take(&part)
            {
                return false;
            }
        }
        true
    }

    /// Takes a part; returns whether it can be.
    fn take(&mut self, part: &[u8]) -> bool {
        match self.part {
            Part::Mark if part == CONTINUATION => self.expect(Part::Size, 4, 0),
            Part::Mark | Part::Size => {
                match u32::from_le_bytes([part[0], part[1], part[2], part[3]]) {
                    0 => self.part = Part::Lost,
                    size => self.expect(Part::Metadata, size as usize, 0),
                }
            }
            Part::Metadata => match body_of(part) {
                Some(body) => {
                    self.body = body;
                    return self.go_to_buffer();
                }
                None => self.part = Part::Lost,
            },
            Part::Length { bytes_max } => {
                let length = part.try_into().map_or(0, i64::from_le_bytes);
                // One below 0 stands for none, or is refused.
                let is_too_long = u64::try_from(length).is_ok_and(|length| length > bytes_max);
                return !is_too_long && self.go_to_buffer();
            }
            Part::Lost => {}
        }
        true
    }

    /// Goes to the next buffer of the body, or past it; returns whether the buffers are apart.
    fn go_to_buffer(&mut self) -> bool {
        let Some((start, bytes_max)) = self.body.buffers.pop_front() else {
            self.expect(Part::Mark, CONTINUATION.len(), self.body.len - self.body.at);
            return true;
        };
        let Some(skip) = start.checked_sub(self.body.at) else { return false };
        self.body.at = start + LENGTH_BYTES as u64;
        self.expect(Part::Length { bytes_max }, LENGTH_BYTES, skip);
        true
    }

    fn expect(&mut self, part: Part, wanted: usize, skip: u64) {
        self.part = part;
        self.parts.expect(wanted, skip);
    }
}

/// Returns what metadata say of the body after them; none if the decoder will refuse them.
fn body_of(metadata: &[u8]) -> Option<Body> {
    let message = root_as_message(metadata).ok()?;
    let len = u64::try_from(message.bodyLength()).ok()?;
    let batch = match message.header_type() {
        MessageHeader::RecordBatch => message.header_as_record_batch(),
        MessageHeader::DictionaryBatch => {
            message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data())
        }
        _ => None,
    };
    let compression = batch.and_then(|batch| batch.compression());
    let ratio = match compression.map(|compression| compression.codec()) {
        None => return Some(Body { len, ..Body::default() }),
        Some(CompressionType::LZ4_FRAME) => LZ4_RATIO_MAX,
        Some(_) => ZSTD_RATIO_MAX,
    };
    let mut buffers = Vec::new();
    for buffer in batch.and_then(|batch| batch.buffers()).into_iter().flatten() {
        let start = u64::try_from(buffer.offset()).ok()?;
        let bytes = u64::try_from(buffer.length()).ok()?;
        if start.checked_add(bytes)? > len {
            return None;
        }
        if let Some(compressed) = bytes.checked_sub(LENGTH_BYTES as u64) {
            buffers.push((start, compressed.saturating_mul(ratio)));
        }
    }
    buffers.sort_unstable();
    buffers.dedup();
    Some(Body { at: 0, len, buffers: buffers.into() })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, RecordBatch};
    use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};

    use super::*;

    #[test]
    fn lengths_are_checked_however_the_stream_is_cut() {
        let numbers = |range| -> ArrayRef { Arc::new(Int64Array::from_iter_values(range)) };
        let constant: ArrayRef = Arc::new(Int64Array::from(vec![7; 1000]));
        let columns = [("a", constant.clone()), ("b", numbers(0..1000)), ("c", constant)];
        let batch = RecordBatch::try_from_iter(columns).unwrap();
        for (compression, mark) in [
            (CompressionType::LZ4_FRAME, [0x04, 0x22, 0x4d, 0x18]),
            (CompressionType::ZSTD, [0x28, 0xb5, 0x2f, 0xfd]),
        ] {
            let options = IpcWriteOptions::default().try_with_compression(Some(compression));
            let schema = batch.schema();
            let writer = StreamWriter::try_new_with_options(Vec::new(), &schema, options.unwrap());
            let mut writer = writer.unwrap();
            (0..3).for_each(|_| writer.write(&batch).unwrap());
            writer.finish().unwrap();
            let bytes = writer.into_inner().unwrap();
            let can_be = |bytes: &[u8], piece: usize| {
                let mut lengths = Lengths::new();
                bytes.chunks(piece).all(|piece| lengths.look(piece))
            };
            let found = bytes.windows(4).enumerate().filter(|(_, bytes)| *bytes == mark);
            let starts: Vec<usize> = found.map(|(at, _)| at - LENGTH_BYTES).collect();
            assert_eq!(starts.len(), 9, "{compression:?}");
            for piece in [1, 5, 64, bytes.len()] {
                assert!(can_be(&bytes, piece), "{compression:?} in pieces of {piece}");
                for &start in &starts {
                    let mut large = bytes.clone();
                    large[start..start + LENGTH_BYTES]
                        .copy_from_slice(&(1_i64 << 60).to_le_bytes());
                    assert!(!can_be(&large, piece), "{compression:?} in pieces of {piece}");
                }
            }
        }
    }

    #[test]
    fn any_bytes_are_looked_at() {
        proptest::proptest!(|(bytes: Vec<u8>, piece in 1..20_usize)| {
            let mut lengths = Lengths::new();
            bytes.chunks(piece).for_each(|piece| {
                lengths.look(piece);
            });
        });
    }
}
