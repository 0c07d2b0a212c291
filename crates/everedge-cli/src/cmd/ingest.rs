//! `everedge ingest`: takes files into a graph, creating it if there is none.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::ValueEnum;
use everedge::{
    Choices, Column, Columns, Durability, Graph, GraphOptions, IdKind, IngestOptions, IngestReport,
    Layout, MediumKind, Progress,
};
use indicatif::ProgressBar;

use super::{FormatChoice, Medium, Tuning};
use crate::output::{Output, bytes, count, seconds};

/// Take edges from files into a graph.
///
/// Creates GRAPH if there is none. Files are SNAP edge lists, CSV, TSV, Matrix Market, DIMACS,
/// METIS, Graphalytics .v and .e, Parquet or pairs of 32-bit integers (.bin), plain, .gz or .zst,
/// told apart by name and content; `-` is standard input.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The directory of the graph.
    graph: PathBuf,

    /// The files, in the order in which they are taken in.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// How a new graph keeps neighbors: adjacency, lists in blocks, or pma, arrays with gaps that are
    /// read like a CSR.
    #[arg(long, value_parser = super::parsed::<Layout>, default_value = "adjacency")]
    layout: Layout,

    /// Where a new graph lives.
    #[arg(long, value_enum, default_value = "file")]
    medium: Medium,

    /// Lets --medium pmem use a file system without DAX, for tests and measurements.
    #[arg(long)]
    emulate_pmem: bool,

    /// Says that the power-fail domain takes in the processor's caches (eADR).
    #[arg(long)]
    eadr: bool,

    /// The format of the files.
    #[arg(long, default_value = "auto", value_name = "FORMAT")]
    format: FormatChoice,

    /// Delete the edges instead of inserting them.
    #[arg(long)]
    delete: bool,

    /// A new graph is undirected.
    #[arg(long, conflicts_with = "directed")]
    undirected: bool,

    /// A new graph is directed, even if its first file has a format that is not.
    #[arg(long)]
    directed: bool,

    /// A new graph keeps the third column, or the format's weights.
    #[arg(long)]
    weighted: bool,

    /// A new graph keeps one edge for a pair; inserting it again replaces its weight.
    #[arg(long)]
    simple: bool,

    /// A new directed graph keeps no in-neighbors: less space, slower kernels.
    #[arg(long)]
    no_in: bool,

    /// What ids are: integers below 2^31 as they are, or anything through an id map.
    #[arg(long, value_enum, default_value = "auto")]
    ids: Ids,

    /// Leave self-loops out; their ends are vertices all the same.
    #[arg(long)]
    drop_self_loops: bool,

    /// Edges of a batch: what is acknowledged and becomes visible together.
    #[arg(long, default_value_t = 1 << 16, value_name = "N")]
    batch: usize,

    /// When a new graph's updates are safe: after each edge, each batch, or at the close.
    #[arg(long, value_parser = super::parsed::<Durability>, default_value = "batch")]
    durability: Durability,

    /// The bytes that a new graph's edge log may take, with K, M or G.
    #[arg(long, value_parser = super::size, default_value = "1G", value_name = "SIZE")]
    log_size: u64,

    /// The column of sources in CSV, TSV and Parquet, by number from 0 or by name.
    #[arg(long, value_name = "COLUMN")]
    src: Option<String>,

    /// The column of destinations.
    #[arg(long, value_name = "COLUMN")]
    dst: Option<String>,

    /// The column of weights.
    #[arg(long, value_name = "COLUMN")]
    weight: Option<String>,

    /// Count what the medium reads and writes; slower.
    #[arg(long)]
    meter: bool,

    /// After each batch print how many edges are acknowledged, a number a line.
    #[arg(long, conflicts_with = "json")]
    acknowledge: bool,

    #[command(flatten)]
    tuning: Tuning,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Ids {
    Auto,
    Dense,
    Map,
}

pub(crate) fn run(args: &Args, output: Output) -> Result<ExitCode> {
    let options = graph_options(args);
    let ingest = ingest_options(args);
    let choices = Choices {
        directed_fixed: args.directed || args.undirected,
        ids: match args.ids {
            Ids::Auto => None,
            Ids::Dense => Some(false),
            Ids::Map => Some(true),
        },
        meter: args.meter,
    };
    let existed = args.graph.exists();
    let first = args.files.first().map(PathBuf::as_path);
    let graph = Graph::open_or_create(&args.graph, &options, choices, first, &ingest)?;
    let outcome = take_in(&graph, args, &ingest, output);
    let is_empty = !existed && graph.stats().is_ok_and(|stats| stats.vertices == 0);
    graph.close()?;
    if outcome.is_err() && is_empty {
        Graph::remove(&args.graph)?;
    }
    let report = IngestReport { peak_rss_bytes: everedge::peak_rss_bytes(), ..outcome? };
    output.print(&report, in_words)?;
    Ok(ExitCode::SUCCESS)
}

fn take_in(
    graph: &Graph,
    args: &Args,
    ingest: &IngestOptions,
    output: Output,
) -> everedge::Result<IngestReport> {
    let mut shown: Option<(usize, ProgressBar)> = None;
    let mut show = |progress: Progress| {
        if shown.as_ref().is_none_or(|(file, _)| *file != progress.file) {
            let name = args.files[progress.file].display().to_string();
            shown = Some((progress.file, output.byte_bar(&name, progress.bytes_total)));
        }
        if let Some((_, bar)) = &shown {
            bar.set_position(progress.bytes_read);
            bar.set_prefix(format!("{} edges", count(progress.edges)));
        }
        // Nobody learns of further batches when standard output is gone: stop then.
        !args.acknowledge || writeln!(std::io::stdout(), "{}", progress.edges).is_ok()
    };
    let report = graph.ingest(&args.files, ingest, &mut show);
    if let Some((_, bar)) = shown {
        bar.finish_and_clear();
    }
    report
}

fn graph_options(args: &Args) -> GraphOptions {
    args.tuning.apply(GraphOptions {
        layout: args.layout,
        medium: match args.medium {
            Medium::File => MediumKind::File,
            Medium::Pmem => MediumKind::Pmem { emulated: args.emulate_pmem },
            Medium::Dram => MediumKind::Dram,
        },
        eadr: args.eadr,
        directed: !args.undirected,
        weighted: args.weighted,
        simple: args.simple,
        in_neighbors: !args.no_in,
        ids: IdKind::Dense,
        durability: args.durability,
        log_bytes: args.log_size,
        ..GraphOptions::default()
    })
}

fn ingest_options(args: &Args) -> IngestOptions {
    let column = |given: &Option<String>, default: Column| match given {
        None => default,
        Some(word) => word.parse().map_or(Column::Name(word.clone()), Column::Index),
    };
    let is_given = args.src.is_some() || args.dst.is_some() || args.weight.is_some();
    let default = Columns::default();
    IngestOptions {
        format: args.format.0,
        delete: args.delete,
        batch: args.batch,
        drop_self_loops: args.drop_self_loops,
        columns: is_given.then(|| Columns {
            src: column(&args.src, default.src),
            dst: column(&args.dst, default.dst),
            weight: column(&args.weight, default.weight),
        }),
    }
}

fn in_words(report: &IngestReport) -> String {
    let mut words = format!(
        "{} edges read in {} ({} a second): {} inserted, {} deleted, {} deletions ignored\n\
         the graph has {} vertices and {} edges; peak memory {}",
        count(report.edges_read),
        seconds(report.seconds),
        count(report.edges_per_second as u64),
        count(report.edges_inserted),
        count(report.edges_deleted),
        count(report.deletes_ignored),
        count(report.vertices),
        count(report.edges),
        bytes(report.peak_rss_bytes),
    );
    if let Some(medium) = &report.medium {
        words.push_str(&format!(
            "\nmedium: {} stored, {} written and {} read by the device, {} fences",
            bytes(medium.stored_bytes),
            bytes(medium.media_written_bytes),
            bytes(medium.media_read_bytes),
            count(medium.fences),
        ));
    }
    words
}
