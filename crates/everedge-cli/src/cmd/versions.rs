//! `everedge versions`: which versions there are.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use everedge::{Timeline, Version, date_text};
use serde::Serialize;

use crate::output::{Output, count};

/// List the versions that a directory holds.
///
/// Of each: its number, its time, its vertices and edges, how many edges it has that the one before has
/// not, how many only the one before has, and its name.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The directory of the versions.
    graph: PathBuf,
}

/// A version as `--json` has it.
#[derive(Serialize)]
struct Row {
    version: u64,
    name: Option<String>,
    time: String,
    vertices: u32,
    edges: u64,
    additions: u64,
    deletions: u64,
}

#[derive(Serialize)]
struct Report {
    versions: Vec<Row>,
}

pub(crate) fn run(args: &Args, output: Output) -> Result<ExitCode> {
    let row = |version: Version| Row {
        version: version.number,
        name: version.name,
        time: date_text(version.time),
        vertices: version.vertices,
        edges: version.edges,
        additions: version.additions,
        deletions: version.deletions,
    };
    let versions = Timeline::open_read_only(&args.graph)?.versions().into_iter().map(row);
    output.print(&Report { versions: versions.collect() }, in_words)?;
    Ok(ExitCode::SUCCESS)
}

fn in_words(report: &Report) -> String {
    if report.versions.is_empty() {
        return "no versions yet".to_owned();
    }
    let line = |row: &Row| {
        format!(
            "{:>6}  {}  {:>12} vertices  {:>13} edges  +{} -{}{}",
            row.version,
            row.time,
            count(row.vertices.into()),
            count(row.edges),
            count(row.additions),
            count(row.deletions),
            row.name.as_ref().map_or_else(String::new, |name| format!("  {name}")),
        )
    };
    report.versions.iter().map(line).collect::<Vec<_>>().join("\n")
}
