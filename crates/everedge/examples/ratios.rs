//! Counts the instructions of kernels, an ingest and an opening by those of the same work on a plain
//! CSR, and fails if a layout needs too many.
//!
//! `make ratios` runs it, under valgrind. Instructions are the same on a busy machine and on an idle
//! one, so a limit lies a tenth above what was counted last: a loop that is compiled worse is seen at
//! once. What memory costs is not: `everedge bench` measures that.
//!
//! For each work this program runs once more, under valgrind: it makes a graph, its snapshot and its
//! CSR, and does the work. What a run without work takes is subtracted.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::str::FromStr;
use std::thread;

use everedge::{
    Csr, CsrOptions, Edge, Generator, Graph, GraphOptions, Kernel, Layout, MediumKind, RunOptions,
    Verify, par,
};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// 2^12 vertices.
const SCALE: u32 = 12;
const DEGREE: u32 = 16;
const SEED: u64 = 1;
/// Edges of a batch.
const BATCH: usize = 1 << 13;

/// A work, and how many times the instructions of its baseline it may take.
struct Limit {
    layout: Layout,
    work: &'static str,
    baseline: &'static str,
    most: f64,
}

const fn limit(layout: Layout, work: &'static str, baseline: &'static str, most: f64) -> Limit {
    Limit { layout, work, baseline, most }
}

const LIMITS: [Limit; 18] = [
    limit(Layout::Adjacency, "bfs", "bfs-csr", 1.2),
    limit(Layout::Adjacency, "pagerank", "pagerank-csr", 1.2),
    limit(Layout::Adjacency, "wcc", "wcc-csr", 1.5),
    limit(Layout::Adjacency, "triangles", "triangles-csr", 1.2),
    limit(Layout::Adjacency, "ingest", "csr", 2.4),
    limit(Layout::Adjacency, "open", "csr", 0.78),
    limit(Layout::Pma, "bfs", "bfs-csr", 1.15),
    limit(Layout::Pma, "pagerank", "pagerank-csr", 1.05),
    limit(Layout::Pma, "wcc", "wcc-csr", 1.25),
    limit(Layout::Pma, "triangles", "triangles-csr", 1.2),
    limit(Layout::Pma, "ingest", "csr", 2.6),
    limit(Layout::Pma, "open", "csr", 0.79),
    limit(Layout::Blocks, "bfs", "bfs-csr", 1.25),
    limit(Layout::Blocks, "pagerank", "pagerank-csr", 1.15),
    limit(Layout::Blocks, "wcc", "wcc-csr", 1.6),
    limit(Layout::Blocks, "triangles", "triangles-csr", 1.2),
    limit(Layout::Blocks, "ingest", "csr", 5.0),
    limit(Layout::Blocks, "open", "csr", 0.85),
];

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let outcome = match &words[..] {
        [] => check_all(),
        [folder, layout, work] => do_once(Path::new(folder), layout, work).map(|()| true),
        _ => Err("it takes no words".into()),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("ratios: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Checks every limit, and returns whether all hold.
fn check_all() -> Result<bool> {
    let folder = env::temp_dir().join(format!("everedge-ratios-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let counted = thread::scope(|scope| {
        let check = |layout| {
            let folder = folder.join(Layout::to_string(&layout));
            scope.spawn(move || count_all(layout, &folder))
        };
        let threads = Layout::ALL.map(check);
        threads.map(|thread| thread.join().expect("counting does not panic"))
    });
    fs::remove_dir_all(&folder)?;
    println!("layout     work       instructions     baseline  ratio   most");
    let mut all_hold = true;
    for counted in counted {
        for (Limit { layout, work, most, .. }, count, baseline) in counted? {
            let ratio = count as f64 / baseline as f64;
            let verdict = if ratio <= *most { "" } else { "  too many" };
            let layout = layout.to_string();
            println!(
                "{layout:10} {work:10} {count:12} {baseline:12} {ratio:6.2} {most:6.2}{verdict}"
            );
            all_hold &= ratio <= *most;
        }
    }
    Ok(all_hold)
}

/// Returns the instructions of each work of a layout, and those of its baseline.
fn count_all(layout: Layout, folder: &Path) -> Result<Vec<(&'static Limit, u64, u64)>> {
    let idle = count(folder, layout, "none")?;
    let of = |work| -> Result<u64> { Ok(count(folder, layout, work)?.saturating_sub(idle).max(1)) };
    let limits = LIMITS.iter().filter(|limit| limit.layout == layout);
    limits.map(|limit| Ok((limit, of(limit.work)?, of(limit.baseline)?))).collect()
}

/// Returns the instructions that this program takes for a work, by valgrind.
fn count(folder: &Path, layout: Layout, work: &str) -> Result<u64> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]);
    command.arg(env::current_exe()?).arg(folder).args([&layout.to_string(), work]);
    let outcome = command.output().map_err(|error| format!("cannot start valgrind: {error}"))?;
    let removed = fs::remove_dir_all(folder);
    let said = String::from_utf8_lossy(&outcome.stderr);
    let refs =
        said.lines().find_map(|line| line.split_once("I   refs:").or(line.split_once("I refs:")));
    match refs {
        Some((_, digits)) if outcome.status.success() => {
            removed?;
            Ok(digits.chars().filter(char::is_ascii_digit).collect::<String>().parse()?)
        }
        _ => Err(format!("{layout} {work} under valgrind: {}\n{said}", outcome.status).into()),
    }
}

/// Makes a graph, its snapshot and its CSR, and does a work with them.
fn do_once(folder: &Path, layout: &str, work: &str) -> Result<()> {
    let layout = Layout::from_str(layout)?;
    let place = |name: &str| -> PathBuf { folder.join(format!("{work}-{name}")) };
    fs::create_dir_all(folder)?;
    let generator = Generator::kron(SCALE, DEGREE, SEED)?;
    let edges = generator.edges(0..generator.edge_count());
    par::with_threads(1, || {
        let graph = ingested(&place("open"), layout, &edges)?;
        ingested(&place("closed"), layout, &edges)?.close()?;
        let view = graph.snapshot()?;
        let csr = view.to_csr()?;
        match (work, work.split_once('-')) {
            ("none", _) => {}
            ("csr", _) => {
                let options = CsrOptions { directed: true, declared: &[] };
                std::hint::black_box(Csr::from_edges(&edges, None, options));
            }
            ("ingest", _) => drop(ingested(&place("new"), layout, &edges)?.snapshot()?),
            ("open", _) => drop(Graph::open(&place("closed"), false)?.snapshot()?),
            (_, Some((kernel, _))) => drop(csr.run(kernel.parse()?, &unverified())?),
            (kernel, None) => drop(view.run(kernel.parse::<Kernel>()?, &unverified())?),
        }
        Ok(())
    })?
}

fn unverified() -> RunOptions {
    RunOptions { threads: 1, verify: Verify::None, ..Default::default() }
}

/// Makes a graph as if on persistent memory.
fn ingested(path: &Path, layout: Layout, edges: &[Edge]) -> Result<Graph> {
    let medium = MediumKind::Pmem { emulated: true };
    let options = GraphOptions { layout, medium, directed: true, ..GraphOptions::default() };
    let graph = Graph::create(path, &options, false)?;
    for batch in edges.chunks(BATCH) {
        graph.insert(batch, None)?;
    }
    Ok(graph)
}
