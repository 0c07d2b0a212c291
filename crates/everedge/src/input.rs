//! Input files: opened here, decompressed, unpacked, guessed, and counted while they are read.
//!
//! A regular file is read as it is. A pipe, a terminal or a socket is a stream: a thread of its own
//! reads and decompresses it, so that what came can be dealt with while nothing more comes.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use everedge_io::{Format, Guess, HEAD_BYTES, decompress, is_tar, open_tar, probe};
use everedge_io::{InputChoices, probe_arrow, probe_parquet};

use crate::ingest::IngestOptions;
use crate::{Error, Result};

/// The name that stands for standard input.
pub(crate) const STDIN: &str = "-";
/// Bytes that a stream's thread hands over at once.
const PIECE_BYTES: usize = 1 << 16;
/// Pieces that it reads ahead.
const PIECES_AHEAD: usize = 64;
/// Streams that were opened to guess what they hold and are still to be taken in: they cannot be
/// read twice.
static PARKED: Mutex<Vec<Input>> = Mutex::new(Vec::new());

/// An input file, opened and guessed.
pub(crate) struct Input {
    pub path: PathBuf,
    pub guess: Guess,
    /// Bytes of the file, if that is known.
    pub len: Option<u64>,
    /// Bytes of the file read so far.
    pub bytes_read: Arc<AtomicU64>,
    pub is_stream: bool,
    pub content: Content,
}

/// What an input holds.
pub(crate) enum Content {
    /// Decompressed bytes.
    Stream(Bytes),
    /// A Parquet file, which is read from its end.
    Parquet(File),
}

type Bytes = Box<dyn Read + Send>;

impl Input {
    /// Opens `path`, or standard input for `-`. A stream pauses when nothing comes.
    ///
    /// # Errors
    /// If it cannot be read, is a directory, or has none of the known formats; `Interrupted` if the
    /// ingest is to end before that is known.
    pub(crate) fn open(
        path: &Path,
        choices: &InputChoices,
        ingest: &IngestOptions,
    ) -> Result<Self> {
        let mut parked = PARKED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = parked.iter().position(|input| input.path == path) {
            return Ok(parked.swap_remove(place));
        }
        drop(parked);
        Self::open_now(path, choices, ingest)
    }

    /// Guesses what `path` holds; a stream can be opened all the same afterwards.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub(crate) fn guess(path: &Path, ingest: &IngestOptions) -> Result<Guess> {
        let input = Self::open(path, &ingest.input, ingest)?;
        let guess = input.guess.clone();
        if input.is_stream || path.as_os_str() == STDIN {
            PARKED.lock().unwrap_or_else(PoisonError::into_inner).push(input);
        }
        Ok(guess)
    }

    fn open_now(path: &Path, choices: &InputChoices, ingest: &IngestOptions) -> Result<Self> {
        let at = |error: io::Error| match ingest.check_stop() {
            Err(interrupted) => interrupted,
            Ok(()) => Error::file(path, error.into()),
        };
        let bytes_read = Arc::new(AtomicU64::new(0));
        let count = |source| Counted { source, bytes_read: Arc::clone(&bytes_read) };
        let (mut content, len): (Bytes, _) = match is_named_pipe(path) {
            // Opening it waits for a writer.
            true => {
                let (path, bytes_read) = (path.to_owned(), Arc::clone(&bytes_read));
                let open = move || Ok(Counted { source: open_file(&path)?, bytes_read });
                (Box::new(Stream::start(open, ingest.pause()).map_err(at)?), None)
            }
            false => match open_source(path)? {
                (file, Some(len)) => (Box::new(decompress(count(file)).map_err(at)?), Some(len)),
                (file, None) => {
                    let source = count(file);
                    (Box::new(Stream::start(|| Ok(source), ingest.pause()).map_err(at)?), None)
                }
            },
        };
        let mut name = path.to_string_lossy().into_owned();
        let (mut head, mut pauses) = read_head(&mut content, &ingest.stop).map_err(at)?;
        if is_tar(&head) {
            let source = Cursor::new(head).chain(content);
            let entry = open_tar(Patient { source, stop: Arc::clone(&ingest.stop) });
            let entry = entry.map_err(|e| Error::file(path, e))?;
            name = entry.name().to_owned();
            content = Box::new(entry);
            (head, pauses) = read_head(&mut content, &ingest.stop).map_err(at)?;
        }
        // The last line before a pause may not be whole.
        let whole = head.iter().rposition(|byte| *byte == b'\n').filter(|_| pauses);
        let shown = whole.map_or(&head[..], |end| &head[..=end]);
        let guess = probe(&name, shown, choices).map_err(|e| Error::file(path, e))?;
        let guess = match guess.format {
            Format::Arrow => guess_arrow(path, &head, len.is_some(), choices)?,
            _ => guess,
        };
        let start = Cursor::new(head).chain(Pause(pauses));
        let (guess, content) = match guess.format {
            Format::Parquet => open_parquet(path, choices)?,
            _ => (guess, Content::Stream(Box::new(start.chain(content)))),
        };
        let path = path.to_owned();
        Ok(Self { path, guess, len, bytes_read, is_stream: len.is_none(), content })
    }
}

/// Opens `path`, or standard input for `-`; returns its length if it is a regular file.
fn open_source(path: &Path) -> Result<(File, Option<u64>)> {
    let file = match path.as_os_str() == STDIN {
        true => io::stdin().as_fd().try_clone_to_owned().map(File::from),
        false => open_file(path),
    };
    let file = file.map_err(|e| Error::io(path, "open", e))?;
    let metadata = file.metadata().map_err(|e| Error::io(path, "examine", e))?;
    if metadata.is_dir() {
        let path = path.display();
        return Err(Error::invalid(format!("`{path}` is a directory; name the files in it")));
    }
    let len = metadata.is_file().then_some(metadata.len());
    Ok((file, len))
}

#[expect(clippy::disallowed_methods, reason = "an input file, read only")]
fn open_file(path: &Path) -> io::Result<File> {
    File::open(path)
}

fn is_named_pipe(path: &Path) -> bool {
    path.as_os_str() != STDIN && path.metadata().is_ok_and(|of| of.file_type().is_fifo())
}

/// Reads the beginning of a file; of a stream at least a line, if it has any. Returns whether the
/// stream paused after it, too.
fn read_head(content: &mut Bytes, stop: &AtomicBool) -> io::Result<(Vec<u8>, bool)> {
    let mut head = Vec::with_capacity(HEAD_BYTES);
    loop {
        let missing = (HEAD_BYTES - head.len()) as u64;
        match content.by_ref().take(missing).read_to_end(&mut head) {
            Ok(_) => return Ok((head, false)),
            Err(error) if error.kind() != io::ErrorKind::WouldBlock || stop.load(Relaxed) => {
                return Err(error);
            }
            // The first line of what is binary says nothing.
            Err(_) if head.contains(&b'\n') && !head.contains(&0) => return Ok((head, true)),
            Err(_) => {}
        }
    }
}

/// Opens `path` once more, since Parquet is read from its end.
fn open_parquet(path: &Path, choices: &InputChoices) -> Result<(Guess, Content)> {
    if path.as_os_str() == STDIN {
        return Err(Error::invalid("Parquet is read from its end: name a file, not `-`"));
    }
    let (file, len) = open_source(path)?;
    if len.is_none() {
        let path = path.display();
        return Err(Error::invalid(format!("`{path}`: Parquet is not read from a pipe")));
    }
    let guess = file.try_clone().map_err(|e| Error::io(path, "open", e))?;
    let guess = probe_parquet(guess, choices).map_err(|e| Error::file(path, e))?;
    Ok((guess, Content::Parquet(file)))
}

/// Looks at the first batch of Arrow data, which may be longer than `head`.
fn guess_arrow(
    path: &Path,
    head: &[u8],
    is_regular: bool,
    choices: &InputChoices,
) -> Result<Guess> {
    let at = |error| Error::file(path, error);
    let is_file = is_regular && path.as_os_str() != STDIN;
    if !is_file {
        return probe_arrow(head, choices).map_err(at);
    }
    let (file, _) = open_source(path)?;
    let whole = decompress(file).map_err(|e| at(e.into()))?;
    probe_arrow(whole, choices).map_err(at)
}

/// A stream, read by a thread of its own.
struct Stream {
    pieces: Receiver<io::Result<Vec<u8>>>,
    piece: Cursor<Vec<u8>>,
    pause: Duration,
    /// When the next pause is due.
    pause_at: Option<Instant>,
}

impl Stream {
    /// Starts the thread, which opens the source; it ends with the stream, or with the process.
    fn start<R: Read + Send + 'static>(
        open: impl FnOnce() -> io::Result<R> + Send + 'static,
        pause: Duration,
    ) -> io::Result<Self> {
        let (sender, pieces) = mpsc::sync_channel(PIECES_AHEAD);
        let read_all = move || {
            let mut bytes = match open().and_then(decompress) {
                Ok(bytes) => bytes,
                Err(error) => {
                    // Nobody waits for it when the ingest has ended.
                    let _ = sender.send(Err(error));
                    return;
                }
            };
            let mut buffer = vec![0; PIECE_BYTES];
            loop {
                let piece = bytes.read(&mut buffer).map(|count| buffer[..count].to_vec());
                let is_last = piece.as_ref().map_or(true, Vec::is_empty);
                if sender.send(piece).is_err() || is_last {
                    return;
                }
            }
        };
        thread::Builder::new().name("everedge-input".to_owned()).spawn(read_all)?;
        Ok(Self { pieces, piece: Cursor::default(), pause, pause_at: None })
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.piece.read(buffer)?;
        if count > 0 || buffer.is_empty() {
            return Ok(count);
        }
        let now = Instant::now();
        let pause_at = *self.pause_at.get_or_insert(now + self.pause);
        match self.pieces.recv_timeout(pause_at.saturating_duration_since(now)) {
            Ok(piece) => {
                self.piece = Cursor::new(piece?);
                self.piece.read(buffer)
            }
            Err(RecvTimeoutError::Timeout) => {
                self.pause_at = None;
                Err(io::ErrorKind::WouldBlock.into())
            }
            Err(RecvTimeoutError::Disconnected) => Ok(0),
        }
    }
}

/// A pause between what was read already and the rest, if there was one.
struct Pause(bool);

impl Read for Pause {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        match std::mem::take(&mut self.0) {
            true => Err(io::ErrorKind::WouldBlock.into()),
            false => Ok(0),
        }
    }
}

/// Reads on over the pauses of a stream, until the ingest is to end.
struct Patient<R> {
    source: R,
    stop: Arc<AtomicBool>,
}

impl<R: Read> Read for Patient<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.source.read(buffer) {
                Err(error)
                    if error.kind() == io::ErrorKind::WouldBlock && !self.stop.load(Relaxed) => {}
                other => return other,
            }
        }
    }
}

/// Counts what is read.
struct Counted {
    source: File,
    bytes_read: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.bytes_read.fetch_add(count as u64, Relaxed);
        Ok(count)
    }
}
