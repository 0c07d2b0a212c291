//! Tables of a directory, in one file or several: row groups are encoded on all threads, and written in their order.

use std::ops::Range;

use everedge_core::par;
use everedge_io::{
    ColumnKind, ColumnValues, EncodedGroup, GroupEncoder, GroupFile, IdKind, Ids, NumberEncoding,
};

use super::directory::{NewDirectory, NewFile};
use super::manifest::FileEntry;
use super::ranked::{Arcs, Ranked, texts_of};
use crate::id_map::json_of;
use crate::{Error, Result};

/// Rows of a row group.
pub(super) const GROUP_ROWS: usize = 1 << 20;
/// Row groups with long ids have fewer rows, a power of two, but so many at least.
const GROUP_ROWS_MIN: usize = 1 << 10;
/// Bytes of text in a column of a row group, unless so few rows have more.
const GROUP_TEXT_BYTES: usize = 1 << 24;

/// Makes the columns of a row group.
type Make<'a> = Box<dyn FnOnce() -> Vec<ColumnValues> + Send + 'a>;

/// A row group that is not encoded yet.
pub(super) struct Group<'a> {
    /// The file that it belongs to. Those of one file come one after the other.
    pub(super) file: String,
    pub(super) rows: usize,
    /// The first and the last source, by rank, if it is of edges.
    pub(super) src: Option<[u32; 2]>,
    pub(super) make: Make<'a>,
}

/// A table that is being written.
pub(super) struct Table<'a> {
    directory: &'a NewDirectory,
    ranked: &'a Ranked<'a>,
    encoder: GroupEncoder,
    waiting: Vec<Group<'a>>,
    open: Option<OpenFile>,
    files: Vec<FileEntry>,
}

struct OpenFile {
    name: String,
    file: GroupFile<NewFile>,
    rows: u64,
    src: Option<[u32; 2]>,
}

impl<'a> Table<'a> {
    pub(super) fn new(
        directory: &'a NewDirectory,
        ranked: &'a Ranked<'a>,
        encoder: GroupEncoder,
    ) -> Self {
        let (waiting, open, files) = (Vec::new(), None, Vec::new());
        Self { directory, ranked, encoder, waiting, open, files }
    }

    /// Takes the next rows; writes them once there is a group for each thread.
    ///
    /// # Errors
    /// `Io`.
    pub(super) fn push(&mut self, group: Group<'a>) -> Result<()> {
        self.waiting.push(group);
        if self.waiting.len() >= par::thread_count() { self.flush() } else { Ok(()) }
    }

    /// Writes what is left; returns what the manifest says of the files.
    ///
    /// # Errors
    /// `Io`.
    pub(super) fn finish(mut self) -> Result<Vec<FileEntry>> {
        self.flush()?;
        self.close()?;
        Ok(self.files)
    }

    /// Makes the file `name`, which has no rows.
    ///
    /// # Errors
    /// `Io`.
    pub(super) fn push_empty(&mut self, name: &str) -> Result<()> {
        self.flush()?;
        self.open(name)
    }

    fn flush(&mut self) -> Result<()> {
        let encoder = &self.encoder;
        let groups = par::map_tasks(std::mem::take(&mut self.waiting), |group| {
            let encoded = encoder.encode((group.make)());
            (group.file, group.rows, group.src, encoded)
        });
        for (name, rows, src, group) in groups {
            let group = group.map_err(|error| write_error(self.directory, &name, error))?;
            if self.open.as_ref().is_none_or(|open| open.name != name) {
                self.open(&name)?;
            }
            self.append(rows as u64, src, group)?;
        }
        Ok(())
    }

    fn append(&mut self, rows: u64, src: Option<[u32; 2]>, group: EncodedGroup) -> Result<()> {
        let Some(open) = &mut self.open else { return Ok(()) };
        open.rows += rows;
        open.src = match (open.src, src) {
            (Some([first, _]), Some([_, last])) => Some([first, last]),
            (before, src) => before.or(src),
        };
        open.file.append(group).map_err(|error| write_error(self.directory, &open.name, error))
    }

    fn open(&mut self, name: &str) -> Result<()> {
        self.close()?;
        let file = self.directory.file(name)?;
        let file = self.encoder.start(file).map_err(|e| write_error(self.directory, name, e))?;
        self.open = Some(OpenFile { name: name.to_owned(), file, rows: 0, src: None });
        Ok(())
    }

    fn close(&mut self) -> Result<()> {
        let Some(OpenFile { name, file, rows, src }) = self.open.take() else { return Ok(()) };
        let file = file.finish().map_err(|error| write_error(self.directory, &name, error))?;
        let src = src.map(|ends| ends.map(|rank| json_of(self.ranked.id(rank))));
        self.files.push(FileEntry { src, ..file.finish(Some(rows))? });
        Ok(())
    }
}

fn write_error(directory: &NewDirectory, name: &str, error: everedge_io::Error) -> Error {
    let path = directory.path().join(name);
    match error {
        everedge_io::Error::Io(source) => Error::io(&path, "write", source),
        source => Error::file(&path, source),
    }
}

/// How ids stand in a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IdColumn {
    pub(super) kind: ColumnKind,
    /// Rows of a row group.
    pub(super) group_rows: usize,
}

impl IdColumn {
    /// Returns how the ids of a view stand in Parquet: numbers as signed ones if they fit, as few programs know others.
    pub(super) fn of(ranked: &Ranked<'_>) -> Self {
        let fits = ranked.largest().is_none_or(|id| i64::try_from(id).is_ok());
        let kind = match ranked.id_kind() {
            IdKind::Dense => ColumnKind::Int32,
            IdKind::Sparse if fits => ColumnKind::Int64,
            IdKind::Sparse => ColumnKind::UInt64,
            IdKind::Text => ColumnKind::Text,
        };
        let group_rows = match kind {
            ColumnKind::Text => {
                let rows = GROUP_TEXT_BYTES / ranked.id_bytes_max().max(1);
                1 << rows.clamp(GROUP_ROWS_MIN, GROUP_ROWS).ilog2()
            }
            _ => GROUP_ROWS,
        };
        Self { kind, group_rows }
    }

    /// Returns the ids of ranks.
    pub(super) fn values(self, ids: &Ids, ranks: impl Iterator<Item = u32>) -> ColumnValues {
        match (ids, self.kind) {
            (Ids::Text(ids), _) => ColumnValues::Text(texts_of(ids, ranks)),
            (Ids::Dense(ids), ColumnKind::Int32) => {
                ColumnValues::Int32(ranks.map(|rank| ids[rank as usize] as i32).collect())
            }
            (Ids::Dense(ids), _) => {
                ColumnValues::Int64(ranks.map(|rank| ids[rank as usize].into()).collect())
            }
            (Ids::Sparse(ids), ColumnKind::UInt64) => {
                ColumnValues::UInt64(ranks.map(|rank| ids[rank as usize]).collect())
            }
            (Ids::Sparse(ids), _) => {
                ColumnValues::Int64(ranks.map(|rank| ids[rank as usize] as i64).collect())
            }
        }
    }
}

/// Writes the ids of all vertices in files of `file_rows` rows, which `name` names by their number; with `index`, each row begins
/// with its number in a column of that name.
///
/// # Errors
/// `Io`.
pub(super) fn write_vertices(
    directory: &NewDirectory,
    ranked: &Ranked<'_>,
    (column, index): (IdColumn, Option<&str>),
    (numbers, notes): (NumberEncoding, &[(&str, &str)]),
    (file_rows, name): (usize, impl Fn(usize) -> String),
) -> Result<Vec<FileEntry>> {
    let mut columns: Vec<_> = index.into_iter().map(|name| (name, ColumnKind::Int64)).collect();
    columns.push(("id", column.kind));
    let encoder = GroupEncoder::new(&columns, numbers, notes).map_err(no_columns)?;
    let mut table = Table::new(directory, ranked, encoder);
    if ranked.len() == 0 {
        table.push_empty(&name(0))?;
    }
    for (number, first) in (0..ranked.len()).step_by(file_rows).enumerate() {
        let end = ranked.len().min(first + file_rows);
        for start in (first..end).step_by(column.group_rows) {
            let ranks = start as u32..end.min(start + column.group_rows) as u32;
            let (rows, has_index) = (ranks.len(), index.is_some());
            let make = move || {
                let index = has_index.then(|| ranks.clone().map(i64::from).collect());
                let index = index.map(ColumnValues::Int64);
                index.into_iter().chain([column.values(&ranked.ids, ranks)]).collect()
            };
            table.push(Group { file: name(number), rows, src: None, make: Box::new(make) })?;
        }
    }
    table.finish()
}

/// Returns the error of a table that cannot be.
pub(super) fn no_columns(error: everedge_io::Error) -> Error {
    Error::invalid(error.to_string())
}

/// Edges that wait until they fill a row group.
#[derive(Default)]
pub(super) struct Filling {
    arcs: Arcs,
}

impl Filling {
    pub(super) fn len(&self) -> usize {
        self.arcs.len()
    }

    /// Appends the first of a range of `arcs`, until there are `rows`; returns where it has ended.
    pub(super) fn fill(&mut self, arcs: &Arcs, range: Range<usize>, rows: usize) -> usize {
        let end = range.end.min(range.start + rows.saturating_sub(self.len()));
        self.arcs.extend(arcs, range.start..end);
        end
    }

    pub(super) fn take(&mut self) -> Arcs {
        std::mem::take(&mut self.arcs)
    }
}
