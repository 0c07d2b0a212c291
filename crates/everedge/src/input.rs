//! Input files: opened here, decompressed, guessed, and counted while they are read.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use everedge_io::{Format, Guess, HEAD_BYTES, decompress, probe, probe_parquet};

use crate::{Error, Result};

/// The name that stands for standard input.
const STDIN: &str = "-";
/// The beginning of standard input, read to guess what it holds and still to be taken in.
static LOOKED_AT: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// An input file, opened and guessed.
pub(crate) struct Input {
    pub path: PathBuf,
    pub guess: Guess,
    /// Bytes of the file, if that is known.
    pub len: Option<u64>,
    /// Bytes of the file read so far.
    pub bytes_read: Arc<AtomicU64>,
    pub content: Content,
}

/// What an input holds.
pub(crate) enum Content {
    /// Decompressed bytes.
    Stream(Box<dyn Read + Send>),
    /// A Parquet file, which is read from its end.
    Parquet(File),
}

impl Input {
    /// Opens `path`, or standard input for `-`.
    ///
    /// # Errors
    /// If it cannot be read, is a directory, or has none of the known formats.
    pub(crate) fn open(path: &Path, format: Option<Format>) -> Result<Self> {
        let (source, len) = open_source(path)?;
        let bytes_read = Arc::new(AtomicU64::new(0));
        let counted = Counted { source, bytes_read: Arc::clone(&bytes_read) };
        let mut content = decompress(counted).map_err(|e| Error::file(path, io_error(e)))?;
        let mut head = Vec::with_capacity(HEAD_BYTES);
        content
            .by_ref()
            .take(HEAD_BYTES as u64)
            .read_to_end(&mut head)
            .map_err(|e| Error::file(path, io_error(e)))?;
        let name = name_of(path, format);
        if let Some(file) = parquet(path, &head, format)? {
            let guess = file.try_clone().map_err(|e| Error::io(path, "open", e))?;
            let guess = probe_parquet(guess).map_err(|e| Error::file(path, e))?;
            let content = Content::Parquet(file);
            return Ok(Self { path: path.to_owned(), guess, len, bytes_read, content });
        }
        let mut guess = probe(&name, &head).map_err(|e| Error::file(path, e))?;
        if let Some(format) = format {
            guess.format = format;
        }
        let content = Content::Stream(Box::new(Cursor::new(head).chain(content)));
        Ok(Self { path: path.to_owned(), guess, len, bytes_read, content })
    }

    /// Guesses what `path` holds; standard input can be opened all the same afterwards.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub(crate) fn guess(path: &Path, format: Option<Format>) -> Result<Guess> {
        if path.as_os_str() != STDIN {
            return Ok(Self::open(path, format)?.guess);
        }
        let mut looked_at = looked_at();
        let wanted = (HEAD_BYTES - looked_at.len().min(HEAD_BYTES)) as u64;
        let read = io::stdin().take(wanted).read_to_end(&mut looked_at);
        read.map_err(|e| Error::file(path, io_error(e)))?;
        let start = Cursor::new(looked_at.clone());
        let mut content = decompress(start).map_err(|e| Error::file(path, io_error(e)))?;
        let mut head = Vec::new();
        // Compressed content may end in the middle here; what came until then is enough for a guess.
        let _cut = content.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut head);
        parquet(path, &head, format)?;
        probe(&name_of(path, format), &head).map_err(|e| Error::file(path, e))
    }
}

fn looked_at() -> MutexGuard<'static, Vec<u8>> {
    LOOKED_AT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The name by which the format is guessed.
fn name_of(path: &Path, format: Option<Format>) -> String {
    match format {
        Some(format) => format!("input.{}", extension_of(format)),
        None => path.to_string_lossy().into_owned(),
    }
}

/// Opens `path` once more if it is a Parquet file.
fn parquet(path: &Path, head: &[u8], format: Option<Format>) -> Result<Option<File>> {
    let is_parquet = format == Some(Format::Parquet) || head.starts_with(b"PAR1");
    if !is_parquet {
        return Ok(None);
    }
    if path.as_os_str() == STDIN {
        return Err(Error::invalid("Parquet is read from its end: name a file, not `-`"));
    }
    open_file(path).map(Some)
}

fn open_file(path: &Path) -> Result<File> {
    #[expect(clippy::disallowed_methods, reason = "an input file, read only")]
    File::open(path).map_err(|e| Error::io(path, "open", e))
}

fn io_error(error: io::Error) -> everedge_io::Error {
    everedge_io::Error::from(error)
}

/// The usual ending of a file of this format.
fn extension_of(format: Format) -> &'static str {
    match format {
        Format::EdgeList => "txt",
        Format::Csv => "csv",
        Format::Tsv => "tsv",
        Format::MatrixMarket => "mtx",
        Format::Dimacs => "gr",
        Format::Metis => "graph",
        Format::Graphalytics => "e",
        Format::GraphalyticsVertices => "v",
        Format::Binary => "bin",
        Format::Parquet => "parquet",
    }
}

fn open_source(path: &Path) -> Result<(Box<dyn Read + Send>, Option<u64>)> {
    if path.as_os_str() == STDIN {
        let looked_at = std::mem::take(&mut *looked_at());
        return Ok((Box::new(Cursor::new(looked_at).chain(io::stdin())), None));
    }
    let file = open_file(path)?;
    let metadata = file.metadata().map_err(|e| Error::io(path, "examine", e))?;
    if metadata.is_dir() {
        let path = path.display();
        return Err(Error::invalid(format!("`{path}` is a directory; name the files in it")));
    }
    let len = metadata.is_file().then_some(metadata.len());
    Ok((Box::new(file), len))
}

/// Counts what is read.
struct Counted {
    source: Box<dyn Read + Send>,
    bytes_read: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.bytes_read.fetch_add(count as u64, Relaxed);
        Ok(count)
    }
}
