//! What a run of the demo found: everything that its page shows.

use std::ops::Range;

use everedge_bench::RunInfo;

use crate::charts::{Count, Neighborhood, Ranked};

/// Everything that the page shows. Empty lists are allowed: their plots then say so.
#[derive(Clone, Debug, Default)]
pub(crate) struct DemoReport {
    /// How to repeat the run, and where it was made.
    pub(crate) run: RunInfo,
    /// Where the data comes from, e.g. `Debian 12.15 "bookworm", main, amd64, 2026-07-11`.
    pub(crate) source: String,
    /// Vertices of the graph.
    pub(crate) packages: u64,
    /// Edges of the graph.
    pub(crate) dependencies: u64,
    /// How the edges went in.
    pub(crate) ingest: Ingest,
    /// The packages of the highest PageRank, best first; some 15 read well.
    pub(crate) ranking: Vec<Ranked>,
    /// How many packages have how many dependents, ascending by `value`.
    pub(crate) in_degrees: Vec<Count>,
    /// How many packages have how many dependencies, ascending by `value`.
    pub(crate) out_degrees: Vec<Count>,
    /// What a breadth-first search from one package finds.
    pub(crate) reach: Reach,
    /// What stands around one package.
    pub(crate) neighborhood: Neighborhood,
    /// How many weakly connected components have how many packages, in any order.
    pub(crate) components: Vec<Count>,
    /// Which edges were deleted, and what that did to the ranking.
    pub(crate) deletion: Deletion,
    /// The rounds in which a writing process was killed.
    pub(crate) crashes: Vec<CrashRound>,
}

/// How the edges went in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ingest {
    /// From the first edge read to the last batch acknowledged.
    pub(crate) seconds: f64,
    /// Edges acknowledged in each of these seconds.
    pub(crate) edges_per_second: f64,
    /// Name of the layout, e.g. `adjacency`.
    pub(crate) layout: String,
    /// Name of the medium, e.g. `file`.
    pub(crate) medium: String,
    /// Name of the durability level, e.g. `batch`.
    pub(crate) durability: String,
}

/// What a breadth-first search from one package finds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reach {
    /// Name of the package where the search begins.
    pub(crate) source: String,
    /// One entry a depth; the first is depth 0 and holds the source alone.
    pub(crate) levels: Vec<ReachLevel>,
    /// The packages in the order in which they are met, so that those of a depth follow one another.
    pub(crate) tree: Vec<Met>,
}

impl Reach {
    /// Returns where the packages of each depth stand in the tree.
    pub(crate) fn rings(&self) -> Vec<Range<usize>> {
        let mut end = 0;
        let ring = |level: &ReachLevel| {
            let start = end;
            end = (start + level.packages as usize).min(self.tree.len());
            start..end
        };
        self.levels.iter().map(ring).collect()
    }
}

/// A package that a search met.
#[derive(Clone, Debug, Default)]
pub(crate) struct Met {
    /// Name of the package.
    pub(crate) name: String,
    /// Place in the tree of the package that led to it first; 0 for the source, which stands there.
    pub(crate) from: usize,
}

/// The packages at one depth of a search.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReachLevel {
    /// How many packages are first met at this depth.
    pub(crate) packages: u64,
    /// Names of some of them, the most telling first.
    pub(crate) examples: Vec<String>,
}

/// Which edges were deleted, and what that did to the ranking.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deletion {
    /// What was deleted, as the end of a sentence, e.g. `every dependency on perl`.
    pub(crate) what: String,
    /// How many edges that were.
    pub(crate) edges_deleted: u64,
    /// The packages of the plot; some 12 read well.
    pub(crate) changes: Vec<RankChange>,
}

/// Place of a package in the ranking before and after a deletion.
#[derive(Clone, Debug, Default)]
pub(crate) struct RankChange {
    /// Name of the package.
    pub(crate) name: String,
    /// Place before, from 1.
    pub(crate) before: u64,
    /// Place after, from 1.
    pub(crate) after: u64,
}

/// One round of *pulling the plug*: a process writes, is killed, and the graph opens again.
#[derive(Clone, Debug, Default)]
pub(crate) struct CrashRound {
    /// Batches that were acknowledged before the kill.
    pub(crate) batches_acknowledged: u64,
    /// Edges of those batches.
    pub(crate) edges_acknowledged: u64,
    /// When SIGKILL was sent, in ms since the writer began.
    pub(crate) kill_ms: f64,
    /// How long opening took after the kill, in ms.
    pub(crate) recovery_ms: f64,
    /// Batches in the opened graph: the acknowledged ones and perhaps whole later ones.
    pub(crate) batches_recovered: u64,
    /// Acknowledged batches that the opened graph lacks.
    pub(crate) batches_lost: u64,
}
