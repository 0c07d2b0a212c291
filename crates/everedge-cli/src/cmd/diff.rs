//! `everedge diff`: what changed between two versions.

use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use everedge::{Timeline, VersionChoice, VertexId};
use everedge_bench::page::counted;
use serde::Serialize;

use super::versions::Row;
use crate::output::{Output, count, standard_output};

/// Show which edges came and went between two versions.
///
/// A line for each: `+ src dst` or `- src dst`, with the weight if there are weights. Standard error says which
/// versions they are. --json prints how many edges there are of each.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The directory of the versions.
    graph: PathBuf,

    /// The earlier version: a number, a date or a name.
    #[arg(long, value_name = "VERSION", value_parser = super::parsed::<VersionChoice>)]
    from: VersionChoice,

    /// The later version; without it, the newest.
    #[arg(long, value_name = "VERSION", value_parser = super::parsed::<VersionChoice>)]
    to: Option<VersionChoice>,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Report {
    from: u64,
    to: u64,
    additions: u64,
    deletions: u64,
}

pub(crate) fn run(args: &Args, output: Output) -> Result<ExitCode> {
    let timeline = Timeline::open_read_only(&args.graph)?;
    let (from, to) = (&args.from, args.to.as_ref().unwrap_or(&VersionChoice::Newest));
    let [came, went] = timeline.difference(from, to)?;
    let report = Report {
        from: timeline.find(from)?,
        to: timeline.find(to)?,
        additions: came.len() as u64,
        deletions: went.len() as u64,
    };
    if !output.json && !output.quiet {
        output.say_aside(between(&timeline, &report));
        let write = || {
            let mut out = BufWriter::new(standard_output()?.lock());
            write_edges(&timeline, &mut out, ("-", &went))?;
            write_edges(&timeline, &mut out, ("+", &came))?;
            out.flush()
        };
        write().context("cannot write to standard output")?;
        return Ok(ExitCode::SUCCESS);
    }
    output.print(&report, |_| String::new())?;
    Ok(ExitCode::SUCCESS)
}

/// Says between which versions.
fn between(timeline: &Timeline, report: &Report) -> String {
    let versions = timeline.versions();
    let named = |number: u64| {
        let version = versions.iter().find(|version| version.number == number);
        version.cloned().map(|version| Row::from(version).named()).unwrap_or_default()
    };
    let [from, to] = [report.from, report.to].map(named);
    let went = counted(report.deletions, "edge went", "edges went");
    format!("version {from} to version {to}: {went}, {} came", count(report.additions))
}

fn write_edges(
    timeline: &Timeline,
    out: &mut impl Write,
    (mark, edges): (&str, &[(VertexId, VertexId, f32)]),
) -> std::io::Result<()> {
    for &(src, dst, weight) in edges {
        write!(out, "{mark} {} {}", timeline.name_of(src), timeline.name_of(dst))?;
        if timeline.options().weighted {
            write!(out, " {weight}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}
