//! The newest version as the next one finds it: which stored edges it has.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};

use everedge_medium::HeldWords;

use super::bits::Bits;
use super::chunk_index::ChunkIndex;
use super::filter::Filter;
use super::lists::{Entry, Form};
use super::segment::{Found, Place, Segment, Totals, Wrong};
use super::vertex_set::VertexSet;

/// So many edges are taken into a filter in the time in which one version is searched for an edge.
const EDGES_PER_LOOK: usize = 4;
/// So many pivots of an index are made in the time that finding one edge without it takes.
const PIVOTS_PER_EDGE: usize = 8;

/// The versions that there are, and what the newest has of what they stored.
#[derive(Default)]
pub(crate) struct Tip {
    /// Ascending; the first one has whole lists.
    segments: Vec<Arc<Segment>>,
    /// By direction, by segment.
    alive: [Vec<Bits>; 2],
    vertices: VertexSet,
    /// By direction, how many edges are stored.
    stored: [u64; 2],
    /// The words of the file; none while there is no version.
    words: Option<HeldWords>,
    /// Made when it is first worth it.
    filter: OnceLock<Filter>,
    /// By direction, of the first version, as the filter.
    chunk_indexes: [OnceLock<ChunkIndex>; 2],
}

impl Tip {
    /// Returns what the last of the first `count` versions has, unless those are all.
    pub(crate) fn before(&self, count: usize) -> Option<Self> {
        (count < self.segments.len()).then(|| self.again(count))
    }

    /// Returns what the last of the first `count` versions has.
    pub(crate) fn of_first(&self, count: usize) -> Self {
        let all = || Self {
            segments: self.segments.clone(),
            alive: self.alive.clone(),
            vertices: self.vertices.clone(),
            stored: self.stored,
            words: self.words.clone(),
            ..Self::default()
        };
        self.before(count).unwrap_or_else(all)
    }

    /// Takes the first `count` versions in again.
    fn again(&self, count: usize) -> Self {
        let mut tip = Self::default();
        for segment in &self.segments[..count] {
            tip.take_in(self.words().clone(), segment.clone()).expect("it was taken in before");
        }
        tip
    }

    /// Returns the vertices of the last of the first `count` versions.
    pub(crate) fn vertices_of(&self, count: usize) -> VertexSet {
        let mut vertices = VertexSet::default();
        for segment in &self.segments[..count] {
            change_vertices(&mut vertices, self.words(), segment);
        }
        vertices
    }

    /// Whether there is no version.
    pub(crate) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    pub(crate) fn segments(&self) -> &[Arc<Segment>] {
        &self.segments
    }

    pub(crate) fn vertices(&self) -> &VertexSet {
        &self.vertices
    }

    /// Returns the stored edges that the newest version has, by direction and segment.
    pub(crate) fn alive(&self) -> &[Vec<Bits>; 2] {
        &self.alive
    }

    pub(crate) fn totals(&self) -> Totals {
        self.segments.last().map_or(Totals::default(), |segment| segment.totals)
    }

    /// Returns what says which versions may have added an edge; none where looking for `count` edges in each takes
    /// less than making it.
    pub(crate) fn filter(&self, count: usize) -> Option<&Filter> {
        let first = self.segments.first()?;
        let later = self.segments.len() - 1;
        let added = self.stored[0] as usize - first.lists[0].edge_count();
        if self.filter.get().is_none() && (later == 0 || EDGES_PER_LOOK * count * later <= added) {
            return None;
        }
        let make = || Filter::new(self.words(), &self.segments, self.totals().vertex_bound);
        Some(self.filter.get_or_init(make))
    }

    /// Takes what the next version adds into the filter, if there is one: where it is stored is told later.
    pub(crate) fn announce(&self, entries: &[Entry]) {
        if let Some(filter) = self.filter.get() {
            filter.take_in(self.segments.len(), entries, |&(src, dst, _)| (src, dst));
        }
    }

    /// Returns what finds the neighbors of the first version; none where finding `count` without it takes less than
    /// making it.
    pub(crate) fn chunk_index(&self, direction: usize, count: usize) -> Option<&ChunkIndex> {
        let (index, lists) = (&self.chunk_indexes[direction], self.segments.first()?);
        let lists = &lists.lists[direction];
        if index.get().is_none()
            && count < ChunkIndex::len_for(lists.edge_count()) / PIVOTS_PER_EDGE
        {
            return None;
        }
        Some(index.get_or_init(|| ChunkIndex::new(lists.neighbors(self.words()))))
    }

    /// Returns the words of the file.
    ///
    /// # Panics
    /// If there is no version.
    pub(crate) fn words(&self) -> &HeldWords {
        self.words.as_ref().expect("there is a version")
    }

    /// Returns how many edges are stored in one direction.
    pub(crate) fn stored_count(&self, direction: usize) -> u64 {
        self.stored[direction]
    }

    /// Takes the next version in; `words` are those of the file up to its end.
    ///
    /// # Errors
    /// What cannot be so; the versions are those from before then.
    pub(crate) fn push(&mut self, words: HeldWords, segment: Arc<Segment>) -> Found<()> {
        let taken = self.take_in(words, segment);
        taken.inspect_err(|_| *self = self.again(self.segments.len()))
    }

    /// As [`Self::push`], but nothing is to be done with this after an error.
    fn take_in(&mut self, words: HeldWords, segment: Arc<Segment>) -> Found<()> {
        let before = self.totals();
        let number = segment.version.number;
        let expected = self.segments.last().map_or(number, |last| last.version.number + 1);
        if number != expected {
            let [expected, found] = [expected, number].map(|number| number.to_string());
            return Err(Wrong::new("a version's number", &expected, &found));
        }
        let has_whole = segment.lists.iter().all(|lists| lists.form == Form::Whole);
        if self.segments.is_empty() && !has_whole {
            return Err(Wrong::new("the first version", "whole lists", "others"));
        }
        if segment.totals.vertex_bound < before.vertex_bound {
            let [expected, found] =
                [before, segment.totals].map(|totals| totals.vertex_bound.to_string());
            return Err(Wrong::new("a version's bound of ids, at least", &expected, &found));
        }
        let first = self.segments.first().map_or(number, |first| first.version.number);
        for (direction, alive) in self.alive.iter_mut().enumerate() {
            segment.for_each_gone(&words, direction, |version, offsets| {
                let of = version.checked_sub(first).and_then(|index| alive.get_mut(index as usize));
                let take = |bits: &mut Bits| {
                    offsets.iter().all(|offset| {
                        let offset = offset.load(Relaxed) as usize;
                        bits.contains(offset) && bits.remove(offset)
                    })
                };
                match of.is_some_and(take) {
                    true => Ok(()),
                    false => {
                        let what = format!("what version {} takes away", segment.version.number);
                        Err(Wrong::new(&what, "edges that were there", "others"))
                    }
                }
            })?;
            let count = segment.lists[direction].edge_count();
            alive.push(Bits::all(count));
            self.stored[direction] += count as u64;
        }
        let count =
            i64::from(before.vertex_count) + change_vertices(&mut self.vertices, &words, &segment);
        if count != i64::from(segment.totals.vertex_count) {
            let (expected, found) = (count.to_string(), segment.totals.vertex_count.to_string());
            return Err(Wrong::new("a version's count of vertices", &expected, &found));
        }
        let is_to_go = |filter: &Filter| {
            filter.is_crowded(segment.totals.vertex_bound)
                || !filter.has_all(self.segments.len() + 1)
        };
        if self.filter.get().is_some_and(is_to_go) {
            self.filter.take();
        }
        self.words = Some(words);
        self.segments.push(segment);
        Ok(())
    }

    /// Returns the bits of the weight of a stored edge.
    pub(crate) fn weight(&self, direction: usize, place: Place) -> u32 {
        let first = self.segments[0].version.number;
        let segment = &self.segments[(place.version - first) as usize];
        let weights = segment.lists[direction].weights(self.words());
        weights.get(place.offset as usize).map_or(0, |weight| weight.load(Relaxed))
    }
}

/// Changes vertices as a version does. Returns by how many there are more.
fn change_vertices(vertices: &mut VertexSet, words: &HeldWords, segment: &Segment) -> i64 {
    let mut more = 0;
    for v in segment.new_vertices(words) {
        more += i64::from(vertices.insert(v.load(Relaxed)));
    }
    for v in segment.ended_vertices(words) {
        more -= i64::from(vertices.remove(v.load(Relaxed)));
    }
    more
}
