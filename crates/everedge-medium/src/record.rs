//! A recording medium, for tests: it keeps the order of everything that a crash could cut.
//!
//! Source: the frontend of Yat (ATC 2014) and of pmemcheck, which log stores, flushes and fences
//! and replay them in the orders that the hardware allows. Differences: the layouts write through
//! one door, so no instrumentation is needed, and files are covered like persistent memory.
//!
//! A recorded volume lives in memory. [`Recorder::images`] builds what a power loss could leave of
//! it, [`Volume::from_image`] opens that again, recorded as well, so that recovery can be crashed
//! too. A [`Plant`] breaks the medium in one place, to prove that a test would notice;
//! [`Recorder::fail_nth`] makes one call after the other fail.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

use rustix::io::Errno;

use super::image::{Image, Patch};
use super::plant::{Call, CallKind, Plant};
use super::replay::Replay;
use super::{MediumKind, Volume, VolumeOptions, lock};
use crate::{Error, Result};

/// A step of the history that a recovered state is compared with. Operations are numbered from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The operation is about to start.
    Begin(u64),
    /// The operation has returned; it and all before it must survive.
    Acknowledged(u64),
}

/// How many images to build.
#[derive(Clone, Copy, Debug)]
pub struct ImageRule {
    /// The most images of one crash point. A point with more choices is sampled: nothing and all
    /// that was not fenced, each line alone and all lines but each, then random choices.
    pub point_images_max: u64,
    /// The seed of the random choices.
    pub seed: u64,
}

/// The hand on a recorded volume; a clone is another hand on the same.
#[derive(Clone)]
pub struct Recorder {
    trace: Arc<Trace>,
}

impl Recorder {
    /// Adds a mark to the trace.
    pub fn mark(&self, mark: Mark) {
        self.trace.push(Event::Mark(mark));
    }

    /// Breaks the medium from now on.
    pub fn plant(&self, plant: Plant) {
        lock(&self.trace.state).plant = Some(plant);
    }

    /// Counts the calls from now on.
    pub fn count_calls(&self) {
        lock(&self.trace.state).calls = Some(BTreeMap::new());
    }

    /// Returns the calls that have come since [`count_calls`](Self::count_calls), and how often.
    pub fn calls(&self) -> BTreeMap<Call, u64> {
        lock(&self.trace.state).calls.clone().unwrap_or_default()
    }

    /// Returns whether the plant has changed anything.
    pub fn has_misbehaved(&self) -> bool {
        lock(&self.trace.state).misbehaved_at.is_some()
    }

    /// Makes the `n`th call from now on that can fail (from 0) return the error number, and all
    /// later ones too if `forever`.
    pub fn fail_nth(&self, n: u64, errno: i32, forever: bool) {
        let errno = Errno::from_raw_os_error(errno);
        lock(&self.trace.state).failure =
            Some(Failure { calls_left: n, errno, forever, has_come: false });
    }

    /// Makes the `n`th call from now on that a [`Plant`] could break (from 0) panic, as an error of
    /// ours on the way would.
    pub fn panic_at_nth(&self, n: u64) {
        lock(&self.trace.state).calls_to_panic = Some(n);
    }

    /// Returns whether no call is to panic any more.
    pub fn has_panicked(&self) -> bool {
        lock(&self.trace.state).calls_to_panic.is_none()
    }

    /// Lets all calls go well again.
    pub fn stop_failing(&self) {
        lock(&self.trace.state).failure = None;
    }

    /// Opens the recorded volume anew, as a user does whose handle refuses writes: nothing but the
    /// handle is new, and the same trace goes on.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] if `volume` is not a recorded one.
    pub fn open_again(&self, volume: &Volume) -> Result<Volume> {
        volume.again(self.trace.clone())
    }

    /// Returns whether the call that was to fail has come.
    pub fn has_failed(&self) -> bool {
        lock(&self.trace.state).failure.is_some_and(|failure| failure.has_come)
    }

    /// Returns how many events were recorded.
    pub fn event_count(&self) -> usize {
        lock(&self.trace.state).events.len()
    }

    /// Calls `visit` with the images that a power loss at any point of the trace could leave, in a
    /// fixed order, until it breaks. Equal images may come more than once:
    /// [`Image::digest`] tells them.
    ///
    /// Points lie before each fence, before and in each change of a file's name or length, and
    /// at the end: what could be lost earlier can be lost there too. With eADR they lie after
    /// each store. Of a trace in which a [`Plant`] has changed something, those before are left out. A dram volume leaves nothing. `visit` may use other volumes, also this one.
    pub fn images(&self, rule: ImageRule, visit: impl FnMut(&Image) -> ControlFlow<()>) {
        let recording = lock(&self.trace.state).recording();
        // The visitor's break is the end of the enumeration, not an error.
        let _ = Replay::new(&recording.start, rule, visit).run(&recording);
    }

    /// Calls `visit` with what a process leaves that is killed at any point of the trace, until
    /// it breaks: all that was stored before. [`Volume::from_killed`] opens it.
    pub fn images_of_kills(&self, visit: impl FnMut(&Image) -> ControlFlow<()>) {
        let recording = lock(&self.trace.state).recording();
        // The visitor's break is the end of the enumeration, not an error.
        let _ = Replay::of_kills(&recording.start, visit).run(&recording);
    }

    /// Returns what a process leaves that is killed now.
    pub fn image_of_kill(&self) -> Image {
        let mut recording = lock(&self.trace.state).recording();
        recording.inherited = recording.events.len();
        let mut killed = recording.start.clone();
        // One point is visited, at the end.
        let _ = Replay::of_kills(&recording.start, |image| {
            killed = image.clone();
            ControlFlow::Continue(())
        })
        .run(&recording);
        killed
    }
}

impl Volume {
    /// Makes an empty volume in memory that records what happens to it.
    pub fn recorded(kind: MediumKind, eadr: bool) -> (Volume, Recorder) {
        let options = VolumeOptions { kind, eadr, meter: false };
        let trace = Arc::new(Trace::new(Image::empty(options)));
        (Volume::in_memory(Path::new("recorded"), options, Some(trace.clone())), Recorder { trace })
    }

    /// Makes a recorded volume that holds what a power loss left.
    ///
    /// # Errors
    /// [`Error::NoSpace`] if there is no memory.
    pub fn from_image(image: &Image) -> Result<(Volume, Recorder)> {
        let trace = Arc::new(Trace::new(image.clone()));
        let volume = Volume::in_memory(Path::new("recorded"), image.options(), Some(trace.clone()));
        volume.fill(image)?;
        Ok((volume, Recorder { trace }))
    }

    /// Makes a recorded volume that holds what a killed process left: what `image` holds beyond
    /// the last fences is in caches only, and a power loss may still take it.
    ///
    /// # Errors
    /// [`Error::NoSpace`] if there is no memory.
    pub fn from_killed(image: &Image) -> Result<(Volume, Recorder)> {
        let (volume, recorder) = Volume::from_image(image)?;
        lock(&recorder.trace.state).start = image.fenced();
        let (lost, dirty) = image.patches.split_at(image.lost_count);
        let store = |patch: &Patch| recorder.trace.store(patch.region, patch.offset, patch.bytes());
        lost.iter().for_each(store);
        let regions: BTreeSet<u32> = lost.iter().map(|patch| patch.region).collect();
        regions.into_iter().for_each(|region| recorder.trace.push(Event::Lose { region }));
        dirty.iter().for_each(store);
        let inherited = recorder.event_count();
        lock(&recorder.trace.state).inherited = inherited;
        Ok((volume, recorder))
    }
}

/// What is recorded, in the order in which it happened.
#[derive(Clone)]
pub(super) enum Event {
    Store {
        region: u32,
        offset: u64,
        data: Range<usize>,
    },
    Flush {
        region: u32,
        range: Range<u64>,
        thread: ThreadId,
    },
    Drain {
        region: u32,
        thread: ThreadId,
    },
    Fence {
        region: u32,
        thread: ThreadId,
    },
    /// A sync of a file has failed: what waited is clean, and still read.
    Lose {
        region: u32,
    },
    Create {
        region: u32,
        name: Arc<str>,
        len: u64,
    },
    Resize {
        region: u32,
        len: u64,
    },
    Publish {
        name: Arc<str>,
        bytes: Arc<[u8]>,
    },
    Remove {
        name: Arc<str>,
    },
    /// The change of names or lengths just before was not synced: until the next one is, it may be
    /// undone. A file that was published may also be there and be empty, if `is_torn`.
    Unsynced {
        is_torn: bool,
    },
    Mark(Mark),
}

/// A trace as far as it has come.
pub(super) struct Recording {
    /// What the volume held at first.
    start: Image,
    pub(super) events: Vec<Event>,
    /// The bytes that `Event::Store` refers to.
    pub(super) data: Vec<u8>,
    /// How many of the first events nothing is visited at: those of a process that was killed
    /// before, and those before a plant has changed anything.
    pub(super) inherited: usize,
}

/// The trace of a volume, written by all its threads.
pub(super) struct Trace {
    state: Mutex<TraceState>,
}

struct TraceState {
    start: Image,
    events: Vec<Event>,
    data: Vec<u8>,
    inherited: usize,
    plant: Option<Plant>,
    /// How many events there were when the plant first changed something.
    misbehaved_at: Option<usize>,
    /// A fence that is to come too late, until its thread has flushed again.
    delayed: Option<(ThreadId, Event)>,
    calls: Option<BTreeMap<Call, u64>>,
    failure: Option<Failure>,
    /// How many calls go well before one panics.
    calls_to_panic: Option<u64>,
}

#[derive(Clone, Copy)]
struct Failure {
    /// How many calls go well before.
    calls_left: u64,
    errno: Errno,
    forever: bool,
    has_come: bool,
}

impl TraceState {
    fn recording(&self) -> Recording {
        Recording {
            start: self.start.clone(),
            events: self.events.clone(),
            data: self.data.clone(),
            inherited: self.inherited.max(self.misbehaved_at.unwrap_or(0)),
        }
    }

    fn note(&mut self, call: &Call) {
        if let Some(calls) = &mut self.calls {
            *calls.entry(*call).or_default() += 1;
        }
        match self.calls_to_panic.take() {
            Some(0) => panic!("{call:?} was to panic"),
            Some(left) => self.calls_to_panic = Some(left - 1),
            None => {}
        }
    }

    /// Notes that the plant changes something now.
    fn misbehave(&mut self) {
        self.misbehaved_at.get_or_insert(self.events.len());
    }

    /// Pushes what the call leads to, unless the plant is against it.
    fn push_unless_dropped(&mut self, call: &Call, region: u32, event: Event) {
        self.note(call);
        match self.plant {
            Some(plant) if plant.drops(call, region) => self.misbehave(),
            Some(Plant::Delay(delayed)) if delayed == *call => {
                self.misbehave();
                let earlier = self.delayed.replace((thread::current().id(), event));
                self.events.extend(earlier.map(|(_, event)| event));
            }
            _ => self.events.push(event),
        }
    }

    /// Pushes the delayed fence of this thread.
    fn catch_up(&mut self) {
        let own = self.delayed.take_if(|(thread, _)| *thread == thread::current().id());
        self.events.extend(own.map(|(_, event)| event));
    }
}

impl Trace {
    fn new(start: Image) -> Trace {
        let (events, data) = (Vec::new(), Vec::new());
        let state = TraceState {
            start,
            events,
            data,
            inherited: 0,
            plant: None,
            misbehaved_at: None,
            delayed: None,
            calls: None,
            failure: None,
            calls_to_panic: None,
        };
        Trace { state: Mutex::new(state) }
    }

    pub(super) fn push(&self, event: Event) {
        lock(&self.state).events.push(event);
    }

    pub(super) fn store(&self, region: u32, offset: u64, bytes: &[u8]) {
        let mut state = lock(&self.state);
        let start = state.data.len();
        state.data.extend_from_slice(bytes);
        let data = start..state.data.len();
        state.events.push(Event::Store { region, offset, data });
    }

    pub(super) fn flush(&self, call: &Call, region: u32, range: Range<u64>) {
        let thread = thread::current().id();
        let mut state = lock(&self.state);
        state.push_unless_dropped(call, region, Event::Flush { region, range, thread });
        state.catch_up();
    }

    pub(super) fn drain(&self, call: &Call, region: u32) {
        let thread = thread::current().id();
        lock(&self.state).push_unless_dropped(call, region, Event::Drain { region, thread });
    }

    pub(super) fn fence(&self, call: &Call, region: u32) {
        let thread = thread::current().id();
        lock(&self.state).push_unless_dropped(call, region, Event::Fence { region, thread });
    }

    /// Notes a change of names or lengths.
    pub(super) fn change(&self, call: &Call, event: Event) {
        let mut state = lock(&self.state);
        state.note(call);
        let (is_dropped, is_delayed) =
            (state.plant == Some(Plant::Drop(*call)), state.plant == Some(Plant::Delay(*call)));
        if is_dropped || is_delayed {
            state.misbehave();
        }
        state.events.push(event);
        if is_dropped || is_delayed && call.kind() == CallKind::Publish {
            state.events.push(Event::Unsynced { is_torn: is_delayed });
        }
    }

    /// Returns what a check is to find, if the plant has a say in it.
    pub(super) fn planted_outcome(&self, check: &Call) -> Option<bool> {
        let mut state = lock(&self.state);
        state.note(check);
        state.plant.and_then(|plant| plant.outcome_of(check))
    }

    /// Returns whether nothing is stored where the call is to store.
    pub(super) fn drops_store(&self, call: &Call, region: u32) -> bool {
        let mut state = lock(&self.state);
        state.note(call);
        let is_dropped = state.plant.is_some_and(|plant| plant.drops(call, region));
        if is_dropped {
            state.misbehave();
        }
        is_dropped
    }

    /// Counts a call that can fail and returns the error if it is to.
    pub(super) fn next_call(&self, path: &Path, operation: &'static str) -> Result<()> {
        let mut state = lock(&self.state);
        let Some(failure) = &mut state.failure else { return Ok(()) };
        if failure.calls_left > 0 {
            failure.calls_left -= 1;
            return Ok(());
        }
        if failure.has_come && !failure.forever {
            return Ok(());
        }
        failure.has_come = true;
        Err(Error::refused(path, operation, failure.errno, 0, 0))
    }
}
