//! Edge lists as SNAP publishes them.
//!
//! Source: the files of the Stanford Network Analysis Project; KONECT writes `%` for comments.
//! A record is a source, a destination and any number of numbers, the first of which is the
//! weight of a weighted read; blanks separate them ([`crate::lines`]). Lines that start with `#`
//! or `%` are comments. All records have as many columns as the first, so that adjacency lists,
//! which look alike, are not taken for edges. A dict of attributes may stand in their place (`attributes.rs`). The first record may be a header; if not, the last
//! comment before it may give the names: then the first record is an edge. Where columns are chosen, the others may hold anything.
//! Comments before the first record may say that the graph has no direction: `# Undirected graph` is
//! what SNAP writes, `% sym` what KONECT does.
//!
//! # Example
//! ```text
//! # FromNodeId  ToNodeId
//! 30      1412
//! 30      3352
//! ```
//! is two edges, 30→1412 and 30→3352. A file in which `1 2 1082040961` gives the time of an edge
//! reads alike unweighted.

use crate::attributes;
use crate::error::Fault;
use crate::lines::{Lines, Picked, check_returns, check_slashes, fields_of, lines_of};
use crate::names::find_pair;
use crate::operations::Timed;
use crate::read::{Declared, Opened};
use crate::rules::Rules;
use crate::survey::{Cell, Header, Row};
use crate::update_columns::{check_distinct_updates, find_header};
use crate::{Column, Columns, IdKind, InputChoices, ReadOptions, UpdateChoices, UpdateOptions};

/// Bytes that start a comment.
pub(crate) const COMMENTS: [u8; 2] = *b"#%";
/// Records that show what the columns are.
pub(crate) const SURVEYED_ROWS: usize = 1000;

const SIDES_HINT: &str = "put a prefix before the ids of one side and say --ids text, or say --ids \
                          integer to take them as they are";

/// The first lines of an edge list.
pub(crate) struct Start {
    /// The fields of the last comment before the first record.
    pub(crate) comment: Vec<String>,
    pub(crate) rows: Vec<Row>,
    /// Where the first record starts.
    pub(crate) first: usize,
    /// Where the line after it starts.
    pub(crate) first_end: usize,
}

/// Reads the first lines of a text.
pub(crate) fn start_of(head: &[u8], row_count: usize) -> Start {
    let mut start = Start { comment: Vec::new(), rows: Vec::new(), first: 0, first_end: 0 };
    for (place, line) in lines_of(head) {
        let cell =
            |field| Cell { text: String::from_utf8_lossy(field).into_owned(), is_quoted: false };
        match line.trim_ascii_start().first() {
            None => {}
            Some(first) if COMMENTS.contains(first) && !start.rows.is_empty() => {}
            Some(first) if COMMENTS.contains(first) => start.comment = comment_fields(line),
            Some(_) => {
                if start.rows.is_empty() {
                    (start.first, start.first_end) = (place.start, place.end);
                }
                let ids = attributes::start_in(line).map_or(line, |start| &line[..start]);
                start.rows.push(fields_of(ids).map(cell).collect());
            }
        }
        if start.rows.len() >= row_count {
            break;
        }
    }
    start
}

/// Returns whether a comment before the first record says that edges have no direction: SNAP writes
/// `# Undirected graph`, KONECT `% sym`. A graph of SNAP whose pairs are saved twice has both directions.
pub(crate) fn are_undirected(text: &[u8]) -> bool {
    let is_declared = |line: &[u8]| match &comment_fields(line)[..] {
        [first, second, others @ ..] if line.starts_with(b"#") => {
            let is_twice = others.iter().any(|word| word.starts_with("twice"));
            first == "Undirected" && second.trim_end_matches(':') == "graph" && !is_twice
        }
        _ => has_konect_kind(line, "sym"),
    };
    first_comments(text).any(is_declared)
}

/// Refuses ids of a bipartite graph of KONECT, which numbers each side from 1, unless the choices or
/// prefixes say what they are.
pub(crate) fn refuse_sides(text: &[u8], ids: IdKind, choices: &InputChoices) -> Result<(), Fault> {
    let is_bipartite = || first_comments(text).any(|line| has_konect_kind(line, "bip"));
    if choices.ids.is_exact() || ids == IdKind::Text || !is_bipartite() {
        return Ok(());
    }
    let what = "this is a bipartite graph, both sides of which have the same ids";
    Err(Fault::new(0, what).hint(SIDES_HINT))
}

/// Returns whether a comment is as KONECT writes the first: the kind of graph, then that of its weights.
fn has_konect_kind(comment: &[u8], kind: &str) -> bool {
    let fields = comment_fields(comment);
    comment.starts_with(b"%")
        && fields.len() <= 2
        && fields.first().is_some_and(|first| first == kind)
}

/// Returns the comments before the first record.
fn first_comments(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = lines_of(text).map(|(_, line)| line.trim_ascii());
    lines.take_while(|line| line.first().is_none_or(|first| COMMENTS.contains(first)))
}

/// The comment above edges whose ids are text: it settles that they are an edge list and that the
/// first of them is no header.
pub(crate) fn naming_comment(weighted: bool) -> &'static str {
    if weighted { "# src dst weight" } else { "# src dst" }
}

/// Returns whether the comment above the first record names ends between blanks, one name for each
/// field of it.
pub(crate) fn is_named_by_comment(head: &[u8]) -> bool {
    let Start { comment, rows, .. } = start_of(head, 1);
    let names = || comment.iter().map(|name| Some(name.as_str()));
    rows.first().is_some_and(|row| row.len() == comment.len()) && find_pair(names()).is_some()
}

/// Returns the fields of a comment without its mark.
fn comment_fields(line: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(line);
    let text = text.trim().trim_start_matches(COMMENTS.map(char::from));
    text.split_whitespace().map(str::to_owned).collect()
}

/// Refuses a text whose lines end with carriage returns alone: as blanks they would join lines.
fn refuse_lone_returns(head: &[u8]) -> Result<(), Fault> {
    for (place, line) in lines_of(head) {
        check_returns(line).map_err(|fault| fault.after(place.start))?;
    }
    Ok(())
}

/// Finds the header and how many columns there are.
pub(crate) fn open(head: &[u8], options: &ReadOptions) -> Result<Opened<Lines>, Fault> {
    let mut start = checked_start(head, options)?;
    let choices = InputChoices::exactly(options);
    let comment = std::mem::take(&mut start.comment);
    let header = Header::find(&start.rows, comment, &choices, &choices.chosen());
    let is_picked = options.columns != Columns::default();
    let picked = is_picked.then(|| pick(&header, options, None)).transpose()?;
    open_at(head, &start, &header, picked, options)
}

/// Like [`open`], for updates.
pub(crate) fn open_updates(head: &[u8], options: &UpdateOptions) -> Result<Opened<Lines>, Fault> {
    let mut start = checked_start(head, &options.edges)?;
    let comment = std::mem::take(&mut start.comment);
    let header = find_header(&start.rows, comment, &UpdateChoices::exactly(options));
    let timed = options.timed(|column| header.place(column))?;
    let picked = pick(&header, &options.edges, Some(timed))?;
    check_distinct_updates(picked.src, picked.dst, picked.weight, &timed)?;
    open_at(head, &start, &header, Some(picked), &options.edges)
}

/// Reads the first lines, none of which may be of another kind of text.
fn checked_start(head: &[u8], options: &ReadOptions) -> Result<Start, Fault> {
    refuse_lone_returns(head)?;
    if let Some(line) = lines_of(head).map(|(_, line)| line).find(|line| !line.is_empty()) {
        check_slashes(line.trim_ascii_start(), Rules::of(options))?;
    }
    Ok(start_of(head, SURVEYED_ROWS))
}

/// Finds the columns that were chosen.
fn pick(header: &Header, options: &ReadOptions, timed: Option<Timed>) -> Result<Picked, Fault> {
    let Columns { src, dst, weight } = &options.columns;
    let weight = options.weighted.then(|| header.place(weight)).transpose()?;
    Ok(Picked { src: header.place(src)?, dst: header.place(dst)?, weight, timed })
}

fn open_at(
    head: &[u8],
    start: &Start,
    header: &Header,
    picked: Option<Picked>,
    options: &ReadOptions,
) -> Result<Opened<Lines>, Fault> {
    let header_bytes = if header.is_there { start.first_end } else { 0 };
    let header =
        header.is_there.then(|| head[start.first..start.first_end].trim_ascii().to_owned());
    let least = if options.weighted { 3 } else { 2 };
    let width = start.rows.first().map_or(least, Vec::len);
    let columns = match picked {
        None => width.max(least),
        Some(picked) => {
            let last = picked.last();
            let count = last.checked_add(1).ok_or_else(|| {
                Fault::new(0, format!("there is no column {}", Column::Index(last)))
            })?;
            width.max(count)
        }
    };
    let grammar = Lines {
        comments: &COMMENTS,
        prefix: None,
        columns: columns..=columns,
        vertex_count: None,
        weighted: options.weighted,
        picked,
        has_attributes: true,
        header,
        rules: Rules::of(options),
    };
    Ok(Opened { grammar, header_bytes, declared: Declared::default() })
}
