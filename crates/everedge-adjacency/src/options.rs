//! How the layout works: what changes speed and space, but never an answer.

use serde::{Deserialize, Serialize};

use super::buffers::Plan;
use super::merging::IO_THRESHOLD;
use super::subgraphs::Split;
use everedge_live::text_form;
use everedge_live::{Division, Phases};
use everedge_live::{Error, LayoutOptions, Result};
use everedge_medium::{MediumKind, Volume};

/// How lists lose what was deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Compacting {
    /// Changed lists of 256 vertices at a time become a run; what they replace is used again.
    #[default]
    InRuns,
    /// To compare with: every list by itself, on new space, with a fence of its own.
    Naive,
}

text_form!(Compacting, "compaction", Compacting::InRuns = "in-runs", Compacting::Naive = "naive");

/// How deletions find their edges when they are archived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Deleting {
    /// One scan of a list for all of its updates in a round.
    #[default]
    ByRound,
    /// To compare with: a scan for each deletion.
    Naive,
}

text_form!(Deleting, "deletion", Deleting::ByRound = "by-round", Deleting::Naive = "naive");

/// When the blocks of a vertex become one contiguous list by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Merging {
    /// Only when the graph is compacted.
    Never,
    /// When writers pause, as all that follow do too.
    InPauses,
    /// To compare with: however many threads read.
    Always,
    /// While the I/O concurrency, the number of threads for loops, is below the threshold.
    Adaptive,
}

text_form!(
    Merging,
    "merging",
    Merging::Never = "never",
    Merging::InPauses = "in-pauses",
    Merging::Always = "always",
    Merging::Adaptive = "adaptive"
);

/// What is fixed when a graph in this layout is created.
pub(crate) type GraphOptions = everedge_live::GraphOptions<AdjacencyOptions>;
/// The manifest of one.
pub(crate) type Manifest = everedge_live::Manifest<AdjacencyOptions>;

/// The options of the `adjacency` layout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AdjacencyOptions {
    /// Updates in the log from which they are archived: 2^10 to 2^24 make sense.
    pub archive_threshold: u64,
    /// Whether logging goes on meanwhile.
    pub phases: Phases,
    /// How a round is divided among threads.
    pub division: Division,
    /// A round has a range of vertices for 2^b of its updates: b.
    pub division_bias: u32,
    /// How many sub-graphs, each with its own file of blocks, in the memory of one NUMA node: 1
    /// to 8.
    pub sub_graphs: u32,
    /// What is divided among them.
    pub split: Split,
    /// Bytes of vertex buffers from which all are flushed.
    pub buffer_pool_bytes: u64,
    /// Bytes of a vertex's first buffer: a power of two from 16 on.
    pub buffer_bytes_min: u32,
    /// Bytes up to which a buffer grows before it is flushed. Equal to the smallest: all buffers
    /// have this size.
    pub buffer_bytes_max: u32,
    /// Bytes of the buffers of vertices whose degree makes that less than a quarter of their
    /// list: up to 4,096. None is what suits the medium: for a file the block of its file system,
    /// from 256 bytes to 4,096; 256 elsewhere.
    pub wide_buffer_bytes: Option<u32>,
    /// Whether memory and the processor's caches outlive a loss of the power (XPGraph-B): on
    /// persistent memory with eADR only. What a battery spares the paper's design, the flushing of
    /// buffers before the log wraps, images of shards spare on every medium.
    pub battery: bool,
    /// How lists lose what was deleted.
    pub compaction: Compacting,
    /// How deletions find their edges.
    pub deletion: Deleting,
    /// Lists are compacted by themselves, those of 4,096 vertices at a time, when so many percent
    /// of what they hold are deleted; 0 is never.
    pub compact_percent: u32,
    /// When lists are merged. None is what suits the medium: adaptive on a file, in pauses elsewhere.
    pub merging: Option<Merging>,
    /// The number of threads from which adaptive merging leaves lists alone. None is what the
    /// device is measured to need: the smallest of 1, 2, 4, 8 and 16 threads at which random reads
    /// bring half as many bytes a second as sequential ones, or 17; 8 where that cannot be
    /// measured.
    pub io_threshold: Option<u32>,
}

impl LayoutOptions for AdjacencyOptions {
    const NAME: &'static str = "adjacency";
}

impl Default for AdjacencyOptions {
    fn default() -> Self {
        Self {
            archive_threshold: 1 << 23,
            phases: Phases::Overlapped,
            division: Division::Stealing,
            division_bias: 4,
            sub_graphs: 1,
            split: Split::Vertices,
            buffer_pool_bytes: 4 << 30,
            buffer_bytes_min: 16,
            buffer_bytes_max: 256,
            wide_buffer_bytes: None,
            battery: false,
            compaction: Compacting::InRuns,
            deletion: Deleting::ByRound,
            compact_percent: 25,
            merging: None,
            io_threshold: None,
        }
    }
}

impl AdjacencyOptions {
    /// Returns the plan of vertex buffers for a graph with these options.
    ///
    /// # Errors
    /// `InvalidInput` if options contradict each other.
    pub(crate) fn plan(&self, graph: &GraphOptions) -> Result<Plan> {
        if self.battery && !(graph.eadr && matches!(graph.medium, MediumKind::Pmem { .. })) {
            return Err(Error::invalid(
                "with a battery a graph lies on persistent memory with eADR, on no other medium",
            ));
        }
        let suitable = if graph.medium == MediumKind::File { 4096 } else { 256 };
        let wide = self.wide_buffer_bytes.unwrap_or(suitable.max(self.buffer_bytes_max));
        Plan::new(self.buffer_bytes_min..self.buffer_bytes_max, wide, graph.entry_words())
    }

    /// Chooses what is left open as it suits the medium and, on a file, the device, so that the
    /// graph keeps it wherever its files go.
    pub(crate) fn suit(&mut self, volume: &Volume) {
        let is_file = volume.options().kind == MediumKind::File;
        let granularity = if is_file { volume.granularity() } else { 256 };
        self.wide_buffer_bytes.get_or_insert(granularity.max(self.buffer_bytes_max));
        let suitable = if is_file { Merging::Adaptive } else { Merging::InPauses };
        if *self.merging.get_or_insert(suitable) == Merging::Adaptive {
            let measured = || is_file.then(|| volume.measure_io_threshold()).flatten();
            self.io_threshold.get_or_insert_with(|| measured().unwrap_or(IO_THRESHOLD));
        }
    }
}
