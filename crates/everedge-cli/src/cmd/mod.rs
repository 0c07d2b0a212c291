//! One command a file.

pub(crate) mod commit;
pub(crate) mod compact;
pub(crate) mod diff;
pub(crate) mod export;
pub(crate) mod generate;
pub(crate) mod ingest;
pub(crate) mod run;
pub(crate) mod seal;
pub(crate) mod stats;
pub(crate) mod values;
pub(crate) mod verify;
pub(crate) mod versions;
pub(crate) mod window;

use std::path::Path;

use everedge::{Chunks, Format, Graph, Kernel, Timeline, VersionChoice, View};
use everedge_bench::{Medium, NewGraph, parsed};

/// Returns a graph as it is, or a version: the newest, if the directory holds versions and none is asked for.
/// Of a sealed graph, the view for a kernel within a budget of memory.
fn open(
    path: &Path,
    at: Option<&VersionChoice>,
    chunks: Option<(Kernel, Option<u64>)>,
) -> everedge::Result<View> {
    if at.is_none() && Chunks::is_at(path)? {
        return match chunks {
            Some((kernel, memory)) => Chunks::open(path, memory)?.view_for(kernel),
            None => Chunks::open(path, None)?.view(0),
        };
    }
    if at.is_none() && !Timeline::is_at(path)? {
        return Graph::open_read_only(path)?.snapshot();
    }
    Timeline::open_read_only(path)?.at(at.unwrap_or(&VersionChoice::Newest))
}

/// Reads the name of a kernel.
fn kernel(word: &str) -> Result<Kernel, String> {
    parsed(word).map_err(|what| match Path::new(word).is_dir() {
        true => format!("`{word}` is a directory, and the kernel comes before the graph"),
        false => what,
    })
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
