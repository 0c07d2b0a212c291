//! An Icebug directory, version 1 (`icebug-disk`): the lists of all vertices, one after the other.
//!
//! Source: the specification in `Ladybug-Memory/icebug-format`, and Ladybug's page on it.
//!
//! ```text
//! nodes_vertex.parquet     id               the vertices, in the order of their ids
//! indices_edge.parquet     target, weight   the rows of the vertices that edges lead to, list by list
//! indptr_edge.parquet      ptr              where each list begins, and the end of the last
//! schema.cypher                             what mounts it
//! manifest.json                             what Icebug has no place for: edges without direction, checksums
//! ```
//! Ladybug reads whole numbers of 64 bits there, and no differences.

use everedge_io::{ColumnKind, ColumnValues, GroupEncoder, NumberEncoding};

use super::directory::NewDirectory;
use super::manifest::FileEntry;
use super::ranked::{Arcs, Ranked};
use super::tables::{Filling, GROUP_ROWS, Group, IdColumn, Table, no_columns, write_vertices};
use crate::{Error, Result};

pub(super) const NODES: &str = "nodes_vertex.parquet";
pub(super) const INDICES: &str = "indices_edge.parquet";
pub(super) const INDPTR: &str = "indptr_edge.parquet";
const SCHEMA: &str = "schema.cypher";
/// The version of Icebug, which stands in each file.
const NOTES: &[(&str, &str)] = &[("icebug_disk_version", "v1")];
/// Row groups of one file of Parquet.
const FILE_GROUPS_MAX: u64 = (1 << 15) - 1;
const ONE_FILE: &str =
    "Icebug keeps edges in one file, which has no room for so many: write parquet or graphar";

/// Writes all files but the manifest; returns what it says of them, and how many edges there are.
pub(super) fn write(
    directory: &NewDirectory,
    ranked: &Ranked<'_>,
) -> Result<(Vec<FileEntry>, u64)> {
    let ids = id_column(ranked);
    let edges = ranked.view.edge_count().div_ceil(GROUP_ROWS as u64);
    if edges.max(ranked.len().div_ceil(ids.group_rows) as u64) > FILE_GROUPS_MAX {
        return Err(Error::invalid(ONE_FILE));
    }
    let plain = (NumberEncoding::Plain, NOTES);
    let mut files =
        write_vertices(directory, ranked, (ids, None), plain, (usize::MAX, |_| NODES.to_owned()))?;
    let columns = [("target", ColumnKind::UInt64), ("weight", ColumnKind::Float32)];
    let columns = if ranked.view.is_weighted() { &columns[..] } else { &columns[..1] };
    let encoder = GroupEncoder::new(columns, NumberEncoding::Plain, NOTES).map_err(no_columns)?;
    let mut table = Table::new(directory, ranked, encoder);
    let (mut filling, mut degrees, mut edges) = (Filling::default(), vec![0_u32; ranked.len()], 0);
    ranked.for_each_arcs(|arcs| {
        edges += arcs.len() as u64;
        arcs.src.iter().for_each(|&src| degrees[src as usize] += 1);
        let mut start = 0;
        while start < arcs.len() {
            start = filling.fill(&arcs, start..arcs.len(), GROUP_ROWS);
            if filling.len() == GROUP_ROWS {
                table.push(group(ranked, filling.take()))?;
            }
        }
        Ok(())
    })?;
    if filling.len() > 0 {
        table.push(group(ranked, filling.take()))?;
    }
    if edges == 0 {
        table.push_empty(INDICES)?;
    }
    files.extend(table.finish()?);
    files.extend(write_starts(directory, ranked, &degrees)?);
    files.push(directory.write(SCHEMA, schema(directory, ranked, ids).as_bytes())?);
    Ok((files, edges))
}

/// Returns how ids stand in it: numbers as 64-bit ones.
fn id_column(ranked: &Ranked<'_>) -> IdColumn {
    let column = IdColumn::of(ranked);
    let kind = match column.kind {
        ColumnKind::Int32 => ColumnKind::Int64,
        kind => kind,
    };
    IdColumn { kind, ..column }
}

fn group<'a>(ranked: &Ranked<'_>, arcs: Arcs) -> Group<'a> {
    let is_weighted = ranked.view.is_weighted();
    let src = [arcs.src[0], arcs.src[arcs.len() - 1]];
    Group {
        file: INDICES.to_owned(),
        rows: arcs.len(),
        src: Some(src),
        make: Box::new(move || {
            let targets = arcs.dst.into_iter().map(u64::from).collect();
            let weights = is_weighted.then_some(ColumnValues::Float32(arcs.weights));
            [ColumnValues::UInt64(targets)].into_iter().chain(weights).collect()
        }),
    }
}

/// Writes where the list of each vertex begins.
fn write_starts(
    directory: &NewDirectory,
    ranked: &Ranked<'_>,
    degrees: &[u32],
) -> Result<Vec<FileEntry>> {
    let columns = [("ptr", ColumnKind::UInt64)];
    let encoder = GroupEncoder::new(&columns, NumberEncoding::Plain, NOTES).map_err(no_columns)?;
    let mut table = Table::new(directory, ranked, encoder);
    let mut end = 0;
    let mut push = |starts: Vec<u64>| {
        let make = |starts| Box::new(move || vec![ColumnValues::UInt64(starts)]);
        let rows = starts.len();
        table.push(Group { file: INDPTR.to_owned(), rows, src: None, make: make(starts) })
    };
    push(vec![0])?;
    for degrees in degrees.chunks(GROUP_ROWS) {
        let starts = degrees.iter().map(|&degree| {
            end += u64::from(degree);
            end
        });
        push(starts.collect())?;
    }
    table.finish()
}

/// Returns what mounts the directory in Ladybug, wherever that runs.
fn schema(directory: &NewDirectory, ranked: &Ranked<'_>, ids: IdColumn) -> String {
    let kind = match ids.kind {
        ColumnKind::Text => "STRING",
        ColumnKind::UInt64 => "UINT64",
        _ => "INT64",
    };
    let path =
        std::path::absolute(directory.path()).unwrap_or_else(|_| directory.path().to_owned());
    let path = path.to_string_lossy().replace('\\', "\\\\").replace('\'', "\\'");
    let weight = if ranked.view.is_weighted() { ", weight FLOAT" } else { "" };
    let mount = format!("WITH (storage = '{path}', format = 'icebug-disk');");
    format!(
        "CREATE NODE TABLE vertex(id {kind}, PRIMARY KEY(id)) {mount}\n\
         CREATE REL TABLE edge(FROM vertex TO vertex{weight}) {mount}\n"
    )
}
