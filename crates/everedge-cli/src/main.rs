//! The everedge command line: a thin edge over the `everedge` crate.
//!
//! Exit codes: 0 done, 1 failed (one line on standard error says what, where and what to do),
//! 2 wrong usage.

mod cmd;
mod output;
mod report;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::output::Output;

/// A durable live graph: take files in, ask, change, and never lose an acknowledged edge.
#[derive(Parser)]
#[command(name = "everedge", version, max_term_width = 100)]
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
    Demo(cmd::demo::Args),
    Ingest(cmd::ingest::Args),
    Run(cmd::run::Args),
    Compact(cmd::compact::Args),
    Stats(cmd::stats::Args),
    Verify(cmd::verify::Args),
    Export(cmd::export::Args),
    Generate(cmd::generate::Args),
    Bench(cmd::bench::Args),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let output = cli.output;
    let work = || match cli.command {
        Command::Demo(args) => cmd::demo::run(&args, output),
        Command::Ingest(args) => cmd::ingest::run(&args, output),
        Command::Run(args) => cmd::run::run(&args, cli.threads, output),
        Command::Compact(args) => cmd::compact::run(&args, output),
        Command::Stats(args) => cmd::stats::run(&args, output),
        Command::Verify(args) => cmd::verify::run(&args, output),
        Command::Export(args) => cmd::export::run(&args, output),
        Command::Generate(args) => cmd::generate::run(&args, output),
        Command::Bench(args) => cmd::bench::run(&args, output),
    };
    let outcome = everedge::par::with_threads(cli.threads, work)
        .unwrap_or_else(|error| Err(anyhow::anyhow!("cannot start threads: {error}")));
    match outcome {
        Ok(code) => code,
        Err(error) => {
            output::complain(&error);
            ExitCode::FAILURE
        }
    }
}
