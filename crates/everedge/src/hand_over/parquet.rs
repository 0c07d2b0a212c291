//! Sorted Parquet with a manifest: the ids of both ends, as any engine reads them.
//!
//! ```text
//! edges/part-00000.parquet      src, dst, weight      sorted by src and dst, 8,388,608 rows a file
//! vertices/part-00000.parquet   id                    all vertices, in order
//! manifest.json
//! ```

use everedge_io::{ColumnKind, ColumnValues, GroupEncoder, NumberEncoding};

use super::directory::NewDirectory;
use super::manifest::FileEntry;
use super::ranked::{Arcs, Ranked};
use super::tables::{Filling, Group, IdColumn, Table, no_columns, write_vertices};
use crate::Result;

/// The directories of edges and of vertices.
pub(super) const EDGES: &str = "edges/";
pub(super) const VERTICES: &str = "vertices/";
/// Rows of a file, a multiple of those of a row group.
const FILE_ROWS: usize = 1 << 23;

/// Writes all files but the manifest; returns what it says of them, and how many edges there are.
pub(super) fn write(
    directory: &NewDirectory,
    ranked: &Ranked<'_>,
) -> Result<(Vec<FileEntry>, u64)> {
    let ids = IdColumn::of(ranked);
    let numbers = (NumberEncoding::Differences, &[][..]);
    let part = |number: usize| format!("{VERTICES}part-{number:05}.parquet");
    let mut files = write_vertices(directory, ranked, (ids, None), numbers, (FILE_ROWS, part))?;
    let columns = [("src", ids.kind), ("dst", ids.kind), ("weight", ColumnKind::Float32)];
    let columns = if ranked.view.is_weighted() { &columns[..] } else { &columns[..2] };
    let encoder =
        GroupEncoder::new(columns, NumberEncoding::Differences, &[]).map_err(no_columns)?;
    let mut table = Table::new(directory, ranked, encoder);
    let (mut filling, mut written, mut edges) = (Filling::default(), 0, 0);
    let part = |row: usize| format!("{EDGES}part-{:05}.parquet", row / FILE_ROWS);
    let mut push = |arcs: Arcs| {
        let file = part(written);
        written += arcs.len();
        table.push(group(ranked, ids, file, arcs))
    };
    ranked.for_each_arcs(|arcs| {
        edges += arcs.len() as u64;
        let mut start = 0;
        while start < arcs.len() {
            start = filling.fill(&arcs, start..arcs.len(), ids.group_rows);
            if filling.len() == ids.group_rows {
                push(filling.take())?;
            }
        }
        Ok(())
    })?;
    if filling.len() > 0 {
        push(filling.take())?;
    }
    if edges == 0 {
        table.push_empty(&part(0))?;
    }
    files.extend(table.finish()?);
    Ok((files, edges))
}

fn group<'a>(ranked: &'a Ranked<'_>, ids: IdColumn, file: String, arcs: Arcs) -> Group<'a> {
    let src = [arcs.src[0], arcs.src[arcs.len() - 1]];
    Group {
        file,
        rows: arcs.len(),
        src: Some(src),
        make: Box::new(move || {
            let Arcs { src, dst, weights } = arcs;
            let mut columns = vec![
                ids.values(&ranked.ids, src.into_iter()),
                ids.values(&ranked.ids, dst.into_iter()),
            ];
            if ranked.view.is_weighted() {
                columns.push(ColumnValues::Float32(weights));
            }
            columns
        }),
    }
}
