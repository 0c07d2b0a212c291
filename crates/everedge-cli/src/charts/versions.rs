//! The number of edges from version to version.

use everedge_bench::count;
use everedge_bench::page::{Axis, CLASSES, Drawing, Field, Path, Scale};

/// Height of the field, in pixels.
const FIELD_HEIGHT: f64 = 190.0;
/// Room for what stands above the field.
const TOP: f64 = 26.0;
/// More versions than these are a line without dots.
const DOTS_MAX: usize = 60;

/// Draws a line through pairs of a version's number and its edges, ascending.
pub(crate) fn draw(width: f64, versions: &[(u64, u64)]) -> Drawing {
    let (Some(first), Some(last)) = (versions.first(), versions.last()) else {
        return Drawing::empty(width);
    };
    let most = versions.iter().map(|&(_, edges)| edges).max().unwrap_or(0).max(1);
    let field = Field {
        across: (64.0, width - 12.0),
        down: (TOP, TOP + FIELD_HEIGHT),
        x: Axis {
            scale: Scale::Linear,
            domain: (first.0 as f64, (last.0.max(first.0 + 1)) as f64),
            title: "version",
            ticks: 6,
        },
        y: Axis {
            scale: Scale::Linear,
            domain: (0.0, most as f64 * 1.08),
            title: "edges",
            ticks: 5,
        },
    };
    let mut drawing = Drawing::new(width, field.down.1 + 44.0);
    let at = field.draw(&mut drawing);
    let spots = || versions.iter().map(|&(number, edges)| at.at((number as f64, edges as f64)));
    if let Some(path) = Path::through(spots()) {
        drawing.path(&format!("line {}", CLASSES[0]), &path, "edges");
    }
    if versions.len() <= DOTS_MAX {
        for (spot, &(number, edges)) in spots().zip(versions) {
            let hover = format!("version {number}: {} edges", count(edges));
            drawing.circle(&format!("dot {}", CLASSES[0]), spot, 3.0, &hover);
        }
    }
    drawing
}
