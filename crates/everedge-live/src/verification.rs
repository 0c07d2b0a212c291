//! What verification of every layout has in common.

use everedge_core::{GraphView, VertexId};
use rustc_hash::FxHashMap;

use crate::{Error, Result};

/// So many problems are named.
const PROBLEMS_MAX: usize = 1000;

/// The outcome of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// How many statements were checked.
    pub checks: u64,
    /// What does not hold: what, where, expected and found. After a thousand of them, the last says how
    /// many more there are.
    pub problems: Vec<String>,
    /// How many those are.
    pub unnamed: u64,
}

impl Verification {
    /// Notes a statement, and what is wrong if it does not hold.
    pub fn check(&mut self, holds: bool, problem: impl FnOnce() -> String) {
        self.checks += 1;
        if holds {
            return;
        }
        if self.problems.len() < PROBLEMS_MAX {
            return self.problems.push(problem());
        }
        self.problems.truncate(PROBLEMS_MAX);
        self.unnamed += 1;
        let word = if self.unnamed == 1 { "problem" } else { "problems" };
        self.problems.push(format!("{} more {word}", self.unnamed));
    }

    /// Notes the outcome of reading a piece.
    ///
    /// # Errors
    /// A lack of memory, which says nothing of the piece.
    pub fn check_read(&mut self, read: Result<()>) -> Result<()> {
        match read {
            Err(error @ Error::NoSpace { .. }) => return Err(error),
            Err(error) => self.check(false, || error.to_string()),
            Ok(()) => self.check(true, String::new),
        }
        Ok(())
    }

    /// Notes what a shard counts, each as what, found and expected.
    pub fn check_counts(&mut self, first_vertex: VertexId, counts: &[(&str, u64, u64)]) {
        for &(what, found, expected) in counts {
            self.check(found == expected, || {
                format!("shard of vertex {first_vertex}: {found} {what}, {expected} expected")
            });
        }
    }

    /// Returns how many problems there are.
    pub fn problem_count(&self) -> u64 {
        self.problems.len().min(PROBLEMS_MAX) as u64 + self.unnamed
    }
}

/// Notes whether neighbors are vertices and each edge stands at both of its ends.
pub fn verify_view(view: &impl GraphView, report: &mut Verification) {
    verify_neighbors(view, report);
    if view.has_in_neighbors() {
        verify_mirror(view, report);
    }
}

/// Every neighbor must be a vertex, and a vertex must be whoever has neighbors.
fn verify_neighbors(view: &impl GraphView, report: &mut Verification) {
    for u in view.vertex_ranges().into_iter().flatten() {
        let mut degree = 0;
        let mut check = |v| {
            degree += 1;
            report.check(view.is_vertex(v), || format!("vertex {u} has neighbor {v}, no vertex"));
        };
        view.out_neighbors(u).for_each(&mut check);
        if view.has_in_neighbors() {
            view.in_neighbors(u).for_each(&mut check);
        }
        report.check(degree == 0 || view.is_vertex(u), || {
            format!("id {u} has {degree} neighbors and is no vertex")
        });
    }
}

/// Every edge must stand as often among the in-neighbors of its destination as among the
/// out-neighbors of its source: compared by a sum of hashes for each vertex.
fn verify_mirror(view: &impl GraphView, report: &mut Verification) {
    let mut sums: FxHashMap<VertexId, (i64, u64)> = FxHashMap::default();
    let ids = || view.vertex_ranges().into_iter().flatten();
    for u in ids() {
        for v in view.out_neighbors(u) {
            let sum = sums.entry(v).or_default();
            *sum = (sum.0 + 1, sum.1.wrapping_add(mix(u)));
        }
        for v in view.in_neighbors(u) {
            let sum = sums.entry(u).or_default();
            *sum = (sum.0 - 1, sum.1.wrapping_sub(mix(v)));
        }
    }
    let mut check = |v, sum: (i64, u64)| {
        report.check(sum == (0, 0), || {
            format!("vertex {v}: {} more edges enter it by their sources than by its list", sum.0)
        });
    };
    ids().for_each(|v| check(v, sums.remove(&v).unwrap_or_default()));
    // Neighbors where there is no shard.
    sums.into_iter().for_each(|(v, sum)| check(v, sum));
}

fn mix(v: VertexId) -> u64 {
    (u64::from(v) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Vertex 0 with a neighbor that is no vertex.
    struct Dangling;

    impl GraphView for Dangling {
        fn vertex_bound(&self) -> u32 {
            2
        }

        fn vertex_count(&self) -> u32 {
            1
        }

        fn is_vertex(&self, v: VertexId) -> bool {
            v == 0
        }

        fn edge_count(&self) -> u64 {
            1
        }

        fn is_directed(&self) -> bool {
            true
        }

        fn out_degree(&self, v: VertexId) -> u32 {
            u32::from(v == 0)
        }

        fn in_degree(&self, v: VertexId) -> u32 {
            u32::from(v == 1)
        }

        fn out_neighbors(&self, v: VertexId) -> impl Iterator<Item = VertexId> + '_ {
            (v == 0).then_some(1).into_iter()
        }

        fn in_neighbors(&self, v: VertexId) -> impl Iterator<Item = VertexId> + '_ {
            (v == 1).then_some(0).into_iter()
        }
    }

    #[test]
    fn ends_that_are_no_vertices_are_problems() {
        let mut report = Verification::default();
        verify_view(&Dangling, &mut report);
        assert_eq!(
            report.problems,
            ["vertex 0 has neighbor 1, no vertex", "id 1 has 1 neighbors and is no vertex"]
        );
    }

    #[test]
    fn problems_beyond_a_thousand_are_counted() {
        let mut report = Verification::default();
        for number in 0..1001 {
            report.check(false, || number.to_string());
        }
        assert_eq!(report.problems.last().unwrap(), "1 more problem");
        report.check(false, String::new);
        assert_eq!(report.problems.last().unwrap(), "2 more problems");
        assert_eq!((report.problems.len(), report.problem_count()), (1001, 1002));
    }
}
