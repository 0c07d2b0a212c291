//! The last neighbor of each chunk of 256 bytes of whole lists, in memory: a search reads one chunk of a list.
//!
//! Source: PIE §3.2, Figure 8, there for lists of at least 256 neighbors, each with a tree of its own. Difference: the
//! chunks are those of all lists together, so that a list needs nothing but where it begins and ends: the
//! pivots of the chunks that end inside of it ascend, as a search in an array asks for.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_core::{VertexId, par};

/// Neighbors of a chunk: 256 bytes.
const CHUNK: usize = 64;
/// Chunks in a piece of work.
const GRAIN: usize = 1 << 12;

/// The pivots of the lists of one direction: 4 bytes for each 64 edges.
pub(crate) struct ChunkIndex {
    pivots: Vec<VertexId>,
}

impl ChunkIndex {
    /// Returns how many pivots so many neighbors have.
    pub(crate) fn len_for(neighbors: usize) -> usize {
        neighbors / CHUNK
    }

    /// Reads the last neighbor of each chunk.
    pub(crate) fn new(neighbors: &[AtomicU32]) -> Self {
        let (chunks, _) = neighbors.as_chunks::<CHUNK>();
        let last = |chunk: &[AtomicU32; CHUNK]| chunk[CHUNK - 1].load(Relaxed);
        let pivots = par::map_chunks(chunks, GRAIN, |chunks| {
            chunks.iter().map(last).collect::<Vec<VertexId>>()
        });
        Self { pivots: pivots.concat() }
    }

    /// Returns the part of a list in which the first neighbor stands that is not below `neighbor`, or at whose end
    /// it would stand. The list ascends, and `list` is where it lies.
    #[inline]
    pub(crate) fn part(&self, list: Range<usize>, neighbor: VertexId) -> Range<usize> {
        let Range { start, end } = list;
        let (first, rest) = (start / CHUNK, end / CHUNK);
        let before = match self.pivots.get(first..rest) {
            Some(pivots) => pivots.partition_point(|&pivot| pivot < neighbor),
            // It lies inside of one chunk.
            None => 0,
        };
        let chunk = first + before;
        start.max(chunk * CHUNK)..end.min((chunk + 1) * CHUNK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_neighbor_of_each_list_is_in_the_part_that_is_found() {
        // Lists of all lengths around that of a chunk, one after the other, with gaps between neighbors.
        let lens = (0..40).chain(60..70).chain(126..131).chain([300]);
        let (mut neighbors, mut lists) = (Vec::new(), Vec::new());
        for (seed, len) in (0..).zip(lens) {
            let start = neighbors.len();
            neighbors.extend((0..len).map(|i| AtomicU32::new(2 * i / 3 * 2 + seed % 5 + 1)));
            lists.push(start..neighbors.len());
        }
        let index = ChunkIndex::new(&neighbors);
        assert_eq!(index.pivots.len(), ChunkIndex::len_for(neighbors.len()));
        for list in lists {
            let values: Vec<u32> =
                neighbors[list.clone()].iter().map(|n| n.load(Relaxed)).collect();
            for neighbor in 0..500 {
                let expected = list.start + values.partition_point(|&value| value < neighbor);
                let part = index.part(list.clone(), neighbor);
                let within =
                    neighbors[part.clone()].partition_point(|n| n.load(Relaxed) < neighbor);
                assert_eq!(part.start + within, expected, "{neighbor} in {list:?}");
                assert!(part.len() <= CHUNK);
            }
        }
    }
}
