//! Sealing a view: its vertices are numbered, and the lists of each are written in that order.
//!
//! # Cost
//! Memory: 20 bytes a vertex and some MiB. Each list of the view is read once for each direction, here and there.
//!
//! # Recovery
//! The files count when the directory has a manifest, which the caller publishes last. What is left of a
//! sealing that ended before is no graph.

use everedge_core::{Direction, VertexId, WeightedView, watch};
use everedge_medium::{Result, Volume};

use crate::encode::{NumberedLists, write_lists};
use crate::entry::PAGE_BYTES;
use crate::form::{Form, IDS, SealOptions};
use crate::order::ordered;
use crate::pack::{Packer, PieceFile};
use crate::store::IDS_PER_PAGE;

/// Writes the files of a sealed graph, all but the manifest. `id_of` says what a vertex is called.
///
/// # Errors
/// `NoSpace` or `Io` if the medium fails; `InvalidInput` if options cannot be.
pub fn seal(
    volume: &Volume,
    salt: u32,
    view: &impl WeightedView,
    weighted: bool,
    options: &SealOptions,
    id_of: impl Fn(VertexId) -> VertexId,
) -> Result<Form> {
    options.check()?;
    let ids = ordered(view, options);
    let mut numbers = vec![0; view.vertex_bound() as usize];
    (0..).zip(&ids).for_each(|(number, &id)| numbers[id as usize] = number);
    write_ids(volume, salt, ids.iter().map(|&v| id_of(v)))?;
    let directions = match view.is_directed() && view.has_in_neighbors() {
        true => &[Direction::Out, Direction::In][..],
        false => &[Direction::Out],
    };
    let (mut sides, mut distinct) = (Vec::new(), true);
    let (mut done, lists) = (0, (directions.len() * ids.len()) as u64);
    for (side, &direction) in directions.iter().enumerate() {
        let mut packer = Packer::new(volume, (side, salt), options, (weighted, ids.len() as u32))?;
        let of_view = OfView { view, direction, weighted, ids: &ids, numbers: &numbers };
        write_lists(&of_view, 0..ids.len() as u32, &mut packer, |more| {
            done += u64::from(more);
            watch::note(done, lists);
        })?;
        let (side, is_distinct) = packer.finish()?;
        sides.push(side);
        distinct &= is_distinct;
    }
    let counts = (ids.len() as u32, view.edge_count());
    Ok(Form::new(options, (view.is_directed(), weighted), counts, (sides, distinct)))
}

/// Writes the id of each vertex.
pub(crate) fn write_ids(
    volume: &Volume,
    salt: u32,
    ids: impl Iterator<Item = VertexId>,
) -> Result<()> {
    let mut file = PieceFile::create(volume, IDS.into(), salt, PAGE_BYTES)?;
    let mut page = Vec::with_capacity(PAGE_BYTES);
    for (i, id) in (1..).zip(ids) {
        page.extend(id.to_le_bytes());
        if i % IDS_PER_PAGE == 0 {
            file.append(&page)?;
            page.clear();
        }
    }
    if !page.is_empty() {
        file.append(&page)?;
    }
    file.publish()
}

/// The lists of a view in one direction.
struct OfView<'a, V> {
    view: &'a V,
    direction: Direction,
    weighted: bool,
    ids: &'a [VertexId],
    numbers: &'a [VertexId],
}

impl<V: WeightedView> NumberedLists for OfView<'_, V> {
    fn degree(&self, number: u32) -> u32 {
        let v = self.ids[number as usize];
        match self.direction {
            Direction::Out => self.view.out_degree(v),
            Direction::In => self.view.in_degree(v),
        }
    }

    fn copy(&self, number: u32, ids: &mut Vec<VertexId>, weights: &mut Vec<f32>) {
        let v = self.ids[number as usize];
        let numbered = |u: VertexId| self.numbers[u as usize];
        let mut edges = Vec::new();
        match (self.weighted, self.direction) {
            (false, Direction::Out) => ids.extend(self.view.out_neighbors(v).map(numbered)),
            (false, Direction::In) => ids.extend(self.view.in_neighbors(v).map(numbered)),
            // A deletion takes the last of a pair's edges.
            (true, Direction::Out) => edges.extend(self.view.out_edges_by_age(v)),
            (true, Direction::In) => edges.extend(self.view.in_edges_by_age(v)),
        }
        ids.sort_unstable();
        edges.iter_mut().for_each(|edge| edge.0 = numbered(edge.0));
        edges.sort_by_key(|&(u, _)| u);
        ids.extend(edges.iter().map(|&(u, _)| u));
        weights.extend(edges.iter().map(|&(_, weight)| weight));
    }
}
