//! Writing an array anew: as it is resized, cleaned of what was deleted, or takes a large round.
//!
//! Source: DGAP §3.1.1 (resizing). The old array stays as it was; what makes the new one current is
//! the table (`table.rs`).

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use parking_lot::MutexGuard;
use rustc_hash::FxHashMap;

use super::array::{Array, Section, newest_first, sum_of};
use super::extent::Extent;
use super::header::Place;
use super::lists::Lists;
use super::mechanisms::{Counters, Why};
use super::restore::Bound;
use super::shape::{Shape, spread};
use super::shard::{Additions, Context};
use super::with_tombstones::LiveReader;
use everedge_live::Update;
use everedge_live::{Error, Result, Room as Free};
use everedge_medium::Site;

/// As full as an array gets that is written anew where room is short.
const TIGHT_PERCENT: u32 = 100;

/// Words of a list that are copied in one step.
const COPY_WORDS: usize = 8;

/// How much room an array may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fill {
    /// With gaps.
    Roomy,
    /// Without gaps.
    Tight,
    /// With gaps if the medium has room for them, else without, else in memory.
    Any,
}

/// An array that is to be written: the lists of `old` and what is added, without what was deleted.
struct Plan<'a> {
    index: u32,
    old: Option<&'a Array>,
    additions: &'a Additions<'a>,
    section_count: usize,
    /// Lists that are not just appended to.
    cleaned: FxHashMap<usize, Vec<u32>>,
    /// The words of each list.
    lens: Vec<u32>,
}

/// Where an array is to be written.
struct Placed<'a> {
    extent: Extent,
    shape: Shape,
    /// Held where it is the place that is kept for one array.
    turn: Option<MutexGuard<'a, ()>>,
}

impl Array {
    /// Writes the first array of a number, with room for `bound` vertices.
    ///
    /// # Errors
    /// `NoSpace` if even memory has no room.
    pub(super) fn create(
        context: &Context,
        index: u32,
        additions: &Additions,
        (vertices, bound): (&[u64], usize),
    ) -> Result<Self> {
        let plan = Plan::new(context, index, None, additions, bound);
        plan.write(context, vertices, (Why::Created, Fill::Any))
    }

    /// Writes it anew, with more entries and room for `bound` vertices.
    ///
    /// # Errors
    /// `NoSpace` if there is no room: it is as before then.
    pub(super) fn rebuild(
        &mut self,
        context: &Context,
        additions: &Additions,
        (vertices, bound): (&[u64], usize),
        how: (Why, Fill),
    ) -> Result<()> {
        let plan = Plan::new(context, self.index, Some(self), additions, bound);
        let new = plan.write(context, vertices, how)?;
        *self = new;
        Ok(())
    }
}

impl<'a> Plan<'a> {
    fn new(
        context: &Context,
        index: u32,
        old: Option<&'a Array>,
        additions: &'a Additions<'a>,
        bound: usize,
    ) -> Self {
        let span = context.options.section_vertices as usize;
        let old_sections = old.map_or(0, |old| old.sections.len());
        let section_count = bound.div_ceil(span).max(old_sections).max(1).next_power_of_two();
        let cleaned = cleaned_lists(context, old, additions);
        let lens = lens(context, old, additions, &cleaned, section_count * span);
        Self { index, old, additions, section_count, cleaned, lens }
    }

    fn words(&self) -> u64 {
        self.lens.iter().map(|&len| u64::from(len)).sum()
    }

    fn shape(&self, context: &Context, percent: u32) -> Shape {
        let Context { options, entry_words, .. } = *context;
        Shape::new(options, entry_words, self.section_count, (self.words(), percent))
    }

    /// Whether it is expected that the next round, too, is so large that it writes the array anew. Lists
    /// then follow each other without gaps, which come after the last of a section: what the next round
    /// adds nothing to is copied in one piece. A first small round goes to edge logs, and a rebalance
    /// shares the gaps out.
    fn is_packed(&self, context: &Context) -> bool {
        let is_large = || self.old.is_none_or(|old| old.is_round_large(context, self.additions));
        context.is_bulk && self.additions.len() > 0 && is_large()
    }

    /// Returns to what percent an array with gaps is filled.
    fn percent(&self, context: &Context) -> u32 {
        match self.additions.len() == 0 || self.is_packed(context) {
            // Nothing is added any more, or a round that is as large, which writes it anew.
            true => context.options.fill_percent.midpoint(context.options.array_percent),
            false => context.options.fill_percent,
        }
    }

    /// Returns the shape without gaps, or that of the old array if that is smaller.
    fn tight_shape(&self, context: &Context) -> Shape {
        let tight = self.shape(context, TIGHT_PERCENT);
        let fits = |old: &Shape| {
            old.section_count == tight.section_count
                && self.words() <= old.capacity.into()
                && old.units() < tight.units()
        };
        self.old.map(|old| old.shape).filter(fits).unwrap_or(tight)
    }

    /// Finds a place on the medium, or in memory.
    fn place<'c>(&self, context: &Context<'c>, fill: Fill) -> Result<Placed<'c>> {
        let Context { room, table, .. } = *context;
        let roomy = self.shape(context, self.percent(context));
        let tight = self.tight_shape(context);
        if !tight.is_plausible() {
            let (vertices, words) = (tight.vertex_count(), self.words());
            let what = format!("the lists of {vertices} vertices with {words} words are too long");
            return Err(Error::InvalidInput { what });
        }
        let take = |shape: Shape, kept: Option<Free>| {
            table.reserve(self.index as usize)?;
            room.take(shape.units(), kept)
        };
        if roomy.is_plausible() && fill != Fill::Tight {
            match take(roomy, Some(context.kept)) {
                Ok(extent) => return Ok(Placed { extent, shape: roomy, turn: None }),
                Err(error) if fill == Fill::Roomy => return Err(error),
                Err(_) => {}
            }
        }
        let turn = room.turn();
        // What was written elsewhere before leaves its old place.
        let _later = table.publish(room.space().region());
        let rest = (fill != Fill::Tight).then(|| room.place());
        match take(tight, rest) {
            Ok(extent) => Ok(Placed { extent, shape: tight, turn: Some(turn) }),
            Err(error) if !context.spills => Err(error),
            Err(_) => {
                Counters::add(&context.counters.in_memory, 1);
                let shape = if roomy.is_plausible() { roomy } else { tight };
                Ok(Placed { extent: room.take_memory(shape.units())?, shape, turn: None })
            }
        }
    }

    fn write(
        &self,
        context: &Context,
        vertices: &[u64],
        (why, fill): (Why, Fill),
    ) -> Result<Array> {
        let Self { index, old, additions, section_count, .. } = *self;
        let Placed { extent, shape, turn } = self.place(context, fill)?;
        context.counters.count_array(why, self.words());
        let mut rows = Vec::with_capacity(self.lens.len() + 1);
        match self.is_packed(context) {
            true => pack(&self.lens, &shape, &mut rows),
            false => {
                let starts = spread(&self.lens, 0..shape.capacity, shape.entry_words);
                rows.extend(starts.zip(&self.lens).map(|(start, &len)| Place { start, len }));
            }
        }
        rows.push(Place { start: shape.capacity, len: 0 });
        if let Some(medium) = context.rows {
            medium.reserve(index);
        }
        let is_in_memory = extent.unit().is_none();
        let mut array = Array {
            lists: Lists { rows: rows.into(), words: extent.hold_lists(&shape) },
            extent: Arc::new(extent),
            kept: old.filter(|_| is_in_memory).and_then(Array::durable_extent).cloned(),
            shape,
            index,
            sections: vec![Section::default(); section_count],
            live_degrees: FxHashMap::default(),
            is_checked: true,
            neighbor_bound: old.map_or(Bound::default(), |old| old.neighbor_bound.clone()),
        };
        array.extent.write_head(index, &shape);
        let mut runs = additions.runs().peekable();
        let mut filler = Filler { context, old, cleaned: &self.cleaned, buffer: Vec::new() };
        for number in 0..section_count {
            let end = shape.locals(number..number + 1).end;
            let added = std::iter::from_fn(|| runs.next_if(|run| run.0 < end));
            filler.fill(&mut array, number, added);
            array.write_header(context.moment, number, 1, vertices);
            array.extent.clear_header(&shape, number, 1 - usize::from(array.sections[number].slot));
        }
        context.store_rows(&array, 0..array.vertex_count());
        let before = old.and_then(Array::durable_extent).cloned();
        context.table.note_move(index as usize, &array.extent, before);
        if turn.is_some() {
            // The old place is the one that is kept now.
            let _later = context.table.publish(context.room.space().region());
        }
        Ok(array)
    }
}

/// Fills sections of a new array.
struct Filler<'a> {
    context: &'a Context<'a>,
    old: Option<&'a Array>,
    /// The words of lists that are not just appended to.
    cleaned: &'a FxHashMap<usize, Vec<u32>>,
    /// The words of a section.
    buffer: Vec<u32>,
}

impl Filler<'_> {
    /// Stores the lists of a section, of which there are rows, and the gaps between them.
    fn fill<'u>(
        &mut self,
        array: &mut Array,
        number: usize,
        added: impl Iterator<Item = (usize, &'u [Update])>,
    ) {
        let locals = array.shape.locals(number..number + 1);
        let base = array.lists.rows[locals.start].start;
        let len = (array.lists.rows[locals.end].start - base) as usize;
        self.buffer.clear();
        self.buffer.resize(len + COPY_WORDS, 0);
        let mut section = match self.old.and_then(|old| old.sections.get(number)) {
            Some(&Section { sum, crc, epoch, anchored, sequence, loops, .. }) => {
                Section { sum, crc, epoch, anchored, sequence, loops, ..Section::default() }
            }
            None => Section::default(),
        };
        section.sequence = section.sequence.max(self.context.end_sequence);
        let is_plain = |old: &&Array| self.cleaned.is_empty() && old.is_plain(locals.clone());
        match self.old.filter(is_plain) {
            Some(old) if array.is_packed(&locals) && old.is_packed(&locals) => {
                self.copy_packed(old, locals, added, &mut section);
            }
            plain => self.copy_lists(array, (locals, plain), added, &mut section),
        }
        // Lists with deletions are cleaned.
        section.tombstones = 0;
        let start = array.shape.words_range(base..base).start;
        array.extent.stream(Site::Array, start, &self.buffer[..len]);
        array.sections[number] = section;
    }

    /// Copies lists that follow each other, in pieces that end where something is added.
    fn copy_packed<'u>(
        &mut self,
        old: &Array,
        locals: Range<usize>,
        added: impl Iterator<Item = (usize, &'u [Update])>,
        section: &mut Section,
    ) {
        let end_of =
            |local: usize| (old.lists.rows[local].start + old.lists.rows[local].len) as usize;
        let first_vertex = old.first_vertex();
        let (mut from, mut to) = (old.lists.rows[locals.start].start as usize, 0);
        for (local, updates) in added {
            let end = end_of(local);
            let new_at = to + end - from;
            old.lists.words.copy(from, &mut self.buffer[to..new_at]);
            (from, to) = (end, new_at + updates.len() * self.context.entry_words);
            let list = (first_vertex + local as u32, local, old.lists.rows[local].len);
            section.append(self.context, list, updates, &mut self.buffer[new_at..to]);
        }
        let copied = end_of(locals.end - 1) - from;
        old.lists.words.copy(from, &mut self.buffer[to..to + copied]);
        section.used = (to + copied) as u32;
    }

    /// Copies lists one by one; those of the array that is `plain` are nothing but their words.
    fn copy_lists<'u>(
        &mut self,
        array: &Array,
        (locals, plain): (Range<usize>, Option<&Array>),
        added: impl Iterator<Item = (usize, &'u [Update])>,
        section: &mut Section,
    ) {
        let mut added = added.peekable();
        let base = array.lists.rows[locals.start].start;
        let first_vertex = array.first_vertex();
        let mut is_cleaned = false;
        for local in locals.clone() {
            let Place { start, len } = array.lists.rows[local];
            section.used += len;
            let to = &mut self.buffer[(start - base) as usize..];
            let updates = added.next_if(|run| run.0 == local).map_or(&[][..], |run| run.1);
            let vertex = first_vertex + local as u32;
            let len = len as usize;
            let old_len = match plain {
                Some(old) => copy_plain(old, local, to),
                None => {
                    if let Some(words) = self.cleaned.get(&local) {
                        section.count(vertex, updates);
                        to[..len].copy_from_slice(words);
                        is_cleaned = true;
                        continue;
                    }
                    self.old.map_or(0, |old| old.copy_list(local, &mut to[..len]))
                }
            };
            let list = (vertex, local, old_len as u32);
            section.append(self.context, list, updates, &mut to[old_len..len]);
        }
        if is_cleaned {
            section.sum = locals.fold(0, |sum, local| {
                let Place { start, len } = array.lists.rows[local];
                let words = &self.buffer[(start - base) as usize..][..len as usize];
                sum_of(sum, local, words.iter().copied())
            });
        }
    }
}

/// Puts lists one after the other, a section's gaps behind its last list.
fn pack(lens: &[u32], shape: &Shape, rows: &mut Vec<Place>) {
    let of_sections = lens.chunks(shape.section_vertices as usize);
    let sums: Vec<u32> = of_sections.clone().map(|lens| lens.iter().sum()).collect();
    let starts = spread(&sums, 0..shape.capacity, shape.entry_words);
    for (lens, mut start) in of_sections.zip(starts) {
        for &len in lens {
            rows.push(Place { start, len });
            start += len;
        }
    }
}

/// Copies a list that is nothing but its words, of which there is a row, in steps that most lists take
/// one of: the end of a loop that nobody foresees costs more than a few words more. Leaves zeros after
/// it. Returns how many words it has.
fn copy_plain(old: &Array, local: usize, to: &mut [u32]) -> usize {
    let Place { start, len } = old.lists.rows[local];
    let len = len as usize;
    let count = len.div_ceil(COPY_WORDS);
    let steps = (old.lists.words[start as usize..].as_chunks::<COPY_WORDS>().0).get(..count);
    match (steps, to.as_chunks_mut::<COPY_WORDS>().0.get_mut(..count)) {
        (Some(from), Some(to)) => {
            for (to, from) in to.iter_mut().zip(from) {
                *to = from.each_ref().map(|word| word.load(Relaxed));
            }
        }
        // Near the end of an array.
        _ => return old.copy_list(local, &mut to[..len]),
    }
    if let Some(after) = to[len..].first_chunk_mut::<COPY_WORDS>() {
        *after = [0; COPY_WORDS];
    }
    len
}

/// Returns the words of those lists that are not just appended to: some were deleted.
fn cleaned_lists(
    context: &Context,
    old: Option<&Array>,
    additions: &Additions,
) -> FxHashMap<usize, Vec<u32>> {
    let mut words: FxHashMap<usize, Vec<u32>> = FxHashMap::default();
    if let Some(old) = old {
        let locals = old.live_degrees.keys().map(|&local| local as usize);
        words.extend(locals.map(|local| (local, old.raw_words(local))));
    }
    if !words.is_empty() || additions.has_deletions {
        for (local, updates) in additions.runs() {
            let has_tombstones =
                words.contains_key(&local) || updates.iter().any(Update::is_deletion);
            if has_tombstones {
                let old_words = || old.map_or(Vec::new(), |old| old.raw_words(local));
                let words = words.entry(local).or_insert_with(old_words);
                let len = words.len();
                words.resize(len + updates.len() * context.entry_words, 0);
                context.write_entries(updates, &mut words[len..]);
            }
        }
    }
    let mut reader = LiveReader::default();
    for words in words.values_mut() {
        let live = reader.read(newest_first(words, context.entry_words));
        words.clear();
        for &(neighbor, weight) in live {
            words.push(neighbor);
            words.extend((context.entry_words > 1).then_some(weight));
        }
    }
    words
}

/// Returns the words of each list of a new array.
fn lens(
    context: &Context,
    old: Option<&Array>,
    additions: &Additions,
    cleaned: &FxHashMap<usize, Vec<u32>>,
    vertex_count: usize,
) -> Vec<u32> {
    let mut lens = old.map_or(Vec::new(), Array::raw_lens);
    lens.resize(vertex_count, 0);
    for (local, updates) in additions.runs() {
        lens[local] += (updates.len() * context.entry_words) as u32;
    }
    for (&local, words) in cleaned {
        lens[local] = words.len() as u32;
    }
    lens
}
