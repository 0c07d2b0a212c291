//! `everedge stats`: what a graph is and how large.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use everedge::{Chunks, Graph, Stats, Timeline};

use super::ingest::changes_in_words;
use crate::output::{Output, bytes, count};

/// Show what a graph is and how large it is.
///
/// It reads counts. It does not read the neighbor lists; `everedge verify` does and finds damage in
/// them.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The directory of the graph.
    graph: PathBuf,
}

pub(crate) fn run(args: &Args, output: Output) -> Result<ExitCode> {
    let stats = match Timeline::is_at(&args.graph)? {
        true => Timeline::open_read_only(&args.graph)?.stats()?,
        false if Chunks::is_at(&args.graph)? => Chunks::open(&args.graph, None)?.stats()?,
        false => Graph::open_read_only(&args.graph)?.stats()?,
    };
    output.print(&stats, in_words)?;
    Ok(ExitCode::SUCCESS)
}

fn in_words(stats: &Stats) -> String {
    let one_of = |holds: bool, yes: &'static str, no: &'static str| if holds { yes } else { no };
    let mut words = format!(
        "{}: {}, {}, {}; layout {}, medium {}\n{} vertices, {} edges, {} on the medium",
        stats.kind,
        one_of(stats.directed, "directed", "undirected"),
        one_of(stats.weighted, "weighted", "unweighted"),
        one_of(stats.simple, "simple", "multi"),
        stats.layout,
        stats.medium,
        count(stats.vertices),
        count(stats.edges),
        bytes(stats.disk_bytes),
    );
    if let Some(kept) = stats.version_bytes.filter(|&kept| kept > 0) {
        words.push_str(&format!(", of them {} that only the last checkpoint reads", bytes(kept)));
    }
    if let Some(changes) = &stats.changes {
        words.push_str(&format!("\n{}", changes_in_words(changes)));
    }
    words
}
