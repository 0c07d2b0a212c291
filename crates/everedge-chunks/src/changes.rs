//! What a graph has more and less than the sealed one that it began as: short lists, in memory.
//!
//! # Layout
//! Of each direction, for each vertex that some change touches, the edges that were added and those that were taken away:
//! ```text
//! touched   a bit for each vertex
//! rows      vertex │ end in added │ end in taken        ascending; a row begins where the one before it ends
//! added     neighbor │ weight                            of each row ascending, parallel edges in the order in which they came
//! taken     neighbor │ weight                            of each row ascending
//! ```
//! # Invariants
//! - C1: a vertex has a row if and only if its bit is set.
//! - C2: an edge that was taken away is one of the sealed graph, and there at least as often. Whoever reads a whole list sees it
//!   ([`ChangedView`](crate::ChangedView)); it then is an error of the store.

use std::collections::HashMap;
use std::mem;
use std::path::{Path, PathBuf};

use everedge_core::{Bitmap, Direction, VertexId, par};
use everedge_medium::Result;

use crate::check::Checked;
use crate::form::Form;
use crate::view::ChunksView;

/// An edge as one of its ends sees it.
pub(crate) type Entry = (VertexId, f32);

/// An edge that one end has more or less than in the sealed graph.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// This end.
    pub v: VertexId,
    /// The other end.
    pub neighbor: VertexId,
    /// The edge's weight; 1 if there are none.
    pub weight: f32,
    /// Whether it was taken away from the sealed graph; otherwise it was added.
    pub is_taken: bool,
}

/// All that was added to a sealed graph and taken away from it.
pub struct ChangeLists {
    path: PathBuf,
    vertices_before: u32,
    vertices: u32,
    added_count: u64,
    taken_count: u64,
    sides: Vec<Side>,
}

/// The changes of one direction.
struct Side {
    touched: Bitmap,
    rows: Vec<Row>,
    added: Vec<Entry>,
    taken: Vec<Entry>,
}

/// Where the changes of a vertex end.
#[derive(Clone, Copy)]
struct Row {
    v: VertexId,
    added_end: usize,
    taken_end: usize,
}

/// The changes of a vertex.
#[derive(Clone, Copy, Default)]
pub(crate) struct OfVertex<'a> {
    pub(crate) added: &'a [Entry],
    pub(crate) taken: &'a [Entry],
}

impl ChangeLists {
    /// Sorts the changes of each side, first out-neighbors, of a graph of `form` that has `more_vertices` now. `path` is where
    /// they were read from, for messages.
    ///
    /// # Panics
    /// If a change names what is no vertex, or takes an edge away that the sealed graph cannot have.
    pub fn new(path: &Path, form: &Form, more_vertices: u32, sides: Vec<Vec<Change>>) -> Self {
        let (before, vertices) = (form.vertices, form.vertices + more_vertices);
        let count = |is_taken: bool| {
            let counts = |change: &&Change| {
                change.is_taken == is_taken && (form.directed || change.v <= change.neighbor)
            };
            sides.first().map_or(0, |changes| changes.iter().filter(counts).count() as u64)
        };
        let (added_count, taken_count) = (count(false), count(true));
        let sides = sides.into_iter().map(|changes| Side::new((before, vertices), changes));
        let sides = sides.collect();
        Self {
            path: path.to_owned(),
            vertices_before: before,
            vertices,
            added_count,
            taken_count,
            sides,
        }
    }

    /// Returns how many edges were added.
    pub fn added_count(&self) -> u64 {
        self.added_count
    }

    /// Returns how many edges were taken away.
    pub fn taken_count(&self) -> u64 {
        self.taken_count
    }

    /// Returns how many vertices there are now.
    pub fn vertices(&self) -> u32 {
        self.vertices
    }

    /// Returns how many vertices the sealed graph has: those that were added have the numbers after them.
    pub fn vertices_before(&self) -> u32 {
        self.vertices_before
    }

    /// Returns whether the graph is the sealed one.
    pub fn is_empty(&self) -> bool {
        self.vertices == self.vertices_before && self.sides.iter().all(|side| side.rows.is_empty())
    }

    /// Returns the bytes of memory that it takes.
    pub fn memory_bytes(&self) -> u64 {
        let of = |side: &Side| {
            mem::size_of_val(side.touched.words())
                + mem::size_of_val(&side.rows[..])
                + mem::size_of_val(&side.added[..])
                + mem::size_of_val(&side.taken[..])
        };
        self.sides.iter().map(|side| of(side) as u64).sum()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the changes of a vertex; nothing if none touches it.
    #[inline]
    pub(crate) fn of(&self, side: usize, v: VertexId) -> OfVertex<'_> {
        let side = &self.sides[side];
        if side.touched.contains(v) { side.of(v) } else { OfVertex::default() }
    }
}

impl Side {
    fn new((before, vertices): (u32, u32), mut changes: Vec<Change>) -> Self {
        // Stable: parallel edges stay in the order in which they came.
        par::sort_by_key(&mut changes, |change| (change.v, change.neighbor));
        let mut touched = Bitmap::new(vertices);
        let (mut rows, mut added, mut taken): (Vec<Row>, Vec<_>, Vec<_>) = Default::default();
        for change in changes {
            let Change { v, neighbor, weight, is_taken } = change;
            let bound = if is_taken { before } else { vertices };
            assert!(v.max(neighbor) < bound, "{change:?} among {bound} vertices");
            touched.insert(v);
            let list = if is_taken { &mut taken } else { &mut added };
            list.push((neighbor, weight));
            if rows.last().is_none_or(|row| row.v != v) {
                rows.push(Row { v, added_end: 0, taken_end: 0 });
            }
            if let Some(row) = rows.last_mut() {
                (row.added_end, row.taken_end) = (added.len(), taken.len());
            }
        }
        [&mut added, &mut taken].into_iter().for_each(Vec::shrink_to_fit);
        rows.shrink_to_fit();
        Self { touched, rows, added, taken }
    }

    #[cold]
    fn of(&self, v: VertexId) -> OfVertex<'_> {
        let place = self.rows.binary_search_by_key(&v, |row| row.v);
        place.map_or(OfVertex::default(), |place| self.row(place))
    }

    fn row(&self, place: usize) -> OfVertex<'_> {
        let before = place.checked_sub(1).map(|before| self.rows[before]);
        let (added, taken) = before.map_or((0, 0), |row| (row.added_end, row.taken_end));
        let row = self.rows[place];
        OfVertex {
            added: &self.added[added..row.added_end],
            taken: &self.taken[taken..row.taken_end],
        }
    }
}

impl OfVertex<'_> {
    /// Returns the degree of a vertex that had another one before.
    #[inline]
    pub(crate) fn degree(&self, before: u32) -> u32 {
        // What was taken away is there, unless files are damaged; whoever reads the list finds that.
        (before + self.added.len() as u32).saturating_sub(self.taken.len() as u32)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.added.is_empty() && self.taken.is_empty()
    }
}

impl ChangeLists {
    /// Checks that each edge that was taken away is one of the sealed graph, and in a `simple` one that no pair has two edges.
    ///
    /// Cost: the lists of all vertices that changes touch are read.
    ///
    /// # Errors
    /// `Corruption` or `Io` if the sealed graph cannot be read.
    pub fn check(&self, sealed: &ChunksView, simple: bool) -> Result<Checked> {
        let mut checked = Checked::default();
        for (side, direction) in self.sides.iter().zip([Direction::Out, Direction::In]) {
            // How many more of an edge are taken away than were seen, and how many edges a pair has.
            let mut taken: HashMap<(VertexId, VertexId, u32), i64> = HashMap::new();
            let mut pairs: HashMap<(VertexId, VertexId), i64> = HashMap::new();
            for (place, row) in side.rows.iter().enumerate() {
                let changes = side.row(place);
                for &(u, weight) in changes.taken {
                    *taken.entry((row.v, u, weight.to_bits())).or_default() += 1;
                    *pairs.entry((row.v, u)).or_default() -= 1;
                }
                changes.added.iter().for_each(|&(u, _)| *pairs.entry((row.v, u)).or_default() += 1);
            }
            let vertices = side.rows.iter().map(|row| row.v);
            let vertices: Vec<_> = vertices.take_while(|&v| v < self.vertices_before).collect();
            sealed.for_each_edge_of(direction, &vertices, |v, u, weight| {
                if let Some(count) = taken.get_mut(&(v, u, weight.to_bits())) {
                    *count -= 1;
                }
                if let Some(count) = pairs.get_mut(&(v, u)) {
                    *count += 1;
                }
            });
            sealed.store().check()?;
            checked.checks += (taken.len() + pairs.len()) as u64;
            let mut wrong: Vec<_> = taken.into_iter().filter(|&(_, count)| count > 0).collect();
            wrong.sort_unstable();
            for ((v, u, _), _) in wrong {
                let (src, dst) = if direction == Direction::Out { (v, u) } else { (u, v) };
                checked.problems.push(format!(
                    "`{}`: an edge from vertex {src} to vertex {dst} was taken away that the sealed graph has not",
                    self.path.display()
                ));
            }
            let mut doubled: Vec<_> = pairs.into_iter().filter(|&(_, n)| simple && n > 1).collect();
            doubled.sort_unstable();
            for ((v, u), _) in doubled {
                checked.problems.push(format!(
                    "`{}`: the vertices {v} and {u} of a simple graph have two edges",
                    self.path.display()
                ));
            }
        }
        Ok(checked)
    }
}
