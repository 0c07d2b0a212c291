//! Weakly connected components: which vertices hang together if directions are ignored.
//!
//! Every vertex points at a vertex of its component with a smaller or the same id, itself at
//! first. *Link* joins the trees of two neighbors by letting the larger root point at the smaller;
//! *compress* lets every vertex point at its root. Afforest links a few neighbors of each vertex
//! first. On most graphs nearly all vertices are then in one component, whose further edges need
//! not be read: an edge that leaves it is seen from its other end.
//!
//! Source: Sutton, Ben-Nun and Barak, "Optimizing Parallel Graph Connectivity Computation via
//! Subgraph Sampling", IPDPS 2018, figures 3 to 5. Differences: the sample that finds the most
//! frequent component is spread evenly, so that the work is the same every time; of a directed graph a neighbor in each
//! direction is sampled, not two in one. Lists are read at their home as in XPGraph (ToS 2025, §4.2).
//!
//! # Cost
//! Two edges of each vertex, and all edges of those outside the largest component; O(edges) at
//! worst, and in practice trees stay so low that links take constant time.
//! 4 bytes for each id: the result.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_core::{Direction, GraphView, HOME_SPAN, ListVisitor, VertexId, memory, par, watch};

use crate::Result;
use crate::error::{ids, require};
use crate::spots::{LIST_MAX, Spots, check_all, check_drawn, reached};

/// The component of an id that is no vertex.
pub const NO_COMPONENT: VertexId = VertexId::MAX;

/// Vertices in a piece of work.
const GRAIN: u32 = 1 << 11;
const _: () = assert!(HOME_SPAN.is_multiple_of(GRAIN));
/// How many neighbors are seen before one is linked.
const LINKED_LATER: usize = 16;
/// Vertices to look at when it is sought.
const SAMPLED_VERTICES: u32 = 1024;
/// One of so many pieces of ids is spot-checked.
const SHARE: u32 = 256;
/// Vertices whose component a spot check searches for, and the edges that each search may follow.
const SEARCHES: u32 = 256;
const SEARCHED_EDGES: usize = 64;

/// What [`wcc`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wcc {
    /// `[vertex_bound]`: the smallest vertex of the component of each vertex, or
    /// [`NO_COMPONENT`].
    pub component: Vec<VertexId>,
}

impl Wcc {
    /// Returns how many components there are.
    pub fn component_count(&self) -> u32 {
        component_count(&self.component)
    }

    /// Returns how many vertices the largest component has. Needs 4 bytes for each id.
    pub fn largest(&self) -> u32 {
        largest(&self.component)
    }
}

/// Returns how many vertices a component is named after.
pub(crate) fn component_count(component: &[VertexId]) -> u32 {
    (0..).zip(component).filter(|&(v, &root)| v == root).count() as u32
}

/// Returns how many vertices the largest component has.
pub(crate) fn largest(component: &[VertexId]) -> u32 {
    let mut vertex_counts = vec![0_u32; component.len()];
    // Of most vertices the next one is in the same component: an addition waits for the one before.
    let (mut last, mut run, mut most) = (NO_COMPONENT, 0, 0);
    let mut add = |root: VertexId, run: u32| {
        if let Some(count) = vertex_counts.get_mut(root as usize) {
            *count += run;
            most = most.max(*count);
        }
    };
    for &root in component.iter().filter(|&&root| root != NO_COMPONENT) {
        if root != last {
            add(last, run);
            (last, run) = (root, 0);
        }
        run += 1;
    }
    add(last, run);
    most
}

/// Finds the weakly connected components of `view`.
///
/// # Example
/// ```
/// use everedge_core::{Csr, CsrOptions};
/// use everedge_kernels::{NO_COMPONENT, wcc};
///
/// let g = Csr::from_edges(&[(1, 4), (3, 2)], None, CsrOptions::default());
/// assert_eq!(wcc(&g).component, [NO_COMPONENT, 1, 2, 2, 1]);
/// ```
pub fn wcc(view: &impl GraphView) -> Wcc {
    let bound = view.vertex_bound();
    let component = par::collect(bound as usize, |v| AtomicU32::new(v as VertexId));
    // Of a directed graph one from each list: many vertices have nothing in one of them.
    let (samples, sampled) = match view.is_directed() {
        true => ([(Direction::In, 0), (Direction::Out, 0)], 1),
        false => ([(Direction::In, 0), (Direction::In, 1)], 2),
    };
    for (direction, round) in samples {
        visit_lists(view, direction, || Sample::new(&component, round));
        compress(&component);
    }
    let largest = most_frequent(view, |v| component[v as usize].load(Relaxed));
    let rest = || Rest { component: &component, largest, sampled };
    visit_lists(view, Direction::In, rest);
    if view.is_directed() {
        visit_lists(view, Direction::Out, rest);
    }
    compress(&component);
    let mut component: Vec<_> = component.into_iter().map(AtomicU32::into_inner).collect();
    par::map_chunks_mut(&mut component, GRAIN as usize, |first, roots| {
        let others = (first as VertexId..).zip(roots).filter(|(v, _)| !view.is_vertex(*v));
        others.for_each(|(_, root)| *root = NO_COMPONENT);
    });
    Wcc { component }
}

/// Shows the neighbors of all ids to visitors, each at the home of its lists.
pub(crate) fn visit_lists<V: ListVisitor>(
    view: &impl GraphView,
    direction: Direction,
    visitor: impl Fn() -> V + Sync + Send,
) {
    let home_of = |start| view.home(start, direction);
    par::map_ranges_at_home(view.homes(), view.vertex_bound(), GRAIN, home_of, |range| {
        view.visit_neighbors(direction, range, &mut visitor());
    });
}

/// Links a vertex with one neighbor, some places after it was seen: what is read of it is on its way
/// into the cache then.
struct Sample<'a> {
    component: &'a [AtomicU32],
    /// How many neighbors before it are left out.
    round: usize,
    /// What was seen lately.
    seen: [(VertexId, VertexId); LINKED_LATER],
    seen_count: usize,
}

impl<'a> Sample<'a> {
    fn new(component: &'a [AtomicU32], round: usize) -> Self {
        Self { component, round, seen: [(0, 0); LINKED_LATER], seen_count: 0 }
    }
}

impl Drop for Sample<'_> {
    fn drop(&mut self) {
        self.seen.iter().for_each(|&(v, u)| link(self.component, v, u));
    }
}

impl ListVisitor for Sample<'_> {
    const STOPS_EARLY: bool = true;

    #[inline]
    fn wants(&self, _: VertexId) -> bool {
        true
    }

    #[inline]
    fn visit(&mut self, v: VertexId, mut neighbors: impl Iterator<Item = VertexId>) {
        if let Some(u) = neighbors.nth(self.round) {
            memory::prefetch(&self.component[u as usize..]);
            let place = &mut self.seen[self.seen_count % LINKED_LATER];
            let (v, u) = std::mem::replace(place, (v, u));
            self.seen_count += 1;
            link(self.component, v, u);
        }
    }
}

/// Links the vertices outside the largest component with the neighbors that were not sampled.
struct Rest<'a> {
    component: &'a [AtomicU32],
    largest: Option<VertexId>,
    /// How many neighbors at the beginning of a list were sampled.
    sampled: usize,
}

impl ListVisitor for Rest<'_> {
    const STOPS_EARLY: bool = false;

    #[inline]
    fn wants(&self, v: VertexId) -> bool {
        Some(self.component[v as usize].load(Relaxed)) != self.largest
    }

    #[inline]
    fn visit(&mut self, v: VertexId, neighbors: impl Iterator<Item = VertexId>) {
        neighbors.skip(self.sampled).for_each(|u| link(self.component, v, u));
    }
}

/// Joins the trees of `u` and `v`.
pub(crate) fn link(component: &[AtomicU32], u: VertexId, v: VertexId) {
    let of = |v: u32| component[v as usize].load(Relaxed);
    let (mut a, mut b) = (of(u), of(v));
    while a != b {
        let (low, high) = (a.min(b), a.max(b));
        let above_high = of(high);
        let joined = above_high == low
            || above_high == high
                && component[high as usize].compare_exchange(high, low, Relaxed, Relaxed).is_ok();
        if joined {
            return;
        }
        (a, b) = (of(of(high)), of(low));
    }
}

/// Lets every vertex point at its root.
pub(crate) fn compress(component: &[AtomicU32]) {
    par::for_each_range(component.len() as u32, GRAIN, |range| {
        range.for_each(|v| point_at_root(component, v as usize));
    });
}

/// Lets the vertex at `place` point at its root.
#[inline]
pub(crate) fn point_at_root(component: &[AtomicU32], place: usize) {
    let of = |v: u32| component[v as usize].load(Relaxed);
    let above = component[place].load(Relaxed);
    let mut root = above;
    while root != of(root) {
        root = of(root);
    }
    if root != above {
        component[place].store(root, Relaxed);
    }
}

/// Returns the root that the most vertices of an even sample have, if there is a vertex.
pub(crate) fn most_frequent(
    view: &impl GraphView,
    root_of: impl Fn(VertexId) -> u32,
) -> Option<u32> {
    let bound = view.vertex_bound();
    let step = bound.div_ceil(SAMPLED_VERTICES).max(1) as usize;
    let sample = (0..bound).step_by(step).filter(|&v| view.is_vertex(v));
    let mut roots: Vec<_> = sample.map(root_of).collect();
    roots.sort_unstable();
    roots.chunk_by(|a, b| a == b).max_by_key(|equal| equal.len()).map(|equal| equal[0])
}

/// Checks that `result` has the weakly connected components of `view`.
///
/// It has if no edge joins two components, every component is named after its smallest vertex,
/// and from that vertex all of it can be reached over edges, either way.
/// Cost: every edge twice; 4 bytes for each vertex and a bit for each id.
///
/// # Errors
/// [`WrongResult`](crate::Error::WrongResult) with the first property that does not hold.
pub fn verify_wcc(view: &impl GraphView, result: &Wcc) -> Result<()> {
    let require = |holds, property: &dyn Fn() -> String| require("wcc", holds, property);
    let (component, bound) = (&result.component, view.vertex_bound());
    require(component.len() == bound as usize, &|| {
        format!("{} components for {bound} ids", component.len())
    })?;
    let mut seen = vec![false; bound as usize];
    let mut stack = Vec::new();
    for v in ids(bound) {
        let root = component[v as usize];
        if !view.is_vertex(v) {
            require(root == NO_COMPONENT, &|| format!("{v}, no vertex, is in {root}"))?;
            continue;
        }
        // Ascending: the first vertex of a component that comes by is its smallest, and its
        // search sees all the others.
        if seen[v as usize] {
            continue;
        }
        require(root == v, &|| format!("{v} is in component {root}, no edges lead there"))?;
        seen[v as usize] = true;
        stack.push(v);
        while let Some(u) = stack.pop() {
            watch::check();
            for w in view.out_neighbors(u).chain(view.in_neighbors(u)) {
                require(component[w as usize] == root, &|| {
                    format!("{u} in component {root} is a neighbor of {w} in another")
                })?;
                if !std::mem::replace(&mut seen[w as usize], true) {
                    stack.push(w);
                }
            }
        }
    }
    Ok(())
}

/// Checks that components are named after one of their vertices, that the edges of some vertices
/// do not leave their component, and that small components are not counted to others.
///
/// Misses two large components under one name, and faults at few vertices. Cost: the result once,
/// one of 256 vertices, up to 256 edges of each, and a search along 64 edges from 256 vertices.
///
/// # Errors
/// As [`verify_wcc`].
pub fn spot_check_wcc(view: &impl GraphView, result: &Wcc) -> Result<()> {
    let require = |holds, property: &dyn Fn() -> String| require("wcc", holds, property);
    let (component, bound) = (&result.component, view.vertex_bound());
    check_names("wcc", view, component)?;
    let both = |v| view.out_neighbors(v).chain(view.in_neighbors(v));
    Spots::one_of(SHARE, bound).check(|v| {
        let root = component[v as usize];
        let mut seen = both(v).take(LIST_MAX);
        let other = seen.find(|&w| component[w as usize] != root);
        require(other.is_none(), &|| {
            format!("{v} in component {root} is a neighbor of {other:?} in another")
        })
    })?;
    check_drawn(view, SEARCHES, |v| {
        let Some(list) = reached(v, SEARCHED_EDGES, both) else { return Ok(()) };
        let (root, smallest) = (component[v as usize], list.iter().min());
        require(smallest == Some(&root), &|| {
            format!("{v} is in component {root}, but its smallest vertex is {smallest:?}")
        })
    })
}

/// Checks that the vertices of `view`, and only they, are in components that are named after one of
/// their vertices, none of them after a larger one.
pub(crate) fn check_names(
    kernel: &'static str,
    view: &impl GraphView,
    component: &[VertexId],
) -> Result<()> {
    let bound = view.vertex_bound();
    require(kernel, component.len() == bound as usize, || {
        format!("{} components for {bound} ids", component.len())
    })?;
    check_all(bound, |v| {
        let root = component[v as usize];
        let holds = match view.is_vertex(v) {
            true => root <= v && component[root as usize] == root,
            false => root == NO_COMPONENT,
        };
        require(kernel, holds, || {
            format!("{v}, perhaps no vertex, is in {root}, which is not the smallest of its own")
        })
    })
}
