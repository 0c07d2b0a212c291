//! What an export has written, read back: all vertices, then all edges.

use std::path::{Path, PathBuf};

use everedge_core::VertexId;
use everedge_io::{
    Chunk, Column, Columns, Format, Guess, IdKind, Ids, ReadOptions, ReadSummary, TextIds,
};
use everedge_io::{read_parquet, read_parquet_ids, read_parquet_weights};

use super::manifest::{FileEntry, Manifest, open};
use super::{graphar, icebug, parquet};
use crate::id_map::read_as;
use crate::ingest::Sink;
use crate::{Error, Result};

/// A directory that an export has written, all of whose files are as they were.
#[derive(Clone, Debug)]
pub(crate) struct Export {
    directory: PathBuf,
    manifest: Manifest,
    format: Format,
    ids: everedge_live::IdKind,
}

/// Takes edges.
type Take<'a> = dyn FnMut(Chunk) -> Result<(), Sink> + Send + 'a;

impl Export {
    /// Returns what an export has written to `path`, if that is such a directory.
    ///
    /// # Errors
    /// `InvalidInput` if something of it is missing or damaged, or it is of another `format`; `Io`.
    pub(crate) fn find(path: &Path, format: Option<Format>) -> Result<Option<Self>> {
        let Some(manifest) = Manifest::read(path)? else {
            return refuse_parts(path, format).map(|()| None);
        };
        let shown = path.display();
        let (Some(found), Some(ids)) = (manifest.format(), manifest.ids()) else {
            let what = format!(
                "`{shown}` holds an export of a form that this program does not know: use the one that wrote it"
            );
            return Err(Error::invalid(what));
        };
        if let Some(other) = format.filter(|&format| format != found) {
            let (found, other) = (found.name(), other.name());
            return Err(Error::invalid(format!(
                "`{shown}` holds an export as {found}, not {other}"
            )));
        }
        manifest.check(path)?;
        let directory = path.to_owned();
        Ok(Some(Self { directory, manifest, format: found, ids }))
    }

    /// Returns how it is read.
    pub(crate) fn guess(&self) -> Guess {
        let Manifest { directed, weighted, .. } = self.manifest;
        Guess::of_export(self.format, read_as(self.ids), directed, weighted)
    }

    pub(crate) fn byte_count(&self) -> u64 {
        self.manifest.byte_count()
    }

    /// Calls `take` with the ids of all vertices, in their order.
    ///
    /// # Errors
    /// Those of `take`; `File` if they cannot be read.
    pub(crate) fn read_vertices(
        &self,
        ids: IdKind,
        take: &mut (dyn FnMut(Ids) -> Result<()> + Send),
    ) -> Result<()> {
        let mut vertices = 0;
        for entry in self.tables(self.vertices_prefix()).filter(|entry| entry.rows != Some(0)) {
            let path = self.directory.join(&entry.file);
            let sink = |ids: Ids| {
                vertices += ids.len() as u64;
                take(ids).map_err(Sink::Graph)
            };
            let read = read_parquet_ids(open(&path)?, "id", ids, sink);
            read.map_err(|error: Sink| error.in_file(&path))?;
        }
        self.check_count("vertices", vertices, self.manifest.vertices)
    }

    /// Calls `take` with all edges in their order.
    ///
    /// # Errors
    /// As of [`Self::read_vertices`].
    pub(crate) fn read_edges(
        &self,
        options: &ReadOptions,
        take: &mut Take<'_>,
    ) -> Result<ReadSummary> {
        let mut summary = ReadSummary { bytes: self.byte_count(), ..ReadSummary::default() };
        let mut counted = |chunk: Chunk| {
            summary.edges += chunk.src.len() as u64;
            summary.skipped += chunk.skipped;
            take(chunk)
        };
        match self.format {
            Format::Icebug => self.read_icebug(options, &mut counted)?,
            Format::GraphAr => self.read_graphar(options, &mut counted)?,
            _ => self.read_parquet(options, &mut counted)?,
        }
        self.check_count("edges", summary.edges, self.manifest.edges)?;
        Ok(summary)
    }

    fn check_count(&self, what: &str, found: u64, expected: u64) -> Result<()> {
        let directory = self.directory.display();
        match found == expected {
            true => Ok(()),
            false => Err(Error::invalid(format!(
                "`{directory}` holds {found} {what}, and its manifest names {expected}: export the graph again"
            ))),
        }
    }

    fn vertices_prefix(&self) -> &'static str {
        match self.format {
            Format::Icebug => icebug::NODES,
            Format::GraphAr => graphar::VERTICES,
            _ => parquet::VERTICES,
        }
    }

    /// Returns the files whose paths begin so.
    fn tables(&self, prefix: &str) -> impl Iterator<Item = &FileEntry> {
        self.manifest.files.iter().filter(move |entry| entry.file.starts_with(prefix))
    }

    fn read_parquet(&self, options: &ReadOptions, take: &mut Take<'_>) -> Result<()> {
        let mut before = 0;
        for entry in self.tables(parquet::EDGES) {
            let columns = columns("src", "dst");
            self.read_table(
                entry,
                &ReadOptions { columns, ..options.clone() },
                &mut |mut chunk| {
                    chunk.bytes_read += before;
                    take(chunk)
                },
            )?;
            before += entry.bytes;
        }
        Ok(())
    }

    /// Reads a table of edges, if it has rows.
    fn read_table(
        &self,
        entry: &FileEntry,
        options: &ReadOptions,
        take: &mut Take<'_>,
    ) -> Result<()> {
        if entry.rows == Some(0) {
            return Ok(());
        }
        let path = self.directory.join(&entry.file);
        let read = read_parquet(open(&path)?, options, &mut *take);
        read.map(|_| ()).map_err(|error| error.in_file(&path))
    }

    fn read_icebug(&self, options: &ReadOptions, take: &mut Take<'_>) -> Result<()> {
        let ids = self.all_ids(options.ids)?;
        let starts = self.starts(ids.len())?;
        let path = self.directory.join(icebug::INDICES);
        let by_rank = ReadOptions {
            ids: IdKind::Dense,
            columns: columns("target", "target"),
            ..options.clone()
        };
        let (mut src, mut edges) = (0_usize, 0_u64);
        for entry in self.tables(icebug::INDICES) {
            self.read_table(entry, &by_rank, &mut |mut chunk| {
                let Ids::Dense(targets) = &chunk.dst else { unreachable!("they were asked for") };
                let mut sources = Vec::with_capacity(targets.len());
                for _ in targets {
                    while starts.get(src + 1).is_some_and(|&end| end <= edges) {
                        src += 1;
                    }
                    sources.push(src as VertexId);
                    edges += 1;
                }
                chunk.src = Ids::Dense(sources);
                take(named(chunk, &ids, &path)?)
            })?;
        }
        Ok(())
    }

    /// Returns where the list of each vertex begins, and the end of the last.
    fn starts(&self, vertices: usize) -> Result<Vec<u64>> {
        let (path, mut starts) = (self.directory.join(icebug::INDPTR), Vec::new());
        let sink = |ids: Ids| {
            if let Ids::Sparse(ids) = ids {
                starts.extend(ids);
            }
            Ok(())
        };
        let read = read_parquet_ids(open(&path)?, "ptr", IdKind::Sparse, sink);
        read.map_err(|error: Sink| error.in_file(&path))?;
        let is_whole = starts.len() == vertices + 1
            && starts.first() == Some(&0)
            && starts.last() == Some(&self.manifest.edges)
            && starts.is_sorted();
        match is_whole {
            true => Ok(starts),
            false => Err(not_the_lists(&path)),
        }
    }

    fn read_graphar(&self, options: &ReadOptions, take: &mut Take<'_>) -> Result<()> {
        let ids = self.all_ids(options.ids)?;
        let by_rank = ReadOptions {
            ids: IdKind::Dense,
            weighted: false,
            columns: columns("_graphArSrcIndex", "_graphArDstIndex"),
            ..options.clone()
        };
        let mut before = 0;
        for entry in self.tables(graphar::NEIGHBORS) {
            let path = self.directory.join(&entry.file);
            let weights =
                options.weighted.then(|| self.weights_beside(entry, options)).transpose()?;
            let mut read = 0;
            self.read_table(entry, &by_rank, &mut |mut chunk| {
                let rows = read..read + chunk.src.len();
                read = rows.end;
                if let Some(weights) = &weights {
                    let weights = weights.get(rows).map(<[f32]>::to_vec);
                    chunk.weights = Some(weights.ok_or_else(|| Sink::Graph(not_the_lists(&path)))?);
                }
                chunk.bytes_read += before;
                take(named(chunk, &ids, &path)?)
            })?;
            before += entry.bytes;
        }
        Ok(())
    }

    /// Returns the weights of the edges in a file, which is short.
    fn weights_beside(&self, entry: &FileEntry, options: &ReadOptions) -> Result<Vec<f32>> {
        let name = entry.file.replacen(graphar::NEIGHBORS, graphar::WEIGHTS, 1);
        let path = self.directory.join(&name);
        let file = open(&path)?;
        read_parquet_weights(file, "weight", options).map_err(|error| Error::file(&path, error))
    }

    /// Returns the ids of all vertices.
    fn all_ids(&self, kind: IdKind) -> Result<Ids> {
        let mut all = match kind {
            IdKind::Dense => Ids::Dense(Vec::new()),
            IdKind::Sparse => Ids::Sparse(Vec::new()),
            IdKind::Text => Ids::Text(TextIds::default()),
        };
        self.read_vertices(kind, &mut |ids| {
            match (&mut all, ids) {
                (Ids::Dense(all), Ids::Dense(ids)) => all.extend(ids),
                (Ids::Sparse(all), Ids::Sparse(ids)) => all.extend(ids),
                (Ids::Text(all), Ids::Text(ids)) => ids.iter().for_each(|id| all.push(id)),
                _ => unreachable!("ids of one kind were asked for"),
            }
            Ok(())
        })?;
        Ok(all)
    }
}

/// Returns edges by rank with the ids of their ends.
fn named(mut chunk: Chunk, ids: &Ids, path: &Path) -> Result<Chunk, Sink> {
    for end in [&mut chunk.src, &mut chunk.dst] {
        let Ids::Dense(ranks) = end else { unreachable!("they were asked for") };
        if ranks.iter().any(|&rank| rank as usize >= ids.len()) {
            return Err(Sink::Graph(not_the_lists(path)));
        }
        *end = at(ids, ranks);
    }
    Ok(chunk)
}

/// Returns the ids of ranks.
fn at(ids: &Ids, ranks: &[VertexId]) -> Ids {
    match ids {
        Ids::Dense(ids) => Ids::Dense(ranks.iter().map(|&rank| ids[rank as usize]).collect()),
        Ids::Sparse(ids) => Ids::Sparse(ranks.iter().map(|&rank| ids[rank as usize]).collect()),
        Ids::Text(ids) => Ids::Text(super::ranked::texts_of(ids, ranks.iter().copied())),
    }
}

fn not_the_lists(path: &Path) -> Error {
    let path = path.display();
    Error::invalid(format!("`{path}` does not hold what its manifest says: export the graph again"))
}

fn columns(src: &str, dst: &str) -> Columns {
    let [src, dst, weight] = [src, dst, "weight"].map(|name| Column::Name(name.to_owned()));
    Columns { src, dst, weight }
}

/// Refuses a directory that looks like a part of an export.
fn refuse_parts(path: &Path, format: Option<Format>) -> Result<()> {
    let shown = path.display();
    let has = |name: &str| path.join(name).exists();
    let is_part = [parquet::EDGES, parquet::VERTICES].iter().all(|name| has(name))
        || has(icebug::INDPTR)
        || has(graphar::DESCRIPTION);
    if is_part {
        let manifest = super::manifest::MANIFEST;
        return Err(Error::invalid(format!(
            "`{shown}` looks like an export without its `{manifest}`, which says what else there must be: copy it whole, \
             or name the files of edges in it"
        )));
    }
    match format.filter(|format| format.is_directory()) {
        Some(format) => Err(Error::invalid(format!(
            "`{shown}` holds no export as {}: there is no `{}` of one in it",
            format.name(),
            super::manifest::MANIFEST
        ))),
        None => Ok(()),
    }
}
