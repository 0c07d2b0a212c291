//! Two-hop queries: the vertices within two steps of a vertex, and of many random ones.
//!
//! Every thread has a set of what its query has seen, a bit for each id, and a list of it, by which
//! the set is emptied before the next query.
//!
//! Source: as the one-hop queries of Wang et al., "XPGraph", ToS 2025, §5, one step further.
//! Differences: each vertex counts once, however many ways lead there. The lists of neighbors
//! lie anywhere, so queries are not sorted by home.
//!
//! # Cost
//! The out-edges of the vertices that are asked for and of their neighbors, with one random bit for
//! each. A bit for each id and thread, and 4 bytes for each vertex of a query's answer.

use everedge_core::{Bitmap, GraphView, VertexId, par};

use crate::Result;
use crate::error::{check_vertex, require};
use crate::spots::{LIST_MAX, drawn};

/// Queries in a piece of work: they vary by far, so pieces are small.
const GRAIN: usize = 8;
/// Vertices of each kind that are spot-checked.
const SPOTS: u32 = 16;
const KERNEL: &str = "two-hop";

/// What a query has seen.
struct Seen {
    set: Bitmap,
    list: Vec<VertexId>,
}

impl Seen {
    fn new(bound: u32) -> Self {
        Self { set: Bitmap::new(bound), list: Vec::new() }
    }

    #[inline]
    fn insert(&mut self, v: VertexId) {
        if !self.set.contains(v) {
            self.set.insert(v);
            self.list.push(v);
        }
    }

    /// Returns the vertices within two steps along the out-edges of `source`, without it.
    fn query(&mut self, view: &impl GraphView, source: VertexId) -> &[VertexId] {
        // Clears the words of everything that was seen.
        self.list.iter().for_each(|&v| self.set.words_mut()[v as usize / 64] = 0);
        self.list.clear();
        self.insert(source);
        view.out_neighbors(source).for_each(|v| self.insert(v));
        let neighbor_count = self.list.len();
        for idx in 1..neighbor_count {
            view.out_neighbors(self.list[idx]).for_each(|v| self.insert(v));
        }
        &self.list[1..]
    }
}

/// Returns the vertices other than `source` that one or two out-edges lead to, in ascending order.
///
/// # Errors
/// [`NotAVertex`](crate::Error::NotAVertex) if `source` is not a vertex.
///
/// # Example
/// ```
/// use everedge_core::{Csr, CsrOptions};
///
/// let g = Csr::from_edges(&[(0, 1), (2, 1), (2, 3)], None, CsrOptions::default());
/// assert_eq!(everedge_kernels::two_hop(&g, 0)?, [1, 2]);
/// # Ok::<(), everedge_kernels::Error>(())
/// ```
pub fn two_hop(view: &impl GraphView, source: VertexId) -> Result<Vec<VertexId>> {
    check_vertex(view, source)?;
    let mut reached = Seen::new(view.vertex_bound()).query(view, source).to_vec();
    reached.sort_unstable();
    Ok(reached)
}

/// Returns how many vertices [`two_hop`] returns.
///
/// # Errors
/// [`NotAVertex`](crate::Error::NotAVertex) if `source` is not a vertex.
///
/// # Example
/// ```
/// use everedge_core::{Csr, CsrOptions};
///
/// let g = Csr::from_edges(&[(0, 1), (2, 1), (2, 3)], None, CsrOptions::default());
/// assert_eq!(everedge_kernels::two_hop_count(&g, 1)?, 3);
/// # Ok::<(), everedge_kernels::Error>(())
/// ```
pub fn two_hop_count(view: &impl GraphView, source: VertexId) -> Result<u32> {
    check_vertex(view, source)?;
    Ok(Seen::new(view.vertex_bound()).query(view, source).len() as u32)
}

/// Returns the sum of the ids that [`two_hop`] returns for all vertices in `sample`, modulo 2^64.
///
/// Cost: this is what a benchmark times, with a sample of
/// [`one_hop_sample`](crate::one_hop_sample); the queries run in parallel.
///
/// # Example
/// ```
/// use everedge_core::{Csr, CsrOptions};
///
/// let g = Csr::from_edges(&[(0, 1), (2, 1), (2, 3)], None, CsrOptions::default());
/// assert_eq!(everedge_kernels::two_hop_sum(&g, &[0, 1]), (1 + 2) + (0 + 2 + 3));
/// ```
pub fn two_hop_sum(view: &impl GraphView, sample: &[VertexId]) -> u64 {
    let threads = par::PerThread::new(|| Seen::new(view.vertex_bound()));
    let sums = par::map_chunks(sample, GRAIN, |sources| {
        threads.with(|seen| {
            let sum_of = |&source| seen.query(view, source).iter().copied().map(u64::from).sum();
            sources.iter().map(sum_of).fold(0, u64::wrapping_add)
        })
    });
    sums.into_iter().fold(0, u64::wrapping_add)
}

/// Checks that `result` has the vertices within two steps of `source`.
///
/// It has if it is ascending, has the neighbors of the source and theirs but not the source, and
/// everything in it is an out-neighbor of the source or of one of its out-neighbors, as its
/// in-neighbors say, or without these the steps once more. Cost: the out-edges as for the query,
/// each with a binary search, and the in-edges of the result; 4 bytes for each neighbor of the
/// source, without in-neighbors for each step.
///
/// # Errors
/// [`WrongResult`](crate::Error::WrongResult) with the first property that does not hold;
/// [`NotAVertex`](crate::Error::NotAVertex) if `source` is not a vertex.
pub fn verify_two_hop(view: &impl GraphView, source: VertexId, result: &[VertexId]) -> Result<()> {
    let near = check_form(view, source, result)?;
    near.iter().try_for_each(|&u| check_steps_from(view, source, result, u, usize::MAX))?;
    if !view.has_in_neighbors() {
        let mut steps: Vec<_> = near.iter().flat_map(|&u| view.out_neighbors(u)).collect();
        steps.retain(|&v| v != source);
        steps.sort_unstable();
        steps.dedup();
        return require(KERNEL, steps == result, || format!("more than {} vertices", steps.len()));
    }
    result.iter().try_for_each(|&v| check_step_to(view, source, &near, v))
}

/// Checks that `result` is ascending, has the steps from some vertices near `source`, and of its
/// vertices some are two steps away.
///
/// Misses what is missing after, or wrong at, vertices that are not drawn: 16 of each kind.
/// Cost: the neighbors of `source`, the result once, and 256 edges of what is drawn.
///
/// # Errors
/// As [`verify_two_hop`].
pub fn spot_check_two_hop(
    view: &impl GraphView,
    source: VertexId,
    result: &[VertexId],
) -> Result<()> {
    let near = check_form(view, source, result)?;
    for place in drawn(SPOTS, near.len() as u32) {
        check_steps_from(view, source, result, near[place as usize], LIST_MAX)?;
    }
    for v in drawn(SPOTS, result.len() as u32).map(|place| result[place as usize]) {
        let has_list = view.has_in_neighbors() || !view.is_vertex(v);
        if has_list && !(view.is_vertex(v) && view.in_degree(v) as usize > LIST_MAX) {
            check_step_to(view, source, &near, v)?;
        }
    }
    Ok(())
}

/// Checks that `result` is ascending; returns `source` and its neighbors, ascending.
fn check_form(
    view: &impl GraphView,
    source: VertexId,
    result: &[VertexId],
) -> Result<Vec<VertexId>> {
    check_vertex(view, source)?;
    require(KERNEL, result.is_sorted_by(|u, v| u < v), || "not in ascending order".to_string())?;
    let mut near: Vec<_> = view.out_neighbors(source).chain([source]).collect();
    near.sort_unstable();
    near.dedup();
    Ok(near)
}

/// Checks that `result` has the first `list_max` neighbors of `u`, which is near `source`.
fn check_steps_from(
    view: &impl GraphView,
    source: VertexId,
    result: &[VertexId],
    u: VertexId,
    list_max: usize,
) -> Result<()> {
    let mut steps = view.out_neighbors(u).take(list_max).filter(|&v| v != source);
    steps.try_for_each(|v| {
        require(KERNEL, result.binary_search(&v).is_ok(), || format!("{v}, after {u}, is missing"))
    })
}

/// Checks that `v` is a step from one of the vertices `near` the source.
fn check_step_to(
    view: &impl GraphView,
    source: VertexId,
    near: &[VertexId],
    v: VertexId,
) -> Result<()> {
    let is_vertex = v < view.vertex_bound() && view.is_vertex(v);
    require(KERNEL, is_vertex, || format!("{v} is not a vertex"))?;
    let is_near = |u: VertexId| near.binary_search(&u).is_ok();
    require(KERNEL, v != source && view.in_neighbors(v).any(is_near), || {
        format!("{v} is not within two steps of {source}")
    })
}
