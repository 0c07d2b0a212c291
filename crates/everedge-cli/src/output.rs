//! What a person or a program sees, as in measurements.

pub(crate) use everedge_bench::{Output, bytes, complain, count, seconds, standard_output};

/// Returns a name as a terminal may show it: with escapes for control characters.
pub(crate) fn shown(name: &str) -> String {
    let shown = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.into() };
    name.chars().map(shown).collect()
}
