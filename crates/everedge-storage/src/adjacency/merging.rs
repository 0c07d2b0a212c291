//! Merging: when the blocks of a vertex become one contiguous list by themselves.
//!
//! Source: XPGraph §4.3 (XPGraph-S): while the I/O concurrency is low, random reads are far slower
//! than sequential ones, and the adjacency lists of a vertex are merged into a large one; while it
//! is high they are left alone. Differences: merging is compaction (`compact.rs`), so a crash leaves
//! the old lists or the new ones, and the lists of 4,096 vertices are merged together, by the
//! archiving thread and not when one of them is queried. The I/O concurrency is the number of
//! threads that loops run on: what reads lists are loops.
//!
//! # Invariants
//! - M1: what merging writes is at most twice what was written as blocks since the last time.
//!
//! # Cost
//! By M1 each byte of a block costs at most two more, however large the graph becomes. Where
//! merging is off nothing is looked at; where it is on, a shard's rows are read once its blocks
//! are about half of it.

use super::block::NO_BLOCK;
use super::compact::{is_to_be_written, locals_of};
use super::options::{AdjacencyOptions, Compacting, Merging};
use super::run::{self, SPAN};
use super::shard::{SHARD_SPAN, Shard};
use super::space::UNIT_BYTES;

/// The threshold of a device that could not be measured: the paper's.
pub(super) const IO_THRESHOLD: u32 = 8;
/// Blocks of fewer units are not worth it: those of a page are read together as they are.
const UNITS_MIN: u64 = 4096 / UNIT_BYTES;
/// What merging writes for what was written as blocks, at most (M1).
const WRITTEN_RATIO_MAX: u64 = 2;
/// Lists without a run are merged when those that have blocks have so many in the mean.
const BLOCKS_MEAN_MIN: u64 = 2;

impl AdjacencyOptions {
    /// Whether lists are merged while loops run on so many threads.
    pub(super) fn merges(&self, thread_count: usize) -> bool {
        if self.compaction == Compacting::Naive {
            return false;
        }
        match self.merging.unwrap_or(Merging::Never) {
            Merging::Never => false,
            Merging::Always => true,
            Merging::Adaptive => thread_count < self.io_threshold.unwrap_or(IO_THRESHOLD) as usize,
        }
    }
}

impl Shard {
    /// Whether merging the lists is worth what it writes: they are in pieces, and what was written
    /// as blocks since they were last merged is half of them or more (M1).
    pub(super) fn is_fragmented(&self, entry_words: usize) -> bool {
        let (_, units) = self.space.parts();
        let pays = |written: u64| written <= WRITTEN_RATIO_MAX * units;
        // The first list alone may already be too much.
        let first = run::units_for(self.degree_sum as usize * entry_words);
        units >= UNITS_MIN
            && pays(first)
            && self.is_in_pieces()
            && pays(self.run_units(entry_words))
    }

    fn is_in_pieces(&self) -> bool {
        let entries = self.lists.iter().flat_map(|list| list.table.entries());
        let chain_count = entries.filter(|entry| entry.head != NO_BLOCK).count() as u64;
        let has_runs =
            self.lists.iter().flat_map(|list| &list.spans).any(|span| span.run != NO_BLOCK);
        chain_count > 0 && (has_runs || self.tally.block_count >= BLOCKS_MEAN_MIN * chain_count)
    }

    /// Returns the units of the runs that hold all lists.
    fn run_units(&self, entry_words: usize) -> u64 {
        let units = |list: usize, span: usize| {
            let table = &self.lists[list].table;
            let degree = |local| u64::from(table.entry(local).degree);
            match locals_of(span).map(degree).sum::<u64>() {
                0 if !is_to_be_written(self, list, span) => 0,
                entries => run::units_for(entries as usize * entry_words),
            }
        };
        let spans = |list: usize| (0..SHARD_SPAN / SPAN).map(move |span| units(list, span));
        (0..self.lists.len()).flat_map(spans).sum()
    }
}
