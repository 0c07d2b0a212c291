//! The options of new graphs as arguments of the command line.
//!
//! They are declared in [`GraphOption::ALL`]: `everedge ingest` takes one value of each for a new
//! graph, `everedge bench` a comma list, and a row of figures shows the value under the option's name.

use clap::{Arg, ArgMatches, Command};
use everedge::{Chosen, GraphOption, GraphOptions, OptionGroup, OptionKind};
use serde_json::Value;

use crate::arguments::Words;

/// Returns the argument for an option, which takes a word and checks it.
pub(crate) fn arg(option: &'static GraphOption) -> Arg {
    let check =
        |word: &str| option.set(&mut GraphOptions::default(), word).map(|()| word.to_owned());
    let help = match option.get(&GraphOptions::default()) {
        Value::Null => option.about.to_owned(),
        Value::String(word) => format!("{} [default: {word}]", option.about),
        other => format!("{} [default: {other}]", option.about),
    };
    let value_name = match option.kind {
        OptionKind::Switch => "BOOL",
        OptionKind::Word(_) => "WORD",
        OptionKind::Number(_) => "N",
        OptionKind::Size => "SIZE",
    };
    let words = match option.kind {
        OptionKind::Word(words) => words,
        _ => &[],
    };
    Arg::new(option.name)
        .long(option.name)
        .value_name(value_name)
        .value_parser(Words::new(words.iter().copied(), check))
        .hide_possible_values(true)
        .help(help)
}

/// The options of a new graph that `everedge ingest` takes by their names in the table. Its help
/// leaves those for experiments to that of `bench`.
#[derive(Clone, Debug, Default)]
pub struct NewGraph {
    /// What was chosen.
    pub chosen: Chosen,
}

/// The others have names of their own there: `--undirected`, `--no-in`.
fn taken() -> impl Iterator<Item = &'static GraphOption> {
    let is_taken =
        |option: &&GraphOption| option.group != OptionGroup::Graph && option.name != "in-neighbors";
    GraphOption::ALL.iter().filter(is_taken)
}

impl clap::FromArgMatches for NewGraph {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut chosen = Chosen::default();
        for option in taken() {
            if let Some(word) = matches.get_one::<String>(option.name) {
                chosen.choose(option.name, word).expect("the word was checked when it was read");
            }
        }
        Ok(Self { chosen })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl clap::Args for NewGraph {
    fn augment_args(command: Command) -> Command {
        command.args(taken().map(|option| {
            let arg = arg(option).hide(option.group == OptionGroup::Tuning);
            match option.kind {
                // A switch needs no value.
                OptionKind::Switch => {
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

#[cfg(test)]
mod tests {
    use clap::{Args, FromArgMatches};

    use super::*;

    #[test]
    fn options_are_read_from_the_command_line_and_switches_need_no_value() {
        let read = |words: &[&str]| {
            let command = NewGraph::augment_args(Command::new("test").no_binary_name(true));
            let matches = command.try_get_matches_from(words)?;
            let new_graph = NewGraph::from_arg_matches(&matches)?;
            Ok::<_, clap::Error>(new_graph.chosen.apply(GraphOptions::default()))
        };
        assert_eq!(read(&[]).unwrap(), GraphOptions::default());
        let options = read(&["--battery", "--buffer-pool", "2M"]).unwrap();
        assert!(options.adjacency.battery && options.eadr);
        assert_eq!(options.adjacency.buffer_pool_bytes, 2 << 20);
        let options = read(&["--phases", "in-turn", "--archive-threshold=1024"]).unwrap();
        assert_eq!(options.pma.phases, options.adjacency.phases);
        assert_eq!(options.pma.archive_threshold, 1024);
        for words in
            [["--phases", "never"], ["--fill", "much"], ["--fill", "5"], ["--buffer-pool", "1X"]]
        {
            assert!(read(&words).unwrap_err().to_string().contains(words[0]), "{words:?}");
        }
    }
}
