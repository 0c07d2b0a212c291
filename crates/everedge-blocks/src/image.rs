//! The image of a shard: its lists, and where its blocks lie.
//!
//! ```text
//! head: magic, version │ counts │ a bit for each vertex │ number of blocks │ place of each
//! body: list │ list
//! list: a bit for each vertex that has neighbors │ row │ row …
//! row:  degree │ entries
//!       or degree + 2^31 │ number of blocks │ first neighbor, entries, checksum of each
//! ```
//! An opening reads the heads of all images. The body of one is read when its shard is first asked
//! for, and with it all of its blocks are checked.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_core::MAX_VERTEX_ID;
use everedge_live::{
    BITMAP_WORDS, Error, FoundImage, IMAGE_HEAD_WORDS, ImageReader, Images, Result, SHARD_SPAN,
    UNIT_BYTES, are_weights,
};
use everedge_medium::{Region, Site};

use super::layout::Blocks;
use super::lpmb::{self, BlockRef};
use super::pool::LINE_BYTES;
use super::shard::{SPANS, Shard, Spans};
use super::span::{Row, SPAN, Span};
use super::versions::Version;

const MAGIC: u32 = u32::from_le_bytes(*b"BSHD");
const VERSION: u32 = 1;
/// Words of a bit for each vertex.
const BIT_WORDS: usize = SHARD_SPAN / 32;
/// No file holds so much of anything.
const COUNT_MAX: u64 = 1 << 40;
/// More neighbors than this of one vertex would leave no room for those of a replay.
const DEGREE_MAX: u32 = (1 << 31) - (1 << 28);
/// In a row, beside the degree: the list has blocks.
const IN_BLOCKS: u32 = 1 << 31;

/// Puts the image of a shard, whose blocks are frozen, into `words`. Returns how many of them are its head.
pub(crate) fn encode(shard: &Shard, entry_words: usize, words: &mut Vec<u32>) -> usize {
    debug_assert!(shard.unread.is_none(), "the lists are there");
    words.clear();
    words.extend([0; IMAGE_HEAD_WORDS]);
    words.extend([MAGIC, VERSION, shard.lists.len() as u32, shard.vertex_count]);
    push_u64(words, shard.degree_sum);
    push_u64(words, shard.loop_count);
    shard.vertices.iter().for_each(|&bits| push_u64(words, bits));
    let count = words.len();
    words.push(0);
    for_each_table(shard, |table| words.extend(lpmb::blocks(table).map(|block| block.place)));
    words[count] = (words.len() - count - 1) as u32;
    let head_words = words.len();
    for spans in &shard.lists {
        encode_list(spans, entry_words, words);
    }
    debug_assert_eq!(words.len(), word_count(shard, entry_words));
    head_words
}

/// Returns how many words the image of a shard has.
pub(crate) fn word_count(shard: &Shard, entry_words: usize) -> usize {
    let of_row = |span: &Span, row: Row| match (row.degree, row.is_in_blocks()) {
        (0, _) => 0,
        (degree, false) => 1 + degree as usize * entry_words,
        (_, true) => 2 + 4 * lpmb::blocks(span.table(row)).len(),
    };
    let of_span = |span: &Span| -> usize { (0..SPAN).map(|v| of_row(span, span.row(v))).sum() };
    let head = IMAGE_HEAD_WORDS + 4 + 4 + 2 * BITMAP_WORDS + 1;
    let rows = shard.spans().map(|(_, _, span)| of_span(span)).sum::<usize>();
    head + BIT_WORDS * shard.lists.len() + rows
}

/// Calls `f` with the tables of all lists, in the order of an image.
pub(crate) fn for_each_table(shard: &Shard, mut f: impl FnMut(&[AtomicU32])) {
    for (_, _, span) in shard.spans() {
        for row in (0..SPAN).map(|local| span.row(local)).filter(|row| row.is_in_blocks()) {
            f(span.table(row));
        }
    }
}

fn encode_list(spans: &Spans, entry_words: usize, words: &mut Vec<u32>) {
    let bits = words.len();
    words.resize(bits + BIT_WORDS, 0);
    for (number, span) in spans.iter().enumerate() {
        let Some(span) = span else { continue };
        for local in 0..SPAN {
            let row = span.row(local);
            if row.degree == 0 {
                continue;
            }
            let bit = number * SPAN + local;
            words[bits + bit / 32] |= 1 << (bit % 32);
            if !row.is_in_blocks() {
                words.push(row.degree);
                let entries = span.entries(row, entry_words);
                words.extend(entries.iter().map(|word| word.load(Relaxed)));
                continue;
            }
            let blocks = lpmb::blocks(span.table(row));
            words.extend([row.degree | IN_BLOCKS, blocks.len() as u32]);
            for BlockRef { first, count, checksum, .. } in blocks {
                words.extend([first, count, checksum]);
            }
        }
    }
}

fn push_u64(words: &mut Vec<u32>, number: u64) {
    words.extend([number as u32, (number >> 32) as u32]);
}

/// What is still to be read of a shard: the body of its image.
#[derive(Clone)]
pub(crate) struct Unread {
    image: FoundImage,
    /// The places of all blocks.
    places: Arc<[u32]>,
    /// How many units the image takes.
    pub image_units: u64,
}

impl Unread {
    /// Returns the places of all blocks.
    pub(crate) fn places(&self) -> &[u32] {
        &self.places
    }
}

impl Shard {
    /// Reads what the head of an image says of its shard.
    ///
    /// # Errors
    /// `Corruption` if it is damaged.
    pub(crate) fn read_head(blocks: &Blocks, images: &Images, image: &FoundImage) -> Result<Self> {
        let words = images.read_head(image)?;
        let mut reader = ImageReader::new(&words, blocks.pool.region().path(), image);
        let list_count = blocks.options.list_count();
        if reader.array()? != [MAGIC, VERSION, list_count as u32] {
            return Err(reader.damaged());
        }
        let mut shard = Shard {
            first_vertex: (image.shard * SHARD_SPAN) as u32,
            opened_sequence: image.sequence,
            vertex_count: reader.u32()?,
            degree_sum: reader.u64()?,
            loop_count: reader.u64()?,
            vertices: (0..BITMAP_WORDS).map(|_| reader.u64()).collect::<Result<_>>()?,
            version: Some(Version::new(&blocks.pool, image.shard)),
            ..Shard::default()
        };
        let vertex_count: u32 = shard.vertices.iter().map(|bits| bits.count_ones()).sum();
        let is_much = shard.degree_sum.max(shard.loop_count) > COUNT_MAX;
        let count = reader.u32()? as usize;
        let places: Arc<[u32]> =
            reader.take(count)?.iter().map(|word| word.load(Relaxed)).collect();
        let lines = blocks.pool.region().len() / LINE_BYTES;
        let block_lines = blocks.pool.block_bytes() / LINE_BYTES;
        let step = block_lines.min(UNIT_BYTES / LINE_BYTES);
        let is_outside = places
            .iter()
            .map(|&place| u64::from(place))
            .any(|place| place + block_lines > lines || !place.is_multiple_of(step));
        if is_much || is_outside || vertex_count != shard.vertex_count || !reader.words.is_empty() {
            return Err(reader.damaged());
        }
        let image_units = image.units().map(|units| units.end - units.start).sum();
        shard.unread = Some(Unread { image: image.clone(), places, image_units });
        Ok(shard)
    }

    /// Reads and checks the lists of a shard, if they are unread.
    ///
    /// # Errors
    /// `Corruption` if its image or a block is damaged; it stays unread then.
    pub(crate) fn read(&mut self, blocks: &Blocks, images: &Images) -> Result<()> {
        let Some(unread) = &self.unread else { return Ok(()) };
        let image = &unread.image;
        let words = images.read_body(image)?;
        let mut reader = ImageReader::new(&words, blocks.pool.region().path(), image);
        let (mut places, mut bound) = (unread.places().iter().copied(), 0);
        let mut lists = Vec::new();
        let (mut degree_sum, mut loop_count) = (0, 0);
        for list in 0..blocks.options.list_count() {
            let mut loops = 0;
            let spans = read_list(&mut reader, blocks, &mut places, |local, neighbor, count| {
                loops += if neighbor == self.first_vertex + local as u32 { count } else { 0 };
                bound = bound.max(neighbor + 1);
            })?;
            if list == 0 {
                let spans = spans.iter().flatten();
                degree_sum =
                    spans.flat_map(|span| (0..SPAN).map(|v| u64::from(span.row(v).degree))).sum();
                loop_count = loops;
            }
            lists.push(Arc::new(spans));
        }
        let sums = (self.degree_sum, self.loop_count);
        if places.next().is_some() || !reader.words.is_empty() || sums != (degree_sum, loop_count) {
            return Err(reader.damaged());
        }
        (self.lists, self.neighbor_bound, self.unread) = (lists, bound, None);
        Ok(())
    }
}

/// Reads one list of all vertices; `see` is told each neighbor of each, as a run of equal ones.
fn read_list(
    reader: &mut ImageReader,
    blocks: &Blocks,
    places: &mut impl Iterator<Item = u32>,
    mut see: impl FnMut(usize, u32, u64),
) -> Result<Spans> {
    let entry_words = blocks.options.entry_words();
    let bits: [u32; BIT_WORDS] = reader.array()?;
    let mut spans: Spans = [const { None }; SPANS];
    let (mut words, mut table) = (Vec::new(), Vec::new());
    for local in (0..SHARD_SPAN).filter(|local| bits[local / 32] >> (local % 32) & 1 == 1) {
        let row = reader.u32()?;
        let degree = row & !IN_BLOCKS;
        if degree == 0 || degree > DEGREE_MAX {
            return Err(reader.damaged());
        }
        let span = spans[local / SPAN].get_or_insert_default();
        let span = Arc::get_mut(span).expect("nobody shares it yet");
        let mut order = Order::new(blocks.options.simple);
        if row & IN_BLOCKS == 0 {
            let entries = reader.take(degree as usize * entry_words)?;
            if !order.holds(entries, entry_words, |neighbor| see(local, neighbor, 1)) {
                return Err(reader.damaged());
            }
            words.clear();
            words.extend(entries.iter().map(|word| word.load(Relaxed)));
            span.set_entries(local % SPAN, &words, entry_words);
            continue;
        }
        table.clear();
        let mut sum = 0;
        for _ in 0..reader.u32()? {
            let [first, count, checksum] = reader.array()?;
            let place = places.next().ok_or_else(|| reader.damaged())?;
            let block = BlockRef { first, place, count, is_own: false, checksum };
            let is_whole = count > 0 && count as usize <= blocks.context(&[]).slots();
            if !is_whole
                || !is_block_right(blocks, &block, &mut order, |neighbor| see(local, neighbor, 1))
            {
                return Err(damaged_block(blocks.pool.region(), &block));
            }
            sum += u64::from(count);
            table.push(block);
        }
        if sum != u64::from(degree) {
            return Err(reader.damaged());
        }
        span.set_table((local % SPAN, degree), table.iter().copied(), entry_words);
    }
    for span in spans.iter_mut().flatten().filter_map(Arc::get_mut) {
        // All of them are named by the image.
        span.has_own_blocks = false;
    }
    Ok(spans)
}

/// What entries must be like that follow one another.
pub(crate) struct Order {
    /// The smallest neighbor that may come next.
    least: u32,
    is_simple: bool,
}

impl Order {
    /// Returns what those of one list must be like.
    pub(crate) fn new(is_simple: bool) -> Self {
        Self { least: 0, is_simple }
    }

    /// Returns whether entries ascend from those before, name ids and have weights.
    pub(crate) fn holds(
        &mut self,
        entries: &[AtomicU32],
        entry_words: usize,
        mut see: impl FnMut(u32),
    ) -> bool {
        for entry in entries.chunks_exact(entry_words) {
            let neighbor = entry[0].load(Relaxed);
            if neighbor < self.least || neighbor > MAX_VERTEX_ID {
                return false;
            }
            self.least = neighbor + u32::from(self.is_simple);
            see(neighbor);
        }
        let weights = entries.iter().skip(1).step_by(2).map(|word| word.load(Relaxed));
        entry_words == 1 || are_weights(weights)
    }
}

/// Returns whether a block is what its table says, and in its place in the list.
pub(crate) fn is_block_right(
    blocks: &Blocks,
    block: &BlockRef,
    order: &mut Order,
    see: impl FnMut(u32),
) -> bool {
    let (region, entry_words) = (blocks.pool.region(), blocks.options.entry_words());
    let entries = region.words(blocks.pool.offset(block.place), block.count as usize * entry_words);
    let found = lpmb::checksum_of(blocks.salt, block.place, entries);
    let is_whole = block.is_own || region.matches(Site::Block, block.checksum, found);
    is_whole && entries[0].load(Relaxed) == block.first && order.holds(entries, entry_words, see)
}

/// Returns the error that names a block.
pub(crate) fn damaged_block(region: &Region, block: &BlockRef) -> Error {
    Error::Corruption {
        path: region.path().to_owned(),
        offset: u64::from(block.place) * LINE_BYTES,
        what: "a block of neighbors".into(),
        expected: format!("{} ascending ones with checksum {:08x}", block.count, block.checksum),
        found: "others".into(),
    }
}
