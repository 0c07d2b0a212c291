//! Eigenvector centrality: a vertex is as central as its in-neighbors are together.
//!
//! Scores are the eigenvector of the largest eigenvalue of the adjacency matrix, from the left:
//! ```text
//! eigenvalue * score(v) = sum of weight(u, v) * score(u)    over u -> v
//! ```
//! They have Euclidean length 1. Every iteration adds a part of the old scores to these sums, which
//! changes no eigenvector: on a bipartite graph sums alone would swing for ever. That part is a
//! quarter of what the sums have grown by, so that it does not depend on the unit of weights, and a
//! graph of large degrees is left as fast as one of small.
//!
//! Scores are equal at first. Where several eigenvectors have the largest eigenvalue, as in a graph
//! of equal components, the answer has a part of each. In a directed graph only what cycles of
//! large eigenvalue reach has a score above 0; without any cycle that is the ends of the longest
//! paths, if edges are there.
//!
//! Source: Bonacich, "Power and Centrality: A Family of Measures", American J. Sociology 1987;
//! in-edges and length as in NetworkX. Differences from NetworkX: it adds the old scores as they
//! are, which takes far more iterations on graphs that are nearly bipartite; the tolerance is for
//! the length of the change.
//!
//! # Cost
//! Each iteration reads every in-edge once, in order, and one number for it, at random. How many it
//! takes is the ratio of the two largest eigenvalues, each with a quarter of the largest more. 16
//! bytes for each id: the result, and the next scores.

use std::mem;

use everedge_core::{Direction, GraphView, WeightedView};

use crate::Result;
use crate::convergence::{ADVICE, Stop, check_tolerance};
use crate::error::require;
use crate::matrix::{Matrix, divide, join, sum_of};
use crate::spots::check_all;

/// How much of the old scores is added, for sums that have grown by 1.
const KEPT: f64 = 0.25;
/// What rounding may do to a length.
const ROUNDING: f64 = 1e-9;
/// From so many iterations on one more is a small part of them, also if weights are looked at.
const ITERATIONS_PER_CHECK: u32 = 20;
const KERNEL: &str = "eigenvector";

/// When [`eigenvector`] stops, and what edges count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EigenvectorConfig {
    /// The most iterations.
    pub iterations_max: u32,
    /// Stop when one more iteration changes the scores by less than this, as the Euclidean length
    /// of the change; 0 does all iterations, whether they converge or not.
    pub tolerance: f64,
    /// Whether an edge counts its weight, and not 1.
    pub weighted: bool,
}

impl Default for EigenvectorConfig {
    fn default() -> Self {
        Self { iterations_max: 1000, tolerance: 1e-6, weighted: false }
    }
}

impl EigenvectorConfig {
    fn stop(&self) -> Result<Stop> {
        let Self { iterations_max, tolerance, .. } = *self;
        check_tolerance(tolerance)?;
        Ok(Stop { kernel: KERNEL, iterations_max, tolerance, advice: ADVICE })
    }
}

/// What [`eigenvector`] found.
#[derive(Clone, Debug, PartialEq)]
pub struct Eigenvector {
    /// `[vertex_bound]`: the score of each vertex, of Euclidean length 1 together; 0 for an id that
    /// is no vertex.
    pub score: Vec<f64>,
    /// By how much the sums over in-edges are longer than the scores: the largest eigenvalue.
    pub eigenvalue: f64,
    /// How many iterations were done.
    pub iterations: u32,
    /// The length of the change that one more makes.
    pub change: f64,
}

/// The scores, and what the next iteration makes of them.
struct Scores<'v, V> {
    matrix: Matrix<'v, V>,
    score: Vec<f64>,
    next: Vec<f64>,
    eigenvalue: f64,
}

impl<'v, V: WeightedView> Scores<'v, V> {
    fn new(matrix: Matrix<'v, V>, score: Vec<f64>) -> Self {
        Self { next: matrix.filled(0.0), score, matrix, eigenvalue: 0.0 }
    }

    /// Computes the next scores; returns the length of the change.
    fn compute(&mut self) -> f64 {
        let Self { matrix, score, next, eigenvalue } = self;
        let squares = matrix.pull(Direction::In, score, next, |_| {
            |_, sum, slot: &mut f64| {
                *slot = sum;
                sum * sum
            }
        });
        *eigenvalue = squares.sqrt();
        let kept = KEPT * *eigenvalue;
        let squares = join(next, score, |next, old| {
            *next += kept * old;
            *next * *next
        });
        if squares == 0.0 {
            next.copy_from_slice(score);
            return 0.0;
        }
        divide(next, squares.sqrt());
        join(next, score, |next, old| (*next - old).powi(2)).sqrt()
    }
}

/// Scores the vertices of `view`.
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
/// use everedge_kernels::{EigenvectorConfig, eigenvector};
///
/// let g = Csr::from_edges(&[(0, 1), (0, 2), (0, 3), (0, 4)], None, CsrOptions::default());
/// let result = eigenvector(&g, &EigenvectorConfig::default())?;
/// assert!((result.eigenvalue - 2.0).abs() < 1e-5 && (result.score[0] - 0.5_f64.sqrt()).abs() < 1e-5);
/// # Ok::<(), everedge_kernels::Error>(())
/// ```
pub fn eigenvector(view: &impl WeightedView, config: &EigenvectorConfig) -> Result<Eigenvector> {
    let stop = config.stop()?;
    let matrix = Matrix::new(view, config.weighted)?;
    let equal = matrix.filled(f64::from(view.vertex_count()).sqrt().recip());
    let mut scores = Scores::new(matrix, equal);
    let take = |scores: &mut Scores<_>| mem::swap(&mut scores.score, &mut scores.next);
    let (iterations, change) = stop.converge(&mut scores, Scores::compute, take)?;
    let Scores { score, eigenvalue, .. } = scores;
    Ok(Eigenvector { score, eigenvalue, iterations, change })
}

/// Checks that `result` has an eigenvector of `view`.
///
/// It has if only vertices have scores, their length is 1, and one more iteration finds the same
/// eigenvalue and changes them by no more than the result says, which is below the tolerance.
/// Misses another eigenvector than the largest. Cost: one iteration, and 16 bytes for each id.
///
/// # Errors
/// [`WrongResult`](crate::Error::WrongResult) with the first property that does not hold; else as
/// [`eigenvector`], but for [`NotConverged`](crate::Error::NotConverged).
pub fn verify_eigenvector(
    view: &impl WeightedView,
    config: &EigenvectorConfig,
    result: &Eigenvector,
) -> Result<()> {
    check_scores(view, config, result)?;
    let matrix = Matrix::new(view, config.weighted)?;
    let mut scores = Scores::new(matrix, result.score.clone());
    let change = scores.compute();
    require(KERNEL, change <= result.change + ROUNDING, || {
        format!("one more iteration changes the scores by {change}, not {}", result.change)
    })?;
    let (found, eigenvalue) = (result.eigenvalue, scores.eigenvalue);
    require(KERNEL, (found - eigenvalue).abs() <= ROUNDING * eigenvalue, || {
        format!("the eigenvalue is {found}, one more iteration finds {eigenvalue}")
    })
}

/// Checks as [`verify_eigenvector`] does where the scores took so many iterations that this is a
/// small part; otherwise only that scores have their length.
///
/// Misses, after fewer than 20 iterations, wrong scores that leave the length as it is. Cost: an
/// iteration, or the scores once.
///
/// # Errors
/// As [`verify_eigenvector`].
pub fn spot_check_eigenvector(
    view: &impl WeightedView,
    config: &EigenvectorConfig,
    result: &Eigenvector,
) -> Result<()> {
    match result.iterations >= ITERATIONS_PER_CHECK {
        true => verify_eigenvector(view, config, result),
        false => check_scores(view, config, result),
    }
}

/// Checks that only vertices have scores, which have their length, and that the iterations ended
/// when they should.
fn check_scores(
    view: &impl GraphView,
    config: &EigenvectorConfig,
    result: &Eigenvector,
) -> Result<()> {
    config.stop()?.check(result.iterations, result.change)?;
    let (score, bound) = (&result.score, view.vertex_bound());
    require(KERNEL, score.len() == bound as usize, || {
        format!("{} scores for {bound} ids", score.len())
    })?;
    check_all(bound, |v| {
        let score = score[v as usize];
        let holds = if view.is_vertex(v) { score >= 0.0 } else { score == 0.0 };
        require(KERNEL, holds, || format!("{v}, perhaps no vertex, has score {score}"))
    })?;
    let length = sum_of(score, |score| score * score).sqrt();
    let holds = (length - 1.0).abs() <= ROUNDING || view.vertex_count() == 0;
    require(KERNEL, holds, || format!("the scores have length {length}"))
}
