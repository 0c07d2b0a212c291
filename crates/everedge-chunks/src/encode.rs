//! Encoding lists on all threads, and packing them in the order of their vertices.

use std::mem;
use std::ops::Range;

use everedge_core::{VertexId, par};
use everedge_medium::Result;

use crate::codec::Code;
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
        let encoder = packer.encoder();
        let encoded = par::map_chunks(&tasks, 1, |tasks| {
            tasks.iter().map(|task| encoder.encode(lists, task.clone())).collect::<Vec<_>>()
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
    longs: Vec<(Vec<VertexId>, Vec<f32>)>,
    /// Whether no list names a vertex twice, or its own.
    are_distinct: bool,
}

enum List {
    /// It stands in the index.
    Mini(Entry),
    /// How many neighbors, and how many of the bytes.
    Short(u32, u32),
    /// The next of `longs`.
    Long,
}

/// Bytes of memory that an encoded list takes, beside its neighbors.
pub(crate) const LIST_BYTES: usize = size_of::<List>();

/// How lists are encoded.
#[derive(Clone, Copy)]
pub(crate) struct Encoder {
    pub(crate) code: Code,
    /// Neighbors that may stand in the index.
    pub(crate) mini_max: u32,
    /// Bytes of a list that may be in a chunk.
    pub(crate) list_bytes_max: usize,
}

impl Encoder {
    /// Encodes the lists of some vertices.
    pub(crate) fn encode(self, lists: &impl NumberedLists, numbers: Range<u32>) -> Encoded {
        let mut encoded = Encoded {
            first: numbers.start,
            lists: Vec::with_capacity(numbers.len()),
            bytes: Vec::new(),
            longs: Vec::new(),
            are_distinct: true,
        };
        let (mut ids, mut weights) = (Vec::new(), Vec::new());
        for number in numbers {
            ids.clear();
            weights.clear();
            lists.copy(number, &mut ids, &mut weights);
            encoded.are_distinct &= are_distinct(&ids, number);
            let list = self.encode_list(&mut ids, &mut weights, &mut encoded);
            encoded.lists.push(list);
        }
        encoded.bytes.shrink_to_fit();
        encoded
    }

    /// Encodes a list if it is one for the index or a chunk; takes it otherwise.
    fn encode_list(
        self,
        ids: &mut Vec<VertexId>,
        weights: &mut Vec<f32>,
        Encoded { bytes, longs, .. }: &mut Encoded,
    ) -> List {
        if ids.len() <= self.mini_max as usize {
            return List::Mini(Entry::mini(ids, weights));
        }
        // Each neighbor takes a byte at least.
        if ids.len() <= self.list_bytes_max {
            let start = bytes.len();
            self.code.encode(ids, weights, bytes);
            let len = bytes.len() - start;
            if len <= self.list_bytes_max {
                return List::Short(ids.len() as u32, len as u32);
            }
            bytes.truncate(start);
        }
        longs.push((mem::take(ids), mem::take(weights)));
        List::Long
    }
}

/// Returns whether `ids`, which ascend, name no vertex twice, nor `number`.
fn are_distinct(ids: &[VertexId], number: u32) -> bool {
    ids.windows(2).all(|pair| pair[0] != pair[1]) && ids.binary_search(&number).is_err()
}

impl Encoded {
    /// Returns how many vertices it is of.
    pub(crate) fn len(&self) -> usize {
        self.lists.len()
    }

    /// Packs the lists.
    pub(crate) fn pack(self, packer: &mut Packer) -> Result<()> {
        packer.are_distinct &= self.are_distinct;
        let (mut start, mut longs) = (0, self.longs.into_iter());
        for (v, list) in (self.first..).zip(self.lists) {
            match list {
                List::Mini(entry) => packer.add_mini(v, entry),
                List::Long => {
                    let (ids, weights) = longs.next().unwrap_or_default();
                    packer.add_long(v, &ids, &weights)?;
                }
                List::Short(degree, len) => {
                    let end = start + len as usize;
                    packer.add(v, degree, &self.bytes[start..end])?;
                    start = end;
                }
            }
        }
        Ok(())
    }
}
