//! One measurement, one process: this program once more, told by `--single` what to do.

use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output as Ended, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use signal_hook::consts::{SIGINT, SIGTERM};

use super::figures::{self, Row};
use super::place::Places;
use super::{Case, Common, Configuration, Task, table};
use crate::arguments::Medium;
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
    let stop = stop()?;
    let places = Places::prepare(common, cases.iter().map(|case| &case.configuration))?;
    in_turn(common, cases, output, |case, trial| {
        let figures = in_a_process(&task_of(common, case, trial, &places), stop);
        let cleared = places.clear(case.configuration.medium);
        let mut row = case.configuration.row()?;
        row.extend(figures?);
        cleared?;
        Ok(row)
    })
}

/// Measures cases in turn, as many times as `common` says. Returns the medians of each.
fn in_turn(
    common: &Common,
    cases: &[Case],
    output: Output,
    measure: impl Fn(&Case, u32) -> Result<Row>,
) -> Result<Vec<Row>> {
    let bar = output.measurement_bar(common.trials as usize * cases.len());
    let mut trials: Vec<Vec<Row>> = vec![Vec::new(); cases.len()];
    for trial in 0..common.trials {
        for (case, rows) in cases.iter().zip(&mut trials) {
            rows.push(measure(case, trial)?);
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    Ok(trials.iter().map(|rows| figures::medians(rows)).collect())
}

fn stop() -> Result<&'static AtomicBool> {
    let stop = STOP.as_ref().map_err(|e| anyhow!("cannot prepare for signals: {e}"))?;
    Ok(stop)
}

fn task_of(common: &Common, case: &Case, trial: u32, places: &Places) -> Task {
    Task {
        work: case.work,
        degree: common.degree,
        seed: trial.into(),
        graph: places.graph(case.configuration.medium),
        configuration: case.configuration.clone(),
    }
}

/// Processes that share what is on the medium `file`, until this is dropped.
pub(crate) struct Shared<'a> {
    common: &'a Common,
    places: Places,
    stop: &'static AtomicBool,
}

impl<'a> Shared<'a> {
    /// Makes the directory that they share.
    ///
    /// # Errors
    /// If it cannot be made.
    pub(crate) fn prepare(common: &'a Common) -> Result<Self> {
        let on_file = Configuration { medium: Medium::File, ..Configuration::default() };
        let places = Places::prepare(common, [&on_file].into_iter())?;
        Ok(Self { common, places, stop: stop()? })
    }

    /// Returns where they put what they leave for others.
    pub(crate) fn directory(&self) -> PathBuf {
        self.places.graph(Medium::File)
    }

    /// Does something in a process of its own, and returns its figures.
    ///
    /// # Errors
    /// If it fails; `Interrupted` if a signal asked for the end.
    pub(crate) fn perform(&self, case: &Case) -> Result<Row> {
        in_a_process(&task_of(self.common, case, 0, &self.places), self.stop)
    }

    /// Measures all cases in turn, as [`measure`] does, and returns their figures.
    ///
    /// # Errors
    /// As [`measure`].
    pub(crate) fn measure(&self, cases: &[Case], output: Output) -> Result<Vec<Row>> {
        in_turn(self.common, cases, output, |case, trial| {
            in_a_process(&task_of(self.common, case, trial, &self.places), self.stop)
        })
    }
}

fn in_a_process(task: &Task, stop: &AtomicBool) -> Result<Row> {
    let outcome = output_of(task.command()?, stop).context("cannot run this program once more")?;
    // Ctrl-C comes to both processes, and may have ended that one before it is heard here.
    if stop.load(Relaxed) || matches!(outcome.status.signal(), Some(SIGINT | SIGTERM)) {
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

/// Runs a process to its end, or until `stop`. It has ended after an error, too.
fn output_of(mut command: Command, stop: &AtomicBool) -> io::Result<Ended> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let ended = await_end(&mut child, stop);
    if ended.is_err() {
        // The first error is the one to report.
        child.kill().and_then(|()| child.wait()).ok();
    }
    ended
}

/// Waits until a process closes its outputs, which it does at its end, and kills it at `stop`.
fn await_end(child: &mut Child, stop: &AtomicBool) -> io::Result<Ended> {
    let outputs = [read_beside(child.stdout.take())?, read_beside(child.stderr.take())?];
    let mut take = |output: &Receiver<io::Result<Vec<u8>>>| loop {
        match output.recv_timeout(STOP_EVERY) {
            Ok(bytes) => return bytes,
            Err(RecvTimeoutError::Timeout) if stop.load(Relaxed) => child.kill()?,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(io::Error::other("the thread that reads its output has ended"));
            }
        }
    };
    let (stdout, stderr) = (take(&outputs[0])?, take(&outputs[1])?);
    Ok(Ended { status: child.wait()?, stdout, stderr })
}

/// Starts a thread that reads an output to its end.
fn read_beside(
    output: Option<impl Read + Send + 'static>,
) -> io::Result<Receiver<io::Result<Vec<u8>>>> {
    let (sender, receiver) = mpsc::channel();
    let read = move || {
        let mut bytes = Vec::new();
        let read = output.map_or(Ok(0), |mut output| output.read_to_end(&mut bytes));
        // Nobody waits for it after an error.
        sender.send(read.map(|_| bytes)).ok();
    };
    thread::Builder::new().name("everedge-output".to_owned()).spawn(read)?;
    Ok(receiver)
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

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test makes what is in the way of a graph")]
mod tests {
    use super::*;
    use crate::harness::Work;

    #[test]
    fn what_a_measurement_says_counts_more_than_what_it_leaves() {
        let home = tempfile::tempdir().unwrap();
        let directory = home.path().to_owned();
        let common =
            Common { degree: 1, trials: 1, directory, pmem_directory: home.path().join("pmem") };
        let configuration = Configuration { medium: Medium::File, ..Configuration::default() };
        // A file in the place of the graph is no directory to remove.
        std::fs::write(home.path().join(format!("graph-{}", std::process::id())), "").unwrap();
        let cases = [Case { work: Work::Mixed, configuration }];
        // The program of this test knows no measurements.
        let output = Output { json: false, quiet: true };
        let error = measure(&common, &cases, output).unwrap_err();
        assert!(error.to_string().starts_with("a measurement failed"), "{error:#}");
    }

    #[test]
    fn a_process_is_heard_to_its_end_or_ends_with_a_signal() {
        let stop = AtomicBool::new(false);
        let mut command = Command::new("sh");
        command.args(["-c", "echo out; echo err >&2; exit 3"]);
        let ended = output_of(command, &stop).unwrap();
        assert_eq!((&*ended.stdout, &*ended.stderr), (&b"out\n"[..], &b"err\n"[..]));
        assert_eq!(ended.status.code(), Some(3));
        stop.store(true, Relaxed);
        let mut command = Command::new("sleep");
        command.arg("600");
        let ended = output_of(command, &stop).unwrap();
        assert_eq!(ended.status.signal(), Some(signal_hook::consts::SIGKILL));
    }
}
