//! Charts of graphs, as the pages of the demo and of reports show them.

mod bars;
mod degrees;
mod neighborhood;
mod versions;

use std::collections::BTreeMap;

use everedge::View;
use everedge_bench::page;

pub(crate) use self::bars::{columns, component_tail, largest_share};
pub(crate) use self::degrees::{DegreeLine, draw as degrees};
pub(crate) use self::neighborhood::{Titles, draw as neighborhood};
pub(crate) use self::versions::draw as over_versions;

/// What vertices are called.
pub(crate) struct Nouns {
    pub(crate) one: &'static str,
    pub(crate) many: &'static str,
}

/// The word for them where nothing is known of them.
pub(crate) const VERTICES: Nouns = Nouns { one: "vertex", many: "vertices" };

impl Nouns {
    /// Returns a number of them: `1 vertex`, `2 vertices`.
    pub(crate) fn counted(&self, number: u64) -> String {
        page::counted(number, self.one, self.many)
    }
}

/// How many things have one value.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count {
    /// The value: a degree, or the size of a component.
    pub(crate) value: u64,
    /// How many have it.
    pub(crate) count: u64,
}

/// A vertex and its PageRank.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ranked {
    /// What it is called.
    pub(crate) name: String,
    /// Its share of a total of 1.
    pub(crate) score: f64,
}

/// What stands around one vertex.
#[derive(Clone, Debug, Default)]
pub(crate) struct Neighborhood {
    /// What the vertex in the middle is called.
    pub(crate) center: String,
    /// Edges, source first: those that touch the center, those that leave the ends of its own edges, and
    /// any others between these vertices. The chart keeps what fits: vertices with many edges here, and
    /// among equals those that come first.
    pub(crate) edges: Vec<(String, String)>,
    /// How many vertices before the center, and how many after it, no edge here names.
    pub(crate) hidden: [usize; 2],
}

/// Returns how often each value occurs, ascending.
pub(crate) fn counts(values: impl Iterator<Item = u64>) -> Vec<Count> {
    let mut counts = BTreeMap::new();
    for value in values {
        *counts.entry(value).or_insert(0) += 1;
    }
    counts.into_iter().map(|(value, count)| Count { value, count }).collect()
}

/// Returns how many vertices have which degree; that of each stands at its row.
pub(crate) fn degree_counts(view: &View, degrees: &[u32]) -> Vec<Count> {
    let rows = view.vertices().into_iter().filter_map(|v| view.row_of(v));
    counts(rows.map(|row| degrees[row].into()))
}
