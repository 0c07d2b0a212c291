//! `everedge ingest`: takes files into a graph, creating it if there is none.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::ValueEnum;
use everedge::{
    ChangeCounts, Choices, Chosen, Column, CommitEvery, Graph, IdChoice, IngestOptions,
    IngestReport, InputChoices, Keep, OperationChoice, Progress, SkippedFile, Target, TimeUnit,
    Timeline, UpdateIngest, UpdateReport, delimiter, first_of,
};
use everedge_bench::page::counted;
use everedge_bench::stop_on_signals;
use indicatif::ProgressBar;

use super::{FormatChoice, Medium, NewGraph};
use crate::output::{Output, bytes, count, seconds, standard_output};

/// Take edges from files into a graph.
///
/// Creates GRAPH if there is none. Files are SNAP edge lists, CSV, TSV, JSON Lines, Matrix Market,
/// DIMACS, METIS, Graphalytics .v and .e, Parquet, Arrow or pairs of 32-bit integers (.bin), plain,
/// .gz, .zst, .bz2 or .xz, told apart by name and content. A directory or a .tar stands for the files
/// in it whose names end as those of a format do, and for parts such as part-00000; an .e brings the .v
/// beside it along; a directory that `everedge export` has written is the graph; `-` stands for standard input. What was guessed, and which files of a directory or an
/// archive were not taken, is said on standard error.
///
/// If GRAPH is a sealed graph, its files stay as they are: what is added and deleted stands beside them, `run` and all other
/// commands show both as one, and `everedge seal GRAPH NEW` makes new files of both.
///
/// A mistake in a file of up to 4 million edges leaves the graph as it was; of a file of updates, versions that were
/// committed before it stay. Of a pipe, the first two
/// records decide how it is read; then batches are acknowledged as they come. Ctrl-C ends an ingest
/// after the batch that is being written and keeps those before it; the exit code is 130 then.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The directory of the graph.
    graph: PathBuf,

    /// The files, in the order in which they are taken in.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Where a new graph lives [default: file].
    #[arg(long, value_enum)]
    medium: Option<Medium>,

    /// Lets --medium pmem use a file system without DAX, for tests and measurements.
    #[arg(long)]
    emulate_pmem: bool,

    /// Says that the power-fail domain takes in the processor's caches (eADR).
    #[arg(long)]
    eadr: bool,

    /// Delete the edges instead of inserting them.
    #[arg(long)]
    delete: bool,

    #[command(flatten)]
    shape: ShapeArgs,

    /// Edges of a batch: what is acknowledged and becomes visible together.
    #[arg(long, default_value_t = 1 << 16, value_name = "N", value_parser = super::positive)]
    batch: usize,

    /// The longest time that an edge of a pipe waits for its batch to fill.
    #[arg(long, default_value_t = 1.0, value_name = "SECONDS")]
    flush_every: f64,

    /// Count what the medium reads and writes; slower.
    #[arg(long)]
    meter: bool,

    /// After each batch print how many edges are acknowledged, a number a line.
    #[arg(long, conflicts_with = "json")]
    acknowledge: bool,

    #[command(flatten)]
    new_graph: NewGraph,

    #[command(flatten)]
    input: InputArgs,

    #[command(flatten)]
    updates: UpdateArgs,
}

/// What a new graph is like.
#[derive(clap::Args)]
pub(super) struct ShapeArgs {
    /// A new graph is undirected.
    #[arg(long, conflicts_with = "directed")]
    pub(super) undirected: bool,

    /// A new graph is directed. A file of undirected edges then gives one each way.
    #[arg(long)]
    pub(super) directed: bool,

    /// A new graph keeps weights [default: if the format or a column called weight declares them].
    #[arg(long, conflicts_with = "unweighted")]
    pub(super) weighted: bool,

    /// A new graph keeps no weights, though the files have some.
    #[arg(long, conflicts_with = "weight")]
    pub(super) unweighted: bool,

    /// A new graph keeps one edge for a pair; inserting it again replaces its weight.
    #[arg(long)]
    simple: bool,

    /// A new directed graph keeps no in-neighbors: less space. Of a live graph, most kernels then ask a copy in memory; of
    /// a sealed graph, only one-hop and two-hop run, and others with --csr.
    #[arg(long)]
    no_in: bool,

    /// Leave self-loops out; their ends are vertices all the same.
    #[arg(long)]
    pub(super) drop_self_loops: bool,
}

impl ShapeArgs {
    /// Returns the options that were given.
    pub(super) fn given(&self) -> impl Iterator<Item = &'static str> {
        let options = [
            (self.directed, "--directed"),
            (self.undirected, "--undirected"),
            (self.weighted, "--weighted"),
            (self.unweighted, "--unweighted"),
            (self.simple, "--simple"),
            (self.no_in, "--no-in"),
            (self.drop_self_loops, "--drop-self-loops"),
        ];
        options.into_iter().filter_map(|(is_given, name)| is_given.then_some(name))
    }

    /// Chooses what was given; a column of weights means that the graph keeps them.
    pub(super) fn choose(&self, input: &InputArgs, chosen: &mut Chosen) -> everedge::Result<()> {
        for (is_given, name, word) in [
            (self.directed, "directed", "true"),
            (self.undirected, "directed", "false"),
            (self.weighted || input.weight.is_some(), "weighted", "true"),
            (self.unweighted, "weighted", "false"),
            (self.simple, "simple", "true"),
            (self.no_in, "in-neighbors", "false"),
        ] {
            if is_given {
                chosen.choose(name, word)?;
            }
        }
        Ok(())
    }

    /// Returns what the files may decide.
    pub(super) fn choices(&self, meter: bool) -> Choices {
        Choices {
            directed_fixed: self.directed || self.undirected,
            weighted_fixed: self.weighted || self.unweighted,
            meter,
        }
    }
}

/// How files of timed insertions and deletions become versions.
#[derive(clap::Args)]
#[command(next_help_heading = "Versions")]
struct UpdateArgs {
    /// Take timed insertions and deletions, a version for each N, each 1d, 12h, 30m or 90s, or each step.
    ///
    /// GRAPH then holds versions instead of a live graph.
    #[arg(
        long,
        value_name = "N|TIME|step",
        value_parser = super::parsed::<CommitEvery>,
        conflicts_with_all = ["delete", "meter", "batch", "flush_every"]
    )]
    commit_every: Option<CommitEvery>,

    /// The column of times.
    #[arg(long, value_name = "COLUMN", requires = "commit_every", hide_short_help = true)]
    time: Option<String>,

    /// The column of operations: + or -, insert or delete, and the like.
    #[arg(long, value_name = "COLUMN", requires = "commit_every", hide_short_help = true)]
    operation: Option<String>,

    /// Take every row for an insertion, whatever a column says.
    #[arg(long, requires = "commit_every", conflicts_with = "operation", hide_short_help = true)]
    insertions_only: bool,

    /// The column of steps: numbers of what changed the graph at once.
    #[arg(long, value_name = "COLUMN", requires = "commit_every", hide_short_help = true)]
    step: Option<String>,

    /// What times count that are numbers: seconds, milliseconds, microseconds or nanoseconds.
    #[arg(long, value_name = "UNIT", requires = "commit_every", hide_short_help = true)]
    time_unit: Option<TimeUnit>,

    /// Sort the rows of all files by time first, in memory: 40 bytes each.
    #[arg(long, requires = "commit_every", hide_short_help = true)]
    sort: bool,

    /// Count a row that comes after rows of a later version as of that version. Without this, rows are in order of
    /// time but within a version.
    #[arg(long, requires = "commit_every", hide_short_help = true)]
    allow_late: bool,

    /// Let older versions than these go at the end: so many stay, or those that show each moment of so long before
    /// the newest, such as 30d or 12h.
    #[arg(
        long,
        value_name = "N|TIME",
        requires = "commit_every",
        value_parser = super::parsed::<Keep>,
        hide_short_help = true
    )]
    keep: Option<Keep>,
}

/// What is known of the files.
#[derive(clap::Args)]
#[command(next_help_heading = "What is in the files; looked for if it is not given")]
pub(super) struct InputArgs {
    /// The format.
    #[arg(long, default_value = "auto", value_name = "FORMAT", value_parser = super::format(), hide_possible_values = true)]
    format: FormatChoice,

    /// What ids are: dense, integers below 2^31 used as they are; integer or text, through an id
    /// map; map, one of these two.
    #[arg(long, default_value = "auto", value_name = "KIND")]
    ids: IdChoice,

    /// Whether the first row of CSV, TSV or an edge list holds names.
    #[arg(long, value_enum, default_value = "auto")]
    header: Header,

    /// What separates the columns of CSV: a character, or tab.
    #[arg(long, value_name = "C", value_parser = delimiter)]
    delimiter: Option<u8>,

    /// The column of sources, by number from 0 or by name.
    #[arg(long, value_name = "COLUMN")]
    src: Option<String>,

    /// The column of destinations.
    #[arg(long, value_name = "COLUMN")]
    dst: Option<String>,

    /// The column of weights; a new graph then keeps them.
    #[arg(long, value_name = "COLUMN", conflicts_with = "unweighted")]
    pub(super) weight: Option<String>,

    /// Leave out rows whose ids or weights are null; otherwise they are refused.
    ///
    /// Null is what is empty, NULL, None, NaN, NA and the like.
    #[arg(long)]
    pub(super) skip_nulls: bool,

    /// Round weights to 32 bits; otherwise one that this changes is refused.
    #[arg(long, hide_short_help = true)]
    pub(super) round_weights: bool,
}

impl InputArgs {
    /// Returns the options that say more than that the files are looked at.
    pub(super) fn given(&self) -> impl Iterator<Item = &'static str> {
        let options = [
            (self.format.0.is_some(), "--format"),
            (self.ids != IdChoice::Auto, "--ids"),
            (self.header != Header::Auto, "--header"),
            (self.delimiter.is_some(), "--delimiter"),
            (self.src.is_some(), "--src"),
            (self.dst.is_some(), "--dst"),
            (self.weight.is_some(), "--weight"),
            (self.skip_nulls, "--skip-nulls"),
            (self.round_weights, "--round-weights"),
        ];
        options.into_iter().filter_map(|(is_given, name)| is_given.then_some(name))
    }

    /// Returns what is known of each file.
    pub(super) fn choices(&self) -> InputChoices {
        InputChoices {
            format: self.format.0,
            ids: self.ids,
            header: match self.header {
                Header::Auto => None,
                Header::Yes => Some(true),
                Header::No => Some(false),
            },
            delimiter: self.delimiter,
            src: column(&self.src),
            dst: column(&self.dst),
            weight: column(&self.weight),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Header {
    Auto,
    Yes,
    No,
}

pub(crate) fn run(args: &Args, output: Output) -> Result<ExitCode> {
    super::check_order(&args.graph, args.files.last())?;
    let ingest = ingest_options(args)?;
    if let Some(every) = args.updates.commit_every {
        return take_updates(args, every, ingest, output);
    }
    let target = Target {
        path: &args.graph,
        chosen: &chosen(args)?,
        choices: args.shape.choices(args.meter),
    };
    let mut report = take_in(&target, args, &ingest, output)?;
    if !output.quiet {
        // Nobody reads what standard error does not take.
        if let Some(words) = report.guessed.in_words() {
            let _ = writeln!(std::io::stderr(), "guessed: {words}");
        }
        if let Some(words) = skipped_in_words(&report.skipped_files) {
            let _ = writeln!(std::io::stderr(), "{words}");
        }
    }
    report.peak_rss_bytes = everedge::peak_rss_bytes();
    output.print(&report, in_words)?;
    Ok(ExitCode::SUCCESS)
}

/// Says which files were not taken in, and why; nothing if all were.
fn skipped_in_words(skipped: &[SkippedFile]) -> Option<String> {
    let say = |skipped: &SkippedFile| format!("`{}` ({})", skipped.file.display(), skipped.why);
    let files: Vec<String> = skipped.iter().map(say).collect();
    let has_edges = |skipped: &SkippedFile| skipped.why != SkippedFile::NO_EDGES;
    let advice = match skipped.iter().any(has_edges) {
        true => "; name a file itself to take it in",
        false => "",
    };
    (!files.is_empty()).then(|| format!("skipped: {}{advice}", first_of(&files)))
}

fn take_in(
    target: &Target<'_>,
    args: &Args,
    ingest: &IngestOptions,
    output: Output,
) -> Result<IngestReport> {
    follow((&args.files, args.acknowledge), output, "edges", |show| {
        Graph::ingest_into(target, &args.files, ingest, show)
    })
}

fn take_updates(
    args: &Args,
    every: CommitEvery,
    edges: IngestOptions,
    output: Output,
) -> Result<ExitCode> {
    let updates = &args.updates;
    let operation = match (&updates.operation, updates.insertions_only) {
        (_, true) => OperationChoice::InsertionsOnly,
        (Some(_), _) => {
            column(&updates.operation).map_or_else(Default::default, OperationChoice::Column)
        }
        (None, false) => OperationChoice::Auto,
    };
    let ingest = UpdateIngest {
        every,
        edges,
        time: column(&updates.time),
        operation,
        step: column(&updates.step),
        unit: updates.time_unit,
        sort: updates.sort,
        allow_late: updates.allow_late,
        keep: updates.keep,
    };
    let chosen = chosen(args)?;
    let mut report = follow((&args.files, args.acknowledge), output, "updates", |show| {
        Timeline::ingest_into(&args.graph, &chosen, &args.files, &ingest, show)
    })?;
    if !output.quiet {
        // Nobody reads what standard error does not take.
        let _ = writeln!(std::io::stderr(), "guessed: {}", report.guessed);
        if let Some(words) = skipped_in_words(&report.skipped_files) {
            let _ = writeln!(std::io::stderr(), "{words}");
        }
    }
    report.peak_rss_bytes = everedge::peak_rss_bytes();
    output.print(&report, updates_in_words)?;
    Ok(ExitCode::SUCCESS)
}

fn updates_in_words(report: &UpdateReport) -> String {
    let mut words = format!(
        "{} and {} read in {} ({} a second): {}, with {} added and {} deleted\n\
         {} in all, the newest with {} and {}; peak memory {}",
        counted(report.insertions, "insertion", "insertions"),
        counted(report.deletions, "deletion", "deletions"),
        seconds(report.seconds),
        count(report.updates_per_second as u64),
        counted(report.versions_added, "version", "versions"),
        counted(report.edges_added, "edge", "edges"),
        count(report.edges_deleted),
        counted(report.versions, "version", "versions"),
        counted(report.vertices, "vertex", "vertices"),
        counted(report.edges, "edge", "edges"),
        bytes(report.peak_rss_bytes),
    );
    if report.missed_deletions > 0 {
        let missed = counted(report.missed_deletions, "deletion", "deletions");
        words.push_str(&format!("\n{missed} found no edge, and changed nothing"));
    }
    if report.late_updates > 0 {
        let late = count(report.late_updates);
        words.push_str(&format!(
            "\n{late} updates are earlier than one before them, and count as of its time"
        ));
    }
    if report.rows_skipped > 0 {
        words.push_str(&format!("\n{} rows with nulls left out", count(report.rows_skipped)));
    }
    words
}

/// Shows how far an ingest is, of so many `things`.
pub(super) fn follow<R>(
    (files, acknowledge): (&[PathBuf], bool),
    output: Output,
    things: &str,
    ingest: impl FnOnce(&mut (dyn FnMut(Progress) -> bool + Send)) -> everedge::Result<R>,
) -> Result<R> {
    let mut shown: Option<(usize, ProgressBar)> = None;
    let mut printed = Ok(());
    let mut show = |progress: Progress| {
        if shown.as_ref().is_none_or(|(file, _)| *file != progress.file) {
            let name = match files {
                [file] => file.display().to_string(),
                _ => format!("file {}", progress.file + 1),
            };
            shown = Some((progress.file, output.byte_bar(&name, progress.bytes_total)));
        }
        if let Some((_, bar)) = &shown {
            bar.set_position(progress.bytes_read);
            bar.set_prefix(format!("{} {things}", count(progress.edges)));
        }
        if acknowledge {
            printed = standard_output().and_then(|mut out| writeln!(out, "{}", progress.edges));
        }
        // Nobody learns of further batches when standard output is gone: stop then.
        printed.is_ok()
    };
    let report = ingest(&mut show);
    if let Some((_, bar)) = shown {
        bar.finish_and_clear();
    }
    match printed {
        Ok(()) => Ok(report?),
        Err(e) => report.with_context(|| format!("standard output takes no more lines ({e})")),
    }
}

/// Returns what was chosen of a new graph's options.
fn chosen(args: &Args) -> everedge::Result<Chosen> {
    let mut chosen = args.new_graph.chosen.clone();
    if args.emulate_pmem && args.medium != Some(Medium::Pmem) {
        let what = "--emulate-pmem says how `--medium pmem` is done: give both".into();
        return Err(everedge::Error::InvalidInput { what });
    }
    args.shape.choose(&args.input, &mut chosen)?;
    if args.eadr {
        chosen.choose("eadr", "true")?;
    }
    if let Some(medium) = args.medium {
        let is_emulated = medium == Medium::Pmem && args.emulate_pmem;
        chosen.choose("medium", if is_emulated { "pmem-emulated" } else { medium.word() })?;
    }
    Ok(chosen)
}

/// Returns a column that is given by number or by name.
fn column(given: &Option<String>) -> Option<Column> {
    let word = given.as_ref()?;
    Some(word.parse().map_or_else(|_| Column::Name(word.clone()), Column::Index))
}

fn ingest_options(args: &Args) -> Result<IngestOptions> {
    let flush_every = Duration::try_from_secs_f64(args.flush_every);
    Ok(IngestOptions {
        input: args.input.choices(),
        delete: args.delete,
        batch: args.batch,
        drop_self_loops: args.shape.drop_self_loops,
        skip_nulls: args.input.skip_nulls,
        round_weights: args.input.round_weights,
        unweighted: args.shape.unweighted,
        flush_every: flush_every.context("--flush-every needs a number of seconds from 0 on")?,
        stop: stop_on_signals()?,
    })
}

fn in_words(report: &IngestReport) -> String {
    let mut words = format!(
        "{} edges read in {} ({} a second): {} inserted, {} deleted, {} deletions ignored\n\
         the graph has {} vertices and {} edges; peak memory {}",
        count(report.edges_read),
        seconds(report.seconds),
        count(report.edges_per_second as u64),
        count(report.edges_inserted),
        count(report.edges_deleted),
        count(report.deletes_ignored),
        count(report.vertices),
        count(report.edges),
        bytes(report.peak_rss_bytes),
    );
    if let Some(changes) = &report.changes {
        words.push_str(&format!(
            "\n{}, over files that stay as they were sealed",
            changes_in_words(changes)
        ));
    }
    if report.rows_skipped > 0 {
        words.push_str(&format!("\n{} rows with nulls left out", count(report.rows_skipped)));
    }
    if let Some(medium) = &report.medium {
        words.push_str(&format!(
            "\nmedium: {} stored, {} written and {} read by the device, {} fences",
            bytes(medium.stored_bytes),
            bytes(medium.media_written_bytes),
            bytes(medium.media_read_bytes),
            count(medium.fences),
        ));
    }
    words
}

/// Says how many edges a sealed graph has more and less.
pub(super) fn changes_in_words(changes: &ChangeCounts) -> String {
    let ChangeCounts { edges_added, edges_taken_away } = *changes;
    format!(
        "since it was sealed, {} added and {} taken away",
        counted(edges_added, "edge was", "edges were"),
        count(edges_taken_away)
    )
}
