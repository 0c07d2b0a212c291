//! `everedge verify`: checks every byte and every invariant of a graph.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use everedge::{Chunks, Graph, Timeline, Verification};

use crate::output::{Output, count};

/// Check all checksums, chains, degrees and counts of a graph. Exits 1 if something is wrong.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The directory of the graph, of versions or of a sealed graph, whose changes are checked, too.
    graph: PathBuf,
}

pub(crate) fn run(args: &Args, output: Output) -> Result<ExitCode> {
    let path = &args.graph;
    let checked = Timeline::is_at(path).and_then(|is_timeline| match is_timeline {
        true => Timeline::verify(path),
        false if Chunks::is_at(path)? => Chunks::verify(path),
        false => Graph::open_read_only(path)?.verify(),
    });
    let found = checked.or_else(Verification::of_damage)?;
    output.print(&found, in_words)?;
    Ok(if found.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn in_words(found: &Verification) -> String {
    match found.problems.as_slice() {
        [] => format!("sound: {} checks", count(found.checks)),
        problems => {
            let word = if found.problem_count == 1 { "problem" } else { "problems" };
            format!("{} {word}:\n{}", count(found.problem_count), problems.join("\n"))
        }
    }
}
