//! The page of the report: its sections in order, each with the lines that give the same.

use everedge_bench::page::{
    Bar, BarPanel, Figure, bar_panels, counted, document, facts, finite, fit, footer, section_of,
};
use everedge_bench::{bytes, count, quoted};
use maud::{Markup, PreEscaped, html};

use super::findings::{Communities, Findings, Row};
use crate::charts::{
    Count, DegreeLine, Titles, VERTICES, columns, component_tail, degrees, largest_share,
    neighborhood, over_versions,
};

/// Sizes of components that are shown one by one.
const TAIL_COLUMNS: usize = 10;
/// Vertices of the table that are shown before anything is searched.
const SHOWN: usize = 15;
/// Room for a name in the table and in the choice of a neighborhood, in pixels of charts.
const CELL_WIDTH: f64 = 205.0;
/// The command that lists versions.
const VERSIONS: &str = "versions";
/// What lets a reader choose and search.
const SCRIPT: &str = include_str!("page.js");

/// Returns the page as one HTML document. Equal findings give equal pages.
pub(super) fn render(findings: &Findings) -> String {
    let sections = [
        Some(degree_section(findings)),
        Some(components(findings)),
        Some(ranking(findings)),
        Some(communities(findings)),
        (!findings.neighborhoods.is_empty()).then(|| neighborhoods(findings)),
        (findings.versions.len() > 1).then(|| versions(findings)),
    ];
    let mut sections: Vec<Markup> = sections.into_iter().flatten().collect();
    sections.push(html! { script { (PreEscaped(SCRIPT)) } });
    let footer = footer(&findings.run, ("graph", &findings.path));
    document(
        &format!("everedge report: {}", name_of(findings)),
        &header(findings),
        &sections,
        &footer,
    )
}

/// The directory's own name.
fn name_of(findings: &Findings) -> &str {
    let path = findings.path.trim_end_matches('/');
    path.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(&findings.path)
}

fn header(findings: &Findings) -> Markup {
    let stats = &findings.stats;
    let ends = if stats.directed { 1.0 } else { 2.0 };
    let mean = stats.edges as f64 * ends / (stats.vertices as f64).max(1.0);
    let isolated = match &findings.in_degrees {
        None => findings.out_degrees.iter().filter(|entry| entry.value == 0).map(|e| e.count).sum(),
        Some(_) => findings.components.iter().filter(|size| size.value == 1).map(|e| e.count).sum(),
    };
    let mean_of = if stats.directed {
        "edges leave a vertex, on average"
    } else {
        "edges a vertex, on average"
    };
    let all = [
        (count(stats.vertices), "vertices".to_owned()),
        (count(stats.edges), "edges".to_owned()),
        (format!("{mean:.2}"), mean_of.to_owned()),
        (
            count(isolated),
            if stats.directed {
                "vertices alone in their component"
            } else {
                "vertices without an edge"
            }
            .to_owned(),
        ),
        (bytes(stats.disk_bytes), "on the medium".to_owned()),
    ];
    let direction = if stats.directed { "Directed" } else { "Undirected" };
    let weights = if stats.weighted { "with weights" } else { "without weights" };
    let version = match &findings.version {
        Some((_, version)) => format!(" This is {version}."),
        None => String::new(),
    };
    html! {
        p class="kicker" { "everedge report" }
        h1 { (name_of(findings)) }
        p class="lead" { (direction) ", " (weights) "; " (stats.kept) "." (version) }
        (facts("", &all))
        dl class="how" {
            dt { "In Python, what the lines below begin with" }
            dd { code { "import everedge; " (opening(findings)) } }
        }
    }
}

/// Words, and the lines that give the same: a command before and after the directory, and one of Python.
fn words(findings: &Findings, words: &str, shell: (&str, &str), python: &str) -> Markup {
    let (command, options) = shell;
    let at = match findings.version {
        Some((number, _)) if command != VERSIONS => format!(" --at {number}"),
        _ => String::new(),
    };
    html! {
        p { (words) }
        dl class="how" {
            dt { "Shell" }
            dd { code { "everedge " (command) " " (quoted(&findings.path)) (at) (options) } }
            dt { "Python" }
            dd { code { (python) } }
        }
    }
}

/// The line of Python that opens what the page is about.
fn opening(findings: &Findings) -> String {
    let path = format!("{:?}", findings.path);
    match findings.version {
        Some((number, _)) => format!("graph = everedge.Timeline({path}, mode=\"r\").at({number})"),
        None if findings.stats.is_sealed => format!("graph = everedge.open({path})"),
        None => format!("graph = everedge.open({path}).snapshot()"),
    }
}

fn degree_section(findings: &Findings) -> Markup {
    let most = |counts: &[Count]| {
        let values = counts.iter().filter(|entry| entry.count > 0).map(|entry| entry.value);
        count(values.max().unwrap_or(0))
    };
    let (said, lines) = match &findings.in_degrees {
        Some(entering) => (
            format!(
                "At most {} edges leave a vertex, and at most {} enter one.",
                most(&findings.out_degrees),
                most(entering)
            ),
            vec![
                DegreeLine { label: "enter", counts: entering },
                DegreeLine { label: "leave", counts: &findings.out_degrees },
            ],
        ),
        None => (
            format!("A vertex has at most {} edges.", most(&findings.out_degrees)),
            vec![DegreeLine { label: "edges", counts: &findings.out_degrees }],
        ),
    };
    let figure = Figure {
        id: "degrees",
        title: "Degree distribution",
        caption: "Vertices with at least a given number of edges; both axes are logarithmic."
            .to_owned(),
        draw: &|width| degrees(width, &lines, &VERTICES, "degree: number of edges"),
    };
    let words = words(findings, &said, ("degree", ""), "graph.degree().top(10)");
    section_of("Degrees", &words, &[figure], &html! {})
}

fn components(findings: &Findings) -> Markup {
    let number = |sizes: &[Count]| sizes.iter().map(|entry| entry.count).sum::<u64>();
    let mut said = format!(
        "Vertices that are joined by any path, whatever its direction, form a component. There {}.",
        match number(&findings.components) {
            1 => "is one".to_owned(),
            several => format!("are {}", count(several)),
        }
    );
    if let Some(strong) = &findings.strong {
        let largest = strong.iter().map(|entry| entry.value).max().unwrap_or(0);
        said.push_str(&format!(
            " Along directions, where each has to reach each, it falls into {}; the largest has {}.",
            counted(number(strong), "component", "components"),
            counted(largest, VERTICES.one, VERTICES.many)
        ));
    }
    let share = Figure {
        id: "largest",
        title: "The largest component",
        caption: "Vertices inside and outside the largest component.".to_owned(),
        draw: &|width| largest_share(width, &findings.components, &VERTICES),
    };
    let tail = component_tail(&findings.components, TAIL_COLUMNS, &VERTICES);
    let others = Figure {
        id: "tail",
        title: "All the others",
        caption: "How many of the other components have how many vertices.".to_owned(),
        draw: &|width| columns(width, &tail, ("number of components", "vertices in the component")),
    };
    let mut figures = vec![share];
    if !tail.is_empty() {
        figures.push(others);
    }
    let words = words(findings, &said, ("run wcc", ""), "everedge.wcc(graph).top(10)");
    section_of("Components", &words, &figures, &html! {})
}

fn ranking(findings: &Findings) -> Markup {
    let said = match findings.ranking.first() {
        Some(best) => format!(
            "Follow edges at random, now and then starting anew at any vertex: PageRank is how often \
             each one is visited. {} takes {} of all visits.",
            best.name,
            percent(best.score)
        ),
        None => "The graph is empty.".to_owned(),
    };
    let bars = findings.ranking.iter().map(|entry| {
        let value = finite(entry.score);
        Bar { names: vec![entry.name.clone()], value, shown: percent(value) }
    });
    let panel = BarPanel::new("", bars.collect());
    let figure = Figure {
        id: "ranking",
        title: "The best ranked vertices",
        caption: "Share of the total PageRank that each vertex collects, in percent.".to_owned(),
        draw: &|width| bar_panels(width, std::slice::from_ref(&panel)),
    };
    let words =
        words(findings, &said, ("run pagerank", " --top 15"), "everedge.pagerank(graph).top(15)");
    section_of("Ranking", &words, &[figure], &table(&findings.rows, findings.stats.vertices))
}

/// A share of 1 in percent, with three digits that say something.
fn percent(share: f64) -> String {
    let percent = 100.0 * finite(share);
    let digits = match percent > 0.0 {
        true => (2.0 - percent.log10().floor()).clamp(0.0, 9.0),
        false => 0.0,
    };
    format!("{percent:.*} %", digits as usize)
}

/// The best ranked vertices, to be searched.
fn table(rows: &[Row], vertices: u64) -> Markup {
    let is_directed = rows.iter().any(|row| row.in_degree.is_some());
    let has_communities = rows.iter().any(|row| row.community.is_some());
    let title = match rows.len() as u64 == vertices {
        true => "All vertices".to_owned(),
        false => format!("The best {} of {}", count(rows.len() as u64), count(vertices)),
    };
    html! {
        figure {
            h3 { (title) }
            label class="find" {
                span { "Search" }
                input id="find" type="search" autocomplete="off" placeholder="part of an id";
            }
            div class="table" tabindex="0" role="region" aria-label=(title) {
                table id="vertices" {
                    thead {
                        tr {
                            th { "" } th class="name" { "vertex" } th { "PageRank" }
                            @if is_directed { th { "enter" } th { "leave" } } @else { th { "edges" } }
                            @if has_communities { th class="name" { "community of" } }
                        }
                    }
                    tbody {
                        @for (place, row) in rows.iter().enumerate() {
                            tr hidden[place >= SHOWN] {
                                td { (count(place as u64 + 1)) }
                                (name_cell(&row.name))
                                td { (percent(row.score)) }
                                @if let Some(entering) = row.in_degree { td { (count(entering)) } }
                                td { (count(row.out_degree)) }
                                @if let Some(best) = &row.community { (name_cell(best)) }
                            }
                        }
                    }
                }
            }
            figcaption id="found" data-shown=(SHOWN) {
                "The first " (count(SHOWN.min(rows.len()) as u64)) "; a search looks through all of them."
            }
        }
    }
}

/// A cell with a name, which is whole on hover.
fn name_cell(name: &str) -> Markup {
    let shown = fit(name, CELL_WIDTH);
    html! { td class="name" title=[cut_from(name, &shown)] { (shown) } }
}

/// The whole name, if what is shown is less.
fn cut_from<'a>(name: &'a str, shown: &str) -> Option<&'a str> {
    (name != shown).then_some(name)
}

fn communities(findings: &Findings) -> Markup {
    let Communities { refused, count: number, modularity, largest } = &findings.communities;
    if let Some(why) = refused {
        // Without the lines, which end with this error too.
        let said = html! { p { "Louvain finds no communities in this graph: " (why) "." } };
        return section_of("Communities", &said, &[], &html! {});
    }
    let said = format!(
        "Louvain divides the graph so that more edges stay inside a part than chance would leave \
         there: into {}, at a modularity of {:.3}. Each is named after its best ranked members.",
        counted(*number, "community", "communities"),
        finite(*modularity)
    );
    let bars = largest.iter().map(|community| {
        let share = community.size as f64 / findings.stats.vertices.max(1) as f64;
        let shown = format!("{} ({:.1} %)", count(community.size), 100.0 * share);
        Bar { names: community.members.clone(), value: community.size as f64, shown }
    });
    let panel = BarPanel::new("", bars.collect());
    let figure = Figure {
        id: "communities",
        title: "The largest communities",
        caption: "Number of vertices, and their share of all.".to_owned(),
        draw: &|width| bar_panels(width, std::slice::from_ref(&panel)),
    };
    let words = words(findings, &said, ("run louvain", ""), "everedge.louvain(graph).top(12)");
    section_of("Communities", &words, &[figure], &html! {})
}

fn neighborhoods(findings: &Findings) -> Markup {
    let titles = match findings.stats.directed {
        true => Titles(["edges to it", "edges from it", "edges from those"]),
        false => Titles(["", "its neighbors", "their neighbors"]),
    };
    let all = &findings.neighborhoods;
    let first = all.first().map_or("", |first| &first.center);
    // What begins with a dash is no option.
    let dashes = if first.starts_with('-') { " --" } else { "" };
    let options = format!("{dashes} {}", quoted(first));
    let python = match findings.stats.has_names {
        true => format!("graph.neighbors({first:?})"),
        false => format!("graph.neighbors({first})"),
    };
    let said = "The graph from close by. A dashed line stays within a column. Of a long list the best \
                ranked are drawn. Other vertices are drawn with --around VERTEX.";
    let words = words(findings, said, ("neighbors", &options), &python);
    let drawn = html! {
        label class="find" {
            span { "Around" }
            select id="around" {
                @for one in all {
                    @let shown = fit(&one.center, CELL_WIDTH);
                    option title=[cut_from(&one.center, &shown)] { (shown) }
                }
            }
        }
        @for (number, one) in all.iter().enumerate() {
            div class="around" {
                (Figure {
                    id: &format!("around-{number}"),
                    title: &one.center,
                    caption: caption_of(findings.stats.directed, &one.center),
                    draw: &|width| neighborhood(width, one, &titles),
                }.html())
            }
        }
    };
    section_of("Neighborhoods", &words, &[], &drawn)
}

fn caption_of(is_directed: bool, center: &str) -> String {
    match is_directed {
        true => format!(
            "Left the vertices with an edge to {center}, right those that one leads to from it, on a thick line those with \
             both; and where there is room, theirs in turn."
        ),
        false => {
            format!("Right the neighbors of {center}, and where there is room, theirs in turn.")
        }
    }
}

fn versions(findings: &Findings) -> Markup {
    let ends = (findings.versions.first(), findings.versions.last());
    let said = match ends {
        (Some((first, _)), Some((last, _))) => format!(
            "The directory keeps {}, numbers {first} to {last}.",
            counted(findings.versions.len() as u64, "version", "versions")
        ),
        _ => String::new(),
    };
    let figure = Figure {
        id: "versions",
        title: "Edges of each version",
        caption: "The number of edges, from the oldest version to the newest.".to_owned(),
        draw: &|width| over_versions(width, &findings.versions),
    };
    let words = words(
        findings,
        &said,
        (VERSIONS, ""),
        &format!("everedge.Timeline({:?}, mode=\"r\").versions", findings.path),
    );
    section_of("Versions", &words, &[figure], &html! {})
}
