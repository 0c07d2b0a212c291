//! What can go wrong with a kernel: its parameters, its input, or its answer.

use everedge_core::{GraphView, VertexId, watch};

/// The result of a kernel or of its verifier.
pub type Result<T> = std::result::Result<T, Error>;

/// Why a kernel has no answer, or a verifier does not accept one.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The start of a kernel is not a vertex of the view.
    #[error("vertex {vertex} is not in the graph: choose one that an edge or a vertex list names")]
    NotAVertex {
        /// The id that was asked for.
        vertex: VertexId,
    },

    /// An edge has a weight that the kernel cannot use.
    #[error("the edge {src} -> {dst} has weight {weight}: weights must be {expected}")]
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
    #[error("more than 1e308 shortest paths lead from vertex {from} to another one")]
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

    /// A result lacks a property that every right result has.
    #[error("{kernel}: {property}")]
    WrongResult {
        /// Which kernel's verifier says so.
        kernel: &'static str,
        /// What does not hold, and where.
        property: String,
    },
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
