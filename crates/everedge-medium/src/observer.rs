//! Who watches the calls of a volume: the meter or a recorder, mostly no one.

use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex};

use super::lock;
use super::meter::{Meter, MeterReading};
use super::plant::Call;
use super::record::{Event, Trace};
use crate::Result;

/// Sees every call that touches a region.
pub(super) enum Observer {
    /// Counts.
    Meter(Mutex<Meter>),
    /// Records, and misbehaves where it was told to.
    Trace(Arc<Trace>),
}

impl Observer {
    pub(super) fn store(&self, region: u32, offset: u64, bytes: &[u8]) {
        match self {
            Observer::Meter(meter) => {
                lock(meter).store(region, offset..offset + bytes.len() as u64);
            }
            Observer::Trace(trace) => trace.store(region, offset, bytes),
        }
    }

    pub(super) fn load(&self, region: u32, range: Range<u64>) {
        if let Observer::Meter(meter) = self {
            lock(meter).load(region, range);
        }
    }

    pub(super) fn flush(&self, call: &Call, region: u32, range: Range<u64>) {
        match self {
            Observer::Meter(meter) => lock(meter).flush(),
            Observer::Trace(trace) => trace.flush(call, region, range),
        }
    }

    pub(super) fn drain(&self, call: &Call, region: u32) {
        match self {
            Observer::Meter(meter) => lock(meter).drain(),
            Observer::Trace(trace) => trace.drain(call, region),
        }
    }

    pub(super) fn fence(&self, call: &Call, region: u32) {
        match self {
            Observer::Meter(meter) => lock(meter).fence(region),
            Observer::Trace(trace) => trace.fence(call, region),
        }
    }

    /// Notes that a sync has lost what it was to write.
    pub(super) fn lose(&self, region: u32) {
        if let Observer::Trace(trace) = self {
            trace.push(Event::Lose { region });
        }
    }

    /// Returns whether nothing is stored where the call is to store.
    pub(super) fn drops_store(&self, call: &Call, region: u32) -> bool {
        match self {
            Observer::Meter(_) => false,
            Observer::Trace(trace) => trace.drops_store(call, region),
        }
    }

    /// Notes a change of names or lengths.
    pub(super) fn change(&self, call: &Call, event: impl FnOnce() -> Event) {
        if let Observer::Trace(trace) = self {
            trace.change(call, event());
        }
    }

    /// Returns the error that the call at hand is to return.
    pub(super) fn next_call(&self, path: &Path, operation: &'static str) -> Result<()> {
        match self {
            Observer::Meter(_) => Ok(()),
            Observer::Trace(trace) => trace.next_call(path, operation),
        }
    }

    /// Returns what a check is to find, if a plant has a say in it.
    pub(super) fn planted_outcome(&self, check: &Call) -> Option<bool> {
        match self {
            Observer::Meter(_) => None,
            Observer::Trace(trace) => trace.planted_outcome(check),
        }
    }

    pub(super) fn reading(&self) -> Option<MeterReading> {
        match self {
            Observer::Meter(meter) => Some(lock(meter).reading()),
            Observer::Trace(_) => None,
        }
    }
}
