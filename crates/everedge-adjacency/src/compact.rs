//! Compaction: lists without their deletions, in runs, in the order of their vertices.
//!
//! Source: XPGraph §3.3 (temporary lists in DRAM, space of emptied lists is used again, vertices
//! without deletions are left alone) and its Figure 10. Differences: blocks are never changed, so
//! what replaces them is written to free units; a group of shards at a time is written and saved by
//! new images, and only then are its old units free, for the next group. So a crash leaves the old
//! lists or the new ones, and the file grows by one group. Lists become pieces of a CSR (`run.rs`),
//! sorted by neighbor.
//!
//! # Invariants
//! - C1: after compaction a shard has no block: all its lists are parts of runs.
//! - C2: units are free when nobody refers to them any more: neither the shard, nor a view, nor the
//!   image that counts.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use super::block::UNIT_LINES;
use super::list::Spill;
use super::naive::{NewLists, WHOLE_WORDS_MAX};
use super::options::Compacting;
use super::run::{self, RunHeader, SPAN};
use super::shard::{Context, Shard};
use super::space::ShardSpace;
use everedge_live::DELETION;
use everedge_live::Result;
use everedge_live::{Compaction, Extents, SHARD_SPAN, UNIT_BYTES};
use everedge_medium::Site;

/// A run that is not yet a list; without units if the list has no entries.
struct NewRun {
    list: usize,
    span: usize,
    units: Range<u64>,
    extents: Arc<Extents>,
}

/// The new lists of one shard.
#[derive(Default)]
pub(crate) struct NewRuns {
    runs: Vec<NewRun>,
    /// What is written the naive way instead.
    lists: NewLists,
}

impl NewRuns {
    /// Writes a run for each span of `shard` that is more than one, complete up to the update number
    /// `sequence`, on units of its own. The shard is not changed.
    ///
    /// # Errors
    /// `NoSpace` if the medium is full; what was written is free then.
    pub(crate) fn write(context: &Context, sequence: u64, shard: &Shard) -> Result<Self> {
        let mut new = Self::default();
        for list in 0..shard.lists.len() {
            for span in 0..SHARD_SPAN / SPAN {
                if context.compaction == Compacting::Naive {
                    new.lists.write(context, sequence, shard, (list, locals_of(span)))?;
                } else if is_to_be_written(shard, list, span) {
                    new.runs.push(write_run(context, sequence, shard, (list, span))?);
                }
            }
        }
        context.sub_graphs.drain(Site::Run)?;
        Ok(new)
    }

    /// Whether nothing was to be done.
    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.lists.is_empty()
    }

    /// Makes the runs the lists of `shard`, and adds to what was done.
    pub(crate) fn adopt(self, shard: &mut Shard, done: &mut Compaction) {
        if self.is_empty() {
            return;
        }
        for NewRun { list, span, units: new, extents } in &self.runs {
            let lists = &mut shard.lists[*list];
            done.freed_bytes += UNIT_BYTES * lists.spans[*span].unit_count();
            done.written_bytes += UNIT_BYTES * (new.end - new.start);
            shard.run_units -= lists.spans[*span].unit_count();
            shard.run_units += new.end - new.start;
            match new.is_empty() {
                true => lists.empty_span(*span),
                false => lists.adopt_run(*span, new.start as u32 * UNIT_LINES, extents.clone()),
            }
        }
        done.runs += self.runs.len() as u64;
        shard.lists.iter_mut().for_each(|list| list.drop_buffers());
        for space in &mut shard.spaces {
            done.freed_bytes += UNIT_BYTES * space.extents.as_ref().map_or(0, |e| e.count());
            *space = ShardSpace::default();
        }
        (shard.block_count, shard.tombstone_count) = (0, 0);
        self.lists.adopt(shard, done);
    }
}

/// Takes the lists of a shard into memory, without what was deleted: its image holds them then, in as
/// many parts as it must, and all its units are free when that counts.
pub(crate) fn take_into_memory(context: &Context, sequence: u64, shard: &mut Shard) {
    for lists in &mut shard.lists {
        let mut sorter = LiveSorter::default();
        let mut taken = Vec::new();
        for local in 0..SHARD_SPAN {
            sorter.words.clear();
            lists.gather(context.places, local, &mut sorter.words);
            let mut entries = Vec::new();
            sorter.append_live(context.entry_words, &mut entries);
            taken.push(entries);
        }
        (0..SHARD_SPAN / SPAN).for_each(|span| lists.empty_span(span));
        lists.drop_buffers();
        for (local, entries) in taken.into_iter().enumerate().filter(|(_, e)| !e.is_empty()) {
            let words: Vec<AtomicU32> = entries.into_iter().map(AtomicU32::new).collect();
            // Each may become a block later.
            let parts = words.chunks(WHOLE_WORDS_MAX);
            lists.spill(local, parts.map(|part| Spill::new(sequence, part)));
        }
    }
    shard.spaces = Default::default();
    (shard.block_count, shard.tombstone_count, shard.run_units) = (0, 0, 0);
}

fn write_run(
    context: &Context,
    sequence: u64,
    shard: &Shard,
    (list, span): (usize, usize),
) -> Result<NewRun> {
    let lists = &shard.lists[list];
    let mut sorter = LiveSorter::default();
    let (mut ends, mut entries) = ([0; SPAN], Vec::new());
    for (local, end) in locals_of(span).zip(&mut ends) {
        sorter.words.clear();
        lists.gather(context.places, local, &mut sorter.words);
        sorter.append_live(context.entry_words, &mut entries);
        *end = entries.len() as u32;
    }
    let extents = Extents::new(context.sub_graphs.space(lists.sub_graph), Vec::new());
    if entries.is_empty() {
        return Ok(NewRun { list, span, units: 0..0, extents });
    }
    let header = RunHeader {
        first_vertex: shard.first_vertex + (span * SPAN) as u32,
        list,
        sequence,
        entry_words: entries.len() as u32,
        vertices: vertices_of(shard, span),
    };
    let units = extents.take(header.units(), header.units())?;
    let place = units.start as u32 * UNIT_LINES;
    run::write(lists.blocks(context.places), context.salt, place, &header, (&ends, &entries));
    Ok(NewRun { list, span, units, extents })
}

/// Whether a span is not yet one run and nothing else.
pub(super) fn is_to_be_written(shard: &Shard, list: usize, span: usize) -> bool {
    locals_of(span).any(|local| shard.lists[list].is_changed(local))
}

/// Returns the vertices of a span.
pub(super) fn locals_of(span: usize) -> Range<usize> {
    span * SPAN..(span + 1) * SPAN
}

/// Returns a bit for each vertex of a span.
fn vertices_of(shard: &Shard, span: usize) -> [u32; run::VERTEX_WORDS] {
    let first = span * SPAN / 64;
    let word = |index: usize| shard.vertices[first + index / 2] >> (32 * (index % 2));
    std::array::from_fn(|index| word(index) as u32)
}

/// Takes the entries of one list that no tombstone takes away, sorted by neighbor.
#[derive(Default)]
struct LiveSorter {
    /// The raw words of the list, the oldest first.
    words: Vec<u32>,
    /// Neighbor in the high half, place in the list in the low one.
    keys: Vec<u64>,
}

impl LiveSorter {
    fn append_live(&mut self, entry_words: usize, entries: &mut Vec<u32>) {
        match entry_words {
            1 => self.append_neighbors(entries),
            _ => self.append_weighted(entry_words, entries),
        }
    }

    fn append_neighbors(&mut self, entries: &mut Vec<u32>) {
        if self.words.iter().fold(0, |all, word| all | word) & DELETION == 0 {
            self.words.sort_unstable();
            entries.extend_from_slice(&self.words);
            return;
        }
        // Sorted so, the tombstones of a neighbor follow on its entries, of which each takes one,
        // whichever: an edge was there before it was deleted.
        self.words.iter_mut().for_each(|word| *word = word.rotate_left(1));
        self.words.sort_unstable();
        let start = entries.len();
        for word in &self.words {
            let (neighbor, is_tombstone) = (word >> 1, word & 1 == 1);
            if !is_tombstone {
                entries.push(neighbor);
            } else if entries.len() > start && entries.last() == Some(&neighbor) {
                entries.pop();
            }
        }
    }

    fn append_weighted(&mut self, entry_words: usize, entries: &mut Vec<u32>) {
        let neighbors = self.words.iter().step_by(entry_words);
        let key = |(place, word): (u64, &u32)| u64::from(word & !DELETION) << 32 | place;
        self.keys.clear();
        self.keys.extend((0..).zip(neighbors).map(key));
        self.keys.sort_unstable();
        for equal in self.keys.chunk_by(|a, b| a >> 32 == b >> 32) {
            // Where entries of this neighbor begin: a tombstone takes the last of them.
            let start = entries.len();
            for key in equal {
                let entry = &self.words[*key as u32 as usize * entry_words..][..entry_words];
                match entry[0] & DELETION {
                    0 => entries.extend_from_slice(entry),
                    _ => entries.truncate(start.max(entries.len() - entry_words)),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live(entry_words: usize, words: &[u32]) -> Vec<u32> {
        let mut sorter = LiveSorter { words: words.to_vec(), keys: Vec::new() };
        let mut entries = vec![77];
        sorter.append_live(entry_words, &mut entries);
        entries.split_off(1)
    }

    #[test]
    fn tombstones_take_the_newest_equal_entry_before_them() {
        assert_eq!(live(1, &[3, 1, 2, 1]), [1, 1, 2, 3]);
        assert_eq!(live(1, &[3, 1, 1 | DELETION, 2, 1]), [1, 2, 3]);
        assert_eq!(live(2, &[5, 10, 5, 20, 5 | DELETION, 0, 4, 1, 5, 30]), [4, 1, 5, 10, 5, 30]);
        assert_eq!(live(1, &[7, 7 | DELETION]), []);
    }
}
