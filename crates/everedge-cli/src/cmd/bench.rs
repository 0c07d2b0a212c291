//! `everedge bench`: measures this build on this machine.
//!
//! Every measurement is a process of its own, so that its peak memory is its own; the
//! configurations take turns in each trial, so that a machine whose speed drifts is fair to all.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use everedge::{
    AdjacencyOptions, Batch, Generator, Graph, GraphOptions, Kernel, MediumKind, Phases,
    RunOptions, median, par,
};
use serde::{Deserialize, Serialize};

use super::Medium;
use crate::output::{Output, bytes};

/// Measure ingest of a Kronecker graph, and kernels on a snapshot of it beside a plain CSR.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// What to measure.
    #[arg(value_enum)]
    what: What,

    /// There are 2^SCALE ids.
    #[arg(long, default_value_t = 20, value_name = "S")]
    scale: u32,

    /// Edges for each id.
    #[arg(long, default_value_t = 16, value_name = "D")]
    degree: u32,

    /// The media to measure; pmem is emulated.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "dram,pmem,file")]
    medium: Vec<Medium>,

    /// The numbers of threads to measure; it stands before the command elsewhere.
    #[arg(long = "on", value_delimiter = ',', default_value = "1,2", value_name = "N")]
    thread_counts: Vec<usize>,

    /// How often each configuration runs; medians are reported.
    #[arg(long, default_value_t = 3, value_name = "N")]
    trials: usize,

    /// Edges of a batch.
    #[arg(long, default_value_t = 1 << 16, value_name = "N")]
    batch: usize,

    /// Updates in the log from which they are archived.
    #[arg(long, default_value_t = 1 << 23, value_name = "N")]
    archive_threshold: u64,

    /// Whether logging goes on while updates are archived: overlapped or in-turn.
    #[arg(long, value_parser = super::parsed::<Phases>, default_value = "overlapped")]
    phases: Phases,

    /// Bytes set aside for blocks at creation, with K, M or G; then the log is made whole too.
    #[arg(long, value_parser = super::size, default_value = "0", value_name = "SIZE")]
    preallocate: u64,

    /// Bytes of the buffers of vertices of large degree.
    #[arg(long, value_name = "BYTES")]
    wide_buffer: Option<u32>,

    /// Where the graphs of the medium `file` are put, and removed again.
    #[arg(long, default_value = "bench-graphs", value_name = "DIR")]
    directory: PathBuf,

    /// Where the graphs of emulated pmem are put: a tmpfs.
    #[arg(long, default_value = "/dev/shm/everedge-bench", value_name = "DIR")]
    pmem_directory: PathBuf,

    /// Count what the medium does, in runs of their own.
    #[arg(long)]
    meter: bool,

    /// Print the measurement of one configuration: how the others are made.
    #[arg(long, hide = true)]
    single: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// Batches of edges into an empty graph, every batch acknowledged.
    Ingest,
    /// BFS and PageRank on a snapshot and on a CSR copy of it.
    Kernels,
}

/// One configuration's figures: medians over its trials.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Figures {
    medium: String,
    threads: usize,
    /// Edges a second until all are acknowledged.
    acknowledged_per_second: f64,
    /// Edges a second until all are in the lists too.
    archived_per_second: f64,
    peak_rss_bytes: f64,
    disk_bytes: f64,
    /// Bytes that the device writes for each byte of edges: 4 an edge and direction.
    media_written_ratio: Option<f64>,
    media_read_ratio: Option<f64>,
    fences: Option<f64>,
    /// Time on the snapshot for one on a CSR.
    bfs_ratio: Option<f64>,
    pagerank_ratio: Option<f64>,
    bfs_seconds: Option<f64>,
    pagerank_seconds: Option<f64>,
}

pub(crate) fn run(args: &Args, output: Output) -> Result<ExitCode> {
    if args.single {
        let threads = args.thread_counts.first().copied().unwrap_or_default();
        let figures = par::with_threads(threads, || measure(args))??;
        println!("{}", serde_json::to_string(&figures)?);
        return Ok(ExitCode::SUCCESS);
    }
    let mut trials: Vec<Vec<Figures>> = Vec::new();
    for _ in 0..args.trials.max(1) {
        let configurations = args
            .medium
            .iter()
            .flat_map(|&medium| args.thread_counts.iter().map(move |&threads| (medium, threads)));
        for (index, (medium, threads)) in configurations.enumerate() {
            let figures = in_a_process(args, medium, threads)?;
            if trials.len() <= index {
                trials.push(Vec::new());
            }
            trials[index].push(figures);
        }
    }
    let medians: Vec<Figures> = trials.iter().map(|trials| medians(trials)).collect();
    output.print(&medians, |medians| in_words(medians, args.what))?;
    Ok(ExitCode::SUCCESS)
}

/// Runs this program once more for one measurement.
fn in_a_process(args: &Args, medium: Medium, threads: usize) -> Result<Figures> {
    let what = args.what.to_possible_value().context("a measurement has a name")?;
    let medium = medium.to_possible_value().context("a medium has a name")?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["bench", what.get_name(), "--single", "--medium", medium.get_name()]);
    command.args(["--on", &threads.to_string(), "--scale", &args.scale.to_string()]);
    command.args(["--degree", &args.degree.to_string(), "--batch", &args.batch.to_string()]);
    command.args(["--archive-threshold", &args.archive_threshold.to_string()]);
    command.args(["--phases", &args.phases.to_string()]);
    command.args(["--preallocate", &args.preallocate.to_string()]);
    if let Some(bytes) = args.wide_buffer {
        command.args(["--wide-buffer", &bytes.to_string()]);
    }
    command.arg("--directory").arg(&args.directory);
    command.arg("--pmem-directory").arg(&args.pmem_directory);
    if args.meter {
        command.arg("--meter");
    }
    let outcome = command.output().context("cannot start this program once more")?;
    if !outcome.status.success() {
        bail!("a measurement failed: {}", String::from_utf8_lossy(&outcome.stderr).trim());
    }
    serde_json::from_slice(&outcome.stdout).context("a measurement printed no figures")
}

fn measure(args: &Args) -> Result<Figures> {
    let medium = args.medium.first().copied().unwrap_or(Medium::Dram);
    let (kind, directory) = match medium {
        Medium::Dram => (MediumKind::Dram, Path::new("dram").to_owned()),
        Medium::Pmem => (MediumKind::Pmem { emulated: true }, args.pmem_directory.clone()),
        Medium::File => (MediumKind::File, args.directory.clone()),
    };
    let options = GraphOptions {
        medium: kind,
        preallocate_bytes: args.preallocate,
        adjacency: AdjacencyOptions {
            archive_threshold: args.archive_threshold,
            phases: args.phases,
            wide_buffer_bytes: args.wide_buffer,
            ..AdjacencyOptions::default()
        },
        ..GraphOptions::default()
    };
    let graph = Graph::create(&directory, &options, args.meter)?;
    let figures = ingest(args, &graph).and_then(|figures| match args.what {
        What::Ingest => Ok(figures),
        What::Kernels => kernels(&graph, figures),
    });
    drop(graph);
    if kind != MediumKind::Dram {
        Graph::remove(&directory)?;
    }
    Ok(Figures { medium: kind.to_string(), ..figures? })
}

fn ingest(args: &Args, graph: &Graph) -> Result<Figures> {
    let generator = Generator::kron(args.scale, args.degree, 1)?;
    let total = generator.edge_count();
    // All of them first: archiving goes on between batches, and all of it is to be timed.
    let edges = generator.edges(0..total);
    let start = Instant::now();
    for batch in edges.chunks(args.batch) {
        graph.apply(&Batch::insertions(batch.iter().copied(), None)?)?;
    }
    let acknowledged = start.elapsed().as_secs_f64();
    let view = graph.snapshot()?;
    let seconds = start.elapsed().as_secs_f64();
    anyhow::ensure!(view.edge_count() == total, "{} edges of {total}", view.edge_count());
    let meter = graph.meter();
    let edge_bytes = (total * 8) as f64;
    Ok(Figures {
        threads: par::thread_count(),
        acknowledged_per_second: total as f64 / acknowledged,
        archived_per_second: total as f64 / seconds,
        peak_rss_bytes: everedge::peak_rss_bytes() as f64 - (total * 8) as f64,
        disk_bytes: graph.stats()?.disk_bytes as f64,
        media_written_ratio: meter.map(|meter| meter.media_written_bytes as f64 / edge_bytes),
        media_read_ratio: meter.map(|meter| meter.media_read_bytes as f64 / edge_bytes),
        fences: meter.map(|meter| meter.fences as f64),
        ..Figures::default()
    })
}

fn kernels(graph: &Graph, figures: Figures) -> Result<Figures> {
    let view = graph.snapshot()?;
    let csr = view.to_csr();
    let mut times = [(); 4].map(|()| Vec::new());
    for _ in 0..5 {
        for (index, (view, kernel)) in [
            (&view, Kernel::Bfs),
            (&csr, Kernel::Bfs),
            (&view, Kernel::PageRank),
            (&csr, Kernel::PageRank),
        ]
        .into_iter()
        .enumerate()
        {
            let options = RunOptions { iterations: Some(10), ..RunOptions::default() };
            times[index].push(view.run_unverified(kernel, &options)?.seconds);
        }
    }
    let [bfs, bfs_csr, pagerank, pagerank_csr] = times.map(|times| median(&times));
    Ok(Figures {
        bfs_ratio: Some(bfs / bfs_csr),
        pagerank_ratio: Some(pagerank / pagerank_csr),
        bfs_seconds: Some(bfs),
        pagerank_seconds: Some(pagerank),
        ..figures
    })
}

fn medians(trials: &[Figures]) -> Figures {
    let of =
        |value: &dyn Fn(&Figures) -> f64| median(&trials.iter().map(value).collect::<Vec<f64>>());
    let of_some = |value: &dyn Fn(&Figures) -> Option<f64>| {
        let values: Vec<f64> = trials.iter().filter_map(value).collect();
        (!values.is_empty()).then(|| median(&values))
    };
    Figures {
        medium: trials[0].medium.clone(),
        threads: trials[0].threads,
        acknowledged_per_second: of(&|figures| figures.acknowledged_per_second),
        archived_per_second: of(&|figures| figures.archived_per_second),
        peak_rss_bytes: of(&|figures| figures.peak_rss_bytes),
        disk_bytes: of(&|figures| figures.disk_bytes),
        media_written_ratio: of_some(&|figures| figures.media_written_ratio),
        media_read_ratio: of_some(&|figures| figures.media_read_ratio),
        fences: of_some(&|figures| figures.fences),
        bfs_ratio: of_some(&|figures| figures.bfs_ratio),
        pagerank_ratio: of_some(&|figures| figures.pagerank_ratio),
        bfs_seconds: of_some(&|figures| figures.bfs_seconds),
        pagerank_seconds: of_some(&|figures| figures.pagerank_seconds),
    }
}

fn in_words(medians: &[Figures], what: What) -> String {
    let mut words = String::from("medium threads  M edges/s acknowledged  archived  peak memory");
    words.push_str(if what == What::Kernels { "  BFS: CSR  PageRank: CSR" } else { "" });
    for figures in medians {
        words.push_str(&format!(
            "\n{:6} {:7} {:24.1} {:9.1} {:>12}",
            figures.medium,
            figures.threads,
            figures.acknowledged_per_second / 1e6,
            figures.archived_per_second / 1e6,
            bytes(figures.peak_rss_bytes as u64),
        ));
        if let (Some(bfs), Some(pagerank)) = (figures.bfs_ratio, figures.pagerank_ratio) {
            words.push_str(&format!("{bfs:10.2}{pagerank:15.2}"));
        }
        if let (Some(written), Some(read)) = (figures.media_written_ratio, figures.media_read_ratio)
        {
            words.push_str(&format!("  media: {written:.2} written, {read:.2} read a byte"));
        }
    }
    words
}
