//! The layout as the driver sees it: how a shard takes updates, is saved and is read.
//!
//! # Saving
//! Until a shard is saved, the words that rounds store in gaps and edge logs need not persist: the
//! log still holds what they say. Saving fences them, and writes and fences the headers of the
//! shard's sections that have changed. The log's anchor, which moves the tail, has the sum of the
//! checksums of all headers; each header that is written later carries along what its section added
//! to that sum. So recovery knows whether the headers that it finds are those of the anchor, or
//! newer ones.
//!
//! Arrays that were written elsewhere become current together, those of a small round or of a
//! sixteenth of a large one, by the table.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use everedge_core::{Edge, par};

use super::array::{Array, Section};
use super::direct;
use super::header::Moment;
use super::mechanisms::{Counters, Why};
use super::options::{LogFirst, PmaOptions};
use super::recovery::{self, Recovered};
use super::rewriting::Rewriting;
use super::room::Room;
use super::rows::Rows;
use super::shard::{Context, Shard};
use super::snapshot::Snapshot;
use super::table::Table;
use super::undo::UndoLogs;
use crate::options::{GraphOptions, Manifest};
use everedge_live::{
    Archive, Checkpoint, Core, Division, Durability, EdgeLog, Error, Layout, Lists, Outcome, Pace,
    Part, Parts, Result, RoundContext, Rules, SIDES, ShardTotals, Shared, Space, Taken, Wait,
    present,
};
use everedge_medium::{Access, Region, Site};

/// An array is written anew when its tombstones are this share of its words.
const TOMBSTONES_SHARE: u64 = 8;
/// Fewer tombstones are not worth it.
const TOMBSTONES_MIN: u64 = 1024;
/// In a pause an array is written anew if a larger share of its words than this is in edge logs.
const LOGGED_SHARE: u64 = 256;

/// So many groups may find no room before the archiving thread leaves the others for later.
const REFUSALS_MAX: u32 = 4;

/// Where logging goes on meanwhile, updates wait for no more than so many,
const ROUND_UPDATES: u64 = 1 << 22;
/// or than this share of all edges: two rounds may be left for replay by a crash.
const ROUND_SHARE: u64 = 16;

/// A round of so many updates is applied in groups of shards, so that the arrays of one can lie
/// where those of an earlier one lay.
const GROUPED_UPDATES: u32 = 1 << 20;
const ROUND_GROUPS: usize = 16;

/// The layout of one open graph.
pub(super) struct Pma {
    pub options: GraphOptions,
    pub room: Room,
    pub table: Table,
    pub undo: Arc<UndoLogs>,
    pub rows: Option<Rows>,
    pub counters: Counters,
    /// Where logging goes on meanwhile, updates wait for no more than so many.
    round_max: AtomicU64,
    /// The number of the last checkpoint: an anchor that counts on saved shards.
    epoch: AtomicU32,
    /// Rebalances that a crash had interrupted.
    pub completed: AtomicU64,
    /// The number of the last edge that was stored without the log.
    pub direct: AtomicU64,
}

impl Pma {
    /// Returns the layout of a graph whose arrays lie in `space`.
    pub(super) fn new(
        manifest: &Manifest,
        space: Arc<Space>,
        (table, undo, rows): (Region, Region, Option<Region>),
        epoch: u32,
    ) -> Self {
        let (options, salt) = (&manifest.options, manifest.salt());
        Self {
            room: Room::new(options, space, salt),
            table: Table::new(table, salt),
            undo: UndoLogs::new(undo, salt, &options.tuning),
            rows: rows.map(Rows::new),
            counters: Counters::default(),
            round_max: ROUND_UPDATES.into(),
            epoch: epoch.into(),
            completed: 0.into(),
            direct: 0.into(),
            options: options.clone(),
        }
    }

    /// Returns what a shard needs to know to take the updates of a round.
    pub(super) fn context<'a>(&'a self, round: &RoundContext<'a>) -> Context<'a> {
        let options = &self.options;
        Context {
            options: &options.tuning,
            rules: Rules { simple: options.simple, weighted: options.weighted },
            directed: options.directed,
            entry_words: options.entry_words(),
            room: &self.room,
            table: &self.table,
            undo: &self.undo,
            rows: self.rows.as_ref(),
            counters: &self.counters,
            moment: self.moment(),
            replaying: round.is_replaying,
            is_bulk: options.durability != Durability::Edge,
            start_sequence: round.first_sequence,
            end_sequence: round.end_sequence,
            weights: round.weights,
            kept: self.room.kept(round.end_sequence - round.first_sequence),
            spills: true,
        }
    }

    /// Returns the same for a change that is of no round, after all updates before `sequence`. An
    /// array that finds no room stays as it was.
    pub(super) fn context_after(&self, sequence: u64) -> Context<'_> {
        let (first_sequence, end_sequence) = (sequence, sequence);
        let round =
            RoundContext { first_sequence, end_sequence, is_replaying: false, weights: &[] };
        Context { spills: false, ..self.context(&round) }
    }

    /// Returns the number of the last checkpoint.
    pub(super) fn epoch(&self) -> u32 {
        self.epoch.load(Relaxed)
    }

    /// Returns what headers that are written now say of that.
    pub(super) fn moment(&self) -> Moment {
        Moment { epoch: self.epoch(), direct: self.direct.load(Relaxed) }
    }

    /// Returns the start value of all checksums.
    pub(super) fn salt(&self) -> u32 {
        self.room.salt()
    }

    /// Returns the file of arrays.
    pub(super) fn arrays(&self) -> &Region {
        self.room.space().region()
    }

    /// Makes arrays current that were written elsewhere. What fails here is tried again by the next
    /// save: until then nothing of what they replace is used for anything else.
    pub(super) fn publish_if_possible(&self) {
        let _later = self.table.publish(self.arrays());
    }

    /// Finds out what room the next batch needs, if none has more updates than `batch`.
    pub(super) fn survey(&self, archive: &Archive<Self>, batch: u64) {
        let made = present(&archive.shards);
        let made = made.map(|(number, shard)| (number, shard.arrays.iter().flatten().count()));
        let made: Vec<(usize, usize)> = made.filter(|(_, count)| *count > 0).collect();
        self.room.note_made(made.iter().map(|(number, _)| *number));
        let list_count = self.options.list_count();
        let half_count = made.iter().filter(|(_, count)| *count < list_count).count();
        self.room.survey(arrays(&archive.shards), half_count as u64, batch);
    }
}

impl Layout for Pma {
    type Options = PmaOptions;
    type Shard = Shard;
    type Snapshot = Snapshot;
    const CHANGES_IN_PLACE: bool = true;

    fn options(&self) -> &GraphOptions {
        &self.options
    }

    fn pace(&self) -> Pace {
        let PmaOptions { archive_threshold, phases, .. } = self.options.tuning;
        let most = self.round_max.load(Relaxed).min(self.room.updates_max());
        Pace {
            archive_threshold: archive_threshold.min(most),
            // A round of two costs less than two of one. A writer that went on as soon as a round has
            // begun would log so much meanwhile that replaying it takes twice as long; one that waited
            // for the end of the round would wait for two.
            wait: Wait::ForLists,
            phases,
            // An idle thread takes the next shard.
            division: Division::Stealing,
            division_bias: 0,
        }
    }

    fn store_edge(core: &Core<Self>, edge: Edge, weight: Option<f32>) -> Result<bool> {
        match core.layout.options.tuning.log_first {
            LogFirst::Yes => Ok(false),
            LogFirst::No => direct::store_edge(core, edge, weight),
        }
    }

    fn stored_edges(&self) -> u64 {
        self.direct.load(Relaxed)
    }

    fn lists(&self) -> Lists {
        self.room.lists()
    }

    #[inline]
    fn expect(&self, updates: &[u32], vertex_bound: u32) -> Result<()> {
        self.room.check_length(updates)?;
        self.room.expect(updates, vertex_bound, |shard| {
            let words = SIDES * shard..SIDES * shard + self.options.list_count();
            words.into_iter().try_for_each(|index| self.table.reserve(index))
        })
    }

    #[inline]
    fn make_room(&self) -> Result<()> {
        self.room.make_room()?;
        self.rows.as_ref().map_or(Ok(()), Rows::make_room)
    }

    fn forget_room(&self, updates: &[u32]) {
        self.room.forget(updates);
    }

    fn copy(&self, shard: &Shard) -> Result<Shard> {
        Ok(shard.clone())
    }

    fn prepare(&self, number: usize, shard: &mut Shard) -> Result<()> {
        shard.materialize(number);
        shard.check_lists()
    }

    fn is_unseen(shard: &Shard) -> bool {
        !shard.is_checked()
    }

    fn see(&self, shard: &mut Shared<Shard>) -> Result<()> {
        if shard.is_checked() {
            return Ok(());
        }
        shard.make_mut().check_lists()
    }

    fn emptied(&self, number: usize, shard: &Shard) -> Result<Shard> {
        let mut emptied = Shard::default();
        emptied.materialize(number);
        emptied.vertices.clone_from(&shard.vertices);
        (emptied.vertex_count, emptied.ended_bound) = (shard.vertex_count, shard.ended_bound);
        Ok(emptied)
    }

    fn take(&self, round: &RoundContext, shard: &mut Shard, mut parts: Parts) -> Result<()> {
        let sides = if self.options.directed { SIDES } else { 1 };
        let parts: Vec<Part<'_>> = parts.all(sides);
        shard.take(&self.context(round), self.options.list_count(), &parts)
    }

    fn take_vertex(
        &self,
        round: &RoundContext,
        shard: &mut Shard,
        local: usize,
        is_vertex: bool,
    ) -> Result<()> {
        shard.take_vertex_update(&self.context(round), local, is_vertex)
    }

    fn drain(&self) -> Result<()> {
        self.arrays().drain(Site::Word)?;
        self.rows.as_ref().map_or(Ok(()), |rows| rows.region().drain(Site::VertexRow))
    }

    fn group_count(&self, updates: u32) -> usize {
        if updates < GROUPED_UPDATES { 1 } else { ROUND_GROUPS }
    }

    fn end_group(&self) {
        self.publish_if_possible();
    }

    /// Brings arrays back from memory, and makes room for the next round.
    fn after_rounds(&self, archive: &mut Archive<Self>, taken: Taken) {
        self.survey(archive, taken.largest_batch);
        let _place = self.provide_place(archive);
        if has_spilled(archive) {
            // Those that find no room stay there, and all do after a failed fence.
            let _later = self.bring_back(archive);
            self.survey(archive, taken.largest_batch);
        }
        self.room.provide(2 * taken.updates.min(self.options.tuning.archive_threshold));
        // Who archives alone leaves nothing behind meanwhile.
        let round_max = match par::thread_count() {
            1 => u64::MAX,
            _ => ROUND_UPDATES.max(archive.degree_sum() / ROUND_SHARE),
        };
        self.round_max.store(round_max, Relaxed);
    }

    fn read_archive(
        &self,
        archive: &mut Archive<Self>,
        log: &EdgeLog,
        access: Access,
    ) -> Result<()> {
        let Recovered { shards, completed } = recovery::recover(self, log, access)?;
        self.completed.store(completed, Relaxed);
        let mut read = Archive::new(shards, log.checkpoint().1, self.epoch());
        read.replay(self, log)?;
        self.survey(&read, 0);
        *archive = read;
        Ok(())
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
        shard.neighbor_bound()
    }

    fn find_neighbor_bound(&self, shard: &Shard) -> u32 {
        shard.find_neighbor_bound()
    }

    /// An anchor tells of the headers of all arrays, so all have to be on the medium.
    fn before_saving(&self, archive: &mut Archive<Self>) -> Result<()> {
        if has_spilled(archive) {
            // The medium may have room again.
            let _tried = self.room.space().make_room();
            let brought = self.bring_back(archive);
            // Insertions need no room any more for what has found some.
            self.survey(archive, 0);
            brought?;
        }
        Ok(())
    }

    fn save(
        &self,
        shards: &mut [(usize, &mut Shared<Shard>)],
        sequence: u64,
        _epoch: u32,
    ) -> Result<()> {
        self.table.publish(self.arrays())?;
        self.arrays().fence(Site::Word)?;
        if let Some(rows) = &self.rows {
            rows.region().fence(Site::VertexRow)?;
        }
        let moment = self.moment();
        let outcomes = par::map_chunks_mut(shards, 1, |_, shard| {
            let (_, shard) = &mut shard[0];
            if shard.arrays.iter().flatten().any(Array::is_dirty) {
                shard.make_mut().write_headers(moment, sequence);
            }
            self.drain()
        });
        outcomes.into_iter().collect::<Result<()>>()?;
        self.arrays().fence(Site::SectionHeader)
    }

    fn checkpoint(&self, archive: &Archive<Self>, epoch: u32) -> Checkpoint {
        let (mut count, mut sum) = (0, 0);
        for section in sections(&archive.shards) {
            count += 1;
            sum += u64::from(section.crc);
        }
        Checkpoint { layout: [count, sum, epoch.into()] }
    }

    fn saved(&self, epoch: u32, _logged_bytes: u64) {
        self.epoch.store(epoch, Relaxed);
    }

    /// Writes arrays anew of which much is deleted.
    fn clean_up(core: &Core<Self>) -> bool {
        let rewriting = Rewriting::new(Why::Compaction);
        rewrite_some(core, rewriting, &|array| {
            let tombstones = array.tombstone_count();
            tombstones >= TOMBSTONES_MIN && tombstones * TOMBSTONES_SHARE >= array.used()
        })
    }

    /// Writes arrays anew, in a pause, of which some is in edge logs: a list that goes on there is read in
    /// pieces. Nobody has asked for it: what insertions may need stays free, and what nobody has read since
    /// opening stays as it is.
    fn put_in_order(core: &Core<Self>, paused: bool) -> bool {
        if !paused || core.layout.room.is_full() {
            return false;
        }
        let entry_words = core.layout.options.entry_words() as u64;
        rewrite_some(core, Rewriting::unasked(), &|array| {
            let logged = array.logged_count() * entry_words;
            array.is_checked && logged * LOGGED_SHARE > array.used()
        })
    }

    fn snapshot(&self, archive: &mut Archive<Self>) -> Result<Snapshot> {
        // What was not looked at since opening.
        let mut unchecked: Vec<_> =
            archive.shards.iter_mut().filter(|shard| !shard.is_checked()).collect();
        let see = |_: usize, shard: &mut [&mut Shared<Shard>]| self.see(shard[0]);
        par::map_chunks_mut(&mut unchecked, 1, see).into_iter().collect::<Result<()>>()?;
        Ok(Snapshot::new(archive, &self.options, self.direct.load(Relaxed)))
    }

    fn shrink(&self) -> Result<()> {
        self.room.shrink()
    }
}

/// Writes some arrays anew that are due. Returns whether it did.
fn rewrite_some(
    core: &Core<Pma>,
    mut rewriting: Rewriting,
    is_due: &(impl Fn(&Array) -> bool + Sync),
) -> bool {
    let mut archive = core.archive();
    if core.refuse_if_failed().is_err() {
        return false;
    }
    let mut refusals = 0;
    loop {
        let rewritten = core.undisturbed(&mut archive, |archive| {
            core.layout.rewrite(archive, &mut rewriting, is_due)
        });
        let (is_done, has_more) =
            (rewriting.done.runs > 0, rewriting.next_shard < archive.shards.len());
        match rewritten {
            // Whoever asks for what is damaged is told; there may be more behind it.
            Err(Error::Corruption { .. }) if !is_done && has_more => {}
            // So there may be behind what finds no room.
            Err(Error::NoSpace { .. }) if !is_done && has_more && refusals < REFUSALS_MAX => {
                refusals += 1;
            }
            rewritten => {
                let _failed = rewritten.inspect_err(|error| core.fail_unless_full(error));
                if is_done {
                    core.layout.survey(&archive, 0);
                }
                return is_done;
            }
        }
    }
}

/// Whether some arrays found no room on the medium.
fn has_spilled(archive: &Archive<Pma>) -> bool {
    arrays(&archive.shards).any(Array::is_in_memory)
}

/// Returns all arrays.
pub(super) fn arrays(shards: &[Shared<Shard>]) -> impl Iterator<Item = &Array> {
    present(shards).flat_map(|(_, shard)| shard.arrays.iter().flatten())
}

/// Returns all sections of all arrays.
pub(super) fn sections(shards: &[Shared<Shard>]) -> impl Iterator<Item = &Section> {
    arrays(shards).flat_map(|array| &array.sections)
}

/// Hands over what this thread has flushed; after a failed fence nothing is fenced any more, and in
/// memory the lists are whole all the same.
pub(super) fn drain(layout: &Pma) -> Result<()> {
    match layout.drain() {
        Err(Error::Poisoned { .. }) => Ok(()),
        outcome => outcome,
    }
}
