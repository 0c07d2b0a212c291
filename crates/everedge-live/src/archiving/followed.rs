//! Updates that are kept in memory for somebody who has an older state of the graph: what has changed since is known
//! then without reading lists.

use everedge_core::{Edge, VertexId};

use super::round::{Round, pairs};
use crate::batch::{DELETION, VERTEX};
use crate::log::{EdgeLog, Record};

/// So many updates are kept, however small the graph is,
const UPDATES_MIN: u64 = 1 << 20;
/// or this share of its edges. With more of them, reading all lists takes less.
const UPDATES_SHARE: u64 = 16;

/// An update, as batches have them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FollowedUpdate {
    /// An edge came; the weight is that of a weighted graph.
    Insert(Edge, Option<f32>),
    /// The newest edge of a pair went, if there was one.
    Delete(Edge),
    /// An id became a vertex, if it was none,
    Add(VertexId),
    /// or ended.
    End(VertexId),
}

/// The updates since a state, in the order in which they were archived.
///
/// Memory: 8 bytes for each, 12 with weights; of up to 2^20 updates or a 16th of the edges.
pub struct Followed {
    /// As batches have them.
    updates: Vec<[u32; 2]>,
    /// The bits of weights, one an update, in a weighted graph.
    weights: Vec<u32>,
    limit: u64,
    /// How many edges had been stored without the log.
    stored_edges: u64,
}

impl Followed {
    /// Follows a graph of so many edges, of which so many were stored without the log.
    pub(super) fn new(edges: u64, stored_edges: u64) -> Self {
        let limit = UPDATES_MIN.max(edges / UPDATES_SHARE);
        Self { updates: Vec::new(), weights: Vec::new(), limit, stored_edges }
    }

    /// Whether all that came since is here if so many edges have been stored without the log.
    pub(super) fn is_all(&self, stored_edges: u64) -> bool {
        self.stored_edges == stored_edges
    }

    /// Takes the updates of a round. Returns whether there was room.
    pub(super) fn take_round(&mut self, round: &Round, is_weighted: bool) -> bool {
        let count = round.len();
        if !self.has_room(count) {
            return false;
        }
        let mut weights = Vec::new();
        if is_weighted {
            weights.resize(count as usize, 0);
            round.for_each_weight(0..count, |place, weight| weights[place as usize] = weight);
        }
        round.for_each_update(0..count, |place, src, dst| {
            self.updates.push([src, dst]);
            self.weights.extend(weights.get(place as usize));
        });
        true
    }

    /// Takes updates of vertices. Returns whether there was room.
    pub(super) fn take_vertices(
        &mut self,
        log: &EdgeLog,
        record: &Record,
        (start, end): (u32, u32),
        is_weighted: bool,
    ) -> bool {
        if !self.has_room(end - start) {
            return false;
        }
        for (src, dst) in pairs(log.updates(record, start, end)) {
            self.updates.push([src, dst]);
            self.weights.extend(is_weighted.then_some(0));
        }
        true
    }

    fn has_room(&self, count: u32) -> bool {
        self.updates.len() as u64 + u64::from(count) <= self.limit
    }

    /// Whether an edge was deleted.
    pub(super) fn has_deletions(&self) -> bool {
        self.updates.iter().any(|&[src, dst]| src & DELETION != 0 && dst & VERTEX == 0)
    }

    /// Returns the updates, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = FollowedUpdate> + '_ {
        self.updates.iter().enumerate().map(|(index, &[first, second])| {
            let (src, dst) = (first & !DELETION, second & !VERTEX);
            match (first & DELETION != 0, second & VERTEX != 0) {
                (false, false) => {
                    let weight = self.weights.get(index).copied().map(f32::from_bits);
                    FollowedUpdate::Insert((src, dst), weight)
                }
                (true, false) => FollowedUpdate::Delete((src, dst)),
                (false, true) => FollowedUpdate::Add(src),
                (true, true) => FollowedUpdate::End(src),
            }
        })
    }
}

/// What has become of a graph since somebody asked for that before.
pub enum Since<V> {
    /// These updates have changed it.
    Updates(Followed),
    /// So have these, and some delete one of several edges of a pair whose weights differ: the graph says which.
    UpdatesOf(Followed, V),
    /// It is not known what has; the graph is this now.
    View(V),
}

impl<V> Since<V> {
    /// Makes another view of it.
    pub fn map<W>(self, view: impl FnOnce(V) -> W) -> Since<W> {
        match self {
            Self::Updates(updates) => Since::Updates(updates),
            Self::UpdatesOf(updates, of_graph) => Since::UpdatesOf(updates, view(of_graph)),
            Self::View(of_graph) => Since::View(view(of_graph)),
        }
    }
}
