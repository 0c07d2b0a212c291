//! `everedge seal`: a graph becomes files that are queried within a budget of memory.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use everedge::{Chunks, Order, SealOptions, SealReport, VersionChoice, Watch};

use crate::output::{Output, bytes, count, seconds};

/// Seal a graph, or a version of one, into a directory that is only read.
///
/// A sealed graph opens at once, however large it is, and `everedge run --memory SIZE` asks it within a budget of
/// memory far below its size. The graph that is sealed stays as it is.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The directory of the graph.
    graph: PathBuf,

    /// The new directory.
    chunks: PathBuf,

    /// Seal a version, by number, date or name; without it, the newest of a directory that holds versions.
    #[arg(long, value_name = "VERSION", value_parser = super::parsed::<VersionChoice>)]
    at: Option<VersionChoice>,

    /// Write neighbors as four bytes each, instead of the gaps between them.
    #[arg(long)]
    plain: bool,

    /// The order in which vertices are numbered: `degree`, those with the most in-neighbors first; `steps`, those
    /// beside each other that two steps reach; or `ids`.
    #[arg(long, default_value = "degree", value_name = "WORD", value_parser = super::parsed::<Order>)]
    order: Order,
}

pub(crate) fn run(args: &Args, output: Output) -> Result<ExitCode> {
    let view = super::open(&args.graph, args.at.as_ref(), None)?;
    let options =
        SealOptions { order: args.order, compressed: !args.plain, ..SealOptions::default() };
    let watch = Watch::new();
    let seal = || Chunks::seal(&view, &args.chunks, &options, &watch);
    let report = output.follow("seal", &watch, seal)?;
    output.print(&report, in_words)?;
    Ok(ExitCode::SUCCESS)
}

fn in_words(report: &SealReport) -> String {
    format!(
        "{} vertices and {} edges sealed in {}: {} on the medium, {} of memory or more to ask them",
        count(report.vertices),
        count(report.edges),
        seconds(report.seconds),
        bytes(report.disk_bytes),
        bytes(report.least_memory_bytes),
    )
}
