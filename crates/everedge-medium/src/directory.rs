//! The directory of a graph on a file system: its lock, its small files, its region files.
//!
//! Everything is opened relative to the directory's descriptor, symbolic links are refused, and
//! what is not a regular file is refused after opening it without waiting for it.
//! A new file, a rename and a removal are durable after `sync`.

use std::collections::BTreeSet;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use super::Access;
use super::file::BackingFile;
use super::interrupted::retried;
use super::manifest::MANIFEST;
use super::pins::{Pins, READERS, READERS_BYTES};
use super::sync::{Health, SyncGate};
use crate::error::THIS_PROCESS;
use crate::{Error, Result};

const LOCK_NAME: &str = "lock";
/// The text of `lock` has so many bytes, always the same ones: on a full disk there is room for another
/// text.
const LOCK_BYTES: usize = 16;
/// The text that a writer leaves that has ended well; any other one says that it did not, or not yet.
const CLOSED: &str = "closed";
/// The text that a writer leaves that has ended well, where the one before it had not, and its files were
/// not read from the device.
const LEFT: &str = "left";
const LOCK_RETRIES: u32 = 10;
const LOCK_PAUSE: Duration = Duration::from_millis(2);
const TEMPORARY_SUFFIX: &str = ".tmp";
/// Marks a directory that a creation has begun and not ended, as long as it has no manifest.
const UNFINISHED: &str = "unfinished.tmp";
const FILE_MODE: Mode = Mode::from_raw_mode(0o600);
const DIRECTORY_MODE: Mode = Mode::from_raw_mode(0o700);

/// A file without a name of its own yet; dropped before it has one, it is removed.
pub(super) struct Temporary {
    directory: OwnedFd,
    /// Its name until it gets its own.
    name: Option<String>,
    file: BackingFile,
}

impl Temporary {
    pub(super) fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.file.write_at(offset, bytes)
    }

    pub(super) fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        self.file.read_at(offset, buffer)
    }

    pub(super) fn sync(&self) -> Result<()> {
        self.file.sync_all()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            // Its room is free now, even where a process that was forked meanwhile holds the file.
            let _ = self.file.truncate(0);
            // What stays is removed when the directory is next opened for writing.
            let _ = rustix::fs::unlinkat(&self.directory, name, AtFlags::empty());
        }
    }
}

/// An open directory and the lock in it.
pub(super) struct Directory {
    path: PathBuf,
    /// Is locked as long as it is open.
    fd: OwnedFd,
    /// Is locked, too, and says how the last writer has ended.
    lock: OwnedFd,
    access: Access,
    /// Whether the last writer did not end well: what the kernel keeps of the files may not be on the device.
    is_left: bool,
    /// Lets its syncs through.
    gate: SyncGate,
    /// What a creation has made, if this is one.
    creation: Option<Creation>,
}

/// What a creation has made so far.
struct Creation {
    /// Whether the directory was not there before.
    is_new: bool,
    files: Mutex<BTreeSet<String>>,
}

impl Directory {
    /// Makes the directory, or takes an existing empty one, and locks it. If that fails, what it made is removed.
    pub(super) fn create(path: &Path) -> Result<Directory> {
        let is_new = make(path)?;
        let begun = Self::begin(path, is_new);
        if begun.is_err() && is_new {
            // What others have put there keeps the directory.
            let _stays = rustix::fs::rmdir(path);
        }
        begun
    }

    fn begin(path: &Path, is_new: bool) -> Result<Directory> {
        if is_new {
            sync_parent(path)?;
        }
        let fd = open_directory(path)?;
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR;
        let lock = open_file(&fd, path, LOCK_NAME, flags).map_err(|e| match e {
            Error::Io { source, .. } if source.kind() == std::io::ErrorKind::AlreadyExists => {
                Error::InUse { path: path.to_owned(), holder: "another process".into() }
            }
            e => e,
        })?;
        let (access, is_left) = (Access::Write, false);
        let (path, gate) = (path.to_path_buf(), SyncGate::default());
        let creation = Some(Creation { is_new, files: Mutex::default() });
        let directory = Directory { path, fd, lock, access, is_left, gate, creation };
        let health = Health::new();
        match directory.begin_creation(&health) {
            Ok(()) => Ok(directory),
            // Another process has found the lock before it was taken.
            Err(e @ Error::InUse { .. }) => Err(e),
            Err(e) => {
                directory.undo_creation(&health);
                Err(e)
            }
        }
    }

    fn begin_creation(&self, health: &Health) -> Result<()> {
        take_lock(&self.fd, &self.lock, &self.path, Access::Write)?;
        refuse_other_lock(&self.fd, &self.path, &self.lock)?;
        mark_unfinished(&self.fd, &self.path)?;
        self.sync(health)
    }

    /// Opens and locks an existing directory; for writing, removes what a crash left half done.
    pub(super) fn open(path: &Path, access: Access) -> Result<Directory> {
        let mut directory = Self::open_unlocked(path, access)?;
        directory.lock()?;
        if access == Access::Write {
            directory.remove_temporaries()?;
        }
        Ok(directory)
    }

    /// Opens an existing directory. Whoever reads it beside a writer takes no lock of it.
    pub(super) fn open_unlocked(path: &Path, access: Access) -> Result<Directory> {
        let fd = open_directory(path)?;
        let flags = match access {
            Access::Read => OFlags::RDONLY,
            Access::Write => OFlags::RDWR,
        };
        let lock = open_file(&fd, path, LOCK_NAME, flags).map_err(|e| match e {
            Error::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
                not_a_graph(path, lacks_lock(&fd))
            }
            e => e,
        })?;
        let (path, gate) = (path.to_path_buf(), SyncGate::default());
        Ok(Directory { path, fd, lock, access, is_left: false, gate, creation: None })
    }

    /// Locks the directory for one writer or several readers.
    pub(super) fn lock(&mut self) -> Result<()> {
        self.is_left = take_lock(&self.fd, &self.lock, &self.path, self.access)?;
        Ok(())
    }

    /// Returns whether no writer has the directory locked.
    pub(super) fn is_without_writer(&self) -> bool {
        let taken = rustix::fs::flock(&self.lock, FlockOperation::NonBlockingLockShared);
        if taken.is_ok() {
            let _unlocked = rustix::fs::flock(&self.lock, FlockOperation::Unlock);
        }
        taken.is_ok()
    }

    /// Opens the table of readers. Returns nothing if there is none, or it cannot be opened to take a place in
    /// it.
    pub(super) fn open_readers(&self) -> Result<Option<OwnedFd>> {
        match open_file(&self.fd, &self.path, READERS, OFlags::RDWR) {
            Err(Error::Io { source, .. }) if is_not_for_us(&source) => Ok(None),
            opened => {
                let (file, path) = (opened?, self.path.join(READERS));
                let stat = rustix::fs::fstat(&file).map_err(|e| Error::io(&path, "examine", e))?;
                Ok((stat.st_size as u64 >= READERS_BYTES).then_some(file))
            }
        }
    }

    /// Opens the table of readers, and makes it if there is none. Returns nothing if the medium has no room for
    /// it: readers then wait until the writer has ended.
    pub(super) fn make_readers(&self) -> Result<Option<OwnedFd>> {
        if let Some(file) = self.open_readers()? {
            return Ok(Some(file));
        }
        let path = self.path.join(READERS);
        let made = open_file(&self.fd, &self.path, READERS, OFlags::CREATE | OFlags::RDWR)
            .and_then(|fd| {
                let file = BackingFile::new(fd, path);
                file.allocate(0..READERS_BYTES)?;
                self.note_made(READERS);
                self.open_readers()
            });
        match made {
            Err(Error::NoSpace { .. } | Error::Io { .. }) => Ok(None),
            made => made,
        }
    }

    /// Before a file is mapped: has reads come from the device if the last writer did not end well. A sync
    /// of it may have failed: ext4 takes pages for written whose write-back has failed, and so loses
    /// what is stored to them later, without an error.
    ///
    /// Cost: what is read of the files is read from the device once more.
    pub(super) fn drop_cached(&mut self) -> Result<()> {
        if self.access == Access::Write && self.is_left {
            // Of the lock's own text, what is in the cache counts.
            let has_readers = self.open_readers()?.is_some_and(|file| are_some(file, &self.path));
            let ours = [LOCK_NAME, READERS];
            for name in self.names()?.iter().filter(|name| !ours.contains(&name.as_str())) {
                match self.open_file(name, self.access) {
                    Ok(file) if has_readers => file.drop_cached_beside_readers()?,
                    Ok(file) => file.drop_cached(),
                    // Nobody maps what is not a regular file.
                    Err(Error::NotAGraph { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            self.is_left = false;
        }
        Ok(())
    }

    /// When nobody uses the directory any more, in the process that opened it and after no failed sync: says
    /// that its writer has ended well, and gives up the lock, which a forked child has too.
    pub(super) fn end(&self) {
        if self.access == Access::Write {
            write_lock(&self.lock, if self.is_left { LEFT } else { CLOSED });
        }
        for locked in [&self.lock, &self.fd] {
            let _unlocked = rustix::fs::flock(locked, FlockOperation::Unlock);
        }
    }

    /// Refuses to go on where nobody will find anything any more.
    pub(super) fn check_is_there(&self) -> Result<()> {
        let stat = rustix::fs::fstat(&self.fd).map_err(|e| Error::io(&self.path, "look at", e))?;
        match stat.st_nlink {
            0 => {
                Err(not_a_graph(&self.path, "it was removed while it was open, with what it held"))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Returns the bytes in which the file system prefers to be read and written, if it says so.
    pub(super) fn block_bytes(&self) -> Option<u32> {
        let stat = rustix::fs::fstat(&self.fd).ok()?;
        u32::try_from(stat.st_blksize).ok().filter(|&bytes| bytes > 0)
    }

    /// Makes the file `name` with `len` allocated bytes, not yet synced.
    pub(super) fn create_file(&self, name: &str, len: u64) -> Result<BackingFile> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR;
        let fd = open_file(&self.fd, &self.path, name, flags)?;
        let file = BackingFile::new(fd, self.path.join(name));
        if let Err(e) = file.allocate(0..len) {
            // The first error is the one to report; an empty file that stays is found by its name.
            let _ = rustix::fs::unlinkat(&self.fd, name, AtFlags::empty());
            return Err(e);
        }
        self.note_made(name);
        Ok(file)
    }

    /// Notes a file that a creation has made.
    fn note_made(&self, name: &str) {
        if let Some(creation) = &self.creation {
            let mut files = creation.files.lock().unwrap_or_else(PoisonError::into_inner);
            files.insert(name.to_owned());
        }
    }

    /// Opens the file `name`.
    pub(super) fn open_file(&self, name: &str, access: Access) -> Result<BackingFile> {
        let flags = match access {
            Access::Read => OFlags::RDONLY,
            Access::Write => OFlags::RDWR,
        };
        let fd = open_file(&self.fd, &self.path, name, flags)?;
        Ok(BackingFile::new(fd, self.path.join(name)))
    }

    /// Opens the file `name` to be read, and once more to be read past the kernel's cache, if the file
    /// system takes that. Reads of either may wait.
    pub(super) fn open_to_read(&self, name: &str) -> Result<(BackingFile, Option<OwnedFd>)> {
        let usual = open_file(&self.fd, &self.path, name, OFlags::RDONLY)?;
        let is_usual = |direct: &OwnedFd| {
            let numbers = |fd: &OwnedFd| rustix::fs::fstat(fd).map(|s| (s.st_dev, s.st_ino));
            // Between the two, another file may have got the name.
            numbers(direct) == numbers(&usual)
        };
        let direct = open_file(&self.fd, &self.path, name, OFlags::RDONLY | OFlags::DIRECT);
        let direct = direct.ok().filter(is_usual);
        for (fd, flags) in [(Some(&usual), OFlags::empty()), (direct.as_ref(), OFlags::DIRECT)] {
            // Not `NONBLOCK`: some file systems refuse reads then that would wait for the device.
            let Some(fd) = fd else { continue };
            rustix::fs::fcntl_setfl(fd, flags)
                .map_err(|e| Error::io(&self.path.join(name), "open", e))?;
        }
        Ok((BackingFile::new(usual, self.path.join(name)), direct))
    }

    /// Makes an empty temporary file that [`rename_temporary`](Self::rename_temporary) makes the file
    /// `name`.
    pub(super) fn create_temporary(&self, name: &str) -> Result<Temporary> {
        let temporary = format!("{name}{TEMPORARY_SUFFIX}");
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR;
        let directory = self.fd.try_clone().map_err(|source| {
            let path = self.path.clone();
            Error::Io { path, operation: "open", source }
        })?;
        let fd = open_file(&self.fd, &self.path, &temporary, flags)?;
        let file = BackingFile::new(fd, self.path.join(name));
        Ok(Temporary { directory, name: Some(temporary), file })
    }

    /// Puts a synced temporary file in the place of `name`; [`sync`](Self::sync) makes that durable.
    pub(super) fn rename_temporary(&self, name: &str, mut temporary: Temporary) -> Result<()> {
        let Some(old_name) = temporary.name.as_deref() else { return Ok(()) };
        rustix::fs::renameat(&self.fd, old_name, &self.fd, name)
            .map_err(|e| Error::io(&self.path.join(name), "rename", e))?;
        temporary.name = None;
        self.note_made(name);
        Ok(())
    }

    /// Ends a creation, whose manifest is published.
    pub(super) fn finish(&self) {
        // A mark that stays says nothing beside a manifest.
        let _ = rustix::fs::unlinkat(&self.fd, UNFINISHED, AtFlags::empty());
    }

    /// Returns all bytes of the file `name`, which are at most `bytes_max`.
    pub(super) fn read(&self, name: &str, bytes_max: u64) -> Result<Vec<u8>> {
        read_whole(&self.fd, &self.path, name, bytes_max)
    }

    /// Removes the file `name`; [`sync`](Self::sync) makes that durable.
    pub(super) fn remove(&self, name: &str) -> Result<()> {
        rustix::fs::unlinkat(&self.fd, name, AtFlags::empty())
            .map_err(|e| Error::io(&self.path.join(name), "remove", e))
    }

    /// Removes the lock and the directory, which holds nothing else.
    pub(super) fn remove_itself(&self) -> Result<()> {
        self.finish();
        // A graph may have none.
        let _absent = rustix::fs::unlinkat(&self.fd, READERS, AtFlags::empty());
        self.remove(LOCK_NAME)?;
        rustix::fs::unlinkat(CWD, &self.path, AtFlags::REMOVEDIR)
            .map_err(|e| Error::io(&self.path, "remove directory", e))
    }

    /// Removes what the creation that this is has made, also the directory if it was not there before. Files of others stay. What
    /// cannot be removed stays, too, and is cleared by the next creation; but where the manifest cannot be removed, all stays, and
    /// in a forked child, too. Returns whether nothing is left that counts.
    pub(super) fn undo_creation(&self, health: &Health) -> bool {
        let Some(creation) = &self.creation else { return false };
        if let Err(Error::Forked) = health.check() {
            return false;
        }
        let files = creation.files.lock().unwrap_or_else(PoisonError::into_inner);
        if files.contains(MANIFEST) && self.unfinish().is_err() {
            return false;
        }
        // The mark goes last, as where what is left is cleared.
        for name in files.iter().map(String::as_str).chain([LOCK_NAME, UNFINISHED]) {
            let _stays = rustix::fs::unlinkat(&self.fd, name, AtFlags::empty());
        }
        if creation.is_new {
            let _stays = rustix::fs::rmdir(&self.path);
        }
        true
    }

    /// Makes a creation whose manifest is published one that has not ended, durably: at no moment has a directory that lacks
    /// its manifest no mark. A sync may have failed before, so that the first mark is still there: what counts is that these do not.
    fn unfinish(&self) -> Result<()> {
        let health = &Health::new();
        open_file(&self.fd, &self.path, UNFINISHED, OFlags::CREATE | OFlags::RDWR)?;
        self.sync(health)?;
        self.remove(MANIFEST)?;
        self.sync(health)
    }

    /// Returns whether there is a file `name`.
    pub(super) fn contains(&self, name: &str) -> Result<bool> {
        match rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(e) => Err(Error::io(&self.path.join(name), "examine", e)),
        }
    }

    /// Returns how many bytes the files take on the file system.
    pub(super) fn disk_bytes(&self) -> Result<u64> {
        let mut bytes = 0;
        for name in self.names()? {
            let stat = rustix::fs::statat(&self.fd, &name, AtFlags::SYMLINK_NOFOLLOW)
                .map_err(|e| Error::io(&self.path.join(&name), "examine", e))?;
            // `st_blocks` counts units of 512 bytes on every file system.
            bytes += u64::try_from(stat.st_blocks).unwrap_or(0) * 512;
        }
        Ok(bytes)
    }

    /// Makes new names, renames and removals durable.
    pub(super) fn sync(&self, health: &Health) -> Result<()> {
        self.gate.sync(health, || {
            retried(|| rustix::fs::fsync(&self.fd))
                .map_err(|e| Error::io(&self.path, "sync directory", e))
        })
    }

    fn remove_temporaries(&self) -> Result<()> {
        let names = self.names()?;
        // Without a manifest, the next creation needs the mark.
        let is_finished = names.iter().any(|name| name == MANIFEST);
        let is_left = |name: &&String| {
            name.ends_with(TEMPORARY_SUFFIX) && (is_finished || *name != UNFINISHED)
        };
        names.iter().filter(is_left).try_for_each(|name| self.remove(name))
    }

    /// Returns the file names that are text; the medium makes no others.
    pub(super) fn names(&self) -> Result<Vec<String>> {
        names(&self.fd, &self.path)
    }
}

/// Returns all bytes of a file in a directory that is not opened as a volume: no lock is taken.
///
/// # Errors
/// [`Error::NotAGraph`] if `path` is no directory or has no such regular file;
/// [`Error::Corruption`] if the file has more than `bytes_max` bytes, before any is read.
pub fn read_file(path: &Path, name: &str, bytes_max: u64) -> Result<Vec<u8>> {
    let fd = open_directory(path)?;
    let read = || read_whole(&fd, path, name, bytes_max);
    let is_missing = |error: &Error| match error {
        Error::Io { source, .. } => source.kind() == std::io::ErrorKind::NotFound,
        _ => false,
    };
    match read() {
        Err(error) if is_missing(&error) => {}
        read => return read,
    }
    refuse_unfinished(&fd, path)?;
    // A creation may have ended meanwhile.
    read().map_err(|error| match is_missing(&error) {
        true => not_a_graph(path, &format!("it holds no `{name}`")),
        false => error,
    })
}

/// Whether a file is not there, or is not for us to write to.
fn is_not_for_us(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{NotFound, PermissionDenied, ReadOnlyFilesystem};
    matches!(error.kind(), NotFound | PermissionDenied | ReadOnlyFilesystem)
}

/// Whether the table of readers says that somebody reads.
fn are_some(file: OwnedFd, path: &Path) -> bool {
    Pins::of_file(file, &path.join(READERS)).is_ok_and(|pins| pins.are_some())
}

fn read_whole(directory: &OwnedFd, path: &Path, name: &str, bytes_max: u64) -> Result<Vec<u8>> {
    let fd = open_file(directory, path, name, OFlags::RDONLY)?;
    let path = path.join(name);
    let file = BackingFile::new(fd, path.clone());
    let len = file.len()?;
    check_size(&path, len, bytes_max)?;
    let mut bytes = vec![0; len as usize];
    let filled = file.read_at(0, &mut bytes)?;
    bytes.truncate(filled);
    Ok(bytes)
}

/// Refuses a file of more bytes than its reader would take.
pub(super) fn check_size(path: &Path, len: u64, bytes_max: u64) -> Result<()> {
    if len <= bytes_max {
        return Ok(());
    }
    Err(Error::Corruption {
        path: path.to_path_buf(),
        offset: 0,
        what: "file size in bytes".into(),
        expected: format!("at most {bytes_max}"),
        found: len.to_string(),
    })
}

pub(super) fn names(fd: &OwnedFd, path: &Path) -> Result<Vec<String>> {
    let failed = |e| Error::io(path, "list", e);
    let mut names = Vec::new();
    for entry in Dir::read_from(fd).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name().to_string_lossy();
        if name != "." && name != ".." {
            names.push(name.into_owned());
        }
    }
    Ok(names)
}

pub(super) fn open_directory(path: &Path) -> Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
    rustix::fs::openat(CWD, path, flags, Mode::empty()).map_err(|e| match e {
        Errno::NOENT => not_a_graph(path, "there is no such directory"),
        Errno::NOTDIR | Errno::LOOP => not_a_graph(path, "it is not a directory"),
        e => Error::io(path, "open", e),
    })
}

/// Makes the directory of a new graph, or clears one whose creation has not ended. Returns whether it was not there before.
fn make(path: &Path) -> Result<bool> {
    match rustix::fs::mkdirat(CWD, path, DIRECTORY_MODE) {
        Ok(()) => Ok(true),
        Err(Errno::EXIST) => clear(path).map(|()| false),
        Err(Errno::NOENT) => {
            let named = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            let parent = named.unwrap_or(Path::new("."));
            Err(Error::io(parent, "find directory", Errno::NOENT))
        }
        Err(e) => Err(Error::io(path, "create directory", e)),
    }
}

/// Opens a regular file of the directory, never through a link and never waiting for a pipe. One that it made and
/// cannot examine is removed.
fn open_file(directory: &OwnedFd, path: &Path, name: &str, flags: OFlags) -> Result<OwnedFd> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file_path = || path.join(name);
    let fd = rustix::fs::openat(directory, name, flags, FILE_MODE).map_err(|e| match e {
        Errno::LOOP | Errno::NXIO => not_a_graph(&file_path(), "it is not a regular file"),
        e => Error::io(&file_path(), "open", e),
    })?;
    let stat = rustix::fs::fstat(&fd).map_err(|e| {
        if flags.contains(OFlags::EXCL) {
            let _stays = rustix::fs::unlinkat(directory, name, AtFlags::empty());
        }
        Error::io(&file_path(), "examine", e)
    })?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(not_a_graph(&file_path(), "it is not a regular file"));
    }
    Ok(fd)
}

/// Says in a directory that the creation of its graph has not ended.
fn mark_unfinished(directory: &OwnedFd, path: &Path) -> Result<()> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR;
    open_file(directory, path, UNFINISHED, flags).map(drop)
}

/// Whether a creation has ended in a directory before it had a manifest, so that another may begin.
pub(super) fn is_unfinished(path: &Path) -> bool {
    let found = open_directory(path).and_then(|fd| names(&fd, path));
    found.is_ok_and(|names| are_unfinished(&names))
}

/// Whether a directory with these files is what a creation leaves that has ended before it had a
/// manifest: marked as such, or with nothing but a lock.
fn are_unfinished(names: &[String]) -> bool {
    let has = |wanted: &str| names.iter().any(|name| name == wanted);
    has(LOCK_NAME) && (names.len() == 1 || has(UNFINISHED) && !has(MANIFEST))
}

/// Refuses a lock in whose place another process has put its own: it took the directory for one that
/// was left, between the making of the lock and its taking.
fn refuse_other_lock(directory: &OwnedFd, path: &Path, lock: &OwnedFd) -> Result<()> {
    let taken = rustix::fs::fstat(lock).map(|stat| stat.st_ino);
    let named = rustix::fs::statat(directory, LOCK_NAME, AtFlags::SYMLINK_NOFOLLOW);
    match taken == named.map(|stat| stat.st_ino) {
        true => Ok(()),
        false => Err(Error::InUse { path: path.to_owned(), holder: "another process".into() }),
    }
}

/// Removes a directory in which a creation has ended before it had a manifest.
pub(super) fn remove_unfinished(path: &Path) {
    if is_unfinished(path) && clear(path).is_ok() {
        let _stays = rustix::fs::rmdir(path);
    }
}

/// Clears a directory in which a creation has ended before it had a manifest; refuses another one
/// that is not empty.
fn clear(path: &Path) -> Result<()> {
    let fd = open_directory(path)?;
    let found = names(&fd, path)?;
    if found.is_empty() {
        return Ok(());
    }
    if !are_unfinished(&found) {
        return Err(not_empty(path, &found));
    }
    let lock = open_file(&fd, path, LOCK_NAME, OFlags::RDWR)?;
    let is_left = take_lock(&fd, &lock, path, Access::Write)?;
    refuse_other_lock(&fd, path, &lock)?;
    // Meanwhile another process may have made its graph, or have cleared the directory.
    let names = names(&fd, path)?;
    if !are_unfinished(&names) {
        write_lock(&lock, if is_left { LEFT } else { CLOSED });
        return Err(not_empty(path, &names));
    }
    // The mark goes last: a crash leaves what can be cleared again, or an empty directory.
    let last = [LOCK_NAME, UNFINISHED];
    let others = names.iter().map(String::as_str).filter(|name| !last.contains(name));
    let is_there = |name: &&str| names.iter().any(|found| found == name);
    for name in others.chain(last.into_iter().filter(is_there)) {
        rustix::fs::unlinkat(&fd, name, AtFlags::empty())
            .map_err(|e| Error::io(&path.join(name), "remove", e))?;
    }
    Ok(())
}

/// Returns why a directory takes no new graph.
fn not_empty(path: &Path, names: &[String]) -> Error {
    let path = path.display();
    Error::invalid(match names.iter().any(|name| name == MANIFEST) {
        true => format!(
            "`{path}` holds a graph already, perhaps since a moment ago; open it, or name a new one"
        ),
        false => format!("`{path}` exists and is not empty; name a new graph"),
    })
}

fn sync_parent(path: &Path) -> Result<()> {
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    rustix::fs::openat(CWD, parent, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
        .and_then(|parent| retried(|| rustix::fs::fsync(&parent)))
        .map_err(|e| Error::io(parent, "sync directory", e))
}

/// Locks `lock` and its directory for one writer or several readers and, as the writer, leaves the
/// process id in the file. Returns whether the last writer did not end well.
///
/// The lock on the directory holds where somebody removes `lock` and makes another one.
fn take_lock(directory: &OwnedFd, lock: &OwnedFd, path: &Path, access: Access) -> Result<bool> {
    let operation = match access {
        Access::Read => FlockOperation::NonBlockingLockShared,
        Access::Write => FlockOperation::NonBlockingLockExclusive,
    };
    for fd in [lock, directory] {
        match take_flock(fd, operation) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                return Err(Error::InUse { path: path.to_path_buf(), holder: holder(lock) });
            }
            // Some file systems lock files, and no directories.
            Err(Errno::BADF | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL)
                if std::ptr::eq(fd, directory) => {}
            Err(e) => return Err(Error::io(path, "lock", e)),
        }
    }
    let is_left = read_lock(lock) != CLOSED;
    if access == Access::Write {
        write_lock(lock, &std::process::id().to_string());
    }
    Ok(is_left)
}

/// Locks what is open. Who holds it may be a process that this one is starting: that has it until it
/// runs another program.
fn take_flock(fd: &OwnedFd, operation: FlockOperation) -> rustix::io::Result<()> {
    for _ in 0..LOCK_RETRIES {
        match retried(|| rustix::fs::flock(fd, operation)) {
            Err(Errno::WOULDBLOCK) => std::thread::sleep(LOCK_PAUSE),
            taken => return taken,
        }
    }
    retried(|| rustix::fs::flock(fd, operation))
}

/// Writes a text into the lock's file, in the place of another one. Where that fails there is none, which
/// does not say that a writer has ended well; the process id only serves the message of `Error::InUse`.
fn write_lock(lock: &OwnedFd, text: &str) {
    let line = format!("{text:<width$}\n", width = LOCK_BYTES - 1);
    if rustix::io::pwrite(lock, line.as_bytes(), 0) != Ok(LOCK_BYTES) {
        let _emptied = rustix::fs::ftruncate(lock, 0);
    }
}

/// Returns the text of the lock's file.
fn read_lock(lock: &OwnedFd) -> String {
    let mut text = [0; LOCK_BYTES];
    let len = rustix::io::pread(lock, &mut text, 0).unwrap_or(0);
    String::from_utf8_lossy(&text[..len]).trim_end().to_owned()
}

/// Returns the process that left its id, if it still runs; readers leave none.
fn holder(lock: &OwnedFd) -> String {
    match read_lock(lock).parse::<u32>().ok() {
        Some(pid) if pid == std::process::id() => THIS_PROCESS.into(),
        Some(pid) if Path::new(&format!("/proc/{pid}")).exists() => format!("process {pid}"),
        _ => "another process".into(),
    }
}

/// Refuses a directory in which a creation goes on, which holds its locks, or has ended too early.
fn refuse_unfinished(directory: &OwnedFd, path: &Path) -> Result<()> {
    // One that has made `lock` a moment ago locks it and then leaves its mark.
    for _ in 0..LOCK_RETRIES {
        if names(directory, path)? != [LOCK_NAME] {
            break;
        }
        std::thread::sleep(LOCK_PAUSE);
    }
    if !is_unfinished(path) {
        return Ok(());
    }
    let lock = open_file(directory, path, LOCK_NAME, OFlags::RDONLY)?;
    take_lock(directory, &lock, path, Access::Read).map_err(|error| match error {
        Error::InUse { path, holder } => {
            Error::InUse { path, holder: format!("{holder}, which is still creating it") }
        }
        error => error,
    })?;
    if !is_unfinished(path) {
        return Ok(());
    }
    let what = "its creation did not end, and the directory holds nothing; create it again";
    Err(not_a_graph(path, what))
}

/// Says what a directory without a lock is. Whoever had the graph open when its lock was removed still
/// writes: it is not made anew without being asked for.
fn lacks_lock(directory: &OwnedFd) -> &'static str {
    match rustix::fs::statat(directory, MANIFEST, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(_) => "its file `lock` is missing; if no process has it open, make an empty one",
        Err(_) => "it holds no file `lock`",
    }
}

fn not_a_graph(path: &Path, what: &str) -> Error {
    Error::NotAGraph { path: path.to_path_buf(), what: what.into() }
}
