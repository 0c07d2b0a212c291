//! The files of a volume that has no directory: DRAM volumes and recorded ones.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rustix::io::Errno;

use super::lock;
use super::region::Backing;
use crate::{Error, Result};

/// Named files in memory.
pub(super) struct Memory {
    path: PathBuf,
    files: Mutex<BTreeMap<String, MemoryFile>>,
}

/// A file in memory.
#[derive(Clone)]
pub(super) enum MemoryFile {
    /// A published file.
    Bytes(Arc<[u8]>),
    /// The bytes of a region.
    Region(Arc<Backing>),
}

impl Memory {
    pub(super) fn new(path: &Path) -> Memory {
        Memory { path: path.to_path_buf(), files: Mutex::default() }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Adds a region, which must be new.
    pub(super) fn add(&self, name: &str, backing: Arc<Backing>) -> Result<()> {
        let mut files = lock(&self.files);
        if files.contains_key(name) {
            return Err(self.error(name, "open", Errno::EXIST));
        }
        files.insert(name.into(), MemoryFile::Region(backing));
        Ok(())
    }

    /// Returns the bytes of the region `name`.
    pub(super) fn region(&self, name: &str) -> Result<Arc<Backing>> {
        match self.file(name)? {
            MemoryFile::Region(backing) => Ok(backing),
            MemoryFile::Bytes(_) => {
                Err(Error::invalid(format!("`{}` is not a region", self.path.join(name).display())))
            }
        }
    }

    pub(super) fn publish(&self, name: &str, bytes: &[u8]) {
        lock(&self.files).insert(name.into(), MemoryFile::Bytes(bytes.into()));
    }

    pub(super) fn file(&self, name: &str) -> Result<MemoryFile> {
        lock(&self.files).get(name).cloned().ok_or_else(|| self.error(name, "open", Errno::NOENT))
    }

    pub(super) fn remove(&self, name: &str) -> Result<()> {
        match lock(&self.files).remove(name) {
            Some(_) => Ok(()),
            None => Err(self.error(name, "remove", Errno::NOENT)),
        }
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        lock(&self.files).contains_key(name)
    }

    /// Returns the names of all files.
    pub(super) fn names(&self) -> Vec<String> {
        lock(&self.files).keys().cloned().collect()
    }

    /// Returns how many bytes the files have.
    pub(super) fn bytes(&self) -> u64 {
        lock(&self.files).values().map(MemoryFile::len).sum()
    }

    fn error(&self, name: &str, operation: &'static str, errno: Errno) -> Error {
        Error::io(&self.path.join(name), operation, errno)
    }
}

impl MemoryFile {
    pub(super) fn len(&self) -> u64 {
        match self {
            MemoryFile::Bytes(bytes) => bytes.len() as u64,
            MemoryFile::Region(backing) => backing.map.len(),
        }
    }

    /// Copies the bytes from `offset` on, as far as there are; returns how many.
    pub(super) fn copy_to(&self, offset: u64, buffer: &mut [u8]) -> usize {
        let available = self.len().saturating_sub(offset).min(buffer.len() as u64) as usize;
        if available == 0 {
            return 0;
        }
        let buffer = &mut buffer[..available];
        match self {
            MemoryFile::Bytes(bytes) => {
                buffer.copy_from_slice(&bytes[offset as usize..][..available]);
            }
            MemoryFile::Region(backing) => backing.copy_to(offset, buffer),
        }
        available
    }

    /// Returns a copy of all bytes.
    pub(super) fn to_vec(&self) -> Vec<u8> {
        match self {
            MemoryFile::Bytes(bytes) => bytes.to_vec(),
            MemoryFile::Region(backing) => backing.to_vec(),
        }
    }
}
