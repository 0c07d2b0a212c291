//! `everedge seal`: a graph becomes files that are queried within a budget of memory.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use clap::error::ErrorKind;
use everedge::{
    Chosen, Chunks, Given, IngestOptions, Order, SealFiles, SealOptions, SealReport, VersionChoice,
    Watch,
};
use everedge_bench::page::counted;
use everedge_bench::stop_on_signals;

use super::ingest::{InputArgs, ShapeArgs, follow};
use crate::output::{Output, bytes, seconds};

/// Seal a graph, a version of one, or files of edges into a directory that is read piece by piece.
///
/// A sealed graph opens at once, however large it is, and `everedge run --memory SIZE` asks it within a budget of
/// memory far below its size. What is sealed stays as it is. Changes that `everedge ingest` puts over a sealed graph stand
/// beside its files; sealing it once more makes files of both.
///
/// A graph is sealed as it was made: options about edges and about what is in files are for files, and refused for a graph.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The directory of a graph, or files of edges as `everedge ingest` takes them; and last the new directory.
    #[arg(required = true, num_args = 1.., value_names = ["GRAPH|FILE...", "CHUNKS"])]
    paths: Vec<PathBuf>,

    /// Seal a version, by number, date or name; without it, the newest of a directory that holds versions.
    #[arg(long, value_name = "VERSION", value_parser = super::parsed::<VersionChoice>)]
    at: Option<VersionChoice>,

    /// How much memory the sealing of files may take, with K, M, G or T; half of what is free unless given. What has no
    /// room goes through files in CHUNKS. A graph is sealed without a budget: it takes 20 bytes a vertex and the names of
    /// vertices, and a copy of a live graph whose ids lie far apart.
    #[arg(long, value_name = "SIZE", value_parser = everedge::size)]
    memory: Option<u64>,

    /// Write neighbors as four bytes each, instead of the gaps between them.
    #[arg(long)]
    plain: bool,

    /// The order in which vertices are numbered: `degree`, those with the most in-neighbors first; `steps`, those
    /// beside each other that two steps reach; or `ids`.
    #[arg(long, default_value = "degree", value_name = "WORD", value_parser = super::parsed::<Order>)]
    order: Order,

    #[command(flatten)]
    shape: ShapeArgs,

    #[command(flatten)]
    input: InputArgs,
}

pub(crate) fn run(args: &Args, output: Output) -> Result<ExitCode> {
    let (chunks, sources) = new_and_sources(args)?;
    let options =
        SealOptions { order: args.order, compressed: !args.plain, ..SealOptions::default() };
    // Each path is asked once: where a read fails now and then, a second answer may be another.
    let graph = sources.iter().map(|path| Ok(is_graph(path)?.then_some(path)));
    let graph = graph.collect::<Result<Vec<_>>>()?.into_iter().flatten().next();
    let report = match (sources, graph) {
        ([_], Some(graph)) => {
            refuse_options_of_files(args, graph)?;
            let view = super::open(graph, args.at.as_ref(), None)?;
            let watch = Watch::on(stop_on_signals()?);
            let seal = || Chunks::seal(&view, chunks, &options, &watch);
            output.follow("seal", &watch, seal)?
        }
        (_, Some(graph)) => {
            let graph = graph.display();
            let words = format!(
                "`{graph}` is a graph, and is sealed by itself: name it alone, or files alone; `everedge seal {graph} CHUNKS` \
                 seals the graph\n"
            );
            return Err(clap::Error::raw(ErrorKind::ArgumentConflict, words).into());
        }
        (files, None) => {
            if args.at.is_some() {
                let words = "--at names a version of a graph, and files have none\n";
                return Err(clap::Error::raw(ErrorKind::ArgumentConflict, words).into());
            }
            seal_files(args, files, chunks, options, output)?
        }
    };
    if let Some(words) = report.guessed.as_ref().and_then(|guessed| guessed.in_words())
        && !output.quiet
    {
        // Nobody reads what standard error does not take.
        let _ = writeln!(std::io::stderr(), "guessed: {words}");
    }
    output.print(&report, in_words)?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the new directory, whose name is the last, and what comes before it.
fn new_and_sources(args: &Args) -> Result<(&PathBuf, &[PathBuf]), clap::Error> {
    let wrong = |words: String| clap::Error::raw(ErrorKind::WrongNumberOfValues, words);
    let (last, sources) = args.paths.split_last().expect("a path is required");
    let name = last.display();
    if sources.is_empty() {
        return Err(wrong(format!(
            "`{name}` is the only name: name the graph or the files, and last a new directory\n"
        )));
    }
    if last.is_file() {
        return Err(wrong(format!(
            "`{name}` is a file, and the last name is that of the new directory: name one behind it\n"
        )));
    }
    Ok((last, sources))
}

/// Returns whether a path is a graph, and not a file or a directory of files.
///
/// # Errors
/// If it is one that is damaged, has lost its manifest or cannot be read.
fn is_graph(path: &Path) -> Result<bool> {
    if !path.is_dir() {
        return Ok(false);
    }
    let Err(error) = everedge::Timeline::is_at(path) else { return Ok(true) };
    // Every graph has both, and a directory of files neither.
    let has = |name: &str| path.join(name).try_exists().unwrap_or(true);
    match has("manifest.toml") || has("lock") {
        true => Err(error.into()),
        false => Ok(false),
    }
}

/// Refuses options that say how files are sealed: a graph has decided what they choose.
fn refuse_options_of_files(args: &Args, graph: &Path) -> Result<(), clap::Error> {
    let of_memory = args.memory.map(|_| "--memory");
    let given = of_memory.into_iter().chain(args.shape.given()).chain(args.input.given()).next();
    let Some(name) = given else { return Ok(()) };
    let why = match name {
        "--memory" => "sealing one takes 20 bytes of memory a vertex, and no budget",
        _ => "a graph that is sealed stays as it was made",
    };
    let graph = graph.display();
    let words = format!(
        "{name} is for files of edges, and `{graph}` is a graph: {why}. Leave {name} out\n"
    );
    Err(clap::Error::raw(ErrorKind::ArgumentConflict, words))
}

fn seal_files(
    args: &Args,
    files: &[PathBuf],
    chunks: &Path,
    options: SealOptions,
    output: Output,
) -> Result<SealReport> {
    let mut chosen = Chosen::default();
    args.shape.choose(&args.input, &mut chosen)?;
    let stop = stop_on_signals()?;
    let watch = Watch::on(Arc::clone(&stop));
    let ingest = IngestOptions {
        input: args.input.choices(),
        drop_self_loops: args.shape.drop_self_loops,
        skip_nulls: args.input.skip_nulls,
        round_weights: args.input.round_weights,
        unweighted: args.shape.unweighted,
        stop,
        ..IngestOptions::default()
    };
    let given: Vec<Given> = files.iter().cloned().map(Given::from).collect();
    let what = SealFiles {
        files: &given,
        ingest: &ingest,
        chosen: &chosen,
        choices: args.shape.choices(false),
        options,
        watch: &watch,
        memory: args.memory,
    };
    follow((files, false), output, "edges", |show| Chunks::seal_files(chunks, &what, show))
}

fn in_words(report: &SealReport) -> String {
    format!(
        "{} and {} sealed in {}: {} on the medium, {} of memory or more to ask them",
        counted(report.vertices, "vertex", "vertices"),
        counted(report.edges, "edge", "edges"),
        seconds(report.seconds),
        bytes(report.disk_bytes),
        bytes(report.least_memory_bytes),
    )
}
