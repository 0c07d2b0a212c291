//! Reading the image of a shard word by word.

use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::images::FoundImage;
use crate::{Error, Result};

/// What is left to read of an image.
pub struct ImageReader<'a> {
    /// The words after those that were taken.
    pub words: &'a [AtomicU32],
    /// Which image it is.
    pub image: &'a FoundImage,
    path: &'a Path,
}

impl<'a> ImageReader<'a> {
    /// Reads words of an image in the file at `path`.
    pub fn new(words: &'a [AtomicU32], path: &'a Path, image: &'a FoundImage) -> Self {
        Self { words, path, image }
    }

    /// Says that the image is none of its layout.
    pub fn damaged(&self) -> Error {
        Error::Corruption {
            path: self.path.to_owned(),
            offset: self.image.offset,
            what: format!("the image of shard {}", self.image.shard),
            expected: "a whole one of this layout".into(),
            found: "another".into(),
        }
    }

    /// Takes the next words.
    ///
    /// # Errors
    /// `Corruption` if there are fewer.
    #[inline]
    pub fn take(&mut self, count: usize) -> Result<&'a [AtomicU32]> {
        let (taken, rest) = self.words.split_at_checked(count).ok_or_else(|| self.damaged())?;
        self.words = rest;
        Ok(taken)
    }

    /// Takes the next words as they are now.
    ///
    /// # Errors
    /// As [`Self::take`].
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u32; N]> {
        let words = self.take(N)?;
        Ok(std::array::from_fn(|index| words[index].load(Relaxed)))
    }

    /// Takes a word.
    ///
    /// # Errors
    /// As [`Self::take`].
    #[inline]
    pub fn u32(&mut self) -> Result<u32> {
        self.array().map(|[word]| word)
    }

    /// Takes two words, the lower half first.
    ///
    /// # Errors
    /// As [`Self::take`].
    #[inline]
    pub fn u64(&mut self) -> Result<u64> {
        self.array().map(|[low, high]: [u32; 2]| u64::from(low) | u64::from(high) << 32)
    }

    /// Takes a number of ranges and the two ends of each.
    ///
    /// # Errors
    /// As [`Self::take`], and if one of them ends before it starts.
    pub fn ranges(&mut self) -> Result<Vec<Range<u64>>> {
        let count = self.u32()? as usize;
        let words = self.take(2 * count)?;
        let range = |pair: &[AtomicU32]| pair[0].load(Relaxed).into()..pair[1].load(Relaxed).into();
        let ranges: Vec<Range<u64>> = words.chunks_exact(2).map(range).collect();
        match ranges.iter().all(|range| range.start <= range.end) {
            true => Ok(ranges),
            false => Err(self.damaged()),
        }
    }
}
