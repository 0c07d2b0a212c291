//! `everedge generate`: writes a synthetic graph to a file.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use everedge_bench::GraphKind;
use serde::Serialize;

use super::destination::Destination;
use crate::output::{Output, count, seconds};

/// Write a synthetic graph: Graph500's Kronecker graph with GAP's parameters, or uniform edges.
///
/// The file's ending says the format, as for export: .txt, .csv, .tsv, .jsonl, .mtx, .e, .bin or
/// .parquet; with .gz, .zst, .bz2 or .xz after it, the file is compressed. It appears when it is whole.
/// The same seed gives the same edges on every machine.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The kind of graph.
    #[arg(value_enum)]
    kind: GraphKind,

    /// The file to write.
    file: PathBuf,

    /// There are 2^SCALE ids.
    #[arg(long, value_name = "S")]
    scale: u32,

    /// Edges for each id.
    #[arg(long, default_value_t = 16, value_name = "D")]
    degree: u32,

    /// Where the random numbers start.
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,

    /// Add weights from 1 to 255.
    #[arg(long)]
    weighted: bool,
}

#[derive(Serialize)]
struct Report {
    edges: u64,
    bytes: u64,
    seconds: f64,
}

pub(crate) fn run(args: &Args, output: Output) -> Result<ExitCode> {
    let generator = args.kind.generator(args.scale, args.degree, args.seed)?;
    let start = std::time::Instant::now();
    let is_taken = Destination::File(args.file.clone()).is_standard_output();
    let bar = output.byte_bar(&args.file.display().to_string(), None);
    let bytes = everedge::write_generated(&args.file, &generator, args.weighted, |edges| {
        bar.set_prefix(format!("{} edges", count(edges)));
    });
    bar.finish_and_clear();
    let seconds = start.elapsed().as_secs_f64();
    let report = Report { edges: generator.edge_count(), bytes: bytes?, seconds };
    output.print_beside(is_taken, &report, |report| in_words(report, &args.file))?;
    Ok(ExitCode::SUCCESS)
}

fn in_words(report: &Report, file: &Path) -> String {
    format!(
        "{} edges written to {} in {}",
        count(report.edges),
        file.display(),
        seconds(report.seconds)
    )
}
