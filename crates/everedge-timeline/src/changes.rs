//! Changes of a graph, and what they come to.
//!
//! A version keeps what its changes come to: an edge that is added and deleted between two versions leaves no
//! trace. A deletion takes the newest of equal edges away, as in a live graph, and is ignored where there is
//! none.

use everedge_core::{Edge, MAX_VERTEX_ID, VertexId, WeightedView, par};
use everedge_medium::{Error, Result};

use super::TimelineOptions;
use super::lists::NewLists;
use super::net::{GRAIN, Net, first_with_edges, net_of_each_direction};
use super::segment::{Delta, Found, Totals, Wrong};
use super::tip::Tip;
use super::vertex_set::VertexSet;

/// Changes, in the order in which they were made.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    edges: Vec<EdgeChange>,
    /// Ids that became vertices or ended, each before the edge change of that number.
    vertices: Vec<(VertexId, bool, usize)>,
    /// Whether what is deleted is looked for in all versions and whole lists.
    without_indexes: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct EdgeChange {
    pub src: VertexId,
    pub dst: VertexId,
    pub kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// With the bits of the weight.
    Insertion(u32),
    Deletion,
    /// All of the pair go.
    Clearing,
}

impl EdgeChange {
    #[inline]
    pub(crate) fn ends(&self) -> Edge {
        (self.src, self.dst)
    }

    #[inline]
    pub(crate) fn inserts(&self) -> bool {
        matches!(self.kind, Kind::Insertion(_))
    }
}

impl Changes {
    /// Returns no changes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Has what is deleted looked for without the index of chunks and the filter of versions, for measurements.
    pub fn without_indexes(self) -> Self {
        Self { without_indexes: true, ..self }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.edges.is_empty() && self.vertices.is_empty()
    }

    /// Returns how many there are.
    pub fn len(&self) -> usize {
        self.edges.len() + self.vertices.len()
    }

    /// Returns how many of them insert an edge.
    pub(crate) fn insertions(&self) -> usize {
        self.edges.iter().filter(|change| change.inserts()).count()
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
        self.push(src, dst, Kind::Insertion(weight.to_bits()))
    }

    /// Deletes the newest edge from `src` to `dst`, if there is one.
    ///
    /// # Errors
    /// `InvalidInput` if an id is above [`MAX_VERTEX_ID`].
    pub fn delete(&mut self, src: VertexId, dst: VertexId) -> Result<()> {
        self.push(src, dst, Kind::Deletion)
    }

    /// Deletes all edges from `src` to `dst`.
    ///
    /// # Errors
    /// As [`Self::delete`].
    pub fn clear(&mut self, src: VertexId, dst: VertexId) -> Result<()> {
        self.push(src, dst, Kind::Clearing)
    }

    /// Makes the edges of some pairs those that a graph has.
    ///
    /// Cost: the lists of the sources.
    ///
    /// # Errors
    /// As [`Self::insert`].
    pub fn set_pairs(&mut self, graph: &impl WeightedView, mut pairs: Vec<Edge>) -> Result<()> {
        pairs.sort_unstable();
        pairs.dedup();
        for &(src, dst) in &pairs {
            self.clear(src, dst)?;
        }
        for of_source in pairs.chunk_by(|a, b| a.0 == b.0) {
            let src = of_source[0].0;
            if src >= graph.vertex_bound() || !graph.is_vertex(src) {
                continue;
            }
            for (dst, weight) in graph.out_edges(src) {
                if of_source.binary_search(&(src, dst)).is_ok() {
                    self.insert(src, dst, Some(weight))?;
                }
            }
        }
        Ok(())
    }

    /// Makes `v` a vertex, or ends it; its edges are to be deleted before, or the commit is refused.
    ///
    /// # Errors
    /// `InvalidInput` if it is above [`MAX_VERTEX_ID`].
    pub fn set_vertex(&mut self, v: VertexId, is_vertex: bool) -> Result<()> {
        check_id(v)?;
        self.vertices.push((v, is_vertex, self.edges.len()));
        Ok(())
    }

    fn push(&mut self, src: VertexId, dst: VertexId, kind: Kind) -> Result<()> {
        check_id(src.max(dst))?;
        self.edges.push(EdgeChange { src, dst, kind });
        Ok(())
    }

    /// Returns what the changes come to after `tip`.
    ///
    /// # Errors
    /// What of the stored edges cannot be so.
    pub(crate) fn net(self, tip: &Tip, options: &TimelineOptions) -> Found<NetChange> {
        let has_vertices = !self.vertices.is_empty();
        let indexed = !self.without_indexes;
        let ((new_vertices, ended_vertices), nets) = par::join_if(
            self.edges.len() > GRAIN,
            || self.net_vertices(tip.vertices()),
            || net_of_each_direction(&self.edges, (tip, indexed), options),
        );
        let nets = nets?;
        let mut totals = tip.totals();
        totals.vertex_count += new_vertices.len() as u32;
        totals.vertex_count -= ended_vertices.len() as u32;
        let largest = new_vertices.last().map_or(0, |v| v + 1);
        totals.vertex_bound = totals.vertex_bound.max(largest);
        let with_edges = match has_vertices {
            true => first_with_edges(&nets, tip, [&new_vertices, &ended_vertices]),
            false => None,
        };
        let Net { added, deleted, missed, .. } = nets[0];
        let left = |count: u64, added: u64, deleted| (count + added).checked_sub(deleted);
        let edges = left(totals.edges, added.edges, deleted.edges);
        let loops = left(totals.loops, added.loops, deleted.loops);
        let (Some(edges), Some(loops)) = (edges, loops) else {
            return Err(Wrong::new("the last version's count of edges", "all of them", "fewer"));
        };
        (totals.edges, totals.loops) = (edges, loops);
        let form = (options.weighted, tip.is_empty());
        let [outward, inward] = &nets;
        let is_large = outward.entries.len() > GRAIN;
        let (outward, inward) = par::join_if(
            is_large,
            || NewLists::new(&outward.entries, form),
            || {
                tip.announce(&outward.entries);
                NewLists::new(&inward.entries, form)
            },
        );
        let lists = [outward, inward];
        let gone = nets.map(|net| net.gone);
        let delta = Delta { new_vertices, ended_vertices, lists, gone };
        let (additions, deletions) = (added.edges, deleted.edges);
        Ok(NetChange { delta, totals, additions, deletions, missed, with_edges })
    }

    /// Returns the ids that become vertices, and those that end.
    fn net_vertices(&self, vertices: &VertexSet) -> (Vec<VertexId>, Vec<VertexId>) {
        let insertions = || self.edges.iter().enumerate().filter(|(_, change)| change.inserts());
        if self.vertices.is_empty() {
            // Nothing ends: what is a vertex already stays one.
            let (mut found, mut new) = (VertexSet::default(), Vec::new());
            for v in insertions().flat_map(|(_, change)| [change.src, change.dst]) {
                if !vertices.contains(v) && found.insert(v) {
                    new.push(v);
                }
            }
            new.sort_unstable();
            return (new, Vec::new());
        }
        let said = self.vertices.iter().map(|&(v, is_vertex, at)| (v, 2 * at, is_vertex));
        let mut events: Vec<(VertexId, usize, bool)> = said.collect();
        for (at, change) in insertions() {
            events.extend([change.src, change.dst].map(|v| (v, 2 * at + 1, true)));
        }
        // Stable: of what was said of an id at one place, the last counts.
        events.sort_by_key(|&(v, at, _)| (v, at));
        let last = events.chunk_by(|a, b| a.0 == b.0).filter_map(|events| events.last());
        let changed = last.filter(|&&(v, _, is_vertex)| vertices.contains(v) != is_vertex);
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
    /// Deletions that found no edge.
    pub missed: u64,
    /// A vertex that ends and has edges: nothing of this may be then.
    pub with_edges: Option<VertexId>,
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
