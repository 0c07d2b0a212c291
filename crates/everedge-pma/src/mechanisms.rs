//! How often each of the layout's mechanisms ran.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use serde::Serialize;

/// What the updates since a graph was opened have cost, mechanism by mechanism.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Mechanisms {
    /// Entries that were stored in the gap after their list.
    pub stored_in_gaps: u64,
    /// Entries that were stored in the edge log of their section.
    pub stored_in_edge_logs: u64,
    /// Entries that were stored in the edge log of their section without the circular log before.
    pub stored_directly: u64,
    /// Windows of sections whose gaps were shared out anew where they lie.
    pub rebalanced_windows: u64,
    /// Arrays that were written for the first time.
    pub created_arrays: u64,
    /// Arrays that were written anew since a round added much to them,
    pub rewritten_for_rounds: u64,
    /// since they got vertices beyond their last section,
    pub rewritten_for_vertices: u64,
    /// since they were full, or a list found neither gap nor edge log nor window,
    pub rewritten_for_gaps: u64,
    /// to take out what was deleted, or to merge edge logs (compaction),
    pub rewritten_for_compaction: u64,
    /// and to bring them back from memory, or nearer to the start of the file, on a full medium.
    pub rewritten_for_room: u64,
    /// Words of lists that all these wrote: an edge takes one, with weights two, in each direction.
    pub rewritten_words: u64,
    /// Arrays that found no room on the medium and stayed in memory for a while.
    pub kept_in_memory: u64,
}

/// Why an array is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    Created,
    Round,
    Vertices,
    Gaps,
    Compaction,
    Room,
}

const REASON_COUNT: usize = 6;

/// Counts them.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub in_gaps: AtomicU64,
    pub in_edge_logs: AtomicU64,
    pub directly: AtomicU64,
    pub windows: AtomicU64,
    pub in_memory: AtomicU64,
    arrays: [AtomicU64; REASON_COUNT],
    words: AtomicU64,
}

impl Counters {
    /// Adds to one of them.
    pub(super) fn add(counter: &AtomicU64, count: u64) {
        counter.fetch_add(count, Relaxed);
    }

    /// Counts an array that is written, with so many words of lists.
    pub(super) fn count_array(&self, why: Why, words: u64) {
        self.arrays[why as usize].fetch_add(1, Relaxed);
        self.words.fetch_add(words, Relaxed);
    }

    /// Returns what was counted.
    pub(super) fn get(&self) -> Mechanisms {
        let arrays = |why: Why| self.arrays[why as usize].load(Relaxed);
        Mechanisms {
            stored_in_gaps: self.in_gaps.load(Relaxed),
            stored_in_edge_logs: self.in_edge_logs.load(Relaxed),
            stored_directly: self.directly.load(Relaxed),
            rebalanced_windows: self.windows.load(Relaxed),
            created_arrays: arrays(Why::Created),
            rewritten_for_rounds: arrays(Why::Round),
            rewritten_for_vertices: arrays(Why::Vertices),
            rewritten_for_gaps: arrays(Why::Gaps),
            rewritten_for_compaction: arrays(Why::Compaction),
            rewritten_for_room: arrays(Why::Room),
            rewritten_words: self.words.load(Relaxed),
            kept_in_memory: self.in_memory.load(Relaxed),
        }
    }
}
