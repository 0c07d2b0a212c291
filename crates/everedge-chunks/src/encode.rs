//! Encoding lists on all threads, and packing them in the order of their vertices.

use std::ops::Range;

use everedge_core::{VertexId, par};
use everedge_medium::Result;

use crate::entry::Entry;
use crate::pack::Packer;

/// Neighbors in a batch of lists, which are encoded on all threads and then packed.
const BATCH_NEIGHBORS: u64 = 1 << 21;
/// Neighbors in a piece of work.
const GRAIN_NEIGHBORS: u64 = 1 << 14;
/// Vertices in a batch and in a piece of work.
const VERTICES: [u32; 2] = [1 << 16, 1 << 12];

/// Lists of neighbors by the number of their vertex.
pub(crate) trait NumberedLists: Sync {
    /// Returns about how many neighbors a vertex has.
    fn degree(&self, number: u32) -> u32;

    /// Puts the neighbors of a vertex, ascending, and the weights of its edges, if there are some, into empty
    /// vectors.
    fn copy(&self, number: u32, ids: &mut Vec<VertexId>, weights: &mut Vec<f32>);
}

/// Writes the lists of some vertices; `done` sees how many of them are written.
pub(crate) fn write_lists(
    lists: &impl NumberedLists,
    numbers: Range<u32>,
    packer: &mut Packer,
    mut done: impl FnMut(u32),
) -> Result<()> {
    let mut first = numbers.start;
    while first < numbers.end {
        let batch = cut(lists, first..numbers.end, VERTICES[0], BATCH_NEIGHBORS);
        let mut tasks = Vec::new();
        while first < batch.end {
            let task = cut(lists, first..batch.end, VERTICES[1], GRAIN_NEIGHBORS);
            first = task.end;
            tasks.push(task);
        }
        let shared = &*packer;
        let encoded = par::map_chunks(&tasks, 1, |tasks| {
            tasks.iter().map(|task| encode(lists, task.clone(), shared)).collect::<Vec<_>>()
        });
        for encoded in encoded.into_iter().flatten() {
            encoded.pack(packer)?;
        }
        done(batch.end - batch.start);
    }
    Ok(())
}

/// Returns the first of `numbers` that have so many neighbors together, or are so many.
fn cut(
    lists: &impl NumberedLists,
    numbers: Range<u32>,
    vertices: u32,
    neighbors: u64,
) -> Range<u32> {
    let mut sum = 0;
    let most = numbers.end.min(numbers.start.saturating_add(vertices));
    let mut end = numbers.start;
    while end < most && sum < neighbors {
        sum += u64::from(lists.degree(end));
        end += 1;
    }
    numbers.start..end
}

/// Encoded lists of consecutive vertices.
pub(crate) struct Encoded {
    first: u32,
    lists: Vec<List>,
    bytes: Vec<u8>,
}

enum List {
    /// It stands in the index.
    Mini(Entry),
    /// How many neighbors, and how many of the bytes.
    Short(u32, usize),
    Long(Vec<VertexId>, Vec<f32>),
}

/// Encodes the lists of some vertices.
pub(crate) fn encode(lists: &impl NumberedLists, numbers: Range<u32>, packer: &Packer) -> Encoded {
    let mut encoded = Encoded { first: numbers.start, lists: Vec::new(), bytes: Vec::new() };
    let (mut ids, mut weights) = (Vec::new(), Vec::new());
    for number in numbers {
        ids.clear();
        weights.clear();
        lists.copy(number, &mut ids, &mut weights);
        encoded.add(packer, &ids, &weights);
    }
    encoded
}

impl Encoded {
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
        self.lists.push(List::Short(ids.len() as u32, len));
    }

    /// Returns how many vertices it is of.
    pub(crate) fn len(&self) -> usize {
        self.lists.len()
    }

    /// Packs the lists.
    pub(crate) fn pack(self, packer: &mut Packer) -> Result<()> {
        let mut start = 0;
        for (v, list) in (self.first..).zip(self.lists) {
            match list {
                List::Mini(entry) => packer.add_mini(v, entry),
                List::Long(ids, weights) => packer.add_long(v, &ids, &weights)?,
                List::Short(degree, len) => {
                    packer.add(v, degree, &self.bytes[start..start + len])?;
                    start += len;
                }
            }
        }
        Ok(())
    }
}
