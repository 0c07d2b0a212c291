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
    text.chars().map(letter_width).sum()
}

fn letter_width(letter: char) -> f64 {
    let by_size = match letter {
        'i' | 'j' | 'l' | '\'' | '.' | ',' | ':' | '|' | '!' => 0.30,
        'f' | 'r' | 't' | '-' | ' ' | '(' | ')' => 0.40,
        'm' | 'w' | 'M' | 'W' | '%' | '@' | '…' | '→' => 0.90,
        'A'..='Z' => 0.70,
        _ if letter.is_ascii() => 0.60,
        _ => 1.00,
    };
    by_size * FONT
}

/// Returns the text, or as much of its beginning and its end as fits into `width` pixels, with an ellipsis between them: long
/// names are often alike at one of their ends.
pub fn fit(text: &str, width: f64) -> String {
    // Widths are sums and differences, which are rounded.
    if text_width(text) <= width + 0.01 {
        return text.to_owned();
    }
    let letters: Vec<char> = text.chars().collect();
    let (mut start, mut end) = (0, letters.len());
    let mut room = width - letter_width('…');
    while start < end {
        let is_at_start = start <= letters.len() - end;
        room -= letter_width(letters[if is_at_start { start } else { end - 1 }]);
        if room < 0.0 {
            break;
        }
        if is_at_start { start += 1 } else { end -= 1 }
    }
    letters[..start].iter().chain(['…'].iter()).chain(&letters[end..]).collect()
}

/// Returns as many of the names as fit into `width` pixels, and an ellipsis where others follow: in the list, or after all of it
/// if it has `more`. A first name that is too long is cut as by [`fit`].
pub fn fit_list(names: &[String], width: f64, more: bool) -> String {
    const MORE: &str = ", …";
    let mut line = String::new();
    for (shown, name) in names.iter().enumerate() {
        let longer = if shown == 0 { name.clone() } else { format!("{line}, {name}") };
        let is_last = shown + 1 == names.len() && !more;
        let room = if is_last { width } else { width - text_width(MORE) };
        if text_width(&longer) > room + 0.01 {
            return if shown == 0 { fit(name, width) } else { line + MORE };
        }
        line = longer;
    }
    if more { line + MORE } else { line }
}

/// Returns the text in one line of `width` pixels, or in two that are broken after a sign or a space where one is near; what
/// does not fit then is cut as by [`fit`].
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
        assert_eq!(lines("aaaaaaaaaaaaaaaaaaab", 50.0), ["aaaaaa", "aaa…ab"]);
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
    fn long_names_are_cut_in_their_middle() {
        assert_eq!(fit("libc6", 100.0), "libc6");
        let cut = fit("libreoffice-common", 60.0);
        assert!(cut.starts_with("lib") && cut.ends_with("on"), "{cut}");
        assert!(cut.contains('…') && text_width(&cut) <= 60.0, "{cut}");
        assert_eq!(fit("libc6", 0.0), "…");
        let alike = ["org/department/first", "org/department/second"].map(|name| fit(name, 80.0));
        assert_ne!(alike[0], alike[1]);
    }

    #[test]
    fn lists_end_where_the_space_ends() {
        let names = ["libc6", "dpkg", "perl"].map(str::to_owned);
        assert_eq!(fit_list(&names, 500.0, false), "libc6, dpkg, perl");
        assert_eq!(fit_list(&names, 500.0, true), "libc6, dpkg, perl, …");
        assert_eq!(fit_list(&names, 90.0, false), "libc6, dpkg, …");
        assert_eq!(fit_list(&names, text_width("libc6, dpkg, perl"), false), "libc6, dpkg, perl");
        assert_eq!(fit_list(&names, 28.0, false), fit("libc6", 28.0));
        assert_eq!(fit_list(&[], 28.0, false), "");
    }
}
