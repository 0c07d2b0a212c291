//! `everedge versions`: which versions there are.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use everedge::{Graph, Keep, Timeline, Version, date_text};
use everedge_bench::parsed;
use serde::Serialize;

use crate::output::{Output, count, shown};

/// List the versions that a directory holds, or let old ones go.
///
/// Of each: its number, its time, its vertices and edges, how many edges it has that the one before has
/// not, how many only the one before has, and its name.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The directory of the versions.
    graph: PathBuf,

    /// Let older versions than these go: so many stay, the newest, or those that show each moment of so long before
    /// the newest, such as 30d or 12h. What only older ones had is given back.
    #[arg(long, value_name = "N|TIME", value_parser = parsed::<Keep>)]
    keep: Option<Keep>,
}

/// A version as `--json` has it.
#[derive(Serialize)]
pub(super) struct Row {
    version: u64,
    name: Option<String>,
    time: String,
    vertices: u32,
    edges: u64,
    additions: u64,
    deletions: u64,
}

impl From<Version> for Row {
    fn from(version: Version) -> Self {
        Self {
            version: version.number,
            name: version.name,
            time: date_text(version.time),
            vertices: version.vertices,
            edges: version.edges,
            additions: version.additions,
            deletions: version.deletions,
        }
    }
}

impl Row {
    /// Says which one it is.
    pub(super) fn named(&self) -> String {
        let Self { version, time, .. } = self;
        match &self.name {
            Some(name) => format!("{version} of {time}: {}", shown(name)),
            None => format!("{version} of {time}"),
        }
    }

    /// Says it in a line.
    pub(super) fn in_words(&self) -> String {
        format!(
            "{:>6}  {}  {:>12} vertices  {:>13} edges  +{} -{}{}",
            self.version,
            self.time,
            count(self.vertices.into()),
            count(self.edges),
            count(self.additions),
            count(self.deletions),
            self.name.as_ref().map_or_else(String::new, |name| format!("  {}", shown(name))),
        )
    }
}

#[derive(Serialize)]
struct Report {
    versions: Vec<Row>,
}

pub(crate) fn run(args: &Args, output: Output) -> Result<ExitCode> {
    match args.keep {
        Some(keep) => let_go(&args.graph, keep, output)?,
        None => print(&Timeline::open_read_only(&args.graph)?, output)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Lets the versions go that are not among those to keep, and shows the others.
fn let_go(path: &Path, keep: Keep, output: Output) -> Result<()> {
    if Timeline::is_at(path)? {
        let timeline = Timeline::open(path, false)?;
        timeline.keep(keep)?;
        return print(&timeline, output);
    }
    let graph = Graph::open(path, false)?;
    match graph.timeline()? {
        Some(timeline) => {
            timeline.keep(keep)?;
            // They are gone, whatever closing finds.
            print(&timeline, output)?;
            Ok(graph.close()?)
        }
        None => {
            graph.close()?;
            print(&Timeline::open_read_only(path)?, output)
        }
    }
}

fn print(timeline: &Timeline, output: Output) -> Result<()> {
    let versions = timeline.versions().into_iter().map(Row::from).collect();
    output.print(&Report { versions }, in_words)
}

fn in_words(report: &Report) -> String {
    match report.versions.as_slice() {
        [] => "no versions yet".to_owned(),
        versions => versions.iter().map(Row::in_words).collect::<Vec<_>>().join("\n"),
    }
}
