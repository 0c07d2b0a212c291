//! Finds where edges are stored that are asked for in ascending order.
//!
//! Each version has a place up to which its lists were read, from which the next edge is likely close: so a
//! delta is searched by as many steps as it has edges, not by a search from its middle for each. Where many edges
//! are asked for, a filter says which deltas are searched at all, and an index which part of a whole list.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_core::VertexId;
use everedge_core::memory::prefetch;
use rustc_hash::FxHashMap;

use super::chunk_index::ChunkIndex;
use super::filter::Filter;
use super::lists::{Form, Lists, gallop};
use super::segment::{LINE_WORDS, Place};
use super::tip::Tip;

/// How many edges after one that is found the next one is loaded into the cache.
const AHEAD: usize = 12;

/// Finds edges of one direction that the newest version has.
#[derive(Clone)]
pub(crate) struct Finder<'a> {
    tip: &'a Tip,
    direction: usize,
    filter: Option<&'a Filter>,
    /// That of the first version.
    index: Option<&'a ChunkIndex>,
    /// By segment, of those that were searched: of very many versions a small one searches few.
    cursors: FxHashMap<usize, Cursor>,
    found: Vec<Place>,
    /// Room for the versions that may have an edge.
    listed: Vec<usize>,
}

/// Up to where the lists of a segment were read.
#[derive(Clone, Default)]
struct Cursor {
    /// Whose list it is.
    vertex: Option<VertexId>,
    /// The row of the list, or of the one after it, where there are rows for some vertices only.
    row: usize,
    /// What is left of the list.
    list: Range<usize>,
}

impl Cursor {
    /// Returns where `neighbor` stands in the list of `v`.
    fn find(
        &mut self,
        (lists, words): (&Lists, &[AtomicU32]),
        v: VertexId,
        neighbor: VertexId,
        index: Option<&ChunkIndex>,
    ) -> Range<usize> {
        if self.vertex != Some(v) {
            self.vertex = Some(v);
            self.list = match lists.form {
                Form::Whole => lists.range(words, v),
                Form::Sparse | Form::Pairs => {
                    let sources = lists.sources(words);
                    self.row += gallop(&sources[self.row..], |source| source.load(Relaxed) < v);
                    lists.range_from(words, self.row, v)
                }
            };
        }
        let neighbors = lists.neighbors(words);
        let is_below = |other: &AtomicU32| other.load(Relaxed) < neighbor;
        self.list.start = match index.map(|index| index.part(self.list.clone(), neighbor)) {
            Some(part) => part.start + neighbors[part].partition_point(is_below),
            None => self.list.start + gallop(&neighbors[self.list.clone()], is_below),
        };
        let rest = &neighbors[self.list.clone()];
        let count = rest.iter().take_while(|other| other.load(Relaxed) == neighbor).count();
        self.list.start..self.list.start + count
    }
}

impl<'a> Finder<'a> {
    /// Returns what finds about `count` edges of one direction, and none if that is 0; with the indexes that are worth
    /// it, or with none.
    pub(crate) fn new((tip, indexed): (&'a Tip, bool), direction: usize, count: usize) -> Self {
        let (filter, index) = match indexed {
            true => (tip.filter(count), tip.chunk_index(direction, count)),
            false => (None, None),
        };
        let (cursors, found, listed) = (FxHashMap::default(), Vec::new(), Vec::new());
        Self { tip, direction, filter, index, cursors, found, listed }
    }

    /// Starts loading what finding those `edges` that are asked for next needs, each the list and the neighbor: the
    /// first one's is found now, those of the others in their order.
    #[inline]
    pub(crate) fn load_ahead(&self, edges: impl Fn(usize) -> Option<(VertexId, VertexId)>) {
        let Some(index) = self.index else { return };
        let (lists, words) = (&self.tip.segments()[0].lists[self.direction], self.tip.words());
        if let Some((v, _)) = edges(2 * AHEAD) {
            lists.prefetch_range(words, v);
        }
        if let Some((v, neighbor)) = edges(AHEAD) {
            if let Some(filter) = self.filter {
                filter.prefetch(self.edge(v, neighbor));
            }
            let part = index.part(lists.range(words, v), neighbor);
            self.tip.alive()[self.direction][0].prefetch(part.start);
            lists.neighbors(words)[part].chunks(LINE_WORDS).for_each(prefetch);
        }
    }

    /// Returns where the edges of the list of `v` to `neighbor` are stored, the oldest first; if there are more than `enough`,
    /// so many at least. Neither `v` nor, for one `v`, `neighbor` is less than it was before.
    pub(crate) fn find(&mut self, v: VertexId, neighbor: VertexId, enough: usize) -> &[Place] {
        self.found.clear();
        let (count, edge) = (self.tip.segments().len(), self.edge(v, neighbor));
        if count > 0 {
            self.look(0, v, neighbor);
        }
        // An edge that comes and goes is in the last version that added it.
        let (filter, mut listed) = (self.filter, std::mem::take(&mut self.listed));
        let look = |index| {
            let is_wanted = self.found.len() < enough;
            if is_wanted {
                self.look(index, v, neighbor);
            }
            is_wanted
        };
        match filter {
            Some(filter) => filter.marks(edge).look_through(count, &mut listed, look),
            None => _ = (1..count).rev().all(look),
        }
        self.listed = listed;
        self.found.sort_unstable();
        &self.found
    }

    /// Returns the edge that the list of `v` has for `neighbor`.
    #[inline]
    fn edge(&self, v: VertexId, neighbor: VertexId) -> (VertexId, VertexId) {
        if self.direction == 0 { (v, neighbor) } else { (neighbor, v) }
    }

    /// Adds where those edges are stored that the version number `index` has added.
    fn look(&mut self, index: usize, v: VertexId, neighbor: VertexId) {
        let (segment, words) = (&self.tip.segments()[index], self.tip.words());
        let alive = &self.tip.alive()[self.direction][index];
        let lists = &segment.lists[self.direction];
        let chunks = self.index.filter(|_| index == 0);
        let cursor = self.cursors.entry(index).or_default();
        let equal = cursor.find((lists, words), v, neighbor, chunks);
        let version = segment.version.number;
        self.found.extend(alive.ones(equal).map(|at| Place { version, offset: at as u32 }));
    }
}
