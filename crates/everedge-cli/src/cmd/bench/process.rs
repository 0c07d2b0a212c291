//! One measurement, one process: this program once more, told by `--single` what to do.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use everedge::{Generator, Graph, par};
use indicatif::{ProgressBar, ProgressStyle};
use serde::{Deserialize, Serialize};

use super::figures::{self, Row};
use super::options::{Common, Configuration};
use super::place::Places;
use super::{delete, ingest, kernels, mixed, recovery, table};
use crate::output::Output;

/// What a process is to do, and with which graph.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Task {
    pub(super) work: Work,
    pub(super) degree: u32,
    /// Changes from trial to trial.
    pub(super) seed: u64,
    /// Where the graph is put. Nothing is there yet.
    pub(super) graph: PathBuf,
    pub(super) configuration: Configuration,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Work {
    /// Batches into an empty graph.
    Ingest { meter: bool },
    /// Deletions of a share of the edges.
    Delete { share: f64, seed: u64 },
    /// Opening after a process has ended.
    Recover { end: recovery::End },
    /// What this process does until it ends.
    Write { end: recovery::End },
    /// Kernels on a snapshot and on a CSR.
    Kernels(kernels::Plan),
    /// Insertions and a kernel at once.
    Mixed,
}

/// One line of the results: what is measured in which configuration.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) work: Work,
    pub(super) configuration: Configuration,
}

impl Task {
    /// Returns the description of the graph.
    ///
    /// # Errors
    /// If there is no such graph.
    pub(super) fn generator(&self) -> Result<Generator> {
        let Configuration { graph, scale, .. } = self.configuration;
        graph.generator(scale, self.degree, 1)
    }

    /// Creates the empty graph.
    ///
    /// # Errors
    /// If the options contradict each other or the medium fails.
    pub(super) fn create(&self, meter: bool) -> Result<Graph> {
        Ok(Graph::create(&self.graph, &self.configuration.graph_options(), meter)?)
    }

    /// Returns this program, about to do the task.
    ///
    /// # Errors
    /// If it cannot be found.
    pub(super) fn command(&self) -> Result<Command> {
        let program = std::env::current_exe().context("cannot find this program")?;
        let mut command = Command::new(program);
        command.args(["bench", "--single", &serde_json::to_string(self)?]);
        Ok(command)
    }
}

/// Reads a task from the command line.
pub(super) fn task(word: &str) -> Result<Box<Task>, String> {
    serde_json::from_str(word).map_err(|error| error.to_string())
}

/// Does a task in this process and prints its figures.
///
/// # Errors
/// If the measurement fails.
pub(super) fn perform(task: &Task) -> Result<()> {
    let measure = || match task.work {
        Work::Ingest { meter } => ingest::measure(task, meter).map(Some),
        Work::Delete { share, seed } => delete::measure(task, share, seed).map(Some),
        Work::Recover { end } => recovery::measure(task, end).map(Some),
        Work::Write { end } => recovery::write(task, end).map(|()| None),
        Work::Kernels(plan) => kernels::measure(task, plan).map(Some),
        Work::Mixed => mixed::measure(task).map(Some),
    };
    if let Some(figures) = par::with_threads(task.configuration.threads, measure)?? {
        println!("{}", serde_json::to_string(&figures)?);
    }
    Ok(())
}

/// Measures all cases in turn, as many times as `common` says. Returns a row for each: its
/// configuration and the medians. No graph stays, also when a measurement fails.
///
/// # Errors
/// If a measurement fails: the first one's.
pub(super) fn measure(common: &Common, cases: &[Case], output: Output) -> Result<Vec<Row>> {
    for case in cases {
        common.generator(case.configuration.scale)?;
    }
    let places = Places::prepare(common, cases.iter().map(|case| &case.configuration))?;
    let bar = bar(output, common.trials as usize * cases.len());
    let mut trials: Vec<Vec<Row>> = vec![Vec::new(); cases.len()];
    for trial in 0..common.trials {
        for (case, rows) in cases.iter().zip(&mut trials) {
            let medium = case.configuration.medium;
            let task = Task {
                work: case.work,
                degree: common.degree,
                seed: trial.into(),
                graph: places.graph(medium),
                configuration: case.configuration.clone(),
            };
            let figures = in_a_process(&task);
            places.clear(medium)?;
            let mut row = figures::row(&case.configuration)?;
            row.extend(figures?);
            rows.push(row);
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    Ok(trials.iter().map(|rows| figures::medians(rows)).collect())
}

fn in_a_process(task: &Task) -> Result<Row> {
    let outcome = task.command()?.output().context("cannot start this program once more")?;
    if !outcome.status.success() {
        let said = String::from_utf8_lossy(&outcome.stderr);
        let said = said.trim().trim_start_matches("everedge: ");
        let said = if said.is_empty() { outcome.status.to_string() } else { said.to_owned() };
        bail!("a measurement failed ({}): {said}", in_words(&task.configuration));
    }
    serde_json::from_slice(&outcome.stdout).with_context(|| {
        format!("a measurement printed no figures ({})", in_words(&task.configuration))
    })
}

/// The configuration as far as it is not what it would be by default.
fn in_words(configuration: &Configuration) -> String {
    let fields = |configuration: &Configuration| figures::row(configuration).unwrap_or_default();
    let default = fields(&Configuration::default());
    let mut words = Vec::new();
    for (key, value) in fields(configuration) {
        if ["scale", "medium"].contains(&key.as_str()) || default.get(&key) != Some(&value) {
            words.push(format!("{} {}", key.replace('_', "-"), table::word(&value, &key)));
        }
    }
    words.join(", ")
}

/// A bar over measurements, on a terminal.
fn bar(output: Output, total: usize) -> ProgressBar {
    if output.quiet || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} measurements  {elapsed}");
    let bar = ProgressBar::new(total as u64);
    bar.enable_steady_tick(Duration::from_millis(200));
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
