//! Divides the updates of a round among shards, and sorts each shard's part by vertex.
//!
//! Source: XPGraph §3.4 (edges are first divided by ranges of vertices). Both steps are counting
//! sorts: every update is written twice, always to the end of one of a few thousand runs, so that
//! the lists themselves are visited once a round, in the order of their vertices.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use everedge_core::{memory, par};

use super::round::Round;
use super::shard::{SHARD_BITS, SHARD_SPAN, Update};
use crate::GraphOptions;
use crate::batch::DELETION;

/// The parts of a shard: updates by their source and by their destination.
pub const SIDES: usize = 2;
/// No part.
const NO_PART: usize = usize::MAX;
/// Places in a round are counted in groups: what fits beside a local id in 32 bits.
const GROUP_BITS: u32 = 32 - SHARD_BITS;
/// A round is counted and scattered in at least so many chunks, unless they would be too small.
const CHUNKS_MIN: u32 = 8;
const CHUNK_UPDATES_MIN: u32 = 1 << 14;

/// Memory of the division of rounds, kept between them so that it stays warm.
#[derive(Default)]
pub(super) struct Scratch {
    words: Vec<AtomicU64>,
    weights: Vec<AtomicU32>,
}

/// A round's updates by part: neighbor, local vertex and place in the group in one double word.
pub(super) struct Scattered<'a> {
    scratch: &'a Scratch,
    /// By chunk, then by part: where the chunk's updates of that part begin.
    starts: Vec<Vec<u32>>,
    /// Where each part begins; one more than there are parts.
    bounds: Vec<u32>,
    chunks_per_group: usize,
}

impl<'a> Scattered<'a> {
    /// Divides a round among shards, of which `wants(shard, place in the round)` says what it is to
    /// have; both loops over the round run on all threads.
    pub(super) fn new(
        options: &GraphOptions<impl Sync>,
        round: &Round,
        scratch: &'a mut Scratch,
        wants: &(impl Fn(usize, u32) -> bool + Sync),
    ) -> Self {
        let chunk_updates = (round.len() / CHUNKS_MIN)
            .next_power_of_two()
            .clamp(CHUNK_UPDATES_MIN, 1 << GROUP_BITS);
        let mut starts = par::map_ranges(round.len(), chunk_updates, |range| {
            count(options, round, range, wants)
        });
        let bounds = starts_of(&mut starts);
        let total = *bounds.last().unwrap_or(&0) as usize;
        if scratch.words.len() < total {
            scratch.words = memory::zeros(total);
        }
        if options.weighted && scratch.weights.len() < round.len() as usize {
            scratch.weights = memory::zeros(round.len() as usize);
        }
        let chunks_per_group = (1 << GROUP_BITS) / chunk_updates as usize;
        let scattered = Self { scratch, starts, bounds, chunks_per_group };
        par::for_each_range(round.len(), chunk_updates, |range| {
            let next = scattered.starts[(range.start / chunk_updates) as usize].clone();
            scattered.scatter(options, round, (range, next), wants);
        });
        scattered
    }

    fn scatter(
        &self,
        options: &GraphOptions<impl Sync>,
        round: &Round,
        (range, mut next): (Range<u32>, Vec<u32>),
        wants: &impl Fn(usize, u32) -> bool,
    ) {
        let words = &self.scratch.words[..];
        let mut put = |part: usize, owner: u32, neighbor: u32, index: u32| {
            let local = owner % SHARD_SPAN as u32;
            let low = (local << GROUP_BITS) | (index % (1 << GROUP_BITS));
            let next = &mut next[part];
            words[*next as usize].store(u64::from(neighbor) << 32 | u64::from(low), Relaxed);
            *next += 1;
        };
        round.for_each_update(range.clone(), |index, src, dst| {
            let (vertex, mark) = (src & !DELETION, src & DELETION);
            let [first, second] = parts_of(options, (vertex, dst), |shard| wants(shard, index));
            if first != NO_PART {
                put(first, vertex, dst | mark, index);
            }
            if second != NO_PART {
                put(second, dst, vertex | mark, index);
            }
        });
        if options.weighted {
            round.for_each_weight(range, |index, weight| {
                self.scratch.weights[index as usize].store(weight, Relaxed);
            });
        }
    }

    /// Returns the number of shards that there must be.
    pub(super) fn shard_count(&self) -> usize {
        self.bounds.len() / SIDES
    }

    /// Returns the weights, as bits, by place in the round; only of a weighted graph.
    pub(super) fn weights(&self) -> &'a [AtomicU32] {
        &self.scratch.weights
    }

    /// Returns how many updates a shard has, those of both sides.
    pub(super) fn update_count(&self, shard: usize) -> u64 {
        u64::from(self.bounds[SIDES * shard + SIDES] - self.bounds[SIDES * shard])
    }

    /// Returns how many updates a shard has on some sides.
    pub(super) fn update_count_of(&self, shard: usize, sides: Range<usize>) -> u64 {
        let part = |side: usize| u64::from(self.bounds[SIDES * shard + side]);
        part(sides.end) - part(sides.start)
    }

    /// Returns the groups of one part, each with the place in the round at which it begins.
    fn groups(&self, part: usize) -> impl Iterator<Item = (u32, &[AtomicU64])> + Clone {
        let firsts = self.starts.iter().step_by(self.chunks_per_group).map(move |next| next[part]);
        let ends = firsts.clone().skip(1).chain([self.bounds[part + 1]]);
        (0..).zip(firsts.zip(ends)).map(|(group, (start, end))| {
            (group << GROUP_BITS, &self.scratch.words[start as usize..end as usize])
        })
    }
}

/// Counts the updates of a range by part.
fn count(
    options: &GraphOptions<impl Sync>,
    round: &Round,
    range: Range<u32>,
    wants: &impl Fn(usize, u32) -> bool,
) -> Vec<u32> {
    let mut counts: Vec<u32> = Vec::new();
    let mut count = |part: usize| {
        if counts.len() <= part {
            counts.resize((part | (SIDES - 1)) + 1, 0);
        }
        counts[part] += 1;
    };
    round.for_each_update(range, |index, src, dst| {
        let ends = (src & !DELETION, dst);
        let [first, second] = parts_of(options, ends, |shard| wants(shard, index));
        if first != NO_PART {
            count(first);
        }
        if second != NO_PART {
            count(second);
        }
    });
    counts
}

/// Turns the counts of each chunk into starts: by part, then by chunk. Returns the parts' bounds.
fn starts_of(counts: &mut [Vec<u32>]) -> Vec<u32> {
    let part_count = counts.iter().map(Vec::len).max().unwrap_or(0);
    let mut bounds = Vec::with_capacity(part_count + 1);
    let mut next = 0;
    counts.iter_mut().for_each(|chunk| chunk.resize(part_count, 0));
    for part in 0..part_count {
        bounds.push(next);
        for chunk in &mut *counts {
            next += std::mem::replace(&mut chunk[part], next);
        }
    }
    bounds.push(next);
    bounds
}

/// The parts that an edge belongs to. The second side of a directed edge is the in-list of its
/// destination; that of an undirected edge is the other end's list, [`NO_PART`] for a self-loop and
/// for what is not wanted.
#[inline]
fn parts_of(
    options: &GraphOptions<impl Sync>,
    (src, dst): (u32, u32),
    wants: impl Fn(usize) -> bool,
) -> [usize; SIDES] {
    let part = |vertex: u32, side: usize| match (vertex >> SHARD_BITS) as usize {
        shard if wants(shard) => SIDES * shard + side,
        _ => NO_PART,
    };
    let second = match (options.directed, src == dst) {
        (true, _) => part(dst, 1),
        (false, false) => part(dst, 0),
        (false, true) => NO_PART,
    };
    [part(src, 0), second]
}

/// Sorts one part at a time by vertex, by counting; the memory is used again.
pub(super) struct Sorter {
    updates: Vec<Update>,
    runs: Vec<Run>,
    touched: [u64; SHARD_SPAN / 64],
    next: Box<[u32; SHARD_SPAN]>,
}

/// The updates of one vertex: they end at `end` and begin where the run before it ends.
#[derive(Clone, Copy, Debug)]
struct Run {
    local: u32,
    end: u32,
}

/// A shard's updates for one list, by vertex, those of a vertex in their order.
pub struct Part<'a> {
    updates: &'a [Update],
    runs: &'a [Run],
    /// A bit for each local vertex that has updates.
    pub touched: &'a [u64; SHARD_SPAN / 64],
    /// Whether some updates are deletions.
    pub has_deletions: bool,
}

impl Default for Sorter {
    fn default() -> Self {
        Self {
            updates: Vec::new(),
            runs: Vec::new(),
            touched: [0; SHARD_SPAN / 64],
            next: Box::new([0; SHARD_SPAN]),
        }
    }
}

impl Sorter {
    /// Sorts the part of `shard` on one side.
    pub(super) fn sort(&mut self, scattered: &Scattered, shard: usize, side: usize) -> Part<'_> {
        let groups = scattered.groups(SIDES * shard + side);
        self.touched.fill(0);
        let mut any = 0;
        for word in groups.clone().flat_map(|(_, words)| words) {
            let word = word.load(Relaxed);
            let local = local_of(word);
            self.next[local] += 1;
            self.touched[local / 64] |= 1 << (local % 64);
            any |= word;
        }
        let len = self.lay_out_runs();
        if self.updates.len() < len {
            self.updates.resize(len, Update::default());
        }
        for (base, words) in groups {
            for word in words {
                let word = word.load(Relaxed);
                let next = &mut self.next[local_of(word)];
                let index = base + (word as u32) % (1 << GROUP_BITS);
                self.updates[*next as usize] = Update::new((word >> 32) as u32, index);
                *next += 1;
            }
        }
        for run in &self.runs {
            self.next[run.local as usize] = 0;
        }
        Part {
            updates: &self.updates[..len],
            runs: &self.runs,
            touched: &self.touched,
            has_deletions: (any >> 32) as u32 & DELETION != 0,
        }
    }

    /// Turns the counts into the starts of runs. Returns the end of the last.
    fn lay_out_runs(&mut self) -> usize {
        self.runs.clear();
        let mut end = 0;
        for (index, &word) in self.touched.iter().enumerate() {
            let mut bits = word;
            while bits != 0 {
                let local = (64 * index) as u32 + bits.trailing_zeros();
                bits &= bits - 1;
                let next = &mut self.next[local as usize];
                let start = end;
                end += std::mem::replace(next, start);
                self.runs.push(Run { local, end });
            }
        }
        end as usize
    }
}

impl<'a> Part<'a> {
    /// Returns all updates, by vertex.
    pub fn updates(&self) -> &'a [Update] {
        self.updates
    }

    /// Returns the local vertex of a run, if there is such a run.
    #[inline]
    pub fn local(&self, run: usize) -> Option<usize> {
        self.runs.get(run).map(|run| run.local as usize)
    }

    /// Returns the vertices in ascending order, each with its updates.
    #[inline]
    pub fn runs(&self) -> impl Iterator<Item = (usize, &'a [Update])> + 'a {
        let (updates, mut start) = (self.updates, 0);
        self.runs.iter().map(move |run| {
            let range = start..run.end as usize;
            start = range.end;
            (run.local as usize, &updates[range])
        })
    }
}

#[inline]
fn local_of(word: u64) -> usize {
    (word as u32 >> GROUP_BITS) as usize
}
