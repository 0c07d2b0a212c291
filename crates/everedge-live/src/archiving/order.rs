//! Putting lists in order while nobody writes, and how that gives way to kernels: both run on the
//! same threads, and a step between two pieces of a short kernel doubles its time.

use std::thread;
use std::time::{Duration, Instant};

use everedge_core::par::Foreground;

use super::core::Core;
use super::layout::Layout;

/// While somebody waits for an answer, lists are put in order a step at a time, and after each that is
/// given so many times as long as the step took;
const GIVE_WAY_STEPS: u32 = 8;
/// before the first, as long as if a step took this.
const STEP: Duration = Duration::from_millis(20);
/// It is looked so often whether the answer is there,
const LOOK: Duration = Duration::from_millis(1);
/// and nobody waits for another if none does for so long.
const QUIET: Duration = Duration::from_millis(20);

impl<L: Layout> Core<L> {
    /// Puts lists in order, a step at a time, until somebody writes or `is_wanted`. `written` is the
    /// end of the log when this was last called: if somebody has written since, nothing is done yet.
    /// Returns whether any lists may be left.
    pub(super) fn put_in_order(&self, written: &mut u64, is_wanted: impl Fn() -> bool) -> bool {
        if self.check_writable().is_err() || self.log.begin_writing().is_err() {
            return false;
        }
        let now = self.log.next_sequence();
        if std::mem::replace(written, now) != now {
            return true;
        }
        // What waits in the log is put in order with the rest.
        if self.log.untaken_updates() > 0 && self.up_to_date().is_err() {
            return false;
        }
        let goes_on = || self.log.next_sequence() == now && !is_wanted();
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

/// If somebody has waited for an answer since so many had `begun` to, waits until nobody does for a
/// while, for whoever asks much leaves gaps; at most so long, and while it `goes_on`.
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
        assert!(waited(begun, long) < long);
        let asked = Foreground::new();
        assert!(waited(begun, most) >= most);
        let ended = || Instant::now() > Instant::now();
        give_way(begun, long, ended);
        drop(asked);
        assert!(waited(begun, long) >= QUIET);
    }
}
