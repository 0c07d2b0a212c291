//! External ids in lines of text, where blanks separate and ends of lines end.

use std::fmt;

use everedge_live::ExternalId;

/// An external id as one word: as it is, or as a JSON string if it would not be one word, or would
/// look like such a string.
pub struct Word<'a>(pub &'a ExternalId);

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
