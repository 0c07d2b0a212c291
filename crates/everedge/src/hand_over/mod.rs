//! Whole graphs for other engines, as directories: sorted Parquet with a manifest, Icebug, GraphAr.
//!
//! A directory is written aside and named when it is whole, and read back as the same graph, but for its versions and
//! whether a pair has one edge only: directions, weights, ids, vertices without edges, parallel edges in the order of their
//! age. An edge without direction stands once.
//!
//! ```text
//! View ──► Ranked (ids in order, lists sorted) ──► parquet | icebug | graphar ──► Table (row groups) ──► NewDirectory
//! directory ──► Manifest (checked) ──► Export (vertices, then edges) ──► a graph
//! ```
//!
//! # Cost
//! See `ranked.rs` for memory, and a row group of 1,048,576 edges for each thread. Reading back holds the ids of all vertices
//! where edges name them by rank.

mod directory;
mod graphar;
mod icebug;
mod input;
mod manifest;
mod parquet;
mod ranked;
mod tables;

use std::path::Path;

use everedge_io::Format;

use crate::{ExportReport, IdKind, Result, View};

use directory::NewDirectory;
pub(crate) use input::Export;
use manifest::{Manifest, Shape};
use ranked::Ranked;

impl View {
    /// Writes the graph into a directory, as [`View::export`] does.
    pub(crate) fn export_directory(&self, path: &Path, format: Format) -> Result<ExportReport> {
        let directory = NewDirectory::create(path)?;
        let ranked = Ranked::new(self)?;
        let (files, edges) = match format {
            Format::Icebug => icebug::write(&directory, &ranked)?,
            Format::GraphAr => graphar::write(&directory, &ranked)?,
            _ => parquet::write(&directory, &ranked)?,
        };
        let shape = Shape {
            format,
            directed: self.is_directed(),
            weighted: self.is_weighted(),
            ids: match ranked.id_kind() {
                everedge_io::IdKind::Dense => IdKind::Dense,
                everedge_io::IdKind::Sparse => IdKind::Integer,
                everedge_io::IdKind::Text => IdKind::Text,
            },
            vertices: ranked.len() as u64,
        };
        let manifest = Manifest::new(shape, edges, files);
        let bytes = manifest.byte_count();
        directory.put_in_place(&manifest)?;
        let vertices = shape.vertices;
        Ok(ExportReport {
            vertices,
            vertices_left_out: 0,
            vertices_added: 0,
            id_shift: 0,
            edges,
            bytes,
        })
    }
}
