//! Running kernels by name: parameters, timing, and answers in a fixed form.

use std::fmt;
use std::str::FromStr;
use std::time::Instant;

use everedge_core::{GraphView, VertexId, par};
use everedge_kernels as kernels;
use everedge_kernels::{PageRankConfig, SsspConfig};
use serde::Serialize;
use serde_json::{Value, json};

use crate::any_view::with_view;
use crate::{Error, Result, Values, View};

/// A kernel by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kernel {
    /// The out-neighbors of a source.
    OneHop,
    /// Breadth-first search from a source.
    Bfs,
    /// PageRank.
    PageRank,
    /// Weakly connected components.
    Wcc,
    /// Shortest paths from a source by weights; without weights every edge has length 1.
    Sssp,
}

impl Kernel {
    /// Every kernel.
    pub const ALL: [Self; 5] = [Self::OneHop, Self::Bfs, Self::PageRank, Self::Wcc, Self::Sssp];

    /// Returns the word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::OneHop => "one-hop",
            Self::Bfs => "bfs",
            Self::PageRank => "pagerank",
            Self::Wcc => "wcc",
            Self::Sssp => "sssp",
        }
    }

    /// Returns whether it starts from a source.
    pub fn has_source(self) -> bool {
        matches!(self, Self::OneHop | Self::Bfs | Self::Sssp)
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Kernel {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|kernel| kernel.name() == text).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            Error::invalid(format!("no kernel is called `{text}`; there are {names}"))
        })
    }
}

/// How a kernel runs.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// The name of the source; the vertex of largest out-degree (the smallest of them) if `None`.
    pub source: Option<String>,
    /// PageRank: how many iterations at most.
    pub iterations: Option<u32>,
    /// PageRank: ends when the ranks change by less in sum. Only one of the two given: the other
    /// does not end it.
    pub tolerance: Option<f64>,
    /// How many leading vertices the result names; 10 if `None`.
    pub top: Option<usize>,
    /// How often it runs; once if 0.
    pub trials: usize,
    /// Threads; 0 is one a core.
    pub threads: usize,
    /// Runs on a plain CSR copy, whose building is not timed.
    pub csr: bool,
}

/// What a run found. Serializes to the keys of `everedge run --json`.
#[derive(Clone, Debug, Serialize)]
pub struct RunReport {
    /// The kernel.
    pub kernel: &'static str,
    /// The name of the source, if it has one.
    pub source: Option<Value>,
    /// Threads that it ran on.
    pub threads: usize,
    /// How long opening the graph took.
    pub open_seconds: f64,
    /// The kernel alone: the median of `trials`.
    pub seconds: f64,
    /// The time of each trial.
    pub trials: Vec<f64>,
    /// Iterations, of a kernel that has them.
    pub iterations: Option<u32>,
    /// The most memory that this process has taken.
    pub peak_rss_bytes: u64,
    /// Bytes read from the medium by the kernel itself; 0 for a graph that is mapped.
    pub read_bytes: u64,
    /// The answer in short.
    pub result: Value,
    /// The answer for each vertex.
    #[serde(skip)]
    pub values: Values,
}

impl View {
    /// Runs a kernel and verifies its answer.
    ///
    /// # Errors
    /// `Kernel` if the source is no vertex or a parameter is out of range.
    pub fn run(&self, kernel: Kernel, options: &RunOptions) -> Result<RunReport> {
        self.run_and_check(kernel, options, true)
    }

    /// Runs a kernel and takes its answer on trust, for measurements that verified it before.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn run_unverified(&self, kernel: Kernel, options: &RunOptions) -> Result<RunReport> {
        self.run_and_check(kernel, options, false)
    }

    fn run_and_check(
        &self,
        kernel: Kernel,
        options: &RunOptions,
        verifies: bool,
    ) -> Result<RunReport> {
        if (options.csr && !self.is_csr()) || !self.any.has_in_neighbors() {
            let options = RunOptions { csr: false, ..options.clone() };
            return self.to_csr().run_and_check(kernel, &options, verifies);
        }
        let source = self.source(kernel, options)?;
        let run = || {
            let mut trials = Vec::new();
            let mut answer = None;
            for _ in 0..options.trials.max(1) {
                let start = Instant::now();
                answer = Some(self.answer(kernel, source, options)?);
                trials.push(start.elapsed().as_secs_f64());
            }
            let answer = answer.ok_or_else(|| Error::invalid("no trial"))?;
            if verifies {
                self.verify_answer(&answer, source, options)?;
            }
            Ok::<_, Error>((answer, trials, par::thread_count()))
        };
        let (answer, trials, threads) = par::with_threads(options.threads, run)
            .map_err(|e| Error::invalid(format!("cannot start threads: {e}")))??;
        let iterations = match &answer {
            Answer::PageRank(pagerank) => Some(pagerank.iterations),
            _ => None,
        };
        Ok(RunReport {
            kernel: kernel.name(),
            source: source.map(|v| self.json_name(v)),
            threads,
            open_seconds: self.open_time.as_secs_f64(),
            seconds: median(&trials),
            trials,
            iterations,
            peak_rss_bytes: peak_rss_bytes(),
            read_bytes: 0,
            result: self.summarize(&answer, options.top.unwrap_or(10)),
            values: answer.into_values(),
        })
    }

    fn is_csr(&self) -> bool {
        matches!(self.any, crate::any_view::AnyView::Csr(_))
    }

    fn source(&self, kernel: Kernel, options: &RunOptions) -> Result<Option<VertexId>> {
        if !kernel.has_source() {
            return Ok(None);
        }
        if let Some(name) = &options.source {
            return match self.find(name) {
                Some(v) => Ok(Some(v)),
                None => Err(Error::invalid(format!("vertex `{name}` is not in the graph"))),
            };
        }
        let degrees = self.out_degrees();
        let largest = with_view!(&self.any, view => {
            (0..view.vertex_bound())
                .filter(|&v| view.is_vertex(v))
                .max_by_key(|&v| (degrees[v as usize], std::cmp::Reverse(v)))
        });
        largest.map(Some).ok_or_else(|| Error::invalid("the graph has no vertices"))
    }

    fn answer(
        &self,
        kernel: Kernel,
        source: Option<VertexId>,
        options: &RunOptions,
    ) -> Result<Answer> {
        let source = source.unwrap_or_default();
        Ok(with_view!(&self.any, view => match kernel {
            Kernel::OneHop => Answer::OneHop(kernels::one_hop(view, source)?),
            Kernel::Bfs => Answer::Bfs(kernels::bfs(view, source)?),
            Kernel::PageRank => {
                Answer::PageRank(kernels::pagerank(view, &pagerank_config(options))?)
            }
            Kernel::Wcc => Answer::Wcc(kernels::wcc(view)),
            Kernel::Sssp => Answer::Sssp(kernels::sssp(view, source, &SsspConfig::default())?),
        }))
    }

    fn verify_answer(
        &self,
        answer: &Answer,
        source: Option<VertexId>,
        options: &RunOptions,
    ) -> Result<()> {
        let source = source.unwrap_or_default();
        Ok(with_view!(&self.any, view => match answer {
            Answer::OneHop(neighbors) => kernels::verify_one_hop(view, source, neighbors),
            Answer::Bfs(bfs) => kernels::verify_bfs(view, source, bfs),
            Answer::PageRank(pagerank) => {
                kernels::verify_pagerank(view, &pagerank_config(options), pagerank)
            }
            Answer::Wcc(wcc) => kernels::verify_wcc(view, wcc),
            Answer::Sssp(sssp) => kernels::verify_sssp(view, source, sssp),
        })?)
    }

    fn summarize(&self, answer: &Answer, top: usize) -> Value {
        match answer {
            Answer::OneHop(neighbors) => {
                let first: Vec<Value> =
                    neighbors.iter().take(top).map(|&v| self.json_name(v)).collect();
                json!({ "count": neighbors.len(), "neighbors": first })
            }
            Answer::Bfs(bfs) => json!({ "reached": bfs.reached_count(), "depth": bfs.depth_max() }),
            Answer::PageRank(pagerank) => {
                let leaders = leaders(&pagerank.rank, top);
                let top: Vec<Value> = leaders
                    .into_iter()
                    .map(|v| json!([self.json_name(v), pagerank.rank[v as usize]]))
                    .collect();
                json!({ "sum": pagerank.rank.iter().sum::<f64>(), "top": top })
            }
            Answer::Wcc(wcc) => {
                json!({ "components": wcc.component_count(), "largest": wcc.largest() })
            }
            Answer::Sssp(sssp) => {
                json!({ "reached": sssp.reached_count(), "max": sssp.distance_max() })
            }
        }
    }

    fn json_name(&self, v: VertexId) -> Value {
        match self.name_of(v) {
            crate::ExternalId::Integer(id) => json!(id),
            crate::ExternalId::Text(id) => json!(id),
        }
    }
}

/// A kernel's answer in its own form.
enum Answer {
    OneHop(Vec<VertexId>),
    Bfs(kernels::Bfs),
    PageRank(kernels::PageRank),
    Wcc(kernels::Wcc),
    Sssp(kernels::Sssp),
}

impl Answer {
    fn into_values(self) -> Values {
        match self {
            Self::OneHop(neighbors) => Values::Neighbors(neighbors),
            Self::Bfs(bfs) => Values::Depth(bfs.depth),
            Self::PageRank(pagerank) => Values::Rank(pagerank.rank),
            Self::Wcc(wcc) => Values::Component(wcc.component),
            Self::Sssp(sssp) => Values::Distance(sssp.distance),
        }
    }
}

fn pagerank_config(options: &RunOptions) -> PageRankConfig {
    let default = PageRankConfig::default();
    match (options.iterations, options.tolerance) {
        (None, None) => default,
        (Some(iterations_max), None) => {
            PageRankConfig { iterations_max, tolerance: 0.0, ..default }
        }
        (None, Some(tolerance)) => {
            PageRankConfig { iterations_max: u32::MAX, tolerance, ..default }
        }
        (Some(iterations_max), Some(tolerance)) => {
            PageRankConfig { iterations_max, tolerance, ..default }
        }
    }
}

/// The vertices of largest rank, the smaller id first among equals.
fn leaders(rank: &[f64], count: usize) -> Vec<VertexId> {
    let mut order: Vec<VertexId> = (0..rank.len() as u32).collect();
    let by_rank =
        |u: &VertexId, v: &VertexId| rank[*v as usize].total_cmp(&rank[*u as usize]).then(u.cmp(v));
    if count < order.len() {
        order.select_nth_unstable_by(count, by_rank);
        order.truncate(count);
    }
    order.sort_unstable_by(by_rank);
    order.retain(|&v| rank[v as usize] > 0.0);
    order
}

/// Returns the median of some figures, of an even number the mean of the two in the middle.
///
/// # Panics
/// If there are none.
pub fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() % 2 {
        1 => sorted[middle],
        _ => (sorted[middle - 1] + sorted[middle]) / 2.0,
    }
}

/// Returns the most memory that this process has taken, as the operating system counts it.
pub fn peak_rss_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|rest| rest.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
