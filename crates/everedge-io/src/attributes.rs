//! The attributes of an edge as NetworkX writes them: a dict of Python at the end of a line.
//!
//! Source: NetworkX 3, `readwrite.edgelist`. Of the attributes only `weight` is read.
//!
//! # Example
//! ```text
//! 1 2 {'weight': 3.5, 'color': 'red'}
//! ```
//! is an edge of weight 3.5.

use crate::error::{Fault, quote};
use crate::rules::{Rules, null_weight};

/// The attribute that is read.
pub(crate) const WEIGHT: &str = "weight";

/// Returns where the attributes of a line start, if they stand after its ids.
pub(crate) fn start_in(line: &[u8]) -> Option<usize> {
    let start = memchr::memchr(b'{', line)?;
    let are_ids = line[..start].ends_with(b" ") || line[..start].ends_with(b"\t");
    (are_ids && line.trim_ascii_end().ends_with(b"}")).then_some(start)
}

/// Returns the names and values of attributes.
///
/// # Errors
/// If `text` is no dict.
pub(crate) fn parse(text: &[u8]) -> Result<Vec<(String, &[u8])>, Fault> {
    let no_dict = || {
        let what = format!("expected the attributes of an edge, found {}", quote(text));
        Fault::new(0, what).hint("they are a dict of Python: {'weight': 3.5}")
    };
    let inside = text.trim_ascii().strip_prefix(b"{").and_then(|text| text.strip_suffix(b"}"));
    let inside = inside.ok_or_else(no_dict)?;
    let items = split(inside, b',').ok_or_else(no_dict)?;
    let items = items.into_iter().filter(|item| !item.trim_ascii().is_empty());
    let attribute = |item| match split(item, b':').as_deref() {
        Some([name, value]) => Ok((unquoted(name), value.trim_ascii())),
        _ => Err(no_dict()),
    };
    items.map(attribute).collect()
}

/// Returns the weight among attributes.
///
/// # Errors
/// If there is none, or it is no number.
pub(crate) fn weight_of(attributes: &[(String, &[u8])], rules: Rules) -> Result<f32, Fault> {
    let weight = attributes.iter().find(|(name, _)| name == WEIGHT);
    match weight.map(|(_, value)| *value) {
        None | Some(b"None") => Err(null_weight()),
        Some(value) => rules.parse_weight(value),
    }
}

/// Splits a piece of Python where `mark` stands outside of strings and brackets; `None` if one of
/// these does not end.
fn split(text: &[u8], mark: u8) -> Option<Vec<&[u8]>> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0_usize);
    let (mut string, mut is_escaped) = (None, false);
    for (at, &byte) in text.iter().enumerate() {
        match string {
            Some(_) if is_escaped => is_escaped = false,
            Some(_) if byte == b'\\' => is_escaped = true,
            Some(quote) if byte == quote => string = None,
            Some(_) => {}
            None => match byte {
                b'\'' | b'"' => string = Some(byte),
                b'{' | b'[' | b'(' => depth += 1,
                b'}' | b']' | b')' => depth = depth.checked_sub(1)?,
                _ if byte == mark && depth == 0 => {
                    parts.push(&text[start..at]);
                    start = at + 1;
                }
                _ => {}
            },
        }
    }
    parts.push(&text[start..]);
    (string.is_none() && depth == 0).then_some(parts)
}

fn unquoted(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name.trim_ascii()).into_owned();
    name.trim_matches(['\'', '"']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_found_and_refused() {
        let names = |text: &str| -> Result<Vec<String>, Fault> {
            Ok(parse(text.as_bytes())?.into_iter().map(|(name, _)| name).collect())
        };
        for (text, expected) in [
            ("{}", &[][..]),
            ("{'weight': 3.5}", &["weight"]),
            ("{'a': 'x, y: {', \"b\": [1, 2], 'c': {'d': 1}}", &["a", "b", "c"]),
        ] {
            assert_eq!(names(text).unwrap(), expected, "{text}");
        }
        for text in ["{", "{'a'}", "{'a': 'x}", "{'a': 1]}", "x"] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
        let weight = |text: &str| weight_of(&parse(text.as_bytes()).unwrap(), Rules::default());
        assert_eq!(weight("{'color': 'red', 'weight': -1e3}").unwrap(), -1000.0);
        assert!(weight("{'color': 'red'}").unwrap_err().is_null);
        assert!(weight("{'weight': None}").unwrap_err().is_null);
        assert!(!weight("{'weight': 'heavy'}").unwrap_err().is_null);
        assert_eq!(start_in(b"1 2 {}"), Some(4));
        assert_eq!(start_in(b"a{} b{}"), None);
    }
}
