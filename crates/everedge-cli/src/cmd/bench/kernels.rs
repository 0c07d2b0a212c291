//! `everedge bench kernels`: kernels on a snapshot and on a CSR copy of it.
//!
//! Source: Beamer, Asanović and Patterson, "The GAP Benchmark Suite", 2015, §3 and §4: how often
//! each kernel runs, and that sources are drawn among the vertices that have edges. Differences:
//! parallel edges and self-loops stay, and weights are GAP's divided by 256, so that they can be
//! probabilities.

use std::path::PathBuf;

use anyhow::Result;
use everedge::{Graph, GraphOptions, Kernel, Parameters, RunOptions, View, median};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::figures::{self, Row, number};
use super::options::{Common, Configuration, Lists};
use super::page;
use super::process::{self, Case, Task, Work};
use super::table::{Column, Form, heading, table};
use super::{ingest, table};
use crate::cmd::demo::machine;
use crate::cmd::parsed;
use crate::output::{Output, count};
use crate::report::{Bar, BarPanel, BenchReport, Plot, Section};

/// How many sources betweenness starts from in a run.
const BETWEENNESS_SOURCES: u32 = 4;
/// Where the random numbers that draw sources start.
const SEED: u64 = 27_491_095;

/// Measure kernels on a snapshot beside a plain CSR.
///
/// Each kernel runs on a snapshot of a graph that was just ingested and on a CSR copy of it, in
/// turn; then the graph is compacted, and once more. A ratio is the time on the snapshot for one on
/// the CSR. As in the GAP Benchmark Suite, searches start at vertices drawn among those with edges,
/// others each time, and betweenness at four. The first answer of each kernel is verified.
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  everedge bench kernels --scale 20 --medium pmem,file --on 2 --report kernels.html
  everedge bench kernels --kernel bfs,pagerank --graph kron,uniform --undirected --runs 9")]
pub(super) struct Args {
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

const COLUMNS: [Column; 5] = [
    Column { key: "csr_seconds", title: "CSR", form: Form::Seconds },
    Column { key: "seconds", title: "snapshot", form: Form::Seconds },
    Column { key: "ratio", title: "to CSR", form: Form::Ratio },
    Column { key: "compact_seconds", title: "compact", form: Form::Seconds },
    Column { key: "compact_ratio", title: "to CSR", form: Form::Ratio },
];

/// What a process measures.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Plan {
    /// A bit for each of [`Kernel::ALL`].
    kernels: u32,
    /// How often each runs on each view; `None` is what GAP prescribes.
    runs: Option<u32>,
    directed: bool,
}

impl Plan {
    /// Plans some kernels on a directed graph.
    pub(super) fn new(kernels: &[Kernel], runs: Option<u32>) -> Self {
        let is_wanted = |kernel: &Kernel| u32::from(kernels.contains(kernel));
        let bits = Kernel::ALL.iter().enumerate().map(|(i, kernel)| is_wanted(kernel) << i);
        Self { kernels: bits.fold(0, |all, bit| all | bit), runs, directed: true }
    }

    fn kernels(self) -> impl Iterator<Item = Kernel> {
        let all = Kernel::ALL.iter().copied().enumerate();
        all.filter(move |(i, _)| self.kernels >> i & 1 == 1).map(|(_, kernel)| kernel)
    }

    fn runs_of(self, kernel: Kernel) -> u32 {
        self.runs.unwrap_or(match kernel {
            Kernel::Bfs | Kernel::Sssp => 64,
            Kernel::Triangles | Kernel::Lcc | Kernel::Cdlp => 3,
            _ => 16,
        })
    }
}

pub(super) fn run(args: &Args, output: Output) -> Result<()> {
    let info = machine::run_info();
    if let Some(path) = &args.report {
        page::check_place(path)?;
    }
    let wanted = if args.kernel.is_empty() { Kernel::ALL } else { &args.kernel };
    // Those that read weights need a graph that has some.
    let (weighted, plain): (Vec<Kernel>, Vec<Kernel>) =
        wanted.iter().partition(|kernel| kernel.reads_weights());
    let parts = [plain, weighted].into_iter().filter(|kernels| !kernels.is_empty());
    let plans: Vec<Plan> = parts
        .map(|kernels| Plan { directed: !args.undirected, ..Plan::new(&kernels, args.runs) })
        .collect();
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
        page::write(path, &report(args, info, &rows))?;
    }
    output.print(&rows, |rows| {
        let table = table(rows, &["kernel"], &COLUMNS);
        let text = format!("{}\n\n{table}", heading(&args.common, rows));
        match &args.report {
            Some(path) => format!("{text}\n\nreport: {}", path.display()),
            None => text,
        }
    })
}

/// Returns a row for each kernel of what was measured in one configuration.
fn rows_of(plans: &[Plan], measured: &[Row]) -> Result<Vec<Row>> {
    let options = figures::row(&Configuration::default())?;
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
pub(super) fn measure(task: &Task, plan: Plan) -> Result<Row> {
    let options = GraphOptions {
        directed: plan.directed,
        weighted: plan.kernels().any(Kernel::reads_weights),
        ..task.configuration.graph_options()
    };
    let graph = Graph::create(&task.graph, &options, false)?;
    let mut row = figures::row(&ingest::figures(task, &graph)?)?;
    let csr = graph.snapshot()?.to_csr();
    let runs = plan.kernels().map(|kernel| plan.runs_of(kernel)).max().unwrap_or(0);
    let sources = csr.sample_sources(runs as usize, SEED).into_iter();
    let sources: Vec<String> = sources.map(|v| csr.name_of(v).to_string()).collect();
    for prefix in ["", "compact_"] {
        if prefix == "compact_" {
            graph.compact()?;
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

/// The page about all rows.
fn report(args: &Args, run: crate::report::RunInfo, rows: &[Row]) -> String {
    let varied = table::varied(rows);
    let mut sections: Vec<Section> = Vec::new();
    let same_options =
        |a: &Row, b: &Row| varied.iter().all(|option| a.get(option) == b.get(option));
    for (i, rows) in rows.chunk_by(same_options).enumerate() {
        let panels = [
            ratios("as ingested, time for one on the CSR", "ratio", rows),
            ratios("compact, time for one on the CSR", "compact_ratio", rows),
        ];
        sections.push(Section {
            id: format!("ratio-{i}"),
            name: "Beside a CSR".to_owned(),
            title: match in_words(&varied, rows) {
                words if words.is_empty() => "Snapshots beside a CSR".to_owned(),
                words => format!("Snapshots beside a CSR: {words}"),
            },
            words:
                "Medians of each kernel on a snapshot of the graph as it was ingested, and after \
                    it was compacted, for the median on a plain CSR of the same graph."
                    .to_owned(),
            caption: "1 is as fast as on the CSR; less is better.".to_owned(),
            plot: Plot::Bars(panels.into()),
        });
    }
    for (i, (title, panel)) in scaling(rows).into_iter().enumerate() {
        sections.push(Section {
            id: format!("threads-{i}"),
            name: "Threads".to_owned(),
            title,
            words: "How many times as fast kernels are with more threads, on the CSR.".to_owned(),
            caption: "More is better.".to_owned(),
            plot: Plot::Bars(vec![panel]),
        });
    }
    let fact = |value: String, label: &str| (value, label.to_owned());
    let kernels: std::collections::BTreeSet<&str> =
        rows.iter().filter_map(|row| row["kernel"].as_str()).collect();
    let report = BenchReport {
        run,
        title: "Kernels on snapshots and on a CSR".to_owned(),
        lead: "A graph that can change beside one that never does: the same kernels on a snapshot \
               of a live graph and on a plain CSR of the same edges, in turn."
            .to_owned(),
        source: ("rules", "Beamer et al., The GAP Benchmark Suite, 2015: trials and sources"),
        facts: vec![
            fact(count(kernels.len() as u64), "kernels"),
            fact(if args.undirected { "undirected" } else { "directed" }.to_owned(), "graphs"),
            fact(args.common.degree.to_string(), "edges for each id"),
            match args.common.trials {
                1 => fact("1".to_owned(), "process of each configuration"),
                trials => fact(trials.to_string(), "processes of each configuration"),
            },
        ],
        sections,
    };
    crate::report::render_bench(&report)
}

/// The options of these rows that differ from those of others.
fn in_words(varied: &[String], rows: &[Row]) -> String {
    let word = |key: &String| {
        let value = rows.first()?.get(key)?;
        let word = table::word(value, key);
        Some(match (key.as_str(), value.as_u64()) {
            ("threads", Some(1)) => "1 thread".to_owned(),
            ("threads", _) => format!("{word} threads"),
            ("medium" | "graph", _) => word,
            _ => format!("{} {word}", key.replace('_', " ")),
        })
    };
    varied.iter().filter_map(word).collect::<Vec<_>>().join(", ")
}

/// A figure of each kernel as a bar.
fn ratios(title: &str, key: &str, rows: &[Row]) -> BarPanel {
    let bar = |row: &Row| {
        let value = number(row, key)?;
        let name = row["kernel"].as_str().unwrap_or_default().to_owned();
        Some(Bar { name, value, shown: Form::Ratio.show(value) })
    };
    panel(title, rows.iter().filter_map(bar).collect())
}

fn panel(title: &str, bars: Vec<Bar>) -> BarPanel {
    let full = bars.iter().map(|bar| bar.value).fold(0.0, f64::max);
    BarPanel { title: title.to_owned(), full, bars }
}

/// For each number of threads above the least, how many times as fast kernels are: of each kernel
/// the first configuration.
fn scaling(rows: &[Row]) -> Vec<(String, BarPanel)> {
    let threads_of = |row: &Row| row["threads"].as_u64().unwrap_or_default();
    let mut all: Vec<u64> = rows.iter().map(threads_of).collect();
    all.sort_unstable();
    all.dedup();
    let seconds = |threads: u64, kernel: &Value| {
        let is_it = |row: &&Row| threads_of(row) == threads && row["kernel"] == *kernel;
        rows.iter().find(is_it).and_then(|row| number(row, "csr_seconds"))
    };
    let panel_of = |threads: u64| {
        let bar = |kernel: &Kernel| {
            let name = json!(kernel.name());
            let value = seconds(all[0], &name)? / seconds(threads, &name)?;
            let name = kernel.name().to_owned();
            Some(Bar { name, value, shown: Form::Ratio.show(value) })
        };
        let title = format!("{threads} threads, times as fast as with {}", all[0]);
        let bars = Kernel::ALL.iter().filter_map(bar).collect();
        (format!("{threads} threads beside {}", all[0]), panel(&title, bars))
    };
    all.iter().skip(1).map(|&threads| panel_of(threads)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_has_the_kernels_that_it_was_given() {
        let wanted = [Kernel::Bfs, Kernel::Cdlp];
        let plan = Plan::new(&wanted, None);
        assert_eq!(plan.kernels().collect::<Vec<_>>(), wanted);
        assert_eq!((plan.runs_of(Kernel::Bfs), plan.runs_of(Kernel::Wcc)), (64, 16));
        assert_eq!(Plan::new(Kernel::ALL, Some(2)).kernels().count(), Kernel::ALL.len());
    }
}
