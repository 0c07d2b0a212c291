//! Graph file formats and generators.
//!
//! Readers parse any `impl Read` as a stream of [`Chunk`]s in file order; nothing here opens a
//! file. [`decompress`] and [`probe()`] say what a file is, [`read_edges`] and [`read_vertices`]
//! read it, [`EdgeWriter`] writes one, and a [`Generator`] makes edges without a file.
//! [`probe_updates`] and [`read_updates`] do the same for insertions and deletions with times.
//!
//! Memory is bounded by a few MiB for each thread, whatever the size of the file or of a line.

mod archive;
mod arrow;
mod arrow_lengths;
mod attributes;
mod binary;
mod blocks;
mod columnar;
mod columnar_updates;
mod columns;
mod compression;
mod csv;
mod dimacs;
mod edge_list;
mod error;
mod generate;
mod graphalytics;
mod groups;
mod ids;
mod json_lines;
mod lines;
mod matrix_market;
mod metis;
mod names;
mod operations;
mod options;
mod parquet;
mod parts;
mod probe;
mod read;
mod record_batches;
mod rules;
mod survey;
mod table;
mod times;
mod update_columns;
mod update_guess;
mod updates;
mod write;
mod xz_dictionaries;

pub use archive::{Archive, OnlyGraph, first_of, graphs_of, is_graph_name, is_tar};
pub use arrow::{probe_arrow, probe_arrow_updates};
pub use columns::GuessedColumn;
pub use compression::{Compress, Compression, Decompress, compress, decompress, decompress_file};
pub use error::{Error, Place, Result};
pub use generate::Generator;
pub use graphalytics::{read_vertices, write_vertices};
pub use groups::{ColumnKind, ColumnValues, EncodedGroup, GroupEncoder, GroupFile, NumberEncoding};
pub use ids::{IdKind, Ids, TextIds};
pub use options::{Column, Columns, Format, IdChoice, InputChoices, ReadOptions, delimiter};
pub use parquet::{probe_parquet, probe_parquet_updates};
pub use parquet::{read_parquet, read_parquet_ids, read_parquet_weights};
pub use probe::{Guess, HEAD_BYTES, decisive_len, ending_of, probe};
pub use read::{Chunk, ReadSummary, read_edges};
pub use record_batches::RecordBatches;
pub use rules::{exact_integer_weights, exact_weights};
pub use survey::is_dense;
pub use table::{Cells, Real, TableFormat, TableWriter};
pub use times::{TimeUnit, date_of, date_text};
pub use update_guess::{OperationChoice, UpdateChoices, UpdateGuess, probe_updates};
pub use updates::{UpdateChunk, UpdateOptions, UpdateSummary, read_parquet_updates, read_updates};
pub use write::{EdgeWriter, Id, WriteOptions};
