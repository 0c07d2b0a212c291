//! The edges of a bucket, grouped by vertex: each list sorted, ready to be encoded.

use std::ops::Range;

use everedge_core::VertexId;

use crate::encode::NumberedLists;

/// The lists of consecutive vertices.
pub(crate) struct Group {
    first: u32,
    /// Where the neighbors of each vertex begin, and the end of the last.
    offsets: Vec<u32>,
    neighbors: Vec<VertexId>,
    weights: Vec<f32>,
}

impl Group {
    /// Groups the edges of `parts`, words of `width` each, which come in their order. All of them leave vertices
    /// of `range`. With `simple`, a pair keeps its last edge only.
    pub(crate) fn new(range: Range<u32>, parts: &[&[u32]], width: usize, simple: bool) -> Self {
        let mut group = match width {
            2 => Self::grouped::<2>(range, parts),
            _ => Self::grouped::<3>(range, parts),
        };
        group.sort();
        if simple {
            group.keep_last();
        }
        group
    }

    fn grouped<const WIDTH: usize>(range: Range<u32>, parts: &[&[u32]]) -> Self {
        let first = range.start;
        let at = |edge: &[u32; WIDTH]| (edge[0] - first) as usize;
        let edges = || parts.iter().flat_map(|part| part.as_chunks::<WIDTH>().0);
        let mut offsets = vec![0_u32; range.len() + 1];
        edges().for_each(|edge| offsets[at(edge) + 1] += 1);
        let mut sum = 0;
        for offset in &mut offsets {
            sum += *offset;
            *offset = sum;
        }
        let mut places = offsets.clone();
        let mut neighbors = vec![0; sum as usize];
        let mut weights = vec![0.0; if WIDTH == 3 { sum as usize } else { 0 }];
        edges().for_each(|edge| {
            let place = &mut places[at(edge)];
            neighbors[*place as usize] = edge[1];
            if let Some(&bits) = edge.get(2) {
                weights[*place as usize] = f32::from_bits(bits);
            }
            *place += 1;
        });
        Self { first, offsets, neighbors, weights }
    }

    /// Sorts each list; parallel edges stay in their order.
    fn sort(&mut self) {
        let (mut keys, mut unsorted) = (Vec::new(), Vec::new());
        for ends in self.offsets.windows(2) {
            let range = ends[0] as usize..ends[1] as usize;
            let ids = &mut self.neighbors[range.clone()];
            if self.weights.is_empty() {
                ids.sort_unstable();
                continue;
            }
            // A neighbor, and where its weight was.
            keys.clear();
            keys.extend((0..).zip(&*ids).map(|(place, &id)| u64::from(id) << 32 | place));
            keys.sort_unstable();
            let weights = &mut self.weights[range];
            unsorted.clear();
            unsorted.extend_from_slice(weights);
            for ((id, weight), key) in ids.iter_mut().zip(weights).zip(&keys) {
                *id = (key >> 32) as u32;
                *weight = unsorted[*key as u32 as usize];
            }
        }
    }

    /// Keeps the last of several edges of a pair.
    fn keep_last(&mut self) {
        let mut kept = 0;
        let mut start = 0;
        for at in 1..self.offsets.len() {
            let end = self.offsets[at] as usize;
            for i in start..end {
                if i + 1 < end && self.neighbors[i] == self.neighbors[i + 1] {
                    continue;
                }
                self.neighbors[kept] = self.neighbors[i];
                if !self.weights.is_empty() {
                    self.weights[kept] = self.weights[i];
                }
                kept += 1;
            }
            start = end;
            self.offsets[at] = kept as u32;
        }
        self.neighbors.truncate(kept);
        self.weights.truncate(kept);
    }

    /// Returns how many neighbors all lists have.
    pub(crate) fn len(&self) -> u64 {
        self.neighbors.len() as u64
    }

    /// Returns how many edges lead from a vertex to itself.
    pub(crate) fn loops(&self) -> u64 {
        let of = |(v, ends): (u32, &[u32])| {
            let list = &self.neighbors[ends[0] as usize..ends[1] as usize];
            (list.partition_point(|&u| u <= v) - list.partition_point(|&u| u < v)) as u64
        };
        (self.first..).zip(self.offsets.windows(2)).map(of).sum()
    }

    fn range(&self, number: u32) -> Range<usize> {
        let at = (number - self.first) as usize;
        self.offsets[at] as usize..self.offsets[at + 1] as usize
    }
}

impl NumberedLists for Group {
    fn degree(&self, number: u32) -> u32 {
        self.range(number).len() as u32
    }

    fn copy(&self, number: u32, ids: &mut Vec<VertexId>, weights: &mut Vec<f32>) {
        let range = self.range(number);
        ids.extend_from_slice(&self.neighbors[range.clone()]);
        weights.extend_from_slice(self.weights.get(range).unwrap_or_default());
    }
}
