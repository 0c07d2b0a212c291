//! Opening: finds the blocks on the medium, links them, and replays the log past them.
//!
//! Source: XPGraph §3.1 (recovery replays the log between the marker and the flushing pointer).
//! Difference: the paper looks each replayed edge up in its list; with a parallel edge, a
//! deletion or a re-insertion this gives a wrong graph. Here an update is replayed only past the
//! sequence number of its list's newest block.
//!
//! A block counts if its checksum holds and its chain is whole down to the oldest block. A block
//! whose chain is broken was written after the last flush of all, and the log still holds what it
//! says; it is wiped, durably before the log's tail moves. Whether a block that was durable is missing is
//! seen by count and sum of checksums in the log's anchor.

use std::sync::Arc;

use everedge_core::par;

use super::archive::Machinery;
use super::block::{self, BlockHeader, LINE_BYTES, NO_BLOCK, UNIT_LINES};
use super::buffers::Pool;
use super::shard::{SHARD_SPAN, Shard, Tally};
use super::space;
use crate::batch::DELETION;
use crate::log::Checkpoint;
use crate::manifest::GraphOptions;
use crate::medium::{Region, Site};
use crate::{Error, Result};

/// The first unit holds the file's header.
pub(crate) const FIRST_UNIT: u32 = 1;
/// Units that one thread scans at a time.
const SCAN_UNITS: u32 = 1 << 14;

/// A valid block and what its entries add up to.
#[derive(Clone, Copy, Debug)]
struct Found {
    header: BlockHeader,
    place: u32,
    checksum: u32,
    /// Neighbors less tombstones.
    degree: i32,
    /// Self-loops less their tombstones.
    loops: i32,
    has_tombstones: bool,
}

/// The graph as its blocks tell it.
pub(crate) struct Recovered {
    pub shards: Vec<Arc<Shard>>,
    /// The first unit never used.
    pub next_unit: u64,
    pub free_units: Vec<std::ops::Range<u64>>,
    /// Places of valid blocks that belong to no whole chain.
    pub orphans: Vec<u32>,
    /// Place and lines of blocks in use that were written after the checkpoint.
    unsettled: Vec<(u32, u32)>,
}

/// Reads every block.
///
/// # Errors
/// `Corruption` if a block that was durable at `checkpoint` is missing or damaged, or if one says
/// what the log does not know.
pub(crate) fn recover(machinery: &Machinery) -> Result<Recovered> {
    let Machinery { options, log, pool, salt, .. } = machinery;
    let (region, salt) = (&machinery.places.blocks, *salt);
    let ((checkpoint, tail_sequence), next_sequence) = (log.checkpoint(), log.next_sequence());
    check_size(region)?;
    let found = find_blocks(region, salt, options);
    check_known(region, &found, next_sequence)?;
    let unit_count = (region.len() / (LINE_BYTES * u64::from(UNIT_LINES))) as u32;
    let mut by_shard: Vec<Vec<Found>> = Vec::new();
    for block in found {
        let shard = block.header.vertex as usize / SHARD_SPAN;
        if by_shard.len() <= shard {
            by_shard.resize_with(shard + 1, Vec::new);
        }
        by_shard[shard].push(block);
    }
    let linked = par::map_chunks_mut(&mut by_shard, 1, |index, blocks| {
        link_shard(index, &mut blocks[0], options, tail_sequence, pool)
    });
    let mut used_lines = vec![0u8; unit_count as usize];
    let mut recovered = Recovered {
        shards: Vec::new(),
        next_unit: FIRST_UNIT.into(),
        free_units: Vec::new(),
        orphans: Vec::new(),
        unsettled: Vec::new(),
    };
    let empty: Arc<Shard> = Arc::default();
    let mut durable = Tally::default();
    for linked in linked {
        durable.merge(linked.durable);
        recovered.orphans.extend(linked.orphans);
        recovered.unsettled.extend(linked.unsettled);
        for &(place, lines) in &linked.places {
            for line in place..place + lines {
                used_lines[(line / UNIT_LINES) as usize] |= 1 << (line % UNIT_LINES);
            }
        }
        let is_empty = linked.places.is_empty();
        let shard = if is_empty { Arc::clone(&empty) } else { Arc::new(linked.shard) };
        recovered.shards.push(shard);
    }
    check_durable(region, checkpoint, durable)?;
    recovered.claim_space(&used_lines);
    Ok(recovered)
}

impl Recovered {
    /// Gives rests of used units to the shards that use them, and finds the units that are free.
    fn claim_space(&mut self, used_lines: &[u8]) {
        let last_used = used_lines.iter().rposition(|&lines| lines != 0);
        self.next_unit = last_used.map_or(FIRST_UNIT.into(), |unit| unit as u64 + 1);
        for unit in u64::from(FIRST_UNIT)..self.next_unit {
            if used_lines[unit as usize] == 0 {
                match self.free_units.last_mut() {
                    Some(range) if range.end == unit => range.end += 1,
                    _ => self.free_units.push(unit..unit + 1),
                }
            }
        }
    }

    /// Wipes the orphans, and hands over to the next fence what the checkpoint after it counts on:
    /// that no later block can be taken for the predecessor of an orphan, and that the blocks in
    /// use are durable, even if the process that wrote them was killed before its own fence.
    ///
    /// Until the log's tail moves an orphan does no harm: what it says follows from the log.
    pub(crate) fn settle(&self, region: &Region) -> Result<()> {
        for &(place, lines) in &self.unsettled {
            let offset = u64::from(place) * LINE_BYTES;
            region.flush(Site::BlocksFound, offset..offset + u64::from(lines) * LINE_BYTES);
        }
        self.orphans.iter().for_each(|&place| block::wipe(region, place));
        region.drain(Site::Block)
    }
}

fn find_blocks(region: &Region, salt: u32, options: &GraphOptions) -> Vec<Found> {
    let unit_count = (region.len() / (LINE_BYTES * u64::from(UNIT_LINES))) as u32;
    let parts = par::map_ranges(unit_count, SCAN_UNITS, |units| {
        let mut found = Vec::new();
        for unit in units.start.max(FIRST_UNIT)..units.end {
            let (mut place, end) = (unit * UNIT_LINES, (unit + 1) * UNIT_LINES);
            while place < end {
                match block::read(region, salt, place) {
                    Some((header, checksum)) => {
                        found.push(sum_up(region, header, place, checksum, options));
                        place += header.lines();
                    }
                    None => place += 1,
                }
            }
        }
        found
    });
    parts.into_iter().flatten().collect()
}

fn sum_up(
    region: &Region,
    header: BlockHeader,
    place: u32,
    checksum: u32,
    options: &GraphOptions,
) -> Found {
    let mut found = Found { header, place, checksum, degree: 0, loops: 0, has_tombstones: false };
    let (entries, _) = block::entries(region, place);
    for word in entries.iter().step_by(if options.weighted { 2 } else { 1 }) {
        let word = word.load(std::sync::atomic::Ordering::Relaxed);
        let change = if word & DELETION == 0 { 1 } else { -1 };
        found.degree += change;
        found.has_tombstones |= change < 0;
        if word & !DELETION == header.vertex {
            found.loops += change;
        }
    }
    found
}

/// One shard's whole chains.
struct Linked {
    shard: Shard,
    /// Place and lines of every block that is in use.
    places: Vec<(u32, u32)>,
    orphans: Vec<u32>,
    unsettled: Vec<(u32, u32)>,
    durable: Tally,
}

fn link_shard(
    index: usize,
    blocks: &mut [Found],
    options: &GraphOptions,
    tail_sequence: u64,
    pool: &Arc<Pool>,
) -> Linked {
    let mut linked = Linked {
        shard: Shard::default(),
        places: Vec::new(),
        orphans: Vec::new(),
        unsettled: Vec::new(),
        durable: Tally::default(),
    };
    if blocks.is_empty() {
        return linked;
    }
    linked.shard.materialize(index, options.list_count(), pool);
    blocks.sort_unstable_by_key(|found| {
        let header = &found.header;
        (header.vertex, header.list, header.sequence, found.place)
    });
    for of_vertex in blocks.chunk_by(|a, b| a.header.vertex == b.header.vertex) {
        let mut newest: Option<&BlockHeader> = None;
        for of_list in of_vertex.chunk_by(|a, b| a.header.list == b.header.list) {
            if let Some(head) = linked.link_list(of_list, options, tail_sequence)
                && newest.is_none_or(|newest| newest.sequence <= head.sequence)
            {
                newest = Some(head);
            }
        }
        if let Some(header) = newest {
            let local = header.vertex as usize % SHARD_SPAN;
            linked.shard.restore_vertex(local, header.is_vertex);
        }
    }
    linked.give_rests_back();
    linked
}

impl Linked {
    /// Links one list's blocks, sorted by sequence number. Returns the newest.
    fn link_list<'a>(
        &mut self,
        blocks: &'a [Found],
        options: &GraphOptions,
        tail_sequence: u64,
    ) -> Option<&'a BlockHeader> {
        let mut head: Option<&Found> = None;
        for found in blocks {
            let header = &found.header;
            let follows = match head {
                None => header.previous == NO_BLOCK,
                Some(head) => {
                    header.previous == head.place
                        && header.previous_sequence == head.header.sequence as u32
                }
            };
            if !follows || header.list >= options.list_count() {
                self.orphans.push(found.place);
                continue;
            }
            self.adopt(found, tail_sequence);
            head = Some(found);
        }
        head.map(|found| &found.header)
    }

    fn adopt(&mut self, found: &Found, tail_sequence: u64) {
        let header = &found.header;
        self.places.push((found.place, header.lines()));
        self.shard.tally.add(found.checksum);
        if header.sequence < tail_sequence {
            self.durable.add(found.checksum);
        } else {
            self.unsettled.push((found.place, header.lines()));
        }
        let local = header.vertex as usize % SHARD_SPAN;
        let list = &mut self.shard.lists[header.list];
        list.head_sequences[local] = header.sequence as u32;
        let entry = &mut list.entries[local];
        entry.head = found.place;
        entry.degree = entry.degree.wrapping_add_signed(found.degree);
        entry.has_tombstones |= found.has_tombstones;
        if header.list == 0 {
            self.shard.degree_sum = self.shard.degree_sum.wrapping_add_signed(found.degree.into());
            self.shard.loop_count = self.shard.loop_count.wrapping_add_signed(found.loops.into());
        }
    }

    /// Finds the free lines in the units that this shard uses.
    fn give_rests_back(&mut self) {
        self.places.sort_unstable();
        for unit in self.places.chunk_by(|a, b| a.0 / UNIT_LINES == b.0 / UNIT_LINES) {
            self.shard.space.adopt_unit();
            let end = (unit[0].0 / UNIT_LINES + 1) * UNIT_LINES;
            let mut next = end - UNIT_LINES;
            for &(place, lines) in unit {
                self.shard.space.give_back(next, place - next);
                next = place + lines;
            }
            self.shard.space.give_back(next, end - next);
        }
    }
}

fn check_size(region: &Region) -> Result<()> {
    if region.len() <= space::FILE_BYTES_MAX {
        return Ok(());
    }
    Err(Error::Corruption {
        path: region.path().to_owned(),
        offset: space::FILE_BYTES_MAX,
        what: "the block file".into(),
        expected: format!("at most {} bytes", space::FILE_BYTES_MAX),
        found: format!("{} bytes", region.len()),
    })
}

/// A block holds only updates that were durable in the log before.
fn check_known(region: &Region, found: &[Found], next_sequence: u64) -> Result<()> {
    match found.iter().find(|found| found.header.sequence >= next_sequence) {
        None => Ok(()),
        Some(block) => Err(Error::Corruption {
            path: region.path().to_owned(),
            offset: u64::from(block.place) * LINE_BYTES,
            what: "the log, by a block that says more".into(),
            expected: format!("update {}", block.header.sequence),
            found: format!("{next_sequence} updates"),
        }),
    }
}

fn check_durable(region: &Region, checkpoint: Checkpoint, found: Tally) -> Result<()> {
    let [block_count, checksum_sum, _] = checkpoint.layout;
    if found == (Tally { block_count, checksum_sum }) {
        return Ok(());
    }
    Err(Error::Corruption {
        path: region.path().to_owned(),
        offset: 0,
        what: "adjacency blocks".into(),
        expected: format!("{block_count} durable blocks, checksum sum {checksum_sum:#x}"),
        found: format!("{} blocks, checksum sum {:#x}", found.block_count, found.checksum_sum),
    })
}
