//! The table of arrays: where each lies, in one double word, so that another place becomes current
//! by one store of 8 bytes.
//!
//! # Invariants
//! - T1: a word names units whose bytes were durable before it was stored.
//! - T2: the units that a durable word names are not free. The table holds the old extent of an array
//!   that was written elsewhere until the new word is durable, whatever fails or unwinds meanwhile.

use std::sync::Arc;

use parking_lot::Mutex;

use super::extent::Extent;
use everedge_core::MAX_VERTEX_ID;
use everedge_live::{Error, Result, SHARD_SPAN, SIDES};
use everedge_medium::{Region, Site};

/// Bits of a word that check the others.
const CHECK_BITS: u32 = 24;
/// The table has pages, which are made when they are needed. The first word of one says that the
/// others were set to 0: a device may leave anything in what was allocated and never written.
const PAGE_BYTES: u64 = 4096;
/// Arrays of a page.
const PAGE_ARRAYS: usize = PAGE_BYTES as usize / 8 - 1;
/// What a page's first word has in the place of a unit.
const PAGE_MARK: u64 = (1 << (64 - CHECK_BITS)) - 1;

/// The last array that vertices can need.
const ARRAY_MAX: usize = MAX_VERTEX_ID as usize / SHARD_SPAN * SIDES + SIDES - 1;

/// The table of one graph.
pub(super) struct Table {
    region: Region,
    salt: u32,
    moves: Mutex<Vec<Move>>,
}

/// An array that was written elsewhere, which its word does not say yet.
struct Move {
    index: usize,
    /// Where it lies now.
    unit: u64,
    /// What its durable word names, or an earlier move's.
    _before: Option<Arc<Extent>>,
}

impl Table {
    pub(super) fn new(region: Region, salt: u32) -> Self {
        Self { region, salt, moves: Mutex::default() }
    }

    /// Makes a word for the array number `index`, if there is none.
    ///
    /// # Errors
    /// `NoSpace` if the medium is full; those of a fence.
    pub(super) fn reserve(&self, index: usize) -> Result<()> {
        if index < self.len() && self.has_page((index / PAGE_ARRAYS) as u64) {
            return Ok(());
        }
        let _alone = self.moves.lock();
        let page = (index / PAGE_ARRAYS) as u64;
        self.region.grow((page + 1) * PAGE_BYTES)?;
        if self.has_page(page) {
            return Ok(());
        }
        let offset = page * PAGE_BYTES;
        self.region.wipe(Site::TablePage, offset..offset + PAGE_BYTES);
        self.region.fence(Site::TablePage)?;
        self.region.store(offset, &self.word(offset, PAGE_MARK).to_le_bytes());
        self.region.flush(Site::TablePage, offset..offset + 8);
        self.region.fence(Site::TablePage)
    }

    /// Returns the numbers of arrays that there are words for, ascending.
    pub(super) fn indices(&self) -> impl Iterator<Item = usize> {
        self.pages().flat_map(|page| {
            let first = page as usize * PAGE_ARRAYS;
            first..first + PAGE_ARRAYS
        })
    }

    /// Returns the pages that were made, ascending: where no array is, none has to be.
    fn pages(&self) -> impl Iterator<Item = u64> {
        (0..self.region.len() / PAGE_BYTES).filter(|&page| self.has_page(page))
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
            _ if index > ARRAY_MAX => Err(offset),
            word if self.is_valid(offset, word) => Ok(Some(word >> CHECK_BITS)),
            _ => Err(offset),
        }
    }

    /// Notes that this thread has written an array to an extent, in the place of `before`; there is a
    /// word for it. [`Self::publish`] makes that current.
    pub(super) fn note_move(&self, index: usize, to: &Extent, before: Option<Arc<Extent>>) {
        let Some(unit) = to.unit() else { return };
        // On a medium that takes nothing any more nothing is published either.
        let _poisoned = to.region.drain(Site::Array);
        self.moves.lock().push(Move { index, unit, _before: before });
    }

    /// Makes all moves current: one fence for the arrays' bytes (T1), one store for each word, one
    /// fence for these. What they replace is free then.
    ///
    /// # Errors
    /// Those of a fence. The next call tries again, unless the medium takes nothing any more.
    pub(super) fn publish(&self, arrays: &Region) -> Result<()> {
        let mut moves = self.moves.lock();
        if moves.is_empty() {
            return Ok(());
        }
        arrays.fence(Site::Array)?;
        for array in &*moves {
            let offset = offset_of(array.index);
            let word = self.word(offset, array.unit).to_le_bytes();
            self.region.store(offset, &word);
            self.region.flush(Site::Table, offset..offset + 8);
        }
        self.region.fence(Site::Table)?;
        moves.clear();
        Ok(())
    }

    /// Makes durable what the words say that were found: a process that was killed, or whose sync
    /// failed, may have left them in caches only.
    pub(super) fn store_again(&self) -> Result<()> {
        for offset in self.pages().map(|page| page * PAGE_BYTES) {
            self.region.rewrite(Site::ArraysFound, offset..offset + PAGE_BYTES)?;
        }
        self.region.fence(Site::ArraysFound)
    }

    /// Returns the file.
    pub(super) fn region(&self) -> &Region {
        &self.region
    }

    /// Returns the error that says why the table does not name `what`, which it must.
    pub(super) fn lacks(&self, what: String) -> Error {
        // A page whose mark is damaged names nothing; else a word was taken away.
        let pages = (0..self.region.len() / PAGE_BYTES).map(|page| page * PAGE_BYTES);
        let is_damaged = |offset: &u64| {
            self.region.load_u64(*offset) != 0 && !self.has_page(*offset / PAGE_BYTES)
        };
        Error::Corruption {
            path: self.region.path().to_owned(),
            offset: pages.clone().find(is_damaged).unwrap_or(0),
            what: "the table of arrays".into(),
            expected: what,
            found: "fewer".into(),
        }
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
        self.region.matches(Site::Table, expected, word as u32)
    }
}

fn offset_of(index: usize) -> u64 {
    (index / PAGE_ARRAYS) as u64 * PAGE_BYTES + 8 * (1 + index % PAGE_ARRAYS) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use everedge_live::Space;
    use everedge_medium::{MediumKind, Volume};

    const EIO: i32 = 5;

    /// Until the new word is durable, nobody gets the units that the old one names, whatever fails
    /// meanwhile, and although nobody else holds them.
    #[test]
    fn what_the_durable_table_names_is_not_free() {
        // The fence of the array's bytes fails, then that of the table's word, then none.
        for failing in 0..3 {
            let (volume, recorder) = Volume::recorded(MediumKind::File, false);
            let arrays = volume.create_region("arrays", 0).unwrap();
            let space = Arc::new(Space::new(arrays.clone(), 0, Vec::new()));
            let table = Table::new(volume.create_region("table", 0).unwrap(), 1);
            table.reserve(3).unwrap();
            let place = |units: u64| {
                let taken = space.take_units(units, units).unwrap();
                Arc::new(Extent::at(arrays.clone(), 1, taken, Some(space.clone())))
            };
            let (first, second) = (place(8), place(8));
            table.note_move(3, &first, None);
            table.publish(&arrays).unwrap();
            let old_unit = first.unit().unwrap();
            table.note_move(3, &second, Some(first));
            recorder.fail_nth(failing, EIO, true);
            let published = table.publish(&arrays);
            assert_eq!(published.is_err(), failing < 2);
            recorder.fail_nth(u64::MAX, EIO, false);
            // The free units are taken best fit first.
            let is_free = space.take_units(8, 8).is_ok_and(|units| units.start == old_unit);
            assert_eq!(is_free, published.is_ok(), "call {failing} fails");
        }
    }
}
