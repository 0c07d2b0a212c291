//! Text in the report: escaping, width, and how numbers are written.
//!
//! Letters are measured by a table, because the font of the reader is not known: the estimate is
//! a little too wide for common fonts.

use super::scale::finite;

/// Size of the letters in plots, in pixels, as in `style.css`.
pub(super) const FONT: f64 = 12.0;

/// How much wider bold letters are.
pub(super) const BOLD: f64 = 1.16;

/// Escapes a text for HTML, in content as well as in quoted attributes.
///
/// Control characters that HTML does not allow become the replacement character.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\t' | '\n' => escaped.push(c),
            c if c.is_control() => escaped.push(char::REPLACEMENT_CHARACTER),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Estimated width of a text in pixels at the size [`FONT`].
pub(super) fn text_width(text: &str) -> f64 {
    let width_of = |c: char| match c {
        'i' | 'j' | 'l' | '\'' | '.' | ',' | ':' | '|' | '!' => 0.30,
        'f' | 'r' | 't' | '-' | ' ' | '\u{a0}' | '(' | ')' => 0.40,
        'm' | 'w' | 'M' | 'W' | '%' | '@' | '…' | '→' => 0.90,
        'A'..='Z' => 0.70,
        _ if c.is_ascii() => 0.60,
        _ => 1.00,
    };
    text.chars().map(width_of).sum::<f64>() * FONT
}

/// The text, or as much of its beginning as fits into `width` pixels, with an ellipsis.
pub(super) fn fit(text: &str, width: f64) -> String {
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

/// A whole number with commas: `60,586`.
pub(super) fn with_commas(value: u64) -> String {
    let digits = value.to_string();
    let mut grouped = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A number of things: `1 package`, `2 packages`.
pub(super) fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", with_commas(count), if count == 1 { one } else { many })
}

/// A time in the unit that suits it: `350 µs`, `42 ms`, `1.25 s`; the space does not break.
pub(super) fn duration(seconds: f64) -> String {
    match finite(seconds).max(0.0) {
        s if s < 0.000_999_5 => format!("{:.0}\u{a0}µs", s * 1e6),
        s if s < 0.009_995 => format!("{}\u{a0}ms", trimmed(s * 1e3)),
        s if s < 0.999_5 => format!("{:.0}\u{a0}ms", s * 1e3),
        s => format!("{}\u{a0}s", trimmed(s)),
    }
}

/// At most two decimals, without zeros at the end.
pub(super) fn trimmed(value: f64) -> String {
    let text = format!("{:.2}", finite(value));
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_leaves_no_markup() {
        assert_eq!(escape("<a b=\"x\">&'\u{1}"), "&lt;a b=&quot;x&quot;&gt;&amp;&#39;\u{fffd}");
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(with_commas(1_234_567), "1,234,567");
        assert_eq!(with_commas(999), "999");
        assert_eq!(counted(1, "round", "rounds"), "1 round");
        assert_eq!(counted(1_000, "round", "rounds"), "1,000 rounds");
    }

    #[test]
    fn durations_change_their_unit() {
        let texts = [0.000_35, 0.0042, 0.042, 0.9999, 1.25, f64::NAN].map(duration);
        let expected = ["350 µs", "4.2 ms", "42 ms", "1 s", "1.25 s", "0 µs"];
        assert_eq!(texts, expected.map(|text| text.replace(' ', "\u{a0}")));
    }

    #[test]
    fn long_names_are_cut_to_the_width() {
        assert_eq!(fit("libc6", 100.0), "libc6");
        let cut = fit("libreoffice-common", 60.0);
        assert!(cut.ends_with('…') && text_width(&cut) <= 60.0, "{cut}");
        assert_eq!(fit("libc6", 0.0), "…");
    }
}
