//! `everedge bench outofcore`: graphs far larger than memory, sealed and asked within budgets.
//!
//! Source: Wang et al., "Efficient Large Graph Processing with Chunk-Based Graph Representation Model", USENIX ATC
//! 2024, §4. Differences: see `docs/papers.md`.
//!
//! Parts share what they seal: a step of one is a process of its own in a directory that stays until the end
//! (`measurements/sealed.rs`). `bench.rs` is what parts share, `parts.rs` says what each of them measures, `page.rs`
//! draws it.

mod bench;
mod page;
mod parts;

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use everedge::Kernel;
use serde::Serialize;

use self::bench::Bench;
use self::parts::Part;
use crate::arguments::{GraphKind, parsed};
use crate::harness::figures::Row;
use crate::harness::{Common, table};
use crate::machine;
use crate::output::Output;
use crate::page::file;

/// What is asked unless told: the six of the paper, and components.
const KERNELS: [Kernel; 7] = [
    Kernel::Bfs,
    Kernel::Betweenness,
    Kernel::PageRank,
    Kernel::Sssp,
    Kernel::KCore,
    Kernel::Radii,
    Kernel::Wcc,
];

/// Measure sealed graphs that are larger than the memory they are asked within.
///
/// The graph is sealed once in each way that is compared. Each kernel then runs in a process of its own, on caches that
/// are empty, and the system forgets what it has cached of the files before. All answers are held to those of a CSR in
/// memory, and the edges of each sealed graph to those of the file; where they differ, the measurement fails.
///
/// A budget is a part of the size of a plain CSR of the same graph: in each direction 4 bytes an edge and 8 a vertex,
/// with weights 8 an edge. The kernel's arrays and the program are part of it. A budget that is refused is a row
/// that says what would do.
#[derive(clap::Args)]
#[command(after_help = "\
Parts:
  device     reads of 4 KiB at random places and of 1 MiB in order, as fast as the medium can
  kernels    each kernel within each budget: time, what is read, and the part of what the device can do
  ablation   the four techniques of ChunkGraph one by one, and all but one of them
  fragments  the white space in chunks of each size, by the way lists are laid out
  threads    BFS and PageRank by number of threads
  sealing    sealing the file within each budget, beside making a CSR of it
  levels     sizes of chunks, and which list goes where
  order      orders in which vertices are numbered

Examples:
  everedge bench outofcore --scale 20 --report outofcore.html
  everedge bench outofcore --scale 22 --part device,kernels --kernel bfs,pagerank --budget 50,25
  everedge bench outofcore --input edges.bin --part sealing,fragments --trials 1 --json")]
pub(crate) struct Args {
    #[command(flatten)]
    common: Common,

    /// The graph has 2^S ids.
    #[arg(long, default_value_t = 20, value_name = "S")]
    scale: u32,

    /// The graph: Kronecker or uniform.
    #[arg(long, value_enum, default_value = "kron", value_name = "GRAPH")]
    graph: GraphKind,

    /// Edges of your own instead of a generated graph: a file of pairs of 32-bit ids, as
    /// `everedge export GRAPH FILE.bin` writes it.
    #[arg(long, value_name = "FILE.bin", conflicts_with_all = ["scale", "graph"])]
    input: Option<PathBuf>,

    /// Let edges lead both ways.
    #[arg(long)]
    undirected: bool,

    /// The parts to measure, as the list below names them [default: all].
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        value_name = "PART",
        hide_possible_values = true
    )]
    part: Vec<Part>,

    /// The kernels of the part `kernels`; of other parts, whether they ask bfs and pagerank.
    #[arg(long, value_delimiter = ',', value_name = "KERNEL", value_parser = parsed::<Kernel>, default_values_t = KERNELS)]
    kernel: Vec<Kernel>,

    /// In the part `kernels`, write neighbors as four bytes each, as `everedge seal --plain` does.
    #[arg(long)]
    plain: bool,

    /// Budgets of memory, in percent of a plain CSR.
    #[arg(long, value_delimiter = ',', value_name = "PERCENT", default_value = "100,50,25,12",
        value_parser = clap::value_parser!(u32).range(1..))]
    budget: Vec<u32>,

    /// The budget where something else is varied, in percent of a plain CSR.
    #[arg(long, value_name = "PERCENT", default_value_t = 50,
        value_parser = clap::value_parser!(u32).range(1..))]
    fixed_budget: u32,

    /// How often each process runs its kernel, each time from another source and on empty caches; medians are shown.
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,

    /// The numbers of threads of the part `threads`; all else is measured with the largest.
    #[arg(long = "on", value_delimiter = ',', default_value = "1,2", value_name = "N")]
    threads: Vec<usize>,

    /// Where an HTML page with plots is written; it opens without a network.
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
}

/// What a program learns of all parts.
#[derive(Serialize)]
struct Summary {
    version: String,
    machine: String,
    date: String,
    command: String,
    trials: u32,
    runs: u32,
    /// The graph: its size, that of a CSR of it, and that of the sealed one.
    graph: Row,
    parts: Vec<Outcome>,
    #[serde(skip_serializing_if = "Option::is_none")]
    report: Option<PathBuf>,
}

/// A part and what it found.
#[derive(Serialize)]
struct Outcome {
    part: &'static str,
    title: &'static str,
    rows: Vec<Row>,
}

/// Returns the least budget that a kernel of some rows runs with, if one was refused for its budget.
fn least_budget(rows: &[Row]) -> Option<u64> {
    let is_refused = |row: &Row| row.get("answer") == Some(&table::REFUSED.into());
    let least = rows.iter().filter_map(|row| row.get("least_memory_bytes")?.as_u64()).min();
    least.filter(|_| rows.iter().any(is_refused))
}

/// Measures the parts that are asked for.
///
/// # Errors
/// If a measurement fails, an answer is another than on a CSR, or the report cannot be written.
pub(crate) fn run(args: &Args, output: Output) -> Result<()> {
    ensure!(
        args.threads.iter().all(|&threads| threads > 0),
        "there is no work on 0 threads; give --on 1 or more"
    );
    let run = machine::run_info();
    if let Some(path) = &args.report {
        file::check_place(path)?;
    }
    let mut bench = Bench::prepare(args, output)?;
    output.say(bench.in_words())?;
    let is_wanted = |part: &&Part| args.part.is_empty() || args.part.contains(part);
    let (mut found, mut is_said) = (Vec::new(), false);
    for &part in Part::value_variants().iter().filter(is_wanted) {
        let rows = part.measure(&mut bench).with_context(|| format!("part {}", part.name()))?;
        let shown = table::table(&rows, part.varied(), part.columns());
        output.say(format_args!("\n{}: {}\n{shown}", part.name(), part.title()))?;
        if let Some(least) = least_budget(&rows).filter(|_| !is_said) {
            let least = crate::output::bytes(least);
            output.say(format_args!(
                "refused: nothing of this part runs below {least}, which the program takes itself, with room for a few pieces \
                 and the kernel's arrays"
            ))?;
            is_said = true;
        }
        found.push((part, rows));
    }
    if let Some(path) = &args.report {
        file::write(path, &page::page(args, &bench, run.clone(), &found))?;
    }
    let outcome =
        |(part, rows): (Part, _)| Outcome { part: part.name(), title: part.title(), rows };
    let summary = Summary {
        version: run.version,
        machine: run.machine,
        date: run.date,
        command: run.command,
        trials: args.common.trials,
        runs: args.runs,
        graph: bench.graph_row(),
        parts: found.into_iter().map(outcome).collect(),
        report: args.report.clone(),
    };
    output.print(&summary, |_| match &args.report {
        Some(path) => format!("\nreport: {}", path.display()),
        None => "\nA page with plots is written with --report FILE.html.".to_owned(),
    })
}
