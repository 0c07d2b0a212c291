//! In which order versions are reached: from what all of a window have in common, by adding edges only.
//!
//! Source: PIE §3.3 and §4.1, after CommonGraph (Afarin et al., ASPLOS 2023).
//!
//! Difference: the window is halved. What versions `i..j` have in common leads to what each half has in common, by
//! adding the edges that only this half has:
//!
//! ```text
//!                    common 0..7
//!           common 0..3       common 4..7
//!      common 0..1  2..3     4..5   common 6..7
//!       0    1      2  3     4  5      6    7
//! ```
//! An edge that disappears in the middle is added once for each level, not once for each version; halves run
//! at the same time. Where few edges change much, as on roads, a step may take longer than a version by itself: those steps
//! that are done say so, and the versions of a part are then asked by themselves.
//!
//! # Cost
//! For `n` versions `n/2 · log n` deltas and what they change. Memory: the values of a version for each level that is
//! being worked on.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use everedge_core::{par, watch};
use parking_lot::Mutex;

use super::lifetimes::{Lifetimes, Mortal, VERSIONS_MAX};

/// So many steps wait for each other at most: each takes some of a thread's stack.
const NESTED_MAX: u16 = 64;

/// A version by itself takes so much longer than what all have in common: it is made ready first.
const ALONE_COST: f64 = 1.5;

/// In which order what versions have in common leads to what fewer of them have, and at last to each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// As halves, but the versions of a part by themselves where steps turn out to take longer: those that have been done say
    /// how long those take that follow.
    #[default]
    Chosen,
    /// The window is halved until a half is one version.
    Halves,
    /// What the first version and some later ones have in common, one less each time; from there to the last of
    /// them (PIE Figure 9).
    Lasting,
    /// The same for parts of so many versions, and in each part from what its versions have in common (PIE
    /// Figure 11).
    TwoStages {
        /// Versions of a part.
        versions: u16,
    },
    /// From what all have in common to each version.
    Each,
    /// As halves, once it is known which values no version changes: those that are the same for what all versions
    /// have in common and for all that any of them has (UVV, arXiv 2502.10579). Edges to those are passed over.
    Bounds,
    /// Each version by itself, where the query has a way for that.
    Alone,
}

/// What is asked of graphs that only get edges: its values for some edges lead to those for more.
pub(crate) trait Growth: Sync {
    /// What it says of a vertex.
    type Value: Copy + Send + Sync;

    /// Takes `values` from what they were without `edges` to what all versions of `part` have in common.
    fn grow<'e>(
        &self,
        part: (u16, u16),
        edges: impl Iterator<Item = &'e Mortal>,
        values: &mut [Self::Value],
    );

    /// Returns the values of a version by a way that shares nothing with others, if there is one.
    fn alone(&self, version: u16) -> Option<Vec<Self::Value>> {
        let _ = version;
        None
    }
}

/// Where it is: the values of what some versions have in common.
struct State<V> {
    values: Vec<V>,
    /// The part of each of these versions in the time that this took.
    seconds: f64,
}

/// A question as it runs over a window; `answer` is called with a version's number in the window, its values and
/// how long they took.
pub(crate) struct Run<'a, G: Growth, A> {
    lifetimes: &'a Lifetimes,
    growth: G,
    answer: A,
    /// What steps are done with, for others to use: memory that is new costs more than what they do with it.
    spare: Mutex<Vec<Vec<G::Value>>>,
    /// How long a thread alone would take for a version by itself, if it may be asked so.
    alone_seconds: Option<f64>,
    /// How many were.
    alone: AtomicUsize,
}

impl<'a, G: Growth, A: Fn(u16, &mut [G::Value], f64) + Sync + Send> Run<'a, G, A> {
    pub(crate) fn new(lifetimes: &'a Lifetimes, growth: G, answer: A) -> Self {
        let (spare, alone) = (Mutex::default(), AtomicUsize::new(0));
        Self { lifetimes, growth, answer, spare, alone_seconds: None, alone }
    }

    /// Answers for all versions up to the number `last`, from the `values` of what they have in common, which
    /// took so long. Returns how many of them were asked by themselves.
    pub(crate) fn by(
        mut self,
        schedule: Schedule,
        last: u16,
        values: Vec<G::Value>,
        took: Duration,
    ) -> usize {
        let seconds = took.as_secs_f64() / (f64::from(last) + 1.0);
        let state = State { values, seconds };
        match schedule {
            Schedule::Chosen => {
                let threads = par::thread_count() as f64;
                self.alone_seconds = Some(ALONE_COST * threads * took.as_secs_f64());
                self.halve((0, last), state, None);
            }
            Schedule::Halves | Schedule::Bounds => self.halve((0, last), state, None),
            Schedule::Alone => self.ask_alone((0, last), &state),
            Schedule::Lasting => self.go_back((0, last), state),
            Schedule::TwoStages { versions } => {
                self.go_back_by(last, versions.clamp(1, VERSIONS_MAX as u16), state);
            }
            Schedule::Each => {
                par::for_each_range(u32::from(last) + 1, 1, |version| {
                    self.answer_one((0, last), version.start as u16, self.copy(&state));
                });
            }
        }
        self.alone.into_inner()
    }

    /// Returns a copy of a state.
    fn copy(&self, state: &State<G::Value>) -> State<G::Value> {
        let mut values = self.spare.lock().pop().unwrap_or_default();
        values.clear();
        values.extend_from_slice(&state.values);
        State { values, seconds: state.seconds }
    }

    /// Answers for a version, of which this is the state.
    fn finish(&self, version: u16, State { mut values, seconds }: State<G::Value>) {
        (self.answer)(version, &mut values, seconds);
        self.spare.lock().push(values);
    }

    /// Answers for the versions from `i` to `j`, from the state of what they have in common, to which a step led that took
    /// so long.
    fn halve(&self, (i, j): (u16, u16), state: State<G::Value>, before: Option<f64>) {
        if i == j {
            return self.finish(i, state);
        }
        let middle = i + (j - i) / 2;
        let later = self.copy(&state);
        let go_on = |part: (u16, u16), mut state: State<G::Value>| {
            let took = self.step((i, j), part, &mut state);
            let versions = f64::from(part.1 - part.0) + 1.0;
            let alone = self.alone_seconds.map(|seconds| seconds * versions);
            match alone.is_some_and(|alone| below(part, took, before) > alone) {
                true => self.ask_alone(part, &state),
                false => self.halve(part, state, Some(took)),
            }
        };
        par::join(|| go_on((i, middle), state), || go_on((middle + 1, j), later));
    }

    /// Answers for the versions from `i` to `j` by themselves, or from the state of what they have in common.
    fn ask_alone(&self, (i, j): (u16, u16), state: &State<G::Value>) {
        par::for_each_range(u32::from(j - i) + 1, 1, |version| {
            let (start, version) = (Instant::now(), i + version.start as u16);
            watch::check();
            match self.growth.alone(version) {
                None => self.answer_one((i, j), version, self.copy(state)),
                Some(values) => {
                    self.alone.fetch_add(1, Relaxed);
                    let seconds = state.seconds + start.elapsed().as_secs_f64();
                    self.finish(version, State { values, seconds });
                }
            }
        });
    }

    /// Answers for the versions from `j` back to `i`, from the state of what they have in common: what those from `i`
    /// to one less have is next.
    fn go_back(&self, (i, mut j): (u16, u16), mut state: State<G::Value>) {
        while j > i {
            let stop = i.max(j.saturating_sub(NESTED_MAX));
            state = self.go_back_to(stop, (i, j), state);
            j = stop;
        }
        self.answer_one((i, i), i, state);
    }

    /// Does so as far as after the version number `stop`. Returns the state of what those up to it have in common.
    fn go_back_to(
        &self,
        stop: u16,
        (i, j): (u16, u16),
        mut state: State<G::Value>,
    ) -> State<G::Value> {
        if j == stop {
            return state;
        }
        let copy = self.copy(&state);
        let answer = || self.answer_one((i, j), j, copy);
        let go_on = || {
            self.step((i, j), (i, j - 1), &mut state);
            self.go_back_to(stop, (i, j - 1), state)
        };
        par::join(answer, go_on).1
    }

    /// Answers for the versions from `j` back to the first one, `local` at a time: from what those of a part have
    /// in common with the first one to what they have in common.
    fn go_back_by(&self, j: u16, local: u16, state: State<G::Value>) {
        let mut left = Some((j, state));
        while let Some((j, state)) = left {
            left = self.parts(NESTED_MAX, (j, local), state);
        }
    }

    /// Does so for so many parts at most. Returns the last version that is left, and the state of what those up to it
    /// have in common.
    fn parts(
        &self,
        most: u16,
        (j, local): (u16, u16),
        mut state: State<G::Value>,
    ) -> Option<(u16, State<G::Value>)> {
        if most == 0 {
            return Some((j, state));
        }
        let i = (j + 1).saturating_sub(local);
        let mut of_part = self.copy(&state);
        let part = || {
            self.step((0, j), (i, j), &mut of_part);
            self.go_back((i, j), of_part);
        };
        let others = || {
            let last = i.checked_sub(1)?;
            self.step((0, j), (0, last), &mut state);
            self.parts(most - 1, (last, local), state)
        };
        par::join(part, others).1
    }

    /// Answers for a version, from the state of what those from `i` to `j` have in common.
    fn answer_one(&self, common: (u16, u16), version: u16, mut state: State<G::Value>) {
        self.step(common, (version, version), &mut state);
        self.finish(version, state);
    }

    /// Goes from the state of what the versions of one range have in common to that of what the versions of a part
    /// of it have, by the edges that come with it. Returns how long that took.
    fn step(&self, (i, j): (u16, u16), part: (u16, u16), state: &mut State<G::Value>) -> f64 {
        watch::check();
        let start = Instant::now();
        let appearing = self.lifetimes.appearing(i + 1..part.0 + 1);
        let staying = self.lifetimes.disappearing(part.1 + 1..j + 1);
        let edges = appearing.chain(staying).filter(|edge| edge.is_common(part.0, part.1));
        self.growth.grow(part, edges, &mut state.values);
        let seconds = start.elapsed().as_secs_f64();
        state.seconds += seconds / f64::from(part.1 - part.0 + 1);
        seconds
    }
}

/// Returns how long the steps below one to the versions from `i` to `j` will take together, if each is to that before it as
/// this one, which took so long, to the one before.
fn below((i, j): (u16, u16), took: f64, before: Option<f64>) -> f64 {
    let levels = (j - i + 1).next_power_of_two().ilog2() as i32;
    // Half as many edges come with a step as with the one before it. Two halves follow each.
    let growth = before.map_or(1.0, |before| (2.0 * took / before).clamp(1.0, 2.0));
    (1..=levels).map(|level| took * growth.powi(level)).sum()
}
