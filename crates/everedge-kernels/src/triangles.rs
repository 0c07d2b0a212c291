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
//! O(edges^1.5) at worst, and a small part of it on skewed graphs. 16 bytes for each id, 4 for each
//! edge and at most 8 more where rows are; a bit for each id and thread.

use std::cmp::Reverse;
use std::ops::Range;

use everedge_core::{GraphView, VertexId, par};

use crate::Result;
use crate::error::require;
use crate::oriented::{Order, Oriented, Rank, clear_all, empty_row, insert_all};
use crate::spots::{LIST_MAX, drawn};

/// Ranks in a piece of work: those of hubs take long.
const GRAIN: u32 = 64;

/// Vertices in a piece of the verification.
const VERIFIED_GRAIN: u32 = 1 << 8;
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
    let order = Order::by_degree(view);
    let graph = Oriented::new(view, &order);
    let marks = par::PerThread::new(|| empty_row(&order));
    let counts: Vec<Vec<_>> = par::map_ranges(order.rank_bound(), GRAIN, |ranks| {
        let count_of = |marks: &mut Vec<u64>| ranks.map(|u| count_from(&graph, u, marks)).collect();
        marks.with(count_of)
    });
    let mut smallest_corner = vec![0; view.vertex_bound() as usize];
    for (u, &count) in (0..).zip(counts.iter().flatten()) {
        smallest_corner[order.vertex(u) as usize] = count;
    }
    Triangles { count: counts.iter().flatten().sum(), smallest_corner }
}

/// Counts the triangles whose largest rank is `u`; `marks` is empty, before and after.
fn count_from(graph: &Oriented, u: Rank, marks: &mut [u64]) -> u64 {
    let list = graph.list(u);
    if list.len() < 2 {
        return 0;
    }
    insert_all(marks, list);
    let places = list.iter().enumerate();
    let counts = places.map(|(place, &v)| graph.count_common(v, &list[..place], marks));
    let count = counts.sum();
    clear_all(marks, list);
    count
}

/// Checks that `result` has the number of triangles of `view`.
///
/// It has if the neighbors that the ends of an edge share, added up over all edges, are three
/// times as many: a triangle is seen from each of its sides. Cost: the lists of both ends of every
/// edge, merged; 8 bytes for each edge and id.
///
/// # Errors
/// [`WrongResult`](crate::Error::WrongResult) if it does not hold.
pub fn verify_triangles(view: &impl GraphView, result: &Triangles) -> Result<()> {
    let bound = view.vertex_bound();
    require("triangles", result.smallest_corner.iter().sum::<u64>() == result.count, || {
        format!("{} triangles, but the corners of others", result.count)
    })?;
    let lists_of = |range: Range<u32>| range.map(|v| simple_neighbors(view, v)).collect::<Vec<_>>();
    let lists = par::map_ranges(bound, VERIFIED_GRAIN, lists_of).concat();
    let shared_by = |u: VertexId| -> u64 {
        let list = &lists[u as usize];
        let smaller = list.iter().filter(|&&v| v < u);
        smaller.map(|&v| shared(list, &lists[v as usize]).count() as u64).sum()
    };
    let counts = par::map_ranges(bound, VERIFIED_GRAIN, |range| range.map(shared_by).sum::<u64>());
    let shared_count: u64 = counts.into_iter().sum();
    require("triangles", shared_count == result.count * 3, || {
        format!("{} triangles, but edges are {shared_count} times a side of one", result.count)
    })
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
    let require = |holds, property: &dyn Fn() -> String| require("triangles", holds, property);
    let (corner, bound) = (&result.smallest_corner, view.vertex_bound());
    require(corner.len() == bound as usize, &|| {
        format!("the corners of {} ids, not {bound}", corner.len())
    })?;
    let sum: u64 = corner.iter().sum();
    require(sum == result.count, &|| {
        format!("{} triangles, but the corners of {sum}", result.count)
    })?;
    let rank = |v| (Reverse(degree(view, v)), v);
    let kept = |v| {
        let mut list = simple_neighbors(view, v);
        list.retain(|&w| rank(w) < rank(v));
        list
    };
    check_affordable(view, kept, |v, list| {
        let links = list.iter().enumerate().map(|(place, &w)| {
            linked(&list[..place], view.out_neighbors(w).chain(view.in_neighbors(w))).count() as u64
        });
        let expected: u64 = links.sum();
        let found = corner[v as usize];
        require(found == expected, &|| {
            format!("{v} is the smallest corner of {found} triangles, not {expected}")
        })
    })
}

/// Returns how many entries the lists of `v` have.
fn degree(view: &impl GraphView, v: VertexId) -> u64 {
    let in_degree = if view.is_directed() { view.in_degree(v) } else { 0 };
    u64::from(view.out_degree(v).saturating_add(in_degree))
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
        if degree(view, v) > LIST_MAX as u64 || !view.is_vertex(v) {
            continue;
        }
        let list = list_of(v);
        let cost: u64 = list.iter().map(|&w| degree(view, w)).sum();
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
    let mut list: Vec<_> = view.out_neighbors(v).chain(view.in_neighbors(v)).collect();
    list.retain(|&w| w != v);
    list.sort_unstable();
    list.dedup();
    list
}

/// Returns what two sorted lists share.
fn shared<'a>(a: &'a [VertexId], b: &'a [VertexId]) -> impl Iterator<Item = VertexId> {
    let mut rest = b.iter().copied().peekable();
    a.iter().copied().filter(move |&w| {
        while rest.next_if(|&x| x < w).is_some() {}
        rest.peek() == Some(&w)
    })
}
