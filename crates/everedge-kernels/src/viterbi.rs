//! Viterbi: the largest product of probabilities on a path from a source.
//!
//! Weights are the probabilities of edges, and the most likely path is sought. By delta-stepping,
//! see [`best_paths`](crate::best_paths): keys are the bits of probabilities, inverted so that the
//! largest is the smallest, and buckets are the ranges between powers of 2, each cut into 64.
//!
//! Source: Viterbi, "Error Bounds for Convolutional Codes and an Asymptotically Optimum Decoding
//! Algorithm", IEEE Trans. Information Theory 1967; as a graph kernel in Vora, Gupta and Xu,
//! "KickStarter", ASPLOS 2017. Differences: probabilities are multiplied and not their logarithms
//! added; buckets by Meyer and Sanders, "Δ-stepping", J. Algorithms 2003.
//!
//! # Cost
//! O(vertices + edges) expected for random weights. 8 bytes for each id (the result), and 4 for each
//! vertex in a bucket; a vertex is in several if its probability got better.

use everedge_core::{VertexId, WeightedView};

use crate::Result;
use crate::best_paths::{
    PathAlgebra, best_paths, octave_bucket, spot_check_best_paths, verify_best_paths,
};

/// What [`viterbi`] found.
#[derive(Clone, Debug, PartialEq)]
pub struct Viterbi {
    /// `[vertex_bound]`: the probability of a most likely path from the source; 1 for the source,
    /// and 0 for a vertex that no path of a probability above 0 reaches and for an id that is no
    /// vertex.
    pub probability: Vec<f64>,
}

impl Viterbi {
    /// Returns how many vertices were reached, the source among them.
    pub fn reached_count(&self) -> u32 {
        self.probability.iter().filter(|&&probability| probability != 0.0).count() as u32
    }
}

/// The probability of paths.
struct Probability;

impl PathAlgebra for Probability {
    const KERNEL: &'static str = "viterbi";
    const WEIGHTS: &'static str = "from 0 to 1";
    const IDENTITY: f64 = 1.0;
    const UNREACHED: f64 = 0.0;

    #[inline]
    fn accepts(weight: f32) -> bool {
        (0.0..=1.0).contains(&weight)
    }

    #[inline]
    fn extend(value: f64, weight: f32) -> f64 {
        // Adding makes a negative zero positive.
        value * f64::from(weight) + 0.0
    }

    #[inline]
    fn key(value: f64) -> u64 {
        !value.to_bits()
    }

    #[inline]
    fn value(key: u64) -> f64 {
        f64::from_bits(!key)
    }

    #[inline]
    fn bucket_of(&self, value: f64) -> u64 {
        octave_bucket(Self::key(value))
    }
}

/// Finds the most likely paths of `view` from `source` along the direction of its edges.
///
/// A probability below 5e-324 is 0: what is only reached so is not reached.
///
/// # Errors
/// [`NotAVertex`](crate::Error::NotAVertex) if `source` is not a vertex,
/// [`BadWeight`](crate::Error::BadWeight) if an edge that leaves a reached vertex has a weight that
/// is not from 0 to 1 (the first such edge).
///
/// # Example
/// ```
/// use everedge_core::{Csr, CsrOptions};
///
/// let edges = [(0, 1), (0, 2), (2, 1)];
/// let g = Csr::from_edges(&edges, Some(&[0.25, 0.5, 0.75]), CsrOptions::default());
/// assert_eq!(everedge_kernels::viterbi(&g, 0)?.probability, [1.0, 0.375, 0.5]);
/// # Ok::<(), everedge_kernels::Error>(())
/// ```
pub fn viterbi(view: &impl WeightedView, source: VertexId) -> Result<Viterbi> {
    Ok(Viterbi { probability: best_paths(view, source, &Probability)? })
}

/// Checks that `result` has the probabilities of the most likely paths of `view` from `source`.
///
/// It has if the source has probability 1, no edge makes a likelier path to its end, and every
/// reached vertex can be reached over edges of exactly the quotients of their ends.
/// Cost: the edges of the reached vertices once, 5 bytes for each id.
///
/// # Errors
/// [`WrongResult`](crate::Error::WrongResult) with the first property that does not hold;
/// [`NotAVertex`](crate::Error::NotAVertex) if `source` is not a vertex.
pub fn verify_viterbi(view: &impl WeightedView, source: VertexId, result: &Viterbi) -> Result<()> {
    verify_best_paths::<Probability>(view, source, &result.probability)
}

/// Checks at some vertices that no edge makes a better path to its end, and that an edge makes
/// exactly their value.
///
/// Misses values that justify each other in a circle of edges that add nothing, and those of few
/// vertices. Cost: one of 64 vertices, up to 256 edges of each.
///
/// # Errors
/// As [`verify_viterbi`].
pub fn spot_check_viterbi(
    view: &impl WeightedView,
    source: VertexId,
    result: &Viterbi,
) -> Result<()> {
    spot_check_best_paths::<Probability>(view, source, &result.probability)
}
