//! Files that are read past the kernel's cache, into frames.
//!
//! Reads at places and into memory of whole pages go through a descriptor with `O_DIRECT`, if the file
//! system takes one. All others, and those at an odd end of a file that was cut, go through a usual one.

use std::io::{self, IoSliceMut};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io::Errno;

use super::Volume;
use super::file::BackingFile;
use super::interrupted::retried;
use super::memory::MemoryFile;
use super::stream::ends_early;
use super::volume::{Home, Shared, check_name};
use crate::{Error, Result};

/// What reads past the cache ask of offsets, lengths and addresses, at most.
const ALIGNMENT: u64 = 4096;

/// Reads a file past the kernel's cache; a clone reads the same file.
#[derive(Clone)]
pub struct DirectFile {
    file: Arc<OpenFile>,
}

struct OpenFile {
    shared: Arc<Shared>,
    path: PathBuf,
    len: u64,
    source: Source,
}

enum Source {
    File {
        usual: BackingFile,
        /// None if the file system takes no such descriptor.
        direct: Option<OwnedFd>,
        /// Whether the file system has refused the first read with it.
        is_refused: AtomicBool,
    },
    Memory(MemoryFile),
}

impl DirectFile {
    /// Returns how long the file was when it was opened.
    #[expect(clippy::len_without_is_empty, reason = "a file, not a collection")]
    pub fn len(&self) -> u64 {
        self.file.len
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.file.path
    }

    /// Returns whether reads go past the kernel's cache: as far as is known before the first one.
    pub fn is_direct(&self) -> bool {
        self.direct().is_some()
    }

    /// Fills `buffer` with the bytes from `offset` on, through the kernel's cache: for small pieces.
    /// Any number of threads may read at once.
    ///
    /// # Errors
    /// [`Error::Corruption`] if the file ends before; [`Error::Io`] if the device cannot read. What
    /// `buffer` holds then is not said.
    pub fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.next_read()?;
        let read = match &self.file.source {
            Source::File { usual, .. } => usual.read_at(offset, buffer)?,
            Source::Memory(file) => file.copy_to(offset, buffer),
        };
        match buffer.len() - read {
            0 => Ok(()),
            missing => Err(ends_early(self.path(), offset.saturating_add(read as u64), missing)),
        }
    }

    /// Fails where a recorder was told to, before a read has done anything.
    pub(super) fn next_read(&self) -> Result<()> {
        self.file.shared.next_call(self.path(), "read")
    }

    pub(super) fn is_in_memory(&self) -> bool {
        matches!(self.file.source, Source::Memory(_))
    }

    /// Returns the descriptor for a read at `offset` into a frame from its byte `start` on; none for a
    /// file in memory.
    pub(super) fn descriptor(&self, offset: u64, start: usize) -> Option<BorrowedFd<'_>> {
        let Source::File { usual, .. } = &self.file.source else { return None };
        Some(self.direct_at(offset, start).unwrap_or(usual.fd()))
    }

    /// Reads once from `offset` on into `parts`, which begin at the byte `start` of a frame. Returns how
    /// many bytes were read: none at the end of the file.
    pub(super) fn read_parts(
        &self,
        offset: u64,
        start: usize,
        parts: &mut [IoSliceMut<'_>],
    ) -> Result<usize> {
        let (usual, is_refused) = match &self.file.source {
            Source::File { usual, is_refused, .. } => (usual, is_refused),
            Source::Memory(file) => {
                return Ok(parts.first_mut().map_or(0, |part| file.copy_to(offset, part)));
            }
        };
        let direct = self.direct_at(offset, start);
        let fd = direct.unwrap_or(usual.fd());
        match retried(|| rustix::io::preadv(fd, parts, offset)) {
            Err(Errno::INVAL) if direct.is_some() => {
                is_refused.store(true, Ordering::Relaxed);
                self.read_parts(offset, start, parts)
            }
            read => read.map_err(|errno| self.error(offset, errno)),
        }
    }

    /// Returns the descriptor for a direct read, if there is one and the read is of whole pages.
    fn direct_at(&self, offset: u64, start: usize) -> Option<BorrowedFd<'_>> {
        self.direct().filter(|_| (offset | start as u64).is_multiple_of(ALIGNMENT))
    }

    fn direct(&self) -> Option<BorrowedFd<'_>> {
        match &self.file.source {
            Source::File { direct: Some(fd), is_refused, .. } => {
                (!is_refused.load(Ordering::Relaxed)).then(|| fd.as_fd())
            }
            _ => None,
        }
    }

    /// Names the file and the offset of a read that `errno` belongs to.
    pub(super) fn error(&self, offset: u64, errno: Errno) -> Error {
        let text = format!("{errno}, at offset {offset}");
        let source = io::Error::new(io::Error::from(errno).kind(), text);
        Error::Io { path: self.path().to_path_buf(), operation: "read", source }
    }
}

impl Volume {
    /// Opens the file `name` to be read past the kernel's cache. Where the file system refuses that,
    /// reads go through the cache.
    ///
    /// # Errors
    /// [`Error::Io`] if there is no such file; [`Error::NotAGraph`] if it is not a regular file.
    pub fn open_direct(&self, name: &str) -> Result<DirectFile> {
        check_name(name)?;
        let path = self.path().join(name);
        let shared = self.shared.clone();
        shared.next_call(&path, "open")?;
        let (source, len) = match &shared.home {
            Home::Directory(directory) => {
                let (usual, direct) = directory.open_to_read(name)?;
                let len = usual.len()?;
                (Source::File { usual, direct, is_refused: AtomicBool::new(false) }, len)
            }
            Home::Memory(memory) => {
                let file = memory.file(name)?;
                let len = file.len();
                (Source::Memory(file), len)
            }
        };
        Ok(DirectFile { file: Arc::new(OpenFile { shared, path, len, source }) })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{MediumKind, VolumeOptions};
    use super::*;

    #[test]
    fn a_file_whose_first_direct_read_is_refused_is_read_through_the_cache() {
        let home = tempfile::tempdir().unwrap();
        let options = VolumeOptions::new(MediumKind::File);
        let volume = Volume::create(&home.path().join("g"), options).unwrap();
        let bytes: Vec<u8> = (0..2 * ALIGNMENT).map(|i| (i % 251) as u8).collect();
        volume.publish("f", &bytes).unwrap();
        let file = volume.open_direct("f").unwrap();
        if !file.is_direct() {
            println!("this file system takes no direct reads");
            return;
        }
        // Memory that no file system takes for a direct read, said to be aligned.
        let mut memory = vec![0; 1001];
        let odd = 1 - memory.as_ptr().addr() % 2;
        let mut parts = [IoSliceMut::new(&mut memory[odd..][..1000])];
        assert_eq!(file.read_parts(ALIGNMENT, 0, &mut parts).unwrap(), 1000);
        assert_eq!(parts[0][..], bytes[ALIGNMENT as usize..][..1000]);
        assert!(!file.is_direct() && !file.clone().is_direct());
    }
}
