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
//! is read through a hash table. Compacted lists count when the images of their shards do.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_core::VertexId;

use super::block::lines_for;
use super::block::{self, BlockHeader, ENTRY_WORDS_MAX, LINE_BYTES, LINES_MAX, NO_BLOCK};
use super::list::List;
use super::shard::{Context, Shard};
use super::space::ShardSpace;
use super::subgraphs::SHARD_SPACES;
use everedge_live::DELETION;
use everedge_live::Result;
use everedge_live::{Compaction, Update};
use everedge_medium::Site;

/// Words of whole entries of the largest block, with weights or without.
pub(super) const WHOLE_WORDS_MAX: usize = ENTRY_WORDS_MAX / 2 * 2;

/// Compacted lists of one shard that are not its lists yet.
#[derive(Default)]
pub(crate) struct NewLists {
    lists: Vec<NewList>,
    /// One for each sub-graph.
    spaces: [ShardSpace; SHARD_SPACES],
    block_count: u64,
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
}

impl NewLists {
    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.lists.is_empty()
    }

    /// Writes the lists of some vertices, those that have one, each on space of its own and
    /// durable before the next; they are complete up to the update number `sequence`.
    ///
    /// # Errors
    /// `NoSpace` if the medium is full; `Poisoned` or `Io` if a fence fails.
    pub(crate) fn write(
        &mut self,
        context: &Context,
        sequence: u64,
        shard: &Shard,
        (list, locals): (usize, Range<usize>),
    ) -> Result<()> {
        let mut words = Vec::new();
        let from = &shard.lists[list];
        let sub_graph = from.sub_graph;
        for local in locals.filter(|&local| from.entry(local).head != NO_BLOCK) {
            let entry_count = from.entry(local).degree as usize;
            let (place, lines) =
                self.allocate(context, (sub_graph, list), entry_count * context.entry_words)?;
            let new = NewList { list, sub_graph, local, place, lines };
            move_live(from, context, local, &mut words);
            debug_assert_eq!(words.len(), entry_count * context.entry_words);
            self.block_count += write_blocks(context, sequence, shard, &new, &words);
            self.lists.push(new);
            context.places.blocks[sub_graph].fence(Site::Run)?;
        }
        Ok(())
    }

    /// Returns the place of consecutive lines for a list of so many words.
    fn allocate(
        &mut self,
        context: &Context,
        (sub_graph, list): (usize, usize),
        words: usize,
    ) -> Result<(u32, u32)> {
        let whole = words.saturating_sub(1) / WHOLE_WORDS_MAX;
        let lines = whole as u32 * LINES_MAX + lines_for(words - whole * WHOLE_WORDS_MAX);
        let own = &mut self.spaces[context.sub_graphs.partition.slot(list)];
        Ok((own.take(context.sub_graphs.space(sub_graph), lines)?, lines))
    }

    /// Makes the lists those of `shard`, and adds to what was done.
    pub(crate) fn adopt(self, shard: &mut Shard, done: &mut Compaction) {
        for new in &self.lists {
            let head = new.blocks().last().expect("a block at least");
            let list = &mut shard.lists[new.list];
            list.link(new.local, head);
            list.change(new.local, |entry| entry.has_tombstones = false);
            done.written_bytes += u64::from(new.lines) * LINE_BYTES;
        }
        done.runs += self.lists.len() as u64;
        shard.block_count = self.block_count;
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

/// Writes a list as blocks. Returns how many.
fn write_blocks(
    context: &Context,
    sequence: u64,
    shard: &Shard,
    new: &NewList,
    words: &[AtomicU32],
) -> u64 {
    let (mut previous, mut count) = (NO_BLOCK, 0);
    for (index, place) in new.blocks().enumerate() {
        let start = index * WHOLE_WORDS_MAX;
        let entries = &words[start..words.len().min(start + WHOLE_WORDS_MAX)];
        let vertex = shard.first_vertex + new.local as u32;
        let (list, entry_words) = (new.list, entries.len());
        let header = BlockHeader { vertex, list, previous, sequence, entry_words };
        block::write(&context.places.blocks[new.sub_graph], context.salt, place, &header, entries);
        (previous, count) = (place, count + 1);
    }
    count
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
