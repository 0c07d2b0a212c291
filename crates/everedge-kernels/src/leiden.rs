//! Leiden: communities of high modularity that are connected, by moving vertices, refining, and moving
//! groups.
//!
//! On each level every node of a network goes to the community where it raises modularity most
//! ([`moving`](crate::moving)). *Refinement* then begins anew inside each community: each node alone,
//! it joins nodes that are linked well with the rest of the community into groups. These groups, not
//! the communities, are the nodes of the next level; at first they are in the communities where they
//! were found, which so can be split again. An iteration ends when each node is a community and no node
//! moves; the next one begins with its communities ([`levels`](crate::levels)), and the first one with those of an
//! iteration without refinement, which takes less and ends as well.
//!
//! A group is grown along links, so it is connected, and so is every community in the end. No two
//! communities have more modularity as one.
//!
//! The edges of a directed graph are taken as undirected ones: two vertices are linked by the weights of
//! both directions.
//!
//! Source: Traag, Waltman and van Eck, "From Louvain to Leiden: guaranteeing well-connected
//! communities", Scientific Reports 2019, with modularity as the quality. Differences: refinement takes the best group
//! that raises modularity, not a random one of those that do not lower it, as in Sahu, "Fast Leiden Algorithm for
//! Community Detection in Shared Memory Setting", ICPP 2024; communities are refined in parallel; the start is an iteration
//! of Louvain.
//!
//! # Cost
//! As an iteration of [`louvain`](crate::louvain()), and then, for each of its own iterations, about half as much and a
//! visit of each node of each level for its refinement. Where refinement makes few groups, the next level has nearly as
//! many links as the one before. 36 bytes more for each id than [`louvain`](crate::louvain()). A seed has one answer, as
//! there.

use everedge_core::{SplitMix64, WeightedView, par, scramble, watch};

use crate::Result;
use crate::communities::{Communities, Found, named};
use crate::convergence::check_tolerance;
use crate::levels::Levels;
use crate::network::{Groups, Network, Node, Weights, check_resolution, in_random_order, run_of};

const KERNEL: &str = "leiden";
/// Pieces of work into which communities are cut.
const PIECES: u32 = 1 << 8;

/// How [`leiden`] finds communities, and when it stops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeidenConfig {
    /// What the weight that chance puts inside communities is multiplied by; more makes smaller
    /// communities.
    pub resolution: f64,
    /// Whether edges count by their weight, or each as 1.
    pub weighted: bool,
    /// Stop after so many iterations, or when one moves no node.
    pub iterations_max: u32,
    /// Stop after an iteration that raises modularity by this or less; 0 goes on while nodes move.
    pub tolerance: f64,
    /// Draws the order in which nodes are visited.
    pub seed: u64,
}

impl Default for LeidenConfig {
    /// Newman's modularity, by weight, in up to four iterations, as long as each raises it by more than 0.001: igraph and leidenalg
    /// make two, and where few communities stand out two more find better ones.
    fn default() -> Self {
        Self { resolution: 1.0, weighted: true, iterations_max: 4, tolerance: 0.001, seed: 1 }
    }
}

impl LeidenConfig {
    fn check(&self) -> Result<()> {
        check_resolution(self.resolution)?;
        check_tolerance(self.tolerance)
    }

    fn found<'a>(&self, result: &'a Communities) -> Found<'a> {
        let (resolution, weighted) = (self.resolution, self.weighted);
        Found { kernel: KERNEL, resolution, weighted, result }
    }
}

/// Finds connected communities of `view`.
///
/// # Errors
/// [`BadParameter`](crate::Error::BadParameter) if the resolution or the tolerance is negative or not
/// a number, or the resolution infinite; [`BadWeight`](crate::Error::BadWeight) if a weight is negative
/// or not finite.
///
/// # Example
/// ```
/// use everedge_core::{Csr, CsrOptions};
/// use everedge_kernels::{LeidenConfig, leiden};
///
/// let edges = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (2, 3)];
/// let g = Csr::from_edges(&edges, None, CsrOptions::default());
/// assert_eq!(leiden(&g, &LeidenConfig::default())?.community, [0, 0, 0, 3, 3, 3]);
/// # Ok::<(), everedge_kernels::Error>(())
/// ```
pub fn leiden(view: &impl WeightedView, config: &LeidenConfig) -> Result<Communities> {
    config.check()?;
    par::among_threads(view.homes(), || found(view, config))
}

fn found(view: &impl WeightedView, config: &LeidenConfig) -> Result<Communities> {
    let network = Network::of(view, config.weighted)?;
    let mut levels = Levels::new(&network, config.resolution, config.seed);
    let mut found = levels.single();
    let (mut rounds, mut is_stable) = (0, false);
    if config.iterations_max > 0 {
        watch::note(0, config.iterations_max.into());
        found = levels.iterate(found, |_, _| None, |_, _| true);
    }
    while rounds < config.iterations_max && !is_stable {
        rounds += 1;
        watch::note(rounds.into(), config.iterations_max.into());
        let before = found.modularity;
        let seed = scramble(config.seed ^ scramble(rounds.into()));
        let parts = |level: &Network, communities: &Groups| {
            Some(parts(level, communities, config.resolution, seed))
        };
        found = levels.iterate(found, parts, |_, _| true);
        is_stable = found.moves == 0;
        if config.tolerance > 0.0 && found.modularity - before <= config.tolerance {
            break;
        }
    }
    let community = named(view, &found.of);
    Ok(Communities { community, modularity: found.modularity, rounds, is_stable })
}

/// Divides communities into groups of nodes that are linked well, or else that are connected.
fn parts(network: &Network, communities: &Groups, resolution: f64, seed: u64) -> Groups {
    let refined = refine(network, communities, resolution, seed);
    match refined.len() == network.len() && communities.len() < network.len() {
        true => connected(network, communities),
        false => refined,
    }
}

/// Finds groups of nodes inside each community that are linked well.
fn refine(network: &Network, communities: &Groups, resolution: f64, seed: u64) -> Groups {
    let count = communities.len();
    // Where each node is among the members of its community.
    let mut place = par::collect(network.len() as usize, |_| 0);
    for community in 0..count {
        (0..).zip(communities.members(community)).for_each(|(i, &v)| place[v as usize] = i);
    }
    let threads = par::PerThread::new(|| Weights::new(0));
    let refined = par::map_ranges(count, count.div_ceil(PIECES).max(1), |range| {
        threads.with(|weights| {
            let mut groups = Vec::new();
            for community in range {
                let refinement = Refinement {
                    network,
                    communities,
                    community,
                    place: &place,
                    resolution,
                    groups: Vec::new(),
                    of: Vec::new(),
                    strength: 0.0,
                };
                let random = &mut SplitMix64::new(seed.wrapping_add(community.into()));
                groups.extend(refinement.run(weights, random));
            }
            groups
        })
    });
    let mut of = vec![0; network.len() as usize];
    let members = (0..count).flat_map(|community| communities.members(community));
    members.zip(refined.into_iter().flatten()).for_each(|(&v, group)| of[v as usize] = group);
    Groups::new(of)
}

/// Groups inside one community.
struct Refinement<'a> {
    network: &'a Network,
    communities: &'a Groups,
    community: u32,
    /// Where each node is among the members of its community.
    place: &'a [u32],
    resolution: f64,
    /// The groups, each at the place of the member that it began with.
    groups: Vec<Group>,
    /// The group of each member.
    of: Vec<u32>,
    /// The strength of the community.
    strength: f64,
}

struct Group {
    strength: f64,
    /// The weight of the links to the rest of the community.
    outside: f64,
    is_single: bool,
}

impl Refinement<'_> {
    /// Returns the group of each member, named by its first one.
    fn run(mut self, weights: &mut Weights, random: &mut SplitMix64) -> impl Iterator<Item = Node> {
        let members = self.communities.members(self.community);
        if members.len() > 1 {
            weights.reserve(members.len() as u32);
            self.begin(members);
            // In their own order the first ones would make the groups, whatever the seed.
            let count = members.len() as u32;
            for i in in_random_order(count, run_of(count), random) {
                watch::check();
                if self.groups[i as usize].is_single && self.is_linked_well(i) {
                    self.join(i, members[i as usize], weights);
                }
            }
        } else {
            self.of = vec![0];
        }
        self.of.into_iter().map(|i| members[i as usize])
    }

    /// Puts each member into a group of its own.
    fn begin(&mut self, members: &[Node]) {
        self.of = (0..members.len() as u32).collect();
        self.groups = members
            .iter()
            .map(|&v| {
                let strength = self.network.strength(v);
                let inside = self.inside(v).map(|(_, weight)| weight);
                Group { strength, outside: inside.sum(), is_single: true }
            })
            .collect();
        self.strength = self.groups.iter().map(|group| group.strength).sum();
    }

    /// Returns the links of `v` inside the community: the place of the other node, and the weight.
    fn inside(&self, v: Node) -> impl Iterator<Item = (u32, f64)> {
        let inside = |(u, weight): (Node, f64)| {
            let is_inside = self.communities.of[u as usize] == self.community;
            is_inside.then(|| (self.place[u as usize], weight))
        };
        self.network.links(v).filter_map(inside)
    }

    /// Whether a group has as much weight to the rest of the community as chance would give it.
    fn is_linked_well(&self, group: u32) -> bool {
        let Group { strength, outside, .. } = self.groups[group as usize];
        outside >= self.resolution * self.network.expected(strength, self.strength - strength)
    }

    /// Lets `v`, the `i`th member, join the group that raises modularity most, if one does.
    fn join(&mut self, i: u32, v: Node, weights: &mut Weights) {
        let grouped = |(place, weight)| (self.of[place as usize], weight);
        weights.add_all(self.inside(v).map(grouped), |_| ());
        let (mut best, mut most, mut between) = (None, 0.0, 0.0);
        weights.take(|group, linked| {
            let strengths = [i, group].map(|g| self.groups[g as usize].strength);
            let expected = self.network.expected(strengths[0], strengths[1]);
            let raised = linked - self.resolution * expected;
            let is_better =
                raised > most || raised == most && best.is_some_and(|best| group < best);
            if is_better && self.is_linked_well(group) {
                (best, most, between) = (Some(group), raised, linked);
            }
        });
        let Some(best) = best else { return };
        let Group { strength, outside, .. } = self.groups[i as usize];
        let group = &mut self.groups[best as usize];
        group.strength += strength;
        group.outside += outside - 2.0 * between;
        group.is_single = false;
        self.groups[i as usize].is_single = false;
        self.of[i as usize] = best;
    }
}

/// Finds the connected parts of each community.
fn connected(network: &Network, communities: &Groups) -> Groups {
    let mut of = vec![u32::MAX; network.len() as usize];
    let mut stack = Vec::new();
    for start in 0..network.len() {
        if of[start as usize] != u32::MAX {
            continue;
        }
        of[start as usize] = start;
        stack.push(start);
        while let Some(u) = stack.pop() {
            watch::check();
            for (w, _) in network.links(u) {
                let is_near = communities.of[w as usize] == communities.of[u as usize];
                if is_near && of[w as usize] == u32::MAX {
                    of[w as usize] = start;
                    stack.push(w);
                }
            }
        }
    }
    Groups::new(of)
}

/// Checks that `result` has connected communities of `view` with their modularity, named after their
/// smallest vertices, and that no two of them have more modularity as one.
///
/// Cost: every edge four times; as much memory as [`leiden`].
///
/// # Errors
/// [`WrongResult`](crate::Error::WrongResult) with the first property that does not hold; others as
/// [`leiden`].
pub fn verify_leiden(
    view: &impl WeightedView,
    config: &LeidenConfig,
    result: &Communities,
) -> Result<()> {
    config.check()?;
    let found = config.found(result);
    found.check(view)?;
    found.check_connected(view)?;
    if result.rounds > 0 { found.check_apart(view) } else { Ok(()) }
}

/// Checks that `result` has communities of `view` with their modularity, named after their smallest
/// vertices.
///
/// Misses communities that could be better, and vertices without edges in the wrong one. Cost: every
/// edge once.
///
/// # Errors
/// As [`verify_leiden`].
pub fn spot_check_leiden(
    view: &impl WeightedView,
    config: &LeidenConfig,
    result: &Communities,
) -> Result<()> {
    config.check()?;
    config.found(result).check(view)
}
