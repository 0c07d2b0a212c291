//! Iterations that end when scores hardly change any more, and say so if they do not.

use everedge_core::watch;

use crate::error::require;
use crate::{Error, Result};

/// When the iterations of a kernel end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stop {
    pub(crate) kernel: &'static str,
    /// After so many iterations.
    pub(crate) iterations_max: u32,
    /// Or when one more changes the scores by less than this; 0 never stops early.
    pub(crate) tolerance: f64,
    /// What to change if they do not converge.
    pub(crate) advice: &'static str,
}

/// What most kernels advise.
pub(crate) const ADVICE: &str = "allow more iterations or a larger tolerance";

/// So many iterations without a smaller change bring none any more.
const STALLED: u32 = 100;

impl Stop {
    /// Lets `state` take steps. `next` finds what the next step leads to and returns by how much
    /// it would change the scores; `take` takes that step. Returns how many were taken, and by how
    /// much one more would change the scores.
    ///
    /// # Errors
    /// [`NotConverged`](Error::NotConverged) if scores become infinite, or after all iterations the
    /// next step would change them by the tolerance or more, unless that is 0.
    pub(crate) fn converge<S>(
        self,
        state: &mut S,
        next: impl Fn(&mut S) -> f64,
        take: impl Fn(&mut S),
    ) -> Result<(u32, f64)> {
        let Self { kernel, iterations_max, tolerance, advice } = self;
        for iterations in 0.. {
            watch::note(iterations.into(), iterations_max.into());
            let change = next(state);
            let is_last = iterations == iterations_max;
            if change < tolerance || is_last && tolerance == 0.0 && change.is_finite() {
                return Ok((iterations, change));
            }
            if is_last || !change.is_finite() {
                return Err(Error::NotConverged { kernel, iterations, change, advice });
            }
            take(state);
        }
        unreachable!("the last iteration returns")
    }

    /// Checks that iterations that ended after `iterations`, when one more would change the scores
    /// by `change`, should have ended there.
    pub(crate) fn check(self, iterations: u32, change: f64) -> Result<()> {
        let is_done = self.tolerance == 0.0 && iterations == self.iterations_max;
        require(self.kernel, change < self.tolerance || is_done, || {
            format!("after {iterations} iterations one more still changes the scores by {change}")
        })
    }
}

/// Notices that iterations which only a tolerance ends do not come to it.
pub(crate) struct Progress {
    kernel: &'static str,
    is_endless: bool,
    /// The smallest change so far.
    least: f64,
    /// Iterations since then.
    since: u32,
}

impl Progress {
    /// Watches iterations, of which there may be so many.
    pub(crate) fn new(kernel: &'static str, iterations_max: u32) -> Self {
        Self { kernel, is_endless: iterations_max == u32::MAX, least: f64::INFINITY, since: 0 }
    }

    /// Notes by how much an iteration has changed the scores.
    ///
    /// # Errors
    /// [`NotConverged`](Error::NotConverged) if nothing but the tolerance ends the iterations, and many have not brought a
    /// smaller change: rounding keeps the scores moving, or they go to and fro.
    pub(crate) fn note(&mut self, iterations: u32, change: f64) -> Result<()> {
        if change < self.least {
            (self.least, self.since) = (change, 0);
            return Ok(());
        }
        self.since += 1;
        if !self.is_endless || self.since < STALLED {
            return Ok(());
        }
        let advice = "choose a larger tolerance, a smaller damping or a number of iterations";
        Err(Error::NotConverged { kernel: self.kernel, iterations, change, advice })
    }
}

/// Checks that `tolerance` is 0 or more.
pub(crate) fn check_tolerance(tolerance: f64) -> Result<()> {
    if tolerance.is_nan() || tolerance < 0.0 {
        let expected = "0 or more";
        return Err(Error::BadParameter { name: "tolerance", value: tolerance, expected });
    }
    Ok(())
}
