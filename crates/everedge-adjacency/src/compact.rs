//! Compaction: lists without their deletions, in runs, in the order of their vertices.
//!
//! Source: XPGraph §3.3 (temporary lists in DRAM, space of emptied lists is used again, vertices
//! without deletions are left alone) and its Figure 10. Differences: blocks are never changed, so
//! what replaces them is written to free units; a group of shards at a time is written, fenced
//! and made to count by one anchor of the log, and only then are its old units free, for the next
//! group. So a crash leaves the old lists or the new ones, and the file grows by one group. Lists
//! become pieces of a CSR (`run.rs`), sorted by neighbor.
//!
//! # Invariants
//! - C1: after compaction a shard has no block: all its lists are parts of runs.
//! - C2: a unit is given back only when no snapshot from before it was replaced is left.
//! - C3: a run whose epoch is above the anchor's has no successor, and what it was to replace is
//!   still there; recovery wipes it.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Weak};

use super::block::{self, NO_BLOCK, UNIT_LINES};
use super::list::List;
use super::naive::NewLists;
use super::options::Compacting;
use super::run::{self, RunHeader, SPAN};
use super::shard::{Context, Shard, Tally};
use super::subgraphs::SubGraphs;
use everedge_live::DELETION;
use everedge_live::Result;
use everedge_live::{Compaction, SHARD_SPAN, UNIT_BYTES};
use everedge_medium::Site;

/// Units of a sub-graph.
pub(crate) type Units = (usize, Range<u64>);

/// Keeps units that were freed since it was taken from being used again.
#[derive(Clone, Default)]
pub(crate) struct Lease(Arc<()>);

/// Units that are free when the snapshots from before are gone.
#[derive(Default)]
pub(crate) struct Retired {
    lease: Lease,
    /// In the order of time.
    waiting: VecDeque<(Weak<()>, Vec<Units>)>,
}

impl Retired {
    /// Returns what a snapshot holds on to.
    pub(crate) fn lease(&self) -> Lease {
        self.lease.clone()
    }

    /// Takes units that only snapshots from before now can still read.
    pub(crate) fn retire(&mut self, units: Vec<Units>) {
        let last = std::mem::take(&mut self.lease);
        self.waiting.push_back((Arc::downgrade(&last.0), units));
    }

    /// Gives back what no snapshot can read any more (C2).
    pub(crate) fn release(&mut self, sub_graphs: &SubGraphs) {
        while self.waiting.front().is_some_and(|(lease, _)| lease.strong_count() == 0) {
            let (_, units) = self.waiting.pop_front().expect("there is a first one");
            sub_graphs.give_back(units);
        }
    }
}

/// A run that was written and does not count yet.
struct NewRun {
    list: usize,
    span: usize,
    units: Units,
}

/// What the runs of one compaction have in common.
#[derive(Clone, Copy)]
pub(crate) struct Stamp {
    /// The number of the compaction.
    pub epoch: u32,
    /// The last update that the lists hold.
    pub sequence: u64,
    /// Blocks of earlier updates are among those that the log's anchor counts on.
    pub tail_sequence: u64,
}

/// The runs of one shard that do not count yet, and what they are to replace.
pub(crate) struct NewRuns {
    runs: Vec<NewRun>,
    /// What is written the naive way instead.
    lists: NewLists,
    replaced: Vec<Units>,
    /// What the shard will have written.
    tally: Tally,
    /// The part of it that the log's anchor counts on.
    pub durable: Tally,
}

impl NewRuns {
    /// Writes a run for each span of `shard` that is more than one, on units of its own. The shard
    /// is not changed, but it is not shared afterwards if there are new runs.
    ///
    /// # Errors
    /// `NoSpace` if the medium is full; what was written is wiped then.
    pub(crate) fn write(
        context: &Context,
        stamp: Stamp,
        shard: &mut Arc<Shard>,
        durable: Tally,
    ) -> Result<Self> {
        let mut new = Self {
            runs: Vec::new(),
            lists: NewLists::default(),
            replaced: Vec::new(),
            tally: shard.tally,
            durable,
        };
        let written = new.write_all(context, stamp, shard);
        let owned = match new.is_empty() {
            true => written,
            false => written.and_then(|()| Shard::own(shard).map(drop)),
        };
        if let Err(error) = owned {
            new.undo(context);
            return context.sub_graphs.drain(Site::Wipe).and(Err(error));
        }
        context.sub_graphs.drain(Site::Run)?;
        Ok(new)
    }

    /// Whether nothing was to be done.
    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.lists.is_empty()
    }

    fn write_all(&mut self, context: &Context, stamp: Stamp, shard: &Shard) -> Result<()> {
        for list in 0..shard.lists.len() {
            for span in 0..SHARD_SPAN / SPAN {
                if context.compaction == Compacting::Naive {
                    self.replace(context, stamp, &shard.lists[list], span);
                    let blocks = self.lists.write(context, stamp, shard, list, locals_of(span))?;
                    self.tally.merge(blocks);
                    self.durable.merge(blocks);
                } else if is_to_be_written(shard, list, span) {
                    self.replace(context, stamp, &shard.lists[list], span);
                    self.write_run(context, stamp, shard, (list, span))?;
                }
            }
        }
        if !self.is_empty() {
            let of_slots = context.sub_graphs.partition.of_slots(shard.number());
            for (sub_graph, space) in of_slots.into_iter().zip(&shard.spaces) {
                self.replaced.extend(space.unused().map(|units| (sub_graph, units)));
            }
        }
        Ok(())
    }

    /// Notes what the new run of a span is to replace.
    fn replace(&mut self, context: &Context, stamp: Stamp, lists: &List, span: usize) {
        let region = lists.blocks(context.places);
        for local in locals_of(span) {
            let mut place = lists.entry(local).head;
            while place != NO_BLOCK {
                let is_durable = block::sequence_of(region, place) < stamp.tail_sequence;
                self.remove(block::checksum_of(region, place), is_durable);
                let (entries, previous) = block::entries(region, place);
                let end = place + block::lines_for(entries.len());
                let units = (place / UNIT_LINES).into()..end.div_ceil(UNIT_LINES).into();
                self.replaced.push((lists.sub_graph, units));
                place = previous;
            }
        }
        let run = lists.spans[span].run;
        if run != NO_BLOCK {
            self.remove(run::checksum_of(region, run), true);
            let start = u64::from(run / UNIT_LINES);
            let units = start..start + run::header_of(region, run).units();
            self.replaced.push((lists.sub_graph, units));
        }
    }

    fn remove(&mut self, checksum: u32, is_durable: bool) {
        self.tally.remove(checksum);
        if is_durable {
            self.durable.remove(checksum);
        }
    }

    fn write_run(
        &mut self,
        context: &Context,
        stamp: Stamp,
        shard: &Shard,
        (list, span): (usize, usize),
    ) -> Result<()> {
        let lists = &shard.lists[list];
        let mut sorter = LiveSorter::default();
        let (mut ends, mut entries) = ([0; SPAN], Vec::new());
        for (local, end) in locals_of(span).zip(&mut ends) {
            sorter.words.clear();
            lists.gather(context.places, local, &mut sorter.words);
            sorter.append_live(context.entry_words, &mut entries);
            *end = entries.len() as u32;
        }
        let header = RunHeader {
            first_vertex: shard.first_vertex + (span * SPAN) as u32,
            list,
            sequence: stamp.sequence,
            epoch: stamp.epoch,
            entry_words: entries.len() as u32,
            vertices: vertices_of(shard, span),
        };
        let space = context.sub_graphs.space(lists.sub_graph);
        let units = space.take_units(header.units(), header.units())?;
        let place = units.start as u32 * UNIT_LINES;
        let region = lists.blocks(context.places);
        let checksum = run::write(region, context.salt, place, &header, (&ends, &entries));
        self.tally.add(checksum);
        self.durable.add(checksum);
        self.runs.push(NewRun { list, span, units: (lists.sub_graph, units) });
        Ok(())
    }

    /// Wipes what was written and gives its units back.
    pub(crate) fn undo(&mut self, context: &Context) {
        for run in self.runs.drain(..) {
            let (sub_graph, units) = run.units;
            run::wipe(&context.places.blocks[sub_graph], units.start as u32 * UNIT_LINES);
            context.sub_graphs.give_back([(sub_graph, units)]);
        }
        context.sub_graphs.give_back(joined(self.lists.undo(context)));
    }

    /// Makes the runs, which count from now on, the lists of `shard`. Returns the units that they
    /// replace, and adds to what was done.
    pub(crate) fn adopt(self, shard: &mut Shard, done: &mut Compaction) -> Vec<Units> {
        if self.is_empty() {
            return Vec::new();
        }
        for run in &self.runs {
            let (_, units) = &run.units;
            shard.lists[run.list].adopt_run(run.span, units.start as u32 * UNIT_LINES);
            let first = run.span * SPAN / 64;
            shard.unflushed[first..first + SPAN / 64].fill(0);
            done.written_bytes += UNIT_BYTES * (units.end - units.start);
        }
        done.runs += self.runs.len() as u64;
        shard.lists.iter_mut().for_each(|list| list.drop_buffers());
        shard.tally = self.tally;
        shard.tombstone_count = 0;
        self.lists.adopt(shard, done);
        let replaced = joined(self.replaced);
        let units = replaced.iter().map(|(_, units)| units.end - units.start).sum::<u64>();
        done.freed_bytes += UNIT_BYTES * units;
        replaced
    }
}

/// Whether a span is not yet one run and nothing else.
pub(super) fn is_to_be_written(shard: &Shard, list: usize, span: usize) -> bool {
    let words = span * SPAN / 64..(span + 1) * SPAN / 64;
    let has_new_vertices = list == 0 && shard.unflushed[words].iter().any(|&word| word != 0);
    has_new_vertices || locals_of(span).any(|local| shard.lists[list].is_changed(local))
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

/// Sorts ranges, and joins those that touch or overlap: several blocks lie in one unit.
fn joined(mut units: Vec<Units>) -> Vec<Units> {
    units.retain(|(_, range)| !range.is_empty());
    units.sort_unstable_by_key(|(sub_graph, range)| (*sub_graph, range.start));
    let mut joined: Vec<Units> = Vec::new();
    for (sub_graph, range) in units {
        match joined.last_mut() {
            Some((same, last)) if *same == sub_graph && range.start <= last.end => {
                last.end = last.end.max(range.end);
            }
            _ => joined.push((sub_graph, range)),
        }
    }
    joined
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

    #[test]
    fn ranges_are_joined() {
        let in_first = [5..6, 1..2, 2..4, 5..7, 9..9, 3..4].map(|range| (0, range));
        let units = [vec![(1, 4..5)], in_first.to_vec()].concat();
        assert_eq!(joined(units), [(0, 1..4), (0, 5..7), (1, 4..5)]);
    }
}
