//! The image of a shard: its lists as they are in memory, and where its blocks and runs lie.
//!
//! ```text
//! head: magic, version │ counts │ a bit for each vertex │ runs of each list's 16 spans │ space │ space
//! space: units in use │ rest of the extent │ spare │ leftovers │ extents
//! body: list │ list
//! list: a bit for each vertex that has a row │ row │ row …
//! row: degree: if the list is its part of a run and nothing else
//!      or words, class, flags │ place of the newest block, degree: unless what follows is all of the list
//!      │ words of the buffer │ blocks that found no room on the medium
//! ```
//! An opening reads the heads of all images. The body of one is read when its shard is first asked
//! for.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use everedge_core::memory::prefetch;
use everedge_live::{
    BITMAP_WORDS, Extents, FoundImage, Hold, IMAGE_HEAD_WORDS, ImageReader, Images, Result,
    SHARD_SPAN, Space,
};
use everedge_medium::HeldWords;

use super::block::{ENTRY_WORDS_MAX, NO_BLOCK, UNIT_LINES};
use super::buffers::{CLASS_MAX, Plan, STEP_WORDS};
use super::layout::Adjacency;
use super::list::{LINE_WORDS, List, Span, Spill};
use super::run::SPAN;
use super::shard::Shard;
use super::space::ShardSpace;
use super::table::Entry;

const MAGIC: u32 = u32::from_le_bytes(*b"SHRD");
const VERSION: u32 = 4;
const SPANS: usize = SHARD_SPAN / SPAN;
/// Words of a bit for each vertex.
const BIT_WORDS: usize = SHARD_SPAN / 32;
/// No file holds so much of anything.
const COUNT_MAX: u64 = 1 << 40;
/// More neighbors than this of one vertex would leave no room for those of a replay.
const DEGREE_MAX: u32 = u32::MAX - (1 << 28);
/// How many vertices after one that is copied the next buffer is loaded into the cache.
const READ_AHEAD: usize = 16;
/// In a row, beside its flags: the list is what follows, and nothing else.
const IS_ALL: u32 = 1 << 31;
/// In a row, beside the degree: the list is its part of a run, and nothing else.
const IS_RUN: u32 = 1 << 30;
/// Beside the length of what was spilled: more of the same vertex follows;
const HAS_MORE: u32 = 1 << 31;
/// and its sequence number is that of what was spilled before it in the list.
const HAS_SAME_SEQUENCE: u32 = 1 << 30;

/// Puts the image of a shard into `words`. Returns how many of them are its head, and the extents that
/// it names.
pub(crate) fn encode(
    shard: &Shard,
    entry_words: usize,
    words: &mut Vec<u32>,
) -> (usize, Vec<Hold>) {
    debug_assert!(shard.unread.is_none(), "the lists are there");
    let mut extents = Vec::new();
    words.clear();
    words.extend([0; IMAGE_HEAD_WORDS]);
    words.extend([MAGIC, VERSION, shard.lists.len() as u32, shard.vertex_count]);
    let Shard { degree_sum, loop_count, tombstone_count, block_count, .. } = *shard;
    for number in [degree_sum, loop_count, tombstone_count, block_count] {
        push_u64(words, number);
    }
    shard.vertices.iter().for_each(|&bits| push_u64(words, bits));
    for span in shard.lists.iter().flat_map(|list| &list.spans) {
        words.extend([span.run, span.is_pure.into(), span.unit_count() as u32]);
        extents.extend(span.extents.clone().map(|extents| extents as Hold));
    }
    for space in &shard.spaces {
        encode_space(space, words, &mut extents);
    }
    let head_words = words.len();
    for list in &shard.lists {
        let region = list.buffers().region();
        let buffers = region.hold(0, region.len() as usize / 4);
        encode_list(list, &buffers, entry_words, words);
    }
    (head_words, extents)
}

fn encode_space(space: &ShardSpace, words: &mut Vec<u32>, extents: &mut Vec<Hold>) {
    push_u64(words, space.unit_count);
    push_ranges(words, std::slice::from_ref(&space.extent));
    push_ranges(words, &space.spare);
    for leftovers in &space.leftovers {
        words.push(leftovers.len() as u32);
        words.extend(leftovers);
    }
    let units = space.extents.as_ref().map_or(Vec::new(), |extents| extents.units());
    push_ranges(words, &units);
    extents.extend(space.extents.clone().map(|extents| extents as Hold));
}

fn encode_list(list: &List, buffers: &HeldWords, entry_words: usize, words: &mut Vec<u32>) {
    let bits = words.len();
    words.resize(bits + BIT_WORDS, 0);
    // Which vertices have a row is as if by chance, and so is the length of a buffer: a branch on
    // either would be guessed wrong.
    let (mut locals, mut count) = ([0; SHARD_SPAN], 0);
    for (local, entry) in list.table.entries().enumerate() {
        let is_row = !entry.is_empty();
        locals[count] = local;
        count += usize::from(is_row);
        words[bits + local / 32] |= u32::from(is_row) << (local % 32);
    }
    let mut sequence = None;
    for (index, &local) in locals[..count].iter().enumerate() {
        let ahead = list.entry(locals[(index + READ_AHEAD).min(count - 1)]);
        let first = ahead.buffer as usize * STEP_WORDS;
        // Few buffers are longer than two lines.
        for word in [first, first + usize::from(ahead.buffered)] {
            prefetch(&buffers[word..]);
        }
        let entry = list.entry(local);
        let class = if entry.buffered > 0 { entry.class } else { 0 };
        let row = Entry { class, buffer: 0, ..entry };
        if row == (Entry { degree: row.degree, ..Entry::default() }) && row.degree < IS_RUN {
            words.push(row.degree | IS_RUN);
            continue;
        }
        let buffered = usize::from(entry.buffered);
        let spills = if entry.has_spills { list.spilled(local) } else { &[] };
        let spilled: usize = spills.iter().map(|spill| spill.words.len()).sum();
        if entry.head == NO_BLOCK && entry.degree as usize * entry_words == buffered + spilled {
            if let ([spill], 0) = (spills, buffered)
                && sequence == Some(spill.sequence)
                && let Ok(buffered) = u16::try_from(spilled)
            {
                words.push(Entry { buffered, ..row }.counts() | IS_ALL);
                words.extend(spill.words.iter().map(|word| word.load(Relaxed)));
                continue;
            }
            words.push(row.counts() | IS_ALL);
        } else {
            words.extend([row.counts(), row.head, row.degree]);
        }
        encode_buffer(buffers, entry.buffer as usize * STEP_WORDS, buffered, words);
        encode_spills(spills, &mut sequence, words);
    }
}

/// Copies a line at a time, the last one with what follows the buffer: most are shorter than a line.
#[inline(always)]
fn encode_buffer(buffers: &HeldWords, first: usize, count: usize, words: &mut Vec<u32>) {
    let end = words.len() + count;
    let whole = first..first + count.next_multiple_of(LINE_WORDS);
    match buffers.get(whole) {
        Some(lines) => lines.as_chunks::<LINE_WORDS>().0.iter().for_each(|line| {
            words.extend_from_slice(&line.each_ref().map(|word| word.load(Relaxed)));
        }),
        None => words.extend(buffers[first..first + count].iter().map(|word| word.load(Relaxed))),
    }
    words.truncate(end);
}

/// Where the medium is full these may be all lists of a shard: a row takes most, as it takes a buffer.
fn encode_spills(spills: &[Spill], sequence: &mut Option<u64>, words: &mut Vec<u32>) {
    for (index, spill) in spills.iter().enumerate() {
        let more = if index + 1 < spills.len() { HAS_MORE } else { 0 };
        let len = spill.words.len() as u32 | more;
        if sequence.replace(spill.sequence) == Some(spill.sequence) {
            words.push(len | HAS_SAME_SEQUENCE);
        } else {
            words.push(len);
            push_u64(words, spill.sequence);
        }
        words.extend(spill.words.iter().map(|word| word.load(Relaxed)));
    }
}

fn push_u64(words: &mut Vec<u32>, number: u64) {
    words.extend([number as u32, (number >> 32) as u32]);
}

/// Units are counted in 32 bits: places of lines are.
fn push_ranges(words: &mut Vec<u32>, ranges: &[Range<u64>]) {
    words.push(ranges.len() as u32);
    words.extend(ranges.iter().flat_map(|range| [range.start as u32, range.end as u32]));
}

/// What is still to be read of a shard: the body of its image.
#[derive(Clone)]
pub(crate) struct Unread {
    image: FoundImage,
    /// The runs of each list.
    spans: Vec<Vec<Span>>,
    /// The units of the image.
    own: Arc<Extents>,
}

/// A shard as the head of its image tells it, and the units that it names, by sub-graph; they belong
/// to nobody yet.
pub(crate) struct Head {
    shard: Shard,
    spans: Vec<Vec<Span>>,
    /// By list and span.
    runs: Vec<(usize, usize, Range<u64>)>,
    /// By slot.
    extents: Vec<Vec<Range<u64>>>,
}

impl Head {
    /// Reads the head of an image.
    ///
    /// # Errors
    /// `Corruption` if it is damaged.
    pub(crate) fn read(adjacency: &Adjacency, images: &Images, image: &FoundImage) -> Result<Self> {
        let words = images.read_head(image)?;
        let mut reader = ImageReader::new(&words, adjacency.images_path(), image);
        let list_count = adjacency.options.list_count();
        if reader.array()? != [MAGIC, VERSION, list_count as u32] {
            return Err(reader.damaged());
        }
        let mut shard = Shard {
            first_vertex: (image.shard * SHARD_SPAN) as u32,
            opened_sequence: image.sequence,
            vertex_count: reader.u32()?,
            degree_sum: reader.u64()?,
            loop_count: reader.u64()?,
            tombstone_count: reader.u64()?,
            block_count: reader.u64()?,
            vertices: (0..BITMAP_WORDS).map(|_| reader.u64()).collect::<Result<_>>()?,
            ..Shard::default()
        };
        let Shard { degree_sum, loop_count, tombstone_count, block_count, .. } = shard;
        let counts = [degree_sum, loop_count, tombstone_count, block_count];
        let vertex_count: u32 = shard.vertices.iter().map(|bits| bits.count_ones()).sum();
        if counts.iter().any(|count| *count > COUNT_MAX) || vertex_count != shard.vertex_count {
            return Err(reader.damaged());
        }
        let (mut spans, mut runs) = (vec![Vec::with_capacity(SPANS); list_count], Vec::new());
        for (list, span) in
            (0..list_count).flat_map(|list| (0..SPANS).map(move |span| (list, span)))
        {
            let [run, is_pure, units] = reader.array()?;
            let is_one = run != NO_BLOCK && run % UNIT_LINES == 0 && units > 0 && is_pure <= 1;
            if !is_one && [run, is_pure, units] != [NO_BLOCK, 0, 0] {
                return Err(reader.damaged());
            }
            spans[list].push(Span { run, is_pure: is_pure == 1, extents: None });
            if units > 0 {
                shard.run_units += u64::from(units);
                let first = u64::from(run / UNIT_LINES);
                runs.push((list, span, first..first + u64::from(units)));
            }
        }
        let mut extents = Vec::new();
        for space in &mut shard.spaces {
            extents.push(read_space(&mut reader, space)?);
        }
        Ok(Self { shard, spans, runs, extents })
    }

    /// Returns the units that the image names, each with the sub-graph that they are of.
    pub(crate) fn units(&self, adjacency: &Adjacency, number: usize) -> Vec<(usize, Range<u64>)> {
        let partition = adjacency.sub_graphs.partition;
        let of_runs = self
            .runs
            .iter()
            .map(|(list, _, units)| (partition.sub_graph(number, *list), units.clone()));
        let slots = partition.of_slots(number).into_iter().zip(&self.extents);
        let of_slots = slots.flat_map(|(sub_graph, units)| {
            units.iter().map(move |units| (sub_graph, units.clone()))
        });
        of_runs.chain(of_slots).collect()
    }

    /// Makes the units those of the shard and of its image. Returns the shard.
    pub(crate) fn finish(
        mut self,
        adjacency: &Adjacency,
        images: &Images,
        image: &FoundImage,
    ) -> Shard {
        let (sub_graphs, mut all) = (&adjacency.sub_graphs, Vec::<Hold>::new());
        let partition = sub_graphs.partition;
        let mut own = |sub_graph: usize, units| {
            let space: &Arc<Space> = sub_graphs.space(sub_graph);
            let extents = Extents::new(space, units);
            all.push(extents.clone());
            Some(extents)
        };
        for (list, span, units) in self.runs {
            let sub_graph = partition.sub_graph(image.shard, list);
            self.spans[list][span].extents = own(sub_graph, vec![units]);
        }
        let slots = partition.of_slots(image.shard);
        for ((space, units), sub_graph) in self.shard.spaces.iter_mut().zip(self.extents).zip(slots)
        {
            if !units.is_empty() {
                space.extents = own(sub_graph, units);
            }
        }
        let own = images.keep(image, all);
        self.shard.unread = Some(Unread { image: image.clone(), spans: self.spans, own });
        self.shard
    }
}

fn read_space(reader: &mut ImageReader, space: &mut ShardSpace) -> Result<Vec<Range<u64>>> {
    space.unit_count = reader.u64()?;
    space.extent = reader.ranges()?.pop().unwrap_or_default();
    space.spare = reader.ranges()?;
    for leftovers in &mut space.leftovers {
        let count = reader.u32()? as usize;
        *leftovers = reader.take(count)?.iter().map(|word| word.load(Relaxed)).collect();
    }
    let units = reader.ranges()?;
    // That what is free is the shard's own is looked at with its lists.
    let count: u64 = units.iter().map(|units| units.end - units.start).sum();
    match space.unit_count <= count && space.extent.end - space.extent.start <= count {
        true => Ok(units),
        false => Err(reader.damaged()),
    }
}

impl Unread {
    /// Returns how many units the image takes.
    pub(crate) fn unit_count(&self) -> u64 {
        self.own.count()
    }

    /// Reads the lists of the shard. What they point to on the medium is not looked at.
    ///
    /// # Errors
    /// `Corruption` if the image is damaged; `NoSpace` if there is no memory.
    pub(crate) fn read(&self, adjacency: &Adjacency, images: &Images) -> Result<Vec<List>> {
        let Self { image, spans, .. } = self;
        let words = images.read_body(image)?;
        let mut reader = ImageReader::new(&words, adjacency.images_path(), image);
        let (partition, tables, pool) = adjacency.memory();
        let rows = (adjacency.options.entry_words(), &adjacency.plan);
        let read = |(number, spans): (usize, &Vec<Span>)| {
            let sub_graph = partition.sub_graph(image.shard, number);
            let mut list = List::new(sub_graph, spans.clone(), tables, pool)?;
            read_list(&mut reader, rows, &mut list)?;
            Ok(list)
        };
        spans.iter().enumerate().map(read).collect()
    }
}

fn read_list(
    reader: &mut ImageReader,
    (entry_words, plan): (usize, &Plan),
    list: &mut List,
) -> Result<()> {
    let bits: [u32; BIT_WORDS] = reader.array()?;
    let mut sequence = None;
    for local in (0..SHARD_SPAN).filter(|local| bits[local / 32] >> (local % 32) & 1 == 1) {
        let counts = reader.u32()?;
        if counts & (IS_ALL | IS_RUN) == IS_RUN {
            let entry = Entry { degree: counts & !IS_RUN, ..Entry::default() };
            list.restore(local, entry, &[])?;
            continue;
        }
        let placed = if counts & IS_ALL == 0 { Some(reader.array()?) } else { None };
        let mut entry = Entry::new([NO_BLOCK, 0, 0, counts & !IS_ALL]);
        let is_spill = placed.is_none() && entry.has_spills && entry.class == 0;
        if is_spill && entry.buffered > 0 {
            let words = reader.take(entry.buffered.into())?;
            let sequence = sequence.ok_or_else(|| reader.damaged())?;
            check_spill(reader, entry_words, words.len())?;
            (entry.buffered, entry.degree) = (0, (words.len() / entry_words) as u32);
            list.restore(local, entry, &[])?;
            list.spill(local, [Spill::new(sequence, words)]);
            continue;
        }
        let buffered = usize::from(entry.buffered);
        // One that is full would have become a block.
        let is_possible = match buffered {
            0 => entry.class == 0,
            _ => {
                (1..=CLASS_MAX).contains(&entry.class)
                    && buffered.is_multiple_of(entry_words)
                    && buffered <= plan.capacity(entry.class)
                    && !plan.is_full(entry.class, buffered, entry_words)
            }
        };
        if !is_possible {
            return Err(reader.damaged());
        }
        let buffer = reader.take(buffered)?;
        let spills = if entry.has_spills {
            read_spills(reader, entry_words, &mut sequence)?
        } else {
            Vec::new()
        };
        let spilled: usize = spills.iter().map(|spill| spill.words.len()).sum();
        let all = [NO_BLOCK, ((buffered + spilled) / entry_words) as u32];
        [entry.head, entry.degree] = placed.unwrap_or(all);
        if entry.degree > DEGREE_MAX {
            return Err(reader.damaged());
        }
        list.restore(local, entry, buffer)?;
        if !spills.is_empty() {
            list.spill(local, spills);
        }
    }
    Ok(())
}

/// Reads what was spilled of one vertex.
fn read_spills(
    reader: &mut ImageReader,
    entry_words: usize,
    sequence: &mut Option<u64>,
) -> Result<Vec<Spill>> {
    let mut spills = Vec::new();
    loop {
        let len = reader.u32()?;
        if len & HAS_SAME_SEQUENCE == 0 {
            *sequence = Some(reader.u64()?).filter(|sequence| *sequence < reader.image.sequence);
        }
        let sequence = sequence.ok_or_else(|| reader.damaged())?;
        let word_count = (len & !(HAS_MORE | HAS_SAME_SEQUENCE)) as usize;
        check_spill(reader, entry_words, word_count)?;
        let words = reader.take(word_count)?;
        spills.push(Spill::new(sequence, words));
        if len & HAS_MORE == 0 {
            return Ok(spills);
        }
    }
}

/// Refuses a spill of so many words that no block could hold.
fn check_spill(reader: &ImageReader, entry_words: usize, word_count: usize) -> Result<()> {
    match word_count <= ENTRY_WORDS_MAX && word_count.is_multiple_of(entry_words) {
        true => Ok(()),
        false => Err(reader.damaged()),
    }
}
