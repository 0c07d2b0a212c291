//! What was added to a sealed graph and taken away from it, as it is stored: a live graph in its subdirectory `changes`.
//!
//! # Layout
//! ```text
//! changes/base     which sealed graph the changes are of
//! changes/added    names of vertices that it has not: the n-th has the number after its last, and n. Checksums begin with
//!                  the marks of that graph and of these changes
//! changes/…        a live graph with integers for ids: of a vertex v, 2v has the edges that were added,
//!                  2v + 1 those that were taken away
//! ```
//! So additions and deletions of a batch are one batch of the live graph, and its log, recovery, lock and checks are those of the changes.
//!
//! # Invariants
//! - O1: only changes with an effect are stored. An edge of 2v + 1 is one of the sealed graph; in a `simple` graph no pair has an
//!   edge there and one of 2v, unless that of the sealed graph was taken away.
//! - O2: names are durable before an edge uses them, in `added` and then in the live graph's own map.
//!
//! # Recovery
//! The live graph's manifest is published last. A directory without one holds no changes, and the next writer makes it anew.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use everedge_chunks::{Change, ChangeLists, Form};
use everedge_core::{Bitmap, GraphView, VertexId, WeightedView};
use everedge_live::{AnnouncedNames, Error as StorageError, GraphHead, NAMES, Names};
use everedge_medium::{Access, Kind, MANIFEST, Manifest, Volume, read_file};
use serde::Serialize;

use crate::chunks::{ChunksOptions, has_in_neighbors};
use crate::{Error, ExternalId, Graph, GraphOptions, IdKind, Result};

/// The directory of changes in that of the sealed graph.
const CHANGES: &str = "changes";
/// Bytes of memory that reading takes for each change.
const READING_BYTES: u64 = 64;
/// Bytes of memory that it takes for each vertex of the live graph: its name and its number, and a row for each direction, first
/// in a view and then in the lists.
const VERTEX_BYTES: u64 = 60;
/// Bytes of memory that the name of a vertex that was added takes, and a text beside its own bytes.
const NAME_BYTES: u64 = size_of::<ExternalId>() as u64;
const TEXT_BYTES: u64 = 24;
/// Bytes of memory that a change takes in the list of one of its ends.
const KEPT_BYTES: u64 = 8;
/// Says which sealed graph they are of.
const BASE: &str = "base";
const BASE_BYTES_MAX: u64 = 64;
/// The version of what [`BASE`] says. In version 1, `added` knew the sealed graph, and not the changes that it belongs to.
const BASE_VERSION: u32 = 2;
/// Who has a graph open that leaves no trace.
const ANOTHER: &str = "another process";
/// The names of vertices that the sealed graph has not.
const ADDED: &str = "added";

/// How many edges a sealed graph has more and less than when it was sealed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ChangeCounts {
    /// Edges that were added.
    pub edges_added: u64,
    /// Edges of the sealed graph that were taken away.
    pub edges_taken_away: u64,
}

/// Returns what the changes call the vertex with the edges that were added to `v`, or those that were taken away.
pub(crate) fn id_in_changes(v: VertexId, is_taken: bool) -> u64 {
    u64::from(v) << 1 | u64::from(is_taken)
}

/// Changes that are open.
pub(crate) struct OpenChanges {
    pub(crate) graph: Graph,
    /// The names of vertices that were added.
    pub(crate) added: Names,
    before: u32,
    side_count: usize,
    /// What their names take in memory.
    names_bytes: u64,
    /// Whether there were none before this handle.
    are_new: bool,
}

/// All changes that are stored, by the numbers that vertices have in them.
pub(crate) struct StoredChanges {
    /// Out-neighbors, and in-neighbors if a directed graph keeps them.
    pub(crate) sides: Vec<Vec<Change>>,
    /// Which names of added vertices are those of vertices: some may have been made for a batch that never came.
    pub(crate) has_vertex: Bitmap,
}

/// All changes, in memory, by the numbers that vertices have in a view.
pub(crate) struct ReadChanges {
    pub(crate) lists: Arc<ChangeLists>,
    /// The names of the vertices that were added.
    pub(crate) names: Arc<[ExternalId]>,
    /// The memory that reading them took.
    reading_bytes: u64,
    pub(crate) disk_bytes: u64,
}

/// Has an error say that the sealed graph is in use, not its directory of changes, of which its user need not know. So it is, too,
/// where another process has made the changes or taken them away since this one found that they `were_there`, or not.
fn named_after(sealed: &Volume, were_there: bool, error: Error) -> Error {
    let in_use = |holder: String| {
        Error::Storage(StorageError::InUse { path: sealed.path().to_owned(), holder })
    };
    let is_missing = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    let may_be_raced = match &error {
        Error::Storage(StorageError::InUse { holder, .. }) => return in_use(holder.clone()),
        // The other one has made the directory and removed it again.
        Error::Storage(StorageError::Io { source, .. }) if is_missing(source) && !were_there => {
            return in_use(ANOTHER.into());
        }
        Error::Storage(StorageError::Io { source, .. }) => is_missing(source),
        Error::Storage(StorageError::NotAGraph { .. }) => were_there,
        Error::Storage(StorageError::InvalidInput { .. }) => !were_there,
        _ => false,
    };
    match may_be_raced && are_there(sealed).is_ok_and(|are_there| are_there != were_there) {
        true => in_use(ANOTHER.into()),
        false => error,
    }
}

/// Returns whether a sealed graph has changes.
///
/// # Errors
/// `NotAGraph` if they are a link that leads to none: changes are made as a directory, so there were some; `Io` if the system does
/// not say what there is.
fn are_there(sealed: &Volume) -> Result<bool> {
    let path = path_of(sealed);
    if !sealed.contains(CHANGES)? {
        return Ok(false);
    }
    let is_link = path.is_symlink();
    match Graph::is_there(&path)? {
        false if is_link => {
            let what = "it is a link, and the changes of the sealed graph are not where it leads; put them back there";
            Err(Error::Storage(StorageError::NotAGraph { path, what: what.into() }))
        }
        are_there => Ok(are_there),
    }
}

/// Returns where the changes of a sealed graph are.
fn path_of(sealed: &Volume) -> PathBuf {
    sealed.path().join(CHANGES)
}

/// Refuses the changes of a sealed graph as a graph of their own, and any directory in that of a sealed graph: who changed the
/// changes there would make another graph of both, or one that does not open.
///
/// # Errors
/// `InvalidInput` names the sealed graph, or says how it is known if the changes lie elsewhere.
pub(crate) fn refuse_as_graph(path: &Path) -> Result<()> {
    // What is not there yet is not where a link leads.
    let whole = path.canonicalize().or_else(|_| std::path::absolute(path));
    let parent = whole.as_deref().unwrap_or(path).parent();
    let Some(parent) = parent.filter(|parent| is_sealed(parent)) else {
        return refuse_elsewhere(path);
    };
    // As the caller names it, if that can be told.
    let shown = path.parent().filter(|shown| is_sealed(shown) && *shown != Path::new(""));
    let (path, graph) = (path.display(), shown.unwrap_or(parent).display());
    Err(Error::invalid(format!(
        "`{path}` belongs to the sealed graph `{graph}`, which keeps its changes there: name `{graph}` itself, to ask it \
         or to ingest into it"
    )))
}

/// Refuses changes that lie outside the directory of their sealed graph: their vertices are numbers of that graph.
fn refuse_elsewhere(path: &Path) -> Result<()> {
    if !path.join(BASE).is_file() || !path.join(ADDED).is_file() {
        return Ok(());
    }
    let text = read_file(path, BASE, BASE_BYTES_MAX).unwrap_or_default();
    let path = path.display();
    let whose = match base_of(&String::from_utf8_lossy(&text)) {
        Some((uuid, _)) => {
            format!(
                " whose `{MANIFEST}` says `uuid = \"{uuid}\"`; move it back there, as `{CHANGES}`"
            )
        }
        None => format!(
            ", which its damaged `{BASE}` does not name; move it back there, as `{CHANGES}`"
        ),
    };
    Err(Error::invalid(format!(
        "`{path}` holds the changes of a sealed graph{whose}, and name that graph itself, to ask it or to ingest into it"
    )))
}

fn is_sealed(path: &Path) -> bool {
    Manifest::<GraphHead>::peek(path).is_ok_and(|head| head.kind == Kind::Chunks)
}

/// Returns what the live graph with the changes is like.
pub(crate) fn options_for(sealed: &ChunksOptions) -> GraphOptions {
    options_stored(sealed, &GraphOptions::default())
}

/// Returns the same of one whose bytes are stored as `stored` says.
fn options_stored(sealed: &ChunksOptions, stored: &GraphOptions) -> GraphOptions {
    let Form { directed, weighted, .. } = sealed.form;
    GraphOptions {
        directed,
        weighted,
        simple: sealed.simple,
        in_neighbors: has_in_neighbors(&sealed.form),
        ids: IdKind::Integer,
        ..stored.clone()
    }
}

/// Returns about how many bytes of memory the names of changes take while these are read: the map of the vertices that were
/// added, that of the live graph with what is kept by vertex meanwhile, and the names that stay in memory afterwards.
fn names_bytes(changes: &Volume, sealed: &ChunksOptions) -> Result<u64> {
    let kind = kind_of_added(sealed);
    let added = Names::announced(changes, ADDED, kind)?;
    let vertices = Names::announced(changes, NAMES, IdKind::Integer)?;
    let AnnouncedNames { count, text_bytes, memory_bytes } = added;
    let name_bytes = if kind == IdKind::Text { NAME_BYTES + TEXT_BYTES } else { NAME_BYTES };
    let maps = memory_bytes + vertices.memory_bytes + VERTEX_BYTES * vertices.count;
    Ok(maps + text_bytes + name_bytes * count)
}

/// Returns what the names of added vertices are: without a map, the numbers that vertices are called by.
fn kind_of_added(sealed: &ChunksOptions) -> IdKind {
    if sealed.ids == IdKind::Text { IdKind::Text } else { IdKind::Integer }
}

impl OpenChanges {
    /// Opens the changes of a sealed graph for reading, if there are some. `may_take` is asked before names are read whether there
    /// are so many bytes of memory for them.
    ///
    /// # Errors
    /// `Corruption` if they are damaged, or those of another graph; `InUse` while somebody changes the graph; the error of
    /// `may_take`.
    pub(crate) fn for_reading(
        sealed: &Volume,
        manifest: &Manifest<ChunksOptions>,
        may_take: impl FnOnce(u64) -> Result<()>,
    ) -> Result<Option<Self>> {
        if !are_there(sealed)? {
            return Ok(None);
        }
        let graph = Graph::open_inside(&path_of(sealed), Access::Read, false, |volume| {
            may_take(names_bytes(volume, &manifest.options)?)
        });
        let graph = graph.map_err(|error| named_after(sealed, true, error))?;
        Self::new(graph, manifest).map(Some)
    }

    /// Opens the changes of a sealed graph for writing; makes them if there are none. `meter` counts what their medium does.
    ///
    /// # Errors
    /// As [`Self::for_reading`]; `Io` or `NoSpace` if they cannot be made.
    pub(crate) fn for_writing(
        sealed: &Volume,
        manifest: &Manifest<ChunksOptions>,
        meter: bool,
    ) -> Result<Self> {
        let path = path_of(sealed);
        if are_there(sealed)? {
            let graph = Graph::open_inside(&path, Access::Write, meter, |_| Ok(()));
            return Self::new(graph.map_err(|error| named_after(sealed, true, error))?, manifest);
        }
        let options = options_for(&manifest.options);
        let volume = Volume::create(&path, options.volume(meter));
        let volume = volume.map_err(|error| named_after(sealed, false, error.into()))?;
        let changes = Self::create_in(volume, manifest, &options);
        if changes.is_err() {
            Volume::remove_unfinished(&path);
        }
        changes.map(|changes| Self { are_new: true, ..changes })
    }

    /// Opens the changes in a volume that the caller has opened, if there are some.
    ///
    /// # Errors
    /// As [`Self::for_reading`].
    pub(crate) fn open_in(
        volume: Volume,
        manifest: &Manifest<ChunksOptions>,
    ) -> Result<Option<Self>> {
        match volume.contains(MANIFEST)? {
            true => Self::new(Graph::open_in(volume)?, manifest).map(Some),
            false => Ok(None),
        }
    }

    /// Opens the changes in a volume that the caller has made; makes them, stored as `stored` says, if there are none.
    ///
    /// # Errors
    /// As [`Self::for_writing`].
    pub(crate) fn open_or_create_in(
        volume: Volume,
        manifest: &Manifest<ChunksOptions>,
        stored: &GraphOptions,
    ) -> Result<Self> {
        match Self::open_in(volume.clone(), manifest)? {
            Some(changes) => Ok(changes),
            None => Self::create_in(volume, manifest, &options_stored(&manifest.options, stored)),
        }
    }

    /// Makes changes in an empty volume; the live graph, whose manifest says that they are there, comes last.
    fn create_in(
        volume: Volume,
        manifest: &Manifest<ChunksOptions>,
        options: &GraphOptions,
    ) -> Result<Self> {
        volume.publish(BASE, base_text(&manifest.uuid, BASE_VERSION).as_bytes())?;
        let kind = kind_of_added(&manifest.options);
        // As long as it has no names, it has no checksum.
        drop(Names::create_file(&volume, ADDED, kind, manifest.salt())?);
        Self::new(Graph::create_in(volume, options)?, manifest)
    }

    fn new(graph: Graph, manifest: &Manifest<ChunksOptions>) -> Result<Self> {
        let volume = graph.live.volume();
        let version = check_base(volume, &manifest.uuid)?;
        check_options(&graph, &options_for(&manifest.options))?;
        let kind = kind_of_added(&manifest.options);
        let salt = match version {
            1 => manifest.salt(),
            _ => {
                let of_changes = Manifest::<GraphHead>::read(volume)?.uuid;
                crc32c::crc32c_append(manifest.salt(), of_changes.as_bytes())
            }
        };
        let added = Names::open_file(volume, ADDED, kind, salt)?;
        let form = &manifest.options.form;
        let (before, side_count) = (form.vertices, form.sides.len());
        let names_bytes = names_bytes(volume, &manifest.options)?;
        Ok(Self { added, before, side_count, names_bytes, are_new: false, graph })
    }

    /// Closes them. If this handle has made them and they hold nothing, `are_none`, they are taken away.
    ///
    /// # Errors
    /// As [`Graph::close`].
    pub(crate) fn close(self, are_none: bool) -> Result<()> {
        let Self { added, graph, are_new, .. } = self;
        drop(added);
        // As long as the volume is open, nobody else makes changes in it.
        let volume = graph.live.volume().clone();
        graph.close()?;
        if are_new && are_none {
            let _is_gone = volume.undo_creation();
        }
        Ok(())
    }

    /// Returns all changes.
    ///
    /// # Errors
    /// `Corruption` if they are damaged, or name what is no vertex.
    pub(crate) fn stored(&self) -> Result<StoredChanges> {
        let view = self.graph.snapshot()?.any;
        let mut ids = vec![0; view.vertex_bound() as usize];
        let mut has_vertex = Bitmap::new(self.added.len());
        let vertices = || {
            let all = view.vertex_ranges().into_iter().flatten();
            all.filter(|&x| view.is_vertex(x))
        };
        for x in vertices() {
            let id = self.id_of(x)?;
            ids[x as usize] = id;
            let (v, is_taken) = vertex_of(id);
            if let Some(at) = v.checked_sub(self.before).filter(|_| !is_taken) {
                has_vertex.insert(at);
            }
        }
        let mut sides = Vec::new();
        for side in 0..self.side_count {
            let mut changes = Vec::new();
            for x in vertices() {
                let ((v, is_taken), path) = (vertex_of(ids[x as usize]), self.path());
                let mut push = |(y, weight): (VertexId, f32)| {
                    let (neighbor, is_other) = vertex_of(ids[y as usize]);
                    changes.push(Change { v, neighbor, weight, is_taken });
                    is_taken == is_other
                };
                // A deletion takes the newest edge of a pair, also once it is sealed again.
                let are_alike = match side {
                    0 => view.out_edges_by_age(x).all(&mut push),
                    _ => view.in_edges_by_age(x).all(&mut push),
                };
                if !are_alike {
                    let what = format!("the changes of vertex {v}");
                    let found = "one that was both";
                    return Err(damage(path, &what, "edges added or taken away", found));
                }
            }
            sides.push(changes);
        }
        Ok(StoredChanges { sides, has_vertex })
    }

    /// Returns what a vertex of the live graph is called.
    fn id_of(&self, x: VertexId) -> Result<u64> {
        let bound = u64::from(self.before) + u64::from(self.added.len());
        match self.graph.names().and_then(|names| names.name_of(x)) {
            Some(ExternalId::Integer(id)) if id >> 1 < bound => {
                let is_added = id >> 1 >= u64::from(self.before);
                if is_added && id & 1 == 1 {
                    let (what, found) = ("what was taken away", format!("vertex {}", id >> 1));
                    let expected = format!("edges of {} vertices", self.before);
                    return Err(damage(self.path(), what, &expected, &found));
                }
                Ok(id)
            }
            Some(ExternalId::Integer(id)) => {
                let names = (id >> 1).saturating_sub(self.before.into()).saturating_add(1);
                self.added.check_covers(names.try_into().unwrap_or(VertexId::MAX))?;
                let expected = format!("one of {bound} vertices");
                Err(damage(self.path(), "a vertex", &expected, &(id >> 1).to_string()))
            }
            _ => Err(damage(self.path(), "a vertex", "an integer for its name", "none")),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.graph.live.volume().path()
    }

    /// Returns how much memory reading them takes at least.
    ///
    /// # Errors
    /// If lists are damaged.
    pub(crate) fn least_memory(&self) -> Result<u64> {
        let count = self.edge_count()?;
        let sides = self.side_count as u64;
        let bits = (u64::from(self.before) + u64::from(self.added.len())).div_ceil(8);
        let of_edges = count.saturating_mul(READING_BYTES + sides * KEPT_BYTES);
        let are_some = count > 0 || !self.added.is_empty();
        let of_bits = if are_some { sides * bits } else { 0 };
        Ok(of_edges.saturating_add(self.names_bytes + of_bits))
    }

    /// Returns how many edges were added and taken away.
    ///
    /// # Errors
    /// As [`Self::least_memory`].
    pub(crate) fn edge_count(&self) -> Result<u64> {
        Ok(self.graph.totals()?.edge_count)
    }

    /// Returns all changes, with numbers for the vertices that were added which leave no gaps.
    ///
    /// # Errors
    /// As [`Self::stored`]; `Io` if the system does not say how large files are.
    pub(crate) fn read(&self, form: &Form) -> Result<ReadChanges> {
        let StoredChanges { mut sides, has_vertex } = self.stored()?;
        let mut numbers = vec![0; has_vertex.bound() as usize];
        for (number, at) in (form.vertices..).zip(has_vertex.iter()) {
            numbers[at as usize] = number;
        }
        let renumber = |v: &mut VertexId| {
            if let Some(at) = v.checked_sub(form.vertices) {
                *v = numbers[at as usize];
            }
        };
        for change in sides.iter_mut().flatten() {
            renumber(&mut change.v);
            renumber(&mut change.neighbor);
        }
        drop(numbers);
        let lists = ChangeLists::new(self.path(), form, has_vertex.count(), sides);
        let places: Vec<VertexId> = has_vertex.iter().collect();
        let name_of = |&at: &VertexId| self.added.name_of(at).unwrap_or(ExternalId::Integer(0));
        // Of a known number of names no copy is made.
        let names = places.iter().map(name_of).collect();
        let disk_bytes = self.graph.live.volume().disk_bytes()?;
        let reading_bytes = self.least_memory()?;
        Ok(ReadChanges { lists: Arc::new(lists), names, reading_bytes, disk_bytes })
    }
}

impl ReadChanges {
    /// Returns how many bytes of memory it takes, with what reading it took.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let of_name = |name: &ExternalId| match name {
            ExternalId::Integer(_) => NAME_BYTES,
            ExternalId::Text(text) => NAME_BYTES + TEXT_BYTES + text.len() as u64,
        };
        let names: u64 = self.names.iter().map(of_name).sum();
        let changes = self.lists.added_count() + self.lists.taken_count();
        let kept = self.lists.memory_bytes() + names + changes * READING_BYTES;
        kept.max(self.reading_bytes)
    }

    /// Returns how many edges there are more and less.
    pub(crate) fn counts(&self) -> ChangeCounts {
        let (edges_added, edges_taken_away) = (self.lists.added_count(), self.lists.taken_count());
        ChangeCounts { edges_added, edges_taken_away }
    }
}

/// Returns the vertex that an id in the changes stands for, and whether it has what was taken away.
fn vertex_of(id: u64) -> (VertexId, bool) {
    ((id >> 1) as VertexId, id & 1 == 1)
}

/// Returns what the file says that names the sealed graph: its UUID, from version 2 on the version, and a checksum of that.
fn base_text(uuid: &str, version: u32) -> String {
    let said = if version == 1 { uuid.to_owned() } else { format!("{uuid} {version}") };
    format!("{said} {:08x}\n", crc32c::crc32c(said.as_bytes()))
}

/// Returns the UUID of the sealed graph that a file names, and the version, if it is whole.
fn base_of(text: &str) -> Option<(&str, u32)> {
    let (said, _checksum) = text.rsplit_once(' ')?;
    let (uuid, version) = match said.split_once(' ') {
        Some((uuid, version)) => (uuid, version.parse().ok()?),
        None => (said, 1),
    };
    (text == base_text(uuid, version)).then_some((uuid, version))
}

/// Checks that the changes are those of the sealed graph with this UUID. Returns the version of what says so.
fn check_base(changes: &Volume, uuid: &str) -> Result<u32> {
    let text = changes.read(BASE, BASE_BYTES_MAX)?;
    let text = String::from_utf8_lossy(&text);
    let path = changes.path().join(BASE);
    match base_of(&text) {
        Some((_, found)) if !(1..=BASE_VERSION).contains(&found) => {
            Err(Error::Storage(StorageError::Version { path, found, supported: BASE_VERSION }))
        }
        Some((found, version)) if found == uuid => Ok(version),
        Some((found, _)) => {
            let what = "the sealed graph that these changes are of; put the directory back beside its files";
            Err(damage(&path, what, uuid, found))
        }
        None => {
            let expected = base_text(uuid, BASE_VERSION);
            Err(damage(&path, "the name of a sealed graph", expected.trim(), text.trim()))
        }
    }
}

/// Checks that a live graph can be one of changes.
fn check_options(graph: &Graph, expected: &GraphOptions) -> Result<()> {
    let said = |options: &GraphOptions| {
        let GraphOptions { directed, weighted, simple, in_neighbors, ids, .. } = options;
        format!(
            "directed={directed} weighted={weighted} simple={simple} in_neighbors={in_neighbors} ids={ids}"
        )
    };
    let (found, expected) = (said(graph.options()), said(expected));
    match found == expected {
        true => Ok(()),
        false => {
            Err(damage(graph.live.volume().path(), "options of the changes", &expected, &found))
        }
    }
}

/// Returns the error that something at `path` cannot be.
pub(crate) fn damage(path: &Path, what: &str, expected: &str, found: &str) -> Error {
    Error::Storage(StorageError::Corruption {
        path: path.to_owned(),
        offset: 0,
        what: what.into(),
        expected: expected.into(),
        found: found.into(),
    })
}

#[cfg(test)]
mod tests {
    use everedge_chunks::SealOptions;
    use everedge_core::watch::Watch;
    use everedge_medium::{MediumKind, VolumeOptions};

    use super::*;
    use crate::Chunks;

    /// What is found of a directory that another process makes or takes away meanwhile says so.
    #[test]
    fn changes_that_come_and_go_are_in_use() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("sealed");
        let dram = GraphOptions { medium: MediumKind::Dram, ..GraphOptions::default() };
        let graph = Graph::create("g".as_ref(), &dram, false).unwrap();
        graph.insert(&[(0, 1)], None).unwrap();
        let view = graph.snapshot().unwrap();
        Chunks::seal(&view, &path, &SealOptions::default(), &Watch::new()).unwrap();
        let options = VolumeOptions::new(MediumKind::File);
        let sealed = Volume::open(&path, options, Access::Read).unwrap();
        let said = |were_there, error: StorageError| {
            named_after(&sealed, were_there, error.into()).to_string()
        };
        let in_use = format!("graph is in use by another process: `{}`", path.display());
        // They were there, and are gone.
        let missing = || StorageError::Io {
            path: path.join(CHANGES),
            operation: "open",
            source: io::ErrorKind::NotFound.into(),
        };
        assert!(said(true, missing()).starts_with(&in_use));
        let gone = Graph::open_inside(&path.join(CHANGES), Access::Read, false, |_| Ok(()));
        let gone = gone.err().unwrap().to_string();
        assert!(gone.contains("no such directory"), "{gone}");
        // They were not there, and now are.
        let changer = Chunks::change(&path, false).unwrap();
        changer.insert(&[(0, 0)], None).unwrap();
        changer.close().unwrap();
        let error = Volume::create(&path.join(CHANGES), options).err().unwrap();
        assert!(error.to_string().contains("holds a graph already"), "{error}");
        assert!(said(false, error).starts_with(&in_use));
        // What is there, and lacks a file, is not.
        assert!(!said(true, missing()).starts_with(&in_use));
    }
}
