//! `everedge window`: one question over consecutive versions.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use everedge::{
    Kernel, Method, Timeline, ValueTable, Values, VersionAnswer, VersionChoice, WindowOptions,
    WindowReport,
};
use everedge_bench::page::counted;
use serde_json::Value;

use super::run::{KernelParameters, plain};
use super::values::{Form, ValueFile};
use crate::output::{Output, seconds, shown};

/// Ask one question of each version of a window.
///
/// How distance, reachability or capacity from a vertex changed, components, cores or triangles: what versions have in common
/// is worked on once. PageRank begins with the version before; other kernels are asked of each version by itself.
/// A version is a number, a date or a name.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The kernel: any of `everedge run` but one-hop and two-hop.
    #[arg(value_parser = super::kernel(), hide_possible_values = true)]
    kernel: Kernel,

    /// The directory of the versions.
    graph: PathBuf,

    /// The first version; without it, the oldest.
    #[arg(long, value_name = "VERSION", value_parser = super::parsed::<VersionChoice>)]
    from: Option<VersionChoice>,

    /// The last version; without it, the newest.
    #[arg(long, value_name = "VERSION", value_parser = super::parsed::<VersionChoice>)]
    to: Option<VersionChoice>,

    #[command(flatten)]
    parameters: KernelParameters,

    /// Write `version id value` for the vertices of each version, as `run` writes `id value`: as a table where the file
    /// ends so, else as lines; `-` is standard output.
    #[arg(long, value_name = "FILE")]
    output: Option<ValueFile>,
}

pub(crate) fn run(args: &Args, output: Output) -> Result<ExitCode> {
    let is_taken = ValueFile::check(args.output.as_ref(), output)?;
    let timeline = Timeline::open_read_only(&args.graph)?;
    let oldest = timeline
        .versions()
        .first()
        .map_or(VersionChoice::Newest, |version| VersionChoice::Number(version.number));
    let from = args.from.clone().unwrap_or(oldest);
    let to = args.to.clone().unwrap_or(VersionChoice::Newest);
    let options =
        WindowOptions { keeps_values: args.output.is_some(), ..args.parameters.0.clone().into() };
    ensure!(
        args.kernel != Kernel::Triangles || args.output.is_none(),
        "triangles counts those of a version and says nothing of each vertex: leave --output out; lcc says of each \
         vertex how many pairs of its neighbors are neighbors"
    );
    let report = timeline.window(args.kernel, (&from, &to), &options)?;
    if let Some(file) = &args.output {
        // A view takes a bit for each stored edge: one at a time.
        let view_of = |answer: &VersionAnswer| {
            timeline.at(&VersionChoice::Number(answer.version)).map_err(io::Error::other)
        };
        let mut answers = report.versions.iter();
        file.write(|form| match form {
            Form::Lines(mut out) => {
                answers.try_for_each(|answer| answer.write(&view_of(answer)?, &mut out))
            }
            Form::Table(out, format) => {
                // Not every version has an answer: one that is bipartite has colors, another none.
                let values = report.versions.iter().map(|version| &version.values);
                let mut values = values.filter(|values| !matches!(values, Values::None));
                let values = values.next().unwrap_or(&Values::None);
                let mut table = ValueTable::new(out, format, values, true);
                answers.try_for_each(|answer| table.write_version(answer, &view_of(answer)?))?;
                table.finish().map(drop)
            }
        })?;
    }
    output.print_beside(is_taken, &report, in_words)?;
    Ok(ExitCode::SUCCESS)
}

fn in_words(report: &WindowReport) -> String {
    let source = match &report.source {
        Value::Null => String::new(),
        source => format!(" from {}", plain(source)),
    };
    let method = match report.method {
        Method::Shared => "what they share worked on once",
        Method::FromBefore => "each begun with the one before",
        Method::Each => "each by itself",
    };
    let alone = match report.alone {
        0 => String::new(),
        count => format!(", but {count} by themselves, since their changes reach far"),
    };
    let line = |answer: &VersionAnswer| {
        let result = answer.result.as_object().into_iter().flatten();
        let result: Vec<String> = result.filter_map(|(key, value)| pair(key, value)).collect();
        let name = answer.name.as_ref().map(|name| format!("  {}", shown(name)));
        let date = everedge::date_text(answer.time);
        let name = name.unwrap_or_default();
        format!("{:>6}  {date}  {}{name}", answer.version, result.join(", "))
    };
    let lines: Vec<String> = report.versions.iter().map(line).collect();
    format!(
        "{}{source} in {}, {method}{alone}: {} after {} to make them ready ({}), on {}\n{}",
        report.kernel,
        counted(report.versions.len() as u64, "version", "versions"),
        seconds(report.seconds),
        seconds(report.build_seconds),
        counted(report.changed_edges, "edge differs", "edges differ"),
        counted(report.threads as u64, "thread", "threads"),
        lines.join("\n")
    )
}

/// Says one thing of an answer: of a list of vertices with their values the first one, of a list of vertices nothing,
/// for their count stands beside it.
fn pair(key: &str, value: &Value) -> Option<String> {
    let shown = match value.as_array().map(Vec::as_slice) {
        Some([Value::Array(row), ..]) => row.iter().map(plain).collect::<Vec<_>>().join(" "),
        Some(_) => return None,
        None => plain(value),
    };
    Some(format!("{key} {shown}"))
}
