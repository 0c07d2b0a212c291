//! Putting lists in order while nobody writes, and how that gives way to kernels: both run on the
//! same threads, and a step between two pieces of a short kernel doubles its time.

use std::thread;
use std::time::{Duration, Instant};

use everedge_core::par::Foreground;

use super::core::Core;
use super::layout::Layout;

/// After a step, somebody who waits for an answer is given so many times as long as the step took;
const GIVE_WAY_STEPS: u32 = 8;
/// before the first step, as if one had taken so long.
const STEP: Duration = Duration::from_millis(20);
/// The answer is looked for at such intervals.
const LOOK: Duration = Duration::from_millis(1);
/// Whoever asks much at once leaves gaps that are shorter than this.
const QUIET: Duration = Duration::from_millis(20);

impl<L: Layout> Core<L> {
    /// Returns a number that grows with whatever somebody writes.
    pub(super) fn written(&self) -> u64 {
        self.log.next_sequence() + self.layout.stored_edges()
    }

    /// Puts lists in order, a step at a time, until somebody writes or `is_wanted`. `written` is what
    /// [`Self::written`] was when this was last called: if somebody has written since, nothing is done yet.
    /// Returns whether any lists may be left.
    pub(super) fn put_in_order(&self, written: &mut u64, is_wanted: impl Fn() -> bool) -> bool {
        if self.volume.check_writable().is_err() || self.log.begin_writing().is_err() {
            return false;
        }
        let now = self.written();
        if std::mem::replace(written, now) != now {
            return true;
        }
        // What waits in the log is put in order with the rest.
        if self.log.untaken_updates() > 0 && self.up_to_date().is_err() {
            return false;
        }
        let goes_on = || self.written() == now && !is_wanted();
        let (mut begun, mut step) = (Foreground::begun().0, STEP);
        loop {
            give_way(begun, step * GIVE_WAY_STEPS, goes_on);
            if !goes_on() {
                return true;
            }
            begun = Foreground::begun().0;
            let start = Instant::now();
            if !L::put_in_order(self, true) {
                return false;
            }
            step = start.elapsed();
        }
    }
}

/// If somebody has waited for an answer since so many had `begun` to, waits until nobody does any more; at
/// most so long, and while it `goes_on`.
fn give_way(mut begun: u64, most: Duration, goes_on: impl Fn() -> bool) {
    let (start, mut quiet) = (Instant::now(), QUIET);
    loop {
        let (now, is_any) = Foreground::begun();
        quiet = if is_any || now != begun { Duration::ZERO } else { quiet + LOOK };
        begun = now;
        if quiet >= QUIET || start.elapsed() >= most || !goes_on() {
            return;
        }
        thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_for_an_answer_is_given_time_but_no_more_than_that() {
        let waited = |begun, most| {
            let start = Instant::now();
            give_way(begun, most, || true);
            start.elapsed()
        };
        let most = Duration::from_millis(60);
        let long = Duration::from_secs(3600);
        let (begun, _) = Foreground::begun();
        assert!(waited(begun, long) < most);
        let asked = Foreground::new();
        assert!(waited(begun, most) >= most);
        give_way(begun, long, || false);
        drop(asked);
        assert!(waited(begun, long) >= QUIET);
    }
}
