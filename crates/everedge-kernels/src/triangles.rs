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
//! O(edges^1.5) at worst, and a small part of it on skewed graphs. 8 bytes for each id, 4 for each
//! edge and at most 8 more where rows are; a bit for each id and thread.

use std::ops::Range;

use everedge_core::{GraphView, VertexId, par};

use crate::Result;
use crate::error::require;
use crate::oriented::{Order, Oriented, Rank, clear_all, empty_row, insert_all};

/// Ranks in a piece of work: those of hubs take long.
const GRAIN: u32 = 64;

/// Vertices in a piece of the verification.
const VERIFIED_GRAIN: u32 = 1 << 8;

/// What [`triangles`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Triangles {
    /// How many sets of three vertices are neighbors of each other.
    pub count: u64,
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
    let counts = par::map_ranges(order.rank_bound(), GRAIN, |ranks| {
        marks.with(|marks| ranks.map(|u| count_from(&graph, u, marks)).sum::<u64>())
    });
    Triangles { count: counts.into_iter().sum() }
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
