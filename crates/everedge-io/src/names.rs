//! What the names of columns say: which are ends of edges, ids, times or weights.
//!
//! A name is read as words, split at its marks and where small letters meet capital ones, so that
//! `StartNodeID`, `start_node_id` and `Start node id` are the same.

use std::collections::HashMap;

/// Words of sources and destinations, the more usual first, in small letters. A pair of columns has
/// one of these and the same other words: `start_station_id` and `end_station_id`.
const PAIRS: [(&str, &str); 38] = [
    ("src", "dst"),
    ("src", "dest"),
    ("src", "target"),
    ("source", "target"),
    ("source", "destination"),
    ("source", "dest"),
    ("source", "sink"),
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
    ("vertex1", "vertex2"),
    ("start", "end"),
    ("origin", "destination"),
    ("origin", "dest"),
    ("orig", "dest"),
    ("tail", "head"),
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
    ("depender", "dependee"),
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

/// Words that name a column of numbers for times.
const PERIOD_WORDS: [&str; 5] = ["year", "month", "day", "week", "season"];

/// Words that name a column of operations: insertions and deletions.
const OPERATION_WORDS: [&str; 3] = ["op", "operation", "action"];

/// Words that name a column of operations, or of something else: of what kind an edge is.
const PERHAPS_OPERATIONS: [&str; 18] = [
    "event",
    "eventtype",
    "type",
    "kind",
    "change",
    "changetype",
    "status",
    "state",
    "what",
    "added",
    "inserted",
    "removed",
    "deleted",
    "isadded",
    "isdeleted",
    "isdelete",
    "active",
    "isactive",
];

/// Words that name a column of steps: numbers of what changed the graph at once.
const STEP_WORDS: [&str; 3] = ["step", "seq", "commitseq"];

/// Words beside those of a pair that say that the columns hold no ends, but something of them.
const NO_ENDS: [&str; 14] = [
    "at",
    "valid",
    "year",
    "month",
    "day",
    "hour",
    "lat",
    "lng",
    "lon",
    "latitude",
    "longitude",
    "port",
    "price",
    "index",
];

/// Names of columns that number the rows.
const ROW_NUMBERS: [&str; 7] =
    ["id", "index", "edgeid", "rowid", "row", "rownumber", "indexlevel0"];

/// Names that declare weights: what stands in such a column is read as weights, or refused.
const DECLARED_WEIGHTS: [&str; 3] = ["weight", "weights", "edgeweight"];

/// Names that columns of weights have too, but that others may have.
const WEIGHT_WORDS: [&str; 4] = ["w", "length", "distance", "cost"];

/// Returns whether a name is one that columns of weights have.
pub(crate) fn is_weight_word(name: &str) -> bool {
    is_weight(name) || WEIGHT_WORDS.contains(&plain(name).as_str())
}

/// Returns a name without the group of ids that Neo4j puts behind it: `:START_ID(Person)` is `:START_ID`.
fn without_group(name: &str) -> &str {
    match name.split_once('(') {
        Some((name, _)) if name.starts_with(':') => name,
        _ => name,
    }
}

/// Returns a name in small letters without marks: `From_Node_ID` is `fromnodeid`.
fn plain(name: &str) -> String {
    let name = without_group(name);
    name.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Returns the words of a name in small letters: `FromNodeID` is `from`, `node`, `id`.
fn words(name: &str) -> Vec<String> {
    let letters: Vec<char> = without_group(name).chars().collect();
    let (mut words, mut word) = (Vec::new(), String::new());
    for (idx, &letter) in letters.iter().enumerate() {
        let before = idx.checked_sub(1).map(|idx| letters[idx]);
        let starts_small = letters.get(idx + 1).is_some_and(|next| next.is_lowercase());
        let is_start = letter.is_uppercase()
            && before.is_some_and(|before| !before.is_uppercase() || starts_small);
        if (is_start || !letter.is_alphanumeric()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if letter.is_alphanumeric() {
            word.extend(letter.to_lowercase());
        }
    }
    words.extend(Some(word).filter(|word| !word.is_empty()));
    words
}

/// Returns whether a name says that the column holds times.
pub(crate) fn is_time(name: &str) -> bool {
    TIME_WORDS.contains(&plain(name).as_str())
}

/// Returns whether a name says that the column holds years, months or the like.
pub(crate) fn is_period(name: &str) -> bool {
    PERIOD_WORDS.contains(&plain(name).as_str())
}

/// Returns whether a name says that the column holds operations.
pub(crate) fn is_operation(name: &str) -> bool {
    OPERATION_WORDS.contains(&plain(name).as_str())
}

/// Returns whether a name is one that columns of operations have, but that others may have.
pub(crate) fn is_perhaps_operation(name: &str) -> bool {
    PERHAPS_OPERATIONS.contains(&plain(name).as_str())
}

/// Returns whether a name says that the column holds steps.
pub(crate) fn is_step(name: &str) -> bool {
    STEP_WORDS.contains(&plain(name).as_str())
}

/// Returns whether a name says that the column holds the weights of edges, whatever stands in it.
pub(crate) fn is_weight(name: &str) -> bool {
    DECLARED_WEIGHTS.contains(&plain(name).as_str())
}

/// Returns whether a name says that the column numbers the rows: a data frame's index has no name.
pub(crate) fn is_row_number(name: &str) -> bool {
    let name = plain(name);
    name.is_empty() || ROW_NUMBERS.contains(&name.as_str()) || name.starts_with("unnamed")
}

/// Returns whether a name says that the column holds ids of something: they are no weights.
pub(crate) fn ends_in_id(name: &str) -> bool {
    words(name).last().is_some_and(|word| word == "id")
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

/// Returns where a header names sources and destinations in a usual way; plain names come before
/// those with `id`, and these before others.
pub(crate) fn find_pair<'a>(
    names: impl Iterator<Item = Option<&'a str>>,
) -> Option<(usize, usize)> {
    let names: Vec<&str> = names.map(Option::unwrap_or_default).collect();
    // The first column of each name, by its words and without marks.
    let mut places: HashMap<String, usize> = HashMap::new();
    for (idx, name) in names.iter().enumerate() {
        for key in [words(name).join(" "), plain(name)] {
            places.entry(key).or_insert(idx);
        }
    }
    let pairs = names.iter().enumerate().flat_map(|(src, name)| {
        let partners = partners(name, false);
        let places = &places;
        partners.filter_map(move |(rank, key)| Some((rank, src, *places.get(&key)?)))
    });
    let (_, src, dst) = pairs.filter(|(_, src, dst)| src != dst).min()?;
    // In triples of a knowledge graph the head comes first, and the relation goes to the tail.
    let is_triple = || names.iter().any(|name| matches!(&*plain(name), "relation" | "predicate"));
    let is_turned = plain(names[src]) == "tail" && is_triple();
    Some(if is_turned { (dst, src) } else { (src, dst) })
}

/// Returns how the partner of a column would be called, with a rank for each: the least is the most
/// usual. `is_dst` says that the column holds destinations.
fn partners(name: &str, is_dst: bool) -> impl Iterator<Item = ((u8, usize), String)> {
    let (words, plain) = (words(name), plain(name));
    PAIRS.iter().enumerate().flat_map(move |(number, &(src, dst))| {
        let (own, other) = if is_dst { (dst, src) } else { (src, dst) };
        let whole = (plain == own).then(|| ((0, number), other.to_owned()));
        let part = words.iter().position(|word| word == own).filter(|_| words.len() > 1);
        let part = part.and_then(|place| {
            let mut partner = words.clone();
            partner[place] = other.to_owned();
            let rest: Vec<&str> =
                words[..place].iter().chain(&words[place + 1..]).map(|w| &**w).collect();
            Some(((rank(&rest)?, number), partner.join(" ")))
        });
        whole.into_iter().chain(part)
    })
}

/// Returns the rank of a pair with these other words; none if they say that it holds no ends.
fn rank(rest: &[&str]) -> Option<u8> {
    let is_other = |word: &&str| {
        let is_number = word.chars().any(|letter| letter.is_ascii_digit());
        is_number || NO_ENDS.contains(word) || TIME_WORDS.contains(word)
    };
    match rest {
        _ if rest.iter().any(is_other) => None,
        ["id"] => Some(1),
        [.., "id"] => Some(2),
        _ => Some(3),
    }
}

/// Returns whether a column is the index of a data frame that has no name: it is no column for whoever looks at the frame.
pub(crate) fn is_unnamed_index(name: &str) -> bool {
    name.starts_with("__index_level_")
}

/// Returns whether a name alone says that a column holds destinations, or sources; nothing if it says neither, or both.
pub(crate) fn is_of_destinations(name: &str) -> Option<bool> {
    let [src, dst] = [false, true].map(|is_dst| partners(name, is_dst).next().is_some());
    (src != dst).then_some(dst)
}

/// Returns whether two names are those of sources and destinations.
pub(crate) fn are_pair(src: &str, dst: &str) -> bool {
    let (words, plain) = (words(dst).join(" "), plain(dst));
    partners(src, false).any(|(_, partner)| partner == words || partner == plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_name_may_say_which_end_it_is() {
        for (name, is_of) in [
            ("dst", Some(true)),
            ("target_id", Some(true)),
            ("origin", Some(false)),
            ("parent", Some(false)),
            ("name", None),
            ("", None),
        ] {
            assert_eq!(is_of_destinations(name), is_of, "{name}");
        }
    }

    #[test]
    fn names_are_words() {
        for (name, expected) in [
            ("StartNodeID", "start node id"),
            ("start_station_id", "start station id"),
            ("IDOfNode", "id of node"),
            ("node1", "node1"),
            ("Unnamed: 0", "unnamed 0"),
            ("", ""),
        ] {
            assert_eq!(words(name).join(" "), expected, "{name}");
        }
    }

    #[test]
    fn pairs_are_found_by_their_words() {
        for (header, expected) in [
            ("EdgeID StartNodeID EndNodeID", Some((1, 2))),
            ("ride_id start_time start_station_id end_time end_station_id", Some((2, 4))),
            ("Airline AirlineID SourceAirport SourceID DestAirport DestID", Some((3, 5))),
            ("head tail", Some((1, 0))),
            ("head relation tail", Some((0, 2))),
            ("target source", Some((1, 0))),
            ("source_id from to", Some((1, 2))),
            (":START_ID(P) role :END_ID(M)", Some((0, 2))),
            ("src_port src_ip dst_port dst_ip", Some((1, 3))),
            ("user_id item_id", Some((0, 1))),
            ("user_5 item_5", None),
            ("start_date end_date", None),
            ("from_city to_town", None),
        ] {
            assert_eq!(find_pair(header.split(' ').map(Some)), expected, "{header}");
        }
        assert!(are_pair("origin", "dest") && are_pair("fromNode", "toNode"));
        assert!(!are_pair("dest", "origin"));
    }

    #[test]
    fn words_of_columns_are_known() {
        for word in ["FromNodeId", "user_id", "item", "Vertex", "targetID", "City name"] {
            assert!(is_id_word(word), "{word}");
        }
        for (word, is_known) in [("OP", true), ("Action", true), ("opera", false)] {
            assert_eq!(is_operation(word), is_known, "{word}");
        }
        for (word, is_known) in [("commit_seq", true), ("Step", true), ("steps taken", false)] {
            assert_eq!(is_step(word), is_known, "{word}");
        }
        for word in ["alice", "x", "Paris", "madrid", "7", "", "user3", "v12"] {
            assert!(!is_id_word(word), "{word}");
        }
    }
}
