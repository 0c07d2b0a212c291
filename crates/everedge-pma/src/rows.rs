//! The vertex array on the medium: each row that changes is overwritten there and flushed.
//!
//! Source: DGAP §4.4, Table 5, without data placement in DRAM. It is there to measure what small
//! writes in place cost, and nothing else: rows are read in memory, recovery makes them from the
//! headers of sections, and nobody reads the file. After a crash a row in it may be older or newer
//! than its list, until that changes. Differences: only the vertex array, not the other metadata; rows
//! are flushed as lists change, but waited for with the words of lists: once for each shard of a
//! round, and at a checkpoint.
//!
//! # Layout
//! A row of 16 bytes for each vertex and direction, at a fixed place: docs/format.md §7.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::array::Array;
use everedge_live::SHARD_SPAN;
use everedge_live::{Error, Result};
use everedge_medium::{Region, Site};

const ROW_BYTES: u64 = 16;
/// Bytes of the rows of an array.
const ARRAY_BYTES: u64 = SHARD_SPAN as u64 * ROW_BYTES;
/// The file grows by this share of what it has, too.
const GROWTH_SHARE: u64 = 4;

/// The rows of all arrays.
pub(super) struct Rows {
    region: Region,
    /// Bytes that some array needed and did not get.
    missing: AtomicU64,
}

impl Rows {
    pub(super) fn new(region: Region) -> Self {
        Self { region, missing: AtomicU64::new(0) }
    }

    /// Returns the file.
    pub(super) fn region(&self) -> &Region {
        &self.region
    }

    /// Makes room for the rows of an array. Where there is none they stay away, which nobody minds who
    /// reads, and [`Self::make_room`] fails until there is some.
    pub(super) fn reserve(&self, index: u32) {
        let needed = (u64::from(index) + 1) * ARRAY_BYTES;
        let len = self.region.len();
        if needed <= len {
            return;
        }
        let ahead = (len / GROWTH_SHARE).next_multiple_of(ARRAY_BYTES);
        let grown = match self.region.grow(needed + ahead) {
            Err(Error::NoSpace { .. }) => self.region.grow(needed),
            outcome => outcome,
        };
        if grown.is_err() {
            self.missing.fetch_max(needed, Relaxed);
        }
    }

    /// Before an insertion is logged: makes the room that the rows of some array did not get, if
    /// there is some now.
    ///
    /// # Errors
    /// `NoSpace` if the medium is still full.
    pub(super) fn make_room(&self) -> Result<()> {
        let missing = self.missing.load(Relaxed);
        match missing > self.region.len() {
            true => self.region.grow(missing),
            false => Ok(()),
        }
    }

    /// Stores the rows of some lists and starts making them persist; not those that found no room.
    pub(super) fn store(&self, array: &Array, locals: Range<usize>) {
        let start = u64::from(array.index) * ARRAY_BYTES;
        let range = start + ROW_BYTES * locals.start as u64..start + ROW_BYTES * locals.end as u64;
        if range.end > self.region.len() {
            return;
        }
        for (offset, local) in range.clone().step_by(ROW_BYTES as usize).zip(locals) {
            let (row, logged) = (array.lists.rows[local], array.logged(local));
            let entries = u32::from(logged.head) | u32::from(logged.count) << 16;
            self.region.store_words(offset, &[row.start, row.len, entries, 0]);
        }
        self.region.flush(Site::VertexRow, range);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use everedge_medium::{MediumKind, Volume};

    const ENOSPC: i32 = 28;

    #[test]
    fn insertions_wait_for_the_room_that_rows_did_not_get() {
        let (volume, recorder) = Volume::recorded(MediumKind::Pmem { emulated: true }, false);
        let rows = Rows::new(volume.create_region("rows", 0).unwrap());
        rows.reserve(0);
        recorder.fail_nth(0, ENOSPC, true);
        rows.make_room().unwrap();
        rows.reserve(5);
        assert!(matches!(rows.make_room(), Err(Error::NoSpace { .. })));
        rows.reserve(0);
        recorder.fail_nth(u64::MAX, ENOSPC, false);
        rows.make_room().unwrap();
        assert_eq!(rows.region.len(), 6 * ARRAY_BYTES);
        rows.reserve(5);
        rows.make_room().unwrap();
    }
}
