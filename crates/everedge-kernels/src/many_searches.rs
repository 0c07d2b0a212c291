//! Breadth-first searches from many sources at once.
//!
//! Each vertex has a bit for each source that reached it. A step passes the bits of the frontier
//! on, and whoever got a new bit is in the next one: an edge is followed once for all the sources
//! that come over it in the same step. Bits are in several words side by side, which a cache loads
//! together.
//!
//! Sources that search together are near each other, so that their bits come together on graphs of
//! large diameter too. Where they are not, as a small sample of a road network, they search one
//! after the other.
//!
//! Source: Then et al., "The More the Merrier: Efficient Multi-Source Graph Traversal", PVLDB 2014
//! (there called MS-BFS). Differences: push or pull is chosen as for all kernels
//! ([`frontier`](crate::frontier)); groups of sources by a search, there by degree.
//!
//! # Cost
//! For each group of 512 sources as many steps as the largest distance, and the edges of a vertex
//! as often as it has different distances from them; or else a search for each source. Up to 64
//! sources are one group, near if no vertex is far from one of them. 16 bytes for each id and 64
//! sources of a group, 4 bytes for each id, 9 more while sources search one after the other, and a
//! frontier of up to 4 bytes for each vertex. The groups are found by one thread, which reads lists
//! wherever they lie.

use std::array;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use everedge_core::{Bitmap, GraphView, SplitMix64, VertexId, par, watch};

use crate::frontier::{EdgeMap, EdgeStep, Frontier, vertices};
use crate::{Bfs, UNREACHED, bfs};

/// Vertices in a piece of work.
const GRAIN: u32 = 1 << 12;
/// Words of a vertex if there are more sources than a word has bits.
const WORDS: usize = 8;
/// Sources of a group with a larger spread search one after the other: a vertex has up to twice as
/// many different distances from them, and each takes four times as long as one search takes for
/// the vertex.
const SPREAD_MAX: u32 = 32;

/// Searches `view` from `sources`, which are different vertices, and calls `f(v, distance, count)`
/// for each vertex and how many of them are at that distance from it, once or several times for
/// different ones; only one thread at a time calls it for a vertex. Returns how many pairs of a
/// source and a vertex are at each distance.
pub(crate) fn search_from(
    view: &impl GraphView,
    sources: &[VertexId],
    f: impl Fn(VertexId, u32, u32) + Sync + Send,
) -> Vec<u64> {
    match sources.len() <= u64::BITS as usize {
        true => {
            // A search from one of so few says enough.
            let first = sources.first().and_then(|&source| bfs(view, source).ok());
            let spread = first.map_or(0, |found| found.depth_max() / 2);
            let group = Group { sources: sources.to_vec(), spread };
            search_in_groups::<1>(view, &[group], f)
        }
        false => {
            let groups = groups(view, sources, WORDS * u64::BITS as usize);
            search_in_groups::<WORDS>(view, &groups, f)
        }
    }
}

fn search_in_groups<const WORDS: usize>(
    view: &impl GraphView,
    groups: &[Group],
    f: impl Fn(VertexId, u32, u32) + Sync + Send,
) -> Vec<u64> {
    let searches = Searches::<WORDS>::new(view.vertex_bound());
    let mut pairs = Vec::new();
    for (done, Group { sources, spread }) in (0..).zip(groups) {
        watch::note(done, groups.len() as u64);
        match *spread <= SPREAD_MAX {
            true => {
                par::among_threads(view.homes(), || searches.run(view, sources, &f, &mut pairs))
            }
            false => search_one_by_one(view, sources, &f, &mut pairs),
        }
    }
    pairs
}

/// Draws `count` different vertices, or all if there are no more, in ascending order: a shuffle
/// that ends when there are enough.
pub(crate) fn draw(view: &impl GraphView, count: u32, seed: u64) -> Vec<VertexId> {
    let mut vertices = vertices(view);
    let count = vertices.len().min(count as usize);
    let mut random = SplitMix64::new(seed);
    for place in 0..count {
        let left = vertices.len() - place;
        vertices.swap(place, place + random.below(left as u64) as usize);
    }
    vertices.truncate(count);
    vertices.shrink_to_fit();
    vertices.sort_unstable();
    vertices
}

/// Sources that are near each other.
#[derive(Default)]
struct Group {
    sources: Vec<VertexId>,
    /// How many edges the farthest is away from one in the middle, directions ignored.
    spread: u32,
}

/// Returns groups of at most `size` of the `sources`. Each is what a search from a vertex meets
/// first that is in no group before; the next one begins at its border, if there is something left.
fn groups(view: &impl GraphView, sources: &[VertexId], size: usize) -> Vec<Group> {
    let bound = view.vertex_bound();
    let mut is_source = Bitmap::new(bound);
    sources.iter().for_each(|&source| is_source.insert(source));
    let (mut groups, mut group) = (Vec::new(), Group::default());
    let mut is_met = vec![false; bound as usize];
    let (mut starts, mut queue) = (Vec::new(), VecDeque::new());
    for &source in sources {
        starts.push(source);
        while let Some(start) = starts.pop() {
            if std::mem::replace(&mut is_met[start as usize], true) {
                continue;
            }
            queue.push_back((start, 0));
            while let Some((u, depth)) = queue.pop_front() {
                for_each_neighbor(view, u, |v| {
                    if !std::mem::replace(&mut is_met[v as usize], true) {
                        queue.push_back((v, depth + 1));
                    }
                });
                if is_source.contains(u) {
                    group.sources.push(u);
                    group.spread = group.spread.max(depth);
                }
                if group.sources.len() == size {
                    watch::check();
                    groups.push(std::mem::take(&mut group));
                    queue.iter().for_each(|&(v, _)| is_met[v as usize] = false);
                    starts = queue.drain(..).rev().map(|(v, _)| v).collect();
                }
            }
        }
    }
    groups.extend((!group.sources.is_empty()).then_some(group));
    groups
}

/// Calls `f` with the neighbors of `v` in both directions.
fn for_each_neighbor(view: &impl GraphView, v: VertexId, mut f: impl FnMut(VertexId)) {
    view.out_neighbors(v).for_each(&mut f);
    if view.is_directed() {
        view.in_neighbors(v).for_each(f);
    }
}

/// Searches from one source after the other, and adds to `pairs`.
fn search_one_by_one(
    view: &impl GraphView,
    sources: &[VertexId],
    f: &(impl Fn(VertexId, u32, u32) + Sync + Send),
    pairs: &mut Vec<u64>,
) {
    for &source in sources {
        // The sources are vertices.
        let Ok(Bfs { depth, .. }) = bfs(view, source) else { continue };
        let counts = par::map_ranges(view.vertex_bound(), GRAIN, |range| {
            let mut counts = Vec::new();
            for v in range {
                let depth = depth[v as usize];
                if depth != UNREACHED {
                    f(v, depth, 1);
                    add(&mut counts, depth, 1);
                }
            }
            counts
        });
        for counts in counts {
            (0..).zip(counts).for_each(|(depth, count)| add(pairs, depth, count));
        }
    }
}

/// Adds to the number at a place, which may be behind the last one.
fn add(counts: &mut Vec<u64>, place: u32, count: u64) {
    let place = place as usize;
    if counts.len() <= place {
        counts.resize(place + 1, 0);
    }
    counts[place] += count;
}

/// The bits of a vertex.
type Bits<const WORDS: usize> = [AtomicU64; WORDS];

fn no_bits<const WORDS: usize>() -> Bits<WORDS> {
    array::from_fn(|_| AtomicU64::new(0))
}

/// The searches of one group of sources.
struct Searches<const WORDS: usize> {
    /// Which sources reached each vertex up to the last step.
    reached_by: Vec<Bits<WORDS>>,
    /// Which did so up to this step.
    next: Vec<Bits<WORDS>>,
    /// The step in which a push last put each vertex into the next frontier.
    pushed_at: Vec<AtomicU32>,
}

/// Passes bits on.
struct Pass<'a, const WORDS: usize> {
    searches: &'a Searches<WORDS>,
    step: u32,
    /// The bits that some vertex got in the step before: no others are new to anybody.
    moving: [u64; WORDS],
}

impl<const WORDS: usize> EdgeStep for Pass<'_, WORDS> {
    const STOPS_EARLY: bool = false;

    #[inline]
    fn wants(&self, v: VertexId) -> bool {
        let next = &self.searches.next[v as usize];
        (0..WORDS).any(|i| self.moving[i] & !next[i].load(Relaxed) != 0)
    }

    #[inline]
    fn push(&self, u: VertexId, v: VertexId) -> bool {
        let (from, next) = self.bits(u, v);
        let mut is_new = false;
        for i in 0..WORDS {
            let new = from[i].load(Relaxed) & !next[i].load(Relaxed);
            if new != 0 {
                next[i].fetch_or(new, Relaxed);
                is_new = true;
            }
        }
        let pushed_at = &self.searches.pushed_at[v as usize];
        is_new
            && pushed_at.load(Relaxed) != self.step
            && pushed_at.swap(self.step, Relaxed) != self.step
    }

    #[inline]
    fn pull(&self, u: VertexId, v: VertexId) -> bool {
        let (from, next) = self.bits(u, v);
        let mut new = 0;
        for i in 0..WORDS {
            let (before, from) = (next[i].load(Relaxed), from[i].load(Relaxed));
            new |= from & !before;
            next[i].store(before | from, Relaxed);
        }
        new != 0
    }
}

impl<const WORDS: usize> Pass<'_, WORDS> {
    #[inline]
    fn bits(&self, u: VertexId, v: VertexId) -> (&Bits<WORDS>, &Bits<WORDS>) {
        (&self.searches.reached_by[u as usize], &self.searches.next[v as usize])
    }
}

impl<const WORDS: usize> Searches<WORDS> {
    /// No step of a push.
    const NEVER: u32 = u32::MAX;

    fn new(bound: u32) -> Self {
        let bits = || par::collect(bound as usize, |_| no_bits());
        let pushed_at = par::collect(bound as usize, |_| AtomicU32::new(Self::NEVER));
        Self { reached_by: bits(), next: bits(), pushed_at }
    }

    /// Searches from `sources`, one for each bit, and adds to `pairs`.
    fn run(
        &self,
        view: &impl GraphView,
        sources: &[VertexId],
        f: &(impl Fn(VertexId, u32, u32) + Sync + Send),
        pairs: &mut Vec<u64>,
    ) {
        par::for_each_range(view.vertex_bound(), GRAIN, |range| {
            for v in range.start as usize..range.end as usize {
                let bits = self.reached_by[v].iter().chain(&self.next[v]);
                bits.for_each(|word| word.store(0, Relaxed));
                self.pushed_at[v].store(Self::NEVER, Relaxed);
            }
        });
        for (bit, &source) in sources.iter().enumerate() {
            self.next[source as usize][bit / 64].store(1 << (bit % 64), Relaxed);
        }
        let mut edge_map = EdgeMap::reaching_again(view);
        let mut frontier = Frontier::from_list(sources.to_vec());
        for step in 0.. {
            let moving = no_bits::<WORDS>();
            let count = frontier.sum(|v| {
                let count = self.end_step(v, &moving);
                f(v, step, count);
                u64::from(count)
            });
            if count == 0 {
                break;
            }
            add(pairs, step, count);
            let pass = Pass { searches: self, step, moving: moving.map(AtomicU64::into_inner) };
            frontier = edge_map.step(&mut frontier, &pass);
        }
    }

    /// Ends the step that changed the bits of `v`, and adds the new ones to `moving`; returns how
    /// many these are.
    fn end_step(&self, v: VertexId, moving: &Bits<WORDS>) -> u32 {
        let (reached_by, next) = (&self.reached_by[v as usize], &self.next[v as usize]);
        let mut count = 0;
        for i in 0..WORDS {
            let (before, after) = (reached_by[i].load(Relaxed), next[i].load(Relaxed));
            let new = after & !before;
            if new != 0 {
                count += new.count_ones();
                reached_by[i].store(after, Relaxed);
                if new & !moving[i].load(Relaxed) != 0 {
                    moving[i].fetch_or(new, Relaxed);
                }
            }
        }
        count
    }
}
