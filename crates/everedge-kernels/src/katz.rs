//! Katz centrality: how many walks end at a vertex, long ones counted less.
//!
//! Every vertex has a score of its own, `beta`, and gets `alpha` times those of its in-neighbors:
//! ```text
//! score(v) = beta + alpha * sum of weight(u, v) * score(u)    over u -> v
//! ```
//! This is the sum over all walks that end at a vertex, a walk of k edges counting alpha^k. It is
//! finite if alpha is below 1 divided by the largest eigenvalue of the adjacency matrix. Iterations
//! begin with `beta` everywhere: each adds the walks that are an edge longer.
//!
//! Source: Katz, "A New Status Index Derived from Sociometric Analysis", Psychometrika 1953; with
//! beta and normalized as in NetworkX. Difference: the tolerance is for a part of all scores, which
//! is the same for any beta.
//!
//! # Cost
//! Each iteration reads every in-edge once, in order, and one number for it, at random. Changes
//! shrink by alpha times the largest eigenvalue in each. 16 bytes for each id: the result, and the
//! next scores.

use std::mem;

use everedge_core::{Direction, GraphView, WeightedView};

use crate::convergence::{Stop, check_tolerance};
use crate::error::require;
use crate::matrix::{Matrix, divide, sum_of};
use crate::spots::{LIST_MAX, Spots, check_all};
use crate::{Error, Result};

/// What rounding may do to a sum of scores, for a sum of 1.
const ROUNDING: f64 = 1e-9;
/// From so many iterations on one more is a small part of them, also if weights are looked at.
const ITERATIONS_PER_CHECK: u32 = 20;
/// One of so many pieces of ids is spot-checked.
const SHARE: u32 = 256;
const KERNEL: &str = "katz";
const ADVICE: &str = "choose a smaller alpha, as it must be below 1 divided by the largest \
                      eigenvalue, or allow more iterations or a larger tolerance";

/// What walks count for [`katz`], and when it stops.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KatzConfig {
    /// What one more edge multiplies a walk with, finite and 0 or more; below 1 divided by the
    /// largest eigenvalue, or scores grow for ever.
    pub alpha: f64,
    /// What each vertex has of its own, finite and above 0.
    pub beta: f64,
    /// Whether scores are divided by their Euclidean length.
    pub normalized: bool,
    /// The most iterations.
    pub iterations_max: u32,
    /// Stop when one more iteration changes the scores by less than this, all changes added up and
    /// divided by the sum of the scores; 0 does all iterations, whether they converge or not.
    pub tolerance: f64,
    /// Whether an edge counts its weight, and not 1.
    pub weighted: bool,
}

impl Default for KatzConfig {
    /// Alpha, beta and tolerance as in NetworkX.
    fn default() -> Self {
        Self {
            alpha: 0.1,
            beta: 1.0,
            normalized: true,
            iterations_max: 1000,
            tolerance: 1e-6,
            weighted: false,
        }
    }
}

impl KatzConfig {
    fn stop(&self) -> Result<Stop> {
        let fail = |name, value, expected| Err(Error::BadParameter { name, value, expected });
        let Self { alpha, beta, iterations_max, tolerance, .. } = *self;
        if !alpha.is_finite() || alpha < 0.0 {
            return fail("alpha", alpha, "finite and 0 or more");
        }
        if !beta.is_finite() || beta <= 0.0 {
            return fail("beta", beta, "finite and above 0");
        }
        check_tolerance(tolerance)?;
        Ok(Stop { kernel: KERNEL, iterations_max, tolerance, advice: ADVICE })
    }
}

/// What [`katz`] found.
#[derive(Clone, Debug, PartialEq)]
pub struct Katz {
    /// `[vertex_bound]`: the score of each vertex; 0 for an id that is no vertex.
    pub score: Vec<f64>,
    /// What the scores were divided by: their Euclidean length, or 1 if they are not normalized.
    pub divisor: f64,
    /// How many iterations were done.
    pub iterations: u32,
    /// By how much one more changes the scores, all changes added up and divided by their sum.
    pub change: f64,
}

/// The scores, and what the next iteration makes of them.
struct Scores<'v, V> {
    matrix: Matrix<'v, V>,
    alpha: f64,
    beta: f64,
    score: Vec<f64>,
    next: Vec<f64>,
}

impl<V: WeightedView> Scores<'_, V> {
    /// Computes the next scores; returns by how much they change.
    fn compute(&mut self) -> f64 {
        let Self { matrix, alpha, beta, score, next } = self;
        let changes = matrix.pull(Direction::In, score, next, |_| {
            |v, sum, slot: &mut f64| {
                *slot = *beta + *alpha * sum;
                (*slot - score[v as usize]).abs()
            }
        });
        let total = sum_of(score, |score| score);
        if total > 0.0 { changes / total } else { 0.0 }
    }
}

/// Scores the vertices of `view`.
///
/// # Errors
/// [`NotConverged`](Error::NotConverged) if scores grow for ever since alpha is too large, or all
/// iterations did not bring the change below the tolerance, unless that is 0;
/// [`BadParameter`](Error::BadParameter) if alpha, beta or the tolerance is out of its range;
/// [`BadWeight`](Error::BadWeight) if weights count and that of an edge is negative or not a finite
/// number.
///
/// # Example
/// ```
/// use everedge_core::{Csr, CsrOptions};
/// use everedge_kernels::{KatzConfig, katz};
///
/// let options = CsrOptions { directed: true, ..CsrOptions::default() };
/// let g = Csr::from_edges(&[(0, 1), (1, 2)], None, options);
/// let config = KatzConfig { alpha: 0.5, normalized: false, ..KatzConfig::default() };
/// assert_eq!(katz(&g, &config)?.score, [1.0, 1.5, 1.75]);
/// # Ok::<(), everedge_kernels::Error>(())
/// ```
pub fn katz(view: &impl WeightedView, config: &KatzConfig) -> Result<Katz> {
    let stop = config.stop()?;
    let matrix = Matrix::new(view, config.weighted)?;
    let KatzConfig { alpha, beta, .. } = *config;
    let (score, next) = (matrix.filled(beta), matrix.filled(0.0));
    let mut scores = Scores { matrix, alpha, beta, score, next };
    let take = |scores: &mut Scores<_>| mem::swap(&mut scores.score, &mut scores.next);
    let (iterations, change) = stop.converge(&mut scores, Scores::compute, take)?;
    let mut score = scores.score;
    let mut divisor = 1.0;
    if config.normalized && view.vertex_count() > 0 {
        divisor = length(&score);
        divide(&mut score, divisor);
    }
    Ok(Katz { score, divisor, iterations, change })
}

/// Returns the Euclidean length of the scores, of which none is squared that has no square.
fn length(score: &[f64]) -> f64 {
    let sum = sum_of(score, |score| score);
    sum * sum_of(score, |score| (score / sum).powi(2)).sqrt()
}

/// Checks that `result` has the scores of `view` that `config` asks for.
///
/// It has if only vertices have scores, which are at least `beta`, their length is 1 if they are
/// normalized, and one more iteration changes them by no more than the result says, which is below
/// the tolerance. Cost: one iteration, and 16 bytes for each id.
///
/// # Errors
/// [`WrongResult`](Error::WrongResult) with the first property that does not hold; else as
/// [`katz`], but for [`NotConverged`](Error::NotConverged).
pub fn verify_katz(view: &impl WeightedView, config: &KatzConfig, result: &Katz) -> Result<()> {
    check_scores(view, config, result)?;
    let matrix = Matrix::new(view, config.weighted)?;
    let (score, next) = (result.score.clone(), matrix.filled(0.0));
    let beta = config.beta / result.divisor;
    let change = Scores { matrix, alpha: config.alpha, beta, score, next }.compute();
    require(KERNEL, change <= result.change + ROUNDING, || {
        format!("one more iteration changes the scores by {change}, not {}", result.change)
    })
}

/// Checks as [`verify_katz`] does where the scores took so many iterations that this is a small
/// part; otherwise the scores of some vertices.
///
/// Misses, after fewer than 20 iterations, wrong scores of few vertices. Cost: an iteration, or the
/// scores once, and one of 256 vertices, up to 256 edges of each.
///
/// # Errors
/// As [`verify_katz`].
pub fn spot_check_katz(view: &impl WeightedView, config: &KatzConfig, result: &Katz) -> Result<()> {
    if result.iterations >= ITERATIONS_PER_CHECK {
        return verify_katz(view, config, result);
    }
    check_scores(view, config, result)?;
    let matrix = Matrix::unchecked(view, config.weighted);
    let score_of = |v: u32| result.score[v as usize];
    let changes = Spots::one_of(SHARE, view.vertex_bound()).sum(|v| {
        let sum = matrix.pull_at(Direction::In, score_of, v, LIST_MAX);
        let next = sum.map(|sum| config.beta / result.divisor + config.alpha * sum);
        let next = next.filter(|_| view.is_vertex(v));
        next.map_or(0.0, |next| (next - score_of(v)).abs())
    });
    let most = (result.change + ROUNDING) * sum_of(&result.score, |score| score);
    require(KERNEL, changes <= most, || {
        format!("one more iteration changes the scores of some vertices by {changes}")
    })
}

/// Checks that only vertices have scores, which have their least value and their length, and that
/// the iterations ended when they should.
fn check_scores(view: &impl GraphView, config: &KatzConfig, result: &Katz) -> Result<()> {
    config.stop()?.check(result.iterations, result.change)?;
    let (score, bound) = (&result.score, view.vertex_bound());
    require(KERNEL, score.len() == bound as usize, || {
        format!("{} scores for {bound} ids", score.len())
    })?;
    let least = config.beta / result.divisor * (1.0 - ROUNDING);
    check_all(bound, |v| {
        let score = score[v as usize];
        let holds = if view.is_vertex(v) { score >= least } else { score == 0.0 };
        require(KERNEL, holds, || format!("{v} has score {score}, a vertex has at least {least}"))
    })?;
    let length = if config.normalized { length(score) } else { result.divisor };
    require(KERNEL, view.vertex_count() == 0 || (length - 1.0).abs() <= ROUNDING, || {
        format!("the scores have length {length}, or were divided by it")
    })
}
