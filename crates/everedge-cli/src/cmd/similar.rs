//! `everedge similar`: which vertices share neighbors with one.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use everedge::{Kernel, Similarity, VersionChoice, Watch, Word};
use serde::Serialize;
use serde_json::{Value, json};

use super::{lines, named};
use crate::output::Output;

/// Show the vertices that share neighbors with one and are the most similar to it.
///
/// A line for each, the most similar first: its score and its id. Directions, self-loops and parallel edges are left aside.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The directory of the graph.
    graph: PathBuf,

    /// The vertex, by its id.
    vertex: String,

    /// What makes vertices similar: `jaccard`, the part of their neighbors that they share; `common-neighbors`, how many they
    /// share; `adamic-adar` or `resource-allocation`, those of few neighbors more; `preferential-attachment`.
    #[arg(long, default_value = "jaccard", value_name = "NAME", value_parser = measure)]
    measure: Similarity,

    /// How many to show.
    #[arg(long, default_value_t = 10, value_name = "K")]
    top: usize,

    /// Ask a version, by number, date or name; without it, the newest of a directory that holds versions.
    #[arg(long, value_name = "VERSION", value_parser = super::parsed::<VersionChoice>)]
    at: Option<VersionChoice>,
}

/// What `--json` prints. Rows are `[id, score]`.
#[derive(Serialize)]
struct Report {
    similar: Vec<Value>,
}

fn measure(word: &str) -> Result<Similarity, String> {
    everedge::measure(word).map_err(|error| error.to_string())
}

pub(crate) fn run(args: &Args, output: Output) -> Result<ExitCode> {
    let view = super::open_for(&args.graph, args.at.as_ref(), Kernel::TwoHop)?;
    let vertex = view.find_all([args.vertex.as_str()])?[0];
    let watch = Watch::new();
    let search = || view.most_similar(vertex, args.top, args.measure, &watch);
    let found = output.follow("similar", &watch, search)?;
    if output.json {
        let similar = found.iter().map(|&(v, score)| json!([named(&view, v), score])).collect();
        output.print(&Report { similar }, |_| String::new())?;
        return Ok(ExitCode::SUCCESS);
    }
    if found.is_empty() && args.top > 0 {
        output.say_aside("no vertex shares a neighbor with it");
    }
    lines(output, |out| {
        found
            .iter()
            .try_for_each(|&(v, score)| writeln!(out, "{score:.6} {}", Word(&view.name_of(v))))
    })?;
    Ok(ExitCode::SUCCESS)
}
