//! `everedge export`: writes a graph to a file that other programs read.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use everedge::{ExportReport, Format, Graph, Timeline, VersionChoice, View, Watch};
use everedge_bench::stop_on_signals;
use serde::Serialize;

use super::FormatChoice;
use super::destination::Destination;
use crate::output::{Output, bytes, count, standard_output};

/// Write all edges of a graph to a file, or a graph to a directory for another engine.
///
/// The format is the one that the file's ending says: .txt, .csv, .tsv, .jsonl, .mtx, .graph (METIS),
/// .e (Graphalytics, with its .v beside it), .bin or .parquet; with .gz, .zst, .bz2 or .xz after it,
/// the file is compressed. `-` is standard output, and an edge list unless --format says otherwise.
/// --format parquet with another name than a file's, --format icebug and --format graphar write a directory: edges sorted by both
/// ends, all vertices, and a manifest with checksums, for DuckDB, Polars, Spark, Ladybug and others; `everedge ingest` reads it
/// back as the same graph. An undirected edge stands in it once. A directory takes the place of an export that is there, and of
/// nothing else.
///
/// A file or a directory appears when it is whole: an error leaves what was there. An edge list of text ids starts
/// with the comment `# src dst`, which says that its first line is an edge. --json prints `vertices`,
/// `vertices_left_out` (those without an edge, where the format has only edges), `edges` and `bytes`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The directory of the graph.
    graph: PathBuf,

    /// The file or the directory to write.
    file: Destination,

    /// The format, whatever the file is called.
    #[arg(long, default_value = "auto", value_name = "FORMAT", value_parser = super::format(), hide_possible_values = true)]
    format: FormatChoice,

    /// Write a version, by number, date or name; without it, the newest of a directory that holds versions.
    #[arg(long, value_name = "VERSION", value_parser = super::parsed::<VersionChoice>)]
    at: Option<VersionChoice>,

    /// Write what is whole of a damaged graph: edges from vertices whose lists are damaged, and from up
    /// to 4,096 beside each, are lost; of versions, the first whose bytes are damaged and all after it. What is lost is
    /// listed on standard error and in `problems` of --json; exits 1 if something is. A sealed graph is refused.
    #[arg(long)]
    salvage: bool,
}

/// What was written, and of a damaged graph what was lost.
#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    export: ExportReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    problems: Option<Vec<String>>,
}

pub(crate) fn run(args: &Args, output: Output) -> Result<ExitCode> {
    args.file.check("the edges", output)?;
    if let Destination::File(path) = &args.file {
        super::check_order(&args.graph, Some(path))?;
    }
    let (view, problems) = match args.salvage {
        true => salvaged(&args.graph, args.at.as_ref())
            .map(|(view, problems)| (view, Some(problems)))?,
        false => (super::open(&args.graph, args.at.as_ref(), None)?, None),
    };
    let problems_found = problems.clone().unwrap_or_default();
    match &args.file {
        Destination::StandardOutput => {
            let format = args.format.0.unwrap_or(Format::EdgeList);
            let out = standard_output().context("cannot write to standard output")?;
            let export = view.export_to(out, format)?;
            about_vertices(&export).into_iter().for_each(|words| output.say_aside(words));
        }
        Destination::File(path) => {
            let is_taken = args.file.is_standard_output();
            let watch = Watch::on(stop_on_signals()?);
            let export = || view.export(path, args.format.0, &watch);
            let report = Report { export: output.follow("export", &watch, export)?, problems };
            output.print_beside(is_taken, &report, |report| in_words(&report.export, path))?;
        }
    }
    problems_found.iter().for_each(|problem| output.say_aside(format!("lost: {problem}")));
    Ok(if problems_found.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns what is whole of a graph, or a version of what is whole of a timeline, and what is lost.
fn salvaged(path: &Path, at: Option<&VersionChoice>) -> everedge::Result<(View, Vec<String>)> {
    if at.is_none() && !Timeline::is_at(path)? {
        return Graph::open_read_only(path)?.salvage();
    }
    let (timeline, problems) = Timeline::salvage(path)?;
    match timeline.at(at.unwrap_or(&VersionChoice::Newest)) {
        Err(everedge::Error::InvalidInput { what }) if !problems.is_empty() => {
            let what = format!("{what}; lost: {}", problems.join("; "));
            Err(everedge::Error::InvalidInput { what })
        }
        view => Ok((view?, problems)),
    }
}

fn in_words(report: &ExportReport, path: &Path) -> String {
    let mut words = format!(
        "{} edges written to {} ({})",
        count(report.edges),
        path.display(),
        bytes(report.bytes)
    );
    words.extend(about_vertices(report).into_iter().map(|more| format!("\n{more}")));
    words
}

/// Says how the file's vertices differ from the graph's.
fn about_vertices(report: &ExportReport) -> Vec<String> {
    let added = report.vertices_added;
    let shift = "ids are one higher in it, as it counts from 1".to_owned();
    let more = format!("it has {} more vertices: all numbers up to the largest id", count(added));
    let shift = (report.id_shift > 0).then_some(shift);
    left_out(report).into_iter().chain(shift).chain((added > 0).then_some(more)).collect()
}

/// Says how many vertices are not in the file; nothing if all are.
fn left_out(report: &ExportReport) -> Option<String> {
    let vertices = report.vertices_left_out;
    let words =
        if vertices == 1 { "vertex without an edge is" } else { "vertices without an edge are" };
    (vertices > 0).then(|| {
        format!("{} {words} not in it: a file that ends in .e keeps them", count(vertices))
    })
}
