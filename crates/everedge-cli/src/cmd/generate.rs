//! `everedge generate`: writes a synthetic graph to a file.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use everedge::Generator;
use everedge_bench::GraphKind;
use serde::Serialize;

use crate::output::{Output, count, seconds};

/// Edges made and written at a time.
const PIECE_EDGES: u64 = 1 << 20;

/// Write a synthetic graph: Graph500's Kronecker graph with GAP's parameters, or uniform edges.
///
/// The file is pairs of 32-bit integers if its name ends in .bin, else an edge list. The same
/// seed gives the same file on every machine.
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

    /// Add weights from 1 to 255, in a third column.
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
    let is_binary = args.file.extension().is_some_and(|ending| ending == "bin");
    anyhow::ensure!(
        !(is_binary && args.weighted),
        "a .bin file has no place for weights; name the file .txt"
    );
    let start = std::time::Instant::now();
    let bytes = write(args, &generator, is_binary, output)
        .with_context(|| format!("cannot write `{}`", args.file.display()))?;
    let seconds = start.elapsed().as_secs_f64();
    let report = Report { edges: generator.edge_count(), bytes, seconds };
    output.print(&report, |report| in_words(report, &args.file))?;
    Ok(ExitCode::SUCCESS)
}

fn write(
    args: &Args,
    generator: &Generator,
    is_binary: bool,
    output: Output,
) -> std::io::Result<u64> {
    #[expect(clippy::disallowed_methods, reason = "an output file that the user named")]
    let file = std::fs::File::create(&args.file)?;
    let mut out = BufWriter::with_capacity(1 << 20, file);
    let mut bytes = 0;
    let total = generator.edge_count();
    let bar = output.byte_bar(&args.file.display().to_string(), is_binary.then_some(8 * total));
    for start in (0..total).step_by(PIECE_EDGES as usize) {
        let range = start..total.min(start + PIECE_EDGES);
        let edges = generator.edges(range.clone());
        let weights = args.weighted.then(|| generator.weights(range.clone()));
        let mut piece = Vec::with_capacity(16 * edges.len());
        for (index, (src, dst)) in edges.into_iter().enumerate() {
            match &weights {
                _ if is_binary => {
                    piece.extend_from_slice(&src.to_le_bytes());
                    piece.extend_from_slice(&dst.to_le_bytes());
                }
                None => writeln!(piece, "{src} {dst}")?,
                Some(weights) => writeln!(piece, "{src} {dst} {}", weights[index])?,
            }
        }
        out.write_all(&piece)?;
        bytes += piece.len() as u64;
        bar.set_position(bytes);
        bar.set_prefix(format!("{} edges", count(range.end)));
    }
    bar.finish_and_clear();
    out.flush()?;
    Ok(bytes)
}

fn in_words(report: &Report, file: &Path) -> String {
    format!(
        "{} edges written to {} in {}",
        count(report.edges),
        file.display(),
        seconds(report.seconds)
    )
}
