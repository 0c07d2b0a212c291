//! `everedge bench kernels`: kernels on a snapshot and on a CSR copy of it.
//!
//! Source: Beamer, Asanović and Patterson, "The GAP Benchmark Suite", 2015, §3 and §4: how often
//! each kernel runs, and that sources are drawn among the vertices that have edges. Differences:
//! parallel edges and self-loops stay, and weights are GAP's divided by 256, so that they can be
//! probabilities.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use anyhow::Result;
use everedge::{Graph, GraphOptions, Kernel, Parameters, RunOptions, View, median};
use serde_json::json;

use super::{ingest, kernels_page};
use crate::arguments::parsed;
use crate::harness::figures::{self, Row};
use crate::harness::table::{self, Column, Form};
use crate::harness::{Case, Common, Configuration, Lists, Plan, Task, Work, process};
use crate::machine;
use crate::output::Output;
use crate::page::file;

/// How many sources betweenness starts from in a run.
const BETWEENNESS_SOURCES: u32 = 4;
/// Writers pause so long before kernels run again.
const PAUSE: Duration = Duration::from_secs(2);
/// Where the random numbers that draw sources start.
const SEED: u64 = 27_491_095;

/// Measure kernels on a snapshot beside a plain CSR.
///
/// Each kernel runs on a snapshot of a graph that was just ingested and on a CSR copy of it, in
/// turn; again after a pause of two seconds, in which the graph puts its lists in order; and once more
/// after it was compacted. A ratio is the time on the snapshot for one on the CSR. As in the GAP Benchmark Suite, searches start at vertices drawn among those with edges,
/// others each time, and betweenness at four. The first answer of each kernel is verified.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  everedge bench kernels --scale 20 --medium pmem,file --on 2 --report kernels.html
  everedge bench kernels --kernel bfs,pagerank --graph kron,uniform --undirected --runs 9")]
pub(crate) struct Args {
    #[command(flatten)]
    common: Common,

    /// The kernels [default: all].
    #[arg(long, value_delimiter = ',', value_name = "KERNEL", value_parser = parsed::<Kernel>)]
    kernel: Vec<Kernel>,

    /// How often each kernel runs on each view [default: 64 for bfs and sssp, 3 for triangles, lcc
    /// and cdlp, 16 for all others].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    runs: Option<u32>,

    /// Let edges lead both ways, as in GAP's Kronecker and uniform graphs.
    #[arg(long)]
    undirected: bool,

    /// Where an HTML page with plots is written; it opens without a network.
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,

    #[command(flatten)]
    lists: Lists,
}

const COLUMNS: [Column; 7] = [
    Column { key: "csr_seconds", title: "CSR", form: Form::Seconds },
    Column { key: "seconds", title: "snapshot", form: Form::Seconds },
    Column { key: "ratio", title: "to CSR", form: Form::Ratio },
    Column { key: "paused_seconds", title: "after a pause", form: Form::Seconds },
    Column { key: "paused_ratio", title: "to CSR", form: Form::Ratio },
    Column { key: "compact_seconds", title: "compact", form: Form::Seconds },
    Column { key: "compact_ratio", title: "to CSR", form: Form::Ratio },
];

/// What is measured unless told: what is compiled for each layout.
const USUAL: [Kernel; 17] = [
    Kernel::OneHop,
    Kernel::TwoHop,
    Kernel::Bfs,
    Kernel::PageRank,
    Kernel::DeltaPageRank,
    Kernel::Wcc,
    Kernel::Scc,
    Kernel::Betweenness,
    Kernel::Sssp,
    Kernel::Sswp,
    Kernel::Ssnp,
    Kernel::Viterbi,
    Kernel::KCore,
    Kernel::Radii,
    Kernel::Triangles,
    Kernel::Lcc,
    Kernel::Cdlp,
];

pub(crate) fn run(args: &Args, output: Output) -> Result<()> {
    let info = machine::run_info();
    if let Some(path) = &args.report {
        file::check_place(path)?;
    }
    let wanted = if args.kernel.is_empty() { &USUAL } else { &args.kernel[..] };
    // Those that read weights need a graph that has some.
    let (weighted, plain): (Vec<Kernel>, Vec<Kernel>) =
        wanted.iter().partition(|kernel| kernel.reads_weights());
    let parts = [plain, weighted].into_iter().filter(|kernels| !kernels.is_empty());
    let plans: Vec<Plan> =
        parts.map(|kernels| Plan::new(&kernels, args.runs).directed(!args.undirected)).collect();
    let configurations = args.lists.configurations(&ingest::MEDIA)?;
    let cases: Vec<Case> = configurations
        .iter()
        .flat_map(|one| plans.iter().map(move |plan| (Work::Kernels(*plan), one.clone())))
        .map(|(work, configuration)| Case { work, configuration })
        .collect();
    let measured = process::measure(&args.common, &cases, output)?;
    let rows = measured.chunks(plans.len()).map(|measured| rows_of(&plans, measured));
    let rows: Vec<Row> = rows.collect::<Result<Vec<_>>>()?.concat();
    if let Some(path) = &args.report {
        file::write(path, &kernels_page::page(&args.common, args.undirected, info, &rows))?;
    }
    table::print(output, &args.common, &rows, (&["kernel"], &COLUMNS), args.report.as_ref())
}

/// Returns a row for each kernel of what was measured in one configuration.
fn rows_of(plans: &[Plan], measured: &[Row]) -> Result<Vec<Row>> {
    let options = Configuration::default().row()?;
    let mut rows = Vec::new();
    for (plan, measured) in plans.iter().zip(measured) {
        let options = measured.iter().filter(|(key, _)| options.contains_key(*key));
        for kernel in plan.kernels() {
            let mut row: Row = options.clone().map(|(k, v)| (k.clone(), v.clone())).collect();
            row.insert("kernel".to_owned(), json!(kernel.name()));
            row.insert("runs".to_owned(), json!(plan.runs_of(kernel)));
            for column in &COLUMNS {
                let value = measured.get(&key(kernel, column.key)).cloned().unwrap_or_default();
                row.insert(column.key.to_owned(), value);
            }
            rows.push(row);
        }
    }
    let place = |row: &Row| Kernel::ALL.iter().position(|kernel| row["kernel"] == kernel.name());
    rows.sort_by_key(place);
    Ok(rows)
}

/// The name of a figure of a kernel in a row of all kernels.
fn key(kernel: Kernel, figure: &str) -> String {
    format!("{}_{figure}", kernel.name().replace('-', "_"))
}

/// Ingests the graph, runs the kernels and returns the figures.
///
/// # Errors
/// If the medium or a kernel fails, or an answer is wrong.
pub(crate) fn measure(task: &Task, plan: Plan) -> Result<Row> {
    let options = GraphOptions {
        directed: plan.directed,
        weighted: plan.kernels().any(Kernel::reads_weights),
        ..task.configuration.graph_options()
    };
    let graph = Graph::create(&task.graph, &options, false)?;
    let mut row = figures::row(&ingest::figures(task, &graph)?)?;
    let csr = graph.snapshot()?.to_csr()?;
    let runs = plan.kernels().map(|kernel| plan.runs_of(kernel)).max().unwrap_or(0);
    let sources = csr.sample_sources(runs as usize, SEED).into_iter();
    let sources: Vec<String> = sources.map(|v| csr.name_of(v).to_string()).collect();
    for prefix in ["", "paused_", "compact_"] {
        match prefix {
            "" => {}
            "paused_" => thread::sleep(PAUSE),
            _ => drop(graph.compact()?),
        }
        let snapshot = graph.snapshot()?;
        for kernel in plan.kernels() {
            let [seconds, csr_seconds] =
                seconds(kernel, plan.runs_of(kernel), &sources, &snapshot, &csr)?;
            let mut note = |figure: &str, value: f64| row.insert(key(kernel, figure), json!(value));
            note(&format!("{prefix}seconds"), seconds);
            note(&format!("{prefix}ratio"), seconds / csr_seconds);
            if prefix.is_empty() {
                note("csr_seconds", csr_seconds);
            }
        }
    }
    if let Some(threads) = graph.options().adjacency.io_threshold {
        row.insert("io_threshold".to_owned(), json!(threads));
    }
    Ok(row)
}

/// Returns the median seconds of a kernel on the snapshot and on the CSR.
fn seconds(
    kernel: Kernel,
    runs: u32,
    sources: &[String],
    snapshot: &View,
    csr: &View,
) -> Result<[f64; 2]> {
    let mut times = [Vec::new(), Vec::new()];
    for run in 0..runs {
        let options = RunOptions::from(parameters(kernel, run, sources));
        // In turn, for what runs before leaves its data in the caches.
        let order = if run % 2 == 0 { [0, 1] } else { [1, 0] };
        for place in order {
            let view = [snapshot, csr][place];
            let report = match (run, place) {
                (0, 0) => view.run(kernel, &options)?,
                _ => view.run_unverified(kernel, &options)?,
            };
            times[place].push(report.seconds);
        }
    }
    Ok(times.map(|times| median(&times)))
}

/// Returns what a kernel is told in its run of this number.
fn parameters(kernel: Kernel, run: u32, sources: &[String]) -> Parameters {
    let mut parameters = Parameters::default();
    if kernel == Kernel::Betweenness {
        parameters.samples = Some(BETWEENNESS_SOURCES);
        parameters.seed = Some(SEED + u64::from(run));
    } else if kernel.parameters().contains(&"source") {
        parameters.source = sources.get(run as usize).cloned();
    }
    parameters
}
