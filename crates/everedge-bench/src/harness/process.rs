//! One measurement, one process: this program once more, told by `--single` what to do.

use std::io;
use std::process::{Command, Output as Ended, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::figures::{self, Row};
use super::place::Places;
use super::{Case, Common, Configuration, Task, table};
use crate::output::Output;
use crate::signals::stop_on_signals;

/// How often a measurement that goes on looks for a signal.
const STOP_EVERY: Duration = Duration::from_millis(50);

/// Becomes true by a signal that asks for the end, from the first measurement on.
static STOP: LazyLock<io::Result<Arc<AtomicBool>>> = LazyLock::new(stop_on_signals);

/// Measures all cases in turn, as many times as `common` says. Returns a row for each: its
/// configuration and the medians. No graph stays, also when a measurement fails.
///
/// # Errors
/// If a measurement fails: the first one's. `Interrupted` if a signal asked for the end.
pub(crate) fn measure(common: &Common, cases: &[Case], output: Output) -> Result<Vec<Row>> {
    for case in cases.iter().filter(|case| case.configuration.input.is_none()) {
        common.generator(case.configuration.scale)?;
    }
    let stop = STOP.as_ref().map_err(|e| anyhow!("cannot prepare for signals: {e}"))?;
    let places = Places::prepare(common, cases.iter().map(|case| &case.configuration))?;
    let bar = output.measurement_bar(common.trials as usize * cases.len());
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
            let figures = in_a_process(&task, stop);
            places.clear(medium)?;
            let mut row = case.configuration.row()?;
            row.extend(figures?);
            rows.push(row);
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    Ok(trials.iter().map(|rows| figures::medians(rows)).collect())
}

fn in_a_process(task: &Task, stop: &AtomicBool) -> Result<Row> {
    let outcome = output_of(task.command()?, stop).context("cannot run this program once more")?;
    if stop.load(Relaxed) {
        return Err(everedge::Error::Interrupted.into());
    }
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

/// Runs a process to its end, or until `stop`.
fn output_of(mut command: Command, stop: &AtomicBool) -> io::Result<Ended> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn()?;
    let process = pidfd_open(Pid::from_child(&child), PidfdFlags::empty())?;
    let (running, has_ended) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            while has_ended.recv_timeout(STOP_EVERY) == Err(RecvTimeoutError::Timeout) {
                if stop.load(Relaxed) {
                    // It may have ended by itself meanwhile.
                    pidfd_send_signal(&process, Signal::KILL).ok();
                }
            }
        });
        let ended = child.wait_with_output();
        drop(running);
        ended
    })
}

/// The configuration as far as it is not what it would be by default.
fn in_words(configuration: &Configuration) -> String {
    let fields = |configuration: &Configuration| configuration.row().unwrap_or_default();
    let default = fields(&Configuration::default());
    let mut words = Vec::new();
    for (key, value) in fields(configuration) {
        if ["scale", "medium"].contains(&key.as_str()) || default.get(&key) != Some(&value) {
            words.push(format!("{} {}", key.replace('_', "-"), table::word(&value, &key)));
        }
    }
    words.join(", ")
}
