//! Options of a graph's layout that change speed and space, and no answer.
//!
//! Each is declared once, in [`TUNING`]: `everedge ingest` takes one value of it for a new graph,
//! `everedge bench` a comma list, and a row of figures shows the value under the option's name.

use std::fmt::Display;
use std::str::FromStr;

use clap::{Arg, ArgMatches, Command};
use everedge::GraphOptions;
use serde_json::{Value, json};

use crate::arguments::{parsed, size};

/// Under which heading of `ingest --help` the options stand.
const HEADING: &str = "Tuning of a new graph, for experiments; no answer depends on it";

/// An option of [`GraphOptions`] with its text form.
#[derive(Debug)]
pub(crate) struct GraphOption {
    /// Its long name.
    pub(crate) name: &'static str,
    value_name: &'static str,
    about: &'static str,
    /// Puts a value into the options.
    ///
    /// Errors: if the word is none.
    pub(crate) set: fn(&mut GraphOptions, &str) -> Result<(), String>,
    /// Returns the value; null is left open: what suits the medium.
    pub(crate) get: fn(&GraphOptions) -> Value,
}

impl GraphOption {
    /// Returns the argument for it, which takes a word and checks it.
    pub(crate) fn arg(&'static self) -> Arg {
        let check =
            |word: &str| (self.set)(&mut GraphOptions::default(), word).map(|()| word.to_owned());
        let usual = (self.get)(&GraphOptions::default());
        let help = match usual {
            Value::Null => self.about.to_owned(),
            Value::String(word) => format!("{} [default: {word}]", self.about),
            other => format!("{} [default: {other}]", self.about),
        };
        Arg::new(self.name)
            .long(self.name)
            .value_name(self.value_name)
            .value_parser(check)
            .help(help)
    }

    /// Returns the name under which a row of figures shows it.
    pub(crate) fn key(&self) -> String {
        self.name.replace('-', "_")
    }
}

/// The options that `everedge ingest` takes for a new graph.
#[derive(Clone, Debug, Default)]
pub struct Tuning {
    /// The words that were given, by the place of their option in [`TUNING`].
    given: Vec<(usize, String)>,
}

impl Tuning {
    /// Puts the options into those of the graph.
    pub fn apply(&self, mut options: GraphOptions) -> GraphOptions {
        for (place, word) in &self.given {
            (TUNING[*place].set)(&mut options, word)
                .expect("the word was checked when it was read");
        }
        options
    }
}

impl clap::FromArgMatches for Tuning {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let word = |option: &GraphOption| matches.get_one::<String>(option.name).cloned();
        let words = TUNING.iter().map(word).enumerate();
        Ok(Self { given: words.filter_map(|(place, word)| Some((place, word?))).collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl clap::Args for Tuning {
    fn augment_args(command: Command) -> Command {
        command.args(TUNING.iter().map(|option| {
            let arg = option.arg().help_heading(HEADING).hide_short_help(true);
            match (option.get)(&GraphOptions::default()) {
                // A switch needs no value.
                Value::Bool(_) => {
                    arg.num_args(0..=1).require_equals(true).default_missing_value("true")
                }
                _ => arg,
            }
        }))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// Reads a word into its place.
fn put<T: FromStr<Err: Display>>(place: &mut T, word: &str) -> Result<(), String> {
    *place = parsed(word)?;
    Ok(())
}

/// Reads a word into a place that may be left open.
fn put_some<T: FromStr<Err: Display>>(place: &mut Option<T>, word: &str) -> Result<(), String> {
    *place = Some(parsed(word)?);
    Ok(())
}

/// Reads a number of bytes with K, M or G into its place.
fn put_size(place: &mut u64, word: &str) -> Result<(), String> {
    *place = size(word)?;
    Ok(())
}

/// What only experiments vary. In the order of the help.
pub(crate) static TUNING: [GraphOption; 23] = [
    GraphOption {
        name: "archive-threshold",
        value_name: "N",
        about: "Updates in the log from which they are moved into the lists of their vertices",
        set: |options, word| {
            put(&mut options.adjacency.archive_threshold, word)?;
            put(&mut options.pma.archive_threshold, word)
        },
        get: |options| json!(options.adjacency.archive_threshold),
    },
    GraphOption {
        name: "phases",
        value_name: "PHASES",
        about: "Whether logging goes on meanwhile: overlapped or in-turn",
        set: |options, word| {
            put(&mut options.adjacency.phases, word)?;
            put(&mut options.pma.phases, word)
        },
        get: |options| json!(options.adjacency.phases),
    },
    GraphOption {
        name: "division",
        value_name: "DIVISION",
        about: "How archiving is divided among threads: stealing, dealt or fixed",
        set: |options, word| put(&mut options.adjacency.division, word),
        get: |options| json!(options.adjacency.division),
    },
    GraphOption {
        name: "division-bias",
        value_name: "B",
        about: "There is a range of vertices for 2^B of the updates that are archived together",
        set: |options, word| put(&mut options.adjacency.division_bias, word),
        get: |options| json!(options.adjacency.division_bias),
    },
    GraphOption {
        name: "sub-graphs",
        value_name: "P",
        about: "Sub-graphs, each with its own file of blocks, in the memory of one NUMA node and \
                changed and read by threads of that node: 1 to 8",
        set: |options, word| put(&mut options.adjacency.sub_graphs, word),
        get: |options| json!(options.adjacency.sub_graphs),
    },
    GraphOption {
        name: "split",
        value_name: "WHAT",
        about: "What is divided among sub-graphs: vertices, or directions: out-lists in one, \
                in-lists in the other",
        set: |options, word| put(&mut options.adjacency.split, word),
        get: |options| json!(options.adjacency.split),
    },
    GraphOption {
        name: "buffer-pool",
        value_name: "SIZE",
        about: "The memory of vertex buffers from which all are flushed, with K, M or G",
        set: |options, word| put_size(&mut options.adjacency.buffer_pool_bytes, word),
        get: |options| json!(options.adjacency.buffer_pool_bytes),
    },
    GraphOption {
        name: "buffer-min",
        value_name: "BYTES",
        about: "Bytes of a vertex's first buffer: a power of two from 16 on",
        set: |options, word| put(&mut options.adjacency.buffer_bytes_min, word),
        get: |options| json!(options.adjacency.buffer_bytes_min),
    },
    GraphOption {
        name: "buffer-max",
        value_name: "BYTES",
        about: "Bytes up to which a buffer grows before it is flushed",
        set: |options, word| put(&mut options.adjacency.buffer_bytes_max, word),
        get: |options| json!(options.adjacency.buffer_bytes_max),
    },
    GraphOption {
        name: "wide-buffer",
        value_name: "BYTES",
        about: "Bytes of the buffers of vertices of large degree [default: on a file the block of \
                its file system, up to 4096; else 256]",
        set: |options, word| put_some(&mut options.adjacency.wide_buffer_bytes, word),
        get: |options| json!(options.adjacency.wide_buffer_bytes),
    },
    GraphOption {
        name: "battery",
        value_name: "BOOL",
        about: "Memory and the processor's caches outlive a loss of the power, so that nothing is \
                flushed. Only with --medium pmem",
        set: |options, word| {
            put(&mut options.adjacency.battery, word)?;
            options.eadr |= options.adjacency.battery;
            Ok(())
        },
        get: |options| json!(options.adjacency.battery),
    },
    GraphOption {
        name: "deletion",
        value_name: "HOW",
        about: "How deletions find their edges: by-round, with one scan of a list for all of its \
                updates that are archived together, or naive, to compare with: a scan for each \
                deletion",
        set: |options, word| put(&mut options.adjacency.deletion, word),
        get: |options| json!(options.adjacency.deletion),
    },
    GraphOption {
        name: "compaction",
        value_name: "HOW",
        about: "How compaction works: in-runs, or naive, to compare with: list by list, each on new \
                space and with a fence of its own, which takes long on a file",
        set: |options, word| put(&mut options.adjacency.compaction, word),
        get: |options| json!(options.adjacency.compaction),
    },
    GraphOption {
        name: "compact-percent",
        value_name: "PERCENT",
        about: "Compact lists by themselves when so many percent of what they hold are deleted; 0: \
                never",
        set: |options, word| put(&mut options.adjacency.compact_percent, word),
        get: |options| json!(options.adjacency.compact_percent),
    },
    GraphOption {
        name: "merging",
        value_name: "WHEN",
        about: "When lists that came in pieces are written anew as one by themselves: never, always, \
                or adaptive: while threads are fewer than the threshold [default: adaptive on a \
                file, else never]",
        set: |options, word| put_some(&mut options.adjacency.merging, word),
        get: |options| json!(options.adjacency.merging),
    },
    GraphOption {
        name: "io-threshold",
        value_name: "N",
        about: "The number of threads from which adaptive merging leaves lists alone [default: \
                measured when the graph is created: at which the device's random reads are half as \
                fast as sequential ones]",
        set: |options, word| put_some(&mut options.adjacency.io_threshold, word),
        get: |options| json!(options.adjacency.io_threshold),
    },
    GraphOption {
        name: "section-vertices",
        value_name: "N",
        about: "Layout pma: vertices of a section, a power of two up to 64",
        set: |options, word| put(&mut options.pma.section_vertices, word),
        get: |options| json!(options.pma.section_vertices),
    },
    GraphOption {
        name: "edge-log",
        value_name: "BYTES",
        about: "Layout pma: bytes of the edge log of a section at most; 0: none",
        set: |options, word| put(&mut options.pma.edge_log_bytes, word),
        get: |options| json!(options.pma.edge_log_bytes),
    },
    GraphOption {
        name: "undo-log",
        value_name: "BYTES",
        about: "Layout pma: bytes that a rebalance in place saves at a time",
        set: |options, word| put(&mut options.pma.undo_log_bytes, word),
        get: |options| json!(options.pma.undo_log_bytes),
    },
    GraphOption {
        name: "rebalancing",
        value_name: "HOW",
        about: "Layout pma: how gaps are shared out anew: in-place; aside: the whole array is \
                written to another place; or transaction, to compare with: in place, but the \
                medium is waited for after each list that moves [default: aside on a file, else \
                in-place]",
        set: |options, word| put_some(&mut options.pma.rebalancing, word),
        get: |options| json!(options.pma.rebalancing),
    },
    GraphOption {
        name: "vertex-array",
        value_name: "WHERE",
        about: "Layout pma: where the rows of vertices lie: memory, or medium, to compare with: \
                also writes each changed row to the medium",
        set: |options, word| put(&mut options.pma.vertex_array, word),
        get: |options| json!(options.pma.vertex_array),
    },
    GraphOption {
        name: "fill",
        value_name: "PERCENT",
        about: "Layout pma: a new array is filled to so many percent",
        set: |options, word| put(&mut options.pma.fill_percent, word),
        get: |options| json!(options.pma.fill_percent),
    },
    GraphOption {
        name: "preallocate",
        value_name: "SIZE",
        about: "Bytes set aside at creation beside the log, with K, M or G; then the log is made \
                whole too",
        set: |options, word| put_size(&mut options.preallocate_bytes, word),
        get: |options| json!(options.preallocate_bytes),
    },
];

/// What `everedge ingest` has options of its own for, and measurements vary too.
pub(crate) static SHAPE: [GraphOption; 4] = [
    GraphOption {
        name: "layout",
        value_name: "LAYOUT",
        about: "How graphs keep neighbors",
        set: |options, word| put(&mut options.layout, word),
        get: |options| json!(options.layout),
    },
    GraphOption {
        name: "durability",
        value_name: "LEVEL",
        about: "When updates are safe: edge, batch or none. With edge and --batch 1 each edge is",
        set: |options, word| put(&mut options.durability, word),
        get: |options| json!(options.durability),
    },
    GraphOption {
        name: "in-neighbors",
        value_name: "BOOL",
        about: "Whether directed graphs keep in-neighbors",
        set: |options, word| put(&mut options.in_neighbors, word),
        get: |options| json!(options.in_neighbors),
    },
    GraphOption {
        name: "log-size",
        value_name: "SIZE",
        about: "Bytes that the edge log may take, with K, M or G",
        set: |options, word| put_size(&mut options.log_bytes, word),
        get: |options| json!(options.log_bytes),
    },
];

#[cfg(test)]
mod tests {
    use clap::{Args, FromArgMatches};

    use super::*;

    fn all() -> impl Iterator<Item = &'static GraphOption> {
        TUNING.iter().chain(&SHAPE)
    }

    /// A value of the option that is not the usual one.
    fn other_word(option: &GraphOption) -> String {
        let usual = (option.get)(&GraphOptions::default());
        match (option.name, usual) {
            ("layout", _) => "pma".into(),
            ("durability", _) => "edge".into(),
            ("phases", _) => "in-turn".into(),
            ("division", _) => "fixed".into(),
            ("split", _) => "directions".into(),
            ("compaction" | "deletion", _) => "naive".into(),
            ("merging", _) => "always".into(),
            ("rebalancing", _) => "transaction".into(),
            ("vertex-array", _) => "medium".into(),
            (_, Value::Bool(value)) => (!value).to_string(),
            (_, Value::Number(number)) => (number.as_u64().unwrap() + 1).to_string(),
            (_, Value::Null) => "64".into(),
            (name, other) => panic!("{name} is {other}"),
        }
    }

    #[test]
    fn each_option_changes_what_it_shows_and_nothing_that_another_one_shows() {
        for option in all() {
            let mut options = GraphOptions::default();
            (option.set)(&mut options, &other_word(option)).unwrap();
            for shown in all() {
                let is_changed = (shown.get)(&options) != (shown.get)(&GraphOptions::default());
                assert_eq!(is_changed, shown.name == option.name, "{} {}", option.name, shown.name);
            }
        }
    }

    #[test]
    fn options_are_read_from_the_command_line_and_switches_need_no_value() {
        let read = |words: &[&str]| {
            let command = Tuning::augment_args(Command::new("test").no_binary_name(true));
            let matches = command.try_get_matches_from(words)?;
            Ok::<_, clap::Error>(Tuning::from_arg_matches(&matches)?.apply(GraphOptions::default()))
        };
        assert_eq!(read(&[]).unwrap(), GraphOptions::default());
        let options = read(&["--battery", "--buffer-pool", "2M"]).unwrap();
        assert!(options.adjacency.battery && options.eadr);
        assert_eq!(options.adjacency.buffer_pool_bytes, 2 << 20);
        let options = read(&["--phases", "in-turn", "--archive-threshold=1024"]).unwrap();
        assert_eq!(options.pma.phases, options.adjacency.phases);
        assert_eq!(options.pma.archive_threshold, 1024);
        for words in [["--phases", "never"], ["--fill", "much"], ["--buffer-pool", "1T"]] {
            assert!(read(&words).unwrap_err().to_string().contains(words[0]), "{words:?}");
        }
    }
}
