//! Charts made of bars: shares and histograms.

use everedge_bench::count;
use everedge_bench::page::{Anchor, BOLD, Drawing, text_width};

use super::{Count, Nouns};

/// Height of the columns of a histogram.
const COLUMN_HEIGHT: f64 = 150.0;
/// Width up to which columns may grow.
const COLUMN_WIDTH_MAX: f64 = 80.0;

/// One column of a histogram.
pub(crate) struct Column {
    /// What stands under the column.
    pub(crate) label: String,
    /// Its height.
    pub(crate) count: u64,
    /// What it says on hover.
    pub(crate) hover: String,
}

/// One bar cut in two: the largest component, and all that is outside it.
pub(crate) fn largest_share(width: f64, components: &[Count], nouns: &Nouns) -> Drawing {
    let total: u64 = components.iter().map(|entry| entry.value * entry.count).sum();
    if total == 0 {
        return Drawing::empty(width);
    }
    let largest = components.iter().map(|entry| entry.value).max().unwrap_or(0);
    let outside = total - largest;
    let share = largest as f64 / total as f64;
    let cut = (width * share).clamp(2.0, width - if outside > 0 { 4.0 } else { 0.0 });
    let mut drawing = Drawing::new(width, 62.0);
    let inside_text = format!("{} hang together", nouns.counted(largest));
    let label = format!("{inside_text} ({:.1} %)", share * 100.0);
    let outside_text = format!("{} outside", count(outside));
    drawing.rect("bar", (0.0, 22.0), (cut - 1.0, 30.0), &inside_text);
    drawing.text("label", Anchor::Start, (0.0, 14.0), &label);
    if outside > 0 {
        drawing.rect("bar-other", (cut + 1.0, 22.0), (width - cut - 1.0, 30.0), &outside_text);
        drawing.text("label", Anchor::End, (width, 14.0), &outside_text);
    }
    drawing
}

/// Vertical columns with their counts on top; `titles` name what is counted, and the value below.
pub(crate) fn columns(width: f64, columns: &[Column], titles: (&str, &str)) -> Drawing {
    let most = columns.iter().map(|column| column.count).max().unwrap_or(0);
    if most == 0 {
        return Drawing::empty(width);
    }
    let (top, bottom) = (44.0, 44.0 + COLUMN_HEIGHT);
    let slot = (width / columns.len() as f64).min(COLUMN_WIDTH_MAX);
    let widest = columns.iter().map(|column| text_width(&column.label)).fold(0.0, f64::max);
    let every = ((widest + 4.0) / slot).ceil().max(1.0) as usize;
    let mut drawing = Drawing::new(width, bottom + 44.0);
    drawing.text("title", Anchor::Start, (0.0, 12.0), titles.0);
    for (position, column) in columns.iter().enumerate() {
        let x = position as f64 * slot;
        let height = (bottom - top) * column.count as f64 / most as f64;
        let height = if column.count > 0 { height.max(1.5) } else { 0.0 };
        let middle = x + slot / 2.0;
        let count = count(column.count);
        drawing.rect("bar", (x + 1.0, bottom - height), (slot - 2.0, height), &column.hover);
        if column.count > 0 && text_width(&count) * BOLD <= slot {
            drawing.text("value", Anchor::Middle, (middle, bottom - height - 5.0), &count);
        }
        if position % every == 0 {
            drawing.text("tick", Anchor::Middle, (middle, bottom + 17.0), &column.label);
        }
    }
    let end = slot * columns.len() as f64;
    drawing.line("axis", (0.0, bottom), (end, bottom));
    drawing.text("title", Anchor::Start, (0.0, bottom + 36.0), titles.1);
    drawing
}

/// Columns for the components without the largest one: how many there are of each size.
///
/// Sizes above the `sizes_max - 1` smallest ones share the last column.
pub(crate) fn component_tail(components: &[Count], sizes_max: usize, nouns: &Nouns) -> Vec<Column> {
    let column_of = |label: String, number: u64| {
        let hover = format!("components of {label} {}: {}", nouns.many, count(number));
        Column { label, count: number, hover }
    };
    let mut tail: Vec<Count> = components.iter().copied().filter(|entry| entry.count > 0).collect();
    tail.sort_by_key(|entry| entry.value);
    if let Some(largest) = tail.last_mut() {
        largest.count -= 1;
    }
    tail.retain(|entry| entry.count > 0);
    let shown = if tail.len() > sizes_max { sizes_max - 1 } else { tail.len() };
    let mut columns: Vec<Column> =
        tail[..shown].iter().map(|entry| column_of(entry.value.to_string(), entry.count)).collect();
    if let Some(next) = tail.get(shown) {
        let count = tail[shown..].iter().map(|entry| entry.count).sum();
        columns.push(column_of(format!("{}+", next.value), count));
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::super::VERTICES;
    use super::*;

    #[test]
    fn tail_leaves_out_the_largest_and_joins_the_rest() {
        let count = |value, count| Count { value, count };
        let components = [count(900, 1), count(2, 30), count(3, 4), count(5, 2), count(9, 1)];
        let columns = component_tail(&components, 3, &VERTICES);
        let shown: Vec<_> = columns.iter().map(|c| (c.label.as_str(), c.count)).collect();
        assert_eq!(shown, [("2", 30), ("3", 4), ("5+", 3)]);
        assert!(component_tail(&[count(7, 1)], 3, &VERTICES).is_empty());
        assert!(component_tail(&[], 3, &VERTICES).is_empty());
    }
}
