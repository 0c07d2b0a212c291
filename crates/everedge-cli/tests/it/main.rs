//! Tests of the command line as a process.
#![expect(clippy::disallowed_methods, reason = "tests make the files that the program reads")]

mod bench;
mod changed;
mod demo;
mod export;
mod far_ids;
mod guide;
mod hand_over;
mod hostile;
mod in_use;
mod inputs;
mod interrupted;
mod kill;
mod kill_sealing;
mod kill_writers;
mod output;
mod questions;
mod reference;
mod report;
mod salvage;
mod sealed;
mod tables;
mod versions;
