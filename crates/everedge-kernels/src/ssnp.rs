//! Single-source narrowest paths: the smallest largest weight on a path from a source.
//!
//! What a path asks for is the largest of its weights, its *narrowness*. By delta-stepping, see
//! [`best_paths`](crate::best_paths): keys are the bits of the largest weights, and buckets are
//! the ranges between powers of 2, each cut into 64.
//!
//! Source: Vora, Gupta and Xu, "KickStarter", ASPLOS 2017 (the problem, there SSNP); Meyer and
//! Sanders, "Δ-stepping", J. Algorithms 2003 (buckets). Differences: any weight that is a number; so
//! the source has negative infinity and not 0.
//!
//! # Cost
//! O(vertices + edges) expected for random weights. 8 bytes for each id (the result), and 4 for each
//! vertex in a bucket; a vertex is in several if its largest weight got better.

use everedge_core::{VertexId, WeightedView};

use crate::Result;
use crate::best_paths::{
    PathAlgebra, best_paths, from_ordered_bits, octave_bucket, ordered_bits, spot_check_best_paths,
    verify_best_paths,
};

/// What [`ssnp`] found.
#[derive(Clone, Debug, PartialEq)]
pub struct Ssnp {
    /// `[vertex_bound]`: the largest weight on a path from the source where it is smallest; negative
    /// infinity for the source, where the path has no edge, and infinity for a vertex that none
    /// reaches and for an id that is no vertex.
    pub largest_weight: Vec<f64>,
}

impl Ssnp {
    /// Returns how many vertices were reached, the source among them.
    pub fn reached_count(&self) -> u32 {
        self.largest_weight
            .iter()
            .filter(|&&largest_weight| largest_weight != f64::INFINITY)
            .count() as u32
    }
}

/// The largest weight of paths.
struct LargestWeight;

impl PathAlgebra for LargestWeight {
    const KERNEL: &'static str = "ssnp";
    const WEIGHTS: &'static str = "a number";
    const IDENTITY: f64 = f64::NEG_INFINITY;
    const UNREACHED: f64 = f64::INFINITY;

    #[inline]
    fn accepts(weight: f32) -> bool {
        !weight.is_nan()
    }

    #[inline]
    fn extend(value: f64, weight: f32) -> f64 {
        // Adding makes a negative zero positive.
        value.max(f64::from(weight) + 0.0)
    }

    #[inline]
    fn key(value: f64) -> u64 {
        ordered_bits(value)
    }

    #[inline]
    fn value(key: u64) -> f64 {
        from_ordered_bits(key)
    }

    #[inline]
    fn bucket_of(&self, value: f64) -> u64 {
        octave_bucket(Self::key(value))
    }
}

/// Finds the narrowest paths of `view` from `source` along the direction of its edges.
///
/// Weights may be negative. A path over an edge of infinite weight reaches nothing.
///
/// # Errors
/// [`NotAVertex`](crate::Error::NotAVertex) if `source` is not a vertex,
/// [`BadWeight`](crate::Error::BadWeight) if an edge that leaves a reached vertex has a weight that
/// is not a number (the first such edge).
///
/// # Example
/// ```
/// use everedge_core::{Csr, CsrOptions};
///
/// let edges = [(0, 1), (0, 2), (2, 1)];
/// let g = Csr::from_edges(&edges, Some(&[5.0, 1.0, 2.5]), CsrOptions::default());
/// assert_eq!(everedge_kernels::ssnp(&g, 0)?.largest_weight, [f64::NEG_INFINITY, 2.5, 1.0]);
/// # Ok::<(), everedge_kernels::Error>(())
/// ```
pub fn ssnp(view: &impl WeightedView, source: VertexId) -> Result<Ssnp> {
    Ok(Ssnp { largest_weight: best_paths(view, source, &LargestWeight)? })
}

/// Checks that `result` has the largest weights of narrowest paths of `view` from `source`.
///
/// It has if the source has negative infinity, no edge makes a narrower path to its end, and every
/// reached vertex can be reached over edges that need exactly the largest weights of their ends.
/// Cost: the edges of the reached vertices once, 5 bytes for each id.
///
/// # Errors
/// [`WrongResult`](crate::Error::WrongResult) with the first property that does not hold;
/// [`NotAVertex`](crate::Error::NotAVertex) if `source` is not a vertex.
pub fn verify_ssnp(view: &impl WeightedView, source: VertexId, result: &Ssnp) -> Result<()> {
    verify_best_paths::<LargestWeight>(view, source, &result.largest_weight)
}

/// Checks at some vertices that no edge makes a better path to its end, and that an edge makes
/// exactly their value.
///
/// Misses values that justify each other in a circle of edges that add nothing, and those of few
/// vertices. Cost: one of 64 vertices, up to 256 edges of each.
///
/// # Errors
/// As [`verify_ssnp`].
pub fn spot_check_ssnp(view: &impl WeightedView, source: VertexId, result: &Ssnp) -> Result<()> {
    spot_check_best_paths::<LargestWeight>(view, source, &result.largest_weight)
}
