//! What verification of every layout has in common.

use everedge_core::{GraphView, VertexId};
use rustc_hash::FxHashMap;

/// The outcome of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// How many statements were checked.
    pub checks: u64,
    /// What does not hold: what, where, expected and found.
    pub problems: Vec<String>,
}

impl Verification {
    /// Notes a statement, and what is wrong if it does not hold.
    pub fn check(&mut self, holds: bool, problem: impl FnOnce() -> String) {
        self.checks += 1;
        if !holds {
            self.problems.push(problem());
        }
    }
}

/// Every edge must stand as often among the in-neighbors of its destination as among the
/// out-neighbors of its source: compared by a sum of hashes for each vertex.
pub fn verify_mirror(view: &impl GraphView, report: &mut Verification) {
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
