//! Syncs that fail once fail for ever: no thread tries again what failed for another one.
//!
//! The kernel reports a lost page to one sync of a file; the next sync of it succeeds without that
//! page. So the thread whose sync fails poisons the volume before the next thread may sync.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use super::{lock, process};
use crate::{Error, Result};

/// Whether a volume may be changed: by the process that opened it, until a sync has failed.
pub(super) struct Health {
    /// The process that opened the volume.
    process: u64,
    /// The text of the first failed sync.
    first_failure: OnceLock<String>,
}

impl Health {
    /// Takes note of the process that opens a volume.
    pub(super) fn new() -> Health {
        Health { process: process::current(), first_failure: OnceLock::new() }
    }

    /// Keeps the text of the first failed sync; from now on every change is refused.
    pub(super) fn poison(&self, error: Error) -> Error {
        // A second failure adds nothing: the text of the first stays.
        let _ = self.first_failure.set(error.to_string());
        error
    }

    /// Refuses a change after a failed sync, and in a forked child.
    #[inline]
    pub(super) fn check(&self) -> Result<()> {
        match process::current() == self.process && self.first_failure.get().is_none() {
            true => Ok(()),
            false => Err(self.refusal()),
        }
    }

    #[cold]
    fn refusal(&self) -> Error {
        match self.first_failure.get() {
            Some(first) if process::current() == self.process => {
                Error::Poisoned { first: first.clone() }
            }
            _ => Error::Forked,
        }
    }
}

/// Lets the syncs of one file through, one at a time.
#[derive(Default)]
pub(super) struct SyncGate {
    /// How often something was flushed.
    flush_count: AtomicU64,
    /// The `flush_count` that the last sync covered. Locked during a sync, so that whoever finds
    /// its flush covered has waited until the sync was done.
    synced_count: Mutex<u64>,
}

impl SyncGate {
    /// Marks that something waits for the next sync.
    #[inline]
    pub(super) fn mark_flushed(&self) {
        // What was stored before is to be seen by the thread whose sync covers it.
        self.flush_count.fetch_add(1, Ordering::Release);
    }

    /// Syncs once for all that was flushed before; returns at once if a sync has covered it.
    /// `see` is called in any case, in the order of the syncs.
    ///
    /// # Errors
    /// That of `see` or `sync`, which then have poisoned; all later calls fail.
    pub(super) fn sync_flushed(
        &self,
        health: &Health,
        see: impl FnOnce() -> Result<()>,
        sync: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let wanted_count = self.flush_count.load(Ordering::Acquire);
        let mut synced_count = lock(&self.synced_count);
        // The sync that this thread has waited for may have failed.
        health.check()?;
        see().map_err(|e| health.poison(e))?;
        if *synced_count >= wanted_count {
            return Ok(());
        }
        // Threads that flushed while this one waited for the lock are covered too.
        let covered_count = self.flush_count.load(Ordering::Acquire);
        sync().map_err(|e| health.poison(e))?;
        *synced_count = covered_count;
        Ok(())
    }

    /// Syncs, whatever was flushed.
    ///
    /// # Errors
    /// That of `sync`, which then has poisoned; all later calls fail.
    pub(super) fn sync(&self, health: &Health, sync: impl FnOnce() -> Result<()>) -> Result<()> {
        let _syncing = lock(&self.synced_count);
        health.check()?;
        sync().map_err(|e| health.poison(e))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Barrier;
    use std::thread;
    use std::time::Duration;

    use rustix::io::Errno;

    use super::*;

    fn fail() -> Result<()> {
        Err(Error::io(Path::new("log"), "sync", Errno::IO))
    }

    /// The kernel tells one thread of the lost pages; the other thread's sync would succeed.
    #[test]
    fn who_waited_for_a_sync_that_failed_does_not_sync_again() {
        for covers_all in [false, true] {
            let (gate, health, is_syncing) = (SyncGate::default(), Health::new(), Barrier::new(2));
            thread::scope(|scope| {
                gate.mark_flushed();
                let first = scope.spawn(|| {
                    let sync = || {
                        is_syncing.wait();
                        // Long enough that the second thread waits for this sync.
                        thread::sleep(Duration::from_millis(50));
                        fail()
                    };
                    gate.sync_flushed(&health, || Ok(()), sync)
                });
                is_syncing.wait();
                assert!(health.check().is_ok(), "the second thread finds the volume healthy");
                gate.mark_flushed();
                let again = || panic!("a failed sync was tried again");
                let second = match covers_all {
                    false => gate.sync_flushed(&health, || Ok(()), again),
                    true => gate.sync(&health, again),
                };
                assert!(matches!(second, Err(Error::Poisoned { .. })), "{second:?}");
                let first = first.join().expect("no panic");
                assert!(matches!(first, Err(Error::Io { .. })), "{first:?}");
            });
        }
    }

    #[test]
    fn one_sync_covers_all_that_was_flushed_before() {
        let (gate, health) = (SyncGate::default(), Health::new());
        gate.mark_flushed();
        gate.mark_flushed();
        gate.sync_flushed(&health, || Ok(()), || Ok(())).expect("a sync");
        let again = || panic!("nothing was flushed since");
        gate.sync_flushed(&health, || Ok(()), again).expect("covered");
        gate.mark_flushed();
        let failed = gate.sync_flushed(&health, || Ok(()), fail);
        assert!(matches!(failed, Err(Error::Io { .. })), "{failed:?}");
        let again = || panic!("a failed sync was tried again");
        assert!(matches!(gate.sync(&health, again), Err(Error::Poisoned { .. })));
    }
}
