//! `everedge commit`: the graph as it is becomes a version.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;
use everedge::{Graph, Keep};
use everedge_bench::parsed;
use serde::Serialize;

use super::versions::Row;
use crate::output::{Output, seconds};

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

    /// Let older versions than these go then: so many stay, or those that show each moment of so long before this
    /// one, such as 30d or 12h.
    #[arg(long, value_name = "N|TIME", value_parser = parsed::<Keep>)]
    keep: Option<Keep>,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    version: Row,
    seconds: f64,
}

pub(crate) fn run(args: &Args, output: Output) -> Result<ExitCode> {
    let graph = Graph::open(&args.graph, false)?;
    let start = Instant::now();
    let version = graph.commit_and_keep(args.name.as_deref(), args.keep)?;
    let report = Report { version: version.into(), seconds: start.elapsed().as_secs_f64() };
    graph.close()?;
    output.print(&report, |report| {
        format!("{}\ncommitted in {}", report.version.in_words(), seconds(report.seconds))
    })?;
    Ok(ExitCode::SUCCESS)
}
