//! What everedge measures of itself, and the charts and pages that show it.
//!
//! `everedge bench` is this crate: [`Args`] are its options and [`run`] does the work. The command
//! line takes from here what both need: how results are printed ([`Output`]), how options are read
//! ([`NewGraph`], [`Medium`]), how signals end a command ([`stop_on_signals`]) and how a page with
//! charts is made ([`page`]).
//!
//! ```text
//! page, tuning, output ◄── harness ◄── measurements ◄── papers, outofcore ◄── command
//! ```
//!
//! `harness` runs a measurement many times, each time as a process of its own. `measurements` are
//! what can be measured. `papers` puts measurements together to the experiments of a paper, `outofcore`
//! those of sealed graphs, which share what they seal.

mod arguments;
mod command;
mod harness;
mod machine;
mod measurements;
mod outofcore;
mod output;
pub mod page;
mod papers;
mod signals;
mod standard_output;
mod tuning;

pub use arguments::{GraphKind, Medium, Words, parsed};
pub use command::{Args, run};
pub use machine::{RunInfo, quoted, run_info};
pub use output::{Output, bytes, complain, count, seconds};
pub use signals::stop_on_signals;
pub use standard_output::standard_output;
pub use tuning::NewGraph;
