//! The file behind a region: allocated before it is used.

use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, OFlags, SeekFrom, StatVfs};
use rustix::io::Errno;

use super::interrupted::{in_pieces, retried};
use crate::{Error, Lack, Result};

/// What is written past the cache at once, and what it is aligned to.
const DIRECT_BYTES: usize = 1 << 20;
const DIRECT_ALIGNMENT: usize = 4096;
/// What readers keep in the cache is written again in pieces: in the smallest that the kernel keeps.
const REWRITTEN_BYTES: usize = 4096;

/// A file that a region maps.
pub(super) struct BackingFile {
    fd: OwnedFd,
    path: PathBuf,
}

impl BackingFile {
    pub(super) fn new(fd: OwnedFd, path: PathBuf) -> BackingFile {
        BackingFile { fd, path }
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Returns the length that the file system reports.
    pub(super) fn len(&self) -> Result<u64> {
        let stat = rustix::fs::fstat(&self.fd).map_err(|e| Error::io(&self.path, "examine", e))?;
        Ok(u64::try_from(stat.st_size).unwrap_or(0))
    }

    /// Has the kernel forget what it keeps of the file, after a try to write what was not written.
    pub(super) fn drop_cached(&self) {
        // Whatever fails here: what the device has is what is read then.
        let _written = rustix::fs::fdatasync(&self.fd);
        let _forgotten = rustix::fs::fadvise(&self.fd, 0, None, rustix::fs::Advice::DontNeed);
    }

    /// As [`drop_cached`](Self::drop_cached), of what no reader maps. What readers map stays, and a sync of it may have failed: it
    /// is written once more, so that the next sync covers it.
    pub(super) fn drop_cached_beside_readers(&self) -> Result<()> {
        self.drop_cached();
        let (len, mut bytes) = (self.len()?, vec![0; REWRITTEN_BYTES]);
        for start in (0..len).step_by(REWRITTEN_BYTES) {
            let piece_len = (len - start).min(REWRITTEN_BYTES as u64) as usize;
            let piece = &mut bytes[..piece_len];
            let flags = rustix::io::ReadWriteFlags::NOWAIT;
            let buffers = &mut [std::io::IoSliceMut::new(piece)];
            // What would have to be read from the device is not in the cache.
            match retried(|| rustix::io::preadv2(&self.fd, buffers, start, flags)) {
                Err(Errno::AGAIN) | Ok(0) => {}
                Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {
                    let read = self.read_at(start, piece)?;
                    self.write_at(start, &piece[..read])?;
                }
                Err(e) => return Err(Error::io(&self.path, "read", e)),
                Ok(read) => self.write_at(start, &piece[..read])?,
            }
        }
        Ok(())
    }

    /// Allocates `range`, which starts at the end of the file; on an error the file is as before.
    pub(super) fn allocate(&self, range: Range<u64>) -> Result<()> {
        let len = range.end - range.start;
        if len == 0 {
            return Ok(());
        }
        check_limit(&self.path, range.start, range.end)?;
        // What the whole file system has no room for would take all of it from others meanwhile.
        let taken =
            if len <= self.total_bytes() { self.take_space(&range) } else { Err(Errno::NOSPC) };
        let allocated = match taken {
            Err(Errno::OPNOTSUPP) => self.write_zeros(range.clone()),
            result => result,
        };
        allocated.map_err(|e| {
            // What was allocated before the error; a tail that stays is unused space.
            let _ = retried(|| rustix::fs::ftruncate(&self.fd, range.start));
            space_error(&self.path, self.fd.as_fd(), "allocate", e, len)
        })
    }

    /// Allocates `range`, which the file may already have, with what follows on it in use.
    pub(super) fn allocate_inside(&self, range: Range<u64>) -> Result<()> {
        let len = range.end - range.start;
        self.take_space(&range)
            .map_err(|e| space_error(&self.path, self.fd.as_fd(), "allocate", e, len))
    }

    fn take_space(&self, range: &Range<u64>) -> rustix::io::Result<()> {
        in_pieces(range.end - range.start, |start, len| {
            rustix::fs::fallocate(&self.fd, FallocateFlags::empty(), range.start + start, len)
        })
    }

    fn write_zeros(&self, range: Range<u64>) -> rustix::io::Result<()> {
        let zeros = vec![0; 1 << 16];
        let mut offset = range.start;
        while offset < range.end {
            let len = (range.end - offset).min(zeros.len() as u64) as usize;
            let written = retried(|| rustix::io::pwrite(&self.fd, &zeros[..len], offset))?;
            offset += written as u64;
        }
        Ok(())
    }

    /// Gives the file system back what a range of whole pages takes, which reads zero afterwards. Returns false if
    /// the file system cannot do that.
    pub(super) fn punch(&self, range: &Range<u64>) -> Result<bool> {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let len = range.end - range.start;
        match retried(|| rustix::fs::fallocate(&self.fd, flags, range.start, len)) {
            Ok(()) => Ok(true),
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => Ok(false),
            Err(e) => Err(Error::io(&self.path, "give back a part of", e)),
        }
    }

    /// Returns the ranges for which the file system may have no room set aside, as far as it says.
    pub(super) fn holes(&self) -> Result<Vec<Range<u64>>> {
        let (len, mut holes, mut from) = (self.len()?, Vec::new(), 0);
        let seek = |to: SeekFrom| rustix::fs::seek(&self.fd, to);
        while from < len {
            let Ok(start) = seek(SeekFrom::Hole(from)) else { break };
            if start >= len {
                break;
            }
            // After the last byte of data there is none.
            let end = seek(SeekFrom::Data(start)).unwrap_or(len);
            holes.push(start..end);
            from = end;
        }
        Ok(holes)
    }

    /// Cuts the file to `len` bytes, or makes it longer without taking space.
    pub(super) fn truncate(&self, len: u64) -> Result<()> {
        check_limit(&self.path, self.len()?, len)?;
        retried(|| rustix::fs::ftruncate(&self.fd, len))
            .map_err(|e| Error::io(&self.path, "truncate", e))
    }

    /// Reads from `offset` on until `buffer` is full or the file ends; returns how much.
    pub(super) fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            let rest = &mut buffer[filled..];
            let read = retried(|| rustix::io::pread(&self.fd, &mut *rest, offset + filled as u64))
                .map_err(|e| Error::io(&self.path, "read", e))?;
            if read == 0 {
                break;
            }
            filled += read;
        }
        Ok(filled)
    }

    /// Writes all of `bytes` from `offset` on.
    pub(super) fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        let end = offset + bytes.len() as u64;
        check_limit(&self.path, offset, end)?;
        let (mut rest, mut place) = (bytes, offset);
        while !rest.is_empty() {
            let written = retried(|| rustix::io::pwrite(&self.fd, rest, place));
            let left = rest.len() as u64;
            let written =
                written.map_err(|e| space_error(&self.path, self.fd.as_fd(), "write", e, left))?;
            (rest, place) = (&rest[written..], place + written as u64);
        }
        Ok(())
    }

    /// Writes pages, which `copy` copies from where they are mapped, past the kernel's cache. Returns
    /// false if the file system does not take that.
    pub(super) fn write_past_cache(
        &self,
        range: Range<u64>,
        copy: impl Fn(u64, &mut [u8]),
    ) -> Result<bool> {
        let Ok(flags) = rustix::fs::fcntl_getfl(&self.fd) else { return Ok(false) };
        if rustix::fs::fcntl_setfl(&self.fd, flags | OFlags::DIRECT).is_err() {
            return Ok(false);
        }
        let written = self.write_pages(range, copy);
        let restored = rustix::fs::fcntl_setfl(&self.fd, flags);
        let written = written.and(restored);
        match written {
            Ok(()) => Ok(true),
            // The device's blocks are larger than its pages.
            Err(Errno::INVAL) => Ok(false),
            Err(e) => Err(Error::io(&self.path, "write", e)),
        }
    }

    fn write_pages(
        &self,
        range: Range<u64>,
        copy: impl Fn(u64, &mut [u8]),
    ) -> rustix::io::Result<()> {
        let mut bytes = vec![0; DIRECT_BYTES + DIRECT_ALIGNMENT];
        let start = bytes.as_ptr().align_offset(DIRECT_ALIGNMENT);
        let buffer = &mut bytes[start..start + DIRECT_BYTES];
        let mut offset = range.start;
        while offset < range.end {
            let len = (range.end - offset).min(DIRECT_BYTES as u64) as usize;
            copy(offset, &mut buffer[..len]);
            let piece = &buffer[..len];
            let written = retried(|| rustix::io::pwrite(&self.fd, piece, offset))?;
            // What was written of a page is written again with the rest.
            let pages = written / DIRECT_ALIGNMENT * DIRECT_ALIGNMENT;
            if pages == 0 {
                return Err(Errno::IO);
            }
            offset += pages as u64;
        }
        Ok(())
    }

    /// Returns how many bytes the file system has for users, or the most if it does not say.
    pub(super) fn free_bytes(&self) -> u64 {
        free_bytes(self.fd.as_fd()).unwrap_or(u64::MAX)
    }

    /// Returns how many bytes the file system has in all, or the most if it does not say.
    pub(super) fn total_bytes(&self) -> u64 {
        blocks(self.fd.as_fd()).map_or(u64::MAX, |stat| stat.f_blocks.saturating_mul(stat.f_frsize))
    }

    /// Syncs bytes, and of the rest what is needed to read them.
    pub(super) fn sync_data(&self) -> Result<()> {
        rustix::fs::fdatasync(&self.fd).map_err(|e| Error::io(&self.path, "sync", e))
    }

    /// Syncs bytes, length and allocation.
    pub(super) fn sync_all(&self) -> Result<()> {
        rustix::fs::fsync(&self.fd).map_err(|e| Error::io(&self.path, "sync", e))
    }
}

/// Refuses a file length that the process may not write. The kernel would end it without a word
/// (SIGXFSZ).
pub(super) fn check_limit(path: &Path, old_len: u64, len: u64) -> Result<()> {
    match rustix::process::getrlimit(rustix::process::Resource::Fsize).current {
        Some(limit) if len > limit => {
            let (needed, available) = (len - old_len.min(len), limit.saturating_sub(old_len));
            Err(Error::refused(path, "grow", Errno::FBIG, needed, available))
        }
        _ => Ok(()),
    }
}

/// Returns how many bytes the file system has for users, if it says so.
fn free_bytes(fd: BorrowedFd<'_>) -> Option<u64> {
    blocks(fd).map(|stat| stat.f_bavail.saturating_mul(stat.f_frsize))
}

/// Returns what the file system says of its blocks: one in memory without a limit says that it has none
/// at all.
fn blocks(fd: BorrowedFd<'_>) -> Option<StatVfs> {
    rustix::fs::fstatvfs(fd).ok().filter(|stat| stat.f_blocks > 0)
}

/// Names what was refused; for a lack of space also how much there is.
pub(super) fn space_error(
    path: &Path,
    fd: BorrowedFd<'_>,
    operation: &'static str,
    errno: Errno,
    needed_bytes: u64,
) -> Error {
    let available_bytes = free_bytes(fd).unwrap_or(0);
    Error::refused(path, operation, errno, needed_bytes, available_bytes)
}

/// Turns a refused mapping or population into a lack of memory.
pub(super) fn memory_error(path: &Path, source: io::Error, needed_bytes: u64) -> Error {
    // A page that cannot be had faults: shared memory is full.
    let is_fault = source.raw_os_error() == Some(Errno::FAULT.raw_os_error());
    match source.kind() {
        kind if kind == io::ErrorKind::OutOfMemory || is_fault => {
            let (path, available_bytes) = (path.to_path_buf(), 0);
            Error::NoSpace { path, needed_bytes, available_bytes, lack: Lack::Memory }
        }
        _ => Error::Io { path: path.to_path_buf(), operation: "map", source },
    }
}
