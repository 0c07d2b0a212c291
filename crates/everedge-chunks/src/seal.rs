//! Sealing a view: its vertices are numbered, and the lists of each are written in that order.
//!
//! # Cost
//! Memory: 20 bytes a vertex and some MiB. Each list of the view is read once for each direction, here and there.
//!
//! # Recovery
//! The files count when the directory has a manifest, which the caller publishes last. What is left of a
//! sealing that ended before is no graph.

use std::ops::Range;

use everedge_core::{Direction, VertexId, WeightedView, par, watch};
use everedge_medium::{Result, Volume};

use crate::entry::{Entry, PAGE_BYTES};
use crate::form::{Form, IDS, SealOptions, SideForm};
use crate::order::ordered;
use crate::pack::{Packer, PieceFile};
use crate::store::IDS_PER_PAGE;

/// Neighbors in a batch of lists, which are encoded on all threads and then packed.
const BATCH_NEIGHBORS: u64 = 1 << 21;
/// Neighbors in a piece of work.
const GRAIN_NEIGHBORS: u64 = 1 << 14;
/// Vertices in a batch and in a piece of work.
const VERTICES: [u32; 2] = [1 << 16, 1 << 12];

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
    let mut sides = Vec::new();
    let (mut done, lists) = (0, (directions.len() * ids.len()) as u64);
    for (side, &direction) in directions.iter().enumerate() {
        let mut packer = Packer::new(volume, (side, salt), options, (weighted, ids.len() as u32))?;
        let source = Source { view, direction, weighted, ids: &ids, numbers: &numbers };
        let mut first = 0;
        while first < ids.len() as u32 {
            let batch = source.cut(first..ids.len() as u32, VERTICES[0], BATCH_NEIGHBORS);
            source.write(batch.clone(), &mut packer)?;
            done += u64::from(batch.end - first);
            first = batch.end;
            watch::note(done, lists);
        }
        sides.push(packer.finish()?);
    }
    Ok(form_of(view, (weighted, ids.len() as u32), options, sides))
}

fn form_of(
    view: &impl WeightedView,
    (weighted, vertices): (bool, u32),
    options: &SealOptions,
    sides: Vec<SideForm>,
) -> Form {
    Form {
        directed: view.is_directed(),
        weighted,
        vertices,
        edges: view.edge_count(),
        order: options.order,
        compressed: options.compressed,
        minis: options.minis,
        list_bytes_max: options.list_bytes_max,
        sides,
    }
}

/// Writes the id of each vertex.
fn write_ids(volume: &Volume, salt: u32, ids: impl Iterator<Item = VertexId>) -> Result<()> {
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

/// The lists of a view in one direction, by number.
struct Source<'a, V> {
    view: &'a V,
    direction: Direction,
    weighted: bool,
    ids: &'a [VertexId],
    numbers: &'a [VertexId],
}

/// Lists of consecutive vertices.
struct Lists {
    first: u32,
    lists: Vec<List>,
    bytes: Vec<u8>,
}

enum List {
    /// One or two neighbors, or one with its weight.
    Mini(Entry),
    /// How many neighbors, and how many of the bytes.
    Encoded(u32, usize),
    Long(Vec<VertexId>, Vec<f32>),
}

impl<V: WeightedView> Source<'_, V> {
    fn degree(&self, number: u32) -> u32 {
        let v = self.ids[number as usize];
        match self.direction {
            Direction::Out => self.view.out_degree(v),
            Direction::In => self.view.in_degree(v),
        }
    }

    /// Returns the first of `numbers` that have so many neighbors together, or are so many.
    fn cut(&self, numbers: Range<u32>, vertices: u32, neighbors: u64) -> Range<u32> {
        let mut sum = 0;
        let most = numbers.end.min(numbers.start.saturating_add(vertices));
        let mut end = numbers.start;
        while end < most && sum < neighbors {
            sum += u64::from(self.degree(end));
            end += 1;
        }
        numbers.start..end
    }

    /// Encodes the lists of a batch on all threads, and packs them in their order.
    fn write(&self, batch: Range<u32>, packer: &mut Packer) -> Result<()> {
        let mut tasks = Vec::new();
        let mut first = batch.start;
        while first < batch.end {
            let task = self.cut(first..batch.end, VERTICES[1], GRAIN_NEIGHBORS);
            first = task.end;
            tasks.push(task);
        }
        let shared = &*packer;
        let encoded = par::map_chunks(&tasks, 1, |tasks| {
            tasks.iter().map(|task| self.encode(task.clone(), shared)).collect::<Vec<_>>()
        });
        for lists in encoded.into_iter().flatten() {
            lists.pack(packer)?;
        }
        Ok(())
    }

    fn encode(&self, numbers: Range<u32>, packer: &Packer) -> Lists {
        let mut lists = Lists { first: numbers.start, lists: Vec::new(), bytes: Vec::new() };
        let (mut edges, mut ids, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        for number in numbers {
            let v = self.ids[number as usize];
            edges.clear();
            ids.clear();
            weights.clear();
            let numbered = |u: VertexId| self.numbers[u as usize];
            match (self.weighted, self.direction) {
                (false, Direction::Out) => ids.extend(self.view.out_neighbors(v).map(numbered)),
                (false, Direction::In) => ids.extend(self.view.in_neighbors(v).map(numbered)),
                (true, Direction::Out) => edges.extend(self.view.out_edges(v)),
                (true, Direction::In) => edges.extend(self.view.in_edges(v)),
            }
            if self.weighted {
                edges.iter_mut().for_each(|edge| edge.0 = numbered(edge.0));
                edges.sort_by_key(|&(u, _)| u);
                ids.extend(edges.iter().map(|&(u, _)| u));
                weights.extend(edges.iter().map(|&(_, weight)| weight));
            } else {
                ids.sort_unstable();
            }
            lists.add(packer, &ids, &weights);
        }
        lists
    }
}

impl Lists {
    fn add(&mut self, packer: &Packer, ids: &[VertexId], weights: &[f32]) {
        if packer.is_mini(ids.len()) {
            return self.lists.push(List::Mini(Entry::mini(ids, weights)));
        }
        let start = self.bytes.len();
        packer.code().encode(ids, weights, &mut self.bytes);
        let len = self.bytes.len() - start;
        if packer.is_long(len) {
            self.bytes.truncate(start);
            return self.lists.push(List::Long(ids.to_vec(), weights.to_vec()));
        }
        self.lists.push(List::Encoded(ids.len() as u32, len));
    }

    fn pack(self, packer: &mut Packer) -> Result<()> {
        let mut start = 0;
        for (v, list) in (self.first..).zip(self.lists) {
            match list {
                List::Mini(entry) => packer.add_mini(v, entry),
                List::Long(ids, weights) => packer.add_long(v, &ids, &weights)?,
                List::Encoded(degree, len) => {
                    packer.add(v, degree, &self.bytes[start..start + len])?;
                    start += len;
                }
            }
        }
        Ok(())
    }
}
