//! The page of a benchmark: a section with one chart for each experiment.

use maud::{Markup, html};

use super::document::{Figure, document, facts, footer, section};
use super::{BarPanel, LinePanel, bars, lines};
use crate::machine::RunInfo;

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

impl BenchReport {
    /// Returns the page as one HTML document, with one chart for each section. Equal reports give
    /// equal pages.
    pub(crate) fn render(&self) -> String {
        let header = html! {
            p class="kicker" { "everedge bench" }
            h1 { (self.title) }
            p class="lead" { (self.lead) }
            (facts("", &self.facts))
        };
        let sections: Vec<Markup> = self.sections.iter().map(Section::html).collect();
        let title = format!("everedge bench: {}", self.title);
        document(&title, &header, &sections, &footer(&self.run, self.source))
    }
}

impl Section {
    fn html(&self) -> Markup {
        let figure = Figure {
            id: &self.id,
            title: &self.name,
            caption: self.caption.clone(),
            draw: &|width| match &self.plot {
                Plot::Bars(panels) => bars::panels(width, panels),
                Plot::Lines(panels) => lines::panels(width, panels),
            },
        };
        section(&self.title, &self.words, &[figure])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{Bar, Line, Spot};

    /// A page with a little of everything, and with numbers that are not finite.
    fn report() -> BenchReport {
        let text = |name: &str| name.to_owned();
        let spot = |x, y| Spot { x, y, label: text("<1>"), hover: text("a & b") };
        let bar = |value| Bar { names: vec![text("<pmem>")], value, shown: text("1 s") };
        let line = |spots| Line { label: text("\"fixed\""), spots };
        let panel = |lines| LinePanel { title: text("time, s"), x_title: text("threads"), lines };
        let section = |id: &str, plot| Section {
            id: text(id),
            name: text("Figure 1"),
            title: text("<title>"),
            words: text("</p>"),
            caption: text("<!--"),
            plot,
        };
        let bars = vec![BarPanel::new("time", vec![bar(1.0), bar(f64::NAN), bar(0.0)])];
        let spots = vec![spot(1.0, 2.0), spot(2.0, f64::INFINITY)];
        BenchReport {
            facts: vec![(text("<b>"), text("&"))],
            sections: vec![
                section("a", Plot::Bars(bars)),
                section("b", Plot::Lines(vec![panel(vec![line(spots), line(Vec::new())])])),
                section("c", Plot::Lines(Vec::new())),
                section("d", Plot::Bars(Vec::new())),
            ],
            ..BenchReport::default()
        }
    }

    #[test]
    fn there_is_a_chart_for_each_section_and_nothing_is_loaded() {
        for report in [report(), BenchReport::default()] {
            let page = report.render();
            assert_eq!(page.matches("<figure>").count(), report.sections.len());
            assert_eq!(page.matches("<svg").count(), 2 * report.sections.len());
            let unwanted =
                ["NaN", "inf\"", "Infinity", "<script", "http", "url(", "src=", "<!--", "<pmem"];
            for word in unwanted {
                assert!(!page.contains(word), "{word}");
            }
        }
    }
}
