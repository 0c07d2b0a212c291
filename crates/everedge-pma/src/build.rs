//! Writing an array anew: as it is resized, cleaned of what was deleted, or takes a large round.
//!
//! Source: DGAP §3.1.1 (resizing). The old array stays as it was; what makes the new one current is
//! the table (`table.rs`).

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::array::{Array, Section, live_entries, sum_of};
use super::header::{Place, mix};
use super::shape::{Shape, spread};
use super::shard::{Additions, Context};
use super::undo::Counters;
use everedge_live::Update;
use everedge_live::{Error, Result};
use everedge_medium::Site;

impl Array {
    /// Writes an array with the lists of `old` and what is added, without what was deleted, and
    /// with room for `bound` vertices.
    ///
    /// # Errors
    /// `NoSpace` if even memory has no room; `InvalidInput` if the lists are longer than an array
    /// can be.
    pub(super) fn rebuilt(
        context: &Context,
        index: u32,
        old: Option<&Array>,
        additions: &Additions,
        (vertices, bound): (&[u64], usize),
    ) -> Result<Self> {
        Counters::add(&context.counters.aside);
        let span = context.options.section_vertices as usize;
        let old_sections = old.map_or(0, |old| old.sections.len());
        let section_count = bound.div_ceil(span).max(old_sections).max(1).next_power_of_two();
        let cleaned = cleaned_lists(context, old, additions);
        let lens = lens(context, old, additions, &cleaned, section_count * span);
        let words = lens.iter().map(|&len| u64::from(len)).sum();
        let is_large = || old.is_none_or(|old| old.is_round_large(context, additions));
        let percent = match additions.len() == 0 || context.is_bulk && is_large() {
            // Nothing is added any more, or a round that is as large, which writes it anew.
            true => context.options.fill_percent.midpoint(context.options.array_percent),
            false => context.options.fill_percent,
        };
        let shape =
            Shape::new(context.options, context.entry_words, section_count, (words, percent));
        if !shape.is_plausible() {
            let vertices = section_count * span;
            let what = format!("the lists of {vertices} vertices with {words} words are too long");
            return Err(Error::InvalidInput { what });
        }
        let starts = spread(&lens, 0..shape.capacity, shape.entry_words);
        let (extent, is_in_memory) = context.take_extent(index, shape.units())?;
        let mut rows: Vec<Place> =
            starts.iter().zip(lens).map(|(&start, len)| Place { start, len }).collect();
        rows.push(Place { start: shape.capacity, len: 0 });
        let mut array = Self {
            lists: extent.hold_lists(&shape),
            extent: Arc::new(extent),
            kept: old.filter(|_| is_in_memory).and_then(Array::durable_extent).cloned(),
            shape,
            index,
            rows,
            sections: vec![Section::default(); section_count],
            worn: FxHashMap::default(),
            tombstone_count: 0,
        };
        array.extent.write_head(index, &shape);
        let mut runs = additions.runs().peekable();
        let mut buffer = Vec::new();
        for number in 0..section_count {
            let end = shape.locals(number..number + 1).end;
            let added = std::iter::from_fn(|| runs.next_if(|run| run.0 < end));
            array.fill_section(context, (number, &mut buffer), old, added, &cleaned);
            array.write_header(context.epoch, number, 1, vertices);
            array.extent.clear_header(&shape, number, 1 - usize::from(array.sections[number].slot));
        }
        context.store_rows(&array, 0..array.vertex_count());
        Ok(array)
    }

    /// Stores the lists of a section, of which there are rows, and the gaps between them.
    fn fill_section<'a>(
        &mut self,
        context: &Context,
        (number, buffer): (usize, &mut Vec<u32>),
        old: Option<&Array>,
        added: impl Iterator<Item = (usize, &'a [Update])>,
        cleaned: &FxHashMap<usize, Vec<u32>>,
    ) {
        let mut added = added.peekable();
        let locals = self.shape.locals(number..number + 1);
        let base = self.rows[locals.start].start;
        buffer.clear();
        buffer.resize((self.rows[locals.end].start - base) as usize, 0);
        let before = old.and_then(|old| old.sections.get(number));
        let sequence = before.map_or(0, |section| section.sequence);
        let mut section = Section {
            sum: before.map_or(0, |section| section.sum),
            anchored: before.map_or(0, |section| section.anchored),
            sequence: sequence.max(context.end_sequence),
            ..Section::default()
        };
        let range = |place: &Place| {
            (place.start - base) as usize..(place.start - base + place.len) as usize
        };
        let mut is_cleaned = false;
        for local in locals.clone() {
            section.used += self.rows[local].len;
            let to = &mut buffer[range(&self.rows[local])];
            let updates = added.next_if(|run| run.0 == local).map_or(&[][..], |run| run.1);
            if let Some(words) = cleaned.get(&local) {
                to.copy_from_slice(words);
                is_cleaned = true;
                continue;
            }
            let old_len = old.map_or(0, |old| old.copy_list(local, to));
            context.write_entries(updates, &mut to[old_len..]);
            for (place, &word) in (old_len as u32..).zip(&to[old_len..]) {
                section.sum = section.sum.wrapping_add(mix(local, place, word));
            }
        }
        if is_cleaned {
            section.sum = locals.fold(0, |sum, local| {
                sum_of(sum, local, buffer[range(&self.rows[local])].iter().copied())
            });
        }
        let start = self.shape.words_range(base..base).start;
        self.extent.stream(Site::Array, start, buffer);
        self.sections[number] = section;
    }
}

/// Returns the words of those lists that are not just appended to: some were deleted.
fn cleaned_lists(
    context: &Context,
    old: Option<&Array>,
    additions: &Additions,
) -> FxHashMap<usize, Vec<u32>> {
    let mut words: FxHashMap<usize, Vec<u32>> = FxHashMap::default();
    if let Some(old) = old {
        let worn = old.worn.keys().map(|&local| local as usize);
        words.extend(worn.map(|local| (local, old.raw_words(local))));
    }
    if !words.is_empty() || additions.has_deletions {
        for (local, updates) in additions.runs() {
            let is_worn = words.contains_key(&local) || updates.iter().any(Update::is_deletion);
            if is_worn {
                let old_words = || old.map_or(Vec::new(), |old| old.raw_words(local));
                let words = words.entry(local).or_insert_with(old_words);
                let len = words.len();
                words.resize(len + updates.len() * context.entry_words, 0);
                context.write_entries(updates, &mut words[len..]);
            }
        }
    }
    for words in words.values_mut() {
        let live = live_entries(words, context.entry_words);
        words.clear();
        for (neighbor, weight) in live {
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
    let old_len = |local: usize| old.map_or(0, |old| old.raw_len(local));
    let mut lens: Vec<u32> = (0..vertex_count).map(old_len).collect();
    for (local, updates) in additions.runs() {
        lens[local] += (updates.len() * context.entry_words) as u32;
    }
    for (&local, words) in cleaned {
        lens[local] = words.len() as u32;
    }
    lens
}
