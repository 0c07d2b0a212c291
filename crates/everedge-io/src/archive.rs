//! Tar archives with one graph in them, as the SuiteSparse Matrix Collection packs its matrices.
//!
//! Source: POSIX.1-2017, pax, "ustar Interchange Format"; the `tar` crate reads the headers. The
//! archive is read once from start to end: `cage3/cage3.mtx`, the file that is called as its
//! directory is, is the graph; beside it there may be others, with right-hand sides or names of
//! rows. A file without a directory is the graph too.

use std::io::{self, Read};
use std::path::Path;

use tar::Header;

use crate::{Error, Format, Place, Result};

const BLOCK_BYTES: usize = 512;
/// Where a header says that it is one.
const MAGIC_OFFSET: usize = 257;
const MAGIC: &[u8] = b"ustar";
/// Where the sum over a header stands, which counts as blanks in it.
const SUM: std::ops::Range<usize> = 148..156;
/// Names that an error lists.
const NAMES_SHOWN: usize = 5;

/// Returns whether decompressed bytes start a tar archive.
pub fn is_tar(head: &[u8]) -> bool {
    head.get(MAGIC_OFFSET..).is_some_and(|rest| rest.starts_with(MAGIC))
}

/// Finds the graph in a tar archive.
///
/// # Errors
/// [`Error::Syntax`] if there is none, or the archive is damaged; [`Error::Io`].
pub fn open_tar<R: Read>(mut input: R) -> Result<Entry<R>> {
    let mut names = Vec::new();
    while let Some((name, is_file, bytes)) = read_header(&mut input)? {
        if is_file && is_graph(&name) {
            return Ok(Entry { name, input, left: bytes });
        }
        if is_file {
            names.push(name);
        }
        let padded = bytes.next_multiple_of(BLOCK_BYTES as u64);
        let skipped = io::copy(&mut input.by_ref().take(padded), &mut io::sink())?;
        if skipped < padded {
            return Err(damaged("it is cut off"));
        }
    }
    let files = names.len();
    names.truncate(NAMES_SHOWN);
    let more = if files > names.len() { ", …" } else { "" };
    let what = format!(
        "none of the {files} files in this archive is called as its directory is: {}{more}",
        names.join(", ")
    );
    Err(Error::Syntax { place: Place::Whole, what, hint: Some("extract the one you mean") })
}

/// Returns the next file's name, whether it is an ordinary one, and its length; none at the end.
fn read_header(input: &mut impl Read) -> Result<Option<(String, bool, u64)>> {
    let mut header = Header::new_old();
    let mut block = Vec::with_capacity(BLOCK_BYTES);
    input.by_ref().take(BLOCK_BYTES as u64).read_to_end(&mut block)?;
    if block.is_empty() || block.iter().all(|byte| *byte == 0) {
        return Ok(None);
    }
    if block.len() < BLOCK_BYTES {
        return Err(damaged("it is cut off"));
    }
    header.as_mut_bytes().copy_from_slice(&block);
    let sum = |(at, &byte): (usize, &u8)| u32::from(if SUM.contains(&at) { b' ' } else { byte });
    let sum: u32 = block.iter().enumerate().map(sum).sum();
    if header.cksum().ok() != Some(sum) {
        return Err(damaged("the checksum of a header is wrong"));
    }
    let name = String::from_utf8_lossy(&header.path_bytes()).into_owned();
    let bytes = header.entry_size().map_err(|_| damaged("a length is no number"))?;
    Ok(Some((name, header.entry_type().is_file(), bytes)))
}

/// Returns whether a file in an archive is the graph, by its name.
fn is_graph(name: &str) -> bool {
    let path = Path::new(name);
    let ending = path.extension().and_then(|ending| ending.to_str());
    let directory = path.parent().and_then(Path::file_name);
    ending.and_then(Format::from_ending).is_some()
        && (directory.is_none() || directory == path.file_stem())
}

fn damaged(what: &str) -> Error {
    let what = format!("this is no whole tar archive: {what}");
    Error::Syntax { place: Place::Whole, what, hint: Some("is the file complete?") }
}

/// The graph in an archive, read as a file is; [`open_tar`] finds it.
#[derive(Debug)]
pub struct Entry<R> {
    name: String,
    input: R,
    left: u64,
}

impl<R> Entry<R> {
    /// Returns its name in the archive.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl<R: Read> Read for Entry<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        let wanted = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        if wanted == 0 {
            // What follows is read too, so that a compressed archive that is cut off is noticed.
            io::copy(&mut self.input, &mut io::sink())?;
            return Ok(0);
        }
        let count = self.input.read(&mut buffer[..wanted])?;
        self.left -= count as u64;
        if count == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, damaged("it is cut off")));
        }
        Ok(count)
    }
}
