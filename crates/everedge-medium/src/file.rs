//! The file behind a region: allocated before it is used, synced once for all that wait.

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::FallocateFlags;
use rustix::io::Errno;

use super::lock;
use crate::{Error, Result};

/// A file that a region maps.
pub(super) struct BackingFile {
    fd: OwnedFd,
    path: PathBuf,
    /// How often something was flushed.
    flush_count: AtomicU64,
    /// The `flush_count` that the last sync covered. Locked during a sync, so that whoever finds
    /// its flush covered has waited until the sync was done.
    synced_count: Mutex<u64>,
}

impl BackingFile {
    pub(super) fn new(fd: OwnedFd, path: PathBuf) -> BackingFile {
        BackingFile { fd, path, flush_count: AtomicU64::new(0), synced_count: Mutex::new(0) }
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Returns the length that the file system reports.
    pub(super) fn len(&self) -> Result<u64> {
        let stat = rustix::fs::fstat(&self.fd).map_err(|e| Error::io(&self.path, "examine", e))?;
        Ok(u64::try_from(stat.st_size).unwrap_or(0))
    }

    /// Allocates `range`, which starts at the end of the file; on an error the file is as before.
    pub(super) fn allocate(&self, range: Range<u64>) -> Result<()> {
        let len = range.end - range.start;
        if len == 0 {
            return Ok(());
        }
        let allocated = match self.take_space(&range) {
            Err(Errno::OPNOTSUPP) => self.write_zeros(range.clone()),
            result => result,
        };
        allocated.map_err(|e| {
            let error = space_error(&self.path, self.fd.as_fd(), "allocate", e, len);
            // What was allocated before the error; a tail that stays is unused space.
            let _ = rustix::fs::ftruncate(&self.fd, range.start);
            error
        })
    }

    /// Allocates `range`, which the file may already have, with what follows on it in use.
    pub(super) fn allocate_inside(&self, range: Range<u64>) -> Result<()> {
        let len = range.end - range.start;
        self.take_space(&range)
            .map_err(|e| space_error(&self.path, self.fd.as_fd(), "allocate", e, len))
    }

    fn take_space(&self, range: &Range<u64>) -> rustix::io::Result<()> {
        let len = range.end - range.start;
        rustix::io::retry_on_intr(|| {
            rustix::fs::fallocate(&self.fd, FallocateFlags::empty(), range.start, len)
        })
    }

    fn write_zeros(&self, range: Range<u64>) -> rustix::io::Result<()> {
        let zeros = vec![0; 1 << 16];
        let mut offset = range.start;
        while offset < range.end {
            let len = (range.end - offset).min(zeros.len() as u64) as usize;
            let written =
                rustix::io::retry_on_intr(|| rustix::io::pwrite(&self.fd, &zeros[..len], offset))?;
            offset += written as u64;
        }
        Ok(())
    }

    /// Cuts the file to `len` bytes, or makes it longer without taking space.
    pub(super) fn truncate(&self, len: u64) -> Result<()> {
        rustix::fs::ftruncate(&self.fd, len).map_err(|e| Error::io(&self.path, "truncate", e))
    }

    /// Marks that something waits for the next sync.
    #[inline]
    pub(super) fn mark_flushed(&self) {
        self.flush_count.fetch_add(1, Ordering::Relaxed);
    }

    /// Syncs once for all that was flushed before; returns at once if a sync has covered it.
    pub(super) fn sync_flushed(&self) -> Result<()> {
        let wanted_count = self.flush_count.load(Ordering::Relaxed);
        let mut synced_count = lock(&self.synced_count);
        if *synced_count >= wanted_count {
            return Ok(());
        }
        // Threads that flushed while this one waited for the lock are covered too.
        let covered_count = self.flush_count.load(Ordering::Relaxed);
        rustix::fs::fdatasync(&self.fd).map_err(|e| Error::io(&self.path, "sync", e))?;
        *synced_count = covered_count;
        Ok(())
    }

    /// Syncs bytes, length and allocation.
    pub(super) fn sync_all(&self) -> Result<()> {
        rustix::fs::fsync(&self.fd).map_err(|e| Error::io(&self.path, "sync", e))
    }
}

/// Names what was refused; for a lack of space also how much there is.
pub(super) fn space_error(
    path: &Path,
    fd: BorrowedFd<'_>,
    operation: &'static str,
    errno: Errno,
    needed_bytes: u64,
) -> Error {
    let available_bytes = rustix::fs::fstatvfs(fd).map_or(0, |s| s.f_bavail * s.f_frsize);
    Error::refused(path, operation, errno, needed_bytes, available_bytes)
}

/// Turns a refused mapping or population into a lack of memory.
pub(super) fn memory_error(path: &Path, source: io::Error, needed_bytes: u64) -> Error {
    // A page that cannot be had faults: shared memory is full.
    let is_fault = source.raw_os_error() == Some(Errno::FAULT.raw_os_error());
    match source.kind() {
        kind if kind == io::ErrorKind::OutOfMemory || is_fault => {
            Error::NoSpace { path: path.to_path_buf(), needed_bytes, available_bytes: 0 }
        }
        _ => Error::Io { path: path.to_path_buf(), operation: "map", source },
    }
}
