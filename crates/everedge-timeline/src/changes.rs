//! Changes of a graph, and what they come to.
//!
//! A version keeps what its changes come to: an edge that is added and deleted between two versions leaves no
//! trace. A deletion takes the newest of equal edges away, as in a live graph, and is ignored where there is
//! none.

use everedge_core::{MAX_VERTEX_ID, VertexId};
use everedge_medium::{Error, Result};

use super::TimelineOptions;
use super::bits::Bits;
use super::lists::{Entry, NewLists};
use super::segment::{Delta, Place, Totals};
use super::tip::Tip;

/// Changes, in the order in which they were made.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    edges: Vec<EdgeChange>,
    /// Ids that became vertices or ended, each before the edge change of that number.
    vertices: Vec<(VertexId, bool, usize)>,
}

#[derive(Clone, Copy, Debug)]
struct EdgeChange {
    src: VertexId,
    dst: VertexId,
    /// The bits of the weight.
    weight: u32,
    is_deletion: bool,
}

impl Changes {
    /// Returns no changes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.edges.is_empty() && self.vertices.is_empty()
    }

    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.edges.len() + self.vertices.len()
    }

    /// Inserts an edge, and makes its ends vertices. The weight is 1 if there is none.
    ///
    /// # Errors
    /// `InvalidInput` if an id is above [`MAX_VERTEX_ID`] or the weight not finite.
    pub fn insert(&mut self, src: VertexId, dst: VertexId, weight: Option<f32>) -> Result<()> {
        let weight = weight.unwrap_or(1.0);
        if !weight.is_finite() {
            return Err(invalid(format!("the weight {weight} is not finite")));
        }
        self.push(src, dst, (weight.to_bits(), false))
    }

    /// Deletes the newest edge from `src` to `dst`, if there is one.
    ///
    /// # Errors
    /// `InvalidInput` if an id is above [`MAX_VERTEX_ID`].
    pub fn delete(&mut self, src: VertexId, dst: VertexId) -> Result<()> {
        self.push(src, dst, (0, true))
    }

    /// Makes `v` a vertex, or ends it; its edges are to be deleted before.
    ///
    /// # Errors
    /// `InvalidInput` if it is above [`MAX_VERTEX_ID`].
    pub fn set_vertex(&mut self, v: VertexId, is_vertex: bool) -> Result<()> {
        check_id(v)?;
        self.vertices.push((v, is_vertex, self.edges.len()));
        Ok(())
    }

    fn push(&mut self, src: VertexId, dst: VertexId, change: (u32, bool)) -> Result<()> {
        check_id(src.max(dst))?;
        let (weight, is_deletion) = change;
        self.edges.push(EdgeChange { src, dst, weight, is_deletion });
        Ok(())
    }

    /// Returns what the changes come to after `tip`.
    pub(crate) fn net(self, tip: &Tip, options: &TimelineOptions) -> NetChange {
        let (new_vertices, ended_vertices) = self.net_vertices(tip.vertices());
        let mut totals = tip.totals();
        totals.vertex_count += new_vertices.len() as u32;
        totals.vertex_count -= ended_vertices.len() as u32;
        let largest = new_vertices.last().map_or(0, |v| v + 1);
        totals.vertex_bound = totals.vertex_bound.max(largest);
        let mut net = Net {
            tip,
            options,
            entries: Default::default(),
            gone: Default::default(),
            added: Counted::default(),
            deleted: Counted::default(),
        };
        net.take(self.edges);
        let Net { entries, gone, added, deleted, .. } = net;
        totals.edges = totals.edges + added.edges - deleted.edges;
        totals.loops = totals.loops + added.loops - deleted.loops;
        let is_whole = tip.is_empty();
        let lists = entries.map(|mut entries| {
            // Stable: equal edges stay in the order in which they came.
            entries.sort_by_key(|&(v, neighbor, _)| (v, neighbor));
            NewLists::new(&entries, (options.weighted, is_whole))
        });
        let gone = gone.map(|mut gone| {
            gone.sort_unstable();
            gone
        });
        let delta = Delta { new_vertices, ended_vertices, lists, gone };
        NetChange { delta, totals, additions: added.edges, deletions: deleted.edges }
    }

    /// Returns the ids that become vertices, and those that end.
    fn net_vertices(&self, vertices: &Bits) -> (Vec<VertexId>, Vec<VertexId>) {
        let inserted = self.edges.iter().enumerate().filter(|(_, change)| !change.is_deletion);
        let ends = inserted
            .flat_map(|(at, change)| [change.src, change.dst].map(|v| (v, 2 * at + 1, true)));
        let said = self.vertices.iter().map(|&(v, is_vertex, at)| (v, 2 * at, is_vertex));
        let mut events: Vec<(VertexId, usize, bool)> = ends.chain(said).collect();
        // Stable: of what was said of an id at one place, the last counts.
        events.sort_by_key(|&(v, at, _)| (v, at));
        let last = events.chunk_by(|a, b| a.0 == b.0).filter_map(|events| events.last());
        let changed = last.filter(|&&(v, _, is_vertex)| vertices.contains(v as usize) != is_vertex);
        let (new, ended): (Vec<_>, Vec<_>) = changed.partition(|(_, _, is_vertex)| *is_vertex);
        let ids = |events: Vec<&(VertexId, usize, bool)>| {
            events.into_iter().map(|event| event.0).collect()
        };
        (ids(new), ids(ended))
    }
}

/// What changes come to.
pub(crate) struct NetChange {
    pub delta: Delta,
    /// What the graph has then.
    pub totals: Totals,
    /// Edges that are new.
    pub additions: u64,
    /// Edges that are gone.
    pub deletions: u64,
}

/// What edge changes come to, in the making.
struct Net<'a> {
    tip: &'a Tip,
    options: &'a TimelineOptions,
    entries: [Vec<Entry>; 2],
    gone: [Vec<Place>; 2],
    added: Counted,
    deleted: Counted,
}

/// Edges, and those of them that are self-loops.
#[derive(Clone, Copy, Default)]
struct Counted {
    edges: u64,
    loops: u64,
}

impl Counted {
    fn add(&mut self, count: usize, are_loops: bool) {
        self.edges += count as u64;
        self.loops += if are_loops { count as u64 } else { 0 };
    }
}

impl Net<'_> {
    fn take(&mut self, mut edges: Vec<EdgeChange>) {
        if !self.options.directed {
            for change in &mut edges {
                (change.src, change.dst) = (change.src.min(change.dst), change.src.max(change.dst));
            }
        }
        edges.sort_by_key(|change| (change.src, change.dst));
        for changes in edges.chunk_by(|a, b| (a.src, a.dst) == (b.src, b.dst)) {
            self.take_equal(changes);
        }
    }

    /// Takes the changes of equal edges.
    fn take_equal(&mut self, changes: &[EdgeChange]) {
        let EdgeChange { src, dst, .. } = changes[0];
        let stored = self.tip.find(0, src, dst);
        // The edges as they are after each change: some of the stored ones, the oldest, and new ones.
        let (mut kept, mut new) = (stored.len(), Vec::new());
        for change in changes {
            match change.is_deletion {
                true if new.pop().is_none() => kept = kept.saturating_sub(1),
                true => {}
                false if self.options.simple && kept + new.len() > 0 => {}
                false => new.push(change.weight),
            }
        }
        // A stored edge that came again is the one that was there.
        let came_again = new.iter().zip(&stored[kept..]).take_while(|(weight, place)| {
            !self.options.weighted || **weight == self.tip.weight(0, **place)
        });
        let came_again = came_again.count();
        let gone = kept + came_again..stored.len();
        let new = &new[came_again..];
        if gone.is_empty() && new.is_empty() {
            return;
        }
        self.added.add(new.len(), src == dst);
        self.deleted.add(gone.len(), src == dst);
        for (direction, v, neighbor) in sides(self.options, src, dst) {
            let places = match (direction, v) == (0, src) {
                true => &stored,
                false => &self.tip.find(direction, v, neighbor),
            };
            self.gone[direction].extend(&places[gone.clone()]);
            self.entries[direction].extend(new.iter().map(|&weight| (v, neighbor, weight)));
        }
    }
}

/// Returns the lists that an edge is in: direction, whose list, and neighbor.
fn sides(
    options: &TimelineOptions,
    src: VertexId,
    dst: VertexId,
) -> impl Iterator<Item = (usize, VertexId, VertexId)> + use<> {
    let other = match (options.directed, options.in_neighbors) {
        (true, true) => Some((1, dst, src)),
        (false, _) if src != dst => Some((0, dst, src)),
        _ => None,
    };
    [(0, src, dst)].into_iter().chain(other)
}

fn check_id(v: VertexId) -> Result<()> {
    match v <= MAX_VERTEX_ID {
        true => Ok(()),
        false => Err(invalid(format!("the id {v} is above {MAX_VERTEX_ID}"))),
    }
}

fn invalid(what: String) -> Error {
    Error::InvalidInput { what }
}
