//! `everedge report`: a page about one's own graph.
//!
//! `findings` asks the graph, `page` makes a document of what it answers.

mod findings;
mod page;
#[cfg(test)]
mod tests;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use everedge::{OutputFile, VersionChoice};
use everedge_bench::page::counted;
use everedge_bench::parsed;
use serde::Serialize;

use self::findings::Findings;
use crate::charts::VERTICES;
use crate::cmd::destination::Destination;
use crate::output::{Output, seconds, standard_output};

/// Write a page about a graph: its size, degrees, components, ranking, communities, neighborhoods and versions.
///
/// One HTML file, which opens without a network. Each part of it says which command and which line of Python give the same.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The directory of the graph.
    graph: PathBuf,

    /// The file to write; `-` is standard output.
    #[arg(long, value_name = "FILE", default_value = "report.html")]
    output: Destination,

    /// Draw the neighborhood of this vertex, besides those of the best ranked ones. May be given several times.
    #[arg(long, value_name = "VERTEX", allow_negative_numbers = true)]
    around: Vec<String>,

    /// Ask a version, by number, date or name; without it, the newest of a directory that holds versions.
    #[arg(long, value_name = "VERSION", value_parser = parsed::<VersionChoice>)]
    at: Option<VersionChoice>,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Summary {
    report: String,
    vertices: u64,
    edges: u64,
    components: u64,
    /// Null where Louvain finds none, as with negative weights; `modularity` too.
    communities: Option<u64>,
    modularity: Option<f64>,
    /// Vertices and their PageRank, best first.
    ranking: Vec<(String, f64)>,
    seconds: f64,
}

pub(crate) fn run(args: &Args, output: Output) -> Result<ExitCode> {
    let start = Instant::now();
    args.output.check("the page", output)?;
    let is_taken = args.output.is_standard_output();
    let found = || Findings::of(&args.graph, args.at.as_ref(), &args.around, output);
    let cannot = || format!("cannot write to {}", args.output);
    let path = match &args.output {
        Destination::File(path) => path,
        Destination::StandardOutput => {
            let page = page::render(&found()?);
            let mut out = standard_output().with_context(cannot)?.lock();
            let written = out.write_all(page.as_bytes()).and_then(|()| out.flush());
            return written.with_context(cannot).map(|()| ExitCode::SUCCESS);
        }
    };
    let is_directory = path.is_dir();
    ensure!(!is_directory, "`{}` is a directory; name a file with --output", path.display());
    // Before the work, not after it.
    let mut file = OutputFile::create(path)?;
    let findings = found()?;
    file.write_all(page::render(&findings).as_bytes()).with_context(cannot)?;
    file.put_in_place()?;
    let communities = &findings.communities;
    let are_found = communities.refused.is_none();
    let summary = Summary {
        report: path.display().to_string(),
        vertices: findings.stats.vertices,
        edges: findings.stats.edges,
        components: findings.components.iter().map(|size| size.count).sum(),
        communities: are_found.then_some(communities.count),
        modularity: are_found.then_some(communities.modularity),
        ranking: findings.ranking.iter().map(|best| (best.name.clone(), best.score)).collect(),
        seconds: start.elapsed().as_secs_f64(),
    };
    output.print_beside(is_taken, &summary, in_words)?;
    Ok(ExitCode::SUCCESS)
}

fn in_words(summary: &Summary) -> String {
    let communities = match summary.communities {
        Some(number) => counted(number, "community", "communities"),
        None => "no communities".to_owned(),
    };
    format!(
        "{}: {}, {}, {}, {communities}; written in {}",
        summary.report,
        VERTICES.counted(summary.vertices),
        counted(summary.edges, "edge", "edges"),
        counted(summary.components, "component", "components"),
        seconds(summary.seconds)
    )
}
