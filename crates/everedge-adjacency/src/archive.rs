//! The buffering phase: moves logged updates into the lists, shard by shard, on all threads.
//!
//! Source: XPGraph §3.4 (buffering phase: edges are first divided by ranges of vertices, then
//! each range is taken by one thread). Division of work among threads stands here.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use everedge_core::par::{self, PerThread};

use super::buffers::{Plan, Pool};
use super::compact::{Lease, NewRuns, Retired, Stamp};
use super::list::Places;
use super::options::AdjacencyOptions;
use super::recovery;
use super::segment::Segment;
use super::shard::{Change, Context, Shard, Tally, Told};
use super::subgraphs::{Partition, SubGraphs};
use super::table::Tables;
use crate::options::{GraphOptions, Manifest};
use everedge_live::DELETION;
use everedge_live::{Checkpoint, EdgeLog, Record};
use everedge_live::{
    Compaction, Outcome, Round, SHARD_SPAN, SIDES, Scattered, Scratch, ShardSet, Sorter, Step,
    Update, deal, for_each_step, pairs,
};
use everedge_live::{Error, Result};
use everedge_medium::{Region, Site};

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
    /// Whether updates may be older than the blocks: at opening.
    is_replaying: bool,
    /// Updates before this one may be older than the blocks of shards that were rebuilt.
    pub replay_end: u64,
    is_rebuilding: bool,
    /// Whether blocks of a killed process were taken over unfenced.
    pub is_taken_over: bool,
    scratch: Scratch,
    /// The number of the last compaction, counted or not.
    epoch: u32,
    /// By shard: blocks and runs that the log's anchor counts on.
    durable: Vec<Tally>,
    retired: Retired,
    /// How many updates each thread has archived.
    pub shares: Vec<u64>,
}

/// What archiving needs beside the archive.
pub(crate) struct Machinery {
    pub options: GraphOptions,
    pub log: EdgeLog,
    pub sub_graphs: SubGraphs,
    pub places: Places,
    pub plan: Plan,
    pub segment: Arc<Segment>,
    pub tables: Arc<Tables>,
    pub pool: Arc<Pool>,
    pub salt: u32,
}

impl Machinery {
    /// Returns the machinery of an empty graph, whose blocks will lie in `blocks`.
    ///
    /// # Errors
    /// `InvalidInput` if options contradict each other; `NoSpace` if there is no memory.
    pub(crate) fn new(
        manifest: &Manifest,
        log: EdgeLog,
        blocks: Arc<[Region]>,
        segment: Arc<Segment>,
    ) -> Result<Self> {
        let options = manifest.options.clone();
        let partition = Partition::new(&options)?;
        Ok(Self {
            plan: options.tuning.plan(&options)?,
            log,
            sub_graphs: SubGraphs::new(partition, &blocks, &segment),
            places: Places { blocks, buffers: segment.buffers.clone() },
            tables: Tables::new(segment.clone(), &[]),
            pool: Pool::new(segment.clone()),
            segment,
            salt: manifest.salt(),
            options,
        })
    }

    /// Returns which lists lie where, and where tables and buffers come from.
    pub(crate) fn memory(&self) -> (Partition, &Arc<Tables>, &Arc<Pool>) {
        (self.sub_graphs.partition, &self.tables, &self.pool)
    }

    fn told(&self) -> Told<'_> {
        Told { segment: &self.segment, places: &self.places }
    }

    fn context<'a>(
        &'a self,
        first_sequence: u64,
        weights: &'a [AtomicU32],
        replaying: bool,
    ) -> Context<'a> {
        Context {
            sub_graphs: &self.sub_graphs,
            places: &self.places,
            plan: &self.plan,
            salt: self.salt,
            entry_words: self.options.entry_words(),
            simple: self.options.simple,
            directed: self.options.directed,
            compaction: self.options.tuning.compaction,
            deletion: self.options.tuning.deletion,
            replaying,
            first_sequence,
            weights,
        }
    }
}

impl Archive {
    /// Returns the archive in which `shards` hold the updates before `next_sequence`, after the
    /// compaction number `epoch`; the log's anchor counts on `durable`.
    pub(crate) fn new(
        shards: Vec<Arc<Shard>>,
        durable: Vec<Tally>,
        next_sequence: u64,
        epoch: u32,
    ) -> Self {
        Self {
            shards,
            empty: Arc::default(),
            next_sequence,
            is_dirty: false,
            is_torn: false,
            is_replaying: false,
            replay_end: 0,
            is_rebuilding: false,
            is_taken_over: false,
            scratch: Scratch::default(),
            epoch,
            durable,
            retired: Retired::default(),
            shares: Vec::new(),
        }
    }

    /// Archives what opening found in the log.
    pub(crate) fn replay(&mut self, machinery: &Machinery) -> Result<()> {
        machinery.segment.reserve(self.shards.len())?;
        self.is_replaying = true;
        self.take_all(machinery)?;
        self.is_replaying = false;
        self.forget_outcome();
        Ok(())
    }

    /// Brings the shards `numbers`, which hold what their blocks say, to where the others are:
    /// applies what `records` say of them.
    pub(crate) fn rebuild(
        &mut self,
        machinery: &Machinery,
        records: &[Record],
        numbers: &[usize],
    ) -> Result<()> {
        let end = std::mem::replace(&mut self.next_sequence, machinery.log.checkpoint().1);
        let wanted = ShardSet::of(numbers);
        (self.is_replaying, self.is_rebuilding) = (true, true);
        for_each_step(&machinery.log, records, self.next_sequence..end, |step| {
            let step = match step {
                Step::Edges(round) => Step::Edges(round.select(&wanted)),
                step => step,
            };
            self.take_step(machinery, step, &|shard| wanted.has(shard))
        })?;
        (self.is_replaying, self.is_rebuilding) = (false, false);
        self.next_sequence = end;
        let told = machinery.told();
        for &number in numbers {
            Shard::change(&mut self.shards[number], (Some(told), number), end, |shard| {
                shard.materialize(number, machinery.options.list_count(), machinery.memory())
            })?;
        }
        self.forget_outcome();
        Ok(())
    }

    /// Makes the segment say what all shards are.
    pub(crate) fn publish(&mut self, machinery: &Machinery) -> Result<()> {
        let Machinery { log, segment, .. } = machinery;
        segment.reserve(self.shards.len())?;
        self.publish_shards(0..self.shards.len(), segment);
        for (number, &durable) in self.durable.iter().enumerate() {
            segment.note_durable(number, durable);
        }
        segment.note_anchor(log.anchor_counter());
        Ok(())
    }

    /// Makes the segment say what some shards are, which hold all that is archived. Those that are
    /// shared it says already.
    fn publish_shards(&mut self, shards: Range<usize>, segment: &Segment) {
        for (number, shard) in shards.clone().zip(&mut self.shards[shards]) {
            if let Some(shard) = Arc::get_mut(shard) {
                shard.sequence = shard.sequence.max(self.next_sequence);
                segment.mark_whole(number, shard);
            }
        }
    }

    /// Archives every durable record of the log.
    pub(crate) fn take_all(&mut self, machinery: &Machinery) -> Result<()> {
        let records = machinery.log.take_records();
        if records.is_empty() {
            return Ok(());
        }
        for_each_step(&machinery.log, &records, self.next_sequence..u64::MAX, |step| {
            self.take_step(machinery, step, &|_| true)?;
            let progress = machinery.log.progress(&records, self.next_sequence);
            machinery.segment.note_progress(progress);
            Ok(())
        })
    }

    /// Applies a step to those shards that are wanted.
    fn take_step(
        &mut self,
        machinery: &Machinery,
        step: Step,
        wants: &(impl Fn(usize) -> bool + Sync),
    ) -> Result<()> {
        match step {
            Step::Edges(round) => self.take_round(machinery, &round, wants),
            Step::Vertices { record, start, end } => {
                self.take_vertex_updates(machinery, record, start..end, wants)
            }
        }
    }

    /// Writes all buffers as blocks, fences them, and frees the log.
    ///
    /// # Errors
    /// `NoSpace` if the medium is full; the log keeps then what it has.
    pub(crate) fn flush_all(&mut self, machinery: &Machinery) -> Result<()> {
        let sequence = self.next_sequence.saturating_sub(1);
        let context = machinery.context(0, &[], false);
        let (told, next_sequence) = (machinery.told(), self.next_sequence);
        let nodes = &machinery.sub_graphs.nodes;
        let home = |index| nodes.home(index, 0);
        let flush = |index: usize, shard: &mut [Arc<Shard>]| match &mut shard[0] {
            shard if !shard.has_unflushed() => Ok(()),
            shard => Shard::change(shard, (Some(told), index), next_sequence, |shard| {
                shard.flush_all(&context, sequence)
            }),
        };
        let shards = &mut self.shards[..];
        let outcomes = par::map_chunks_mut_at_home(nodes.homes(), shards, 1, home, flush);
        outcomes.into_iter().collect::<Result<()>>()?;
        if std::mem::take(&mut self.is_taken_over) {
            // Blocks of the killed process, which may be in caches only.
            machinery.sub_graphs.flush_used(Site::BlocksFound);
        }
        machinery.sub_graphs.fence(Site::Block)?;
        machinery.segment.change_together(|| self.move_tail(machinery, false))?;
        machinery.segment.set_passed(false);
        self.is_dirty = false;
        self.retired.release(&machinery.sub_graphs);
        Ok(())
    }

    /// Frees the log though buffers are not flushed, for they outlive any crash.
    ///
    /// # Errors
    /// If a fence fails.
    pub(crate) fn pass_buffers(&mut self, machinery: &Machinery) -> Result<()> {
        machinery.sub_graphs.fence(Site::Block)?;
        machinery.segment.set_passed(true);
        self.move_tail(machinery, true)
    }

    /// Moves the log's tail to what is archived, and counts on all blocks.
    fn move_tail(&mut self, machinery: &Machinery, is_passed: bool) -> Result<()> {
        let Machinery { log, segment, .. } = machinery;
        let tallies: Vec<Tally> = self.shards.iter().map(|shard| shard.tally).collect();
        log.advance_tail(self.next_sequence, checkpoint(&tallies, self.epoch, is_passed))?;
        self.count_on(0..tallies.len(), segment, |index, _| tallies[index]);
        segment.note_anchor(log.anchor_counter());
        Ok(())
    }

    /// From now on the log's anchor counts on these tallies of some shards.
    fn count_on(
        &mut self,
        shards: Range<usize>,
        segment: &Segment,
        tally: impl Fn(usize, &Shard) -> Tally,
    ) {
        for index in shards {
            let tally = tally(index, &self.shards[index]);
            if tally != self.durable[index] {
                self.durable[index] = tally;
                segment.note_durable(index, tally);
            }
        }
    }

    /// Compacts some shards and adds to what was done.
    ///
    /// # Errors
    /// `NoSpace` if the medium has no room for them; they are then as before.
    pub(crate) fn compact(
        &mut self,
        machinery: &Machinery,
        shards: Range<usize>,
        done: &mut Compaction,
    ) -> Result<()> {
        if machinery.segment.is_passed() {
            self.flush_all(machinery)?;
        }
        machinery.segment.change_together(|| self.compact_shards(machinery, shards, done))
    }

    fn compact_shards(
        &mut self,
        machinery: &Machinery,
        shards: Range<usize>,
        done: &mut Compaction,
    ) -> Result<()> {
        self.retired.release(&machinery.sub_graphs);
        self.epoch += 1;
        let stamp = Stamp {
            epoch: self.epoch,
            sequence: self.next_sequence.saturating_sub(1),
            tail_sequence: machinery.log.checkpoint().1,
        };
        let context = machinery.context(0, &[], false);
        let durable = &self.durable;
        let nodes = &machinery.sub_graphs.nodes;
        let home = |index| nodes.home(shards.start + index, 0);
        let write = |index: usize, shard: &mut [Arc<Shard>]| {
            NewRuns::write(&context, stamp, &mut shard[0], durable[shards.start + index])
        };
        let group = &mut self.shards[shards.clone()];
        let outcomes = par::map_chunks_mut_at_home(nodes.homes(), group, 1, home, write);
        let (mut written, mut failed) = (Vec::new(), None);
        for outcome in outcomes {
            match outcome {
                Ok(new) => written.push(new),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        if let Some(error) = failed {
            written.iter_mut().for_each(|new| new.undo(&context));
            // Some were copied for it.
            self.publish_shards(shards, &machinery.segment);
            return context.sub_graphs.drain(Site::Wipe).and(Err(error));
        }
        if written.iter().all(NewRuns::is_empty) {
            return Ok(());
        }
        machinery.sub_graphs.fence(Site::Run)?;
        let segment = &machinery.segment;
        let first = shards.start;
        self.count_on(shards.clone(), segment, |index, _| written[index - first].durable);
        machinery.log.change_checkpoint(checkpoint(&self.durable, self.epoch, false))?;
        segment.note_anchor(machinery.log.anchor_counter());
        let mut replaced = Vec::new();
        for ((index, shard), new) in shards.clone().zip(&mut self.shards[shards]).zip(written) {
            if let Some(shard) = Arc::get_mut(shard) {
                segment.mark_changing(index);
                replaced.extend(new.adopt(shard, done));
                segment.mark_whole(index, shard);
            }
        }
        self.retired.retire(replaced);
        self.retired.release(&machinery.sub_graphs);
        Ok(())
    }

    /// Gives back what compaction replaced and no snapshot can read any more.
    pub(crate) fn release(&mut self, machinery: &Machinery) {
        self.retired.release(&machinery.sub_graphs);
    }

    /// Returns the first shards one after the other, at most `most`, that are due.
    pub(crate) fn first_due(
        &self,
        most: usize,
        is_due: impl Fn(&Shard) -> bool,
    ) -> Option<Range<usize>> {
        let first = self.shards.iter().position(|shard| is_due(shard))?;
        let count =
            self.shards[first..].iter().take(most).take_while(|shard| is_due(shard)).count();
        Some(first..first + count)
    }

    /// Returns what a snapshot holds on to.
    pub(crate) fn lease(&self) -> Lease {
        self.retired.lease()
    }

    /// Returns what the updates since opening have changed, counted at both ends of undirected edges.
    pub(crate) fn outcome(&self) -> Outcome {
        self.sum(|total: &mut Outcome, shard| {
            total.inserted += shard.outcome.inserted;
            total.deleted += shard.outcome.deleted;
            total.ignored += shard.outcome.ignored;
        })
    }

    /// Starts counting changes anew, after a replay.
    fn forget_outcome(&mut self) {
        for shard in &mut self.shards {
            if let Some(shard) = Arc::get_mut(shard) {
                shard.outcome = Outcome::default();
            }
        }
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

    /// Whether updates from `sequence` on may be in some lists already.
    fn is_replaying(&self, sequence: u64) -> bool {
        self.is_replaying || sequence < self.replay_end
    }

    /// Returns who is to be told of changes: nobody of those that make a shard whole again step by
    /// step.
    fn told<'a>(&self, machinery: &'a Machinery) -> Option<Told<'a>> {
        (!self.is_rebuilding).then(|| machinery.told())
    }

    fn grow(&mut self, segment: &Segment, shard_count: usize) -> Result<()> {
        if self.shards.len() < shard_count {
            segment.reserve(shard_count)?;
            self.shards.resize(shard_count, Arc::clone(&self.empty));
            self.durable.resize(shard_count, Tally::default());
        }
        Ok(())
    }

    fn take_vertex_updates(
        &mut self,
        machinery: &Machinery,
        record: &Record,
        range: Range<u32>,
        wants: &impl Fn(usize) -> bool,
    ) -> Result<()> {
        let updates = pairs(machinery.log.updates(record, range.start, range.end));
        for (index, (src, _)) in (range.start..).zip(updates) {
            let (vertex, mark) = (src & !DELETION, src & DELETION);
            let sequence = record.sequence + u64::from(index);
            let number = vertex as usize / SHARD_SPAN;
            if !wants(number) {
                continue;
            }
            let context = machinery.context(sequence, &[], self.is_replaying(sequence));
            self.grow(&machinery.segment, number + 1)?;
            let at = (self.told(machinery), number);
            Shard::change(&mut self.shards[number], at, sequence + 1, |shard| {
                shard.materialize(number, machinery.options.list_count(), machinery.memory())?;
                let local = vertex as usize % SHARD_SPAN;
                shard.apply_to_vertex(&context, local, Update::new(mark, 0));
                Ok(())
            })?;
        }
        self.next_sequence = record.sequence + u64::from(range.end);
        self.is_dirty = true;
        Ok(())
    }

    /// Returns the shards that each task is to change; those of a task are of one node, unless their
    /// lists are of two.
    fn tasks<'a>(
        &'a mut self,
        machinery: &'a Machinery,
        scattered: &Scattered,
    ) -> Vec<Vec<Change<'a>>> {
        let told = self.told(machinery);
        let AdjacencyOptions { division: how, division_bias, .. } = machinery.options.tuning;
        let updates: Vec<u64> =
            (0..scattered.shard_count()).map(|shard| scattered.update_count(shard)).collect();
        let mut dealt = deal(how, division_bias, &updates, par::thread_count());
        let nodes = &machinery.sub_graphs.nodes;
        if let Some(homes) = nodes.homes().filter(|_| !nodes.divide_shards()) {
            let of_node = |task: &[usize], node: usize| -> Vec<usize> {
                task.iter().copied().filter(|&shard| nodes.home(shard, 0) == node).collect()
            };
            let parts = |task: Vec<usize>| (0..homes.node_count()).map(move |n| of_node(&task, n));
            dealt = dealt.into_iter().flat_map(parts).filter(|task| !task.is_empty()).collect();
        }
        let mut shards: Vec<_> = self.shards.iter_mut().map(Some).collect();
        let mut take =
            |index: usize| Change::new(shards[index].take().expect("dealt once"), told, index);
        dealt.into_iter().map(|task| task.into_iter().map(&mut take).collect()).collect()
    }

    fn note_shares(&mut self, shares: impl Iterator<Item = u64>) {
        for (thread, share) in shares.enumerate() {
            if self.shares.len() <= thread {
                self.shares.push(0);
            }
            self.shares[thread] += share;
        }
    }

    fn take_round(
        &mut self,
        machinery: &Machinery,
        round: &Round,
        wants: &(impl Fn(usize) -> bool + Sync),
    ) -> Result<()> {
        if round.len() == 0 {
            return Ok(());
        }
        let options = &machinery.options;
        let mut scratch = std::mem::take(&mut self.scratch);
        let scattered = Scattered::new(options, round, &mut scratch, wants);
        self.grow(&machinery.segment, scattered.shard_count())?;
        let first = round.first_sequence();
        let end = first + u64::from(round.len());
        let context = machinery.context(first, scattered.weights(), self.is_replaying(first));
        let mut workers = PerThread::new(Worker::default);
        let outcome =
            take_tasks(machinery, self.tasks(machinery, &scattered), end, |change, side| {
                workers.with(|worker| {
                    let part = worker.sorter.sort(&scattered, change.index(), side);
                    worker.update_count += part.updates().len() as u64;
                    change.shard().take(&context, side, &part)
                })
            });
        self.note_shares(workers.iter_mut().map(|worker| worker.update_count));
        self.scratch = scratch;
        outcome?;
        self.next_sequence = end;
        self.is_dirty = true;
        Ok(())
    }
}

/// Changes the shards of all tasks, which hold all updates before `end` then; `take` does one side
/// of a shard.
///
/// Where out-lists are of one node and in-lists of another there are two passes: each node does its
/// side of half of the tasks, and then of the half that the other one did.
fn take_tasks(
    machinery: &Machinery,
    mut tasks: Vec<Vec<Change>>,
    end: u64,
    take: impl Fn(&mut Change, usize) -> Result<()> + Sync,
) -> Result<()> {
    let Machinery { options, sub_graphs, .. } = machinery;
    let nodes = &sub_graphs.nodes;
    let passes = if nodes.divide_shards() { SIDES } else { 1 };
    for pass in 0..passes {
        let sides = |number: usize| match passes {
            1 => 0..SIDES,
            _ => (number + pass) % SIDES..(number + pass) % SIDES + 1,
        };
        let home = |(number, task): (usize, &Vec<Change>)| {
            nodes.home(task[0].index(), sides(number).start)
        };
        let homes: Vec<usize> = tasks.iter().enumerate().map(home).collect();
        let take_task = |number: usize, task: &mut [Vec<Change>]| -> Result<()> {
            for change in &mut task[0] {
                if pass == 0 {
                    let (index, memory) = (change.index(), machinery.memory());
                    change.begin()?.materialize(index, options.list_count(), memory)?;
                }
                sides(number).try_for_each(|side| take(change, side))?;
                if pass == passes - 1 {
                    change.end(end)?;
                }
            }
            match sub_graphs.drain(Site::Block) {
                // Nothing is fenced any more; in memory the lists are whole all the same.
                Err(Error::Poisoned { .. }) => Ok(()),
                outcome => outcome,
            }
        };
        let home_of = |number: usize| homes[number];
        par::map_chunks_mut_at_home(nodes.homes(), &mut tasks, 1, home_of, take_task)
            .into_iter()
            .collect::<Result<()>>()?;
    }
    Ok(())
}

/// Returns what must be found again after a crash; `is_passed` says that some of it is in buffers
/// only.
fn checkpoint(durable: &[Tally], epoch: u32, is_passed: bool) -> Checkpoint {
    let mut sum = Tally::default();
    durable.iter().for_each(|&tally| sum.merge(tally));
    let flags = if is_passed { recovery::IS_PASSED } else { 0 };
    Checkpoint { layout: [sum.block_count, sum.checksum_sum, u64::from(epoch) | flags] }
}

/// What a thread has while a round is archived.
#[derive(Default)]
struct Worker {
    sorter: Sorter,
    update_count: u64,
}
