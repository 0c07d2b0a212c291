//! The lists of own vertices, copied with numbers that have no gaps.
//!
//! Own vertices count from 0 in their order; the ghosts follow, shard by shard. Arrays by number are as long as there are
//! vertices here, not as the largest id of the graph, and what is told of the ghosts of a shard lies in one piece.

use std::ops::Range;

use everedge_core::{GraphView, VertexId, par};

use super::Part;
use crate::frontier::joined;

/// Vertices in a piece of work.
const GRAIN: usize = 1 << 8;

#[derive(Debug)]
pub(super) struct Lists {
    /// Where the list of each own vertex begins, and the last one ends.
    starts: Vec<usize>,
    neighbors: Vec<u32>,
    /// The numbers of the ghosts of each shard.
    ghosts: Vec<Range<usize>>,
    /// The numbers of own vertices that are mirrored on each shard, in the order that both keep.
    mirrored: Vec<Vec<u32>>,
    /// The number of own vertex v at v divided by the number of shards.
    numbers: Vec<u32>,
    shards: u32,
}

impl Lists {
    /// Copies what `list_of` gives for each own vertex. Memory: 4 bytes for each neighbor; for a moment 4 bytes for each id.
    pub(super) fn copy<I: IntoIterator<Item = VertexId>>(
        view: &impl GraphView,
        part: &Part,
        list_of: impl Fn(VertexId) -> I + Sync + Send,
    ) -> Self {
        let mut number = vec![u32::MAX; view.vertex_bound() as usize];
        let mut count = 0_u32;
        let mut give = |vertices: &[VertexId]| {
            let first = count as usize;
            for &v in vertices {
                number[v as usize] = count;
                count += 1;
            }
            first..count as usize
        };
        give(part.owned());
        let ghosts: Vec<_> =
            (0..part.shard_count()).map(|shard| give(part.ghosts(shard))).collect();
        let numbers = |list: &Vec<VertexId>| list.iter().map(|&v| number[v as usize]).collect();
        let mirrored = part.mirrored().iter().map(numbers).collect();
        let lists = par::map_chunks(part.owned(), GRAIN, |owned| {
            let (mut counts, mut all) = (Vec::with_capacity(owned.len()), Vec::new());
            for &v in owned {
                let before = all.len();
                all.extend(list_of(v).into_iter().map(|w| number[w as usize]));
                counts.push(all.len() - before);
            }
            (counts, all)
        });
        let (counts, lists): (Vec<_>, Vec<_>) = lists.into_iter().unzip();
        let mut starts = Vec::with_capacity(part.owned().len() + 1);
        starts.push(0);
        let mut end = 0;
        starts.extend(joined(counts).into_iter().map(|count| {
            end += count;
            end
        }));
        let (first, shards) = (part.shard() as usize, part.shard_count());
        let numbers = number.into_iter().skip(first).step_by(shards as usize).collect();
        Self { starts, neighbors: joined(lists), ghosts, mirrored, numbers, shards }
    }

    /// Returns the number of own vertices.
    pub(super) fn own_count(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns the number of own vertices and ghosts.
    pub(super) fn count(&self) -> usize {
        self.ghosts.last().map_or(self.own_count(), |last| last.end)
    }

    /// Returns the number of an own vertex.
    #[inline]
    pub(super) fn number_of(&self, v: VertexId) -> u32 {
        self.numbers[(v / self.shards) as usize]
    }

    /// Returns the neighbors of an own vertex.
    #[inline]
    pub(super) fn of(&self, number: usize) -> &[u32] {
        &self.neighbors[self.starts[number]..self.starts[number + 1]]
    }

    /// Returns the ghosts of each shard, beside what it says about them.
    pub(super) fn said<'a>(
        &'a self,
        messages: &'a [&'a [u8]],
    ) -> impl Iterator<Item = (u32, Range<usize>, &'a [u8])> {
        let said = (0..).zip(&self.ghosts).zip(messages);
        said.map(|((shard, ghosts), message)| (shard, ghosts.clone(), *message))
    }

    /// Returns the own vertices that are mirrored on each shard.
    pub(super) fn mirrored(&self) -> &[Vec<u32>] {
        &self.mirrored
    }
}
