//! New graphs, as their first files suggest, and calls that open, ingest and close.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use everedge_io::{Format, Guess, IdChoice, InputChoices};
use everedge_live::IdKind;
use everedge_medium::{MANIFEST, MediumKind, Volume};

use crate::files::{Given, Source, Sources, expand};
use crate::graph::resolved;
use crate::guessed::Guessed;
use crate::id_map::{kind_beside, widest};
use crate::input::{Inputs, STDIN, of_vertices};
use crate::{
    Chosen, Chunks, Error, Graph, GraphOptions, IngestOptions, IngestReport, Progress, Result,
};

/// What the caller of [`Graph::create_for`] leaves to the first files, and what not.
#[derive(Clone, Copy, Debug, Default)]
pub struct Choices {
    /// The direction of edges was chosen.
    pub directed_fixed: bool,
    /// Whether there are weights was chosen.
    pub weighted_fixed: bool,
    /// Counts what the medium does.
    pub meter: bool,
}

/// A graph to take files into, which is made if it is not there.
pub struct Target<'a> {
    /// The directory of the graph.
    pub path: &'a Path,
    /// How a new graph is made, and a graph that is there must have been made.
    pub chosen: &'a Chosen,
    /// What the files may decide about a new graph.
    pub choices: Choices,
}

impl Graph {
    /// Creates a graph at `path`, where nothing or an empty directory is, as
    /// `options` say and the files suggest: a format that is undirected makes an undirected
    /// graph, and files that all declare weights a weighted one, unless that is fixed; ids that are
    /// strings or sparse go through the id map unless `ingest` says what they are.
    ///
    /// # Errors
    /// If a graph is there, it cannot be created, a file cannot be opened, or there is no graph to delete from; nothing
    /// is created then.
    pub fn create_for<G: Clone + Into<Given>>(
        path: &Path,
        options: &GraphOptions,
        choices: Choices,
        files: &[G],
        ingest: &IngestOptions,
    ) -> Result<Self> {
        let sources = expand(files, ingest)?;
        Self::create_guessed(path, options, choices, &sources, ingest).map(|(graph, _)| graph)
    }

    /// Opens or creates a graph, takes files in, puts its lists in order as a pause of the writers does,
    /// and closes it: whoever opens it to read comes before the first pause. A new graph that the files leave
    /// empty, for an error or because they hold nothing, is removed again. A sealed graph takes them as changes
    /// ([`Chunks::ingest_into`]).
    ///
    /// # Errors
    /// As [`Self::open`], [`Self::create_for`] and [`Self::ingest`], and if the graph is there and was made with
    /// other options than the caller expects.
    pub fn ingest_into(
        target: &Target<'_>,
        files: &[PathBuf],
        ingest: &IngestOptions,
        progress: &mut (dyn FnMut(Progress) -> bool + Send),
    ) -> Result<IngestReport> {
        let Target { path, chosen, choices } = target;
        let path = &*resolved(path);
        if Self::is_there(path)? && Chunks::is_at(path)? {
            return Chunks::ingest_into(path, (chosen, *choices), files, ingest, progress);
        }
        let sources = expand(files, ingest)?;
        if Self::is_there(path)? {
            let graph = Self::open(path, choices.meter)?;
            let outcome = graph
                .check_chosen(chosen, ingest.input.ids)
                .and_then(|()| graph.ingest_sources(&sources, ingest, progress))
                .inspect(|_| graph.put_in_order(|| ingest.check_stop().is_err()));
            return graph.close_after(outcome, ingest);
        }
        let had_directory = path.exists();
        let options = chosen.options()?;
        let (graph, guessed) = Self::create_guessed(path, &options, *choices, &sources, ingest)?;
        let is_integer = graph.options().ids == IdKind::Integer;
        let outcome = graph.ingest_sources(&sources, ingest, progress);
        let outcome = outcome.inspect(|_| graph.put_in_order(|| ingest.check_stop().is_err()));
        let is_empty = graph.is_empty();
        let ended = graph.close_new(path, had_directory);
        let outcome = match outcome {
            // The graph was taken away again: nothing of it may be there.
            Err(Error::Partly { edges: 0, source, .. })
                if source.may_be_there() && !Self::is_there(path)? =>
            {
                Err(*source)
            }
            outcome => outcome.and_then(|report| report.once_closed(ended, ingest)),
        };
        let is_mapped = ingest.input.ids == IdChoice::Mapped && is_integer && is_empty;
        if is_mapped && outcome.as_ref().is_err_and(is_about_text_ids) && can_read_again(files) {
            // The first ids were integers, a later one is not: text holds both.
            let mut ingest = ingest.clone();
            ingest.input.ids = IdChoice::Text;
            return Self::ingest_into(target, files, &ingest, progress);
        }
        let mut report = outcome?;
        let Guessed { ids, directed, weighted, .. } = guessed;
        report.guessed = Guessed { ids, directed, weighted, ..report.guessed };
        Ok(report)
    }

    /// Creates a graph as its first files suggest. Returns what was guessed too.
    fn create_guessed(
        path: &Path,
        options: &GraphOptions,
        choices: Choices,
        sources: &Sources,
        ingest: &IngestOptions,
    ) -> Result<(Self, Guessed)> {
        if ingest.delete {
            let path = path.display();
            return Err(Error::invalid(format!("there is no graph at `{path}` to delete from")));
        }
        let (options, guessed) = suggest(options, choices, sources, ingest)?;
        Ok((Self::create(path, &options, choices.meter)?, guessed))
    }

    /// Closes a graph that was created at `path`, and removes it if it holds nothing; `had_directory`
    /// says that an empty directory was there before, and is to be there again. A graph in memory has
    /// nothing at its path.
    ///
    /// # Errors
    /// As [`Self::close`] and [`Self::remove`].
    pub fn close_new(self, path: &Path, had_directory: bool) -> Result<()> {
        let is_left = self.is_empty() && self.options().medium != MediumKind::Dram;
        let closed = self.close();
        if is_left && path.exists() {
            Self::remove(path)?;
            if had_directory {
                std::fs::create_dir_all(path).map_err(|e| Error::io(path, "create", e))?;
            }
        }
        closed
    }

    fn is_empty(&self) -> bool {
        self.totals().is_ok_and(|totals| totals.vertex_count == 0)
    }

    /// Closes the graph after files were taken in; what went wrong with them counts more than an error of closing.
    fn close_after(
        self,
        outcome: Result<IngestReport>,
        ingest: &IngestOptions,
    ) -> Result<IngestReport> {
        let closed = self.close();
        outcome?.once_closed(closed, ingest)
    }

    /// Checks that the graph was made with what was chosen, and that its ids are of that kind.
    ///
    /// # Errors
    /// `InvalidInput` names the options that differ.
    pub fn check_chosen(&self, chosen: &Chosen, ids: IdChoice) -> Result<()> {
        let found = self.options();
        let ids = kind_beside(ids, found.ids);
        if !chosen.has("layout") {
            chosen.check_layout(found)?;
        }
        check_alike(found, &GraphOptions { ids, ..chosen.apply(found.clone()) })
    }

    /// Returns whether there is a graph, or something else that would be opened as one. Nothing, an empty
    /// directory and what an interrupted creation has left are none.
    ///
    /// # Errors
    /// `InvalidInput` if there is a graph that has lost its manifest; `Io` if the operating system does not say
    /// what there is.
    pub fn is_there(path: &Path) -> Result<bool> {
        let path = &*resolved(path);
        let is_empty = || path.read_dir().is_ok_and(|mut entries| entries.next().is_none());
        let exists = path.try_exists().map_err(|error| Error::io(path, "examine", error))?;
        if !exists || is_empty() || Volume::is_unfinished(path) {
            return Ok(false);
        }
        if Self::has_lost_manifest(path) {
            let path = path.display();
            return Err(Error::invalid(format!(
                "`{path}` holds a graph without its `{MANIFEST}`; put that back from a copy: nothing \
                 else says what the other files are"
            )));
        }
        Ok(true)
    }
}

/// Returns the options of a new graph for some files, and what was guessed.
///
/// # Errors
/// If a file cannot be read, or some have weights and others none.
pub(crate) fn suggest(
    options: &GraphOptions,
    choices: Choices,
    sources: &Sources,
    ingest: &IngestOptions,
) -> Result<(GraphOptions, Guessed)> {
    let (mut inputs, mut guesses) = (Inputs::new(ingest), Vec::new());
    let mut guess = |source: &Source, choices: &InputChoices| {
        let guess = ingest.check_stop().and_then(|()| inputs.guess(source, choices));
        guess.map_err(|error| error.interrupted_in(source.shown()))
    };
    for source in &sources.files {
        guesses.push(guess(source, &ingest.input)?);
        if let Some(vertices) = source.beside() {
            guesses.push(guess(&vertices, &of_vertices(&ingest.input))?);
        }
    }
    let options = suggested(options, choices, &guesses, ingest);
    if !choices.weighted_fixed && !options.weighted {
        refuse_mixed_weights(&sources.files, &guesses)?;
    }
    let guessed = Guessed::of_graph(&options, choices, ingest);
    Ok((options, guessed))
}

/// Returns the options of a new graph for files like these.
fn suggested(
    options: &GraphOptions,
    choices: Choices,
    guesses: &[Guess],
    ingest: &IngestOptions,
) -> GraphOptions {
    let mut options = options.clone();
    let of_edges = || guesses.iter().filter(|guess| guess.format != Format::GraphalyticsVertices);
    if !choices.directed_fixed {
        let is_undirected = of_edges().any(|guess| guess.directed == Some(false))
            && !of_edges().any(|guess| guess.directed == Some(true));
        options.directed &= !is_undirected;
    }
    if !choices.weighted_fixed {
        // An empty file says nothing.
        let is_empty = |guess: &Guess| guess.format.has_columns() && guess.columns.is_empty();
        let mut declared = of_edges().filter(|guess| !is_empty(guess)).peekable();
        options.weighted |=
            declared.peek().is_some() && declared.all(|guess| guess.weighted == Some(true));
        options.weighted |= ingest.input.weight.is_some();
    }
    options.ids = widest(guesses.iter().map(|guess| guess.ids), ingest.input.ids);
    options
}

/// Refuses files of which some have weights and others none: a graph keeps them for all edges or for none.
fn refuse_mixed_weights(files: &[Source], guesses: &[Guess]) -> Result<()> {
    let of_edges = guesses.iter().filter(|guess| guess.format != Format::GraphalyticsVertices);
    let has_weights = |(_, guess): &(&Source, &Guess)| guess.weighted == Some(true);
    let Some((file, _)) = files.iter().zip(of_edges).find(has_weights) else { return Ok(()) };
    Err(Error::invalid(format!(
        "`{}` has weights and another file has none: --unweighted leaves them out, or make a graph \
         of each kind",
        file.shown().display()
    )))
}

/// Checks that a graph was made with the options that the caller expects.
///
/// # Errors
/// `InvalidInput` names the options that differ.
pub(crate) fn check_alike(found: &GraphOptions, expected: &GraphOptions) -> Result<()> {
    let differences = differences(found, expected);
    if differences.is_empty() {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "the graph was made with {}; what it was made with cannot be changed: leave the option \
         out, or make another graph",
        differences.join(", ")
    )))
}

fn is_about_text_ids(error: &Error) -> bool {
    matches!(error, Error::File { source, .. } if source.is_about_text_ids())
}

/// Returns whether all are regular files, which can be read from the start again.
fn can_read_again(files: &[PathBuf]) -> bool {
    files.iter().all(|file| file.as_os_str() != STDIN && file.is_file())
}

/// Returns each option in which two graphs differ, as the first has it.
fn differences(found: &GraphOptions, expected: &GraphOptions) -> Vec<String> {
    if found.layout != expected.layout {
        // Their options are others, too.
        return vec![format!("layout \"{}\", not \"{}\"", found.layout, expected.layout)];
    }
    let mut differences = Vec::new();
    add_differences("", &found.to_json(), &expected.to_json(), &mut differences);
    differences
}

/// Returns a value of an option as a caller gives it.
fn as_given(value: &serde_json::Value) -> String {
    match value.as_str() {
        Some("pmem-emulated") => "\"pmem\" (emulated)".into(),
        _ => value.to_string(),
    }
}

fn add_differences(
    name: &str,
    found: &serde_json::Value,
    expected: &serde_json::Value,
    differences: &mut Vec<String>,
) {
    let (Some(found_fields), Some(expected_fields)) = (found.as_object(), expected.as_object())
    else {
        if found != expected {
            let [found, expected] = [found, expected].map(as_given);
            differences.push(format!("{name} {found}, not {expected}"));
        }
        return;
    };
    let null = serde_json::Value::Null;
    let keys: BTreeSet<&String> = found_fields.keys().chain(expected_fields.keys()).collect();
    for key in keys {
        let (found, expected) = (found_fields.get(key), expected_fields.get(key));
        add_differences(key, found.unwrap_or(&null), expected.unwrap_or(&null), differences);
    }
}
