//! Opening, or the first use after one with nothing to replay: reads the headers of every array,
//! completes rebalances, and finds the free space. Lists
//! are looked at before the first change or view (`restore.rs`).
//!
//! What is found may not be durable: a process that was killed leaves it in the processor's caches, one
//! whose sync failed in pages that the system takes for clean. So what a crash after the last checkpoint
//! could take away is stored again before anything is acknowledged: the table, undo logs, and headers that
//! are newer. Each was stored after what it speaks of was durable.
//!
//! Source: DGAP §3.1.5. Difference: headers say what lists are, so that nothing has to be guessed
//! from words; there is no flag of a normal shutdown: after a close the log is empty, which is all
//! that a flag could say, and it cannot be stale.

use std::sync::Arc;

use everedge_core::par;

use super::array::Array;
use super::direct;
use super::extent::Extent;
use super::layout::{Pma, sections};
use super::options::LogFirst;
use super::rebalance;
use super::restore::Restored;
use super::shape::Shape;
use super::shard::Shard;
use super::undo::Job;
use everedge_live::{EdgeLog, Space};
use everedge_live::{Error, Result, Shared};
use everedge_medium::{Access, Region, Site};

/// An array as the table and its head tell it.
#[derive(Clone, Copy)]
struct Found {
    index: usize,
    unit: u64,
    shape: Shape,
}

/// What opening found.
pub(super) struct Recovered {
    pub shards: Vec<Shared<Shard>>,
    /// Rebalances that a crash had interrupted.
    pub completed: u64,
}

/// Reads all arrays that the table names, after a log was read whose anchor counts on them.
///
/// # Errors
/// `Corruption` if something that was durable is damaged.
pub(super) fn recover(layout: &Pma, log: &EdgeLog, access: Access) -> Result<Recovered> {
    let region = layout.arrays();
    let found = find(layout, region)?;
    if access == Access::Write {
        layout.table.store_again()?;
        layout.undo.store_again()?;
    }
    let completed = rebalance::complete(&layout.undo, |job: &Job| {
        let array = found.iter().find(|array| array.index == job.index as usize)?;
        let extent =
            Extent::at(region.clone(), layout.salt(), array.shape.units_at(array.unit), None);
        (array.unit == job.unit).then_some((extent, array.shape))
    })?;
    let mut used: Vec<_> = found.iter().map(|array| array.shape.units_at(array.unit)).collect();
    // The first unit says whose file it is.
    layout.room.space().adopt_used(1, &mut used)?;
    let shards = read(layout, region, layout.room.space(), &found, access)?;
    check_checkpoint(layout, (log, access), &shards)?;
    if access == Access::Write {
        let mut arrays = shards.iter().flat_map(|shard| shard.arrays.iter().flatten());
        arrays.try_for_each(|array| array.store_headers_again(layout.epoch()))?;
        region.fence(Site::ArraysFound)?;
    }
    Ok(Recovered { shards, completed })
}

/// Returns all arrays by their numbers.
fn find(layout: &Pma, region: &Region) -> Result<Vec<Found>> {
    let Pma { table, options, .. } = layout;
    let salt = &layout.salt();
    let mut found: Vec<Found> = Vec::new();
    for index in table.indices() {
        let unit = table.unit(index).map_err(|offset| Error::Corruption {
            path: table.region().path().to_owned(),
            offset,
            what: format!("the place of array {index}"),
            expected: "a word that checks itself".into(),
            found: "another".into(),
        })?;
        let Some(unit) = unit else { continue };
        let head = Extent::read_head(region, *salt, unit).filter(|(number, shape)| {
            *number as usize == index
                && shape.section_vertices == options.tuning.section_vertices
                && shape.entry_words as usize == options.entry_words()
                && shape.is_direct == (options.tuning.log_first == LogFirst::No)
        });
        let Some((_, shape)) = head else {
            let extent = Extent::at(region.clone(), *salt, unit..unit, None);
            let what = format!("the head of array {index}");
            return Err(rebalance::damaged(&extent, 0, &what, "a whole one"));
        };
        found.push(Found { index, unit, shape });
    }
    let mut by_place = found.clone();
    by_place.sort_unstable_by_key(|array| array.unit);
    for pair in by_place.windows(2) {
        if pair[0].shape.units_at(pair[0].unit).end > pair[1].unit {
            let extent = Extent::at(region.clone(), *salt, pair[1].unit..pair[1].unit, None);
            let what = format!("array {}", pair[1].index);
            return Err(rebalance::damaged(&extent, 0, &what, "no other in its place"));
        }
    }
    Ok(found)
}

fn read(
    layout: &Pma,
    region: &Region,
    space: &Arc<Space>,
    found: &[Found],
    access: Access,
) -> Result<Vec<Shared<Shard>>> {
    let (salt, options) = (layout.salt(), &layout.options);
    let arrays = par::map_chunks(found, 1, |found| {
        let Found { index, unit, shape } = found[0];
        let units = shape.units_at(unit);
        let extent = Extent::at(region.clone(), salt, units, Some(space.clone()));
        Array::read(Arc::new(extent), shape, index as u32)
    });
    let shard_count = found.last().map_or(0, |last| last.index / 2 + 1);
    let mut arrays = arrays.into_iter().collect::<Result<Vec<Restored>>>()?;
    direct::recover(layout, &mut arrays, access)?;
    let mut shards: Vec<Shared<Shard>> = vec![Shared::default(); shard_count];
    for (found, restored) in found.iter().zip(arrays) {
        let Restored { array, vertices, .. } = restored;
        let number = found.index / 2;
        let shard = shards[number].make_mut();
        shard.materialize(number);
        if found.index.is_multiple_of(2) {
            shard.restore_vertices(&vertices, options.tuning.section_vertices);
        }
        shard.arrays[found.index % 2] = Some(array);
    }
    for shard in shards.iter_mut().filter_map(Shared::get_mut) {
        shard.restore_sums(options.list_count());
    }
    Ok(shards)
}

/// Checks that the headers are those of the last checkpoint, or newer.
fn check_checkpoint(
    layout: &Pma,
    (log, access): (&EdgeLog, Access),
    shards: &[Shared<Shard>],
) -> Result<()> {
    let (region, (checkpoint, _)) = (layout.arrays(), log.checkpoint());
    let [count, expected, _] = checkpoint.layout;
    let (mut sum, mut found, mut newest) = (0, 0, 0);
    for section in sections(shards) {
        sum += u64::from(section.anchored_at(layout.epoch()));
        found += 1;
        newest = newest.max(section.sequence);
    }
    let damaged = |what: &str, expected: String, found: String| Error::Corruption {
        path: region.path().to_owned(),
        offset: 0,
        what: what.into(),
        expected,
        found,
    };
    log.check_end(newest, region.path(), access)?;
    if found < count {
        return Err(layout.table.lacks(format!("arrays of {count} sections, not of {found}")));
    }
    if !region.matches(Site::SectionSum, expected, sum) {
        let expected = format!("{count}, whose checksums' sum is {expected}");
        return Err(damaged("the headers of all sections", expected, format!("{found}, {sum}")));
    }
    Ok(())
}
