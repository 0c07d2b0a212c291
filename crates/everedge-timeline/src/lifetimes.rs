//! The edges of a window that not all of its versions have, with the versions that do.
//!
//! An edge is there from the version in which it appears to the one in which it disappears. All that a
//! window asks for is a question about these two numbers (PIE Figure 10 names the answers; its row of right
//! deltas and Equation 1 count one version too few):
//!
//! ```text
//! common graph of i..j        appears ≤ i, disappears > j
//! left delta of j             appears = 0, disappears = j
//! completion delta of j       1 ≤ appears ≤ j, disappears > j
//! ```
//! Versions are counted from the first one of the window, 0; an edge that is older appears there.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_core::memory::prefetch;
use everedge_core::{VertexId, par};

use super::lists::{Lists, ROW_SPAN};
use super::rows::{Rows, counts_to_starts};
use super::segment::Segment;
use super::view::READ_AHEAD;

/// Edges in a part that is worth a thread,
const GRAIN: usize = 1 << 14;
/// and how many of them say where parts are cut.
const SAMPLES: usize = 1 << 7;
const PARTS_PER_THREAD: usize = 4;

/// The edge is there in the last version of the window.
pub(crate) const STAYS: u16 = u16::MAX;
/// A window has at most so many versions.
pub(crate) const VERSIONS_MAX: usize = STAYS as usize;

/// An edge that some versions of a window have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Mortal {
    pub src: VertexId,
    pub dst: VertexId,
    pub weight: f32,
    /// The first version that has it.
    pub appears: u16,
    /// The first later one that has not.
    pub disappears: u16,
}

impl Mortal {
    /// Whether all versions from `i` to `j` have it.
    #[inline]
    pub(crate) fn is_common(&self, i: u16, j: u16) -> bool {
        self.appears <= i && self.disappears > j
    }
}

/// The edges that some versions of a window have and that are not among those of the first version of the
/// timeline that all have.
pub(crate) struct Lifetimes {
    rows: Arc<Rows>,
    /// By source.
    edges: Arc<Vec<Mortal>>,
    /// By the version in which edges appear, those that do after the first one, by place.
    appearing: Grouped,
    /// By the version in which they disappear.
    disappearing: Grouped,
}

/// Places of edges by version.
struct Grouped {
    starts: Vec<u32>,
    places: Vec<u32>,
}

impl Grouped {
    fn new(edges: &[Mortal], count: usize, version: impl Fn(&Mortal) -> Option<usize>) -> Self {
        let mut starts = vec![0; count + 1];
        edges.iter().filter_map(&version).for_each(|version| starts[version] += 1);
        let mut places = vec![0; counts_to_starts(&mut starts)];
        let mut next = starts.clone();
        for (place, edge) in (0..).zip(edges) {
            if let Some(version) = version(edge) {
                places[next[version] as usize] = place;
                next[version] += 1;
            }
        }
        Self { starts, places }
    }

    fn of_those(&self, matters: impl Fn(&u32) -> bool) -> Self {
        let (mut starts, mut places) = (vec![0], Vec::new());
        for version in self.starts.windows(2) {
            let of_version = &self.places[version[0] as usize..version[1] as usize];
            places.extend(of_version.iter().copied().filter(&matters));
            starts.push(places.len() as u32);
        }
        Self { starts, places }
    }

    fn of(&self, versions: Range<u16>) -> &[u32] {
        let [start, end] = [versions.start, versions.end].map(usize::from);
        &self.places[self.starts[start] as usize..self.starts[end] as usize]
    }
}

impl Lifetimes {
    /// Finds them for the versions from the segment `first` on to the last of `segments`.
    pub(crate) fn new(words: &[AtomicU32], segments: &[Arc<Segment>], first: usize) -> Self {
        let base = segments[0].version.number;
        let version_of = |index: usize| index.saturating_sub(first) as u16;
        let later = |f: &(dyn Fn(usize, &Segment) -> Vec<Mortal> + Sync)| {
            par::map_ranges(segments.len() as u32 - 1, 1, |at| {
                let index = at.start as usize + 1;
                f(index, &segments[index])
            })
        };
        // Of the first version of the timeline only what disappears counts.
        let mut found = later(&|index, segment| {
            let (version, mut gone) = (version_of(index), Vec::new());
            for_each_gone(words, segment, |of, places| {
                if of == base && version > 0 {
                    for_each_edge(words, &segments[0].lists[0], places, |src, dst, weight| {
                        gone.push(Mortal { src, dst, weight, appears: 0, disappears: version });
                    });
                }
            });
            gone
        });
        // By segment, by edge that it added: the version in which it disappears.
        let added = |segment: &Arc<Segment>| vec![STAYS; segment.lists[0].edge_count()];
        let mut disappears: Vec<Vec<u16>> = segments.iter().skip(1).map(added).collect();
        for (index, segment) in segments.iter().enumerate().skip(1) {
            for_each_gone(words, segment, |of, places| {
                if of > base {
                    let disappears = &mut disappears[(of - base) as usize - 1];
                    for place in places {
                        disappears[place.load(Relaxed) as usize] = version_of(index);
                    }
                }
            });
        }
        found.extend(later(&|index, segment| {
            let (appears, mut added) = (version_of(index), Vec::new());
            let (lists, disappears) = (&segment.lists[0], &disappears[index - 1]);
            let (neighbors, weights) = (lists.neighbors(words), lists.weights(words));
            lists.for_each(words, |src, range| {
                for at in range.filter(|&at| disappears[at] > appears) {
                    let (dst, weight) = (neighbors[at].load(Relaxed), weight_of(weights.get(at)));
                    added.push(Mortal { src, dst, weight, appears, disappears: disappears[at] });
                }
            });
            added
        }));
        Self::group(&found, segments.len() - first)
    }

    /// Brings edges together by source: `found` has lists of them that are in its order.
    fn group(found: &[Vec<Mortal>], count: usize) -> Self {
        let mut parts = par::map_chunks(&cut(found), 1, |sources| {
            let sources = sources[0].clone();
            let mut rows = Rows::default();
            in_part(found, &sources).for_each(|edge| rows.count(edge.src, 1));
            let len = rows.begin();
            (sources, rows, len)
        });
        let nothing = Mortal { src: 0, dst: 0, weight: 0.0, appears: 0, disappears: 0 };
        let mut edges = vec![nothing; parts.iter().map(|(_, _, len)| len).sum()];
        let mut rest = &mut edges[..];
        let tasks = parts.iter_mut().map(|(sources, rows, len)| {
            let (edges, others) = std::mem::take(&mut rest).split_at_mut(*len);
            rest = others;
            (&*sources, rows, edges)
        });
        par::for_each_task(tasks.collect(), |(sources, rows, edges)| {
            in_part(found, sources).for_each(|edge| edges[rows.next(edge.src)] = *edge);
        });
        let mut rows = Rows::default();
        parts.into_iter().for_each(|(_, part, _)| rows.append(part));
        let appears = |edge: &Mortal| (edge.appears > 0).then_some(edge.appears.into());
        let disappears =
            |edge: &Mortal| (edge.disappears != STAYS).then_some(edge.disappears.into());
        let (appearing, disappearing) = par::join(
            || Grouped::new(&edges, count, appears),
            || Grouped::new(&edges, count, disappears),
        );
        Self { rows: rows.into(), edges: edges.into(), appearing, disappearing }
    }

    /// Returns the same edges, of which those that appear or disappear are told only if they `matter`.
    pub(crate) fn of_those(&self, matter: impl Fn(&Mortal) -> bool) -> Self {
        let matters = |&place: &u32| matter(&self.edges[place as usize]);
        let [appearing, disappearing] =
            [&self.appearing, &self.disappearing].map(|grouped| grouped.of_those(matters));
        let (rows, edges) = (self.rows.clone(), self.edges.clone());
        Self { rows, edges, appearing, disappearing }
    }

    /// Returns the edges that leave `v`.
    #[inline]
    pub(crate) fn of(&self, v: VertexId) -> &[Mortal] {
        &self.edges[self.rows.range(v)]
    }

    /// Starts loading where the edges that leave `row` lie, and those that leave `list`, into the cache.
    #[inline]
    pub(crate) fn load_ahead(&self, row: Option<VertexId>, list: Option<VertexId>) {
        if let Some(v) = row {
            self.rows.prefetch(v);
        }
        if let Some(v) = list {
            prefetch(self.of(v));
        }
    }

    /// Returns the edges that appear in some versions, which are after the first.
    pub(crate) fn appearing(&self, versions: Range<u16>) -> impl Iterator<Item = &Mortal> {
        self.at(self.appearing.of(versions))
    }

    /// Returns the edges that disappear in some versions.
    pub(crate) fn disappearing(&self, versions: Range<u16>) -> impl Iterator<Item = &Mortal> {
        self.at(self.disappearing.of(versions))
    }

    /// Returns the edges at some places, mostly ascending ones.
    fn at(&self, places: &[u32]) -> impl Iterator<Item = &Mortal> {
        let edges = &self.edges[..];
        places.iter().enumerate().map(move |(index, &place)| {
            if let Some(&ahead) = places.get(index + 2 * READ_AHEAD) {
                prefetch(&edges[ahead as usize..]);
            }
            &edges[place as usize]
        })
    }

    /// Returns all of them, by source.
    pub(crate) fn edges(&self) -> &[Mortal] {
        &self.edges
    }

    /// Returns an edge for which `holds`, if there is one.
    pub(crate) fn find(&self, holds: impl Fn(&Mortal) -> bool) -> Option<&Mortal> {
        self.edges.iter().find(|edge| holds(edge))
    }
}

/// Cuts the sources of edges into parts that threads take, each of whole groups of rows: of edges in lists by source, about as
/// many in each part.
fn cut(found: &[Vec<Mortal>]) -> Vec<Range<VertexId>> {
    let len: usize = found.iter().map(Vec::len).sum();
    let count = (len / GRAIN).clamp(1, PARTS_PER_THREAD * par::thread_count());
    let some = found.iter().flat_map(|edges| edges.iter().step_by(GRAIN / SAMPLES));
    let mut sources: Vec<VertexId> = some.map(|edge| edge.src).collect();
    sources.sort_unstable();
    let of_part = |part: usize| sources.get(part * sources.len() / count).copied();
    let inner = (1..count).filter_map(of_part).map(|source| source & !(ROW_SPAN as VertexId - 1));
    let mut starts: Vec<VertexId> = std::iter::once(0).chain(inner).collect();
    starts.dedup();
    let ends = starts[1..].iter().copied().chain([VertexId::MAX]);
    starts.iter().zip(ends).map(|(&start, end)| start..end).collect()
}

/// Returns those edges of lists by source that leave some of them.
fn in_part<'a>(
    found: &'a [Vec<Mortal>],
    sources: &Range<VertexId>,
) -> impl Iterator<Item = &'a Mortal> {
    let Range { start, end } = *sources;
    found.iter().flat_map(move |edges| {
        let place = |source: VertexId| edges.partition_point(|edge| edge.src < source);
        &edges[place(start)..place(end)]
    })
}

/// Calls `f(version, places)` for each version that added out-edges which `segment` takes away.
fn for_each_gone(words: &[AtomicU32], segment: &Segment, mut f: impl FnMut(u64, &[AtomicU32])) {
    let gone = segment.for_each_gone(words, 0, |version, places| {
        f(version, places);
        Ok(())
    });
    gone.expect("it was taken in before");
}

/// Calls `f(v, neighbor, weight)` for each of some edges, which are ascending places in `lists`.
pub(crate) fn for_each_edge(
    words: &[AtomicU32],
    lists: &Lists,
    places: &[AtomicU32],
    mut f: impl FnMut(VertexId, VertexId, f32),
) {
    let (neighbors, weights) = (lists.neighbors(words), lists.weights(words));
    let mut sources = lists.sources_of(words);
    for (index, place) in places.iter().enumerate() {
        if let Some(ahead) = places.get(index + READ_AHEAD) {
            let ahead = ahead.load(Relaxed) as usize;
            prefetch(&neighbors[ahead..]);
            prefetch(weights.get(ahead..).unwrap_or_default());
        }
        let at = place.load(Relaxed) as usize;
        f(sources.of(at), neighbors[at].load(Relaxed), weight_of(weights.get(at)));
    }
}

pub(crate) fn weight_of(bits: Option<&AtomicU32>) -> f32 {
    bits.map_or(1.0, |bits| f32::from_bits(bits.load(Relaxed)))
}
