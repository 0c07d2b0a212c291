//! Plots made of lines: the degree distribution, the ranking before and after, and figures over
//! an option.

use super::scale::Scale;
use super::svg::{Anchor, Path, Svg};
use super::text::{BOLD, FONT, fit, text_width, with_commas};
use super::{Count, LinePanel, RankChange, Spot};

/// Height of the field of the degree distribution, in pixels.
const FIELD_HEIGHT: f64 = 280.0;
/// Height of the field of figures over an option.
const PANEL_HEIGHT: f64 = 190.0;
/// Height of a name in a legend.
const LEGEND_HEIGHT: f64 = 22.0;
/// Classes of the lines of a field; a third one begins anew.
const CLASSES: [&str; 2] = ["first", "second"];
/// Height of a row of the slope chart.
const ROW_HEIGHT: f64 = 26.0;

/// A line of the degree distribution.
struct Survival {
    /// Class of its path and its label.
    class: &'static str,
    /// What it counts.
    label: &'static str,
    /// Pairs (degree, packages with at least that degree), ascending by degree.
    points: Vec<(f64, f64)>,
}

/// How many packages have at least a given degree: both axes logarithmic, one line a direction.
pub(super) fn degrees(width: f64, incoming: &[Count], outgoing: &[Count]) -> Svg {
    let lines = [
        Survival { class: CLASSES[0], label: "depended on by", points: survival(incoming) },
        Survival { class: CLASSES[1], label: "depends on", points: survival(outgoing) },
    ];
    let points = || lines.iter().flat_map(|line| &line.points);
    let degree_max = points().map(|point| point.0).fold(0.0, f64::max);
    let count_max = points().map(|point| point.1).fold(0.0, f64::max);
    if count_max == 0.0 {
        return Svg::empty(width);
    }
    let (left, right) = (60.0, width - 12.0);
    let (top, bottom) = (26.0, 26.0 + FIELD_HEIGHT);
    let x = Scale::log((1.0, degree_max * 1.3), (left, right));
    let y = Scale::log((0.8, count_max * 1.2), (bottom, top));
    let mut svg = Svg::new(width, bottom + 44.0);
    svg.axis_left(&y, left, right, "packages with at least this many");
    svg.axis_bottom(&x, bottom, "degree: number of packages on the other end");
    for line in lines.iter().filter(|line| !line.points.is_empty()) {
        draw_survival(&mut svg, line, &x, &y);
    }
    let names = lines.iter().map(|line| (line.class, line.label));
    draw_legend(&mut svg, names, right, top + 20.0);
    svg
}

fn draw_survival(svg: &mut Svg, line: &Survival, x: &Scale, y: &Scale) {
    let at = |point: &(f64, f64)| (x.at(point.0), y.at(point.1));
    draw_path(svg, line.class, line.label, line.points.iter().map(at));
    for point in spread_out(&line.points, x) {
        let (degree, count) = (with_commas(point.0 as u64), with_commas(point.1 as u64));
        let hover = format!("{count} packages: {} {degree} or more", line.label);
        svg.circle(&format!("dot {}", line.class), at(&point), 3.0, &hover);
    }
}

/// A line through all places.
fn draw_path(svg: &mut Svg, class: &str, label: &str, mut at: impl Iterator<Item = (f64, f64)>) {
    if let Some(first) = at.next() {
        let path = at.fold(Path::from(first), Path::line);
        svg.path(&format!("line {class}"), &path, label);
    }
}

/// Names the lines one below the other at the right, the first one at height `top`.
fn draw_legend<'a>(
    svg: &mut Svg,
    names: impl Iterator<Item = (&'a str, &'a str)>,
    right: f64,
    top: f64,
) {
    for (row, (class, label)) in names.enumerate() {
        let y = top + row as f64 * LEGEND_HEIGHT;
        let text = right - 44.0;
        let name = format!("name {class}-text");
        svg.text(&name, Anchor::End, (text, y + FONT * 0.35), label);
        let path = Path::from((right - 36.0, y)).line((right - 4.0, y));
        svg.path(&format!("line {class}"), &path, "");
    }
}

/// Fields of lines, one below the other, each with its own axes.
pub(super) fn panels(width: f64, panels: &[LinePanel]) -> Svg {
    let height = |panel: &LinePanel| legend_height(panel) + PANEL_HEIGHT + 60.0;
    let is_empty = |panel: &LinePanel| panel.lines.iter().all(|line| line.spots.is_empty());
    if panels.iter().all(is_empty) {
        return Svg::empty(width);
    }
    let mut svg = Svg::new(width, panels.iter().map(height).sum());
    let mut top = 0.0;
    for panel in panels {
        draw_panel(&mut svg, width, top, panel);
        top += height(panel);
    }
    svg
}

/// Height of what stands above the field: the title, and names if there are several lines.
fn legend_height(panel: &LinePanel) -> f64 {
    if panel.lines.len() > 1 { panel.lines.len() as f64 * LEGEND_HEIGHT + 8.0 } else { 26.0 }
}

fn draw_panel(svg: &mut Svg, width: f64, top: f64, panel: &LinePanel) {
    let spots = || panel.lines.iter().flat_map(|line| &line.spots);
    let ends = |values: &dyn Fn(&Spot) -> f64| {
        let (low, high) = (f64::INFINITY, f64::NEG_INFINITY);
        spots().map(values).fold((low, high), |(low, high), v| (low.min(v), high.max(v)))
    };
    let (x_min, x_max) = ends(&|spot| spot.x);
    let y_max = ends(&|spot| spot.y).1;
    let (left, right) = (60.0, width - 12.0);
    let field_top = top + legend_height(panel);
    let bottom = field_top + PANEL_HEIGHT;
    let x = Scale::linear((x_min, x_max), (left + 16.0, right - 16.0));
    let y = Scale::linear((0.0, y_max * 1.08), (bottom, field_top));
    svg.axis_left(&y, left, right, "");
    svg.text("title", Anchor::Start, (0.0, top + 12.0), &panel.title);
    svg.line("axis", (left, bottom), (right, bottom));
    for (x, label) in spread_labels(spots(), &x) {
        svg.line("axis", (x, bottom), (x, bottom + 4.0));
        svg.text("tick", Anchor::Middle, (x, bottom + 18.0), label);
    }
    svg.text("title", Anchor::End, (right, bottom + 36.0), &panel.x_title);
    let lines = || CLASSES.iter().cycle().zip(&panel.lines);
    for (class, line) in lines() {
        let at = |spot: &Spot| (x.at(spot.x), y.at(spot.y));
        draw_path(svg, class, &line.label, line.spots.iter().map(at));
        for spot in &line.spots {
            svg.circle(&format!("dot {class}"), at(spot), 4.0, &spot.hover);
        }
    }
    if panel.lines.len() > 1 {
        draw_legend(
            svg,
            lines().map(|(class, line)| (*class, line.label.as_str())),
            right,
            top + 8.0,
        );
    }
}

/// Positions and labels of the spots, from the left, as far as they do not touch.
fn spread_labels<'a>(spots: impl Iterator<Item = &'a Spot>, x: &Scale) -> Vec<(f64, &'a str)> {
    let mut all: Vec<(f64, &str)> = spots.map(|spot| (x.at(spot.x), spot.label.as_str())).collect();
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

/// Packages with at least each degree, for the degrees from 1 that occur.
fn survival(counts: &[Count]) -> Vec<(f64, f64)> {
    let mut at_least = 0u64;
    let mut points: Vec<(f64, f64)> = Vec::new();
    for entry in counts.iter().rev().filter(|entry| entry.value > 0 && entry.count > 0) {
        at_least += entry.count;
        points.push((entry.value as f64, at_least as f64));
    }
    points.reverse();
    points
}

/// The points that are at least a few pixels apart, and always the last one.
fn spread_out(points: &[(f64, f64)], x: &Scale) -> Vec<(f64, f64)> {
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for point in points.iter().rev() {
        if kept.last().is_none_or(|last| x.at(last.0) - x.at(point.0) >= 14.0) {
            kept.push(*point);
        }
    }
    kept
}

/// Two columns of names, in order of their place before and after, joined by lines.
pub(super) fn slopes(width: f64, changes: &[RankChange]) -> Svg {
    if changes.is_empty() {
        return Svg::empty(width);
    }
    let before = order(changes, |change| change.before);
    let after = order(changes, |change| change.after);
    let labels =
        changes.iter().map(|change| text_width(&label(change.after.max(change.before), change)));
    let side = (labels.fold(0.0, f64::max) * BOLD + 12.0).min(width * 0.39);
    let (left, right) = (side, width - side);
    let mut svg = Svg::new(width, changes.len() as f64 * ROW_HEIGHT + 34.0);
    svg.text("title", Anchor::End, (left - 10.0, 14.0), "before");
    svg.text("title", Anchor::Start, (right + 10.0, 14.0), "after");
    for (index, change) in changes.iter().enumerate() {
        let (from, to) = ((left, row(before[index])), (right, row(after[index])));
        let class = direction(change);
        let pull = (right - left) * 0.4;
        let path = Path::from(from).curve([(left + pull, from.1), (right - pull, to.1)], to);
        let (was, is) = (with_commas(change.before), with_commas(change.after));
        svg.path(&format!("slope {class}"), &path, &format!("{}: {was} → {is}", change.name));
        svg.circle(&format!("dot {class}"), from, 3.5, "");
        svg.circle(&format!("dot {class}"), to, 3.5, "");
        let text = |rank| fit(&label(rank, change), (side - 10.0) / BOLD);
        let class = format!("name {class}-text");
        svg.text(&class, Anchor::End, (left - 10.0, from.1 + FONT * 0.35), &text(change.before));
        svg.text(&class, Anchor::Start, (right + 10.0, to.1 + FONT * 0.35), &text(change.after));
    }
    svg
}

fn label(rank: u64, change: &RankChange) -> String {
    format!("{}. {}", with_commas(rank), change.name)
}

fn row(position: usize) -> f64 {
    36.0 + position as f64 * ROW_HEIGHT
}

fn direction(change: &RankChange) -> &'static str {
    match change.after.cmp(&change.before) {
        std::cmp::Ordering::Less => "rose",
        std::cmp::Ordering::Equal => "stayed",
        std::cmp::Ordering::Greater => "fell",
    }
}

/// The row of each change when they are sorted by `rank`; equal ranks keep their order.
fn order(changes: &[RankChange], rank: impl Fn(&RankChange) -> u64) -> Vec<usize> {
    let mut sorted: Vec<usize> = (0..changes.len()).collect();
    sorted.sort_by_key(|&index| rank(&changes[index]));
    let mut rows = vec![0; changes.len()];
    for (row, index) in sorted.into_iter().enumerate() {
        rows[index] = row;
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn survival_counts_from_the_high_end_and_skips_degree_zero() {
        let counts = [(0, 5), (1, 10), (3, 2), (8, 1)].map(|(value, count)| Count { value, count });
        assert_eq!(survival(&counts), [(1.0, 13.0), (3.0, 3.0), (8.0, 1.0)]);
        assert!(survival(&[]).is_empty());
    }

    #[test]
    fn labels_that_would_touch_are_left_out() {
        let spot = |x: f64| Spot { x, y: 0.0, label: "label".to_owned(), hover: String::new() };
        let spots = [spot(0.0), spot(0.0), spot(1.0), spot(10.0)];
        let kept = spread_labels(spots.iter(), &Scale::linear((0.0, 10.0), (0.0, 100.0)));
        assert_eq!(kept, [(0.0, "label"), (100.0, "label")]);
    }

    #[test]
    fn rows_follow_the_ranks() {
        let change = |before, after| RankChange { name: String::new(), before, after };
        let changes = [change(1, 90), change(2, 1), change(7, 2)];
        assert_eq!(order(&changes, |change| change.before), [0, 1, 2]);
        assert_eq!(order(&changes, |change| change.after), [2, 0, 1]);
        assert_eq!(changes.each_ref().map(direction), ["fell", "rose", "rose"]);
    }
}
