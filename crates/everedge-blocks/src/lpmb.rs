//! Linked packed memory blocks: the neighbors of one vertex, sorted, in blocks of equal size that lie anywhere
//! on the medium.
//!
//! Source: SMDG §III-B3, equations 1 and 2, Theorem 1. A list is a packed memory array whose segments are
//! blocks; the table of its blocks is in memory, in the span of the vertex. Slot L of the array is slot
//! L mod n of the block number L / n, where n is how many entries a block holds.
//!
//! Difference: the gaps of a block are at its end, and its length is in the table, so that the neighbors of a
//! block are read without a look at each slot. What does not fit into a block is spread over the smallest
//! window around it that is not filled too much: 2, 4 or 8 blocks (*spread*). Where none is, the window of 8
//! gets as many blocks as it needs (*resize*): since blocks lie anywhere, the others stay where they are.
//! A window that has lost much gets fewer blocks in the same way.
//!
//! # Invariants
//! - L1: entries ascend within a block and from block to block; those of equal neighbors are in the order in
//!   which they came. No block is empty.
//! - L2 (Theorem 1): after a spread or a resize no block of the window is filled to more than the share that
//!   the window may be, rounded up to one entry. Asserted in debug builds, wherever a window is written.
//! - L3: a block that is not the list's own is not changed: another takes its place.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_live::{Effect, Error, Result, Rules};
use everedge_medium::{Region, Site, crc_of_shared};
use parking_lot::Mutex;

use super::merging::{Change, first_from, merge, missing};
use super::options::BlocksOptions;
use super::pool::Pool;
use super::span::Span;
use super::versions::Version;

/// Words of a block in a table.
pub(crate) const REF_WORDS: usize = 4;
/// Blocks of the largest window, as a power of two.
const WINDOW_LEVELS: u32 = 3;
/// Beside the number of entries: the block is the list's own, unsaved and unshared.
const IS_OWN: u32 = 1 << 31;
/// So many words of scratch memory are kept.
const SCRATCH_WORDS: usize = 1 << 18;
/// A list is written anew if it gets more updates than this share of its neighbors.
const REWRITE_SHARE: usize = 4;

/// A block as a table has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockRef {
    /// The first neighbor in it.
    pub first: u32,
    /// Where it lies, in lines.
    pub place: u32,
    /// How many entries it has.
    pub count: u32,
    /// Whether nobody else reads it, so that it changes where it lies.
    pub is_own: bool,
    /// The checksum of its entries; of a block that is the list's own it is not known yet.
    pub checksum: u32,
}

impl BlockRef {
    /// Returns what a table says.
    #[inline]
    pub(crate) fn load(words: &[AtomicU32]) -> Self {
        let [first, place, count, checksum] = [0, 1, 2, 3].map(|index| words[index].load(Relaxed));
        Self { first, place, count: count & !IS_OWN, is_own: count & IS_OWN != 0, checksum }
    }

    /// Returns it as words.
    pub(crate) fn words(&self) -> [u32; REF_WORDS] {
        let own = if self.is_own { IS_OWN } else { 0 };
        [self.first, self.place, self.count | own, self.checksum]
    }

    /// Stores it in a table.
    pub(crate) fn store(&self, words: &mut [AtomicU32]) {
        for (word, new) in words.iter_mut().zip(self.words()) {
            *word.get_mut() = new;
        }
    }

    /// Returns its entries.
    #[inline]
    pub(crate) fn entries<'a>(&self, file: &'a [AtomicU32], entry_words: usize) -> &'a [AtomicU32] {
        &file[self.place as usize * LINE_WORDS..][..self.count as usize * entry_words]
    }
}

/// Words of a line.
pub(crate) const LINE_WORDS: usize = 16;

/// Returns the blocks of a table.
pub(crate) fn blocks(
    table: &[AtomicU32],
) -> impl DoubleEndedIterator<Item = BlockRef> + ExactSizeIterator {
    table.chunks_exact(REF_WORDS).map(BlockRef::load)
}

/// Returns the checksum of a block, which covers its place: a copy elsewhere is not taken for it.
pub(crate) fn checksum_of(salt: u32, place: u32, entries: &[AtomicU32]) -> u32 {
    crc_of_shared(salt ^ place.wrapping_mul(0x9e37_79b1), entries)
}

/// What a list needs to change.
pub(crate) struct Context<'a> {
    pub options: &'a BlocksOptions,
    pub rules: Rules,
    pub pool: &'a Arc<Pool>,
    pub salt: u32,
    /// Words of an entry: a neighbor, and its weight if there are weights.
    pub entry_words: usize,
    /// The weight, as bits, of each update of the round.
    pub weights: &'a [AtomicU32],
    /// Why the medium did not give a block, unless it was only full.
    pub failure: &'a Mutex<Option<Error>>,
}

impl Context<'_> {
    /// Takes some blocks, if the medium has them.
    fn take(&self, version: &Version, count: usize, places: &mut Vec<u32>) -> bool {
        match version.take(count, places) {
            Ok(()) => true,
            Err(Error::NoSpace { .. }) => false,
            Err(error) => {
                self.failure.lock().get_or_insert(error);
                false
            }
        }
    }

    /// Returns how many entries a block holds.
    pub(crate) fn slots(&self) -> usize {
        self.options.block_bytes as usize / 4 / self.entry_words
    }

    fn region(&self) -> &Region {
        self.pool.region()
    }

    /// Returns how many entries a window of so many blocks may have.
    fn most(&self, blocks: usize) -> usize {
        let (top, level) =
            (self.options.window_percent as usize, blocks.ilog2().min(WINDOW_LEVELS));
        let percent = 100 - (100 - top) * level as usize / WINDOW_LEVELS as usize;
        (blocks * self.slots() * percent / 100).max(1)
    }

    /// Returns how many blocks so many entries get.
    fn blocks_for(&self, entries: usize) -> usize {
        entries.div_ceil((self.slots() * self.options.fill_percent as usize / 100).max(1))
    }
}

/// Memory that changes of lists use again.
#[derive(Default)]
pub(crate) struct Scratch {
    old: Vec<u32>,
    new: Vec<u32>,
    places: Vec<u32>,
    retired: Vec<u32>,
}

impl Scratch {
    /// Gives back what only a very long list needs.
    pub(crate) fn shrink(&mut self) {
        for words in [&mut self.old, &mut self.new] {
            words.clear();
            words.shrink_to(SCRATCH_WORDS);
        }
    }
}

/// A list that changes.
pub(crate) struct ListMut<'a, 'b> {
    pub context: &'a Context<'b>,
    pub span: &'a mut Span,
    /// Its place in the span.
    pub local: usize,
    /// The shard's: blocks are taken and given back there.
    pub version: &'a Version,
    pub scratch: &'a mut Scratch,
}

impl ListMut<'_, '_> {
    /// Applies changes, which are sorted. A list for which the medium has no block stays in its span.
    pub(crate) fn apply(&mut self, changes: &[Change], mut note: impl FnMut(Effect)) {
        let row = self.span.row(self.local);
        let has_deletions = changes.iter().any(|change| change.is_deletion());
        if !row.is_in_blocks() {
            let entry_words = self.context.entry_words;
            let most = self.context.options.shared_max as usize;
            if !has_deletions && row.degree as usize + changes.len() <= most {
                let new = &mut self.scratch.new;
                missing(
                    self.context,
                    self.span.entries_mut(self.local, entry_words),
                    changes,
                    new,
                    note,
                );
                return self.span.insert_entries(self.local, new, entry_words);
            }
            let Scratch { old, new, .. } = &mut *self.scratch;
            let entries = self.span.entries(row, entry_words);
            old.clear();
            old.extend(entries.iter().map(|word| word.load(Relaxed)));
            merge(self.context, old, changes, new, note);
            return self.set_all();
        }
        if changes.len() * REWRITE_SHARE > row.degree as usize {
            return self.apply_in(0..self.block_count(), changes, &mut note);
        }
        let mut rest = changes;
        while let Some(&change) = rest.first() {
            // A short list may have left its blocks meanwhile.
            if !self.span.row(self.local).is_in_blocks() {
                return self.apply(rest, note);
            }
            let block = self.find(change.neighbor());
            let next = self.block(block + 1).map(|next| next.first);
            let here =
                rest.partition_point(|change| next.is_none_or(|next| change.neighbor() < next));
            let (here, after) = rest.split_at(here);
            rest = after;
            if has_deletions || !self.insert_in_block(block, here, &mut note) {
                let window = self.with_equal_before(block, here)..block + 1;
                self.apply_in(window, here, &mut note);
            }
        }
    }

    /// Returns how many blocks the list has.
    pub(crate) fn block_count(&self) -> usize {
        self.table().len() / REF_WORDS
    }

    /// Whether a long list is in blocks that are full and lie one after the other, and a short one in its span.
    pub(crate) fn is_in_order(&self) -> bool {
        let row = self.span.row(self.local);
        if !row.is_in_blocks() {
            return row.degree <= self.context.options.shared_max;
        }
        let lines = self.context.options.block_bytes / (4 * LINE_WORDS as u32);
        let mut pairs = blocks(self.table()).zip(blocks(self.table()).skip(1));
        pairs.all(|(block, next)| {
            block.count as usize == self.context.slots() && next.place == block.place + lines
        })
    }

    fn table(&self) -> &[AtomicU32] {
        let row = self.span.row(self.local);
        if row.is_in_blocks() { self.span.table(row) } else { &[] }
    }

    fn block(&self, index: usize) -> Option<BlockRef> {
        self.table().get(index * REF_WORDS..).filter(|rest| !rest.is_empty()).map(BlockRef::load)
    }

    /// Returns the last block whose first neighbor is not after `neighbor`, or the first one.
    fn find(&self, neighbor: u32) -> usize {
        let (blocks, _) = self.table().as_chunks::<REF_WORDS>();
        blocks.partition_point(|block| block[0].load(Relaxed) <= neighbor).saturating_sub(1)
    }

    /// Returns the first block that changes from `block` on concern: deletions of parallel edges may take
    /// some that are before it.
    fn with_equal_before(&self, mut block: usize, changes: &[Change]) -> usize {
        let neighbor = changes[0].neighbor();
        let of_first = changes.iter().take_while(|change| change.neighbor() == neighbor);
        let deletions = of_first.filter(|change| change.is_deletion()).count();
        let begins = |block: usize| self.block(block).filter(|here| here.first == neighbor);
        let mut equal = 0;
        while equal < deletions && block > 0 && begins(block).is_some() {
            block -= 1;
            // All of it is, since the next one begins so.
            equal += begins(block).map_or(0, |here| here.count as usize);
        }
        block
    }

    /// Applies insertions to the block that they concern where it lies, if it is the list's own and has room.
    /// Returns whether it did.
    fn insert_in_block(
        &mut self,
        index: usize,
        changes: &[Change],
        note: &mut impl FnMut(Effect),
    ) -> bool {
        let (context, entry_words) = (self.context, self.context.entry_words);
        let Some(block) = self.block(index).filter(|block| {
            block.is_own && block.count as usize + changes.len() <= context.slots()
        }) else {
            return false;
        };
        let offset = context.pool.offset(block.place);
        let Scratch { old, new, .. } = &mut *self.scratch;
        old.clear();
        let words = context.region().words(offset, block.count as usize * entry_words);
        old.extend(words.iter().map(|word| word.load(Relaxed)));
        let degree = self.span.row(self.local).degree;
        let before = first_from(old, entry_words, |&word| word < changes[0].neighbor());
        merge(context, &old[before..], changes, new, note);
        context.region().store_words(offset + 4 * before as u64, new);
        let count = ((before + new.len()) / entry_words) as u32;
        let first = if before == 0 { new[0] } else { block.first };
        let table = self.span.table_mut(self.local, degree + count - block.count);
        BlockRef { first, count, ..block }.store(&mut table[index * REF_WORDS..]);
        true
    }

    /// Applies changes to a window of blocks that they concern.
    fn apply_in(
        &mut self,
        window: Range<usize>,
        changes: &[Change],
        note: &mut impl FnMut(Effect),
    ) {
        let Scratch { old, new, .. } = &mut *self.scratch;
        old.clear();
        gather(self.context, self.span.table(self.span.row(self.local)), window.clone(), old);
        let before = old.len();
        merge(self.context, old, changes, new, note);
        let grown = (new.len() as i64 - before as i64) / self.context.entry_words as i64;
        let degree = (i64::from(self.span.row(self.local).degree) + grown) as u32;
        // Long before it would be put into blocks again.
        if degree * 2 <= self.context.options.shared_max {
            self.widen(window, 0..self.block_count());
            return self.set_all();
        }
        self.fit(window, degree)
    }

    /// Makes what `new` has for a window that of a wider one.
    fn widen(&mut self, window: Range<usize>, wider: Range<usize>) {
        let Scratch { old, new, .. } = &mut *self.scratch;
        let table = self.span.table(self.span.row(self.local));
        old.clear();
        gather(self.context, table, wider.start..window.start, old);
        old.append(new);
        gather(self.context, table, window.end..wider.end, old);
        std::mem::swap(old, new);
    }

    /// Stores the entries of `new` in the place of a window's, or of a wider window's if they are too many
    /// or too few.
    fn fit(&mut self, mut window: Range<usize>, degree: u32) {
        let (all, slots) = (self.block_count(), self.context.slots());
        let mut len = window.len().next_power_of_two();
        loop {
            let entries = self.scratch.new.len() / self.context.entry_words;
            let least = window.len() * slots * self.context.options.least_percent as usize / 100;
            // Each block has an entry.
            let is_few = entries < least.max(window.len()) && all > 1;
            if entries <= self.context.most(window.len()) && !is_few {
                return self.replace(window.clone(), window.len(), degree);
            }
            if len >= 1 << WINDOW_LEVELS || window.len() == all {
                return self.replace(window, self.context.blocks_for(entries), degree);
            }
            len *= 2;
            let start = window.start / len * len;
            let wider = start..window.end.max(start + len).min(all);
            self.widen(window, wider.clone());
            window = wider;
        }
    }

    /// Stores the entries of `new` in `count` blocks in the place of a window of them.
    fn replace(&mut self, window: Range<usize>, count: usize, degree: u32) {
        let Self { context, span, local, .. } = self;
        let entries = self.scratch.new.len() / context.entry_words;
        debug_assert!(count == 0 || entries <= context.most(count), "L2");
        let Scratch { new, places, retired, .. } = &mut *self.scratch;
        let row = span.row(*local);
        let table = span.table(row);
        places.clear();
        retired.clear();
        for block in blocks(&table[window.start * REF_WORDS..window.end * REF_WORDS]) {
            if block.is_own { places.push(block.place) } else { retired.push(block.place) }
        }
        if let Some(missing) = count.checked_sub(places.len()).filter(|missing| *missing > 0)
            && !context.take(self.version, missing, places)
        {
            return self.keep_in_span(window);
        }
        self.version.give_back(places.drain(count..));
        self.version.give_up(retired);
        let written = write(context, new, places, Filling::Even);
        if count == window.len() {
            let table = span.table_mut(*local, degree);
            let places = table[window.start * REF_WORDS..].chunks_exact_mut(REF_WORDS);
            places.zip(written).for_each(|(place, block)| block.store(place));
            return;
        }
        let mut all: Vec<BlockRef> = blocks(table).collect();
        all.splice(window, written);
        span.set_table((*local, degree), all.into_iter(), context.entry_words);
    }

    /// Makes the entries of `new` the list: in its span, or in blocks if they are many.
    fn set_all(&mut self) {
        let entry_words = self.context.entry_words;
        let degree = self.scratch.new.len() / entry_words;
        self.give_up_blocks();
        let Scratch { new, places, .. } = &mut *self.scratch;
        places.clear();
        let is_long = degree > self.context.options.shared_max as usize;
        if is_long && self.context.take(self.version, self.context.blocks_for(degree), places) {
            let table = write(self.context, new, places, Filling::Even);
            self.span.set_table((self.local, degree as u32), table, entry_words);
        } else {
            self.span.set_entries(self.local, new, entry_words);
        }
    }

    /// Puts the list into its span, with the entries of `new` for a window.
    fn keep_in_span(&mut self, window: Range<usize>) {
        self.widen(window, 0..self.block_count());
        self.give_up_blocks();
        self.span.set_entries(self.local, &self.scratch.new, self.context.entry_words);
    }

    fn give_up_blocks(&mut self) {
        if self.span.row(self.local).is_in_blocks() {
            let places = &mut self.scratch.places;
            let table = self.span.table(self.span.row(self.local));
            places.clear();
            places.extend(blocks(table).filter(|block| block.is_own).map(|block| block.place));
            self.version.give_back(places.drain(..));
            places.extend(blocks(table).filter(|block| !block.is_own).map(|block| block.place));
            self.version.give_up(places);
        }
    }

    /// Takes the list into its span, whatever its length.
    pub(crate) fn take_into_span(&mut self) {
        if self.span.row(self.local).is_in_blocks() {
            self.scratch.new.clear();
            self.keep_in_span(0..0);
        }
    }

    /// Writes the list anew: full blocks that lie one after the other, or in its span.
    ///
    /// # Errors
    /// If the medium has no room; the list is then as before.
    pub(crate) fn write_anew(&mut self) -> Result<()> {
        let entry_words = self.context.entry_words;
        let row = self.span.row(self.local);
        let Scratch { new, places, .. } = &mut *self.scratch;
        new.clear();
        match row.is_in_blocks() {
            true => {
                let table = self.span.table(row);
                gather(self.context, table, 0..table.len() / REF_WORDS, new);
            }
            false => {
                let entries = self.span.entries(row, entry_words);
                new.extend(entries.iter().map(|word| word.load(Relaxed)));
            }
        }
        if row.degree <= self.context.options.shared_max {
            if row.is_in_blocks() {
                self.set_all();
            }
            return Ok(());
        }
        let count = (row.degree as usize).div_ceil(self.context.slots());
        let mut taken = Vec::with_capacity(count);
        self.version.take_in_order(count, &mut taken)?;
        places.clear();
        let written: Vec<BlockRef> = write(self.context, new, &taken, Filling::Full).collect();
        self.give_up_blocks();
        self.span.set_table((self.local, row.degree), written.into_iter(), entry_words);
        Ok(())
    }
}

/// Appends the entries of a window to `words`.
fn gather(context: &Context, table: &[AtomicU32], window: Range<usize>, words: &mut Vec<u32>) {
    for block in blocks(&table[window.start * REF_WORDS..window.end * REF_WORDS]) {
        let offset = context.pool.offset(block.place);
        let entries = context.region().words(offset, block.count as usize * context.entry_words);
        words.extend(entries.iter().map(|word| word.load(Relaxed)));
    }
}

/// How entries are divided among blocks.
#[derive(Clone, Copy)]
enum Filling {
    /// Each gets as many, so that all have room.
    Even,
    /// Each but the last is full.
    Full,
}

/// Writes entries into blocks. Returns these as a table has them.
fn write<'a>(
    context: &'a Context,
    words: &'a [u32],
    places: &'a [u32],
    filling: Filling,
) -> impl ExactSizeIterator<Item = BlockRef> + 'a {
    let (entry_words, count) = (context.entry_words, places.len());
    let entries = words.len() / entry_words;
    places.iter().enumerate().map(move |(index, &place)| {
        let [start, end] = [index, index + 1].map(|index| match filling {
            Filling::Even => index * entries / count,
            Filling::Full => (index * context.slots()).min(entries),
        });
        let words = &words[start * entry_words..end * entry_words];
        context.region().store_words(context.pool.offset(place), words);
        let (first, count) = (words[0], (end - start) as u32);
        BlockRef { first, place, count, is_own: true, checksum: 0 }
    })
}

/// Ends that some blocks are their list's own: from now on somebody else may read them. They get their
/// checksums, and are on their way to persist.
pub(crate) fn freeze(context: &Context, span: &mut Span) {
    if !std::mem::take(&mut span.has_own_blocks) {
        return;
    }
    for place in span.tables_mut().flat_map(|table| table.chunks_exact_mut(REF_WORDS)) {
        let block = BlockRef::load(place);
        if block.is_own {
            let offset = context.pool.offset(block.place);
            let count = block.count as usize * context.entry_words;
            let checksum =
                checksum_of(context.salt, block.place, context.region().words(offset, count));
            context.region().flush(Site::Block, offset..offset + 4 * count as u64);
            BlockRef { is_own: false, checksum, ..block }.store(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use everedge_core::SplitMix64;
    use everedge_live::Space;

    /// A list, and what it is to be.
    struct Pair {
        options: BlocksOptions,
        pool: Arc<Pool>,
        rules: Rules,
        span: Span,
        version: Version,
        scratch: Scratch,
        model: Vec<(u32, u32)>,
    }

    impl Pair {
        fn new(options: BlocksOptions, rules: Rules) -> Self {
            let region = Region::memory("blocks").expect("memory");
            let space = Arc::new(Space::new(region, 0, Vec::new()));
            let pool = Arc::new(Pool::new(space, options.block_bytes));
            let (version, span) = (Version::new(&pool, 0), Span::default());
            let (scratch, model) = (Scratch::default(), Vec::new());
            Self { options, pool, rules, span, version, scratch, model }
        }

        /// Applies insertions and deletions, with their numbers as weights.
        fn apply(&mut self, updates: &[(u32, bool)]) {
            let weights: Vec<AtomicU32> = (0..updates.len() as u32).map(AtomicU32::new).collect();
            let context = Context {
                options: &self.options,
                rules: self.rules,
                pool: &self.pool,
                salt: 7,
                entry_words: if self.rules.weighted { 2 } else { 1 },
                weights: &weights,
                failure: &Mutex::default(),
            };
            let mut changes: Vec<Change> = (0..)
                .zip(updates)
                .map(|(index, &(neighbor, is_deletion))| Change::new(neighbor, index, is_deletion))
                .collect();
            changes.sort_unstable();
            let (span, scratch) = (&mut self.span, &mut self.scratch);
            let (version, local) = (&self.version, 5);
            let mut list = ListMut { context: &context, span, local, version, scratch };
            list.apply(&changes, |_| {});
            for (weight, &(neighbor, is_deletion)) in (0..).zip(updates) {
                let end = self.model.partition_point(|entry| entry.0 <= neighbor);
                let is_there = end > 0 && self.model[end - 1].0 == neighbor;
                match (is_deletion, is_there) {
                    (true, true) => drop(self.model.remove(end - 1)),
                    (true, false) => {}
                    (false, true) if self.rules.simple => self.model[end - 1].1 = weight,
                    (false, _) => self.model.insert(end, (neighbor, weight)),
                }
            }
            self.check(&context);
        }

        fn check(&self, context: &Context) {
            let row = self.span.row(5);
            let mut words = Vec::new();
            if row.is_in_blocks() {
                for block in blocks(self.span.table(row)) {
                    assert!((1..=context.slots() as u32).contains(&block.count), "{block:?}");
                    let place = words.len();
                    gather(context, &block.words().map(AtomicU32::new), 0..1, &mut words);
                    assert_eq!(words[place], block.first);
                }
            } else {
                let entries = self.span.entries(row, context.entry_words);
                words.extend(entries.iter().map(|word| word.load(Relaxed)));
            }
            let found = words.chunks_exact(context.entry_words);
            let expected = self.model.iter().map(|&(neighbor, weight)| [neighbor, weight]);
            assert_eq!(row.degree as usize, self.model.len());
            for (found, expected) in found.zip(expected) {
                assert_eq!(found, &expected[..context.entry_words]);
            }
        }
    }

    #[test]
    fn lists_are_what_a_sorted_vector_is() {
        for bits in 0..4 {
            let rules = Rules { simple: bits & 1 != 0, weighted: bits & 2 != 0 };
            let options =
                BlocksOptions { block_bytes: 64, shared_max: 4, ..BlocksOptions::default() };
            let (mut pair, mut random) = (Pair::new(options, rules), SplitMix64::new(bits));
            let mut draw = |bound: u32| random.below(bound.into()) as u32;
            // It grows, stays and shrinks; few ids make parallel edges that fill blocks.
            for (round, deletions) in [0, 1, 2, 4, 5, 6].into_iter().enumerate() {
                for _ in 0..400 {
                    let (count, ids) = (1 + draw(6), [40, 5000][round % 2]);
                    let mut update = |_| (draw(ids), draw(8) < deletions);
                    let updates: Vec<_> = (0..count).map(&mut update).collect();
                    pair.apply(&updates);
                }
            }
            let all: Vec<_> = pair.model.iter().map(|entry| (entry.0, true)).collect();
            all.chunks(50).for_each(|some| pair.apply(some));
            assert_eq!(pair.span.row(5).degree, 0);
        }
    }

    /// Wherever neighbors come in, blocks are filled well. That no window is filled too much is asserted where one is
    /// written.
    #[test]
    fn blocks_are_filled_well_in_every_order() {
        let options = BlocksOptions { shared_max: 4, ..BlocksOptions::default() };
        for order in 0..3 {
            let rules = Rules { simple: false, weighted: false };
            let mut pair = Pair::new(options.clone(), rules);
            let mut random = SplitMix64::new(1);
            for step in 0..20_000 {
                let neighbor = match order {
                    0 => step,
                    1 => (1 << 20) - step,
                    _ => random.below(1 << 20) as u32,
                };
                pair.apply(&[(neighbor, false)]);
            }
            let table = pair.span.table(pair.span.row(5));
            let counts: Vec<u32> = blocks(table).map(|block| block.count).collect();
            let average = counts.iter().sum::<u32>() as usize / counts.len();
            println!("order {order}: {} blocks, {average} of 64 in each", counts.len());
            assert!(average >= 44, "order {order}: {average} of 64");
        }
    }

    /// Also where windows may be nearly empty each block has an entry.
    #[test]
    fn a_list_that_shrinks_leaves_no_block_empty() {
        for least_percent in [0, 1, 12] {
            let options = BlocksOptions {
                block_bytes: 64,
                shared_max: 1,
                fill_percent: 50,
                least_percent,
                ..BlocksOptions::default()
            };
            let mut pair = Pair::new(options, Rules { simple: true, weighted: true });
            for neighbor in 0..200 {
                pair.apply(&[(neighbor, false)]);
            }
            let mut random = SplitMix64::new(3);
            while !pair.model.is_empty() {
                let place = random.below(pair.model.len() as u64) as usize;
                let neighbor = pair.model[place].0;
                pair.apply(&[(neighbor, true)]);
            }
        }
    }

    /// What others may read stays as it is.
    #[test]
    fn a_block_that_is_frozen_is_not_changed() {
        let options = BlocksOptions { shared_max: 4, ..BlocksOptions::default() };
        let mut pair = Pair::new(options, Rules { simple: false, weighted: false });
        let first: Vec<_> = (0..1000).map(|neighbor| (3 * neighbor, false)).collect();
        pair.apply(&first);
        let context = Context {
            options: &pair.options,
            rules: pair.rules,
            pool: &pair.pool,
            salt: 7,
            entry_words: 1,
            weights: &[],
            failure: &Mutex::default(),
        };
        freeze(&context, &mut pair.span);
        pair.version = pair.version.next();
        let _reader = pair.version.clone();
        let before = pair.span.copy(1);
        for neighbor in 0..300 {
            pair.apply(&[(10 * neighbor + 1, false), (3 * neighbor, true)]);
        }
        let region = pair.pool.region();
        let file = region.hold(0, (region.len() / 4) as usize);
        let seen = blocks(before.table(before.row(5))).flat_map(|block| {
            let entries = block.entries(&file, 1);
            assert_eq!(block.checksum, checksum_of(7, block.place, entries));
            entries.iter().map(|word| word.load(Relaxed)).collect::<Vec<_>>()
        });
        assert!(seen.eq((0..1000).map(|neighbor| 3 * neighbor)));
        assert_ne!(pair.pool.kept_bytes(), 0);
    }
}
