//! `everedge run`: one kernel on the graph as it is now.

use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use everedge::{Graph, Kernel, RunOptions, RunReport};

use crate::output::{Output, count, seconds};

/// Run a kernel on a graph: one-hop, bfs, pagerank, wcc or sssp.
///
/// The answer is verified before it is shown.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The kernel.
    #[arg(value_parser = super::parsed::<Kernel>)]
    kernel: Kernel,

    /// The directory of the graph.
    graph: PathBuf,

    /// Where to start; the vertex of largest out-degree unless given.
    #[arg(long, value_name = "ID")]
    source: Option<String>,

    /// pagerank: the most iterations; 20 unless --tolerance is given.
    #[arg(long, value_name = "N")]
    iterations: Option<u32>,

    /// pagerank: stop when an iteration changes all ranks by less in sum.
    #[arg(long, value_name = "X")]
    tolerance: Option<f64>,

    /// Write `id value` a line, in ascending order of ids.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// How many leading vertices to name.
    #[arg(long, default_value_t = 10, value_name = "K")]
    top: usize,

    /// Run it so often and report the median time.
    #[arg(long, default_value_t = 1, value_name = "N")]
    trials: usize,

    /// Run on a plain CSR copy, to compare; its building is not timed.
    #[arg(long)]
    csr: bool,
}

pub(crate) fn run(args: &Args, threads: usize, output: Output) -> Result<ExitCode> {
    let graph = Graph::open_read_only(&args.graph)?;
    let options = RunOptions {
        source: args.source.clone(),
        iterations: args.iterations,
        tolerance: args.tolerance,
        top: Some(args.top),
        trials: args.trials,
        threads,
        csr: args.csr,
    };
    let view = graph.snapshot()?;
    let report = view.run(args.kernel, &options)?;
    if let Some(path) = &args.output {
        write_values(path, &view, &report)
            .with_context(|| format!("cannot write `{}`", path.display()))?;
    }
    output.print(&report, in_words)?;
    Ok(ExitCode::SUCCESS)
}

fn write_values(
    path: &std::path::Path,
    view: &everedge::View,
    report: &RunReport,
) -> std::io::Result<()> {
    #[expect(clippy::disallowed_methods, reason = "an output file that the user named")]
    let file = std::fs::File::create(path)?;
    let mut out = BufWriter::new(file);
    report.values.write(view, &mut out)?;
    out.flush()
}

fn in_words(report: &RunReport) -> String {
    let mut words = report.kernel.to_owned();
    if let Some(source) = &report.source {
        words.push_str(&format!(" from {}", plain(source)));
    }
    words.push_str(&format!(
        ": {} on {} threads (opened in {})",
        seconds(report.seconds),
        report.threads,
        seconds(report.open_seconds)
    ));
    if let Some(iterations) = report.iterations {
        words.push_str(&format!(", {} iterations", count(iterations.into())));
    }
    for (key, value) in report.result.as_object().into_iter().flatten() {
        match value.as_array() {
            None => words.push_str(&format!("\n{key}: {}", plain(value))),
            Some(rows) => {
                for row in rows {
                    match row.as_array().map(Vec::as_slice) {
                        Some([id, value]) => {
                            let value = value.as_f64().unwrap_or_default();
                            words.push_str(&format!("\n  {value:.6}  {}", plain(id)));
                        }
                        _ => words.push_str(&format!("\n  {}", plain(row))),
                    }
                }
            }
        }
    }
    words
}

/// JSON text without its quotes.
fn plain(value: &serde_json::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
