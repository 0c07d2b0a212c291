//! Single edges that are stored where they stay, without the circular log: `--log-first no`.
//!
//! Source: DGAP §3.1.2, where an insertion is stored in the edge array or in the edge log of its
//! section, and flushed there. Difference: it always goes to the edge log, since a word in a gap cannot
//! say by itself that it counts; an entry there has a number and a check. The edge's list gets it when
//! the section is rebalanced or written anew, as any entry of an edge log.
//!
//! # Layout
//! ```text
//! edge log of a section: entries that its header counts │ entries that count by themselves │ rest
//! ```
//! The check of an entry covers its place, the checksum of the section's header and the entry. So the
//! next header of the section, which counts all entries before it, ends what counts by itself.
//!
//! # Invariants
//! - D1: before an entry that counts by itself there is nothing in its section that does not count: if
//!   a round left something there, the header is written first. So it is if a list of the section has
//!   seen an update that changed nothing, as a deletion that found no edge: else opening would replay
//!   it after the entry.
//! - D2: edges have ascending numbers, one edge is stored at a time, and it is durable before the next
//!   one is stored. So a crash can tear the last one only.
//! - D3: a header says the number of the last edge that was stored before it. So an end of an edge is
//!   there if its section has the entry, or a header with that number or a later one.
//!
//! # Cost
//! An edge: an entry of 20 bytes, with weights 24, at each end, and one fence for both; with vertex
//! rows on the medium one more, after which the edge is seen already. If a round changed a section
//! since its last header: two fences and the header more, once.
//!
//! # Concurrency
//! Writers store one after the other, under the archive's lock.
//!
//! # Recovery
//! Opening looks for entries after those that headers count. Both ends of an edge have to be there:
//! the only end of the last edge is taken away, any other is damage. Nothing is logged, so an
//! edge takes no sequence number: the updates that headers count come before it, all others after it.
//! Where a header counts one end already, or there is only one, nothing can tell the damaged last entry
//! of a section from a torn one, as with the last record of the log: it is dropped. A save counts all.

use std::sync::atomic::Ordering::Relaxed;

use arrayvec::ArrayVec;
use everedge_core::{Edge, MAX_VERTEX_ID, VertexId};
use rustc_hash::FxHashMap;

use super::array::{Array, LOG_ENTRY_WORDS_MAX};
use super::extent::{Extent, LogEntry};
use super::header::{self, Header};
use super::layout::Pma;
use super::mechanisms::Counters;
use super::options::{GraphOptions, LogFirst};
use super::rebalance::damaged;
use super::restore::Restored;
use super::shape::Shape;
use everedge_live::{Archive, Core, Durability, Layout, Result, SHARD_SPAN, Update};
use everedge_medium::{Access, Site};

/// Bits of the number of an edge: what headers have room for.
const NUMBER_BITS: u32 = 48;

/// One end of an edge: an entry in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct End {
    shard: usize,
    side: usize,
    local: usize,
    neighbor: VertexId,
}

/// An entry of an edge log that counts by itself, as opening found it.
#[derive(Clone, Copy, Debug)]
pub(super) struct DirectEntry {
    /// The number of its edge.
    number: u64,
    section: usize,
    /// Its place in the edge log.
    place: usize,
    local: usize,
    neighbor: VertexId,
    /// Whether an entry before it is not whole.
    is_after_torn: bool,
}

/// Returns the ends of an edge.
fn ends(options: &GraphOptions, (src, dst): Edge) -> ArrayVec<End, 2> {
    let end = |vertex: VertexId, neighbor, side| {
        let (shard, local) = (vertex as usize / SHARD_SPAN, vertex as usize % SHARD_SPAN);
        End { shard, side, local, neighbor }
    };
    let mut ends = ArrayVec::new();
    ends.push(end(src, dst, 0));
    match options.directed {
        true if options.list_count() == 2 => ends.push(end(dst, src, 1)),
        false if src != dst => ends.push(end(dst, src, 0)),
        _ => {}
    }
    ends
}

/// Stores an edge in the edge logs of its sections, durably. Returns whether it did: it does not where
/// there is no room in them, and where an end is not a vertex yet.
///
/// # Errors
/// If the medium fails.
pub(super) fn store_edge(core: &Core<Pma>, edge: Edge, weight: Option<f32>) -> Result<bool> {
    let layout = &core.layout;
    let options = &layout.options;
    if options.durability == Durability::None || weight.is_some() != options.weighted {
        return Ok(false);
    }
    core.refuse_if_failed()?;
    core.volume.check_writable()?;
    let ends = ends(options, edge);
    let mut archive = core.up_to_date_for_writing()?;
    core.refuse_if_failed()?;
    core.log.begin_writing()?;
    // Who logs it learns what is missing.
    let expected = layout.expect(&[edge.0, edge.1], edge.0.max(edge.1) + 1);
    if layout.make_room().and(expected).is_err() {
        return Ok(false);
    }
    // Entries in an array count once that is current.
    layout.table.publish(layout.arrays())?;
    if !layout.has_room(&mut archive, edge, &ends)? {
        return Ok(false);
    }
    core.undisturbed(&mut archive, |archive| {
        layout.count_what_rounds_left(archive, &ends)?;
        layout.store_ends(archive, &ends, weight.unwrap_or_default().to_bits())
    })?;
    Ok(true)
}

/// Returns the array that an end of an edge goes to.
fn array<'a>(archive: &'a Archive<Pma>, end: &End) -> &'a Array {
    archive.shards[end.shard].arrays[end.side].as_ref().expect("there is room in it")
}

/// Returns how many of the earlier ends of the same edge go to the same section.
fn earlier(array: &Array, earlier: &[End], end: &End) -> usize {
    let is_same = |other: &&End| {
        (other.shard, other.side) == (end.shard, end.side)
            && array.section_of(other) == array.section_of(end)
    };
    earlier.iter().filter(is_same).count()
}

impl Pma {
    /// Returns whether both ends of an edge are vertices, and there is room for it in edge logs.
    fn has_room(&self, archive: &mut Archive<Self>, edge: Edge, ends: &[End]) -> Result<bool> {
        for vertex in [edge.0, edge.1] {
            let (number, local) = (vertex as usize / SHARD_SPAN, vertex as usize % SHARD_SPAN);
            if !archive.shards.get(number).is_some_and(|shard| shard.is_vertex(local)) {
                return Ok(false);
            }
            archive.own(self, number)?;
        }
        let has_room = |(index, end): (usize, &End)| {
            let Some(array) = &archive.shards[end.shard].arrays[end.side] else { return false };
            !array.is_in_memory()
                && end.local < array.vertex_count()
                && array.log_room(array.section_of(end)) > earlier(array, &ends[..index], end)
        };
        let is_numbered = self.direct.load(Relaxed) + 1 < 1 << NUMBER_BITS;
        Ok(is_numbered
            && ends.iter().enumerate().all(has_room)
            && self.is_wanted(archive, &ends[0]))
    }

    /// Whether an edge is not one of which a simple graph keeps one only.
    fn is_wanted(&self, archive: &Archive<Self>, end: &End) -> bool {
        if !self.options.simple {
            return true;
        }
        let mut counts = FxHashMap::from_iter([(end.neighbor, 0)]);
        array(archive, end).count_live(end.local, &mut counts);
        counts[&end.neighbor] == 0
    }

    /// Writes the headers of the sections of an edge that rounds have changed (D1).
    fn count_what_rounds_left(&self, archive: &mut Archive<Self>, ends: &[End]) -> Result<()> {
        let is_dirty = |end: &End| {
            let array = array(archive, end);
            array.sections[array.section_of(end)].is_dirty
        };
        if !ends.iter().any(is_dirty) {
            return Ok(());
        }
        self.arrays().fence(Site::Word)?;
        let sequence = archive.next_sequence;
        for end in ends {
            let shard = archive.own(self, end.shard)?;
            let vertices: &[u64] = if end.side == 0 { &shard.vertices } else { &[] };
            let array = shard.arrays[end.side].as_mut().expect("there is room in it");
            let section = array.section_of(end);
            if array.sections[section].is_dirty {
                array.write_next_header(self.moment(), section, sequence, vertices);
            }
        }
        self.arrays().fence(Site::SectionHeader)
    }

    /// Stores an edge, durably, and lets readers see it then.
    fn store_ends(&self, archive: &mut Archive<Self>, ends: &[End], weight: u32) -> Result<()> {
        let number = self.direct.load(Relaxed) + 1;
        for (index, end) in ends.iter().enumerate() {
            let array = array(archive, end);
            let place = usize::from(array.sections[array.section_of(end)].log_count);
            array.store_entry(end, weight, place + earlier(array, &ends[..index], end), number);
        }
        self.arrays().fence(Site::DirectEdge)?;
        self.direct.store(number, Relaxed);
        self.note_ends(archive, ends, weight)
    }

    /// Notes in memory an edge that was stored.
    fn note_ends(&self, archive: &mut Archive<Self>, ends: &[End], weight: u32) -> Result<()> {
        let context = self.context_after(archive.next_sequence);
        for end in ends {
            // Its next save counts the entry.
            archive.note_changed(end.shard);
            let shard = archive.own(self, end.shard)?;
            let update = [Update::new(end.neighbor, 0)];
            if end.side == 0 {
                shard.count_insertions(&context, [(end.local, &update[..])].into_iter());
            }
            let array = shard.arrays[end.side].as_mut().expect("there is room in it");
            array.note_entry(end, weight);
            context.store_rows(array, end.local..end.local + 1);
        }
        Counters::add(&self.counters.directly, ends.len() as u64);
        match &self.rows {
            Some(rows) => rows.region().fence(Site::VertexRow),
            None => Ok(()),
        }
    }
}

impl Array {
    fn section_of(&self, end: &End) -> usize {
        self.shape.section_of(end.local)
    }

    /// Stores an entry that counts by itself.
    fn store_entry(&self, end: &End, weight: u32, place: usize, number: u64) {
        let section = self.section_of(end);
        let start = self.shape.log_range(section, place..place).start;
        let mut words = ArrayVec::<u32, LOG_ENTRY_WORDS_MAX>::new();
        words.push(LogEntry::link(end.local, self.logged(end.local).head));
        words.push(end.neighbor);
        words.extend((self.shape.entry_words > 1).then_some(weight));
        words.extend([number as u32, (number >> 32) as u32]);
        words.push(check(&self.extent, start, self.sections[section].crc, &words));
        self.extent.store(Site::DirectEdge, start, &words);
    }

    /// Notes an entry that was stored so.
    fn note_entry(&mut self, end: &End, weight: u32) {
        let update = [Update::new(end.neighbor, 0)];
        let vertex = self.first_vertex() + end.local as u32;
        let number = self.section_of(end);
        let section = &mut self.sections[number];
        section.has_direct = true;
        section.used += self.shape.entry_words;
        section.count(vertex, &update);
        if self.live_degrees.contains_key(&(end.local as u32)) {
            self.change_live_degree(end.local, &update);
        }
        self.note_logged(end.local, &[end.neighbor, weight][..self.shape.entry_words as usize]);
    }

    /// Takes the entries that opening found to count by themselves: so many of a section.
    fn adopt(&mut self, number: usize, count: usize) {
        let first_vertex = self.first_vertex();
        let (extent, shape) = (self.extent.clone(), self.shape);
        let section = &mut self.sections[number];
        let counted = usize::from(section.log_count);
        let mut entries: FxHashMap<usize, u32> = FxHashMap::default();
        for (place, entry) in extent.log(&shape, number, counted + count).enumerate() {
            let before = entries.entry(entry.local()).or_default();
            if place >= counted {
                let start = self.lists.rows[entry.local()].len + *before * shape.entry_words;
                let words = header::copy(entry.words());
                for (index, &word) in (start..).zip(&words) {
                    section.sum = section.sum.wrapping_add(header::mix(entry.local(), index, word));
                }
                let vertex = first_vertex + entry.local() as u32;
                section.count(vertex, &[Update::new(words[0], 0)]);
            }
            *before += 1;
        }
        section.has_direct = true;
        section.used += count as u32 * shape.entry_words;
        section.log_count += count as u16;
    }
}

/// Returns the check of an entry that begins at `start`, after the header with the checksum `crc`.
fn check(extent: &Extent, start: u64, crc: u32, words: &[u32]) -> u32 {
    let salt = crc32c::crc32c_append(extent.salt_at(start), &crc.to_le_bytes());
    // Never 0, which what does not count by itself has.
    crc32c::crc32c_append(salt, bytemuck::cast_slice(words)).max(1)
}

/// Finds the entries of a section that count by themselves after its header.
pub(super) fn find_direct(
    extent: &Extent,
    shape: &Shape,
    (section, crc): (usize, u32),
    header: &Header,
    found: &mut Vec<DirectEntry>,
) {
    if !shape.is_direct {
        return;
    }
    let locals = shape.locals(section..section + 1);
    let (mut is_after_torn, mut last) = (false, header.direct + 1);
    for place in header.log_count as usize..shape.log_entries as usize {
        let range = shape.log_range(section, place..place + 1);
        let words = header::copy(extent.words(range.clone()));
        let (words, own_check) = words.split_at(words.len() - 1);
        let [low, high] = [words[words.len() - 2], words[words.len() - 1]].map(u64::from);
        let (number, local, neighbor) = (low | high << 32, words[0] & 0xffff, words[1]);
        let is_plausible = number >= last
            && number >> NUMBER_BITS == 0
            && locals.contains(&(local as usize))
            && neighbor <= MAX_VERTEX_ID;
        let is_whole = || {
            let expected = check(extent, range.start, crc, words);
            extent.region.matches(Site::DirectEdge, expected, own_check[0])
        };
        if is_plausible && is_whole() {
            last = number;
            let local = local as usize;
            found.push(DirectEntry { number, section, place, local, neighbor, is_after_torn });
        } else {
            is_after_torn = true;
        }
    }
}

/// Where an end of an edge is: array and section.
type Place = (usize, usize);

/// What opening found in all arrays.
struct Ends<'a> {
    layout: &'a Pma,
    /// The number that headers have, by array and section.
    counted: FxHashMap<Place, u64>,
    /// Where entries are, by the number of their edge.
    stored: FxHashMap<u64, ArrayVec<Place, 2>>,
}

impl<'a> Ends<'a> {
    fn new(layout: &'a Pma, arrays: &[Restored]) -> Self {
        let mut ends = Self { layout, counted: FxHashMap::default(), stored: FxHashMap::default() };
        for Restored { array, direct, .. } in arrays {
            let index = array.index as usize;
            let numbers = array.sections.iter().map(|section| section.direct).enumerate();
            ends.counted.extend(numbers.map(|(section, number)| ((index, section), number)));
            for entry in direct {
                // An edge has no third end: then none of them is where it should be.
                let stored = ends.stored.entry(entry.number).or_default();
                let _third = stored.try_push((index, entry.section));
            }
        }
        ends
    }

    /// Returns the largest number that a header has, and that an edge has.
    fn last(&self) -> (u64, u64) {
        let counted = self.counted.values().copied().max().unwrap_or(0);
        (counted, self.stored.keys().copied().max().unwrap_or(0).max(counted))
    }

    /// Whether an edge is where it should be, of which an array has this entry.
    fn are_there(&self, array: &Array, entry: &DirectEntry) -> bool {
        let vertex = array.first_vertex() + entry.local as u32;
        let edge = match array.index % 2 {
            0 => (vertex, entry.neighbor),
            _ => (entry.neighbor, vertex),
        };
        let span = array.shape.section_vertices as usize;
        let ends = ends(&self.layout.options, edge);
        let place = |end: &End| (2 * end.shard + end.side, end.local / span);
        ends.iter().map(place).all(|needed| {
            let is_it = |place: &Place| *place == needed;
            let stored = self.stored[&entry.number].iter().copied().filter(is_it).count();
            // D3.
            self.counted.get(&needed).is_some_and(|&number| number >= entry.number)
                || stored == ends.iter().map(place).filter(is_it).count()
        })
    }
}

/// Takes the entries that count by themselves, and takes away the only end of the last edge.
///
/// # Errors
/// `Corruption` if another edge has one end only, or an entry between others is not whole.
pub(super) fn recover(layout: &Pma, arrays: &mut [Restored], access: Access) -> Result<()> {
    if layout.options.tuning.log_first == LogFirst::Yes {
        return Ok(());
    }
    let ends = Ends::new(layout, arrays);
    let (counted, last) = ends.last();
    for Restored { array, direct, .. } in arrays {
        let mut counts: FxHashMap<usize, usize> = FxHashMap::default();
        for entry in direct {
            let Array { extent, shape, .. } = &*array;
            let range = shape.log_range(entry.section, entry.place..entry.place + 1);
            let bytes = extent.offset() + range.start..extent.offset() + range.end;
            if !entry.is_after_torn && ends.are_there(array, entry) {
                // A process that was killed may have left it in caches only.
                extent.region.rewrite(Site::ArraysFound, bytes)?;
                *counts.entry(entry.section).or_default() += 1;
            } else if entry.number < last || entry.number <= counted {
                let (what, expected) = ("an entry of an edge log", "all entries of its edge");
                return Err(damaged(extent, range.start, what, expected));
            } else if access == Access::Write {
                extent.region.wipe(Site::DirectEdge, bytes);
            }
        }
        for (section, count) in counts {
            array.adopt(section, count);
        }
    }
    layout.direct.store(last, Relaxed);
    Ok(())
}
