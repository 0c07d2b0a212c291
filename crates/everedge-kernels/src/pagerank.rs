//! PageRank: how often a random walk is at each vertex.
//!
//! Every iteration each vertex divides its rank among its out-neighbors; what reaches a vertex
//! counts `damping`, the rest is spread over all vertices. A vertex without out-neighbors divides
//! its rank among all vertices, so that ranks always sum to 1:
//! ```text
//! rank(v) = (1 - damping) / n  +  damping * (dangling / n + sum of rank(u) / degree(u) over u -> v)
//! ```
//! The quotients are computed once for each vertex and then pulled over in-edges, so that no two
//! threads write to the same place. Sums are taken in a fixed order: the result is the same for
//! any number of threads.
//!
//! Quotients have 4 bytes unless a tolerance asks for more than these can say: they are what is
//! read at random, and of these a cache holds twice as many. Ranks have 8.
//!
//! Source: Page et al., "The PageRank Citation Ranking", 1999; pull as in the GAP Benchmark Suite
//! (Beamer 2015); dangling vertices as in LDBC Graphalytics; pulled at the home of the in-edges as
//! in XPGraph (ToS 2025, §4.2). Differences from GAP: ranks of one
//! iteration are never mixed with those of the next, and sums have 8 bytes.
//!
//! # Cost
//! Each iteration reads every in-edge once, in order, and one quotient for it, at random.
//! 16 bytes for each id: the result, the quotients, and out-degrees; wide quotients leave no memory for these, and they are
//! asked for in each iteration. A bit more where some ids are no vertices.

use everedge_core::{Direction, GraphView, HOME_SPAN, ListVisitor, VertexId, par, watch};

use crate::convergence::{Progress, check_tolerance};
use crate::error::require;
use crate::frontier::VertexSet;
use crate::spots::{LIST_MAX, Spots, check_all};
use crate::{Error, Result};

/// Vertices in a piece of work.
pub(crate) const GRAIN: usize = 1 << 10;
const _: () = assert!((HOME_SPAN as usize).is_multiple_of(GRAIN));
/// The least tolerance but 0 that narrow quotients serve. They are rounded by up to 2^-24 of
/// themselves, and so is what all ranks change together.
const NARROW_TOLERANCE: f64 = 1e-6;
const KERNEL: &str = "pagerank";
/// From so many iterations on one more is a small part of them.
const ITERATIONS_PER_CHECK: u32 = 12;
/// One of so many pieces of ids is spot-checked.
const SHARE: u32 = 256;

/// When [`pagerank`] stops, and its damping.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PageRankConfig {
    /// The part of its rank that a vertex passes on along its edges, from 0 to 1.
    pub damping: f64,
    /// Stop after this many iterations.
    pub iterations_max: u32,
    /// Stop when ranks change by less than this in an iteration, all changes added up; 0 never
    /// stops early. Below 10^-6, but not 0, ranks are computed in 8 bytes throughout; else each
    /// iteration rounds what vertices pass on by up to 2^-24 of itself.
    pub tolerance: f64,
}

impl Default for PageRankConfig {
    /// What the GAP Benchmark Suite prescribes.
    fn default() -> Self {
        Self { damping: 0.85, iterations_max: 20, tolerance: 1e-4 }
    }
}

/// What [`pagerank`] found.
#[derive(Clone, Debug, PartialEq)]
pub struct PageRank {
    /// `[vertex_bound]`: the rank of each vertex, in sum 1; 0 for an id that is no vertex.
    pub rank: Vec<f64>,
    /// How many iterations were done.
    pub iterations: u32,
    /// By how much the last iteration changed the ranks, all changes added up; infinite if there
    /// was none.
    pub change: f64,
}

impl PageRankConfig {
    pub(crate) fn check(&self) -> Result<()> {
        if !(0.0..=1.0).contains(&self.damping) {
            let (value, expected) = (self.damping, "from 0 to 1");
            return Err(Error::BadParameter { name: "damping", value, expected });
        }
        check_tolerance(self.tolerance)
    }

    pub(crate) fn is_narrow(&self) -> bool {
        self.tolerance == 0.0 || self.tolerance >= NARROW_TOLERANCE
    }
}

/// A rank divided by a degree, in as many bytes as suits.
pub(crate) trait Quotient: Copy + Default + Send + Sync + Into<f64> {
    /// What rounding may do to a sum of ranks.
    const ROUNDING: f64;

    fn of(quotient: f64) -> Self;
}

impl Quotient for f32 {
    const ROUNDING: f64 = 1e-6;

    #[inline]
    fn of(quotient: f64) -> Self {
        quotient as f32
    }
}

impl Quotient for f64 {
    const ROUNDING: f64 = 1e-9;

    #[inline]
    fn of(quotient: f64) -> Self {
        quotient
    }
}

/// Ranks the vertices of `view`, beginning with equal ranks.
///
/// # Errors
/// [`BadParameter`](Error::BadParameter) if the damping is not from 0 to 1 or the tolerance is
/// negative or not a number; [`NotConverged`](Error::NotConverged) if iterations have no other end than a tolerance that
/// they do not come to.
///
/// # Example
/// ```
/// use everedge_core::{Csr, CsrOptions};
/// use everedge_kernels::{PageRankConfig, pagerank};
///
/// let options = CsrOptions { directed: true, ..CsrOptions::default() };
/// let g = Csr::from_edges(&[(0, 1), (2, 1), (1, 0)], None, options);
/// let rank = pagerank(&g, &PageRankConfig::default())?.rank;
/// assert!(rank[1] > rank[0] && rank[0] > rank[2]);
/// # Ok::<(), everedge_kernels::Error>(())
/// ```
pub fn pagerank(view: &impl GraphView, config: &PageRankConfig) -> Result<PageRank> {
    pagerank_from(view, config, &[])
}

/// As [`pagerank`], beginning with `ranks` by id, such as those of a graph that has changed little since: they are
/// divided by their sum. Equal ranks take the place of those that are 0 or missing.
///
/// # Errors
/// As that.
pub fn pagerank_from(
    view: &impl GraphView,
    config: &PageRankConfig,
    ranks: &[f64],
) -> Result<PageRank> {
    config.check()?;
    match config.is_narrow() {
        true => rank::<f32>(view, config, ranks),
        false => rank::<f64>(view, config, ranks),
    }
}

/// Returns the ranks to begin with.
fn initial(view: &impl GraphView, vertices: &VertexSet, ranks: &[f64]) -> Vec<f64> {
    let equal = 1.0 / f64::from(view.vertex_count());
    let mut rank = par::collect(view.vertex_bound() as usize, |v| {
        let is_vertex = vertices.contains(v as VertexId);
        let given = ranks.get(v).copied().filter(|&rank| rank > 0.0);
        if is_vertex { given.unwrap_or(equal) } else { 0.0 }
    });
    if !ranks.is_empty() {
        let sums = par::map_chunks(&rank, GRAIN, |part| part.iter().sum::<f64>());
        let sum: f64 = sums.into_iter().sum();
        par::map_chunks_mut(&mut rank, GRAIN, |_, part| part.iter_mut().for_each(|r| *r /= sum));
    }
    rank
}

fn rank<Q: Quotient>(
    view: &impl GraphView,
    config: &PageRankConfig,
    ranks: &[f64],
) -> Result<PageRank> {
    let bound = view.vertex_bound() as usize;
    let vertices = VertexSet::of(view);
    let rank = initial(view, &vertices, ranks);
    let mut result = PageRank { rank, iterations: 0, change: f64::INFINITY };
    let mut quotient = par::collect(bound, |_| Q::default());
    let degrees = kept_degrees::<Q>(view);
    let mut progress = Progress::new(KERNEL, config.iterations_max);
    while result.iterations < config.iterations_max && result.change >= config.tolerance {
        let (rank, quotient) = (&mut result.rank, &mut quotient);
        result.change =
            iterate(view, &vertices, degrees.as_deref(), config.damping, rank, quotient);
        result.iterations += 1;
        watch::note(result.iterations.into(), config.iterations_max.into());
        progress.note(result.iterations, result.change)?;
    }
    Ok(result)
}

/// Does one iteration on `rank`, with `quotient` as scratch space; returns the sum of all changes.
fn iterate<Q: Quotient>(
    view: &impl GraphView,
    vertices: &VertexSet,
    degrees: Option<&[u32]>,
    damping: f64,
    rank: &mut [f64],
    quotient: &mut [Q],
) -> f64 {
    let dangling = divide(view, degrees, rank, quotient);
    let shared = spread(view, damping, dangling);
    let quotient = &*quotient;
    let home_of = |first| view.home(first as VertexId, Direction::In);
    let pull_ranks = |first, ranks: &mut [f64]| {
        let range = first as VertexId..(first + ranks.len()) as VertexId;
        let mut pull = Pull { vertices, quotient, shared, damping, first, ranks, change: 0.0 };
        view.visit_neighbors(Direction::In, range, &mut pull);
        pull.change
    };
    let changes = par::map_chunks_mut_at_home(view.homes(), rank, GRAIN, home_of, pull_ranks);
    changes.into_iter().sum()
}

/// Returns by how much one more iteration would change `rank`, all changes added up.
pub(crate) fn change_of_one_more<Q: Quotient>(
    view: &impl GraphView,
    damping: f64,
    rank: &[f64],
) -> f64 {
    let (vertices, degrees) = (&VertexSet::of(view), kept_degrees::<Q>(view));
    let mut quotient = par::collect(rank.len(), |_| Q::default());
    let dangling = divide(view, degrees.as_deref(), rank, &mut quotient);
    let shared = spread(view, damping, dangling);
    drop(degrees);
    let quotient = &quotient[..];
    let home_of = |first| view.home(first, Direction::In);
    let (bound, grain) = (rank.len() as u32, GRAIN as u32);
    let changes = par::map_ranges_at_home(view.homes(), bound, grain, home_of, |range| {
        let first = range.start as usize;
        let ranks = &mut rank[first..range.end as usize].to_vec();
        let mut pull = Pull { vertices, quotient, shared, damping, first, ranks, change: 0.0 };
        view.visit_neighbors(Direction::In, range, &mut pull);
        pull.change
    });
    changes.into_iter().sum()
}

/// Gives vertices their new rank.
struct Pull<'a, Q> {
    vertices: &'a VertexSet,
    quotient: &'a [Q],
    /// What every vertex gets.
    shared: f64,
    damping: f64,
    /// The vertex of the first of `ranks`.
    first: usize,
    ranks: &'a mut [f64],
    /// The sum of all changes.
    change: f64,
}

impl<Q: Quotient> ListVisitor for Pull<'_, Q> {
    const STOPS_EARLY: bool = false;

    #[inline]
    fn wants(&self, v: VertexId) -> bool {
        self.vertices.contains(v)
    }

    #[inline]
    fn visit(&mut self, v: VertexId, neighbors: impl Iterator<Item = VertexId>) {
        let pulled: f64 = neighbors.map(|u| self.quotient[u as usize].into()).sum();
        let rank = &mut self.ranks[v as usize - self.first];
        let new = self.shared + self.damping * pulled;
        self.change += (new - *rank).abs();
        *rank = new;
    }
}

/// Returns the out- or in-degree of each id.
pub(crate) fn degrees(view: &impl GraphView, direction: Direction) -> Vec<u32> {
    let mut degrees = par::collect(view.vertex_bound() as usize, |_| 0);
    par::map_chunks_mut(&mut degrees, GRAIN, |first, degrees| {
        let range = first as VertexId..(first + degrees.len()) as VertexId;
        view.for_each_degree(direction, range, |v, degree| {
            degrees[v as usize - first] = degree;
        });
    });
    degrees
}

/// Returns the out-degrees, if there is memory for them: what wide quotients take, they leave out.
pub(crate) fn kept_degrees<Q: Quotient>(view: &impl GraphView) -> Option<Vec<u32>> {
    (size_of::<Q>() < size_of::<f64>()).then(|| degrees(view, Direction::Out))
}

/// Divides each rank by the out-degree into `quotient`; returns the sum of the ranks that have no
/// out-edge to go.
pub(crate) fn divide<Q: Quotient>(
    view: &impl GraphView,
    degrees: Option<&[u32]>,
    rank: &[f64],
    quotient: &mut [Q],
) -> f64 {
    let dangling = par::map_chunks_mut(quotient, GRAIN, |first, quotients| {
        let mut dangling = 0.0;
        let range = first..first + quotients.len();
        let ranks = &rank[range.clone()];
        let mut divide = |i: usize, degree| match degree {
            0 => dangling += ranks[i],
            degree => quotients[i] = Q::of(ranks[i] / f64::from(degree)),
        };
        match degrees {
            Some(degrees) => degrees[range].iter().enumerate().for_each(|(i, &d)| divide(i, d)),
            None => {
                let vertices = range.start as VertexId..range.end as VertexId;
                view.for_each_degree(Direction::Out, vertices, |v, degree| {
                    divide(v as usize - first, degree);
                });
            }
        }
        dangling
    });
    dangling.into_iter().sum()
}

/// Returns what every vertex gets besides: its part of the `dangling` ranks, and of what is not passed
/// on along edges.
fn spread(view: &impl GraphView, damping: f64, dangling: f64) -> f64 {
    (1.0 - damping + damping * dangling) / f64::from(view.vertex_count())
}

/// Checks that `result` is a PageRank of `view` with the damping of `config`.
///
/// It is if only vertices have a rank, ranks are at least what is spread evenly and sum to 1, and
/// one more iteration changes them by no more than `damping` times the last change, as it must
/// since every iteration contracts by that factor. Cost: one iteration.
///
/// # Errors
/// [`WrongResult`](Error::WrongResult) with the first property that does not hold;
/// [`BadParameter`](Error::BadParameter) as [`pagerank`].
pub fn verify_pagerank(
    view: &impl GraphView,
    config: &PageRankConfig,
    result: &PageRank,
) -> Result<()> {
    config.check()?;
    match config.is_narrow() {
        true => verify::<f32>(view, config.damping, result),
        false => verify::<f64>(view, config.damping, result),
    }
}

fn verify<Q: Quotient>(view: &impl GraphView, damping: f64, result: &PageRank) -> Result<()> {
    check_ranks::<Q>(view, damping, &result.rank)?;
    let change = change_of_one_more::<Q>(view, damping, &result.rank);
    check_change(change, damping * result.change + Q::ROUNDING)
}

/// Checks as [`verify_pagerank`] does where the ranks took so many iterations that one more is a
/// small part; otherwise that ranks have their sum and their least value, and that at some vertices
/// one more iteration does not change them by more than all ranks together may change.
///
/// Misses, after fewer than 12 iterations, most wrong ranks that leave the sum as it is.
/// Cost: an iteration, or the ranks once and one of 256 vertices.
///
/// # Errors
/// As [`verify_pagerank`].
pub fn spot_check_pagerank(
    view: &impl GraphView,
    config: &PageRankConfig,
    result: &PageRank,
) -> Result<()> {
    if result.iterations >= ITERATIONS_PER_CHECK {
        return verify_pagerank(view, config, result);
    }
    config.check()?;
    let most = config.damping * result.change;
    match config.is_narrow() {
        true => {
            check_ranks::<f32>(view, config.damping, &result.rank)?;
            check_change(change_at_spots(view, config.damping, &result.rank), most + f32::ROUNDING)
        }
        false => {
            check_ranks::<f64>(view, config.damping, &result.rank)?;
            check_change(change_at_spots(view, config.damping, &result.rank), most + f64::ROUNDING)
        }
    }
}

fn check_change(change: f64, most: f64) -> Result<()> {
    require(KERNEL, change <= most, || {
        format!("one more iteration changes ranks by {change}, more than {most}")
    })
}

/// Checks that only vertices have a rank, and that ranks have their least value and sum to 1.
fn check_ranks<Q: Quotient>(view: &impl GraphView, damping: f64, rank: &[f64]) -> Result<()> {
    let (bound, vertex_count) = (view.vertex_bound(), view.vertex_count());
    require(KERNEL, rank.len() == bound as usize, || {
        format!("{} ranks for {bound} ids", rank.len())
    })?;
    let least = (1.0 - damping) / f64::from(vertex_count) * (1.0 - Q::ROUNDING);
    check_all(bound, |v| {
        let rank = rank[v as usize];
        let holds = if view.is_vertex(v) { rank >= least } else { rank == 0.0 };
        require(KERNEL, holds, || format!("{v} has rank {rank}, a vertex has at least {least}"))
    })?;
    let sum: f64 = par::map_chunks(rank, GRAIN, |ranks| ranks.iter().sum::<f64>()).iter().sum();
    require(KERNEL, vertex_count == 0 || (sum - 1.0).abs() <= Q::ROUNDING, || {
        format!("ranks sum to {sum}")
    })
}

/// Returns by how much one more iteration changes the `rank` of some vertices, at least.
pub(crate) fn change_at_spots(view: &impl GraphView, damping: f64, rank: &[f64]) -> f64 {
    let dangling = par::map_ranges(view.vertex_bound(), GRAIN as u32, |range| {
        let mut dangling = 0.0;
        view.for_each_degree(Direction::Out, range, |v, degree| {
            dangling += if degree == 0 { rank[v as usize] } else { 0.0 };
        });
        dangling
    });
    let dangling: f64 = dangling.into_iter().sum();
    let shared = spread(view, damping, dangling);
    Spots::one_of(SHARE, view.vertex_bound()).sum(|v| {
        if !view.is_vertex(v) || view.in_degree(v) as usize > LIST_MAX {
            return 0.0;
        }
        let quotient = |u: VertexId| rank[u as usize] / f64::from(view.out_degree(u));
        let pulled: f64 = view.in_neighbors(v).map(quotient).sum();
        (shared + damping * pulled - rank[v as usize]).abs()
    })
}
