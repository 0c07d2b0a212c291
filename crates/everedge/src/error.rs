//! What can go wrong, in one line: what, where, what to do.

use std::io;
use std::path::{Path, PathBuf};

use everedge_core::VertexId;
use everedge_medium::way_out;

/// The result of a call of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call has no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The graph or its medium.
    #[error(transparent)]
    Storage(#[from] everedge_live::Error),

    /// The content of an input file, or of a file that was to be written.
    #[error("`{}`: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: everedge_io::Error,
    },

    /// A kernel's parameters or answer.
    #[error("{}", _0.what)]
    Kernel(KernelError),

    /// The operating system refused an operation.
    #[error("cannot {operation} `{}`: {source}{}", path.display(), advice(path, operation, source))]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried, as a verb.
        operation: &'static str,
        /// What the operating system said.
        source: io::Error,
    },

    /// The caller asked for what cannot be.
    #[error("{what}")]
    InvalidInput {
        /// What is wrong, where, and what to do.
        what: String,
    },

    /// An ingest ended early; what was acknowledged before stays. Of one that has acknowledged nothing, what failed may be there.
    #[error("{source}; {}", standing(*edges, *done, source))]
    Partly {
        /// How many edges were acknowledged, or updates.
        edges: u64,
        /// What was done with them.
        done: Done,
        /// Why it ended.
        source: Box<Error>,
    },

    /// An ingest is done, and the graph could not be closed; what was acknowledged stays, which is all of it.
    #[error("{source}; {}", all_acknowledged(*edges, *done))]
    Unclosed {
        /// How many edges were acknowledged.
        edges: u64,
        /// What was done with them.
        done: Done,
        /// Why it could not be closed.
        source: Box<Error>,
    },

    /// Another writer came between the beginning of a transaction and its commit.
    #[error(
        "another writer has changed the edge {src} -> {dst} since the transaction began: nothing of the \
         transaction is in the graph; begin it anew"
    )]
    Conflict {
        /// The source of an edge that is not as the transaction saw it, by its name.
        src: String,
        /// The destination.
        dst: String,
    },

    /// A version could not be made durable.
    #[error("{source}; the version may be there: look before you commit again")]
    PerhapsCommitted {
        /// Why.
        source: Box<Error>,
    },

    /// A version was committed, but older ones were not let go.
    #[error("version {version} is committed, but older ones were not let go: {source}")]
    Committed {
        /// Its number.
        version: u64,
        /// Why.
        source: Box<Error>,
    },

    /// A sealing failed at its end, and what it had written could not be taken away.
    #[error(
        "{source}; `{}` may hold the sealed graph, and a power loss may take it away again: remove the directory, and seal anew",
        path.display()
    )]
    PerhapsSealed {
        /// The directory.
        path: PathBuf,
        /// Why.
        source: Box<Error>,
    },

    /// The progress callback asked to stop, or a watch was cancelled.
    #[error("interrupted")]
    Interrupted,

    /// As [`Self::Interrupted`], while a file was taken in.
    #[error("interrupted in `{}`", path.display())]
    InterruptedIn {
        /// The file.
        path: PathBuf,
    },
}

/// The verb for a new file.
const CREATE: &str = "create";

/// Says what to do after the operating system refused an operation, if that is known.
fn advice(path: &Path, operation: &str, source: &io::Error) -> String {
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
    match directory {
        Some(directory) if operation == CREATE && source.kind() == io::ErrorKind::NotFound => {
            format!("; make the directory `{}` first", directory.display())
        }
        _ => way_out(source).to_owned(),
    }
}

/// What an ingest does with edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// They are in the graph.
    Inserted,
    /// They are gone from it.
    Deleted,
    /// They are updates, and in versions.
    Committed,
}

/// Says what of an ingest was acknowledged before it ended.
fn acknowledged(edges: u64, done: Done) -> String {
    match (edges, done) {
        (0, Done::Inserted) => "no edge of it is in the graph".to_owned(),
        (0, Done::Deleted) => "nothing was deleted".to_owned(),
        (0, Done::Committed) => "no version of it was made".to_owned(),
        (1, Done::Inserted) => "the edge before it is in the graph".to_owned(),
        (1, Done::Deleted) => "the deletion before it is done".to_owned(),
        (1, Done::Committed) => "the update before it is in a version".to_owned(),
        (edges, Done::Inserted) => format!("the {edges} edges before it are in the graph"),
        (edges, Done::Deleted) => format!("the {edges} deletions before it are done"),
        (edges, Done::Committed) => format!("the {edges} updates before it are in versions"),
    }
}

/// Says that all of an ingest was acknowledged.
fn all_acknowledged(edges: u64, done: Done) -> String {
    match done {
        Done::Inserted => format!("all {edges} edges are in the graph: do not add them again"),
        Done::Deleted => format!("all {edges} deletions are done: do not repeat them"),
        Done::Committed => format!("all {edges} updates are in versions: do not repeat them"),
    }
}

/// Says what of an ingest is there that has ended with an error.
fn standing(edges: u64, done: Done, error: &Error) -> String {
    match (edges, done, error.may_be_there()) {
        (_, _, false) => acknowledged(edges, done),
        (0, Done::Inserted, true) => {
            "the first edges of it may be in the graph: look before you repeat it".to_owned()
        }
        (0, Done::Deleted, true) => {
            "the first deletions of it may be done: look before you repeat it".to_owned()
        }
        (0, Done::Committed, true) => {
            "a first version of it may be there: look before you repeat it".to_owned()
        }
        (_, _, true) => {
            let before = acknowledged(edges, done);
            format!("{before}, and what came next may be: look before you repeat it")
        }
    }
}

/// What a kernel refuses, or its verifier.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelError {
    /// What is wrong, with the names that the user gave the vertices.
    pub what: String,
    /// The same, in numbers of vertices.
    pub error: everedge_kernels::Error,
}

impl Error {
    /// Says what is wrong in the names that `name` gives vertices.
    pub(crate) fn kernel(
        error: everedge_kernels::Error,
        name: impl Fn(VertexId) -> String,
    ) -> Self {
        Self::Kernel(KernelError { what: error.in_names(name), error })
    }

    /// Returns whether the caller asked for the end.
    pub fn is_interruption(&self) -> bool {
        match self {
            Self::Interrupted | Self::InterruptedIn { .. } => true,
            Self::Partly { source, .. } | Self::PerhapsSealed { source, .. } => {
                source.is_interruption()
            }
            _ => false,
        }
    }

    /// Returns whether what failed may be there all the same: what was written of it may be whole.
    pub(crate) fn may_be_there(&self) -> bool {
        use everedge_live::Error::{Io, Poisoned};
        matches!(self, Self::Storage(Io { .. } | Poisoned { .. }))
    }

    /// Returns whether a kernel takes no weights as the graph has them.
    pub fn is_of_weights(&self) -> bool {
        use everedge_kernels::Error::BadWeight;
        matches!(self, Self::Kernel(KernelError { error: BadWeight { .. }, .. }))
    }

    /// Returns whether this says that a graph's files are damaged.
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Storage(everedge_live::Error::Corruption { .. }))
    }

    /// Returns what is damaged in a graph's files, if this says so.
    pub(crate) fn damage(&self) -> Option<String> {
        self.is_damage().then(|| without_advice(self.to_string()))
    }

    /// Names the file that an interruption came in.
    pub(crate) fn interrupted_in(self, path: PathBuf) -> Self {
        match self {
            Self::Interrupted => Self::InterruptedIn { path },
            other => other,
        }
    }

    /// Makes advice about the kind of ids advice for a graph that has one already.
    pub(crate) fn for_fixed_ids(self) -> Self {
        match self {
            Self::File { path, source } => Self::File { path, source: source.for_fixed_ids() },
            other => other,
        }
    }

    pub(crate) fn invalid(what: impl Into<String>) -> Self {
        Self::InvalidInput { what: what.into() }
    }

    pub(crate) fn io(path: &Path, operation: &'static str, source: io::Error) -> Self {
        Self::Io { path: path.to_owned(), operation, source }
    }

    pub(crate) fn file(path: &Path, source: everedge_io::Error) -> Self {
        match source {
            everedge_io::Error::Io(source) => Self::io(path, "read", source),
            source => Self::File { path: path.to_owned(), source },
        }
    }
}

/// Returns a message without the advice to verify, for who does.
pub(crate) fn without_advice(mut problem: String) -> String {
    const ADVICE: &str = "; run `everedge verify`";
    if problem.ends_with(ADVICE) {
        problem.truncate(problem.len() - ADVICE.len());
    }
    problem
}
