//! The crash explorer: what a power loss at any point of a history leaves must recover.
//!
//! A [`Subject`] runs a seeded history on a recorded volume. Every image that the recorder builds
//! of it is recovered and must equal the model after some prefix of the history that holds all
//! that was acknowledged; then it must take more operations and keep them; for a share of the
//! images recovery itself is crashed. A failure is one line that names its [`Place`]; run again
//! with `EVEREDGE_EXPLORE_PLACE` set to it, only that image is checked. `EVEREDGE_EXPLORE_IMAGES`
//! sets how many distinct images each configuration checks.

mod failure;
mod images;
mod toy;

pub(crate) use self::failure::{Checked, Failure, Violation, found};
use everedge_live::{Error, Result};
use everedge_medium::{Image, ImageRule, Mark, MediumKind, Plant, Recorder, Volume};
use std::cell::Cell;
use std::collections::HashSet;
use std::fmt::{self, Debug};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::str::FromStr;

/// The images of each configuration unless the environment says otherwise.
pub(crate) const IMAGES_DEFAULT: u64 = 240;
/// The most images of one crash point.
const POINT_IMAGES_MAX: u64 = 4096;
/// Recovery is crashed for one image of so many.
const RECOVERY_SHARE: u64 = 16;
/// The most images of one crash point of a recovery.
const RECOVERY_POINT_IMAGES_MAX: u64 = 16;
/// Of the images of a long recovery about so many are checked.
const RECOVERY_IMAGES: u64 = 64;
/// The most images of a crash point after a call that failed.
const FAILURE_POINT_IMAGES_MAX: u64 = 8;

/// A store under test and its model.
pub(crate) trait Subject {
    /// What the model and a recovered store are compared by.
    type State: Clone + Debug + PartialEq;
    /// An open store.
    type Store;

    /// Runs the operations that `seed` gives on an empty volume: the first creates the store.
    fn run(&self, seed: u64, volume: &Volume, history: &mut History<Self::State>) -> Result<()>;

    /// Opens what a crash left; none if no store was created.
    fn recover(&self, volume: &Volume) -> Result<Option<Self::Store>>;

    /// Returns the state of a store whose invariants hold; panics if they do not.
    fn state(&self, store: &Self::Store) -> Self::State;

    /// Applies a few operations that `seed` gives and returns the state that they lead to from
    /// `state`.
    fn apply(&self, seed: u64, store: &mut Self::Store, state: Self::State) -> Result<Self::State>;

    /// Makes durable what was applied, where that is not so on return.
    fn sync(&self, _store: &Self::Store) -> Result<()> {
        Ok(())
    }
}

/// The model's states, operation by operation.
pub(crate) struct History<T> {
    recorder: Recorder,
    /// `states[n - 1]`: the state after operation n.
    states: Vec<T>,
    /// The last operation that was acknowledged.
    acknowledged: Cell<usize>,
}

impl<T> History<T> {
    pub(crate) fn new(recorder: Recorder) -> History<T> {
        History { recorder, states: Vec::new(), acknowledged: Cell::new(0) }
    }

    /// Begins the operation that leads to `state`.
    pub(crate) fn begin(&mut self, state: T) {
        self.states.push(state);
        self.recorder.mark(Mark::Begin(self.states.len() as u64));
    }

    /// Acknowledges the operation.
    pub(crate) fn acknowledge(&self) {
        self.acknowledged.set(self.states.len());
        self.recorder.mark(Mark::Acknowledged(self.states.len() as u64));
    }

    /// Returns the state that the last operation leads to.
    pub(crate) fn last(&self) -> Option<&T> {
        self.states.last()
    }
}

/// What is explored: a subject on a medium.
pub(crate) struct Exploration<'a, S> {
    /// Names the configuration in a place; without `/`.
    pub(crate) name: String,
    pub(crate) subject: &'a S,
    pub(crate) kind: MediumKind,
    pub(crate) eadr: bool,
    pub(crate) plant: Option<Plant>,
    /// The distinct images to check.
    pub(crate) images_max: u64,
    pub(crate) start: Start,
    /// Whether processes are killed, and not the power lost.
    pub(crate) kills: bool,
}

/// What histories start from.
#[derive(Clone)]
pub(crate) enum Start {
    /// An empty volume.
    New,
    /// What a power loss left.
    PowerLoss(Image),
    /// What a killed process left, in part in caches only.
    Kill(Image),
}

/// Where an image is found again.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    name: String,
    seed: u64,
    point_images_max: u64,
    point: u64,
    choice: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { name, seed, point_images_max, point, choice } = self;
        write!(f, "{name}/{seed}/{point_images_max}/{point}/{choice}")
    }
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Place, String> {
        let parts: Vec<&str> = text.split('/').collect();
        let [name, numbers @ ..] = &parts[..] else { return Err("an empty place".into()) };
        let numbers: std::result::Result<Vec<u64>, _> = numbers.iter().map(|n| n.parse()).collect();
        match numbers.map_err(|e| e.to_string())?[..] {
            [seed, point_images_max, point, choice] => {
                Ok(Place { name: (*name).into(), seed, point_images_max, point, choice })
            }
            _ => Err(format!("`{text}` is not name/seed/max/point/choice")),
        }
    }
}

/// What was checked.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Report {
    pub(crate) histories: u64,
    /// Distinct images of histories.
    pub(crate) images: u64,
    /// Images of recoveries.
    pub(crate) recovery_images: u64,
}

/// Returns how many distinct images a configuration is to check.
pub(crate) fn images_max() -> u64 {
    match std::env::var("EVEREDGE_EXPLORE_IMAGES") {
        Ok(text) => text.parse().expect("EVEREDGE_EXPLORE_IMAGES is a number"),
        Err(_) => IMAGES_DEFAULT,
    }
}

/// Whether more is asked for than each change is to pass.
pub(crate) fn is_at_length() -> bool {
    images_max() > IMAGES_DEFAULT
}

fn place_from_environment() -> Option<Place> {
    let text = std::env::var("EVEREDGE_EXPLORE_PLACE").ok()?;
    Some(text.parse().expect("EVEREDGE_EXPLORE_PLACE is a place"))
}

impl<S: Subject> Exploration<'_, S> {
    /// Checks histories of ascending seeds until enough distinct images were, and panics with one
    /// line at the first failure.
    pub(crate) fn check(&self) -> Report {
        self.explore().unwrap_or_else(|failure| panic!("{failure}"))
    }

    /// Checks like [`check`](Self::check) and returns the failure.
    pub(crate) fn explore(&self) -> Checked<Report> {
        let mut report = Report::default();
        if let Some(place) = place_from_environment() {
            if place.name == self.name {
                let max = place.point_images_max;
                self.explore_seed(place.seed, max, Some(&place), &mut report)?;
            }
            return Ok(report);
        }
        let point_images_max = (self.images_max / 200).clamp(32, POINT_IMAGES_MAX);
        while report.images < self.images_max {
            let images_before = report.images;
            self.explore_seed(report.histories, point_images_max, None, &mut report)?;
            report.histories += 1;
            if report.images == images_before {
                return Err(format!("{}: a history gave no image", self.name).into());
            }
        }
        match report.recovery_images {
            // Few images may all be such that opening them stores nothing.
            0 if self.images_max >= 16 * RECOVERY_SHARE => {
                Err(format!("{}: no recovery was crashed", self.name).into())
            }
            _ => Ok(report),
        }
    }

    /// Checks so many images of one history, spread over all that its plant has to do with. Returns
    /// what is found.
    ///
    /// Failures that are no violation say nothing of the plant, and panic.
    pub(crate) fn hunt(&self, seed: u64, point_images_max: u64) -> Option<Failure> {
        let ended = catch_unwind(AssertUnwindSafe(|| self.record(seed, |_| {})));
        let (history, outcome) = match ended {
            Ok(ended) => ended,
            Err(panic) => return Some(Failure::new(Violation::Unsound, text(&*panic))),
        };
        if let Err(error) = outcome {
            return Some(refused("the history", &error)).filter(Failure::is_violation);
        }
        let rule = ImageRule { point_images_max, seed };
        let (mut seen, mut found) = (HashSet::new(), None);
        self.images(&history.recorder, rule, |image| {
            if !self.is_too_early(image) {
                seen.insert(image.digest());
            }
            ControlFlow::Continue(())
        });
        let step = (seen.len() as u64).div_ceil(self.images_max).max(1);
        let mut number = 0;
        self.images(&history.recorder, rule, |image| {
            if !seen.remove(&image.digest()) {
                return ControlFlow::Continue(());
            }
            number += 1;
            if number % step != seed % step {
                return ControlFlow::Continue(());
            }
            let name = self.name.clone();
            let (point, choice) = (image.point(), image.choice());
            let place = Place { name, seed, point_images_max, point, choice };
            let describe = |what: &str| self.describe(&place, image, what);
            let crash_recovery = (number / step).is_multiple_of(RECOVERY_SHARE);
            match self.check_image(image, &history.states, crash_recovery) {
                Ok(_) => ControlFlow::Continue(()),
                Err(failure) if !failure.is_violation() => panic!("{}", failure.map(describe)),
                Err(failure) => {
                    found = Some(failure.map(describe));
                    ControlFlow::Break(())
                }
            }
        });
        found
    }

    /// What a kill left is promised only once it was opened.
    fn is_too_early(&self, image: &Image) -> bool {
        image.begun() == 0 && matches!(self.start, Start::Kill(_))
    }

    fn explore_seed(
        &self,
        seed: u64,
        point_images_max: u64,
        only: Option<&Place>,
        report: &mut Report,
    ) -> Checked<()> {
        let (history, outcome) = self.record(seed, |_| {});
        outcome.map_err(|e| format!("{} seed {seed}: the history fails: {e}", self.name))?;
        let mut seen = HashSet::new();
        let mut failure = None;
        self.images(&history.recorder, ImageRule { point_images_max, seed }, |image| {
            let (point, choice) = (image.point(), image.choice());
            let is_wanted = only.is_none_or(|place| (place.point, place.choice) == (point, choice));
            if !is_wanted || self.is_too_early(image) || !seen.insert(image.digest()) {
                return ControlFlow::Continue(());
            }
            report.images += 1;
            let crash_recovery = only.is_some() || report.images.is_multiple_of(RECOVERY_SHARE);
            match self.check_image(image, &history.states, crash_recovery) {
                Ok(recovery_images) => report.recovery_images += recovery_images,
                Err(what) => {
                    let name = self.name.clone();
                    let place = Place { name, seed, point_images_max, point, choice };
                    failure = Some(what.map(|what| self.describe(&place, image, what)));
                    return ControlFlow::Break(());
                }
            }
            match report.images >= self.images_max {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        failure.map_or(Ok(()), Err)
    }

    /// Calls `visit` with what crashes leave of what `recorder` saw.
    fn images(
        &self,
        recorder: &Recorder,
        rule: ImageRule,
        visit: impl FnMut(&Image) -> ControlFlow<()>,
    ) {
        match self.kills {
            true => recorder.images_of_kills(visit),
            false => recorder.images(rule, visit),
        }
    }

    fn describe(&self, place: &Place, image: &Image, what: &str) -> String {
        let (acknowledged, begun) = (image.acknowledged(), image.begun());
        format!(
            "EVEREDGE_EXPLORE_PLACE={place} (medium {}, plant {:?}, operations {acknowledged} \
             acknowledged, {begun} begun): {what}",
            self.kind, self.plant
        )
    }

    /// Runs one history on a volume that `prepare` may set to fail.
    fn record(
        &self,
        seed: u64,
        prepare: impl FnOnce(&Recorder),
    ) -> (History<S::State>, Result<()>) {
        let (_volume, history, outcome) = self.record_on_volume(seed, prepare);
        (history, outcome)
    }

    /// Runs one history and returns the volume too, whose handle may be poisoned.
    fn record_on_volume(
        &self,
        seed: u64,
        prepare: impl FnOnce(&Recorder),
    ) -> (Volume, History<S::State>, Result<()>) {
        let (volume, recorder) = match &self.start {
            Start::New => Volume::recorded(self.kind, self.eadr),
            Start::PowerLoss(image) => Volume::from_image(image).expect("memory"),
            Start::Kill(image) => Volume::from_killed(image).expect("memory"),
        };
        self.plant_in(&recorder);
        prepare(&recorder);
        let mut history = History::new(recorder);
        let outcome = self.subject.run(seed, &volume, &mut history);
        (volume, history, outcome)
    }

    fn plant_in(&self, recorder: &Recorder) {
        if let Some(plant) = self.plant {
            recorder.plant(plant);
        }
    }

    /// Checks one image and returns how many images of its recovery were checked too.
    fn check_image(
        &self,
        image: &Image,
        states: &[S::State],
        crash_recovery: bool,
    ) -> Checked<u64> {
        let checked = AssertUnwindSafe(|| {
            let (volume, recorder) = self.open(image)?;
            let state = self.recover(&volume, image, states)?;
            let recovery_images = match crash_recovery {
                true => self.crash_recovery(&recorder, image, state.as_ref())?,
                false => 0,
            };
            if let Some(state) = state {
                self.check_usable(&volume, image.digest(), state)?;
            }
            Ok(recovery_images)
        });
        catch_unwind(checked).unwrap_or_else(|panic| {
            Err(Failure::new(Violation::Unsound, format!("panic: {}", text(&*panic))))
        })
    }

    fn open(&self, image: &Image) -> Checked<(Volume, Recorder)> {
        let opened = match self.kills {
            true => Volume::from_killed(image),
            false => Volume::from_image(image),
        };
        let (volume, recorder) = opened.map_err(|e| e.to_string())?;
        self.plant_in(&recorder);
        Ok((volume, recorder))
    }

    /// Recovers and returns the state, which is that of an allowed prefix.
    fn recover(
        &self,
        volume: &Volume,
        image: &Image,
        states: &[S::State],
    ) -> Checked<Option<S::State>> {
        let (acknowledged, begun) = (image.acknowledged() as usize, image.begun() as usize);
        let store = self.subject.recover(volume).map_err(|e| refused("recovery", &e))?;
        let Some(store) = store else {
            return match acknowledged {
                0 => Ok(None),
                _ => Err(Failure::new(Violation::Wrong, "the store is gone")),
            };
        };
        let state = self.subject.state(&store);
        let allowed = &states[acknowledged.saturating_sub(1)..begun];
        match allowed.contains(&state) {
            true => Ok(Some(state)),
            false => {
                let what = format!("recovered {state:?}, expected one of {allowed:?}");
                Err(Failure::new(Violation::Wrong, what))
            }
        }
    }

    /// Crashes the recovery that `recorder` saw: another one must come to the same state.
    fn crash_recovery(
        &self,
        recorder: &Recorder,
        image: &Image,
        state: Option<&S::State>,
    ) -> Checked<u64> {
        let rule = ImageRule { point_images_max: RECOVERY_POINT_IMAGES_MAX, seed: image.digest() };
        let (mut seen, mut count) = (HashSet::new(), 0u64);
        self.images(recorder, rule, |_| {
            count += 1;
            ControlFlow::Continue(())
        });
        // Lists that are copied are thousands of stores, and a kill can come at each.
        let share = (count / RECOVERY_IMAGES).max(1);
        let mut outcome = Ok(());
        self.images(recorder, rule, |crashed| {
            let is_skipped = !(crashed.point() + crashed.choice()).is_multiple_of(share);
            if is_skipped || !seen.insert(crashed.digest()) {
                return ControlFlow::Continue(());
            }
            outcome = self.recover_again(crashed, state).map_err(|failure| {
                let place = format!("recovery crashed at {}/{}", crashed.point(), crashed.choice());
                failure.map(|what| format!("{place}: {what}"))
            });
            match outcome {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        });
        outcome.map(|()| seen.len() as u64)
    }

    fn recover_again(&self, image: &Image, state: Option<&S::State>) -> Checked<()> {
        let (volume, _recorder) = self.open(image)?;
        let store = self.subject.recover(&volume).map_err(|e| refused("recovery", &e))?;
        let found = store.map(|store| self.subject.state(&store));
        match found.as_ref() == state {
            true => Ok(()),
            false => {
                let what = format!("recovered {found:?}, before {state:?}");
                Err(Failure::new(Violation::Unstable, what))
            }
        }
    }

    /// Applies operations to the recovered store, opens it again and expects them.
    fn check_usable(&self, volume: &Volume, seed: u64, state: S::State) -> Checked<()> {
        let subject = self.subject;
        let open = || match subject.recover(volume) {
            Ok(store) => store.ok_or_else(|| Failure::new(Violation::Wrong, "the store is gone")),
            Err(e) => Err(refused("opening again", &e)),
        };
        let mut store = open()?;
        let expected = subject
            .apply(seed, &mut store, state)
            .map_err(|e| refused("an operation after recovery", &e))?;
        drop(store);
        let found = subject.state(&open()?);
        match found == expected {
            true => Ok(()),
            false => {
                let what = format!("after more operations {found:?}, expected {expected:?}");
                Err(Failure::new(Violation::Unusable, what))
            }
        }
    }

    /// Makes every call of a history fail in turn, in a short run every second one: those with an even
    /// number, or an odd one with `is_odd`. Checks what a power loss after the failure leaves. Returns how
    /// many calls failed.
    pub(crate) fn check_failing_calls(
        &self,
        seed: u64,
        (errno, forever): (i32, bool),
        is_odd: bool,
    ) -> u64 {
        let (first, step) = if is_at_length() { (0, 1) } else { (u64::from(is_odd), 2) };
        for (count, n) in (first..).step_by(step).enumerate() {
            let (history, outcome) = self.record(seed, |r| r.fail_nth(n, errno, forever));
            if !history.recorder.has_failed() {
                outcome.expect("a history without a failing call succeeds");
                return count as u64;
            }
            let rule = ImageRule { point_images_max: FAILURE_POINT_IMAGES_MAX, seed };
            let begun = history.states.len() as u64;
            history.recorder.images(rule, |image| {
                if image.begun() == begun {
                    let checked = self.check_image(image, &history.states, false);
                    checked.unwrap_or_else(|what| {
                        panic!("{} seed {seed}, call {n} fails: {what}", self.name)
                    });
                }
                ControlFlow::Continue(())
            });
        }
        unreachable!("a history has fewer calls than there are numbers")
    }

    /// Makes every call of a history fail once in turn, opens the store again as its user does, goes
    /// on, and checks what a power loss leaves from then on.
    pub(crate) fn go_on_after_failing_calls(&self, seed: u64, errno: i32) -> Checked<Report> {
        let mut report = Report::default();
        for n in 0.. {
            let fail = |recorder: &Recorder| recorder.fail_nth(n, errno, false);
            let (volume, mut history, outcome) = self.record_on_volume(seed, fail);
            if !history.recorder.has_failed() {
                outcome.map_err(|e| format!("{} seed {seed}: {e}", self.name))?;
                return Ok(report);
            }
            report.histories += 1;
            report.images += self.go_on(seed, &volume, &mut history).map_err(|failure| {
                failure.map(|what| format!("{} seed {seed}, call {n} fails: {what}", self.name))
            })?;
        }
        Ok(report)
    }

    /// Opens what a history left, goes on, and returns how many images of that were checked.
    fn go_on(&self, seed: u64, volume: &Volume, history: &mut History<S::State>) -> Checked<u64> {
        let recorder = history.recorder.clone();
        recorder.stop_failing();
        let volume = recorder.open_again(volume).map_err(|e| e.to_string())?;
        let opened = self.subject.recover(&volume);
        let store = opened.map_err(|e| refused("opening after the failure", &e))?;
        // The creation failed.
        let Some(mut store) = store else { return Ok(0) };
        let state = self.subject.state(&store);
        let (acknowledged, begun) = (history.acknowledged.get(), history.states.len());
        let allowed = &history.states[acknowledged.saturating_sub(1)..begun];
        if !allowed.contains(&state) {
            let what = format!("opened again as {state:?}, expected one of {allowed:?}");
            return Err(Failure::new(Violation::Wrong, what));
        }
        history.begin(state.clone());
        history.acknowledge();
        let images = self.check_last(seed, history)?;
        let applied = self.subject.apply(seed, &mut store, state);
        let synced = applied.and_then(|state| self.subject.sync(&store).map(|()| state));
        let state = synced.map_err(|e| refused("an operation after the failure", &e))?;
        history.begin(state);
        history.acknowledge();
        drop(store);
        Ok(images + self.check_last(seed, history)?)
    }

    /// Checks what a power loss leaves now that the last operation is acknowledged, and returns of how
    /// many images.
    fn check_last(&self, seed: u64, history: &History<S::State>) -> Checked<u64> {
        let rule = ImageRule { point_images_max: FAILURE_POINT_IMAGES_MAX, seed };
        let last = history.states.len() as u64;
        let (mut seen, mut outcome) = (HashSet::new(), Ok(()));
        history.recorder.images(rule, |image| {
            if image.acknowledged() == last && seen.insert(image.digest()) {
                outcome = self.check_image(image, &history.states, false).map(drop);
            }
            match outcome {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        });
        outcome.map(|()| seen.len() as u64)
    }
}

/// Returns what is wrong where a call fails that must not: damage that there was none of.
pub(crate) fn refused(call: &str, error: &Error) -> Failure {
    let what = format!("{call} fails: {error}");
    match error {
        Error::Corruption { .. } | Error::Version { .. } | Error::NotAGraph { .. } => {
            Failure::new(Violation::Refused, what)
        }
        _ => what.into(),
    }
}

pub(crate) fn text(panic: &(dyn std::any::Any + Send)) -> String {
    match (panic.downcast_ref::<String>(), panic.downcast_ref::<&str>()) {
        (Some(text), _) => text.clone(),
        (_, Some(text)) => (*text).into(),
        _ => "without a text".into(),
    }
}
