//! CRC32C of a few double words, and of words that others may change.
//!
//! The crate `crc32c` is made for long input: it reads three parts of it beside each other, and each of its
//! calls stores more than a line of the log has bytes. A writer of single edges would wait for these
//! stores (`docs/experiments.md`).

#![expect(unsafe_code, reason = "an instruction that not every processor has")]

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_core::par;

use super::map::copy_words;

/// What a thread checksums at once of what all threads do: to join two checksums takes as long as to read 200 KiB.
const PIECE_WORDS: usize = 1 << 20;
/// What of it is copied at once: what the crate reads in three parts.
const COPIED_WORDS: usize = 3 << 11;

/// Returns the checksum that `crc32c::crc32c_append` returns: for input that is shorter than a hundred
/// bytes or so.
#[inline]
pub fn crc32c_of_few(crc: u32, bytes: &[u8]) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if std::is_x86_feature_detected!("sse4.2") {
        // SAFETY: the processor has the instructions.
        return unsafe { by_instruction(crc, bytes) };
    }
    crc32c::crc32c_append(crc, bytes)
}

/// Checksums shared words through a small copy.
pub fn crc_of_shared(mut crc: u32, words: &[AtomicU32]) -> u32 {
    let mut copy = [0u32; 512];
    for part in words.chunks(copy.len()) {
        for (word, shared) in copy.iter_mut().zip(part) {
            *word = shared.load(Relaxed);
        }
        crc = crc32c::crc32c_append(crc, bytemuck::cast_slice(&copy[..part.len()]));
    }
    crc
}

/// As [`crc_of_shared`], on all threads: for lists of a graph. `look` sees the words, in parts: they are read once.
pub fn crc_of_long(crc: u32, words: &[AtomicU32], look: &(impl Fn(&[u32]) + Sync)) -> u32 {
    let of_piece = |mut crc: u32, words: &[AtomicU32]| {
        let mut copy = vec![0; words.len().min(COPIED_WORDS)];
        for part in words.chunks(COPIED_WORDS) {
            let copy = &mut copy[..part.len()];
            copy_words(part, copy);
            look(copy);
            crc = crc32c::crc32c_append(crc, bytemuck::cast_slice(copy));
        }
        crc
    };
    if words.len() <= PIECE_WORDS {
        return of_piece(crc, words);
    }
    let of_one = |words: &[AtomicU32]| (of_piece(0, words), size_of_val(words));
    let pieces = par::map_chunks(words, PIECE_WORDS, of_one);
    pieces.into_iter().fold(crc, |crc, (next, bytes)| crc32c::crc32c_combine(crc, next, bytes))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse4.2")]
fn by_instruction(crc: u32, bytes: &[u8]) -> u32 {
    use std::arch::x86_64::{_mm_crc32_u8, _mm_crc32_u64};
    let (double_words, rest) = bytes.as_chunks();
    let step = |crc, word: &[u8; 8]| _mm_crc32_u64(crc, u64::from_le_bytes(*word));
    let crc = double_words.iter().fold(u64::from(!crc), step);
    !rest.iter().fold(crc as u32, |crc, &byte| _mm_crc32_u8(crc, byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_by_all_threads_is_that_of_one() {
        for len in [0, 1, PIECE_WORDS, 2 * PIECE_WORDS + 3] {
            let words: Vec<_> =
                (0..len as u32).map(|i| AtomicU32::new(i.wrapping_mul(i))).collect();
            let seen = AtomicU32::new(0);
            let look = |words: &[u32]| _ = seen.fetch_add(words.len() as u32, Relaxed);
            assert_eq!(crc_of_long(7, &words, &look), crc_of_shared(7, &words), "{len} words");
            assert_eq!(seen.into_inner(), len as u32);
        }
    }

    #[test]
    fn the_checksum_of_few_bytes_is_that_of_many() {
        let bytes: Vec<u8> = (0..200u32).map(|i| (i * i) as u8).collect();
        for len in 0..bytes.len() {
            let expected = crc32c::crc32c_append(len as u32, &bytes[..len]);
            assert_eq!(crc32c_of_few(len as u32, &bytes[..len]), expected, "{len} bytes");
        }
    }
}
