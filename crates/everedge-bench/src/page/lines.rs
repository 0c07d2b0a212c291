//! Lines over a horizontal axis.

use super::axes::{Axis, Field, Positions, Scale};
use super::drawing::{Anchor, Drawing, Path};
use super::text::{FONT, finite, text_width};

/// Height of the field of figures over an option, in pixels.
const PANEL_HEIGHT: f64 = 190.0;
/// Height of a name in a legend.
const LEGEND_HEIGHT: f64 = 22.0;
/// Classes of the lines of a field; a fifth one begins anew.
pub const CLASSES: [&str; 4] = ["first", "second", "third", "fourth"];

/// Lines that share their axes.
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

/// Names lines one below the other at the right, the first one at height `top`; `names` are their
/// classes and labels.
pub fn legend<'a>(
    drawing: &mut Drawing,
    names: impl Iterator<Item = (&'a str, &'a str)>,
    right: f64,
    top: f64,
) {
    for (row, (class, label)) in names.enumerate() {
        let y = top + row as f64 * LEGEND_HEIGHT;
        let name = format!("name {class}-text");
        drawing.text(&name, Anchor::End, (right - 44.0, y + FONT * 0.35), label);
        let path = Path::from((right - 36.0, y)).line((right - 4.0, y));
        drawing.path(&format!("line {class}"), &path, "");
    }
}

/// Draws fields of lines, one below the other, each with its own axes.
pub(super) fn panels(width: f64, panels: &[LinePanel]) -> Drawing {
    let is_empty = |panel: &LinePanel| panel.lines.iter().all(|line| line.spots.is_empty());
    if panels.iter().all(is_empty) {
        return Drawing::empty(width);
    }
    let height = |panel: &LinePanel| legend_height(panel) + PANEL_HEIGHT + 60.0;
    let mut drawing = Drawing::new(width, panels.iter().map(height).sum());
    let mut top = 0.0;
    for panel in panels {
        draw_panel(&mut drawing, top, panel);
        top += height(panel);
    }
    drawing
}

/// Height of what stands above the field: the title, and names if there are several lines.
fn legend_height(panel: &LinePanel) -> f64 {
    if panel.lines.len() > 1 { panel.lines.len() as f64 * LEGEND_HEIGHT + 8.0 } else { 26.0 }
}

fn draw_panel(drawing: &mut Drawing, top: f64, panel: &LinePanel) {
    let spots = || panel.lines.iter().flat_map(|line| &line.spots);
    let (left, right) = (60.0, drawing.size().0 - 12.0);
    let field_top = top + legend_height(panel);
    let field = Field {
        across: (left, right),
        down: (field_top, field_top + PANEL_HEIGHT),
        x: Axis {
            scale: Scale::Linear,
            domain: with_room(spots().map(|spot| spot.x), (16.0, right - left)),
            title: &panel.x_title,
            ticks: 0,
        },
        y: Axis {
            scale: Scale::Linear,
            domain: (0.0, 1.08 * spots().map(|spot| finite(spot.y)).fold(0.0, f64::max)),
            title: "",
            ticks: 5,
        },
    };
    let at = field.draw(drawing);
    drawing.text("title", Anchor::Start, (0.0, top + 12.0), &panel.title);
    draw_labels(drawing, &field, &at, spots());
    let lines = || CLASSES.iter().cycle().zip(&panel.lines);
    for (class, line) in lines() {
        let spots = line.spots.iter().map(|spot| (at.at((spot.x, spot.y)), &spot.hover));
        if let Some(path) = Path::through(spots.clone().map(|(place, _)| place)) {
            drawing.path(&format!("line {class}"), &path, &line.label);
        }
        for (place, hover) in spots {
            drawing.circle(&format!("dot {class}"), place, 4.0, hover);
        }
    }
    if panel.lines.len() > 1 {
        let names = lines().map(|(class, line)| (*class, line.label.as_str()));
        legend(drawing, names, right, top + 8.0);
    }
}

/// Returns the values' domain with so many pixels free at both ends of so many.
fn with_room(values: impl Iterator<Item = f64>, (free, width): (f64, f64)) -> (f64, f64) {
    let ends = (f64::INFINITY, f64::NEG_INFINITY);
    let (low, high) = values.fold(ends, |(low, high), v| (low.min(v), high.max(v)));
    let spare = (high - low) * free / (width - 2.0 * free);
    if low < high { (low - spare, high + spare) } else { (low - 1.0, low + 1.0) }
}

/// Writes below the field what each spot is, as far as labels do not touch.
fn draw_labels<'a>(
    drawing: &mut Drawing,
    field: &Field<'_>,
    at: &Positions,
    spots: impl Iterator<Item = &'a Spot>,
) {
    let ((left, right), bottom) = (field.across, field.down.1);
    drawing.line("axis", (left, bottom), (right, bottom));
    for (x, label) in spread_labels(spots, |value| at.x(value)) {
        drawing.line("axis", (x, bottom), (x, bottom + 4.0));
        drawing.text("tick", Anchor::Middle, (x, bottom + 18.0), label);
    }
}

/// Positions and labels of the spots, from the left, as far as they do not touch.
fn spread_labels<'a>(
    spots: impl Iterator<Item = &'a Spot>,
    at: impl Fn(f64) -> f64,
) -> Vec<(f64, &'a str)> {
    let mut all: Vec<(f64, &str)> = spots.map(|spot| (at(spot.x), spot.label.as_str())).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut kept: Vec<(f64, &str)> = Vec::new();
    for (at, label) in all {
        let touches =
            |last: &(f64, &str)| at - last.0 < (text_width(label) + text_width(last.1)) / 2.0 + 6.0;
        if !kept.last().is_some_and(touches) {
            kept.push((at, label));
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_that_would_touch_are_left_out() {
        let spot = |x: f64| Spot { x, y: 0.0, label: "label".to_owned(), hover: String::new() };
        let spots = [spot(0.0), spot(0.0), spot(1.0), spot(10.0)];
        let kept = spread_labels(spots.iter(), |x| 10.0 * x);
        assert_eq!(kept, [(0.0, "label"), (100.0, "label")]);
    }
}
