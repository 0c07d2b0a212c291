//! The dictionaries that an xz file asks for, found before its decoder takes their memory.
//!
//! Source: "The .xz File Format", version 1.2.1, §2 to §4, and the chunks of LZMA2. The header of each
//! block says how large its dictionary is, up to 4 GiB; the decoder allocates it and has no limit.
//!
//! # Layout
//! ```text
//! stream = header 12 | block ... | index | footer 12          streams follow, zeros between them
//! block  = size 1, header | chunk ... 0 | zeros to 4 | check
//! index  = 0, number of records, 2 numbers a record | zeros to 4 | CRC 4
//! ```
//! What does not fit this picture is left to the decoder, which says what is wrong.

use crate::parts::Parts;

/// The number of the filter LZMA2.
const LZMA2: u64 = 0x21;
const STREAM_HEADER_BYTES: usize = 12;
const STREAM_FOOTER_BYTES: u64 = 12;
const INDEX_CHECK_BYTES: u64 = 4;

/// Follows the structure of an xz file.
#[derive(Debug)]
pub(crate) struct Dictionaries {
    part: Part,
    parts: Parts,
    /// Bytes since the chunks of the block, or the index, started.
    at: u64,
    /// Bytes of the check after each block.
    check_bytes: u64,
}

/// What comes next.
#[derive(Clone, Copy, Debug)]
enum Part {
    StreamHeader,
    /// The size of a block's header; 0 starts the index.
    BlockSize,
    BlockHeader,
    /// The first byte of a chunk.
    Chunk,
    /// The length of a chunk that is stored.
    StoredLength,
    /// The lengths of a chunk that is compressed.
    Lengths,
    /// A byte of a number of the index.
    Index {
        /// The number so far, and its bits; none once the number of records is known.
        count: Option<(u64, u32)>,
        /// Numbers that follow.
        left: u64,
    },
    /// Between two streams.
    Padding,
    /// What the decoder will refuse.
    Lost,
}

impl Dictionaries {
    /// Starts before the first stream.
    pub(crate) fn new() -> Self {
        let parts = Parts::new(STREAM_HEADER_BYTES);
        Self { part: Part::StreamHeader, parts, at: 0, check_bytes: 0 }
    }

    /// Looks at the next bytes of the file; returns the largest dictionary that a block which starts in
    /// them asks for, 0 if none starts.
    pub(crate) fn look(&mut self, mut bytes: &[u8]) -> u64 {
        let mut largest = 0;
        while !bytes.is_empty() && !matches!(self.part, Part::Lost) {
            let (count, part) = self.parts.take(&mut bytes);
            self.at += count;
            if let Some(part) = part {
                largest = largest.max(self.take(&part));
            }
        }
        largest
    }

    /// Takes a part; returns the dictionary that it asks for.
    fn take(&mut self, part: &[u8]) -> u64 {
        let length = |at: usize| 1 + u64::from(u16::from_be_bytes([part[at], part[at + 1]]));
        match (self.part, part[0]) {
            (Part::StreamHeader, _) => {
                self.check_bytes = match part[7] {
                    0 => 0,
                    1..4 => 4,
                    4..7 => 8,
                    7..10 => 16,
                    _ => 32,
                };
                self.expect(Part::BlockSize, 1, 0);
            }
            (Part::BlockSize, 0) => {
                self.at = 1;
                self.expect(Part::Index { count: Some((0, 0)), left: 0 }, 1, 0);
            }
            (Part::BlockSize, size) => self.expect(Part::BlockHeader, 4 * usize::from(size) + 3, 0),
            (Part::BlockHeader, _) => {
                self.at = 0;
                self.expect(Part::Chunk, 1, 0);
                return dictionary_bytes(part).unwrap_or(0);
            }
            (Part::Chunk, 0) => {
                self.expect(Part::BlockSize, 1, self.zeros() + self.check_bytes);
            }
            (Part::Chunk, 1 | 2) => self.expect(Part::StoredLength, 2, 0),
            (Part::Chunk, 0x80..0xc0) => self.expect(Part::Lengths, 4, 0),
            // It has a byte of properties.
            (Part::Chunk, 0xc0..) => self.expect(Part::Lengths, 5, 0),
            (Part::StoredLength, _) => self.expect(Part::Chunk, 1, length(0)),
            (Part::Lengths, _) => self.expect(Part::Chunk, 1, length(2)),
            (Part::Index { count, left }, byte) => self.take_index(count, left, byte),
            (Part::Padding, 0) => self.expect(Part::Padding, 1, 0),
            (Part::Padding, first) => {
                self.expect(Part::StreamHeader, STREAM_HEADER_BYTES, 0);
                self.parts.put_back(first);
            }
            (Part::Chunk, _) | (Part::Lost, _) => self.part = Part::Lost,
        }
        0
    }

    fn take_index(&mut self, count: Option<(u64, u32)>, left: u64, byte: u8) {
        let is_last = byte < 0x80;
        let (count, left) = match count {
            Some((_, 63..)) => return self.part = Part::Lost,
            Some((number, bits)) => {
                let number = number | (u64::from(byte & 0x7f) << bits);
                match is_last {
                    true => (None, number.saturating_mul(2)),
                    false => (Some((number, bits + 7)), 0),
                }
            }
            None => (None, left - u64::from(is_last)),
        };
        if count.is_none() && left == 0 {
            let skip = self.zeros() + INDEX_CHECK_BYTES + STREAM_FOOTER_BYTES;
            return self.expect(Part::Padding, 1, skip);
        }
        self.expect(Part::Index { count, left }, 1, 0);
    }

    fn expect(&mut self, part: Part, wanted: usize, skip: u64) {
        self.part = part;
        self.parts.expect(wanted, skip);
    }

    /// Returns how many zeros fill the current part up.
    fn zeros(&self) -> u64 {
        self.at.next_multiple_of(4) - self.at
    }
}

/// Returns the dictionary that the header of a block asks for, its size left out.
fn dictionary_bytes(header: &[u8]) -> Option<u64> {
    let (flags, mut rest) = header.split_first()?;
    for has_size in [flags & 0x40 != 0, flags & 0x80 != 0] {
        if has_size {
            number(&mut rest)?;
        }
    }
    for _ in 0..=flags & 3 {
        let filter = number(&mut rest)?;
        let properties = usize::try_from(number(&mut rest)?).ok()?;
        let (properties, after) = rest.split_at_checked(properties)?;
        rest = after;
        if filter == LZMA2 {
            let &bits = properties.first()?;
            return match bits {
                0..40 => Some(u64::from(2 | (bits & 1)) << (bits / 2 + 11)),
                _ => Some(u32::MAX.into()),
            };
        }
    }
    None
}

/// Reads a number of 7 bits a byte.
fn number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for bits in (0..63).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << bits;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::num::NonZeroU64;

    use lzma_rust2::{CheckType, XzOptions, XzWriter};

    use super::*;

    /// A stream of several blocks, some chunks of which cannot be compressed.
    fn stream(dictionary_bytes: u32, check: CheckType) -> Vec<u8> {
        let mut options = XzOptions::with_preset(1);
        options.lzma_options.dict_size = dictionary_bytes;
        options.set_check_sum_type(check);
        options.set_block_size(NonZeroU64::new(1 << 17));
        let mut writer = XzWriter::new(Vec::new(), options).unwrap();
        let mut state = 1_u64;
        for line in 0..100_000_u32 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let text = if line % 20_000 < 10_000 { state.to_le_bytes() } else { [b'0'; 8] };
            writer.write_all(&text[..7]).unwrap();
        }
        writer.finish().unwrap()
    }

    #[test]
    fn every_block_is_found_however_the_file_is_cut() {
        let checks = [CheckType::None, CheckType::Crc32, CheckType::Crc64, CheckType::Sha256];
        for check in checks {
            let sizes: [u64; 3] = [1 << 16, 3 << 15, 1 << 17];
            let streams = sizes.map(|size| stream(size as u32, check));
            let whole = [&streams[0][..], &[0; 8], &streams[1], &streams[2]].concat();
            for piece in [1, 3, 1000, whole.len()] {
                let mut dictionaries = Dictionaries::new();
                let found = whole.chunks(piece).map(|bytes| dictionaries.look(bytes));
                let found: Vec<u64> = found.filter(|&bytes| bytes > 0).collect();
                if piece > 3 {
                    // Several blocks may start in a piece.
                    assert_eq!(found.last(), Some(&(1 << 17)));
                } else {
                    let blocks = 700_000_usize.div_ceil(1 << 17);
                    let expected = sizes.map(|size| vec![size; blocks]).concat();
                    assert_eq!(found, expected, "pieces of {piece} with {check:?}");
                }
                assert!(matches!(dictionaries.part, Part::Padding), "{:?}", dictionaries.part);
            }
        }
    }

    #[test]
    fn any_bytes_are_looked_at() {
        proptest::proptest!(|(mut bytes: Vec<u8>, piece in 1..20_usize)| {
            let mut dictionaries = Dictionaries::new();
            bytes.splice(..0, *b"\xfd7zXZ\0\0\x04\0\0\0\0");
            for piece in bytes.chunks(piece) {
                dictionaries.look(piece);
            }
        });
    }
}
