//! Bipartition: two colors, so that every edge joins vertices of both, or an odd cycle, if that
//! cannot be.
//!
//! Directions count for nothing. Each vertex is split into two *halves*, one for each color, and an
//! edge joins each half of one end with the other half of the other end. In a component that has
//! two colors, the halves of a vertex are not joined: the vertex and all that are joined with its
//! half by an even number of edges have the same color. An odd cycle joins both halves of all
//! vertices of its component.
//!
//! Halves are joined as vertices are for components ([`wcc`](crate::wcc())): a few neighbors of
//! each vertex first; if then most halves hang together, this component has an odd cycle, and its
//! other edges need not be read.
//!
//! The smallest vertex of each component has color 0. Where a component has an odd cycle, a search
//! from its smallest vertex finds one: the first edge between vertices of the same depth, with the
//! paths from both to where they meet.
//!
//! Source: the halves are the bipartite double cover, as in Ahn, Guha and McGregor, "Analyzing
//! Graph Structure via Linear Measurements", SODA 2012; Sutton, Ben-Nun and Barak,
//! "Optimizing Parallel Graph Connectivity Computation via Subgraph Sampling", IPDPS 2018 (to join
//! them).
//!
//! # Cost
//! Every edge once, and in a directed graph once from each end; where most vertices are in a
//! component with an odd cycle, two edges of these. The search for a cycle is done by one thread,
//! and ends at the depth of the first odd edge. 9 bytes for each id: the result, and two roots, or
//! depths for the search.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_core::{Direction, GraphView, ListVisitor, VertexId, memory, par, watch};

use crate::Result;
use crate::UNREACHED;
use crate::error::{ids, require};
use crate::spots::{LIST_MAX, Spots, check_all, check_drawn, drawn, reached};
use crate::topological_order::are_different;
use crate::wcc::{link, most_frequent, point_at_root, visit_lists};

/// The color of a vertex whose component has an odd cycle, and of an id that is no vertex.
pub const NO_COLOR: u8 = u8::MAX;

/// Vertices in a piece of work.
const GRAIN: u32 = 1 << 11;
/// How many neighbors are seen before the halves of one are joined.
const JOINED_LATER: usize = 16;
/// Neighbors of each vertex to join before the largest component is sought.
const SAMPLED_NEIGHBORS: usize = 2;
/// One of so many pieces of ids is spot-checked.
const SHARE: u32 = 64;
/// Vertices whose component a spot check searches for, and the edges that each search may follow.
const SEARCHES: u32 = 256;
const SEARCHED_EDGES: usize = 64;
/// Edges of a cycle that a spot check looks for.
const CYCLE_EDGES: u32 = 256;
const KERNEL: &str = "bipartition";

/// What [`bipartition`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bipartition {
    /// `[vertex_bound]`: the color of each vertex, 0 or 1, or [`NO_COLOR`].
    pub color: Vec<u8>,
    /// The vertices of a cycle of an odd number of edges, in its order; one of them for a
    /// self-loop. Empty if the graph is bipartite.
    pub odd_cycle: Vec<VertexId>,
}

impl Bipartition {
    /// Returns whether all vertices have a color.
    pub fn is_bipartite(&self) -> bool {
        self.odd_cycle.is_empty()
    }
}

/// Colors the vertices of `view` with two colors, or finds an odd cycle.
///
/// # Example
/// ```
/// use everedge_core::{Csr, CsrOptions};
/// use everedge_kernels::{NO_COLOR, bipartition};
///
/// let g = Csr::from_edges(&[(0, 3), (3, 1), (4, 1)], None, CsrOptions::default());
/// assert_eq!(bipartition(&g).color, [0, 0, NO_COLOR, 1, 1]);
/// let g = Csr::from_edges(&[(0, 3), (3, 1), (0, 1)], None, CsrOptions::default());
/// assert!(!bipartition(&g).is_bipartite());
/// ```
pub fn bipartition(view: &impl GraphView) -> Bipartition {
    let halves = Halves::new(view.vertex_bound());
    let some = |skipped, taken| Join::new(&halves, None, skipped, taken);
    for round in 0..SAMPLED_NEIGHBORS {
        visit_lists(view, Direction::In, || some(round, 1));
        halves.compress();
    }
    let largest = most_frequent(view, |v| halves.root(v, 0));
    let rest = |skipped| Join::new(&halves, largest, skipped, usize::MAX);
    visit_lists(view, Direction::In, || rest(SAMPLED_NEIGHBORS));
    if view.is_directed() {
        visit_lists(view, Direction::Out, || rest(0));
    }
    halves.compress();
    let color = par::collect(view.vertex_bound() as usize, |v| halves.color(view, v as VertexId));
    drop(halves);
    let uncolored = (0..).zip(&color).find(|&(v, &color)| color == NO_COLOR && view.is_vertex(v));
    let odd_cycle = uncolored.map(|(v, _)| odd_cycle(view, v)).unwrap_or_default();
    Bipartition { color, odd_cycle }
}

/// The two halves of each vertex, each of which points at one of its component that is not larger.
struct Halves(Vec<AtomicU32>);

impl Halves {
    fn new(bound: u32) -> Self {
        Self(par::collect(2 * bound as usize, |half| AtomicU32::new(half as u32)))
    }

    #[inline]
    fn root(&self, v: VertexId, side: u32) -> u32 {
        self.0[2 * v as usize + side as usize].load(Relaxed)
    }

    /// Lets every half point at its root.
    fn compress(&self) {
        par::for_each_range((self.0.len() / 2) as u32, GRAIN, |range| {
            for half in 2 * range.start as usize..2 * range.end as usize {
                point_at_root(&self.0, half);
            }
        });
    }

    /// Joins the halves of two neighbors.
    #[inline]
    fn join(&self, u: VertexId, v: VertexId) {
        link(&self.0, 2 * u, 2 * v + 1);
        link(&self.0, 2 * u + 1, 2 * v);
    }

    /// Returns the color of an id: the smallest half of a component is of its smallest vertex.
    fn color(&self, view: &impl GraphView, v: VertexId) -> u8 {
        let [root, other] = [self.root(v, 0), self.root(v, 1)];
        if root == other || !view.is_vertex(v) { NO_COLOR } else { (root % 2) as u8 }
    }
}

/// Joins vertices with their neighbors, some places after these were seen: what is read of them is
/// on its way into the cache then.
struct Join<'a> {
    halves: &'a Halves,
    /// Vertices with both halves in this component are left out.
    largest: Option<u32>,
    /// How many neighbors at the beginning of a list are left out, and how many after these are
    /// joined.
    skipped: usize,
    taken: usize,
    /// What was seen lately.
    seen: [(VertexId, VertexId); JOINED_LATER],
    seen_count: usize,
}

impl<'a> Join<'a> {
    fn new(halves: &'a Halves, largest: Option<u32>, skipped: usize, taken: usize) -> Self {
        Self { halves, largest, skipped, taken, seen: [(0, 0); JOINED_LATER], seen_count: 0 }
    }
}

impl Drop for Join<'_> {
    fn drop(&mut self) {
        let count = self.seen_count.min(JOINED_LATER);
        self.seen[..count].iter().for_each(|&(v, u)| self.halves.join(v, u));
    }
}

impl ListVisitor for Join<'_> {
    const STOPS_EARLY: bool = false;

    #[inline]
    fn wants(&self, v: VertexId) -> bool {
        let is_largest = |side| Some(self.halves.root(v, side)) == self.largest;
        !(is_largest(0) && is_largest(1))
    }

    #[inline]
    fn visit(&mut self, v: VertexId, neighbors: impl Iterator<Item = VertexId>) {
        neighbors.skip(self.skipped).take(self.taken).for_each(|u| {
            memory::prefetch(&self.halves.0[2 * u as usize..]);
            let place = &mut self.seen[self.seen_count % JOINED_LATER];
            let (before, after) = std::mem::replace(place, (v, u));
            self.seen_count += 1;
            if self.seen_count > JOINED_LATER {
                self.halves.join(before, after);
            }
        });
    }
}

/// Returns the neighbors of `v` in both directions.
fn both(view: &impl GraphView, v: VertexId) -> impl Iterator<Item = VertexId> {
    let incoming = view.is_directed().then(|| view.in_neighbors(v));
    view.out_neighbors(v).chain(incoming.into_iter().flatten())
}

/// Finds an odd cycle in the component of `start`, level by level.
fn odd_cycle(view: &impl GraphView, start: VertexId) -> Vec<VertexId> {
    let mut depth = par::collect(view.vertex_bound() as usize, |_| UNREACHED);
    depth[start as usize] = 0;
    let mut frontier = vec![start];
    for step in 0.. {
        let (mut next, mut odd) = (Vec::new(), None);
        for &u in &frontier {
            watch::check();
            for w in both(view, u) {
                let depth = &mut depth[w as usize];
                if *depth == UNREACHED {
                    *depth = step + 1;
                    next.push(w);
                } else if *depth == step {
                    odd = Some(odd.map_or((u, w), |least: (VertexId, VertexId)| least.min((u, w))));
                }
            }
        }
        if let Some((u, w)) = odd {
            return cycle_over(view, &depth, u, w);
        }
        if next.is_empty() {
            break;
        }
        frontier = next;
    }
    Vec::new()
}

/// Returns the cycle over an edge between `u` and `w`, which have the same depth.
fn cycle_over(view: &impl GraphView, depth: &[u32], u: VertexId, w: VertexId) -> Vec<VertexId> {
    let above = |v: VertexId| {
        let is_above = |&u: &VertexId| depth[u as usize] + 1 == depth[v as usize];
        both(view, v).filter(is_above).min()
    };
    let (mut path, mut other) = (vec![u], Vec::new());
    let (mut u, mut w) = (u, w);
    while u != w {
        other.push(w);
        let (Some(above_u), Some(above_w)) = (above(u), above(w)) else { return Vec::new() };
        (u, w) = (above_u, above_w);
        path.push(u);
    }
    path.extend(other.into_iter().rev());
    path
}

/// Checks that `result` has the colors of `view`, and an odd cycle if some vertices have none.
///
/// It has if in every component either colors change along every edge and the smallest vertex has
/// color 0, or nobody has a color and some edge joins vertices that a search finds on the same
/// side; and the cycle is one of edges, odd and without a vertex twice. Cost: every edge twice, and
/// 2 bytes and a bit for each id.
///
/// # Errors
/// [`WrongResult`](crate::Error::WrongResult) with the first property that does not hold.
pub fn verify_bipartition(view: &impl GraphView, result: &Bipartition) -> Result<()> {
    check_colors(view, result)?;
    check_cycle(view, result, u32::MAX)?;
    let color = &result.color;
    let mut side = vec![NO_COLOR; color.len()];
    let mut stack = Vec::new();
    for start in ids(view.vertex_bound()) {
        if side[start as usize] != NO_COLOR || !view.is_vertex(start) {
            continue;
        }
        // Ascending: the first vertex of a component that comes by is its smallest.
        side[start as usize] = 0;
        stack.push(start);
        let (is_colored, mut is_odd) = (color[start as usize] != NO_COLOR, false);
        while let Some(u) = stack.pop() {
            watch::check();
            let (side_u, found) = (side[u as usize], color[u as usize]);
            let expected = if is_colored { side_u } else { NO_COLOR };
            require(KERNEL, found == expected, || {
                format!("{u} has color {found}, by the edges from {start} {expected}")
            })?;
            for w in both(view, u) {
                let side_w = &mut side[w as usize];
                if *side_w == NO_COLOR {
                    *side_w = 1 - side_u;
                    stack.push(w);
                }
                is_odd |= *side_w == side_u;
            }
        }
        require(KERNEL, is_odd != is_colored, || {
            format!("the component of {start} has an odd cycle and colors, or neither")
        })?;
    }
    Ok(())
}

/// Checks that colors change along the edges of some vertices, some edges of the cycle, and the
/// colors of small components.
///
/// Misses a large component whose colors are exchanged or left out, and wrong colors of few
/// vertices. Cost: the result once, one of 64 vertices, up to 256 edges of each, a search along 64
/// edges from 256 vertices, and the lists of 256 vertices of the cycle.
///
/// # Errors
/// As [`verify_bipartition`].
pub fn spot_check_bipartition(view: &impl GraphView, result: &Bipartition) -> Result<()> {
    check_colors(view, result)?;
    check_cycle(view, result, CYCLE_EDGES)?;
    let color = &result.color;
    let of = |v: VertexId| color[v as usize];
    Spots::one_of(SHARE, view.vertex_bound()).check(|v| {
        let fits = |w: VertexId| match of(v) {
            NO_COLOR => of(w) == NO_COLOR,
            color => of(w) == 1 - color,
        };
        let other = both(view, v).take(LIST_MAX).find(|&w| !fits(w));
        require(KERNEL, other.is_none(), || {
            format!("{v} of color {} has a neighbor {other:?} whose color does not fit", of(v))
        })
    })?;
    check_drawn(view, SEARCHES, |v| {
        let Some(list) = reached(v, SEARCHED_EDGES, |u| both(view, u)) else { return Ok(()) };
        let first = list.iter().min().map(|&first| of(first));
        require(KERNEL, first != Some(1), || {
            format!("the smallest vertex of the component of {v} has not color 0")
        })
    })
}

/// Checks that there are two colors, of vertices only, and a cycle if they do not suffice.
fn check_colors(view: &impl GraphView, result: &Bipartition) -> Result<()> {
    let (color, bound) = (&result.color, view.vertex_bound());
    require(KERNEL, color.len() == bound as usize, || {
        format!("{} colors for {bound} ids", color.len())
    })?;
    check_all(bound, |v| {
        let color = color[v as usize];
        let holds = color == NO_COLOR || color <= 1 && view.is_vertex(v);
        require(KERNEL, holds, || format!("{v}, perhaps no vertex, has color {color}"))
    })?;
    let colored = color.iter().filter(|&&color| color != NO_COLOR).count();
    let are_all = colored == view.vertex_count() as usize;
    require(KERNEL, are_all == result.odd_cycle.is_empty(), || {
        let (count, cycle) = (view.vertex_count(), &result.odd_cycle);
        format!("{colored} of {count} vertices have a color, the odd cycle is {cycle:?}")
    })
}

/// Checks that the cycle is odd and has different vertices, and edges between them: `edges_max` of
/// them at most.
fn check_cycle(view: &impl GraphView, result: &Bipartition, edges_max: u32) -> Result<()> {
    let cycle = &result.odd_cycle;
    let are_vertices = cycle.iter().all(|&v| v < view.vertex_bound() && view.is_vertex(v));
    let is_odd = cycle.is_empty() || cycle.len() % 2 == 1;
    require(KERNEL, are_vertices && is_odd && are_different(cycle), || {
        "the odd cycle is even, or has other ids than vertices, or one twice".to_owned()
    })?;
    drawn(edges_max, cycle.len() as u32).try_for_each(|i| {
        let (u, v) = (cycle[i as usize], cycle[(i as usize + 1) % cycle.len()]);
        watch::check();
        require(KERNEL, view.has_edge(u, v) || view.has_edge(v, u), || {
            format!("the odd cycle has no edge between {u} and {v}")
        })
    })
}
