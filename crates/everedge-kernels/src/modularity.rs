//! Modularity: by how much more of the edges' weight lies inside communities than chance would put
//! there.
//!
//! Chance joins two vertices with the product of their strengths, the weights of their edges added
//! up:
//! ```text
//! undirected:  sum over communities of  inside / m  -  resolution * (strength / 2m)^2
//! directed:    sum over communities of  inside / m  -  resolution * (out-strength / m) * (in-strength / m)
//! ```
//! where `m` is the weight of all edges and `inside` that of the edges of a community. Parallel edges
//! count one by one. A self-loop counts once inside, and twice in the strength of its vertex if the
//! graph is undirected.
//!
//! Source: Newman, "Analysis of weighted networks", Physical Review E 2004; Leicht and Newman,
//! "Community Structure in Directed Networks", Physical Review Letters 2008; with a resolution as in
//! Reichardt and Bornholdt, "Statistical mechanics of community detection", Physical Review E 2006.
//! Lists are read at their home as in XPGraph (ToS 2025, §4.2).
//!
//! # Cost
//! Every out-list once, and of a directed graph every in-list. 20 bytes for each id, 8 more if the
//! graph is directed. Sums are taken in a fixed order: the result is the same for any number of
//! threads.

use std::ops::Range;

use everedge_core::{Direction, HOME_SPAN, VertexId, WeightedView, par};

use crate::error::require;
use crate::network::{check_resolution, for_each_edge_of};
use crate::{Error, Result};

/// Ids in a piece of work.
const GRAIN: u32 = 1 << 11;
const _: () = assert!(HOME_SPAN.is_multiple_of(GRAIN));
/// What rounding may do to a modularity.
pub(crate) const ROUNDING: f64 = 1e-9;
const KERNEL: &str = "modularity";

/// What [`modularity`] counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModularityConfig {
    /// What the part that chance puts inside is multiplied by; more favors smaller communities.
    pub resolution: f64,
    /// Whether edges count by their weight, or each as 1.
    pub weighted: bool,
}

impl Default for ModularityConfig {
    /// Newman's modularity, by weight.
    fn default() -> Self {
        Self { resolution: 1.0, weighted: true }
    }
}

/// What [`modularity`] found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Modularity {
    /// `inside` without `resolution` times `expected`.
    pub value: f64,
    /// The part of the edges' weight that lies inside communities, from 0 to 1.
    pub inside: f64,
    /// The part that chance would put there, from 0 to 1.
    pub expected: f64,
}

/// How the two ends of an edge are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ends {
    /// As the view does.
    AsTheyAre,
    /// Not at all: the edges of a directed graph are taken as undirected ones.
    Alike,
}

/// Finds the modularity of communities of `view`: two vertices are in one if `community` has the same
/// number for both. Numbers of ids that are no vertices do not matter.
///
/// A graph whose edges weigh nothing has modularity 0.
///
/// # Errors
/// [`BadParameter`](Error::BadParameter) if there are not as many numbers as ids, or the resolution
/// is negative or not finite; [`BadWeight`](Error::BadWeight) if a weight is negative or not finite.
///
/// # Example
/// ```
/// use everedge_core::{Csr, CsrOptions};
/// use everedge_kernels::{ModularityConfig, modularity};
///
/// let edges = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (2, 3)];
/// let g = Csr::from_edges(&edges, None, CsrOptions::default());
/// let found = modularity(&g, &[7, 7, 7, 1, 1, 1], &ModularityConfig::default())?;
/// assert_eq!((found.inside, found.expected), (6.0 / 7.0, 0.5));
/// # Ok::<(), everedge_kernels::Error>(())
/// ```
pub fn modularity(
    view: &impl WeightedView,
    community: &[VertexId],
    config: &ModularityConfig,
) -> Result<Modularity> {
    with_ends(view, community, config, Ends::AsTheyAre)
}

/// As [`modularity`], with the ends of edges taken as `ends` says.
pub(crate) fn with_ends(
    view: &impl WeightedView,
    community: &[VertexId],
    config: &ModularityConfig,
    ends: Ends,
) -> Result<Modularity> {
    check(view, community, config)?;
    let numbers = Numbers::of(community);
    let mut found = sums(view, Direction::Out, community, config.weighted)?;
    let inside: f64 = found.iter().map(|part| part.inside).sum();
    let mut out_strength = strengths(&found, &numbers);
    if view.is_directed() {
        found = sums(view, Direction::In, community, config.weighted)?;
        let in_strength = strengths(&found, &numbers);
        if ends == Ends::AsTheyAre {
            let total: f64 = out_strength.iter().sum();
            let products = out_strength.iter().zip(&in_strength);
            let expected = products.map(|(out, r#in)| out / total * (r#in / total)).sum();
            return Ok(joined(inside, total, expected, config));
        }
        out_strength.iter_mut().zip(in_strength).for_each(|(sum, strength)| *sum += strength);
    }
    let total: f64 = out_strength.iter().sum();
    let expected = out_strength.iter().map(|strength| (strength / total).powi(2)).sum();
    Ok(joined(inside, if view.is_directed() { total / 2.0 } else { total }, expected, config))
}

fn check(
    view: &impl WeightedView,
    community: &[VertexId],
    config: &ModularityConfig,
) -> Result<()> {
    check_resolution(config.resolution)?;
    if community.len() == view.vertex_bound() as usize {
        return Ok(());
    }
    Err(Error::BadParameter {
        name: "the number of communities' numbers",
        value: community.len() as f64,
        expected: "the number of ids",
    })
}

/// Puts together what was found: `inside` is counted as often as `total` counts edges.
fn joined(inside: f64, total: f64, expected: f64, config: &ModularityConfig) -> Modularity {
    if total == 0.0 {
        return Modularity { value: 0.0, inside: 0.0, expected: 0.0 };
    }
    let inside = inside / total;
    Modularity { value: inside - config.resolution * expected, inside, expected }
}

/// What the lists of some ids say.
struct Sums {
    /// The weight of the entries whose ends are in one community; of an undirected graph that of a
    /// self-loop twice, for other edges are in two lists.
    inside: f64,
    /// The weight of the entries of each id, with that of self-loops likewise.
    strength: Vec<f64>,
}

/// Adds up the lists of one direction.
fn sums(
    view: &impl WeightedView,
    direction: Direction,
    community: &[VertexId],
    weighted: bool,
) -> Result<Vec<Sums>> {
    let loop_count = if view.is_directed() { 1.0 } else { 2.0 };
    let home_of = |start| view.home(start, direction);
    let sums_of = |range: Range<VertexId>| {
        let mut sums = Sums { inside: 0.0, strength: Vec::with_capacity(range.len()) };
        for v in range {
            let own = community[v as usize];
            let mut strength = 0.0;
            for_each_edge_of(view, direction, v, weighted, |u, weight| {
                let weight = if u == v { loop_count * weight } else { weight };
                strength += weight;
                sums.inside += if community[u as usize] == own { weight } else { 0.0 };
            })?;
            sums.strength.push(strength);
        }
        Ok(sums)
    };
    let (homes, bound) = (view.homes(), view.vertex_bound());
    par::map_ranges_at_home(homes, bound, GRAIN, home_of, sums_of).into_iter().collect()
}

/// Adds up the strengths of the vertices of each community.
fn strengths(sums: &[Sums], numbers: &Numbers) -> Vec<f64> {
    let mut strengths = vec![0.0; numbers.count];
    for (v, strength) in sums.iter().flat_map(|part| &part.strength).enumerate() {
        strengths[numbers.place_of(v)] += strength;
    }
    strengths
}

/// Numbers of communities as places in an array.
struct Numbers<'a> {
    community: &'a [VertexId],
    /// The different numbers, ascending, if an array could not have a place for each smaller one.
    sorted: Option<Vec<VertexId>>,
    count: usize,
}

impl<'a> Numbers<'a> {
    fn of(community: &'a [VertexId]) -> Self {
        let bound = community.iter().max().map_or(0, |&most| most as usize + 1);
        if bound <= community.len() {
            return Self { community, sorted: None, count: bound };
        }
        let mut sorted = community.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        Self { community, count: sorted.len(), sorted: Some(sorted) }
    }

    fn place_of(&self, v: usize) -> usize {
        let number = self.community[v];
        let among = |sorted: &Vec<VertexId>| sorted.partition_point(|&other| other < number);
        self.sorted.as_ref().map_or(number as usize, among)
    }
}

/// Checks that `result` is the modularity of these communities of `view`.
///
/// It is if it is so when each edge is looked at once, on one thread, and each community by itself.
/// Cost: all edges, and a table of 24 bytes or more for each community.
///
/// # Errors
/// [`WrongResult`](Error::WrongResult) if it does not hold; others as [`modularity`].
pub fn verify_modularity(
    view: &impl WeightedView,
    community: &[VertexId],
    config: &ModularityConfig,
    result: &Modularity,
) -> Result<()> {
    spot_check_modularity(view, community, config, result)?;
    let numbers = Numbers::of(community);
    // Of each community the weight inside, and of the ends of edges that leave and that enter it.
    let mut table = vec![[0.0; 3]; numbers.count];
    let is_directed = view.is_directed();
    for u in crate::error::ids(view.vertex_bound()) {
        for_each_edge_of(view, Direction::Out, u, config.weighted, |v, weight| {
            let (from, to) = (numbers.place_of(u as usize), numbers.place_of(v as usize));
            // An edge of an undirected graph comes once from each end, a self-loop once.
            let counted = if is_directed || u == v { 1.0 } else { 0.5 };
            table[from][0] += if from == to { counted * weight } else { 0.0 };
            table[from][1] += counted * weight;
            table[to][2] += counted * weight;
        })?;
    }
    let total: f64 = table.iter().map(|sums| sums[1]).sum();
    let (mut inside, mut expected) = (0.0, 0.0);
    for [own, leaving, entering] in table.into_iter().filter(|_| total > 0.0) {
        inside += own / total;
        expected += match is_directed {
            true => leaving * entering / (total * total),
            false => ((leaving + entering) / (2.0 * total)).powi(2),
        };
    }
    let is_close = |found: f64, expected: f64| (found - expected).abs() <= ROUNDING;
    require(KERNEL, is_close(result.inside, inside), || {
        format!("{} of the weight is inside communities, not {inside}", result.inside)
    })?;
    require(KERNEL, is_close(result.expected, expected), || {
        format!("chance puts {expected} inside communities, not {}", result.expected)
    })
}

/// Checks that the parts of `result` are parts, and make up its value.
///
/// Misses wrong parts. Cost: none.
///
/// # Errors
/// As [`verify_modularity`].
pub fn spot_check_modularity(
    view: &impl WeightedView,
    community: &[VertexId],
    config: &ModularityConfig,
    result: &Modularity,
) -> Result<()> {
    check(view, community, config)?;
    let parts = [result.inside, result.expected];
    let are_parts = parts.iter().all(|part| (0.0..=1.0 + ROUNDING).contains(part));
    require(KERNEL, are_parts, || format!("{parts:?} are no parts of the weight"))?;
    let value = result.inside - config.resolution * result.expected;
    require(KERNEL, (result.value - value).abs() <= ROUNDING * (1.0 + value.abs()), || {
        format!("its parts make up {value}, not {}", result.value)
    })
}
