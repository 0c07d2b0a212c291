//! `everedge compact`: writes a graph anew without what was deleted, to be read faster.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use everedge::{Compaction, Graph};

use crate::output::{Output, bytes, count, seconds};

/// Rewrite a graph without what was deleted, in the order of vertices, so that it is read faster.
///
/// Neighbors become sorted and lie one after the other, as in a CSR. What has not changed since
/// the last compaction is left alone. A crash meanwhile loses nothing.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The directory of the graph.
    graph: PathBuf,
}

pub(crate) fn run(args: &Args, output: Output) -> Result<ExitCode> {
    let graph = Graph::open(&args.graph, false)?;
    let done = graph.compact()?;
    graph.close()?;
    output.print(&done, in_words)?;
    Ok(ExitCode::SUCCESS)
}

fn in_words(done: &Compaction) -> String {
    match done.runs {
        0 => "compact already".into(),
        runs => format!(
            "{} runs written, {} in place of {}, in {}",
            count(runs),
            bytes(done.written_bytes),
            bytes(done.freed_bytes),
            seconds(done.seconds)
        ),
    }
}
