//! Breadth-first search: how many edges every vertex is away from a source.
//!
//! The frontier of all vertices at one depth reaches those of the next one, by push while it is
//! small and by pull while most edges lead back into what is known; [`frontier`](crate::frontier)
//! decides. Which of several possible parents a vertex gets is chance; depths are not.
//!
//! Source: Beamer, Asanović and Patterson, "Direction-Optimizing Breadth-First Search", SC 2012.
//! Differences: depths are kept beside the parents.
//!
//! # Cost
//! O(vertices + edges) at worst; on graphs of small diameter only a part of the edges is read.
//! 8 bytes for each id (the result), and a frontier of up to 4 bytes for each vertex.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_core::{GraphView, VertexId, par};

use crate::Result;
use crate::error::{check_vertex, require};
use crate::frontier::{EdgeMap, EdgeStep, Frontier};
use crate::spots::{LIST_MAX, Spots, check_all};

/// One of so many pieces of ids is spot-checked.
const SHARE: u32 = 128;

/// The depth of a vertex that no path from the source reaches, and of an id that is no vertex.
pub const UNREACHED: u32 = u32::MAX;

/// The parent of a vertex that no path from the source reaches, and of an id that is no vertex.
pub const NO_PARENT: VertexId = VertexId::MAX;

/// What [`bfs`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bfs {
    /// `[vertex_bound]`: the number of edges of a shortest path from the source, or [`UNREACHED`].
    pub depth: Vec<u32>,
    /// `[vertex_bound]`: the vertex before on such a path (of the source: itself), or
    /// [`NO_PARENT`].
    pub parent: Vec<VertexId>,
}

impl Bfs {
    /// Returns how many vertices were reached, the source among them.
    pub fn reached_count(&self) -> u32 {
        self.depth.iter().filter(|&&depth| depth != UNREACHED).count() as u32
    }

    /// Returns the largest depth that was reached.
    pub fn depth_max(&self) -> u32 {
        // Without a branch: nobody foresees which vertices are reached.
        self.depth
            .iter()
            .map(|&depth| if depth == UNREACHED { 0 } else { depth })
            .max()
            .unwrap_or(0)
    }
}

/// Gives the vertices at one depth their parent.
struct Visit<'a> {
    depth: &'a [AtomicU32],
    parent: &'a [AtomicU32],
    next_depth: u32,
}

impl EdgeStep for Visit<'_> {
    const STOPS_EARLY: bool = true;

    #[inline]
    fn wants(&self, v: VertexId) -> bool {
        self.parent[v as usize].load(Relaxed) == NO_PARENT
    }

    #[inline]
    fn push(&self, u: VertexId, v: VertexId) -> bool {
        let won = self.parent[v as usize].compare_exchange(NO_PARENT, u, Relaxed, Relaxed).is_ok();
        if won {
            self.depth[v as usize].store(self.next_depth, Relaxed);
        }
        won
    }

    #[inline]
    fn pull(&self, u: VertexId, v: VertexId) -> bool {
        self.parent[v as usize].store(u, Relaxed);
        self.depth[v as usize].store(self.next_depth, Relaxed);
        true
    }
}

/// Searches `view` from `source` along the direction of its edges.
///
/// # Errors
/// [`NotAVertex`](crate::Error::NotAVertex) if `source` is not a vertex.
///
/// # Example
/// ```
/// use everedge_core::{Csr, CsrOptions};
/// use everedge_kernels::{UNREACHED, bfs};
///
/// let options = CsrOptions { directed: true, ..CsrOptions::default() };
/// let g = Csr::from_edges(&[(0, 1), (1, 2), (3, 2)], None, options);
/// assert_eq!(bfs(&g, 0)?.depth, [0, 1, 2, UNREACHED]);
/// # Ok::<(), everedge_kernels::Error>(())
/// ```
pub fn bfs(view: &impl GraphView, source: VertexId) -> Result<Bfs> {
    check_vertex(view, source)?;
    let bound = view.vertex_bound() as usize;
    let fill = |value| par::collect(bound, |_| AtomicU32::new(value));
    let (depth, parent) = (fill(UNREACHED), fill(NO_PARENT));
    depth[source as usize].store(0, Relaxed);
    parent[source as usize].store(source, Relaxed);

    par::among_threads(view.homes(), || {
        let mut edge_map = EdgeMap::new(view);
        let mut frontier = Frontier::single(source);
        let mut visit = Visit { depth: &depth, parent: &parent, next_depth: 1 };
        while !frontier.is_empty() {
            frontier = edge_map.step(&mut frontier, &visit);
            visit.next_depth += 1;
        }
    });
    let plain = |array: Vec<AtomicU32>| array.into_iter().map(AtomicU32::into_inner).collect();
    Ok(Bfs { depth: plain(depth), parent: plain(parent) })
}

/// Checks that `result` is a breadth-first search of `view` from `source`.
///
/// It is if the source alone has depth 0, no edge leads more than one level down or out of what
/// was reached, and the parent of every other reached vertex is an in-neighbor one level up.
/// Cost: every edge once, and the in-neighbors of the reached vertices.
///
/// # Errors
/// [`WrongResult`](crate::Error::WrongResult) with the first property that does not hold;
/// [`NotAVertex`](crate::Error::NotAVertex) if `source` is not a vertex.
pub fn verify_bfs(view: &impl GraphView, source: VertexId, result: &Bfs) -> Result<()> {
    check_source(view, source, result)?;
    check_all(view.vertex_bound(), |v| check_at(view, source, result, v, usize::MAX))
}

/// Checks at some vertices what [`verify_bfs`] checks at all.
///
/// Misses wrong depths that are right beside each other's, and those of few vertices.
/// Cost: one of 128 vertices, up to 256 edges of each.
///
/// # Errors
/// As [`verify_bfs`].
pub fn spot_check_bfs(view: &impl GraphView, source: VertexId, result: &Bfs) -> Result<()> {
    check_source(view, source, result)?;
    let spots = Spots::one_of(SHARE, view.vertex_bound());
    spots.check(|v| check_at(view, source, result, v, LIST_MAX))
}

fn check_source(view: &impl GraphView, source: VertexId, result: &Bfs) -> Result<()> {
    check_vertex(view, source)?;
    let (Bfs { depth, parent }, bound) = (result, view.vertex_bound() as usize);
    require("bfs", depth.len() == bound && parent.len() == bound, || {
        format!("{} depths and {} parents for {bound} ids", depth.len(), parent.len())
    })?;
    let (depth, parent) = (depth[source as usize], parent[source as usize]);
    require("bfs", depth == 0 && parent == source, || {
        format!("the source has depth {depth} and parent {parent}")
    })
}

/// Checks what the lists of `v` say about it. Of a list of more than `list_max` entries so many are
/// seen, and a parent need not be among the in-neighbors.
fn check_at(
    view: &impl GraphView,
    source: VertexId,
    result: &Bfs,
    v: VertexId,
    list_max: usize,
) -> Result<()> {
    let require = |holds, property: &dyn Fn() -> String| require("bfs", holds, property);
    let Bfs { depth, parent } = result;
    let (depth_v, parent_v) = (depth[v as usize], parent[v as usize]);
    require((depth_v == 0) == (v == source), &|| format!("{v} has depth {depth_v}"))?;
    if depth_v == UNREACHED {
        require(parent_v == NO_PARENT, &|| format!("unreached {v} has parent {parent_v}"))?;
        let mut seen = view.in_neighbors(v).take(list_max);
        let reached = seen.find(|&u| depth[u as usize] != UNREACHED);
        return require(reached.is_none(), &|| format!("unreached {v} is after {reached:?}"));
    }
    require(view.is_vertex(v), &|| format!("{v} is reached but not a vertex"))?;
    let is_above = |u: VertexId| depth.get(u as usize).is_some_and(|&d| d == depth_v - 1);
    let is_seen = view.in_degree(v) as usize <= list_max;
    let holds = v == source
        || is_above(parent_v) && (!is_seen || view.in_neighbors(v).any(|u| u == parent_v));
    require(holds, &|| format!("the parent {parent_v} of {v} is no in-neighbor one level up"))?;
    for w in view.out_neighbors(v).take(list_max) {
        require(depth[w as usize] <= depth_v + 1, &|| {
            format!("{v} at depth {depth_v} has neighbor {w} at {}", depth[w as usize])
        })?;
    }
    Ok(())
}
