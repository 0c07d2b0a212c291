//! `everedge path`: how one vertex reaches another.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use everedge::{Kernel, VersionChoice, View, Watch, Word};
use everedge_bench::page::counted;
use serde::Serialize;
use serde_json::Value;

use super::{lines, named};
use crate::output::Output;

/// Show a shortest path from one vertex to another.
///
/// A line for each vertex on it. It is the path of the smallest sum of weights; where edges have none, or with --hops,
/// that of the fewest edges. If there is no path, standard error says so, no line is printed, and the exit status is 3: with
/// --quiet that is all of the answer.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The directory of the graph.
    graph: PathBuf,

    /// Where it begins, by its id.
    source: String,

    /// Where it ends.
    target: String,

    /// Count edges, whatever their weights.
    #[arg(long)]
    hops: bool,

    /// Ask a version, by number, date or name; without it, the newest of a directory that holds versions.
    #[arg(long, value_name = "VERSION", value_parser = super::parsed::<VersionChoice>)]
    at: Option<VersionChoice>,
}

/// The exit status where there is no path: an answer, and no failure.
const NO_PATH: u8 = 3;

/// What `--json` prints: without a path, no length and no vertices.
#[derive(Serialize)]
struct Report {
    source: Value,
    target: Value,
    length: Option<f64>,
    vertices: Vec<Value>,
}

pub(crate) fn run(args: &Args, output: Output) -> Result<ExitCode> {
    let view = super::open_for(&args.graph, args.at.as_ref(), Kernel::Sssp)?;
    let ends = view.find_all([args.source.as_str(), args.target.as_str()])?;
    let watch = Watch::new();
    let search = || view.shortest_path(ends[0], ends[1], args.hops, &watch);
    let found = output.follow("path", &watch, search)?;
    let vertices = found.as_ref().map_or(&[][..], |path| &path.vertices);
    let status = found.as_ref().map_or(ExitCode::from(NO_PATH), |_| ExitCode::SUCCESS);
    if output.json {
        let report = Report {
            source: named(&view, ends[0]),
            target: named(&view, ends[1]),
            length: found.as_ref().map(|path| path.length),
            vertices: vertices.iter().map(|&v| named(&view, v)).collect(),
        };
        output.print(&report, |_| String::new())?;
        return Ok(status);
    }
    output.say_aside(match &found {
        None => format!("no path leads from {} to {}", args.source, args.target),
        Some(path) => in_words(&view, path.vertices.len() as u64 - 1, path.length, args.hops),
    });
    lines(output, |out| {
        vertices.iter().try_for_each(|&v| writeln!(out, "{}", Word(&view.name_of(v))))
    })?;
    Ok(status)
}

fn in_words(view: &View, edges: u64, length: f64, hops: bool) -> String {
    let edges = counted(edges, "edge", "edges");
    if view.is_weighted() && !hops { format!("{edges}, length {length}") } else { edges }
}
