//! What can go wrong with a kernel: its parameters, its input, or its answer.

use std::fmt::Display;

use everedge_core::{GraphView, VertexId, watch};

/// The result of a kernel or of its verifier.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a kernel has no answer, or a verifier does not accept one.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The start of a kernel is not a vertex of the view.
    #[error("{}", not_a_vertex(vertex))]
    NotAVertex {
        /// The id that was asked for.
        vertex: VertexId,
    },

    /// An edge has a weight that the kernel cannot use.
    #[error("{}", bad_weight(src, dst, *weight, expected))]
    BadWeight {
        /// Where the edge begins.
        src: VertexId,
        /// Where the edge ends.
        dst: VertexId,
        /// Its weight.
        weight: f32,
        /// The weights that the kernel can use.
        expected: &'static str,
    },

    /// More shortest paths than an `f64` can count join two vertices.
    #[error("{}", too_many_paths(from))]
    TooManyPaths {
        /// Where the paths begin.
        from: VertexId,
    },

    /// A parameter of a kernel is out of its range.
    #[error("{name} is {value}: it must be {expected}")]
    BadParameter {
        /// Which field of the kernel's configuration.
        name: &'static str,
        /// What it was set to.
        value: f64,
        /// The values that it can have.
        expected: &'static str,
    },

    /// Scores still change after all iterations.
    #[error(
        "{kernel} has not converged: after {iterations} iterations one more changes the scores by \
         {change}, not by less than the tolerance: {advice}"
    )]
    NotConverged {
        /// The kernel.
        kernel: &'static str,
        /// How many iterations were done.
        iterations: u32,
        /// By how much one more changes the scores, measured as the tolerance is.
        change: f64,
        /// What to change.
        advice: &'static str,
    },

    /// What another shard has said is no message of the question, or of another state of the graph.
    #[error(
        "shard {shard} said what no shard says here: {what}; ask again, and if it comes again it is a fault of everedge"
    )]
    BadMessage {
        /// The shard that said it.
        shard: u32,
        /// What is wrong with it.
        what: &'static str,
    },

    /// A result lacks a property that every right result has.
    #[error(
        "the answer of {kernel} is wrong, which is a fault of everedge (vertices by number): {property}"
    )]
    WrongResult {
        /// Which kernel's verifier says so.
        kernel: &'static str,
        /// What does not hold, and where.
        property: String,
    },
}

/// Returns that what `shard` said is wrong.
pub(crate) fn bad_message(shard: u32, what: &'static str) -> Error {
    Error::BadMessage { shard, what }
}

impl Error {
    /// Returns what is wrong in words, each vertex as `name` calls it. What a verifier found is told
    /// in numbers of vertices: it is a fault of the program, not of its input.
    ///
    /// # Example
    /// ```
    /// let error = everedge_kernels::Error::TooManyPaths { from: 3 };
    /// let names = ["a", "b", "c", "d"];
    /// assert!(error.in_names(|v| names[v as usize].into()).ends_with("from vertex d to another one"));
    /// ```
    pub fn in_names(&self, name: impl Fn(VertexId) -> String) -> String {
        match *self {
            Self::NotAVertex { vertex } => not_a_vertex(&name(vertex)),
            Self::BadWeight { src, dst, weight, expected } => {
                bad_weight(&name(src), &name(dst), weight, expected)
            }
            Self::TooManyPaths { from } => too_many_paths(&name(from)),
            Self::BadParameter { .. }
            | Self::NotConverged { .. }
            | Self::BadMessage { .. }
            | Self::WrongResult { .. } => self.to_string(),
        }
    }
}

fn not_a_vertex(vertex: &dyn Display) -> String {
    format!("vertex {vertex} is not in the graph: choose one that an edge or a vertex list names")
}

fn bad_weight(src: &dyn Display, dst: &dyn Display, weight: f32, expected: &str) -> String {
    format!("the edge {src} -> {dst} has weight {weight}: weights must be {expected}")
}

fn too_many_paths(from: &dyn Display) -> String {
    format!("more than 1e308 shortest paths lead from vertex {from} to another one")
}

/// Returns an error if `v` is not a vertex of `view`.
pub(crate) fn check_vertex(view: &impl GraphView, v: VertexId) -> Result<()> {
    if view.is_vertex(v) { Ok(()) } else { Err(Error::NotAVertex { vertex: v }) }
}

/// Returns all ids below `bound`, for loops that take long: they can be cancelled on the way.
pub(crate) fn ids(bound: u32) -> impl Iterator<Item = VertexId> {
    (0..bound).inspect(|v| {
        if v.is_multiple_of(1 << 12) {
            watch::check()
        }
    })
}

/// Returns `WrongResult` with what `property` says unless `holds`.
pub(crate) fn require(
    kernel: &'static str,
    holds: bool,
    property: impl FnOnce() -> String,
) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::WrongResult { kernel, property: property() }) }
}
