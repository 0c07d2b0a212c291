//! `everedge commit`: the graph as it is becomes a version.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use everedge::{Graph, date_text};
use serde::Serialize;

use crate::output::{Output, count, seconds};

/// Make what a graph is now a version, which stays as it is.
///
/// `everedge versions` lists them, `run --at` and `export --at` ask one, `window` and `diff` several.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The directory of the graph.
    graph: PathBuf,

    /// What the version is called.
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Report {
    version: u64,
    name: Option<String>,
    time: String,
    vertices: u32,
    edges: u64,
    additions: u64,
    deletions: u64,
    seconds: f64,
}

pub(crate) fn run(args: &Args, output: Output) -> Result<ExitCode> {
    let graph = Graph::open(&args.graph, false)?;
    let start = std::time::Instant::now();
    let version = graph.commit(args.name.as_deref())?;
    let seconds = start.elapsed().as_secs_f64();
    graph.close()?;
    let report = Report {
        version: version.number,
        name: version.name,
        time: date_text(version.time),
        vertices: version.vertices,
        edges: version.edges,
        additions: version.additions,
        deletions: version.deletions,
        seconds,
    };
    output.print(&report, in_words)?;
    Ok(ExitCode::SUCCESS)
}

fn in_words(report: &Report) -> String {
    format!(
        "version {} of {}: {} vertices and {} edges, {} came and {} went, in {}",
        report.version,
        report.time,
        count(report.vertices.into()),
        count(report.edges),
        count(report.additions),
        count(report.deletions),
        seconds(report.seconds)
    )
}
