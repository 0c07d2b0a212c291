//! Local clustering coefficient: how many of the edges that could be among the neighbors of a
//! vertex are there.
//!
//! The neighbors of a vertex are those over edges either way, each once, without itself. With `d`
//! of them there could be `d * (d - 1)` edges among them, one in each direction, of which those
//! are counted that there are; an edge of an undirected graph counts in both.
//!
//! A triangle of ranks `u > v > w` is found from `u`, as in [`triangles`](crate::triangles()), and
//! counts at each corner: by one for the opposite side, and by one more if the graph is directed
//! and the side leads both ways. What `u` finds is added up for each vertex that it keeps, and then
//! added to the sums of all.
//!
//! Source: Iosup et al., "LDBC Graphalytics", PVLDB 2016, and its specification (LCC); triangles
//! by Latapy, "Main-memory Triangle Computations for Very Large (Sparse (Power-Law)) Graphs",
//! Theoretical Computer Science 2008. Differences: the specification counts at each vertex alone.
//!
//! # Cost
//! As [`triangles`](crate::triangles()), and an addition for each triangle; for directed graphs
//! what two vertices share is counted three times. 28 bytes for each id (the result among them), 4
//! for each edge and at most 8 more where rows are, 4.3 for each id and thread; of a directed graph
//! as much again for the edges both ways.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use everedge_core::{GraphView, VertexId, par};

use crate::Result;
use crate::error::require;
use crate::oriented::{Order, Oriented, Rank, TASK_COST, clear_all, empty_row, insert_all};
use crate::spots::check_all;
use crate::triangles::{check_affordable, linked, shared_count, simple_neighbors};

/// Vertices in a piece of the verification: those of hubs take long.
const VERIFIED_GRAIN: u32 = 1 << 6;
/// What rounding may do to a quotient.
const ROUNDING: f64 = 1e-12;
const KERNEL: &str = "lcc";

/// What [`lcc`] found.
#[derive(Clone, Debug, PartialEq)]
pub struct Lcc {
    /// `[vertex_bound]`: the coefficient of each vertex, from 0 to 1; 0 for a vertex with fewer
    /// than two neighbors and for an id that is no vertex.
    pub coefficient: Vec<f64>,
}

/// The counts at each rank that make its coefficient.
struct Counts {
    /// Different neighbors.
    degree: Vec<AtomicU32>,
    /// Edges among them; each counts once that leads one way or has no direction.
    edge_count: Vec<AtomicU64>,
}

/// What a thread needs to find the triangles from a vertex; empty before and after.
struct Scratch {
    /// The members of its list.
    marks: Vec<u64>,
    /// Those of them that edges lead to and from.
    mutual_marks: Vec<u64>,
    /// What is to be added to the edge count of each member: at most 2 for each other member.
    sums: Vec<u32>,
}

/// Computes the local clustering coefficient of every vertex of `view`.
///
/// # Example
/// ```
/// use everedge_core::{Csr, CsrOptions};
/// use everedge_kernels::lcc;
///
/// let edges = [(0, 1), (1, 2), (2, 0), (2, 3)];
/// let g = Csr::from_edges(&edges, None, CsrOptions::default());
/// assert_eq!(lcc(&g).coefficient, [1.0, 1.0, 1.0 / 3.0, 0.0]);
/// ```
pub fn lcc(view: &impl GraphView) -> Lcc {
    coefficients(view, TASK_COST)
}

/// Computes them in tasks that take so much at most.
fn coefficients(view: &impl GraphView, task_cost: u64) -> Lcc {
    let order = Order::by_degree(view);
    let graph = Oriented::new(view, &order);
    let mutual = view.is_directed().then(|| Oriented::mutual(view, &order));
    let rank_bound = order.rank_bound();
    let counts = Counts {
        degree: (0..rank_bound).map(|_| AtomicU32::new(0)).collect(),
        edge_count: (0..rank_bound).map(|_| AtomicU64::new(0)).collect(),
    };
    let threads = par::PerThread::new(|| Scratch {
        marks: empty_row(&order),
        mutual_marks: empty_row(&order),
        sums: vec![0; rank_bound as usize],
    });
    par::for_each_task(graph.tasks(task_cost), |task| {
        threads.with(|scratch| {
            for (u, places) in task.parts(&graph) {
                counts.add_from(&graph, mutual.as_ref(), (u, places), scratch);
            }
        });
    });
    let directions = if view.is_directed() { 1 } else { 2 };
    let coefficient = order.by_vertex(|u| {
        let edge_count = directions * counts.edge_count[u as usize].load(Relaxed);
        quotient(edge_count, counts.degree[u as usize].load(Relaxed))
    });
    Lcc { coefficient }
}

/// Returns which part of the edges that could be among `degree` vertices there are.
fn quotient(edge_count: u64, degree: u32) -> f64 {
    let degree = f64::from(degree);
    if degree < 2.0 { 0.0 } else { edge_count as f64 / (degree * (degree - 1.0)) }
}

impl Counts {
    /// Adds the edges between `u` and what it keeps at these places, and the triangles whose largest
    /// rank is `u` and whose second is there.
    fn add_from(
        &self,
        graph: &Oriented,
        mutual: Option<&Oriented>,
        (u, places): (Rank, Range<usize>),
        scratch: &mut Scratch,
    ) {
        let Scratch { marks, mutual_marks, sums } = scratch;
        let list = &graph.list(u)[..places.end];
        let of_part = &list[places.clone()];
        let Some(&first) = of_part.first() else { return };
        let mutual_list = mutual.map_or(&[][..], |mutual| mutual.list(u));
        insert_all(marks, list);
        insert_all(mutual_marks, mutual_list);
        let mut opposite_u = 0;
        let mut mutual_place = mutual_list.partition_point(|&v| v < first);
        for (place, &v) in places.zip(of_part) {
            let before = &list[..place];
            let is_mutual = mutual_list.get(mutual_place) == Some(&v);
            let weight = 1 + u32::from(is_mutual);
            let mut opposite_v = graph.add_to_common(v, before, marks, weight, sums);
            opposite_u += opposite_v;
            if let Some(mutual) = mutual {
                opposite_u += mutual.count_common(v, before, marks);
                let mutual_before = &mutual_list[..mutual_place];
                opposite_v += graph.count_common(v, mutual_before, mutual_marks);
            }
            sums[v as usize] += opposite_v as u32;
            mutual_place += usize::from(is_mutual);
        }
        clear_all(marks, list);
        clear_all(mutual_marks, mutual_list);
        self.degree[u as usize].fetch_add(of_part.len() as u32, Relaxed);
        self.edge_count[u as usize].fetch_add(opposite_u, Relaxed);
        of_part.iter().for_each(|&v| _ = self.degree[v as usize].fetch_add(1, Relaxed));
        for &v in list {
            let sum = std::mem::take(&mut sums[v as usize]);
            if sum > 0 {
                self.edge_count[v as usize].fetch_add(u64::from(sum), Relaxed);
            }
        }
    }
}

/// Checks that `result` has the local clustering coefficients of `view`.
///
/// It has if each is the part of the possible edges that the neighbors of the vertex have among
/// them, looked up in the list of each, and 0 where there are fewer than two. Cost: for every edge the
/// shorter of two lists, each entry sought in the longer one, or both lists merged; 4 bytes for each
/// edge and 24 for each id.
///
/// # Errors
/// [`WrongResult`](crate::Error::WrongResult) with the first coefficient that does not hold.
pub fn verify_lcc(view: &impl GraphView, result: &Lcc) -> Result<()> {
    let (coefficient, bound) = (&result.coefficient, view.vertex_bound());
    require(KERNEL, coefficient.len() == bound as usize, || {
        format!("{} coefficients for {bound} ids", coefficient.len())
    })?;
    let lists = par::map_ranges(bound, VERIFIED_GRAIN, |range| {
        range.map(|v| simple_out_neighbors(view, v)).collect::<Vec<_>>()
    });
    let lists = lists.concat();
    let checked = par::map_ranges(bound, VERIFIED_GRAIN, |mut range| {
        range.try_for_each(|v| {
            let neighbors = simple_neighbors(view, v);
            let ends = neighbors.iter().map(|&w| shared_count(&neighbors, &lists[w as usize]));
            check_at(result, v, ends.sum::<usize>() as u64, neighbors.len())
        })
    });
    checked.into_iter().collect()
}

/// Checks that coefficients are from 0 to 1, and those of some vertices, whose neighbors' lists are
/// looked through.
///
/// Misses faults at few vertices, and those at vertices whose neighbors have many edges. Cost: the
/// coefficients once, and about a quarter of the edges.
///
/// # Errors
/// As [`verify_lcc`].
pub fn spot_check_lcc(view: &impl GraphView, result: &Lcc) -> Result<()> {
    let (coefficient, bound) = (&result.coefficient, view.vertex_bound());
    require(KERNEL, coefficient.len() == bound as usize, || {
        format!("{} coefficients for {bound} ids", coefficient.len())
    })?;
    check_all(bound, |v| {
        let found = coefficient[v as usize];
        let most = if view.is_vertex(v) { 1.0 + ROUNDING } else { 0.0 };
        require(KERNEL, (0.0..=most).contains(&found), || format!("{v} has {found}"))
    })?;
    check_affordable(
        view,
        |v| simple_neighbors(view, v),
        |v, neighbors| {
            let others = neighbors.iter().map(|&w| {
                linked(neighbors, view.out_neighbors(w)).filter(|&x| x != w).count() as u64
            });
            check_at(result, v, others.sum(), neighbors.len())
        },
    )
}

/// Checks the coefficient of `v`, which has so many neighbors and edges among them.
fn check_at(result: &Lcc, v: VertexId, edge_count: u64, neighbor_count: usize) -> Result<()> {
    let (found, expected) =
        (result.coefficient[v as usize], quotient(edge_count, neighbor_count as u32));
    require(KERNEL, (found - expected).abs() <= ROUNDING, || {
        format!("{v} has {found}, but its neighbors have {edge_count} edges among them")
    })
}

/// Returns the out-neighbors of `v`, each once and without `v`.
fn simple_out_neighbors(view: &impl GraphView, v: VertexId) -> Vec<VertexId> {
    let mut list: Vec<_> = view.out_neighbors(v).filter(|&w| w != v).collect();
    list.sort_unstable();
    list.dedup();
    list
}

#[cfg(test)]
mod tests {
    use super::*;
    use everedge_core::{Csr, CsrOptions, SplitMix64};

    /// However small tasks are, together they count each edge once.
    #[test]
    fn hubs_in_parts_have_the_same_coefficients() {
        let mut random = SplitMix64::new(9);
        let mut draw = |bound: u64| random.below(bound) as VertexId;
        let edges: Vec<_> = (0..9000).map(|i| (draw(1 + i / 30), draw(300))).collect();
        for directed in [true, false] {
            let g = Csr::from_edges(&edges, None, CsrOptions { directed, declared: &[] });
            let whole = coefficients(&g, u64::MAX);
            verify_lcc(&g, &whole).unwrap();
            for task_cost in [1, 30, 1000, TASK_COST] {
                assert_eq!(coefficients(&g, task_cost), whole, "{task_cost}");
            }
        }
    }
}
