//! A directory that is written whole or not at all.
//!
//! Files are written in a hidden directory beside it, which gets the name when all of them are durable. So a process that
//! ends in between leaves what was there, and a directory `.everedge-…`.

use std::collections::BTreeSet;
use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use everedge_core::watch;
use rustix::fs::{CWD, RenameFlags};
use tempfile::TempDir;

use super::manifest::{FileEntry, MANIFEST, Manifest, hex};
use crate::output_file::{directory_of, is_graph, sync_directory};
use crate::{Error, Result};

/// Bytes that are written at once.
const PIECE_BYTES: usize = 1 << 18;

/// A directory whose files are being written.
pub(super) struct NewDirectory {
    path: PathBuf,
    aside: TempDir,
    /// What stands in its place, if that is another export.
    is_replaced: bool,
}

/// A file of it.
pub(super) struct NewFile {
    path: PathBuf,
    name: String,
    out: BufWriter<Counted>,
}

impl NewDirectory {
    /// Starts a directory that [`put_in_place`](Self::put_in_place) will call `path`.
    ///
    /// # Errors
    /// `InvalidInput` if something stands there that is no export and not empty; `Io`.
    pub(super) fn create(path: &Path) -> Result<Self> {
        // A link goes on pointing to the directory.
        let path = match path.is_symlink() {
            true => path.canonicalize().map_err(|error| Error::io(path, "examine", error))?,
            false => path.to_owned(),
        };
        let is_replaced = is_export(&path)?;
        let mut names = tempfile::Builder::new();
        names.prefix(".everedge-");
        // As `mkdir` makes it, but for what the process's mask takes away.
        names.permissions(Permissions::from_mode(0o777));
        let aside = names.tempdir_in(directory_of(&path));
        let aside = aside.map_err(|error| Error::io(&path, "create", error))?;
        Ok(Self { path, aside, is_replaced })
    }

    /// Returns the path that it will have.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Starts the file `name` of it.
    ///
    /// # Errors
    /// `Io`.
    pub(super) fn file(&self, name: &str) -> Result<NewFile> {
        let path = self.aside.path().join(name);
        let at = |error| Error::io(&self.path.join(name), "create", error);
        std::fs::create_dir_all(directory_of(&path)).map_err(at)?;
        let out = Counted { file: File::create_new(&path).map_err(at)?, bytes: 0, crc: 0 };
        let out = BufWriter::with_capacity(PIECE_BYTES, out);
        Ok(NewFile { path: self.path.join(name), name: name.to_owned(), out })
    }

    /// Writes a whole file.
    ///
    /// # Errors
    /// `Io`.
    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<FileEntry> {
        let mut file = self.file(name)?;
        file.write_all(bytes).map_err(|error| Error::io(&file.path, "write", error))?;
        file.finish(None)
    }

    /// Writes the manifest and gives the directory its name; what was exported there before goes.
    ///
    /// # Errors
    /// `Io`; `InvalidInput` if another directory has come to its place.
    pub(super) fn put_in_place(self, manifest: &Manifest) -> Result<()> {
        self.write(MANIFEST, manifest.to_text().as_bytes())?;
        let aside = self.aside.path();
        let at = |error| Error::io(&self.path, "create", error);
        let files = manifest.files.iter().map(|entry| Path::new(&entry.file));
        let directories: BTreeSet<&Path> =
            files.flat_map(|file| file.ancestors().skip(1)).collect();
        for directory in directories {
            sync_directory(&aside.join(directory)).map_err(at)?;
        }
        watch::undisturbed(|| match self.is_replaced {
            true => self.exchange(),
            false => self.name(),
        })?;
        let synced = sync_directory(directory_of(&self.path));
        synced.map_err(|error| {
            Error::io(&self.path, "sync the directory of the finished export", error)
        })
    }

    #[expect(clippy::disallowed_methods, reason = "a directory of an export, which is no store")]
    fn name(&self) -> Result<()> {
        let renamed = std::fs::rename(self.aside.path(), &self.path);
        renamed.map_err(|error| match error.kind() {
            io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotADirectory => taken(&self.path),
            _ => Error::io(&self.path, "create", error),
        })
    }

    /// Takes the place of an export; the hidden directory, which is removed, has that then.
    fn exchange(&self) -> Result<()> {
        let (aside, flags) = (self.aside.path(), RenameFlags::EXCHANGE);
        let exchanged = rustix::fs::renameat_with(CWD, aside, CWD, &self.path, flags);
        exchanged.map_err(|error| {
            let (path, error) = (self.path.display(), io::Error::from(error));
            let what = "this file system cannot replace a directory at once";
            Error::invalid(format!(
                "`{path}` holds an export, and {what} ({error}): remove it, or name another"
            ))
        })
    }
}

impl NewFile {
    /// Makes what was written durable; returns what a manifest says of it.
    ///
    /// # Errors
    /// `Io`.
    pub(super) fn finish(self, rows: Option<u64>) -> Result<FileEntry> {
        let Self { path, name, out } = self;
        let at = |error| Error::io(&path, "write", error);
        let Counted { file, bytes, crc } =
            out.into_inner().map_err(|error| at(error.into_error()))?;
        file.sync_all().map_err(at)?;
        Ok(FileEntry { file: name, rows, src: None, bytes, crc32c: hex(crc) })
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Returns whether there is an export, all of whose files an export has written; not if there is nothing, or an empty
/// directory.
///
/// # Errors
/// `InvalidInput` if there is something else.
fn is_export(path: &Path) -> Result<bool> {
    let exists = path.try_exists().map_err(|error| Error::io(path, "examine", error))?;
    let parent = directory_of(path);
    if is_graph(parent) {
        let path = path.display();
        return Err(Error::invalid(format!(
            "`{path}` lies in a graph; name a directory elsewhere"
        )));
    }
    let mut entries = match exists {
        false => return Ok(false),
        true if !path.is_dir() => return Err(taken(path)),
        true => path.read_dir().map_err(|error| Error::io(path, "read", error))?,
    };
    if entries.next().is_none() {
        return Ok(false);
    }
    let Some(manifest) = Manifest::read(path)? else { return Err(taken(path)) };
    match manifest.others_in(path)?.first() {
        None => Ok(true),
        Some(other) => Err(Error::invalid(format!(
            "`{}` is not of the export in `{}`, and would be lost with it: move it away, or name another directory",
            other.display(),
            path.display()
        ))),
    }
}

fn taken(path: &Path) -> Error {
    let path = path.display();
    Error::invalid(format!(
        "`{path}` is there and holds no export: remove it, or name a new directory"
    ))
}

/// A file, how much was written to it, and the CRC32C of that.
struct Counted {
    file: File,
    bytes: u64,
    crc: u32,
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write(bytes)?;
        self.bytes += count as u64;
        self.crc = crc32c::crc32c_append(self.crc, &bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
