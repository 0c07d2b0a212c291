//! What can go wrong with durable bytes, said in one line: what, where, what to do.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use rustix::io::Errno;

/// What holds a graph that this process has open.
pub(crate) const THIS_PROCESS: &str = "this process";

/// The result of a storage call.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of the storage crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused an operation on a file or directory.
    #[error("cannot {operation} `{}`: {source}{}", path.display(), way_out(source))]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// What was tried, as a verb: `open`, `sync`.
        operation: &'static str,
        /// What the operating system said.
        source: io::Error,
    },

    /// The file system, a quota or a limit of the process has no room. What was stored before stays
    /// as it was.
    #[error(
        "no space for `{}`: {needed_bytes} bytes needed, {available_bytes} available{lack}",
        path.display()
    )]
    NoSpace {
        /// The file that could not grow.
        path: PathBuf,
        /// How many more bytes the call needed.
        needed_bytes: u64,
        /// How many bytes there were for it; 0 if nobody says.
        available_bytes: u64,
        /// What there is too little of.
        lack: Lack,
    },

    /// Bytes on the medium are not what was written.
    #[error(
        "`{}` is damaged at offset {offset}: {what}: expected {expected}, found {found}; \
         run `everedge verify`",
        path.display()
    )]
    Corruption {
        /// The damaged file.
        path: PathBuf,
        /// Where in the file, in bytes.
        offset: u64,
        /// Which part is damaged.
        what: String,
        /// What should be there.
        expected: String,
        /// What is there.
        found: String,
    },

    /// A file has a format version that this build does not read.
    #[error(
        "`{}` has format version {found}, this build reads version {supported}; \
         use the everedge that wrote it",
        path.display()
    )]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The version that this build reads.
        supported: u32,
    },

    /// Another handle holds the graph's lock.
    #[error(
        "graph is in use by {holder}: `{}`; close it first{}",
        path.display(),
        who_has(path, holder)
    )]
    InUse {
        /// The graph's directory.
        path: PathBuf,
        /// Who holds it: `process 1234`, or `another process` if it left no trace.
        holder: String,
    },

    /// The path does not hold a graph.
    #[error("`{}` is not a graph: {what}", path.display())]
    NotAGraph {
        /// The path as given.
        path: PathBuf,
        /// What is missing or in the way.
        what: String,
    },

    /// The caller asked for what cannot be.
    #[error("{what}")]
    InvalidInput {
        /// What is wrong, where, and what to do.
        what: String,
    },

    /// An earlier sync failed, so what the medium holds is unknown until it is read again.
    #[error("the graph refuses writes since an earlier error ({first}); open it again")]
    Poisoned {
        /// The text of the first failure.
        first: String,
    },

    /// More was to be read than the caller has allowed.
    #[error(
        "the budget of reads is spent: {needed_bytes} bytes of `{}` are needed, {left_bytes} are \
         left; allow more",
        path.display()
    )]
    BudgetSpent {
        /// The file that was to be read.
        path: PathBuf,
        /// How many bytes were asked for.
        needed_bytes: u64,
        /// How many were left.
        left_bytes: u64,
    },

    /// A write in a child of the process that opened the graph.
    #[error(
        "this process was forked from the one that opened the graph, and only that one writes; \
         here the graph can be read; to write, open it here when the other process has closed it"
    )]
    Forked,

    /// A write through a handle that was opened for reading.
    #[error("`{}` was opened for reading; open it for writing", path.display())]
    ReadOnly {
        /// The graph's directory or the file in it.
        path: PathBuf,
    },
}

/// What there is too little of, and what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lack {
    /// Room on the file system, or in the user's quota.
    Disk,
    /// Memory or address space of the process.
    Memory,
    /// Bytes that the process may write to one file.
    FileSize,
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Lack::Disk => "; free some space or move the graph",
            Lack::Memory => {
                " of memory or address space; free some or raise the limit (`ulimit -v`)"
            }
            Lack::FileSize => " below the limit of a file's size; raise it (`ulimit -f`)",
        })
    }
}

impl Error {
    /// Returns the same damage once more, or another error as the first of many.
    #[must_use]
    pub fn again(&self) -> Self {
        match self {
            Self::Corruption { path, offset, what, expected, found } => Self::Corruption {
                path: path.clone(),
                offset: *offset,
                what: what.clone(),
                expected: expected.clone(),
                found: found.clone(),
            },
            Self::Poisoned { first } => Self::Poisoned { first: first.clone() },
            other => Self::Poisoned { first: other.to_string() },
        }
    }

    /// Returns the same error once more, for another one who waits for the same.
    #[must_use]
    pub fn same(&self) -> Self {
        match self {
            Self::Io { path, operation, source } => {
                let source = match source.raw_os_error() {
                    Some(errno) => io::Error::from_raw_os_error(errno),
                    None => io::Error::new(source.kind(), source.to_string()),
                };
                Self::Io { path: path.clone(), operation, source }
            }
            Self::NoSpace { path, needed_bytes, available_bytes, lack } => {
                let (needed_bytes, available_bytes) = (*needed_bytes, *available_bytes);
                Self::NoSpace { path: path.clone(), needed_bytes, available_bytes, lack: *lack }
            }
            Self::Version { path, found, supported } => {
                Self::Version { path: path.clone(), found: *found, supported: *supported }
            }
            Self::InUse { path, holder } => {
                Self::InUse { path: path.clone(), holder: holder.clone() }
            }
            Self::NotAGraph { path, what } => {
                Self::NotAGraph { path: path.clone(), what: what.clone() }
            }
            Self::InvalidInput { what } => Self::InvalidInput { what: what.clone() },
            Self::BudgetSpent { path, needed_bytes, left_bytes } => {
                let (needed_bytes, left_bytes) = (*needed_bytes, *left_bytes);
                Self::BudgetSpent { path: path.clone(), needed_bytes, left_bytes }
            }
            Self::Forked => Self::Forked,
            Self::ReadOnly { path } => Self::ReadOnly { path: path.clone() },
            Self::Corruption { .. } | Self::Poisoned { .. } => self.again(),
        }
    }

    /// Names the operation and the path that `errno` belongs to.
    pub fn io(path: &Path, operation: &'static str, errno: Errno) -> Error {
        Error::Io { path: path.to_path_buf(), operation, source: errno.into() }
    }

    /// Tells a lack of space from other refusals.
    pub fn refused(
        path: &Path,
        operation: &'static str,
        errno: Errno,
        needed_bytes: u64,
        available_bytes: u64,
    ) -> Error {
        let lack = match errno {
            Errno::NOSPC | Errno::DQUOT => Lack::Disk,
            Errno::FBIG => Lack::FileSize,
            errno => return Error::io(path, operation, errno),
        };
        Error::NoSpace { path: path.to_path_buf(), needed_bytes, available_bytes, lack }
    }

    /// Says in `what` which input is wrong and what to do.
    pub fn invalid(what: impl Into<String>) -> Error {
        Error::InvalidInput { what: what.into() }
    }
}

/// Says what to do about an error of the operating system where its own words do not.
pub fn way_out(source: &io::Error) -> &'static str {
    match Errno::from_io_error(source) {
        Some(Errno::MFILE) => "; raise the limit of open files (`ulimit -n`)",
        _ => "",
    }
}

/// Says how to find out who has a graph open, unless it is who asks.
fn who_has(path: &Path, holder: &str) -> String {
    match holder == THIS_PROCESS {
        true => ": another handle here has it, or a snapshot or transaction of one that is closed"
            .to_owned(),
        false => format!(" (`fuser -v {}` lists who has it open)", shell_word(path)),
    }
}

/// Returns a path as one word of a shell, in quotes only if it needs them.
fn shell_word(path: &Path) -> String {
    let path = path.to_string_lossy();
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+,:@%".contains(c);
    match path.chars().all(is_plain) {
        true => path.into_owned(),
        false => format!("'{}'", path.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_quoted_for_a_shell_only_if_it_needs_that() {
        let advice = |path: &str| {
            let error = Error::InUse { path: path.into(), holder: "another process".into() };
            let message = error.to_string();
            message.split_once('(').unwrap().1.to_owned()
        };
        let plain = "/data/graph-1.2_é";
        assert!(advice(plain).starts_with(&format!("`fuser -v {plain}` ")));
        for (path, word) in [("my graph", "'my graph'"), ("a'b", r"'a'\''b'"), ("$x", "'$x'")] {
            assert!(advice(path).starts_with(&format!("`fuser -v {word}` ")), "{path}");
        }
    }
}
