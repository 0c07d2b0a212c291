//! Durable bytes: media, edge log, layouts and recovery.

mod adjacency;
mod batch;
mod error;
mod log;
mod manifest;
pub mod medium;
mod names;
mod text_form;

pub use adjacency::{
    AdjacencyGraph, AdjacencyOptions, Changes, Compacting, Compaction, Deleting, Direction,
    Division, ListPart, Merging, Neighbors, Phases, Recovery, Snapshot, Split, Verification,
    WeightedNeighbors,
};
pub use batch::Batch;
pub use error::{Error, Result};
pub use manifest::{Durability, GraphOptions, IdKind, Layout, MANIFEST, Manifest};
pub use names::{ExternalId, Names};
