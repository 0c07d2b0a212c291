//! The reach of a search: a bar for each depth.

use everedge_bench::count;
use everedge_bench::page::{Anchor, Drawing, FONT, counted, fit_list};

use super::report::{Reach, ReachLevel};

/// Thickness of a bar, in pixels.
const BAR_HEIGHT: f64 = 16.0;
/// Height of a row: a bar and a line of names.
const LEVEL_HEIGHT: f64 = 46.0;
/// Space between a bar and its label.
const GAP: f64 = 8.0;

/// One bar a depth, with names of packages that the search first meets there.
pub(super) fn draw(width: f64, reach: &Reach) -> Drawing {
    let most = reach.levels.iter().map(|level| level.packages).max().unwrap_or(0);
    if most == 0 {
        return Drawing::empty(width);
    }
    let left = 62.0;
    let mut drawing = Drawing::new(width, reach.levels.len() as f64 * LEVEL_HEIGHT + 2.0);
    for (depth, level) in reach.levels.iter().enumerate() {
        let y = depth as f64 * LEVEL_HEIGHT + 4.0;
        let base = y + BAR_HEIGHT / 2.0 + FONT * 0.35;
        let hover = counted(level.packages, "package", "packages");
        let bar = (width - left - 60.0) * level.packages as f64 / most as f64;
        drawing.text("label", Anchor::End, (left - GAP, base), &format!("depth {depth}"));
        drawing.rect("bar", (left, y), (bar.max(2.0), BAR_HEIGHT), &hover);
        drawing.text(
            "value",
            Anchor::Start,
            (left + bar.max(2.0) + 6.0, base),
            &count(level.packages),
        );
        drawing.text("note", Anchor::Start, (left, y + 32.0), &example_line(level, width - left));
    }
    drawing
}

/// As many example names as fit into `width`, and an ellipsis where others follow.
fn example_line(level: &ReachLevel, width: f64) -> String {
    fit_list(&level.examples, width, level.packages > level.examples.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_end_where_the_space_ends() {
        let names = ["libc6", "dpkg", "perl"].map(str::to_owned).to_vec();
        let level = ReachLevel { packages: 3, examples: names };
        assert_eq!(example_line(&level, 500.0), "libc6, dpkg, perl");
        assert_eq!(example_line(&level, 90.0), "libc6, dpkg, …");
        assert_eq!(
            example_line(&ReachLevel { packages: 9, ..level }, 500.0),
            "libc6, dpkg, perl, …"
        );
    }
}
