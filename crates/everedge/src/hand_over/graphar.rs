//! A directory of Apache GraphAr, version 1: vertices and edges in chunks of fixed sizes.
//!
//! Source: the format's specification, and the files that its C++ library writes.
//!
//! ```text
//! graph.graph.yml  vertex.vertex.yml  vertex_edge_vertex.edge.yml
//! vertex/vertex/id/chunk0                                   _graphArVertexIndex, id: 262,144 rows a chunk
//! vertex/vertex/vertex_count                                a number of 64 bits
//! edge/vertex_edge_vertex/ordered_by_source/
//!     vertex_count                                          a number of 64 bits
//!     edge_count0                                           that of the edges from the vertices of chunk 0
//!     offset/chunk0                                         _graphArOffset: where their lists begin, and the end
//!     adj_list/part0/chunk0                                 _graphArSrcIndex, _graphArDstIndex: 4,194,304 rows a chunk
//!     weight/part0/chunk0                                   weight
//! manifest.json                                             checksums
//! ```

use everedge_io::{ColumnKind, ColumnValues, GroupEncoder, NumberEncoding};

use super::directory::NewDirectory;
use super::manifest::FileEntry;
use super::ranked::{Arcs, Ranked};
use super::tables::{Filling, GROUP_ROWS, Group, IdColumn, Table, no_columns, write_vertices};
use crate::{Error, Result};

const VERTEX_PREFIX: &str = "vertex/vertex/";
const LISTS_PREFIX: &str = "edge/vertex_edge_vertex/ordered_by_source/";
/// Where the tables are that are read back.
pub(super) const VERTICES: &str = "vertex/vertex/id/";
pub(super) const NEIGHBORS: &str = "edge/vertex_edge_vertex/ordered_by_source/adj_list/";
pub(super) const WEIGHTS: &str = "edge/vertex_edge_vertex/ordered_by_source/weight/";
/// The file that describes the graph.
pub(super) const DESCRIPTION: &str = "graph.graph.yml";
/// Vertices of a chunk, and edges of one, as the specification recommends.
const VERTEX_CHUNK: usize = 1 << 18;
const EDGE_CHUNK: usize = 1 << 22;

/// The tables of edges.
struct Lists<'a> {
    ranked: &'a Ranked<'a>,
    neighbors: Table<'a>,
    weights: Option<Table<'a>>,
    offsets: Table<'a>,
    counts: Vec<FileEntry>,
    directory: &'a NewDirectory,
    filling: Filling,
    /// The chunk of vertices whose edges are taken.
    part: usize,
    /// Its edges so far, without those that fill a group.
    part_edges: usize,
    degrees: Vec<u32>,
}

/// Writes all files but the manifest; returns what it says of them, and how many edges there are.
pub(super) fn write(
    directory: &NewDirectory,
    ranked: &Ranked<'_>,
) -> Result<(Vec<FileEntry>, u64)> {
    let ids = IdColumn::of(ranked);
    if ids.kind == ColumnKind::UInt64 {
        let what =
            "GraphAr holds ids below 2^63, and this graph has larger ones: write parquet or icebug";
        return Err(Error::invalid(what));
    }
    let ids = match ids.kind {
        ColumnKind::Int32 => IdColumn { kind: ColumnKind::Int64, ..ids },
        _ => ids,
    };
    let numbers = (NumberEncoding::Differences, &[][..]);
    let chunk = |number: usize| format!("{VERTICES}chunk{number}");
    let column = (ids, Some("_graphArVertexIndex"));
    let mut files = write_vertices(directory, ranked, column, numbers, (VERTEX_CHUNK, chunk))?;
    let vertices = (ranked.len() as u64).to_le_bytes();
    files.push(directory.write(&format!("{VERTEX_PREFIX}vertex_count"), &vertices)?);
    files.push(directory.write(&format!("{LISTS_PREFIX}vertex_count"), &vertices)?);
    let mut lists = Lists::new(directory, ranked)?;
    let mut edges = 0;
    ranked.for_each_arcs(|arcs| {
        edges += arcs.len() as u64;
        lists.take(&arcs)
    })?;
    files.extend(lists.finish()?);
    for (name, text) in descriptions(ids.kind, ranked.view.is_directed(), ranked.view.is_weighted())
    {
        files.push(directory.write(name, text.as_bytes())?);
    }
    Ok((files, edges))
}

impl<'a> Lists<'a> {
    fn new(directory: &'a NewDirectory, ranked: &'a Ranked<'a>) -> Result<Self> {
        let table = |columns: &[(&str, ColumnKind)]| {
            let encoder = GroupEncoder::new(columns, NumberEncoding::Differences, &[]);
            Ok::<_, Error>(Table::new(directory, ranked, encoder.map_err(no_columns)?))
        };
        let ends =
            [("_graphArSrcIndex", ColumnKind::Int64), ("_graphArDstIndex", ColumnKind::Int64)];
        let weights = ranked.view.is_weighted().then(|| table(&[("weight", ColumnKind::Float32)]));
        Ok(Self {
            ranked,
            neighbors: table(&ends)?,
            weights: weights.transpose()?,
            offsets: table(&[("_graphArOffset", ColumnKind::Int64)])?,
            counts: Vec::new(),
            directory,
            filling: Filling::default(),
            part: 0,
            part_edges: 0,
            degrees: Vec::new(),
        })
    }

    fn take(&mut self, arcs: &Arcs) -> Result<()> {
        let mut start = 0;
        while start < arcs.len() {
            while arcs.src[start] as usize / VERTEX_CHUNK > self.part {
                self.end_part()?;
            }
            let part_end = ((self.part + 1) * VERTEX_CHUNK) as u64;
            let end = arcs.src.partition_point(|&src| u64::from(src) < part_end);
            self.degrees.resize(VERTEX_CHUNK, 0);
            let first = self.part * VERTEX_CHUNK;
            arcs.src[start..end].iter().for_each(|&src| self.degrees[src as usize - first] += 1);
            while start < end {
                start = self.filling.fill(arcs, start..end, GROUP_ROWS);
                if self.filling.len() == GROUP_ROWS {
                    self.push_group()?;
                }
            }
        }
        Ok(())
    }

    /// Writes what ends the edges from a chunk of vertices, and goes to the next.
    fn end_part(&mut self) -> Result<()> {
        if self.filling.len() > 0 {
            self.push_group()?;
        }
        let part = self.part;
        let count = (self.part_edges as u64).to_le_bytes();
        self.counts.push(self.directory.write(&format!("{LISTS_PREFIX}edge_count{part}"), &count)?);
        let vertices = VERTEX_CHUNK.min(self.ranked.len() - part * VERTEX_CHUNK);
        let degrees = std::mem::take(&mut self.degrees);
        let degrees = degrees.into_iter().map(i64::from).chain(std::iter::repeat(0)).take(vertices);
        let ends = degrees.scan(0, |end, degree| {
            *end += degree;
            Some(*end)
        });
        let offsets: Vec<i64> = std::iter::once(0).chain(ends).collect();
        let (file, rows) = (format!("{LISTS_PREFIX}offset/chunk{part}"), offsets.len());
        let make = Box::new(move || vec![ColumnValues::Int64(offsets)]);
        self.offsets.push(Group { file, rows, src: None, make })?;
        (self.part, self.part_edges) = (part + 1, 0);
        Ok(())
    }

    fn push_group(&mut self) -> Result<()> {
        let Arcs { src, dst, weights } = self.filling.take();
        let (part, chunk) = (self.part, self.part_edges / EDGE_CHUNK);
        let (rows, ends) = (src.len(), Some([src[0], src[src.len() - 1]]));
        self.part_edges += rows;
        let file = format!("{NEIGHBORS}part{part}/chunk{chunk}");
        let make = Box::new(move || {
            let ends = [src, dst].map(|ranks| ranks.into_iter().map(i64::from).collect());
            ends.map(ColumnValues::Int64).into()
        });
        self.neighbors.push(Group { file, rows, src: ends, make })?;
        let Some(table) = &mut self.weights else { return Ok(()) };
        let file = format!("{WEIGHTS}part{part}/chunk{chunk}");
        let make = Box::new(move || vec![ColumnValues::Float32(weights)]);
        table.push(Group { file, rows, src: None, make })
    }

    fn finish(mut self) -> Result<Vec<FileEntry>> {
        while self.part * VERTEX_CHUNK < self.ranked.len() {
            self.end_part()?;
        }
        let Self { neighbors, weights, offsets, counts, .. } = self;
        let mut files = counts;
        files.extend(offsets.finish()?);
        files.extend(neighbors.finish()?);
        if let Some(weights) = weights {
            files.extend(weights.finish()?);
        }
        Ok(files)
    }
}

/// Returns the files that describe the graph, with their names.
fn descriptions(ids: ColumnKind, directed: bool, weighted: bool) -> [(&'static str, String); 3] {
    let ids = if ids == ColumnKind::Text { "string" } else { "int64" };
    let graph = "\
name: graph
vertices:
  - vertex.vertex.yml
edges:
  - vertex_edge_vertex.edge.yml
version: gar/v1
";
    let vertex = format!(
        "\
type: vertex
chunk_size: {VERTEX_CHUNK}
prefix: {VERTEX_PREFIX}
property_groups:
  - file_type: parquet
    prefix: id/
    properties:
      - name: id
        data_type: {ids}
        is_primary: true
        is_nullable: false
version: gar/v1
"
    );
    let weight = "\
property_groups:
  - file_type: parquet
    prefix: weight/
    properties:
      - name: weight
        data_type: float
        is_primary: false
        is_nullable: false
";
    let edge = format!(
        "\
src_type: vertex
edge_type: edge
dst_type: vertex
chunk_size: {EDGE_CHUNK}
src_chunk_size: {VERTEX_CHUNK}
dst_chunk_size: {VERTEX_CHUNK}
directed: {directed}
prefix: edge/vertex_edge_vertex/
adj_lists:
  - ordered: true
    aligned_by: src
    prefix: ordered_by_source/
    file_type: parquet
{}version: gar/v1
",
        if weighted { weight } else { "" }
    );
    [
        (DESCRIPTION, graph.to_owned()),
        ("vertex.vertex.yml", vertex),
        ("vertex_edge_vertex.edge.yml", edge),
    ]
}
