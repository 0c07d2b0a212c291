//! Personalized and weighted PageRank: a random walk that starts anew at chosen vertices, and that
//! leaves along edges in proportion to their weights.
//!
//! The walk of [`pagerank`](crate::pagerank()) goes on along an edge with probability `damping`,
//! and else starts anew at any vertex. This one starts anew at the vertices of a list, each in
//! proportion to a weight of its own, so that ranks say how close vertices are to these. It may
//! choose edges by weight. A vertex that it cannot leave, since it has no out-edge or all weigh
//! nothing, gives its rank to where the walk starts anew:
//! ```text
//! rank(v) = start(v) * (1 - damping + damping * dangling)
//!         + damping * sum of rank(u) * weight(u, v) / weight(u)    over u -> v
//! ```
//! where `weight(u)` is the sum over all edges that leave `u`, and `start` sums to 1. Where the
//! walk starts anew everywhere alike and edges count 1, this is PageRank. Parallel edges count one
//! by one.
//!
//! Source: Page et al., "The PageRank Citation Ranking", 1999, §6 (there a source of rank E);
//! dangling vertices as NetworkX has them by default. Quotients are pulled in a fixed order as in
//! [`pagerank`](crate::pagerank()), and have 4 bytes under the same tolerances, unless edges are
//! weighted: quotients of small weights are too large for them.
//!
//! # Cost
//! Each iteration reads every in-edge once, in order, and one quotient for it, at random; weights
//! are added up once, before. 16 bytes for each id as PageRank, 24 if edges are weighted, and 16
//! for each vertex where the walk starts anew.

use everedge_core::{Direction, GraphView, VertexId, WeightedView, par, watch};

use crate::convergence::Progress;
use crate::error::{check_vertex, require};
use crate::matrix::{Matrix, sum_of};
use crate::pagerank::{Quotient, divide, kept_degrees};
use crate::spots::check_all;
use crate::{Error, PageRank, PageRankConfig, Result};

/// Numbers in a piece of work.
const GRAIN: usize = 1 << 10;
/// From so many iterations on one more is a small part of them, and so are two.
const ITERATIONS_PER_CHECK: u32 = 12;
const WEIGHTED_ITERATIONS_PER_CHECK: u32 = 20;
const KERNEL: &str = "personalized-pagerank";

/// Where the walk of [`personalized_pagerank`] starts anew, how it chooses edges, and when the
/// iterations stop.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PersonalizedPageRankConfig {
    /// Damping, iterations and tolerance, as for [`pagerank`](crate::pagerank()).
    pub pagerank: PageRankConfig,
    /// Whether the walk leaves a vertex along its edges in proportion to their weights, and not
    /// along each alike.
    pub weighted: bool,
    /// Where the walk starts anew, with a weight above or equal to 0 for each; those of a vertex
    /// that is named twice add up. Empty: everywhere alike.
    pub starts: Vec<(VertexId, f64)>,
}

impl PersonalizedPageRankConfig {
    fn check(&self, view: &impl GraphView) -> Result<()> {
        self.pagerank.check()?;
        let expected = "finite, 0 or more, and above 0 in sum";
        let fail = |value| Err(Error::BadParameter { name: "weight of a start", value, expected });
        for &(v, weight) in &self.starts {
            check_vertex(view, v)?;
            if !weight.is_finite() || weight < 0.0 {
                return fail(weight);
            }
        }
        let sum = self.starts.iter().map(|start| start.1).sum::<f64>();
        let is_right = self.starts.is_empty() || sum > 0.0 && sum.is_finite();
        if is_right { Ok(()) } else { fail(sum) }
    }
}

/// Where the walk starts anew: the probability of each vertex.
struct Starts {
    /// That of every vertex, or 0.
    everywhere: f64,
    /// Those of some vertices, ascending, each once.
    at: Vec<(VertexId, f64)>,
}

impl Starts {
    fn new(view: &impl GraphView, starts: &[(VertexId, f64)]) -> Self {
        if starts.is_empty() {
            return Self { everywhere: 1.0 / f64::from(view.vertex_count()), at: Vec::new() };
        }
        let mut sorted = starts.to_vec();
        sorted.sort_by_key(|start| start.0);
        let sum: f64 = sorted.iter().map(|start| start.1).sum();
        let at = sorted
            .chunk_by(|a, b| a.0 == b.0)
            .map(|of_one| (of_one[0].0, of_one.iter().map(|start| start.1 / sum).sum()));
        Self { everywhere: 0.0, at: at.collect() }
    }

    /// Returns a function of ids from `first` on, which are asked for in ascending order.
    fn from(&self, first: VertexId) -> impl FnMut(VertexId) -> f64 {
        let mut left = &self.at[self.at.partition_point(|start| start.0 < first)..];
        move |v| {
            while let [(u, part), rest @ ..] = left
                && *u <= v
            {
                left = rest;
                if *u == v {
                    return *part;
                }
            }
            self.everywhere
        }
    }

    /// Returns the probability of each id.
    fn to_ranks(&self, view: &impl GraphView) -> Vec<f64> {
        let mut ranks = par::collect(view.vertex_bound() as usize, |v| {
            if view.is_vertex(v as VertexId) { self.everywhere } else { 0.0 }
        });
        self.at.iter().for_each(|&(v, part)| ranks[v as usize] = part);
        ranks
    }
}

/// What ranks are divided by: how much leaves each vertex.
enum Leaving {
    /// The out-degrees, if they are kept.
    Edges(Option<Vec<u32>>),
    /// `[vertex_bound]`: the sum of weights.
    Weights(Vec<f64>),
}

/// The walk, which takes a step in each iteration.
struct Walk<'v, V, Q> {
    view: &'v V,
    matrix: Matrix<'v, V>,
    damping: f64,
    starts: Starts,
    leaving: Leaving,
    /// `[vertex_bound]`: scratch space.
    quotient: Vec<Q>,
}

impl<'v, V: WeightedView, Q: Quotient> Walk<'v, V, Q> {
    fn new(view: &'v V, config: &PersonalizedPageRankConfig) -> Result<Self> {
        let matrix = Matrix::new(view, config.weighted)?;
        let leaving = if config.weighted {
            let ones = matrix.filled(1.0);
            let mut sums = matrix.filled(0.0);
            matrix.pull(Direction::Out, &ones, &mut sums, |_| {
                |_, sum, slot: &mut f64| {
                    *slot = sum;
                    0.0
                }
            });
            Leaving::Weights(sums)
        } else {
            Leaving::Edges(kept_degrees::<Q>(view))
        };
        Ok(Self {
            view,
            matrix,
            damping: config.pagerank.damping,
            starts: Starts::new(view, &config.starts),
            leaving,
            quotient: par::collect(view.vertex_bound() as usize, |_| Q::default()),
        })
    }

    /// Does one iteration on `rank`; returns the sum of all changes.
    fn iterate(&mut self, rank: &mut [f64]) -> f64 {
        let dangling = match &self.leaving {
            Leaving::Edges(degrees) => {
                divide(self.view, degrees.as_deref(), rank, &mut self.quotient)
            }
            Leaving::Weights(weights) => divide_by(weights, rank, &mut self.quotient),
        };
        let damping = self.damping;
        let started = 1.0 - damping + damping * dangling;
        self.matrix.pull(Direction::In, &self.quotient, rank, |range| {
            let mut start_of = self.starts.from(range.start);
            move |v, pulled, rank: &mut f64| {
                let new = started * start_of(v) + damping * pulled;
                let change = (new - *rank).abs();
                *rank = new;
                change
            }
        })
    }
}

/// Divides each rank by the weight that leaves its vertex into `quotient`; returns the sum of the
/// ranks that no weight leaves.
fn divide_by<Q: Quotient>(weights: &[f64], rank: &[f64], quotient: &mut [Q]) -> f64 {
    let dangling = par::map_chunks_mut(quotient, GRAIN, |first, quotients| {
        let mut dangling = 0.0;
        let range = first..first + quotients.len();
        for ((slot, rank), weight) in
            quotients.iter_mut().zip(&rank[range.clone()]).zip(&weights[range])
        {
            match *weight > 0.0 {
                true => *slot = Q::of(rank / weight),
                false => dangling += rank,
            }
        }
        dangling
    });
    dangling.into_iter().sum()
}

/// Ranks the vertices of `view` by a walk that starts anew where `config` says, beginning there.
///
/// Returns as [`pagerank`](crate::pagerank()): ranks sum to 1, and a vertex that no start reaches
/// has rank 0.
///
/// # Errors
/// [`BadParameter`](Error::BadParameter) if the damping is not from 0 to 1, the tolerance is
/// negative or not a number, or the weight of a start or their sum is;
/// [`NotAVertex`](Error::NotAVertex) if a start is not a vertex; [`BadWeight`](Error::BadWeight) if
/// weights count and that of an edge is negative or not a finite number; [`NotConverged`](Error::NotConverged) as
/// [`pagerank`](crate::pagerank()).
///
/// # Example
/// ```
/// use everedge_core::{Csr, CsrOptions};
/// use everedge_kernels::{PersonalizedPageRankConfig, personalized_pagerank};
///
/// let options = CsrOptions { directed: true, ..CsrOptions::default() };
/// let g = Csr::from_edges(&[(0, 1), (0, 2), (1, 0), (3, 0)], Some(&[3.0, 1.0, 1.0, 1.0]), options);
/// let config = PersonalizedPageRankConfig {
///     starts: vec![(0, 1.0)],
///     weighted: true,
///     ..PersonalizedPageRankConfig::default()
/// };
/// let rank = personalized_pagerank(&g, &config)?.rank;
/// assert!(rank[0] > rank[1] && rank[1] > rank[2] && rank[3] == 0.0);
/// # Ok::<(), everedge_kernels::Error>(())
/// ```
pub fn personalized_pagerank(
    view: &impl WeightedView,
    config: &PersonalizedPageRankConfig,
) -> Result<PageRank> {
    config.check(view)?;
    match config.is_narrow() {
        true => rank::<f32>(view, config),
        false => rank::<f64>(view, config),
    }
}

impl PersonalizedPageRankConfig {
    fn is_narrow(&self) -> bool {
        !self.weighted && self.pagerank.is_narrow()
    }
}

fn rank<Q: Quotient>(
    view: &impl WeightedView,
    config: &PersonalizedPageRankConfig,
) -> Result<PageRank> {
    let PageRankConfig { iterations_max, tolerance, .. } = config.pagerank;
    let mut walk = Walk::<_, Q>::new(view, config)?;
    let rank = walk.starts.to_ranks(view);
    let mut result = PageRank { rank, iterations: 0, change: f64::INFINITY };
    let mut progress = Progress::new(KERNEL, iterations_max);
    while result.iterations < iterations_max && result.change >= tolerance {
        result.change = walk.iterate(&mut result.rank);
        result.iterations += 1;
        watch::note(result.iterations.into(), iterations_max.into());
        progress.note(result.iterations, result.change)?;
    }
    Ok(result)
}

/// Checks that `result` has the ranks of `view` that `config` asks for.
///
/// It has if only vertices have a rank, ranks are at least what starts anew there and sum to 1, and
/// one more iteration changes them by no more than `damping` times the last change, as it must
/// since every iteration contracts by that factor. Cost: one iteration, two if edges are weighted,
/// and 8 bytes for each id besides what the kernel has.
///
/// # Errors
/// [`WrongResult`](Error::WrongResult) with the first property that does not hold; else as
/// [`personalized_pagerank`].
pub fn verify_personalized_pagerank(
    view: &impl WeightedView,
    config: &PersonalizedPageRankConfig,
    result: &PageRank,
) -> Result<()> {
    match config.is_narrow() {
        true => verify::<f32>(view, config, result),
        false => verify::<f64>(view, config, result),
    }
}

fn verify<Q: Quotient>(
    view: &impl WeightedView,
    config: &PersonalizedPageRankConfig,
    result: &PageRank,
) -> Result<()> {
    check_ranks(view, config, result)?;
    let change = Walk::<_, Q>::new(view, config)?.iterate(&mut result.rank.clone());
    let most = config.pagerank.damping * result.change + Q::ROUNDING;
    require(KERNEL, change <= most, || {
        format!("one more iteration changes ranks by {change}, more than {most}")
    })
}

/// Checks as [`verify_personalized_pagerank`] does where the ranks took so many iterations that
/// this is a small part; otherwise only that ranks have their sum and their least value.
///
/// Misses, after fewer than 12 iterations, or 20 if edges are weighted, wrong ranks that leave the
/// sum as it is. Cost: an iteration or two, or the ranks once.
///
/// # Errors
/// As [`verify_personalized_pagerank`].
pub fn spot_check_personalized_pagerank(
    view: &impl WeightedView,
    config: &PersonalizedPageRankConfig,
    result: &PageRank,
) -> Result<()> {
    let per_check =
        if config.weighted { WEIGHTED_ITERATIONS_PER_CHECK } else { ITERATIONS_PER_CHECK };
    if result.iterations >= per_check {
        return verify_personalized_pagerank(view, config, result);
    }
    check_ranks(view, config, result)
}

/// Checks that only vertices have a rank, and that ranks have their least value and sum to 1.
fn check_ranks(
    view: &impl GraphView,
    config: &PersonalizedPageRankConfig,
    result: &PageRank,
) -> Result<()> {
    config.check(view)?;
    let rounding = if config.is_narrow() { f32::ROUNDING } else { f64::ROUNDING };
    let (rank, bound) = (&result.rank, view.vertex_bound());
    require(KERNEL, rank.len() == bound as usize, || {
        format!("{} ranks for {bound} ids", rank.len())
    })?;
    let least = (1.0 - config.pagerank.damping) * (1.0 - rounding);
    let starts = Starts::new(view, &config.starts);
    check_all(bound, |v| {
        let (rank, least) = (rank[v as usize], least * starts.from(v)(v));
        let holds = if view.is_vertex(v) { rank >= least } else { rank == 0.0 };
        require(KERNEL, holds, || format!("{v} has rank {rank}, a vertex has at least {least}"))
    })?;
    let sum = sum_of(rank, |rank| rank);
    require(KERNEL, view.vertex_count() == 0 || (sum - 1.0).abs() <= rounding, || {
        format!("ranks sum to {sum}")
    })
}
