//! One-hop queries: the neighbors of a vertex, and the neighbors of many random ones.
//!
//! Source: Wang et al., "XPGraph", ToS 2025, §5 (one-hop queries of random vertices that have
//! neighbors); a sum over them, so that reading each cannot be left out.
//!
//! # Cost
//! The out-edges of the vertices that are asked for. [`one_hop_sample`] needs 4 bytes for each
//! vertex that has neighbors.

use everedge_core::{Direction, GraphView, ListVisitor, SplitMix64, VertexId, par};

use crate::Result;
use crate::error::{check_vertex, require};
use crate::frontier::map_sources;
use crate::spots::{LIST_MAX, drawn};

/// Ranges of ids in a piece of work.
const RANGES: usize = 16;
/// Queries in a piece of work.
const GRAIN: usize = 256;
/// Neighbors that are spot-checked.
const SPOTS: u32 = 16;

/// Returns the out-neighbors of `source`, parallel edges one by one, in the order of the view.
///
/// # Errors
/// [`NotAVertex`](crate::Error::NotAVertex) if `source` is not a vertex.
///
/// # Example
/// ```
/// use everedge_core::{Csr, CsrOptions};
///
/// let g = Csr::from_edges(&[(0, 1), (2, 0)], None, CsrOptions::default());
/// assert_eq!(everedge_kernels::one_hop(&g, 0)?, [1, 2]);
/// # Ok::<(), everedge_kernels::Error>(())
/// ```
pub fn one_hop(view: &impl GraphView, source: VertexId) -> Result<Vec<VertexId>> {
    check_vertex(view, source)?;
    Ok(view.out_neighbors(source).collect())
}

/// Draws `count` vertices that have out-neighbors, each as likely as any other and possibly more
/// than once; none if no vertex has any. The same `seed` draws the same ones.
pub fn one_hop_sample(view: &impl GraphView, count: usize, seed: u64) -> Vec<VertexId> {
    let bound = view.vertex_bound();
    let candidates = par::map_chunks(&view.vertex_ranges(), RANGES, |ranges| {
        let mut candidates = Vec::new();
        for range in ranges {
            let range = range.start..range.end.min(bound);
            view.for_each_degree(Direction::Out, range, |v, degree| {
                if degree > 0 {
                    candidates.push(v);
                }
            });
        }
        candidates
    });
    let candidates = candidates.concat();
    if candidates.is_empty() {
        return Vec::new();
    }
    let mut random = SplitMix64::new(seed);
    let mut draw = || candidates[random.below(candidates.len() as u64) as usize];
    (0..count).map(|_| draw()).collect()
}

/// Returns the sum of the ids of all out-neighbors of the vertices in `sample`, modulo 2^64.
///
/// Cost: this is what a benchmark times; the queries run in parallel, and where lists lie on
/// several NUMA nodes, they are first classified by node.
pub fn one_hop_sum(view: &impl GraphView, sample: &[VertexId]) -> u64 {
    let sums = map_sources(view, sample, Direction::Out, GRAIN, |sources| {
        let neighbors = sources.iter().flat_map(|&v| view.out_neighbors(v));
        neighbors.fold(0_u64, |sum, v| sum.wrapping_add(u64::from(v)))
    });
    sums.into_iter().fold(0, u64::wrapping_add)
}

/// Checks that `result` could be the out-neighbors of `source`: as many as its degree, all of
/// them vertices, and each with `source` among its in-neighbors as often as it occurs. Where
/// in-neighbors are not kept, each is an out-neighbor that the view shows when it is asked for a
/// range of vertices.
///
/// # Errors
/// [`WrongResult`](crate::Error::WrongResult) with the first property that does not hold;
/// [`NotAVertex`](crate::Error::NotAVertex) if `source` is not a vertex.
pub fn verify_one_hop(view: &impl GraphView, source: VertexId, result: &[VertexId]) -> Result<()> {
    check_vertex(view, source)?;
    let require = |holds, property: &dyn Fn() -> String| require("one-hop", holds, property);
    let degree = view.out_degree(source) as usize;
    require(result.len() == degree, &|| {
        format!("{} neighbors of {source}, which has degree {degree}", result.len())
    })?;
    let mut sorted = result.to_vec();
    sorted.sort_unstable();
    if !view.has_in_neighbors() {
        let mut shown = Shown(Vec::new());
        view.visit_neighbors(Direction::Out, source..source + 1, &mut shown);
        shown.0.sort_unstable();
        return require(shown.0 == sorted, &|| format!("not what {source} has in a range"));
    }
    for equal in sorted.chunk_by(|u, v| u == v) {
        let v = equal[0];
        require(view.is_vertex(v), &|| format!("the neighbor {v} is not a vertex"))?;
        let edge_count = view.in_neighbors(v).filter(|&u| u == source).count();
        require(edge_count == equal.len(), &|| {
            format!("{v} occurs {} times, has {edge_count} edges from {source}", equal.len())
        })?;
    }
    Ok(())
}

/// The neighbors of all vertices that it was shown.
struct Shown(Vec<VertexId>);

impl ListVisitor for Shown {
    const STOPS_EARLY: bool = false;

    fn wants(&self, _: VertexId) -> bool {
        true
    }

    fn visit(&mut self, _: VertexId, neighbors: impl Iterator<Item = VertexId>) {
        self.0.extend(neighbors);
    }
}

/// Checks that `result` has as many out-neighbors of `source` as its degree says, and that some of
/// them are vertices with `source` among their in-neighbors, if these are kept.
///
/// Misses a wrong neighbor that is not among the 16 drawn. Cost: up to 256 in-neighbors of
/// each of those.
///
/// # Errors
/// As [`verify_one_hop`].
pub fn spot_check_one_hop(
    view: &impl GraphView,
    source: VertexId,
    result: &[VertexId],
) -> Result<()> {
    check_vertex(view, source)?;
    let require = |holds, property: &dyn Fn() -> String| require("one-hop", holds, property);
    let degree = view.out_degree(source) as usize;
    require(result.len() == degree, &|| {
        format!("{} neighbors of {source}, which has degree {degree}", result.len())
    })?;
    for v in drawn(SPOTS, degree as u32).map(|place| result[place as usize]) {
        require(view.is_vertex(v), &|| format!("the neighbor {v} is not a vertex"))?;
        let is_neighbor = !view.has_in_neighbors()
            || view.in_degree(v) as usize > LIST_MAX
            || view.in_neighbors(v).any(|u| u == source);
        require(is_neighbor, &|| format!("{v} has no edge from {source}"))?;
    }
    Ok(())
}
