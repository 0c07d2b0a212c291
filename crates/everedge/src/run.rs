//! Running kernels by name: timing, and answers in a fixed form.

use std::str::FromStr;

use everedge_chunks::PiecesRead;
use everedge_core::par::Foreground;
use everedge_core::watch::Watch;
use everedge_core::{GraphView, par};
use everedge_medium::ReadCounts;
use serde::Serialize;
use serde_json::Value;

use crate::answers::Question;
use crate::any_view::{AnyView, with_view};
use crate::chunks::lacks_in_neighbors;
use crate::kernel::{Kernel, Parameters};
use crate::{Error, Result, Values, View};

/// How an answer is verified before it is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verify {
    /// Not at all.
    None,
    /// By a spot check, which takes a tenth of the kernel's time at most, but on small graphs, and
    /// finds what spoils many values.
    #[default]
    Cheap,
    /// By all properties of a right answer, which may take far longer than the kernel.
    Full,
}

impl FromStr for Verify {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "none" => Ok(Self::None),
            "cheap" => Ok(Self::Cheap),
            "full" => Ok(Self::Full),
            _ => Err(Error::invalid(format!("verify={text}: it must be none, cheap or full"))),
        }
    }
}

/// How a kernel runs.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// What the kernel is told.
    pub parameters: Parameters,
    /// How many leading vertices, components or edges the result names: 10 if `None`; with 0 it says nothing of them.
    pub top: Option<usize>,
    /// How often it runs; once if 0.
    pub trials: usize,
    /// Threads; 0 is one a core.
    pub threads: usize,
    /// Runs on a plain CSR copy, whose building is not timed.
    pub csr: bool,
    /// How the answer is verified.
    pub verify: Verify,
    /// Sees how far it is, and may cancel it.
    pub watch: Watch,
}

impl RunOptions {
    /// How many leading vertices, components or edges the result names.
    pub(crate) fn top_count(&self) -> usize {
        self.top.unwrap_or(10)
    }
}

impl From<Parameters> for RunOptions {
    fn from(parameters: Parameters) -> Self {
        Self { parameters, ..Self::default() }
    }
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
    /// How long opening the graph and its view took.
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
    /// The reads that they came by.
    pub reads: u64,
    /// How long the verification of the answer took.
    pub verify_seconds: f64,
    /// The answer in short.
    pub result: Value,
    /// The answer for each vertex, at its [`row_of`](View::row_of).
    #[serde(skip)]
    pub values: Values,
}

impl View {
    /// Runs a kernel and verifies its answer as `options` say.
    ///
    /// # Errors
    /// `InvalidInput` if the source is no vertex, the kernel lacks a parameter that is given, or the
    /// system refuses the threads; `Kernel` if a parameter is out of range or the answer is wrong;
    /// `Interrupted` if the watch was cancelled.
    pub fn run(&self, kernel: Kernel, options: &RunOptions) -> Result<RunReport> {
        options.parameters.check(kernel)?;
        if kernel.keeps_arrays() && !options.csr && self.lacks_in_neighbors() {
            return Err(lacks_in_neighbors(kernel));
        }
        let _foreground = Foreground::new();
        let answer = || -> Result<RunReport> {
            let mut report = self.answer(kernel, options, &[])?;
            self.add_top(kernel, &report.values, options.top_count(), &mut report.result);
            self.check_reads()?;
            Ok(report)
        };
        let run = || options.watch.run(answer);
        // A plain CSR has no homes that threads go to, and to wake another thread takes longer than a short kernel.
        let runs_here = options.threads == 1 && matches!(self.any, AnyView::Csr(_));
        let done =
            if runs_here { par::on_this_thread(run) } else { on_threads(options.threads, run)? };
        done.map_err(|_cancelled| Error::Interrupted)?
    }

    /// Runs a kernel on the threads that there are; PageRank begins with `ranks`, if there are some.
    pub(crate) fn answer(
        &self,
        kernel: Kernel,
        options: &RunOptions,
        ranks: &[f64],
    ) -> Result<RunReport> {
        let named = options.parameters.source.as_deref();
        let has_source = kernel.starts_at_one_vertex() || named.is_some();
        let source = has_source.then(|| self.source(named)).transpose()?;
        let copy = self.copy_for(kernel, options.csr);
        let numbering = self.numbering().filter(|_| copy.is_some());
        let any = copy.as_ref().unwrap_or(&self.any);
        let before = self.read_counts();
        let answer = with_view!(any, view => {
            Question { view, any, names: self, numbering, options, ranks }.answer(kernel, source)?
        });
        let counts = self.read_counts();
        let report = RunReport {
            kernel: kernel.name(),
            source: source.map(|v| self.json_name(v)),
            threads: par::thread_count(),
            open_seconds: self.open_time.as_secs_f64(),
            seconds: median(&answer.trials),
            trials: answer.trials,
            iterations: answer.iterations,
            peak_rss_bytes: peak_rss_bytes(),
            read_bytes: counts.read_bytes - before.read_bytes,
            reads: counts.reads - before.reads,
            verify_seconds: answer.verify_seconds,
            result: answer.summary,
            values: answer.values,
        };
        // The names of vertices are read last.
        self.check_reads()?;
        Ok(report)
    }

    /// Says whether all that the view has read was whole: a sealed graph is read while it is used. [`Self::run`] looks
    /// itself.
    ///
    /// # Errors
    /// The first error of a read: what the view has shown since then is wrong.
    pub fn check_reads(&self) -> Result<()> {
        self.any.store().map_or(Ok(()), |store| Ok(store.check()?))
    }

    /// Whether it is a sealed graph without in-neighbors, on which most kernels do not run.
    pub fn lacks_in_neighbors(&self) -> bool {
        self.any.store().is_some() && !self.any.has_in_neighbors()
    }

    /// Returns how many different pieces of a sealed graph were read since the view was made.
    pub fn pieces_read(&self) -> Option<PiecesRead> {
        self.any.store().map(|store| store.pieces_read())
    }

    /// Returns how much of lists was read from files.
    fn read_counts(&self) -> ReadCounts {
        self.any.store().map_or_else(ReadCounts::default, |store| store.counts())
    }

    /// Runs a kernel and takes its answer on trust, for measurements that verified it before.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn run_unverified(&self, kernel: Kernel, options: &RunOptions) -> Result<RunReport> {
        self.run(kernel, &RunOptions { verify: Verify::None, ..options.clone() })
    }

    /// Returns the copy that `kernel` is to run on, if it cannot run on the view itself or `csr` asks
    /// for one. A kernel that keeps no arrays reads out-neighbors only.
    fn copy_for(&self, kernel: Kernel, csr: bool) -> Option<AnyView> {
        // A sealed graph may be far larger than memory: whoever wants a copy of it asks for one.
        let is_sealed = self.any.store().is_some();
        let lacks_in = !is_sealed && !self.any.has_in_neighbors();
        let has_to = self.numbering().is_some() || lacks_in;
        let wants = csr && !matches!(self.any, AnyView::Csr(_));
        let copies = wants || kernel.keeps_arrays() && has_to;
        copies.then(|| self.copy(kernel.reads_weights()))
    }
}

/// Runs `f` on so many threads; 0 is one a core.
pub(crate) fn on_threads<R>(count: usize, f: impl FnOnce() -> R) -> Result<R> {
    let refused = |error| {
        Error::invalid(format!(
            "the system refuses {count} threads: {error}; ask for fewer, or for 0 to take what it gives"
        ))
    };
    par::with_threads(count, f).map_err(refused)
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
