//! `everedge bench xpgraph` and its like: the experiments of a paper, one after the other, and a
//! report.

pub(crate) mod dgap;
pub(crate) mod pie;
mod setting;
pub(crate) mod smdg;
pub(crate) mod xpgraph;

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use serde::Serialize;
use serde_json::Value;

use self::setting::{Point, Setting};
use crate::harness::figures::{Row, number};
use crate::harness::table::{Column, Form, table};
use crate::harness::{Case, Common, process};
use crate::machine;
use crate::output::{Output, count};
use crate::page::{self, Bar, BarPanel, BenchReport, Line, LinePanel, Plot, Spot, file};

/// What can be chosen for the experiments of every paper.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The graph has 2^S ids.
    #[arg(long, default_value_t = 18, value_name = "S")]
    scale: u32,

    /// The figures and tables to measure, as the list below names them [default: all].
    #[arg(long, value_delimiter = ',', value_name = "N")]
    figure: Vec<String>,

    /// Where an HTML page with a plot for each figure is written; it opens without a network.
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,

    /// The numbers of threads, where they are varied; all else is measured with the largest.
    #[arg(long = "on", value_delimiter = ',', default_value = "1,2", value_name = "N")]
    threads: Vec<usize>,

    #[command(flatten)]
    common: Common,
}

/// A figure or a table of the paper.
pub(crate) struct Experiment {
    /// How `--figure` calls it.
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    /// What is varied, and what is to be seen: a sentence or two.
    pub(crate) words: &'static str,
    /// What is measured, in the order of the plot.
    pub(crate) points: fn(&Setting<'_>) -> Result<Vec<Point>>,
    /// What is shown of it.
    pub(crate) shown: &'static [Column],
    pub(crate) plot: PlotKind,
}

/// How an experiment is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlotKind {
    /// A bar for each point.
    Bars,
    /// A line for each series; the word names the horizontal axis.
    Lines(&'static str),
    /// A bar for each figure of one point.
    Parts,
}

/// The experiments of a paper that this machine can answer.
pub(crate) struct Paper {
    /// How the command calls it.
    pub(crate) command: &'static str,
    /// The title of the page.
    pub(crate) title: &'static str,
    /// Where the experiments stand.
    pub(crate) source: &'static str,
    /// In the order of the paper.
    pub(crate) experiments: &'static [Experiment],
}

pub(crate) const ACKNOWLEDGED: Column =
    Column { key: "acknowledged_seconds", title: "time until acknowledged", form: Form::Seconds };
pub(crate) const ARCHIVED: Column =
    Column { key: "archived_seconds", title: "time until archived", form: Form::Seconds };

/// What experiments with versions and with tasks vary beside the options of graphs.
const VARIED: [&str; 5] = ["way", "versions", "percent", "updates", "queries"];

impl Paper {
    /// Returns what stands below the options: the list of experiments, and examples.
    pub(crate) fn help(&self, example: &str) -> String {
        let line = |one: &Experiment| format!("  {:<8} {}\n", one.name, one.title);
        let lines: String = self.experiments.iter().map(line).collect();
        format!(
            "Figures:\n{lines}\nExamples:\n  \
             everedge bench {0} --scale 18 --report experiments.html\n  \
             everedge bench {0} --scale 20 {example}",
            self.command
        )
    }

    /// Returns the experiments that are asked for, or all.
    ///
    /// # Errors
    /// If there is none of such a name.
    fn wanted(&self, names: &[String]) -> Result<Vec<&'static Experiment>> {
        let all = || self.experiments.iter();
        for name in names {
            let known: Vec<&str> = all().map(|experiment| experiment.name).collect();
            ensure!(
                known.contains(&name.as_str()),
                "the paper's figure `{name}` is none of these; --figure takes {}",
                known.join(", ")
            );
        }
        let is_wanted =
            |one: &&Experiment| names.is_empty() || names.iter().any(|name| name == one.name);
        Ok(all().filter(is_wanted).collect())
    }
}

impl Experiment {
    /// Returns how the paper calls it.
    fn in_paper(&self) -> String {
        match self.name.strip_prefix("table-") {
            Some(number) => format!("Table {number}"),
            None => format!("Figure {}", self.name),
        }
    }
}

/// What a program learns of the experiments.
#[derive(Serialize)]
struct Summary {
    version: String,
    machine: String,
    date: String,
    command: String,
    scale: u32,
    degree: u32,
    trials: u32,
    figures: Vec<Outcome>,
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<PathBuf>,
}

/// An experiment and what it found.
#[derive(Serialize)]
struct Outcome {
    figure: &'static str,
    title: &'static str,
    rows: Vec<Row>,
}

/// Measures the experiments of a paper.
///
/// # Errors
/// If a measurement fails or the report cannot be written.
pub(crate) fn run(paper: &Paper, args: &Args, output: Output) -> Result<()> {
    let experiments = paper.wanted(&args.figure)?;
    let run = machine::run_info();
    if let Some(path) = &args.report {
        file::check_place(path)?;
    }
    let mut threads = args.threads.clone();
    threads.sort_unstable();
    threads.dedup();
    let setting = Setting { common: &args.common, scale: args.scale, threads: &threads };
    let (mut outcomes, mut sections) = (Vec::new(), Vec::new());
    for experiment in experiments {
        let points = (experiment.points)(&setting)?;
        let cases: Vec<Case> = points.iter().map(|point| point.case.clone()).collect();
        let rows = process::measure(&args.common, &cases, output)
            .with_context(|| experiment.in_paper())?;
        let name = experiment.in_paper();
        let table = table(&rows, &VARIED, experiment.shown);
        output.say(format_args!("{name}: {}\n{table}\n", experiment.title))?;
        sections.push(section(experiment, &points, &rows));
        outcomes.push(Outcome { figure: experiment.name, title: experiment.title, rows });
    }
    let facts = facts(args, &threads, outcomes.len())?;
    let summary = Summary {
        version: run.version.clone(),
        machine: run.machine.clone(),
        date: run.date.clone(),
        command: run.command.clone(),
        scale: args.scale,
        degree: args.common.degree,
        trials: args.common.trials,
        figures: outcomes,
        report: args.report.clone(),
    };
    if let Some(path) = &args.report {
        let report = BenchReport {
            run,
            title: paper.title.to_owned(),
            lead: "Figures and tables of the paper, measured again with everedge on synthetic \
                   graphs. Persistent memory is emulated on a tmpfs; every measurement is a process \
                   of its own, and the configurations of a figure take turns."
                .to_owned(),
            source: ("paper", paper.source),
            facts,
            sections,
        };
        file::write(path, &report.render())?;
    }
    output.print(&summary, |summary| match &summary.report {
        Some(path) => format!("report: {}", path.display()),
        None => "A page with plots is written with --report FILE.html.".to_owned(),
    })
}

/// The headline figures of the page.
fn facts(args: &Args, threads: &[usize], figure_count: usize) -> Result<Vec<(String, String)>> {
    let edges = args.common.generator(args.scale)?.edge_count();
    let most = threads.last().copied().unwrap_or(1);
    let fact = |value: String, label: &str| (value, label.to_owned());
    Ok(vec![
        fact(count(edges), &format!("edges: a Kronecker graph of scale {}", args.scale)),
        fact(count(figure_count as u64), "figures and tables of the paper"),
        match args.common.trials {
            1 => fact("1".to_owned(), "run of each configuration"),
            trials => fact(trials.to_string(), "runs of each configuration; medians are shown"),
        },
        fact(most.to_string(), "threads at most"),
    ])
}

/// The part of the page about one experiment.
fn section(experiment: &Experiment, points: &[Point], rows: &[Row]) -> page::Section {
    let is_there = |column: &&Column| rows.iter().any(|row| number(row, column.key).is_some());
    let columns: Vec<&Column> = experiment.shown.iter().filter(is_there).collect();
    let plot = match experiment.plot {
        PlotKind::Bars => {
            let full = |form| full(&columns, form, rows);
            let panel = |column: &&Column| bars(column, full(column.form), points, rows);
            Plot::Bars(columns.iter().map(panel).collect())
        }
        PlotKind::Lines(title) => {
            Plot::Lines(columns.iter().map(|column| lines(column, title, points, rows)).collect())
        }
        PlotKind::Parts => Plot::Bars(vec![parts(&columns, rows)]),
    };
    page::Section {
        id: format!("figure-{}", experiment.name),
        name: experiment.in_paper(),
        title: experiment.title.to_owned(),
        words: experiment.words.to_owned(),
        caption: caption(rows),
        plot,
    }
}

/// A figure of every point as bars.
fn bars(column: &Column, full: f64, points: &[Point], rows: &[Row]) -> BarPanel {
    let bar = |(point, row): (&Point, &Row)| {
        let value = number(row, column.key)?;
        Some(Bar { names: vec![point.label.clone()], value, shown: column.form.show(value) })
    };
    let bars = points.iter().zip(rows).filter_map(bar).collect();
    BarPanel { title: column.title.to_owned(), full, bars }
}

/// All figures of the first point as bars.
fn parts(columns: &[&Column], rows: &[Row]) -> BarPanel {
    let bar = |column: &&Column| {
        let value = number(rows.first()?, column.key)?;
        Some(Bar { names: vec![column.title.to_owned()], value, shown: column.form.show(value) })
    };
    BarPanel {
        title: "memory".to_owned(),
        full: full(columns, Form::Bytes, rows),
        bars: columns.iter().filter_map(bar).collect(),
    }
}

/// The largest of all figures of one form, so that they can be compared.
fn full(columns: &[&Column], form: Form, rows: &[Row]) -> f64 {
    let alike = columns.iter().filter(|column| column.form == form);
    let values = alike.flat_map(|column| rows.iter().filter_map(|row| number(row, column.key)));
    values.fold(0.0, f64::max)
}

/// A figure of every point as lines, one a series.
fn lines(column: &Column, x_title: &str, points: &[Point], rows: &[Row]) -> LinePanel {
    let values = || rows.iter().filter_map(|row| number(row, column.key));
    let (unit, unit_size) = unit(column.form, values().fold(0.0, f64::max));
    let mut lines: Vec<Line> = Vec::new();
    for (point, row) in points.iter().zip(rows) {
        let Some(value) = number(row, column.key) else { continue };
        if lines.last().is_none_or(|line| line.label != point.series) {
            lines.push(Line { label: point.series.clone(), spots: Vec::new() });
        }
        let shown = column.form.show(value);
        let spot = Spot {
            x: point.x,
            y: value / unit_size,
            label: point.label.clone(),
            hover: format!("{}, {}: {shown}", point.series, point.label),
        };
        lines.last_mut().expect("a line was just made").spots.push(spot);
    }
    LinePanel { title: format!("{}, {unit}", column.title), x_title: x_title.to_owned(), lines }
}

/// The unit in which an axis up to `most` reads well, and its size.
fn unit(form: Form, most: f64) -> (&'static str, f64) {
    match form {
        Form::Seconds if most < 1.0 => ("ms", 1e-3),
        Form::Seconds => ("s", 1.0),
        Form::Bytes if most >= (1u64 << 30) as f64 => ("GiB", (1u64 << 30) as f64),
        Form::Bytes => ("MiB", (1u64 << 20) as f64),
        Form::PerSecond => ("millions", 1e6),
        Form::Count | Form::Ratio => ("", 1.0),
        Form::Share => ("%", 0.01),
    }
}

/// What all points of an experiment share.
fn caption(rows: &[Row]) -> String {
    let same = |key: &str| {
        let first = rows.first()?.get(key)?;
        rows.iter().all(|row| row.get(key) == Some(first)).then_some(first)
    };
    let words = [
        same("scale").map(|scale| format!("scale {scale}")),
        same("medium").and_then(Value::as_str).map(str::to_owned),
        same("threads").map(|threads| match threads.as_u64() {
            Some(1) => "1 thread".to_owned(),
            _ => format!("{threads} threads"),
        }),
    ];
    let words: Vec<String> = words.into_iter().flatten().collect();
    format!("Less is better. Measured with {}.", words.join(", "))
}
