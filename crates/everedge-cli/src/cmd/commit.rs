//! `everedge commit`: the graph as it is becomes a version.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Result;
use everedge::{Commit, Graph, Keep, date_of};
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

    /// What the version is called; of several with one name, the name means the newest.
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,

    /// The time that the version shows, such as 2024-05-31 or 2024-05-31T10:30:00Z, not before that of the newest
    /// version and not to come [default: now]
    #[arg(long, value_name = "DATE", value_parser = date)]
    time: Option<i64>,

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

fn date(word: &str) -> Result<i64, String> {
    date_of(word).ok_or_else(|| "give a date such as 2024-05-31 or 2024-05-31T10:30:00Z".to_owned())
}

pub(crate) fn run(args: &Args, output: Output) -> Result<ExitCode> {
    let graph = Graph::open(&args.graph, false)?;
    let start = Instant::now();
    let Args { name, time, keep, .. } = args;
    let version = graph.commit(Commit { name: name.clone(), time: *time, keep: *keep })?;
    let report = Report { version: version.into(), seconds: start.elapsed().as_secs_f64() };
    // It is there, whatever closing finds.
    output.print(&report, |report| {
        format!("{}\ncommitted in {}", report.version.in_words(), seconds(report.seconds))
    })?;
    graph.close()?;
    Ok(ExitCode::SUCCESS)
}
