//! Which files a call means: files, directories, patterns and archives; and tables in memory.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use everedge_io::{Format, RecordBatches, ending_of, first_of, graphs_of, is_graph_name};
use serde::Serialize;

use crate::export::vertices_beside;
use crate::hand_over::Export;
use crate::input::{STDIN, names_in};
use crate::output_file::compression_of;
use crate::{Error, IngestOptions, Result, path_text};

/// What a caller gives to be taken in.
#[derive(Clone, Debug)]
pub enum Given {
    /// A file, a directory, a pattern or an archive.
    Path(PathBuf),
    /// A table in memory, and what messages call it.
    Table(String, RecordBatches),
}

impl From<PathBuf> for Given {
    fn from(path: PathBuf) -> Self {
        Self::Path(path)
    }
}

/// A file to take in, or a table.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// Where it is, or what messages call a table.
    pub path: PathBuf,
    /// The rows of a table in memory.
    pub table: Option<RecordBatches>,
    /// What an export has written to a directory, if it is one.
    pub export: Option<Arc<Export>>,
    /// The file in the archive at `path` that is meant, if it is one.
    pub member: Option<Member>,
    /// The file of its vertices, if it is a Graphalytics file of edges that has one beside it.
    pub vertices: Option<PathBuf>,
    /// Which path of the call gave it, from 0.
    pub given: usize,
}

/// A file in an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    /// Which ordinary file of the archive it is, from 0.
    pub number: usize,
    pub name: String,
}

impl Source {
    /// A file that stands for itself, and that a path of the call gave.
    pub(crate) fn new(path: PathBuf, given: usize) -> Self {
        Self { path, table: None, export: None, member: None, vertices: None, given }
    }

    /// Returns the file of its vertices, if it has one beside it.
    pub(crate) fn beside(&self) -> Option<Self> {
        self.vertices.clone().map(|path| Self::new(path, self.given))
    }

    /// Returns the path as messages show it.
    pub(crate) fn shown(&self) -> PathBuf {
        match &self.member {
            Some(member) => self.path.join(&member.name),
            None => self.path.clone(),
        }
    }
}

/// The files of a call.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources {
    /// In the order in which they are taken in.
    pub files: Vec<Source>,
    /// For each archive of which some files are not taken in, their names.
    pub not_taken: Vec<(PathBuf, Vec<String>)>,
    /// Files of directories that are not taken in.
    pub skipped: Vec<SkippedFile>,
    /// Files of vertices that no path names, but that stand beside the edges that one names.
    pub brought: Vec<PathBuf>,
}

impl Sources {
    /// Joins each Graphalytics file of edges with the file of vertices beside it, if that is there.
    fn join_vertices(&mut self) {
        let is_file = |source: &Source| {
            source.member.is_none() && source.table.is_none() && source.export.is_none()
        };
        for source in self.files.iter_mut().filter(|source| is_file(source)) {
            source.vertices = vertices_of_edges(&source.path);
        }
        let joined: Vec<PathBuf> =
            self.files.iter().filter_map(|source| source.vertices.clone()).collect();
        let is_named = |path: &PathBuf| self.files.iter().any(|source| source.path == *path);
        self.brought = joined.iter().filter(|path| !is_named(path)).cloned().collect();
        self.files.retain(|source| !is_file(source) || !joined.contains(&source.path));
    }
}

/// Returns the file of vertices beside a Graphalytics file of edges, if `path` is such a file and it
/// is there.
fn vertices_of_edges(path: &Path) -> Option<PathBuf> {
    let (_, stem) = compression_of(path);
    let ending = stem.extension()?.to_str()?;
    let is_edges = Format::from_ending(ending) == Some(Format::Graphalytics);
    let beside = vertices_beside(path);
    (is_edges && beside.is_file()).then_some(beside)
}

/// A file of a directory that is not taken in, or one of several that has no edges.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SkippedFile {
    /// The file, which serializes as text: what is not UTF-8 in its name becomes U+FFFD.
    #[serde(serialize_with = "path_text::path")]
    pub file: PathBuf,
    /// Why it is not taken in.
    pub why: &'static str,
}

impl SkippedFile {
    /// Why one of several files is not taken in that has no edges.
    pub const NO_EDGES: &'static str = "there are no edges in it";
}

/// Returns the files that are given, in their order: a directory stands for the files in and below
/// it that are called as graphs are, but for links that lead back up, or for what an export has written; a pattern such as `part-*.csv` for what it matches, both sorted by
/// name; an archive for the files in it, in its order. Insertions take the file of vertices beside a
/// Graphalytics file of edges along.
///
/// # Errors
/// If a directory, a pattern or an archive gives no file, or cannot be read.
pub(crate) fn expand<G>(all_given: &[G], ingest: &IngestOptions) -> Result<Sources>
where
    G: Clone + Into<Given>,
{
    let mut sources = Sources::default();
    for (given, what) in all_given.iter().enumerate() {
        let path = match what.clone().into() {
            Given::Path(path) => path,
            Given::Table(name, rows) => {
                let source = Source::new(name.into(), given);
                sources.files.push(Source { table: Some(rows), ..source });
                continue;
            }
        };
        if path.is_dir()
            && let Some(export) = Export::find(&path, ingest.input.format)?
        {
            let source = Source::new(path, given);
            sources.files.push(Source { export: Some(Arc::new(export)), ..source });
            continue;
        }
        for path in expand_path(&path, &mut sources.skipped)? {
            match names_in(&path, ingest)? {
                Some(names) => add_archive(&path, given, names, &mut sources)?,
                None => sources.files.push(Source::new(path, given)),
            }
        }
    }
    let is_open = ingest.input.format.is_none_or(|format| format == Format::Graphalytics);
    if is_open && !ingest.delete {
        sources.join_vertices();
    }
    Ok(sources)
}

fn add_archive(path: &Path, given: usize, names: Vec<String>, sources: &mut Sources) -> Result<()> {
    let are_graphs = graphs_of(&names);
    if !are_graphs.contains(&true) {
        return Err(Error::invalid(format!(
            "none of the {} files in the archive `{}` has the ending of a format: {}; extract the \
             one that you mean",
            names.len(),
            path.display(),
            first_of(&names)
        )));
    }
    let mut not_taken = Vec::new();
    for (number, (name, is_graph)) in names.into_iter().zip(are_graphs).enumerate() {
        match is_graph {
            true => {
                let member = Some(Member { number, name });
                let source = Source::new(path.to_owned(), given);
                sources.files.push(Source { member, ..source });
            }
            false => not_taken.push(name),
        }
    }
    if !not_taken.is_empty() {
        sources.not_taken.push((path.to_owned(), not_taken));
    }
    Ok(())
}

/// Returns the files that a path stands for, archives among them.
fn expand_path(path: &Path, skipped: &mut Vec<SkippedFile>) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    if path.as_os_str() == STDIN {
        files.push(path.to_owned());
    } else if path.is_dir() {
        add_directory(path, &mut files, skipped)?;
    } else if path.exists() {
        files.push(path.to_owned());
    } else {
        add_matches(path, &mut files, skipped)?;
    }
    Ok(files)
}

fn add_directory(
    path: &Path,
    files: &mut Vec<PathBuf>,
    skipped: &mut Vec<SkippedFile>,
) -> Result<()> {
    let count = files.len();
    walk(path, &mut Vec::new(), files, skipped)?;
    if files.len() == count {
        let path = path.display();
        return Err(Error::invalid(format!(
            "the directory `{path}` holds no file with the ending of a format; name the files in it"
        )));
    }
    Ok(())
}

/// Adds the files in and below a directory; `above` are the directories on the way to it.
fn walk(
    path: &Path,
    above: &mut Vec<(u64, u64)>,
    files: &mut Vec<PathBuf>,
    skipped: &mut Vec<SkippedFile>,
) -> Result<()> {
    let found = path.metadata().map_err(|e| Error::io(path, "examine", e))?;
    let identity = (found.dev(), found.ino());
    if above.contains(&identity) {
        let why = "it links to a directory that it lies in";
        skipped.push(SkippedFile { file: path.to_owned(), why });
        return Ok(());
    }
    above.push(identity);
    let entries = path.read_dir().map_err(|e| Error::io(path, "read", e))?;
    let mut paths = Vec::new();
    for entry in entries {
        paths.push(entry.map_err(|e| Error::io(path, "read", e))?.path());
    }
    paths.sort_unstable();
    for path in paths {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        // Hidden files, and the marks that other programs leave beside their parts.
        if name.starts_with(['.', '_']) {
            continue;
        }
        if path.is_dir() {
            walk(&path, above, files, skipped)?;
        } else if has_format(&name) {
            files.push(path);
        } else {
            skipped.push(SkippedFile { file: path, why: why_skipped(&name) });
        }
    }
    above.pop();
    Ok(())
}

/// Returns whether a name is that of a graph or of an archive of them.
fn has_format(name: &str) -> bool {
    is_graph_name(name) || matches!(ending_of(name).as_str(), "tar" | "tgz")
}

/// Returns why a file of a directory is not taken in.
fn why_skipped(name: &str) -> &'static str {
    match Format::from_ending(&ending_of(name)) {
        Some(_) => "it is called as a text beside graphs is",
        None => "its ending names no format",
    }
}

fn add_matches(
    path: &Path,
    files: &mut Vec<PathBuf>,
    skipped: &mut Vec<SkippedFile>,
) -> Result<()> {
    let pattern = path.to_str().filter(|text| text.contains(['*', '?', '[']));
    let Some(pattern) = pattern else {
        // Opening it says what is wrong.
        files.push(path.to_owned());
        return Ok(());
    };
    // As in a shell, a star finds no hidden file.
    let options = glob::MatchOptions { require_literal_leading_dot: true, ..Default::default() };
    let matches = glob::glob_with(pattern, options)
        .map_err(|error| Error::invalid(format!("the pattern `{pattern}`: {error}")))?;
    let count = files.len();
    for found in matches {
        let found = found.map_err(|error| {
            let path = error.path().to_owned();
            Error::io(&path, "read", error.into())
        })?;
        match found.is_dir() {
            true => add_directory(&found, files, skipped)?,
            false => files.push(found),
        }
    }
    if files.len() == count {
        return Err(Error::invalid(format!("no file matches `{pattern}`")));
    }
    Ok(())
}
