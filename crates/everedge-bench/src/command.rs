//! `everedge bench`: measures this build on this machine.
//!
//! Every measurement is a process of its own, so that its peak memory is its own; the
//! configurations take turns in each trial, so that a machine whose speed drifts is fair to all.

use std::os::unix::process::parent_id;
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use clap::Subcommand;
use rustix::process::{Signal, set_parent_process_death_signal};

use crate::harness::Task;
use crate::measurements::{self, delete, ingest, kernels, mixed, recovery, window};
use crate::outofcore;
use crate::output::Output;
use crate::papers::{self, dgap, pie, smdg, xpgraph};

/// Measure this build on this machine.
///
/// The graphs are synthetic, the same ones each time. Each measurement is a process of its
/// own; options that take a comma list are combined, and the combinations take turns, so that a
/// machine whose speed drifts is fair to all of them. What is shown are medians. With --json it
/// is one JSON object.
///
/// Ctrl-C and SIGTERM end the measurement and remove its graph. One that SIGKILL or a second Ctrl-C
/// ends leaves graph-PID in --directory and --pmem-directory; the next measurement there
/// removes it.
#[derive(clap::Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
#[command(override_usage = "everedge bench <COMMAND>")]
pub struct Args {
    #[command(subcommand)]
    what: Option<What>,

    /// Make one measurement in this process and print its figures: how the others are made.
    #[arg(long, hide = true, value_name = "TASK", value_parser = Task::read, requires = "parent")]
    single: Option<Box<Task>>,

    /// The process that takes the figures of --single.
    #[arg(long, hide = true, value_name = "PID", requires = "single")]
    parent: Option<u32>,
}

const EXAMPLES: &str = "\
Examples:
  everedge bench ingest --scale 20 --medium pmem --archive-threshold 65536,8388608
  everedge bench delete --scale 20 --share 0.04
  everedge bench recovery --scale 20 --closed --early
  everedge bench kernels --scale 20 --kernel bfs,pagerank --report kernels.html
  everedge bench mixed --scale 20 --layout adjacency,pma,blocks
  everedge bench window --scale 20 --kernel bfs,sssp --versions 12 --percent 0.5
  everedge bench outofcore --scale 20 --part kernels,ablation --report outofcore.html
  everedge bench xpgraph --scale 18 --report experiments.html
  everedge bench dgap --scale 18 --figure 6,9
  everedge bench pie --scale 18 --figure 17
  everedge bench smdg --scale 18 --figure 9,12";

#[derive(Subcommand)]
enum What {
    Ingest(Box<ingest::Args>),
    Delete(Box<delete::Args>),
    Recovery(Box<recovery::Args>),
    Kernels(Box<kernels::Args>),
    Mixed(Box<mixed::Args>),
    Window(Box<window::Args>),
    Outofcore(Box<outofcore::Args>),
    /// Measure the experiments of the XPGraph paper that this machine can answer.
    ///
    /// The paper is the one of the layout `adjacency`: Wang et al., ACM Transactions on Storage
    /// 2025, section 5. Its figures keep their numbers. Each prints its rows when it is done; --json
    /// prints all of them as one value at the end.
    #[command(after_help = xpgraph::PAPER.help("--figure 19,20 --figure table-3 --trials 1"))]
    Xpgraph(Box<papers::Args>),
    /// Measure the experiments of the DGAP paper that this machine can answer.
    ///
    /// The paper is the one of the layout `pma`: Islam and Dai, SC 2023, sections 2.4 and 4. Its
    /// figures keep their numbers. Each edge is safe by itself, and only out-neighbors are kept, where
    /// nothing else is said. Each prints its rows when it is done; --json prints all of them as one
    /// value at the end.
    #[command(after_help = dgap::PAPER.help("--figure 9 --figure table-5 --trials 1"))]
    Dgap(Box<papers::Args>),
    /// Measure the experiments of the PIE paper that this machine can answer.
    ///
    /// The paper is the one of versions: Zhang et al., ICS 2025, sections 2.3 and 5. Its figures keep
    /// their numbers. Each prints its rows when it is done; --json prints all of them as one value at
    /// the end.
    #[command(after_help = pie::PAPER.help("--figure 17 --figure table-4 --trials 1"))]
    Pie(Box<papers::Args>),
    /// Measure the experiments of the SMDG paper that this machine can answer.
    ///
    /// The paper is the one of the layout `blocks`: Weng et al., TKDE 2026, section IV. Its figures keep
    /// their numbers. Graphs have no directions, and one edge for a pair. Each prints its rows when it is
    /// done; --json prints all of them as one value at the end.
    #[command(after_help = smdg::PAPER.help("--figure 9 --figure 12 --trials 1"))]
    Smdg(Box<papers::Args>),
}

/// Measures what `args` say and prints what was found.
///
/// # Errors
/// If a measurement fails or standard output takes no more.
pub fn run(args: &Args, output: Output) -> Result<ExitCode> {
    match (args.single.as_ref().zip(args.parent), &args.what) {
        (Some((task, parent)), _) => {
            end_with(parent)?;
            measurements::perform(task)?;
        }
        (None, what) => match what.as_ref().context("what to measure? see --help")? {
            What::Ingest(args) => ingest::run(args, output)?,
            What::Delete(args) => delete::run(args, output)?,
            What::Recovery(args) => recovery::run(args, output)?,
            What::Kernels(args) => kernels::run(args, output)?,
            What::Mixed(args) => mixed::run(args, output)?,
            What::Window(args) => window::run(args, output)?,
            What::Outofcore(args) => outofcore::run(args, output)?,
            What::Xpgraph(args) => papers::run(&xpgraph::PAPER, args, output)?,
            What::Dgap(args) => papers::run(&dgap::PAPER, args, output)?,
            What::Pie(args) => papers::run(&pie::PAPER, args, output)?,
            What::Smdg(args) => papers::run(&smdg::PAPER, args, output)?,
        },
    }
    Ok(ExitCode::SUCCESS)
}

/// Ends this process with the one that started it: nobody else takes its figures.
///
/// # Errors
/// If that has gone already, of which no signal comes.
fn end_with(parent: u32) -> Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    ensure!(parent_id() == parent, "the process that started this measurement has gone");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measurement_ends_whose_parent_has_gone_before_it_began() {
        end_with(parent_id()).unwrap();
        assert!(end_with(std::process::id()).is_err());
    }
}
