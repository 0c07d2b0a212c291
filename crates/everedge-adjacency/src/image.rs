//! The image of a shard: its tables and buffers as they are, and where its blocks and runs lie.
//!
//! ```text
//! counts │ a bit for each vertex │ list │ list │ space │ space
//! list:  runs of its 16 spans │ rows up to the last that says something │ words of all buffers
//!        │ blocks that found no room on the medium
//! space: rest of the extent │ spare │ leftovers │ extents
//! ```
//! A row has the place of its buffer counted in steps from the first of these words.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use everedge_core::memory::prefetch;
use everedge_live::{BITMAP_WORDS, Error, Extents, FoundImage, Images, Result, SHARD_SPAN, Space};

use super::buffers::{self, STEP_WORDS};
use super::layout::Adjacency;
use super::list::{List, Span, Spill};
use super::run::SPAN;
use super::shard::Shard;
use super::space::ShardSpace;
use super::table::{Entry, ROW_WORDS};

const MAGIC: u32 = u32::from_le_bytes(*b"SHRD");
const VERSION: u32 = 1;
const SPANS: usize = SHARD_SPAN / SPAN;
/// How many buffers after one that is copied the next one is loaded into the cache.
const READ_AHEAD: usize = 16;

/// Puts the image of a shard into `words`, and returns the extents that it names.
pub(crate) fn encode(shard: &Shard, words: &mut Vec<u32>) -> Vec<Arc<Extents>> {
    let mut extents = Vec::new();
    words.clear();
    words.extend([MAGIC, VERSION, shard.lists.len() as u32, shard.vertex_count]);
    let Shard { degree_sum, loop_count, tombstone_count, block_count, .. } = *shard;
    for number in [degree_sum, loop_count, tombstone_count, block_count] {
        push_u64(words, number);
    }
    shard.vertices.iter().for_each(|&bits| push_u64(words, bits));
    for list in &shard.lists {
        encode_list(list, words, &mut extents);
    }
    for space in &shard.spaces {
        encode_space(space, words, &mut extents);
    }
    extents
}

fn encode_list(list: &List, words: &mut Vec<u32>, extents: &mut Vec<Arc<Extents>>) {
    for span in &list.spans {
        let units = span.extents.as_ref().map_or(0, |extents| extents.count());
        words.extend([span.run, span.is_pure.into(), units as u32]);
        extents.extend(span.extents.clone());
    }
    let row_count =
        list.table.entries().enumerate().filter(|(_, entry)| *entry != Entry::default());
    let row_count = row_count.last().map_or(0, |(last, _)| last + 1);
    words.push(row_count as u32);
    words.reserve(ROW_WORDS * row_count + 1);
    let region = list.buffers().region();
    let mut next_step = 0;
    let mut waiting = Vec::with_capacity(row_count);
    for entry in list.table.entries().take(row_count) {
        let mut row = entry;
        (row.buffer, row.class) = (next_step, if entry.buffered > 0 { entry.class } else { 0 });
        next_step += steps_of(&entry);
        let [first, second] = row.row().map(|word| [word as u32, (word >> 32) as u32]);
        words.extend([first[0], first[1], second[0], second[1]]);
        if entry.buffered > 0 {
            waiting.push(buffers::words(region, entry.buffer, 0..entry.buffered.into()));
        }
    }
    words.push(next_step);
    let mut next = words.len();
    words.resize(next + next_step as usize * STEP_WORDS, 0);
    for (number, buffer) in waiting.iter().enumerate() {
        if let Some(ahead) = waiting.get(number + READ_AHEAD) {
            prefetch(ahead);
        }
        for (to, word) in words[next..].iter_mut().zip(*buffer) {
            *to = word.load(Relaxed);
        }
        next += buffer.len().next_multiple_of(STEP_WORDS);
    }
    let spills: Vec<_> = list.all_spills().collect();
    words.push(spills.len() as u32);
    for (local, spill) in spills {
        words.extend([local, spill.words.len() as u32]);
        push_u64(words, spill.sequence);
        words.extend(spill.words.iter().map(|word| word.load(Relaxed)));
    }
}

/// Returns the steps that the words of a buffer take in an image.
fn steps_of(entry: &Entry) -> u32 {
    usize::from(entry.buffered).div_ceil(STEP_WORDS) as u32
}

fn encode_space(space: &ShardSpace, words: &mut Vec<u32>, extents: &mut Vec<Arc<Extents>>) {
    push_u64(words, space.unit_count);
    push_ranges(words, std::slice::from_ref(&space.extent));
    push_ranges(words, &space.spare);
    for leftovers in &space.leftovers {
        words.push(leftovers.len() as u32);
        words.extend(leftovers);
    }
    let units = space.extents.as_ref().map_or(Vec::new(), |extents| extents.units());
    push_ranges(words, &units);
    extents.extend(space.extents.clone());
}

fn push_u64(words: &mut Vec<u32>, number: u64) {
    words.extend([number as u32, (number >> 32) as u32]);
}

/// Units are counted in 32 bits: places of lines are.
fn push_ranges(words: &mut Vec<u32>, ranges: &[Range<u64>]) {
    words.push(ranges.len() as u32);
    words.extend(ranges.iter().flat_map(|range| [range.start as u32, range.end as u32]));
}

/// A shard as its image tells it, and the units that it names, by sub-graph; they belong to nobody
/// yet.
pub(crate) struct Decoded {
    pub number: usize,
    shard: Shard,
    runs: Vec<(usize, usize, Range<u64>)>,
    /// By slot.
    extents: Vec<Vec<Range<u64>>>,
}

impl Decoded {
    /// Returns the units that the image names, each with the sub-graph that they are of.
    pub(crate) fn units(&self, adjacency: &Adjacency) -> Vec<(usize, Range<u64>)> {
        let partition = adjacency.sub_graphs.partition;
        let of_runs = self
            .runs
            .iter()
            .map(|(list, _, units)| (partition.sub_graph(self.number, *list), units.clone()));
        let slots = partition.of_slots(self.number).into_iter().zip(&self.extents);
        let of_slots = slots.flat_map(|(sub_graph, units)| {
            units.iter().map(move |units| (sub_graph, units.clone()))
        });
        of_runs.chain(of_slots).collect()
    }

    /// Makes the units those of the shard. Returns it, and what its image holds on to.
    pub(crate) fn finish(mut self, adjacency: &Adjacency) -> (Shard, Vec<Arc<Extents>>) {
        let (sub_graphs, mut all) = (&adjacency.sub_graphs, Vec::new());
        let partition = sub_graphs.partition;
        let mut own = |sub_graph: usize, units| {
            let space: &Arc<Space> = sub_graphs.space(sub_graph);
            let extents = Extents::new(space, units);
            all.push(extents.clone());
            Some(extents)
        };
        for (list, span, units) in self.runs {
            let sub_graph = partition.sub_graph(self.number, list);
            self.shard.lists[list].spans[span].extents = own(sub_graph, vec![units]);
        }
        let slots = partition.of_slots(self.number);
        for ((space, units), sub_graph) in self.shard.spaces.iter_mut().zip(self.extents).zip(slots)
        {
            if !units.is_empty() {
                space.extents = own(sub_graph, units);
            }
        }
        (self.shard, all)
    }
}

/// Reads the image of a shard. What it points to on the medium is looked at when the shard is first
/// read.
///
/// # Errors
/// `Corruption` if it is damaged; `NoSpace` if there is no memory.
pub(crate) fn decode(
    adjacency: &Adjacency,
    images: &Images,
    image: &FoundImage,
) -> Result<Decoded> {
    let words = images.read(image)?;
    let mut reader = Reader { words, adjacency, image };
    let [magic, version, list_count, vertex_count] = reader.array()?;
    let mut shard = Shard::default();
    if (magic, version) != (MAGIC, VERSION) || list_count as usize != adjacency.options.list_count()
    {
        return Err(reader.damaged());
    }
    shard.materialize(image.shard, list_count as usize, adjacency.memory())?;
    shard.is_checked = AtomicBool::new(false);
    shard.opened_sequence = image.sequence;
    shard.vertex_count = vertex_count;
    shard.degree_sum = reader.u64()?;
    shard.loop_count = reader.u64()?;
    shard.tombstone_count = reader.u64()?;
    shard.block_count = reader.u64()?;
    for index in 0..BITMAP_WORDS {
        shard.vertices[index] = reader.u64()?;
    }
    let mut runs = Vec::new();
    for list in 0..shard.lists.len() {
        decode_list(&mut reader, list, &mut shard.lists[list], &mut runs)?;
    }
    let mut extents = Vec::new();
    for space in &mut shard.spaces {
        space.unit_count = reader.u64()?;
        space.extent = reader.ranges()?.pop().unwrap_or_default();
        space.spare = reader.ranges()?;
        for leftovers in &mut space.leftovers {
            let count = reader.u32()? as usize;
            *leftovers = reader.take(count)?.iter().map(|word| word.load(Relaxed)).collect();
        }
        extents.push(reader.ranges()?);
    }
    Ok(Decoded { number: image.shard, shard, runs, extents })
}

fn decode_list(
    reader: &mut Reader,
    number: usize,
    list: &mut List,
    runs: &mut Vec<(usize, usize, Range<u64>)>,
) -> Result<()> {
    for span in 0..SPANS {
        let [run, is_pure, units] = reader.array()?;
        list.spans[span] = Span { run, is_pure: is_pure == 1, extents: None };
        if units > 0 {
            let first = u64::from(run / super::block::UNIT_LINES);
            runs.push((number, span, first..first + u64::from(units)));
        }
    }
    let row_count = reader.u32()? as usize;
    if row_count > SHARD_SPAN {
        return Err(reader.damaged());
    }
    let rows = reader.take(row_count * ROW_WORDS)?;
    let steps = reader.u32()? as usize;
    let buffered = reader.take(steps * STEP_WORDS)?;
    for (local, row) in rows.chunks_exact(ROW_WORDS).enumerate() {
        let entry = Entry::load(row);
        let start = entry.buffer as usize * STEP_WORDS;
        let words = buffered.get(start..start + usize::from(entry.buffered));
        let words = words.ok_or_else(|| reader.damaged())?;
        list.restore(local, entry, words)?;
    }
    for _ in 0..reader.u32()? {
        let [local, count] = reader.array()?;
        let sequence = reader.u64()?;
        let words = reader.take(count as usize)?;
        if local as usize >= SHARD_SPAN {
            return Err(reader.damaged());
        }
        list.spill(local as usize, [Spill::new(sequence, words)]);
    }
    Ok(())
}

/// Reads an image word by word.
struct Reader<'a> {
    words: &'a [AtomicU32],
    adjacency: &'a Adjacency,
    image: &'a FoundImage,
}

impl<'a> Reader<'a> {
    fn damaged(&self) -> Error {
        Error::Corruption {
            path: self.adjacency.images_path(),
            offset: self.image.offset,
            what: format!("the image of shard {}", self.image.shard),
            expected: "a whole one of this layout".into(),
            found: "another".into(),
        }
    }

    fn take(&mut self, count: usize) -> Result<&'a [AtomicU32]> {
        let (taken, rest) = self.words.split_at_checked(count).ok_or_else(|| self.damaged())?;
        self.words = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u32; N]> {
        let words = self.take(N)?;
        Ok(std::array::from_fn(|index| words[index].load(Relaxed)))
    }

    fn u32(&mut self) -> Result<u32> {
        self.array().map(|[word]| word)
    }

    fn u64(&mut self) -> Result<u64> {
        self.array().map(|[low, high]: [u32; 2]| u64::from(low) | u64::from(high) << 32)
    }

    fn ranges(&mut self) -> Result<Vec<Range<u64>>> {
        let count = self.u32()? as usize;
        let words = self.take(2 * count)?;
        let range = |pair: &[AtomicU32]| pair[0].load(Relaxed).into()..pair[1].load(Relaxed).into();
        Ok(words.chunks_exact(2).map(range).collect())
    }
}
