//! Opening after a kill: takes over what the process left in its segment.
//!
//! Shards whose records say whole are taken as they are. The others were changing when the process
//! was killed: they are built again from their blocks and from what the log says of them, like
//! all shards without a segment (`recovery.rs`), but blocks and log are read for them only. What
//! was logged and not yet archived stays so. Anything that does not fit together makes the whole
//! segment void, and the graph is recovered without it.
//!
//! If the log has passed what is in buffers only (`segment.rs`, G4), shards that were changing are
//! taken as they were before; blocks that were written meanwhile are wiped.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use everedge_core::par;

use super::archive::{Archive, Machinery};
use super::block::{self, NO_BLOCK, UNIT_LINES};
use super::buffers::{Buffers, Pool};
use super::list::{List, READ_AHEAD};
use super::recovery;
use super::run::{self, SPAN};
use super::segment::{Header, Record};
use super::shard::{Shard, Tally};
use super::table::{Entry, Table, Tables};
use everedge_live::Result;
use everedge_live::{SHARD_SPAN, UNIT_BYTES};
use everedge_medium::{Access, Region, Site};

/// Takes over the segment of `machinery`, whose header is `header`. Returns the archive and the
/// number of shards that were built again.
///
/// # Errors
/// If the medium fails, or there is no memory.
pub(crate) fn take_over(
    machinery: &mut Machinery,
    header: &Header,
    access: Access,
) -> Result<Option<(Archive, usize)>> {
    let segment = machinery.segment.clone();
    let records: Option<Vec<Option<Record>>> =
        (0..header.shard_count).map(|number| segment.record(number)).collect();
    let Some(mut records) = records else { return Ok(None) };
    let shard_count = records.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
    records.truncate(shard_count);
    let mut durable = tallies(&records, |record| record.durable);
    let mut torn: Vec<usize> = (0..shard_count)
        .filter(|&number| records[number].as_ref().is_some_and(|record| !record.is_whole))
        .collect();
    let is_passed = recovery::is_passed(machinery.log.checkpoint().0);
    if is_passed {
        segment.set_passed(true);
        for &number in &torn {
            records[number] = records[number].take().filter(Record::has_slot);
        }
        records.iter_mut().flatten().for_each(|record| record.is_whole = true);
        if !is_counted_on(machinery, &durable) {
            // The anchor came first.
            durable = tallies(&records, Record::tally);
        }
    }
    let records = &records[..];
    let Some(used_tables) = tables_of(machinery, records) else { return Ok(None) };
    if !is_counted_on(machinery, &durable) || !is_inside(machinery, header, records) {
        return Ok(None);
    }
    machinery.tables = Tables::new(segment.clone(), &used_tables);
    machinery.pool = Pool::new(segment.clone());
    let Some(mut shards) = whole_shards(machinery, header, records) else { return Ok(None) };
    let blocks = machinery.places.blocks.clone();
    let unit_counts = &header.next_units[..blocks.len()];
    let used = unit_counts.iter().map(|&next| (next, Vec::new())).collect();
    machinery.sub_graphs.adopt(&blocks, &segment, used);
    if is_passed {
        if access == Access::Write && !torn.is_empty() {
            wipe_unlinked(machinery, unit_counts, &torn, &shards)?;
        }
        torn.clear();
    }
    if !torn.is_empty() {
        let found = recovery::recover_some(machinery, unit_counts, &torn)?;
        for (number, shard, counted_on) in found.shards {
            if counted_on != durable[number] {
                return Ok(None);
            }
            shards[number] = Arc::new(shard);
        }
        if access == Access::Write {
            for &(sub_graph, place) in &found.orphans {
                block::wipe(&blocks[sub_graph], place);
            }
            machinery.sub_graphs.drain(Site::Wipe)?;
        }
    }
    let (next_sequence, epoch) =
        (header.progress.next_sequence, recovery::epoch_of(machinery.log.checkpoint().0));
    let mut archive = Archive::new(shards, durable, next_sequence, epoch);
    (archive.is_dirty, archive.is_taken_over) = (true, true);
    archive.replay_end = machinery.log.next_sequence();
    if !torn.is_empty() {
        let Some(mut records) = machinery.log.records_before(header.progress.position) else {
            return Ok(None);
        };
        // The first that is left may be archived in part.
        records.extend(machinery.log.untaken_records().into_iter().take(1));
        archive.rebuild(machinery, &records, &torn)?;
    }
    Ok(Some((archive, torn.len())))
}

fn tallies(records: &[Option<Record>], tally: impl Fn(&Record) -> Tally) -> Vec<Tally> {
    records.iter().map(|record| record.as_ref().map_or(Tally::default(), &tally)).collect()
}

/// Wipes the blocks of some shards that belong to none of their lists.
fn wipe_unlinked(
    machinery: &Machinery,
    unit_counts: &[u64],
    numbers: &[usize],
    shards: &[Arc<Shard>],
) -> Result<()> {
    let mut linked = HashSet::new();
    for list in numbers.iter().flat_map(|&number| &shards[number].lists) {
        for entry in list.table.entries() {
            let mut place = entry.head;
            while place != NO_BLOCK && linked.insert((list.sub_graph, place)) {
                place = block::entries(list.blocks(&machinery.places), place).1;
            }
        }
    }
    for (sub_graph, place) in recovery::blocks_of(machinery, unit_counts, numbers) {
        if !linked.contains(&(sub_graph, place)) {
            block::wipe(&machinery.places.blocks[sub_graph], place);
        }
    }
    machinery.sub_graphs.drain(Site::Wipe)
}

/// Returns the numbers of all tables in use, if no two shards have one in common.
fn tables_of(machinery: &Machinery, records: &[Option<Record>]) -> Option<Vec<u32>> {
    let list_count = machinery.options.list_count();
    let whole = records.iter().flatten().filter(|record| record.is_whole);
    let mut used: Vec<u32> = whole.flat_map(|record| record.tables(list_count)).copied().collect();
    used.sort_unstable();
    let is_one = |&number: &u32| Tables::is_table(&machinery.segment, number);
    let is_distinct = used.windows(2).all(|pair| pair[0] < pair[1]);
    (is_distinct && used.iter().all(is_one)).then_some(used)
}

fn is_counted_on(machinery: &Machinery, durable: &[Tally]) -> bool {
    let mut sum = Tally::default();
    durable.iter().for_each(|&tally| sum.merge(tally));
    machinery.log.checkpoint().0.layout[..2] == [sum.block_count, sum.checksum_sum]
}

/// Whether all of the block files that records say is taken is inside of them.
fn is_inside(machinery: &Machinery, header: &Header, records: &[Option<Record>]) -> bool {
    let partition = machinery.sub_graphs.partition;
    let mut files = machinery.places.blocks.iter().zip(header.next_units);
    let is_file = |(region, next): (&Region, u64)| {
        (u64::from(recovery::FIRST_UNIT)..=region.len() / UNIT_BYTES).contains(&next)
    };
    let is_extent = |(sub_graph, units): (usize, Range<u64>)| {
        let end = if units.is_empty() { units.start } else { header.next_units[sub_graph] };
        units.start <= units.end && units.end <= end
    };
    let are_extents = |(number, record): (usize, &Option<Record>)| match record {
        Some(record) if record.is_whole => {
            partition.of_slots(number).into_iter().zip(record.extents()).all(is_extent)
        }
        _ => true,
    };
    files.all(is_file) && records.iter().enumerate().all(are_extents)
}

/// Returns the shards whose records say whole, and empty ones for the others; none if rows and
/// buffers do not belong together.
fn whole_shards(
    machinery: &Machinery,
    header: &Header,
    records: &[Option<Record>],
) -> Option<Vec<Arc<Shard>>> {
    let empty: Arc<Shard> = Arc::default();
    let numbered: Vec<(usize, &Option<Record>)> = records.iter().enumerate().collect();
    let restored = par::map_chunks(&numbered, 1, |numbered| match numbered[0] {
        (number, Some(record)) if record.is_whole => {
            restore(machinery, header, number, record).map(|shard| Some(Arc::new(shard)))
        }
        _ => Some(None),
    });
    let mut shards = Vec::with_capacity(records.len());
    for shard in restored {
        shards.push(shard?.unwrap_or_else(|| Arc::clone(&empty)));
    }
    let lists = shards.iter().flat_map(|shard| &shard.lists);
    machinery.pool.keep_only(lists.map(List::buffers)).then_some(shards)
}

fn restore(
    machinery: &Machinery,
    header: &Header,
    number: usize,
    record: &Record,
) -> Option<Shard> {
    let restored = |(list, &table): (usize, &u32)| {
        let table = Table::restore(&machinery.tables, table);
        let sub_graph = machinery.sub_graphs.partition.sub_graph(number, list);
        let is_sound = are_runs_there(machinery, record, number, list)
            && are_rows_sound(machinery, header, record, (number, list), &table);
        if !is_sound {
            return None;
        }
        let buffers = Buffers::restore(&machinery.pool, &machinery.plan, table.entries())?;
        Some(List::restore(sub_graph, table, buffers))
    };
    let tables = record.tables(machinery.options.list_count());
    let lists = tables.iter().enumerate().map(restored).collect::<Option<Vec<_>>>()?;
    Some(record.shard(number, lists))
}

fn are_runs_there(machinery: &Machinery, record: &Record, number: usize, list: usize) -> bool {
    let sub_graph = machinery.sub_graphs.partition.sub_graph(number, list);
    let region = &machinery.places.blocks[sub_graph];
    (0..SHARD_SPAN / SPAN).all(|span| {
        let first_vertex = (number * SHARD_SPAN + span * SPAN) as u32;
        let place = record.run(list, span);
        place == NO_BLOCK || run::is_of(region, place, first_vertex, list)
    })
}

/// Whether the rows of a list can be what the process left: each newest block is there, and
/// degrees are those of their buffers and add up, as far as that is seen without reading lists.
fn are_rows_sound(
    machinery: &Machinery,
    header: &Header,
    record: &Record,
    (number, list): (usize, usize),
    table: &Table,
) -> bool {
    let sub_graph = machinery.sub_graphs.partition.sub_graph(number, list);
    let (blocks, entry_words) =
        (&machinery.places.blocks[sub_graph], machinery.options.entry_words());
    let end = header.next_units[sub_graph] * u64::from(UNIT_LINES);
    let mut degree_sum = 0;
    let is_sound = |(local, entry): (usize, Entry)| {
        degree_sum += u64::from(entry.degree);
        block::prefetch(blocks, table.entry((local + READ_AHEAD).min(SHARD_SPAN - 1)).head);
        let sequence = table.head_sequence(local);
        let buffered = usize::from(entry.buffered);
        let has_block = match entry.head {
            NO_BLOCK => sequence == 0,
            head => {
                let vertex = (number * SHARD_SPAN + local) as u32;
                u64::from(head) < end && block::is_of(blocks, head, (vertex, list), sequence)
            }
        };
        let is_buffer = entry.head == NO_BLOCK && record.run(list, local / SPAN) == NO_BLOCK;
        has_block
            && !entry.has_spills
            && buffered.is_multiple_of(entry_words)
            && (!is_buffer
                || entry.has_tombstones
                || entry.degree as usize * entry_words == buffered)
    };
    let are_sound = table.entries().enumerate().all(is_sound);
    are_sound && (list > 0 || degree_sum == record.degree_sum())
}
