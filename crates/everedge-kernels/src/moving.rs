//! Local moving: nodes of a network go to the community where they raise modularity most, until none
//! is left in a queue.
//!
//! All nodes with links are in the queue at first. One that is taken out chooses among the communities of its
//! neighbors, its own one, and one of its own alone, and moves if another raises modularity more. Whoever has
//! chosen keeps a *margin*: by how much the best community beats the second. A neighbor that moves takes the
//! weight of its link from the margin, or twice that. When nothing is left of it, another community may be better,
//! and the node goes to the end of the queue. What a move changes by the strength of communities others find out
//! later: only a pass that moves nobody shows that no node could.
//!
//! The first of the queue choose at the same time, on all threads, and then move one after the other. Who has lost
//! its margin to those before it, or would raise modularity no more, chooses again: each move raises modularity,
//! and threads do not matter.
//!
//! Source: Blondel, Guillaume, Lambiotte and Lefebvre, "Fast unfolding of communities in large
//! networks", Journal of Statistical Mechanics 2008; with a queue as in Traag, Waltman and van Eck,
//! "From Louvain to Leiden", Scientific Reports 2019 (there called *fast local move*). Differences: there each
//! neighbor outside the new community goes to the queue, here a margin tells who needs to, which halves the links
//! that are read, as most are those of hubs that would stay; nodes are visited in runs of neighboring ones, not
//! each in random order.
//!
//! # Cost
//! A visit reads the links of a node, and the community of each neighbor, at random. Most nodes are
//! visited two or three times. 44 bytes for each node, and 12 for each node and thread.

use std::collections::VecDeque;

use everedge_core::{SplitMix64, memory, par, watch};

use crate::network::{Network, Node, Weights, for_each_ahead, run_of, shuffled};

/// A move must raise what links say of it by more than this part of the node's strength: rounding
/// could do as much.
const RAISED_MIN: f64 = 1e-12;
/// One of so many nodes of the queue chooses at the same time as the first,
const BATCHES: usize = 1 << 6;
/// and so many at most.
const BATCH_MAX: usize = 1 << 13;
/// Nodes in a piece of work.
const GRAIN: usize = 1 << 7;
/// The margin of a node that is in the queue.
const QUEUED: f32 = f32::NEG_INFINITY;
/// Stands for a community without nodes.
const ALONE: u32 = u32::MAX;

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
    /// Puts each node into the community that `of` says, one of as many as there are nodes.
    pub(crate) fn new(network: &Network, of: Vec<u32>) -> Self {
        let mut strength = par::collect(of.len(), |_| 0.0);
        let mut count = vec![0; of.len()];
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
        let chosen = |v: usize| Chosen { community: self.of[v], margin: QUEUED };
        let mut moving = Moving {
            network,
            resolution,
            chosen: par::collect(self.of.len(), chosen),
            queue: VecDeque::from(shuffled(network, run_of(network.len()), random)),
            queued: Vec::new(),
            weights: Weights::new(network.len()),
            batch_moves: 0,
            communities: self,
        };
        let threads = par::PerThread::new(|| Weights::new(0));
        let mut moves = 0;
        while !moving.queue.is_empty() {
            let batch = moving.next_batch();
            let choices = moving.choices(&batch, &threads);
            moving.take(&batch, choices);
            moves += moving.batch_moves;
        }
        moves
    }

    /// Whether there is no other node in the community of `v`.
    fn is_alone(&self, v: Node) -> bool {
        self.count[self.of[v as usize] as usize] == 1
    }

    /// Returns a community without nodes. There is one where two nodes share another: there are as many as nodes.
    fn empty(&mut self) -> Option<u32> {
        while let Some(&empty) = self.empty.last() {
            if self.count[empty as usize] == 0 {
                return Some(empty);
            }
            self.empty.pop();
        }
        None
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

/// What a node chooses.
struct Choice {
    /// The community where it raises modularity most, or [`ALONE`].
    community: u32,
    /// The weight of the links to it, less that of the links to the own one.
    linked: f64,
    /// By how much more it raises modularity than any other.
    margin: f64,
}

/// What a node has chosen.
struct Chosen {
    /// The community that it is in, or is about to move to.
    community: u32,
    /// What is left of its margin, or [`QUEUED`].
    margin: f32,
}

/// Returns a margin as it is kept.
fn kept(margin: f64) -> f32 {
    (margin as f32).min(f32::MAX)
}

/// Nodes that move.
struct Moving<'a> {
    network: &'a Network,
    resolution: f64,
    communities: &'a mut Communities,
    chosen: Vec<Chosen>,
    queue: VecDeque<Node>,
    /// Those that go to the queue now.
    queued: Vec<Node>,
    weights: Weights,
    /// How many of the batch have moved.
    batch_moves: u64,
}

impl Moving<'_> {
    /// Takes the nodes that choose next out of the queue.
    fn next_batch(&mut self) -> Vec<Node> {
        let len = self.queue.len().div_ceil(BATCHES).min(BATCH_MAX);
        self.queue.drain(..len).collect()
    }

    /// Returns what nodes choose, all at the same time.
    fn choices(&self, batch: &[Node], threads: &par::PerThread<Weights>) -> Vec<Choice> {
        let choices = par::map_chunks(batch, GRAIN, |nodes| {
            watch::check();
            threads.with(|weights| {
                weights.reserve(self.network.len());
                nodes.iter().map(|&v| self.choice(v, weights)).collect::<Vec<_>>()
            })
        });
        choices.into_iter().flatten().collect()
    }

    /// Returns where `v` raises modularity most.
    fn choice(&self, v: Node, weights: &mut Weights) -> Choice {
        let Communities { of, strength, .. } = &*self.communities;
        let in_community = |(u, weight)| (of[u as usize], weight);
        let load = |community| memory::prefetch(&strength[community as usize..]);
        let links = self.network.links_ahead(v, |u| memory::prefetch(&of[u as usize..]));
        weights.add_all(links.map(in_community), load);
        let (own, of_v) = (of[v as usize], self.network.strength(v));
        let of_expected = self.of_expected(v);
        let raised = |linked: f64, others: f64| linked - of_expected * others;
        let own_linked = weights.of(own);
        let stay = raised(own_linked, strength[own as usize] - of_v) + RAISED_MIN * of_v;
        let is_alone = self.communities.is_alone(v);
        // To be alone raises nothing.
        let mut second = if is_alone { f64::MIN } else { 0.0 };
        let (mut best, mut most, mut linked_most) = (own, stay, own_linked);
        weights.take(|community, linked| {
            let raised = raised(linked, strength[community as usize]);
            if community != own && raised >= second {
                // Of two that are as good the smaller one: the order of lists does not matter.
                if raised > most || raised == most && best != own && community < best {
                    second = second.max(most);
                    (best, most, linked_most) = (community, raised, linked);
                } else {
                    second = raised;
                }
            }
        });
        if most < 0.0 && !is_alone {
            return Choice { community: ALONE, linked: -own_linked, margin: -most };
        }
        Choice { community: best, linked: linked_most - own_linked, margin: most - second }
    }

    /// Returns what a node loses by each unit of strength of the others in its community: the weight that chance puts
    /// between them.
    fn of_expected(&self, v: Node) -> f64 {
        self.resolution * self.network.expected(self.network.strength(v), 1.0)
    }

    /// Whether a move raises modularity, whatever has moved since it was chosen.
    fn raises(&self, v: Node, choice: &Choice) -> bool {
        let strength = &self.communities.strength;
        let there = match choice.community {
            ALONE if self.communities.is_alone(v) => return false,
            ALONE => 0.0,
            community => strength[community as usize],
        };
        let of_v = self.network.strength(v);
        let others = strength[self.communities.of[v as usize] as usize] - of_v;
        // What moves of neighbors have taken from the margin, they have taken from this at most; each has rounded it.
        let lost = kept(choice.margin) - self.chosen[v as usize].margin;
        let linked = choice.linked - f64::from(lost);
        let rounding = f64::from(f32::EPSILON) * self.batch_moves as f64 * (choice.margin + of_v);
        linked - self.of_expected(v) * (there - others) > RAISED_MIN * of_v + rounding
    }

    /// Lets the nodes of a batch move one after the other to where they have chosen to be.
    fn take(&mut self, batch: &[Node], choices: Vec<Choice>) {
        self.batch_moves = 0;
        for (&v, choice) in batch.iter().zip(&choices) {
            self.note(v, choice);
        }
        for (&v, mut choice) in batch.iter().zip(choices) {
            let own = self.communities.of[v as usize];
            if choice.community == own {
                continue;
            }
            if self.chosen[v as usize].margin < 0.0 || !self.raises(v, &choice) {
                let mut weights = std::mem::take(&mut self.weights);
                choice = self.choice(v, &mut weights);
                self.weights = weights;
                self.note(v, &choice);
            }
            if choice.community == ALONE {
                choice.community = self.communities.empty().unwrap_or(own);
            }
            self.chosen[v as usize].community = choice.community;
            if choice.community != own {
                self.move_to(v, choice.community);
            }
        }
    }

    fn note(&mut self, v: Node, choice: &Choice) {
        let Choice { community, margin, .. } = *choice;
        self.chosen[v as usize] = Chosen { community, margin: kept(margin) };
    }

    /// Moves `v`, and takes from the margins of its neighbors what that changes.
    fn move_to(&mut self, v: Node, best: u32) {
        let own = self.communities.of[v as usize];
        self.batch_moves += 1;
        self.communities.put(self.network, v, best);
        let Self { communities: Communities { of, .. }, chosen, queue, queued, .. } = self;
        let load = |chosen: &Vec<Chosen>, (u, _)| memory::prefetch(&chosen[u as usize..]);
        for_each_ahead(chosen, self.network.links(v), load, |chosen, (u, weight)| {
            let Chosen { community, margin } = &mut chosen[u as usize];
            // What one community wins, the other one loses. Without a branch: nobody foresees who is where.
            let lost = 1.0 + f32::from(u8::from(*community == own))
                - 2.0 * f32::from(u8::from(*community == best));
            let before = *margin;
            *margin = (*margin - weight as f32 * lost).min(f32::MAX);
            if before >= 0.0 && *margin < 0.0 && *community == of[u as usize] {
                *margin = QUEUED;
                queued.push(u);
            }
        });
        queued.sort_unstable();
        queue.extend(queued.drain(..));
    }
}
