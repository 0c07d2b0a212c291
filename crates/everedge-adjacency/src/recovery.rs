//! Opening: finds the blocks on the medium, links them, and replays the log past them.
//!
//! Source: XPGraph §3.1 (recovery replays the log between the marker and the flushing pointer).
//! Difference: the paper looks each replayed edge up in its list; with a parallel edge, a
//! deletion or a re-insertion this gives a wrong graph. Here an update is replayed only past the
//! sequence number of its list's newest block.
//!
//! Of each list the newest run counts that the log's anchor knows. What it replaced may still be
//! found and is free space. Runs that the anchor does not know yet are wiped.
//! A block counts if its checksum holds and its chain is whole down to the oldest block, or to the
//! run. A block whose chain is broken was written after the last flush of all, and the log still
//! holds what it says; it is wiped, durably before the log's tail moves. Whether a block or a run
//! that was durable is missing is seen by count and sum of checksums in the log's anchor.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use everedge_core::{VertexId, par};

use super::archive::Machinery;
use super::block::{self, BlockHeader, LINE_BYTES, NO_BLOCK, UNIT_LINES};
use super::list::{Places, Span};
use super::run::{self, RunHeader, SPAN};
use super::shard::{Shard, Tally};
use super::space::ShardSpace;
use super::subgraphs::SHARD_SPACES;
use crate::options::GraphOptions;
use everedge_live::DELETION;
use everedge_live::{Checkpoint, EdgeLog};
use everedge_live::{Error, Result};
use everedge_live::{FILE_BYTES_MAX, SHARD_SPAN, ShardSet, UNIT_BYTES};
use everedge_medium::{Region, Site};

/// The first unit holds the file's header.
pub(crate) const FIRST_UNIT: u32 = 1;
/// Units that one thread scans at a time.
const SCAN_UNITS: u32 = 1 << 14;
/// A bit for each line of a unit.
const ALL_LINES: u8 = (1 << UNIT_LINES) - 1;

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
    tombstones: u32,
}

/// A valid run.
#[derive(Clone, Copy, Debug)]
struct FoundRun {
    header: RunHeader,
    place: u32,
    checksum: u32,
}

impl Found {
    fn sub_graph(&self, machinery: &Machinery) -> usize {
        machinery.sub_graphs.partition.sub_graph_of(self.header.vertex, self.header.list)
    }
}

impl FoundRun {
    fn sub_graph(&self, machinery: &Machinery) -> usize {
        machinery.sub_graphs.partition.sub_graph_of(self.header.first_vertex, self.header.list)
    }

    fn units(&self) -> Range<u32> {
        let first = self.place / UNIT_LINES;
        first..first + self.header.units() as u32
    }
}

/// The valid blocks and runs of a shard, or of a part of the file.
#[derive(Default)]
struct Pieces {
    blocks: Vec<Found>,
    runs: Vec<FoundRun>,
}

/// The graph as its blocks tell it.
pub(crate) struct Recovered {
    pub shards: Vec<Arc<Shard>>,
    /// By shard: what the log's anchor counts on.
    pub durable: Vec<Tally>,
    files: Vec<RecoveredFile>,
}

/// The file of a sub-graph.
struct RecoveredFile {
    /// By unit, a bit for each line that is in use.
    used_lines: Vec<u8>,
    /// Places of valid blocks that belong to no whole chain.
    orphans: Vec<u32>,
    /// Places of runs that do not count.
    uncounted_runs: Vec<u32>,
    /// Place and lines of blocks in use that were written after the checkpoint.
    unsettled: Vec<(u32, u32)>,
}

/// Returns the number of the last compaction that counts.
pub(crate) fn epoch_of(checkpoint: Checkpoint) -> u32 {
    checkpoint.layout[2] as u32
}

/// Marks a checkpoint before which updates may be in buffers only.
pub(crate) const IS_PASSED: u64 = 1 << 63;

/// Returns whether updates from before it may be in buffers only.
pub(crate) fn is_passed(checkpoint: Checkpoint) -> bool {
    checkpoint.layout[2] & IS_PASSED != 0
}

/// Refuses a graph of which a part was in buffers only, and those are not there.
///
/// # Errors
/// `Corruption` if it is one.
pub(crate) fn refuse_passed(log: &EdgeLog, blocks: &Region) -> Result<()> {
    if !is_passed(log.checkpoint().0) {
        return Ok(());
    }
    Err(Error::Corruption {
        path: blocks.path().to_owned(),
        offset: 0,
        what: "what is in buffers only".into(),
        expected: "the files `index`, `tables` and `buffers` beside it as they were left".into(),
        found: "none that can be taken over".into(),
    })
}

/// Reads every block.
///
/// # Errors
/// `Corruption` if a block that was durable at `checkpoint` is missing or damaged, or if one says
/// what the log does not know.
pub(crate) fn recover(machinery: &Machinery) -> Result<Recovered> {
    let (regions, log) = (&machinery.places.blocks, &machinery.log);
    let (checkpoint, tail_sequence) = log.checkpoint();
    regions.iter().try_for_each(check_size)?;
    let unit_counts = regions.iter().map(|region| region.len() / UNIT_BYTES);
    let Pieces { blocks, mut runs } = find_pieces(machinery, unit_counts, &|_| true);
    check_known(machinery, &blocks, &runs)?;
    let mut files: Vec<RecoveredFile> = regions.iter().map(RecoveredFile::new).collect();
    runs.retain(|run| {
        let counts = run.header.epoch <= epoch_of(checkpoint);
        if !counts {
            files[run.sub_graph(machinery)].uncounted_runs.push(run.place);
        }
        counts
    });
    let mut by_shard = by_shard(blocks, runs);
    let linked = par::map_chunks_mut(&mut by_shard, 1, |index, pieces| {
        link_shard(index, &mut pieces[0], machinery, (tail_sequence, epoch_of(checkpoint)))
    });
    let mut recovered = Recovered { shards: Vec::new(), durable: Vec::new(), files };
    let empty: Arc<Shard> = Arc::default();
    for (number, linked) in linked.into_iter().enumerate() {
        let linked = linked?;
        recovered.durable.push(linked.durable);
        let of_slots = machinery.sub_graphs.partition.of_slots(number);
        for (sub_graph, parts) in of_slots.into_iter().zip(linked.parts) {
            recovered.files[sub_graph].add(parts);
        }
        let shard = if linked.is_empty { Arc::clone(&empty) } else { Arc::new(linked.shard) };
        recovered.shards.push(shard);
    }
    let mut durable = Tally::default();
    recovered.durable.iter().for_each(|&tally| durable.merge(tally));
    check_durable(&regions[0], checkpoint, durable)?;
    Ok(recovered)
}

fn by_shard(blocks: Vec<Found>, runs: Vec<FoundRun>) -> Vec<Pieces> {
    fn of(by_shard: &mut Vec<Pieces>, vertex: u32) -> &mut Pieces {
        let shard = vertex as usize / SHARD_SPAN;
        if by_shard.len() <= shard {
            by_shard.resize_with(shard + 1, Pieces::default);
        }
        &mut by_shard[shard]
    }
    let mut by_shard: Vec<Pieces> = Vec::new();
    for block in blocks {
        of(&mut by_shard, block.header.vertex).blocks.push(block);
    }
    for run in runs {
        of(&mut by_shard, run.header.first_vertex).runs.push(run);
    }
    by_shard
}

impl RecoveredFile {
    fn new(region: &Region) -> Self {
        // A file that was cut may end inside the last unit.
        let unit_count = region.len().div_ceil(UNIT_BYTES);
        Self {
            used_lines: vec![0; unit_count as usize],
            orphans: Vec::new(),
            uncounted_runs: Vec::new(),
            unsettled: Vec::new(),
        }
    }

    /// Adds what one shard has in it.
    fn add(&mut self, parts: LinkedParts) {
        self.orphans.extend(parts.orphans);
        self.unsettled.extend(parts.unsettled);
        for (place, lines) in parts.places {
            for line in place..place + lines {
                self.used_lines[(line / UNIT_LINES) as usize] |= 1 << (line % UNIT_LINES);
            }
        }
        for units in parts.run_units {
            self.used_lines[units.start as usize..units.end as usize].fill(ALL_LINES);
        }
    }

    /// Returns the first unit never used, and the free ones before it.
    fn used_units(&self) -> (u64, Vec<Range<u64>>) {
        let last_used = self.used_lines.iter().rposition(|&lines| lines != 0);
        let next = last_used.map_or(FIRST_UNIT.into(), |unit| unit as u64 + 1);
        let mut free: Vec<Range<u64>> = Vec::new();
        for unit in u64::from(FIRST_UNIT)..next {
            if self.used_lines[unit as usize] == 0 {
                match free.last_mut() {
                    Some(range) if range.end == unit => range.end += 1,
                    _ => free.push(unit..unit + 1),
                }
            }
        }
        (next, free)
    }

    fn settle(&self, region: &Region) -> Result<()> {
        for &(place, lines) in &self.unsettled {
            let offset = u64::from(place) * LINE_BYTES;
            region.flush(Site::BlocksFound, offset..offset + u64::from(lines) * LINE_BYTES);
        }
        self.orphans.iter().for_each(|&place| block::wipe(region, place));
        self.uncounted_runs.iter().for_each(|&place| run::wipe(region, place));
        region.drain(Site::Block)
    }
}

impl Recovered {
    /// Returns for each sub-graph the first unit never used, and the free ones before it.
    pub(crate) fn used_units(&self) -> Vec<(u64, Vec<Range<u64>>)> {
        self.files.iter().map(RecoveredFile::used_units).collect()
    }

    /// Returns how many valid blocks belong to no whole chain.
    pub(crate) fn orphan_count(&self) -> usize {
        self.files.iter().map(|file| file.orphans.len()).sum()
    }

    /// Wipes the orphans, and hands over to the next fence what the checkpoint after it counts on:
    /// that no later block can be taken for the predecessor of an orphan, and that the blocks in
    /// use are durable, even if the process that wrote them was killed before its own fence.
    ///
    /// Until the log's tail moves an orphan does no harm: what it says follows from the log.
    pub(crate) fn settle(&self, regions: &[Region]) -> Result<()> {
        self.files.iter().zip(regions).try_for_each(|(file, region)| file.settle(region))
    }
}

/// Finds the blocks and runs of those vertices that are wanted, in the first units of each file.
fn find_pieces(
    machinery: &Machinery,
    unit_counts: impl Iterator<Item = u64>,
    wants: &(impl Fn(VertexId) -> bool + Sync),
) -> Pieces {
    let mut all = Pieces::default();
    for (number, (region, unit_count)) in
        machinery.places.blocks.iter().zip(unit_counts).enumerate()
    {
        let pieces = find_pieces_in(region, machinery, unit_count as u32, wants);
        // What says of itself that it belongs into another file is as good as damaged.
        let blocks = pieces.blocks.into_iter();
        all.blocks.extend(blocks.filter(|found| found.sub_graph(machinery) == number));
        let runs = pieces.runs.into_iter();
        all.runs.extend(runs.filter(|found| found.sub_graph(machinery) == number));
    }
    all
}

fn find_pieces_in(
    region: &Region,
    machinery: &Machinery,
    unit_count: u32,
    wants: &(impl Fn(VertexId) -> bool + Sync),
) -> Pieces {
    let Machinery { salt, options, .. } = machinery;
    let parts = par::map_ranges(unit_count, SCAN_UNITS, |units| {
        let mut pieces = Pieces::default();
        let (mut place, end) = (units.start.max(FIRST_UNIT) * UNIT_LINES, units.end * UNIT_LINES);
        while place < end {
            if !wants(block::vertex_of(region, place)) {
                place += 1;
            } else if let Some((header, checksum)) = block::read(region, *salt, place) {
                pieces.blocks.push(sum_up(region, header, place, checksum, options));
                place += header.lines();
            } else if place.is_multiple_of(UNIT_LINES)
                && let Some((header, checksum)) = run::read(region, *salt, place)
            {
                let run = FoundRun { header, place, checksum };
                pieces.runs.push(run);
                place = run.units().end * UNIT_LINES;
            } else {
                place += 1;
            }
        }
        pieces
    });
    let mut pieces = Pieces::default();
    for part in parts {
        pieces.blocks.extend(part.blocks);
        pieces.runs.extend(part.runs);
    }
    // What looks like a block or a run inside of a run is neighbors.
    let mut end = 0;
    pieces.runs.retain(|run| {
        let is_outside = run.place >= end;
        end = end.max(run.units().end * UNIT_LINES);
        is_outside
    });
    let runs = &pieces.runs;
    pieces.blocks.retain(|block| {
        let after = runs.partition_point(|run| run.place <= block.place);
        after == 0 || runs[after - 1].units().end * UNIT_LINES <= block.place
    });
    pieces
}

fn sum_up(
    region: &Region,
    header: BlockHeader,
    place: u32,
    checksum: u32,
    options: &GraphOptions,
) -> Found {
    let mut found = Found { header, place, checksum, degree: 0, loops: 0, tombstones: 0 };
    let (entries, _) = block::entries(region, place);
    for word in entries.iter().step_by(options.entry_words()) {
        let word = word.load(Relaxed);
        let change = if word & DELETION == 0 { 1 } else { -1 };
        found.degree += change;
        found.tombstones += u32::from(change < 0);
        if word & !DELETION == header.vertex {
            found.loops += change;
        }
    }
    found
}

/// Returns the places of all whole blocks of some shards, by number in ascending order, in the
/// first units of each file, with the sub-graph that they are in.
pub(crate) fn blocks_of(
    machinery: &Machinery,
    unit_counts: &[u64],
    numbers: &[usize],
) -> Vec<(usize, u32)> {
    let wanted = ShardSet::of(numbers);
    let wants = |vertex: VertexId| wanted.has_vertex(vertex);
    let pieces = find_pieces(machinery, unit_counts.iter().copied(), &wants);
    pieces.blocks.iter().map(|found| (found.sub_graph(machinery), found.place)).collect()
}

/// Some shards as their blocks tell it, each with what the log's anchor counts on.
pub(crate) struct SomeShards {
    pub shards: Vec<(usize, Shard, Tally)>,
    /// Of each: the sub-graph and the place.
    pub orphans: Vec<(usize, u32)>,
}

/// Reads the blocks of some shards, by number in ascending order, in the first units of each file.
///
/// # Errors
/// `Corruption` if one says what the log does not know.
pub(crate) fn recover_some(
    machinery: &Machinery,
    unit_counts: &[u64],
    numbers: &[usize],
) -> Result<SomeShards> {
    let (checkpoint, tail_sequence) = machinery.log.checkpoint();
    let wanted = ShardSet::of(numbers);
    let wants = |vertex: VertexId| wanted.has_vertex(vertex);
    let unit_counts = unit_counts.iter().copied();
    let Pieces { blocks, mut runs } = find_pieces(machinery, unit_counts, &wants);
    check_known(machinery, &blocks, &runs)?;
    runs.retain(|run| run.header.epoch <= epoch_of(checkpoint));
    let mut by_shard = by_shard(blocks, runs);
    by_shard.resize_with(
        by_shard.len().max(numbers.last().map_or(0, |last| last + 1)),
        Pieces::default,
    );
    let mut some = SomeShards { shards: Vec::new(), orphans: Vec::new() };
    for &number in numbers {
        let known = (tail_sequence, epoch_of(checkpoint));
        let linked = link_shard(number, &mut by_shard[number], machinery, known)?;
        let of_slots = machinery.sub_graphs.partition.of_slots(number);
        for (sub_graph, parts) in of_slots.into_iter().zip(linked.parts) {
            some.orphans.extend(parts.orphans.into_iter().map(|place| (sub_graph, place)));
        }
        some.shards.push((number, linked.shard, linked.durable));
    }
    Ok(some)
}

/// One shard's runs and whole chains.
#[derive(Default)]
struct Linked {
    shard: Shard,
    is_empty: bool,
    /// One for each sub-graph that it is in.
    parts: [LinkedParts; SHARD_SPACES],
    durable: Tally,
}

/// What a shard has in one file.
#[derive(Default)]
struct LinkedParts {
    /// Place and lines of every block that is in use.
    places: Vec<(u32, u32)>,
    /// Units of every run that is in use.
    run_units: Vec<Range<u32>>,
    orphans: Vec<u32>,
    unsettled: Vec<(u32, u32)>,
}

fn link_shard(
    index: usize,
    pieces: &mut Pieces,
    machinery: &Machinery,
    known: (u64, u32),
) -> Result<Linked> {
    let Machinery { options, places, .. } = machinery;
    let Pieces { blocks, runs } = pieces;
    let mut linked = Linked { is_empty: blocks.is_empty() && runs.is_empty(), ..Linked::default() };
    if linked.is_empty {
        return Ok(linked);
    }
    linked.shard.materialize(index, options.list_count(), machinery.memory())?;
    runs.sort_unstable_by_key(|run| (run.header.list, run.header.first_vertex, run.header.epoch));
    let is_same = |a: &FoundRun, b: &FoundRun| {
        (a.header.list, a.header.first_vertex) == (b.header.list, b.header.first_vertex)
    };
    for of_span in runs.chunk_by(is_same) {
        if let [.., newest] = of_span
            && newest.header.list < options.list_count()
        {
            linked.adopt_run(newest, machinery);
        }
    }
    linked.restore_vertices_of_runs(places);
    blocks.sort_unstable_by_key(|found| {
        let header = &found.header;
        (header.vertex, header.list, header.sequence, found.place)
    });
    for of_vertex in blocks.chunk_by(|a, b| a.header.vertex == b.header.vertex) {
        let mut newest: Option<&BlockHeader> = None;
        for of_list in of_vertex.chunk_by(|a, b| a.header.list == b.header.list) {
            if let Some(head) = linked.link_list(of_list, machinery, known)
                && newest.is_none_or(|newest| newest.sequence <= head.sequence)
            {
                newest = Some(head);
            }
        }
        if let Some(header) = newest {
            let local = header.vertex as usize % SHARD_SPAN;
            if linked.run_sequence(places, local).is_none_or(|run| run < header.sequence) {
                linked.shard.restore_vertex(local, header.is_vertex);
            }
        }
    }
    for (parts, space) in linked.parts.iter_mut().zip(&mut linked.shard.spaces) {
        parts.give_rests_back(space);
    }
    Ok(linked)
}

impl Linked {
    fn adopt_run(&mut self, run: &FoundRun, machinery: &Machinery) {
        let FoundRun { header, place, checksum } = run;
        let options = &machinery.options;
        let region = &machinery.places.blocks[run.sub_graph(machinery)];
        let slot = machinery.sub_graphs.partition.slot(header.list);
        self.parts[slot].run_units.push(run.units());
        self.shard.tally.add(*checksum);
        self.durable.add(*checksum);
        let first = header.first_vertex as usize % SHARD_SPAN;
        let list = &mut self.shard.lists[header.list];
        list.spans[first / SPAN] = Span { run: *place, is_pure: true };
        for index in 0..SPAN {
            let entries = run::entries(region, *place, index);
            let degree = entries.len() / options.entry_words();
            list.change(first + index, |entry| entry.degree = degree as u32);
            if header.list == 0 {
                let vertex = header.first_vertex + index as u32;
                let neighbors = entries.iter().step_by(options.entry_words());
                let loops = neighbors.filter(|word| word.load(Relaxed) == vertex).count();
                self.shard.degree_sum += degree as u64;
                self.shard.loop_count += loops as u64;
            }
        }
    }

    /// Of the runs of a span, one a list, the newest says which ids are vertices.
    fn restore_vertices_of_runs(&mut self, places: &Places) {
        for span in 0..SHARD_SPAN / SPAN {
            let runs = self.shard.lists.iter().map(|list| (list, list.spans[span].run));
            let headers = runs
                .filter(|&(_, place)| place != NO_BLOCK)
                .map(|(list, place)| run::header_of(list.blocks(places), place));
            if let Some(newest) = headers.max_by_key(|header| header.sequence) {
                for index in 0..SPAN {
                    self.shard.restore_vertex(span * SPAN + index, newest.is_vertex(index));
                }
            }
        }
    }

    /// Returns the sequence number of the newest run that says whether `local` is a vertex.
    fn run_sequence(&self, places: &Places, local: usize) -> Option<u64> {
        let runs = self.shard.lists.iter().map(|list| (list, list.spans[local / SPAN].run));
        let counting = runs.filter(|&(_, place)| place != NO_BLOCK);
        counting.map(|(list, place)| run::sequence_of(list.blocks(places), place)).max()
    }

    /// Links one list's blocks, sorted by sequence number, to its run if it has one. Returns the
    /// newest. The log's anchor knows the update and the compaction of these numbers.
    fn link_list<'a>(
        &mut self,
        blocks: &'a [Found],
        machinery: &Machinery,
        (tail_sequence, epoch): (u64, u32),
    ) -> Option<&'a BlockHeader> {
        let BlockHeader { vertex, list, .. } = blocks[0].header;
        let span = vertex as usize % SHARD_SPAN / SPAN;
        let run = self.shard.lists.get(list).map_or(NO_BLOCK, |lists| lists.spans[span].run);
        let region = &machinery.places.blocks[blocks[0].sub_graph(machinery)];
        let slot = machinery.sub_graphs.partition.slot(list);
        let base = (run != NO_BLOCK).then(|| run::sequence_of(region, run));
        // A list that was compacted by itself begins anew.
        let epochs = blocks.iter().filter_map(|found| found.header.epoch());
        let newest = epochs.filter(|&number| number <= epoch).max().unwrap_or(0);
        let mut head: Option<&Found> = None;
        for found in blocks {
            let header = &found.header;
            if base.is_some_and(|base| header.sequence <= base) {
                // The run replaced it.
                continue;
            }
            let follows = match (head, base) {
                (None, None) => header.epoch() == Some(newest),
                (None, Some(base)) => header.after_run && header.previous_sequence == base as u32,
                (Some(head), _) => {
                    header.previous == head.place
                        && header.previous_sequence == head.header.sequence as u32
                }
            };
            if !follows || header.list >= machinery.options.list_count() {
                self.parts[slot].orphans.push(found.place);
                continue;
            }
            self.adopt(found, slot, tail_sequence);
            head = Some(found);
        }
        head.map(|found| &found.header)
    }

    fn adopt(&mut self, found: &Found, slot: usize, tail_sequence: u64) {
        let header = &found.header;
        self.parts[slot].places.push((found.place, header.lines()));
        self.shard.tally.add(found.checksum);
        self.shard.tombstone_count += u64::from(found.tombstones);
        if header.sequence < tail_sequence {
            self.durable.add(found.checksum);
        } else {
            self.parts[slot].unsettled.push((found.place, header.lines()));
        }
        let local = header.vertex as usize % SHARD_SPAN;
        let list = &mut self.shard.lists[header.list];
        list.link(local, found.place, header.sequence);
        list.change(local, |entry| {
            entry.degree = entry.degree.wrapping_add_signed(found.degree);
            entry.has_tombstones |= found.tombstones > 0;
        });
        if header.list == 0 {
            self.shard.degree_sum = self.shard.degree_sum.wrapping_add_signed(found.degree.into());
            self.shard.loop_count = self.shard.loop_count.wrapping_add_signed(found.loops.into());
        }
    }
}

impl LinkedParts {
    /// Gives the free lines in the units that the shard uses to its space.
    fn give_rests_back(&mut self, space: &mut ShardSpace) {
        self.places.sort_unstable();
        let mut next = 0;
        for &(place, lines) in &self.places {
            let unit_start = place / UNIT_LINES * UNIT_LINES;
            if next <= unit_start {
                let end = u32::next_multiple_of(next, UNIT_LINES);
                space.give_back(next, end - next);
                next = unit_start;
            }
            space.give_back(next, place - next);
            let units = (place + lines).div_ceil(UNIT_LINES) - next.div_ceil(UNIT_LINES);
            space.adopt_units(units.into());
            next = place + lines;
        }
        let end = next.next_multiple_of(UNIT_LINES);
        space.give_back(next, end - next);
    }
}

fn check_size(region: &Region) -> Result<()> {
    if region.len() <= FILE_BYTES_MAX {
        return Ok(());
    }
    Err(Error::Corruption {
        path: region.path().to_owned(),
        offset: FILE_BYTES_MAX,
        what: "the block file".into(),
        expected: format!("at most {} bytes", FILE_BYTES_MAX),
        found: format!("{} bytes", region.len()),
    })
}

/// A block holds only updates that were durable in the log before.
fn check_known(machinery: &Machinery, blocks: &[Found], runs: &[FoundRun]) -> Result<()> {
    let next_sequence = machinery.log.next_sequence();
    let block = blocks.iter().find(|found| found.header.sequence >= next_sequence);
    let run = || runs.iter().find(|found| found.header.sequence >= next_sequence);
    let unknown = block
        .map(|found| (found.header.sequence, found.place, found.sub_graph(machinery)))
        .or_else(|| run().map(|run| (run.header.sequence, run.place, run.sub_graph(machinery))));
    match unknown {
        None => Ok(()),
        Some((sequence, place, sub_graph)) => Err(Error::Corruption {
            path: machinery.places.blocks[sub_graph].path().to_owned(),
            offset: u64::from(place) * LINE_BYTES,
            what: "the log, by a block that says more".into(),
            expected: format!("update {sequence}"),
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
