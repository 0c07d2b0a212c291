//! `everedge run`: one kernel on the graph as it is now, or as a version has it.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use clap::ArgMatches;
use everedge::{
    Kernel, Parameters, RunOptions, RunReport, ValueTable, Values, Verify, VersionChoice, Watch,
};
use everedge_bench::page::counted;
use serde::Serialize;
use serde_json::Value;

use super::values::{Form, ValueFile};
use super::versions::Row;
use crate::output::{Output, seconds};

/// Scores are shown with six decimals, and with so many more where they are small.
const DECIMALS_MORE_MAX: i32 = 9;

/// Run a kernel on a graph.
///
/// The answer is verified before it is shown, as `--verify` says.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The kernel.
    #[arg(value_parser = super::kernel(), hide_possible_values = true, help = kernels())]
    kernel: Kernel,

    /// The directory of the graph.
    graph: PathBuf,

    /// Ask a version, by number, date or name; without it, the newest of a directory that holds versions.
    #[arg(long, value_name = "VERSION", value_parser = super::parsed::<VersionChoice>)]
    at: Option<VersionChoice>,

    #[command(flatten)]
    parameters: KernelParameters,

    /// Write the value of each vertex, in ascending order of ids. A file that ends in .csv, .tsv, .parquet or .arrow is a table
    /// with the columns `id` and `value`. Any other, and `-`, which is standard output, has a line `id value` for each; as in
    /// LDBC Graphalytics, a depth that is not reached is 9223372036854775807 there, a distance `infinity`.
    #[arg(long, value_name = "FILE")]
    output: Option<ValueFile>,

    /// How many leading vertices, components or edges to name.
    #[arg(long, default_value_t = 10, value_name = "K")]
    top: usize,

    /// Run it so often and report the median time.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = super::positive)]
    trials: usize,

    /// Run on a plain CSR copy, to compare; its building is not timed.
    #[arg(long)]
    csr: bool,

    /// How much memory a sealed graph may take with all that the kernel needs, with K, M, G or T; half of what is free
    /// unless given. `--verify full` and `--csr` may take more. Of graphs that are not sealed there is no budget.
    #[arg(long, value_name = "SIZE", value_parser = everedge::size)]
    memory: Option<u64>,

    /// How the answer is verified before it is shown: `none`; `cheap`, a spot check that is to
    /// cost little beside the kernel; or `full`, which may take far longer than the kernel.
    #[arg(long, default_value = "cheap", value_name = "HOW", value_parser = super::one_of::<Verify>(["none", "cheap", "full"]), hide_possible_values = true)]
    verify: Verify,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    run: RunReport,
    /// What was asked, unless it is the graph as it is now.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<Row>,
}

/// Parameters of kernels: an option for each parameter that some kernel has.
pub(crate) struct KernelParameters(pub Parameters);

impl clap::FromArgMatches for KernelParameters {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut parameters = Self(Parameters::default());
        parameters.update_from_arg_matches(matches)?;
        Ok(parameters)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for parameter in Parameters::ALL {
            if let Some(text) = matches.get_one::<String>(parameter.name) {
                self.0.set(parameter.name, text).map_err(|error| {
                    clap::Error::raw(clap::error::ErrorKind::ValueValidation, format!("{error}\n"))
                })?;
            }
        }
        Ok(())
    }
}

impl clap::Args for KernelParameters {
    fn augment_args(command: clap::Command) -> clap::Command {
        command.args(Parameters::ALL.iter().map(|parameter| {
            let kernels: Vec<&str> = parameter.kernels().map(Kernel::name).collect();
            clap::Arg::new(parameter.name)
                .long(parameter.name)
                .value_name(parameter.value_name)
                .allow_negative_numbers(true)
                .help_heading("Parameters of kernels")
                .help(format!("{} [{}]", parameter.about.trim_end_matches('.'), kernels.join(", ")))
        }))
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

/// Names every kernel and says what it finds.
fn kernels() -> String {
    let width = Kernel::ALL.iter().map(|kernel| kernel.name().len()).max().unwrap_or(0);
    let line = |kernel: &Kernel| format!("\n  {:width$}  {}", kernel.name(), kernel.about());
    format!("The kernel:{}", Kernel::ALL.iter().map(line).collect::<String>())
}

pub(crate) fn run(args: &Args, threads: usize, output: Output) -> Result<ExitCode> {
    let is_taken = ValueFile::check(args.output.as_ref(), output)?;
    let Args { kernel, memory, csr, .. } = *args;
    let chunks = super::ForKernel { kernel, memory, on_copy: csr };
    let view = super::open(&args.graph, args.at.as_ref(), Some(chunks))?;
    let options = RunOptions {
        parameters: args.parameters.0.clone(),
        top: Some(args.top),
        trials: args.trials,
        threads,
        csr: args.csr,
        verify: args.verify,
        watch: Watch::new(),
    };
    let run = || view.run(args.kernel, &options);
    let mut run = output.follow(args.kernel.name(), &options.watch, run)?;
    let has_values = match &run.values {
        Values::None => false,
        Values::Order(order) => !order.is_empty() || run.result["acyclic"] == true,
        _ => true,
    };
    if let Some(file) = args.output.as_ref().filter(|_| has_values) {
        file.write(|form| match form {
            Form::Lines(mut out) => run.values.write(&view, &mut out),
            Form::Table(out, format) => {
                let mut table = ValueTable::new(out, format, &run.values, false);
                table.write(&run.values, &view)?;
                table.finish().map(drop)
            }
        })?;
    }
    run.peak_rss_bytes = everedge::peak_rss_bytes();
    let report = Report { run, version: view.version().cloned().map(Row::from) };
    output.print_beside(is_taken, &report, in_words)?;
    let is_written = has_values || args.output.is_none();
    ensure!(is_written, "`{}` has found no values here that --output could write", args.kernel);
    Ok(ExitCode::SUCCESS)
}

fn in_words(Report { run: report, version }: &Report) -> String {
    let mut words = report.kernel.to_owned();
    if let Some(source) = &report.source {
        words.push_str(&format!(" from {}", plain(source)));
    }
    words.push_str(&format!(
        ": {} on {} (opened in {}, verified in {})",
        seconds(report.seconds),
        counted(report.threads as u64, "thread", "threads"),
        seconds(report.open_seconds),
        seconds(report.verify_seconds)
    ));
    if let Some(iterations) = report.iterations {
        let iterations = counted(iterations.into(), "iteration", "iterations");
        words.push_str(&format!(", {iterations}"));
    }
    if let Some(version) = version {
        words.push_str(&format!("\nversion {}", version.named()));
    }
    for (key, value) in report.result.as_object().into_iter().flatten() {
        match value.as_array() {
            None => words.push_str(&format!("\n{key}: {}", plain(value))),
            Some(rows) => {
                let heading = heading(report.kernel, key).filter(|_| !rows.is_empty());
                words.extend(heading.map(|heading| format!("\n{heading}:")));
                let rows = in_columns(key, rows);
                words.extend(rows.iter().map(|row| format!("\n  {row}")));
            }
        }
    }
    words
}

/// Returns what stands above a list of a result, unless the list says by itself what it is.
fn heading<'a>(kernel: &str, key: &'a str) -> Option<&'a str> {
    match (kernel, key) {
        ("bfs" | "sssp", "top") => Some("farthest"),
        ("wcc" | "scc" | "cdlp" | "louvain" | "leiden" | "label-propagation", "top") => {
            Some("largest, with a vertex of each")
        }
        (_, "top" | "neighbors" | "vertices") => None,
        (_, key) => Some(key),
    }
}

/// Returns the rows of a list: values one below the other, each before what it belongs to.
fn in_columns(key: &str, rows: &[Value]) -> Vec<String> {
    let last = |row: &Value| row.as_array().and_then(|row| row.last()?.as_f64());
    let are_whole = rows.iter().filter_map(last).all(|value| value.fract() == 0.0);
    let most = rows.iter().filter_map(last).fold(0.0, |most: f64, value| most.max(value.abs()));
    // Scores of a large graph are small: the largest has four digits at least.
    let small = if most > 0.0 { -most.log10().floor() as i32 - 3 } else { 0 };
    let decimals = if are_whole { 0 } else { 6 + small.clamp(0, DECIMALS_MORE_MAX) as usize };
    let number = |value: &Value| match value.as_f64() {
        Some(value) => format!("{value:.decimals$}"),
        None => plain(value),
    };
    let split = |row: &Value| match (key, row.as_array().map(Vec::as_slice)) {
        ("edges", Some([u, v])) => (None, format!("{} {}", plain(u), plain(v))),
        (_, Some([of @ .., value])) => {
            let of: Vec<String> = of.iter().map(plain).collect();
            (Some(number(value)), of.join(" "))
        }
        _ => (None, plain(row)),
    };
    let rows: Vec<_> = rows.iter().map(split).collect();
    let width = rows.iter().filter_map(|(value, _)| Some(value.as_ref()?.len())).max().unwrap_or(0);
    let row = |(value, of): &(Option<String>, String)| match value {
        Some(value) => format!("{value:>width$}  {of}"),
        None => of.clone(),
    };
    rows.iter().map(row).collect()
}

/// JSON text without its quotes.
pub(super) fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn scores_have_digits_however_small_they_are() {
        let shown = |rows: Value| in_columns("top", rows.as_array().expect("rows"));
        assert_eq!(shown(json!([["a", 0.5], ["b", 0.25]])), ["0.500000  a", "0.250000  b"]);
        assert_eq!(
            shown(json!([["a", 1.5e-6], ["b", 3e-7]])),
            ["0.000001500  a", "0.000000300  b"]
        );
        assert_eq!(shown(json!([["a", 3], ["b", 12]])), [" 3  a", "12  b"]);
        assert_eq!(shown(json!([["a", 1e-300]])), ["0.000000000000000  a"]);
        assert_eq!(shown(json!([["a", 0.0]])), ["0  a"]);
    }
}
