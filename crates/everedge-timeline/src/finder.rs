//! Finds where edges are stored that are asked for in ascending order.
//!
//! Each version has a place up to which its lists were read, from which the next edge is likely close: so a
//! delta is searched by as many steps as it has edges, not by a search from its middle for each. Where many edges
//! are asked for, a filter says which deltas are searched at all, and an index which part of a whole list.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_core::memory::prefetch;
use everedge_core::{Edge, VertexId};
use rustc_hash::FxHashMap;

use super::chunk_index::ChunkIndex;
use super::filter::Filter;
use super::lists::{Form, Lists, gallop};
use super::segment::{LINE_WORDS, Place};
use super::tip::Tip;

/// Edges whose parts of the cache are loaded at the same time.
const BLOCK: usize = 32;

/// Finds edges of one direction that the newest version has.
#[derive(Clone)]
pub(crate) struct Finder<'a> {
    tip: &'a Tip,
    direction: usize,
    filter: Option<&'a Filter>,
    /// That of the first version.
    index: Option<&'a ChunkIndex>,
    /// Where the first version stores what is asked for next, as far as that was looked for.
    ahead: std::vec::IntoIter<Range<u32>>,
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
        self.list.start += gallop(&neighbors[self.list.clone()], is_below);
        equal_from(neighbors, self.list.clone(), neighbor)
    }
}

/// Returns which of the neighbors from the start of `list` on are `neighbor`.
#[inline]
fn equal_from(neighbors: &[AtomicU32], list: Range<usize>, neighbor: VertexId) -> Range<usize> {
    let is_equal = |other: &&AtomicU32| other.load(Relaxed) == neighbor;
    let count = neighbors[list.clone()].iter().take_while(is_equal).count();
    list.start..list.start + count
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
        Self {
            tip,
            direction,
            filter,
            index,
            ahead: Vec::new().into_iter(),
            cursors,
            found,
            listed,
        }
    }

    /// Looks for some edges, each the list and the neighbor, in the first version: those that are asked for next, in
    /// their order, each once.
    ///
    /// A search waits for memory more than for anything else, so those of a block wait together.
    pub(crate) fn look_ahead(&mut self, edges: &[Edge]) {
        let Some(index) = self.index else { return };
        let (lists, words) = (&self.tip.segments()[0].lists[self.direction], self.tip.words());
        let neighbors = lists.neighbors(words);
        let alive = &self.tip.alive()[self.direction][0];
        // Without weights it makes no difference which of equal edges goes: what the first version has is enough.
        let asks_later = !lists.weights(words).is_empty();
        let load_marks = |(v, neighbor): Edge| {
            if let Some(filter) = self.filter {
                filter.prefetch(self.edge(v, neighbor));
            }
        };
        let load = |block: &[Edge]| {
            for &(v, neighbor) in block {
                lists.prefetch_range(words, v);
                if asks_later {
                    load_marks((v, neighbor));
                }
            }
        };
        let mut found = Vec::with_capacity(edges.len());
        let mut parts: Vec<(Range<usize>, Range<usize>)> = Vec::with_capacity(BLOCK);
        let mut blocks = edges.chunks(BLOCK).peekable();
        blocks.peek().copied().into_iter().for_each(load);
        while let Some(block) = blocks.next() {
            blocks.peek().copied().into_iter().for_each(load);
            parts.clear();
            for &(v, neighbor) in block {
                let list = lists.range(words, v);
                let part = index.part(list.clone(), neighbor);
                alive.prefetch(part.start);
                neighbors[part.clone()].chunks(LINE_WORDS).for_each(prefetch);
                parts.push((list, part));
            }
            for ((list, part), &(v, neighbor)) in parts.drain(..).zip(block) {
                let is_below = |other: &AtomicU32| other.load(Relaxed) < neighbor;
                let start = part.start + neighbors[part].partition_point(is_below);
                let equal = equal_from(neighbors, start..list.end, neighbor);
                if !asks_later && equal.is_empty() {
                    load_marks((v, neighbor));
                }
                found.push(equal.start as u32..equal.end as u32);
            }
        }
        self.ahead = found.into_iter();
    }

    /// Returns where the edges of the list of `v` to `neighbor` are stored, the oldest first; if there are more than `enough`,
    /// so many at least. Neither `v` nor, for one `v`, `neighbor` is less than it was before.
    pub(crate) fn find(&mut self, v: VertexId, neighbor: VertexId, enough: usize) -> &[Place] {
        self.found.clear();
        let (count, edge) = (self.tip.segments().len(), self.edge(v, neighbor));
        match self.ahead.next() {
            Some(equal) => self.take(0, equal.start as usize..equal.end as usize),
            None if count > 0 => self.look(0, v, neighbor),
            None => {}
        }
        if self.found.len() >= enough {
            return &self.found;
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
    fn edge(&self, v: VertexId, neighbor: VertexId) -> Edge {
        if self.direction == 0 { (v, neighbor) } else { (neighbor, v) }
    }

    /// Adds where those edges are stored that the version number `index` has added.
    fn look(&mut self, index: usize, v: VertexId, neighbor: VertexId) {
        let (segment, words) = (&self.tip.segments()[index], self.tip.words());
        let lists = &segment.lists[self.direction];
        let equal = self.cursors.entry(index).or_default().find((lists, words), v, neighbor);
        self.take(index, equal);
    }

    /// Adds those of equal edges of a version that the newest one has.
    fn take(&mut self, index: usize, equal: Range<usize>) {
        let version = self.tip.segments()[index].version.number;
        let alive = &self.tip.alive()[self.direction][index];
        self.found.extend(alive.ones(equal).map(|at| Place { version, offset: at as u32 }));
    }
}
