//! `everedge demo`: the main job on bundled real data, start to end, with a report to look at.
//!
//! `data` is the bundled graph, `questions` what is asked of it, `plug` what kills writers. What they
//! find is a `report`, and `page` makes a document of it, with a chart from each of the other files.
//!
//! The data is the dependency graph of the Debian 12 packages. Every figure is measured in the
//! run that shows it. The graph stays in the output directory, for more questions.

mod data;
mod depths;
mod kills;
mod page;
mod plug;
mod questions;
mod report;
mod slopes;
#[cfg(test)]
mod tests;
mod tree;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail, ensure};
use everedge::{Format, Graph, GraphOptions, IdKind, IngestOptions, InputChoices, VertexId, View};
use everedge_bench::page::counted;
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use serde::Serialize;

use self::data::Data;
use self::plug::Plug;
use self::questions::Ranking;
use self::report::{CrashRound, Deletion, DemoReport, Ingest};
use crate::charts::{self, Count, Nouns};
use crate::output::{Output, count, seconds};

/// What the vertices of its graph are called.
const PACKAGES: Nouns = Nouns { one: "package", many: "packages" };
/// The package whose reach and surroundings are shown.
const PACKAGE: &str = "gimp";
/// The package on which nothing depends any more after the deletions.
const DELETED: &str = "python3";
/// Packages of the ranking in the report.
const RANKED: usize = 15;
/// Packages of the ranking in the terminal.
const RANKED_SHOWN: usize = 4;
/// Edges of a batch of the first ingest.
const BATCH: usize = 1024;
/// How often a writing process is killed.
const KILLS: usize = 5;

/// Show what everedge does, on the dependency graph of the Debian 12 packages.
///
/// Takes the graph in, asks it a few questions, deletes some of it, kills writing processes and
/// opens what they leave, and writes DIR/report.html, a page that opens without a network. The
/// graph stays in DIR/graph. The output of an earlier demo is replaced.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The directory for the report and the graph.
    #[arg(long, value_name = "DIR", default_value = "demo-output")]
    output: PathBuf,
}

pub(crate) fn run(args: &Args, output: Output) -> Result<ExitCode> {
    let demo = Demo { start: Instant::now(), place: Place::prepare(&args.output)?, output };
    let data = Data::load()?;
    let report = demo.play(&data)?;
    demo.place.write("report.html", page::render(&report).as_bytes())?;
    demo.finish(&report)?;
    let lost: u64 = report.crashes.iter().map(|round| round.batches_lost).sum();
    ensure!(
        lost == 0,
        "{} were lost after a kill",
        counted(lost, "acknowledged batch", "acknowledged batches")
    );
    Ok(ExitCode::SUCCESS)
}

/// The directory that the demo fills.
struct Place {
    path: PathBuf,
}

impl Place {
    /// Makes the directory, or clears it of what an earlier demo made. A directory is an earlier
    /// demo's if the bundled file, which is written first, is in it.
    fn prepare(path: &Path) -> Result<Self> {
        let shown = path.display();
        std::fs::create_dir_all(path).with_context(|| format!("cannot make `{shown}`"))?;
        let place = Self { path: path.to_owned() };
        let mut entries = path.read_dir().with_context(|| format!("cannot read `{shown}`"))?;
        if !place.data().exists() && entries.next().is_some() {
            bail!("`{shown}` holds other files; choose another directory with --output");
        }
        place.write(data::FILE_NAME, data::FILE)?;
        if place.plug().exists() {
            std::fs::remove_dir_all(place.plug()).context("cannot clear the earlier output")?;
        }
        if place.graph().exists() {
            Graph::remove(&place.graph()).context("cannot replace the earlier graph")?;
        }
        Ok(place)
    }

    /// The graph that stays.
    fn graph(&self) -> PathBuf {
        self.path.join("graph")
    }

    /// The graph whose writers are killed; it is not there between rounds.
    fn plug(&self) -> PathBuf {
        self.path.join("plug")
    }

    fn data(&self) -> PathBuf {
        self.path.join(data::FILE_NAME)
    }

    fn report(&self) -> PathBuf {
        self.path.join("report.html")
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.path.join(name);
        #[expect(clippy::disallowed_methods, reason = "an output file that the user named")]
        let written = std::fs::write(&path, bytes);
        written.with_context(|| format!("cannot write `{}`", path.display()))
    }
}

/// A run of the demo.
struct Demo {
    start: Instant,
    place: Place,
    output: Output,
}

impl Demo {
    /// Plays all steps and says what each of them found.
    fn play(&self, data: &Data) -> Result<DemoReport> {
        let run = everedge_bench::run_info();
        let edges = data.edges()?;
        let (graph, ingest) = self.ingest(edges.len() as u64)?;
        let view = graph.snapshot()?;
        let ranking = self.rank(&view)?;
        let report = DemoReport {
            run,
            source: data.source()?,
            packages: view.vertex_count().into(),
            dependencies: view.edge_count(),
            ingest,
            ranking: ranking.top(&view, RANKED),
            in_degrees: charts::degree_counts(&view, &view.in_degrees()),
            out_degrees: charts::degree_counts(&view, &view.out_degrees()),
            reach: self.reach(&view, &ranking)?,
            neighborhood: questions::neighborhood(&view, PACKAGE, &ranking)?,
            components: self.components(&view)?,
            deletion: self.delete(&graph, &view, &ranking)?,
            ..DemoReport::default()
        };
        graph.close()?;
        Ok(DemoReport { crashes: self.pull_the_plug(edges)?, ..report })
    }

    fn ingest(&self, edge_count: u64) -> Result<(Graph, Ingest)> {
        let options = GraphOptions { ids: IdKind::Text, ..GraphOptions::default() };
        let graph = Graph::create(&self.place.graph(), &options, false)?;
        let bar = self.output.edge_bar("ingest", edge_count);
        let ingest = IngestOptions {
            input: InputChoices { format: Some(Format::EdgeList), ..InputChoices::default() },
            batch: BATCH,
            ..IngestOptions::default()
        };
        let taken = graph.ingest(&[self.place.data()], &ingest, &mut |progress| {
            bar.set_position(progress.edges);
            true
        });
        bar.finish_and_clear();
        let taken = taken?;
        self.say(
            "ingest",
            &format!(
                "{} packages, {} dependencies in {}, {} a second, {} batches",
                count(taken.vertices),
                count(taken.edges),
                seconds(taken.seconds),
                count(taken.edges_per_second as u64),
                count(taken.edges_inserted.div_ceil(BATCH as u64)),
            ),
        )?;
        let ingest = Ingest {
            seconds: taken.seconds,
            edges_per_second: taken.edges_per_second,
            layout: options.layout.to_string(),
            medium: options.medium.to_string(),
            durability: options.durability.to_string(),
        };
        Ok((graph, ingest))
    }

    fn rank(&self, view: &View) -> Result<Ranking> {
        let ranking = Ranking::of(view)?;
        let top = ranking.top(view, RANKED_SHOWN);
        let names: Vec<String> = top
            .into_iter()
            .map(|ranked| format!("{} {:.1} %", ranked.name, ranked.score * 100.0))
            .collect();
        self.say("ranking", &format!("most depended-on: {}", names.join(", ")))?;
        Ok(ranking)
    }

    fn reach(&self, view: &View, ranking: &Ranking) -> Result<report::Reach> {
        let reach = questions::reach(view, PACKAGE, ranking)?;
        let others: u64 = reach.levels.iter().skip(1).map(|level| level.packages).sum();
        let depth = reach.levels.len().saturating_sub(1);
        let others = count(others);
        self.say(
            "reach",
            &format!("{PACKAGE} leans on {others} others, up to {depth} steps away"),
        )?;
        Ok(reach)
    }

    fn components(&self, view: &View) -> Result<Vec<Count>> {
        let sizes = questions::components(view)?;
        let all: u64 = sizes.iter().map(|size| size.count).sum();
        let largest = sizes.last().map_or(0, |size| size.value);
        let (all, largest) = (count(all), count(largest));
        self.say("components", &format!("{all} components; the largest has {largest} packages"))?;
        Ok(sizes)
    }

    /// Deletes every edge to one package, ranks again, and puts the edges back.
    fn delete(&self, graph: &Graph, view: &View, ranking: &Ranking) -> Result<Deletion> {
        let target: VertexId = questions::vertex(view, DELETED)?;
        let edges = questions::edges_where(view, |_, v| v == target);
        let edges_deleted = graph.delete(&edges)?.deleted;
        let later = graph.snapshot()?;
        let changes = ranking.changes(&Ranking::of(&later)?, view);
        graph.insert(&edges, None)?;
        let what = format!("every dependency on {DELETED}");
        let place = match changes.iter().find(|change| change.name == DELETED) {
            Some(change) => {
                format!(": it falls from place {} to {}", count(change.before), count(change.after))
            }
            None => String::new(),
        };
        self.say(
            "deletion",
            &format!("{what}, {} edges{place}; then put back", count(edges_deleted)),
        )?;
        Ok(Deletion { what, edges_deleted, changes })
    }

    fn pull_the_plug(&self, edges: Vec<(&str, &str)>) -> Result<Vec<CrashRound>> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(now.as_nanos() as u64);
        let plug = Plug { graph: self.place.plug(), file: self.place.data(), edges };
        let mut rounds = Vec::new();
        while rounds.len() < KILLS {
            let label = format!("kill {}", rounds.len() + 1);
            let bar = self.output.edge_bar(&label, plug.edges.len() as u64);
            let round = plug.pull(&mut random, &bar);
            bar.finish_and_clear();
            if let Some(round) = round.with_context(|| format!("pulling the plug, {label}"))? {
                self.say(&label, &in_words(&round))?;
                rounds.push(round);
            }
        }
        Ok(rounds)
    }

    /// Prints a line about a step, at once.
    fn say(&self, step: &str, found: &str) -> Result<()> {
        if std::io::stdout().is_terminal() {
            self.output.say(format_args!("\x1b[1m{step:<12}\x1b[0m{found}"))
        } else {
            self.output.say(format_args!("{step:<12}{found}"))
        }
    }

    /// Says where everything is, or prints the whole outcome as JSON.
    fn finish(&self, report: &DemoReport) -> Result<()> {
        let page = self.place.report().display().to_string();
        let graph = self.place.graph().display().to_string();
        self.say("report", &page)?;
        let summary = Summary {
            packages: report.packages,
            dependencies: report.dependencies,
            ingest_seconds: report.ingest.seconds,
            ranking: report.ranking.iter().map(|r| (r.name.as_str(), r.score)).collect(),
            reached: report.reach.levels.iter().map(|level| level.packages).sum(),
            depth: report.reach.levels.len().saturating_sub(1),
            components: report.components.iter().map(|size| size.count).sum(),
            edges_deleted: report.deletion.edges_deleted,
            kills: report.crashes.iter().map(Kill::from).collect(),
            report: page,
            graph,
            seconds: self.start.elapsed().as_secs_f64(),
        };
        self.output.print(&summary, |summary| {
            let graph = &summary.graph;
            format!(
                "\nAll of it took {}. Go on with\n  \
                 everedge run pagerank {graph}\n  \
                 everedge run bfs {graph} --source firefox-esr\n  \
                 everedge stats {graph}",
                seconds(summary.seconds)
            )
        })
    }
}

fn in_words(round: &CrashRound) -> String {
    format!(
        "{} batches ({} edges) acknowledged, {} there, {} lost; open again in {}",
        count(round.batches_acknowledged),
        count(round.edges_acknowledged),
        count(round.batches_recovered),
        count(round.batches_lost),
        seconds(round.recovery_ms / 1e3),
    )
}

/// What a program learns of a demo.
#[derive(Serialize)]
struct Summary<'a> {
    packages: u64,
    dependencies: u64,
    ingest_seconds: f64,
    /// Packages and their PageRank, best first.
    ranking: Vec<(&'a str, f64)>,
    reached: u64,
    depth: usize,
    components: u64,
    edges_deleted: u64,
    kills: Vec<Kill>,
    report: String,
    graph: String,
    seconds: f64,
}

/// A round of *pulling the plug*.
#[derive(Serialize)]
struct Kill {
    kill_ms: f64,
    recovery_ms: f64,
    batches_acknowledged: u64,
    batches_recovered: u64,
    batches_lost: u64,
}

impl From<&CrashRound> for Kill {
    fn from(round: &CrashRound) -> Self {
        Self {
            kill_ms: round.kill_ms,
            recovery_ms: round.recovery_ms,
            batches_acknowledged: round.batches_acknowledged,
            batches_recovered: round.batches_recovered,
            batches_lost: round.batches_lost,
        }
    }
}
