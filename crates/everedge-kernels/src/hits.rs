//! HITS: hubs, which point at good authorities, and authorities, which good hubs point at.
//!
//! The hub score of a vertex is the sum of the authority scores of its out-neighbors, and its
//! authority score is the sum of the hub scores of its in-neighbors, each divided by what makes all
//! scores sum to 1:
//! ```text
//! hub(u)       ~ sum of weight(u, v) * authority(v)    over u -> v
//! authority(v) ~ sum of weight(u, v) * hub(u)          over u -> v
//! ```
//! Each iteration computes hubs from authorities and authorities from these. Authorities are equal
//! at first, and end as the largest eigenvector of what one iteration multiplies with. Where
//! several are as large, such as in components that are alike, the answer has a part of each. Edges
//! count 1, or their weights; parallel edges count one by one.
//!
//! Source: Kleinberg, "Authoritative Sources in a Hyperlinked Environment", J. ACM 1999, §3;
//! normalized as in NetworkX.
//!
//! # Cost
//! Each iteration reads every out-edge and every in-edge once, in order, and one number for each,
//! at random. How many it takes is the ratio of the two largest eigenvalues: fewer than a hundred
//! on most webs and social networks. 24 bytes for each id: the result, and the next authorities.

use std::mem;

use everedge_core::{Direction, GraphView, WeightedView};

use crate::Result;
use crate::convergence::{ADVICE, Stop, check_tolerance};
use crate::error::require;
use crate::matrix::{Matrix, divide, join, sum_of};
use crate::spots::check_all;

/// What rounding may do to a sum of scores.
const ROUNDING: f64 = 1e-9;
/// From so many iterations on two more are a small part of them, also if weights are looked at.
const ITERATIONS_PER_CHECK: u32 = 24;
const KERNEL: &str = "hits";

/// When [`hits`] stops, and what edges count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HitsConfig {
    /// The most iterations.
    pub iterations_max: u32,
    /// Stop when one more iteration changes the authorities by less than this, all changes added
    /// up; 0 does all iterations, whether they converge or not.
    pub tolerance: f64,
    /// Whether an edge counts its weight, and not 1.
    pub weighted: bool,
}

impl Default for HitsConfig {
    fn default() -> Self {
        Self { iterations_max: 1000, tolerance: 1e-8, weighted: false }
    }
}

impl HitsConfig {
    fn stop(&self) -> Result<Stop> {
        let Self { iterations_max, tolerance, .. } = *self;
        check_tolerance(tolerance)?;
        Ok(Stop { kernel: KERNEL, iterations_max, tolerance, advice: ADVICE })
    }
}

/// What [`hits`] found.
#[derive(Clone, Debug, PartialEq)]
pub struct Hits {
    /// `[vertex_bound]`: the hub score of each vertex, in sum 1; 0 for an id that is no vertex, and
    /// everywhere if no edge counts anything.
    pub hub: Vec<f64>,
    /// `[vertex_bound]`: the authority score of each vertex, alike.
    pub authority: Vec<f64>,
    /// How many iterations were done.
    pub iterations: u32,
    /// By how much one more changes the authorities, all changes added up.
    pub change: f64,
}

/// The scores, and what the next iteration makes of them.
struct Scores<'v, V> {
    matrix: Matrix<'v, V>,
    hub: Vec<f64>,
    authority: Vec<f64>,
    next: Vec<f64>,
}

impl<'v, V: WeightedView> Scores<'v, V> {
    fn new(matrix: Matrix<'v, V>, authority: Vec<f64>) -> Self {
        let zeros = || matrix.filled(0.0);
        Self { hub: zeros(), next: zeros(), authority, matrix }
    }

    /// Computes hubs from the authorities, and the next authorities from these; returns the sum of
    /// all changes to the authorities.
    fn compute(&mut self) -> f64 {
        let Self { matrix, hub, authority, next } = self;
        let pull = |direction, numbers: &[f64], sums: &mut Vec<f64>| {
            let total = matrix.pull(direction, numbers, sums, |_| {
                |_, sum, slot: &mut f64| {
                    *slot = sum;
                    sum
                }
            });
            if total > 0.0 {
                divide(sums, total);
            }
        };
        pull(Direction::Out, authority, hub);
        pull(Direction::In, hub, next);
        join(next, authority, |next, old| (*next - old).abs())
    }
}

/// Finds hubs and authorities of `view`. Of an undirected graph they are the same.
///
/// # Errors
/// [`NotConverged`](crate::Error::NotConverged) if all iterations did not bring the change below
/// the tolerance, unless that is 0; [`BadParameter`](crate::Error::BadParameter) if the tolerance
/// is negative or not a number; [`BadWeight`](crate::Error::BadWeight) if weights count and that of
/// an edge is negative or not a finite number.
///
/// # Example
/// ```
/// use everedge_core::{Csr, CsrOptions};
/// use everedge_kernels::{HitsConfig, hits};
///
/// let options = CsrOptions { directed: true, ..CsrOptions::default() };
/// let g = Csr::from_edges(&[(0, 2), (1, 2), (1, 3)], None, options);
/// let result = hits(&g, &HitsConfig::default())?;
/// assert!(result.hub[1] > result.hub[0] && result.authority[2] > result.authority[3]);
/// # Ok::<(), everedge_kernels::Error>(())
/// ```
pub fn hits(view: &impl WeightedView, config: &HitsConfig) -> Result<Hits> {
    let stop = config.stop()?;
    let matrix = Matrix::new(view, config.weighted)?;
    let equal = matrix.filled(1.0 / f64::from(view.vertex_count()));
    let mut scores = Scores::new(matrix, equal);
    let take = |scores: &mut Scores<_>| mem::swap(&mut scores.authority, &mut scores.next);
    let (iterations, change) = stop.converge(&mut scores, Scores::compute, take)?;
    Ok(Hits { hub: scores.hub, authority: scores.authority, iterations, change })
}

/// Checks that `result` has hubs and authorities of `view`.
///
/// It has if only vertices have scores, which sum to 1, hubs are what authorities make of them, and
/// one more iteration changes the authorities by no more than the result says, which is below the
/// tolerance. Misses scores of another eigenvector than the largest. Cost: one iteration, and 24
/// bytes for each id.
///
/// # Errors
/// [`WrongResult`](crate::Error::WrongResult) with the first property that does not hold; else as
/// [`hits`], but for [`NotConverged`](crate::Error::NotConverged).
pub fn verify_hits(view: &impl WeightedView, config: &HitsConfig, result: &Hits) -> Result<()> {
    check_scores(view, config, result)?;
    let matrix = Matrix::new(view, config.weighted)?;
    let mut scores = Scores::new(matrix, result.authority.clone());
    let change = scores.compute();
    require(KERNEL, change <= result.change + ROUNDING, || {
        format!("one more iteration changes authorities by {change}, not {}", result.change)
    })?;
    let far = join(&mut scores.hub, &result.hub, |new, hub| (*new - hub).abs());
    require(KERNEL, far <= ROUNDING, || format!("hubs are {far} from what authorities make them"))
}

/// Checks as [`verify_hits`] does where the scores took so many iterations that this is a small
/// part; otherwise only that scores have their sums.
///
/// Misses, after fewer than 24 iterations, wrong scores that leave the sums as they are. Cost: an
/// iteration, or the scores once.
///
/// # Errors
/// As [`verify_hits`].
pub fn spot_check_hits(view: &impl WeightedView, config: &HitsConfig, result: &Hits) -> Result<()> {
    match result.iterations >= ITERATIONS_PER_CHECK {
        true => verify_hits(view, config, result),
        false => check_scores(view, config, result),
    }
}

/// Checks that only vertices have scores, which have their sum, and that the iterations ended when
/// they should.
fn check_scores(view: &impl GraphView, config: &HitsConfig, result: &Hits) -> Result<()> {
    config.stop()?.check(result.iterations, result.change)?;
    let bound = view.vertex_bound();
    for (name, score) in [("hub", &result.hub), ("authority", &result.authority)] {
        require(KERNEL, score.len() == bound as usize, || {
            format!("{} {name} scores for {bound} ids", score.len())
        })?;
        check_all(bound, |v| {
            let score = score[v as usize];
            let holds = if view.is_vertex(v) { score >= 0.0 } else { score == 0.0 };
            require(KERNEL, holds, || format!("{v}, perhaps no vertex, has {name} score {score}"))
        })?;
        let sum = sum_of(score, |score| score);
        let may_be_zero = view.edge_count() == 0 || config.weighted;
        let holds = (sum - 1.0).abs() <= ROUNDING || may_be_zero && sum == 0.0;
        require(KERNEL, holds, || format!("{name} scores sum to {sum}"))?;
    }
    Ok(())
}
