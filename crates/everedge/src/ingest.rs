//! Taking files in: chunks of edges become batches, acknowledged one after the other.
//!
//! The first edges of a regular file are held back until it is read to its end or 4 million are
//! there, so that a mistake in a file of usual size leaves the graph as it was. In a larger file
//! batches are acknowledged as they come, and an error says how many edges are in. A stream is
//! acknowledged from its first batch on: when it is full, or when a second has passed.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use everedge_core::VertexId;
use everedge_io::{Chunk, Format, Guess, Ids, InputChoices, ReadOptions, ReadSummary};
use everedge_io::{read_edges, read_parquet, read_vertices};
use everedge_live::{Changes, Totals};
use everedge_medium::MeterReading;
use serde::Serialize;

use crate::batcher::Batcher;
use crate::files::{Given, SkippedFile, Source, Sources, expand};
use crate::guessed::Guessed;
use crate::id_map::{chosen_as, read_as};
use crate::input::{Content, Input, Inputs, of_vertices};
use crate::run::peak_rss_bytes;
use crate::stream::Pauses;
use crate::taker::Taker;
use crate::{ChangeCounts, Done, Error, Graph, Result};

/// The longest and the shortest time that a stream waits for more before it pauses.
const PAUSE_MAX: Duration = Duration::from_millis(50);
const PAUSE_MIN: Duration = Duration::from_millis(1);
/// What comes before a pause has become edges in the next, and whether those have waited long enough is
/// looked at in each.
const PAUSES_BEHIND: u32 = 3;

/// Declared vertices of a batch.
const DECLARED_BATCH: usize = 1 << 16;

/// How files are taken in.
#[derive(Clone, Debug)]
pub struct IngestOptions {
    /// What is known of every file; what is left open is guessed.
    pub input: InputChoices,
    /// Deletes the edges instead of inserting them.
    pub delete: bool,
    /// Edges of a batch.
    pub batch: usize,
    /// Leaves self-loops out; their ends are vertices all the same.
    pub drop_self_loops: bool,
    /// Leaves out rows whose ids or weights are null; without, they are refused.
    pub skip_nulls: bool,
    /// Takes the nearest 32-bit number for a weight; without, a weight that it changes is refused.
    pub round_weights: bool,
    /// Leaves out weights that files declare, where the graph keeps none; without, they are refused.
    pub unweighted: bool,
    /// The longest time that an edge of a stream waits for its batch to fill.
    pub flush_every: Duration,
    /// Ends the ingest between two batches when it becomes true.
    pub stop: Arc<AtomicBool>,
}

impl Default for IngestOptions {
    fn default() -> Self {
        Self {
            input: InputChoices::default(),
            delete: false,
            batch: 1 << 16,
            drop_self_loops: false,
            skip_nulls: false,
            round_weights: false,
            unweighted: false,
            flush_every: Duration::from_secs(1),
            stop: Arc::default(),
        }
    }
}

impl IngestOptions {
    /// When a stream pauses.
    pub(crate) fn pauses(&self) -> Pauses {
        Pauses { every: self.pause(), stop: Arc::clone(&self.stop) }
    }

    fn pause(&self) -> Duration {
        (self.flush_every / PAUSES_BEHIND).clamp(PAUSE_MIN, PAUSE_MAX)
    }

    /// How long edges of a stream may wait from when they are there, so that none waits longer than
    /// `flush_every` from when it came.
    pub(crate) fn wait_max(&self) -> Duration {
        self.flush_every.saturating_sub(PAUSES_BEHIND * self.pause())
    }

    /// Returns an error if the ingest is to end.
    pub(crate) fn check_stop(&self) -> Result<()> {
        match self.stop.load(Relaxed) {
            true => Err(Error::Interrupted),
            false => Ok(()),
        }
    }
}

/// How far an ingest is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Which file, from 0.
    pub file: usize,
    /// Which path of the call gave it, from 0: a directory gives many files.
    pub given: usize,
    /// Bytes of it read.
    pub bytes_read: u64,
    /// Bytes that it has, if known.
    pub bytes_total: Option<u64>,
    /// Edges acknowledged, of all files.
    pub edges: u64,
}

/// What an ingest did. Serializes to the keys of `everedge ingest --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct IngestReport {
    /// Edges in the files.
    pub edges_read: u64,
    /// Edges that were inserted and not there already.
    pub edges_inserted: u64,
    /// Edges that were deleted.
    pub edges_deleted: u64,
    /// Deletions that found no edge.
    pub deletes_ignored: u64,
    /// Vertices of the graph afterwards.
    pub vertices: u64,
    /// Edges of the graph afterwards.
    pub edges: u64,
    /// Of a sealed graph, how many edges it has more and less than when it was sealed.
    #[serde(flatten)]
    pub changes: Option<ChangeCounts>,
    /// From the first edge read to the last batch acknowledged.
    pub seconds: f64,
    /// Edges read in a second.
    pub edges_per_second: f64,
    /// The most memory that this process has taken.
    pub peak_rss_bytes: u64,
    /// What the medium did, if that is counted.
    pub medium: Option<MediumReport>,
    /// Rows that were left out because they hold a null.
    pub rows_skipped: u64,
    /// Files of directories that were not taken in, and those of several without edges, and why.
    pub skipped_files: Vec<SkippedFile>,
    /// What was not said about the files and a new graph, and how it was decided.
    pub guessed: Guessed,
}

impl IngestReport {
    /// Returns the report if the graph was closed, too.
    ///
    /// # Errors
    /// [`Error::Unclosed`] says that all is done all the same, unless nothing is left of the graph.
    pub(crate) fn once_closed(self, closed: Result<()>, ingest: &IngestOptions) -> Result<Self> {
        let done = if ingest.delete { Done::Deleted } else { Done::Inserted };
        let unclosed = |source| match source {
            Error::Storage(everedge_live::Error::NotAGraph { .. }) => source,
            source => Error::Unclosed { edges: self.edges_read, done, source: Box::new(source) },
        };
        closed.map_err(unclosed)?;
        Ok(self)
    }
}

/// What a medium did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MediumReport {
    /// Bytes stored by the program.
    pub stored_bytes: u64,
    /// Bytes that the device reads, by the model of its buffer.
    pub media_read_bytes: u64,
    /// Bytes that the device writes, by the model of its buffer.
    pub media_written_bytes: u64,
    /// Fences.
    pub fences: u64,
}

impl Graph {
    /// Takes files and tables in, one after the other: a directory or an archive stands for its files, a pattern
    /// for what it matches, `-` for standard input. Of several files, some may have no edges. A Graphalytics file of edges brings the file of
    /// vertices beside it along, and may name no others. `progress` is called after each batch and ends the ingest
    /// when it returns false.
    ///
    /// # Errors
    /// `File` with the place in the file; `Partly` if batches of this call were acknowledged
    /// before it, or the first one may be there though a sync has failed.
    pub fn ingest<G: Clone + Into<Given>>(
        &self,
        files: &[G],
        options: &IngestOptions,
        progress: &mut (dyn FnMut(Progress) -> bool + Send),
    ) -> Result<IngestReport> {
        self.ingest_sources(&expand(files, options)?, options, progress)
    }

    pub(crate) fn ingest_sources(
        &self,
        sources: &Sources,
        options: &IngestOptions,
        progress: &mut (dyn FnMut(Progress) -> bool + Send),
    ) -> Result<IngestReport> {
        ingest_with(self, sources, options, progress, || {
            let Totals { vertex_count, edge_count, .. } = self.totals()?;
            Ok((self.changes()?, (vertex_count.into(), edge_count), self.meter()))
        })
    }
}

/// What was done since an opening, the number of vertices and of edges, and what the medium did.
type Standing = (Changes, (u64, u64), Option<MeterReading>);

/// Gives the edges of files to `taker`, and reports what that changed of what `standing` says.
///
/// # Errors
/// As [`Graph::ingest`].
pub(crate) fn ingest_with(
    taker: &dyn Taker,
    sources: &Sources,
    options: &IngestOptions,
    progress: &mut (dyn FnMut(Progress) -> bool + Send),
    standing: impl Fn() -> Result<Standing>,
) -> Result<IngestReport> {
    let (before, ..) = standing()?;
    let start = Instant::now();
    let taken = take_sources(taker, sources, options, progress)?;
    let seconds = start.elapsed().as_secs_f64();
    let (now, (vertices, edges), meter) = standing()?;
    let changes = now - before;
    let FromFiles { edges_read, rows_skipped, skipped_files, guessed, .. } = taken;
    Ok(IngestReport {
        edges_read,
        edges_inserted: changes.inserted,
        edges_deleted: changes.deleted,
        deletes_ignored: changes.ignored_deletions + taken.deletes_ignored,
        vertices,
        edges,
        changes: None,
        seconds,
        edges_per_second: edges_read as f64 / seconds.max(1e-9),
        peak_rss_bytes: peak_rss_bytes(),
        medium: meter.map(MediumReport::from),
        rows_skipped,
        skipped_files,
        guessed,
    })
}

impl From<MeterReading> for MediumReport {
    fn from(reading: MeterReading) -> Self {
        Self {
            stored_bytes: reading.stored_bytes,
            media_read_bytes: reading.media_read_bytes,
            media_written_bytes: reading.media_written_bytes,
            fences: reading.fences,
        }
    }
}

/// What was taken out of files.
pub(crate) struct FromFiles {
    pub edges_read: u64,
    /// Deletions that were left out, since no edge can have such ends.
    pub deletes_ignored: u64,
    pub rows_skipped: u64,
    pub skipped_files: Vec<SkippedFile>,
    pub guessed: Guessed,
}

/// Gives the edges of files to `taker`, one file after the other.
///
/// # Errors
/// As [`Graph::ingest`].
pub(crate) fn take_sources(
    taker: &dyn Taker,
    sources: &Sources,
    options: &IngestOptions,
    progress: &mut (dyn FnMut(Progress) -> bool + Send),
) -> Result<FromFiles> {
    let not_taken = sources.not_taken.clone();
    let vertices_beside = sources.brought.clone();
    let mut taken = Taken {
        progress,
        inputs: Inputs::new(options),
        edges_read: 0,
        edges_acknowledged: 0,
        deletes_ignored: 0,
        rows_skipped: 0,
        guessed: Guessed { not_taken, vertices_beside, ..Guessed::default() },
    };
    let (mut skipped_files, mut empty_count) = (sources.skipped.clone(), 0);
    for (number, source) in sources.files.iter().enumerate() {
        let outcome = match take_file(taker, number, source, options, &mut taken) {
            // Whoever writes a table in parts leaves some of them empty, but not all.
            Err(Error::File { path: file, source: everedge_io::Error::NoEdges })
                if empty_count + 1 < sources.files.len() =>
            {
                empty_count += 1;
                skipped_files.push(SkippedFile { file, why: SkippedFile::NO_EDGES });
                continue;
            }
            outcome => outcome,
        };
        outcome.map_err(|error| {
            let error = match error.interrupted_in(source.shown()) {
                error if taker.has_data() => error.for_fixed_ids(),
                error => error,
            };
            let done = if options.delete { Done::Deleted } else { Done::Inserted };
            match taken.edges_acknowledged {
                0 if !error.is_interruption() && !error.may_be_there() => error,
                edges => Error::Partly { edges, done, source: Box::new(error) },
            }
        })?;
    }
    let Taken { edges_read, deletes_ignored, rows_skipped, guessed, .. } = taken;
    Ok(FromFiles { edges_read, deletes_ignored, rows_skipped, skipped_files, guessed })
}

fn take_file(
    taker: &dyn Taker,
    number: usize,
    source: &Source,
    options: &IngestOptions,
    taken: &mut Taken,
) -> Result<()> {
    let ids = chosen_as(taker.options().ids);
    let choices = InputChoices { ids, ..options.input.clone() };
    let read_options = |path: &Path, guess: &Guess| read_options(taker, path, guess, options);
    let mut open =
        |source: &Source, choices: &InputChoices| taken.inputs.open(source, choices, read_options);
    let beside = source.beside().map(|source| open(&source, &of_vertices(&choices)));
    let beside = beside.transpose()?;
    let input = open(source, &choices)?;
    let (len, bytes_read) = (input.len, input.bytes_read.clone());
    let keeps_none = !taker.options().weighted && !options.delete && !options.unweighted;
    if keeps_none && input.guess.weighted == Some(true) {
        let path = input.path.display();
        return Err(Error::invalid(format!(
            "`{path}` has weights, and the graph keeps none: --unweighted leaves them out"
        )));
    }
    taken.guessed.add_file(&input.path, &input.guess, options, taker.options());
    let mut acknowledge = |edges| {
        taken.edges_acknowledged += edges;
        let edges = taken.edges_acknowledged;
        let bytes_read = bytes_read.load(Relaxed);
        let (file, given) = (number, source.given);
        let progress = Progress { file, given, bytes_read, bytes_total: len, edges };
        if (taken.progress)(progress) { options.check_stop() } else { Err(Error::Interrupted) }
    };
    let mut batcher = Batcher::new(taker, &input, options, &mut acknowledge);
    if let Some(vertices) = beside {
        let path = vertices.path.clone();
        read_into(&mut batcher, vertices)?;
        batcher.allow_only_declared(path);
    }
    let summary = read_into(&mut batcher, input)?;
    taken.deletes_ignored += batcher.finish()?;
    // A stream ends early too when the signal that ends the ingest has ended its writer.
    options.check_stop()?;
    if let Some(count) = summary.vertices.filter(|_| !options.delete) {
        add_declared_vertices(taker, count, options)?;
    }
    taken.edges_read += summary.edges;
    taken.rows_skipped += summary.skipped;
    Ok(())
}

/// Adds the vertices 1 to `count` that a format declares, a batch at a time.
fn add_declared_vertices(
    taker: &dyn Taker,
    count: VertexId,
    options: &IngestOptions,
) -> Result<()> {
    for first in (1..=count).step_by(DECLARED_BATCH) {
        options.check_stop()?;
        let last = count.min(first.saturating_add(DECLARED_BATCH as VertexId - 1));
        taker.add_vertices(&taker.vertices_of(Ids::Dense((first..=last).collect()))?)?;
    }
    Ok(())
}

/// Counts over all files of an ingest.
struct Taken<'a> {
    progress: &'a mut (dyn FnMut(Progress) -> bool + Send),
    inputs: Inputs<'a>,
    edges_read: u64,
    edges_acknowledged: u64,
    /// Deletions that were left out, since no edge can have such ends.
    deletes_ignored: u64,
    rows_skipped: u64,
    guessed: Guessed,
}

fn read_into(batcher: &mut Batcher<'_>, input: Input) -> Result<ReadSummary> {
    let read_options = input.options;
    let bytes_read = input.bytes_read;
    let mut take = |chunk: Chunk| batcher.take(chunk).map_err(Sink::Graph);
    let summary = match input.content {
        Content::Parquet(file) => read_parquet(file, &read_options, &mut take),
        Content::Table(table) => table.read_edges(&read_options, |chunk| {
            bytes_read.store(chunk.bytes_read, Relaxed);
            take(chunk)
        }),
        Content::Export(export) => {
            export.read_vertices(read_options.ids, &mut |ids| batcher.take_vertices(ids))?;
            return export.read_edges(&read_options, &mut |chunk| {
                bytes_read.store(chunk.bytes_read, Relaxed);
                batcher.take(chunk).map_err(Sink::Graph)
            });
        }
        Content::Stream(bytes) if read_options.format == Format::GraphalyticsVertices => {
            let add = |ids: Ids| batcher.take_vertices(ids).map_err(Sink::Graph);
            read_vertices(bytes, read_options.ids, add).map(|_| ReadSummary::default())
        }
        Content::Stream(bytes) => read_edges(bytes, &read_options, &mut take),
    };
    summary.map_err(|error| error.in_file(&input.path))
}

/// Returns how to read a file for a graph.
///
/// # Errors
/// `InvalidInput` if the graph keeps weights, and the file has none.
fn read_options(
    graph: &dyn Taker,
    path: &Path,
    guess: &Guess,
    options: &IngestOptions,
) -> Result<ReadOptions> {
    let weighted = graph.options().weighted && !options.delete;
    let names_weights = guess.format.has_columns() || guess.format.is_directory();
    if weighted && names_weights && guess.weight.is_none() {
        let path = path.display();
        return Err(Error::invalid(format!(
            "`{path}`: the graph keeps weights, and no column holds them; name it with --weight"
        )));
    }
    Ok(ReadOptions {
        weighted,
        ids: read_as(graph.options().ids),
        literal_ids: options.input.ids.is_exact(),
        round_weights: options.round_weights,
        skip_nulls: options.skip_nulls,
        ..guess.options()
    })
}

/// An error of reading, whose file is yet to be named, or of what takes the edges.
pub(crate) enum Sink {
    Read(everedge_io::Error),
    Graph(Error),
}

impl Sink {
    /// Names the file.
    pub(crate) fn in_file(self, path: &Path) -> Error {
        match self {
            Self::Read(error) => Error::file(path, error),
            Self::Graph(error) => error,
        }
    }
}

impl From<everedge_io::Error> for Sink {
    fn from(error: everedge_io::Error) -> Self {
        Self::Read(error)
    }
}
