//! `everedge degree`: how many edges vertices have.

use std::cmp::Reverse;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use everedge::{Kernel, VersionChoice, View, Word};
use everedge_bench::page::counted;
use serde::Serialize;
use serde_json::{Value, json};

use super::{lines, named};
use crate::output::{Output, count};

/// Show how many edges vertices have.
///
/// A line for each vertex that is named: its id and its number of edges, or, where edges have a direction, of those that
/// leave it and of those that enter it. Without names it shows what degrees there are, and the largest.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The directory of the graph.
    graph: PathBuf,

    /// The vertices, by their ids.
    vertices: Vec<String>,

    /// How many of the vertices with the largest degrees to name.
    #[arg(long, default_value_t = 10, value_name = "K")]
    top: usize,

    /// Ask a version, by number, date or name; without it, the newest of a directory that holds versions.
    #[arg(long, value_name = "VERSION", value_parser = super::parsed::<VersionChoice>)]
    at: Option<VersionChoice>,
}

/// What `--json` prints of vertices that are named. Rows are `[id, degree]`, with directions `[id, out, in]`.
#[derive(Serialize)]
struct Named {
    degrees: Vec<Value>,
}

/// What `--json` prints of all.
#[derive(Serialize)]
struct All {
    vertices: u64,
    /// Without an edge.
    isolated: u64,
    mean: f64,
    /// The mean of both middle ones where their number is even.
    median: f64,
    max: u64,
    top: Vec<Value>,
}

/// The edges of a vertex, those that leave it and those that enter it.
type Degrees = (u32, u32);

pub(crate) fn run(args: &Args, output: Output) -> Result<ExitCode> {
    let view = super::open_for(&args.graph, args.at.as_ref(), Kernel::OneHop)?;
    let degrees = match args.vertices.is_empty() {
        true => None,
        false => Some(view.find_all(args.vertices.iter().map(String::as_str))?),
    };
    match degrees {
        Some(vertices) => show_named(&view, &vertices, output)?,
        None => show_all(&view, args.top, output)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn show_named(view: &View, vertices: &[u32], output: Output) -> Result<()> {
    let degrees = view.degrees_of(vertices)?;
    let rows = || vertices.iter().copied().zip(degrees.iter().copied());
    if output.json {
        let degrees = rows().map(|(v, degrees)| row(view, v, degrees)).collect();
        return output.print(&Named { degrees }, |_| String::new());
    }
    lines(output, |out| {
        for (v, (leaving, entering)) in rows() {
            write!(out, "{} {leaving}", Word(&view.name_of(v)))?;
            if view.is_directed() {
                write!(out, " {entering}")?;
            }
            writeln!(out)?;
        }
        Ok(())
    })
}

fn show_all(view: &View, top: usize, output: Output) -> Result<()> {
    let vertices = view.vertices();
    let degrees = view.degrees_of(&vertices)?;
    let sum = |(leaving, entering): Degrees| match view.is_directed() {
        true => u64::from(leaving) + u64::from(entering),
        false => leaving.into(),
    };
    let mut order: Vec<usize> = (0..vertices.len()).collect();
    order.sort_unstable_by_key(|&at| (Reverse(sum(degrees[at])), at));
    let at = |place: usize| order.get(place).map_or(0, |&at| sum(degrees[at]));
    let all: u64 = degrees.iter().map(|&degrees| sum(degrees)).sum();
    let report = All {
        vertices: vertices.len() as u64,
        isolated: degrees.iter().filter(|&&degrees| sum(degrees) == 0).count() as u64,
        mean: all as f64 / (vertices.len() as f64).max(1.0),
        median: (at(vertices.len() / 2) + at(vertices.len().saturating_sub(1) / 2)) as f64 / 2.0,
        max: at(0),
        top: order.iter().take(top).map(|&at| row(view, vertices[at], degrees[at])).collect(),
    };
    output.print(&report, in_words)
}

fn row(view: &View, v: u32, (leaving, entering): Degrees) -> Value {
    match view.is_directed() {
        true => json!([named(view, v), leaving, entering]),
        false => json!([named(view, v), leaving]),
    }
}

fn in_words(report: &All) -> String {
    let median = match report.median.fract() > 0.0 {
        true => format!("{:.1}", report.median),
        false => count(report.median as u64),
    };
    let mut words = format!(
        "{}, {} of them without an edge; degrees: mean {:.2}, median {median}, largest {}",
        counted(report.vertices, "vertex", "vertices"),
        count(report.isolated),
        report.mean,
        count(report.max),
    );
    for row in report.top.iter().filter_map(Value::as_array) {
        let number = |at: usize| row.get(at).and_then(Value::as_u64).map(count);
        let degrees = match (number(1), number(2)) {
            (Some(leaving), Some(entering)) => format!("{leaving} out, {entering} in"),
            (degree, _) => degree.unwrap_or_default(),
        };
        words.push_str(&format!("\n  {}  {degrees}", super::run::plain(&row[0])));
    }
    words
}
