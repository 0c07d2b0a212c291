//! Single-source shortest paths: the smallest sum of weights on a path from a source.
//!
//! Delta-stepping by [`best_paths`](crate::best_paths), with buckets that are `delta` wide. Keys are
//! the bits of distances: of numbers that are not negative, the bits have the same order as the
//! numbers.
//!
//! Source: Meyer and Sanders, "Δ-stepping: a parallelizable shortest path algorithm", J.
//! Algorithms 2003.
//!
//! # Cost
//! O(vertices + edges) expected for random weights and a good delta. 8 bytes for each id (the
//! result) and a bit, and 4 bytes for each vertex in a bucket; a vertex is in several if its
//! distance was lowered.

use everedge_core::{Direction, VertexId, WeightedView};

use crate::best_paths::{PathAlgebra, best_paths, spot_check_best_paths, verify_best_paths};
use crate::error::check_vertex;
use crate::{Error, Result};

/// Vertices whose weights [`default_delta`] looks at.
const SAMPLED_VERTICES: u32 = 1024;
/// The same where each is a read.
const SAMPLED_READS: u32 = 128;
/// Edges that it looks at for each of them.
const SAMPLED_EDGES: usize = 64;

/// What [`default_delta`] multiplies with. Meyer and Sanders advise the mean weight over the degree
/// for random weights; the square serves thin graphs, whose edges are seldom relaxed twice, as well:
/// within a tenth of the best delta on roads of degree 2.5 and on graphs of degree 32.
const DELTA: f64 = 20.0;
/// The least delta, in mean weights, where lists are read from a device: a Kronecker graph of degree 28 takes a fifth
/// less time with it than with the other, roads as much.
const READ_DELTA: f64 = 4.0;

/// How [`sssp`] works.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SsspConfig {
    /// The width of a bucket, above 0. `None` chooses it from a sample of the edges: see
    /// [`sssp`]. It decides the time, never the result.
    pub delta: Option<f64>,
}

/// What [`sssp`] found.
#[derive(Clone, Debug, PartialEq)]
pub struct Sssp {
    /// `[vertex_bound]`: the length of a shortest path from the source; infinity for a vertex
    /// that none reaches and for an id that is no vertex.
    pub distance: Vec<f64>,
}

impl Sssp {
    /// Returns how many vertices were reached, the source among them.
    pub fn reached_count(&self) -> u32 {
        self.distance.iter().filter(|distance| distance.is_finite()).count() as u32
    }

    /// Returns the largest distance that was reached.
    pub fn distance_max(&self) -> f64 {
        self.distance.iter().copied().filter(|distance| distance.is_finite()).fold(0.0, f64::max)
    }
}

/// The length of paths, in buckets.
#[derive(Debug)]
pub(crate) struct Length {
    buckets_per_unit: f64,
}

impl Length {
    /// Returns the lengths of paths in buckets as wide as `delta`, a finite number above 0.
    pub(crate) fn by(delta: f64) -> Self {
        Self { buckets_per_unit: delta.recip() }
    }
}

impl PathAlgebra for Length {
    const KERNEL: &'static str = "sssp";
    const WEIGHTS: &'static str = "0 or more";
    const IDENTITY: f64 = 0.0;
    const UNREACHED: f64 = f64::INFINITY;

    #[inline]
    fn accepts(weight: f32) -> bool {
        weight >= 0.0
    }

    #[inline]
    fn extend(value: f64, weight: f32) -> f64 {
        value + f64::from(weight)
    }

    #[inline]
    fn key(value: f64) -> u64 {
        value.to_bits()
    }

    #[inline]
    fn value(key: u64) -> f64 {
        f64::from_bits(key)
    }

    #[inline]
    fn bucket_of(&self, value: f64) -> u64 {
        // Rounds down, and stops at the largest number: the last bucket may be wide.
        (value * self.buckets_per_unit) as u64
    }
}

/// Finds the shortest paths of `view` from `source` along the direction of its edges.
///
/// Without a delta in `config`, it is 20 times the mean weight of a sample of the edges, divided by
/// the square of the mean degree; 1 if all weights of the sample are 0. Where lists are read from a device, it is at least
/// 4 times the mean weight: few large buckets are read in fewer and longer reads.
///
/// # Errors
/// [`NotAVertex`](Error::NotAVertex) if `source` is not a vertex,
/// [`BadWeight`](Error::BadWeight) if an edge that leaves a reached vertex has a weight that is
/// negative or not a number (the first such edge), [`BadParameter`](Error::BadParameter) if delta
/// is not a finite number above 0.
///
/// # Example
/// ```
/// use everedge_core::{Csr, CsrOptions};
/// use everedge_kernels::{SsspConfig, sssp};
///
/// let edges = [(0, 1), (0, 2), (2, 1)];
/// let g = Csr::from_edges(&edges, Some(&[5.0, 1.0, 2.5]), CsrOptions::default());
/// assert_eq!(sssp(&g, 0, &SsspConfig::default())?.distance, [0.0, 3.5, 1.0]);
/// # Ok::<(), everedge_kernels::Error>(())
/// ```
pub fn sssp(view: &impl WeightedView, source: VertexId, config: &SsspConfig) -> Result<Sssp> {
    check_vertex(view, source)?;
    let delta = config.delta.unwrap_or_else(|| default_delta(view));
    if !(delta.is_finite() && delta > 0.0) {
        let expected = "a finite number above 0";
        return Err(Error::BadParameter { name: "delta", value: delta, expected });
    }
    Ok(Sssp { distance: best_paths(view, source, &Length::by(delta))? })
}

/// Chooses the delta that [`sssp`] documents.
pub(crate) fn default_delta(view: &impl WeightedView) -> f64 {
    let bound = view.vertex_bound();
    let reads_in_order = view.reads_in_order();
    let sampled = if reads_in_order { SAMPLED_READS } else { SAMPLED_VERTICES };
    let step = bound.div_ceil(sampled).max(1) as usize;
    let sample: Vec<_> = (0..bound).step_by(step).collect();
    let weights = (0..sample.len()).flat_map(|i| {
        view.load_ahead(Direction::Out, &sample[i..]);
        view.out_edges(sample[i]).take(SAMPLED_EDGES).map(|edge| edge.1)
    });
    let (sum, count) = weights
        .filter(|weight| weight.is_finite() && *weight >= 0.0)
        .fold((0.0, 0.0), |(sum, count), weight| (sum + f64::from(weight), count + 1.0));
    let ends_per_edge = if view.is_directed() { 1.0 } else { 2.0 };
    let degree = ends_per_edge * view.edge_count() as f64 / f64::from(view.vertex_count());
    let of_mean = DELTA / degree.max(1.0).powi(2);
    let delta = sum / count * if reads_in_order { of_mean.max(READ_DELTA) } else { of_mean };
    if delta > 0.0 { delta } else { 1.0 }
}

/// Checks that `result` has the lengths of shortest paths of `view` from `source`.
///
/// It has if the source has distance 0, no edge is a shorter way to its end, and every reached
/// vertex can be reached over edges that are exactly as long as the distances of their ends
/// differ. Cost: the edges of the reached vertices once, 5 bytes for each id.
///
/// # Errors
/// [`WrongResult`](Error::WrongResult) with the first property that does not hold;
/// [`NotAVertex`](Error::NotAVertex) if `source` is not a vertex.
pub fn verify_sssp(view: &impl WeightedView, source: VertexId, result: &Sssp) -> Result<()> {
    verify_best_paths::<Length>(view, source, &result.distance)
}

/// Checks at some vertices that no edge makes a better path to its end, and that an edge makes
/// exactly their value.
///
/// Misses values that justify each other in a circle of edges that add nothing, and those of few
/// vertices. Cost: one of 64 vertices, up to 256 edges of each.
///
/// # Errors
/// As [`verify_sssp`].
pub fn spot_check_sssp(view: &impl WeightedView, source: VertexId, result: &Sssp) -> Result<()> {
    spot_check_best_paths::<Length>(view, source, &result.distance)
}
