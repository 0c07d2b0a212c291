//! Every format and generator through the public interface.

mod archive;
mod arrow;
mod binary;
mod compression;
mod csv;
mod dimacs;
mod edge_list;
mod generators;
mod graphalytics;
mod groups;
mod json_lines;
mod matrix_market;
mod metis;
mod parquet;
mod probe;
mod round_trip;
mod support;
mod table_guess;
mod update_guess;
mod update_tables;
mod updates;
