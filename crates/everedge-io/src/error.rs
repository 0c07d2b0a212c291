//! What can be wrong with a file, and where in it.

use std::{fmt, io};

use crate::ids::{LARGE_IDS_HINT, ODD_IDS_HINT, TEXT_IDS_HINT};
use crate::{Compression, Format};

/// The result of this crate's functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a file was not read or written. The caller knows its name and adds it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bytes do not follow the format.
    #[error("{place}{what}{}", Hint(*hint))]
    Syntax {
        /// Where in the decompressed input.
        place: Place,
        /// What is wrong there.
        what: String,
        /// What the user could do about it.
        hint: Option<&'static str>,
    },
    /// The input holds no edge and declares no vertex.
    #[error("there are no edges in it")]
    NoEdges,
    /// The format cannot be read or written in the way that was asked.
    #[error("{format}: {what}")]
    Unsupported {
        /// The format.
        format: Format,
        /// What it cannot do, and what to do instead.
        what: &'static str,
    },
    /// An edge or a count that the format to be written cannot hold.
    #[error("cannot be written as {format}: {what}")]
    Unwritable {
        /// The format.
        format: Format,
        /// What does not fit, and what to do instead.
        what: String,
    },
    /// The compressed data ends before its end mark.
    #[error("the {compression} data is cut off: it ends at byte {offset}")]
    Truncated {
        /// How it is compressed.
        compression: Compression,
        /// The length of the compressed data.
        offset: u64,
    },
    /// The compressed data is damaged.
    #[error("the {compression} data is damaged near byte {offset}: {reason}")]
    Damaged {
        /// How it is compressed.
        compression: Compression,
        /// How many compressed bytes had been read.
        offset: u64,
        /// What the decompressor said.
        reason: String,
    },
    /// A generator's parameters are out of range.
    #[error("a generator needs {0}")]
    Generator(&'static str),
    /// Reading or writing failed.
    #[error(transparent)]
    Io(io::Error),
}

impl Error {
    /// Returns whether the input would be read if its ids were text.
    pub fn is_about_text_ids(&self) -> bool {
        matches!(self, Error::Syntax { hint: Some(TEXT_IDS_HINT | ODD_IDS_HINT), .. })
    }
}

impl Error {
    /// Makes advice about the kind of ids advice for a graph that has one already.
    #[must_use]
    pub fn for_fixed_ids(mut self) -> Self {
        if let Error::Syntax { hint: Some(hint), .. } = &mut self {
            *hint = match *hint {
                TEXT_IDS_HINT | ODD_IDS_HINT => {
                    "the graph keeps integers: text needs another graph, made with --ids text"
                }
                LARGE_IDS_HINT => {
                    "the graph keeps ids as they are: larger ones need another graph, made with \
                     --ids integer"
                }
                other => other,
            };
        }
        self
    }
}

impl From<io::Error> for Error {
    /// Takes out an error of this crate that a [`crate::Decompress`] has wrapped.
    fn from(error: io::Error) -> Self {
        error.downcast().unwrap_or_else(Error::Io)
    }
}

/// A position in the decompressed input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The input as a whole.
    Whole,
    /// A line of text, counted from 1.
    Line(u64),
    /// A byte, counted from 0.
    Offset(u64),
    /// A row of a table, counted from 1.
    Row(u64),
}

impl fmt::Display for Place {
    /// Writes the position as the start of a message: empty for the whole input.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Whole => Ok(()),
            Place::Line(line) => write!(f, "line {line}: "),
            Place::Offset(offset) => write!(f, "byte {offset}: "),
            Place::Row(row) => write!(f, "row {row}: "),
        }
    }
}

/// Writes a hint as the end of a message.
struct Hint(Option<&'static str>);

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |hint| write!(f, "; {hint}"))
    }
}

/// A syntax error inside a block whose place in the input only the reader knows.
#[derive(Debug)]
pub(crate) struct Fault {
    /// The offset in the block of the byte to blame.
    pub(crate) at: usize,
    pub(crate) what: String,
    pub(crate) hint: Option<&'static str>,
    /// Whether the record is whole but for a null, and can be left out.
    pub(crate) is_null: bool,
}

impl Fault {
    pub(crate) fn new(at: usize, what: impl Into<String>) -> Self {
        Self { at, what: what.into(), hint: None, is_null: false }
    }

    pub(crate) fn hint(self, hint: &'static str) -> Self {
        Self { hint: Some(hint), ..self }
    }

    /// Counts `at` from `base` bytes earlier.
    pub(crate) fn after(self, base: usize) -> Self {
        Self { at: self.at + base, ..self }
    }

    pub(crate) fn into_error(self, place: Place) -> Error {
        Error::Syntax { place, what: self.what, hint: self.hint }
    }
}

/// Shows the start of a piece of a file inside a message, on one line and never raw bytes.
pub(crate) fn quote(bytes: &[u8]) -> String {
    const SHOWN_BYTES: usize = 40;
    let cut = if bytes.len() > SHOWN_BYTES { "…" } else { "" };
    let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN_BYTES)]);
    format!("\"{}{cut}\"", shown.escape_debug())
}
