//! What writers, readers and the archiving thread of a graph share.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use everedge_core::par::{self, Alone};
use everedge_core::{Edge, watch};
use parking_lot::{Mutex, MutexGuard};

use super::archive::Archive;
use super::calls::Calls;
use super::damage::Unseen;
use super::layout::{Layout, Taken, Wait};
use super::shard::SHARD_SPAN;
use super::shared::{Shared, present};
use crate::batch::{Batch, DELETION};
use crate::log::{Appended, EdgeLog, LINE_BYTES};
use crate::options::{Durability, GraphOptions};
use crate::space::UNIT_BYTES;
use crate::{Error, Manifest, Result};
use everedge_medium::{Access, Pins, Volume};

/// Where each edge is a batch, which takes a line of the log, at most so many are archived at a
/// time: more would cost less each, but who asks for a view waits for as many.
const EDGE_THRESHOLD_MAX: u64 = 1 << 21;
/// And at most this share of the log, so that writers find room until they have to wait;
const EDGE_THRESHOLD_SHARE: u64 = 4;
/// but for fewer than so many it is not worth while to call another thread.
const EDGE_THRESHOLD_MIN: u64 = 1 << 10;
/// Writers that wait for lists do so from one and a half thresholds of updates on that are in none.
const AHEAD: u64 = 3;
const AHEAD_PARTS: u64 = 2;
/// Bytes that an update takes in the log at least.
const BYTES_PER_UPDATE: u64 = 8;

/// A graph without its threads.
pub struct Core<L: Layout> {
    /// Where its files are.
    pub volume: Volume,
    /// What was fixed at creation.
    pub manifest: Manifest<L::Options>,
    /// How neighbors are kept.
    pub layout: L,
    /// Where batches commit.
    pub log: EdgeLog,
    archive: Mutex<Archive<L>>,
    /// How writers call the archiving thread, and wait for whoever archives.
    pub(super) calls: Calls,
    /// How many updates rounds have taken that are not in lists yet, or about as many.
    in_rounds: AtomicU64,
    /// What nobody has looked at since opening.
    unseen: Unseen,
    /// The end of the log, and the free bytes, when saving last made no room.
    full_at: Mutex<Option<(u64, u64)>>,
    /// Why archiving failed, or what is damaged of what was acknowledged; there are no writes then.
    failure: OnceLock<Error>,
}

impl<L: Layout> Core<L> {
    /// Returns the graph that `archive` and `log` are.
    pub fn new(
        volume: Volume,
        manifest: Manifest<L::Options>,
        layout: L,
        log: EdgeLog,
        archive: Archive<L>,
    ) -> Self {
        log.leave_room_for(layout.lists());
        let (unseen, failure) = (Unseen::default(), OnceLock::new());
        let (archive, full_at, calls) = (Mutex::new(archive), Mutex::default(), Calls::default());
        let in_rounds = AtomicU64::new(0);
        let core = Self {
            volume,
            manifest,
            layout,
            log,
            archive,
            calls,
            in_rounds,
            unseen,
            full_at,
            failure,
        };
        core.note_read(&core.archive.lock());
        core
    }

    /// Returns the graph whose archive [`Layout::read_archive`] reads when somebody first writes or
    /// asks for a view.
    pub fn unread(volume: Volume, manifest: Manifest<L::Options>, layout: L, log: EdgeLog) -> Self {
        let core = Self::new(volume, manifest, layout, log, Archive::new(Vec::new(), 0, 0));
        Self { unseen: Unseen::unread(), ..core }
    }

    /// Makes a batch durable, as far as the graph's durability asks for it; `is_alone` says that the
    /// caller keeps other writers out. Returns whether there is enough to be archived.
    pub(super) fn commit(&self, batch: &Batch, is_alone: bool) -> Result<bool> {
        if batch.is_empty() {
            return Ok(false);
        }
        self.refuse_if_failed()?;
        self.check_batch(batch)?;
        self.look_at(batch.updates())?;
        let log = &self.log;
        log.begin_writing()?;
        if !batch.only_takes_away() {
            self.make_room()?;
        }
        self.expect(batch.updates(), batch.vertex_bound())?;
        let appended = self.append(batch, is_alone);
        let (position, untaken) = appended.inspect_err(|_| self.forget_room(batch))?;
        if self.layout.options().durability != Durability::None {
            log.make_durable(position)?;
        }
        Ok(untaken >= self.threshold(1))
    }

    /// Commits one update of an edge, of which `src` carries the mark of a deletion. Returns nothing
    /// if it is to be committed as a batch.
    #[inline]
    pub(super) fn commit_edge(
        &self,
        (src, dst): Edge,
        weight: Option<f32>,
    ) -> Result<Option<bool>> {
        let (log, options) = (&self.log, self.layout.options());
        if !log.takes_lines()
            || options.durability == Durability::None
            || weight.is_some() != options.weighted
        {
            return Ok(None);
        }
        self.refuse_if_failed()?;
        let updates = [src, dst];
        self.look_at(&updates)?;
        log.begin_generation()?;
        if src & DELETION == 0 {
            self.make_room()?;
        }
        self.expect(&updates, (src & !DELETION).max(dst) + 1)?;
        match log.append_line((src, dst), weight.map(f32::to_bits))? {
            Appended::Full => Ok(None),
            Appended::At { untaken, .. } => Ok(Some(untaken >= self.threshold(1))),
        }
    }

    /// Before updates are logged, of two words each: what is damaged takes nothing in (G1).
    #[inline]
    fn look_at(&self, updates: &[u32]) -> Result<()> {
        match self.unseen.is_nothing() {
            true => Ok(()),
            false => self.look_closer(updates),
        }
    }

    #[cold]
    fn look_closer(&self, updates: &[u32]) -> Result<()> {
        if self.unseen.is_unread() {
            drop(self.up_to_date()?);
            self.refuse_if_failed()?;
        }
        let named = self.unseen.named_by(updates);
        if named.is_empty() {
            return Ok(());
        }
        let mut archive = self.archive();
        let is_named = |(number, _): &(usize, _)| named.binary_search(number).is_ok();
        let mut shards: Vec<_> = archive.shards.iter_mut().enumerate().filter(is_named).collect();
        let see = |_: usize, shard: &mut [(usize, &mut Shared<L::Shard>)]| {
            let (number, shard) = &mut shard[0];
            self.layout.see(shard).map(|()| self.unseen.note_seen(*number))
        };
        par::map_chunks_mut(&mut shards, 1, see).into_iter().collect()
    }

    /// Notes what is still to be looked at of an archive that was read, and whether what the log has for
    /// it waits there for good (G2).
    fn note_read(&self, archive: &Archive<L>) {
        self.unseen.note_read(archive.shards.iter().map(|shard| L::is_unseen(shard)));
        if let Err(error) = self.refuse_damage(archive) {
            self.fail(&error);
        }
    }

    /// Returns what is damaged of what was acknowledged: in the log, and in shards that lack what it has
    /// for them.
    pub fn damage(&self, archive: &Archive<L>) -> Vec<Error> {
        let lacking = archive.lacking().into_iter().map(|(_, error)| error);
        self.log.damage().into_iter().chain(lacking).collect()
    }

    /// Refuses to answer as if all that was acknowledged were there.
    ///
    /// # Errors
    /// The first [`damage`](Self::damage).
    pub(super) fn refuse_damage(&self, archive: &Archive<L>) -> Result<()> {
        self.log.refuse_damage()?;
        archive.lacking.refuse()
    }

    /// Returns a frozen view of what is archived.
    ///
    /// # Errors
    /// `Corruption` if what it would read is damaged.
    pub fn view(&self, archive: &mut Archive<L>) -> Result<L::Snapshot> {
        self.refuse_damage(archive)?;
        let snapshot = self.layout.snapshot(archive)?;
        match self.find_strangers(archive).pop() {
            Some((_, error)) => return Err(error),
            None => self.unseen.note_all_seen(),
        }
        Ok(snapshot)
    }

    /// Returns the shards whose lists name ids that are beyond all vertices: whoever reads a view relies
    /// on its bound. All were looked at.
    fn find_strangers(&self, archive: &Archive<L>) -> Vec<(usize, Error)> {
        let bound = present(&archive.shards).map(|(_, shard)| L::totals(shard).vertex_bound).max();
        let bound = bound.unwrap_or(0);
        let named = present(&archive.shards).filter(|(_, shard)| L::neighbor_bound(shard) > bound);
        let named = named.map(|(number, shard)| (number, self.layout.find_neighbor_bound(shard)));
        let damaged = |(number, named): (usize, u32)| {
            let (first, last) = (number * SHARD_SPAN, (number + 1) * SHARD_SPAN - 1);
            let error = Error::Corruption {
                path: self.layout.lists().spaces[0].region().path().to_owned(),
                offset: 0,
                what: format!("the lists of the vertices from {first} to {last}"),
                expected: format!("neighbors below {bound}"),
                found: format!("neighbor {}", named - 1),
            };
            (number, error)
        };
        named.filter(|(_, named)| *named > bound).map(damaged).collect()
    }

    /// Before an insertion is logged: makes sure that it will find room. What the log holds may need
    /// less of it than was to be kept for that.
    #[inline]
    fn make_room(&self) -> Result<()> {
        self.layout.make_room().or_else(|error| self.make_room_by_saving(error))
    }

    #[cold]
    fn make_room_by_saving(&self, error: Error) -> Result<()> {
        // Where it made no room it makes none until something else is logged or becomes free.
        let end = self.log.next_sequence();
        let is_in_vain =
            self.log.used_bytes() == 0 || *self.full_at.lock() == Some((end, self.free_bytes()));
        if !matches!(error, Error::NoSpace { .. }) || is_in_vain {
            return Err(error);
        }
        let mut archive = self.up_to_date()?;
        let saved = self.save_all(&mut archive);
        if saved.is_ok() {
            self.undisturbed(&mut archive, |archive| {
                self.layout.after_rounds(archive, Taken::default());
            });
        }
        drop(archive);
        let made = saved.and_then(|()| self.layout.make_room());
        if let Err(Error::NoSpace { .. }) = made {
            *self.full_at.lock() = Some((end, self.free_bytes()));
        }
        made
    }

    /// Returns how many bytes lists may still take: in their files and of the medium.
    fn free_bytes(&self) -> u64 {
        let spaces = self.layout.lists().spaces;
        let units: u64 = spaces.iter().map(|space| space.room().units).sum();
        let of_medium = spaces.iter().map(|space| space.region().free_bytes()).min();
        of_medium.unwrap_or(0).saturating_add(UNIT_BYTES * units)
    }

    /// Before something is logged: makes sure that the shards that it names can be saved, a deletion's
    /// too. Without room it ends what is logged, and gives unused ends of files back.
    #[inline]
    fn expect(&self, updates: &[u32], vertex_bound: u32) -> Result<()> {
        self.layout
            .expect(updates, vertex_bound)
            .or_else(|error| self.expect_after_saving(error, (updates, vertex_bound)))
    }

    #[cold]
    fn expect_after_saving(
        &self,
        error: Error,
        (updates, vertex_bound): (&[u32], u32),
    ) -> Result<()> {
        if !matches!(error, Error::NoSpace { .. }) {
            return Err(error);
        }
        let mut archive = self.up_to_date()?;
        match self.save_all(&mut archive) {
            Ok(()) | Err(Error::NoSpace { .. }) => self.layout.shrink()?,
            Err(error) => return Err(error),
        }
        drop(archive);
        self.layout.expect(updates, vertex_bound)
    }

    /// After a batch was not logged: nothing is kept for it.
    fn forget_room(&self, batch: &Batch) {
        if let Ok(_archive) = self.up_to_date() {
            self.layout.forget_room(batch.updates());
        }
    }

    fn check_batch(&self, batch: &Batch) -> Result<()> {
        let options = self.layout.options();
        self.volume.check_writable()?;
        if batch.is_weighted() != options.weighted {
            let (graph, batch) = if options.weighted { ("has", "lacks") } else { ("lacks", "has") };
            let what = format!("the graph {graph} weights, the batch {batch} them");
            return Err(Error::InvalidInput { what });
        }
        if u32::try_from(batch.len()).is_err() {
            let what = format!("a batch takes at most {} updates, not {}", u32::MAX, batch.len());
            return Err(Error::InvalidInput { what });
        }
        Ok(())
    }

    fn append(&self, batch: &Batch, is_alone: bool) -> Result<(u64, u64)> {
        let log = &self.log;
        let is_too_large = log.bytes_for(batch) > log.capacity();
        let mut alone = (is_too_large && !is_alone).then(|| log.keep_others_out());
        let mut is_ring_fresh = false;
        loop {
            let full = match log.append(batch, is_alone || alone.is_some()) {
                Ok(Appended::At { position, untaken }) => return Ok((position, untaken)),
                Ok(Appended::Full) => None,
                Err(error @ Error::NoSpace { .. }) => Some(error),
                Err(error) => return Err(error),
            };
            if !is_alone && alone.is_none() {
                // From now on the ring is as it is left here: others could fill it again each time. One of
                // them may just have made room.
                alone = Some(log.keep_others_out());
                continue;
            }
            let (needed, was_empty) = (log.bytes_for(batch), log.used_bytes() == 0);
            self.refuse_if_failed()?;
            let mut archive = self.up_to_date()?;
            let saved = self.save_all(&mut archive);
            let is_short = matches!(saved, Err(Error::NoSpace { .. }));
            if full.is_some() || is_short {
                self.layout.shrink()?;
            }
            // Another file may have room now.
            if is_short { self.save_all(&mut archive) } else { saved }?;
            drop(archive);
            match full {
                None if needed > log.capacity() => drop(log.restart_ring(2 * needed)?),
                None => {}
                Some(error) if was_empty && is_ring_fresh => {
                    // A ring that became larger for it would keep more free.
                    let log_bytes = self.layout.options().log_bytes;
                    let _restarted = log.capacity() > log_bytes && log.restart_ring(log_bytes)?;
                    return Err(error);
                }
                Some(_) => {
                    is_ring_fresh = log.restart_ring(log.capacity().max(needed))?;
                }
            }
        }
    }

    /// Whether there are at least so many thresholds of updates to be archived.
    pub fn is_due(&self, thresholds: u64) -> bool {
        self.log.untaken_updates() >= self.threshold(thresholds)
    }

    /// Returns how many updates so many thresholds are.
    fn threshold(&self, thresholds: u64) -> u64 {
        let threshold = self.layout.pace().archive_threshold;
        let GraphOptions { durability, log_bytes, .. } = *self.layout.options();
        let most = match durability {
            Durability::Edge => (log_bytes / LINE_BYTES / EDGE_THRESHOLD_SHARE)
                .clamp(EDGE_THRESHOLD_MIN, EDGE_THRESHOLD_MAX),
            _ => u64::MAX,
        };
        threshold.min(most).max(1).saturating_mul(thresholds)
    }

    /// Calls the archiving thread, and waits while archiving is as far behind as the layout says.
    pub fn call_archiving(&self) {
        self.calls.call(|| self.is_far_behind());
    }

    fn is_far_behind(&self) -> bool {
        let is_far = match self.layout.pace().wait {
            Wait::ForRound => self.is_due(1),
            Wait::ForLists => {
                let behind = self.log.untaken_updates() + self.in_rounds.load(Relaxed);
                AHEAD_PARTS * behind >= self.threshold(AHEAD)
            }
        };
        is_far && self.refuse_if_failed().is_ok()
    }

    /// Archives what was logged if that is much. What fails here fails no batch: those are in the
    /// log. Later writes are refused.
    pub(super) fn archive_if_due(&self) {
        while self.is_due(1) && self.archive_once() {}
        // A step at least, so that this is never behind for good; more while nobody waits for archiving.
        while L::clean_up(self) && !self.is_due(1) {}
        while !self.is_due(1) && L::put_in_order(self, false) {}
    }

    /// Returns whether it went well.
    fn archive_once(&self) -> bool {
        let mut archive = self.archive();
        let before = archive.next_sequence;
        // Where batches are not durable on return, this makes them: only then are they archived.
        if self.refuse_if_failed().is_err() || self.bring_up_to_date(&mut archive).is_err() {
            return false;
        }
        // On a full medium what is not flushed or saved stays where it is.
        if self.layout.is_flush_due(&archive) {
            let _flushed = self.flush(&mut archive);
        }
        let numbers = match self.log.is_nearly_full() {
            true => archive.all_unsaved(),
            false => {
                let log_updates_max = self.layout.options().log_bytes / BYTES_PER_UPDATE;
                let updates = archive.next_sequence - before;
                archive.due(updates, log_updates_max)
            }
        };
        if !numbers.is_empty() {
            let _saved = self.save(&mut archive, &numbers);
        }
        true
    }

    /// Returns what is archived now, until others go on.
    pub fn archive(&self) -> Held<'_, L> {
        let alone = Alone::new();
        Held { archive: self.archive.lock(), _alone: alone }
    }

    /// Returns a frozen view in which damaged shards have their vertices and no lists, and by their numbers
    /// what is damaged of them.
    ///
    /// # Errors
    /// `NoSpace` if there is no memory for it.
    pub(super) fn salvage(
        &self,
        archive: &mut Archive<L>,
    ) -> Result<(L::Snapshot, BTreeMap<usize, Error>)> {
        let shards = archive.shards.iter_mut().enumerate();
        let mut shards: Vec<_> = shards.filter(|(_, shard)| shard.get().is_some()).collect();
        let see = |_: usize, shard: &mut [(usize, &mut Shared<L::Shard>)]| {
            let (number, shard) = &mut shard[0];
            (*number, self.layout.see(shard))
        };
        let mut damage = BTreeMap::new();
        for (number, seen) in par::map_chunks_mut(&mut shards, 1, see) {
            match seen {
                Ok(()) => {}
                Err(error @ Error::Corruption { .. }) => drop(damage.insert(number, error)),
                Err(error) => return Err(error),
            }
        }
        let mut lacking = archive.lacking().into_iter().peekable();
        // What lacks updates may lack the vertices that others name.
        if lacking.peek().is_none() && !self.log.is_damaged() {
            damage.extend(self.find_strangers(archive));
        }
        damage.extend(lacking);
        let empty = |&number: &usize| {
            let emptied = self.layout.emptied(number, &archive.shards[number])?;
            Ok((number, Shared::new(emptied)))
        };
        let mut others = damage.keys().map(empty).collect::<Result<Vec<_>>>()?;
        let mut swap = |archive: &mut Archive<L>| {
            for (number, shard) in &mut others {
                std::mem::swap(&mut archive.shards[*number], shard);
            }
        };
        let snapshot = self.undisturbed(archive, |archive| {
            swap(archive);
            let snapshot = self.layout.snapshot(archive);
            swap(archive);
            snapshot
        });
        Ok((snapshot?, damage))
    }

    /// Archives all acknowledged batches. Returns what is archived, until others go on.
    ///
    /// # Errors
    /// If archiving fails now, or ended halfway before.
    pub fn up_to_date(&self) -> Result<Held<'_, L>> {
        self.refuse_if_forked()?;
        let mut archive = self.archive();
        self.bring_up_to_date(&mut archive)?;
        Ok(archive)
    }

    /// As [`up_to_date`](Self::up_to_date), for a writer: nobody keeps others out then, until others go on.
    ///
    /// # Errors
    /// As [`up_to_date`](Self::up_to_date).
    pub fn up_to_date_for_writing(&self) -> Result<Held<'_, L>> {
        loop {
            self.log.wait_for_release();
            let archive = self.up_to_date()?;
            // Who keeps others out from now on waits for the archive before it looks at anything.
            if !self.log.is_kept() {
                return Ok(archive);
            }
        }
    }

    /// Archives all acknowledged batches; without a fence after a failure. Writers that wait go on when
    /// that is done, or when it is known what is taken, as the layout says.
    ///
    /// Nothing cancels it: what it takes from the log is nowhere else. A panic leaves the archive
    /// torn, and nobody reads it then.
    fn bring_up_to_date(&self, archive: &mut Archive<L>) -> Result<()> {
        self.refuse_if_torn(archive)?;
        if self.unseen.is_unread() {
            let access = self.volume.access();
            self.undisturbed(archive, |archive| {
                self.layout.read_archive(archive, &self.log, access)
            })?;
            self.note_read(archive);
        }
        let has_failed = self.refuse_if_failed().is_err();
        if !has_failed {
            self.log.make_all_durable().inspect_err(|error| self.fail(error))?;
        }
        let take = || {
            let records = match self.layout.options().durability {
                // They were acknowledged, and nothing will make them durable.
                Durability::None if has_failed => self.log.take_stored_records(),
                _ => self.log.take_records(),
            };
            if self.layout.pace().wait == Wait::ForRound {
                self.calls.announce();
            }
            records
        };
        let left = |updates: u64| {
            self.in_rounds.store(updates, Relaxed);
            if self.layout.pace().wait == Wait::ForLists {
                self.calls.announce();
            }
        };
        // Counted twice for a moment, rather than not at all.
        self.in_rounds.store(self.log.untaken_updates(), Relaxed);
        let take_all =
            |archive: &mut Archive<L>| archive.take_all(&self.layout, &self.log, take, &left);
        // Where nothing is taken nothing changes, and nobody who copies begins anew.
        let outcome = match self.log.untaken_updates() {
            0 => Ok(()),
            _ => self.undisturbed(archive, take_all),
        };
        self.in_rounds.store(0, Relaxed);
        archive.is_torn |= outcome.is_err();
        self.calls.announce();
        if let Some(error) = self.layout.failure() {
            self.fail(&error);
        }
        outcome.inspect_err(|error| self.fail(error))
    }

    /// Archives everything and saves all shards, so that the log is empty.
    ///
    /// # Errors
    /// `NoSpace` if the medium is full; the log keeps then what it has.
    pub fn flush_all(&self) -> Result<()> {
        self.refuse_if_failed()?;
        let mut archive = self.up_to_date()?;
        self.save_all(&mut archive)
    }

    /// Saves everything, empties the log and gives unused space back.
    pub(super) fn close(&self) -> Result<()> {
        self.refuse_if_forked()?;
        if self.volume.access() == Access::Read || self.log.is_untouched() {
            return Ok(());
        }
        self.refuse_if_failed()?;
        self.volume.check_is_there()?;
        let saved = self.save_all(&mut *self.up_to_date()?);
        match saved {
            // The log still holds what has no place; the next opening replays it.
            Err(Error::NoSpace { .. }) => return self.log.make_all_durable(),
            outcome => outcome?,
        }
        let _restarted = self.log.restart_ring(self.layout.options().log_bytes)?;
        self.layout.shrink()?;
        self.layout.lists().spaces.iter().try_for_each(|space| space.give_ranges_back())
    }

    /// Moves what waits in memory to the medium.
    ///
    /// # Errors
    /// As [`Layout::flush`].
    pub fn flush(&self, archive: &mut Archive<L>) -> Result<()> {
        self.refuse_if_failed()?;
        self.undisturbed(archive, |archive| self.layout.flush(archive))
            .inspect_err(|error| self.fail_unless_full(error))
    }

    /// Saves all shards that are not, and frees the log.
    ///
    /// # Errors
    /// As [`Layout::save`].
    pub fn save_all(&self, archive: &mut Archive<L>) -> Result<()> {
        let numbers = archive.all_unsaved();
        if numbers.is_empty() && self.log.used_bytes() == 0 {
            return Ok(());
        }
        self.save_in_parts(archive, &numbers)
    }

    /// Saves some shards. The fewer at a time, the less room they need: what each replaces is free
    /// for the next; one alone is saved with the least that the layout can do with.
    fn save_in_parts(&self, archive: &mut Archive<L>, mut numbers: &[usize]) -> Result<()> {
        let mut part_len = numbers.len();
        loop {
            let (part, rest) = numbers.split_at(part_len.min(numbers.len()));
            match (self.save(archive, part), part) {
                (Err(Error::NoSpace { .. }), &[number]) => {
                    self.undisturbed(archive, |archive| {
                        L::save_with_least_room(self, archive, number)
                    })?;
                }
                (Err(Error::NoSpace { .. }), [_, _, ..]) => {
                    part_len = part.len().div_ceil(2);
                    continue;
                }
                (outcome, _) => outcome?,
            }
            if rest.is_empty() {
                return Ok(());
            }
            numbers = rest;
        }
    }

    /// Saves some shards.
    ///
    /// # Errors
    /// As [`Layout::save`].
    pub fn save(&self, archive: &mut Archive<L>, numbers: &[usize]) -> Result<()> {
        self.refuse_if_failed()?;
        self.volume
            .check_is_there()
            .and_then(|()| {
                self.undisturbed(archive, |archive| archive.save(&self.layout, &self.log, numbers))
            })
            .inspect_err(|error| self.fail_unless_full(error))
    }

    /// Changes lists, which nothing may cancel. If it panics the archive stays torn, and all is refused
    /// from then on.
    pub fn undisturbed<R>(
        &self,
        archive: &mut Archive<L>,
        work: impl FnOnce(&mut Archive<L>) -> R,
    ) -> R {
        let unwinding = Unwinding(self);
        let changes_files = L::CHANGES_IN_PLACE && self.volume.access() == Access::Write;
        let pins = self.volume.pins().filter(|_| changes_files);
        let _changing = pins.map(Pins::change_in_place);
        let was_torn = std::mem::replace(&mut archive.is_torn, true);
        let done = watch::undisturbed(|| work(archive));
        archive.is_torn = was_torn;
        std::mem::forget(unwinding);
        done
    }

    /// Refuses later writes after an error, unless the medium was only full, or something was found
    /// damaged before it was changed.
    pub fn fail_unless_full(&self, error: &Error) {
        if !matches!(error, Error::NoSpace { .. } | Error::Corruption { .. }) {
            self.fail(error);
        }
    }

    /// Refuses later writes, and those that wait for archiving.
    fn fail(&self, error: &Error) {
        self.failure.get_or_init(|| error.again());
        self.calls.announce();
    }

    pub(super) fn refuse_from_now_on(&self, why: &str) {
        self.fail(&Error::Poisoned { first: why.to_owned() });
    }

    /// Refuses to read lists of which archiving has left some half done.
    ///
    /// # Errors
    /// `Poisoned` with the text of the first failure.
    pub fn refuse_if_torn(&self, archive: &Archive<L>) -> Result<()> {
        match archive.is_torn {
            true => self.refuse_if_failed(),
            false => Ok(()),
        }
    }

    /// Refuses a write after one failed for good.
    ///
    /// # Errors
    /// `Poisoned` with the text of the first failure; `Corruption` if opening found damage.
    #[inline]
    pub fn refuse_if_failed(&self) -> Result<()> {
        self.volume.check_health()?;
        self.failure.get().map_or(Ok(()), |first| Err(first.again()))
    }

    /// Refuses what takes locks, or writes, in a forked child: threads that held locks at the fork are
    /// not there, and what a child stores, its parent sees.
    ///
    /// # Errors
    /// `Forked` if this process was forked from the one that opened the graph.
    pub(super) fn refuse_if_forked(&self) -> Result<()> {
        match self.volume.check_health() {
            Err(error @ Error::Forked) => Err(error),
            _ => Ok(()),
        }
    }
}

/// The archive, while others wait for it. Its loops take no other work of a caller's pool: that may
/// want the archive, too.
pub struct Held<'a, L: Layout> {
    archive: MutexGuard<'a, Archive<L>>,
    _alone: Alone,
}

impl<L: Layout> Deref for Held<'_, L> {
    type Target = Archive<L>;

    fn deref(&self) -> &Archive<L> {
        &self.archive
    }
}

impl<L: Layout> DerefMut for Held<'_, L> {
    fn deref_mut(&mut self) -> &mut Archive<L> {
        &mut self.archive
    }
}

/// Refuses all later writes if archiving unwinds: some lists may hold a batch and others not.
struct Unwinding<'a, L: Layout>(&'a Core<L>);

impl<L: Layout> Drop for Unwinding<'_, L> {
    fn drop(&mut self) {
        self.0.refuse_from_now_on("archiving ended halfway by a panic");
    }
}
