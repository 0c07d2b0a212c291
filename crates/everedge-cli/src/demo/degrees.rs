//! The degree distribution: how many packages have at least a given degree.

use everedge_bench::count;
use everedge_bench::page::{Axis, CLASSES, Drawing, Field, Path, Positions, Scale, legend};

use super::report::Count;

/// Height of the field, in pixels.
const FIELD_HEIGHT: f64 = 280.0;
/// Pixels between two dots at least.
const DOT_SPACE: f64 = 14.0;

/// A line of the degree distribution.
struct Survival {
    /// Class of its path and its label.
    class: &'static str,
    /// What it counts.
    label: &'static str,
    /// Pairs (degree, packages with at least that degree), ascending by degree.
    points: Vec<(f64, f64)>,
}

/// Draws one line a direction; both axes are logarithmic.
pub(super) fn draw(width: f64, incoming: &[Count], outgoing: &[Count]) -> Drawing {
    let lines = [
        Survival { class: CLASSES[0], label: "depended on by", points: survival(incoming) },
        Survival { class: CLASSES[1], label: "depends on", points: survival(outgoing) },
    ];
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
        x: Axis {
            scale: Scale::Log,
            domain: (1.0, degree_max * 1.3),
            title: "degree: number of packages on the other end",
            ticks: 6,
        },
        y: Axis {
            scale: Scale::Log,
            domain: (0.8, count_max * 1.2),
            title: "packages with at least this many",
            ticks: 6,
        },
    };
    let mut drawing = Drawing::new(width, field.down.1 + 44.0);
    let at = field.draw(&mut drawing);
    for line in lines.iter().filter(|line| !line.points.is_empty()) {
        draw_survival(&mut drawing, line, &at);
    }
    legend(&mut drawing, lines.iter().map(|line| (line.class, line.label)), right, top + 20.0);
    drawing
}

fn draw_survival(drawing: &mut Drawing, line: &Survival, at: &Positions) {
    if let Some(path) = Path::through(line.points.iter().map(|&point| at.at(point))) {
        drawing.path(&format!("line {}", line.class), &path, line.label);
    }
    for point in spread_out(&line.points, at) {
        let (degree, packages) = (count(point.0 as u64), count(point.1 as u64));
        let hover = format!("{packages} packages: {} {degree} or more", line.label);
        drawing.circle(&format!("dot {}", line.class), at.at(point), 3.0, &hover);
    }
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
