//! What can be varied: the graph, where it lies, and the options that make configurations.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::{Arg, ArgAction, ArgMatches, Command};
use everedge::{Generator, GraphOption, GraphOptions, OptionGroup};
use serde::{Deserialize, Serialize};

use super::figures::{self, Row};
use crate::arguments::{GraphKind, Medium};
use crate::tuning;

/// Edges of a batch unless something else is asked for.
pub(crate) const BATCH: usize = 1 << 16;

/// The graph and the circumstances: what every measurement has.
#[derive(clap::Args, Clone, Debug)]
pub(crate) struct Common {
    /// Edges for each id.
    #[arg(long, default_value_t = 16, value_name = "D")]
    pub(crate) degree: u32,

    /// How often each configuration runs; medians are shown.
    #[arg(long, default_value_t = 3, value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) trials: u32,

    /// Where graphs of the medium `file` are put, and removed again.
    #[arg(long, default_value = "bench-graphs", value_name = "DIR")]
    pub(crate) directory: PathBuf,

    /// Where graphs of the medium `pmem` are put, and removed again: a tmpfs.
    #[arg(long, default_value = "/dev/shm/everedge-bench", value_name = "DIR")]
    pub(crate) pmem_directory: PathBuf,
}

impl Common {
    /// Returns the description of the graph with `2^scale` ids.
    ///
    /// # Errors
    /// If there is no such graph.
    pub(crate) fn generator(&self, scale: u32) -> Result<Generator> {
        Ok(Generator::kron(scale, self.degree, 1)?)
    }
}

/// Comma lists; each combination of their values is a configuration.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Options that take comma lists; every combination is measured")]
pub(crate) struct Lists {
    /// Scales: a graph has 2^S ids.
    #[arg(long, value_delimiter = ',', default_value = "20", value_name = "S")]
    scale: Vec<u32>,

    /// The graphs: Kronecker or uniform.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "kron", value_name = "GRAPH")]
    graph: Vec<GraphKind>,

    /// Edges of your own instead of a generated graph: a file of pairs of 32-bit ids, as
    /// `everedge export GRAPH FILE.bin` writes it.
    #[arg(long, value_name = "FILE.bin", conflicts_with_all = ["scale", "graph"])]
    input: Option<PathBuf>,

    /// The media; pmem is emulated on a tmpfs [default: all on which the measurement has a sense].
    #[arg(long, value_enum, value_delimiter = ',', value_name = "MEDIUM")]
    medium: Vec<Medium>,

    /// Numbers of threads.
    #[arg(long = "on", value_delimiter = ',', default_value = "1,2", value_name = "N")]
    threads: Vec<usize>,

    /// Threads that insert, each batches of its own.
    #[arg(long, value_delimiter = ',', value_name = "N", default_value = "1")]
    writers: Vec<usize>,

    /// Edges of a batch: what is acknowledged together.
    #[arg(long, value_delimiter = ',', value_name = "N", default_values_t = [BATCH])]
    batch: Vec<usize>,

    #[command(flatten)]
    options: OptionLists,
}

/// The options of a graph that were given: each with the values that its comma list has.
#[derive(Clone, Debug)]
struct OptionLists(Vec<(&'static GraphOption, Vec<String>)>);

/// Returns the options of a graph that measurements vary.
fn graph_options() -> impl Iterator<Item = &'static GraphOption> {
    GraphOption::ALL.iter().filter(|option| option.group != OptionGroup::Graph)
}

impl clap::FromArgMatches for OptionLists {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let values = |option: &'static GraphOption| {
            let words = matches.get_many::<String>(option.name)?;
            Some((option, words.cloned().collect()))
        };
        Ok(Self(graph_options().filter_map(values).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl clap::Args for OptionLists {
    fn augment_args(command: Command) -> Command {
        let list = |arg: Arg| arg.value_delimiter(',').action(ArgAction::Append);
        command.args(graph_options().map(|option| list(tuning::arg(option))))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl Lists {
    /// Returns all combinations; `media` are those of a measurement that names none.
    ///
    /// # Errors
    /// If a combination makes no sense.
    pub(crate) fn configurations(&self, media: &[Medium]) -> Result<Vec<Configuration>> {
        let media = if self.medium.is_empty() { media } else { &self.medium };
        let mut all = vec![Configuration { input: self.input.clone(), ..Default::default() }];
        all = vary(all, &self.scale, |one, &value| one.scale = value);
        all = vary(all, &self.graph, |one, &value| one.graph = value);
        all = vary(all, media, |one, &value| one.medium = value);
        all = vary(all, &self.writers, |one, &value| one.writers = value);
        all = vary(all, &self.batch, |one, &value| one.batch = value);
        for (option, words) in &self.options.0 {
            all = vary(all, words, |one, word| {
                option.set(&mut one.options, word).expect("the word was checked when it was read");
            });
        }
        all = vary(all, &self.threads, |one, &value| one.threads = value);
        all.iter().try_for_each(Configuration::check)?;
        Ok(all)
    }
}

/// Returns each of `all` with each of the values; the values vary fastest.
fn vary<T>(
    all: Vec<Configuration>,
    values: &[T],
    set: impl Fn(&mut Configuration, &T),
) -> Vec<Configuration> {
    let with = |one: &Configuration, value: &T| {
        let mut one = one.clone();
        set(&mut one, value);
        one
    };
    all.iter().flat_map(|one| values.iter().map(|value| with(one, value))).collect()
}

/// One value of each option.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Configuration {
    /// A file of edges that takes the place of a generated graph.
    pub(crate) input: Option<PathBuf>,
    pub(crate) graph: GraphKind,
    pub(crate) scale: u32,
    pub(crate) medium: Medium,
    pub(crate) threads: usize,
    pub(crate) writers: usize,
    pub(crate) batch: usize,
    /// All options of the graph but the medium.
    pub(crate) options: GraphOptions,
}

impl Default for Configuration {
    fn default() -> Self {
        Self {
            input: None,
            graph: GraphKind::Kron,
            scale: 20,
            medium: Medium::Pmem,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            writers: 1,
            batch: BATCH,
            options: GraphOptions::default(),
        }
    }
}

impl Configuration {
    /// Returns the options of a graph in this configuration; persistent memory is emulated.
    pub(crate) fn graph_options(&self) -> GraphOptions {
        GraphOptions { medium: self.medium.kind(true), ..self.options.clone() }
    }

    /// Puts how many updates are archived together into the options of all layouts.
    pub(crate) fn archive_from(&mut self, updates: u64) {
        self.options.adjacency.archive_threshold = updates;
        self.options.pma.archive_threshold = updates;
        self.options.blocks.archive_threshold = updates;
    }

    /// Returns the values of all options by name.
    ///
    /// # Errors
    /// If one has no JSON form.
    pub(crate) fn row(&self) -> Result<Row> {
        let mut row = figures::row(self)?;
        row.shift_remove("options");
        if self.input.is_some() {
            // No graph was generated.
            row.shift_remove("graph");
            row.shift_remove("scale");
        }
        let values = graph_options().map(|option| (option.key(), option.get(&self.options)));
        row.extend(values);
        Ok(row)
    }

    fn check(&self) -> Result<()> {
        ensure!(self.batch > 0, "a batch has at least one edge; give --batch 1 or more");
        ensure!(self.writers > 0, "somebody must insert; give --writers 1 or more");
        ensure!(self.threads > 0, "there is no work on 0 threads; give --on 1 or more");
        let buffers = &self.options.adjacency;
        ensure!(
            buffers.buffer_bytes_min <= buffers.buffer_bytes_max,
            "--buffer-min {} is above --buffer-max {}; every combination is measured, so give \
             lists that do not cross, or measure in two runs",
            buffers.buffer_bytes_min,
            buffers.buffer_bytes_max
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Result<Vec<Configuration>> {
        let command =
            <Lists as clap::Args>::augment_args(Command::new("test").no_binary_name(true));
        let matches = command.try_get_matches_from(words)?;
        <Lists as clap::FromArgMatches>::from_arg_matches(&matches)?.configurations(&[Medium::Dram])
    }

    #[test]
    fn every_combination_comes_once() {
        let all = read(&["--on", "1,2", "--buffer-min", "16,32,64", "--merging", "never"]).unwrap();
        let shown: Vec<_> =
            all.iter().map(|one| (one.options.adjacency.buffer_bytes_min, one.threads)).collect();
        assert_eq!(shown, [(16, 1), (16, 2), (32, 1), (32, 2), (64, 1), (64, 2)]);
        assert!(all.iter().all(|one| one.row().unwrap()["merging"] == "never"));
        assert!(all.iter().all(|one| one.medium == Medium::Dram));
    }

    #[test]
    fn edges_of_a_file_are_of_no_generated_graph() {
        let rows = |words| read(words).unwrap().remove(0).row().unwrap();
        let is_generated = |row: &Row| row.contains_key("graph") && row.contains_key("scale");
        assert!(is_generated(&rows(&["--scale", "18"])));
        let row = rows(&["--input", "edges.bin"]);
        assert!(row["input"] == "edges.bin" && !is_generated(&row));
    }

    #[test]
    fn crossed_buffer_sizes_are_refused() {
        let crossed = read(&["--buffer-min", "64", "--buffer-max", "128,32"]);
        assert!(crossed.unwrap_err().to_string().contains("--buffer-min 64"));
        assert!(read(&["--buffer-min", "16,none"]).unwrap_err().to_string().contains("none"));
    }

    #[test]
    fn a_configuration_survives_its_text_form() {
        let one = &read(&["--layout", "pma", "--rebalancing", "aside"]).unwrap()[0];
        let text = serde_json::to_string(one).unwrap();
        assert_eq!(&serde_json::from_str::<Configuration>(&text).unwrap(), one);
    }
}
