//! The layout as the driver sees it: how a shard takes updates, is saved and is read.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_core::par::{self, PerThread};
use everedge_core::watch;
use everedge_live::{
    Archive, Checkpoint, Compaction, Core, Error, Images, Layout, Lists, Outcome, Pace, Parts,
    Pass, Result, Room, RoundContext, Rules, ShardSizes, ShardTotals, Shared, Space, Taken,
    UNIT_BYTES, Wait, image_units, present,
};
use everedge_medium::Site;
use parking_lot::Mutex;

use super::image::{self, Unread};
use super::lpmb::{self, Context, Scratch};
use super::options::{BlocksOptions, GraphOptions, Manifest};
use super::pool::Pool;
use super::shard::Shard;
use super::snapshot::BlocksSnapshot;

/// Lists and an image take at most so much for what is logged; with weights, of which a list has two for
/// one that is logged, so much.
const LIST_BYTES_PER_LOGGED: [u64; 2] = [4, 6];
/// Bytes of an update in the log.
const UPDATE_BYTES: u64 = 8;
/// Of so many shards one is written anew at a time: the share of the space that this needs.
const COMPACT_SHARE: usize = 16;
/// The most shards that are written anew with one fence.
const COMPACT_SHARDS_MAX: usize = 64;
/// The most shards that are in a pause before it is looked whether it lasts.
const ORDER_SHARDS_MAX: usize = 32;

/// The layout of one open graph.
pub(crate) struct Blocks {
    pub options: GraphOptions,
    pub pool: Arc<Pool>,
    /// None where bytes are gone with the process.
    pub images: Option<Images>,
    pub salt: u32,
    /// Units of an image of each shard that has all of its lists, as it was last saved.
    sizes: ShardSizes,
    /// Where writing lists anew is, in pauses of the writers.
    paused: Mutex<Pass>,
    /// Why the medium did not take a block, unless it was only full.
    failure: Mutex<Option<Error>>,
    scratch: PerThread<Scratch>,
}

impl Blocks {
    /// Returns the layout of a graph whose blocks lie in `space`.
    pub(crate) fn new(manifest: &Manifest, space: Arc<Space>, images: Option<Images>) -> Self {
        let options = manifest.options.clone();
        Self {
            pool: Arc::new(Pool::new(space, options.tuning.block_bytes)),
            images,
            salt: manifest.salt(),
            sizes: ShardSizes::default(),
            paused: Mutex::new(Pass::new(ORDER_SHARDS_MAX)),
            failure: Mutex::default(),
            scratch: PerThread::new(Scratch::default),
            options,
        }
    }

    /// Returns what lists need to take a round's updates, of which `weights` are those.
    pub(crate) fn context<'a>(&'a self, weights: &'a [AtomicU32]) -> Context<'a> {
        Context {
            options: &self.options.tuning,
            rules: Rules { simple: self.options.simple, weighted: self.options.weighted },
            pool: &self.pool,
            salt: self.salt,
            entry_words: self.options.entry_words(),
            weights,
            failure: &self.failure,
        }
    }

    /// Reads and checks the lists of a shard, if they are unread.
    ///
    /// # Errors
    /// `Corruption` if some are damaged; they stay unread then.
    pub(crate) fn read(&self, shard: &mut Shard) -> Result<()> {
        self.images.as_ref().map_or(Ok(()), |images| shard.read(self, images))
    }

    /// As [`Self::read`], for a shard that others may share.
    ///
    /// # Errors
    /// As that.
    pub(crate) fn read_shared(&self, shared: &mut Shared<Shard>) -> Result<()> {
        match shared.unread {
            Some(_) => self.read(shared.own(|shard| Ok::<_, Error>(shard.copy()))?),
            None => Ok(()),
        }
    }

    fn space(&self) -> &Arc<Space> {
        self.pool.space()
    }

    /// Returns what must be free for an image of the largest shard with all of its lists.
    fn reserve(&self) -> Room {
        Room { units: self.sizes.largest(), longest: 0 }
    }

    /// After opening: leaves free what the largest shard may need.
    pub(crate) fn adopt_reserve(&self, shards: &[Shared<Shard>]) {
        let of_unread = |shard: &Shard| {
            let unread = shard.unread.as_ref();
            let words = |unread: &Unread| self.block_words() * unread.places().len();
            unread.map_or(0, |unread| unread.image_units + image_units(words(unread)))
        };
        self.sizes.adopt(shards.iter().map(|shard| of_unread(shard)));
        self.space().adopt_reserve(self.reserve());
    }

    /// Returns the words of a block.
    fn block_words(&self) -> usize {
        self.pool.block_bytes() as usize / 4
    }

    /// Returns how many units the lists of a shard take, or about as many.
    fn list_units(&self, shard: &Shard) -> u64 {
        let entry_bytes = 4 * self.options.entry_words() as u64;
        let lists = shard.lists.len() as u64;
        (shard.degree_sum * lists * entry_bytes).div_ceil(UNIT_BYTES)
    }

    /// Notes what an image of a shard takes that has all of its lists, if one that does not has so many words.
    fn note_size(&self, number: usize, shard: &Shard, words: usize) {
        let mut blocks = 0;
        image::for_each_table(shard, |table| blocks += lpmb::blocks(table).len());
        self.sizes.note(number, image_units(words + self.block_words() * blocks));
    }

    /// Writes the lists of some shards anew, and saves them.
    ///
    /// # Errors
    /// `NoSpace` if the medium has no room for some; their lists are then as before. `Corruption` if some are
    /// damaged.
    fn write_anew(
        &self,
        core: &Core<Self>,
        archive: &mut Archive<Self>,
        shards: Range<usize>,
        done: &mut Compaction,
    ) -> Result<()> {
        let context = self.context(&[]);
        let group = &mut archive.shards[shards.clone()];
        let write = |_: usize, shard: &mut [Shared<Shard>]| -> Result<Compaction> {
            self.read_shared(&mut shard[0])?;
            if shard[0].lists.is_empty() {
                return Ok(Compaction::default());
            }
            let shard = shard[0].own(|shard| Ok::<_, Error>(shard.copy()))?;
            let mut written = Compaction::default();
            shard.for_each_list_mut(&context, |mut list| {
                let freed = list.block_count();
                if !list.is_in_order() {
                    list.write_anew()?;
                    written.runs += 1;
                    written.freed_bytes += freed as u64 * self.pool.block_bytes();
                    written.written_bytes += list.block_count() as u64 * self.pool.block_bytes();
                }
                Ok(())
            })?;
            shard.changed_count = 0;
            Ok(written)
        };
        let written = par::map_chunks_mut(group, 1, write);
        let mut changed = Vec::new();
        let mut outcome = Ok(());
        for (number, written) in shards.zip(written) {
            match written {
                Ok(written) if written.runs == 0 => {}
                Ok(written) => {
                    done.runs += written.runs;
                    done.written_bytes += written.written_bytes;
                    done.freed_bytes += written.freed_bytes;
                    changed.push(number);
                }
                Err(error) => {
                    // Some of its lists may be written.
                    if archive.shards[number].unread.is_none() {
                        changed.push(number);
                    }
                    // What can wait does not hide that the medium failed.
                    let can_wait = |error: &Error| {
                        matches!(error, Error::NoSpace { .. } | Error::Corruption { .. })
                    };
                    if outcome.as_ref().err().is_none_or(can_wait) {
                        outcome = Err(error);
                    }
                }
            }
        }
        changed.iter().for_each(|&number| archive.note_changed(number));
        if !changed.is_empty() {
            core.save(archive, &changed)?;
        }
        outcome
    }
}

/// Returns the units of lists that so many bytes of the log may need.
fn logged_units(logged_bytes: u64) -> u64 {
    logged_bytes * 2 / UNIT_BYTES
}

impl Layout for Blocks {
    type Options = BlocksOptions;
    type Shard = Shard;
    type Snapshot = BlocksSnapshot;

    fn options(&self) -> &GraphOptions {
        &self.options
    }

    fn pace(&self) -> Pace {
        let BlocksOptions { archive_threshold, phases, division, division_bias, .. } =
            self.options.tuning;
        Pace { archive_threshold, wait: Wait::ForRound, phases, division, division_bias }
    }

    fn lists(&self) -> Lists {
        let bytes_per_logged = LIST_BYTES_PER_LOGGED[usize::from(self.options.weighted)];
        Lists { spaces: vec![self.space().clone()], bytes_per_logged, kept_bytes: Arc::default() }
    }

    fn expect(&self, updates: &[u32], vertex_bound: u32) -> Result<()> {
        self.images.as_ref().map_or(Ok(()), |images| images.expect(updates, vertex_bound))
    }

    fn make_room(&self) -> Result<()> {
        self.space().make_room()
    }

    fn copy(&self, shard: &Shard) -> Result<Shard> {
        Ok(shard.copy())
    }

    fn prepare(&self, number: usize, shard: &mut Shard) -> Result<()> {
        self.read(shard)?;
        shard.materialize(number, self.options.list_count(), &self.pool);
        Ok(())
    }

    fn is_unseen(shard: &Shard) -> bool {
        shard.unread.is_some()
    }

    fn see(&self, shared: &mut Shared<Shard>) -> Result<()> {
        self.read_shared(shared)
    }

    fn emptied(&self, number: usize, shard: &Shard) -> Result<Shard> {
        let mut emptied = Shard::default();
        emptied.materialize(number, self.options.list_count(), &self.pool);
        emptied.vertices.clone_from(&shard.vertices);
        (emptied.vertex_count, emptied.ended_bound) = (shard.vertex_count, shard.ended_bound);
        Ok(emptied)
    }

    fn take(&self, round: &RoundContext, shard: &mut Shard, mut parts: Parts) -> Result<()> {
        let context = self.context(round.weights);
        // A block for each of them would leave none for the images that they come into.
        let of_round = logged_units((round.end_sequence - round.first_sequence) * UPDATE_BYTES);
        self.pool.logged_units.fetch_max(of_round, Relaxed);
        self.scratch.with(|scratch| {
            for side in parts.sides() {
                shard.take(&context, side, &parts.side(side), (self.options.directed, scratch));
            }
            scratch.shrink();
        });
        Ok(())
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
        self.pool.region().drain(Site::Block)
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
        shard.neighbor_bound
    }

    fn find_neighbor_bound(&self, shard: &Shard) -> u32 {
        shard.find_neighbor_bound(&self.context(&[]))
    }

    fn save(
        &self,
        shards: &mut [(usize, &mut Shared<Shard>)],
        sequence: u64,
        epoch: u32,
    ) -> Result<()> {
        let Some(images) = &self.images else { return Ok(()) };
        let (context, entry_words) = (self.context(&[]), self.options.entry_words());
        // Before blocks are frozen: of those that no image will name the shard could not dispose.
        let of_image = |shard: &Shared<Shard>| image_units(image::word_count(shard, entry_words));
        let needed = shards.iter().map(|(_, shard)| of_image(shard)).sum::<u64>();
        let left_free = self.space().reserve_left();
        self.space().reserve(needed + left_free.units, left_free.longest)?;
        // An image is large enough that each in memory of its own would be given back each time.
        let buffers = PerThread::new(Vec::new);
        let save = |_: usize, shard: &mut [(usize, &mut Shared<Shard>)]| {
            let (number, shared) = &mut shard[0];
            let shard = shared.own(|shard| Ok::<_, Error>(shard.copy()))?;
            let held = shard.freeze(&context);
            buffers.with(|words| {
                let head_words = image::encode(shard, entry_words, words);
                self.note_size(*number, shard, words.len());
                images.store(*number, (sequence, epoch), (words, head_words), held)
            })
        };
        let saved = par::map_chunks_mut(shards, 1, save).into_iter().collect::<Result<()>>();
        let fenced = saved.and_then(|()| {
            self.pool.region().fence(Site::Block)?;
            images.fence()
        });
        fenced.inspect_err(|_| images.drop_next())
    }

    fn after_rounds(&self, _archive: &mut Archive<Self>, taken: Taken) {
        if self.images.is_none() {
            return;
        }
        let logged = logged_units(taken.logged_bytes);
        self.pool.logged_units.store(logged + logged_units(taken.updates * UPDATE_BYTES), Relaxed);
        let keep = || self.space().keep_reserve(self.reserve(), logged);
        let kept = keep().or_else(|_| {
            self.pool.give_all_to_space();
            keep()
        });
        match kept {
            // Insertions are refused from now on.
            Ok(()) | Err(Error::NoSpace { .. }) => {}
            Err(error) => drop(self.failure.lock().get_or_insert(error)),
        }
    }

    /// Saves a shard by an image that has all its lists, in as many parts as it must: nothing takes less
    /// room. What was left free is for this.
    fn save_with_least_room(
        core: &Core<Self>,
        archive: &mut Archive<Self>,
        number: usize,
    ) -> Result<()> {
        let layout = &core.layout;
        layout.space().forget_missing();
        layout.see(&mut archive.shards[number])?;
        let _open = layout.space().open_reserve();
        archive.note_changed(number);
        let context = layout.context(&[]);
        archive.own(layout, number)?.for_each_list_mut(&context, |mut list| {
            list.take_into_span();
            Ok(())
        })?;
        layout.pool.give_all_to_space();
        core.save(archive, &[number])?;
        layout.pool.give_all_to_space();
        layout.space().note_full();
        Ok(())
    }

    fn checkpoint(&self, _archive: &Archive<Self>, epoch: u32) -> Checkpoint {
        let [count, sum] = self.images.as_ref().map_or([0; 2], Images::totals);
        Checkpoint { layout: [count, sum, epoch.into()] }
    }

    fn saved(&self, _epoch: u32, logged_bytes: u64) {
        self.images.iter().for_each(Images::adopt_next);
        self.space().lower_reserve(self.reserve(), logged_units(logged_bytes));
    }

    fn clean_up(_core: &Core<Self>) -> bool {
        false
    }

    fn put_in_order(core: &Core<Self>, paused: bool) -> bool {
        let layout = &core.layout;
        let units = |shard: &Shared<Shard>| layout.list_units(shard);
        paused
            && core.write_due(&layout.paused, Shard::is_out_of_order, units, |archive, group| {
                layout.write_anew(core, archive, group, &mut Compaction::default())
            })
    }

    fn snapshot(&self, archive: &mut Archive<Self>) -> Result<BlocksSnapshot> {
        let mut unseen: Vec<_> =
            archive.shards.iter_mut().filter(|shard| shard.unread.is_some()).collect();
        let see = |_: usize, shards: &mut [&mut Shared<Shard>]| self.see(shards[0]);
        par::map_chunks_mut(&mut unseen, 1, see).into_iter().collect::<Result<()>>()?;
        Ok(BlocksSnapshot::new(archive, self))
    }

    fn shrink(&self) -> Result<()> {
        self.pool.give_all_to_space();
        self.space().shrink()
    }
}

/// Writes the lists of all shards anew, a group of them at a time; others go on in between.
pub(super) fn compact(core: &Core<Blocks>) -> Result<Compaction> {
    core.refuse_if_failed()?;
    core.volume.check_writable()?;
    drop(core.up_to_date()?);
    core.log.begin_writing()?;
    match core.layout.space().make_room() {
        // What is free already may do.
        Ok(()) | Err(Error::NoSpace { .. }) => {}
        Err(error) => return Err(error),
    }
    let shard_count = core.up_to_date()?.shards.len();
    let group_len = (shard_count / COMPACT_SHARE).clamp(1, COMPACT_SHARDS_MAX);
    let (mut done, mut outcome) = (Compaction::default(), Ok(()));
    for first in (0..shard_count).step_by(group_len) {
        watch::check();
        let mut archive = core.archive();
        core.refuse_if_failed()?;
        let group = first..shard_count.min(first + group_len);
        let written = core.undisturbed(&mut archive, |archive| {
            match core.layout.write_anew(core, archive, group.clone(), &mut done) {
                Err(Error::NoSpace { .. } | Error::Corruption { .. }) => {
                    write_each_anew(core, archive, group, &mut done)
                }
                written => written,
            }
        });
        match written {
            Err(error @ (Error::NoSpace { .. } | Error::Corruption { .. })) => outcome = Err(error),
            written => written.inspect_err(|error| core.fail_unless_full(error))?,
        }
    }
    outcome?;
    core.flush_all()?;
    Ok(done)
}

/// Writes the lists of shards anew that cannot be written together, one after the other. What is damaged or
/// finds no room stays as it is.
fn write_each_anew(
    core: &Core<Blocks>,
    archive: &mut Archive<Blocks>,
    shards: Range<usize>,
    done: &mut Compaction,
) -> Result<()> {
    let mut outcome = Ok(());
    for number in shards {
        match write_alone(core, archive, number, done) {
            Err(error @ (Error::NoSpace { .. } | Error::Corruption { .. })) => outcome = Err(error),
            written => written?,
        }
    }
    outcome
}

/// Writes the lists of a shard anew for which there is no room beside what is left free: its image takes all of
/// them first, and their old places are room for blocks. Where that is not enough they stay in the image.
fn write_alone(
    core: &Core<Blocks>,
    archive: &mut Archive<Blocks>,
    number: usize,
    done: &mut Compaction,
) -> Result<()> {
    for _ in 0..2 {
        let written = core.layout.write_anew(core, archive, number..number + 1, done);
        let saved = written.and_then(|()| match archive.is_unsaved(number) {
            true => core.save(archive, &[number]),
            false => Ok(()),
        });
        match saved {
            Err(Error::NoSpace { .. }) => Blocks::save_with_least_room(core, archive, number)?,
            outcome => return outcome,
        }
    }
    Ok(())
}

/// Returns what versions of blocks take beside the newest ones.
pub(super) fn version_bytes(core: &Core<Blocks>) -> u64 {
    core.layout.pool.kept_bytes()
}

/// Returns the blocks of all lists.
pub(super) fn used_places(shards: &[Shared<Shard>]) -> Vec<u32> {
    let unread = present(shards).filter_map(|(_, shard)| shard.unread.as_ref());
    unread.flat_map(|unread| unread.places().iter().copied()).collect()
}
