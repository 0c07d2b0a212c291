//! tar archives, read from start to end, and which of their files are graphs.
//!
//! Source: POSIX.1-2017, pax, "ustar Interchange Format" and "pax Interchange Format"; GNU tar's manual,
//! "Basic Tar Format", for long names; the `tar` crate reads the headers.
//!
//! As a directory does, an archive stands for the files in it that have the ending of a format. Where
//! one is called as its directory is, as in the SuiteSparse Matrix Collection (`cage3/cage3.mtx`), it is
//! the graph, and the others of that directory are right-hand sides or names of rows.

use std::collections::HashSet;
use std::io::{self, Read};
use std::path::Path;

use tar::{EntryType, Header, PaxExtensions};

use crate::{Compression, Error, Format, Place, Result};

const BLOCK_BYTES: usize = 512;
/// Where a header says that it is one.
const MAGIC_OFFSET: usize = 257;
const MAGIC: &[u8] = b"ustar";
/// Where the sum over a header stands, which counts as blanks in it.
const SUM: std::ops::Range<usize> = 148..156;
/// The longest name, or list of attributes, that a file may have.
const NAME_BYTES_MAX: u64 = 1 << 16;
/// Texts beside graphs whose names may end as those of edge lists do.
const TEXTS: [&str; 8] =
    ["readme", "license", "licence", "copying", "changelog", "notice", "citation", "authors"];

/// Returns whether decompressed bytes start a tar archive.
pub fn is_tar(head: &[u8]) -> bool {
    head.get(MAGIC_OFFSET..).is_some_and(|rest| rest.starts_with(MAGIC))
}

/// Returns whether a file without its directory is called as graphs are: it has the ending of a
/// format, or is a part as Spark and Hadoop number them; it is not hidden, and is no readme.
///
/// # Example
/// ```
/// use everedge_io::is_graph_name;
/// assert!(is_graph_name("part-0.csv.gz") && is_graph_name("part-r-00000.gz"));
/// assert!(!is_graph_name("README.txt") && !is_graph_name("_SUCCESS") && !is_graph_name("a.png"));
/// ```
pub fn is_graph_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let (_, plain) = Compression::of_name(&name);
    let Some((stem, ending)) = plain.rsplit_once('.') else { return is_part(plain) };
    !name.starts_with(['.', '_']) && Format::from_ending(ending).is_some() && !TEXTS.contains(&stem)
}

/// Returns whether a name without endings is that of a part of a table: `part-00000`, `part-m-00007`.
fn is_part(name: &str) -> bool {
    let number = name.strip_prefix("part-").map(|rest| rest.trim_start_matches(['m', 'r', '-']));
    number.is_some_and(|number| number.starts_with(|letter: char| letter.is_ascii_digit()))
}

/// Returns which files of an archive are graphs, by their names in it.
pub fn graphs_of(names: &[String]) -> Vec<bool> {
    let graphs = || names.iter().filter(|name| is_path_of_graph(name));
    let with_own: HashSet<_> =
        graphs().filter(|name| is_called_as_directory(name)).map(|name| directory(name)).collect();
    let is_graph = |name: &String| {
        is_path_of_graph(name)
            && (is_called_as_directory(name) || !with_own.contains(&directory(name)))
    };
    names.iter().map(is_graph).collect()
}

fn directory(name: &str) -> Option<&Path> {
    Path::new(name).parent()
}

/// Returns whether a path is that of a graph: nothing on it is hidden.
fn is_path_of_graph(name: &str) -> bool {
    let path = Path::new(name);
    let parts = || path.iter().filter_map(|part| part.to_str());
    let is_hidden = |part: &str| part != "." && part != ".." && part.starts_with(['.', '_']);
    parts().next_back().is_some_and(is_graph_name) && !parts().any(is_hidden)
}

/// Returns whether a file is called as its directory is, but for its endings.
fn is_called_as_directory(name: &str) -> bool {
    let path = Path::new(name);
    let own = path.file_name().and_then(|own| own.to_str()).unwrap_or_default();
    let (_, plain) = Compression::of_name(own);
    let directory = path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
    directory.is_some() && directory == plain.rsplit_once('.').map(|(stem, _)| stem)
}

/// A tar archive that is read file by file.
///
/// It reads its current file, which [`next`](Self::next) chooses. What an input that pauses
/// ([`io::ErrorKind::WouldBlock`]) interrupts can be called again.
#[derive(Debug)]
pub struct Archive<R> {
    input: R,
    /// What was read of the next header.
    header: Vec<u8>,
    /// What is left of the current file.
    left: u64,
    /// Bytes after it that fill its last block.
    padding: u64,
    /// A name that stands before the header to which it belongs.
    long_name: Option<String>,
    /// A length that stands there, which counts in place of the header's own.
    long_size: Option<u64>,
    /// Whether something there says that the file is sparse.
    is_sparse: bool,
    /// The name being read, if the current file is one.
    meta: Option<(EntryType, Vec<u8>)>,
    at_end: bool,
}

impl<R: Read> Archive<R> {
    /// Starts before the first file.
    pub fn new(input: R) -> Self {
        Self {
            input,
            header: Vec::with_capacity(BLOCK_BYTES),
            left: 0,
            padding: 0,
            long_name: None,
            long_size: None,
            is_sparse: false,
            meta: None,
            at_end: false,
        }
    }

    /// Goes to the next ordinary file; returns its name, none at the end.
    ///
    /// # Errors
    /// [`Error::Syntax`] if the archive is damaged, or the file is sparse: what its holes are is not read;
    /// [`Error::Io`].
    #[expect(clippy::should_implement_trait, reason = "it is read between two calls")]
    pub fn next(&mut self) -> Result<Option<String>> {
        loop {
            self.read_meta()?;
            self.skip()?;
            if self.at_end || !self.fill_header()? {
                // What follows is read too, so that a compressed archive that is cut off is noticed.
                self.at_end = true;
                io::copy(&mut self.input, &mut io::sink())?;
                return Ok(None);
            }
            let header = parse_header(&self.header)?;
            self.header.clear();
            let kind = header.entry_type();
            if matches!(kind, EntryType::GNULongName | EntryType::XHeader) {
                self.enter(header.entry_size().map_err(|_| no_length())?)?;
                if self.left > NAME_BYTES_MAX {
                    return Err(damaged("a name is too long"));
                }
                self.meta = Some((kind, Vec::new()));
                continue;
            }
            // What stood before it is about this file and no other.
            let (name, size) = (self.long_name.take(), self.long_size.take());
            let is_sparse = std::mem::take(&mut self.is_sparse) || kind == EntryType::GNUSparse;
            let own = || String::from_utf8_lossy(&header.path_bytes()).into_owned();
            if is_sparse {
                return Err(sparse(&name.unwrap_or_else(own)));
            }
            self.enter(size.map_or_else(|| header.entry_size().map_err(|_| no_length()), Ok)?)?;
            if matches!(kind, EntryType::Regular | EntryType::Continuous) {
                return Ok(Some(name.unwrap_or_else(own)));
            }
        }
    }

    /// Starts the file of the header that was read.
    fn enter(&mut self, size: u64) -> Result<()> {
        let end = size.checked_next_multiple_of(BLOCK_BYTES as u64);
        let end = end.ok_or_else(|| damaged("a length is too large"))?;
        (self.left, self.padding) = (size, end - size);
        Ok(())
    }

    /// Reads the name that the current file is, if it is one.
    fn read_meta(&mut self) -> Result<()> {
        let Some((kind, mut bytes)) = self.meta.take() else { return Ok(()) };
        if let Err(error) = self.by_ref().read_to_end(&mut bytes) {
            self.meta = Some((kind, bytes));
            return Err(error.into());
        }
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if kind == EntryType::GNULongName {
            let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
            self.long_name = Some(text(&bytes[..end]));
            return Ok(());
        }
        for attribute in PaxExtensions::new(&bytes) {
            let attribute = attribute.map_err(|_| damaged("an attribute is no line"))?;
            let value = attribute.value_bytes();
            match attribute.key_bytes() {
                // Of a sparse file the path is that of a part.
                b"path" if !self.is_sparse => self.long_name = Some(text(value)),
                b"GNU.sparse.name" => self.long_name = Some(text(value)),
                b"size" => self.long_size = Some(text(value).parse().map_err(|_| no_length())?),
                _ => {}
            }
            self.is_sparse |= attribute.key_bytes().starts_with(b"GNU.sparse.");
        }
        Ok(())
    }

    /// Reads over what is left of the current file and its last block.
    fn skip(&mut self) -> Result<()> {
        let mut buffer = [0; 1 << 13];
        while self.left + self.padding > 0 {
            let wanted =
                buffer.len().min(usize::try_from(self.left + self.padding).unwrap_or(usize::MAX));
            let count = read_some(&mut self.input, &mut buffer[..wanted])? as u64;
            let of_file = count.min(self.left);
            self.left -= of_file;
            self.padding -= count - of_file;
        }
        Ok(())
    }

    /// Reads a header; returns whether there is one.
    fn fill_header(&mut self) -> Result<bool> {
        let missing = (BLOCK_BYTES - self.header.len()) as u64;
        self.input.by_ref().take(missing).read_to_end(&mut self.header)?;
        match self.header.len() {
            _ if self.header.iter().all(|byte| *byte == 0) => Ok(false),
            BLOCK_BYTES => Ok(true),
            _ => Err(damaged("it is cut off")),
        }
    }
}

impl<R: Read> Read for Archive<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        if wanted == 0 {
            return Ok(0);
        }
        let count = read_some(&mut self.input, &mut buffer[..wanted])?;
        self.left -= count as u64;
        Ok(count)
    }
}

/// Reads at least a byte.
fn read_some(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match input.read(buffer) {
            Ok(0) => {
                return Err(io::Error::new(io::ErrorKind::InvalidData, damaged("it is cut off")));
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

fn parse_header(block: &[u8]) -> Result<Header> {
    let mut header = Header::new_old();
    header.as_mut_bytes().copy_from_slice(block);
    let sum = |(at, &byte): (usize, &u8)| u32::from(if SUM.contains(&at) { b' ' } else { byte });
    let sum: u32 = block.iter().enumerate().map(sum).sum();
    if header.cksum().ok() != Some(sum) {
        return Err(damaged("the checksum of a header is wrong"));
    }
    Ok(header)
}

fn no_length() -> Error {
    damaged("a length is no number")
}

fn sparse(name: &str) -> Error {
    let what = format!("{name} in this archive is stored as a sparse file, which is not read");
    let hint = Some("write the archive without --sparse, or extract it");
    Error::Syntax { place: Place::Whole, what, hint }
}

fn damaged(what: &str) -> Error {
    let what = format!("this is no whole tar archive: {what}");
    Error::Syntax { place: Place::Whole, what, hint: Some("is the file complete?") }
}

/// The one graph of an archive that comes through a pipe, which cannot be looked through before it is
/// read.
///
/// # Errors
/// Reading fails at its end if the archive holds another graph.
#[derive(Debug)]
pub struct OnlyGraph<R> {
    archive: Archive<R>,
    /// The names of the files up to the current one.
    names: Vec<String>,
    /// Where in `names` the graph is.
    number: usize,
}

impl<R: Read> OnlyGraph<R> {
    /// Starts before the first file.
    pub fn new(input: R) -> Self {
        Self { archive: Archive::new(input), names: Vec::new(), number: 0 }
    }

    /// Goes to the first file that is the graph if it is the only one: it is called as its directory
    /// is, or has none. Returns its name. After a pause it can be called again.
    ///
    /// # Errors
    /// [`Error::Syntax`] if there is none, or the archive is damaged; [`Error::Io`].
    pub fn find(&mut self) -> Result<&str> {
        while let Some(name) = self.archive.next()? {
            let stands_alone = directory(&name).is_none_or(|path| path.as_os_str().is_empty());
            let is_it = is_path_of_graph(&name) && (stands_alone || is_called_as_directory(&name));
            self.names.push(name);
            if is_it {
                self.number = self.names.len() - 1;
                return Ok(&self.names[self.number]);
            }
        }
        let what = match list(&self.names, &graphs_of(&self.names)) {
            None => "this archive holds no file with the ending of a format".to_owned(),
            Some(graphs) => format!("which graph of this archive is meant is not clear: {graphs}"),
        };
        Err(Error::Syntax { place: Place::Whole, what, hint: Some(NAME_THE_FILE) })
    }

    /// Reads to the end of the archive, which must hold no other graph.
    fn check_rest(&mut self) -> Result<()> {
        while let Some(name) = self.archive.next()? {
            self.names.push(name);
        }
        let graphs = graphs_of(&self.names);
        if graphs.iter().filter(|is_graph| **is_graph).count() < 2 {
            return Ok(());
        }
        let all = list(&self.names, &graphs).unwrap_or_default();
        let name = &self.names[self.number];
        let what = format!("this archive holds several graphs, and only {name} was read: {all}");
        Err(Error::Syntax { place: Place::Whole, what, hint: Some(NAME_THE_FILE) })
    }
}

const NAME_THE_FILE: &str = "from a pipe one is read: write the archive to a file and name that";

/// Lists the first of those names that are chosen, if there are some.
fn list(names: &[String], are_chosen: &[bool]) -> Option<String> {
    let chosen = names.iter().zip(are_chosen).filter(|(_, is)| **is).map(|(name, _)| name.as_str());
    let chosen: Vec<&str> = chosen.collect();
    (!chosen.is_empty()).then(|| first_of(&chosen))
}

/// Lists the first of some names, and says how many more there are.
///
/// # Example
/// ```
/// assert_eq!(everedge_io::first_of(&["a", "b", "c", "d", "e", "f"]), "a, b, c, d, e and 1 more");
/// ```
pub fn first_of<T: AsRef<str>>(names: &[T]) -> String {
    const NAMES_SHOWN: usize = 5;
    let shown: Vec<&str> = names.iter().take(NAMES_SHOWN).map(AsRef::as_ref).collect();
    match names.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

impl<R: Read> Read for OnlyGraph<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.archive.read(buffer)?;
        if count == 0 && !buffer.is_empty() {
            self.check_rest().map_err(|error| match error {
                Error::Io(error) => error,
                error => io::Error::new(io::ErrorKind::InvalidData, error),
            })?;
        }
        Ok(count)
    }
}
