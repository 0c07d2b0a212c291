//! Tables: a row for each vertex of a list, in memory.
//!
//! Source: the vertex index of XPGraph §3.1. A row is 16 bytes, so that no row crosses a cache
//! line.
//!
//! ```text
//! row: place of the newest block | degree | step of the buffer | words, class, flags
//! ```

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use parking_lot::Mutex;

use everedge_core::memory::prefetch;
use everedge_live::Result;
use everedge_live::SHARD_SPAN;
use everedge_medium::{HeldWords, Region};

const ROW_BYTES: u64 = 16;
const ROW_WORDS: usize = ROW_BYTES as usize / 4;
/// Bytes of a table.
const TABLE_BYTES: u64 = SHARD_SPAN as u64 * ROW_BYTES;
const TABLE_WORDS: usize = TABLE_BYTES as usize / 4;
/// The region grows by a quarter, but by so many tables at least and at most.
const GROWTH_TABLES: RangeInclusive<u32> = 4..=64;
const HAS_TOMBSTONES: u32 = 1 << 24;
const HAS_SPILLS: u32 = 1 << 25;

/// A row as it lies in memory.
pub(crate) type Row = [AtomicU32; ROW_WORDS];

/// One vertex in a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The place of the newest block, or [`NO_BLOCK`](super::block::NO_BLOCK).
    pub head: u32,
    /// Neighbors that no tombstone took away.
    pub degree: u32,
    /// Where the buffer begins, in steps.
    pub buffer: u32,
    /// Words in the buffer.
    pub buffered: u16,
    /// Its class; 0 for none.
    pub class: u8,
    /// Whether the list holds a tombstone.
    pub has_tombstones: bool,
    /// Whether some of the list was spilled.
    pub has_spills: bool,
}

impl Entry {
    /// Whether the list is just what its pieces hold: no tombstone, nothing spilled.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        !(self.has_tombstones | self.has_spills)
    }

    /// Whether the vertex has nothing here, but perhaps a buffer for what will come.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        let [places, counts] = Self { buffer: 0, class: 0, ..*self }.row();
        places | counts == 0
    }

    /// Returns the row that four words are.
    #[inline(always)]
    pub(crate) fn new([head, degree, buffer, counts]: [u32; ROW_WORDS]) -> Self {
        Self {
            head,
            degree,
            buffer,
            buffered: counts as u16,
            class: (counts >> 16) as u8,
            has_tombstones: counts & HAS_TOMBSTONES != 0,
            has_spills: counts & HAS_SPILLS != 0,
        }
    }

    #[inline(always)]
    pub(crate) fn load(row: &Row) -> Self {
        Self::new(row.each_ref().map(|word| word.load(Relaxed)))
    }

    /// Returns the last word of the row: words, class and flags.
    #[inline(always)]
    pub(crate) fn counts(&self) -> u32 {
        u32::from(self.buffered)
            | u32::from(self.class) << 16
            | u32::from(self.has_tombstones) << HAS_TOMBSTONES.trailing_zeros()
            | u32::from(self.has_spills) << HAS_SPILLS.trailing_zeros()
    }

    #[inline(always)]
    fn row(&self) -> [u64; 2] {
        let pair = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        [pair(self.head, self.degree), pair(self.buffer, self.counts())]
    }
}

/// The tables of a graph.
pub(crate) struct Tables {
    region: Region,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The first table that was never used.
    next: u32,
    free: Vec<u32>,
}

impl Tables {
    /// Returns no tables yet.
    ///
    /// # Errors
    /// `NoSpace` if the system refuses the address space.
    pub(crate) fn new() -> Result<Arc<Self>> {
        let region = Region::memory("tables of lists")?;
        Ok(Arc::new(Self { region, state: Mutex::default() }))
    }

    /// Holds all rows that there are.
    pub(crate) fn hold(&self) -> HeldRows {
        HeldRows(self.region.hold(0, (self.region.len() / 4) as usize))
    }

    /// Takes a table of zeros.
    fn take(&self) -> Result<u32> {
        let region = &self.region;
        let mut state = self.state.lock();
        if let Some(number) = state.free.pop() {
            drop(state);
            region.store_words(offset_of(number), &[0; TABLE_WORDS]);
            return Ok(number);
        }
        let number = state.next;
        if offset_of(number + 1) > region.len() {
            let ahead = (number / 4).clamp(*GROWTH_TABLES.start(), *GROWTH_TABLES.end());
            region.grow(offset_of(number + ahead))?;
        }
        state.next += 1;
        drop(state);
        region.populate(offset_of(number)..offset_of(number + 1))?;
        Ok(number)
    }
}

/// The rows of all tables, as views read them.
pub(crate) struct HeldRows(HeldWords);

impl HeldRows {
    /// Returns the rows of the table of this number, by local vertex.
    #[inline(always)]
    pub(crate) fn table(&self, number: u32) -> &[Row; SHARD_SPAN] {
        let words = &self.0[number as usize * TABLE_WORDS..][..TABLE_WORDS];
        words.as_chunks().0.try_into().expect("a table has a row for each vertex")
    }

    /// Starts loading the row of `local` in the table of this number into the cache.
    #[inline]
    pub(crate) fn prefetch(&self, number: u32, local: usize) {
        prefetch(&self.table(number)[local..]);
    }
}

fn offset_of(number: u32) -> u64 {
    u64::from(number) * TABLE_BYTES
}

/// The rows of one list of a shard.
pub(crate) struct Table {
    tables: Arc<Tables>,
    number: u32,
    /// Close at hand, as `tables` is not.
    region: Region,
    rows: HeldWords,
}

impl Table {
    /// Makes rows of zeros.
    ///
    /// # Errors
    /// `NoSpace` if there is no memory.
    pub(crate) fn new(tables: &Arc<Tables>) -> Result<Self> {
        let (number, region) = (tables.take()?, tables.region.clone());
        let rows = region.hold(offset_of(number), TABLE_WORDS);
        Ok(Self { tables: tables.clone(), number, region, rows })
    }

    /// Returns a copy that changes by itself.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub(crate) fn copy(&self) -> Result<Self> {
        let copy = Self::new(&self.tables)?;
        let words: Vec<u32> = self.rows.iter().map(|word| word.load(Relaxed)).collect();
        self.region.store_words(offset_of(copy.number), &words);
        Ok(copy)
    }

    /// Returns the row of `local`.
    #[inline(always)]
    pub(crate) fn entry(&self, local: usize) -> Entry {
        Entry::load(&self.rows.as_chunks().0[local])
    }

    /// Returns which table it is.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// Returns all rows in order.
    pub(crate) fn entries(&self) -> impl Iterator<Item = Entry> + '_ {
        self.rows.as_chunks().0.iter().map(Entry::load)
    }

    /// Changes the row of `local`.
    #[inline(always)]
    pub(crate) fn set(&mut self, local: usize, entry: Entry) {
        let offset = offset_of(self.number) + local as u64 * ROW_BYTES;
        self.region.store_pair(offset, entry.row());
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        self.tables.state.lock().free.push(self.number);
    }
}
