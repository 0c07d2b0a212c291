//! Which columns of a table hold sources, destinations and weights.
//!
//! Columns that the caller chose are fixed; the names of the others say where the rest is, in all
//! formats alike, and where no name speaks the first columns that are left do.

use crate::error::{Fault, quote};
use crate::{Column, InputChoices};

/// A column that a guess found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GuessedColumn {
    /// Its name, if there is a header.
    pub name: Option<String>,
    /// Whether all its fields seen are numbers, and at least one is.
    pub is_numeric: bool,
    /// Whether it can hold ids: whole numbers or text.
    pub may_hold_ids: bool,
}

/// Where a table keeps what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Resolved {
    pub(crate) src: usize,
    pub(crate) dst: usize,
    pub(crate) weight: Option<usize>,
}

/// Pairs of names that columns of sources and destinations usually have, in small letters and
/// without marks.
const PAIRS: [(&str, &str); 32] = [
    ("src", "dst"),
    ("src", "dest"),
    ("source", "target"),
    ("source", "destination"),
    ("source", "dest"),
    ("from", "to"),
    ("u", "v"),
    ("fromnode", "tonode"),
    ("fromnodeid", "tonodeid"),
    ("fromid", "toid"),
    ("sourceid", "targetid"),
    ("sourcenode", "targetnode"),
    ("srcid", "dstid"),
    ("startid", "endid"),
    ("node1", "node2"),
    ("nodeid1", "nodeid2"),
    ("id1", "id2"),
    ("user1", "user2"),
    ("start", "end"),
    ("origin", "destination"),
    ("head", "tail"),
    ("subject", "object"),
    ("sender", "receiver"),
    ("sender", "recipient"),
    ("follower", "followee"),
    ("follower", "following"),
    ("parent", "child"),
    ("citing", "cited"),
    ("caller", "callee"),
    ("user", "item"),
    ("userid", "itemid"),
    ("package", "dependency"),
];

/// Words that name a column of ids, alone or before `id` or `name`.
const ID_WORDS: [&str; 28] = [
    "node", "vertex", "user", "item", "product", "customer", "account", "person", "author",
    "paper", "movie", "song", "artist", "page", "url", "package", "module", "name", "id", "key",
    "entity", "friend", "buyer", "seller", "member", "group", "company", "city",
];

const TIME_WORDS: [&str; 10] = [
    "time",
    "timestamp",
    "ts",
    "date",
    "datetime",
    "unixtime",
    "unixts",
    "epoch",
    "created",
    "createdat",
];

/// Names that declare weights: what stands in such a column is read as weights, or refused.
const DECLARED_WEIGHTS: [&str; 3] = ["weight", "weights", "edgeweight"];

/// Names that columns of weights have too, but that others may have.
const WEIGHT_WORDS: [&str; 4] = ["w", "length", "distance", "cost"];

/// Returns whether a name is one that columns of weights have.
fn is_weight_word(name: &str) -> bool {
    is_weight(name) || WEIGHT_WORDS.contains(&plain(name).as_str())
}

/// Returns a name in small letters without marks: `From_Node_ID` is `fromnodeid`.
fn plain(name: &str) -> String {
    name.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Returns whether a name says that the column holds times.
pub(crate) fn is_time(name: &str) -> bool {
    TIME_WORDS.contains(&plain(name).as_str())
}

/// Returns whether a name says that the column holds the weights of edges, whatever stands in it.
pub(crate) fn is_weight(name: &str) -> bool {
    DECLARED_WEIGHTS.contains(&plain(name).as_str())
}

/// Returns whether a name is one that columns of ids have.
pub(crate) fn is_id_word(name: &str) -> bool {
    let name = plain(name);
    let stems = [Some(name.as_str()), name.strip_suffix("id"), name.strip_suffix("name")];
    let is_known = |stem: &str| {
        ID_WORDS.contains(&stem) || PAIRS.iter().any(|(src, dst)| stem == *src || stem == *dst)
    };
    stems.into_iter().flatten().any(is_known)
}

/// Returns where a header names sources and destinations in a usual way.
pub(crate) fn find_pair<'a>(
    names: impl Iterator<Item = Option<&'a str>>,
) -> Option<(usize, usize)> {
    let names: Vec<String> = names.map(|name| plain(name.unwrap_or_default())).collect();
    let find = |wanted: &str| names.iter().position(|name| name == wanted);
    PAIRS.iter().find_map(|(src, dst)| find(src).zip(find(dst)))
}

/// Finds the columns that hold sources, destinations and weights.
pub(crate) fn resolve(
    columns: &[GuessedColumn],
    choices: &InputChoices,
) -> Result<Resolved, Fault> {
    let find = |choice: &Option<Column>| choice.as_ref().map(|c| locate(c, columns)).transpose();
    let (src, dst) = (find(&choices.src)?, find(&choices.dst)?);
    let chosen_weight = find(&choices.weight)?;
    let (src, dst) = find_ends(columns, src, dst, chosen_weight)?;
    let weight = chosen_weight.or_else(|| find_weight(columns, src, dst));
    if src == dst || (chosen_weight.is_some() && (weight == Some(src) || weight == Some(dst))) {
        let what = "a column was chosen twice among sources, destinations and weights";
        return Err(Fault::new(0, what));
    }
    Ok(Resolved { src, dst, weight })
}

/// Returns where a chosen column stands.
pub(crate) fn locate(column: &Column, columns: &[GuessedColumn]) -> Result<usize, Fault> {
    let names: Vec<Option<&str>> = columns.iter().map(|column| column.name.as_deref()).collect();
    if let Some(idx) = column.find(&names) {
        return Ok(idx);
    }
    let known: Vec<&str> = names.iter().copied().flatten().collect();
    let among = match known.is_empty() {
        true => format!("the {} columns, which have no names", columns.len()),
        false => quote(known.join(",").as_bytes()),
    };
    Err(Fault::new(0, format!("there is no column {column} in {among}")))
}

/// Finds the columns of both ends; those that were chosen stay.
fn find_ends(
    columns: &[GuessedColumn],
    src: Option<usize>,
    dst: Option<usize>,
    weight: Option<usize>,
) -> Result<(usize, usize), Fault> {
    let is_free = |idx: &usize| Some(*idx) != weight && Some(*idx) != src && Some(*idx) != dst;
    let name_of = |idx: usize| columns[idx].name.as_deref();
    let is_plain_id = |idx: &usize| {
        let name = name_of(*idx).unwrap_or_default();
        let is_other = is_time(name) || is_weight_word(name);
        columns[*idx].may_hold_ids && !is_other
    };
    let free_at = |place: usize| {
        let of_ids: Vec<usize> = (0..columns.len()).filter(is_free).filter(is_plain_id).collect();
        let any: Vec<usize> = (0..columns.len()).filter(is_free).collect();
        of_ids.get(place).or_else(|| any.get(place)).copied()
    };
    let partner = |known: usize, of_src: bool| {
        let known = plain(name_of(known).unwrap_or_default());
        let is_partner = |idx: usize| {
            let other = plain(name_of(idx).unwrap_or_default());
            let pair = if of_src {
                (known.as_str(), other.as_str())
            } else {
                (other.as_str(), known.as_str())
            };
            PAIRS.contains(&pair)
        };
        (0..columns.len()).filter(is_free).find(|idx| is_partner(*idx)).or_else(|| free_at(0))
    };
    let pair = || {
        let names = (0..columns.len()).map(|idx| name_of(idx).filter(|_| is_free(&idx)));
        find_pair(names).or_else(|| free_at(0).zip(free_at(1)))
    };
    let ends = match (src, dst) {
        (Some(src), Some(dst)) => Some((src, dst)),
        (Some(src), None) => partner(src, true).map(|dst| (src, dst)),
        (None, Some(dst)) => partner(dst, false).map(|src| (src, dst)),
        (None, None) => pair(),
    };
    ends.ok_or_else(|| Fault::new(0, "there is no second column for destinations"))
}

/// Returns the column that is likely to hold weights: one whose name declares them, also if it holds
/// no numbers, which reading then says; or one with a usual name; or else the first numeric column
/// that holds neither ids nor times.
fn find_weight(columns: &[GuessedColumn], src: usize, dst: usize) -> Option<usize> {
    let name_of = |idx: usize| columns[idx].name.as_deref().unwrap_or_default();
    let others = || (0..columns.len()).filter(|&idx| idx != src && idx != dst);
    let numeric = || others().filter(|&idx| columns[idx].is_numeric);
    let declared = others().find(|&idx| is_weight(name_of(idx)));
    let named = || others().find(|&idx| is_weight_word(name_of(idx)));
    declared.or_else(named).or_else(|| numeric().find(|&idx| !is_time(name_of(idx))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(header: &str, numeric: &[usize]) -> Vec<GuessedColumn> {
        let column = |(idx, name): (usize, &str)| GuessedColumn {
            name: Some(name.to_owned()),
            is_numeric: numeric.contains(&idx),
            may_hold_ids: true,
        };
        header.split(',').enumerate().map(column).collect()
    }

    fn named(name: &str) -> Option<Column> {
        Some(Column::Name(name.to_owned()))
    }

    #[test]
    fn a_chosen_column_leaves_the_names_of_the_others() {
        let none = InputChoices::default();
        let src = InputChoices { src: named("from"), ..none.clone() };
        let dst = InputChoices { dst: named("to"), ..none.clone() };
        let weight = InputChoices { weight: named("weight"), ..none.clone() };
        let columns = columns("weight,from,to", &[0]);
        for choices in [&none, &src, &dst, &weight] {
            let found = resolve(&columns, choices).unwrap();
            assert_eq!(found, Resolved { src: 1, dst: 2, weight: Some(0) }, "{choices:?}");
        }
        let turned = InputChoices { src: named("to"), dst: named("from"), ..none.clone() };
        assert_eq!(resolve(&columns, &turned).unwrap().src, 2);
        let twice = InputChoices { src: named("to"), dst: named("to"), ..none };
        assert!(resolve(&columns, &twice).is_err());
    }

    #[test]
    fn times_are_neither_ends_nor_weights() {
        let columns = columns("timestamp,who,whom,rating", &[0, 3]);
        let found = resolve(&columns, &InputChoices::default()).unwrap();
        assert_eq!(found, Resolved { src: 1, dst: 2, weight: Some(3) });
        let chosen = InputChoices { weight: named("timestamp"), ..InputChoices::default() };
        assert_eq!(resolve(&columns, &chosen).unwrap().weight, Some(0));
    }

    #[test]
    fn words_of_columns_are_known() {
        for word in ["FromNodeId", "user_id", "item", "Vertex", "targetID", "City name"] {
            assert!(is_id_word(word), "{word}");
        }
        for word in ["alice", "x", "Paris", "madrid", "7", "", "user3", "v12"] {
            assert!(!is_id_word(word), "{word}");
        }
    }
}
