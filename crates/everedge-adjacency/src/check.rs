//! What lists must be like that an image describes: looked at once after opening, so that nobody has to
//! who reads or changes them.
//!
//! Checksums do not say it: whoever can compute them writes what he likes.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_live::{DELETION, Error, Result, SHARD_SPAN, are_weights, live_bound};

use super::block::{self, NO_BLOCK, UNIT_LINES};
use super::layout::Adjacency;
use super::list::{List, Span};
use super::run::{self, SPAN};
use super::shard::Shard;
use super::space::ShardSpace;
use super::table::Entry;

/// What the lists of a shard add up to.
#[derive(Default)]
struct Found {
    blocks: u64,
    degree_sum: u64,
    loops: i64,
    tombstones: u64,
    /// The id after the largest that lists name.
    neighbor_bound: u32,
}

/// What a list adds up to.
#[derive(Default)]
struct Listed {
    entries: u64,
    tombstones: u64,
    loops: i64,
    /// The largest word of a neighbor.
    largest: u32,
    /// Whether its entries have all their words, and finite weights.
    is_whole: bool,
    /// Whether its blocks lie where the shard has room, and nothing else does.
    has_own_blocks: bool,
}

impl Shard {
    /// Looks at what the words of its lists say, whose pieces are whole. Returns the id after the largest
    /// that they name.
    ///
    /// # Errors
    /// `Corruption` if no updates can have led to it.
    pub(crate) fn check_lists(&self, adjacency: &Adjacency) -> Result<u32> {
        let partition = adjacency.sub_graphs.partition;
        let mut lines: Vec<Lines> = self.spaces.iter().map(Lines::of).collect();
        let mut found = Found::default();
        for (number, list) in self.lists.iter().enumerate() {
            let lines = &mut lines[partition.slot(number)];
            self.check_list(adjacency, (number, list), lines, &mut found)?;
        }
        for (space, lines) in self.spaces.iter().zip(&mut lines) {
            if !lines.take_free(space) {
                return Err(self.damaged(adjacency, "free lines of its units", "others"));
            }
        }
        let Shard { block_count, degree_sum, loop_count, tombstone_count, .. } = *self;
        let counted = [block_count, degree_sum, loop_count, tombstone_count];
        let loops = u64::try_from(found.loops).unwrap_or(u64::MAX);
        let counts = [found.blocks, found.degree_sum, loops, found.tombstones];
        match counted == counts {
            true => Ok(found.neighbor_bound),
            false => {
                let expected = format!("{counted:?} blocks, neighbors, self-loops and tombstones");
                Err(self.damaged(adjacency, &expected, &format!("{counts:?}")))
            }
        }
    }

    fn check_list(
        &self,
        adjacency: &Adjacency,
        (number, list): (usize, &List),
        lines: &mut Lines,
        found: &mut Found,
    ) -> Result<()> {
        let mut words = Vec::new();
        for span in 0..list.spans.len() {
            let Some(plain) = self.add_up(adjacency, list, span, &mut words) else {
                for local in span * SPAN..(span + 1) * SPAN {
                    self.check_one(adjacency, (number, list), local, lines, found)?;
                }
                continue;
            };
            found.neighbor_bound = found.neighbor_bound.max(plain.neighbor_bound);
            if number == 0 {
                found.degree_sum += plain.degree_sum;
                found.loops += plain.loops;
            }
        }
        Ok(())
    }

    /// Adds a span up as a whole, if its lists are their parts of its run, as their rows say, and these
    /// neither tombstones nor weights: almost all are, and this is read at each opening. `words` is room
    /// for a copy, in which several at a time are compared.
    fn add_up(
        &self,
        adjacency: &Adjacency,
        list: &List,
        span: usize,
        words: &mut Vec<u32>,
    ) -> Option<Found> {
        let Span { run, is_pure, .. } = list.spans[span];
        if run == NO_BLOCK || !is_pure || adjacency.options.entry_words() != 1 {
            return None;
        }
        let (ends, entries) = run::lists(list.blocks(&adjacency.places), run);
        words.clear();
        words.extend(entries.iter().map(|word| word.load(Relaxed)));
        let largest = words.iter().copied().max();
        if largest.is_some_and(|largest| largest & DELETION != 0) {
            return None;
        }
        let mut found = Found { degree_sum: words.len() as u64, ..Found::default() };
        found.neighbor_bound = largest.map_or(0, |largest| largest + 1);
        let mut rest = &words[..];
        for (local, end) in (span * SPAN..).zip(ends) {
            let left = words.len() - end.load(Relaxed) as usize;
            let part;
            (part, rest) = rest.split_at(rest.len() - left);
            let row = Entry { degree: part.len() as u32, ..Entry::default() };
            if list.entry(local) != row {
                return None;
            }
            let vertex = self.first_vertex + local as u32;
            found.loops +=
                i64::from(part.iter().map(|&word| u32::from(word == vertex)).sum::<u32>());
        }
        Some(found)
    }

    /// Looks at the list of `local`.
    fn check_one(
        &self,
        adjacency: &Adjacency,
        (number, list): (usize, &List),
        local: usize,
        lines: &mut Lines,
        found: &mut Found,
    ) -> Result<()> {
        let entry_words = adjacency.options.entry_words();
        let (entry, span) = (list.entry(local), &list.spans[local / SPAN]);
        if entry == Entry::default() && span.run == NO_BLOCK {
            return Ok(());
        }
        let listed = self.look_at(adjacency, list, local, lines, found);
        let is_pure = !span.is_pure || !list.is_changed(local) && listed.tombstones == 0;
        let wrong = if !listed.has_own_blocks {
            Some(("blocks in its shard's units, one a place", "others"))
        } else if !listed.is_whole {
            Some(("whole entries, with finite weights", "others"))
        } else if listed.tombstones > 0 && !entry.has_tombstones {
            Some(("no tombstones, as its row says", "some"))
        } else if !is_pure {
            Some(("neighbors in its run only and no tombstones, as its span says", "others"))
        } else {
            None
        };
        if let Some((expected, found)) = wrong {
            return Err(self.damaged_list(adjacency, local, expected, found));
        }
        let Some(bound) = listed.bound(|| list.pieces(&adjacency.places, local), entry_words)
        else {
            let (expected, found) = ("an edge before each tombstone", "a tombstone without one");
            return Err(self.damaged_list(adjacency, local, expected, found));
        };
        // Each tombstone has its edge.
        let degree = listed.entries - 2 * listed.tombstones;
        if degree != u64::from(entry.degree) {
            let expected = format!("{} neighbors, as its row says", entry.degree);
            return Err(self.damaged_list(adjacency, local, &expected, &degree.to_string()));
        }
        found.neighbor_bound = found.neighbor_bound.max(bound);
        found.tombstones += listed.tombstones;
        if number == 0 {
            found.degree_sum += degree;
            found.loops += listed.loops;
        }
        Ok(())
    }

    /// Adds a list up, and takes the lines of its blocks.
    fn look_at(
        &self,
        adjacency: &Adjacency,
        list: &List,
        local: usize,
        lines: &mut Lines,
        found: &mut Found,
    ) -> Listed {
        let (places, entry_words) = (&adjacency.places, adjacency.options.entry_words());
        let mut listed = Listed { is_whole: true, ..Listed::default() };
        let vertex = self.first_vertex + local as u32;
        let mut add = |words: &[AtomicU32]| listed.add(words, entry_words, vertex);
        add(list.buffered(&places.buffers, local));
        list.spilled(local).iter().for_each(|spill| add(&spill.words));
        add(list.base(places, local));
        let (region, mut place) = (list.blocks(places), list.entry(local).head);
        let mut has_own_blocks = true;
        while place != NO_BLOCK {
            let (entries, previous) = block::entries(region, place);
            add(entries);
            found.blocks += 1;
            has_own_blocks &= lines.take(place.into(), block::lines_for(entries.len()));
            place = previous;
        }
        listed.has_own_blocks = has_own_blocks;
        listed
    }

    fn damaged(&self, adjacency: &Adjacency, expected: &str, found: &str) -> Error {
        let (first, last) = (self.first_vertex, self.first_vertex + SHARD_SPAN as u32 - 1);
        let what = format!("the lists of the vertices from {first} to {last}");
        damaged(adjacency, what, expected, found)
    }

    fn damaged_list(
        &self,
        adjacency: &Adjacency,
        local: usize,
        expected: &str,
        found: &str,
    ) -> Error {
        let vertex = self.first_vertex as usize + local;
        damaged(adjacency, format!("the list of vertex {vertex}"), expected, found)
    }

    /// Looks once more for the id after the largest that lists name.
    pub(crate) fn find_neighbor_bound(&self, adjacency: &Adjacency) -> u32 {
        let (places, entry_words) = (&adjacency.places, adjacency.options.entry_words());
        let live = |list: &List, local| {
            let live = list.live(places, local, entry_words).into_iter();
            live.map(|(neighbor, _)| neighbor.saturating_add(1)).max().unwrap_or(0)
        };
        let of_list =
            |list: &List| (0..SHARD_SPAN).map(|local| live(list, local)).max().unwrap_or(0);
        self.lists.iter().map(of_list).max().unwrap_or(0)
    }
}

fn damaged(adjacency: &Adjacency, what: String, expected: &str, found: &str) -> Error {
    Error::Corruption {
        path: adjacency.images_path().to_owned(),
        offset: 0,
        what,
        expected: expected.into(),
        found: found.into(),
    }
}

impl Listed {
    /// Returns the id after the largest neighbor, of a list with these pieces, newest first; none if a
    /// tombstone has no edge to take away. Only a list with tombstones is read once more.
    fn bound<'a, P: Iterator<Item = &'a [AtomicU32]>>(
        &self,
        pieces: impl FnOnce() -> P,
        entry_words: usize,
    ) -> Option<u32> {
        if self.tombstones == 0 {
            return Some(if self.entries > 0 { self.largest + 1 } else { 0 });
        }
        let newest_first = pieces().flat_map(|words| words.iter().step_by(entry_words).rev());
        live_bound(newest_first.map(|word| word.load(Relaxed)))
    }

    #[inline]
    fn add(&mut self, words: &[AtomicU32], entry_words: usize, vertex: u32) {
        match entry_words {
            1 => self.add_neighbors(words.iter(), vertex),
            _ => self.add_weighted(words, vertex),
        }
    }

    fn add_weighted(&mut self, words: &[AtomicU32], vertex: u32) {
        let (entries, rest) = words.as_chunks::<2>();
        self.is_whole &= rest.is_empty();
        self.add_neighbors(entries.iter().map(|[neighbor, _]| neighbor), vertex);
        self.is_whole &= are_weights(entries.iter().map(|[_, weight]| weight.load(Relaxed)));
    }

    #[inline(always)]
    fn add_neighbors<'a>(
        &mut self,
        words: impl ExactSizeIterator<Item = &'a AtomicU32>,
        vertex: u32,
    ) {
        self.entries += words.len() as u64;
        // In variables of its own, the loop keeps them in registers.
        let (mut tombstones, mut largest, mut loops) = (0, 0, 0);
        for word in words {
            let word = word.load(Relaxed);
            tombstones += u64::from(word >> 31);
            largest = largest.max(word & !DELETION);
            if word & !DELETION == vertex {
                loops += if word == vertex { 1 } else { -1 };
            }
        }
        self.tombstones += tombstones;
        self.largest = self.largest.max(largest);
        self.loops += loops;
    }
}

/// The lines of a shard's units, and whether something lies there.
struct Lines {
    /// Ascending.
    ranges: Vec<Range<u64>>,
    /// By range, where its bits begin.
    firsts: Vec<u64>,
    bits: Vec<u64>,
}

impl Lines {
    fn of(space: &ShardSpace) -> Self {
        let units = space.extents.as_ref().map_or(Vec::new(), |extents| extents.units());
        let lines = |unit: u64| unit * u64::from(UNIT_LINES);
        let mut ranges: Vec<Range<u64>> =
            units.into_iter().map(|units| lines(units.start)..lines(units.end)).collect();
        ranges.sort_unstable_by_key(|range| range.start);
        let mut count = 0;
        let first = |range: &Range<u64>| {
            count += range.end - range.start;
            count - (range.end - range.start)
        };
        let firsts = ranges.iter().map(first).collect();
        Self { ranges, firsts, bits: vec![0; count.div_ceil(64) as usize] }
    }

    /// Takes some lines. Returns whether they are the shard's, and nothing else lies there.
    fn take(&mut self, place: u64, count: u32) -> bool {
        let lines = place..place.saturating_add(count.into());
        let index = self.ranges.partition_point(|range| range.end <= lines.start);
        let range = self.ranges.get(index).filter(|range| range.start <= lines.start);
        let Some(range) = range.filter(|range| lines.end <= range.end) else {
            return false;
        };
        let first = self.firsts[index] + lines.start - range.start;
        (first..first + u64::from(count)).all(|line| {
            let (word, bit) = (&mut self.bits[line as usize / 64], 1 << (line % 64));
            let is_free = *word & bit == 0;
            *word |= bit;
            is_free
        })
    }

    /// Takes the lines that are free for the next blocks. Returns whether they are.
    fn take_free(&mut self, space: &ShardSpace) -> bool {
        let ranges = [&space.extent].into_iter().chain(&space.spare);
        let mut units = ranges.flat_map(|range| range.clone());
        let mut left_over = (1..)
            .zip(&space.leftovers)
            .flat_map(|(count, places)| places.iter().map(move |&place| (place, count)));
        // Inside one unit, as blocks of so many lines are.
        let is_inside = |(place, count): (u32, u32)| place % UNIT_LINES + count <= UNIT_LINES;
        // A made-up range may begin beyond all places.
        units.all(|unit| self.take(unit.saturating_mul(UNIT_LINES.into()), UNIT_LINES))
            && left_over.all(|left| is_inside(left) && self.take(left.0.into(), left.1))
    }
}
