//! The naive ways, to compare with: compaction list by list, deletion edge by edge.
//!
//! Source: GraphOne's compaction and deletion as XPGraph §3.3 describes them (Figure 10(a)), the
//! baseline of its Figure 15.
//!
//! What is naive in the compaction: every list is written anew, also those without deletions; each
//! gets space of its own on the medium, as large as its degree asks for, and its live neighbors
//! are moved there in their order; each has its own fence. Nothing that is replaced is used again
//! before the end, so the file grows by the graph. Buffers are flushed first, so that a full
//! medium cannot be compacted. What is naive in the deletion: each one looks for its edge by
//! itself, from the newest entry on until it is found.
//!
//! Difference: a tombstone names the neighbor here and not its position, so a list that has some
//! is read through a hash table. Compacted lists count by the log's anchor, a group of shards at a
//! time, as runs do (`compact.rs`): a crash leaves the old list or the new one.
//!
//! # Invariants
//! - N1: a list's first block names the compaction that wrote it. Of those that the log's anchor
//!   has reached, the newest begins the list; all others and what follows on them are replaced, or
//!   do not count yet, and recovery wipes them.
//! - N2: the blocks of a compacted list lie one after the other and are complete up to the same
//!   update, which every block of what they replace was durable before.
//! - N3: a graph that is compacted so has no runs.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_core::VertexId;

use super::block::{self, BlockHeader, ENTRY_WORDS_MAX, LINE_BYTES, LINES_MAX, NO_BLOCK};
use super::block::{UNIT_LINES, lines_for};
use super::compact::{Stamp, Units};
use super::list::List;
use super::shard::{Context, Shard, Tally};
use super::space::ShardSpace;
use super::subgraphs::SHARD_SPACES;
use everedge_live::DELETION;
use everedge_live::Result;
use everedge_live::{Compaction, Update};
use everedge_medium::Site;

/// Compacted lists of one shard that do not count yet.
#[derive(Default)]
pub(crate) struct NewLists {
    lists: Vec<NewList>,
    /// One for each sub-graph, which `of_slots` names.
    spaces: [ShardSpace; SHARD_SPACES],
    of_slots: [usize; SHARD_SPACES],
    /// They are complete up to and including the update of this number.
    sequence: u64,
}

/// One of them: blocks of the largest size, and a last one.
struct NewList {
    list: usize,
    sub_graph: usize,
    local: usize,
    place: u32,
    lines: u32,
}

impl NewList {
    fn blocks(&self) -> impl Iterator<Item = u32> {
        (self.place..self.place + self.lines).step_by(LINES_MAX as usize)
    }

    fn units(&self) -> Units {
        let end = (self.place + self.lines).div_ceil(UNIT_LINES);
        (self.sub_graph, u64::from(self.place / UNIT_LINES)..u64::from(end))
    }
}

impl NewLists {
    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.lists.is_empty()
    }

    /// Writes the lists of some vertices, those that have one, each on space of its own and
    /// durable before the next. Returns their blocks.
    ///
    /// # Errors
    /// `NoSpace` if the medium is full; `Poisoned` or `Io` if a fence fails.
    pub(crate) fn write(
        &mut self,
        context: &Context,
        stamp: Stamp,
        shard: &Shard,
        list: usize,
        locals: Range<usize>,
    ) -> Result<Tally> {
        debug_assert!(stamp.sequence < stamp.tail_sequence || shard.tally == Tally::default());
        self.sequence = stamp.sequence;
        let (mut tally, mut words) = (Tally::default(), Vec::new());
        self.of_slots = context.sub_graphs.partition.of_slots(shard.number());
        let from = &shard.lists[list];
        let sub_graph = from.sub_graph;
        for local in locals.filter(|&local| from.entry(local).head != NO_BLOCK) {
            let entry_count = from.entry(local).degree as usize;
            let words_needed = entry_count * context.entry_words;
            let (place, lines) = self.allocate(context, (sub_graph, list), words_needed)?;
            let new = NewList { list, sub_graph, local, place, lines };
            move_live(from, context, local, &mut words);
            debug_assert_eq!(words.len(), entry_count * context.entry_words);
            write_blocks(context, stamp, shard, &new, &words, &mut tally);
            self.lists.push(new);
            context.places.blocks[sub_graph].fence(Site::Run)?;
        }
        Ok(tally)
    }

    /// Returns the place of consecutive lines for a list of so many words.
    fn allocate(
        &mut self,
        context: &Context,
        (sub_graph, list): (usize, usize),
        words: usize,
    ) -> Result<(u32, u32)> {
        let space = context.sub_graphs.space(sub_graph);
        let own = &mut self.spaces[context.sub_graphs.partition.slot(list)];
        if words <= ENTRY_WORDS_MAX {
            let lines = lines_for(words);
            return Ok((own.take(space, lines)?, lines));
        }
        let whole = (words - 1) / ENTRY_WORDS_MAX;
        let lines = whole as u32 * LINES_MAX + lines_for(words - whole * ENTRY_WORDS_MAX);
        let unit_count = u64::from(lines.div_ceil(UNIT_LINES));
        let units = space.take_units(unit_count, unit_count)?;
        let place = units.start as u32 * UNIT_LINES;
        own.adopt_units(unit_count);
        own.give_back(place + lines, unit_count as u32 * UNIT_LINES - lines);
        Ok((place, lines))
    }

    /// Wipes what was written. Returns its units.
    pub(crate) fn undo(&mut self, context: &Context) -> Vec<Units> {
        let mut units = Vec::new();
        for new in self.lists.drain(..) {
            let region = &context.places.blocks[new.sub_graph];
            new.blocks().for_each(|place| block::wipe(region, place));
            units.push(new.units());
        }
        for (sub_graph, space) in self.of_slots.into_iter().zip(std::mem::take(&mut self.spaces)) {
            units.extend(space.unused().map(|units| (sub_graph, units)));
        }
        units
    }

    /// Makes the lists, which count from now on, those of `shard`, and adds to what was done.
    pub(crate) fn adopt(self, shard: &mut Shard, done: &mut Compaction) {
        for new in &self.lists {
            let head = new.blocks().last().expect("a block at least");
            let list = &mut shard.lists[new.list];
            list.link(new.local, head, self.sequence);
            list.change(new.local, |entry| entry.has_tombstones = false);
            done.written_bytes += u64::from(new.lines) * LINE_BYTES;
        }
        done.runs += self.lists.len() as u64;
        shard.spaces = self.spaces;
    }
}

/// Puts the entries of a list that no tombstone takes away into `words`, the oldest first.
fn move_live(list: &List, context: &Context, local: usize, words: &mut Vec<AtomicU32>) {
    words.clear();
    if list.entry(local).has_tombstones {
        for (neighbor, weight) in list.live(context.places, local, context.entry_words).iter().rev()
        {
            let entry = [*neighbor, weight.to_bits()].map(AtomicU32::new);
            words.extend(entry.into_iter().take(context.entry_words));
        }
        return;
    }
    let pieces: Vec<_> = list.pieces(context.places, local).collect();
    for piece in pieces.into_iter().rev() {
        words.extend(piece.iter().map(|word| AtomicU32::new(word.load(Relaxed))));
    }
}

/// Writes a list as blocks, the first of which names the compaction (N1).
fn write_blocks(
    context: &Context,
    stamp: Stamp,
    shard: &Shard,
    new: &NewList,
    words: &[AtomicU32],
    tally: &mut Tally,
) {
    let (mut previous, mut previous_sequence) = (NO_BLOCK, stamp.epoch);
    for (index, place) in new.blocks().enumerate() {
        let start = index * ENTRY_WORDS_MAX;
        let entries = &words[start..words.len().min(start + ENTRY_WORDS_MAX)];
        let header = BlockHeader {
            vertex: shard.first_vertex + new.local as u32,
            list: new.list,
            previous,
            previous_sequence,
            after_run: false,
            sequence: stamp.sequence,
            entry_words: entries.len(),
            is_vertex: shard.is_vertex(new.local),
        };
        let region = &context.places.blocks[new.sub_graph];
        tally.add(block::write(region, context.salt, place, &header, entries));
        (previous, previous_sequence) = (place, stamp.sequence as u32);
    }
}

impl Shard {
    /// Applies the updates of one vertex in one list, each deletion by a scan of its own; in a
    /// simple graph each insertion too.
    pub(super) fn apply_each(
        &mut self,
        context: &Context,
        list: usize,
        local: usize,
        updates: &[Update],
    ) -> Result<()> {
        let is_easy = |update: &Update| !context.simple && !update.is_deletion();
        for together in updates.chunk_by(|a, b| is_easy(a) && is_easy(b)) {
            if is_easy(&together[0]) {
                self.append_insertions(context, list, local, together)?;
                continue;
            }
            let neighbor = together[0].neighbor() & !DELETION;
            let found = holds(&self.lists[list], context, local, neighbor);
            let live = [(neighbor, i64::from(found))].into_iter().collect();
            let resolved = self.resolve(context, list, local, together, live);
            self.append(context, list, (local, self.lists[list].entry(local)), &resolved)?;
        }
        Ok(())
    }
}

/// Whether the list of `local` holds an edge to `neighbor`.
fn holds(list: &List, context: &Context, local: usize, neighbor: VertexId) -> bool {
    let mut taken_away = 0;
    for piece in list.pieces(context.places, local) {
        for entry in piece.chunks_exact(context.entry_words).rev() {
            match entry[0].load(Relaxed) {
                word if word & !DELETION != neighbor => {}
                word if word & DELETION != 0 => taken_away += 1,
                _ if taken_away == 0 => return true,
                _ => taken_away -= 1,
            }
        }
    }
    false
}
