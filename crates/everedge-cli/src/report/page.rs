//! The page: its sections in order, and the words around the plots.

use super::scale::finite;
use super::svg::Svg;
use super::text::{counted, duration, escape, with_commas};
use super::{CrashRound, DemoReport, RunInfo, bars, lines, neighborhood, plug, sunflower};

/// The looks of the page, put into it.
const STYLE: &str = include_str!("style.css");
/// Width of a plot for wide screens and for paper, in pixels.
const WIDE: f64 = 720.0;
/// Width of a plot for narrow screens, in pixels.
const NARROW: f64 = 350.0;
/// Width of the picture beside the title.
const HERO: f64 = 400.0;
/// Sizes of components that the tail shows one by one, for each width.
const TAIL_COLUMNS: usize = 10;

/// One plot and what is said about it.
pub(super) struct Figure<'a> {
    /// Unique in the page.
    pub(super) id: &'a str,
    pub(super) title: &'a str,
    /// One sentence that says what the plot shows.
    pub(super) caption: String,
    /// Draws the plot at a width in pixels.
    pub(super) draw: &'a dyn Fn(f64) -> Svg,
}

impl Figure<'_> {
    fn html(&self) -> String {
        let drawing = |width: f64, class: &str| {
            let id = format!("{}-{class}", self.id);
            (self.draw)(width).finish(&id, class, self.title, &self.caption)
        };
        format!(
            "<figure>\n<h3>{}</h3>\n{}{}<figcaption>{}</figcaption>\n</figure>\n",
            escape(self.title),
            drawing(WIDE, "wide"),
            drawing(NARROW, "narrow"),
            escape(&self.caption)
        )
    }
}

/// The whole document.
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
    let main = format!("{}<main>\n{}</main>\n", header(report, &title), sections.concat());
    let footer = footer(&report.run, ("data", &report.source));
    document(&format!("everedge demo: {title}"), &main, &footer)
}

/// A page of these parts, with the looks in it; `title` holds no markup.
pub(super) fn document(title: &str, main: &str, footer: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n\
         {main}{footer}</body>\n</html>\n"
    )
}

/// Title and headline figures.
fn header(report: &DemoReport, title: &str) -> String {
    let ingest = &report.ingest;
    let rate = counted(finite(ingest.edges_per_second).round() as u64, "edge", "edges");
    let kept = format!("layout {}, medium {}", ingest.layout, ingest.medium);
    let rounds = counted(report.crashes.len() as u64, "kill", "kills");
    let lost = lost(&report.crashes);
    let facts = [
        (with_commas(report.packages), "packages".to_owned()),
        (with_commas(report.dependencies), "dependencies".to_owned()),
        (duration(ingest.seconds), format!("to ingest them, {rate} a second")),
        (ingest.durability.clone(), format!("durability level; {kept}")),
        (with_commas(lost), format!("acknowledged batches lost in {rounds}")),
    ];
    let verdict = if lost == 0 { "kept" } else { "lost" };
    let facts = facts.map(|(value, label)| {
        format!("<div><dt>{}</dt><dd>{}</dd></div>\n", escape(&label), escape(&value))
    });
    format!(
        "<header>\n<div class=\"hero\">\n<div>\n<p class=\"kicker\">everedge demo</p>\n\
         <h1>{}</h1>\n\
         <p class=\"lead\">A graph that is written to storage as it grows, analyzed while it is \
         live, and killed in the middle of writing. The data: {}.</p>\n</div>\n{}</div>\n\
         <dl class=\"{verdict}\">\n{}</dl>\n</header>\n",
        escape(title),
        escape(&report.source),
        hero(report),
        facts.concat()
    )
}

/// The picture beside the title; it has no letters, so one size does for all screens.
fn hero(report: &DemoReport) -> String {
    let reach = &report.reach;
    let total: u64 = reach.levels.iter().map(|level| level.packages).sum();
    let dot = match sunflower::packages_per_dot(reach) {
        1 => "a dot for each".to_owned(),
        several => format!("a dot for every {several}"),
    };
    let caption = format!(
        "{} and all that it needs: {}, {dot}. The further from the middle, the more steps away.",
        reach.source,
        counted(total, "package", "packages")
    );
    let drawing = sunflower::draw(HERO, reach).finish("sunflower", "hero", "Reach", &caption);
    format!("<figure>\n{drawing}<figcaption>{}</figcaption>\n</figure>\n", escape(&caption))
}

fn ranking(report: &DemoReport) -> String {
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
        draw: &|width| bars::ranking(width, &report.ranking),
    };
    section("What everything leans on", &words, &[figure])
}

fn degrees(report: &DemoReport) -> String {
    let most = |counts: &[super::Count]| {
        let values = counts.iter().filter(|entry| entry.count > 0).map(|entry| entry.value);
        with_commas(values.max().unwrap_or(0))
    };
    let words = format!(
        "Most packages depend on a handful of others; the longest list holds {}. Being depended on \
         knows no such limit: one package stands in the lists of {} others.",
        most(&report.out_degrees),
        most(&report.in_degrees)
    );
    let figure = Figure {
        id: "degrees",
        title: "Degree distribution",
        caption: "Packages with at least a given number of dependents or of dependencies; both \
                  axes are logarithmic."
            .to_owned(),
        draw: &|width| lines::degrees(width, &report.in_degrees, &report.out_degrees),
    };
    section("Few are needed by many", &words, &[figure])
}

fn reach(report: &DemoReport) -> String {
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
        draw: &|width| bars::reach(width, reach),
    };
    section("How far one package reaches", &words, &[figure])
}

fn surroundings(report: &DemoReport) -> String {
    let center = &report.neighborhood.center;
    let words = "The same graph from close by. A line runs from a package to one that it depends \
                 on; a dashed line stays within a column. Of a long list the best connected are \
                 drawn.";
    let figure = Figure {
        id: "neighborhood",
        title: "Around one package",
        caption: format!(
            "Left the packages that depend on {center}, right those it depends on, and where there \
             is room, theirs in turn."
        ),
        draw: &|width| neighborhood::draw(width, &report.neighborhood),
    };
    section(&format!("Next door to {center}"), words, &[figure])
}

fn components(report: &DemoReport) -> String {
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
        draw: &|width| bars::largest_share(width, &report.components),
    };
    let tail = bars::component_tail(&report.components, TAIL_COLUMNS);
    let titles = ("number of components", "packages in the component");
    let others = Figure {
        id: "tail",
        title: "All the others",
        caption: "How many of the other components have how many packages.".to_owned(),
        draw: &|width| bars::columns(width, &tail, titles),
    };
    section("One continent, small islands", &words, &[share, others])
}

fn deletion(report: &DemoReport) -> String {
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
        draw: &|width| lines::slopes(width, &deletion.changes),
    };
    section("Take some away", &words, &[figure])
}

fn crashes(report: &DemoReport) -> String {
    let rounds = report.crashes.iter().enumerate();
    let Some((index, shown)) = rounds.max_by_key(|(_, round)| round.batches_acknowledged()) else {
        return section("Pulling the plug", "No writer was killed in this run.", &[]);
    };
    let columns = plug::ack_gaps(&report.crashes);
    let gap_titles = ("batches", "ms since the batch before");
    let timeline = Figure {
        id: "timeline",
        title: &format!("Kill {}, moment by moment", index + 1),
        caption: "Edges acknowledged over time until the kill; the band after it is the time that \
                  opening the graph took, the dot what was then in it."
            .to_owned(),
        draw: &|width| plug::timeline(width, shown),
    };
    let rounds = Figure {
        id: "rounds",
        title: "Every kill",
        caption: "Time written before each kill (upright line) and time to open the graph again, \
                  with the batches acknowledged, recovered and lost."
            .to_owned(),
        draw: &|width| plug::rounds(width, &report.crashes),
    };
    let gaps = Figure {
        id: "gaps",
        title: "From one acknowledgement to the next",
        caption: "How many batches took how long to become durable, over all rounds.".to_owned(),
        draw: &|width| bars::columns(width, &columns, gap_titles),
    };
    section("Pulling the plug", &crash_words(&report.crashes), &[timeline, rounds, gaps])
}

/// What the rounds show together.
fn crash_words(rounds: &[CrashRound]) -> String {
    let acknowledged = rounds.iter().map(CrashRound::batches_acknowledged).sum();
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

/// A heading with words, and figures beside them.
pub(super) fn section(title: &str, words: &str, figures: &[Figure<'_>]) -> String {
    let figures: String = figures.iter().map(Figure::html).collect();
    format!(
        "<section>\n<div class=\"words\">\n<h2>{}</h2>\n<p>{}</p>\n</div>\n\
         <div class=\"figures\">\n{figures}</div>\n</section>\n",
        escape(title),
        escape(words)
    )
}

/// How the run can be repeated, and what it is based on.
pub(super) fn footer(run: &RunInfo, source: (&str, &str)) -> String {
    let facts = [
        ("everedge", run.version.as_str()),
        ("machine", &run.machine),
        ("date", &run.date),
        source,
    ];
    let facts = facts
        .map(|(label, value)| format!("<div><dt>{label}</dt><dd>{}</dd></div>\n", escape(value)));
    format!(
        "<footer>\n<dl>\n{}</dl>\n<p>To repeat this run:</p>\n\
         <pre><code>{}</code></pre>\n</footer>\n",
        facts.concat(),
        escape(&run.command)
    )
}
