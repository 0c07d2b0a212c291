//! Single-source widest paths: the largest smallest weight on a path from a source.
//!
//! What a path lets through is the smallest of its weights, its *width*. By delta-stepping, see
//! [`best_paths`](crate::best_paths): keys are the bits of widths, inverted so that the widest is the
//! smallest, and buckets are the ranges between powers of 2, each cut into 64.
//!
//! Source: Vora, Gupta and Xu, "KickStarter", ASPLOS 2017 (the problem, there SSWP); Meyer and
//! Sanders, "Δ-stepping", J. Algorithms 2003 (buckets). Differences: any weight that is a number,
//! where a negative one is narrower still.
//!
//! # Cost
//! O(vertices + edges) expected for random weights. 8 bytes for each id (the result), and 4 for each
//! vertex in a bucket; a vertex is in several if its width got better.

use everedge_core::{VertexId, WeightedView};

use crate::Result;
use crate::best_paths::{
    PathAlgebra, best_paths, from_ordered_bits, octave_bucket, ordered_bits, spot_check_best_paths,
    verify_best_paths,
};

/// What [`sswp`] found.
#[derive(Clone, Debug, PartialEq)]
pub struct Sswp {
    /// `[vertex_bound]`: the width of a widest path from the source; infinity for the source, where
    /// the path has no edge, and negative infinity for a vertex that none reaches and for an id
    /// that is no vertex.
    pub width: Vec<f64>,
}

impl Sswp {
    /// Returns how many vertices were reached, the source among them.
    pub fn reached_count(&self) -> u32 {
        self.width.iter().filter(|&&width| width != f64::NEG_INFINITY).count() as u32
    }
}

/// The width of paths.
struct Width;

impl PathAlgebra for Width {
    const KERNEL: &'static str = "sswp";
    const WEIGHTS: &'static str = "a number";
    const IDENTITY: f64 = f64::INFINITY;
    const UNREACHED: f64 = f64::NEG_INFINITY;

    #[inline]
    fn accepts(weight: f32) -> bool {
        !weight.is_nan()
    }

    #[inline]
    fn extend(value: f64, weight: f32) -> f64 {
        // Adding makes a negative zero positive.
        value.min(f64::from(weight) + 0.0)
    }

    #[inline]
    fn key(value: f64) -> u64 {
        !ordered_bits(value)
    }

    #[inline]
    fn value(key: u64) -> f64 {
        from_ordered_bits(!key)
    }

    #[inline]
    fn bucket_of(&self, value: f64) -> u64 {
        octave_bucket(Self::key(value))
    }
}

/// Finds the widest paths of `view` from `source` along the direction of its edges.
///
/// Weights may be negative. A path over an edge of weight negative infinity reaches nothing.
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
/// let g = Csr::from_edges(&edges, Some(&[1.0, 5.0, 2.5]), CsrOptions::default());
/// assert_eq!(everedge_kernels::sswp(&g, 0)?.width, [f64::INFINITY, 2.5, 5.0]);
/// # Ok::<(), everedge_kernels::Error>(())
/// ```
pub fn sswp(view: &impl WeightedView, source: VertexId) -> Result<Sswp> {
    Ok(Sswp { width: best_paths(view, source, &Width)? })
}

/// Checks that `result` has the widths of widest paths of `view` from `source`.
///
/// It has if the source has infinite width, no edge makes a wider path to its end, and every
/// reached vertex can be reached over edges that leave exactly the width of their ends.
/// Cost: the edges of the reached vertices once, 5 bytes for each id.
///
/// # Errors
/// [`WrongResult`](crate::Error::WrongResult) with the first property that does not hold;
/// [`NotAVertex`](crate::Error::NotAVertex) if `source` is not a vertex.
pub fn verify_sswp(view: &impl WeightedView, source: VertexId, result: &Sswp) -> Result<()> {
    verify_best_paths::<Width>(view, source, &result.width)
}

/// Checks at some vertices that no edge makes a better path to its end, and that an edge makes
/// exactly their value.
///
/// Misses values that justify each other in a circle of edges that add nothing, and those of few
/// vertices. Cost: one of 64 vertices, up to 256 edges of each.
///
/// # Errors
/// As [`verify_sswp`].
pub fn spot_check_sswp(view: &impl WeightedView, source: VertexId, result: &Sswp) -> Result<()> {
    spot_check_best_paths::<Width>(view, source, &result.width)
}
