//! The help of `everedge ingest`, whose options are too many for one list.
//!
//! `-h` shows what most people need, `--help` all but what only experiments vary, both under headings. An option that no
//! group names says how the input is read.

use clap::{Arg, Command};

/// Headings, and the options under them.
const GROUPS: [(&str, &[&str]); 2] = [
    ("Graph", &["layout", "undirected", "directed", "weighted", "simple", "no_in", "ids"]),
    (
        "Durability",
        &["durability", "batch", "flush_every", "medium", "emulate_pmem", "eadr", "log-size"],
    ),
];
const INPUT: &str = "Input";

/// What few people need.
const RARE: [&str; 8] = [
    "directed",
    "no_in",
    "emulate_pmem",
    "eadr",
    "log-size",
    "drop_self_loops",
    "meter",
    "acknowledge",
];

const EXAMPLES: &str = "\
Examples:
  everedge ingest social follows.csv.gz
  everedge ingest roads roads.gr --undirected --weighted
  zcat new.txt.gz | everedge ingest social -
  everedge ingest social gone.txt --delete

A new graph takes options for experiments too: `everedge bench ingest --help` lists them.";

/// Puts the options of `ingest` under headings.
pub(crate) fn grouped(command: Command) -> Command {
    command.mut_subcommand("ingest", |ingest| ingest.mut_args(with_heading).after_help(EXAMPLES))
}

fn with_heading(arg: Arg) -> Arg {
    if arg.is_positional() || arg.get_help_heading().is_some() {
        return arg;
    }
    let name = arg.get_id().as_str();
    let group = GROUPS.iter().find(|(_, names)| names.contains(&name));
    let (heading, is_rare) = (group.map_or(INPUT, |(heading, _)| heading), RARE.contains(&name));
    arg.help_heading(heading).hide_short_help(is_rare)
}
