//! Merging: when the blocks of a vertex become one contiguous list by themselves.
//!
//! Source: XPGraph §4.3 (XPGraph-S): while the I/O concurrency is low, random reads are far slower
//! than sequential ones, and the adjacency lists of a vertex are merged into a large one; while it
//! is high they are left alone. Differences: merging is compaction (`compact.rs`), so a crash
//! leaves the old lists or the new ones, and the lists of 4,096 vertices are merged together, by
//! the archiving thread and not when one of them is queried. The I/O concurrency is the number of
//! threads that loops run on: what reads lists are loops.
//!
//! # Invariants
//! - M1: what merging writes beside writers is at most twice what was written as blocks since the
//!   last time.
//! - M2: what it writes while they pause, images and all, is at most eight times what came since the
//!   last time, or the lists of which a 128th was deleted.
//!
//! # Cost
//! By M1 each byte of a block costs at most two more, however large the graph becomes. Where
//! merging is off nothing is looked at; where it is on, a shard's rows are read once its blocks
//! are about half of it.

use super::block::NO_BLOCK;
use super::compact::{is_to_be_written, locals_of};
use super::options::{AdjacencyOptions, Compacting, Merging};
use super::run::{self, SPAN};
use super::shard::Shard;
use everedge_live::{SHARD_SPAN, UNIT_BYTES};

/// The threshold of a device that could not be measured: the paper's.
pub(super) const IO_THRESHOLD: u32 = 8;
/// Blocks of fewer units are not worth it: those of a page are read together as they are.
const UNITS_MIN: u64 = 4096 / UNIT_BYTES;
/// What merging writes for what was written as blocks, at most (M1).
const WRITTEN_RATIO_MAX: u64 = 2;
/// A vertex takes so many bytes of the image that is saved with them.
const ROW_BYTES: u64 = 12;
/// In a pause lists are merged if this share of a shard is not in runs (M2).
const ORDER_SHARE: u64 = 8;
/// Or if so large a share of its edges was deleted: a list with a tombstone is read at several times the cost.
const DELETED_SHARE: u64 = 128;
/// Fewer tombstones are not worth it.
const DELETED_MIN: u64 = 64;
/// Lists without a run are merged if that saves the reads of so many percent of their blocks.
const SAVED_PERCENT_MIN: u64 = 25;

impl AdjacencyOptions {
    /// Whether lists are merged while loops run on so many threads.
    pub(super) fn merges(&self, thread_count: usize) -> bool {
        if self.compaction == Compacting::Naive {
            return false;
        }
        match self.merging.unwrap_or(Merging::Never) {
            Merging::Never | Merging::InPauses => false,
            Merging::Always => true,
            Merging::Adaptive => thread_count < self.io_threshold.unwrap_or(IO_THRESHOLD) as usize,
        }
    }

    /// Whether lists are merged when writers pause.
    pub(super) fn merges_in_pauses(&self) -> bool {
        self.compaction != Compacting::Naive && self.merging != Some(Merging::Never)
    }
}

impl Shard {
    /// Whether merging the lists is worth what it writes: they are in pieces, and what was written
    /// as blocks since they were last merged is half of them or more (M1).
    pub(super) fn is_fragmented(&self, entry_words: usize) -> bool {
        let units = self.block_units();
        let pays = |written: u64| written <= WRITTEN_RATIO_MAX * units;
        // The first list alone may already be too much.
        let first = run::units_for(self.degree_sum as usize * entry_words);
        units >= UNITS_MIN
            && pays(first)
            && self.is_in_pieces()
            && pays(self.run_units(entry_words))
    }

    /// Whether merging the lists is worth it while writers pause (M2). Those that nobody has asked for
    /// since the graph was opened stay as they are.
    pub(super) fn is_out_of_order(&self) -> bool {
        if self.unread.is_some() {
            return false;
        }
        if self.tombstone_count >= DELETED_MIN
            && DELETED_SHARE * self.tombstone_count >= self.degree_sum
        {
            return true;
        }
        if ORDER_SHARE * self.loose_units() < self.run_units.max(UNITS_MIN) {
            return false;
        }
        let entries = || self.lists.iter().flat_map(|list| list.table.entries());
        let buffered: u64 = entries().map(|entry| 4 * u64::from(entry.buffered)).sum();
        let blocks = self.block_units();
        let loose_bytes = UNIT_BYTES * blocks + buffered;
        let rows = entries().filter(|entry| entry.degree > 0).count() as u64;
        let written_bytes = UNIT_BYTES * self.run_units + loose_bytes + ROW_BYTES * rows;
        loose_bytes >= UNIT_BYTES * UNITS_MIN && ORDER_SHARE * loose_bytes >= written_bytes
    }

    fn is_in_pieces(&self) -> bool {
        let entries = self.lists.iter().flat_map(|list| list.table.entries());
        let chain_count = entries.filter(|entry| entry.head != NO_BLOCK).count() as u64;
        let has_runs =
            self.lists.iter().flat_map(|list| &list.spans).any(|span| span.run != NO_BLOCK);
        let saves = 100 * chain_count <= (100 - SAVED_PERCENT_MIN) * self.block_count;
        chain_count > 0 && (has_runs || saves)
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

#[cfg(test)]
mod tests {
    use everedge_core::Edge;

    use super::super::AdjacencyGraph;
    use super::*;
    use crate::options::{GraphOptions, Manifest};
    use everedge_live::Phases;
    use everedge_medium::{MediumKind, Volume};

    fn options(merging: Merging) -> AdjacencyOptions {
        AdjacencyOptions {
            archive_threshold: 1,
            phases: Phases::InTurn,
            merging: Some(merging),
            io_threshold: Some(4),
            ..AdjacencyOptions::default()
        }
    }

    fn graph(merging: Merging) -> AdjacencyGraph {
        let options = GraphOptions {
            medium: MediumKind::Dram,
            tuning: options(merging),
            ..GraphOptions::default()
        };
        let volume = Volume::create("merging".as_ref(), options.volume(false)).unwrap();
        AdjacencyGraph::create(volume, Manifest::new(everedge_medium::Kind::Graph, options))
            .unwrap()
    }

    fn insert(graph: &AdjacencyGraph, edges: impl Iterator<Item = Edge>) {
        graph.insert(&edges.collect::<Vec<_>>(), None).unwrap();
    }

    /// Returns the units of blocks of the first shard, and whether it is to be merged.
    fn first_shard(graph: &AdjacencyGraph) -> (u64, bool) {
        let archive = graph.live.core.archive();
        (archive.shards[0].spaces[0].unit_count, archive.shards[0].is_fragmented(1))
    }

    #[test]
    fn a_pause_writes_no_more_than_eight_times_what_came() {
        let graph = graph(Merging::InPauses);
        insert(&graph, (0..40_000).map(|e| (e % 4000, e % 3999)));
        let is_due = || graph.live.core.up_to_date().unwrap().shards[0].is_out_of_order();
        assert!(is_due());
        graph.put_in_order(|| false);
        assert!(!is_due() && graph.live.core.archive().shards[0].run_units > 0);
        let mut batches = 0;
        while !is_due() {
            insert(&graph, (0..100).map(|e| (40 * e, batches)));
            batches += 1;
        }
        // Two words each of 40,000 and what came, and of at most 8,000 rows, in eight parts.
        let written = 4 * 2 * 40_000 + ROW_BYTES as u32 * 8000;
        assert!(8 * 4 * 2 * 100 * batches >= written, "{batches} batches");
        graph.put_in_order(|| false);
        assert!(!is_due());
    }

    #[test]
    fn adaptive_merging_ends_at_the_threshold() {
        let merges = |merging, threads| options(merging).merges(threads);
        assert!((1..=32).all(|threads| merges(Merging::Always, threads)));
        assert!(!(1..=32).any(|threads| merges(Merging::Never, threads)));
        assert!(!(1..=32).any(|threads| merges(Merging::InPauses, threads)));
        assert!(merges(Merging::Adaptive, 3) && !merges(Merging::Adaptive, 4));
        let unknown = AdjacencyOptions { io_threshold: None, ..options(Merging::Adaptive) };
        assert!(unknown.merges(7) && !unknown.merges(8));
        let older = AdjacencyOptions { merging: None, ..options(Merging::Always) };
        assert!(!older.merges(1));
        let naive = AdjacencyOptions { compaction: Compacting::Naive, ..options(Merging::Always) };
        assert!(!naive.merges(1));
    }

    #[test]
    fn lists_of_one_block_each_are_left_alone() {
        let graph = graph(Merging::Never);
        for turn in 0..3 {
            insert(&graph, (0..200).map(|v| (v, v + turn)));
            graph.flush_buffers().unwrap();
            let (units, is_fragmented) = first_shard(&graph);
            assert!(units >= UNITS_MIN, "{units}");
            assert_eq!(is_fragmented, turn > 0, "turn {turn}");
        }
    }

    #[test]
    fn a_page_of_blocks_is_left_alone() {
        let graph = graph(Merging::Never);
        let mut units = 0;
        while units < UNITS_MIN {
            assert!(!first_shard_or_none(&graph), "{units} units");
            insert(&graph, (0..58).map(|v| (0, v % 2)));
            units = first_shard(&graph).0;
        }
        assert!(first_shard(&graph).1);
    }

    fn first_shard_or_none(graph: &AdjacencyGraph) -> bool {
        let is_there = !graph.live.core.archive().shards.is_empty();
        is_there && first_shard(graph).1
    }

    /// M1, and that it comes rarer and rarer.
    #[test]
    fn merging_writes_at_most_twice_what_blocks_take() {
        let graph = graph(Merging::Never);
        let (mut block_bytes, mut written_bytes, mut turns) = (0, 0, Vec::new());
        for turn in 0..2000u32 {
            let vertex = |i: u32| (turn * 37 + i * i) % 397;
            insert(&graph, (0..400).map(|i| (vertex(i), vertex(i + 7))));
            let (units, is_fragmented) = first_shard(&graph);
            if is_fragmented {
                let written = graph.compact().unwrap().written_bytes;
                assert!(written <= 2 * units * UNIT_BYTES, "{written} bytes for {units} units");
                assert_eq!(first_shard(&graph), (0, false));
                block_bytes += units * UNIT_BYTES;
                written_bytes += written;
                turns.push(turn);
            }
        }
        println!("{written_bytes} bytes merged for {block_bytes} of blocks, at {turns:?}");
        let [.., before, second, last] = turns[..] else { panic!("{turns:?}") };
        assert!(2 * (last - second) >= 3 * (second - before), "{turns:?}");
    }
}
