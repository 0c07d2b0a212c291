//! The lists of one direction of a segment: the neighbors of each vertex, in one of three forms.
//!
//! Source: PIE §3.2, CSR for the base and for deltas, and the hybrid form below 256 sources.
//!
//! ```text
//! whole    rows: by id / 4,096 the number of the first row, or none │ ends: by row │ neighbors
//! sparse   sources: ascending │ ends: beside them │ neighbors
//! pairs    sources: one for each neighbor, ascending │ neighbors
//! ```
//! The neighbors of a vertex ascend; equal ones are in the order in which they came, or, of a live graph that became the
//! first version, in that of their weights.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_core::memory::prefetch;
use everedge_core::{VertexId, par};

/// Ids that have rows together, in the form [`Form::Whole`].
pub(crate) const ROW_SPAN: usize = 4096;
/// In place of the number of a row: none of these ids has neighbors.
pub(crate) const NO_ROWS: u32 = u32::MAX;
/// Deltas of fewer sources are pairs.
const PAIR_SOURCES: usize = 256;
/// Words in a piece of work.
const GRAIN: usize = 1 << 16;

/// How the lists of a segment are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Form {
    /// A source for each edge.
    #[default]
    Pairs,
    /// A row for each vertex that has a list.
    Sparse,
    /// A row for each of 4,096 ids one of which has a list.
    Whole,
}

impl Form {
    pub(crate) fn of(number: u8) -> Self {
        match number {
            0 => Self::Pairs,
            1 => Self::Sparse,
            _ => Self::Whole,
        }
    }
}

/// Where the lists of one direction lie, in words of the file.
#[derive(Clone, Debug)]
pub(crate) struct Lists {
    pub form: Form,
    pub rows: Range<u64>,
    pub sources: Range<u64>,
    pub ends: Range<u64>,
    pub neighbors: Range<u64>,
    pub weights: Range<u64>,
}

fn part<'a>(words: &'a [AtomicU32], range: &Range<u64>) -> &'a [AtomicU32] {
    &words[range.start as usize..range.end as usize]
}

fn len(range: &Range<u64>) -> usize {
    (range.end - range.start) as usize
}

impl Lists {
    /// Returns how many edges there are.
    #[inline]
    pub(crate) fn edge_count(&self) -> usize {
        len(&self.neighbors)
    }

    /// Returns all neighbors.
    #[inline]
    pub(crate) fn neighbors<'a>(&self, words: &'a [AtomicU32]) -> &'a [AtomicU32] {
        part(words, &self.neighbors)
    }

    /// Returns all weights, as bits; none if the graph has none.
    #[inline]
    pub(crate) fn weights<'a>(&self, words: &'a [AtomicU32]) -> &'a [AtomicU32] {
        part(words, &self.weights)
    }

    /// Returns the vertices that have rows, or that of each neighbor; none where each group of ids has rows.
    pub(crate) fn sources<'a>(&self, words: &'a [AtomicU32]) -> &'a [AtomicU32] {
        part(words, &self.sources)
    }

    /// Returns which of all neighbors are those of `v`, if `row` is the first one that may be its.
    pub(crate) fn range_from(&self, words: &[AtomicU32], row: usize, v: VertexId) -> Range<usize> {
        let sources = self.sources(words)[row..].iter();
        let count = sources.take_while(|source| source.load(Relaxed) == v).count();
        match self.form {
            Form::Pairs => row..row + count,
            _ if count == 0 => 0..0,
            _ => self.row_range(words, row),
        }
    }

    /// Returns which of all neighbors are those of `v`.
    #[inline]
    pub(crate) fn range(&self, words: &[AtomicU32], v: VertexId) -> Range<usize> {
        match self.form {
            Form::Whole => {
                let rows = part(words, &self.rows);
                match rows.get(v as usize / ROW_SPAN).map(|row| row.load(Relaxed)) {
                    None | Some(NO_ROWS) => 0..0,
                    Some(first) => self.row_range(words, first as usize + v as usize % ROW_SPAN),
                }
            }
            Form::Sparse => {
                let row =
                    part(words, &self.sources).binary_search_by_key(&v, |id| id.load(Relaxed));
                row.map_or(0..0, |row| self.row_range(words, row))
            }
            Form::Pairs => {
                let sources = part(words, &self.sources);
                let start = sources.partition_point(|id| id.load(Relaxed) < v);
                let count = sources[start..].iter().take_while(|id| id.load(Relaxed) == v).count();
                start..start + count
            }
        }
    }

    #[inline]
    fn row_range(&self, words: &[AtomicU32], row: usize) -> Range<usize> {
        let end = |row: usize| words[self.ends.start as usize + row].load(Relaxed) as usize;
        (if row == 0 { 0 } else { end(row - 1) })..end(row)
    }

    /// Starts loading what says where the list of `v` lies into the cache. Only of whole lists.
    #[inline]
    pub(crate) fn prefetch_range(&self, words: &[AtomicU32], v: VertexId) {
        debug_assert_eq!(self.form, Form::Whole);
        if let Some(first) = part(words, &self.rows).get(v as usize / ROW_SPAN) {
            let row = (first.load(Relaxed) as usize).saturating_add(v as usize % ROW_SPAN);
            prefetch(part(words, &self.ends).get(row..).unwrap_or_default());
        }
    }

    /// Returns where the lists of the ids from `group` times 4,096 on begin, and where each of them ends; none if
    /// none of them has neighbors. Only of whole lists.
    #[inline]
    pub(crate) fn group<'a>(
        &self,
        words: &'a [AtomicU32],
        group: usize,
    ) -> Option<(usize, &'a [AtomicU32])> {
        debug_assert_eq!(self.form, Form::Whole);
        let first = part(words, &self.rows).get(group)?.load(Relaxed);
        if first == NO_ROWS {
            return None;
        }
        let (first, ends) = (first as usize, part(words, &self.ends));
        let start = if first == 0 { 0 } else { ends[first - 1].load(Relaxed) as usize };
        Some((start, &ends[first..first + ROW_SPAN]))
    }

    /// Calls `f(v, range)` for each vertex that has neighbors, ascending, with which of all they are.
    pub(crate) fn for_each(&self, words: &[AtomicU32], mut f: impl FnMut(VertexId, Range<usize>)) {
        match self.form {
            Form::Whole => {
                for (group, first) in (0..).zip(part(words, &self.rows)) {
                    let first = first.load(Relaxed);
                    for local in (0..ROW_SPAN as u32).filter(|_| first != NO_ROWS) {
                        let range = self.row_range(words, (first + local) as usize);
                        if !range.is_empty() {
                            f(group * ROW_SPAN as u32 + local, range);
                        }
                    }
                }
            }
            Form::Sparse => {
                for (row, source) in part(words, &self.sources).iter().enumerate() {
                    f(source.load(Relaxed), self.row_range(words, row));
                }
            }
            Form::Pairs => {
                let mut start = 0;
                let is_same = |a: &AtomicU32, b: &AtomicU32| a.load(Relaxed) == b.load(Relaxed);
                for group in part(words, &self.sources).chunk_by(is_same) {
                    f(group[0].load(Relaxed), start..start + group.len());
                    start += group.len();
                }
            }
        }
    }

    /// Returns what finds the vertices that some edges leave, which are asked for in ascending order.
    pub(crate) fn sources_of<'a>(&'a self, words: &'a [AtomicU32]) -> SourceFinder<'a> {
        SourceFinder { lists: self, words, group: 0, row: 0 }
    }

    /// Whether its parts are as long as its form asks for.
    pub(crate) fn fits(&self) -> bool {
        let [rows, sources, ends, neighbors, weights] =
            [&self.rows, &self.sources, &self.ends, &self.neighbors, &self.weights].map(len);
        let has_weights = weights == 0 || weights == neighbors;
        has_weights
            && match self.form {
                Form::Whole => {
                    sources == 0 && ends.is_multiple_of(ROW_SPAN) && ends <= rows * ROW_SPAN
                }
                Form::Sparse => rows == 0 && sources == ends,
                Form::Pairs => rows == 0 && ends == 0 && sources == neighbors,
            }
    }

    /// Whether rows and lists are where they say, and those who have lists below `bound`.
    pub(crate) fn check(&self, words: &[AtomicU32], bound: u32) -> bool {
        let (sources, ends) = (part(words, &self.sources), part(words, &self.ends));
        let pairs = |ids: &[AtomicU32], holds: fn(u32, u32) -> bool| {
            let holds = |pair: &[AtomicU32]| holds(pair[0].load(Relaxed), pair[1].load(Relaxed));
            let all = |range: Range<u32>| {
                ids[range.start as usize..=range.end as usize].windows(2).all(holds)
            };
            par::map_ranges(ids.len().saturating_sub(1) as u32, GRAIN as u32, all)
                .into_iter()
                .all(|all| all)
        };
        let is_ordered = match self.form {
            Form::Whole => self.has_all_rows(words) && self.is_below(words, bound),
            Form::Sparse => pairs(sources, |a, b| a < b),
            Form::Pairs => pairs(sources, |a, b| a <= b),
        };
        let last = ends.last().map_or(0, |end| end.load(Relaxed));
        let ends_well = self.form == Form::Pairs || last as usize == self.edge_count();
        let are_below = sources.last().is_none_or(|last| last.load(Relaxed) < bound);
        is_ordered && ends_well && pairs(ends, |a, b| a <= b) && are_below
    }

    /// Whether no id from `bound` on has a list.
    fn is_below(&self, words: &[AtomicU32], bound: u32) -> bool {
        let groups = (bound as usize).div_ceil(ROW_SPAN);
        let beyond = bound..groups as u32 * ROW_SPAN as u32;
        len(&self.rows) <= groups && beyond.into_iter().all(|v| self.range(words, v).is_empty())
    }

    /// Whether the groups of rows follow one another.
    fn has_all_rows(&self, words: &[AtomicU32]) -> bool {
        let mut next = 0;
        let follows = |row: u32| {
            let is_next = row == next;
            next += ROW_SPAN as u32;
            is_next
        };
        let rows = part(words, &self.rows).iter().map(|row| row.load(Relaxed));
        rows.filter(|&row| row != NO_ROWS).all(follows) && next as usize == len(&self.ends)
    }
}

/// Finds the vertices that edges of ascending places leave.
pub(crate) struct SourceFinder<'a> {
    lists: &'a Lists,
    words: &'a [AtomicU32],
    /// The ids over 4,096 of the row at hand.
    group: usize,
    row: usize,
}

impl SourceFinder<'_> {
    /// Returns the vertex whose list has the edge number `at`.
    pub(crate) fn of(&mut self, at: usize) -> VertexId {
        let Self { lists, words, .. } = *self;
        if lists.form == Form::Pairs {
            return part(words, &lists.sources)[at].load(Relaxed);
        }
        let ends = part(words, &lists.ends);
        self.row += gallop(&ends[self.row..], |end| end.load(Relaxed) as usize <= at);
        if lists.form == Form::Sparse {
            return part(words, &lists.sources)[self.row].load(Relaxed);
        }
        let rows = part(words, &lists.rows);
        let is_before = |row: u32| row == NO_ROWS || row as usize + ROW_SPAN <= self.row;
        while is_before(rows[self.group].load(Relaxed)) {
            self.group += 1;
        }
        let first = rows[self.group].load(Relaxed) as usize;
        (self.group * ROW_SPAN + self.row - first) as VertexId
    }
}

/// Returns for how many of `words` the condition holds, which holds for the first ones: likely few.
pub(crate) fn gallop(words: &[AtomicU32], holds: impl Fn(&AtomicU32) -> bool) -> usize {
    let mut step = 1;
    while step <= words.len() && holds(&words[step - 1]) {
        step *= 2;
    }
    let start = step / 2;
    start + words[start..words.len().min(step)].partition_point(holds)
}

/// The lists of one direction that a version adds, in memory.
#[derive(Default)]
pub(crate) struct NewLists {
    pub form: Form,
    pub rows: Vec<u32>,
    pub sources: Vec<u32>,
    pub ends: Vec<u32>,
    pub neighbors: Vec<u32>,
    /// Beside the neighbors, if the graph is weighted.
    pub weights: Vec<u32>,
}

/// An edge of one direction: whose list it is in, the neighbor, and the bits of its weight.
pub(crate) type Entry = (VertexId, VertexId, u32);

impl NewLists {
    /// Makes lists of entries, which are sorted by vertex and neighbor, as rows of 4,096 ids each if
    /// `is_whole`.
    pub(crate) fn new(entries: &[Entry], (weighted, is_whole): (bool, bool)) -> Self {
        let neighbors = entries.iter().map(|&(_, neighbor, _)| neighbor).collect();
        let weights = match weighted {
            true => entries.iter().map(|&(_, _, weight)| weight).collect(),
            false => Vec::new(),
        };
        let mut lists = Self { neighbors, weights, ..Self::default() };
        let groups = entries.chunk_by(|a, b| a.0 == b.0);
        if is_whole {
            lists.form = Form::Whole;
            lists.put_rows(entries);
        } else if groups.clone().count() < PAIR_SOURCES {
            lists.sources = entries.iter().map(|&(source, _, _)| source).collect();
        } else {
            lists.form = Form::Sparse;
            let mut end = 0;
            for group in groups {
                end += group.len() as u32;
                lists.sources.push(group[0].0);
                lists.ends.push(end);
            }
        }
        lists
    }

    fn put_rows(&mut self, entries: &[Entry]) {
        let mut end = 0;
        for group in entries.chunk_by(|a, b| a.0 as usize / ROW_SPAN == b.0 as usize / ROW_SPAN) {
            let number = group[0].0 as usize / ROW_SPAN;
            self.rows.resize(number, NO_ROWS);
            let first = self.ends.len();
            self.rows.push(first as u32);
            self.ends.resize(first + ROW_SPAN, 0);
            for &(source, _, _) in group {
                self.ends[first + source as usize % ROW_SPAN] += 1;
            }
            for row_end in &mut self.ends[first..] {
                end += *row_end;
                *row_end = end;
            }
        }
    }
}
