//! Files that are written whole or not at all.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use everedge_io::{Compress, Compression, compress};
use everedge_medium::MANIFEST;
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use tempfile::TempPath;

use crate::{Error, Result};

/// Bytes that are compressed and written at once.
const PIECE_BYTES: usize = 1 << 16;

/// A file that is being written, compressed if its name says so. A regular one is written aside and gets
/// its name when it is whole, so that an error leaves what was there; what else has the name, such as a
/// pipe or a device, is written to as it is.
pub struct OutputFile {
    path: PathBuf,
    aside: Option<Aside>,
    out: BufWriter<Compress<Counted>>,
}

/// How a file that is not whole yet is named.
enum Aside {
    /// Not at all: nothing of it is left, however the process ends.
    Unnamed,
    /// Beside the one that it is to be, where the file system has no files without a name.
    Named(TempPath),
}

impl OutputFile {
    /// Starts a file that [`put_in_place`](Self::put_in_place) will call `path`.
    ///
    /// # Errors
    /// `InvalidInput` if it lies in the directory of a graph, whose files it could replace; `Io` if it cannot
    /// be made.
    pub fn create(path: &Path) -> Result<Self> {
        let at = |error| Error::io(path, "create", error);
        let compression = compression_of(path).0;
        // A link goes on pointing to the file.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if is_in_graph(&path) {
            let path = path.display();
            return Err(Error::invalid(format!("`{path}` lies in a graph; name a file elsewhere")));
        }
        let (file, aside) = match path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            true => (File::options().write(true).open(&path).map_err(at)?, None),
            false => {
                let (file, aside) = file_beside(&path).map_err(at)?;
                (file, Some(aside))
            }
        };
        let out = compress(Counted { file, bytes: 0 }, compression).map_err(at)?;
        Ok(Self { path, aside, out: BufWriter::with_capacity(PIECE_BYTES, out) })
    }

    /// Makes what was written durable and gives the file its name. Returns its length.
    ///
    /// # Errors
    /// `Io` if the last of it cannot be written, the file not be named, or its name not be made durable.
    pub fn put_in_place(self) -> Result<u64> {
        let Self { path, aside, out } = self;
        let at = |error| Error::io(&path, "write", error);
        let out = out.into_inner().map_err(|error| at(error.into_error()))?;
        let Counted { file, bytes } = out.finish().map_err(at)?;
        if let Some(aside) = aside {
            file.sync_all().map_err(at)?;
            let aside = match aside {
                Aside::Unnamed => name_beside(&file, &path),
                Aside::Named(aside) => Ok(aside),
            };
            let named = aside.and_then(|aside| aside.persist(&path).map_err(|e| e.error));
            named.map_err(|e| Error::io(&path, "create", e))?;
            let synced = sync_directory(directory_of(&path));
            synced.map_err(|e| Error::io(&path, "sync the directory of the finished file", e))?;
        }
        Ok(bytes)
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Makes a file in the directory of `path` that goes away if it gets no name.
fn file_beside(path: &Path) -> io::Result<(File, Aside)> {
    let (flags, mode) = (OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC, Mode::from(0o666));
    if let Ok(file) = rustix::fs::open(directory_of(path), flags, mode) {
        return Ok((file.into(), Aside::Unnamed));
    }
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    // An error of this names no file: nobody has asked for that name.
    let named = |name: &Path| rustix::fs::open(name, flags, mode).map_err(Into::into);
    let (file, aside) = names_beside().make_in(directory_of(path), named)?.into_parts();
    Ok((file.into(), Aside::Named(aside)))
}

/// Gives a file a name beside `path`, for a moment.
fn name_beside(file: &File, path: &Path) -> io::Result<TempPath> {
    let unnamed = format!("/proc/self/fd/{}", file.as_raw_fd());
    let link = |name: &Path| {
        rustix::fs::linkat(CWD, &unnamed, CWD, name, AtFlags::SYMLINK_FOLLOW).map_err(Into::into)
    };
    let linked = names_beside().make_in(directory_of(path), link)?;
    Ok(linked.into_temp_path())
}

fn names_beside() -> tempfile::Builder<'static, 'static> {
    let mut names = tempfile::Builder::new();
    names.prefix(".everedge-");
    names
}

fn is_in_graph(path: &Path) -> bool {
    is_graph(directory_of(path))
}

/// Returns whether a directory holds a graph, or looks as if.
pub(crate) fn is_graph(directory: &Path) -> bool {
    [MANIFEST, "lock"].iter().all(|name| directory.join(name).exists())
}

pub(crate) fn directory_of(path: &Path) -> &Path {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    directory.unwrap_or(Path::new("."))
}

/// Makes the names in a directory durable.
#[expect(clippy::disallowed_methods, reason = "a directory, to be synced")]
pub(crate) fn sync_directory(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// A file, and how much was written to it.
struct Counted {
    file: File,
    bytes: u64,
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write(bytes)?;
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Returns how a file is compressed, by its name, and its path without that ending.
pub(crate) fn compression_of(path: &Path) -> (Compression, PathBuf) {
    let name = path.file_name().unwrap_or_default();
    // What is not UTF-8 in it stands before the ending.
    let text = name.to_string_lossy();
    let (compression, stem) = Compression::of_name(&text);
    let stem = &name.as_bytes()[..name.len() - (text.len() - stem.len())];
    (compression, path.with_file_name(OsStr::from_bytes(stem)))
}
