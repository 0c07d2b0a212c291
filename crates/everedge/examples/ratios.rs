//! Counts instructions, and fails if a layout needs too many beside the plain CSR.
//!
//! `make ratios` runs it. Times of a busy machine say little; the number of instructions hardly
//! changes. It counts them with callgrind (valgrind), each workload in a process of its own and on
//! one thread. What comes before a workload is taken away: a process that runs a kernel once is
//! subtracted from one that runs it three times. Without valgrind it says so and succeeds.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::{env, fs};

use everedge::{
    Csr, CsrOptions, Edge, Generator, Graph, GraphOptions, Kernel, Layout, RunOptions, Verify, par,
};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// 2^14 vertices.
const SCALE: u32 = 14;
const DEGREE: u32 = 16;
const SEED: u64 = 1;
/// Edges of a batch.
const BATCH: usize = 1 << 14;

/// A workload, and how many times the instructions of its baseline it may need.
struct Limit {
    layout: Layout,
    work: Work,
    most: f64,
}

/// What is counted.
#[derive(Clone, Copy)]
enum Work {
    /// A kernel on a fresh snapshot, beside the same kernel on a CSR.
    Kernel(Kernel),
    /// Inserting all edges in batches until the graph is closed, beside building a CSR.
    Ingest,
    /// Opening the closed graph, beside building a CSR.
    Open,
}

const fn limit(layout: Layout, work: Work, most: f64) -> Limit {
    Limit { layout, work, most }
}

const LIMITS: [Limit; 10] = [
    limit(Layout::Adjacency, Work::Kernel(Kernel::Bfs), 4.0),
    limit(Layout::Adjacency, Work::Kernel(Kernel::PageRank), 3.0),
    limit(Layout::Adjacency, Work::Kernel(Kernel::Wcc), 3.5),
    limit(Layout::Adjacency, Work::Ingest, 40.0),
    limit(Layout::Adjacency, Work::Open, 20.0),
    limit(Layout::Pma, Work::Kernel(Kernel::Bfs), 3.0),
    limit(Layout::Pma, Work::Kernel(Kernel::PageRank), 2.5),
    limit(Layout::Pma, Work::Kernel(Kernel::Wcc), 3.0),
    limit(Layout::Pma, Work::Ingest, 50.0),
    limit(Layout::Pma, Work::Open, 20.0),
];

fn main() -> ExitCode {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words[..] {
        [] => check_all(),
        _ => par::with_threads(1, || do_work(&words)).map_err(Into::into).and_then(|done| done),
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

/// Checks every limit; returns whether all hold.
fn check_all() -> Result<bool> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        println!("ratios: left out, there is no valgrind to count instructions with");
        return Ok(true);
    }
    let folder = env::temp_dir().join(format!("everedge-ratios-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    let outcome = check_in(&folder);
    fs::remove_dir_all(&folder)?;
    outcome
}

fn check_in(folder: &Path) -> Result<bool> {
    let graph_of = |layout: Layout| folder.join(layout.to_string());
    for layout in [Layout::Adjacency, Layout::Pma] {
        ingest(&graph_of(layout), layout, &edges()?)?;
    }
    let counter = Counter { folder };
    let csr = (counter.count(&["csr", "3"])? - counter.count(&["csr", "1"])?) / 2.0;
    let mut all_hold = true;
    println!(
        "{:10} {:10} {:>15} {:>15} {:>7} {:>7}",
        "layout", "work", "counted", "csr", "ratio", "most"
    );
    for Limit { layout, work, most } in LIMITS {
        let graph = graph_of(layout);
        let (name, counted, baseline) = match work {
            Work::Kernel(kernel) => {
                let of = |view| counter.count_kernel(&graph, kernel, view);
                (kernel.name(), of("snapshot")?, of("csr")?)
            }
            Work::Ingest => ("ingest", counter.count_ingest(layout)?, csr),
            Work::Open => ("open", counter.count_once("open", &graph, &[])?, csr),
        };
        let ratio = counted / baseline;
        let verdict = if ratio <= most { "" } else { "  too many" };
        let layout = layout.to_string();
        println!(
            "{layout:10} {name:10} {counted:>15.0} {baseline:>15.0} {ratio:>7.2} {most:>7.2}{verdict}"
        );
        all_hold &= ratio <= most;
    }
    Ok(all_hold)
}

/// Runs this program again under callgrind.
struct Counter<'a> {
    folder: &'a Path,
}

impl Counter<'_> {
    /// Returns how many instructions a process that does `words` needs.
    fn count(&self, words: &[&str]) -> Result<f64> {
        let counts = self.folder.join("counts");
        let output = Command::new("valgrind")
            .args(["--tool=callgrind", "--quiet"])
            .arg(format!("--callgrind-out-file={}", counts.display()))
            .arg(env::current_exe()?)
            .args(words)
            .output()?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into());
        }
        let text = fs::read_to_string(counts)?;
        let mut totals = text.lines().filter_map(|line| line.strip_prefix("totals: "));
        let total = totals.next_back().ok_or("callgrind wrote no totals")?;
        Ok(total.trim().parse()?)
    }

    /// Returns how many instructions doing a work once more takes.
    fn count_once(&self, work: &str, graph: &Path, words: &[&str]) -> Result<f64> {
        let graph = graph.to_str().ok_or("the folder for temporary files is no text")?;
        let times = |times| self.count(&[&[work, graph, times], words].concat());
        Ok((times("3")? - times("1")?) / 2.0)
    }

    fn count_kernel(&self, graph: &Path, kernel: Kernel, view: &str) -> Result<f64> {
        self.count_once("kernel", graph, &[kernel.name(), view])
    }

    fn count_ingest(&self, layout: Layout) -> Result<f64> {
        let layout = layout.to_string();
        let counted = |name: &str| {
            let graph = self.folder.join(format!("{layout}-{name}"));
            let words = ["ingest", graph.to_str().ok_or("no text")?, &layout, name];
            self.count(&words)
        };
        Ok(counted("all")? - counted("none")?)
    }
}

/// Does what a process under callgrind is told.
fn do_work(words: &[&str]) -> Result<bool> {
    match *words {
        ["csr", times] => {
            let edges = edges()?;
            for _ in 0..times.parse()? {
                let options = CsrOptions { directed: true, declared: &[] };
                std::hint::black_box(Csr::from_edges(&edges, None, options));
            }
        }
        ["ingest", graph, layout, which] => {
            let edges = edges()?;
            let edges = if which == "all" { &edges[..] } else { &[] };
            ingest(Path::new(graph), layout.parse()?, edges)?;
        }
        ["open", graph, times] => {
            for _ in 0..times.parse()? {
                Graph::open(Path::new(graph), false)?.close()?;
            }
        }
        ["kernel", graph, times, kernel, view] => {
            let options = RunOptions {
                trials: times.parse()?,
                csr: view == "csr",
                verify: Verify::None,
                ..RunOptions::default()
            };
            let graph = Graph::open_read_only(Path::new(graph))?;
            graph.snapshot()?.run(kernel.parse()?, &options)?;
        }
        _ => return Err("run it without words".into()),
    }
    Ok(true)
}

fn edges() -> Result<Vec<Edge>> {
    let generator = Generator::kron(SCALE, DEGREE, SEED)?;
    Ok(generator.edges(0..generator.edge_count()))
}

fn ingest(path: &Path, layout: Layout, edges: &[Edge]) -> Result<()> {
    let options = GraphOptions { layout, directed: true, ..GraphOptions::default() };
    let graph = Graph::create(path, &options, false)?;
    for batch in edges.chunks(BATCH) {
        graph.insert(batch, None)?;
    }
    Ok(graph.close()?)
}
