//! Text in charts: how wide it is, and how numbers are written.
//!
//! Letters are measured by a table, because the font of the reader is not known: the estimate is
//! a little too wide for common fonts.

use crate::output::{count, seconds};

/// Size of the letters in charts, in pixels, as in `style.css`.
pub const FONT: f64 = 12.0;

/// How much wider bold letters are.
pub const BOLD: f64 = 1.16;

/// Returns the estimated width of a text in pixels at the size [`FONT`].
pub fn text_width(text: &str) -> f64 {
    let width_of = |c: char| match c {
        'i' | 'j' | 'l' | '\'' | '.' | ',' | ':' | '|' | '!' => 0.30,
        'f' | 'r' | 't' | '-' | ' ' | '(' | ')' => 0.40,
        'm' | 'w' | 'M' | 'W' | '%' | '@' | '…' | '→' => 0.90,
        'A'..='Z' => 0.70,
        _ if c.is_ascii() => 0.60,
        _ => 1.00,
    };
    text.chars().map(width_of).sum::<f64>() * FONT
}

/// Returns the text, or as much of its beginning as fits into `width` pixels, with an ellipsis.
pub fn fit(text: &str, width: f64) -> String {
    // Widths are sums and differences, which are rounded.
    if text_width(text) <= width + 0.01 {
        return text.to_owned();
    }
    let mut kept = String::new();
    for c in text.chars() {
        kept.push(c);
        if text_width(&kept) + text_width("…") > width {
            kept.pop();
            break;
        }
    }
    kept + "…"
}

/// Returns the text in one line of `width` pixels, or in two that are broken after a sign or a space where one is near; what
/// does not fit then is cut off as by [`fit`].
pub fn lines(text: &str, width: f64) -> Vec<String> {
    if fit(text, width) == text {
        return vec![text.to_owned()];
    }
    let mut fitting = 0;
    let mut after_sign = None;
    for (at, c) in text.char_indices() {
        let end = at + c.len_utf8();
        if text_width(&text[..end]) > width {
            break;
        }
        fitting = end;
        after_sign = if c.is_alphanumeric() { after_sign } else { Some(end) };
    }
    let end = after_sign.filter(|end| end * 2 > fitting).unwrap_or(fitting);
    vec![text[..end].trim_end().to_owned(), fit(&text[end..], width)]
}

/// Returns a number of things: `1 package`, `2 packages`.
pub fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// Returns a time in the unit that suits it: `350 µs`, `42.0 ms`, `1.25 s`.
pub fn duration(time: f64) -> String {
    seconds(finite(time).max(0.0))
}

/// Returns the value itself, or 0 where it is no number.
pub fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { 0.0 }
}

/// Returns the label of a tick: whole numbers with commas, millions as `2M`.
pub(super) fn tick_label(value: f64) -> String {
    let rounded = |value: f64| (value * 1e6).round() / 1e6;
    match rounded(finite(value)) {
        v if v >= 1e6 => format!("{}M", rounded(v / 1e6)),
        v if v.fract() == 0.0 && v >= 0.0 => count(v as u64),
        v => v.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_has_two_lines() {
        assert_eq!(lines("short", 40.0), ["short"]);
        assert_eq!(lines("education-desktop-other", 100.0), ["education-", "desktop-other"]);
        assert_eq!(lines("aaaaaaaaaaaa", 50.0), ["aaaaaa", "aaaaaa"]);
        assert_eq!(lines("aaaaaaaaaaaaaaaaaaaa", 50.0)[1], "aaaaa…");
        assert_eq!(lines("", 0.0), [""]);
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(counted(1, "round", "rounds"), "1 round");
        assert_eq!(counted(1_000, "round", "rounds"), "1,000 rounds");
        assert_eq!(duration(f64::NAN), "0 µs");
        let labels = [0.0, 0.1 + 0.2, 0.5, 10_000.0, 250_000.0, 2_500_000.0].map(tick_label);
        assert_eq!(labels, ["0", "0.3", "0.5", "10,000", "250,000", "2.5M"]);
    }

    #[test]
    fn long_names_are_cut_to_the_width() {
        assert_eq!(fit("libc6", 100.0), "libc6");
        let cut = fit("libreoffice-common", 60.0);
        assert!(cut.ends_with('…') && text_width(&cut) <= 60.0, "{cut}");
        assert_eq!(fit("libc6", 0.0), "…");
    }
}
