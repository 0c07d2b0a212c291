//! Levels: networks of groups of groups, whose nodes move between communities.
//!
//! On each level nodes move until none is left that may ([`moving`](crate::moving)). Groups of them become the nodes of
//! the next level: the communities themselves with Louvain, parts of them with Leiden. The levels of one *iteration* end
//! when no node moves and each is a community. The next iteration begins with the first network again, in the
//! communities that were found: what had moved with its group can move alone.
//!
//! Source: Traag, Waltman and van Eck, "From Louvain to Leiden: guaranteeing well-connected communities",
//! Scientific Reports 2019, which iterates both.

use everedge_core::{SplitMix64, par};

use crate::moving;
use crate::network::{Groups, Network};

/// Nodes in a piece of work that takes little for each.
const GRAIN: usize = 1 << 12;

/// How levels are made.
pub(crate) struct Levels<'a> {
    first: &'a Network,
    resolution: f64,
    random: SplitMix64,
    /// Networks that are done with, the largest last. Fresh memory takes a tenth of the time, for the system clears it.
    spare: Vec<Network>,
}

/// Communities of the first level, and how they came about.
pub(crate) struct Found {
    /// The community of each node.
    pub(crate) of: Vec<u32>,
    pub(crate) modularity: f64,
    pub(crate) levels: u32,
    /// How often a node moved, on all levels.
    pub(crate) moves: u64,
    /// Whether the last level moved no node.
    pub(crate) is_stable: bool,
}

impl<'a> Levels<'a> {
    pub(crate) fn new(first: &'a Network, resolution: f64, seed: u64) -> Self {
        Self { first, resolution, random: SplitMix64::new(seed), spare: Vec::new() }
    }

    /// Returns each node in a community of its own.
    pub(crate) fn single(&self) -> Found {
        let of = par::collect(self.first.len() as usize, |v| v as u32);
        let modularity = self.first.modularity(self.resolution);
        Found { of, modularity, levels: 0, moves: 0, is_stable: false }
    }

    fn keep(&mut self, spare: Option<Network>) {
        self.spare.extend(spare);
        self.spare.sort_by_key(Network::room);
    }

    /// Makes an iteration that begins with the communities `from`. `parts` divides those of a level into the nodes of
    /// the next one, or leaves them whole. `goes_on(levels, raised)` is asked before each level; with parts, `raised` says
    /// nothing.
    pub(crate) fn iterate(
        &mut self,
        from: Found,
        parts: impl Fn(&Network, &Groups) -> Option<Groups>,
        mut goes_on: impl FnMut(u32, f64) -> bool,
    ) -> Found {
        let (mut found, mut modularity) = (self.single(), from.modularity);
        let (mut network, mut community, mut raised) = (None, from.of, f64::INFINITY);
        while goes_on(found.levels, raised) {
            let level = network.as_ref().unwrap_or(self.first);
            let mut communities = moving::Communities::new(level, community);
            let moves = communities.move_nodes(level, self.resolution, &mut self.random);
            found.levels += 1;
            found.moves += moves;
            let groups = Groups::new(communities.of);
            found.is_stable = moves == 0;
            if groups.len() == level.len() && found.is_stable {
                break;
            }
            let parts = parts(level, &groups);
            let nodes = parts.as_ref().unwrap_or(&groups);
            if nodes.len() == level.len() && groups.len() < level.len() {
                break;
            }
            rename(&mut found.of, &nodes.of);
            let community_of = |node: usize| groups.of[nodes.members(node as u32)[0] as usize];
            community = par::collect(nodes.len() as usize, community_of);
            let next = level.of_groups(nodes, self.spare.pop().unwrap_or_default());
            found.modularity = next.modularity(self.resolution);
            raised = found.modularity - std::mem::replace(&mut modularity, found.modularity);
            self.keep(network.replace(next));
        }
        self.keep(network);
        found
    }
}

/// Puts the group of each node in its place.
fn rename(node: &mut [u32], group: &[u32]) {
    par::map_chunks_mut(node, GRAIN, |_, nodes| {
        nodes.iter_mut().for_each(|node| *node = group[*node as usize]);
    });
}
