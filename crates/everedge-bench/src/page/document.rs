//! The parts of a page: headings with words, charts beside them, and how to repeat the run.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use super::Drawing;
use crate::machine::RunInfo;

/// The looks of a page, put into it.
const STYLE: &str = include_str!("style.css");
/// Width of a chart for wide screens and for paper, in pixels.
const WIDE: f64 = 720.0;
/// Width of a chart for narrow screens, in pixels.
const NARROW: f64 = 350.0;

/// One chart and what is said about it.
pub struct Figure<'a> {
    /// Unique in the page.
    pub id: &'a str,
    /// What stands above it.
    pub title: &'a str,
    /// One sentence that says what the chart shows.
    pub caption: String,
    /// Draws the chart at a width in pixels.
    pub draw: &'a dyn Fn(f64) -> Drawing,
}

impl Figure<'_> {
    /// Returns the chart for wide and for narrow screens, with what is said about it.
    pub fn html(&self) -> Markup {
        let drawing = |width: f64, class: &str| {
            let id = format!("{}-{class}", self.id);
            (self.draw)(width).finish(&id, class, self.title, &self.caption)
        };
        html! {
            figure {
                h3 { (self.title) }
                (drawing(WIDE, "wide"))
                (drawing(NARROW, "narrow"))
                figcaption { (self.caption) }
            }
        }
    }
}

/// Returns a page of these parts as an HTML document, with the looks in it.
pub fn document(title: &str, header: &Markup, sections: &[Markup], footer: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                header { (header) }
                main { @for section in sections { (section) } }
                footer { (footer) }
            }
        }
    };
    page.into_string()
}

/// Returns headline figures, each with what it is; `class` says how the last one is colored.
pub fn facts(class: &str, facts: &[(String, String)]) -> Markup {
    html! {
        dl class=(class) {
            @for (value, label) in facts {
                div { dt { (label) } dd { (value) } }
            }
        }
    }
}

/// Returns a heading with words, and figures beside them.
pub fn section(title: &str, words: &str, figures: &[Figure<'_>]) -> Markup {
    section_of(title, &html! { p { (words) } }, figures, &html! {})
}

/// Returns a heading with words that are markup, and figures and `more` beside them.
pub fn section_of(title: &str, words: &Markup, figures: &[Figure<'_>], more: &Markup) -> Markup {
    html! {
        section {
            div class="words" { h2 { (title) } (words) }
            div class="figures" { @for figure in figures { (figure.html()) } (more) }
        }
    }
}

/// Returns how the run can be repeated, and what it is based on.
pub fn footer(run: &RunInfo, source: (&str, &str)) -> Markup {
    let facts = [
        ("everedge", run.version.as_str()),
        ("machine", &run.machine),
        ("date", &run.date),
        source,
    ];
    html! {
        dl { @for (label, value) in facts { div { dt { (label) } dd { (value) } } } }
        p { "To repeat this run:" }
        pre { code { (run.command) } }
    }
}
