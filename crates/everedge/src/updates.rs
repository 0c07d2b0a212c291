//! Taking files of timed insertions and deletions in, a version for each stretch of them.

use std::fmt::Write;
use std::path::Path;
use std::str::FromStr;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use everedge_core::{VertexId, par};
use everedge_io::{Column, IdChoice, InputChoices, ReadOptions, date_text};
use everedge_io::{OperationChoice, TimeUnit, UpdateChoices, UpdateChunk, UpdateGuess};
use everedge_io::{UpdateOptions, read_parquet_updates, read_updates};
use everedge_timeline::Changes;
use serde::Serialize;

use crate::commit::now;
use crate::files::{Given, SkippedFile, Source, Sources, expand};
use crate::guessed::ColumnName;
use crate::id_map::{chosen_as, kind_beside, read_as, vertices_of, widest};
use crate::ingest::Sink;
use crate::input::{Content, Input, Inputs};
use crate::keep::Keep;
use crate::run::peak_rss_bytes;
use crate::{
    Chosen, Done, Error, Graph, IngestOptions, Progress, Result, Timeline, TimelineOptions,
};

const MICROSECONDS: i64 = 1_000_000;
/// Clocks of others are ahead by no more.
const DAY: i64 = 86_400 * MICROSECONDS;
/// Units of times, and the seconds of one.
const UNITS: [(char, i64); 5] = [('s', 1), ('m', 60), ('h', 3600), ('d', 86_400), ('w', 604_800)];

/// Where one version ends and the next one begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitEvery {
    /// After so many updates.
    Updates(u64),
    /// At each whole multiple of so many microseconds since 1970; a stretch without updates gets no version.
    Time(i64),
    /// Where the number of the step changes.
    Step,
}

impl FromStr for CommitEvery {
    type Err = Error;

    /// Reads a number of updates, a time such as `1d`, `12h`, `30m`, `90s` or `2w`, or `step`.
    fn from_str(word: &str) -> Result<Self> {
        let expected = || {
            Error::invalid(format!(
                "`{word}`: a number of updates, a time such as 1d, 12h, 30m, 90s or 2w, or step"
            ))
        };
        if word == "step" {
            return Ok(Self::Step);
        }
        if let Ok(count) = word.parse() {
            return if count > 0 { Ok(Self::Updates(count)) } else { Err(expected()) };
        }
        time_of(word).map(Self::Time).ok_or_else(expected)
    }
}

/// Returns the microseconds of a time such as `1d` that is not 0.
pub(crate) fn time_of(word: &str) -> Option<i64> {
    let (count, seconds) = UNITS.iter().find_map(|&(unit, seconds)| {
        Some((word.strip_suffix(unit)?.parse::<u32>().ok()?, seconds))
    })?;
    i64::from(count).checked_mul(seconds * MICROSECONDS).filter(|&time| time > 0)
}

/// How files of updates are taken in.
#[derive(Clone, Debug)]
pub struct UpdateIngest {
    /// Where versions end.
    pub every: CommitEvery,
    /// What is known of the files' edges, and which rows and weights are taken.
    pub edges: IngestOptions,
    /// The column of times, if it is known.
    pub time: Option<Column>,
    /// Where operations stand.
    pub operation: OperationChoice,
    /// The column of steps, if it is known.
    pub step: Option<Column>,
    /// What times count that are numbers, if it is known.
    pub unit: Option<TimeUnit>,
    /// Whether updates are sorted by time first: 40 bytes of memory for each.
    pub sort: bool,
    /// Whether an update that belongs to a stretch of time before the one it comes in counts as of the later one.
    pub allow_late: bool,
    /// Which versions stay afterwards, if not all.
    pub keep: Option<Keep>,
}

/// What an ingest of updates did. Serializes to the keys of `everedge ingest --commit-every … --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UpdateReport {
    /// Insertions in the files.
    pub insertions: u64,
    /// Deletions in the files.
    pub deletions: u64,
    /// Deletions that found no edge, and changed nothing.
    pub missed_deletions: u64,
    /// Updates that are earlier than one before them: they count as of its time.
    pub late_updates: u64,
    /// Versions that were added.
    pub versions_added: u64,
    /// Edges that these versions have and the ones before them have not, added up.
    pub edges_added: u64,
    /// Edges that went with these versions, added up.
    pub edges_deleted: u64,
    /// Versions of the timeline afterwards.
    pub versions: u64,
    /// Vertices of the newest one.
    pub vertices: u64,
    /// Edges of the newest one.
    pub edges: u64,
    /// From the first update read to the last version committed.
    pub seconds: f64,
    /// Updates read in a second.
    pub updates_per_second: f64,
    /// The most memory that this process has taken.
    pub peak_rss_bytes: u64,
    /// Rows that were left out because they hold a null.
    pub rows_skipped: u64,
    /// Files of directories that were not taken in, and why.
    pub skipped_files: Vec<SkippedFile>,
    /// How the first file was read.
    pub guessed: String,
}

impl Timeline {
    /// Opens the timeline at `path`, or creates it as was `chosen` and the files suggest, and takes files of
    /// updates in. A new timeline without versions is removed again. `progress` is called after some versions
    /// were committed and ends the ingest when it returns false.
    ///
    /// # Errors
    /// `File` with the place in the file; `Partly` if versions of this call were committed before it;
    /// `InvalidInput` if the timeline is there and was made with other options, or an update comes too late.
    pub fn ingest_into<G: Clone + Into<Given>>(
        path: &Path,
        chosen: &Chosen,
        files: &[G],
        ingest: &UpdateIngest,
        progress: &mut (dyn FnMut(Progress) -> bool + Send),
    ) -> Result<UpdateReport> {
        if ingest.edges.unweighted && ingest.edges.input.weight.is_some() {
            let what =
                "--weight names a column, and --unweighted leaves weights out: give one of them";
            return Err(Error::invalid(what));
        }
        Self::ingest_sources(path, chosen, &expand(files, &ingest.edges)?, ingest, progress)
    }

    fn ingest_sources(
        path: &Path,
        chosen: &Chosen,
        sources: &Sources,
        ingest: &UpdateIngest,
        progress: &mut (dyn FnMut(Progress) -> bool + Send),
    ) -> Result<UpdateReport> {
        let take = |timeline: &Self, progress: &mut (dyn FnMut(Progress) -> bool + Send)| {
            let report = timeline.ingest(&sources.files, ingest, progress)?;
            Ok(UpdateReport { skipped_files: sources.skipped.clone(), ..report })
        };
        if Graph::is_there(path)? {
            let timeline = Self::open(path, false)?;
            let options = timeline.options();
            let ids = kind_beside(ingest.edges.input.ids, options.ids);
            if options.choose(chosen)? != *options || ids != options.ids {
                let what = "the versions were made with other options, which cannot be changed: leave them \
                            out, or make another timeline";
                return Err(Error::invalid(what));
            }
            return take(&timeline, progress);
        }
        let options = TimelineOptions::default().choose(chosen)?;
        let (mut inputs, choices) =
            (Inputs::new(&ingest.edges), ingest.choices(ingest.edges.input.ids));
        let guess = |source| inputs.guess(source, &choices).map(|guess| guess.edges);
        let guesses = sources.files.iter().map(guess).collect::<Result<Vec<_>>>()?;
        let ids = widest(guesses.iter().map(|guess| guess.ids), ingest.edges.input.ids);
        let declare_weights =
            !guesses.is_empty() && guesses.iter().all(|guess| guess.weighted == Some(true));
        let has_weights = declare_weights || ingest.edges.input.weight.is_some();
        let weighted = options.weighted || has_weights && !ingest.edges.unweighted;
        let timeline = Self::create(path, &TimelineOptions { ids, weighted, ..options }, false)?;
        let outcome = take(&timeline, progress);
        if timeline.versions().is_empty() {
            drop(timeline);
            Self::remove(path)?;
        }
        outcome
    }

    fn ingest(
        &self,
        sources: &[Source],
        ingest: &UpdateIngest,
        progress: &mut (dyn FnMut(Progress) -> bool + Send),
    ) -> Result<UpdateReport> {
        let (before, missed) = (self.versions().len(), self.versions.missed_deletions());
        let start = Instant::now();
        let mut inputs = Inputs::new(&ingest.edges);
        let mut stretch = Stretch::new(self, ingest);
        let mut taken = Taken::default();
        let mut listener = Listener::new(progress, &ingest.edges);
        for (number, source) in sources.iter().enumerate() {
            listener.now = Progress { file: number, given: source.given, ..listener.now };
            let outcome = self.ingest_file(
                source,
                ingest,
                &mut inputs,
                &mut stretch,
                &mut taken,
                &mut listener,
            );
            let outcome = outcome.map_err(|error| error.interrupted_in(source.shown()));
            outcome.map_err(|error| partly(error, stretch.committed))?;
        }
        let finished = stretch.finish(&mut listener);
        finished.map_err(|error| partly(error, stretch.committed))?;
        let versions = self.versions();
        let added = &versions[before..];
        let newest = versions.last();
        let dropped = ingest.keep.map_or(Ok(0), |keep| self.keep(keep));
        let dropped = dropped.map_err(|error| partly(error, stretch.committed))?;
        let seconds = start.elapsed().as_secs_f64();
        Ok(UpdateReport {
            insertions: taken.insertions,
            deletions: taken.deletions,
            missed_deletions: self.versions.missed_deletions() - missed,
            late_updates: stretch.late,
            versions_added: added.len() as u64,
            edges_added: added.iter().map(|version| version.additions).sum(),
            edges_deleted: added.iter().map(|version| version.deletions).sum(),
            versions: versions.len() as u64 - dropped,
            vertices: newest.map_or(0, |version| version.vertices.into()),
            edges: newest.map_or(0, |version| version.edges),
            seconds,
            updates_per_second: (taken.insertions + taken.deletions) as f64 / seconds.max(1e-9),
            peak_rss_bytes: peak_rss_bytes(),
            rows_skipped: taken.skipped,
            skipped_files: Vec::new(),
            guessed: taken.guessed.unwrap_or_default(),
        })
    }

    fn ingest_file(
        &self,
        source: &Source,
        ingest: &UpdateIngest,
        inputs: &mut Inputs<'_>,
        stretch: &mut Stretch<'_>,
        taken: &mut Taken,
        listener: &mut Listener<'_>,
    ) -> Result<()> {
        let choices = ingest.choices(chosen_as(self.options().ids));
        let input: Input<UpdateChoices> =
            inputs.open(source, &choices, |path, guess| self.read_options(path, guess, ingest))?;
        taken.guessed.get_or_insert_with(|| in_words(&input.guess, self.options().weighted));
        listener.now.bytes_total = input.len;
        let is_table = matches!(input.content, Content::Table(_));
        let mut take = |chunk: UpdateChunk| {
            ingest.edges.check_stop().map_err(Sink::Graph)?;
            listener.now.bytes_read = match is_table {
                true => chunk.bytes_read,
                false => input.bytes_read.load(Relaxed),
            };
            stretch.take(chunk, &input.path, listener).map_err(Sink::Graph)
        };
        let summary = match input.content {
            Content::Parquet(file) => read_parquet_updates(file, &input.options, &mut take),
            Content::Stream(bytes) => read_updates(bytes, &input.options, &mut take),
            Content::Table(table) => table.read_updates(&input.options, &mut take),
            Content::Export(_) => unreachable!("an export has no times"),
        };
        let summary = summary.map_err(|error| error.in_file(&input.path))?;
        taken.insertions += summary.insertions;
        taken.deletions += summary.deletions;
        taken.skipped += summary.skipped;
        Ok(())
    }

    fn read_options(
        &self,
        path: &Path,
        guess: &UpdateGuess,
        ingest: &UpdateIngest,
    ) -> Result<UpdateOptions> {
        let options = guess.options();
        if self.options().weighted && guess.edges.weight.is_none() {
            return Err(Error::invalid(format!(
                "`{}`: the versions keep weights, and no column holds them; name it with --weight",
                path.display()
            )));
        }
        if !self.options().weighted
            && !ingest.edges.unweighted
            && guess.edges.weighted == Some(true)
        {
            return Err(Error::invalid(format!(
                "`{}` has weights, and the versions keep none: --unweighted leaves them out",
                path.display()
            )));
        }
        if ingest.every == CommitEvery::Step && options.step.is_none() {
            return Err(Error::invalid(format!(
                "`{}`: no column holds steps, which are whole numbers from 0 on; name it with --step, or commit every so \
                 many updates",
                path.display()
            )));
        }
        let edges = ReadOptions {
            weighted: self.options().weighted,
            ids: read_as(self.options().ids),
            literal_ids: ingest.edges.input.ids.is_exact(),
            round_weights: ingest.edges.round_weights,
            skip_nulls: ingest.edges.skip_nulls,
            ..options.edges
        };
        Ok(UpdateOptions { edges, ..options })
    }
}

impl UpdateIngest {
    fn choices(&self, ids: IdChoice) -> UpdateChoices {
        UpdateChoices {
            edges: InputChoices { ids, ..self.edges.input.clone() },
            time: self.time.clone(),
            operation: self.operation.clone(),
            step: self.step.clone(),
            unit: self.unit,
        }
    }
}

/// Counts over all files of an ingest.
#[derive(Default)]
struct Taken {
    insertions: u64,
    deletions: u64,
    skipped: u64,
    guessed: Option<String>,
}

/// An insertion or deletion.
struct Row {
    time: i64,
    step: u64,
    src: VertexId,
    dst: VertexId,
    weight: Option<f32>,
    is_deletion: bool,
}

/// Updates that are to become the next version.
struct Stretch<'a> {
    timeline: &'a Timeline,
    ingest: &'a UpdateIngest,
    /// All updates, where they are to be sorted.
    rows: Vec<Row>,
    changes: Changes,
    /// How many there are.
    count: u64,
    /// The latest time so far, of versions too.
    time: Option<i64>,
    /// What time it is.
    now: i64,
    /// Which stretch of time, or step, it is.
    place: i64,
    late: u64,
    /// Updates that are in versions of this ingest.
    committed: u64,
}

impl<'a> Stretch<'a> {
    fn new(timeline: &'a Timeline, ingest: &'a UpdateIngest) -> Self {
        let time = timeline.versions.newest().map(|version| version.time);
        let (changes, rows) = (Changes::new(), Vec::new());
        let (now, count, place, late, committed) = (now(), 0, 0, 0, 0);
        Self { timeline, ingest, rows, changes, count, time, now, place, late, committed }
    }

    /// Takes the next updates of a file.
    ///
    /// # Errors
    /// `InvalidInput` for one that comes too late, and as for a commit; `Interrupted`.
    fn take(&mut self, chunk: UpdateChunk, path: &Path, listener: &mut Listener<'_>) -> Result<()> {
        let names = self.timeline.names();
        let (src, dst) = (vertices_of(names, chunk.src)?, vertices_of(names, chunk.dst)?);
        let mut rows = src.into_iter().zip(dst).enumerate().map(|(idx, (src, dst))| Row {
            time: chunk.times[idx],
            step: chunk.steps.as_ref().map_or(0, |steps| steps[idx]),
            src,
            dst,
            weight: chunk.weights.as_ref().map(|weights| weights[idx]),
            is_deletion: chunk.is_deletion[idx],
        });
        if self.ingest.sort {
            self.rows.extend(rows);
            return Ok(());
        }
        rows.try_for_each(|row| self.take_row(&row, Some(path), listener))
    }

    fn take_row(
        &mut self,
        row: &Row,
        path: Option<&Path>,
        listener: &mut Listener<'_>,
    ) -> Result<()> {
        if row.time > self.now + DAY {
            return Err(to_come(path, row.time));
        }
        let latest = self.time.unwrap_or(i64::MIN);
        self.late += u64::from(row.time < latest);
        let time = row.time.max(latest);
        let (is_full, place) = match self.ingest.every {
            CommitEvery::Updates(count) => (self.count == count, 0),
            CommitEvery::Time(length) => {
                let place = time.div_euclid(length);
                if row.time.div_euclid(length) < place && !self.ingest.allow_late {
                    return Err(too_late(path, row.time, latest));
                }
                (false, place)
            }
            CommitEvery::Step => (false, row.step as i64),
        };
        if self.count > 0 && (is_full || place != self.place) {
            self.commit()?;
            listener.tell(self.committed)?;
        }
        (self.time, self.place) = (Some(time), place);
        self.count += 1;
        let Row { src, dst, weight, .. } = *row;
        match (row.is_deletion, self.ingest.edges.drop_self_loops && src == dst) {
            (true, _) => self.changes.delete(src, dst)?,
            (false, true) => self.changes.set_vertex(src, true)?,
            (false, false) => self.changes.insert(src, dst, weight)?,
        }
        Ok(())
    }

    /// Takes what waited to be sorted, and makes what is left a version.
    fn finish(&mut self, listener: &mut Listener<'_>) -> Result<()> {
        let mut rows = std::mem::take(&mut self.rows);
        // Stable: what came at one time stays in order.
        par::sort_by_key(&mut rows, |row| row.time);
        rows.iter().try_for_each(|row| self.take_row(row, None, listener))?;
        self.commit()?;
        // The last version is told of too. Nobody ends an ingest that is over.
        listener.now.edges = self.committed;
        let _is_heard = (listener.progress)(listener.now);
        Ok(())
    }

    /// Makes what was taken a version, if it is anything.
    fn commit(&mut self) -> Result<()> {
        if self.count > 0 {
            let changes = std::mem::take(&mut self.changes);
            self.timeline.commit(changes, self.time.unwrap_or_default(), None)?;
            self.committed += std::mem::take(&mut self.count);
        }
        Ok(())
    }
}

/// Who is told of each version.
struct Listener<'a> {
    progress: &'a mut (dyn FnMut(Progress) -> bool + Send),
    options: &'a IngestOptions,
    /// How far reading is.
    now: Progress,
}

impl<'a> Listener<'a> {
    fn new(
        progress: &'a mut (dyn FnMut(Progress) -> bool + Send),
        options: &'a IngestOptions,
    ) -> Self {
        let now = Progress { file: 0, given: 0, bytes_read: 0, bytes_total: None, edges: 0 };
        Self { progress, options, now }
    }

    /// Says that a version was committed, with which so many updates are.
    ///
    /// # Errors
    /// `Interrupted` if the ingest is to end.
    fn tell(&mut self, committed: u64) -> Result<()> {
        self.now.edges = committed;
        self.options.check_stop()?;
        match (self.progress)(self.now) {
            true => Ok(()),
            false => Err(Error::Interrupted),
        }
    }
}

/// Adds to an error how many updates were acknowledged before, if any were or what failed may be there.
fn partly(error: Error, edges: u64) -> Error {
    match edges {
        0 if !error.may_be_there() => error,
        edges => Error::Partly { edges, done: Done::Committed, source: Box::new(error) },
    }
}

fn too_late(path: Option<&Path>, time: i64, latest: i64) -> Error {
    let [time, latest] = [time, latest].map(date_text);
    Error::invalid(match path {
        Some(path) => format!(
            "`{}`: an update of {time} comes after one of {latest}: --sort brings them in order, and --allow-late counts \
             such an update as of the later time",
            path.display()
        ),
        // They are sorted.
        None => format!(
            "an update of {time} comes after the newest version, which is of {latest}: --allow-late counts such an update \
             as of that time"
        ),
    })
}

fn to_come(path: Option<&Path>, time: i64) -> Error {
    let place = path.map_or_else(String::new, |path| format!("`{}`: ", path.display()));
    Error::invalid(format!(
        "{place}an update of {}: that is to come, and a version shows what was",
        date_text(time)
    ))
}

/// Says in one line how updates are read.
fn in_words(guess: &UpdateGuess, weighted: bool) -> String {
    let name = |idx: usize| ColumnName::of(&guess.edges, idx);
    let mut words = guess.edges.format.name().to_owned();
    let _ = write!(words, ", src={}, dst={}", name(guess.edges.src), name(guess.edges.dst));
    let _ = write!(words, ", time={}", name(guess.time));
    let (weight, left_out) = match weighted {
        true => (guess.edges.weight, None),
        false => (None, guess.edges.weight),
    };
    let others = [("op", guess.operation), ("step", guess.step), ("weight", weight)];
    for (what, column) in others {
        if let Some(idx) = column {
            let _ = write!(words, ", {what}={}", name(idx));
        }
    }
    if let Some(unit) = guess.unit {
        let _ = write!(words, ", times in {unit}");
    }
    if guess.operation.is_none() {
        words.push_str(", all of them insertions");
    }
    if let Some(idx) = left_out {
        let _ = write!(
            words,
            "; column {} left out, --weighted keeps it as weights of new versions",
            name(idx)
        );
    }
    words
}
