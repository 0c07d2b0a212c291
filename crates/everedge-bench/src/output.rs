//! What a person or a program sees: one JSON object, or lines; a progress bar; one line of error.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use clap::Args;
use everedge::Watch;
use indicatif::{HumanBytes, HumanCount, ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

use crate::standard_output::standard_output;

/// How often a bar looks at the work that it shows.
const BAR_EVERY: Duration = Duration::from_millis(100);

/// How results are shown.
#[derive(Args, Clone, Copy, Debug)]
pub struct Output {
    /// Print one JSON object and nothing else on standard output.
    #[arg(long, global = true)]
    pub json: bool,

    /// Print neither progress nor results in words.
    #[arg(long, global = true)]
    pub quiet: bool,
}

impl Output {
    /// Looks before the work whether its result can be printed.
    ///
    /// # Errors
    /// If it is to be, and standard output was closed when the program began.
    pub fn check(self) -> Result<()> {
        match self.json || !self.quiet {
            true => standard_output().map(drop).map_err(|error| {
                anyhow!("cannot write to standard output: {error}; --quiet prints nothing")
            }),
            false => Ok(()),
        }
    }

    /// Prints `report` as JSON, or what `say` makes of it in words.
    ///
    /// # Errors
    /// If standard output takes no more: the cause is then an [`io::Error`].
    pub fn print<T: Serialize>(self, report: &T, say: impl FnOnce(&T) -> String) -> Result<()> {
        if self.json {
            print_line(&serde_json::to_string(report)?)
        } else if self.quiet {
            Ok(())
        } else {
            print_line(&say(report))
        }
    }

    /// Prints a line of words about a step of the work, at once.
    ///
    /// # Errors
    /// As [`Self::print`].
    pub fn say(self, words: impl Display) -> Result<()> {
        if self.json || self.quiet { Ok(()) } else { print_line(&words) }
    }

    /// Prints `report` as [`Self::print`] does; its words on standard error if `is_taken`: standard output has something else then.
    ///
    /// # Errors
    /// As [`Self::print`].
    pub fn print_beside<T: Serialize>(
        self,
        is_taken: bool,
        report: &T,
        say: impl FnOnce(&T) -> String,
    ) -> Result<()> {
        match is_taken && !self.json {
            true => {
                self.say_aside(say(report));
                Ok(())
            }
            false => self.print(report, say),
        }
    }

    /// Prints words on standard error, where standard output is taken.
    pub fn say_aside(self, words: impl Display) {
        if !self.quiet {
            // Where standard error takes no more there is nobody to tell.
            writeln!(io::stderr(), "{words}").ok();
        }
    }

    /// Returns a progress bar over bytes that shows itself on a terminal when the work is long.
    pub fn byte_bar(self, label: &str, total: Option<u64>) -> ProgressBar {
        let bar = match total {
            Some(total) => ProgressBar::new(total)
                .with_style(style("{msg} {wide_bar} {bytes}/{total_bytes}  {prefix}  {eta} left")),
            None => ProgressBar::new_spinner()
                .with_style(style("{msg} {spinner} {bytes}  {prefix}  {elapsed}")),
        };
        self.shown(bar, label)
    }

    /// Returns a progress bar over edges, likewise.
    pub fn edge_bar(self, label: &str, total: u64) -> ProgressBar {
        let template = "{msg} {wide_bar} {human_pos}/{human_len} edges";
        self.shown(ProgressBar::new(total).with_style(style(template)), label)
    }

    /// Returns a progress bar over measurements, likewise.
    pub(crate) fn measurement_bar(self, total: usize) -> ProgressBar {
        let template = "{wide_bar} {pos}/{len} measurements  {elapsed}";
        self.shown(ProgressBar::new(total as u64).with_style(style(template)), "")
    }

    /// Runs `work`, and shows on a terminal how far `watch` sees it when it takes long.
    pub fn follow<R>(self, label: &str, watch: &Watch, work: impl FnOnce() -> R) -> R {
        let spinner = ProgressBar::new_spinner().with_style(style("{msg} {spinner} {elapsed}"));
        let bar = self.shown(spinner, label);
        if bar.is_hidden() {
            return work();
        }
        let (done, ended) = mpsc::channel::<()>();
        let show = || {
            let ended = ended;
            while ended.recv_timeout(BAR_EVERY) == Err(RecvTimeoutError::Timeout) {
                match watch.progress() {
                    (0, _) => {}
                    (steps, 0) => bar.set_message(format!("{label}, step {steps}")),
                    (steps, total) => bar.set_message(format!("{label}, {steps} of {total}")),
                }
                bar.tick();
            }
            bar.finish_and_clear();
        };
        thread::scope(|scope| {
            // Without a thread for it the work goes on unseen.
            thread::Builder::new().spawn_scoped(scope, show).ok();
            let result = work();
            drop(done);
            result
        })
    }

    fn shown(self, bar: ProgressBar, label: &str) -> ProgressBar {
        if self.quiet || !io::stderr().is_terminal() {
            return ProgressBar::hidden();
        }
        bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
        bar.set_message(label.to_owned());
        bar
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// Writes a line to standard output and sees that it has arrived.
pub(crate) fn print_line(line: &impl Display) -> Result<()> {
    let print = || {
        let mut out = standard_output()?.lock();
        writeln!(out, "{line}").and_then(|()| out.flush())
    };
    print().context("cannot write to standard output")
}

/// Prints an error as one line, with those of its causes that it does not quote itself.
pub fn complain(error: &anyhow::Error) {
    let mut line = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !line.contains(&cause) {
            line = format!("{line}: {cause}");
        }
    }
    // Where standard error takes no more there is nobody to tell.
    writeln!(io::stderr(), "everedge: {}", line.replace('\n', " ")).ok();
}

/// `1,234,567`.
pub fn count(number: u64) -> String {
    HumanCount(number).to_string()
}

/// `1.23 MiB`.
pub fn bytes(number: u64) -> String {
    HumanBytes(number).to_string()
}

/// `1.23 s`, `45.6 ms`.
pub fn seconds(seconds: f64) -> String {
    match seconds {
        s if s >= 1.0 => format!("{s:.2} s"),
        s if s >= 1e-3 => format!("{:.1} ms", s * 1e3),
        s => format!("{:.0} µs", s * 1e6),
    }
}
