//! `everedge window`: one question over consecutive versions.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use everedge::{Kernel, Timeline, VersionAnswer, VersionChoice, WindowReport};

use crate::output::{Output, count, seconds};

/// Ask one question of each version of a window.
///
/// How distance, reachability or capacity from a vertex changed: what versions have in common is worked
/// on once. A version is a number, a date or a name.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The kernel: bfs, sssp, sswp, ssnp or viterbi.
    #[arg(value_parser = super::parsed::<Kernel>)]
    kernel: Kernel,

    /// The directory of the versions.
    graph: PathBuf,

    /// The vertex that paths start at.
    #[arg(long, value_name = "ID")]
    source: String,

    /// The first version; without it, the oldest.
    #[arg(long, value_name = "VERSION", value_parser = super::parsed::<VersionChoice>)]
    from: Option<VersionChoice>,

    /// The last version; without it, the newest.
    #[arg(long, value_name = "VERSION", value_parser = super::parsed::<VersionChoice>)]
    to: Option<VersionChoice>,
}

pub(crate) fn run(args: &Args, output: Output) -> Result<ExitCode> {
    let timeline = Timeline::open_read_only(&args.graph)?;
    let oldest = timeline
        .versions()
        .first()
        .map_or(VersionChoice::Newest, |version| VersionChoice::Number(version.number));
    let from = args.from.clone().unwrap_or(oldest);
    let to = args.to.clone().unwrap_or(VersionChoice::Newest);
    let report = timeline.window(args.kernel, (&from, &to), &args.source, false)?;
    output.print(&report, in_words)?;
    Ok(ExitCode::SUCCESS)
}

fn in_words(report: &WindowReport) -> String {
    let source = match report.source.as_str() {
        Some(name) => name.to_owned(),
        None => report.source.to_string(),
    };
    let line = |answer: &VersionAnswer| {
        let result = answer.result.as_object().into_iter().flatten();
        let result: Vec<String> = result.map(|(key, value)| format!("{key} {value}")).collect();
        let name = answer.name.as_ref().map_or_else(String::new, |name| format!("  {name}"));
        let date = everedge::date_text(answer.time);
        format!("{:>6}  {date}  {}{name}", answer.version, result.join(", "))
    };
    let lines: Vec<String> = report.versions.iter().map(line).collect();
    format!(
        "{} from {source} in {} versions: {} after {} to make them ready ({} edges differ), on {} threads\n{}",
        report.kernel,
        report.versions.len(),
        seconds(report.seconds),
        seconds(report.build_seconds),
        count(report.changed_edges),
        report.threads,
        lines.join("\n")
    )
}
