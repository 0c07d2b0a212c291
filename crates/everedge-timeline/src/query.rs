//! Monotone queries: each vertex has a value that only gets better when edges are added.
//!
//! Source: PIE Table 3, the edge functions of BFS, SSSP, SSWP, SSNP and Viterbi.

use everedge_core::{VertexId, WeightedView};
use everedge_kernels::{self as kernels, SsspConfig};

/// A question about paths from a source: what the best of them is worth at each vertex.
///
/// Three things make a query: what a path of no edge is worth, what an edge makes of a value, and which of
/// two values is better. An edge must not make a value better, and of two values it must keep the order.
///
/// # Example
/// ```
/// use everedge_timeline::MonotoneQuery;
///
/// /// The fewest edges of a path, each of which counts double above a weight of 10.
/// struct Toll;
///
/// impl MonotoneQuery for Toll {
///     type Value = u32;
///     const UNREACHED: u32 = u32::MAX;
///     const SOURCE: u32 = 0;
///
///     fn along(value: u32, weight: f32) -> u32 {
///         value + if weight > 10.0 { 2 } else { 1 }
///     }
///
///     fn is_better(value: u32, other: u32) -> bool {
///         value < other
///     }
/// }
/// ```
pub trait MonotoneQuery {
    /// What a path is worth.
    type Value: Copy + PartialEq + Send + Sync + std::fmt::Debug;
    /// The value of a vertex that no path reaches: all are better.
    const UNREACHED: Self::Value;
    /// The value of the source.
    const SOURCE: Self::Value;

    /// Returns the value of a path with one more edge, of this weight.
    fn along(value: Self::Value, weight: f32) -> Self::Value;

    /// Whether the first value is better than the second.
    fn is_better(value: Self::Value, other: Self::Value) -> bool;

    /// The weights that edges may have, in words.
    const WEIGHTS: &str = "any";

    /// Whether edges may have this weight.
    fn accepts(weight: f32) -> bool {
        let _ = weight;
        true
    }

    /// Returns the values of all ids of a graph, `[vertex_bound]`, by a way that is faster than going on from
    /// the source; none if there is none.
    ///
    /// # Errors
    /// If the graph does not allow the question, for example because of its weights.
    fn solve(
        view: &impl WeightedView,
        source: VertexId,
    ) -> Option<kernels::Result<Vec<Self::Value>>> {
        let _ = (view, source);
        None
    }
}

/// The number of edges of a shortest path.
#[derive(Clone, Copy, Debug)]
pub struct Depth;

impl MonotoneQuery for Depth {
    type Value = u32;
    const UNREACHED: u32 = kernels::UNREACHED;
    const SOURCE: u32 = 0;

    #[inline]
    fn along(value: u32, _: f32) -> u32 {
        value.saturating_add(1)
    }

    #[inline]
    fn is_better(value: u32, other: u32) -> bool {
        value < other
    }

    fn solve(view: &impl WeightedView, source: VertexId) -> Option<kernels::Result<Vec<u32>>> {
        view.has_in_neighbors().then(|| kernels::bfs(view, source).map(|bfs| bfs.depth))
    }
}

/// A query whose values are numbers of 64 bits, by a kernel.
macro_rules! path_query {
    (
        $(#[$doc:meta])* $name:ident, $unreached:expr, $source:expr,
        along: |$value:ident, $weight:ident| $along:expr, better: $better:tt,
        weights: $weights:literal |$accepted:ident| $accepts:expr, $solve:expr
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl MonotoneQuery for $name {
            type Value = f64;
            const UNREACHED: f64 = $unreached;
            const SOURCE: f64 = $source;
            const WEIGHTS: &str = $weights;

            #[inline]
            fn along($value: f64, weight: f32) -> f64 {
                // Adding makes a negative zero positive.
                let $weight = f64::from(weight) + 0.0;
                $along
            }

            #[inline]
            fn is_better(value: f64, other: f64) -> bool {
                value $better other
            }

            fn accepts($accepted: f32) -> bool {
                $accepts
            }

            fn solve(
                view: &impl WeightedView,
                source: VertexId,
            ) -> Option<kernels::Result<Vec<f64>>> {
                Some($solve(view, source))
            }
        }
    };
}

path_query! {
    /// The length of a shortest path: the sum of its weights, which are 0 or more.
    Distance, f64::INFINITY, 0.0,
    along: |value, weight| value + weight, better: <,
    weights: "0 or more" |weight| weight >= 0.0,
    |view, source| kernels::sssp(view, source, &SsspConfig::default()).map(|sssp| sssp.distance)
}

path_query! {
    /// The width of a widest path: the smallest of its weights.
    Width, f64::NEG_INFINITY, f64::INFINITY,
    along: |value, weight| value.min(weight), better: >,
    weights: "a number" |weight| !weight.is_nan(),
    |view, source| kernels::sswp(view, source).map(|sswp| sswp.width)
}

path_query! {
    /// The largest weight of a path on which it is smallest.
    LargestWeight, f64::INFINITY, f64::NEG_INFINITY,
    along: |value, weight| value.max(weight), better: <,
    weights: "a number" |weight| !weight.is_nan(),
    |view, source| kernels::ssnp(view, source).map(|ssnp| ssnp.largest_weight)
}

path_query! {
    /// The probability of a most likely path: the product of its weights, which are from 0 to 1.
    Probability, 0.0, 1.0,
    along: |value, weight| value * weight + 0.0, better: >,
    weights: "from 0 to 1" |weight| (0.0..=1.0).contains(&weight),
    |view, source| kernels::viterbi(view, source).map(|viterbi| viterbi.probability)
}
