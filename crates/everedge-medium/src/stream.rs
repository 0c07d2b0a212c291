//! Files that are read without being mapped, and new ones that are written from front to back.
//!
//! For data larger than memory: a [`Reader`] copies pieces into the caller's memory, which the
//! caller's own budget bounds, and says when it cannot. A [`NewFile`] takes large pieces and counts
//! only when it is published; what a crash or an error leaves of it before is no file. One that is only
//! [read back](NewFile::read_back) is scratch: it is never synced. Checksums are the caller's.

use std::panic::Location;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::directory::Temporary;
use super::file::BackingFile;
use super::memory::MemoryFile;
use super::plant::{Call, CallKind};
use super::record::Event;
use super::volume::{Home, Shared, check_name};
use super::{Access, Volume};
use crate::{Error, Result};

/// How many bytes may be read, by all readers that it is given to, and how many were.
#[derive(Debug)]
pub struct ReadBudget {
    bytes_max: u64,
    read_bytes: AtomicU64,
}

impl ReadBudget {
    /// Lets so many bytes be read.
    pub fn new(bytes_max: u64) -> ReadBudget {
        ReadBudget { bytes_max, read_bytes: AtomicU64::new(0) }
    }

    /// Only counts.
    pub fn unlimited() -> ReadBudget {
        Self::new(u64::MAX)
    }

    /// Returns how many bytes were asked for within the budget.
    pub fn read_bytes(&self) -> u64 {
        self.read_bytes.load(Ordering::Relaxed)
    }

    fn spend(&self, path: &Path, bytes: u64) -> Result<()> {
        let spend = |read: u64| read.checked_add(bytes).filter(|&sum| sum <= self.bytes_max);
        let spent = self.read_bytes.try_update(Ordering::Relaxed, Ordering::Relaxed, spend);
        spent.map(drop).map_err(|read_bytes| Error::BudgetSpent {
            path: path.to_path_buf(),
            needed_bytes: bytes,
            left_bytes: self.bytes_max - read_bytes,
        })
    }
}

/// Reads a file into the caller's memory; a clone reads the same file.
#[derive(Clone)]
pub struct Reader {
    shared: Arc<Shared>,
    path: PathBuf,
    len: u64,
    source: Source,
}

#[derive(Clone)]
enum Source {
    File(Arc<BackingFile>),
    /// Is removed with the last reader.
    Scratch(Arc<Temporary>),
    Memory(MemoryFile),
}

impl Reader {
    /// Returns how long the file was when it was opened.
    #[expect(clippy::len_without_is_empty, reason = "a file, not a collection")]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Fills `buffer` with the bytes from `offset` on. Any number of threads may read at once.
    ///
    /// # Errors
    /// [`Error::BudgetSpent`] if `budget` has fewer bytes left, before any is read;
    /// [`Error::Corruption`] if the file ends before; [`Error::Io`] if the device cannot read. What
    /// `buffer` holds then is not said.
    pub fn read_at(&self, budget: &ReadBudget, offset: u64, buffer: &mut [u8]) -> Result<()> {
        self.shared.next_call(&self.path, "read")?;
        budget.spend(&self.path, buffer.len() as u64)?;
        let read = match &self.source {
            Source::File(file) => file.read_at(offset, buffer)?,
            Source::Scratch(file) => file.read_at(offset, buffer)?,
            Source::Memory(file) => file.copy_to(offset, buffer),
        };
        match buffer.len() - read {
            0 => Ok(()),
            missing => Err(ends_early(&self.path, offset.saturating_add(read as u64), missing)),
        }
    }
}

/// Says that a file ends at `offset`, so many bytes too early.
pub(super) fn ends_early(path: &Path, offset: u64, missing_bytes: usize) -> Error {
    Error::Corruption {
        path: path.to_path_buf(),
        offset,
        what: "the file's length".into(),
        expected: format!("{missing_bytes} bytes more"),
        found: "its end".into(),
    }
}

/// A file that is being written and has no name yet: dropped before it is published, it is gone.
pub struct NewFile {
    shared: Arc<Shared>,
    name: String,
    path: PathBuf,
    len: u64,
    content: Content,
}

enum Content {
    File(Temporary),
    Memory(Vec<u8>),
}

impl NewFile {
    /// Returns how many bytes were appended.
    #[expect(clippy::len_without_is_empty, reason = "a file, not a collection")]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Appends `bytes`; each call is at least one of the system, so pieces should be large.
    ///
    /// # Errors
    /// [`Error::NoSpace`] or [`Error::Io`]; the file is then as before, and the call may be repeated.
    pub fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.shared.check_health()?;
        self.shared.next_call(&self.path, "write")?;
        match &mut self.content {
            Content::File(file) => file.write_at(self.len, bytes)?,
            Content::Memory(content) => content.extend_from_slice(bytes),
        }
        self.len += bytes.len() as u64;
        Ok(())
    }

    /// Returns what reads what was appended. The file gets no name: it is gone with the last reader, and after a
    /// crash.
    ///
    /// # Errors
    /// [`Error::Io`] where a recorder was told to fail.
    pub fn read_back(self) -> Result<Reader> {
        let NewFile { shared, path, len, content, .. } = self;
        shared.next_call(&path, "open")?;
        let source = match content {
            Content::File(file) => Source::Scratch(Arc::new(file)),
            Content::Memory(bytes) => Source::Memory(MemoryFile::Bytes(bytes.into())),
        };
        Ok(Reader { shared, path, len, source })
    }

    /// Makes what was appended the whole content of the file of this name: a crash leaves the old
    /// file, if there was one, or the new one.
    ///
    /// # Errors
    /// [`Error::Io`] if the new file cannot be synced: the old one stays. If it is the new name that
    /// cannot be, the volume is poisoned.
    #[track_caller]
    pub fn publish(self) -> Result<()> {
        let call = Call::new(CallKind::Publish, None, Location::caller());
        self.shared.check_health()?;
        self.shared.next_call(&self.path, "sync")?;
        match (self.content, &self.shared.home) {
            (Content::File(file), Home::Directory(directory)) => {
                file.sync()?;
                directory.rename_temporary(&self.name, file).map_err(|e| self.shared.poison(e))?;
                directory.sync(&self.shared.health)
            }
            (Content::Memory(bytes), Home::Memory(memory)) => {
                self.shared.next_sync(&self.path)?;
                let name = self.name.as_str();
                let event = || Event::Publish { name: name.into(), bytes: bytes[..].into() };
                self.shared.record(&call, event);
                memory.publish(name, &bytes);
                Ok(())
            }
            _ => unreachable!("a file has the home of its volume"),
        }
    }
}

impl Volume {
    /// Opens the file `name` to be read in pieces.
    ///
    /// # Errors
    /// [`Error::Io`] if there is no such file; [`Error::NotAGraph`] if it is not a regular file.
    pub fn open_reader(&self, name: &str) -> Result<Reader> {
        check_name(name)?;
        let path = self.path().join(name);
        let shared = self.shared.clone();
        shared.next_call(&path, "open")?;
        let (source, len) = match &shared.home {
            Home::Directory(directory) => {
                let file = directory.open_file(name, Access::Read)?;
                let len = file.len()?;
                (Source::File(Arc::new(file)), len)
            }
            Home::Memory(memory) => {
                let file = memory.file(name)?;
                let len = file.len();
                (Source::Memory(file), len)
            }
        };
        Ok(Reader { shared, path, len, source })
    }

    /// Begins a file that will have the name `name` when it is published.
    ///
    /// # Errors
    /// [`Error::Io`] if another one of this name is being written; [`Error::InvalidInput`] as
    /// [`create_region`](Self::create_region).
    pub fn create_file(&self, name: &str) -> Result<NewFile> {
        self.shared.check_writable()?;
        check_name(name)?;
        let path = self.path().join(name);
        let shared = self.shared.clone();
        shared.next_call(&path, "create")?;
        let content = match &shared.home {
            Home::Directory(directory) => Content::File(directory.create_temporary(name)?),
            Home::Memory(_) => Content::Memory(Vec::new()),
        };
        Ok(NewFile { shared, name: name.into(), path, len: 0, content })
    }
}
