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

use std::collections::BTreeSet;
use std::ops::{ControlFlow, Range};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

use rustix::io::Errno;

use super::image::{Image, Patch};
use super::replay::Replay;
use super::{MediumKind, Site, Volume, VolumeOptions, lock};
use crate::{Error, Result};

/// A step of the history that a recovered state is compared with. Operations are numbered from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The operation is about to start.
    Begin(u64),
    /// The operation has returned; it and all before it must survive.
    Acknowledged(u64),
}

/// A defect of the medium, planted to see it found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Plant {
    /// Flushes at the site do nothing.
    DropFlush(Site),
    /// Fences and drains at the site do nothing; what was flushed waits for a fence elsewhere.
    DropFence(Site),
    /// The same of one region only, by number in the order in which they were made.
    DropFenceOf(Site, u32),
    /// Nothing is stored again at the site, only flushed.
    DropRewrite(Site),
    /// Every checksum at the site is found to match.
    SkipChecksum(Site),
    /// None is: what the site wrote is never read back.
    FailChecksum(Site),
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

    /// Makes the `n`th call from now on that can fail (from 0) return the error number, and all
    /// later ones too if `forever`.
    pub fn fail_nth(&self, n: u64, errno: i32, forever: bool) {
        let errno = Errno::from_raw_os_error(errno);
        lock(&self.trace.state).failure =
            Some(Failure { calls_left: n, errno, forever, has_come: false });
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
    /// each store. A dram volume leaves nothing. `visit` may use other volumes, also this one.
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
        is_volatile: bool,
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
    Mark(Mark),
}

/// A trace as far as it has come.
pub(super) struct Recording {
    /// What the volume held at first.
    start: Image,
    pub(super) events: Vec<Event>,
    /// The bytes that `Event::Store` refers to.
    pub(super) data: Vec<u8>,
    /// How many of the first events are those of a process that was killed before.
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
    failure: Option<Failure>,
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
            inherited: self.inherited,
        }
    }
}

impl Trace {
    fn new(start: Image) -> Trace {
        let (events, data) = (Vec::new(), Vec::new());
        let state = TraceState { start, events, data, inherited: 0, plant: None, failure: None };
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

    pub(super) fn flush(&self, region: u32, site: Site, range: Range<u64>) {
        let thread = thread::current().id();
        self.push_unless(&[Plant::DropFlush(site)], Event::Flush { region, range, thread });
    }

    pub(super) fn drain(&self, region: u32, site: Site) {
        let thread = thread::current().id();
        let plants = [Plant::DropFence(site), Plant::DropFenceOf(site, region)];
        self.push_unless(&plants, Event::Drain { region, thread });
    }

    pub(super) fn fence(&self, region: u32, site: Site) {
        let thread = thread::current().id();
        let plants = [Plant::DropFence(site), Plant::DropFenceOf(site, region)];
        self.push_unless(&plants, Event::Fence { region, thread });
    }

    fn push_unless(&self, plants: &[Plant], event: Event) {
        let mut state = lock(&self.state);
        if state.plant.is_none_or(|plant| !plants.contains(&plant)) {
            state.events.push(event);
        }
    }

    /// Returns whether checksums at the site are to match whatever they are, or never.
    pub(super) fn planted_checksum(&self, site: Site) -> Option<bool> {
        match lock(&self.state).plant {
            Some(Plant::SkipChecksum(broken)) if broken == site => Some(true),
            Some(Plant::FailChecksum(broken)) if broken == site => Some(false),
            _ => None,
        }
    }

    /// Returns whether nothing is stored again at the site.
    pub(super) fn drops_rewrite(&self, site: Site) -> bool {
        lock(&self.state).plant == Some(Plant::DropRewrite(site))
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
