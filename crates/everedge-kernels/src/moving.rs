//! Local moving: nodes of a network go to the community where they raise modularity most, until none
//! is left in a queue.
//!
//! All nodes with links are in the queue at first, in random order. The first one is taken out, and
//! moves to the community of one of its neighbors, or to an empty one, if that raises modularity. Its
//! neighbors outside that community then go to the end of the queue, unless they are in it. What the
//! move changes for others they find out later: only a pass that moves nobody shows that no node
//! could.
//!
//! Source: Blondel, Guillaume, Lambiotte and Lefebvre, "Fast unfolding of communities in large
//! networks", Journal of Statistical Mechanics 2008; with a queue as in Traag, Waltman and van Eck,
//! "From Louvain to Leiden", Scientific Reports 2019 (there called *fast local move*). One thread
//! moves nodes: each move depends on those before.
//!
//! # Cost
//! A visit reads the links of a node, and the community of each neighbor, at random. Most nodes are
//! visited a few times. 40 bytes for each node.

use std::collections::VecDeque;

use everedge_core::{SplitMix64, watch};

use crate::network::{Network, Node, Weights, shuffled};

/// A move must raise what links say of it by more than this part of the node's strength: rounding
/// could do as much.
const RAISED_MIN: f64 = 1e-12;
/// Visits between two looks at whether the kernel was cancelled.
const VISITS_PER_CHECK: u64 = 1 << 10;

/// Communities of the nodes of a network.
#[derive(Debug)]
pub(crate) struct Communities {
    /// The community of each node.
    pub(crate) of: Vec<u32>,
    /// The strength of each community.
    strength: Vec<f64>,
    /// How many nodes each community has.
    count: Vec<u32>,
    /// Some communities that were empty when they came here, and all that are.
    empty: Vec<u32>,
}

impl Communities {
    /// Puts every node into a community of its own.
    pub(crate) fn single(network: &Network) -> Self {
        Self::new(network, (0..network.len()).collect())
    }

    /// Puts each node into the community that `of` says, one of as many as there are nodes.
    pub(crate) fn new(network: &Network, of: Vec<u32>) -> Self {
        let (mut strength, mut count) = (vec![0.0; of.len()], vec![0; of.len()]);
        for (v, &community) in (0..).zip(&of) {
            strength[community as usize] += network.strength(v);
            count[community as usize] += 1;
        }
        let empty = (0..network.len()).rev().filter(|&c| count[c as usize] == 0).collect();
        Self { of, strength, count, empty }
    }

    /// Moves nodes of `network` until none is left in the queue; returns how often one moved.
    pub(crate) fn move_nodes(
        &mut self,
        network: &Network,
        resolution: f64,
        random: &mut SplitMix64,
    ) -> u64 {
        let mut queue = VecDeque::from(shuffled(network, random));
        let mut is_queued = vec![false; network.len() as usize];
        queue.iter().for_each(|&v| is_queued[v as usize] = true);
        let mut weights = Weights::new(network.len());
        let (mut visits, mut moves) = (0_u64, 0);
        while let Some(v) = queue.pop_front() {
            visits += 1;
            if visits.is_multiple_of(VISITS_PER_CHECK) {
                watch::check();
            }
            is_queued[v as usize] = false;
            let best = self.best(network, resolution, v, &mut weights);
            if best != self.of[v as usize] {
                moves += 1;
                self.put(network, v, best);
                for (u, _) in network.links(v) {
                    let is_outside = self.of[u as usize] != best;
                    if is_outside && !std::mem::replace(&mut is_queued[u as usize], true) {
                        queue.push_back(u);
                    }
                }
            }
        }
        moves
    }

    /// Returns the community where `v` raises modularity most: its own one, if no other is better.
    fn best(&mut self, network: &Network, resolution: f64, v: Node, weights: &mut Weights) -> u32 {
        for (u, weight) in network.links(v) {
            weights.add(self.of[u as usize], weight);
        }
        let (own, strength) = (self.of[v as usize], network.strength(v));
        let of_expected = resolution * network.expected(strength, 1.0);
        let raised = |linked: f64, others: f64| linked - of_expected * others;
        let others = self.strength[own as usize] - strength;
        let stay = raised(weights.of(own), others) + RAISED_MIN * strength;
        let (mut best, mut most) = (own, stay);
        weights.take(|community, linked| {
            let raised = raised(linked, self.strength[community as usize]);
            if raised > most && community != own {
                (best, most) = (community, raised);
            }
        });
        if most < 0.0 && self.count[own as usize] > 1 {
            // There is one: two nodes share a community, and there are as many as nodes.
            while let Some(&empty) = self.empty.last() {
                if self.count[empty as usize] == 0 {
                    return empty;
                }
                self.empty.pop();
            }
        }
        best
    }

    fn put(&mut self, network: &Network, v: Node, community: u32) {
        let (old, strength) = (self.of[v as usize], network.strength(v));
        self.of[v as usize] = community;
        self.strength[community as usize] += strength;
        self.count[community as usize] += 1;
        self.count[old as usize] -= 1;
        match self.count[old as usize] {
            0 => {
                // Exactly: what rounding left would stay for ever.
                self.strength[old as usize] = 0.0;
                self.empty.push(old);
            }
            _ => self.strength[old as usize] -= strength,
        }
    }
}
