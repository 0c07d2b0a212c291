//! The help of `everedge ingest`, whose options are too many for one list.
//!
//! `--help` shows what most people need, on one screen; `--help-all` all but what only experiments vary, with all that is
//! said of it. Both are under headings. An option that no group names says how the input is read.

use clap::{Arg, ArgAction, Command};

/// Headings, and the options under them.
const GROUPS: [(&str, &[&str]); 2] = [
    ("Graph", &["layout", "undirected", "directed", "weighted", "simple", "no_in", "ids"]),
    (
        "Durability",
        &["durability", "batch", "flush_every", "medium", "emulate_pmem", "eadr", "log-size"],
    ),
];
const INPUT: &str = "Input";

/// What most people need.
const COMMON: [&str; 12] = [
    "delete",
    "undirected",
    "weighted",
    "simple",
    "layout",
    "durability",
    "medium",
    "format",
    "src",
    "dst",
    "weight",
    "commit_every",
];

const EXAMPLES: &str = "\
Examples:
  everedge ingest social follows.csv.gz
  everedge ingest roads roads.gr --undirected --weighted
  zcat new.txt.gz | everedge ingest social -
  everedge ingest social gone.txt --delete
";
const MORE: &str = "`everedge ingest --help-all` has all options and says more of each.";
const MORE_OF_ALL: &str =
    "A new graph takes options for experiments too: `everedge bench ingest --help` lists them.";

/// Puts the options of `ingest` under headings, and its help on two pages.
pub(crate) fn grouped(command: Command) -> Command {
    command.mut_subcommand("ingest", |ingest| {
        let page = |name| Arg::new(name).long(name).help_heading(None::<&str>);
        let help = page("help").short('h').action(ArgAction::HelpShort);
        let all = page("help-all").action(ArgAction::HelpLong);
        ingest
            .mut_args(with_heading)
            .disable_help_flag(true)
            .arg(help.help("Print the options that most people need"))
            .arg(all.help("Print all options, and more of each"))
            .after_help(format!("{EXAMPLES}\n{MORE}"))
            .after_long_help(format!("{EXAMPLES}\n{MORE_OF_ALL}"))
    })
}

fn with_heading(arg: Arg) -> Arg {
    if arg.is_positional() {
        return arg;
    }
    let name = arg.get_id().as_str();
    let group = GROUPS.iter().find(|(_, names)| names.contains(&name));
    let (heading, is_rare) = (group.map_or(INPUT, |(heading, _)| heading), !COMMON.contains(&name));
    let has_heading = arg.get_help_heading().is_some();
    let arg = arg.hide_short_help(is_rare);
    if has_heading { arg } else { arg.help_heading(heading) }
}
