//! Cores: the largest parts of a graph in which every vertex has at least k neighbors.
//!
//! The *coreness* of a vertex is the largest k for which it is in the k-core. Peeling finds it
//! level by level: of the vertices that are left, those with k neighbors left are taken away, and
//! so are those that thereby keep no more than k, until all that are left have more; then k grows.
//! What was taken away at level k has coreness k.
//!
//! The graph is taken as simple and undirected: neighbors are those over edges in either direction,
//! each once, and never the vertex itself. No such copy of the graph is made. Every list is read
//! twice, to count its neighbors and when its vertex is taken away, and a bitmap of the thread tells
//! which neighbors were met before; the second time only if some were. Where the graph is known to be
//! simple and undirected, degrees are the counts, and lists are read once.
//!
//! Source: Batagelj and Zaveršnik, "An O(m) Algorithm for Cores Decomposition of Networks", 2003;
//! in parallel as in Dasari, Desh and Zubair, "ParK: An Efficient Algorithm for k-core
//! Decomposition on Large Multicore Processors", IEEE Big Data 2014. Differences: a level looks at
//! the vertices that are left, not at all, and k grows to their least degree at once; a degree is
//! never lowered below k, so none has to be raised again.
//!
//! # Cost
//! O(vertices + edges): every list twice, and for each level the vertices that are left, which over
//! all levels is no more than the sum of the coreness of all vertices. 16 bytes and a bit for each
//! id, and up to 3 bits for each id and thread. Lists are read wherever they lie.

use std::mem;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_core::{
    AtomicBitmap, Bitmap, Direction, GraphView, ListVisitor, VertexId, par, watch,
};

use crate::Result;
use crate::error::require;
use crate::frontier::{filter, joined, map_listed, retain, sort_for, vertices};
use crate::spots::{LIST_MAX, Spots};
use crate::triangles::simple_neighbors;

/// Vertices in a piece of work that reads their edges.
const GRAIN: usize = 64;
/// Vertices in a piece of work that does not.
const VERTEX_GRAIN: usize = 1 << 12;
/// A thread peels alone while it has fewer vertices to go on with than this.
const FUSED_MAX: usize = 1000;
/// One of so many pieces of ids is spot-checked.
const SHARE: u32 = 64;

/// What [`coreness`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coreness {
    /// `[vertex_bound]`: the largest k for which each vertex is in the k-core; 0 for an id that is
    /// no vertex.
    pub coreness: Vec<u32>,
}

impl Coreness {
    /// Returns the largest coreness: every part of the graph has a vertex with no more neighbors
    /// in it.
    pub fn degeneracy(&self) -> u32 {
        self.coreness.iter().copied().max().unwrap_or(0)
    }
}

/// Finds the coreness of every vertex of `view`; directions, self-loops and parallel edges count
/// for nothing.
///
/// # Example
/// ```
/// use everedge_core::{Csr, CsrOptions};
/// use everedge_kernels::coreness;
///
/// let g = Csr::from_edges(&[(0, 1), (1, 2), (2, 0), (2, 3)], None, CsrOptions::default());
/// assert_eq!(coreness(&g).coreness, [2, 2, 2, 1]);
/// ```
pub fn coreness(view: &impl GraphView) -> Coreness {
    let peeling = Peeling::new(view);
    par::among_threads(view.homes(), || {
        let mut left = vertices(view);
        while let Some(k) = peeling.degree_min(&left) {
            peeling.peel_level(&mut left, k);
        }
    });
    Coreness { coreness: peeling.degree.into_iter().map(AtomicU32::into_inner).collect() }
}

/// How far vertices are peeled.
struct Peeling<'v, V> {
    view: &'v V,
    /// How many neighbors that are left each vertex has; of one that was taken away, the level.
    degree: Vec<AtomicU32>,
    /// The vertices whose lists name every neighbor once and not themselves.
    simple: AtomicBitmap,
    threads: par::PerThread<Neighbors>,
    /// Whether there is one thread only, which need not lower degrees atomically.
    is_alone: bool,
}

impl<'v, V: GraphView> Peeling<'v, V> {
    fn new(view: &'v V) -> Self {
        let bound = view.vertex_bound();
        let threads = par::PerThread::new(|| Neighbors::new(bound));
        let simple = AtomicBitmap::new(bound);
        let mut degree: Vec<_> = (0..bound).map(|_| AtomicU32::new(0)).collect();
        let is_simple = !view.is_directed() && view.lists_are_distinct();
        let grain = if is_simple { VERTEX_GRAIN } else { GRAIN };
        par::map_chunks_mut(&mut degree, grain, |first, degrees| {
            let first = first as VertexId;
            let range = first..first + degrees.len() as VertexId;
            if is_simple {
                return view.for_each_degree(Direction::Out, range, |v, degree| {
                    simple.insert(v);
                    *degrees[(v - first) as usize].get_mut() = degree;
                });
            }
            threads.with(|neighbors| {
                let mut count = Count { view, simple: &simple, neighbors, first, degrees };
                view.visit_neighbors(Direction::Out, range, &mut count);
            });
        });
        Self { view, degree, simple, threads, is_alone: par::thread_count() == 1 }
    }

    #[inline]
    fn degree(&self, v: VertexId) -> u32 {
        self.degree[v as usize].load(Relaxed)
    }

    fn degree_min(&self, left: &[VertexId]) -> Option<u32> {
        let min_of = |list: &[VertexId]| list.iter().map(|&v| self.degree(v)).min();
        par::map_chunks(left, VERTEX_GRAIN, min_of).into_iter().flatten().min()
    }

    /// Takes vertices of `left` with at most `k` neighbors away until there are none.
    fn peel_level(&self, left: &mut Vec<VertexId>, k: u32) {
        let mut peeled = filter(left, |v| self.degree(v) <= k);
        // Lists on a device are read together, in their order.
        let fused_max = if self.view.reads_in_order() { 0 } else { FUSED_MAX };
        while !peeled.is_empty() {
            let peel = |list: &[VertexId]| {
                self.threads.with(|neighbors| self.peel(list, k, fused_max, neighbors))
            };
            peeled = joined(map_listed(self.view, &peeled, Direction::Out, GRAIN, peel));
            sort_for(self.view, &mut peeled);
        }
        retain(left, |v| self.degree(v) > k);
    }

    /// Takes the vertices of `list` away, and while there are fewer than `fused_max`, those that then have `k`
    /// neighbors left; returns those that are still to be taken.
    fn peel(
        &self,
        list: &[VertexId],
        k: u32,
        fused_max: usize,
        neighbors: &mut Neighbors,
    ) -> Vec<VertexId> {
        let mut peeled = Vec::new();
        for (i, &u) in list.iter().enumerate() {
            self.view.load_ahead(Direction::Out, &list[i..]);
            if self.view.is_directed() {
                self.view.load_ahead(Direction::In, &list[i..]);
            }
            self.take_away(u, k, neighbors, &mut peeled);
        }
        while peeled.len() < fused_max
            && let Some(u) = peeled.pop()
        {
            self.take_away(u, k, neighbors, &mut peeled);
        }
        peeled
    }

    /// Takes `u` away, and puts those that then have `k` neighbors left into `peeled`.
    fn take_away(
        &self,
        u: VertexId,
        k: u32,
        neighbors: &mut Neighbors,
        peeled: &mut Vec<VertexId>,
    ) {
        let lower = |v| {
            if self.lower(v, k) {
                peeled.push(v);
            }
        };
        if self.simple.contains(u) {
            for_each_listed(self.view, u, lower);
        } else {
            neighbors.for_each(self.view, u, |v| self.degree(v) > k, lower);
        }
    }

    /// Takes a neighbor from `v` if it has more than `k`; returns whether this call left it `k`.
    #[inline]
    fn lower(&self, v: VertexId, k: u32) -> bool {
        let degree = self.degree(v);
        if degree <= k {
            return false;
        }
        let slot = &self.degree[v as usize];
        if self.is_alone {
            slot.store(degree - 1, Relaxed);
            return degree - 1 == k;
        }
        let lower = |degree| (degree > k).then(|| degree - 1);
        slot.fetch_update(Relaxed, Relaxed, lower) == Ok(k + 1)
    }
}

/// Counts the neighbors of vertices.
struct Count<'a, V> {
    view: &'a V,
    simple: &'a AtomicBitmap,
    neighbors: &'a mut Neighbors,
    /// The vertex of the first of `degrees`.
    first: VertexId,
    degrees: &'a mut [AtomicU32],
}

impl<V: GraphView> ListVisitor for Count<'_, V> {
    const STOPS_EARLY: bool = false;

    #[inline]
    fn wants(&self, _: VertexId) -> bool {
        true
    }

    #[inline]
    fn visit(&mut self, v: VertexId, outgoing: impl Iterator<Item = VertexId>) {
        let mut entries = self.neighbors.add(v, outgoing, |_| true, |_| ());
        if self.view.is_directed() {
            entries += self.neighbors.add(v, self.view.in_neighbors(v), |_| true, |_| ());
        }
        let count = self.neighbors.end();
        if count == entries {
            self.simple.insert(v);
        }
        *self.degrees[(v - self.first) as usize].get_mut() = count as u32;
    }
}

/// Returns how many entries [`listed`] has.
fn listed_degree(view: &impl GraphView, v: VertexId) -> u64 {
    let incoming = if view.is_directed() { view.in_degree(v) } else { 0 };
    u64::from(view.out_degree(v)) + u64::from(incoming)
}

/// Calls `f` with the entries of the lists of `v`, of both directions.
#[inline]
fn for_each_listed(view: &impl GraphView, v: VertexId, mut f: impl FnMut(VertexId)) {
    view.out_neighbors(v).for_each(&mut f);
    if view.is_directed() {
        view.in_neighbors(v).for_each(f);
    }
}

/// Finds each neighbor of a vertex once.
pub(crate) struct Neighbors {
    /// Empty after [`end`](Self::end).
    met: Bitmap,
    /// The first of those that were met.
    list: Vec<VertexId>,
    /// How many were met.
    count: usize,
}

impl Neighbors {
    /// One of so many ids is listed at most: of more neighbors, the bitmap is cleared as a whole.
    const LISTED_SHARE: usize = 32;

    pub(crate) fn new(bound: u32) -> Self {
        Self { met: Bitmap::new(bound), list: Vec::new(), count: 0 }
    }

    /// Calls `f` with the neighbors of `v` for which `counts`, each once, without `v`.
    #[inline]
    pub(crate) fn for_each(
        &mut self,
        view: &impl GraphView,
        v: VertexId,
        counts: impl Fn(VertexId) -> bool,
        mut f: impl FnMut(VertexId),
    ) {
        self.add(v, view.out_neighbors(v), &counts, &mut f);
        if view.is_directed() {
            self.add(v, view.in_neighbors(v), counts, f);
        }
        self.end();
    }

    /// Returns how many neighbors `v` has for which `counts`, each once, without `v`.
    #[inline]
    fn count(
        &mut self,
        view: &impl GraphView,
        v: VertexId,
        counts: impl Fn(VertexId) -> bool,
    ) -> u32 {
        let mut count = 0;
        self.for_each(view, v, counts, |_| count += 1);
        count
    }

    /// Adds those `listed` for which `counts`, unless they are there or `v`, and calls `f` with each. Returns how many are
    /// listed.
    #[inline]
    fn add(
        &mut self,
        v: VertexId,
        listed: impl Iterator<Item = VertexId>,
        counts: impl Fn(VertexId) -> bool,
        mut f: impl FnMut(VertexId),
    ) -> usize {
        let mut entries = 0;
        listed.for_each(|u| {
            entries += 1;
            if self.meet(v, u, &counts) {
                f(u);
            }
        });
        entries
    }

    /// Adds those `listed` for which `counts`, until so many are there.
    #[inline]
    pub(crate) fn add_some(
        &mut self,
        v: VertexId,
        mut listed: impl Iterator<Item = VertexId>,
        counts: impl Fn(VertexId) -> bool,
        enough: usize,
    ) {
        while self.count < enough
            && let Some(u) = listed.next()
        {
            self.meet(v, u, &counts);
        }
    }

    /// Returns whether `u` is a neighbor of `v` that counts and was not met before.
    #[inline]
    fn meet(&mut self, v: VertexId, u: VertexId, counts: impl Fn(VertexId) -> bool) -> bool {
        let words = self.met.words_mut();
        let listed_max = words.len() * (u64::BITS as usize / Self::LISTED_SHARE);
        let (word, bit) = (&mut words[u as usize / 64], 1 << (u % 64));
        let is_new = *word & bit == 0 && u != v && counts(u);
        if is_new {
            *word |= bit;
            self.count += 1;
            if self.list.len() < listed_max {
                self.list.push(u);
            }
        }
        is_new
    }

    /// Returns how many were added.
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Returns how many were added, and forgets them.
    #[inline]
    pub(crate) fn end(&mut self) -> usize {
        let words = self.met.words_mut();
        match self.count == self.list.len() {
            true => self.list.iter().for_each(|&u| words[u as usize / 64] = 0),
            false => words.fill(0),
        }
        self.list.clear();
        mem::take(&mut self.count)
    }
}

/// Checks that `result` has the coreness of every vertex of `view`.
///
/// It has if every vertex of coreness k has at least k neighbors of coreness k or more, and the
/// vertices can be taken away in ascending order of coreness, each when no more neighbors are left
/// than its coreness. Cost: every list three times; 12 bytes and 2 bits for each id.
///
/// # Errors
/// [`WrongResult`](crate::Error::WrongResult) with the first property that does not hold.
pub fn verify_coreness(view: &impl GraphView, result: &Coreness) -> Result<()> {
    let require = |holds, property: &dyn Fn() -> String| require("coreness", holds, property);
    let (coreness, bound) = (&result.coreness, view.vertex_bound());
    require(coreness.len() == bound as usize, &|| {
        format!("the coreness of {} ids, not {bound}", coreness.len())
    })?;
    for v in (0..bound).filter(|&v| !view.is_vertex(v)) {
        let k = coreness[v as usize];
        require(k == 0, &|| format!("{v}, no vertex, has coreness {k}"))?;
    }
    let mut check = Check::new("coreness", view);
    check.inside(coreness)?;
    let mut vertices: Vec<_> = (0..bound).filter(|&v| view.is_vertex(v)).collect();
    vertices.sort_by_key(|&v| coreness[v as usize]);
    let equal = vertices.chunk_by(|&u, &v| coreness[u as usize] == coreness[v as usize]);
    equal.into_iter().try_for_each(|list| check.take_away(list, coreness[list[0] as usize]))
}

/// Checks that `result` has the vertices of the k-core of `view`.
///
/// It has if every one of them has at least k neighbors among them, and the others can be taken
/// away one after the other, each when fewer than k neighbors are left. Cost: as
/// [`verify_coreness`].
///
/// # Errors
/// [`WrongResult`](crate::Error::WrongResult) with the first property that does not hold.
pub fn verify_kcore(view: &impl GraphView, k: u32, result: &[VertexId]) -> Result<()> {
    let require = |holds, property: &dyn Fn() -> String| require("k-core", holds, property);
    require(result.is_sorted_by(|u, v| u < v), &|| "vertices are not ascending".to_owned())?;
    let bound = view.vertex_bound();
    let mut is_inside = Bitmap::new(bound);
    let mut level = vec![0; bound as usize];
    for &v in result {
        require(view.is_vertex(v), &|| format!("{v} is not a vertex"))?;
        is_inside.insert(v);
        level[v as usize] = k;
    }
    let outside = (0..bound).filter(|&v| view.is_vertex(v) && !is_inside.contains(v));
    let outside: Vec<_> = outside.collect();
    require(k > 0 || outside.is_empty(), &|| format!("{outside:?} are not in the 0-core"))?;
    let mut check = Check::new("k-core", view);
    check.inside(&level)?;
    check.take_away(&outside, k.saturating_sub(1))
}

/// Checks that some vertices have the coreness that their neighbors' says: the largest k of which
/// at least k neighbors have as much.
///
/// Source: Lü, Zhou, Zhang and Stanley, "The H-index of a network node and its relation to degree and
/// coreness", Nature Communications 2016. Misses values that are right beside each other's, and those
/// of few vertices. Cost: one of 64 vertices, unless it has more than 256 edges.
///
/// # Errors
/// As [`verify_coreness`].
pub fn spot_check_coreness(view: &impl GraphView, result: &Coreness) -> Result<()> {
    let require = |holds, property: &dyn Fn() -> String| require("coreness", holds, property);
    let (coreness, bound) = (&result.coreness, view.vertex_bound());
    require(coreness.len() == bound as usize, &|| {
        format!("the coreness of {} ids, not {bound}", coreness.len())
    })?;
    Spots::one_of(SHARE, bound).check(|v| {
        let k = coreness[v as usize];
        if !view.is_vertex(v) {
            return require(k == 0, &|| format!("{v}, no vertex, has coreness {k}"));
        }
        if listed_degree(view, v) > LIST_MAX as u64 {
            return Ok(());
        }
        let neighbors = simple_neighbors(view, v);
        let of_at_least =
            |k: u32| neighbors.iter().filter(|&&u| coreness[u as usize] >= k).count() as u32;
        let (inside, above) = (of_at_least(k), of_at_least(k + 1));
        require(inside >= k && above <= k, &|| {
            format!("{v} has coreness {k}, but {inside} neighbors of as much and {above} of more")
        })
    })
}

/// Checks that `result` is ascending, and that some vertices in it have k neighbors in it and others
/// fewer.
///
/// Misses what [`spot_check_coreness`] misses. Cost: the result once, and one of 64 vertices, unless
/// it has more than 256 edges.
///
/// # Errors
/// As [`verify_kcore`].
pub fn spot_check_kcore(view: &impl GraphView, k: u32, result: &[VertexId]) -> Result<()> {
    let require = |holds, property: &dyn Fn() -> String| require("k-core", holds, property);
    require(result.is_sorted_by(|u, v| u < v), &|| "vertices are not ascending".to_owned())?;
    let is_inside = |v: VertexId| result.binary_search(&v).is_ok();
    Spots::one_of(SHARE, view.vertex_bound()).check(|v| {
        if !view.is_vertex(v) {
            return require(!is_inside(v), &|| format!("{v} is not a vertex"));
        }
        if listed_degree(view, v) > LIST_MAX as u64 {
            return Ok(());
        }
        let neighbors = simple_neighbors(view, v);
        let inside = neighbors.iter().filter(|&&u| is_inside(u)).count();
        require((inside >= k as usize) == is_inside(v), &|| {
            format!("{v} has {inside} neighbors in the {k}-core; in it: {}", is_inside(v))
        })
    })
}

/// What the verifiers check.
struct Check<'v, V> {
    kernel: &'static str,
    view: &'v V,
    neighbors: Neighbors,
    /// How many neighbors that are left each vertex has.
    degree: Vec<u32>,
    taken: Bitmap,
}

impl<'v, V: GraphView> Check<'v, V> {
    fn new(kernel: &'static str, view: &'v V) -> Self {
        let bound = view.vertex_bound();
        let mut neighbors = Neighbors::new(bound);
        let degree = (0..bound).map(|v| neighbors.count(view, v, |_| true)).collect();
        Self { kernel, view, neighbors, degree, taken: Bitmap::new(bound) }
    }

    /// Checks that every vertex has at least as many neighbors of its level or more as its level
    /// says.
    fn inside(&mut self, level: &[u32]) -> Result<()> {
        for (v, &k) in (0..).zip(level) {
            let inside = self.neighbors.count(self.view, v, |u| level[u as usize] >= k);
            require(self.kernel, inside >= k, || {
                format!("{v} has {inside} neighbors in the {k}-core")
            })?;
        }
        Ok(())
    }

    /// Checks that those of `list`, whose level is `k`, can be taken away, each when at most `k`
    /// neighbors are left. Vertices of higher levels keep more, as was checked before.
    fn take_away(&mut self, list: &[VertexId], k: u32) -> Result<()> {
        let mut stack = list.to_vec();
        stack.retain(|&v| self.degree[v as usize] <= k);
        while let Some(u) = stack.pop() {
            watch::check();
            self.taken.insert(u);
            let Self { view, neighbors, degree, taken, .. } = self;
            neighbors.for_each(
                *view,
                u,
                |v| !taken.contains(v),
                |v| {
                    degree[v as usize] -= 1;
                    if degree[v as usize] == k {
                        stack.push(v);
                    }
                },
            );
        }
        list.iter().try_for_each(|&v| {
            let left = self.degree[v as usize];
            require(self.kernel, self.taken.contains(v), || {
                format!("{v} keeps {left} neighbors when those with {k} or fewer are taken away")
            })
        })
    }
}
