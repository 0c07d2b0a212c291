//! Triangles: how many sets of three vertices are neighbors of each other.
//!
//! Of the undirected simple graph: directions, self-loops and parallel edges are ignored. A
//! triangle of ranks `u > v > w` (see [`oriented`](crate::oriented)) is found from `u`: for each
//! `v` that it keeps, the `w` that both keep are counted.
//!
//! Source: Latapy, "Main-memory Triangle Computations for Very Large (Sparse (Power-Law)) Graphs",
//! Theoretical Computer Science 2008 (*new-vertex-listing*, on lists by descending degree); in
//! parallel as in Shun and Tangwongsan, "Multicore Triangle Computations Without Tuning", ICDE
//! 2015. Differences: lists of hubs are rows of bits.
//!
//! # Cost
//! O(edges^1.5) at worst, and a small part of it on skewed graphs. The work of a hub is cut into
//! parts, of which none takes a thread long. 24 bytes for each id, 8 for each edge and at most 8 more
//! where rows are; a bit for each id and thread.

use std::cmp::Reverse;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use everedge_core::{GraphView, VertexId, par};

use crate::Result;
use crate::error::require;
use crate::oriented::{
    Order, Oriented, Rank, TASK_COST, clear_all, empty_row, insert_all, listed_degree,
};
use crate::spots::{LIST_MAX, drawn};

/// Vertices in a piece of the verification: those of hubs take long.
const VERIFIED_GRAIN: u32 = 1 << 6;
/// Counts in a piece of work that adds them up.
const SUM_GRAIN: usize = 1 << 16;
/// The members of a list are sought in another one if that is so many times as long.
const SEARCHED_MIN: usize = 16;
const KERNEL: &str = "triangles";
/// Vertices that a spot check may look at.
const SPOTS_MAX: u32 = 1 << 12;
/// Vertices in a piece of a spot check.
const SPOTS_GRAIN: usize = 8;
/// Entries of lists that a spot check may look at in any graph.
const FREE_ENTRIES: u64 = 1 << 14;

/// What [`triangles`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Triangles {
    /// How many sets of three vertices are neighbors of each other.
    pub count: u64,
    /// `[vertex_bound]`: of how many each vertex is the corner with the fewest edges, parallel ones
    /// counted (of several, the largest).
    pub smallest_corner: Vec<u64>,
}

/// Counts the triangles of `view`, as if its edges had no direction.
///
/// # Example
/// ```
/// use everedge_core::{Csr, CsrOptions};
/// use everedge_kernels::triangles;
///
/// let edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 0)];
/// let g = Csr::from_edges(&edges, None, CsrOptions::default());
/// assert_eq!(triangles(&g).count, 2);
/// ```
pub fn triangles(view: &impl GraphView) -> Triangles {
    count(view, TASK_COST)
}

/// Counts them in tasks that take so much at most.
fn count(view: &impl GraphView, task_cost: u64) -> Triangles {
    let order = Order::by_degree(view);
    let graph = Oriented::new(view, &order);
    let marks = par::PerThread::new(|| empty_row(&order));
    let counts: Vec<_> = (0..order.rank_bound()).map(|_| AtomicU64::new(0)).collect();
    par::for_each_task(graph.tasks(task_cost), |task| {
        marks.with(|marks| {
            for (u, places) in task.parts(&graph) {
                let count = count_from(&graph, u, places, marks);
                counts[u as usize].fetch_add(count, Relaxed);
            }
        });
    });
    let smallest_corner = order.by_vertex(|u| counts[u as usize].load(Relaxed));
    Triangles { count: counts.into_iter().map(AtomicU64::into_inner).sum(), smallest_corner }
}

/// Counts the triangles whose largest rank is `u` and whose second is at one of these places of its
/// list; `marks` is empty, before and after.
fn count_from(graph: &Oriented, u: Rank, places: Range<usize>, marks: &mut [u64]) -> u64 {
    let list = &graph.list(u)[..places.end];
    if list.len() < 2 {
        return 0;
    }
    insert_all(marks, list);
    let counts = places.map(|place| graph.count_common(list[place], &list[..place], marks));
    let count = counts.sum();
    clear_all(marks, list);
    count
}

/// Checks that `result` has the number of triangles of `view`.
///
/// It has if the numbers of which each vertex is the smallest corner add up to it, and each of them is
/// how often two of the vertices before that one, both its neighbors, are neighbors too. Cost: for
/// every edge the shorter of two lists, each entry sought in the longer one, or both lists merged;
/// 4 bytes for each edge and 24 for each id.
///
/// # Errors
/// [`WrongResult`](crate::Error::WrongResult) if it does not hold.
pub fn verify_triangles(view: &impl GraphView, result: &Triangles) -> Result<()> {
    check_sum(view, result)?;
    let bound = view.vertex_bound();
    let lists_of = |range: Range<u32>| range.map(|v| kept(view, v)).collect::<Vec<_>>();
    let lists = par::map_ranges(bound, VERIFIED_GRAIN, lists_of).concat();
    let checked = par::map_ranges(bound, VERIFIED_GRAIN, |mut range| {
        range.try_for_each(|v| {
            let list = &lists[v as usize];
            let links = list.iter().map(|&w| shared_count(list, &lists[w as usize]) as u64);
            check_corner(result, v, links.sum())
        })
    });
    checked.into_iter().collect()
}

/// Checks that the counts of the corners add up to the number of triangles, and the count of some
/// corners, whose neighbors' lists are looked through.
///
/// Misses faults at few vertices, and those at vertices whose neighbors have many edges. Cost: the
/// counts once, and about a quarter of the edges.
///
/// # Errors
/// As [`verify_triangles`].
pub fn spot_check_triangles(view: &impl GraphView, result: &Triangles) -> Result<()> {
    check_sum(view, result)?;
    check_affordable(
        view,
        |v| kept(view, v),
        |v, list| {
            let links = list.iter().enumerate().map(|(place, &w)| {
                let neighbors = view.out_neighbors(w).chain(view.in_neighbors(w));
                linked(&list[..place], neighbors).count() as u64
            });
            check_corner(result, v, links.sum())
        },
    )
}

/// Checks that the counts of all corners add up to the number of triangles.
fn check_sum(view: &impl GraphView, result: &Triangles) -> Result<()> {
    let (corner, bound) = (&result.smallest_corner, view.vertex_bound());
    require(KERNEL, corner.len() == bound as usize, || {
        format!("the corners of {} ids, not {bound}", corner.len())
    })?;
    let sums = par::map_chunks(corner, SUM_GRAIN, |counts| counts.iter().sum::<u64>());
    let sum: u64 = sums.into_iter().sum();
    require(KERNEL, sum == result.count, || {
        format!("{} triangles, but the corners of {sum}", result.count)
    })
}

/// Checks of how many triangles `v` is the smallest corner.
fn check_corner(result: &Triangles, v: VertexId, expected: u64) -> Result<()> {
    let found = result.smallest_corner[v as usize];
    require(KERNEL, found == expected, || {
        format!("{v} is the smallest corner of {found} triangles, not {expected}")
    })
}

/// Returns the neighbors of `v` that come before it by descending degree, each once, ascending.
fn kept(view: &impl GraphView, v: VertexId) -> Vec<VertexId> {
    let rank = |v| (Reverse(listed_degree(view, v)), v);
    let mut list = simple_neighbors(view, v);
    list.retain(|&w| rank(w) < rank(v));
    list
}

/// Calls `check(v, list)` with some vertices and what `list_of` returns for them, so many that the
/// vertices of all lists together have about a quarter of all edges, and none whose list alone has a
/// hundredth of them.
pub(crate) fn check_affordable(
    view: &impl GraphView,
    list_of: impl Fn(VertexId) -> Vec<VertexId> + Sync + Send,
    check: impl Fn(VertexId, &[VertexId]) -> Result<()> + Sync + Send,
) -> Result<()> {
    let mut left = view.edge_count() / 2 + FREE_ENTRIES;
    let dear = left / 100 + FREE_ENTRIES / 4;
    let mut chosen = Vec::new();
    for v in drawn(SPOTS_MAX, view.vertex_bound()) {
        if listed_degree(view, v) > LIST_MAX as u64 || !view.is_vertex(v) {
            continue;
        }
        let list = list_of(v);
        let cost: u64 = list.iter().map(|&w| listed_degree(view, w)).sum();
        if cost <= dear && cost <= left {
            left -= cost;
            chosen.push((v, list));
        }
    }
    let checked = par::map_chunks(&chosen, SPOTS_GRAIN, |chosen| {
        chosen.iter().try_for_each(|(v, list)| check(*v, list))
    });
    checked.into_iter().collect()
}

/// Returns what `list` and `neighbors` share, each once; `list` is ascending.
pub(crate) fn linked(
    list: &[VertexId],
    neighbors: impl Iterator<Item = VertexId>,
) -> impl Iterator<Item = VertexId> {
    let mut both: Vec<_> = match list {
        [] => Vec::new(),
        _ => neighbors.filter(|w| list.binary_search(w).is_ok()).collect(),
    };
    both.sort_unstable();
    both.dedup();
    both.into_iter()
}

/// Returns the neighbors of `v` over edges either way, each once and without `v`, ascending.
pub(crate) fn simple_neighbors(view: &impl GraphView, v: VertexId) -> Vec<VertexId> {
    let mut list: Vec<_> = view.out_neighbors(v).collect();
    if view.is_directed() {
        list.extend(view.in_neighbors(v));
    }
    list.retain(|&w| w != v);
    list.sort_unstable();
    list.dedup();
    list
}

/// Returns how many members two ascending lists share. Ends with the shorter one.
pub(crate) fn shared_count(a: &[VertexId], b: &[VertexId]) -> usize {
    let mut count = 0;
    for_each_shared(a, b, |_| count += 1);
    count
}

/// Calls `f` with the members that two ascending lists share, in their order. Ends with the shorter one.
pub(crate) fn for_each_shared(a: &[VertexId], b: &[VertexId], mut f: impl FnMut(VertexId)) {
    let (short, mut long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    if short.len() * SEARCHED_MIN < long.len() {
        short.iter().filter(|w| long.binary_search(w).is_ok()).for_each(|&w| f(w));
        return;
    }
    for &w in short {
        while let [first, rest @ ..] = long
            && *first < w
        {
            long = rest;
        }
        if long.first() == Some(&w) {
            f(w);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::naive;
    use everedge_core::{Csr, CsrOptions, SplitMix64};

    /// However small tasks are, together they find each triangle once.
    #[test]
    fn hubs_in_parts_have_the_same_triangles() {
        let mut random = SplitMix64::new(9);
        let mut draw = |bound: u64| random.below(bound) as VertexId;
        let edges: Vec<_> = (0..9000).map(|i| (draw(1 + i / 30), draw(300))).collect();
        for directed in [true, false] {
            let g = Csr::from_edges(&edges, None, CsrOptions { directed, declared: &[] });
            let whole = count(&g, u64::MAX);
            assert_eq!(whole.count, naive::triangles(&g));
            for task_cost in [1, 30, 1000, TASK_COST] {
                assert_eq!(count(&g, task_cost), whole, "{task_cost}");
            }
        }
    }

    #[test]
    fn members_that_lists_share_are_counted_in_lists_of_any_length() {
        let every = |n: u32| (0..1000).filter(|v| v % n == 0).collect::<Vec<_>>();
        for (a, b) in [(1, 1), (2, 3), (1, 200), (7, 333)] {
            let both = every(a).iter().filter(|v| *v % b == 0).count();
            assert_eq!(shared_count(&every(a), &every(b)), both);
            assert_eq!(shared_count(&every(b), &every(a)), both);
        }
        assert_eq!(shared_count(&[], &every(2)), 0);
    }
}
