//! The facade's promises that need storage and kernels together.

mod beside_writers;
mod changed;
mod commits;
mod files;
mod hand_over;
mod history;
mod ingests;
mod isolation;
mod options;
mod questions;
mod readers;
mod runs;
mod sealed;
mod time_travel;

// The library is not tested in place; this file of it needs nothing else of it.
#[path = "../../src/stream.rs"]
mod stream;
