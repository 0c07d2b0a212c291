//! `everedge neighbors`: the edges of some vertices, or who is near them.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use everedge::{Along, Kernel, VersionChoice, View, Watch, Word};
use everedge_bench::page::counted;
use serde::Serialize;
use serde_json::{Value, json};

use super::{lines, named};
use crate::output::Output;

/// Show the edges of some vertices, or who is near them.
///
/// A line for each edge: `src dst`, with the weight if there are weights. With --hops a line for each vertex that is so
/// near: its id and how many edges away it is.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The directory of the graph.
    graph: PathBuf,

    /// The vertices, by their ids.
    #[arg(required = true)]
    vertices: Vec<String>,

    /// Which edges count: `out`, those that leave a vertex; `in`, those that enter it; or `both`. Without directions each
    /// is the same.
    #[arg(long, default_value = "out", value_name = "HOW", value_parser = super::one_of::<Along>(["out", "in", "both"]), hide_possible_values = true)]
    direction: Along,

    /// Name the vertices up to so many edges away, each once, instead of edges.
    #[arg(long, value_name = "N")]
    hops: Option<u32>,

    /// Ask a version, by number, date or name; without it, the newest of a directory that holds versions.
    #[arg(long, value_name = "VERSION", value_parser = super::parsed::<VersionChoice>)]
    at: Option<VersionChoice>,
}

/// What `--json` prints.
#[derive(Serialize)]
#[serde(untagged)]
enum Report {
    Edges { edges: Vec<Value> },
    Near { vertices: Vec<Value> },
}

pub(crate) fn run(args: &Args, output: Output) -> Result<ExitCode> {
    let view = super::open_for(&args.graph, args.at.as_ref(), Kernel::OneHop)?;
    let vertices = view.find_all(args.vertices.iter().map(String::as_str))?;
    match args.hops {
        None => show_edges(&view, view.edges_of(&vertices, args.direction)?, output)?,
        Some(hops) => {
            let watch = Watch::new();
            let search = || view.within(&vertices, hops, args.direction, &watch);
            show_near(&view, &output.follow("neighbors", &watch, search)?, output)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn show_edges(
    view: &View,
    (src, dst, weights): (Vec<u32>, Vec<u32>, Vec<f32>),
    output: Output,
) -> Result<()> {
    let edges = || src.iter().zip(&dst).zip(&weights);
    if output.json {
        let edge = |((&src, &dst), &weight)| match view.is_weighted() {
            true => json!([named(view, src), named(view, dst), weight]),
            false => json!([named(view, src), named(view, dst)]),
        };
        return output
            .print(&Report::Edges { edges: edges().map(edge).collect() }, |_| String::new());
    }
    output.say_aside(counted(src.len() as u64, "edge", "edges"));
    lines(output, |out| {
        for ((&src, &dst), weight) in edges() {
            write!(out, "{} {}", Word(&view.name_of(src)), Word(&view.name_of(dst)))?;
            if view.is_weighted() {
                write!(out, " {weight}")?;
            }
            writeln!(out)?;
        }
        Ok(())
    })
}

fn show_near(view: &View, found: &[(u32, u32)], output: Output) -> Result<()> {
    if output.json {
        let vertices = found.iter().map(|&(v, hops)| json!([named(view, v), hops])).collect();
        return output.print(&Report::Near { vertices }, |_| String::new());
    }
    output.say_aside(counted(found.len() as u64, "vertex", "vertices"));
    lines(output, |out| {
        found.iter().try_for_each(|&(v, hops)| writeln!(out, "{} {hops}", Word(&view.name_of(v))))
    })
}
