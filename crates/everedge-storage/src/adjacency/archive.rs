//! The buffering phase: moves logged updates into the lists, shard by shard, on all threads.
//!
//! Source: XPGraph §3.4 (buffering phase: edges are first divided by ranges of vertices, then
//! each range is taken by one thread). Division of work among threads stands here.
//!
//! A step takes up to 2^20 updates: they are counted and then scattered by shard and list; each
//! shard sorts its part by vertex, so that every vertex is touched once a step.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use everedge_core::par::{self, PerThread};

use super::shard::{Context, Outcome, Packed, SHARD_BITS, SHARD_SPAN, STEP_BITS, Shard, Tally};
use super::space::Space;
use crate::batch::{DELETION, VERTEX};
use crate::log::{EdgeLog, Record};
use crate::manifest::GraphOptions;
use crate::medium::Site;
use crate::{Error, Result};

/// Updates of a step.
const STEP_UPDATES: u32 = 1 << STEP_BITS;
/// Updates that one thread counts and scatters at a time.
const CHUNK_UPDATES: u32 = STEP_UPDATES / 8;
/// Below so many updates a shard's part is sorted by comparison.
const COUNTING_SORT_MIN: usize = 128;
/// A shard's part of a step: source side and destination side.
const SIDES: usize = 2;
/// No part of a step.
const NO_PART: usize = usize::MAX;

/// The archived state of a graph.
pub(crate) struct Archive {
    /// Shards of vertices that no update has named yet share one empty shard.
    pub shards: Vec<Arc<Shard>>,
    empty: Arc<Shard>,
    /// The first update not yet archived.
    pub next_sequence: u64,
    /// Whether something was archived since the last flush of all.
    pub is_dirty: bool,
    /// Whether archiving failed halfway: some lists hold a batch and others do not.
    pub is_torn: bool,
    scratch: Scratch,
}

/// Kept between steps so that their memory stays warm.
#[derive(Default)]
struct Scratch {
    packed: Vec<AtomicU64>,
    weights: Vec<AtomicU32>,
}

/// A stretch of one record that belongs to a step.
#[derive(Clone, Copy)]
struct Segment<'a> {
    record: &'a Record,
    start: u32,
    end: u32,
    /// Where it begins in the step.
    offset: u32,
}

/// What all archiving needs beside the archive.
pub(crate) struct Machinery<'a> {
    pub options: &'a GraphOptions,
    pub log: &'a EdgeLog,
    pub space: &'a Space,
    pub salt: u32,
    pub replaying: bool,
}

impl Machinery<'_> {
    fn context<'a>(&'a self, first_sequence: u64, weights: &'a [u32]) -> Context<'a> {
        Context {
            space: self.space,
            salt: self.salt,
            entry_words: if self.options.weighted { 2 } else { 1 },
            simple: self.options.simple,
            directed: self.options.directed,
            replaying: self.replaying,
            first_sequence,
            weights,
        }
    }
}

impl Archive {
    pub(crate) fn new(shards: Vec<Arc<Shard>>, next_sequence: u64) -> Self {
        let (empty, scratch) = (Arc::default(), Scratch::default());
        Self { shards, empty, next_sequence, is_dirty: false, is_torn: false, scratch }
    }

    /// Archives every durable record of the log.
    pub(crate) fn take_all(&mut self, machinery: &Machinery) -> Result<()> {
        let outcome = self.take_records(machinery);
        self.is_torn |= outcome.is_err();
        outcome
    }

    fn take_records(&mut self, machinery: &Machinery) -> Result<()> {
        let records = machinery.log.take_records();
        let mut step: Vec<Segment> = Vec::new();
        let mut step_len = 0;
        for record in &records {
            for (start, end, is_of_vertices) in stretches(machinery.log, record) {
                if is_of_vertices {
                    self.take_step(machinery, &std::mem::take(&mut step))?;
                    step_len = 0;
                    self.take_vertex_updates(machinery, record, start, end);
                    continue;
                }
                let mut from = start;
                while from < end {
                    let to = end.min(from + STEP_UPDATES - step_len);
                    step.push(Segment { record, start: from, end: to, offset: step_len });
                    step_len += to - from;
                    from = to;
                    if step_len == STEP_UPDATES {
                        self.take_step(machinery, &std::mem::take(&mut step))?;
                        step_len = 0;
                    }
                }
            }
        }
        self.take_step(machinery, &step)
    }

    /// Writes all buffers as blocks, fences them, and frees the log.
    pub(crate) fn flush_all(&mut self, machinery: &Machinery) -> Result<()> {
        let sequence = self.next_sequence.saturating_sub(1);
        let context = machinery.context(0, &[]);
        let outcomes = par::map_chunks_mut(&mut self.shards, 1, |_, shard| match &mut shard[0] {
            shard if shard.buffered_lines() == 0 => Ok(()),
            shard => Arc::make_mut(shard).flush_all(&context, sequence),
        });
        outcomes.into_iter().collect::<Result<()>>()?;
        machinery.space.region().fence(Site::Block)?;
        let tally = self.tally();
        let layout = [tally.block_count, tally.checksum_sum, self.next_sequence];
        machinery.log.advance_tail(self.next_sequence, crate::log::Checkpoint { layout })?;
        self.is_dirty = false;
        Ok(())
    }

    /// Returns the blocks written and their sum.
    pub(crate) fn tally(&self) -> Tally {
        self.sum(|tally: &mut Tally, shard| tally.merge(shard.tally))
    }

    /// Returns what the updates since opening have changed.
    pub(crate) fn outcome(&self, directed: bool) -> Outcome {
        let ends = if directed { 1 } else { 2 };
        let total = self.sum(|total: &mut Outcome, shard| {
            total.inserted += shard.outcome.inserted;
            total.deleted += shard.outcome.deleted;
            total.ignored += shard.outcome.ignored;
        });
        Outcome {
            inserted: total.inserted / ends,
            deleted: total.deleted / ends,
            ignored: total.ignored / ends,
        }
    }

    /// Starts counting changes anew, after a replay.
    pub(crate) fn forget_outcome(&mut self) {
        for shard in &mut self.shards {
            if shard.outcome != Outcome::default() {
                Arc::make_mut(shard).outcome = Outcome::default();
            }
        }
    }

    /// Returns the lines that a flush of all buffers takes at most.
    pub(crate) fn buffered_lines(&self) -> u64 {
        self.sum(|lines: &mut u64, shard| *lines += shard.buffered_lines())
    }

    /// Returns the bytes of all vertex buffers.
    pub(crate) fn buffer_bytes(&self) -> u64 {
        self.sum(|bytes: &mut u64, shard| {
            *bytes += shard.lists.iter().map(|list| list.buffer_bytes()).sum::<u64>();
        })
    }

    fn sum<T: Default>(&self, mut add: impl FnMut(&mut T, &Shard)) -> T {
        let mut total = T::default();
        self.shards.iter().for_each(|shard| add(&mut total, shard));
        total
    }

    /// Returns the shard of `vertex`, ready to be changed.
    pub(crate) fn shard_mut(&mut self, vertex: u32, list_count: usize) -> &mut Shard {
        let index = vertex as usize / SHARD_SPAN;
        self.grow(index + 1);
        let shard = Arc::make_mut(&mut self.shards[index]);
        shard.materialize(index, list_count);
        shard
    }

    fn grow(&mut self, shard_count: usize) {
        if self.shards.len() < shard_count {
            self.shards.resize(shard_count, Arc::clone(&self.empty));
        }
    }

    fn take_vertex_updates(
        &mut self,
        machinery: &Machinery,
        record: &Record,
        start: u32,
        end: u32,
    ) {
        let updates = pairs(machinery.log.updates(record, start, end));
        for (index, (src, _)) in (start..).zip(updates) {
            let (vertex, mark) = (src & !DELETION, src & DELETION);
            let context = machinery.context(record.sequence + u64::from(index), &[]);
            let shard = self.shard_mut(vertex, machinery.options.list_count());
            shard.apply_to_vertex(&context, Packed::new(vertex, mark, 0));
        }
        self.next_sequence = record.sequence + u64::from(end);
        self.is_dirty = true;
    }

    fn take_step(&mut self, machinery: &Machinery, step: &[Segment]) -> Result<()> {
        let (Some(first), Some(last)) = (step.first(), step.last()) else { return Ok(()) };
        let first_sequence = first.record.sequence + u64::from(first.start);
        let update_count = last.offset + (last.end - last.start);
        let plan = Plan::count(machinery, step, update_count);
        self.grow(plan.shard_count());
        plan.scatter(machinery, step, &mut self.scratch);

        let packed = &self.scratch.packed;
        let weights: Vec<u32> =
            self.scratch.weights.iter().map(|word| word.load(Relaxed)).collect();
        let context = machinery.context(first_sequence, &weights);
        let sorters = PerThread::new(Sorter::default);
        let outcomes = par::map_chunks_mut(&mut self.shards, 1, |index, shard| -> Result<()> {
            let parts = plan.parts(index);
            if parts.iter().all(|part| part.is_empty()) {
                return Ok(());
            }
            let shard = Arc::make_mut(&mut shard[0]);
            shard.materialize(index, machinery.options.list_count());
            for (list, part) in parts.into_iter().enumerate() {
                sorters.with(|sorter| sorter.apply(&packed[part], shard, &context, list))?;
            }
            match machinery.space.region().drain(Site::Block) {
                // Nothing is fenced any more; in memory the lists are whole all the same.
                Err(Error::Poisoned { .. }) => Ok(()),
                outcome => outcome,
            }
        });
        outcomes.into_iter().collect::<Result<()>>()?;
        self.next_sequence = first_sequence + u64::from(update_count);
        self.is_dirty = true;
        Ok(())
    }
}

/// How a step is divided: where each chunk's updates for each part go.
struct Plan {
    /// By chunk, then by part: where the chunk's next update of that part goes.
    starts: Vec<Vec<u32>>,
    /// Where each part begins; one more than there are parts.
    bounds: Vec<u32>,
    update_count: u32,
}

impl Plan {
    fn count(machinery: &Machinery, step: &[Segment], update_count: u32) -> Self {
        let counted = par::map_ranges(update_count, CHUNK_UPDATES, |range| {
            let mut counts: Vec<u32> = Vec::new();
            let mut count = |part: usize| {
                if counts.len() <= part {
                    counts.resize((part | (SIDES - 1)) + 1, 0);
                }
                counts[part] += 1;
            };
            for_each_update(machinery.log, step, range, |_, src, dst| {
                let [first, second] = parts_of(machinery.options, src & !DELETION, dst);
                count(first);
                if second != NO_PART {
                    count(second);
                }
            });
            counts
        });
        let part_count = counted.iter().map(Vec::len).max().unwrap_or(0);
        let mut starts = counted;
        let mut bounds = Vec::with_capacity(part_count + 1);
        let mut next = 0;
        for part in 0..part_count {
            bounds.push(next);
            for chunk in &mut starts {
                chunk.resize(part_count, 0);
                next += std::mem::replace(&mut chunk[part], next);
            }
        }
        bounds.push(next);
        Self { starts, bounds, update_count }
    }

    fn shard_count(&self) -> usize {
        self.bounds.len() / SIDES
    }

    fn scatter(&self, machinery: &Machinery, step: &[Segment], scratch: &mut Scratch) {
        let total = *self.bounds.last().unwrap_or(&0) as usize;
        if scratch.packed.len() < total {
            scratch.packed.resize_with(total, AtomicU64::default);
        }
        if machinery.options.weighted && scratch.weights.len() < self.update_count as usize {
            scratch.weights.resize_with(self.update_count as usize, AtomicU32::default);
        }
        let Scratch { packed, weights } = &*scratch;
        par::for_each_range(self.update_count, CHUNK_UPDATES, |range| {
            let mut next = self.starts[(range.start / CHUNK_UPDATES) as usize].clone();
            for_each_update(machinery.log, step, range.clone(), |index, src, dst| {
                let (vertex, mark) = (src & !DELETION, src & DELETION);
                let [first, second] = parts_of(machinery.options, vertex, dst);
                let mut put = |part: usize, owner: u32, neighbor: u32| {
                    let update = Packed::new(owner, neighbor | mark, index);
                    packed[next[part] as usize].store(update.0, Relaxed);
                    next[part] += 1;
                };
                put(first, vertex, dst);
                if second != NO_PART {
                    put(second, dst, vertex);
                }
            });
            for (index, weight) in weights_in(machinery.log, step, range) {
                weights[index as usize].store(weight, Relaxed);
            }
        });
    }

    fn parts(&self, shard: usize) -> [std::ops::Range<usize>; SIDES] {
        [0, 1].map(|side| {
            let part = SIDES * shard + side;
            match self.bounds.get(part + 1) {
                Some(&end) => self.bounds[part] as usize..end as usize,
                None => 0..0,
            }
        })
    }
}

/// The parts that an edge belongs to. The second side of a directed edge is the in-list of its
/// destination; that of an undirected edge is the other end's list, [`NO_PART`] for a self-loop.
#[inline]
fn parts_of(options: &GraphOptions, src: u32, dst: u32) -> [usize; SIDES] {
    let part = |vertex: u32, side: usize| SIDES * (vertex >> SHARD_BITS) as usize + side;
    let second = match (options.directed, src == dst) {
        (true, _) => part(dst, 1),
        (false, false) => part(dst, 0),
        (false, true) => NO_PART,
    };
    [part(src, 0), second]
}

/// Groups a shard's part of a step by vertex.
#[derive(Default)]
struct Sorter {
    updates: Vec<Packed>,
    sorted: Vec<Packed>,
    next: Vec<u32>,
}

impl Sorter {
    fn apply(
        &mut self,
        part: &[AtomicU64],
        shard: &mut Shard,
        context: &Context,
        list: usize,
    ) -> Result<()> {
        self.updates.clear();
        self.updates.extend(part.iter().map(|word| Packed(word.load(Relaxed))));
        if self.updates.len() < COUNTING_SORT_MIN {
            self.updates.sort_unstable_by_key(|update| update.order());
        } else {
            self.count_and_scatter();
        }
        shard.warm(list, &self.updates);
        for run in self.updates.chunk_by(|a, b| a.local() == b.local()) {
            shard.apply(context, list, run)?;
        }
        Ok(())
    }

    fn count_and_scatter(&mut self) {
        self.next.clear();
        self.next.resize(SHARD_SPAN, 0);
        for update in &self.updates {
            self.next[update.local()] += 1;
        }
        let mut start = 0;
        for next in &mut self.next {
            start += std::mem::replace(next, start);
        }
        self.sorted.resize(self.updates.len(), Packed(0));
        for update in &self.updates {
            let next = &mut self.next[update.local()];
            self.sorted[*next as usize] = *update;
            *next += 1;
        }
        std::mem::swap(&mut self.updates, &mut self.sorted);
    }
}

/// Cuts a record into stretches of edge updates and of vertex updates: `(start, end, which)`.
fn stretches(log: &EdgeLog, record: &Record) -> Vec<(u32, u32, bool)> {
    if !record.has_vertex_updates {
        return vec![(0, record.count, false)];
    }
    let mut stretches: Vec<(u32, u32, bool)> = Vec::new();
    for (index, (_, dst)) in (0..).zip(pairs(log.updates(record, 0, record.count))) {
        let is_of_vertices = dst & VERTEX != 0;
        match stretches.last_mut() {
            Some(last) if last.2 == is_of_vertices => last.1 = index + 1,
            _ => stretches.push((index, index + 1, is_of_vertices)),
        }
    }
    stretches
}

/// Calls `f(place in the step, src, dst)` for the updates of a range of a step.
#[inline]
fn for_each_update(
    log: &EdgeLog,
    step: &[Segment],
    range: std::ops::Range<u32>,
    mut f: impl FnMut(u32, u32, u32),
) {
    for (record, start, end, mut index) in overlaps(step, range) {
        for part in log.updates(record, start, end) {
            for pair in part.chunks_exact(2) {
                f(index, pair[0].load(Relaxed), pair[1].load(Relaxed));
                index += 1;
            }
        }
    }
}

fn weights_in<'a>(
    log: &'a EdgeLog,
    step: &'a [Segment],
    range: std::ops::Range<u32>,
) -> impl Iterator<Item = (u32, u32)> + 'a {
    overlaps(step, range).flat_map(|(record, start, end, offset)| {
        let words = log.weights(record, start, end).into_iter().flatten();
        (offset..).zip(words.map(|word| word.load(Relaxed)))
    })
}

/// Returns the stretches of records that make up `range` of a step, each with its place in it.
fn overlaps<'a>(
    step: &'a [Segment],
    range: std::ops::Range<u32>,
) -> impl Iterator<Item = (&'a Record, u32, u32, u32)> + 'a {
    step.iter().filter_map(move |segment| {
        let from = range.start.max(segment.offset);
        let to = range.end.min(segment.offset + (segment.end - segment.start));
        let shift = |place: u32| segment.start + (place - segment.offset);
        (from < to).then(|| (segment.record, shift(from), shift(to), from))
    })
}

fn pairs<'a>(parts: [&'a [AtomicU32]; 2]) -> impl Iterator<Item = (u32, u32)> + 'a {
    parts.into_iter().flat_map(|part| {
        part.chunks_exact(2).map(|pair| (pair[0].load(Relaxed), pair[1].load(Relaxed)))
    })
}
