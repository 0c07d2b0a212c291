//! The page of the demo: its sections in order, and the words around the charts.

use everedge_bench::count;
use everedge_bench::page::{
    Bar, BarPanel, Figure, bar_panels, counted, document, duration, facts, finite, footer, section,
};
use maud::{Markup, html};

use super::report::{CrashRound, DemoReport};
use super::{PACKAGES, depths, kills, slopes, tree};
use crate::charts::{self, Count, DegreeLine, Ranked, Titles};

/// Width of the picture beside the title.
const HERO: f64 = 400.0;
/// What a degree is here.
const DEGREE: &str = "degree: number of packages on the other end";
/// What stands above the columns of a neighborhood.
const TITLES: Titles = Titles(["depend on it", "it depends on", "they depend on"]);
/// Sizes of components that the tail shows one by one.
const TAIL_COLUMNS: usize = 10;

/// Returns the page as one HTML document. Equal reports give equal pages.
///
/// Cost: linear in the report, but for the sorting of the neighborhood's edges.
pub(super) fn render(report: &DemoReport) -> String {
    let title =
        format!("{} and what they lean on", counted(report.packages, "package", "packages"));
    let sections = [
        ranking(report),
        degrees(report),
        reach(report),
        surroundings(report),
        components(report),
        deletion(report),
        crashes(report),
    ];
    let footer = footer(&report.run, ("data", &report.source));
    document(&format!("everedge demo: {title}"), &header(report, &title), &sections, &footer)
}

/// Title and headline figures.
fn header(report: &DemoReport, title: &str) -> Markup {
    let ingest = &report.ingest;
    let rate = counted(finite(ingest.edges_per_second).round() as u64, "edge", "edges");
    let kept = format!("layout {}, medium {}", ingest.layout, ingest.medium);
    let rounds = counted(report.crashes.len() as u64, "kill", "kills");
    let lost = lost(&report.crashes);
    let all = [
        (count(report.packages), "packages".to_owned()),
        (count(report.dependencies), "dependencies".to_owned()),
        (duration(ingest.seconds), format!("to ingest them, {rate} a second")),
        (ingest.durability.clone(), format!("durability level; {kept}")),
        (count(lost), format!("acknowledged batches lost in {rounds}")),
    ];
    html! {
        div class="hero" {
            div {
                p class="kicker" { "everedge demo" }
                h1 { (title) }
                p class="lead" {
                    "A graph that is written to storage as it grows, analyzed while it is live, and \
                     killed in the middle of writing. The data: " (report.source) "."
                }
            }
            (hero(report))
        }
        (facts(if lost == 0 { "kept" } else { "lost" }, &all))
    }
}

/// The picture beside the title; it has no letters, so one size does for all screens.
fn hero(report: &DemoReport) -> Markup {
    let reach = &report.reach;
    let packages = counted(reach.tree.len() as u64, "package", "packages");
    let caption = format!(
        "{} in the middle and all that it needs: {packages}, each joined with the first one that leads to it. The \
         further out, the more steps away.",
        reach.source
    );
    html! {
        figure {
            (tree::draw(HERO, reach).finish("tree", "hero", "Reach", &caption))
            figcaption { (caption) }
        }
    }
}

fn ranking(report: &DemoReport) -> Markup {
    let words = match report.ranking.first() {
        Some(best) => format!(
            "Follow dependencies at random, now and then starting anew at any package: PageRank \
             is how often each one is visited. {} takes {:.1} % of all visits.",
            best.name,
            finite(best.score) * 100.0
        ),
        None => "The ranking is empty.".to_owned(),
    };
    let figure = Figure {
        id: "ranking",
        title: "The most depended-on packages",
        caption: "Share of the total PageRank that each package collects, in percent.".to_owned(),
        draw: &|width| bar_panels(width, &[ranked_bars(&report.ranking)]),
    };
    section("What everything leans on", &words, &[figure])
}

fn degrees(report: &DemoReport) -> Markup {
    let most = |counts: &[Count]| {
        let values = counts.iter().filter(|entry| entry.count > 0).map(|entry| entry.value);
        count(values.max().unwrap_or(0))
    };
    let words = format!(
        "Most packages depend on a handful of others; the longest list holds {}. Being depended on \
         knows no such limit: one package stands in the lists of {} others.",
        most(&report.out_degrees),
        most(&report.in_degrees)
    );
    let lines = [
        DegreeLine { label: "depended on by", counts: &report.in_degrees },
        DegreeLine { label: "depends on", counts: &report.out_degrees },
    ];
    let figure = Figure {
        id: "degrees",
        title: "Degree distribution",
        caption: "Packages with at least a given number of dependents or of dependencies; both \
                  axes are logarithmic."
            .to_owned(),
        draw: &|width| charts::degrees(width, &lines, &PACKAGES, DEGREE),
    };
    section("Few are needed by many", &words, &[figure])
}

fn reach(report: &DemoReport) -> Markup {
    let reach = &report.reach;
    let found: u64 = reach.levels.iter().skip(1).map(|level| level.packages).sum();
    let depth = reach.levels.len().saturating_sub(1) as u64;
    let words = format!(
        "Follow every dependency of {}, then theirs, and so on. A breadth-first search ends after \
         {} with {} found.",
        reach.source,
        counted(depth, "step", "steps"),
        counted(found, "other package", "other packages")
    );
    let figure = Figure {
        id: "reach",
        title: "Packages first met at each depth",
        caption: format!(
            "Number of packages at each distance from {}, with examples.",
            reach.source
        ),
        draw: &|width| depths::draw(width, reach),
    };
    section("How far one package reaches", &words, &[figure])
}

fn surroundings(report: &DemoReport) -> Markup {
    let center = &report.neighborhood.center;
    let words = "The same graph from close by. A line runs from a package to one that it depends \
                 on; a dashed line stays within a column. Of a long list the best connected are \
                 drawn.";
    let figure = Figure {
        id: "neighborhood",
        title: "Around one package",
        caption: format!(
            "Left the packages that depend on {center}, right those it depends on, on a thick line \
             those that do both; and where there is room, theirs in turn."
        ),
        draw: &|width| charts::neighborhood(width, &report.neighborhood, &TITLES),
    };
    section(&format!("Next door to {center}"), words, &[figure])
}

fn components(report: &DemoReport) -> Markup {
    let all: u64 = report.components.iter().map(|entry| entry.count).sum();
    let words = format!(
        "Leave out the direction of the dependencies, and packages that are joined by any path \
         form a component. The graph falls into {}.",
        counted(all, "component", "components")
    );
    let share = Figure {
        id: "largest",
        title: "The largest component",
        caption: "Packages inside and outside the largest weakly connected component.".to_owned(),
        draw: &|width| charts::largest_share(width, &report.components, &PACKAGES),
    };
    let tail = charts::component_tail(&report.components, TAIL_COLUMNS, &PACKAGES);
    let titles = ("number of components", "packages in the component");
    let others = Figure {
        id: "tail",
        title: "All the others",
        caption: "How many of the other components have how many packages.".to_owned(),
        draw: &|width| charts::columns(width, &tail, titles),
    };
    section("One continent, small islands", &words, &[share, others])
}

fn deletion(report: &DemoReport) -> Markup {
    let deletion = &report.deletion;
    let words = format!(
        "{} deleted from the live graph: {}. The ranking is then computed again on a new snapshot, \
         and the edges are put back.",
        counted(deletion.edges_deleted, "edge was", "edges were"),
        deletion.what
    );
    let figure = Figure {
        id: "slopes",
        title: "Place in the ranking before and after",
        caption: "Packages in the order of their PageRank before and after the deletion; the \
                  number is the place among all packages, blue rose, orange fell."
            .to_owned(),
        draw: &|width| slopes::draw(width, &deletion.changes),
    };
    section("Take some away", &words, &[figure])
}

fn crashes(report: &DemoReport) -> Markup {
    if report.crashes.is_empty() {
        return section("Pulling the plug", "No writer was killed in this run.", &[]);
    }
    let rounds = Figure {
        id: "rounds",
        title: "Every kill",
        caption: "Time written before each kill (upright line) and time to open the graph again, \
                  with the batches acknowledged, recovered and lost."
            .to_owned(),
        draw: &|width| kills::draw(width, &report.crashes),
    };
    section("Pulling the plug", &crash_words(&report.crashes), &[rounds])
}

/// What the rounds show together.
fn crash_words(rounds: &[CrashRound]) -> String {
    let acknowledged = rounds.iter().map(|round| round.batches_acknowledged).sum();
    let slowest = rounds.iter().map(|round| round.recovery_ms).fold(0.0, f64::max);
    let verdict = match lost(rounds) {
        0 => "Every one of them was there when the graph was opened again.".to_owned(),
        lost => format!("{} missing afterwards.", counted(lost, "of them was", "of them were")),
    };
    format!(
        "A process writes batches, and SIGKILL ends it in the middle. Over {} it \
         acknowledged {}. {verdict} Opening took {} at most. A batch that was whole, but not yet \
         acknowledged, may be there too.",
        counted(rounds.len() as u64, "round", "rounds"),
        counted(acknowledged, "durable batch", "durable batches"),
        duration(slowest / 1e3)
    )
}

fn lost(rounds: &[CrashRound]) -> u64 {
    rounds.iter().map(|round| round.batches_lost).sum()
}

/// The ranking as bars in percent of the whole.
fn ranked_bars(ranked: &[Ranked]) -> BarPanel {
    let bar = |entry: &Ranked| {
        let value = finite(entry.score);
        Bar { names: vec![entry.name.clone()], value, shown: format!("{:.2} %", value * 100.0) }
    };
    BarPanel::new("", ranked.iter().map(bar).collect())
}
