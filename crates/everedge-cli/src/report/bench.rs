//! The page of a benchmark: a section with one plot for each experiment.

use super::page::{Figure, document, footer, section};
use super::svg::Svg;
use super::text::escape;
use super::{RunInfo, bars, lines};

/// Everything that the page shows.
#[derive(Clone, Debug, Default)]
pub(crate) struct BenchReport {
    /// How to repeat the run, and where it was made.
    pub(crate) run: RunInfo,
    /// What it is about.
    pub(crate) title: String,
    /// A sentence or two below that.
    pub(crate) lead: String,
    /// Where the experiments come from: a word, and the publication.
    pub(crate) source: (&'static str, &'static str),
    /// Headline figures, each with what it is.
    pub(crate) facts: Vec<(String, String)>,
    /// The experiments, in order.
    pub(crate) sections: Vec<Section>,
}

/// One experiment.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    /// Unique in the page.
    pub(crate) id: String,
    /// What it is called, e.g. `Figure 12`.
    pub(crate) name: String,
    /// What it is about.
    pub(crate) title: String,
    /// A sentence or two on what is to be seen.
    pub(crate) words: String,
    /// One line below the plot.
    pub(crate) caption: String,
    /// What was measured.
    pub(crate) plot: Plot,
}

/// What is drawn: one panel below the other.
#[derive(Clone, Debug)]
pub(crate) enum Plot {
    /// Bars with names.
    Bars(Vec<BarPanel>),
    /// Lines over a horizontal axis.
    Lines(Vec<LinePanel>),
}

/// Bars that share a scale.
#[derive(Clone, Debug)]
pub(crate) struct BarPanel {
    /// What the bars measure.
    pub(crate) title: String,
    /// The value of a bar of full length, so that panels of one unit can be compared.
    pub(crate) full: f64,
    /// From top to bottom.
    pub(crate) bars: Vec<Bar>,
}

/// A bar.
#[derive(Clone, Debug)]
pub(crate) struct Bar {
    /// What stands before it.
    pub(crate) name: String,
    /// Its length.
    pub(crate) value: f64,
    /// The value in words.
    pub(crate) shown: String,
}

/// Lines that share their axes; there are colors for two.
#[derive(Clone, Debug)]
pub(crate) struct LinePanel {
    /// What the lines measure, and the unit.
    pub(crate) title: String,
    /// What the horizontal axis shows.
    pub(crate) x_title: String,
    /// The lines.
    pub(crate) lines: Vec<Line>,
}

/// A line through spots.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// Its name.
    pub(crate) label: String,
    /// From left to right.
    pub(crate) spots: Vec<Spot>,
}

/// A point of a line.
#[derive(Clone, Debug)]
pub(crate) struct Spot {
    /// Its position on the horizontal axis, which is linear.
    pub(crate) x: f64,
    /// Its height, from 0.
    pub(crate) y: f64,
    /// What stands below it.
    pub(crate) label: String,
    /// What it says on hover.
    pub(crate) hover: String,
}

/// The whole document.
pub(super) fn render(report: &BenchReport) -> String {
    let sections: String = report.sections.iter().map(experiment).collect();
    let main = format!("{}<main>\n{sections}</main>\n", header(report));
    let title = format!("everedge bench: {}", escape(&report.title));
    document(&title, &main, &footer(&report.run, report.source))
}

fn header(report: &BenchReport) -> String {
    let fact = |(value, label): &(String, String)| {
        format!("<div><dt>{}</dt><dd>{}</dd></div>\n", escape(label), escape(value))
    };
    let facts: String = report.facts.iter().map(fact).collect();
    format!(
        "<header>\n<p class=\"kicker\">everedge bench</p>\n<h1>{}</h1>\n\
         <p class=\"lead\">{}</p>\n<dl>\n{facts}</dl>\n</header>\n",
        escape(&report.title),
        escape(&report.lead)
    )
}

fn experiment(shown: &Section) -> String {
    let figure = Figure {
        id: &shown.id,
        title: &shown.name,
        caption: shown.caption.clone(),
        draw: &|width| draw(width, &shown.plot),
    };
    section(&shown.title, &shown.words, &[figure])
}

fn draw(width: f64, plot: &Plot) -> Svg {
    match plot {
        Plot::Bars(panels) => bars::panels(width, panels),
        Plot::Lines(panels) => lines::panels(width, panels),
    }
}
