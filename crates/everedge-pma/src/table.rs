//! The table of arrays: where each lies, in one double word, so that another place becomes current
//! by one store of 8 bytes.

use everedge_live::Result;
use everedge_medium::{Region, Site};

/// Bits of a word that check the others.
const CHECK_BITS: u32 = 24;
/// The table grows by pages. The first word of each says that the others were set to 0: a device
/// may leave anything in what was allocated and never written.
const PAGE_BYTES: u64 = 4096;
/// Arrays of a page.
const PAGE_ARRAYS: usize = PAGE_BYTES as usize / 8 - 1;
/// What a page's first word has in the place of a unit.
const PAGE_MARK: u64 = (1 << (64 - CHECK_BITS)) - 1;

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
    /// `NoSpace` if the medium is full; those of a fence.
    pub(super) fn reserve(&self, count: usize) -> Result<()> {
        let page_count = count.div_ceil(PAGE_ARRAYS) as u64;
        self.region.grow(page_count * PAGE_BYTES)?;
        for page in (0..page_count).filter(|&page| !self.has_page(page)) {
            let offset = page * PAGE_BYTES;
            self.put(offset, &[0; PAGE_BYTES as usize]);
            self.region.fence(Site::TablePage)?;
            self.put(offset, &self.word(offset, PAGE_MARK).to_le_bytes());
            self.region.fence(Site::TablePage)?;
        }
        Ok(())
    }

    /// Returns how many words there are.
    pub(super) fn len(&self) -> usize {
        (self.region.len() / PAGE_BYTES) as usize * PAGE_ARRAYS
    }

    /// Returns the unit where an array lies, if there is one.
    ///
    /// # Errors
    /// The offset of a word that no store has left so.
    pub(super) fn unit(&self, index: usize) -> std::result::Result<Option<u64>, u64> {
        let offset = offset_of(index);
        match self.region.load_u64(offset) {
            0 => Ok(None),
            _ if !self.has_page(offset / PAGE_BYTES) => Ok(None),
            word if self.is_valid(offset, word) => Ok(Some(word >> CHECK_BITS)),
            _ => Err(offset),
        }
    }

    /// Makes units current for some arrays, whose bytes there are durable.
    pub(super) fn switch(&self, arrays: impl Iterator<Item = (usize, u64)>) -> Result<()> {
        for (index, unit) in arrays {
            let offset = offset_of(index);
            let word = self.word(offset, unit).to_le_bytes();
            self.region.store(offset, &word);
            self.region.flush(Site::Table, offset..offset + 8);
        }
        self.region.fence(Site::Table)
    }

    /// Returns the file.
    pub(super) fn region(&self) -> &Region {
        &self.region
    }

    fn put(&self, offset: u64, bytes: &[u8]) {
        self.region.store(offset, bytes);
        self.region.flush(Site::TablePage, offset..offset + bytes.len() as u64);
    }

    fn has_page(&self, page: u64) -> bool {
        let offset = page * PAGE_BYTES;
        let word = self.region.load_u64(offset);
        word >> CHECK_BITS == PAGE_MARK && self.is_valid(offset, word)
    }

    /// Returns the word at an offset that names a unit.
    fn word(&self, offset: u64, unit: u64) -> u64 {
        let crc = crc32c::crc32c_append(self.salt, &offset.to_le_bytes());
        let check = crc32c::crc32c_append(crc, &unit.to_le_bytes()) >> (32 - CHECK_BITS);
        unit << CHECK_BITS | u64::from(check)
    }

    fn is_valid(&self, offset: u64, word: u64) -> bool {
        let expected = self.word(offset, word >> CHECK_BITS) as u32;
        self.region.checksum_matches(Site::Table, expected, word as u32)
    }
}

fn offset_of(index: usize) -> u64 {
    (index / PAGE_ARRAYS) as u64 * PAGE_BYTES + 8 * (1 + index % PAGE_ARRAYS) as u64
}
