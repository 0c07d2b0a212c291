//! Similarity of vertices by the neighbors that they share: of given pairs, and the most similar to one.
//!
//! Of the undirected simple graph: directions, self-loops and parallel edges are ignored. With `N(v)`
//! the neighbors of a vertex:
//! ```text
//! common neighbors          |N(u) & N(v)|
//! Jaccard                   |N(u) & N(v)| / |N(u) | N(v)|
//! Adamic-Adar               sum over w in both of 1 / ln |N(w)|
//! resource allocation       sum over w in both of 1 / |N(w)|
//! preferential attachment   |N(u)| * |N(v)|
//! ```
//! A vertex of one neighbor has no part in Adamic and Adar's sum; it is in both sets only if `u` is `v`.
//!
//! Pairs are grouped by their end of more edges, so that the list of a hub is read once for all its pairs.
//! The vertices most similar to one are sought among those that share a neighbor with it: they are
//! found, and their scores added up, from its neighbors' lists. What a score needs besides is
//! looked up from the best on, until no other can be better.
//!
//! Source: Liben-Nowell and Kleinberg, "The Link-Prediction Problem for Social Networks", CIKM 2003;
//! Adamic and Adar, "Friends and neighbors on the Web", Social Networks 2003; Zhou, Lü and Zhang,
//! "Predicting missing links via local information", European Physical Journal B 2009.
//!
//! # Cost
//! Pairs: the lists of both ends, and for two of the measures the lists of shared neighbors, once on
//! each thread; 24 bytes for each pair, and 16 on each thread for each shared neighbor. Most similar: the
//! lists of the neighbors; 40 bytes for each vertex that shares one, and an array of 8 bytes for each id,
//! of which only the parts where these are take memory. Scores are added up in the order of ids: they
//! are the same for any number of threads.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use everedge_core::{Edge, GraphView, VertexId, par, watch};
use rustc_hash::FxHashMap;

use crate::both_ways::BothWays;
use crate::error::{check_vertex, require};
use crate::spots::drawn;
use crate::triangles::{for_each_shared, simple_neighbors};
use crate::{Error, Result};

/// Pairs in a piece of work: degrees vary by far.
const GRAIN: usize = 64;
/// Neighbors whose lists are read together, and those in a piece of work.
const BATCH: usize = 1 << 10;
const BATCH_GRAIN: usize = 16;
/// Scores that a spot check looks at.
const SPOTS: u32 = 32;
/// What rounding may do to a score, as a part of it.
const ROUNDING: f64 = 1e-9;
const KERNEL: &str = "similarity";

/// What makes vertices similar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Similarity {
    /// How many neighbors they share.
    CommonNeighbors,
    /// The part of all their neighbors that they share.
    Jaccard,
    /// How many they share, those of few neighbors more.
    AdamicAdar,
    /// The same, those of many neighbors still less.
    ResourceAllocation,
    /// How many pairs of their neighbors there are.
    PreferentialAttachment,
}

use Similarity::{
    AdamicAdar, CommonNeighbors, Jaccard, PreferentialAttachment, ResourceAllocation,
};

impl Similarity {
    /// Returns what a shared neighbor of `degree` neighbors adds to the score.
    fn of_shared(self, degree: usize) -> f64 {
        match self {
            CommonNeighbors | Jaccard | PreferentialAttachment => 1.0,
            AdamicAdar if degree < 2 => 0.0,
            AdamicAdar => 1.0 / (degree as f64).ln(),
            ResourceAllocation => 1.0 / degree as f64,
        }
    }

    /// Whether shared neighbors are told apart.
    fn weighs_shared(self) -> bool {
        matches!(self, AdamicAdar | ResourceAllocation)
    }

    /// Returns the score of vertices with these numbers of neighbors, of which the shared ones add up to
    /// `shared`. It grows with `shared`; with a degree it grows or falls.
    fn score(self, degrees: [usize; 2], shared: f64) -> f64 {
        let [a, b] = degrees.map(|degree| degree as f64);
        match self {
            CommonNeighbors | AdamicAdar | ResourceAllocation => shared,
            Jaccard if shared == 0.0 => 0.0,
            Jaccard => shared / (a + b - shared),
            PreferentialAttachment => a * b,
        }
    }
}

/// Returns the similarity of the vertices of each pair of `pairs`, in their order.
///
/// # Errors
/// [`NotAVertex`](Error::NotAVertex) if an end of a pair is not a vertex.
///
/// # Example
/// ```
/// use everedge_core::{Csr, CsrOptions};
/// use everedge_kernels::{Similarity, similarity};
///
/// let edges = [(0, 2), (0, 3), (1, 2), (1, 3), (1, 4)];
/// let g = Csr::from_edges(&edges, None, CsrOptions::default());
/// let pairs = [(0, 1), (0, 4)];
/// assert_eq!(similarity(&g, &pairs, Similarity::Jaccard)?, [2.0 / 3.0, 0.0]);
/// # Ok::<(), everedge_kernels::Error>(())
/// ```
pub fn similarity(view: &impl GraphView, pairs: &[Edge], measure: Similarity) -> Result<Vec<f64>> {
    check_pairs(view, pairs)?;
    let degree = |v| BothWays(view).out_degree(v);
    let ends = |place: usize| {
        let (u, v) = pairs[place];
        if (degree(u), u) < (degree(v), v) { (v, u) } else { (u, v) }
    };
    let mut order: Vec<_> = par::collect(pairs.len(), |place| (ends(place), place));
    par::sort_by_key(&mut order, |((hub, _), _)| *hub);
    let threads = par::PerThread::new(FxHashMap::default);
    let scores = par::map_chunks(&order, GRAIN, |order| {
        threads.with(|degrees| {
            let of_hub = order.chunk_by(|a, b| a.0.0 == b.0.0);
            let mut scores = Vec::with_capacity(order.len());
            for pairs in of_hub {
                let hub = simple_neighbors(view, pairs[0].0.0);
                let of_pair = |&((_, v), _): &(Edge, usize)| score(view, &hub, v, measure, degrees);
                scores.extend(pairs.iter().map(of_pair));
            }
            scores
        })
    });
    let mut result = vec![0.0; pairs.len()];
    let places = order.iter().map(|&(_, place)| place);
    places.zip(scores.into_iter().flatten()).for_each(|(place, score)| result[place] = score);
    Ok(result)
}

fn check_pairs(view: &impl GraphView, pairs: &[Edge]) -> Result<()> {
    let not_vertices = par::map_chunks(pairs, BATCH, |pairs| {
        pairs.iter().flat_map(|&(u, v)| [u, v]).find(|&v| !view.is_vertex(v))
    });
    match not_vertices.into_iter().flatten().next() {
        Some(vertex) => Err(Error::NotAVertex { vertex }),
        None => Ok(()),
    }
}

/// Returns the score of the vertex with these neighbors and `v`; `degrees` are those that are known.
fn score(
    view: &impl GraphView,
    hub: &[VertexId],
    v: VertexId,
    measure: Similarity,
    degrees: &mut FxHashMap<VertexId, usize>,
) -> f64 {
    let list = simple_neighbors(view, v);
    if measure == PreferentialAttachment {
        return measure.score([hub.len(), list.len()], 0.0);
    }
    let mut shared = 0.0;
    for_each_shared(hub, &list, |w| {
        shared += match measure.weighs_shared() {
            true => {
                let degree = degrees.entry(w).or_insert_with(|| simple_degree(view, w));
                measure.of_shared(*degree)
            }
            false => 1.0,
        };
    });
    measure.score([hub.len(), list.len()], shared)
}

/// Returns how many neighbors `v` has.
fn simple_degree(view: &impl GraphView, v: VertexId) -> usize {
    match view.lists_are_distinct() && !view.is_directed() {
        true => view.out_degree(v) as usize,
        false => simple_neighbors(view, v).len(),
    }
}

/// Returns the `count` vertices that are most similar to `source` of those that share a neighbor with
/// it, or all if they are fewer, and their scores: the best first, of equal ones the smallest.
///
/// Neighbors of `source` are among them, if they share one.
///
/// # Errors
/// [`NotAVertex`](Error::NotAVertex) if `source` is not a vertex.
///
/// # Example
/// ```
/// use everedge_core::{Csr, CsrOptions};
/// use everedge_kernels::{Similarity, most_similar};
///
/// let edges = [(0, 2), (0, 3), (1, 2), (1, 3), (3, 4)];
/// let g = Csr::from_edges(&edges, None, CsrOptions::default());
/// let found = most_similar(&g, 0, 2, Similarity::CommonNeighbors)?;
/// assert_eq!(found, [(1, 2.0), (4, 1.0)]);
/// # Ok::<(), everedge_kernels::Error>(())
/// ```
pub fn most_similar(
    view: &impl GraphView,
    source: VertexId,
    count: usize,
    measure: Similarity,
) -> Result<Vec<(VertexId, f64)>> {
    check_vertex(view, source)?;
    let neighbors = simple_neighbors(view, source);
    let shared = shared_with(view, source, &neighbors, measure);
    let mut best = Best { count, heap: BinaryHeap::new() };
    // No score is above its most, so those of a high one are looked at first.
    let most = |&(v, shared): &(VertexId, f64)| match measure {
        CommonNeighbors | AdamicAdar | ResourceAllocation => shared,
        Jaccard => shared / neighbors.len() as f64,
        PreferentialAttachment => neighbors.len() as f64 * f64::from(BothWays(view).out_degree(v)),
    };
    let mut order: Vec<_> =
        shared.iter().map(|found| (Reverse(most(found).to_bits()), *found)).collect();
    order.sort_unstable_by_key(|&(most, (v, _))| (most, v));
    let needs_degree = matches!(measure, Jaccard | PreferentialAttachment);
    for batch in order.chunks(BATCH) {
        if batch.first().is_none_or(|&(Reverse(most), _)| !best.may_take(most)) {
            break;
        }
        let scores = par::map_chunks(batch, BATCH_GRAIN, |batch| {
            let score = |&(_, (v, shared)): &(_, (VertexId, f64))| {
                let degree = if needs_degree { simple_degree(view, v) } else { 0 };
                (v, measure.score([neighbors.len(), degree], shared))
            };
            batch.iter().map(score).collect::<Vec<_>>()
        });
        scores.into_iter().flatten().for_each(|(v, score)| best.take(v, score));
    }
    Ok(best.into_list())
}

/// Returns the vertices that share one of `neighbors` with `source`, and what these add up to.
fn shared_with(
    view: &impl GraphView,
    source: VertexId,
    neighbors: &[VertexId],
    measure: Similarity,
) -> Vec<(VertexId, f64)> {
    // Only pages that are written to take memory.
    let mut sums = vec![0.0; view.vertex_bound() as usize];
    let mut met = Vec::new();
    for batch in neighbors.chunks(BATCH) {
        watch::check();
        let lists = par::map_chunks(batch, BATCH_GRAIN, |batch| {
            batch.iter().map(|&w| simple_neighbors(view, w)).collect::<Vec<_>>()
        });
        for list in lists.into_iter().flatten() {
            // A neighbor that two vertices share has two neighbors: it adds something.
            let of_shared = measure.of_shared(list.len());
            for v in list.into_iter().filter(|&v| v != source) {
                let sum = &mut sums[v as usize];
                if *sum == 0.0 {
                    met.push(v);
                }
                *sum += of_shared;
            }
        }
    }
    met.into_iter().map(|v| (v, sums[v as usize])).collect()
}

/// The best scores that were found.
struct Best {
    count: usize,
    /// The worst of them first; the bits of numbers from 0 on are ordered as these are.
    heap: BinaryHeap<(Reverse<u64>, VertexId)>,
}

impl Best {
    /// Returns whether a score of these bits may be one.
    fn may_take(&self, score: u64) -> bool {
        self.heap.len() < self.count || self.heap.peek().is_some_and(|worst| score >= worst.0.0)
    }

    fn take(&mut self, v: VertexId, score: f64) {
        self.heap.push((Reverse(score.to_bits()), v));
        if self.heap.len() > self.count {
            self.heap.pop();
        }
    }

    fn into_list(self) -> Vec<(VertexId, f64)> {
        let list = self.heap.into_sorted_vec().into_iter();
        list.map(|(Reverse(bits), v)| (v, f64::from_bits(bits))).collect()
    }
}

/// Returns the score of `u` and `v` by its definition.
fn plain_score(view: &impl GraphView, u: VertexId, v: VertexId, measure: Similarity) -> f64 {
    let [a, b] = [u, v].map(|v| simple_neighbors(view, v).into_iter().collect::<BTreeSet<_>>());
    let both = a.intersection(&b);
    match measure {
        CommonNeighbors => both.count() as f64,
        Jaccard if a.is_empty() && b.is_empty() => 0.0,
        Jaccard => both.count() as f64 / a.union(&b).count() as f64,
        PreferentialAttachment => (a.len() * b.len()) as f64,
        AdamicAdar | ResourceAllocation => {
            both.map(|&w| measure.of_shared(simple_neighbors(view, w).len())).sum()
        }
    }
}

fn is_close(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= ROUNDING * expected.abs()
}

/// Checks that `result` has the similarity of each of `pairs`.
///
/// Cost: as [`similarity`] without groups: both lists of each pair, and those of shared neighbors.
///
/// # Errors
/// [`WrongResult`](Error::WrongResult) with the first score that is another;
/// [`NotAVertex`](Error::NotAVertex) as [`similarity`].
pub fn verify_similarity(
    view: &impl GraphView,
    pairs: &[Edge],
    measure: Similarity,
    result: &[f64],
) -> Result<()> {
    check_scores(view, pairs, measure, result, 0..pairs.len())
}

/// Checks some scores as [`verify_similarity`] does all.
///
/// Misses wrong ones that are not among the 32 drawn. Cost: the lists of these.
///
/// # Errors
/// As [`verify_similarity`].
pub fn spot_check_similarity(
    view: &impl GraphView,
    pairs: &[Edge],
    measure: Similarity,
    result: &[f64],
) -> Result<()> {
    let count = u32::try_from(pairs.len()).unwrap_or(u32::MAX);
    check_scores(view, pairs, measure, result, drawn(SPOTS, count).map(|place| place as usize))
}

fn check_scores(
    view: &impl GraphView,
    pairs: &[Edge],
    measure: Similarity,
    result: &[f64],
    places: impl Iterator<Item = usize>,
) -> Result<()> {
    check_pairs(view, pairs)?;
    require(KERNEL, pairs.len() == result.len(), || {
        format!("{} scores of {} pairs", result.len(), pairs.len())
    })?;
    let places: Vec<_> = places.collect();
    let checked = par::map_chunks(&places, BATCH_GRAIN, |places| {
        places.iter().try_for_each(|&place| {
            let ((u, v), found) = (pairs[place], result[place]);
            let expected = plain_score(view, u, v, measure);
            require(KERNEL, is_close(found, expected), || {
                format!("{u} and {v} have {found}, not {expected}")
            })
        })
    });
    checked.into_iter().collect()
}

/// Checks that `result` has the vertices most similar to `source`.
///
/// It has if their scores are right and descend, and no other vertex that shares a neighbor has a better
/// one. Cost: the scores of all of these, each by itself.
///
/// # Errors
/// [`WrongResult`](Error::WrongResult) with the first property that does not hold;
/// [`NotAVertex`](Error::NotAVertex) as [`most_similar`].
pub fn verify_most_similar(
    view: &impl GraphView,
    source: VertexId,
    count: usize,
    measure: Similarity,
    result: &[(VertexId, f64)],
) -> Result<()> {
    check_list(view, source, count, measure, result, usize::MAX)?;
    let near = simple_neighbors(view, source);
    let found: BTreeSet<_> = result.iter().map(|&(v, _)| v).collect();
    let candidates: BTreeSet<_> = near.iter().flat_map(|&w| simple_neighbors(view, w)).collect();
    let others = candidates.iter().copied().filter(|v| *v != source && !found.contains(v));
    let others: Vec<_> = others.collect();
    let is_full = result.len() == count;
    require(KERNEL, is_full || others.is_empty(), || {
        format!("{} vertices, but {others:?} share a neighbor too", result.len())
    })?;
    let Some(&(last, worst)) = result.last() else { return Ok(()) };
    let checked = par::map_chunks(&others, BATCH_GRAIN, |others| {
        others.iter().try_for_each(|&v| {
            let score = plain_score(view, source, v, measure);
            let is_later = score < worst || is_close(score, worst) && (score != worst || last < v);
            require(KERNEL, is_later, || {
                format!("{v} has {score}, but {last} of {worst} is listed")
            })
        })
    });
    checked.into_iter().collect()
}

/// Checks that `result` has no more vertices than asked for, in descending order of scores, and some
/// scores.
///
/// Misses vertices that are left out, and wrong scores that are not among the 32 drawn. Cost: the lists of
/// these.
///
/// # Errors
/// As [`verify_most_similar`].
pub fn spot_check_most_similar(
    view: &impl GraphView,
    source: VertexId,
    count: usize,
    measure: Similarity,
    result: &[(VertexId, f64)],
) -> Result<()> {
    check_list(view, source, count, measure, result, SPOTS as usize)
}

/// Checks `result` by itself, and up to so many of its scores.
fn check_list(
    view: &impl GraphView,
    source: VertexId,
    count: usize,
    measure: Similarity,
    result: &[(VertexId, f64)],
    scores_max: usize,
) -> Result<()> {
    check_vertex(view, source)?;
    require(KERNEL, result.len() <= count, || format!("{} vertices, not {count}", result.len()))?;
    let descends = |a: &(VertexId, f64), b: &(VertexId, f64)| a.1 > b.1 || a.1 == b.1 && a.0 < b.0;
    let different: BTreeSet<_> = result.iter().map(|&(v, _)| v).collect();
    let holds = result.is_sorted_by(descends) && different.len() == result.len();
    require(KERNEL, holds, || "scores do not descend, or a vertex is there twice".to_owned())?;
    let is_candidate = |&(v, _): &(VertexId, f64)| view.is_vertex(v) && v != source;
    require(KERNEL, result.iter().all(is_candidate), || {
        "what is similar is not a vertex, or the vertex itself".to_owned()
    })?;
    let scores_max = u32::try_from(scores_max).unwrap_or(u32::MAX);
    let places = drawn(scores_max, result.len() as u32).map(|place| place as usize);
    let (pairs, scores): (Vec<_>, Vec<_>) =
        places.map(|place| ((source, result[place].0), result[place].1)).unzip();
    check_scores(view, &pairs, measure, &scores, 0..pairs.len())
}
