//! Louvain: communities of high modularity, by moving vertices, then groups of them.
//!
//! On each level every node of a network goes to the community of its neighbors where it raises
//! modularity most, until none is left that may ([`moving`](crate::moving)). The communities are the
//! nodes of the next level. The levels end when no node moves: then no two communities have more
//! modularity as one. Then vertices move once more, from these communities on, and levels follow again
//! ([`levels`](crate::levels)).
//!
//! The edges of a directed graph are taken as undirected ones: two vertices are linked by the weights of
//! both directions.
//!
//! Source: Blondel, Guillaume, Lambiotte and Lefebvre, "Fast unfolding of communities in large
//! networks", Journal of Statistical Mechanics 2008. Differences: nodes wait in a queue, and there is a second
//! iteration, as in Traag, Waltman and van Eck, "From Louvain to Leiden", Scientific Reports 2019; a node may go to an
//! empty community.
//!
//! # Cost
//! A level reads every link of its network a few times; the first is the largest by far. 8 bytes for each edge, 24
//! unless all weigh 1, as many again while the first network is made, and then 24 for each edge between communities of
//! the two levels after it. 88 for each id, and 12 for each id and thread. Networks are made, and nodes choose, on all
//! threads; one moves them. A seed has one answer, whatever the threads, and in any order of lists where sums of
//! weights are exact.

use everedge_core::{WeightedView, par, watch};

use crate::Result;
use crate::communities::{Communities, Found, named};
use crate::convergence::check_tolerance;
use crate::levels::Levels;
use crate::network::{Network, check_resolution};

const KERNEL: &str = "louvain";
/// Once more, nodes raise modularity by 1 to 7 %; a third time, by less than 0.1 %.
const ITERATIONS: u32 = 2;

/// How [`louvain`] finds communities, and when it stops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LouvainConfig {
    /// What the weight that chance puts inside communities is multiplied by; more makes smaller
    /// communities.
    pub resolution: f64,
    /// Whether edges count by their weight, or each as 1.
    pub weighted: bool,
    /// Stop after so many levels of both iterations, or when no node moves.
    pub levels_max: u32,
    /// Stop after a level that raises modularity by this or less; 0 goes on while nodes move.
    pub tolerance: f64,
    /// Draws the order in which nodes are visited.
    pub seed: u64,
}

impl Default for LouvainConfig {
    /// Newman's modularity, by weight, until no node moves.
    fn default() -> Self {
        Self { resolution: 1.0, weighted: true, levels_max: 100, tolerance: 0.0, seed: 1 }
    }
}

impl LouvainConfig {
    fn check(&self) -> Result<()> {
        check_resolution(self.resolution)?;
        check_tolerance(self.tolerance)
    }

    fn found<'a>(&self, result: &'a Communities) -> Found<'a> {
        let (resolution, weighted) = (self.resolution, self.weighted);
        Found { kernel: KERNEL, resolution, weighted, result }
    }
}

/// Finds communities of `view`.
///
/// # Errors
/// [`BadParameter`](crate::Error::BadParameter) if the resolution or the tolerance is negative or not
/// a number, or the resolution infinite; [`BadWeight`](crate::Error::BadWeight) if a weight is negative
/// or not finite.
///
/// # Example
/// ```
/// use everedge_core::{Csr, CsrOptions};
/// use everedge_kernels::{LouvainConfig, louvain};
///
/// let edges = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (2, 3)];
/// let g = Csr::from_edges(&edges, None, CsrOptions::default());
/// assert_eq!(louvain(&g, &LouvainConfig::default())?.community, [0, 0, 0, 3, 3, 3]);
/// # Ok::<(), everedge_kernels::Error>(())
/// ```
pub fn louvain(view: &impl WeightedView, config: &LouvainConfig) -> Result<Communities> {
    config.check()?;
    par::among_threads(view.homes(), || found(view, config))
}

fn found(view: &impl WeightedView, config: &LouvainConfig) -> Result<Communities> {
    let network = Network::of(view, config.weighted)?;
    let mut levels = Levels::new(&network, config.resolution, config.seed);
    let (mut found, mut rounds) = (levels.single(), 0);
    for _ in 0..ITERATIONS {
        let left = config.levels_max - rounds;
        let goes_on = |levels: u32, raised: f64| {
            watch::note((rounds + left.min(levels + 1)).into(), 0);
            levels < left && (config.tolerance == 0.0 || raised > config.tolerance)
        };
        found = levels.iterate(found, |_, _| None, goes_on);
        rounds += found.levels;
        if !found.is_stable || rounds == config.levels_max {
            break;
        }
    }
    let community = named(view, &found.of);
    let (modularity, is_stable) = (found.modularity, found.is_stable);
    Ok(Communities { community, modularity, rounds, is_stable })
}

/// Checks that `result` has communities of `view` with their modularity, named after their smallest
/// vertices, and that no two of them have more modularity as one, if the levels ended by themselves.
///
/// Vertices without neighbors must be alone. Cost: every edge three times; as much memory as
/// [`louvain`].
///
/// # Errors
/// [`WrongResult`](crate::Error::WrongResult) with the first property that does not hold; others as
/// [`louvain`].
pub fn verify_louvain(
    view: &impl WeightedView,
    config: &LouvainConfig,
    result: &Communities,
) -> Result<()> {
    config.check()?;
    let found = config.found(result);
    found.check(view)?;
    found.check_lone(view)?;
    if result.is_stable { found.check_apart(view) } else { Ok(()) }
}

/// Checks that `result` has communities of `view` with their modularity, named after their smallest
/// vertices.
///
/// Misses communities that could be better, and vertices without edges in the wrong one. Cost: every
/// edge once.
///
/// # Errors
/// As [`verify_louvain`].
pub fn spot_check_louvain(
    view: &impl WeightedView,
    config: &LouvainConfig,
    result: &Communities,
) -> Result<()> {
    config.check()?;
    config.found(result).check(view)
}
