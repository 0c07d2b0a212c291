//! The degree distribution: how many vertices have at least a given degree.

use everedge_bench::count;
use everedge_bench::page::{Axis, CLASSES, Drawing, Field, Path, Positions, Scale, legend};

use super::{Count, Nouns};

/// Height of the field, in pixels.
const FIELD_HEIGHT: f64 = 280.0;
/// Pixels between two dots at least.
const DOT_SPACE: f64 = 14.0;

/// A line of the degree distribution.
pub(crate) struct DegreeLine<'a> {
    /// What it counts.
    pub(crate) label: &'a str,
    /// How many vertices have which degree, ascending.
    pub(crate) counts: &'a [Count],
}

/// A line as it is drawn.
struct Survival<'a> {
    /// Class of its path and its label.
    class: &'static str,
    /// What it counts.
    label: &'a str,
    /// Pairs (degree, vertices with at least that degree), ascending by degree.
    points: Vec<(f64, f64)>,
}

/// Draws up to four lines; both axes are logarithmic. `title` says what a degree is.
pub(crate) fn draw(width: f64, lines: &[DegreeLine<'_>], nouns: &Nouns, title: &str) -> Drawing {
    let lines: Vec<Survival<'_>> = CLASSES
        .iter()
        .zip(lines)
        .map(|(class, line)| Survival { class, label: line.label, points: survival(line.counts) })
        .collect();
    let points = || lines.iter().flat_map(|line| &line.points);
    let degree_max = points().map(|point| point.0).fold(0.0, f64::max);
    let count_max = points().map(|point| point.1).fold(0.0, f64::max);
    if count_max == 0.0 {
        return Drawing::empty(width);
    }
    let (right, top) = (width - 12.0, 26.0);
    let field = Field {
        across: (60.0, right),
        down: (top, top + FIELD_HEIGHT),
        x: Axis { scale: Scale::Log, domain: (1.0, degree_max * 1.3), title, ticks: 6 },
        y: Axis {
            scale: Scale::Log,
            domain: (0.8, count_max * 1.2),
            title: &format!("{} with at least this many", nouns.many),
            ticks: 6,
        },
    };
    let mut drawing = Drawing::new(width, field.down.1 + 44.0);
    let at = field.draw(&mut drawing);
    for line in lines.iter().filter(|line| !line.points.is_empty()) {
        draw_survival(&mut drawing, line, &at, nouns);
    }
    if lines.len() > 1 {
        legend(&mut drawing, lines.iter().map(|line| (line.class, line.label)), right, top + 20.0);
    }
    drawing
}

fn draw_survival(drawing: &mut Drawing, line: &Survival<'_>, at: &Positions, nouns: &Nouns) {
    if let Some(path) = Path::through(line.points.iter().map(|&point| at.at(point))) {
        drawing.path(&format!("line {}", line.class), &path, line.label);
    }
    for point in spread_out(&line.points, at) {
        let (degree, number) = (count(point.0 as u64), nouns.counted(point.1 as u64));
        let hover = format!("{number}: {} {degree} or more", line.label);
        drawing.circle(&format!("dot {}", line.class), at.at(point), 3.0, &hover);
    }
}

/// Vertices with at least each degree, for the degrees from 1 that occur.
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
fn spread_out(points: &[(f64, f64)], at: &Positions) -> Vec<(f64, f64)> {
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for point in points.iter().rev() {
        if kept.last().is_none_or(|last| at.x(last.0) - at.x(point.0) >= DOT_SPACE) {
            kept.push(*point);
        }
    }
    kept
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
}
