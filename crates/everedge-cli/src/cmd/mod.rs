//! One command a file.

pub(crate) mod commit;
pub(crate) mod compact;
pub(crate) mod degree;
pub(crate) mod destination;
pub(crate) mod diff;
pub(crate) mod export;
pub(crate) mod generate;
pub(crate) mod ingest;
pub(crate) mod neighbors;
pub(crate) mod path;
pub(crate) mod run;
pub(crate) mod seal;
pub(crate) mod shell;
pub(crate) mod similar;
pub(crate) mod stats;
pub(crate) mod values;
pub(crate) mod verify;
pub(crate) mod versions;
pub(crate) mod window;

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::error::ErrorKind;
use everedge::{
    Chunks, ExternalId, Format, Graph, Kernel, Timeline, VersionChoice, VertexId, View,
};
use everedge_bench::{Medium, NewGraph, Words, parsed};

use crate::output::{Output, standard_output};

/// For what a sealed graph is opened.
#[derive(Clone, Copy)]
pub(crate) struct ForKernel {
    kernel: Kernel,
    /// The budget of memory, if one was given.
    memory: Option<u64>,
    /// Whether the kernel runs on a copy.
    on_copy: bool,
}

/// Returns a graph as it is, or a version: the newest, if the directory holds versions and none is asked for.
/// Of a sealed graph, the view for a kernel within a budget of memory.
pub(crate) fn open(
    path: &Path,
    at: Option<&VersionChoice>,
    chunks: Option<ForKernel>,
) -> anyhow::Result<View> {
    let is_sealed = Chunks::is_at(path)?;
    if chunks.is_some_and(|chunks| chunks.memory.is_some()) && !is_sealed {
        let path = path.display();
        let words = format!(
            "--memory is a budget for sealed graphs, and `{path}` is none: leave it out, or make one with `everedge seal {path} CHUNKS`\n"
        );
        return Err(clap::Error::raw(ErrorKind::ArgumentConflict, words).into());
    }
    if at.is_none() && is_sealed {
        let Some(ForKernel { kernel, memory, on_copy }) = chunks else {
            return Ok(Chunks::open(path, None)?.view(0)?);
        };
        let chunks = match on_copy {
            true => Chunks::open(path, memory)?,
            false => Chunks::open_for(path, memory, kernel)?,
        };
        return Ok(chunks.view_for(kernel)?);
    }
    if at.is_none() && !Timeline::is_at(path)? {
        return Ok(Graph::open_read_only(path)?.snapshot()?);
    }
    Ok(Timeline::open_read_only(path)?.at(at.unwrap_or(&VersionChoice::Newest))?)
}

/// Returns a graph as it is, or a version, for what takes no more memory than `kernel`.
fn open_for(path: &Path, at: Option<&VersionChoice>, kernel: Kernel) -> anyhow::Result<View> {
    open(path, at, Some(ForKernel { kernel, memory: None, on_copy: false }))
}

/// Writes lines to standard output, unless it is to be quiet.
fn lines(
    output: Output,
    write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> anyhow::Result<()> {
    if output.quiet {
        return Ok(());
    }
    let write = || {
        let mut out = BufWriter::new(standard_output()?.lock());
        write(&mut out).and_then(|()| out.flush())
    };
    write().context("cannot write to standard output")
}

/// Returns the id of a vertex as JSON has it.
fn named(view: &View, v: VertexId) -> serde_json::Value {
    match view.name_of(v) {
        ExternalId::Integer(id) => id.into(),
        ExternalId::Text(id) => id.into(),
    }
}

/// Refuses a file in the place of a graph and a directory in that of a file: the graph comes first.
fn check_order(graph: &Path, last: Option<&PathBuf>) -> Result<(), clap::Error> {
    let Some(last) = last.filter(|last| graph.is_file() && last.is_dir()) else { return Ok(()) };
    let (graph, last) = (graph.display(), last.display());
    let words =
        format!("`{graph}` is a file and `{last}` a directory, and the graph comes before files\n");
    Err(clap::Error::raw(ErrorKind::ArgumentConflict, words))
}

/// Reads the name of a kernel.
fn kernel() -> WordsOf<Kernel> {
    Words::new(Kernel::ALL.iter().map(|kernel| kernel.name()), |word| {
        parsed(word).map_err(|what| match Path::new(word).is_dir() {
            true => format!("`{word}` is a directory, and the kernel comes before the graph"),
            false => what,
        })
    })
}

/// What reads one of some words.
type WordsOf<T> = Words<fn(&str) -> Result<T, String>>;

/// Reads one of some words that the facade knows.
fn one_of<T>(words: impl IntoIterator<Item = &'static str>) -> WordsOf<T>
where
    T: std::str::FromStr<Err: std::fmt::Display>,
{
    Words::new(words, parsed::<T>)
}

/// Reads a number from 1 on.
fn positive(word: &str) -> Result<usize, String> {
    match word.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err("give a whole number from 1 on".to_owned()),
    }
}

/// A file format by name, or `auto` to look.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FormatChoice(pub Option<Format>);

/// Reads the word for a format.
fn format() -> WordsOf<FormatChoice> {
    one_of(["auto"].into_iter().chain(Format::ALL.map(Format::name)))
}

impl std::str::FromStr for FormatChoice {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        match (word, Format::from_name(word)) {
            ("auto", _) => Ok(Self(None)),
            (_, Some(format)) => Ok(Self(Some(format))),
            _ => {
                let names = Format::ALL.map(Format::name).join(", ");
                Err(format!("there are auto, {names}"))
            }
        }
    }
}
