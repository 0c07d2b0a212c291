//! What can be measured, one measurement a file: its options, what it prints, and what a process of
//! it does.

mod churn;
pub(crate) mod delete;
mod history;
pub(crate) mod ingest;
pub(crate) mod kernels;
mod kernels_page;
pub(crate) mod mixed;
pub(crate) mod recovery;
mod sealed;
mod tasks;
pub(crate) mod window;

use anyhow::Result;
use everedge::par;

use crate::harness::{Task, Work};
use crate::output::print_line;

/// Does a task in this process and prints its figures.
///
/// # Errors
/// If the measurement fails.
pub(crate) fn perform(task: &Task) -> Result<()> {
    let measure = || match task.work {
        Work::Ingest { meter } => ingest::measure(task, meter).map(Some),
        Work::Delete { share, seed } => delete::measure(task, share, seed).map(Some),
        Work::Recover { end } => recovery::measure(task, end).map(Some),
        Work::Write { end } => recovery::write(task, end).map(|()| None),
        Work::Kernels(plan) => kernels::measure(task, plan).map(Some),
        Work::Mixed => mixed::measure(task).map(Some),
        Work::Churn => churn::measure(task).map(Some),
        Work::Tasks(stream) => tasks::measure(task, stream).map(Some),
        Work::Versions(stream) => tasks::measure_versions(task, stream).map(Some),
        Work::Window(history) => window::measure(task, history).map(Some),
        Work::Sealed(step) => sealed::measure(task, step).map(Some),
    };
    match par::with_threads(task.configuration.threads, measure)?? {
        Some(figures) => print_line(&serde_json::to_string(&figures)?),
        None => Ok(()),
    }
}
