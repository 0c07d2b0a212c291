//! `everedge bench kernels`: BFS and PageRank on a snapshot and on a CSR copy of it.

use anyhow::Result;
use everedge::{Kernel, Parameters, RunOptions, View, median};
use serde::Serialize;

use super::figures::{self, Row};
use super::ingest;
use super::options::{Common, Lists};
use super::process::{self, Case, Task, Work};
use super::table::{Column, Form, heading, table};
use crate::output::Output;

/// How often each kernel runs in a process, on snapshot and CSR in turn.
const RUNS: usize = 9;
/// Iterations of PageRank.
const ITERATIONS: u32 = 10;

/// Measure kernels on a snapshot beside a plain CSR.
///
/// BFS and ten iterations of PageRank run five times on a snapshot of a graph that was just
/// ingested and on a CSR copy of it, in turn; then the graph is compacted, and once more. A ratio
/// is the time on the snapshot for one on the CSR.
#[derive(clap::Args)]
#[command(after_help = "\
Example:
  everedge bench kernels --scale 20 --medium pmem,file --on 2")]
pub(super) struct Args {
    #[command(flatten)]
    common: Common,

    #[command(flatten)]
    lists: Lists,
}

const COLUMNS: [Column; 9] = [
    Column { key: "acknowledged_per_second", title: "acknowledged/s", form: Form::PerSecond },
    Column { key: "archived_per_second", title: "archived/s", form: Form::PerSecond },
    Column { key: "peak_rss_bytes", title: "peak memory", form: Form::Bytes },
    Column { key: "bfs_seconds", title: "BFS", form: Form::Seconds },
    Column { key: "bfs_ratio", title: "to CSR", form: Form::Ratio },
    Column { key: "pagerank_seconds", title: "PageRank", form: Form::Seconds },
    Column { key: "pagerank_ratio", title: "to CSR", form: Form::Ratio },
    Column { key: "compact_bfs_ratio", title: "compact: BFS", form: Form::Ratio },
    Column { key: "compact_pagerank_ratio", title: "PageRank", form: Form::Ratio },
];

/// The figures of the kernels in one process.
#[derive(Debug, Serialize)]
struct Figures {
    /// Those of the ingest, before there was a CSR.
    #[serde(flatten)]
    ingest: ingest::Figures,
    /// Time on the snapshot for one on a CSR.
    bfs_ratio: f64,
    pagerank_ratio: f64,
    bfs_seconds: f64,
    pagerank_seconds: f64,
    /// The same after compaction.
    compact_bfs_ratio: f64,
    compact_pagerank_ratio: f64,
    /// The number of threads from which lists were left alone, given or measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    io_threshold: Option<u32>,
}

pub(super) fn run(args: &Args, output: Output) -> Result<()> {
    let configurations = args.lists.configurations(&ingest::MEDIA)?;
    let case = |configuration| Case { work: Work::Kernels, configuration };
    let cases: Vec<Case> = configurations.into_iter().map(case).collect();
    let rows = process::measure(&args.common, &cases, output)?;
    output.print(&rows, |rows| {
        format!("{}\n\n{}", heading(&args.common, rows), table(rows, &[], &COLUMNS))
    })
}

/// Ingests the graph, runs the kernels and returns the figures.
///
/// # Errors
/// If the medium or a kernel fails.
pub(super) fn measure(task: &Task) -> Result<Row> {
    let graph = task.create(false)?;
    let ingest = ingest::figures(task, &graph)?;
    let view = graph.snapshot()?;
    let csr = view.to_csr();
    let [bfs, bfs_csr, pagerank, pagerank_csr] = seconds(&view, &csr)?;
    drop(view);
    graph.compact()?;
    let [compact_bfs, bfs_csr_again, compact_pagerank, pagerank_csr_again] =
        seconds(&graph.snapshot()?, &csr)?;
    figures::row(&Figures {
        ingest,
        bfs_ratio: bfs / bfs_csr,
        pagerank_ratio: pagerank / pagerank_csr,
        bfs_seconds: bfs,
        pagerank_seconds: pagerank,
        compact_bfs_ratio: compact_bfs / bfs_csr_again,
        compact_pagerank_ratio: compact_pagerank / pagerank_csr_again,
        io_threshold: graph.options().adjacency.io_threshold,
    })
}

/// Returns the median seconds of BFS on the snapshot and on the CSR, then those of PageRank.
fn seconds(snapshot: &View, csr: &View) -> Result<[f64; 4]> {
    let iterations = Parameters { iterations: Some(ITERATIONS), ..Parameters::default() };
    let (of_bfs, of_pagerank) = (RunOptions::default(), RunOptions::from(iterations));
    let runs = [
        (snapshot, Kernel::Bfs, &of_bfs),
        (csr, Kernel::Bfs, &of_bfs),
        (snapshot, Kernel::PageRank, &of_pagerank),
        (csr, Kernel::PageRank, &of_pagerank),
    ];
    let mut times = [(); 4].map(|()| Vec::with_capacity(RUNS));
    for round in 0..RUNS {
        // Forth and back, for what runs before leaves its data in the caches.
        for step in 0..runs.len() {
            let number = if round % 2 == 0 { step } else { runs.len() - 1 - step };
            let (view, kernel, options) = runs[number];
            times[number].push(view.run_unverified(kernel, options)?.seconds);
        }
    }
    Ok(times.map(|times| median(&times)))
}
