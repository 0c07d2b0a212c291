//! Times kernels, ingest and opening beside the plain CSR, and fails if a layout takes too long.
//!
//! `make ratios` runs it. It takes half a minute and needs no other program. The two sides of a ratio
//! take turns, of each the least time counts, and a limit that does not hold is tried again on a new
//! graph, which lies elsewhere in memory. The limits are set to find a kernel that is 1.5 times slower;
//! a few percent are for `everedge bench`.

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;
use std::{env, fs};

use everedge::{
    Csr, CsrOptions, Edge, Generator, Graph, GraphOptions, Kernel, Layout, MediumKind, RunOptions,
    Verify, View, par,
};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// 2^16 vertices.
const SCALE: u32 = 16;
const DEGREE: u32 = 16;
const SEED: u64 = 1;
/// Edges of a batch.
const BATCH: usize = 1 << 16;
/// How often both sides are timed on a graph, each time thrice: so often that the least time of each is
/// one that nothing disturbed.
const ROUNDS: usize = 10;
/// On how many graphs a limit is tried before it has failed.
const GRAPHS: usize = 3;

/// A work, and how many times its baseline it may take.
struct Limit {
    layout: Layout,
    work: Work,
    most: f64,
}

/// What is timed.
#[derive(Clone, Copy)]
enum Work {
    /// A kernel on a fresh snapshot, beside the same kernel on a CSR.
    Kernel(Kernel),
    /// Inserting all edges in batches until a snapshot has them, beside building a CSR.
    Ingest,
    /// Opening the closed graph and taking a snapshot, beside building a CSR.
    Open,
}

const fn limit(layout: Layout, work: Work, most: f64) -> Limit {
    Limit { layout, work, most }
}

const LIMITS: [Limit; 10] = [
    limit(Layout::Adjacency, Work::Kernel(Kernel::Bfs), 2.0),
    limit(Layout::Adjacency, Work::Kernel(Kernel::PageRank), 2.3),
    limit(Layout::Adjacency, Work::Kernel(Kernel::Wcc), 1.9),
    limit(Layout::Adjacency, Work::Ingest, 10.0),
    limit(Layout::Adjacency, Work::Open, 2.6),
    limit(Layout::Pma, Work::Kernel(Kernel::Bfs), 1.3),
    limit(Layout::Pma, Work::Kernel(Kernel::PageRank), 1.4),
    limit(Layout::Pma, Work::Kernel(Kernel::Wcc), 1.35),
    limit(Layout::Pma, Work::Ingest, 10.0),
    limit(Layout::Pma, Work::Open, 1.1),
];

fn main() -> ExitCode {
    let folder = env::temp_dir().join(format!("everedge-ratios-{}", std::process::id()));
    let outcome = par::with_threads(1, || check_all(&folder)).map_err(Into::into).flatten();
    // What was not made need not go.
    let _ = fs::remove_dir_all(&folder);
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("ratios: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Checks every limit; returns whether all hold.
fn check_all(folder: &Path) -> Result<bool> {
    let generator = Generator::kron(SCALE, DEGREE, SEED)?;
    let edges = generator.edges(0..generator.edge_count());
    let mut all_hold = true;
    println!("layout     work       milliseconds     csr  ratio   most");
    for layout in [Layout::Adjacency, Layout::Pma] {
        let mut left: Vec<_> = LIMITS.iter().filter(|limit| limit.layout == layout).collect();
        for _ in 0..GRAPHS {
            if left.is_empty() {
                break;
            }
            fs::create_dir_all(folder)?;
            let closed = folder.join("closed");
            let graph = ingested(&folder.join("open"), layout, &edges)?;
            ingested(&closed, layout, &edges)?.close()?;
            let view = graph.snapshot()?;
            let subject = Subject { layout, folder, closed: &closed, view, edges: &edges };
            let holds: Vec<bool> =
                left.iter().map(|limit| subject.check(limit)).collect::<Result<_>>()?;
            let mut holds = holds.into_iter();
            left.retain(|_| holds.next() == Some(false));
            drop(subject);
            graph.close()?;
            fs::remove_dir_all(folder)?;
        }
        all_hold &= left.is_empty();
    }
    Ok(all_hold)
}

/// A graph in one of the layouts.
struct Subject<'a> {
    layout: Layout,
    folder: &'a Path,
    /// Where its graph lies closed.
    closed: &'a Path,
    view: View,
    edges: &'a [Edge],
}

impl Subject<'_> {
    /// Returns whether a limit holds, and prints the ratio.
    fn check(&self, limit: &Limit) -> Result<bool> {
        let (most, mut least, mut least_csr) = (limit.most, f64::MAX, f64::MAX);
        for _ in 0..ROUNDS {
            least = least.min(self.time(limit.work)?);
            least_csr = least_csr.min(self.time_csr(limit.work)?);
        }
        let ratio = least / least_csr;
        let name = match limit.work {
            Work::Kernel(kernel) => kernel.name(),
            Work::Ingest => "ingest",
            Work::Open => "open",
        };
        let verdict = if ratio <= most { "" } else { "  too much" };
        let (layout, least, least_csr) = (self.layout.to_string(), least * 1e3, least_csr * 1e3);
        println!(
            "{layout:10} {name:10} {least:12.2} {least_csr:7.2} {ratio:6.2} {most:6.2}{verdict}"
        );
        Ok(ratio <= most)
    }

    /// Returns the seconds that a work takes.
    fn time(&self, work: Work) -> Result<f64> {
        match work {
            Work::Kernel(kernel) => self.time_kernel(kernel, false),
            Work::Ingest => {
                let path = self.folder.join("new");
                let start = Instant::now();
                let graph = ingested(&path, self.layout, self.edges)?;
                graph.snapshot()?;
                let seconds = start.elapsed().as_secs_f64();
                graph.close()?;
                Graph::remove(&path)?;
                Ok(seconds)
            }
            Work::Open => {
                let start = Instant::now();
                let graph = Graph::open(self.closed, false)?;
                graph.snapshot()?;
                let seconds = start.elapsed().as_secs_f64();
                graph.close()?;
                Ok(seconds)
            }
        }
    }

    /// Returns the seconds that its baseline takes.
    fn time_csr(&self, work: Work) -> Result<f64> {
        if let Work::Kernel(kernel) = work {
            return self.time_kernel(kernel, true);
        }
        let start = Instant::now();
        let options = CsrOptions { directed: true, declared: &[] };
        std::hint::black_box(Csr::from_edges(self.edges, None, options));
        Ok(start.elapsed().as_secs_f64())
    }

    fn time_kernel(&self, kernel: Kernel, csr: bool) -> Result<f64> {
        let options =
            RunOptions { trials: 3, threads: 1, csr, verify: Verify::None, ..Default::default() };
        let report = self.view.run(kernel, &options)?;
        Ok(report.trials.into_iter().fold(f64::MAX, f64::min))
    }
}

/// Makes a graph as if on persistent memory: no device has a part in its times.
fn ingested(path: &Path, layout: Layout, edges: &[Edge]) -> Result<Graph> {
    let medium = MediumKind::Pmem { emulated: true };
    let options = GraphOptions { layout, medium, directed: true, ..GraphOptions::default() };
    let graph = Graph::create(path, &options, false)?;
    for batch in edges.chunks(BATCH) {
        graph.insert(batch, None)?;
    }
    Ok(graph)
}
