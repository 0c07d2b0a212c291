//! The layout as the driver sees it: how a shard takes updates, is saved and is compacted.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use everedge_core::par::{self, PerThread};
use everedge_core::{Homes, watch};
use everedge_live::{
    Archive, Checkpoint, Compaction, Core, Error, Images, Layout, Lists, OpenReserve, Outcome,
    Pace, Parts, Result, Room, RoundContext, SHARD_SPAN, ShardSizes, ShardTotals, Shared, Space,
    Taken, UNIT_BYTES, Wait, present,
};
use everedge_medium::{Region, Site};
use parking_lot::Mutex;

use super::buffers::{Plan, Pool};
use super::compact::{NewRuns, take_into_memory};
use super::due::{Passes, compact_due};
use super::image::{self, Unread};
use super::list::Places;
use super::options::{AdjacencyOptions, Compacting, GraphOptions, Manifest};
use super::shard::{Context, Shard};
use super::snapshot::Snapshot;
use super::subgraphs::{Partition, SubGraphs};
use super::table::Tables;

/// Of so many shards one is compacted at a time: the share of the space that compaction needs.
const COMPACT_SHARE: usize = 16;
/// The most shards that are compacted with one fence.
pub(crate) const COMPACT_SHARDS_MAX: usize = 64;

/// A compaction that lacks room tries so often what others have freed meanwhile.
const COMPACT_PASSES_MAX: u32 = 64;
/// Blocks that are partly filled, runs that replace them and an image take at most so much together; with
/// weights, of which a list has two for one that is logged, so much.
const LIST_BYTES_PER_LOGGED: [u64; 2] = [4, 6];

/// The layout of one open graph.
pub(crate) struct Adjacency {
    pub options: GraphOptions,
    pub sub_graphs: SubGraphs,
    pub places: Places,
    pub plan: Plan,
    pub tables: Arc<Tables>,
    pub pool: Arc<Pool>,
    /// None where bytes are gone with the process.
    pub images: Option<Images>,
    pub salt: u32,
    /// Units of each shard with its image, as it was last saved.
    sizes: ShardSizes,
    /// Where compactions are that nobody asked for.
    passes: Passes,
    /// Why the medium did not take a block, unless it was only full.
    failure: Mutex<Option<Error>>,
}

impl Adjacency {
    /// Returns the layout of an empty graph, whose blocks will lie in `blocks`.
    ///
    /// # Errors
    /// `InvalidInput` if options contradict each other; `NoSpace` if there is no memory.
    pub(crate) fn new(manifest: &Manifest, blocks: Arc<[Region]>) -> Result<Self> {
        let options = manifest.options.clone();
        let pool = Pool::new()?;
        Ok(Self {
            plan: options.tuning.plan(&options)?,
            sub_graphs: SubGraphs::new(Partition::new(&options)?, &blocks),
            places: Places { blocks, buffers: pool.region().clone() },
            tables: Tables::new()?,
            pool,
            images: None,
            salt: manifest.salt(),
            sizes: ShardSizes::default(),
            passes: Passes::default(),
            failure: Mutex::default(),
            options,
        })
    }

    /// Returns which lists lie where, and where tables and buffers come from.
    pub(crate) fn memory(&self) -> (Partition, &Arc<Tables>, &Arc<Pool>) {
        (self.sub_graphs.partition, &self.tables, &self.pool)
    }

    pub(crate) fn context<'a>(&'a self, round: &RoundContext<'a>) -> Context<'a> {
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
            first_sequence: round.first_sequence,
            weights: round.weights,
            failure: &self.failure,
        }
    }

    /// Reads the lists of a shard, if they are unread.
    ///
    /// # Errors
    /// `Corruption` if its image is damaged; it stays unread then. `NoSpace` if there is no memory.
    fn read(&self, shard: &mut Shard) -> Result<()> {
        if let (Some(unread), Some(images)) = (&shard.unread, &self.images) {
            shard.lists = unread.read(self, images)?;
            shard.unread = None;
        }
        Ok(())
    }

    /// Looks at all that a shard points to on the medium, once after opening.
    ///
    /// # Errors
    /// `Corruption` if something of it is damaged.
    fn check(&self, shard: &Shard) -> Result<()> {
        if !shard.is_checked.load(Relaxed) {
            shard.check_pieces(&self.places, self.salt)?;
            shard.neighbor_bound.store(shard.check_lists(self)?, Relaxed);
            shard.is_checked.store(true, Relaxed);
        }
        Ok(())
    }

    /// As [`Self::read`], for a shard that others may share.
    ///
    /// # Errors
    /// As that.
    pub(crate) fn read_shared(&self, shared: &mut Shared<Shard>) -> Result<()> {
        if shared.unread.is_none() {
            return Ok(());
        }
        self.read(shared.own(Shard::copy)?)
    }

    /// Returns the path of the file that images lie in.
    pub(crate) fn images_path(&self) -> &Path {
        self.places.blocks[0].path()
    }

    /// Returns what must be free for the largest shard, and its image, to be written anew.
    fn reserve(&self) -> Room {
        let units = self.sizes.largest();
        Room { units: units + units / 8, longest: 0 }
    }

    /// After opening: leaves free what the largest shard may need.
    pub(crate) fn adopt_reserve(&self, shards: &[Shared<Shard>]) {
        let image_units = |shard: &Shard| shard.unread.as_ref().map_or(0, Unread::unit_count);
        self.sizes.adopt(shards.iter().map(|shard| shard.placed_units() + image_units(shard)));
        self.sub_graphs.spaces().for_each(|space| space.adopt_reserve(self.reserve()));
    }

    /// Leaves free what the largest shard may need, and what the log says that no image does yet.
    fn keep_reserve(&self, logged_bytes: u64) -> Result<()> {
        let logged = logged_units(logged_bytes);
        let keep = |space: &Arc<Space>| space.keep_reserve(self.reserve(), logged);
        // A full one does not end the others' reserve.
        let kept: Vec<Result<()>> = self.sub_graphs.spaces().map(keep).collect();
        kept.into_iter().collect()
    }

    /// Lets what was left free be taken until what is returned is dropped.
    fn open_reserve(&self) -> Vec<OpenReserve<'_>> {
        self.sub_graphs.spaces().map(|space| space.open_reserve()).collect()
    }

    /// Compacts and saves a shard for which there is no room beside what is left free: its image takes
    /// all lists first, and their old places are room for runs. Where that is not enough they stay in
    /// the image.
    fn compact_alone(
        &self,
        core: &Core<Self>,
        archive: &mut Archive<Self>,
        number: usize,
        done: &mut Compaction,
    ) -> Result<()> {
        for _ in 0..2 {
            let compacted = self.compact(core, archive, number..number + 1, done);
            // Its runs may have found room earlier, and its image not.
            let saved = compacted.and_then(|()| match archive.is_unsaved(number) {
                true => core.save(archive, &[number]),
                false => Ok(()),
            });
            match saved {
                Err(Error::NoSpace { .. }) => self.save_in_image(core, archive, number)?,
                outcome => return outcome,
            }
        }
        Ok(())
    }

    /// Saves a shard by an image that has all its lists, without what was deleted, in as many parts as it
    /// must: nothing takes less room. What was left free is for this.
    ///
    /// # Errors
    /// `NoSpace` if that was not enough.
    fn save_in_image(
        &self,
        core: &Core<Self>,
        archive: &mut Archive<Self>,
        number: usize,
    ) -> Result<()> {
        self.sub_graphs.spaces().for_each(|space| space.forget_missing());
        if archive.shards[number].placed_units() == 0 && !archive.is_unsaved(number) {
            return Ok(());
        }
        self.see(&mut archive.shards[number])?;
        let _open = self.open_reserve();
        let sequence = archive.next_sequence;
        let context = self.context(&no_round(sequence));
        archive.note_changed(number);
        take_into_memory(&context, sequence.saturating_sub(1), archive.own(self, number)?);
        core.save(archive, &[number])?;
        self.sub_graphs.spaces().for_each(|space| space.note_full());
        Ok(())
    }

    /// Compacts some shards, which count when they are saved, and adds to what was done.
    pub(crate) fn compact(
        &self,
        core: &Core<Self>,
        archive: &mut Archive<Self>,
        shards: Range<usize>,
        done: &mut Compaction,
    ) -> Result<()> {
        let sequence = archive.next_sequence;
        let context = self.context(&no_round(sequence));
        let nodes = &self.sub_graphs.nodes;
        let home = |index| nodes.home(shards.start + index, 0);
        let write = |_: usize, shard: &mut [Shared<Shard>]| {
            self.see(&mut shard[0])?;
            NewRuns::write(&context, sequence.saturating_sub(1), &shard[0])
        };
        let group = &mut archive.shards[shards.clone()];
        let written = par::map_chunks_mut_at_home(nodes.homes(), group, 1, home, write);
        // On a full medium all of it is free again, and the lists are as before.
        let written: Vec<NewRuns> = written.into_iter().collect::<Result<_>>()?;
        let mut changed = Vec::new();
        for (number, new) in shards.zip(written).filter(|(_, new)| !new.is_empty()) {
            new.adopt(archive.own(self, number)?, done);
            archive.note_changed(number);
            changed.push(number);
        }
        match changed.is_empty() {
            true => Ok(()),
            false => core.save(archive, &changed),
        }
    }
}

/// Returns the units of lists that so many bytes of the log may need.
fn logged_units(logged_bytes: u64) -> u64 {
    logged_bytes * 2 / UNIT_BYTES
}

/// Returns what a change has that is of no round, after all updates before `sequence`.
fn no_round(sequence: u64) -> RoundContext<'static> {
    let (first_sequence, end_sequence) = (sequence, sequence);
    RoundContext { first_sequence, end_sequence, is_replaying: false, weights: &[] }
}

impl Layout for Adjacency {
    type Options = AdjacencyOptions;
    type Shard = Shard;
    type Snapshot = Snapshot;

    fn options(&self) -> &GraphOptions {
        &self.options
    }

    fn pace(&self) -> Pace {
        let AdjacencyOptions { archive_threshold, phases, division, division_bias, .. } =
            self.options.tuning;
        Pace { archive_threshold, wait: Wait::ForRound, phases, division, division_bias }
    }

    fn homes(&self) -> Option<&Homes> {
        self.sub_graphs.nodes.homes()
    }

    fn home(&self, number: usize, side: usize) -> usize {
        self.sub_graphs.nodes.home(number, side)
    }

    fn divides_sides(&self) -> bool {
        self.sub_graphs.nodes.divide_shards()
    }

    fn lists(&self) -> Lists {
        let spaces: Vec<_> = self.sub_graphs.spaces().cloned().collect();
        // Each file has a reserve for the largest shard, which grows with it.
        let of_one = LIST_BYTES_PER_LOGGED[usize::from(self.options.weighted)];
        let bytes_per_logged = of_one * spaces.len() as u64;
        Lists { spaces, bytes_per_logged, kept_bytes: Arc::default() }
    }

    fn expect(&self, updates: &[u32], vertex_bound: u32) -> Result<()> {
        self.images.as_ref().map_or(Ok(()), |images| images.expect(updates, vertex_bound))
    }

    fn make_room(&self) -> Result<()> {
        self.sub_graphs.make_room()
    }

    fn copy(&self, shard: &Shard) -> Result<Shard> {
        shard.copy()
    }

    fn prepare(&self, number: usize, shard: &mut Shard) -> Result<()> {
        shard.materialize(number, self.options.list_count(), self.memory())?;
        self.read(shard)
    }

    fn is_unseen(shard: &Shard) -> bool {
        shard.is_unseen()
    }

    fn see(&self, shared: &mut Shared<Shard>) -> Result<()> {
        self.read_shared(shared)?;
        self.check(shared)
    }

    fn emptied(&self, number: usize, shard: &Shard) -> Result<Shard> {
        let mut emptied = Shard::default();
        emptied.materialize(number, self.options.list_count(), self.memory())?;
        emptied.vertices.clone_from(&shard.vertices);
        (emptied.vertex_count, emptied.ended_bound) = (shard.vertex_count, shard.ended_bound);
        Ok(emptied)
    }

    fn take(&self, round: &RoundContext, shard: &mut Shard, mut parts: Parts) -> Result<()> {
        let context = self.context(round);
        parts.sides().try_for_each(|side| {
            let part = parts.side(side);
            // Insertions are appended; what else there is, is looked for in the lists.
            if part.has_deletions || context.simple {
                self.check(shard)?;
            }
            shard.take(&context, side, &part)
        })
    }

    fn take_vertex(
        &self,
        _round: &RoundContext,
        shard: &mut Shard,
        local: usize,
        is_vertex: bool,
    ) -> Result<()> {
        shard.note_vertex(local, is_vertex);
        Ok(())
    }

    fn failure(&self) -> Option<Error> {
        self.failure.lock().take()
    }

    fn drain(&self) -> Result<()> {
        self.sub_graphs.drain(Site::Block)
    }

    fn opened_sequence(shard: &Shard) -> u64 {
        shard.opened_sequence
    }

    fn outcome(shard: &Shard) -> Outcome {
        shard.outcome
    }

    fn forget_outcome(shard: &mut Shard) {
        shard.outcome = Outcome::default();
    }

    fn totals(shard: &Shard) -> ShardTotals {
        shard.totals()
    }

    fn neighbor_bound(shard: &Shard) -> u32 {
        shard.neighbor_bound.load(Relaxed)
    }

    fn find_neighbor_bound(&self, shard: &Shard) -> u32 {
        let bound = shard.find_neighbor_bound(self);
        shard.neighbor_bound.store(bound, Relaxed);
        bound
    }

    fn save(
        &self,
        shards: &mut [(usize, &mut Shared<Shard>)],
        sequence: u64,
        epoch: u32,
    ) -> Result<()> {
        let Some(images) = &self.images else { return Ok(()) };
        let context = self.context(&no_round(sequence));
        let entry_words = self.options.entry_words();
        // Who has opened the reserve wants the image to hold them.
        let keeps_spills = self.sub_graphs.space(0).is_reserve_open();
        // An image is large enough that each in memory of its own would be given back each time.
        let buffers = PerThread::new(Vec::new);
        let save = |_: usize, shard: &mut [(usize, &mut Shared<Shard>)]| {
            let (number, shared) = &mut shard[0];
            if shared.has_spills() && !keeps_spills {
                let own = shared.own(Shard::copy)?;
                match own.flush_spills(&context, sequence.saturating_sub(1)) {
                    // The image holds them then.
                    Ok(()) | Err(Error::NoSpace { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            buffers.with(|words| {
                let (head_words, extents) = image::encode(shared, entry_words, words);
                let units = shared.placed_units() + everedge_live::image_units(words.len());
                self.sizes.note(*number, units);
                images.store(*number, (sequence, epoch), (words, head_words), extents)
            })
        };
        let saved = par::map_chunks_mut(shards, 1, save).into_iter().collect::<Result<()>>();
        let fenced = saved.and_then(|()| {
            self.sub_graphs.fence(Site::Block)?;
            images.fence()
        });
        fenced.inspect_err(|_| images.drop_next())
    }

    fn after_rounds(&self, _archive: &mut Archive<Self>, taken: Taken) {
        if self.images.is_none() {
            return;
        }
        match self.keep_reserve(taken.logged_bytes) {
            // Insertions are refused from now on.
            Ok(()) | Err(Error::NoSpace { .. }) => {}
            Err(error) => drop(self.failure.lock().get_or_insert(error)),
        }
    }

    fn save_with_least_room(
        core: &Core<Self>,
        archive: &mut Archive<Self>,
        number: usize,
    ) -> Result<()> {
        let layout = &core.layout;
        if layout.options.tuning.compaction == Compacting::Naive {
            let _open = layout.open_reserve();
            return core.save(archive, &[number]);
        }
        match layout.sub_graphs.spaces().count() {
            1 => layout.save_in_image(core, archive, number),
            // What an image frees in other files is no room for the next image.
            _ => layout.compact_alone(core, archive, number, &mut Compaction::default()),
        }
    }

    fn checkpoint(&self, _archive: &Archive<Self>, epoch: u32) -> Checkpoint {
        let [count, sum] = self.images.as_ref().map_or([0; 2], Images::totals);
        Checkpoint { layout: [count, sum, epoch.into()] }
    }

    fn saved(&self, _epoch: u32, logged_bytes: u64) {
        self.images.iter().for_each(Images::adopt_next);
        // The largest shard may have been written anew, and be smaller now.
        let (reserve, logged) = (self.reserve(), logged_units(logged_bytes));
        self.sub_graphs.spaces().for_each(|space| space.lower_reserve(reserve, logged));
    }

    fn is_flush_due(&self, archive: &Archive<Self>) -> bool {
        let lists = present(&archive.shards).flat_map(|(_, shard)| &shard.lists);
        let all: u64 = lists.map(|list| list.buffer_bytes()).sum();
        all > self.options.tuning.buffer_pool_bytes
    }

    /// Writes all buffers as blocks.
    fn flush(&self, archive: &mut Archive<Self>) -> Result<()> {
        self.sub_graphs.make_room()?;
        let sequence = archive.next_sequence;
        let context = self.context(&no_round(sequence));
        let nodes = &self.sub_graphs.nodes;
        let shards = archive.shards.iter_mut().enumerate();
        let may_be_due = |shard: &Shared<Shard>| shard.unread.is_some() || shard.has_unflushed();
        let due: Vec<_> = shards.filter(|(_, shard)| may_be_due(shard)).collect();
        let flush = |(_, shard): (usize, &mut Shared<Shard>)| {
            self.read_shared(shard)?;
            // What is damaged takes nothing in: what waits there is in its image.
            if !shard.has_unflushed() || self.check(shard).is_err() {
                return Ok(());
            }
            shard.own(Shard::copy)?.flush_all(&context, sequence.saturating_sub(1))
        };
        let home = |(number, _): &(usize, _)| nodes.home(*number, 0);
        par::map_tasks_at_home(nodes.homes(), due, home, flush).into_iter().collect()
    }

    /// Compacts some shards of which much is deleted.
    fn clean_up(core: &Core<Self>) -> bool {
        let AdjacencyOptions { compact_percent, compaction, .. } = core.layout.options.tuning;
        let is_due = |shard: &Shard| shard.has_many_tombstones(compact_percent);
        compaction != Compacting::Naive && compact_due(core, &core.layout.passes.tombstones, is_due)
    }

    /// Merges the lists of some shards: of those in many pieces, or in a pause of those with some.
    fn put_in_order(core: &Core<Self>, paused: bool) -> bool {
        let options = &core.layout.options;
        let entry_words = options.entry_words();
        match paused {
            true => {
                options.tuning.merges_in_pauses()
                    && compact_due(core, &core.layout.passes.paused, Shard::is_out_of_order)
            }
            false => {
                let is_due = |shard: &Shard| shard.is_fragmented(entry_words);
                options.tuning.merges(par::thread_count())
                    && compact_due(core, &core.layout.passes.pieces, is_due)
            }
        }
    }

    fn snapshot(&self, archive: &mut Archive<Self>) -> Result<Snapshot> {
        let mut unseen: Vec<_> = archive.shards.iter_mut().filter(|s| s.is_unseen()).collect();
        let see = |_: usize, shards: &mut [&mut Shared<Shard>]| self.see(shards[0]);
        par::map_chunks_mut(&mut unseen, 1, see).into_iter().collect::<Result<()>>()?;
        Ok(Snapshot::new(archive, self))
    }

    fn shrink(&self) -> Result<()> {
        self.sub_graphs.shrink()
    }
}

/// Compacts the shards of a range, a group at a time; others go on in between.
pub(super) fn compact(core: &Core<Adjacency>, shards: Range<usize>) -> Result<Compaction> {
    core.refuse_if_failed()?;
    core.volume.check_writable()?;
    drop(core.up_to_date()?);
    core.log.begin_writing()?;
    match core.layout.sub_graphs.make_room() {
        // What is free already may do.
        Ok(()) | Err(Error::NoSpace { .. }) => {}
        Err(error) => return Err(error),
    }
    let shard_count = core.up_to_date()?.shards.len();
    let shards = shards.start..shards.end.min(shard_count);
    let mut done = Compaction::default();
    for pass in 1.. {
        let runs_before = done.runs;
        match compact_all(core, shards.clone(), shard_count, &mut done) {
            Ok(()) => break,
            // What the others have freed may be room for those that found none.
            Err(Error::NoSpace { .. }) if done.runs > runs_before && pass < COMPACT_PASSES_MAX => {}
            Err(error) => return Err(error),
        }
    }
    core.flush_all()?;
    Ok(done)
}

/// Compacts the shards of a range once.
///
/// # Errors
/// `NoSpace` if some found no room, `Corruption` if some are damaged; the others are done.
fn compact_all(
    core: &Core<Adjacency>,
    shards: Range<usize>,
    shard_count: usize,
    done: &mut Compaction,
) -> Result<()> {
    let group_len = (shard_count / COMPACT_SHARE).clamp(1, COMPACT_SHARDS_MAX);
    let is_naive = core.layout.options.tuning.compaction == Compacting::Naive;
    // Like a snapshot: nothing that is replaced is used again before the end.
    let _kept = is_naive.then(|| core.archive().shards.clone());
    let mut outcome = Ok(());
    for first in shards.clone().step_by(group_len) {
        watch::check();
        let mut archive = core.archive();
        core.refuse_if_failed()?;
        if is_naive {
            core.flush(&mut archive)?;
        }
        let group = first..shards.end.min(first + group_len);
        let layout = &core.layout;
        let compacted = core.undisturbed(&mut archive, |archive| {
            match layout.compact(core, archive, group.clone(), done) {
                Err(Error::NoSpace { .. } | Error::Corruption { .. }) if !is_naive => {
                    compact_each(core, archive, group, done)
                }
                compacted => compacted,
            }
        });
        match compacted {
            Err(error @ (Error::NoSpace { .. } | Error::Corruption { .. })) => outcome = Err(error),
            compacted => compacted.inspect_err(|error| core.fail_unless_full(error))?,
        }
    }
    outcome
}

/// Compacts the shards of a group that cannot be compacted together one after the other. What is damaged
/// or finds no room stays as it is.
fn compact_each(
    core: &Core<Adjacency>,
    archive: &mut Archive<Adjacency>,
    group: Range<usize>,
    done: &mut Compaction,
) -> Result<()> {
    let mut outcome = Ok(());
    for number in group {
        match core.layout.compact_alone(core, archive, number, done) {
            Err(error @ (Error::NoSpace { .. } | Error::Corruption { .. })) => outcome = Err(error),
            compacted => compacted?,
        }
    }
    outcome
}

/// Returns the number of the shard of a vertex.
pub(super) fn shard_of(vertex: u32) -> usize {
    vertex as usize / SHARD_SPAN
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use everedge_live::Phases;
    use everedge_medium::{Kind, MediumKind, Volume};

    use crate::{AdjacencyGraph, AdjacencyOptions};

    use super::*;

    /// Not only the archiving thread: a writer would sleep until that comes to the archive.
    #[test]
    fn whoever_archives_wakes_writers_that_wait() {
        let tuning = AdjacencyOptions {
            archive_threshold: 1,
            phases: Phases::InTurn,
            ..AdjacencyOptions::default()
        };
        let medium = MediumKind::Dram;
        let options = GraphOptions { medium, tuning, ..GraphOptions::default() };
        let volume = Volume::create("waiting".as_ref(), options.volume(false)).unwrap();
        let graph = AdjacencyGraph::create(volume, Manifest::new(Kind::Graph, options)).unwrap();
        let core = graph.live.core.clone();
        let archive = core.archive();
        thread::scope(|scope| {
            let archiver = scope.spawn(|| graph.insert(&[(1, 2)], None));
            while core.log.untaken().1 == 0 {
                thread::yield_now();
            }
            let (sender, waited) = mpsc::channel();
            let core = graph.live.core.clone();
            thread::spawn(move || {
                core.call_archiving();
                sender.send(())
            });
            let early = waited.recv_timeout(Duration::from_millis(50));
            assert!(early.is_err(), "a writer went on before a round had begun");
            drop(archive);
            archiver.join().unwrap().unwrap();
            waited.recv_timeout(Duration::from_secs(60)).expect("the writer goes on");
        });
    }
}
