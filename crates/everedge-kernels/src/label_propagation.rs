//! Label propagation: communities in which each vertex has as many of its edges as in any other.
//!
//! Every vertex has a label of its own at first, and takes over the one that has the most weight among
//! its neighbors; of several a random one, but its own if that is one of them. A few rounds begin, in
//! which all vertices are looked at, a random quarter of them at a time: those of a quarter see the
//! labels before it, so threads do not matter. Then vertices wait in a queue. Who takes over a label
//! sends its neighbors with another label to the end. When the queue is empty, each vertex has a label
//! of most weight among its neighbors: any change would have sent it back.
//!
//! Unlike [`cdlp`](crate::cdlp()), which follows the rules of LDBC Graphalytics, it needs no number of
//! iterations: a label that is taken over puts more weight between equal labels, so there is an end.
//! The edges of a directed graph are taken as undirected ones.
//!
//! Source: Raghavan, Albert and Kumara, "Near linear time algorithm to detect community structures in
//! large-scale networks", Physical Review E 2007; with a queue as in Traag and Šubelj, "Large network
//! community detection by fast label propagation", Scientific Reports 2023; the rounds are
//! *semi-synchronous* as in Cordasco and Gargano, "Community detection via semi-synchronous label
//! propagation algorithms", BASNA 2010. Difference: their classes are those of a coloring, and no
//! neighbors are in one; here they are random, and the queue makes up for it.
//!
//! # Cost
//! Each round reads every link once, and one label for each, at random; the queue takes about as long
//! as a round on one thread. 8 bytes for each edge, 24 unless all weigh 1, as many again while the network is made, 52 for
//! each id, and 12 for each id and thread.

use everedge_core::{SplitMix64, VertexId, WeightedView, par, scramble, watch};

use crate::Result;
use crate::communities::{NO_COMMUNITY, check_lone, named};
use crate::error::require;
use crate::network::{Network, Node, Weights, for_each_entry, shuffled};
use crate::spots::{LIST_MAX, Spots, check_all};
use crate::wcc::{check_names, component_count, largest};

/// Rounds before vertices wait in a queue.
const ROUNDS: u64 = 3;
/// Parts of a round.
const CLASSES: u64 = 4;
/// Vertices in a piece of work.
const GRAIN: usize = 1 << 10;
/// Visits between two looks at whether the kernel was cancelled.
const VISITS_PER_CHECK: u64 = 1 << 10;
/// Weights that differ by less than this part of them are equal: rounding could do as much.
const ROUNDING: f64 = 1e-12;
/// One of so many pieces of ids is spot-checked.
const SHARE: u32 = 64;
const KERNEL: &str = "label-propagation";

/// How [`label_propagation`] finds communities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LabelPropagationConfig {
    /// Whether edges count by their weight, or each as 1.
    pub weighted: bool,
    /// Draws the order in which vertices are visited, and the labels that they take over.
    pub seed: u64,
}

impl Default for LabelPropagationConfig {
    /// By weight.
    fn default() -> Self {
        Self { weighted: true, seed: 1 }
    }
}

/// What [`label_propagation`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelPropagation {
    /// `[vertex_bound]`: the smallest vertex of the community of each vertex, or [`NO_COMMUNITY`].
    pub community: Vec<VertexId>,
}

impl LabelPropagation {
    /// Returns how many communities there are.
    pub fn community_count(&self) -> u32 {
        component_count(&self.community)
    }

    /// Returns how many vertices the largest community has. Needs 4 bytes for each id.
    pub fn largest(&self) -> u32 {
        largest(&self.community)
    }
}

/// Finds communities of `view` by passing on labels until each vertex has one of most weight among its
/// neighbors.
///
/// # Errors
/// [`BadWeight`](crate::Error::BadWeight) if a weight is negative or not finite.
///
/// # Example
/// ```
/// use everedge_core::{Csr, CsrOptions};
/// use everedge_kernels::{LabelPropagationConfig, label_propagation};
///
/// let g = Csr::from_edges(&[(0, 1), (1, 2), (2, 0), (4, 3)], None, CsrOptions::default());
/// let found = label_propagation(&g, &LabelPropagationConfig::default())?;
/// assert_eq!(found.community, [0, 0, 0, 3, 3]);
/// # Ok::<(), everedge_kernels::Error>(())
/// ```
pub fn label_propagation(
    view: &impl WeightedView,
    config: &LabelPropagationConfig,
) -> Result<LabelPropagation> {
    par::among_threads(view.homes(), || found(view, config))
}

fn found(view: &impl WeightedView, config: &LabelPropagationConfig) -> Result<LabelPropagation> {
    let network = Network::of(view, config.weighted)?;
    let mut random = SplitMix64::new(config.seed);
    let order = shuffled(&network, 1, &mut random);
    let label = (0..network.len()).collect();
    let mut labels = Labels { network: &network, label, salt: random.next_u64() };
    let weights = par::PerThread::new(|| Weights::new(0));
    for round in 0..ROUNDS {
        watch::note(round, ROUNDS + 1);
        let part = order.len().div_ceil(CLASSES as usize).max(1);
        order.chunks(part).for_each(|class| labels.pass_on(class, &weights));
        labels.salt = random.next_u64();
    }
    watch::note(ROUNDS, ROUNDS + 1);
    let waiting = par::map_chunks(&order, GRAIN, |nodes| {
        weights.with(|weights| {
            weights.reserve(network.len());
            let changes = |&v: &Node| labels.next(v, weights).map(|_| v);
            nodes.iter().filter_map(changes).collect::<Vec<_>>()
        })
    });
    labels.pass_on_queued(waiting.concat(), &mut random);
    Ok(LabelPropagation { community: named(view, &labels.label) })
}

/// Labels that are passed on.
struct Labels<'a> {
    network: &'a Network,
    label: Vec<Node>,
    /// Chooses among labels of the same weight.
    salt: u64,
}

impl Labels<'_> {
    /// Returns the label that `v` takes over, if it is another one.
    fn next(&self, v: Node, weights: &mut Weights) -> Option<Node> {
        let labeled = |(u, weight)| (self.label[u as usize], weight);
        weights.add_all(self.network.links(v).map(labeled), |_| ());
        let own = self.label[v as usize];
        let stay = weights.of(own) * (1.0 + ROUNDING);
        let chance = |label: Node| scramble(self.salt ^ (u64::from(v) << 32 | u64::from(label)));
        let (mut best, mut most) = (None, stay);
        weights.take(|label, weight| {
            let is_other = best.is_some_and(|best| {
                weight >= most * (1.0 - ROUNDING) && chance(label) > chance(best)
            });
            if weight > stay && (weight > most * (1.0 + ROUNDING) || is_other) {
                (best, most) = (Some(label), weight);
            }
        });
        best
    }

    /// Lets the nodes of a class take over labels, all at once.
    fn pass_on(&mut self, class: &[Node], weights: &par::PerThread<Weights>) {
        let taken_over = par::map_chunks(class, GRAIN, |nodes| {
            weights.with(|weights| {
                weights.reserve(self.network.len());
                let changed = |&v: &Node| Some((v, self.next(v, weights)?));
                nodes.iter().filter_map(changed).collect::<Vec<_>>()
            })
        });
        for (v, label) in taken_over.into_iter().flatten() {
            self.label[v as usize] = label;
        }
    }

    /// Lets nodes take over labels one by one, until none would take over another.
    fn pass_on_queued(&mut self, waiting: Vec<Node>, random: &mut SplitMix64) {
        let mut is_queued = vec![false; self.label.len()];
        waiting.iter().for_each(|&v| is_queued[v as usize] = true);
        let mut queue = std::collections::VecDeque::from(waiting);
        let mut weights = Weights::new(self.network.len());
        let mut visits = 0_u64;
        while let Some(v) = queue.pop_front() {
            visits += 1;
            if visits.is_multiple_of(VISITS_PER_CHECK) {
                watch::check();
            }
            is_queued[v as usize] = false;
            self.salt = random.next_u64();
            let Some(label) = self.next(v, &mut weights) else { continue };
            self.label[v as usize] = label;
            let joins = |&u: &Node| {
                let is_other = self.label[u as usize] != label;
                is_other && !std::mem::replace(&mut is_queued[u as usize], true)
            };
            let mut joining: Vec<_> = self.network.links(v).map(|(u, _)| u).filter(joins).collect();
            // In one order, whatever that of the list.
            joining.sort_unstable();
            queue.extend(joining);
        }
    }
}

/// Checks that `result` has communities of `view`, named after their smallest vertices, and that none
/// has more weight among the neighbors of a vertex than its own one.
///
/// Vertices without neighbors must be alone. Cost: every list once, sorted.
///
/// # Errors
/// [`WrongResult`](crate::Error::WrongResult) with the first property that does not hold;
/// [`BadWeight`](crate::Error::BadWeight) as [`label_propagation`].
pub fn verify_label_propagation(
    view: &impl WeightedView,
    config: &LabelPropagationConfig,
    result: &LabelPropagation,
) -> Result<()> {
    check_names(KERNEL, view, &result.community)?;
    check_lone(KERNEL, view, &result.community)?;
    check_all(view.vertex_bound(), |v| check_at(view, config, result, v))
}

/// Checks at some vertices what [`verify_label_propagation`] checks at all.
///
/// Misses labels that are as good as others, and faults at few vertices. Cost: the result once, and one
/// of 64 vertices, unless it has more than 256 edges.
///
/// # Errors
/// As [`verify_label_propagation`].
pub fn spot_check_label_propagation(
    view: &impl WeightedView,
    config: &LabelPropagationConfig,
    result: &LabelPropagation,
) -> Result<()> {
    check_names(KERNEL, view, &result.community)?;
    Spots::one_of(SHARE, view.vertex_bound()).check(|v| {
        let incoming = if view.is_directed() { view.in_degree(v) } else { 0 };
        let degree = view.out_degree(v).saturating_add(incoming);
        if degree as usize > LIST_MAX { Ok(()) } else { check_at(view, config, result, v) }
    })
}

/// Checks that the label of `v` has most weight among its neighbors.
fn check_at(
    view: &impl WeightedView,
    config: &LabelPropagationConfig,
    result: &LabelPropagation,
    v: VertexId,
) -> Result<()> {
    let own = result.community[v as usize];
    let mut labels = Vec::new();
    for_each_entry(view, v, config.weighted, |u, weight| {
        if u != v {
            labels.push((result.community[u as usize], weight));
        }
    })?;
    labels.sort_by_key(|&(label, _)| label);
    let sums = labels.chunk_by(|a, b| a.0 == b.0).map(|equal| {
        let sum: f64 = equal.iter().map(|(_, weight)| weight).sum();
        (equal[0].0, sum)
    });
    let sums: Vec<_> = sums.collect();
    let of_own = sums.iter().find(|(label, _)| *label == own).map_or(0.0, |&(_, sum)| sum);
    let better = sums.iter().find(|&&(_, sum)| sum > of_own * (1.0 + 1e-9));
    require(KERNEL, better.is_none() || own == NO_COMMUNITY, || {
        format!("{v} has label {own}, but {better:?} has more weight than {of_own}")
    })
}
