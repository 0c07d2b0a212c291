//! everedge keeps a graph that never stops changing, loses no acknowledged edge, and answers
//! questions on it as it is now.
//!
//! A [`Graph`] is a directory. Writers give it batches of edges; [`Graph::snapshot`] returns a
//! frozen [`View`], on which [`View::run`] runs a [`Kernel`].
//!
//! ```
//! use everedge::{Graph, GraphOptions, Kernel, MediumKind, RunOptions};
//!
//! let options = GraphOptions { medium: MediumKind::Dram, ..GraphOptions::default() };
//! let graph = Graph::create("example".as_ref(), &options, false)?;
//! graph.insert(&[(0, 1), (1, 2), (2, 0), (5, 5)], None)?;
//! let report = graph.snapshot()?.run(Kernel::Wcc, &RunOptions::default())?;
//! assert_eq!(report.result["components"], 2);
//! # Ok::<(), everedge::Error>(())
//! ```

mod answers;
mod any_live;
mod any_view;
mod batcher;
mod changer;
mod changes;
mod chunks;
mod commit;
mod creation;
mod discoveries;
mod edge_reader;
mod error;
mod export;
mod files;
mod free_memory;
mod graph;
mod guessed;
mod hand_over;
mod id_map;
mod ingest;
mod input;
mod keep;
mod kernel;
mod known;
mod naming;
mod option_table;
mod options;
mod output_file;
mod pairs;
mod parts;
mod path_text;
mod questions;
mod rows;
mod run;
mod scores;
mod sealing;
mod shards;
mod speed;
mod stream;
mod taker;
mod tasks;
mod timeline;
mod top;
mod transaction;
mod updates;
mod value_table;
mod values;
mod view;
mod window;
mod word;

pub use changer::Changer;
pub use changes::ChangeCounts;
pub use chunks::{Chunks, ChunksOptions, SealReport};
pub use commit::Commit;
pub use creation::{Choices, Target};
pub use edge_reader::{EdgeColumns, EdgeReader};
pub use error::{Done, Error, KernelError, Result};
pub use export::{ExportReport, write_generated};
pub use files::{Given, SkippedFile};
pub use graph::{Compaction, Graph, Stats, Verification};
pub use guessed::{ColumnName, Guessed, GuessedColumns, GuessedFile};
pub use ingest::{IngestOptions, IngestReport, MediumReport, Progress};
pub use keep::Keep;
pub use kernel::{Convention, Kernel, Parameter, Parameters, Starts};
pub use option_table::{Chosen, GraphOption, OptionGroup, OptionKind, size};
pub use options::{GraphOptions, Layout};
pub use output_file::OutputFile;
pub use questions::{Along, measure};
pub use run::{RunOptions, RunReport, Verify, median, peak_rss_bytes};
pub use sealing::SealFiles;
pub use shards::{Shard, ShardColumns, ShardRun, divided_by_owner, edges_fingerprint};
pub use speed::read_speed;
pub use tasks::{Answer, Tasks};
pub use timeline::{Timeline, TimelineOptions, VersionChoice};
pub use transaction::Transaction;
pub use updates::{CommitEvery, UpdateIngest, UpdateReport};
pub use value_table::ValueTable;
pub use values::Values;
pub use view::View;
pub use window::{Method, VersionAnswer, WindowOptions, WindowReport};
pub use word::Word;

pub use everedge_adjacency::{AdjacencyOptions, Compacting, Deleting, Merging, Split};
pub use everedge_blocks::BlocksOptions;
pub use everedge_chunks::{Form, LevelUse, Order, PiecesRead, SealOptions};
pub use everedge_core::watch::Watch;
pub use everedge_core::{
    Csr, CsrOptions, Edge, GraphView, MAX_VERTEX_ID, VertexId, WeightedView, par,
};
pub use everedge_io::{
    Column, Format, Generator, IdChoice, Ids, InputChoices, RecordBatches, TableFormat, TextIds,
    delimiter,
};
pub use everedge_io::{OperationChoice, TimeUnit, date_of, date_text};
pub use everedge_io::{ending_of, first_of};
pub use everedge_io::{exact_integer_weights, exact_weights, is_dense};
pub use everedge_kernels::supersteps::{PartValues, Said, Saved, Whole};
pub use everedge_kernels::{Discovery, Path, Similarity, WeightedDiscovery};
pub use everedge_live::Error as StorageError;
pub use everedge_live::{
    Batch, Changes, Division, Durability, ExternalId, IdKind, Phases, Recovery,
};
pub use everedge_medium::{MediumKind, MeterReading, ReadSpeed, ReadWay};
pub use everedge_pma::{LogFirst, Mechanisms, PmaOptions, Rebalancing, VertexArray};
pub use everedge_timeline::{Changes as VersionChanges, Schedule, Version};
