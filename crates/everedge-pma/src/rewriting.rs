//! Arrays that are written anew: a share of them at a time, so that others go on in between, and the
//! place of one is free for the next.

use std::ops::Range;

use everedge_core::{par, watch};

use super::array::Array;
use super::build::Fill;
use super::layout::{Pma, arrays, drain};
use super::mechanisms::Why;
use super::shard::{Additions, Shard};
use everedge_live::{Archive, Compaction, Core, Error, Result, SIDES, Shared, UNIT_BYTES};

/// A compaction writes this share of all arrays before it lets others go on,
const COMPACTION_SHARE: u64 = 16;
/// and what nobody has asked for so many units, if that is less.
const UNASKED_UNITS: u64 = (32 << 20) / UNIT_BYTES;
/// One that lacks room tries so often what others have freed meanwhile.
const COMPACTION_PASSES_MAX: u32 = 64;

/// A pass over all arrays, a group of shards at a time.
pub(super) struct Rewriting {
    why: Why,
    /// Whether nobody has asked for it: then it leaves free what insertions may need.
    is_unasked: bool,
    /// Where the next group begins.
    pub next_shard: usize,
    pub done: Compaction,
}

impl Rewriting {
    pub(super) fn new(why: Why) -> Self {
        Self { why, is_unasked: false, next_shard: 0, done: Compaction::default() }
    }

    /// Returns one that nobody has asked for.
    pub(super) fn unasked() -> Self {
        Self { is_unasked: true, ..Self::new(Why::Compaction) }
    }
}

/// Writes every array anew that has deletions or entries in edge logs.
///
/// # Errors
/// `NoSpace` if the medium has no room for one, `Corruption` if one is damaged; the others are done.
pub(super) fn compact(core: &Core<Pma>) -> Result<Compaction> {
    core.refuse_if_failed()?;
    core.volume.check_writable()?;
    drop(core.up_to_date()?);
    core.log.begin_writing()?;
    // The medium may have room again. If not, there is a place for one array after the other.
    let _tried = core.layout.room.space().make_room();
    let is_due = |array: &Array| array.tombstone_count() > 0 || array.has_logged();
    let mut total = Rewriting::new(Why::Compaction);
    for pass in 1.. {
        let runs_before = total.done.runs;
        match rewrite_all(core, &mut total, &is_due) {
            Ok(()) => break,
            // What the others have freed may be room for those that found none.
            Err(Error::NoSpace { .. })
                if total.done.runs > runs_before && pass < COMPACTION_PASSES_MAX => {}
            Err(error) => return Err(error),
        }
    }
    core.flush_all()?;
    core.layout.survey(&core.archive(), 0);
    core.layout.room.provide(0);
    Ok(total.done)
}

/// Writes all arrays anew that are due, and lets others go on in between.
fn rewrite_all(
    core: &Core<Pma>,
    rewriting: &mut Rewriting,
    is_due: &(impl Fn(&Array) -> bool + Sync),
) -> Result<()> {
    rewriting.next_shard = 0;
    let mut outcome = Ok(());
    loop {
        watch::check();
        let mut archive = core.up_to_date()?;
        if rewriting.next_shard >= archive.shards.len() {
            return outcome;
        }
        let rewritten = core
            .undisturbed(&mut archive, |archive| core.layout.rewrite(archive, rewriting, is_due));
        match rewritten {
            Err(error @ Error::NoSpace { .. }) => outcome = Err(error),
            // What is damaged stays as it is, and what lacks room is tried again.
            Err(error @ Error::Corruption { .. }) => outcome = outcome.and(Err(error)),
            done => done?,
        }
    }
}

impl Pma {
    /// Writes the next group of those arrays anew that are due.
    ///
    /// # Errors
    /// `NoSpace` if the medium has no room for some: those are as before, the others are done.
    pub(super) fn rewrite(
        &self,
        archive: &mut Archive<Self>,
        rewriting: &mut Rewriting,
        is_due: &(impl Fn(&Array) -> bool + Sync),
    ) -> Result<()> {
        let most = if rewriting.is_unasked { UNASKED_UNITS } else { u64::MAX };
        let group = group(&archive.shards, (rewriting.next_shard, most), is_due);
        // First of all: whoever goes on after an error comes to the end.
        rewriting.next_shard = group.end;
        let (mut context, mut fill) = (self.context_after(archive.next_sequence), Fill::Any);
        if rewriting.is_unasked {
            (context.kept, fill) = (self.room.needed(), Fill::Roomy);
        } else {
            self.provide_place(archive)?;
        }
        let is_of_due = |shard: &Shared<Shard>| shard.arrays.iter().flatten().any(is_due);
        let numbers: Vec<usize> =
            group.clone().filter(|&number| is_of_due(&archive.shards[number])).collect();
        numbers.iter().for_each(|&number| archive.note_changed(number));
        let mut due: Vec<_> =
            archive.shards[group].iter_mut().filter(|shard| is_of_due(shard)).collect();
        let outcomes = par::map_chunks_mut(&mut due, 1, |_, shard| {
            let mut done = Compaction::default();
            let shard = shard[0].make_mut();
            let rewritten = shard.rewrite(&context, (rewriting.why, fill), is_due, &mut done);
            (done, rewritten.and_then(|()| drain(self)))
        });
        self.publish_if_possible();
        for (of_shard, _) in &outcomes {
            rewriting.done.runs += of_shard.runs;
            rewriting.done.freed_bytes += of_shard.freed_bytes;
            rewriting.done.written_bytes += of_shard.written_bytes;
        }
        let (mut lack, mut damage) = (Ok(()), Ok(()));
        for (_, rewritten) in outcomes {
            match rewritten {
                Err(error @ Error::NoSpace { .. }) => lack = Err(error),
                Err(error @ Error::Corruption { .. }) => damage = Err(error),
                rewritten => rewritten?,
            }
        }
        if lack.is_err() && !rewriting.is_unasked {
            lack = self.rewrite_in_turn(archive, &numbers, rewriting, is_due);
        }
        lack.and(damage)
    }

    /// Writes arrays of some shards anew, one after the other: where there is a place for one only.
    fn rewrite_in_turn(
        &self,
        archive: &mut Archive<Self>,
        numbers: &[usize],
        rewriting: &mut Rewriting,
        is_due: &impl Fn(&Array) -> bool,
    ) -> Result<()> {
        let (mut lack, mut damage) = (Ok(()), Ok(()));
        for (&number, side) in
            numbers.iter().flat_map(|number| (0..SIDES).map(move |side| (number, side)))
        {
            let units = |archive: &Archive<Self>| {
                archive.shards[number].arrays[side].as_ref().map_or(0, |array| array.shape.units())
            };
            if archive.shards[number].arrays[side].as_ref().is_some_and(is_due) {
                self.provide_place(archive)?;
                let before = units(archive);
                match self.move_array(archive, (number, side), rewriting.why) {
                    Err(error @ Error::Corruption { .. }) => {
                        damage = Err(error);
                        continue;
                    }
                    Err(error @ Error::NoSpace { .. }) => {
                        lack = Err(error);
                        continue;
                    }
                    moved => moved?,
                }
                rewriting.done.runs += 1;
                rewriting.done.freed_bytes += UNIT_BYTES * before;
                rewriting.done.written_bytes += UNIT_BYTES * units(archive);
            }
        }
        drain(self)?;
        lack.and(damage)
    }

    /// Writes arrays onto the medium that are in memory.
    ///
    /// # Errors
    /// `NoSpace` if there is no room for some: the others are there.
    pub(super) fn bring_back(&self, archive: &mut Archive<Self>) -> Result<()> {
        let is_spilled = |array: &Option<Array>| array.as_ref().is_some_and(Array::is_in_memory);
        let mut lack = Ok(());
        for number in 0..archive.shards.len() {
            for side in 0..SIDES {
                if is_spilled(&archive.shards[number].arrays[side]) {
                    self.provide_place(archive)?;
                    match self.move_array(archive, (number, side), Why::Room) {
                        Err(error @ Error::NoSpace { .. }) => lack = Err(error),
                        moved => moved?,
                    }
                }
            }
        }
        drain(self)?;
        lack
    }

    /// Makes sure that there is a place for one array, if that is possible.
    pub(super) fn provide_place(&self, archive: &mut Archive<Self>) -> Result<()> {
        self.room.provide(0);
        match self.room.is_full() {
            true => self.join_free(archive, self.room.kept(0).longest),
            false => Ok(()),
        }
    }

    /// Writes an array without gaps, into the shortest free range that is long enough.
    ///
    /// # Errors
    /// `NoSpace` if there is none: it is as before.
    pub(super) fn move_array(
        &self,
        archive: &mut Archive<Self>,
        (number, side): (usize, usize),
        why: Why,
    ) -> Result<()> {
        let context = self.context_after(archive.next_sequence);
        // What is damaged does not change.
        archive.own(self, number)?;
        archive.note_changed(number);
        let Shard { arrays, vertices, .. } = archive.own(self, number)?;
        let vertices: &[u64] = if side == 0 { vertices } else { &[] };
        let array = arrays[side].as_mut().expect("the array that was chosen");
        let how = (why, Fill::Tight);
        array.rebuild(&context, &Additions::none(), (vertices, 0), how)
    }
}

/// Returns shards from the number `first` on, of which arrays of a share of all bytes are due, or of `most`
/// units, but of one shard at least.
fn group(
    shards: &[Shared<Shard>],
    (first, most): (usize, u64),
    is_due: &impl Fn(&Array) -> bool,
) -> Range<usize> {
    let units = |array: &Array| array.shape.units();
    let most = most.min(arrays(shards).map(units).sum::<u64>() / COMPACTION_SHARE);
    let mut sum = 0;
    let of_shard = |shard: &Shared<Shard>| -> u64 {
        let arrays = shard.get().into_iter().flat_map(|shard| shard.arrays.iter().flatten());
        arrays.filter(|array| is_due(array)).map(units).sum()
    };
    let rest = shards.get(first..).unwrap_or(&[]);
    let count = rest.iter().take_while(|shard| {
        let is_in = sum <= most;
        sum += of_shard(shard);
        is_in
    });
    first..first + count.count()
}
