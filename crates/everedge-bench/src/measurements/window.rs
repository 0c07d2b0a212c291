//! `everedge bench window`: one question of many versions, by each way of sharing work.

use std::time::Instant;

use anyhow::{Result, ensure};
use everedge::{
    Edge, Kernel, Parameters, Timeline, TimelineOptions, VersionChanges, VersionChoice,
    WindowOptions, WindowReport, median, peak_rss_bytes,
};
use serde_json::{Value, json};

use super::history::{Changes, measure_live};
use super::recovery;
use crate::arguments::parsed;
use crate::harness::figures::Row;
use crate::harness::table::{self, Column, Form};
use crate::harness::{
    Case, Common, Configuration, History, Kept, Lists, Plan, Task, Way, Work, process,
};
use crate::output::Output;

/// What is asked unless told.
pub(crate) const KERNELS: [Kernel; 5] =
    [Kernel::Bfs, Kernel::Sssp, Kernel::Sswp, Kernel::Ssnp, Kernel::Viterbi];
/// Runs of each way, unless told.
const RUNS: u32 = 3;

/// Returns the ways of asking a kernel: of one that does not go along paths the first one and the last.
fn ways(kernel: Kernel) -> impl Iterator<Item = Way> {
    let is_of_paths = KERNELS.contains(&kernel);
    Way::ALL.into_iter().enumerate().filter_map(move |(at, way)| {
        (is_of_paths || at == 0 || at == Way::ALL.len() - 1).then_some(way)
    })
}

/// Measure one question of many versions, by each way of sharing work.
///
/// Half of the edges, each pair once, are the first version; each later one adds some of the others and deletes as
/// many that are there. Then kernels are asked of all later versions: as usual (by halving the window, as long as that
/// pays), by halving, by the paper's lasting common graphs (all at once, or in parts of 1, 2 and 4 versions), from what
/// all have in common to each, by halving once it is known which values never change, and of each version by itself;
/// kernels that do not go along paths by the first and the last of these ways. All ways must agree. `whole` is from the first change that is taken in to the last answer.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  everedge bench window --scale 20 --on 2 --medium pmem
  everedge bench window --scale 20 --versions 64 --percent 0.25 --kernel bfs,wcc")]
pub(crate) struct Args {
    #[command(flatten)]
    common: Common,

    /// The kernels.
    #[arg(long, value_delimiter = ',', value_name = "KERNEL", value_parser = parsed::<Kernel>, default_values_t = KERNELS)]
    kernel: Vec<Kernel>,

    /// Versions after the first one.
    #[arg(long, default_value_t = 12, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    versions: u16,

    /// How many percent of the first version's edges each later one adds, and how many it deletes.
    #[arg(long, default_value_t = 0.5, value_name = "X")]
    percent: f64,

    /// How often each kernel runs by each way.
    #[arg(long, default_value_t = RUNS, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,

    #[command(flatten)]
    lists: Lists,
}

const COLUMNS: [Column; 6] = [
    Column { key: "delta_seconds", title: "changes", form: Form::Seconds },
    Column { key: "build_seconds", title: "made ready", form: Form::Seconds },
    Column { key: "seconds", title: "answers", form: Form::Seconds },
    Column { key: "whole_seconds", title: "whole", form: Form::Seconds },
    Column { key: "slowest", title: "slowest to median", form: Form::Ratio },
    Column { key: "bytes_per_change", title: "bytes a change", form: Form::Ratio },
];

pub(crate) fn run(args: &Args, output: Output) -> Result<()> {
    ensure!(
        args.percent > 0.0 && args.percent <= 100.0,
        "--percent {}: it must be above 0 and at most 100",
        args.percent
    );
    let configurations = args.lists.configurations(&recovery::MEDIA)?;
    let plain = Configuration::default();
    ensure!(
        configurations.iter().all(|one| one.options == plain.options
            && (one.writers, one.batch) == (plain.writers, plain.batch)),
        "versions have neither writers and batches nor the options of a live graph's layout; leave them out"
    );
    let plan = Plan::new(&args.kernel, Some(args.runs));
    let (versions, percent) = (args.versions, args.percent);
    let history = History { versions, percent, plan, kept: Kept::ByAllWays };
    let case = |configuration| Case { work: Work::Window(history), configuration };
    let cases: Vec<Case> = configurations.into_iter().map(case).collect();
    let measured = process::measure(&args.common, &cases, output)?;
    let rows: Vec<Row> = measured.iter().flat_map(|row| rows_of(plan, row)).collect();
    table::print(output, &args.common, &rows, (&["kernel", "way"], &COLUMNS), None)
}

/// Returns a row for each kernel and way of what was measured in one configuration.
fn rows_of(plan: Plan, measured: &Row) -> Vec<Row> {
    let is_shared = |key: &str| OPTIONS.contains(&key) || SHARED.contains(&key);
    let row_of = |kernel: Kernel, way: Way| {
        let start = start_of_keys(kernel, way);
        let shared = measured.iter().filter(|(key, _)| is_shared(key));
        let mut row: Row = shared.map(|(key, value)| (key.clone(), value.clone())).collect();
        row.insert("kernel".to_owned(), json!(kernel.name()));
        row.insert("way".to_owned(), json!(way.name()));
        let own = measured.iter().filter_map(|(k, v)| Some((k.strip_prefix(&start)?, v)));
        row.extend(own.map(|(key, value)| (key.to_owned(), value.clone())));
        row
    };
    let of_kernel = |kernel| ways(kernel).map(move |way| (kernel, way));
    plan.kernels().flat_map(of_kernel).map(|(kernel, way)| row_of(kernel, way)).collect()
}

/// What is varied.
const OPTIONS: [&str; 5] = ["input", "graph", "scale", "medium", "threads"];
/// The figures of a configuration that do not depend on the question.
const SHARED: [&str; 9] = [
    "versions",
    "percent",
    "base_edges",
    "base_seconds",
    "delta_seconds",
    "bytes_per_change",
    "open_seconds",
    "view_seconds",
    "peak_rss_bytes",
];

/// How the figures of a kernel and a way begin in a row of all.
fn start_of_keys(kernel: Kernel, way: Way) -> String {
    format!("{kernel} {} ", way.name())
}

/// Makes the versions, asks them and returns the figures.
///
/// # Errors
/// If the medium or a kernel fails, the graph has too few edges, or two ways do not agree.
pub(crate) fn measure(task: &Task, history: History) -> Result<Row> {
    let plan = history.plan;
    if history.kept == Kept::Live {
        return measure_live(task, history);
    }
    let (timeline, mut shared) = take_in(task, history)?;
    let delta_seconds = shared["delta_seconds"].as_f64().unwrap_or(0.0);
    let mut row = Row::new();
    for kernel in plan.kernels() {
        let mut expected: Option<WindowReport> = None;
        let ways: Vec<Way> = match history.kept {
            Kept::ByAllWays => ways(kernel).collect(),
            Kept::ByWay(way) => vec![way],
            Kept::WithoutIndexes | Kept::Live => vec![Way::Halves],
        };
        for way in ways {
            let reports = ask(&timeline, kernel, way, plan.runs_of(kernel))?;
            let of = |figure: fn(&WindowReport) -> f64| {
                median(&reports.iter().map(figure).collect::<Vec<_>>())
            };
            let (build, seconds) = (of(|report| report.build_seconds), of(|report| report.seconds));
            let start = match history.kept {
                Kept::ByAllWays => start_of_keys(kernel, way),
                _ => format!("{kernel}_"),
            };
            row.insert(format!("{start}build_seconds"), json!(build));
            row.insert(format!("{start}seconds"), json!(seconds));
            row.insert(format!("{start}whole_seconds"), json!(delta_seconds + build + seconds));
            row.insert(format!("{start}slowest"), json!(of(slowest)));
            let report = reports.into_iter().next().expect("it ran");
            match &expected {
                Some(expected) => agree(expected, &report, &way.name())?,
                None => expected = Some(report),
            }
        }
    }
    shared.insert("peak_rss_bytes".to_owned(), json!(peak_rss_bytes()));
    row.append(&mut shared);
    row.insert("layout".to_owned(), json!("versions"));
    row.insert(
        "way".to_owned(),
        match history.kept {
            Kept::ByWay(way) => json!(way.name()),
            Kept::WithoutIndexes => json!("without indexes"),
            Kept::ByAllWays | Kept::Live => Value::Null,
        },
    );
    Ok(row)
}

/// Makes the versions, and opens them anew. Returns them with what that took.
fn take_in(task: &Task, history: History) -> Result<(Timeline, Row)> {
    let mut changes = Changes::new(task, history)?;
    let medium = task.configuration.graph_options().medium;
    let options =
        TimelineOptions { medium, weighted: changes.weighted, ..TimelineOptions::default() };
    let timeline = Timeline::create(&task.graph, &options, false)?;
    let commit = |changes: &Changes, [came, went]: [&[Edge]; 2], number: u16| -> Result<f64> {
        let start = Instant::now();
        let mut version = VersionChanges::new();
        went.iter().try_for_each(|&(src, dst)| version.delete(src, dst))?;
        let mut insert = |&edge: &Edge| version.insert(edge.0, edge.1, changes.weight(edge));
        came.iter().try_for_each(&mut insert)?;
        if history.kept == Kept::WithoutIndexes {
            version = version.without_indexes();
        }
        timeline.commit(version, number.into(), None)?;
        Ok(start.elapsed().as_secs_f64())
    };
    let base_edges = changes.there.len();
    let base_seconds = commit(&changes, [&changes.there, &[]], 0)?;
    let base_bytes = timeline.stats()?.disk_bytes;
    let mut delta_seconds = 0.0;
    for number in 1..=history.versions {
        let [came, went] = changes.next();
        delta_seconds += commit(&changes, [&came, &went], number)?;
    }
    let bytes = timeline.stats()?.disk_bytes - base_bytes;
    let change_count = 2 * changes.each * usize::from(history.versions);
    drop((timeline, changes));
    let start = Instant::now();
    let timeline = Timeline::open(&task.graph, false)?;
    let open_seconds = start.elapsed().as_secs_f64();
    let start = Instant::now();
    drop(timeline.at(&VersionChoice::Newest)?);
    let view_seconds = start.elapsed().as_secs_f64();
    let figures = [
        json!(history.versions),
        json!(history.percent),
        json!(base_edges),
        json!(base_seconds),
        json!(delta_seconds),
        json!(bytes as f64 / change_count as f64),
        json!(open_seconds),
        json!(view_seconds),
        Value::Null,
    ];
    Ok((timeline, SHARED.iter().map(|&key| key.to_owned()).zip(figures).collect()))
}

/// Asks all versions but the first one, so often.
fn ask(timeline: &Timeline, kernel: Kernel, way: Way, runs: u32) -> Result<Vec<WindowReport>> {
    let schedule = way.schedule();
    let options = WindowOptions { schedule, ..Parameters::default().into() };
    let range = (&VersionChoice::Number(2), &VersionChoice::Newest);
    (0..runs).map(|_| Ok(timeline.window(kernel, range, &options)?)).collect()
}

/// Returns the time of the slowest version by that of the median one.
fn slowest(report: &WindowReport) -> f64 {
    let seconds: Vec<f64> = report.versions.iter().map(|version| version.seconds).collect();
    seconds.iter().copied().fold(0.0, f64::max) / median(&seconds).max(f64::MIN_POSITIVE)
}

/// Holds what two ways say of each version to each other. Ranks are as close to each other as their tolerance says.
fn agree(expected: &WindowReport, found: &WindowReport, way: &str) -> Result<()> {
    for (expected, found) in expected.versions.iter().zip(&found.versions) {
        let is_same = expected.result == found.result || expected.result.get("top").is_some();
        ensure!(
            is_same && expected.version == found.version,
            "version {} by {way}: {} instead of {}: a bug; please report it with this command",
            found.version,
            found.result,
            expected.result
        );
    }
    Ok(())
}
