//! The neighbor lists of one shard: an entry a vertex, vertex buffers, chains of blocks.
//!
//! Source: XPGraph §3.1 (vertex-centric buffering), §3.2 (hierarchical buffers).
//!
//! # Invariants
//! - L1: a list is its part of a run, its chain of blocks, oldest first, what was spilled and its
//!   buffer, in this order; a tombstone takes away the newest equal neighbor before it, and is
//!   there only if one was.
//! - L2: `degree` counts the neighbors that no tombstone took away.
//! - L3: a span is pure if its lists are their parts of its run and nothing else.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_core::VertexId;
use everedge_core::memory::prefetch;
use rustc_hash::FxHashMap;

use super::block::{self, NO_BLOCK};
use super::buffers::{self, Buffers, Pool};
use super::run;
use super::shard::Context;
use super::table::{Entry, Table, Tables};
use everedge_live::DELETION;
use everedge_live::Result;
use everedge_live::{Extents, SHARD_SPAN, Update};
use everedge_medium::Region;

/// How many vertices after one that is read the next list is loaded into the cache.
pub(crate) const READ_AHEAD: usize = 8;
/// Words of a cache line.
pub(crate) const LINE_WORDS: usize = 16;
/// Lines of a buffer that are loaded into the cache ahead.
pub(crate) const LINES_AHEAD: usize = 4;

/// Where lists lie: blocks on the medium, buffers in memory.
#[derive(Clone)]
pub(crate) struct Places {
    /// By sub-graph.
    pub blocks: Arc<[Region]>,
    pub buffers: Region,
}

/// The lists of the vertices that one run holds.
#[derive(Clone, Default)]
pub(crate) struct Span {
    /// The place of the run, or [`NO_BLOCK`].
    pub run: u32,
    /// The units of the run.
    pub extents: Option<Arc<Extents>>,
    /// Whether the run is all (L3).
    pub is_pure: bool,
}

impl Span {
    /// Returns how many units the run has; none if there is no run.
    pub(crate) fn unit_count(&self) -> u64 {
        self.extents.as_ref().map_or(0, |extents| extents.count())
    }
}

/// A buffer that would have become a block, but there was no room on the medium.
#[derive(Debug)]
pub(crate) struct Spill {
    /// The list is complete up to and including the update of this number.
    pub sequence: u64,
    pub words: Vec<AtomicU32>,
}

impl Spill {
    pub(crate) fn new(sequence: u64, words: &[AtomicU32]) -> Self {
        let copy = |word: &AtomicU32| AtomicU32::new(word.load(Relaxed));
        Self { sequence, words: words.iter().map(copy).collect() }
    }
}

/// Neighbors of one direction for the vertices of one shard.
pub(crate) struct List {
    /// Where its blocks lie.
    pub sub_graph: usize,
    pub table: Table,
    /// By local vertex over [`run::SPAN`].
    pub spans: Vec<Span>,
    buffers: Buffers,
    /// By local vertex, the oldest first.
    spills: FxHashMap<u32, Vec<Spill>>,
}

impl List {
    /// Makes lists of the vertices of a shard that have nothing but runs.
    ///
    /// # Errors
    /// `NoSpace` if there is no memory for them.
    pub(crate) fn new(
        sub_graph: usize,
        spans: Vec<Span>,
        tables: &Arc<Tables>,
        pool: &Arc<Pool>,
    ) -> Result<Self> {
        let (table, buffers) = (Table::new(tables)?, Buffers::new(pool.clone()));
        Ok(Self { sub_graph, table, spans, buffers, spills: FxHashMap::default() })
    }

    /// Gives a row, as an image has it, with the words of its buffer to `local`.
    ///
    /// # Errors
    /// `NoSpace` if there is no memory for the buffer.
    pub(crate) fn restore(
        &mut self,
        local: usize,
        mut entry: Entry,
        words: &[AtomicU32],
    ) -> Result<()> {
        if !words.is_empty() {
            entry.buffer = self.buffers.take(entry.class)?;
            let words = words.iter().map(|word| word.load(Relaxed));
            buffers::store(self.buffers.region(), entry.buffer, 0..words.len(), words);
        }
        self.table.set(local, entry);
        Ok(())
    }

    /// Returns a copy that changes by itself.
    ///
    /// # Errors
    /// `NoSpace` if there is no memory for it.
    pub(crate) fn copy(&self) -> Result<Self> {
        let (buffers, moved) = self.buffers.copy()?;
        let mut table = self.table.copy()?;
        for (local, entry) in self.table.entries().enumerate() {
            if entry.class != 0 {
                table.set(local, Entry { buffer: moved.step(entry.buffer), ..entry });
            }
        }
        let copy = |spill: &Spill| Spill::new(spill.sequence, &spill.words);
        let copy_all =
            |(&local, spills): (&u32, &Vec<Spill>)| (local, spills.iter().map(copy).collect());
        let spills = self.spills.iter().map(copy_all).collect();
        Ok(Self { sub_graph: self.sub_graph, table, spans: self.spans.clone(), buffers, spills })
    }

    /// Returns the file that its blocks lie in.
    #[inline]
    pub(crate) fn blocks<'a>(&self, places: &'a Places) -> &'a Region {
        &places.blocks[self.sub_graph]
    }

    /// Returns the row of `local`.
    #[inline]
    pub(crate) fn entry(&self, local: usize) -> Entry {
        self.table.entry(local)
    }

    /// Changes the row of `local`.
    #[inline]
    pub(crate) fn change(&mut self, local: usize, change: impl FnOnce(&mut Entry)) {
        let mut entry = self.entry(local);
        change(&mut entry);
        self.table.set(local, entry);
    }

    /// Returns all buffers.
    pub(crate) fn buffers(&self) -> &Buffers {
        &self.buffers
    }

    /// Whether some list was spilled.
    pub(crate) fn has_spills(&self) -> bool {
        !self.spills.is_empty()
    }

    /// Starts loading the end of the buffer of `local`, if there is one, into the cache.
    #[inline]
    pub(crate) fn warm(&self, context: &Context, local: Option<usize>) {
        if let Some(entry) = local.map(|local| self.entry(local)) {
            buffers::prefetch(&context.places.buffers, entry.buffer, entry.buffered.into());
        }
    }

    /// Appends insertions to the list of `local`, and counts them, if that makes its buffer neither
    /// grow nor full. If it does, returns the row in which they are counted, and nothing else is
    /// done.
    // Always, like `fill`: a row is to pass in registers, not field by field through memory.
    #[inline(always)]
    pub(crate) fn append(
        &mut self,
        context: &Context,
        local: usize,
        updates: &[Update],
    ) -> Option<Entry> {
        let mut entry = self.entry(local);
        entry.degree += updates.len() as u32;
        let end = entry.buffered as usize + updates.len() * context.entry_words;
        if !context.plan.is_easy(entry.class, end) {
            return Some(entry);
        }
        self.fill(context, local, entry, updates);
        None
    }

    /// Returns the words that the buffer of a row can still take before it must be flushed, after
    /// growing it for `wanted` more as far as its hierarchy goes.
    ///
    /// # Errors
    /// `NoSpace` if there is no memory for it.
    pub(crate) fn room(
        &mut self,
        context: &Context,
        entry: &mut Entry,
        wanted: usize,
    ) -> Result<usize> {
        let buffered = entry.buffered as usize;
        self.change_class(context, entry, context.plan.grown(entry.class, buffered + wanted))?;
        Ok(context.plan.capacity(entry.class) - buffered)
    }

    /// Gives the empty buffer of a list of large degree more room.
    ///
    /// # Errors
    /// As [`Self::room`].
    pub(crate) fn widen(&mut self, context: &Context, entry: &mut Entry) -> Result<()> {
        self.change_class(context, entry, context.plan.widened(entry.class, entry.degree))
    }

    fn change_class(&mut self, context: &Context, entry: &mut Entry, class: u8) -> Result<()> {
        if entry.class == class {
            return Ok(());
        }
        let buffer = self.buffers.take(class)?;
        if entry.class != 0 {
            let region = &context.places.buffers;
            let from = words_of(region, entry);
            let words = from.iter().map(|word| word.load(Relaxed));
            buffers::store(region, buffer, 0..from.len(), words);
            self.buffers.give_back(entry.buffer, entry.class);
        }
        (entry.buffer, entry.class) = (buffer, class);
        Ok(())
    }

    /// Appends entries to the buffer of `local`, whose row is `entry` but for that and which has
    /// [`Self::room`] for them. Returns the row.
    #[inline(always)]
    pub(crate) fn fill(
        &mut self,
        context: &Context,
        local: usize,
        entry: Entry,
        updates: &[Update],
    ) -> Entry {
        let used = entry.buffered as usize;
        let end = used + updates.len() * context.entry_words;
        self.spans[local / run::SPAN].is_pure = false;
        write_entries(context, updates, entry.buffer, used..end);
        let entry = Entry { buffered: end as u16, ..entry };
        self.table.set(local, entry);
        entry
    }

    /// Returns the buffered words of `local`, oldest first; buffers lie in `region`.
    #[inline]
    pub(crate) fn buffered<'a>(&self, region: &'a Region, local: usize) -> &'a [AtomicU32] {
        words_of(region, &self.entry(local))
    }

    /// Makes the block at `place` the newest of `local`.
    pub(crate) fn link(&mut self, local: usize, place: u32) {
        self.change(local, |entry| entry.head = place);
        self.spans[local / run::SPAN].is_pure = false;
    }

    /// Empties the buffer of `local`. Returns its words, which last until it is filled again.
    pub(crate) fn take_buffered<'a>(
        &mut self,
        region: &'a Region,
        local: usize,
    ) -> &'a [AtomicU32] {
        let words = self.buffered(region, local);
        self.change(local, |entry| entry.buffered = 0);
        words
    }

    /// Keeps what would have become blocks in memory, after what is kept already.
    pub(crate) fn spill(&mut self, local: usize, spills: impl IntoIterator<Item = Spill>) {
        self.change(local, |entry| entry.has_spills = true);
        self.spills.entry(local as u32).or_default().extend(spills);
    }

    /// Takes all that was spilled of `local`, the oldest first.
    pub(crate) fn take_spills(&mut self, local: usize) -> Vec<Spill> {
        self.change(local, |entry| entry.has_spills = false);
        self.spills.remove(&(local as u32)).unwrap_or_default()
    }

    /// Gives back every buffer; all must have been flushed.
    pub(crate) fn drop_buffers(&mut self) {
        for local in 0..SHARD_SPAN {
            let entry = self.entry(local);
            debug_assert_eq!(entry.buffered, 0);
            if entry.class != 0 {
                self.table.set(local, Entry { class: 0, buffer: 0, ..entry });
            }
        }
        self.buffers.clear();
    }

    /// Returns the bytes of all buffers.
    pub(crate) fn buffer_bytes(&self) -> u64 {
        self.buffers.bytes()
    }

    /// Counts, for each neighbor that `counts` has as a key, how many live edges the list holds.
    pub(crate) fn count_live(
        &self,
        places: &Places,
        local: usize,
        entry_words: usize,
        counts: &mut FxHashMap<VertexId, i64>,
    ) {
        let mut count = |word: u32| {
            if let Some(count) = counts.get_mut(&(word & !DELETION)) {
                *count += if word & DELETION == 0 { 1 } else { -1 };
            }
        };
        for piece in self.pieces(places, local) {
            piece.iter().step_by(entry_words).for_each(|word| count(word.load(Relaxed)));
        }
    }

    /// Returns the raw words of the list of `local` in pieces, the newest first. Whoever asks for one
    /// list is likely to ask for one soon after it: the beginning of that one is loaded into the cache.
    pub(crate) fn pieces<'a>(
        &'a self,
        places: &'a Places,
        local: usize,
    ) -> impl Iterator<Item = &'a [AtomicU32]> {
        self.warm_pieces(places, local + READ_AHEAD);
        let buffered = self.buffered(&places.buffers, local);
        let spilled = self.spilled(local).iter().rev().map(|spill| &spill.words[..]);
        [buffered].into_iter().chain(spilled).chain(self.flushed(places, local))
    }

    /// Returns the raw words of the list of `local` that are in blocks and in a run, in pieces, the
    /// newest first.
    pub(crate) fn flushed<'a>(
        &self,
        places: &'a Places,
        local: usize,
    ) -> impl Iterator<Item = &'a [AtomicU32]> + use<'a> {
        let (region, mut next) = (self.blocks(places), self.entry(local).head);
        let blocks = std::iter::from_fn(move || {
            let place = (next != NO_BLOCK).then_some(next)?;
            let (entries, previous) = block::entries(region, place);
            block::prefetch(region, previous);
            next = previous;
            Some(entries)
        });
        blocks.chain([self.base(places, local)])
    }

    /// Returns the part of the list of `local` that is in a run.
    #[inline]
    pub(crate) fn base<'a>(&self, places: &'a Places, local: usize) -> &'a [AtomicU32] {
        match self.spans[local / run::SPAN].run {
            NO_BLOCK => &[],
            place => run::entries(self.blocks(places), place, local % run::SPAN),
        }
    }

    /// Starts loading the beginning of the list of `local`, if there is one, into the cache.
    fn warm_pieces(&self, places: &Places, local: usize) {
        if local < SHARD_SPAN {
            let entry = self.entry(local);
            block::prefetch(self.blocks(places), entry.head);
            let words = words_of(&places.buffers, &entry);
            words.chunks(LINE_WORDS).take(LINES_AHEAD).for_each(prefetch);
        }
    }

    /// Returns how many words were spilled.
    pub(crate) fn spilled_word_count(&self) -> u64 {
        self.spills.values().flatten().map(|spill| spill.words.len() as u64).sum()
    }

    /// Returns what was spilled of `local`, the oldest first.
    pub(crate) fn spilled(&self, local: usize) -> &[Spill] {
        self.spills.get(&(local as u32)).map_or(&[], Vec::as_slice)
    }

    /// Returns the live entries of `local`, newest first; the weight is 1 if there are none.
    pub(crate) fn live(
        &self,
        places: &Places,
        local: usize,
        entry_words: usize,
    ) -> Vec<(u32, f32)> {
        let mut taken_away: FxHashMap<VertexId, u32> = FxHashMap::default();
        let mut live = Vec::with_capacity(self.entry(local).degree as usize);
        let mut keep = |word: u32, weight: Option<u32>| {
            if word & DELETION != 0 {
                *taken_away.entry(word & !DELETION).or_default() += 1;
                return;
            }
            match taken_away.get_mut(&word).filter(|count| **count > 0) {
                Some(count) => *count -= 1,
                None => live.push((word, weight.map_or(1.0, f32::from_bits))),
            }
        };
        for piece in self.pieces(places, local) {
            for entry in piece.chunks_exact(entry_words).rev() {
                keep(entry[0].load(Relaxed), entry.get(1).map(|weight| weight.load(Relaxed)));
            }
        }
        live
    }

    /// Returns the words of `local` that were spilled, the oldest first.
    pub(crate) fn spilled_words(&self, local: usize) -> impl Iterator<Item = &[AtomicU32]> {
        self.spilled(local).iter().map(|spill| &spill.words[..])
    }

    /// Appends the raw words of the list of `local` to `words`, the oldest first.
    pub(crate) fn gather(&self, places: &Places, local: usize, words: &mut Vec<u32>) {
        let pieces: Vec<_> = self.pieces(places, local).collect();
        for piece in pieces.into_iter().rev() {
            words.extend(piece.iter().map(|word| word.load(Relaxed)));
        }
    }

    /// Whether the list of `local` is something beyond its part of a run.
    pub(crate) fn is_changed(&self, local: usize) -> bool {
        let entry = self.entry(local);
        entry.head != NO_BLOCK || entry.buffered > 0 || entry.has_spills
    }

    /// Makes the run at `place` all that the lists of a span are.
    pub(crate) fn adopt_run(&mut self, span: usize, place: u32, extents: Arc<Extents>) {
        self.empty_span(span);
        self.spans[span] = Span { run: place, is_pure: true, extents: Some(extents) };
    }

    /// Lets go of all that the lists of a span are; how long they are stays.
    pub(crate) fn empty_span(&mut self, span: usize) {
        self.spans[span] = Span::default();
        for local in span * run::SPAN..(span + 1) * run::SPAN {
            self.change(local, |entry| *entry = Entry { degree: entry.degree, ..Entry::default() });
            self.spills.remove(&(local as u32));
        }
    }
}

/// Returns the buffered words of a row.
#[inline]
fn words_of<'a>(region: &'a Region, entry: &Entry) -> &'a [AtomicU32] {
    match entry.buffered {
        0 => &[],
        words => buffers::words(region, entry.buffer, 0..words.into()),
    }
}

/// Writes updates into the words `range` of the buffer at `step`: a neighbor, and its weight if
/// there are weights.
#[inline]
fn write_entries(context: &Context, updates: &[Update], step: u32, range: Range<usize>) {
    let region = &context.places.buffers;
    if context.entry_words == 1 {
        let words = updates.iter().map(|update| update.neighbor());
        return buffers::store(region, step, range, words);
    }
    let words = updates.iter().flat_map(|update| [update.neighbor(), context.weight(*update)]);
    buffers::store(region, step, range, words);
}
