//! External ids in lines of text, where blanks separate and ends of lines end.

use std::fmt;

use everedge_live::ExternalId;

/// An external id as one word: as it is, or as a JSON string if it would not be one word, or would
/// look like such a string.
pub(crate) struct Word<'a>(pub(crate) &'a ExternalId);

impl fmt::Display for Word<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ExternalId::Text(text) if !is_plain(text) => {
                f.write_str(&serde_json::to_string(text).map_err(|_| fmt::Error)?)
            }
            id => id.fmt(f),
        }
    }
}

fn is_plain(text: &str) -> bool {
    let is_odd = |c: char| c.is_whitespace() || c.is_control();
    !text.is_empty() && !text.starts_with('"') && !text.contains(is_odd)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_stay_one_word_and_different() {
        let word = |text: &str| Word(&ExternalId::Text(text.into())).to_string();
        assert_eq!(word("libc6"), "libc6");
        assert_eq!(word("5\"-disk"), "5\"-disk");
        assert_eq!(word("New York"), r#""New York""#);
        assert_eq!(word("\"New"), r#""\"New""#);
        assert_eq!(word("a\nb\u{2028}c"), "\"a\\nb\u{2028}c\"");
        assert_eq!(word(""), r#""""#);
        assert_eq!(Word(&ExternalId::Integer(7)).to_string(), "7");
    }
}
