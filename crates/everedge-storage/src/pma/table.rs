//! The table of arrays: where each lies, in one double word, so that another place becomes current
//! by one store of 8 bytes.

use super::shape::Shape;
use crate::Result;
use crate::medium::{Region, Site};

/// Bits of a word that check the others.
const CHECK_BITS: u32 = 24;
/// The table grows by so many bytes.
const GROWTH_BYTES: u64 = 4096;

/// The table of one graph.
pub(super) struct Table {
    region: Region,
    salt: u32,
}

impl Table {
    pub(super) fn new(region: Region, salt: u32) -> Self {
        Self { region, salt }
    }

    /// Makes words for the arrays before the number `count`.
    ///
    /// # Errors
    /// `NoSpace` if the medium is full.
    pub(super) fn reserve(&self, count: usize) -> Result<()> {
        self.region.grow((8 * count as u64).next_multiple_of(GROWTH_BYTES))
    }

    /// Returns how many words there are.
    pub(super) fn len(&self) -> usize {
        (self.region.len() / 8) as usize
    }

    /// Returns the unit where an array lies, if there is one.
    ///
    /// # Errors
    /// The offset of a word that no store has left so.
    pub(super) fn unit(&self, index: usize) -> std::result::Result<Option<u64>, u64> {
        let offset = 8 * index as u64;
        let word = self.region.load_u64(offset);
        let (unit, check) = (word >> CHECK_BITS, word as u32 & ((1 << CHECK_BITS) - 1));
        match word {
            0 => Ok(None),
            _ if self.region.checksum_matches(Site::Table, check, self.check(index, unit)) => {
                Ok(Some(unit))
            }
            _ => Err(offset),
        }
    }

    /// Makes units current for some arrays, whose bytes there are durable.
    pub(super) fn switch(&self, arrays: impl Iterator<Item = (usize, u64)>) -> Result<()> {
        for (index, unit) in arrays {
            let word = unit << CHECK_BITS | u64::from(self.check(index, unit));
            let offset = 8 * index as u64;
            self.region.store(offset, &word.to_le_bytes());
            self.region.flush(Site::Table, offset..offset + 8);
        }
        self.region.fence(Site::Table)
    }

    /// Returns the file.
    pub(super) fn region(&self) -> &Region {
        &self.region
    }

    fn check(&self, index: usize, unit: u64) -> u32 {
        let crc = crc32c::crc32c_append(self.salt, &(index as u64).to_le_bytes());
        crc32c::crc32c_append(crc, &unit.to_le_bytes()) >> (32 - CHECK_BITS)
    }
}

/// Returns the units of an array that lies at `unit`.
pub(super) fn units_at(unit: u64, shape: &Shape) -> std::ops::Range<u64> {
    unit..unit + shape.units()
}
