//! `everedge export`: writes a graph to a file that other programs read.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use everedge::{ExportReport, Format, Graph};

use super::FormatChoice;
use crate::output::{Output, bytes, count};

/// The name that stands for standard output.
const STDOUT: &str = "-";

/// Write all edges of a graph to a file.
///
/// The format is the one that the file's ending says: .txt, .csv, .tsv, .jsonl, .mtx, .graph (METIS),
/// .e (Graphalytics, with its .v beside it), .bin or .parquet; with .gz, .zst, .bz2 or .xz after it,
/// the file is compressed. `-` is standard output, and an edge list unless --format says otherwise.
/// A file appears when it is whole: an error leaves what was there. An edge list of text ids starts
/// with the comment `# src dst`, which says that its first line is an edge.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The directory of the graph.
    graph: PathBuf,

    /// The file to write.
    file: PathBuf,

    /// The format, whatever the file is called.
    #[arg(long, default_value = "auto", value_name = "FORMAT")]
    format: FormatChoice,
}

pub(crate) fn run(args: &Args, output: Output) -> Result<ExitCode> {
    let view = Graph::open_read_only(&args.graph)?.snapshot()?;
    if args.file.as_os_str() == STDOUT {
        let format = args.format.0.unwrap_or(Format::EdgeList);
        view.export_to(std::io::stdout(), format)?;
        return Ok(ExitCode::SUCCESS);
    }
    let report = view.export(&args.file, args.format.0)?;
    output.print(&report, |report| in_words(report, args))?;
    Ok(ExitCode::SUCCESS)
}

fn in_words(report: &ExportReport, args: &Args) -> String {
    let mut words = format!(
        "{} edges written to {} ({})",
        count(report.edges),
        args.file.display(),
        bytes(report.bytes)
    );
    words.extend(left_out(report));
    words
}

/// Says how many vertices are not in the file; nothing if all are.
fn left_out(report: &ExportReport) -> Option<String> {
    let vertices = report.vertices_left_out;
    (vertices > 0).then(|| {
        format!("\n{} vertices without an edge are not in it: .e keeps them", count(vertices))
    })
}
