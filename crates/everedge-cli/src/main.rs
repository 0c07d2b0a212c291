//! The everedge command line: a thin edge over the `everedge` crate.
//!
//! Exit codes: 0 done, 1 failed (one line on standard error says what, where and what to do),
//! 2 wrong usage, 3 there is no path (`path` alone), 130 interrupted by Ctrl-C or SIGTERM (one line says what is done). If who reads
//! standard output has gone, the program ends without a word and with 141, as a program that a
//! closed pipe ends.

mod charts;
mod cmd;
mod demo;
mod failed_medium;
mod help;
mod output;
mod report;

use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::output::{Output, standard_output};

/// What a shell shows of a program that SIGPIPE has ended.
const ENDED_BY_PIPE: u8 = 141;
/// What a shell shows of a program that Ctrl-C has ended.
const INTERRUPTED: u8 = 130;

const EXIT_STATUS: &str = "\
Exit status: 0 done; 1 failed, and a line on standard error says why; 2 wrong usage; 3 `path` has found no path; 130 ended by \
Ctrl-C or SIGTERM.";

/// A durable live graph: take files in, ask, change, and never lose an acknowledged edge.
#[derive(Parser)]
#[command(name = "everedge", version, max_term_width = 100, after_help = EXIT_STATUS)]
struct Cli {
    #[command(flatten)]
    output: Output,

    /// Threads to work on; 0 is one for each core.
    #[arg(long, global = true, default_value_t = 0, value_name = "N")]
    threads: usize,

    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Demo(demo::Args),
    Ingest(cmd::ingest::Args),
    Run(cmd::run::Args),
    Neighbors(cmd::neighbors::Args),
    Degree(cmd::degree::Args),
    Path(cmd::path::Args),
    Similar(cmd::similar::Args),
    Commit(cmd::commit::Args),
    Versions(cmd::versions::Args),
    Window(cmd::window::Args),
    Diff(cmd::diff::Args),
    Compact(cmd::compact::Args),
    Seal(cmd::seal::Args),
    Stats(cmd::stats::Args),
    Report(report::Args),
    Verify(cmd::verify::Args),
    Export(cmd::export::Args),
    Generate(cmd::generate::Args),
    Bench(everedge_bench::Args),
    Completions(cmd::shell::CompletionsArgs),
    Manual(cmd::shell::ManualArgs),
}

fn main() -> ExitCode {
    let parsed = program().try_get_matches().and_then(|matches| Cli::from_arg_matches(&matches));
    let outcome = match parsed {
        Ok(cli) => prepare_for_signals().and_then(|()| work(cli)),
        // Help is such an error, too: it goes to standard output.
        Err(usage) => Err(usage.into()),
    };
    outcome.unwrap_or_else(|error| explain(&error))
}

/// Returns the definition of all commands and options.
fn program() -> clap::Command {
    help::grouped(Cli::command())
}

/// Prepares for signals that by themselves end the process without a word. A write beyond the limit of the shell
/// (`ulimit -f`) fails like any other; a mapped file that fails is told of.
fn prepare_for_signals() -> Result<()> {
    signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::new(AtomicBool::new(false)))
        .context("cannot prepare for the limit on the size of files")?;
    failed_medium::explain()
}

fn work(cli: Cli) -> Result<ExitCode> {
    let output = cli.output;
    output.check()?;
    let work = || match cli.command {
        Command::Demo(args) => demo::run(&args, output),
        Command::Ingest(args) => cmd::ingest::run(&args, output),
        Command::Run(args) => cmd::run::run(&args, cli.threads, output),
        Command::Neighbors(args) => cmd::neighbors::run(&args, output),
        Command::Degree(args) => cmd::degree::run(&args, output),
        Command::Path(args) => cmd::path::run(&args, output),
        Command::Similar(args) => cmd::similar::run(&args, output),
        Command::Commit(args) => cmd::commit::run(&args, output),
        Command::Versions(args) => cmd::versions::run(&args, output),
        Command::Window(args) => cmd::window::run(&args, output),
        Command::Diff(args) => cmd::diff::run(&args, output),
        Command::Compact(args) => cmd::compact::run(&args, output),
        Command::Seal(args) => cmd::seal::run(&args, output),
        Command::Stats(args) => cmd::stats::run(&args, output),
        Command::Report(args) => report::run(&args, output),
        Command::Verify(args) => cmd::verify::run(&args, output),
        Command::Export(args) => cmd::export::run(&args, output),
        Command::Generate(args) => cmd::generate::run(&args, output),
        Command::Bench(args) => everedge_bench::run(&args, output),
        Command::Completions(args) => cmd::shell::completions(&args, program(), output),
        Command::Manual(args) => cmd::shell::manual(&args, program(), output),
    };
    everedge::par::with_threads(cli.threads, work).with_context(|| {
        format!(
            "cannot start {} threads; give fewer with --threads, or raise the limit on processes \
             (ulimit -u) or on memory (ulimit -v)",
            cli.threads
        )
    })?
}

/// Says what went wrong, and returns the exit code for it.
fn explain(error: &anyhow::Error) -> ExitCode {
    if let Some(usage) = error.downcast_ref::<clap::Error>() {
        let place = if usage.use_stderr() { Ok(()) } else { standard_output().map(drop) };
        return match place.and_then(|()| usage.print()) {
            Ok(()) => ExitCode::from(u8::try_from(usage.exit_code()).unwrap_or(2)),
            Err(failed) => explain(
                &anyhow::Error::new(failed).context("cannot write the help to standard output"),
            ),
        };
    }
    let is_broken_pipe = |cause: &(dyn std::error::Error + 'static)| {
        let cause = cause.downcast_ref::<io::Error>();
        cause.is_some_and(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
    };
    if error.chain().any(is_broken_pipe) {
        return ExitCode::from(ENDED_BY_PIPE);
    }
    output::complain(error);
    // An ingest that ends because standard output takes no more has a context above its interruption.
    match error.chain().next().and_then(|error| error.downcast_ref::<everedge::Error>()) {
        Some(error) if error.is_interruption() => ExitCode::from(INTERRUPTED),
        _ => ExitCode::FAILURE,
    }
}
