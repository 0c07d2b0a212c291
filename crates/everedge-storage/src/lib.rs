//! Durable bytes: media, edge log, layouts and recovery.

mod error;
pub mod medium;

pub use error::{Error, Result};
