//! An array: the lists of one direction of the vertices of a shard, in sections with gaps.
//!
//! Source: DGAP §3 ① to ③ and §3.1.2, Figure 3.
//!
//! # Invariants
//! - A1: rows are in ascending order of their places, and lists do not overlap; what is between the
//!   end of a list and the start of the next is the list's gap.
//! - A2: a list is its words and then its entries in the section's edge log; a tombstone takes away
//!   the newest equal neighbor before it, and is there only if one was.
//! - A3: a list with entries in the edge log is only appended to there.
//! - A4: words that a row counts are never overwritten where a snapshot may read them.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_core::VertexId;
use everedge_core::memory::prefetch;
use rustc_hash::FxHashMap;

use super::build::Fill;
use super::extent::{Extent, LogEntry};
use super::header::{self, Place, mix};
use super::lists::{HAS_TOMBSTONES, IS_LOGGED, ListRef, Lists};
use super::mechanisms::{Counters, Why};
use super::rebalance::{self, newest};
use super::restore::Bound;
use super::shape::{DIRECT_WORDS, Shape};
use super::shard::{Additions, Context};
use super::undo::Job;
use super::with_tombstones::LiveReader;
use everedge_live::DELETION;
use everedge_live::{Error, Result, SHARD_SPAN, Update};
use everedge_medium::Site;

/// An edge log is merged when so many percent of it are used.
const LOG_PERCENT: usize = 90;
/// An array is written anew if a round adds more than this share of what it has,
const REBUILD_SHARE: u64 = 8;
/// or this one if rounds come in bulk: else too many lists would come to be in two parts.
const BULK_REBUILD_SHARE: u64 = 64;

/// Words of the longest entry of an edge log.
pub(super) const LOG_ENTRY_WORDS_MAX: usize = 3 + DIRECT_WORDS;

/// Where a list is in the edge log: its newest entry plus one, and how many there are.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Logged {
    pub head: u16,
    pub count: u16,
}

/// What memory keeps of a section.
#[derive(Clone, Debug, Default)]
pub(super) struct Section {
    /// The stamp of the header that holds.
    pub stamp: u32,
    /// Its slot.
    pub slot: u8,
    /// Its checksum.
    pub crc: u32,
    /// The checkpoint that was the last when that was written.
    pub epoch: u32,
    /// The checksum of the header that held at that checkpoint.
    pub anchored: u32,
    /// Edges that were stored without the log are in the lists up to this one, as the header says.
    pub direct: u64,
    /// Whether rounds have left something in the lists that the header does not count.
    pub is_dirty: bool,
    /// Whether there are entries after those that the header counts that count by themselves.
    pub has_direct: bool,
    /// All updates before this one are in the lists.
    pub sequence: u64,
    /// Sum over the words of the lists.
    pub sum: u64,
    /// Words of the lists, those in the edge log included.
    pub used: u32,
    /// Entries of the edge log.
    pub log_count: u16,
    /// Tombstones in the lists.
    pub tombstones: u32,
    /// Self-loops that no tombstone took away.
    pub loops: u32,
    /// By local vertex of the section, while the edge log has entries.
    pub heads: Option<Box<[Logged]>>,
}

impl Section {
    /// Returns the checksum of the header that held at the checkpoint number `epoch`, the last: one
    /// that was written before it is that header itself.
    pub(super) fn anchored_at(&self, epoch: u32) -> u32 {
        if self.epoch == epoch { self.anchored } else { self.crc }
    }

    /// Counts tombstones and self-loops among what is added to the list of a vertex.
    #[inline]
    pub(super) fn count(&mut self, vertex: VertexId, updates: &[Update]) {
        for update in updates {
            let neighbor = update.neighbor();
            self.tombstones += neighbor >> 31;
            if neighbor & !DELETION == vertex {
                self.loops = self.loops.wrapping_add_signed(1 - 2 * (neighbor >> 31) as i32);
            }
        }
    }

    /// Puts the entries of insertions into `to`, which comes after the first `len` words of a list, and
    /// adds them to the sum and the self-loops. One loop does all of it: most lists get a few entries,
    /// and what costs is that nobody foresees how many.
    #[inline]
    pub(super) fn append(
        &mut self,
        context: &Context,
        (vertex, local, len): (VertexId, usize, u32),
        updates: &[Update],
        to: &mut [u32],
    ) {
        match context.entry_words {
            1 => self.append_entries::<1>(context, (vertex, local, len), updates, to),
            _ => self.append_entries::<2>(context, (vertex, local, len), updates, to),
        }
    }

    #[inline]
    fn append_entries<const WORDS: usize>(
        &mut self,
        context: &Context,
        (vertex, local, len): (VertexId, usize, u32),
        updates: &[Update],
        to: &mut [u32],
    ) {
        debug_assert!(
            !updates.iter().any(Update::is_deletion),
            "a list with tombstones is cleaned"
        );
        let Self { mut sum, mut loops, .. } = *self;
        let mut place = len;
        for (to, update) in to.as_chunks_mut().0.iter_mut().zip(updates) {
            *to = context.entry::<WORDS>(update);
            for &word in &*to {
                sum = sum.wrapping_add(mix(local, place, word));
                place += 1;
            }
            loops += u32::from(update.neighbor() == vertex);
        }
        (self.sum, self.loops) = (sum, loops);
    }
}

/// The lists of one direction.
#[derive(Clone)]
pub(super) struct Array {
    pub extent: Arc<Extent>,
    pub lists: Lists,
    /// What the medium has of it, while `extent` is in memory.
    pub kept: Option<Arc<Extent>>,
    pub shape: Shape,
    pub index: u32,
    pub sections: Vec<Section>,
    /// The degrees of lists with tombstones.
    pub live_degrees: FxHashMap<u32, u32>,
    /// Whether its lists were looked at since opening. Until then there are no marks in rows, and no
    /// places in edge logs.
    pub is_checked: bool,
    /// The id after the largest that lists named then, or when they were last looked at for it.
    pub neighbor_bound: Bound,
}

impl Array {
    /// Returns the extent that the medium has of it.
    pub(super) fn durable_extent(&self) -> Option<&Arc<Extent>> {
        if self.is_in_memory() { self.kept.as_ref() } else { Some(&self.extent) }
    }

    /// Whether it found no room on the medium.
    pub(super) fn is_in_memory(&self) -> bool {
        self.extent.unit().is_none()
    }

    /// Returns how many vertices there is room for.
    pub(super) fn vertex_count(&self) -> usize {
        self.lists.vertex_count()
    }

    /// Returns the words of all lists.
    pub(super) fn used(&self) -> u64 {
        self.sections.iter().map(|section| u64::from(section.used)).sum()
    }

    /// Returns the tombstones in all lists.
    pub(super) fn tombstone_count(&self) -> u64 {
        self.sections.iter().map(|section| u64::from(section.tombstones)).sum()
    }

    /// Returns the sum of all degrees.
    pub(super) fn degree_sum(&self) -> u64 {
        // A tombstone takes an entry away, and is one itself.
        let entries = self.used() / u64::from(self.shape.entry_words);
        entries.saturating_sub(2 * self.tombstone_count())
    }

    /// Returns the self-loops in all lists.
    pub(super) fn loop_count(&self) -> u64 {
        self.sections.iter().map(|section| u64::from(section.loops)).sum()
    }

    /// Returns the first vertex of the shard.
    pub(super) fn first_vertex(&self) -> VertexId {
        self.index / 2 * SHARD_SPAN as u32
    }

    /// Returns the words of a list of which there is a row.
    #[inline]
    pub(super) fn list(&self, local: usize) -> ListRef<'_> {
        self.lists.list(local)
    }

    /// Whether lists are nothing but their words: without entries in edge logs and tombstones.
    #[inline]
    pub(super) fn is_plain(&self, locals: Range<usize>) -> bool {
        let last = locals.end.saturating_sub(1).max(locals.start);
        let sections = self.shape.section_of(locals.start)..=self.shape.section_of(last);
        let is_plain = |section: &Section| section.log_count == 0 && section.tombstones == 0;
        self.sections.get(sections).is_some_and(|sections| sections.iter().all(is_plain))
    }

    /// Whether the lists of a section that is [plain](Self::is_plain) follow each other without gaps.
    pub(super) fn is_packed(&self, locals: &Range<usize>) -> bool {
        let rows = &self.lists.rows[locals.clone()];
        rows.windows(2).fold(true, |is_packed, pair| {
            is_packed & (pair[0].start + pair[0].len == pair[1].start)
        })
    }

    /// Returns the neighbors that no tombstone took away.
    #[inline]
    pub(super) fn degree(&self, local: usize) -> u32 {
        let Some(row) = self.lists.rows.get(local) else { return 0 };
        match (row.start | row.len) & IS_LOGGED == 0 {
            true => row.len / self.shape.entry_words,
            false => self.degree_of_parts(local),
        }
    }

    #[cold]
    fn degree_of_parts(&self, local: usize) -> u32 {
        let row = self.lists.rows[local];
        match row.len & HAS_TOMBSTONES {
            0 => row.len / self.shape.entry_words + u32::from(self.logged(local).count),
            _ => self.live_degrees[&(local as u32)],
        }
    }

    /// Returns where a list is in the edge log.
    #[inline]
    pub(super) fn logged(&self, local: usize) -> Logged {
        let section = &self.sections[self.shape.section_of(local)];
        let index = local % self.shape.section_vertices as usize;
        section.heads.as_ref().map_or(Logged::default(), |heads| heads[index])
    }

    /// Returns the entries of a list in the edge log, the newest first.
    fn logged_entries(&self, local: usize) -> impl Iterator<Item = LogEntry<'_>> {
        let section = self.shape.section_of(local);
        let mut place = self.logged(local).head;
        std::iter::from_fn(move || {
            let at = usize::from(place.checked_sub(1)?);
            let entry = self.extent.log_entry(&self.shape, section, at);
            place = entry.previous();
            Some(entry)
        })
    }

    /// Puts what a list has in the edge log into `edges`, each neighbor with its weight, oldest first.
    /// Returns them.
    pub(super) fn read_logged<'a>(
        &self,
        local: usize,
        edges: &'a mut Vec<(VertexId, u32)>,
    ) -> &'a [(VertexId, u32)] {
        let edge = |entry: LogEntry<'_>| {
            let words = entry.words();
            let weight = words.get(1).map_or(1f32.to_bits(), |word| word.load(Relaxed));
            (words[0].load(Relaxed), weight)
        };
        edges.clear();
        edges.extend(self.logged_entries(local).map(edge));
        edges.reverse();
        edges
    }

    /// Copies the words of a list, those in the edge log included. Returns how many there are.
    pub(super) fn copy_list(&self, local: usize, to: &mut [u32]) -> usize {
        if local >= self.vertex_count() {
            return 0;
        }
        let words = self.list(local).words;
        for (to, word) in to.iter_mut().zip(words) {
            *to = word.load(Relaxed);
        }
        let end = words.len() + self.logged_len(local) as usize;
        if end > words.len() {
            let mut place = end;
            for entry in self.logged_entries(local) {
                place -= self.shape.entry_words as usize;
                for (to, word) in to[place..].iter_mut().zip(entry.words()) {
                    *to = word.load(Relaxed);
                }
            }
        }
        end
    }

    /// Returns the words of a list, those in the edge log included.
    pub(super) fn raw_len(&self, local: usize) -> u32 {
        match local < self.vertex_count() {
            true => (self.lists.rows[local].len & !HAS_TOMBSTONES) + self.logged_len(local),
            false => 0,
        }
    }

    /// Returns the same of all lists.
    pub(super) fn raw_lens(&self) -> Vec<u32> {
        let rows = &self.lists.rows[..self.vertex_count()];
        let mut lens: Vec<u32> = rows.iter().map(|row| row.len & !HAS_TOMBSTONES).collect();
        for (number, _) in self.sections.iter().enumerate().filter(|(_, s)| s.log_count > 0) {
            let locals = self.shape.locals(number..number + 1);
            locals.for_each(|local| lens[local] += self.logged_len(local));
        }
        lens
    }

    /// Returns the words of a list in the edge log.
    #[inline]
    fn logged_len(&self, local: usize) -> u32 {
        match self.lists.rows[local].start & IS_LOGGED {
            0 => 0,
            _ => u32::from(self.logged(local).count) * self.shape.entry_words,
        }
    }

    /// Returns the words of a list, oldest first, tombstones and all.
    pub(super) fn raw_words(&self, local: usize) -> Vec<u32> {
        let mut words = vec![0; self.raw_len(local) as usize];
        self.copy_list(local, &mut words);
        words
    }

    /// Returns the neighbors that no tombstone took away, each with its weight, oldest first.
    pub(super) fn read_live<'a>(
        &self,
        local: usize,
        reader: &'a mut LiveReader,
    ) -> &'a [(VertexId, u32)] {
        let entry = |words: &[AtomicU32]| {
            let weight = words.get(1).map_or(1f32.to_bits(), |word| word.load(Relaxed));
            (words[0].load(Relaxed), weight)
        };
        let words = self.list(local).words;
        let in_list = words.chunks_exact(self.shape.entry_words as usize).rev().map(entry);
        let logged = self.logged_entries(local).map(|logged| entry(logged.words()));
        reader.read(logged.chain(in_list))
    }

    /// Returns the same in a vector of its own.
    pub(super) fn live_entries(&self, local: usize) -> Vec<(VertexId, u32)> {
        let mut reader = LiveReader::default();
        self.read_live(local, &mut reader);
        reader.into_edges()
    }

    /// Counts, for each neighbor that `counts` has as a key, how many live edges a list holds.
    pub(super) fn count_live(&self, local: usize, counts: &mut FxHashMap<VertexId, i64>) {
        if local >= self.vertex_count() {
            return;
        }
        let mut count = |word: u32| {
            if let Some(count) = counts.get_mut(&(word & !DELETION)) {
                *count += if word & DELETION == 0 { 1 } else { -1 };
            }
        };
        let entry_words = self.shape.entry_words as usize;
        let words = self.list(local).words;
        words.iter().step_by(entry_words).for_each(|word| count(word.load(Relaxed)));
        self.logged_entries(local).for_each(|entry| count(entry.words()[0].load(Relaxed)));
    }

    /// Notes that a list gets tombstones.
    pub(super) fn note_tombstones(&mut self, local: usize) {
        let degree = self.degree(local);
        self.live_degrees.entry(local as u32).or_insert(degree);
        if local < self.vertex_count() {
            self.lists.rows_mut()[local].len |= HAS_TOMBSTONES;
        }
    }

    /// Returns whether the sum of a section is that of its lists.
    pub(super) fn is_sum_right(&self, number: usize) -> bool {
        let locals = self.shape.locals(number..number + 1);
        let sum =
            locals.fold(0, |sum, local| sum_of(sum, local, self.raw_words(local).into_iter()));
        sum == self.sections[number].sum
    }

    /// Returns how many entries are in edge logs.
    pub(super) fn logged_count(&self) -> u64 {
        self.sections.iter().map(|section| u64::from(section.log_count)).sum()
    }

    /// Returns whether some lists have entries in an edge log.
    pub(super) fn has_logged(&self) -> bool {
        self.sections.iter().any(|section| section.log_count > 0)
    }

    /// Adds entries to their lists: to gaps and edge logs if they fit, or by writing all anew.
    ///
    /// # Errors
    /// `NoSpace` if even memory has no room; those of the medium.
    pub(super) fn take(
        &mut self,
        context: &Context,
        additions: &Additions,
        vertices: &[u64],
        bound: usize,
    ) -> Result<()> {
        let why = self.why_anew(context, additions, bound);
        if let Some(why) = why {
            let fill = if why == Why::Vertices { Fill::Any } else { Fill::Roomy };
            match self.rebuild(context, additions, (vertices, bound), (why, fill)) {
                // There are gaps and edge logs yet, and memory after them.
                Err(_) if fill == Fill::Roomy => {}
                outcome => return outcome,
            }
        }
        let is_tight = why.is_some();
        let mut first = 0;
        while let Some(local) = additions.local(first) {
            let section = self.shape.section_of(local);
            let last = self.shape.locals(section..section + 1).end;
            let end = first + additions.runs_from(first).take_while(|run| run.0 < last).count();
            let runs = additions.runs_from(first).take(end - first);
            self.make_room(context, (section, is_tight), runs, vertices)?;
            first = end;
        }
        self.append_all(context, additions, (vertices, bound))
    }

    /// Adds entries to their lists; writes all anew when it comes to one that does not fit.
    fn append_all(
        &mut self,
        context: &Context,
        additions: &Additions,
        (vertices, bound): (&[u64], usize),
    ) -> Result<()> {
        let (mut stored, mut logged) = (0, 0);
        let mut rest = None;
        for (number, (local, updates)) in additions.runs().enumerate() {
            match self.append(context, local, updates) {
                Some(in_log) => (stored, logged) = (stored + updates.len(), logged + in_log),
                None => {
                    rest = Some(additions.from(number));
                    break;
                }
            }
        }
        Counters::add(&context.counters.in_gaps, (stored - logged) as u64);
        Counters::add(&context.counters.in_edge_logs, logged as u64);
        match rest {
            Some(rest) => self.rebuild(context, &rest, (vertices, bound), (Why::Gaps, Fill::Any)),
            None => Ok(()),
        }
    }

    /// Returns why it is to be written anew before entries are added, if it is.
    fn why_anew(&self, context: &Context, additions: &Additions, bound: usize) -> Option<Why> {
        let used = self.used() + (additions.len() * context.entry_words) as u64;
        let limit = u64::from(self.shape.capacity) * u64::from(context.options.array_percent) / 100;
        if bound > self.vertex_count() {
            Some(Why::Vertices)
        } else if used > limit {
            Some(Why::Gaps)
        } else if self.is_round_large(context, additions) {
            Some(Why::Round)
        } else {
            None
        }
    }

    /// Whether a round adds so much that it is written anew.
    pub(super) fn is_round_large(&self, context: &Context, additions: &Additions) -> bool {
        let added = (additions.len() * context.entry_words) as u64;
        let share = if context.is_bulk { BULK_REBUILD_SHARE } else { REBUILD_SHARE };
        added * share > self.used() + u64::from(self.shape.capacity) / 16
    }

    /// Before entries are added to some lists of a section: rebalances if they would not fit; where
    /// room is tight, also all of the array, and to the last gap.
    fn make_room<'a>(
        &mut self,
        context: &Context,
        (section, is_tight): (usize, bool),
        runs: impl Iterator<Item = (usize, &'a [Update])>,
        vertices: &[u64],
    ) -> Result<()> {
        let (mut added, mut overflow) = (0, 0);
        let mut longest = (0, 0);
        for (local, updates) in runs {
            let words = (updates.len() * context.entry_words) as u32;
            let Place { start, len } = self.lists.rows[local];
            let room = if start & IS_LOGGED == 0 { self.gap(local) } else { 0 };
            // They are appended after all sections were looked at.
            prefetch(
                &self.lists.words[((start & !IS_LOGGED) + (len & !HAS_TOMBSTONES)) as usize..],
            );
            added += words;
            let missing = words.saturating_sub(room);
            overflow += missing as usize / context.entry_words;
            if missing > longest.1 {
                longest = (local, words);
            }
        }
        if overflow <= self.log_room(section) {
            return Ok(());
        }
        let is_ours = Arc::strong_count(&self.extent) == 1 && !self.is_in_memory();
        let is_in_place = context.options.is_in_place() && is_ours;
        let window = self.find_window(context, (section, is_tight), added);
        match window.filter(|_| is_in_place) {
            Some(window) => self.rebalance(context, window, (longest.0 as u32, added), vertices),
            // The caller writes all anew when it comes to the list that does not fit.
            None => Ok(()),
        }
    }

    /// Returns the words of the gap after a list.
    fn gap(&self, local: usize) -> u32 {
        let Place { start, len } = self.lists.rows[local];
        let next = self.lists.rows[local + 1].start & !IS_LOGGED;
        next - (start & !IS_LOGGED) - (len & !HAS_TOMBSTONES)
    }

    /// Returns the entries that an edge log may still take.
    pub(super) fn log_room(&self, section: usize) -> usize {
        let most = self.shape.log_entries as usize * LOG_PERCENT / 100;
        most.saturating_sub(self.sections[section].log_count.into())
    }

    /// Returns the smallest window around a section that is not too dense with `added` words more; all
    /// of the array only where room is tight, for it is better written anew.
    ///
    /// Source: Bender and Hu, TODS 2007: windows double, and what they may be filled to falls from
    /// that of a section to that of the array.
    fn find_window(
        &self,
        context: &Context,
        (section, is_tight): (usize, bool),
        added: u32,
    ) -> Option<Range<usize>> {
        let height = self.sections.len().ilog2();
        let (levels, [low, high]) = match is_tight {
            true => (height + 1, [100, 100]),
            false => (height, [context.options.array_percent, context.options.section_percent]),
        };
        (0..levels).find_map(|level| {
            let width = 1 << level;
            let first = section / width * width;
            let locals = self.shape.locals(first..first + width);
            let start = |local: usize| self.lists.rows[local].start & !IS_LOGGED;
            let capacity = u64::from(start(locals.end) - start(locals.start));
            let used: u64 =
                self.sections[first..first + width].iter().map(|s| u64::from(s.used)).sum();
            let percent = high - (high - low) * level / height.max(1);
            let fits = (used + u64::from(added)) * 100 <= capacity * u64::from(percent);
            fits.then_some(first..first + width)
        })
    }

    /// Rebalances a window in place; `wanted` says which list will have how many words more.
    fn rebalance(
        &mut self,
        context: &Context,
        window: Range<usize>,
        (wanted_by, wanted): (u32, u32),
        vertices: &[u64],
    ) -> Result<()> {
        // Without an undo log, the caller writes all anew.
        let Ok(mut undo) = context.undo.take() else { return Ok(()) };
        Counters::add(&context.counters.windows, 1);
        // R1.
        let stamp = self.sections[window.clone()].iter().map(|s| s.stamp).max().unwrap_or(0) + 1;
        let has_failed = self.extent.fence(Site::Word).is_err();
        if has_failed {
            return Ok(());
        }
        for number in window.clone() {
            let section = &mut self.sections[number];
            section.sequence = section.sequence.max(context.start_sequence);
            self.write_header(context.moment, number, stamp, vertices);
        }
        let has_failed = self.extent.fence(Site::SectionHeader).is_err();
        if has_failed {
            return Ok(());
        }
        let (first, end) = (window.start as u32, window.end as u32);
        let unit = self.extent.unit().expect("an array on the medium");
        let job = Job { index: self.index, unit, first, end, stamp, wanted_by, wanted };
        let saved = self.copy_words(window.clone());
        match rebalance::run(&self.extent, &self.shape, &job, &mut undo, context.undo.cut()) {
            Ok(()) => {
                window.clone().try_for_each(|number| self.reload(number))?;
                context.store_rows(self, self.shape.locals(window));
                Ok(())
            }
            Err(error @ Error::Corruption { .. }) => Err(error),
            // Nothing is stored any more; in memory the lists are whole all the same.
            Err(_) => self.move_to_memory(context, &saved),
        }
    }

    /// Returns the words of some sections, and where they begin.
    fn copy_words(&self, sections: Range<usize>) -> (u32, Vec<u32>) {
        let locals = self.shape.locals(sections);
        let start = |local: usize| self.lists.rows[local].start & !IS_LOGGED;
        let words = start(locals.start)..start(locals.end);
        let copy = header::copy(self.extent.words(self.shape.words_range(words.clone())));
        (words.start, copy)
    }

    /// After a rebalance in place that failed halfway: goes on in memory with what was saved of it.
    fn move_to_memory(
        &mut self,
        context: &Context,
        (start, saved): &(u32, Vec<u32>),
    ) -> Result<()> {
        let memory = context.room.take_memory(self.shape.units())?;
        let parts = 0..self.shape.words_range(0..self.shape.capacity).end;
        memory.store(Site::Array, 0, &header::copy(self.extent.words(parts)));
        memory.store(Site::Array, self.shape.words_range(*start..*start).start, saved);
        self.lists.words = memory.hold_lists(&self.shape);
        self.kept = Some(std::mem::replace(&mut self.extent, Arc::new(memory)));
        Ok(())
    }

    /// Takes over what a rebalance has made of a section.
    fn reload(&mut self, number: usize) -> Result<()> {
        let (header, slot, crc) = newest(&self.extent, &self.shape, number)?;
        let locals = self.shape.locals(number..number + 1);
        for (row, place) in self.lists.rows_mut()[locals].iter_mut().zip(&header.places) {
            *row = Place { start: place.start, len: place.len | row.len & HAS_TOMBSTONES };
        }
        let section = &mut self.sections[number];
        (section.stamp, section.slot, section.crc) = (header.stamp, slot as u8, crc);
        (section.epoch, section.anchored) = (header.epoch, header.anchored);
        section.direct = header.direct;
        (section.log_count, section.heads) = (0, None);
        Ok(())
    }

    /// Adds entries to a list: to its gap, and the rest to the edge log. Returns how many went there, or
    /// nothing if they do not fit.
    #[inline]
    fn append(&mut self, context: &Context, local: usize, updates: &[Update]) -> Option<usize> {
        let entry_words = context.entry_words;
        let number = self.shape.section_of(local);
        let gap = if self.lists.rows[local].start & IS_LOGGED == 0 {
            self.gap(local) as usize
        } else {
            0
        };
        let (in_gap, in_log) = updates.split_at(updates.len().min(gap / entry_words));
        if in_log.len() > self.log_room(number) {
            return None;
        }
        let mut words = [0; 32];
        let mut sum = self.sections[number].sum;
        for updates in in_gap.chunks(words.len() / entry_words) {
            let words = &mut words[..updates.len() * entry_words];
            context.write_entries(updates, words);
            let Place { start, len } = self.lists.rows[local];
            let (start, len) = (start & !IS_LOGGED, len & !HAS_TOMBSTONES);
            let end = start + len;
            self.extent.store(Site::Word, self.shape.words_range(end..end).start, words);
            for (place, &word) in (len..).zip(&*words) {
                sum = sum.wrapping_add(mix(local, place, word));
            }
            self.lists.rows_mut()[local].len += words.len() as u32;
        }
        let vertex = self.first_vertex() + local as u32;
        let section = &mut self.sections[number];
        section.sum = sum;
        section.used += (updates.len() * entry_words) as u32;
        section.count(vertex, updates);
        section.is_dirty = true;
        if self.lists.rows[local].len & HAS_TOMBSTONES != 0 {
            self.change_live_degree(local, updates);
        }
        if !in_log.is_empty() {
            self.append_to_log(context, local, in_log);
        }
        context.store_rows(self, local..local + 1);
        Some(in_log.len())
    }

    pub(super) fn change_live_degree(&mut self, local: usize, updates: &[Update]) {
        let degree = self.live_degrees.entry(local as u32).or_default();
        for update in updates {
            *degree = degree.wrapping_add_signed(if update.is_deletion() { -1 } else { 1 });
        }
    }

    fn append_to_log(&mut self, context: &Context, local: usize, updates: &[Update]) {
        let number = self.shape.section_of(local);
        // What does not count by itself has no check.
        let mut entry = [0; LOG_ENTRY_WORDS_MAX];
        let entry = &mut entry[..self.shape.log_entry_words()];
        let words = 1..1 + context.entry_words;
        for update in updates {
            entry[0] = LogEntry::link(local, self.logged(local).head);
            context.write_entries(std::slice::from_ref(update), &mut entry[words.clone()]);
            let place = usize::from(self.sections[number].log_count);
            let start = self.shape.log_range(number, place..place).start;
            self.extent.store(Site::EdgeLog, start, entry);
            self.note_logged(local, &entry[words.clone()]);
        }
    }

    /// Notes that the next entry of an edge log has these words of a list.
    pub(super) fn note_logged(&mut self, local: usize, words: &[u32]) {
        let span = self.shape.section_vertices as usize;
        let row = &mut self.lists.rows_mut()[local];
        let section = &mut self.sections[local / span];
        let heads = section.heads.get_or_insert_with(|| vec![Logged::default(); span].into());
        let Logged { count, .. } = heads[local % span];
        let before = (row.len & !HAS_TOMBSTONES) + u32::from(count) * self.shape.entry_words;
        for (place, &word) in (before..).zip(words) {
            section.sum = section.sum.wrapping_add(mix(local, place, word));
        }
        section.log_count += 1;
        heads[local % span] = Logged { head: section.log_count, count: count + 1 };
        row.start |= IS_LOGGED;
    }

    /// Panics if an invariant does not hold that can be checked without the medium.
    #[cfg(debug_assertions)]
    pub(super) fn check(&self) {
        let mut next = 0;
        for row in &*self.lists.rows {
            assert!(row.start & !IS_LOGGED >= next, "A1");
            next = (row.start & !IS_LOGGED) + (row.len & !HAS_TOMBSTONES);
        }
        for (number, section) in self.sections.iter().enumerate() {
            let locals = self.shape.locals(number..number + 1);
            let used: u32 = locals.map(|local| self.raw_len(local)).sum();
            assert_eq!(used, section.used, "words of section {number}");
        }
    }
}

/// Returns what a list's words, oldest first, say from the newest to the oldest: each neighbor with its
/// weight as bits.
pub(super) fn newest_first(words: &[u32], entry_words: usize) -> impl Iterator<Item = (u32, u32)> {
    let weight = |entry: &[u32]| entry.get(1).copied().unwrap_or(1f32.to_bits());
    words.chunks_exact(entry_words).rev().map(move |entry| (entry[0], weight(entry)))
}

/// Adds the words of a list to a sum.
pub(super) fn sum_of(sum: u64, local: usize, words: impl Iterator<Item = u32>) -> u64 {
    (0..).zip(words).fold(sum, |sum, (place, word)| sum.wrapping_add(mix(local, place, word)))
}
