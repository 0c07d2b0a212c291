//! Topological order: every vertex after all that have an edge to it, or a cycle, if that cannot
//! be.
//!
//! The vertices that no edge enters are first. They are taken away with their edges, and those that
//! no edge enters then are next, level by level. The *level* of a vertex is the number of edges of
//! the longest path that ends there. The order is by levels, and by ids within a level, so that it
//! is the same every time.
//!
//! What is left when no more can be taken is on a cycle or behind one. Each such vertex has an
//! in-neighbor that is left: whoever goes back from one to the next comes to a vertex that was
//! there before, and has found a cycle. An edge of an undirected graph, which leads both ways, is a
//! cycle of two vertices, and a self-loop is one of one.
//!
//! Source: Kahn, "Topological Sorting of Large Networks", CACM 1962. Differences: a level is taken
//! away at once, in parallel; lists are read at their home as in XPGraph (ToS 2025, §4.2).
//!
//! # Cost
//! O(vertices + edges): every out-list once; as many steps as there are levels, which a long path
//! makes many of little work each. In-lists are read only where a cycle is searched for. 12 bytes
//! for each id: levels, the order, and counts of in-edges.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_core::{Direction, GraphView, VertexId, par, watch};

use crate::Result;
use crate::error::require;
use crate::frontier::{filter, joined, map_sources, push_grain, vertices, visit_out_edges};
use crate::pagerank::degrees;
use crate::spots::{LIST_MAX, Spots, check_all, drawn};

/// The level of a vertex on a cycle or behind one, and of an id that is no vertex.
pub const NO_LEVEL: u32 = u32::MAX;

/// The place of a vertex that a walk was not at.
const NOWHERE: u32 = u32::MAX;
/// One of so many pieces of ids is spot-checked.
const SHARE: u32 = 64;
/// Edges of a cycle that a spot check looks for.
const CYCLE_EDGES: u32 = 256;
const KERNEL: &str = "topological-order";

/// What [`topological_order`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopologicalOrder {
    /// The vertices by level, and by id within a level: each edge leads to a later one. Without
    /// those on a cycle or behind one.
    pub order: Vec<VertexId>,
    /// `[vertex_bound]`: the number of edges of the longest path that ends at each vertex, or
    /// [`NO_LEVEL`].
    pub level: Vec<u32>,
    /// The vertices of a cycle in the order of its edges, the smallest first; empty if there is no
    /// cycle.
    pub cycle: Vec<VertexId>,
}

impl TopologicalOrder {
    /// Returns whether there is no cycle: then all vertices are in the order.
    pub fn is_acyclic(&self) -> bool {
        self.cycle.is_empty()
    }

    /// Returns the number of levels.
    pub fn level_count(&self) -> u32 {
        self.order.last().map_or(0, |&v| self.level[v as usize] + 1)
    }
}

/// Orders the vertices of `view` so that edges lead forward, or finds a cycle.
///
/// # Example
/// ```
/// use everedge_core::{Csr, CsrOptions};
/// use everedge_kernels::topological_order;
///
/// let options = CsrOptions { directed: true, ..CsrOptions::default() };
/// let g = Csr::from_edges(&[(3, 1), (1, 0), (3, 2), (2, 0)], None, options);
/// assert_eq!(topological_order(&g).order, [3, 1, 2, 0]);
/// let g = Csr::from_edges(&[(3, 1), (1, 0), (0, 3), (2, 0)], None, options);
/// assert_eq!(topological_order(&g).cycle, [0, 3, 1]);
/// ```
pub fn topological_order(view: &impl GraphView) -> TopologicalOrder {
    let atomic = |numbers: Vec<u32>| numbers.into_iter().map(AtomicU32::new).collect::<Vec<_>>();
    let incoming = atomic(degrees(view, Direction::In));
    let level = atomic(par::collect(view.vertex_bound() as usize, |_| NO_LEVEL));
    let order = par::among_threads(view.homes(), || take_levels(view, &incoming, &level));
    let level: Vec<_> = level.into_iter().map(AtomicU32::into_inner).collect();
    let mut place: Vec<_> = incoming.into_iter().map(AtomicU32::into_inner).collect();
    let is_whole = order.len() == view.vertex_count() as usize;
    let cycle = if is_whole { Vec::new() } else { cycle(view, &level, &mut place) };
    TopologicalOrder { order, level, cycle }
}

/// Takes level by level away; returns the order, and leaves the counts of `incoming` edges that are
/// left.
fn take_levels(
    view: &impl GraphView,
    incoming: &[AtomicU32],
    level: &[AtomicU32],
) -> Vec<VertexId> {
    let mut order = Vec::with_capacity(view.vertex_count() as usize);
    let mut frontier = filter(&vertices(view), |v| incoming[v as usize].load(Relaxed) == 0);
    for step in 0.. {
        if frontier.is_empty() {
            break;
        }
        if !frontier.is_sorted() {
            par::sort(&mut frontier);
        }
        order.extend_from_slice(&frontier);
        watch::note(order.len() as u64, view.vertex_count().into());
        let grain = push_grain(view, frontier.len());
        let next = map_sources(view, &frontier, Direction::Out, grain, |list| {
            let mut next = Vec::new();
            list.iter().for_each(|&u| level[u as usize].store(step, Relaxed));
            visit_out_edges(view, list, |_, v| {
                if incoming[v as usize].fetch_sub(1, Relaxed) == 1 {
                    next.push(v);
                }
            });
            next
        });
        frontier = joined(next);
    }
    order
}

/// Finds a cycle among the vertices without a level, with `place` as scratch space.
fn cycle(view: &impl GraphView, level: &[u32], place: &mut [u32]) -> Vec<VertexId> {
    let is_left = |v: VertexId| level[v as usize] == NO_LEVEL && view.is_vertex(v);
    place.fill(NOWHERE);
    let mut walk = Vec::new();
    let mut next = (0..view.vertex_bound()).find(|&v| is_left(v));
    while let Some(v) = next {
        let before = place[v as usize];
        if before != NOWHERE {
            let mut cycle = walk.split_off(before as usize);
            cycle.reverse();
            let smallest = (0..cycle.len()).min_by_key(|&i| cycle[i]).unwrap_or(0);
            cycle.rotate_left(smallest);
            return cycle;
        }
        watch::check();
        place[v as usize] = walk.len() as u32;
        walk.push(v);
        next = view.in_neighbors(v).filter(|&u| is_left(u)).min();
    }
    Vec::new()
}

/// Checks that `result` has a topological order of `view`, or a cycle.
///
/// It has if every vertex is one level above the highest of its in-neighbors, or has no level as
/// one of these, the order has all vertices that have one, by level and id, and there is a cycle of
/// edges if some have none. Cost: every in-list once.
///
/// # Errors
/// [`WrongResult`](crate::Error::WrongResult) with the first property that does not hold.
pub fn verify_topological_order(view: &impl GraphView, result: &TopologicalOrder) -> Result<()> {
    check_order(view, result)?;
    check_cycle(view, result, u32::MAX)?;
    check_all(view.vertex_bound(), |v| check_level(view, result, v))
}

/// Checks the order, the levels of some vertices, and some edges of the cycle.
///
/// Misses wrong levels of few vertices. Cost: the order once, one of 64 vertices, up to 256 edges
/// of each, and the lists of 256 vertices of the cycle.
///
/// # Errors
/// As [`verify_topological_order`].
pub fn spot_check_topological_order(
    view: &impl GraphView,
    result: &TopologicalOrder,
) -> Result<()> {
    check_order(view, result)?;
    check_cycle(view, result, CYCLE_EDGES)?;
    Spots::one_of(SHARE, view.vertex_bound()).check(|v| {
        let is_short = view.in_degree(v) as usize <= LIST_MAX;
        if is_short { check_level(view, result, v) } else { Ok(()) }
    })
}

/// Checks the level of `v` by those of its in-neighbors.
fn check_level(view: &impl GraphView, result: &TopologicalOrder, v: VertexId) -> Result<()> {
    // One more than no level is no level again.
    let above = |u: VertexId| result.level[u as usize].saturating_add(1);
    let expected = match view.is_vertex(v) {
        true => view.in_neighbors(v).map(above).max().unwrap_or(0),
        false => NO_LEVEL,
    };
    let level = result.level[v as usize];
    require(KERNEL, level == expected, || {
        format!("{v} has level {level}, by its in-neighbors {expected}")
    })
}

/// Checks that the order has the vertices with a level, each once, by level and id.
fn check_order(view: &impl GraphView, result: &TopologicalOrder) -> Result<()> {
    let require = |holds, property: &dyn Fn() -> String| require(KERNEL, holds, property);
    let (TopologicalOrder { order, level, cycle }, bound) = (result, view.vertex_bound());
    require(level.len() == bound as usize, &|| format!("{} levels for {bound} ids", level.len()))?;
    let key = |v: VertexId| (level.get(v as usize).copied().unwrap_or(NO_LEVEL), v);
    let is_ordered = order.is_sorted_by(|&u, &v| key(u) < key(v));
    let is_levelled = order.last().is_none_or(|&v| key(v).0 != NO_LEVEL);
    require(is_ordered && is_levelled, &|| "the order is not by levels and ids".to_owned())?;
    let levelled = level.iter().filter(|&&level| level != NO_LEVEL).count();
    require(order.len() == levelled, &|| {
        format!("{} vertices in the order, {levelled} have a level", order.len())
    })?;
    require(cycle.is_empty() == (levelled == view.vertex_count() as usize), &|| {
        format!(
            "{levelled} of {} vertices have a level, the cycle is {cycle:?}",
            view.vertex_count()
        )
    })
}

/// Checks that the cycle has different vertices, and edges between them: `edges_max` of them at
/// most.
fn check_cycle(view: &impl GraphView, result: &TopologicalOrder, edges_max: u32) -> Result<()> {
    let cycle = &result.cycle;
    let are_vertices = cycle.iter().all(|&v| v < view.vertex_bound() && view.is_vertex(v));
    require(KERNEL, are_vertices && are_different(cycle), || {
        "the cycle has other ids than vertices, or one twice".to_owned()
    })?;
    drawn(edges_max, cycle.len() as u32).try_for_each(|i| {
        let (u, v) = (cycle[i as usize], cycle[(i as usize + 1) % cycle.len()]);
        watch::check();
        require(KERNEL, view.has_edge(u, v), || format!("the cycle has no edge {u} -> {v}"))
    })
}

/// Returns whether no vertex is named twice.
pub(crate) fn are_different(list: &[VertexId]) -> bool {
    let mut sorted = list.to_vec();
    par::sort(&mut sorted);
    sorted.is_sorted_by(|u, v| u < v)
}
