//! A drawing of lines, boxes, paths and text, as inline SVG.
//!
//! Colors and letters come from the classes of `style.css`. `maud` escapes every text.

use maud::{Markup, PreEscaped, html};

use super::text::finite;

/// Height of a drawing that says that there is nothing to draw.
const EMPTY_HEIGHT: f64 = 60.0;

/// Which part of a text stands at its position.
#[derive(Clone, Copy, Debug)]
pub enum Anchor {
    /// Its first letter.
    Start,
    /// Its middle.
    Middle,
    /// Its last letter.
    End,
}

/// A drawing under construction; positions are in pixels from the upper left corner.
#[derive(Debug)]
pub struct Drawing {
    size: (f64, f64),
    body: String,
}

impl Drawing {
    /// Returns an empty drawing of this size, in pixels.
    pub fn new(width: f64, height: f64) -> Self {
        Self { size: (width, height), body: String::new() }
    }

    /// Returns a drawing that says that there is nothing to draw.
    pub fn empty(width: f64) -> Self {
        let mut drawing = Self::new(width, EMPTY_HEIGHT);
        let middle = (width / 2.0, EMPTY_HEIGHT / 2.0);
        drawing.text("note", Anchor::Middle, middle, "nothing to show");
        drawing
    }

    /// Returns width and height.
    pub fn size(&self) -> (f64, f64) {
        self.size
    }

    /// Draws a straight line.
    pub fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let [x1, y1, x2, y2] = [from.0, from.1, to.0, to.1].map(number);
        self.push(html! { line class=(class) x1=(x1) y1=(y1) x2=(x2) y2=(y2) {} });
    }

    /// Draws a box, given by its upper left corner and its size, with a text to show on hover.
    pub fn rect(&mut self, class: &str, at: (f64, f64), size: (f64, f64), hover: &str) {
        let [x, y, width, height] = [at.0, at.1, size.0.max(0.0), size.1.max(0.0)].map(number);
        self.push(html! {
            rect class=(class) x=(x) y=(y) width=(width) height=(height) rx="2" { (shown_on(hover)) }
        });
    }

    /// Draws a dot with a text to show on hover.
    pub fn circle(&mut self, class: &str, at: (f64, f64), radius: f64, hover: &str) {
        let [x, y, r] = [at.0, at.1, radius].map(number);
        self.push(html! { circle class=(class) cx=(x) cy=(y) r=(r) { (shown_on(hover)) } });
    }

    /// Draws a path with a text to show on hover.
    pub fn path(&mut self, class: &str, path: &Path, hover: &str) {
        self.push(html! { path class=(class) d=(path.commands) { (shown_on(hover)) } });
    }

    /// Draws the points of `dots` as round dots of this diameter, with a text to show on hover.
    pub fn dots(&mut self, class: &str, dots: &Path, diameter: f64, hover: &str) {
        let size = number(diameter);
        self.push(html! {
            path class=(class) stroke-width=(size) d=(dots.commands) { (shown_on(hover)) }
        });
    }

    /// Writes one line of text on the base line `at`.
    pub fn text(&mut self, class: &str, anchor: Anchor, at: (f64, f64), text: &str) {
        self.cut_text(class, anchor, at, text, text);
    }

    /// Writes one line of text, which is `whole` or what there is room for of it: then all of it is shown on hover.
    pub fn cut_text(
        &mut self,
        class: &str,
        anchor: Anchor,
        at: (f64, f64),
        text: &str,
        whole: &str,
    ) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let [x, y] = [at.0, at.1].map(number);
        let hover = if text == whole { "" } else { whole };
        self.push(html! {
            text class=(class) text-anchor=(anchor) x=(x) y=(y) { (text) (shown_on(hover)) }
        });
    }

    /// Adds shapes that are markup already.
    pub(super) fn push(&mut self, shapes: Markup) {
        self.body.push_str(&shapes.into_string());
        self.body.push('\n');
    }

    /// Returns the drawing as an `<svg>` element that screen readers can name.
    ///
    /// `id` is unique in the page; `class` says for which screens the drawing is.
    pub fn finish(self, id: &str, class: &str, title: &str, description: &str) -> Markup {
        let (title_id, desc_id) = (format!("{id}-title"), format!("{id}-desc"));
        let view = format!("0 0 {} {}", number(self.size.0), number(self.size.1));
        html! {
            svg class=(class) role="img" viewBox=(view) aria-labelledby={ (title_id) " " (desc_id) } {
                title id=(title_id) { (title) }
                desc id=(desc_id) { (description) }
                (PreEscaped(self.body))
            }
        }
    }
}

/// The text of a shape that is shown on hover, if there is one.
fn shown_on(hover: &str) -> Markup {
    html! { @if !hover.is_empty() { title { (hover) } } }
}

/// The commands of a path.
#[derive(Clone, Debug, Default)]
pub struct Path {
    commands: String,
}

impl Path {
    /// Returns a path that begins at `at`.
    pub fn from(at: (f64, f64)) -> Self {
        Self::default().jump(at)
    }

    /// Returns a path through all places, or nothing if there are none.
    pub fn through(mut at: impl Iterator<Item = (f64, f64)>) -> Option<Self> {
        let first = at.next()?;
        Some(at.fold(Self::from(first), Self::line))
    }

    /// Jumps to `at`, and goes on from there.
    pub fn jump(mut self, at: (f64, f64)) -> Self {
        self.commands.push_str(&format!("M{} {}", number(at.0), number(at.1)));
        self
    }

    /// Goes straight on to `to`.
    pub fn line(mut self, to: (f64, f64)) -> Self {
        self.commands.push_str(&format!("L{} {}", number(to.0), number(to.1)));
        self
    }

    /// Goes sideways and then up or down to `to`: a step.
    pub fn step(mut self, to: (f64, f64)) -> Self {
        self.commands.push_str(&format!("H{}V{}", number(to.0), number(to.1)));
        self
    }

    /// Jumps to `at` and leaves a line without length there.
    pub fn dot(mut self, at: (f64, f64)) -> Self {
        self.commands.push_str(&format!("M{} {}h0", number(at.0), number(at.1)));
        self
    }

    /// Goes on to `to` along a cubic curve pulled by two points.
    pub fn curve(mut self, pull: [(f64, f64); 2], to: (f64, f64)) -> Self {
        let [a, b] = pull.map(|(x, y)| format!("{} {}", number(x), number(y)));
        self.commands.push_str(&format!("C{a} {b} {} {}", number(to.0), number(to.1)));
        self
    }
}

/// A coordinate, to a tenth of a pixel.
pub(super) fn number(value: f64) -> String {
    ((finite(value) * 10.0).round() / 10.0).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_everywhere() {
        let mut drawing = Drawing::new(10.0, 10.0);
        drawing.text("name", Anchor::Start, (0.0, 0.0), "<b>");
        drawing.rect("bar", (0.0, 0.0), (1.0, 1.0), "</title>");
        let text = drawing.finish("id", "wide", "a<b", "c&d").into_string();
        assert!(!text.contains("<b>") && text.contains("&lt;/title&gt;"));
        assert!(text.contains("a&lt;b") && text.contains("c&amp;d"));
    }

    #[test]
    fn coordinates_are_short_and_finite() {
        assert_eq!([3.0, 2.26, -0.04, f64::NAN].map(number), ["3", "2.3", "-0", "0"]);
    }
}
