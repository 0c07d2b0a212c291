//! The options of a new graph by name: declared here once for the command line, measurements and
//! Python.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use everedge_medium::MediumKind;
use serde_json::{Value, json};

use crate::{Error, GraphOptions, Layout, Result};

/// An option of a new graph. All are kept in its manifest and fixed from then on.
#[derive(Debug)]
pub struct GraphOption {
    /// Its name: with two dashes before it an option of the command line, with `_` for `-` an
    /// argument in Python.
    pub name: &'static str,
    /// What it can be.
    pub kind: OptionKind,
    /// What it is for.
    pub group: OptionGroup,
    /// What it says, in a sentence without its end; and what holds without it, where that depends.
    pub about: &'static str,
    put: fn(&mut GraphOptions, &str) -> Result<(), String>,
    get: fn(&GraphOptions) -> Value,
}

/// What the value of an option can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OptionKind {
    /// `true` or `false`.
    Switch,
    /// One of some words.
    Word(&'static [&'static str]),
    /// A whole number.
    Number(RangeInclusive<u64>),
    /// A number of bytes, with K, M, G or T for powers of 1,024.
    Size,
}

/// Who needs an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionGroup {
    /// It says what the graph is.
    Graph,
    /// It weighs safety, space and time for users.
    Storage,
    /// Experiments vary it; no answer depends on it.
    Tuning,
}

impl GraphOption {
    /// Returns the option of this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        Self::ALL.iter().find(|option| option.name == name)
    }

    /// Puts a value, as its word, into options.
    ///
    /// # Errors
    /// If the word is no value of it: what is.
    pub fn set(&self, options: &mut GraphOptions, word: &str) -> Result<(), String> {
        self.check_limits(word)?;
        (self.put)(options, word)
    }

    /// Returns the value; null is left open: what suits the medium.
    pub fn get(&self, options: &GraphOptions) -> Value {
        (self.get)(options)
    }

    /// Returns the name under which reports show it.
    pub fn key(&self) -> String {
        self.name.replace('-', "_")
    }

    fn check_limits(&self, word: &str) -> Result<(), String> {
        let OptionKind::Number(limits) = &self.kind else { return Ok(()) };
        match word.parse() {
            Ok(number) if limits.contains(&number) => Ok(()),
            _ => Err(format!("give a whole number from {} to {}", limits.start(), limits.end())),
        }
    }
}

/// Options of a graph that somebody chose, as words.
#[derive(Clone, Debug, Default)]
pub struct Chosen(Vec<(&'static GraphOption, String)>);

impl Chosen {
    /// Adds a choice; a later one of the same option counts.
    ///
    /// # Errors
    /// `InvalidInput` if there is no such option, or the word is no value of it.
    pub fn choose(&mut self, name: &str, word: impl Into<String>) -> Result<()> {
        let option = GraphOption::find(name).ok_or_else(|| {
            let names: Vec<&str> = GraphOption::ALL.iter().map(|option| option.name).collect();
            Error::invalid(format!("no option is called `{name}`; there are {}", names.join(", ")))
        })?;
        let word = word.into();
        option
            .set(&mut GraphOptions::default(), &word)
            .map_err(|what| Error::invalid(format!("{name}={word}: {what}")))?;
        self.0.push((option, word));
        Ok(())
    }

    /// Returns whether an option was chosen.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(option, _)| option.name == name)
    }

    /// Returns the names of what was chosen.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|(option, _)| option.name)
    }

    /// Returns the options of a new graph.
    ///
    /// # Errors
    /// `InvalidInput` names an option that only other layouts have, and those.
    pub fn options(&self) -> Result<GraphOptions> {
        let usual = GraphOptions::default();
        let options = self.apply(usual.clone());
        self.check_layout(&GraphOptions { layout: options.layout, ..usual })?;
        Ok(options)
    }

    /// Checks that the layout of a graph has each option that was chosen.
    ///
    /// # Errors
    /// `InvalidInput` names an option that only other layouts have, and those.
    pub(crate) fn check_layout(&self, options: &GraphOptions) -> Result<()> {
        for (option, word) in &self.0 {
            let counts = |layout| {
                let without = GraphOptions { layout, ..options.clone() };
                let mut with = without.clone();
                // What changes nothing at all is what holds without it.
                option.set(&mut with, word).is_ok()
                    && (option.get(&with) == option.get(&without)
                        || with.to_json() != without.to_json())
            };
            if !counts(options.layout) {
                let layouts = Layout::ALL.into_iter().filter(|&layout| counts(layout));
                let layouts: Vec<String> = layouts.map(|layout| layout.to_string()).collect();
                return Err(Error::invalid(format!(
                    "`{}` is an option of the layout {}; the layout of the graph is {}: leave the option out, or make a \
                     graph of that layout",
                    option.name,
                    layouts.join(" and "),
                    options.layout
                )));
            }
        }
        Ok(())
    }

    /// Puts what was chosen into options.
    pub fn apply(&self, mut options: GraphOptions) -> GraphOptions {
        for (option, word) in &self.0 {
            option.set(&mut options, word).expect("the word was checked when it was chosen");
        }
        options
    }
}

/// Reads a number of bytes with K, M, G or T for powers of 1,024, such as `512M`, `1.5 GiB` or `2gb`.
///
/// # Errors
/// If it is none, or 2^64 or more.
pub fn size(word: &str) -> Result<u64, String> {
    let wrong = || {
        format!(
            "`{word}` is no number of bytes: give one, or a number with K, M, G or T behind it, such as 512M or 1.5G"
        )
    };
    let upper = word.trim().to_ascii_uppercase();
    let end = upper.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(upper.len());
    let (number, unit) = upper.split_at(end);
    let shift = match unit.trim_start() {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        "T" | "TB" | "TIB" => 40,
        _ => return Err(wrong()),
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    // More digits say less than a byte. A unit has 2^40 of them at most: with 18 digits nothing overflows.
    let digits = &part[..part.len().min(18)];
    let (Ok(part), false) = (digits.parse::<u128>(), whole.is_empty()) else { return Err(wrong()) };
    // Of a byte there is no part.
    if shift == 0 && number.contains('.') {
        return Err(wrong());
    }
    let part = (part << shift) / 10_u128.pow(digits.len() as u32);
    // What are digits and no number are too many.
    let whole = match whole.parse::<u64>() {
        Ok(whole) => u128::from(whole) << shift,
        Err(_) => return Err(format!("`{word}` is too large")),
    };
    u64::try_from(whole + part).map_err(|_| format!("`{word}` is too large"))
}

fn parsed<T: FromStr<Err: Display>>(word: &str) -> Result<T, String> {
    word.parse().map_err(|error: T::Err| error.to_string())
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

/// Reads a number of bytes into its place.
fn put_size(place: &mut u64, word: &str) -> Result<(), String> {
    *place = size(word)?;
    Ok(())
}

impl GraphOption {
    /// Every option. In the order of the help.
    pub const ALL: &'static [Self] = &TABLE;
}

static TABLE: [GraphOption; 35] = [
    GraphOption {
        name: "medium",
        kind: OptionKind::Word(&["file", "pmem", "pmem-emulated", "dram"]),
        group: OptionGroup::Graph,
        about: "Where the graph lives: file; pmem, on a DAX file system; pmem-emulated, the same on \
                any; or dram, of which nothing survives",
        put: |options, word| {
            options.medium = match word {
                "pmem-emulated" => MediumKind::Pmem { emulated: true },
                _ => parsed(word)?,
            };
            Ok(())
        },
        get: |options| match options.medium {
            MediumKind::Pmem { emulated: true } => json!("pmem-emulated"),
            other => json!(other.to_string()),
        },
    },
    GraphOption {
        name: "eadr",
        kind: OptionKind::Switch,
        group: OptionGroup::Graph,
        about: "The power-fail domain takes in the processor's caches (eADR)",
        put: |options, word| put(&mut options.eadr, word),
        get: |options| json!(options.eadr),
    },
    GraphOption {
        name: "directed",
        kind: OptionKind::Switch,
        group: OptionGroup::Graph,
        about: "Edges have a direction",
        put: |options, word| put(&mut options.directed, word),
        get: |options| json!(options.directed),
    },
    GraphOption {
        name: "weighted",
        kind: OptionKind::Switch,
        group: OptionGroup::Graph,
        about: "Edges carry a weight",
        put: |options, word| put(&mut options.weighted, word),
        get: |options| json!(options.weighted),
    },
    GraphOption {
        name: "simple",
        kind: OptionKind::Switch,
        group: OptionGroup::Graph,
        about: "A pair keeps one edge; inserting it again replaces its weight",
        put: |options, word| put(&mut options.simple, word),
        get: |options| json!(options.simple),
    },
    GraphOption {
        name: "layout",
        kind: OptionKind::Word(&["adjacency", "pma", "blocks"]),
        group: OptionGroup::Storage,
        about: "How the graph keeps neighbors: lists that grow, arrays with gaps that are read like a CSR, or \
                sorted blocks",
        put: |options, word| put(&mut options.layout, word),
        get: |options| json!(options.layout),
    },
    GraphOption {
        name: "durability",
        kind: OptionKind::Word(&["edge", "batch", "none"]),
        group: OptionGroup::Storage,
        about: "When updates are safe: after each edge, after each batch, or with none after a sync or \
                the close",
        put: |options, word| put(&mut options.durability, word),
        get: |options| json!(options.durability),
    },
    GraphOption {
        name: "in-neighbors",
        kind: OptionKind::Switch,
        group: OptionGroup::Storage,
        about: "Whether directed graphs keep in-neighbors",
        put: |options, word| put(&mut options.in_neighbors, word),
        get: |options| json!(options.in_neighbors),
    },
    GraphOption {
        name: "log-size",
        kind: OptionKind::Size,
        group: OptionGroup::Storage,
        about: "Bytes that the edge log may take, with K, M, G or T",
        put: |options, word| put_size(&mut options.log_bytes, word),
        get: |options| json!(options.log_bytes),
    },
    GraphOption {
        name: "archive-threshold",
        kind: OptionKind::Number(1..=1 << 32),
        group: OptionGroup::Tuning,
        about: "Updates in the log from which they are moved into the lists of their vertices; `pma` moves them \
                from 2^22 on at the latest, or a sixteenth of the graph if that is more",
        put: |options, word| {
            put(&mut options.adjacency.archive_threshold, word)?;
            put(&mut options.pma.archive_threshold, word)?;
            put(&mut options.blocks.archive_threshold, word)
        },
        get: |options| json!(options.adjacency.archive_threshold),
    },
    GraphOption {
        name: "phases",
        kind: OptionKind::Word(&["overlapped", "in-turn"]),
        group: OptionGroup::Tuning,
        about: "Whether logging goes on meanwhile: overlapped or in-turn",
        put: |options, word| {
            put(&mut options.adjacency.phases, word)?;
            put(&mut options.pma.phases, word)?;
            put(&mut options.blocks.phases, word)
        },
        get: |options| json!(options.adjacency.phases),
    },
    GraphOption {
        name: "division",
        kind: OptionKind::Word(&["stealing", "dealt", "fixed"]),
        group: OptionGroup::Tuning,
        about: "How archiving is divided among threads: stealing, dealt or fixed",
        put: |options, word| put(&mut options.adjacency.division, word),
        get: |options| json!(options.adjacency.division),
    },
    GraphOption {
        name: "division-bias",
        kind: OptionKind::Number(0..=32),
        group: OptionGroup::Tuning,
        about: "There is a range of vertices for 2^B of the updates that are archived together",
        put: |options, word| put(&mut options.adjacency.division_bias, word),
        get: |options| json!(options.adjacency.division_bias),
    },
    GraphOption {
        name: "sub-graphs",
        kind: OptionKind::Number(1..=8),
        group: OptionGroup::Tuning,
        about: "Sub-graphs, each with its own file of blocks, in the memory of one NUMA node and \
                changed and read by threads of that node: 1 to 8",
        put: |options, word| put(&mut options.adjacency.sub_graphs, word),
        get: |options| json!(options.adjacency.sub_graphs),
    },
    GraphOption {
        name: "split",
        kind: OptionKind::Word(&["vertices", "directions"]),
        group: OptionGroup::Tuning,
        about: "What is divided among sub-graphs: vertices, or directions: out-lists in one, \
                in-lists in the other",
        put: |options, word| put(&mut options.adjacency.split, word),
        get: |options| json!(options.adjacency.split),
    },
    GraphOption {
        name: "buffer-pool",
        kind: OptionKind::Size,
        group: OptionGroup::Tuning,
        about: "The memory of vertex buffers from which all are flushed, with K, M, G or T",
        put: |options, word| put_size(&mut options.adjacency.buffer_pool_bytes, word),
        get: |options| json!(options.adjacency.buffer_pool_bytes),
    },
    GraphOption {
        name: "buffer-min",
        kind: OptionKind::Number(16..=4096),
        group: OptionGroup::Tuning,
        about: "Bytes of a vertex's first buffer: a power of two from 16 on",
        put: |options, word| put(&mut options.adjacency.buffer_bytes_min, word),
        get: |options| json!(options.adjacency.buffer_bytes_min),
    },
    GraphOption {
        name: "buffer-max",
        kind: OptionKind::Number(16..=4096),
        group: OptionGroup::Tuning,
        about: "Bytes up to which a buffer grows before it is flushed",
        put: |options, word| put(&mut options.adjacency.buffer_bytes_max, word),
        get: |options| json!(options.adjacency.buffer_bytes_max),
    },
    GraphOption {
        name: "wide-buffer",
        kind: OptionKind::Number(16..=4096),
        group: OptionGroup::Tuning,
        about: "Bytes of the buffers of vertices of large degree [default: on a file the block of \
                its file system, up to 4096; else 256]",
        put: |options, word| put_some(&mut options.adjacency.wide_buffer_bytes, word),
        get: |options| json!(options.adjacency.wide_buffer_bytes),
    },
    GraphOption {
        name: "battery",
        kind: OptionKind::Switch,
        group: OptionGroup::Tuning,
        about: "Memory and the processor's caches outlive a loss of the power, so that nothing is \
                flushed. Only with --medium pmem",
        put: |options, word| {
            put(&mut options.adjacency.battery, word)?;
            options.eadr |= options.adjacency.battery;
            Ok(())
        },
        get: |options| json!(options.adjacency.battery),
    },
    GraphOption {
        name: "deletion",
        kind: OptionKind::Word(&["by-round", "naive"]),
        group: OptionGroup::Tuning,
        about: "How deletions find their edges: by-round, with one scan of a list for all of its \
                updates that are archived together, or naive, to compare with: a scan for each \
                deletion",
        put: |options, word| put(&mut options.adjacency.deletion, word),
        get: |options| json!(options.adjacency.deletion),
    },
    GraphOption {
        name: "compaction",
        kind: OptionKind::Word(&["in-runs", "naive"]),
        group: OptionGroup::Tuning,
        about: "How compaction works: in-runs, or naive, to compare with: list by list, each on new \
                space and with a fence of its own, which takes long on a file",
        put: |options, word| put(&mut options.adjacency.compaction, word),
        get: |options| json!(options.adjacency.compaction),
    },
    GraphOption {
        name: "compact-percent",
        kind: OptionKind::Number(0..=100),
        group: OptionGroup::Tuning,
        about: "Compact lists by themselves when so many percent of what they hold are deleted; 0: \
                never",
        put: |options, word| put(&mut options.adjacency.compact_percent, word),
        get: |options| json!(options.adjacency.compact_percent),
    },
    GraphOption {
        name: "merging",
        kind: OptionKind::Word(&["never", "in-pauses", "always", "adaptive"]),
        group: OptionGroup::Tuning,
        about: "When lists that came in pieces are written anew as one by themselves: never, \
                in-pauses of the writers, always, or adaptive: in pauses and while threads are \
                fewer than the threshold [default: adaptive on a file, else in-pauses]",
        put: |options, word| put_some(&mut options.adjacency.merging, word),
        get: |options| json!(options.adjacency.merging),
    },
    GraphOption {
        name: "io-threshold",
        kind: OptionKind::Number(0..=u32::MAX as u64),
        group: OptionGroup::Tuning,
        about: "The number of threads from which adaptive merging leaves lists alone [default: \
                measured when the graph is created: at which the device's random reads are half as \
                fast as sequential ones]",
        put: |options, word| put_some(&mut options.adjacency.io_threshold, word),
        get: |options| json!(options.adjacency.io_threshold),
    },
    GraphOption {
        name: "section-vertices",
        kind: OptionKind::Number(1..=64),
        group: OptionGroup::Tuning,
        about: "Layout pma: vertices of a section, a power of two up to 64",
        put: |options, word| put(&mut options.pma.section_vertices, word),
        get: |options| json!(options.pma.section_vertices),
    },
    GraphOption {
        name: "edge-log",
        kind: OptionKind::Number(0..=1 << 19),
        group: OptionGroup::Tuning,
        about: "Layout pma: bytes of the edge log of a section at most; 0: none",
        put: |options, word| put(&mut options.pma.edge_log_bytes, word),
        get: |options| json!(options.pma.edge_log_bytes),
    },
    GraphOption {
        name: "undo-log",
        kind: OptionKind::Number(64..=1 << 20),
        group: OptionGroup::Tuning,
        about: "Layout pma: bytes that a rebalance in place saves at a time",
        put: |options, word| put(&mut options.pma.undo_log_bytes, word),
        get: |options| json!(options.pma.undo_log_bytes),
    },
    GraphOption {
        name: "rebalancing",
        kind: OptionKind::Word(&["in-place", "aside", "transaction"]),
        group: OptionGroup::Tuning,
        about: "Layout pma: how gaps are shared out anew: in-place; aside: the whole array is \
                written to another place; or transaction, to compare with: in place, but the \
                medium is waited for after each list that moves [default: aside on a file, else \
                in-place]",
        put: |options, word| put_some(&mut options.pma.rebalancing, word),
        get: |options| json!(options.pma.rebalancing),
    },
    GraphOption {
        name: "vertex-array",
        kind: OptionKind::Word(&["memory", "medium"]),
        group: OptionGroup::Tuning,
        about: "Layout pma: where the rows of vertices lie: memory, or medium, to compare with: \
                also writes each changed row to the medium",
        put: |options, word| put(&mut options.pma.vertex_array, word),
        get: |options| json!(options.pma.vertex_array),
    },
    GraphOption {
        name: "log-first",
        kind: OptionKind::Word(&["yes", "no"]),
        group: OptionGroup::Tuning,
        about: "Layout pma: whether a single edge is logged first; or no, to compare with: it is \
                stored in the edge logs of its sections, and waited for there",
        put: |options, word| put(&mut options.pma.log_first, word),
        get: |options| json!(options.pma.log_first),
    },
    GraphOption {
        name: "fill",
        kind: OptionKind::Number(10..=100),
        group: OptionGroup::Tuning,
        about: "Layout pma: a new array is filled to so many percent",
        put: |options, word| put(&mut options.pma.fill_percent, word),
        get: |options| json!(options.pma.fill_percent),
    },
    GraphOption {
        name: "block-bytes",
        kind: OptionKind::Number(64..=1024),
        group: OptionGroup::Tuning,
        about: "Layout blocks: bytes of a block, a power of two",
        put: |options, word| put(&mut options.blocks.block_bytes, word),
        get: |options| json!(options.blocks.block_bytes),
    },
    GraphOption {
        name: "shared-list",
        kind: OptionKind::Number(1..=1 << 16),
        group: OptionGroup::Tuning,
        about: "Layout blocks: lists of at most so many neighbors share the memory of 64 vertices",
        put: |options, word| put(&mut options.blocks.shared_max, word),
        get: |options| json!(options.blocks.shared_max),
    },
    GraphOption {
        name: "preallocate",
        kind: OptionKind::Size,
        group: OptionGroup::Tuning,
        about: "Bytes set aside at creation beside the log, with K, M, G or T; then the log is made \
                whole too",
        put: |options, word| put_size(&mut options.preallocate_bytes, word),
        get: |options| json!(options.preallocate_bytes),
    },
];
