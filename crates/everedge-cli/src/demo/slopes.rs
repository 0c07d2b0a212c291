//! The ranking before and after: two columns of names, joined by lines.

use everedge_bench::count;
use everedge_bench::page::{Anchor, BOLD, Drawing, FONT, Path, fit, text_width};

use super::report::RankChange;

/// Height of a row, in pixels.
const ROW_HEIGHT: f64 = 26.0;
/// Width that the lines need at least.
const LINES_MIN: f64 = 80.0;

/// Two columns of names, in order of their place before and after, joined by lines.
pub(super) fn draw(width: f64, changes: &[RankChange]) -> Drawing {
    if changes.is_empty() {
        return Drawing::empty(width);
    }
    let before = order(changes, |change| change.before);
    let after = order(changes, |change| change.after);
    let widest = |label: &dyn Fn(&RankChange) -> String| {
        let widths = changes.iter().map(|change| text_width(&label(change)));
        widths.fold(0.0, f64::max) * BOLD + 12.0
    };
    let was = |change: &RankChange| label(change.before, change);
    let is = |change: &RankChange| label(change.after, change);
    // Where both columns of names leave no room for the lines, the right one has the places alone.
    let are_named_twice = widest(&was) + widest(&is) + LINES_MIN <= width;
    let is = |change: &RankChange| match are_named_twice {
        true => is(change),
        false => count(change.after),
    };
    let left = widest(&was).min(width * 0.6);
    let right = width - widest(&is);
    let mut drawing = Drawing::new(width, changes.len() as f64 * ROW_HEIGHT + 34.0);
    drawing.text("title", Anchor::End, (left - 10.0, 14.0), "before");
    drawing.text("title", Anchor::Start, (right + 10.0, 14.0), "after");
    for (index, change) in changes.iter().enumerate() {
        let (from, to) = ((left, row(before[index])), (right, row(after[index])));
        let class = direction(change);
        let pull = (right - left) * 0.4;
        let path = Path::from(from).curve([(left + pull, from.1), (right - pull, to.1)], to);
        let (from_place, to_place) = (count(change.before), count(change.after));
        let hover = format!("{}: {from_place} → {to_place}", change.name);
        drawing.path(&format!("slope {class}"), &path, &hover);
        drawing.circle(&format!("dot {class}"), from, 3.5, "");
        drawing.circle(&format!("dot {class}"), to, 3.5, "");
        let class = format!("name {class}-text");
        let (name, y) = (was(change), FONT * 0.35);
        let shown = fit(&name, (left - 10.0) / BOLD);
        drawing.cut_text(&class, Anchor::End, (left - 10.0, from.1 + y), &shown, &name);
        drawing.text(&class, Anchor::Start, (right + 10.0, to.1 + y), &is(change));
    }
    drawing
}

fn label(rank: u64, change: &RankChange) -> String {
    format!("{}. {}", count(rank), change.name)
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
    fn rows_follow_the_ranks() {
        let change = |before, after| RankChange { name: String::new(), before, after };
        let changes = [change(1, 90), change(2, 1), change(7, 2)];
        assert_eq!(order(&changes, |change| change.before), [0, 1, 2]);
        assert_eq!(order(&changes, |change| change.after), [2, 0, 1]);
        assert_eq!(changes.each_ref().map(direction), ["fell", "rose", "rose"]);
    }
}
