//! Options of the layouts for a new graph: they change speed and space, no answer.

use everedge::{
    AdjacencyOptions, Compacting, Deleting, Division, GraphOptions, Merging, Phases, PmaOptions,
    Rebalancing, Split, VertexArray,
};

/// How a new graph's layout works.
#[derive(clap::Args)]
#[command(next_help_heading = "Tuning of a new graph; no answer depends on it")]
pub(crate) struct Tuning {
    /// Updates in the log from which they are moved into the lists of their vertices.
    #[arg(long, value_name = "N", default_value_t = AdjacencyOptions::default().archive_threshold)]
    archive_threshold: u64,

    /// Whether logging goes on meanwhile: overlapped or in-turn.
    #[arg(long, value_name = "PHASES", value_parser = super::parsed::<Phases>,
        default_value_t = AdjacencyOptions::default().phases)]
    phases: Phases,

    /// How archiving is divided among threads: stealing, dealt or fixed.
    #[arg(long, value_name = "DIVISION", value_parser = super::parsed::<Division>,
        default_value_t = AdjacencyOptions::default().division)]
    division: Division,

    /// There is a range of vertices for 2^B of the updates that are archived together.
    #[arg(long, value_name = "B", default_value_t = AdjacencyOptions::default().division_bias)]
    division_bias: u32,

    /// Sub-graphs, each with its own file of blocks, in the memory of one NUMA node and changed and
    /// read by threads of that node: 1 to 8.
    #[arg(long, value_name = "P", default_value_t = AdjacencyOptions::default().sub_graphs)]
    sub_graphs: u32,

    /// What is divided among sub-graphs: vertices, or directions: out-lists in one, in-lists in
    /// the other.
    #[arg(long, value_name = "WHAT", value_parser = super::parsed::<Split>,
        default_value_t = AdjacencyOptions::default().split)]
    split: Split,

    /// The memory of vertex buffers from which all are flushed, with K, M or G.
    #[arg(long, value_name = "SIZE", value_parser = super::size, default_value = "4G")]
    buffer_pool: u64,

    /// Bytes of a vertex's first buffer: a power of two from 16 on.
    #[arg(long, value_name = "BYTES", default_value_t = AdjacencyOptions::default().buffer_bytes_min)]
    buffer_min: u32,

    /// Bytes up to which a buffer grows before it is flushed.
    #[arg(long, value_name = "BYTES", default_value_t = AdjacencyOptions::default().buffer_bytes_max)]
    buffer_max: u32,

    /// Bytes of the buffers of vertices of large degree [default: on a file the block of its file
    /// system, up to 4096; else 256].
    #[arg(long, value_name = "BYTES")]
    wide_buffer: Option<u32>,

    /// Keep lists and buffers in memory of the process only: after a kill, opening rebuilds them.
    #[arg(long)]
    no_shared_memory: bool,

    /// Memory and the processor's caches outlive a loss of the power: lists lie with the graph, and
    /// the log may overwrite what is only in their buffers. Only with --medium pmem.
    #[arg(long)]
    battery: bool,

    /// How compaction works: in-runs, or naive, to compare with: list by list, each on new space
    /// and with a fence of its own.
    #[arg(long, value_name = "HOW", value_parser = super::parsed::<Compacting>,
        default_value_t = AdjacencyOptions::default().compaction)]
    compaction: Compacting,

    /// Compact lists by themselves when so many percent of what they hold are deleted; 0: never.
    #[arg(long, value_name = "PERCENT", default_value_t = AdjacencyOptions::default().compact_percent)]
    compact_percent: u32,

    /// When lists that came in pieces are written anew as one by themselves: never, always, or
    /// adaptive: while threads are fewer than the threshold [default: adaptive on a file, else
    /// never].
    #[arg(long, value_name = "WHEN", value_parser = super::parsed::<Merging>)]
    merging: Option<Merging>,

    /// The number of threads from which adaptive merging leaves lists alone [default: measured when
    /// the graph is created: at which the device's random reads are half as fast as sequential
    /// ones].
    #[arg(long, value_name = "N")]
    io_threshold: Option<u32>,

    /// How deletions find their edges: by-round, with one scan of a list for all of its updates
    /// that are archived together, or naive, to compare with: a scan for each deletion.
    #[arg(long, value_name = "HOW", value_parser = super::parsed::<Deleting>,
        default_value_t = AdjacencyOptions::default().deletion)]
    deletion: Deleting,

    /// Layout pma: vertices of a section, a power of two up to 64.
    #[arg(long, value_name = "N", default_value_t = PmaOptions::default().section_vertices)]
    section_vertices: u32,

    /// Layout pma: bytes of the edge log of a section at most; 0: none.
    #[arg(long, value_name = "BYTES", default_value_t = PmaOptions::default().edge_log_bytes)]
    edge_log: u32,

    /// Layout pma: bytes that a rebalance in place saves at a time.
    #[arg(long, value_name = "BYTES", default_value_t = PmaOptions::default().undo_log_bytes)]
    undo_log: u32,

    /// Layout pma: how gaps are shared out anew: in-place; aside: the whole array is written to
    /// another place; or transaction, to compare with: in place, but each list that moves is waited
    /// for by itself [default: aside on a file, else in-place].
    #[arg(long, value_name = "HOW", value_parser = super::parsed::<Rebalancing>)]
    rebalancing: Option<Rebalancing>,

    /// Layout pma: where the rows of vertices lie: memory, or medium, to compare with: each that
    /// changes is overwritten there too, and nobody reads it.
    #[arg(long, value_name = "WHERE", value_parser = super::parsed::<VertexArray>,
        default_value_t = PmaOptions::default().vertex_array)]
    vertex_array: VertexArray,

    /// Layout pma: a new array is filled to so many percent.
    #[arg(long, value_name = "PERCENT", default_value_t = PmaOptions::default().fill_percent)]
    fill: u32,

    /// Space set aside at creation beside the log, which is then made whole too.
    #[arg(long, value_name = "SIZE", value_parser = super::size, default_value = "0")]
    preallocate: u64,
}

impl Tuning {
    /// Puts the options into those of the graph.
    pub(crate) fn apply(&self, options: GraphOptions) -> GraphOptions {
        GraphOptions {
            preallocate_bytes: self.preallocate,
            eadr: options.eadr || self.battery,
            adjacency: AdjacencyOptions {
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
                shared_memory: !self.no_shared_memory,
                battery: self.battery,
                compaction: self.compaction,
                deletion: self.deletion,
                compact_percent: self.compact_percent,
                merging: self.merging,
                io_threshold: self.io_threshold,
            },
            pma: PmaOptions {
                archive_threshold: self.archive_threshold,
                phases: self.phases,
                section_vertices: self.section_vertices,
                edge_log_bytes: self.edge_log,
                undo_log_bytes: self.undo_log,
                rebalancing: self.rebalancing,
                vertex_array: self.vertex_array,
                fill_percent: self.fill,
                ..PmaOptions::default()
            },
            ..options
        }
    }
}
