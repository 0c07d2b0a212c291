//! Reading an array at opening: its headers. Its lists are looked at before the first change or view:
//! all that headers say of them is checked, and what memory keeps is made.

use std::iter::successors;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use everedge_core::VertexId;
use rustc_hash::FxHashMap;

use super::array::{Array, Logged, Section};
use super::direct::{DirectEntry, find_direct};
use super::extent::Extent;
use super::header::{Header, Place, mix};
use super::lists::{HAS_TOMBSTONES, IS_LOGGED, Lists};
use super::rebalance::{damaged, mismatch, newest};
use super::shape::Shape;
use everedge_live::{DELETION, Error, Result, are_weights, live_bound};
use everedge_medium::Site;

/// The id after the largest neighbor, which whoever shares an array may find out anew.
#[derive(Debug, Default)]
pub(super) struct Bound(AtomicU32);

impl Bound {
    pub(super) fn get(&self) -> u32 {
        self.0.load(Relaxed)
    }

    pub(super) fn set(&self, bound: u32) {
        self.0.store(bound, Relaxed);
    }
}

impl Clone for Bound {
    fn clone(&self) -> Self {
        Self(AtomicU32::new(self.get()))
    }
}

/// An array as it was found.
pub(super) struct Restored {
    pub array: Array,
    /// The vertices that each section names.
    pub vertices: Vec<u64>,
    /// Entries of edge logs that count by themselves.
    pub direct: Vec<DirectEntry>,
}

impl Array {
    /// Reads the headers of the array that lies in an extent.
    ///
    /// # Errors
    /// `Corruption` if it is damaged.
    pub(super) fn read(extent: Arc<Extent>, shape: Shape, index: u32) -> Result<Restored> {
        let mut rows = Vec::with_capacity(shape.vertex_count() + 1);
        let (mut sections, mut vertices) = (Vec::new(), Vec::new());
        let mut direct = Vec::new();
        for number in 0..shape.section_count as usize {
            let (header, slot, crc) = newest(&extent, &shape, number)?;
            vertices.push(header.vertices);
            let own_bits = u64::MAX >> (64 - shape.section_vertices);
            let has_bits =
                if index.is_multiple_of(2) { header.vertices & !own_bits } else { header.vertices };
            if header.log_count > shape.log_entries || has_bits != 0 {
                let offset = shape.header_offset(number, slot);
                let (expected, found) = match has_bits {
                    0 => {
                        let expected = format!("at most {} log entries", shape.log_entries);
                        (expected, header.log_count.to_string())
                    }
                    _ if index.is_multiple_of(2) => {
                        let expected = format!("bits of {} vertices", shape.section_vertices);
                        (expected, "bits of others".into())
                    }
                    _ => ("no bits of vertices in an array of in-neighbors".into(), "some".into()),
                };
                let what = (offset, "a section's header");
                return Err(mismatch(&extent, what, &expected, &found));
            }
            find_direct(&extent, &shape, (number, crc), &header, &mut direct);
            sections.push(Section {
                stamp: header.stamp,
                slot: slot as u8,
                crc,
                epoch: header.epoch,
                anchored: header.anchored,
                direct: header.direct,
                sequence: header.sequence,
                sum: header.sum,
                used: used_words(&header, &shape),
                log_count: header.log_count as u16,
                tombstones: header.tombstones,
                loops: header.loops,
                ..Section::default()
            });
            rows.extend(header.places);
        }
        rows.push(Place { start: shape.capacity, len: 0 });
        let mut next = 0;
        for place in &rows {
            let is_whole = (place.start | place.len).is_multiple_of(shape.entry_words);
            let is_inside = place.len <= shape.capacity && place.start <= shape.capacity;
            if place.start < next || !is_inside || !is_whole {
                let what = "the headers of an array's sections";
                return Err(damaged(&extent, 0, what, "lists in their order"));
            }
            next = place.start + place.len;
        }
        let lists = Lists { rows: rows.into(), words: extent.hold_lists(&shape) };
        let live_degrees = FxHashMap::default();
        let (kept, is_checked, neighbor_bound) = (None, false, Bound::default());
        let array = Self {
            extent,
            lists,
            kept,
            shape,
            index,
            sections,
            live_degrees,
            is_checked,
            neighbor_bound,
        };
        Ok(Restored { array, vertices, direct })
    }

    /// Makes durable again the headers that are newer than the last checkpoint, of which it was number
    /// `epoch`: a process that was killed, or whose sync failed, may have left them in caches only. What
    /// they count was durable before they were stored.
    ///
    /// # Errors
    /// If the device does not take it.
    pub(super) fn store_headers_again(&self, epoch: u32) -> Result<()> {
        let is_newer = |number: &usize| self.sections[*number].epoch == epoch;
        let mut newer = (0..self.sections.len()).filter(is_newer);
        let Some(first) = newer.next() else { return Ok(()) };
        let last = newer.next_back().unwrap_or(first);
        self.extent.store_headers_again(&self.shape, first..last + 1)
    }

    /// Looks at all lists, if that was not done since opening. What is found is taken over only if all of
    /// them are whole: who asks again looks again.
    ///
    /// # Errors
    /// `Corruption` if they are not what their headers say.
    pub(super) fn check_lists(&mut self) -> Result<()> {
        if !self.is_checked {
            let numbers = 0..self.sections.len();
            let looked = numbers.map(|number| self.look_at(number)).collect::<Result<Vec<_>>>()?;
            (0..).zip(looked).for_each(|(number, looked)| self.adopt_looked(number, looked));
            self.is_checked = true;
        }
        Ok(())
    }

    /// Looks at the lists of all sections. Returns what is wrong with them; if nothing is, they count as
    /// looked at.
    pub(super) fn find_damage(&mut self) -> Vec<Error> {
        let unchecked = if self.is_checked { 0..0 } else { 0..self.sections.len() };
        let damage: Vec<_> = unchecked.filter_map(|number| self.look_at(number).err()).collect();
        match damage.is_empty() {
            true => self.check_lists().err().into_iter().collect(),
            false => damage,
        }
    }

    /// Finds out what memory keeps of a section whose rows have no marks yet, and checks what its header
    /// says.
    fn look_at(&self, number: usize) -> Result<Looked> {
        let locals = self.shape.locals(number..number + 1);
        let mut found = Found { sum: 0, tombstones: 0, loops: 0, has_weights: true };
        let mut of_lists: Vec<_> =
            locals.clone().map(|local| self.count_list(local, &mut found)).collect();
        let heads = self.count_log(number, &mut found, &mut of_lists)?;
        let section = &self.sections[number];
        let is_counted =
            found.tombstones == section.tombstones && found.loops == i64::from(section.loops);
        if !self.extent.region.matches(Site::ListSum, section.sum, found.sum) || !is_counted {
            let start = self.lists.rows[locals.start].start;
            let offset = self.shape.words_range(start..start).start;
            return Err(damaged(&self.extent, offset, &self.lists_of(&locals), "their sum"));
        }
        if !found.has_weights {
            let what = self.lists_of(&locals);
            return Err(mismatch(&self.extent, (0, &what), "finite weights", "others"));
        }
        let (mut neighbor_bound, mut with_tombstones) = (0, Vec::new());
        for (local, (of_list, logged)) in locals.zip(of_lists.iter().zip(&heads)) {
            let mut bound = of_list.bound;
            if of_list.has_tombstones {
                with_tombstones.push(local);
                let live = live_bound(self.unmarked_neighbors((number, local), *logged));
                bound = live.ok_or_else(|| {
                    let what =
                        format!("the list of vertex {}", self.first_vertex() as usize + local);
                    let (expected, found) = ("an edge before each tombstone", "none before one");
                    mismatch(&self.extent, (0, &what), expected, found)
                })?;
            }
            neighbor_bound = neighbor_bound.max(bound);
        }
        Ok(Looked { heads, with_tombstones, neighbor_bound })
    }

    fn lists_of(&self, locals: &Range<usize>) -> String {
        let first = self.first_vertex() as usize;
        let (from, to) = (first + locals.start, first + locals.end - 1);
        format!("the lists of the vertices from {from} to {to}")
    }

    /// Returns the neighbors of a list with its tombstones, newest first, while rows have no marks.
    fn unmarked_neighbors(
        &self,
        (number, local): (usize, usize),
        logged: Logged,
    ) -> impl Iterator<Item = u32> {
        let Self { extent, shape, .. } = self;
        let Place { start, len } = self.lists.rows[local];
        let words = extent.words(shape.words_range(start..start + len));
        let entry = move |place: u16| {
            let index = usize::from(place).checked_sub(1)?;
            Some(extent.log_entry(shape, number, index))
        };
        let in_log = successors(entry(logged.head), move |newer| entry(newer.previous()));
        let in_list = words.iter().step_by(shape.entry_words as usize).rev();
        in_log.map(|entry| &entry.words()[0]).chain(in_list).map(|word| word.load(Relaxed))
    }

    /// Counts the words of a list.
    fn count_list(&self, local: usize, found: &mut Found) -> FoundList {
        let Place { start, len } = self.lists.rows[local];
        let words = self.extent.words(self.shape.words_range(start..start + len));
        let vertex = self.first_vertex() + local as u32;
        let is_weighted = self.shape.entry_words == 2;
        // In variables of its own, the loop keeps them in registers.
        let (mut sum, mut tombstones, mut loops, mut bound) = (0_u64, 0, 0, 0);
        for (place, word) in (0..).zip(words) {
            let word = word.load(Relaxed);
            sum = sum.wrapping_add(mix(local, place, word));
            if is_weighted && place & 1 == 1 {
                found.has_weights &= f32::from_bits(word).is_finite();
                continue;
            }
            tombstones += word >> 31;
            bound = bound.max((word & !DELETION) + 1);
            if word & !DELETION == vertex {
                loops += loops_in(word, vertex);
            }
        }
        found.sum = found.sum.wrapping_add(sum);
        found.tombstones += tombstones;
        found.loops += loops;
        FoundList { bound, has_tombstones: tombstones > 0 }
    }

    /// Counts the entries of a section's edge log. Returns where its lists are in it.
    fn count_log(
        &self,
        number: usize,
        found: &mut Found,
        of_lists: &mut [FoundList],
    ) -> Result<Vec<Logged>> {
        let Self { extent, shape, .. } = self;
        let locals = shape.locals(number..number + 1);
        let count = usize::from(self.sections[number].log_count);
        let mut heads = vec![Logged::default(); locals.len()];
        for (place, entry) in (1..).zip(extent.log(shape, number, count)) {
            let local = entry.local();
            let damage = || {
                let offset = shape.log_range(number, place as usize - 1..place as usize).start;
                let first = self.first_vertex() as usize + locals.start;
                let what = format!("an entry of the edge log of the vertices from {first} on");
                damaged(extent, offset, &what, "one of its section")
            };
            let logged = local.checked_sub(locals.start).and_then(|index| heads.get_mut(index));
            let logged = logged.ok_or_else(damage)?;
            if entry.previous() != logged.head {
                return Err(damage());
            }
            let before = self.lists.rows[local].len + u32::from(logged.count) * shape.entry_words;
            for (index, word) in (before..).zip(entry.words()) {
                found.sum = found.sum.wrapping_add(mix(local, index, word.load(Relaxed)));
            }
            *logged = Logged { head: place, count: logged.count + 1 };
            let neighbor = entry.words()[0].load(Relaxed);
            found.loops += loops_in(neighbor, self.first_vertex() + local as u32);
            let of_list = &mut of_lists[local - locals.start];
            of_list.bound = of_list.bound.max((neighbor & !DELETION) + 1);
            found.has_weights &= are_weights(entry.words()[1..].iter().map(|w| w.load(Relaxed)));
            if neighbor & DELETION != 0 {
                found.tombstones += 1;
                of_list.has_tombstones = true;
            }
        }
        Ok(heads)
    }

    /// Takes over what was found out of a section that is whole.
    fn adopt_looked(&mut self, number: usize, looked: Looked) {
        let Looked { heads, with_tombstones, neighbor_bound } = looked;
        self.neighbor_bound.set(self.neighbor_bound.get().max(neighbor_bound));
        let locals = self.shape.locals(number..number + 1);
        for (row, logged) in self.lists.rows_mut()[locals].iter_mut().zip(&heads) {
            row.start |= if logged.count > 0 { IS_LOGGED } else { 0 };
        }
        let section = &mut self.sections[number];
        section.heads = (section.log_count > 0).then(|| heads.into());
        for local in with_tombstones {
            self.lists.rows_mut()[local].len |= HAS_TOMBSTONES;
            let degree = self.live_entries(local).len();
            self.live_degrees.insert(local as u32, degree as u32);
        }
    }
}

/// What the words of a section's lists add up to.
struct Found {
    sum: u64,
    tombstones: u32,
    loops: i64,
    /// Whether all weights are finite.
    has_weights: bool,
}

/// What the words of one list come to.
struct FoundList {
    /// The id after the largest, also of what a tombstone takes away.
    bound: u32,
    has_tombstones: bool,
}

/// What memory keeps of a section whose lists are whole.
struct Looked {
    heads: Vec<Logged>,
    /// By local vertex of the array.
    with_tombstones: Vec<usize>,
    /// The id after the largest that the lists name.
    neighbor_bound: u32,
}

/// Returns the words of a section's lists, those in the edge log included.
fn used_words(header: &Header, shape: &Shape) -> u32 {
    let in_lists = header.places.iter().fold(0u32, |sum, place| sum.wrapping_add(place.len));
    in_lists.wrapping_add(header.log_count.wrapping_mul(shape.entry_words))
}

/// Returns what a word of a list adds to the self-loops of its vertex.
#[inline]
fn loops_in(word: u32, vertex: VertexId) -> i64 {
    // A tombstone takes one away that is there.
    i64::from(word == vertex) - i64::from(word == vertex | DELETION)
}
