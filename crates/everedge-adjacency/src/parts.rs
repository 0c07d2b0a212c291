//! The graph view calls: where an edge is on its way from the log to the blocks.
//!
//! Source: XPGraph §4.3, Table 1. Neighbors as a whole come from a [`Snapshot`](super::Snapshot);
//! here each of the three places is asked apart, without moving anything from one to the next.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

pub use everedge_core::Direction;
use everedge_core::VertexId;

use super::AdjacencyGraph;
use super::list::List;
use everedge_live::{DELETION, Layout as _, Result, SHARD_SPAN, VERTEX};

/// What one place holds of a vertex's list, each in the order of arrival.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListPart {
    /// Neighbors that were inserted.
    pub inserted: Vec<VertexId>,
    /// Neighbors that a deletion named; it takes away the newest insertion before it, here or in
    /// an older place.
    pub deleted: Vec<VertexId>,
}

impl ListPart {
    fn add(&mut self, word: u32) {
        match word & DELETION {
            0 => self.inserted.push(word),
            _ => self.deleted.push(word & !DELETION),
        }
    }

    fn add_all(&mut self, words: &[AtomicU32], entry_words: usize) {
        words.iter().step_by(entry_words).for_each(|word| self.add(word.load(Relaxed)));
    }
}

impl AdjacencyGraph {
    /// Returns how many updates are logged and not yet archived, and lines of the log that writers of
    /// single edges have claimed and not used.
    pub fn logged_edge_count(&self) -> u64 {
        self.live.core.log.untaken().1
    }

    /// Returns what the log says of `v` that is not yet archived.
    ///
    /// Cost: reads all of that.
    pub fn logged_neighbors(&self, v: VertexId, direction: Direction) -> ListPart {
        let options = &self.live.core.layout.options;
        let mut part = ListPart::default();
        let mut add = |owner: VertexId, other: VertexId, mark: u32| {
            if owner == v {
                part.add(other | mark);
            }
        };
        // While the archive is held, no record goes.
        let _archive = self.live.core.archive();
        let log = &self.live.core.log;
        for record in log.untaken_records() {
            log.for_each_update(&record, 0..record.count, |_, src, dst| {
                let (vertex, mark) = (src & !DELETION, src & DELETION);
                match (dst & VERTEX != 0, options.directed, direction) {
                    (true, _, _) => {}
                    (_, true, Direction::Out) => add(vertex, dst, mark),
                    (_, true, Direction::In) => add(dst, vertex, mark),
                    (_, false, _) => {
                        add(vertex, dst, mark);
                        if vertex != dst {
                            add(dst, vertex, mark);
                        }
                    }
                }
            });
        }
        part
    }

    /// Returns what the vertex buffers hold of `v`, and what of it found no room on the medium.
    ///
    /// # Errors
    /// `Corruption` if its shard has not been read yet and is damaged.
    pub fn buffered_neighbors(&self, v: VertexId, direction: Direction) -> Result<ListPart> {
        let mut part = ListPart::default();
        self.with_list(v, direction, |list, local| {
            let entry_words = self.live.core.layout.options.entry_words();
            let places = &self.live.core.layout.places;
            list.spilled_words(local).for_each(|words| part.add_all(words, entry_words));
            part.add_all(list.buffered(&places.buffers, local), entry_words);
        })?;
        Ok(part)
    }

    /// Returns what blocks and runs hold of `v`.
    ///
    /// # Errors
    /// As [`Self::buffered_neighbors`].
    pub fn flushed_neighbors(&self, v: VertexId, direction: Direction) -> Result<ListPart> {
        let mut part = ListPart::default();
        self.with_list(v, direction, |list, local| {
            let entry_words = self.live.core.layout.options.entry_words();
            let flushed: Vec<_> = list.flushed(&self.live.core.layout.places, local).collect();
            flushed.into_iter().rev().for_each(|words| part.add_all(words, entry_words));
        })?;
        Ok(part)
    }

    /// Moves everything that is logged into the lists (the paper's `buffer_all_edges`).
    /// [`flush_all`](Self::flush_all) moves it on, [`compact`](Self::compact) and
    /// [`compact_vertex`](Self::compact_vertex) put it in order.
    ///
    /// # Errors
    /// As [`Self::snapshot`].
    pub fn archive_all(&self) -> Result<()> {
        self.live.core.up_to_date().map(drop)
    }

    /// Calls `see` on the list of `v` if there is one, which stays as it is meanwhile.
    fn with_list(
        &self,
        v: VertexId,
        direction: Direction,
        see: impl FnOnce(&List, usize),
    ) -> Result<()> {
        let layout = &self.live.core.layout;
        let options = &layout.options;
        let list = match direction {
            Direction::In if options.directed => 1,
            _ => 0,
        };
        let mut archive = self.live.core.archive();
        self.live.core.refuse_if_torn(&archive)?;
        let number = v as usize / SHARD_SPAN;
        if let Some((_, error)) = archive.lacking().into_iter().find(|lack| lack.0 == number) {
            return Err(error);
        }
        if let Some(shard) = archive.shards.get_mut(number) {
            layout.see(shard)?;
            if let Some(lists) = shard.lists.get(list) {
                see(lists, v as usize % SHARD_SPAN);
            }
        }
        Ok(())
    }
}
