//! The facade's promises that need storage and kernels together.

mod beside_writers;
mod files;
mod ingests;
mod options;
mod runs;
