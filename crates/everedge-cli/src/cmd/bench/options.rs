//! What can be varied: the graph, where it lies, and the options that make configurations.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use everedge::{
    AdjacencyOptions, Compacting, Deleting, Division, Durability, Generator, GraphOptions, Layout,
    MediumKind, Merging, Phases, PmaOptions, Rebalancing, Split, VertexArray,
};
use serde::{Deserialize, Serialize};

use crate::cmd::generate::Kind;
use crate::cmd::{Medium, parsed, size};

/// Edges of a batch unless something else is asked for.
pub(super) const BATCH: usize = 1 << 16;

/// The graph and the circumstances: what every measurement has.
#[derive(clap::Args, Clone, Debug)]
pub(super) struct Common {
    /// Edges for each id.
    #[arg(long, default_value_t = 16, value_name = "D")]
    pub(super) degree: u32,

    /// How often each configuration runs; medians are shown.
    #[arg(long, default_value_t = 3, value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) trials: u32,

    /// Where graphs of the medium `file` are put, and removed again.
    #[arg(long, default_value = "bench-graphs", value_name = "DIR")]
    pub(super) directory: PathBuf,

    /// Where graphs of the medium `pmem` are put, and removed again: a tmpfs.
    #[arg(long, default_value = "/dev/shm/everedge-bench", value_name = "DIR")]
    pub(super) pmem_directory: PathBuf,
}

impl Common {
    /// Returns the description of the graph with `2^scale` ids.
    ///
    /// # Errors
    /// If there is no such graph.
    pub(super) fn generator(&self, scale: u32) -> Result<Generator> {
        Ok(Generator::kron(scale, self.degree, 1)?)
    }
}

/// Comma lists; each combination of their values is a configuration.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Options that take comma lists; every combination is measured")]
pub(super) struct Lists {
    /// Scales: a graph has 2^S ids.
    #[arg(long, value_delimiter = ',', default_value = "20", value_name = "S")]
    scale: Vec<u32>,

    /// The graphs: Kronecker or uniform.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "kron", value_name = "GRAPH")]
    graph: Vec<Kind>,

    /// The media; pmem is emulated on a tmpfs [default: all on which the measurement has a sense].
    #[arg(long, value_enum, value_delimiter = ',', value_name = "MEDIUM")]
    medium: Vec<Medium>,

    /// How graphs keep neighbors.
    #[arg(long, value_delimiter = ',', value_name = "LAYOUT", value_parser = parsed::<Layout>,
        default_values_t = [Layout::Adjacency])]
    layout: Vec<Layout>,

    /// When updates are safe: edge, batch or none. With edge and --batch 1 each edge is.
    #[arg(long, value_delimiter = ',', value_name = "LEVEL", value_parser = parsed::<Durability>,
        default_values_t = [Durability::Batch])]
    durability: Vec<Durability>,

    /// Whether directed graphs keep in-neighbors.
    #[arg(long, value_delimiter = ',', value_name = "BOOL", default_value = "true",
        action = clap::ArgAction::Append)]
    in_neighbors: Vec<bool>,

    /// Numbers of threads.
    #[arg(long = "on", value_delimiter = ',', default_value = "1,2", value_name = "N")]
    threads: Vec<usize>,

    /// Threads that insert, each batches of its own.
    #[arg(long, value_delimiter = ',', value_name = "N", default_value = "1")]
    writers: Vec<usize>,

    /// Edges of a batch: what is acknowledged together.
    #[arg(long, value_delimiter = ',', value_name = "N", default_values_t = [BATCH])]
    batch: Vec<usize>,

    /// Updates in the log from which they are archived.
    #[arg(long, value_delimiter = ',', value_name = "N",
        default_values_t = [adjacency().archive_threshold])]
    archive_threshold: Vec<u64>,

    /// Whether logging goes on while updates are archived: overlapped or in-turn.
    #[arg(long, value_delimiter = ',', value_name = "PHASES", value_parser = parsed::<Phases>,
        default_values_t = [adjacency().phases])]
    phases: Vec<Phases>,

    /// How archiving is divided among threads: stealing, dealt or fixed.
    #[arg(long, value_delimiter = ',', value_name = "DIVISION", value_parser = parsed::<Division>,
        default_values_t = [adjacency().division])]
    division: Vec<Division>,

    /// A range of vertices for 2^B of the updates that are archived together.
    #[arg(long, value_delimiter = ',', value_name = "B",
        default_values_t = [adjacency().division_bias])]
    division_bias: Vec<u32>,

    /// Sub-graphs, each with its own file of blocks.
    #[arg(long, value_delimiter = ',', value_name = "P",
        default_values_t = [adjacency().sub_graphs])]
    sub_graphs: Vec<u32>,

    /// What is divided among sub-graphs: vertices or directions.
    #[arg(long, value_delimiter = ',', value_name = "WHAT", value_parser = parsed::<Split>,
        default_values_t = [adjacency().split])]
    split: Vec<Split>,

    /// Bytes of a vertex's first buffer: a power of two from 16 on.
    #[arg(long, value_delimiter = ',', value_name = "BYTES",
        default_values_t = [adjacency().buffer_bytes_min])]
    buffer_min: Vec<u32>,

    /// Bytes up to which a buffer grows before it is flushed.
    #[arg(long, value_delimiter = ',', value_name = "BYTES",
        default_values_t = [adjacency().buffer_bytes_max])]
    buffer_max: Vec<u32>,

    /// Bytes of the buffers of vertices of large degree [default: what suits the medium].
    #[arg(long, value_delimiter = ',', value_name = "BYTES")]
    wide_buffer: Vec<u32>,

    /// Bytes of vertex buffers from which all are flushed, with K, M or G.
    #[arg(long, value_delimiter = ',', value_name = "SIZE", value_parser = size,
        default_value = "4G")]
    buffer_pool: Vec<u64>,

    /// How compaction works: in-runs, or naive: list by list, each on new space and with a fence of
    /// its own, which takes long on a file.
    #[arg(long, value_delimiter = ',', value_name = "HOW", value_parser = parsed::<Compacting>,
        default_values_t = [adjacency().compaction])]
    compaction: Vec<Compacting>,

    /// When lists are merged by themselves: never, always or adaptive [default: what suits the
    /// medium].
    #[arg(long, value_delimiter = ',', value_name = "WHEN", value_parser = parsed::<Merging>)]
    merging: Vec<Merging>,

    /// The numbers of threads from which adaptive merging leaves lists alone [default: measured].
    #[arg(long, value_delimiter = ',', value_name = "N")]
    io_threshold: Vec<u32>,

    /// How deletions find their edges: by-round, or naive: a scan for each deletion.
    #[arg(long, value_delimiter = ',', value_name = "HOW", value_parser = parsed::<Deleting>,
        default_values_t = [adjacency().deletion])]
    deletion: Vec<Deleting>,

    /// Layout pma: bytes of the edge log of a section at most; 0: none.
    #[arg(long, value_delimiter = ',', value_name = "BYTES",
        default_values_t = [PmaOptions::default().edge_log_bytes])]
    edge_log: Vec<u32>,

    /// Layout pma: how gaps are shared out anew: in-place, aside or transaction: each list that moves
    /// is waited for by itself [default: what suits the medium].
    #[arg(long, value_delimiter = ',', value_name = "HOW", value_parser = parsed::<Rebalancing>)]
    rebalancing: Vec<Rebalancing>,

    /// Layout pma: where the rows of vertices lie: memory, or medium: each that changes is
    /// overwritten there too.
    #[arg(long, value_delimiter = ',', value_name = "WHERE", value_parser = parsed::<VertexArray>,
        default_values_t = [PmaOptions::default().vertex_array])]
    vertex_array: Vec<VertexArray>,

    /// Bytes that the edge log may take, with K, M or G.
    #[arg(long, value_delimiter = ',', value_name = "SIZE", value_parser = size,
        default_value = "1G")]
    log_size: Vec<u64>,

    /// Bytes set aside for blocks at creation, with K, M or G; then the log is made whole too.
    #[arg(long, value_delimiter = ',', value_name = "SIZE", value_parser = size,
        default_value = "0")]
    preallocate: Vec<u64>,
}

impl Lists {
    /// Returns all combinations; `media` are those of a measurement that names none.
    ///
    /// # Errors
    /// If a combination makes no sense.
    pub(super) fn configurations(&self, media: &[Medium]) -> Result<Vec<Configuration>> {
        let media = if self.medium.is_empty() { media } else { &self.medium };
        let mut all = vec![Configuration::default()];
        all = vary(all, &self.scale, |one, value| one.scale = value);
        all = vary(all, &self.graph, |one, value| one.graph = value);
        all = vary(all, media, |one, value| one.medium = value);
        all = vary(all, &self.layout, |one, value| one.layout = value);
        all = vary(all, &self.durability, |one, value| one.durability = value);
        all = vary(all, &self.in_neighbors, |one, value| one.in_neighbors = value);
        all = vary(all, &self.writers, |one, value| one.writers = value);
        all = vary(all, &self.batch, |one, value| one.batch = value);
        all = vary(all, &self.archive_threshold, |one, value| one.archive_threshold = value);
        all = vary(all, &self.phases, |one, value| one.phases = value);
        all = vary(all, &self.division, |one, value| one.division = value);
        all = vary(all, &self.division_bias, |one, value| one.division_bias = value);
        all = vary(all, &self.sub_graphs, |one, value| one.sub_graphs = value);
        all = vary(all, &self.split, |one, value| one.split = value);
        all = vary(all, &self.buffer_min, |one, value| one.buffer_min = value);
        all = vary(all, &self.buffer_max, |one, value| one.buffer_max = value);
        all = vary(all, &or_open(&self.wide_buffer), |one, value| one.wide_buffer = value);
        all = vary(all, &self.buffer_pool, |one, value| one.buffer_pool = value);
        all = vary(all, &self.deletion, |one, value| one.deletion = value);
        all = vary(all, &self.compaction, |one, value| one.compaction = value);
        all = vary(all, &or_open(&self.merging), |one, value| one.merging = value);
        all = vary(all, &or_open(&self.io_threshold), |one, value| one.io_threshold = value);
        all = vary(all, &self.edge_log, |one, value| one.edge_log = value);
        all = vary(all, &or_open(&self.rebalancing), |one, value| one.rebalancing = value);
        all = vary(all, &self.vertex_array, |one, value| one.vertex_array = value);
        all = vary(all, &self.log_size, |one, value| one.log_size = value);
        all = vary(all, &self.preallocate, |one, value| one.preallocate = value);
        all = vary(all, &self.threads, |one, value| one.threads = value);
        all.iter().try_for_each(Configuration::check)?;
        Ok(all)
    }
}

/// Returns the values that were given, or that the option is left open.
fn or_open<T: Copy>(values: &[T]) -> Vec<Option<T>> {
    match values {
        [] => vec![None],
        values => values.iter().copied().map(Some).collect(),
    }
}

/// Returns each of `all` with each of the values; the values vary fastest.
pub(super) fn vary<T: Clone>(
    all: Vec<Configuration>,
    values: &[T],
    set: impl Fn(&mut Configuration, T),
) -> Vec<Configuration> {
    let with = |one: &Configuration, value: &T| {
        let mut one = one.clone();
        set(&mut one, value.clone());
        one
    };
    all.iter().flat_map(|one| values.iter().map(move |value| with(one, value))).collect()
}

/// One value of each option.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Configuration {
    pub(super) graph: Kind,
    pub(super) scale: u32,
    pub(super) medium: Medium,
    pub(super) layout: Layout,
    pub(super) durability: Durability,
    pub(super) in_neighbors: bool,
    pub(super) threads: usize,
    pub(super) writers: usize,
    pub(super) batch: usize,
    pub(super) archive_threshold: u64,
    pub(super) phases: Phases,
    pub(super) division: Division,
    pub(super) division_bias: u32,
    pub(super) sub_graphs: u32,
    pub(super) split: Split,
    pub(super) buffer_min: u32,
    pub(super) buffer_max: u32,
    /// None is what suits the medium.
    pub(super) wide_buffer: Option<u32>,
    pub(super) buffer_pool: u64,
    pub(super) compaction: Compacting,
    pub(super) deletion: Deleting,
    /// None is what suits the medium, here and below.
    pub(super) merging: Option<Merging>,
    pub(super) io_threshold: Option<u32>,
    pub(super) edge_log: u32,
    pub(super) rebalancing: Option<Rebalancing>,
    pub(super) vertex_array: VertexArray,
    pub(super) log_size: u64,
    pub(super) preallocate: u64,
}

impl Default for Configuration {
    fn default() -> Self {
        let adjacency = adjacency();
        Self {
            graph: Kind::Kron,
            scale: 20,
            medium: Medium::Pmem,
            layout: Layout::Adjacency,
            durability: Durability::Batch,
            in_neighbors: true,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            writers: 1,
            batch: BATCH,
            archive_threshold: adjacency.archive_threshold,
            phases: adjacency.phases,
            division: adjacency.division,
            division_bias: adjacency.division_bias,
            sub_graphs: adjacency.sub_graphs,
            split: adjacency.split,
            buffer_min: adjacency.buffer_bytes_min,
            buffer_max: adjacency.buffer_bytes_max,
            wide_buffer: adjacency.wide_buffer_bytes,
            buffer_pool: adjacency.buffer_pool_bytes,
            compaction: adjacency.compaction,
            deletion: adjacency.deletion,
            merging: adjacency.merging,
            io_threshold: adjacency.io_threshold,
            edge_log: PmaOptions::default().edge_log_bytes,
            rebalancing: None,
            vertex_array: PmaOptions::default().vertex_array,
            log_size: GraphOptions::default().log_bytes,
            preallocate: 0,
        }
    }
}

impl Configuration {
    /// Returns the options of a graph in this configuration.
    pub(super) fn graph_options(&self) -> GraphOptions {
        let medium = match self.medium {
            Medium::Dram => MediumKind::Dram,
            Medium::Pmem => MediumKind::Pmem { emulated: true },
            Medium::File => MediumKind::File,
        };
        let adjacency = AdjacencyOptions {
            archive_threshold: self.archive_threshold,
            phases: self.phases,
            division: self.division,
            division_bias: self.division_bias,
            sub_graphs: self.sub_graphs,
            split: self.split,
            buffer_pool_bytes: self.buffer_pool,
            buffer_bytes_min: self.buffer_min,
            buffer_bytes_max: self.buffer_max,
            wide_buffer_bytes: self.wide_buffer,
            compaction: self.compaction,
            deletion: self.deletion,
            merging: self.merging,
            io_threshold: self.io_threshold,
            ..adjacency()
        };
        let pma = PmaOptions {
            archive_threshold: self.archive_threshold,
            phases: self.phases,
            edge_log_bytes: self.edge_log,
            rebalancing: self.rebalancing,
            vertex_array: self.vertex_array,
            ..PmaOptions::default()
        };
        GraphOptions {
            medium,
            layout: self.layout,
            durability: self.durability,
            in_neighbors: self.in_neighbors,
            log_bytes: self.log_size,
            preallocate_bytes: self.preallocate,
            adjacency,
            pma,
            ..GraphOptions::default()
        }
    }

    fn check(&self) -> Result<()> {
        ensure!(self.batch > 0, "a batch has at least one edge; give --batch 1 or more");
        ensure!(self.writers > 0, "somebody must insert; give --writers 1 or more");
        ensure!(self.threads > 0, "there is no work on 0 threads; give --on 1 or more");
        ensure!(
            self.buffer_min <= self.buffer_max,
            "--buffer-min {} is above --buffer-max {}; every combination is measured, so give \
             lists that do not cross, or measure in two runs",
            self.buffer_min,
            self.buffer_max
        );
        Ok(())
    }
}

fn adjacency() -> AdjacencyOptions {
    AdjacencyOptions::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_comes_once() {
        let all = vary(vec![Configuration::default()], &[1, 2], |one, value| one.threads = value);
        let all = vary(all, &[16, 32, 64], |one, value| one.buffer_min = value);
        let shown: Vec<_> = all.iter().map(|one| (one.threads, one.buffer_min)).collect();
        assert_eq!(shown, [(1, 16), (1, 32), (1, 64), (2, 16), (2, 32), (2, 64)]);
    }

    #[test]
    fn crossed_buffer_sizes_are_refused() {
        let crossed = Configuration { buffer_min: 64, buffer_max: 32, ..Configuration::default() };
        assert!(crossed.check().unwrap_err().to_string().contains("--buffer-min 64"));
        assert!(Configuration::default().check().is_ok());
    }
}
