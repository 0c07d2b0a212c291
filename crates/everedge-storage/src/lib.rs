//! Durable bytes: media, edge log, layouts and recovery.

mod adjacency;
mod archiving;
mod batch;
mod error;
mod log;
mod manifest;
pub mod medium;
mod names;
mod pma;
mod recovery;
mod text_form;
mod verification;

pub use adjacency::{
    AdjacencyGraph, AdjacencyOptions, Compacting, Deleting, Direction, ListPart, Merging,
    Neighbors, Snapshot, Split, WeightedNeighbors,
};
pub use archiving::{Changes, Compaction, Division, Phases};
pub use batch::Batch;
pub use error::{Error, Result};
pub use manifest::{Durability, GraphOptions, IdKind, Layout, MANIFEST, Manifest};
pub use names::{ExternalId, Names};
pub use pma::{
    PmaGraph, PmaNeighbors, PmaOptions, PmaSnapshot, PmaWeightedNeighbors, Rebalancing, VertexArray,
};
pub use recovery::Recovery;
pub use verification::Verification;
