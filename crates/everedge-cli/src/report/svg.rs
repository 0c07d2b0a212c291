//! A drawing of lines, boxes, paths and text, written as inline SVG.
//!
//! Colors and letters come from the classes of `style.css`. Every text is escaped and every
//! number is finite by construction.

use super::scale::{Scale, finite};
use super::text::{escape, trimmed, with_commas};

/// Height of a drawing that says that there is nothing to draw.
const EMPTY_HEIGHT: f64 = 60.0;

/// Which part of a text stands at its position.
#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A drawing under construction; y grows downwards.
pub(super) struct Svg {
    width: f64,
    height: f64,
    body: String,
}

impl Svg {
    /// An empty drawing of this size, in pixels.
    pub(super) fn new(width: f64, height: f64) -> Self {
        Svg { width, height, body: String::new() }
    }

    /// A drawing that says that there is nothing to draw.
    pub(super) fn empty(width: f64) -> Self {
        let mut svg = Svg::new(width, EMPTY_HEIGHT);
        svg.text("note", Anchor::Middle, (width / 2.0, EMPTY_HEIGHT / 2.0), "nothing to show");
        svg
    }

    /// A straight line.
    pub(super) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let ends = [("x1", from.0), ("y1", from.1), ("x2", to.0), ("y2", to.1)];
        self.shape("line", class, &ends, "");
    }

    /// A box, given by its upper left corner and its size, with a text to show on hover.
    pub(super) fn rect(&mut self, class: &str, at: (f64, f64), size: (f64, f64), hover: &str) {
        let size = (size.0.max(0.0), size.1.max(0.0));
        let box_ = [("x", at.0), ("y", at.1), ("width", size.0), ("height", size.1), ("rx", 2.0)];
        self.shape("rect", class, &box_, hover);
    }

    /// A dot with a text to show on hover.
    pub(super) fn circle(&mut self, class: &str, at: (f64, f64), radius: f64, hover: &str) {
        self.shape("circle", class, &[("cx", at.0), ("cy", at.1), ("r", radius)], hover);
    }

    /// A path with a text to show on hover.
    pub(super) fn path(&mut self, class: &str, path: &Path, hover: &str) {
        self.open("path", class);
        self.body.push_str(&format!(" d=\"{}\"", path.commands));
        self.close("path", hover);
    }

    /// The points of `dots` as round dots of this diameter, with a text to show on hover.
    pub(super) fn dots(&mut self, class: &str, dots: &Path, diameter: f64, hover: &str) {
        self.open("path", class);
        let size = number(diameter);
        self.body.push_str(&format!(" stroke-width=\"{size}\" d=\"{}\"", dots.commands));
        self.close("path", hover);
    }

    /// One line of text on the base line `at`.
    pub(super) fn text(&mut self, class: &str, anchor: Anchor, at: (f64, f64), text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let (x, y) = (number(at.0), number(at.1));
        let text = escape(text);
        self.body.push_str(&format!(
            "<text class=\"{class}\" text-anchor=\"{anchor}\" x=\"{x}\" y=\"{y}\">{text}</text>\n"
        ));
    }

    /// The horizontal axis at height `y`, with its ticks; `title` names the value and its unit.
    pub(super) fn axis_bottom(&mut self, scale: &Scale, y: f64, title: &str) {
        let (left, right) = scale.range();
        self.line("axis", (left, y), (right, y));
        for tick in scale.ticks(((right - left) / 80.0) as usize) {
            let x = scale.at(tick);
            self.line("axis", (x, y), (x, y + 4.0));
            self.text("tick", Anchor::Middle, (x, y + 18.0), &tick_label(tick));
        }
        self.text("title", Anchor::End, (right, y + 36.0), title);
    }

    /// Grid lines from `left` to `right` with labels; `title` stands above them.
    pub(super) fn axis_left(&mut self, scale: &Scale, left: f64, right: f64, title: &str) {
        let (bottom, top) = scale.range();
        for tick in scale.ticks(((bottom - top) / 45.0) as usize) {
            let y = scale.at(tick);
            self.line("grid", (left, y), (right, y));
            self.text("tick", Anchor::End, (left - 7.0, y + 4.0), &tick_label(tick));
        }
        self.text("title", Anchor::Start, (0.0, top - 14.0), title);
    }

    /// The drawing as an `<svg>` element that screen readers can name.
    ///
    /// `id` is unique in the page; `class` says for which screens the drawing is.
    pub(super) fn finish(self, id: &str, class: &str, title: &str, description: &str) -> String {
        let Svg { width, height, body } = self;
        let (width, height) = (number(width), number(height));
        let (title, description) = (escape(title), escape(description));
        format!(
            "<svg class=\"{class}\" role=\"img\" viewBox=\"0 0 {width} {height}\" \
             aria-labelledby=\"{id}-title {id}-desc\">\n\
             <title id=\"{id}-title\">{title}</title>\n\
             <desc id=\"{id}-desc\">{description}</desc>\n{body}</svg>\n"
        )
    }

    fn shape(&mut self, tag: &str, class: &str, attributes: &[(&str, f64)], hover: &str) {
        self.open(tag, class);
        for (name, value) in attributes {
            self.body.push_str(&format!(" {name}=\"{}\"", number(*value)));
        }
        self.close(tag, hover);
    }

    fn open(&mut self, tag: &str, class: &str) {
        self.body.push_str(&format!("<{tag} class=\"{class}\""));
    }

    fn close(&mut self, tag: &str, hover: &str) {
        if hover.is_empty() {
            self.body.push_str("/>\n");
        } else {
            self.body.push_str(&format!("><title>{}</title></{tag}>\n", escape(hover)));
        }
    }
}

/// The commands of a path.
#[derive(Default)]
pub(super) struct Path {
    commands: String,
}

impl Path {
    /// A path that begins at `at`.
    pub(super) fn from(at: (f64, f64)) -> Self {
        Path { commands: format!("M{} {}", number(at.0), number(at.1)) }
    }

    /// Goes straight on to `to`.
    pub(super) fn line(mut self, to: (f64, f64)) -> Self {
        self.commands.push_str(&format!("L{} {}", number(to.0), number(to.1)));
        self
    }

    /// Goes sideways and then up or down to `to`: a step.
    pub(super) fn step(mut self, to: (f64, f64)) -> Self {
        self.commands.push_str(&format!("H{}V{}", number(to.0), number(to.1)));
        self
    }

    /// Jumps to `at` and leaves a line without length there.
    pub(super) fn dot(mut self, at: (f64, f64)) -> Self {
        self.commands.push_str(&format!("M{} {}h0", number(at.0), number(at.1)));
        self
    }

    /// Goes on to `to` along a cubic curve pulled by two points.
    pub(super) fn curve(mut self, pull: [(f64, f64); 2], to: (f64, f64)) -> Self {
        let [a, b] = pull.map(|(x, y)| format!("{} {}", number(x), number(y)));
        self.commands.push_str(&format!("C{a} {b} {} {}", number(to.0), number(to.1)));
        self
    }
}

/// Label of a tick: whole numbers with commas, millions as `2M`, else two decimals.
fn tick_label(value: f64) -> String {
    match value {
        v if v >= 1e6 => format!("{}M", trimmed(v / 1e6)),
        v if v.fract().abs() < 1e-9 && v >= 0.0 => with_commas(v as u64),
        v => trimmed(v),
    }
}

/// A coordinate, to a tenth of a pixel.
fn number(value: f64) -> String {
    let text = format!("{:.1}", finite(value));
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_everywhere() {
        let mut svg = Svg::new(10.0, 10.0);
        svg.text("name", Anchor::Start, (0.0, 0.0), "<b>");
        svg.rect("bar", (0.0, 0.0), (1.0, 1.0), "</title>");
        let text = svg.finish("id", "wide", "a<b", "c&d");
        assert!(!text.contains("<b>") && text.contains("&lt;/title&gt;"));
        assert!(text.contains("a&lt;b") && text.contains("c&amp;d"));
    }

    #[test]
    fn numbers_are_short_and_finite() {
        assert_eq!(number(3.0), "3");
        assert_eq!(number(2.25), "2.2");
        assert_eq!(number(f64::NAN), "0");
    }

    #[test]
    fn tick_labels_are_short() {
        let labels = [0.0, 0.25, 0.5, 10_000.0, 250_000.0, 2_000_000.0].map(tick_label);
        assert_eq!(labels, ["0", "0.25", "0.5", "10,000", "250,000", "2M"]);
    }
}
