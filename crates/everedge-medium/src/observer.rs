//! Who watches the calls of a volume: the meter or a recorder, mostly no one.

use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex};

use super::meter::{Meter, MeterReading};
use super::record::{Event, Trace};
use super::{Site, lock};
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

    pub(super) fn flush(&self, region: u32, site: Site, range: Range<u64>) {
        match self {
            Observer::Meter(meter) => lock(meter).flush(),
            Observer::Trace(trace) => trace.flush(region, site, range),
        }
    }

    pub(super) fn drain(&self, region: u32, site: Site) {
        match self {
            Observer::Meter(meter) => lock(meter).drain(),
            Observer::Trace(trace) => trace.drain(region, site),
        }
    }

    pub(super) fn fence(&self, region: u32, site: Site) {
        match self {
            Observer::Meter(meter) => lock(meter).fence(region),
            Observer::Trace(trace) => trace.fence(region, site),
        }
    }

    /// Notes that a sync has lost what it was to write.
    pub(super) fn lose(&self, region: u32) {
        self.change(|| Event::Lose { region });
    }

    /// Returns whether nothing is stored again at the site.
    pub(super) fn drops_rewrite(&self, site: Site) -> bool {
        match self {
            Observer::Meter(_) => false,
            Observer::Trace(trace) => trace.drops_rewrite(site),
        }
    }

    /// Notes a change of names or lengths.
    pub(super) fn change(&self, event: impl FnOnce() -> Event) {
        if let Observer::Trace(trace) = self {
            trace.push(event());
        }
    }

    /// Returns the error that the call at hand is to return.
    pub(super) fn next_call(&self, path: &Path, operation: &'static str) -> Result<()> {
        match self {
            Observer::Meter(_) => Ok(()),
            Observer::Trace(trace) => trace.next_call(path, operation),
        }
    }

    /// Returns whether checksums at the site are to match whatever they are, or never.
    pub(super) fn planted_checksum(&self, site: Site) -> Option<bool> {
        match self {
            Observer::Meter(_) => None,
            Observer::Trace(trace) => trace.planted_checksum(site),
        }
    }

    pub(super) fn reading(&self) -> Option<MeterReading> {
        match self {
            Observer::Meter(meter) => Some(lock(meter).reading()),
            Observer::Trace(_) => None,
        }
    }
}
