//! Bars with names, from top to bottom.

use super::drawing::{Anchor, Drawing};
use super::text::{BOLD, FONT, finite, fit_list, text_width};

/// Height of a row, in pixels.
const ROW_HEIGHT: f64 = 26.0;
/// Thickness of a bar.
const BAR_HEIGHT: f64 = 16.0;
/// Height of the title of a group of bars.
const TITLE_HEIGHT: f64 = 20.0;
/// Space between two groups of bars.
const PANEL_SPACE: f64 = 20.0;
/// Space between a bar and its label.
const GAP: f64 = 8.0;

/// Bars that share a scale.
#[derive(Clone, Debug)]
pub struct BarPanel {
    /// What the bars measure; empty if the chart's title says it.
    pub title: String,
    /// The value of a bar of full length, so that panels of one unit can be compared.
    pub full: f64,
    /// From top to bottom.
    pub bars: Vec<Bar>,
}

/// A bar.
#[derive(Clone, Debug)]
pub struct Bar {
    /// What stands before it: a name, or as many of several as there is room for.
    pub names: Vec<String>,
    /// Its length.
    pub value: f64,
    /// The value in words.
    pub shown: String,
}

impl Bar {
    fn name(&self) -> String {
        self.names.join(", ")
    }
}

impl BarPanel {
    /// Returns bars of which the longest one has the full length.
    pub fn new(title: &str, bars: Vec<Bar>) -> Self {
        let full = bars.iter().map(|bar| finite(bar.value)).fold(0.0, f64::max);
        Self { title: title.to_owned(), full, bars }
    }

    fn title_height(&self) -> f64 {
        if self.title.is_empty() { 0.0 } else { TITLE_HEIGHT }
    }

    fn height(&self) -> f64 {
        self.title_height() + self.bars.len() as f64 * ROW_HEIGHT
    }
}

/// Draws groups of bars, each with a title and a scale of its own; names in one column.
pub fn panels(width: f64, panels: &[BarPanel]) -> Drawing {
    let all = || panels.iter().flat_map(|panel| &panel.bars);
    if all().next().is_none() {
        return Drawing::empty(width);
    }
    let widest =
        |text: fn(&Bar) -> String| all().map(|bar| text_width(&text(bar))).fold(0.0, f64::max);
    let left = widest(Bar::name).min(width * 0.42) + GAP;
    let right = width - widest(|bar| bar.shown.clone()) * BOLD - GAP;
    let space = PANEL_SPACE * (panels.len() - 1) as f64;
    let height = panels.iter().map(BarPanel::height).sum::<f64>() + space + 4.0;
    let mut drawing = Drawing::new(width, height);
    let mut top = 0.0;
    for panel in panels {
        if !panel.title.is_empty() {
            drawing.text("title", Anchor::Start, (left, top + 12.0), &panel.title);
        }
        draw_bars(&mut drawing, top + panel.title_height(), (left, right), panel);
        top += panel.height() + PANEL_SPACE;
    }
    drawing
}

/// Draws the bars of a panel between `left` and `right`, from `top` on.
fn draw_bars(drawing: &mut Drawing, top: f64, (left, right): (f64, f64), panel: &BarPanel) {
    let full = if panel.full > 0.0 { panel.full } else { 1.0 };
    for (row, bar) in panel.bars.iter().enumerate() {
        let y = top + row as f64 * ROW_HEIGHT + 4.0;
        let base = y + BAR_HEIGHT / 2.0 + FONT * 0.35;
        let end = left + (right - left) * (finite(bar.value) / full).clamp(0.0, 1.0);
        let name = bar.name();
        let shown = fit_list(&bar.names, left - GAP, false);
        let hover = format!("{name}: {}", bar.shown);
        drawing.cut_text("name", Anchor::End, (left - GAP, base), &shown, &name);
        drawing.rect("bar", (left, y), ((end - left).max(1.0), BAR_HEIGHT), &hover);
        drawing.text("value", Anchor::Start, (end + 6.0, base), &bar.shown);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_bar_is_full_and_odd_numbers_are_short() {
        let bar = |value| Bar { names: vec!["a".into()], value, shown: "b".into() };
        let panel = BarPanel::new("", vec![bar(f64::NAN), bar(4.0), bar(-1.0), bar(2.0)]);
        assert_eq!(panel.full, 4.0);
        let text = panels(300.0, &[panel]).finish("", "", "", "").into_string();
        let widths: Vec<f64> = text
            .split("<rect ")
            .skip(1)
            .map(|rest| rest.split("width=\"").nth(1).unwrap().split('"').next().unwrap())
            .map(|width| width.parse().unwrap())
            .collect();
        assert_eq!((widths[0], widths[2]), (1.0, 1.0));
        assert!((widths[1] - 2.0 * widths[3]).abs() < 0.2, "{widths:?}");
        assert!(panels(300.0, &[]).finish("", "", "", "").into_string().contains("nothing"));
    }

    #[test]
    fn what_is_cut_is_whole_on_hover() {
        let long = "a/name/that/is/longer/than/there/is/room/for";
        let bar = Bar { names: vec![long.into(), "b".into()], value: 1.0, shown: "1".into() };
        let text = panels(300.0, &[BarPanel::new("", vec![bar])]).finish("", "", "", "");
        let text = text.into_string();
        assert!(text.contains("…") && text.contains("room/for<title>"), "{text}");
        assert!(text.contains(&format!("<title>{long}, b</title></text>")), "{text}");
    }
}
