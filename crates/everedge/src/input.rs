//! Input files: opened here, decompressed, unpacked, guessed, and counted while they are read.
//!
//! A regular file is read as it is. A pipe, a terminal or a socket is a stream: a thread of its own
//! reads and decompresses it, so that what came can be dealt with while nothing more comes. How a stream
//! is read is decided by its first two records, however long the second lets itself be waited for.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use everedge_io::{Archive, Format, HEAD_BYTES, InputChoices, OnlyGraph, RecordBatches};
use everedge_io::{decisive_len, decompress_file, is_tar};

use crate::files::Source;
use crate::hand_over::Export;
use crate::ingest::IngestOptions;
use crate::known::Known;
use crate::stream::Stream;
use crate::{Error, Result};

/// The name that stands for standard input.
pub(crate) const STDIN: &str = "-";
/// Bytes of a file that show whether it is an archive.
const TAR_HEAD_BYTES: u64 = 512;
/// Streams whose start was read to guess what they hold, and that are still to be taken in: they
/// cannot be read twice. Whoever takes one guesses anew.
static PARKED: Mutex<Vec<Opened>> = Mutex::new(Vec::new());

/// An input file, opened and guessed.
pub(crate) struct Input<K: Known = InputChoices> {
    /// What messages call it.
    pub path: PathBuf,
    pub guess: K::Guess,
    /// How it is to be read.
    pub options: K::Options,
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
    /// A table in memory.
    Table(RecordBatches),
    /// The directory of an export.
    Export(Arc<Export>),
}

type Bytes = Box<dyn Read + Send>;

/// The inputs of a call, opened one after the other.
pub(crate) struct Inputs<'a> {
    ingest: &'a IngestOptions,
    /// The archive whose files are being read.
    archive: Option<OpenArchive>,
}

impl<'a> Inputs<'a> {
    pub(crate) fn new(ingest: &'a IngestOptions) -> Self {
        Self { ingest, archive: None }
    }

    /// Opens a source; `read_options` says how what was guessed is to be read. A stream pauses when
    /// nothing comes. After an error it can be opened again.
    ///
    /// # Errors
    /// If it cannot be read, is a directory, or has none of the known formats; the error of `read_options`;
    /// `Interrupted` if the ingest is to end before that is known.
    pub(crate) fn open<K: Known>(
        &mut self,
        source: &Source,
        choices: &K,
        read_options: impl FnOnce(&Path, &K::Guess) -> Result<K::Options>,
    ) -> Result<Input<K>> {
        if let Some((guess, len, content)) = held(source, choices)? {
            let options = read_options(&source.path, &guess)?;
            return Ok(Input {
                path: source.path.clone(),
                guess,
                options,
                len: Some(len),
                bytes_read: Arc::default(),
                is_stream: false,
                content,
            });
        }
        let opened = self.start(source, choices.edges())?;
        let guessed = opened.guess(choices).and_then(|(guess, parquet)| {
            let options = read_options(&opened.path, &guess)?;
            Ok((guess, options, parquet))
        });
        match guessed {
            Ok((guess, options, parquet)) => Ok(opened.into_input(guess, options, parquet)),
            Err(error) => {
                opened.park();
                Err(error)
            }
        }
    }

    /// Guesses what a source holds; a stream can be opened all the same afterwards.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub(crate) fn guess<K: Known>(&mut self, source: &Source, choices: &K) -> Result<K::Guess> {
        if let Some((guess, ..)) = held(source, choices)? {
            return Ok(guess);
        }
        let opened = self.start(source, choices.edges())?;
        let guess = opened.guess(choices);
        opened.park();
        Ok(guess?.0)
    }

    /// Opens a source and reads its start, unless that was done before.
    fn start(&mut self, source: &Source, choices: &InputChoices) -> Result<Opened> {
        let Some(member) = &source.member else {
            let identity = identity(&source.path);
            let mut parked = PARKED.lock().unwrap_or_else(PoisonError::into_inner);
            let is_it = |opened: &Opened| opened.path == source.path && opened.identity == identity;
            if let Some(place) = parked.iter().position(is_it) {
                return Ok(parked.swap_remove(place));
            }
            drop(parked);
            return Opened::new(&source.path, identity, choices, self.ingest);
        };
        let shown = source.shown();
        let at = |error: everedge_io::Error| Error::file(&shown, error);
        let open = self.archive.take().filter(|open| open.is_before(source));
        let mut open = open.map_or_else(|| OpenArchive::new(&source.path), Ok)?;
        open.go_to(member.number, &shown, self.ingest)?;
        let files = MemberReader(Arc::clone(&open.files));
        let mut rest: Bytes =
            Box::new(decompress_file(&member.name, files).map_err(|e| at(e.into()))?);
        let (head, pauses) = read_head(&mut rest, &self.ingest.stop, |_| true)
            .map_err(|error| self.ingest.check_stop().err().unwrap_or_else(|| at(error.into())))?;
        let (len, bytes_read) = (open.len, Arc::clone(&open.bytes_read));
        self.archive = Some(open);
        let name = member.name.clone();
        let identity = None;
        Ok(Opened {
            path: shown,
            name,
            head,
            pauses,
            rest,
            len,
            bytes_read,
            identity,
            kind: Kind::Member,
        })
    }
}

/// Returns how a table or an export is read, its bytes, and itself, if the source is one.
fn held<K: Known>(source: &Source, choices: &K) -> Result<Option<(K::Guess, u64, Content)>> {
    let at = |error| Error::file(&source.path, error);
    if let Some(table) = &source.table {
        let guess = choices.probe_table(table).map_err(at)?;
        return Ok(Some((guess, table.byte_count(), Content::Table(table.clone()))));
    }
    let Some(export) = &source.export else { return Ok(None) };
    let guess = choices.of_export(export.guess()).map_err(at)?;
    Ok(Some((guess, export.byte_count(), Content::Export(Arc::clone(export)))))
}

/// Where the bytes of an input come from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A file, which can be opened once more.
    File,
    /// Standard input from a file.
    Redirected,
    /// A file in an archive.
    Member,
    /// A pipe or the like.
    Stream,
}

/// An input whose start was read.
struct Opened {
    path: PathBuf,
    /// Its name, or that of the graph in it.
    name: String,
    head: Vec<u8>,
    /// Whether the stream paused after the start.
    pauses: bool,
    rest: Bytes,
    len: Option<u64>,
    bytes_read: Arc<AtomicU64>,
    identity: Option<(u64, u64)>,
    kind: Kind,
}

impl Opened {
    fn new(
        path: &Path,
        identity: Option<(u64, u64)>,
        choices: &InputChoices,
        ingest: &IngestOptions,
    ) -> Result<Self> {
        let at = |error: everedge_io::Error| match ingest.check_stop() {
            Err(interrupted) => interrupted,
            Ok(()) => Error::file(path, error),
        };
        let bytes_read = Arc::new(AtomicU64::new(0));
        let mut name = path.to_string_lossy().into_owned();
        let (mut rest, len, kind) = open_bytes(path, &bytes_read, ingest)
            .map_err(|error| ingest.check_stop().err().unwrap_or(error))?;
        let decides = |name: &str, head: &[u8]| decisive_len(name, head, choices).is_some();
        let (mut head, mut pauses) =
            read_head(&mut rest, &ingest.stop, |head| decides(&name, head))
                .map_err(|e| at(e.into()))?;
        if is_tar(&head) && !is_pairs(&name, choices) {
            let whole = Cursor::new(head).chain(Pause(pauses)).chain(rest);
            let mut graph = OnlyGraph::new(whole);
            name = loop {
                match graph.find() {
                    Ok(name) => break name.to_owned(),
                    Err(everedge_io::Error::Io(error))
                        if error.kind() == io::ErrorKind::WouldBlock
                            && !ingest.stop.load(Relaxed) => {}
                    Err(error) => return Err(at(error)),
                }
            };
            // It may be compressed, and what decompresses it must not be interrupted by pauses.
            let graph = Patient { input: graph, stop: Arc::clone(&ingest.stop) };
            let stream = Stream::start(name.clone(), move || Ok(graph), ingest.pauses());
            rest = Box::new(stream.map_err(|e| at(e.into()))?);
            (head, pauses) = read_head(&mut rest, &ingest.stop, |head| decides(&name, head))
                .map_err(|e| at(e.into()))?;
        }
        let path = path.to_owned();
        Ok(Self { path, name, head, pauses, rest, len, bytes_read, identity, kind })
    }

    /// Guesses how it is to be read; Parquet is opened once more for that.
    fn guess<K: Known>(&self, choices: &K) -> Result<(K::Guess, Option<File>)> {
        let at = |error| Error::file(&self.path, error);
        // Of a stream so much decides as does not depend on when it came.
        let decisive = match self.kind {
            Kind::Stream => decisive_len(&self.name, &self.head, choices.edges()),
            _ => None,
        };
        let shown = &self.head[..decisive.unwrap_or(self.head.len())];
        let guess = choices.probe(&self.name, shown).map_err(at)?;
        match K::format(&guess) {
            Format::Parquet => {
                let (guess, file) = open_parquet(&self.path, self.kind, choices)?;
                Ok((guess, Some(file)))
            }
            Format::Arrow if self.kind == Kind::File => {
                let (file, _) = open_source(&self.path)?;
                let whole = decompress_file(&self.name, file).map_err(|e| at(e.into()))?;
                Ok((choices.probe_arrow(whole).map_err(at)?, None))
            }
            Format::Arrow => Ok((choices.probe_arrow(shown).map_err(at)?, None)),
            _ => Ok((guess, None)),
        }
    }

    fn into_input<K: Known>(
        self,
        guess: K::Guess,
        options: K::Options,
        parquet: Option<File>,
    ) -> Input<K> {
        let start = Cursor::new(self.head).chain(Pause(self.pauses));
        Input {
            path: self.path,
            guess,
            options,
            len: self.len,
            bytes_read: self.bytes_read,
            is_stream: self.kind == Kind::Stream,
            content: match parquet {
                Some(file) => Content::Parquet(file),
                None => Content::Stream(Box::new(start.chain(self.rest))),
            },
        }
    }

    /// Keeps what can be read only once for a later call.
    fn park(self) {
        if matches!(self.kind, Kind::Stream | Kind::Redirected) {
            PARKED.lock().unwrap_or_else(PoisonError::into_inner).push(self);
        }
    }
}

/// Returns what choices about edges say about the vertices beside them: what their ids are.
pub(crate) fn of_vertices(choices: &InputChoices) -> InputChoices {
    let format = Some(Format::GraphalyticsVertices);
    InputChoices { format, ids: choices.ids, ..InputChoices::default() }
}

/// Returns whether the name or the caller says that the bytes are pairs of integers, which may look
/// like anything.
fn is_pairs(name: &str, choices: &InputChoices) -> bool {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    choices.format.or_else(|| Format::from_ending(ending)) == Some(Format::Binary)
}

/// Returns what tells a file from another that has the same path at another time.
fn identity(path: &Path) -> Option<(u64, u64)> {
    let metadata = match path.as_os_str() == STDIN {
        true => io::stdin().as_fd().try_clone_to_owned().and_then(|fd| File::from(fd).metadata()),
        false => path.metadata(),
    };
    metadata.ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

/// An archive that is read file by file.
struct OpenArchive {
    path: PathBuf,
    files: Arc<Mutex<Archive<Bytes>>>,
    /// The number of the file that follows the current one.
    next: usize,
    len: Option<u64>,
    bytes_read: Arc<AtomicU64>,
}

impl OpenArchive {
    fn new(path: &Path) -> Result<Self> {
        let (source, len) = open_source(path)?;
        let bytes_read = Arc::new(AtomicU64::new(0));
        let counted = Counted { source, bytes_read: Arc::clone(&bytes_read) };
        let bytes = decompress_file(&path.to_string_lossy(), counted);
        let bytes: Bytes = Box::new(bytes.map_err(|e| Error::file(path, e.into()))?);
        let files = Arc::new(Mutex::new(Archive::new(bytes)));
        Ok(Self { path: path.to_owned(), files, next: 0, len, bytes_read })
    }

    /// Returns whether the source is a file in it that is still to come.
    fn is_before(&self, source: &Source) -> bool {
        let is_later = |number| self.next <= number;
        self.path == source.path && source.member.as_ref().is_some_and(|m| is_later(m.number))
    }

    /// Goes to the file `number`, which messages call `shown`.
    fn go_to(&mut self, number: usize, shown: &Path, ingest: &IngestOptions) -> Result<()> {
        let at = |error| Error::file(shown, error);
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        while self.next <= number {
            ingest.check_stop()?;
            if files.next().map_err(at)?.is_none() {
                let ended = io::Error::new(io::ErrorKind::UnexpectedEof, "the archive has changed");
                return Err(at(ended.into()));
            }
            self.next += 1;
        }
        Ok(())
    }
}

/// The current file of an archive.
struct MemberReader(Arc<Mutex<Archive<Bytes>>>);

impl Read for MemberReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).read(buffer)
    }
}

/// Returns the names of the files in an archive, if `path` is a regular file that holds one.
///
/// # Errors
/// If the archive is damaged, or the ingest is to end. What cannot be opened is none: taking it in says
/// why.
pub(crate) fn names_in(path: &Path, ingest: &IngestOptions) -> Result<Option<Vec<String>>> {
    let name = path.to_string_lossy();
    if is_pairs(&name, &InputChoices::default()) || !path.is_file() {
        return Ok(None);
    }
    let Ok(mut bytes) = open_file(path).and_then(|file| decompress_file(&name, file)) else {
        return Ok(None);
    };
    let mut head = Vec::new();
    let read = bytes.by_ref().take(TAR_HEAD_BYTES).read_to_end(&mut head);
    if read.is_err() || !is_tar(&head) {
        return Ok(None);
    }
    let (mut files, mut names) = (Archive::new(Cursor::new(head).chain(bytes)), Vec::new());
    while let Some(name) = files.next().map_err(|e| Error::file(path, e))? {
        names.push(name);
        ingest.check_stop().map_err(|error| error.interrupted_in(path.to_owned()))?;
    }
    Ok(Some(names))
}

/// Opens `path`, or standard input for `-`; returns its decompressed bytes and its length.
fn open_bytes(
    path: &Path,
    bytes_read: &Arc<AtomicU64>,
    ingest: &IngestOptions,
) -> Result<(Bytes, Option<u64>, Kind)> {
    let at = |error: io::Error| Error::file(path, error.into());
    let name = path.to_string_lossy().into_owned();
    let count = |source| Counted { source, bytes_read: Arc::clone(bytes_read) };
    let start = |stream: io::Result<Stream>| -> Result<(Bytes, Option<u64>, Kind)> {
        Ok((Box::new(stream.map_err(at)?), None, Kind::Stream))
    };
    if is_named_pipe(path) {
        // Opening it waits for a writer.
        let (path, bytes_read) = (path.to_owned(), Arc::clone(bytes_read));
        let open = move || Ok(Counted { source: open_file(&path)?, bytes_read });
        return start(Stream::start(name, open, ingest.pauses()));
    }
    let (file, len) = open_source(path)?;
    let source = count(file);
    if len.is_none() {
        return start(Stream::start(name, || Ok(source), ingest.pauses()));
    }
    let kind = if path.as_os_str() == STDIN { Kind::Redirected } else { Kind::File };
    Ok((Box::new(decompress_file(&name, source).map_err(at)?), len, kind))
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

/// Reads the beginning of a file; of a stream at least what `decides`, if it has that. Returns whether
/// the stream paused after it, too.
fn read_head(
    content: &mut Bytes,
    stop: &AtomicBool,
    decides: impl Fn(&[u8]) -> bool,
) -> io::Result<(Vec<u8>, bool)> {
    let mut head = Vec::with_capacity(HEAD_BYTES);
    loop {
        let missing = (HEAD_BYTES - head.len()) as u64;
        match content.by_ref().take(missing).read_to_end(&mut head) {
            Ok(_) => return Ok((head, false)),
            Err(error) if error.kind() != io::ErrorKind::WouldBlock || stop.load(Relaxed) => {
                return Err(error);
            }
            Err(_) if decides(&head) => return Ok((head, true)),
            Err(_) => {}
        }
    }
}

/// Opens `path` once more, since Parquet is read from its end.
fn open_parquet<K: Known>(path: &Path, kind: Kind, choices: &K) -> Result<(K::Guess, File)> {
    let shown = path.display();
    match kind {
        Kind::File => {}
        Kind::Redirected | Kind::Stream => {
            let what = "Parquet is read from its end: name a file, not a pipe or `-`";
            return Err(Error::invalid(format!("`{shown}`: {what}")));
        }
        Kind::Member => {
            let what = "Parquet is not read from an archive: extract it";
            return Err(Error::invalid(format!("`{shown}`: {what}")));
        }
    }
    let (file, _) = open_source(path)?;
    let guess = file.try_clone().map_err(|e| Error::io(path, "open", e))?;
    let guess = choices.probe_parquet(guess).map_err(|e| Error::file(path, e))?;
    Ok((guess, file))
}

/// An input that pauses, read without its pauses until the ingest is to end.
struct Patient<R> {
    input: R,
    stop: Arc<AtomicBool>,
}

impl<R: Read> Read for Patient<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.input.read(buffer) {
                Err(error)
                    if error.kind() == io::ErrorKind::WouldBlock && !self.stop.load(Relaxed) => {}
                other => return other,
            }
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
