//! A durable history of versions of a graph: each is a frozen graph that every kernel runs on.
//!
//! Source: Zhang et al., "PIE: Enabling Fast and Scalable Incremental Evolving Graph Analytics on
//! Persistent Memory", ICS 2025. Differences: see `docs/papers.md`.
//!
//! # Layout
//! ```text
//! file:    head │ end │ version 1: whole lists │ version 2: what it adds, and the places of what it takes away │ …
//! memory:  a bit for each stored edge of the newest version, a bit for each vertex
//! ```
//! A version is added by one contiguous write, a fence, and a store of 8 bytes (`file.rs`). It keeps what its
//! changes come to (`changes.rs`). Old versions are let go by a new file whose first version is a later one
//! (`rebase.rs`). A view of any version is its bits over what is stored, and the edges that
//! versions have added, merged (`view.rs`, `overlay.rs`).

mod bits;
mod changes;
mod chunk_index;
mod compare;
mod components;
mod cores;
mod file;
mod filter;
mod finder;
mod lifetimes;
mod lists;
mod net;
mod overlay;
mod pairs;
mod query;
mod rebase;
mod rows;
mod schedule;
mod segment;
mod store;
mod sums;
mod tip;
mod triangles;
mod vertex_set;
mod view;
mod waiting;
mod window;

pub use changes::Changes;
pub use file::{VERSIONS, is_file, is_there};
pub use query::{Depth, Distance, LargestWeight, MonotoneQuery, Probability, Width};
pub use schedule::Schedule;
pub use store::Timeline;
pub use sums::Sums;
pub use view::VersionView;
pub use window::{Answer, Window};

/// What is fixed for all versions of a timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimelineOptions {
    /// Whether an edge leads only from its source to its destination.
    pub directed: bool,
    /// Whether edges have weights.
    pub weighted: bool,
    /// Whether directed graphs keep in-neighbors, too.
    pub in_neighbors: bool,
    /// Whether an edge that is there already is not added once more.
    pub simple: bool,
}

/// A version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// From 1 on, each one more than the one before.
    pub number: u64,
    /// Microseconds since 1970.
    pub time: i64,
    /// What it is called.
    pub name: Option<String>,
    /// Vertices that its graph has.
    pub vertices: u32,
    /// Edges that its graph has.
    pub edges: u64,
    /// Edges that the version before does not have.
    pub additions: u64,
    /// Edges that only the version before has.
    pub deletions: u64,
}
